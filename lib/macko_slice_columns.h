/* Of macko_slice_kernel.h: columns of a block of steps at a time, so that the loads of x find their addresses ready in memory. */

/* Columns of steps from `from` on for all lanes; lanes without the step get column 0, which is there. *at holds each lane's
 * column of the step before `from` (its base column where from is 0). look: see how columns lie; a vector one of whose lanes
 * lacks a step counts as scattered. */
INLINE void NAME(columns_as)(const open_slice *o, int64_t from, int steps, int32_t *at, column_block *block, int listed,
                             int masked, int look)
{
  enum { GROUPS = MACKO_SLICE_ROWS / WIDTH, PART = GROUPS < 4 ? GROUPS : 4 };
  int bits = o->s.gap_bits;
  uint32_t mask = listed ? 0 : 0xffffffffu >> (32 - bits);
  for (int first = 0; first < GROUPS; first += PART) {
    NAME(u32) cols[PART], apart[PART];
    NAME(i32) same[PART];
#pragma GCC unroll 8
    for (int g = 0; g < PART; g++) {
      cols[g] = *(const NAME(u32_at) *)(at + (first + g) * WIDTH);
      apart[g] = cols[g] - cols[g][0], same[g] = ~(NAME(i32)){0};
    }
    for (int k = 0; k < steps; k++) {
      int64_t gap = from + k - 1;
      const uint32_t *words = o->gaps + gap * bits / 32 * MACKO_SLICE_ROWS + first * WIDTH;
      int shift = (int)(gap * bits % 32), walk = !listed && gap >= 0;
      uint32_t distance = listed && gap >= 0 ? o->gaps[gap] : 0;
      if (walk && shift == 0)
        for (int line = 0; line < PART * WIDTH / 16; line++)
          __builtin_prefetch((const char *)(words + line * 16) + PREFETCH_BYTES, 0, 2);
#pragma GCC unroll 8
      for (int g = 0; g < PART; g++) {
        NAME(u32) here;
        if (walk) cols[g] += (*(const NAME(u32_at) *)(words + g * WIDTH) >> shift & mask) + 1;
        here = listed ? cols[g] + distance : cols[g];
        if (masked) {
          NAME(i32) active = *(const NAME(i32_at) *)(o->lengths + (first + g) * WIDTH) > (int32_t)(from + k);
          here &= (NAME(u32))active, same[g] &= active;
        }
        *(NAME(u32_at) *)(block->cols + k * MACKO_SLICE_ROWS + (first + g) * WIDTH) = here;
        if (look) same[g] &= here - here[0] == apart[g];
      }
    }
#pragma GCC unroll 8
    for (int g = 0; g < PART; g++) {
      *(NAME(u32_at) *)(at + (first + g) * WIDTH) = cols[g];
      block->run[first + g] = look && NAME(all_lanes)(same[g]) ? NAME(how_apart)(apart[g]) : SCATTERED;
    }
  }
}

static __attribute__((noinline)) TARGET void NAME(columns)(const open_slice *o, int64_t from, int steps, int masked, int32_t *at,
                                                           column_block *block)
{
  switch ((o->s.gap_bits == 0) * 4 + masked * 2 + o->look) {
  case 0: NAME(columns_as)(o, from, steps, at, block, 0, 0, 0); break;
  case 1: NAME(columns_as)(o, from, steps, at, block, 0, 0, 1); break;
  case 2: NAME(columns_as)(o, from, steps, at, block, 0, 1, 0); break;
  case 3: NAME(columns_as)(o, from, steps, at, block, 0, 1, 1); break;
  case 4: NAME(columns_as)(o, from, steps, at, block, 1, 0, 0); break;
  case 5: NAME(columns_as)(o, from, steps, at, block, 1, 0, 1); break;
  case 6: NAME(columns_as)(o, from, steps, at, block, 1, 1, 0); break;
  default: NAME(columns_as)(o, from, steps, at, block, 1, 1, 1);
  }
}

/* Gaps of WIDTH joint codes, four bytes apart. */
INLINE void NAME(pair_gaps)(const uint32_t *gaps, const uint8_t *codes, NAME(u32) *to)
{
#define GAP(i) gaps[codes[4 * (i)]]
#if WIDTH == 8
  *to = (NAME(u32)){GAP(0), GAP(1), GAP(2), GAP(3), GAP(4), GAP(5), GAP(6), GAP(7)};
#elif WIDTH == 4
  *to = (NAME(u32)){GAP(0), GAP(1), GAP(2), GAP(3)};
#else
  *to = (NAME(u32)){GAP(0), GAP(1)};
#endif
#undef GAP
}

/* The same as columns, where the gaps are those of the codes. */
static __attribute__((noinline)) TARGET void NAME(pair_columns)(const open_slice *o, const slice_values *v, int64_t from,
                                                                int steps, int masked, int32_t *at, column_block *block)
{
  for (int first = 0; first < MACKO_SLICE_ROWS; first += WIDTH) {
    NAME(u32) cols = *(const NAME(u32_at) *)(at + first), gap, apart = {0}, here;
    NAME(i32) same = ~(NAME(i32)){0}, there;
    for (int k = 0; k < steps; k++) {
      const uint8_t *codes = (const uint8_t *)v->start + ((from + k) / 4 * MACKO_SLICE_ROWS + first) * 4 + (from + k) % 4;
      NAME(pair_gaps)(v->pair_gaps, codes, &gap);
      there = *(const NAME(i32_at) *)(o->lengths + first) > (int32_t)(from + k);
      cols += gap, here = masked ? cols & (NAME(u32))there : cols;
      *(NAME(u32_at) *)(block->cols + k * MACKO_SLICE_ROWS + first) = here;
      if (k == 0) apart = here - here[0];
      same &= here - here[0] == apart;
      if (masked) same &= there;
    }
    *(NAME(u32_at) *)(at + first) = cols;
    block->run[first / WIDTH] = o->look && NAME(all_lanes)(same) ? NAME(how_apart)(apart) : SCATTERED;
  }
}
