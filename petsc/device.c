/* The compressed form in GPU memory, and products with it on PETSc's stream. */
#include "device.h"

#include "macko_cuda.h"

#if defined(PETSC_HAVE_CUDA)
#include <petscdevice_cuda.h>
#endif

/* Answers at build time: only a PETSc that was configured with CUDA has vectors in GPU memory. A build of ours with CUDA may
   still meet one without, and then copies vectors where -mat_macko_backend cuda asks for it. */
PetscBool MackoDeviceVectors(void)
{
#if defined(PETSC_HAVE_CUDA)
  return PETSC_TRUE;
#else
  return PETSC_FALSE;
#endif
}

#if defined(PETSC_HAVE_CUDA)
/* A vector of a type on the GPU that is bound to the CPU counts as one of the host: PETSc then keeps its newest entries there. */
PetscErrorCode MackoOnDevice(Vec v, PetscBool *on)
{
  PetscBool bound;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)v, on, VECSEQCUDA, VECMPICUDA, ""));
  PetscCall(VecBoundToCPU(v, &bound));
  *on = (PetscBool)(*on && !bound);
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* Returns NULL where this process has a GPU that can be used, else the sentence that says why not. The look is done once, because
   a process does not gain or lose GPUs and asking CUDA takes time in every product. */
static const char *NoDevice(void)
{
  static macko_error err;
  static int         devices = -1;
  if (devices < 0) devices = macko_device_count(&err);
  return devices ? NULL : MackoWithoutGpu(err.text);
}

/* Asks of the process alone, without a matrix and its options: registration wants to know before there is any matrix. */
PetscBool MackoDeviceFound(void)
{
  return (PetscBool)!NoDevice();
}

/* The reasons are tried from the one that the user has given to the one that the machine gives, so that the sentence in *why
   names what the user can change. The last one is for a PETSc without CUDA: products there would copy both vectors each time,
   which nobody gets without asking for it. */
PetscBool MackoDeviceAllowed(Mat A, const char **why)
{
  const Mat_Macko *m = MackoOf(A);
  const char      *reason = NULL;
  if (MackoBoundToCPU(A)) reason = "the matrix is bound to the CPU";
  else if (m && m->backend == MACKO_BACKEND_CPU) reason = "-mat_macko_backend cpu";
  else reason = NoDevice();
  if (!reason && !MackoDeviceVectors() && !(m && m->backend == MACKO_BACKEND_CUDA))
    reason = "this PETSc has no vectors on the GPU; -mat_macko_backend cuda copies them for every product";
  if (why) *why = reason;
  return (PetscBool)!reason;
}

/* Everything that the matrix types queue goes to PETSc's own stream, so that it is in order with PETSc's operations on vectors
   and no synchronisation is needed. Without CUDA in PETSc this is CUDA's default stream. */
PetscErrorCode MackoStream(cudaStream_t *stream)
{
  PetscFunctionBegin;
#if !defined(PETSC_HAVE_CUDA)
  *stream = NULL;
#elif PETSC_VERSION_LT(3, 19, 0)
  *stream = PetscDefaultCudaStream;
#else
  PetscCall(PetscGetCurrentCUDAStream(stream));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every encoding and refresh of m counts one of the two counters up, and the form in GPU memory remembers which ones it was made
   from. */
PetscBool MackoDeviceCurrent(const Mat_Macko *m)
{
  return (PetscBool)(m->device && m->device_encodes == m->encodes && m->device_refreshes == m->refreshes);
}

/* The caller has made sure that there is a form in GPU memory. */
void MackoDeviceInfo(const Mat_Macko *m, macko_info *info)
{
  macko_device_get_info(m->device, info);
}

/* The form that a GPU made comes to the host only when something there asks for it, as a product with host vectors does. The copy
   stays, and belongs to m. */
PetscErrorCode MackoDeviceFetch(Mat_Macko *m, macko_status *status, macko_error *err)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  *status = MACKO_OK;
  if (m->compressed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoStream(&stream));
  *status = macko_device_fetch(m->device, stream, &m->compressed, err);
  if (!*status) PetscCall(PetscLogGpuToCpu((PetscLogDouble)macko_device_bytes(m->device)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- encoding there ---- */

/* Returns how many entries a csr in host memory has: the last start of its rows, of either index type. */
static size_t Entries(const macko_csr *csr)
{
  return csr->row_ptr_type == MACKO_I64 ? (size_t)((const int64_t *)csr->row_ptr)[csr->nrows]
                                        : (size_t)((const int32_t *)csr->row_ptr)[csr->nrows];
}

/* The three arrays share one allocation, because each cudaMalloc costs time and the copy lives for one encoding only. The parts
   begin at multiples of 256 bytes, as separate allocations would. */
PetscErrorCode MackoCopyRows(const macko_csr *csr, macko_csr *device, void **memory, cudaStream_t stream, PetscBool *done)
{
  size_t entries = Entries(csr), values = entries * sizeof(PetscScalar), cols = entries * (size_t)macko_type_bytes(csr->col_type);
  size_t starts  = ((size_t)csr->nrows + 1) * (size_t)macko_type_bytes(csr->row_ptr_type);
  size_t cols_at = (starts + 255) / 256 * 256, values_at = cols_at + (cols + 255) / 256 * 256;
  char  *to;

  PetscFunctionBegin;
  *done   = PETSC_FALSE;
  *memory = NULL;
  if (cudaMalloc(memory, values_at + values) != cudaSuccess) {
    cudaGetLastError(); /* This clears CUDA's error: the CPU encodes in that case, which needs no GPU memory. */
    *memory = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  to              = (char *)*memory;
  *device         = *csr;
  device->row_ptr = to, device->cols = to + cols_at, device->values = to + values_at;
  *done = (PetscBool)(cudaMemcpyAsync(to, csr->row_ptr, starts, cudaMemcpyHostToDevice, stream) == cudaSuccess &&
                      cudaMemcpyAsync(to + cols_at, csr->cols, cols, cudaMemcpyHostToDevice, stream) == cudaSuccess &&
                      cudaMemcpyAsync(to + values_at, csr->values, values, cudaMemcpyHostToDevice, stream) == cudaSuccess);
  if (*done) PetscCall(PetscLogCpuToGpu((PetscLogDouble)(starts + cols + values)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This is set by the first encoding on the GPU of this process: CUDA loads each kernel at its first use, and MackoDeviceLoads
   tells of it because that first time takes much longer. */
static PetscBool loaded = PETSC_FALSE;

/* Whoever decides when to compress counts in that the first encoding of a process takes longer. */
PetscBool MackoDeviceLoads(void)
{
  return (PetscBool)!loaded;
}

/* A matrix whose rows are on the host is copied there for the encoding and no longer. Where the GPU lacks the room, status is
   MACKO_OK and *done is PETSC_FALSE, so that the caller tries the CPU; any other failure is the caller's to raise. The host's
   form is destroyed on success, since it no longer belongs to the values. The caller counts the encoding. */
PetscErrorCode MackoDeviceEncode(Mat_Macko *m, const MackoRows *rows, PetscBool refresh, PetscBool *done,
                                 macko_status *status, macko_error *err)
{
  macko_device_matrix *fresh  = NULL;
  macko_csr            device = rows->csr;
  void                *memory = NULL;
  cudaStream_t         stream;

  PetscFunctionBegin;
  *status = MACKO_OK;
  *done   = rows->device;
  /* Few rows are left to the CPU, but forms are measured where products run. */
  if (!rows->device && rows->nnz < MACKO_ENCODED_SOONER_BY_CPU && m->options.prefer != MACKO_PREFER_MEASURED)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoStream(&stream));
  if (!rows->device) PetscCall(MackoCopyRows(&rows->csr, &device, &memory, stream, done));
  if (*done && refresh) *status = macko_device_refresh_csr(m->device, &device, stream, NULL, err);
  else if (*done) *status = macko_device_encode(&device, &m->options, stream, &fresh, err);
  cudaFree(memory);
  if (*status == MACKO_OUT_OF_MEMORY) *status = MACKO_OK, *done = PETSC_FALSE;
  if (*status || !*done) PetscFunctionReturn(PETSC_SUCCESS);
  loaded = PETSC_TRUE;
  macko_destroy(&m->compressed);
  if (fresh) {
    macko_device_destroy(&m->device);
    m->device = fresh;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values alone are replaced in place where the form there came from the same encoding. Otherwise the host's form is uploaded
   whole, after the old one was freed, so that both never need room at the same time. */
PetscErrorCode MackoDeviceUpdate(Mat_Macko *m, macko_status *status, macko_error *err)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  *status = MACKO_OK;
  if (MackoDeviceCurrent(m)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoStream(&stream));
  PetscCall(PetscLogEventBegin(MACKO_Upload, 0, 0, 0, 0));
  if (m->device && m->device_encodes == m->encodes) {
    *status = macko_device_refresh(m->device, m->compressed, stream, NULL, err);
  } else {
    macko_device_destroy(&m->device);
    *status = macko_device_upload(m->compressed, stream, &m->device, err);
  }
  if (!*status) {
    m->device_encodes = m->encodes, m->device_refreshes = m->refreshes;
    PetscCall(PetscLogCpuToGpu((PetscLogDouble)macko_device_bytes(m->device)));
  }
  PetscCall(PetscLogEventEnd(MACKO_Upload, 0, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds the transpose to the form in GPU memory from AIJ's rows. It is made on the GPU where the rows are there, or where there
   are so many that copying them is worth it; otherwise this does nothing, and the caller goes by the host. */
static PetscErrorCode TransposeRows(Mat A, Mat_Macko *m, cudaStream_t stream, macko_status *status, macko_error *err)
{
  MackoRows rows;
  macko_csr device;
  void     *memory = NULL;
  PetscBool there;

  PetscFunctionBegin;
  PetscCall(MackoOpenRows(A, PETSC_TRUE, &rows));
  device = rows.csr, there = rows.device;
  if (!there && rows.nnz >= MACKO_ENCODED_SOONER_BY_CPU) PetscCall(MackoCopyRows(&rows.csr, &device, &memory, stream, &there));
  if (there) *status = macko_device_add_transpose_csr(m->device, &device, stream, err);
  cudaFree(memory);
  PetscCall(MackoCloseRows(A, &rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes a product with the transpose possible, if *op asks for it. A product with a matrix that is known to be symmetric becomes
   the forward one in *op and needs no transpose. Otherwise the transpose is made once, by the first such product, and stays until
   the pattern changes. */
static PetscErrorCode Transpose(Mat A, Mat_Macko *m, macko_op *op, cudaStream_t stream, macko_status *status, macko_error *err)
{
  PetscBool known = PETSC_FALSE, symmetric = PETSC_FALSE;

  PetscFunctionBegin;
  if (*op == MACKO_OP_N) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatIsSymmetricKnown(A, &known, &symmetric));
  if (known && symmetric && A->rmap->n == A->cmap->n) *op = MACKO_OP_N;
  else if (!macko_device_has_transpose(m->device)) {
    PetscCall(TransposeRows(A, m, stream, status, err));
    if (*status || macko_device_has_transpose(m->device)) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(MackoDeviceFetch(m, status, err));
    if (!*status) *status = macko_device_add_transpose(m->device, m->compressed, stream, err);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- arrays that are not on the GPU ---- */

/* Says of a failure of CUDA what was being done. */
static macko_status Check(cudaError_t error, const char *what, macko_error *err)
{
  if (!error) return MACKO_OK;
  err->status = MACKO_DEVICE;
  (void)PetscSNPrintf(err->text, sizeof err->text, "%s: %s", what, cudaGetErrorString(error));
  return MACKO_DEVICE;
}

/* The bytes are counted from the first element of the first column to the last element of the last one, because the caller's
   array may end there, without the padding that other columns have. Columns without elements may have no array. */
size_t MackoArrayBytes(MackoArray a, PetscInt n, PetscInt k)
{
  if (!n) return 0;
  return sizeof(PetscScalar) * (k > 1 ? (size_t)a.ld * (size_t)(k - 1) + (size_t)n : (size_t)n);
}

/* The room only grows, since cudaMalloc waits for the GPU. */
cudaError_t MackoRoom(Mat_Macko *m, MackoRoomFor which, size_t bytes)
{
  cudaError_t error;
  if (m->staged_bytes[which] >= bytes) return cudaSuccess;
  cudaFree(m->staged[which]);
  m->staged[which] = NULL, m->staged_bytes[which] = 0;
  error = cudaMalloc(&m->staged[which], bytes);
  if (error) (void)cudaGetLastError(); /* nobody else shall find it */
  else m->staged_bytes[which] = bytes;
  return error;
}

/* a->data is changed to the room; the leading dimension stays the caller's. */
macko_status MackoStage(Mat_Macko *m, MackoRoomFor which, MackoArray *a, size_t bytes, PetscBool read, cudaStream_t stream,
                        macko_error *err)
{
  macko_status status = Check(MackoRoom(m, which, bytes), "GPU memory for a vector", err);
  if (!status && read && bytes) {
    status = Check(cudaMemcpyAsync(m->staged[which], a->data, bytes, cudaMemcpyHostToDevice, stream), "copying to the GPU", err);
    (void)PetscLogCpuToGpu((PetscLogDouble)bytes);
  }
  a->data = (PetscScalar *)m->staged[which];
  return status;
}

/* The copy to the host is waited for: the caller's array must hold the result when a product returns, as any of PETSc's does. */
macko_status MackoUnstage(MackoArray staged, MackoArray to, size_t bytes, cudaStream_t stream, macko_error *err)
{
  static const char what[] = "copying from the GPU";
  if (bytes == 0) return MACKO_OK;
  macko_status status = Check(cudaMemcpyAsync(to.data, staged.data, bytes, cudaMemcpyDeviceToHost, stream), what, err);
  if (!status) status = Check(cudaStreamSynchronize(stream), what, err);
  (void)PetscLogGpuToCpu((PetscLogDouble)bytes);
  return status;
}

/* Vectors in host memory are staged: x is copied to the GPU, and y is copied too where the product reads it or leaves gaps
   between its columns as they are. Vectors in GPU memory are used in place, and the product is only queued. */
PetscErrorCode MackoDeviceProduct(Mat A, macko_op op, PetscInt k, MackoArray x, PetscScalar beta, MackoArray y)
{
  Mat_Macko   *m = MackoOf(A);
  MackoArray   xd = x, yd = y;
  PetscInt     nx = op == MACKO_OP_N ? A->cmap->n : A->rmap->n, ny = op == MACKO_OP_N ? A->rmap->n : A->cmap->n;
  size_t       x_bytes = MackoArrayBytes(x, nx, k), y_bytes = MackoArrayBytes(y, ny, k);
  /* The product leaves the rest of y as it is, so that y has to be copied to the GPU before, too. */
  PetscBool    rest = (PetscBool)(beta != 0 || (k > 1 && y.ld > ny));
  cudaStream_t stream;
  macko_status status;
  macko_error  err;

  PetscFunctionBegin;
  PetscCall(MackoDeviceUpdate(m, &status, &err));
  PetscCall(MackoStream(&stream));
  if (!status) PetscCall(Transpose(A, m, &op, stream, &status, &err));
  if (!status && PetscMemTypeHost(x.where)) status = MackoStage(m, MACKO_ROOM_X, &xd, x_bytes, PETSC_TRUE, stream, &err);
  if (!status && PetscMemTypeHost(y.where)) status = MackoStage(m, MACKO_ROOM_Y, &yd, y_bytes, rest, stream, &err);
  PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
  PetscCall(PetscLogGpuTimeBegin());
  status = macko_device_multiply(m->device, op, MACKO_F64, k, 1, xd.data, xd.ld, beta, yd.data, yd.ld, stream, &err);
  PetscCall(PetscLogGpuTimeEnd());
  if (!status && PetscMemTypeHost(y.where)) status = MackoUnstage(yd, y, y_bytes, stream, &err);
  PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the format cannot give its diagonal, status is MACKO_UNSUPPORTED, which is no error here: the caller has another way. */
PetscErrorCode MackoDeviceDiagonal(Mat A, PetscScalar *diagonal, PetscBool *done)
{
  Mat_Macko   *m = MackoOf(A);
  cudaStream_t stream;
  macko_status status;
  macko_error  err;
  macko_info   info;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (!m->device) PetscFunctionReturn(PETSC_SUCCESS);
  MackoDeviceInfo(m, &info);
  if (info.lossy) PetscFunctionReturn(PETSC_SUCCESS); /* only products take rounded values */
  PetscCall(MackoStream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  status = macko_device_diagonal(m->device, diagonal, stream, &err);
  PetscCall(PetscLogGpuTimeEnd());
  *done = (PetscBool)(status == MACKO_OK);
  if (status != MACKO_UNSUPPORTED) PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoDeviceRowsDiagonal(const MackoRows *rows, Vec v)
{
  cudaStream_t stream;
  macko_status status;
  macko_error  err;
  PetscScalar *diagonal;
  PetscMemType where;

  PetscFunctionBegin;
  PetscCall(MackoStream(&stream));
  PetscCall(VecGetArrayWriteAndMemType(v, &diagonal, &where));
  PetscCall(PetscLogGpuTimeBegin());
  status = macko_device_diagonal_csr(&rows->csr, 0, diagonal, stream, &err);
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(VecRestoreArrayWriteAndMemType(v, &diagonal));
  PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoDeviceNonemptyRows(const MackoRows *rows, PetscInt *count)
{
  cudaStream_t stream;
  macko_status status;
  macko_error  err;
  int64_t      found;

  PetscFunctionBegin;
  PetscCall(MackoStream(&stream));
  status = macko_device_nonempty_rows(&rows->csr, &found, stream, &err);
  PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
  *count = (PetscInt)found;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The transpose is counted in; staged vectors are not. */
PetscInt64 MackoDeviceBytes(const Mat_Macko *m)
{
  return m->device ? macko_device_bytes(m->device) : 0;
}

/* Frees the form and the room for vectors. Other parts of m stay as they are. */
void MackoDeviceFree(Mat_Macko *m)
{
  macko_device_destroy(&m->device);
  for (int i = 0; i < MACKO_ROOMS; i++) {
    if (m->staged[i]) cudaFree(m->staged[i]);
    m->staged[i] = NULL, m->staged_bytes[i] = 0;
  }
}
