/* When the compressed form is made: after so many products with the same values as pay for it; those before are done by the type
 * that ours stands on, which has its arrays anyway. */
#include "matmacko.h"

/* What compressing or renewing a matrix costs in products of AIJCUSPARSE, halved: who has multiplied so often will probably go on,
   and the sooner the form is there the more it is worth. Seconds on an H200; other GPUs differ in both alike. */
static PetscInt64 BreakEven(double nnz, PetscBool renew)
{
  double cost    = renew ? 8e-4 + 2.5e-11 * nnz : 2e-3 + 9e-11 * nnz;
  double product = 5e-6 + 3.4e-12 * nnz;
  return (PetscInt64)(cost / product / 2);
}

static PetscErrorCode Nonzeros(Mat A, double *nnz)
{
  MatInfo info;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  *nnz = info.nz_used;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The products since the values changed are those of the values before. */
static PetscErrorCode NoticeChange(Mat A, Mat_Macko *m, PetscBool *changed)
{
  PetscObjectState state, nonzerostate;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  PetscCall(MatGetNonzeroState(A, &nonzerostate));
  *changed = (PetscBool)(m->counted_owner != A || m->counted_state != state || m->counted_nonzerostate != nonzerostate);
  if (!*changed) PetscFunctionReturn(PETSC_SUCCESS);
  m->products_before = m->products, m->products = 0;
  m->counted_owner = A, m->counted_state = state, m->counted_nonzerostate = nonzerostate;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the question is open: what is asked for, and what runs on the CPU, is compressed at once. */
static PetscBool Automatic(const Mat_Macko *m)
{
  return (PetscBool)(m->after == MACKO_AFTER_AUTO && m->kind->device && MackoDefaults(&m->options));
}

/* As often as the values before were multiplied the present ones are expected to be. */
static void Decide(Mat_Macko *m, double nnz, PetscBool allowed)
{
  PetscBool renew = (PetscBool)(m->compressed || m->device || m->encodes);

  m->worth = m->after;
  if (m->after != MACKO_AFTER_AUTO) return;
  m->worth = Automatic(m) && allowed ? BreakEven(nnz, renew) : 0;
  if (m->products_before >= m->worth) m->worth = 0;
}

static PetscErrorCode DecideSeq(Mat A, Mat_Macko *m)
{
  double           nnz = 0;
  PetscBool        changed, known = (PetscBool)(m->counted_owner == A);
  PetscObjectState pattern = m->counted_nonzerostate;

  PetscFunctionBegin;
  PetscCall(MackoReadOptions(A, NULL));
  PetscCall(NoticeChange(A, m, &changed));
  if (!changed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Nonzeros(A, &nnz));
  Decide(m, nnz, MackoDeviceAllowed(A, NULL));
  if (m->worth && !(known && pattern == m->counted_nonzerostate)) PetscCall(MackoCountNonemptyRows(A, &m->nonempty_rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoWouldWait(Mat A, PetscBool *waits)
{
  Mat_Macko *m;
  PetscBool  fresh;

  PetscFunctionBegin;
  PetscCall(MackoGet(A, &m));
  PetscCall(MackoIsFresh(A, &fresh));
  PetscCall(DecideSeq(A, m));
  *waits = (PetscBool)(!fresh && (m->held || m->products < m->worth));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoWaits(Mat A, PetscBool *waits)
{
  Mat_Macko *m;

  PetscFunctionBegin;
  PetscCall(MackoWouldWait(A, waits));
  PetscCall(MackoGet(A, &m));
  m->products++;
  m->products_below += *waits;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- parallel matrices: one decision for both blocks of all ranks ---- */

static PetscErrorCode DecideMPI(Mat A, Mat_Macko *m)
{
  double    mine[2], all[2] = {0}; /* the most entries of a rank; whether one may not use a GPU */
  PetscBool changed;

  PetscFunctionBegin;
  PetscCall(MackoReadOptions(A, NULL));
  PetscCall(NoticeChange(A, m, &changed)); /* on all ranks together */
  if (!changed) PetscFunctionReturn(PETSC_SUCCESS);
  if (Automatic(m)) {
    PetscCall(Nonzeros(A, &mine[0]));
    mine[1] = !MackoDeviceAllowed(A, NULL);
    PetscCallMPI(MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_MAX, PetscObjectComm((PetscObject)A)));
  }
  Decide(m, all[0], (PetscBool)!all[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Hold(Mat A)
{
  Mat        blocks[2];
  Mat_Macko *block;

  PetscFunctionBegin;
  PetscCall(MackoEnsureBlocks(A));
  PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (int i = 0; i < 2; i++) {
    if (!blocks[i]) continue;
    PetscCall(MackoGet(blocks[i], &block));
    block->held = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoWaitsMPI(Mat A, PetscBool *waits)
{
  Mat_Macko *m;
  PetscBool  fresh;

  PetscFunctionBegin;
  PetscCall(MackoGet(A, &m));
  PetscCall(DecideMPI(A, m));
  fresh  = (PetscBool)(MackoOwns(m, A) && m->state == m->counted_state && m->nonzerostate == m->counted_nonzerostate);
  *waits = (PetscBool)(!fresh && m->products < m->worth);
  m->products++;
  m->products_below += *waits;
  if (*waits) PetscCall(Hold(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the products before ---- */

PetscErrorCode MackoBaseProduct(Mat A, macko_op op, Vec x, Vec y, Vec z)
{
  const struct _MatOps *host = &MackoSeqHost.does->ops;
  PetscBool             done;

  PetscFunctionBegin;
  if (y && y != z) PetscCall(VecCopy(y, z)); /* AIJCUSPARSE's own adds what was in z before */
  PetscCall(MackoCusparseProductWith(A, op, x, y ? z : NULL, z, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  if (y) PetscCall((*(op == MACKO_OP_N ? host->multadd : host->multtransposeadd))(A, x, z, z));
  else PetscCall((*(op == MACKO_OP_N ? host->mult : host->multtranspose))(A, x, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}
