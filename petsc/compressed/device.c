/* Pieces of type macko in GPU memory, and products with them on PETSc's stream. */
#include "compressed/compressed.h"
#include "device.h"

#include "macko_cuda.h"

/* ---- pieces ---- */

/* Copies the csr to the GPU, encodes it there and frees the copy. Where there is no room *device stays NULL and the status is
   MACKO_OK. */
static macko_status Encode(const macko_csr *csr, const macko_options *options, cudaStream_t stream,
                           struct macko_device_matrix **device, macko_error *err)
{
  macko_csr    there;
  void        *memory = NULL;
  PetscBool    done   = PETSC_FALSE;
  macko_status status = MACKO_OK;
  if (MackoCopyRows(csr, &there, &memory, stream, &done)) status = MACKO_DEVICE;
  if (!status && done) status = macko_device_encode(&there, options, stream, device, err);
  cudaFree(memory);
  return status == MACKO_OUT_OF_MEMORY ? MACKO_OK : status;
}

/* Gets PETSc's stream; its errors become a status, so that ranks can agree. */
static macko_status Stream(cudaStream_t *stream, macko_error *err)
{
  if (!MackoStream(stream)) return MACKO_OK;
  err->status = MACKO_DEVICE;
  (void)PetscSNPrintf(err->text, sizeof err->text, "no stream of PETSc's on this GPU");
  return MACKO_DEVICE;
}

/* The number of entries is read from the csr's last row pointer, which is of 64 bits. */
macko_status MackoPieceEncode(const macko_csr *csr, const macko_options *options, struct macko_device_matrix **device,
                              macko_error *err)
{
  cudaStream_t stream;
  *device = NULL;
  if (((const int64_t *)csr->row_ptr)[csr->nrows] < MACKO_ENCODED_SOONER_BY_CPU) return MACKO_OK;
  macko_status status = Stream(&stream, err);
  return status ? status : Encode(csr, options, stream, device, err);
}

macko_status MackoPieceBorrow(const MackoPiece *piece, macko_matrix **rows, macko_error *err)
{
  cudaStream_t stream;
  *rows = piece->rows;
  if (*rows) return MACKO_OK;
  macko_status status = Stream(&stream, err);
  return status ? status : macko_device_fetch(piece->device, stream, rows, err);
}

/* Brings a piece from the host to the GPU, unless it is there. */
static macko_status Upload(MackoPiece *piece, macko_error *err)
{
  cudaStream_t stream;
  if (piece->device) return MACKO_OK;
  macko_status status = Stream(&stream, err);
  return status ? status : macko_device_upload(piece->rows, stream, &piece->device, err);
}

/* Adds the transpose to a piece that is on the GPU, unless it has one. It is made from the host's form. */
static macko_status AddTranspose(MackoPiece *piece, macko_error *err)
{
  cudaStream_t  stream;
  macko_matrix *rows;
  if (macko_device_has_transpose(piece->device)) return MACKO_OK;
  macko_status status = MackoPieceBorrow(piece, &rows, err);
  if (!status) status = Stream(&stream, err);
  if (!status) status = macko_device_add_transpose(piece->device, rows, stream, err);
  MackoPieceReturn(piece, &rows);
  return status;
}

/* Pieces that are ready already take no time, so that this may be called again after a failure. */
macko_status MackoBlockPrepare(MackoBlock *b, MackoReady what, macko_error *err)
{
  macko_status status = MACKO_OK;
  for (PetscInt p = 0; !status && p < b->count; p++) {
    if (what == MACKO_READY_HOST) status = MackoPieceFetch(&b->pieces[p], err);
    else status = Upload(&b->pieces[p], err);
    if (!status && what == MACKO_READY_TRANSPOSED) status = AddTranspose(&b->pieces[p], err);
  }
  return status;
}

void MackoPieceDeviceInfo(const MackoPiece *piece, macko_info *info)
{
  macko_device_get_info(piece->device, info);
}

PetscInt64 MackoPieceDeviceBytes(const MackoPiece *piece)
{
  return piece->device ? macko_device_bytes(piece->device) : 0;
}

void MackoPieceDeviceFree(MackoPiece *piece)
{
  macko_device_destroy(&piece->device);
}

/* ---- products ---- */

/* Queues the products of all pieces, whose order on the stream makes it safe that those with the transpose add to the same Y;
   beta counts for the first of them only. */
static macko_status MultiplyPieces(const MackoBlock *b, macko_op op, PetscInt k, MackoArray x, PetscScalar beta, MackoArray y,
                                   cudaStream_t stream, macko_error *err)
{
  macko_status status = MACKO_OK;
  for (PetscInt p = 0; !status && p < b->count; p++) {
    const MackoPiece *piece = &b->pieces[p];
    /* A piece has its rows' part of Y, or of X for the transpose. */
    const PetscInt    from = op == MACKO_OP_T ? piece->first : 0, to = op == MACKO_OP_N ? piece->first : 0;
    status = macko_device_multiply(piece->device, op, MACKO_F64, k, 1, x.data + from, x.ld, op == MACKO_OP_T && p ? 1 : beta,
                                   y.data + to, y.ld, stream, err);
  }
  return status;
}

/* Y = 0 of n rows. */
static macko_status Clear(MackoArray y, PetscInt n, PetscInt k, cudaStream_t stream, macko_error *err)
{
  size_t      width = (size_t)n * sizeof(PetscScalar), pitch = k > 1 ? (size_t)y.ld * sizeof(PetscScalar) : width;
  cudaError_t error = cudaMemset2DAsync(y.data, pitch, 0, width, (size_t)k, stream);
  if (!error) return MACKO_OK;
  err->status = MACKO_DEVICE;
  (void)PetscSNPrintf(err->text, sizeof err->text, "clearing an array: %s", cudaGetErrorString(error));
  return MACKO_DEVICE;
}

/* What no piece writes of Y stays as it is for a beta of 1, and is cleared before for one of 0; there are no others. Staging serves
   -mat_macko_backend cuda, with vectors of the host. */
macko_status MackoBlockDeviceMultiply(Mat A, MackoBlock *b, macko_op op, PetscInt k, MackoArray x, PetscScalar beta, MackoArray y,
                                      macko_error *err)
{
  Mat_Macko   *m  = MackoOf(A);
  MackoArray   xd = x, yd = y;
  PetscInt     nx = op == MACKO_OP_N ? b->ncols : b->nrows, ny = op == MACKO_OP_N ? b->nrows : b->ncols;
  size_t       x_bytes = MackoArrayBytes(x, nx, k), y_bytes = MackoArrayBytes(y, ny, k);
  /* The product leaves the rest of y as it is, so that y has to be copied to the GPU before, too. */
  PetscBool    rest    = (PetscBool)(beta != 0 || (k > 1 && y.ld > ny));
  PetscBool    clear   = (PetscBool)(beta == 0 && ny && !MackoBlockFills(b, op));
  cudaStream_t stream;
  macko_status status;

  if (!clear && !b->count) return MACKO_OK;
  status = Stream(&stream, err);
  if (!status && PetscMemTypeHost(x.where)) status = MackoStage(m, MACKO_ROOM_X, &xd, x_bytes, PETSC_TRUE, stream, err);
  if (!status && PetscMemTypeHost(y.where)) status = MackoStage(m, MACKO_ROOM_Y, &yd, y_bytes, rest, stream, err);
  if (!status && clear) status = Clear(yd, ny, k, stream, err);
  if (!status) status = MultiplyPieces(b, op, k, xd, clear ? 1 : beta, yd, stream, err);
  if (!status && PetscMemTypeHost(y.where)) status = MackoUnstage(yd, y, y_bytes, stream, err);
  return status;
}

/* Rows beyond the last piece have no entries, so that all is cleared before. */
macko_status MackoBlockDeviceDiagonal(const MackoBlock *b, PetscScalar *diagonal, PetscBool *done, macko_error *err)
{
  cudaStream_t stream;
  *done               = PETSC_TRUE;
  macko_status status = Stream(&stream, err);
  if (!status) status = Clear((MackoArray){.data = diagonal}, b->nrows, 1, stream, err);
  for (PetscInt p = 0; !status && *done && p < b->count; p++) {
    const MackoPiece *piece = &b->pieces[p];
    *done = (PetscBool)(piece->device != NULL);
    if (*done) status = macko_device_diagonal_from(piece->device, piece->first, diagonal + piece->first, stream, err);
    if (status != MACKO_UNSUPPORTED) continue;
    *done = PETSC_FALSE, status = MACKO_OK;
  }
  return status;
}

/* The room is one of those that Mat_Macko keeps from one product to the next. */
PetscBool MackoHalosOnDevice(Mat A, PetscInt k, PetscScalar **halos)
{
  Mat_Macko  *m     = MackoOf(A);
  size_t      bytes = (size_t)((const Mat_Compressed *)A->data)->ghosts * (size_t)k * sizeof **halos;
  cudaError_t error = MackoRoom(m, MACKO_ROOM_HALOS, bytes);
  *halos = bytes && !error ? (PetscScalar *)m->staged[MACKO_ROOM_HALOS] : NULL;
  return (PetscBool)!error;
}

/* Vectors of one layout are taken to be on the GPU on all ranks or on none, so that nothing is communicated. */
PetscErrorCode MackoCompressedOnDevice(Mat A, Vec x, Vec y, PetscBool *device)
{
  const Mat_Compressed *m = (const Mat_Compressed *)A->data;

  PetscFunctionBegin;
  /* With -mat_macko_backend cuda vectors are copied to the GPU, wherever they are. */
  *device = (PetscBool)(m->device && MackoOf(A)->backend == MACKO_BACKEND_CUDA);
#if defined(PETSC_HAVE_CUDA)
  if (m->device && !*device) {
    PetscBool other;
    PetscCall(MackoOnDevice(x, device));
    PetscCall(MackoOnDevice(y, &other));
    *device = (PetscBool)(*device && other);
  }
#else
  (void)x, (void)y;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
