/* Pruning by magnitude: of every L columns of a row the Z largest entries are kept. */
#include "core/convert.h"
#include "core/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Gives what entries are compared by; for what is no number more than for any number, as it must not get lost. */
static double magnitude(const macko_csr *a, int64_t p)
{
  const double v = macko_float_at(a->value_type, a->values, p);
  return isnan(v) ? INFINITY : fabs(v);
}

/* Gives 1 if entry p of the block from .. to - 1 is among its z largest; of equal ones those further left are. Every entry is
 * compared with all others of its block, so that the time grows with the square of its entries. */
static int is_kept(const macko_csr *a, int64_t from, int64_t to, int64_t p, int64_t z)
{
  const double own = magnitude(a, p);
  int64_t before = 0;
  for (int64_t q = from; q < to; q++) before += magnitude(a, q) > own || (q < p && magnitude(a, q) == own);
  return before < z;
}

/* Gives the entry behind those that are in the block of l columns of entry p, before `end`. */
static int64_t block_end(const macko_csr *a, int64_t p, int64_t end, int64_t l)
{
  const int64_t block = macko_csr_col(a, p) / l;
  while (p < end && macko_csr_col(a, p) / l == block) p++;
  return p;
}

/* Writes the entries that stay into arrays with room for all of *a, of the types and index base of *like. */
static void prune(const macko_csr *a, int64_t z, int64_t l, const macko_csr *like, void *row_ptr, void *cols, void *values)
{
  int64_t count = 0;
  for (int64_t i = 0; i < a->nrows; i++) {
    for (int64_t p = macko_csr_row(a, i), end = macko_csr_row(a, i + 1), to; p < end; p = to) {
      to = block_end(a, p, end, l);
      for (int64_t q = p; q < to; q++) {
        if (!is_kept(a, p, to, q, z)) continue;
        macko_set_index(like->col_type, cols, count, macko_csr_col(a, q) + like->index_base);
        macko_put_bits(a->value_type, values, count++, macko_bits_at(a->value_type, a->values, q));
      }
    }
    macko_set_index(like->row_ptr_type, row_ptr, i + 1, count + like->index_base);
  }
}

/* A sorted copy is made only where rows are unsorted or have duplicates. The arrays have room for all entries, as how many stay
 * is not known before. */
macko_status macko_prune(const macko_csr *csr, int64_t z, int64_t l, macko_csr *pruned, macko_error *err)
{
  macko_csr a;
  void *owned = NULL;
  if (!csr || !pruned) return macko_fail(err, MACKO_INVALID_ARGUMENT, "csr and pruned must not be NULL");
  if (l < 1 || z < 1 || z > l)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "%lld:%lld is no pattern: it has 1 to L entries of L columns", (long long)z,
                      (long long)l);
  macko_status s = macko_sort_csr(csr, &a, &owned, err);
  if (s) return s;
  const size_t nnz = (size_t)macko_csr_nnz(&a) + 1;
  void *row_ptr = malloc((size_t)((a.nrows + 1) * macko_type_bytes(csr->row_ptr_type)));
  void *cols = malloc(nnz * (size_t)macko_type_bytes(csr->col_type)), *values = malloc(nnz * (size_t)macko_type_bytes(a.value_type));
  if (row_ptr && cols && values) {
    macko_set_index(csr->row_ptr_type, row_ptr, 0, csr->index_base);
    prune(&a, z, l, csr, row_ptr, cols, values);
    *pruned = *csr, pruned->row_ptr = row_ptr, pruned->cols = cols, pruned->values = values;
  } else {
    s = macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %zu entries", nnz - 1);
    free(row_ptr), free(cols), free(values);
  }
  free(owned);
  return s;
}
