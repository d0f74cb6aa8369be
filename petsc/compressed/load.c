/* PETSc's binary files as matrices of type macko: each rank reads the rows that are its own, a run of them at a time. */
#include "compressed/compressed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An integer of the file has WIDTH bytes, as PETSc's has here; WINDOW bytes, or one row, are read at a time. */
enum { WIDTH = (int)sizeof(PetscInt), WINDOW = 1 << 20 };

/* This is the part of the file that was read last: bytes bytes from byte begin on. */
typedef struct {
  int64_t        begin, bytes;
  unsigned char *data;
} Window;

/* Each rank has the file open by itself and reads three places of it in turn: lengths, columns and values. */
typedef struct {
  int         file;
  const char *path;
  /* The matrix begins with byte begin of the file and has so many rows and columns. */
  int64_t     begin, rows, cols;
  /* first is this rank's first row, and entry the one that it begins with among the entries of all rows. */
  int64_t     first, entry;
  /* All rows together have total entries, of which the head says counted; the next row that is asked for begins with entry at. */
  int64_t     total, counted, at;
  /* These arrays hold the row that was given out last. */
  PetscInt    row_room;
  PetscInt   *row_cols;
  PetscScalar *row_values;
  Window      lengths, cols_window, values_window;
  macko_error err;
} File;

/* Writes a sentence with the file's name and the byte that it is about, and returns the status. */
static macko_status Refuse(File *f, macko_status status, const char *what, int64_t where)
{
  f->err.status = status;
  (void)PetscSNPrintf(f->err.text, sizeof f->err.text, "%s: %s (byte %lld)", f->path, what, (long long)where);
  return status;
}

/* Reads an integer of so many bytes with its sign, or the bits of a value: PETSc's binary files have the most significant byte
   first. */
static int64_t BigEndian(const unsigned char *bytes, int width)
{
  uint64_t value = bytes[0] & 0x80 ? UINT64_MAX : 0;
  for (int i = 0; i < width; i++) value = value << 8 | bytes[i];
  return (int64_t)value;
}

/* Makes w hold at least least bytes from byte begin on. Rows come in ascending order, so that what a larger read brings along is
   used next. A read may bring fewer bytes than asked for, and is repeated. */
static macko_status ReadWindow(File *f, Window *w, int64_t begin, int64_t least)
{
  int64_t most = least > WINDOW ? least : WINDOW;
  if (w->data && begin >= w->begin && begin + least <= w->begin + w->bytes) return MACKO_OK;
  unsigned char *data = (unsigned char *)realloc(w->data, (size_t)most);
  if (!data) return Refuse(f, MACKO_OUT_OF_MEMORY, "no memory to read it", begin);
  w->data = data, w->begin = begin, w->bytes = 0;
  while (w->bytes < least) {
    ssize_t got = pread(f->file, data + w->bytes, (size_t)(most - w->bytes), (off_t)(begin + w->bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Refuse(f, MACKO_IO, strerror(errno), begin + w->bytes);
    if (got == 0) return Refuse(f, MACKO_IO, "the file ends within the matrix", begin + w->bytes);
    w->bytes += got;
  }
  return MACKO_OK;
}

/* ---- what lies where ---- */

/* Returns the byte at which the length of a row is, after a head of four integers. */
static int64_t LengthsAt(const File *f, int64_t row)
{
  return f->begin + (4 + row) * WIDTH;
}

/* Returns the byte at which the column of an entry is, after the lengths of all rows. */
static int64_t ColsAt(const File *f, int64_t entry)
{
  return LengthsAt(f, f->rows) + entry * WIDTH;
}

/* Returns the byte at which the value of an entry is, after all columns: this needs the entries of all ranks counted. */
static int64_t ValuesAt(const File *f, int64_t entry)
{
  return ColsAt(f, f->total) + entry * (int64_t)sizeof(PetscScalar);
}

/* Reads the sizes and the count of entries. A file of another width of integers shows in the number that it begins with. */
static macko_status ReadHead(File *f)
{
  macko_status status = ReadWindow(f, &f->lengths, f->begin, 4 * WIDTH);
  if (status) return status;
  const unsigned char *head = f->lengths.data;
  if (BigEndian(head, WIDTH) != MAT_FILE_CLASSID)
    return Refuse(f, MACKO_PARSE, "no PETSc binary matrix of this width of integers", f->begin);
  f->rows = BigEndian(head + WIDTH, WIDTH), f->cols = BigEndian(head + 2 * WIDTH, WIDTH);
  f->counted = BigEndian(head + 3 * WIDTH, WIDTH);
  if (f->counted == -1) return Refuse(f, MACKO_UNSUPPORTED, "a dense matrix, not a sparse one", f->begin);
  if (f->rows < 0 || f->cols < 0) return Refuse(f, MACKO_PARSE, "a negative number of rows or columns", f->begin);
  return MACKO_OK;
}

/* Reads how many entries a row has. */
static macko_status ReadLength(File *f, int64_t row, int64_t *length)
{
  macko_status status = ReadWindow(f, &f->lengths, LengthsAt(f, row), WIDTH);
  if (status) return status;
  *length = BigEndian(f->lengths.data + (LengthsAt(f, row) - f->lengths.begin), WIDTH);
  return *length < 0 ? Refuse(f, MACKO_PARSE, "a row of negative length", LengthsAt(f, row)) : MACKO_OK;
}

/* Adds up the entries of count rows from row first on. */
static macko_status SumLengths(File *f, int64_t first, int64_t count, int64_t *sum)
{
  macko_status status = MACKO_OK;
  int64_t      length;
  *sum = 0;
  for (int64_t row = first; !status && row < first + count; row++) {
    status = ReadLength(f, row, &length);
    if (!status) *sum += length;
  }
  return status;
}

/* ---- rows ---- */

/* Makes room for a row of n entries. */
static macko_status Reserve(File *f, int64_t n)
{
  if (n <= f->row_room) return MACKO_OK;
  PetscInt    *cols   = (PetscInt *)realloc(f->row_cols, (size_t)n * sizeof *cols);
  PetscScalar *values = NULL;
  if (cols) f->row_cols = cols, values = (PetscScalar *)realloc(f->row_values, (size_t)n * sizeof *values);
  if (!values) return Refuse(f, MACKO_OUT_OF_MEMORY, "no memory for a row", ColsAt(f, f->at));
  f->row_values = values, f->row_room = (PetscInt)n;
  return MACKO_OK;
}

/* Reads a row, which begins with entry f->at, and turns its numbers into the order of bytes of this machine. */
static macko_status ReadRow(File *f, int64_t row, int64_t *n)
{
  const int     size   = (int)sizeof(PetscScalar);
  macko_status  status = ReadLength(f, row, n);
  if (!status) status = Reserve(f, *n);
  if (!status && *n) status = ReadWindow(f, &f->cols_window, ColsAt(f, f->at), *n * WIDTH);
  if (!status && *n) status = ReadWindow(f, &f->values_window, ValuesAt(f, f->at), *n * size);
  if (status || !*n) return status;
  const unsigned char *cols = f->cols_window.data + (ColsAt(f, f->at) - f->cols_window.begin);
  const unsigned char *values = f->values_window.data + (ValuesAt(f, f->at) - f->values_window.begin);
  for (int64_t k = 0; k < *n; k++) {
    int64_t bits      = BigEndian(values + k * size, size);
    f->row_cols[k] = (PetscInt)BigEndian(cols + k * WIDTH, WIDTH);
    memcpy(&f->row_values[k], &bits, sizeof bits);
  }
  return MACKO_OK;
}

/* Gives a row to MackoCompressedBuild. Rows come in ascending order, so that one place is enough to remember; when the first one
   is asked for again, reading begins anew. */
static PetscErrorCode RowOf(void *context, PetscInt row, PetscInt *n, const PetscInt **cols, const PetscScalar **values)
{
  File   *f = (File *)context;
  int64_t length = 0;

  PetscFunctionBegin;
  if (row == f->first) f->at = f->entry;
  if (ReadRow(f, row, &length)) PetscFunctionReturn(PETSC_ERR_FILE_READ);
  f->at += length;
  *n = (PetscInt)length, *cols = f->row_cols, *values = f->row_values;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the matrix ---- */

/* Opens the viewer's file on every rank and reads the head. The viewer has it open on rank 0 only, and knows where the matrix
   begins, which the others are told: other objects may lie before it. Collective. */
static PetscErrorCode Open(PetscViewer viewer, File *f)
{
  MPI_Comm    comm = PetscObjectComm((PetscObject)viewer);
  PetscBool   binary, mpiio = PETSC_FALSE;
  PetscMPIInt rank;
  int         descriptor;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERBINARY, &binary));
  PetscCheck(binary, comm, PETSC_ERR_SUP,
             "a matrix of type macko is read from PETSc's binary files, not through a viewer of type %s",
             ((PetscObject)viewer)->type_name);
  PetscCall(PetscViewerSetUp(viewer));
  PetscCall(PetscViewerFileGetName(viewer, &f->path));
  PetscCall(PetscViewerBinaryGetUseMPIIO(viewer, &mpiio));
  PetscCheck(!mpiio, comm, PETSC_ERR_SUP, "a matrix of type macko is read without MPI-IO: every rank reads its rows as it is");
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(PetscViewerBinaryGetDescriptor(viewer, &descriptor));
  if (rank == 0) f->begin = (int64_t)lseek(descriptor, 0, SEEK_CUR);
  PetscCallMPI(MPI_Bcast(&f->begin, 1, MPI_INT64_T, 0, comm));
  PetscCheck(f->begin >= 0, comm, PETSC_ERR_SUP, "%s: a matrix of type macko is not read from a pipe, whose rows come once only",
             f->path);
  f->file = open(f->path, O_RDONLY);
  macko_status status = f->file < 0 ? Refuse(f, MACKO_IO, strerror(errno), 0) : ReadHead(f);
  PetscCall(MackoAgree(comm, status, f->err.text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets the block sizes that the viewer's .info, or the user, has given, as PETSc does for its own types by a function that is not
   exported. One number is that of rows and columns. */
static PetscErrorCode SetBlockSizes(Mat A)
{
  PetscInt  asked[2] = {0, 0}, rows, cols, n = 2;
  PetscBool given;

  PetscFunctionBegin;
  PetscCall(MatGetBlockSizes(A, &rows, &cols));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-matload_block_size", asked, &n, &given));
  if (!given) PetscFunctionReturn(PETSC_SUCCESS);
  if (n == 1) asked[1] = asked[0];
  PetscCall(MatSetBlockSizes(A, asked[0] > 0 ? asked[0] : rows, asked[1] > 0 ? asked[1] : cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc then distributes the rows as the program has said, or evenly, by whole blocks. */
PetscErrorCode MackoSetSizes(Mat A, const char *path, int64_t rows, int64_t cols)
{
  PetscFunctionBegin;
  /* A negative size is one that the program has left open. */
  if (A->rmap->N < 0) A->rmap->N = (PetscInt)rows;
  if (A->cmap->N < 0) A->cmap->N = (PetscInt)cols;
  PetscCall(PetscLayoutSetUp(A->rmap));
  PetscCall(PetscLayoutSetUp(A->cmap));
  PetscCheck(A->rmap->N == rows && A->cmap->N == cols, PetscObjectComm((PetscObject)A), PETSC_ERR_FILE_UNEXPECTED,
             "%s: a matrix of %lld x %lld, not of %lld x %lld", path, (long long)rows, (long long)cols, (long long)A->rmap->N,
             (long long)A->cmap->N);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each rank adds up the lengths of its own rows, and a sum over the ranks before it tells with which entry its rows begin. Where
   the count of entries did not fit into an integer, PETSc has written the largest one or let it overflow. Collective. */
static PetscErrorCode FindRows(Mat A, File *f)
{
  MPI_Comm comm = PetscObjectComm((PetscObject)A);
  int64_t  mine;

  PetscFunctionBegin;
  f->first = A->rmap->rstart;
  PetscCall(MackoAgree(comm, SumLengths(f, f->first, A->rmap->n, &mine), f->err.text));
  PetscCallMPI(MPI_Scan(&mine, &f->entry, 1, MPI_INT64_T, MPI_SUM, comm));
  f->entry -= mine;
  PetscCallMPI(MPI_Allreduce(&mine, &f->total, 1, MPI_INT64_T, MPI_SUM, comm));
  PetscCheck(f->counted == (PetscInt)f->total || f->counted == PETSC_MAX_INT, comm, PETSC_ERR_FILE_UNEXPECTED,
             "%s: the rows have %lld entries together, not %lld entries, as its head says", f->path, (long long)f->total,
             (long long)f->counted);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* At the end the viewer stands behind the matrix, so that the next object can be read from it. */
static PetscErrorCode Load(Mat A, PetscViewer viewer, File *f)
{
  PetscMPIInt rank;
  int         descriptor;

  PetscFunctionBegin;
  PetscCall(Open(viewer, f));
  PetscCall(SetBlockSizes(A));
  PetscCall(MackoSetSizes(A, f->path, f->rows, f->cols));
  PetscCall(FindRows(A, f));
  PetscCall(MackoCompressedBuild(A, RowOf, f, &f->err));
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)A), &rank));
  PetscCall(PetscViewerBinaryGetDescriptor(viewer, &descriptor));
  if (rank == 0) (void)lseek(descriptor, (off_t)ValuesAt(f, f->total), SEEK_SET); /* the next object begins here */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Says whether the file of a binary viewer, which stands at its beginning, is one of macko_save: by the eight bytes that such a
   file begins with. Rank 0 looks and tells the others. Collective. */
static PetscErrorCode IsContainer(PetscViewer viewer, const char **path, PetscBool *container)
{
  static const unsigned char magic[8] = {0x89, 'M', 'A', 'C', 'K', 'O', '\r', '\n'};
  MPI_Comm                   comm     = PetscObjectComm((PetscObject)viewer);
  unsigned char              start[8];
  int                        descriptor, same = 0;
  PetscMPIInt                rank;
  PetscBool                  binary, mpiio = PETSC_FALSE;

  PetscFunctionBegin;
  *container = PETSC_FALSE;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERBINARY, &binary));
  if (!binary) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerSetUp(viewer));
  PetscCall(PetscViewerFileGetName(viewer, path));
  PetscCall(PetscViewerBinaryGetUseMPIIO(viewer, &mpiio));
  if (mpiio) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(PetscViewerBinaryGetDescriptor(viewer, &descriptor));
  if (rank == 0) same = lseek(descriptor, 0, SEEK_CUR) == 0 && pread(descriptor, start, sizeof start, 0) == (ssize_t)sizeof start &&
                        !memcmp(start, magic, sizeof magic);
  PetscCallMPI(MPI_Bcast(&same, 1, MPI_INT, 0, comm));
  *container = (PetscBool)same;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was read of the file is freed in any case, before a failure is passed on. */
PetscErrorCode MatLoad_Macko(Mat A, PetscViewer viewer)
{
  File        f = {.file = -1};
  const char *path;
  PetscBool   container;

  PetscFunctionBegin;
  PetscCall(IsContainer(viewer, &path, &container));
  if (container) {
    PetscCall(MackoLoadContainer(A, path));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode error = Load(A, viewer, &f);
  if (f.file >= 0) close(f.file);
  free(f.row_cols), free(f.row_values), free(f.lengths.data), free(f.cols_window.data), free(f.values_window.data);
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}
