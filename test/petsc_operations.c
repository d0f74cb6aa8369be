/* Every operation that changes a matrix, with products before and after it: the compressed form must never be stale. */
#include "petsc_common.h"

enum { N = 40 };

/* ---- the operations; each does the same to our matrix and to a plain one ---- */

/* Another matrix of A's type and sizes; seed 1 has A's own pattern where A is untouched. */
static PetscErrorCode like(Mat A, unsigned seed, Mat *B)
{
  MatType  type;
  PetscInt rows, cols;

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &type));
  PetscCall(MatGetSize(A, &rows, &cols));
  PetscCall(make_matrix(PREALLOCATED, type, rows, cols, seed, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode diagonal_vector(Mat A, Vec *d)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, d, NULL));
  PetscCall(VecGetOwnershipRange(*d, &begin, &end));
  for (PetscInt i = begin; i < end; i++) PetscCall(VecSetValue(*d, i, (PetscScalar)1.25 + (PetscScalar)(i % 5), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(*d));
  PetscCall(VecAssemblyEnd(*d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode assemble(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operation's result takes the place of *A. */
static PetscErrorCode replace(Mat *A, Mat B)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(A));
  *A = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products of the plain or of our form in the middle of an operation, so that there is a compressed form to go stale. */
static PetscErrorCode use(Mat A)
{
  Vec x, y;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatMultTranspose(A, y, x));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define OPERATION(name, ...) \
  static PetscErrorCode name(Mat *A) \
  { \
    PetscFunctionBegin; \
    __VA_ARGS__ \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
#define WITH_OTHER(seed, ...) \
  Mat B; \
  PetscCall(like(*A, seed, &B)); \
  __VA_ARGS__ \
  PetscCall(MatDestroy(&B));
#define WITH_DIAGONAL(...) \
  Vec d; \
  PetscCall(diagonal_vector(*A, &d)); \
  __VA_ARGS__ \
  PetscCall(VecDestroy(&d));

/* Two rows of which the calling rank names the ones it likes: all ranks name row 2, rank 0 also the last. */
#define ROWS \
  PetscInt    rows[2] = {2, N - 1}; \
  PetscMPIInt rank; \
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));

OPERATION(scale, PetscCall(MatScale(*A, -1.5));)
OPERATION(scale_by_zero, PetscCall(MatScale(*A, 0));)
OPERATION(shift, PetscCall(MatShift(*A, 2.5));)
OPERATION(zero_entries, PetscCall(MatZeroEntries(*A));)
OPERATION(zero_rows, ROWS PetscCall(MatZeroRows(*A, rank ? 1 : 2, rows, 3, NULL, NULL));)
OPERATION(zero_rows_keeping_pattern, ROWS PetscCall(MatSetOption(*A, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
          PetscCall(MatZeroRows(*A, rank ? 1 : 2, rows, 3, NULL, NULL));)
OPERATION(zero_rows_without_diagonal, ROWS PetscCall(MatZeroRows(*A, rank ? 1 : 2, rows, 0, NULL, NULL));)
OPERATION(zero_rows_and_columns, ROWS PetscCall(MatZeroRowsColumns(*A, rank ? 1 : 2, rows, 3, NULL, NULL));)
OPERATION(scale_rows, WITH_DIAGONAL(PetscCall(MatDiagonalScale(*A, d, NULL));))
OPERATION(scale_columns, WITH_DIAGONAL(PetscCall(MatDiagonalScale(*A, NULL, d));))
OPERATION(scale_both, WITH_DIAGONAL(PetscCall(MatDiagonalScale(*A, d, d));))
OPERATION(set_diagonal, WITH_DIAGONAL(PetscCall(MatDiagonalSet(*A, d, INSERT_VALUES));))
OPERATION(add_to_diagonal, WITH_DIAGONAL(PetscCall(MatDiagonalSet(*A, d, ADD_VALUES));))
OPERATION(axpy_same_pattern, WITH_OTHER(1, PetscCall(MatScale(B, 3)); PetscCall(MatAXPY(*A, 0.5, B, SAME_NONZERO_PATTERN));))
OPERATION(axpy_different_pattern, WITH_OTHER(2, PetscCall(MatAXPY(*A, 0.5, B, DIFFERENT_NONZERO_PATTERN));))
OPERATION(axpy_unknown_pattern, WITH_OTHER(3, PetscCall(MatAXPY(*A, -2, B, UNKNOWN_NONZERO_PATTERN));))
OPERATION(aypx_different_pattern, WITH_OTHER(2, PetscCall(MatAYPX(*A, 0.5, B, DIFFERENT_NONZERO_PATTERN));))
OPERATION(copy_same_pattern, WITH_OTHER(1, PetscCall(MatScale(B, 3)); PetscCall(MatCopy(B, *A, SAME_NONZERO_PATTERN));))
OPERATION(copy_different_pattern, WITH_OTHER(2, PetscCall(MatCopy(B, *A, DIFFERENT_NONZERO_PATTERN));))
OPERATION(transpose_in_place, PetscCall(MatTranspose(*A, MAT_INPLACE_MATRIX, A));)
OPERATION(conjugate_and_negate, PetscCall(MatConjugate(*A)); PetscCall(MatScale(*A, -1));)
OPERATION(real_part, PetscCall(MatRealPart(*A)); PetscCall(MatScale(*A, 2));)
OPERATION(imaginary_part, PetscCall(MatImaginaryPart(*A));)

static PetscErrorCode axpy_subset_pattern(Mat *A)
{
  Mat      B;
  MatType  type;
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetType(*A, &type));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &B));
  PetscCall(MatSetSizes(B, PETSC_DECIDE, PETSC_DECIDE, N, N));
  PetscCall(MatSetType(B, type));
  PetscCall(MatSetUp(B));
  PetscCall(MatGetOwnershipRange(B, &begin, &end));
  for (PetscInt i = begin; i < end; i++) PetscCall(MatSetValue(B, i, i, 1 + i, INSERT_VALUES));
  PetscCall(assemble(B));
  PetscCall(MatAXPY(*A, 0.5, B, SUBSET_NONZERO_PATTERN));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode store_and_retrieve(Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  PetscCall(MatScale(*A, 7));
  PetscCall(MatStoreValues(*A));
  PetscCall(MatScale(*A, -3));
  PetscCall(use(*A));
  PetscCall(MatRetrieveValues(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode transpose_to_new(Mat *A)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatTranspose(*A, MAT_INITIAL_MATRIX, &B));
  PetscCall(replace(A, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode transpose_again(Mat *A)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatTranspose(*A, MAT_INITIAL_MATRIX, &B));
  PetscCall(use(B));
  PetscCall(MatScale(*A, -2));
  PetscCall(MatTranspose(*A, MAT_REUSE_MATRIX, &B));
  PetscCall(replace(A, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Drops the small entries: zeros in their place in old releases, a smaller pattern in new ones. */
static PetscErrorCode filter(Mat *A)
{
  PetscFunctionBegin;
#if PETSC_VERSION_LT(3, 20, 0)
  PetscCall(MatChop(*A, 0.5));
#else
  PetscCall(MatFilter(*A, 0.5, PETSC_TRUE, PETSC_TRUE));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Row by row, existing entries only, each set or added by the rank after the owner. */
static PetscErrorCode set_existing(Mat A, InsertMode mode, PetscInt offset)
{
  const PetscInt *ranges;
  PetscMPIInt     rank, size;
  PetscScalar     v;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatGetOwnershipRanges(A, &ranges));
  for (PetscMPIInt r = 0; r < size; r++)
    for (PetscInt i = ranges[r]; i < ranges[r + 1] && (r + offset) % size == rank; i++)
      for (PetscInt j = 0; j < N; j += 2)
        if (entry(i, j, 1, &v)) PetscCall(MatSetValue(A, i, j, 10 + v, mode));
  PetscCall(assemble(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

OPERATION(set_own_values, PetscCall(set_existing(*A, INSERT_VALUES, 0));)
OPERATION(set_values_of_other_ranks, PetscCall(set_existing(*A, INSERT_VALUES, 1));)
OPERATION(add_own_values, PetscCall(set_existing(*A, ADD_VALUES, 0));)
OPERATION(add_values_of_other_ranks, PetscCall(set_existing(*A, ADD_VALUES, 1));)

/* Rank 0 alone sets one value: the others' blocks do not change. */
static PetscErrorCode set_on_one_rank(Mat *A)
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (!rank) PetscCall(MatSetValue(*A, 0, 0, 77, INSERT_VALUES));
  PetscCall(assemble(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New nonzeros of every rank, among them off-diagonal columns that no entry had before. */
static PetscErrorCode new_nonzeros(Mat *A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt j = i % 3; j < N; j += 3) PetscCall(MatSetValue(*A, i, j, 0.125 * (PetscScalar)(j + 1), ADD_VALUES));
  PetscCall(assemble(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode flush_then_final(Mat *A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) PetscCall(MatSetValue(*A, i, i, 9, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*A, MAT_FLUSH_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FLUSH_ASSEMBLY));
  for (PetscInt i = begin; i < end; i++) PetscCall(MatSetValue(*A, i, i, 1, ADD_VALUES));
  PetscCall(assemble(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode set_values_local(Mat *A)
{
  ISLocalToGlobalMapping map;
  PetscInt               begin, end;
  IS                     own;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, end - begin, begin, 1, &own));
  PetscCall(ISLocalToGlobalMappingCreateIS(own, &map));
  PetscCall(MatSetLocalToGlobalMapping(*A, map, map));
  for (PetscInt i = 0; i < end - begin; i++) PetscCall(MatSetValueLocal(*A, i, i, -4, INSERT_VALUES));
  PetscCall(assemble(*A));
  PetscCall(ISLocalToGlobalMappingDestroy(&map));
  PetscCall(ISDestroy(&own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The arrays of the blocks, as a program that knows AIJ writes to them. */
static PetscErrorCode array_access(Mat *A)
{
  Mat          blocks[2] = {*A, NULL};
  PetscBool    mpi;
  PetscScalar *a;
  MatInfo      info;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)*A, MATMPIAIJ, &mpi));
  if (mpi) PetscCall(MatMPIAIJGetSeqAIJ(*A, &blocks[0], &blocks[1], NULL));
  for (int b = 0; b < 2 && blocks[b]; b++) {
    PetscCall(MatGetInfo(blocks[b], MAT_LOCAL, &info));
    PetscCall(MatSeqAIJGetArray(blocks[b], &a));
    for (PetscInt k = 0; k < (PetscInt)info.nz_used; k++) a[k] = a[k] * 2 + b + 1;
    PetscCall(MatSeqAIJRestoreArray(blocks[b], &a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One rank alone writes to its diagonal block: the others see no change at all. */
static PetscErrorCode array_access_on_one_rank(Mat *A)
{
  PetscMPIInt rank;
  Mat         block;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MatGetDiagonalBlock(*A, &block));
  if (!rank) PetscCall(MatScale(block, 3));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode random_values(Mat *A)
{
  PetscRandom random;

  PetscFunctionBegin;
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(PetscRandomSetSeed(random, 11));
  PetscCall(PetscRandomSeed(random));
  PetscCall(MatSetRandom(*A, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode duplicate_values(Mat *A)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(*A, MAT_COPY_VALUES, &B));
  PetscCall(MatScale(B, 2));
  PetscCall(replace(A, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode duplicate_pattern(Mat *A)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(*A, MAT_DO_NOT_COPY_VALUES, &B));
  PetscCall(use(B));
  PetscCall(set_existing(B, INSERT_VALUES, 0));
  PetscCall(replace(A, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* B = A A, then again for other values. */
static PetscErrorCode product_with_reuse(Mat *A)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatMatMult(*A, *A, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &B));
  PetscCall(use(B));
  PetscCall(MatScale(*A, 0.5));
  PetscCall(MatMatMult(*A, *A, MAT_REUSE_MATRIX, PETSC_DEFAULT, &B));
  PetscCall(replace(A, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode transpose_product_with_reuse(Mat *A)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatTransposeMatMult(*A, *A, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &B));
  PetscCall(use(B));
  PetscCall(MatScale(*A, 0.5));
  PetscCall(MatTransposeMatMult(*A, *A, MAT_REUSE_MATRIX, PETSC_DEFAULT, &B));
  PetscCall(replace(A, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C = P^T A P with a tall P: what multigrid does. */
static PetscErrorCode galerkin_with_reuse(Mat *A)
{
  Mat     P, C;
  MatType type;

  PetscFunctionBegin;
  PetscCall(MatGetType(*A, &type));
  PetscCall(make_matrix(NOT_PREALLOCATED, type, N, N / 3, 5, &P));
  PetscCall(MatPtAP(*A, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(use(C));
  PetscCall(MatScale(*A, -0.5));
  PetscCall(MatPtAP(*A, P, MAT_REUSE_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(MatDestroy(&P));
  PetscCall(replace(A, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each rank takes every second of its own rows and columns. */
static PetscErrorCode submatrix_with_reuse(Mat *A)
{
  Mat      B;
  IS       half;
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, (end - begin + 1) / 2, begin, 2, &half));
  PetscCall(MatCreateSubMatrix(*A, half, half, MAT_INITIAL_MATRIX, &B));
  PetscCall(use(B));
  PetscCall(MatScale(*A, 3));
  PetscCall(MatCreateSubMatrix(*A, half, half, MAT_REUSE_MATRIX, &B));
  PetscCall(ISDestroy(&half));
  PetscCall(replace(A, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode permute(Mat *A)
{
  Mat      B;
  IS       reversed;
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, end - begin, N - 1 - begin, -1, &reversed));
  PetscCall(ISSetPermutation(reversed));
  PetscCall(MatPermute(*A, reversed, reversed, &B));
  PetscCall(ISDestroy(&reversed));
  PetscCall(replace(A, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Another matrix's contents under the same handle. */
static PetscErrorCode header_replace(Mat *A)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(like(*A, 6, &B));
  PetscCall(use(B));
  PetscCall(MatHeaderReplace(*A, &B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix file read into a matrix that has values already. */
static PetscErrorCode load_again(Mat *A)
{
  PetscFunctionBegin;
  PetscCall(load_matrix(*A, N, N, 8));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A new set of coordinates, then new values for it twice. */
static PetscErrorCode coo_again(Mat *A)
{
  PetscInt     begin, end, n = 0, *is, *js;
  PetscScalar *v;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  PetscCall(PetscMalloc3(4 * (end - begin), &is, 4 * (end - begin), &js, 4 * (end - begin), &v));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt k = 0; k < 4; k++) is[n] = i, js[n] = (i + k * k * 5) % N, v[n++] = (PetscScalar)(1 + k + i % 3);
  PetscCall(MatSetPreallocationCOO(*A, n, is, js));
  PetscCall(MatSetValuesCOO(*A, v, INSERT_VALUES));
  PetscCall(use(*A));
  for (PetscInt k = 0; k < n; k++) v[k] = -2 * v[k];
  PetscCall(MatSetValuesCOO(*A, v, INSERT_VALUES));
  PetscCall(use(*A));
  PetscCall(MatSetValuesCOO(*A, v, ADD_VALUES));
  PetscCall(PetscFree3(is, js, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode preallocate_again(Mat *A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJSetPreallocation(*A, 2, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 2, NULL, 2, NULL));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    PetscCall(MatSetValue(*A, i, i, 2, INSERT_VALUES));
    PetscCall(MatSetValue(*A, i, (i + 20) % N, -1, INSERT_VALUES));
  }
  PetscCall(assemble(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Plain and back in place: the values change while the matrix is plain. */
static PetscErrorCode through_plain(Mat *A)
{
  MatType   type;
  char      name[64];
  PetscBool mpi;

  PetscFunctionBegin;
  PetscCall(MatGetType(*A, &type));
  PetscCall(PetscStrncpy(name, type, sizeof name));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)*A, MATMPIAIJ, &mpi));
  PetscCall(MatConvert(*A, mpi ? MATMPIAIJ : MATSEQAIJ, MAT_INPLACE_MATRIX, A));
  PetscCall(use(*A));
  PetscCall(MatScale(*A, 5));
  PetscCall(MatConvert(*A, name, MAT_INPLACE_MATRIX, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const struct {
  const char *name;
  PetscErrorCode (*run)(Mat *);
} operations[] = {
  {"scale", scale},
  {"scale by zero", scale_by_zero},
  {"shift", shift},
  {"zero entries", zero_entries},
  {"zero rows", zero_rows},
  {"zero rows, pattern kept", zero_rows_keeping_pattern},
  {"zero rows without diagonal", zero_rows_without_diagonal},
  {"zero rows and columns", zero_rows_and_columns},
  {"scale rows", scale_rows},
  {"scale columns", scale_columns},
  {"scale both", scale_both},
  {"set diagonal", set_diagonal},
  {"add to diagonal", add_to_diagonal},
  {"AXPY same", axpy_same_pattern},
  {"AXPY subset", axpy_subset_pattern},
  {"AXPY different", axpy_different_pattern},
  {"AXPY unknown", axpy_unknown_pattern},
  {"AYPX different", aypx_different_pattern},
  {"copy same", copy_same_pattern},
  {"copy different", copy_different_pattern},
  {"store and retrieve", store_and_retrieve},
  {"transpose in place", transpose_in_place},
  {"transpose to new", transpose_to_new},
  {"transpose again", transpose_again},
  {"conjugate and negate", conjugate_and_negate},
  {"real part", real_part},
  {"imaginary part", imaginary_part},
  {"filter", filter},
  {"set own values", set_own_values},
  {"set values of other ranks", set_values_of_other_ranks},
  {"add own values", add_own_values},
  {"add values of other ranks", add_values_of_other_ranks},
  {"set on one rank", set_on_one_rank},
  {"new nonzeros", new_nonzeros},
  {"flush, then final", flush_then_final},
  {"set values by local index", set_values_local},
  {"array access", array_access},
  {"array access on one rank", array_access_on_one_rank},
  {"random values", random_values},
  {"duplicate values", duplicate_values},
  {"duplicate pattern", duplicate_pattern},
  {"product with reuse", product_with_reuse},
  {"transpose product with reuse", transpose_product_with_reuse},
  {"Galerkin product with reuse", galerkin_with_reuse},
  {"submatrix with reuse", submatrix_with_reuse},
  {"permute", permute},
  {"header replace", header_replace},
  {"load again", load_again},
  {"COO again", coo_again},
  {"preallocate again", preallocate_again},
  {"through plain", through_plain},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* A comparison that could not tell the matrix before from the one after would pass with a stale compressed form. */
static int differs(Mat before, Mat after)
{
  PetscInt  rows[2], cols[2];
  PetscBool same;
  OK(MatGetSize(before, &rows[0], &cols[0]));
  OK(MatGetSize(after, &rows[1], &cols[1]));
  if (rows[0] != rows[1] || cols[0] != cols[1]) return 1;
  OK(MatMultEqual(before, after, 2, &same));
  return !same;
}

START_TEST(products_follow)
{
  char when[128];
  int  o = _i / (WAYS * TYPES), how = _i / TYPES % WAYS, type = _i % TYPES;
  Mat  A, P, before;
  if (type == PARALLEL_TYPE && ranks() > 1) return; /* is the root type there */
#if PETSC_VERSION_LT(3, 19, 0) /* frees arrays that COO assembly made as one, also of plain matrices */
  if (operations[o].run == new_nonzeros && how == COO && ranks() > 1) return;
#endif
  snprintf(when, sizeof when, "%s, %s, %s", operations[o].name, way_names[how], our_type(type));
  OK(make_matrix(how, our_type(type), N, N, 1, &A));
  OK(make_matrix(how, plain_type(type), N, N, 1, &P));
  assert_same_products(A, P, when);
  OK(MatDuplicate(P, MAT_COPY_VALUES, &before));
  OK((*operations[o].run)(&A));
  OK((*operations[o].run)(&P));
  ck_assert_msg(differs(before, P), "%s changes nothing", when);
  if (operations[o].run != permute) assert_ours(A, when); /* PETSc permutes into a new matrix of its own type */
  assert_same_products(A, P, when);
  OK(MatScale(A, -2)); /* and the form made after the operation goes stale in its turn */
  OK(MatScale(P, -2));
  assert_same_products(A, P, when);
  OK(MatDestroy(&A));
  OK(MatDestroy(&P));
  OK(MatDestroy(&before));
}
END_TEST

static Suite *operations_suite(void)
{
  Suite *s = suite_create("operations that change a PETSc matrix");
  TCase *t = tcase_create("operations");
  tcase_add_loop_test(t, products_follow, 0, OPERATIONS * WAYS * TYPES);
  suite_add_tcase(s, t);
  return s;
}

int main(int argc, char **argv)
{
  return run_suite(argc, argv, operations_suite, 1);
}
