/* macko-bench --solve: what a program waits for with type aij (on a GPU aijcusparse) and with aijmacko, in turn, through PETSc:
 * assembly, preconditioner, solves, and the same again after new values; on any number of ranks. */
#include "bench/solve.h"
#include "common/program.h"
#include "petscmacko.h"

#include <math.h>
#include <petscksp.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_CUDA
#include <cuda_runtime.h>
#endif

enum { MOST_ROUNDS = 64 }; /* rounds that are measured at most, whatever is asked for */

/* What is timed, in this order; the last three on a GPU only, as new values are the host's anyway elsewhere. */
enum { ASSEMBLY, SET_UP, FIRST_SOLVE, NEW_VALUES, NEW_SET_UP, NEXT_SOLVE, SAME_SOLVE, HOST_VALUES, HOST_SET_UP, HOST_SOLVE,
       PHASES };
static const char *const phases[PHASES] = {"assembly",    "set-up",      "solve",  "new values", "set-up", "solve",
                                           "solve again", "host values", "set-up", "solve"};

/* Medians of the rounds, seconds; steps of one solve. */
typedef struct {
  double seconds[PHASES], encode; /* encode is part of the first solve */
  int steps;
  char stored[64];                /* the format; empty where nothing was encoded */
} solve_times;

/* What a round does: the type of the matrix, and its entries. */
typedef struct {
  const char *type;             /* PETSc's name */
  int on_gpu, steps;            /* steps of a solve */
  const bench_entries *entries; /* this rank's */
} solve_request;

/* ---- one round ---- */

/* Sets *seconds to those since *start, which is set anew, once all ranks, and the GPU, have done what they were given. */
static PetscErrorCode lap(const solve_request *r, double *start, double *seconds)
{
  PetscFunctionBegin;
#ifdef HAVE_CUDA
  if (r->on_gpu) PetscCheck(cudaDeviceSynchronize() == cudaSuccess, PETSC_COMM_SELF, PETSC_ERR_GPU, "the GPU reports an error");
#else
  (void)r;
#endif
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  *seconds = bench_now() - *start;
  *start = bench_now();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Assembles a matrix of the type from lists of entries. The lists are copied before the time is taken, as MatSetPreallocationCOO
 * may use up those that it is given. */
static PetscErrorCode assemble(const solve_request *r, double *start, double *seconds, Mat *A)
{
  const bench_entries *e = r->entries;
  PetscInt *i, *j;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(e->count, &i, e->count, &j));
  PetscCall(PetscArraycpy(i, e->i, e->count));
  PetscCall(PetscArraycpy(j, e->j, e->count));
  PetscCall(lap(r, start, seconds));
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, e->rows, e->rows, e->n, e->n));
  PetscCall(MatSetType(*A, r->type));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetPreallocationCOO(*A, e->count, i, j));
  PetscCall(MatSetValuesCOO(*A, e->values, INSERT_VALUES));
  PetscCall(lap(r, start, seconds));
  PetscCall(PetscFree2(i, j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the method. It does as many steps as were asked for, unless it ends before: no tolerance is met. */
static PetscErrorCode make_method(const solve_request *r, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetType(*ksp, KSPCG));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCJACOBI));
  /* The third number is where a method gives up for a residual that grows. */
  PetscCall(KSPSetTolerances(*ksp, 1e-300, 1e-300, 1e300, r->steps));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Puts the values into the host's memory, or into that of the GPU. */
static PetscErrorCode hold_values(const solve_request *r, VecType where, Vec *held)
{
  PetscScalar *to;

  PetscFunctionBegin;
  PetscCall(VecCreate(PETSC_COMM_SELF, held));
  PetscCall(VecSetSizes(*held, (PetscInt)r->entries->count, PETSC_DECIDE));
  PetscCall(VecSetType(*held, where));
  /* The array is the host's: a vector on a GPU is copied there when it is next asked for its own memory. */
  PetscCall(VecGetArrayWrite(*held, &to));
  PetscCall(PetscArraycpy(to, r->entries->values, r->entries->count));
  PetscCall(VecRestoreArrayWrite(*held, &to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Times one solve. Every solve begins at zero, so that all do the same. */
static PetscErrorCode solve(const solve_request *r, KSP ksp, Vec b, Vec x, double *start, double *seconds)
{
  double untimed;

  PetscFunctionBegin;
  PetscCall(VecSet(x, 0));
  PetscCall(lap(r, start, &untimed));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(lap(r, start, seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Times setting up the preconditioner. Without KSPSetOperators the one for new values would be part of the next solve. */
static PetscErrorCode set_up(const solve_request *r, Mat A, KSP ksp, double *start, double *seconds)
{
  PetscFunctionBegin;
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetUp(ksp));
  PetscCall(lap(r, start, seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Times putting new values into the pattern that is there, from a vector of that type. The numbers are the same as before; only the
 * work matters. */
static PetscErrorCode put_new_values(const solve_request *r, VecType from, Mat A, double *start, double *seconds)
{
  const PetscScalar *values;
  PetscMemType where;
  Vec held;
  double untimed;

  PetscFunctionBegin;
  PetscCall(hold_values(r, from, &held));
  PetscCall(VecGetArrayReadAndMemType(held, &values, &where));
  PetscCall(lap(r, start, &untimed));
  PetscCall(MatSetValuesCOO(A, values, INSERT_VALUES));
  PetscCall(lap(r, start, seconds));
  PetscCall(VecRestoreArrayReadAndMemType(held, &values));
  PetscCall(VecDestroy(&held));
  PetscCall(lap(r, start, &untimed)); /* giving back so much memory takes longer than what is timed next */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does what a program does at each step in time, with new values from a vector of that type, and notes the seconds of putting
 * them, of setting up and of solving. */
static PetscErrorCode step_in_time(const solve_request *r, VecType from, Mat A, KSP ksp, Vec b, Vec x, double *start,
                                   double seconds[3])
{
  PetscFunctionBegin;
  PetscCall(put_new_values(r, from, A, start, &seconds[0]));
  PetscCall(set_up(r, A, ksp, start, &seconds[1]));
  PetscCall(solve(r, ksp, b, x, start, &seconds[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Notes what aijmacko stores, and the seconds of one encoding; nothing of another type, or where no product has encoded. */
static PetscErrorCode take_info(const solve_request *r, Mat A, solve_times *t)
{
  MatMackoInfo info;

  PetscFunctionBegin;
  if (strcmp(r->type, "aijmacko")) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatMackoGetInfo(A, &info));
  snprintf(t->stored, sizeof t->stored, "%s", info.encoded ? info.format : "");
  t->encode = info.encoded ? info.encode_seconds / (double)info.encodes : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does everything once with a new matrix, and notes the seconds of each phase. */
static PetscErrorCode run_round(const solve_request *r, solve_times *t)
{
  Mat A;
  Vec x, b;
  KSP ksp;
  PetscInt steps;
  double start = bench_now(), *seconds = t->seconds;

  PetscFunctionBegin;
  PetscCall(assemble(r, &start, &seconds[ASSEMBLY], &A));
  PetscCall(make_method(r, &ksp));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  /* This only ends what was not to be timed; set_up fills the same place. */
  PetscCall(lap(r, &start, &seconds[SET_UP]));
  PetscCall(set_up(r, A, ksp, &start, &seconds[SET_UP]));
  PetscCall(solve(r, ksp, b, x, &start, &seconds[FIRST_SOLVE]));
  PetscCall(step_in_time(r, r->on_gpu ? VECCUDA : VECSTANDARD, A, ksp, b, x, &start, &seconds[NEW_VALUES]));
  /* A second solve with the same values is the one that neither type has to prepare anything for. */
  PetscCall(solve(r, ksp, b, x, &start, &seconds[SAME_SOLVE]));
  if (r->on_gpu) PetscCall(step_in_time(r, VECSTANDARD, A, ksp, b, x, &start, &seconds[HOST_VALUES]));
  PetscCall(KSPGetIterationNumber(ksp, &steps));
  t->steps = (int)steps;
  PetscCall(take_info(r, A, t));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- all rounds ---- */

/* Sets *t to the medians of `count` rounds; what is no time is that of the last round. */
static void take_medians(const solve_times *rounds, int count, solve_times *t)
{
  double all[MOST_ROUNDS];
  *t = rounds[count - 1];
  for (int phase = 0; phase < PHASES; phase++) {
    for (int i = 0; i < count; i++) all[i] = rounds[i].seconds[phase];
    t->seconds[phase] = bench_median(all, count);
  }
  for (int i = 0; i < count; i++) all[i] = rounds[i].encode;
  t->encode = bench_median(all, count);
}

/* Runs rounds of both types in turn, so that whatever else the machine does falls on both alike. One round of both is not
 * counted: libraries start, kernels are loaded, memory is touched for the first time. */
static PetscErrorCode run_rounds(const macko_csr *a, const bench_settings *settings, solve_times *peer, solve_times *ours)
{
  solve_times of_peer[MOST_ROUNDS] = {0}, of_ours[MOST_ROUNDS] = {0};
  bench_entries entries;
  int count = settings->repeats < MOST_ROUNDS ? settings->repeats : MOST_ROUNDS;

  PetscFunctionBegin;
  PetscCall(MatMackoInitializePackage());
  PetscCall(bench_solve_entries(a, &entries));
  /* On a GPU the peer is PETSc's type there. */
  const solve_request theirs = {settings->on_gpu ? "aijcusparse" : "aij", settings->on_gpu, settings->solve, &entries};
  const solve_request mine = {"aijmacko", settings->on_gpu, settings->solve, &entries};
  for (int i = -1; i < count; i++) {
    PetscCall(run_round(&theirs, &of_peer[i < 0 ? 0 : i]));
    PetscCall(run_round(&mine, &of_ours[i < 0 ? 0 : i]));
  }
  take_medians(of_peer, count, peer), take_medians(of_ours, count, ours);
  PetscCall(PetscFree2(entries.i, entries.j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the table ---- */

/* Returns how many phases there are. */
static int phases_of(const bench_settings *settings)
{
  return settings->on_gpu ? PHASES : HOST_VALUES;
}

/* Prints the machine and the names of the columns, once for all matrices. */
static void print_heading(const bench_settings *settings, int ranks)
{
  bench_print_heading(stdout, settings);
  printf("Seconds, with %d rank%s; encoding is part of the first solve, and a solve after new values takes these over.\n\n", ranks,
         ranks > 1 ? "s" : "");
  printf("  %-24s %12s %6s  %-12s", "matrix", "nonzeros", "steps", "type");
  for (int i = 0; i < phases_of(settings); i++) printf(" %11s", phases[i]);
  putchar('\n');
}

/* Prints the row of one type. */
static void print_type(const bench_settings *settings, const char *matrix, int64_t nnz, const char *type, const solve_times *t)
{
  printf("  %-24s %12lld %6d  %-12s", matrix, (long long)nnz, t->steps, type);
  for (int i = 0; i < phases_of(settings); i++) printf(" %11.5f", t->seconds[i]);
  putchar('\n');
}

/* Prints how many times as fast ours is, and after how many steps, each of which takes that much less time, encoding has paid. */
static void print_ratios(const bench_settings *settings, const solve_times *peer, const solve_times *ours)
{
  /* That solve has neither encoding nor new values in it. */
  double saved = peer->seconds[SAME_SOLVE] / peer->steps - ours->seconds[SAME_SOLVE] / ours->steps;
  printf("  %58s", "times as fast");
  for (int i = 0; i < phases_of(settings); i++) printf(" %11.2f", peer->seconds[i] / ours->seconds[i]);
  putchar('\n');
  if (!*ours->stored) return (void)puts("    has encoded nothing: so few products are left to the type that it stands on");
  printf("    stores %s; encoding takes %.5f s and pays after ", ours->stored, ours->encode);
  if (saved > 0) printf("%.0f steps\n", ceil(ours->encode / saved));
  else printf("no number of steps\n");
}

/* Returns a sentence about what cannot be solved with here, or NULL. */
static const char *refusal(const macko_csr *a, const bench_settings *settings)
{
  if (sizeof(PetscInt) != 4) return "--solve needs a PETSc of 32-bit indices";
#ifndef PETSC_HAVE_CUDA
  if (settings->on_gpu) return "--solve on a GPU needs a PETSc with CUDA (petsc/build-petsc)";
#else
  (void)settings;
#endif
  return a->value_type != MACKO_F64 || a->nrows != a->ncols || a->nrows == 0 ? "--solve takes square matrices of f64" : NULL;
}

/* These give PETSc memory of zeros. AIJCUSPARSE hands cuSPARSE values in products of three matrices that nothing has written yet, and
 * a kernel of cuSPARSE waits for ever where these are ones in all bits, as earlier owners of the memory may have left them. */
static PetscErrorCode take_zeros(size_t bytes, PetscBool clear, int line, const char function[], const char file[], void **memory)
{
  (void)clear, (void)line, (void)function, (void)file;
  *memory = bytes ? calloc(1, bytes) : NULL;
  return *memory || !bytes ? 0 : PETSC_ERR_MEM;
}

static PetscErrorCode give_back(void *memory, int line, const char function[], const char file[])
{
  (void)line, (void)function, (void)file;
  free(memory);
  return 0;
}

static PetscErrorCode take_more(size_t bytes, int line, const char function[], const char file[], void **memory)
{
  void *more = realloc(*memory, bytes ? bytes : 1);
  (void)line, (void)function, (void)file;
  if (more) *memory = more;
  return more ? 0 : PETSC_ERR_MEM;
}

/* Starts PETSc, on a GPU with such memory, which has to be set before. */
static macko_status start_petsc(const bench_settings *settings, macko_error *err)
{
  static int set;
  if (settings->on_gpu && !set && PetscMallocSet(take_zeros, give_back, take_more))
    return bench_refuse(err, MACKO_UNSUPPORTED, "petsc", "PETSc takes no memory of ours");
  set = settings->on_gpu;
  return bench_start_petsc(err);
}

/* The sentence of the first error of PETSc, with the function that it comes from; empty before. */
static char sentence[256];

static PetscErrorCode keep_sentence(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode code,
                                    PetscErrorType type, const char *text, void *context)
{
  (void)comm, (void)line, (void)file, (void)context;
  if (type == PETSC_ERROR_INITIAL && !sentence[0])
    snprintf(sentence, sizeof sentence, "PETSc: %s (%s)", text && *text ? text : "an error", function);
  return code;
}

/* The other ranks may wait for one that failed, so all end, after the sentence. */
static macko_status refuse_solve(const char *matrix, macko_error *err)
{
  PetscMPIInt ranks = 1;
  bench_refuse(err, MACKO_UNSUPPORTED, matrix, sentence[0] ? sentence : "PETSc reports an error");
  MPI_Comm_size(PETSC_COMM_WORLD, &ranks);
  if (ranks > 1) {
    fprintf(stderr, "macko-bench: %s\n", err->text);
    MPI_Abort(PETSC_COMM_WORLD, 1);
  }
  return err->status;
}

/* All ranks measure; the first one prints, and after each matrix, since a long run may be cut short. */
macko_status bench_solve(const char *matrix, const macko_csr *a, bench_settings *settings, bench_table *table, macko_error *err)
{
  macko_csr dominant = {0};
  solve_times peer, ours;
  PetscMPIInt rank = 0, ranks = 1;
  /* The heading comes before the first matrix that could be solved. */
  static int printed;
  (void)table;
  if (refusal(a, settings)) return bench_refuse(err, MACKO_UNSUPPORTED, matrix, refusal(a, settings));
  macko_status s = start_petsc(settings, err);
  if (!s) s = bench_dominate(a, &dominant, err);
  sentence[0] = 0;
  if (!s) {
    PetscPushErrorHandler(keep_sentence, NULL);
    if (run_rounds(&dominant, settings, &peer, &ours)) s = refuse_solve(matrix, err);
    PetscPopErrorHandler();
  }
  if (!s) MPI_Comm_rank(PETSC_COMM_WORLD, &rank), MPI_Comm_size(PETSC_COMM_WORLD, &ranks);
  if (!s && rank == 0) {
    int64_t nnz = ((const int32_t *)dominant.row_ptr)[dominant.nrows];
    if (!printed++) print_heading(settings, ranks);
    print_type(settings, matrix, nnz, settings->on_gpu ? "aijcusparse" : "aij", &peer);
    print_type(settings, matrix, nnz, "aijmacko", &ours);
    print_ratios(settings, &peer, &ours);
    fflush(stdout);
  }
  macko_free_csr(&dominant);
  return s;
}
