/* What type macko tells of its entries, and how it changes their values: by decoding a piece at a time. */
#include "compressed/compressed.h"

#include <math.h>
#include <stdlib.h>

/* ---- rows ---- */

/* Makes room for a row of n entries, and for longer ones, so that this is seldom done. */
static macko_status Reserve(Mat_Compressed *m, PetscInt n, macko_error *err)
{
  if (n <= m->row_room) return MACKO_OK;
  PetscInt     room   = 2 * n;
  PetscInt    *cols   = (PetscInt *)realloc(m->row_cols, (size_t)room * sizeof *cols);
  PetscScalar *values = NULL;
  if (cols) m->row_cols = cols, values = (PetscScalar *)realloc(m->row_values, (size_t)room * sizeof *values);
  if (!values) {
    err->status = MACKO_OUT_OF_MEMORY;
    (void)PetscSNPrintf(err->text, sizeof err->text, "no memory for a row of %lld entries", (long long)n);
    return MACKO_OUT_OF_MEMORY;
  }
  m->row_values = values, m->row_room = room;
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
  for (; k < off && m->ghost_cols[off_cols[k]] < A->cmap->rstart; k++, to++)
    m->row_cols[to] = m->ghost_cols[off_cols[k]], m->row_values[to] = off_values[k];
  for (PetscInt j = 0; j < own; j++, to++)
    m->row_cols[to] = (PetscInt)own_cols[j] + A->cmap->rstart, m->row_values[to] = own_values[j];
  for (; k < off; k++, to++) m->row_cols[to] = m->ghost_cols[off_cols[k]], m->row_values[to] = off_values[k];
  *n = to, *cols = m->row_cols, *values = m->row_values;
  return MACKO_OK;
}

/* Every function that goes through rows calls this at its end, so that no decoded piece stays. */
void MackoCompressedForget(Mat A)
{
  Mat_Compressed *m = (Mat_Compressed *)A->data;
  MackoBlockForget(&m->own);
  MackoBlockForget(&m->off);
}

/* Rows of other ranks are not to be had, as with AIJ. PETSc hands out arrays that may be written to, but nobody reads what is
   written. */
static PetscErrorCode MatGetRow_Macko(Mat A, PetscInt row, PetscInt *n, PetscInt **cols, PetscScalar **values)
{
  PetscInt           count;
  const PetscInt    *row_cols;
  const PetscScalar *row_values;
  macko_error        err;

  PetscFunctionBegin;
  PetscCheck(row >= A->rmap->rstart && row < A->rmap->rend, PETSC_COMM_SELF, PETSC_ERR_SUP, "row %lld is not this rank's",
             (long long)row);
  PetscCall(MackoRaise(PETSC_COMM_SELF, MackoCompressedRow(A, row - A->rmap->rstart, &count, &row_cols, &row_values, &err), err.text));
  if (n) *n = count;
  if (cols) *cols = count ? (PetscInt *)row_cols : NULL;
  if (values) *values = count ? (PetscScalar *)row_values : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whoever has given back the last row has probably seen all, so that the decoded piece is freed then and not after each row. */
static PetscErrorCode MatRestoreRow_Macko(Mat A, PetscInt row, PetscInt *n, PetscInt **cols, PetscScalar **values)
{
  PetscFunctionBegin;
  (void)n, (void)cols, (void)values;
  if (row == A->rmap->rend - 1) MackoCompressedForget(A);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives the values of this rank's rows only, as AIJ does; a row or column of -1 is none and its place stays as it is. A place
   without entry gives 0. values has m rows of n numbers. */
static PetscErrorCode MatGetValues_Macko(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt cols[], PetscScalar values[])
{
  PetscInt     count;
  PetscInt    *row_cols;
  PetscScalar *row_values;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < m; i++, values += n) {
    if (rows[i] < 0) continue;
    PetscCall(MatGetRow_Macko(A, rows[i], &count, &row_cols, &row_values));
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

/* ---- one number a row ---- */

/* Computes one number from a row with n entries, columns numbered as in the whole matrix; *col may get a column that goes with
   it. */
typedef PetscScalar RowNumber(PetscInt row, PetscInt n, const PetscInt *cols, const PetscScalar *values, PetscInt *col);

/* Gives the diagonal entry, or 0 where there is none. */
static PetscScalar Diagonal(PetscInt row, PetscInt n, const PetscInt *cols, const PetscScalar *values, PetscInt *col)
{
  (void)col;
  for (PetscInt k = 0; k < n; k++)
    if (cols[k] == row) return values[k];
  return 0;
}

/* Gives the greatest absolute value and, in *col, its first column. */
static PetscScalar GreatestSize(PetscInt row, PetscInt n, const PetscInt *cols, const PetscScalar *values, PetscInt *col)
{
  PetscReal greatest = 0;
  (void)row;
  for (PetscInt k = 0; k < n; k++)
    if (PetscAbsScalar(values[k]) > greatest) greatest = PetscAbsScalar(values[k]), *col = cols[k];
  return greatest;
}

/* Gives the sum of the absolute values. */
static PetscScalar SumOfSizes(PetscInt row, PetscInt n, const PetscInt *cols, const PetscScalar *values, PetscInt *col)
{
  PetscReal sum = 0;
  (void)row, (void)cols, (void)col;
  for (PetscInt k = 0; k < n; k++) sum += PetscAbsScalar(values[k]);
  return sum;
}

/* Puts such a number of every row of this rank into v, and where found is not NULL a column for each. Ranks agree at the end on
   whether all pieces could be decoded. Collective. */
static PetscErrorCode OfEveryRow(Mat A, RowNumber *number, Vec v, PetscInt *found)
{
  PetscScalar       *to;
  PetscInt           n, rows = A->rmap->n;
  const PetscInt    *cols;
  const PetscScalar *values;
  macko_error        err    = {0};
  macko_status       status = MACKO_OK;

  PetscFunctionBegin;
  PetscCall(VecGetArrayWrite(v, &to));
  for (PetscInt i = 0; !status && i < rows; i++) {
    PetscInt col = 0;
    status = MackoCompressedRow(A, i, &n, &cols, &values, &err);
    if (!status) to[i] = (*number)(A->rmap->rstart + i, n, cols, values, &col);
    if (!status && found) found[i] = col;
  }
  MackoCompressedForget(A);
  PetscCall(VecRestoreArrayWrite(v, &to));
  PetscCall(MackoAgree(PetscObjectComm((PetscObject)A), status, err.text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Has the GPU put this rank's part of the diagonal into v, if it can, and sets *done: all of it is in the block of own columns where
   rows and columns are shared out alike. Pieces go to the GPU for it, as for the products to come. Ranks agree on a failure, not on
   *done. */
static PetscErrorCode DiagonalOnDevice(Mat A, Vec v, PetscBool *done)
{
  const Mat_Compressed *m     = (const Mat_Compressed *)A->data;
  const PetscBool       alike = (PetscBool)(A->rmap->rstart == A->cmap->rstart && A->rmap->rend == A->cmap->rend);
  PetscScalar          *to;
  PetscMemType          where;
  PetscBool             device;
  macko_error           err    = {0};
  macko_status          status = MACKO_OK;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  PetscCall(MackoCompressedOnDevice(A, v, v, &device));
  if (!device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoCompressedPrepare(A, MACKO_READY_DEVICE));
  PetscCall(VecGetArrayWriteAndMemType(v, &to, &where));
  if (alike && PetscMemTypeDevice(where)) status = MackoBlockDeviceDiagonal(&m->own, to, done, &err);
  PetscCall(VecRestoreArrayWriteAndMemType(v, &to));
  PetscCall(MackoAgree(PetscObjectComm((PetscObject)A), status, err.text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the GPU cannot give it on every rank, rows are decoded on the host, which ranks do together. */
static PetscErrorCode MatGetDiagonal_Macko(Mat A, Vec v)
{
  PetscBool done;
  int       mine, all;

  PetscFunctionBegin;
  PetscCall(DiagonalOnDevice(A, v, &done));
  mine = done;
  PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)A)));
  if (!all) PetscCall(OfEveryRow(A, Diagonal, v, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetRowMaxAbs_Macko(Mat A, Vec v, PetscInt cols[])
{
  PetscFunctionBegin;
  PetscCall(OfEveryRow(A, GreatestSize, v, cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetRowSumAbs_Macko(Mat A, Vec v)
{
  PetscFunctionBegin;
  PetscCall(OfEveryRow(A, SumOfSizes, v, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- norms ---- */

/* The norm NORM_INFINITY is the largest sum of absolute values of a row. */
static PetscErrorCode LargestRowSum(Mat A, PetscReal *norm)
{
  Vec sums;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, NULL, &sums));
  PetscCall(OfEveryRow(A, SumOfSizes, sums, NULL));
  PetscCall(VecNorm(sums, NORM_INFINITY, norm));
  PetscCall(VecDestroy(&sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds the absolute values of a block to sums, one for each of its columns. */
static macko_status AddColumns(MackoBlock *b, PetscScalar *sums, macko_error *err)
{
  PetscInt           n;
  const int64_t     *cols;
  const PetscScalar *values;
  macko_status       status = MACKO_OK;
  for (PetscInt i = 0; !status && i < b->nrows; i++) {
    status = MackoBlockRow(b, i, &n, &cols, &values, err);
    for (PetscInt k = 0; !status && k < n; k++) sums[cols[k]] += PetscAbsScalar(values[k]);
  }
  MackoBlockForget(b);
  return status;
}

/* Does that with a vector, which starts from 0. After a failure before, the sums stay 0; ranks agree on that before anyone uses
   them. */
static PetscErrorCode AddColumnsTo(MackoBlock *b, Vec sums, macko_status *status, macko_error *err)
{
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(VecSet(sums, 0));
  PetscCall(VecGetArray(sums, &a));
  if (!*status) *status = AddColumns(b, a, err);
  PetscCall(VecRestoreArray(sums, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The norm NORM_1 is the largest sum of absolute values of a column. Sums of columns of other ranks gather in the halo and are
   added to theirs. */
static PetscErrorCode LargestColumnSum(Mat A, PetscReal *norm)
{
  Mat_Compressed *m = (Mat_Compressed *)A->data;
  Vec             sums;
  macko_error     err    = {0};
  macko_status    status = MACKO_OK;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &sums, NULL));
  PetscCall(AddColumnsTo(&m->own, sums, &status, &err));
  if (m->halo) PetscCall(AddColumnsTo(&m->off, m->halo, &status, &err));
  PetscCall(MackoAgree(PetscObjectComm((PetscObject)A), status, err.text));
  if (m->halo) {
    PetscCall(VecScatterBegin(m->exchange, m->halo, sums, ADD_VALUES, SCATTER_REVERSE));
    PetscCall(VecScatterEnd(m->exchange, m->halo, sums, ADD_VALUES, SCATTER_REVERSE));
  }
  PetscCall(VecNorm(sums, NORM_INFINITY, norm));
  PetscCall(VecDestroy(&sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives the sum of the squared absolute values. */
static PetscScalar SumOfSquares(PetscInt row, PetscInt n, const PetscInt *cols, const PetscScalar *values, PetscInt *col)
{
  PetscReal sum = 0;
  (void)row, (void)cols, (void)col;
  for (PetscInt k = 0; k < n; k++) sum += PetscRealPart(PetscConj(values[k]) * values[k]);
  return sum;
}

/* The Frobenius norm goes by rows, and PETSc adds them up over the ranks. */
static PetscErrorCode RootOfSquares(Mat A, PetscReal *norm)
{
  Vec         sums;
  PetscScalar sum;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, NULL, &sums));
  PetscCall(OfEveryRow(A, SumOfSquares, sums, NULL));
  PetscCall(VecSum(sums, &sum));
  *norm = PetscSqrtReal(PetscRealPart(sum));
  PetscCall(VecDestroy(&sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ has the same three norms. */
static PetscErrorCode MatNorm_Macko(Mat A, NormType type, PetscReal *norm)
{
  PetscFunctionBegin;
  if (type == NORM_1) PetscCall(LargestColumnSum(A, norm));
  else if (type == NORM_INFINITY) PetscCall(LargestRowSum(A, norm));
  else if (type == NORM_FROBENIUS) PetscCall(RootOfSquares(A, norm));
  else SETERRQ(PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "no norm but NORM_1, NORM_INFINITY and NORM_FROBENIUS");
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

static PetscErrorCode MatZeroEntries_Macko(Mat A)
{
  PetscFunctionBegin;
  PetscCall(Change(A, MackoClear, NULL, NULL));
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
  A->ops->getdiagonal   = MatGetDiagonal_Macko;
  A->ops->getrowmaxabs  = MatGetRowMaxAbs_Macko;
  A->ops->norm          = MatNorm_Macko;
  A->ops->scale         = MatScale_Macko;
  A->ops->zeroentries   = MatZeroEntries_Macko;
  A->ops->diagonalscale = MatDiagonalScale_Macko;
  MackoSetRowSumAbs(A, MatGetRowSumAbs_Macko);
}
