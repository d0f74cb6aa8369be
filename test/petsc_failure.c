/* A failure on one rank must end every rank's product with one sentence, and leave a matrix that works once the cause is gone.
 * The library's encode and refresh are replaced in this program: they fail where and when a test says so. */
#define _GNU_SOURCE
#include "petsc_common.h"

#include "macko.h"

#include <dlfcn.h>
#include <string.h>

enum { N = 40 };

static int fails_here, fails_from; /* on this rank; from the call of this number on */
static int calls;

static macko_status refuse(macko_error *err)
{
  err->status = MACKO_OUT_OF_MEMORY;
  snprintf(err->text, sizeof err->text, "no memory for 4711 bytes");
  return MACKO_OUT_OF_MEMORY;
}

macko_status macko_encode(const macko_csr *csr, const macko_options *options, macko_matrix **matrix, macko_error *err)
{
  macko_status (*real)(const macko_csr *, const macko_options *, macko_matrix **, macko_error *);
  *(void **)&real = dlsym(RTLD_NEXT, "macko_encode");
  return fails_here && calls++ >= fails_from ? refuse(err) : real(csr, options, matrix, err);
}

macko_status macko_refresh(macko_matrix *matrix, const macko_csr *csr, macko_error *err)
{
  macko_status (*real)(macko_matrix *, const macko_csr *, macko_error *);
  *(void **)&real = dlsym(RTLD_NEXT, "macko_refresh");
  return fails_here && calls++ >= fails_from ? refuse(err) : real(matrix, csr, err);
}

static char message[1024];
static int  messages;

static PetscErrorCode keep_message(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode code,
                                   PetscErrorType type, const char *text, void *context)
{
  (void)comm, (void)line, (void)function, (void)file, (void)context;
  if (type == PETSC_ERROR_INITIAL) {
    snprintf(message, sizeof message, "%s", text);
    messages++;
  }
  return code;
}

static PetscErrorCode product_number(int which, Mat A, Vec x, Vec y)
{
  switch (which) {
  case 0:
    return MatMult(A, x, y);
  case 1:
    return MatMultAdd(A, x, y, y);
  case 2:
    return MatMultTranspose(A, x, y);
  case 3:
    return MatMultTransposeAdd(A, x, y, y);
  default:
    return MatMackoEncode(A);
  }
}
enum { PRODUCTS = 5 };

/* The last rank fails, with its diagonal block or with its off-diagonal one. */
static void fail_on_last_rank(int block)
{
  PetscMPIInt rank;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  fails_here = rank == ranks() - 1;
  fails_from = block;
  calls = messages = 0;
  message[0] = 0;
}

START_TEST(one_rank_fails_for_all)
{
  Mat  A, P;
  Vec  x, y;
  char expected[64] = "no memory for 4711 bytes";
  int  which = _i / 4, block = _i % 2, refreshed = _i / 2 % 2;
  if (ranks() == 1 && block) return; /* one block only */
  OK(make_matrix(PREALLOCATED, MATAIJMACKO, N, N, 1, &A));
  OK(make_matrix(PREALLOCATED, MATAIJ, N, N, 1, &P));
  OK(MatCreateVecs(A, &x, &y));
  OK(VecSet(x, 1));
  OK(VecSet(y, 1));
  if (refreshed) {
    OK(MatMult(A, x, y));
    OK(MatScale(A, 3));
    OK(MatScale(P, 3));
  }
  fail_on_last_rank(block);
  OK(PetscPushErrorHandler(keep_message, NULL));
  PetscErrorCode code = product_number(which, A, x, y);
  OK(PetscPopErrorHandler());
  fails_here = 0;
  ASSERT_ALL(code == PETSC_ERR_MEM, "product %d ends with %d", which, (int)code);
  if (ranks() > 1) snprintf(expected, sizeof expected, "rank %d: no memory for 4711 bytes", ranks() - 1);
  ASSERT_ALL(messages == 1 && strstr(message, expected), "%d messages, \"%s\"", messages, message);
  assert_same_products(A, P, "after the failure");
  OK(VecDestroy(&x));
  OK(VecDestroy(&y));
  OK(MatDestroy(&A));
  OK(MatDestroy(&P));
}
END_TEST

static Suite *failure_suite(void)
{
  Suite *s = suite_create("failures on one rank");
  TCase *t = tcase_create("failures");
  tcase_add_loop_test(t, one_rank_fails_for_all, 0, PRODUCTS * 4);
  suite_add_tcase(s, t);
  return s;
}

/* With -end it does not catch the error, as most programs do not: the script looks at how it ends. */
int main(int argc, char **argv)
{
  Mat A;
  Vec x, y;
  if (argc < 2 || strcmp(argv[1], "-end")) return run_suite(argc, argv, failure_suite, 1);
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(MatMackoInitializePackage());
  PetscCall(make_matrix(PREALLOCATED, MATAIJMACKO, N, N, 1, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1));
  fail_on_last_rank(0);
  PetscCall(MatMult(A, x, y));
  return 0;
}
