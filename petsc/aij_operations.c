/* AIJ's own operations, taken from a fresh matrix and given back, and what both types do around them alike. */
#include "matmacko.h"

#include <petscdevice.h>
#include <string.h>

MackoBase MackoSeqBase, MackoMPIBase;

PetscErrorCode MackoSaveBase(Mat A, MackoBase *base)
{
  PetscFunctionBegin;
  base->mult             = A->ops->mult;
  base->multadd          = A->ops->multadd;
  base->multtranspose    = A->ops->multtranspose;
  base->multtransposeadd = A->ops->multtransposeadd;
  base->view             = A->ops->view;
  base->destroy          = A->ops->destroy;
  base->assemblyend      = A->ops->assemblyend;
  base->setfromoptions   = A->ops->setfromoptions;
  base->bindtocpu        = A->ops->bindtocpu;
  base->getdiagonal      = A->ops->getdiagonal;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatRetrieveValues_C", &base->retrievevalues));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatSetValuesCOO_C", &base->setvaluescoo));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatSeqAIJKron_C", &base->kron));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatMPIAIJSetPreallocation_C", &base->setpreallocation));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoRestoreBase(Mat A, const MackoBase *base)
{
  PetscFunctionBegin;
  A->ops->mult             = base->mult;
  A->ops->multadd          = base->multadd;
  A->ops->multtranspose    = base->multtranspose;
  A->ops->multtransposeadd = base->multtransposeadd;
  A->ops->view             = base->view;
  A->ops->destroy          = base->destroy;
  A->ops->setfromoptions   = base->setfromoptions;
  A->ops->bindtocpu        = base->bindtocpu;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatRetrieveValues_C", base->retrievevalues));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetValuesCOO_C", base->setvaluescoo));
  MackoMarkBound(A, PETSC_TRUE);
  PetscCall(MackoPlainVectors(A));
  PetscCall(MackoFree(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const MackoBase *BaseOf(Mat A)
{
  return strcmp(((PetscObject)A)->type_name, MATMPIAIJMACKO) ? &MackoSeqBase : &MackoMPIBase;
}

/* AIJ's own changes the values without a new state. */
static PetscErrorCode MatRetrieveValues_AIJMacko(Mat A)
{
  PetscFunctionBegin;
  PetscCall((*BaseOf(A)->retrievevalues)(A));
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ's own reads the values on the host. */
static PetscErrorCode MatSetValuesCOO_AIJMacko(Mat A, const PetscScalar v[], InsertMode mode)
{
  PetscFunctionBegin;
  if (MackoDeviceVectors()) {
    PetscMemType where;
    int          device, any;
    PetscCall(PetscGetMemType(v, &where));
    device = PetscMemTypeDevice(where);
    PetscCallMPI(MPI_Allreduce(&device, &any, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)A)));
    PetscCheck(!any, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
               "MatSetValuesCOO: the values are in GPU memory, and a matrix of type %s takes them from host memory: copy them "
               "there first, as with cudaMemcpy",
               ((PetscObject)A)->type_name);
  }
  PetscCall((*BaseOf(A)->setvaluescoo)(A, v, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatView_AIJMacko(Mat A, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall((*BaseOf(A)->view)(A, viewer));
  PetscCall(MackoView(A, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetFromOptions_AIJMacko(Mat A, MackoOptionItems PetscOptionsObject)
{
  const MackoBase *base = BaseOf(A);

  PetscFunctionBegin;
  if (base->setfromoptions) PetscCall((*base->setfromoptions)(A, PetscOptionsObject));
  PetscOptionsHeadBegin(PetscOptionsObject, "aijmacko options");
  PetscCall(MackoReadOptions(A, PetscOptionsObject));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoBeginConversion(Mat A, MatReuse reuse, Mat *B)
{
  PetscFunctionBegin;
  if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, B));
  else if (reuse == MAT_REUSE_MATRIX) PetscCall(MatCopy(A, *B, SAME_NONZERO_PATTERN));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoEndHashing(Mat A)
{
  PetscFunctionBegin;
  if (MackoHashActive(A)) {
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoTakeOver(Mat A)
{
  Mat_Macko *m;

  PetscFunctionBegin;
  A->ops->view           = MatView_AIJMacko;
  A->ops->setfromoptions = MatSetFromOptions_AIJMacko;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatRetrieveValues_C", MatRetrieveValues_AIJMacko));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetValuesCOO_C", MatSetValuesCOO_AIJMacko));
  MackoMarkBound(A, PETSC_FALSE); /* every AIJ is born bound to the CPU */
  PetscCall(MackoGet(A, &m));
  PetscCall(MackoReadBackend(A, NULL));
  PetscCall(MackoChooseVectors(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
