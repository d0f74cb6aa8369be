/* Files of macko_save as matrices of type macko: on one rank as they are, unless options ask for another form; else each rank
 * reads the compressed form and goes through its own rows, some at a time. */
#include "compressed/compressed.h"

#include <stdlib.h>
#include <string.h>

/* At a time a SHARE-th of a rank's entries is decoded, but at least LEAST, at most MOST, and never less than a row: so that they
   take little beside its compressed form, and are not so few that a format which looks for rows among all takes long. */
enum { SHARE = 64, LEAST = 1 << 14, MOST = 1 << 20 };

/* A rank has loaded the whole matrix in its compressed form, and decodes its own rows, some at a time. */
typedef struct {
  macko_matrix *matrix;
  macko_info    info;
  /* This rank's rows begin with these entries of the whole matrix; there is one more for the end. */
  int64_t      *starts;
  int64_t       begin, last; /* this rank's rows are begin to last - 1 */
  int64_t       first, past; /* rows first to past - 1 are decoded */
  /* cols and values have room for room decoded entries; window is how many are decoded at a time. */
  int64_t      *cols, room, window;
  /* These are f64 or f32 as in the file. */
  void         *values;
  /* These arrays hold the row that was given out last, in PETSc's types. */
  int64_t       row_room;
  PetscInt     *row_cols;
  PetscScalar  *row_values;
  macko_error   err;
} Container;

/* Writes the sentence, which is a format with one number, and returns the status. */
static macko_status Fail(Container *c, macko_status status, const char *what, int64_t number)
{
  c->err.status = status;
  (void)PetscSNPrintf(c->err.text, sizeof c->err.text, what, (long long)number);
  return status;
}

/* ---- rows ---- */

/* Makes room for so many decoded entries, with values of the larger type. */
static macko_status Reserve(Container *c, int64_t entries)
{
  if (entries <= c->room) return MACKO_OK;
  int64_t *cols   = (int64_t *)realloc(c->cols, (size_t)entries * sizeof *cols);
  void    *values = NULL;
  if (cols) c->cols = cols, values = realloc(c->values, (size_t)entries * sizeof(double));
  if (!values) return Fail(c, MACKO_OUT_OF_MEMORY, "no memory for %lld decoded entries", entries);
  c->values = values, c->room = entries;
  return MACKO_OK;
}

/* Makes room for a row in PETSc's types. */
static macko_status ReserveRow(Container *c, int64_t entries)
{
  if (entries <= c->row_room) return MACKO_OK;
  PetscInt    *cols   = (PetscInt *)realloc(c->row_cols, (size_t)entries * sizeof *cols);
  PetscScalar *values = NULL;
  if (cols) c->row_cols = cols, values = (PetscScalar *)realloc(c->row_values, (size_t)entries * sizeof *values);
  if (!values) return Fail(c, MACKO_OUT_OF_MEMORY, "no memory for a row of %lld entries", entries);
  c->row_values = values, c->row_room = entries;
  return MACKO_OK;
}

/* Returns the entry of the whole matrix that a row of this rank begins with. */
static int64_t StartOf(const Container *c, int64_t row)
{
  return c->starts[row - c->begin];
}

/* Decodes the given row and those after it, as many as the window holds. macko_decode_rows takes starts by the numbers of rows in
   the whole matrix, so that the pointer is moved before the array. */
static macko_status Decode(Container *c, int64_t row)
{
  int64_t past = row + 1;
  while (past < c->last && StartOf(c, past + 1) - StartOf(c, row) <= c->window) past++;
  macko_status status = Reserve(c, StartOf(c, past) - StartOf(c, row) + 1);
  c->first = c->past = 0;
  /* The starts of rows before this rank's are not there, and are not looked at. */
  const int64_t *starts = (const int64_t *)((uintptr_t)c->starts - (uintptr_t)c->begin * sizeof *starts);
  if (!status) status = macko_decode_rows(c->matrix, starts, row, past - row, c->cols, c->values, &c->err);
  if (!status) c->first = row, c->past = past;
  return status;
}

/* Gives a row to MackoCompressedBuild, which asks for rows in ascending order and so finds most of them decoded. */
static PetscErrorCode RowOf(void *context, PetscInt row, PetscInt *n, const PetscInt **cols, const PetscScalar **values)
{
  Container *c = (Container *)context;

  PetscFunctionBegin;
  if ((row < c->first || row >= c->past) && Decode(c, row)) PetscFunctionReturn(PETSC_ERR_FILE_READ);
  const int64_t from = StartOf(c, row) - StartOf(c, c->first), count = StartOf(c, row + 1) - StartOf(c, row);
  if (ReserveRow(c, count)) PetscFunctionReturn(PETSC_ERR_FILE_READ);
  *n = (PetscInt)count;
  for (PetscInt k = 0; k < *n; k++) {
    c->row_cols[k]   = (PetscInt)c->cols[from + k];
    c->row_values[k] = c->info.value_type == MACKO_F32 ? ((const float *)c->values)[from + k]
                                                       : ((const double *)c->values)[from + k];
  }
  *cols = c->row_cols, *values = c->row_values;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the matrix ---- */

/* Loads the file on this rank and checks that PETSc can count the rows and columns and that its values are of a type that this
   one reads. */
static macko_status Open(Container *c, const char *path)
{
  macko_status status = macko_load(path, &c->matrix, NULL, &c->err);
  if (status) return status;
  macko_get_info(c->matrix, &c->info);
  if (c->info.nrows > PETSC_MAX_INT) return Fail(c, MACKO_LIMIT, "%lld rows are too many for this PETSc's indices", c->info.nrows);
  if (c->info.ncols > PETSC_MAX_INT)
    return Fail(c, MACKO_LIMIT, "%lld columns are too many for this PETSc's indices", c->info.ncols);
  if (c->info.value_type == MACKO_F64 || c->info.value_type == MACKO_F32) return MACKO_OK;
  (void)PetscSNPrintf(c->err.text, sizeof c->err.text, "%s: values of type %s; type macko reads f64 and f32", path,
                      macko_type_name(c->info.value_type));
  return c->err.status = MACKO_UNSUPPORTED;
}

/* Sets starts to those of this rank's rows. The starts of all rows are decoded for it, since a container does not tell them
   apart, and freed again. */
static macko_status FindRows(Container *c)
{
  c->starts = (int64_t *)malloc((size_t)(c->info.nrows + 1) * sizeof *c->starts);
  if (!c->starts) return Fail(c, MACKO_OUT_OF_MEMORY, "no memory for the starts of %lld rows", c->info.nrows);
  macko_status status = macko_decode(c->matrix, c->starts, NULL, NULL, &c->err);
  if (status) return status;
  const size_t rows = (size_t)(c->last - c->begin) + 1;
  /* Only this rank's starts are kept. If the smaller array cannot be had the larger one serves. */
  memmove(c->starts, c->starts + c->begin, rows * sizeof *c->starts);
  int64_t *own = (int64_t *)realloc(c->starts, rows * sizeof *own);
  if (own) c->starts = own;
  const int64_t share = (StartOf(c, c->last) - StartOf(c, c->begin)) / SHARE;
  c->window = share < LEAST ? LEAST : share < MOST ? share : MOST;
  return MACKO_OK;
}

/* On one rank the matrix from the file becomes the only piece, without being decoded. */
static PetscErrorCode Take(Mat A, Container *c)
{
  MackoBlock   own = {.nrows = A->rmap->n, .ncols = A->cmap->n}, off = {0};
  MackoColumns none = {0};
  macko_error  err  = {0};

  PetscFunctionBegin;
  macko_status status = c->info.nrows ? MackoBlockAdd(&own, &c->matrix, &err) : MACKO_OK;
  PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
  PetscCall(MackoSetHalo(A, &none));
  PetscCall(MackoCompressedTake(A, &own, &off));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The form of the file is taken as it is where the options leave the choice open and it has PETSc's values; else rows are encoded
   anew. */
static PetscErrorCode Load(Mat A, const char *path, Container *c)
{
  Mat_Compressed *m    = (Mat_Compressed *)A->data;
  MPI_Comm        comm = PetscObjectComm((PetscObject)A);
  PetscMPIInt     size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(MackoAgree(comm, Open(c, path), c->err.text));
  PetscCall(MackoSetSizes(A, path, c->info.nrows, c->info.ncols));
  PetscCall(MackoCompressedOptions(A, NULL));
  /* On several ranks a rank's rows and columns are a part of the file's, which has to be encoded by itself. */
  if (size == 1 && c->info.value_type == MACKO_F64 && MackoDefaults(&m->options)) {
    PetscCall(Take(A, c));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  c->begin = A->rmap->rstart, c->last = A->rmap->rend;
  PetscCall(MackoAgree(comm, FindRows(c), c->err.text));
  PetscCall(MackoCompressedBuild(A, RowOf, c, &c->err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was loaded is freed in any case, unless A has taken it. */
PetscErrorCode MackoLoadContainer(Mat A, const char *path)
{
  Container c = {0};

  PetscFunctionBegin;
  PetscErrorCode error = Load(A, path, &c);
  macko_destroy(&c.matrix);
  free(c.starts), free(c.cols), free(c.values), free(c.row_cols), free(c.row_values);
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}
