/* Every operation that changes a matrix, with a product before and after, must leave aijmacko and plain aij with the same products
 * within the error bound of plain CSR. Run on 1, 2 and 3 ranks. */
#include <petscmat.h>
#include "petscmacko.h"

#include <check.h>
#include <float.h>
#include <stdlib.h>

#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#endif

#define OK(call) ck_assert_int_eq((int)(call), 0)

enum { N = 30 };

/* ---- pairs: the same matrix as aij and as aijmacko ---- */

typedef struct {
  Mat plain, ours;
} Pair;

static PetscScalar Entry(PetscInt i, PetscInt j)
{
  return (PetscScalar)(1 + (i * 7 + j * 13) % 17) / 3 * ((i + j) % 3 ? 1 : -1);
}

static void FillRow(Mat A, PetscInt i)
{
  const PetscInt distances[] = {0, 1, -1, 5, -7, 19};
  for (int d = 0; d < 6; d++) {
    PetscInt j = i + distances[d];
    if (j >= 0 && j < N && (i % 5 || d < 2)) OK(MatSetValue(A, i, j, Entry(i, j) + (d == 0 ? 20 : 0), INSERT_VALUES));
  }
}

static void Assemble(Mat A)
{
  OK(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
}

static Mat Make(MatType type)
{
  Mat A;
  PetscInt first, last;
  OK(MatCreate(PETSC_COMM_WORLD, &A));
  OK(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, N, N));
  OK(MatSetType(A, type));
  OK(MatSeqAIJSetPreallocation(A, 8, NULL));
  OK(MatMPIAIJSetPreallocation(A, 8, NULL, 8, NULL));
  OK(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  OK(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt i = first; i < last; i++) FillRow(A, i);
  Assemble(A);
  return A;
}

static Pair MakePair(void)
{
  return (Pair){Make(MATAIJ), Make(MATAIJMACKO)};
}

/* Both blocks of a parallel matrix are ours, not just the outside. */
static void CheckType(Mat A)
{
  Mat blocks[2] = {A, NULL};
  PetscBool mpi, seq;
  OK(PetscObjectTypeCompare((PetscObject)A, MATMPIAIJMACKO, &mpi));
  if (mpi) OK(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (int i = 0; i < (mpi ? 2 : 1); i++) {
    OK(PetscObjectTypeCompare((PetscObject)blocks[i], MATSEQAIJMACKO, &seq));
    ck_assert_msg(seq, "block %d is not of type seqaijmacko", i);
  }
}

/* |y - z| <= 2 gamma(n + 3) |A| |x|, row by row: each product is within gamma of the exact one. */
static void CompareVectors(Mat plain, Vec x, Vec y, Vec z, int transpose, const char *what)
{
  Mat size;
  Vec xs, bound;
  const PetscScalar *a, *b, *c;
  PetscInt n;
  PetscReal gamma = (2 * N + 3) * DBL_EPSILON;
  OK(MatDuplicate(plain, MAT_COPY_VALUES, &size));
  OK(MatConvert(size, MATDENSE, MAT_INPLACE_MATRIX, &size));
  PetscScalar *values;
  PetscInt lda, rows, cols;
  OK(MatDenseGetArray(size, &values));
  OK(MatDenseGetLDA(size, &lda));
  OK(MatGetLocalSize(size, &rows, NULL));
  OK(MatGetSize(size, NULL, &cols));
  for (PetscInt j = 0; j < cols; j++)
    for (PetscInt i = 0; i < rows; i++) values[i + j * lda] = PetscAbsScalar(values[i + j * lda]);
  OK(MatDenseRestoreArray(size, &values));
  OK(VecDuplicate(x, &xs));
  OK(VecDuplicate(y, &bound));
  OK(VecCopy(x, xs));
  OK(VecAbs(xs));
  if (transpose) OK(MatMultTranspose(size, xs, bound));
  else OK(MatMult(size, xs, bound));
  OK(VecGetLocalSize(y, &n));
  OK(VecGetArrayRead(y, &a));
  OK(VecGetArrayRead(z, &b));
  OK(VecGetArrayRead(bound, &c));
  for (PetscInt i = 0; i < n; i++)
    if (!(PetscAbsScalar(a[i] - b[i]) <= 2 * gamma * (PetscRealPart(c[i]) + 40)))
      ck_abort_msg("%s: row %d is %.17g, aij has %.17g", what, (int)i, (double)PetscRealPart(b[i]), (double)PetscRealPart(a[i]));
  OK(VecRestoreArrayRead(y, &a));
  OK(VecRestoreArrayRead(z, &b));
  OK(VecRestoreArrayRead(bound, &c));
  OK(VecDestroy(&xs));
  OK(VecDestroy(&bound));
  OK(MatDestroy(&size));
}

static void FillVector(Vec x)
{
  PetscInt first, last;
  OK(VecGetOwnershipRange(x, &first, &last));
  for (PetscInt i = first; i < last; i++) OK(VecSetValue(x, i, 1 + (PetscScalar)((i * 11) % 7) / 3, INSERT_VALUES));
  OK(VecAssemblyBegin(x));
  OK(VecAssemblyEnd(x));
}

/* All four products, also in place. */
static void CheckProducts(Pair p, const char *what)
{
  Vec x, y, z, w;
  CheckType(p.ours);
  for (int transpose = 0; transpose < 2; transpose++) {
    if (transpose) OK(MatCreateVecs(p.plain, &y, &x));
    else OK(MatCreateVecs(p.plain, &x, &y));
    OK(VecDuplicate(y, &z));
    OK(VecDuplicate(y, &w));
    FillVector(x);
    OK(transpose ? MatMultTranspose(p.plain, x, y) : MatMult(p.plain, x, y));
    OK(VecSet(z, NAN));
    OK(transpose ? MatMultTranspose(p.ours, x, z) : MatMult(p.ours, x, z));
    CompareVectors(p.plain, x, y, z, transpose, what);
    FillVector(w);
    OK(transpose ? MatMultTransposeAdd(p.plain, x, w, y) : MatMultAdd(p.plain, x, w, y));
    OK(transpose ? MatMultTransposeAdd(p.ours, x, w, z) : MatMultAdd(p.ours, x, w, z));
    CompareVectors(p.plain, x, y, z, transpose, what);
    OK(transpose ? MatMultTransposeAdd(p.ours, x, w, w) : MatMultAdd(p.ours, x, w, w));
    CompareVectors(p.plain, x, y, w, transpose, what);
    OK(VecDestroy(&x));
    OK(VecDestroy(&y));
    OK(VecDestroy(&z));
    OK(VecDestroy(&w));
  }
}

/* ---- the operations: applied to both matrices of a pair ---- */

static Vec NewVector(Mat A)
{
  Vec v;
  OK(MatCreateVecs(A, &v, NULL));
  FillVector(v);
  return v;
}

static void Scale(Mat *A) { OK(MatScale(*A, 2.5)); }
static void ScaleToZero(Mat *A) { OK(MatScale(*A, 0)); }
static void Shift(Mat *A) { OK(MatShift(*A, -0.75)); }
static void ZeroEntries(Mat *A) { OK(MatZeroEntries(*A)); }

static void ZeroRows(Mat *A)
{
  PetscInt rows[] = {1, 8, 20}, first;
  OK(MatGetOwnershipRange(*A, &first, NULL));
  OK(MatZeroRows(*A, first ? 0 : 3, rows, 4, NULL, NULL));
}

static void ZeroRowsColumns(Mat *A)
{
  PetscInt rows[] = {2, 11, 29}, first;
  OK(MatGetOwnershipRange(*A, &first, NULL));
  OK(MatZeroRowsColumns(*A, first ? 0 : 3, rows, 3, NULL, NULL));
}

static void ZeroRowsKeepPattern(Mat *A)
{
  OK(MatSetOption(*A, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
  ZeroRows(A);
}

static void DiagonalScale(Mat *A)
{
  Vec v = NewVector(*A);
  OK(MatDiagonalScale(*A, v, v));
  OK(VecDestroy(&v));
}

static void DiagonalScaleLeft(Mat *A)
{
  Vec v = NewVector(*A);
  OK(MatDiagonalScale(*A, v, NULL));
  OK(VecDestroy(&v));
}

static void DiagonalSet(Mat *A)
{
  Vec v = NewVector(*A);
  OK(MatDiagonalSet(*A, v, INSERT_VALUES));
  OK(VecDestroy(&v));
}

static void DiagonalAdd(Mat *A)
{
  Vec v = NewVector(*A);
  OK(MatDiagonalSet(*A, v, ADD_VALUES));
  OK(VecDestroy(&v));
}

static MatType TypeOf(Mat A)
{
  MatType type;
  OK(MatGetType(A, &type));
  return type;
}

static void AXPYSame(Mat *A)
{
  Mat B = Make(TypeOf(*A));
  OK(MatAXPY(*A, 1.5, B, SAME_NONZERO_PATTERN));
  OK(MatDestroy(&B));
}

static Mat Banded(MatType type, PetscInt distance)
{
  Mat B;
  PetscInt first, last;
  OK(MatCreate(PETSC_COMM_WORLD, &B));
  OK(MatSetSizes(B, PETSC_DECIDE, PETSC_DECIDE, N, N));
  OK(MatSetType(B, type));
  OK(MatSetUp(B));
  OK(MatGetOwnershipRange(B, &first, &last));
  for (PetscInt i = first; i < last; i++)
    if (i + distance < N) OK(MatSetValue(B, i, i + distance, 1 + i, INSERT_VALUES));
  Assemble(B);
  return B;
}

static void AXPYSubset(Mat *A)
{
  Mat B = Banded(TypeOf(*A), 0);
  OK(MatAXPY(*A, -2, B, SUBSET_NONZERO_PATTERN));
  OK(MatDestroy(&B));
}

static void AXPYDifferent(Mat *A)
{
  Mat B = Banded(TypeOf(*A), 11);
  OK(MatAXPY(*A, 3, B, DIFFERENT_NONZERO_PATTERN));
  OK(MatDestroy(&B));
}

static void AYPX(Mat *A)
{
  Mat B = Make(TypeOf(*A));
  OK(MatAYPX(*A, 0.5, B, SAME_NONZERO_PATTERN));
  OK(MatDestroy(&B));
}

static void CopySame(Mat *A)
{
  Mat B = Make(TypeOf(*A));
  OK(MatScale(B, -1));
  OK(MatCopy(B, *A, SAME_NONZERO_PATTERN));
  OK(MatDestroy(&B));
}

static void CopyDifferent(Mat *A)
{
  Mat B = Make(TypeOf(*A));
  ZeroRows(&B);
  OK(MatCopy(B, *A, DIFFERENT_NONZERO_PATTERN));
  OK(MatDestroy(&B));
}

static void Multiplied(Mat A)
{
  Vec x = NewVector(A), y;
  OK(VecDuplicate(x, &y));
  OK(MatMult(A, x, y));
  OK(VecDestroy(&x));
  OK(VecDestroy(&y));
}

static void StoreRetrieve(Mat *A)
{
  OK(MatSetOption(*A, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  OK(MatStoreValues(*A));
  OK(MatScale(*A, 6));
  Multiplied(*A);
  OK(MatRetrieveValues(*A));
}

static void TransposeInPlace(Mat *A) { OK(MatTranspose(*A, MAT_INPLACE_MATRIX, A)); }

static void TransposeNew(Mat *A)
{
  Mat B;
  OK(MatTranspose(*A, MAT_INITIAL_MATRIX, &B));
  OK(MatDestroy(A));
  *A = B;
}

static void TransposeReuse(Mat *A)
{
  Mat B;
  OK(MatTranspose(*A, MAT_INITIAL_MATRIX, &B));
  Multiplied(B);
  OK(MatScale(*A, 3));
  OK(MatTranspose(*A, MAT_REUSE_MATRIX, &B));
  OK(MatDestroy(A));
  *A = B;
}

static void Conjugate(Mat *A) { OK(MatConjugate(*A)); }
static void RealPart(Mat *A) { OK(MatRealPart(*A)); }

static void SetOnProcess(Mat *A)
{
  PetscInt first;
  OK(MatGetOwnershipRange(*A, &first, NULL));
  OK(MatSetValue(*A, first, first, 99, INSERT_VALUES));
  Assemble(*A);
}

static void AddOffProcess(Mat *A)
{
  PetscInt first;
  OK(MatGetOwnershipRange(*A, &first, NULL));
  if (first == 0) OK(MatSetValue(*A, N - 1, N - 1, 7, ADD_VALUES));
  Assemble(*A);
}

static void NewNonzero(Mat *A)
{
  PetscInt first;
  OK(MatGetOwnershipRange(*A, &first, NULL));
  OK(MatSetValue(*A, first, (first + 13) % N, 5, INSERT_VALUES));
  OK(MatSetValue(*A, first, (first + 26) % N, 5, INSERT_VALUES));
  Assemble(*A);
}

static void ArrayAccess(Mat *A)
{
  Mat local;
  PetscScalar *values;
  PetscBool seq;
  OK(PetscObjectTypeCompareAny((PetscObject)*A, &seq, MATSEQAIJ, MATSEQAIJMACKO, ""));
  if (seq) local = *A;
  else OK(MatMPIAIJGetSeqAIJ(*A, &local, NULL, NULL));
  OK(MatSeqAIJGetArray(local, &values));
  values[0] = -3;
  OK(MatSeqAIJRestoreArray(local, &values));
}

static void Submatrix(Mat *A)
{
  IS rows;
  Mat B;
  PetscInt first, last;
  OK(MatGetOwnershipRange(*A, &first, &last));
  OK(ISCreateStride(PETSC_COMM_WORLD, (last - first) / 2, first, 2, &rows));
  OK(MatCreateSubMatrix(*A, rows, rows, MAT_INITIAL_MATRIX, &B));
  Multiplied(B);
  OK(MatScale(*A, 2));
  OK(MatCreateSubMatrix(*A, rows, rows, MAT_REUSE_MATRIX, &B));
  OK(ISDestroy(&rows));
  OK(MatDestroy(A));
  *A = B;
}

static void Product(Mat *A)
{
  Mat C;
  OK(MatMatMult(*A, *A, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  Multiplied(C);
  OK(MatScale(*A, 0.1));
  OK(MatMatMult(*A, *A, MAT_REUSE_MATRIX, PETSC_DEFAULT, &C));
  OK(MatDestroy(A));
  *A = C;
}

static void Galerkin(Mat *A)
{
  Mat P = Banded(TypeOf(*A), 1), C;
  OK(MatPtAP(*A, P, MAT_INITIAL_MATRIX, 2, &C));
  Multiplied(C);
  OK(MatScale(*A, 0.5));
  OK(MatPtAP(*A, P, MAT_REUSE_MATRIX, 2, &C));
  OK(MatDestroy(&P));
  OK(MatDestroy(A));
  *A = C;
}

static void DuplicateCopy(Mat *A)
{
  Mat B;
  OK(MatDuplicate(*A, MAT_COPY_VALUES, &B));
  OK(MatDestroy(A));
  *A = B;
}

static void DuplicateEmpty(Mat *A)
{
  Mat B;
  OK(MatDuplicate(*A, MAT_DO_NOT_COPY_VALUES, &B));
  OK(MatCopy(*A, B, SAME_NONZERO_PATTERN));
  OK(MatDestroy(A));
  *A = B;
}

static void SaveAndLoad(Mat *A)
{
  PetscViewer viewer;
  MatType type;
  Mat B;
  const char *path = "petsc_operations.bin";
  OK(MatGetType(*A, &type));
  OK(PetscViewerBinaryOpen(PETSC_COMM_WORLD, path, FILE_MODE_WRITE, &viewer));
  OK(MatView(*A, viewer));
  OK(PetscViewerDestroy(&viewer));
  OK(PetscViewerBinaryOpen(PETSC_COMM_WORLD, path, FILE_MODE_READ, &viewer));
  OK(MatCreate(PETSC_COMM_WORLD, &B));
  OK(MatSetType(B, type));
  OK(MatLoad(B, viewer));
  OK(PetscViewerDestroy(&viewer));
  OK(MatDestroy(A));
  *A = B;
}

/* COO assembly, values twice. */
static void Coordinates(Mat *A)
{
  Mat B;
  MatType type;
  PetscInt first, last, rows[64], cols[64], count = 0;
  PetscScalar values[64];
  OK(MatGetType(*A, &type));
  OK(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt i = first; i < last; i++) {
    rows[count] = i, cols[count++] = i;
    rows[count] = i, cols[count++] = (i + 17) % N;
  }
  for (PetscInt k = 0; k < count; k++) values[k] = 1 + k;
  OK(MatCreate(PETSC_COMM_WORLD, &B));
  OK(MatSetSizes(B, PETSC_DECIDE, PETSC_DECIDE, N, N));
  OK(MatSetType(B, type));
  OK(MatSetPreallocationCOO(B, count, rows, cols));
  OK(MatSetValuesCOO(B, values, INSERT_VALUES));
  Multiplied(B);
  for (PetscInt k = 0; k < count; k++) values[k] = 2 - k;
  OK(MatSetValuesCOO(B, values, INSERT_VALUES));
  OK(MatDestroy(A));
  *A = B;
}

/* No preallocation at all. */
static void Unpreallocated(Mat *A)
{
  Mat B;
  PetscInt first, last;
  OK(MatCreate(PETSC_COMM_WORLD, &B));
  OK(MatSetSizes(B, PETSC_DECIDE, PETSC_DECIDE, N, N));
  OK(MatSetType(B, TypeOf(*A)));
  OK(MatSetUp(B));
  OK(MatSetOption(B, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  OK(MatGetOwnershipRange(B, &first, &last));
  for (PetscInt i = first; i < last; i++) FillRow(B, i);
  Assemble(B);
  OK(MatDestroy(A));
  *A = B;
}

static void HeaderReplace(Mat *A)
{
  Mat B = Make(TypeOf(*A));
  OK(MatScale(B, 4));
  Multiplied(B);
  OK(MatHeaderReplace(*A, &B));
}

static void Chop(Mat *A)
{
#if PETSC_VERSION_LT(3, 20, 0)
  OK(MatChop(*A, 2.0));
#else
  OK(MatFilter(*A, 2.0, PETSC_FALSE, PETSC_FALSE));
#endif
}

static void Reassemble(Mat *A)
{
  OK(MatZeroEntries(*A));
  PetscInt first, last;
  OK(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt i = first; i < last; i++) FillRow(*A, i);
  Assemble(*A);
}

static const struct {
  const char *name;
  void (*apply)(Mat *);
} operations[] = {
  {"scale", Scale}, {"scale to zero", ScaleToZero}, {"shift", Shift}, {"zero entries", ZeroEntries}, {"zero rows", ZeroRows},
  {"zero rows, pattern kept", ZeroRowsKeepPattern}, {"zero rows and columns", ZeroRowsColumns}, {"diagonal scale", DiagonalScale},
  {"diagonal scale, left only", DiagonalScaleLeft}, {"diagonal set", DiagonalSet}, {"diagonal add", DiagonalAdd},
  {"axpy, same pattern", AXPYSame}, {"axpy, subset", AXPYSubset}, {"axpy, different pattern", AXPYDifferent}, {"aypx", AYPX},
  {"copy, same pattern", CopySame}, {"copy, different pattern", CopyDifferent}, {"store and retrieve", StoreRetrieve},
  {"transpose in place", TransposeInPlace}, {"transpose, new", TransposeNew}, {"transpose, reuse", TransposeReuse},
  {"conjugate", Conjugate}, {"real part", RealPart}, {"set a value", SetOnProcess}, {"add off process", AddOffProcess},
  {"new nonzeros", NewNonzero}, {"array access", ArrayAccess}, {"submatrix", Submatrix}, {"product", Product}, {"galerkin", Galerkin},
  {"duplicate", DuplicateCopy}, {"duplicate and copy", DuplicateEmpty}, {"save and load", SaveAndLoad}, {"coordinates", Coordinates},
  {"unpreallocated", Unpreallocated}, {"header replace", HeaderReplace}, {"chop", Chop},
  {"reassemble", Reassemble}};
enum { OPERATIONS = sizeof operations / sizeof *operations };

START_TEST(an_operation_is_seen_by_the_next_product)
{
  Pair p = MakePair();
  CheckProducts(p, "before");
  operations[_i].apply(&p.plain);
  operations[_i].apply(&p.ours);
  CheckProducts(p, operations[_i].name);
  operations[(_i * 7 + 3) % 5].apply(&p.plain); /* and one of the first few on top */
  operations[(_i * 7 + 3) % 5].apply(&p.ours);
  CheckProducts(p, operations[_i].name);
  OK(MatDestroy(&p.plain));
  OK(MatDestroy(&p.ours));
}
END_TEST

/* ---- conversions, six ways ---- */

START_TEST(conversion_works_six_ways)
{
  Pair p = MakePair();
  Mat B;
  Multiplied(p.ours);
  switch (_i) {
  case 0: /* to ours, new */
    OK(MatConvert(p.plain, MATAIJMACKO, MAT_INITIAL_MATRIX, &B));
    OK(MatDestroy(&p.ours));
    p.ours = B;
    break;
  case 1: /* to ours, in place */
    OK(MatDestroy(&p.ours));
    p.ours = Make(MATAIJ);
    OK(MatConvert(p.ours, MATAIJMACKO, MAT_INPLACE_MATRIX, &p.ours));
    break;
  case 2: /* to ours, by type */
    OK(MatDestroy(&p.ours));
    p.ours = Make(MATAIJ);
    OK(MatSetType(p.ours, MATAIJMACKO));
    Reassemble(&p.ours);
    break;
  case 3: /* to aij, new, and back */
    OK(MatConvert(p.ours, MATAIJ, MAT_INITIAL_MATRIX, &B));
    OK(MatDestroy(&p.ours));
    OK(MatConvert(B, MATAIJMACKO, MAT_INITIAL_MATRIX, &p.ours));
    OK(MatDestroy(&B));
    break;
  case 4: /* to aij, in place, and back */
    OK(MatConvert(p.ours, MATAIJ, MAT_INPLACE_MATRIX, &p.ours));
    Multiplied(p.ours);
    OK(MatConvert(p.ours, MATAIJMACKO, MAT_INPLACE_MATRIX, &p.ours));
    break;
  default: /* again into a matrix that is there */
    OK(MatConvert(p.plain, MATAIJMACKO, MAT_INITIAL_MATRIX, &B));
    Multiplied(B);
    OK(MatScale(p.plain, 3));
    OK(MatConvert(p.plain, MATAIJMACKO, MAT_REUSE_MATRIX, &B));
    OK(MatDestroy(&p.ours));
    p.ours = B;
  }
  CheckProducts(p, "converted");
  OK(MatDestroy(&p.plain));
  OK(MatDestroy(&p.ours));
}
END_TEST

/* ---- what is stored and how often ---- */

START_TEST(values_alone_are_refreshed_and_nothing_is_encoded_twice)
{
  Mat A = Make(MATAIJMACKO);
  MatMackoInfo info;
  OK(MatMackoGetInfo(A, &info));
  ck_assert(!info.encoded);
  Multiplied(A);
  Multiplied(A);
  OK(MatMackoGetInfo(A, &info));
  ck_assert(info.encoded && info.encodes == 1 && info.refreshes == 0);
  ck_assert(info.bytes > 0 && info.nnz > 0 && info.reason[0]);
  OK(MatScale(A, 2));
  Multiplied(A);
  OK(MatMackoGetInfo(A, &info));
  ck_assert(info.encodes == 1 && info.refreshes == 1);
  NewNonzero(&A);
  Multiplied(A);
  OK(MatMackoGetInfo(A, &info));
  ck_assert_int_eq(info.encodes, 2);
  OK(MatDestroy(&A));
}
END_TEST

START_TEST(options_reach_every_block)
{
  Mat A;
  MatMackoInfo info;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_format", "macko"));
  OK(PetscOptionsSetValue(NULL, "-mat_macko_layout", "row"));
  OK(PetscOptionsSetValue(NULL, "-mat_macko_values", "f32"));
  A = Make(MATAIJMACKO);
  OK(MatSetFromOptions(A));
  OK(MatMackoEncode(A));
  OK(MatMackoGetInfo(A, &info));
  ck_assert_str_eq(info.format, "macko");
  ck_assert_str_eq(info.layout, "row");
  ck_assert_str_eq(info.values, "f32");
  ck_assert(info.lossy);
  OK(MatDestroy(&A));
  OK(PetscOptionsClearValue(NULL, "-mat_macko_format"));
  OK(PetscOptionsClearValue(NULL, "-mat_macko_layout"));
  OK(PetscOptionsClearValue(NULL, "-mat_macko_values"));
}
END_TEST

/* What a rank cannot hold, no rank multiplies with: the same error on all, and the matrix still usable as before. */
START_TEST(a_refusal_reaches_every_rank)
{
  Mat A = Make(MATAIJMACKO);
  Vec x = NewVector(A), y;
  OK(VecDuplicate(x, &y));
  OK(PetscOptionsSetValue(NULL, "-mat_macko_format", "csr"));
  OK(PetscOptionsSetValue(NULL, "-mat_macko_values", "dict"));
  OK(MatSetFromOptions(A));
  OK(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  PetscErrorCode ierr = MatMult(A, x, y);
  OK(PetscPopErrorHandler());
  ck_assert_int_eq((int)ierr, PETSC_ERR_SUP);
  OK(PetscOptionsClearValue(NULL, "-mat_macko_format"));
  OK(PetscOptionsClearValue(NULL, "-mat_macko_values"));
  OK(VecDestroy(&x));
  OK(VecDestroy(&y));
  OK(MatDestroy(&A));
}
END_TEST

static int RunSuite(void)
{
  PetscMPIInt rank;
  int failed;
  Suite *suite = suite_create("petsc operations");
  TCase *t = tcase_create("operations");
  tcase_set_timeout(t, 120);
  tcase_add_loop_test(t, an_operation_is_seen_by_the_next_product, 0, OPERATIONS);
  tcase_add_loop_test(t, conversion_works_six_ways, 0, 6);
  tcase_add_test(t, values_alone_are_refreshed_and_nothing_is_encoded_twice);
  tcase_add_test(t, options_reach_every_block);
  tcase_add_test(t, a_refusal_reaches_every_rank);
  suite_add_tcase(suite, t);
  SRunner *runner = srunner_create(suite);
  srunner_set_fork_status(runner, CK_NOFORK); /* a fork would break MPI */
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  srunner_run_all(runner, rank ? CK_SILENT : CK_NORMAL);
  failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed;
}

/* Twice, because a program may initialise PETSc again after its end. */
int main(int argc, char **argv)
{
  int failed = 0;
  if (MPI_Init(&argc, &argv)) return 1;
  for (int cycle = 0; cycle < 2 && !failed; cycle++) {
    if (PetscInitialize(&argc, &argv, NULL, NULL) || MatMackoInitializePackage()) return 1;
    failed = RunSuite();
    if (!failed && PetscFinalize()) return 1;
  }
  /* A failed test left objects behind on some ranks: end all of them. */
  if (failed) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Finalize();
  return 0;
}
