/* Transposes of matrices whose csr is in device memory: made and compressed there. */
#include "core/encoder.h"

/* Says whether the host must transpose. Kernels number entries, rows and columns in 32 bits. CUB, which sorts, takes an error
 * that an earlier call of the program left with CUDA for its own, so that nothing is sorted while there is one. */
static int is_hosts(const macko_encoder *e)
{
  return e->a.nnz > INT32_MAX - 8 || e->a.nrows > INT32_MAX - 8 || e->a.ncols > INT32_MAX - 8 || cudaPeekAtLastError();
}

/* This is the number of arrays that a transposition takes. */
enum { ARRAYS = 8 };

/* Takes one room for the transpose and for making it. The first array begins where the room does. */
static macko_status take_room(macko_encoder *e, macko_device_transposition *t, macko_error *err)
{
  const int64_t entries = (e->a.nnz + 1) * 4;
  int64_t at[ARRAYS + 1] = {0};
  void *room = NULL;
  macko_status s = macko_cuda_status(macko_transpose_work(&e->a, &t->work_bytes), "transposing", err);
  const int64_t bytes[ARRAYS] = {entries, entries, entries, entries, (e->a.ncols + 1) * 4, entries,
                                 e->a.nnz * macko_type_bytes(e->csr.value_type), (int64_t)t->work_bytes};
  for (int i = 0; i < ARRAYS; i++) at[i + 1] = at[i] + macko_aligned(bytes[i]);
  if (!s) s = macko_encoder_room(e, at[ARRAYS], &room, err);
  if (s) return s;
  char *arrays = room;
  t->columns[0] = room, t->columns[1] = (void *)(arrays + at[1]);
  t->entries[0] = (void *)(arrays + at[2]), t->entries[1] = (void *)(arrays + at[3]);
  t->row_ptr = (void *)(arrays + at[4]), t->cols = (void *)(arrays + at[5]), t->values = arrays + at[6], t->work = arrays + at[7];
  return s;
}

/* Encodes the transpose as the matrix was asked to be, or by automatic choice for a GPU where that fails as macko_transpose
 * describes: what one way round fits a format's limits need not fit the other way round. */
static macko_status encode(const macko_csr *t, const macko_device_matrix *d, cudaStream_t stream, macko_device_matrix **transpose,
                           macko_error *err)
{
  macko_options options = d->m.options;
  options.format = d->m.format;
  macko_status s = macko_device_encode(t, &options, stream, transpose, err);
  if (s != MACKO_LIMIT && s != MACKO_UNSUPPORTED) return s;
  macko_options_init(&options);
  options.prefer = d->m.options.prefer, options.target = MACKO_TARGET_GPU;
  return macko_device_encode(t, &options, stream, transpose, err);
}

macko_status macko_encode_transpose(macko_encoder *e, const macko_device_matrix *d, macko_device_matrix **transpose,
                                    macko_error *err)
{
  macko_device_transposition t = {0};
  *transpose = NULL;
  if (is_hosts(e)) return MACKO_OK;
  macko_csr csr = {.nrows = e->a.ncols, .ncols = e->a.nrows, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32,
                   .value_type = e->csr.value_type};
  macko_status s = take_room(e, &t, err);
  if (!s) s = macko_cuda_status(macko_transpose_csr(&e->a, &t, e->stream), "transposing", err);
  csr.row_ptr = t.row_ptr, csr.cols = t.cols, csr.values = t.values;
  if (!s) s = encode(&csr, d, e->stream, transpose, err);
  if (t.columns[0]) macko_encoder_give_back(e, t.columns[0]); /* what the encoder does next needs room itself */
  return s;
}

/* The number of the pattern proves that the csr is the one that was encoded; its values are taken on trust. */
macko_status macko_device_add_transpose_csr(macko_device_matrix *device, const macko_csr *csr, cudaStream_t stream,
                                            macko_error *err)
{
  macko_encoder e;
  macko_matrix *m = NULL;
  macko_device_matrix *transpose = NULL;
  if (!device || !csr) return macko_fail(err, MACKO_INVALID_ARGUMENT, "device and csr must not be NULL");
  macko_status s = macko_check_same_type(device, csr, err);
  if (!s) s = macko_check_device(device, err);
  if (s || device->transpose) return s;
  s = macko_know_pattern(device, stream, err);
  if (s) return s;
  s = macko_open_encoder(csr, stream, &e, err);
  if (!s && e.readable && e.pattern != device->m.pattern)
    s = macko_fail(err, MACKO_INVALID_MATRIX, "the matrix has other row lengths or columns than the one on the GPU");
  if (!s && e.readable) s = macko_encode_transpose(&e, device, &transpose, err);
  macko_close_encoder(&e);
  if (s || transpose) return macko_put_transpose(device, &transpose), s;
  /* Rows are unsorted, or hold duplicates: what the csr became is the matrix itself, which the host transposes. */
  s = macko_device_fetch(device, stream, &m, err);
  if (!s) s = macko_device_add_transpose(device, m, stream, err);
  macko_destroy(&m);
  return s;
}
