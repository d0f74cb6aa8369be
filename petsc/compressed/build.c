/* Matrices of type macko from their rows, which are asked for one after another and encoded a piece at a time. */
#include "compressed/compressed.h"

#include <stdlib.h>

/* ---- rows from whoever gives them ---- */

/* Rows come from a function, the program's or one of this folder, and these are the numbers that it is checked by. */
typedef struct {
  MatMackoRowFunction row;
  void               *context;
  const macko_error  *reason; /* it says why the function failed; NULL: it has no sentence */
  PetscInt            first, rows, first_col, cols, all_cols; /* these are this rank's rows and columns, and all columns */
} Source;

/* Gathers what the others need to know of A, whose layouts are set up. */
static Source SourceOf(Mat A, MatMackoRowFunction row, void *context, const macko_error *reason)
{
  return (Source){row, context, reason, A->rmap->rstart, A->rmap->n, A->cmap->rstart, A->cmap->n, A->cmap->N};
}

/* Says whether a column, by its number in the whole matrix, belongs to this rank. */
static PetscBool IsOwn(const Source *s, PetscInt col)
{
  return (PetscBool)(col >= s->first_col && col < s->first_col + s->cols);
}

/* Writes the sentence "row ROW WHAT NUMBER" and returns the status. */
static macko_status Refuse(macko_error *err, macko_status status, const char *what, PetscInt row, PetscInt number)
{
  err->status = status;
  (void)PetscSNPrintf(err->text, sizeof err->text, "row %lld %s %lld", (long long)row, what, (long long)number);
  return status;
}

/* Asks for row i of this rank, with columns by their numbers in the whole matrix, and checks that they are in it: a function of
   the program's may give anything. The arrays are the function's own until it is asked again. */
static macko_status Ask(const Source *s, PetscInt i, PetscInt *n, const PetscInt **cols, const PetscScalar **values,
                        macko_error *err)
{
  PetscInt       row   = s->first + i;
  *n = 0, *cols = NULL, *values = NULL; /* a function need not set what a row without entries lacks */
  PetscErrorCode error = (*s->row)(s->context, row, n, cols, values);
  if (error && s->reason) *err = *s->reason;
  if (error && s->reason) return err->status;
  if (error)
    return Refuse(err, MACKO_INVALID_MATRIX, "is missing: the function that gives rows returned error", row, (PetscInt)error);
  if (*n < 0) return Refuse(err, MACKO_INVALID_MATRIX, "has a negative number of entries:", row, *n);
  if (*n && !*cols) return Refuse(err, MACKO_INVALID_MATRIX, "has no columns, but a number of entries:", row, *n);
  if (*n && !*values) return Refuse(err, MACKO_INVALID_MATRIX, "has no values, but a number of entries:", row, *n);
  for (PetscInt k = 0; k < *n; k++)
    if ((*cols)[k] < 0 || (*cols)[k] >= s->all_cols)
      return Refuse(err, MACKO_INVALID_MATRIX, "has an entry outside the matrix, in column", row, (*cols)[k]);
  return MACKO_OK;
}

/* ---- the columns of other ranks ---- */

/* Columns are compared, not subtracted, as the difference might not fit. */
static int CompareColumns(const void *a, const void *b)
{
  PetscInt x = *(const PetscInt *)a, y = *(const PetscInt *)b;
  return (x > y) - (x < y);
}

/* Sorts the columns and leaves each once. */
void MackoColumnsSort(MackoColumns *c)
{
  PetscInt kept = 0;
  if (c->count) qsort(c->cols, (size_t)c->count, sizeof *c->cols, CompareColumns);
  for (PetscInt k = 0; k < c->count; k++)
    if (!kept || c->cols[k] != c->cols[kept - 1]) c->cols[kept++] = c->cols[k];
  c->count = kept;
}

/* Doubles are dropped before there is more room, so that the list stays about as large as the result, though each column comes as
   often as it has entries. */
macko_status MackoColumnsAdd(MackoColumns *c, PetscInt col, macko_error *err)
{
  if (c->count == c->room) {
    MackoColumnsSort(c);
    PetscInt  room = 2 * c->count + 1024;
    PetscInt *cols = (PetscInt *)realloc(c->cols, (size_t)room * sizeof *cols);
    if (!cols) return Refuse(err, MACKO_OUT_OF_MEMORY, "makes too many columns of other ranks for this memory:", -1, room);
    c->cols = cols, c->room = room;
  }
  c->cols[c->count++] = col;
  return MACKO_OK;
}

/* This is a binary search, and so wants the list sorted. */
PetscInt MackoColumnsFind(const MackoColumns *c, PetscInt col)
{
  const PetscInt *found = (const PetscInt *)bsearch(&col, c->cols, (size_t)c->count, sizeof *c->cols, CompareColumns);
  return found ? (PetscInt)(found - c->cols) : -1;
}

/* Goes through all rows for the columns of other ranks alone. This is the first of two times that rows are asked for: their
   entries cannot be encoded before it is known which number each of these columns gets. */
static macko_status FindColumns(const Source *s, MackoColumns *c, macko_error *err)
{
  macko_status       status = MACKO_OK;
  PetscInt           n;
  const PetscInt    *cols;
  const PetscScalar *values;
  for (PetscInt i = 0; !status && i < s->rows; i++) {
    status = Ask(s, i, &n, &cols, &values, err);
    for (PetscInt k = 0; !status && k < n; k++)
      if (!IsOwn(s, cols[k])) status = MackoColumnsAdd(c, cols[k], err);
  }
  if (!status) MackoColumnsSort(c);
  return status;
}

/* ---- both blocks ---- */

/* These are the n entries of one row that belong to one block; the arrays grow to the longest row. */
typedef struct {
  PetscInt     n, room;
  PetscInt    *cols;
  PetscScalar *values;
} Part;

/* Appends one entry to a part; row is for the sentence only. */
static macko_status AddEntry(Part *p, PetscInt row, PetscInt col, PetscScalar value, macko_error *err)
{
  if (p->n == p->room) {
    PetscInt     room   = 2 * p->room + 64;
    PetscInt    *cols   = (PetscInt *)realloc(p->cols, (size_t)room * sizeof *cols);
    PetscScalar *values = NULL;
    if (cols) p->cols = cols, values = (PetscScalar *)realloc(p->values, (size_t)room * sizeof *values);
    if (!values) return Refuse(err, MACKO_OUT_OF_MEMORY, "has too many entries for this memory:", row, room);
    p->values = values, p->room = room;
  }
  p->cols[p->n] = col, p->values[p->n++] = value;
  return MACKO_OK;
}

/* Distributes the entries of row i over the parts for the two blocks, with columns numbered as the blocks'. A column of another
   rank that was not there the first time shows that the function gave another row, which is refused. */
static macko_status Split(const Source *s, const MackoColumns *c, PetscInt i, Part *own, Part *off, macko_error *err)
{
  PetscInt           n;
  const PetscInt    *cols;
  const PetscScalar *values;
  macko_status       status = Ask(s, i, &n, &cols, &values, err);
  own->n = off->n = 0;
  for (PetscInt k = 0; !status && k < n; k++) {
    if (IsOwn(s, cols[k])) status = AddEntry(own, s->first + i, cols[k] - s->first_col, values[k], err);
    else {
      PetscInt found = MackoColumnsFind(c, cols[k]);
      if (found < 0)
        return Refuse(err, MACKO_INVALID_MATRIX, "is not what it was when it was asked for before: it now has column", s->first + i,
                      cols[k]);
      status = AddEntry(off, s->first + i, found, values[k], err);
    }
  }
  return status;
}

/* Asks for row i, all of whose columns are this rank's, and hands it on as it is. */
static macko_status CollectWhole(const Source *s, PetscInt i, MackoCollector *to, macko_error *err)
{
  PetscInt           n;
  const PetscInt    *cols;
  const PetscScalar *values;
  macko_status       status = Ask(s, i, &n, &cols, &values, err);
  return status ? status : MackoCollect(to, n, cols, values, err);
}

/* Asks for row i and hands its entries on to the block that each belongs to, through parts[0] and [1]. */
static macko_status CollectSplit(const Source *s, const MackoColumns *c, PetscInt i, Part parts[2], MackoCollector to[2],
                                 macko_error *err)
{
  macko_status status = Split(s, c, i, &parts[0], &parts[1], err);
  if (!status) status = MackoCollect(&to[0], parts[0].n, parts[0].cols, parts[0].values, err);
  if (!status && c->count) status = MackoCollect(&to[1], parts[1].n, parts[1].cols, parts[1].values, err);
  return status;
}

/* Asks for all rows and encodes both blocks, a piece at a time. Without columns of other ranks the off-diagonal block has no
   pieces. The collectors are ended, and free their arrays, after a failure, too. */
static macko_status Encode(const Source *s, const MackoColumns *c, const Mat_Compressed *m, MackoBlock *own, MackoBlock *off,
                           macko_error *err)
{
  MackoCollector  to[2]    = {{.block = own, .options = &m->options, .device = m->device, .most = m->piece, .row = s->first,
                               .col = s->first_col},
                              {.block = off, .options = &m->options, .device = m->device, .most = m->piece, .row = s->first,
                               .names = c->cols, .gaps = PETSC_TRUE}};
  const PetscBool whole    = (PetscBool)(s->cols == s->all_cols);
  Part            parts[2] = {{0}};
  macko_status    status   = MACKO_OK;
  for (PetscInt i = 0; !status && i < s->rows; i++)
    status = whole ? CollectWhole(s, i, &to[0], err) : CollectSplit(s, c, i, parts, to, err);
  for (int k = 0; k < 2; k++) status = MackoCollectEnd(&to[k], status, err);
  for (int k = 0; k < 2; k++) free(parts[k].cols), free(parts[k].values);
  return status;
}

/* ---- the matrix ---- */

/* The exchange leads from a vector of A's columns to the halo's, of this rank alone. The vector it is made with has no array:
   only its layout counts. */
PetscErrorCode MackoSetHalo(Mat A, MackoColumns *c)
{
  Mat_Compressed *m    = (Mat_Compressed *)A->data;
  MPI_Comm        comm = PetscObjectComm((PetscObject)A);
  PetscMPIInt     size;
  IS              from;
  Vec             whole;

  PetscFunctionBegin;
  PetscCall(VecScatterDestroy(&m->exchange));
  PetscCall(VecDestroy(&m->halo));
  free(m->ghost_cols);
  m->ghost_cols = c->cols, m->ghosts = c->count, m->halo_columns = 0;
  *c            = (MackoColumns){0};
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecCreate(PETSC_COMM_SELF, &m->halo));
  PetscCall(VecSetSizes(m->halo, m->ghosts, m->ghosts));
  PetscCall(VecSetType(m->halo, VECSEQ));
  PetscCall(MackoCompressedPlace(A));
  PetscCall(VecCreateMPIWithArray(comm, 1, A->cmap->n, A->cmap->N, NULL, &whole));
  PetscCall(ISCreateGeneral(PETSC_COMM_SELF, m->ghosts, m->ghost_cols, PETSC_USE_POINTER, &from));
  PetscCall(VecScatterCreate(whole, from, m->halo, NULL, &m->exchange));
  PetscCall(ISDestroy(&from));
  PetscCall(VecDestroy(&whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The pattern may be another one, so that both of PETSc's counters go up and nothing is ready for products any more. */
PetscErrorCode MackoCompressedTake(Mat A, MackoBlock *own, MackoBlock *off)
{
  Mat_Compressed *m = (Mat_Compressed *)A->data;

  PetscFunctionBegin;
  MackoBlockDestroy(&m->own);
  MackoBlockDestroy(&m->off);
  m->own = *own, m->off = *off;
  m->products = 0, m->product_seconds = 0;
  m->taken = m->settled = PETSC_TRUE;
  m->row_held = 0;
  PetscCall(PetscMemzero(m->ready, sizeof m->ready));
  A->preallocated = A->assembled = PETSC_TRUE;
  A->was_assembled               = PETSC_FALSE;
  A->num_ass++;
  A->nonzerostate++;
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What fails on one rank is agreed on before anything of A changes. The list of columns is freed here after a failure; otherwise
   the halo takes it over. */
PetscErrorCode MackoCompressedBuild(Mat A, MatMackoRowFunction row, void *context, const macko_error *reason)
{
  Mat_Compressed *m    = (Mat_Compressed *)A->data;
  MPI_Comm        comm = PetscObjectComm((PetscObject)A);
  MackoColumns    columns = {0};
  MackoBlock      own, off;
  macko_error     err    = {0};
  macko_status    status = MACKO_OK;
  PetscMPIInt     size;
  PetscLogDouble  start, end;

  PetscFunctionBegin;
  PetscCall(MackoCompressedOptions(A, NULL));
  PetscCall(PetscLayoutSetUp(A->rmap));
  PetscCall(PetscLayoutSetUp(A->cmap));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  Source source = SourceOf(A, row, context, reason);
  PetscCall(PetscLogEventBegin(MACKO_Encode, A, 0, 0, 0));
  PetscCall(PetscTime(&start));
  /* On one rank all columns are its own, so that rows are asked for once. */
  if (size > 1) status = FindColumns(&source, &columns, &err);
  own = (MackoBlock){.nrows = A->rmap->n, .ncols = A->cmap->n};
  off = (MackoBlock){.nrows = size > 1 ? A->rmap->n : 0, .ncols = columns.count};
  if (!status) status = Encode(&source, &columns, m, &own, &off, &err);
  if (status) free(columns.cols);
  PetscCall(PetscTime(&end));
  PetscCall(PetscLogEventEnd(MACKO_Encode, A, 0, 0, 0));
  PetscErrorCode error = MackoAgree(comm, status, err.text);
  if (error) {
    MackoBlockDestroy(&own), MackoBlockDestroy(&off);
    if (!status) free(columns.cols);
    PetscCall(error);
  }
  PetscCall(MackoSetHalo(A, &columns));
  PetscCall(MackoCompressedTake(A, &own, &off));
  m->encodes++, m->encode_seconds += end - start;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A program may come here before any matrix was made, so the types are registered first. */
PetscErrorCode MatMackoCreateFromRows(MPI_Comm comm, PetscInt m, PetscInt n, PetscInt M, PetscInt N, MatMackoRowFunction row,
                                      void *context, Mat *A)
{
  PetscFunctionBegin;
  PetscCheck(row, comm, PETSC_ERR_ARG_NULL, "MatMackoCreateFromRows was given no function that gives rows");
  PetscCall(MatMackoInitializePackage());
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, m, n, M, N));
  PetscCall(MatSetType(*A, MATMACKO));
  PetscErrorCode error = MackoCompressedBuild(*A, row, context, NULL);
  if (error) PetscCall(MatDestroy(A));
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}
