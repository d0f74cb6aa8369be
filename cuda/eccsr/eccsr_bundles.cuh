/* Variants paper and shared of format eccsr on the GPU: a team of warps a bundle of rows, which lies in
 * lib/eccsr/eccsr_paper_layout.h. The paper's kernel adds what blocks give to y with atomics; here all blocks of a row are in one
 * bundle, and a team adds up what it has found in one order. */
#ifndef MACKO_ECCSR_BUNDLES_CUH
#define MACKO_ECCSR_BUNDLES_CUH

#include "core/product.cuh"
#include "core/warp.cuh"
#include "eccsr/eccsr_paper_layout.h"

enum { ROWS = MACKO_ECCSR_BUNDLE, SLOTS = MACKO_ECCSR_VECTOR };

/* This is a matrix as kernels take it, its sections but the values being device pointers, and how threads are put to work: lanes
 * that have a block together are a crew, so that a warp has 32 / lanes of them; the crews of so many warps are a team. */
struct bundles {
  const int64_t *starts; /* section "bundles" */
  const uint16_t *masks;
  const uint32_t *granules, *gaps;
  const int32_t *bases, *rows;
  int bits, lanes;
  uint32_t count;
  int64_t nrows, ncols;
  int team; /* warps */
};

/* ---- four slots of a lane ---- */

/* This is what four values of a lane are before they are numbers: so their loads can be under way while others are multiplied. */
template <int STORED, typename SUM> struct four_values {
  static constexpr int WORDS = sizeof(typename element<STORED>::type);
  uint32_t words[WORDS];

  /* Gives the bytes of four values. */
  static __device__ __forceinline__ uint32_t bytes(const device_values &)
  {
    return SLOTS * WORDS;
  }
  __device__ __forceinline__ void load(const device_values &, const char *from)
  {
    if constexpr (WORDS == 2) {
      const uint2 w = __ldcs((const uint2 *)from);
      words[0] = w.x, words[1] = w.y;
    } else
#pragma unroll
      for (int i = 0; i < WORDS; i += 4) {
        const uint4 w = __ldcs((const uint4 *)from + i / 4);
        words[i] = w.x, words[i + 1] = w.y, words[i + 2] = w.z, words[i + 3] = w.w;
      }
  }
  __device__ __forceinline__ SUM number(int i) const
  {
    if constexpr (STORED == MACKO_F64) return (SUM)__hiloint2double((int)words[2 * i + 1], (int)words[2 * i]);
    else if constexpr (WORDS == 4) return (SUM)number_of<STORED>(words[i]);
    else return (SUM)number_of<STORED>(words[i / 2] >> i % 2 * 16 & 0xffff);
  }
};

/* Values of types known only at run time are numbers at once. */
template <typename SUM> struct four_values<MACKO_ANY, SUM> {
  static constexpr int WORDS = sizeof(SUM);
  SUM numbers[SLOTS];

  static __device__ __forceinline__ uint32_t bytes(const device_values &v)
  {
    return SLOTS * bytes_of_type(v.stored_type);
  }
  __device__ __forceinline__ void load(const device_values &v, const char *from)
  {
    device_values here = v;
    here.stream = from;
    with_stored<MACKO_ANY>(v.stored_type, [&](auto type) {
#pragma unroll
      for (int i = 0; i < SLOTS; i++) numbers[i] = load_value<type.value, SUM>(here, i);
    });
  }
  __device__ __forceinline__ SUM number(int i) const
  {
    return numbers[i];
  }
};

/* Gives how many columns a slot is behind the one before, and whether it has an entry. Where it has none, the gap is the code
 * itself (macko_eccsr_longest_gap); with 32 bits there is no entry behind such a slot, so that its gap is never used. */
static __device__ __forceinline__ uint32_t gap_of(uint32_t code, uint32_t none, bool *there)
{
  *there = code != none;
  return code + (uint32_t)*there;
}

/* These are four codes of a lane, of a width that is the same for the whole matrix, so that no branch diverges. NARROW ones have
 * 4 or 8 bits. */
template <int NARROW> struct four_codes {
  uint32_t words[NARROW ? 1 : 4];

  __device__ __forceinline__ void load(const char *from, int bits)
  {
    if (bits == 4) words[0] = __ldcs((const unsigned short *)from);
    else if (NARROW || bits == 8) words[0] = __ldcs((const unsigned *)from);
    else if constexpr (!NARROW) {
      if (bits == 16) {
        const uint2 w = __ldcs((const uint2 *)from);
        words[0] = w.x, words[1] = w.y;
      } else {
        const uint4 w = __ldcs((const uint4 *)from);
        words[0] = w.x, words[1] = w.y, words[2] = w.z, words[3] = w.w;
      }
    }
  }
  /* Gives the code of slot i. */
  __device__ __forceinline__ uint32_t code(int i, int bits) const
  {
    if constexpr (!NARROW) {
      if (bits == 32) return words[i];
      if (bits == 16) return words[i / 2] >> i % 2 * 16 & 0xffff;
    }
    return bits == 4 ? words[0] >> 4 * i & 15 : words[0] >> 8 * i & 255;
  }
  /* Sets cols to the columns of the slots, given that of the slot before, which becomes that of the last one, and says which of
   * them have an entry. */
  __device__ __forceinline__ void columns(int bits, uint32_t *col, uint32_t cols[SLOTS], bool there[SLOTS]) const
  {
    if (bits == 4) {
      /* Four bytes at a time: of 1 to 16 columns, of which 16 stands for no entry, and 15 columns. A product sums them up. */
      uint32_t gaps = (words[0] & 0xff) | (words[0] & 0xff00) << 8;
      gaps = ((gaps & 0x000f000f) | (gaps & 0x00f000f0) << 4) + 0x01010101;
      const uint32_t none = gaps & 0x10101010, sums = (gaps - (none >> 4)) * 0x01010101;
#pragma unroll
      for (int i = 0; i < SLOTS; i++) there[i] = !(none >> 8 * i & 16), cols[i] = *col + __byte_perm(sums, 0, 0x4440 + i);
    } else {
      const uint32_t no_entry = 0xffffffffu >> (32 - bits);
#pragma unroll
      for (int i = 0; i < SLOTS; i++) {
        const uint32_t before = i ? cols[i - 1] : *col;
        cols[i] = before + gap_of(code(i, bits), no_entry, &there[i]);
      }
    }
    *col = cols[SLOTS - 1];
  }
};

/* ---- x ---- */

/* Gives the elements of vector g that the slots of a lane are multiplied by: 0 for those without an entry. With STAGED, x is a copy
 * in shared memory, each vector with a zero behind it: lanes read columns that lie far apart, which shared memory gives several
 * times as fast as a cache of lines does. Nothing is loaded under a condition, so that all loads are under way together. */
template <int VECTOR, typename SUM, int STAGED>
static __device__ __forceinline__ void load_x(const SUM *staged, const device_vectors &v, int ncols, int g,
                                              const uint32_t cols[SLOTS], const bool there[SLOTS], SUM x[SLOTS])
{
#pragma unroll
  for (int i = 0; i < SLOTS; i++)
    if constexpr (STAGED) x[i] = staged[g * (ncols + 1) + (there[i] ? cols[i] : ncols)];
    else x[i] = (SUM)load_vector<VECTOR>(v.x, g * v.ldx + (there[i] ? cols[i] : 0), v.type);
  if constexpr (!STAGED)
#pragma unroll
    for (int i = 0; i < SLOTS; i++) x[i] = there[i] ? x[i] : 0;
}

/* Copies a vector to shared memory, with a zero behind it; all threads of the block take part. Several pieces of 8 bytes are under
 * way at once where x begins at a multiple of that, else elements. */
template <int VECTOR, typename SUM> static __device__ __forceinline__ void stage_vector(const void *x, int n, SUM *staged)
{
  typedef typename element<VECTOR>::type type;
  constexpr int PIECE = 8 / sizeof(type), AT_ONCE = 8;
  const int threads = blockDim.x, thread = threadIdx.x, pieces = (uintptr_t)x % 8 ? 0 : n / PIECE;
  for (int first = thread; first < pieces; first += AT_ONCE * threads) {
    uint2 piece[AT_ONCE];
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++)
      if (first + k * threads < pieces) piece[k] = __ldg((const uint2 *)x + first + k * threads);
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++)
      if (first + k * threads < pieces)
#pragma unroll
        for (int i = 0; i < PIECE; i++) {
          SUM *to = staged + (first + k * threads) * PIECE + i;
          if constexpr (VECTOR == MACKO_F64) *to = (SUM)__hiloint2double((int)piece[k].y, (int)piece[k].x);
          else if constexpr (VECTOR == MACKO_F32) *to = (SUM)__uint_as_float(i ? piece[k].y : piece[k].x);
          else *to = (SUM)number_of<VECTOR>((i < 2 ? piece[k].x : piece[k].y) >> i % 2 * 16 & 0xffff);
        }
  }
  for (int i = pieces * PIECE + thread; i <= n; i += threads) staged[i] = i < n ? (SUM)load_vector<VECTOR>(x, i, VECTOR) : 0;
}

/* Does the same for GROUP vectors. */
template <int VECTOR, typename SUM, int GROUP>
static __device__ __forceinline__ void stage_x(const device_vectors &v, int ncols, SUM *staged)
{
  typedef typename element<VECTOR>::type type;
#pragma unroll 1
  for (int g = 0; g < GROUP; g++) stage_vector<VECTOR, SUM>((const type *)v.x + g * v.ldx, ncols, staged + g * (ncols + 1));
}

/* ---- a block ---- */

/* This is a block as a crew reads it, and where it begins. */
struct bundle_block {
  uint32_t number, codes, values; /* granules of codes and of values before it, of the whole matrix */
  uint32_t mask, granules;
};

/* This is where a lane's next codes and values are, and how far it is to the next granule and to the next row's values. Steps are
 * of 32 bits, so that their multiples are computed where they are needed rather than kept in registers. */
struct lane_place {
  const char *codes, *values;
  uint32_t codes_bytes, granule_bytes, row_bytes;
};

/* These are some granules of N rows of a block, as a lane loads them: as many as there are registers for, and a few less than
 * that, as the next ones are under way while these are multiplied. */
template <int STORED, typename SUM, int NARROW, int N> struct granules_of_lane {
  typedef four_values<STORED, SUM> four;
  static constexpr int COUNT = four::WORDS * N > 4 ? 1 : four::WORDS * N > 2 ? 2 : 4;
  four_codes<NARROW> codes[COUNT];
  four values[COUNT][N];

  /* Loads the next granules, of which `left` are left in the block, and moves the place behind them. */
  __device__ __forceinline__ void load(const bundles &a, const device_values &v, lane_place *at, uint32_t left)
  {
#pragma unroll
    for (int u = 0; u < COUNT; u++) {
      if ((uint32_t)u < left) {
        codes[u].load(at->codes, a.bits);
#pragma unroll
        for (int r = 0; r < N; r++) values[u][r].load(v, at->values + (uint32_t)r * at->row_bytes);
      }
      at->codes += at->codes_bytes, at->values += at->granule_bytes;
    }
  }
  /* Adds those that are there, `left` of them, to the sums of the rows, and moves the column on. Only slots with an entry are
   * multiplied, or their value of zero by zero: x may be Inf where others lie. */
  template <int VECTOR, int GROUP, int STAGED>
  __device__ __forceinline__ void add(const bundles &a, const device_vectors &v, const SUM *staged, uint32_t left, uint32_t *col,
                                      SUM sum[N][GROUP]) const
  {
#pragma unroll
    for (int u = 0; u < COUNT; u++)
      if ((uint32_t)u < left) {
        uint32_t cols[SLOTS];
        bool there[SLOTS];
        codes[u].columns(a.bits, col, cols, there);
#pragma unroll
        for (int g = 0; g < GROUP; g++) {
          SUM x[SLOTS];
          load_x<VECTOR, SUM, STAGED>(staged, v, (int)a.ncols, g, cols, there, x);
#pragma unroll
          for (int i = 0; i < SLOTS; i++)
#pragma unroll
            for (int r = 0; r < N; r++) /* where there is no entry a dictionary may have Inf */
              if (is_known<STORED> || there[i]) sum[r][g] = add_product(values[u][r].number(i), x[i], sum[r][g]);
        }
      }
  }
};

/* Multiplies N rows of a block, from row number j of it on, and sets sum to what the calling lane has found. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int STAGED, int N>
static __device__ __forceinline__ void walk_rows(const bundles &a, const device_values &values, const device_vectors &v,
                                                 const SUM *staged, const bundle_block &b, int j, SUM sum[N][GROUP])
{
  typedef granules_of_lane<STORED, SUM, STAGED, N> granules;
  constexpr int COUNT = granules::COUNT;
  const uint32_t lane = threadIdx.x & (a.lanes - 1), row_bytes = a.lanes * four_values<STORED, SUM>::bytes(values);
  lane_place at = {(const char *)a.gaps + ((int64_t)b.codes * a.lanes + lane) * (a.bits / 2),
                   (const char *)values.stream + (int64_t)(b.values + j) * row_bytes + lane * (row_bytes / a.lanes),
                   (uint32_t)(a.lanes * a.bits / 2), __popc(b.mask) * row_bytes, row_bytes};
  uint32_t col = (uint32_t)__ldg(a.bases + (int64_t)b.number * a.lanes + lane);
  granules now;
  now.load(a, values, &at, b.granules);
  bool there;
  /* The base is the column of the first slot, whose code is no distance. */
  col -= gap_of(now.codes[0].code(0, a.bits), 0xffffffffu >> (32 - a.bits), &there);
#pragma unroll
  for (int r = 0; r < N; r++)
#pragma unroll
    for (int g = 0; g < GROUP; g++) sum[r][g] = 0;
  uint32_t left = b.granules;
#pragma unroll 1
  for (; left > COUNT; left -= COUNT) {
    granules next;
    next.load(a, values, &at, left - COUNT);
    now.template add<VECTOR, GROUP, STAGED>(a, v, staged, COUNT, &col, sum);
    now = next;
  }
  now.template add<VECTOR, GROUP, STAGED>(a, v, staged, left, &col, sum);
}

/* Adds what N rows of a block come to to the crew's sums, whose first lane has all of them. The next rows are those of the lowest
 * bits of *left, which are taken from it. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int STAGED, int N>
static __device__ __forceinline__ void add_rows(const bundles &a, const device_values &values, const device_vectors &v,
                                                const SUM *staged, const bundle_block &b, uint32_t *left, SUM *sums)
{
  SUM sum[N][GROUP];
  const unsigned lane = threadIdx.x % WARP, crew = (0xffffffffu >> (WARP - a.lanes)) << (lane & ~(a.lanes - 1u));
  walk_rows<STORED, VECTOR, SUM, GROUP, STAGED, N>(a, values, v, staged, b, __popc(b.mask) - __popc(*left), sum);
#pragma unroll
  for (int r = 0; r < N; r++) {
    const int bit = __ffs((int)*left) - 1;
    *left &= *left - 1;
#pragma unroll
    for (int g = 0; g < GROUP; g++) {
      for (int d = a.lanes / 2; d > 0; d /= 2) sum[r][g] += __shfl_xor_sync(crew, sum[r][g], d);
      if (!(lane & (a.lanes - 1))) sums[g * ROWS + bit] += sum[r][g];
    }
  }
}

/* Adds a block to the crew's sums: two rows at a time share the columns and elements of x that are loaded, as there are no
 * registers for more. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int STAGED>
static __device__ __forceinline__ void add_block(const bundles &a, const device_values &values, const device_vectors &v,
                                                 const SUM *staged, const bundle_block &b, SUM *sums)
{
  for (uint32_t left = b.mask; left;) {
    if (left & (left - 1)) add_rows<STORED, VECTOR, SUM, GROUP, STAGED, 2>(a, values, v, staged, b, &left, sums);
    else add_rows<STORED, VECTOR, SUM, GROUP, STAGED, 1>(a, values, v, staged, b, &left, sums);
  }
}

/* ---- a bundle ---- */

/* This is where the blocks of a bundle begin, and where its codes and values do, in granules. */
struct bundle_starts {
  uint32_t first, past, codes, values;
};

/* Gives those of bundle number i, zeros where there is no such bundle. */
static __device__ __forceinline__ bundle_starts open_bundle(const bundles &a, uint32_t i)
{
  const int64_t *at = a.starts + 3 * (int64_t)i;
  if (i >= a.count) return {0, 0, 0, 0};
  return {(uint32_t)__ldg(at), (uint32_t)__ldg(at + 3), (uint32_t)__ldg(at + 1), (uint32_t)__ldg(at + 2)};
}

/* Adds the blocks of a bundle that are a crew's to its sums: number `crew` of `crews` takes every crews-th. Where a block begins
 * is added up, as sections have it of the first one only: a warp looks at 32 blocks at a time, a lane a block. crews divides
 * 32, so that a crew's blocks have the same place in each 32. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int STAGED>
static __device__ __forceinline__ void add_blocks(const bundles &a, const device_values &values, const device_vectors &v,
                                                  const SUM *staged, bundle_starts at, int crew, int crews, SUM *sums)
{
  const int lane = threadIdx.x % WARP;
  for (; at.first < at.past; at.first += WARP) {
    const int there = at.first + lane < at.past;
    const uint32_t mask = there ? __ldg(a.masks + at.first + lane) : 0, granules = there ? __ldg(a.granules + at.first + lane) : 0;
    const uint32_t rows = granules * __popc(mask);
    const uint32_t codes = at.codes + sum_up_to_lane(granules, lane), slots = at.values + sum_up_to_lane(rows, lane);
    for (int i = crew; i - crew < WARP; i += crews) {
      const bundle_block b = {at.first + i, __shfl_sync(EVERY, codes - granules, i), __shfl_sync(EVERY, slots - rows, i),
                              __shfl_sync(EVERY, mask, i), __shfl_sync(EVERY, granules, i)};
      add_block<STORED, VECTOR, SUM, GROUP, STAGED>(a, values, v, staged, b, sums);
      __syncwarp();
    }
    at.codes = __shfl_sync(EVERY, codes, WARP - 1), at.values = __shfl_sync(EVERY, slots, WARP - 1);
  }
}

/* Waits for the warps of the caller's team, which is number `team` of its block. */
static __device__ __forceinline__ void wait_for_team(int team, int warps)
{
  if (warps == 1) __syncwarp();
  else asm volatile("bar.sync %0, %1;" : : "r"(team), "r"(warps * WARP) : "memory");
}

/* Multiplies all bundles. Teams of different blocks follow each other in number, so that every multiprocessor gets as many
 * bundles. Shared memory holds x where it is staged, and behind that the sums of the crews. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int STAGED>
static __device__ __forceinline__ void take_bundles(const bundles &a, const device_values &values, const device_vectors &v,
                                                    SUM *shared)
{
  const int warp = threadIdx.x / WARP, team = warp / a.team, teams = (int)blockDim.x / WARP / a.team;
  const int of_warp = WARP / a.lanes, crews = a.team * of_warp, lane = threadIdx.x & (a.lanes - 1);
  const int crew = warp % a.team * of_warp + (int)(threadIdx.x % WARP) / a.lanes, member = threadIdx.x - team * a.team * WARP;
  SUM *of_teams = STAGED ? shared + GROUP * ((int)a.ncols + 1) : shared;
  SUM *of_team = of_teams + team * crews * ROWS * GROUP, *sums = of_team + crew * ROWS * GROUP;
  uint32_t bundle = team * gridDim.x + blockIdx.x;
  bundle_starts at = open_bundle(a, bundle); /* on its way while x is */
  if constexpr (STAGED) {
    stage_x<VECTOR, SUM, GROUP>(v, (int)a.ncols, shared);
    __syncthreads();
  }
  for (; bundle < a.count; bundle += teams * gridDim.x) {
    for (int i = lane; i < ROWS * GROUP; i += a.lanes) sums[i] = 0;
    __syncwarp();
    add_blocks<STORED, VECTOR, SUM, GROUP, STAGED>(a, values, v, shared, at, crew, crews, sums);
    at = open_bundle(a, bundle + teams * gridDim.x);
    wait_for_team(team, a.team);
    for (int i = member; i < ROWS * GROUP; i += a.team * WARP) {
      const int64_t row = (int64_t)bundle * ROWS + i % ROWS;
      SUM sum = 0;
      for (int c = 0; c < crews; c++) sum += of_team[c * ROWS * GROUP + i];
      if (row < a.nrows) put_y<VECTOR>(v, i / ROWS, __ldg(a.rows + row), sum);
    }
    wait_for_team(team, a.team);
  }
}

#endif
