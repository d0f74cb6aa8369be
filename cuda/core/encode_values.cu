/* The value codecs on the GPU: what can hold the values, the dictionary, and the stream of layouts slice and row. The rules are
 * those of lib/values/codecs.c, the arithmetic is lib/core/convert.h. */
#include "core/device_csr.cuh"

enum {
  VALUE_BLOCKS = 2048,  /* each thread takes several values, so that few ask for the same shared counters */
  COLLECT_BLOCKS = 256, /* fewer threads than there are slots beyond the limit: probing ends */
  MOST_PAIRS = 256
};

static const unsigned long long FREE_SLOT = ~0ull;

/* ---- what can hold the values ---- */

template <int FROM> static __device__ __forceinline__ unsigned misfits_of(const void *values, int64_t p)
{
  unsigned bits = 0;
  if (!macko_fits((macko_type)FROM, MACKO_I8, values, p)) bits |= 1u << MACKO_I8;
  if (!macko_fits((macko_type)FROM, MACKO_F16, values, p)) bits |= 1u << MACKO_F16;
  if (!macko_fits((macko_type)FROM, MACKO_BF16, values, p)) bits |= 1u << MACKO_BF16;
  if (!macko_fits((macko_type)FROM, MACKO_F32, values, p)) bits |= 1u << MACKO_F32;
  return bits;
}

template <int FROM> static __global__ void misfits_kernel(const void *values, int64_t nnz, unsigned *misfits)
{
  unsigned bits = 0;
  for (int64_t p = thread_number(); p < nnz; p += (int64_t)gridDim.x * blockDim.x) bits |= misfits_of<FROM>(values, p);
  bits = __reduce_or_sync(EVERY, bits);
  if (lane_number() == 0 && bits & ~*(volatile unsigned *)misfits) atomicOr(misfits, bits);
}

extern "C" cudaError_t macko_find_misfits(const macko_device_csr *a, unsigned *misfits, cudaStream_t stream)
{
  switch (a->value_type) {
  case MACKO_F64: misfits_kernel<MACKO_F64><<<VALUE_BLOCKS, ENCODE_THREADS, 0, stream>>>(a->values, a->nnz, misfits); break;
  case MACKO_F32: misfits_kernel<MACKO_F32><<<VALUE_BLOCKS, ENCODE_THREADS, 0, stream>>>(a->values, a->nnz, misfits); break;
  case MACKO_F16: misfits_kernel<MACKO_F16><<<VALUE_BLOCKS, ENCODE_THREADS, 0, stream>>>(a->values, a->nnz, misfits); break;
  default: misfits_kernel<MACKO_BF16><<<VALUE_BLOCKS, ENCODE_THREADS, 0, stream>>>(a->values, a->nnz, misfits);
  }
  return cudaGetLastError();
}

/* ---- the dictionary ---- */

static __device__ __forceinline__ unsigned home_slot(uint64_t bits)
{
  return (unsigned)((bits * 0x9e3779b97f4a7c15u) >> 46) % MACKO_DEVICE_HASH_SLOTS;
}

/* Slot of a pattern that is in the set, or the free one where it would go. */
static __device__ __forceinline__ unsigned find_slot(const unsigned long long *keys, uint64_t bits)
{
  unsigned at = home_slot(bits);
  if (bits == FREE_SLOT) return MACKO_DEVICE_HASH_SLOTS;
  while (keys[at] != FREE_SLOT && keys[at] != bits) at = (at + 1) % MACKO_DEVICE_HASH_SLOTS;
  return at;
}

/* Slots only ever go from free to taken, so a value that a plain load finds is there; one that it does not find may be by now. */
static __device__ void insert(const macko_device_dictionary &d, uint64_t bits)
{
  unsigned at = find_slot(d.keys, bits);
  if (at == MACKO_DEVICE_HASH_SLOTS) {
    if (d.keys[at] == FREE_SLOT && atomicCAS(&d.keys[at], FREE_SLOT, 0ull) == FREE_SLOT) atomicAdd(d.used, 1u);
    return;
  }
  if (d.keys[at] == bits) return;
  for (;; at = (at + 1) % MACKO_DEVICE_HASH_SLOTS) {
    unsigned long long there = atomicCAS(&d.keys[at], FREE_SLOT, (unsigned long long)bits);
    if (there == FREE_SLOT) atomicAdd(d.used, 1u);
    if (there == FREE_SLOT || there == bits) return;
  }
}

/* Ends early where there are too many; every thread that has not noticed adds one at most. */
static __global__ void collect_kernel(macko_device_csr a, macko_device_dictionary d)
{
  for (int64_t p = thread_number(); p < a.nnz && *(volatile unsigned *)d.used <= MACKO_DICT_LIMIT;
       p += (int64_t)gridDim.x * blockDim.x)
    insert(d, value_bits(a, p));
}

extern "C" cudaError_t macko_collect_values(const macko_device_csr *a, const macko_device_dictionary *d, cudaStream_t stream)
{
  size_t slots = MACKO_DEVICE_HASH_SLOTS + 1;
  cudaError_t error = cudaMemsetAsync(d->keys, 0xff, slots * sizeof *d->keys, stream);
  if (!error) error = cudaMemsetAsync(d->used, 0, sizeof *d->used, stream);
  if (error) return error;
  collect_kernel<<<COLLECT_BLOCKS, ENCODE_THREADS, 0, stream>>>(*a, *d);
  return cudaGetLastError();
}

/* ---- pairs of a gap and a value ---- */

static __device__ __forceinline__ uint64_t pair_of(const macko_device_csr &a, const macko_device_dictionary &values, int64_t p,
                                                   uint32_t gap)
{
  return (uint64_t)gap << MACKO_PAIR_SHIFT | find_slot(values.keys, value_bits(a, p));
}

static __device__ __forceinline__ uint32_t gap_before(const macko_device_csr &a, int64_t p)
{
  return (uint32_t)(column(a, p) - column(a, p - 1));
}

/* A thread asks before every pair, so that each adds one at most when there are too many. */
static __device__ __forceinline__ bool has_room(const macko_device_dictionary &pairs)
{
  return *(volatile unsigned *)pairs.used <= MOST_PAIRS;
}

static __global__ void collect_pairs_kernel(macko_device_csr a, macko_device_slices all, macko_device_dictionary values,
                                            macko_device_dictionary pairs)
{
  int64_t warps = (int64_t)gridDim.x * blockDim.x / WARP;
  for (int64_t slice = warp_number(); slice < all.slices; slice += warps) {
    const uint32_t header[MACKO_SLICE_WORDS] = {0, 0, all.records[slice].info, 0};
    macko_slice s = macko_slice_at(header, 0);
    if (s.stencil) continue;
    lane_row r = row_at(a, all.order, slice * MACKO_SLICE_ROWS + lane_number());
    for (int k = 0; k < r.length && has_room(pairs); k++) {
      uint64_t pair = pair_of(a, values, r.begin + k, k && s.gap_bits ? gap_before(a, r.begin + k) : 0);
      insert(pairs, pair);
      if (pair >> MACKO_PAIR_SHIFT >> 16) pairs.used[1] = 1;
    }
  }
}

static cudaError_t clear_pairs(const macko_device_dictionary *pairs, cudaStream_t stream)
{
  cudaError_t error = cudaMemsetAsync(pairs->keys, 0xff, (MACKO_DEVICE_HASH_SLOTS + 1) * sizeof *pairs->keys, stream);
  return error ? error : cudaMemsetAsync(pairs->used, 0, 2 * sizeof *pairs->used, stream);
}

extern "C" cudaError_t macko_collect_pairs(const macko_device_csr *a, const macko_device_slices *s,
                                           const macko_device_dictionary *values, const macko_device_dictionary *pairs,
                                           cudaStream_t stream)
{
  cudaError_t error = clear_pairs(pairs, stream);
  if (error) return error;
  collect_pairs_kernel<<<COLLECT_BLOCKS, ENCODE_THREADS, 0, stream>>>(*a, *s, *values, *pairs);
  return cudaGetLastError();
}

/* ---- the stream ---- */

/* Calls f(p, slot, rank, chained) for the entries of the stream: rank rises in the order in which the host writes them; chained:
 * the gap before the entry is that of its pair. */
template <typename F>
static __device__ void walk_slice(const macko_device_csr &a, const uint32_t *headers, const uint16_t *order, int size,
                                  int64_t slice, const F &f)
{
  int64_t position = slice * MACKO_SLICE_ROWS + lane_number();
  if (position >= a.nrows) return;
  macko_slice s = macko_slice_at(headers, slice);
  if (s.stencil) return;
  lane_row r = row_at(a, order, position);
  for (int k = 0; k < r.length; k++)
    f(r.begin + k, macko_slice_slot(s.values, size, k, lane_number()), (uint64_t)position << 24 | k,
      k && s.gap_bits == MACKO_GAP_PAIRS);
}

template <typename F>
static __global__ void slices_kernel(macko_device_csr a, const uint32_t *headers, const uint16_t *order, int size, F f)
{
  int64_t warps = (int64_t)gridDim.x * blockDim.x / WARP;
  for (int64_t slice = warp_number(); slice * MACKO_SLICE_ROWS < a.nrows; slice += warps)
    walk_slice(a, headers, order, size, slice, f);
}

template <typename F> static __global__ void entries_kernel(int64_t nnz, F f)
{
  int64_t p = thread_number();
  if (p < nnz) f(p, p, (uint64_t)p, false);
}

template <typename F>
static cudaError_t walk_slices(const macko_device_csr *a, const macko_device_matrix *d, unsigned most_blocks, const F &f,
                               cudaStream_t stream)
{
  unsigned blocks = blocks_for(a->nrows + WARP);
  slices_kernel<<<blocks < most_blocks ? blocks : most_blocks, ENCODE_THREADS, 0, stream>>>(
      *a, (const uint32_t *)macko_device_data(d, "slices"), (const uint16_t *)macko_device_data(d, "order"),
      (int)macko_type_bytes(d->m.plan.stored_type), f);
  return cudaGetLastError();
}

template <typename F>
static cudaError_t walk(const macko_device_csr *a, const macko_device_matrix *d, const F &f, cudaStream_t stream)
{
  if (!a->nnz) return cudaSuccess;
  if (f.e.c.slices) return walk_slices(a, d, ~0u, f, stream);
  entries_kernel<<<blocks_for(a->nnz), ENCODE_THREADS, 0, stream>>>(a->nnz, f);
  return cudaGetLastError();
}

/* What an entry is a code for, and where that is in the set. */
struct coded {
  macko_device_csr a;
  macko_device_coding c;
  __device__ __forceinline__ uint64_t element(int64_t p, int64_t slot, bool chained) const
  {
    if (!c.joint) return value_bits(a, p);
    uint32_t gap = !chained ? 0 : c.old.codes ? c.old.gaps[c.old.codes[slot]] : gap_before(a, p);
    return pair_of(a, c.values, p, gap);
  }
  __device__ __forceinline__ unsigned place(int64_t p, int64_t slot, bool chained) const
  {
    return find_slot(c.set.keys, element(p, slot, chained));
  }
};

struct collect_pair {
  coded e;
  __device__ void operator()(int64_t p, int64_t slot, uint64_t, bool chained) const
  {
    if (has_room(e.c.set)) insert(e.c.set, e.element(p, slot, chained));
  }
};

extern "C" cudaError_t macko_collect_new_pairs(const macko_device_csr *a, const macko_device_matrix *d,
                                               const macko_device_coding *coding, cudaStream_t stream)
{
  cudaError_t error = clear_pairs(&coding->set, stream);
  return error || !a->nnz ? error : walk_slices(a, d, COLLECT_BLOCKS, collect_pair{{*a, *coding}}, stream);
}

struct rank_values {
  coded e;
  __device__ void operator()(int64_t p, int64_t slot, uint64_t rank, bool chained) const
  {
    unsigned long long *least = &e.c.set.ranks[e.place(p, slot, chained)];
    if (rank < *least) atomicMin(least, (unsigned long long)rank);
  }
};

extern "C" cudaError_t macko_rank_values(const macko_device_csr *a, const macko_device_matrix *d,
                                         const macko_device_coding *coding, cudaStream_t stream)
{
  size_t slots = MACKO_DEVICE_HASH_SLOTS + 1;
  cudaError_t error = cudaMemsetAsync(coding->set.ranks, 0xff, slots * sizeof *coding->set.ranks, stream);
  return error ? error : walk(a, d, rank_values{{*a, *coding}}, stream);
}

struct put_value {
  coded e;
  void *stream;
  int stored;
  __device__ void operator()(int64_t p, int64_t slot, uint64_t, bool chained) const
  {
    const void *values = e.a.values;
    macko_type from = (macko_type)e.a.value_type, to = (macko_type)stored;
    if (to == MACKO_U8) ((uint8_t *)stream)[slot] = (uint8_t)e.c.set.codes[e.place(p, slot, chained)];
    else if (to == MACKO_U16) ((uint16_t *)stream)[slot] = (uint16_t)e.c.set.codes[e.place(p, slot, chained)];
    else if (to == MACKO_I8) ((uint8_t *)stream)[slot] = (uint8_t)macko_convert(from, to, values, p);
    else macko_put_bits(to, stream, slot, from == to ? value_bits(e.a, p) : macko_convert(from, to, values, p));
  }
};

extern "C" cudaError_t macko_write_stream(const macko_device_csr *a, const macko_device_matrix *d,
                                          const macko_device_coding *coding, cudaStream_t stream)
{
  return walk(a, d, put_value{{*a, *coding}, macko_device_data(d, "values"), d->m.plan.stored_type}, stream);
}
