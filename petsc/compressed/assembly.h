/* Between the files of type macko by MatSetValues: the rows that have come so far. */
#ifndef MACKO_ASSEMBLY_H
#define MACKO_ASSEMBLY_H

#include "compressed/compressed.h"

/* Entries of a row are sorted by column, and those of one column by the order in which they came. */
typedef struct {
  PetscInt    col, order;
  PetscScalar value;
} Entry;

/* This lives from the first MatSetValues until the assembly ends. */
struct MackoAssembly {
  /* Both blocks hold what was encoded so far; off has the columns of the whole matrix. */
  MackoBlock     own, off;
  MackoCollector to_own, to_off;
  /* Entries come for this row of this rank at present; earlier ones are encoded. */
  PetscInt       row;
  InsertMode     mode;
  /* The row has n entries so far; entries has room for so many, cols and values for part_room. */
  PetscInt       n, room, part_room;
  Entry         *entries;
  /* These hold the part of a row that belongs to one block. */
  PetscInt      *cols;
  PetscScalar   *values;
  /* This is the matrix, for putting its old entries and the new ones together. */
  Mat            A;
  macko_error    err;
};
typedef struct MackoAssembly MackoAssembly;

/* Appends an entry to the row (assemble.c, as all but the last). Errors: OUT_OF_MEMORY. */
PETSC_INTERN macko_status MackoAssemblyAdd(MackoAssembly *a, PetscInt col, PetscScalar value, macko_error *err);

/* Makes as many places in cols and values as there are for entries. Errors: OUT_OF_MEMORY. */
PETSC_INTERN macko_status MackoAssemblyRoom(MackoAssembly *a, macko_error *err);

/* Hands the row over to both collectors, and goes to the next one. Errors: those of MackoCollect. */
PETSC_INTERN macko_status MackoAssemblyEndRow(Mat A, MackoAssembly *a, macko_error *err);

/* Frees all that an assembly holds, whether or not it went well; does nothing where there is none. */
PETSC_INTERN void MackoAssemblyClose(Mat A);

/* Ends the rows that are left, encodes what waits and makes the matrix of it (assemble_end.c). The assembly is freed in any case.
   Collective. */
PETSC_INTERN PetscErrorCode MackoAssemblyFinish(Mat A);

#endif
