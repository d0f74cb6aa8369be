/* Between the files of the matrix type: who does a product, and when the compressed form is made for it (after.c). */
#ifndef MACKO_AFTER_H
#define MACKO_AFTER_H

#include "matmacko.h"

/* Whether another product with A is the type's below, because so few make no use of a compressed form, or because A has been its
   own factor, which has no struct of ours; the product is counted, as one for each of `count` vectors. Of a parallel matrix: the
   same on all ranks, collective where the matrix changed. */
PETSC_INTERN PetscErrorCode MackoWaits(Mat A, PetscInt count, PetscBool *waits);
PETSC_INTERN PetscErrorCode MackoWaitsMPI(Mat A, PetscBool *waits);

/* Whether it would be; nothing is counted. */
PETSC_INTERN PetscErrorCode MackoWouldWait(Mat A, PetscBool *waits);

/* How things stand with the compressed form of a matrix: whether it belongs to the present values, how many products were done with
   these, and how many the type below does before they are encoded. */
typedef struct {
  PetscBool  fresh;
  PetscInt64 products, worth;
} MackoProspect;

/* Tells that; nothing is counted, and nothing that is done later becomes another for it. Collective. */
PETSC_INTERN PetscErrorCode MackoProspects(Mat A, MackoProspect *prospect);

/* Begins to count anew where A's values have changed, which *changed says. */
PETSC_INTERN PetscErrorCode MackoNoticeChange(Mat A, MackoCount *count, PetscBool *changed);

/* Gives how many products the type below does before the present values are encoded, which costs so many of its products, where so
   many were lost before: as often as the values before were multiplied the present ones are expected to be. */
PETSC_INTERN PetscInt64 MackoWorth(const MackoCount *count, PetscInt64 cost, PetscInt64 lost);

/* Gives about how many seconds a product of AIJ with so many entries takes on a CPU, with the transpose or not. */
PETSC_INTERN double MackoSecondsOfAIJ(double nnz);

/* Whether AIJ may do products where it is faster: on a CPU, where no option says how to store or when. It does those with A's
   transpose by its loop over rows, of several vectors always, as no form of ours reads a matrix by columns. */
PETSC_INTERN PetscErrorCode MackoMayUseBase(Mat A, PetscBool *base);

/* Whether AIJ does a product of A with so many dense columns where it may: it reads the matrix once for four of them, as a form of
   ours does, which gains too little then where it is barely faster for one. Such a product is counted. */
PETSC_INTERN PetscErrorCode MackoDenseByBase(Mat A, PetscInt columns, PetscBool *base);

/* z = op(A) x + y, or z = op(A) x where y is NULL, as the type that A, sequential, stands on does it. */
PETSC_INTERN PetscErrorCode MackoBaseProduct(Mat A, macko_op op, Vec x, Vec y, Vec z);

#endif
