/* Type macko: its files, matrices from rows, and what memory they take. */
#include "compressed.h"
#include "macko.h"

#include <petscksp.h>

#include <malloc.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 61, COLS = 47 };

/* ---- files ---- */

static void path_of(char *path, size_t size)
{
  int id = (int)getpid();
  MPI_Bcast(&id, 1, MPI_INT, 0, PETSC_COMM_WORLD);
  snprintf(path, size, "compressed_%d.bin", id);
}

static void remove_file(const char *path)
{
  PetscMPIInt rank;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  MPI_Barrier(PETSC_COMM_WORLD);
  if (!rank) unlink(path);
}

static PetscErrorCode load(const char *path, Mat *A, Vec after)
{
  PetscViewer viewer;

  PetscFunctionBegin;
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, path, FILE_MODE_READ, &viewer));
  PetscErrorCode error = MatLoad(*A, viewer);
  if (!error && after) error = VecLoad(after, viewer);
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(error);
}

static void new_matrix(const char *type, Mat *A)
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

/* A file of macko_save, made by the first rank; on one rank the form in the file is the matrix's, unless options ask for another. */
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

START_TEST(files_of_macko_save)
{
  static const char *const formats[] = {"csr", "macko", "dtans", "eccsr"};
  char                     path[64];
  PetscMPIInt              rank;
  MatMackoInfo             info;
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
  PetscViewer viewer;
  PetscMPIInt rank;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  path_of(path, sizeof path);
  make_both(ROOT_TYPE, ROWS, COLS, &A, &P);
  OK(PetscViewerBinaryOpen(PETSC_COMM_WORLD, path, FILE_MODE_WRITE, &viewer));
  OK(PetscViewerBinarySetSkipInfo(viewer, PETSC_TRUE));
  OK(MatView(P, viewer));
  OK(PetscViewerDestroy(&viewer));
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

/* ---- from rows ---- */

typedef struct {
  PetscInt     cols, first, last, calls, fail_at, change_at, outside_at; /* the row before, how many; rows that go wrong */
  PetscInt     entries[3 * ROWS];
  PetscScalar  values[3 * ROWS];
} giver;

/* The row of the pseudo-random matrix backwards, its first entry in two halves. */
static PetscErrorCode give(void *context, PetscInt row, PetscInt *n, const PetscInt **cols, const PetscScalar **values)
{
  giver      *g = (giver *)context;
  PetscInt    count = 0;
  PetscScalar value;
  g->calls++;
  if (row <= g->last && row != g->first) return PETSC_ERR_PLIB; /* out of order */
  if (row == g->fail_at) return PETSC_ERR_USER;
  g->last = row;
  for (PetscInt j = g->cols - 1; j >= 0; j--)
    if (entry(row, j, 11, &value)) g->entries[count] = j, g->values[count++] = value;
  if (count) g->entries[count] = g->entries[0], g->values[count] = g->values[0] /= 2, count++;
  if (row == g->outside_at) g->entries[0] = g->cols;
  if (row == g->change_at && g->calls > ROWS / ranks() + 1) g->entries[0] = 0, g->entries[1] = g->cols - 1;
  *n = count, *cols = g->entries, *values = g->values;
  return 0;
}

static giver new_giver(PetscInt rows)
{
  PetscMPIInt rank;
  PetscInt    local = PETSC_DECIDE, past = 0, all = rows;
  giver       g     = {.cols = COLS, .last = -1, .fail_at = -1, .change_at = -1, .outside_at = -1};
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  OK(PetscSplitOwnership(PETSC_COMM_WORLD, &local, &all));
  MPI_Scan(&local, &past, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD);
  g.first = past - local;
  return g;
}

START_TEST(rows_are_asked_for_in_order)
{
  Mat      A, P;
  PetscInt rows;
  giver    g = new_giver(ROWS);
  OK(PetscOptionsSetValue(NULL, "-mat_macko_piece", "37"));
  OK(MatMackoCreateFromRows(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, ROWS, COLS, give, &g, &A));
  OK(make_matrix(PREALLOCATED, MATAIJ, ROWS, COLS, 11, &P));
  OK(MatGetLocalSize(P, &rows, NULL));
  ASSERT_ALL(g.calls == (ranks() > 1 ? 2 : 1) * rows, "%d calls for %d rows", (int)g.calls, (int)rows);
  assert_same_products(A, P, "from rows");
  DESTROY(&A, &P);
}
END_TEST

START_TEST(rows_that_go_wrong)
{
  Mat   A = NULL;
  giver g = new_giver(ROWS);
  g.fail_at = ROWS - 2; /* of the last rank */
  REFUSED(MatMackoCreateFromRows(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, ROWS, COLS, give, &g, &A), PETSC_ERR_LIB,
          "row 59 is missing");
  g = new_giver(ROWS), g.outside_at = 5;
  REFUSED(MatMackoCreateFromRows(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, ROWS, COLS, give, &g, &A), PETSC_ERR_LIB,
          "row 5 has an entry outside the matrix, in column 47");
  if (ranks() == 1) return;
  for (g = new_giver(ROWS), g.change_at = 0;; g.change_at++) { /* a row of rank 0 without an entry in the last column */
    PetscScalar value;
    if (!entry(g.change_at, COLS - 1, 11, &value) && g.change_at % 7 != 3) break;
  }
  REFUSED(MatMackoCreateFromRows(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, ROWS, COLS, give, &g, &A), PETSC_ERR_LIB, "");
}
END_TEST

/* ---- memory ---- */

enum { LINE = 400000 };

typedef struct {
  PetscInt    first, cols[3], calls;
  PetscScalar values[3];
  size_t      before, most;
} watcher;

/* A tridiagonal matrix of a few values. */
static PetscErrorCode watch(void *context, PetscInt row, PetscInt *n, const PetscInt **cols, const PetscScalar **values)
{
  watcher *w = (watcher *)context;
  PetscInt count = 0;
  for (PetscInt j = PetscMax(row - 1, 0); j <= PetscMin(row + 1, LINE - 1); j++)
    w->cols[count] = j, w->values[count++] = j == row ? 2 + (double)(row % 2) : -1;
  if (++w->calls % 512 == 0) w->most = PetscMax(w->most, bytes_in_use());
  *n = count, *cols = w->cols, *values = w->values;
  return 0;
}

START_TEST(never_as_csr)
{
  Mat          A;
  MatInfo      info;
  MatMackoInfo stored;
  watcher      w   = {.before = bytes_in_use()};
  double       csr = 3. * LINE * (sizeof(PetscInt) + sizeof(PetscScalar)) / ranks();
  OK(PetscOptionsSetValue(NULL, "-mat_macko_piece", "10000"));
  OK(PetscOptionsSetValue(NULL, "-mat_macko_prefer", "memory"));
  OK(MatMackoCreateFromRows(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, LINE, LINE, watch, &w, &A));
  ASSERT_ALL((double)(w.most - w.before) < csr / 4 + 3e5, "%g bytes while rows came, of %g as CSR", (double)(w.most - w.before), csr);
  ASSERT_ALL((double)(bytes_in_use() - w.before) < csr / 4, "%g bytes afterwards, of %g", (double)(bytes_in_use() - w.before), csr);
  OK(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  OK(MatMackoGetInfo(A, &stored));
  ASSERT_ALL(info.nz_used == 3. * LINE - 2 && info.memory == (double)stored.bytes && info.memory < csr * ranks() / 4,
             "%g entries in %g bytes; the compressed form has %g", info.nz_used, info.memory, (double)stored.bytes);
  OK(MatDestroy(&A));
}
END_TEST

/* Bytes that the process has had in memory at most since the last call with `reset`, or has now; 0 where the system does not tell. */
static double resident(int reset)
{
  char   line[200];
  double now = 0, most = 0;
  FILE  *clear = reset ? fopen("/proc/self/clear_refs", "w") : NULL;
  if (reset && (!clear || fputs("5", clear) < 0 || fclose(clear))) return 0;
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status)) (void)(sscanf(line, "VmHWM: %lf", &most) || sscanf(line, "VmRSS: %lf", &now));
  if (status) fclose(status);
  return 1024 * (reset ? now : most);
}

enum { BAND = 27, BAND_ROWS = 300000 };

/* Rows of a band; columns and values of row `row`, as many as it says. */
static int64_t band_row(int64_t row, int64_t cols[BAND], double values[BAND])
{
  int64_t n = 0;
  for (int64_t j = row - BAND / 2; j <= row + BAND / 2; j++)
    if (j >= 0 && j < BAND_ROWS) cols[n] = j, values[n++] = j == row ? 30 + (double)(row % 2) : -1;
  return n;
}

typedef struct {
  PetscInt    cols[BAND];
  PetscScalar values[BAND];
} band_context;

static PetscErrorCode give_band(void *context, PetscInt row, PetscInt *n, const PetscInt **cols, const PetscScalar **values)
{
  band_context *b = (band_context *)context;
  int64_t       wide[BAND];
  *n = (PetscInt)band_row(row, wide, b->values);
  for (PetscInt k = 0; k < *n; k++) b->cols[k] = (PetscInt)wide[k];
  *cols = b->cols, *values = b->values;
  return 0;
}

static void write_band(const char *path)
{
  band_context b;
  Mat          A;
  PetscViewer  viewer;
  OK(MatMackoCreateFromRows(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, BAND_ROWS, BAND_ROWS, give_band, &b, &A));
  OK(PetscViewerBinaryOpen(PETSC_COMM_WORLD, path, FILE_MODE_WRITE, &viewer));
  OK(PetscViewerBinarySetSkipInfo(viewer, PETSC_TRUE));
  OK(MatView(A, viewer));
  OK(PetscViewerDestroy(&viewer));
  OK(MatDestroy(&A));
}

/* The same in a file of macko_save, whose rows come in pieces. */
static macko_status give_piece(void *context, int64_t first, int64_t count, macko_csr *piece, macko_error *err)
{
  static int64_t starts[1001], cols[1000 * BAND];
  static double  values[1000 * BAND];
  int64_t        n = 0;
  (void)context, (void)err;
  for (int64_t i = 0; i < count; i++) starts[i + 1] = n += band_row(first + i, cols + n, values + n);
  *piece = (macko_csr){.nrows = count, .ncols = BAND_ROWS, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64, .value_type = MACKO_F64,
                       .row_ptr = starts, .cols = cols, .values = values};
  return MACKO_OK;
}

static void save_band(const char *path)
{
  const macko_row_source source = {BAND_ROWS, BAND_ROWS, MACKO_F64, 1000, give_piece, NULL};
  macko_options          options;
  macko_matrix          *m = NULL;
  macko_error            err;
  macko_options_init(&options);
  ck_assert(!macko_options_set(&options, "prefer", "memory", &err));
  ck_assert_msg(!macko_encode_rows(&source, &options, &m, &err), "%s", err.text);
  ck_assert_msg(!macko_save(path, m, NULL, &err), "%s", err.text);
  macko_destroy(&m);
}

/* Files of either kind: each rank's process grows by a part of what its rows would take as CSR. */
START_TEST(files_are_never_csr)
{
  char        path[64];
  PetscMPIInt rank;
  double      csr = (double)BAND * BAND_ROWS * (sizeof(PetscInt) + sizeof(PetscScalar)) / ranks();
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  path_of(path, sizeof path);
  OK(PetscOptionsSetValue(NULL, "-mat_macko_piece", "10000"));
  OK(PetscOptionsSetValue(NULL, "-mat_macko_prefer", "memory"));
  for (int container = 0; container < 2; container++) {
    Mat     A;
    MatInfo info;
    if (!container) write_band(path);
    else if (!rank) save_band(path);
    MPI_Barrier(PETSC_COMM_WORLD);
    malloc_trim(0);
    const double before = resident(1);
    new_matrix(MATMACKO, &A);
    OK(load(path, &A, NULL));
    const double grown = before ? resident(0) - before : 0;
    if (!before) puts("SKIPPED: the system does not tell what a process has in memory");
    ASSERT_ALL(grown < csr / 2, "%s: %g bytes more, of %g as CSR", container ? "of macko_save" : "PETSc's", grown, csr);
    OK(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
    ASSERT_ALL(info.nz_used == (double)BAND * BAND_ROWS - BAND / 2 * (BAND / 2 + 1), "%g entries", info.nz_used);
    OK(MatDestroy(&A));
  }
  remove_file(path);
}
END_TEST

void add_row_tests(TCase *t)
{
  tcase_add_test(t, binary_files);
  tcase_add_test(t, files_of_macko_save);
  tcase_add_test(t, files_of_macko_save_that_do_not_fit);
  tcase_add_test(t, a_file_cut_short);
  tcase_add_test(t, rows_are_asked_for_in_order);
  tcase_add_test(t, rows_that_go_wrong);
  tcase_add_test(t, never_as_csr);
  tcase_add_test(t, files_are_never_csr);
}
