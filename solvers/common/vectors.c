/* Vectors as dense Matrix Market files and as PETSc's own. */
#include "common/vectors.h"
#include "common/output.h"

#include <stdint.h>
#include <string.h>

/* v whole on the first rank: *whole there holds its entries, and none on the others. */
static PetscErrorCode Gather(Vec v, Vec *whole)
{
  VecScatter scatter;

  PetscFunctionBegin;
  PetscCall(VecScatterCreateToZero(v, &scatter, whole));
  PetscCall(VecScatterBegin(scatter, v, *whole, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(scatter, v, *whole, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterDestroy(&scatter));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void WriteText(FILE *f, PetscInt n, const PetscScalar *values)
{
  for (PetscInt i = 0; i < n; i++) fprintf(f, "%.17g\n", (double)PetscRealPart(values[i]));
}

static void WriteBigEndian(FILE *f, uint64_t bits, size_t bytes)
{
  for (size_t i = bytes; i-- > 0;) fputc((int)(bits >> 8 * i & 255), f);
}

/* As VecView does: class and length, then the entries. */
static void WriteBinary(FILE *f, PetscInt n, const PetscScalar *values)
{
  WriteBigEndian(f, VEC_FILE_CLASSID, sizeof n);
  WriteBigEndian(f, (uint64_t)n, sizeof n);
  for (PetscInt i = 0; i < n; i++) {
    double value = (double)PetscRealPart(values[i]);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    WriteBigEndian(f, bits, sizeof bits);
  }
}

static PetscErrorCode WriteVector(FILE *f, PetscBool market, Vec v)
{
  Vec whole;
  PetscInt n;
  const PetscScalar *values;

  PetscFunctionBegin;
  PetscCall(Gather(v, &whole));
  PetscCall(VecGetLocalSize(whole, &n));
  PetscCall(VecGetArrayRead(whole, &values));
  if (f && market) WriteText(f, n, values);
  else if (f) WriteBinary(f, n, values);
  PetscCall(VecRestoreArrayRead(whole, &values));
  PetscCall(VecDestroy(&whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode VectorsSave(PetscInt count, const Vec *v, const char *path)
{
  const char *end = strrchr(path, '.');
  PetscBool market = (PetscBool)(end && !strcmp(end, ".mtx"));
  PetscInt rows = 0;
  FILE *f;

  PetscFunctionBegin;
  if (count) PetscCall(VecGetSize(v[0], &rows));
  PetscCall(OutputOpen(path, &f));
  if (f && market) fprintf(f, "%%%%MatrixMarket matrix array real general\n%lld %lld\n", (long long)rows, (long long)count);
  for (PetscInt i = 0; i < count; i++) PetscCall(WriteVector(f, market, v[i]));
  PetscCall(OutputClose(path, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode VectorsCheck(const char *option)
{
  PetscBool standard;

  PetscFunctionBegin;
  PetscCall(OutputCheck(option));
  PetscCall(OutputIsStandard(option, &standard));
  PetscCheck(!standard, PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG, "%s: standard output holds the summary; name a file", option);
  PetscFunctionReturn(PETSC_SUCCESS);
}
