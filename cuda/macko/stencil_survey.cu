/* What the stencils of a matrix have in common: their entries in one table, and for each lane which of them it has. Equal blocks
 * are stored once, so that a grid of millions of rows has a few hundred, which is what makes this cheap. */
#include "core/warp.cuh"
#include "macko/slice.cuh"

#include <string.h>

/* Threads of the kernels here; places that are looked at before room in the set is given up. */
enum { SURVEY_THREADS = 1024, PROBES = 64 };

/* This is a block as the set of them has it: its number of steps, which files of others may have different of slices that begin at
 * the same one, above where it begins in section "blocks". None is EMPTY. */
typedef unsigned long long block_key;
static const block_key EMPTY = ~0ull;

/* What a survey finds besides the table: 1 for more blocks than the set holds, so that each slice gets masks of its own, and for
 * more entries than the table holds, so that there is none. */
struct survey_limits {
  int blocks, entries;
};

/* This is a survey under way, in device memory. */
struct survey {
  stencil_place *places;
  uint32_t *masks;   /* of each place of the set; while the table is made, a word for each entry: the lanes that have it */
  block_key *blocks; /* the set of the blocks of stencils, each of them or EMPTY */
  stencil_table *table;
  survey_limits *beyond;
  int sets;          /* places of the set, a power of two */
};

/* Finds the place of a block in the set, and puts it there if it is new; NO_STENCIL if it has no room. */
static __device__ int find_block(const survey &v, block_key block)
{
  unsigned place = (unsigned)(block * 0x9e3779b97f4a7c15ull >> 32);
  for (int i = 0; i < PROBES; i++, place++) {
    block_key *at = v.blocks + (place & (v.sets - 1)), there = *(volatile block_key *)at;
    if (there == EMPTY) there = atomicCAS(at, EMPTY, block);
    if (there == EMPTY || there == block) return (int)(place & (v.sets - 1));
  }
  return NO_STENCIL;
}

/* Writes the place of each slice, a thread a slice, and makes the set of their blocks. */
static __global__ void __launch_bounds__(SURVEY_THREADS) find_blocks_kernel(slices a, survey v)
{
  const int64_t slice = (int64_t)blockIdx.x * SURVEY_THREADS + threadIdx.x;
  if (slice >= a.count) return;
  const macko_slice s = load_header(a.headers, slice);
  stencil_place place = {NO_STENCIL, s.base};
  if (s.stencil) {
    const int at = find_block(v, (block_key)s.steps << 32 | s.block);
    if (at == NO_STENCIL) v.beyond->blocks = 1;
    else place.masks = at * STENCIL_ENTRIES;
  }
  v.places[slice] = place;
}

/* This is a step of a stencil without its mask, in the order of the table. */
struct entry {
  int distance;
  uint64_t bits;
};
static __device__ __forceinline__ entry entry_of(uint4 step)
{
  return {(int)step.x, (uint64_t)step.w << 32 | step.z};
}
static __device__ __forceinline__ bool comes_before(const entry &a, const entry &b)
{
  return a.distance < b.distance || (a.distance == b.distance && a.bits < b.bits);
}

/* Makes the table by one block of threads, which take the blocks of the set in turns, as their steps rise by distance: the
 * smallest entry that a thread has come to is the next of the table. Masks get the lanes of each. */
static __global__ void __launch_bounds__(SURVEY_THREADS) table_kernel(slices a, survey v, int type)
{
  enum { EACH = STENCIL_SETS / SURVEY_THREADS };
  __shared__ int distance;
  __shared__ unsigned long long bits;
  const entry none = {INT32_MAX, UINT64_MAX};
  uint32_t at[EACH] = {};
  for (int count = 0;; count++) {
    entry first = none, mine[EACH];
    if (threadIdx.x == 0) distance = none.distance, bits = none.bits;
    __syncthreads();
    for (int i = 0; i < EACH; i++) {
      const int set = i * SURVEY_THREADS + (int)threadIdx.x;
      const int there = set < v.sets && v.blocks[set] != EMPTY && at[i] < v.blocks[set] >> 32;
      mine[i] = there ? entry_of(__ldg((const uint4 *)(a.blocks + (uint32_t)v.blocks[set]) + at[i])) : none;
      if (comes_before(mine[i], first)) first = mine[i];
    }
    if (first.distance != none.distance) atomicMin(&distance, first.distance);
    __syncthreads();
    if (first.distance == distance) atomicMin(&bits, (unsigned long long)first.bits);
    __syncthreads();
    const entry next = {distance, bits};
    __syncthreads(); /* before both begin anew */
    if (next.distance == none.distance || count == STENCIL_ENTRIES) {
      if (threadIdx.x == 0) v.table->count = count;
      if (threadIdx.x == 0 && next.distance != none.distance) v.beyond->entries = 1;
      return;
    }
    for (int i = 0; i < EACH; i++) {
      const int set = i * SURVEY_THREADS + (int)threadIdx.x;
      if (set >= v.sets || v.blocks[set] == EMPTY) continue;
      const int has = mine[i].distance == next.distance && mine[i].bits == next.bits;
      const uint4 step = has ? __ldg((const uint4 *)(a.blocks + (uint32_t)v.blocks[set]) + at[i]) : make_uint4(0, 0, 0, 0);
      v.masks[set * STENCIL_ENTRIES + count] = step.y, at[i] += has;
      if (has) v.table->distance[count] = next.distance, v.table->value[count] = stencil_value<MACKO_ANY>(type, step);
    }
  }
}

/* Gives the word of entries of the calling lane of a warp, whose lanes have a word of lanes an entry. */
static __device__ __forceinline__ uint32_t turn_words(uint32_t word)
{
  const int lane = threadIdx.x % WARP;
  uint32_t mine = 0;
  for (int l = 0; l < MACKO_SLICE_ROWS; l++) {
    const uint32_t entries = __ballot_sync(EVERY, word >> l & 1);
    if (l == lane) mine = entries;
  }
  return mine;
}

/* Turns the masks of each place of the set, a warp a word of a lane. */
static __global__ void __launch_bounds__(SURVEY_THREADS) turn_masks_kernel(survey v)
{
  const int word = (int)(blockIdx.x * SURVEY_THREADS + threadIdx.x) / WARP, lane = threadIdx.x % WARP;
  if (word >= v.sets * STENCIL_WORDS) return;
  uint32_t *masks = v.masks + word * WARP + lane;
  *masks = turn_words(*masks);
}

/* Writes masks of so many words of its own for each slice, a warp each, from the table that the blocks in the set made; what that
 * lacks counts as an entry too many. Each lane compares a step with entry `lane` of the table, and with every 32nd behind it. */
static __global__ void __launch_bounds__(SURVEY_THREADS) own_masks_kernel(slices a, survey v, int type, uint32_t *masks, int words)
{
  const int64_t slice = ((int64_t)blockIdx.x * SURVEY_THREADS + threadIdx.x) / WARP;
  const int lane = threadIdx.x % WARP;
  if (slice >= a.count) return;
  const macko_slice s = load_header(a.headers, slice);
  if (!s.stencil) return;
  uint32_t lanes[STENCIL_WORDS] = {};
  for (int k = 0; k < (int)s.steps; k++) {
    const uint4 step = __ldg((const uint4 *)(a.blocks + s.block) + k);
    const long long value = __double_as_longlong(stencil_value<MACKO_ANY>(type, step));
    int found = 0;
#pragma unroll
    for (int w = 0; w < STENCIL_WORDS; w++) {
      const int e = w * WARP + lane;
      if (e >= v.table->count || v.table->distance[e] != (int)step.x || __double_as_longlong(v.table->value[e]) != value) continue;
      lanes[w] = step.y, found = 1;
    }
    if (!__any_sync(EVERY, found) && lane == 0) v.beyond->entries = 1;
  }
  const int first = (int)(slice * words * MACKO_SLICE_ROWS);
#pragma unroll
  for (int w = 0; w < STENCIL_WORDS; w++)
    if (w < words) masks[first + w * MACKO_SLICE_ROWS + lane] = turn_words(lanes[w]);
  if (lane == 0) v.places[slice].masks = first;
}

/* Gives the parts of so many bytes of memory for `count` slices; with memory NULL their number of bytes alone. */
static survey parts_of(void *memory, int64_t count, int64_t *bytes)
{
  survey v = {};
  char *at = (char *)memory;
  for (v.sets = WARP; v.sets < STENCIL_SETS && v.sets < 2 * count; v.sets *= 2) {}
  v.table = (stencil_table *)at, at += sizeof *v.table;
  v.beyond = (survey_limits *)at, at += sizeof *v.beyond;
  v.blocks = (block_key *)at, at += (int64_t)v.sets * sizeof *v.blocks;
  v.places = (stencil_place *)at, at += count * sizeof *v.places;
  v.masks = (uint32_t *)at, at += (int64_t)v.sets * STENCIL_ENTRIES * sizeof *v.masks;
  *bytes = at - (char *)memory;
  return v;
}

/* Does it, all of which is queued on the stream. */
static cudaError_t survey_stencils(const slices &a, const survey &v, int type, cudaStream_t stream)
{
  const unsigned per_slice = (unsigned)((a.count + SURVEY_THREADS - 1) / SURVEY_THREADS);
  const unsigned per_word = (unsigned)((v.sets * STENCIL_ENTRIES + SURVEY_THREADS - 1) / SURVEY_THREADS);
  cudaError_t error = cudaMemsetAsync(v.table, 0, sizeof *v.table + sizeof *v.beyond, stream);
  if (!error) error = cudaMemsetAsync(v.masks, 0, (size_t)v.sets * STENCIL_ENTRIES * sizeof *v.masks, stream);
  if (!error) error = cudaMemsetAsync(v.blocks, 0xff, (size_t)v.sets * sizeof *v.blocks, stream);
  if (!error) error = launch(find_blocks_kernel, per_slice, SURVEY_THREADS, 0, stream, a, v);
  if (!error) error = launch(table_kernel, 1, SURVEY_THREADS, 0, stream, a, v, type);
  return error ? error : launch(turn_masks_kernel, per_word, SURVEY_THREADS, 0, stream, v);
}

/* Waits for what is beyond limits. */
static cudaError_t fetch_limits(const survey &v, survey_limits *beyond, cudaStream_t stream)
{
  cudaError_t error = cudaMemcpyAsync(beyond, v.beyond, sizeof *beyond, cudaMemcpyDeviceToHost, stream);
  return error ? error : cudaStreamSynchronize(stream);
}

/* Gives each slice masks of its own, for which memory is taken once; entries count as too many where it has no room then. */
static macko_status give_own_masks(macko_device_matrix *d, const slices &a, const survey &v, device_stencils *t,
                                   survey_limits *beyond, cudaStream_t stream, macko_error *err)
{
  const int words = (t->table.count + WARP - 1) / WARP;
  const int64_t bytes = a.count * words * MACKO_SLICE_ROWS * (int64_t)sizeof *t->masks;
  const unsigned blocks = (unsigned)((a.count * WARP + SURVEY_THREADS - 1) / SURVEY_THREADS);
  beyond->entries = a.count > INT32_MAX / (words * MACKO_SLICE_ROWS) || (t->own_masks && words > t->own_words);
  if (beyond->entries) return MACKO_OK;
  if (!t->own_masks) {
    macko_status s = macko_device_alloc(bytes, "the masks of stencils", &t->own_masks, err);
    if (s) return s;
    d->own_bytes += bytes, t->own_words = words;
  }
  t->masks = (const uint32_t *)t->own_masks;
  cudaError_t error = launch(own_masks_kernel, blocks, SURVEY_THREADS, 0, stream, a, v, d->m.value_type, (uint32_t *)t->own_masks,
                             words);
  if (!error) error = fetch_limits(v, beyond, stream);
  return macko_cuda_status(error, "looking for the masks of stencils", err);
}

/* Makes *t by a survey in its memory. */
static macko_status make_table(macko_device_matrix *d, device_stencils *t, cudaStream_t stream, macko_error *err)
{
  const slices a = slices_of(d);
  int64_t bytes;
  survey_limits beyond = {};
  macko_status s = MACKO_OK;
  parts_of(NULL, a.count, &bytes);
  if (!t->memory) {
    if ((s = macko_device_alloc(bytes, "the entries of stencils", &t->memory, err))) return s;
    d->own_bytes += bytes;
  }
  const survey v = parts_of(t->memory, a.count, &bytes);
  t->places = v.places, t->masks = v.masks;
  cudaError_t error = survey_stencils(a, v, d->m.value_type, stream);
  if (!error) error = cudaMemcpyAsync(&t->table, v.table, sizeof t->table, cudaMemcpyDeviceToHost, stream);
  if (!error) error = fetch_limits(v, &beyond, stream);
  if (error) return macko_cuda_status(error, "looking for what stencils have in common", err);
  /* All slices go through the whole table, also where each has but a few of its entries. */
  if (t->table.count > WARP && t->table.count > 2 * ((const device_macko *)d->own)->longest) beyond.entries = 1;
  if (beyond.blocks && !beyond.entries && t->table.count) s = give_own_masks(d, a, v, t, &beyond, stream, err);
  if (s || beyond.entries) memset(&t->table, 0, sizeof t->table);
  return s;
}

macko_status macko_prepare_stencils(macko_device_matrix *d, device_stencils *t, cudaStream_t stream, macko_error *err)
{
  const stencil_table before = t->table;
  const uint32_t *masks = t->masks;
  macko_status s = MACKO_OK;
  memset(&t->table, 0, sizeof t->table);
  if (macko_params_of(&d->m.plan)->slice.stencils > 0) s = make_table(d, t, stream, err);
  if (memcmp(&before, &t->table, sizeof before) || masks != t->masks) d->by_value++;
  return s;
}
