/* MPIAIJMACKO: AIJ's halo exchange and assembly, with both blocks of a rank made SEQAIJMACKO. */
#include "halo.h"

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
    if (m->options_read) MackoSetOptions(block, &m->options);
    block->backend = m->backend, block->after = m->after, block->keep_csr = m->keep_csr;
    PetscCall(MackoChooseVectors(blocks[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both blocks are brought up to date before the ranks agree, with one reduction, whether all went well. The matrix's own counters
   go up by one however many of its blocks were encoded or refreshed; times are added up. */
PetscErrorCode MackoUpdateMPI(Mat A)
{
  Mat_Macko       *m, *block, before;
  PetscBool        encoded = PETSC_FALSE, refreshed = PETSC_FALSE;
  Mat              blocks[2];
  PetscObjectState state, nonzerostate;
  macko_status     status = MACKO_OK;
  macko_error      err    = {0};

  PetscFunctionBegin;
  PetscCall(MackoGet(A, &m));
  PetscCall(MackoCurrentState(A, &state, &nonzerostate));
  /* These counters move on all ranks together, so all take the same branch. A block that was changed behind the matrix's back is
     noticed by the block's own product. */
  if (MackoOwns(m, A) && m->state == state && m->nonzerostate == nonzerostate) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoReadOptions(A, NULL));
  PetscCall(MackoEnsureBlocks(A));
  PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (int i = 0; i < 2; i++) {
    PetscCall(MackoGet(blocks[i], &block));
    block->held = PETSC_FALSE;
    before = *block;
    if (!status) PetscCall(MackoUpdate(blocks[i], &status, &err));
    encoded   = (PetscBool)(encoded || block->encodes > before.encodes);
    refreshed = (PetscBool)(refreshed || block->refreshes > before.refreshes);
    m->encode_seconds += block->encode_seconds - before.encode_seconds;
    m->refresh_seconds += block->refresh_seconds - before.refresh_seconds;
  }
  /* The sums are kept here, because new off-diagonal entries make AIJ throw that block away, with its counters. */
  m->encodes += encoded;
  m->refreshes += refreshed;
  PetscCall(MackoAgree(PetscObjectComm((PetscObject)A), status, err.text));
  MackoSetOwner(m, A);
  m->state = state, m->nonzerostate = nonzerostate;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- products: AIJ's own, over blocks that are ours ---- */

/* Returns the operations of the type that A, a parallel matrix, stands on. */
static const struct _MatOps *Base(Mat A)
{
  return &MackoOf(A)->kind->does->ops;
}

/* Comes before each product: the blocks are up to date afterwards, or *waits says that so few products were done that the blocks
   do theirs as the type below does. Collective where the matrix changed. */
static PetscErrorCode Prepare(Mat A, PetscBool *waits)
{
  PetscFunctionBegin;
  PetscCall(MackoWaitsMPI(A, waits));
  if (!*waits) PetscCall(MackoUpdateMPI(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Our own exchange is for vectors on GPUs. Otherwise AIJ's product exchanges entries and calls the products of the blocks, which
   are ours. */
static PetscErrorCode MatMult_MPIAIJMacko(Mat A, Vec x, Vec y)
{
  PetscBool waits, done = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(Prepare(A, &waits));
  if (!waits) PetscCall(MackoHaloMult(A, MACKO_OP_N, x, PETSC_FALSE, y, &done));
  if (!done) PetscCall((*Base(A)->mult)(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y goes to z first, because both ways add to a vector in place. */
static PetscErrorCode MatMultAdd_MPIAIJMacko(Mat A, Vec x, Vec y, Vec z)
{
  PetscBool waits, done = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(Prepare(A, &waits));
  if (y != z) PetscCall(VecCopy(y, z));
  if (!waits) PetscCall(MackoHaloMult(A, MACKO_OP_N, x, PETSC_TRUE, z, &done));
  if (!done) PetscCall((*Base(A)->multadd)(A, x, z, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries go the other way here, from the owners of rows to those of columns. */
static PetscErrorCode MatMultTranspose_MPIAIJMacko(Mat A, Vec x, Vec y)
{
  PetscBool waits, done = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(Prepare(A, &waits));
  if (!waits) PetscCall(MackoHaloMult(A, MACKO_OP_T, x, PETSC_FALSE, y, &done));
  if (!done) PetscCall((*Base(A)->multtranspose)(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ's own function takes y and z as they are, so that nothing is copied before it. */
static PetscErrorCode MatMultTransposeAdd_MPIAIJMacko(Mat A, Vec x, Vec y, Vec z)
{
  PetscBool waits, done = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(Prepare(A, &waits));
  if (!waits && y != z) PetscCall(VecCopy(y, z));
  if (!waits) PetscCall(MackoHaloMult(A, MACKO_OP_T, x, PETSC_TRUE, z, &done));
  if (!done) PetscCall((*Base(A)->multtransposeadd)(A, x, y, z));
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
