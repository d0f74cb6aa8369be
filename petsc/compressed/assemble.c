/* Type macko by MatSetValues: rows that come in ascending order on the rank that owns them are encoded a piece at a time.
 * Columns of other ranks are encoded by their numbers in the whole matrix, and once more by those of the halo when all are
 * known. Where the matrix has entries already, both are put together row by row at the end. */
#include "compressed/compressed.h"

#include <stdlib.h>

/* Entries of a row are sorted by column, and those of one column by the order in which they came. */
typedef struct {
  PetscInt    col, order;
  PetscScalar value;
} Entry;

/* This lives from the first MatSetValues until the assembly ends. */
struct MackoAssembly {
  /* Both blocks hold what was encoded so far; off has the columns of the whole matrix. */
  MackoBlock     own, off;
  MackoCollector to_own, to_off;
  /* Entries come for this row of this rank at present; earlier ones are encoded. */
  PetscInt       row;
  InsertMode     mode;
  /* The row has n entries so far; entries has room for so many, cols and values for part_room. */
  PetscInt       n, room, part_room;
  Entry         *entries;
  /* These hold the part of a row that belongs to one block. */
  PetscInt      *cols;
  PetscScalar   *values;
  /* This is the matrix, for putting its old entries and the new ones together. */
  Mat            A;
  macko_error    err;
};
typedef struct MackoAssembly MackoAssembly;

/* ---- rows ---- */

/* Begins to take entries. The off-diagonal block is encoded on the host, since it will be read again to number its columns. */
static PetscErrorCode Open(Mat A)
{
  Mat_Compressed *m = (Mat_Compressed *)A->data;
  MackoAssembly  *a;

  PetscFunctionBegin;
  PetscCall(MackoCheckSetUp(A));
  PetscCall(PetscNew(&a));
  a->own    = (MackoBlock){.nrows = A->rmap->n, .ncols = A->cmap->n};
  a->off    = (MackoBlock){.nrows = A->rmap->n, .ncols = A->cmap->N};
  a->to_own = (MackoCollector){.block = &a->own, .options = &m->options, .device = m->device, .most = m->piece,
                               .row = A->rmap->rstart, .col = A->cmap->rstart};
  a->to_off = (MackoCollector){.block = &a->off, .options = &m->options, .most = m->piece, .row = A->rmap->rstart,
                               .gaps = PETSC_TRUE};
  m->assembly = a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Frees all that an assembly holds, whether or not it went well. The collectors are ended with a failure, so that they encode
   nothing. */
static void Close(Mat A)
{
  Mat_Compressed *m   = (Mat_Compressed *)A->data;
  MackoAssembly  *a   = m->assembly;
  macko_error     err = {0};
  if (!a) return;
  (void)MackoCollectEnd(&a->to_own, MACKO_INVALID_ARGUMENT, &err);
  (void)MackoCollectEnd(&a->to_off, MACKO_INVALID_ARGUMENT, &err);
  MackoBlockDestroy(&a->own), MackoBlockDestroy(&a->off);
  free(a->entries), free(a->cols), free(a->values), (void)PetscFree(a);
  MackoCompressedForget(A); /* old rows may have been looked at */
  m->assembly = NULL;
}

/* Writes the sentence for a row of this rank and returns the status. */
static macko_status NoMemory(const MackoAssembly *a, macko_error *err)
{
  err->status = MACKO_OUT_OF_MEMORY;
  (void)PetscSNPrintf(err->text, sizeof err->text, "no memory for %lld entries of row %lld of this rank", (long long)a->n,
                      (long long)a->row);
  return MACKO_OUT_OF_MEMORY;
}

/* Compares two entries for qsort. */
static int InOrder(const void *left, const void *right)
{
  const Entry *a = (const Entry *)left, *b = (const Entry *)right;
  if (a->col != b->col) return a->col < b->col ? -1 : 1;
  return a->order < b->order ? -1 : a->order > b->order;
}

/* Sorts the row. Of entries that were inserted twice the later one counts; those to be added stay, and encoding adds them in
   their order. */
static void DropOverwritten(MackoAssembly *a)
{
  PetscInt kept = 0;
  if (a->n) qsort(a->entries, (size_t)a->n, sizeof *a->entries, InOrder);
  if (a->mode == ADD_VALUES) return;
  for (PetscInt k = 0; k < a->n; k++)
    if (k + 1 == a->n || a->entries[k + 1].col != a->entries[k].col) a->entries[kept++] = a->entries[k];
  a->n = kept;
}

/* Takes the row's entries in columns of this rank (own), or of others, into cols and values, and returns how many. */
static PetscInt PartOf(Mat A, MackoAssembly *a, PetscBool own)
{
  PetscInt n = 0;
  for (PetscInt k = 0; k < a->n; k++) {
    PetscInt  col = a->entries[k].col;
    PetscBool mine = (PetscBool)(col >= A->cmap->rstart && col < A->cmap->rend);
    if (mine == own) a->cols[n] = own ? col - A->cmap->rstart : col, a->values[n++] = a->entries[k].value;
  }
  return n;
}

/* Makes as many places in cols and values as there are for entries. */
static macko_status MakeRoom(MackoAssembly *a, macko_error *err)
{
  if (a->n <= a->part_room) return MACKO_OK;
  PetscInt    *cols   = (PetscInt *)realloc(a->cols, (size_t)a->room * sizeof *cols);
  PetscScalar *values = NULL;
  if (cols) a->cols = cols, values = (PetscScalar *)realloc(a->values, (size_t)a->room * sizeof *values);
  if (!values) return NoMemory(a, err);
  a->values = values, a->part_room = a->room;
  return MACKO_OK;
}

/* Hands the row over to both collectors, which encode a piece when they have enough, and goes to the next one. Rows without
   entries come by here, too. */
static macko_status EndRow(Mat A, MackoAssembly *a, macko_error *err)
{
  macko_status status = MakeRoom(a, err);
  if (status) return status;
  DropOverwritten(a);
  status = MackoCollect(&a->to_own, PartOf(A, a, PETSC_TRUE), a->cols, a->values, err);
  if (!status) status = MackoCollect(&a->to_off, PartOf(A, a, PETSC_FALSE), a->cols, a->values, err);
  a->row++, a->n = 0;
  return status;
}

/* Appends an entry to the row. */
static macko_status AddEntry(MackoAssembly *a, PetscInt col, PetscScalar value, macko_error *err)
{
  if (a->n == a->room) {
    PetscInt room    = 2 * a->room + 64;
    Entry   *entries = (Entry *)realloc(a->entries, (size_t)room * sizeof *entries);
    if (!entries) return NoMemory(a, err);
    a->entries = entries, a->room = room;
  }
  a->entries[a->n] = (Entry){col, a->n, value};
  a->n++;
  return MACKO_OK;
}

/* ---- MatSetValues ---- */

/* Refuses rows of other ranks, which would have to be kept until the assembly, and rows that are encoded already. */
static PetscErrorCode CheckRow(Mat A, const MackoAssembly *a, PetscInt row)
{
  PetscFunctionBegin;
  PetscCheck(row >= A->rmap->rstart && row < A->rmap->rend, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "row %lld belongs to another rank: a matrix of type macko takes entries on the rank that owns their row, or convert "
             "one of type aij to it", (long long)row);
  PetscCheck(row - A->rmap->rstart >= a->row, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "entries of row %lld come after those of row %lld: a matrix of type macko takes its rows in ascending order and "
             "encodes them, or convert one of type aij to it", (long long)row, (long long)(A->rmap->rstart + a->row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The row is short, and asked about only where the matrix had no such entry before. */
PetscBool MackoCame(const MackoAssembly *a, PetscInt col)
{
  for (PetscInt k = 0; k < a->n; k++)
    if (a->entries[k].col == col) return PETSC_TRUE;
  return PETSC_FALSE;
}

/* Takes a row's entries; values are `step` numbers apart, or all zero. Negative columns are left out, as AIJ does. */
static PetscErrorCode TakeRow(Mat A, MackoAssembly *a, PetscInt row, PetscInt ncols, const PetscInt cols[],
                              const PetscScalar *values, PetscInt step)
{
  const MackoRules *rules = &((Mat_Compressed *)A->data)->rules;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < ncols; j++) {
    PetscScalar value    = values ? values[j * step] : 0;
    PetscBool   admitted = PETSC_TRUE;
    if (cols[j] < 0) continue;
    PetscCheck(cols[j] < A->cmap->N, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "column %lld of row %lld is none of %lld",
               (long long)cols[j], (long long)row, (long long)A->cmap->N);
    const PetscBool zero = (PetscBool)(rules->zeros_ignored && value == 0 && row != cols[j]);
    if (zero || rules->new_places != MACKO_NEW_TAKEN)
      PetscCall(MackoAdmits(A, (MackoNewEntry){row, cols[j], a->mode, zero}, &admitted));
    macko_error  err;
    macko_status status = admitted ? AddEntry(a, cols[j], value, &err) : MACKO_OK;
    PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Setting an entry in a later row ends all rows before it. Negative rows are left out, as AIJ does, and those of other ranks where
   an option says so. */
static PetscErrorCode MatSetValues_Macko(Mat A, PetscInt nrows, const PetscInt rows[], PetscInt ncols, const PetscInt cols[],
                                         const PetscScalar values[], InsertMode mode)
{
  Mat_Compressed *m      = (Mat_Compressed *)A->data;
  macko_error     err    = {0};
  macko_status    status = MACKO_OK;

  PetscFunctionBegin;
  if (!m->assembly) PetscCall(Open(A));
  MackoAssembly *a = m->assembly;
  a->mode = mode;
  for (PetscInt i = 0; i < nrows; i++) {
    PetscBool ours = (PetscBool)(rows[i] >= A->rmap->rstart && rows[i] < A->rmap->rend);
    if (rows[i] < 0 || (!ours && m->rules.others_ignored)) continue;
    PetscCall(CheckRow(A, a, rows[i]));
    while (!status && a->row < rows[i] - A->rmap->rstart) status = EndRow(A, a, &err);
    PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
    const PetscScalar *of_row = !values ? NULL : m->rules.by_columns ? values + i : values + i * ncols;
    PetscCall(TakeRow(A, a, rows[i], ncols, cols, of_row, m->rules.by_columns ? nrows : 1));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the end ---- */

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
    for (PetscInt k = 0; !status && k < n; k++) status = AddEntry(a, MackoColumnsFind(columns, (PetscInt)cols[k]), values[k], err);
    if (!status) status = MakeRoom(a, err);
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
  for (PetscInt k = 0; !status && k < n; k++) status = AddEntry(a, (PetscInt)(cols[k] + first), values[k], &a->err);
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
      status = AddEntry(a, old[k], old_values[k], &a->err);
  if (!status) status = Append(a, n[1], own, first, own_values);
  if (!status) status = Append(a, n[2], off, 0, off_values);
  return status ? status : MakeRoom(a, &a->err);
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
static PetscErrorCode Finish(Mat A)
{
  MackoAssembly *a      = ((Mat_Compressed *)A->data)->assembly;
  macko_error    err    = {0};
  macko_status   status = MACKO_OK;

  PetscFunctionBegin;
  while (!status && a->row < A->rmap->n) status = EndRow(A, a, &err);
  status = MackoCollectEnd(&a->to_own, status, &err);
  status = MackoCollectEnd(&a->to_off, status, &err);
  PetscErrorCode error = MackoAgree(PetscObjectComm((PetscObject)A), status, err.text);
  a->A = A;
  if (!error) error = ((Mat_Compressed *)A->data)->taken ? MackoCompressedBuild(A, RowOf, a, &a->err) : Take(A, a);
  Close(A);
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No entries are sent between ranks, so that there is only to see whether the matrix has sizes: a program that asked for its rows
   before may have set none. */
static PetscErrorCode MatAssemblyBegin_Macko(Mat A, MatAssemblyType type)
{
  PetscFunctionBegin;
  (void)type;
  PetscCall(MackoCheckSetUp(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries may have come on some ranks only, so that all ask each other. The first assembly makes a matrix even if none came.
   After a flush entries may be inserted instead of added, or the other way round: what came before is put together then. */
static PetscErrorCode MatAssemblyEnd_Macko(Mat A, MatAssemblyType type)
{
  Mat_Compressed *m    = (Mat_Compressed *)A->data;
  const PetscBool settled = (PetscBool)(m->settled || type == MAT_FINAL_ASSEMBLY);
  PetscBool       any;

  PetscFunctionBegin;
  m->settled = settled;
  PetscCall(MackoOnAny(A, m->assembly || (type == MAT_FINAL_ASSEMBLY && !m->taken), &any));
  if (!any) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoCompressedOptions(A, NULL));
  if (!m->assembly) PetscCall(Open(A));
  PetscCall(Finish(A));
  m->settled = settled;
  if (type != MAT_FINAL_ASSEMBLY) A->assembled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* When A goes (in is PETSC_FALSE) the list and what was assembled are freed; setting the operations again does no harm then. */
PetscErrorCode MackoCompressedAssembly(Mat A, PetscBool in)
{
  PetscFunctionBegin;
  PetscCall(MackoCompressedList(A, in));
  if (!in) Close(A);
  A->ops->setvalues     = MatSetValues_Macko;
  A->ops->assemblybegin = MatAssemblyBegin_Macko;
  A->ops->assemblyend   = MatAssemblyEnd_Macko;
  A->ops->setoption     = MackoCompressedSetOption;
  PetscFunctionReturn(PETSC_SUCCESS);
}
