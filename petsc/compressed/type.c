/* Type macko (seqmacko, mpimacko): made, copied, described and destroyed. */
#include "compressed/compressed.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 21 };

/* ---- options ---- */

static PetscErrorCode ReadPiece(Mat A, MackoOptionItems items, PetscInt64 *piece)
{
  PetscInt  number = (PetscInt)*piece;
  PetscBool given;

  PetscFunctionBegin;
  if (items) {
    MackoOptionItems PetscOptionsObject = items;
    PetscCall(PetscOptionsInt("-mat_macko_piece", "Entries that are encoded together, of type macko", "MATMACKO", number, &number,
                              &given));
  } else {
    PetscCall(PetscOptionsGetInt(((PetscObject)A)->options, ((PetscObject)A)->prefix, "-mat_macko_piece", &number, &given));
  }
  PetscCheck(number >= 1, PetscObjectComm((PetscObject)A), PETSC_ERR_USER_INPUT, "-%smat_macko_piece: %lld entries; at least 1",
             ((PetscObject)A)->prefix ? ((PetscObject)A)->prefix : "", (long long)number);
  *piece = number;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options of aijmacko that a matrix without AIJ's arrays and without a GPU cannot honour. */
static PetscErrorCode RefuseOthers(Mat A)
{
  MPI_Comm   comm = PetscObjectComm((PetscObject)A);
  Mat_Macko *asked;

  PetscFunctionBegin;
  PetscCall(MackoGet(A, &asked));
  PetscCall(MackoReadBackend(A, NULL));
  PetscCheck(asked->backend != MACKO_BACKEND_CUDA, comm, PETSC_ERR_SUP,
             "-mat_macko_backend cuda: products of a matrix of type macko are done on the CPU; type aijmacko does them on a GPU");
  PetscCheck(asked->halo_path == MACKO_HALO_AUTO, comm, PETSC_ERR_SUP,
             "-mat_macko_halo: products of a matrix of type macko are done on the CPU, where there is one way only");
  PetscCheck(asked->after <= 0, comm, PETSC_ERR_SUP,
             "-mat_macko_after: a matrix of type macko is compressed from the start; only aijmacko has another form before");
  PetscCall(MackoFree(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoCompressedOptions(Mat A, MackoOptionItems items)
{
  Mat_Compressed *m = (Mat_Compressed *)A->data;

  PetscFunctionBegin;
  if (m->options_read && !items) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoReadEncoding(A, items, &m->options));
  PetscCall(ReadPiece(A, items, &m->piece));
  PetscCall(RefuseOthers(A));
  m->options.target = MACKO_TARGET_CPU;
  m->options_read   = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetFromOptions_Macko(Mat A, MackoOptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "macko options");
  PetscCall(MackoCompressedOptions(A, PetscOptionsObject));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- copies ---- */

static void Clear(void *context, PetscInt row, PetscInt n, const int64_t *cols, PetscScalar *values)
{
  (void)context, (void)row, (void)cols;
  memset(values, 0, (size_t)n * sizeof *values);
}

static PetscErrorCode CopyHalo(const Mat_Compressed *from, Mat_Compressed *to)
{
  size_t bytes = (size_t)from->ghosts * sizeof *to->ghost_cols;

  PetscFunctionBegin;
  to->ghost_cols = (PetscInt *)malloc(bytes + 1);
  PetscCheck(to->ghost_cols, PETSC_COMM_SELF, PETSC_ERR_MEM, "no memory for %lld columns of other ranks", (long long)from->ghosts);
  if (bytes) memcpy(to->ghost_cols, from->ghost_cols, bytes);
  to->ghosts = from->ghosts;
  if (from->halo) PetscCall(VecDuplicate(from->halo, &to->halo));
  to->exchange = from->exchange;
  if (to->exchange) PetscCall(PetscObjectReference((PetscObject)to->exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDuplicate_Macko(Mat A, MatDuplicateOption how, Mat *B)
{
  Mat_Compressed *m      = (Mat_Compressed *)A->data, *copy;
  MackoChange    *change = how == MAT_COPY_VALUES ? NULL : Clear;
  MackoBlock      own = {0}, off = {0};
  macko_error     err = {0};

  PetscFunctionBegin;
  macko_status status = MackoBlockCopy(&m->own, change, NULL, &own, &err);
  if (!status) status = MackoBlockCopy(&m->off, change, NULL, &off, &err);
  PetscErrorCode error = MackoAgree(PetscObjectComm((PetscObject)A), status, err.text);
  if (error) {
    MackoBlockDestroy(&own), MackoBlockDestroy(&off);
    PetscCall(error);
  }
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), B));
  PetscCall(MatSetSizes(*B, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  PetscCall(MatSetBlockSizesFromMats(*B, A, A));
  PetscCall(MatSetType(*B, ((PetscObject)A)->type_name));
  PetscCall(PetscLayoutReference(A->rmap, &(*B)->rmap));
  PetscCall(PetscLayoutReference(A->cmap, &(*B)->cmap));
  copy          = (Mat_Compressed *)(*B)->data;
  copy->options = m->options, copy->options_read = m->options_read, copy->piece = m->piece;
  PetscCall(CopyHalo(m, copy));
  PetscCall(MackoCompressedTake(*B, &own, &off));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- what it does not do ---- */

#define REFUSE(A, what) \
  SETERRQ(PetscObjectComm((PetscObject)(A)), PETSC_ERR_SUP, \
          "a matrix of type macko holds its compressed form only and has no " what \
          ": convert to aij with MatConvert(A, MATAIJ, ...), or give a preconditioner such a matrix as Pmat")

/* PETSc has taken the matrix for one that is being assembled. */
static PetscErrorCode MatSetValues_Macko(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt cols[],
                                         const PetscScalar values[], InsertMode mode)
{
  PetscFunctionBegin;
  (void)m, (void)rows, (void)n, (void)cols, (void)values, (void)mode;
  if (A->was_assembled) A->assembled = PETSC_TRUE, A->was_assembled = PETSC_FALSE;
  A->insertmode = NOT_SET_VALUES;
  SETERRQ(PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
          "a matrix of type macko takes no entries one by one: assemble or convert to aij what is to be changed, and then use "
          "MatConvert(A, MATMACKO, MAT_INPLACE_MATRIX, &A), or give its rows to MatMackoCreateFromRows");
}

static PetscErrorCode MatSetPreallocationCOO_Macko(Mat A, PetscCount count, PetscInt rows[], PetscInt cols[])
{
  PetscFunctionBegin;
  (void)count;
  PetscCall(MatSetValues_Macko(A, 0, rows, 0, cols, NULL, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSOR_Macko(Mat A, Vec b, PetscReal omega, MatSORType type, PetscReal shift, PetscInt its, PetscInt lits,
                                   Vec x)
{
  PetscFunctionBegin;
  (void)b, (void)omega, (void)type, (void)shift, (void)its, (void)lits, (void)x;
  REFUSE(A, "SOR");
}

static PetscErrorCode MatTranspose_Macko(Mat A, MatReuse reuse, Mat *B)
{
  PetscFunctionBegin;
  (void)reuse, (void)B;
  REFUSE(A, "transpose of its own (products with it there are, MatMultTranspose)");
}

static PetscErrorCode MatAXPY_Macko(Mat A, PetscScalar a, Mat X, MatStructure structure)
{
  PetscFunctionBegin;
  (void)a, (void)X, (void)structure;
  REFUSE(A, "sums with other matrices");
}

static PetscErrorCode MatCreateSubMatrix_Macko(Mat A, IS rows, IS cols, MatReuse reuse, Mat *B)
{
  PetscFunctionBegin;
  (void)rows, (void)cols, (void)reuse, (void)B;
  REFUSE(A, "submatrices");
}

static PetscErrorCode MatCreateSubMatrices_Macko(Mat A, PetscInt n, const IS rows[], const IS cols[], MatReuse reuse, Mat *B[])
{
  PetscFunctionBegin;
  (void)n, (void)rows, (void)cols, (void)reuse, (void)B;
  REFUSE(A, "submatrices");
}

PetscErrorCode MatGetFactor_Macko(Mat A, MatFactorType type, Mat *F)
{
  PetscFunctionBegin;
  (void)type, (void)F;
  REFUSE(A, "factors");
}

PetscErrorCode MackoCompressedRefuseProduct(Mat C)
{
  PetscFunctionBegin;
  REFUSE(C, "products with sparse matrices");
}

/* ---- the type ---- */

static PetscErrorCode MatAssembly_Macko(Mat A, MatAssemblyType type)
{
  PetscFunctionBegin;
  (void)A, (void)type;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetInfo_Macko(Mat A, MatInfoType type, MatInfo *info)
{
  Mat_Compressed *m       = (Mat_Compressed *)A->data;
  PetscLogDouble  mine[2] = {(PetscLogDouble)(m->own.nnz + m->off.nnz), 0}, all[2];

  PetscFunctionBegin;
  for (int side = 0; side < 2; side++) {
    const MackoBlock *b = side ? &m->off : &m->own;
    for (PetscInt p = 0; p < b->count; p++) {
      macko_info one;
      macko_get_info(b->pieces[p].rows, &one);
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

static PetscErrorCode MatDestroy_Macko(Mat A)
{
  Mat_Compressed *m = (Mat_Compressed *)A->data;

  PetscFunctionBegin;
  MackoBlockDestroy(&m->own);
  MackoBlockDestroy(&m->off);
  free(m->ghost_cols), free(m->row_cols), free(m->row_values);
  PetscCall(VecDestroy(&m->halo));
  PetscCall(VecScatterDestroy(&m->exchange));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetPreallocationCOO_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_anytype_C", NULL));
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, NULL));
  PetscCall(PetscFree(A->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(Mat A, MatType type)
{
  Mat_Compressed *m;

  PetscFunctionBegin;
  PetscCall(PetscNew(&m));
  macko_options_init(&m->options);
  m->piece = PIECE;
  A->data  = m;
  PetscCall(PetscMemzero(A->ops, sizeof *A->ops));
  A->ops->setvalues         = MatSetValues_Macko;
  A->ops->assemblybegin     = MatAssembly_Macko;
  A->ops->assemblyend       = MatAssembly_Macko;
  A->ops->setfromoptions    = MatSetFromOptions_Macko;
  A->ops->duplicate         = MatDuplicate_Macko;
  A->ops->getinfo           = MatGetInfo_Macko;
  A->ops->destroy           = MatDestroy_Macko;
  A->ops->view              = MatView_Macko;
  A->ops->load              = MatLoad_Macko;
  A->ops->convertfrom       = MatConvert_Any_Macko;
  A->ops->convert           = MatConvert_Macko_Any;
  A->ops->sor               = MatSOR_Macko;
  A->ops->transpose         = MatTranspose_Macko;
  A->ops->axpy              = MatAXPY_Macko;
  A->ops->createsubmatrix   = MatCreateSubMatrix_Macko;
  A->ops->createsubmatrices = MatCreateSubMatrices_Macko;
  MackoCompressedProducts(A);
  MackoCompressedEntries(A);
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetPreallocationCOO_C", MatSetPreallocationCOO_Macko));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_anytype_C", MackoCompressedProduct));
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_SeqMacko(Mat A)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCheck(size == 1, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "a matrix of type %s is on one rank, not on %d",
             MATSEQMACKO, (int)size);
  PetscCall(Create(A, MATSEQMACKO));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_MPIMacko(Mat A)
{
  PetscFunctionBegin;
  PetscCall(Create(A, MATMPIMACKO));
  PetscFunctionReturn(PETSC_SUCCESS);
}
