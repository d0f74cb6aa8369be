/* What lies where in the sections of format slide, for host and kernels (doc/formats/slide.md).
 *
 * A block is 2n columns of a row, from a multiple of 2n on; one that has entries is a cell. It is covered by n - 1 windows of
 * four columns, each two columns behind the one before, and each window has two slots for entries in it: 2n - 2 of the 2n columns
 * can have one. What a window holds is four bits: in which of its columns the first slot's entry is (bits 0 and 1) and the
 * second's (bits 2 and 3). Entries rise, so that equal columns say that the second slot is empty, and falling ones that both are.
 * The windows of a cell, lowest bits first, are its positions.
 *
 * Cells follow each other row by row, and 32 lanes take them in turn, `per` cells a lane: a tile is 32 per cells. Its values are
 * [window][lane][cell of the lane][slot], where per is such that a lane finds 16 bytes of every window side by side. */
#ifndef MACKO_SLIDE_LAYOUT_H
#define MACKO_SLIDE_LAYOUT_H

#include "core/inline.h"

#include <stdint.h>

enum {
  MACKO_SLIDE_LEAST = 2,       /* the least n: 2 of 4 columns */
  MACKO_SLIDE_MOST = 8,        /* the largest n: 14 of 16 columns, so that positions take 28 bits of a word */
  MACKO_SLIDE_LANES = 32,      /* lanes that take cells in turn: those of a warp */
  MACKO_SLIDE_PATTERNS = 256,  /* the most patterns in section "patterns" */
  MACKO_SLIDE_NOTHING = 3      /* the four bits of a window whose slots are both empty: columns 3 and 0, which fall */
};

/* These take positions apart: the four bits of window w; the column, from the window's first on, of a slot, 0 or 1; and whether
 * the slot has an entry. */
MACKO_INLINE int macko_slide_window(uint32_t positions, int w) { return (int)(positions >> 4 * w & 15); }
MACKO_INLINE int macko_slide_column(int window, int slot) { return window >> 2 * slot & 3; }
MACKO_INLINE int macko_slide_holds(int window, int slot)
{
  return slot ? (window & 3) < window >> 2 : (window & 3) <= window >> 2;
}

/* Gives the cells of a lane in a tile, for stored values of so many bytes: a window of them takes 16 bytes. */
MACKO_INLINE int macko_slide_per(int64_t bytes) { return (int)(8 / bytes); }

/* Gives the slots of so many cells: those of whole tiles. */
MACKO_INLINE int64_t macko_slide_slots(int n, int per, int64_t cells)
{
  const int64_t tile = MACKO_SLIDE_LANES * per;
  return (cells + tile - 1) / tile * tile * (2 * n - 2);
}

/* Gives where slot s of the windows of a cell, which has 2n - 2 of them, is in section "values". */
MACKO_INLINE int64_t macko_slide_slot(int n, int per, int64_t cell, int s)
{
  const int64_t tile = MACKO_SLIDE_LANES * per, at = cell % tile;
  return ((cell / tile * (n - 1) + s / 2) * MACKO_SLIDE_LANES + at % MACKO_SLIDE_LANES) * (2 * per) +
         at / MACKO_SLIDE_LANES * 2 + s % 2;
}

/* Gives the words of the codes of so many cells: a spare one is at the end, as two are read together. */
MACKO_INLINE int64_t macko_slide_words(int bits, int64_t cells) { return cells ? (cells * bits + 31) / 32 + 1 : 0; }

/* Gives the code of a cell, of at most 28 bits. */
MACKO_INLINE uint32_t macko_slide_code(const uint32_t *codes, int bits, int64_t cell)
{
  const int64_t at = cell * bits;
  const uint64_t two = codes[at / 32] | (uint64_t)codes[at / 32 + 1] << 32;
  return (uint32_t)(two >> at % 32) & ((1u << bits) - 1);
}

/* Packs the entries of a block, a bit each, window by window from the left: each takes the first two that lie in it and in none
 * before (SlideSparse, algorithm 2). Gives the positions and takes the entries out of *entries, where those stay that found no
 * room. */
MACKO_INLINE uint32_t macko_slide_pack(int n, uint32_t *entries)
{
  uint32_t positions = 0;
  for (int w = 0; w < n - 1; w++) {
    uint32_t in_window = *entries >> 2 * w & 15, first, second, window = MACKO_SLIDE_NOTHING;
    if (in_window) {
      first = (uint32_t)__builtin_ctz(in_window);
      in_window &= in_window - 1;
      second = in_window ? (uint32_t)__builtin_ctz(in_window) : first;
      window = first | second << 2;
      *entries &= ~((1u << first | 1u << second) << 2 * w);
    }
    positions |= window << 4 * w;
  }
  return positions;
}

#endif
