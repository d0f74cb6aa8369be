/* A failure on one rank must end every rank's product with one sentence, and leave a matrix that works once the cause is gone.
 * The library's encode and refresh are replaced in this program: they fail where and when a test says so, or hand on to the
 * library and let its allocations fail one after the other. */
#define _GNU_SOURCE
#include "common.h"

#include "macko.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

enum { N = 40 };

static int fails_here, fails_from; /* on this rank; from the call of this number on */
static int calls;
static macko_status reason; /* what they fail with */

static macko_status refuse(macko_error *err)
{
  err->status = reason;
  snprintf(err->text, sizeof err->text, reason == MACKO_OUT_OF_MEMORY ? "no memory for 4711 bytes" : "4711 columns are too many");
  return reason;
}

/* ---- malloc, which fails only while the library works on a matrix, and in the thread that it works in: CUDA's driver has threads
   of its own, and what fails there is an error of the operating system's to it ---- */

static _Thread_local int in_library;
static int allocations, allocation_fails = -1; /* the allocation of this number */

static int allocation_failing(void)
{
  return in_library && allocations++ == allocation_fails;
}

/* The next one is the C library's, or that of a memory checker. */
#define NEXT(function) \
  static __typeof__(function) *next; \
  if (!next) *(void **)&next = dlsym(RTLD_NEXT, #function)

void *malloc(size_t size)
{
  NEXT(malloc);
  return allocation_failing() ? NULL : next(size);
}

void *calloc(size_t count, size_t size)
{
  NEXT(calloc);
  return allocation_failing() ? NULL : next(count, size);
}

void *realloc(void *old, size_t size)
{
  NEXT(realloc);
  return allocation_failing() ? NULL : next(old, size);
}

macko_status macko_encode_borrowed(const macko_csr *csr, const macko_options *options, macko_matrix **matrix, macko_error *err)
{
  NEXT(macko_encode_borrowed);
  if (fails_here && calls++ >= fails_from) return refuse(err);
  in_library = 1;
  macko_status status = next(csr, options, matrix, err);
  in_library = 0;
  return status;
}

/* This is how transposes are encoded. */
macko_status macko_encode(const macko_csr *csr, const macko_options *options, macko_matrix **matrix, macko_error *err)
{
  NEXT(macko_encode);
  if (fails_here && !in_library && calls++ >= fails_from) return refuse(err);
  return next(csr, options, matrix, err);
}

macko_status macko_refresh(macko_matrix *matrix, const macko_csr *csr, macko_error *err)
{
  NEXT(macko_refresh);
  if (fails_here && calls++ >= fails_from) return refuse(err);
  in_library = 1;
  macko_status status = next(matrix, csr, err);
  in_library = 0;
  return status;
}

/* New values that are on a GPU are taken there. */
struct macko_device_matrix;
struct CUstream_st;
macko_status macko_device_refresh_csr(struct macko_device_matrix *matrix, const macko_csr *csr, struct CUstream_st *stream,
                                      int *moved, macko_error *err);

macko_status macko_device_refresh_csr(struct macko_device_matrix *matrix, const macko_csr *csr, struct CUstream_st *stream,
                                      int *moved, macko_error *err)
{
  NEXT(macko_device_refresh_csr);
  if (fails_here && calls++ >= fails_from) return refuse(err);
  return next(matrix, csr, stream, moved, err);
}

/* Whether values change on a GPU, and products with the transpose need nothing compressed there. */
static int values_are_on_a_gpu(void)
{
  Mat          A;
  MatMackoInfo info;
  OK(make_matrix(PREALLOCATED, MATAIJMACKO, 4, 4, 1, &A));
  OK(MatMackoEncode(A));
  OK(MatMackoGetInfo(A, &info));
  OK(MatDestroy(&A));
  return info.on_device && PETSC_VERSION_GE(3, 26, 0);
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

static PetscErrorCode product_number(int which, Mat A, Vec x, Vec y, Vec z)
{
  switch (which) {
  case 0:
    return MatMult(A, x, z);
  case 1:
    return MatMultAdd(A, x, y, z);
  case 2:
    return MatMultTranspose(A, x, z);
  case 3:
    return MatMultTransposeAdd(A, x, y, z);
  default:
    return MatMackoEncode(A);
  }
}
enum { PRODUCTS = 5 };

/* The last rank fails, with its diagonal block (0), its off-diagonal one (1), or, where products are on a GPU and few rows of that
   have entries, with these rows (2). */
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
  Mat         A, P;
  Vec         x, y, z, before;
  char        expected[64];
  const char *why;
  PetscBool   unchanged;
  int  which = _i / 8, block = _i % 2, refreshed = _i / 2 % 2;
  reason = _i / 4 % 2 ? MACKO_LIMIT : MACKO_OUT_OF_MEMORY;
  if (ranks() == 1 && block) return; /* one block only */
  if (ranks() == 1 && (which == 2 || which == 3) && values_are_on_a_gpu()) return;
  OK(make_matrix(PREALLOCATED, MATAIJMACKO, N, N, 1, &A));
  OK(make_matrix(PREALLOCATED, MATAIJ, N, N, 1, &P));
  OK(MatCreateVecs(A, &x, &y));
  OK(VecSet(x, 1));
  OK(VecSet(y, 1));
  OK(VecDuplicate(y, &z));
  OK(VecSet(z, 7));
  OK(VecDuplicate(z, &before));
  OK(VecCopy(z, before));
  if (refreshed) {
    OK(MatMult(A, x, y));
    OK(MatScale(A, 3));
    OK(MatScale(P, 3));
  }
  fail_on_last_rank(block);
  OK(PetscPushErrorHandler(keep_message, NULL));
  PetscErrorCode code = product_number(which, A, x, y, z);
  OK(PetscPopErrorHandler());
  fails_here = 0;
  ASSERT_ALL(code == (reason == MACKO_LIMIT ? PETSC_ERR_SUP : PETSC_ERR_MEM), "product %d ends with %d", which, (int)code);
  why = reason == MACKO_LIMIT ? "4711 columns are too many" : "no memory for 4711 bytes";
  if (ranks() > 1) snprintf(expected, sizeof expected, "rank %d: %s", ranks() - 1, why);
  else snprintf(expected, sizeof expected, "%s", why);
  ASSERT_ALL(messages == 1 && strstr(message, expected), "%d messages, \"%s\"", messages, message);
  OK(VecEqual(z, before, &unchanged));
  ASSERT_ALL(unchanged || which == 0 || which == 2, "product %d that failed has written to its result", which);
  assert_same_products(A, P, "after the failure");
  OK(VecDestroy(&x));
  OK(VecDestroy(&y));
  OK(VecDestroy(&z));
  OK(VecDestroy(&before));
  DESTROY(&A, &P);
}
END_TEST

/* Each rank needs one entry of each neighbour, so that products on a GPU make a matrix of the few rows that do, and encode it in
   the place of the whole block, which they never encode. A rank that cannot must not leave the others waiting. */
START_TEST(rows_of_the_halo_fail_for_all)
{
  Mat         A, P;
  Vec         x, y;
  PetscInt    low, high;
  PetscScalar value;
  if (ranks() == 1 || !values_are_on_a_gpu()) return;
  OK(MatCreateAIJ(PETSC_COMM_WORLD, N, N, PETSC_DETERMINE, PETSC_DETERMINE, 3, NULL, 2, NULL, &P));
  OK(MatGetOwnershipRange(P, &low, &high));
  for (PetscInt i = low; i < high; i++)
    for (PetscInt j = i - 1; j <= i + 1; j++) {
      value = i == j ? 2 : 0.5;
      if (j >= 0 && j < ranks() * N) OK(MatSetValues(P, 1, &i, 1, &j, &value, INSERT_VALUES));
    }
  OK(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  OK(MatConvert(P, MATAIJMACKO, MAT_INITIAL_MATRIX, &A));
  OK(MatCreateVecs(A, &x, &y));
  OK(VecSet(x, 1));
  reason = MACKO_OUT_OF_MEMORY;
  fail_on_last_rank(1); /* the own block comes first */
  OK(PetscPushErrorHandler(keep_message, NULL));
  PetscErrorCode code = MatMult(A, x, y);
  OK(PetscPopErrorHandler());
  fails_here = 0;
  ASSERT_ALL(code == PETSC_ERR_MEM && messages == 1, "the product ends with %d, %d messages, \"%s\"", (int)code, messages, message);
  assert_same_products(A, P, "after the failure");
  OK(VecDestroy(&x));
  OK(VecDestroy(&y));
  DESTROY(&A, &P);
}
END_TEST

static const char *const storages[] = {
#define MACKO_FORMAT(symbol, name, text) #name,
#include "formats.def"
#undef MACKO_FORMAT
};
enum { STORAGES = sizeof storages / sizeof *storages };

/* What makes the library work: a first product, one after new values, one after a conversion. */
static PetscErrorCode prepare(int what, Mat *A)
{
  Vec x, y;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(*A, &x, &y));
  PetscCall(VecSet(x, 1));
  if (what == 1) PetscCall(MatMult(*A, x, y));
  if (what == 1) PetscCall(MatScale(*A, 3));
  if (what == 2) PetscCall(MatConvert(*A, ranks() > 1 ? MATMPIAIJ : MATSEQAIJ, MAT_INPLACE_MATRIX, A));
  if (what == 2) PetscCall(MatConvert(*A, MATAIJMACKO, MAT_INPLACE_MATRIX, A));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One product with the library's allocation of that number failing on the last rank. PETSC_FALSE: there are fewer. Without some
   it succeeds: qsort's, and those that would make a block smaller. */
static PetscBool fails_at_allocation(int n, int what, Mat P, int *errors)
{
  Mat         A;
  Vec         x, y;
  PetscMPIInt rank;
  OK(make_matrix(PREALLOCATED, MATAIJMACKO, N, N, 1, &A));
  OK(prepare(what, &A));
  OK(MatCreateVecs(A, &x, &y));
  OK(VecSet(x, 1));
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  allocations = messages = 0, message[0] = 0;
  allocation_fails = rank == ranks() - 1 ? n : -1;
  OK(PetscPushErrorHandler(keep_message, NULL));
  PetscErrorCode code = MatMult(A, x, y);
  OK(PetscPopErrorHandler());
  int reached = !everywhere(rank != ranks() - 1 || allocations <= n);
  allocation_fails = -1;
  *errors += code != 0;
  int said = code == PETSC_ERR_MEM && messages == 1 && strstr(message, "memory");
  ASSERT_ALL(!code || (reached && said), "allocation %d: error %d, \"%s\"", n, (int)code, message);
  assert_same_products(A, P, "after a failed allocation");
  OK(VecDestroy(&x));
  OK(VecDestroy(&y));
  OK(MatDestroy(&A));
  return (PetscBool)reached;
}

START_TEST(every_allocation_may_fail)
{
  Mat P;
  const char *storage = storages[_i / 3];
  /* New values need no room where nothing is to be counted or coded, which depends on what the processor would gain by codes. */
  int n = 0, errors = 0, what = _i % 3, in_place = what == 1 && strcmp(storage, "dtans") && strcmp(storage, "slide");
  if (what == 1 && values_are_on_a_gpu()) return;
  OK(make_matrix(PREALLOCATED, MATAIJ, N, N, 1, &P));
  if (what == 1) OK(MatScale(P, 3));
  OK(PetscOptionsSetValue(NULL, "-mat_macko_format", storage));
  while (fails_at_allocation(n, what, P, &errors)) n++;
  OK(PetscOptionsClearValue(NULL, "-mat_macko_format"));
  ASSERT_ALL((in_place && !n) || (n > 0 && errors > n / 2), "%d errors of %d failing allocations", errors, n);
  OK(MatDestroy(&P));
}
END_TEST

/* ---- limits ---- */

#if defined(PETSC_USE_64BIT_INDICES)
enum { WIDE_ROWS = 3 };
static const PetscInt wide = 3000000000;

static PetscErrorCode wide_matrix(const char *type, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, WIDE_ROWS, wide, WIDE_ROWS, wide));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSeqAIJSetPreallocation(*A, 2, NULL));
  for (PetscInt i = 0; i < WIDE_ROWS; i++) {
    PetscCall(MatSetValue(*A, i, i, 1, INSERT_VALUES));
    PetscCall(MatSetValue(*A, i, wide - 1 - i, (PetscScalar)(i + 2), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A vector of zeros, in memory only where it is touched. */
static Vec wide_vector(size_t bytes)
{
  Vec   x;
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  for (PetscInt i = 0; i < WIDE_ROWS; i++) ((PetscScalar *)memory)[i] = ((PetscScalar *)memory)[wide - 1 - i] = 10;
  OK(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, wide, memory, &x));
  return x;
}

START_TEST(columns_beyond_31_bits_are_held_or_refused)
{
  Mat                A;
  Vec                y, x = wide_vector((size_t)wide * sizeof(PetscScalar));
  const PetscScalar *a;
  if (!x) return; /* no room for its addresses */
  OK(VecCreateSeq(PETSC_COMM_SELF, WIDE_ROWS, &y));
  OK(wide_matrix(MATSEQAIJMACKO, &A));
  OK(MatMult(A, x, y));
  OK(VecGetArrayRead(y, &a));
  for (PetscInt i = 0; i < WIDE_ROWS; i++) ck_assert_double_eq(PetscRealPart(a[i]), 10.0 * (double)(i + 3));
  OK(VecRestoreArrayRead(y, &a));
  OK(MatDestroy(&A));

  OK(PetscOptionsSetValue(NULL, "-mat_macko_format", "macko"));
  OK(wide_matrix(MATSEQAIJMACKO, &A));
  message[0] = 0;
  OK(PetscPushErrorHandler(keep_message, NULL));
  PetscErrorCode code = MatMult(A, x, y);
  OK(PetscPopErrorHandler());
  OK(PetscOptionsClearValue(NULL, "-mat_macko_format"));
  ck_assert_int_eq(code, PETSC_ERR_SUP);
  ck_assert_str_eq(message, "format macko holds at most 2147483647 columns, not 3000000000");
  OK(MatDestroy(&A));
  OK(VecDestroy(&x));
  OK(VecDestroy(&y));
}
END_TEST
#endif

static Suite *failure_suite(void)
{
  Suite *s = suite_create("failures on one rank");
  TCase *t = tcase_create("failures");
  tcase_add_loop_test(t, one_rank_fails_for_all, 0, PRODUCTS * 8);
  tcase_add_test(t, rows_of_the_halo_fail_for_all);
  tcase_add_loop_test(t, every_allocation_may_fail, 0, STORAGES * 3);
#if defined(PETSC_USE_64BIT_INDICES)
  tcase_add_test(t, columns_beyond_31_bits_are_held_or_refused);
#endif
  suite_add_tcase(s, t);
  return s;
}

/* What comes before the product that fails on the last rank: nothing, new values, a new pattern, a conversion in place. */
static PetscErrorCode before_the_end(const char *what, Mat *A, Vec x, Vec y)
{
  PetscInt begin;

  PetscFunctionBegin;
  if (!strcmp(what, "multiply")) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatMult(*A, x, y));
  PetscCall(MatGetOwnershipRange(*A, &begin, NULL));
  if (!strcmp(what, "values")) PetscCall(MatSetValue(*A, begin, begin, 1, ADD_VALUES));
  if (!strcmp(what, "pattern")) {
    PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    for (PetscInt j = 0; j < N; j++) PetscCall(MatSetValue(*A, begin, j, 1, ADD_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  if (!strcmp(what, "convert")) {
    PetscCall(MatConvert(*A, ranks() > 1 ? MATMPIAIJ : MATSEQAIJ, MAT_INPLACE_MATRIX, A));
    PetscCall(MatConvert(*A, MATAIJMACKO, MAT_INPLACE_MATRIX, A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With -end WHAT it does not catch the error, as most programs do not: the script looks at how it ends. */
int main(int argc, char **argv)
{
  Mat A;
  Vec x, y;
  const char *what = argc > 2 ? argv[2] : "multiply";
  if (argc < 2 || strcmp(argv[1], "-end")) return run_suite(argc, argv, failure_suite, 1);
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(MatMackoInitializePackage());
  PetscCall(make_matrix(PREALLOCATED, MATAIJMACKO, N, N, 1, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(before_the_end(what, &A, x, y));
  reason = argc > 3 ? MACKO_LIMIT : MACKO_OUT_OF_MEMORY;
  fail_on_last_rank(0);
  PetscCall(MatMult(A, x, y));
  return 0;
}
