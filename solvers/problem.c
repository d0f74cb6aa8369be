/* Files to distributed matrices. */
#include "problem.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- progress: past a second, on a terminal only ---- */

typedef struct {
  double start, shown;
} Clock;

static double Now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

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

typedef struct {
  PetscInt *ia, *ja;
  PetscScalar *values;
} LocalRows;

enum { PIECE = 1 << 24 };

static PetscInt IndexAt(macko_type type, const void *array, int64_t i)
{
  return (PetscInt)(type == MACKO_I64 ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i]);
}

/* Entries [begin, end) to rank `to`, or into rows when that is this rank. */
static PetscErrorCode SendEntries(MPI_Comm comm, const macko_csr *csr, int64_t begin, int64_t end, int to, LocalRows *rows)
{
  PetscInt *cols;
  int64_t room = PetscMin(end - begin, PIECE);

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(room, &cols));
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

static PetscErrorCode ReceiveEntries(MPI_Comm comm, PetscInt count, LocalRows *rows)
{
  PetscFunctionBegin;
  for (PetscInt p = 0; p < count; p += PIECE) {
    int piece = (int)PetscMin(count - p, PIECE);
    PetscCallMPI(MPI_Recv(rows->ja + p, piece, MPIU_INT, 0, 1, comm, MPI_STATUS_IGNORE));
    PetscCallMPI(MPI_Recv(rows->values + p, piece, MPIU_SCALAR, 0, 2, comm, MPI_STATUS_IGNORE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Row pointers of rank r's rows, counted from their own start, into ia. */
static void LocalPointers(const macko_csr *csr, PetscInt first, PetscInt last, PetscInt *ia)
{
  PetscInt start = IndexAt(csr->row_ptr_type, csr->row_ptr, first);
  for (PetscInt i = first; i <= last; i++) ia[i - first] = IndexAt(csr->row_ptr_type, csr->row_ptr, i) - start;
}

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
    PetscInt count = ranges[to + 1] - ranges[to] + 1;
    PetscCall(PetscMalloc1(count, &ia));
    LocalPointers(csr, ranges[to], ranges[to + 1], ia);
    PetscCallMPI(MPI_Send(ia, (int)count, MPIU_INT, to, 0, comm));
    PetscCall(PetscFree(ia));
    PetscCall(SendEntries(comm, csr, IndexAt(csr->row_ptr_type, csr->row_ptr, ranges[to]),
                          IndexAt(csr->row_ptr_type, csr->row_ptr, ranges[to + 1]), to, rows));
  }
  if (rank) PetscCallMPI(MPI_Recv(rows->ia, (int)(last - first + 1), MPIU_INT, 0, 0, comm, MPI_STATUS_IGNORE));
  PetscCall(PetscMalloc2(rows->ia[last - first], &rows->ja, rows->ia[last - first], &rows->values));
  if (rank) PetscCall(ReceiveEntries(comm, rows->ia[last - first], rows));
  else PetscCall(SendEntries(comm, csr, 0, rows->ia[last - first], 0, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Everything that rank 0 knows about the file and the others need. */
typedef struct {
  int64_t status, nrows, ncols, nnz, symmetric;
  char kind[96];
} FileFacts;

static PetscErrorCode ReadOnRankZero(MPI_Comm comm, const char *path, macko_csr *csr, FileFacts *facts)
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
    facts->status = macko_read(path, &progress, csr, &info, &err);
    EndReport(&clock);
    if (facts->status) fprintf(stderr, "%s\n", err.text);
    else {
      facts->nrows = csr->nrows, facts->ncols = csr->ncols, facts->symmetric = info.symmetric;
      facts->nnz = csr->row_ptr_type == MACKO_I64 ? ((const int64_t *)csr->row_ptr)[csr->nrows] : ((const int32_t *)csr->row_ptr)[csr->nrows];
      memcpy(facts->kind, info.kind, sizeof facts->kind);
      if (sizeof(PetscInt) == 4 && (facts->nrows > PETSC_MAX_INT || facts->ncols > PETSC_MAX_INT || facts->nnz > PETSC_MAX_INT)) {
        fprintf(stderr, "%s: %lld x %lld with %lld nonzeros needs a PETSc with 64-bit indices\n", path, (long long)facts->nrows,
                (long long)facts->ncols, (long long)facts->nnz);
        facts->status = MACKO_LIMIT;
      }
    }
  }
  PetscCallMPI(MPI_Bcast(facts, sizeof *facts, MPI_BYTE, 0, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LoadText(MPI_Comm comm, const char *path, Problem *p, PetscBool *failed)
{
  macko_csr csr = {0};
  FileFacts facts;
  LocalRows rows = {0};

  PetscFunctionBegin;
  PetscCall(ReadOnRankZero(comm, path, &csr, &facts));
  *failed = (PetscBool)(facts.status != 0);
  if (*failed) {
    macko_free_csr(&csr);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatCreate(comm, &p->A));
  PetscCall(MatSetSizes(p->A, PETSC_DECIDE, PETSC_DECIDE, (PetscInt)facts.nrows, (PetscInt)facts.ncols));
  PetscCall(MatSetType(p->A, MATAIJMACKO));
  PetscCall(MatSetFromOptions(p->A));
  PetscCall(Distribute(p->A, &csr, &rows));
  macko_free_csr(&csr);
  PetscCall(MatSeqAIJSetPreallocationCSR(p->A, rows.ia, rows.ja, rows.values));
  PetscCall(MatMPIAIJSetPreallocationCSR(p->A, rows.ia, rows.ja, rows.values));
  PetscCall(PetscFree(rows.ia));
  PetscCall(PetscFree2(rows.ja, rows.values));
  if (facts.symmetric) PetscCall(MatSetOption(p->A, MAT_SYMMETRIC, PETSC_TRUE));
  p->symmetric = (PetscBool)facts.symmetric;
  PetscCall(PetscStrncpy(p->kind, facts.kind, sizeof p->kind));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- PETSc's own files ---- */

/* The class id that begins a binary file, 0 for any other. */
static PetscErrorCode BinaryClass(MPI_Comm comm, const char *path, int *class_id)
{
  PetscMPIInt rank;
  unsigned char head[4] = {0};

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (rank == 0) {
    FILE *f = fopen(path, "rb");
    if (f && fread(head, 1, 4, f) != 4) memset(head, 0, sizeof head);
    if (f) fclose(f);
  }
  PetscCallMPI(MPI_Bcast(head, 4, MPI_BYTE, 0, comm));
  *class_id = head[0] << 24 | head[1] << 16 | head[2] << 8 | head[3];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LoadBinary(MPI_Comm comm, const char *path, Problem *p)
{
  PetscViewer viewer;

  PetscFunctionBegin;
  PetscCall(PetscViewerBinaryOpen(comm, path, FILE_MODE_READ, &viewer));
  PetscCall(MatCreate(comm, &p->A));
  PetscCall(MatSetType(p->A, MATAIJMACKO));
  PetscCall(MatSetFromOptions(p->A));
  PetscCall(MatLoad(p->A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(PetscStrncpy(p->kind, "PETSc binary", sizeof p->kind));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ProblemLoad(MPI_Comm comm, const char *path, Problem *p, PetscBool *failed)
{
  int class_id;
  MatInfo info;
  PetscLogDouble start, end;

  PetscFunctionBegin;
  memset(p, 0, sizeof *p);
  *failed = PETSC_FALSE;
  PetscCall(PetscTime(&start));
  PetscCall(BinaryClass(comm, path, &class_id));
  if (class_id == MAT_FILE_CLASSID) PetscCall(LoadBinary(comm, path, p));
  else PetscCall(LoadText(comm, path, p, failed));
  if (*failed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetInfo(p->A, MAT_GLOBAL_SUM, &info));
  p->nnz = (PetscInt64)info.nz_used;
  PetscCall(PetscTime(&end));
  p->read_seconds = end - start;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ProblemDestroy(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&p->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- vectors ---- */

static PetscErrorCode FillVector(const macko_csr *csr, Vec b)
{
  PetscFunctionBegin;
  for (int64_t i = 0; i < csr->nrows; i++)
    for (PetscInt q = IndexAt(csr->row_ptr_type, csr->row_ptr, i); q < IndexAt(csr->row_ptr_type, csr->row_ptr, i + 1); q++)
      PetscCall(VecSetValue(b, (PetscInt)i, ((const PetscScalar *)csr->values)[q], INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ProblemLoadVector(const Problem *p, const char *path, Vec b, PetscBool *failed)
{
  MPI_Comm comm = PetscObjectComm((PetscObject)p->A);
  int class_id;
  macko_csr csr = {0};
  FileFacts facts;
  PetscInt n;
  PetscMPIInt rank;
  PetscViewer viewer;

  PetscFunctionBegin;
  *failed = PETSC_FALSE;
  PetscCall(BinaryClass(comm, path, &class_id));
  if (class_id == VEC_FILE_CLASSID) {
    PetscCall(PetscViewerBinaryOpen(comm, path, FILE_MODE_READ, &viewer));
    PetscCall(VecLoad(b, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(VecGetSize(b, &n));
  PetscCall(ReadOnRankZero(comm, path, &csr, &facts));
  *failed = (PetscBool)(facts.status != 0);
  if (!*failed && (facts.ncols != 1 || facts.nrows != n)) {
    if (rank == 0)
      fprintf(stderr, "%s: a right-hand side of %lld x 1 is needed, the file holds %lld x %lld\n", path, (long long)n,
              (long long)facts.nrows, (long long)facts.ncols);
    *failed = PETSC_TRUE;
  }
  if (!*failed) {
    PetscCall(VecZeroEntries(b));
    if (rank == 0) PetscCall(FillVector(&csr, b));
    PetscCall(VecAssemblyBegin(b));
    PetscCall(VecAssemblyEnd(b));
  }
  macko_free_csr(&csr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode JSONString(FILE *f, const char *text)
{
  PetscFunctionBegin;
  fputc('"', f);
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') fprintf(f, "\\%c", *text);
    else if ((unsigned char)*text < 32) fprintf(f, "\\u%04x", *text);
    else fputc(*text, f);
  }
  fputc('"', f);
  PetscFunctionReturn(PETSC_SUCCESS);
}
