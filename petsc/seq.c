/* SEQAIJMACKO: AIJ's own arrays are the truth; the compressed form is made from them by the first product that finds it stale. */
#include "matmacko.h"

/* ---- the struct ---- */

PetscErrorCode MackoGet(Mat A, Mat_Macko **m)
{
  PetscFunctionBegin;
  if (!A->spptr) {
    PetscCall(PetscNew(m));
    macko_options_init(&(*m)->options);
    A->spptr = *m;
  }
  *m = (Mat_Macko *)A->spptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoFree(Mat A)
{
  Mat_Macko *m = (Mat_Macko *)A->spptr;

  PetscFunctionBegin;
  if (m) {
    PetscCall(MackoHaloFree(m));
    MackoDeviceFree(m);
    macko_destroy(&m->compressed);
  }
  PetscCall(PetscFree(A->spptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoRaise(MPI_Comm comm, macko_status status, const char *text)
{
  PetscFunctionBegin;
  switch (status) {
  case MACKO_OK:
    break;
  case MACKO_OUT_OF_MEMORY:
    SETERRQ(comm, PETSC_ERR_MEM, "%s", text);
  case MACKO_UNSUPPORTED:
  case MACKO_LIMIT:
    SETERRQ(comm, PETSC_ERR_SUP, "%s", text);
  case MACKO_DEVICE:
    SETERRQ(comm, PETSC_ERR_GPU, "%s", text);
  default:
    SETERRQ(comm, PETSC_ERR_LIB, "%s", text);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- products ---- */

static PetscErrorCode HostProduct(Mat A, macko_op op, PetscInt k, MackoArray x, PetscScalar beta, MackoArray y)
{
  Mat_Macko   *m = (Mat_Macko *)A->spptr;
  macko_error  err;
  macko_status status;

  PetscFunctionBegin;
  PetscCall(MackoDeviceFetch(m, &status, &err));
  if (!status) status = macko_multiply(m->compressed, op, MACKO_F64, k, 1, x.data, x.ld, beta, y.data, y.ld, &err);
  PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operations are counted as AIJ counts them: its forward product starts each sum with a product. */
PetscErrorCode MackoProduct(Mat A, macko_op op, PetscInt k, MackoArray x, PetscScalar beta, MackoArray y)
{
  Mat_Macko     *m      = (Mat_Macko *)A->spptr;
  PetscBool      device = (PetscBool)(PetscMemTypeDevice(x.where) || PetscMemTypeDevice(y.where) ||
                                 (m->backend == MACKO_BACKEND_CUDA && MackoDeviceAllowed(A, NULL)));
  macko_info     info;
  PetscLogDouble flops;

  PetscFunctionBegin;
  (void)MackoInfo(m, &info);
  flops = (PetscLogDouble)k * (2.0 * (PetscLogDouble)info.nnz -
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

/* y = op(A) x + beta y */
static PetscErrorCode Multiply(Mat A, macko_op op, Vec x, PetscScalar beta, Vec y)
{
  const PetscScalar *xa;
  MackoArray         from = {NULL, PETSC_MEMTYPE_HOST, 0}, to = from;
  PetscBool          device = MackoDeviceAllowed(A, NULL);

  PetscFunctionBegin;
  PetscCall(MackoUpdateSeq(A));
  if (device) PetscCall(VecGetArrayReadAndMemType(x, &xa, &from.where));
  else PetscCall(VecGetArrayRead(x, &xa));
  from.data = (PetscScalar *)xa;
  if (device && beta == 0) PetscCall(VecGetArrayWriteAndMemType(y, &to.data, &to.where));
  else if (device) PetscCall(VecGetArrayAndMemType(y, &to.data, &to.where));
  else if (beta == 0) PetscCall(VecGetArrayWrite(y, &to.data));
  else PetscCall(VecGetArray(y, &to.data));
  PetscCall(MackoProduct(A, op, 1, from, beta, to));
  if (device && beta == 0) PetscCall(VecRestoreArrayWriteAndMemType(y, &to.data));
  else if (device) PetscCall(VecRestoreArrayAndMemType(y, &to.data));
  else if (beta == 0) PetscCall(VecRestoreArrayWrite(y, &to.data));
  else PetscCall(VecRestoreArray(y, &to.data));
  if (device) PetscCall(VecRestoreArrayReadAndMemType(x, &xa));
  else PetscCall(VecRestoreArrayRead(x, &xa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMult_SeqAIJMacko(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(Multiply(A, MACKO_OP_N, x, 0, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultAdd_SeqAIJMacko(Mat A, Vec x, Vec y, Vec z)
{
  PetscFunctionBegin;
  if (y != z) PetscCall(VecCopy(y, z));
  PetscCall(Multiply(A, MACKO_OP_N, x, 1, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTranspose_SeqAIJMacko(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(Multiply(A, MACKO_OP_T, x, 0, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTransposeAdd_SeqAIJMacko(Mat A, Vec x, Vec y, Vec z)
{
  PetscFunctionBegin;
  if (y != z) PetscCall(VecCopy(y, z));
  PetscCall(Multiply(A, MACKO_OP_T, x, 1, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the rest that differs from AIJ ---- */

/* A vector on the GPU gets the diagonal from the form that is there; AIJ's own would look through the rows on the CPU. */
static PetscErrorCode MatGetDiagonal_SeqAIJMacko(Mat A, Vec v)
{
  PetscScalar *a;
  PetscMemType where = PETSC_MEMTYPE_HOST;
  PetscBool    done  = PETSC_FALSE;

  PetscFunctionBegin;
  if (MackoDeviceAllowed(A, NULL) && A->rmap->n == A->cmap->n && !A->factortype) {
    PetscCall(MackoUpdateSeq(A));
    PetscCall(VecGetArrayWriteAndMemType(v, &a, &where));
    if (PetscMemTypeDevice(where)) PetscCall(MackoDeviceDiagonal(A, a, &done));
    PetscCall(VecRestoreArrayWriteAndMemType(v, &a));
  }
  if (!done) PetscCall((*MackoSeqBase.getdiagonal)(A, v));
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

static PetscErrorCode MatBindToCPU_SeqAIJMacko(Mat A, PetscBool bind)
{
  PetscFunctionBegin;
  (void)bind; /* in A already */
  PetscCall(MackoChooseVectors(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ComposeNothing(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MackoComposeSeq(A, PETSC_FALSE));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_seqaij_seqaijmacko_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_mpiaij_mpiaijmacko_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_seqaijmacko_seqaij_C", NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_SeqAIJMacko(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MackoFree(A));
  PetscCall(ComposeNothing(A));
  PetscCall((*MackoSeqBase.destroy)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- to and from AIJ ---- */

static PetscErrorCode MatConvert_SeqAIJMacko_SeqAIJ(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  Mat B = *newmat;

  PetscFunctionBegin;
  (void)type;
  PetscCall(MackoBeginConversion(A, reuse, &B));
  if (reuse == MAT_REUSE_MATRIX) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoRestoreBase(B, &MackoSeqBase));
  B->ops->getdiagonal = MackoSeqBase.getdiagonal;
  PetscCall(ComposeNothing(B));
  PetscCall(PetscObjectComposeFunction((PetscObject)B, "MatSeqAIJKron_C", MackoSeqBase.kron));
  PetscCall(PetscObjectChangeTypeName((PetscObject)B, MATSEQAIJ));
  *newmat = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ's functions, from the first matrix that is an AIJ and nothing else; with -mat_seqaij_type seqaijmacko every new AIJ comes
   here before anyone else sees it, so that B itself must do. */
static PetscErrorCode FindBase(Mat B)
{
  Mat       plain;
  PetscBool isaij;

  PetscFunctionBegin;
  if (MackoSeqBase.mult) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrcmp(((PetscObject)B)->type_name, MATSEQAIJ, &isaij));
  if (isaij && !MackoHashActive(B)) {
    PetscCall(MackoSaveBase(B, &MackoSeqBase));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatCreate(PETSC_COMM_SELF, &plain));
  PetscCall(MatSetType(plain, MATSEQAIJ));
  if (!MackoSeqBase.mult) PetscCall(MackoSaveBase(plain, &MackoSeqBase));
  PetscCall(MatDestroy(&plain));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatConvert_SeqAIJ_SeqAIJMacko(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  Mat B = *newmat;

  PetscFunctionBegin;
  (void)type;
  PetscCall(FindBase(A));
  PetscCall(MackoBeginConversion(A, reuse, &B));
  if (reuse == MAT_REUSE_MATRIX) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoEndHashing(B));
  B->ops->mult             = MatMult_SeqAIJMacko;
  B->ops->multadd          = MatMultAdd_SeqAIJMacko;
  B->ops->multtranspose    = MatMultTranspose_SeqAIJMacko;
  B->ops->multtransposeadd = MatMultTransposeAdd_SeqAIJMacko;
  B->ops->destroy          = MatDestroy_SeqAIJMacko;
  B->ops->bindtocpu        = MatBindToCPU_SeqAIJMacko;
  B->ops->getdiagonal      = MatGetDiagonal_SeqAIJMacko;
  PetscCall(MackoTakeOver(B));
  PetscCall(MackoComposeSeq(B, PETSC_TRUE));
  PetscCall(PetscObjectComposeFunction((PetscObject)B, "MatConvert_seqaij_seqaijmacko_C", MatConvert_SeqAIJ_SeqAIJMacko));
  /* For a parallel matrix on one rank, MatConvert asks a matrix that is what aijmacko names there: a sequential one. */
  PetscCall(PetscObjectComposeFunction((PetscObject)B, "MatConvert_mpiaij_mpiaijmacko_C", MatConvert_MPIAIJ_MPIAIJMacko));
  PetscCall(PetscObjectComposeFunction((PetscObject)B, "MatConvert_seqaijmacko_seqaij_C", MatConvert_SeqAIJMacko_SeqAIJ));
  PetscCall(PetscObjectChangeTypeName((PetscObject)B, MATSEQAIJMACKO));
  *newmat = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_SeqAIJMacko(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatSetType(A, MATSEQAIJ));
  PetscCall(MatConvert_SeqAIJ_SeqAIJMacko(A, MATSEQAIJMACKO, MAT_INPLACE_MATRIX, &A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
