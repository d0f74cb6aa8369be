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

/* A dense matrix of two columns and of as many rows as A has, so that PETSc has nothing against it: the last rank has those that
   rank 0 lacks. */
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

/* A product that is set up may get operands of other sizes, for which the result has no room. */
START_TEST(dense_products_that_outgrow_their_result)
{
  static const char *const all_types[] = {MATMACKO, MATMPIMACKO, MATSEQAIJMACKO};
  PetscErrorCode (*multiply)(Mat, Mat, MatReuse, PetscReal, Mat *) = _i % 2 ? MatTransposeMatMult : MatMatMult;
  const char    *type = all_types[_i / 2];
  Mat            A, larger, few, many, long_one, C;
  if (ranks() > 1 && type == all_types[2]) return; /* AIJ multiplies there, block by block */
  A = filled(type), larger = empty(type, 2 * LOCAL);
  set(larger, 0, 0, 1, INSERT_VALUES);
  assemble(larger, MAT_FINAL_ASSEMBLY);
  OK(make_dense(MATDENSE, LOCAL, PETSC_DECIDE, PETSC_DETERMINE, 2, &few));
  OK(make_dense(MATDENSE, LOCAL, PETSC_DECIDE, PETSC_DETERMINE, 200, &many));
  OK(make_dense(MATDENSE, 2 * LOCAL, PETSC_DECIDE, PETSC_DETERMINE, 2, &long_one));
  OK((*multiply)(A, few, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  OK(MatProductReplaceMats(NULL, many, NULL, C));
  REFUSED(MatProductNumeric(C), PETSC_ERR_ARG_SIZ, "200 columns of the dense matrix, and 2 of its product");
  OK(MatProductReplaceMats(larger, few, NULL, C));
  REFUSED(MatProductNumeric(C), PETSC_ERR_ARG_SIZ, "3 rows of the dense matrix on this rank, not 6");
  OK(MatProductReplaceMats(NULL, long_one, NULL, C));
  REFUSED(MatProductNumeric(C), PETSC_ERR_ARG_SIZ, "3 rows of the product on this rank, not 6");
  DESTROY(&A, &larger, &few, &many, &long_one, &C);
}
END_TEST

START_TEST(scaled_by_other_vectors)
{
  const PetscInt by = _i % 2 ? 1 : -1;
  Mat            A = filled(types[_i / 2]), before;
  Vec            v = longer(by), good = longer(0);
  char           expected[64];
  snprintf(expected, sizeof expected, "rank 0: %d elements of the left vector on this rank, not 3", (int)(LOCAL + by));
  OK(MatDuplicate(A, MAT_COPY_VALUES, &before));
  REFUSED(MatDiagonalScale(A, v, good), PETSC_ERR_ARG_SIZ, expected);
  snprintf(expected, sizeof expected, "rank 0: %d elements of the right vector on this rank, not 3", (int)(LOCAL + by));
  REFUSED(MatDiagonalScale(A, good, v), PETSC_ERR_ARG_SIZ, expected);
  REFUSED(MatDiagonalScale(A, NULL, v), PETSC_ERR_ARG_SIZ, expected);
  assert_same_entries(A, before, 0, "after refusals");
  OK(VecDestroy(&v));
  OK(VecDestroy(&good));
  DESTROY(&A, &before);
}
END_TEST

/* A vector of as many elements as A has rows, of which no rank has LOCAL, so that every rank finds it by itself: products do not
   ask the others. */
static Vec uneven(void)
{
  Vec            v;
  const PetscInt last = ranks() - 1, by = my_rank() < last ? 1 : -last;
  OK(VecCreate(PETSC_COMM_WORLD, &v));
  OK(VecSetSizes(v, LOCAL + by, PETSC_DETERMINE));
  OK(VecSetType(v, VECSTANDARD));
  OK(VecSet(v, 1));
  return v;
}

/* PETSc itself compares the sizes of some of these vectors on each rank, and of others on all ranks together only. */
START_TEST(products_with_other_vectors)
{
  static const char *const all_types[] = {MATMACKO, MATAIJMACKO};
  Mat                      A = filled(all_types[_i]);
  Vec                      v = uneven(), x = longer(0), y = longer(0);
  if (ranks() > 1) {
    REFUSED(MatMult(A, v, y), PETSC_ERR_ARG_SIZ, "");
    REFUSED(MatMult(A, x, v), PETSC_ERR_ARG_SIZ, "");
    REFUSED(MatMultAdd(A, v, x, y), PETSC_ERR_ARG_SIZ, "");
    REFUSED(MatMultAdd(A, x, v, y), PETSC_ERR_ARG_SIZ, "");
    REFUSED(MatMultTranspose(A, v, y), PETSC_ERR_ARG_SIZ, "");
    REFUSED(MatMultTranspose(A, x, v), PETSC_ERR_ARG_SIZ, "");
    REFUSED(MatMultTransposeAdd(A, v, x, y), PETSC_ERR_ARG_SIZ, "");
    REFUSED(MatMultTransposeAdd(A, x, v, y), PETSC_ERR_ARG_INCOMP, ""); /* by VecCopy */
    REFUSED(MatMultTransposeAdd(A, x, y, v), PETSC_ERR_ARG_SIZ, "");
  }
  OK(VecDestroy(&v));
  OK(VecDestroy(&x));
  OK(VecDestroy(&y));
  DESTROY(&A);
}
END_TEST

/* Of two matrices with as many rows and columns the last rank has what rank 0 lacks; in between nothing differs. */
START_TEST(copies_into_other_layouts)
{
  Mat A = filled(types[_i]), B;
  if (ranks() > 1) {
    B = empty(types[_i], LOCAL + (!my_rank() ? -1 : my_rank() == ranks() - 1));
    set(B, 0, 0, 1, INSERT_VALUES);
    assemble(B, MAT_FINAL_ASSEMBLY);
    REFUSED(MatCopy(A, B, DIFFERENT_NONZERO_PATTERN), PETSC_ERR_ARG_SIZ, "2 rows of the matrix that is copied to on this rank");
    OK(MatDestroy(&B));
  }
  OK(MatDestroy(&A));
}
END_TEST

void add_layout_tests(TCase *t)
{
  tcase_add_loop_test(t, scaled_by_other_vectors, 0, 4);
  tcase_add_loop_test(t, products_with_other_vectors, 0, 2);
  tcase_add_loop_test(t, copies_into_other_layouts, 0, 2);
  tcase_add_loop_test(t, dense_products_with_other_layouts, 0, 8);
  tcase_add_loop_test(t, dense_products_that_outgrow_their_result, 0, 6);
  tcase_add_loop_test(t, row_numbers_into_other_vectors, 0, 4);
}
