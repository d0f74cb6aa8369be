/* y = alpha A x + beta y of format csr with AVX2: rows by the loops of csr_avx2.h one by one, or, where they are short and their
 * lengths are not foreseen, a block of them in one number of steps each, with the same sums and roundings. */

/* Multiplies CSR_BLOCK rows from row `from` on, each in so many steps, which is a constant and enough for all. Values ahead are
 * asked for once a row, and once more where rows may reach into the next line. */
static inline __attribute__((always_inline)) MACKO_AVX2 void csr_block(csr_kind k, int steps, const csr_view *a,
                                                                       const macko_product *q, int64_t from)
{
  enum { ROWS = CSR_WIDTH }; /* that are put into y together */
  const int64_t size = k.stored == MACKO_F64 ? 8 : 4;
  const macko_type type = a->row_ptr_type;
  const void *row_ptr = a->row_ptr, *x[CSR_GROUP];
  const double alpha = q->alpha, beta = q->beta;
  void *y[CSR_GROUP];
#pragma GCC unroll 4
  for (int j = 0; j < k.group; j++) x[j] = macko_x_of(k.vector, q, j), y[j] = macko_y_of(k.vector, q, j);
  for (int64_t i = from, p = macko_index(type, row_ptr, from), end; i < from + CSR_BLOCK; i += ROWS) {
    csr_vector sum[ROWS][CSR_GROUP] = {{{0}}}, of_rows[ROWS];
#pragma GCC unroll 4
    for (int r = 0; r < ROWS; r++, p = end) {
      const char *values = (const char *)a->values + p * size;
      const int32_t *cols = a->cols + p;
      end = macko_index(type, row_ptr, i + r + 1);
      if (k.ahead) csr_prefetch(values, cols);
      if (k.ahead && steps > 2) __builtin_prefetch(values + CSR_AHEAD + 64, 0, 3);
#pragma GCC unroll 4
      for (int t = 0; t < CSR_WIDTH * steps; t += CSR_WIDTH) csr_add(k, values + t * size, cols + t, x, 1, end - p - t, sum[r]);
    }
#pragma GCC unroll 4
    for (int j = 0; j < k.group; j++) {
#pragma GCC unroll 4
      for (int r = 0; r < ROWS; r++) of_rows[r] = sum[r][j];
      csr_put_four(k.vector, y[j], i, alpha, beta, of_rows);
    }
  }
}

/* Multiplies rows from .. to - 1. */
typedef void csr_kernel(const csr_view *a, const macko_product *q, int64_t from, int64_t to);

/* Multiplies a block of rows in so many steps. It is not inlined where rows go one by one, which takes all registers. */
typedef void csr_block_kernel(int steps, const csr_view *a, const macko_product *q, int64_t from);

/* Finds in how many steps the longest of CSR_BLOCK rows from row i on is taken, and all of them together. Lengths fit into 32 bits,
 * whatever row_ptr is of: it comes as a constant, for which the loop is done in vectors. */
static inline __attribute__((always_inline)) MACKO_AVX2 void csr_count(macko_type type, const void *row_ptr, int64_t i,
                                                                       uint32_t *most, uint32_t *all)
{
  for (int64_t r = i; r < i + CSR_BLOCK; r++) {
    const uint32_t length = type == MACKO_I32 ? ((const uint32_t *)row_ptr)[r + 1] - ((const uint32_t *)row_ptr)[r]
                                              : (uint32_t)(((const int64_t *)row_ptr)[r + 1] - ((const int64_t *)row_ptr)[r]);
    const uint32_t steps = (length + CSR_WIDTH - 1) / CSR_WIDTH;
    *most = steps > *most ? steps : *most, *all += steps;
  }
}

/* Gives the number of steps that each of CSR_BLOCK rows from row i on is to take, or 0 where rows go one by one. */
static MACKO_AVX2 int csr_steps(const csr_view *a, int ahead, int64_t i)
{
  const int64_t past = macko_index(a->row_ptr_type, a->row_ptr, i + CSR_BLOCK);
  const int64_t entries = past - macko_index(a->row_ptr_type, a->row_ptr, i);
  uint32_t most = 0, all = 0;
  int64_t waste;
  if (past > a->nnz - CSR_WIDTH * CSR_STEPS || entries > CSR_BLOCK * CSR_WIDTH * CSR_STEPS) return 0;
  if (a->row_ptr_type == MACKO_I32) csr_count(MACKO_I32, a->row_ptr, i, &most, &all);
  else csr_count(MACKO_I64, a->row_ptr, i, &most, &all);
  return macko_csr_one_number(most, all, ahead, &waste) ? (int)most : 0;
}

/* Multiplies rows from .. to - 1, CSR_BLOCK at a time where that is faster. */
static void csr_blocks(int ahead, csr_kernel *rows, csr_block_kernel *block, const csr_view *a, const macko_product *q,
                       int64_t from, int64_t to)
{
  for (int64_t i = from, steps; i + CSR_BLOCK <= to; i += CSR_BLOCK) {
    if (!(steps = csr_steps(a, ahead, i))) continue;
    if (from < i) rows(a, q, from, i);
    block((int)steps, a, q, i);
    from = i + CSR_BLOCK;
  }
  rows(a, q, from, to);
}

#define DEFINE(name, stored, vector, ahead, group) \
  static __attribute__((noinline)) MACKO_AVX2 void name##rows_##group(const csr_view *a, const macko_product *q, int64_t from, \
                                                                      int64_t to) \
  { \
    csr_rows((csr_kind){stored, vector, ahead, group}, a, q, from, to); \
  } \
  static __attribute__((noinline)) MACKO_AVX2 void name##block_##group(int steps, const csr_view *a, const macko_product *q, \
                                                                       int64_t from) \
  { \
    const csr_kind k = {stored, vector, ahead, group}; \
    if (steps == 1) csr_block(k, 1, a, q, from); \
    else if (steps == 2) csr_block(k, 2, a, q, from); \
    else if (steps == 3) csr_block(k, 3, a, q, from); \
    else csr_block(k, CSR_STEPS, a, q, from); \
  } \
  static void name##group(const csr_view *a, const macko_product *q, int64_t from, int64_t to) \
  { \
    if (a->in_blocks) csr_blocks(ahead, name##rows_##group, name##block_##group, a, q, from, to); \
    else name##rows_##group(a, q, from, to); \
  }
#define DEFINE_GROUPS(name, stored, vector) \
  DEFINE(name, stored, vector, 0, 1) \
  DEFINE(name, stored, vector, 0, 2) \
  DEFINE(name, stored, vector, 0, 4) \
  DEFINE(name##ahead_, stored, vector, 1, 1) \
  DEFINE(name##ahead_, stored, vector, 1, 2) \
  DEFINE(name##ahead_, stored, vector, 1, 4)
DEFINE_GROUPS(csr_doubles_, MACKO_F64, MACKO_F64)
DEFINE_GROUPS(csr_singles_, MACKO_F32, MACKO_F64)
DEFINE_GROUPS(csr_floats_, MACKO_F32, MACKO_F32)
#undef DEFINE
#undef DEFINE_GROUPS

/* The kernels, by what they multiply (f64 and f64 vectors, f32 and f64, f32 and f32), by whether memory is waited for, and by the
 * size of the group (1, 2, 4). */
static csr_kernel *const csr_kernels[3][2][3] = {
  {{csr_doubles_1, csr_doubles_2, csr_doubles_4}, {csr_doubles_ahead_1, csr_doubles_ahead_2, csr_doubles_ahead_4}},
  {{csr_singles_1, csr_singles_2, csr_singles_4}, {csr_singles_ahead_1, csr_singles_ahead_2, csr_singles_ahead_4}},
  {{csr_floats_1, csr_floats_2, csr_floats_4}, {csr_floats_ahead_1, csr_floats_ahead_2, csr_floats_ahead_4}}};
