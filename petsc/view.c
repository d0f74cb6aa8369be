/* What is stored and why: for programs (MatMackoGetInfo) and for people (-mat_view ::ascii_info). */
#include "matmacko.h"

/* The sequential matrices of this rank: the matrix itself, or its two blocks. */
static PetscErrorCode Blocks(Mat A, Mat blocks[2], int *count)
{
  PetscBool mpi, seq;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATMPIAIJMACKO, &mpi));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJMACKO, &seq));
  PetscCheck(mpi || seq, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "the matrix is of type %s, not aijmacko",
             ((PetscObject)A)->type_name);
  *count = mpi ? 2 : 1;
  if (mpi) PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  else blocks[0] = A;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The compressed form of a block, NULL before its first product. */
static const macko_matrix *Compressed(Mat block)
{
  const Mat_Macko *m = block ? (const Mat_Macko *)block->spptr : NULL;
  return m && m->owner == block ? m->compressed : NULL;
}

PetscErrorCode MatMackoGetInfo(Mat A, MatMackoInfo *info)
{
  Mat        blocks[2];
  int        count, without = 0, any;
  PetscInt64 sums[3] = {0}, counts[2] = {0}, total_sums[3], total_counts[2];
  double     seconds[2] = {0}, slowest[2];
  MPI_Comm   comm = PetscObjectComm((PetscObject)A);
  macko_info first = {0}, one;
  const Mat_Macko *whole = (const Mat_Macko *)A->spptr;

  PetscFunctionBegin;
  PetscCall(Blocks(A, blocks, &count));
  for (int i = 0; i < count; i++) {
    if (!Compressed(blocks[i])) {
      without = 1;
      continue;
    }
    const Mat_Macko *m = (const Mat_Macko *)blocks[i]->spptr;
    macko_get_info(m->compressed, &one);
    if (i == 0) first = one;
    sums[0] += one.nnz, sums[1] += one.bytes, sums[2] += one.csr_bytes;
  }
  if (whole) {
    counts[0] = whole->encodes, counts[1] = whole->refreshes;
    seconds[0] = whole->encode_seconds, seconds[1] = whole->refresh_seconds;
  }
  PetscCallMPI(MPI_Allreduce(&without, &any, 1, MPI_INT, MPI_MAX, comm));
  PetscCallMPI(MPI_Allreduce(sums, total_sums, 3, MPIU_INT64, MPI_SUM, comm));
  PetscCallMPI(MPI_Allreduce(counts, total_counts, 2, MPIU_INT64, MPI_MAX, comm));
  PetscCallMPI(MPI_Allreduce(seconds, slowest, 2, MPI_DOUBLE, MPI_MAX, comm));
  PetscCall(PetscMemzero(info, sizeof *info));
  if (any) PetscFunctionReturn(PETSC_SUCCESS);
  info->encoded = PETSC_TRUE;
  info->format = macko_format_name(first.format), info->layout = macko_layout_name(first.layout);
  info->values = macko_values_name(first.values), info->reason = first.reason;
  info->lossy = (PetscBool)first.lossy;
  info->nnz = total_sums[0], info->bytes = total_sums[1], info->csr_bytes = total_sums[2];
  info->encodes = total_counts[0], info->refreshes = total_counts[1];
  info->encode_seconds = slowest[0], info->refresh_seconds = slowest[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One line about one kind of block: smallest and largest over the ranks. */
static PetscErrorCode ViewBlock(Mat A, Mat block, const char *name, PetscViewer viewer)
{
  MPI_Comm    comm = PetscObjectComm((PetscObject)A);
  macko_info  info;
  PetscMPIInt size;
  PetscReal   mine[2] = {0, 0}, low[2], high[2];

  PetscFunctionBegin;
  macko_get_info(Compressed(block), &info);
  PetscCallMPI(MPI_Comm_size(comm, &size));
  mine[0] = (PetscReal)info.bytes;
  mine[1] = info.bytes ? (PetscReal)info.csr_bytes / (PetscReal)info.bytes : 0;
  PetscCallMPI(MPI_Allreduce(mine, low, 2, MPIU_REAL, MPIU_MIN, comm));
  PetscCallMPI(MPI_Allreduce(mine, high, 2, MPIU_REAL, MPIU_MAX, comm));
  if (size == 1)
    PetscCall(PetscViewerASCIIPrintf(viewer, "%sformat %s: %lld bytes (%.2f a nonzero), CSR/this %.2f%s\n", name,
                                     macko_format_name(info.format), (long long)info.bytes,
                                     info.nnz ? (double)info.bytes / (double)info.nnz : 0., (double)mine[1],
                                     info.lossy ? ", LOSSY values" : ""));
  else
    PetscCall(PetscViewerASCIIPrintf(viewer, "%sformat %s on rank 0: min/max over ranks bytes %.0f/%.0f, CSR/this %.2f/%.2f%s\n", name,
                                     macko_format_name(info.format), (double)low[0], (double)high[0], (double)low[1],
                                     (double)high[1], info.lossy ? ", LOSSY values" : ""));
  PetscCall(PetscViewerASCIIPrintf(viewer, "%s  %s\n", name, info.reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMackoEncode(Mat A)
{
  Mat          blocks[2];
  int          count;
  macko_status status;
  macko_error  err;

  PetscFunctionBegin;
  PetscCall(Blocks(A, blocks, &count));
  if (count == 2) PetscCall(MackoUpdateMPI(A));
  else {
    PetscCall(MackoUpdate(A, &status, &err));
    if (status) PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoView(Mat A, PetscViewer viewer)
{
  static const char *const names[] = {"diagonal block: ", "off-diagonal block: "};
  Mat               blocks[2];
  int               count;
  MatMackoInfo      info;
  PetscBool         ascii;
  PetscViewerFormat format;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii || !A->assembled || A->factortype) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (format != PETSC_VIEWER_ASCII_INFO && format != PETSC_VIEWER_ASCII_INFO_DETAIL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatMackoGetInfo(A, &info));
  if (!info.encoded) { /* the answer is what the products will use */
    PetscCall(MatMackoEncode(A));
    PetscCall(MatMackoGetInfo(A, &info));
  }
  PetscCall(Blocks(A, blocks, &count));
  for (int i = 0; i < count; i++) PetscCall(ViewBlock(A, blocks[i], count == 1 ? "" : names[i], viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "encoded %lld times in %.3g s, values refreshed %lld times in %.3g s\n",
                                   (long long)info.encodes, info.encode_seconds, (long long)info.refreshes, info.refresh_seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}
