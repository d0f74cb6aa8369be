/* macko-eigs MATRIX [-b MATRIX] [-singular] [SLEPc options]: eigenvalues or singular values of a matrix stored compressed. */
#include "common/output.h"
#include "eigs/eigenpairs.h"
#include "common/vectors.h"

#include <slepcsys.h>
#include <string.h>

/* The options of aijmacko and their choices are listed from options.def, so that the text names all that there are. */
static const char help[] = "Finds eigenvalues or singular values of a sparse matrix that is stored compressed.\n"
  "usage: macko-eigs MATRIX [-b MATRIX] [-singular] [-vectors FILE] [-json FILE] [SLEPc options]\n"
  "       mpiexec -n N macko-eigs MATRIX ...\n"
  "  MATRIX          .mtx .mtx.gz .rb .rua .rsa .pua .psa .hb .macko, NAME.tar.gz of the SuiteSparse collection, PETSc binary\n"
  "  -eps_nev N      how many eigenvalues (default 1), the largest in magnitude unless told otherwise:\n"
  "  -eps_smallest_magnitude, -eps_largest_real, -eps_smallest_real\n"
  "  -eps_target T   nearest T, by shift-and-invert unless -st_type says otherwise\n"
  "  -eps_type TYPE  method (default krylovschur, which is Lanczos with thick restart where the matrix is symmetric)\n"
  "  -b MATRIX       generalized problem A x = k B x\n"
  "  -singular       singular values; for a matrix that is not square anyway. -svd_nsv N, -svd_smallest, -svd_type TYPE\n"
  "  -vectors FILE   writes the vectors (right ones of singular values); -left_vectors FILE the left ones of singular values;\n"
  "                  Matrix Market where FILE ends in .mtx, else PETSc binary\n"
  "  -json FILE      writes the summary for machines; FILE - prints it instead of the one for people\n"
  "  -eps_tol T, -eps_max_it N, -eps_monitor, -log_view and every other option of SLEPc and PETSc work\n"
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
  "exit status: 0 found as many as asked for, 2 not, 1 bad input or another error\n";

/* Reads a matrix into *p, checks it, finds out whether it is symmetric, converts it and encodes it. Seconds are added to *read
   and *encode, since there may be two matrices. Entries are looked at before conversion, while the matrix still is AIJ. */
static PetscErrorCode Prepare(const char *path, Problem *p, PetscLogDouble *read, PetscLogDouble *encode)
{
  PetscInt rows, cols;
  PetscLogDouble seconds;

  PetscFunctionBegin;
  /* PETSC_FALSE: the checks below need a matrix of type aij, also where -mat_type asks for macko. */
  PetscCall(ProblemLoad(PETSC_COMM_WORLD, path, PETSC_FALSE, p));
  PetscCall(MatGetSize(p->A, &rows, &cols));
  PetscCheck(rows && cols, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ, "%s: %lld x %lld: there is nothing to find", path,
             (long long)rows, (long long)cols);
  PetscCall(ProblemCheckFinite(p, path));
  /* A file that stores one triangle has said it already. */
  if (rows == cols && !p->symmetric) PetscCall(ProblemFindSymmetry(p));
  PetscCall(ProblemConvert(p));
  PetscCall(StorageEncode(p->A, &seconds));
  *read += p->read_seconds, *encode += seconds;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prepares B as well, which must have the size of A, already in *r. */
static PetscErrorCode PrepareSecond(const char *path, const Pairs *r, Problem *b, PetscLogDouble *read, PetscLogDouble *encode)
{
  PetscInt rows, cols;

  PetscFunctionBegin;
  PetscCall(Prepare(path, b, read, encode));
  PetscCall(MatGetSize(b->A, &rows, &cols));
  /* One sentence says all that is wrong with the sizes. */
  PetscCheck(r->rows == r->cols && rows == r->rows && cols == r->cols, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ,
             "%s: %lld x %lld, and %s: %lld x %lld: both matrices of A x = k B x must be square and of one size", r->path,
             (long long)r->rows, (long long)r->cols, path, (long long)rows, (long long)cols);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Replaces this rank's seconds by those of the slowest rank. */
static PetscErrorCode CollectSeconds(Pairs *r)
{
  PetscLogDouble mine[] = {r->read, r->encode, r->solve, r->products}, slowest[4];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(mine, slowest, 4, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  r->read = slowest[0], r->encode = slowest[1], r->solve = slowest[2], r->products = slowest[3];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Refuses files that cannot be written or are read, `matrix` being the first of these, and options without a name, before anything
   is computed for them. */
static PetscErrorCode CheckFileOptions(const char *matrix)
{
  static const char *const outputs[] = {"-json", "-vectors", "-left_vectors"};
  char path[PETSC_MAX_PATH_LEN];
  PetscBool given;

  PetscFunctionBegin;
  PetscCall(FileOption("-b", path, &given));
  PetscCall(OutputCheck("-json"));
  PetscCall(VectorsCheck("-vectors"));
  PetscCall(VectorsCheck("-left_vectors"));
  PetscCall(OutputsApart(3, outputs));
  PetscCall(OutputsSpare(3, outputs, matrix));
  if (given) PetscCall(OutputsSpare(3, outputs, path));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Writes the files that were asked for. In *r the vectors `re` are the right ones of triplets and `im` the left ones. */
static PetscErrorCode SaveAll(const Pairs *r, const Problem *a)
{
  char path[PETSC_MAX_PATH_LEN];
  PetscBool given;

  PetscFunctionBegin;
  PetscCall(FileOption("-json", path, &given));
  if (given) PetscCall(PairsSave(r, a, path));
  PetscCall(FileOption("-vectors", path, &given));
  /* Eigenvectors have imaginary parts; the left singular vectors in r->im are another matter. */
  if (given) PetscCall(PairsSaveVectors(r, r->re, r->singular ? NULL : r->im, path));
  PetscCall(FileOption("-left_vectors", path, &given));
  if (given) PetscCall(PairsSaveVectors(r, r->im, NULL, path));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does everything, in the order of the summary: reads, solves, checks by plain CSR, tells. Options that contradict each other are
   refused as soon as the matrices' sizes are known. */
static PetscErrorCode Find(const char *path, int *status)
{
  Problem a, b;
  Pairs r;
  char second[PETSC_MAX_PATH_LEN];
  PetscBool given, left, machine;

  PetscFunctionBegin;
  /* Without -b, b.A stays NULL, which is what all that follow go by. */
  memset(&b, 0, sizeof b);
  memset(&r, 0, sizeof r);
  r.path = path;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &r.ranks));
  PetscCall(CheckFileOptions(path));
  PetscCall(Prepare(path, &a, &r.read, &r.encode));
  PetscCall(MatGetSize(a.A, &r.rows, &r.cols));
  PetscCall(FileOption("-b", second, &given));
  if (given) PetscCall(PrepareSecond(r.second = second, &r, &b, &r.read, &r.encode));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-singular", &r.singular, NULL));
  PetscCheck(!given || !r.singular, PETSC_COMM_WORLD, PETSC_ERR_ARG_INCOMP, "-singular and -b do not go together");
  /* A matrix that is not square has no eigenvalues. */
  r.singular = (PetscBool)(r.singular || r.rows != r.cols);
  PetscCall(PetscOptionsHasName(NULL, NULL, "-left_vectors", &left));
  PetscCheck(!left || r.singular, PETSC_COMM_WORLD, PETSC_ERR_ARG_INCOMP, "-left_vectors: only with singular values");
  if (r.singular) PetscCall(SolveSVD(&a, &r));
  else PetscCall(SolveEPS(&a, &b, &r));
  PetscCall(CollectSeconds(&r));
  /* This comes before PairsCheck, which makes the matrices AIJ again. */
  PetscCall(StorageCollect(&a, &r.storage));
  if (given) PetscCall(StorageCollect(&b, &r.second_storage));
  PetscCall(PairsCheck(&r, &a.A, &b.A));
  /* Nothing may stand beside JSON on standard output. */
  PetscCall(OutputIsStandard("-json", &machine));
  if (!machine) PetscCall(PairsPrint(&r, &a));
  PetscCall(SaveAll(&r, &a));
  *status = r.converged ? STATUS_FINE : STATUS_NOT_CONVERGED;
  PetscCall(PairsDestroy(&r));
  PetscCall(ProblemDestroy(&a));
  PetscCall(ProblemDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Puts SLEPc around the work; PETSc has been started by ProgramMain. */
static PetscErrorCode Run(const char *path, int *status)
{
  PetscFunctionBegin;
  PetscCall(SlepcInitialize(NULL, NULL, NULL, NULL));
  PetscCall(Find(path, status));
  PetscCall(SlepcFinalize());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The third member is for someone who names two files. */
int main(int argc, char **argv)
{
  static const char *const options[] = {"b", "json", "left_vectors", "singular", "vectors", NULL};
  static const Program program = {"macko-eigs", help, "-b MATRIX names the second of a generalized problem", options, Run};
  return ProgramMain(&program, argc, argv);
}
