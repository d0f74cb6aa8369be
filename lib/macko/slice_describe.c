/* One slice of a csr as layout slice sees it: the order of its rows, how their columns are best written, and its block. */
#include "core/compare_csr.h"
#include "macko/slice_masked.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW = MACKO_SLICE_WINDOW };

/* ---- the order of rows ---- */

/* This is a radix sort, 6 bits a pass from the lowest on, which keeps rows of equal length in order. Digits are taken from 63
 * down, so that lengths fall. Bits that no length has, which is most of them, are not sorted by. */
void macko_sort_window(const macko_csr *a, int64_t start, uint16_t *order)
{
  int64_t count = a->nrows - start < WINDOW ? a->nrows - start : WINDOW;
  uint32_t first[64] = {0}, total = 0;
  uint16_t passes[2][WINDOW], *from = passes[0], *to = passes[1];
  int64_t any = 0;
  for (int64_t i = 0; i < count; i++) {
    from[i] = (uint16_t)i;
    any |= macko_csr_row(a, start + i + 1) - macko_csr_row(a, start + i);
  }
  for (int shift = 0; shift < 30 && any >> shift; shift += 6) {
    memset(first, 0, sizeof first);
    for (int64_t i = 0; i < count; i++) {
      int64_t row = start + from[i];
      first[63 - ((macko_csr_row(a, row + 1) - macko_csr_row(a, row)) >> shift & 63)]++;
    }
    total = 0;
    for (int d = 0; d < 64; d++) {
      uint32_t here = first[d];
      first[d] = total, total += here;
    }
    for (int64_t i = 0; i < count; i++) {
      int64_t row = start + from[i];
      to[first[63 - ((macko_csr_row(a, row + 1) - macko_csr_row(a, row)) >> shift & 63)]++] = from[i];
    }
    uint16_t *swap = from;
    from = to, to = swap;
  }
  memcpy(order, from, (size_t)count * sizeof *order);
}

/* ---- one slice of the csr ---- */

/* Sets base and offset width: base is the least of all distances, so that offsets are not negative. */
static void find_base(const macko_csr *a, macko_csr_slice *c)
{
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (int l = 0; l < c->lanes; l++) {
    if (!c->length[l]) continue;
    int64_t d = macko_base_distance(a, c, l);
    if (d < low) low = d;
    if (d > high) high = d;
  }
  c->s.base = low == INT64_MAX ? 0 : (int32_t)low;
  c->s.offset_bytes = low == INT64_MAX ? 0 : macko_unsigned_bytes((uint64_t)(high - low));
}

/* Gives 1 if every row's distances from its base column begin the list of the longest row: then one list serves all lanes. */
static int is_uniform(const macko_csr *a, const macko_csr_slice *c)
{
  int64_t longest = c->begin[c->longest], first = macko_csr_col(a, longest);
  for (int l = 0; l < c->lanes; l++)
    if (c->length[l] > 1 &&
        macko_or_differences(a, longest + 1, c->begin[l] + 1, c->length[l] - 1, macko_csr_col(a, c->begin[l]) - first))
      return 0;
  return 1;
}

/* Gives the bits of a gap that hold all gaps of the slice. */
static int gap_width(const macko_csr *a, const macko_csr_slice *c)
{
  uint64_t any = 0;
  for (int l = 0; l < c->lanes; l++) any |= macko_or_differences(a, c->begin[l], c->begin[l] + 1, c->length[l] - 1, 1);
  return macko_slice_gap_bits(any);
}

/* Prefetches the values at the start of a row further on: a slice that is no stencil reads too few of them for the hardware to
 * follow. */
static void prefetch_values(const macko_csr *a, int64_t row)
{
  if (row >= a->nrows) return;
  const char *values = (const char *)a->values + macko_csr_row(a, row) * macko_type_bytes(a->value_type);
  for (int line = 0; line < 4; line++) __builtin_prefetch(values + 64 * line);
}

/* Prefetches entries p .. past - 1 of an array of elements of so many bytes. */
static void prefetch_array(const void *array, int64_t size, int64_t p, int64_t past)
{
  const char *at = (const char *)array + p * size, *end = (const char *)array + past * size;
  for (; at < end; at += 64) __builtin_prefetch(at);
}

/* Slices of longer rows are fetched in part. */
void macko_fetch_slice(const macko_csr *a, int64_t slice)
{
  enum { MOST = 32 * MACKO_SLICE_ROWS };
  const int64_t row = slice * MACKO_SLICE_ROWS;
  if (row + MACKO_SLICE_ROWS > a->nrows) return;
  const int64_t p = macko_csr_row(a, row), end = macko_csr_row(a, row + MACKO_SLICE_ROWS), past = end - p < MOST ? end : p + MOST;
  prefetch_array(a->cols, macko_type_bytes(a->col_type), p, past);
  prefetch_array(a->values, macko_type_bytes(a->value_type), p, past);
}

/* Finds rows in their own order, which follow each other; type and number are constants where the slice is full. */
static inline __attribute__((always_inline)) void find_rows(const macko_csr *a, macko_type type, int64_t start, int lanes,
                                                            macko_csr_slice *c)
{
  const int64_t base = a->index_base;
  for (int l = 0; l < lanes; l++) {
    const int64_t begin = macko_index(type, a->row_ptr, start + l) - base;
    c->begin[l] = begin, c->length[l] = macko_index(type, a->row_ptr, start + l + 1) - base - begin;
  }
}

/* Finds rows in the order of a window. `start` is the slice's first position, order its part of the window's order. */
static void find_ordered_rows(const macko_csr *a, int64_t start, const uint16_t *order, macko_csr_slice *c)
{
  for (int l = 0; l < c->lanes; l++) {
    int64_t row = start / WINDOW * WINDOW + order[l];
    c->begin[l] = macko_csr_row(a, row);
    c->length[l] = macko_csr_row(a, row + 1) - c->begin[l];
  }
}

/* Gives 1 if there are all lanes, and their rows are equally long. */
static int equally_long(const macko_csr_slice *c)
{
  int64_t any = 0;
  for (int l = 0; l < MACKO_SLICE_ROWS; l++) any |= c->length[l] ^ c->length[0];
  return any == 0;
}

/* Sets the longest lane and the length of the shortest. Lanes without a row get length 0, but do not count for the shortest. */
static void find_longest(macko_csr_slice *c)
{
  c->longest = 0, c->shortest = c->length[0];
  if (c->lanes == MACKO_SLICE_ROWS && equally_long(c)) return;
  for (int l = 1; l < c->lanes; l++) {
    if (c->length[l] < c->shortest) c->shortest = c->length[l];
    if (c->length[l] > c->length[c->longest]) c->longest = l;
  }
  for (int l = c->lanes; l < MACKO_SLICE_ROWS; l++) c->length[l] = 0;
}

void macko_find_slice(const macko_csr *a, const uint16_t *order, int64_t slice, macko_csr_slice *c)
{
  const int64_t start = slice * MACKO_SLICE_ROWS;
  c->s = (macko_slice){0};
  c->lanes = a->nrows - start < MACKO_SLICE_ROWS ? (int)(a->nrows - start) : MACKO_SLICE_ROWS;
  if (order) find_ordered_rows(a, start, order + start % WINDOW, c);
  else if (a->row_ptr_type == MACKO_I32 && c->lanes == MACKO_SLICE_ROWS) find_rows(a, MACKO_I32, start, MACKO_SLICE_ROWS, c);
  else find_rows(a, a->row_ptr_type, start, c->lanes, c);
  find_longest(c);
  c->s.steps = (uint32_t)c->length[c->longest];
}

int macko_try_stencil(const macko_csr *a, int64_t slice, macko_csr_slice *c)
{
  const int64_t start = slice * MACKO_SLICE_ROWS;
  prefetch_values(a, start + 8 * MACKO_SLICE_ROWS);
  return macko_find_stencil(a, start, c->lanes, c->length, c->stencil, &c->s);
}

/* Each part takes as few bytes as it can: none where lengths are equal, first columns consecutive, or the distances one list. */
void macko_describe_slice(const macko_csr *a, int kinds, macko_csr_slice *c)
{
  c->s.length_bytes = c->shortest == c->length[c->longest] ? 0 : macko_unsigned_bytes(c->s.steps);
  find_base(a, c);
  const int uniform = c->s.steps <= 1 || is_uniform(a, c);
  if (kinds & MACKO_MASKED && !(uniform && macko_is_uniform(&c->s, c->lanes)) && macko_find_masked(a, c))
    c->s.gap_bits = MACKO_GAP_MASKED, c->s.offset_bytes = c->s.length_bytes = 0;
  else if (!uniform) c->s.gap_bits = kinds & MACKO_PAIRS ? MACKO_GAP_PAIRS : gap_width(a, c);
}

/* Gives the codes of the gaps of entries p .. p + count - 1 in one word, the first in its lowest bits. */
static inline __attribute__((always_inline)) uint32_t gap_word(const macko_csr *a, macko_type type, int64_t p, int count,
                                                               int bits)
{
  uint32_t word = 0;
#pragma GCC unroll 8
  for (int k = 0; k < count; k++)
    word |= (uint32_t)(macko_index(type, a->cols, p + k) - macko_index(type, a->cols, p + k - 1) - 1) << k * bits;
  return word;
}

/* Writes the gaps of a row of entries p .. end - 1, a word after the other for its lane; the words of a lane are MACKO_SLICE_ROWS
 * apart. */
static inline __attribute__((always_inline)) void write_gaps(const macko_csr *a, macko_type type, int64_t p, int64_t end,
                                                             int bits, uint32_t *gaps)
{
  const int whole = 32 / bits;
  for (p++; p + whole <= end; p += whole, gaps += MACKO_SLICE_ROWS) *gaps = gap_word(a, type, p, whole, bits);
  if (p < end) *gaps = gap_word(a, type, p, (int)(end - p), bits);
}

/* Does the same with constants for the widths that columns of 32 bits mostly have. */
static void write_lane(const macko_csr *a, int64_t p, int64_t end, int bits, uint32_t *gaps)
{
  int narrow = a->col_type == MACKO_I32;
  if (narrow && bits == 4) write_gaps(a, MACKO_I32, p, end, 4, gaps);
  else if (narrow && bits == 8) write_gaps(a, MACKO_I32, p, end, 8, gaps);
  else if (narrow && bits == 16) write_gaps(a, MACKO_I32, p, end, 16, gaps);
  else write_gaps(a, a->col_type, p, end, bits, gaps);
}

/* Writes the slice's block into words, which are zero before: steps of a stencil or of a masked slice, or lengths, offsets and
 * gaps. */
static void write_block(const macko_csr *a, const macko_csr_slice *c, uint32_t *words)
{
  uint32_t *offsets = words + 8 * c->s.length_bytes, *gaps = offsets + 8 * c->s.offset_bytes;
  int64_t longest = c->begin[c->longest];
  int bits = c->s.gap_bits;
  if (c->s.stencil) {
    memcpy(words, c->stencil, c->s.steps * sizeof *c->stencil);
    return;
  }
  if (bits == MACKO_GAP_MASKED) {
    memcpy(words, c->masked, c->s.steps * sizeof *c->masked);
    return;
  }
  for (int l = 0; l < c->lanes; l++) {
    macko_put_unsigned(words, c->s.length_bytes, l, (uint32_t)c->length[l]);
    if (c->length[l]) macko_put_unsigned(offsets, c->s.offset_bytes, l, (uint32_t)(macko_base_distance(a, c, l) - c->s.base));
    if (!bits || bits == MACKO_GAP_PAIRS) continue;
    write_lane(a, c->begin[l], c->begin[l] + c->length[l], bits, gaps + l);
  }
  for (int64_t k = 1; !bits && k < c->s.steps; k++)
    gaps[k - 1] = (uint32_t)(macko_csr_col(a, longest + k) - macko_csr_col(a, longest));
}

/* ---- blocks in a buffer ---- */

/* Gives the hash of so many words. There are two chains of multiplications, which run side by side. */
static uint64_t hash_words(macko_hash_key key, const uint32_t *words, int64_t count)
{
  uint64_t one = (uint64_t)count, other = ~one, pair[2];
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    memcpy(pair, words + i, sizeof pair);
    one = macko_hash(key, one ^ pair[0]), other = macko_hash(key, other ^ pair[1]);
  }
  for (; i < count; i++) one = macko_hash(key, one ^ words[i]);
  return macko_hash(key, one ^ other >> 32 ^ other << 32);
}

/* Gives the place behind what is used, with room for `words` more; NULL where memory is short. Room doubles, so that few slices
 * allocate. */
static uint32_t *grow_buffer(macko_block_buffer *buffer, int64_t words, macko_error *err)
{
  int64_t needed = buffer->used + words;
  if (needed > buffer->room) {
    uint32_t *larger = realloc(buffer->words, (size_t)(2 * needed) * sizeof *larger);
    if (!larger) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a slice of %lld words", (long long)words), NULL;
    buffer->words = larger, buffer->room = 2 * needed;
  }
  return buffer->words + buffer->used;
}

macko_status macko_fill_buffer(const macko_csr *a, const macko_csr_slice *c, macko_block_buffer *buffer, macko_block_key *key,
                               macko_error *err)
{
  int64_t words = macko_slice_block_words(&c->s);
  *key = (macko_block_key){0, (uint32_t)words, (uint32_t)macko_block_align(&c->s)};
  if (words == 0) return MACKO_OK;
  uint32_t *block = grow_buffer(buffer, words, err);
  if (!block) return MACKO_OUT_OF_MEMORY;
  memset(block, 0, (size_t)words * sizeof *block);
  write_block(a, c, block);
  key->hash = hash_words(buffer->key, block, words);
  return MACKO_OK;
}

macko_status macko_copy_to_buffer(const uint32_t *words, int64_t count, macko_block_buffer *buffer, macko_error *err)
{
  uint32_t *block = count ? grow_buffer(buffer, count, err) : NULL;
  if (!count) return MACKO_OK;
  if (!block) return MACKO_OUT_OF_MEMORY;
  memcpy(block, words, (size_t)count * sizeof *block);
  return MACKO_OK;
}

macko_status macko_refill_buffer(const macko_slice *s, const uint32_t *block, macko_block_buffer *buffer, macko_block_key *key,
                                 macko_error *err)
{
  const int64_t words = macko_slice_block_words(s);
  *key = (macko_block_key){words ? hash_words(buffer->key, block, words) : 0, (uint32_t)words, (uint32_t)macko_block_align(s)};
  return macko_copy_to_buffer(block, words, buffer, err);
}
