/* Type macko by MatSetValues as PETSc's rules have it: flushes, options of MatSetOption, lists that begin anew. Each
 * against plain AIJ, which gets the same calls. */
#include "compressed.h"

Mat empty(const char *type, PetscInt local)
{
  Mat A;
  OK(MatCreate(PETSC_COMM_WORLD, &A));
  OK(MatSetSizes(A, local, local, PETSC_DETERMINE, PETSC_DETERMINE));
  OK(MatSetType(A, type));
  OK(MatSeqAIJSetPreallocation(A, 4, NULL));
  OK(MatMPIAIJSetPreallocation(A, 4, NULL, 4, NULL));
  OK(MatSetUp(A));
  return A;
}

PetscMPIInt my_rank(void)
{
  PetscMPIInt rank;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  return rank;
}

void assemble(Mat A, MatAssemblyType how)
{
  OK(MatAssemblyBegin(A, how));
  OK(MatAssemblyEnd(A, how));
}

void set(Mat A, PetscInt i, PetscInt distance, PetscScalar value, InsertMode mode)
{
  PetscInt first, cols;
  OK(MatGetOwnershipRange(A, &first, NULL));
  OK(MatGetSize(A, NULL, &cols));
  OK(MatSetValue(A, first + i, (first + i + distance) % cols, value, mode));
}

/* ---- calls that both types get ---- */

static void flush_between_modes(Mat A)
{
  set(A, 0, 0, 1, INSERT_VALUES);
  set(A, 0, 0, 2, INSERT_VALUES);
  assemble(A, MAT_FLUSH_ASSEMBLY);
  set(A, 0, 0, 3, ADD_VALUES);
  set(A, 1, 1, 4, ADD_VALUES);
  assemble(A, MAT_FINAL_ASSEMBLY);
  set(A, 0, 0, 100, INSERT_VALUES);
  assemble(A, MAT_FLUSH_ASSEMBLY);
  set(A, 1, 0, 7, ADD_VALUES);
  assemble(A, MAT_FINAL_ASSEMBLY);
  set(A, 0, 0, 1, ADD_VALUES);
  assemble(A, MAT_FLUSH_ASSEMBLY);
  set(A, 1, 0, 7, INSERT_VALUES);
}

static void flush_without_entries(Mat A)
{
  assemble(A, MAT_FLUSH_ASSEMBLY);
  set(A, 1, 0, 7, INSERT_VALUES);
  assemble(A, MAT_FLUSH_ASSEMBLY);
  assemble(A, MAT_FLUSH_ASSEMBLY);
}

/* Zeroed before there are entries, between a flush and the end, and after; places are new from the end of the first assembly on. */
static void zeroed_at_any_time(Mat A)
{
  OK(MatZeroEntries(A));
  set(A, 0, 0, 1, INSERT_VALUES);
  assemble(A, MAT_FLUSH_ASSEMBLY);
  OK(MatZeroEntries(A));
  set(A, 0, 1, 2, ADD_VALUES);
  assemble(A, MAT_FINAL_ASSEMBLY);
  OK(MatZeroEntries(A));
  set(A, 0, 1, 4, ADD_VALUES);
}

/* Values of the second list are added to nothing, and its places are all that there are. */
static void zeroed_between_lists(Mat A)
{
  const PetscScalar values[] = {1, 2};
  PetscInt          first;
  OK(MatGetOwnershipRange(A, &first, NULL));
  OK(MatSetPreallocationCOO(A, 2, (PetscInt[]){first, first + 1}, (PetscInt[]){first, first}));
  OK(MatSetValuesCOO(A, values, INSERT_VALUES));
  OK(MatSetPreallocationCOO(A, 1, (PetscInt[]){first + 1}, (PetscInt[]){first + 1}));
  OK(MatZeroEntries(A));
  OK(MatSetValuesCOO(A, values, ADD_VALUES));
}

/* The matrix has entries on the diagonal before new places are left out. */
static void new_places_left_out(Mat A)
{
  for (PetscInt i = 0; i < 2; i++) set(A, i, 0, 1, INSERT_VALUES);
  assemble(A, MAT_FINAL_ASSEMBLY);
  OK(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  set(A, 0, 0, 2, ADD_VALUES);
  set(A, 0, 1, 5, ADD_VALUES);
  set(A, 1, 1, 5, ADD_VALUES);
  assemble(A, MAT_FINAL_ASSEMBLY);
  OK(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
  set(A, 1, 2, 6, INSERT_VALUES);
}

/* New places are left out from the call on, within the first assembly, too. */
static void new_places_left_out_soon(Mat A)
{
  set(A, 0, 0, 1, INSERT_VALUES);
  set(A, 0, 1, 2, INSERT_VALUES);
  OK(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  set(A, 0, 1, 3, INSERT_VALUES);
  set(A, 0, 2, 4, INSERT_VALUES);
  OK(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
  set(A, 1, 0, 5, INSERT_VALUES);
  assemble(A, MAT_FLUSH_ASSEMBLY);
  OK(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  set(A, 0, 1, 6, ADD_VALUES);
  set(A, 1, 1, 7, ADD_VALUES);
  set(A, 2, 0, 8, ADD_VALUES);
}

/* What has come since the last assembly is no new place. */
static void places_that_came(Mat A)
{
  set(A, 0, 0, 1, INSERT_VALUES);
  assemble(A, MAT_FINAL_ASSEMBLY);
  set(A, 0, 1, 2, INSERT_VALUES);
  OK(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_TRUE));
  set(A, 0, 1, 3, INSERT_VALUES);
  OK(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  set(A, 0, 1, 4, INSERT_VALUES);
  set(A, 0, 2, 5, INSERT_VALUES);
}

static void zeros_left_out(Mat A)
{
  OK(MatSetOption(A, MAT_IGNORE_ZERO_ENTRIES, PETSC_TRUE));
  set(A, 0, 0, 0, INSERT_VALUES);
  set(A, 0, 1, 0, INSERT_VALUES);
  set(A, 0, 2, 5, INSERT_VALUES);
  set(A, 0, 2, 0, INSERT_VALUES);
  set(A, 2, 0, 8, INSERT_VALUES);
  assemble(A, MAT_FINAL_ASSEMBLY);
  set(A, 0, 2, 3, ADD_VALUES);
  set(A, 1, 1, 0, ADD_VALUES);
  assemble(A, MAT_FINAL_ASSEMBLY);
  set(A, 0, 2, 0, INSERT_VALUES);
}

/* Each rank sets entries of the next rank's first row, too. */
static void other_ranks_rows_left_out(Mat A)
{
  PetscInt rows, past;
  OK(MatSetOption(A, MAT_IGNORE_OFF_PROC_ENTRIES, PETSC_TRUE));
  set(A, 0, 0, 1, INSERT_VALUES);
  OK(MatGetSize(A, &rows, NULL));
  OK(MatGetOwnershipRange(A, NULL, &past));
  if (ranks() > 1) OK(MatSetValue(A, past % rows, past % rows, 9, INSERT_VALUES));
  set(A, 1, 0, 2, INSERT_VALUES);
}

/* Another list, whose values are added to nothing. */
static void second_list(Mat A)
{
  const PetscScalar values[] = {1, 2, 3};
  PetscInt          first, next, cols;
  OK(MatGetOwnershipRange(A, &first, NULL));
  OK(MatGetSize(A, NULL, &cols));
  next = (first + 1) % cols;
  OK(MatSetPreallocationCOO(A, 2, (PetscInt[]){first, first}, (PetscInt[]){first, next}));
  OK(MatSetValuesCOO(A, values, INSERT_VALUES));
  OK(MatSetPreallocationCOO(A, 3, (PetscInt[]){first + 1, first + 1, first}, (PetscInt[]){first, next, next}));
  OK(MatSetValuesCOO(A, values, ADD_VALUES));
}

static const struct {
  const char *name;
  void (*run)(Mat A);
} calls[] = {{"flushes between inserting and adding", flush_between_modes},
             {"flushes without entries", flush_without_entries},
             {"zeroed at any time", zeroed_at_any_time},
             {"zeroed between lists", zeroed_between_lists},
             {"new places left out", new_places_left_out},
             {"new places left out soon", new_places_left_out_soon},
             {"places that came", places_that_came},
             {"zeros left out", zeros_left_out},
             {"rows of other ranks left out", other_ranks_rows_left_out},
             {"a second list", second_list}};
enum { CALLS = sizeof calls / sizeof *calls };

START_TEST(calls_do_what_aij_does)
{
  Mat       both[2];
  MatInfo   info[2];
  PetscBool assembled;
  for (int plain = 0; plain < 2; plain++) {
    both[plain] = empty(plain ? MATAIJ : MATMACKO, 3);
    OK(MatSetOption(both[plain], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    calls[_i].run(both[plain]);
    OK(MatAssembled(both[plain], &assembled));
    if (!assembled) assemble(both[plain], MAT_FINAL_ASSEMBLY);
    OK(MatGetInfo(both[plain], MAT_GLOBAL_SUM, &info[plain]));
  }
  assert_same_entries(both[0], both[1], 0, calls[_i].name);
  assert_same_products(both[0], both[1], calls[_i].name);
  ASSERT_ALL(info[0].nz_used == info[1].nz_used, "%s: %g entries, not %g", calls[_i].name, info[0].nz_used, info[1].nz_used);
  DESTROY(&both[0], &both[1]);
}
END_TEST

/* ---- refusals ---- */

/* What was flushed is no matrix to multiply with, nor is one whose list was replaced. */
START_TEST(unassembled_until_the_end)
{
  Mat       A = empty(MATMACKO, 2);
  PetscBool assembled;
  PetscInt  first;
  set(A, 0, 0, 1, INSERT_VALUES);
  assemble(A, MAT_FLUSH_ASSEMBLY);
  OK(MatAssembled(A, &assembled));
  ASSERT_ALL(!assembled, "assembled by a flush");
  assemble(A, MAT_FINAL_ASSEMBLY);
  OK(MatGetOwnershipRange(A, &first, NULL));
  OK(MatSetPreallocationCOO(A, 1, (PetscInt[]){first}, (PetscInt[]){first}));
  OK(MatAssembled(A, &assembled));
  ASSERT_ALL(!assembled, "assembled before values of its list came");
  OK(MatDestroy(&A));
}
END_TEST

START_TEST(new_places_refused)
{
  static const MatOption options[] = {MAT_NEW_NONZERO_LOCATION_ERR, MAT_NEW_NONZERO_ALLOCATION_ERR};
  for (int k = 0; k < 2; k++) {
    Mat      A = empty(MATMACKO, 2);
    PetscInt first, cols;
    OK(MatGetOwnershipRange(A, &first, NULL));
    OK(MatGetSize(A, NULL, &cols));
    set(A, 0, 0, 1, INSERT_VALUES);
    assemble(A, MAT_FINAL_ASSEMBLY);
    OK(MatSetOption(A, options[k], PETSC_TRUE));
    set(A, 0, 0, 2, INSERT_VALUES);
    REFUSED(MatSetValue(A, first, (first + 1) % cols, 5, INSERT_VALUES), PETSC_ERR_ARG_OUTOFRANGE, "forbids new ones");
    assemble(A, MAT_FINAL_ASSEMBLY);
    OK(MatDestroy(&A));
  }
}
END_TEST

/* Nothing is assembled by it, and the product with no entries is 0. */
START_TEST(zeroed_and_nothing_else)
{
  Mat       A = empty(MATMACKO, 3);
  Vec       x, y;
  PetscReal norm;
  PetscBool assembled;
  OK(MatZeroEntries(A));
  OK(MatAssembled(A, &assembled));
  ASSERT_ALL(!assembled, "assembled by MatZeroEntries");
  assemble(A, MAT_FINAL_ASSEMBLY);
  OK(MatCreateVecs(A, &x, &y));
  OK(VecSet(x, 1));
  OK(VecSet(y, 77));
  OK(MatMult(A, x, y));
  OK(VecNorm(y, NORM_2, &norm));
  ASSERT_ALL(norm == 0, "a product of norm %g", norm);
  OK(VecDestroy(&x));
  OK(VecDestroy(&y));
  OK(MatDestroy(&A));
}
END_TEST

/* Within the first assembly no place is new to MAT_NEW_NONZERO_ALLOCATION_ERR, whatever was flushed, but to
   MAT_NEW_NONZERO_LOCATION_ERR once there are entries. */
START_TEST(new_places_before_the_end)
{
  PetscInt first, cols;
  Mat A = empty(MATMACKO, 2);
  OK(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_TRUE));
  OK(MatZeroEntries(A));
  set(A, 0, 0, 1, INSERT_VALUES);
  assemble(A, MAT_FLUSH_ASSEMBLY);
  set(A, 0, 1, 1, ADD_VALUES);
  OK(MatGetOwnershipRange(A, &first, NULL));
  OK(MatGetSize(A, NULL, &cols));
  OK(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_TRUE));
  REFUSED(MatSetValue(A, first + 1, (first + 2) % cols, 5, ADD_VALUES), PETSC_ERR_ARG_OUTOFRANGE, "forbids new ones");
  assemble(A, MAT_FINAL_ASSEMBLY);
  OK(MatDestroy(&A));
}
END_TEST

START_TEST(options_that_cannot_be_followed)
{
  Mat A = empty(MATMACKO, 2);
  OK(MatSetOption(A, MAT_STRUCTURE_ONLY, PETSC_FALSE));
  REFUSED(MatSetOption(A, MAT_STRUCTURE_ONLY, PETSC_TRUE), PETSC_ERR_SUP, "STRUCTURE_ONLY is not supported for this type");
  OK(MatDestroy(&A));
}
END_TEST

/* Type sbaij takes symmetric matrices only, and asks what is known. */
START_TEST(symmetry_goes_along)
{
  Mat       A = empty(MATMACKO, 2), S;
  PetscBool equal;
  for (PetscInt i = 0; i < 2; i++) set(A, i, 0, 1, INSERT_VALUES);
  assemble(A, MAT_FINAL_ASSEMBLY);
  OK(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  OK(MatConvert(A, MATSBAIJ, MAT_INITIAL_MATRIX, &S));
  OK(MatMultEqual(A, S, 3, &equal));
  ASSERT_ALL(equal, "sbaij has other products");
  DESTROY(&A, &S);
}
END_TEST

START_TEST(pieces_beyond_integers)
{
  Mat A;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_piece", "3000000000"));
  A = empty(MATMACKO, 2);
  assemble(A, MAT_FINAL_ASSEMBLY);
  OK(MatDestroy(&A));
  new_matrix(MATMACKO, &A);
  OK(MatSetSizes(A, 2, 2, PETSC_DETERMINE, PETSC_DETERMINE));
  OK(PetscOptionsSetValue(NULL, "-mat_macko_piece", "-3"));
  REFUSED(MatSetUp(A), PETSC_ERR_USER_INPUT, "-mat_macko_piece: -3 entries; a whole number from 1 to 2^53");
  OK(MatDestroy(&A));
  OK(clear_options());
}
END_TEST

void add_rule_tests(TCase *t)
{
  tcase_add_loop_test(t, calls_do_what_aij_does, 0, CALLS);
  tcase_add_test(t, unassembled_until_the_end);
  tcase_add_test(t, new_places_refused);
  tcase_add_test(t, zeroed_and_nothing_else);
  tcase_add_test(t, new_places_before_the_end);
  tcase_add_test(t, options_that_cannot_be_followed);
  tcase_add_test(t, symmetry_goes_along);
  tcase_add_test(t, pieces_beyond_integers);
}
