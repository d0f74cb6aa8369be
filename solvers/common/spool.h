/* Files that programs read more than once, or that PETSc reads for itself. */
#ifndef SPOOL_H
#define SPOOL_H

#include "common/program.h"

/* name is what to open for path: path itself or, of a pipe, which can be read once only, a copy that no folder lists, so that it
   goes with the process whatever ends it. What comes out of a pipe is on the first rank only, which is the one that reads. */
typedef struct {
  const char *path;              /* the caller's, which must outlive this */
  char name[PETSC_MAX_PATH_LEN]; /* what to open; on ranks other than the first it is always path */
  int copy; /* its descriptor on the first rank, -1 without */
} Spool;

/* Makes *s from path. A copy lies in the folder TMPDIR, or in /tmp. Collective. Errors: PETSC_ERR_FILE_READ on every rank, with a
   sentence, where path is a device or its copy cannot be made. A path that cannot be looked at is left to those that read it. */
PetscErrorCode SpoolOpen(MPI_Comm comm, const char *path, Spool *s);
/* Closes the copy, if there is one, which is gone then. Not collective. */
PetscErrorCode SpoolClose(Spool *s);

/* Makes a sentence in text, of room `size`, that begins with s->name begin with s->path instead: the name that the user knows. */
void SpoolRename(const Spool *s, char *text, size_t size);

#endif
