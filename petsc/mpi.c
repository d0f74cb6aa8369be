/* MPIAIJMACKO: AIJ's halo exchange and assembly, with both blocks of a rank made SEQAIJMACKO. */
#include "after.h"
#include "halo.h"
#include "sizes.h"

/* ---- blocks ---- */

/* Converts in place the blocks that are not ours yet, because MatSetType would empty a preallocated one, and hands them the
   options: a preconditioner may use a block before the matrix itself is used. AIJ makes new blocks whenever it is preallocated
   anew or new off-diagonal entries come, so that this is called again after each of these. */
PetscErrorCode MackoEnsureBlocks(Mat A)
{
  Mat        blocks[2];
  Mat_Macko *m = MackoOf(A), *block;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (int i = 0; i < 2; i++) {
    if (!blocks[i]) continue;
    PetscCall(MackoTakeSeq(blocks[i], m->kind->device));
    PetscCall(MackoGet(blocks[i], &block));
    block->is_block = PETSC_TRUE;
    PetscCall(PetscFree(block->whole_prefix));
    PetscCall(PetscStrallocpy(((PetscObject)A)->prefix, &block->whole_prefix));
    if (m->options_read) MackoSetOptions(block, &m->options);
    block->backend = m->backend, block->after = m->after, block->keep_csr = m->keep_csr;
    PetscCall(MackoChooseVectors(blocks[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the updates of a matrix's blocks come to. */
typedef struct {
  PetscBool    encoded, refreshed;
  macko_status status;
  macko_error  err;
} Updates;

/* Brings a block up to date, unless one before has failed. The matrix's own counters go up by one however many of its blocks were
   encoded or refreshed; times are added up. They are kept with the matrix, because new off-diagonal entries make AIJ throw that
   block away, with its counters. A failure names the place in A by the columns that cols lists, or the diagonal block's without it;
   of rows that were gathered out of a block, which are fewer, only their own numbers are known. */
static PetscErrorCode UpdateBlock(Mat A, Mat rows, const PetscInt *cols, Updates *all)
{
  Mat_Macko *m = MackoOf(A), *block, before;

  PetscFunctionBegin;
  PetscCall(MackoGet(rows, &block));
  block->held = PETSC_FALSE;
  if (all->status) PetscFunctionReturn(PETSC_SUCCESS);
  before = *block;
  PetscCall(MackoUpdate(rows, &all->status, &all->err));
  if (all->status && rows->rmap->n == A->rmap->n) MackoPlaceError(A->rmap->rstart, A->cmap->rstart, cols, &all->err);
  all->encoded   = (PetscBool)(all->encoded || block->encodes > before.encodes);
  all->refreshed = (PetscBool)(all->refreshed || block->refreshes > before.refreshes);
  m->encode_seconds += block->encode_seconds - before.encode_seconds;
  m->refresh_seconds += block->refresh_seconds - before.refresh_seconds;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings up to date what products on this rank are expected to multiply with in the place of the off-diagonal block: with vectors
   on the GPU its rows that have entries, where these are few. */
static PetscErrorCode UpdateOff(Mat A, Mat off, const PetscInt *cols, Updates *all)
{
  Mat_Macko *m          = MackoOf(A);
  Mat        multiplies = off;
  PetscBool  on_gpu;

  PetscFunctionBegin;
  MackoOf(off)->held = PETSC_FALSE;
  PetscCall(PetscStrcmp(A->defaultvectype, VECCUDA, &on_gpu));
  if (!all->status && m->kind->device && on_gpu && MackoDeviceAllowed(A, NULL))
    PetscCall(MackoHaloRowsUpdate(off, m, &multiplies, &all->status, &all->err));
  PetscCall(UpdateBlock(A, multiplies, cols, all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All that a product needs is brought up to date before the ranks agree, with one reduction, whether all went well. */
PetscErrorCode MackoUpdateMPI(Mat A)
{
  Mat_Macko       *m;
  Updates          all = {PETSC_FALSE, PETSC_FALSE, MACKO_OK, {0}};
  Mat              own, off;
  const PetscInt  *cols;
  PetscObjectState state, nonzerostate;

  PetscFunctionBegin;
  PetscCall(MackoGet(A, &m));
  PetscCall(MackoCurrentState(A, &state, &nonzerostate));
  /* These counters move on all ranks together, so all take the same branch. A block that was changed behind the matrix's back is
     noticed by the block's own product. */
  if (MackoOwns(m, A) && m->state == state && m->nonzerostate == nonzerostate) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoReadOptions(A, NULL));
  PetscCall(MackoEnsureBlocks(A));
  PetscCall(MatMPIAIJGetSeqAIJ(A, &own, &off, &cols));
  PetscCall(UpdateBlock(A, own, NULL, &all));
  PetscCall(UpdateOff(A, off, cols, &all));
  m->encodes += all.encoded;
  m->refreshes += all.refreshed;
  m->whole = PETSC_FALSE;
  PetscCall(MackoAgree(PetscObjectComm((PetscObject)A), all.status, all.err.text));
  m->whole = (PetscBool)!m->kind->device; /* where off is always what multiplies */
  MackoSetOwner(m, A);
  m->state = state, m->nonzerostate = nonzerostate;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings the off-diagonal block itself up to date, too, for products that take it as it is. Encoding it was worth nothing before:
   in most matrices few of its rows have entries. Collective, and a reduction once for all products between two changes of A. */
static PetscErrorCode UpdateWhole(Mat A)
{
  Mat_Macko      *m   = MackoOf(A);
  Updates         all = {PETSC_FALSE, PETSC_FALSE, MACKO_OK, {0}};
  Mat             off;
  const PetscInt *cols;

  PetscFunctionBegin;
  if (m->whole) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, &off, &cols));
  PetscCall(UpdateBlock(A, off, cols, &all));
  PetscCall(MackoAgree(PetscObjectComm((PetscObject)A), all.status, all.err.text));
  m->whole = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- products: AIJ's own, over blocks that are ours ---- */

/* Returns the operations of the type that A, a parallel matrix, stands on. */
static const struct _MatOps *Base(Mat A)
{
  return &MackoOf(A)->kind->does->ops;
}

/* z = y + op(A) x, without y where that is NULL, with our exchange where that is for these vectors, which are on GPUs. Otherwise
   *done is PETSC_FALSE, and z what y was, since AIJ's product adds in place: it is to exchange entries and call the products of the
   blocks, which are ours and up to date; or so few products were done that the blocks do theirs as the type below does. z is not
   written before the updates are done, which may fail. Collective. */
static PetscErrorCode Multiply(Mat A, macko_op op, Vec x, Vec y, Vec z, PetscBool *done)
{
  PetscBool waits;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  PetscCall(MackoCheckVectors(A, op, x, z));
  PetscCall(MackoWaitsMPI(A, &waits));
  if (!waits) PetscCall(MackoUpdateMPI(A));
  if (!waits) PetscCall(MackoHaloMult(A, op, x, y, z, done));
  if (*done) PetscFunctionReturn(PETSC_SUCCESS);
  if (!waits) PetscCall(UpdateWhole(A));
  if (y) PetscCall(VecCopy(y, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMult_MPIAIJMacko(Mat A, Vec x, Vec y)
{
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(Multiply(A, MACKO_OP_N, x, NULL, y, &done));
  if (!done) PetscCall((*Base(A)->mult)(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultAdd_MPIAIJMacko(Mat A, Vec x, Vec y, Vec z)
{
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(Multiply(A, MACKO_OP_N, x, y, z, &done));
  if (!done) PetscCall((*Base(A)->multadd)(A, x, z, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries go the other way here, from the owners of rows to those of columns. */
static PetscErrorCode MatMultTranspose_MPIAIJMacko(Mat A, Vec x, Vec y)
{
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(Multiply(A, MACKO_OP_T, x, NULL, y, &done));
  if (!done) PetscCall((*Base(A)->multtranspose)(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTransposeAdd_MPIAIJMacko(Mat A, Vec x, Vec y, Vec z)
{
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(Multiply(A, MACKO_OP_T, x, y, z, &done));
  if (!done) PetscCall((*Base(A)->multtransposeadd)(A, x, z, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the rest that differs from AIJ ---- */

/* Where new off-diagonal entries came, AIJ has put a new block in place of the old one. */
static PetscErrorCode MatAssemblyEnd_MPIAIJMacko(Mat A, MatAssemblyType type)
{
  PetscFunctionBegin;
  PetscCall((*Base(A)->assemblyend)(A, type));
  if (type == MAT_FINAL_ASSEMBLY) PetscCall(MackoEnsureBlocks(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Preallocation makes both blocks anew, as plain AIJ. */
static PetscErrorCode MatMPIAIJSetPreallocation_MPIAIJMacko(Mat A, PetscInt d_nz, const PetscInt d_nnz[], PetscInt o_nz,
                                                            const PetscInt o_nnz[])
{
  PetscFunctionBegin;
  PetscCall((*MackoOf(A)->kind->does->setpreallocation)(A, d_nz, d_nnz, o_nz, o_nnz));
  PetscCall(MackoEnsureBlocks(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ's own function forwards this to the blocks and to the vector of the halo. Vectors that A hands out follow. */
static PetscErrorCode MatBindToCPU_MPIAIJMacko(Mat A, PetscBool bind)
{
  PetscFunctionBegin;
  if (Base(A)->bindtocpu) PetscCall((*Base(A)->bindtocpu)(A, bind));
  PetscCall(MackoChooseVectors(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The kind comes from the function that is called, not from the struct: after a header merge PETSc calls this for a matrix that
   has none. */
static PetscErrorCode Destroy(Mat A, const MackoKind *kind)
{
  PetscFunctionBegin;
  PetscCall(MackoFree(A));
  PetscCall(MackoComposeMPI(A, PETSC_FALSE));
  PetscCall((*kind->does->ops.destroy)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each kind has a destroy function of its own, which says by itself what A stands on. */
static PetscErrorCode MatDestroy_MPIAIJMacko(Mat A)
{
  return Destroy(A, &MackoMPIHost);
}

static PetscErrorCode MatDestroy_MPIAIJMacko_Device(Mat A)
{
  return Destroy(A, &MackoMPIDevice);
}

/* ---- to and from the types that ours stands on ---- */

/* A becomes AIJCUSPARSE or AIJ again, with its blocks. The blocks first become what A stood on, as its functions expect them, and
   are converted together with A if another type is wanted. */
static PetscErrorCode Release(Mat A, PetscBool device)
{
  Mat       blocks[2];
  PetscBool stood_on_device = MackoOf(A)->kind->device;

  PetscFunctionBegin;
  PetscCall(MackoComposeMPI(A, PETSC_FALSE));
  PetscCall(MackoRestoreBase(A));
  PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (int i = 0; i < 2; i++)
    if (blocks[i] && MackoOf(blocks[i])) PetscCall(MackoReleaseSeq(blocks[i], stood_on_device));
  PetscCall(MackoCusparseBaseMPI(A, &device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With MAT_REUSE_MATRIX *newmat is of the other type already and has taken A's entries; otherwise a copy of A, or A itself,
   changes type. */
PetscErrorCode MatConvert_MPIAIJMacko_MPIAIJ(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  Mat B = *newmat;

  PetscFunctionBegin;
  (void)type;
  PetscCall(MackoBeginConversion(A, reuse, &B));
  if (reuse != MAT_REUSE_MATRIX) PetscCall(Release(B, PETSC_FALSE));
  *newmat = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This is the same for the other type that A may stand on. */
PetscErrorCode MatConvert_MPIAIJMacko_MPIAIJCUSPARSE(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  Mat B = *newmat;

  PetscFunctionBegin;
  (void)type;
  PetscCall(MackoBeginConversion(A, reuse, &B));
  if (reuse != MAT_REUSE_MATRIX) PetscCall(Release(B, PETSC_TRUE));
  *newmat = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The steps keep an order: hashing ends first, because its end would put AIJ's functions over ours; then A becomes what it is to
   stand on, whose functions are saved before ours replace some; the blocks come last, with the options that A has by then. */
PetscErrorCode MackoTakeMPI(Mat A, PetscBool device)
{
  const MackoKind *kind;

  PetscFunctionBegin;
  PetscCall(MackoEndHashing(A));
  PetscCall(MackoFindBase(&MackoMPIHost, A));
  PetscCall(MackoCusparseBaseMPI(A, &device));
  kind = device ? &MackoMPIDevice : &MackoMPIHost;
  PetscCall(MackoFindBase(kind, A));
  PetscCall(MackoTakeOver(A, kind));
  A->ops->mult             = MatMult_MPIAIJMacko;
  A->ops->multadd          = MatMultAdd_MPIAIJMacko;
  A->ops->multtranspose    = MatMultTranspose_MPIAIJMacko;
  A->ops->multtransposeadd = MatMultTransposeAdd_MPIAIJMacko;
  A->ops->destroy          = device ? MatDestroy_MPIAIJMacko_Device : MatDestroy_MPIAIJMacko;
  A->ops->assemblyend      = MatAssemblyEnd_MPIAIJMacko;
  A->ops->bindtocpu        = MatBindToCPU_MPIAIJMacko;
  MackoWatchParts(A); /* also of one that is older than this plugin */
  PetscCall(MackoComposeMPI(A, PETSC_TRUE));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatMPIAIJSetPreallocation_C", MatMPIAIJSetPreallocation_MPIAIJMacko));
  PetscCall(MackoCusparseSetOperationsMPI(A));
  PetscCall(MackoEnsureBlocks(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc calls this for MatConvert and MatSetType alike. The ranks decide together on what A stands. */
PetscErrorCode MatConvert_MPIAIJ_MPIAIJMacko(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  Mat       B = *newmat;
  PetscBool device;

  PetscFunctionBegin;
  (void)type;
  PetscCall(MackoBeginConversion(A, reuse, &B));
  if (reuse != MAT_REUSE_MATRIX) {
    PetscCall(MackoWantsDeviceBase(B, &device));
    PetscCall(MackoTakeMPI(B, device));
  }
  *newmat = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A new matrix is made as AIJ and converted at once, so that there is one way only of becoming ours. */
PetscErrorCode MatCreate_MPIAIJMacko(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatSetType(A, MATMPIAIJ));
  PetscCall(MatConvert_MPIAIJ_MPIAIJMacko(A, MATMPIAIJMACKO, MAT_INPLACE_MATRIX, &A));
  A->ops->convertfrom = MatConvert_Any_AIJMacko;
  PetscFunctionReturn(PETSC_SUCCESS);
}
