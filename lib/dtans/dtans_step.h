/* One step of CSR-dtANS decoding (arXiv 2603.01915, section IV): plain arithmetic on one lane, shared by every decoder. */
#ifndef MACKO_DTANS_STEP_H
#define MACKO_DTANS_STEP_H

#include "core/hash.h"

#include <stdint.h>

#if defined(__CUDACC__)
#define MACKO_DTANS_INLINE static __host__ __device__ __forceinline__
#else
#define MACKO_DTANS_INLINE static inline __attribute__((always_inline))
#endif

enum {
  MACKO_DTANS_SLOTS = 4096,  /* K: slots of a table; a slot number takes 12 bits */
  MACKO_DTANS_SEGMENT = 8,   /* slots that are unpacked together */
  MACKO_DTANS_WORDS = 3,     /* 32-bit words that hold them */
  MACKO_DTANS_LANES = 32,    /* lanes of a slice, decoded in lockstep */
  MACKO_DTANS_MAX_ROWS = 32, /* rows a lane */
  MACKO_DTANS_DOMAINS = 2
};

/* The most entries that are counted on a device: of a matrix while it is encoded, of a lane when it is multiplied. */
enum { MACKO_DTANS_DEVICE_ENTRIES = INT32_MAX - MACKO_DTANS_SEGMENT };

/* How one stream is coded. It is a constant where a decoder has to be fast. */
typedef struct {
  int domains;       /* symbols an entry: 2 (gap, then value) in the paper's variant, else 1 */
  int groups;        /* f: words of a segment that may come from digits: 2 (M = 256) or 3 (M = 1024) */
  int short_tail;    /* the last segment of a lane takes only the words that its entries need */
  int gap_words[2];  /* raw words of an escape, by domain: those of the gap come first */
  int value_words[2];
} macko_dtans_coding;

/* ---- symbols ---- */

/* What a table codes: a gap, a value's bits, or both. The part that a table does not code is 0. */
typedef struct {
  uint64_t value;
  uint32_t gap;
} macko_dtans_symbol;

/* What the symbols of a domain are made of. */
typedef enum { MACKO_DTANS_GAPS = 1, MACKO_DTANS_VALUES = 2, MACKO_DTANS_PAIRS = 3 } macko_dtans_part;

/* A symbol and how often it occurs. */
typedef struct {
  macko_dtans_symbol symbol;
  int64_t count;
} macko_dtans_count;

/* Tells whether two symbols are the same one. */
MACKO_DTANS_INLINE int macko_dtans_same(macko_dtans_symbol a, macko_dtans_symbol b)
{
  return a.value == b.value && a.gap == b.gap;
}

/* Returns a hash of a symbol. The gap is multiplied before it is added, as sums of values and small gaps would often be the
 * same. */
MACKO_DTANS_INLINE uint64_t macko_dtans_hash(macko_hash_key key, macko_dtans_symbol s)
{
  return macko_hash(key, s.value + s.gap * key.factor);
}

/* Returns how many different symbols are counted in a matrix of that many entries before the rarest are forgotten: a tenth of
 * them, within limits. Memory is in proportion. */
MACKO_DTANS_INLINE int64_t macko_dtans_distinct(int64_t nonzeros)
{
  int64_t distinct = 1 << 15;
  while (distinct < 1 << 17 && distinct < nonzeros / 10) distinct *= 2;
  return distinct;
}

/* Tells whether a symbol is counted even where the rarest are forgotten: each time that one is, more than half of all that are
 * held lose one occurrence, so that it has at most nonzeros / (distinct / 2) of them. */
MACKO_DTANS_INLINE int macko_dtans_frequent(int64_t count, int64_t nonzeros)
{
  return count > nonzeros / (macko_dtans_distinct(nonzeros) / 2);
}

/* Returns the number of a symbol by an index of a table's symbols, a hash table whose elements are a number + 1, or 0 where free;
 * the escape's number where the symbol is not there. */
MACKO_DTANS_INLINE unsigned macko_dtans_find_number(const uint16_t *index, int mask, macko_hash_key key,
                                                    const macko_dtans_symbol *symbols, int escape, macko_dtans_symbol s)
{
  for (unsigned i = (unsigned)macko_dtans_hash(key, s) & mask; index[i]; i = (i + 1) & mask)
    if (macko_dtans_same(symbols[index[i] - 1], s)) return index[i] - 1u;
  return (unsigned)escape;
}

/* ---- coding ---- */

/* The decoder's state of a lane: three words of packed slots, and the number d < r that returned digits have built up. */
typedef struct {
  uint32_t words[MACKO_DTANS_WORDS], d, r;
} macko_dtans_lane;

/* Returns slot k of a segment: slot 0 is in the lowest bits, and a slot may lie in two words. */
MACKO_DTANS_INLINE unsigned macko_dtans_slot(const uint32_t words[MACKO_DTANS_WORDS], int k)
{
  int word = 12 * k >> 5, shift = 12 * k & 31;
  uint32_t bits = words[word] >> shift;
  if (shift > 20) bits |= words[word + 1] << (32 - shift);
  return bits & (MACKO_DTANS_SLOTS - 1);
}

/* Returns one past the last slot whose digits are returned before check g. */
MACKO_DTANS_INLINE int macko_dtans_group_end(int groups, int g)
{
  return g + 1 == groups ? MACKO_DTANS_SEGMENT : groups == 2 ? 4 * (g + 1) : 3 * (g + 1);
}

/* Returns the entries of a segment. */
MACKO_DTANS_INLINE int macko_dtans_per_segment(const macko_dtans_coding *c)
{
  return MACKO_DTANS_SEGMENT / c->domains;
}

/* Returns the segments of a lane with that many entries. */
MACKO_DTANS_INLINE int64_t macko_dtans_segments(const macko_dtans_coding *c, int64_t nonzeros)
{
  return (nonzeros + macko_dtans_per_segment(c) - 1) / macko_dtans_per_segment(c);
}

/* Returns the words of segment j of a lane with that many entries; 0 past its end. */
MACKO_DTANS_INLINE int macko_dtans_words(const macko_dtans_coding *c, int64_t nonzeros, int64_t j)
{
  int64_t left = nonzeros - j * macko_dtans_per_segment(c);
  if (left <= 0) return 0;
  if (!c->short_tail || left >= macko_dtans_per_segment(c)) return MACKO_DTANS_WORDS;
  return (12 * c->domains * (int)left + 31) / 32;
}

/* Returns a group's digits, D < B, to the lane. With 1, *word has been extracted from them; with 0 it must be loaded. B is at
 * most 2^32, as 256^4 is and 1024^3 is less, so that r * B fits 64 bits. */
MACKO_DTANS_INLINE int macko_dtans_return(macko_dtans_lane *lane, uint64_t D, uint64_t B, uint32_t *word)
{
  uint64_t d = lane->d * B + D, r = lane->r * B;
  int extracted = r >> 32 != 0;
  if (extracted) *word = (uint32_t)d, d >>= 32, r >>= 32;
  lane->d = (uint32_t)d, lane->r = (uint32_t)r;
  return extracted;
}

/* Returns the code of a row's first gap where it is taken from the diagonal: its sign goes to the lowest bit. */
MACKO_DTANS_INLINE uint32_t macko_dtans_zigzag(int64_t offset)
{
  return (uint32_t)(offset >= 0 ? offset << 1 : -offset * 2 - 1);
}

/* Returns the gap of such a code. */
MACKO_DTANS_INLINE int64_t macko_dtans_unzigzag(uint32_t gap)
{
  return gap & 1 ? -(int64_t)(gap >> 1) - 1 : (int64_t)(gap >> 1);
}

#endif
