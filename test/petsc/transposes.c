/* Products with the transpose on a CPU: AIJ's at first, then those of a compressed form of the transpose. */
#include "common.h"

#include <string.h>

enum { ROWS = 90, COLS = 60, FEW = 20, MANY = 2000 };

/* How often an event has happened on this rank so far, in the stage that the program began with. */
static int happened(const char *name)
{
  PetscLogEvent      event;
  PetscEventPerfInfo info;
  OK(PetscLogEventGetId(name, &event));
  ck_assert_msg(event >= 0, "PETSc has no event %s", name);
  OK(PetscLogEventGetPerfInfo(0, event, &info));
  return info.count;
}

/* Multiplies by the transposes of A and P and compares, so many times or until a form is made or renewed. Answers how many products
 * there were, the same on all ranks. */
static int multiply(Mat A, Mat P, int most, const char *event, const char *when)
{
  const int before = happened(event);
  Vec       x, y, z;
  PetscReal error, norm;
  int       done = 0;
  OK(MatCreateVecs(P, &y, &x));
  OK(VecDuplicate(y, &z));
  OK(VecSetRandom(x, NULL));
  while (done < most && everywhere(happened(event) == before)) {
    OK(VecSet(y, 3));
    OK(VecSet(z, 3));
    OK(done % 2 ? MatMultTranspose(P, x, y) : MatMultTransposeAdd(P, x, y, y));
    OK(done % 2 ? MatMultTranspose(A, x, z) : MatMultTransposeAdd(A, x, z, z));
    done++;
    OK(VecNorm(y, NORM_INFINITY, &norm));
    OK(VecAXPY(z, -1, y));
    OK(VecNorm(z, NORM_INFINITY, &error));
    ASSERT_ALL(error <= 1e-13 * (1 + norm), "%s: product %d is %g off", when, done, (double)error);
  }
  OK(VecDestroy(&x));
  OK(VecDestroy(&y));
  OK(VecDestroy(&z));
  return done;
}

/* Whether a view of A tells of a form of the transpose. */
static int told(Mat A)
{
  static const char file[] = "transposes-view.txt";
  PetscViewer       viewer;
  PetscMPIInt       rank;
  char              line[300];
  int               found = 0;
  OK(PetscViewerASCIIOpen(PETSC_COMM_WORLD, file, &viewer));
  OK(PetscViewerPushFormat(viewer, PETSC_VIEWER_ASCII_INFO));
  OK(MatView(A, viewer));
  OK(PetscViewerDestroy(&viewer));
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  FILE *f = rank ? NULL : fopen(file, "r");
  while (f && fgets(line, sizeof line, f)) found |= !!strstr(line, "products with the transpose");
  if (f) fclose(f), remove(file);
  MPI_Bcast(&found, 1, MPI_INT, 0, PETSC_COMM_WORLD);
  return found;
}

static void begin(type_choice type, Mat *A, Mat *P)
{
  OK(PetscLogDefaultBegin());
  OK(PetscOptionsSetValue(NULL, "-mat_macko_backend", "cpu"));
  OK(PetscOptionsClearValue(NULL, "-mat_macko_after"));
  OK(make_pair(PREALLOCATED, type, ROWS, COLS, 5, A, P));
}

/* Nothing is made for a few products. New values are taken over once they have been multiplied as often, and at once after values
 * that were; another pattern gets another form. */
START_TEST(forms_are_made_once_they_pay)
{
  Mat A, P;
  begin((type_choice)_i, &A, &P);
  ASSERT_ALL(multiply(A, P, FEW, "MatMackoEncode", "few") == FEW, "made for a few products");
  ASSERT_ALL(!told(A), "told of before it was made");
  ASSERT_ALL(multiply(A, P, MANY, "MatMackoEncode", "many") < MANY, "not made after %d products", MANY);
  multiply(A, P, FEW, "MatMackoEncode", "by the form");
  ASSERT_ALL(told(A), "not told of");
  OK(MatScale(A, -2));
  OK(MatScale(P, -2));
  ASSERT_ALL(multiply(A, P, MANY, "MatMackoRefresh", "new values") == 1, "not renewed though values before were multiplied often");
  OK(MatScale(A, 3));
  OK(MatScale(P, 3));
  ASSERT_ALL(multiply(A, P, FEW, "MatMackoRefresh", "few of these values") == FEW, "renewed for a few products");
  OK(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  OK(MatSetOption(P, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (Mat *M = &A; M; M = M == &A ? &P : NULL) {
    for (PetscInt j = 0; j < COLS; j += 7) OK(MatSetValue(*M, 3, j, 1 + (double)j / ranks(), ADD_VALUES));
    OK(MatAssemblyBegin(*M, MAT_FINAL_ASSEMBLY));
    OK(MatAssemblyEnd(*M, MAT_FINAL_ASSEMBLY));
  }
  ASSERT_ALL(multiply(A, P, MANY, "MatMackoEncode", "another pattern") < MANY, "not made of another pattern");
  multiply(A, P, FEW, "MatMackoEncode", "another pattern, by the form");
  DESTROY(&A, &P);
  OK(clear_options());
}
END_TEST

/* Another copy of the entries is not made where memory is asked for, and is at once where products are not to wait. */
START_TEST(options_are_honoured)
{
  static const char *const options[][2] = {{"-mat_macko_prefer", "memory"}, {"-mat_macko_after", "0"}, {"-mat_macko_after", "3"},
                                           {"-mat_macko_format", "eccsr"}};
  const int how = _i / TYPES;
  Mat       A, P;
  begin((type_choice)(_i % TYPES), &A, &P);
  OK(PetscOptionsSetValue(NULL, options[how][0], options[how][1]));
  OK(MatSetFromOptions(A));
  multiply(A, P, 1, "MatMackoRefresh", "first"); /* which may encode the matrix itself */
  multiply(A, P, how % 3 ? 3 : MANY, "MatMackoRefresh", options[how][1]);
  ASSERT_ALL(told(A) == (how > 0), "%s %s: %s", options[how][0], options[how][1], how ? "no form" : "a form");
  OK(PetscOptionsClearValue(NULL, options[how][0]));
  DESTROY(&A, &P);
  OK(clear_options());
}
END_TEST

static Suite *transposes_suite(void)
{
  Suite *s = suite_create("products with the transpose");
  TCase *t = tcase_create("transposes");
  tcase_add_loop_test(t, forms_are_made_once_they_pay, 0, TYPES);
  tcase_add_loop_test(t, options_are_honoured, 0, 4 * TYPES);
  tcase_set_timeout(t, 100);
  suite_add_tcase(s, t);
  return s;
}

int main(int argc, char **argv)
{
  return run_suite(argc, argv, transposes_suite, 1);
}
