/* Layout row with several vectors of 16 bits, tiles in shared memory: their shape, the columns of vectors beside them, and their
 * products on tensor cores. */
#ifndef MACKO_ROW_TILES_CUH
#define MACKO_ROW_TILES_CUH

#include "macko/row_feed.cuh"

/* A block has a warp for each of its rows, as many as an instruction of tensor cores takes. It multiplies STEP columns in two
 * instructions, in which a lane has eight of them, as many as fill 16 bytes. Vectors come in eights, too. */
enum { TILE_ROWS = 16, TILE_THREADS = TILE_ROWS * WARP, STEP = 32, EIGHT = 8 };

/* This is the shape of a tile that is multiplied by so many eights of vectors: two blocks shall fit a multiprocessor. */
template <int EIGHTS> struct tile_shape {
  static constexpr int COLUMNS = EIGHTS > 2 ? 512 : 1024, VECTORS = EIGHTS * EIGHT;
  /* Bytes of a row: half a row of banks more than columns take, so that two rows lie in different banks. */
  static constexpr int PITCH = COLUMNS * 2 + 64, BYTES = TILE_ROWS * PITCH, X_BYTES = VECTORS * PITCH;
};

/* This is what a warp copies of the vectors: of each COLUMNS of them some parts of one vector, or several whole vectors. A part is
 * what its lanes copy at once. Columns behind the end of vectors, and vectors that are not there, are zero. */
template <int EIGHTS> struct x_feed {
  typedef tile_shape<EIGHTS> shape;
  static constexpr int PART = WARP * EIGHT, PARTS = shape::COLUMNS / PART, MINE = shape::VECTORS * PARTS / TILE_ROWS;
  static constexpr int VECTORS = MINE > PARTS ? MINE / PARTS : 1, OF_ONE = MINE / VECTORS;
  const unsigned short *from; /* the lane's next columns of the warp's first vector */
  uint32_t to;                /* where they go in shared memory */
  int vector, col;            /* that vector, and the first of the columns */

  __device__ __forceinline__ x_feed(const device_vectors &v, uint32_t room, int warp, int lane)
  {
    vector = warp * MINE / PARTS, col = warp * MINE % PARTS * PART + lane * EIGHT;
    from = (const unsigned short *)v.x + vector * v.ldx + col, to = room + vector * shape::PITCH + col * 2;
  }

  /* Starts copying the next COLUMNS columns of so many vectors. */
  __device__ __forceinline__ void start(const device_vectors &v, int count, int ncols)
  {
#pragma unroll
    for (int j = 0; j < VECTORS; j++)
#pragma unroll
      for (int i = 0; i < OF_ONE; i++) {
        const int left = vector + j < count ? ncols - col - i * PART : 0;
        const unsigned short *x = from + j * v.ldx + i * PART;
        const uint32_t at = to + j * shape::PITCH + i * PART * 2;
        if (__all_sync(EVERY, left >= EIGHT)) start_copy<16>(at, x);
        else start_copy_of(at, left > 0 ? x : (const unsigned short *)v.x, 2 * max(0, min(EIGHT, left)));
      }
    from += shape::COLUMNS, col += shape::COLUMNS;
    end_group();
  }
};

/* ---- products ---- */

/* Adds the product of 16 rows and 16 columns with eight vectors to sum. Which columns these are is the caller's affair, as long as
 * rows and vectors agree. */
template <int TYPE> static __device__ __forceinline__ void add_tile(float sum[4], const uint32_t rows[4], const uint32_t vectors[2])
{
#define MACKO_MMA(type) \
  asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32" \
      " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]) \
      : "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3]), "r"(vectors[0]), "r"(vectors[1]))
  if constexpr (TYPE == MACKO_F16) MACKO_MMA("f16");
  else MACKO_MMA("bf16");
#undef MACKO_MMA
}

/* Loads what a lane has of a row of a tile, and makes it zero. */
static __device__ __forceinline__ uint4 take(char *from)
{
  const uint4 taken = *(const uint4 *)from;
  *(uint4 *)from = make_uint4(0, 0, 0, 0);
  return taken;
}

/* These are a lane's sums of a tile's rows and eights of vectors, over the columns that its warp multiplies. Of one eight there are
 * two, as each instruction would wait for the one before. */
template <int TYPE, int EIGHTS> struct tile_sums {
  typedef tile_shape<EIGHTS> shape;
  static constexpr int MINE = shape::COLUMNS / TILE_ROWS, CHAINS = EIGHTS == 1 ? 2 : 1;
  static_assert(MINE % STEP == 0, "each warp multiplies some columns");
  float sum[EIGHTS][CHAINS][4] = {};

  /* Adds the product of the warp's columns, and makes them zero in the tile at `tile`, behind which vectors are. */
  __device__ __forceinline__ void add(char *tile, int warp, int lane)
  {
    char *at = tile + lane / 4 * shape::PITCH + (warp * MINE + lane % 4 * EIGHT) * 2;
#pragma unroll
    for (int s = 0; s < MINE / STEP; s++, at += STEP * 2) {
      const uint4 low = take(at), high = take(at + EIGHT * shape::PITCH);
      const uint32_t rows[2][4] = {{low.x, high.x, low.y, high.y}, {low.z, high.z, low.w, high.w}};
#pragma unroll
      for (int j = 0; j < EIGHTS; j++) {
        const uint4 x = *(const uint4 *)(at + shape::BYTES + j * EIGHT * shape::PITCH);
        const uint32_t vectors[2][2] = {{x.x, x.y}, {x.z, x.w}};
        add_tile<TYPE>(sum[j][0], rows[0], vectors[0]), add_tile<TYPE>(sum[j][CHAINS - 1], rows[1], vectors[1]);
      }
    }
  }

  /* Puts them where those of other warps are, so many apart: of each vector the rows one after the other. */
  __device__ __forceinline__ void put(float *to, int lane) const
  {
#pragma unroll
    for (int j = 0; j < EIGHTS; j++)
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const int vector = j * EIGHT + lane % 4 * 2 + i % 2, row = i / 2 * EIGHT + lane / 4;
        to[vector * TILE_ROWS + row] = CHAINS == 2 ? sum[j][0][i] + sum[j][CHAINS - 1][i] : sum[j][0][i];
      }
  }
};

#endif
