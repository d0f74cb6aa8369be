/* X before a product on tensor cores: rounded to operands, and the elements that windows of A share repeated. */
#include "core/launch.cuh"
#include "slide/slide_operand.cuh"

enum {
  LIFT_THREADS = 256,
  HELD = 8, /* pieces of 16 bytes of a column of X that a thread keeps in registers; what is beyond these is read twice */
  STAGED = 47 * 1024 /* operands of 8 bits of a column that shared memory has room for; longer ones are rounded for each window */
};

/* ---- X in 16 bits ---- */

/* This is X as it is lifted. */
struct lift {
  const void *x;    /* columns ldx elements apart */
  int64_t ldx, ncols, n; /* ncols elements a column, n columns */
  int64_t lifted;   /* elements of a column of what is written */
  unsigned windows; /* of a column */
  int block;        /* columns of A of a block, halved; 2: windows do not overlap, and nothing is repeated */
  int whole;        /* pairs of elements of X are at multiples of their size */
};

/* Gives the X of a product. */
static lift lift_of(const macko_dense_product *p, const macko_lifted_x *to)
{
  const int64_t pair = 2 * macko_type_bytes(p->x_type);
  return {p->x, p->ldx, to->ncols, p->n, to->lifted, (unsigned)macko_lift_windows(to->ncols, to->block), to->block,
          (uintptr_t)p->x % pair == 0 && p->ldx % 2 == 0};
}

/* Gives the first column of A that a window covers, which is an element of X: macko_lift_column in 32 bits, whose division is
 * quicker. */
static __device__ __forceinline__ unsigned column_of(const lift &l, unsigned window)
{
  return 2 * (window + window / (unsigned)(l.block - 1));
}

/* Gives the four elements of column j that a window multiplies, as two words of two operands of 16 bits. Behind the last
 * column, window or element they are 0. Elements that are operands already are copied in pairs where they lie at multiples of a
 * pair's size. */
template <int X, int OPERANDS> static __device__ __forceinline__ uint2 window_of(const lift &l, int64_t j, unsigned window)
{
  uint32_t bits[4] = {0, 0, 0, 0};
  if (j >= l.n || window >= l.windows) return make_uint2(0, 0);
  const unsigned col = column_of(l, window);
  constexpr bool COPIES = (X == MACKO_F16 && OPERANDS == MACKO_OPERANDS_F16) ||
                          (X == MACKO_BF16 && OPERANDS == MACKO_OPERANDS_BF16);
  if (COPIES && l.whole && col + 4 <= l.ncols) {
    const uint32_t *from = (const uint32_t *)((const uint16_t *)l.x + j * l.ldx + col);
    return make_uint2(__ldg(from), __ldg(from + 1));
  }
#pragma unroll
  for (int i = 0; i < 4; i++) {
    if (col + i >= l.ncols) continue;
    if constexpr (COPIES) bits[i] = __ldg((const unsigned short *)l.x + j * l.ldx + col + i);
    else bits[i] = operand_of<OPERANDS>(load_vector<X>(l.x, j * l.ldx + col + i, X), 1);
  }
  return make_uint2(bits[0] | bits[1] << 16, bits[2] | bits[3] << 16);
}

/* Lifts X to operands of 16 bits: a thread writes two windows, 16 bytes, and `blocks` blocks of threads take a column. */
template <int X, int OPERANDS>
static __global__ void __launch_bounds__(LIFT_THREADS) lift_kernel(lift l, unsigned blocks, uint4 *to)
{
  const int64_t j = blockIdx.x / blocks, pieces = l.lifted / 8;
  const unsigned piece = blockIdx.x % blocks * LIFT_THREADS + threadIdx.x;
  if (piece >= pieces) return;
  const uint2 first = window_of<X, OPERANDS>(l, j, 2 * piece), second = window_of<X, OPERANDS>(l, j, 2 * piece + 1);
  to[j * pieces + piece] = make_uint4(first.x, first.y, second.x, second.y);
}

/* Starts that kernel for the type of X; `columns` are those that tensor cores multiply. */
template <int OPERANDS>
static cudaError_t lift_halves(const lift &l, int x_type, int64_t columns, void *to, cudaStream_t stream)
{
  const unsigned blocks = (unsigned)((l.lifted / 8 + LIFT_THREADS - 1) / LIFT_THREADS);
  const unsigned grid = (unsigned)(columns * blocks);
  switch (x_type) {
  case MACKO_F32: return launch(lift_kernel<MACKO_F32, OPERANDS>, grid, LIFT_THREADS, 0, stream, l, blocks, (uint4 *)to);
  case MACKO_F16: return launch(lift_kernel<MACKO_F16, OPERANDS>, grid, LIFT_THREADS, 0, stream, l, blocks, (uint4 *)to);
  default: return launch(lift_kernel<MACKO_BF16, OPERANDS>, grid, LIFT_THREADS, 0, stream, l, blocks, (uint4 *)to);
  }
}

/* ---- X in 8 bits: largest magnitude, rounded, lifted; a block of threads a column ---- */

/* Holds as many elements of X as one load of 16 bytes brings. */
template <int X> struct whole_piece {
  static constexpr int COUNT = 16 / sizeof(typename element<X>::type);
  uint4 words;
};

/* Gives element k of a piece as a number. */
template <int X> static __device__ __forceinline__ float number_in(const uint4 &words, int k)
{
  constexpr int PER = 4 / sizeof(typename element<X>::type); /* of a word */
  const uint32_t word = k / PER == 0 ? words.x : k / PER == 1 ? words.y : k / PER == 2 ? words.z : words.w;
  return number_of<X>(PER == 1 ? word : word >> 16 * (k % PER) & 0xffff);
}

/* Gives the larger of magnitudes, as bits, which order as magnitudes do with NaN last, and those of a piece: of X of 16 bits in
 * each half of the word by itself. */
template <int X> static __device__ __forceinline__ unsigned largest_of(unsigned largest, const uint4 &words)
{
  const uint32_t all[] = {words.x, words.y, words.z, words.w};
#pragma unroll
  for (int w = 0; w < 4; w++)
    largest = X == MACKO_F32 ? max(largest, all[w] & 0x7fffffffu) : __vmaxu2(largest, all[w] & 0x7fff7fffu);
  return largest;
}

/* Gives the magnitude that such bits are, as bits of a float. */
template <int X> static __device__ __forceinline__ unsigned magnitude_of(unsigned largest)
{
  if constexpr (X == MACKO_F32) return largest;
  else return __float_as_uint(number_of<X>(max(largest & 0xffff, largest >> 16)));
}

/* Rounds a piece and stores it as the operands `to` begins with. */
template <int X, int OPERANDS> static __device__ __forceinline__ void round_piece(const uint4 &words, float inverse, uint32_t *to)
{
#pragma unroll
  for (int w = 0; w < whole_piece<X>::COUNT / 4; w++)
    to[w] = four_operands<OPERANDS>(number_in<X>(words, 4 * w), number_in<X>(words, 4 * w + 1), number_in<X>(words, 4 * w + 2),
                                    number_in<X>(words, 4 * w + 3), inverse);
}

/* This is a column of X as its block of threads has it: what each thread holds of it, `pieces` pieces in all, and elements that are
 * read one by one. */
template <int X> struct column {
  const void *x;
  int64_t first, count, pieces; /* element that it begins with, elements, whole pieces that can be loaded */
  uint4 held[HELD];

  __device__ __forceinline__ uint4 piece(int64_t i) const
  {
    return __ldg((const uint4 *)((const typename element<X>::type *)x + first) + i);
  }

  __device__ __forceinline__ float one(int64_t i) const { return load_vector<X>(x, first + i, X); }

  /* Loads the column, and answers the largest magnitude of what this thread has seen of it. */
  __device__ __forceinline__ unsigned load()
  {
    unsigned largest = 0;
#pragma unroll
    for (int h = 0; h < HELD; h++) {
      const int64_t i = (int64_t)h * LIFT_THREADS + threadIdx.x;
      held[h] = i < pieces ? piece(i) : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int h = 0; h < HELD; h++) largest = largest_of<X>(largest, held[h]);
    for (int64_t i = HELD * LIFT_THREADS + threadIdx.x; i < pieces; i += LIFT_THREADS) largest = largest_of<X>(largest, piece(i));
    largest = magnitude_of<X>(largest);
    for (int64_t i = pieces * whole_piece<X>::COUNT + threadIdx.x; i < count; i += LIFT_THREADS)
      largest = max(largest, __float_as_uint(one(i)) & 0x7fffffffu);
    return largest;
  }

  /* Writes the column as operands to shared memory, with zeros behind it up to `room`. */
  template <int OPERANDS> __device__ __forceinline__ void round(float inverse, int64_t room, uint8_t *to) const
  {
    constexpr int COUNT = whole_piece<X>::COUNT;
#pragma unroll
    for (int h = 0; h < HELD; h++) {
      const int64_t i = (int64_t)h * LIFT_THREADS + threadIdx.x;
      if (i < pieces) round_piece<X, OPERANDS>(held[h], inverse, (uint32_t *)(to + i * COUNT));
    }
    for (int64_t i = HELD * LIFT_THREADS + threadIdx.x; i < pieces; i += LIFT_THREADS)
      round_piece<X, OPERANDS>(piece(i), inverse, (uint32_t *)(to + i * COUNT));
    for (int64_t i = pieces * COUNT + threadIdx.x; i < room; i += LIFT_THREADS)
      to[i] = i < count ? (uint8_t)operand_of<OPERANDS>(one(i), inverse) : 0;
  }
};

/* Gives the scale of a column for all threads of the block, of the largest magnitude that each has seen. */
template <int OPERANDS> static __device__ __forceinline__ float scale_of_column(unsigned own)
{
  __shared__ unsigned largest;
  if (threadIdx.x == 0) largest = 0;
  __syncthreads();
  own = largest_of_lanes(own);
  if (threadIdx.x % WARP == 0) atomicMax(&largest, own); /* the largest, whatever the order */
  __syncthreads();
  return macko_lift_scale(__uint_as_float(largest), most<OPERANDS>);
}

/* Lifts X to operands of 8 bits, a block of threads a column, because a column has one scale, which must be known before anything
 * is rounded. room: of the operands of a column in shared memory, all windows of a row; 0 where there is none, and an element is
 * rounded for each window that it is in. */
template <int X, int OPERANDS>
static __global__ void __launch_bounds__(LIFT_THREADS) round_kernel(lift l, int room, float *scales, uint4 *to)
{
  extern __shared__ uint4 shared[];
  uint8_t *const rounded = (uint8_t *)shared;
  const int64_t j = blockIdx.x, pieces = l.lifted / 16;
  if (j >= l.n) {
    for (int64_t i = threadIdx.x; i < pieces; i += LIFT_THREADS) to[j * pieces + i] = make_uint4(0, 0, 0, 0);
    return;
  }
  const typename element<X>::type *start = (const typename element<X>::type *)l.x + j * l.ldx;
  column<X> c = {l.x, j * l.ldx, l.ncols, (uintptr_t)start % 16 ? 0 : l.ncols / whole_piece<X>::COUNT};
  const float scale = scale_of_column<OPERANDS>(c.load()), inverse = macko_lift_inverse(scale);
  if (threadIdx.x == 0) scales[j] = scale;
  if (room) c.template round<OPERANDS>(inverse, room, rounded);
  __syncthreads();
  for (int64_t i = threadIdx.x; i < pieces; i += LIFT_THREADS) {
    uint32_t words[4] = {0, 0, 0, 0};
#pragma unroll
    for (int w = 0; w < 4; w++) {
      const unsigned window = (unsigned)(4 * i + w), col = column_of(l, window);
      if (window >= l.windows) continue;
      if (room) {
        const uint16_t *pair = (const uint16_t *)(rounded + col);
        words[w] = pair[0] | (uint32_t)pair[1] << 16;
        continue;
      }
#pragma unroll
      for (int k = 0; k < 4; k++)
        if (col + k < l.ncols) words[w] |= operand_of<OPERANDS>(c.one(col + k), inverse) << 8 * k;
    }
    to[j * pieces + i] = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

/* Starts that kernel for the type of X. A row's windows end where its blocks do. */
template <int OPERANDS>
static cudaError_t round_columns(const lift &l, int x_type, int64_t columns, float *scales, void *to, cudaStream_t stream)
{
  const int64_t all = (l.ncols + 2 * l.block - 1) / (2 * l.block) * 2 * l.block;
  const int room = all <= STAGED ? (int)all : 0;
  const unsigned grid = (unsigned)columns;
  switch (x_type) {
  case MACKO_F32:
    return launch(round_kernel<MACKO_F32, OPERANDS>, grid, LIFT_THREADS, (size_t)room, stream, l, room, scales, (uint4 *)to);
  case MACKO_F16:
    return launch(round_kernel<MACKO_F16, OPERANDS>, grid, LIFT_THREADS, (size_t)room, stream, l, room, scales, (uint4 *)to);
  default:
    return launch(round_kernel<MACKO_BF16, OPERANDS>, grid, LIFT_THREADS, (size_t)room, stream, l, room, scales, (uint4 *)to);
  }
}

cudaError_t macko_slide_lift(macko_operands operands, const macko_dense_product *p, const macko_lifted_x *to, cudaStream_t stream)
{
  const lift l = lift_of(p, to);
  switch (operands) {
  case MACKO_OPERANDS_F16: return lift_halves<MACKO_OPERANDS_F16>(l, p->x_type, to->columns, to->data, stream);
  case MACKO_OPERANDS_BF16: return lift_halves<MACKO_OPERANDS_BF16>(l, p->x_type, to->columns, to->data, stream);
  case MACKO_OPERANDS_I8: return round_columns<MACKO_OPERANDS_I8>(l, p->x_type, to->columns, to->scales, to->data, stream);
  default: return round_columns<MACKO_OPERANDS_E4M3>(l, p->x_type, to->columns, to->scales, to->data, stream);
  }
}
