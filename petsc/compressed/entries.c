/* What type macko tells of its entries, and how it changes their values: by decoding a piece at a time. */
#include "compressed/compressed.h"
#include "sizes.h"

#include <math.h>
#include <stdlib.h>

/* ---- rows ---- */

/* Makes room for a row of n entries, and for longer ones, so that this is seldom done. */
static macko_status Reserve(Mat_Compressed *m, PetscInt n, macko_error *err)
{
  MackoRowRoom *row = &m->row;
  if (n <= row->room) return MACKO_OK;
  PetscInt     room   = 2 * n;
  PetscInt    *cols   = (PetscInt *)realloc(row->cols, (size_t)room * sizeof *cols);
  PetscScalar *values = NULL;
  if (cols) row->cols = cols, values = (PetscScalar *)realloc(row->values, (size_t)room * sizeof *values);
  if (!values) {
    err->status = MACKO_OUT_OF_MEMORY;
    (void)PetscSNPrintf(err->text, sizeof err->text, "no memory for a row of %lld entries", (long long)n);
    return MACKO_OUT_OF_MEMORY;
  }
  row->values = values, row->room = room;
  return MACKO_OK;
}

/* Both blocks give their part of the row sorted. Columns of other ranks are left or right of all own ones, so that the parts are
   put together without a comparison of each entry. */
macko_status MackoCompressedRow(Mat A, PetscInt i, PetscInt *n, const PetscInt **cols, const PetscScalar **values,
                                macko_error *err)
{
  Mat_Compressed    *m = (Mat_Compressed *)A->data;
  const int64_t     *own_cols, *off_cols = NULL;
  const PetscScalar *own_values, *off_values = NULL;
  PetscInt           own, off = 0, to = 0, k = 0;
  macko_status       status = MackoBlockRow(&m->own, i, &own, &own_cols, &own_values, err);
  if (!status) status = MackoBlockRow(&m->off, i, &off, &off_cols, &off_values, err);
  if (!status) status = Reserve(m, own + off, err);
  if (status) return status;
  m->row_held = 0;
  for (; k < off && m->ghost_cols[off_cols[k]] < A->cmap->rstart; k++, to++)
    m->row.cols[to] = m->ghost_cols[off_cols[k]], m->row.values[to] = off_values[k];
  for (PetscInt j = 0; j < own; j++, to++)
    m->row.cols[to] = (PetscInt)own_cols[j] + A->cmap->rstart, m->row.values[to] = own_values[j];
  for (; k < off; k++, to++) m->row.cols[to] = m->ghost_cols[off_cols[k]], m->row.values[to] = off_values[k];
  *n = m->row_n = to, *cols = m->row.cols, *values = m->row.values;
  m->row_held = i + 1;
  return MACKO_OK;
}

/* Every function that goes through rows calls this at its end, so that no decoded piece stays. */
void MackoCompressedForget(Mat A)
{
  Mat_Compressed *m = (Mat_Compressed *)A->data;
  MackoBlockForget(&m->own);
  MackoBlockForget(&m->off);
  m->row_held = 0;
}

/* Gives a row of this rank, as AIJ does those of no other. */
static PetscErrorCode OwnRow(Mat A, PetscInt row, PetscInt *n, const PetscInt **cols, const PetscScalar **values)
{
  macko_error err;

  PetscFunctionBegin;
  PetscCheck(row >= A->rmap->rstart && row < A->rmap->rend, PETSC_COMM_SELF, PETSC_ERR_SUP, "row %lld is not this rank's",
             (long long)row);
  PetscCall(MackoRaise(PETSC_COMM_SELF, MackoCompressedRow(A, row - A->rmap->rstart, n, cols, values, &err), err.text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One row is given out at a time, as with a parallel AIJ. PETSc hands out arrays that may be written to, but nobody reads what is
   written. */
static PetscErrorCode MatGetRow_Macko(Mat A, PetscInt row, PetscInt *n, PetscInt **cols, PetscScalar **values)
{
  Mat_Compressed    *m = (Mat_Compressed *)A->data;
  PetscInt           count;
  const PetscInt    *row_cols;
  const PetscScalar *row_values;

  PetscFunctionBegin;
  PetscCheck(!m->is_given, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
             "row %lld is asked for before MatRestoreRow has given back another one", (long long)row);
  PetscCall(OwnRow(A, row, &count, &row_cols, &row_values));
  const MackoRowRoom given = m->row;
  m->row = m->given, m->given = given;
  m->row_held = 0, m->is_given = PETSC_TRUE;
  if (n) *n = count;
  if (cols) *cols = count ? given.cols : NULL;
  if (values) *values = count ? given.values : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whoever has given back the last row has probably seen all, so that the decoded piece is freed then and not after each row. */
static PetscErrorCode MatRestoreRow_Macko(Mat A, PetscInt row, PetscInt *n, PetscInt **cols, PetscScalar **values)
{
  PetscFunctionBegin;
  (void)n, (void)cols, (void)values;
  ((Mat_Compressed *)A->data)->is_given = PETSC_FALSE;
  if (row == A->rmap->rend - 1) MackoCompressedForget(A);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives the values of this rank's rows only, as AIJ does; a row or column of -1 is none and its place stays as it is. A place
   without entry gives 0. values has m rows of n numbers. */
static PetscErrorCode MatGetValues_Macko(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt cols[],
                                         PetscScalar values[])
{
  PetscInt           count;
  const PetscInt    *row_cols;
  const PetscScalar *row_values;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < m; i++, values += n) {
    if (rows[i] < 0) continue;
    PetscCall(OwnRow(A, rows[i], &count, &row_cols, &row_values));
    for (PetscInt j = 0; j < n; j++) {
      PetscInt place;
      if (cols[j] < 0) continue;
      PetscCheck(cols[j] < A->cmap->N, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "column %lld of %lld", (long long)cols[j],
                 (long long)A->cmap->N);
      PetscCall(PetscFindInt(cols[j], count, row_cols, &place));
      values[j] = place < 0 ? 0 : row_values[place];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- other values ---- */

/* A row is multiplied with one number for all entries, with a number of its own, and each entry with one of its column. left
   counts by rows of this rank, right by the block's columns; either may be NULL. */
typedef struct {
  PetscScalar        all;
  const PetscScalar *left, *right;
} Factors;

/* This is a MackoChange whose context is of type Factors. */
static void Multiply(void *context, PetscInt row, PetscInt n, const int64_t *cols, PetscScalar *values)
{
  const Factors *f = (const Factors *)context;
  for (PetscInt k = 0; k < n; k++) {
    values[k] *= f->all;
    if (f->left) values[k] *= f->left[row];
    if (f->right) values[k] *= f->right[cols[k]];
  }
}

/* Memory for both forms is needed at the same time, which makes it possible that no rank changes if one fails. */
PetscErrorCode MackoCompressedCopy(Mat A, MackoChange *change, void *of_own, void *of_off, MackoBlock *own, MackoBlock *off)
{
  Mat_Compressed *m   = (Mat_Compressed *)A->data;
  macko_error     err = {0};

  PetscFunctionBegin;
  *own = *off = (MackoBlock){0};
  macko_status status = MackoBlockCopy(&m->own, change, of_own, own, &err);
  if (!status) status = MackoBlockCopy(&m->off, change, of_off, off, &err);
  PetscErrorCode error = MackoAgree(PetscObjectComm((PetscObject)A), status, err.text);
  if (error) MackoBlockDestroy(own), MackoBlockDestroy(off);
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Changes the values on all ranks, or on none. The pattern stays, with zeros as entries. */
static PetscErrorCode Change(Mat A, MackoChange *change, void *of_own, void *of_off)
{
  MackoBlock own, off;

  PetscFunctionBegin;
  PetscCall(MackoCompressedCopy(A, change, of_own, of_off, &own, &off));
  PetscCall(MackoCompressedTake(A, &own, &off));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A program may begin with this, before there are entries, and it may come between a flush and the end of an assembly: a matrix
   that is not assembled stays so. */
static PetscErrorCode MatZeroEntries_Macko(Mat A)
{
  const PetscBool assembled = A->assembled;

  PetscFunctionBegin;
  if (!((Mat_Compressed *)A->data)->taken) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Change(A, MackoClear, NULL, NULL));
  A->assembled = assembled;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatScale_Macko(Mat A, PetscScalar a)
{
  Factors factors = {.all = a};

  PetscFunctionBegin;
  PetscCall(Change(A, Multiply, &factors, &factors));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The factors for columns of other ranks come through the halo. The arrays are closed before a failure is passed on. */
static PetscErrorCode MatDiagonalScale_Macko(Mat A, Vec left, Vec right)
{
  Mat_Compressed *m   = (Mat_Compressed *)A->data;
  Factors         own = {.all = 1}, off = {.all = 1};

  PetscFunctionBegin;
  /* PETSc hands on vectors of any sizes. */
  PetscCall(MackoAgreeVector(A, "elements of the left vector", left, A->rmap->n));
  PetscCall(MackoAgreeVector(A, "elements of the right vector", right, A->cmap->n));
  if (left) {
    PetscCall(VecGetArrayRead(left, &own.left));
    off.left = own.left;
  }
  if (right) PetscCall(VecGetArrayRead(right, &own.right));
  if (right && m->halo) {
    PetscCall(VecScatterBegin(m->exchange, right, m->halo, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(m->exchange, right, m->halo, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecGetArrayRead(m->halo, &off.right));
  }
  PetscErrorCode error = Change(A, Multiply, &own, &off);
  if (off.right) PetscCall(VecRestoreArrayRead(m->halo, &off.right));
  if (right) PetscCall(VecRestoreArrayRead(right, &own.right));
  if (left) PetscCall(VecRestoreArrayRead(left, &own.left));
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operations of this file are set here. */
void MackoCompressedEntries(Mat A)
{
  A->ops->getrow        = MatGetRow_Macko;
  A->ops->restorerow    = MatRestoreRow_Macko;
  A->ops->getvalues     = MatGetValues_Macko;
  A->ops->scale         = MatScale_Macko;
  A->ops->zeroentries   = MatZeroEntries_Macko;
  A->ops->diagonalscale = MatDiagonalScale_Macko;
}
