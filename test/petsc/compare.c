/* Comparison with plain AIJ. */
#include "common.h"

#include <stdio.h>

/* ---- products, within the bound of their sums ---- */

typedef PetscErrorCode product(Mat, Vec, Vec, Vec);

static PetscErrorCode forward(Mat A, Vec x, Vec y, Vec z)
{
  (void)y;
  return MatMult(A, x, z);
}

static PetscErrorCode transpose(Mat A, Vec x, Vec y, Vec z)
{
  (void)y;
  return MatMultTranspose(A, x, z);
}

/* Entries replaced by their absolute values, or by ones. */
static PetscErrorCode replaced(Mat P, PetscBool ones, Mat *R)
{
  Mat          blocks[2] = {NULL, NULL};
  PetscBool    mpi;
  PetscScalar *a;
  MatInfo      info;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(P, MAT_COPY_VALUES, R));
  PetscCall(PetscObjectTypeCompare((PetscObject)*R, MATMPIAIJ, &mpi));
  if (mpi) PetscCall(MatMPIAIJGetSeqAIJ(*R, &blocks[0], &blocks[1], NULL));
  else blocks[0] = *R;
  for (int b = 0; b < 2 && blocks[b]; b++) {
    PetscCall(MatGetInfo(blocks[b], MAT_LOCAL, &info));
    PetscCall(MatSeqAIJGetArray(blocks[b], &a));
    for (PetscInt k = 0; k < (PetscInt)info.nz_used; k++) a[k] = ones ? 1 : PetscAbsScalar(a[k]);
    PetscCall(MatSeqAIJRestoreArray(blocks[b], &a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* gamma(m) = m u / (1 - m u). Each of the two results is within gamma(n) S of the exact one, n the terms of the row; with the
   roundings of S = |A||x| + |y| itself that is at most gamma(2 n + 1) S between them. */
static double gamma_of(double m)
{
  double mu = m * PETSC_MACHINE_EPSILON / 2;
  return mu / (1 - mu);
}

/* For one vector x: the terms of each row of op(A) x, and (|A||x|) */
typedef struct {
  Vec counts, sums;
} bound;

static bound make_bound(Mat absolute, Mat ones, product *op, Vec x, Vec z)
{
  bound b;
  Vec   ax;
  OK(VecDuplicate(z, &b.counts));
  OK(VecDuplicate(z, &b.sums));
  OK(VecDuplicate(x, &ax));
  OK(VecSet(ax, 1));
  OK((*op)(ones, ax, NULL, b.counts));
  OK(VecCopy(x, ax));
  OK(VecAbs(ax));
  OK((*op)(absolute, ax, NULL, b.sums));
  OK(VecDestroy(&ax));
  return b;
}

static void free_bound(bound *b)
{
  OK(VecDestroy(&b->counts));
  OK(VecDestroy(&b->sums));
}

double stored_unit = 0;

/* The largest |z - reference| / bound over all ranks; enormous where the bound is 0 and the difference is not, or for a NaN.
   y is what was added to the product, or NULL. */
static double excess(const bound *b, Vec y, Vec z, Vec reference)
{
  const PetscScalar *za, *ra, *sa, *ca, *ya = NULL;
  PetscInt           n;
  double             mine = 0, worst;
  OK(VecGetLocalSize(z, &n));
  OK(VecGetArrayRead(z, &za));
  OK(VecGetArrayRead(reference, &ra));
  OK(VecGetArrayRead(b->sums, &sa));
  OK(VecGetArrayRead(b->counts, &ca));
  if (y) OK(VecGetArrayRead(y, &ya));
  for (PetscInt i = 0; i < n; i++) {
    double size       = PetscRealPart(sa[i]) + (y ? PetscAbsScalar(ya[i]) : 0);
    double allowed    = (gamma_of(2 * (PetscRealPart(ca[i]) + 3 + ranks()) + 1) + stored_unit) * size;
    double difference = PetscAbsScalar(za[i] - ra[i]);
    if (difference <= allowed) mine = PetscMax(mine, allowed > 0 ? difference / allowed : 0);
    else mine = allowed > 0 && difference == difference ? PetscMax(mine, difference / allowed) : PETSC_MAX_REAL;
  }
  if (y) OK(VecRestoreArrayRead(y, &ya));
  OK(VecRestoreArrayRead(z, &za));
  OK(VecRestoreArrayRead(reference, &ra));
  OK(VecRestoreArrayRead(b->sums, &sa));
  OK(VecRestoreArrayRead(b->counts, &ca));
  MPI_Allreduce(&mine, &worst, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD);
  return worst;
}

/* One product of both; y is added, or only of the right sizes, or the result's own place. */
typedef struct {
  const char *name;
  product    *op;
  int         adds, in_place;
} kind;

/* What differs, in room for it; or nothing. */
typedef char reason[200];

static void compare(Mat A, Mat P, kind k, const bound *b, Vec x, Vec y, reason why)
{
  Vec    mine, theirs;
  double worst;
  OK(VecDuplicate(y, &mine));
  OK(VecDuplicate(y, &theirs));
  OK(VecSet(mine, PETSC_MAX_REAL)); /* nothing of it may survive */
  if (k.in_place) OK(VecCopy(y, mine));
  OK((*k.op)(A, x, k.in_place ? mine : y, mine));
  OK((*k.op)(P, x, y, theirs));
  worst = excess(b, k.adds ? y : NULL, mine, theirs);
  if (!(worst <= 1))
    snprintf(why, sizeof(reason), "%s%s is off by %g times the bound", k.name, k.in_place ? " in place" : "", worst);
  OK(VecDestroy(&mine));
  OK(VecDestroy(&theirs));
}

static const kind forward_kinds[]   = {{"MatMult", forward, 0, 0},
                                       {"MatMultAdd", MatMultAdd, 1, 0},
                                       {"MatMultAdd", MatMultAdd, 1, 1}};
static const kind transpose_kinds[] = {{"MatMultTranspose", transpose, 0, 0},
                                       {"MatMultTransposeAdd", MatMultTransposeAdd, 1, 0},
                                       {"MatMultTransposeAdd", MatMultTransposeAdd, 1, 1}};

const char *difference_with(Mat A, Mat P, Mat like)
{
  static reason why;
  Mat         absolute, ones;
  Vec         right, left;
  PetscRandom random;
  bound       bounds[2];
  why[0] = 0;
  OK(MatCreateVecs(like, &right, &left));
  OK(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  OK(PetscRandomSetInterval(random, -1, 1));
  OK(VecSetRandom(right, random));
  OK(VecSetRandom(left, random));
  OK(replaced(P, PETSC_FALSE, &absolute));
  OK(replaced(P, PETSC_TRUE, &ones));
  bounds[0] = make_bound(absolute, ones, forward, right, left);
  bounds[1] = make_bound(absolute, ones, transpose, left, right);
  for (int i = 0; i < 3; i++) {
    compare(A, P, forward_kinds[i], &bounds[0], right, left, why);
    compare(A, P, transpose_kinds[i], &bounds[1], left, right, why);
  }
  free_bound(&bounds[0]);
  free_bound(&bounds[1]);
  DESTROY(&absolute, &ones);
  OK(PetscRandomDestroy(&random));
  OK(VecDestroy(&right));
  OK(VecDestroy(&left));
  return why[0] ? why : NULL;
}

const char *difference(Mat A, Mat P)
{
  return difference_with(A, P, A);
}

void assert_same_products(Mat A, Mat P, const char *when)
{
  const char *why = difference(A, P);
  ck_assert_msg(!why, "%s: %s", when, why);
}

void assert_same_action(Mat X, Mat Y, const char *what, int which)
{
  Vec       x, y, expected;
  PetscReal norm, difference;
  OK(MatCreateVecs(Y, &x, &expected));
  OK(MatCreateVecs(X, NULL, &y));
  OK(VecSetRandom(x, NULL));
  OK(MatMult(Y, x, expected));
  OK(MatMult(X, x, y));
  OK(VecNorm(expected, NORM_2, &norm));
  OK(VecAXPY(y, -1, expected));
  OK(VecNorm(y, NORM_2, &difference));
  ASSERT_ALL(norm > 0 && difference <= 1e-13 * norm, "%s %d differs by %g of %g", what, which, (double)difference, (double)norm);
  OK(VecDestroy(&x));
  OK(VecDestroy(&y));
  OK(VecDestroy(&expected));
}

/* ---- entries ---- */

void assert_same_entries(Mat X, Mat Y, double tolerance, const char *when)
{
  Mat       mine, theirs;
  PetscReal norm, difference;
  OK(MatConvert(X, MATDENSE, MAT_INITIAL_MATRIX, &mine));
  OK(MatConvert(Y, MATDENSE, MAT_INITIAL_MATRIX, &theirs));
  OK(MatNorm(theirs, NORM_FROBENIUS, &norm));
  OK(MatAXPY(mine, -1, theirs, SAME_NONZERO_PATTERN));
  OK(MatNorm(mine, NORM_FROBENIUS, &difference));
  ASSERT_ALL(norm > 0 && difference <= tolerance * norm, "%s: differs by %g of %g", when, (double)difference, (double)norm);
  DESTROY(&mine, &theirs);
}

/* One of the two products, made and again with other values in B. */
static void same_dense(Mat A, Mat P, int transposed, const char *type, PetscInt columns, const char *when)
{
  PetscErrorCode (*multiply)(Mat, Mat, MatReuse, PetscReal, Mat *) = transposed ? MatTransposeMatMult : MatMatMult;
  Mat      T = NULL, B, X, Y;
  MatType  given, made;
  PetscInt m, n;
  char     what[200];
  OK(MatGetLocalSize(A, &m, &n));
  OK(make_dense(type, transposed ? m : n, PETSC_DECIDE, PETSC_DETERMINE, columns, &B));
  if (transposed) OK(MatTranspose(P, MAT_INITIAL_MATRIX, &T));
  OK((*multiply)(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &X));
  for (int again = 0; again < 2; again++) {
    (void)PetscSNPrintf(what, sizeof what, "%s, %s B of %d columns%s", when, transposed ? "A'" : "A", (int)columns,
                        again ? ", again" : "");
    OK(MatMatMult(T ? T : P, B, again ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, PETSC_DEFAULT, &Y));
    assert_same_entries(X, Y, 1e-13, what);
    OK(MatScale(B, -3));
    OK((*multiply)(A, B, MAT_REUSE_MATRIX, PETSC_DEFAULT, &X));
  }
  OK(MatGetType(B, &given));
  OK(MatGetType(X, &made));
  ASSERT_ALL(!strcmp(given, made), "%s: a matrix of type %s", what, made);
  OK(MatDestroy(&T));
  DESTROY(&B, &X, &Y);
}

void assert_same_dense_products(Mat A, Mat P, const char *type, PetscInt columns, const char *when)
{
  same_dense(A, P, 0, type, columns, when);
  same_dense(A, P, 1, type, columns, when);
}
