/* Products of type macko with vectors and dense matrices: the own block while entries of other ranks are on their way, then the
 * off-diagonal block. */
#include "compressed/compressed.h"

#include <stdlib.h>

/* ---- vectors ---- */

static PetscErrorCode Multiply(const MackoBlock *b, macko_op op, Vec x, PetscScalar beta, Vec y)
{
  const PetscScalar *from;
  PetscScalar       *to;
  macko_error        err;
  macko_status       status;

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(x, &from));
  PetscCall(beta == 0 ? VecGetArrayWrite(y, &to) : VecGetArray(y, &to));
  PetscCall(PetscLogEventBegin(MACKO_Mult, 0, 0, 0, 0));
  status = MackoBlockMultiply(b, op, 1, from, 0, beta, to, 0, &err);
  PetscCall(PetscLogEventEnd(MACKO_Mult, 0, 0, 0, 0));
  PetscCall(beta == 0 ? VecRestoreArrayWrite(y, &to) : VecRestoreArray(y, &to));
  PetscCall(VecRestoreArrayRead(x, &from));
  PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)b->nnz));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z = A x + y, or A x where y is NULL */
static PetscErrorCode Forward(Mat A, Vec x, Vec y, Vec z)
{
  Mat_Compressed *m = (Mat_Compressed *)A->data;

  PetscFunctionBegin;
  if (m->halo) PetscCall(VecScatterBegin(m->exchange, x, m->halo, INSERT_VALUES, SCATTER_FORWARD));
  if (y && y != z) PetscCall(VecCopy(y, z));
  PetscCall(Multiply(&m->own, MACKO_OP_N, x, y ? 1 : 0, z));
  if (m->halo) {
    PetscCall(VecScatterEnd(m->exchange, x, m->halo, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(Multiply(&m->off, MACKO_OP_N, m->halo, 1, z));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z = A' x + y, or A' x where y is NULL */
static PetscErrorCode Transposed(Mat A, Vec x, Vec y, Vec z)
{
  Mat_Compressed *m = (Mat_Compressed *)A->data;

  PetscFunctionBegin;
  if (m->halo) PetscCall(Multiply(&m->off, MACKO_OP_T, x, 0, m->halo));
  if (y && y != z) PetscCall(VecCopy(y, z));
  PetscCall(Multiply(&m->own, MACKO_OP_T, x, y ? 1 : 0, z));
  if (m->halo) {
    PetscCall(VecScatterBegin(m->exchange, m->halo, z, ADD_VALUES, SCATTER_REVERSE));
    PetscCall(VecScatterEnd(m->exchange, m->halo, z, ADD_VALUES, SCATTER_REVERSE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMult_Macko(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(Forward(A, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultAdd_Macko(Mat A, Vec x, Vec y, Vec z)
{
  PetscFunctionBegin;
  PetscCall(Forward(A, x, y, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTranspose_Macko(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(Transposed(A, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTransposeAdd_Macko(Mat A, Vec x, Vec y, Vec z)
{
  PetscFunctionBegin;
  PetscCall(Transposed(A, x, y, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void MackoCompressedProducts(Mat A)
{
  A->ops->mult             = MatMult_Macko;
  A->ops->multadd          = MatMultAdd_Macko;
  A->ops->multtranspose    = MatMultTranspose_Macko;
  A->ops->multtransposeadd = MatMultTransposeAdd_Macko;
}

/* ---- dense matrices: all columns at once, so that the compressed form is read once for several of them ---- */

/* Between column j of halos and the columns of a dense matrix: what other ranks hold of B's, or what is added to theirs of C. */
static PetscErrorCode ExchangeColumn(Mat_Compressed *m, Vec column, PetscScalar *halos, macko_op op)
{
  PetscFunctionBegin;
  PetscCall(VecPlaceArray(m->halo, halos));
  if (op == MACKO_OP_N) {
    PetscCall(VecScatterBegin(m->exchange, column, m->halo, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(m->exchange, column, m->halo, INSERT_VALUES, SCATTER_FORWARD));
  } else {
    PetscCall(VecScatterBegin(m->exchange, m->halo, column, ADD_VALUES, SCATTER_REVERSE));
    PetscCall(VecScatterEnd(m->exchange, m->halo, column, ADD_VALUES, SCATTER_REVERSE));
  }
  PetscCall(VecResetArray(m->halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ExchangeColumns(Mat_Compressed *m, Mat dense, PetscScalar *halos, macko_op op)
{
  Vec column;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < dense->cmap->N; j++) {
    PetscScalar *halo = halos + (size_t)j * m->ghosts;
    if (op == MACKO_OP_N) {
      PetscCall(MatDenseGetColumnVecRead(dense, j, &column));
      PetscCall(ExchangeColumn(m, column, halo, op));
      PetscCall(MatDenseRestoreColumnVecRead(dense, j, &column));
    } else {
      PetscCall(MatDenseGetColumnVec(dense, j, &column));
      PetscCall(ExchangeColumn(m, column, halo, op));
      PetscCall(MatDenseRestoreColumnVec(dense, j, &column));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C = op(A) B of both blocks; halos holds the columns that are not this rank's. */
static PetscErrorCode MultiplyBlocks(Mat_Compressed *m, macko_op op, Mat B, Mat C, PetscScalar *halos)
{
  const PetscScalar *b;
  PetscScalar       *c;
  PetscInt           ldb, ldc, k = B->cmap->N;
  macko_error        err;
  macko_status       status;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(B, &ldb));
  PetscCall(MatDenseGetLDA(C, &ldc));
  PetscCall(MatDenseGetArrayRead(B, &b));
  PetscCall(MatDenseGetArrayWrite(C, &c));
  status = MackoBlockMultiply(&m->own, op, k, b, ldb, 0, c, ldc, &err);
  if (!status && m->halo) {
    if (op == MACKO_OP_N) status = MackoBlockMultiply(&m->off, op, k, halos, m->ghosts, 1, c, ldc, &err);
    else status = MackoBlockMultiply(&m->off, op, k, b, ldb, 0, halos, m->ghosts, &err);
  }
  PetscCall(MatDenseRestoreArrayWrite(C, &c));
  PetscCall(MatDenseRestoreArrayRead(B, &b));
  PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)k * (PetscLogDouble)(m->own.nnz + m->off.nnz)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultiplyDense(Mat A, macko_op op, Mat B, Mat C)
{
  Mat_Compressed *m = (Mat_Compressed *)A->data;
  PetscScalar    *halos;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(m->ghosts * B->cmap->N + 1, &halos));
  if (m->halo && op == MACKO_OP_N) PetscCall(ExchangeColumns(m, B, halos, op));
  PetscCall(MultiplyBlocks(m, op, B, C, halos));
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  if (m->halo && op == MACKO_OP_T) PetscCall(ExchangeColumns(m, C, halos, op));
  PetscCall(PetscFree(halos));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMatMultNumeric_Macko_Dense(Mat A, Mat B, Mat C)
{
  PetscFunctionBegin;
  PetscCall(MultiplyDense(A, MACKO_OP_N, B, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatTransposeMatMultNumeric_Macko_Dense(Mat A, Mat B, Mat C)
{
  PetscFunctionBegin;
  PetscCall(MultiplyDense(A, MACKO_OP_T, B, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProductNumeric(Mat C)
{
  Mat_Product *product = C->product;

  PetscFunctionBegin;
  PetscCall(MultiplyDense(product->A, product->type == MATPRODUCT_AtB ? MACKO_OP_T : MACKO_OP_N, product->B, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProductSymbolic(Mat C)
{
  Mat_Product *product = C->product;
  Mat          A = product->A, B = product->B;
  PetscLayout  rows = product->type == MATPRODUCT_AtB ? A->cmap : A->rmap;
  PetscBool    dense;

  PetscFunctionBegin;
  PetscCall(MatSetSizes(C, rows->n, B->cmap->n, rows->N, B->cmap->N));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)C, &dense, MATSEQDENSE, MATMPIDENSE, ""));
  if (!dense) PetscCall(MatSetType(C, ((PetscObject)B)->type_name));
  PetscCall(MatSetUp(C));
  C->ops->productnumeric          = ProductNumeric;
  C->ops->matmultnumeric          = MatMatMultNumeric_Macko_Dense; /* what products of three matrices call */
  C->ops->transposematmultnumeric = MatTransposeMatMultNumeric_Macko_Dense;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product with a dense matrix that is not taken here PETSc does in its own ways. */
PetscErrorCode MackoCompressedProduct(Mat C)
{
  PetscBool dense;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)C->product->B, &dense, MATSEQDENSE, MATMPIDENSE, ""));
  if (!dense) PetscCall(MackoCompressedRefuseProduct(C));
  if (C->product->A->ops->mult != MatMult_Macko) PetscFunctionReturn(PETSC_SUCCESS);
  if (C->product->type == MATPRODUCT_AB || C->product->type == MATPRODUCT_AtB) C->ops->productsymbolic = ProductSymbolic;
  PetscFunctionReturn(PETSC_SUCCESS);
}
