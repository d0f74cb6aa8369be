/* Where the bits of the macko format are: the one decode step that the C multiply, the CUDA kernels and the fuzzer share.
 *
 * Layout row. Entry p of the matrix has value p and a gap code of b bits, p b bits into section "gaps" (little-endian). The
 * column of a row's first entry is its base column and its own code is 0; every other column is the one before plus gap, gap =
 * code + 1. Code 2^b - 1 is an escape: the gap is the next number of the row's piece of "long_gaps", which starts at
 * "long_ptr"[row]. An over-long gap thus costs four bytes and no entry (the paper, section 3, bridges it with gap / 2^b padding
 * entries).
 *
 * Layout slice. 32 rows make a slice, lane l holds one of them. Section "slices" has four words a slice (macko_slice_at), section
 * "blocks" what its columns need, equal blocks stored once: [lengths][base offsets][gaps]. Section "values" holds step s of lane
 * l at macko_slice_slot, slices at multiples of 128 bytes; slots beyond a row's length are never multiplied.
 *
 * A slice is masked where its rows have some of the distances of one list each, as rows at the boundary of a grid have: its block
 * is a list of macko_masked_step, by rising distance, and nothing else. The entry of a lane is in the slot of its step, and the
 * slots of steps that it lacks are 0.
 *
 * A slice in which entries at the same distance from the diagonal have the same value is stored as a stencil: its block is a list
 * of macko_stencil_step, by rising distance, and nothing else; it has no values in section "values".
 *
 * Under value codec pairs an element of "values" is a code for an entry of "pair_gaps" and one of "dict". Slices that would have
 * gaps of their own then have none in their block: the column of an entry is the one before plus the gap of its code. */
#ifndef MACKO_LAYOUT_BITS_H
#define MACKO_LAYOUT_BITS_H

#include "core/inline.h"

#include <stdint.h>
#include <string.h>

enum {
  MACKO_SLICE_ROWS = 32,
  MACKO_SLICE_WORDS = 4,         /* words of a slice's header */
  MACKO_VALUE_UNIT = 128,        /* bytes in which starts of values are counted: 32 lanes of 4 */
  MACKO_SLICE_MAX_STEPS = 1 << 24, /* a header has 24 bits for steps, so that there are fewer than this */
  MACKO_SLICE_WINDOW = 4096,     /* rows sorted by length together, where that is done */
  MACKO_SLICE_STENCIL = 0x80,    /* the bit of a header's third word that says: this slice is a stencil */
  MACKO_STENCIL_WORDS = 4,       /* words of a step of a stencil, aligned: its block starts at a multiple of them */
  MACKO_STENCIL_MAX_STEPS = 128,
  /* These are in place of the bits of a gap: gaps come from codes of pairs, and the block has none; or lanes share a list of
   * distances, of which each has some. */
  MACKO_GAP_PAIRS = 64, MACKO_GAP_MASKED = 128,
  MACKO_MASKED_WORDS = 2,        /* words of a step of such a list */
  MACKO_MASKED_MAX_STEPS = 128   /* steps up to which such a list is looked for */
};

enum { MACKO_BASE_ROWS = 32 }; /* rows that share a reference under MACKO_BASE_BLOCK */
enum { MACKO_ROW_CHUNK = 512 }; /* entries that a warp takes at once of long rows on a GPU that has x in shared memory */

/* This is how the base column of a row is stored: as reference + bias + offset, the offset 0, 1, 2 or 4 bytes wide. The reference
 * is 0, the number of the row, or the smallest first column of the MACKO_BASE_ROWS rows that it is among. */
enum { MACKO_BASE_ABSOLUTE, MACKO_BASE_DIAGONAL, MACKO_BASE_BLOCK };

/* Gives the code of entry p, of b = 1, 2, 4, 8 or 16 bits. No width but 16 crosses a byte, so that one load is enough. */
MACKO_INLINE uint32_t macko_gap_code(const uint8_t *gaps, int b, int64_t p)
{
  if (b == 16) return (uint32_t)gaps[2 * p] | (uint32_t)gaps[2 * p + 1] << 8;
  return (uint32_t)gaps[p * b >> 3] >> (p * b & 7) & ((1u << b) - 1);
}

/* Gives number i of an array of unsigned numbers of 0, 1, 2 or 4 bytes; of 0 bytes all numbers are 0. memcpy loads them, because
 * such arrays also lie inside words. */
MACKO_INLINE uint32_t macko_unsigned_at(const void *array, int bytes, int64_t i)
{
  uint16_t half;
  uint32_t word;
  if (bytes == 0) return 0;
  if (bytes == 1) return ((const uint8_t *)array)[i];
  if (bytes == 2) {
    memcpy(&half, (const char *)array + 2 * i, sizeof half);
    return half;
  }
  memcpy(&word, (const char *)array + 4 * i, sizeof word);
  return word;
}

/* Stores number i of such an array; of 0 bytes nothing is stored. */
MACKO_INLINE void macko_put_unsigned(void *array, int bytes, int64_t i, uint32_t value)
{
  uint16_t half = (uint16_t)value;
  if (bytes == 1) ((uint8_t *)array)[i] = (uint8_t)value;
  else if (bytes == 2) memcpy((char *)array + 2 * i, &half, sizeof half);
  else if (bytes == 4) memcpy((char *)array + 4 * i, &value, sizeof value);
}

/* Gives the fewest bytes, 0, 1, 2 or 4, that hold numbers from 0 to `largest`. */
MACKO_INLINE int macko_unsigned_bytes(uint64_t largest)
{
  return largest == 0 ? 0 : largest < 256 ? 1 : largest < 65536 ? 2 : 4;
}

/* This is a slice's header with its fields apart. */
typedef struct {
  uint32_t values;  /* where its values start in section "values", in units of MACKO_VALUE_UNIT bytes */
  uint32_t block;   /* where its block starts in section "blocks", in words */
  int32_t base;     /* the first column of lane l is base + l + its offset */
  uint32_t steps;   /* entries of the longest row; of a stencil the distances that occur */
  int gap_bits;     /* 0: one list of column distances from the base column for all lanes; else 4, 8, 16, 32 or MACKO_GAP_... */
  int offset_bytes; /* bytes of a lane's offset; 0: first columns are consecutive */
  int length_bytes; /* bytes of a row length; 0: every row has `steps` entries */
  int stencil;      /* 1 if the slice is a stencil: base is its first row then, and the widths above are 0 */
} macko_slice;

/* This is a step of a masked slice: the lanes whose bit is set have an entry in column base + lane + distance, and its value is in
 * the slot of the step. */
typedef struct {
  uint32_t distance, lanes;
} macko_masked_step;

/* This is a step of a stencil: the lanes whose bit is set have an entry in column base + lane + distance, and its value has these
 * bits of the matrix's value type. */
typedef struct {
  int32_t distance;
  uint32_t lanes;
  uint64_t value;
} macko_stencil_step;

/* Gives the header of a slice, from the words of section "slices". */
MACKO_INLINE macko_slice macko_slice_at(const uint32_t *headers, int64_t slice)
{
  const uint32_t *h = headers + slice * MACKO_SLICE_WORDS;
  uint32_t info = h[2];
  macko_slice s;
  s.values = h[0];
  s.block = h[1];
  s.base = (int32_t)h[3];
  s.steps = info >> 8;
  s.gap_bits = (info & 7) ? 2 << (info & 7) : 0;
  s.offset_bytes = (info >> 3 & 3) ? 1 << ((info >> 3 & 3) - 1) : 0;
  s.length_bytes = (info >> 5 & 3) ? 1 << ((info >> 5 & 3) - 1) : 0;
  s.stencil = (info & MACKO_SLICE_STENCIL) != 0;
  return s;
}

/* Writes the header of a slice into four words, as macko_slice_at reads them. */
MACKO_INLINE void macko_put_slice(const macko_slice *s, uint32_t *h)
{
  uint32_t gap_code = 0;
  while (gap_code < 6 && (gap_code ? 2 << gap_code : 0) != s->gap_bits) gap_code++;
  uint32_t length_code = s->length_bytes == 4 ? 3 : s->length_bytes, offset_code = s->offset_bytes == 4 ? 3 : s->offset_bytes;
  h[0] = s->values;
  h[1] = s->block;
  h[2] = s->steps << 8 | (s->stencil ? MACKO_SLICE_STENCIL : 0) | length_code << 5 | offset_code << 3 | gap_code;
  h[3] = (uint32_t)s->base;
}

/* Gives the bits of a gap in a slice, given all its codes or-ed together: the width is that of the largest code, and the highest
 * bit that is set anywhere tells it without a comparison for each. */
MACKO_INLINE int macko_slice_gap_bits(uint64_t any)
{
  return any < 16 ? 4 : any < 256 ? 8 : any < 65536 ? 16 : 32;
}

/* Gives the words that the gaps of a slice take in its block. The first entry of a row needs no gap. One list for all lanes takes
 * a word a step; gaps of their own take whole words of all 32 lanes. */
MACKO_INLINE int64_t macko_slice_gap_words(int gap_bits, int64_t steps)
{
  if (gap_bits == MACKO_GAP_MASKED) return steps * MACKO_MASKED_WORDS;
  if (steps <= 1 || gap_bits == MACKO_GAP_PAIRS) return 0;
  return gap_bits == 0 ? steps - 1 : ((steps - 1) * gap_bits + 31) / 32 * MACKO_SLICE_ROWS;
}

/* Gives the words of a slice's block; 8 is 32 lanes over 4 bytes a word. */
MACKO_INLINE int64_t macko_slice_block_words(const macko_slice *s)
{
  if (s->stencil) return (int64_t)s->steps * MACKO_STENCIL_WORDS;
  return 8 * (s->length_bytes + s->offset_bytes) + macko_slice_gap_words(s->gap_bits, s->steps);
}

/* These three give where the parts of a slice's block begin, which follow each other: lengths, offsets, gaps. blocks is section
 * "blocks", and the slice is no stencil. */
MACKO_INLINE const uint32_t *macko_slice_lengths(const macko_slice *s, const uint32_t *blocks)
{
  return blocks + s->block;
}

MACKO_INLINE const uint32_t *macko_slice_offsets(const macko_slice *s, const uint32_t *blocks)
{
  return blocks + s->block + 8 * s->length_bytes;
}

MACKO_INLINE const uint32_t *macko_slice_gaps(const macko_slice *s, const uint32_t *blocks)
{
  return blocks + s->block + 8 * (s->length_bytes + s->offset_bytes);
}

/* Gives the gap from step k to step k + 1 of a lane, where gap_bits is 4, 8, 16 or 32. A word holds consecutive gaps of one lane,
 * and the words of all lanes lie side by side, so that a vector of lanes loads them together. */
MACKO_INLINE uint32_t macko_slice_gap(const uint32_t *gaps, int gap_bits, int64_t k, int lane)
{
  uint32_t word = gaps[k * gap_bits / 32 * MACKO_SLICE_ROWS + lane];
  return (word >> (k * gap_bits % 32) & (0xffffffffu >> (32 - gap_bits))) + 1;
}

/* Gives the slot of step s of a lane, in elements of the value stream; `values` is the start in the slice's header. Elements
 * narrower than a word share the word of their lane. */
MACKO_INLINE int64_t macko_slice_slot(uint32_t values, int element_bytes, int64_t s, int lane)
{
  int per = element_bytes < 4 ? 4 / element_bytes : 1;
  int64_t start = (int64_t)values * (MACKO_VALUE_UNIT / element_bytes);
  return start + (s / per * MACKO_SLICE_ROWS + lane) * per + s % per;
}

/* Gives the units of MACKO_VALUE_UNIT that the values of a slice take; a stencil has its values in its block. */
MACKO_INLINE int64_t macko_slice_value_units(const macko_slice *s, int element_bytes)
{
  return s->stencil ? 0 : ((int64_t)s->steps * element_bytes + 3) / 4;
}

/* Gives step k of a masked slice. */
MACKO_INLINE macko_masked_step macko_masked_at(const macko_slice *s, const uint32_t *blocks, int64_t k)
{
  const uint32_t *words = blocks + s->block + k * MACKO_MASKED_WORDS;
  const macko_masked_step step = {words[0], words[1]};
  return step;
}

/* Gives step k of a stencil. memcpy loads it, because the words need not be aligned in a file. */
MACKO_INLINE macko_stencil_step macko_stencil_at(const macko_slice *s, const uint32_t *blocks, int64_t k)
{
  macko_stencil_step step;
  memcpy(&step, blocks + s->block + k * MACKO_STENCIL_WORDS, sizeof step);
  return step;
}

#endif
