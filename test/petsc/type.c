/* How a matrix becomes ours: made in every way, converted in every way, with options, through DM; what is stored, how often. */
#include "common.h"

#include <petscdmda.h>
#include <string.h>

enum { N = 40 };

static PetscErrorCode multiply(Mat A)
{
  Vec x, y;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(A, x, y));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- made in every way ---- */

static const PetscInt sizes[][2] = {{N, N}, {1, 1}, {2, 5}, {7, 2}, {0, 0}, {N, 3}};
enum { SIZES = sizeof sizes / sizeof *sizes };

START_TEST(made_matrices_are_ours)
{
  char            when[128];
  int             how = _i / (TYPES * SIZES), type = _i / SIZES % TYPES;
  const PetscInt *n = sizes[_i % SIZES];
  Mat             A, P;
  snprintf(when, sizeof when, "%d x %d, %s, %s", (int)n[0], (int)n[1], way_names[how], our_type(type));
  OK(make_pair(how, type, n[0], n[1], 1, &A, &P));
  assert_ours(A, when);
  assert_same_products(A, P, when);
  assert_ours(A, when);
  DESTROY(&A, &P);
}
END_TEST

/* Before a value is set, too: the type must not come and go. */
START_TEST(preallocated_blocks_are_ours)
{
  Mat A;
  OK(MatCreate(PETSC_COMM_WORLD, &A));
  OK(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, N, N));
  OK(MatSetType(A, our_type(_i)));
  OK(MatSeqAIJSetPreallocation(A, 3, NULL));
  OK(MatMPIAIJSetPreallocation(A, 3, NULL, 3, NULL));
  assert_ours(A, "preallocated, no values");
  OK(MatDestroy(&A));
}
END_TEST

START_TEST(a_grid_gives_ours)
{
  DM  da;
  Mat A;
  OK(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 9, 9, PETSC_DECIDE, PETSC_DECIDE, 1, 1,
                  NULL, NULL, &da));
  OK(DMSetMatType(da, MATAIJMACKO));
  OK(DMSetUp(da));
  OK(DMCreateMatrix(da, &A));
  assert_ours(A, "made by a DMDA");
  OK(MatShift(A, 3));
  OK(multiply(A));
  assert_ours(A, "made by a DMDA and filled");
  OK(MatDestroy(&A));
  OK(DMDestroy(&da));
}
END_TEST

/* -mat_seqaij_type makes every sequential AIJ ours, a solver's factors and copies too. */
START_TEST(every_sequential_matrix_can_be_ours)
{
  Mat       A, P, F;
  Vec       x, y, z;
  IS        rows, cols;
  PetscBool ours;
  PetscReal norm;
  MatFactorInfo how;
  OK(make_matrix(PREALLOCATED, MATAIJ, N, N, 1, &P));
  OK(MatDestroy(&P));
  OK(PetscOptionsSetValue(NULL, "-mat_seqaij_type", MATSEQAIJMACKO));
  OK(MatCreateSeqAIJ(PETSC_COMM_SELF, N, N, 3, NULL, &A));
  OK(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJMACKO, &ours));
  ASSERT_ALL(ours, "-mat_seqaij_type is not heard");
  for (PetscInt i = 0; i < N; i++)
    for (PetscInt j = PetscMax(i - 1, 0); j <= PetscMin(i + 1, N - 1); j++)
      OK(MatSetValue(A, i, j, i == j ? 4 : -1, INSERT_VALUES));
  OK(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  OK(MatGetOrdering(A, MATORDERINGNATURAL, &rows, &cols));
  OK(MatFactorInfoInitialize(&how));
  OK(MatGetFactor(A, MATSOLVERPETSC, MAT_FACTOR_LU, &F));
  OK(MatLUFactorSymbolic(F, A, rows, cols, &how));
  OK(MatLUFactorNumeric(F, A, &how));
  OK(MatCreateVecs(A, &x, &y));
  OK(VecSet(x, 1));
  OK(MatMult(A, x, y));
  OK(VecDuplicate(x, &z));
  OK(MatSolve(F, y, z));
  OK(VecAXPY(z, -1, x));
  OK(VecNorm(z, NORM_INFINITY, &norm));
  ASSERT_ALL(norm < 40 * PETSC_MACHINE_EPSILON, "the solution is off by %g", (double)norm);
  OK(PetscOptionsClearValue(NULL, "-mat_seqaij_type"));
  OK(VecDestroy(&x));
  OK(VecDestroy(&y));
  OK(VecDestroy(&z));
  OK(ISDestroy(&rows));
  OK(ISDestroy(&cols));
  DESTROY(&F, &A);
}
END_TEST

/* A type that was asked for by name stays itself all the same, though PETSc makes its matrices from AIJ. */
START_TEST(other_derived_types_stay_themselves)
{
  static const char *const types[] = {MATAIJSELL, MATAIJPERM, MATAIJCRL};
  const char              *type    = types[_i];
  Mat                      A, P;
  PetscViewer              viewer;
  PetscBool                same;
  char                     name[64];
  OK(make_matrix(PREALLOCATED, MATAIJ, N, N, 1, &P));
  OK(PetscOptionsSetValue(NULL, "-mat_seqaij_type", MATSEQAIJMACKO));
  OK(make_matrix(PREALLOCATED, type, N, N, 1, &A));
  OK(PetscOptionsClearValue(NULL, "-mat_seqaij_type"));
  snprintf(name, sizeof name, "%s%s", ranks() > 1 ? "mpi" : "seq", type);
  OK(PetscObjectTypeCompare((PetscObject)A, name, &same));
  ASSERT_ALL(same, "%s became another type", name);
  OK(PetscViewerASCIIOpen(PETSC_COMM_WORLD, "/dev/null", &viewer));
  OK(PetscViewerPushFormat(viewer, PETSC_VIEWER_ASCII_INFO));
  OK(MatView(A, viewer));
  OK(PetscViewerDestroy(&viewer));
  OK(MatMultEqual(A, P, 3, &same));
  ASSERT_ALL(same, "%s multiplies to something else", name);
  DESTROY(&A, &P);
}
END_TEST

/* ---- converted in every way, with a compressed form to be left behind ---- */

static const char *const conversions[] = {"to ours, new",  "to ours, into an old one",  "to ours, in place",
                                          "to plain, new", "to plain, into an old one", "to plain, in place",
                                          "to ours by type", "to plain by type"};
enum { CONVERSIONS = sizeof conversions / sizeof *conversions, TO_OURS_BY_TYPE = 6 };

static PetscErrorCode convert(int way, const char *to, Mat *A)
{
  Mat B = NULL;

  PetscFunctionBegin;
  if (way >= TO_OURS_BY_TYPE) {
    PetscCall(MatSetType(*A, to));
    /* PETSc converts only towards a subclass; the other way it empties the matrix */
    if (way > TO_OURS_BY_TYPE) PetscCall(load_matrix(*A, N, N, 1));
  } else if (way % 3 == 2) {
    PetscCall(MatConvert(*A, to, MAT_INPLACE_MATRIX, A));
  } else {
    PetscCall(MatConvert(*A, to, MAT_INITIAL_MATRIX, &B));
    if (way % 3 == 1) {
      PetscCall(multiply(B));
      PetscCall(MatScale(*A, -2));
      PetscCall(MatConvert(*A, to, MAT_REUSE_MATRIX, &B));
    }
    PetscCall(MatDestroy(A));
    *A = B;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

START_TEST(conversions_keep_the_matrix)
{
  char      when[128];
  int       way = _i / WAYS, how = _i % WAYS, to_ours = way < 3 || way == TO_OURS_BY_TYPE;
  Mat       A, P, blocks[2];
  PetscBool seq, mpi, block;
  snprintf(when, sizeof when, "%s, %s", conversions[way], way_names[how]);
  OK(make_matrix(how, to_ours ? MATAIJ : MATAIJMACKO, N, N, 1, &A));
  OK(make_matrix(how, MATAIJ, N, N, 1, &P));
  OK(multiply(A));
  OK(convert(way, to_ours ? MATAIJMACKO : MATAIJ, &A));
  if (way < TO_OURS_BY_TYPE && way % 3 == 1) OK(MatScale(P, -2));
  if (to_ours) {
    assert_ours(A, when);
  } else {
    OK(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJ, &seq));
    OK(PetscObjectTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
    ASSERT_ALL(seq || mpi, "%s: not plain", when);
    if (mpi) OK(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
    for (int b = 0; mpi && b < 2; b++) {
      OK(PetscObjectTypeCompare((PetscObject)blocks[b], MATSEQAIJ, &block));
      ASSERT_ALL(block, "%s: block %d is not plain", when, b);
    }
  }
  assert_same_products(A, P, when);
  OK(convert(5, to_ours ? MATAIJ : MATAIJMACKO, &A)); /* and back */
  assert_same_products(A, P, when);
  DESTROY(&A, &P);
}
END_TEST

/* Conversion to a type that is not AIJ goes through AIJ's own arrays. */
START_TEST(other_types_are_reached)
{
  Mat       A, D;
  PetscBool same;
  OK(make_matrix(PREALLOCATED, MATAIJMACKO, N, N, 1, &A));
  OK(multiply(A));
  OK(MatScale(A, 3));
  OK(MatConvert(A, MATDENSE, MAT_INITIAL_MATRIX, &D));
  OK(MatMultEqual(A, D, 3, &same));
  ASSERT_ALL(same, "the dense matrix differs");
  DESTROY(&D, &A);
}
END_TEST

/* ---- what is stored, and how often it was made ---- */

static MatMackoInfo info_after_product(Mat A)
{
  MatMackoInfo info;
  OK(multiply(A));
  OK(MatMackoGetInfo(A, &info));
  return info;
}

START_TEST(nothing_is_encoded_twice)
{
  Mat          A;
  MatMackoInfo info;
  MatInfo      plain;
  OK(make_matrix(_i, MATAIJMACKO, N, N, 1, &A));
  OK(MatMackoGetInfo(A, &info));
  ASSERT_ALL(!info.encoded, "encoded before the first product");
  info = info_after_product(A);
  info = info_after_product(A);
  OK(MatGetInfo(A, MAT_GLOBAL_SUM, &plain));
  ASSERT_ALL(info.encoded && info.encodes == 1 && info.refreshes == 0, "encoded %d, refreshed %d times", (int)info.encodes,
             (int)info.refreshes);
  ASSERT_ALL(info.nnz == (PetscInt64)plain.nz_used, "%lld nonzeros, AIJ has %g", (long long)info.nnz, (double)plain.nz_used);
  ASSERT_ALL(info.bytes > 0 && info.csr_bytes > 0 && info.reason[0], "sizes are missing");
  OK(MatScale(A, 2));
  info = info_after_product(A);
  ASSERT_ALL(info.encodes == 1 && info.refreshes == 1, "new values: encoded %d, refreshed %d times", (int)info.encodes,
             (int)info.refreshes);
  OK(MatDestroy(&A));
}
END_TEST

START_TEST(encode_does_what_the_product_would)
{
  Mat          A, P;
  MatMackoInfo info;
  OK(make_matrix(PREALLOCATED, MATAIJMACKO, N, N, 1, &A));
  OK(make_matrix(PREALLOCATED, MATAIJ, N, N, 1, &P));
  OK(MatMackoEncode(A));
  OK(MatMackoGetInfo(A, &info));
  ASSERT_ALL(info.encoded, "MatMackoEncode left nothing");
  info = info_after_product(A);
  ASSERT_ALL(info.encodes == 1, "encoded %d times", (int)info.encodes);
  assert_same_products(A, P, "encoded beforehand");
  OK(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  PetscErrorCode wrong = MatMackoEncode(P);
  OK(PetscPopErrorHandler());
  ASSERT_ALL(wrong == PETSC_ERR_ARG_WRONG, "a plain matrix gives error %d", (int)wrong);
  DESTROY(&A, &P);
}
END_TEST

/* ---- options ---- */

typedef struct {
  const char *name, *text;
} setting;

static Mat with_options(const char *prefix, const setting *settings, int count)
{
  Mat A;
  for (int i = 0; i < count; i++) OK(PetscOptionsSetValue(NULL, settings[i].name, settings[i].text));
  OK(MatCreate(PETSC_COMM_WORLD, &A));
  OK(MatSetOptionsPrefix(A, prefix));
  OK(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, N, N));
  OK(MatSetFromOptions(A));
  OK(load_matrix(A, N, N, 1));
  return A;
}

static void forget(const setting *settings, int count)
{
  for (int i = 0; i < count; i++) OK(PetscOptionsClearValue(NULL, settings[i].name));
}

START_TEST(options_go_by_prefix)
{
  const setting settings[] = {{"-mine_mat_type", MATAIJMACKO}, {"-mine_mat_macko_format", "macko"},
                              {"-mine_mat_macko_layout", "row"}, {"-mine_mat_macko_values", "f32"}, {"-mat_macko_format", "csr"}};
  Mat           A = with_options("mine_", settings, 5), B;
  MatMackoInfo  info = info_after_product(A);
  ASSERT_ALL(!strcmp(info.format, "macko") && !strcmp(info.layout, "row") && !strcmp(info.values, "f32") && info.lossy,
             "stored as %s %s %s", info.format, info.layout, info.values);
  OK(make_matrix(PREALLOCATED, MATAIJMACKO, N, N, 1, &B)); /* reads the option without prefix at its first product */
  info = info_after_product(B);
  ASSERT_ALL(!strcmp(info.format, "csr") && !info.lossy, "without prefix stored as %s", info.format);
  forget(settings, 5);
  DESTROY(&A, &B);
}
END_TEST

START_TEST(other_options_encode_again)
{
  const setting first[] = {{"-mat_type", MATAIJMACKO}, {"-mat_macko_format", "csr"}}, then[] = {{"-mat_macko_format", "macko"}};
  Mat           A = with_options(NULL, first, 2);
  MatMackoInfo  info = info_after_product(A);
  ASSERT_ALL(!strcmp(info.format, "csr"), "stored as %s", info.format);
  OK(PetscOptionsSetValue(NULL, then[0].name, then[0].text));
  OK(MatSetFromOptions(A));
  info = info_after_product(A);
  ASSERT_ALL(!strcmp(info.format, "macko"), "still stored as %s", info.format);
  OK(MatSetFromOptions(A));
  info = info_after_product(A);
  ASSERT_ALL(info.encodes == 2, "the same options again: encoded %d times", (int)info.encodes);
  forget(first, 2);
  OK(MatDestroy(&A));
}
END_TEST

/* A block Jacobi preconditioner may multiply with the diagonal block before anyone multiplies with the matrix. */
START_TEST(a_block_used_first_has_the_options)
{
  const setting settings[] = {{"-mine_mat_type", MATAIJMACKO}, {"-mine_mat_macko_format", "macko"},
                              {"-mine_mat_macko_layout", "paper"}};
  Mat           A = with_options("mine_", settings, 3), block;
  MatMackoInfo  info;
  OK(MatGetDiagonalBlock(A, &block));
  OK(multiply(block));
  OK(MatMackoGetInfo(block, &info));
  ASSERT_ALL(!strcmp(info.layout, "paper"), "the block has layout %s", info.layout);
  forget(settings, 3);
  OK(MatDestroy(&A));
}
END_TEST

/* Gives a matrix that has its type before its prefix, and of which MatSetFromOptions is called where `from_options` says so. */
static Mat with_late_prefix(const char *prefix, PetscBool from_options)
{
  Mat A;
  OK(MatCreate(PETSC_COMM_WORLD, &A));
  OK(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, N, N));
  OK(MatSetType(A, MATAIJMACKO));
  OK(MatSetOptionsPrefix(A, prefix));
  if (from_options) OK(MatSetFromOptions(A));
  OK(load_matrix(A, N, N, 1));
  return A;
}

/* Options of matrices without a prefix are none of a matrix that gets its prefix after its type. */
START_TEST(a_late_prefix_is_the_only_one)
{
  const setting settings[] = {{"-mat_macko_after", "0"}};
  OK(PetscOptionsSetValue(NULL, settings[0].name, settings[0].text));
  Mat          A    = with_late_prefix("mine_", (PetscBool)_i);
  MatMackoInfo info = info_after_product(A);
  ASSERT_ALL(!info.encoded, "encoded at once, as matrices without a prefix are");
  forget(settings, 1);
  OK(MatDestroy(&A));
}
END_TEST

/* The same block in a program that does not call MatSetFromOptions, which has options of its matrix alone. */
START_TEST(a_block_used_first_reads_the_options_of_its_matrix)
{
  const setting settings[] = {{"-mine_mat_macko_format", "csr"}, {"-mine_mat_macko_after", "0"}, {"-mat_macko_format", "dtans"}};
  Mat           A, block;
  MatMackoInfo  info;
  for (int i = 0; i < 3; i++) OK(PetscOptionsSetValue(NULL, settings[i].name, settings[i].text));
  A = with_late_prefix("mine_", PETSC_FALSE);
  OK(MatGetDiagonalBlock(A, &block));
  OK(multiply(block));
  OK(MatMackoGetInfo(block, &info));
  ASSERT_ALL(info.encoded && !strcmp(info.format, "csr"), "the block is stored as %s", info.encoded ? info.format : "nothing");
  forget(settings, 3);
  OK(MatDestroy(&A));
}
END_TEST

static char message[1024];

static PetscErrorCode keep_message(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode code,
                                   PetscErrorType type, const char *text, void *context)
{
  (void)comm, (void)line, (void)function, (void)file, (void)context;
  if (type == PETSC_ERROR_INITIAL) snprintf(message, sizeof message, "%s", text);
  return code;
}

static const struct {
  setting     given;
  const char *nearest;
} wrong[] = {{{"-mat_macko_format", "mako"}, "macko"},
             {{"-mat_macko_layout", "slices"}, "slice"},
             {{"-mat_macko_gap_bits", "5"}, "4"},
             {{"-mat_macko_values", "f34"}, "f32"}};

START_TEST(unknown_names_are_answered_with_the_nearest)
{
  Mat  A;
  char quoted[64];
  OK(make_matrix(PREALLOCATED, MATAIJMACKO, N, N, 1, &A));
  OK(PetscOptionsSetValue(NULL, wrong[_i].given.name, wrong[_i].given.text));
  message[0] = 0;
  OK(PetscPushErrorHandler(keep_message, NULL));
  PetscErrorCode code = MatMackoEncode(A);
  OK(PetscPopErrorHandler());
  OK(PetscOptionsClearValue(NULL, wrong[_i].given.name));
  ASSERT_ALL(code == PETSC_ERR_USER_INPUT, "error %d", (int)code);
  ASSERT_ALL(strstr(message, wrong[_i].given.name) && strstr(message, wrong[_i].given.text),
             "\"%s\" does not name what was given", message);
  if (_i != 2) { /* all widths are as near to 5 */
    snprintf(quoted, sizeof quoted, "nearest is \"%s\"", wrong[_i].nearest);
    ASSERT_ALL(strstr(message, quoted) != NULL, "\"%s\" does not say that the %s", message, quoted);
  }
  OK(MatDestroy(&A));
}
END_TEST

static Suite *type_suite(void)
{
  Suite *s = suite_create("the PETSc matrix type");
  TCase *t = tcase_create("type");
  tcase_add_loop_test(t, made_matrices_are_ours, 0, WAYS * TYPES * SIZES);
  tcase_add_loop_test(t, preallocated_blocks_are_ours, 0, TYPES);
  tcase_add_test(t, a_grid_gives_ours);
  tcase_add_test(t, every_sequential_matrix_can_be_ours);
  tcase_add_loop_test(t, other_derived_types_stay_themselves, 0, 3);
  tcase_add_loop_test(t, conversions_keep_the_matrix, 0, CONVERSIONS * WAYS);
  tcase_add_test(t, other_types_are_reached);
  tcase_add_loop_test(t, nothing_is_encoded_twice, 0, WAYS);
  tcase_add_test(t, encode_does_what_the_product_would);
  tcase_add_test(t, options_go_by_prefix);
  tcase_add_test(t, other_options_encode_again);
  tcase_add_test(t, a_block_used_first_has_the_options);
  tcase_add_loop_test(t, a_late_prefix_is_the_only_one, 0, 2);
  tcase_add_test(t, a_block_used_first_reads_the_options_of_its_matrix);
  tcase_add_loop_test(t, unknown_names_are_answered_with_the_nearest, 0, sizeof wrong / sizeof *wrong);
  suite_add_tcase(s, t);
  return s;
}

int main(int argc, char **argv)
{
  return run_suite(argc, argv, type_suite, 2);
}
