/* What is stored and what it costs: for programs (MatMackoGetInfo). */
#include "compressed/compressed.h"
#include "halo.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A parallel matrix has its diagonal block first, the off-diagonal one second, or what multiplies in its place. A matrix of another
   type is an error with its name. */
PetscErrorCode MackoBlocks(Mat A, Mat blocks[2], int *count)
{
  PetscBool mpi, seq, fresh = PETSC_TRUE;
  Mat       off;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATMPIAIJMACKO, &mpi));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJMACKO, &seq));
  PetscCheck(mpi || seq, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "the matrix is of type %s, not aijmacko or macko",
             ((PetscObject)A)->type_name);
  *count = mpi ? 2 : 1;
  if (mpi) {
    PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &off, NULL));
    if (off) PetscCall(MackoIsFresh(off, &fresh));
    blocks[1] = off;
    if (!fresh) PetscCall(MackoHaloRowsFind(off, MackoOf(A), &blocks[1]));
  } else blocks[0] = A;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The owner is compared, because after a header merge the struct may describe the arrays of another matrix. */
PetscBool MackoBlockInfo(Mat block, macko_info *info)
{
  const Mat_Macko *m = block ? MackoOf(block) : NULL;
  return (PetscBool)(m && MackoOwns(m, block) && MackoInfo(m, info));
}

/* Products on a GPU are only queued when they return and are not measured. */
double MackoProductSeconds(const Mat_Macko *m)
{
  return m->timed ? m->multiply_seconds / (double)m->timed : 0;
}

/* ---- formats of all ranks ---- */

/* Every rank gets all texts and goes through them alike, so that say may itself be collective. Texts that came before are
   skipped, which takes a comparison of all pairs: cheap beside the communication for the numbers of ranks that there are. */
PetscErrorCode MackoCountRanks(MPI_Comm comm, const char *mine, PetscErrorCode (*say)(void *, const char *, int), void *context)
{
  enum { ROOM = 192 };
  PetscMPIInt size;
  char        own[ROOM] = "", *all;

  PetscFunctionBegin;
  snprintf(own, sizeof own, "%s", mine);
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscMalloc1((size_t)size * ROOM, &all));
  PetscCallMPI(MPI_Allgather(own, ROOM, MPI_CHAR, all, ROOM, MPI_CHAR, comm));
  for (int r = 0; r < size; r++) {
    int before = 0, count = 0;
    for (int q = 0; q < r; q++) before |= !strcmp(all + q * ROOM, all + r * ROOM);
    for (int q = r; q < size; q++) count += !strcmp(all + q * ROOM, all + r * ROOM);
    if (!before) PetscCall((*say)(context, all + r * ROOM, count));
  }
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Appends "FORMATS on N ranks" to the text in context, which is a field of MatMackoInfo and is cut off at its end. */
static PetscErrorCode AppendFormat(void *context, const char *format, int ranks)
{
  char  *text = (char *)context;
  size_t end  = strlen(text), room = sizeof ((MatMackoInfo *)0)->formats;
  PetscFunctionBegin;
  snprintf(text + end, room - end, "%s%s on %d rank%s", end ? ", " : "", format, ranks, ranks > 1 ? "s" : "");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoCountFormats(MPI_Comm comm, const char *mine, MatMackoInfo *info)
{
  PetscFunctionBegin;
  info->formats[0] = 0;
  PetscCall(MackoCountRanks(comm, mine, AppendFormat, info->formats));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- all blocks of a rank together ---- */

/* A rank gathers this of its own blocks, before the ranks put theirs together. */
typedef struct {
  /* These are flags: a block has no compressed form; one is lossy; one may not use a GPU. */
  int        without, lossy, on_cpu;
  PetscInt64 nnz, bytes, csr_bytes, device_bytes; /* these are sums over the blocks */
  /* These are seconds of a product with all blocks, one after another. */
  double     measured, predicted, csr_predicted;
  PetscInt64 products; /* this is the count of the block with fewest */
  /* This names the formats of the blocks in their order, joined by "and". */
  char       formats[64];
  /* These facts of the diagonal block give the names and the reason. */
  macko_info first;
} Sums;

/* Adds block number i, the diagonal one being 0. Where one block has no form the matrix counts as not encoded. */
static void AddBlock(Mat block, int i, Sums *s)
{
  macko_info one;
  if (!MackoBlockInfo(block, &one)) {
    s->without = 1;
    return;
  }
  const Mat_Macko *m = MackoOf(block);
  if (i == 0) s->first = one, s->products = m->multiplied;
  s->lossy |= one.lossy;
  s->on_cpu |= !MackoDeviceAllowed(block, NULL);
  s->nnz += one.nnz, s->bytes += one.bytes, s->csr_bytes += one.csr_bytes, s->device_bytes += MackoDeviceBytes(m);
  s->measured += MackoProductSeconds(m), s->predicted += one.seconds, s->csr_predicted += one.csr_seconds;
  s->products = PetscMin(s->products, m->multiplied);
  snprintf(s->formats + strlen(s->formats), sizeof s->formats - strlen(s->formats), "%s%s", i ? " and " : "",
           macko_format_name(one.format));
}

/* Returns the number of products after which the last encoding has paid for itself, were csr the alternative, or -1 for never.
   Both are compared by what is predicted of them, since csr is not measured, at the pace at which products were measured so far;
   the measured mean stands in where there is no prediction. A matrix that was not encoded here, as one from a file, has paid after
   0 products. */
static PetscInt64 BreakEven(const MatMackoInfo *info)
{
  double own   = info->predicted_seconds > 0 ? info->predicted_seconds : info->product_seconds;
  double pace  = own > 0 && info->product_seconds > 0 ? info->product_seconds / own : 1;
  double gain  = own > 0 ? (info->csr_predicted_seconds - own) * pace : 0;
  double count = gain <= 0 ? -1 : info->encodes ? ceil(info->encode_seconds / (double)info->encodes / gain) : 0;
  return count < 9e18 ? (PetscInt64)count : -1;
}

/* Sums, flags and maxima of all ranks take one reduction for each kind. If a rank has a block without a form all fields stay
   zero, so that ranks do not differ. */
PetscErrorCode MatMackoGetInfo(Mat A, MatMackoInfo *info)
{
  Mat              blocks[2];
  int              count;
  Sums             s    = {0};
  MPI_Comm         comm = PetscObjectComm((PetscObject)A);
  const Mat_Macko *m    = MackoOf(A);
  PetscBool        compressed;

  PetscFunctionBegin;
  PetscCall(MackoIsCompressed(A, &compressed));
  if (compressed) {
    PetscCall(MackoCompressedInfo(A, info));
    info->break_even = BreakEven(info);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MackoBlocks(A, blocks, &count));
  for (int i = 0; i < count; i++) AddBlock(blocks[i], i, &s);
  int        mine[3] = {s.without, s.lossy, s.on_cpu}, any[3];
  PetscInt64 sums[4] = {s.nnz, s.bytes, s.csr_bytes, s.device_bytes}, total[4];
  PetscInt64 counts[3] = {m ? m->encodes : 0, m ? m->refreshes : 0, s.products}, most[3];
  double     seconds[5] = {m ? m->encode_seconds : 0, m ? m->refresh_seconds : 0, s.measured, s.predicted, s.csr_predicted},
             slowest[5];
  PetscCallMPI(MPI_Allreduce(mine, any, 3, MPI_INT, MPI_MAX, comm));
  PetscCallMPI(MPI_Allreduce(sums, total, 4, MPIU_INT64, MPI_SUM, comm));
  PetscCallMPI(MPI_Allreduce(counts, most, 3, MPIU_INT64, MPI_MAX, comm));
  PetscCallMPI(MPI_Allreduce(seconds, slowest, 5, MPI_DOUBLE, MPI_MAX, comm));
  PetscCall(PetscMemzero(info, sizeof *info));
  if (any[0]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoCountFormats(comm, s.formats, info));
  info->encoded = PETSC_TRUE;
  info->format = macko_format_name(s.first.format), info->layout = macko_layout_name(s.first.layout);
  info->variant = macko_variant_name(s.first.variant), info->gap_bits = s.first.gap_bits;
  info->values = macko_values_name(s.first.values), info->reason = s.first.reason;
  info->lossy = (PetscBool)any[1];
  info->nnz = total[0], info->bytes = total[1], info->csr_bytes = total[2];
  info->encodes = most[0], info->refreshes = most[1], info->products = most[2];
  info->encode_seconds = slowest[0], info->refresh_seconds = slowest[1];
  info->product_seconds = slowest[2], info->predicted_seconds = slowest[3], info->csr_predicted_seconds = slowest[4];
  info->break_even = BreakEven(info);
  info->on_device = (PetscBool)!any[2], info->device_bytes = total[3];
  PetscFunctionReturn(PETSC_SUCCESS);
}
