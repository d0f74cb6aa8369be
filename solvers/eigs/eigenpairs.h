/* Eigenpairs or singular triplets: the solver's answer, its check by plain CSR, and its summary. */
#ifndef PAIRS_H
#define PAIRS_H

#include "common/stored_matrix.h"

/* One eigenvalue, or one singular value in re. residual is ||A x - k B x||, or for a triplet (||A v - s u||^2 + ||A'u - s
   v||^2)^1/2. relative is the residual over ||k B x|| or over s; backward is the residual over (||A|| + |k| ||B||) ||x||, with
   the norms of matrices that are the largest sum of a row. */
typedef struct {
  PetscReal re, im, residual, relative, backward;
} Pair;

/* The answer of a solver, with all that the summary says of it. */
typedef struct {
  const char *path, *second;           /* the files; second is NULL without a matrix B */
  char problem[64], which[96];         /* in words */
  char solver[64], transformation[64]; /* SLEPc's types; transformation is empty for singular values */
  char reason[64], reason_words[128];  /* why the method ended: SLEPc's name of it, and a clause */
  PetscBool singular, converged; /* singular values; as many as were asked for */
  PetscBool lanczos;             /* SLEPc's krylovschur is Lanczos with thick restart here */
  PetscMPIInt ranks;
  PetscInt rows, cols, asked, count, iterations; /* count: pairs found, which may be more or fewer than were asked for */
  PetscReal tolerance; /* of the method */
  Pair *pairs; /* count of them */
  /* Eigenvectors: real and imaginary parts, im[i] zero for a real one. Triplets: right and left vectors. */
  Vec *re, *im;
  Storage storage, second_storage; /* of A and B while the solver worked with them */
  PetscLogDouble read, encode, solve, products; /* seconds of the slowest rank; products are part of solve */
} Pairs;

/* Find eigenpairs of A x = k x or, where b->A is a matrix, of A x = k B x; or singular triplets of A. They fill all fields of *r
   but the names of files, the seconds of reading and encoding, what is said of storage, and what PairsCheck fills. *r owns pairs
   and vectors, freed by PairsDestroy. Collective. */
PetscErrorCode SolveEPS(const Problem *a, const Problem *b, Pairs *r);
PetscErrorCode SolveSVD(const Problem *a, Pairs *r);

/* The progress of a solver: when it started, and when something was last shown, in seconds of PetscTime. */
typedef struct {
  PetscLogDouble start, shown;
} Watch;

/* PairsProgress shows how many of those asked for are found, on a terminal only and past the first second; PairsEndProgress wipes
   that out. */
PetscErrorCode PairsProgress(Watch *watch, PetscInt iteration, PetscInt found, PetscInt asked);
PetscErrorCode PairsEndProgress(const Watch *watch);

/* Returns a clause for a reason of EPS or of SVD, whose reasons are the same numbers. */
const char *PairsReasonInWords(int reason);

/* Fills residual, relative and backward of all pairs by products with plain CSR. Those that were asked for must meet the
   tolerance, or converged becomes false, with the reason in words. *A and *B (*B may be NULL) become type aij. Collective. */
PetscErrorCode PairsCheck(Pairs *r, Mat *A, Mat *B);

/* Prints the summary for people on the first rank's stdout. */
PetscErrorCode PairsPrint(const Pairs *r, const Problem *p);

/* Writes the summary as JSON. Collective. Errors: PETSC_ERR_FILE_WRITE on every rank. */
PetscErrorCode PairsSave(const Pairs *r, const Problem *p, const char *path);

/* Writes r->count vectors as columns, in the order of the values. Where im is given, a pair of conjugates takes two columns, real
   and imaginary parts. A path that ends in .mtx gets a dense Matrix Market file, any other one PETSc binary vector after another.
   Collective. Errors: PETSC_ERR_FILE_WRITE on every rank. */
PetscErrorCode PairsSaveVectors(const Pairs *r, const Vec *re, const Vec *im, const char *path);

/* Frees pairs and vectors. Collective. */
PetscErrorCode PairsDestroy(Pairs *r);

#endif
