/* What is stored, why, and what it costs, for people: -mat_view ::ascii_info. */
#include "after.h"
#include "compressed/compressed.h"
#include "transpose.h"

#include <stdio.h>
#include <string.h>

/* Writes the smallest and the largest value over the ranks as "a/b", or as "a" where both read the same in the given format. One
   reduction finds both, as the largest of the value and of its negative. Collective. */
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

/* What a format has none of is left out. */
void MackoDescribe(const macko_info *info, char *text, size_t room)
{
  char layout[32] = "", gaps[32] = "", variant[32] = "";

  if (info->layout != MACKO_LAYOUT_AUTO) snprintf(layout, sizeof layout, ", layout %s", macko_layout_name(info->layout));
  if (info->gap_bits) snprintf(gaps, sizeof gaps, ", %d bits a gap", info->gap_bits);
  if (info->variant) snprintf(variant, sizeof variant, ", variant %s", macko_variant_name(info->variant));
  snprintf(text, room, "format %s%s%s%s, values %s as %s%s", macko_format_name(info->format), layout, gaps, variant,
           macko_values_name(info->values), macko_type_name(info->stored_type), info->lossy ? ", LOSSY" : "");
}

/* Prints what ranks have in common; MackoCountRanks calls it once for each different text. The count is left out on one rank. */
static PetscErrorCode SayDescription(void *context, const char *text, int ranks)
{
  const MackoViewLine *line      = (const MackoViewLine *)context;
  char                 count[48] = "";

  PetscFunctionBegin;
  if (line->size > 1) snprintf(count, sizeof count, " (%d of %d ranks)", ranks, line->size);
  PetscCall(PetscViewerASCIIPrintf(line->viewer, "%s%s%s\n", line->name, text, count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints the bytes of all ranks together and, on several, the range from the rank with fewest to that with most. Collective. */
static PetscErrorCode ViewBytes(MPI_Comm comm, const macko_info *info, const MackoViewLine *line)
{
  PetscInt64 mine[3] = {info->bytes, info->csr_bytes, info->nnz}, all[3];
  char       range[80], each[96] = "";

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(mine, all, 3, MPIU_INT64, MPI_SUM, comm));
  PetscCall(Range(comm, (double)info->bytes, "%.0f", range, sizeof range));
  if (line->size > 1) snprintf(each, sizeof each, " (a rank %s)", range);
  PetscCall(PetscViewerASCIIPrintf(line->viewer, "%s  bytes %" PetscInt64_FMT "%s, a nonzero %.2f, CSR/this %.2f\n", line->name,
                                   all[0], each, all[2] ? (double)all[0] / (double)all[2] : 0,
                                   all[0] ? (double)all[1] / (double)all[0] : 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints what a product was predicted to take here and with csr, in microseconds, and behind it what was measured. A prediction of
   0 means that there is none. Collective. */
static PetscErrorCode ViewTimes(MPI_Comm comm, const macko_info *info, const char *measured, const MackoViewLine *line)
{
  char predicted[80], csr[80];

  PetscFunctionBegin;
  PetscCall(Range(comm, 1e6 * info->seconds, "%.3g", predicted, sizeof predicted));
  PetscCall(Range(comm, 1e6 * info->csr_seconds, "%.3g", csr, sizeof csr));
  /* There is no unit where there is no number. */
  if (strcmp(predicted, "0")) strcat(predicted, " us");
  else snprintf(predicted, sizeof predicted, "unknown");
  PetscCall(PetscViewerASCIIPrintf(line->viewer, "%s  a product: predicted %s, csr %s us%s\n", line->name, predicted, csr,
                                   measured));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products on a GPU are none of those that are measured. */
PetscErrorCode MackoViewProducts(MPI_Comm comm, const macko_info *info, PetscInt64 products, double seconds,
                                 const MackoViewLine *line)
{
  char mean[80], count[80], measured[200] = "; none measured (those of one vector on a CPU are)";

  PetscFunctionBegin;
  PetscCall(Range(comm, 1e6 * seconds, "%.3g", mean, sizeof mean));
  PetscCall(Range(comm, (double)products, "%.0f", count, sizeof count));
  if (strcmp(count, "0")) snprintf(measured, sizeof measured, "; measured %s us, mean of %s products", mean, count);
  PetscCall(ViewTimes(comm, info, measured, line));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The reason is the first rank's. */
PetscErrorCode MackoViewStored(MPI_Comm comm, const char *text, const macko_info *info, MackoViewLine *line)
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &line->size));
  PetscCall(MackoCountRanks(comm, text, SayDescription, line));
  PetscCall(PetscViewerASCIIPrintf(line->viewer, "%s  because: %s\n", line->name, info->reason));
  PetscCall(ViewBytes(comm, info, line));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints what each rank stores of one kind of block of A, and what its products cost. Collective. */
static PetscErrorCode ViewBlock(Mat A, Mat block, const char *name, PetscViewer viewer)
{
  MPI_Comm         comm = PetscObjectComm((PetscObject)A);
  const Mat_Macko *m    = MackoOf(block);
  macko_info       info;
  char             text[192];
  MackoViewLine    line = {viewer, name, 1};

  PetscFunctionBegin;
  (void)MackoBlockInfo(block, &info);
  MackoDescribe(&info, text, sizeof text);
  PetscCall(MackoViewStored(comm, text, &info, &line));
  PetscCall(MackoViewProducts(comm, &info, m->multiplied, MackoProductSeconds(m), &line));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same of one that is not: what encoding would choose with A's options. Where it would fail the sentence says so, since a view
   is no place for the error of an encoding that may never come. Collective. */
static PetscErrorCode ViewForeseen(Mat A, Mat block, const char *name, PetscViewer viewer)
{
  const Mat_Macko *m       = MackoOf(A);
  MPI_Comm         comm    = PetscObjectComm((PetscObject)A);
  macko_options    options = m->options;
  macko_info       info    = {0};
  macko_error      err;
  MackoRows        rows;
  PetscBool        fails;
  char             text[192];
  MackoViewLine    line = {viewer, name, 1};

  PetscFunctionBegin;
  options.target = MackoWantsDevice(A, m) ? MACKO_TARGET_GPU : MACKO_TARGET_CPU;
  PetscCall(MackoOpenRows(block, PETSC_FALSE, &rows));
  macko_status status = macko_predict(&rows.csr, &options, &info, &err);
  PetscCall(MackoCloseRows(block, &rows));
  PetscCall(MackoOnAny(A, status, &fails));
  if (fails) PetscCall(PetscViewerASCIIPrintf(viewer, "%snothing: %s\n", name, status ? err.text : "another rank cannot encode"));
  if (fails) PetscFunctionReturn(PETSC_SUCCESS);
  MackoDescribe(&info, text, sizeof text);
  PetscCall(MackoViewStored(comm, text, &info, &line));
  PetscCall(ViewTimes(comm, &info, "", &line));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Says what encoding pays in where products are not predicted to be faster than with csr: that may be what is stored. */
static const char *WithoutGain(const MatMackoInfo *info)
{
  if (info->bytes < info->csr_bytes) return "products are not faster than with csr: encoding pays in bytes only";
  if (!strcmp(info->format, "csr")) return "stored as csr itself: encoding had nothing to pay for";
  return "products are not faster than with csr, nor are bytes fewer: encoding does not pay";
}

/* Seconds are those of the fastest and the slowest rank. */
PetscErrorCode MackoViewEffort(MPI_Comm comm, const MackoEffort *effort, const MatMackoInfo *info, PetscViewer viewer)
{
  char encodes[80], refreshes[80], encode_seconds[80], refresh_seconds[80];

  PetscFunctionBegin;
  PetscCall(Range(comm, (double)effort->encodes, "%.0f", encodes, sizeof encodes));
  PetscCall(Range(comm, (double)effort->refreshes, "%.0f", refreshes, sizeof refreshes));
  PetscCall(Range(comm, effort->encode_seconds, "%.3g", encode_seconds, sizeof encode_seconds));
  PetscCall(Range(comm, effort->refresh_seconds, "%.3g", refresh_seconds, sizeof refresh_seconds));
  PetscCall(PetscViewerASCIIPrintf(viewer, "encoded %s times in %s s, values refreshed %s times in %s s\n", encodes,
                                   encode_seconds, refreshes, refresh_seconds));
  if (info->break_even >= 0)
    PetscCall(PetscViewerASCIIPrintf(viewer, "encoding pays after %" PetscInt64_FMT " products, against csr\n", info->break_even));
  else PetscCall(PetscViewerASCIIPrintf(viewer, "%s\n", WithoutGain(info)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints what products with the present values use until these are encoded, and when that is to come. All of it is the same on all
   ranks. A block of a parallel matrix waits for that. */
static PetscErrorCode ViewWait(Mat A, const MackoProspect *prospect, const char *what, PetscViewer viewer)
{
  const Mat_Macko *m        = MackoOf(A);
  char             when[64] = "the next product encodes";

  PetscFunctionBegin;
  if (m->held) snprintf(when, sizeof when, "the whole matrix is encoded first");
  else if (prospect->products < prospect->worth)
    snprintf(when, sizeof when, "encoding comes after %lld", (long long)prospect->worth);
  PetscCall(PetscViewerASCIIPrintf(viewer, "%s: %" PetscInt64_FMT " products by %s with these values; %s (-mat_macko_after)\n",
                                   what, prospect->products, m->kind->base, when));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints what the type below keeps in GPU memory besides the compressed form, if anything. Collective. */
static PetscErrorCode ViewBaseBytes(Mat A, Mat blocks[2], int count, PetscViewer viewer)
{
  PetscInt64 mine = 0, all;

  PetscFunctionBegin;
  for (int i = 0; i < count; i++)
    if (blocks[i]) PetscCall(MackoCusparseAddBytes(blocks[i], &mine));
  PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPIU_INT64, MPI_SUM, PetscObjectComm((PetscObject)A)));
  if (all)
    PetscCall(PetscViewerASCIIPrintf(viewer, "rows, columns and values of %s in GPU memory, too: %" PetscInt64_FMT " bytes\n",
                                     MackoOf(A)->kind->base, all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What cannot be honoured is refused (MackoRefuseWithoutGpu). The rest is told: it asks for what is so without a GPU, or is for other
   matrices of the program, or this one was bound to the CPU. */
PetscErrorCode MackoViewIdle(Mat A, PetscViewer viewer)
{
  const Mat_Macko *m = MackoOf(A);
  int              each;

  PetscFunctionBegin;
  PetscCall(MackoReadRanksPerNode(PetscObjectComm((PetscObject)A), &each));
  const struct {
    int         given;
    const char *name;
  } options[] = {{m && m->halo_path != MACKO_HALO_AUTO, "halo"},
                 {m && m->keep_csr != MACKO_KEEP_AUTO, "keep_csr"},
                 {each > 0, "ranks_per_node"}};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    if (options[i].given)
      PetscCall(PetscViewerASCIIPrintf(viewer, "-mat_macko_%s changes nothing without products on the GPU\n", options[i].name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints where products run, and if not on the GPU of every rank, why. block is this rank's diagonal block, or A itself if A is
   sequential; block tells the reason, since it is what multiplies. How ranks exchange entries is known of what is encoded.
   Collective. */
static PetscErrorCode ViewBackend(Mat A, Mat block, const MatMackoInfo *info, PetscViewer viewer)
{
  const char     *why;
  int             cpu = !MackoDeviceAllowed(block, &why);
  PetscBool       any;
  Mat             off;
  const PetscInt *cols;

  PetscFunctionBegin;
  PetscCall(MackoOnAny(A, cpu, &any));
  if (any) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "products on the CPU: %s\n", cpu ? why : "another rank has no GPU"));
    PetscCall(MackoViewIdle(A, viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "products on the GPU%s, %" PetscInt64_FMT " bytes there\n",
                                   MackoDeviceVectors() ? "" : " with copies of the vectors", info->device_bytes));
  if (A == block || !info->encoded) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, &off, &cols));
  PetscCall(MackoHaloView(A, off->cmap->n, cols, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of type macko is encoded from the start, so nothing is to be done. The look whether A is assembled is made on all
   ranks together, since a rank that has set values since is the only one to know. */
PetscErrorCode MatMackoEncode(Mat A)
{
  Mat blocks[2];
  int       count;
  PetscBool compressed, any;

  PetscFunctionBegin;
  PetscCall(MackoIsCompressed(A, &compressed));
  if (compressed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoBlocks(A, blocks, &count));
  PetscCall(MackoOnAny(A, !A->assembled, &any)); /* only a rank that has set values since knows that it has */
  PetscCheck(!any, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
             "the matrix is not assembled: call MatAssemblyBegin and MatAssemblyEnd before MatMackoEncode");
  if (count == 2) {
    Mat_Macko *m;
    PetscCall(MackoGet(A, &m));
    /* Without an owner the blocks themselves are looked at: one may have been changed behind the matrix's back. */
    m->owner = NULL;
    PetscCall(MackoUpdateMPI(A));
  } else PetscCall(MackoUpdateSeq(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each line begins with the kind of block where there are several. */
static const char *const names[] = {"diagonal block: ", "off-diagonal block: "};

/* Prints what is stored, which may be of values that A had before, and what it cost. Collective. */
static PetscErrorCode ViewEncoded(Mat A, Mat blocks[2], int count, const MatMackoInfo *info, PetscViewer viewer)
{
  const Mat_Macko  *m      = MackoOf(A);
  const MackoEffort effort = {m->encodes, m->refreshes, m->encode_seconds, m->refresh_seconds};

  PetscFunctionBegin;
  for (int i = 0; i < count; i++) PetscCall(ViewBlock(A, blocks[i], count == 1 ? "" : names[i], viewer));
  PetscCall(MackoViewEffort(PetscObjectComm((PetscObject)A), &effort, info, viewer));
  if (m->products_below) /* the count is the same on all ranks */
    PetscCall(PetscViewerASCIIPrintf(viewer, "%" PetscInt64_FMT " products by %s instead (-mat_macko_after)\n", m->products_below,
                                     m->kind->base));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints what would be stored, further in than what is. Collective. */
static PetscErrorCode ViewNotEncoded(Mat A, Mat blocks[2], int count, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "encoding would choose\n"));
  PetscCall(PetscViewerASCIIPushTab(viewer));
  for (int i = 0; i < count; i++) PetscCall(ViewForeseen(A, blocks[i], count == 1 ? "" : names[i], viewer));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Only the two formats of information are ours to answer; what else PETSc views is AIJ's. A factor and a matrix under assembly
   have no form to tell of. A view changes nothing of what products do, so that it encodes nothing either. */
PetscErrorCode MackoView(Mat A, PetscViewer viewer)
{
  Mat               blocks[2];
  int               count;
  MatMackoInfo      info;
  MackoProspect     prospect;
  PetscBool         ascii;
  PetscViewerFormat format;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii || !A->assembled || A->factortype) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (format != PETSC_VIEWER_ASCII_INFO && format != PETSC_VIEWER_ASCII_INFO_DETAIL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoProspects(A, &prospect));
  PetscCall(MatMackoGetInfo(A, &info));
  PetscCall(MackoBlocks(A, blocks, &count));
  if (!info.encoded) PetscCall(ViewWait(A, &prospect, "not encoded yet", viewer));
  else if (!prospect.fresh) PetscCall(ViewWait(A, &prospect, "values have changed since this was encoded", viewer));
  if (info.encoded) PetscCall(ViewEncoded(A, blocks, count, &info, viewer));
  else PetscCall(ViewNotEncoded(A, blocks, count, viewer));
  PetscCall(MackoViewTransposed(A, blocks, count, viewer));
  PetscCall(ViewBackend(A, blocks[0], &info, viewer));
  PetscCall(ViewBaseBytes(A, blocks, count, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
