/* A solve of few products does with our type what it does with AIJ, and no more: nothing that takes time is timed here, but all
 * that could take some is counted. */
#include "common.h"

#include <string.h>

static const char *const events[] = {"MatMult", "MatMultAdd", "MatMultTranspose", "MatCopy", "MatConvert", "MatTranspose",
  "MatAssemblyBegin", "MatAssemblyEnd", "MatGetRow", "MatMackoEncode", "MatMackoRefresh", "MatMackoMult", "VecCopy", "VecSet",
  "VecAXPY", "VecTDot", "VecNorm", "VecPointwiseMult", "VecScatterBegin"};
enum { EVENTS = sizeof events / sizeof *events };

/* What a solve did: how often each event, operations, messages, reductions, and memory beyond that from before. */
typedef struct {
  int            count[EVENTS];
  PetscLogDouble flops, messages, length, reductions;
  size_t         before, memory;
} work;

static PetscErrorCode watch_memory(KSP ksp, PetscInt iteration, PetscReal norm, void *context)
{
  work        *w   = context;
  const size_t now = bytes_in_use();
  (void)ksp, (void)iteration, (void)norm;
  if (now > w->before && now - w->before > w->memory) w->memory = now - w->before;
  return PETSC_SUCCESS;
}

/* Solves A x = 1 by `few` steps of conjugate gradients, in a stage of the log of its own. */
static work solve_few(Mat A, PetscInt few, Vec *x)
{
  static int         solves; /* no two stages may have the same name */
  char               name[32];
  work               w = {0};
  PetscLogStage      stage;
  PetscLogEvent      event;
  PetscEventPerfInfo info;
  KSP                ksp;
  Vec                b;
  PetscInt           iterations;
  OK(PetscSNPrintf(name, sizeof name, "solve %d", solves++));
  OK(PetscLogStageRegister(name, &stage));
  OK(MatCreateVecs(A, x, &b));
  OK(VecSet(b, 1));
  ksp = new_solver(A, A, KSPCG, PCJACOBI);
  OK(KSPSetTolerances(ksp, 1e-30, 1e-300, PETSC_DEFAULT, few));
  OK(KSPMonitorSet(ksp, watch_memory, &w, NULL));
  w.before = bytes_in_use();
  OK(PetscLogStagePush(stage));
  OK(KSPSolve(ksp, b, *x));
  OK(PetscLogStagePop());
  OK(KSPGetIterationNumber(ksp, &iterations));
  ASSERT_ALL(iterations == few, "%d iterations", (int)iterations);
  for (int i = 0; i < EVENTS; i++) {
    OK(PetscLogEventGetId(events[i], &event));
    ck_assert_msg(event >= 0, "PETSc has no event %s", events[i]);
    OK(PetscLogEventGetPerfInfo(stage, event, &info));
    w.count[i] = info.count;
  }
  OK(PetscLogEventGetId("KSPSolve", &event));
  OK(PetscLogEventGetPerfInfo(stage, event, &info));
  w.flops = info.flops, w.messages = info.numMessages, w.length = info.messageLength, w.reductions = info.numReductions;
  OK(KSPDestroy(&ksp));
  OK(VecDestroy(&b));
  return w;
}

static int counted(const work *w, const char *name)
{
  for (int i = 0; i < EVENTS; i++)
    if (!strcmp(events[i], name)) return w->count[i];
  ck_abort_msg("%s is not counted", name);
}

/* A band matrix of 2 * 4 + 1 diagonals, of more entries on the first rank than a cache is counted on to hold (petsc/after.c),
   which decides for all; other ranks have few rows, as there are more ranks than cores. */
static PetscErrorCode large_band(const char *type, Mat *P)
{
  enum { ROWS = 240000, FEW_ROWS = 1000, REACH = 4 };
  PetscMPIInt rank;
  PetscInt    first, past, mine, n = ROWS + FEW_ROWS * (ranks() - 1);

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  mine = rank ? FEW_ROWS : ROWS;
  PetscCall(MatCreate(PETSC_COMM_WORLD, P));
  PetscCall(MatSetSizes(*P, mine, mine, n, n));
  PetscCall(MatSetType(*P, type));
  PetscCall(MatSeqAIJSetPreallocation(*P, 2 * REACH + 1, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*P, 2 * REACH + 1, NULL, REACH, NULL));
  PetscCall(MatGetOwnershipRange(*P, &first, &past));
  for (PetscInt i = first; i < past; i++)
    for (PetscInt j = PetscMax(0, i - REACH); j <= PetscMin(n - 1, i + REACH); j++)
      PetscCall(MatSetValue(*P, i, j, i == j ? 9 + (double)(i % 17) : -1 / (1 + (double)((i + j) % 5)), INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*P, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a large matrix too: the events, operations, messages and the solution are AIJ's, and so is the memory but for MPI's buffers.
   What comes on top is one reduction for each change of the values of a parallel matrix, in which the ranks agree that they wait.
   With -mat_macko_after 0, for comparison, the same solve encodes and takes memory: what is looked at here would show it. */
START_TEST(few_products_cost_what_aij_s_do)
{
  enum { FEW = 5, BUFFERS = 1 << 18 }; /* MPI's come and go; the values of the first rank take 64 times as much */
  Mat         A, P;
  Vec         x, y;
  PetscBool   same;
  PetscMPIInt rank;
  const int   at_once = _i / TYPES, parallel = _i % TYPES == PARALLEL_TYPE || ranks() > 1;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  OK(PetscLogDefaultBegin());
  OK(PetscOptionsSetValue(NULL, "-mat_macko_backend", "cpu"));
  OK(at_once ? PetscOptionsSetValue(NULL, "-mat_macko_after", "0") : PetscOptionsClearValue(NULL, "-mat_macko_after"));
  OK(large_band(our_type((type_choice)(_i % TYPES)), &A));
  OK(large_band(plain_type((type_choice)(_i % TYPES)), &P));
  for (int again = 0; again < 2 - at_once; again++) { /* with the first values, and with new ones */
    const work plain = solve_few(P, FEW, &y), ours = solve_few(A, FEW, &x);
    ASSERT_ALL(counted(&plain, "MatMult") >= FEW, "%d products", counted(&plain, "MatMult"));
    const int  encodes = counted(&ours, "MatMackoEncode"), refreshes = counted(&ours, "MatMackoRefresh");
    ASSERT_ALL((encodes + refreshes > 0) == at_once, "encoded %d, refreshed %d times", encodes, refreshes);
    if (!at_once) {
      for (int i = 0; i < EVENTS; i++)
        ASSERT_ALL(ours.count[i] == plain.count[i], "%s %d times, not %d", events[i], ours.count[i], plain.count[i]);
      ASSERT_ALL(ours.flops == plain.flops, "%g operations, not %g", ours.flops, plain.flops);
      ASSERT_ALL(ours.messages == plain.messages && ours.length == plain.length, "%g messages of %g bytes, not %g of %g",
                 ours.messages, ours.length, plain.messages, plain.length);
      ASSERT_ALL(ours.reductions <= plain.reductions + parallel, "%g reductions, not %g", ours.reductions, plain.reductions);
      ASSERT_ALL(ours.memory <= plain.memory + BUFFERS, "%zu bytes, not %zu", ours.memory, plain.memory);
      OK(VecEqual(x, y, &same));
      ASSERT_ALL(same, "another solution");
    } else if (bytes_in_use())
      ASSERT_ALL(rank || ours.memory > plain.memory + BUFFERS, "%zu bytes, as %zu", ours.memory, plain.memory);
    OK(VecDestroy(&x));
    OK(VecDestroy(&y));
    OK(MatScale(A, 2));
    OK(MatScale(P, 2));
  }
  DESTROY(&A, &P);
  OK(clear_options());
}
END_TEST

static Suite *few_products_suite(void)
{
  Suite *s = suite_create("solves of few products");
  TCase *t = tcase_create("few products");
  tcase_add_loop_test(t, few_products_cost_what_aij_s_do, 0, 2 * TYPES);
  tcase_set_timeout(t, 200);
  suite_add_tcase(s, t);
  return s;
}

int main(int argc, char **argv)
{
  return run_suite(argc, argv, few_products_suite, 1);
}
