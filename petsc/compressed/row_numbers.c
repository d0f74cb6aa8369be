/* What type macko tells of each row in one number: the diagonal, sums and greatest values; and norms, which follow from such. */
#include "compressed/compressed.h"
#include "sizes.h"

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

/* PETSc hands on a vector of any size. Collective. */
static PetscErrorCode CheckSize(Mat A, Vec v)
{
  return MackoAgreeVector(A, "elements of the vector", v, A->rmap->n);
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

/* Makes *v, which the caller destroys, the vector of such numbers. Collective. */
static PetscErrorCode NewOfEveryRow(Mat A, RowNumber *number, Vec *v)
{
  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, NULL, v));
  PetscCall(OfEveryRow(A, number, *v, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Has the GPU put this rank's part of the diagonal into v, if it can, and sets *done: all of it is in the block of own columns
   where rows and columns are shared out alike. Pieces go to the GPU for it, as for the products to come. Ranks agree on a failure
   and on *done. */
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
  PetscCall(MackoOnAll(A, *done, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the GPU cannot give it on every rank, rows are decoded on the host, which ranks do together. */
static PetscErrorCode MatGetDiagonal_Macko(Mat A, Vec v)
{
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(CheckSize(A, v));
  PetscCall(DiagonalOnDevice(A, v, &done));
  if (!done) PetscCall(OfEveryRow(A, Diagonal, v, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetRowMaxAbs_Macko(Mat A, Vec v, PetscInt cols[])
{
  PetscFunctionBegin;
  PetscCall(CheckSize(A, v));
  PetscCall(OfEveryRow(A, GreatestSize, v, cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetRowSumAbs_Macko(Mat A, Vec v)
{
  PetscFunctionBegin;
  PetscCall(CheckSize(A, v));
  PetscCall(OfEveryRow(A, SumOfSizes, v, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives 1 where any value is not 0, which NaN is not, else 0. */
static PetscScalar AnyValue(PetscInt row, PetscInt n, const PetscInt *cols, const PetscScalar *values, PetscInt *col)
{
  (void)row, (void)cols, (void)col;
  for (PetscInt k = 0; k < n; k++)
    if (values[k] != 0) return 1;
  return 0;
}

/* Lists this rank's rows whose mark is not 0, by their numbers in the whole matrix. */
static PetscErrorCode ListMarked(Vec marks, IS *list)
{
  const PetscScalar *a;
  PetscInt           n, first, count = 0, *rows;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(marks, &n));
  PetscCall(VecGetOwnershipRange(marks, &first, NULL));
  PetscCall(PetscMalloc1(n, &rows));
  PetscCall(VecGetArrayRead(marks, &a));
  for (PetscInt i = 0; i < n; i++)
    if (a[i] != 0) rows[count++] = first + i;
  PetscCall(VecRestoreArrayRead(marks, &a));
  PetscCall(ISCreateGeneral(PetscObjectComm((PetscObject)marks), count, rows, PETSC_OWN_POINTER, list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *list is NULL where all rows have values, as AIJ has it. Without this operation PETSc 3.18 numbers the rows of every rank
   from 0. */
static PetscErrorCode MatFindNonzeroRows_Macko(Mat A, IS *list)
{
  Vec      marks;
  PetscInt count;

  PetscFunctionBegin;
  PetscCall(NewOfEveryRow(A, AnyValue, &marks));
  PetscCall(ListMarked(marks, list));
  PetscCall(VecDestroy(&marks));
  PetscCall(ISGetSize(*list, &count));
  if (count == A->rmap->N) PetscCall(ISDestroy(list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- norms ---- */

/* Gives the largest of sums that are not negative. NaN counts for nothing, as in a sequential AIJ's norms: what MPI_MAX makes of it
   depends on the order of ranks. */
static PetscErrorCode LargestOf(Vec sums, PetscReal *norm)
{
  const PetscScalar *a;
  PetscInt           n;
  PetscReal          largest = 0;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(sums, &n));
  PetscCall(VecGetArrayRead(sums, &a));
  for (PetscInt i = 0; i < n; i++)
    if (PetscRealPart(a[i]) > largest) largest = PetscRealPart(a[i]);
  PetscCall(VecRestoreArrayRead(sums, &a));
  PetscCallMPI(MPI_Allreduce(&largest, norm, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)sums)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The norm NORM_INFINITY is the largest sum of absolute values of a row. */
static PetscErrorCode LargestRowSum(Mat A, PetscReal *norm)
{
  Vec sums;

  PetscFunctionBegin;
  PetscCall(NewOfEveryRow(A, SumOfSizes, &sums));
  PetscCall(LargestOf(sums, norm));
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
  PetscCall(LargestOf(sums, norm));
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
  PetscCall(NewOfEveryRow(A, SumOfSquares, &sums));
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

/* The operations of this file are set here. */
void MackoCompressedRowNumbers(Mat A)
{
  A->ops->getdiagonal     = MatGetDiagonal_Macko;
  A->ops->getrowmaxabs    = MatGetRowMaxAbs_Macko;
  A->ops->findnonzerorows = MatFindNonzeroRows_Macko;
  A->ops->norm            = MatNorm_Macko;
  MackoSetRowSumAbs(A, MatGetRowSumAbs_Macko);
}
