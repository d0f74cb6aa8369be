/* macko-bench: PETSc's own matrix types on a GPU, for one process: aijcusparse, and sellcuda where this PETSc has it. */
#include "bench/cpu.h"
#include "bench/gpu.h"

#include <stdlib.h>
#include <string.h>

#ifdef HAVE_PETSC
#include "bench/petsc.h"
#endif

#ifdef PETSC_HAVE_CUDA
/* Multiplies on CUDA's default stream, which is the one that is timed. */
static macko_status run(const bench_contender *c, int k, cudaStream_t stream, macko_error *err)
{
  const petsc_product *p = c->own;
  (void)stream;
  const PetscErrorCode e = k > 1 ? MatProductNumeric(p->Y) : MatMult(p->A, p->x, p->y);
  return e ? bench_refuse(err, MACKO_UNSUPPORTED, c->name, "PETSc reports an error") : MACKO_OK;
}

/* c->own is NULL where there is nothing to close any more. */
static void close_peer(bench_contender *c)
{
  bench_free_petsc(c->own, c->name);
  c->own = NULL;
}

/* Makes a matrix row by row, with memory for what the rows have. */
static PetscErrorCode make_matrix(const char *type, const macko_csr *a, Mat *A)
{
  const PetscInt nrows = (PetscInt)a->nrows, ncols = (PetscInt)a->ncols, *row_ptr = a->row_ptr;
  PetscInt *lengths = malloc((size_t)nrows * sizeof *lengths + 1);
  PetscErrorCode e = lengths ? MatCreate(PETSC_COMM_SELF, A) : PETSC_ERR_MEM;
  for (PetscInt r = 0; !e && r < nrows; r++) lengths[r] = row_ptr[r + 1] - row_ptr[r];
  if (!e) e = MatSetSizes(*A, nrows, ncols, nrows, ncols);
  if (!e) e = MatSetType(*A, type);
  /* Each of these does nothing to the other's type. */
  if (!e) e = MatSeqAIJSetPreallocation(*A, 0, lengths);
  if (!e) e = MatSeqSELLSetPreallocation(*A, 0, lengths);
  if (!e) e = bench_put_rows(a, *A);
  free(lengths);
  return e;
}

/* Multiplies once besides, as that is when types copy their matrix to the GPU. */
static PetscErrorCode make(const char *type, const macko_csr *a, int k, bench_contender *c, petsc_product *p)
{
  const PetscInt nrows = (PetscInt)a->nrows, ncols = (PetscInt)a->ncols;
  const double start = bench_gpu_now();
  PetscErrorCode e = make_matrix(type, a, &p->A);
  if (!e) e = VecCreateSeqCUDAWithArray(PETSC_COMM_SELF, 1, ncols, c->x, &p->x);
  if (!e) e = VecCreateSeqCUDAWithArray(PETSC_COMM_SELF, 1, nrows, c->y, &p->y);
  if (!e) e = MatMult(p->A, p->x, p->y);
  if (!e && k > 1) e = MatCreateSeqDenseCUDA(PETSC_COMM_SELF, ncols, k, c->x, &p->X);
  if (!e && k > 1) e = MatCreateSeqDenseCUDA(PETSC_COMM_SELF, nrows, k, c->y, &p->Y);
  if (!e && k > 1) e = MatProductCreateWithMat(p->A, p->X, NULL, p->Y);
  if (!e && k > 1) e = MatProductSetType(p->Y, MATPRODUCT_AB);
  if (!e && k > 1) e = MatProductSetFromOptions(p->Y);
  if (!e && k > 1) e = MatProductSymbolic(p->Y);
  c->preparation = bench_gpu_now() - start;
  return e;
}

/* What PETSc keeps of a matrix is told as the arrays of CSR, as it tells no more of what is on a GPU. */
macko_status bench_open_petsc_gpu(const char *type, const macko_csr *a, int k, bench_contender *c, macko_error *err)
{
  const int several = strcmp(type, "seqsellcuda") != 0; /* by its name, which older PETSc do not define */
  if (a->value_type != MACKO_F64 || sizeof(PetscInt) != 4)
    return snprintf(c->detail, sizeof c->detail, "f64 and a PETSc of 32-bit indices only"), MACKO_OK;
  if (k > 1 && !several) return snprintf(c->detail, sizeof c->detail, "for one vector only"), MACKO_OK;
  /* One process sends nothing, so that PETSc need not refuse an MPI that knows no GPUs. */
  macko_status s = PetscOptionsSetValue(NULL, "-use_gpu_aware_mpi", "0") ? MACKO_UNSUPPORTED : bench_start_petsc(err);
  if (s) return s;
  petsc_product *p = c->own = calloc(1, sizeof *p);
  if (!p) return bench_refuse(err, MACKO_OUT_OF_MEMORY, c->name, "no memory");
  c->close = close_peer, c->bytes = 4 * (a->nrows + 1) + 12 * ((const int32_t *)a->row_ptr)[a->nrows];
  if (make(type, a, k, c, p)) return bench_refuse(err, MACKO_UNSUPPORTED, c->name, "PETSc reports an error");
  c->run = run;
  return MACKO_OK;
}
#else
/* There is no such peer. */
macko_status bench_open_petsc_gpu(const char *type, const macko_csr *a, int k, bench_contender *c, macko_error *err)
{
  (void)type, (void)a, (void)k, (void)err;
  snprintf(c->detail, sizeof c->detail, "built without a PETSc that has CUDA");
  return MACKO_OK;
}
#endif
