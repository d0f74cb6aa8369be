/* Type macko: what memory its matrices take, and what is taken while they are made and read. */
#include "compressed.h"
#include "macko.h"

#include <malloc.h>
#include <stdio.h>

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
  ASSERT_ALL((double)(w.most - w.before) < csr / 4 + 3e5, "%g bytes while rows came, of %g as CSR", (double)(w.most - w.before),
             csr);
  ASSERT_ALL((double)(bytes_in_use() - w.before) < csr / 4, "%g bytes afterwards, of %g", (double)(bytes_in_use() - w.before), csr);
  OK(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  OK(MatMackoGetInfo(A, &stored));
  ASSERT_ALL(info.nz_used == 3. * LINE - 2 && info.memory == (double)stored.bytes && info.memory < csr * ranks() / 4,
             "%g entries in %g bytes; the compressed form has %g", info.nz_used, info.memory, (double)stored.bytes);
  OK(MatDestroy(&A));
}
END_TEST

/* Rows without entries in columns of other ranks, here all but two a rank, take no bytes of the off-diagonal block. */
START_TEST(empty_rows_of_other_ranks_columns)
{
  Mat          A;
  MatMackoInfo info;
  watcher      w   = {.before = bytes_in_use()};
  double       csr = (3. * LINE - 2) * (sizeof(int) + sizeof(PetscScalar)) + sizeof(int) * (LINE + 1.);
  OK(PetscOptionsSetValue(NULL, "-mat_macko_format", "csr"));
  OK(MatMackoCreateFromRows(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, LINE, LINE, watch, &w, &A));
  OK(MatMackoGetInfo(A, &info));
  ASSERT_ALL((double)info.bytes < csr + 1000, "%g bytes, where AIJ would take %g", (double)info.bytes, csr);
  OK(MatDestroy(&A));
}
END_TEST

/* Bytes that the process has had in memory at most since the last call with `reset`, or has now; 0 where the system does not
 * tell. */
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

static void make_band(Mat *A)
{
  static band_context b;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_piece", "10000"));
  OK(PetscOptionsSetValue(NULL, "-mat_macko_prefer", "memory"));
  OK(MatMackoCreateFromRows(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, BAND_ROWS, BAND_ROWS, give_band, &b, A));
}

static void write_band(const char *path)
{
  Mat A;
  make_band(&A);
  OK(write_matrix(A, path));
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
  *piece = (macko_csr){.nrows = count, .ncols = BAND_ROWS, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64,
                       .value_type = MACKO_F64, .row_ptr = starts, .cols = cols, .values = values};
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
  for (int container = 0; container < 1 + can_save(); container++) {
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

/* A picture is drawn without the entries of a rank as CSR. */
START_TEST(pictures_are_never_csr)
{
  Mat         A;
  PetscViewer viewer = picture_viewer(PETSC_COMM_WORLD, 300);
  double      csr = (double)BAND * BAND_ROWS * (sizeof(PetscInt) + sizeof(PetscScalar)) / ranks();
  make_band(&A);
  malloc_trim(0);
  const double before = resident(1);
  OK(MatView(A, viewer));
  const double grown = before ? resident(0) - before : 0;
  if (!before) puts("SKIPPED: the system does not tell what a process has in memory");
  ASSERT_ALL(grown < csr / 4, "%g bytes more, of %g as CSR", grown, csr);
  OK(PetscViewerDestroy(&viewer));
  OK(MatDestroy(&A));
}
END_TEST

void add_memory_tests(TCase *t)
{
  tcase_add_test(t, never_as_csr);
  tcase_add_test(t, empty_rows_of_other_ranks_columns);
  tcase_add_test(t, files_are_never_csr);
  tcase_add_test(t, pictures_are_never_csr);
}
