/* Vectors as dense Matrix Market files and as PETSc's own. */
#include "common/vectors.h"
#include "common/output.h"

#include <stdint.h>
#include <string.h>

/* Makes *whole, a vector of the first rank only, with all entries of v; on the others it has none. The caller destroys it. */
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

/* Writes a column of a dense Matrix Market file, one number a line; 17 digits are enough to read the same double back. */
static void WriteText(FILE *f, PetscInt n, const PetscScalar *values)
{
  for (PetscInt i = 0; i < n; i++) fprintf(f, "%.17g\n", (double)PetscRealPart(values[i]));
}

/* Writes the lowest `bytes` bytes of a number, the highest first. */
static void WriteBigEndian(FILE *f, uint64_t bits, size_t bytes)
{
  for (size_t i = bytes; i-- > 0;) fputc((int)(bits >> 8 * i & 255), f);
}

/* Writes a vector as VecView does: class id and length, of PetscInt's size, then the entries. VecView itself would need a viewer
   of its own, which would not go through output_file.h and leave half a file after an error. */
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

/* Writes one vector, gathered on the first rank; f is NULL on the others. One at a time is gathered, so that memory for one is
   enough. */
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

/* The head of a Matrix Market file needs the number of rows, for which any of the vectors will do. */
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

/* Standard output holds the summary, so vectors cannot go there as well. */
PetscErrorCode VectorsCheck(const char *option)
{
  PetscBool standard;

  PetscFunctionBegin;
  PetscCall(OutputCheck(option));
  PetscCall(OutputIsStandard(option, &standard));
  PetscCheck(!standard, PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG, "%s: standard output holds the summary; name a file", option);
  PetscFunctionReturn(PETSC_SUCCESS);
}
