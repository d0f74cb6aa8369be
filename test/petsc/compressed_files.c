/* Type macko and files: PETSc's, those of macko_save, and what is wrong with some. */
#include <config.h>

#include "compressed.h"
#include "macko.h"

#include <stdio.h>
#include <unistd.h>

enum { ROWS = 61, COLS = 47 };

void path_of(char *path, size_t size)
{
  int id = (int)getpid();
  MPI_Bcast(&id, 1, MPI_INT, 0, PETSC_COMM_WORLD);
  snprintf(path, size, "compressed_%d.bin", id);
}

void remove_file(const char *path)
{
  PetscMPIInt rank;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  MPI_Barrier(PETSC_COMM_WORLD);
  if (!rank) unlink(path);
}

PetscErrorCode load(const char *path, Mat *A, Vec after)
{
  PetscViewer viewer;

  PetscFunctionBegin;
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, path, FILE_MODE_READ, &viewer));
  PetscErrorCode error = MatLoad(*A, viewer);
  if (!error && after) error = VecLoad(after, viewer);
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(error);
}

void new_matrix(const char *type, Mat *A)
{
  OK(MatCreate(PETSC_COMM_WORLD, A));
  OK(MatSetType(*A, type));
}

/* A vector, the matrix twice, a vector: what lies around a matrix in the file is found. */
START_TEST(binary_files)
{
  char        path[64];
  Mat         A, P, B, C;
  Vec         x, y;
  PetscViewer viewer;
  path_of(path, sizeof path);
  make_both(ROOT_TYPE, ROWS, COLS, &A, &P);
  OK(MatCreateVecs(P, &x, NULL));
  OK(VecSet(x, 7));
  OK(PetscViewerBinaryOpen(PETSC_COMM_WORLD, path, FILE_MODE_WRITE, &viewer));
  OK(PetscViewerBinarySetSkipInfo(viewer, PETSC_TRUE));
  OK(MatView(A, viewer));
  OK(VecView(x, viewer));
  OK(PetscViewerDestroy(&viewer));
  new_matrix(MATAIJ, &B);
  OK(VecDuplicate(x, &y));
  OK(load(path, &B, y));
  assert_same_entries(B, P, 0, "written by macko, read by aij");
  same_vectors(y, x, 0, "the vector after it");
  new_matrix(MATMACKO, &C);
  OK(VecSet(y, 0));
  OK(load(path, &C, y));
  assert_compressed(C, "read");
  assert_same_products(C, P, "read by macko");
  same_vectors(y, x, 0, "the vector after it, macko");
  OK(load(path, &C, NULL));
  assert_same_products(C, P, "read again");
  remove_file(path);
  OK(VecDestroy(&x));
  OK(VecDestroy(&y));
  DESTROY(&A, &P, &B, &C);
}
END_TEST

/* One as a PETSc program finds it that reads the file without a word about blocks: the viewer's .info has them. */
static void load_blocks(const char *path, const char *type, Mat *A, PetscInt found[4])
{
  OK(clear_options()); /* of what an earlier .info has left */
  new_matrix(type, A);
  OK(load(path, A, NULL));
  OK(MatGetBlockSizes(*A, &found[0], &found[1]));
  OK(MatGetLocalSize(*A, &found[2], &found[3]));
}

/* Both types write and read them alike, and share rows and columns out by whole blocks then. */
START_TEST(block_sizes_in_files)
{
  const PetscInt cols = _i ? 3 : 2;
  char           path[64], info[80];
  PetscInt       first, past;
  Mat            P, A, B[2];
  PetscViewer    viewer;
  path_of(path, sizeof path);
  snprintf(info, sizeof info, "%s.info", path);
  OK(MatCreate(PETSC_COMM_WORLD, &P));
  OK(MatSetSizes(P, PETSC_DECIDE, PETSC_DECIDE, 12, 24));
  OK(MatSetBlockSizes(P, 3, cols));
  OK(MatSetType(P, MATAIJ));
  OK(MatSetUp(P));
  OK(MatGetOwnershipRange(P, &first, &past));
  for (PetscInt i = first; i < past; i++) OK(MatSetValue(P, i, i, 2, INSERT_VALUES));
  assemble(P, MAT_FINAL_ASSEMBLY);
  OK(MatConvert(P, MATMACKO, MAT_INITIAL_MATRIX, &A));
  for (int writer = 0; writer < 2; writer++) {
    PetscInt found[2][4];
    OK(PetscViewerBinaryOpen(PETSC_COMM_WORLD, path, FILE_MODE_WRITE, &viewer));
    OK(MatView(writer ? A : P, viewer));
    OK(PetscViewerDestroy(&viewer));
    load_blocks(path, MATAIJ, &B[0], found[0]);
    load_blocks(path, MATMACKO, &B[1], found[1]);
    ASSERT_ALL(found[0][0] == 3 && found[0][1] == cols, "aij finds blocks of %d x %d", (int)found[0][0], (int)found[0][1]);
    for (int k = 0; k < 4; k++)
      ASSERT_ALL(found[0][k] == found[1][k], "writer %d, number %d: %d, not %d", writer, k, (int)found[1][k], (int)found[0][k]);
    assert_same_entries(B[1], B[0], 0, "with blocks");
    remove_file(path);
    remove_file(info);
    DESTROY(&B[0], &B[1]);
  }
  DESTROY(&A, &P);
}
END_TEST

/* Errors are those of type aij. */
START_TEST(a_vector_in_place_of_a_matrix)
{
  char        path[64];
  Mat         A, P;
  Vec         x;
  PetscViewer viewer;
  path_of(path, sizeof path);
  OK(VecCreateMPI(PETSC_COMM_WORLD, PETSC_DECIDE, 9, &x));
  OK(PetscViewerBinaryOpen(PETSC_COMM_WORLD, path, FILE_MODE_WRITE, &viewer));
  OK(PetscViewerBinarySetSkipInfo(viewer, PETSC_TRUE));
  OK(VecView(x, viewer));
  OK(PetscViewerDestroy(&viewer));
  new_matrix(MATAIJ, &P);
  REFUSED(load(path, &P, NULL), PETSC_ERR_FILE_UNEXPECTED, "");
  new_matrix(MATMACKO, &A);
  REFUSED(load(path, &A, NULL), PETSC_ERR_FILE_UNEXPECTED, "no PETSc binary matrix");
  remove_file(path);
  OK(VecDestroy(&x));
  DESTROY(&A, &P);
}
END_TEST

/* A file of macko_save, made by the first rank; on one rank the form in the file is the matrix's, unless options ask for
 * another. */
static void save_rows(const char *path, const char *format, macko_type type)
{
  enum { MOST = ROWS * COLS };
  static int64_t starts[ROWS + 1], cols[MOST];
  static double  doubles[MOST];
  static float   singles[MOST];
  PetscScalar    value;
  macko_options  options;
  macko_matrix  *m = NULL;
  macko_error    err;
  int64_t        n = 0;
  for (PetscInt i = 0; i < ROWS; i++) {
    for (PetscInt j = 0; j < COLS; j++)
      if (entry(i, j, 11, &value)) cols[n] = j, singles[n] = (float)value, doubles[n] = type == MACKO_F32 ? singles[n] : value, n++;
    starts[i + 1] = n;
  }
  macko_csr csr = {.nrows = ROWS, .ncols = COLS, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64, .value_type = type,
                   .row_ptr = starts, .cols = cols, .values = type == MACKO_F32 ? (void *)singles : (void *)doubles};
  macko_options_init(&options);
  ck_assert(!macko_options_set(&options, "format", format, &err));
  ck_assert_msg(!macko_encode(&csr, &options, &m, &err), "%s", err.text);
  ck_assert_msg(!macko_save(path, m, NULL, &err), "%s", err.text);
  macko_destroy(&m);
}

int can_save(void)
{
#if HAVE_ZLIB && HAVE_JANSSON
  return 1;
#else
  puts("SKIPPED: files of macko_save: built without zlib or jansson");
  return 0;
#endif
}

START_TEST(files_of_macko_save)
{
  static const char *const formats[] = {"csr", "macko", "dtans", "eccsr"};
  char                     path[64];
  PetscMPIInt              rank;
  MatMackoInfo             info;
  if (!can_save()) return;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  path_of(path, sizeof path);
  for (int f = 0; f < 4; f++) {
    for (int asked = 0; asked < 2; asked++) {
      Mat A, P;
      OK(clear_options());
      OK(PetscOptionsSetValue(NULL, "-mat_macko_piece", "37"));
      if (asked) OK(PetscOptionsSetValue(NULL, "-mat_macko_format", "slide"));
      if (!rank) save_rows(path, formats[f], MACKO_F64);
      MPI_Barrier(PETSC_COMM_WORLD);
      new_matrix(MATMACKO, &A);
      OK(load(path, &A, NULL));
      assert_compressed(A, formats[f]);
      OK(make_matrix(PREALLOCATED, MATAIJ, ROWS, COLS, 11, &P));
      assert_same_products(A, P, formats[f]);
      OK(MatMackoGetInfo(A, &info));
      const char *expected = asked ? "slide" : formats[f];
      if (asked || ranks() == 1) ASSERT_ALL(!strcmp(info.format, expected), "format %s, not %s", info.format, expected);
      DESTROY(&A, &P);
    }
  }
  remove_file(path);
}
END_TEST

START_TEST(files_of_macko_save_that_do_not_fit)
{
  char        path[64];
  PetscMPIInt rank;
  PetscReal   norm;
  Mat         A;
  if (!can_save()) return;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  path_of(path, sizeof path);
  if (!rank) save_rows(path, "csr", MACKO_F32);
  MPI_Barrier(PETSC_COMM_WORLD);
  new_matrix(MATMACKO, &A);
  OK(load(path, &A, NULL));
  OK(MatNorm(A, NORM_1, &norm));
  ASSERT_ALL(norm > 0, "values of type f32 are %g", (double)norm);
  DESTROY(&A);
  OK(MatCreate(PETSC_COMM_WORLD, &A));
  OK(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, ROWS + 1, COLS));
  OK(MatSetType(A, MATMACKO));
  REFUSED(load(path, &A, NULL), PETSC_ERR_FILE_UNEXPECTED, "a matrix of 61 x 47, not of 62 x 47");
  if (!rank) ck_assert(!truncate(path, 5000));
  MPI_Barrier(PETSC_COMM_WORLD);
  DESTROY(&A);
  new_matrix(MATMACKO, &A);
  REFUSED(load(path, &A, NULL), PETSC_ERR_LIB, "has 5000 bytes, where its header says");
  remove_file(path);
  DESTROY(&A);
}
END_TEST

START_TEST(a_file_cut_short)
{
  char        path[64];
  Mat         A, P, C;
  PetscMPIInt rank;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  path_of(path, sizeof path);
  make_both(ROOT_TYPE, ROWS, COLS, &A, &P);
  OK(write_matrix(P, path));
  new_matrix(MATMACKO, &C);
  if (!rank) ck_assert(!truncate(path, 16 + ROWS * 4 + 40));
  MPI_Barrier(PETSC_COMM_WORLD);
  REFUSED(load(path, &C, NULL), PETSC_ERR_LIB, "the file ends within the matrix");
  if (!rank) ck_assert(!truncate(path, 9));
  MPI_Barrier(PETSC_COMM_WORLD);
  REFUSED(load(path, &C, NULL), PETSC_ERR_LIB, "the file ends within the matrix");
  remove_file(path);
  DESTROY(&A, &P, &C);
}
END_TEST

/* A length that is wrong makes values of what are none. */
START_TEST(lengths_that_do_not_add_up)
{
  char        path[64];
  Mat         A, P, C;
  PetscMPIInt rank;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  path_of(path, sizeof path);
  make_both(ROOT_TYPE, ROWS, COLS, &A, &P);
  OK(write_matrix(P, path));
  if (!rank) {
    FILE *file = fopen(path, "r+b");
    long  last = (4 + ROWS) * (long)sizeof(PetscInt) - 1; /* the low byte of the last length */
    ck_assert(file && !fseek(file, last, SEEK_SET));
    int length = fgetc(file);
    ck_assert(length > 0 && !fseek(file, last, SEEK_SET) && fputc(length - 1, file) == length - 1 && !fclose(file));
  }
  MPI_Barrier(PETSC_COMM_WORLD);
  new_matrix(MATMACKO, &C);
  REFUSED(load(path, &C, NULL), PETSC_ERR_FILE_UNEXPECTED, "entries, as its head says");
  remove_file(path);
  DESTROY(&A, &P, &C);
}
END_TEST

/* Writes A as text into a file; the first rank gives back what is in it, but for the line that names the type, the others
 * nothing. */
static void text_of(Mat A, const char *path, PetscViewerFormat format, char *text, size_t size)
{
  PetscViewer viewer;
  PetscMPIInt rank;
  char        line[1024];
  text[0] = 0;
  OK(PetscViewerASCIIOpen(PETSC_COMM_WORLD, path, &viewer));
  OK(PetscViewerPushFormat(viewer, format));
  OK(MatView(A, viewer));
  OK(PetscViewerPopFormat(viewer));
  OK(PetscViewerDestroy(&viewer));
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  FILE *file = rank ? NULL : fopen(path, "r");
  while (file && fgets(line, sizeof line, file))
    if (!strstr(line, "  type: ")) OK(PetscStrlcat(text, line, size));
  if (file) fclose(file);
}

/* As text a matrix is what AIJ shows of it, under one heading. */
START_TEST(text_is_that_of_aij)
{
  static const PetscViewerFormat formats[] = {PETSC_VIEWER_DEFAULT, PETSC_VIEWER_ASCII_COMMON, PETSC_VIEWER_ASCII_DENSE,
                                              PETSC_VIEWER_ASCII_MATLAB, PETSC_VIEWER_ASCII_INDEX};
  static char ours[1 << 18], theirs[1 << 18];
  char        path[64];
  Mat         A, P;
  path_of(path, sizeof path);
  make_both(ROOT_TYPE, ROWS, COLS, &A, &P);
  OK(PetscObjectSetName((PetscObject)A, "stiffness"));
  OK(PetscObjectSetName((PetscObject)P, "stiffness"));
  for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
    text_of(A, path, formats[f], ours, sizeof ours);
    text_of(P, path, formats[f], theirs, sizeof theirs);
    ASSERT_ALL(!strcmp(ours, theirs), "format %d begins with %.200s", (int)formats[f], ours);
  }
  remove_file(path);
  DESTROY(&A, &P);
}
END_TEST

void add_file_tests(TCase *t)
{
  tcase_add_test(t, binary_files);
  tcase_add_test(t, a_vector_in_place_of_a_matrix);
  tcase_add_loop_test(t, block_sizes_in_files, 0, 2);
  tcase_add_test(t, files_of_macko_save);
  tcase_add_test(t, files_of_macko_save_that_do_not_fit);
  tcase_add_test(t, a_file_cut_short);
  tcase_add_test(t, lengths_that_do_not_add_up);
  tcase_add_test(t, text_is_that_of_aij);
}
