/* Standing on AIJCUSPARSE: parallel matrices. */
#include "aijcusparse.h"

#if MACKO_ON_CUSPARSE

/* ---- from AIJ and back ---- */

static PetscErrorCode Blocks(Mat A, Mat blocks[2])
{
  PetscFunctionBegin;
  PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ConvertBlocks(Mat A, PetscBool device)
{
  Mat       blocks[2];
  PetscBool now;

  PetscFunctionBegin;
  PetscCall(Blocks(A, blocks));
  for (int i = 0; i < 2; i++) {
    now = device;
    if (blocks[i] && MackoOf(blocks[i])) PetscCall(MackoReleaseSeq(blocks[i], device));
    else if (blocks[i]) PetscCall(MackoCusparseBase(blocks[i], &now));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks first: AIJCUSPARSE's own would empty those that are preallocated. */
static PetscErrorCode ToCusparse(Mat A)
{
  PetscErrorCode (*convert)(Mat, MatType, MatReuse, Mat *);

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatConvert_mpiaij_mpiaijcusparse_C", &convert));
  PetscCheck(convert, PetscObjectComm((PetscObject)A), PETSC_ERR_PLIB, "this PETSc does not convert to %s", MATMPIAIJCUSPARSE);
  PetscCall(ConvertBlocks(A, PETSC_TRUE));
  PetscCall((*convert)(A, MATMPIAIJCUSPARSE, MAT_INPLACE_MATRIX, &A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What AIJCUSPARSE allocated beside the blocks, two words, goes with the matrix. */
static PetscErrorCode ToAIJ(Mat A)
{
  PetscErrorCode (*destroy)(Mat) = A->ops->destroy;

  PetscFunctionBegin;
  if (!A->boundtocpu && A->ops->bindtocpu) PetscCall((*A->ops->bindtocpu)(A, PETSC_TRUE)); /* with the halo's vector */
  PetscCall(ConvertBlocks(A, PETSC_FALSE));
  PetscCall(MackoSetBase(A, MackoMPIHost.does));
  A->ops->destroy           = destroy;
  A->ops->getcurrentmemtype = MackoMPIHost.does->ops.getcurrentmemtype;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatCUSPARSESetFormat_C", NULL));
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATMPIAIJ));
  MackoMarkBound(A, PETSC_TRUE);
  PetscCall(MackoPlainVectors(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoCusparseBaseMPI(Mat A, PetscBool *device)
{
  PetscBool cusparse, aij;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(((PetscObject)A)->type_name, MATMPIAIJCUSPARSE, &cusparse));
  PetscCall(PetscStrcmp(((PetscObject)A)->type_name, MATMPIAIJ, &aij));
  if (*device && aij) PetscCall(ToCusparse(A));
  else if (!*device && cusparse) PetscCall(ToAIJ(A));
  PetscCall(PetscStrcmp(((PetscObject)A)->type_name, MATMPIAIJCUSPARSE, device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- its own operations, under its name ---- */

/* A, its blocks and another matrix, which may be NULL. */
typedef struct {
  MackoAlias of[4];
} Aliases;

static PetscErrorCode Answer(Mat A, Mat other, Aliases *aliases)
{
  Mat blocks[2];

  PetscFunctionBegin;
  PetscCall(Blocks(A, blocks));
  PetscCall(MackoAnswer(A, &aliases->of[0]));
  PetscCall(MackoAnswer(blocks[0], &aliases->of[1]));
  PetscCall(MackoAnswer(blocks[1], &aliases->of[2]));
  PetscCall(MackoAnswer(other, &aliases->of[3]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Answered(Aliases *aliases)
{
  PetscFunctionBegin;
  for (int i = 3; i >= 0; i--) PetscCall(MackoAnswered(&aliases->of[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* It makes new blocks, of the type whose name A has. */
static PetscErrorCode MatSetPreallocationCOO_MPIAIJMacko(Mat A, PetscCount n, PetscInt i[], PetscInt j[])
{
  PetscFunctionBegin;
  MACKO_AS_BASE(A, (*MackoMPIDevice.does->preallocatecoo)(A, n, i, j));
  PetscCall(MackoEnsureBlocks(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetValuesCOO_MPIAIJMacko(Mat A, const PetscScalar values[], InsertMode mode)
{
  Aliases        aliases;
  PetscErrorCode error;

  PetscFunctionBegin;
  PetscCall(MackoCusparseRetrieve(A));
  PetscCall(Answer(A, NULL, &aliases));
  error = (*MackoMPIDevice.does->setvaluescoo)(A, values, mode);
  PetscCall(Answered(&aliases));
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMPIAIJGetLocalMatMerge_MPIAIJMacko(Mat A, MatReuse reuse, IS *columns, Mat *local)
{
  Aliases        aliases;
  PetscErrorCode error;

  PetscFunctionBegin;
  PetscCall(MackoCusparseRetrieve(reuse == MAT_REUSE_MATRIX ? *local : NULL));
  PetscCall(Answer(A, reuse == MAT_REUSE_MATRIX ? *local : NULL, &aliases));
  error = (*MackoMPIDevice.does->getlocalmerge)(A, reuse, columns, local);
  PetscCall(Answered(&aliases));
  PetscCall(error);
  PetscCall(MackoTakeResult(*local));
  if (MackoOf(*local)) MackoOf(*local)->csr_bound = PETSC_TRUE; /* where the blocks' entries go */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoCusparseSetOperationsMPI(Mat A)
{
  PetscObject a = (PetscObject)A;

  PetscFunctionBegin;
  if (!MackoOf(A)->kind->device) PetscFunctionReturn(PETSC_SUCCESS);
  A->ops->productsetfromoptions = MackoCusparseProductOf;
  PetscCall(PetscObjectComposeFunction(a, "MatSetPreallocationCOO_C", MatSetPreallocationCOO_MPIAIJMacko));
  PetscCall(PetscObjectComposeFunction(a, "MatSetValuesCOO_C", MatSetValuesCOO_MPIAIJMacko));
  PetscCall(PetscObjectComposeFunction(a, "MatMPIAIJGetLocalMatMerge_C", MatMPIAIJGetLocalMatMerge_MPIAIJMacko));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
