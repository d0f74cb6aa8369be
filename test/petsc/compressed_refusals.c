/* Type macko: what it refuses, and in which words; what fails on one rank. */
#define _GNU_SOURCE
#include "compressed.h"
#include "macko.h"

#include <dlfcn.h>
#include <petscksp.h>

enum { ROWS = 61, COLS = 47 };

char message[2048];

PetscErrorCode keep_message(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode code,
                            PetscErrorType type, const char *text, void *context)
{
  (void)comm, (void)line, (void)function, (void)file, (void)context;
  if (type == PETSC_ERROR_INITIAL) snprintf(message, sizeof message, "%s", text);
  return code;
}

static PetscErrorCode set_up(Mat A, const char *preconditioner)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, preconditioner));
  PetscCall(PCSetOperators(pc, A, A));
  PetscErrorCode error = PCSetUp(pc);
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(error);
}

/* All columns have one colour, which nobody looks at. */
static PetscErrorCode differences(Mat A)
{
  MatFDColoring    c;
  ISColoring       colours;
  ISColoringValue *each;
  PetscInt         n;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, NULL, &n));
  PetscCall(PetscCalloc1(n, &each));
  PetscCall(ISColoringCreate(PETSC_COMM_WORLD, 1, n, each, PETSC_OWN_POINTER, &colours));
  PetscErrorCode error = MatFDColoringCreate(A, colours, &c);
  PetscCall(ISColoringDestroy(&colours));
  PetscFunctionReturn(error);
}

/* What PETSc has for parallel matrices on one rank stays: the block is the matrix. */
START_TEST(diagonal_block_of_one_rank)
{
  Mat       A, P, block;
  PetscBool has;
  if (ranks() > 1) return;
  make_both(PARALLEL_TYPE, ROWS, ROWS, &A, &P);
  OK(MatGetDiagonalBlock(A, &block));
  ASSERT_ALL(block == A, "the block is another matrix");
  OK(MatHasOperation(A, MATOP_GET_DIAGONAL_BLOCK, &has));
  ASSERT_ALL(!has, "preconditioners will ask for it");
  OK(MatHasOperation(A, MATOP_MULT, &has));
  ASSERT_ALL(has, "no product");
  OK(MatHasOperation(A, MATOP_SOLVE, &has));
  ASSERT_ALL(!has, "a solve");
  DESTROY(&A, &P);
}
END_TEST

START_TEST(refusals)
{
  Mat         A, P, B, C = NULL;
  Vec         x, y;
  make_both(ROOT_TYPE, ROWS, ROWS, &A, &P);
  OK(MatDuplicate(A, MAT_COPY_VALUES, &B));
  OK(MatCreateVecs(A, &x, &y));
  if (ranks() == 1) REFUSED(set_up(A, PCILU), PETSC_ERR_SUP, "convert to aij");
  REFUSED(set_up(A, PCLU), PETSC_ERR_SUP, "convert to aij");
  REFUSED(set_up(A, PCCHOLESKY), PETSC_ERR_SUP, "convert to aij");
  REFUSED(MatPtAP(A, A, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C), PETSC_ERR_SUP, "convert to aij");
  REFUSED(MatMatMult(A, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C), PETSC_ERR_SUP, "convert to aij");
  REFUSED(MatTranspose(A, MAT_INITIAL_MATRIX, &C), PETSC_ERR_SUP, "convert to aij");
  PetscInt  first;
  PetscBool symmetric;
  OK(MatGetOwnershipRange(A, &first, NULL));
  REFUSED(MatZeroRows(A, 1, &first, 1, NULL, NULL), PETSC_ERR_SUP, "convert to aij");
  REFUSED(MatZeroRowsColumns(A, 1, &first, 1, NULL, NULL), PETSC_ERR_SUP, "convert to aij");
  if (ranks() > 1) REFUSED(set_up(A, PCBJACOBI), PETSC_ERR_SUP, "convert to aij");
  if (ranks() > 1) REFUSED(MatGetDiagonalBlock(A, &C), PETSC_ERR_SUP, "-pc_type jacobi");
  REFUSED(MatTranspose(A, MAT_INITIAL_MATRIX, &C), PETSC_ERR_SUP, "-svd_implicittranspose");
  REFUSED(differences(A), PETSC_ERR_SUP, "-snes_fd_color");
  REFUSED(set_up(A, PCASM), PETSC_ERR_SUP, "convert to aij");
  REFUSED(set_up(A, PCPBJACOBI), PETSC_ERR_SUP, "convert to aij");
  REFUSED(set_up(A, PCGAMG), PETSC_ERR_SUP, "convert to aij");
  REFUSED(MatIsSymmetric(A, 0, &symmetric), PETSC_ERR_SUP, "MAT_SYMMETRIC");
  REFUSED(MatSOR(A, x, 1, SOR_FORWARD_SWEEP, 0, 1, 1, y), PETSC_ERR_SUP, "convert to aij");
  assert_same_products(A, P, "after refusals");
  OK(VecDestroy(&x));
  OK(VecDestroy(&y));
  DESTROY(&A, &P, &B);
}
END_TEST

static PetscErrorCode converted_with(const char *option, const char *value)
{
  Mat A, P = NULL;

  PetscFunctionBegin;
  PetscCall(clear_options());
  PetscCall(make_matrix(PREALLOCATED, MATAIJ, ROWS, COLS, 11, &P));
  PetscCall(PetscOptionsSetValue(NULL, option, value));
  PetscErrorCode error = MatConvert(P, MATMACKO, MAT_INITIAL_MATRIX, &A);
  if (!error) PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&P));
  PetscCall(clear_options());
  PetscFunctionReturn(error);
}

START_TEST(options_that_cannot_be)
{
  REFUSED(converted_with("-mat_macko_halo", "bus"), PETSC_ERR_USER_INPUT, "none of auto, host, peer and mpi");
  REFUSED(converted_with("-mat_macko_after", "5"), PETSC_ERR_SUP, "compressed from the start");
  REFUSED(converted_with("-mat_macko_keep_csr", "yes"), PETSC_ERR_SUP, "keeps no other form");
  REFUSED(converted_with("-mat_macko_piece", "0"), PETSC_ERR_USER_INPUT, "0 entries; a whole number from 1 to 2^53");
  REFUSED(converted_with("-mat_macko_format", "zip"), PETSC_ERR_USER_INPUT, "zip");
  OK(converted_with("-mat_macko_values", "f32"));
  OK(converted_with("-mat_macko_halo", "host"));
}
END_TEST

/* Encodes, with values f16, a matrix of the type that has 1 on its diagonal and 1e6 in its last row and second column. */
static PetscErrorCode encoded_with_large(const char *type)
{
  Mat      P, A = NULL;
  PetscInt first, past;

  PetscFunctionBegin;
  PetscCall(clear_options());
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, ROWS, ROWS, 2, NULL, 1, NULL, &P));
  PetscCall(MatGetOwnershipRange(P, &first, &past));
  for (PetscInt i = first; i < past; i++) PetscCall(MatSetValue(P, i, i, 1, INSERT_VALUES));
  if (past == ROWS) PetscCall(MatSetValue(P, ROWS - 1, 1, 1e6, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscOptionsSetValue(NULL, "-mat_macko_values", "f16"));
  PetscErrorCode error = MatConvert(P, type, MAT_INITIAL_MATRIX, &A);
  if (!error) error = MatMackoEncode(A);
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&P));
  PetscCall(clear_options());
  PetscFunctionReturn(error);
}

/* PETSc counts from 0, and so do sentences, unless the program says otherwise. */
START_TEST(places_count_from_0_or_1)
{
  const char *type = _i ? MATMACKO : MATAIJMACKO;
  REFUSED(encoded_with_large(type), PETSC_ERR_SUP, "row 60, column 1, counted from 0: 1000000 is beyond the range of f16");
  OK(MatMackoCountFrom(1));
  REFUSED(encoded_with_large(type), PETSC_ERR_SUP, "row 61, column 2, counted from 1: 1000000 is beyond the range of f16");
  REFUSED(MatMackoCountFrom(2), PETSC_ERR_ARG_OUTOFRANGE, "0 or 1, not 2");
  OK(MatMackoCountFrom(0));
}
END_TEST

/* With a GPU test/petsc/gpu.mpi looks at what the option does. */
START_TEST(no_gpu)
{
  Mat          A, P;
  MatMackoInfo info;
  make_both(ROOT_TYPE, ROWS, ROWS, &A, &P);
  OK(MatMackoGetInfo(A, &info));
  DESTROY(&A, &P);
  if (info.on_device) {
    OK(converted_with("-mat_macko_halo", "peer"));
    return;
  }
  REFUSED(converted_with("-mat_macko_backend", "cuda"), PETSC_ERR_SUP, "-mat_macko_backend cuda: ");
  REFUSED(converted_with("-mat_macko_halo", "peer"), PETSC_ERR_SUP, "-mat_macko_halo peer: vectors are on the CPU: ");
}
END_TEST

/* ---- products with dense matrices that fail on one rank ---- */

/* The library's product is replaced in this program. On this rank it fails from the call of that number on; never with -1. */
static int fails_from = -1, calls;

macko_status macko_multiply(const macko_matrix *matrix, macko_op op, macko_type type, int64_t k, double alpha, const void *x,
                            int64_t ldx, double beta, void *y, int64_t ldy, macko_error *err)
{
  static __typeof__(macko_multiply) *next;
  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "macko_multiply");
  if (fails_from < 0 || calls++ < fails_from) return next(matrix, op, type, k, alpha, x, ldx, beta, y, ldy, err);
  err->status = MACKO_OUT_OF_MEMORY;
  snprintf(err->text, sizeof err->text, "no memory for 4711 bytes");
  return MACKO_OUT_OF_MEMORY;
}

/* No rank waits for the sums of one that has none: A B or A' B, where the last rank fails with its own or the other block, each
   of which is one piece. */
START_TEST(dense_products_that_fail)
{
  PetscErrorCode (*multiply)(Mat, Mat, MatReuse, PetscReal, Mat *) = _i / 2 ? MatTransposeMatMult : MatMatMult;
  Mat         A, P, B, C;
  PetscInt    n;
  PetscMPIInt rank;
  char        expected[64];
  if (ranks() == 1 && _i % 2) return; /* one block only */
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  OK(make_matrix(PREALLOCATED, MATAIJ, ROWS, ROWS, 11, &P));
  OK(MatConvert(P, MATMACKO, MAT_INITIAL_MATRIX, &A));
  OK(MatGetLocalSize(A, &n, NULL));
  OK(make_dense(MATDENSE, n, PETSC_DECIDE, PETSC_DETERMINE, 3, &B));
  OK((*multiply)(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  snprintf(expected, sizeof expected, "rank %d: no memory for 4711 bytes", ranks() - 1);
  calls = 0, fails_from = rank == ranks() - 1 ? _i % 2 : -1;
  REFUSED((*multiply)(A, B, MAT_REUSE_MATRIX, PETSC_DEFAULT, &C), PETSC_ERR_MEM, expected);
  fails_from = -1;
  assert_same_dense_products(A, P, MATDENSE, 3, "after the failure");
  DESTROY(&A, &P, &B, &C);
}
END_TEST

/* Errors are those of type aij, also where rows of other ranks are left out. */
START_TEST(entries_outside_the_matrix)
{
  for (int ignored = 0; ignored < 2; ignored++) {
    Mat A = empty(MATMACKO, 3), P = empty(MATAIJ, 3);
    if (ignored) OK(MatSetOption(A, MAT_IGNORE_OFF_PROC_ENTRIES, PETSC_TRUE));
    if (ignored) OK(MatSetOption(P, MAT_IGNORE_OFF_PROC_ENTRIES, PETSC_TRUE));
    REFUSED(MatSetValue(P, 3 * ranks(), 0, 1, INSERT_VALUES), PETSC_ERR_ARG_OUTOFRANGE, "");
    REFUSED(MatSetValue(A, 3 * ranks(), 0, 1, INSERT_VALUES), PETSC_ERR_ARG_OUTOFRANGE, "outside of the matrix");
    DESTROY(&A, &P);
  }
}
END_TEST

/* A PETSc that does not call MatSetUp by itself lets a program go on without it, as AIJ's preallocation makes up for that. */
START_TEST(set_up_is_missed)
{
  Mat A;
  new_matrix(MATMACKO, &A);
  OK(MatSetSizes(A, 3, 3, PETSC_DETERMINE, PETSC_DETERMINE));
  OK(MatSeqAIJSetPreallocation(A, 1, NULL));
  OK(MatMPIAIJSetPreallocation(A, 1, NULL, 1, NULL));
#if PETSC_VERSION_LT(3, 19, 0)
  REFUSED(MatSetValue(A, 0, 0, 1, INSERT_VALUES), PETSC_ERR_ORDER, "type macko needs MatSetUp");
  REFUSED(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY), PETSC_ERR_ORDER, "type macko needs MatSetUp");
  OK(MatSetUp(A));
#endif
  OK(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  OK(MatDestroy(&A));
}
END_TEST

void add_refusal_tests(TCase *t)
{
  tcase_add_loop_test(t, dense_products_that_fail, 0, 4);
  tcase_add_test(t, refusals);
  tcase_add_test(t, diagonal_block_of_one_rank);
  tcase_add_test(t, options_that_cannot_be);
  tcase_add_loop_test(t, places_count_from_0_or_1, 0, 2);
  tcase_add_test(t, no_gpu);
  tcase_add_test(t, set_up_is_missed);
  tcase_add_test(t, entries_outside_the_matrix);
}
