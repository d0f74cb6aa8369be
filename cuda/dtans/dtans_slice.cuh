/* Format dtans on the device: what all kernels share, which is a matrix, where its slices are, its sums and the values beside
 * gaps. */
#ifndef MACKO_DTANS_SLICE_CUH
#define MACKO_DTANS_SLICE_CUH

#include "core/product.cuh"

#include "dtans/dtans_decode.cuh"

enum { WARP = MACKO_DTANS_LANES };

/* This is a matrix of format dtans as kernels take it by value; device pointers. */
struct dtans_matrix {
  const uint32_t *words[2];                /* streams: of gaps or pairs; of values */
  const void *slices[2], *lengths;         /* where slices begin in each, or in the values beside */
  int slices_type[2], length_bytes, value_type, rows, longest; /* longest: row, in entries */
  uint32_t relative; /* every bit, or none */
  int groups; /* words of a segment that digits may give */
  int64_t nrows, count; /* count: slices */
  device_table table[MACKO_DTANS_DOMAINS];
  double value; /* of all nonzeros, where none is stored */
};

/* Gives a row's length out of a word of section "lengths". Lengths are loaded as words whatever their type: rows of a lane are
 * 32 apart, so that it always finds them at the same place of a word. */
MACKO_DEVICE uint32_t length_in(const dtans_matrix &a, uint32_t word, int shift)
{
  return word >> shift & (0xffffffffu >> (32 - 8 * a.length_bytes));
}

/* Gives the number of entries of a row; 0 for rows beyond the last. */
MACKO_DEVICE int row_length(const dtans_matrix &a, int64_t row)
{
  if (a.length_bytes == 1) return row < a.nrows ? __ldg((const uint8_t *)a.lengths + row) : 0;
  int64_t byte = row * a.length_bytes;
  return row < a.nrows ? (int)length_in(a, __ldg((const uint32_t *)a.lengths + byte / 4), (int)(byte % 4) * 8) : 0;
}

/* This says where a slice's two streams, or its stream and the values beside it, begin. */
struct slice_place {
  int64_t start[2];
};

/* Says where a slice begins. It is never negative, so that 32 bits are loaded without a sign, whose extension would wait for
 * them. */
MACKO_DEVICE int64_t start_at(int type, const void *starts, int64_t slice)
{
  return type == MACKO_I64 ? __ldg((const long long *)starts + slice) : (int64_t)__ldg((const uint32_t *)starts + slice);
}

/* Says where the streams of a slice begin; absent ones at 0. */
MACKO_DEVICE slice_place place_of(const dtans_matrix &a, int64_t slice)
{
  slice_place p = {};
  p.start[0] = start_at(a.slices_type[0], a.slices[0], slice);
  if (a.slices[1]) p.start[1] = start_at(a.slices_type[1], a.slices[1], slice);
  return p;
}

/* Gives the distance from the diagonal that a first gap stands for, modulo 2^32, as columns are added up. */
MACKO_DEVICE uint32_t unzigzag(uint32_t gap)
{
  return (uint32_t)macko_dtans_unzigzag(gap);
}

/* ---- sums ---- */

/* Adds N entries of one row to its sums, or `count` where fewer are left of it, of which no lane has more than `most`. All
 * loads of x are under way together. WHOLE: all lanes have N. *col goes on to the last entry's column. */
template <int VECTOR, typename SUM, int GROUP, int N, int WHOLE>
MACKO_DEVICE void multiply_inside(const device_vectors &v, const uint32_t gap[N], const SUM value[N], int count, int most,
                                  uint32_t *col, SUM sum[GROUP])
{
  uint32_t cols[N];
#pragma unroll
  for (int i = 0; i < N; i++) cols[i] = *col = *col + gap[i];
#pragma unroll
  for (int g = 0; g < GROUP; g++) {
    SUM x[N];
    with_vector<VECTOR>(v.type, [&](auto type) {
#pragma unroll
      for (int i = 0; i < N; i++) {
        if (!WHOLE && i % 2 == 0 && i >= most) break;
        if (WHOLE || i < count) x[i] = (SUM)load_vector<type.value>(v.x, g * v.ldx + (int64_t)cols[i], v.type);
      }
    });
#pragma unroll
    for (int i = 0; i < N; i++) {
      if (!WHOLE && i % 2 == 0 && i >= most) break;
      if (WHOLE || i < count) sum[g] = add_product(value[i], x[i], sum[g]);
    }
  }
}

/* ---- values beside the gaps ---- */

/* Loads the values of eight nonzeros beside their gaps, of which the calling lane has `left`; whole: all lanes have eight.
 * Values of one step of all lanes lie together. *slot goes on to the next eight. */
template <int STORED, typename SUM> MACKO_DEVICE void load_eight(const device_values &values, int left, bool whole, int64_t *slot,
                                                                 SUM value[8])
{
  if (whole) {
    int64_t at = *slot + threadIdx.x % WARP;
    *slot += 8 * WARP;
#pragma unroll
    for (int k = 0; k < 8; k++) value[k] = load_value<STORED, SUM>(values, at + k * WARP);
    return;
  }
#pragma unroll
  for (int k = 0; k < 8; k++) {
    unsigned mask = __ballot_sync(MACKO_EVERY_LANE, k < left);
    if (!mask) break;
    if (k < left) value[k] = load_value<STORED, SUM>(values, *slot + __popc(mask & lanes_before()));
    *slot += __popc(mask);
  }
}

/* Does the same for values of 8 or 16 bits, whose type is known at run time; codes are looked up in the dictionary. All loads
 * are under way together. */
template <typename SUM> MACKO_DEVICE void load_eight_narrow(const device_values &values, int left, int64_t *slot, SUM value[8])
{
  uint32_t bits[8];
  int type = values.stored_type, is_byte = bytes_of_type(type) == 1;
#pragma unroll
  for (int k = 0; k < 8; k++) {
    unsigned mask = __ballot_sync(MACKO_EVERY_LANE, k < left);
    int64_t at = *slot + __popc(mask & lanes_before());
    bits[k] = 0;
    if (k < left && is_byte) bits[k] = __ldg((const unsigned char *)values.stream + at);
    else if (k < left) bits[k] = __ldg((const unsigned short *)values.stream + at);
    *slot += __popc(mask);
  }
  if (type == MACKO_U8 || type == MACKO_U16)
    with_vector<MACKO_ANY>(values.value_type, [&](auto of) {
#pragma unroll
      for (int k = 0; k < 8; k++) value[k] = k < left ? (SUM)load_vector<of.value>(values.table, bits[k], 0) : 0;
    });
  else
#pragma unroll
    for (int k = 0; k < 8; k++)
      value[k] = type == MACKO_F16    ? number_of<MACKO_F16>(bits[k])
                 : type == MACKO_BF16 ? number_of<MACKO_BF16>(bits[k]) : number_of<MACKO_I8>(bits[k]);
}

/* Asks for the values of a lane's row, `length` from slot on, and of the other lanes' rows, to be brought into the second-level
 * cache: no more of them than leave room there for what all warps ask for. */
MACKO_DEVICE void ask_for_values(const device_values &values, int64_t slot, int length)
{
#if __CUDA_ARCH__ >= 900
  int type = values.stored_type;
  int size = bytes_of_type(type);
  uint64_t begin = ((uint64_t)values.stream + (uint64_t)(slot * size)) & ~(uint64_t)15;
  unsigned bytes = min(__reduce_add_sync(MACKO_EVERY_LANE, (unsigned)length) * size, 8192u) & ~15u;
  if (values.stream && bytes && threadIdx.x % WARP == 0)
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(__cvta_generic_to_global((const void *)begin)), "r"(bytes));
#endif
}

/* Loads the next eight values of a lane, whatever they are stored as, or sets them where all nonzeros have one value. */
template <typename SUM>
MACKO_DEVICE void load_beside(const dtans_matrix &a, const device_values &values, int left, bool whole, int64_t *slot,
                              SUM value[8])
{
  if (!values.stream) {
#pragma unroll
    for (int k = 0; k < 8; k++) value[k] = (SUM)a.value;
    return;
  }
  switch (values.stored_type) {
  case MACKO_F64: load_eight<MACKO_F64>(values, left, whole, slot, value); break;
  case MACKO_F32: load_eight<MACKO_F32>(values, left, whole, slot, value); break;
  default: load_eight_narrow(values, left, slot, value);
  }
}

#endif
