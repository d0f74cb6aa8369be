/* Several vectors with format csr: groups of four, which read the matrix once. Values and columns of a block's entries meet in
 * shared memory, and each row has lanes of its own that ask for the elements of four vectors together. Products and sums are those
 * of one vector, in the same order, and so are their bits. */
#include "csr/csr.cuh"

enum { GROUP = MACKO_DEVICE_GROUP, ITEMS = MACKO_CSR_MOST, ENTRIES = ITEMS * THREADS };

/* Give how many blocks run at once on a multiprocessor, which leaves registers for so many entries of a lane to ask for their
 * elements of x together. Both are measured numbers. */
template <typename SUM> constexpr int resident = sizeof(SUM) == 8 ? 8 : 10;
template <typename SUM> constexpr int round_of = sizeof(SUM) == 8 ? 3 : 4;

/* A number for each vector of a group. */
template <typename SUM> struct of_group {
  SUM of[GROUP];
};

/* Adds up those of all lanes, vector by vector. */
template <typename SUM> static __device__ __forceinline__ of_group<SUM> sum_of_lanes(of_group<SUM> sum, int lanes)
{
#pragma unroll
  for (int g = 0; g < GROUP; g++) sum.of[g] = sum_of_lanes(sum.of[g], lanes);
  return sum;
}

/* These are the entries of a block in shared memory. */
template <typename SUM, typename COL> struct staged {
  SUM value[slots<SUM, ENTRIES>];
  COL col[slots<COL, ENTRIES>];
  int16_t starts[ENTRIES + 1]; /* of rows */
};

/* Adds up every step-th of the staged entries begin .. end - 1. ROUND of them ask for their elements of x at a time; those beyond
 * the last add zeros, which leave a sum as it is. */
template <int VECTOR, typename SUM, typename COL>
static __device__ __forceinline__ of_group<SUM> add_entries(const staged<SUM, COL> &s, const device_vectors &v, int begin, int end,
                                                            int step)
{
  constexpr int ROUND = round_of<SUM>;
  of_group<SUM> sum = {{0}};
#pragma unroll 1
  for (int first = begin; first < end; first += ROUND * step) {
    SUM x[ROUND][GROUP] = {{0}}, value[ROUND] = {0};
    with_vector<VECTOR>(v.type, [&](auto type) {
#pragma unroll
      for (int i = 0; i < ROUND; i++) {
        const int e = first + i * step;
        if (e < end) load_group<type.value, SUM, GROUP>(v, s.col[slot<COL>(e)], x[i]), value[i] = s.value[slot<SUM>(e)];
      }
    });
#pragma unroll
    for (int i = 0; i < ROUND; i++)
#pragma unroll
      for (int g = 0; g < GROUP; g++) sum.of[g] += product_of(value[i], x[i][g]);
  }
  return sum;
}

/* Puts entries from .. to - 1 of a block into shared memory, as far as there is room, and where its rows start. */
template <int STORED, typename SUM, typename COL>
static __device__ __forceinline__ void stage(const csr &a, const macko_csr_block &b, int64_t start, int from, int to,
                                             const device_values &values, staged<SUM, COL> *s)
{
  const int items = (to + THREADS - 1) / THREADS; /* blocks of small matrices have fewer than ITEMS */
  SUM value[ITEMS];
  COL col[ITEMS];
  load_entries<STORED, SUM, ITEMS>((const COL *)a.cols + start, values, from, to, items, value, col);
  const int one = row_start(a, b, start, threadIdx.x), two = row_start(a, b, start, threadIdx.x + THREADS);
  put_starts(a, b, start, one, two, s->starts);
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const int e = i * THREADS + (int)threadIdx.x;
    if (i < items) s->value[slot<SUM>(e)] = value[i], s->col[slot<COL>(e)] = col[i];
  }
  __syncthreads();
}

/* Adds up the rows of a block of whole rows and writes them to the vectors. All threads go round equally often, as sum_of_row
 * wants. */
template <int VECTOR, typename SUM, typename COL>
static __device__ __forceinline__ void add_rows(const macko_csr_block &b, const staged<SUM, COL> &s, const device_vectors &v)
{
  const int lanes = 1 << b.log_lanes, lane = threadIdx.x & (lanes - 1), first = (int)threadIdx.x >> b.log_lanes;
  for (int r = first; r - first < b.rows; r += THREADS >> b.log_lanes) {
    const int there = r < b.rows, begin = there ? s.starts[r] : 0, end = there ? s.starts[r + 1] : 0;
    const of_group<SUM> sum = sum_of_row<of_group<SUM>>(begin, end, lane, lanes, [&](int e, int past, int step) {
      return add_entries<VECTOR>(s, v, e, past, step);
    });
#pragma unroll
    for (int g = 0; g < GROUP; g++)
      if (there && lane == 0) put_y<VECTOR>(v, g, b.row + r, sum.of[g]);
  }
}

/* Adds up the piece of a long row that a block has: what there was room for, and the entries beyond. */
template <int STORED, int VECTOR, typename SUM, typename COL>
static __device__ __forceinline__ of_group<SUM> sum_of_piece(const staged<SUM, COL> &s, const COL *cols,
                                                             const device_values &values, const device_vectors &v, int from,
                                                             int to)
{
  of_group<SUM> sum = add_entries<VECTOR>(s, v, from + (int)threadIdx.x, min(to, (int)ENTRIES), THREADS);
  for (int e = entry_beyond(from, ENTRIES); e < to; e += THREADS) {
    SUM x[GROUP];
    const SUM value = load_value<STORED, SUM>(values, e);
    load_group<VECTOR, SUM, GROUP>(v, __ldcs(cols + e), x);
#pragma unroll
    for (int g = 0; g < GROUP; g++) sum.of[g] += product_of(value, x[g]);
  }
  return sum;
}

/* Computes the products of one block by `each` groups of vectors from number blockIdx.y * each on, as far as they are there; by one
 * where not SEVERAL, which leaves registers for more loads. */
template <int STORED, int VECTOR, typename SUM, typename COL, int SEVERAL>
static __global__ void __launch_bounds__(THREADS, resident<SUM>)
  group_kernel(csr a, device_values values, device_vectors all, int each)
{
  __shared__ staged<SUM, COL> s;
  __shared__ double scratch[THREADS / WARP];
  const macko_csr_block b = load_block(a.blocks);
  const int64_t start = b.begin / MACKO_CSR_ALIGN * MACKO_CSR_ALIGN;
  const int from = (int)(b.begin - start), to = from + b.entries;
  const int first = SEVERAL ? blockIdx.y * each : blockIdx.y, past = SEVERAL ? min(first + each, all.count) : first + 1;
  if (is_known<VECTOR>) all.type = vector_element<VECTOR>;
  values = values_from<STORED>(values, start);
  stage<STORED>(a, b, start, from, to, values, &s);
#pragma unroll 1
  for (int n = first; n < past; n++) {
    const device_vectors v = vectors_after(all, n * GROUP);
    if (b.rows) {
      add_rows<VECTOR>(b, s, v);
      continue;
    }
    of_group<SUM> piece = sum_of_piece<STORED, VECTOR>(s, (const COL *)a.cols + start, values, v, from, to);
#pragma unroll
    for (int g = 0; g < GROUP; g++) piece.of[g] = sum_of_block(piece.of[g], (SUM *)scratch);
    add_piece<VECTOR, SUM, GROUP>(a, b, piece.of, all, n * GROUP, scratch);
  }
}

/* Gives how many groups of vectors a block takes, one after the other. What it has put into shared memory serves all of them (H200,
 * 32 vectors: 27-point:128 1.87 instead of 2.58 ms), but there are to be blocks enough to fill a GPU (FILL of them), and products
 * with many pieces of long rows wait for these (rmat:15, eight vectors: 34 us, by two groups a block 38). */
static int groups_of_block(const macko_csr_cut &cut, int count)
{
  enum { FILL = 1600, PIECES = 16 };
  const int64_t most = cut.npieces * PIECES > cut.nblocks ? 1 : cut.nblocks * count / FILL;
  const int rows_of_blocks = most < 1 ? count : (int)((count + most - 1) / most);
  return (count + rows_of_blocks - 1) / rows_of_blocks;
}

/* Starts that for v.count groups of these types. */
template <int STORED, int VECTOR, typename SUM, typename COL = int>
static cudaError_t start(const csr &a, const macko_csr_cut &cut, cudaStream_t stream, const device_values &values,
                         const device_vectors &v)
{
  const int each = groups_of_block(cut, v.count);
  const dim3 blocks((unsigned)cut.nblocks, (unsigned)((v.count + each - 1) / each));
  const auto kernel = each > 1 ? group_kernel<STORED, VECTOR, SUM, COL, 1> : group_kernel<STORED, VECTOR, SUM, COL, 0>;
  return launch(kernel, blocks, THREADS, 0, stream, a, values, v, each);
}

template <int STORED, int VECTOR, typename SUM>
cudaError_t macko_csr_start_groups(const csr &a, const macko_csr_cut &cut, int wide, cudaStream_t stream,
                                   const device_values &values, const device_vectors &v)
{
  if constexpr (STORED == MACKO_ANY && sizeof(SUM) == 8) {
    if (wide) return start<STORED, VECTOR, SUM, long long>(a, cut, stream, values, v);
  }
  return start<STORED, VECTOR, SUM>(a, cut, stream, values, v);
}

/* The combinations of types that run_product asks for. */
#define INSTANTIATE(stored, vector, sum) \
  template cudaError_t macko_csr_start_groups<stored, vector, sum>(const csr &, const macko_csr_cut &, int, cudaStream_t, \
                                                                   const device_values &, const device_vectors &);
INSTANTIATE(MACKO_F64, MACKO_F64, double)
INSTANTIATE(MACKO_F32, MACKO_F64, double)
INSTANTIATE(MACKO_F32, MACKO_F32, float)
INSTANTIATE(MACKO_F16, MACKO_F32, float)
INSTANTIATE(MACKO_F16, MACKO_F16, float)
INSTANTIATE(MACKO_BF16, MACKO_F32, float)
INSTANTIATE(MACKO_BF16, MACKO_BF16, float)
INSTANTIATE(MACKO_ANY, MACKO_ANY, float)
INSTANTIATE(MACKO_ANY, MACKO_ANY, double)

/* This is what multiply_beside calls to start the kernel for its types. Values of this format are stored as they are. */
struct beside_launch {
  csr a;
  const macko_csr_cut &cut;
  cudaStream_t stream;
  template <int STORED> static constexpr bool HAS = STORED != MACKO_I8 && STORED != MACKO_U8;
  template <int STORED, int VECTOR, typename SUM, int GROUP>
  cudaError_t run(const device_values &values, const device_vectors &v) const
  {
    return start<STORED, VECTOR, SUM>(a, cut, stream, values, v);
  }
};

/* Says whether vectors are to go side by side. Where entries near by ask for the same sectors, each vector's elements are in the
 * first-level cache as they are, and putting them side by side only takes time. It takes so many sectors an entry to pay for
 * itself (H200, four vectors: f64 0.24 94 %, 0.16 106 %; f32, with twice as many elements a sector, 0.14 94 %, 0.06 99 to 103 % of
 * the time), or a plan that does not tell. Elements of 16 bits are few bytes to move, and four of them one load in place of four
 * (27-point:128:f16 84 %, mesh:96:bf16 86 %, 7-point:160:f16 97 %, 9-point:1000:bf16 104 %). */
static int is_scattered(const macko_matrix *m, macko_type vector_type)
{
  const double sectors = macko_sectors_of_entry(m), worth_it = m->value_type == MACKO_F64 ? 0.2 : 0.1;
  return sectors == 0 || sectors >= worth_it || vector_type == MACKO_F16 || vector_type == MACKO_BF16;
}

int64_t macko_csr_multiply_beside(const csr &a, const macko_csr_cut &cut, const macko_device_matrix *d, const macko_product *p,
                                  macko_work_space *space, cudaStream_t stream)
{
  if (macko_find_section(&d->m, "cols")->type != MACKO_I32 || !is_scattered(&d->m, p->vector_type)) return 0;
  if (!macko_goes_beside(d, p, 0)) return 0;
  return multiply_beside(beside_launch{a, cut, stream}, d, p, space, stream);
}
