/* What type macko does not do: PETSc's "not supported for this type", with what to do instead. */
#include "compressed/compressed.h"

/* The operations are there in order to refuse: without them PETSc would say only that the type has none. what names what is
   missing. */
#define REFUSE(A, what) \
  SETERRQ(PetscObjectComm((PetscObject)(A)), PETSC_ERR_SUP, \
          "a matrix of type macko holds its compressed form only and has no " what \
          ": convert to aij with MatConvert(A, MATAIJ, ...), or give a preconditioner such a matrix as Pmat")

/* Relaxation needs the entries of a row at every step. */
static PetscErrorCode MatSOR_Macko(Mat A, Vec b, PetscReal omega, MatSORType type, PetscReal shift, PetscInt its, PetscInt lits,
                                   Vec x)
{
  PetscFunctionBegin;
  (void)b, (void)omega, (void)type, (void)shift, (void)its, (void)lits, (void)x;
  REFUSE(A, "SOR");
}

/* Products with the transpose need no matrix of its own. */
static PetscErrorCode MatTranspose_Macko(Mat A, MatReuse reuse, Mat *B)
{
  PetscFunctionBegin;
  (void)reuse, (void)B;
  REFUSE(A, "transpose of its own (products with it there are, MatMultTranspose; SLEPc's SVD makes do with them by "
            "-svd_implicittranspose)");
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

/* Preconditioners that want factors end here. */
PetscErrorCode MatGetFactor_Macko(Mat A, MatFactorType type, Mat *F)
{
  PetscFunctionBegin;
  (void)type, (void)F;
  REFUSE(A, "factors");
}

/* C is the result of the product, and holds its operands. */
PetscErrorCode MackoCompressedRefuseProduct(Mat C)
{
  PetscFunctionBegin;
  REFUSE(C, "products with sparse matrices");
}

/* This serves MatZeroRowsColumns, too. */
static PetscErrorCode MatZeroRows_Macko(Mat A, PetscInt n, const PetscInt rows[], PetscScalar diagonal, Vec x, Vec b)
{
  PetscFunctionBegin;
  (void)n, (void)rows, (void)diagonal, (void)x, (void)b;
  REFUSE(A, "rows that could be zeroed");
}

static PetscErrorCode MatIncreaseOverlap_Macko(Mat A, PetscInt n, IS sets[], PetscInt overlap)
{
  PetscFunctionBegin;
  (void)n, (void)sets, (void)overlap;
  REFUSE(A, "overlapping parts");
}

static PetscErrorCode MatInvertBlockDiagonal_Macko(Mat A, const PetscScalar **inverse)
{
  PetscFunctionBegin;
  (void)inverse;
  REFUSE(A, "inverse of its diagonal blocks");
}

/* On one rank it is the whole matrix, as PETSc has it for types without this operation. */
static PetscErrorCode MatGetDiagonalBlock_Macko(Mat A, Mat *block)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  *block = size == 1 ? A : NULL;
  if (*block) PetscFunctionReturn(PETSC_SUCCESS);
  REFUSE(A, "diagonal block for -pc_type bjacobi, which PETSc may choose by itself (-pc_type jacobi needs none)");
}

/* Algebraic multigrid asks for this first. */
static PetscErrorCode MatCreateGraph_Macko(Mat A, PetscBool symmetrise, PetscBool scale, PetscReal filter,
                                           MackoGraphUnknowns Mat *graph)
{
  PetscFunctionBegin;
  (void)symmetrise, (void)scale, (void)filter, (void)graph;
  REFUSE(A, "graph for coarsening (-pc_type gamg)");
}

/* Differences in the directions of colours, by which SNES makes a Jacobian, end here if the matrix is assembled. */
static PetscErrorCode MatFDColoringCreate_Macko(Mat A, ISColoring colours, MatFDColoring c)
{
  PetscFunctionBegin;
  (void)colours, (void)c;
  REFUSE(A, "Jacobian by finite differences with colouring (-snes_fd_color; -snes_mf needs no matrix)");
}

/* A program that knows of the symmetry can say so, which the sentence tells. */
static PetscErrorCode MatIsSymmetric_Macko(Mat A, PetscReal tolerance, PetscBool *symmetric)
{
  PetscFunctionBegin;
  (void)tolerance, (void)symmetric;
  REFUSE(A, "look for its symmetry (MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE) tells of it)");
}

/* What is refused is not there for who asks first: PETSc then chooses a preconditioner that needs no diagonal block, and SLEPc does
   without transpose and submatrices. */
static PetscErrorCode MatHasOperation_Macko(Mat A, MatOperation operation, PetscBool *has)
{
  static const MatOperation refused[] = {MATOP_SOR, MATOP_TRANSPOSE, MATOP_CREATE_SUBMATRIX, MATOP_CREATE_SUBMATRICES,
                                         MATOP_ZERO_ROWS, MATOP_ZERO_ROWS_COLUMNS, MATOP_INCREASE_OVERLAP,
                                         MATOP_INVERT_BLOCK_DIAGONAL, MATOP_IS_SYMMETRIC, MATOP_GET_DIAGONAL_BLOCK,
                                         MATOP_FDCOLORING_CREATE};
  void (**all)(void)                  = (void (**)(void))A->ops;

  PetscFunctionBegin;
  *has = (PetscBool)(all[operation] != NULL);
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    if (operation == refused[i]) *has = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Zeroing columns, too, is refused as zeroing rows is. */
void MackoCompressedRefusals(Mat A)
{
  A->ops->sor                 = MatSOR_Macko;
  A->ops->transpose           = MatTranspose_Macko;
  A->ops->createsubmatrix     = MatCreateSubMatrix_Macko;
  A->ops->createsubmatrices   = MatCreateSubMatrices_Macko;
  A->ops->zerorows            = MatZeroRows_Macko;
  A->ops->zerorowscolumns     = MatZeroRows_Macko;
  A->ops->increaseoverlap     = MatIncreaseOverlap_Macko;
  A->ops->invertblockdiagonal = MatInvertBlockDiagonal_Macko;
  A->ops->issymmetric         = MatIsSymmetric_Macko;
  A->ops->creategraph         = MatCreateGraph_Macko;
  A->ops->getdiagonalblock    = MatGetDiagonalBlock_Macko;
  A->ops->fdcoloringcreate    = MatFDColoringCreate_Macko;
  A->ops->hasoperation        = MatHasOperation_Macko;
}
