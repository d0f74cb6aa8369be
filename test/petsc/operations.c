/* Every operation that changes a matrix, with products before and after it: the compressed form must never be stale. */
#include "changes.h"

#include <string.h>

enum { N = 40 };

/* A comparison that could not tell the matrix before from the one after would pass with a stale compressed form. */
static int differs(Mat before, Mat after)
{
  PetscInt  rows[2], cols[2];
  PetscBool same;
  OK(MatGetSize(before, &rows[0], &cols[0]));
  OK(MatGetSize(after, &rows[1], &cols[1]));
  if (rows[0] != rows[1] || cols[0] != cols[1]) return 1;
  OK(MatMultEqual(before, after, 2, &same));
  return !same;
}

START_TEST(products_follow)
{
  char when[128];
  int  how = _i / TYPES % WAYS, type = _i % TYPES;
  Mat  A, P, before;
  const change *c = change_at(_i / (WAYS * TYPES));
  if (type == PARALLEL_TYPE && ranks() > 1) return; /* is the root type there */
#if PETSC_VERSION_LT(3, 19, 0) /* frees arrays that COO assembly made as one, also of plain matrices */
  if (!strcmp(c->name, "new nonzeros") && how == COO && ranks() > 1) return;
#endif
  snprintf(when, sizeof when, "%s, %s, %s", c->name, way_names[how], our_type(type));
  OK(make_pair(how, type, N, N, 1, &A, &P));
  assert_same_products(A, P, when);
  OK(MatDuplicate(P, MAT_COPY_VALUES, &before));
  OK((*c->run)(&A));
  OK((*c->run)(&P));
  ck_assert_msg(differs(before, P), "%s changes nothing", when);
  if (!c->plain_type) assert_ours(A, when);
  assert_same_products(A, P, when);
  OK(MatScale(A, -2)); /* and the form made after the operation goes stale in its turn */
  OK(MatScale(P, -2));
  assert_same_products(A, P, when);
  DESTROY(&A, &P, &before);
}
END_TEST

static Suite *operations_suite(void)
{
  Suite *s = suite_create("operations that change a PETSc matrix");
  TCase *t = tcase_create("operations");
  int    changes = 0;
  while (change_at(changes)) changes++;
  tcase_add_loop_test(t, products_follow, 0, changes * WAYS * TYPES);
  suite_add_tcase(s, t);
  return s;
}

int main(int argc, char **argv)
{
  return run_suite(argc, argv, operations_suite, 1);
}
