/* PETSc's own allocations fail while a matrix is converted, copied, transposed, added to or set up. On one rank every allocation
 * fails in turn: the operation must end with an error (PETSc 3.18 makes 1 of its code where it creates objects), and the matrix it
 * began with must multiply as before. PETSc loses what it had made by then, so that this is no test of leaks.
 *
 * petsc_memory OPERATION N: allocation N fails on the last rank and nobody catches the error; the script that runs this sees
 * whether all ranks end, and in time. petsc_memory -list: the operations. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

enum { N = 40 };

static long calls, fails_at; /* the allocation of this number; below 0: none */
static PetscErrorCode (*allocate)(size_t, PetscBool, int, const char[], const char[], void **);

static PetscErrorCode allocate_or_fail(size_t size, PetscBool clear, int line, const char function[], const char file[],
                                       void **memory)
{
  if (calls++ == fails_at)
    return PetscError(PETSC_COMM_SELF, line, function, file, PETSC_ERR_MEM, PETSC_ERROR_INITIAL, "no memory for 4711 bytes");
  return allocate(size, clear, line, function, file, memory);
}

/* ---- operations on A, which is ours, assembled and has been multiplied with, or on P, a plain one of the same entries ---- */

#define OPERATION(name, ...) \
  static PetscErrorCode name(Mat A, Mat P, Mat *B) \
  { \
    PetscFunctionBegin; \
    (void)A, (void)P, (void)B; \
    __VA_ARGS__ \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }

OPERATION(convert, PetscCall(MatConvert(P, MATAIJMACKO, MAT_INITIAL_MATRIX, B));)
OPERATION(convert_in_place, PetscCall(MatConvert(P, MATAIJMACKO, MAT_INPLACE_MATRIX, &P));)
OPERATION(convert_back, PetscCall(MatConvert(A, ranks() > 1 ? MATMPIAIJ : MATSEQAIJ, MAT_INITIAL_MATRIX, B));)
OPERATION(convert_back_in_place, PetscCall(MatConvert(A, ranks() > 1 ? MATMPIAIJ : MATSEQAIJ, MAT_INPLACE_MATRIX, &A));)
OPERATION(duplicate, PetscCall(MatDuplicate(A, MAT_COPY_VALUES, B));)
OPERATION(transpose, PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, B));)
OPERATION(add, PetscCall(make_matrix(PREALLOCATED, MATAIJMACKO, N, N, 2, B));
          PetscCall(MatAXPY(*B, 2, A, DIFFERENT_NONZERO_PATTERN));)
OPERATION(multiply_matrices, PetscCall(MatMatMult(A, A, MAT_INITIAL_MATRIX, PETSC_DEFAULT, B));)
OPERATION(set_up, PetscCall(MatCreate(PETSC_COMM_WORLD, B)); PetscCall(MatSetSizes(*B, PETSC_DECIDE, PETSC_DECIDE, N, N));
          PetscCall(MatSetType(*B, MATAIJMACKO)); PetscCall(MatSetUp(*B));)

static const struct {
  const char *name;
  PetscErrorCode (*run)(Mat A, Mat P, Mat *B);
} operations[] = {{"convert", convert}, {"convert-in-place", convert_in_place}, {"convert-back", convert_back},
                  {"convert-back-in-place", convert_back_in_place}, {"duplicate", duplicate}, {"transpose", transpose},
                  {"add", add}, {"multiply-matrices", multiply_matrices}, {"set-up", set_up}};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* One run of an operation, during which allocation `fails` does; *reached tells whether there was one. */
static PetscErrorCode run_once(int operation, long fails, Mat *A, Mat *P, int *reached, PetscErrorCode *error)
{
  Mat B = NULL;
  Vec x, y;

  PetscFunctionBegin;
  PetscCall(make_pair(PREALLOCATED, ROOT_TYPE, N, N, 1, A, P));
  PetscCall(MatCreateVecs(*A, &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(*A, x, y));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  calls = 0, fails_at = fails;
  *error = (*operations[operation].run)(*A, *P, &B);
  *reached = calls > fails;
  fails_at = -1;
  if (!*error) PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

START_TEST(every_allocation_may_fail)
{
  Mat            A, P, again;
  PetscErrorCode error;
  const char    *name = operations[_i].name, *why;
  int            reached;
  OK(make_matrix(PREALLOCATED, MATAIJ, N, N, 1, &again));
  for (long n = 0;; n++) {
    OK(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    PetscErrorCode outside = run_once(_i, n, &A, &P, &reached, &error);
    OK(PetscPopErrorHandler());
    ck_assert_msg(!outside, "%s, allocation %ld fails: error %d outside", name, n, (int)outside);
    ck_assert_msg(!error == !reached, "%s, allocation %ld fails: error %d", name, n, (int)error);
    why = difference(A, again);
    if (!why) why = difference(P, again);
    ck_assert_msg(!why, "%s, allocation %ld fails: %s", name, n, why);
    DESTROY(&A, &P);
    if (!reached) break;
  }
  OK(MatDestroy(&again));
}
END_TEST

static Suite *memory_suite(void)
{
  Suite *s = suite_create("memory that PETSc does not get");
  TCase *t = tcase_create("operations");
  tcase_add_loop_test(t, every_allocation_may_fail, 0, OPERATIONS);
  suite_add_tcase(s, t);
  return s;
}

int main(int argc, char **argv)
{
  Mat            A, P;
  PetscErrorCode error;
  PetscMPIInt    rank;
  int            operation = 0, reached;
  if (argc == 2)
    for (int i = 0; i < OPERATIONS; i++) printf("%s\n", operations[i].name);
  if (argc == 2) return 0;
  allocate      = PetscTrMalloc;
  PetscTrMalloc = allocate_or_fail;
  fails_at      = -1;
  if (argc < 3) return run_suite(argc, argv, memory_suite, 1);
  while (operation < OPERATIONS - 1 && strcmp(operations[operation].name, argv[1])) operation++;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(MatMackoInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(run_once(operation, rank == ranks() - 1 ? atol(argv[2]) : -1, &A, &P, &reached, &error));
  PetscCall(error);
  PetscCall(PetscFinalize());
  return 0; /* there are fewer allocations */
}
