/* Rows of equal columns that do not follow each other, as where unknowns are numbered field by field: candidates by a hash,
 * and put behind each other. */
#include "core/hash.h"
#include "eccsr/eccsr.h"

#include <stdlib.h>
#include <string.h>

/* Columns of a row that go into its hash when rows are put together, at most; rows that are looked for; bits of a place in the
 * table of these; bits of a digit when hashes are sorted, and how many digits there are. */
enum { LOOKED_AT = 8, SAMPLES = 64, PLACE_BITS = 10, DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

/* ---- whether there are such rows ---- */

/* A row that is looked for among all others. */
typedef struct {
  int64_t row, length, first; /* number, entries and first column */
  uint64_t hash;              /* of all columns */
  int found;                  /* elsewhere */
} sample;

/* The rows that are looked for, and a table by which a row is compared with at most one of them. */
typedef struct {
  sample samples[SAMPLES];
  int at[1 << PLACE_BITS]; /* by length and first column: number of a sample + 1 */
} search;

/* Returns the entries of a row. */
static int64_t length_of(const macko_csr *a, int64_t row)
{
  return macko_csr_row(a, row + 1) - macko_csr_row(a, row);
}

/* Returns the place in the table of rows with so many entries, the first of them in that column. */
static uint32_t place_of(int64_t length, int64_t col)
{
  return (uint32_t)(((uint64_t)length << 32 ^ (uint64_t)col) * 0x9e3779b97f4a7c15u >> (64 - PLACE_BITS));
}

/* Returns a hash of the number n and of every `step`-th of the n columns from entry p on. */
static uint64_t hash_columns(const macko_csr *a, int64_t p, int64_t n, int64_t step)
{
  uint64_t hash = (uint64_t)n;
  for (int64_t k = 0; k < n; k += step) hash = macko_mix(hash ^ (uint64_t)macko_csr_col(a, p + k));
  return hash;
}

/* Takes rows at equal distances as samples. Of those in one place of the table, as equal ones are, only the last is looked
 * for. */
static macko_status take_samples(macko_rows *r, search *f, macko_error *err)
{
  macko_csr piece;
  for (int i = 0; i < SAMPLES; i++) {
    sample *one = &f->samples[i];
    one->row = r->nrows / SAMPLES * i;
    macko_status s = macko_get_rows(r, one->row, 1, &piece, err);
    if (s) return s;
    const int64_t p = macko_csr_row(&piece, 0);
    one->length = length_of(&piece, 0), one->first = one->length ? macko_csr_col(&piece, p) : 0;
    one->hash = hash_columns(&piece, p, one->length, 1);
    f->at[place_of(one->length, one->first)] = i + 1;
  }
  return MACKO_OK;
}

/* Looks for the samples in the rows of a piece, whose numbers are first, first + 1, ... Length and first column, which are cheap to
 * have, leave few rows whose columns are hashed. Both types are constants in the fast call. */
static inline __attribute__((always_inline)) void look_for_as(search *f, const macko_csr *piece, macko_type starts, macko_type cols,
                                                              int64_t first)
{
  int64_t p = macko_csr_row(piece, 0);
  for (int64_t row = 0, past; row < piece->nrows; row++, p = past) {
    past = macko_index(starts, piece->row_ptr, row + 1) - piece->index_base;
    const int64_t col = past > p ? macko_index(cols, piece->cols, p) - piece->index_base : 0;
    const int i = f->at[place_of(past - p, col)] - 1;
    if (i >= 0 && !f->samples[i].found && past - p == f->samples[i].length && col == f->samples[i].first)
      f->samples[i].found = first + row != f->samples[i].row && hash_columns(piece, p, past - p, 1) == f->samples[i].hash;
  }
}

static void look_for(search *f, const macko_csr *piece, int64_t first)
{
  if (piece->row_ptr_type == MACKO_I32 && piece->col_type == MACKO_I32) look_for_as(f, piece, MACKO_I32, MACKO_I32, first);
  else look_for_as(f, piece, piece->row_ptr_type, piece->col_type, first);
}

/* Tells whether most entries of the samples that were looked for are in rows that were found. */
static int most_found(const search *f)
{
  int64_t entries = 0, found = 0;
  for (int i = 0; i < SAMPLES; i++) {
    const sample *one = &f->samples[i];
    if (f->at[place_of(one->length, one->first)] != i + 1) continue;
    entries += one->length;
    if (one->found) found += one->length;
  }
  return found > 0 && 2 * found >= entries;
}

/* Mistaken hashes would only make a plan that is worse than another, and are not compared again. */
macko_status macko_eccsr_rows_apart(macko_rows *r, int *found, macko_error *err)
{
  search f = {.at = {0}};
  macko_csr piece = {0};
  macko_status s = take_samples(r, &f, err);
  for (int64_t first = 0, step = macko_rows_step(r); !s && first < r->nrows; first += piece.nrows) {
    s = macko_get_rows(r, first, step < r->nrows - first ? step : r->nrows - first, &piece, err);
    if (!s) look_for(&f, &piece, first);
  }
  *found = !s && most_found(&f);
  return s;
}

/* ---- put together ---- */

/* Returns 32 bits of a hash of the row's length and of some of its columns. Rows that are mistaken for equal by it are compared
 * again where blocks are made. */
static uint64_t hash_of(const macko_csr *a, int64_t row)
{
  const int64_t n = length_of(a, row);
  return hash_columns(a, macko_csr_row(a, row), n, n / LOOKED_AT + 1) >> 32;
}

/* Sorts keys by their high halves, in three rounds of counting; equal ones stay in their order. Returns which of the two arrays
 * holds the result. Counting takes time in proportion to n, which is the number of all rows. */
static uint64_t *sort_by_hash(uint64_t *keys, uint64_t *room, int64_t n)
{
  for (int shift = 32; shift < 64; shift += DIGIT_BITS) {
    int64_t starts[DIGITS + 1] = {0};
    for (int64_t i = 0; i < n; i++) starts[(keys[i] >> shift) % DIGITS + 1]++;
    for (int d = 0; d < DIGITS; d++) starts[d + 1] += starts[d];
    for (int64_t i = 0; i < n; i++) room[starts[(keys[i] >> shift) % DIGITS]++] = keys[i];
    uint64_t *swap = keys;
    keys = room, room = swap;
  }
  return keys;
}

/* Sets rows to the order: every row that is the first of its hash, in the order of these, with the rows of its hash behind it.
 * keys are those of the n rows, sorted, with numbers of rows in the low halves; next is room for n numbers. Rows of one hash
 * become a list in `next`, so that the first of them can be taken in the order of rows. */
static void chain_rows(const uint64_t *keys, int64_t n, int32_t *next, int32_t *rows)
{
  enum { LAST = INT32_MAX, FOLLOWS = INT32_MIN }; /* LAST: no successor; FOLLOWS is added for a row that is a successor itself */
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) {
    const int follows = i > 0 && keys[i] >> 32 == keys[i - 1] >> 32, goes_on = i + 1 < n && keys[i] >> 32 == keys[i + 1] >> 32;
    const int32_t successor = goes_on ? (int32_t)(uint32_t)keys[i + 1] : LAST;
    next[(uint32_t)keys[i]] = follows ? FOLLOWS + successor : successor;
  }
  for (int64_t row = 0; row < n; row++) {
    if (next[row] < 0) continue;
    for (int32_t at = (int32_t)row; at != LAST; at = next[at] & LAST) rows[count++] = at;
  }
}

/* The array of keys that holds no result becomes the room for lists. */
macko_status macko_eccsr_order_rows(const macko_csr *a, int32_t **order, macko_error *err)
{
  const size_t n = (size_t)a->nrows;
  uint64_t *keys = malloc(n * sizeof *keys + 1), *room = malloc(n * sizeof *room + 1);
  *order = malloc(n * sizeof **order + 1);
  const int made = keys && room && *order;
  if (made) {
    for (int64_t i = 0; i < a->nrows; i++) keys[i] = hash_of(a, i) << 32 | (uint64_t)i;
    const uint64_t *sorted = sort_by_hash(keys, room, a->nrows);
    chain_rows(sorted, a->nrows, (int32_t *)(sorted == keys ? room : keys), *order);
  }
  free(keys), free(room);
  if (made) return MACKO_OK;
  free(*order), *order = NULL;
  return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to put %lld rows together by their columns", (long long)a->nrows);
}
