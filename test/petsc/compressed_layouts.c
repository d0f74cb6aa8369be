/* Type macko with vectors and matrices that ranks share in another way than it: all ranks refuse them. */
#include "compressed.h"

enum { LOCAL = 3 }; /* rows, and columns, of every rank */

/* A matrix with entries in both blocks. */
static Mat filled(const char *type)
{
  Mat A = empty(type, LOCAL);
  for (PetscInt i = 0; i < LOCAL; i++) {
    set(A, i, 0, 2 + i, INSERT_VALUES);
    set(A, i, LOCAL, 1, INSERT_VALUES);
  }
  assemble(A, MAT_FINAL_ASSEMBLY);
  return A;
}

/* A vector of ones that has so many elements more than LOCAL on rank 0, or fewer. */
static Vec longer(PetscInt by)
{
  Vec v;
  OK(VecCreate(PETSC_COMM_WORLD, &v));
  OK(VecSetSizes(v, LOCAL + (my_rank() ? 0 : by), PETSC_DETERMINE));
  OK(VecSetType(v, VECSTANDARD));
  OK(VecSet(v, 1));
  return v;
}

static const char *const types[] = {MATMACKO, MATMPIMACKO};

/* Later versions of PETSc find by themselves, on one rank alone, a vector that is too short for a diagonal. */
START_TEST(row_numbers_into_other_vectors)
{
  const PetscInt by = _i % 2 ? 2 : -1;
  Mat            A = filled(types[_i / 2]), before;
  Vec            v = longer(by);
  char           expected[64];
  snprintf(expected, sizeof expected, "rank 0: %d elements of the vector on this rank, not 3", (int)(LOCAL + by));
  OK(MatDuplicate(A, MAT_COPY_VALUES, &before));
  if (by > 0 || PETSC_VERSION_LT(3, 19, 0)) REFUSED(MatGetDiagonal(A, v), PETSC_ERR_ARG_SIZ, expected);
  REFUSED(MatGetRowMaxAbs(A, v, NULL), PETSC_ERR_ARG_SIZ, expected);
#if PETSC_VERSION_GE(3, 20, 0)
  REFUSED(MatGetRowSumAbs(A, v), PETSC_ERR_ARG_SIZ, expected);
#endif
  assert_same_entries(A, before, 0, "after refusals");
  OK(VecDestroy(&v));
  DESTROY(&A, &before);
}
END_TEST

/* A dense matrix of two columns and of as many rows as A has, so that PETSc has nothing against it: the last rank has those that rank
   0 lacks. */
static Mat shifted_dense(PetscInt by)
{
  Mat B;
  OK(make_dense(MATDENSE, LOCAL + (!my_rank() ? by : my_rank() == ranks() - 1 ? -by : 0), PETSC_DECIDE, PETSC_DETERMINE, 2, &B));
  return B;
}

START_TEST(dense_products_with_other_layouts)
{
  PetscErrorCode (*multiply)(Mat, Mat, MatReuse, PetscReal, Mat *) = _i / 2 % 2 ? MatTransposeMatMult : MatMatMult;
  const PetscInt by = _i % 2 ? 1 : -1;
  Mat            A = filled(types[_i / 4]), B = shifted_dense(by), good = shifted_dense(0), C = NULL;
  char           expected[64];
  if (ranks() == 1) { /* PETSc compares that itself */
    DESTROY(&A, &B, &good);
    return;
  }
  snprintf(expected, sizeof expected, "%d rows of the dense matrix on this rank, not 3", (int)(LOCAL + by));
  REFUSED((*multiply)(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C), PETSC_ERR_ARG_SIZ, expected);
  OK((*multiply)(A, good, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  OK(MatProductReplaceMats(NULL, B, NULL, C));
  REFUSED(MatProductNumeric(C), PETSC_ERR_ARG_SIZ, expected);
  DESTROY(&A, &B, &good, &C);
}
END_TEST

void add_layout_tests(TCase *t)
{
  tcase_add_loop_test(t, dense_products_with_other_layouts, 0, 8);
  tcase_add_loop_test(t, row_numbers_into_other_vectors, 0, 4);
}
