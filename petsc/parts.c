/* Parts of a parallel AIJ that are made again. PETSc gathers all rows and columns of a matrix straight into the arrays of a part that
   is there (MAT_REUSE_MATRIX), on the host and without a new state, so that its compressed form would be taken for fresh. */
#include "matmacko.h"

typedef PetscErrorCode (*Create)(Mat, PetscInt, const IS[], const IS[], MatReuse, Mat *[]);

/* PETSc's own functions, which all parallel AIJ have alike. */
static Create create, create_parallel;

static PetscErrorCode NoticeReuse(PetscInt count, MatReuse reuse, Mat parts[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; reuse == MAT_REUSE_MATRIX && i < count; i++) {
    const Mat_Macko *m = MackoOf(parts[i]);
    if (!m || (m->kind != &MackoSeqHost && m->kind != &MackoSeqDevice)) continue;
    PetscCall(MackoChangedOnHost(parts[i]));
    PetscCall(PetscObjectStateIncrease((PetscObject)parts[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreateSubMatrices_MPIAIJ_Noticed(Mat A, PetscInt count, const IS rows[], const IS cols[], MatReuse reuse,
                                                          Mat *parts[])
{
  PetscFunctionBegin;
  PetscCall((*create)(A, count, rows, cols, reuse, parts));
  PetscCall(NoticeReuse(count, reuse, *parts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreateSubMatricesMPI_MPIAIJ_Noticed(Mat A, PetscInt count, const IS rows[], const IS cols[],
                                                             MatReuse reuse, Mat *parts[])
{
  PetscFunctionBegin;
  PetscCall((*create_parallel)(A, count, rows, cols, reuse, parts));
  PetscCall(NoticeReuse(count, reuse, *parts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void MackoWatchParts(Mat A)
{
  if (A->ops->createsubmatrices && A->ops->createsubmatrices != MatCreateSubMatrices_MPIAIJ_Noticed) {
    create                    = A->ops->createsubmatrices;
    A->ops->createsubmatrices = MatCreateSubMatrices_MPIAIJ_Noticed;
  }
  if (A->ops->createsubmatricesmpi && A->ops->createsubmatricesmpi != MatCreateSubMatricesMPI_MPIAIJ_Noticed) {
    create_parallel              = A->ops->createsubmatricesmpi;
    A->ops->createsubmatricesmpi = MatCreateSubMatricesMPI_MPIAIJ_Noticed;
  }
}
