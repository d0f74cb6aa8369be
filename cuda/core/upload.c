/* Host to device: sections side by side in one allocation. */
#include "core/cost.h"
#include "core/device.h"

#include <pthread.h>
#include <stdlib.h>

macko_status macko_cuda_status(cudaError_t error, const char *what, macko_error *err)
{
  if (error == cudaSuccess) return MACKO_OK;
  cudaGetLastError(); /* reported here, so not again by a later call */
  return macko_fail(err, MACKO_DEVICE, "%s: %s (%s)", what, cudaGetErrorString(error), cudaGetErrorName(error));
}

macko_status macko_ask_gpu(int device, macko_gpu *gpu, macko_error *err)
{
  cudaError_t e = cudaDeviceGetAttribute(&gpu->multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (!e) e = cudaDeviceGetAttribute(&gpu->shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (!e) e = cudaDeviceGetAttribute(&gpu->cache_bytes, cudaDevAttrL2CacheSize, device);
  return macko_cuda_status(e, "asking what the GPU has", err);
}

/* Memory transfers twice a clock. What cannot be asked leaves the plans as they were. */
static void tell_of_gpu(void)
{
  int device, clock, multiprocessors, memory_clock, bits;
  cudaError_t e = cudaGetDevice(&device);
  if (!e) e = cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, device);
  if (!e) e = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (!e) e = cudaDeviceGetAttribute(&memory_clock, cudaDevAttrMemoryClockRate, device);
  if (!e) e = cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, device);
  if (!e) macko_know_gpu(2e-6 * memory_clock * bits / 8, 1e-6 * clock * multiprocessors); /* clocks are in kHz */
  else cudaGetLastError();
}

/* The GPU is asked once, as only the first answer counts and every encoding comes here. */
void macko_know_current_gpu(void)
{
  static pthread_once_t told = PTHREAD_ONCE_INIT;
  pthread_once(&told, tell_of_gpu);
}

/* Running out of memory is a failure of its own, told apart from what else CUDA may report. CUDA's memory of the error is
 * cleared, so that no later call of the program sees it. */
macko_status macko_device_alloc(int64_t bytes, const char *what, void **memory, macko_error *err)
{
  size_t available = 0, total = 0;
  cudaError_t error = cudaMalloc(memory, (size_t)bytes);
  if (error != cudaErrorMemoryAllocation) return macko_cuda_status(error, what, err);
  cudaGetLastError();
  cudaMemGetInfo(&available, &total);
  return macko_fail(err, MACKO_OUT_OF_MEMORY, "%s: %lld bytes of GPU memory wanted, %lld of %lld free", what, (long long)bytes,
                    (long long)available, (long long)total);
}

/* Gives the number of bytes that a section takes with the padding that kernels may read, up to where the next section may
 * begin. */
static int64_t room(const macko_section *s)
{
  return macko_aligned(s->bytes + MACKO_SECTION_PAD);
}

/* Copies a section and clears the padding behind it: kernels read it, and what they find must be the same on every run. */
static macko_status copy_section(const macko_section *from, void *to, cudaStream_t stream, macko_error *err)
{
  macko_status s = macko_cuda_status(cudaMemcpyAsync(to, from->data, (size_t)from->bytes, cudaMemcpyHostToDevice, stream),
                                     "copying the matrix to the GPU", err);
  if (s) return s;
  return macko_cuda_status(cudaMemsetAsync((char *)to + from->bytes, 0, (size_t)(room(from) - from->bytes), stream),
                           "clearing GPU memory", err);
}

/* Takes one allocation for all sections, as each call of cudaMalloc takes long. Sets d->memory, d->bytes and the data pointers
 * of the sections. */
static macko_status take_memory(macko_device_matrix *d, macko_error *err)
{
  int64_t total = 0;
  void *memory = NULL;
  for (int i = 0; i < d->m.nsections; i++) total += room(&d->m.sections[i]);
  macko_status s = total ? macko_device_alloc(total, "the matrix", &memory, err) : MACKO_OK;
  d->memory = memory;
  d->bytes = s ? 0 : total;
  char *to = d->memory;
  for (int i = 0; !s && i < d->m.nsections; i++) {
    d->m.sections[i].data = to;
    to += room(&d->m.sections[i]);
  }
  return s;
}

/* Sections are zeroed because kernels set bits in them without clearing others, and write no slots that hold nothing. */
macko_status macko_device_allocate(macko_device_matrix *d, cudaStream_t stream, macko_error *err)
{
  macko_status s = take_memory(d, err);
  if (s || !d->bytes) return s;
  return macko_cuda_status(cudaMemsetAsync(d->memory, 0, (size_t)d->bytes, stream), "clearing GPU memory", err);
}

macko_status macko_upload(macko_device_matrix *d, const macko_matrix *matrix, cudaStream_t stream, macko_error *err)
{
  d->m = *matrix;
  d->m.prepared = NULL, d->m.borrowed = 0; /* the host's: arrays on the GPU are its own */
  macko_status s = take_memory(d, err);
  for (int i = 0; !s && i < matrix->nsections; i++) s = copy_section(&matrix->sections[i], d->m.sections[i].data, stream, err);
  return s;
}

/* ---- the transpose ---- */

/* This is a matrix as CSR on the host, and its transpose beside it, which is filled from it. The row starts of the transpose
 * have one element more than usual, see fill. */
typedef struct {
  int64_t *row_ptr, *cols, *t_row_ptr, *t_cols;
  char *values, *t_values;
} transposition;

/* Says whether there was memory for all arrays, of values of `size` bytes. What was taken is freed by the caller in any case. */
static int allocate(const macko_matrix *m, int64_t size, transposition *t)
{
  size_t entries = (size_t)m->nnz + 1;
  t->row_ptr = malloc(((size_t)m->nrows + 1) * 8), t->t_row_ptr = calloc((size_t)m->ncols + 2, 8);
  t->cols = malloc(entries * 8), t->t_cols = malloc(entries * 8);
  t->values = malloc(entries * (size_t)size), t->t_values = malloc(entries * (size_t)size);
  return t->row_ptr && t->t_row_ptr && t->cols && t->t_cols && t->values && t->t_values;
}

/* Copies a value as bits: a copy as a float could change NaN. */
static inline void copy_value(char *to, const char *from, int64_t size)
{
  if (size == 8) *(uint64_t *)(void *)to = *(const uint64_t *)(const void *)from;
  else if (size == 4) *(uint32_t *)(void *)to = *(const uint32_t *)(const void *)from;
  else *(uint16_t *)(void *)to = *(const uint16_t *)(const void *)from;
}

/* Counts the entries of each column, adds the counts up to row starts and deals the entries out. The count of column j stands
 * in element j + 2: while entries are dealt, element j + 1 moves from the start of row j to its end, which is the start of row
 * j + 1. Entries of a row of the transpose come in the order of their old rows, so that they are sorted. */
static void fill(const macko_matrix *m, int64_t size, transposition *t)
{
  for (int64_t p = 0; p < m->nnz; p++) t->t_row_ptr[t->cols[p] + 2]++;
  for (int64_t j = 0; j < m->ncols; j++) t->t_row_ptr[j + 2] += t->t_row_ptr[j + 1];
  for (int64_t i = 0; i < m->nrows; i++)
    for (int64_t p = t->row_ptr[i]; p < t->row_ptr[i + 1]; p++) {
      int64_t to = t->t_row_ptr[t->cols[p] + 1]++;
      t->t_cols[to] = i;
      copy_value(t->t_values + to * size, t->values + p * size, size);
    }
}

macko_status macko_transpose(const macko_matrix *matrix, macko_matrix **transpose, macko_error *err)
{
  transposition t = {0};
  macko_options options = matrix->options;
  int64_t size = macko_type_bytes(matrix->value_type);
  macko_status s = allocate(matrix, size, &t) ? MACKO_OK
                   : macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to transpose %lld nonzeros", (long long)matrix->nnz);
  if (!s) s = macko_decode(matrix, t.row_ptr, t.cols, t.values, err);
  if (!s) {
    fill(matrix, size, &t);
    macko_csr a = {.nrows = matrix->ncols, .ncols = matrix->nrows, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64,
                   .value_type = matrix->value_type, .row_ptr = t.t_row_ptr, .cols = t.t_cols, .values = t.t_values};
    options.format = matrix->format;
    s = macko_encode(&a, &options, transpose, err);
    /* What one way round fits a format's limits need not the other way round; automatic choice always finds one that holds it. */
    if (s == MACKO_LIMIT || s == MACKO_UNSUPPORTED) {
      macko_options_init(&options);
      options.prefer = matrix->options.prefer, options.target = MACKO_TARGET_GPU;
      s = macko_encode(&a, &options, transpose, err);
    }
  }
  free(t.row_ptr), free(t.cols), free(t.values), free(t.t_row_ptr), free(t.t_cols), free(t.t_values);
  return s;
}
