/* The columns of a bundle, and a bit of each row that has them: lists of rows merged two by two. */
#include "eccsr/eccsr_paper.h"

#include <stdlib.h>

/* Returns the entries of the largest bundle. */
static int64_t most_entries(const macko_csr *a, const int32_t *rows)
{
  int64_t most = 0, entries = 0;
  for (int64_t i = 0; i < a->nrows; i++) {
    if (i % MACKO_ECCSR_BUNDLE == 0) entries = 0;
    entries += macko_csr_row(a, rows[i] + (int64_t)1) - macko_csr_row(a, rows[i]);
    most = entries > most ? entries : most;
  }
  return most;
}

/* Columns take 4 bytes and bits of rows 2. Merging goes back and forth between two pairs of arrays. */
macko_status macko_eccsr_new_bundle(const macko_csr *a, const int32_t *rows, macko_eccsr_bundle *b, macko_error *err)
{
  const size_t room = (size_t)most_entries(a, rows) + 1; /* at least one, so that NULL says that there is no memory */
  *b = (macko_eccsr_bundle){(int64_t)room, 0, malloc(4 * room), malloc(4 * room), malloc(2 * room), malloc(2 * room)};
  if (b->cols && b->more_cols && b->left && b->more_left) return MACKO_OK;
  macko_eccsr_free_bundle(b);
  return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a bundle of rows with %lld entries", (long long)room - 1);
}

void macko_eccsr_free_bundle(macko_eccsr_bundle *b)
{
  free(b->cols), free(b->more_cols), free(b->left), free(b->more_left);
  *b = (macko_eccsr_bundle){0};
}

/* Merges the lists that begin at `from` and `middle` and end at `to` into the other arrays, from `at` on, and returns how many
 * columns that makes. A column that both have gets the rows of both. Which is smaller is computed instead of branched on, as
 * nobody could foresee that branch. */
static int64_t merge(macko_eccsr_bundle *b, int64_t from, int64_t middle, int64_t to, int64_t at)
{
  const int32_t *cols = b->cols;
  const uint16_t *left = b->left;
  int64_t i = from, j = middle, n = at;
  while (i < middle && j < to) {
    const int32_t x = cols[i], y = cols[j];
    const int first = x <= y, second = y <= x;
    b->more_cols[n] = first ? x : y;
    b->more_left[n++] = (uint16_t)((first ? left[i] : 0) | (second ? left[j] : 0));
    i += first, j += second;
  }
  for (; i < middle; i++) b->more_cols[n] = cols[i], b->more_left[n++] = left[i];
  for (; j < to; j++) b->more_cols[n] = cols[j], b->more_left[n++] = left[j];
  return n - at;
}

/* Makes what has been merged the columns of the bundle. */
static void swap(macko_eccsr_bundle *b)
{
  int32_t *cols = b->cols;
  uint16_t *left = b->left;
  b->cols = b->more_cols, b->more_cols = cols;
  b->left = b->more_left, b->more_left = left;
}

/* Rows are lists of one row each at first; lists are merged two by two, so that a column is moved four times at most and not once
 * for each row. An odd list is merged with an empty one. */
void macko_eccsr_read_bundle(const macko_csr *a, const int32_t *rows, int count, macko_eccsr_bundle *b)
{
  int64_t starts[MACKO_ECCSR_BUNDLE + 1] = {0};
  for (int r = 0; r < count; r++) {
    const int64_t p = macko_csr_row(a, rows[r]), n = macko_csr_row(a, rows[r] + (int64_t)1) - p;
    for (int64_t k = 0; k < n; k++) b->cols[starts[r] + k] = (int32_t)macko_csr_col(a, p + k);
    for (int64_t k = 0; k < n; k++) b->left[starts[r] + k] = (uint16_t)(1 << r);
    starts[r + 1] = starts[r] + n;
  }
  /* Each round halves the number of lists, until one is left. */
  for (int lists = count; lists > 1; lists = (lists + 1) / 2) {
    int64_t at = 0;
    for (int i = 0; i < lists; i += 2) {
      const int64_t from = starts[i], middle = starts[i + 1], to = i + 2 <= lists ? starts[i + 2] : middle;
      const int64_t n = merge(b, from, middle, to, at);
      starts[i / 2] = at, at += n; /* of lists that have been read */
    }
    starts[(lists + 1) / 2] = at;
    swap(b);
  }
  b->count = count ? starts[1] : 0;
}
