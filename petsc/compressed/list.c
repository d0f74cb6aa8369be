/* Type macko by MatSetPreallocationCOO and MatSetValuesCOO: each rank's list of entries is sorted by rows, which are encoded a
 * piece at a time. The list is kept, as new values come by it: of 12 bytes an entry, 24 with 64-bit indices. */
#include "compressed/compressed.h"

#include <petscdevice.h>

/* This is a rank's list of entries, sorted by rows, and what is needed to give out rows of it. */
struct MackoList {
  /* This is the length of the caller's list. */
  PetscCount  count;
  /* The columns are in the order of rows; starts[i] says with which entry row i of this rank begins. */
  PetscInt   *cols, *starts;
  /* These are the places of the entries in the caller's list, by which values find theirs. */
  PetscCount *places;
  /* The two arrays have room for so many entries of a row. */
  PetscInt     room;
  PetscInt    *row_cols;
  PetscScalar *row_values;

  /* The rest is set for the time of a MatSetValuesCOO only. */
  Mat                A;
  PetscBool          add; /* values are added to the entries that A has */
  const PetscScalar *values; /* they are in the order of the caller's list; NULL: zeros */
  macko_error        err;
};
typedef struct MackoList MackoList;

/* *list may be NULL, and is NULL afterwards. */
static PetscErrorCode Destroy(MackoList **list)
{
  MackoList *l = *list;

  PetscFunctionBegin;
  if (!l) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFree(l->cols));
  PetscCall(PetscFree(l->starts));
  PetscCall(PetscFree(l->places));
  PetscCall(PetscFree(l->row_cols));
  PetscCall(PetscFree(l->row_values));
  PetscCall(PetscFree(*list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Checks that all entries are in this rank's rows and counts them: starts[i + 1] becomes the length of row i. Entries with a
   negative index are none, as for aij. */
static macko_status Check(Mat A, PetscCount count, const PetscInt rows[], const PetscInt cols[], PetscInt *starts, macko_error *err)
{
  for (PetscCount k = 0; k < count; k++) {
    if (rows[k] < 0 || cols[k] < 0) continue;
    const char *what = NULL;
    if (cols[k] >= A->cmap->N || rows[k] >= A->rmap->N) what = "is outside of the matrix";
    else if (rows[k] < A->rmap->rstart || rows[k] >= A->rmap->rend)
      what = "belongs to another rank: type macko takes entries on the rank that owns their row";
    if (what) {
      err->status = MACKO_UNSUPPORTED;
      (void)PetscSNPrintf(err->text, sizeof err->text, "entry %lld of the list, in row %lld and column %lld, %s", (long long)k,
                          (long long)rows[k], (long long)cols[k], what);
      return MACKO_UNSUPPORTED;
    }
    starts[rows[k] - A->rmap->rstart + 1]++;
  }
  return MACKO_OK;
}

/* Sorts the list by rows, keeping its order within a row, in two passes. starts comes with the lengths of rows, as Check
   leaves them; while entries go to their places starts[i] is where the next one of row i goes, and is moved back by one row at
   the end. */
static void Sort(Mat A, PetscCount count, const PetscInt rows[], const PetscInt cols[], MackoList *l)
{
  PetscInt n = A->rmap->n;
  for (PetscInt i = 0; i < n; i++) l->starts[i + 1] += l->starts[i];
  for (PetscCount k = 0; k < count; k++) {
    if (rows[k] < 0 || cols[k] < 0) continue;
    PetscInt at   = l->starts[rows[k] - A->rmap->rstart]++;
    l->cols[at]   = cols[k];
    l->places[at] = k;
  }
  for (PetscInt i = n; i > 0; i--) l->starts[i] = l->starts[i - 1];
  l->starts[0] = 0;
}

/* The caller's arrays are not kept. An old list stays if the new one is refused on any rank; after success the matrix has no
   entries until values come, as with AIJ. Collective. */
static PetscErrorCode MatSetPreallocationCOO_Macko(Mat A, PetscCount count, PetscInt rows[], PetscInt cols[])
{
  Mat_Compressed *m      = (Mat_Compressed *)A->data;
  MackoList      *l      = NULL;
  macko_error     err    = {0};
  macko_status    status = MACKO_OK;

  PetscFunctionBegin;
  PetscCall(PetscLayoutSetUp(A->rmap));
  PetscCall(PetscLayoutSetUp(A->cmap));
  PetscCall(PetscNew(&l));
  l->count = count;
  PetscCall(PetscCalloc1(A->rmap->n + 1, &l->starts));
  PetscCall(PetscMalloc1(count + 1, &l->cols));
  PetscCall(PetscMalloc1(count + 1, &l->places));
  if (count > PETSC_MAX_INT) {
    err.status = status = MACKO_LIMIT;
    (void)PetscSNPrintf(err.text, sizeof err.text, "%lld entries on one rank are more than its indices count", (long long)count);
  }
  if (!status) status = Check(A, count, rows, cols, l->starts, &err);
  PetscErrorCode error = MackoAgree(PetscObjectComm((PetscObject)A), status, err.text);
  if (error) PetscCall(Destroy(&l));
  PetscCall(error);
  Sort(A, count, rows, cols, l);
  PetscCall(Destroy(&m->list));
  m->list         = l;
  m->taken        = PETSC_FALSE;
  A->preallocated = PETSC_TRUE;
  A->assembled = A->was_assembled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives a row to MackoCompressedBuild: the entries that A has, if values are added, then those of the list in its order; encoding
   adds up what comes twice. The sentence for failures of PETSc's functions is put into err beforehand, because these return at
   once. */
static PetscErrorCode RowOf(void *context, PetscInt row, PetscInt *n, const PetscInt **cols, const PetscScalar **values)
{
  MackoList         *l     = (MackoList *)context;
  PetscInt           i = row - l->A->rmap->rstart, before = 0;
  const PetscInt    *before_cols   = NULL;
  const PetscScalar *before_values = NULL;

  PetscFunctionBegin;
  if (l->add && MackoCompressedRow(l->A, i, &before, &before_cols, &before_values, &l->err)) PetscFunctionReturn(PETSC_ERR_LIB);
  l->err.status = MACKO_OUT_OF_MEMORY;
  (void)PetscSNPrintf(l->err.text, sizeof l->err.text, "no memory for row %lld", (long long)row);
  *n = before + l->starts[i + 1] - l->starts[i];
  /* There is room for twice as many, so that the arrays seldom grow. */
  if (*n > l->room) {
    PetscCall(PetscRealloc(2 * (size_t)*n * sizeof *l->row_cols, &l->row_cols));
    PetscCall(PetscRealloc(2 * (size_t)*n * sizeof *l->row_values, &l->row_values));
    l->room = 2 * *n;
  }
  PetscCall(PetscArraycpy(l->row_cols, before_cols, (size_t)before));
  PetscCall(PetscArraycpy(l->row_values, before_values, (size_t)before));
  for (PetscInt k = l->starts[i], to = before; k < l->starts[i + 1]; k++, to++)
    l->row_cols[to] = l->cols[k], l->row_values[to] = l->values ? l->values[l->places[k]] : 0;
  *cols = l->row_cols, *values = l->row_values;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every call encodes all rows anew, even where only values changed. Collective. */
static PetscErrorCode MatSetValuesCOO_Macko(Mat A, const PetscScalar values[], InsertMode mode)
{
  Mat_Compressed *m     = (Mat_Compressed *)A->data;
  MackoList      *l     = m->list;
  PetscMemType    where = PETSC_MEMTYPE_HOST;

  PetscFunctionBegin;
  PetscCheck(l, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE, "MatSetPreallocationCOO comes before MatSetValuesCOO");
  if (values) PetscCall(PetscGetMemType(values, &where));
  PetscCall(MackoAgree(PetscObjectComm((PetscObject)A), PetscMemTypeDevice(where) ? MACKO_UNSUPPORTED : MACKO_OK,
                       "values of a list in GPU memory: type macko takes them in host memory; aijmacko takes them there"));
  l->A = A, l->values = values, l->add = (PetscBool)(mode == ADD_VALUES && m->taken);
  PetscErrorCode error = MackoCompressedBuild(A, RowOf, l, &l->err);
  MackoCompressedForget(A);
  l->values = NULL;
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* When A goes (in is PETSC_FALSE) the list is freed and the composed functions are taken away. */
PetscErrorCode MackoCompressedList(Mat A, PetscBool in)
{
  PetscFunctionBegin;
  if (!in) PetscCall(Destroy(&((Mat_Compressed *)A->data)->list));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetPreallocationCOO_C", in ? MatSetPreallocationCOO_Macko : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetValuesCOO_C", in ? MatSetValuesCOO_Macko : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
