/* Vectors as dense Matrix Market files and as PETSc's own. */
#include "common/vectors.h"
#include "common/output.h"

#include <string.h>

typedef struct {
  PetscInt rows, columns;
  PetscScalar *values;
} Dense;

static void WriteDense(FILE *f, const void *context)
{
  const Dense *d = (const Dense *)context;
  fprintf(f, "%%%%MatrixMarket matrix array real general\n%lld %lld\n", (long long)d->rows, (long long)d->columns);
  for (PetscInt i = 0; i < d->rows * d->columns; i++) fprintf(f, "%.17g\n", (double)PetscRealPart(d->values[i]));
}

/* v whole on the first rank, appended to d there. */
static PetscErrorCode GatherColumn(Vec v, Dense *d)
{
  VecScatter scatter;
  Vec whole;
  PetscInt n;
  const PetscScalar *values;

  PetscFunctionBegin;
  PetscCall(VecScatterCreateToZero(v, &scatter, &whole));
  PetscCall(VecScatterBegin(scatter, v, whole, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(scatter, v, whole, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecGetLocalSize(whole, &n));
  PetscCall(VecGetArrayRead(whole, &values));
  PetscCall(PetscArraycpy(d->values + d->columns * d->rows, values, n));
  PetscCall(VecRestoreArrayRead(whole, &values));
  d->columns++;
  PetscCall(VecDestroy(&whole));
  PetscCall(VecScatterDestroy(&scatter));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode VectorsSave(PetscInt count, const Vec *v, const char *path)
{
  const char *end = strrchr(path, '.');
  PetscBool market = (PetscBool)(end && !strcmp(end, ".mtx"));
  Dense d = {0, 0, NULL};
  PetscViewer viewer = NULL;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (count) PetscCall(VecGetSize(v[0], &d.rows));
  if (market) PetscCall(PetscMalloc1(rank ? 0 : count * d.rows, &d.values));
  else PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, path, FILE_MODE_WRITE, &viewer));
  for (PetscInt i = 0; i < count; i++) {
    if (market) PetscCall(GatherColumn(v[i], &d));
    else PetscCall(VecView(v[i], viewer));
  }
  if (market) PetscCall(OutputSave(path, WriteDense, &d));
  PetscCall(PetscFree(d.values));
  PetscCall(PetscViewerDestroy(&viewer));
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
