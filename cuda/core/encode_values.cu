/* The value codecs on the GPU: what can hold the values, the dictionary, and a stream of entries in their order. The rules are
 * those of lib/values/codecs.c, the arithmetic is lib/core/convert.h. */
#include "core/value_set.cuh"

enum {
  VALUE_BLOCKS = 2048, /* each thread takes several values, so that few ask for the same shared counters */
  AHEAD = 8            /* values that a thread loads before it looks at the first of them, as memory is far */
};

/* Calls f(value, bits) for values of a csr of type TYPE until it returns false: for each value that some thread has, but not where
 * it is one of the two that the thread met last, which is most entries of a stencil. Past the end the last value is met again. */
template <int TYPE, typename F> static __device__ __forceinline__ void each_value(const void *values, int64_t nnz, const F &f)
{
  const int64_t step = (int64_t)gridDim.x * blockDim.x, first = thread_number();
  if (first >= nnz) return;
  uint64_t last = macko_bits_at((macko_type)TYPE, values, first), before = last;
  bool go_on = f(first, last);
  for (int64_t p = first + step; go_on && p < nnz; p += AHEAD * step) {
    uint64_t bits[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; k++) bits[k] = macko_bits_at((macko_type)TYPE, values, min(p + k * step, nnz - 1));
#pragma unroll
    for (int k = 0; k < AHEAD; k++)
      if (go_on && bits[k] != last && bits[k] != before) {
        go_on = f(min(p + k * step, nnz - 1), bits[k]);
        before = last, last = bits[k];
      }
  }
}

/* ---- what can hold the values ---- */

/* Gives the types that are asked whether they hold a value of type FROM: none that is as wide or itself. */
template <int FROM> static __device__ __forceinline__ unsigned asked_of()
{
  const unsigned f32 = FROM == MACKO_F64 ? 1u << MACKO_F32 : 0;
  return (1u << MACKO_I8 | 1u << MACKO_F16 | 1u << MACKO_BF16 | f32) & ~(1u << FROM);
}

/* Gives what value p does not fit, as bits (macko_find_misfits), with those that are `known`, which are not asked again. */
template <int FROM> static __device__ __forceinline__ unsigned misfits_of(const void *values, int64_t p, unsigned known)
{
  const macko_type from = (macko_type)FROM, narrow[] = {MACKO_I8, MACKO_F16, MACKO_BF16, MACKO_F32};
  unsigned bits = known;
#pragma unroll
  for (int i = 0; i < 4; i++)
    if (asked_of<FROM>() >> narrow[i] & 1 && !(known >> narrow[i] & 1) && !macko_fits(from, narrow[i], values, p))
      bits |= 1u << narrow[i];
  return bits;
}

/* The same for what overflows. No type is asked whether it overflows itself, and f32 only for values of f64; what is less than the
 * largest f16 overflows nothing. */
template <int FROM> static __device__ __forceinline__ unsigned overflows_of(const void *values, int64_t p)
{
  const macko_type from = (macko_type)FROM;
  unsigned bits = 0;
  if (fabs(macko_float_at(from, values, p)) < 65504) return bits;
  if (FROM != MACKO_F16 && macko_overflows(from, MACKO_F16, values, p)) bits |= 1u << (MACKO_OVERFLOWS + MACKO_F16);
  if (FROM != MACKO_BF16 && macko_overflows(from, MACKO_BF16, values, p)) bits |= 1u << (MACKO_OVERFLOWS + MACKO_BF16);
  if (FROM == MACKO_F64 && macko_overflows(from, MACKO_F32, values, p)) bits |= 1u << (MACKO_OVERFLOWS + MACKO_F32);
  return bits;
}

/* A warp puts together what its lanes found, and asks for an atomic only if that adds a bit, which is soon never. */
template <int FROM> static __global__ void misfits_kernel(const void *values, int64_t nnz, int overflows, unsigned *misfits)
{
  unsigned bits = 0;
  each_value<FROM>(values, nnz, [&](int64_t p, uint64_t) {
    bits = misfits_of<FROM>(values, p, bits);
    if (overflows) bits |= overflows_of<FROM>(values, p);
    return overflows || bits != asked_of<FROM>();
  });
  bits = __reduce_or_sync(EVERY, bits);
  if (lane_number() == 0 && bits & ~*(volatile unsigned *)misfits) atomicOr(misfits, bits);
}

extern "C" cudaError_t macko_find_misfits(const macko_device_csr *a, int overflows, unsigned *misfits, cudaStream_t stream)
{
  auto kernel = misfits_kernel<MACKO_BF16>;
  if (a->value_type == MACKO_F64) kernel = misfits_kernel<MACKO_F64>;
  else if (a->value_type == MACKO_F32) kernel = misfits_kernel<MACKO_F32>;
  else if (a->value_type == MACKO_F16) kernel = misfits_kernel<MACKO_F16>;
  return launch(kernel, VALUE_BLOCKS, ENCODE_THREADS, 0, stream, a->values, a->nnz, overflows, misfits);
}

/* ---- the dictionary ---- */

/* Puts all values into the set. It ends early where there are too many: each thread that has not yet noticed adds one at most. */
template <int TYPE> static __global__ void collect_kernel(const void *values, int64_t nnz, macko_device_dictionary d)
{
  each_value<TYPE>(values, nnz, [&](int64_t, uint64_t bits) {
    const bool room = *(volatile unsigned *)d.used <= MACKO_DICT_LIMIT;
    if (room) insert(d, bits);
    return room;
  });
}

extern "C" cudaError_t macko_collect_values(const macko_device_csr *a, const macko_device_dictionary *d, cudaStream_t stream)
{
  size_t slots = (size_t)d->slots + 1;
  cudaError_t error = cudaMemsetAsync(d->keys, 0xff, slots * sizeof *d->keys, stream);
  if (!error) error = cudaMemsetAsync(d->used, 0, sizeof *d->used, stream);
  if (error) return error;
  auto kernel = collect_kernel<MACKO_BF16>;
  if (a->value_type == MACKO_F64) kernel = collect_kernel<MACKO_F64>;
  else if (a->value_type == MACKO_F32) kernel = collect_kernel<MACKO_F32>;
  else if (a->value_type == MACKO_F16) kernel = collect_kernel<MACKO_F16>;
  return launch(kernel, COLLECT_BLOCKS, ENCODE_THREADS, 0, stream, a->values, a->nnz, *d);
}

/* ---- writing ---- */

/* Does f for all entries, as value_set.cuh has it, a thread an entry: slot and rank are the entry's number. */
template <typename F> static __global__ void entries_kernel(int64_t nnz, F f)
{
  int64_t p = thread_number();
  if (p < nnz) f.write(p, (uint64_t)p, f.read(p, p, false));
}

/* Starts that kernel, or nothing for a matrix without entries. */
template <typename F> static cudaError_t walk(const macko_device_csr *a, const F &f, cudaStream_t stream)
{
  if (!a->nnz) return cudaSuccess;
  return launch(entries_kernel<F>, blocks_for(a->nnz), ENCODE_THREADS, 0, stream, a->nnz, f);
}

extern "C" cudaError_t macko_rank_values(const macko_device_csr *a, const macko_device_dictionary *set, cudaStream_t stream)
{
  cudaError_t error = clear_ranks(set, stream);
  return error ? error : walk(a, rank_values<plain_value>{{*a}, *set}, stream);
}

extern "C" cudaError_t macko_write_stream(const macko_device_csr *a, const macko_device_matrix *d,
                                          const macko_device_dictionary *set, cudaStream_t stream)
{
  return put_values(a, d, plain_value{*a}, set, [&](const auto &put) { return walk(a, put, stream); });
}
