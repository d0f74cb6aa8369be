/* y = alpha op(A) x + beta y from format csr: plain loops for every combination of types, and loops with AVX2 where matrices have
 * those that solvers multiply most. */
#include "core/beside.h"
#include "core/cpu.h"
#include "csr/csr.h"
#include "csr/csr_shared.h"
#include "values/codecs.h"

#include <string.h>

/* Marks a function whose loops begin at lines of the instruction cache: rows have few entries, and a loop that lies across two
 * lines takes up to 1.4 times as long. */
#if defined(__GNUC__) && !defined(__clang__)
#define ALIGNED_LOOPS __attribute__((optimize("align-loops=64")))
#else
#define ALIGNED_LOOPS
#endif

/* Multiplies rows from .. to - 1 with `group` vectors, for every combination of types; all of them are constants in the calls,
 * which makes each instance a plain loop. Loops over a group are unrolled, which keeps its sums in registers: a compiler left to
 * itself (-O2) does not, and four vectors took longer than four products. Sums are double. Op T adds the multiples of row i to y,
 * which has been scaled before. */
static inline __attribute__((always_inline)) void multiply_as(const macko_matrix *m, const macko_product *to_do, macko_type rows,
                                                              macko_type col_type, macko_type values, macko_type vector,
                                                              macko_op op, int group, int64_t from, int64_t to)
{
  const macko_product own = *to_do, *q = &own; /* a copy that no write to y can change, as a compiler sees */
  const void *row_ptr = m->sections[ROW_PTR].data, *cols = m->sections[COLS].data, *v = m->sections[VALUES].data;
  int64_t p = macko_index(rows, row_ptr, from);
  for (int64_t i = from; i < to; i++) {
    const int64_t end = macko_index(rows, row_ptr, i + 1);
    double sum[MACKO_GROUP] = {0};
    if (op == MACKO_OP_T)
#pragma GCC unroll 4
      for (int j = 0; j < group; j++) sum[j] = q->alpha * macko_x(vector, q, j, i);
    for (; p < end; p++) {
      int64_t col = macko_index(col_type, cols, p);
      double value = macko_float_at(values, v, p);
#pragma GCC unroll 4
      for (int j = 0; j < group; j++)
        if (op == MACKO_OP_N) sum[j] += value * macko_x(vector, q, j, col);
        else macko_add_y(vector, q, j, col, value * sum[j]);
    }
    if (op == MACKO_OP_N)
#pragma GCC unroll 4
      for (int j = 0; j < group; j++) macko_put_y(vector, q, j, i, sum[j]);
  }
}

/* Multiplies rows from .. to - 1 with `group` vectors, a constant, where alpha is 1 and beta 0, all f64 with 32-bit indices: what
 * solvers ask for most, without factors, which short rows would feel. */
static inline __attribute__((always_inline)) void multiply_plain(const macko_matrix *m, const macko_product *q, int group,
                                                                 int64_t from, int64_t to)
{
  const int32_t *row_ptr = m->sections[ROW_PTR].data, *cols = m->sections[COLS].data;
  const double *values = m->sections[VALUES].data, *x[MACKO_GROUP];
  double *y[MACKO_GROUP];
  int64_t p = row_ptr[from];
#pragma GCC unroll 4
  for (int j = 0; j < group; j++) x[j] = macko_x_of(MACKO_F64, q, j), y[j] = macko_y_of(MACKO_F64, q, j);
  for (int64_t i = from; i < to; i++) {
    const int64_t end = row_ptr[i + 1];
    double sum[MACKO_GROUP] = {0};
    for (; p < end; p++)
#pragma GCC unroll 4
      for (int j = 0; j < group; j++) sum[j] += values[p] * x[j][cols[p]];
#pragma GCC unroll 4
    for (int j = 0; j < group; j++) y[j][i] = sum[j];
  }
}

/* A function for each group keeps the addresses of its vectors in registers. */
#define DEFINE_PLAIN(group) \
  ALIGNED_LOOPS static __attribute__((noinline)) void multiply_plain_##group(const macko_matrix *m, const macko_product *q, \
                                                                             int64_t from, int64_t to) \
  { \
    multiply_plain(m, q, group, from, to); \
  }
DEFINE_PLAIN(1)
DEFINE_PLAIN(2)
DEFINE_PLAIN(3)
DEFINE_PLAIN(4)
#undef DEFINE_PLAIN

/* Multiplies with all k vectors, as many at a time as there are functions for: one for each size of a group. */
static void multiply_plain_groups(const macko_matrix *m, const macko_product *p, int64_t from, int64_t to)
{
  static void (*const plain_kernels[MACKO_GROUP])(const macko_matrix *, const macko_product *, int64_t, int64_t) = {
    multiply_plain_1, multiply_plain_2, multiply_plain_3, multiply_plain_4};
  for (int64_t j = 0, group; j < p->k; j += group) {
    const macko_product q = macko_product_from(p, j);
    group = p->k - j < MACKO_GROUP ? p->k - j : MACKO_GROUP;
    plain_kernels[group - 1](m, &q, from, to);
  }
}

/* A matrix for the loops with AVX2: f64 or f32 values and 32-bit columns, which is what solvers multiply most. */
typedef struct {
  macko_type row_ptr_type;
  int in_blocks; /* rows are looked at in blocks */
  int64_t nnz;
  const void *row_ptr;
  const int32_t *cols;
  const void *values;
} csr_view;

#if MACKO_HAS_X86_64
#include <immintrin.h>
#include "csr/csr_avx2.h"
#include "csr/csr_block.h"
#include "csr/csr_packed.h"
#include "csr/csr_together.h"

/* Gives what has been prepared of a matrix. */
static const csr_prepared *prepared_of(const macko_matrix *m)
{
  static const csr_prepared nothing;
  return m->prepared ? m->prepared : &nothing;
}

/* Gives the groups of rows that share columns, or NULL. */
static const csr_shared *shared_of(const macko_matrix *m)
{
  const csr_shared *shared = &prepared_of(m)->shared;
  return shared->marks ? shared : NULL;
}

/* Gives that view of a matrix that has such types. */
static csr_view view_of(const macko_matrix *m)
{
  const macko_section *s = m->sections;
  return (csr_view){s[ROW_PTR].type, prepared_of(m)->in_blocks, m->nnz, s[ROW_PTR].data, s[COLS].data, s[VALUES].data};
}

/* Tells whether the matrix is likely in a cache: then a prefetch costs a load and saves nothing (0.85 of the time without, Zen
 * 4). */
static int is_cached(const macko_matrix *m)
{
  return m->plan.bytes < CSR_CACHED_BYTES;
}
#endif

/* A plain loop wastes less of short rows, which counts where nothing waits for memory. */
int macko_csr_wide_rows(int64_t nrows, int64_t nnz, int64_t bytes)
{
#if MACKO_HAS_X86_64
  return nnz >= (bytes < CSR_CACHED_BYTES ? LONG_ROWS : LONG_ROWS / 2) * nrows && macko_has_avx2();
#else
  return (void)nrows, (void)nnz, (void)bytes, 0;
#endif
}

/* Tells whether the loops with AVX2 take this matrix and this product. They do so for any number of vectors, so that the bits are
 * those of one, although a plain loop of several vectors is faster up to rows of twelve entries. */
static int has_wide(const macko_matrix *m, const macko_product *p)
{
#if MACKO_HAS_X86_64
  if (!(prepared_of(m)->uneven && macko_has_avx2()) && !macko_csr_wide_rows(m->nrows, m->nnz, m->plan.bytes)) return 0;
  return p->op == MACKO_OP_N && m->sections[COLS].type == MACKO_I32 &&
         (m->plan.stored_type == MACKO_F32 ? p->vector_type == MACKO_F64 || p->vector_type == MACKO_F32
                                           : m->plan.stored_type == MACKO_F64 && p->vector_type == MACKO_F64);
#else
  return (void)m, (void)p, 0;
#endif
}

/* Multiplies with the loop of csr_packed.h vectors that lie side by side, others with those of csr_avx2.h, as many at a time as they
 * take, or with those of csr_together.h one by one, which is faster than two together without shared columns; gives 0, and does
 * nothing, where they do not take this product. */
static int multiply_wide(const macko_matrix *m, const macko_product *p, int64_t from, int64_t to)
{
#if MACKO_HAS_X86_64
  const csr_view a = view_of(m);
  const csr_shared *shared = shared_of(m);
  const int kind = m->plan.stored_type == MACKO_F64 ? 0 : p->vector_type == MACKO_F64 ? 1 : 2;
  if (!has_wide(m, p)) return 0;
  if (p->beside) {
    csr_multiply_packed(&a, m->plan.stored_type, p, from, to);
    return 1;
  }
  for (int64_t j = 0, group; j < p->k; j += group) {
    const macko_product q = macko_product_from(p, j);
    group = shared ? 1 : p->k - j >= 4 ? 4 : p->k - j >= 2 ? 2 : 1;
    if (shared) csr_shared_kernels[kind][!is_cached(m)](&a, shared, &q, from, to);
    else csr_kernels[kind][!is_cached(m)][group / 2](&a, &q, from, to);
  }
  return 1;
#else
  (void)m, (void)p, (void)from, (void)to;
  return 0;
#endif
}

/* This is the macko_pieces of format csr: rows from .. to - 1. Types that most matrices have are constants; all others share one
 * instance that asks for them in the loop. */
ALIGNED_LOOPS static void multiply_rows(const macko_matrix *m, const macko_product *p, int64_t from, int64_t to)
{
  const int narrow = m->sections[COLS].type == MACKO_I32 && m->sections[ROW_PTR].type == MACKO_I32;
  const macko_type rows = m->sections[ROW_PTR].type, stored = m->plan.stored_type;
  const int plain = p->op == MACKO_OP_N && p->vector_type == MACKO_F64 && p->alpha == 1 && p->beta == 0;
  if (multiply_wide(m, p, from, to)) return;
  if (plain && narrow && stored == MACKO_F64) {
    multiply_plain_groups(m, p, from, to);
    return;
  }
#define F64_MATRIX(vector, op, group) multiply_as(m, &q, MACKO_I32, MACKO_I32, MACKO_F64, vector, op, group, from, to)
#define F32_MATRIX(vector, op, group) multiply_as(m, &q, MACKO_I32, MACKO_I32, MACKO_F32, vector, op, group, from, to)
#define ANY_MATRIX(vector, op, group) multiply_as(m, &q, rows, m->sections[COLS].type, stored, vector, op, group, from, to)
  if (narrow && stored == MACKO_F64) MACKO_FOR_GROUPS(p, q, F64_MATRIX)
  else if (narrow && stored == MACKO_F32) MACKO_FOR_GROUPS(p, q, F32_MATRIX)
  else MACKO_FOR_GROUPS(p, q, ANY_MATRIX)
}

/* Gives how few vectors go side by side, which rows must have a loop for; 0: none do. Of fewer one by one is as fast. */
static int few_beside(const macko_matrix *m, const macko_product *p)
{
#if MACKO_HAS_X86_64
  if (p->vector_type == MACKO_F64 && has_wide(m, p)) return shared_of(m) ? MACKO_GROUP : MACKO_GROUP - 1;
#else
  (void)m, (void)p;
#endif
  return 0;
}

/* The cut is by entries, so that parts of uneven rows take as long. */
macko_status macko_csr_multiply(const macko_matrix *m, const macko_product *p, macko_error *err)
{
  const macko_cut cut = {m->nrows, m->sections[ROW_PTR].type, m->sections[ROW_PTR].data, 1, m->nnz};
  (void)err;
  if (p->op == MACKO_OP_N) macko_share_vectors(m, p, few_beside(m, p), multiply_rows, &cut);
  else macko_scale(p, m->ncols), macko_share_product(m, p, multiply_rows, &cut);
  return MACKO_OK;
}
