/* Files to distributed matrices. */
#include "common/load_matrix.h"
#include "common/petsc_binary.h"
#include "common/spool.h"
#include "common/stencil.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- progress: past a second, on a terminal only ---- */

typedef struct {
  double start, shown; /* seconds of CLOCK_MONOTONIC; shown is 0 until something was */
} Clock;

static double Now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* macko_read calls this as it reads; what it prints is renewed five times a second at most, as a terminal may be slow. */
static void Report(void *context, int64_t done, int64_t total)
{
  Clock *c = (Clock *)context;
  double now = Now();
  if (!isatty(STDERR_FILENO) || now - c->start < 1 || now - c->shown < 0.2 || total <= 0) return;
  c->shown = now;
  fprintf(stderr, "\rreading %3d %%", (int)(100. * (double)done / (double)total));
}

static void EndReport(const Clock *c)
{
  if (c->shown > 0) fprintf(stderr, "\r             \r");
}

/* ---- from rank 0 to all ---- */

/* The rows of a rank, as it gets them from rank 0 and hands them to PETSc. */
typedef struct {
  PetscInt *ia, *ja; /* the rank's rows as CSR; ia counts from the rank's own first entry */
  PetscScalar *values;
} LocalRows;

enum { PIECE = 1 << 24 }; /* entries or row pointers of a message: MPI counts in an int */
#define PieceAt(i, count) ((int)PetscMin((count) - (i), PIECE)) /* elements of the message that begins with element i */

/* Element i of an array of indices; as 64 bits, because the number of entries may not fit the PetscInt that IndexAt gives. */
static int64_t Entry(macko_type type, const void *array, int64_t i)
{
  return type == MACKO_I64 ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
}

static PetscInt IndexAt(macko_type type, const void *array, int64_t i)
{
  return (PetscInt)Entry(type, array, i);
}

/* Entries [begin, end) to rank `to`, or into rows when that is this rank. */
static PetscErrorCode SendEntries(MPI_Comm comm, const macko_csr *csr, int64_t begin, int64_t end, int to, LocalRows *rows)
{
  PetscInt *cols;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(PieceAt(begin, end), &cols));
  for (int64_t p = begin; p < end; p += PIECE) {
    int64_t count = PetscMin(end - p, PIECE);
    for (int64_t i = 0; i < count; i++) cols[i] = IndexAt(csr->col_type, csr->cols, p + i);
    if (to == 0) {
      PetscCall(PetscArraycpy(rows->ja + (p - begin), cols, count));
      PetscCall(PetscArraycpy(rows->values + (p - begin), (const PetscScalar *)csr->values + p, count));
    } else {
      PetscCallMPI(MPI_Send(cols, (int)count, MPIU_INT, to, 1, comm));
      PetscCallMPI(MPI_Send((const PetscScalar *)csr->values + p, (int)count, MPIU_SCALAR, to, 2, comm));
    }
  }
  PetscCall(PetscFree(cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes what SendEntries sends, in pieces of the same size, into rows, whose arrays have room for `count`. */
static PetscErrorCode ReceiveEntries(MPI_Comm comm, PetscInt count, LocalRows *rows)
{
  PetscFunctionBegin;
  for (int64_t p = 0; p < count; p += PIECE) {
    PetscCallMPI(MPI_Recv(rows->ja + p, PieceAt(p, count), MPIU_INT, 0, 1, comm, MPI_STATUS_IGNORE));
    PetscCallMPI(MPI_Recv(rows->values + p, PieceAt(p, count), MPIU_SCALAR, 0, 2, comm, MPI_STATUS_IGNORE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Row pointers of rank r's rows, counted from their own start, into ia. */
static void LocalPointers(const macko_csr *csr, PetscInt first, PetscInt last, PetscInt *ia)
{
  PetscInt start = IndexAt(csr->row_ptr_type, csr->row_ptr, first);
  for (PetscInt i = first; i <= last; i++) ia[i - first] = IndexAt(csr->row_ptr_type, csr->row_ptr, i) - start;
}

/* Gives each rank its rows of csr, which only rank 0 has, one rank after another: they fill *rows, which the caller frees. */
static PetscErrorCode Distribute(Mat A, const macko_csr *csr, LocalRows *rows)
{
  MPI_Comm comm = PetscObjectComm((PetscObject)A);
  PetscInt first, last, *ia;
  PetscLayout rmap, cmap;
  const PetscInt *ranges;
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(MatGetLayouts(A, &rmap, &cmap));
  PetscCall(PetscLayoutSetUp(rmap));
  PetscCall(PetscLayoutSetUp(cmap));
  PetscCall(PetscLayoutGetRanges(rmap, &ranges));
  first = ranges[rank], last = ranges[rank + 1];
  PetscCall(PetscMalloc1(last - first + 1, &rows->ia));
  if (rank == 0) LocalPointers(csr, first, last, rows->ia);
  for (int to = 1; rank == 0 && to < size; to++) {
    const PetscInt count = ranges[to + 1] - ranges[to] + 1;
    PetscCall(PetscMalloc1(count, &ia));
    LocalPointers(csr, ranges[to], ranges[to + 1], ia);
    for (int64_t i = 0; i < count; i += PIECE) PetscCallMPI(MPI_Send(ia + i, PieceAt(i, count), MPIU_INT, to, 0, comm));
    PetscCall(PetscFree(ia));
    PetscCall(SendEntries(comm, csr, IndexAt(csr->row_ptr_type, csr->row_ptr, ranges[to]),
                          IndexAt(csr->row_ptr_type, csr->row_ptr, ranges[to + 1]), to, rows));
  }
  for (int64_t i = 0, count = last - first + 1; rank && i < count; i += PIECE)
    PetscCallMPI(MPI_Recv(rows->ia + i, PieceAt(i, count), MPIU_INT, 0, 0, comm, MPI_STATUS_IGNORE));
  PetscCall(PetscMalloc2(rows->ia[last - first], &rows->ja, rows->ia[last - first], &rows->values));
  if (rank) PetscCall(ReceiveEntries(comm, rows->ia[last - first], rows));
  else PetscCall(SendEntries(comm, csr, 0, rows->ia[last - first], 0, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Everything that rank 0 knows about the file and the others need. */
typedef struct {
  int64_t status, nrows, ncols, nnz, symmetric;
  char kind[96], text[512];
} FileFacts;

/* Reads a PETSc binary matrix with `binary` set, otherwise what macko_read takes. Collective; a refused file is an error on every
   rank. */
static PetscErrorCode ReadOnRankZero(MPI_Comm comm, const Spool *file, PetscBool binary, macko_csr *csr, FileFacts *facts)
{
  PetscMPIInt rank;
  macko_error err;
  macko_file_info info = {0};
  Clock clock = {Now(), 0};
  macko_progress progress = {Report, &clock};

  PetscFunctionBegin;
  memset(facts, 0, sizeof *facts);
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (rank == 0) {
    facts->status = binary ? petsc_binary_read(file->name, csr, &err) : macko_read(file->name, &progress, csr, &info, &err);
    EndReport(&clock);
    if (facts->status) {
      memcpy(facts->text, err.text, sizeof facts->text);
      SpoolRename(file, facts->text, sizeof facts->text);
    } else {
      facts->nrows = csr->nrows, facts->ncols = csr->ncols, facts->symmetric = info.symmetric;
      facts->nnz = Entry(csr->row_ptr_type, csr->row_ptr, csr->nrows);
      memcpy(facts->kind, info.kind, sizeof facts->kind);
      if (sizeof(PetscInt) == 4 && (facts->nrows > PETSC_MAX_INT || facts->ncols > PETSC_MAX_INT || facts->nnz > PETSC_MAX_INT)) {
        snprintf(facts->text, sizeof facts->text, "%s: %lld x %lld with %lld nonzeros needs a PETSc with 64-bit indices",
                 file->path, (long long)facts->nrows, (long long)facts->ncols, (long long)facts->nnz);
        macko_free_csr(csr);
        facts->status = MACKO_LIMIT;
      }
    }
  }
  PetscCallMPI(MPI_Bcast(facts, sizeof *facts, MPI_BYTE, 0, comm));
  PetscCheck(!facts->status, comm, PETSC_ERR_FILE_READ, "%s", facts->text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Loads what macko_read reads; only rank 0, which reads, ever has all of the matrix in memory. */
static PetscErrorCode LoadText(MPI_Comm comm, const Spool *file, Problem *p)
{
  macko_csr csr = {0};
  FileFacts facts;
  LocalRows rows = {0};

  PetscFunctionBegin;
  PetscCall(ReadOnRankZero(comm, file, PETSC_FALSE, &csr, &facts));
  PetscCall(MatCreate(comm, &p->A));
  PetscCall(MatSetOptionsPrefix(p->A, UNREAD));
  PetscCall(MatSetSizes(p->A, PETSC_DECIDE, PETSC_DECIDE, (PetscInt)facts.nrows, (PetscInt)facts.ncols));
  PetscCall(MatSetType(p->A, MATAIJ));
  PetscCall(Distribute(p->A, &csr, &rows));
  macko_free_csr(&csr);
  PetscCall(MatSeqAIJSetPreallocationCSR(p->A, rows.ia, rows.ja, rows.values));
  PetscCall(MatMPIAIJSetPreallocationCSR(p->A, rows.ia, rows.ja, rows.values));
  PetscCall(PetscFree(rows.ia));
  PetscCall(PetscFree2(rows.ja, rows.values));
  p->symmetric = (PetscBool)facts.symmetric;
  PetscCall(PetscStrncpy(p->kind, facts.kind, sizeof p->kind));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- PETSc's own files ---- */

/* What a file of PETSc's begins with, each number of PetscInt's size: class id, then rows of a matrix or the length of a vector.
   class_id is 0 for any other file, other_width set for one of a PETSc whose PetscInt has the other size. */
typedef struct {
  int64_t class_id, rows, other_width, container, lossy; /* container: a .macko file; lossy: so its head says */
} BinaryHead;

/* Returns a signed number of `count` bytes, the highest first. */
static int64_t BigEndian(const unsigned char *byte, int count)
{
  uint64_t value = byte[0] & 0x80 ? UINT64_MAX : 0;
  for (int i = 0; i < count; i++) value = value << 8 | byte[i];
  return (int64_t)value;
}

/* Fills *head on all ranks from the first bytes of the file, which rank 0 reads. Collective. */
static PetscErrorCode ReadBinaryHead(MPI_Comm comm, const Spool *file, BinaryHead *head)
{
  const int width = (int)sizeof(PetscInt), other = 12 - width;
  int64_t id = 0;
  unsigned char bytes[16];
  macko_info info;
  macko_origin origin;
  PetscMPIInt rank;

  PetscFunctionBegin;
  memset(head, 0, sizeof *head);
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (rank == 0) {
    FILE *f = fopen(file->name, "rb");
    int read = f ? (int)fread(bytes, 1, sizeof bytes, f) : 0;
    if (read >= width) head->class_id = BigEndian(bytes, width);
    if (read >= other) id = BigEndian(bytes, other);
    head->other_width = id == MAT_FILE_CLASSID || id == VEC_FILE_CLASSID;
    head->container = read >= 8 && !memcmp(bytes, "\x89MACKO\r\n", 8);
    /* A head that cannot be read is refused by whoever loads the matrix. */
    head->lossy = head->container && !macko_load_info(file->name, &info, &origin, NULL) && (info.lossy || origin.lossy);
    if (read >= 2 * width) head->rows = BigEndian(bytes + width, width);
    if (f) fclose(f);
  }
  PetscCallMPI(MPI_Bcast(head, sizeof *head, MPI_BYTE, 0, comm));
  PetscCheck(!head->other_width, comm, PETSC_ERR_FILE_READ,
             "%s: written by a PETSc with %d-bit indices, and this one has %d-bit indices", file->path, 8 * other, 8 * width);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Refuses a file that is damaged, which the first rank looks for: MatLoad would ask for memory for whatever sizes say, and take
   columns for places in memory. `check` is the function of petsc_binary.h for what is read. Collective. */
static PetscErrorCode CheckBinary(MPI_Comm comm, const Spool *file, macko_status (*check)(const char *, macko_error *))
{
  macko_error err = {0};
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (rank == 0 && check(file->name, &err)) SpoolRename(file, err.text, sizeof err.text);
  PetscCallMPI(MPI_Bcast(&err, sizeof err, MPI_BYTE, 0, comm));
  PetscCheck(!err.status, comm, PETSC_ERR_FILE_READ, "%s", err.text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Has PETSc read a file that has been checked. */
static PetscErrorCode LoadBinary(MPI_Comm comm, const Spool *file, PetscBool compressed, Problem *p)
{
  PetscViewer viewer;

  PetscFunctionBegin;
  PetscCall(CheckBinary(comm, file, petsc_binary_check));
  PetscCall(PetscViewerBinaryOpen(comm, file->name, FILE_MODE_READ, &viewer));
  PetscCall(MatCreate(comm, &p->A));
  if (!compressed) PetscCall(MatSetOptionsPrefix(p->A, UNREAD));
  PetscCall(MatSetType(p->A, compressed ? MATMACKO : MATAIJ));
  PetscCall(MatLoad(p->A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(PetscStrncpy(p->kind, "PETSc binary", sizeof p->kind));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each rank takes its rows out of the compressed form, which never is in memory as CSR. */
static PetscErrorCode LoadContainer(MPI_Comm comm, const Spool *file, Problem *p)
{
  PetscViewer viewer;

  PetscFunctionBegin;
  PetscCall(PetscViewerBinaryOpen(comm, file->name, FILE_MODE_READ, &viewer));
  PetscCall(MatCreate(comm, &p->A));
  PetscCall(MatSetType(p->A, MATMACKO));
  PetscCall(MatLoad(p->A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(PetscStrncpy(p->kind, "macko file", sizeof p->kind));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Chooses by what the file holds. A container becomes type macko only with `compressed`; otherwise macko_read decodes it. A vector
   of PETSc's is refused for what it is by the check of its matrices. */
static PetscErrorCode LoadFile(MPI_Comm comm, const char *path, PetscBool compressed, Problem *p)
{
  Spool file;
  BinaryHead head;

  PetscFunctionBegin;
  PetscCall(SpoolOpen(comm, path, &file));
  PetscCall(ReadBinaryHead(comm, &file, &head));
  if (head.class_id == MAT_FILE_CLASSID || head.class_id == VEC_FILE_CLASSID) PetscCall(LoadBinary(comm, &file, compressed, p));
  else if (head.container && compressed) PetscCall(LoadContainer(comm, &file, p));
  else PetscCall(LoadText(comm, &file, p));
  p->lossy = (PetscBool)head.lossy;
  PetscCall(SpoolClose(&file));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -mat_type is looked at here, before there is a matrix, because types other than macko are made of AIJ by ProblemConvert. */
PetscErrorCode ProblemLoad(MPI_Comm comm, const char *path, PetscBool straight, Problem *p)
{
  MatInfo info;
  PetscLogDouble start, end;
  char type[64] = "";
  PetscBool compressed, generated;

  PetscFunctionBegin;
  memset(p, 0, sizeof *p);
  PetscCall(PetscTime(&start));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_type", type, sizeof type, NULL));
  compressed = (PetscBool)(straight && !strcmp(type, MATMACKO));
  PetscCall(StencilLoad(comm, path, compressed, p, &generated));
  if (!generated) PetscCall(LoadFile(comm, path, compressed, p));
  PetscCall(MatGetInfo(p->A, MAT_GLOBAL_SUM, &info));
  p->nnz = (PetscInt64)info.nz_used;
  PetscCall(PetscTime(&end));
  p->read_seconds = end - start;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The prefix has kept -mat_ options from the matrix as it was read: they are for the converted one. */
PetscErrorCode ProblemConvert(Problem *p)
{
  char type[64] = MATAIJMACKO;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_type", type, sizeof type, NULL));
  PetscCall(MatSetOptionsPrefix(p->A, NULL));
  if (p->symmetric) PetscCall(MatSetOption(p->A, MAT_SYMMETRIC, PETSC_TRUE)); /* sbaij asks for it */
  PetscCall(MatConvert(p->A, type, MAT_INPLACE_MATRIX, &p->A));
  PetscCall(MatSetFromOptions(p->A));
  if (p->symmetric) PetscCall(MatSetOption(p->A, MAT_SYMMETRIC, PETSC_TRUE)); /* a conversion forgets it */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ProblemDestroy(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&p->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- vectors ---- */

/* Adds the entries of a csr of one column, which the calling rank has whole, to b, which is 0; VecAssemblyBegin sends them on. A
   PETSc binary file may have an entry twice. */
static PetscErrorCode FillVector(const macko_csr *csr, Vec b)
{
  PetscFunctionBegin;
  for (int64_t i = 0; i < csr->nrows; i++)
    for (PetscInt q = IndexAt(csr->row_ptr_type, csr->row_ptr, i); q < IndexAt(csr->row_ptr_type, csr->row_ptr, i + 1); q++)
      PetscCall(VecSetValue(b, (PetscInt)i, ((const PetscScalar *)csr->values)[q], ADD_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A vector of PETSc's is read by PETSc, each rank its part; any other file goes through rank 0. */
PetscErrorCode ProblemLoadVector(const Problem *p, const char *path, Vec b)
{
  MPI_Comm comm = PetscObjectComm((PetscObject)p->A);
  Spool file;
  BinaryHead head;
  macko_csr csr = {0};
  FileFacts facts = {.ncols = 1};
  PetscInt n;
  PetscMPIInt rank;
  PetscViewer viewer;
  PetscBool binary;

  PetscFunctionBegin;
  PetscCall(SpoolOpen(comm, path, &file));
  PetscCall(ReadBinaryHead(comm, &file, &head));
  binary = (PetscBool)(head.class_id == VEC_FILE_CLASSID);
  if (binary) facts.nrows = head.rows;
  else PetscCall(ReadOnRankZero(comm, &file, (PetscBool)(head.class_id == MAT_FILE_CLASSID), &csr, &facts));
  PetscCall(VecGetSize(b, &n));
  PetscCheck(facts.nrows == n && facts.ncols == 1, comm, PETSC_ERR_FILE_READ,
             "%s: a right-hand side of %lld x 1 is needed, the file holds %lld x %lld", path, (long long)n,
             (long long)facts.nrows, (long long)facts.ncols);
  if (binary) {
    PetscCall(CheckBinary(comm, &file, petsc_binary_check_vector));
    PetscCall(PetscViewerBinaryOpen(comm, file.name, FILE_MODE_READ, &viewer));
    PetscCall(VecLoad(b, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
  } else {
    PetscCallMPI(MPI_Comm_rank(comm, &rank));
    PetscCall(VecZeroEntries(b));
    if (rank == 0) PetscCall(FillVector(&csr, b));
    PetscCall(VecAssemblyBegin(b));
    PetscCall(VecAssemblyEnd(b));
    macko_free_csr(&csr);
  }
  PetscCall(SpoolClose(&file));
  PetscFunctionReturn(PETSC_SUCCESS);
}
