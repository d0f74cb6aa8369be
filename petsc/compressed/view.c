/* Type macko for people (-mat_view ::ascii_info), for programs (MatMackoGetInfo) and as PETSc's binary file. */
#include "compressed/compressed.h"

#include <stdlib.h>

/* The names are compared; matrices of aijmacko and of all other types are none. */
PetscErrorCode MackoIsCompressed(Mat A, PetscBool *compressed)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, compressed, MATSEQMACKO, MATMPIMACKO, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- what is stored ---- */

/* Returns what the block would take as CSR: that of its pieces has a row pointer more for each, and none for rows in no piece.
   On one rank the block of other ranks' columns has no rows. */
static PetscInt64 CsrBytes(const MackoBlock *b)
{
  const PetscInt64 pointer = b->nnz > INT32_MAX ? 8 : 4, col = b->ncols > INT32_MAX ? 8 : 4;
  return b->nrows ? (b->nrows + 1) * pointer + b->nnz * (col + (PetscInt64)sizeof(PetscScalar)) : 0;
}

/* Puts the facts of a block's pieces together: names and reason of the first one, sums of numbers, lossy if any is. A block
   without pieces has "no rows" for a reason. */
static macko_info Together(const MackoBlock *b)
{
  macko_info all = {.reason = "no rows"}, one;
  for (PetscInt p = 0; p < b->count; p++) {
    MackoPieceInfo(&b->pieces[p], &one);
    /* Everything that has been put together goes over to the facts of this piece. */
    if (p) {
      one.lossy |= all.lossy, one.nnz += all.nnz, one.bytes += all.bytes;
      one.seconds += all.seconds, one.csr_seconds += all.csr_seconds;
      one.format = all.format, one.layout = all.layout, one.variant = all.variant, one.values = all.values;
      one.gap_bits = all.gap_bits, one.stored_type = all.stored_type, one.reason = all.reason;
    }
    all = one;
  }
  all.csr_bytes = CsrBytes(b);
  return all;
}

/* Returns the bytes of both blocks in GPU memory on this rank. */
static PetscInt64 DeviceBytes(const Mat_Compressed *m)
{
  PetscInt64 bytes = 0;
  for (PetscInt p = 0; p < m->own.count; p++) bytes += MackoPieceDeviceBytes(&m->own.pieces[p]);
  for (PetscInt p = 0; p < m->off.count; p++) bytes += MackoPieceDeviceBytes(&m->off.pieces[p]);
  return bytes;
}

/* Returns the mean of the products that were measured, 0 without any. */
static double ProductSeconds(const Mat_Compressed *m)
{
  return m->products ? m->product_seconds / (double)m->products : 0;
}

/* Returns the name of the format of a block's first piece, of which `together` tells. */
static const char *FormatName(const MackoBlock *b, const macko_info *together)
{
  return b->count ? macko_format_name(together->format) : "none";
}

/* Names and reason are those of this rank's own block. All ranks have encoded equally often, since they do it together. */
PetscErrorCode MackoCompressedInfo(Mat A, MatMackoInfo *info)
{
  const Mat_Compressed *m    = (const Mat_Compressed *)A->data;
  MPI_Comm              comm = PetscObjectComm((PetscObject)A);
  macko_info            own = Together(&m->own), off = Together(&m->off);
  PetscInt64            mine[4] = {own.nnz + off.nnz, own.bytes + off.bytes, own.csr_bytes + off.csr_bytes, DeviceBytes(m)},
                        sums[4];
  int                   lossy = own.lossy | off.lossy, any;
  double                seconds[4] = {m->encode_seconds, ProductSeconds(m), own.seconds + off.seconds,
                                      own.csr_seconds + off.csr_seconds},
                        slowest[4];
  char                  formats[64];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(info, sizeof *info));
  PetscCall(PetscSNPrintf(formats, sizeof formats, m->halo ? "%s and %s" : "%s", FormatName(&m->own, &own),
                          FormatName(&m->off, &off)));
  PetscCall(MackoCountFormats(comm, formats, info));
  PetscCallMPI(MPI_Allreduce(mine, sums, 4, MPIU_INT64, MPI_SUM, comm));
  PetscCallMPI(MPI_Allreduce(&lossy, &any, 1, MPI_INT, MPI_MAX, comm));
  PetscCallMPI(MPI_Allreduce(seconds, slowest, 4, MPI_DOUBLE, MPI_MAX, comm));
  PetscCallMPI(MPI_Allreduce(&m->products, &info->products, 1, MPIU_INT64, MPI_MAX, comm));
  info->encode_seconds = slowest[0], info->product_seconds = slowest[1];
  info->predicted_seconds = slowest[2], info->csr_predicted_seconds = slowest[3];
  info->encoded = A->assembled, info->lossy = (PetscBool)any, info->encodes = m->encodes;
  info->format = macko_format_name(own.format), info->layout = macko_layout_name(own.layout);
  info->variant = macko_variant_name(own.variant), info->values = macko_values_name(own.values);
  info->gap_bits = own.gap_bits, info->reason = own.reason;
  info->nnz = sums[0], info->bytes = sums[1], info->csr_bytes = sums[2];
  info->on_device = m->device, info->device_bytes = sums[3];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints for one kind of block what the first piece of each rank has, and the bytes of all pieces. Collective. */
static PetscErrorCode ViewBlock(Mat A, const MackoBlock *b, const char *name, PetscViewer viewer)
{
  MPI_Comm      comm = PetscObjectComm((PetscObject)A);
  macko_info    info = Together(b);
  PetscInt64    mine = b->count, pieces;
  char          text[192] = "no rows with entries";
  MackoViewLine line = {viewer, name, 1};

  PetscFunctionBegin;
  if (b->count) MackoDescribe(&info, text, sizeof text);
  PetscCall(MackoViewStored(comm, text, &info, &line));
  PetscCallMPI(MPI_Allreduce(&mine, &pieces, 1, MPIU_INT64, MPI_SUM, comm));
  if (pieces)
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s  pieces %" PetscInt64_FMT "; format and reason are those of a rank's first\n",
                                     name, pieces));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints what a product with both blocks costs, which is measured together, and what encoding took. Collective. */
static PetscErrorCode ViewCosts(Mat A, PetscViewer viewer)
{
  const Mat_Compressed *m      = (const Mat_Compressed *)A->data;
  const MackoEffort     effort = {m->encodes, 0, m->encode_seconds, 0};
  MPI_Comm              comm   = PetscObjectComm((PetscObject)A);
  macko_info            both   = Together(&m->own), off = Together(&m->off);
  MackoViewLine         line   = {viewer, m->halo ? "both blocks: " : "", 1};
  MatMackoInfo          info;

  PetscFunctionBegin;
  both.seconds += off.seconds, both.csr_seconds += off.csr_seconds;
  PetscCall(MackoViewProducts(comm, &both, m->products, ProductSeconds(m), &line));
  PetscCall(MatMackoGetInfo(A, &info));
  PetscCall(MackoViewEffort(comm, &effort, &info, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints where products run, and if on GPUs, how ranks exchange entries of vectors, if not, why. Collective. */
static PetscErrorCode ViewPlace(Mat A, PetscViewer viewer)
{
  const Mat_Compressed *m   = (const Mat_Compressed *)A->data;
  const char           *why = "another rank has no GPU";
  PetscInt64            mine = DeviceBytes(m), all;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPIU_INT64, MPI_SUM, PetscObjectComm((PetscObject)A)));
  if (m->device) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "products on the GPU, %" PetscInt64_FMT " bytes there\n", all));
    if (m->halo) PetscCall(MackoHaloView(A, m->ghosts, m->ghost_cols, viewer));
  } else {
    (void)MackoDeviceAllowed(A, &why);
    PetscCall(PetscViewerASCIIPrintf(viewer, "products on the CPU: %s\n", why ? why : "another rank has no GPU"));
    PetscCall(MackoViewIdle(A, viewer));
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "no other form of the entries is kept\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix on one rank has one block, which then needs no name. */
static PetscErrorCode ViewInfo(Mat A, PetscViewer viewer)
{
  const Mat_Compressed *m = (const Mat_Compressed *)A->data;

  PetscFunctionBegin;
  PetscCall(ViewBlock(A, &m->own, m->halo ? "diagonal block: " : "", viewer));
  if (m->halo) PetscCall(ViewBlock(A, &m->off, "off-diagonal block: ", viewer));
  PetscCall(ViewCosts(A, viewer));
  PetscCall(ViewPlace(A, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- PETSc's binary file: lengths of all rows, then all columns, then all values, each a few rows at a time ---- */

typedef enum {
  LENGTHS,
  COLUMNS,
  VALUES,
  PARTS
} FilePart;

enum { ROOM = 1 << 16 }; /* so many elements are sent at a time, or a whole row */

/* What is to be written gathers here, on the rank that has it and then on rank 0. */
typedef struct {
  Mat          A;
  FilePart     part;
  /* file is rank 0's, -1 elsewhere; the rows are those of rank owner. */
  int          file, owner;
  PetscInt     count, room;
  PetscInt    *integers;
  PetscScalar *values;
} Writer;

/* Writes what has gathered; rank 0 alone calls it. */
static PetscErrorCode Write(const Writer *w)
{
  PetscFunctionBegin;
  if (w->part == VALUES) PetscCall(PetscBinaryWrite(w->file, w->values, w->count, PETSC_SCALAR));
  else PetscCall(PetscBinaryWrite(w->file, w->integers, w->count, PETSC_INT));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both arrays get the same room, since a row's columns and values come through the same writer. */
static PetscErrorCode Reserve(Writer *w, PetscInt count)
{
  PetscFunctionBegin;
  if (count <= w->room) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscRealloc((size_t)count * sizeof *w->integers, &w->integers));
  PetscCall(PetscRealloc((size_t)count * sizeof *w->values, &w->values));
  w->room = count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings what has gathered into the file, through rank 0, and empties the buffer. A count of -1 tells rank 0 that there is no
   more; one of 0 is nothing to send. */
static PetscErrorCode Send(Writer *w, PetscInt count)
{
  MPI_Comm comm = PetscObjectComm((PetscObject)w->A);

  PetscFunctionBegin;
  if (w->owner == 0) {
    if (count > 0) PetscCall(Write(w));
  } else if (count) {
    /* The count goes ahead, since rank 0 has to make room. */
    PetscCallMPI(MPI_Send(&count, 1, MPIU_INT, 0, 0, comm));
    if (count > 0 && w->part == VALUES) PetscCallMPI(MPI_Send(w->values, (PetscMPIInt)count, MPIU_SCALAR, 0, 1, comm));
    else if (count > 0) PetscCallMPI(MPI_Send(w->integers, (PetscMPIInt)count, MPIU_INT, 0, 1, comm));
  }
  w->count = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rank 0 writes what rank owner sends until that has no more. */
static PetscErrorCode Receive(Writer *w)
{
  MPI_Comm comm = PetscObjectComm((PetscObject)w->A);

  PetscFunctionBegin;
  while (1) {
    PetscCallMPI(MPI_Recv(&w->count, 1, MPIU_INT, w->owner, 0, comm, MPI_STATUS_IGNORE));
    if (w->count < 0) break;
    PetscCall(Reserve(w, w->count));
    if (w->part == VALUES)
      PetscCallMPI(MPI_Recv(w->values, (PetscMPIInt)w->count, MPIU_SCALAR, w->owner, 1, comm, MPI_STATUS_IGNORE));
    else PetscCallMPI(MPI_Recv(w->integers, (PetscMPIInt)w->count, MPIU_INT, w->owner, 1, comm, MPI_STATUS_IGNORE));
    PetscCall(Write(w));
  }
  w->count = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Goes through this rank's rows and sends the part that is being written. So all pieces are decoded once for each of the three
   parts, as the file wants them apart and the entries need not fit into memory. */
static PetscErrorCode SendRows(Writer *w)
{
  PetscInt           n;
  const PetscInt    *cols;
  const PetscScalar *values;
  macko_error        err;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < w->A->rmap->n; i++) {
    PetscCall(MackoRaise(PETSC_COMM_SELF, MackoCompressedRow(w->A, i, &n, &cols, &values, &err), err.text));
    PetscInt count = w->part == LENGTHS ? 1 : n;
    if (w->count && w->count + count > ROOM) PetscCall(Send(w, w->count));
    PetscCall(Reserve(w, PetscMax(ROOM, count)));
    if (w->part == LENGTHS) w->integers[w->count] = n;
    else if (w->part == COLUMNS) PetscCall(PetscArraycpy(w->integers + w->count, cols, n));
    else PetscCall(PetscArraycpy(w->values + w->count, values, n));
    w->count += count;
  }
  PetscCall(Send(w, w->count));
  PetscCall(Send(w, -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The head has the class, the sizes and the number of entries, which is cut off at the largest integer, as PETSc does. */
static PetscErrorCode WriteHead(Mat A, int file)
{
  MatInfo  info;
  PetscInt head[4] = {MAT_FILE_CLASSID, A->rmap->N, A->cmap->N, 0};

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  head[3] = info.nz_used > (PetscLogDouble)PETSC_MAX_INT ? PETSC_MAX_INT : (PetscInt)info.nz_used; /* PETSc does so, too */
  if (file >= 0) PetscCall(PetscBinaryWrite(file, head, 4, PETSC_INT));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The .info beside the file has the block sizes, in the words of PETSc's own types, since the file has no place for them. */
static PetscErrorCode WriteBlockSizes(Mat A, PetscViewer viewer)
{
  PetscInt  rows, cols;
  PetscBool skip;
  FILE     *info = NULL;

  PetscFunctionBegin;
  PetscCall(PetscViewerBinaryGetSkipInfo(viewer, &skip));
  if (skip) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetBlockSizes(A, &rows, &cols));
  PetscCall(PetscViewerBinaryGetInfoPointer(viewer, &info)); /* rank 0 alone has it */
  if (!info) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, info, "-matload_block_size %" PetscInt_FMT, rows));
  if (rows != cols) PetscCall(PetscFPrintf(PETSC_COMM_SELF, info, ",%" PetscInt_FMT, cols));
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, info, "\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ranks come one after another within each part, so that rank 0 writes the file from its beginning to its end. */
static PetscErrorCode ViewBinary(Mat A, PetscViewer viewer)
{
  Writer      w = {.A = A, .file = -1};
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)A), &rank));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCall(PetscViewerSetUp(viewer));
  if (rank == 0) PetscCall(PetscViewerBinaryGetDescriptor(viewer, &w.file));
  PetscCall(WriteHead(A, w.file));
  for (w.part = LENGTHS; w.part < PARTS; w.part++)
    for (w.owner = 0; w.owner < size; w.owner++) {
      if (rank == w.owner) PetscCall(SendRows(&w));
      else if (rank == 0) PetscCall(Receive(&w));
    }
  PetscCall(WriteBlockSizes(A, viewer));
  MackoCompressedForget(A);
  PetscCall(PetscFree(w.integers));
  PetscCall(PetscFree(w.values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- all viewers ---- */

/* Shows the entries as AIJ does, with A's name. The copy as AIJ has to fit into memory. Its own function is called, because
   MatView, which has written A's heading, would write that of the copy, too. */
static PetscErrorCode ViewAsAIJ(Mat A, PetscViewer viewer)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  if (((PetscObject)A)->name) PetscCall(PetscObjectSetName((PetscObject)B, ((PetscObject)A)->name));
  PetscCall((*B->ops->view)(B, viewer));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Information, pictures and binary files are made without another form of the entries; factors' information has nothing to show;
   all else, MPI-IO included, goes by a copy as AIJ. */
PetscErrorCode MatView_Macko(Mat A, PetscViewer viewer)
{
  PetscViewerFormat format;
  PetscBool         ascii, binary, draw, mpiio = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERBINARY, &binary));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERDRAW, &draw));
  if (binary) PetscCall(PetscViewerBinaryGetUseMPIIO(viewer, &mpiio));
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (ascii && (format == PETSC_VIEWER_ASCII_INFO || format == PETSC_VIEWER_ASCII_INFO_DETAIL)) PetscCall(ViewInfo(A, viewer));
  else if (ascii && format == PETSC_VIEWER_ASCII_FACTOR_INFO) PetscFunctionReturn(PETSC_SUCCESS);
  else if (draw) PetscCall(MackoCompressedDraw(A, viewer));
  else if (binary && !mpiio) PetscCall(ViewBinary(A, viewer));
  else PetscCall(ViewAsAIJ(A, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
