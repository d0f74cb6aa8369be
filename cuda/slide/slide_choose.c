/* Which form of a matrix multiplies fastest with so many columns: the kernel for any GPU, sparse tensor cores, dense ones. */
#include "slide/slide_matmul.h"

#include <math.h>

/* A form is timed TRIES times after a product that is not counted, but once where it takes SLOWER times as long as the best one. */
enum { TRIES = 7, SLOWER = 3 };

/* This is what all forms multiply with: X and Y without gaps, and work space that is large enough for each. */
typedef struct {
  const macko_device_matrix *d;
  macko_dense_product p;
  cudaEvent_t events[2];
} trial;

/* Allocates the trial of n columns. Every byte of X is 0x3c, which is 0 in no type, because a GPU that multiplies zeros runs at
 * other clocks. After an error it has to be closed as well. */
static macko_status open_trial(trial *t, const macko_matmul_options *o, int64_t n, int64_t work_bytes, cudaStream_t stream,
                               macko_error *err)
{
  const int64_t x_bytes = n * t->d->m.ncols * macko_type_bytes(o->x_type);
  void *x = NULL;
  t->p = (macko_dense_product){.n = n, .ldx = t->d->m.ncols, .ldy = t->d->m.nrows, .x_type = o->x_type, .y_type = o->y_type};
  macko_status s = macko_device_alloc(x_bytes, "the X of a trial", &x, err);
  t->p.x = x;
  if (!s) s = macko_device_alloc(n * t->d->m.nrows * macko_type_bytes(o->y_type), "the Y of a trial", &t->p.y, err);
  if (!s) s = macko_device_alloc(work_bytes, "the work space of a trial", &t->p.work, err);
  if (!s) s = macko_cuda_status(cudaMemsetAsync(x, 0x3c, (size_t)x_bytes, stream), "filling X", err);
  for (int i = 0; !s && i < 2; i++) s = macko_cuda_status(cudaEventCreate(&t->events[i]), "an event", err);
  return s;
}

/* Nothing of the trial is in use any more, as all of its events were waited for. */
static void close_trial(trial *t, cudaStream_t stream)
{
  cudaStreamSynchronize(stream);
  cudaFree((void *)t->p.x), cudaFree(t->p.y), cudaFree(t->p.work);
  for (int i = 0; i < 2; i++)
    if (t->events[i]) cudaEventDestroy(t->events[i]);
}

/* Multiplies once and sets *us to the microseconds that it took. */
static macko_status time_product(const trial *t, const macko_matmul_form *form, cudaStream_t stream, double *us)
{
  float ms = 0;
  macko_status s = macko_cuda_status(cudaEventRecord(t->events[0], stream), "a trial", NULL);
  if (!s && form->plan) s = macko_tensor_multiply(form->plan, &t->p, stream, NULL);
  else if (!s) s = macko_cuda_status(macko_slide_kernel(t->d, &t->p, stream), "a trial", NULL);
  if (!s) s = macko_cuda_status(cudaEventRecord(t->events[1], stream), "a trial", NULL);
  if (!s) s = macko_cuda_status(cudaEventSynchronize(t->events[1]), "a trial", NULL);
  if (!s) s = macko_cuda_status(cudaEventElapsedTime(&ms, t->events[0], t->events[1]), "a trial", NULL);
  *us = 1e3 * ms;
  return s;
}

/* Multiplies with a form and keeps the shortest time. A form that fails is as slow as can be. */
static void time_form(const trial *t, int round, cudaStream_t stream, macko_matmul_form *form)
{
  double us;
  if (time_product(t, form, stream, &us)) us = INFINITY;
  form->us = round < 2 || us == INFINITY ? us : fmin(form->us, us); /* the first loads kernels, too, and is not counted */
}

/* The forms take turns, as a GPU that is hot from one product is slower at the next. Round 1 is the first that counts. */
int macko_matmul_fastest(const macko_device_matrix *d, const macko_matmul_options *options, int64_t n, int64_t work_bytes,
                         macko_matmul_form *forms, int count, cudaStream_t stream)
{
  trial t = {.d = d};
  int best = 0;
  if (count < 2) return best;
  if (!open_trial(&t, options, n, work_bytes, stream, NULL))
    for (int round = 0; round <= TRIES; round++)
      for (int i = 0; i < count; i++) {
        if (round < 2 || forms[i].us < SLOWER * forms[best].us) time_form(&t, round, stream, &forms[i]);
        if (forms[i].us < forms[best].us) best = i;
      }
  close_trial(&t, stream);
  return best;
}
