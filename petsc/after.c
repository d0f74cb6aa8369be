/* When the compressed form is made: after so many products with the same values as pay for it; those before are done by the type
 * that ours stands on, which has its arrays anyway. */
#include "after.h"

enum { PAYS_AT_ONCE = 32 << 20 }; /* entries */

/* This is what the decision goes by: entries and rows of a rank, and the share of rows that are as long as the next. */
typedef struct {
  double nnz, rows, alike;
} Size;

/* Most rows are as long as the next in grids; half of them and more in blocks of two unknowns and more on any mesh. */
static const double even_rows = 0.75, rows_of_blocks = 0.4;

/* What compressing or renewing a matrix costs in products of AIJCUSPARSE: whoever has multiplied so often will probably go on.
   Large matrices of even rows, most of them grids, are compressed at once: that pays after some 20 products, and solvers do more.
   Where rows differ in length they have less in common, so that half as much of their bytes is gained with blocks, and a quarter
   without. A product of any size takes 4 to 5 us less, as ours is one kernel that is told little: the coarse levels of multigrid
   gain nothing else. 3 us are counted, as a host that runs ahead of the GPU waits for less. Renewing grids takes longer, as what
   their rows have in common is looked for in the new values. The first encoding of a process waits for CUDA, which loads each
   kernel at its first use. Seconds on an H200, fitted to the levels of GAMG on five grids and meshes; other GPUs differ in both
   alike. */
static PetscInt64 BreakEven(Size size, PetscBool renew, PetscBool first)
{
  PetscBool is_even = (PetscBool)(size.alike >= even_rows);
  double    refresh = 8e-5 + (is_even ? 4e-11 : 1.2e-11) * size.nnz + (is_even ? 3e-10 : 1e-10) * size.rows;
  double    encode = 1e-3 + 5e-11 * size.nnz + 2.5e-10 * size.rows, cost = (renew ? refresh : encode) + (first ? 4e-3 : 0);
  double    gain = 3e-6 + 3.4e-12 * size.nnz * (is_even ? 1 : size.alike >= rows_of_blocks ? 0.5 : 0.25);
  return is_even && size.nnz >= PAYS_AT_ONCE ? 0 : (PetscInt64)(cost / gain);
}

double MackoSecondsOfAIJ(double nnz)
{
  return 1e-7 + 4.5e-10 * nnz;
}

/* The same on a CPU, in products of AIJ: planning and encoding take some 2.5 ns an entry and 50 us (Zen 4); within a cache three
   tenths of a product are gained, beyond it half. New values are written in about the time of two products. */
static PetscInt64 BreakEvenOnCPU(double nnz, PetscBool renew)
{
  enum { CACHED = 2 << 20 }; /* entries */
  double product = MackoSecondsOfAIJ(nnz), cost = renew ? 5e-6 + 2 * product : 5e-5 + 2.5e-9 * nnz;
  return (PetscInt64)(cost / (product * (nnz < CACHED ? 0.3 : 0.5)));
}

/* The rows of A are told by a sample of them. */
static PetscErrorCode Look(Mat A, Size *size)
{
  enum { SAMPLE = 256 };
  const PetscInt *ia, *ja;
  PetscInt        n, alike = 0, looked = 0;
  PetscBool       done;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
  for (PetscInt i = 0; i + 2 <= n; i += 1 + n / SAMPLE, looked++) alike += ia[i + 2] - ia[i + 1] == ia[i + 1] - ia[i];
  *size = (Size){(double)ia[n], (double)n, looked ? (double)alike / (double)looked : 1};
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The products since the values changed are those of the values before. Those that each of the earlier values of this pattern had
   beyond what renewing them would have cost have been lost by not having been encoded. */
PetscErrorCode MackoNoticeChange(Mat A, MackoCount *count, PetscBool *changed)
{
  PetscObjectState state, nonzerostate;
  PetscBool        same_pattern;

  PetscFunctionBegin;
  PetscCall(MackoCurrentState(A, &state, &nonzerostate));
  same_pattern = (PetscBool)(count->owner == A && count->nonzerostate == nonzerostate);
  *changed     = (PetscBool)(!same_pattern || count->state != state);
  if (!*changed) PetscFunctionReturn(PETSC_SUCCESS);
  count->lost   = same_pattern ? count->lost + PetscMax(0, count->products - count->renewal) : 0;
  count->before = count->products, count->products = 0;
  count->owner = A, count->state = state, count->nonzerostate = nonzerostate;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscInt64 MackoWorth(const MackoCount *count, PetscInt64 cost, PetscInt64 lost)
{
  return count->before >= cost ? 0 : PetscMax(0, cost - lost);
}

/* Whether the question is open: what is asked for is compressed at once. */
static PetscBool Automatic(const Mat_Macko *m)
{
  return (PetscBool)(m->after == MACKO_AFTER_AUTO && m->backend != MACKO_BACKEND_CUDA && MackoDefaults(&m->options));
}

/* Where the products of a matrix run: on GPUs, on CPUs, or on both. */
typedef enum { ON_GPU, ON_CPU, MIXED } place;

/* As often as the values before were multiplied the present ones are expected to be. Where the vectors are on a GPU and the type
   below multiplies on the CPU it does no product. */
static void Decide(Mat_Macko *m, Size size, PetscBool first, place where)
{
  PetscBool  renew = (PetscBool)(m->compressed || m->device || m->encodes);
  PetscInt64 encode = 0, cost, lost = renew ? 0 : m->count.lost;

  m->count.worth = m->after;
  if (m->after != MACKO_AFTER_AUTO) return;
  m->count.renewal = 0;
  if (Automatic(m) && m->kind->device && where == ON_GPU)
    encode = BreakEven(size, PETSC_FALSE, first), m->count.renewal = BreakEven(size, PETSC_TRUE, (PetscBool)(renew && first));
  if (Automatic(m) && !m->kind->device && where == ON_CPU)
    encode = BreakEvenOnCPU(size.nnz, PETSC_FALSE), m->count.renewal = BreakEvenOnCPU(size.nnz, PETSC_TRUE);
  cost     = renew ? m->count.renewal : encode;
  m->count.worth = MackoWorth(&m->count, cost, lost);
}

static PetscErrorCode DecideSeq(Mat A, Mat_Macko *m)
{
  Size      size = {0, 0, 0};
  PetscBool changed;

  PetscFunctionBegin;
  PetscCall(MackoReadOptions(A, NULL));
  PetscCall(MackoNoticeChange(A, &m->count, &changed));
  if (!changed) PetscFunctionReturn(PETSC_SUCCESS);
  m->gain_known = PETSC_FALSE;
  if (Automatic(m)) PetscCall(Look(A, &size));
  Decide(m, size, MackoDeviceLoads(), MackoDeviceAllowed(A, NULL) ? ON_GPU : ON_CPU);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* m is what A remembers, or NULL where A is not ours. */
static PetscErrorCode WouldWait(Mat A, Mat_Macko *m, PetscBool *waits)
{
  PetscBool fresh;

  PetscFunctionBegin;
  *waits = PETSC_TRUE;
  if (!m || !m->kind) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoIsFresh(A, &fresh));
  PetscCall(DecideSeq(A, m));
  *waits = (PetscBool)(!fresh && (m->held || m->count.products < m->count.worth));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoWouldWait(Mat A, PetscBool *waits)
{
  PetscFunctionBegin;
  PetscCall(WouldWait(A, MackoOf(A), waits));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoWaits(Mat A, PetscInt count, PetscBool *waits)
{
  Mat_Macko *m = MackoOf(A);

  PetscFunctionBegin;
  PetscCall(WouldWait(A, m, waits));
  if (!m) PetscFunctionReturn(PETSC_SUCCESS);
  m->count.products += count;
  m->products_below += *waits ? count : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- parallel matrices: one decision for both blocks of all ranks ---- */

static PetscErrorCode DecideMPI(Mat A, Mat_Macko *m, PetscBool *changed)
{
  /* These are the most entries and the most rows of a rank, the largest share of rows unlike the next, and whether a rank may not
     use a GPU, may use one, loads. */
  double    mine[6], all[6] = {0};
  Size      size;
  Mat       own;

  PetscFunctionBegin;
  PetscCall(MackoReadOptions(A, NULL));
  PetscCall(MackoNoticeChange(A, &m->count, changed)); /* on all ranks together */
  if (!*changed) PetscFunctionReturn(PETSC_SUCCESS);
  m->gain_known = PETSC_FALSE;
  if (Automatic(m)) {
    PetscCall(MatMPIAIJGetSeqAIJ(A, &own, NULL, NULL));
    PetscCall(Look(own, &size));
    mine[0] = size.nnz, mine[1] = size.rows, mine[2] = 1 - size.alike;
    mine[3] = !MackoDeviceAllowed(A, NULL), mine[4] = !mine[3], mine[5] = MackoDeviceLoads();
    PetscCallMPI(MPI_Allreduce(mine, all, 6, MPI_DOUBLE, MPI_MAX, PetscObjectComm((PetscObject)A)));
  }
  size = (Size){all[0], all[1], 1 - all[2]};
  Decide(m, size, (PetscBool)(all[5] != 0), all[3] && all[4] ? MIXED : all[3] ? ON_CPU : ON_GPU);
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

/* Whether the blocks were encoded with the values that are counted, which are the present ones once it is decided. */
static PetscBool EncodedMPI(Mat A, const Mat_Macko *m)
{
  return (PetscBool)(MackoOwns(m, A) && m->state == m->count.state && m->nonzerostate == m->count.nonzerostate);
}

/* Blocks that were told to wait do until they are brought up to date; only a change can bring others. */
PetscErrorCode MackoWaitsMPI(Mat A, PetscBool *waits)
{
  Mat_Macko *m;
  PetscBool  changed;

  PetscFunctionBegin;
  PetscCall(MackoGet(A, &m));
  PetscCall(DecideMPI(A, m, &changed));
  *waits = (PetscBool)(!EncodedMPI(A, m) && m->count.products < m->count.worth);
  m->count.products++;
  m->products_below += *waits;
  if (*waits && changed) PetscCall(Hold(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- what a view tells ---- */

/* It is decided about a copy: a change of values that nobody but a view has noticed would otherwise count, with no product in
   between, as values that are never multiplied. */
PetscErrorCode MackoProspects(Mat A, MackoProspect *prospect)
{
  Mat_Macko *m = MackoOf(A), copy;
  PetscBool  changed;

  PetscFunctionBegin;
  PetscCall(MackoReadOptions(A, NULL));
  copy = *m;
  if (m->kind == &MackoMPIHost || m->kind == &MackoMPIDevice) {
    PetscCall(DecideMPI(A, &copy, &changed));
    prospect->fresh = EncodedMPI(A, &copy);
  } else {
    PetscCall(DecideSeq(A, &copy));
    PetscCall(MackoIsFresh(A, &prospect->fresh));
  }
  prospect->products = copy.count.products, prospect->worth = copy.count.worth;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the products of the type below ---- */

PetscErrorCode MackoMayUseBase(Mat A, PetscBool *base)
{
  Mat_Macko *m;

  PetscFunctionBegin;
  PetscCall(MackoGet(A, &m));
  PetscCall(MackoReadOptions(A, NULL));
  *base = (PetscBool)(Automatic(m) && !MackoDeviceAllowed(A, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a form of A, sequential, is not much faster than csr for one vector: the one that there is or, where there is none, the
   one that would be made, which is predicted once for the values that A has. Where that fails encoding says why. */
static PetscErrorCode GainsLittle(Mat A, Mat_Macko *m, PetscBool *little)
{
  const double  least_gain = 0.7; /* of csr's time for one column */
  macko_options options    = m->options;
  macko_status  status     = MACKO_OK;
  macko_info    info       = {0};
  MackoRows     rows;
  PetscBool     fresh;

  PetscFunctionBegin;
  PetscCall(MackoIsFresh(A, &fresh));
  if (fresh) fresh = MackoInfo(m, &info);
  else if (!m->gain_known) {
    options.target = MACKO_TARGET_CPU;
    PetscCall(MackoOpenRows(A, PETSC_FALSE, &rows));
    status = macko_predict(&rows.csr, &options, &info, NULL);
    PetscCall(MackoCloseRows(A, &rows));
  }
  if (fresh || !m->gain_known) m->gains_little = (PetscBool)(!status && info.seconds > least_gain * info.csr_seconds);
  m->gain_known = PETSC_TRUE;
  *little       = m->gains_little;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nothing is encoded before it is known that ours is the faster one. The type below does three columns and more together, and two
   of short rows faster than ours does with the bits of one. */
PetscErrorCode MackoDenseByBase(Mat A, PetscInt columns, PetscBool *base)
{
  enum { MANY = 3, SHORT = 12 }; /* columns, and entries a row */
  Mat_Macko *m;
  MatInfo    info;

  PetscFunctionBegin;
  PetscCall(MackoWaits(A, columns, base));
  if (*base) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoGet(A, &m));
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  if (columns >= MANY || (columns == 2 && info.nz_used < SHORT * (double)A->rmap->n)) PetscCall(GainsLittle(A, m, base));
  if (!*base) PetscCall(MackoUpdateSeq(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
