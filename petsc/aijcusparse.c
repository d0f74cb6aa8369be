/* Standing on AIJCUSPARSE: sequential matrices, which become of that type and back, and what stays its own. */
#include "aijcusparse.h"

#if MACKO_ON_CUSPARSE

/* ---- the name ---- */

/* The pointer to the name is exchanged, and the name itself is kept, so that it comes back by putting the pointer back;
   MackoAnswered sees by the pointer, too, whether somebody has renamed A meanwhile. What is made under that name begins as an AIJ
   and is given the name then, which would empty a matrix that is ours. */
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
  MackoStayPlain(PETSC_TRUE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix that was given another name meanwhile keeps it, and PETSc has freed the one it answered to; then only the name that
   was put aside is freed. */
PetscErrorCode MackoAnswered(MackoAlias *alias)
{
  PetscFunctionBegin;
  if (!alias->object) PetscFunctionReturn(PETSC_SUCCESS);
  MackoStayPlain(PETSC_FALSE);
  if (alias->object->type_name == alias->base) {
    alias->object->type_name = alias->ours;
    PetscCall(PetscFree(alias->base));
  } else PetscCall(PetscFree(alias->ours));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- from AIJ and back ---- */

/* Compares the exact name, without the types that begin with it. */
static PetscErrorCode IsNamed(Mat A, const char *name, PetscBool *is)
{
  PetscFunctionBegin;
  PetscCall(PetscStrcmp(((PetscObject)A)->type_name, name, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Calls a composed conversion in place. It is not done by MatConvert, which refuses a matrix that is not assembled. */
static PetscErrorCode Convert(Mat A, const char *converter, MatType type)
{
  PetscErrorCode (*convert)(Mat, MatType, MatReuse, Mat *);

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, converter, &convert));
  PetscCheck(convert, PetscObjectComm((PetscObject)A), PETSC_ERR_PLIB, "this PETSc has no %s", converter);
  PetscCall((*convert)(A, type, MAT_INPLACE_MATRIX, &A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes a sequential AIJ an AIJCUSPARSE; its arrays go to the GPU when the first operation wants them there. */
static PetscErrorCode ToCusparse(Mat A)
{
  PetscFunctionBegin;
  PetscCall(Convert(A, "MatConvert_seqaij_seqaijcusparse_C", MATSEQAIJCUSPARSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Only that type knows how, and has no function for it that others may call: so an empty matrix inherits it and is destroyed. */
PetscErrorCode MackoFreeCusparse(Mat A, PetscBool remains)
{
  Mat          heir;
  /* The heir has no options: with -mat_seqaij_type it might become ours. */
  PetscOptions none;
  void        *kept = A->spptr;

  PetscFunctionBegin;
  PetscCall(PetscOptionsCreate(&none));
  PetscCall(MatCreate(PETSC_COMM_SELF, &heir));
  PetscCall(PetscObjectSetOptions((PetscObject)heir, none));
  PetscCall(MatSetSizes(heir, 0, 0, 0, 0));
  PetscCall(MatSetType(heir, MATSEQAIJ));
  /* The heir gets A's struct in exchange for its own, or, where A keeps none, before it is made an AIJCUSPARSE: that conversion
     takes a struct that is there. */
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

/* Makes an AIJCUSPARSE an AIJ with its values: it is bound to the CPU, what it has in GPU memory is freed, and AIJ's functions
   and name take their places. What that type has composed with A goes. */
static PetscErrorCode ToAIJ(Mat A)
{
  static const char *const composed[] = {"MatCUSPARSESetFormat_C", "MatCUSPARSESetUseCPUSolve_C"};

  PetscFunctionBegin;
  if (!A->boundtocpu) PetscCall((*A->ops->bindtocpu)(A, PETSC_TRUE)); /* this brings the values to the host */
  PetscCall(MackoFreeCusparse(A, PETSC_FALSE));
  PetscCall(MackoSetBase(A, MackoSeqHost.does));
  A->ops->getcurrentmemtype = MackoSeqHost.does->ops.getcurrentmemtype;
  for (size_t i = 0; i < sizeof composed / sizeof *composed; i++)
    PetscCall(PetscObjectComposeFunction((PetscObject)A, composed[i], NULL));
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATSEQAIJ));
  /* Without a GPU the values on the host are the only ones, and A is bound to the CPU as every AIJ is from birth. */
  A->offloadmask = PETSC_OFFLOAD_CPU;
  MackoMarkBound(A, PETSC_TRUE);
  PetscCall(MackoPlainVectors(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of a third type stays what it is; *device always says what A is in the end. */
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

/* That type scales values in GPU memory where they are there. Like the wrappers below this only lends the name. */
static PetscErrorCode MatScale_SeqAIJMacko(Mat A, PetscScalar a)
{
  PetscFunctionBegin;
  MACKO_AS_BASE(A, (*MackoCusparseOps()->scale)(A, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* That type's own takes both vectors for such on the GPU; with others AIJ's function does it on the host. A vector that is NULL
   is none. */
static PetscErrorCode MatDiagonalScale_SeqAIJMacko(Mat A, Vec left, Vec right)
{
  PetscBool left_on = PETSC_TRUE, right_on = PETSC_TRUE;

  PetscFunctionBegin;
  if (left) PetscCall(MackoOnDevice(left, &left_on));
  if (right) PetscCall(MackoOnDevice(right, &right_on));
  if (left_on && right_on) MACKO_AS_BASE(A, (*MackoCusparseOps()->diagonalscale)(A, left, right));
  else PetscCall((*MackoSeqHost.does->ops.diagonalscale)(A, left, right));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both matrices need the name for this; where X is Y the second alias is empty. */
static PetscErrorCode MatAXPY_SeqAIJMacko(Mat Y, PetscScalar a, Mat X, MatStructure structure)
{
  MackoAlias     x, y;
  PetscErrorCode error;

  PetscFunctionBegin;
  PetscCall(MackoAnswer(X, &x));
  PetscCall(MackoAnswer(Y, &y));
  error = (*MackoCusparseOps()->axpy)(Y, a, X, structure);
  PetscCall(MackoAnswered(&y));
  PetscCall(MackoAnswered(&x));
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* That type's own takes an array that is in GPU memory for the right one, even of an older pattern. So it is called only where
   the values there are valid. */
static PetscErrorCode MatZeroEntries_SeqAIJMacko(Mat A)
{
  PetscFunctionBegin;
  if (A->offloadmask == PETSC_OFFLOAD_GPU || A->offloadmask == PETSC_OFFLOAD_BOTH)
    MACKO_AS_BASE(A, (*MackoCusparseOps()->zeroentries)(A));
  else PetscCall((*MackoSeqHost.does->ops.zeroentries)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* That type has options of its own, as whether it stores the transpose (MAT_FORM_EXPLICIT_TRANSPOSE). */
static PetscErrorCode MatSetOption_SeqAIJMacko(Mat A, MatOption option, PetscBool flag)
{
  PetscFunctionBegin;
  MACKO_AS_BASE(A, (*MackoCusparseOps()->setoption)(A, option, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The copy comes out as that type's and is made ours. Where entries are still collected in a hash AIJ makes it under our name, as
   one of that type's would have to leave the hash. */
static PetscErrorCode MatDuplicate_SeqAIJMacko(Mat A, MatDuplicateOption option, Mat *B)
{
  PetscFunctionBegin;
  if (MackoHashActive(A)) {
    PetscCall((*MackoSeqHost.does->ops.duplicate)(A, option, B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  MACKO_AS_BASE(A, (*MackoCusparseOps()->duplicate)(A, option, B));
  PetscCall(MackoTakeResult(*B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ's own function writes a transpose that was made before (MAT_REUSE_MATRIX) into its arrays on the host, so that those on the
   GPU are the older ones afterwards. The arrays are retrieved first, as that function expects them. */
static PetscErrorCode MatTranspose_SeqAIJMacko(Mat A, MatReuse reuse, Mat *B)
{
  MackoAlias     a, b;
  PetscErrorCode error;

  PetscFunctionBegin;
  PetscCall(MackoCusparseRetrieve(reuse == MAT_REUSE_MATRIX ? *B : NULL));
  PetscCall(MackoAnswer(A, &a));
  PetscCall(MackoAnswer(reuse == MAT_REUSE_MATRIX ? *B : NULL, &b));
  error = (*MackoCusparseOps()->transpose)(A, reuse, B);
  PetscCall(MackoAnswered(&b));
  PetscCall(MackoAnswered(&a));
  PetscCall(error);
  PetscCall(MackoTakeResult(*B));
  if (reuse == MAT_REUSE_MATRIX && MackoOf(*B)) PetscCall(MackoChangedOnHost(*B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A file is read into the arrays on the host, without a word about those on the GPU. */
static PetscErrorCode MatLoad_SeqAIJMacko(Mat A, PetscViewer viewer)
{
  PetscFunctionBegin;
  MACKO_AS_BASE(A, (*MackoCusparseOps()->load)(A, viewer));
  PetscCall(MackoChangedOnHost(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* That type keeps on the GPU where each entry of the list goes. */
static PetscErrorCode MatSetPreallocationCOO_SeqAIJMacko(Mat A, PetscCount n, PetscInt i[], PetscInt j[])
{
  PetscFunctionBegin;
  MACKO_AS_BASE(A, (*MackoSeqDevice.does->preallocatecoo)(A, n, i, j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values may be in host or GPU memory. A kernel adds them into the matrix's values there, for which the arrays must be there. */
static PetscErrorCode MatSetValuesCOO_SeqAIJMacko(Mat A, const PetscScalar values[], InsertMode mode)
{
  PetscFunctionBegin;
  PetscCall(MackoCusparseRetrieve(A));
  MACKO_AS_BASE(A, (*MackoSeqDevice.does->setvaluescoo)(A, values, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies values at the given places to an array in host or GPU memory; parallel products of matrices use it. */
static PetscErrorCode MatSeqAIJCopySubArray_SeqAIJMacko(Mat A, PetscInt n, const PetscInt indices[], PetscScalar values[])
{
  PetscFunctionBegin;
  MACKO_AS_BASE(A, (*MackoSeqDevice.does->copysubarray)(A, n, indices, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where A is bound to the CPU that type has put AIJ's functions in place, but none for lists of entries, so that those are set
   here in both cases. The rest is set only where A is not bound. */
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
  A->ops->multhermitiantranspose    = A->ops->multtranspose; /* this is for real matrices */
  A->ops->multhermitiantransposeadd = A->ops->multtransposeadd;
  PetscCall(PetscObjectComposeFunction(a, "MatSeqAIJCopySubArray_C", MatSeqAIJCopySubArray_SeqAIJMacko));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#endif
