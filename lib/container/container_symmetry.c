/* Whether a compressed matrix is symmetric, by its rows a few at a time: the hashes of all entries add up to the same as those of
 * all entries mirrored, which is so by chance once in 2^64 times. */
#include "container/container.h"

#include "core/convert.h"
#include "core/hash.h"

#include <stdlib.h>

#if MACKO_HAS_CONTAINER

enum { WINDOW = 1 << 16 }; /* most entries that are decoded together, unless one row has more */

/* A look at all rows, with room for the entries of a window. */
typedef struct {
  const macko_matrix *m;
  int64_t *row_ptr, *cols;
  char *values;
  uint64_t pattern, both; /* by what the sums of hashes differ: of places alone, and of places with values */
} look;

/* Gives the row behind the window that begins with row `first`: as many rows as have WINDOW entries, at least one. */
static int64_t past_of(const look *k, int64_t first)
{
  int64_t past = first + 1;
  while (past < k->m->nrows && k->row_ptr[past + 1] - k->row_ptr[first] <= WINDOW) past++;
  return past;
}

/* Gives the most entries that a window can have. */
static int64_t most_entries(const look *k)
{
  int64_t most = WINDOW;
  for (int64_t i = 0; i < k->m->nrows; i++)
    if (k->row_ptr[i + 1] - k->row_ptr[i] > most) most = k->row_ptr[i + 1] - k->row_ptr[i];
  return most;
}

/* Adds entries from .. to - 1 of the window, which are row i. The hash of a place is that of its row, mixed with the column, so
 * that a place and its mirror image have different ones; on the diagonal they are the same and cancel out. */
static void add_row(look *k, int64_t i, int64_t from, int64_t to)
{
  for (int64_t p = from; p < to; p++) {
    const uint64_t col = (uint64_t)k->cols[p], row = (uint64_t)i, bits = macko_bits_at(k->m->value_type, k->values, p);
    const uint64_t here = macko_mix(macko_mix(row) + col), mirrored = macko_mix(macko_mix(col) + row);
    k->pattern += here - mirrored;
    k->both += macko_mix(here + bits) - macko_mix(mirrored + bits);
  }
}

/* Goes through all windows. The matrix is never decoded as a whole, as the reason to compress it may be that there is no room for
 * it. */
static macko_status look_at_rows(look *k, macko_error *err)
{
  macko_status s = macko_decode(k->m, k->row_ptr, NULL, NULL, err);
  const int64_t most = s ? 0 : most_entries(k);
  if (s) return s;
  k->cols = malloc((size_t)most * sizeof *k->cols), k->values = malloc((size_t)most * sizeof(double));
  if (!k->cols || !k->values)
    return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %lld entries to see whether a matrix is symmetric", (long long)most);
  for (int64_t first = 0, past; !s && first < k->m->nrows; first = past) {
    past = past_of(k, first);
    s = macko_decode_rows(k->m, k->row_ptr, first, past - first, k->cols, k->values, err);
    for (int64_t i = first; !s && i < past; i++)
      add_row(k, i, k->row_ptr[i] - k->row_ptr[first], k->row_ptr[i + 1] - k->row_ptr[first]);
  }
  return s;
}

/* Sums wrap, which does no harm, because they are only compared with 0. Whoever chooses the entries can forge them: the answer is
 * for people, and nothing in the library goes by it. */
macko_status macko_container_symmetry(const macko_matrix *m, const char **symmetry, macko_error *err)
{
  look k = {.m = m};
  *symmetry = "none";
  if (m->nrows != m->ncols) return MACKO_OK;
  k.row_ptr = malloc((size_t)(m->nrows + 1) * sizeof *k.row_ptr);
  macko_status s = k.row_ptr ? look_at_rows(&k, err)
                             : macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for the starts of %lld rows", (long long)m->nrows);
  if (!s) *symmetry = k.pattern ? "none" : k.both ? "pattern" : "symmetric";
  free(k.row_ptr), free(k.cols), free(k.values);
  return s;
}

#endif
