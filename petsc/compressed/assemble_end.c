/* Type macko by MatSetValues, the end: columns of other ranks, which were encoded by their numbers in the whole matrix, are encoded
 * once more by those of the halo, as all are known. Where the matrix has entries already, both are put together row by row. */
#include "compressed/assembly.h"

#include <stdlib.h>

/* ---- where there were no entries ---- */

/* Lists the columns of other ranks that off has entries in, by going through its rows once more. */
static macko_status FindColumns(MackoBlock *off, MackoColumns *columns, macko_error *err)
{
  PetscInt           n;
  const int64_t     *cols;
  const PetscScalar *values;
  macko_status       status = MACKO_OK;
  for (PetscInt i = 0; !status && i < off->nrows; i++) {
    status = MackoBlockRow(off, i, &n, &cols, &values, err);
    for (PetscInt k = 0; !status && k < n; k++) status = MackoColumnsAdd(columns, (PetscInt)cols[k], err);
  }
  if (!status) MackoColumnsSort(columns);
  return status;
}

/* *to becomes *off with columns numbered by their places in the list. The order stays ascending, so that no row is sorted
   again. */
static macko_status Renumber(Mat A, MackoAssembly *a, const MackoColumns *columns, MackoBlock *to, macko_error *err)
{
  Mat_Compressed    *m       = (Mat_Compressed *)A->data;
  MackoCollector     collect = {.block = to, .options = &m->options, .device = m->device, .most = m->piece,
                                .row = A->rmap->rstart, .names = columns->cols, .gaps = PETSC_TRUE};
  PetscInt           n;
  const int64_t     *cols;
  const PetscScalar *values;
  macko_status       status = MACKO_OK;
  for (PetscInt i = 0; !status && columns->count && i < a->off.nrows; i++) {
    status = MackoBlockRow(&a->off, i, &n, &cols, &values, err);
    a->n   = 0;
    for (PetscInt k = 0; !status && k < n; k++)
      status = MackoAssemblyAdd(a, MackoColumnsFind(columns, (PetscInt)cols[k]), values[k], err);
    if (!status) status = MackoAssemblyRoom(a, err);
    for (PetscInt k = 0; !status && k < n; k++) a->cols[k] = a->entries[k].col;
    if (!status) status = MackoCollect(&collect, n, a->cols, values, err);
  }
  return MackoCollectEnd(&collect, status, err);
}

/* Makes what was assembled A's own; A has had no entries so far. Collective. */
static PetscErrorCode Take(Mat A, MackoAssembly *a)
{
  MackoColumns columns = {0};
  MackoBlock   off     = {0};
  macko_error  err     = {0};
  PetscMPIInt  size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  macko_status status = FindColumns(&a->off, &columns, &err);
  off = (MackoBlock){.nrows = size > 1 ? A->rmap->n : 0, .ncols = columns.count};
  if (!status) status = Renumber(A, a, &columns, &off, &err);
  PetscErrorCode error = MackoAgree(PetscObjectComm((PetscObject)A), status, err.text);
  if (error) MackoBlockDestroy(&off), free(columns.cols);
  PetscCall(error);
  PetscCall(MackoSetHalo(A, &columns));
  PetscCall(MackoCompressedTake(A, &a->own, &off));
  a->own = (MackoBlock){0};
  ((Mat_Compressed *)A->data)->encodes++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- where there are entries ---- */

/* Says whether a column is among n ascending ones. */
static PetscBool Holds(PetscInt n, const int64_t *cols, int64_t col)
{
  PetscInt low = 0, high = n;
  while (low < high) {
    PetscInt middle = low + (high - low) / 2;
    if (cols[middle] < col) low = middle + 1;
    else high = middle;
  }
  return (PetscBool)(low < n && cols[low] == col);
}

/* Appends n entries to the row, in columns numbered from first on. */
static macko_status Append(MackoAssembly *a, PetscInt n, const int64_t *cols, int64_t first, const PetscScalar *values)
{
  macko_status status = MACKO_OK;
  for (PetscInt k = 0; !status && k < n; k++) status = MackoAssemblyAdd(a, (PetscInt)(cols[k] + first), values[k], &a->err);
  return status;
}

/* Gathers row i of a matrix that has entries already: first its old ones, but for those that new ones were inserted over, then
   the new ones. */
static macko_status Together(MackoAssembly *a, PetscInt i)
{
  PetscInt           n[3];
  const PetscInt    *old;
  const int64_t     *own, *off;
  const PetscScalar *old_values, *own_values, *off_values;
  const int64_t      first = a->A->cmap->rstart;
  macko_status       status = MackoCompressedRow(a->A, i, &n[0], &old, &old_values, &a->err);
  if (!status) status = MackoBlockRow(&a->own, i, &n[1], &own, &own_values, &a->err);
  if (!status) status = MackoBlockRow(&a->off, i, &n[2], &off, &off_values, &a->err);
  a->n = 0;
  for (PetscInt k = 0; !status && k < n[0]; k++)
    if (a->mode == ADD_VALUES || !(Holds(n[1], own, old[k] - first) || Holds(n[2], off, old[k])))
      status = MackoAssemblyAdd(a, old[k], old_values[k], &a->err);
  if (!status) status = Append(a, n[1], own, first, own_values);
  if (!status) status = Append(a, n[2], off, 0, off_values);
  return status ? status : MackoAssemblyRoom(a, &a->err);
}

/* Gives such a row to MackoCompressedBuild; what comes twice, because it is to be added, encoding adds up. */
static PetscErrorCode RowOf(void *context, PetscInt row, PetscInt *n, const PetscInt **cols, const PetscScalar **values)
{
  MackoAssembly *a = (MackoAssembly *)context;

  PetscFunctionBegin;
  if (Together(a, row - a->A->rmap->rstart)) PetscFunctionReturn(PETSC_ERR_LIB);
  for (PetscInt k = 0; k < a->n; k++) a->cols[k] = a->entries[k].col, a->values[k] = a->entries[k].value;
  *n = a->n, *cols = a->cols, *values = a->values;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ends the rows that are left, encodes what waits and makes the matrix of it. The assembly is freed in any case. Collective. */
PetscErrorCode MackoAssemblyFinish(Mat A)
{
  MackoAssembly *a      = ((Mat_Compressed *)A->data)->assembly;
  macko_error    err    = {0};
  macko_status   status = MACKO_OK;

  PetscFunctionBegin;
  while (!status && a->row < A->rmap->n) status = MackoAssemblyEndRow(A, a, &err);
  status = MackoCollectEnd(&a->to_own, status, &err);
  status = MackoCollectEnd(&a->to_off, status, &err);
  PetscErrorCode error = MackoAgree(PetscObjectComm((PetscObject)A), status, err.text);
  a->A = A;
  if (!error) error = ((Mat_Compressed *)A->data)->taken ? MackoCompressedBuild(A, RowOf, a, &a->err) : Take(A, a);
  MackoAssemblyClose(A);
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}
