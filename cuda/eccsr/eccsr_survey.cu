/* Rows of a csr in device memory put into blocks and slices of format eccsr: warps compare rows, a block of threads takes a
 * window. The rules are those of lib/eccsr/eccsr_blocks.c, eccsr_aligned.c and eccsr_slices.c. */
#include "core/block.cuh"
#include "eccsr/eccsr_runs.cuh"

/* ROW_BLOCKS is the most blocks of threads that go through rows, a warp a row: their warps go on to further rows. SAMPLE_BLOCKS
 * are the most where each of them adds to the same counts. */
enum { WINDOW = MACKO_ECCSR_WINDOW, SLICES = MACKO_ECCSR_WINDOW_SLICES, ROW_BLOCKS = 8192, SAMPLE_BLOCKS = 1024 };

/* Gives the number of blocks of threads for so many rows, a warp each as far as there are blocks. */
static unsigned blocks_of_rows(int64_t rows)
{
  int64_t blocks = (rows + ENCODE_THREADS / WARP - 1) / (ENCODE_THREADS / WARP);
  return (unsigned)(blocks < ROW_BLOCKS ? blocks : (int64_t)ROW_BLOCKS);
}

/* Gives the number of warps of the launch. */
static __device__ __forceinline__ int64_t warps()
{
  return (int64_t)gridDim.x * blockDim.x / WARP;
}

/* Gives the number of rows of the window that begins with first_row: the last window has fewer. */
static __device__ __forceinline__ int rows_of(const macko_device_csr &a, int64_t first_row)
{
  return a.nrows - first_row < WINDOW ? (int)(a.nrows - first_row) : WINDOW;
}

/* ---- rows of equal columns ---- */

/* These are some of the windows of a csr: number `first`, every `every`-th from there on, `count` of them. */
struct some_windows {
  int64_t first, every, count;
};

/* Gives all windows, or those of the sample, which are the host's. */
static some_windows windows_of(const macko_device_csr *a, int sampled)
{
  const int64_t all = (a->nrows + WINDOW - 1) / WINDOW, first = macko_eccsr_first_sampled(all);
  if (!sampled) return {0, 1, all};
  return {first, MACKO_ECCSR_SAMPLED, (all - first + MACKO_ECCSR_SAMPLED - 1) / MACKO_ECCSR_SAMPLED};
}

/* Gives the first row of the window that holds row number i of them. */
static __device__ __forceinline__ int64_t start_of(const some_windows &w, int64_t i)
{
  return (w.first + i / WINDOW * w.every) * WINDOW;
}

/* Sets same for every row of the windows: a warp compares the lengths and then the columns of two rows, and stops at the first
 * difference that a lane finds. */
static __global__ void compare_kernel(macko_device_csr a, some_windows w, uint8_t *same)
{
  for (int64_t i = warp_number(); i < w.count * WINDOW; i += warps()) {
    const int64_t row = start_of(w, i) + i % WINDOW;
    bool differ = i % WINDOW == 0;
    if (row >= a.nrows) continue;
    if (!differ) {
      int64_t p = row_start(a, row - 1), q = row_start(a, row), n = q - p;
      differ = row_start(a, row + 1) - q != n;
      for (int64_t k = lane_number(); !differ && k < n; k += WARP) differ = column(a, p + k) != column(a, q + k);
    }
    differ = __any_sync(EVERY, differ);
    if (lane_number() == 0) same[row] = !differ;
  }
}

extern "C" cudaError_t macko_eccsr_compare_rows(const macko_device_csr *a, int sampled, uint8_t *same, cudaStream_t stream)
{
  const some_windows w = windows_of(a, sampled);
  return launch(compare_kernel, blocks_of_rows(w.count * WINDOW), ENCODE_THREADS, 0, stream, *a, w, same);
}

/* Counts the rows from `row` on that have its columns, it included, in a window that ends before row `past`. */
static __device__ int count_equal(const uint8_t *same, int64_t row, int64_t past)
{
  int64_t end = row + 1;
  while (end < past && same[end]) end++;
  return (int)(end - row);
}

/* Says whether the n columns from entry p on are runs of w consecutive columns. All lanes of the warp take part: columns rise,
 * so that the first and last of a run tell of it. */
static __device__ bool is_cut(const macko_device_csr &a, int64_t p, int64_t n, int w)
{
  bool apart = n % w != 0;
  for (int64_t k = (int64_t)lane_number() * w; !apart && w > 1 && k < n; k += (int64_t)WARP * w)
    apart = column(a, p + k + w - 1) - column(a, p + k) != w - 1;
  return !__any_sync(EVERY, apart);
}

/* ---- the sample ---- */

/* Adds the windows of the sample to *counts: a warp takes each row that begins a group of rows of equal columns, and finds the
 * widest runs that its columns are cut into. Counts are integers, so that atomics in any order give the same. Those of a block
 * of threads are added first, as most rows count in the same few places. */
static __global__ void sample_kernel(macko_device_csr a, const uint8_t *same, some_windows windows, macko_eccsr_sampled *counts)
{
  constexpr int WORDS = sizeof *counts / sizeof(unsigned long long);
  __shared__ macko_eccsr_sampled mine;
  for (int i = threadIdx.x; i < WORDS; i += blockDim.x) ((unsigned long long *)&mine)[i] = 0;
  __syncthreads();
  for (int64_t i = warp_number(); i < windows.count * WINDOW; i += warps()) {
    const int64_t start = start_of(windows, i), row = start + i % WINDOW, past = start + rows_of(a, start);
    if (row >= past || same[row]) continue;
    int64_t p = row_start(a, row), n = row_start(a, row + 1) - p;
    int w = MACKO_ECCSR_MAX_RUN, count = count_equal(same, row, past);
    if (n == 0) continue;
    while (w > 1 && !is_cut(a, p, n, w)) w--;
    if (lane_number()) continue;
    const unsigned long long entries = (unsigned long long)(n * count);
    const int pieces = (count + MACKO_ECCSR_MOST_EQUAL - 1) / MACKO_ECCSR_MOST_EQUAL;
    if (count <= MACKO_ECCSR_MOST_EQUAL) atomicAdd(&mine.rows[count], entries);
    atomicAdd(&mine.run[w], entries), atomicAdd(&mine.entries, entries);
    atomicAdd(&mine.blocks, (unsigned long long)pieces), atomicAdd(&mine.reads, (unsigned long long)(pieces * n));
    atomicAdd(&mine.runs, (unsigned long long)(pieces * (n / w)));
  }
  __syncthreads();
  for (int i = threadIdx.x; i < WORDS; i += blockDim.x) {
    const unsigned long long sum = ((const unsigned long long *)&mine)[i];
    if (sum) atomicAdd((unsigned long long *)counts + i, sum);
  }
}

extern "C" cudaError_t macko_eccsr_sample_rows(const macko_device_csr *a, const uint8_t *same, macko_eccsr_sampled *counts,
                                               cudaStream_t stream)
{
  const some_windows w = windows_of(a, 1);
  const unsigned blocks = blocks_of_rows(w.count * WINDOW);
  return launch(sample_kernel, blocks < SAMPLE_BLOCKS ? blocks : (unsigned)SAMPLE_BLOCKS, ENCODE_THREADS, 0, stream, *a, same, w,
                counts);
}

/* Tells whether one of the entries p .. past - 1, whose columns rise, has a column of the run that begins with `start`. */
static __device__ __forceinline__ bool has_run(const macko_device_csr &a, int64_t p, int64_t past, int64_t start, int w)
{
  for (int64_t end = past; p < end;) {
    const int64_t middle = (p + end) / 2;
    if (column(a, middle) < start) p = middle + 1;
    else end = middle;
  }
  return p < past && column(a, p) < start + w;
}

/* Gives the number of runs of w columns, each from a multiple of w on, that the entries of g rows from `row` on lie in. All lanes
 * of the warp take part: a lane takes an entry, and counts it where neither the entry before nor a row before has its run. */
static __device__ unsigned count_merged(const macko_device_csr &a, int64_t row, int g, int w)
{
  unsigned count = 0;
  for (int r = 0; r < g; r++) {
    const int64_t p = row_start(a, row + r), past = row_start(a, row + r + 1);
    for (int64_t k = p + lane_number(); k < past; k += WARP) {
      const int64_t col = column(a, k), start = col - (int64_t)((uint64_t)col % (unsigned)w);
      bool met = k > p && column(a, k - 1) >= start;
      for (int q = 0; q < r && !met; q++) met = has_run(a, row_start(a, row + q), row_start(a, row + q + 1), start, w);
      count += !met;
    }
  }
  return sum_of_lanes(count, WARP);
}

/* Adds the groups of the windows of the sample to *counts, a warp a group of each number of rows. */
static __global__ void groups_kernel(macko_device_csr a, some_windows windows, macko_eccsr_groups *counts)
{
  constexpr int EACH = MACKO_ECCSR_GROUPS * (MACKO_ECCSR_MAX_RUN - 1);
  const int64_t start = start_of(windows, warp_number() / EACH * WINDOW);
  const int i = (int)(warp_number() % EACH), b = 2 + i / MACKO_ECCSR_GROUPS;
  if (warp_number() >= windows.count * EACH || a.nrows % b) return;
  const int64_t row = start + macko_eccsr_group(i % MACKO_ECCSR_GROUPS, b, rows_of(a, start));
  const unsigned runs = count_merged(a, row, b, b);
  if (lane_number()) return;
  atomicAdd(&counts->entries[b], (unsigned long long)(row_start(a, row + b) - row_start(a, row)));
  atomicAdd(&counts->runs[b], (unsigned long long)runs);
}

extern "C" cudaError_t macko_eccsr_count_groups(const macko_device_csr *a, macko_eccsr_groups *counts, cudaStream_t stream)
{
  const some_windows w = windows_of(a, 1);
  const int64_t warps = w.count * MACKO_ECCSR_GROUPS * (MACKO_ECCSR_MAX_RUN - 1);
  return launch(groups_kernel, blocks_for(warps * WARP), ENCODE_THREADS, 0, stream, *a, w, counts);
}

/* ---- blocks ---- */

/* Cuts each group of rows of equal columns into blocks (macko_eccsr_pieces), and notes their rows at the first row of each;
 * with an aligned shape, a block begins at every multiple instead. A block of threads takes a window; heights are zeroed
 * before. */
static __global__ void heights_kernel(macko_device_csr a, macko_eccsr_windows w)
{
  const int64_t start = (int64_t)blockIdx.x * WINDOW, past = start + rows_of(a, start);
  uint8_t *heights = w.heights + (int64_t)blockIdx.x * WINDOW;
  for (int64_t row = start + threadIdx.x; row < past; row += blockDim.x) {
    if (w.shape.aligned) {
      int64_t left = past - row;
      if ((row - start) % w.shape.aligned == 0) heights[row - start] = (uint8_t)(left < w.shape.aligned ? left : w.shape.aligned);
    } else if (!w.same[row]) {
      int count = count_equal(w.same, row, past), pieces = macko_eccsr_pieces(count, (int)w.shape.rows), at = 0;
      for (int i = 0; i < pieces; i++) {
        int g = count / pieces + (i < count % pieces);
        heights[row - start + at] = (uint8_t)g;
        at += g;
      }
    }
  }
}

/* Gives the block of g rows that have the columns of `row`, in runs of the usual width, or of g, or of 1, whichever its columns
 * are cut into. All lanes of the warp take part. */
static __device__ found_block equal_block(const macko_device_csr &a, const macko_eccsr_shape &shape, int64_t row, int g)
{
  int64_t p = row_start(a, row), n = row_start(a, row + 1) - p;
  int w = is_cut(a, p, n, (int)shape.run) ? (int)shape.run : is_cut(a, p, n, g) ? g : 1;
  return {row, (unsigned)(n / w), g, w, 0};
}

/* Gives the block of g rows whose columns may differ. It has masks unless all rows have the same columns in whole runs from
 * multiples of the width on. All lanes of the warp take part. */
static __device__ found_block aligned_block(const macko_device_csr &a, const macko_eccsr_windows &w, int64_t row, int g)
{
  int64_t p = row_start(a, row), n = row_start(a, row + 1) - p;
  int width = (int)w.shape.aligned;
  bool apart = n && column(a, p) % width != 0;
  for (int r = 1; r < g; r++) apart |= !w.same[row + r];
  if (!apart && is_cut(a, p, n, width)) return {row, (unsigned)(n / width), g, width, 0};
  return {row, count_merged(a, row, g, width), g, width, 1};
}

/* Writes the key of the block that begins with each row, ~0 where none does; a warp a row. Keys sort as slices want their
 * blocks. */
static __global__ void blocks_kernel(macko_device_csr a, macko_eccsr_windows w)
{
  for (int64_t row = warp_number(); row < w.windows * WINDOW; row += warps()) {
    const int g = row < a.nrows ? w.heights[row] : 0;
    unsigned long long key = ~0ull;
    if (g) {
      found_block b = w.shape.aligned ? aligned_block(a, w, row, g) : equal_block(a, w.shape, row, g);
      key = macko_eccsr_key(b.masked, b.g, b.w, b.runs, (int)(row % WINDOW));
    }
    if (lane_number() == 0) w.keys[row] = key;
  }
}

/* ---- blocks in the order of slices ---- */

/* These are the rows of a window up to a power of two, which a bitonic sort needs, and how a block of threads shares them out. */
enum { KEYS = 4096, SORT_THREADS = 1024, PER_THREAD = KEYS / SORT_THREADS };

/* Sorts KEYS keys in shared memory (bitonic sort). All keys differ but those of no block, which come last, so that the order is
 * always the same. */
static __device__ void sort_keys(unsigned long long *keys)
{
  for (int size = 2; size <= KEYS; size *= 2)
    for (int apart = size / 2; apart > 0; apart /= 2) {
      for (int t = (int)threadIdx.x; t < KEYS / 2; t += SORT_THREADS) {
        int i = 2 * t - (t & (apart - 1)), rising = (i & size) == 0;
        unsigned long long low = keys[i], high = keys[i + apart];
        if ((low > high) == rising) keys[i] = high, keys[i + apart] = low;
      }
      __syncthreads();
    }
}

/* Says whether a slice begins with block i of the sorted ones: each slice takes as many blocks of one kind as fit, counted from
 * the first of that kind, which is found by bisection. */
static __device__ bool begins_slice(const unsigned long long *keys, int i)
{
  const unsigned long long kind = keys[i] >> 44 << 44;
  int low = 0, high = i;
  while (low < high) {
    int middle = (low + high) / 2;
    if (keys[middle] < kind) low = middle + 1;
    else high = middle;
  }
  return (i - low) % (MACKO_ECCSR_LANES / block_of(kind, 0).g) == 0;
}

/* Sorts the blocks of a window and numbers its slices by a sum over the threads, each of which has PER_THREAD keys side by
 * side. Slices and blocks are added up together, in the halves of one number. */
static __global__ void __launch_bounds__(SORT_THREADS) sort_kernel(macko_eccsr_windows w)
{
  __shared__ unsigned long long keys[KEYS];
  const int64_t window = blockIdx.x;
  const int from = (int)threadIdx.x * PER_THREAD;
  int blocks = 0, starts = 0;
  for (int i = (int)threadIdx.x; i < KEYS; i += SORT_THREADS) keys[i] = i < WINDOW ? w.keys[window * WINDOW + i] : ~0ull;
  __syncthreads();
  sort_keys(keys);
  for (int i = (int)threadIdx.x; i < WINDOW; i += SORT_THREADS) w.keys[window * WINDOW + i] = keys[i];
  for (int i = from; i < from + PER_THREAD; i++)
    if (keys[i] != ~0ull) blocks++, starts += begins_slice(keys, i);
  uint64_t all;
  uint64_t before = scan_block((uint64_t)starts << 32 | (uint32_t)blocks, &all) >> 32;
  for (int i = from; i < from + PER_THREAD; i++)
    if (keys[i] != ~0ull && begins_slice(keys, i)) w.slices[window * SLICES + (int64_t)before++].block = (uint16_t)i;
  if (threadIdx.x == 0) w.found[window].slices = all >> 32, w.found[window].blocks = all & 0xffffffffu;
}

/* ---- slices measured ---- */

/* This is what the gaps of a lane's block come to, or-ed together: codes that count columns, codes that count runs, and what is
 * left over where gaps are no whole runs. */
struct gap_bits_of {
  uint32_t any, any_runs, apart;
};

/* Goes through the runs of a block, one lane a block. */
template <typename RUNS> static __device__ gap_bits_of look_at_gaps(const macko_device_csr &a, const found_block &b)
{
  gap_bits_of g = {0, 0, 0};
  RUNS runs(a, b);
  uint64_t bits;
  int64_t before = b.runs ? runs.next(&bits) : 0;
  for (unsigned k = 1; k < b.runs; k++) {
    int64_t col = runs.next(&bits);
    uint32_t code = (uint32_t)(col - before) - (uint32_t)b.w;
    g.any |= code, g.any_runs |= code / (uint32_t)b.w, g.apart |= code % (uint32_t)b.w;
    before = col;
  }
  return g;
}

/* Measures slice number i of a window, a lane a block; its blocks end before block `past` of the window. It fills in the slice
 * but for where it begins, adds its counts to *counts (lane 0), and sets *entries and *words to what it takes. */
static __device__ void measure(const macko_device_csr &a, const macko_eccsr_windows &w, int64_t window, int i, int past,
                               macko_eccsr_found_window *counts, uint64_t *entries, uint64_t *words)
{
  macko_eccsr_found_slice *s = &w.slices[window * SLICES + i];
  const int64_t first_row = window * WINDOW;
  const unsigned long long *keys = w.keys + window * WINDOW + s->block;
  const int blocks = past - s->block, mine = lane_number() < blocks;
  const found_block first = block_of(keys[0], first_row), b = mine ? block_of(keys[lane_number()], first_row) : first;
  gap_bits_of g = {0, 0, 0};
  if (mine) g = first.masked ? look_at_gaps<merged_runs>(a, b) : look_at_gaps<equal_runs>(a, b);
  const uint32_t any = __reduce_or_sync(EVERY, g.any), any_runs = __reduce_or_sync(EVERY, g.any_runs);
  const int in_runs = !__reduce_or_sync(EVERY, g.apart), gap_bits = macko_eccsr_gap_bits(in_runs ? any_runs : any);
  const uint64_t runs = sum_of_lanes((uint64_t)(mine ? b.runs : 0), WARP);
  const uint64_t gaps = sum_of_lanes((uint64_t)(mine && b.runs ? b.runs - 1 : 0), WARP);
  const uint64_t lanes = runs * (uint64_t)(b.w * b.g);
  *entries = sum_of_lanes(mine ? (uint64_t)(row_start(a, b.row + b.g) - row_start(a, b.row)) : 0, WARP);
  *words = (first.masked ? (uint64_t)first.runs * (uint64_t)b.w : 0) + (uint64_t)macko_eccsr_gap_words(gap_bits, (int64_t)gaps);
  if (lane_number()) return;
  s->steps = first.runs, s->gap_bits = (uint8_t)gap_bits, s->in_runs = (uint8_t)in_runs;
  counts->runs += runs, counts->lanes += lanes, counts->reads += runs * (uint64_t)b.w;
  counts->idle += ((uint64_t)first.runs * (uint64_t)blocks - runs) * (uint64_t)(b.w * b.g);
  if (first.masked) counts->masked++, counts->masked_entries += *entries;
  if (first.runs) counts->widths |= 1ull << b.w;
  if (first.runs > counts->longest) counts->longest = first.runs;
}

/* A block of threads measures the slices of a window, a warp a slice, and then finds where each begins: the sum of what those
 * before take, a thread a slice. */
static __global__ void __launch_bounds__(SLICES) measure_kernel(macko_device_csr a, macko_eccsr_windows w)
{
  __shared__ uint64_t entries[SLICES], words[SLICES];
  const int64_t window = blockIdx.x;
  macko_eccsr_found_window *found = &w.found[window], counts = {};
  const int slices = (int)found->slices, t = (int)threadIdx.x;
  for (int i = t / WARP; i < slices; i += SLICES / WARP) {
    int past = i + 1 < slices ? w.slices[window * SLICES + i + 1].block : (int)found->blocks;
    uint64_t of_slice[2];
    measure(a, w, window, i, past, &counts, &of_slice[0], &of_slice[1]);
    if (lane_number() == 0) entries[i] = of_slice[0], words[i] = of_slice[1];
  }
  __syncthreads();
  uint64_t all_entries, all_words;
  uint64_t slot = scan_block(t < slices ? entries[t] : 0, &all_entries), word = scan_block(t < slices ? words[t] : 0, &all_words);
  if (t < slices) w.slices[window * SLICES + t].slot = slot, w.slices[window * SLICES + t].word = word;
  if (t == 0) found->words = all_words;
  if (lane_number()) return;
  atomicAdd(&found->masked, counts.masked), atomicAdd(&found->masked_entries, counts.masked_entries);
  atomicAdd(&found->runs, counts.runs), atomicAdd(&found->lanes, counts.lanes), atomicAdd(&found->reads, counts.reads);
  atomicMax(&found->longest, counts.longest), atomicOr(&found->widths, counts.widths);
}

extern "C" cudaError_t macko_eccsr_find_slices(const macko_device_csr *a, const macko_eccsr_windows *w, cudaStream_t stream)
{
  const size_t rows = (size_t)w->windows * WINDOW;
  const unsigned windows = (unsigned)w->windows;
  cudaError_t error = cudaMemsetAsync(w->heights, 0, rows, stream);
  if (!error) error = cudaMemsetAsync(w->found, 0, (size_t)w->windows * sizeof *w->found, stream);
  if (!error) error = launch(heights_kernel, windows, ENCODE_THREADS, 0, stream, *a, *w);
  if (!error) error = launch(blocks_kernel, blocks_of_rows((int64_t)rows), ENCODE_THREADS, 0, stream, *a, *w);
  if (!error) error = launch(sort_kernel, windows, SORT_THREADS, 0, stream, *w);
  return error ? error : launch(measure_kernel, windows, SLICES, 0, stream, *a, *w);
}
