/* Whether vectors and matrices that come beside one of ours have the sizes on each rank that it wants. */
#include "sizes.h"

/* AIJ raises this on the ranks alone whose size is wrong; ours exchange something next, for which the others would wait. */
PetscErrorCode MackoAgreeSize(Mat A, const char *what, PetscInt given, PetscInt wanted)
{
  char text[128], sentence[MACKO_SENTENCE] = "";
  int  worst;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(text, sizeof text, "%lld %s on this rank, not %lld", (long long)given, what, (long long)wanted));
  PetscCall(MackoWorst(PetscObjectComm((PetscObject)A), given != wanted, text, &worst, sentence));
  PetscCheck(!worst, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_SIZ, "%s", sentence);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoAgreeVector(Mat A, const char *what, Vec v, PetscInt wanted)
{
  PetscInt n;

  PetscFunctionBegin;
  if (!v) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(MackoAgreeSize(A, what, n, wanted));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products ask no other rank before they begin, as that would cost more than many of them take. */
PetscErrorCode MackoCheckVectors(Mat A, macko_op op, Vec x, Vec z)
{
  const PetscInt from = (op == MACKO_OP_T ? A->rmap : A->cmap)->n, to = (op == MACKO_OP_T ? A->cmap : A->rmap)->n;
  PetscInt       nx, nz;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(x, &nx));
  PetscCall(VecGetLocalSize(z, &nz));
  PetscCheck(nx == from, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "%lld elements of the vector that is multiplied on this rank, not %lld", (long long)nx, (long long)from);
  PetscCheck(nz == to, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "%lld elements of the product's vector on this rank, not %lld",
             (long long)nz, (long long)to);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc compares how many rows there are on all ranks together, and the next operands may be others than C was set up for. */
PetscErrorCode MackoCheckDense(Mat A, macko_op op, Mat B, Mat C)
{
  PetscFunctionBegin;
  PetscCheck(B->cmap->N == C->cmap->N, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_SIZ,
             "%lld columns of the dense matrix, and %lld of its product", (long long)B->cmap->N, (long long)C->cmap->N);
  PetscCall(MackoAgreeSize(A, "rows of the dense matrix", B->rmap->n, (op == MACKO_OP_T ? A->rmap : A->cmap)->n));
  PetscCall(MackoAgreeSize(A, "rows of the product", C->rmap->n, (op == MACKO_OP_T ? A->cmap : A->rmap)->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}
