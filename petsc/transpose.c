/* Products with the transpose on a CPU, of sequential matrices and blocks. AIJ's loop for them, and more so those of our forms,
 * take longer than a product, so that a compressed form of the transpose is made once there were enough to pay for it. */
#include "after.h"
#include "transpose.h"

/* This is the compressed form of a transpose, NULL until one was worth it, what it was made from, as Mat_Macko has it of the
   matrix itself, and what it did and cost. */
typedef struct MackoTransposed {
  macko_matrix    *form;
  Mat              owner;
  const void      *data;
  PetscObjectState state, nonzerostate;
  PetscInt         ncols;
  MackoCount       count;   /* of products with the transpose, whoever does them */
  PetscBool        refused; /* by the library, for the pattern and values that count tells of */
  PetscInt64       nnz, made, products;
  PetscLogDouble   seconds;
} MackoTransposed;

void MackoForgetTransposed(Mat_Macko *m)
{
  if (m->transposed) m->transposed->owner = NULL;
}

PetscErrorCode MackoFreeTransposed(Mat_Macko *m)
{
  PetscFunctionBegin;
  if (m->transposed) macko_destroy(&m->transposed->form);
  PetscCall(PetscFree(m->transposed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the form costs in products of AIJ with the transpose: transposing takes some 10 ns an entry, whether the pattern is known or
   not, and encoding some 12 where it comes behind that; the form saves half of such a product and more. (On a Xeon of 2.6 GHz both
   took 35 to 60 products together.) */
static PetscInt64 BreakEven(double nnz, PetscBool renew)
{
  double product = MackoSecondsOfAIJ(nnz), transpose = 2e-5 + 1e-8 * nnz;
  double encode  = renew ? 2 * product : 5e-5 + 1.2e-8 * nnz;

  return (PetscInt64)((transpose + encode) / (product * 0.5));
}

/* Whether t was made of A's pattern, and of its values as well. */
static PetscBool OfPattern(Mat A, const MackoTransposed *t)
{
  return (PetscBool)(t->form && t->owner == A && t->data == A->data && t->nonzerostate == t->count.nonzerostate &&
                     t->ncols == A->cmap->n);
}

static PetscBool OfValues(Mat A, const MackoTransposed *t)
{
  return (PetscBool)(OfPattern(A, t) && t->state == t->count.state);
}

/* Sets after how many products the form is made: as many as -mat_macko_after says, or as pay for it. */
static PetscErrorCode Decide(Mat A, const Mat_Macko *m, MackoTransposed *t)
{
  MackoCount *count = &t->count;
  MatInfo     info;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  count->renewal = BreakEven(info.nz_used, PETSC_TRUE);
  if (m->after != MACKO_AFTER_AUTO) count->worth = m->after;
  else if (OfPattern(A, t)) count->worth = MackoWorth(count, count->renewal, 0);
  else count->worth = MackoWorth(count, BreakEven(info.nz_used, PETSC_FALSE), count->lost);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Notices that A has changed, counts a product, and says whether it is done without the form. */
static PetscErrorCode Waits(Mat A, const Mat_Macko *m, MackoTransposed *t, PetscBool *waits)
{
  PetscBool changed;

  PetscFunctionBegin;
  PetscCall(MackoNoticeChange(A, &t->count, &changed));
  if (changed) {
    PetscCall(Decide(A, m, t));
    t->refused = PETSC_FALSE;
  }
  *waits = (PetscBool)(!OfValues(A, t) && (t->refused || t->count.products < t->count.worth));
  t->count.products++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Writes rows, those of the transpose, into t->form: as new values where that is known to have their pattern, which the library
   proves, else it is encoded. A failure leaves the form as it was. */
static macko_status Write(const Mat_Macko *m, MackoTransposed *t, const MackoRows *rows, PetscBool renew)
{
  macko_options options = m->options;
  macko_matrix *fresh   = NULL;
  macko_status  status  = MACKO_INVALID_MATRIX;
  macko_error   why; /* what a product without the form may say again */

  options.target = MACKO_TARGET_CPU;
  if (renew) status = macko_refresh(t->form, &rows->csr, &why);
  if (status != MACKO_INVALID_MATRIX) return status;
  status = macko_encode(&rows->csr, &options, &fresh, &why);
  if (status) return status;
  macko_destroy(&t->form);
  t->form = fresh;
  return MACKO_OK;
}

/* Makes the form of A's present values, or notes that the library refuses to, which costs nothing but speed. What is made of A in
   between, its transpose as AIJ, is gone afterwards. The time is taken out of the product's log event. */
static PetscErrorCode Renew(Mat A, Mat_Macko *m, MackoTransposed *t)
{
  const PetscBool renew = OfPattern(A, t);
  PetscLogEvent   event = renew ? MACKO_Refresh : MACKO_Encode;
  PetscLogDouble  start, end;
  macko_status    status;
  MackoRows       rows;
  Mat             transpose;

  PetscFunctionBegin;
  PetscCall(MackoKeepComposed(A)); /* from here on a change that goes unnoticed would count */
  PetscCall(PetscLogEventBegin(event, 0, 0, 0, 0));
  PetscCall(PetscTime(&start));
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &transpose));
  PetscCall(MackoOpenRows(transpose, PETSC_FALSE, &rows));
  status = Write(m, t, &rows, renew);
  PetscCall(MackoCloseRows(transpose, &rows));
  PetscCall(MatDestroy(&transpose));
  PetscCall(PetscTime(&end));
  PetscCall(PetscLogEventEnd(event, 0, 0, 0, 0));
  PetscCall(MackoLogOutsideProduct(end - start));
  t->seconds += end - start;
  t->refused = (PetscBool)(status != MACKO_OK);
  if (status) PetscFunctionReturn(PETSC_SUCCESS);
  t->made++, t->nnz = rows.nnz;
  t->owner = A, t->data = A->data, t->ncols = A->cmap->n;
  t->state = t->count.state, t->nonzerostate = t->count.nonzerostate;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z = A' x + beta z with the form */
static PetscErrorCode Multiply(Mat A, MackoTransposed *t, Vec x, PetscScalar beta, Vec z)
{
  MackoVectors v;
  macko_status status;
  macko_error  err;

  PetscFunctionBegin;
  PetscCall(MackoOpenVectors(A, x, beta, z, &v));
  PetscCall(PetscLogEventBegin(MACKO_Mult, A, 0, 0, 0));
  status = macko_multiply(t->form, MACKO_OP_N, MACKO_F64, 1, 1, v.x.data, v.x.ld, beta, v.y.data, v.y.ld, &err);
  PetscCall(PetscLogEventEnd(MACKO_Mult, A, 0, 0, 0));
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)t->nnz));
  PetscCall(MackoCloseVectors(x, z, &v));
  PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
  t->products++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoMultTransposed(Mat A, Vec x, Vec y, Vec z, PetscBool *done)
{
  Mat_Macko       *m = MackoOf(A);
  MackoTransposed *t;
  PetscBool        waits = PETSC_TRUE;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (!m || !m->kind) PetscFunctionReturn(PETSC_SUCCESS); /* A has been its own factor */
  PetscCall(MackoReadOptions(A, NULL));
  if (m->kind->device || MackoDeviceAllowed(A, NULL) || m->backend == MACKO_BACKEND_CUDA ||
      m->options.prefer == MACKO_PREFER_MEMORY)
    PetscFunctionReturn(PETSC_SUCCESS);
  if (!m->transposed) PetscCall(PetscNew(&m->transposed));
  t = m->transposed;
  PetscCall(Waits(A, m, t, &waits));
  if (!waits && !OfValues(A, t)) PetscCall(Renew(A, m, t));
  if (!OfValues(A, t)) PetscFunctionReturn(PETSC_SUCCESS);
  if (y) PetscCall(VecCopy(y, z));
  PetscCall(Multiply(A, t, x, y ? 1 : 0, z));
  *done = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ranks may differ in whether they have forms, so that these are summed up. */
PetscErrorCode MackoViewTransposed(Mat A, Mat blocks[2], int count, PetscViewer viewer)
{
  double      mine[5] = {0}, all[5];
  macko_info  info;
  char        text[192] = "";
  PetscMPIInt size;

  PetscFunctionBegin;
  for (int i = 0; i < count; i++) {
    const MackoTransposed *t = blocks[i] && MackoOf(blocks[i]) ? MackoOf(blocks[i])->transposed : NULL;
    if (!t || !t->form) continue;
    macko_get_info(t->form, &info);
    MackoDescribe(&info, text, sizeof text);
    mine[0]++, mine[1] += (double)info.bytes, mine[2] += (double)t->made, mine[3] += (double)t->products, mine[4] += t->seconds;
  }
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCallMPI(MPI_Allreduce(mine, all, 5, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)A)));
  if (all[0] == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (count == 1) PetscCall(PetscViewerASCIIPrintf(viewer, "transpose: %s\n", text));
  else PetscCall(PetscViewerASCIIPrintf(viewer, "transposes of %.0f blocks of %d ranks\n", all[0], (int)size));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  bytes %.0f, made %.0f times in %.3g s, products with the transpose %.0f\n", all[1],
                                   all[2], all[4], all[3]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
