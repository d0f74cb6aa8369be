/* Layout slice: blocks of slices placed, equal ones once, and slices counted for planning. */
#include "macko/layouts.h"
#include "macko/slice_blocks.h"

#include <stdlib.h>
#include <string.h>

/* The table has at least two places a slice, so that probing ends soon and never fails to find a free one. */
macko_status macko_open_blocks(int64_t slices, macko_block_set *set, macko_error *err)
{
  uint64_t size = 64;
  while (size < 2 * (uint64_t)slices) size *= 2;
  *set = (macko_block_set){.table = calloc(size, sizeof *set->table), .mask = size - 1, .key = macko_new_hash_key()};
  if (set->table) return MACKO_OK;
  return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to compare the blocks of %lld slices", (long long)slices);
}

void macko_close_blocks(macko_block_set *set)
{
  free(set->table);
}

/* An equal block that starts where this one must not is no match: a stencil's block is aligned, another slice's need not be. */
uint32_t macko_place_block(macko_block_set *set, uint64_t hash, int64_t words, int align, const uint32_t *blocks, int *is_new)
{
  uint64_t at = macko_hash(set->key, hash) & set->mask;
  *is_new = 0;
  if (!words) return 0;
  for (; set->table[at].used; at = (at + 1) & set->mask) {
    macko_known_block *b = &set->table[at];
    if (b->hash == hash && b->words == words && b->start % (uint32_t)align == 0 &&
        (!blocks || !memcmp(blocks + b->start, set->block, (size_t)words * sizeof *blocks)))
      return b->start;
  }
  set->words = (set->words + align - 1) / align * align;
  set->table[at] = (macko_known_block){hash, (uint32_t)set->words, (uint32_t)words, 1};
  set->words += words;
  *is_new = 1;
  return set->table[at].start;
}

void macko_add_counts(macko_slice_facts *p, const macko_slice_facts *more)
{
  for (int e = 0; e < 4; e++) p->units[e] += more->units[e];
  p->stencils += more->stencils, p->masked += more->masked, p->streamed += more->streamed;
  p->stencil += more->stencil, p->uniform += more->uniform, p->run += more->run;
  p->listed += more->listed, p->walked += more->walked;
  p->paired += more->paired, p->run_paired += more->run_paired;
  if (more->longest > p->longest) p->longest = more->longest;
}

macko_status macko_check_facts(const macko_slice_facts *p, macko_error *err)
{
  if (p->block_words > UINT32_MAX || p->units[3] > UINT32_MAX)
    return macko_fail(err, MACKO_LIMIT, "layout slice holds %u words of gaps and value units, not %lld and %lld", UINT32_MAX,
                      (long long)p->block_words, (long long)p->units[3]);
  return MACKO_OK;
}
