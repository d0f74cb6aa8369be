/* Between the files that let our types stand on AIJCUSPARSE. */
#ifndef MACKO_AIJCUSPARSE_H
#define MACKO_AIJCUSPARSE_H

#include "matmacko.h"

/* A matrix of ours that answers to the name of the type that it stands on, until MackoAnswered. Nesting is harmless. */
typedef struct {
  PetscObject object; /* NULL where A has that name already, or is not ours, or NULL */
  char       *ours, *base;
} MackoAlias;

PETSC_INTERN PetscErrorCode MackoAnswer(Mat A, MackoAlias *alias);
PETSC_INTERN PetscErrorCode MackoAnswered(MackoAlias *alias);

/* Calls with A under that name; the name comes back before an error is passed on. */
#define MACKO_AS_BASE(A, call) \
  do { \
    MackoAlias     alias_; \
    PetscErrorCode error_; \
    PetscCall(MackoAnswer(A, &alias_)); \
    error_ = (call); \
    PetscCall(MackoAnswered(&alias_)); \
    PetscCall(error_); \
  } while (0)

/* The arrays of A, which a function of that type is to write into without a look whether they are there; not to be given back again
   unless that is asked for. A may be NULL, not ours, or parallel. */
PETSC_INTERN PetscErrorCode MackoCusparseRetrieve(Mat A);

/* A, which a function of that type has made, is ours unless it is for that type's eyes only: within a product of matrices. */
PETSC_INTERN PetscErrorCode MackoTakeResult(Mat A);

#endif
