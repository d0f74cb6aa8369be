/* Type macko (seqmacko, mpimacko): made, copied, described and destroyed. */
#include "compressed/compressed.h"

#include <stdlib.h>
#include <string.h>

/* A piece has at most PIECE entries, or DEVICE_PIECE for a GPU, unless an option says otherwise: there a product with one piece
   has to take longer than it takes to start it. */
enum { PIECE = 1 << 21, DEVICE_PIECE = 1 << 25 };

/* ---- options ---- */

/* Reads -mat_macko_piece into *piece, which stays as it is where the option was not given; *given_ever is set where it was. It is
   read as a real number, because PetscInt may have 32 bits and PETSc would then take another number without a word. */
static PetscErrorCode ReadPiece(Mat A, MackoOptionItems items, PetscInt64 *piece, PetscBool *given_ever)
{
  PetscReal number = (PetscReal)*piece;
  PetscBool given  = PETSC_FALSE;

  PetscFunctionBegin;
  if (items) {
    MackoOptionItems PetscOptionsObject = items;
    PetscCall(PetscOptionsReal("-mat_macko_piece", "Entries that are encoded together, of type macko", "MATMACKO", number, &number,
                               &given));
  } else {
    PetscCall(PetscOptionsGetReal(((PetscObject)A)->options, ((PetscObject)A)->prefix, "-mat_macko_piece", &number, &given));
  }
  PetscCheck(number >= 1 && number <= 0x1p53 && number == PetscFloorReal(number), PetscObjectComm((PetscObject)A),
             PETSC_ERR_USER_INPUT, "-%smat_macko_piece: %.17g entries; a whole number from 1 to 2^53",
             ((PetscObject)A)->prefix ? ((PetscObject)A)->prefix : "", (double)number);
  *piece = (PetscInt64)number;
  if (given) *given_ever = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets m->device to whether products of all ranks may run on a GPU; if not, *why is a sentence. All or none, because entries of
   vectors are exchanged from one kind of memory only. Collective. */
static PetscErrorCode FindDevice(Mat A, const char **why)
{
  Mat_Compressed *m    = (Mat_Compressed *)A->data;
  int             mine = MackoDeviceAllowed(A, why);

  PetscFunctionBegin;
  PetscCall(MackoOnAll(A, mine, &m->device));
  if (mine && !m->device) *why = "another rank has no GPU";
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reads the options that say where products run, and refuses those of aijmacko that this type cannot follow rather than ignoring
   them. The target of predictions and the size of pieces follow from the place. */
static PetscErrorCode ReadPlace(Mat A, MackoOptionItems items)
{
  Mat_Compressed *m    = (Mat_Compressed *)A->data;
  MPI_Comm        comm = PetscObjectComm((PetscObject)A);
  const char     *why  = NULL;
  Mat_Macko      *asked;

  PetscFunctionBegin;
  PetscCall(MackoGet(A, &asked));
  PetscCall(MackoReadBackend(A, items));
  PetscCall(FindDevice(A, &why));
  PetscCheck(m->device || asked->backend != MACKO_BACKEND_CUDA, comm, PETSC_ERR_SUP, "-mat_macko_backend cuda: %s", why);
  PetscCheck(asked->keep_csr != MACKO_KEEP_YES, comm, PETSC_ERR_SUP,
             "-mat_macko_keep_csr yes: a matrix of type macko keeps no other form of its entries; aijmacko does");
  PetscCall(MackoRefuseWithoutGpu(A));
  PetscCheck(asked->after <= 0, comm, PETSC_ERR_SUP,
             "-mat_macko_after: a matrix of type macko is compressed from the start; only aijmacko has another form before");
  m->options.target = m->device ? MACKO_TARGET_GPU : MACKO_TARGET_CPU;
  if (!m->piece_given) m->piece = m->device ? DEVICE_PIECE : PIECE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The program need not call MatSetFromOptions, so that whatever makes entries calls this first. */
PetscErrorCode MackoCompressedOptions(Mat A, MackoOptionItems items)
{
  Mat_Compressed *m = (Mat_Compressed *)A->data;

  PetscFunctionBegin;
  if (m->options_read && !items) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoReadEncoding(A, items, &m->options));
  PetscCall(ReadPiece(A, items, &m->piece, &m->piece_given));
  PetscCall(ReadPlace(A, items));
  PetscCall(MackoCompressedPlace(A));
  m->options_read = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A vector of the halo that was made for the GPU is kept and only bound to the CPU; one of the host becomes another for the GPU. */
PetscErrorCode MackoCompressedPlace(Mat A)
{
  Mat_Compressed *m = (Mat_Compressed *)A->data;

  PetscFunctionBegin;
  PetscCall(m->device ? MackoChooseVectors(A) : MackoPlainVectors(A));
  if (!m->halo) PetscFunctionReturn(PETSC_SUCCESS);
  if (m->device && MackoDeviceVectors()) PetscCall(VecSetType(m->halo, VECSEQCUDA));
  PetscCall(VecBindToCPU(m->halo, (PetscBool)!m->device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pieces stay where they are and are brought over by the next product that needs it. */
static PetscErrorCode MatBindToCPU_Macko(Mat A, PetscBool bind)
{
  const char *why;

  PetscFunctionBegin;
  MackoMarkBound(A, bind);
  PetscCall(FindDevice(A, &why));
  PetscCall(MackoCompressedPlace(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The parameter has this name because PETSc's macros for options expect it. */
static PetscErrorCode MatSetFromOptions_Macko(Mat A, MackoOptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "macko options");
  PetscCall(MackoCompressedOptions(A, PetscOptionsObject));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options are read by all ranks together, before one of them may set the first entry. */
static PetscErrorCode MatSetUp_Macko(Mat A)
{
  PetscFunctionBegin;
  PetscCall(PetscLayoutSetUp(A->rmap));
  PetscCall(PetscLayoutSetUp(A->cmap));
  PetscCall(MackoCompressedOptions(A, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc before 3.19 goes on without MatSetUp, and then without sizes, where a program has preallocated for AIJ instead. */
PetscErrorCode MackoCheckSetUp(Mat A)
{
  PetscFunctionBegin;
  PetscCheck(A->rmap->setupcalled && A->cmap->setupcalled, PETSC_COMM_SELF, PETSC_ERR_ORDER,
             "type macko needs MatSetUp before its entries, for which preallocation of type aij does not stand in");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- copies ---- */

/* The pattern stays, so that the values can be set by a refresh of each piece. */
void MackoClear(void *context, PetscInt row, PetscInt n, const int64_t *cols, PetscScalar *values)
{
  (void)context, (void)row, (void)cols;
  memset(values, 0, (size_t)n * sizeof *values);
}

/* The list of columns is copied, as each matrix frees its own; the vector is new, because its entries change; the exchange is
   shared. */
PetscErrorCode MackoCopyHalo(const Mat_Compressed *from, Mat_Compressed *to)
{
  size_t bytes = (size_t)from->ghosts * sizeof *to->ghost_cols;

  PetscFunctionBegin;
  PetscInt *cols = (PetscInt *)malloc(bytes + 1);
  PetscCheck(cols, PETSC_COMM_SELF, PETSC_ERR_MEM, "no memory for %lld columns of other ranks", (long long)from->ghosts);
  if (bytes) memcpy(cols, from->ghost_cols, bytes);
  free(to->ghost_cols);
  to->ghost_cols = cols;
  to->ghosts = from->ghosts, to->halo_columns = 0;
  PetscCall(VecDestroy(&to->halo));
  PetscCall(VecScatterDestroy(&to->exchange));
  if (from->halo) PetscCall(VecDuplicate(from->halo, &to->halo));
  to->exchange = from->exchange;
  if (to->exchange) PetscCall(PetscObjectReference((PetscObject)to->exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without values the copy has zeros in all places of the pattern. The blocks are copied first, so that a failure on any rank
   leaves no new matrix. The copy takes over what options have said for A; it reads none. */
static PetscErrorCode MatDuplicate_Macko(Mat A, MatDuplicateOption how, Mat *B)
{
  Mat_Compressed *m      = (Mat_Compressed *)A->data, *copy;
  MackoChange    *change = how == MAT_COPY_VALUES ? NULL : MackoClear;
  MackoBlock      own = {0}, off = {0};
  Mat_Macko      *place;

  PetscFunctionBegin;
  PetscCall(MackoCompressedCopy(A, change, NULL, NULL, &own, &off));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), B));
  PetscCall(MatSetSizes(*B, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  PetscCall(MatSetBlockSizesFromMats(*B, A, A));
  PetscCall(MatSetType(*B, ((PetscObject)A)->type_name));
  PetscCall(PetscLayoutReference(A->rmap, &(*B)->rmap));
  PetscCall(PetscLayoutReference(A->cmap, &(*B)->cmap));
  /* The copy stands where A stands, without asking the ranks again. */
  copy          = (Mat_Compressed *)(*B)->data;
  copy->options = m->options, copy->options_read = m->options_read, copy->rules = m->rules;
  copy->piece = m->piece, copy->piece_given = m->piece_given, copy->device = m->device;
  PetscCall(MackoGet(*B, &place));
  if (MackoOf(A)) place->backend = MackoOf(A)->backend, place->halo_path = MackoOf(A)->halo_path;
  PetscCall(MackoCopyHalo(m, copy));
  PetscCall(MackoCompressedPlace(*B));
  PetscCall(MackoCompressedTake(*B, &own, &off));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the type ---- */

/* The memory is that of the compressed form. Every allocated entry is used, since there is no room between rows. */
static PetscErrorCode MatGetInfo_Macko(Mat A, MatInfoType type, MatInfo *info)
{
  Mat_Compressed *m       = (Mat_Compressed *)A->data;
  PetscLogDouble  mine[2] = {(PetscLogDouble)(m->own.nnz + m->off.nnz), 0}, all[2];

  PetscFunctionBegin;
  for (int side = 0; side < 2; side++) {
    const MackoBlock *b = side ? &m->off : &m->own;
    for (PetscInt p = 0; p < b->count; p++) {
      macko_info one;
      MackoPieceInfo(&b->pieces[p], &one);
      mine[1] += (PetscLogDouble)one.bytes;
    }
  }
  if (type == MAT_LOCAL) all[0] = mine[0], all[1] = mine[1];
  else
    PetscCallMPI(MPI_Allreduce(mine, all, 2, MPI_DOUBLE, type == MAT_GLOBAL_MAX ? MPI_MAX : MPI_SUM,
                               PetscObjectComm((PetscObject)A)));
  PetscCall(PetscMemzero(info, sizeof *info));
  info->block_size = 1, info->assemblies = A->num_ass;
  info->nz_used = info->nz_allocated = all[0];
  info->memory                       = all[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays that this library makes outside of PETSc come from malloc and go with free. */
static PetscErrorCode MatDestroy_Macko(Mat A)
{
  Mat_Compressed *m = (Mat_Compressed *)A->data;

  PetscFunctionBegin;
  PetscCall(MackoCompressedAssembly(A, PETSC_FALSE));
  MackoBlockDestroy(&m->own);
  MackoBlockDestroy(&m->off);
  free(m->ghost_cols), free(m->row.cols), free(m->row.values), free(m->given.cols), free(m->given.values);
  PetscCall(VecDestroy(&m->halo));
  PetscCall(VecScatterDestroy(&m->exchange));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_anytype_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSeqAIJSetPreallocationCSR_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatMPIAIJSetPreallocationCSR_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_seqmacko_seqaijmacko_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_mpimacko_mpiaijmacko_C", NULL));
  PetscCall(MackoFree(A));
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, NULL));
  PetscCall(PetscFree(A->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes A an empty matrix of this type: the table of operations is cleared, because none of another type may stay, and filled
   file by file. */
static PetscErrorCode Create(Mat A, MatType type)
{
  Mat_Compressed *m;

  PetscFunctionBegin;
  PetscCall(PetscNew(&m));
  macko_options_init(&m->options);
  m->piece = PIECE;
  A->data  = m;
  MackoMarkBound(A, PETSC_FALSE); /* every matrix is born bound to the CPU */
  PetscCall(PetscMemzero(A->ops, sizeof *A->ops));
  /* The operations of this file and of those that have few are set here, the others by their files. */
  A->ops->setfromoptions    = MatSetFromOptions_Macko;
  A->ops->setup             = MatSetUp_Macko;
  A->ops->duplicate         = MatDuplicate_Macko;
  A->ops->getinfo           = MatGetInfo_Macko;
  A->ops->bindtocpu         = MatBindToCPU_Macko;
  A->ops->destroy           = MatDestroy_Macko;
  A->ops->view              = MatView_Macko;
  A->ops->load              = MatLoad_Macko;
  A->ops->convertfrom       = MatConvert_Any_Macko;
  A->ops->convert           = MatConvert_Macko_Any;
  MackoCompressedProducts(A);
  MackoCompressedEntries(A);
  MackoCompressedRowNumbers(A);
  MackoCompressedChanges(A);
  MackoCompressedRefusals(A);
  PetscCall(MackoCompressedAssembly(A, PETSC_TRUE));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_anytype_C", MackoCompressedProduct));
  /* PETSc looks for these before it asks aijmacko for its own conversion from any type. */
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_seqmacko_seqaijmacko_C", MatConvert_Macko_Any));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_mpimacko_mpiaijmacko_C", MatConvert_Macko_Any));
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On several ranks the name asks for what cannot be, which is said. */
PetscErrorCode MatCreate_SeqMacko(Mat A)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCheck(size == 1, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "a matrix of type %s is on one rank, not on %d",
             MATSEQMACKO, (int)size);
  PetscCall(Create(A, MATSEQMACKO));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSeqAIJSetPreallocationCSR_C", MackoCompressedFromCSR));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This works on one rank, too, without an off-diagonal block. */
PetscErrorCode MatCreate_MPIMacko(Mat A)
{
  PetscFunctionBegin;
  PetscCall(Create(A, MATMPIMACKO));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatMPIAIJSetPreallocationCSR_C", MackoCompressedFromCSR));
  PetscFunctionReturn(PETSC_SUCCESS);
}
