/* Puts vectors side by side, and says when that is worth it. */
#include "core/side_by_side.cuh"

extern "C" {
#include "core/cost.h"
}

enum { THREADS = 128, GROUP = MACKO_DEVICE_GROUP };

/* The elements of a group in one column. */
template <typename T> struct alignas(GROUP * sizeof(T)) beside {
  T of[GROUP];
};

/* Puts them there, a thread a column, for group number blockIdx.y. */
template <typename T> static __global__ void __launch_bounds__(THREADS) beside_kernel(device_vectors v, int64_t ncols, beside<T> *x)
{
  const int64_t col = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  beside<T> all;
  if (col >= ncols) return;
  const T *from = (const T *)v.x + blockIdx.y * GROUP * v.ldx + col;
#pragma unroll
  for (int g = 0; g < GROUP; g++) all.of[g] = __ldg(from + g * v.ldx);
  x[blockIdx.y * ncols + col] = all;
}

/* Starts that for elements as long as T. */
template <typename T> static cudaError_t start(const device_vectors &v, int64_t ncols, void *room, cudaStream_t stream)
{
  const dim3 blocks((unsigned)((ncols + THREADS - 1) / THREADS), (unsigned)v.count);
  return launch(beside_kernel<T>, blocks, THREADS, 0, stream, v, ncols, (beside<T> *)room);
}

cudaError_t macko_put_beside(device_vectors *v, int64_t ncols, void *room, cudaStream_t stream)
{
  const cudaError_t error = v->type == MACKO_F64   ? start<double>(*v, ncols, room, stream)
                            : v->type == MACKO_F32 ? start<float>(*v, ncols, room, stream)
                                                   : start<unsigned short>(*v, ncols, room, stream);
  v->x = room, v->ldx = ncols;
  return error;
}

/* Gives the bytes of a group of vectors of so many elements. */
static int64_t group_bytes(int64_t ncols)
{
  return ncols * GROUP * (int64_t)sizeof(double);
}

int64_t macko_groups_beside(int64_t ncols)
{
  enum { ROOM = 16 << 20, MOST = MACKO_DEVICE_AT_ONCE / GROUP };
  const int64_t groups = ROOM / (group_bytes(ncols) + 1);
  return groups < 1 ? 1 : groups > MOST ? (int64_t)MOST : groups;
}

macko_status macko_beside_space(int64_t ncols, macko_work_space **space, macko_error *err)
{
  return macko_work_space_later(group_bytes(ncols) * macko_groups_beside(ncols), space, err);
}

int macko_goes_beside(const macko_device_matrix *d, const macko_product *p, double sectors)
{
  enum { LEAST = 4 }; /* entries a column */
  if (p->k < GROUP || d->m.nnz < LEAST * d->m.ncols) return 0;
  return sectors == 0 || macko_sectors_of_entry(&d->m) >= sectors;
}
