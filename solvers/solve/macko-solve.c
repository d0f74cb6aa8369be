/* macko-solve MATRIX [-rhs FILE] [-json FILE] [PETSc options]: solves A x = b with A stored compressed, and says what it did. */
#include "common/output.h"
#include "solve/check.h"
#include "common/vectors.h"

#include <petsc/private/kspimpl.h>
#include <string.h>

/* The options of aijmacko and their choices are listed from options.def, so that the text names all that there are. */
static const char help[] = "Solves a sparse linear system A x = b whose matrix is stored compressed.\n"
  "usage: macko-solve MATRIX [-rhs FILE] [-solution FILE] [-json FILE] [PETSc options]\n"
  "       mpiexec -n N macko-solve MATRIX ...\n"
  "  MATRIX          .mtx .mtx.gz .rb .rua .rsa .pua .psa .hb .macko, NAME.tar.gz of the SuiteSparse collection, PETSc binary;\n"
  "                  or a grid's: 5-point:N, 9-point:N, 7-point:N, 27-point:N; :random behind it for random values\n"
  "  -rhs FILE       right-hand side: a matrix file of one column or a PETSc binary vector (default: A times ones)\n"
  "  -solution FILE  writes x; Matrix Market where FILE ends in .mtx, else PETSc binary\n"
  "  -json FILE      writes the summary for machines; FILE - prints it instead of the one for people\n"
  "  -ksp_type TYPE  method (default gmres; lsqr for a matrix that is not square): cg, bcgs, minres, ...\n"
  "  -pc_type TYPE   preconditioner (default jacobi; none with lsqr): ilu, asm, gamg, lu, none, ...\n"
  "  -ksp_rtol R     where to stop (default 1e-5)\n"
  "  -ksp_max_it N, -ksp_monitor, -ksp_view, -log_view and every other option of PETSc work\n"
  "  -mat_type TYPE  storage (default aijmacko); aij is PETSc's plain CSR, macko the compressed form alone\n"
  "of aijmacko, which man macko-solve explains:\n"
#define MACKO_OPTION(field, LIST, usual, reader, help) "  -mat_macko_" #field "  " help ":"
#define MACKO_CHOICE(LIST, symbol, name, text) " " #name
#define MACKO_OPTION_END(field, LIST) "\n"
#define MACKO_WITHOUT_TARGET
#include "options.def"
  "  -mat_macko_backend  where products run: auto cpu cuda\n"
  "  -mat_macko_after  products before a matrix is encoded: auto, or a number; here encoded before solving\n"
  "  -mat_macko_base  on a GPU, PETSc's type below: aijcusparse aij\n"
  "  -mat_macko_keep_csr  what aijcusparse keeps on the GPU beside the compressed form: auto yes no\n"
  "  -mat_macko_halo  how ranks exchange entries of vectors on GPUs: auto host peer mpi\n"
  "  -mat_macko_ranks_per_node  how many ranks in a row are taken for a node there, to try that on one\n"
  "  MATRIX -help    lists every option of PETSc too\n"
  "exit status: 0 converged, 2 not, or not by the residual that plain CSR gives, 1 bad input or another error\n";

/* ---- the right-hand side ---- */

/* Fills b from the file of -rhs or, without one, with A times ones: then the solution is known, and *ones says so. */
static PetscErrorCode RightHandSide(const Problem *p, Vec b, PetscBool *ones)
{
  char path[PETSC_MAX_PATH_LEN];
  PetscBool given;
  Vec x;

  PetscFunctionBegin;
  PetscCall(FileOption("-rhs", path, &given));
  *ones = (PetscBool)!given;
  if (given) PetscCall(ProblemLoadVector(p, path, b));
  else {
    PetscCall(MatCreateVecs(p->A, &x, NULL));
    PetscCall(VecSet(x, 1));
    PetscCall(MatMult(p->A, x, b));
    PetscCall(VecDestroy(&x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the solve ---- */

/* Makes the solver: GMRES(30) with Jacobi, which suppose neither symmetry nor definiteness. For a matrix that is not square, or
   with a method for least squares, there is no preconditioner: one of A would not fit the normal equations. What the user sets
   comes last. */
static PetscErrorCode MakeSolver(const Problem *p, Report *r, KSP *ksp)
{
  PC pc;
  char type[64];
  PetscBool square = (PetscBool)(r->rows == r->cols), lsqr, cgls;

  PetscFunctionBegin;
  /* -ksp_type is looked at before there is a solver, because the preconditioner depends on it. */
  PetscCall(PetscStrncpy(type, square ? KSPGMRES : KSPLSQR, sizeof type));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-ksp_type", type, sizeof type, NULL));
  PetscCall(PetscStrcmp(type, KSPLSQR, &lsqr));
  PetscCall(PetscStrcmp(type, KSPCGLS, &cgls));
  r->least_squares = (PetscBool)(lsqr || cgls);
  PetscCheck(square || r->least_squares, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ,
             "%s: %lld x %lld is not square, which -ksp_type %s cannot solve; lsqr and cgls can", r->path, (long long)r->rows,
             (long long)r->cols, type);
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, p->A, p->A));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, r->least_squares ? PCNONE : PCJACOBI));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Says what makes this method judge by the residual itself, if its preconditioner should mislead it. PETSc tells which norms a
   method can watch only in its private header. */
static PetscErrorCode Advise(KSP ksp, PetscBool least_squares, const char **advice)
{
  KSPNormType norm;
  PCSide side;
  PC pc;
  PetscBool plain;

  PetscFunctionBegin;
  PetscCall(KSPGetNormType(ksp, &norm));
  PetscCall(KSPGetPCSide(ksp, &side));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCNONE, &plain));
  if (least_squares && !plain) {
    *advice = "a preconditioner of A does not fit the normal equations: -pc_type none";
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* The natural norm is that of r in the inner product with A: r'A r may be 0, or less, with an r as large as b. */
  if (norm == KSP_NORM_NATURAL)
    *advice = "its natural norm is one for positive definite matrices only: -ksp_type gmres -ksp_pc_side right has another";
  /* A method that watches the residual itself updates it at every step instead of computing it anew, so it can drift. */
  else if (norm == KSP_NORM_UNPRECONDITIONED || (norm == KSP_NORM_PRECONDITIONED && plain))
    *advice = "the method's own count of it drifted: a smaller -ksp_rtol or another -ksp_type";
  else if (ksp->normsupporttable[KSP_NORM_UNPRECONDITIONED][side])
    *advice = "-ksp_norm_type unpreconditioned makes this method watch that";
  else if (ksp->normsupporttable[KSP_NORM_UNPRECONDITIONED][PC_RIGHT]) *advice = "-ksp_pc_side right makes this method watch that";
  else *advice = "this method cannot watch that; -ksp_type cg or gmres can, or take a smaller -ksp_rtol";
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keeps in *r what the solver was and how it ended, since both are asked for after its life. */
static PetscErrorCode Collect(KSP ksp, Report *r)
{
  KSPType type;
  PCType pc_type;
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPGetTolerances(ksp, &r->rtol, &r->atol, NULL, NULL));
  PetscCall(Advise(ksp, r->least_squares, &r->advice));
  PetscCall(KSPGetIterationNumber(ksp, &r->iterations));
  PetscCall(KSPGetConvergedReason(ksp, &r->reason));
  ReportReason(r->reason, r->reason_words, sizeof r->reason_words);
  PetscCall(KSPGetType(ksp, &type));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCGetType(pc, &pc_type));
  PetscCall(PetscStrncpy(r->ksp, type, sizeof r->ksp));
  PetscCall(PetscStrncpy(r->pc, pc_type, sizeof r->pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's LSQR divides by ||A'b|| before it looks at it. Where that is 0 no x leaves less of b than x = 0, which then is the
   solution, and CGLS ends with it. */
static PetscErrorCode SolveWithoutMethod(const Problem *p, Vec b, Vec x, Report *r)
{
  Vec right;
  PetscReal norm;

  PetscFunctionBegin;
  if (!r->least_squares || (r->reason != KSP_DIVERGED_NANORINF && r->reason != KSP_DIVERGED_BREAKDOWN))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecDuplicate(x, &right));
  PetscCall(MatMultTranspose(p->A, b, right));
  PetscCall(VecNorm(right, NORM_2, &norm));
  PetscCall(VecDestroy(&right));
  if (norm != 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecSet(x, 0));
  r->reason = KSP_CONVERGED_ATOL;
  snprintf(r->reason_words, sizeof r->reason_words, "A'b is 0, so that x = 0 is the solution (CONVERGED_ATOL)");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Encodes, sets up and solves, and notes the seconds of each, of the slowest rank. Encoding comes first, so that no part of it is
   in the time of another; KSPSetUpOnBlocks does what block preconditioners would put off to the solve. */
static PetscErrorCode Solve(const Problem *p, Vec b, Vec x, Report *r)
{
  KSP ksp;
  PetscLogDouble clock[4], encode, before, after;

  PetscFunctionBegin;
  PetscCall(MakeSolver(p, r, &ksp));
  PetscCall(StorageEncode(p->A, &encode));
  PetscCall(PetscTime(&clock[0]));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPSetUpOnBlocks(ksp));
  PetscCall(PetscTime(&clock[1]));
  PetscCall(StorageProductSeconds(&before));
  PetscCall(PetscTime(&clock[2]));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(PetscTime(&clock[3]));
  PetscCall(StorageProductSeconds(&after));
  /* Ranks wait for each other in every product: the slowest one is what a user waits for. */
  PetscLogDouble mine[] = {encode, clock[1] - clock[0], clock[3] - clock[2], after - before}, slowest[4];
  PetscCallMPI(MPI_Allreduce(mine, slowest, 4, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  r->encode = slowest[0], r->setup = slowest[1], r->solve = slowest[2], r->products = slowest[3];
  PetscCall(Collect(ksp, r));
  PetscCall(SolveWithoutMethod(p, b, x, r));
  PetscCall(StorageCollect(p, &r->storage));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- files ---- */

/* Refuses files that cannot be written or are read, `matrix` being the first of these, and options without a name, before anything
   is computed for them. */
static PetscErrorCode CheckFileOptions(const char *matrix)
{
  static const char *const outputs[] = {"-json", "-solution"};
  char path[PETSC_MAX_PATH_LEN];
  PetscBool given;

  PetscFunctionBegin;
  PetscCall(FileOption("-rhs", path, &given));
  PetscCall(OutputCheck("-json"));
  PetscCall(VectorsCheck("-solution"));
  PetscCall(OutputsApart(2, outputs));
  PetscCall(OutputsSpare(2, outputs, matrix));
  if (given) PetscCall(OutputsSpare(2, outputs, path));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints the summary, unless standard output is to hold JSON, and writes the files that were asked for. */
static PetscErrorCode Tell(const Problem *p, Vec x, const Report *r)
{
  char path[PETSC_MAX_PATH_LEN];
  PetscBool given, machine;

  PetscFunctionBegin;
  PetscCall(OutputIsStandard("-json", &machine));
  if (!machine) PetscCall(ReportPrint(p, r));
  PetscCall(FileOption("-json", path, &given));
  if (given) PetscCall(ReportSave(p, r, path));
  PetscCall(FileOption("-solution", path, &given));
  if (given) PetscCall(VectorsSave(1, &x, path));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does everything. The right-hand side is made with the matrix as it was read, before conversion, and copied: vectors that belong
   to the converted matrix may live on a device. */
static PetscErrorCode Run(const char *path, int *status)
{
  Problem p;
  Report r;
  Vec x, b, plain;

  PetscFunctionBegin;
  memset(&r, 0, sizeof r);
  r.path = path;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &r.ranks));
  PetscCall(CheckFileOptions(path));
  PetscCall(ProblemLoad(PETSC_COMM_WORLD, path, PETSC_TRUE, &p));
  PetscCall(MatGetSize(p.A, &r.rows, &r.cols));
  PetscCheck(r.rows && r.cols, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ, "%s: %lld x %lld: there is nothing to solve", path,
             (long long)r.rows, (long long)r.cols);
  /* This vector fits the matrix as it was read. */
  PetscCall(MatCreateVecs(p.A, NULL, &plain));
  PetscCall(RightHandSide(&p, plain, &r.ones));
  PetscCall(ProblemConvert(&p));
  /* Vectors are made again once the matrix has its type. */
  PetscCall(MatCreateVecs(p.A, &x, &b)); /* on the device, where the type of the matrix lives there */
  PetscCall(VecCopy(plain, b));
  PetscCall(VecDestroy(&plain));
  PetscCall(Solve(&p, b, x, &r));
  PetscCall(CheckWithPlainCSR(&p, b, x, &r));
  PetscCall(Tell(&p, x, &r));
  *status = r.converged ? STATUS_FINE : STATUS_NOT_CONVERGED;
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The third member is for someone who names two files. */
int main(int argc, char **argv)
{
  static const char *const options[] = {"json", "rhs", "solution", NULL};
  static const Program program = {"macko-solve", help, "-rhs FILE names a right-hand side", options, Run};
  return ProgramMain(&program, argc, argv);
}
