/* y = alpha op(A) x + beta y from format csr: plain loops for every combination of types, and loops with AVX2 where matrices have
 * those that solvers multiply most. */
#include "core/cost.h"
#include "core/cpu.h"
#include "core/product.h"
#include "core/threads.h"
#include "csr/csr.h"
#include "csr/csr_shared.h"
#include "values/codecs.h"

#include <stdlib.h>
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

/* Multiplies with the loops of csr_avx2.h, as many vectors at a time as they take, or with those of csr_together.h one by one,
 * which is faster than two together without shared columns; gives 0, and does nothing, where they do not take this product. */
static int multiply_wide(const macko_matrix *m, const macko_product *p, int64_t from, int64_t to)
{
#if MACKO_HAS_X86_64
  const csr_view a = view_of(m);
  const csr_shared *shared = shared_of(m);
  const int kind = m->plan.stored_type == MACKO_F64 ? 0 : p->vector_type == MACKO_F64 ? 1 : 2;
  if (!has_wide(m, p)) return 0;
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

/* Says whether so many vectors of x, beside what passes by, leave the second-level cache, and most entries ask for a line of x that
 * no entry near by asks for: so that each of them waits for one of every vector. A look at a few stretches of columns takes little
 * of such a product. A line that meets another in its place of the table counts twice, which few do. */
static int waits_for_lines(const macko_matrix *m, const macko_product *p, int64_t vectors)
{
  enum { STRETCHES = 8, ENTRIES = 512, LOG_PLACES = 10, COLUMNS = 8 /* of a line */ };
  const int32_t *cols = m->sections[COLS].data;
  uint32_t seen[1 << LOG_PLACES];
  int64_t looked_at = 0, lines = 0;
  const int fit = 2 * vectors * m->ncols * macko_type_bytes(p->vector_type) <= macko_machine_caches().middle;
  if (fit || vectors < 2 || p->op == MACKO_OP_T || m->sections[COLS].type != MACKO_I32) return 0;
  for (int i = 0; i < STRETCHES; i++) {
    const int64_t from = m->nnz / STRETCHES * i, past = m->nnz - from < ENTRIES ? m->nnz : from + ENTRIES;
    memset(seen, 0, sizeof seen);
    for (int64_t at = from; at < past; at++) {
      const uint32_t line = (uint32_t)cols[at] / COLUMNS + 1, place = line * 0x9e3779b1u >> (32 - LOG_PLACES);
      lines += seen[place] != line, seen[place] = line;
    }
    looked_at += past - from;
  }
  return 2 * lines > looked_at;
}

/* Multiplies vectors three or four at a time with the loops of csr_packed.h, and gives how many have been done. None are where
 * putting them side by side would take longer than it saves, or where there is no memory for it. It takes more entries a column
 * where the packed vectors do not fit the second-level cache, unless entries lie anywhere: one by one each of them would wait for a
 * line of every vector (shuffled tetrahedra, four vectors 25 instead of 45 ms). */
static int64_t multiply_side_by_side(const macko_matrix *m, const macko_product *p, const macko_cut *rows)
{
  int64_t done = 0;
#if MACKO_HAS_X86_64
  enum { FEW_A_COLUMN = 4, MANY_A_COLUMN = 16 };
  const int parts = macko_parts(m->nnz);
  const macko_cut columns = {.n = m->ncols};
  const int few = shared_of(m) ? CSR_WIDTH : 3; /* of fewer vectors one by one is as fast */
  const int64_t bytes = (m->ncols + 1) * (int64_t)sizeof(csr_vector), middle = macko_machine_caches().middle;
  if (p->k < few || m->nnz < FEW_A_COLUMN * m->ncols || p->vector_type != MACKO_F64 || !has_wide(m, p)) return 0;
  if (bytes > middle && m->nnz < MANY_A_COLUMN * m->ncols && !waits_for_lines(m, p, CSR_WIDTH)) return 0;
  csr_packing c = {.a = view_of(m), .stored = m->plan.stored_type};
  void *room = malloc((size_t)bytes); /* aligned_alloc would get new pages from the system each time */
  c.side_by_side = (csr_vector *)(((uintptr_t)room + sizeof *c.side_by_side - 1) & ~(uintptr_t)(sizeof *c.side_by_side - 1));
  for (; room && p->k - done >= few; done += c.columns) {
    c.p = macko_product_from(p, done), c.columns = p->k - done >= CSR_WIDTH ? CSR_WIDTH : 3;
    macko_do_parts(&columns, parts, csr_pack, &c);
    macko_do_parts(rows, parts, csr_multiply_packed, &c);
  }
  free(room);
#else
  (void)m, (void)p, (void)rows;
#endif
  return done;
}

/* Does vectors side by side as far as that pays and the others after them, one by one where those of one stay in a cache that those
 * of several leave. The cut is by entries, so that parts of uneven rows take as long. */
macko_status macko_csr_multiply(const macko_matrix *m, const macko_product *p, macko_error *err)
{
  (void)err;
  if (p->op == MACKO_OP_T) macko_scale(p, m->ncols);
  const macko_cut cut = {m->nrows, m->sections[ROW_PTR].type, m->sections[ROW_PTR].data, 1, m->nnz};
  const int64_t done = multiply_side_by_side(m, p, &cut);
  const int64_t left = p->k - done, at_once = waits_for_lines(m, p, left < CSR_WIDTH ? left : CSR_WIDTH) ? 1 : left;
  for (int64_t j = done; j < p->k; j += at_once) {
    macko_product rest = macko_product_from(p, j);
    rest.k = at_once;
    macko_share_product(m, &rest, multiply_rows, &cut);
  }
  return MACKO_OK;
}
