/* Kernels of variants paper and shared of format eccsr, and which of them a product takes. */
#include "eccsr/eccsr_bundles.cuh"
#include "eccsr/eccsr_device.h"

/* The threads of a block. One where x is staged has a multiprocessor to itself, and as many threads as there are registers for. */
enum { THREADS = 256, MOST_THREADS = 1024 };
template <typename SUM, int GROUP> constexpr int staged_threads = GROUP == 1 && sizeof(SUM) == 4 ? MOST_THREADS : MOST_THREADS / 2;

template <int STORED, int VECTOR, typename SUM, int GROUP, int STAGED>
static __global__ void __launch_bounds__(STAGED ? staged_threads<SUM, GROUP> : THREADS)
  bundles_kernel(bundles a, device_values values, device_vectors v)
{
  extern __shared__ double shared[];
  take_bundles<STORED, VECTOR, SUM, GROUP, STAGED>(a, values, v, (SUM *)shared);
}

/* These are the types that have kernels of their own: weights of networks, and what solvers have. */
#define MACKO_ECCSR_BUNDLE_TYPES MACKO_CASE(F64, F64) MACKO_CASE(F32, F32) MACKO_CASE(F16, F32) MACKO_CASE(F16, F16)

template <int STORED, int VECTOR> constexpr bool has_own_kernels()
{
#define MACKO_CASE(stored, vector) if (STORED == MACKO_##stored && VECTOR == MACKO_##vector) return true;
  MACKO_ECCSR_BUNDLE_TYPES
#undef MACKO_CASE
  return false;
}

/* Gives the shared memory for the sums of all crews of a block of so many threads. */
static int64_t sums_bytes(const bundles &a, int threads, int64_t of_row)
{
  return (int64_t)(threads / a.lanes) * ROWS * of_row;
}

/* This is what run_product calls to start the kernel for its types. */
struct bundles_launch {
  bundles a;
  const device_eccsr *own;
  int64_t slots; /* of codes */
  cudaStream_t stream;
  static constexpr int AT_ONCE = 1, RARE = MACKO_ANY;

  /* Sets how many warps take a bundle together: as many as can be busy when every multiprocessor, of so many resident threads, has
   * its share of the bundles at the same time. A bundle has sixteen blocks at least, one a row. */
  void choose_team(int threads, int resident, bundles *with_team) const
  {
    const int64_t of_one = (a.count + own->gpu.multiprocessors - 1) / own->gpu.multiprocessors;
    *with_team = a;
    with_team->team = 1;
    for (int team = 2; team <= threads / WARP && team * of_one <= resident / WARP && team * WARP / a.lanes <= ROWS;
         team *= 2)
      with_team->team = team;
  }

  template <int STORED, int VECTOR, typename SUM, int GROUP, int STAGED>
  cudaError_t start(int64_t x_bytes, const device_values &values, const device_vectors &v) const
  {
    const int threads = STAGED ? staged_threads<SUM, GROUP> : THREADS;
    bundles with_team;
    choose_team(threads, STAGED ? threads : MOST_THREADS, &with_team);
    auto kernel = bundles_kernel<STORED, VECTOR, SUM, GROUP, STAGED>;
    const int64_t teams = threads / WARP / with_team.team, bytes = sums_bytes(a, threads, GROUP * (int64_t)sizeof(SUM)) + x_bytes;
    const int64_t most = STAGED ? own->gpu.multiprocessors : INT32_MAX;
    /* What is set is always the same, as other threads may be setting it for other matrices. */
    cudaError_t error = cudaSuccess;
    if (bytes > 48 << 10) error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, own->gpu.shared_bytes);
    int64_t blocks = (a.count + teams - 1) / teams;
    return error ? error : launch(kernel, (unsigned)(blocks < most ? blocks : most), threads, (size_t)bytes, stream, with_team,
                                  values, v);
  }

  /* x is staged where it fits, and where a multiprocessor reads each of its elements several times; gaps are short then. */
  template <int STORED, int VECTOR, typename SUM, int GROUP>
  cudaError_t run(const device_values &values, const device_vectors &v) const
  {
    if constexpr (has_own_kernels<STORED, VECTOR>()) {
      const int64_t of_row = GROUP * (int64_t)sizeof(SUM), x_bytes = (a.ncols + 1) * of_row;
      if (a.bits <= 8 && sums_bytes(a, staged_threads<SUM, GROUP>, of_row) + x_bytes <= own->gpu.shared_bytes &&
          slots >= 4 * a.ncols * own->gpu.multiprocessors)
        return start<STORED, VECTOR, SUM, GROUP, 1>(x_bytes, values, v);
      return start<STORED, VECTOR, SUM, GROUP, 0>(0, values, v);
    } else return start<MACKO_ANY, MACKO_ANY, SUM, GROUP, 0>(0, values, v);
  }
};

/* Granules of values are the most of what is counted: every block has some, and of codes no more. */
macko_status macko_eccsr_bundles_check(const macko_device_matrix *d, macko_error *err)
{
  const int64_t granules = macko_eccsr_paper_counts_of(&d->m.plan)->rows;
  if (granules <= INT32_MAX) return MACKO_OK;
  return macko_fail(err, MACKO_LIMIT, "format eccsr on a GPU: %lld granules of values are more than %d", (long long)granules,
                    INT32_MAX);
}

macko_status macko_eccsr_bundles_multiply(const macko_device_matrix *d, const macko_product *p, cudaStream_t stream,
                                          macko_error *err)
{
  const macko_eccsr_paper_counts *c = macko_eccsr_paper_counts_of(&d->m.plan);
  bundles a = {};
  a.starts = (const int64_t *)macko_device_data(d, "bundles");
  a.masks = (const uint16_t *)macko_device_data(d, "masks");
  a.granules = (const uint32_t *)macko_device_data(d, "granules"), a.gaps = (const uint32_t *)macko_device_data(d, "gaps");
  a.bases = (const int32_t *)macko_device_data(d, "bases"), a.rows = (const int32_t *)macko_device_data(d, "rows");
  a.bits = d->m.plan.gap_bits, a.lanes = (int)c->lanes;
  a.count = (uint32_t)macko_eccsr_bundles(d->m.nrows), a.nrows = d->m.nrows, a.ncols = d->m.ncols;
  const int64_t slots = c->granules * macko_eccsr_granule(c->lanes);
  return run_product(bundles_launch{a, (const device_eccsr *)d->own, slots, stream}, d, p, 1, err);
}
