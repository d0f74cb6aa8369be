/* What is stored and why: for programs (MatMackoGetInfo) and for people (-mat_view ::ascii_info). */
#include "compressed/compressed.h"

#include <stdio.h>
#include <string.h>

/* The sequential matrices of this rank: the matrix itself, or its two blocks. */
static PetscErrorCode Blocks(Mat A, Mat blocks[2], int *count)
{
  PetscBool mpi, seq;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATMPIAIJMACKO, &mpi));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJMACKO, &seq));
  PetscCheck(mpi || seq, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "the matrix is of type %s, not aijmacko or macko",
             ((PetscObject)A)->type_name);
  *count = mpi ? 2 : 1;
  if (mpi) PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  else blocks[0] = A;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Facts of the compressed form of a block; PETSC_FALSE before its first product. */
static PetscBool BlockInfo(Mat block, macko_info *info)
{
  const Mat_Macko *m = block ? MackoOf(block) : NULL;
  return (PetscBool)(m && MackoOwns(m, block) && MackoInfo(m, info));
}

PetscErrorCode MatMackoGetInfo(Mat A, MatMackoInfo *info)
{
  Mat        blocks[2];
  int        count, mine[3] = {0}, any[3]; /* a block without a compressed form; a lossy one; one on the CPU */
  PetscInt64 sums[4] = {0}, counts[2] = {0}, total_sums[4], total_counts[2];
  double     seconds[2] = {0}, slowest[2];
  MPI_Comm   comm = PetscObjectComm((PetscObject)A);
  macko_info first = {0}, one;
  const Mat_Macko *whole = MackoOf(A);
  PetscBool        compressed;

  PetscFunctionBegin;
  PetscCall(MackoIsCompressed(A, &compressed));
  if (compressed) {
    PetscCall(MackoCompressedInfo(A, info));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(Blocks(A, blocks, &count));
  for (int i = 0; i < count; i++) {
    if (!BlockInfo(blocks[i], &one)) {
      mine[0] = 1;
      continue;
    }
    const Mat_Macko *m = MackoOf(blocks[i]);
    if (i == 0) first = one;
    mine[1] |= one.lossy;
    mine[2] |= !MackoDeviceAllowed(blocks[i], NULL);
    sums[0] += one.nnz, sums[1] += one.bytes, sums[2] += one.csr_bytes, sums[3] += MackoDeviceBytes(m);
  }
  if (whole) {
    counts[0] = whole->encodes, counts[1] = whole->refreshes;
    seconds[0] = whole->encode_seconds, seconds[1] = whole->refresh_seconds;
  }
  PetscCallMPI(MPI_Allreduce(mine, any, 3, MPI_INT, MPI_MAX, comm));
  PetscCallMPI(MPI_Allreduce(sums, total_sums, 4, MPIU_INT64, MPI_SUM, comm));
  PetscCallMPI(MPI_Allreduce(counts, total_counts, 2, MPIU_INT64, MPI_MAX, comm));
  PetscCallMPI(MPI_Allreduce(seconds, slowest, 2, MPI_DOUBLE, MPI_MAX, comm));
  PetscCall(PetscMemzero(info, sizeof *info));
  if (any[0]) PetscFunctionReturn(PETSC_SUCCESS);
  info->encoded = PETSC_TRUE;
  info->format = macko_format_name(first.format), info->layout = macko_layout_name(first.layout);
  info->variant = macko_variant_name(first.variant), info->gap_bits = first.gap_bits;
  info->values = macko_values_name(first.values), info->reason = first.reason;
  info->lossy = (PetscBool)any[1];
  info->nnz = total_sums[0], info->bytes = total_sums[1], info->csr_bytes = total_sums[2];
  info->encodes = total_counts[0], info->refreshes = total_counts[1];
  info->encode_seconds = slowest[0], info->refresh_seconds = slowest[1];
  info->on_device = (PetscBool)!any[2], info->device_bytes = total_sums[3];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Smallest and largest value over the ranks, as "a" where they are one and "a/b" else. */
static PetscErrorCode Range(MPI_Comm comm, double value, const char *format, char *text, size_t length)
{
  double ends[2] = {-value, value}, all[2];
  char   low[32], high[32];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(ends, all, 2, MPI_DOUBLE, MPI_MAX, comm));
  snprintf(low, sizeof low, format, -all[0]);
  snprintf(high, sizeof high, format, all[1]);
  if (strcmp(low, high)) snprintf(text, length, "%s/%s", low, high);
  else snprintf(text, length, "%s", low);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One kind of block: what rank 0 has and why, sizes of all ranks. */
static PetscErrorCode ViewBlock(Mat A, Mat block, const char *name, PetscViewer viewer)
{
  MPI_Comm   comm = PetscObjectComm((PetscObject)A);
  macko_info info;
  char       bytes[80], each[80], ratio[80], gaps[32] = "", variant[32] = "";
  int        lossy;

  PetscFunctionBegin;
  (void)BlockInfo(block, &info);
  PetscCallMPI(MPI_Allreduce(&info.lossy, &lossy, 1, MPI_INT, MPI_MAX, comm));
  PetscCall(Range(comm, (double)info.bytes, "%.0f", bytes, sizeof bytes));
  PetscCall(Range(comm, info.nnz ? (double)info.bytes / (double)info.nnz : 0, "%.2f", each, sizeof each));
  PetscCall(Range(comm, info.bytes ? (double)info.csr_bytes / (double)info.bytes : 0, "%.2f", ratio, sizeof ratio));
  if (info.gap_bits) snprintf(gaps, sizeof gaps, ", %d bits a gap", info.gap_bits);
  if (info.variant) snprintf(variant, sizeof variant, ", variant %s", macko_variant_name(info.variant));
  PetscCall(PetscViewerASCIIPrintf(viewer, "%sformat %s, layout %s%s%s, values %s as %s%s\n", name, macko_format_name(info.format),
                                   info.layout == MACKO_LAYOUT_AUTO ? "none" : macko_layout_name(info.layout), gaps, variant,
                                   macko_values_name(info.values), macko_type_name(info.stored_type), lossy ? ", LOSSY" : ""));
  PetscCall(PetscViewerASCIIPrintf(viewer, "%s  because: %s\n", name, info.reason));
  PetscCall(PetscViewerASCIIPrintf(viewer, "%s  bytes %s, a nonzero %s, CSR/this %s\n", name, bytes, each, ratio));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ViewCounts(Mat A, PetscViewer viewer)
{
  const Mat_Macko *m    = MackoOf(A);
  MPI_Comm         comm = PetscObjectComm((PetscObject)A);
  char             encodes[80], refreshes[80], encode_seconds[80], refresh_seconds[80];

  PetscFunctionBegin;
  PetscCall(Range(comm, (double)m->encodes, "%.0f", encodes, sizeof encodes));
  PetscCall(Range(comm, (double)m->refreshes, "%.0f", refreshes, sizeof refreshes));
  PetscCall(Range(comm, m->encode_seconds, "%.3g", encode_seconds, sizeof encode_seconds));
  PetscCall(Range(comm, m->refresh_seconds, "%.3g", refresh_seconds, sizeof refresh_seconds));
  PetscCall(PetscViewerASCIIPrintf(viewer, "encoded %s times in %s s, values refreshed %s times in %s s\n", encodes,
                                   encode_seconds, refreshes, refresh_seconds));
  if (m->products_below) /* counted on all ranks together */
    PetscCall(PetscViewerASCIIPrintf(viewer, "%" PetscInt64_FMT " products by %s before that paid (-mat_macko_after)\n",
                                     m->products_below, m->kind->base));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where products run, and why not on a GPU. */
static PetscErrorCode ViewBackend(Mat A, Mat block, PetscInt64 device_bytes, PetscViewer viewer)
{
  const char *why;
  int         cpu = !MackoDeviceAllowed(block, &why), any;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(&cpu, &any, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)A)));
  if (any) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "products on the CPU: %s\n", cpu ? why : "another rank has no GPU"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "products on the GPU%s, %" PetscInt64_FMT " bytes there\n",
                                   MackoDeviceVectors() ? "" : " with copies of the vectors", device_bytes));
  if (A != block) PetscCall(MackoHaloView(A, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMackoEncode(Mat A)
{
  Mat blocks[2];
  int count, open = !A->assembled, any; /* a rank that sets values alone knows it alone */
  PetscBool compressed;

  PetscFunctionBegin;
  PetscCall(MackoIsCompressed(A, &compressed));
  if (compressed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Blocks(A, blocks, &count));
  PetscCallMPI(MPI_Allreduce(&open, &any, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)A)));
  PetscCheck(!any, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
             "the matrix is not assembled: call MatAssemblyBegin and MatAssemblyEnd before MatMackoEncode");
  if (count == 2) {
    Mat_Macko *m;
    PetscCall(MackoGet(A, &m));
    m->owner = NULL; /* look at the blocks themselves: one may have been changed behind the matrix's back */
    PetscCall(MackoUpdateMPI(A));
  } else PetscCall(MackoUpdateSeq(A));
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
  PetscCall(MatMackoEncode(A)); /* the answer is what the products will use */
  PetscCall(MatMackoGetInfo(A, &info));
  PetscCall(Blocks(A, blocks, &count));
  for (int i = 0; i < count; i++) PetscCall(ViewBlock(A, blocks[i], count == 1 ? "" : names[i], viewer));
  PetscCall(ViewCounts(A, viewer));
  PetscCall(ViewBackend(A, blocks[0], info.device_bytes, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
