/* Layout slice from a csr in device memory: a warp describes a slice and writes its block to an arena, equal blocks are placed
 * once (slice_places.cu), and a warp writes header and block. The rules are those of lib/macko/slice.c and
 * lib/macko/slice_stencil.c. */
#include "core/cub.cuh"
#include "macko/slice_rows.cuh"

#include <cub/block/block_radix_sort.cuh>

/* ---- the order of rows ---- */

/* A block of threads sorts a window, each of them some rows side by side. */
enum { SORT_THREADS = 1024, ROWS_A_THREAD = MACKO_SLICE_WINDOW / SORT_THREADS };
typedef cub::BlockRadixSort<uint32_t, SORT_THREADS, ROWS_A_THREAD, uint16_t> window_sort;

/* Gives the greatest of what the threads of a block have, for all of them. */
static __device__ uint32_t greatest_of_block(uint32_t mine)
{
  __shared__ uint32_t of_warps[WARP];
  mine = __reduce_max_sync(EVERY, mine);
  if (lane_number() == 0) of_warps[threadIdx.x / WARP] = mine;
  __syncthreads();
  return __reduce_max_sync(EVERY, of_warps[lane_number()]);
}

/* Sorts a window by falling length; rows of equal length stay in their order. What is sorted is what a row lacks of the longest
 * one, of which few bits differ in most matrices; places that have no row come last. */
static __global__ void __launch_bounds__(SORT_THREADS) sort_kernel(macko_device_csr a, uint16_t *order)
{
  __shared__ window_sort::TempStorage storage;
  const int64_t start = (int64_t)blockIdx.x * MACKO_SLICE_WINDOW;
  const int count = (int)min((int64_t)MACKO_SLICE_WINDOW, a.nrows - start), first = (int)threadIdx.x * ROWS_A_THREAD;
  uint32_t lacks[ROWS_A_THREAD], longest = 0;
  uint16_t rows[ROWS_A_THREAD];
  for (int i = 0; i < ROWS_A_THREAD; i++) {
    const int row = first + i;
    lacks[i] = row < count ? (uint32_t)(row_start(a, start + row + 1) - row_start(a, start + row)) : 0;
    longest = max(longest, lacks[i]);
    rows[i] = (uint16_t)row;
  }
  longest = greatest_of_block(longest);
  for (int i = 0; i < ROWS_A_THREAD; i++) lacks[i] = first + i < count ? longest - lacks[i] : longest + 1;
  window_sort(storage).Sort(lacks, rows, 0, 32 - __clz(longest + 1));
  for (int i = 0; i < ROWS_A_THREAD; i++)
    if (first + i < count) order[start + first + i] = rows[i];
}

extern "C" cudaError_t macko_sort_windows(const macko_device_csr *a, uint16_t *order, cudaStream_t stream)
{
  unsigned windows = (unsigned)((a->nrows + MACKO_SLICE_WINDOW - 1) / MACKO_SLICE_WINDOW);
  return launch(sort_kernel, windows, SORT_THREADS, 0, stream, *a, order);
}

/* ---- warps that look at a slice together ---- */

/* Few slices of long rows would leave most of the GPU idle with a warp a slice: a block takes one there. A lane loads AHEAD columns
 * before it looks at the first; so many gaps fill whole words, however wide they are. */
enum { ONE = 1, ALL_WARPS = 32, LONG_ROW = 512, AHEAD = 8 };

/* Gives the number of a warp among those that look at one slice. */
template <int WARPS> static __device__ __forceinline__ int warp_of_slice()
{
  return WARPS == ONE ? 0 : (int)threadIdx.x / WARP;
}

/* Gives the bits of all lanes of the slice's warps, or-ed together; all of them take part. */
template <int WARPS> static __device__ uint32_t or_of(uint32_t bits)
{
  __shared__ uint32_t of_warps[WARPS];
  bits = __reduce_or_sync(EVERY, bits);
  if (WARPS == ONE) return bits;
  __syncthreads();
  of_warps[warp_of_slice<WARPS>()] = bits;
  __syncthreads();
  return __reduce_or_sync(EVERY, of_warps[lane_number() % WARPS]);
}

/* Gives the sum over all lanes of the slice's warps. */
template <int WARPS> static __device__ uint64_t sum_of(uint64_t n)
{
  __shared__ uint64_t of_warps[WARPS];
  n = sum_of_lanes(n, WARP);
  if (WARPS == ONE) return n;
  __syncthreads();
  of_warps[warp_of_slice<WARPS>()] = n;
  __syncthreads();
  return sum_of_lanes(of_warps[lane_number() % WARPS], WARP);
}

/* Gives the number that the first lane of the first warp has, for all lanes. */
template <int WARPS> static __device__ unsigned long long first_of(unsigned long long n)
{
  if (WARPS == ONE) return __shfl_sync(EVERY, n, 0);
  return sum_of<WARPS>(lane_number() || warp_of_slice<WARPS>() ? 0 : n);
}

/* ---- stencils ---- */

/* Makes *s and steps the stencil of the warp's rows, if they are one: lanes go through their rows side by side, and the
 * smallest distance that any of them is at is the next step. It gives up where values at one distance differ, or where
 * distances are so many that a stencil would not pay. */
static __device__ bool find_stencil(const macko_device_csr &a, const lane_row &r, int64_t first_row, macko_stencil_step *steps,
                                    macko_slice *s)
{
  uint32_t count = 0, limit = s->steps + s->steps / 2 + 1;
  if (s->steps == 0 || s->steps > MACKO_STENCIL_MAX_STEPS) return false;
  for (int k = 0;; count++) {
    int mine = k < r.length ? (int)(column(a, r.begin + k) - r.row) : INT32_MAX;
    int distance = __reduce_min_sync(EVERY, mine);
    if (distance == INT32_MAX) break;
    bool here = k < r.length && mine == distance;
    unsigned lanes = __ballot_sync(EVERY, here);
    uint64_t value = here ? value_bits(a, r.begin + k) : 0, first = __shfl_sync(EVERY, value, __ffs(lanes) - 1);
    if (__any_sync(EVERY, here && value != first)) return false;
    if (count == MACKO_STENCIL_MAX_STEPS || count == limit) return false;
    if (lane_number() == 0) steps[count] = macko_stencil_step{distance, lanes, first};
    k += here;
  }
  s->stencil = 1;
  s->steps = count;
  s->base = (int32_t)first_row;
  __syncwarp();
  return true;
}

/* ---- masked slices ---- */

/* Makes steps those of a masked slice, if the warp's rows are one: lanes go through their rows side by side, and the smallest
 * distance from `base` that any of them is at is the next step. A row that has more entries left than there may be steps tells that
 * they are none. */
static __device__ bool find_masked(const macko_device_csr &a, const lane_row &r, const macko_slice &s, macko_masked_step *steps)
{
  if (s.steps == 0 || s.steps > MACKO_MASKED_MAX_STEPS) return false;
  int k = 0;
  for (int step = 0; step < (int)s.steps; step++) {
    const int mine = k < r.length ? (int)column(a, r.begin + k) - lane_number() : INT32_MAX;
    const int distance = __reduce_min_sync(EVERY, mine);
    const bool here = k < r.length && mine == distance;
    const unsigned lanes = __ballot_sync(EVERY, here);
    k += here;
    if (__any_sync(EVERY, r.length - k > (int)s.steps - step - 1)) return false;
    if (lane_number() == 0) steps[step] = macko_masked_step{(uint32_t)(distance - s.base), lanes};
  }
  __syncwarp();
  return true;
}

/* ---- what a slice is ---- */

/* This is a slice as its lanes describe it; s is the same in all of them. */
struct warp_slice {
  macko_slice s;
  lane_row r;
  int longest;   /* the first lane that has a longest row */
  int first;     /* column of the lane's first entry */
  int distance;  /* first less the lane's number */
  unsigned in_line; /* as in macko_slice_record */
};

/* Sets the base column to the least distance, and the bytes of offsets from it. */
static __device__ void find_base(warp_slice *w)
{
  bool any = w->r.length > 0;
  int low = __reduce_min_sync(EVERY, any ? w->distance : INT32_MAX),
      high = __reduce_max_sync(EVERY, any ? w->distance : INT32_MIN);
  if (low > high) return;
  w->s.base = low;
  w->s.offset_bytes = macko_unsigned_bytes((uint64_t)((int64_t)high - low));
}

/* Loads the columns of a lane's row from entry k on, 0 beyond its end: several at once, as memory is far. */
static __device__ __forceinline__ void load_columns(const macko_device_csr &a, const lane_row &r, int k, int cols[AHEAD])
{
#pragma unroll
  for (int i = 0; i < AHEAD; i++) cols[i] = k + i < r.length ? (int)column(a, r.begin + k + i) : 0;
}

/* Finds out how wide gaps are, or that all rows have the distances of the longest one's list. Warps of a slice take a part of
 * its steps each. */
template <int WARPS> static __device__ void find_gaps(const macko_device_csr &a, int kinds, warp_slice *w)
{
  uint32_t any = 0, each = (w->s.steps + WARPS - 1) / WARPS, from = 1 + warp_of_slice<WARPS>() * each, to = from + each;
  int before = (int)from <= w->r.length ? (int)column(a, w->r.begin + from - 1) : 0;
  bool uniform = true;
  for (uint32_t first = from; first < to && first < w->s.steps; first += AHEAD) {
    int cols[AHEAD];
    load_columns(a, w->r, (int)first, cols);
#pragma unroll
    for (int i = 0; i < AHEAD; i++) {
      int listed = __shfl_sync(EVERY, cols[i] - w->first, w->longest);
      if (first + i >= to || (int)first + i >= w->r.length) continue;
      uniform &= cols[i] - w->first == listed;
      any |= (uint32_t)(cols[i] - before - 1);
      before = cols[i];
    }
  }
  uniform = !or_of<WARPS>(!uniform), any = or_of<WARPS>(any);
  if (!uniform) w->s.gap_bits = kinds & MACKO_PAIRS ? MACKO_GAP_PAIRS : macko_slice_gap_bits(any);
}

/* Gives bits of groups of eight lanes whose rows are equally long and begin side by side: products read x for them in one
 * piece, which the plan's time goes by. */
static __device__ unsigned find_in_line(const warp_slice &w)
{
  int leader = lane_number() & ~7;
  bool same = w.r.length > 0;
  same &= w.r.length == __shfl_sync(EVERY, w.r.length, leader);
  same &= w.distance == __shfl_sync(EVERY, w.distance, leader);
  unsigned lanes = __ballot_sync(EVERY, same), groups = 0;
  for (int g = 0; g < 4; g++) groups |= (lanes >> 8 * g & 0xff) == 0xff ? 1u << g : 0;
  return groups;
}

/* Describes a slice that is no stencil, of which so many lanes have rows. */
template <int WARPS> static __device__ void look_at_slice(const macko_device_csr &a, int kinds, int lanes, warp_slice *w)
{
  uint32_t shortest = __reduce_min_sync(EVERY, lane_number() < lanes ? (uint32_t)w->r.length : UINT32_MAX);
  w->longest = __ffs(__ballot_sync(EVERY, (uint32_t)w->r.length == w->s.steps)) - 1;
  w->s.length_bytes = shortest == w->s.steps ? 0 : macko_unsigned_bytes(w->s.steps);
  w->first = w->r.length ? (int)column(a, w->r.begin) : 0;
  w->distance = w->first - lane_number();
  find_base(w);
  find_gaps<WARPS>(a, kinds, w);
  w->in_line = find_in_line(*w);
}

/* ---- its block ---- */

/* Writes the block of a slice to words, as doc/formats/macko.md has it: lengths, offsets, and a list or gaps. Warps of a slice
 * share the words of gaps. */
template <int WARPS> static __device__ void write_block(const macko_device_csr &a, const warp_slice &w, uint32_t *words)
{
  const macko_slice &s = w.s;
  uint32_t *offsets = words + 8 * s.length_bytes, *gaps = offsets + 8 * s.offset_bytes;
  int lane = lane_number(), warp = warp_of_slice<WARPS>(), per = s.gap_bits ? 32 / s.gap_bits : 1;
  if (warp == 0) {
    macko_put_unsigned(words, s.length_bytes, lane, (uint32_t)w.r.length);
    macko_put_unsigned(offsets, s.offset_bytes, lane, w.r.length ? (uint32_t)(w.distance - s.base) : 0);
  }
  if (s.gap_bits == MACKO_GAP_PAIRS) return;
  if (!s.gap_bits) {
    int64_t longest = __shfl_sync(EVERY, w.r.begin, w.longest);
    int first = __shfl_sync(EVERY, w.first, w.longest);
    for (int k = 1 + warp * WARP + lane; k < (int)s.steps; k += WARPS * WARP)
      gaps[k - 1] = (uint32_t)((int)column(a, longest + k) - first);
    return;
  }
  for (int first = 1 + warp * AHEAD; first < (int)s.steps; first += WARPS * AHEAD) {
    uint32_t word = 0;
    int cols[AHEAD], before = first < w.r.length ? (int)column(a, w.r.begin + first - 1) : 0;
    load_columns(a, w.r, first, cols);
#pragma unroll
    for (int i = 0; i < AHEAD; i++) {
      int k = first + i;
      if (k < w.r.length) word |= (uint32_t)(cols[i] - before - 1) << i % per * s.gap_bits;
      before = cols[i];
      if (k >= (int)s.steps || (i % per < per - 1 && k + 1 < (int)s.steps)) continue;
      gaps[(k - 1) / per * WARP + lane] = word;
      word = 0;
    }
  }
}

/* Gives a hash of a block. Any good one will do: blocks that it takes for equal are compared, and the host does it all where
 * they are not. A sum, so that lanes and warps may share the words. */
template <int WARPS> static __device__ uint64_t hash_words(const uint32_t *words, uint32_t count)
{
  uint64_t h = 0;
  for (uint32_t i = warp_of_slice<WARPS>() * WARP + lane_number(); i < count; i += WARPS * WARP)
    h += macko_mix(words[i] + i * 0x9e3779b97f4a7c15u);
  return sum_of<WARPS>(h);
}

/* Gives what find_stencil finds, which one warp does, for all warps of the slice. */
template <int WARPS>
static __device__ bool find_stencil_for(const macko_device_csr &a, const lane_row &r, int64_t first_row,
                                        macko_stencil_step *steps, macko_slice *s)
{
  __shared__ macko_slice found;
  if (WARPS == ONE) return find_stencil(a, r, first_row, steps, s);
  if (warp_of_slice<WARPS>() == 0) {
    find_stencil(a, r, first_row, steps, s);
    if (lane_number() == 0) found = *s;
  }
  __syncthreads();
  *s = found;
  return s->stencil;
}

/* Makes *s masked, if it is to be, which one warp finds for all of the slice. */
template <int WARPS>
static __device__ void try_masked(const macko_device_csr &a, const lane_row &r, int lanes, macko_masked_step *steps, macko_slice *s)
{
  __shared__ int found;
  bool masked = false;
  if (macko_is_uniform(s, lanes)) return;
  if (warp_of_slice<WARPS>() == 0) masked = find_masked(a, r, *s, steps);
  if (WARPS > ONE) {
    if (threadIdx.x == 0) found = masked;
    __syncthreads();
    masked = found;
  }
  if (masked) s->gap_bits = MACKO_GAP_MASKED, s->offset_bytes = s->length_bytes = 0;
}

/* Describes one slice of `every`: its record, its source, and its block in the arena, where there is room. Slices take words of
 * the arena as they come, so that blocks lie there in any order. */
template <int WARPS>
static __global__ void __launch_bounds__(WARPS == ONE ? ENCODE_THREADS : WARPS * WARP)
describe_kernel(macko_device_csr a, macko_device_slices all, int kinds, int every)
{
  __shared__ macko_stencil_step shared[WARPS == ONE ? ENCODE_THREADS / WARP : 1][MACKO_STENCIL_MAX_STEPS];
  macko_stencil_step *steps = shared[WARPS == ONE ? threadIdx.x / WARP : 0];
  int64_t slice = warp_number() / WARPS * every, start = slice * MACKO_SLICE_ROWS;
  if (slice >= all.slices) return;
  int lane = lane_number(), lanes = a.nrows - start < WARP ? (int)(a.nrows - start) : WARP;
  uint32_t mine = warp_of_slice<WARPS>() * WARP + lane;
  warp_slice w = {};
  w.r = row_at(a, all.order, start + lane);
  w.s.steps = __reduce_max_sync(EVERY, (uint32_t)w.r.length);
  int stencils = kinds & MACKO_STENCILS && !all.order;
  if (!(stencils && find_stencil_for<WARPS>(a, w.r, start, steps, &w.s))) look_at_slice<WARPS>(a, kinds, lanes, &w);
  if (kinds & MACKO_MASKED && !w.s.stencil) try_masked<WARPS>(a, w.r, lanes, (macko_masked_step *)steps, &w.s);
  const bool listed = w.s.stencil || w.s.gap_bits == MACKO_GAP_MASKED; /* its block is those steps */
  uint32_t words = (uint32_t)macko_slice_block_words(&w.s), entries = __reduce_add_sync(EVERY, (uint32_t)w.r.length);
  unsigned long long at = first_of<WARPS>(mine ? 0 : atomicAdd(all.used, words));
  uint64_t hash = 0;
  if (at + words <= all.room) {
    if (!listed) write_block<WARPS>(a, w, all.arena + at);
    else for (uint32_t i = mine; i < words; i += WARPS * WARP) all.arena[at + i] = ((const uint32_t *)steps)[i];
    if (WARPS == ONE) __syncwarp();
    else __syncthreads();
    hash = hash_words<WARPS>(all.arena + at, words);
  }
  if (mine) return;
  uint32_t header[MACKO_SLICE_WORDS];
  macko_put_slice(&w.s, header);
  all.records[slice] = macko_slice_record{hash, words, header[2], w.in_line, entries};
  all.sources[slice] = macko_slice_source{at, w.s.base};
}

extern "C" cudaError_t macko_describe_slices(const macko_device_csr *a, int kinds, int every, const macko_device_slices *s,
                                             cudaStream_t stream)
{
  const int64_t slices = (s->slices + every - 1) / every;
  if (!slices) return cudaSuccess;
  if (a->nnz / a->nrows < LONG_ROW)
    return launch(describe_kernel<ONE>, blocks_for(slices * WARP), ENCODE_THREADS, 0, stream, *a, *s, kinds, every);
  return launch(describe_kernel<ALL_WARPS>, (unsigned)slices, ALL_WARPS * WARP, 0, stream, *a, *s, kinds, every);
}

/* ---- writing ---- */

/* Writes the header of a slice, and its block where it is the first of its kind, a warp a slice. */
static __global__ void write_kernel(macko_device_slices all, uint32_t *headers, uint32_t *blocks)
{
  int64_t slice = warp_number();
  if (slice >= all.slices) return;
  macko_slice_record record = all.records[slice];
  macko_slice_source source = all.sources[slice];
  macko_slice_place place = all.places[slice];
  int lane = lane_number();
  uint32_t word = lane == 0 ? 0 : lane == 1 ? place.block : lane == 2 ? record.info : (uint32_t)source.base;
  if (lane < MACKO_SLICE_WORDS) headers[slice * MACKO_SLICE_WORDS + lane] = word;
  for (uint32_t i = lane; place.is_new && i < record.words; i += WARP) blocks[place.block + i] = all.arena[source.at + i];
}

extern "C" cudaError_t macko_write_slices(const macko_device_slices *s, uint32_t *headers, uint32_t *blocks, cudaStream_t stream)
{
  return launch(write_kernel, blocks_for(s->slices * WARP), ENCODE_THREADS, 0, stream, *s, headers, blocks);
}

/* Compares the block of a slice in the arena with the one that it was given, a warp a slice. */
static __global__ void compare_kernel(macko_device_slices all, const uint32_t *blocks, int *differs)
{
  int64_t slice = warp_number();
  if (slice >= all.slices) return;
  const uint32_t *mine = all.arena + all.sources[slice].at, *given = blocks + all.places[slice].block;
  for (uint32_t i = lane_number(); i < all.records[slice].words; i += WARP)
    if (mine[i] != given[i]) *differs = 1;
}

extern "C" cudaError_t macko_compare_blocks(const macko_device_slices *s, const uint32_t *blocks, int *differs, cudaStream_t stream)
{
  return launch(compare_kernel, blocks_for(s->slices * WARP), ENCODE_THREADS, 0, stream, *s, blocks, differs);
}

/* ---- is the pattern still that of the csr? ---- */

/* Compares a row's length with what its slice says, and the values of stencils, a thread a row. In a stencil the row's entries
 * are the steps whose mask holds its lane, in this order. */
static __global__ void compare_rows_kernel(macko_device_csr a, const uint32_t *headers, const uint32_t *blocks,
                                           const uint16_t *order, int *differs, int *stencils_differ)
{
  int64_t position = thread_number();
  lane_row r = row_at(a, order, position);
  if (r.row < 0) return;
  macko_slice s = macko_slice_at(headers, position / MACKO_SLICE_ROWS);
  int lane = (int)(position % MACKO_SLICE_ROWS), length = (int)s.steps;
  if (s.length_bytes) length = (int)macko_unsigned_at(macko_slice_lengths(&s, blocks), s.length_bytes, lane);
  if (s.gap_bits == MACKO_GAP_MASKED) {
    length = 0;
    for (uint32_t k = 0; k < s.steps; k++) length += macko_masked_at(&s, blocks, k).lanes >> lane & 1;
  }
  if (s.stencil) {
    length = 0;
    for (uint32_t k = 0; k < s.steps; k++) {
      macko_stencil_step step = macko_stencil_at(&s, blocks, k);
      if (!(step.lanes >> lane & 1)) continue;
      if (length < r.length && value_bits(a, r.begin + length) != step.value) *stencils_differ = 1;
      length++;
    }
  }
  if (length != r.length) *differs = 1;
}

extern "C" cudaError_t macko_compare_slices(const macko_device_csr *a, const macko_device_matrix *d, int *differs,
                                            int *stencils_differ, cudaStream_t stream)
{
  const uint32_t *headers = (const uint32_t *)macko_device_data(d, "slices");
  const uint32_t *words = (const uint32_t *)macko_device_data(d, "blocks");
  const uint16_t *order = (const uint16_t *)macko_device_data(d, "order");
  return launch(compare_rows_kernel, blocks_for(a->nrows), ENCODE_THREADS, 0, stream, *a, headers, words, order, differs,
                stencils_differ);
}
