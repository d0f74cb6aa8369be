/* SEQAIJMACKO: AIJ's own arrays are the truth; the compressed form is made from them by the first product that finds it stale. */
#include "after.h"
#include "transpose.h"

/* ---- products ---- */

/* Products by one vector are timed. Asking for the time takes as long as multiplying with some hundred entries, so that of small
   matrices one of EACH is. */
static PetscErrorCode HostProduct(Mat A, macko_op op, PetscInt k, MackoArray x, PetscScalar beta, MackoArray y)
{
  enum { SMALL = 10000, EACH = 16 }; /* entries, products */
  Mat_Macko      *m     = MackoOf(A);
  const PetscBool timed = (PetscBool)(k == 1 && (m->nnz > SMALL || m->multiplied % EACH == 0));
  PetscLogDouble  start = 0, end = 0;
  macko_error     err;
  macko_status    status;

  PetscFunctionBegin;
  PetscCall(MackoDeviceFetch(m, &status, &err));
  if (timed) PetscCall(PetscTime(&start));
  if (!status) status = macko_multiply(m->compressed, op, MACKO_F64, k, 1, x.data, x.ld, beta, y.data, y.ld, &err);
  if (timed) PetscCall(PetscTime(&end));
  m->multiplied += k == 1, m->timed += timed, m->multiply_seconds += end - start;
  PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operations are counted as AIJ counts them: its forward product starts each sum with a product. */
PetscErrorCode MackoProduct(Mat A, macko_op op, PetscInt k, MackoArray x, PetscScalar beta, MackoArray y)
{
  Mat_Macko     *m      = MackoOf(A);
  PetscBool      device = (PetscBool)(PetscMemTypeDevice(x.where) || PetscMemTypeDevice(y.where) ||
                                 (m->backend == MACKO_BACKEND_CUDA && MackoDeviceAllowed(A, NULL)));
  PetscLogDouble flops;

  PetscFunctionBegin;
  flops = (PetscLogDouble)k * (2.0 * (PetscLogDouble)m->nnz -
                               (op == MACKO_OP_N && beta == 0 ? (PetscLogDouble)m->nonempty_rows : 0));
  PetscCall(PetscLogEventBegin(MACKO_Mult, A, 0, 0, 0));
  if (device) {
    PetscCall(MackoDeviceProduct(A, op, k, x, beta, y));
    PetscCall(PetscLogGpuFlops(flops));
  } else {
    PetscCall(HostProduct(A, op, k, x, beta, y));
    PetscCall(PetscLogFlops(flops));
  }
  PetscCall(PetscLogEventEnd(MACKO_Mult, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoOpenVectors(Mat A, Vec x, PetscScalar beta, Vec y, MackoVectors *v)
{
  const PetscScalar *xa;

  PetscFunctionBegin;
  *v = (MackoVectors){.device = MackoDeviceAllowed(A, NULL), .reads = (PetscBool)(beta != 0)};
  v->x.where = v->y.where = PETSC_MEMTYPE_HOST;
  if (v->device) PetscCall(VecGetArrayReadAndMemType(x, &xa, &v->x.where));
  else PetscCall(VecGetArrayRead(x, &xa));
  v->x.data = (PetscScalar *)xa;
  if (v->device && !v->reads) PetscCall(VecGetArrayWriteAndMemType(y, &v->y.data, &v->y.where));
  else if (v->device) PetscCall(VecGetArrayAndMemType(y, &v->y.data, &v->y.where));
  else if (!v->reads) PetscCall(VecGetArrayWrite(y, &v->y.data));
  else PetscCall(VecGetArray(y, &v->y.data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoCloseVectors(Vec x, Vec y, MackoVectors *v)
{
  const PetscScalar *xa = v->x.data;

  PetscFunctionBegin;
  if (v->device && !v->reads) PetscCall(VecRestoreArrayWriteAndMemType(y, &v->y.data));
  else if (v->device) PetscCall(VecRestoreArrayAndMemType(y, &v->y.data));
  else if (!v->reads) PetscCall(VecRestoreArrayWrite(y, &v->y.data));
  else PetscCall(VecRestoreArray(y, &v->y.data));
  if (v->device) PetscCall(VecRestoreArrayReadAndMemType(x, &xa));
  else PetscCall(VecRestoreArrayRead(x, &xa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = op(A) x + beta y with the compressed form, which is up to date */
static PetscErrorCode MultiplyCompressed(Mat A, macko_op op, Vec x, PetscScalar beta, Vec y)
{
  MackoVectors v;

  PetscFunctionBegin;
  PetscCall(MackoOpenVectors(A, x, beta, y, &v));
  PetscCall(MackoProduct(A, op, 1, v.x, beta, v.y));
  PetscCall(MackoCloseVectors(x, y, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z = op(A) x + y, or z = op(A) x where y is NULL. Encoding may fail, and comes before z is written. */
static PetscErrorCode Multiply(Mat A, macko_op op, Vec x, Vec y, Vec z)
{
  PetscBool waits;

  PetscFunctionBegin;
  PetscCall(MackoWaits(A, 1, &waits));
  if (waits) {
    PetscCall(MackoBaseProduct(A, op, x, y, z));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MackoUpdateSeq(A));
  if (y) PetscCall(VecCopy(y, z));
  PetscCall(MultiplyCompressed(A, op, x, y ? 1 : 0, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z = A' x + y, or z = A' x where y is NULL */
static PetscErrorCode MultiplyTransposed(Mat A, Vec x, Vec y, Vec z)
{
  PetscBool done, base;

  PetscFunctionBegin;
  PetscCall(MackoCusparseMultTranspose(A, x, y, z, &done));
  if (!done) PetscCall(MackoMultTransposed(A, x, y, z, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoMayUseBase(A, &base));
  if (base) PetscCall(MackoBaseProduct(A, MACKO_OP_T, x, y, z));
  else PetscCall(Multiply(A, MACKO_OP_T, x, y, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMult_SeqAIJMacko(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(Multiply(A, MACKO_OP_N, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultAdd_SeqAIJMacko(Mat A, Vec x, Vec y, Vec z)
{
  PetscFunctionBegin;
  PetscCall(Multiply(A, MACKO_OP_N, x, y, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTranspose_SeqAIJMacko(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MultiplyTransposed(A, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTransposeAdd_SeqAIJMacko(Mat A, Vec x, Vec y, Vec z)
{
  PetscFunctionBegin;
  PetscCall(MultiplyTransposed(A, x, y, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the rest that differs from AIJ ---- */

/* A vector on the GPU gets the diagonal from the form that is there, or that the product to come will make; AIJ's own would look
   through the rows on the CPU, or refuse a vector of another size. */
static PetscErrorCode MatGetDiagonal_SeqAIJMacko(Mat A, Vec v)
{
  PetscScalar *a;
  PetscMemType where = PETSC_MEMTYPE_HOST;
  PetscBool    done  = PETSC_FALSE, waits = PETSC_FALSE;
  PetscInt     n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &n));
  if (!A->factortype) PetscCall(MackoWouldWait(A, &waits));
  if (MackoDeviceAllowed(A, NULL) && A->rmap->n == A->cmap->n && n == A->rmap->n && !A->factortype && !waits) {
    PetscCall(MackoUpdateSeq(A));
    PetscCall(VecGetArrayWriteAndMemType(v, &a, &where));
    if (PetscMemTypeDevice(where)) PetscCall(MackoDeviceDiagonal(A, a, &done));
    PetscCall(VecRestoreArrayWriteAndMemType(v, &a));
  }
  if (!done) PetscCall(MackoCusparseGetDiagonal(A, v, &done));
  if (!done) PetscCall((*MackoSeqHost.does->ops.getdiagonal)(A, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ zeroes rows before it finds that it may not make their diagonal entries, and then fails without saying that values changed:
   neither in the state nor in where the present ones are, so that AIJCUSPARSE itself would go on with those on the GPU. Arrays that
   were asked for and returned first say both. */
static PetscErrorCode ValuesMayChange(Mat A)
{
  PetscScalar *values;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJGetArray(A, &values));
  PetscCall(MatSeqAIJRestoreArray(A, &values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatZeroRows_SeqAIJMacko(Mat A, PetscInt n, const PetscInt rows[], PetscScalar diagonal, Vec x, Vec b)
{
  PetscFunctionBegin;
  PetscCall(ValuesMayChange(A));
  PetscCall((*MackoOf(A)->kind->does->ops.zerorows)(A, n, rows, diagonal, x, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatZeroRowsColumns_SeqAIJMacko(Mat A, PetscInt n, const PetscInt rows[], PetscScalar diagonal, Vec x, Vec b)
{
  PetscFunctionBegin;
  PetscCall(ValuesMayChange(A));
  PetscCall((*MackoOf(A)->kind->does->ops.zerorowscolumns)(A, n, rows, diagonal, x, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoPlainVectors(Mat A)
{
  PetscBool cuda;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(A->defaultvectype, VECCUDA, &cuda));
  if (cuda) PetscCall(MatSetVecType(A, VECSTANDARD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoChooseVectors(Mat A)
{
  PetscBool standard;

  PetscFunctionBegin;
  if (MackoDeviceVectors() && MackoDeviceAllowed(A, NULL)) {
    PetscCall(PetscStrcmp(A->defaultvectype, VECSTANDARD, &standard));
    if (standard) PetscCall(MatSetVecType(A, VECCUDA));
  } else PetscCall(MackoPlainVectors(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetOperations(Mat);

/* A matrix that is its own factor has no struct of ours, and is on the CPU. */
static PetscErrorCode MatBindToCPU_SeqAIJMacko(Mat A, PetscBool bind)
{
  PetscFunctionBegin;
  if (!MackoOf(A)) PetscFunctionReturn(PETSC_SUCCESS);
  const MackoKind *kind = MackoOf(A)->kind;
  if (kind->does->ops.bindtocpu) PetscCall((*kind->does->ops.bindtocpu)(A, bind));
  if (bind) PetscCall(MackoChangedOnHost(A)); /* as far as anyone will know when it is on the GPU again */
  PetscCall(SetOperations(A));
  PetscCall(MackoChooseVectors(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A header merge keeps the struct, and calls without it. AIJCUSPARSE goes by factortype, which may have come after it. */
static PetscErrorCode Destroy(Mat A, const MackoKind *kind)
{
  const Mat_Macko *m = MackoOf(A);

  PetscFunctionBegin;
  if (kind->device && m && !m->born_as_factor) A->factortype = MAT_FACTOR_NONE;
  PetscCall(MackoFree(A));
  PetscCall(MackoComposeSeq(A, PETSC_FALSE));
  PetscCall((*kind->does->ops.destroy)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_SeqAIJMacko(Mat A)
{
  return Destroy(A, &MackoSeqHost);
}

static PetscErrorCode MatDestroy_SeqAIJMacko_Device(Mat A)
{
  return Destroy(A, &MackoSeqDevice);
}

/* A does not change its base here: what that does otherwise when bound to the CPU is as it should be. */
static PetscErrorCode SetOperations(Mat A)
{
  PetscFunctionBegin;
  A->ops->mult             = MatMult_SeqAIJMacko;
  A->ops->multadd          = MatMultAdd_SeqAIJMacko;
  A->ops->multtranspose    = MatMultTranspose_SeqAIJMacko;
  A->ops->multtransposeadd = MatMultTransposeAdd_SeqAIJMacko;
  A->ops->destroy          = MackoOf(A)->kind->device ? MatDestroy_SeqAIJMacko_Device : MatDestroy_SeqAIJMacko;
  A->ops->bindtocpu        = MatBindToCPU_SeqAIJMacko;
  A->ops->getdiagonal      = MatGetDiagonal_SeqAIJMacko;
  A->ops->zerorows         = MatZeroRows_SeqAIJMacko;
  A->ops->zerorowscolumns  = MatZeroRowsColumns_SeqAIJMacko;
  PetscCall(MackoCusparseSetOperations(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- to and from the types that ours stands on ---- */

PetscErrorCode MackoTakeSeq(Mat A, PetscBool device)
{
  const Mat_Macko *m = MackoOf(A);
  const MackoKind *kind;
  PetscBool        born_as_factor;

  PetscFunctionBegin;
  if (m && m->kind && m->kind->device == device) PetscFunctionReturn(PETSC_SUCCESS);
  if (m && m->kind) PetscCall(MackoReleaseSeq(A, device));
  PetscCall(MackoEndHashing(A));
  PetscCall(MackoFindBase(&MackoSeqHost, A));
  PetscCall(MackoCusparseBase(A, &device));
  born_as_factor = (PetscBool)(A->factortype != MAT_FACTOR_NONE);
  kind = device ? &MackoSeqDevice : &MackoSeqHost;
  PetscCall(MackoFindBase(kind, A));
  PetscCall(MackoTakeOver(A, kind));
  MackoOf(A)->born_as_factor = born_as_factor;
  PetscCall(SetOperations(A));
  PetscCall(MackoComposeSeq(A, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoReleaseSeq(Mat A, PetscBool device)
{
  PetscBool bound = MackoBoundToCPU(A);

  PetscFunctionBegin;
  PetscCall(MackoComposeSeq(A, PETSC_FALSE));
  PetscCall(MackoRestoreBase(A));
  if (bound && A->ops->bindtocpu) PetscCall((*A->ops->bindtocpu)(A, PETSC_TRUE));
  PetscCall(MackoCusparseBase(A, &device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatConvert_SeqAIJMacko_SeqAIJ(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  Mat B = *newmat;

  PetscFunctionBegin;
  (void)type;
  PetscCall(MackoBeginConversion(A, reuse, &B));
  if (reuse != MAT_REUSE_MATRIX) PetscCall(MackoReleaseSeq(B, PETSC_FALSE));
  *newmat = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatConvert_SeqAIJMacko_SeqAIJCUSPARSE(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  Mat B = *newmat;

  PetscFunctionBegin;
  (void)type;
  PetscCall(MackoBeginConversion(A, reuse, &B));
  if (reuse != MAT_REUSE_MATRIX) PetscCall(MackoReleaseSeq(B, PETSC_TRUE));
  *newmat = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatConvert_SeqAIJ_SeqAIJMacko(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  Mat       B = *newmat;
  PetscBool device;

  PetscFunctionBegin;
  (void)type;
  PetscCall(MackoBeginConversion(A, reuse, &B));
  if (reuse != MAT_REUSE_MATRIX && !(MackoOf(B) && MackoOf(B)->kind)) {
    PetscCall(MackoWantsDeviceBase(B, &device));
    PetscCall(MackoTakeSeq(B, device));
  }
  *newmat = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With -mat_seqaij_type seqaijmacko every new AIJ comes here before anyone else sees it, copies too. It stands on AIJ: who asked
   for an AIJ may read its arrays without a look at where the values are, as a parallel AIJ does in its blocks. A block of a
   parallel matrix of ours is given what that stands on. */
PetscErrorCode MackoConvertNew(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  PetscFunctionBegin;
  (void)type, (void)reuse; /* in place, always */
  if (!MackoStaysPlain() && !(MackoOf(A) && MackoOf(A)->kind)) PetscCall(MackoTakeSeq(A, PETSC_FALSE));
  *newmat = A;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With that option A is ours already and stands on AIJ: a matrix may be asked for by the name of another one's type, which its
   maker takes for an AIJ. */
PetscErrorCode MatCreate_SeqAIJMacko(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatSetType(A, MATSEQAIJ));
  PetscCall(MatConvert_SeqAIJ_SeqAIJMacko(A, MATSEQAIJMACKO, MAT_INPLACE_MATRIX, &A));
  /* It is set here alone: an AIJ that -mat_seqaij_type makes ours is converted to as any AIJ. */
  A->ops->convertfrom = MatConvert_Any_AIJMacko;
  PetscFunctionReturn(PETSC_SUCCESS);
}
