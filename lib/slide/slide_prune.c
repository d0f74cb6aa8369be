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

/* Compares two magnitudes for qsort: the larger comes first. */
static int falling(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x < y) - (x > y);
}

/* What stays of a block: all entries of more than this magnitude, and the first so many of just this one. */
typedef struct {
  double least;
  int64_t equal;
} limit;

/* Finds that for the z largest of the block from .. to - 1. room takes the magnitudes of its entries. */
static limit limit_of(const macko_csr *a, int64_t from, int64_t to, int64_t z, double *room)
{
  const int64_t n = to - from;
  if (n <= z) return (limit){-1, 0};
  for (int64_t i = 0; i < n; i++) room[i] = magnitude(a, from + i);
  qsort(room, (size_t)n, sizeof *room, falling);
  limit found = {room[z - 1], 0};
  for (int64_t i = z - 1; i >= 0 && room[i] == found.least; i--) found.equal++;
  return found;
}

/* Gives 1 if entry p is among the largest of its block, whose entries are asked about from left to right: of equal ones those
 * further left are. */
static int is_kept(const macko_csr *a, int64_t p, limit *block)
{
  const double own = magnitude(a, p);
  return own > block->least || (own == block->least && block->equal-- > 0);
}

/* Gives the entry behind those that are in the block of l columns of entry p, before `end`. */
static int64_t block_end(const macko_csr *a, int64_t p, int64_t end, int64_t l)
{
  const int64_t block = macko_csr_col(a, p) / l;
  while (p < end && macko_csr_col(a, p) / l == block) p++;
  return p;
}

/* Gives the most entries that a block of l columns can have. */
static int64_t largest_block(const macko_csr *a, int64_t l)
{
  int64_t most = 0;
  for (int64_t i = 0; i < a->nrows; i++)
    if (macko_csr_row(a, i + 1) - macko_csr_row(a, i) > most) most = macko_csr_row(a, i + 1) - macko_csr_row(a, i);
  return most < l ? most : l;
}

/* Writes the entries that stay into *pruned, whose arrays have room for all of *a. room takes the magnitudes of a block. */
static void prune(const macko_csr *a, int64_t z, int64_t l, const macko_csr *pruned, double *room)
{
  void *row_ptr = (void *)pruned->row_ptr, *cols = (void *)pruned->cols, *values = (void *)pruned->values;
  int64_t count = 0;
  macko_set_index(pruned->row_ptr_type, row_ptr, 0, pruned->index_base);
  for (int64_t i = 0; i < a->nrows; i++) {
    for (int64_t p = macko_csr_row(a, i), end = macko_csr_row(a, i + 1), to; p < end; p = to) {
      to = block_end(a, p, end, l);
      limit block = limit_of(a, p, to, z, room);
      for (int64_t q = p; q < to; q++) {
        if (!is_kept(a, q, &block)) continue;
        macko_set_index(pruned->col_type, cols, count, macko_csr_col(a, q) + pruned->index_base);
        macko_put_bits(a->value_type, values, count++, macko_bits_at(a->value_type, a->values, q));
      }
    }
    macko_set_index(pruned->row_ptr_type, row_ptr, i + 1, count + pruned->index_base);
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
  void *cols = malloc(nnz * (size_t)macko_type_bytes(csr->col_type)),
       *values = malloc(nnz * (size_t)macko_type_bytes(a.value_type));
  double *room = malloc(((size_t)largest_block(&a, l) + 1) * sizeof *room);
  if (row_ptr && cols && values && room) {
    *pruned = *csr, pruned->row_ptr = row_ptr, pruned->cols = cols, pruned->values = values;
    prune(&a, z, l, pruned, room);
  } else {
    s = macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %zu entries", nnz - 1);
    free(row_ptr), free(cols), free(values);
  }
  free(owned), free(room);
  return s;
}
