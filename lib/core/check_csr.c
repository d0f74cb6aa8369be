/* Checks a caller's CSR; where rows are unsorted or hold duplicates, makes the copy that encoders read instead. */
#include "core/cpu.h"
#include "core/format.h"
#include "core/half.h"
#include "core/pattern.h"
#include "core/threads.h"

#include <stdlib.h>
#include <string.h>

macko_status macko_check_types(const macko_csr *c, macko_error *err)
{
  if (c->nrows < 0 || c->ncols < 0)
    return macko_fail(err, MACKO_INVALID_MATRIX, "the size %lld x %lld is negative", (long long)c->nrows, (long long)c->ncols);
  if ((c->row_ptr_type != MACKO_I32 && c->row_ptr_type != MACKO_I64) || (c->col_type != MACKO_I32 && c->col_type != MACKO_I64))
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "index types %d and %d must be i32 or i64", (int)c->row_ptr_type,
                      (int)c->col_type);
  if ((unsigned)c->value_type > MACKO_BF16)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "value type %d is none of f64, f32, f16 and bf16", (int)c->value_type);
  if (c->index_base != 0 && c->index_base != 1)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "index_base is %d and must be 0 or 1", c->index_base);
  if (!c->row_ptr) return macko_fail(err, MACKO_INVALID_ARGUMENT, "row_ptr must not be NULL");
  return MACKO_OK;
}

/* What the parts of a check have found, one element a part: the first row or entry that is wrong (-1: none is), how often a
 * column is not above the one stored before it, and how often that was to be expected, because a row begins there. Where words
 * is not NULL the columns are also added up for the number of the pattern, while they are in the cache. */
typedef struct {
  const macko_csr *c;
  int64_t bad[MACKO_MOST_PARTS], falls[MACKO_MOST_PARTS], expected[MACKO_MOST_PARTS];
  const macko_pattern_words *words;
  uint64_t sums[MACKO_MOST_PARTS];
  int unfit;
} checking;

/* The parts follow each other, so the first one that found something wrong has the first wrong place of all. It is -1 where no
 * part found any. */
static int64_t first_bad(const checking *k, int parts)
{
  int part = 0;
  while (part < parts - 1 && k->bad[part] < 0) part++;
  return k->bad[part];
}

/* A row start as the caller has it, which counts from index_base: sentences and the check for falling starts need no other.
 * macko_csr_row may be trusted only once the first start is index_base and none falls. */
static int64_t given_row(const macko_csr *c, int64_t i)
{
  return macko_index(c->row_ptr_type, c->row_ptr, i);
}

typedef int32_t four __attribute__((vector_size(16)));

/* Gives a row of from .. past before which no start is above its end: a few rows before the first that is, or before the end. */
static int64_t pass_rows(const int32_t *starts, int64_t from, int64_t past)
{
  enum { WIDTH = sizeof(four) / sizeof *starts, TOGETHER = 8 * WIDTH };
  for (; from + TOGETHER <= past; from += TOGETHER) {
    four fallen = {0}, here, next;
    for (int64_t i = from; i < from + TOGETHER; i += WIDTH) {
      memcpy(&here, starts + i, sizeof here), memcpy(&next, starts + i + 1, sizeof next);
      fallen |= next < here;
    }
    if (fallen[0] | fallen[1] | fallen[2] | fallen[3]) break;
  }
  return from;
}

/* Finds the first row of a part whose start is above its end. A row start that falls would make the length of a row negative. */
static void check_rows(void *context, int part, int64_t from, int64_t past)
{
  checking *k = context;
  int64_t i = k->c->row_ptr_type == MACKO_I32 ? pass_rows(k->c->row_ptr, from, past) : from, start = given_row(k->c, i), end;
  for (; i < past; i++, start = end)
    if ((end = given_row(k->c, i + 1)) < start) break;
  k->bad[part] = i < past ? i : -1;
}

/* Checks that row starts begin at index_base and do not fall, and that columns and values are there if any entry is. With that
 * every entry number from 0 to nnz - 1 belongs to one row. */
static macko_status check_row_ptr(const macko_csr *c, macko_error *err)
{
  int64_t start = given_row(c, 0);
  const macko_cut rows = {.n = c->nrows};
  checking k = {.c = c};
  int base = c->index_base, parts = macko_parts(c->nrows);
  if (start != base)
    return macko_fail(err, MACKO_INVALID_MATRIX, "row_ptr[%d] is %lld and must be %d", base, (long long)start, base);
  macko_do_parts(&rows, parts, check_rows, &k);
  int64_t row = first_bad(&k, parts), nnz = macko_csr_nnz(c);
  if (row >= 0)
    return macko_fail(err, MACKO_INVALID_MATRIX, "row_ptr falls from %lld to %lld at row %lld",
                      (long long)given_row(c, row), (long long)given_row(c, row + 1), (long long)row + base);
  if (nnz && (!c->cols || !c->values))
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "cols and values must not be NULL with %lld nonzeros", (long long)nnz);
  return MACKO_OK;
}

typedef int32_t eight __attribute__((vector_size(32)));

/* Looks at columns from .. past - 1, where from is above 0 so that each has one before it. The answer is nonzero if a column is
 * outside low .. high; *falls grows by the number of columns that are not above the one before. It only counts, without a branch
 * an entry, so that the compiler makes vectors of it; where the fault lies is looked for only if there is one. */
static inline __attribute__((always_inline)) int scan_after(const int32_t *c, int64_t from, int64_t past, int32_t low, int32_t high,
                                                            int64_t *falls)
{
  enum { WIDTH = sizeof(eight) / sizeof *c };
  eight outside = {0}, fallen = {0}, here, before;
  int64_t p = from;
  int found = 0;
  for (; p + WIDTH <= past; p += WIDTH) {
    macko_fetch_ahead(c + p);
    memcpy(&here, c + p, sizeof here), memcpy(&before, c + p - 1, sizeof before);
    outside |= (here < low) | (here > high);
    fallen -= here <= before;
  }
  for (; p < past; p++) found |= c[p] < low || c[p] > high, *falls += c[p] <= c[p - 1];
  for (int l = 0; l < WIDTH; l++) found |= outside[l], *falls += fallen[l];
  return found;
}

#if MACKO_HAS_X86_64
/* This is scan_after compiled for AVX2: its vectors of eight are then one register and not two. */
static MACKO_AVX2 int scan_avx2(const int32_t *c, int64_t from, int64_t past, int32_t low, int32_t high, int64_t *falls)
{
  return scan_after(c, from, past, low, high, falls);
}
#endif

/* Does what scan_after does for a block that may begin at entry 0, which has no column before it. */
static int scan_block(const int32_t *c, int64_t from, int64_t past, int32_t low, int32_t high, int64_t *falls)
{
  int found = from == 0 && past > 0 && (c[0] < low || c[0] > high);
  if (from == 0) from = 1;
#if MACKO_HAS_X86_64
  if (macko_has_avx2()) return scan_avx2(c, from, past, low, high, falls) | found;
#endif
  return scan_after(c, from, past, low, high, falls) | found;
}

/* Does the same for 64-bit columns, one at a time, because matrices that need them are rare. */
static int scan_wide_block(const int64_t *c, int64_t from, int64_t past, int64_t low, int64_t high, int64_t *falls)
{
  int found = 0;
  for (int64_t p = from; p < past; p++) {
    found |= c[p] < low || c[p] > high;
    *falls += p && c[p] <= c[p - 1];
  }
  return found;
}

/* Counts how often the first column of a row is not above the last one of the row before it. It looks at rows from *row on that
 * begin before entry `past`, and leaves in *row the first one that begins later. Empty rows count nothing. Both types are
 * constants in the fast call, which makes a plain loop of it. */
static inline __attribute__((always_inline)) int64_t falls_between_rows(const macko_csr *c, macko_type row_ptr_type,
                                                                        macko_type col_type, int64_t past, int64_t *row)
{
  int64_t i = *row, falls = 0, before = macko_index(row_ptr_type, c->row_ptr, i - 1) - c->index_base, p;
  for (; i < c->nrows && (p = macko_index(row_ptr_type, c->row_ptr, i) - c->index_base) < past; i++, before = p)
    if (p != before) falls += macko_index(col_type, c->cols, p) <= macko_index(col_type, c->cols, p - 1);
  *row = i;
  return falls;
}

/* The comparison is unsigned, so that a negative column is outside, too. */
static int is_outside(const macko_csr *c, int64_t p)
{
  return (uint64_t)macko_csr_col(c, p) >= (uint64_t)c->ncols;
}

/* Gives the first row that begins at entry p or later, by bisection, so that a part finds its own first row. Row 0 is left out:
 * nothing comes before it that its first column could fall from. */
static int64_t row_after(const macko_csr *c, int64_t p)
{
  int64_t low = 1, high = c->nrows;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (macko_csr_row(c, middle) < p) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Gives what columns from .. past - 1 add to the number of the pattern: the blocks that begin among them. */
static uint64_t number_columns(checking *k, const macko_pattern_keys_of_block *keys, int64_t from, int64_t past)
{
  const int64_t per = k->words->wide ? MACKO_PATTERN_PAIRS : 2 * MACKO_PATTERN_PAIRS;
  return macko_add_pattern_blocks(k->words, keys, (from + per - 1) / per, (past + per - 1) / per, &k->unfit);
}

/* Gives the first entry of first .. last - 1 whose column is outside 0 .. ncols - 1, or -1. Without one *falls is how often a
 * column is not above the one before it, and *expected how often that is so where rows begin: rows are sorted and free of
 * duplicates where both are the same. Blocks are short, so that columns are still in the first-level cache when row starts are
 * compared with them, and numbered: *sum becomes what they add to the number. */
static int64_t scan_columns(checking *k, int64_t first, int64_t last, int64_t *falls, int64_t *expected, uint64_t *sum)
{
  enum { BLOCK = 4096 };
  const macko_csr *c = k->c;
  macko_pattern_keys_of_block keys;
  int64_t row = row_after(c, first), low = c->index_base, high = low + (c->ncols - 1);
  int narrow = c->row_ptr_type == MACKO_I32 && c->col_type == MACKO_I32;
  *falls = *expected = 0, *sum = 0;
  if (k->words) macko_make_pattern_keys(k->words, &keys);
  for (int64_t from = first; from < last; from += BLOCK) {
    int64_t past = last - from < BLOCK ? last : from + BLOCK;
    int found = c->col_type == MACKO_I64
                    ? scan_wide_block(c->cols, from, past, low, high, falls)
                    : scan_block(c->cols, from, past, (int32_t)low, high < INT32_MAX ? (int32_t)high : INT32_MAX, falls);
    for (int64_t p = from; found && p < past; p++)
      if (is_outside(c, p)) return p;
    *expected += narrow ? falls_between_rows(c, MACKO_I32, MACKO_I32, past, &row)
                        : falls_between_rows(c, c->row_ptr_type, c->col_type, past, &row);
    if (k->words) *sum += number_columns(k, &keys, from, past);
  }
  return -1;
}

/* Checks the entries of one part. */
static void check_entries(void *context, int part, int64_t from, int64_t past)
{
  checking *k = context;
  int64_t falls, expected; /* not counted in k itself, whose elements lie in one cache line for several threads */
  uint64_t sum;
  k->bad[part] = scan_columns(k, from, past, &falls, &expected, &sum);
  k->falls[part] = falls, k->expected[part] = expected, k->sums[part] = sum;
}

/* Checks that every column is inside the matrix. *sorted becomes 1 if columns rise strictly within each row, because then they
 * fall only where rows begin; *number, unless it is NULL, becomes that of the pattern. */
static macko_status check_columns(const macko_csr *c, int *sorted, uint64_t *number, macko_error *err)
{
  const macko_cut entries = {.n = macko_csr_nnz(c)};
  const macko_pattern_words words = macko_pattern_columns(c, entries.n);
  checking k = {.c = c, .words = number ? &words : NULL};
  uint64_t sum = 0;
  int base = c->index_base, parts = macko_parts(entries.n);
  macko_do_parts(&entries, parts, check_entries, &k);
  int64_t bad = first_bad(&k, parts), row = 0, falls = 0, expected = 0;
  for (int part = 0; part < parts; part++) falls += k.falls[part], expected += k.expected[part], sum += k.sums[part];
  *sorted = falls == expected;
  if (number) *number = bad < 0 && !k.unfit ? macko_pattern_with(c, sum) : 0;
  if (bad < 0) return MACKO_OK;
  while (macko_csr_row(c, row + 1) <= bad) row++;
  return macko_fail(err, MACKO_INVALID_MATRIX, "column %lld at entry %lld of row %lld is outside %d..%lld",
                    (long long)macko_index(c->col_type, c->cols, bad), (long long)bad + base, (long long)row + base, base,
                    (long long)c->ncols - 1 + base);
}

/* An entry of a row that is sorted: its column, and where it is in the caller's arrays. */
typedef struct {
  int64_t col, place;
} entry;

/* qsort is not stable. The place as second key keeps duplicates in the order of the caller, in which they are added up. */
static int by_col_then_place(const void *a, const void *b)
{
  const entry *p = a, *q = b;
  if (p->col != q->col) return p->col < q->col ? -1 : 1;
  return p->place < q->place ? -1 : p->place > q->place;
}

/* Copies the value of entry `place` of c to values[to], or adds it to what is there. Copying goes by bytes, so that NaN payloads
 * and the sign of zero stay. The sum of 16-bit floats is made in f32 and rounded once. */
static void put(const macko_csr *c, int64_t place, int add, void *values, int64_t to)
{
  int64_t size = macko_type_bytes(c->value_type);
  const void *from = (const char *)c->values + place * size;
  void *at = (char *)values + to * size;
  if (!add) {
    memcpy(at, from, (size_t)size);
    return;
  }
  switch (c->value_type) {
  case MACKO_F64: *(double *)at += *(const double *)from; break;
  case MACKO_F32: *(float *)at += *(const float *)from; break;
  case MACKO_F16:
    *(uint16_t *)at = macko_f32_to_f16(macko_f16_to_f32(*(uint16_t *)at) + macko_f16_to_f32(*(const uint16_t *)from));
    break;
  default:
    *(uint16_t *)at = macko_f32_to_bf16(macko_bf16_to_f32(*(uint16_t *)at) + macko_bf16_to_f32(*(const uint16_t *)from));
  }
}

/* Gives the entries of the longest row, for which sort_rows needs room. */
static int64_t longest_row(const macko_csr *c)
{
  int64_t longest = 0;
  for (int64_t i = 0; i < c->nrows; i++) {
    int64_t length = macko_csr_row(c, i + 1) - macko_csr_row(c, i);
    if (length > longest) longest = length;
  }
  return longest;
}

/* Writes the rows of c, sorted and with duplicates added, into the arrays of *out, which count from 0. `row` is room for the
 * longest row. Rows that are sorted already are not sorted again. */
static void sort_rows(const macko_csr *c, macko_csr *out, entry *row)
{
  int64_t *row_ptr = (int64_t *)out->row_ptr, count = 0;
  row_ptr[0] = 0;
  for (int64_t i = 0; i < c->nrows; i++) {
    int64_t begin = macko_csr_row(c, i), length = macko_csr_row(c, i + 1) - begin;
    int unsorted = 0;
    for (int64_t p = 0; p < length; p++) {
      row[p] = (entry){macko_csr_col(c, begin + p), begin + p};
      unsorted |= p && row[p].col < row[p - 1].col;
    }
    if (unsorted) qsort(row, (size_t)length, sizeof *row, by_col_then_place);
    for (int64_t p = 0; p < length; p++) {
      int same = p && row[p].col == row[p - 1].col;
      if (!same) macko_set_index(c->col_type, (void *)out->cols, count++, row[p].col);
      put(c, row[p].place, same, (void *)out->values, count - 1);
    }
    row_ptr[i + 1] = count;
  }
}

macko_status macko_check_rows(const macko_csr *c, macko_error *err)
{
  macko_status s = macko_check_types(c, err);
  return s ? s : check_row_ptr(c, err);
}

macko_status macko_sort_csr(const macko_csr *c, macko_csr *sorted, void **owned, macko_error *err)
{
  return macko_sort_and_number(c, sorted, owned, NULL, err);
}

/* A copy is another pattern, and not numbered here. */
macko_status macko_sort_and_number(const macko_csr *c, macko_csr *sorted, void **owned, uint64_t *number, macko_error *err)
{
  int is_sorted = 1;
  macko_status s = macko_check_rows(c, err);
  if (!s) s = check_columns(c, &is_sorted, number, err);
  if (s) return s;
  if (number && !is_sorted) *number = 0;
  *sorted = *c;
  *owned = NULL;
  if (is_sorted) return MACKO_OK;
  size_t nnz = (size_t)macko_csr_nnz(c), rows = (size_t)(c->nrows + 1) * sizeof(int64_t);
  /* All three arrays are one allocation, which the caller frees at once; values take room in multiples of 8 bytes, so that the
   * columns behind them are aligned whatever their type. */
  size_t values = nnz * (size_t)macko_type_bytes(c->value_type), values_room = (values + 7) & ~(size_t)7;
  char *block = malloc(rows + values_room + nnz * (size_t)macko_type_bytes(c->col_type)); /* row_ptr, values, cols */
  entry *row = malloc((size_t)(longest_row(c) + 1) * sizeof *row);
  if (!block || !row) {
    free(block), free(row);
    return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to sort a matrix of %zu nonzeros", nnz);
  }
  sorted->row_ptr_type = MACKO_I64;
  sorted->index_base = 0;
  sorted->row_ptr = block, sorted->values = block + rows, sorted->cols = block + rows + values_room;
  sort_rows(c, sorted, row);
  free(row);
  *owned = block;
  return MACKO_OK;
}
