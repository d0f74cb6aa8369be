/* The compressed form in GPU memory, and products with it on PETSc's stream. */
#include "device.h"

#include "macko_cuda.h"

#if defined(PETSC_HAVE_CUDA)
#include <petscdevice_cuda.h>
#endif

PetscBool MackoDeviceVectors(void)
{
#if defined(PETSC_HAVE_CUDA)
  return PETSC_TRUE;
#else
  return PETSC_FALSE;
#endif
}

#if defined(PETSC_HAVE_CUDA)
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

/* Looked for once: a process does not gain or lose GPUs. */
static const char *NoDevice(void)
{
  static macko_error err;
  static int         devices = -1;
  if (devices < 0) devices = macko_device_count(&err);
  return devices ? NULL : MackoWithoutGpu(err.text);
}

PetscBool MackoDeviceFound(void)
{
  return (PetscBool)!NoDevice();
}

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

PetscBool MackoDeviceCurrent(const Mat_Macko *m)
{
  return (PetscBool)(m->device && m->device_encodes == m->encodes && m->device_refreshes == m->refreshes);
}

void MackoDeviceInfo(const Mat_Macko *m, macko_info *info)
{
  macko_device_get_info(m->device, info);
}

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

static size_t Entries(const macko_csr *csr)
{
  return csr->row_ptr_type == MACKO_I64 ? (size_t)((const int64_t *)csr->row_ptr)[csr->nrows]
                                        : (size_t)((const int32_t *)csr->row_ptr)[csr->nrows];
}

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
    cudaGetLastError(); /* the CPU encodes in that case, which asks for less */
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

static PetscBool loaded = PETSC_FALSE;

PetscBool MackoDeviceLoads(void)
{
  return (PetscBool)!loaded;
}

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
  if (!rows->device && rows->nnz < MACKO_ENCODED_SOONER_BY_CPU) PetscFunctionReturn(PETSC_SUCCESS);
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

/* From the rows, on the GPU, where they are there or so many that it is worth copying them. */
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

/* A product with a symmetric matrix needs no transpose. */
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

static PetscErrorCode CudaCheck(cudaError_t error, const char *what)
{
  PetscFunctionBegin;
  PetscCheck(error == cudaSuccess, PETSC_COMM_SELF, PETSC_ERR_GPU, "%s: %s", what, cudaGetErrorString(error));
  PetscFunctionReturn(PETSC_SUCCESS);
}

size_t MackoArrayBytes(MackoArray a, PetscInt n, PetscInt k)
{
  return sizeof(PetscScalar) * (k > 1 ? (size_t)a.ld * (size_t)(k - 1) + (size_t)n : (size_t)n);
}

PetscErrorCode MackoStage(Mat_Macko *m, int which, MackoArray *a, size_t bytes, PetscBool read, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (m->staged_bytes[which] < bytes) {
    cudaFree(m->staged[which]);
    m->staged[which] = NULL, m->staged_bytes[which] = 0;
    PetscCall(CudaCheck(cudaMalloc(&m->staged[which], bytes), "GPU memory for a vector"));
    m->staged_bytes[which] = bytes;
  }
  if (read && bytes) {
    PetscCall(CudaCheck(cudaMemcpyAsync(m->staged[which], a->data, bytes, cudaMemcpyHostToDevice, stream), "copying to the GPU"));
    PetscCall(PetscLogCpuToGpu((PetscLogDouble)bytes));
  }
  a->data = (PetscScalar *)m->staged[which];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoUnstage(MackoArray staged, MackoArray to, size_t bytes, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (bytes == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CudaCheck(cudaMemcpyAsync(to.data, staged.data, bytes, cudaMemcpyDeviceToHost, stream), "copying from the GPU"));
  PetscCall(CudaCheck(cudaStreamSynchronize(stream), "copying from the GPU"));
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoDeviceProduct(Mat A, macko_op op, PetscInt k, MackoArray x, PetscScalar beta, MackoArray y)
{
  Mat_Macko   *m = MackoOf(A);
  MackoArray   xd = x, yd = y;
  PetscInt     nx = op == MACKO_OP_N ? A->cmap->n : A->rmap->n, ny = op == MACKO_OP_N ? A->rmap->n : A->cmap->n;
  size_t       x_bytes = MackoArrayBytes(x, nx, k), y_bytes = MackoArrayBytes(y, ny, k);
  PetscBool    rest = (PetscBool)(beta != 0 || (k > 1 && y.ld > ny)); /* of y, that the product leaves as it is */
  cudaStream_t stream;
  macko_status status;
  macko_error  err;

  PetscFunctionBegin;
  PetscCall(MackoDeviceUpdate(m, &status, &err));
  PetscCall(MackoStream(&stream));
  if (!status) PetscCall(Transpose(A, m, &op, stream, &status, &err));
  PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
  if (PetscMemTypeHost(x.where)) PetscCall(MackoStage(m, 0, &xd, x_bytes, PETSC_TRUE, stream));
  if (PetscMemTypeHost(y.where)) PetscCall(MackoStage(m, 1, &yd, y_bytes, rest, stream));
  PetscCall(PetscLogGpuTimeBegin());
  status = macko_device_multiply(m->device, op, MACKO_F64, k, 1, xd.data, xd.ld, beta, yd.data, yd.ld, stream, &err);
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
  if (PetscMemTypeHost(y.where)) PetscCall(MackoUnstage(yd, y, y_bytes, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

PetscInt64 MackoDeviceBytes(const Mat_Macko *m)
{
  return m->device ? macko_device_bytes(m->device) : 0;
}

void MackoDeviceFree(Mat_Macko *m)
{
  macko_device_destroy(&m->device);
  for (int i = 0; i < 2; i++) {
    if (m->staged[i]) cudaFree(m->staged[i]);
    m->staged[i] = NULL, m->staged_bytes[i] = 0;
  }
}
