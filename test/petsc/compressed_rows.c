/* Type macko: matrices from rows that the program gives one after another. */
#include "compressed.h"

enum { ROWS = 61, COLS = 47 };

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

void add_row_tests(TCase *t)
{
  tcase_add_test(t, rows_are_asked_for_in_order);
  tcase_add_test(t, rows_that_go_wrong);
}
