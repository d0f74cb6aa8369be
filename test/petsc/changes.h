/* Operations that change a matrix, each the same for our type and for plain AIJ; the suites apply them one by one and in random
 * sequences. */
#ifndef PETSC_CHANGES_H
#define PETSC_CHANGES_H

#include "common.h"

typedef struct {
  const char *name;
  PetscErrorCode (*run)(Mat *A); /* may put another matrix in the place of *A */
  int least;                     /* rows that the matrix needs: the operation shrinks it */
  int diagonal;                  /* needs every diagonal entry; a rank that lacks one refuses while the others wait for it */
  int stores;                    /* AIJ copies the values to an array that never grows: not again after new nonzeros */
  int plain_type;                /* PETSc makes a matrix of its own type */
} change;

/* Each ends with a NULL name. */
extern const change changes_in_place[], changes_by_replacement[];

/* Number i of both lists together, NULL beyond. */
const change *change_at(int i);

/* ---- what operations are made of ---- */

PetscInt size_of(Mat A);
PetscErrorCode assemble(Mat A);

/* Another matrix of A's type and sizes; seed 1 has A's own pattern where A is untouched. */
PetscErrorCode like(Mat A, unsigned seed, Mat *B);

/* The operation's result takes the place of *A. */
PetscErrorCode replace(Mat *A, Mat B);

/* Products of the plain or of our form in the middle of an operation, so that there is a compressed form to go stale. */
PetscErrorCode use(Mat A);

/* Row by row, the entries of make_matrix with seed 1, each set or added by the rank `offset` after the owner. */
PetscErrorCode set_existing(Mat A, InsertMode mode, PetscInt offset);

#endif
