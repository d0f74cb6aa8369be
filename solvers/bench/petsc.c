/* macko-bench: PETSc's own matrix types for one process. */
#include "bench/petsc.h"
#include "bench/cpu.h"

#include <stdlib.h>
#include <string.h>

/* 1 between bench_start_petsc and bench_close_petsc. */
static int started;

/* Multiplies with several vectors by placing the arrays in dense matrices, so that nothing is copied. */
static PetscErrorCode run_several(const petsc_product *p, const void *x, void *y)
{
  Mat Y = p->Y;
  PetscErrorCode e = MatDensePlaceArray(p->X, x);
  if (!e) e = MatDensePlaceArray(Y, y);
  if (!e) e = MatMatMult(p->A, p->X, MAT_REUSE_MATRIX, PETSC_DEFAULT, &Y);
  if (!e) e = MatDenseResetArray(Y);
  return e ? e : MatDenseResetArray(p->X);
}

/* Multiplies with one vector, whose arrays are placed in PETSc's, or with the number that the method was opened for. */
static macko_status run(const bench_method *m, int k, const void *x, void *y, macko_error *err)
{
  const petsc_product *p = m->own;
  PetscErrorCode e = k > 1 ? run_several(p, x, y) : VecPlaceArray(p->x, x);
  if (k > 1) return e ? bench_refuse(err, MACKO_UNSUPPORTED, m->name, "PETSc reports an error") : MACKO_OK;
  if (!e) e = VecPlaceArray(p->y, y);
  if (!e) e = MatMult(p->A, p->x, p->y);
  if (!e) e = VecResetArray(p->y);
  if (!e) e = VecResetArray(p->x);
  return e ? bench_refuse(err, MACKO_UNSUPPORTED, m->name, "PETSc reports an error") : MACKO_OK;
}

void bench_free_petsc(petsc_product *p, const char *name)
{
  if (p && (MatDestroy(&p->A) || MatDestroy(&p->X) || MatDestroy(&p->Y) || VecDestroy(&p->x) || VecDestroy(&p->y)))
    fprintf(stderr, "%s: PETSc reports an error\n", name);
  free(p);
}

/* m->own is NULL where there is nothing to close any more. */
static void close_method(bench_method *m)
{
  bench_free_petsc(m->own, m->name);
  m->own = NULL;
}

PetscErrorCode bench_put_rows(const macko_csr *a, Mat A)
{
  const PetscInt *row_ptr = a->row_ptr, *cols = a->cols;
  const PetscScalar *values = a->values;
  PetscErrorCode e = 0;
  for (PetscInt r = 0; !e && r < (PetscInt)a->nrows; r++)
    e = MatSetValues(A, 1, &r, row_ptr[r + 1] - row_ptr[r], cols + row_ptr[r], values + row_ptr[r], INSERT_VALUES);
  if (!e) e = MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY);
  return e ? e : MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY);
}

/* Makes a matrix of blocks row by row, with memory for the blocks that are counted first. */
static PetscErrorCode make_baij(const macko_csr *a, int block, Mat *A)
{
  /* seen is for bench_blocks_of_row, and counts for PETSc. */
  int64_t rows = a->nrows / block;
  PetscInt *counts = malloc((size_t)rows * sizeof *counts + 1);
  int32_t *seen = calloc((size_t)(a->ncols / block) + 1, sizeof *seen);
  PetscErrorCode e = counts && seen ? 0 : PETSC_ERR_MEM;
  for (int64_t i = 0; !e && i < rows; i++) counts[i] = (PetscInt)bench_blocks_of_row(a, block, i, seen);
  if (!e) e = MatCreateSeqBAIJ(PETSC_COMM_SELF, block, (PetscInt)a->nrows, (PetscInt)a->ncols, 0, counts, A);
  if (!e) e = bench_put_rows(a, *A);
  free(counts), free(seen);
  return e;
}

/* Makes X and Y, and lets PETSc prepare the product once. */
static PetscErrorCode make_several(const macko_csr *a, int k, petsc_product *p)
{
  PetscErrorCode e = MatCreateSeqDense(PETSC_COMM_SELF, (PetscInt)a->ncols, k, NULL, &p->X);
  return e ? e : MatMatMult(p->A, p->X, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &p->Y);
}

/* Makes the matrix of a type from the caller's arrays, which type aij uses as they are, and notes how long a conversion took and
   how many bytes there are. `block` is 1 for types without blocks. */
static PetscErrorCode make(const char *type, const macko_csr *a, int k, int block, bench_method *m, petsc_product *p)
{
  Mat csr;
  MatInfo info;
  PetscErrorCode e = MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, (PetscInt)a->nrows, (PetscInt)a->ncols, (PetscInt *)a->row_ptr,
                                               (PetscInt *)a->cols, (PetscScalar *)a->values, &csr);
  if (e) return e;
  double start = bench_now();
  if (!strcmp(type, MATSEQAIJ)) p->A = csr;
  else {
    e = strcmp(type, MATSEQBAIJ) ? MatConvert(csr, type, MAT_INITIAL_MATRIX, &p->A) : make_baij(a, block, &p->A);
    m->encode = bench_now() - start;
    if (!e) e = MatDestroy(&csr);
  }
  if (!e) e = VecCreateSeqWithArray(PETSC_COMM_SELF, 1, (PetscInt)a->ncols, NULL, &p->x);
  if (!e) e = VecCreateSeqWithArray(PETSC_COMM_SELF, 1, (PetscInt)a->nrows, NULL, &p->y);
  if (!e && k > 1) e = make_several(a, k, p);
  if (!e) e = MatGetInfo(p->A, MAT_LOCAL, &info);
  if (e) return e;
  /* PETSc counts entries and not their padding, which is in what it has allocated. */
  int64_t entries = (int64_t)(info.nz_allocated > info.nz_used ? info.nz_allocated : info.nz_used);
  m->bytes = 4 * (a->nrows / block + 1) + 8 * entries + 4 * entries / (block * block);
  return e;
}

/* PETSc's own handler of errors would print a trace: this one only returns the code. Its handler of signals would report a crash
 * where a pipe is closed, as by `macko-bench ... | head`, and may wait for ever (program.c). */
macko_status bench_start_petsc(macko_error *err)
{
  if (!started && (PetscOptionsSetValue(NULL, "-no_signal_handler", NULL) || PetscInitializeNoArguments() ||
                   PetscPushErrorHandler(PetscReturnErrorHandler, NULL)))
    return bench_refuse(err, MACKO_UNSUPPORTED, "petsc", "PETSc does not start");
  started = 1;
  return MACKO_OK;
}

/* Only types of one process are compared here, by their names without "seq". */
macko_status bench_open_petsc(int number, int k, const macko_csr *a, bench_method *m, macko_error *err)
{
  static const char *const types[BENCH_PETSC] = {MATSEQAIJ, MATSEQAIJSELL, MATSEQAIJPERM, MATSEQBAIJ};
  /* m->own stays NULL until there is something to close. */
  *m = (bench_method){.run = run, .close = close_method, .peer = 1};
  snprintf(m->name, sizeof m->name, "petsc-%s", types[number] + 3);
  if (a->value_type != MACKO_F64 || sizeof(PetscInt) != 4 || a->row_ptr_type != MACKO_I32 || a->col_type != MACKO_I32)
    return bench_refuse(err, MACKO_UNSUPPORTED, m->name, "f64 and a PETSc of 32-bit indices only");
  /* Only baij has blocks; without a size that suits the matrix it is left out. */
  int block = strcmp(types[number], MATSEQBAIJ) ? 1 : bench_block_size(a);
  if (!strcmp(types[number], MATSEQBAIJ) && block == 1) return bench_refuse(err, MACKO_UNSUPPORTED, m->name, "no blocks");
  macko_status s = bench_start_petsc(err);
  if (s) return s;
  petsc_product *p = m->own = calloc(1, sizeof *p);
  if (!p) return bench_refuse(err, MACKO_OUT_OF_MEMORY, m->name, "no memory");
  return make(types[number], a, k, block, m, p) ? bench_refuse(err, MACKO_UNSUPPORTED, m->name, "PETSc reports an error")
                                                : MACKO_OK;
}

/* The results are printed by then, so that an error is only told. */
void bench_close_petsc(void)
{
  if (started && (PetscPopErrorHandler() || PetscFinalize())) fprintf(stderr, "macko-bench: PETSc does not end well\n");
  started = 0;
}
