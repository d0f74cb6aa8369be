/* Failures raised on one rank or on all alike, and what else all ranks agree on. */
#ifndef MACKO_PETSC_FAILURE_H
#define MACKO_PETSC_FAILURE_H

#include "compat.h"
#include "macko.h"

/* Raises PETSc's error that is nearest to a status, with text as the message; MACKO_OK raises nothing. */
PETSC_INTERN PetscErrorCode MackoRaise(MPI_Comm comm, macko_status status, const char *text);

/* Makes the place that the sentence of a failure names, if it names one, that in the whole matrix, counted as MatMackoCountFrom
   says: the first row of what was encoded is the matrix's row `row`, and column j is its cols[j], or col + j where cols is NULL. */
PETSC_INTERN void MackoPlaceError(PetscInt row, PetscInt col, const PetscInt *cols, macko_error *err);

/* Every rank raises the same error: that of the greatest status, and of the lowest rank that has it. Collective. */
PETSC_INTERN PetscErrorCode MackoAgree(MPI_Comm comm, macko_status status, const char *text);

/* Sets *greatest to the greatest `failed` of all ranks (0: none) and sentence to that of the lowest rank with it. Collective. */
enum { MACKO_SENTENCE = 600 };
PETSC_INTERN PetscErrorCode MackoWorst(MPI_Comm comm, int failed, const char *text, int *greatest, char sentence[MACKO_SENTENCE]);

/* Sets *all, or *any, to whether `mine` is not 0 on all ranks of A, or on any. Collective. */
PETSC_INTERN PetscErrorCode MackoOnAll(Mat A, int mine, PetscBool *all);
PETSC_INTERN PetscErrorCode MackoOnAny(Mat A, int mine, PetscBool *any);

#endif
