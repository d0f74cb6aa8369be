/* Plain CSR. A block of threads takes about as many entries as every other, whatever the rows are like: it multiplies them side
 * by side, so that values and columns load in full lines and many loads are in flight, puts the products into shared memory and
 * adds them up row by row, as many lanes a row as there are for it. Blocks hold whole rows, but for rows too long for one: of
 * those every block leaves a sum, and the last one done adds them up. The order is the same on every run, which cuSPARSE's fast
 * kernels do not promise; CSR_ALG2, which does, took up to four times as long on rows of uneven length. */
#include "csr/csr.cuh"

#include <stdlib.h>

/* So many entries a lane are what a row may have to be added up by its own lanes. */
enum { LONG = 16 };

/* Gives how many blocks whose threads multiply ITEMS entries each are to run at once on a multiprocessor: as many as leave the
 * registers for loads of all ITEMS entries to be under way together, which are measured numbers. f32 takes half of the registers.
 * Groups of vectors get what they need, and one of several f32 vectors that go at once a little more. */
template <typename SUM, int GROUP, int ITEMS, int AT_ONCE> static constexpr int resident()
{
  if (GROUP > 1) return 1;
  if (AT_ONCE && sizeof(SUM) == 4) return 12;
  if (ITEMS == MACKO_CSR_MOST) return sizeof(SUM) == 4 ? 14 : 11;
  return ITEMS == MACKO_CSR_SOME && sizeof(SUM) == 8 ? 12 : 16;
}

/* Says where product e is in shared memory: one element is left out after every 128 bytes, because lanes that take a row of 8
 * or 16 entries each would otherwise hit the same banks. */
template <typename SUM> static __device__ __forceinline__ int slot(int e)
{
  return e + e / (int)(128 / sizeof(SUM));
}

/* Gives the sum of products begin .. end - 1 of a row, by `lanes` lanes; the whole warp must come here together. */
template <typename SUM>
static __device__ __forceinline__ SUM sum_of_row(const SUM *products, int begin, int end, int lane, int lanes)
{
  int is_long = end - begin > LONG * lanes;
  SUM sum = 0;
  for (int e = begin + lane; !is_long && e < end; e += lanes) sum += products[slot<SUM>(e)];
  sum = sum_of_lanes(sum, lanes);
  take_long_rows(is_long && lane == 0, begin, end, &sum, [&](int from, int to, int one) {
    SUM all = 0;
    for (int e = from + one; e < to; e += WARP) all += products[slot<SUM>(e)];
    return sum_of_lanes(all, WARP);
  });
  return sum;
}

/* Adds up the rows of a block of whole rows and writes them to vector g. starts[r] is where the products of row r begin. All
 * threads go round equally often, as sum_of_row wants. */
template <int VECTOR, typename SUM>
static __device__ __forceinline__ void add_rows(const macko_csr_block &b, const SUM *products, const int16_t *starts,
                                                const device_vectors &v, int g)
{
  int lanes = 1 << b.log_lanes, lane = threadIdx.x & (lanes - 1), first = (int)threadIdx.x >> b.log_lanes;
  for (int r = first; r - first < b.rows; r += THREADS >> b.log_lanes) {
    int there = r < b.rows;
    SUM sum = sum_of_row(products, there ? starts[r] : 0, there ? starts[r + 1] : 0, lane, lanes);
    if (there && lane == 0) put_y<VECTOR>(v, g, b.row + r, sum);
  }
}

/* Sets starts[r] to where the products of row r of a block begin, which threads have found for the first two rows that they take
 * each: most blocks have no more. */
static __device__ __forceinline__ void put_starts(const csr &a, const macko_csr_block &b, int64_t start, int one, int two,
                                                  int16_t *starts)
{
  starts[threadIdx.x] = (int16_t)one, starts[threadIdx.x + THREADS] = (int16_t)two;
#pragma unroll 1
  for (int r = threadIdx.x + 2 * THREADS; r <= b.rows; r += THREADS) starts[r] = (int16_t)row_start(a, b, start, r);
}

/* Computes the product of one block by a group of vectors, AT_ONCE by one of several groups that have blocks of their own, in three
 * steps: values, columns and x are loaded and multiplied entry by entry; products meet in shared memory; rows are added up from
 * there. What a piece of a long row has beyond ENTRIES entries has no room there, and threads add it up directly. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int ITEMS, int AT_ONCE, typename COL>
static __global__ void __launch_bounds__(THREADS, resident<SUM, GROUP, ITEMS, AT_ONCE>())
  csr_kernel(csr a, device_values values, device_vectors v)
{
  constexpr int ENTRIES = ITEMS * THREADS;
  __shared__ SUM products[ENTRIES + ENTRIES / (128 / sizeof(SUM))];
  __shared__ int16_t starts[ENTRIES + 1];
  __shared__ double scratch[THREADS / WARP];
  constexpr int KNOWN = is_known<STORED>, UNROLL = KNOWN ? 4 : 1;
  macko_csr_block b = load_block(a.blocks);
  const int first = AT_ONCE ? blockIdx.y * GROUP : 0; /* vector */
  int64_t start = b.begin / MACKO_CSR_ALIGN * MACKO_CSR_ALIGN;
  int from = (int)(b.begin - start), to = from + b.entries;
  const COL *cols = (const COL *)a.cols + start;
  SUM value[ITEMS];
  COL col[ITEMS];
  values.stream = (const char *)values.stream + start * (KNOWN ? sizeof(typename element<STORED>::type)
                                                                : bytes_of_type(values.stored_type));
  /* What is before the first or after the last entry takes that one again, which costs nothing and keeps loads together. Without
   * entries that is the next block's first or, at the end, a zero of the section's padding. */
  with_vector<STORED>(values.stored_type, [&](auto type) {
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
      int e = max(min(i * THREADS + (int)threadIdx.x, to - 1), from);
      col[i] = __ldcs(cols + e);
      value[i] = load_value<type.value, SUM>(values, e);
    }
  });
  /* Most blocks have no more rows than these. */
  int one = row_start(a, b, start, threadIdx.x), two = row_start(a, b, start, threadIdx.x + THREADS);
  SUM piece[GROUP];
#pragma unroll
  for (int g = 0; g < GROUP; g++) {
    SUM x[ITEMS];
    with_vector<VECTOR>(v.type, [&](auto type) {
#pragma unroll
      for (int i = 0; i < ITEMS; i++) x[i] = (SUM)load_vector<type.value>(v.x, (first + g) * v.ldx + col[i], v.type);
    });
    if (g) __syncthreads(); /* products of the vector before are read */
    else put_starts(a, b, start, one, two, starts);
#pragma unroll
    for (int i = 0; i < ITEMS; i++) products[slot<SUM>(i * THREADS + threadIdx.x)] = value[i] * x[i];
    __syncthreads();
    if (b.rows) {
      add_rows<VECTOR>(b, products, starts, v, first + g);
      continue;
    }
    SUM sum = 0;
    for (int e = from + threadIdx.x; e < min(to, ENTRIES); e += THREADS) sum += products[slot<SUM>(e)];
#pragma unroll UNROLL
    for (int e = ENTRIES + threadIdx.x; e < to; e += THREADS)
      sum += load_value<STORED, SUM>(values, e) * (SUM)load_vector<VECTOR>(v.x, (first + g) * v.ldx + __ldcs(cols + e), v.type);
    piece[g] = sum_of_block(sum, (SUM *)scratch);
  }
  if (b.rows == 0) add_piece<VECTOR, SUM, GROUP>(a, b, piece, v, first, scratch);
}

/* This is what run_product calls to start the kernel for its types. */
struct csr_launch {
  csr a;
  int64_t nblocks;
  int items; /* entries that a thread multiplies */
  int wide;  /* 64-bit columns: only through the kernel for any types */
  cudaStream_t stream;
  static constexpr int AT_ONCE = MACKO_DEVICE_AT_ONCE, RARE = MACKO_ANY;
  /* One vector of sums in f32 has a kernel of its own, in fewer registers. */
  template <int STORED, int VECTOR, typename SUM, int GROUP, int ITEMS, typename COL = int>
  cudaError_t start(const device_values &values, const device_vectors &v) const
  {
    constexpr int AT_ONCE = can_be_at_once<STORED, SUM, GROUP>, ALWAYS = AT_ONCE && (GROUP > 1 || sizeof(SUM) == 8);
    return start_groups<GROUP>(AT_ONCE, csr_kernel<STORED, VECTOR, SUM, GROUP, ITEMS, ALWAYS, COL>,
                               csr_kernel<STORED, VECTOR, SUM, GROUP, ITEMS, AT_ONCE, COL>, (unsigned)nblocks, THREADS, stream, a,
                               values, v);
  }
  /* Kernels for fewer entries a thread compute blocks of no more than these sooner, as nothing is loaded in vain and more blocks
   * run at once. They are there for one vector of known types. */
  template <int STORED, int VECTOR, typename SUM, int GROUP>
  cudaError_t run(const device_values &values, const device_vectors &v) const
  {
    if constexpr (STORED == MACKO_ANY && sizeof(SUM) == 8) {
      if (wide) return start<STORED, VECTOR, SUM, GROUP, MACKO_CSR_MOST, long long>(values, v);
    }
    /* Values of this format are stored as they are. */
    if constexpr (STORED == MACKO_I8 || STORED == MACKO_U8 || STORED == MACKO_U16) return cudaErrorInvalidValue;
    else {
      if constexpr (GROUP == 1 && STORED != MACKO_ANY) {
        if (items == MACKO_CSR_FEW) return start<STORED, VECTOR, SUM, GROUP, MACKO_CSR_FEW>(values, v);
        if (items == MACKO_CSR_SOME) return start<STORED, VECTOR, SUM, GROUP, MACKO_CSR_SOME>(values, v);
      }
      return start<STORED, VECTOR, SUM, GROUP, MACKO_CSR_MOST>(values, v);
    }
  }
};

/* This is what a matrix of format csr owns on the device besides its sections (d->own). */
typedef struct {
  macko_csr_cut cut; /* on the host, for as long as a copy of it may be under way */
  csr a;
  void *memory; /* blocks, then long rows */
  macko_work_space *space;
  macko_work_space *beside; /* for vectors side by side */
} device_csr;

/* Gives the number of bytes of work space before the sums of pieces: the counters of each long row, a multiple of 16. */
static size_t counter_bytes(const macko_csr_cut *cut)
{
  return (size_t)cut->nlong * MACKO_DEVICE_AT_ONCE * sizeof(unsigned);
}

/* Copies blocks and long rows to the device and makes the work space. Counters are zeroed there once; products leave them so. */
static macko_status upload_cut(macko_device_matrix *d, device_csr *own, cudaStream_t stream, macko_error *err)
{
  const macko_csr_cut *cut = &own->cut;
  size_t blocks = (size_t)cut->nblocks * sizeof *cut->blocks, rows = (size_t)cut->nlong * sizeof *cut->long_rows;
  size_t done = counter_bytes(cut), space = done + (size_t)cut->npieces * MACKO_DEVICE_AT_ONCE * sizeof(double);
  macko_status s = macko_device_alloc((int64_t)(blocks + rows), "the blocks of a matrix", &own->memory, err);
  if (!s) s = macko_work_space_new((int64_t)space, (int64_t)done, stream, &own->space, err);
  if (s) return s;
  d->own_bytes = (int64_t)(blocks + rows + space);
  char *to = (char *)own->memory;
  own->a.blocks = (const macko_csr_block *)to, own->a.long_rows = (const macko_csr_long_row *)(to + blocks);
  cudaError_t e = cudaMemcpyAsync(to, cut->blocks, blocks, cudaMemcpyHostToDevice, stream);
  if (!e && rows) e = cudaMemcpyAsync(to + blocks, cut->long_rows, rows, cudaMemcpyHostToDevice, stream);
  return macko_cuda_status(e, "copying the blocks of a matrix to the GPU", err);
}

extern "C" macko_status macko_csr_prepare(macko_device_matrix *d, const macko_matrix *host, cudaStream_t stream, macko_error *err)
{
  /* New values leave the rows as they are. */
  if (d->own || d->m.nnz == 0) return MACKO_OK;
  device_csr *own = (device_csr *)calloc(1, sizeof *own);
  if (!own) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a device matrix");
  d->own = own;
  own->a.row_ptr = macko_device_data(d, "row_ptr"), own->a.cols = macko_device_data(d, "cols");
  own->a.row_ptr_type = macko_find_section(&d->m, "row_ptr")->type;
  macko_status s = macko_csr_cut_blocks(host, &own->cut, err);
  if (!s) s = macko_beside_space(d->m.ncols, &own->beside, err);
  return s ? s : upload_cut(d, own, stream, err);
}

/* Says whether vectors are better multiplied at once, by blocks of their own, than in groups, which read the matrix once: where it
 * has so few blocks that the GPU has room for those of all (H200, four vectors of f64: 7.9 instead of 8.6 us with 54,000 entries,
 * 12.4 and 14.3 with 450,000, 15.9 and 15.8 with 680,000), or waits for long rows (27 and 32 with 880,000, 50 and 43 with 1.8
 * million). More vectors are several groups, which are multiplied at once, too. */
static int goes_at_once(const macko_device_matrix *d, const device_csr *own, const macko_product *p)
{
  enum { SMALL = 500000, SMALL_SINGLE = 200000, SMALL_UNEVEN = 1000000 }; /* entries */
  const int single = d->m.plan.stored_type == MACKO_F32 && p->vector_type == MACKO_F32, uneven = own->cut.nlong > 0;
  return p->k < 2 * MACKO_DEVICE_GROUP + uneven && d->m.nnz < (uneven ? SMALL_UNEVEN : single ? SMALL_SINGLE : SMALL);
}

/* Multiplies the vectors of p in groups where `grouped` says so, and those that are left at once, by blocks of their own. Matrices
 * with 64-bit columns are rare, so that they have one kernel for all types. */
static macko_status multiply_others(const csr &a, const device_csr *own, const macko_device_matrix *d, const macko_product *p,
                                    int grouped, cudaStream_t stream, macko_error *err)
{
  const int wide = macko_find_section(&d->m, "cols")->type == MACKO_I64;
  const csr_launch to_run = {a, own->cut.nblocks, own->cut.items, wide, stream};
  if (!wide) return run_product(to_run, d, p, grouped, err);
  const cudaError_t error = run_groups<MACKO_ANY, MACKO_ANY, double>(to_run, values_of(d), p, grouped);
  return macko_cuda_status(error, "starting a multiply", err);
}

extern "C" macko_status macko_csr_multiply(const macko_device_matrix *d, const macko_product *p,
                                           cudaStream_t stream, macko_error *err)
{
  const device_csr *own = (const device_csr *)d->own;
  csr a = own->a;
  macko_work_loan loan;
  macko_status s = macko_work_space_take(own->space, stream, &loan, err);
  if (s) return s;
  a.done = (unsigned *)loan.memory, a.partials = (double *)((char *)loan.memory + counter_bytes(&own->cut));
  const int grouped = !goes_at_once(d, own, p);
  const int64_t done = grouped ? macko_csr_multiply_packed(a, own->cut.nblocks, d, p, own->beside, stream) : 0;
  const macko_product rest = product_after(p, done);
  s = rest.k ? multiply_others(a, own, d, &rest, grouped, stream, err) : MACKO_OK;
  macko_status back = macko_work_space_give_back(own->space, stream, &loan, s ? NULL : err);
  return s ? s : back;
}

extern "C" void macko_csr_destroy(macko_device_matrix *d)
{
  device_csr *own = (device_csr *)d->own;
  if (!own) return;
  cudaFree(own->memory);
  macko_work_space_free(own->space), macko_work_space_free(own->beside);
  free(own->cut.blocks), free(own->cut.long_rows);
  free(own);
}
