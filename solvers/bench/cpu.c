/* macko-bench on the CPU: how all methods of a matrix are checked and timed. They are prepared first (cpu_methods.c) and then
 * timed in turn, round after round, so that whatever else the machine does falls on all of them alike, and in another order each
 * round: on a mesh, the first product of ours after those of the peers took up to 1.1 times as long as the next, whatever its
 * form. Before it is timed each multiplies as often as a solver's loop takes to settle, because the others have pushed its matrix
 * out of the caches: some processors take what leaves one cache into the next only once it has been used again, and some keep a
 * part, from product to product, of matrices several times the last-level cache. */
#include "bench/cpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double shortest_sample = 1e-3; /* seconds; faster multiplies are timed several at a time */
static const int settling = 5; /* products, at least, before times of a loop of them stay what they are */
static const int kept_of = 6;  /* a matrix of up to so many times the last-level cache may leave a part there */

/* A sentence that is too long for *err is cut. */
macko_status bench_refuse(macko_error *err, macko_status status, const char *who, const char *why)
{
  err->status = status;
  snprintf(err->text, sizeof err->text, "%s: %s", who, why);
  return status;
}

/* ---- vectors, and whether products are right ---- */

/* The vectors of all products with a matrix. */
typedef struct {
  macko_type type;
  int k;
  int64_t bytes_of_y; /* of one */
  void *x, *y;        /* k vectors, one after the other */
  bench_reference reference; /* of the first vector */
} vectors;

/* Makes x and y, aligned to cache lines, and the right product. After an error *v has to be closed as well. */
static macko_status open_vectors(const macko_csr *a, int k, vectors *v, macko_error *err)
{
  *v = (vectors){.type = bench_vector_type(a), .k = k};
  size_t size = (size_t)macko_type_bytes(v->type);
  v->bytes_of_y = a->nrows * (int64_t)size;
  v->x = aligned_alloc(64, ((size_t)a->ncols * (size_t)k * size / 64 + 1) * 64);
  v->y = aligned_alloc(64, ((size_t)a->nrows * (size_t)k * size / 64 + 1) * 64);
  if (!v->x || !v->y) return bench_refuse(err, MACKO_OUT_OF_MEMORY, "vectors", "no memory");
  bench_fill_vectors(v->type, v->x, a->ncols, k);
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
  h->wrong = bench_check_vectors(&v->reference, v->y, v->k, m->rounding, &h->difference, &wrong) != MACKO_OK;
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

/* Times a sample and sets *seconds to a product of k vectors. A matrix of which caches keep something is multiplied before for as
 * long and once more, and until its loop has settled. */
static macko_status time_batch(const bench_method *m, int k, int batch, int kept, const vectors *v, double *seconds,
                               macko_error *err)
{
  macko_status s = MACKO_OK;
  const int before = !kept ? 0 : batch < settling ? settling : batch + 1;
  for (int b = 0; !s && b < before; b++) s = m->run(m, k, v->x, v->y, err);
  double start = bench_now();
  for (int b = 0; !s && b < batch; b++) s = m->run(m, k, v->x, v->y, err);
  *seconds = (bench_now() - start) / batch;
  return s;
}

/* The methods of one matrix, what they multiply, and what was measured: times[i * repeats + round] is of method i; singles has the
 * same of one vector, where v has more, and paces the machine's pace in each round. cached: the matrix fits into the cache; kept: a
 * part of it may stay there. */
typedef struct {
  const char *matrix;
  const macko_csr *a;
  bench_method methods[BENCH_METHODS + 1];
  int count, cached, kept, repeats;
  vectors v;
  rehearsal h[BENCH_METHODS];
  double *times, *singles, *paces;
} comparison;

/* Rehearses every method and then times all of them, `repeats` rounds in random order. */
static macko_status time_rounds(comparison *c, macko_error *err)
{
  int order[BENCH_METHODS];
  unsigned state = 1;
  macko_status s = MACKO_OK;
  for (int i = 0; !s && i < c->count; i++) s = rehearse(c->matrix, &c->methods[i], &c->v, &c->h[i], err), order[i] = i;
  /* Every method has its turn in a round before any has the next. */
  for (int round = 0; !s && round < c->repeats; round++) {
    shuffle(order, c->count, &state);
    s = macko_measure_pace(c->a, &c->paces[round], err);
    for (int turn = 0; !s && turn < c->count; turn++) {
      const int i = order[turn], at = i * c->repeats + round;
      s = time_batch(&c->methods[i], c->v.k, c->h[i].batch, c->kept, &c->v, &c->times[at], err);
      if (!s && c->v.k > 1) s = time_batch(&c->methods[i], 1, c->h[i].batch_of_one, c->kept, &c->v, &c->singles[at], err);
    }
  }
  return s;
}

/* Adds a row of the table for each method whose products were right. */
static macko_status add_rows(const comparison *c, bench_table *table, macko_error *err)
{
  const int repeats = c->repeats, k = c->v.k;
  const macko_csr *a = c->a;
  const double pace = bench_median(c->paces, repeats);
  for (int i = 0; i < c->count; i++) {
    const bench_method *m = &c->methods[i];
    /* The program ends with an error if there are any of ours. */
    table->wrong += c->h[i].wrong && !m->peer;
    if (c->h[i].wrong) continue;
    bench_result *r = bench_add(table);
    if (!r) return bench_refuse(err, MACKO_OUT_OF_MEMORY, c->matrix, "no memory for results");
    *r = (bench_result){.peer = m->peer, .lossy = m->rounding > 0, .cached = c->cached, .nrows = a->nrows, .ncols = a->ncols,
                        .bytes = m->bytes, .k = k, .predicted = m->predicted * pace, .pace = m->peer ? 0 : pace, .plan = m->plan,
                        .encode = m->encode, .refresh = m->refresh, .difference = c->h[i].difference};
    r->nnz = ((const int32_t *)a->row_ptr)[a->nrows];
    r->moved = m->bytes + k * (a->nrows + a->ncols) * macko_type_bytes(bench_vector_type(a));
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

/* One array holds all times. The matrix as CSR decides whether it fits into the cache, for all forms alike, so that they are timed
 * in the same way. */
macko_status bench_cpu(const char *matrix, const macko_csr *a, bench_settings *settings, bench_table *table, macko_error *err)
{
  const size_t most = (size_t)settings->repeats * BENCH_METHODS;
  const int64_t bytes = bench_csr_bytes(a);
  comparison c = {.matrix = matrix, .a = a, .cached = bytes <= settings->cache, .kept = bytes <= kept_of * settings->cache,
                  .repeats = settings->repeats,
                  .times = malloc((2 * most + (size_t)settings->repeats) * sizeof(double))};
  if (c.times) c.singles = c.times + most, c.paces = c.singles + most;
  macko_status s = open_vectors(a, settings->vectors, &c.v, err);
  if (!s && !c.times) s = bench_refuse(err, MACKO_OUT_OF_MEMORY, matrix, "no memory for times");
  if (!s) c.count = bench_open_methods(matrix, a, settings, c.methods);
  if (!s) s = time_rounds(&c, err);
  if (!s) s = add_rows(&c, table, err);
  for (int i = 0; i < c.count; i++) c.methods[i].close(&c.methods[i]);
  bench_reference_close(&c.v.reference);
  free(c.v.x), free(c.v.y), free(c.times);
  return s;
}

/* PETSc is all that outlives the matrices. */
void bench_cpu_close(void)
{
  bench_close_petsc();
}
