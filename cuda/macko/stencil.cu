/* Stencils of layout slice: no index and no value is read per entry, so that little but x and y moves. Where the matrix has few
 * different entries (stencil.cuh) a kernel is given them with its arguments; else all lanes of a warp read the same steps. */
#include "core/warp.cuh"
#include "macko/slice.cuh"

/* ---- few entries ---- */

/* This is the table as a kernel is given it, of up to 32 WORDS entries: distances in bytes of a vector; a multiple of ROUND
 * entries, those that are not there with neither distance nor value. As they are arguments, instructions name them where they
 * would name registers. */
template <int WORDS> struct stencil_constants {
  static constexpr int ENTRIES = (WORDS * WARP + STENCIL_ROUND - 1) / STENCIL_ROUND * STENCIL_ROUND;
  int count;
  int64_t offset[ENTRIES];
  double value[ENTRIES];
};

/* Expands to the instructions that set predicates p0 to p6 by the lowest bits of operand `mask`. Rounds are written as assembly:
 * of C++ the compiler makes branches, or loads addresses and values under the predicates, too, which takes twice as long. */
#define BIT(mask, j, bits) "and.b32 bit, " mask ", " bits "; setp.ne.u32 p" j ", bit, 0; "
#define BITS(mask) \
  "{ .reg .pred p<7>; .reg .b32 bit; " BIT(mask, "0", "1") BIT(mask, "1", "2") BIT(mask, "2", "4") BIT(mask, "3", "8") \
    BIT(mask, "4", "16") BIT(mask, "5", "32") BIT(mask, "6", "64")

/* Expands to loads of a round of x: raw[j] from at[j] where bit j of mask is 1; the others keep anything. */
#define LOAD_ROUND(type, letter) \
  asm(BITS("%7") "@p0 ld.global.nc." type " %0, [%8]; @p1 ld.global.nc." type " %1, [%9]; @p2 ld.global.nc." type " %2, [%10]; " \
                 "@p3 ld.global.nc." type " %3, [%11]; @p4 ld.global.nc." type " %4, [%12]; @p5 ld.global.nc." type " %5, [%13]; " \
                 "@p6 ld.global.nc." type " %6, [%14]; }" \
      : "=" letter(raw[0]), "=" letter(raw[1]), "=" letter(raw[2]), "=" letter(raw[3]), "=" letter(raw[4]), "=" letter(raw[5]), \
        "=" letter(raw[6]) \
      : "r"(mask), "l"(at[0]), "l"(at[1]), "l"(at[2]), "l"(at[3]), "l"(at[4]), "l"(at[5]), "l"(at[6]))

/* Loads the elements of x of a round: that at at[j] where bit j of mask is 1. The others may be anything, and are not used. */
template <int VECTOR> static __device__ __forceinline__ void load_round(uint32_t mask, const char *const at[STENCIL_ROUND],
                                                                        double x[STENCIL_ROUND])
{
  static_assert(STENCIL_ROUND == 7, "rounds are written out");
  if constexpr (VECTOR == MACKO_F64) {
    double *raw = x;
    LOAD_ROUND("f64", "d");
  } else if constexpr (VECTOR == MACKO_F32) {
    float raw[STENCIL_ROUND];
    LOAD_ROUND("f32", "f");
#pragma unroll
    for (int j = 0; j < STENCIL_ROUND; j++) x[j] = raw[j];
  } else {
    unsigned short raw[STENCIL_ROUND];
    LOAD_ROUND("u16", "h");
#pragma unroll
    for (int j = 0; j < STENCIL_ROUND; j++) x[j] = number_of<VECTOR>(raw[j]);
  }
}

/* Gives sum and the products of a round, each rounded once as add_product does it, where bit j of mask is 1. */
static __device__ __forceinline__ double add_round(uint32_t mask, const double *value, const double x[STENCIL_ROUND], double sum)
{
  asm(BITS("%1") "@p0 fma.rn.f64 %0, %2, %9, %0; @p1 fma.rn.f64 %0, %3, %10, %0; @p2 fma.rn.f64 %0, %4, %11, %0; "
                 "@p3 fma.rn.f64 %0, %5, %12, %0; @p4 fma.rn.f64 %0, %6, %13, %0; @p5 fma.rn.f64 %0, %7, %14, %0; "
                 "@p6 fma.rn.f64 %0, %8, %15, %0; }"
      : "+d"(sum)
      : "r"(mask), "d"(value[0]), "d"(value[1]), "d"(value[2]), "d"(value[3]), "d"(value[4]), "d"(value[5]), "d"(value[6]),
        "d"(x[0]), "d"(x[1]), "d"(x[2]), "d"(x[3]), "d"(x[4]), "d"(x[5]), "d"(x[6]));
  return sum;
}

/* Multiplies by the stencils, of at most 32 WORDS entries, a warp a slice; AT_ONCE for several groups. There is no loop over
 * slices, out of which the compiler would move more of the table than there are registers. One vector takes few of them, so that
 * all warps that there can be fit. */
template <int VECTOR, int GROUP, int AT_ONCE, int WORDS>
static __global__ void __launch_bounds__(THREADS, GROUP > 1 ? 5 : 16)
  few_entries_kernel(const stencil_place *places, const uint32_t *masks, int64_t count, int64_t nrows,
                     const __grid_constant__ stencil_constants<WORDS> t, device_vectors all)
{
  const device_vectors v = vectors_of_block<VECTOR, GROUP, AT_ONCE>(all);
  const int lane = threadIdx.x % MACKO_SLICE_ROWS;
  const int64_t slice = (int64_t)blockIdx.x * WARPS + threadIdx.x / MACKO_SLICE_ROWS;
  if (slice >= count) return;
  const int2 place = __ldg((const int2 *)places + slice);
  if (place.x == NO_STENCIL) return;
  uint32_t mask[WORDS + 1] = {}; /* the last is empty */
#pragma unroll
  for (int w = 0; w < WORDS; w++)
    if (w == 0 || w * WARP < t.count) mask[w] = __ldg(masks + place.x + w * MACKO_SLICE_ROWS + lane);
  const int64_t row = (int64_t)place.y + lane;
  double sum[GROUP] = {};
#pragma unroll
  for (int k = 0; k < WORDS * WARP; k += STENCIL_ROUND) {
    if (k >= t.count) break;
    const uint32_t round = __funnelshift_r(mask[k / WARP], mask[k / WARP + 1], k % WARP);
#pragma unroll
    for (int g = 0; g < GROUP; g++) {
      const char *x0 = (const char *)((const typename element<VECTOR>::type *)v.x + (g * v.ldx + row)), *at[STENCIL_ROUND];
      double x[STENCIL_ROUND];
#pragma unroll
      for (int j = 0; j < STENCIL_ROUND; j++) at[j] = x0 + t.offset[k + j];
      load_round<VECTOR>(round, at, x);
      sum[g] = add_round(round, t.value + k, x, sum[g]);
    }
  }
  if (row < nrows)
#pragma unroll
    for (int g = 0; g < GROUP; g++) put_y<VECTOR>(v, g, row, sum[g]);
}

/* Gives the table for vectors of elements of so many bytes. */
template <int WORDS> static stencil_constants<WORDS> constants_of(const stencil_table &t, int bytes)
{
  stencil_constants<WORDS> c = {t.count, {}, {}};
  for (int i = 0; i < t.count; i++) c.offset[i] = (int64_t)t.distance[i] * bytes, c.value[i] = t.value[i];
  return c;
}

/* Starts that kernel for v.count groups. */
template <int VECTOR, int GROUP, int WORDS>
static cudaError_t start_few_entries(const slices &a, const device_stencils &t, const device_vectors &v, cudaStream_t stream)
{
  const auto kernel = v.count > 1 ? few_entries_kernel<VECTOR, GROUP, 1, WORDS> : few_entries_kernel<VECTOR, GROUP, 0, WORDS>;
  return launch(kernel, dim3(blocks_for(a.count), v.count), THREADS, 0, stream, t.places, t.masks, a.count, a.nrows,
                constants_of<WORDS>(t.table, (int)sizeof(typename element<VECTOR>::type)), v);
}

/* ---- many ---- */

/* Multiplies by the stencils, a warp a slice; AT_ONCE for several groups. All lanes read the same steps; each has those whose mask
 * holds its bit. x begins at the lane's row, so that a distance is an index. */
template <int VALUE, int VECTOR, int GROUP, int AT_ONCE>
static __global__ void __launch_bounds__(THREADS) stencil_kernel(slices a, int type, device_vectors all)
{
  const device_vectors v = vectors_of_block<VECTOR, GROUP, AT_ONCE>(all);
  int lane = threadIdx.x % MACKO_SLICE_ROWS;
  int64_t warps = (int64_t)gridDim.x * (THREADS / MACKO_SLICE_ROWS);
  for (int64_t slice = (int64_t)blockIdx.x * (THREADS / MACKO_SLICE_ROWS) + threadIdx.x / MACKO_SLICE_ROWS; slice < a.count;
       slice += warps) {
    macko_slice s = load_header(a.headers, slice);
    if (!s.stencil) continue;
    const uint4 *steps = (const uint4 *)(a.blocks + s.block);
    int64_t row = (int64_t)s.base + lane;
    const char *x0 = (const char *)v.x + row * (int)sizeof(typename element<VECTOR>::type);
    double sum[GROUP] = {};
    for (int k = 0; k < (int)s.steps; k += STEPS) {
      uint4 step[STEPS];
#pragma unroll
      for (int j = 0; j < STEPS; j++) step[j] = k + j < (int)s.steps ? __ldg(steps + k + j) : make_uint4(0, 0, 0, 0);
#pragma unroll
      for (int g = 0; g < GROUP; g++) {
        double x[STEPS];
#pragma unroll
        for (int j = 0; j < STEPS; j++)
          x[j] = step[j].y >> lane & 1 ? (double)load_vector<VECTOR>(x0, g * v.ldx + (int)step[j].x, v.type) : 0;
#pragma unroll
        for (int j = 0; j < STEPS; j++)
          if (step[j].y >> lane & 1) sum[g] = add_product(stencil_value<VALUE>(type, step[j]), x[j], sum[g]);
      }
    }
    if (row < a.nrows)
#pragma unroll
      for (int g = 0; g < GROUP; g++) put_y<VECTOR>(v, g, row, sum[g]);
  }
}

/* Starts that kernel for v.count groups. */
template <int VALUE, int VECTOR, int GROUP>
static cudaError_t start_stencils(const slices &a, int type, const device_vectors &v, cudaStream_t stream)
{
  const auto kernel = v.count > 1 ? stencil_kernel<VALUE, VECTOR, GROUP, 1> : stencil_kernel<VALUE, VECTOR, GROUP, 0>;
  return launch(kernel, dim3(blocks_for(a.count), v.count), THREADS, 0, stream, a, type, v);
}

/* Starts the kernel that *d asks for: values have types that are known at run time but where all is f64. More entries than a word
 * has bits are for one vector at a time. */
template <int VECTOR, int GROUP>
static cudaError_t start_any(const slices &a, const macko_device_matrix *d, const device_vectors &v, cudaStream_t stream)
{
  const device_stencils &t = ((const device_macko *)d->own)->stencils;
  const int type = d->m.value_type;
  if constexpr (GROUP == 1)
    if (t.table.count > WARP) return start_few_entries<VECTOR, 1, STENCIL_WORDS>(a, t, v, stream);
  if (t.table.count) return start_few_entries<VECTOR, GROUP, 1>(a, t, v, stream);
  if (VECTOR == MACKO_F64 && type == MACKO_F64) return start_stencils<MACKO_F64, VECTOR, GROUP>(a, type, v, stream);
  return start_stencils<MACKO_ANY, VECTOR, GROUP>(a, type, v, stream);
}

/* Goes through the vectors of p. */
template <int VECTOR>
static cudaError_t run_stencils(const slices &a, const macko_device_matrix *d, const macko_product *p, int grouped,
                                cudaStream_t stream)
{
  const int count = ((const device_macko *)d->own)->stencils.table.count;
  return go_through(
    p, grouped && count <= WARP, MACKO_DEVICE_AT_ONCE,
    [&](const device_vectors &v) { return start_any<VECTOR, MACKO_DEVICE_GROUP>(a, d, v, stream); },
    [&](const device_vectors &v) { return start_any<VECTOR, 1>(a, d, v, stream); });
}

cudaError_t macko_stencils_multiply(const macko_device_matrix *d, const macko_product *p, int grouped, cudaStream_t stream)
{
  const slices a = slices_of(d);
  switch (p->vector_type) {
  case MACKO_F64: return run_stencils<MACKO_F64>(a, d, p, grouped, stream);
  case MACKO_F32: return run_stencils<MACKO_F32>(a, d, p, grouped, stream);
  case MACKO_F16: return run_stencils<MACKO_F16>(a, d, p, grouped, stream);
  default: return run_stencils<MACKO_BF16>(a, d, p, grouped, stream);
  }
}
