/* How a matrix is stored while a program works with it, for the summaries of the programs of this folder. */
#ifndef STORED_MATRIX_H
#define STORED_MATRIX_H

#include "common/load_matrix.h"

/* How a matrix is stored, kept beyond the matrix: `reason` is a copy of info.reason, which is the matrix's own text, while the
   names in `info` are constants. */
typedef struct {
  char type[64], reason[512]; /* PETSc's name of the type; why the matrix is stored so, empty for other types than ours */
  PetscBool lossy;       /* values were rounded, for the file that was read or for what is stored */
  MatMackoInfo info;     /* encoded is PETSC_FALSE for any other type */
  PetscInt64 nnz, bytes; /* bytes of all ranks together; 0 where they are not known */
} Storage;

/* Compresses a matrix of type aijmacko, with progress on a terminal, and sets *seconds to how long it took; of a matrix of type
   macko, to how long it took to make it. Any other matrix is left alone, with 0 seconds. Collective. */
PetscErrorCode StorageEncode(Mat A, PetscLogDouble *seconds);
/* Fills *s from p->A as it is stored at this moment. *s stays valid when the matrix is gone. Collective. */
PetscErrorCode StorageCollect(const Problem *p, Storage *s);

/* Sets *seconds to the time that this rank has spent in products with matrices since the program began, transposed ones included.
   The difference of two calls is that of what lies between. */
PetscErrorCode StorageProductSeconds(PetscLogDouble *seconds);

/* Print *s to stdout as lines for people, and to f as an object of JSON. Only the first rank calls them. */
void StoragePrint(const Storage *s);
void StorageWrite(FILE *f, const Storage *s);

#endif
