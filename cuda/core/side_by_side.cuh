/* Several vectors side by side: the elements that the vectors of a group have in one column are put into one place first, so that
 * an entry whose column lies anywhere finds them in one sector instead of one in each vector. */
#ifndef MACKO_SIDE_BY_SIDE_CUH
#define MACKO_SIDE_BY_SIDE_CUH

#include "core/product.cuh"
#include "core/work_space.h"

/* Expands to f for each combination of stored type, vector type and accumulator whose vectors go side by side, in formats that have
 * values of that stored type (LAUNCH::HAS). */
#define MACKO_BESIDE(f) \
  f(F64, F64, double) f(F32, F64, double) f(I8, F64, double) f(U8, F64, double) f(F32, F32, float) f(F16, F32, float) \
  f(BF16, F32, float) f(F16, F16, float) f(BF16, BF16, float)

/* Gives how many groups of vectors of so many elements are multiplied at once: a few, as far as they take little memory. */
int64_t macko_groups_beside(int64_t ncols);

/* Makes the work space for them, which takes no memory before the first product of a group. Errors: OUT_OF_MEMORY. */
macko_status macko_beside_space(int64_t ncols, macko_work_space **space, macko_error *err);

/* Says whether vectors of p go side by side where an entry asks for so many sectors of x or more, as far as the plan tells: there
 * has to be a group, and putting it there reads and writes each element once, which few entries a column do not pay for. */
int macko_goes_beside(const macko_device_matrix *d, const macko_product *p, double sectors);

/* Puts the v->count groups of v, of ncols elements, side by side in `room` and sets v->x to them; group number g lies
 * MACKO_DEVICE_GROUP g v->ldx elements behind it, where vectors_of_block looks for it. */
cudaError_t macko_put_beside(device_vectors *v, int64_t ncols, void *room, cudaStream_t stream);

/* Says whether LAUNCH has a kernel for the types of d, and of vectors that lie side by side. */
template <typename LAUNCH> static int has_beside(const macko_device_matrix *d, macko_type vector_type)
{
#define IS(stored, vector, sum) \
  (LAUNCH::template HAS<MACKO_##stored> && d->m.plan.stored_type == MACKO_##stored && vector_type == MACKO_##vector) ||
  return MACKO_BESIDE(IS) 0;
#undef IS
}

/* Runs it. */
template <typename LAUNCH>
static cudaError_t run_beside(const LAUNCH &to_run, const macko_device_matrix *d, const device_vectors &v)
{
#define RUN(stored, vector, sum) \
  if constexpr (LAUNCH::template HAS<MACKO_##stored>) \
    if (d->m.plan.stored_type == MACKO_##stored && v.type == MACKO_##vector) \
      return to_run.template run<MACKO_##stored, MACKO_BESIDE_##vector, sum, MACKO_DEVICE_GROUP>(values_of(d), v);
  MACKO_BESIDE(RUN)
#undef RUN
  return cudaErrorInvalidValue;
}

/* Multiplies the vectors of p in groups side by side, as far as they make some, and gives how many vectors have been done: none
 * where there is no kernel, or no memory for it, as nothing depends on it but time. */
template <typename LAUNCH>
static int64_t multiply_beside(const LAUNCH &to_run, const macko_device_matrix *d, const macko_product *p, macko_work_space *space,
                               cudaStream_t stream)
{
  macko_work_loan loan;
  if (!has_beside<LAUNCH>(d, p->vector_type) || macko_work_space_take(space, stream, &loan, NULL)) return 0;
  const int64_t most = macko_groups_beside(d->m.ncols), all = p->k / MACKO_DEVICE_GROUP;
  int64_t done = 0;
  for (cudaError_t error = cudaSuccess; done < all;) {
    device_vectors v = vectors_from(p, done * MACKO_DEVICE_GROUP);
    v.count = (int)(all - done < most ? all - done : most);
    error = macko_put_beside(&v, d->m.ncols, loan.memory, stream);
    if (!error) error = run_beside(to_run, d, v);
    if (error) break;
    done += v.count;
  }
  macko_work_space_give_back(space, stream, &loan, NULL);
  return done * MACKO_DEVICE_GROUP;
}

#endif
