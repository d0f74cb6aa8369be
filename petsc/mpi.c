/* MPIAIJMACKO: AIJ's halo exchange and assembly, with both blocks of a rank made SEQAIJMACKO. */
#include "matmacko.h"

/* ---- blocks ---- */

/* Converts in place the blocks that are not ours yet (MatSetType would empty a preallocated one), and hands them the options: a
   preconditioner may use a block before the matrix itself is used. */
static PetscErrorCode EnsureBlocks(Mat A)
{
  Mat        blocks[2];
  PetscBool  ours;
  Mat_Macko *m, *block;

  PetscFunctionBegin;
  PetscCall(MackoGet(A, &m));
  PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (int i = 0; i < 2; i++) {
    if (!blocks[i]) continue;
    PetscCall(PetscObjectTypeCompare((PetscObject)blocks[i], MATSEQAIJMACKO, &ours));
    if (!ours) PetscCall(MatConvert_SeqAIJ_SeqAIJMacko(blocks[i], MATSEQAIJMACKO, MAT_INPLACE_MATRIX, &blocks[i]));
    PetscCall(MackoGet(blocks[i], &block));
    if (m->options_read) MackoSetOptions(block, &m->options);
    block->backend = m->backend;
    PetscCall(MackoChooseVectors(blocks[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every rank raises the error of the lowest rank that has one. */
static PetscErrorCode AgreeOnStatus(MPI_Comm comm, macko_status status, const char *text)
{
  struct {
    int failed, rank;
  } mine, worst;
  char sentence[600] = "";

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &mine.rank));
  mine.failed = (int)status;
  PetscCallMPI(MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MAXLOC, comm));
  if (!worst.failed) PetscFunctionReturn(PETSC_SUCCESS);
  if (mine.rank == worst.rank) PetscCall(PetscSNPrintf(sentence, sizeof sentence, "rank %d: %s", mine.rank, text));
  PetscCallMPI(MPI_Bcast(sentence, sizeof sentence, MPI_CHAR, worst.rank, comm));
  PetscCall(MackoRaise(comm, (macko_status)worst.failed, sentence));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  PetscCall(MatGetNonzeroState(A, &nonzerostate));
  /* These counters move on all ranks together, so all take the same branch. A block changed behind the matrix's back is seen by
     the block's own product. */
  if (m->owner == A && m->state == state && m->nonzerostate == nonzerostate) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoReadOptions(A, NULL));
  PetscCall(EnsureBlocks(A));
  PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (int i = 0; i < 2; i++) {
    PetscCall(MackoGet(blocks[i], &block));
    before = *block;
    if (!status) PetscCall(MackoUpdate(blocks[i], &status, &err));
    encoded   = (PetscBool)(encoded || block->encodes > before.encodes);
    refreshed = (PetscBool)(refreshed || block->refreshes > before.refreshes);
    m->encode_seconds += block->encode_seconds - before.encode_seconds;
    m->refresh_seconds += block->refresh_seconds - before.refresh_seconds;
  }
  /* Kept here, because new off-diagonal nonzeros make AIJ throw that block away. */
  m->encodes += encoded;
  m->refreshes += refreshed;
  PetscCall(AgreeOnStatus(PetscObjectComm((PetscObject)A), status, err.text));
  m->owner = A, m->state = state, m->nonzerostate = nonzerostate;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- products: AIJ's own, over blocks that are ours and up to date ---- */

static PetscErrorCode MatMult_MPIAIJMacko(Mat A, Vec x, Vec y)
{
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(MackoUpdateMPI(A));
  PetscCall(MackoHaloMult(A, x, PETSC_FALSE, y, &done));
  if (!done) PetscCall((*MackoMPIBase.mult)(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultAdd_MPIAIJMacko(Mat A, Vec x, Vec y, Vec z)
{
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(MackoUpdateMPI(A));
  if (y != z) PetscCall(VecCopy(y, z));
  PetscCall(MackoHaloMult(A, x, PETSC_TRUE, z, &done));
  if (!done) PetscCall((*MackoMPIBase.multadd)(A, x, z, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTranspose_MPIAIJMacko(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MackoUpdateMPI(A));
  PetscCall((*MackoMPIBase.multtranspose)(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTransposeAdd_MPIAIJMacko(Mat A, Vec x, Vec y, Vec z)
{
  PetscFunctionBegin;
  PetscCall(MackoUpdateMPI(A));
  PetscCall((*MackoMPIBase.multtransposeadd)(A, x, y, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the rest that differs from AIJ ---- */

static PetscErrorCode MatAssemblyEnd_MPIAIJMacko(Mat A, MatAssemblyType type)
{
  PetscFunctionBegin;
  PetscCall((*MackoMPIBase.assemblyend)(A, type));
  if (type == MAT_FINAL_ASSEMBLY) PetscCall(EnsureBlocks(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMPIAIJSetPreallocation_MPIAIJMacko(Mat A, PetscInt d_nz, const PetscInt d_nnz[], PetscInt o_nz,
                                                            const PetscInt o_nnz[])
{
  PetscFunctionBegin;
  PetscCall((*MackoMPIBase.setpreallocation)(A, d_nz, d_nnz, o_nz, o_nnz));
  PetscCall(EnsureBlocks(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ's own forwards to the blocks and to the vector of the halo. */
static PetscErrorCode MatBindToCPU_MPIAIJMacko(Mat A, PetscBool bind)
{
  PetscFunctionBegin;
  if (MackoMPIBase.bindtocpu) PetscCall((*MackoMPIBase.bindtocpu)(A, bind));
  PetscCall(MackoChooseVectors(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ComposeNothing(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MackoComposeMPI(A, PETSC_FALSE));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_mpiaij_mpiaijmacko_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_mpiaijmacko_mpiaij_C", NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_MPIAIJMacko(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MackoFree(A));
  PetscCall(ComposeNothing(A));
  PetscCall((*MackoMPIBase.destroy)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- to and from AIJ ---- */

static PetscErrorCode MatConvert_MPIAIJMacko_MPIAIJ(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  Mat       B = *newmat, blocks[2];
  PetscBool ours;

  PetscFunctionBegin;
  (void)type;
  PetscCall(MackoBeginConversion(A, reuse, &B));
  if (reuse == MAT_REUSE_MATRIX) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoRestoreBase(B, &MackoMPIBase));
  B->ops->assemblyend = MackoMPIBase.assemblyend;
  PetscCall(ComposeNothing(B));
  PetscCall(PetscObjectComposeFunction((PetscObject)B, "MatMPIAIJSetPreallocation_C", MackoMPIBase.setpreallocation));
  PetscCall(PetscObjectChangeTypeName((PetscObject)B, MATMPIAIJ));
  PetscCall(MatMPIAIJGetSeqAIJ(B, &blocks[0], &blocks[1], NULL));
  for (int i = 0; i < 2; i++) {
    if (!blocks[i]) continue;
    PetscCall(PetscObjectTypeCompare((PetscObject)blocks[i], MATSEQAIJMACKO, &ours));
    if (ours) PetscCall(MatConvert(blocks[i], MATSEQAIJ, MAT_INPLACE_MATRIX, &blocks[i]));
  }
  *newmat = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatConvert_MPIAIJ_MPIAIJMacko(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  Mat B = *newmat;

  PetscFunctionBegin;
  (void)type;
  PetscCall(MackoBeginConversion(A, reuse, &B));
  if (reuse == MAT_REUSE_MATRIX) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoEndHashing(B));
  if (!MackoMPIBase.mult) PetscCall(MackoSaveBase(B, &MackoMPIBase)); /* fresh, or assembled */
  B->ops->mult             = MatMult_MPIAIJMacko;
  B->ops->multadd          = MatMultAdd_MPIAIJMacko;
  B->ops->multtranspose    = MatMultTranspose_MPIAIJMacko;
  B->ops->multtransposeadd = MatMultTransposeAdd_MPIAIJMacko;
  B->ops->destroy          = MatDestroy_MPIAIJMacko;
  B->ops->assemblyend      = MatAssemblyEnd_MPIAIJMacko;
  B->ops->bindtocpu        = MatBindToCPU_MPIAIJMacko;
  PetscCall(MackoTakeOver(B));
  PetscCall(MackoComposeMPI(B, PETSC_TRUE));
  PetscCall(PetscObjectComposeFunction((PetscObject)B, "MatConvert_mpiaij_mpiaijmacko_C", MatConvert_MPIAIJ_MPIAIJMacko));
  PetscCall(PetscObjectComposeFunction((PetscObject)B, "MatConvert_mpiaijmacko_mpiaij_C", MatConvert_MPIAIJMacko_MPIAIJ));
  PetscCall(PetscObjectComposeFunction((PetscObject)B, "MatMPIAIJSetPreallocation_C", MatMPIAIJSetPreallocation_MPIAIJMacko));
  PetscCall(PetscObjectChangeTypeName((PetscObject)B, MATMPIAIJMACKO));
  PetscCall(EnsureBlocks(B));
  *newmat = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_MPIAIJMacko(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatSetType(A, MATMPIAIJ));
  PetscCall(MatConvert_MPIAIJ_MPIAIJMacko(A, MATMPIAIJMACKO, MAT_INPLACE_MATRIX, &A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
