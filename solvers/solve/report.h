/* What macko-solve did, for people and for machines. */
#ifndef REPORT_H
#define REPORT_H

#include "common/stored_matrix.h"

/* What macko-solve did and found, with all that the summary says of it. */
typedef struct {
  const char *path;
  char ksp[64], pc[64], reason_words[256]; /* PETSc's types of method and preconditioner; what ReportReason gave */
  PetscMPIInt ranks;
  PetscInt rows, cols, iterations;
  KSPConvergedReason reason;
  PetscBool ones;          /* the right-hand side is A * ones, and error is known */
  PetscBool converged;     /* the method says so, and the residual does not contradict it */
  PetscBool misled;        /* the method thinks it converged, but the residual is far above the tolerance */
  const char *advice;      /* what makes the method look at that residual */
  char warning[256];       /* empty unless the method ended well without an answer */
  PetscBool least_squares; /* the method minimizes, and normal_residual is known */
  Storage storage;
  PetscReal rtol, atol, residual, normal_residual, error; /* the last three are relative, and computed after the solve */
  PetscLogDouble encode, setup, solve, products;    /* seconds of the slowest rank; products are part of solve */
} Report;

/* Puts a clause that says why the method stopped, and PETSc's name for that, into words, of room `size`. */
void ReportReason(KSPConvergedReason reason, char *words, size_t size);

/* Prints the summary for people on the first rank's stdout. */
PetscErrorCode ReportPrint(const Problem *p, const Report *r);

/* Writes the summary as JSON, under a temporary name and renamed. Collective. Errors: PETSC_ERR_FILE_WRITE on every rank. */
PetscErrorCode ReportSave(const Problem *p, const Report *r, const char *path);

#endif
