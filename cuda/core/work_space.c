/* Work space of products (work_space.h). Why not every stream keeps one: nothing says when a stream is gone, so that spaces would
 * add up, and a graph may run on a stream that has one. */
#include "core/work_space.h"
#include "core/pool.h"

#include <pthread.h>
#include <stdlib.h>

/* So many streams keep memory each, as macko_device_multiply promises. */
enum { KEEPERS = 4 };

struct macko_work_space {
  int64_t bytes, zeroed; /* as macko_work_space_new was given them */
  pthread_mutex_t lock; /* of what follows; held while kept memory is lent, as a product may be several kernels */
  struct {
    void *memory;
    unsigned long long stream; /* its number: handles are used again, numbers are not */
  } kept[KEEPERS];             /* the first one's memory is there from the beginning */
  int keepers;        /* streams that keep memory so far: the first ones of kept */
  cudaMemPool_t pool; /* NULL until a second stream or a graph comes */
};

void macko_work_space_free(macko_work_space *space)
{
  if (!space) return;
  for (int i = 0; i < KEEPERS; i++) cudaFree(space->kept[i].memory);
  if (space->pool) cudaMemPoolDestroy(space->pool);
  pthread_mutex_destroy(&space->lock);
  free(space);
}

/* A keeper without memory gets it from the pool. */
macko_status macko_work_space_later(int64_t bytes, macko_work_space **space, macko_error *err)
{
  *space = NULL;
  if (!bytes) return MACKO_OK;
  *space = calloc(1, sizeof **space);
  if (!*space) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a work space of %zu bytes", sizeof **space);
  (*space)->bytes = bytes;
  pthread_mutex_init(&(*space)->lock, NULL);
  return MACKO_OK;
}

/* The first stream's memory is taken here, so that products of a program with one stream never allocate. It needs no pool. */
macko_status macko_work_space_new(int64_t bytes, int64_t zeroed, cudaStream_t stream, macko_work_space **space, macko_error *err)
{
  macko_status s = macko_work_space_later(bytes, space, err);
  macko_work_space *w = *space;
  if (s || !w) return s;
  w->zeroed = zeroed;
  s = macko_device_alloc(bytes, "work space of products", &w->kept[0].memory, err);
  if (!s && zeroed)
    s = macko_cuda_status(cudaMemsetAsync(w->kept[0].memory, 0, (size_t)zeroed, stream), "clearing work space", err);
  if (s) macko_work_space_free(w), *space = NULL;
  return s;
}

/* Makes the pool on first use, as most programs never need it. What is given back stays in the pool until that goes, so that
 * the next product costs no call of the driver's. */
static macko_status open_pool(macko_work_space *w, macko_error *err)
{
  macko_error why = {0};
  macko_status s = w->pool ? MACKO_OK : macko_pool_new(UINT64_MAX, &w->pool, &why);
  return s ? macko_fail(err, s, "this matrix multiplies on one stream and outside graphs: %s", why.text) : MACKO_OK;
}

/* Takes memory that is ready when the stream comes to it. It is cleared there, because nobody knows what the last user of the
 * pool's memory was. */
static macko_status take_from_pool(macko_work_space *w, cudaStream_t stream, void **memory, macko_error *err)
{
  cudaError_t e = cudaMallocFromPoolAsync(memory, (size_t)w->bytes, w->pool, stream);
  if (e == cudaErrorMemoryAllocation) {
    cudaGetLastError(); /* reported here, so not again by a later call */
    return macko_fail(err, MACKO_OUT_OF_MEMORY, "work space of products: no %lld bytes of GPU memory", (long long)w->bytes);
  }
  if (e) return macko_cuda_status(e, "taking work space", err);
  if (w->zeroed) e = cudaMemsetAsync(*memory, 0, (size_t)w->zeroed, stream);
  if (e) cudaFreeAsync(*memory, stream);
  return macko_cuda_status(e, "clearing work space", err);
}

/* Finds the memory that the stream of that number keeps, or keeps from this call on; *memory is NULL where other streams have
 * taken all places. The lock is held. */
static macko_status kept_by(macko_work_space *w, unsigned long long number, cudaStream_t stream, void **memory, macko_error *err)
{
  macko_status s = MACKO_OK;
  int i = 0;
  *memory = NULL;
  while (i < w->keepers && w->kept[i].stream != number) i++;
  if (i == KEEPERS) return MACKO_OK;
  if (!w->kept[i].memory) s = open_pool(w, err);
  if (!s && !w->kept[i].memory) s = take_from_pool(w, stream, &w->kept[i].memory, err);
  if (s) return w->kept[i].memory = NULL, s;
  if (i == w->keepers) w->kept[w->keepers++].stream = number;
  *memory = w->kept[i].memory;
  return MACKO_OK;
}

/* A stream's memory may be written by the next product only behind this one: the lock keeps another thread from queueing
 * kernels of its product between those of this one on the same stream. Memory of the pool belongs to one product and needs no
 * lock. */
macko_status macko_work_space_take(macko_work_space *space, cudaStream_t stream, macko_work_loan *loan, macko_error *err)
{
  enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  unsigned long long number = 0;
  *loan = (macko_work_loan){0};
  if (!space) return MACKO_OK;
  cudaError_t e = cudaStreamIsCapturing(stream, &capture);
  if (!e && capture == cudaStreamCaptureStatusNone) e = cudaStreamGetId(stream, &number);
  if (e) return macko_cuda_status(e, "looking at a stream", err);
  pthread_mutex_lock(&space->lock);
  macko_status s = MACKO_OK;
  if (capture == cudaStreamCaptureStatusNone) s = kept_by(space, number, stream, &loan->memory, err);
  loan->kept = loan->memory != NULL;
  if (loan->kept) return MACKO_OK; /* and keeps the lock */
  if (!s) s = open_pool(space, err);
  pthread_mutex_unlock(&space->lock);
  return s ? s : take_from_pool(space, stream, &loan->memory, err);
}

macko_status macko_work_space_give_back(macko_work_space *space, cudaStream_t stream, const macko_work_loan *loan,
                                        macko_error *err)
{
  if (!space) return MACKO_OK;
  if (!loan->kept) return macko_cuda_status(cudaFreeAsync(loan->memory, stream), "giving work space back", err);
  pthread_mutex_unlock(&space->lock);
  return MACKO_OK;
}
