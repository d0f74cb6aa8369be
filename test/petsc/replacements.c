/* Operations that put another matrix in the place of the first: copies, products, parts, files. */
#include "changes.h"

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
  PetscCall(make_matrix(NOT_PREALLOCATED, type, size_of(*A), size_of(*A) / 3, 5, &P));
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
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, end - begin, size_of(*A) - 1 - begin, -1, &reversed));
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
  PetscCall(load_matrix(*A, size_of(*A), size_of(*A), 8));
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
    for (PetscInt k = 0; k < 4; k++) is[n] = i, js[n] = (i + k * k * 5) % size_of(*A), v[n++] = (PetscScalar)(1 + k + i % 3);
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
    PetscCall(MatSetValue(*A, i, (i + size_of(*A) / 2) % size_of(*A), -1, INSERT_VALUES));
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

const change changes_by_replacement[] = {
  {.name = "duplicate values", .run = duplicate_values},
  {.name = "duplicate pattern", .run = duplicate_pattern},
  {.name = "product with reuse", .run = product_with_reuse},
  {.name = "transpose product with reuse", .run = transpose_product_with_reuse},
  {.name = "Galerkin product with reuse", .run = galerkin_with_reuse, .least = 36},
  {.name = "submatrix with reuse", .run = submatrix_with_reuse, .least = 24},
  {.name = "permute", .run = permute, .plain_type = 1},
  {.name = "header replace", .run = header_replace},
  {.name = "load again", .run = load_again},
  {.name = "COO again", .run = coo_again},
  {.name = "preallocate again", .run = preallocate_again},
  {.name = "through plain", .run = through_plain},
  {.name = NULL},
};

const change *change_at(int i)
{
  int n = 0;
  while (n < i && changes_in_place[n].name) n++;
  if (n == i && changes_in_place[n].name) return &changes_in_place[i];
  return changes_by_replacement[i - n].name ? &changes_by_replacement[i - n] : NULL;
}
