/* Format eccsr on the GPU: which slices several warps share, and where the part of each begins. */
#include "core/block.cuh"
#include "eccsr/eccsr.cuh"

/* One block of threads lists the blocks of a product: each thread looks at four slices at a time. */
enum { LISTERS = 1024, TOGETHER = 4 };

static const char what[] = "sharing slices among warps";

/* Gives, as the logarithm of their number, how many warps take each of so many slices from one on: the longest is shared until a
 * part has `most` steps at most. */
static __device__ int log_parts(const eccsr &a, int64_t slice, int slices, uint32_t most)
{
  uint32_t longest = 0;
  for (int i = 0; i < slices; i++) longest = max(longest, load_slice(a, slice + i).steps);
  return longest <= most ? 0 : longest <= 2 * most ? 1 : 2;
}

/* Lists the blocks of threads in list, those that share slices first, so that the longest slices begin before others, and sets
 * numbers to how many blocks share slices and how many do not. list may be NULL: they are only counted; else numbers must have been
 * set. */
static __global__ void __launch_bounds__(LISTERS) list_kernel(eccsr a, uint32_t most, uint64_t *list, int64_t *numbers)
{
  int64_t shared = 0, whole = list ? numbers[0] : 0;
  for (int64_t first = 0; first < a.count; first += TOGETHER * LISTERS) {
    const int64_t slice = first + TOGETHER * (int64_t)threadIdx.x, left = a.count - slice;
    const int slices = (int)max((int64_t)0, min(left, (int64_t)TOGETHER)), log = log_parts(a, slice, slices, most);
    const int each = WARPS >> log, blocks = (slices + each - 1) / each;
    uint64_t all_shared, all_whole;
    const int64_t of_shared = shared + (int64_t)scan_block(log ? blocks : 0, &all_shared);
    const int64_t of_whole = whole + (int64_t)scan_block(log ? 0 : blocks, &all_whole);
    for (int i = 0; list && i < blocks; i++)
      list[(log ? of_shared : of_whole) + i] = (uint64_t)(slice + i * each) << 2 | (uint64_t)log;
    shared += (int64_t)all_shared, whole += (int64_t)all_whole;
  }
  if (threadIdx.x == 0 && !list) numbers[0] = shared, numbers[1] = whole;
}

/* Goes through the steps of a slice before `from` and notes where the run before it begins, and how many values and gaps lie
 * before. A warp does it; all of its lanes take part. */
static __device__ void note_start(const eccsr &a, const macko_eccsr_slice &s, int from, eccsr_start *start)
{
  const eccsr_lane l = open_lane(a, s);
  const int lane = threadIdx.x % WARP;
  eccsr_gaps gaps = open_gaps(a, s, l);
  unsigned lanes;
  int64_t values = 0;
  int col = l.length ? l.base : 0;
  for (int k = 0; k < from; k++) {
    const unsigned code = k ? next_gap<0>(gaps, l, &lanes) : next_gap<1>(gaps, l, &lanes);
    if (k && k < l.length) col += s.w + (int)code * s.unit;
    if (!s.masked) values += (int64_t)__popc(lanes) * s.w;
    else for (int j = 0; j < s.w; j++) values += __popc(__ldg(a.gaps + s.words + (int64_t)k * s.w + j));
  }
  start->columns[lane] = col;
  if (lane == 0) start->values = values, start->gaps = gaps.number;
}

/* Notes where the parts of the slices begin that blocks share, a warp a part. */
static __global__ void __launch_bounds__(THREADS) start_kernel(eccsr a, eccsr_start *starts)
{
  const int warp = threadIdx.x / WARP;
  const eccsr_task t = task_of(a.parts, blockIdx.x, warp);
  if (t.slice >= a.count || !t.number) return;
  const macko_eccsr_slice s = load_slice(a, t.slice);
  const eccsr_part part = part_of((int)s.steps, t.number, t.parts, NULL);
  if (part.from < part.to) note_start(a, s, part.from, starts + (int64_t)blockIdx.x * WARPS + warp);
}

/* Takes memory for the blocks and starts that are counted in *parts and fills it; `counted` has how many blocks share slices. What
 * fails leaves what was taken in *parts. */
static macko_status fill_parts(eccsr a, uint32_t most, int64_t *counted, cudaStream_t stream, eccsr_parts *parts, macko_error *err)
{
  void *list = NULL, *starts = NULL;
  macko_status s = macko_device_alloc(parts->count * (int64_t)sizeof *parts->blocks, what, &list, err);
  parts->blocks = (const uint64_t *)list;
  if (!s) s = macko_device_alloc(parts->shared * WARPS * (int64_t)sizeof *parts->starts, what, &starts, err);
  parts->starts = (const eccsr_start *)starts;
  a.parts = *parts;
  if (!s)
    s = macko_cuda_status(launch(list_kernel, 1, LISTERS, 0, stream, a, most, (uint64_t *)list, counted), what, err);
  if (!s)
    s = macko_cuda_status(launch(start_kernel, (unsigned)parts->shared, THREADS, 0, stream, a, (eccsr_start *)starts), what, err);
  return s ? s : macko_cuda_status(cudaStreamSynchronize(stream), what, err);
}

/* Counts the blocks first, as that says how much memory they take. */
macko_status macko_eccsr_list_parts(const eccsr &a, uint32_t most, cudaStream_t stream, eccsr_parts *parts, macko_error *err)
{
  int64_t numbers[2] = {0}, *counted = NULL;
  *parts = {};
  macko_status s = macko_device_alloc((int64_t)sizeof numbers, what, (void **)&counted, err);
  if (!s) s = macko_cuda_status(launch(list_kernel, 1, LISTERS, 0, stream, a, most, (uint64_t *)NULL, counted), what, err);
  if (!s) s = macko_cuda_status(cudaMemcpyAsync(numbers, counted, sizeof numbers, cudaMemcpyDeviceToHost, stream), what, err);
  if (!s) s = macko_cuda_status(cudaStreamSynchronize(stream), what, err);
  if (!s && numbers[0]) {
    parts->count = numbers[0] + numbers[1], parts->shared = numbers[0];
    s = fill_parts(a, most, counted, stream, parts, err);
  }
  cudaFree(counted);
  if (s) macko_eccsr_free_parts(parts);
  return s;
}

int64_t macko_eccsr_parts_bytes(const eccsr_parts *parts)
{
  return parts->count * (int64_t)sizeof *parts->blocks + parts->shared * WARPS * (int64_t)sizeof *parts->starts;
}

void macko_eccsr_free_parts(eccsr_parts *parts)
{
  cudaFree((void *)parts->blocks);
  cudaFree((void *)parts->starts);
  *parts = {};
}
