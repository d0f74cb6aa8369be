/* macko-bench: the size of blocks for peers that store a matrix by them. */
#include "bench/bench.h"

#include <stdlib.h>

enum { LEAST = 2, MOST = 8, SAMPLES = 1 << 15 }; /* sizes of blocks that are looked at, and about how many block rows */

/* seen[j] is the last block row, counted from 1, that has a block in column j. */
int64_t bench_blocks_of_row(const macko_csr *a, int64_t block, int64_t row, int32_t *seen)
{
  const int32_t *row_ptr = a->row_ptr, *cols = a->cols;
  int64_t count = 0;
  for (int64_t p = row_ptr[row * block]; p < row_ptr[(row + 1) * block]; p++)
    if (seen[cols[p] / block] != row + 1) seen[cols[p] / block] = (int32_t)(row + 1), count++;
  return count;
}

/* Returns the bytes of blocks of size b over those of CSR, in block rows spread over the matrix, as looking at all of a large one
 * would take long. A block has b b values and one column. 0 stands for no memory or no entries. */
static double blocks_over_csr(const macko_csr *a, int64_t b)
{
  const int32_t *row_ptr = a->row_ptr;
  const int64_t rows = a->nrows / b, stride = rows / SAMPLES + 1, size = macko_type_bytes(a->value_type);
  int32_t *seen = calloc((size_t)(a->ncols / b) + 1, sizeof *seen);
  int64_t blocks = 0, entries = 0;
  for (int64_t i = 0; seen && i < rows; i += stride) {
    blocks += bench_blocks_of_row(a, b, i, seen);
    entries += row_ptr[(i + 1) * b] - row_ptr[i * b];
  }
  free(seen);
  return entries ? (double)(blocks * (b * b * size + 4)) / (double)(entries * (size + 4)) : 0;
}

/* A size that does not divide the matrix is passed over, because peers that store blocks do not take one either. */
int bench_block_size(const macko_csr *a)
{
  /* A peer gets its blocks even where they take somewhat more bytes than CSR. */
  double best = 1.4;
  int size = 1;
  for (int b = LEAST; b <= MOST; b++) {
    if (a->nrows % b || a->ncols % b) continue;
    double over = blocks_over_csr(a, b);
    if (over > 0 && over < best) best = over, size = b;
  }
  return size;
}
