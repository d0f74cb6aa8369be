/* Format eccsr on the GPU: one warp a slice, one lane a row. All but the lanes' own columns, lengths and rows is the same for the
 * warp, so no branch diverges. Lanes whose block is at its end load what others load, which costs nothing, and do not add it. */
#ifndef MACKO_ECCSR_CUH
#define MACKO_ECCSR_CUH

#include "core/product.cuh"
#include "core/warp.cuh"
#include "eccsr/eccsr_params.h"
#include "eccsr/eccsr_parts.cuh"

#include <type_traits>

/* A block has WARPS warps, each of which takes a slice. TABLE is what a table of 8-bit codes holds. */
enum { WARPS = MACKO_ECCSR_BLOCK_WARPS, THREADS = WARPS * WARP, TABLE = 256 };

/* This is the number of blocks on a multiprocessor where runs are of W columns, or of several widths with W 0. */
template <int GROUP, int W, int MASKED> constexpr int resident = GROUP > 1 ? 5 : macko_eccsr_resident_blocks(W, MASKED);

/* This is a matrix of format eccsr as kernels take it: its sections but the values, device pointers. */
struct eccsr {
  const uint4 *slices; /* two of them a slice */
  const uint32_t *gaps;
  const int32_t *bases, *rows;
  const void *lengths;
  int length_bytes;  /* of an element of lengths */
  int width, masked; /* columns of all runs, 0 where they differ; 1 where some slices have masks */
  int64_t count, ncols; /* slices; columns of the matrix */
  int64_t words;     /* of gaps */
  int64_t ahead;     /* how many slices further a warp looks (fetch_ahead); 0: it does not */
  eccsr_parts parts; /* who takes parts of slices; no blocks: slices are not shared */
};

/* Gives slice number i, by two loads of 16 bytes, which all lanes do alike. */
static __device__ __forceinline__ macko_eccsr_slice load_slice(const eccsr &a, int64_t i)
{
  uint4 h[2] = {__ldg(a.slices + 2 * i), __ldg(a.slices + 2 * i + 1)};
  uint32_t words[MACKO_ECCSR_SLICE_WORDS] = {h[0].x, h[0].y, h[0].z, h[0].w, h[1].x, h[1].y, h[1].z, h[1].w};
  return macko_eccsr_slice_at(words, 0);
}

/* This is what a lane has of its slice. */
struct eccsr_lane {
  int row;          /* -1: none */
  int block, leads; /* its block in the slice, and whether it is that one's first lane */
  int length;       /* runs of its block; 0 where it has none */
  int base;         /* where the first begins; 0 there */
};

/* Gives what the calling lane has of slice s. The division by g goes through floats, which is quicker than integers and exact
 * here, because the quotient is far enough from whole numbers. */
static __device__ __forceinline__ eccsr_lane open_lane(const eccsr &a, const macko_eccsr_slice &s)
{
  int lane = threadIdx.x % WARP;
  eccsr_lane l = {-1, (int)__fdividef((float)lane + 0.5f, (float)s.g), 0, 0, 0}; /* far enough from whole numbers */
  if (l.block >= s.blocks) return l;
  int64_t block = (int64_t)s.block + l.block;
  int r = lane - l.block * s.g;
  l.row = s.in_order ? __ldg(a.rows + s.row + l.block) + r : __ldg(a.rows + s.row + lane);
  l.leads = r == 0;
  l.length = a.length_bytes == 2 ? (int)__ldg((const unsigned short *)a.lengths + block)
                                 : (int)__ldg((const unsigned *)a.lengths + block);
  l.base = __ldg(a.bases + block);
  return l;
}

/* These are the gaps of a slice, taken step by step. Only lanes whose block has a step have a gap there, so that all lanes keep
 * count of where a step's gaps begin. */
struct eccsr_gaps {
  const uint32_t *codes;
  unsigned number, leaders; /* of the first gap of the step; lanes that lead blocks */
  int log_bits, log_per;    /* of a code; codes of a word */
  uint32_t mask; /* of the bits of a code */
  int k;         /* the next step */
};

/* Gives the gaps of slice s before its first step; all lanes of the warp take part. */
static __device__ __forceinline__ eccsr_gaps open_gaps(const eccsr &a, const macko_eccsr_slice &s, const eccsr_lane &l)
{
  int log_bits = 31 - __clz(s.gap_bits);
  return {a.gaps + s.words + macko_eccsr_mask_words(&s), 0, __ballot_sync(EVERY, l.leads), log_bits, 5 - log_bits,
          0xffffffffu >> (32 - s.gap_bits), 0};
}

/* Gives the code of the next step for a lane: 0 for the first step, which has a base column instead (FIRST), and where its
 * block has no such step. *lanes is the mask of those that have it. */
template <int FIRST> static __device__ __forceinline__ unsigned next_gap(eccsr_gaps &g, const eccsr_lane &l, unsigned *lanes)
{
  int alive = g.k++ < l.length;
  *lanes = __ballot_sync(EVERY, alive);
  if (FIRST) return 0;
  unsigned i = g.number + (unsigned)l.block, code = 0;
  if (alive) code = __ldg(g.codes + (i >> g.log_per)) >> ((i & ((1u << g.log_per) - 1)) << g.log_bits) & g.mask;
  g.number += (unsigned)__popc(*lanes & g.leaders);
  return code;
}

/* Asks for what the warp of a later slice begins with, a line a lane. It waits for memory three times in a row before it can load a
 * value, for its header, its lanes and its gaps, and what takes little time besides waits much less if those are in the cache
 * then: 178 instead of 189 us with two unknowns a node. Values asked for as well did no better, and cost x its place in the cache
 * where columns are scattered. */
static __device__ __forceinline__ void fetch_ahead(const eccsr &a, int64_t slice)
{
  enum { LINE_WORDS = 32 };
  const int64_t next = slice + a.ahead;
  if (!a.ahead || next >= a.count) return;
  const int lane = threadIdx.x % WARP;
  const macko_eccsr_slice s = load_slice(a, next);
  const void *at = a.slices + 2 * min(next + a.ahead, a.count - 1);
  if (lane == 1) at = (const char *)a.lengths + (int64_t)s.block * a.length_bytes;
  else if (lane == 2) at = a.bases + s.block;
  else if (lane == 3) at = a.rows + s.row;
  else if (lane) at = a.gaps + min(s.words + (lane - 4) * LINE_WORDS, a.words - 1);
  if (lane < (a.words ? 6 : 4)) asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
}

/* Says whether there are kernels in which lanes share x (shares_x): with masks it costs more than it saves, as each lane then
 * loads little of x. */
template <int W, int MASKED> constexpr int may_share = W == 2 || (W > 2 && !MASKED);

/* Says whether the lanes of a block share what they load of x: each loads the element of one column and gets the others from its
 * neighbours, which takes fewer accesses to the cache than if all load all. For runs of two columns it takes blocks of two rows,
 * which lie on pairs of lanes. */
template <int W> static __device__ __forceinline__ bool shares_x(const macko_eccsr_slice &s)
{
  return W == 2 ? s.g == 2 : W > 2 && s.g >= W;
}

/* Sets x to the elements that the W lanes from `first` on have loaded, in their order; `own` is what the calling lane has. All
 * lanes of the warp take part. */
template <int W, typename SUM> static __device__ __forceinline__ void share_x(SUM own, int first, SUM x[W])
{
  if constexpr (W == 2) {
    const SUM other = __shfl_xor_sync(EVERY, own, 1);
    const int odd = threadIdx.x & 1;
    x[0] = odd ? other : own, x[1] = odd ? own : other;
  } else {
#pragma unroll
    for (int j = 0; j < W; j++) x[j] = __shfl_sync(EVERY, own, first + j);
  }
}

/* Says whether values are kept as they are stored until they are multiplied, which takes fewer registers than the accumulator's
 * type. */
template <int STORED, typename SUM> constexpr int is_narrow = sizeof(typename element<STORED>::type) < sizeof(SUM);

/* This is a value between its load and its use. */
template <int STORED, typename SUM> struct held_value {
  typename std::conditional<is_narrow<STORED, SUM>, uint32_t, SUM>::type held;
  __device__ __forceinline__ void load(const device_values &at, int slot)
  {
    if constexpr (!is_narrow<STORED, SUM>) held = load_value<STORED, SUM>(at, slot);
    else if constexpr (STORED == MACKO_F32) held = __ldcs((const unsigned *)at.stream + slot);
    else if constexpr (sizeof(typename element<STORED>::type) == 2) held = __ldcs((const unsigned short *)at.stream + slot);
    else held = __ldcs((const unsigned char *)at.stream + slot);
  }
  __device__ __forceinline__ SUM number(const SUM *table) const
  {
    if constexpr (is_narrow<STORED, SUM>) return value_of<STORED, SUM>(held, table);
    else return held;
  }
};

/* This is the number of steps whose loads are in flight together: as many as there is room for in the registers. Masks take
 * some of it, and x less where lanes share it (SHARED), which only kernels for one width do. */
template <int GROUP, int W, int MASKED, int SHARED> constexpr int steps_at_once =
  W == 1 ? 4 : W == 2 ? 3 - MASKED : W == 3 ? 2 : W == 4 || (W < 8 && SHARED && GROUP == 1) ? 2 - MASKED : 1;

/* Narrow values leave room for one step more, for one vector. */
template <int STORED, typename SUM, int GROUP, int W, int MASKED, int SHARED> constexpr int steps_of =
  steps_at_once<GROUP, W, MASKED, SHARED> + (is_narrow<STORED, SUM> && GROUP == 1 && W > 1 && !MASKED && (W < 5 || SHARED));

/* This is what is known of a few steps before their values and x are loaded. It is loaded a round ahead, so that nobody waits
 * for it. */
template <int W, int MASKED, int STEPS> struct eccsr_round {
  unsigned codes[STEPS], lanes[STEPS];
  uint32_t masks[MASKED ? STEPS : 1][MASKED ? W : 1];

  template <int FIRST>
  __device__ __forceinline__ void load(int to, const uint32_t *mask_words, eccsr_gaps &g, const eccsr_lane &l)
  {
    int k = g.k;
    if constexpr (MASKED)
#pragma unroll
      for (int u = 0; u < STEPS; u++)
#pragma unroll
        for (int j = 0; j < W; j++) masks[u][j] = k + u < to ? __ldg(mask_words + (int64_t)(k + u) * W + j) : 0;
#pragma unroll
    for (int u = 0; u < STEPS; u++) codes[u] = FIRST && u == 0 ? next_gap<1>(g, l, &lanes[u]) : next_gap<0>(g, l, &lanes[u]);
  }
};

/* Gives the mask of the lanes before one. */
static __device__ __forceinline__ unsigned lanes_below(int lane)
{
  return (1u << lane) - 1;
}

/* Adds the steps from .. to - 1 of a slice of runs of W columns to the sums of its lanes, for GROUP vectors: all of them, or with
 * PART the share of one warp, which begins as *start says if that is not step 0. at.stream is the slice's first value. In each
 * round the values of a few steps are loaded, the codes of the next round, x, and then all is multiplied. SHARED: shares_x
 * holds. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int W, int MASKED, int SHARED, int PART>
static __device__ __forceinline__ void walk(const eccsr &a, device_values at, const SUM *table, const device_vectors &v,
                                            const macko_eccsr_slice &s, const eccsr_lane &whole, int from, int to,
                                            const eccsr_start *start, SUM sum[GROUP])
{
  constexpr int STEPS = steps_of<STORED, SUM, GROUP, W, MASKED, SHARED>;
  constexpr int bytes = sizeof(typename element<STORED>::type);
  constexpr int TOGETHER = is_beside<VECTOR> ? GROUP : 1, LOADS = SHARED ? 1 : W; /* vectors, and columns of a run */
  eccsr_lane l = whole;
  if (PART) l.length = min(l.length, to);
  const int lane = threadIdx.x % WARP, first = l.block * s.g, own = lane - first < W ? lane - first : 0;
  const uint32_t *mask_words = a.gaps + s.words;
  eccsr_gaps gaps = open_gaps(a, s, l);
  eccsr_round<W, MASKED, STEPS> now;
  int col = l.length ? l.base - W : 0;
  at.table = table;
  if (PART && from > 0) {
    at.stream = (const char *)at.stream + __ldg(&start->values) * bytes;
    gaps.number = __ldg(&start->gaps), gaps.k = from, col = __ldg(start->columns + lane);
    now.template load<0>(to, mask_words, gaps, l);
  } else now.template load<1>(to, mask_words, gaps, l);
#pragma unroll 1
  for (int k = from; k < to; k += STEPS) {
    held_value<STORED, SUM> value[STEPS][W];
    int x_at[STEPS], alive[STEPS];
    uint32_t masks[MASKED ? STEPS : 1][MASKED ? W : 1];
#pragma unroll
    for (int u = 0; u < STEPS; u++) {
      alive[u] = k + u < l.length;
      if (alive[u]) col += W + (int)now.codes[u] * s.unit;
      x_at[u] = col;
      int n = __popc(now.lanes[u]), before = 0;
#pragma unroll
      for (int j = 0; j < W; j++) {
        if constexpr (MASKED) masks[u][j] = now.masks[u][j];
        /* Past a slice's last step lanes would load what another slice has. */
        if (MASKED || alive[u])
          value[u][j].load(at, MASKED ? before + __popc(now.masks[u][MASKED ? j : 0] & lanes_below(lane)) : j * n + lane);
        else value[u][j].held = 0;
        if constexpr (MASKED) before += __popc(now.masks[u][j]);
      }
      at.stream = (const char *)at.stream + (int64_t)(MASKED ? before : W * n) * bytes;
    }
    now.template load<0>(to, mask_words, gaps, l);
#pragma unroll
    for (int g = 0; g < GROUP; g += TOGETHER) {
      SUM x[STEPS][LOADS][TOGETHER];
#pragma unroll
      for (int u = 0; u < STEPS; u++)
#pragma unroll
        for (int j = 0; j < LOADS; j++) {
          /* Of a run with masks not every column need exist. */
          const int there = SHARED ? !MASKED || x_at[u] + own < a.ncols
                                   : !MASKED || masks[MASKED ? u : 0][MASKED ? j : 0] >> lane & 1;
          const int64_t column = SHARED ? x_at[u] + (there ? own : 0) : there ? x_at[u] + j : 0;
          load_group<VECTOR, SUM, TOGETHER>(v, g * v.ldx + column, x[u][j]);
        }
#pragma unroll
      for (int u = 0; u < STEPS; u++)
#pragma unroll
        for (int t = 0; t < TOGETHER; t++) {
          SUM run[W];
          if constexpr (SHARED) share_x<W>(x[u][0][t], first, run);
#pragma unroll
          for (int j = 0; j < W; j++)
            if (MASKED ? masks[MASKED ? u : 0][MASKED ? j : 0] >> lane & 1 : alive[u])
              sum[g + t] = add_product(value[u][j].number(table), SHARED ? run[j] : x[u][SHARED ? 0 : j][t], sum[g + t]);
        }
    }
  }
}

/* Does the same for runs of any width, with masks or without, of any types, a step at a time: it is for combinations too rare
 * for kernels of their own. */
template <int STORED, int VECTOR, typename SUM, int GROUP>
static __device__ __forceinline__ void walk_any(const eccsr &a, device_values at, const SUM *table, const device_vectors &v,
                                                const macko_eccsr_slice &s, const eccsr_lane &l, SUM sum[GROUP])
{
  constexpr int UNROLL = is_known<STORED> ? 4 : 1;
  const int lane = threadIdx.x % WARP;
  const uint32_t *mask_words = a.gaps + s.words;
  eccsr_gaps gaps = open_gaps(a, s, l);
  unsigned lanes, code = next_gap<1>(gaps, l, &lanes);
  int64_t slot = s.values;
  int col = l.base - s.w;
  at.table = table;
#pragma unroll 1
  for (int k = 0; k < (int)s.steps; k++) {
    const unsigned present = lanes;
    col += s.w + (int)code * s.unit;
    code = next_gap<0>(gaps, l, &lanes);
#pragma unroll UNROLL
    for (int j = 0; j < s.w; j++) {
      uint32_t mask = s.masked ? __ldg(mask_words + (int64_t)k * s.w + j) : present;
      int there = mask >> lane & 1;
      SUM value = 0;
      with_stored<STORED>(at.stored_type, [&](auto type) {
        value = load_value<type.value, SUM>(at, slot + __popc(mask & lanes_below(lane)));
      });
      slot += __popc(mask);
#pragma unroll
      for (int g = 0; g < GROUP; g++) {
        SUM x = (SUM)load_vector<VECTOR>(v.x, g * v.ldx + (there ? col + j : 0), v.type);
        if (there) sum[g] = add_product(value, x, sum[g]);
      }
    }
  }
}

/* Goes through all slices, each by one warp; add(s, l, sum) adds to sum what the calling lane has of slice s. Rows are in one
 * slice each, so that a lane writes its row of y itself. */
template <int VECTOR, typename SUM, int GROUP, typename ADD>
static __device__ __forceinline__ void take_slices(const eccsr &a, const device_vectors &v, const ADD &add)
{
  int64_t warps = (int64_t)gridDim.x * WARPS;
  for (int64_t slice = (int64_t)blockIdx.x * WARPS + threadIdx.x / WARP; slice < a.count; slice += warps) {
    macko_eccsr_slice s = load_slice(a, slice);
    eccsr_lane l = open_lane(a, s);
    SUM sum[GROUP] = {};
    fetch_ahead(a, slice);
    add(s, l, sum);
    if (l.row >= 0)
#pragma unroll
      for (int g = 0; g < GROUP; g++) put_y<VECTOR>(v, g, l.row, sum[g]);
  }
}

/* Adds the slice of a warp, of runs of W columns, to the sums of its lanes, or with PART what `part` has of it. MASKED: the matrix
 * has slices with masks; those without are walked without. SHARED: lanes share x. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int W, int MASKED, int SHARED, int PART>
static __device__ __forceinline__ void walk_slice(const eccsr &a, const device_values &values, const SUM *table,
                                                  const device_vectors &v, const macko_eccsr_slice &s, const eccsr_lane &l,
                                                  const eccsr_part &part, SUM *sum)
{
  const auto walk_as = [&](auto masked) {
    const int from = PART ? part.from : 0, to = PART ? part.to : (int)s.steps;
    device_values at = values;
    at.stream = (const char *)values.stream + s.values * (int64_t)sizeof(typename element<STORED>::type);
    if (from < to)
      walk<STORED, VECTOR, SUM, GROUP, W, masked.value, SHARED, PART>(a, at, table, v, s, l, from, to, part.start, sum);
  };
  if (MASKED && s.masked) walk_as(type_of<MASKED>());
  else walk_as(type_of<0>());
}

/* Does the same where all runs are of W columns: lanes share x where that is faster for the slice. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int W, int MASKED, int PART>
static __device__ __forceinline__ void walk_width(const eccsr &a, const device_values &values, const SUM *table,
                                                  const device_vectors &v, const macko_eccsr_slice &s, const eccsr_lane &l,
                                                  const eccsr_part &part, SUM *sum)
{
  if (may_share<W, MASKED> && shares_x<W>(s))
    walk_slice<STORED, VECTOR, SUM, GROUP, W, MASKED, may_share<W, MASKED>, PART>(a, values, table, v, s, l, part, sum);
  else walk_slice<STORED, VECTOR, SUM, GROUP, W, MASKED, 0, PART>(a, values, table, v, s, l, part, sum);
}

/* Gives the number of blocks of threads for all slices, one a warp. Where a block loads a table first it takes several slices,
 * so that it loads it less often. */
template <int STORED> static inline unsigned blocks_for(const eccsr &a)
{
  int64_t blocks = (a.count + WARPS - 1) / WARPS;
  if (STORED == MACKO_U8 && blocks > 4096) blocks = (blocks + 3) / 4;
  return (unsigned)(blocks > INT32_MAX ? INT32_MAX : blocks);
}

/* Says whether the kernel for one group, of runs of W columns or of several widths with W 0, takes several as well. One vector of
 * sums in f32 has a kernel of its own, in fewer registers (1 to 3 % faster), and so have runs of one column, and groups where some
 * slices have masks (28 instead of 35 us). */
template <typename SUM, int GROUP, int W, int MASKED>
constexpr int always_at_once = GROUP > 1 ? !MASKED : sizeof(SUM) == 8 && W != 1;

/* These start the kernel for runs of one width, that in which warps share slices of such runs, and that for runs of several. They
 * are instantiated in files of their own, for the types of the lists. */
template <int STORED, int VECTOR, typename SUM, int GROUP>
cudaError_t macko_eccsr_run_width(const eccsr &a, const device_values &values, const device_vectors &v, cudaStream_t stream);
template <int STORED, int VECTOR, typename SUM, int GROUP>
cudaError_t macko_eccsr_run_split(const eccsr &a, const device_values &values, const device_vectors &v, cudaStream_t stream);
template <int STORED, int VECTOR, typename SUM, int GROUP>
cudaError_t macko_eccsr_run_mixed(const eccsr &a, const device_values &values, const device_vectors &v, cudaStream_t stream);

/* Sets *parts, whose memory is new and freed with macko_eccsr_free_parts: slices are shared until a part has `most` steps at most,
 * or MACKO_ECCSR_MOST_PARTS warps take a slice. Errors: OUT_OF_MEMORY, DEVICE. */
macko_status macko_eccsr_list_parts(const eccsr &a, uint32_t most, cudaStream_t stream, eccsr_parts *parts, macko_error *err);
int64_t macko_eccsr_parts_bytes(const eccsr_parts *parts);
void macko_eccsr_free_parts(eccsr_parts *parts);

/* Instantiates one of those, which a file names as RUN, for types of a list: for one vector, or for a group. */
#define MACKO_ECCSR_INSTANCE(stored, vector, sum, group) \
  template cudaError_t RUN<MACKO_##stored, MACKO_##vector, sum, group>(const eccsr &, const device_values &, \
                                                                       const device_vectors &, cudaStream_t);
#define MACKO_ECCSR_OF_ONE(stored, vector, sum) MACKO_ECCSR_INSTANCE(stored, vector, sum, 1)
#define MACKO_ECCSR_OF_GROUP(stored, vector, sum) MACKO_ECCSR_INSTANCE(stored, vector, sum, MACKO_DEVICE_GROUP)

/* Multiplies in groups side by side, as far as vectors of p make some and loads of x are worth it; gives how many vectors have been
 * done. */
int64_t macko_eccsr_multiply_beside(const eccsr &a, const macko_device_matrix *d, const macko_product *p, cudaStream_t stream);

#endif
