/* From a product to a kernel: the combinations of stored type, vector type and accumulator that have kernels of their own. */
#ifndef MACKO_PRODUCT_CUH
#define MACKO_PRODUCT_CUH

#include "core/element.cuh"
#include "core/launch.cuh"

/* So many vectors are multiplied in one pass over the matrix, and at most so many at once by blocks of their own. */
enum { MACKO_DEVICE_GROUP = 4, MACKO_DEVICE_AT_ONCE = 32 };

/* Gives the vectors of p from number j on, as kernels take them. */
static inline device_vectors vectors_from(const macko_product *p, int64_t j)
{
  return vectors_after({p->x, p->y, p->ldx, p->ldy, p->alpha, p->beta, p->vector_type, 1}, j);
}

/* Gives the product of those vectors of p that are left after the first `done`. */
static inline macko_product product_after(const macko_product *p, int64_t done)
{
  macko_product rest = *p;
  const device_vectors v = vectors_from(p, done);
  rest.k = p->k - done, rest.x = v.x, rest.y = v.y;
  return rest;
}

/* This is the table of a dictionary, in device memory, in the types of accumulators. What a format that has dictionaries owns
 * of a matrix (d->own) begins with them, where value_tables_of finds them. */
struct device_tables {
  double *as_f64; /* NULL without a dictionary; one allocation with as_f32 */
  float *as_f32;  /* NULL where the values are f64 */
};

/* Makes the tables of the dictionary in section "dict" of *d, for the plan of *host; *t is zero before the first time. The
 * owner frees as_f64 with cudaFree, which frees both. Errors: OUT_OF_MEMORY, DEVICE. */
macko_status macko_prepare_tables(device_tables *t, macko_device_matrix *d, const macko_matrix *host, cudaStream_t stream,
                                  macko_error *err);

/* Gives the table that values are looked up in: for 8-bit codes a copy in shared memory, which has room for 256 elements, else
 * where it is. All threads of the block must take part. */
template <int STORED, typename SUM>
static __device__ __forceinline__ const SUM *share_table(const device_values &values, SUM *shared_table)
{
  const SUM *table = (const SUM *)values.table;
  if constexpr (STORED == MACKO_U8) {
    for (int i = threadIdx.x; i < values.table_entries; i += (int)blockDim.x) shared_table[i] = table[i];
    __syncthreads();
    table = shared_table;
  }
  return table;
}

/* Gives the tables of a matrix whose plan has a dictionary, else NULL. */
static inline const device_tables *value_tables_of(const macko_device_matrix *d)
{
  return d->m.plan.table ? (const device_tables *)d->own : NULL;
}

/* Gives the stream of values of *d for kernels that add up in f64. */
static inline device_values values_of(const macko_device_matrix *d)
{
  const device_tables *t = value_tables_of(d);
  const void *table = macko_device_data(d, "dict");
  return {macko_device_data(d, "values"), t ? t->as_f64 : table, d->m.plan.stored_type, d->m.value_type, (int)d->m.plan.table};
}

/* Counts one more and answers the count before, after what the thread has written is visible to the whole GPU. Unlike
 * __threadfence this leaves the first-level cache alone, which would else lose the elements of x that it holds. */
static __device__ __forceinline__ unsigned count_release(unsigned *count)
{
  unsigned before;
  asm volatile("atom.add.release.gpu.u32 %0, [%1], 1;" : "=r"(before) : "l"(count) : "memory");
  return before;
}

/* Says whether a combination of types has a kernel of its own for groups of so many vectors, or for one: kernels take long to
 * compile. The others share a kernel that learns the types when it runs and gives the same bits. */
template <int STORED, int VECTOR> constexpr bool has_kernel(int group)
{
  const bool narrow = STORED == MACKO_I8 || STORED == MACKO_U8;
  if (VECTOR == MACKO_F16 || VECTOR == MACKO_BF16) return STORED == VECTOR || narrow;
  if (group == 1 || STORED == VECTOR || narrow) return true;
  return VECTOR == MACKO_F64 ? STORED == MACKO_F32 : STORED == MACKO_F16 || STORED == MACKO_BF16;
}

/* Runs the kernel for these types and one group of vectors, or the one for rare types, which LAUNCH names as RARE. */
template <int STORED, int VECTOR, typename SUM, int GROUP, typename LAUNCH>
static cudaError_t run_group(const LAUNCH &to_run, const device_values &values, const device_vectors &v)
{
  constexpr bool IS_RARE = is_known<STORED> && !has_kernel<STORED, VECTOR>(GROUP);
  if constexpr (!IS_RARE) return to_run.template run<STORED, VECTOR, SUM, GROUP>(values, v);
  else return to_run.template run<LAUNCH::RARE, MACKO_ANY, SUM, GROUP>(values, v);
}

/* Says whether groups of vectors, which read the matrix once, are better than warps of each vector's own, where a warp takes 32
 * rows: not where a product waits for the longest warp, which goes through that many columns, or there are so few that the GPU has
 * room for those of all vectors (four of rmat:16 4.1 and 0.6 ms in slices, 6.0 and 1.7 in eccsr). SHARE of the longest are as many
 * entries as fill the GPU then. */
static inline int goes_in_groups(int64_t longest, int64_t nnz)
{
  enum { SHARE = 335, ROWS = 32 };
  return (double)longest * SHARE * ROWS <= (double)nnz;
}

/* Goes through the vectors of p: where `grouped` says so in groups as far as they make some, by run_group(v), then by run_one(v).
 * Either takes at most `at_once` vectors at a time, of groups one at least; v.count says how many groups that are. */
template <typename RUN_GROUP, typename RUN_ONE>
static cudaError_t go_through(const macko_product *p, int grouped, int at_once, const RUN_GROUP &run_group, const RUN_ONE &run_one)
{
  cudaError_t error = cudaSuccess;
  for (int64_t j = 0; !error && j < p->k;) {
    device_vectors v = vectors_from(p, j);
    const int group = grouped && p->k - j >= MACKO_DEVICE_GROUP ? MACKO_DEVICE_GROUP : 1;
    const int64_t left = (p->k - j) / group, most = at_once < group ? 1 : at_once / group;
    v.count = (int)(left < most ? left : most), j += (int64_t)v.count * group;
    error = group > 1 ? run_group(v) : run_one(v);
  }
  return error;
}

/* Says whether kernels for groups of so many vectors, or for one, take several at once: not for one of all types, as kernels take
 * long to compile. */
template <int STORED, typename SUM, int GROUP>
constexpr bool can_be_at_once = GROUP > 1 || sizeof(SUM) == 8 || STORED == MACKO_F32;

/* Starts kernels that take a, values and vectors: `one` for one group, `several` for more at once where there is such a kernel
 * (at_once), else `one` for each, with that share of shared memory. They may be the same. */
template <int GROUP, typename KERNEL, typename MATRIX>
static cudaError_t start_groups(int at_once, KERNEL one, KERNEL several, unsigned blocks, unsigned threads, cudaStream_t stream,
                                const MATRIX &a, const device_values &values, const device_vectors &v, int percent = DRIVERS_SHARE)
{
  if (at_once && v.count > 1) return launch(several, dim3(blocks, v.count), threads, 0, stream, a, values, v);
  cudaError_t error = cudaSuccess;
  for (int j = 0; !error && j < v.count; j++)
    error = launch_sharing(percent, one, blocks, threads, 0, stream, a, values, vectors_after(v, (int64_t)j * GROUP));
  return error;
}

/* Does so by the kernels for these types, which take LAUNCH::AT_ONCE vectors at a time. Where one vector has a kernel of these
 * types and a group has none (16-bit codes), vectors go at once: by the kernel for rare types a group took twice as long as its
 * vectors (27 points of four unknowns, bytes in slices, when these had none: 194 instead of four times 25 us). */
template <int STORED, int VECTOR, typename SUM, typename LAUNCH>
static cudaError_t run_groups(const LAUNCH &to_run, const device_values &values, const macko_product *p, int grouped)
{
  constexpr int HAS_GROUPS = LAUNCH::AT_ONCE == 1 || !is_known<STORED> || has_kernel<STORED, VECTOR>(MACKO_DEVICE_GROUP) ||
                             !has_kernel<STORED, VECTOR>(1);
  return go_through(
    p, grouped && HAS_GROUPS, LAUNCH::AT_ONCE,
    [&](const device_vectors &v) { return run_group<STORED, VECTOR, SUM, MACKO_DEVICE_GROUP>(to_run, values, v); },
    [&](const device_vectors &v) { return run_group<STORED, VECTOR, SUM, 1>(to_run, values, v); });
}

/* Goes from types known at run time to those that kernels are compiled for: calls to_run.template run<STORED, VECTOR, SUM,
 * GROUP>(values, vectors), for groups of vectors where `grouped` says so. Sums are f64 where vectors or stored values are, or where
 * codes stand for f64, else f32. What is not in the list goes to the kernel for any types, which adds up in f64. */
template <typename LAUNCH>
static macko_status run_product(const LAUNCH &to_run, const macko_device_matrix *d, const macko_product *p, int grouped,
                                macko_error *err)
{
  device_values values = values_of(d), as_f32 = values;
  const device_tables *t = value_tables_of(d);
  int f64_table = d->m.plan.table > 0 && d->m.value_type == MACKO_F64;
  cudaError_t error;
  if (t) as_f32.table = t->as_f32;
#define MACKO_CASE(stored, vector, sum, table) \
  if (values.stored_type == MACKO_##stored && p->vector_type == MACKO_##vector && (sizeof(sum) == 8 || !f64_table)) \
    error = run_groups<MACKO_##stored, MACKO_##vector, sum>(to_run, table, p, grouped); \
  else
  MACKO_CASE(F64, F64, double, values)
  MACKO_CASE(F32, F64, double, values)
  MACKO_CASE(F16, F64, double, values)
  MACKO_CASE(BF16, F64, double, values)
  MACKO_CASE(I8, F64, double, values)
  MACKO_CASE(U8, F64, double, values)
  MACKO_CASE(U16, F64, double, values)
  MACKO_CASE(F32, F32, float, values)
  MACKO_CASE(F16, F32, float, values)
  MACKO_CASE(BF16, F32, float, values)
  MACKO_CASE(I8, F32, float, values)
  MACKO_CASE(U8, F32, float, as_f32)
  MACKO_CASE(U16, F32, float, as_f32)
  MACKO_CASE(F16, F16, float, values)
  MACKO_CASE(I8, F16, float, values)
  MACKO_CASE(U8, F16, float, as_f32)
  MACKO_CASE(BF16, BF16, float, values)
  MACKO_CASE(I8, BF16, float, values)
  MACKO_CASE(U8, BF16, float, as_f32)
  error = run_groups<MACKO_ANY, MACKO_ANY, double>(to_run, values, p, grouped);
#undef MACKO_CASE
  return macko_cuda_status(error, "starting a multiply", err);
}

#endif
