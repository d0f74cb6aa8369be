/* Every -mat_macko_ option with every choice and every format: what MatMackoGetInfo shows, or the library's sentence. All of it
 * from lib/options.def, for matrices whose off-diagonal blocks are small or empty. */
#include "common.h"
#include "macko.h"

#include <string.h>

enum { N = 40 };

enum { /* OPTION_format, ... */
#define MACKO_OPTION(field, LIST, usual, reader, help) OPTION_##field,
#define MACKO_WITHOUT_TARGET
#include "options.def"
  OPTIONS
};

#define MACKO_OPTION(field, LIST, usual, reader, help) static const char *const field##_choices[] = {
#define MACKO_CHOICE(LIST, symbol, name, text) #name,
#define MACKO_OPTION_END(field, LIST) NULL};
#define MACKO_WITHOUT_TARGET
#include "options.def"

static const struct {
  const char *option, *name, *const *choices;
} known[OPTIONS] = {
#define MACKO_OPTION(field, LIST, usual, reader, help) {"-mat_macko_" #field, #field, field##_choices},
#define MACKO_WITHOUT_TARGET
#include "options.def"
};

/* Tridiagonal, or diagonal: then no rank needs another's entries. */
static PetscErrorCode make(PetscInt beside, Mat *A)
{
  PetscInt first, past;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, N, N));
  PetscCall(MatSetType(*A, MATAIJMACKO));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &first, &past));
  for (PetscInt i = first; i < past; i++)
    for (PetscInt j = PetscMax(i - beside, 0); j <= PetscMin(i + beside, N - 1); j++)
      PetscCall(MatSetValue(*A, i, j, i == j ? 2 + (double)(i % 2) : -1, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The option that is not what was asked for, NULL where all are. */
static const char *ignored(const macko_options *o, const MatMackoInfo *info)
{
  if (o->format != MACKO_FORMAT_AUTO && strcmp(info->format, macko_format_name(o->format))) return "format";
#define SEEN_choice(field)
#define SEEN_formats(field) if (o->field && strcmp(info->field, macko_##field##_name(o->field))) return #field;
#define COUNTED_formats(field) if (o->field && info->field != o->field) return #field;
#define MACKO_OPTION(field, LIST, usual, reader, help) SEEN_##reader(field)
#define MACKO_NUMBER_OPTION(field, LIST, usual, reader, help) COUNTED_##reader(field)
#define MACKO_WITHOUT_TARGET
#include "options.def"
  return NULL;
}

static char message[1024];

static PetscErrorCode keep_message(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode code,
                                   PetscErrorType type, const char *text, void *context)
{
  (void)comm, (void)line, (void)function, (void)file, (void)context;
  if (type == PETSC_ERROR_INITIAL) snprintf(message, sizeof message, "%s", text);
  return code;
}

static int on_device(Mat A)
{
  VecType type;
  OK(MatGetVecType(A, &type));
  return !strcmp(type, VECCUDA);
}

static void try_options(const macko_options *o, PetscInt beside, const char *what)
{
  Mat          A;
  MatMackoInfo info;
  Vec          x, y;
  PetscReal    norm;
  macko_error  err = {0};
  macko_status expected = macko_options_check(o, &err);
  message[0] = 0;
  OK(make(beside, &A));
  OK(PetscPushErrorHandler(keep_message, NULL));
  PetscErrorCode code = MatMackoEncode(A);
  OK(PetscPopErrorHandler());
  if (!expected && code == PETSC_ERR_SUP && on_device(A) && strstr(message, "target gpu")) {
    OK(MatDestroy(&A)); /* refused too: what a CPU has and a GPU not */
    return;
  }
  ASSERT_ALL(!code == !expected, "%s: error %d: %s", what, (int)code, message);
  if (code) {
    ASSERT_ALL(code == PETSC_ERR_USER_INPUT && strstr(message, err.text), "%s: error %d: %s", what, (int)code, message);
  } else {
    OK(MatMackoGetInfo(A, &info));
    const char *option = ignored(o, &info);
    ASSERT_ALL(!option, "%s: %s is not honoured: %s", what, option ? option : "on another rank", info.reason);
    OK(MatCreateVecs(A, &x, &y));
    OK(VecSet(x, 1));
    OK(MatMult(A, x, y));
    OK(VecNorm(y, NORM_1, &norm));
    ASSERT_ALL(norm == (beside ? 22 : 100), "%s: the sum of |A x| is %g", what, (double)norm);
    OK(VecDestroy(&x));
    OK(VecDestroy(&y));
  }
  OK(MatDestroy(&A));
}

static void try_choice(int option, const char *choice, PetscInt beside)
{
  char what[128];
  for (int f = 0; f <= MACKO_FORMAT_AUTO; f++) {
    macko_options o;
    macko_options_init(&o);
    o.format = (macko_format)f;
    ASSERT_ALL(!macko_options_set(&o, known[option].name, choice, NULL), "%s is unknown", choice);
    OK(PetscOptionsSetValue(NULL, "-mat_macko_format", macko_format_name((macko_format)f)));
    OK(PetscOptionsSetValue(NULL, known[option].option, choice));
    snprintf(what, sizeof what, "format %s, %s %s, %d beside", macko_format_name((macko_format)f), known[option].name, choice,
             (int)beside);
    try_options(&o, beside, what);
    OK(PetscOptionsClearValue(NULL, known[option].option));
    OK(PetscOptionsClearValue(NULL, "-mat_macko_format"));
  }
}

START_TEST(every_choice_is_honoured_or_refused)
{
  for (PetscInt beside = 0; beside < 2; beside++)
    for (int c = 0; known[_i].choices[c]; c++) try_choice(_i, known[_i].choices[c], beside);
}
END_TEST

/* The option is for trying what runs between nodes; it is looked at wherever a matrix of ours is made, with or without GPUs. */
START_TEST(nodes_without_ranks_are_refused)
{
  static const char *const wrong[] = {"0", "-2", "2x", "", "99999999999"};
  const char              *type    = _i ? MATMACKO : MATAIJMACKO;
  Mat                      A;
  char                     words[64];
  for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
    OK(PetscOptionsSetValue(NULL, "-mat_macko_ranks_per_node", wrong[w]));
    OK(MatCreate(PETSC_COMM_WORLD, &A));
    OK(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, N, N));
    message[0] = 0;
    OK(PetscPushErrorHandler(keep_message, NULL));
    PetscErrorCode code = MatSetType(A, type);
    if (!code) code = MatSetUp(A);
    OK(PetscPopErrorHandler());
    snprintf(words, sizeof words, "-mat_macko_ranks_per_node: \"%s\" is no number from 1 to", wrong[w]);
    ASSERT_ALL(code == PETSC_ERR_USER_INPUT && strstr(message, words), "%s %s: error %d: %s", type, wrong[w], (int)code, message);
    OK(MatDestroy(&A));
  }
  OK(PetscOptionsSetValue(NULL, "-mat_macko_ranks_per_node", "2"));
  OK(make(1, &A));
  OK(MatDestroy(&A));
  OK(PetscOptionsClearValue(NULL, "-mat_macko_ranks_per_node"));
}
END_TEST

/* A new matrix of the type with one option; what its options raise is the result, and *gpu whether products run there. */
static PetscErrorCode made_with(const char *type, const char *option, const char *value, int *gpu)
{
  Mat A;
  message[0] = 0;
  OK(PetscOptionsSetValue(NULL, option, value));
  OK(MatCreate(PETSC_COMM_WORLD, &A));
  OK(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, N, N));
  OK(MatSetType(A, type));
  OK(PetscPushErrorHandler(keep_message, NULL));
  PetscErrorCode code = MatSetUp(A); /* of type macko it reads the options */
  if (!code) code = MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY);
  if (!code) code = MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY);
  if (!code) code = MatMackoEncode(A);
  OK(PetscPopErrorHandler());
  *gpu = on_device(A);
  OK(MatDestroy(&A));
  OK(PetscOptionsClearValue(NULL, option));
  return code;
}

/* A GPU is asked for where there is none; what is so without one is taken. */
START_TEST(what_needs_a_gpu_is_refused_without)
{
  static const char *const needs[][2] = {{"halo", "peer"}, {"ranks_per_node", "2"}, {"keep_csr", "yes"}},
                           *const harmless[][2] = {{"halo", "auto"}, {"halo", "host"}, {"halo", "mpi"}, {"keep_csr", "auto"},
                                                   {"keep_csr", "no"}};
  const char *type = _i ? MATMACKO : MATAIJMACKO;
  char        option[64], words[128];
  int         gpu;
  for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
    snprintf(option, sizeof option, "-mat_macko_%s", needs[i][0]);
    PetscErrorCode code = made_with(type, option, needs[i][1], &gpu);
    if (gpu) return;
    if (_i && i == 2) snprintf(words, sizeof words, "%s %s: a matrix of type macko keeps no other form", option, needs[i][1]);
    else snprintf(words, sizeof words, "%s %s: vectors are on the CPU: ", option, needs[i][1]);
    ASSERT_ALL(code == PETSC_ERR_SUP && strstr(message, words), "%s, %s: error %d: %s", type, words, (int)code, message);
  }
  for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) {
    snprintf(option, sizeof option, "-mat_macko_%s", harmless[i][0]);
    PetscErrorCode code = made_with(type, option, harmless[i][1], &gpu);
    ASSERT_ALL(!code, "%s, %s %s: error %d: %s", type, option, harmless[i][1], (int)code, message);
  }
}
END_TEST

/* The type below keeps rows, columns and values on the GPU, if it is aijcusparse. Without a GPU nothing is kept anyway. */
START_TEST(aij_keeps_nothing_on_the_gpu)
{
  int gpu;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_base", "aij"));
  OK(made_with(MATAIJMACKO, "-mat_macko_keep_csr", "no", &gpu));
  PetscErrorCode code = made_with(MATAIJMACKO, "-mat_macko_keep_csr", "yes", &gpu);
  OK(PetscOptionsClearValue(NULL, "-mat_macko_base"));
  ASSERT_ALL(code == PETSC_ERR_SUP && strstr(message, "-mat_macko_keep_csr yes: "), "error %d: %s", (int)code, message);
  ASSERT_ALL(!gpu || strstr(message, "the type below is aij"), "%s", message);
}
END_TEST

static Suite *options_suite(void)
{
  Suite *s = suite_create("the options of the PETSc matrix type");
  TCase *t = tcase_create("options");
  tcase_add_loop_test(t, every_choice_is_honoured_or_refused, 0, OPTIONS);
  tcase_add_loop_test(t, nodes_without_ranks_are_refused, 0, 2);
  tcase_add_loop_test(t, what_needs_a_gpu_is_refused_without, 0, 2);
  tcase_add_test(t, aij_keeps_nothing_on_the_gpu);
  suite_add_tcase(s, t);
  return s;
}

int main(int argc, char **argv)
{
  return run_suite(argc, argv, options_suite, 2);
}
