/* Rows shared among threads, where macko was configured --with-openmp. A row's sum is always made by one thread and in one order,
 * so the result has the same bits with any number of them. */
#ifndef MACKO_THREADS_H
#define MACKO_THREADS_H

#include "format.h"

#ifdef _OPENMP
#include <omp.h>
#endif

/* Entries below which starting threads takes longer than the multiply. */
enum { MACKO_THREADS_NNZ = 1 << 16 };

/* starts[0], starts[stride], ... do not fall and stay below `total`, bytes or what is proportional to them: the first of n pieces
 * of the part that thread number `part` of `parts` multiplies. Without starts pieces are alike. */
static inline int64_t macko_first_piece(macko_type type, const void *starts, int64_t stride, int64_t n, int64_t total, int part,
                                        int parts)
{
  int64_t low = 0, high = n, wanted = (int64_t)((double)total * part / parts);
  if (part == 0 || part == parts) return part ? n : 0;
  if (!starts) return (int64_t)((double)n * part / parts);
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    int64_t start = type == MACKO_U32 ? (int64_t)((const uint32_t *)starts)[middle * stride]
                                      : macko_index(type, starts, middle * stride);
    if (start < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

typedef void (*macko_pieces)(const macko_matrix *m, const macko_product *p, int64_t from, int64_t to);

/* Runs multiply over pieces 0 .. n - 1, in as many threads as OpenMP gives; in one for op T, whose threads would write to the
 * same places of y. */
static inline void macko_share_pieces(const macko_matrix *m, const macko_product *p, macko_pieces multiply, macko_type type,
                                      const void *starts, int64_t stride, int64_t n, int64_t total)
{
#ifdef _OPENMP
  if (p->op == MACKO_OP_N && m->nnz >= MACKO_THREADS_NNZ && omp_get_max_threads() > 1) {
#pragma omp parallel
    {
      int part = omp_get_thread_num(), parts = omp_get_num_threads();
      int64_t from = macko_first_piece(type, starts, stride, n, total, part, parts);
      multiply(m, p, from, macko_first_piece(type, starts, stride, n, total, part + 1, parts));
    }
    return;
  }
#endif
  (void)type, (void)starts, (void)stride, (void)total;
  multiply(m, p, 0, n);
}

#endif
