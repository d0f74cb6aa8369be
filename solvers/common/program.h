/* What the programs of this folder share around their work: arguments, errors as one sentence, exit statuses. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <petscksp.h>

#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#endif

/* These are the exit statuses that the help texts of the programs name. */
enum { STATUS_FINE = 0, STATUS_BAD_INPUT = 1, STATUS_NOT_CONVERGED = 2 };

/* What makes one program different from the others. */
typedef struct {
  const char *name, *help;
  const char *second; /* what to say to someone who names two files */
  const char *const *options; /* the program's own, without dash; a list that NULL ends */
  PetscErrorCode (*run)(const char *matrix, int *status); /* the work; *status is one of those above */
} Program;

/* Is a program's main: it initializes PETSc, calls run with the one argument that belongs to no option, finalizes, and returns
   the exit status. An error is printed as one sentence, by the first rank that it concerns. */
int ProgramMain(const Program *program, int argc, char **argv);

#endif
