/* Between the files that let our types stand on AIJCUSPARSE. */
#ifndef MACKO_AIJCUSPARSE_H
#define MACKO_AIJCUSPARSE_H

#include "matmacko.h"

/* A matrix of ours answers to the name of the type that it stands on from MackoAnswer until MackoAnswered, because that type's
   functions compare names. Nesting is harmless: a matrix that has the name already is left alone. */
typedef struct {
  /* This is NULL where A has that name already, or is not ours, or is NULL: nothing is to be undone then. */
  PetscObject object;
  /* These are both names; the one that the matrix does not have at the moment belongs to the alias. */
  char       *ours, *base;
} MackoAlias;

PETSC_INTERN PetscErrorCode MackoAnswer(Mat A, MackoAlias *alias);
PETSC_INTERN PetscErrorCode MackoAnswered(MackoAlias *alias);

/* Makes a call in which A answers to that name; the name comes back before an error is passed on. */
#define MACKO_AS_BASE(A, call) \
  do { \
    MackoAlias     alias_; \
    PetscErrorCode error_; \
    PetscCall(MackoAnswer(A, &alias_)); \
    error_ = (call); \
    PetscCall(MackoAnswered(&alias_)); \
    PetscCall(error_); \
  } while (0)

/* Returns that type's own operations of sequential matrices. */
static inline const struct _MatOps *MackoCusparseOps(void)
{
  return &MackoSeqDevice.does->ops;
}

/* Frees what that type keeps of A in GPU memory. Where A remains of that type (remains) it gets a struct that is empty. */
PETSC_INTERN PetscErrorCode MackoFreeCusparse(Mat A, PetscBool remains);

/* Brings back the arrays of A in GPU memory, if they were given back, because a function of that type is to write into them
   without a look whether they are there. They then stay unless -mat_macko_keep_csr no. A may be NULL, not ours, or parallel. */
PETSC_INTERN PetscErrorCode MackoCusparseRetrieve(Mat A);

/* Makes A ours, which a function of that type has made. Within a product of matrices it stays of that type, for whose eyes only
   it is. */
PETSC_INTERN PetscErrorCode MackoTakeResult(Mat A);

#endif
