/* Where the blocks of slices go, equal ones once: what lib/macko/slice_blocks.c does slice by slice, for all of them at once. A
 * slice gets the block of the first one whose block has the same hash; blocks of first ones follow each other. */
#include "core/sums.cuh"
#include "macko/slice_rows.cuh"

/* ---- the first of equal blocks ---- */

/* Marks a free place of the table. */
static const unsigned long long FREE = ~0ull;

/* Gives what a block is known by: its hash and its length in one number. */
static __device__ unsigned long long block_number(const macko_slice_record &r)
{
  unsigned long long number = macko_mix(r.hash ^ (uint64_t)r.words << 32);
  return number == FREE ? 0 : number;
}

/* Finds or takes the place of each slice's block in the table, and notes there the first slice that has it. What is read without
 * an atomic may be old; it is at worst a free place or a later slice, of which the atomic then tells better. */
static __global__ void find_kernel(macko_device_slices all, macko_slice_table t)
{
  int64_t slice = thread_number();
  if (slice >= all.slices || !all.records[slice].words) return;
  unsigned long long number = block_number(all.records[slice]);
  uint64_t at = macko_hash(t.key, number) & t.mask;
  for (;; at = (at + 1) & t.mask) {
    unsigned long long seen = t.numbers[at];
    if (seen == FREE) seen = atomicCAS(&t.numbers[at], FREE, number);
    if (seen == FREE || seen == number) break;
  }
  t.found[slice] = (uint32_t)at;
  if (t.first[at] > slice) atomicMin(&t.first[at], (uint32_t)slice);
}

/* Gives the first slice that has the block of this one, which is itself where it has no block. */
static __device__ int64_t first_with_block(const macko_slice_table &t, int64_t slice, uint32_t words)
{
  return words ? t.first[t.found[slice]] : slice;
}

/* ---- where they begin ---- */

/* Gives words[i] by comparisons, so that all four can stay in registers. */
static __device__ __forceinline__ int64_t of_rest(const macko_slice_growth &g, int64_t i)
{
  return i == 0 ? g.words[0] : i == 1 ? g.words[1] : i == 2 ? g.words[2] : g.words[3];
}

/* Gives the growth by some slices and then by others. */
static __device__ __forceinline__ macko_slice_growth operator+(const macko_slice_growth &before, const macko_slice_growth &after)
{
  macko_slice_growth g;
  for (int rest = 0; rest < MACKO_STENCIL_WORDS; rest++)
    g.words[rest] = before.words[rest] + of_rest(after, (rest + before.words[rest]) % MACKO_STENCIL_WORDS);
  return g;
}

static __device__ __forceinline__ macko_slice_growth of_lane_before(macko_slice_growth g, int far)
{
  macko_slice_growth before;
  for (int rest = 0; rest < MACKO_STENCIL_WORDS; rest++) before.words[rest] = __shfl_up_sync(EVERY, g.words[rest], far);
  return before;
}

/* Gives the growth by one slice, whose block begins at a multiple of `align` words if it is the first of its kind. */
static __device__ macko_slice_growth growth_by(const macko_slice_record &r, int align, bool is_new)
{
  macko_slice_growth g = {};
  for (int rest = 0; is_new && rest < MACKO_STENCIL_WORDS; rest++) g.words[rest] = r.words + (align - rest % align) % align;
  return g;
}

/* Adds a number of every lane of the warp to a total. */
static __device__ void add_to(int64_t *total, int64_t mine)
{
  mine = sum_of_lanes(mine, WARP);
  if (lane_number() == 0 && mine) atomicAdd((unsigned long long *)total, (unsigned long long)mine);
}

/* Does so for all counts, of which block words and pairs are found elsewhere. */
static __device__ void add_facts(macko_slice_facts *to, const macko_slice_facts &mine)
{
  for (int e = 0; e < 4; e++) add_to(&to->units[e], mine.units[e]);
  add_to(&to->stencils, mine.stencils), add_to(&to->masked, mine.masked), add_to(&to->streamed, mine.streamed);
  add_to(&to->stencil, mine.stencil), add_to(&to->uniform, mine.uniform), add_to(&to->run, mine.run);
  add_to(&to->listed, mine.listed), add_to(&to->walked, mine.walked);
  add_to(&to->paired, mine.paired), add_to(&to->run_paired, mine.run_paired);
  int longest = __reduce_max_sync(EVERY, (int)mine.longest);
  if (lane_number() == 0 && longest) atomicMax((unsigned long long *)&to->longest, (unsigned long long)longest);
}

/* Counts slices, and says how each makes section "blocks" grow. */
static __global__ void grow_kernel(macko_device_slices all, int64_t nrows, macko_slice_table t, macko_slice_answer *answer)
{
  int64_t slice = thread_number(), rows = nrows - slice * MACKO_SLICE_ROWS;
  macko_slice_facts mine = {};
  if (slice < all.slices) {
    const macko_slice_record r = all.records[slice];
    const macko_slice s = macko_slice_of_info(r.info);
    const int64_t first = first_with_block(t, slice, r.words);
    if (macko_slice_of_info(all.records[first].info).stencil != s.stencil) answer->mixed = 1;
    macko_count_slice(&mine, &s, rows < MACKO_SLICE_ROWS ? (int)rows : MACKO_SLICE_ROWS, r.in_line, r.entries);
    t.growth[slice] = growth_by(r, macko_block_align(&s), r.words && first == slice);
  }
  add_facts(&answer->facts, mine);
}

/* Says where each block is: growth is up to and including each slice by now, from nothing. */
static __global__ void place_kernel(macko_device_slices all, macko_slice_table t, macko_slice_answer *answer)
{
  int64_t slice = thread_number();
  if (slice >= all.slices) return;
  const uint32_t words = all.records[slice].words;
  const int64_t first = first_with_block(t, slice, words);
  all.places[slice] = macko_slice_place{words ? (uint32_t)(t.growth[first].words[0] - words) : 0, words && first == slice};
  if (slice == all.slices - 1) answer->facts.block_words = t.growth[slice].words[0];
}

extern "C" int64_t macko_slice_sums(int64_t slices)
{
  return slices + sum_room(slices);
}

extern "C" cudaError_t macko_place_slices(const macko_device_slices *s, int64_t nrows, const macko_slice_table *t,
                                          macko_slice_answer *answer, cudaStream_t stream)
{
  const unsigned blocks = blocks_for(s->slices);
  cudaError_t error = cudaMemsetAsync(answer, 0, sizeof *answer, stream);
  if (!error) error = cudaMemsetAsync(t->numbers, 0xff, (t->mask + 1) * sizeof *t->numbers, stream);
  if (!error) error = cudaMemsetAsync(t->first, 0xff, (t->mask + 1) * sizeof *t->first, stream);
  if (!error) error = launch(find_kernel, blocks, ENCODE_THREADS, 0, stream, *s, *t);
  if (!error) error = launch(grow_kernel, blocks, ENCODE_THREADS, 0, stream, *s, nrows, *t, answer);
  if (!error) error = sum_up(t->growth, s->slices, t->growth + s->slices, stream);
  return error ? error : launch(place_kernel, blocks, ENCODE_THREADS, 0, stream, *s, *t, answer);
}

/* ---- where values begin ---- */

/* Writes the units of values of each slice, for elements of so many bytes. */
static __global__ void units_kernel(const uint32_t *headers, int64_t slices, int size, uint32_t *units)
{
  int64_t slice = thread_number();
  if (slice >= slices) return;
  const macko_slice s = macko_slice_at(headers, slice);
  units[slice] = (uint32_t)macko_slice_value_units(&s, size);
}

/* Changes word 0 of each header to the sum of those before it; ends are the sums up to and including each. */
static __global__ void move_kernel(uint32_t *headers, const uint32_t *ends, int64_t slices)
{
  int64_t slice = thread_number();
  if (slice < slices) headers[slice * MACKO_SLICE_WORDS] = slice ? ends[slice - 1] : 0;
}

extern "C" cudaError_t macko_move_slices(uint32_t *headers, int64_t slices, int size, uint32_t *room, cudaStream_t stream)
{
  const unsigned blocks = blocks_for(slices);
  cudaError_t error = launch(units_kernel, blocks, ENCODE_THREADS, 0, stream, headers, slices, size, room);
  if (!error) error = sum_up(room, slices, room + slices, stream);
  return error ? error : launch(move_kernel, blocks, ENCODE_THREADS, 0, stream, headers, room, slices);
}
