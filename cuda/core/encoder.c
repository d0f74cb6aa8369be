/* What encoding on the device asks of it: memory, and checks of the csr. Values are in encoder_values.c, the rest in the formats'
 * folders. */
#include "core/encoder.h"
#include "core/pattern.h"
#include "core/pool.h"

#include <stdlib.h>
#include <string.h>

/* This is the number of bytes of e->answer: enough for every struct that kernels of a format answer with. */
enum { ANSWER_BYTES = 1024 };

/* ---- memory ---- */

/* Takes a slab for a room: from the pool of all encodings, else memory of its own, or no more than that room where memory is
 * scarce. */
static macko_status take_slab(macko_encoder *e, int64_t bytes, macko_error *err)
{
  const char *what = "room to encode in";
  const int64_t usual = bytes > e->slab_bytes ? bytes : e->slab_bytes;
  macko_slab slab = {.bytes = usual};
  void *memory = NULL;
  if (e->nslabs == MACKO_ENCODER_SLABS)
    return macko_fail(err, MACKO_LIMIT, "an encoder with more than %d slabs of memory", MACKO_ENCODER_SLABS);
  macko_pool_take(usual, e->stream, &memory);
  slab.pooled = memory != NULL;
  macko_status s = memory ? MACKO_OK : macko_device_alloc(usual, what, &memory, err);
  if (s == MACKO_OUT_OF_MEMORY && usual > bytes) s = macko_device_alloc(slab.bytes = bytes, what, &memory, err);
  slab.memory = memory;
  if (!s) e->slabs[e->nslabs++] = slab;
  return s;
}

/* Kernels may still use the slab: memory of the pool goes back behind them, and CUDA waits for them before it unmaps other. */
static void free_slab(const macko_encoder *e, const macko_slab *slab)
{
  if (slab->pooled) cudaFreeAsync(slab->memory, e->stream);
  else cudaFree(slab->memory);
}

/* No room is empty, so that each has an address of its own to be given back by. */
macko_status macko_encoder_room(macko_encoder *e, int64_t bytes, void **room, macko_error *err)
{
  const int64_t taken = macko_aligned(bytes > 0 ? bytes : 1);
  int i = 0;
  while (i < e->nslabs && e->slabs[i].bytes - e->slabs[i].used < taken) i++;
  macko_status s = i < e->nslabs ? MACKO_OK : take_slab(e, taken, err);
  if (s) return s;
  *room = e->slabs[i].memory + e->slabs[i].used;
  e->slabs[i].used += taken;
  return s;
}

void macko_encoder_give_back(macko_encoder *e, void *room)
{
  for (int i = 0; i < e->nslabs; i++) {
    macko_slab *slab = &e->slabs[i];
    const char *end = slab->memory + slab->used;
    if ((char *)room < slab->memory || (char *)room >= end) continue;
    slab->used = (char *)room - slab->memory;
    if (slab->used) return;
    free_slab(e, slab);
    *slab = e->slabs[--e->nslabs];
    return;
  }
}

macko_status macko_encoder_read_back(const macko_encoder *e, void *to, const void *from, size_t bytes, macko_error *err)
{
  macko_status s = macko_cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, e->stream), "encoding", err);
  return s ? s : macko_cuda_status(cudaStreamSynchronize(e->stream), "encoding", err);
}

/* The copy has left the host's memory when this returns, as CUDA promises for memory that is not page-locked. */
macko_status macko_encoder_send(const macko_encoder *e, void *to, const void *from, size_t bytes, macko_error *err)
{
  return macko_cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, e->stream), "encoding", err);
}

macko_status macko_encoder_clear(const macko_encoder *e, macko_error *err)
{
  return macko_cuda_status(cudaMemsetAsync(e->answer, 0, ANSWER_BYTES, e->stream), "encoding", err);
}

/* ---- opening ---- */

/* The number of entries is the last element of row_ptr, which is on the device. */
static macko_status count_entries(macko_encoder *e, macko_error *err)
{
  int64_t end = 0;
  int32_t end_i32 = 0;
  int wide = e->csr.row_ptr_type == MACKO_I64;
  const char *at = (const char *)e->csr.row_ptr + e->csr.nrows * (wide ? 8 : 4);
  macko_status s = macko_encoder_read_back(e, wide ? (void *)&end : &end_i32, at, wide ? 8 : 4, err);
  e->a.nnz = (wide ? end : end_i32) - e->csr.index_base;
  return s;
}

double macko_encoder_all_sectors(const macko_encoder *e, const macko_stretches *s, cudaError_t started)
{
  unsigned long long counts[2] = {0, 0};
  if (started || macko_encoder_read_back(e, counts, e->answer, sizeof counts, NULL)) return 0;
  return macko_all_sectors(s, (int64_t)counts[0], (int64_t)counts[1], e->a.nnz, e->a.ncols);
}

double macko_encoder_sectors(void *context)
{
  macko_encoder *e = context;
  const macko_stretches s = macko_stretches_of(e->a.nrows, e->a.nnz, e->a.value_type);
  if (!e->sectors_known)
    e->sectors = macko_encoder_all_sectors(e, &s, macko_count_sectors(&e->a, &s, macko_new_hash_key(), e->answer, e->stream));
  e->sectors_known = 1;
  return e->sectors;
}

/* A csr that fails the check is no failure of this function: e->readable stays 0, and the host finds the words for what is
 * wrong. */
macko_status macko_open_encoder(const macko_csr *csr, cudaStream_t stream, macko_encoder *e, macko_error *err)
{
  macko_device_look look;
  *e = (macko_encoder){.csr = *csr, .stream = stream};
  e->a = macko_device_view(csr);
  macko_status s = macko_encoder_room(e, ANSWER_BYTES, &e->answer, err);
  if (!s) s = count_entries(e, err);
  if (s || e->a.nnz < 0 || (e->a.nnz && (!csr->cols || !csr->values))) return s;
  s = macko_cuda_status(macko_look_at_csr(&e->csr, &e->a, e->answer, stream), "checking a matrix", err);
  if (!s) s = macko_encoder_read_back(e, &look, e->answer, sizeof look, err);
  e->readable = !s && !look.invalid && look.falls == look.row_falls && look.longest < MACKO_DEVICE_LONGEST;
  if (e->readable) e->pattern = macko_pattern_number(look.pattern), e->longest = (int64_t)look.longest;
  return s;
}

/* Every format may have asked for facts, so that each one's close is called. */
void macko_close_encoder(macko_encoder *e)
{
  for (int i = 0; i < MACKO_FORMAT_AUTO; i++) {
    const macko_device_ops *ops = macko_device_ops_of((macko_format)i);
    if (ops && ops->close) ops->close(e);
  }
  for (int i = 0; i < e->nslabs; i++) free_slab(e, &e->slabs[i]);
}
