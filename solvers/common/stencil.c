/* Matrices of grids, a row at a time. */
#include "common/stencil.h"

#include "common/random.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 27 }; /* entries of the longest row */

/* A stencil, and room for one row of its matrix. */
typedef struct {
  PetscInt    n, points, dims; /* points of a side of the grid; entries of an inner row; 2 or 3 */
  PetscBool   random;          /* values beside the diagonal are random, the same on both sides of it */
  PetscInt    cols[MOST];      /* the row that Row made last */
  PetscScalar values[MOST];
} Stencil;

/* The value of a and b is that of b and a, in (0, 1]: a matrix made of these, negative, with as many as the diagonal's on it, is
   symmetric and positive definite. */
static PetscScalar Random(PetscInt a, PetscInt b)
{
  uint64_t state = (uint64_t)PetscMin(a, b) * 0xff51afd7ed558ccdu + (uint64_t)PetscMax(a, b);
  return 1 - uniform(&state);
}

/* Makes a row of the matrix, in the form that MatMackoCreateFromRows asks for; context is the Stencil, in which the row stays
   until the next call. Points are numbered along x first, so columns come out sorted. 5-point and 7-point take only neighbours
   along one axis. The diagonal is the number of neighbours of an inner point, also at the boundary, where the missing ones are
   zero. */
static PetscErrorCode Row(void *context, PetscInt row, PetscInt *count, const PetscInt **cols, const PetscScalar **values)
{
  Stencil *s = (Stencil *)context;
  PetscInt n = s->n, at[3] = {row % n, row / n % n, row / n / n}, depth = s->dims == 3 ? n : 1, k = 0;

  PetscFunctionBegin;
  for (PetscInt z = PetscMax(at[2] - 1, 0); z <= PetscMin(at[2] + 1, depth - 1); z++)
    for (PetscInt y = PetscMax(at[1] - 1, 0); y <= PetscMin(at[1] + 1, n - 1); y++)
      for (PetscInt x = PetscMax(at[0] - 1, 0); x <= PetscMin(at[0] + 1, n - 1); x++) {
        /* away counts the axes along which the two points differ. */
        PetscInt col = x + n * (y + n * z), away = (x != at[0]) + (y != at[1]) + (z != at[2]);
        if (s->points <= 7 && away > 1) continue;
        s->cols[k] = col, s->values[k++] = !away ? s->points - 1 : s->random ? -Random(row, col) : -1;
      }
  *count = k, *cols = s->cols, *values = s->values;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Goes through this rank's rows. With own and others it counts each row's entries in the rank's own columns and in those of other
   ranks; with NULL for both it puts the entries into A. */
static PetscErrorCode Fill(Mat A, Stencil *s, PetscInt *own, PetscInt *others)
{
  PetscInt first, past, first_col, past_col, n;
  const PetscInt *cols;
  const PetscScalar *values;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &past));
  PetscCall(MatGetOwnershipRangeColumn(A, &first_col, &past_col));
  for (PetscInt row = first; row < past; row++) {
    PetscCall(Row(s, row, &n, &cols, &values));
    if (own) own[row - first] = others[row - first] = 0;
    for (PetscInt k = 0; own && k < n; k++) (cols[k] >= first_col && cols[k] < past_col ? own : others)[row - first]++;
    if (!own) PetscCall(MatSetValues(A, 1, &row, n, cols, values, INSERT_VALUES));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes a matrix of type aij. Rows are made twice, first to count them: memory for AIJ is to be asked for before values are set.
   Of the two calls for preallocation PETSc ignores the one for the other type. */
static PetscErrorCode Assemble(MPI_Comm comm, PetscInt rows, Stencil *s, Mat *A)
{
  PetscInt local, *own, *others;

  PetscFunctionBegin;
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetOptionsPrefix(*A, UNREAD));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, rows, rows));
  PetscCall(MatSetType(*A, MATAIJ));
  local = PETSC_DECIDE;
  PetscCall(PetscSplitOwnership(comm, &local, &rows));
  PetscCall(MatSeqAIJSetPreallocation(*A, 0, NULL)); /* so that the matrix knows its rows */
  PetscCall(MatMPIAIJSetPreallocation(*A, 0, NULL, 0, NULL));
  PetscCall(PetscMalloc2(local, &own, local, &others));
  PetscCall(Fill(*A, s, own, others));
  PetscCall(MatSeqAIJSetPreallocation(*A, 0, own));
  PetscCall(MatMPIAIJSetPreallocation(*A, 0, own, 0, others));
  PetscCall(PetscFree2(own, others));
  PetscCall(Fill(*A, s, NULL, NULL));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the name is that of a grid, right or not: a file of the name comes first. */
static PetscBool NamesGrid(const char *name)
{
  int points, end = 0;
  return (PetscBool)(sscanf(name, "%d-point:%n", &points, &end) == 1 && end && access(name, F_OK));
}

/* Takes the name of a grid apart. Returns whether it is right: nothing else may stand behind the number. */
static PetscBool ReadName(const char *name, Stencil *s, long long *n)
{
  int points, end = 0, constant = 0;
  if (sscanf(name, "%d-point:%lld%n:random%n", &points, n, &constant, &end) != 2 || *n < 1) return PETSC_FALSE;
  if (name[constant] && (!end || name[end])) return PETSC_FALSE;
  s->random = (PetscBool)(name[constant] != 0);
  s->points = points, s->dims = points == 7 || points == 27 ? 3 : 2;
  return (PetscBool)(points == 5 || points == 9 || points == 7 || points == 27);
}

/* The number of rows is computed in floating point, in which it cannot overflow before it is compared. */
PetscErrorCode StencilLoad(MPI_Comm comm, const char *name, PetscBool compressed, Problem *p, PetscBool *known)
{
  Stencil s = {0};
  long long n;
  double rows;

  PetscFunctionBegin;
  *known = PETSC_FALSE;
  if (!NamesGrid(name)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(ReadName(name, &s, &n), comm, PETSC_ERR_ARG_WRONG,
             "%s: no file has this name, and grids are 5-point:N, 9-point:N, 7-point:N and 27-point:N, N being 1 or more, with "
             ":random behind them or nothing", name);
  rows = (double)n * (double)n * (s.dims == 3 ? (double)n : 1);
  PetscCheck(rows <= (double)PETSC_MAX_INT, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "%s: %.0f rows, and this PETSc counts to %.0f", name, rows, (double)PETSC_MAX_INT);
  s.n = (PetscInt)n;
  if (compressed)
    PetscCall(MatMackoCreateFromRows(comm, PETSC_DECIDE, PETSC_DECIDE, (PetscInt)rows, (PetscInt)rows, Row, &s, &p->A));
  else PetscCall(Assemble(comm, (PetscInt)rows, &s, &p->A));
  snprintf(p->kind, sizeof p->kind, "generated, %d-point stencil on a grid%s", (int)s.points, s.random ? ", random values" : "");
  p->symmetric = *known = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
