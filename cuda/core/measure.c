/* The choice by measuring on a GPU: forms of a csr in its memory in turn encoded and multiplied with. */
#include "core/measure.h"
#include "core/encoder.h"

#include <stdio.h>

/* A csr in GPU memory and its forms; vectors and events are there once products have been timed. */
typedef struct {
  macko_encoder e; /* what planning asks of the csr */
  cudaStream_t stream;
  macko_device_matrix *last, *kept;
  void *x, *y;
  cudaEvent_t events[2];
} device_trial;

/* This is `foresee` of a trial. What the host encodes it plans, too, by arrays that it can read. */
static macko_status foresee(void *context, const macko_options *form, double *time)
{
  device_trial *t = (device_trial *)context;
  if (macko_is_hosts(form->format, form, t->e.a.nnz)) return MACKO_UNSUPPORTED;
  const macko_facts facts = macko_encoder_facts(&t->e);
  macko_matrix *m = NULL;
  macko_status s = macko_plan_matrix(&facts, form, &m, NULL);
  if (!s) *time = m->plan.time;
  macko_destroy(&m);
  return s;
}

/* Makes vectors, of which the one to multiply is zero, and two events. */
static macko_status prepare_timing(device_trial *t, macko_error *err)
{
  const size_t bytes = (size_t)macko_type_bytes(macko_vectors_of(t->e.csr.value_type));
  const size_t nx = (size_t)(t->e.csr.ncols + 1) * bytes, ny = (size_t)(t->e.csr.nrows + 1) * bytes;
  macko_status s = macko_cuda_status(cudaMalloc(&t->x, nx), "vectors to measure with", err);
  if (!s) s = macko_cuda_status(cudaMalloc(&t->y, ny), "vectors to measure with", err);
  if (!s) s = macko_cuda_status(cudaMemsetAsync(t->x, 0, nx, t->stream), "vectors to measure with", err);
  for (int i = 0; !s && i < 2; i++) s = macko_cuda_status(cudaEventCreate(&t->events[i]), "measuring", err);
  return s;
}

/* This is `encode` of a trial. */
static macko_status encode(void *context, const macko_options *form, macko_error *err)
{
  device_trial *t = (device_trial *)context;
  return macko_device_encode(&t->e.csr, form, t->stream, &t->last, err);
}

/* Times one product, in milliseconds. */
static macko_status time_once(const device_trial *t, float *milliseconds, macko_error *err)
{
  const macko_matrix *m = &t->last->m;
  const macko_type type = macko_vectors_of(m->value_type);
  macko_status s = macko_cuda_status(cudaEventRecord(t->events[0], t->stream), "measuring", err);
  if (!s) s = macko_device_multiply(t->last, MACKO_OP_N, type, 1, 1, t->x, m->ncols, 0, t->y, m->nrows, t->stream, err);
  if (!s) s = macko_cuda_status(cudaEventRecord(t->events[1], t->stream), "measuring", err);
  if (!s) s = macko_cuda_status(cudaEventSynchronize(t->events[1]), "measuring", err);
  if (!s) s = macko_cuda_status(cudaEventElapsedTime(milliseconds, t->events[0], t->events[1]), "measuring", err);
  return s;
}

/* Short products are timed several times over, as chance makes up more of each; the shortest counts. */
static macko_status time_product(void *context, double *taken, macko_error *err)
{
  enum { SEVERAL = 16 };
  const float enough = 0.2f;
  device_trial *t = (device_trial *)context;
  macko_status s = t->events[1] ? MACKO_OK : prepare_timing(t, err);
  float shortest = 0, all = 0, one = 0;
  for (int i = 0; i < SEVERAL && !s && all < enough; i++) {
    s = time_once(t, &one, err);
    all += one;
    if (!i || one < shortest) shortest = one;
  }
  *taken = 1e6 * (double)shortest;
  return s;
}

/* These are the other functions of a trial. */
static void drop(void *context)
{
  macko_device_destroy(&((device_trial *)context)->last);
}

static void keep(void *context)
{
  device_trial *t = (device_trial *)context;
  macko_device_destroy(&t->kept);
  t->kept = t->last, t->last = NULL;
}

static macko_plan *plan(void *context)
{
  return &((device_trial *)context)->kept->m.plan;
}

/* Names the current GPU as a key does that choices are kept under. */
static macko_status name_gpu(char where[MACKO_WHERE_LENGTH], macko_error *err)
{
  struct cudaDeviceProp properties;
  int gpu = 0;
  macko_status s = macko_cuda_status(cudaGetDevice(&gpu), "the current GPU", err);
  if (!s) s = macko_cuda_status(cudaGetDeviceProperties(&properties, gpu), "the current GPU", err);
  if (!s) snprintf(where, MACKO_WHERE_LENGTH, "%.120s\tgpu", properties.name);
  return s;
}

macko_status macko_device_encode_measured(const macko_csr *csr, const macko_options *asked, cudaStream_t stream,
                                          macko_device_matrix **device, macko_error *err)
{
  device_trial t = {.stream = stream};
  const macko_trial trial = {&t, foresee, encode, time_product, keep, drop, plan};
  char where[MACKO_WHERE_LENGTH];
  macko_status s = macko_options_check(asked, err);
  if (!s) s = name_gpu(where, err);
  if (s) return s;
  s = macko_open_encoder(csr, stream, &t.e, err);
  if (!s && !t.e.readable)
    s = macko_fail(err, MACKO_UNSUPPORTED,
                   "prefer measured on a GPU needs a csr that is encoded there: sorted rows without duplicates, of fewer than 2^24 "
                   "entries; prefer time takes any, or says what is wrong");
  if (!s) s = macko_choose_measured(&trial, where, t.e.pattern, csr->value_type, asked, err);
  macko_close_encoder(&t.e);
  cudaFree(t.x), cudaFree(t.y);
  for (int i = 0; i < 2; i++)
    if (t.events[i]) cudaEventDestroy(t.events[i]);
  if (s) macko_device_destroy(&t.kept);
  else *device = t.kept;
  return s;
}
