/* Files that the programs of this folder write. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "common/program.h"

#include <stdio.h>

/* Copies the name of the file that an option names into path, and says in *given whether it is there. An option without a name is
   refused: PETSc would take it for an empty one. */
PetscErrorCode FileOption(const char *name, char path[PETSC_MAX_PATH_LEN], PetscBool *given);

/* Refuses an option's file that could not be written, before anything is computed for it. The name "-" is left to the caller.
   Collective. Errors: PETSC_ERR_FILE_WRITE on every rank. */
PetscErrorCode OutputCheck(const char *name);

/* Refuses options that name one file together, which would hold what came last, or standard output, which would hold both; `names`
   are options, each of which may be missing. Collective. Errors: PETSC_ERR_ARG_WRONG on every rank. */
PetscErrorCode OutputsApart(int count, const char *const names[]);

/* Refuses options of which one names the file `input`, which the program reads: what was read would be lost. Collective. Errors:
   PETSC_ERR_ARG_WRONG on every rank. */
PetscErrorCode OutputsSpare(int count, const char *const names[], const char *input);

/* Says whether an option asks for standard output: then its file is "-". */
PetscErrorCode OutputIsStandard(const char *name, PetscBool *standard);

/* Opens path on the first rank as output_file.h says, to be closed by OutputClose; *f is NULL on the others. Collective. Errors:
   PETSC_ERR_FILE_WRITE on every rank. */
PetscErrorCode OutputOpen(const char *path, FILE **f);

/* Puts what was written in path's place, f being what OutputOpen gave; after an error an old file is as it was. Collective.
   Errors: those of OutputOpen. */
PetscErrorCode OutputClose(const char *path, FILE *f);

/* Opens path, calls write(f, context) on the first rank, and closes it. Collective. Errors: those of OutputOpen. */
PetscErrorCode OutputSave(const char *path, void (*write)(FILE *f, const void *context), const void *context);

#endif
