/* Sections of format eccsr written by kernels: a warp a slice. The rules are those of lib/eccsr/eccsr_slices.c and
 * eccsr_values.c. */
#include "core/value_set.cuh"
#include "eccsr/eccsr_runs.cuh"

/* These are the rows of a window, and the most slices that it has. */
enum { WINDOW = MACKO_ECCSR_WINDOW, SLICES = MACKO_ECCSR_WINDOW_SLICES };

/* These are the sections of the pattern of a matrix that is written or read, device pointers. */
struct pattern_sections {
  uint32_t *slices, *gaps;
  int32_t *bases, *rows;
  void *lengths;
  int length_bytes; /* of an element of lengths */
};

/* Gives the sections of *d by their names. */
static pattern_sections sections_of(const macko_device_matrix *d)
{
  const macko_eccsr_counts *c = &macko_eccsr_params_of(&d->m.plan)->of.counts;
  return {(uint32_t *)macko_device_data(d, "slices"), (uint32_t *)macko_device_data(d, "gaps"),
          (int32_t *)macko_device_data(d, "bases"), (int32_t *)macko_device_data(d, "rows"), macko_device_data(d, "lengths"),
          macko_eccsr_length_bytes(c)};
}

/* ---- the pattern ---- */

/* Writes what the matrix has of block b, which is number `number` of it, but for its first column. One lane writes a block. */
static __device__ void put_block(const pattern_sections &to, const found_block &b, int64_t number)
{
  if (to.length_bytes == 2) ((uint16_t *)to.lengths)[number] = (uint16_t)b.runs;
  else ((uint32_t *)to.lengths)[number] = b.runs;
  to.rows[number] = (int32_t)b.row;
}

/* Writes the masks of slice s, if it has any, and its gaps behind them, to words; gives the column that the lane's block begins
 * with. A lane takes a block. Lanes share words of gaps, so that codes are or-ed into zeroed memory; masks are put together
 * from all lanes first. */
template <typename RUNS>
static __device__ int32_t put_runs(const macko_device_csr &a, const found_block &b, const macko_eccsr_slice &s, uint32_t *words)
{
  uint32_t *gaps = words + macko_eccsr_mask_words(&s);
  const bool mine = lane_number() < s.blocks;
  RUNS runs(a, b);
  int64_t number = 0, before = 0, base = 0;
  for (unsigned k = 0; k < s.steps; k++) {
    const bool here = mine && k < b.runs;
    const int active = __popc(__ballot_sync(EVERY, here));
    uint64_t bits = 0;
    int64_t start = here ? runs.next(&bits) : 0;
    for (int j = 0; s.masked && j < s.w; j++) {
      uint32_t lanes = here ? (uint32_t)(bits >> 8 * j & 0xff) << lane_number() * s.g : 0;
      lanes = __reduce_or_sync(EVERY, lanes);
      if (lane_number() == 0) words[(int64_t)k * s.w + j] = lanes;
    }
    if (here && k == 0) base = start;
    if (here && k > 0) {
      const uint32_t code = (uint32_t)((start - before - s.w) / s.unit);
      const int64_t bit = (number + lane_number()) * s.gap_bits;
      atomicOr(&gaps[bit / 32], code << bit % 32);
    }
    if (k > 0) number += active;
    before = start;
  }
  return (int32_t)base;
}

/* Writes slice number i of a window: its header, its blocks, masks and gaps. `place` says where the window begins. A lane takes
 * a block, and those that have none take part with the first one's. */
static __device__ void put_slice(const macko_device_csr &a, const macko_eccsr_windows &w, const macko_eccsr_place &place,
                                 const pattern_sections &to, int64_t window, int i)
{
  const macko_eccsr_found_window *found = &w.found[window];
  const macko_eccsr_found_slice *f = &w.slices[window * SLICES + i];
  const int64_t first_row = window * WINDOW;
  const unsigned long long *keys = w.keys + window * WINDOW + f->block;
  const int past = i + 1 < (int)found->slices ? f[1].block : (int)found->blocks, blocks = past - f->block;
  const bool mine = lane_number() < blocks;
  const found_block first = block_of(keys[0], first_row), b = mine ? block_of(keys[lane_number()], first_row) : first;
  macko_eccsr_slice s;
  s.values = row_start(a, first_row) + (int64_t)f->slot, s.words = place.words + (int64_t)f->word;
  s.block = (uint32_t)(place.blocks + f->block), s.row = s.block; /* a row a block, as the others follow it */
  s.steps = f->steps, s.g = first.g, s.w = first.w, s.blocks = blocks, s.gap_bits = f->gap_bits;
  s.unit = f->in_runs ? first.w : 1, s.masked = first.masked, s.in_order = 1;
  int32_t base = s.masked ? put_runs<merged_runs>(a, b, s, to.gaps + s.words) : put_runs<equal_runs>(a, b, s, to.gaps + s.words);
  if (mine) put_block(to, b, (int64_t)s.block + lane_number());
  if (mine) to.bases[(int64_t)s.block + lane_number()] = base;
  if (lane_number() == 0) macko_eccsr_put_slice(&s, to.slices + (place.slices + i) * MACKO_ECCSR_SLICE_WORDS);
}

/* A block of threads takes a window, and its warps the window's slices in turn. */
static __global__ void pattern_kernel(macko_device_csr a, macko_eccsr_windows w, const macko_eccsr_place *places,
                                      pattern_sections to)
{
  const int64_t window = blockIdx.x;
  const int slices = (int)w.found[window].slices;
  for (int i = (int)threadIdx.x / WARP; i < slices; i += (int)blockDim.x / WARP) put_slice(a, w, places[window], to, window, i);
}

extern "C" cudaError_t macko_eccsr_write_slices(const macko_device_csr *a, const macko_eccsr_windows *w,
                                                const macko_eccsr_place *places, const macko_device_matrix *d, cudaStream_t stream)
{
  return launch(pattern_kernel, (unsigned)w->windows, ENCODE_THREADS, 0, stream, *a, *w, places, sections_of(d));
}

/* ---- values ---- */

/* Gives where the entry of a lane in column j of run k comes in a slice as the host writes it: 64 runs at a time lane by lane, or
 * with masks run by run. */
static __device__ __forceinline__ uint64_t rank_in_slice(const macko_eccsr_slice &s, uint32_t k, int j, int lane)
{
  if (s.masked) return (uint64_t)k << 8 | (uint64_t)(j << 5 | lane);
  return (uint64_t)(k >> 6) << 14 | (uint64_t)(lane << 9) | (uint64_t)(k & 63) << 3 | (uint64_t)j;
}

/* Does f, as value_set.cuh has it, for the entries of slice number `number`; a lane takes a row. Ranks rise slice by slice; their
 * lower 32 bits are the place within the slice. A slice is gone through column by column of its runs, some columns at once. */
template <typename F>
static __device__ void walk_slice(const macko_device_csr &a, const pattern_sections &from, int64_t number, const F &f)
{
  const macko_eccsr_slice s = macko_eccsr_slice_at(from.slices, number);
  const int lane = lane_number(), block = lane / s.g;
  const bool mine = block < s.blocks;
  const uint32_t runs = mine ? macko_eccsr_length(from.lengths, from.length_bytes, (int64_t)s.block + block) : 0;
  const uint32_t columns = s.steps * (uint32_t)s.w, below = (1u << lane) - 1;
  int64_t p = mine ? row_start(a, macko_eccsr_row(&s, from.rows, lane)) : 0, slot = s.values;
  for (uint32_t c = 0; c < columns; c += AT_ONCE) {
    uint64_t what[AT_ONCE];
    int64_t to[AT_ONCE];
    bool here[AT_ONCE];
#pragma unroll
    for (uint32_t i = 0; i < AT_ONCE; i++) {
      const unsigned lanes = __ballot_sync(EVERY, (c + i) / (uint32_t)s.w < runs);
      const unsigned mask = c + i >= columns ? 0 : s.masked ? from.gaps[s.words + c + i] : lanes;
      here[i] = mask >> lane & 1, to[i] = slot + __popc(mask & below);
      slot += __popc(mask);
      if (here[i]) what[i] = f.read(p++, to[i], false);
    }
#pragma unroll
    for (uint32_t i = 0; i < AT_ONCE; i++) {
      const uint32_t k = (c + i) / (uint32_t)s.w;
      const uint64_t rank = rank_in_slice(s, k, (int)(c + i - k * (uint32_t)s.w), lane);
      if (here[i]) f.write(to[i], (uint64_t)number << 32 | rank, what[i]);
    }
  }
}

/* Does f for all slices, a warp each. */
template <typename F> static __global__ void slots_kernel(macko_device_csr a, pattern_sections from, int64_t slices, F f)
{
  for (int64_t i = warp_number(); i < slices; i += (int64_t)gridDim.x * blockDim.x / WARP) walk_slice(a, from, i, f);
}

/* Starts that kernel for the slices of *d. */
template <typename F>
static cudaError_t walk_slices(const macko_device_csr *a, const macko_device_matrix *d, const F &f, cudaStream_t stream)
{
  const int64_t slices = macko_eccsr_params_of(&d->m.plan)->of.counts.slices;
  return launch(slots_kernel<F>, blocks_for(slices * WARP), ENCODE_THREADS, 0, stream, *a, sections_of(d), slices, f);
}

extern "C" cudaError_t macko_eccsr_rank_slots(const macko_device_csr *a, const macko_device_matrix *d,
                                              const macko_device_dictionary *set, cudaStream_t stream)
{
  cudaError_t error = clear_ranks(set, stream);
  return error ? error : walk_slices(a, d, rank_values<plain_value>{{*a}, *set}, stream);
}

extern "C" cudaError_t macko_eccsr_write_slots(const macko_device_csr *a, const macko_device_matrix *d,
                                               const macko_device_dictionary *set, cudaStream_t stream)
{
  return put_values(a, d, plain_value{*a}, set, [&](const auto &put) { return walk_slices(a, d, put, stream); });
}
