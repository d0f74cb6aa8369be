/* The value codecs on the GPU: what can hold the values, the dictionary, and a stream of entries in their order. The rules are
 * those of lib/values/codecs.c, the arithmetic is lib/core/convert.h. */
#include "core/value_set.cuh"

enum { VALUE_BLOCKS = 2048 }; /* each thread takes several values, so that few ask for the same shared counters */

/* ---- what can hold the values ---- */

/* Gives what value p does not fit, as bits (macko_find_misfits). No type is asked whether it overflows itself, and f32 only for
 * values of f64. */
template <int FROM> static __device__ __forceinline__ unsigned misfits_of(const void *values, int64_t p)
{
  unsigned bits = 0;
  if (!macko_fits((macko_type)FROM, MACKO_I8, values, p)) bits |= 1u << MACKO_I8;
  if (!macko_fits((macko_type)FROM, MACKO_F16, values, p)) bits |= 1u << MACKO_F16;
  if (!macko_fits((macko_type)FROM, MACKO_BF16, values, p)) bits |= 1u << MACKO_BF16;
  if (!macko_fits((macko_type)FROM, MACKO_F32, values, p)) bits |= 1u << MACKO_F32;
  if (FROM != MACKO_F16 && macko_overflows((macko_type)FROM, MACKO_F16, values, p)) bits |= 1u << (MACKO_OVERFLOWS + MACKO_F16);
  if (FROM != MACKO_BF16 && macko_overflows((macko_type)FROM, MACKO_BF16, values, p)) bits |= 1u << (MACKO_OVERFLOWS + MACKO_BF16);
  if (FROM == MACKO_F64 && macko_overflows((macko_type)FROM, MACKO_F32, values, p)) bits |= 1u << (MACKO_OVERFLOWS + MACKO_F32);
  return bits;
}

/* A warp puts together what its lanes found, and asks for an atomic only if that adds a bit, which is soon never. */
template <int FROM> static __global__ void misfits_kernel(const void *values, int64_t nnz, unsigned *misfits)
{
  unsigned bits = 0;
  for (int64_t p = thread_number(); p < nnz; p += (int64_t)gridDim.x * blockDim.x) bits |= misfits_of<FROM>(values, p);
  bits = __reduce_or_sync(EVERY, bits);
  if (lane_number() == 0 && bits & ~*(volatile unsigned *)misfits) atomicOr(misfits, bits);
}

extern "C" cudaError_t macko_find_misfits(const macko_device_csr *a, unsigned *misfits, cudaStream_t stream)
{
  auto kernel = misfits_kernel<MACKO_BF16>;
  if (a->value_type == MACKO_F64) kernel = misfits_kernel<MACKO_F64>;
  else if (a->value_type == MACKO_F32) kernel = misfits_kernel<MACKO_F32>;
  else if (a->value_type == MACKO_F16) kernel = misfits_kernel<MACKO_F16>;
  return launch(kernel, VALUE_BLOCKS, ENCODE_THREADS, 0, stream, a->values, a->nnz, misfits);
}

/* ---- the dictionary ---- */

/* Puts all values into the set. It ends early where there are too many: each thread that has not yet noticed adds one at most. */
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
  return launch(collect_kernel, COLLECT_BLOCKS, ENCODE_THREADS, 0, stream, *a, *d);
}

/* ---- writing ---- */

/* Calls f(entry, slot, rank, chained), as value_set.cuh wants it, a thread an entry: slot and rank are the entry's number. */
template <typename F> static __global__ void entries_kernel(int64_t nnz, F f)
{
  int64_t p = thread_number();
  if (p < nnz) f(p, p, (uint64_t)p, false);
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
  return walk(a, put_value<plain_value>{{*a}, *a, *set, macko_device_data(d, "values"), d->m.plan.stored_type}, stream);
}
