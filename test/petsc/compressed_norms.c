/* Type macko: norms, and which rows have values, where ranks have no rows or values are NaN. */
#include "compressed.h"

#include <math.h>

/* PETSc keeps norms of vectors, and must forget those of a product on all ranks alike. */
START_TEST(norms_where_ranks_have_no_rows)
{
  for (int empty_rank = 0; empty_rank < ranks(); empty_rank++) {
    Mat       both[2];
    Vec       x, y;
    PetscReal norms[2][3];
    for (int plain = 0; plain < 2; plain++) {
      PetscInt n = ranks() > 1 && my_rank() == empty_rank ? 0 : 3;
      Mat      A = both[plain] = empty(plain ? MATAIJ : MATMACKO, n);
      for (PetscInt i = 0; i < n; i++) set(A, i, 0, 2 + (PetscScalar)(my_rank() + i), INSERT_VALUES);
      assemble(A, MAT_FINAL_ASSEMBLY);
      OK(MatCreateVecs(A, &x, &y));
      OK(VecSet(x, 1));
      OK(VecNorm(x, NORM_2, &norms[plain][0]));
      OK(VecSet(y, 0));
      OK(VecNorm(y, NORM_2, &norms[plain][0]));
      OK(MatMult(A, x, y));
      OK(VecNorm(y, NORM_2, &norms[plain][0]));
      OK(MatMultAdd(A, x, x, y));
      OK(VecNorm(y, NORM_2, &norms[plain][1]));
      OK(MatMultAdd(A, x, y, y));
      OK(VecNorm(y, NORM_2, &norms[plain][2]));
      OK(VecDestroy(&x));
      OK(VecDestroy(&y));
    }
    for (int k = 0; k < 3; k++)
      ASSERT_ALL(norms[0][k] == norms[1][k], "rank %d has no rows: norm %d is %g, not %g", empty_rank, k, norms[0][k], norms[1][k]);
    OK(MatDestroy(&both[0]));
    OK(MatDestroy(&both[1]));
  }
}
END_TEST

/* Sums that are NaN leave the norms as they are, whichever rank has them. AIJ's norms depend on the rank and on PETSc's version. */
START_TEST(norms_with_nan)
{
  for (int place = 0; place < ranks(); place++) {
    const PetscReal expected = place == ranks() - 1 ? ranks() + 1 : ranks() + 2;
    PetscReal       norms[2];
    Mat             A = empty(MATMACKO, 3);
    for (PetscInt i = 0; i < 3; i++)
      set(A, i, 0, my_rank() == place && i == 2 ? NAN : 1 + (PetscScalar)(my_rank() + i), INSERT_VALUES);
    assemble(A, MAT_FINAL_ASSEMBLY);
    OK(MatNorm(A, NORM_1, &norms[0]));
    OK(MatNorm(A, NORM_INFINITY, &norms[1]));
    for (int k = 0; k < 2; k++)
      ASSERT_ALL(norms[k] == expected, "NaN on rank %d: norm %d is %g, not %g", place, k, norms[k], expected);
    OK(MatDestroy(&A));
  }
}
END_TEST

/* Entries that are zero make no row, NaN does, and where all rows have some there is no list. */
START_TEST(rows_with_values_are_found)
{
  static const PetscScalar values[][3] = {{1, 0, NAN}, {0, 0, -2}, {1, 2, 3}, {0, 0, 0}};
  IS                       found[2];
  PetscBool                equal;
  Mat                      both[2];
  for (int k = 0; k < 4; k++) {
    for (int plain = 0; plain < 2; plain++) {
      both[plain] = empty(plain ? MATAIJ : MATMACKO, 4);
      for (PetscInt i = 0; i < 4; i++) set(both[plain], i, i, values[(k + my_rank() * (k != 2)) % 4][i % 3], INSERT_VALUES);
      assemble(both[plain], MAT_FINAL_ASSEMBLY);
      OK(MatFindNonzeroRows(both[plain], &found[plain]));
    }
    ASSERT_ALL(!found[0] == !found[1], "case %d: %s list", k, found[0] ? "a" : "no");
    if (found[0]) OK(ISEqual(found[0], found[1], &equal));
    ASSERT_ALL(!found[0] || equal, "case %d: other rows have values", k);
    for (int plain = 0; plain < 2; plain++) OK(ISDestroy(&found[plain]));
    DESTROY(&both[0], &both[1]);
  }
}
END_TEST

void add_norm_tests(TCase *t)
{
  tcase_add_test(t, norms_where_ranks_have_no_rows);
  tcase_add_test(t, norms_with_nan);
  tcase_add_test(t, rows_with_values_are_found);
}
