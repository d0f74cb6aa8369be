/* macko-bench on the CPU: how all methods of a matrix are prepared, checked and timed. They are prepared first and then timed in
 * turn, round after round, so that whatever else the machine does falls on all of them alike, and in another order each round: on
 * a mesh, the first product of ours after those of the peers took up to 1.1 times as long as the next, whatever its form. A
 * matrix that fits into the last-level cache is multiplied for as long before it is timed, because the others have pushed it out:
 * some processors take what leaves one cache into the next only once it has been used again. */
#include "bench/cpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef _OPENMP
#include <omp.h>
#endif

enum { METHODS = 32, PREPARATIONS = 9 }; /* the most of one matrix; the most that a preparation is repeated */
static const double shortest_sample = 1e-3; /* seconds; faster multiplies are timed several at a time */

/* The clock of bench_now: the wall's, or with --cpu-time that of the process, which counts all threads. */
static clockid_t chosen_clock = CLOCK_MONOTONIC;

/* clock_gettime counts nanoseconds. */
double bench_now(void)
{
  struct timespec t;
  clock_gettime(chosen_clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A sentence that is too long for *err is cut. */
macko_status bench_refuse(macko_error *err, macko_status status, const char *who, const char *why)
{
  err->status = status;
  snprintf(err->text, sizeof err->text, "%s: %s", who, why);
  return status;
}

/* Compares two doubles for qsort. */
static int compare_times(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Of an even number of times it is the larger one of the two in the middle. */
double bench_median(double *times, int count)
{
  qsort(times, (size_t)count, sizeof *times, compare_times);
  return times[count / 2];
}

/* ---- the loop that everybody would write, in as many threads as macko's ---- */

/* Computes y = A x for 32-bit indices and values of f64 or f32, with nothing done to help the compiler. */
static void multiply_loop(const macko_csr *a, const void *x, void *y)
{
  const int32_t *row_ptr = a->row_ptr, *cols = a->cols;
  if (a->value_type == MACKO_F64) {
#ifdef _OPENMP
#pragma omp parallel for
#endif
    for (int64_t i = 0; i < a->nrows; i++) {
      double sum = 0;
      for (int32_t p = row_ptr[i]; p < row_ptr[i + 1]; p++) sum += ((const double *)a->values)[p] * ((const double *)x)[cols[p]];
      ((double *)y)[i] = sum;
    }
  } else {
#ifdef _OPENMP
#pragma omp parallel for
#endif
    for (int64_t i = 0; i < a->nrows; i++) {
      float sum = 0;
      for (int32_t p = row_ptr[i]; p < row_ptr[i + 1]; p++) sum += ((const float *)a->values)[p] * ((const float *)x)[cols[p]];
      ((float *)y)[i] = sum;
    }
  }
}

/* Multiplies k vectors one after another, as a program without a function for several would. */
static macko_status run_loop(const bench_method *m, int k, const void *x, void *y, macko_error *err)
{
  const macko_csr *a = m->own;
  const int64_t size = macko_type_bytes(a->value_type);
  (void)err;
  for (int j = 0; j < k; j++) multiply_loop(a, (const char *)x + j * a->ncols * size, (char *)y + j * a->nrows * size);
  return MACKO_OK;
}

/* The matrix is the caller's: there is nothing to free. */
static void close_loop(bench_method *m)
{
  m->own = NULL;
}

/* The bytes of a matrix as CSR with 32-bit indices. */
static int64_t csr_bytes(const macko_csr *a)
{
  int64_t nnz = ((const int32_t *)a->row_ptr)[a->nrows];
  return 4 * (a->nrows + 1) + nnz * (4 + macko_type_bytes(a->value_type));
}

/* 16-bit floats are left out, because a loop would have to convert them at every entry. */
static macko_status open_loop(const macko_csr *a, bench_method *m, macko_error *err)
{
  *m = (bench_method){.run = run_loop, .close = close_loop, .own = (void *)a, .bytes = csr_bytes(a), .peer = 1,
                      .name = "csr-loop"};
  if (a->value_type == MACKO_F64 || a->value_type == MACKO_F32) return MACKO_OK;
  return bench_refuse(err, MACKO_UNSUPPORTED, m->name, "f64 and f32 only");
}

/* ---- ours ---- */

/* A matrix of ours, and what a product with it needs to be told. */
typedef struct {
  macko_matrix *matrix;
  macko_type vector;    /* the type of x and y */
  int64_t nrows, ncols;
} ours;

/* Vectors follow each other, so their distance is their length. */
static macko_status run_ours(const bench_method *m, int k, const void *x, void *y, macko_error *err)
{
  const ours *o = m->own;
  return macko_multiply(o->matrix, MACKO_OP_N, o->vector, k, 1, x, o->ncols, 0, y, o->nrows, err);
}

/* own is NULL if there was no memory for it. */
static void close_ours(bench_method *m)
{
  ours *o = m->own;
  if (o) macko_destroy(&o->matrix);
  free(o);
  m->own = NULL;
}

/* Vectors have the type in which products of such values are summed: f64 with f64, else f32. */
static macko_type vector_type(const macko_csr *a)
{
  return a->value_type == MACKO_F64 ? MACKO_F64 : MACKO_F32;
}

/* Times planning, encoding and refreshing, and leaves the matrix encoded in *o. They are medians of a few, because each is long:
 * three at least, and more up to a second. The first ones may be given memory that nobody had before, which takes longer. */
static macko_status time_preparation(const macko_csr *a, const macko_options *options, ours *o, bench_method *m, macko_error *err)
{
  double plan[PREPARATIONS], encode[PREPARATIONS], refresh[PREPARATIONS], start = bench_now(), enough = start + 1;
  macko_info info;
  macko_status s = MACKO_OK;
  int n = 0;
  for (int i = 0; !s && i < PREPARATIONS && (i < 3 || start < enough); i++, n++) {
    start = bench_now();
    s = macko_predict(a, options, &info, err);
    plan[i] = bench_now() - start;
    macko_destroy(&o->matrix);
    start = bench_now();
    if (!s) s = macko_encode(a, options, &o->matrix, err);
    encode[i] = bench_now() - start;
    start = bench_now();
    if (!s) s = macko_refresh(o->matrix, a, err);
    refresh[i] = bench_now() - start;
  }
  if (s) return s;
  m->plan = bench_median(plan, n), m->encode = bench_median(encode, n), m->refresh = bench_median(refresh, n);
  return MACKO_OK;
}

/* Encodes the matrix by the encoding of that name, for products on a CPU. A failure leaves what there is to be closed in *m. */
static macko_status open_ours(const char *name, const macko_csr *a, bench_method *m, macko_error *err)
{
  macko_options options;
  macko_info info;
  ours *o = calloc(1, sizeof *o);
  *m = (bench_method){.run = run_ours, .close = close_ours, .own = o};
  snprintf(m->name, sizeof m->name, "%s", name);
  if (!o) return bench_refuse(err, MACKO_OUT_OF_MEMORY, name, "no memory");
  *o = (ours){.vector = vector_type(a), .nrows = a->nrows, .ncols = a->ncols};
  macko_status s = bench_encoding(name, MACKO_TARGET_CPU, &options, err);
  if (!s) s = time_preparation(a, &options, o, m, err);
  if (s) return s;
  macko_get_info(o->matrix, &info);
  m->bytes = info.bytes, m->predicted = 1e6 * info.seconds, m->rounding = info.lossy ? bench_unit(info.stored_type) : 0;
  bench_name_form(&info, m->format, m->layout, m->values);
  snprintf(m->detail, sizeof m->detail, "%s", info.reason);
  return MACKO_OK;
}

/* ---- all methods of one matrix ---- */

/* Counts the method that was opened at methods[*count], or closes it and says why it is left out. That oneMKL is not there is
 * said only once. */
static void keep(bench_method *methods, int *count, const char *matrix, macko_status s, const macko_error *err)
{
  static int said; /* that a library is not there, which no other matrix changes */
  int absent = s && !strcmp(methods[*count].name, "mkl") && strstr(err->text, "--mkl");
  if (!s) ++*count;
  else {
    if (absent && !said) fprintf(stderr, "mkl left out: %s\n", err->text);
    else if (!absent) fprintf(stderr, "%s: %s left out: %s\n", matrix, methods[*count].name, err->text);
    said |= absent;
    if (methods[*count].close) methods[*count].close(&methods[*count]);
  }
}

/* Opens all methods of a matrix, peers first, and returns how many there are. methods has one place more than METHODS, as each is
 * opened where the next would be. */
static int open_methods(const char *matrix, const macko_csr *a, const bench_settings *settings, bench_method *methods)
{
  char names[512], *save = NULL;
  int count = 0;
  macko_error err = {0};
  /* strtok_r writes into the list, so that it works on a copy. */
  snprintf(names, sizeof names, "%s", settings->encodings);
  keep(methods, &count, matrix, open_loop(a, &methods[count], &err), &err);
  /* Each method is opened where the last one that was kept ends. */
  for (int i = 0; i < BENCH_PETSC; i++) keep(methods, &count, matrix, bench_open_petsc(i, settings->vectors, a, &methods[count], &err), &err);
  keep(methods, &count, matrix, bench_open_mkl(settings->mkl, settings->vectors, a, &methods[count], &err), &err);
  for (char *name = strtok_r(names, ",", &save); name && count < METHODS; name = strtok_r(NULL, ",", &save))
    keep(methods, &count, matrix, open_ours(name, a, &methods[count], &err), &err);
  return count;
}

/* The vectors of all products with a matrix. */
typedef struct {
  macko_type type;
  int k;
  int64_t bytes_of_y; /* of one */
  void *x, *y;        /* k vectors, one after the other; of x number j is the first one times scale_of(j) */
  bench_reference reference; /* of the first vector */
} vectors;

/* The factor of vector j. Powers of two change no digit, so that one long product says what all k of them should be. */
static double scale_of(int j)
{
  return ldexp(1, j % 31);
}

/* Makes x and y, aligned to cache lines, and the right product. After an error *v has to be closed as well. */
static macko_status open_vectors(const macko_csr *a, int k, vectors *v, macko_error *err)
{
  *v = (vectors){.type = vector_type(a), .k = k};
  size_t size = (size_t)macko_type_bytes(v->type);
  v->bytes_of_y = a->nrows * (int64_t)size;
  v->x = aligned_alloc(64, ((size_t)a->ncols * (size_t)k * size / 64 + 1) * 64);
  v->y = aligned_alloc(64, ((size_t)a->nrows * (size_t)k * size / 64 + 1) * 64);
  if (!v->x || !v->y) return bench_refuse(err, MACKO_OUT_OF_MEMORY, "vectors", "no memory");
  bench_fill(v->type, v->x, a->ncols);
  for (int j = 1; j < k; j++)
    for (int64_t i = 0; i < a->ncols; i++) bench_put(v->type, v->x, j * a->ncols + i, scale_of(j) * bench_get(v->type, v->x, i));
  return bench_reference_open(a, v->type, v->x, &v->reference, err);
}

/* A method whose product is right, or could not be compared, and what it was timed to. */
typedef struct {
  double difference;              /* as in bench_result */
  int batch, batch_of_one, wrong; /* products of k vectors and of one that make a sample; 1: the product is not right */
} rehearsal;

/* Returns how many products make a sample, given what one takes in seconds. The clock is too coarse for one short product. */
static int batch_of(double one)
{
  return one < shortest_sample ? (int)(shortest_sample / (one + 1e-9)) + 1 : 1;
}

/* Compares all k products with the right one, each divided by its vector's factor; *difference is the largest of them. */
static macko_status check_all(const bench_method *m, const vectors *v, double *difference, macko_error *err)
{
  macko_status s = MACKO_OK;
  *difference = 0;
  for (int j = 0; j < v->k && !s; j++) {
    const int64_t rows = v->reference.nrows;
    void *y = (char *)v->y + j * v->bytes_of_y;
    double off;
    for (int64_t i = 0; i < rows && j; i++) bench_put(v->type, y, i, bench_get(v->type, y, i) / scale_of(j));
    s = bench_check(&v->reference, y, m->rounding, &off, err);
    if (!(off <= *difference)) *difference = off;
  }
  return s;
}

/* Multiplies once untimed into a poisoned y, every element of which is compared; then finds out how many products make a sample.
 * A wrong product is no error here: the method is timed with the others and left out of the table. */
static macko_status rehearse(const char *matrix, const bench_method *m, vectors *v, rehearsal *h,
                             macko_error *err)
{
  macko_error wrong;
  /* These bits are a NaN in every type: an element that is not written cannot pass. */
  memset(v->y, 0xff, (size_t)(v->k * v->bytes_of_y));
  macko_status s = m->run(m, v->k, v->x, v->y, err);
  if (s) return s;
  h->wrong = check_all(m, v, &h->difference, &wrong) != MACKO_OK;
  if (h->wrong) fprintf(stderr, "%s: %s left out: %s\n", matrix, m->name, wrong.text);
  /* The first product may have been the one that touched memory for the first time, so the second one tells how long it takes. */
  double start = bench_now();
  s = m->run(m, v->k, v->x, v->y, err);
  h->batch = batch_of(bench_now() - start);
  start = bench_now();
  if (!s && v->k > 1) s = m->run(m, 1, v->x, v->y, err);
  h->batch_of_one = batch_of(bench_now() - start);
  return s;
}

/* Makes a random permutation of `order`, the same in every run. */
static void shuffle(int *order, int count, unsigned *state)
{
  for (int i = count - 1; i > 0; i--) {
    int j = rand_r(state) % (i + 1), other = order[j];
    order[j] = order[i], order[i] = other;
  }
}

/* Times a sample and sets *seconds to a product of k vectors. A matrix that fits into the cache is multiplied as often before,
 * and once more. */
static macko_status time_batch(const bench_method *m, int k, int batch, int cached, const vectors *v, double *seconds,
                               macko_error *err)
{
  macko_status s = MACKO_OK;
  for (int b = 0; !s && cached && b <= batch; b++) s = m->run(m, k, v->x, v->y, err);
  double start = bench_now();
  for (int b = 0; !s && b < batch; b++) s = m->run(m, k, v->x, v->y, err);
  *seconds = (bench_now() - start) / batch;
  return s;
}

/* The methods of one matrix, what they multiply, and what was measured: times[i * repeats + round] is of method i; singles has the
 * same of one vector, where v has more. cached: the matrix fits into the cache. */
typedef struct {
  const char *matrix;
  bench_method methods[METHODS + 1];
  int count, cached, repeats;
  vectors v;
  rehearsal h[METHODS];
  double *times, *singles;
} comparison;

/* Rehearses every method and then times all of them, `repeats` rounds in random order. */
static macko_status time_rounds(comparison *c, macko_error *err)
{
  int order[METHODS];
  unsigned state = 1;
  macko_status s = MACKO_OK;
  for (int i = 0; !s && i < c->count; i++) s = rehearse(c->matrix, &c->methods[i], &c->v, &c->h[i], err), order[i] = i;
  /* Every method has its turn in a round before any has the next. */
  for (int round = 0; round < c->repeats; round++) {
    shuffle(order, c->count, &state);
    for (int turn = 0; !s && turn < c->count; turn++) {
      const int i = order[turn], at = i * c->repeats + round;
      s = time_batch(&c->methods[i], c->v.k, c->h[i].batch, c->cached, &c->v, &c->times[at], err);
      if (!s && c->v.k > 1) s = time_batch(&c->methods[i], 1, c->h[i].batch_of_one, c->cached, &c->v, &c->singles[at], err);
    }
  }
  return s;
}

/* Adds a row of the table for each method whose products were right. */
static macko_status add_rows(const comparison *c, const macko_csr *a, bench_table *table, macko_error *err)
{
  const int repeats = c->repeats, k = c->v.k;
  for (int i = 0; i < c->count; i++) {
    const bench_method *m = &c->methods[i];
    /* The program ends with an error if there are any. */
    table->wrong += c->h[i].wrong;
    if (c->h[i].wrong) continue;
    bench_result *r = bench_add(table);
    if (!r) return bench_refuse(err, MACKO_OUT_OF_MEMORY, c->matrix, "no memory for results");
    *r = (bench_result){.peer = m->peer, .lossy = m->rounding > 0, .cached = c->cached, .nrows = a->nrows, .ncols = a->ncols,
                        .bytes = m->bytes, .k = k, .predicted = m->predicted, .plan = m->plan, .encode = m->encode,
                        .refresh = m->refresh, .difference = c->h[i].difference};
    r->nnz = ((const int32_t *)a->row_ptr)[a->nrows];
    r->moved = m->bytes + k * (a->nrows + a->ncols) * macko_type_bytes(vector_type(a));
    r->us = 1e6 * bench_median(c->times + i * repeats, repeats);
    if (k > 1) r->singles = 1e6 * k * bench_median(c->singles + i * repeats, repeats);
    snprintf(r->matrix, sizeof r->matrix, "%s", c->matrix);
    snprintf(r->name, sizeof r->name, "%s", m->name);
    snprintf(r->detail, sizeof r->detail, "%s", m->detail);
    memcpy(r->format, m->format, sizeof r->format), memcpy(r->layout, m->layout, sizeof r->layout);
    memcpy(r->values, m->values, sizeof r->values);
  }
  return MACKO_OK;
}

/* One array holds both kinds of times. The matrix as CSR decides whether it fits into the cache, for all forms alike, so that they
 * are timed in the same way. */
macko_status bench_cpu(const char *matrix, const macko_csr *a, bench_settings *settings, bench_table *table, macko_error *err)
{
  const size_t most = (size_t)settings->repeats * METHODS;
  comparison c = {.matrix = matrix, .cached = csr_bytes(a) <= settings->cache, .repeats = settings->repeats,
                  .times = malloc(2 * most * sizeof(double))};
  if (c.times) c.singles = c.times + most;
  macko_status s = open_vectors(a, settings->vectors, &c.v, err);
  if (!s && !c.times) s = bench_refuse(err, MACKO_OUT_OF_MEMORY, matrix, "no memory for times");
  if (!s) c.count = open_methods(matrix, a, settings, c.methods);
  if (!s) s = time_rounds(&c, err);
  if (!s) s = add_rows(&c, a, table, err);
  for (int i = 0; i < c.count; i++) c.methods[i].close(&c.methods[i]);
  bench_reference_close(&c.v.reference);
  free(c.v.x), free(c.v.y), free(c.times);
  return s;
}

/* ---- the machine ---- */

/* Returns the bytes of the largest cache that the first core sees, or 0 where the system does not tell. */
static int64_t last_level_cache(void)
{
  int64_t largest = 0;
  for (int i = 0; i < 8; i++) {
    char path[96], unit = 0;
    long long size = 0;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
    FILE *f = fopen(path, "r");
    if (!f) break;
    /* Linux writes sizes with a unit. */
    if (fscanf(f, "%lld%c", &size, &unit) >= 1) size *= unit == 'K' ? 1 << 10 : unit == 'M' ? 1 << 20 : 1;
    fclose(f);
    if (size > largest) largest = size;
  }
  return largest;
}

/* Puts the processor's name into text, or "CPU" where the system does not tell. */
static void name_machine(char *text, size_t room)
{
  char line[256], *colon;
  FILE *f = fopen("/proc/cpuinfo", "r");
  snprintf(text, room, "CPU");
  while (f && fgets(line, sizeof line, f))
    if (!strncmp(line, "model name", 10) && (colon = strchr(line, ':'))) {
      line[strcspn(line, "\n")] = 0;
      snprintf(text, room, "%s", colon + 2);
      break;
    }
  if (f) fclose(f);
}

/* Copies in as many threads as the multiplies have, in 64 pieces, as one memcpy would use a single thread. */
static void copy_array(double *to, const double *from, size_t n)
{
#ifdef _OPENMP
#pragma omp parallel for
  for (size_t piece = 0; piece < 64; piece++)
    memcpy(to + n * piece / 64, from + n * piece / 64, (n * (piece + 1) / 64 - n * piece / 64) * sizeof *to);
#else
  memcpy(to, from, n * sizeof *to);
#endif
}

/* Measures what memory gives, in bytes read and written a second: a copy, and the triad of STREAM. The three arrays are eight
 * times the cache together, and at least 256 MB; a cache said to have 1 GB or more counts as unknown. */
static macko_status ceilings(bench_settings *settings, macko_error *err)
{
  enum { TIMES = 9 };
  size_t n = settings->cache > (32 << 20) && settings->cache < (1 << 30) ? (size_t)settings->cache / 3 : (size_t)11 << 20;
  double *a = calloc(n, sizeof *a), *b = calloc(n, sizeof *b), *c = calloc(n, sizeof *c), copy[TIMES], triad[TIMES];
  macko_status s = a && b && c ? MACKO_OK : bench_refuse(err, MACKO_OUT_OF_MEMORY, "bandwidth", "no memory");
  for (size_t i = 0; !s && i < n; i++) a[i] = 1, b[i] = 2, c[i] = 3;
  for (int t = 0; !s && t < TIMES; t++) {
    double start = bench_now();
    copy_array(a, b, n);
    /* The triad begins where the copy ends. */
    double middle = bench_now();
    copy[t] = 2. * (double)(n * sizeof *a) / (middle - start);
#ifdef _OPENMP
#pragma omp parallel for
#endif
    for (size_t i = 0; i < n; i++) a[i] = b[i] + 3 * c[i];
    triad[t] = 3. * (double)(n * sizeof *a) / (bench_now() - middle);
  }
  if (!s) settings->copy = bench_median(copy, TIMES), settings->triad = bench_median(triad, TIMES);
  free(a), free(b), free(c);
  return s;
}

/* Threads are set before anything is measured, as the ceilings are those of as many threads as products have. */
macko_status bench_cpu_open(bench_settings *settings, macko_error *err)
{
  name_machine(settings->machine, sizeof settings->machine);
#ifdef _OPENMP
  size_t named = strlen(settings->machine);
  const char *threads = getenv("OMP_NUM_THREADS");
  if (!threads || !*threads) omp_set_num_threads(1); /* as macko's */
  int count = omp_get_max_threads();
  snprintf(settings->machine + named, sizeof settings->machine - named, ", %d thread%s", count, count > 1 ? "s" : "");
#endif
  /* The ceilings below are measured by the same clock. */
  if (settings->cpu_time) {
    size_t end = strlen(settings->machine);
    snprintf(settings->machine + end, sizeof settings->machine - end, ", processor time");
    chosen_clock = CLOCK_PROCESS_CPUTIME_ID;
  }
  settings->cache = last_level_cache();
  return ceilings(settings, err);
}

/* PETSc is all that outlives the matrices. */
void bench_cpu_close(void)
{
  bench_close_petsc();
}
