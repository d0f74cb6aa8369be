/* Layout row where rows are long and x fits into shared memory, one vector, sums in f32: pruned weights. A block fills a
 * multiprocessor. A warp takes one unit (row_shared_x_units.cuh), so that it reads one stream and only the chunks in which rows
 * end are masked; of a row in several units each leaves a sum, and the last one done adds them up, always in the same order. x
 * is kept as f32 whatever the vector is, so that kernels differ only in what is stored and how wide codes are. */
#include "macko/row_shared_x_chunk.cuh"

/* A block fills a multiprocessor: with more warps registers would have to be spilled. EARLY pieces of x a thread are asked for
 * before anything else; NOWHERE is beyond the end of every unit. */
enum { WARPS = 24, EARLY = 4, NOWHERE = 1 << 30 };

/* ---- rows of a unit ---- */

/* Leaves this unit's sum of row i, whose entries are begin .. end - 1, for the row's other units: the last one of them adds up
 * what they leave, always in the same order, and zeroes what it used. Of two units the one that comes second finds the other's
 * sum, and it does not matter to a sum of two floats which that is. */
static __device__ __forceinline__ void put_partial(const device_row_units &row_units, const device_vectors &v, int64_t i, int unit,
                                                   uint32_t begin, uint32_t end, float sum)
{
  int from = (int)(begin / row_units.entries), to = (int)((end - 1) / row_units.entries);
  if (to == from + 1) { /* two: the one that comes second finds the other's sum */
    unsigned long long mine = 1ull << 32 | __float_as_uint(sum), other = atomicExch(row_units.pairs + from, mine);
    if (!other) return;
    row_units.pairs[from] = 0;
    put_y<MACKO_ANY>(v, 0, i, sum + __uint_as_float((uint32_t)other));
    return;
  }
  __stcg(row_units.partials + 2 * unit + (from == unit), sum);
  if (count_release(row_units.done + from) != (unsigned)(to - from)) return;
  __threadfence();
  float all = __ldcg(row_units.partials + 2 * from + 1);
  for (int u = from + 1; u <= to; u++) all += __ldcg(row_units.partials + 2 * u);
  row_units.done[from] = 0;
  put_y<MACKO_ANY>(v, 0, i, all);
}

/* These are the rows of a unit as a warp goes through them. Lane l knows row first + l, counted from the unit's first, and its
 * sum once that is known; all lanes know the first one's. */
struct unit_rows {
  shared_x_unit unit;
  int number, start, entries; /* the unit's; its first entry, and how many */
  int first;
  unit_row row; /* the lane's */
  uint32_t head_begin, head_end; /* entries of the unit's first row, wherever they are */
  float sum, head;

  /* Loads as many rows as there are lanes, from row `from` on, of which the last tells only where the one before ends. Nothing
   * is done with what is loaded, so that nobody waits for it here. */
  __device__ __forceinline__ void learn(const unit_row *rows, int from, int lane)
  {
    first = from;
    const uint2 loaded = __ldg((const uint2 *)(rows + unit.row + min(from + lane, unit.rows)));
    row = {loaded.x, loaded.y};
  }

  /* Ends row `of`: what the lanes have of its sum is added up and kept by the row's lane. */
  __device__ __forceinline__ void finish(int of, float part, int lane)
  {
    part = sum_of_lanes(part, WARP);
    if (lane == of - first) sum = part;
    if (of == 0) head = part;
  }

  /* Writes the rows from `first` to before `end` that are in no other unit. */
  __device__ __forceinline__ void put(const device_vectors &v, int end, int lane) const
  {
    int ends = (int)__shfl_down_sync(EVERY, row.begin, 1);
    asm volatile("" : "+r"(lane)); /* else addresses are computed ahead, in every chunk */
    if (lane < end - first && (int)row.begin >= start && ends <= start + entries)
      put_y<MACKO_ANY>(v, 0, (int64_t)unit.row + first + lane, sum);
  }

  /* Hands over the sums of the unit's first and last row where these are in other units too: lane 0 does the first, lane 1 the
   * last. */
  __device__ __forceinline__ void put_partials(const device_row_units &row_units, const device_vectors &v, int lane) const
  {
    int last = unit.rows - 1 - first;
    float tail = __shfl_sync(EVERY, sum, last);
    uint32_t begin = __shfl_sync(EVERY, row.begin, last), end = __shfl_sync(EVERY, row.begin, last + 1);
    int i = unit.row + unit.rows - 1;
    if (lane == 0) i = unit.row, begin = head_begin, end = head_end;
    if (lane == 0 ? (int)begin < start : lane == 1 && (int)begin >= start && (int)end > start + entries)
      put_partial(row_units, v, i, number, begin, end, lane ? tail : head);
  }

  /* Gives the row after `of`. Where the lanes do not know that one and the next, what they have is written and the next rows
   * are loaded. */
  __device__ __forceinline__ int next(const unit_row *rows, const device_vectors &v, int of, int lane)
  {
    of++;
    if (__any_sync(EVERY, of - first == WARP - 2 && of < unit.rows)) put(v, of, lane), learn(rows, of, lane);
    return of;
  }

  /* Says where row `of` ends, or the unit before it, in entries of the unit. */
  __device__ __forceinline__ int end_of(int of) const
  {
    return min((int)__shfl_sync(EVERY, row.begin, of + 1 - first) - start, entries);
  }

  /* Says where the row after `of` ends; beyond everything where the unit has none. */
  __device__ __forceinline__ int end_after(int of) const
  {
    int end = end_of(of + 1);
    return of + 1 < unit.rows ? end : NOWHERE;
  }

  /* Gives the column of the first entry of row `of`. */
  __device__ __forceinline__ uint32_t base_of(int of) const { return __shfl_sync(EVERY, row.base, of - first); }
};

/* ---- a unit ---- */

/* Gives what the codes of a chunk add up to before entry n, and total at its end. All lanes of the warp take part. */
template <int BITS>
static __device__ __forceinline__ uint32_t sum_before(const shared_x_codes<BITS> codes[PARTS], int n, uint32_t total, int far,
                                                      const uint32_t *long_gaps)
{
  shared_x_codes<BITS> c = n < PART ? codes[0] : codes[1];
  uint32_t sum = c.sum(c.before, n % ENTRIES) + (far ? c.beyond(long_gaps, n % ENTRIES) : 0);
  sum = __shfl_sync(EVERY, sum, n / ENTRIES % WARP);
  return n < CHUNK ? sum : total;
}

/* This is what all warps of a block multiply: the matrix, its units and values, and the vectors; x is in shared memory, and this is
 * its address there. */
struct shared_x_product {
  const rows &a;
  const device_row_units &row_units;
  const device_values &values;
  const device_vectors &v;
  uint32_t x;
};

/* Multiplies a unit of which so many entries are left. Its first chunk is under way in *stream. Chunks within a row, chunks in
 * which one row ends, and all others have a way each, from the quickest to one that masks every entry. */
template <int STORED, int BITS>
static __device__ __forceinline__ void walk(const shared_x_product &p, unit_rows *r, shared_x_stream<STORED, BITS> *stream,
                                            gap_window *window, int left, int lane)
{
  const rows &a = p.a;
  const device_row_units &row_units = p.row_units;
  const device_vectors &v = p.v;
  const float *table = (const float *)p.values.table;
  const int has_long = a.long_ptr != NULL, rows = r->unit.rows;
  uint32_t next_long = r->unit.next_long, mine = p.x + 4 * lane * ENTRIES, start = mine + 4 * r->unit.base;
  /* These say where the row at hand and the next one end, from the chunk's first entry on. */
  int row = 0, ends = r->end_of(0), next_ends = r->end_after(0);
  float sums[PARTS] = {};
  r->head_begin = __shfl_sync(EVERY, r->row.begin, 0), r->head_end = __shfl_sync(EVERY, r->row.begin, 1);
  for (int first = 0; __any_sync(EVERY, row < rows); first += CHUNK, left -= CHUNK, ends -= CHUNK, next_ends -= CHUNK) {
    shared_x_chunk<STORED, BITS> now = stream->next;
    stream->load(__any_sync(EVERY, left > CHUNK) != 0);
    if (__any_sync(EVERY, first == 0 || left < CHUNK)) now.clear_outside(lane, first == 0, left);
    shared_x_codes<BITS> codes[PARTS];
    codes[0].spread(now.codes[0]), codes[1].spread(now.codes[1]);
    int far = 0;
    if (has_long) {
      codes[0].mark(now.codes[0]), codes[1].mark(now.codes[1]);
      far = put_long_gaps<BITS>(a.long_gaps, codes, window, &next_long);
    }
    uint32_t total = add_up<BITS>(a.long_gaps, codes, far);
    if (__all_sync(EVERY, ends >= CHUNK && !far)) {
#pragma unroll
      for (int k = 0; k < PARTS; k++)
        sums[k] = add_part<STORED, BITS>({now.values[k], codes[k], start + 4 * k * PART, table}, sums[k]);
      if (__any_sync(EVERY, ends == CHUNK)) {
        r->finish(row, sums[0] + sums[1], lane);
        sums[0] = sums[1] = 0, start = mine + 4 * (r->base_of(row + 1) - CHUNK - total), ends = next_ends;
        row = r->next(row_units.rows, v, row, lane), next_ends = r->end_after(row) - first;
      }
    } else if (__all_sync(EVERY, next_ends > CHUNK && !far)) {
      /* One row ends in the chunk. Behind the last one the first columns stand for what no row has. */
      float before = sums[0] + sums[1], after = 0;
      uint32_t base = r->base_of(row + 1), up_to = sum_before<BITS>(codes, ends, total, 0, a.long_gaps);
      uint32_t further = mine + 4 * ((row + 1 < rows ? base : 0) - ends - up_to) - start;
#pragma unroll
      for (int k = 0; k < PARTS; k++)
        add_two<STORED, BITS>({now.values[k], codes[k], start + 4 * k * PART, table}, further, ends - (lane * ENTRIES + k * PART),
                              &before, &after);
      r->finish(row, before, lane);
      sums[0] = after, sums[1] = 0, start += further, ends = next_ends;
      row = r->next(row_units.rows, v, row, lane), next_ends = r->end_after(row) - first;
    } else
      for (int begins = 0;;) {
#pragma unroll 1
        for (int k = begins / PART; __any_sync(EVERY, k < PARTS && k * PART < ends); k++) {
          uint32_t part[shared_x_chunk<STORED, BITS>::WORDS];
#pragma unroll
          for (int i = 0; i < shared_x_chunk<STORED, BITS>::WORDS; i++) part[i] = k ? now.values[1][i] : now.values[0][i];
          shared_x_codes<BITS> c = k ? codes[1] : codes[0];
          int q = lane * ENTRIES + k * PART;
          sums[0] = add_some<STORED, BITS>(a, {part, c, start + 4 * k * PART, table}, far, begins - q, ends - q, sums[0]);
        }
        if (__any_sync(EVERY, ends > CHUNK)) break;
        r->finish(row, sums[0] + sums[1], lane);
        sums[0] = sums[1] = 0;
        if (__any_sync(EVERY, (row = r->next(row_units.rows, v, row, lane)) >= rows)) break;
        /* The next row's columns go on from its base, less what the chunk's codes before it add. */
        begins = ends;
        start = mine + 4 * (r->base_of(row) - begins - sum_before<BITS>(codes, begins, total, far, a.long_gaps));
        ends = r->end_of(row) - first, next_ends = r->end_after(row) - first;
        if (__any_sync(EVERY, begins >= CHUNK)) break;
      }
    start += 4 * (total + CHUNK);
  }
  r->put(v, row, lane);
  r->put_partials(row_units, v, lane);
}

/* ---- x ---- */

/* Gives columns 4 i .. 4 i + 3 of a vector of any type, zero behind its end. It is rare and long, so that it is not inlined. */
static __device__ __noinline__ float4 four_of(const device_vectors &v, int64_t ncols, int64_t i)
{
  float x[4];
  for (int e = 0; e < 4; e++) x[e] = 4 * i + e < ncols ? (float)any_number(v.type, v.x, 4 * i + e) : 0;
  return make_float4(x[0], x[1], x[2], x[3]);
}

/* Says how many pieces of 16 bytes of x can be read at once: 8 columns each of 16-bit vectors, else 4; none of f64, or of
 * vectors that are not aligned. */
static __device__ __forceinline__ unsigned pieces_of(const device_vectors &v, int64_t ncols)
{
  if (v.type == MACKO_F64 || (uintptr_t)v.x % 16) return 0;
  return (unsigned)ncols / (v.type == MACKO_F32 ? 4 : 8);
}

/* Gives four 16-bit floats in two words as numbers. */
template <int TYPE> static __device__ __forceinline__ float4 four_numbers(uint32_t low, uint32_t high)
{
  return make_float4(number_of<TYPE>(low & 0xffff), number_of<TYPE>(low >> 16), number_of<TYPE>(high & 0xffff),
                     number_of<TYPE>(high >> 16));
}

/* Converts piece i of a vector and puts it into x. */
static __device__ __forceinline__ void put_piece(int type, uint4 p, float4 *x, unsigned i)
{
  if (type == MACKO_F32)
    x[i] = make_float4(__uint_as_float(p.x), __uint_as_float(p.y), __uint_as_float(p.z), __uint_as_float(p.w));
  else if (type == MACKO_F16) x[2 * i] = four_numbers<MACKO_F16>(p.x, p.y), x[2 * i + 1] = four_numbers<MACKO_F16>(p.z, p.w);
  else x[2 * i] = four_numbers<MACKO_BF16>(p.x, p.y), x[2 * i + 1] = four_numbers<MACKO_BF16>(p.z, p.w);
}

/* ---- the kernel ---- */

/* Loads x into shared memory, and multiplies a unit by each warp. */
template <int STORED, int BITS>
static __global__ void __launch_bounds__(WARPS * WARP) shared_x_kernel(rows a, device_row_units row_units, device_values values,
                                                                   device_vectors v)
{
  extern __shared__ float4 x[];
  int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, i = warp * gridDim.x + blockIdx.x;
  unsigned fours = (unsigned)(a.ncols + 3) / 4, pieces = pieces_of(v, a.ncols);
  unit_rows r;
  shared_x_stream<STORED, BITS> stream;
  gap_window window;
  /* What follows is asked for at the same time: the unit, the first columns; then, by what the unit says, its first entries, rows
   * and long gaps. */
  const int4 unit = __ldg((const int4 *)row_units.units + min(i, row_units.count - 1));
  const uint4 *from = pieces ? (const uint4 *)v.x : (const uint4 *)row_units.units;
  uint4 early[EARLY];
#pragma unroll
  for (int j = 0; j < EARLY; j++) early[j] = __ldg(from + (pieces ? min(threadIdx.x + j * blockDim.x, pieces - 1) : 0));
  r.number = min(i, row_units.count - 1), r.entries = row_units.entries, r.start = r.number * row_units.entries;
  stream.open(a, values, r.start, lane);
  stream.load(0);
  r.unit = {unit.x, unit.y, (uint32_t)unit.z, (uint32_t)unit.w};
  r.learn(row_units.rows, 0, lane);
  window.shared = (uint32_t *)(x + fours + CHUNK / 4) + warp * WINDOW, window.lane = lane;
  if (BITS == 4 && a.long_ptr) window.open(a.long_gaps, r.unit.next_long);
#pragma unroll
  for (int j = 0; j < EARLY; j++)
    if (threadIdx.x + j * blockDim.x < pieces) put_piece(v.type, early[j], x, threadIdx.x + j * blockDim.x);
  for (unsigned j = threadIdx.x + EARLY * blockDim.x; j < pieces; j += blockDim.x) put_piece(v.type, __ldg(from + j), x, j);
  for (unsigned j = pieces * (v.type == MACKO_F32 ? 1 : 2) + threadIdx.x; j < fours; j += blockDim.x) x[j] = four_of(v, a.ncols, j);
  /* Behind the last row of a unit columns seem to go on, up to a chunk further than x. */
  if (threadIdx.x < CHUNK / 4) x[fours + threadIdx.x] = make_float4(0, 0, 0, 0);
  __syncthreads();
  int entries = (int)min(a.nnz - r.start, (int64_t)r.entries);
  if (__any_sync(EVERY, i < row_units.count))
    walk({a, row_units, values, v, (uint32_t)__cvta_generic_to_shared(x)}, &r, &stream, &window, entries, lane);
}

/* ---- from a product to the kernel ---- */

/* Gives the shared memory of a block: x, what seems to be behind it, and a window of long gaps for each warp. */
static int64_t bytes_of(int64_t ncols)
{
  return ((ncols + 3) / 4 * 4 + CHUNK + WARPS * WINDOW) * 4;
}

int macko_shared_x_warps(const macko_plan *plan, macko_type value_type, int64_t ncols, int64_t shared_bytes)
{
  int type = plan->stored_type, coded = type == MACKO_U8 || type == MACKO_U16;
  /* Sums of codes take 16 bits. */
  if (plan->layout != MACKO_LAYOUT_ROW || (plan->gap_bits != 4 && plan->gap_bits != 8) || type == MACKO_F64 ||
      (coded && value_type == MACKO_F64) || ncols > UINT16_MAX || bytes_of(ncols) > shared_bytes)
    return 0;
  return WARPS;
}

/* Starts the kernel, a block on each multiprocessor. */
template <int STORED, int BITS>
static cudaError_t start(const rows &a, const device_row_units &row_units, int multiprocessors, const device_values &values,
                         const device_vectors &v, cudaStream_t stream)
{
  auto kernel = shared_x_kernel<STORED, BITS>;
  /* A kernel gets much shared memory only where that was said before. What is said is always the same, as other threads may be
   * saying it of other matrices. */
  cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, row_units.shared_bytes);
  return error ? error : launch(kernel, (unsigned)multiprocessors, WARPS * WARP, (size_t)bytes_of(a.ncols), stream, a, row_units,
                                values, v);
}

/* Does the same for the two widths of codes that units are made for. */
template <int STORED>
static cudaError_t start_stored(const rows &a, const device_row_units &row_units, int multiprocessors, const device_values &values,
                                const device_vectors &v, cudaStream_t stream)
{
  return a.bits == 4 ? start<STORED, 4>(a, row_units, multiprocessors, values, v, stream)
                     : start<STORED, 8>(a, row_units, multiprocessors, values, v, stream);
}

cudaError_t macko_shared_x_start(const rows &a, const device_row_units &row_units, int multiprocessors, const device_values &values,
                                 const device_vectors &v, cudaStream_t stream)
{
  switch (values.stored_type) {
  case MACKO_F32: return start_stored<MACKO_F32>(a, row_units, multiprocessors, values, v, stream);
  case MACKO_F16: return start_stored<MACKO_F16>(a, row_units, multiprocessors, values, v, stream);
  case MACKO_BF16: return start_stored<MACKO_BF16>(a, row_units, multiprocessors, values, v, stream);
  case MACKO_I8: return start_stored<MACKO_I8>(a, row_units, multiprocessors, values, v, stream);
  case MACKO_U8: return start_stored<MACKO_U8>(a, row_units, multiprocessors, values, v, stream);
  case MACKO_U16: return start_stored<MACKO_U16>(a, row_units, multiprocessors, values, v, stream);
  default: return cudaErrorInvalidValue; /* there are no units then */
  }
}
