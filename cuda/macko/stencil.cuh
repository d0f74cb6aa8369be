/* Stencils of layout slice: the entries that all of them have, in one table that a kernel is given with its arguments. */
#ifndef MACKO_STENCIL_CUH
#define MACKO_STENCIL_CUH

#include "core/product.cuh"
#include "macko/layout_bits.h"

/* Where the stencils of a matrix have so few different entries, a bit of a lane's WORDS of masks stands for each; a kernel takes
 * ROUND of them at a time, all of whose x it asks for before it adds the first. Slices of one block share masks, where a set of
 * SETS places has room for all blocks. */
enum { STENCIL_ENTRIES = MACKO_STENCIL_MAX_STEPS, STENCIL_WORDS = STENCIL_ENTRIES / 32, STENCIL_ROUND = 7, STENCIL_SETS = 2048,
       NO_STENCIL = -1 };

/* These are the entries by rising distance, then bits of their value; those from count on are zero. */
struct stencil_table {
  int count;
  int distance[STENCIL_ENTRIES]; /* column less row */
  double value[STENCIL_ENTRIES];
};

/* This is where a slice has its masks, and its first row; masks is NO_STENCIL where it is none. */
struct stencil_place {
  int masks, row;
};

/* This is what a matrix with stencils has besides its sections, on the device but for the table. */
struct device_stencils {
  stencil_table table;         /* count is 0 where there are no stencils, or too many different entries */
  void *memory, *own_masks;    /* of all that follows; of masks where blocks are so many that each slice has its own, else NULL */
  const stencil_place *places; /* one a slice */
  const uint32_t *masks;       /* 32 lanes' words side by side, those of the next 32 entries behind them: bit e of word w says that
                                * the lane has entry 32 w + e of the table */
  int own_words;               /* of masks of its own that a slice has room for */
};

/* Makes *t, zero before the first time, from the slices of *d, where they are stencils; it waits for the stream then. The memory is
 * taken once. Where the table changes, so does d->by_value. Errors: OUT_OF_MEMORY, DEVICE. */
macko_status macko_prepare_stencils(macko_device_matrix *d, device_stencils *t, cudaStream_t stream, macko_error *err);

/* Multiplies by the stencils of *d, groups of vectors together where `grouped` says so. */
cudaError_t macko_stencils_multiply(const macko_device_matrix *d, const macko_product *p, int grouped, cudaStream_t stream);

/* Gives the value of a stencil's step, of the matrix's type, which is VALUE or known at run time. */
template <int VALUE> static __device__ __forceinline__ double stencil_value(int type, uint4 step)
{
  if (VALUE == MACKO_F64 || type == MACKO_F64) return __hiloint2double((int)step.w, (int)step.z);
  if (type == MACKO_F32) return number_of<MACKO_F32>(step.z);
  return type == MACKO_F16 ? number_of<MACKO_F16>(step.z) : number_of<MACKO_BF16>(step.z);
}

#endif
