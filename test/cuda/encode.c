/* Encoding from device memory gives the host's bytes: every pattern, layout and codec, index types, damage. */
#include "both.h"
#include "common.h"
#include "eccsr/eccsr_rules.h"

#include <stdlib.h>
#include <string.h>

static void automatic(const test_matrix *a, const both *b)
{
  macko_options o;
  macko_options_init(&o);
  for (int target = MACKO_TARGET_CPU; target <= MACKO_TARGET_GPU; target++)
    for (int prefer = MACKO_PREFER_TIME; prefer <= MACKO_PREFER_MEMORY; prefer++) {
      o.target = (macko_target)target, o.prefer = (macko_prefer)prefer;
      encode_both(a, b, &o);
    }
}

static void asked_for(const test_matrix *a, const both *b)
{
  static const int widths[] = {0, 1, 4, 16};
  macko_options o;
  macko_options_init(&o);
  for (int f = 0; f < MACKO_FORMAT_AUTO; f++)
    for (int values = MACKO_VALUES_AUTO; values <= MACKO_VALUES_BF16; values++)
      for (int layout = MACKO_LAYOUT_AUTO; layout <= MACKO_LAYOUT_PAPER; layout++)
        for (int w = 0; w < (layout == MACKO_LAYOUT_ROW ? 4 : 1); w++) {
          if (f != MACKO_FORMAT_MACKO && layout) continue;
          if (f == MACKO_FORMAT_DTANS && values) continue;
          o.format = (macko_format)f, o.values = (macko_values)values, o.layout = (macko_layout)layout, o.gap_bits = widths[w];
          encode_both(a, b, &o);
        }
}

START_TEST(bytes_are_the_hosts)
{
  int pattern = _i % TEST_PATTERNS, kind = _i / TEST_PATTERNS;
  test_matrix a = test_make(pattern, test_kinds[kind].values, test_kinds[kind].type);
  both b = open_both(&a, _i % 4);
  automatic(&a, &b);
  asked_for(&a, &b);
  close_both(&b);
  test_free(&a);
}
END_TEST

START_TEST(many_rows_too)
{
  test_matrix a = many_rows(_i);
  for (int kind = 0; kind < TEST_VALUES; kind++) {
    test_fill(&a, kind);
    both b = open_both(&a, kind % 4);
    automatic(&a, &b);
    if (kind < 2) asked_for(&a, &b);
    close_both(&b);
  }
  test_free(&a);
}
END_TEST

/* Format eccsr: blocks of rows, masks, gaps of every width. */
START_TEST(rows_that_share_columns)
{
  test_matrix a = coupled_rows(_i);
  macko_options o;
  macko_options_init(&o);
  for (int kind = 0; kind < TEST_VALUES; kind++) {
    test_fill(&a, kind);
    both b = open_both(&a, (_i + kind) % 4);
    o.format = MACKO_FORMAT_ECCSR;
    for (int values = MACKO_VALUES_AUTO; values <= MACKO_VALUES_BF16; values++) {
      o.values = (macko_values)values;
      encode_both(&a, &b, &o);
    }
    automatic(&a, &b);
    close_both(&b);
  }
  test_free(&a);
}
END_TEST

/* Values that a dictionary holds, in more pairs with gaps than the GPU's table of pairs has room for. */
START_TEST(more_pairs_than_codes)
{
  test_matrix a = many_rows(1);
  macko_options o;
  test_fill(&a, 0);
  for (int64_t p = 0; p < a.row_ptr[a.nrows]; p++) ((double *)a.values)[p] = (double)(p % 60000);
  both b = open_both(&a, 0);
  macko_options_init(&o);
  o.format = MACKO_FORMAT_MACKO, o.layout = MACKO_LAYOUT_SLICE, o.values = MACKO_VALUES_PAIRS;
  encode_both(&a, &b, &o);
  close_both(&b);
  test_free(&a);
}
END_TEST

/* Few rows of thousands of entries, which several warps look at: random gaps; the same columns in every row, behind rows that are
 * a stencil; empty rows and long gaps between them. */
static test_matrix few_rows(int shape, macko_type type)
{
  enum { ROWS = 100, COLS = 6000 };
  test_matrix a = {.name = "few rows", .nrows = ROWS, .ncols = COLS, .type = type, .row_ptr = calloc(ROWS + 1, 8)};
  int64_t count = 0;
  a.cols = malloc((size_t)(ROWS * COLS) * 8);
  test_seed(7);
  for (int64_t i = 0; i < ROWS; i++) {
    int stencil = shape == 1 && i < 32, empty = shape == 2 && i % 10 == 3;
    int64_t length = stencil ? 3 : empty ? 0 : COLS, col = stencil || shape == 1 ? i : 0;
    for (int64_t k = 0; k < length && col < COLS; k++) {
      a.cols[count++] = col;
      if (shape == 1) col += stencil ? 1 : 1 + k % 4;
      else col += 1 + (int64_t)(test_draw() % 3) + (shape == 2 && test_draw() % 50 == 0 ? (int64_t)(test_draw() % 400) : 0);
    }
    a.row_ptr[i + 1] = count;
  }
  a.values = malloc((size_t)count * 8 + 8), a.exact = malloc((size_t)count * 8 + 8);
  return a;
}

/* Adds a row with such distances from its number, from value + `further` times the place in the row on. */
static void add_row(test_matrix *a, int64_t row, const int64_t *distances, int count, double value, double further)
{
  int64_t at = a->row_ptr[row];
  for (int k = 0; k < count; k++, at++) a->cols[at] = row + distances[k], ((double *)a->values)[at] = value + k * further;
  a->row_ptr[row + 1] = at;
}

/* Slices that are stencils, whose blocks are aligned, among others whose blocks are not, new ones and repeated ones in any
 * order. */
static test_matrix stencils_among_others(void)
{
  enum { SLICES = 200, ROWS = 32 * SLICES - 5, MOST = 9 };
  test_matrix a = {.name = "stencils among others", .nrows = ROWS, .ncols = ROWS + 100, .type = MACKO_F64,
                   .row_ptr = calloc(ROWS + 1, 8), .cols = malloc(ROWS * MOST * 8), .values = malloc(ROWS * MOST * 8),
                   .exact = malloc(ROWS * MOST * 8)};
  int64_t distances[MOST], kind = 0, count = 0;
  test_seed(11);
  for (int64_t i = 0; i < ROWS; i++) {
    if (i % 32 == 0) {
      kind = (int64_t)(test_draw() % 3), count = 1 + (int64_t)(test_draw() % MOST);
      for (int64_t k = 0; k < count; k++) distances[k] = (k ? distances[k - 1] : 0) + 1 + (int64_t)(test_draw() % 3);
    }
    if (kind == 2) distances[0] = (int64_t)(test_draw() % 2);
    add_row(&a, i, distances, (int)count, kind ? (double)i / 7 : (double)count, kind ? 1 : 0);
  }
  return a;
}

/* A stencil of one step and a list of five columns, whose blocks have the same words: distance, lanes, and the bits of a value are
 * distances from the first column in the other. Which comes first decides whether they share one. */
static test_matrix one_block_of_two_kinds(int list_first)
{
  enum { ROWS = 96 };
  static const int64_t list[] = {0, 1, 3, 5, 9}, step[] = {1};
  const uint64_t bits = (uint64_t)9 << 32 | 5;
  double value;
  test_matrix a = {.name = "one block of two kinds", .nrows = ROWS, .ncols = 200, .type = MACKO_F64, .row_ptr = calloc(ROWS + 1, 8),
                   .cols = malloc(ROWS * 5 * 8), .values = malloc(ROWS * 5 * 8), .exact = malloc(ROWS * 5 * 8)};
  memcpy(&value, &bits, sizeof value);
  for (int64_t i = 0; i < ROWS; i++) {
    if ((i / 32 + list_first) % 2) add_row(&a, i, list, 5, (double)i, 1);
    else add_row(&a, i, step, i % 32 < 2, value, 0);
  }
  return a;
}

START_TEST(blocks_of_two_kinds)
{
  test_matrix a = _i == 2 ? stencils_among_others() : one_block_of_two_kinds(_i);
  both b = open_both(&a, _i);
  automatic(&a, &b);
  asked_for(&a, &b);
  close_both(&b);
  test_free(&a);
}
END_TEST

START_TEST(few_rows_too)
{
  test_matrix a = few_rows(_i % 3, _i < 3 ? MACKO_F64 : MACKO_F16);
  for (int kind = 0; kind < TEST_VALUES; kind += 2) {
    test_fill(&a, kind);
    both b = open_both(&a, kind % 4);
    automatic(&a, &b);
    if (kind == 0) asked_for(&a, &b);
    close_both(&b);
  }
  test_free(&a);
}
END_TEST

/* Bits that conversions could lose: NaN of all kinds, the pattern of all ones, infinities, denormals, both zeros. */
START_TEST(every_bit_of_a_value)
{
  static const uint64_t bits[] = {
    0x7ff8000000000000, 0xfff8000000000000, 0x7ff8000020000000, 0x7ff4000000000000, 0x7ff8000000000001, 0xffffffffffffffff,
    0x7ff0000000000000, 0xfff0000000000000, 0, 0x8000000000000000, 1, 0x3ff0000000000000, 0x36a0000000000000, 0x47efffffe0000000,
    0x7fefffffffffffff, 0x40effc0000000000, 0x3e70000000000000};
  static const uint32_t bits_f32[] = {0x7fc00000, 0xffc00000, 0x7fc02000, 0x7fa00000, 0x7fc00001, 0xffffffff,
                                      0x7f800000, 0xff800000, 0,          0x80000000, 1,          0x3f800000,
                                      0x7f7fffff, 0x477fe000, 0x33800000, 0x38800000, 0x7fc10000};
  enum { COUNT = sizeof bits / sizeof *bits };
  for (int single = 0; single < 2; single++) {
    test_matrix a = test_make(8, 0, single ? MACKO_F32 : MACKO_F64);
    int64_t nnz = a.row_ptr[a.nrows];
    /* First one pattern and 1 only, then all. */
    for (int use = 0; use <= COUNT; use++) {
      for (int64_t p = 0; p < nnz; p++) {
        int which = use == COUNT ? (int)(p * 7 % COUNT) : p % 3 ? use : 11;
        if (single) ((uint32_t *)a.values)[p] = bits_f32[which];
        else ((uint64_t *)a.values)[p] = bits[which];
      }
      both b = open_both(&a, use % 4);
      automatic(&a, &b);
      if (use == COUNT || use == 2) asked_for(&a, &b);
      close_both(&b);
    }
    test_free(&a);
  }
}
END_TEST

/* Unsorted rows and duplicates are encoded as the host does; damage is refused with its sentence. */
START_TEST(rows_that_kernels_do_not_read)
{
  static const char *const damages[] = {"unsorted",      "duplicate",           "column too large",    "negative column",
                                        "row_ptr falls", "row_ptr starts late", "row_ptr ends below 0"};
  macko_options o;
  macko_options_init(&o);
  o.target = MACKO_TARGET_GPU;
  test_matrix a = test_make(8, 1, MACKO_F64);
  int64_t last = a.nrows, at = a.row_ptr[50];
  switch (_i) {
  case 0: a.cols[at] = a.cols[at + 1], a.cols[at + 1]--; break;
  case 1: a.cols[at] = a.cols[at + 1]; break;
  case 2: a.cols[at] = a.ncols; break;
  case 3: a.cols[at] = -1; break;
  case 4: a.row_ptr[50] = a.row_ptr[60]; break;
  case 5: a.row_ptr[0] = 1; break;
  default: a.row_ptr[last] = -4;
  }
  int64_t end = a.row_ptr[last];
  a.name = damages[_i];
  if (end < 0) a.row_ptr[last] = 0; /* the arrays have that many entries */
  both b = open_both(&a, 0);
  if (end < 0) {
    ((int32_t *)b.row_ptr)[last] = (int32_t)end;
    CUDA(cudaMemcpy((void *)b.device.row_ptr, b.row_ptr, (size_t)(last + 1) * 4, cudaMemcpyHostToDevice));
  }
  encode_both(&a, &b, &o);
  close_both(&b);
  test_free(&a);
}
END_TEST

/* ---- format dtans: every variant, and values beside gaps ---- */

static void dtans_variants(const test_matrix *a, const both *b)
{
  macko_options o;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_DTANS;
  for (int variant = MACKO_VARIANT_AUTO; variant <= MACKO_VARIANT_PAPER; variant++)
    for (int memory = 0; memory < 2; memory++) {
      o.variant = (macko_variant)variant, o.target = memory ? MACKO_TARGET_CPU : MACKO_TARGET_GPU;
      o.prefer = memory ? MACKO_PREFER_MEMORY : MACKO_PREFER_TIME;
      encode_both(a, b, &o);
    }
  o.variant = MACKO_VARIANT_SPLIT;
  for (int values = MACKO_VALUES_AUTO; values <= MACKO_VALUES_BF16; values++) {
    o.values = (macko_values)values;
    encode_both(a, b, &o);
  }
}

START_TEST(dtans_bytes_are_the_hosts)
{
  static const int kinds[] = {0, 3, 11, 4, 6, 7, 9};
  int kind = kinds[_i / TEST_PATTERNS];
  test_matrix a = test_make(_i % TEST_PATTERNS, test_kinds[kind].values, test_kinds[kind].type);
  both b = open_both(&a, _i % 4);
  dtans_variants(&a, &b);
  close_both(&b);
  test_free(&a);
}
END_TEST

/* Also more different symbols than are counted, some of them frequent. */
START_TEST(dtans_of_many_rows)
{
  test_matrix a = many_rows(_i / (TEST_VALUES + 1));
  int kind = _i % (TEST_VALUES + 1), mixed = kind == TEST_VALUES;
  test_fill(&a, mixed ? 0 : kind);
  int64_t nnz = a.row_ptr[a.nrows];
  for (int64_t p = 0; p < nnz && mixed; p++) ((double *)a.values)[p] = p % 3 ? 1 + (double)p : (double)(test_draw() % 300);
  both b = open_both(&a, _i % 4);
  dtans_variants(&a, &b);
  close_both(&b);
  test_free(&a);
}
END_TEST

/* What a memory checker can get through. */
enum { FEW = 10, FEW_DTANS = 6 };

START_TEST(a_few_dtans)
{
  static const int patterns[] = {5, 8, 11};
  test_matrix a = test_make(patterns[_i % 3], _i / 3, MACKO_F64);
  both b = open_both(&a, _i % 4);
  dtans_variants(&a, &b);
  close_both(&b);
  refresh_variant(&a, (macko_variant)(_i % 4), MACKO_VALUES_AUTO);
  test_free(&a);
}
END_TEST

START_TEST(a_few)
{
  static const int patterns[] = {5, 8, 11, 12, 13};
  test_matrix a = test_make(patterns[_i % 5], _i / 5 * 4, MACKO_F64);
  both b = open_both(&a, _i % 4);
  macko_options o;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_MACKO;
  for (int layout = MACKO_LAYOUT_ROW; layout <= MACKO_LAYOUT_SLICE; layout++)
    for (int values = MACKO_VALUES_RAW; values <= MACKO_VALUES_PAIRS; values++) {
      o.layout = (macko_layout)layout, o.values = (macko_values)values;
      encode_both(&a, &b, &o);
    }
  close_both(&b);
  o.values = MACKO_VALUES_AUTO;
  refresh_both(&a, &o);
  o.values = MACKO_VALUES_PAIRS;
  refresh_both(&a, &o);
  test_free(&a);
}
END_TEST

/* Of format eccsr: every shape of blocks in half a window. */
START_TEST(a_few_eccsr)
{
  test_matrix a = coupled_rows(_i);
  macko_options o;
  a.nrows = MACKO_ECCSR_WINDOW / 2;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_ECCSR;
  test_fill(&a, _i % TEST_VALUES);
  both b = open_both(&a, _i % 4);
  encode_both(&a, &b, &o);
  close_both(&b);
  refresh_both(&a, &o);
  test_free(&a);
}
END_TEST

static Suite *encode_suite(void)
{
  Suite *suite = suite_create("cuda_encode");
  TCase *all = add_case(suite, "all", 0), *dtans = add_case(suite, "dtans", 0);
  tcase_add_loop_test(all, bytes_are_the_hosts, 0, TEST_PATTERNS * TEST_COMBINATIONS);
  tcase_add_loop_test(all, many_rows_too, 0, 3);
  tcase_add_loop_test(add_case(suite, "eccsr", 0), rows_that_share_columns, 0, COUPLED);
  tcase_add_test(all, more_pairs_than_codes);
  tcase_add_loop_test(all, few_rows_too, 0, 6);
  tcase_add_loop_test(all, blocks_of_two_kinds, 0, 3);
  tcase_add_test(all, every_bit_of_a_value);
  tcase_add_loop_test(all, rows_that_kernels_do_not_read, 0, 7);
  tcase_add_loop_test(dtans, dtans_bytes_are_the_hosts, 0, 7 * TEST_PATTERNS);
  tcase_add_loop_test(dtans, dtans_of_many_rows, 0, 3 * (TEST_VALUES + 1));
  /* One matrix each, because a checker takes long. */
  for (int part = 0; part < FEW; part++) tcase_add_loop_test(add_case(suite, "few", part + 1), a_few, part, part + 1);
  for (int part = 0; part < FEW_DTANS; part++)
    tcase_add_loop_test(add_case(suite, "few_dtans", part + 1), a_few_dtans, part, part + 1);
  for (int part = 0; part < COUPLED; part++)
    tcase_add_loop_test(add_case(suite, "few_eccsr", part + 1), a_few_eccsr, part, part + 1);
  return suite;
}

int main(void)
{
  return run_cuda_suite(encode_suite);
}
