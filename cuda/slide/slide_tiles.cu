/* Format slide where rows have many cells: a kernel for each width of blocks. A file of its own, as kernels take long to
 * compile. */
#include "slide/slide.cuh"

/* Starts the kernel for one width, for slots that may be empty or not. */
template <int STORED, int VECTOR, typename SUM, int N>
static cudaError_t run_width(const slide &a, const device_values &values, const device_vectors &v, cudaStream_t stream)
{
  const int64_t blocks = (a.nrows + WARPS - 1) / WARPS;
  const unsigned grid = (unsigned)(blocks > INT32_MAX ? INT32_MAX : blocks);
  const int aligned = (uintptr_t)v.x % 16 == 0;
  if (a.padded) return launch(tile_kernel<STORED, VECTOR, SUM, N, 1>, grid, THREADS, 0, stream, a, values, v, aligned);
  return launch(tile_kernel<STORED, VECTOR, SUM, N, 0>, grid, THREADS, 0, stream, a, values, v, aligned);
}

/* n is from 2 to 8, as the format has it. */
template <int STORED, int VECTOR, typename SUM>
cudaError_t macko_slide_run_tiles(const slide &a, const device_values &values, const device_vectors &v, cudaStream_t stream)
{
  switch (a.n) {
  case 2: return run_width<STORED, VECTOR, SUM, 2>(a, values, v, stream);
  case 3: return run_width<STORED, VECTOR, SUM, 3>(a, values, v, stream);
  case 4: return run_width<STORED, VECTOR, SUM, 4>(a, values, v, stream);
  case 5: return run_width<STORED, VECTOR, SUM, 5>(a, values, v, stream);
  case 6: return run_width<STORED, VECTOR, SUM, 6>(a, values, v, stream);
  case 7: return run_width<STORED, VECTOR, SUM, 7>(a, values, v, stream);
  default: return run_width<STORED, VECTOR, SUM, 8>(a, values, v, stream);
  }
}

/* These are the combinations of types that has_tiles names. */
#define TILES(stored, vector, sum) \
  template cudaError_t macko_slide_run_tiles<stored, vector, sum>(const slide &, const device_values &, const device_vectors &, \
                                                                 cudaStream_t);
TILES(MACKO_F64, MACKO_F64, double)
TILES(MACKO_F32, MACKO_F32, float)
TILES(MACKO_F16, MACKO_F32, float)
TILES(MACKO_F16, MACKO_F16, float)
