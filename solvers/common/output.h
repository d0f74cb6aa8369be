/* Files that the programs of this folder write. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "common/program.h"

#include <stdio.h>

/* The file that an option names; refused if it names none. */
PetscErrorCode FileOption(const char *name, char path[PETSC_MAX_PATH_LEN], PetscBool *given);

/* Refuses an option's file that could not be written, before anything is computed for it. The name "-" is left to the caller.
   Collective. Errors: PETSC_ERR_FILE_WRITE on every rank. */
PetscErrorCode OutputCheck(const char *name);

/* Whether an option asks for standard output: its file is "-". */
PetscErrorCode OutputIsStandard(const char *name, PetscBool *standard);

/* Writes a file by write(f, context) on the first rank: under a temporary name and renamed, so that a failure leaves an old
   file as it was. A link stays, what it points at is replaced; pipes and devices are written to as they are, and so is standard output,
   by the name "-" too. Collective. Errors: PETSC_ERR_FILE_WRITE on every rank. */
PetscErrorCode OutputSave(const char *path, void (*write)(FILE *f, const void *context), const void *context);

#endif
