/* Plain CSR. A block of threads takes about as many entries as every other, whatever the rows are like: it multiplies them side
 * by side, so that values and columns load in full lines and many loads are in flight, puts the products into shared memory and
 * adds them up row by row, as many lanes a row as there are for it. Blocks hold whole rows, but for rows too long for one: of
 * those every block leaves a sum, and the last one done adds them up. The order is the same on every run, which cuSPARSE's fast
 * kernels do not promise; CSR_ALG2, which does, took up to four times as long on rows of uneven length. */
#include "csr/csr.cuh"

#include <stdlib.h>

/* Gives how many blocks whose threads multiply ITEMS entries each are to run at once on a multiprocessor: as many as leave the
 * registers for loads of all ITEMS entries to be under way together, which are measured numbers. f32 takes half of the registers,
 * and one of several f32 vectors that go at once a little more. */
template <typename SUM, int ITEMS, int AT_ONCE> static constexpr int resident()
{
  if (AT_ONCE && sizeof(SUM) == 4) return 12;
  if (ITEMS == MACKO_CSR_MOST) return sizeof(SUM) == 4 ? 14 : 11;
  return ITEMS == MACKO_CSR_SOME && sizeof(SUM) == 8 ? 12 : 16;
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
    SUM sum = sum_of_row<SUM>(there ? starts[r] : 0, there ? starts[r + 1] : 0, lane, lanes, [&](int e, int past, int step) {
      SUM all = 0;
      for (; e < past; e += step) all += products[slot<SUM>(e)];
      return all;
    });
    if (there && lane == 0) put_y<VECTOR>(v, g, b.row + r, sum);
  }
}

/* Computes the product of one block by a vector, AT_ONCE by one of several that have blocks of their own, in three steps: values,
 * columns and x are loaded and multiplied entry by entry; products meet in shared memory; rows are added up from there. What a
 * piece of a long row has beyond ENTRIES entries has no room there, and threads add it up directly. */
template <int STORED, int VECTOR, typename SUM, int ITEMS, int AT_ONCE, typename COL>
static __global__ void __launch_bounds__(THREADS, resident<SUM, ITEMS, AT_ONCE>())
  csr_kernel(csr a, device_values values, device_vectors v)
{
  constexpr int ENTRIES = ITEMS * THREADS, UNROLL = is_known<STORED> ? 4 : 1;
  __shared__ SUM products[slots<SUM, ENTRIES>];
  __shared__ int16_t starts[ENTRIES + 1];
  __shared__ double scratch[THREADS / WARP];
  macko_csr_block b = load_block(a.blocks);
  const int number = AT_ONCE ? blockIdx.y : 0; /* of the vector */
  int64_t start = b.begin / MACKO_CSR_ALIGN * MACKO_CSR_ALIGN;
  int from = (int)(b.begin - start), to = from + b.entries;
  const COL *cols = (const COL *)a.cols + start;
  SUM value[ITEMS], x[ITEMS];
  COL col[ITEMS];
  values = values_from<STORED>(values, start);
  load_entries<STORED, SUM, ITEMS>(cols, values, from, to, ITEMS, value, col);
  /* Most blocks have no more rows than these. */
  int one = row_start(a, b, start, threadIdx.x), two = row_start(a, b, start, threadIdx.x + THREADS);
  with_vector<VECTOR>(v.type, [&](auto type) {
#pragma unroll
    for (int i = 0; i < ITEMS; i++) x[i] = (SUM)load_vector<type.value>(v.x, number * v.ldx + col[i], v.type);
  });
  put_starts(a, b, start, one, two, starts);
#pragma unroll
  for (int i = 0; i < ITEMS; i++) products[slot<SUM>(i * THREADS + threadIdx.x)] = value[i] * x[i];
  __syncthreads();
  if (b.rows) {
    add_rows<VECTOR>(b, products, starts, v, number);
    return;
  }
  SUM sum = 0;
  for (int e = from + threadIdx.x; e < min(to, ENTRIES); e += THREADS) sum += products[slot<SUM>(e)];
#pragma unroll UNROLL
  for (int e = entry_beyond(from, ENTRIES); e < to; e += THREADS)
    sum += product_of(load_value<STORED, SUM>(values, e), (SUM)load_vector<VECTOR>(v.x, number * v.ldx + __ldcs(cols + e), v.type));
  const SUM piece[1] = {sum_of_block(sum, (SUM *)scratch)};
  add_piece<VECTOR, SUM, 1>(a, b, piece, v, number, scratch);
}

/* This is what run_product calls to start the kernel for its types. */
struct csr_launch {
  csr a;
  const macko_csr_cut &cut;
  int wide;  /* 64-bit columns: only through the kernel for any types */
  int percent; /* of a first-level cache as shared memory, for one vector */
  cudaStream_t stream;
  static constexpr int AT_ONCE = MACKO_DEVICE_AT_ONCE, RARE = MACKO_ANY;
  /* One vector of sums in f32 has a kernel of its own, in fewer registers. */
  template <int STORED, int VECTOR, typename SUM, int ITEMS, typename COL = int>
  cudaError_t start(const device_values &values, const device_vectors &v) const
  {
    constexpr int AT_ONCE = can_be_at_once<STORED, SUM, 1>, ALWAYS = AT_ONCE && sizeof(SUM) == 8;
    return start_groups<1>(AT_ONCE, csr_kernel<STORED, VECTOR, SUM, ITEMS, ALWAYS, COL>,
                           csr_kernel<STORED, VECTOR, SUM, ITEMS, AT_ONCE, COL>, (unsigned)cut.nblocks, THREADS, stream, a, values,
                           v, percent);
  }
  /* Kernels for fewer entries a thread compute blocks of no more than these sooner, as nothing is loaded in vain and more blocks
   * run at once. They are there for one vector of known types. */
  template <int STORED, int VECTOR, typename SUM, int GROUP>
  cudaError_t run(const device_values &values, const device_vectors &v) const
  {
    /* Values of this format are stored as they are. */
    if constexpr (STORED == MACKO_I8 || STORED == MACKO_U8 || STORED == MACKO_U16) return cudaErrorInvalidValue;
    else if constexpr (GROUP > 1) return macko_csr_start_groups<STORED, VECTOR, SUM>(a, cut, wide, stream, values, v);
    else {
      if constexpr (STORED == MACKO_ANY && sizeof(SUM) == 8) {
        if (wide) return start<STORED, VECTOR, SUM, MACKO_CSR_MOST, long long>(values, v);
      }
      if constexpr (STORED != MACKO_ANY) {
        if (cut.items == MACKO_CSR_FEW) return start<STORED, VECTOR, SUM, MACKO_CSR_FEW>(values, v);
        if (cut.items == MACKO_CSR_SOME) return start<STORED, VECTOR, SUM, MACKO_CSR_SOME>(values, v);
      }
      return start<STORED, VECTOR, SUM, MACKO_CSR_MOST>(values, v);
    }
  }
};

/* This is what a matrix of format csr owns on the device besides its sections (d->own). */
typedef struct {
  macko_csr_cut cut;
  csr a;
  macko_work_space *space;
  macko_work_space *beside; /* for vectors side by side */
} device_csr;

/* Gives the number of bytes of work space before the sums of pieces: the counters of each long row, a multiple of 16. */
static size_t counter_bytes(const macko_csr_cut *cut)
{
  return (size_t)cut->nlong * MACKO_DEVICE_AT_ONCE * sizeof(unsigned);
}

/* Makes the work space. Counters are zeroed there once; products leave them so. */
static macko_status make_space(macko_device_matrix *d, device_csr *own, cudaStream_t stream, macko_error *err)
{
  const size_t done = counter_bytes(&own->cut), space = done + (size_t)own->cut.npieces * MACKO_DEVICE_AT_ONCE * sizeof(double);
  macko_status s = macko_work_space_new((int64_t)space, (int64_t)done, stream, &own->space, err);
  if (!s) d->own_bytes = macko_csr_cut_bytes(&own->cut) + (int64_t)space;
  return s ? s : macko_beside_space(d->m.ncols, &own->beside, err);
}

extern "C" macko_status macko_csr_prepare(macko_device_matrix *d, const macko_matrix *, cudaStream_t stream, macko_error *err)
{
  /* New values leave the rows as they are. */
  if (d->own || d->m.nnz == 0) return MACKO_OK;
  device_csr *own = (device_csr *)calloc(1, sizeof *own);
  if (!own) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a device matrix");
  d->own = own;
  own->a.row_ptr = macko_device_data(d, "row_ptr"), own->a.cols = macko_device_data(d, "cols");
  own->a.row_ptr_type = macko_find_section(&d->m, "row_ptr")->type;
  macko_status s = macko_csr_cut_blocks(d, stream, &own->cut, err);
  own->a.blocks = own->cut.blocks, own->a.long_rows = own->cut.long_rows;
  return s ? s : make_space(d, own, stream, err);
}

/* Says whether vectors are better multiplied at once, by blocks of their own, than in groups, which read the matrix once. That is
 * so where groups would leave vectors that have to go at once after them, and the matrix has so few entries that the GPU has room
 * for the blocks of all vectors, or waits for long rows (H200, five vectors of f64: 11.0 instead of 13.4 us with 115,000 entries,
 * 14.8 and 17.2 with 480,000, 18.1 and 17.5 with 680,000; with long rows 32 and 35 with 880,000, 59 and 51 with 1.8 million).
 * Groups alone are as fast or faster but for few entries with long rows (four vectors: 6.9 and 8.8 us with 46,000, 16.4 and 17.9
 * with 410,000, 27.9 and 23.5 with 880,000). Values of 16 bits have kernels for one vector at a time only. */
static int goes_at_once(const macko_device_matrix *d, const device_csr *own, const macko_product *p)
{
  enum { SMALL = 600000, SMALL_SINGLE = 350000, SMALL_UNEVEN = 1000000, SMALL_WITHOUT_REST = 300000 }; /* entries */
  const int stored = d->m.plan.stored_type, uneven = own->cut.nlong > 0;
  const int single = stored == MACKO_F32 && p->vector_type == MACKO_F32;
  const int one_by_one = (stored == MACKO_F16 || stored == MACKO_BF16) && p->vector_type != MACKO_F64;
  if (p->k >= 2 * MACKO_DEVICE_GROUP + uneven || one_by_one) return 0;
  if (p->k % MACKO_DEVICE_GROUP == 0) return uneven && d->m.nnz < SMALL_WITHOUT_REST;
  return d->m.nnz < (uneven ? SMALL_UNEVEN : single ? SMALL_SINGLE : SMALL);
}

/* Gives how many percent of a first-level cache are to be shared memory. Where most entries ask for a sector of x that those near
 * by do not, fewer blocks at once and more of x in the cache are faster (H200, us with 33 % and with the driver's share: rmat:17
 * 31.7 and 34.5, f32 24.0 and 26.9, rmat:18:f32 48.3 and 53.1). With 25 % or less rmat:18:f32 takes 42.8, but x of 100 kB, as that
 * of tile:rmat:14:60, is in the cache either way, and fewer blocks take longer: 39.4 and 34.1. */
static int share_of_cache(const macko_matrix *m)
{
  const int percent = 33;
  return macko_sectors_of_entry(m) > 0.5 ? percent : (int)DRIVERS_SHARE;
}

/* Multiplies the vectors of p in groups where `grouped` says so, and those that are left at once, by blocks of their own. Matrices
 * with 64-bit columns are rare, so that they have one kernel for all types. */
static macko_status multiply_others(const csr &a, const device_csr *own, const macko_device_matrix *d, const macko_product *p,
                                    int grouped, cudaStream_t stream, macko_error *err)
{
  const int wide = macko_find_section(&d->m, "cols")->type == MACKO_I64;
  const csr_launch to_run = {a, own->cut, wide, share_of_cache(&d->m), stream};
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
  const int64_t done = grouped ? macko_csr_multiply_beside(a, own->cut, d, p, own->beside, stream) : 0;
  const macko_product rest = product_after(p, done);
  s = rest.k ? multiply_others(a, own, d, &rest, grouped, stream, err) : MACKO_OK;
  macko_status back = macko_work_space_give_back(own->space, stream, &loan, s ? NULL : err);
  return s ? s : back;
}

extern "C" void macko_csr_destroy(macko_device_matrix *d)
{
  device_csr *own = (device_csr *)d->own;
  if (!own) return;
  cudaFree(own->cut.memory);
  macko_work_space_free(own->space), macko_work_space_free(own->beside);
  free(own);
}
