/* What the programs of this folder share around their work: arguments, errors as one sentence, exit statuses. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <petscksp.h>

#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#endif

enum { STATUS_FINE = 0, STATUS_BAD_INPUT = 1, STATUS_NOT_CONVERGED = 2 };

typedef struct {
  const char *name, *help;
  const char *second; /* what to say to someone who names two files */
  PetscErrorCode (*run)(const char *matrix, int *status);
} Program;

/* A program's main: initializes PETSc, calls run with the one argument that belongs to no option, finalizes; returns the exit
   status. An error is printed as one sentence, by the first rank it concerns. */
int ProgramMain(const Program *program, int argc, char **argv);

#endif
