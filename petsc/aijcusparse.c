/* Standing on AIJCUSPARSE: sequential matrices. */
#include "aijcusparse.h"

#if MACKO_ON_CUSPARSE
#include <petscdevice_cuda.h>

/* ---- the name ---- */

PetscErrorCode MackoAnswer(Mat A, MackoAlias *alias)
{
  const Mat_Macko *m = A ? MackoOf(A) : NULL;
  PetscBool        has;

  PetscFunctionBegin;
  alias->object = NULL;
  if (!m || !m->kind || !m->kind->device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrcmp(((PetscObject)A)->type_name, m->kind->base, &has));
  if (has) PetscFunctionReturn(PETSC_SUCCESS);
  alias->object = (PetscObject)A;
  alias->ours   = alias->object->type_name;
  PetscCall(PetscStrallocpy(m->kind->base, &alias->base));
  alias->object->type_name = alias->base;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix that was given another name meanwhile keeps it; the one it answered to went then. */
PetscErrorCode MackoAnswered(MackoAlias *alias)
{
  PetscFunctionBegin;
  if (!alias->object) PetscFunctionReturn(PETSC_SUCCESS);
  if (alias->object->type_name == alias->base) {
    alias->object->type_name = alias->ours;
    PetscCall(PetscFree(alias->base));
  } else PetscCall(PetscFree(alias->ours));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- from AIJ and back ---- */

static PetscErrorCode IsNamed(Mat A, const char *name, PetscBool *is)
{
  PetscFunctionBegin;
  PetscCall(PetscStrcmp(((PetscObject)A)->type_name, name, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Not MatConvert, which refuses what is not assembled. */
static PetscErrorCode Convert(Mat A, const char *converter, MatType type)
{
  PetscErrorCode (*convert)(Mat, MatType, MatReuse, Mat *);

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, converter, &convert));
  PetscCheck(convert, PetscObjectComm((PetscObject)A), PETSC_ERR_PLIB, "this PETSc has no %s", converter);
  PetscCall((*convert)(A, type, MAT_INPLACE_MATRIX, &A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ToCusparse(Mat A)
{
  PetscFunctionBegin;
  PetscCall(Convert(A, "MatConvert_seqaij_seqaijcusparse_C", MATSEQAIJCUSPARSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Frees what AIJCUSPARSE keeps of A: only that type knows how, so it goes with an empty matrix that inherits it, and that leaves
   its own in exchange where A remains of that type. */
static PetscErrorCode FreeCusparse(Mat A, PetscBool remains)
{
  Mat          heir;
  PetscOptions none; /* no -mat_seqaij_type */
  void        *kept = A->spptr;

  PetscFunctionBegin;
  PetscCall(PetscOptionsCreate(&none));
  PetscCall(MatCreate(PETSC_COMM_SELF, &heir));
  PetscCall(PetscObjectSetOptions((PetscObject)heir, none));
  PetscCall(MatSetSizes(heir, 0, 0, 0, 0));
  PetscCall(MatSetType(heir, MATSEQAIJ));
  if (remains) {
    PetscCall(ToCusparse(heir));
    A->spptr    = heir->spptr;
    heir->spptr = kept;
  } else {
    A->spptr    = NULL;
    heir->spptr = kept;
    PetscCall(ToCusparse(heir));
  }
  PetscCall(MatDestroy(&heir));
  PetscCall(PetscOptionsDestroy(&none));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ToAIJ(Mat A)
{
  static const char *const composed[] = {"MatCUSPARSESetFormat_C", "MatCUSPARSESetUseCPUSolve_C"};

  PetscFunctionBegin;
  if (!A->boundtocpu) PetscCall((*A->ops->bindtocpu)(A, PETSC_TRUE)); /* which brings the values */
  PetscCall(FreeCusparse(A, PETSC_FALSE));
  PetscCall(MackoSetBase(A, MackoSeqHost.does));
  A->ops->getcurrentmemtype = MackoSeqHost.does->ops.getcurrentmemtype;
  for (size_t i = 0; i < sizeof composed / sizeof *composed; i++)
    PetscCall(PetscObjectComposeFunction((PetscObject)A, composed[i], NULL));
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATSEQAIJ));
  A->offloadmask = PETSC_OFFLOAD_CPU;
  MackoMarkBound(A, PETSC_TRUE);
  PetscCall(MackoPlainVectors(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoCusparseBase(Mat A, PetscBool *device)
{
  PetscBool cusparse, aij;

  PetscFunctionBegin;
  PetscCall(IsNamed(A, MATSEQAIJCUSPARSE, &cusparse));
  PetscCall(IsNamed(A, MATSEQAIJ, &aij));
  if (*device && aij) PetscCall(ToCusparse(A));
  else if (!*device && cusparse) PetscCall(ToAIJ(A));
  PetscCall(IsNamed(A, MATSEQAIJCUSPARSE, device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- its own operations, under its name ---- */

static const struct _MatOps *Base(void)
{
  return &MackoSeqDevice.does->ops;
}

static PetscErrorCode MatScale_SeqAIJMacko(Mat A, PetscScalar a)
{
  PetscFunctionBegin;
  MACKO_AS_BASE(A, (*Base()->scale)(A, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDiagonalScale_SeqAIJMacko(Mat A, Vec left, Vec right)
{
  PetscBool left_on = PETSC_TRUE, right_on = PETSC_TRUE;

  PetscFunctionBegin;
  if (left) PetscCall(MackoOnDevice(left, &left_on));
  if (right) PetscCall(MackoOnDevice(right, &right_on));
  if (left_on && right_on) MACKO_AS_BASE(A, (*Base()->diagonalscale)(A, left, right));
  else PetscCall((*MackoSeqHost.does->ops.diagonalscale)(A, left, right));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatAXPY_SeqAIJMacko(Mat Y, PetscScalar a, Mat X, MatStructure structure)
{
  MackoAlias     x, y;
  PetscErrorCode error;

  PetscFunctionBegin;
  PetscCall(MackoAnswer(X, &x));
  PetscCall(MackoAnswer(Y, &y));
  error = (*Base()->axpy)(Y, a, X, structure);
  PetscCall(MackoAnswered(&y));
  PetscCall(MackoAnswered(&x));
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* That type's own takes an array on the GPU that is there for the right one, also of an older pattern. */
static PetscErrorCode MatZeroEntries_SeqAIJMacko(Mat A)
{
  PetscFunctionBegin;
  if (A->offloadmask == PETSC_OFFLOAD_GPU || A->offloadmask == PETSC_OFFLOAD_BOTH) MACKO_AS_BASE(A, (*Base()->zeroentries)(A));
  else PetscCall((*MackoSeqHost.does->ops.zeroentries)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetOption_SeqAIJMacko(Mat A, MatOption option, PetscBool flag)
{
  PetscFunctionBegin;
  MACKO_AS_BASE(A, (*Base()->setoption)(A, option, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDuplicate_SeqAIJMacko(Mat A, MatDuplicateOption option, Mat *B)
{
  PetscFunctionBegin;
  MACKO_AS_BASE(A, (*Base()->duplicate)(A, option, B));
  PetscCall(MackoTakeResult(*B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ's own writes into the arrays on the host of a transpose that it made before, and of a matrix that is read from a file. */
static PetscErrorCode MatTranspose_SeqAIJMacko(Mat A, MatReuse reuse, Mat *B)
{
  MackoAlias     a, b;
  PetscErrorCode error;

  PetscFunctionBegin;
  PetscCall(MackoCusparseRetrieve(reuse == MAT_REUSE_MATRIX ? *B : NULL));
  PetscCall(MackoAnswer(A, &a));
  PetscCall(MackoAnswer(reuse == MAT_REUSE_MATRIX ? *B : NULL, &b));
  error = (*Base()->transpose)(A, reuse, B);
  PetscCall(MackoAnswered(&b));
  PetscCall(MackoAnswered(&a));
  PetscCall(error);
  PetscCall(MackoTakeResult(*B));
  if (reuse == MAT_REUSE_MATRIX && MackoOf(*B)) PetscCall(MackoChangedOnHost(*B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatLoad_SeqAIJMacko(Mat A, PetscViewer viewer)
{
  PetscFunctionBegin;
  MACKO_AS_BASE(A, (*Base()->load)(A, viewer));
  PetscCall(MackoChangedOnHost(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetPreallocationCOO_SeqAIJMacko(Mat A, PetscCount n, PetscInt i[], PetscInt j[])
{
  PetscFunctionBegin;
  MACKO_AS_BASE(A, (*MackoSeqDevice.does->preallocatecoo)(A, n, i, j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetValuesCOO_SeqAIJMacko(Mat A, const PetscScalar values[], InsertMode mode)
{
  PetscFunctionBegin;
  PetscCall(MackoCusparseRetrieve(A));
  MACKO_AS_BASE(A, (*MackoSeqDevice.does->setvaluescoo)(A, values, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSeqAIJCopySubArray_SeqAIJMacko(Mat A, PetscInt n, const PetscInt indices[], PetscScalar values[])
{
  PetscFunctionBegin;
  MACKO_AS_BASE(A, (*MackoSeqDevice.does->copysubarray)(A, n, indices, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where A is bound to the CPU that type has put AIJ's functions in place, but none for lists of entries. */
PetscErrorCode MackoCusparseSetOperations(Mat A)
{
  PetscObject a     = (PetscObject)A;
  PetscBool   bound = MackoBoundToCPU(A);

  PetscFunctionBegin;
  if (!MackoOf(A)->kind->device) PetscFunctionReturn(PETSC_SUCCESS);
  A->ops->setoption = MatSetOption_SeqAIJMacko;
  A->ops->duplicate = MatDuplicate_SeqAIJMacko;
  A->ops->transpose = MatTranspose_SeqAIJMacko;
  A->ops->load      = MatLoad_SeqAIJMacko;
  PetscCall(PetscObjectComposeFunction(a, "MatSetPreallocationCOO_C",
                                       bound ? MackoSeqHost.does->preallocatecoo : MatSetPreallocationCOO_SeqAIJMacko));
  PetscCall(PetscObjectComposeFunction(a, "MatSetValuesCOO_C",
                                       bound ? MackoSeqHost.does->setvaluescoo : MatSetValuesCOO_SeqAIJMacko));
  if (bound) PetscFunctionReturn(PETSC_SUCCESS);
  A->ops->scale                     = MatScale_SeqAIJMacko;
  A->ops->diagonalscale             = MatDiagonalScale_SeqAIJMacko;
  A->ops->axpy                      = MatAXPY_SeqAIJMacko;
  A->ops->zeroentries               = MatZeroEntries_SeqAIJMacko;
  A->ops->productsetfromoptions     = MackoCusparseProductOf;
  A->ops->multhermitiantranspose    = A->ops->multtranspose; /* of real matrices */
  A->ops->multhermitiantransposeadd = A->ops->multtransposeadd;
  PetscCall(PetscObjectComposeFunction(a, "MatSeqAIJCopySubArray_C", MatSeqAIJCopySubArray_SeqAIJMacko));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- vectors and arrays on the GPU ---- */

static PetscBool MayUseDevice(Mat A)
{
  const Mat_Macko *m = MackoOf(A);
  return (PetscBool)(m && m->kind->device && MackoDeviceAllowed(A, NULL));
}

PetscErrorCode MackoCusparseProductWith(Mat A, macko_op op, Vec x, Vec y, Vec z, PetscBool *done)
{
  PetscBool x_on, z_on;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (!MayUseDevice(A)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoOnDevice(x, &x_on));
  PetscCall(MackoOnDevice(z, &z_on));
  if (!x_on || !z_on) PetscFunctionReturn(PETSC_SUCCESS);
  if (y) MACKO_AS_BASE(A, (*(op == MACKO_OP_N ? Base()->multadd : Base()->multtransposeadd))(A, x, z, z));
  else MACKO_AS_BASE(A, (*(op == MACKO_OP_N ? Base()->mult : Base()->multtranspose))(A, x, z));
  *done = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoCusparseMultTranspose(Mat A, Vec x, Vec y, Vec z, PetscBool *done)
{
  PetscBool known = PETSC_FALSE, symmetric = PETSC_FALSE, y_on = PETSC_TRUE;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (!MayUseDevice(A)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatIsSymmetricKnown(A, &known, &symmetric));
  if (known && symmetric) PetscFunctionReturn(PETSC_SUCCESS);
  if (y) PetscCall(MackoOnDevice(y, &y_on));
  if (!y_on) PetscFunctionReturn(PETSC_SUCCESS);
  if (y && y != z) PetscCall(VecCopy(y, z)); /* that type's own adds what was in z before */
  PetscCall(MackoCusparseProductWith(A, MACKO_OP_T, x, y ? z : NULL, z, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* That type's own goes wrong where it leaves out empty rows. */
PetscErrorCode MackoCusparseGetDiagonal(Mat A, Vec v, PetscBool *done)
{
  PetscInt nonempty;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (!MayUseDevice(A) || A->factortype) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoCountNonemptyRows(A, &nonempty));
  if (nonempty < A->rmap->n) PetscFunctionReturn(PETSC_SUCCESS);
  if (A->offloadmask != PETSC_OFFLOAD_GPU && A->offloadmask != PETSC_OFFLOAD_BOTH) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoOnDevice(v, done));
  if (*done) MACKO_AS_BASE(A, (*Base()->getdiagonal)(A, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoValuesToHost(Mat A)
{
  const Mat_Macko   *m = MackoOf(A);
  const PetscScalar *values;
  Mat                blocks[2] = {A, NULL};

  PetscFunctionBegin;
  if (!m->kind->device) PetscFunctionReturn(PETSC_SUCCESS);
  if (m->kind == &MackoMPIDevice) PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (int i = 0; i < 2 && blocks[i]; i++) {
    PetscCall(MatSeqAIJGetArrayRead(blocks[i], &values));
    PetscCall(MatSeqAIJRestoreArrayRead(blocks[i], &values));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoChangedOnHost(Mat A)
{
  PetscFunctionBegin;
  if (MackoOf(A)->kind == &MackoSeqDevice) A->offloadmask = PETSC_OFFLOAD_CPU;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetArrays(Mat A, const PetscInt **starts, const PetscInt **cols, const PetscScalar **values)
{
  PetscFunctionBegin;
  MACKO_AS_BASE(A, MatSeqAIJCUSPARSEGetIJ(A, PETSC_FALSE, starts, cols));
  MACKO_AS_BASE(A, MatSeqAIJCUSPARSEGetArrayRead(A, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoCusparseArrays(Mat A, const PetscInt **starts, const PetscInt **cols, const PetscScalar **values,
                                   PetscBool *there)
{
  PetscFunctionBegin;
  *there = (PetscBool)(MayUseDevice(A) && (A->offloadmask == PETSC_OFFLOAD_GPU || A->offloadmask == PETSC_OFFLOAD_BOTH));
  if (*there) PetscCall(GetArrays(A, starts, cols, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where values arrive on the GPU the host's are older, and stay so unless all is to go. */
PetscErrorCode MackoCusparseRelease(Mat A)
{
  const Mat_Macko *m = MackoOf(A);
  PetscBool        both;

  PetscFunctionBegin;
  if (m->kind != &MackoSeqDevice || A->boundtocpu || A->factortype || !MackoDeviceCurrent(m)) PetscFunctionReturn(PETSC_SUCCESS);
  both = (PetscBool)(A->offloadmask == PETSC_OFFLOAD_BOTH);
  if (m->keep_csr == MACKO_KEEP_YES || (m->keep_csr == MACKO_KEEP_AUTO && (!both || m->csr_used))) PetscFunctionReturn(PETSC_SUCCESS);
  if (!both && A->offloadmask != PETSC_OFFLOAD_GPU) PetscFunctionReturn(PETSC_SUCCESS);
  if (m->csr_bound || !A->nonzerostate) PetscFunctionReturn(PETSC_SUCCESS); /* 0 is the state of arrays that were never there */
  PetscCall(MackoValuesToHost(A));
  PetscCall(FreeCusparse(A, PETSC_TRUE));
  A->offloadmask       = PETSC_OFFLOAD_CPU;
  MackoOf(A)->csr_gone = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoCusparseRetrieve(Mat A)
{
  Mat_Macko         *m = A ? MackoOf(A) : NULL;
  const PetscInt    *starts, *cols;
  const PetscScalar *values;
  Mat                blocks[2] = {NULL, NULL};

  PetscFunctionBegin;
  if (!m || !m->kind || !m->kind->device) PetscFunctionReturn(PETSC_SUCCESS);
  m->csr_used = PETSC_TRUE;
  if (m->kind == &MackoMPIDevice) {
    PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
    for (int i = 0; i < 2; i++) PetscCall(MackoCusparseRetrieve(blocks[i]));
  } else if (m->csr_gone && !A->boundtocpu) PetscCall(GetArrays(A, &starts, &cols, &values));
  m->csr_gone = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoCusparseAddBytes(Mat A, PetscInt64 *bytes)
{
  const Mat_Macko *m = MackoOf(A);
  MatInfo          info;

  PetscFunctionBegin;
  if (!m || !m->kind || !m->kind->device) PetscFunctionReturn(PETSC_SUCCESS);
  if (A->offloadmask != PETSC_OFFLOAD_GPU && A->offloadmask != PETSC_OFFLOAD_BOTH) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  *bytes += (PetscInt64)info.nz_used * (PetscInt64)(sizeof(PetscScalar) + sizeof(PetscInt)) +
            ((PetscInt64)A->rmap->n + 1) * (PetscInt64)sizeof(PetscInt);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoCusparseCopyValues(Mat from, Mat to, PetscBool *done)
{
  const PetscInt    *starts, *cols;
  const PetscScalar *source;
  PetscScalar       *target;
  MatInfo            info;
  cudaStream_t       stream;
  cudaError_t        error;

  PetscFunctionBegin;
  PetscCall(MackoCusparseArrays(from, &starts, &cols, &source, done));
  *done = (PetscBool)(*done && MayUseDevice(to));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetInfo(to, MAT_LOCAL, &info));
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  MACKO_AS_BASE(to, MatSeqAIJCUSPARSEGetArray(to, &target)); /* with room for them, if there was none */
  error = cudaMemcpyAsync(target, source, (size_t)info.nz_used * sizeof *source, cudaMemcpyDeviceToDevice, stream);
  MACKO_AS_BASE(to, MatSeqAIJCUSPARSERestoreArray(to, &target));
  PetscCheck(error == cudaSuccess, PETSC_COMM_SELF, PETSC_ERR_GPU, "copying values: %s", cudaGetErrorString(error));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#endif
