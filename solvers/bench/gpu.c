/* macko-bench on a GPU. Times are medians of single multiplies between two events: "flushed" with the L2 cache overwritten before
 * each, "warm" one after the other. */
#include "bench/gpu.h"
#include "macko_cuda.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WARM_UP = 5 }; /* multiplies before those that are timed */
/* Bytes that are overwritten to empty the L2 cache, more than one holds. */
#define FLUSH_BYTES ((size_t)512 << 20)

/* The wall's clock. */
double bench_gpu_now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double bench_gpu_between(cudaEvent_t from, cudaEvent_t to)
{
  float milliseconds = 0;
  cudaEventElapsedTime(&milliseconds, from, to);
  return 1e3 * milliseconds;
}

/* Fails for want of memory on the host. */
static macko_status no_memory(macko_error *err)
{
  snprintf(err->text, sizeof err->text, "no memory on the host");
  return err->status = MACKO_OUT_OF_MEMORY;
}

/* ---- timing ---- */

/* What single multiplies are timed with. */
typedef struct {
  cudaEvent_t from, to;
  void *flush;  /* FLUSH_BYTES of device memory */
  double *times; /* microseconds of each repeat */
} stopwatch;

/* After an error *w has to be closed as well. */
static macko_status open_stopwatch(stopwatch *w, int repeats, macko_error *err)
{
  *w = (stopwatch){.times = malloc((size_t)repeats * sizeof *w->times)};
  macko_status s = w->times ? MACKO_OK : no_memory(err);
  if (!s) s = bench_cuda(cudaEventCreate(&w->from), "an event", err);
  if (!s) s = bench_cuda(cudaEventCreate(&w->to), "an event", err);
  if (!s) s = bench_cuda(cudaMalloc(&w->flush, FLUSH_BYTES), "memory to flush the cache", err);
  return s;
}

/* What was not opened is NULL, which CUDA and free pass over. */
static void close_stopwatch(stopwatch *w)
{
  cudaEventDestroy(w->from), cudaEventDestroy(w->to);
  cudaFree(w->flush);
  free(w->times);
}

/* Sets *us to the median of single multiplies with k vectors in microseconds, with the cache emptied before each or not. The events enclose the
 * multiply alone, and the host waits for each before it queues the next. */
static macko_status median(stopwatch *w, const bench_contender *c, int k, int repeats, int flush, double *us,
                           macko_error *err)
{
  macko_status s = MACKO_OK;
  for (int i = -WARM_UP; !s && i < repeats; i++) {
    /* Writing this much pushes everything else out of the cache. */
    if (flush) s = bench_cuda(cudaMemsetAsync(w->flush, i & 0xff, FLUSH_BYTES, NULL), "flushing the cache", err);
    cudaEventRecord(w->from, NULL);
    if (!s) s = c->run(c, k, NULL, err);
    cudaEventRecord(w->to, NULL);
    if (!s) s = bench_cuda(cudaEventSynchronize(w->to), c->name, err);
    if (!s && i >= 0) w->times[i] = bench_gpu_between(w->from, w->to);
  }
  if (!s) *us = bench_median(w->times, repeats);
  return s;
}

/* ---- vectors ---- */

/* The vectors of all products with a matrix. */
typedef struct {
  macko_type type;
  int k;
  int64_t nrows, ncols;
  void *x, *y;         /* device; k vectors, one after the other */
  char *host;          /* y of the contender at hand */
  bench_reference reference; /* of the first vector */
} vectors;

/* Makes x and y in device memory, and the right product. After an error *v has to be closed as well. */
static macko_status open_vectors(const macko_csr *a, int k, vectors *v, macko_error *err)
{
  size_t size = (size_t)(k * macko_type_bytes(BENCH_VECTOR(a))), most = (size_t)(a->ncols > a->nrows ? a->ncols : a->nrows) * size;
  *v = (vectors){.type = BENCH_VECTOR(a), .k = k, .nrows = a->nrows, .ncols = a->ncols};
  v->host = malloc(most + 1);
  if (!v->host) return no_memory(err);
  bench_fill_vectors(v->type, v->host, a->ncols, k);
  macko_status s = bench_reference_open(a, v->type, v->host, &v->reference, err);
  if (!s) s = bench_cuda(cudaMalloc(&v->x, most + 256), "memory for x", err);
  if (!s) s = bench_cuda(cudaMalloc(&v->y, most + 256), "memory for y", err);
  if (!s) s = bench_cuda(cudaMemcpy(v->x, v->host, (size_t)a->ncols * size, cudaMemcpyHostToDevice), "copying x", err);
  return s;
}

/* Frees what there is, after an error in open_vectors too. */
static void close_vectors(vectors *v)
{
  cudaFree(v->x), cudaFree(v->y);
  bench_reference_close(&v->reference);
  free(v->host);
}

/* Poisons y, multiplies, and compares every element, so that what a kernel leaves out is found too. */
static macko_status check(const bench_contender *c, vectors *v, double *difference, macko_error *err)
{
  size_t bytes = (size_t)(v->k * v->nrows * macko_type_bytes(v->type));
  macko_status s = bench_cuda(cudaMemset(v->y, 0xff, bytes), "poisoning y", err);
  if (!s) s = c->run(c, v->k, NULL, err);
  if (!s) s = bench_cuda(cudaMemcpy(v->host, v->y, bytes, cudaMemcpyDeviceToHost), c->name, err);
  return s ? s : bench_check_vectors(&v->reference, v->host, v->k, c->rounding, difference, err);
}

/* ---- ours ---- */

/* A matrix of ours in device memory, and what a product with it needs to be told. */
typedef struct {
  macko_device_matrix *d;
  macko_type type;
  int64_t nrows, ncols;
} ours;

/* Queues one product by k vectors. */
static macko_status run_ours(const bench_contender *c, int k, cudaStream_t stream, macko_error *err)
{
  const ours *o = c->own;
  return macko_device_multiply(o->d, MACKO_OP_N, o->type, k, 1, c->x, o->ncols, 0, c->y, o->nrows, stream, err);
}

/* Also closes what open_ours could not finish. */
static void close_ours(bench_contender *c)
{
  ours *o = c->own;
  if (o) macko_device_destroy(&o->d);
  free(o);
}

/* Preparations are the least of several, because the first loads kernels; there are fewer where they are long. */
enum { PREPARATIONS = 3 };
static const double long_preparation = 0.3; /* seconds */

/* Encodes a CSR in device memory, then takes the same values again, and notes the seconds of both in *r and what came of it in *c
 * and *r. */
static macko_status prepare_ours(const macko_csr *on_device, const macko_options *options, ours *o, bench_contender *c,
                                 bench_result *r, macko_error *err)
{
  macko_info info;
  macko_status s = MACKO_OK;
  r->encode = r->refresh = INFINITY;
  for (int i = 0; !s && i < PREPARATIONS && (!i || r->encode < long_preparation); i++) {
    macko_device_destroy(&o->d);
    double start = bench_gpu_now();
    s = macko_device_encode(on_device, options, NULL, &o->d, err);
    if (!s) s = bench_cuda(cudaDeviceSynchronize(), "encoding", err);
    double encoded = bench_gpu_now();
    if (!s) s = macko_device_refresh_csr(o->d, on_device, NULL, NULL, err);
    if (!s) s = bench_cuda(cudaDeviceSynchronize(), "refresh", err);
    r->refresh = fmin(r->refresh, bench_gpu_now() - encoded), r->encode = fmin(r->encode, encoded - start);
  }
  if (s) return s;
  macko_device_get_info(o->d, &info);
  c->bytes = info.bytes, c->rounding = info.lossy ? bench_unit(info.stored_type) : 0;
  r->predicted = 1e6 * info.seconds;
  bench_name_form(&info, r->format, r->layout, r->values);
  snprintf(c->detail, sizeof c->detail, "%s", info.reason);
  return MACKO_OK;
}

/* Makes a contender of the encoding of that name. c->run stays NULL after an error, and *c has to be closed all the same. */
static macko_status open_ours(const char *name, const macko_csr *on_device, const vectors *v, bench_contender *c, bench_result *r,
                              macko_error *err)
{
  macko_options options;
  ours *o = calloc(1, sizeof *o);
  *c = (bench_contender){.close = close_ours, .own = o, .x = v->x, .y = v->y};
  snprintf(c->name, sizeof c->name, "%s", name);
  *err = (macko_error){0};
  if (!o) return no_memory(err);
  *o = (ours){.type = v->type, .nrows = v->nrows, .ncols = v->ncols};
  macko_status s = bench_encoding(name, MACKO_TARGET_GPU, &options, err);
  if (!s) s = prepare_ours(on_device, &options, o, c, r, err);
  if (!s) c->run = run_ours;
  else macko_error_place(err, err->row, err->col, 1); /* as in the files that people look at */
  return s;
}

/* ---- one matrix ---- */

/* What all measurements with one matrix share. */
typedef struct {
  const char *matrix;
  const macko_csr *a;
  macko_csr on_device; /* the same in device memory */
  vectors v;
  stopwatch w;
  int repeats;
  bench_table *table;  /* rows are added to it */
} session;

/* Checks and times a contender, and adds its row to the table. *r holds what is known of it already. CORRUPT is counted in the
 * table. */
static macko_status measure(session *m, const bench_contender *c, bench_result *r, macko_error *err)
{
  const macko_csr *a = m->a;
  snprintf(r->matrix, sizeof r->matrix, "%s", m->matrix);
  snprintf(r->name, sizeof r->name, "%s", c->name);
  snprintf(r->detail, sizeof r->detail, "%s", c->detail);
  r->nrows = a->nrows, r->ncols = a->ncols, r->nnz = ((const int32_t *)a->row_ptr)[a->nrows];
  r->k = m->v.k, r->bytes = c->bytes, r->lossy = c->rounding > 0;
  /* What ours took is in *r already. */
  if (r->peer) r->encode = c->preparation;
  r->moved = c->bytes + m->v.k * (a->nrows + a->ncols) * macko_type_bytes(m->v.type);
  macko_status s = check(c, &m->v, &r->difference, err);
  /* A wrong product is left out like one that fails; one of ours ends the program with an error later. */
  if (s == MACKO_CORRUPT && !r->peer) m->table->wrong++;
  if (!s) s = median(&m->w, c, m->v.k, m->repeats, 1, &r->us, err);
  if (!s) s = median(&m->w, c, m->v.k, m->repeats, 0, &r->warm, err);
  if (!s && m->v.k > 1) s = median(&m->w, c, 1, m->repeats, 1, &r->singles, err);
  r->singles *= m->v.k;
  bench_result *room = s ? NULL : bench_add(m->table);
  if (room) *room = *r;
  return s || room ? s : no_memory(err);
}

/* Copies `size` bytes into new device memory, which *copy is set to after an error too. */
static macko_status copy_array(const void *host, int64_t size, const void **copy, macko_error *err)
{
  void *made = NULL;
  macko_status s = bench_cuda(cudaMalloc(&made, (size_t)size + 256), "memory for the matrix", err);
  if (!s) s = bench_cuda(cudaMemcpy(made, host, (size_t)size, cudaMemcpyHostToDevice), "copying the matrix", err);
  *copy = made;
  return s;
}

/* Copies a csr with 32-bit indices into device memory; free_copy frees it, after an error too. */
static macko_status copy_matrix(const macko_csr *a, macko_csr *copy, macko_error *err)
{
  int64_t nnz = ((const int32_t *)a->row_ptr)[a->nrows];
  *copy = *a;
  /* free_copy can then be called whatever fails. */
  copy->row_ptr = copy->cols = copy->values = NULL;
  macko_status s = copy_array(a->row_ptr, 4 * (a->nrows + 1), &copy->row_ptr, err);
  if (!s) s = copy_array(a->cols, 4 * nnz, &copy->cols, err);
  return s ? s : copy_array(a->values, nnz * macko_type_bytes(a->value_type), &copy->values, err);
}

/* The const of a macko_csr is for those who only read it. */
static void free_copy(macko_csr *copy)
{
  cudaFree((void *)copy->row_ptr), cudaFree((void *)copy->cols), cudaFree((void *)copy->values);
}

/* Measures a contender and closes it. What cannot be measured is left out with a sentence, which is no reason to stop: CUDA's
 * note of an error is taken back for those that follow. */
static void measure_or_say(session *m, macko_status opened, bench_contender *c, bench_result *r, macko_error *err)
{
  macko_status s = opened;
  if (!s && c->run) s = measure(m, c, r, err);
  if (s || !c->run) fprintf(stderr, "%s: %s left out: %s\n", m->matrix, c->name, s ? err->text : c->detail);
  c->close(c);
  if (s) cudaGetLastError();
}

/* Peers come first, and the copy of the matrix only after them, as each holds the matrix in memory of its own. */
macko_status bench_gpu(const char *matrix, const macko_csr *a, bench_settings *settings, bench_table *table, macko_error *err)
{
  char names[512], *save = NULL;
  session m = {.matrix = matrix, .a = a, .repeats = settings->repeats, .table = table};
  bench_contender c;
  snprintf(names, sizeof names, "%s", settings->encodings);
  /* Both are opened even if the first one fails, as both are closed at the end. */
  macko_status s = open_stopwatch(&m.w, settings->repeats, err), filled = open_vectors(a, settings->vectors, &m.v, err);
  if (!s) s = filled;
  for (int i = 0; !s && !table->count && i < BENCH_PEERS; i++) { /* so that loading the libraries is in nobody's preparation */
    macko_status opened = bench_open_peer(i, a, m.v.k, m.v.x, m.v.y, &c, err);
    c.close(&c);
    if (opened) cudaGetLastError();
  }
  for (int i = 0; !s && i < BENCH_PEERS; i++) {
    /* Each contender is closed before the next one is opened: there may be room for only one. */
    bench_result r = {.peer = 1};
    macko_status opened = bench_open_peer(i, a, m.v.k, m.v.x, m.v.y, &c, err);
    measure_or_say(&m, opened, &c, &r, err);
  }
  if (!s) s = copy_matrix(a, &m.on_device, err);
  for (char *name = strtok_r(names, ",", &save); !s && name; name = strtok_r(NULL, ",", &save)) {
    bench_result r = {0};
    macko_status opened = open_ours(name, &m.on_device, &m.v, &c, &r, err);
    measure_or_say(&m, opened, &c, &r, err);
  }
  free_copy(&m.on_device);
  close_vectors(&m.v);
  close_stopwatch(&m.w);
  return s;
}

/* Measures the ceiling, in bytes read and written a second: a copy of 2 GiB from device to device, the median of several. */
static macko_status copy_ceiling(double *rate, macko_error *err)
{
  enum { TIMES = 11 };
  size_t bytes = (size_t)2 << 30;
  void *from = NULL, *to = NULL;
  double times[TIMES] = {0};
  cudaEvent_t start, stop;
  macko_status s = bench_cuda(cudaMalloc(&from, bytes), "memory to copy", err);
  if (!s) s = bench_cuda(cudaMalloc(&to, bytes), "memory to copy", err);
  if (!s) s = bench_cuda(cudaMemset(from, 0x5a, bytes), "memory to copy", err);
  cudaEventCreate(&start), cudaEventCreate(&stop);
  /* The first two are not counted. */
  for (int i = -2; !s && i < TIMES; i++) {
    cudaEventRecord(start, NULL);
    s = bench_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, NULL), "copying", err);
    cudaEventRecord(stop, NULL);
    cudaEventSynchronize(stop);
    if (i >= 0) times[i] = bench_gpu_between(start, stop);
  }
  *rate = 2 * (double)bytes / (1e-6 * bench_median(times, TIMES));
  cudaEventDestroy(start), cudaEventDestroy(stop);
  cudaFree(from), cudaFree(to);
  return s;
}

/* Without a GPU macko_device_count fills *err. */
macko_status bench_gpu_open(bench_settings *settings, macko_error *err)
{
  struct cudaDeviceProp p;
  int driver = 0, device = 0;
  if (!macko_device_count(err)) return MACKO_UNSUPPORTED;
  macko_status s = bench_cuda(cudaGetDevice(&device), "the current GPU", err);
  if (!s) s = bench_cuda(cudaGetDeviceProperties(&p, device), "the current GPU", err);
  if (s) return s;
  cudaDriverGetVersion(&driver);
  snprintf(settings->machine, sizeof settings->machine, "%s, %d multiprocessors, %d MB L2, CUDA driver %d.%d", p.name,
           p.multiProcessorCount, p.l2CacheSize >> 20, driver / 1000, driver % 1000 / 10);
  return copy_ceiling(&settings->copy, err);
}
