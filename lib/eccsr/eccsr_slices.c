/* Slices of the blocks of a window: headers, first columns, lengths, rows, masks and gaps. */
#include "eccsr/eccsr.h"

/* Blocks of one slice, as they follow each other. */
typedef struct {
  macko_eccsr_slice s;
  const macko_csr *a;
  const macko_eccsr_window *window;
  const macko_eccsr_block *blocks[MACKO_ECCSR_LANES];
  int64_t gaps; /* of all blocks */
} new_slice;

static inline int64_t run_start(const new_slice *n, int block, int64_t k)
{
  const macko_eccsr_block *b = n->blocks[block];
  return b->masked ? n->window->starts[b->at + k] : macko_csr_col(n->a, b->at + k * b->w);
}

/* Blocks from place `i` of the order on that make a slice: how many. */
static int gather(const macko_csr *a, const macko_eccsr_window *w, int i, new_slice *n)
{
  const macko_eccsr_block *b = &w->blocks[w->order[i]];
  int most = MACKO_ECCSR_LANES / b->g, count = 0;
  *n = (new_slice){.s = {.g = b->g, .w = b->w, .steps = b->runs, .masked = b->masked, .in_order = 1}, .a = a, .window = w};
  for (; count < most && i + count < w->nblocks; count++) {
    const macko_eccsr_block *c = &w->blocks[w->order[i + count]];
    if (c->g != b->g || c->w != b->w || c->masked != b->masked) break;
    for (int r = 1; r < c->g; r++) n->s.in_order &= w->rows[c->first + r] == w->rows[c->first] + r;
    if (c->runs) n->gaps += c->runs - 1;
    n->blocks[count] = c;
  }
  n->s.blocks = count;
  return count;
}

/* How many bits gaps have, and whether they are counted in runs. */
static void measure_gaps(new_slice *n)
{
  const uint32_t w = (uint32_t)n->s.w;
  uint32_t any = 0, any_runs = 0, apart = 0;
  for (int b = 0; b < n->s.blocks; b++) {
    int64_t before = n->blocks[b]->runs ? run_start(n, b, 0) : 0;
    for (int64_t k = 1; k < n->blocks[b]->runs; k++) {
      int64_t col = run_start(n, b, k);
      uint32_t code = (uint32_t)(col - before) - w;
      any |= code, any_runs |= code / w, apart |= code % w;
      before = col;
    }
  }
  if (!apart) any = any_runs, n->s.unit = n->s.w;
  else n->s.unit = 1;
  n->s.gap_bits = macko_eccsr_gap_bits(any);
}

/* Code number i of so many bits. */
static inline void put_gap(uint32_t *gaps, int bits, int64_t i, uint32_t code)
{
  gaps[i * bits / 32] |= code << (i * bits % 32);
}

static void put_gaps(const new_slice *n, uint32_t *gaps)
{
  int active = n->s.blocks;
  int64_t i = 0;
  for (int64_t k = 1; k < n->s.steps; k++) {
    while (active > 0 && n->blocks[active - 1]->runs <= (uint64_t)k) active--;
    for (int b = 0; b < active; b++) {
      int64_t apart = run_start(n, b, k) - run_start(n, b, k - 1) - n->s.w;
      put_gap(gaps, n->s.gap_bits, i++, (uint32_t)(n->s.unit == 1 ? apart : apart / n->s.w));
    }
  }
}

static void put_masks(const new_slice *n, uint32_t *masks)
{
  for (int b = 0; b < n->s.blocks; b++) {
    const uint16_t *bits = n->window->bits + n->blocks[b]->at * n->s.w;
    for (int64_t i = 0; i < (int64_t)n->blocks[b]->runs * n->s.w; i++) masks[i] |= (uint32_t)bits[i] << b * n->s.g;
  }
}

/* Blocks' own arrays. */
static void put_blocks(const new_slice *n, macko_eccsr_sink *sink)
{
  int64_t rows = n->s.row;
  for (int b = 0; b < n->s.blocks; b++) {
    const macko_eccsr_block *block = n->blocks[b];
    int64_t at = (int64_t)n->s.block + b;
    sink->bases[at] = block->runs ? (int32_t)run_start(n, b, 0) : 0;
    if (sink->length_bytes == 2) ((uint16_t *)sink->lengths)[at] = (uint16_t)block->runs;
    else ((uint32_t *)sink->lengths)[at] = block->runs;
    for (int r = 0; r < (n->s.in_order ? 1 : block->g); r++) sink->rows[rows++] = n->window->rows[block->first + r];
  }
}

/* What the slice adds to the counts. */
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

/* And to the work; answers its entries. */
static int64_t count_work(const new_slice *n, macko_eccsr_work *work)
{
  int64_t runs = 0, entries = 0;
  for (int b = 0; b < n->s.blocks; b++) {
    runs += n->blocks[b]->runs;
    if (!n->s.masked) continue;
    const uint16_t *bits = n->window->bits + n->blocks[b]->at * n->s.w;
    for (int64_t i = 0; i < (int64_t)n->blocks[b]->runs * n->s.w; i++) entries += __builtin_popcount(bits[i]);
  }
  if (!n->s.masked) entries = runs * n->s.w * n->s.g;
  work->entries += entries, work->runs += runs;
  if (n->s.masked) work->masked += entries;
  work->lanes += runs * n->s.w * n->s.g;
  work->reads += runs * n->s.w;
  return entries;
}

void macko_eccsr_put_window(const macko_csr *a, const macko_eccsr_window *w, int64_t slot, macko_eccsr_sink *sink)
{
  new_slice n;
  for (int i = 0; i < w->nblocks; i += n.s.blocks) {
    gather(a, w, i, &n);
    n.s.values = slot, n.s.words = sink->at.words, n.s.block = (uint32_t)sink->at.blocks, n.s.row = (uint32_t)sink->at.rows;
    measure_gaps(&n);
    if (sink->slices) {
      macko_eccsr_put_slice(&n.s, sink->slices + sink->at.slices * MACKO_ECCSR_SLICE_WORDS);
      put_blocks(&n, sink);
      if (n.s.masked) put_masks(&n, sink->words + n.s.words);
      put_gaps(&n, sink->words + n.s.words + macko_eccsr_mask_words(&n.s));
    }
    count_slice(&n, &sink->at);
    slot += count_work(&n, &sink->work);
  }
}
