/* Standing on AIJCUSPARSE: factors, which that type makes and solves with on the GPU. */
#include "aijcusparse.h"

#if MACKO_ON_CUSPARSE

/* These functions are a factor's own, in whose places ours stand; the struct is composed with the factor. Those it does not have
   are NULL. */
typedef struct {
  PetscErrorCode (*lu_symbolic)(Mat, Mat, IS, IS, const MatFactorInfo *);
  PetscErrorCode (*ilu_symbolic)(Mat, Mat, IS, IS, const MatFactorInfo *);
  PetscErrorCode (*cholesky_symbolic)(Mat, Mat, IS, const MatFactorInfo *);
  PetscErrorCode (*icc_symbolic)(Mat, Mat, IS, const MatFactorInfo *);
  PetscErrorCode (*lu_numeric)(Mat, Mat, const MatFactorInfo *);
  PetscErrorCode (*cholesky_numeric)(Mat, Mat, const MatFactorInfo *);
  PetscErrorCode (*solve)(Mat, Vec, Vec);
  PetscErrorCode (*solvetranspose)(Mat, Vec, Vec);
  /* Both are in GPU memory and stand in for vectors that are not; NULL until one is needed. */
  Vec b, x;
} Factor;

/* The struct is found by this name among what is composed with a factor. */
static const char key[] = "MatMackoFactor";

/* PETSc calls this when the factor goes. */
static PetscErrorCode FreeFactor(PetscCtxRt argument)
{
  Factor *factor = *(Factor **)argument;

  PetscFunctionBegin;
  PetscCall(VecDestroy(&factor->b));
  PetscCall(VecDestroy(&factor->x));
  PetscCall(PetscFree(factor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A factor without the struct was made for a matrix of another type, which is an error inside of this library. */
static PetscErrorCode GetFactor(Mat F, Factor **factor)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)F, key, factor));
  PetscCheck(*factor, PetscObjectComm((PetscObject)F), PETSC_ERR_PLIB, "the factor was not made for a matrix of type aijmacko");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Calls solve with vectors in GPU memory, copying those that are not: that type's own function does not look where vectors
   are. */
static PetscErrorCode SolveWith(PetscErrorCode (*solve)(Mat, Vec, Vec), Factor *factor, Mat F, Vec b, Vec x)
{
  PetscBool b_on, x_on;

  PetscFunctionBegin;
  PetscCall(MackoOnDevice(b, &b_on));
  PetscCall(MackoOnDevice(x, &x_on));
  if ((!b_on || !x_on) && !factor->b) PetscCall(MatCreateVecs(F, &factor->b, &factor->x));
  if (!b_on) PetscCall(VecCopy(b, factor->b));
  PetscCall((*solve)(F, b_on ? b : factor->b, x_on ? x : factor->x));
  if (!x_on) PetscCall(VecCopy(factor->x, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes the place of the factor's own solve, as the next one does with the transpose. */
static PetscErrorCode Solve(Mat F, Vec b, Vec x)
{
  Factor *factor;

  PetscFunctionBegin;
  PetscCall(GetFactor(F, &factor));
  PetscCall(SolveWith(factor->solve, factor, F, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This is the same with the transpose, in the place of the factor's own. */
static PetscErrorCode SolveTranspose(Mat F, Vec b, Vec x)
{
  Factor *factor;

  PetscFunctionBegin;
  PetscCall(GetFactor(F, &factor));
  PetscCall(SolveWith(factor->solvetranspose, factor, F, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Half a solve, for preconditioning from both sides (-ksp_pc_side symmetric). AIJ leaves its own functions for it in such a factor,
   which give zeros there. */
static PetscErrorCode RefuseHalf(Mat F, Vec b, Vec x)
{
  PetscFunctionBegin;
  (void)b, (void)x;
  SETERRQ(PetscObjectComm((PetscObject)F), PETSC_ERR_SUP,
          "a factor by cusparse solves with both of its halves together only: -pc_factor_mat_solver_type petsc makes one that does "
          "with each, on the CPU");
}

/* Puts ours in place of the solves, which only the numeric part of the factorization chooses. A factor on the CPU needs no
   wrapper. */
static void TakeSolve(Mat F, Factor *factor)
{
  if (F->boundtocpu) return;
  F->ops->forwardsolve  = RefuseHalf;
  F->ops->backwardsolve = RefuseHalf;
  if (F->ops->solve && F->ops->solve != Solve) {
    factor->solve = F->ops->solve;
    F->ops->solve = Solve;
  }
  if (F->ops->solvetranspose && F->ops->solvetranspose != SolveTranspose) {
    factor->solvetranspose = F->ops->solvetranspose;
    F->ops->solvetranspose = SolveTranspose;
  }
}

/* A answers to that type's name for the call, and its arrays are marked as used, so that they stay for the next factorization. */
static PetscErrorCode LUNumeric(Mat F, Mat A, const MatFactorInfo *info)
{
  Factor *factor;

  PetscFunctionBegin;
  PetscCall(GetFactor(F, &factor));
  if (MackoOf(A)) MackoOf(A)->csr_used = PETSC_TRUE;
  MACKO_AS_BASE(A, (*factor->lu_numeric)(F, A, info));
  TakeSolve(F, factor);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This does the same for symmetric matrices. */
static PetscErrorCode CholeskyNumeric(Mat F, Mat A, const MatFactorInfo *info)
{
  Factor *factor;

  PetscFunctionBegin;
  PetscCall(GetFactor(F, &factor));
  if (MackoOf(A)) MackoOf(A)->csr_used = PETSC_TRUE;
  MACKO_AS_BASE(A, (*factor->cholesky_numeric)(F, A, info));
  TakeSolve(F, factor);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Puts ours in place of the numeric parts, which only the symbolic part chooses. */
static void TakeNumeric(Mat F, Factor *factor)
{
  if (F->ops->lufactornumeric && F->ops->lufactornumeric != LUNumeric) {
    factor->lu_numeric      = F->ops->lufactornumeric;
    F->ops->lufactornumeric = LUNumeric;
  }
  if (F->ops->choleskyfactornumeric && F->ops->choleskyfactornumeric != CholeskyNumeric) {
    factor->cholesky_numeric      = F->ops->choleskyfactornumeric;
    F->ops->choleskyfactornumeric = CholeskyNumeric;
  }
}

/* Defines the wrapper of a symbolic part, which differ only in what is called: complete and incomplete LU. */
#define LU_SYMBOLIC(name, part) \
  static PetscErrorCode name(Mat F, Mat A, IS rows, IS cols, const MatFactorInfo *info) \
  { \
    Factor *factor; \
\
    PetscFunctionBegin; \
    PetscCall(GetFactor(F, &factor)); \
    MACKO_AS_BASE(A, (*factor->part)(F, A, rows, cols, info)); \
    TakeNumeric(F, factor); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
LU_SYMBOLIC(LUSymbolic, lu_symbolic)
LU_SYMBOLIC(ILUSymbolic, ilu_symbolic)

/* This is the same for one permutation instead of two: complete and incomplete Cholesky. */
#define CHOLESKY_SYMBOLIC(name, part) \
  static PetscErrorCode name(Mat F, Mat A, IS permutation, const MatFactorInfo *info) \
  { \
    Factor *factor; \
\
    PetscFunctionBegin; \
    PetscCall(GetFactor(F, &factor)); \
    MACKO_AS_BASE(A, (*factor->part)(F, A, permutation, info)); \
    TakeNumeric(F, factor); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
CHOLESKY_SYMBOLIC(CholeskySymbolic, cholesky_symbolic)
CHOLESKY_SYMBOLIC(ICCSymbolic, icc_symbolic)

/* Puts the wrappers in place of the symbolic parts of a new factor. The others are not known yet: each part chooses the next
   one. */
static PetscErrorCode TakeFactor(Mat F)
{
  Factor *factor;

  PetscFunctionBegin;
  PetscCall(PetscNew(&factor));
  factor->lu_symbolic       = F->ops->lufactorsymbolic;
  factor->ilu_symbolic      = F->ops->ilufactorsymbolic;
  factor->cholesky_symbolic = F->ops->choleskyfactorsymbolic;
  factor->icc_symbolic      = F->ops->iccfactorsymbolic;
  PetscCall(PetscObjectContainerCompose((PetscObject)F, key, factor, FreeFactor));
  if (factor->lu_symbolic) F->ops->lufactorsymbolic = LUSymbolic;
  if (factor->ilu_symbolic) F->ops->ilufactorsymbolic = ILUSymbolic;
  if (factor->cholesky_symbolic) F->ops->choleskyfactorsymbolic = CholeskySymbolic;
  if (factor->icc_symbolic) F->ops->iccfactorsymbolic = ICCSymbolic;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes that type's factor, on the GPU, for a matrix that stands on it; for one that stands on AIJ it makes AIJ's. */
static PetscErrorCode MatGetFactor_SeqAIJMacko(Mat A, MatFactorType type, Mat *F)
{
  PetscBool device = MackoOf(A) && MackoOf(A)->kind->device ? PETSC_TRUE : PETSC_FALSE;
  PetscErrorCode (*make)(Mat, MatFactorType, Mat *);

  PetscFunctionBegin;
  if (device) PetscCall(MatSolverTypeGet(MATSOLVERCUSPARSE, MATSEQAIJCUSPARSE, type, NULL, NULL, &make));
  else PetscCall(MatSolverTypeGet(MATSOLVERPETSC, MATSEQAIJ, type, NULL, NULL, &make));
  PetscCheck(make, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "this PETSc has no factors of that kind");
  MACKO_AS_BASE(A, (*make)(A, type, F));
  if (device) PetscCall(TakeFactor(*F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solvers get PETSc's own name for cuSPARSE, so that preconditioners choose them as they do for that type, and options that
   name it hold. Without a GPU AIJ's factors are found as ever. */
PetscErrorCode MackoCusparseRegister(void)
{
  static const MatFactorType types[] = {MAT_FACTOR_LU, MAT_FACTOR_CHOLESKY, MAT_FACTOR_ILU, MAT_FACTOR_ICC};

  PetscFunctionBegin;
  if (!MackoDeviceFound()) PetscFunctionReturn(PETSC_SUCCESS);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    PetscCall(MatSolverTypeRegister(MATSOLVERCUSPARSE, MATSEQAIJMACKO, types[i], MatGetFactor_SeqAIJMacko));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
