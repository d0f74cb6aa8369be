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

/* Opens path on the first rank as output_file.h says, to be closed by OutputClose; *f is NULL on the others. Collective. Errors:
   PETSC_ERR_FILE_WRITE on every rank. */
PetscErrorCode OutputOpen(const char *path, FILE **f);

/* Puts what was written in path's place; after an error an old file is as it was. Collective. Errors as of OutputOpen. */
PetscErrorCode OutputClose(const char *path, FILE *f);

/* Both, and write(f, context) on the first rank between them. */
PetscErrorCode OutputSave(const char *path, void (*write)(FILE *f, const void *context), const void *context);

#endif
