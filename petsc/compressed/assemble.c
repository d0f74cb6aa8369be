/* Type macko by MatSetValues: rows that come in ascending order on the rank that owns them are encoded a piece at a time.
 * Columns of other ranks are encoded by their numbers in the whole matrix; assemble_end.c makes the matrix of what was encoded. */
#include "compressed/assembly.h"

#include <stdlib.h>

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
void MackoAssemblyClose(Mat A)
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
macko_status MackoAssemblyRoom(MackoAssembly *a, macko_error *err)
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
macko_status MackoAssemblyEndRow(Mat A, MackoAssembly *a, macko_error *err)
{
  macko_status status = MackoAssemblyRoom(a, err);
  if (status) return status;
  DropOverwritten(a);
  status = MackoCollect(&a->to_own, PartOf(A, a, PETSC_TRUE), a->cols, a->values, err);
  if (!status) status = MackoCollect(&a->to_off, PartOf(A, a, PETSC_FALSE), a->cols, a->values, err);
  a->row++, a->n = 0;
  return status;
}

/* Appends an entry to the row. */
macko_status MackoAssemblyAdd(MackoAssembly *a, PetscInt col, PetscScalar value, macko_error *err)
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
    macko_status status = admitted ? MackoAssemblyAdd(a, cols[j], value, &err) : MACKO_OK;
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
    PetscCheck(rows[i] < A->rmap->N, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "row %lld is outside of the matrix of %lld rows",
               (long long)rows[i], (long long)A->rmap->N);
    PetscBool ours = (PetscBool)(rows[i] >= A->rmap->rstart && rows[i] < A->rmap->rend);
    if (rows[i] < 0 || (!ours && m->rules.others_ignored)) continue;
    PetscCall(CheckRow(A, a, rows[i]));
    while (!status && a->row < rows[i] - A->rmap->rstart) status = MackoAssemblyEndRow(A, a, &err);
    PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
    const PetscScalar *of_row = !values ? NULL : m->rules.by_columns ? values + i : values + i * ncols;
    PetscCall(TakeRow(A, a, rows[i], ncols, cols, of_row, m->rules.by_columns ? nrows : 1));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- MatAssembly ---- */

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
  PetscCall(MackoAssemblyFinish(A));
  m->settled = settled;
  if (type != MAT_FINAL_ASSEMBLY) A->assembled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* When A goes (in is PETSC_FALSE) the list and what was assembled are freed; setting the operations again does no harm then. */
PetscErrorCode MackoCompressedAssembly(Mat A, PetscBool in)
{
  PetscFunctionBegin;
  PetscCall(MackoCompressedList(A, in));
  if (!in) MackoAssemblyClose(A);
  A->ops->setvalues     = MatSetValues_Macko;
  A->ops->assemblybegin = MatAssemblyBegin_Macko;
  A->ops->assemblyend   = MatAssemblyEnd_Macko;
  A->ops->setoption     = MackoCompressedSetOption;
  PetscFunctionReturn(PETSC_SUCCESS);
}
