/* Values of layout slice on the GPU: the pairs of codec pairs, and the stream. */
#include "core/value_set.cuh"
#include "macko/slice_rows.cuh"

/* This is the number of pairs that codes of 8 bits stand for. */
enum { MOST_PAIRS = 256 };

/* ---- pairs of a gap and a value ---- */

/* Gives a pair as an element of a set: the gap, and where in the set of values the value of entry p is. */
static __device__ __forceinline__ uint64_t pair_of(const macko_device_csr &a, const macko_device_dictionary &values, int64_t p,
                                                   uint32_t gap)
{
  return (uint64_t)gap << MACKO_PAIR_SHIFT | find_slot(values, value_bits(a, p));
}

/* Gives the gap before entry p, which is not the first of its row. */
static __device__ __forceinline__ uint32_t gap_before(const macko_device_csr &a, int64_t p)
{
  return (uint32_t)(column(a, p) - column(a, p - 1));
}

/* Says whether more pairs need be looked for. A thread asks before every pair, so that each adds one at most when there are too
 * many. */
static __device__ __forceinline__ bool has_room(const macko_device_dictionary &pairs)
{
  return *(volatile unsigned *)pairs.used <= MOST_PAIRS;
}

/* Puts the pairs of all slices that are no stencils into a set, a warp a slice; pairs.used[1] becomes 1 where a gap has more
 * than 16 bits. In slices with a list, and for first entries, the gap of a pair is 0. */
static __global__ void collect_pairs_kernel(macko_device_csr a, macko_device_slices all, macko_device_dictionary values,
                                            macko_device_dictionary pairs)
{
  int64_t warps = (int64_t)gridDim.x * blockDim.x / WARP;
  for (int64_t slice = warp_number(); slice < all.slices; slice += warps) {
    macko_slice s = macko_slice_of_info(all.records[slice].info);
    if (s.stencil) continue;
    lane_row r = row_at(a, all.order, slice * MACKO_SLICE_ROWS + lane_number());
    for (int k = 0; k < r.length && has_room(pairs); k++) {
      uint64_t pair = pair_of(a, values, r.begin + k, k && s.gap_bits ? gap_before(a, r.begin + k) : 0);
      insert(pairs, pair);
      if (pair >> MACKO_PAIR_SHIFT >> 16) pairs.used[1] = 1;
    }
  }
}

/* Empties a set of pairs and both of its counters. */
static cudaError_t clear_pairs(const macko_device_dictionary *pairs, cudaStream_t stream)
{
  cudaError_t error = cudaMemsetAsync(pairs->keys, 0xff, ((size_t)pairs->slots + 1) * sizeof *pairs->keys, stream);
  return error ? error : cudaMemsetAsync(pairs->used, 0, 2 * sizeof *pairs->used, stream);
}

extern "C" cudaError_t macko_collect_pairs(const macko_device_csr *a, const macko_device_slices *s,
                                           const macko_device_dictionary *values, const macko_device_dictionary *pairs,
                                           cudaStream_t stream)
{
  cudaError_t error = clear_pairs(pairs, stream);
  if (error) return error;
  return launch(collect_pairs_kernel, COLLECT_BLOCKS, ENCODE_THREADS, 0, stream, *a, *s, *values, *pairs);
}

/* ---- the stream ---- */

/* Does f, as value_set.cuh has it, for the entries of a lane of a masked slice, each in the slot of its step. */
template <typename F>
static __device__ void walk_masked(const macko_slice &s, const uint32_t *blocks, const lane_row &r, int64_t position, int size,
                                   const F &f)
{
  int k = 0;
  for (uint32_t step = 0; step < s.steps && k < r.length; step++) {
    if (!(macko_masked_at(&s, blocks, step).lanes >> lane_number() & 1)) continue;
    const int64_t slot = macko_slice_slot(s.values, size, step, lane_number());
    f.write(slot, (uint64_t)position << 24 | k, f.read(r.begin + k, slot, false));
    k++;
  }
}

/* Does f for the entries of a slice that is no stencil, a lane a row; `size` is the bytes of a stored
 * element. Ranks rise in the order in which the host writes entries; chained: the gap before the entry is that of its pair. */
template <typename F>
static __device__ void walk_slice(const macko_device_csr &a, const uint32_t *headers, const uint32_t *blocks, const uint16_t *order,
                                  int size, int64_t slice, const F &f)
{
  int64_t position = slice * MACKO_SLICE_ROWS + lane_number();
  if (position >= a.nrows) return;
  macko_slice s = macko_slice_at(headers, slice);
  if (s.stencil) return;
  lane_row r = row_at(a, order, position);
  if (s.gap_bits == MACKO_GAP_MASKED) {
    walk_masked(s, blocks, r, position, size, f);
    return;
  }
  const bool pairs = s.gap_bits == MACKO_GAP_PAIRS;
  for (int first = 0; first < r.length; first += AT_ONCE) {
    uint64_t what[AT_ONCE];
#pragma unroll
    for (int k = first; k < first + AT_ONCE; k++)
      if (k < r.length) what[k - first] = f.read(r.begin + k, macko_slice_slot(s.values, size, k, lane_number()), k && pairs);
#pragma unroll
    for (int k = first; k < first + AT_ONCE; k++)
      if (k < r.length) f.write(macko_slice_slot(s.values, size, k, lane_number()), (uint64_t)position << 24 | k, what[k - first]);
  }
}

/* Does f for all slices, a warp each; there may be fewer warps than slices. */
template <typename F>
static __global__ void slices_kernel(macko_device_csr a, const uint32_t *headers, const uint32_t *blocks, const uint16_t *order,
                                     int size, F f)
{
  int64_t warps = (int64_t)gridDim.x * blockDim.x / WARP;
  for (int64_t slice = warp_number(); slice * MACKO_SLICE_ROWS < a.nrows; slice += warps)
    walk_slice(a, headers, blocks, order, size, slice, f);
}

/* Starts that kernel for the slices of *d, on no more blocks than most_blocks. */
template <typename F>
static cudaError_t walk_slices(const macko_device_csr *a, const macko_device_matrix *d, unsigned most_blocks, const F &f,
                               cudaStream_t stream)
{
  unsigned blocks = blocks_for(a->nrows + WARP);
  const uint32_t *headers = (const uint32_t *)macko_device_data(d, "slices");
  const uint32_t *words = (const uint32_t *)macko_device_data(d, "blocks");
  const uint16_t *order = (const uint16_t *)macko_device_data(d, "order");
  return launch(slices_kernel<F>, blocks < most_blocks ? blocks : most_blocks, ENCODE_THREADS, 0, stream, *a, headers, words, order,
                (int)macko_type_bytes(d->m.plan.stored_type), f);
}

/* This is what an entry of the stream is a code for: its value, or under codec pairs the pair of its value and its gap. That
 * gap comes from the old codes where new values are stored, else from columns. */
struct coded {
  macko_device_csr a;
  macko_device_coding c;
  __device__ __forceinline__ uint64_t operator()(int64_t p, int64_t slot, bool chained) const
  {
    if (!c.joint) return value_bits(a, p);
    uint32_t gap = !chained ? 0 : c.old.codes ? c.old.gaps[c.old.codes[slot]] : gap_before(a, p);
    return pair_of(a, c.values, p, gap);
  }
};

/* Puts the pair of an entry into the set. */
struct collect_pair {
  coded element;
  __device__ __forceinline__ uint64_t read(int64_t p, int64_t slot, bool chained) const { return element(p, slot, chained); }
  __device__ __forceinline__ void write(int64_t, uint64_t, uint64_t pair) const
  {
    if (has_room(element.c.set)) insert(element.c.set, pair);
  }
};

extern "C" cudaError_t macko_collect_new_pairs(const macko_device_csr *a, const macko_device_matrix *d,
                                               const macko_device_coding *coding, cudaStream_t stream)
{
  cudaError_t error = clear_pairs(&coding->set, stream);
  return error || !a->nnz ? error : walk_slices(a, d, COLLECT_BLOCKS, collect_pair{{*a, *coding}}, stream);
}

extern "C" cudaError_t macko_rank_slots(const macko_device_csr *a, const macko_device_matrix *d,
                                        const macko_device_coding *coding, cudaStream_t stream)
{
  cudaError_t error = clear_ranks(&coding->set, stream);
  return error || !a->nnz ? error : walk_slices(a, d, ~0u, rank_values<coded>{{*a, *coding}, coding->set}, stream);
}

extern "C" cudaError_t macko_write_slots(const macko_device_csr *a, const macko_device_matrix *d,
                                         const macko_device_coding *coding, cudaStream_t stream)
{
  if (!a->nnz) return cudaSuccess;
  return put_values(a, d, coded{*a, *coding}, &coding->set, [&](const auto &put) { return walk_slices(a, d, ~0u, put, stream); });
}
