/* Standing on AIJCUSPARSE: parallel matrices. */
#include "aijcusparse.h"

#if MACKO_ON_CUSPARSE

/* ---- from AIJ and back ---- */

/* Gets the diagonal and the off-diagonal block; each is NULL before preallocation. */
static PetscErrorCode Blocks(Mat A, Mat blocks[2])
{
  PetscFunctionBegin;
  PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes both blocks AIJCUSPARSE or AIJ. A block that is ours is released first, which ends on the type that is asked for. */
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

/* Makes a parallel AIJ an AIJCUSPARSE, the blocks first: that type's own conversion would empty those that are preallocated. */
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

/* Makes a parallel AIJCUSPARSE an AIJ. What that type has allocated beside the blocks, two words, stays until the matrix goes,
   for which its own destroy function stays in place. */
static PetscErrorCode ToAIJ(Mat A)
{
  PetscErrorCode (*destroy)(Mat) = A->ops->destroy;

  PetscFunctionBegin;
  if (!A->boundtocpu && A->ops->bindtocpu) PetscCall((*A->ops->bindtocpu)(A, PETSC_TRUE)); /* this binds the halo's vector, too */
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

/* A matrix of a third type stays what it is; *device always says what A is in the end. */
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

/* These are the names of A, its two blocks and another matrix, which may be NULL, for one call of that type. */
typedef struct {
  MackoAlias of[4];
} Aliases;

/* All of them answer to that type's name until Answered. The blocks need it because its functions ask them, too. */
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

/* The names come back in the opposite order. */
static PetscErrorCode Answered(Aliases *aliases)
{
  PetscFunctionBegin;
  for (int i = 3; i >= 0; i--) PetscCall(MackoAnswered(&aliases->of[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* That type's function makes new blocks, of the type whose name A has at that moment; they become ours afterwards. */
static PetscErrorCode MatSetPreallocationCOO_MPIAIJMacko(Mat A, PetscCount n, PetscInt i[], PetscInt j[])
{
  PetscFunctionBegin;
  MACKO_AS_BASE(A, (*MackoMPIDevice.does->preallocatecoo)(A, n, i, j));
  PetscCall(MackoEnsureBlocks(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values may be in host or GPU memory; they are added into both blocks, whose arrays must be in GPU memory. */
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

/* Puts both blocks of this rank side by side into one sequential matrix, as products of parallel matrices want it. That matrix
   becomes ours; its arrays in GPU memory must stay, because that type keeps with them where the blocks' entries go. */
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
  if (MackoOf(*local)) MackoOf(*local)->csr_bound = PETSC_TRUE; /* it is kept where the blocks' entries go */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On AIJ alone all of these are AIJ's. */
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
