/* Encoding from rows that come in pieces: what it takes of memory. */
#include "rows.h"
#include "macko.h"
#include "../memory.h"

enum { LONG = 200000, WIDE = 12, FEW_ROWS = 500, MEMORY_CASES = 9 };

typedef struct {
  int64_t row_ptr[FEW_ROWS + 1];
  int32_t cols[FEW_ROWS * WIDE];
  double values[FEW_ROWS * WIDE];
  size_t most; /* bytes in use while a piece was asked for */
} band;

/* A band whose values are all distinct, made as it is asked for. */
static macko_status give_band(void *context, int64_t first, int64_t count, macko_csr *piece, macko_error *err)
{
  band *b = context;
  int64_t n = 0;
  const size_t now = bytes_in_use();
  (void)err;
  if (now > b->most) b->most = now;
  for (int64_t i = 0; i < count; i++) {
    for (int64_t k = 0; k < WIDE; k++)
      b->cols[n] = (int32_t)(first + i + k * k), b->values[n++] = 1.0 / (double)((first + i) * WIDE + k + 1);
    b->row_ptr[i + 1] = n;
  }
  *piece = (macko_csr){.nrows = count, .ncols = LONG + WIDE * WIDE, .row_ptr_type = MACKO_I64, .col_type = MACKO_I32,
                       .value_type = MACKO_F64, .row_ptr = b->row_ptr, .cols = b->cols, .values = b->values};
  return MACKO_OK;
}

/* The result, a hash a row, and no more than what the pieces may take. */
START_TEST(memory_is_the_result_and_a_piece)
{
  static const struct {
    macko_format format;
    macko_layout layout;
    macko_prefer prefer;
  } cases[MEMORY_CASES] = {{MACKO_FORMAT_CSR, 0, 0}, {MACKO_FORMAT_DTANS, 0, 0}, {MACKO_FORMAT_ECCSR, 0, 0},
                           {MACKO_FORMAT_SLIDE, 0, 0}, {MACKO_FORMAT_MACKO, MACKO_LAYOUT_SLICE, 0},
                           {MACKO_FORMAT_MACKO, MACKO_LAYOUT_ROW, 0}, {MACKO_FORMAT_MACKO, MACKO_LAYOUT_AUTO, 0},
                           {MACKO_FORMAT_AUTO, 0, MACKO_PREFER_TIME}, {MACKO_FORMAT_AUTO, 0, MACKO_PREFER_MEMORY}};
  static band b;
  macko_row_source source = {.nrows = LONG, .ncols = LONG + WIDE * WIDE, .value_type = MACKO_F64, .piece_rows = FEW_ROWS,
                             .rows = give_band, .context = &b};
  macko_options o;
  macko_matrix *m = NULL;
  macko_info info;
  size_t before = bytes_in_use();
  macko_options_init(&o);
  o.format = cases[_i / 2].format, o.layout = cases[_i / 2].layout, o.prefer = cases[_i / 2].prefer,
  o.values = _i % 2 ? MACKO_VALUES_F32 : MACKO_VALUES_RAW;
  b.most = 0;
  ck_assert(!macko_encode_rows(&source, &o, &m, NULL));
  macko_get_info(m, &info);
  double used = (double)(b.most - before), allowed = (double)info.bytes + 4.0 * LONG + 2e6;
  ck_assert_msg(used <= allowed, "%s: %g bytes in use, %g allowed", macko_format_name(o.format), used, allowed);
  macko_destroy(&m);
}
END_TEST

void add_memory_tests(TCase *t)
{
  tcase_add_loop_test(t, memory_is_the_result_and_a_piece, 0, 2 * MEMORY_CASES);
}
