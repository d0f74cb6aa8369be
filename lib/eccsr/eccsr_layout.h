/* What lies where in the sections of format eccsr, for host and kernels (doc/formats/eccsr.md).
 *
 * A block is g rows and a list of column runs; a run is w consecutive columns. A slice is up to 32 / g blocks of equal g and w:
 * lane l holds row l % g of block l / g. Step k of a slice is run k of its blocks, which are in the order of falling length, so
 * that the blocks that have a step are the first ones: macko_eccsr_active counts them. Section "slices" has eight words a slice
 * (macko_eccsr_slice_at); "bases" has the first column of the first run of every block and "lengths" its number of runs; "rows" has
 * the rows of its lanes, or where those of every block of the slice follow each other the first row of every block.
 *
 * Section "gaps" has for a slice, from word `words` on, the masks of its steps and columns if it is masked, [step][column of the
 * run], bit l for lane l; then codes of gap_bits bits, lowest first, for the steps from 1 on and the blocks that have them,
 * [step][block]. A run begins w + code * unit columns behind the beginning of the run before it.
 *
 * Section "values" has the entries of a slice from slot `values` on, and nothing else: for every step and column of the run those
 * of the lanes, in their order, that have one: the first active * g lanes, or those of the mask. MACKO_ECCSR_SPARE slots at the end
 * belong to no slice, so that loads may reach beyond it; there are none where there are no entries. */
#ifndef MACKO_ECCSR_LAYOUT_H
#define MACKO_ECCSR_LAYOUT_H

#include "core/inline.h"

#include <stdint.h>
#include <string.h>

enum {
  MACKO_ECCSR_LANES = 32,
  MACKO_ECCSR_SLICE_WORDS = 8,
  MACKO_ECCSR_MAX_ROWS = 16,  /* of a block */
  MACKO_ECCSR_MAX_RUN = 8,    /* columns of a run */
  MACKO_ECCSR_SPARE = 32      /* slots at the end */
};

/* The header of a slice, unpacked from its eight words. */
typedef struct {
  int64_t values;   /* slot of its first entry */
  int64_t words;    /* where its masks and gaps begin in "gaps" */
  uint32_t block;   /* number of its first block, in "bases" and "lengths" */
  uint32_t row;     /* where its rows begin in "rows" */
  uint32_t steps;   /* runs of its longest block, the first */
  int g, w, blocks; /* rows of a block, columns of a run, blocks */
  int gap_bits;     /* 4, 8, 16 or 32 */
  int unit;         /* 1 or w: columns that a gap's code counts */
  int masked;       /* some lanes of some steps have no entry; else all lanes of all blocks that have the step do */
  int in_order;     /* the rows of every block follow each other */
} macko_eccsr_slice;

/* Unpacks the header of slice i and checks nothing: what comes from a file has to pass macko_eccsr_validate. */
MACKO_INLINE macko_eccsr_slice macko_eccsr_slice_at(const uint32_t *slices, int64_t i)
{
  const uint32_t *h = slices + i * MACKO_ECCSR_SLICE_WORDS;
  uint32_t info = h[7];
  macko_eccsr_slice s;
  s.values = (int64_t)((uint64_t)h[1] << 32 | h[0]);
  s.words = (int64_t)((uint64_t)h[3] << 32 | h[2]);
  s.block = h[4], s.row = h[5], s.steps = h[6];
  s.g = (int)(info & 15) + 1;
  s.w = (int)(info >> 4 & 7) + 1;
  s.gap_bits = 4 << (info >> 7 & 3);
  s.blocks = (int)(info >> 9 & 31) + 1;
  s.masked = (int)(info >> 14 & 1);
  s.in_order = (int)(info >> 15 & 1);
  s.unit = (info >> 16 & 1) ? s.w : 1;
  return s;
}

/* Packs a header into the eight words at h, as macko_eccsr_slice_at reads them. */
MACKO_INLINE void macko_eccsr_put_slice(const macko_eccsr_slice *s, uint32_t *h)
{
  uint32_t bits = s->gap_bits == 4 ? 0 : s->gap_bits == 8 ? 1 : s->gap_bits == 16 ? 2 : 3;
  h[0] = (uint32_t)s->values, h[1] = (uint32_t)((uint64_t)s->values >> 32);
  h[2] = (uint32_t)s->words, h[3] = (uint32_t)((uint64_t)s->words >> 32);
  h[4] = s->block, h[5] = s->row, h[6] = s->steps;
  h[7] = (uint32_t)(s->g - 1) | (uint32_t)(s->w - 1) << 4 | bits << 7 | (uint32_t)(s->blocks - 1) << 9 |
         (uint32_t)s->masked << 14 | (uint32_t)s->in_order << 15 | (uint32_t)(s->unit != 1) << 16;
}

/* Returns the slots of section "values": one for each entry, and the spare ones. */
MACKO_INLINE int64_t macko_eccsr_slots(int64_t nnz)
{
  return nnz ? nnz + MACKO_ECCSR_SPARE : 0;
}

/* Returns the runs of block b, counted over all slices. The elements of lengths have so many bytes, 2 or 4: short blocks, which
 * most are, take 2. */
MACKO_INLINE uint32_t macko_eccsr_length(const void *lengths, int bytes, int64_t b)
{
  return bytes == 2 ? ((const uint16_t *)lengths)[b] : ((const uint32_t *)lengths)[b];
}

/* Returns the row of the matrix that a lane of the slice holds. Where the rows of every block follow each other, the section
 * names only the first of each. */
MACKO_INLINE int64_t macko_eccsr_row(const macko_eccsr_slice *s, const int32_t *rows, int lane)
{
  return s->in_order ? (int64_t)rows[s->row + (uint32_t)(lane / s->g)] + lane % s->g : rows[s->row + (uint32_t)lane];
}

/* Returns the words of the slice's masks: one for each column of each step, none without masks. */
MACKO_INLINE int64_t macko_eccsr_mask_words(const macko_eccsr_slice *s)
{
  return s->masked ? (int64_t)s->steps * s->w : 0;
}

/* Returns the words that so many gaps take; each slice begins with a whole word. */
MACKO_INLINE int64_t macko_eccsr_gap_words(int gap_bits, int64_t gaps)
{
  return (gaps * gap_bits + 31) / 32;
}

/* Returns code number i of the gaps of a slice, which begin behind its masks. No code lies in two words, as widths divide 32. */
MACKO_INLINE uint32_t macko_eccsr_gap(const uint32_t *gaps, int gap_bits, int64_t i)
{
  return gaps[i * gap_bits / 32] >> (i * gap_bits % 32) & (0xffffffffu >> (32 - gap_bits));
}

/* Returns how many blocks of the slice have step k, given that `before` had the step before. Lengths fall within a slice, so that
 * it only looks at those that end here. */
MACKO_INLINE int macko_eccsr_active(const macko_eccsr_slice *s, const void *lengths, int bytes, int64_t k, int before)
{
  while (before > 0 && macko_eccsr_length(lengths, bytes, s->block + (int64_t)before - 1) <= (uint64_t)k) before--;
  return before;
}

#endif
