/* Operations that change a matrix in its place: values, and entries. */
#include "changes.h"

PetscInt size_of(Mat A)
{
  PetscInt rows;
  return MatGetSize(A, &rows, NULL) ? 0 : rows;
}

PetscErrorCode like(Mat A, unsigned seed, Mat *B)
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

PetscErrorCode assemble(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode replace(Mat *A, Mat B)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(A));
  *A = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode use(Mat A)
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
#define WITH_COPY(...) \
  Mat B; \
  PetscCall(MatDuplicate(*A, MAT_COPY_VALUES, &B)); \
  __VA_ARGS__ \
  PetscCall(MatDestroy(&B));
#define WITH_DIAGONAL(...) \
  Vec d; \
  PetscCall(diagonal_vector(*A, &d)); \
  __VA_ARGS__ \
  PetscCall(VecDestroy(&d));

/* Two rows of which the calling rank names the ones it likes: all ranks name row 2, rank 0 also the last. */
#define ROWS \
  PetscInt    rows[2] = {2, size_of(*A) - 1}; \
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
OPERATION(axpy_same_pattern, WITH_COPY(PetscCall(MatScale(B, 3)); PetscCall(MatAXPY(*A, 0.5, B, SAME_NONZERO_PATTERN));))
OPERATION(axpy_different_pattern, WITH_OTHER(2, PetscCall(MatAXPY(*A, 0.5, B, DIFFERENT_NONZERO_PATTERN));))
OPERATION(axpy_unknown_pattern, WITH_OTHER(3, PetscCall(MatAXPY(*A, -2, B, UNKNOWN_NONZERO_PATTERN));))
OPERATION(aypx_different_pattern, WITH_OTHER(2, PetscCall(MatAYPX(*A, 0.5, B, DIFFERENT_NONZERO_PATTERN));))
OPERATION(copy_same_pattern, WITH_COPY(PetscCall(MatScale(B, 3)); PetscCall(MatCopy(B, *A, SAME_NONZERO_PATTERN));))
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
  PetscCall(MatSetSizes(B, PETSC_DECIDE, PETSC_DECIDE, size_of(*A), size_of(*A)));
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

PetscErrorCode set_existing(Mat A, InsertMode mode, PetscInt offset)
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
      for (PetscInt j = 0; j < size_of(A); j += 2)
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
    for (PetscInt j = i % 3; j < size_of(*A); j += 3) PetscCall(MatSetValue(*A, i, j, 0.125 * (PetscScalar)(j + 1), ADD_VALUES));
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

const change changes_in_place[] = {
  {.name = "scale", .run = scale},
  {.name = "scale by zero", .run = scale_by_zero},
  {.name = "shift", .run = shift},
  {.name = "zero entries", .run = zero_entries},
  {.name = "zero rows", .run = zero_rows},
  {.name = "zero rows, pattern kept", .run = zero_rows_keeping_pattern, .diagonal = 1},
  {.name = "zero rows without diagonal", .run = zero_rows_without_diagonal},
  {.name = "zero rows and columns", .run = zero_rows_and_columns},
  {.name = "scale rows", .run = scale_rows},
  {.name = "scale columns", .run = scale_columns},
  {.name = "scale both", .run = scale_both},
  {.name = "set diagonal", .run = set_diagonal},
  {.name = "add to diagonal", .run = add_to_diagonal},
  {.name = "AXPY same", .run = axpy_same_pattern},
  {.name = "AXPY subset", .run = axpy_subset_pattern, .diagonal = 1},
  {.name = "AXPY different", .run = axpy_different_pattern},
  {.name = "AXPY unknown", .run = axpy_unknown_pattern},
  {.name = "AYPX different", .run = aypx_different_pattern},
  {.name = "copy same", .run = copy_same_pattern},
  {.name = "copy different", .run = copy_different_pattern},
  {.name = "store and retrieve", .run = store_and_retrieve, .stores = 1},
  {.name = "transpose in place", .run = transpose_in_place},
  {.name = "transpose to new", .run = transpose_to_new},
  {.name = "transpose again", .run = transpose_again},
  {.name = "conjugate and negate", .run = conjugate_and_negate},
  {.name = "real part", .run = real_part},
  {.name = "imaginary part", .run = imaginary_part},
  {.name = "filter", .run = filter},
  {.name = "set own values", .run = set_own_values},
  {.name = "set values of other ranks", .run = set_values_of_other_ranks},
  {.name = "add own values", .run = add_own_values},
  {.name = "add values of other ranks", .run = add_values_of_other_ranks},
  {.name = "set on one rank", .run = set_on_one_rank},
  {.name = "new nonzeros", .run = new_nonzeros},
  {.name = "flush, then final", .run = flush_then_final},
  {.name = "set values by local index", .run = set_values_local},
  {.name = "array access", .run = array_access},
  {.name = "array access on one rank", .run = array_access_on_one_rank},
  {.name = "random values", .run = random_values},
  {.name = NULL},
};
