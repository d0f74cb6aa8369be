/* How fast the processor is at this hour: products by format csr with some rows of a matrix timed, beside what they are predicted
 * to take. Costs are those of one machine of a kind, with one thread and nobody beside it; a clock, others who read from the same
 * memory, and the number of threads make the rest. */
#include "core/cost.h"
#include "core/measure.h"

#include <stdlib.h>
#include <string.h>

/* So many times are taken, of which the one in the middle counts; fewer where a product is long. Before them so many products are
 * done of a matrix that the last-level cache does not hold: until then some processors keep less of it than in a longer loop. */
enum { TIMES = 9, FEW_TIMES = 3, SETTLING = 5 };

/* Nanoseconds that the clock has to see at once, as it takes some itself. */
static const double shortest = 2e4;

/* ---- some rows ---- */

/* Sets *rows to rows in the middle of *a, sorted, with the columns and values of that, and *starts to what the caller frees. They
 * have four times the bytes of the last-level cache, so that they come from memory again; all rows where there are fewer, as a part
 * of what a cache holds would be faster than all of it. */
static macko_status take_rows(const macko_csr *a, macko_csr *rows, int64_t **starts, macko_error *err)
{
  const int64_t size = macko_type_bytes(a->value_type);
  const double bytes = (double)macko_csr_nnz(a) * (double)(size + 4) + 4 * (double)a->nrows;
  const double wanted = 4 * (double)macko_machine_caches().last;
  const int64_t some = (int64_t)((double)a->nrows * wanted / bytes), count = wanted >= bytes ? a->nrows : some ? some : 1;
  const int64_t first = (a->nrows - count) / 2;
  const int64_t begin = macko_csr_row(a, first);
  int64_t *row_ptr = *starts = malloc((size_t)(count + 1) * sizeof *row_ptr);
  if (!row_ptr) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for the starts of %lld rows to time", (long long)count);
  const int narrow = macko_index_type(macko_csr_row(a, first + count) - begin) == MACKO_I32;
  for (int64_t i = 0; i <= count; i++) {
    const int64_t at = macko_csr_row(a, first + i) - begin + a->index_base;
    if (narrow) ((int32_t *)row_ptr)[i] = (int32_t)at;
    else row_ptr[i] = at;
  }
  *rows = *a;
  rows->nrows = count, rows->row_ptr = row_ptr, rows->row_ptr_type = narrow ? MACKO_I32 : MACKO_I64;
  if (begin) {
    rows->cols = (const char *)a->cols + begin * macko_type_bytes(a->col_type);
    rows->values = (const char *)a->values + begin * size;
  }
  return MACKO_OK;
}

/* ---- their products ---- */

/* Takes the time of `batch` products of *m `count` times, after `before` times as many that bring it where it stays; *taken becomes
 * the nanoseconds of a product in the middle one. */
static macko_status time_products(const macko_matrix *m, int before, int count, int batch, const void *x, void *y, double *taken,
                                  macko_error *err)
{
  const macko_type type = macko_vectors_of(m->value_type);
  double times[TIMES];
  macko_status s = MACKO_OK;
  for (int i = -before; i < count && !s; i++) {
    const double start = macko_now();
    for (int b = 0; b < batch && !s; b++) s = macko_multiply(m, MACKO_OP_N, type, 1, 1, x, m->ncols, 0, y, m->nrows, err);
    const double time = (macko_now() - start) / batch;
    int at = i;
    if (i < 0) continue;
    for (; at > 0 && times[at - 1] > time; at--) times[at] = times[at - 1];
    times[at] = time;
  }
  if (!s) *taken = times[count / 2];
  return s;
}

/* Sets *pace to what products of *m take over what they are predicted to. x has numbers, as all pages of a vector that nobody wrote
 * to may be one; an element more keeps empty vectors from asking for no memory. */
static macko_status pace_of(const macko_matrix *m, double *pace, macko_error *err)
{
  const size_t size = (size_t)macko_type_bytes(MACKO_F64), xs = ((size_t)m->ncols + 1) * size, ys = ((size_t)m->nrows + 1) * size;
  const double predicted = m->plan.time + m->plan.gathers;
  const int batch = predicted < shortest ? (int)(shortest / (predicted + 1)) + 1 : 1;
  void *x = malloc(xs), *y = malloc(ys);
  double taken = 0;
  macko_status s = x && y ? MACKO_OK
                          : macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for vectors of %lld and %lld elements to time with",
                                       (long long)m->ncols, (long long)m->nrows);
  if (!s) memset(x, 0x3f, xs), memset(y, 0x3f, ys);
  const int few = m->plan.bytes > macko_machine_caches().last;
  if (!s) s = time_products(m, few ? SETTLING : 1, few ? FEW_TIMES : TIMES, batch, x, y, &taken, err);
  if (!s && predicted > 0) *pace = taken / predicted;
  free(x), free(y);
  return s;
}

/* Rows are copied as other forms are, which have their arrays in large pages. Those without entries are multiplied in no time that
 * could be foretold. */
macko_status macko_measure_pace(const macko_csr *csr, double *pace, macko_error *err)
{
  macko_csr sorted, rows;
  macko_options options;
  macko_matrix *m = NULL;
  void *owned = NULL;
  int64_t *starts = NULL;
  double found = 1;
  if (!csr || !pace) return macko_fail(err, MACKO_INVALID_ARGUMENT, "csr and pace must not be NULL");
  macko_options_init(&options);
  options.format = MACKO_FORMAT_CSR, options.values = MACKO_VALUES_RAW;
  macko_status s = macko_sort_csr(csr, &sorted, &owned, err);
  if (!s && macko_csr_nnz(&sorted)) s = take_rows(&sorted, &rows, &starts, err);
  if (!s && starts) s = macko_encode_sorted(&rows, &options, 0, 0, &m, err);
  if (m && m->nnz) s = pace_of(m, &found, err);
  macko_destroy(&m);
  free(starts), free(owned);
  if (!s) *pace = found;
  return s;
}
