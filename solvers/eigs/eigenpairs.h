/* Eigenpairs or singular triplets: the solver's answer, its check by plain CSR, and its summary. */
#ifndef PAIRS_H
#define PAIRS_H

#include "common/stored_matrix.h"

/* One eigenvalue, or one singular value in re. residual is ||A x - k B x||, or for a triplet
   (||A v - s u||^2 + ||A'u - s v||^2)^1/2; relative is that over ||k B x|| or s, backward over (||A|| + |k| ||B||) ||x||,
   with the norms that are the largest sum of a row. */
typedef struct {
  PetscReal re, im, residual, relative, backward;
} Pair;

typedef struct {
  const char *path, *second;           /* second is NULL without a matrix B */
  char problem[64], which[96];         /* in words */
  char solver[64], transformation[64]; /* SLEPc's types; transformation is empty for singular values */
  char reason[64], reason_words[128];
  PetscBool singular, converged; /* singular values; as many as were asked for */
  PetscBool lanczos;             /* SLEPc's krylovschur is Lanczos with thick restart here */
  PetscMPIInt ranks;
  PetscInt rows, cols, asked, count, iterations;
  PetscReal tolerance; /* of the method */
  Pair *pairs; /* count of them */
  /* Eigenvectors: real and imaginary parts, im[i] zero for a real one. Triplets: right and left vectors. */
  Vec *re, *im;
  Storage storage, second_storage;
  PetscLogDouble read, encode, solve, products; /* seconds of the slowest rank; products are part of solve */
} Pairs;

/* Find eigenpairs of A x = k x or, where b holds a matrix, A x = k B x; or singular triplets. All fields but the names of files,
   the seconds of reading and encoding and those of PairsCheck are filled. Collective. */
PetscErrorCode SolveEPS(const Problem *a, const Problem *b, Pairs *r);
PetscErrorCode SolveSVD(const Problem *a, Pairs *r);

/* Progress of a solver that started and was last shown at these seconds: past the first second, on a terminal only. */
typedef struct {
  PetscLogDouble start, shown;
} Watch;

PetscErrorCode PairsProgress(Watch *watch, PetscInt iteration, PetscInt found, PetscInt asked);
PetscErrorCode PairsEndProgress(const Watch *watch);

/* SLEPc's reasons of EPS and SVD are the same numbers. */
const char *PairsReasonInWords(int reason);

/* Fills residual, relative and backward of all pairs; those asked for must meet the tolerance, or converged becomes false.
   A and B (may be NULL) become type aij. Collective. */
PetscErrorCode PairsCheck(Pairs *r, Mat *A, Mat *B);

/* On the first rank's stdout. */
PetscErrorCode PairsPrint(const Pairs *r, const Problem *p);

/* As JSON. Collective. Errors: PETSC_ERR_FILE_WRITE on every rank. */
PetscErrorCode PairsSave(const Pairs *r, const Problem *p, const char *path);

/* Vectors as columns, in the order of the values; where im is given, a pair of conjugates takes two columns, real and imaginary
   parts. A path that ends in .mtx gets a dense Matrix Market file, any other one PETSc binary vector after another. Collective.
   Errors: PETSC_ERR_FILE_WRITE on every rank. */
PetscErrorCode PairsSaveVectors(const Pairs *r, const Vec *re, const Vec *im, const char *path);

PetscErrorCode PairsDestroy(Pairs *r);

#endif
