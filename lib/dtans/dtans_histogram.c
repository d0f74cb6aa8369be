/* CSR-dtANS: how often each symbol occurs, in bounded memory and linear time. */
#include "dtans/dtans.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 1 << 10, BATCH = 64 }; /* slots of the hash table at first; symbols that are counted together */

/* Returns the slot where the search for a symbol begins. */
static inline int64_t home(const macko_dtans_histogram *h, macko_dtans_symbol s)
{
  return (int64_t)(macko_dtans_hash(h->key, s) & (uint64_t)(h->room - 1));
}

/* Returns the slot that holds a symbol, or the free one where it belongs. */
static macko_dtans_count *find(macko_dtans_histogram *h, macko_dtans_symbol s)
{
  int64_t i = home(h, s);
  while (h->slots[i].count && !macko_dtans_same(h->slots[i].symbol, s)) i = (i + 1) & (h->room - 1), h->steps++;
  return &h->slots[i];
}

/* Moves what occurs more than `forgotten` times to a table of `room` slots. Where that is as large as the old one the two are
 * used in turn, as forgetting may happen often. Errors: OUT_OF_MEMORY. */
static macko_status rehash(macko_dtans_histogram *h, int64_t room, macko_error *err)
{
  macko_dtans_histogram old = *h;
  if (room > old.room || !h->spare) {
    free(h->spare);
    h->spare = malloc((size_t)room * sizeof *h->spare);
    if (!h->spare) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a histogram of %lld symbols", (long long)room);
  }
  h->slots = memset(h->spare, 0, (size_t)room * sizeof *h->spare);
  h->spare = room > old.room ? NULL : old.slots;
  h->room = room, h->used = 0;
  for (int64_t i = 0; i < old.room; i++)
    if (old.slots[i].count > h->forgotten) {
      *find(h, old.slots[i].symbol) = old.slots[i];
      h->used++;
    }
  if (!h->spare) free(old.slots);
  return MACKO_OK;
}

/* Makes room for one more symbol: a table twice as big, or, at its limit, the rarest symbols are forgotten until half of it is
 * free. Errors: OUT_OF_MEMORY. */
static macko_status grow(macko_dtans_histogram *h, macko_error *err)
{
  int64_t left = h->used, most = macko_dtans_distinct(h->total);
  if (h->used < most) return rehash(h, 2 * h->room, err);
  /* Symbols of one count are forgotten together. */
  while (left > most / 2) {
    h->forgotten++;
    left = 0;
    for (int64_t i = 0; i < h->room; i++) left += h->slots[i].count > h->forgotten;
  }
  return rehash(h, h->room, err);
}

/* Symbols that are counted together, so that the places of all of them come from memory at once. */
typedef struct {
  int used;
  macko_dtans_symbol symbols[BATCH];
} batch;

/* Counts the symbols of a batch and empties it. A new symbol begins with as many occurrences as it may have had before it was
 * forgotten, so that it is never counted too low. A second pass (again) counts only symbols that are held already. Errors:
 * OUT_OF_MEMORY. */
static macko_status count_batch(batch *b, int again, macko_dtans_histogram *h, macko_error *err)
{
  macko_status s = MACKO_OK;
  for (int i = 0; i < b->used; i++) __builtin_prefetch(&h->slots[home(h, b->symbols[i])]);
  for (int i = 0; i < b->used && !s; i++) {
    macko_dtans_count *slot = find(h, b->symbols[i]);
    if (!slot->count && again) continue;
    if (!slot->count) {
      slot->symbol = b->symbols[i];
      slot->count = again ? 0 : h->forgotten;
      h->used++;
    }
    slot->count++;
    if (2 * h->used >= h->room) s = grow(h, err);
  }
  b->used = 0;
  return s;
}

/* Counts what row i of a piece, which is row `row` of the matrix, adds. */
static macko_status count_row(const macko_csr *a, int64_t i, int64_t row, int relative, int again, macko_dtans_histogram *h,
                              batch *b, macko_error *err)
{
  int64_t end = macko_csr_row(a, i + 1), before = 0;
  macko_status s = MACKO_OK;
  for (int64_t p = macko_csr_row(a, i), first = p; p < end && !s; p++) {
    macko_dtans_symbol symbol = {0};
    if (h->part & MACKO_DTANS_GAPS) {
      int64_t col = macko_csr_col(a, p);
      symbol.gap = p == first && relative ? macko_dtans_zigzag(col - row) : (uint32_t)(col - before);
      before = col;
    }
    if (h->part & MACKO_DTANS_VALUES) symbol.value = macko_bits_at(a->value_type, a->values, p);
    b->symbols[b->used++] = symbol;
    if (b->used == BATCH) s = count_batch(b, again, h, err);
  }
  return s;
}

/* Counts the symbols of all rows. */
static macko_status count_pass(const macko_dtans_input *in, int again, macko_dtans_histogram *h, macko_error *err)
{
  macko_csr piece = {0};
  batch b = {0};
  macko_status s = MACKO_OK;
  for (int64_t first = 0; first < in->rows->nrows && !s; first += piece.nrows) {
    s = macko_dtans_next_piece(in, first, in->rows->nrows, &piece, err);
    for (int64_t i = 0; i < piece.nrows && !s; i++) s = count_row(&piece, i, first + i, in->relative, again, h, &b, err);
  }
  return s ? s : count_batch(&b, again, h, err);
}

/* Counts the symbols that are left again, from nothing, where others were forgotten on the way: slots keep one as their mark.
 * Which rare symbols are left depends on the order of rows, so that only those are kept that no order would forget. */
static macko_status count_again(const macko_dtans_input *in, macko_dtans_histogram *h, macko_error *err)
{
  for (int64_t i = 0; i < h->room; i++) h->slots[i].count = h->slots[i].count > 0;
  macko_status s = count_pass(in, 1, h, err);
  h->used = 0;
  for (int64_t i = 0; i < h->room; i++) {
    h->slots[i].count -= h->slots[i].count > 0;
    if (!macko_dtans_frequent(h->slots[i].count, h->total)) h->slots[i].count = 0;
    h->used += h->slots[i].count > 0;
  }
  return s;
}

/* Counts all symbols of the rows in host memory, in one pass or two. */
static macko_status count_all(const macko_dtans_input *in, macko_dtans_histogram *h, macko_error *err)
{
  macko_status s = rehash(h, FIRST_ROOM, err);
  if (!s) s = count_pass(in, 0, h, err);
  if (!s && h->forgotten) s = count_again(in, h, err);
  free(h->spare);
  h->spare = NULL;
  return s;
}

/* A histogram that has been counted has its part set. */
macko_status macko_dtans_count_symbols(macko_dtans_input *in, macko_dtans_part part, const macko_dtans_histogram **out,
                                       macko_error *err)
{
  macko_dtans_histogram *h = &in->histograms[part];
  macko_status s = MACKO_OK;
  if (!h->part) {
    *h = (macko_dtans_histogram){.part = part, .total = in->nnz, .key = macko_new_hash_key()};
    s = in->counter ? in->counter->count(in->counter->context, in->relative, h, err) : count_all(in, h, err);
    if (!s) s = macko_dtans_sort_counts(h, err);
  }
  *out = h;
  return s;
}
