/* Type macko: what it refuses, and in which words. */
#include "compressed.h"
#include "macko.h"

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
  REFUSED(converted_with("-mat_macko_halo", "bus"), PETSC_ERR_USER_INPUT, "none of auto, host and peer");
  REFUSED(converted_with("-mat_macko_after", "5"), PETSC_ERR_SUP, "compressed from the start");
  REFUSED(converted_with("-mat_macko_piece", "0"), PETSC_ERR_USER_INPUT, "0 entries; at least 1");
  REFUSED(converted_with("-mat_macko_format", "zip"), PETSC_ERR_USER_INPUT, "zip");
  OK(converted_with("-mat_macko_values", "f32"));
  OK(converted_with("-mat_macko_halo", "host"));
  OK(converted_with("-mat_macko_halo", "peer"));
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
  if (info.on_device) return;
  REFUSED(converted_with("-mat_macko_backend", "cuda"), PETSC_ERR_SUP, "-mat_macko_backend cuda: ");
}
END_TEST

void add_refusal_tests(TCase *t)
{
  tcase_add_test(t, refusals);
  tcase_add_test(t, options_that_cannot_be);
  tcase_add_test(t, no_gpu);
}
