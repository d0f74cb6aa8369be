/* Slices of the blocks of a window: headers, first columns, lengths, rows, masks and gaps. */
#include "eccsr/eccsr.h"

#include <stdlib.h>

/* A slice while it is made: its header, and its blocks as they follow each other. */
typedef struct {
  macko_eccsr_slice s;
  const macko_eccsr_window *window;
  const macko_eccsr_block *blocks[MACKO_ECCSR_LANES];
  int64_t gaps; /* codes of all blocks: one for each run but their first ones */
} new_slice;

/* Returns by what the gaps of a block are multiplied for the units of its slice, which may count in columns where a block counts
 * in runs. */
static inline uint32_t factor_of(const new_slice *n, const macko_eccsr_block *b)
{
  return n->s.unit == 1 ? b->unit : 1;
}

/* Decides how many bits the gaps of the slice have, and whether they are counted in runs, which makes them smaller where the gaps
 * of all blocks are multiples of w. */
static void measure_gaps(new_slice *n)
{
  uint32_t most = 0;
  n->s.unit = n->s.w;
  for (int b = 0; b < n->s.blocks; b++)
    if (n->blocks[b]->unit != n->s.w) n->s.unit = 1;
  for (int b = 0; b < n->s.blocks; b++) {
    const uint32_t own = n->blocks[b]->most * factor_of(n, n->blocks[b]);
    if (own > most) most = own;
  }
  n->s.gap_bits = macko_eccsr_gap_bits(most);
}

/* Takes blocks from place `i` of the order on, as long as they are of one kind and there are lanes left, and makes the header of
 * their slice, all but where it begins in the sections. */
static void gather(const macko_eccsr_window *w, int i, new_slice *n)
{
  const macko_eccsr_block *b = &w->blocks[w->order[i]];
  int most = MACKO_ECCSR_LANES / b->g, count = 0;
  *n = (new_slice){.s = {.g = b->g, .w = b->w, .steps = b->runs, .masked = b->masked, .in_order = 1}, .window = w};
  for (; count < most && i + count < w->nblocks; count++) {
    const macko_eccsr_block *c = &w->blocks[w->order[i + count]];
    if (c->g != b->g || c->w != b->w || c->masked != b->masked) break;
    for (int r = 1; r < c->g; r++) n->s.in_order &= w->rows[c->first + r] == w->rows[c->first] + r;
    if (c->runs) n->gaps += c->runs - 1;
    n->blocks[count] = c;
  }
  n->s.blocks = count;
  measure_gaps(n);
}

/* Writes codes of so many bits, [step][active block], word by word: each word is written once, so that the array need not be
 * zeroed. */
static inline __attribute__((always_inline)) void put_gaps_as(const new_slice *n, int bits, uint32_t *gaps)
{
  const uint32_t *from[MACKO_ECCSR_LANES];
  uint32_t factors[MACKO_ECCSR_LANES], word = 0;
  int active = n->s.blocks, used = 0;
  if (n->s.steps < 2) return; /* a window without gaps has no array of them */
  for (int b = 0; b < active; b++) from[b] = n->window->gaps + n->blocks[b]->at, factors[b] = factor_of(n, n->blocks[b]);
  for (uint32_t k = 1; k < n->s.steps; k++) {
    while (n->blocks[active - 1]->runs <= k) active--; /* the first has all steps */
    for (int b = 0; b < active; b++) {
      word |= from[b][k] * factors[b] << used;
      used += bits;
      if (used == 32) *gaps++ = word, word = 0, used = 0;
    }
  }
  if (used) *gaps = word;
}

/* Calls the same with constant widths, so that the compiler knows how many codes fill a word. */
static void put_gaps(const new_slice *n, uint32_t *gaps)
{
  switch (n->s.gap_bits) {
  case 4: put_gaps_as(n, 4, gaps); break;
  case 8: put_gaps_as(n, 8, gaps); break;
  case 16: put_gaps_as(n, 16, gaps); break;
  default: put_gaps_as(n, 32, gaps); break;
  }
}

/* Returns the bits of a block with masks: [run][column], a bit for each of its rows. */
static const uint16_t *bits_of(const new_slice *n, int block)
{
  return n->window->bits + n->blocks[block]->at * n->s.w;
}

/* Writes the masks of a slice: those of its first block set the words, and those of the others are shifted to their lanes. */
static void put_masks(const new_slice *n, uint32_t *masks)
{
  for (int64_t i = 0; i < macko_eccsr_mask_words(&n->s); i++) masks[i] = bits_of(n, 0)[i]; /* the first has all steps */
  for (int b = 1; b < n->s.blocks; b++) {
    const uint16_t *bits = bits_of(n, b);
    for (int64_t i = 0; i < (int64_t)n->blocks[b]->runs * n->s.w; i++) masks[i] |= (uint32_t)bits[i] << b * n->s.g;
  }
}

/* Writes first columns, lengths and rows of the blocks to where the header says. */
static void put_blocks(const new_slice *n, macko_eccsr_sink *sink)
{
  int64_t rows = n->s.row;
  for (int b = 0; b < n->s.blocks; b++) {
    const macko_eccsr_block *block = n->blocks[b];
    int64_t at = (int64_t)n->s.block + b;
    sink->bases[at] = block->base;
    if (sink->length_bytes == 2) ((uint16_t *)sink->lengths)[at] = (uint16_t)block->runs;
    else ((uint32_t *)sink->lengths)[at] = block->runs;
    for (int r = 0; r < (n->s.in_order ? 1 : block->g); r++) sink->rows[rows++] = n->window->rows[block->first + r];
  }
}

/* Adds what the slice takes to the counts. */
static void count_slice(const new_slice *n, macko_eccsr_counts *c)
{
  c->slices++;
  c->blocks += n->s.blocks;
  c->rows += n->s.in_order ? n->s.blocks : n->s.blocks * n->s.g;
  c->words += macko_eccsr_mask_words(&n->s) + macko_eccsr_gap_words(n->s.gap_bits, n->gaps);
  if (n->s.steps > c->longest) c->longest = n->s.steps;
  c->masked += n->s.masked;
  if (n->s.steps) c->widths |= (int64_t)1 << n->s.w;
}

/* Adds what a product has to do for the slice to the work. With masks entries are counted by their bits, as lanes may have
 * none. */
static void count_work(const new_slice *n, macko_eccsr_work *work)
{
  int64_t runs = 0, entries = 0;
  for (int b = 0; b < n->s.blocks; b++) {
    runs += n->blocks[b]->runs;
    if (!n->s.masked) continue;
    const uint16_t *bits = bits_of(n, b);
    for (int64_t i = 0; i < (int64_t)n->blocks[b]->runs * n->s.w; i++) entries += __builtin_popcount(bits[i]);
  }
  if (!n->s.masked) entries = runs * n->s.w * n->s.g;
  work->entries += entries, work->runs += runs;
  if (n->s.masked) work->masked += entries;
  work->lanes += runs * n->s.w * n->s.g;
  work->reads += runs * n->s.w;
  work->idle += ((int64_t)n->s.steps * n->s.blocks - runs) * n->s.w * n->s.g;
}

/* ---- arrays that grow ---- */

/* Returns for how many elements there is to be room, where so many are needed: arrays at least double, so that all copying
 * together takes time in proportion to their length. */
static int64_t room_for(int64_t needed, int64_t room)
{
  if (needed <= room) return room;
  return needed > 2 * room ? needed : 2 * room;
}

/* Enlarges an array of elements of so many bytes if more are wanted than there is room for; NULL without memory, and the old
 * array is then still there. */
static void *grow(void *array, int64_t room, int64_t wanted, size_t size)
{
  return wanted > room ? realloc(array, (size_t)wanted * size) : array;
}

/* Makes room for the slices of a window, in which blocks may each have one of their own, and each slice begins its gaps with a
 * new word. An array that could be enlarged is kept even if another could not, as the old one is gone then. */
static macko_status reserve(macko_eccsr_sink *k, const macko_eccsr_window *w, macko_error *err)
{
  const macko_eccsr_counts *at = &k->at, *had = &k->room;
  macko_eccsr_counts room = {.slices = room_for(at->slices + w->nblocks, had->slices),
                             .blocks = room_for(at->blocks + w->nblocks, had->blocks),
                             .rows = room_for(at->rows + MACKO_ECCSR_WINDOW, had->rows),
                             .words = room_for(at->words + w->nblocks + w->used + w->masks, had->words)};
  uint32_t *slices = grow(k->slices, had->slices, room.slices, MACKO_ECCSR_SLICE_WORDS * sizeof *slices);
  if (slices) k->slices = slices;
  int32_t *bases = grow(k->bases, had->blocks, room.blocks, sizeof *bases);
  if (bases) k->bases = bases;
  void *lengths = grow(k->lengths, had->blocks, room.blocks, sizeof(uint32_t));
  if (lengths) k->lengths = lengths;
  int32_t *rows = grow(k->rows, had->rows, room.rows, sizeof *rows);
  if (rows) k->rows = rows;
  uint32_t *words = grow(k->words, had->words, room.words, sizeof *words);
  if (words) k->words = words;
  if (!slices || !bases || !lengths || !rows || !words)
    return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for slices of %d blocks more", w->nblocks);
  k->room = room;
  return MACKO_OK;
}

void macko_eccsr_free_sink(macko_eccsr_sink *sink)
{
  free(sink->slices), free(sink->words), free(sink->bases), free(sink->rows), free(sink->lengths);
}

/* The header of a slice needs no look at slices behind it, so that they are written one after the other. */
macko_status macko_eccsr_put_window(const macko_eccsr_window *w, macko_eccsr_sink *sink, macko_error *err)
{
  macko_status s = sink->grows ? reserve(sink, w, err) : MACKO_OK;
  new_slice n;
  for (int i = 0; !s && i < w->nblocks; i += n.s.blocks) {
    gather(w, i, &n);
    n.s.values = sink->work.entries;
    n.s.words = sink->at.words, n.s.block = (uint32_t)sink->at.blocks, n.s.row = (uint32_t)sink->at.rows;
    if (sink->slices) {
      macko_eccsr_put_slice(&n.s, sink->slices + sink->at.slices * MACKO_ECCSR_SLICE_WORDS);
      put_blocks(&n, sink);
      if (n.s.masked) put_masks(&n, sink->words + n.s.words);
      put_gaps(&n, sink->words + n.s.words + macko_eccsr_mask_words(&n.s));
    }
    count_slice(&n, &sink->at);
    count_work(&n, &sink->work);
  }
  return s;
}
