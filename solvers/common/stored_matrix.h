/* How a matrix is stored while a program works with it, for the summaries of the programs of this folder. */
#ifndef STORED_MATRIX_H
#define STORED_MATRIX_H

#include "common/load_matrix.h"

typedef struct {
  char type[64], reason[512];
  MatMackoInfo info;     /* encoded is PETSC_FALSE for any other type */
  PetscInt64 nnz, bytes; /* bytes is 0 where it is not known */
} Storage;

/* Compresses a matrix of type aijmacko now, with progress on a terminal, and says how long it took; of type macko how long it took
   to make it. Does nothing to any other. Collective. */
PetscErrorCode StorageEncode(Mat A, PetscLogDouble *seconds);
PetscErrorCode StorageCollect(const Problem *p, Storage *s);

/* Time in products with matrices so far, on this rank. */
PetscErrorCode StorageProductSeconds(PetscLogDouble *seconds);

/* One or two lines for people; an object of JSON. */
void StoragePrint(const Storage *s);
void StorageWrite(FILE *f, const Storage *s);

#endif
