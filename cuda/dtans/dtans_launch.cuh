/* Format dtans on the device: from a product to a kernel. Each kind of streams has a file of its own, as its kernels take long to
 * compile. */
#ifndef MACKO_DTANS_LAUNCH_CUH
#define MACKO_DTANS_LAUNCH_CUH

#include "dtans/dtans_equal.cuh"
#include "dtans/dtans_lanes.cuh"

enum { THREADS = 128, MOST_SLICES = 4 /* of a warp, one after the other */ };

/* Gives the number of blocks that a multiprocessor should hold at least, which bounds the registers; measured on an H200. */
template <int KIND, int ONE_ROW, int GROUP> constexpr int least_blocks()
{
  return GROUP > 1 ? 3 : KIND != MACKO_DTANS_JOINT ? 5 : ONE_ROW ? 7 : 8;
}

/* Takes every `warps`-th slice. KIND, GROUPS and POWERS say how streams are coded, ONE_ROW that lanes have one row each. */
template <int KIND, int GROUPS, int POWERS, int ONE_ROW, int VECTOR, typename SUM, int GROUP>
static __global__ void __launch_bounds__(THREADS, (least_blocks<KIND, ONE_ROW, GROUP>()))
    dtans_kernel(dtans_matrix a, device_values values, device_vectors v)
{
  extern __shared__ uint4 memory[];
  tables_of<KIND, SUM, POWERS> t;
  int lane = threadIdx.x % WARP;
  int64_t warps = (int64_t)gridDim.x * (THREADS / WARP), slice = (int64_t)blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP;
  t.fill(a, (char *)memory);
  __syncthreads();
  if (!ONE_ROW) {
    for (; slice < a.count; slice += warps) multiply_lanes<KIND, GROUPS, POWERS, VECTOR, SUM, GROUP>(a, t, values, v, slice,
                                                                                                     lane);
    return;
  }
  if (slice >= a.count) return;
  /* What tells where a slice is comes one slice ahead. */
  slice_place next = place_of(a, slice);
  int length = row_length(a, slice * WARP + lane);
  while (slice < a.count) {
    slice_place place = next;
    int left = length;
    int64_t row = slice * WARP + lane;
    slice += warps;
    if (slice < a.count) {
      next = place_of(a, slice), length = row_length(a, slice * WARP + lane);
      if constexpr (KIND == MACKO_DTANS_BESIDE) ask_for_values(values, next.start[1], length);
    }
    multiply_rows<KIND, GROUPS, POWERS, VECTOR, SUM, GROUP>(a, t, values, v, place, row, left);
  }
}

/* ---- from a product to a kernel ---- */

/* Does the same for kernels of tables whose symbols all have 256 slots. */
template <int KIND, int SHORT, int GROUP> constexpr int equal_blocks()
{
  return GROUP > 1 ? 4 : KIND == MACKO_DTANS_BESIDE ? (SHORT ? 6 : 5) : SHORT ? 8 : 6;
}

/* Goes from a product to a kernel, step by step: each function fixes one more template argument by what is known at run time. */
struct dtans_launch {
  dtans_matrix a;
  device_values values;
  const macko_product *product;
  cudaStream_t stream;
  int multiprocessors, shared_bytes; /* of the device; that a block may have */
  cudaError_t *error;

  template <int KIND, int GROUPS, int POWERS, int ONE_ROW, int VECTOR, typename SUM, int GROUP>
  void run_rows(const device_vectors &v) const
  {
    auto kernel = dtans_kernel<KIND, GROUPS, POWERS, ONE_ROW, VECTOR, SUM, GROUP>;
    int bytes = tables_of<KIND, SUM, POWERS>::bytes(a);
    int64_t blocks = (a.count + THREADS / WARP - 1) / (THREADS / WARP);
    /* Where blocks are many, each keeps its tables for several slices; fewer than four waves of blocks would end raggedly. */
    int64_t slices = blocks / (4 * (int64_t)multiprocessors * least_blocks<KIND, ONE_ROW, GROUP>());
    if (slices > MOST_SLICES) slices = MOST_SLICES;
    if (ONE_ROW && slices > 1) blocks = (blocks + slices - 1) / slices;
    if (blocks > INT32_MAX) blocks = INT32_MAX;
    /* What is set is always the same, as other threads may be setting it for other matrices. */
    if (bytes > 48 << 10) *error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
    if (!*error) *error = launch(kernel, (unsigned)blocks, THREADS, (size_t)bytes, stream, a, values, v);
  }

  /* Starts the kernel for equal symbols. There are no more blocks than run at once: each goes through its slices with the next
   * one on its way. */
  template <int KIND, int SHORT, int VECTOR, typename SUM, int GROUP> void run_equal(const device_vectors &v) const
  {
    constexpr int BLOCKS = equal_blocks<KIND, SHORT, GROUP>();
    int64_t blocks = (a.count + THREADS / WARP - 1) / (THREADS / WARP), most = (int64_t)multiprocessors * BLOCKS;
    auto kernel = equal_kernel<KIND, SHORT, VECTOR, SUM, GROUP, THREADS, BLOCKS>;
    *error = launch(kernel, (unsigned)(blocks < most ? blocks : most), THREADS, 0, stream, a, values, v);
  }

  template <int KIND, int GROUPS, int POWERS, int ONE_ROW, int VECTOR, typename SUM, int GROUP>
  void run(const device_vectors &v) const
  {
    if constexpr (POWERS != MACKO_DTANS_EQUAL) run_rows<KIND, GROUPS, POWERS, ONE_ROW, VECTOR, SUM, GROUP>(v);
    else if constexpr (VECTOR == MACKO_ANY) run_equal<KIND, 0, VECTOR, SUM, GROUP>(v);
    else if (a.longest <= MACKO_DTANS_SEGMENT) run_equal<KIND, 1, VECTOR, SUM, GROUP>(v);
    else run_equal<KIND, 0, VECTOR, SUM, GROUP>(v);
  }

  /* Goes through the vectors. Lanes of one row, which are made for speed, have kernels for groups of vectors and for a known
   * number of groups of digits; other codings and vectors share one that takes vectors one by one. */
  template <int KIND, int GROUPS, int POWERS, int ONE_ROW> void run_vectors() const
  {
    constexpr int OTHER = ONE_ROW && POWERS != MACKO_DTANS_EQUAL ? 0 : GROUPS, OTHER_ROW = POWERS == MACKO_DTANS_EQUAL;
    int f32 = product->vector_type == MACKO_F32 && a.value_type != MACKO_F64;
    for (int64_t j = 0; !*error && j < product->k;) {
      device_vectors v = vectors_from(product, j);
      if constexpr (ONE_ROW)
        if (product->vector_type == MACKO_F64 && product->k - j >= MACKO_DEVICE_GROUP) {
          run<KIND, GROUPS, POWERS, ONE_ROW, MACKO_F64, double, MACKO_DEVICE_GROUP>(v);
          j += MACKO_DEVICE_GROUP;
          continue;
        }
      if (product->vector_type == MACKO_F64) run<KIND, GROUPS, POWERS, ONE_ROW, MACKO_F64, double, 1>(v);
      else if (f32) run<KIND, GROUPS, POWERS, ONE_ROW, MACKO_F32, float, 1>(v);
      else run<KIND, OTHER, POWERS, OTHER_ROW, MACKO_ANY, double, 1>(v);
      j++;
    }
  }

  /* Runs the product if streams are coded as the arguments say, and says whether; GROUPS 0: as that is known at run time. */
  template <int KIND, int GROUPS, int DIGITS, int ONE_ROW> bool run_if(const macko_dtans_device *own) const
  {
    if (own->kind != KIND || (GROUPS && own->groups != GROUPS) || own->digits != DIGITS || (ONE_ROW && own->rows != 1))
      return false;
    run_vectors<KIND, GROUPS, DIGITS, ONE_ROW>();
    return true;
  }

  /* Tries all codings of a kind but equal symbols, the ones made for speed first. */
  template <int KIND> bool run_any(const macko_dtans_device *own) const
  {
    return run_if<KIND, 2, MACKO_DTANS_ANY, 1>(own) || run_if<KIND, 2, MACKO_DTANS_POWERS, 1>(own) ||
           run_if<KIND, 0, MACKO_DTANS_ANY, 0>(own) || run_if<KIND, 0, MACKO_DTANS_POWERS, 0>(own);
  }
};

/* Start the product for streams of that kind; each is in a file of its own. */
void macko_dtans_run_joint(const dtans_launch &l, const macko_dtans_device *own);
void macko_dtans_run_beside(const dtans_launch &l, const macko_dtans_device *own);
void macko_dtans_run_split(const dtans_launch &l, const macko_dtans_device *own); /* and paper */

#endif
