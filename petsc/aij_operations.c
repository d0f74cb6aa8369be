/* The operations of the types that ours stand on, taken from a fresh matrix and given back, and what both of ours do around them
 * alike. */
#include "matmacko.h"

#include <petscdevice.h>
#include <string.h>

/* What the types below do is the same for all of their matrices, so it is saved once a process and kind, not with each matrix: a
   header merge may part a matrix from what it remembers. */
static MackoBase seq_host, seq_device, mpi_host, mpi_device;

/* A kind has our name of the type, the name of the type below, whether that is AIJCUSPARSE, and where its functions are saved.
   The kinds on the CPU and on the GPU share our name, so that users need to know one type only. */
const MackoKind MackoSeqHost   = {MATSEQAIJMACKO, MATSEQAIJ, PETSC_FALSE, &seq_host};
const MackoKind MackoSeqDevice = {MATSEQAIJMACKO, MATSEQAIJCUSPARSE, PETSC_TRUE, &seq_device};
const MackoKind MackoMPIHost   = {MATMPIAIJMACKO, MATMPIAIJ, PETSC_FALSE, &mpi_host};
const MackoKind MackoMPIDevice = {MATMPIAIJMACKO, MATMPIAIJCUSPARSE, PETSC_TRUE, &mpi_device};

/* Copies A's operations and the composed functions that ours replace somewhere. A function that this type does not have is saved
   as NULL. */
static PetscErrorCode Save(Mat A, MackoBase *base)
{
  PetscObject a = (PetscObject)A;

  PetscFunctionBegin;
  base->ops = A->ops[0];
  PetscCall(PetscObjectQueryFunction(a, "MatStoreValues_C", &base->storevalues));
  PetscCall(PetscObjectQueryFunction(a, "MatRetrieveValues_C", &base->retrievevalues));
  PetscCall(PetscObjectQueryFunction(a, "MatSeqAIJKron_C", &base->kron));
  PetscCall(PetscObjectQueryFunction(a, "MatMPIAIJSetPreallocation_C", &base->setpreallocation));
  PetscCall(PetscObjectQueryFunction(a, "MatSetPreallocationCOO_C", &base->preallocatecoo));
  PetscCall(PetscObjectQueryFunction(a, "MatSetValuesCOO_C", &base->setvaluescoo));
  PetscCall(PetscObjectQueryFunction(a, "MatSeqAIJCopySubArray_C", &base->copysubarray));
  PetscCall(PetscObjectQueryFunction(a, "MatMPIAIJGetLocalMatMerge_C", &base->getlocalmerge));
  base->saved = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A itself serves where it is still of that type, fresh or assembled, which saves making a matrix. */
PetscErrorCode MackoFindBase(const MackoKind *kind, Mat A)
{
  Mat       plain;
  PetscBool same;

  PetscFunctionBegin;
  if (kind->does->saved) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrcmp(((PetscObject)A)->type_name, kind->base, &same));
  if (same) {
    PetscCall(Save(A, kind->does));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatCreate(PETSC_COMM_SELF, &plain));
  PetscCall(MatSetType(plain, kind->base));
  if (!kind->does->saved) PetscCall(Save(plain, kind->does)); /* with -mat_seqaij_type seqaijmacko plain came by here */
  PetscCall(MatDestroy(&plain));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets only what ours replace: the rest may have changed since, as AIJ chooses some functions by what a matrix looks like. */
PetscErrorCode MackoSetBase(Mat A, const MackoBase *base)
{
  PetscObject a = (PetscObject)A;

  PetscFunctionBegin;
  A->ops->mult                      = base->ops.mult;
  A->ops->multadd                   = base->ops.multadd;
  A->ops->multtranspose             = base->ops.multtranspose;
  A->ops->multtransposeadd          = base->ops.multtransposeadd;
  A->ops->multhermitiantranspose    = base->ops.multhermitiantranspose;
  A->ops->multhermitiantransposeadd = base->ops.multhermitiantransposeadd;
  A->ops->view                      = base->ops.view;
  A->ops->destroy                   = base->ops.destroy;
  A->ops->assemblyend               = base->ops.assemblyend;
  A->ops->setoption                 = base->ops.setoption;
  A->ops->setfromoptions            = base->ops.setfromoptions;
  A->ops->bindtocpu                 = base->ops.bindtocpu;
  A->ops->duplicate                 = base->ops.duplicate;
  A->ops->transpose                 = base->ops.transpose;
  A->ops->load                      = base->ops.load;
  A->ops->getdiagonal               = base->ops.getdiagonal;
  A->ops->zerorows                  = base->ops.zerorows;
  A->ops->zerorowscolumns           = base->ops.zerorowscolumns;
  A->ops->scale                     = base->ops.scale;
  A->ops->diagonalscale             = base->ops.diagonalscale;
  A->ops->axpy                      = base->ops.axpy;
  A->ops->zeroentries               = base->ops.zeroentries;
  A->ops->productsetfromoptions     = base->ops.productsetfromoptions;
  A->ops->setup                     = base->ops.setup;
  A->ops->convertfrom               = base->ops.convertfrom;
  PetscCall(PetscObjectComposeFunction(a, "MatStoreValues_C", base->storevalues));
  PetscCall(PetscObjectComposeFunction(a, "MatRetrieveValues_C", base->retrievevalues));
  PetscCall(PetscObjectComposeFunction(a, "MatSeqAIJKron_C", base->kron));
  PetscCall(PetscObjectComposeFunction(a, "MatMPIAIJSetPreallocation_C", base->setpreallocation));
  PetscCall(PetscObjectComposeFunction(a, "MatSetPreallocationCOO_C", base->preallocatecoo));
  PetscCall(PetscObjectComposeFunction(a, "MatSetValuesCOO_C", base->setvaluescoo));
  PetscCall(PetscObjectComposeFunction(a, "MatSeqAIJCopySubArray_C", base->copysubarray));
  PetscCall(PetscObjectComposeFunction(a, "MatMPIAIJGetLocalMatMerge_C", base->getlocalmerge));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ on the host is bound to the CPU from birth and hands out host vectors, which is restored; AIJCUSPARSE keeps both as they
   are. What ours remembers goes before the name does. */
PetscErrorCode MackoRestoreBase(Mat A)
{
  const MackoKind *kind = MackoOf(A)->kind;

  PetscFunctionBegin;
  PetscCall(MackoSetBase(A, kind->does));
  if (!kind->device) {
    MackoMarkBound(A, PETSC_TRUE);
    PetscCall(MackoPlainVectors(A));
  }
  PetscCall(MackoFree(A));
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, kind->base));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ's own function copies from the arrays on the host, without a look at where the newest values are, so they are brought there
   first. */
static PetscErrorCode MatStoreValues_AIJMacko(Mat A)
{
  const MackoBase *base = MackoOf(A)->kind->does;

  PetscFunctionBegin;
  PetscCall(MackoValuesToHost(A));
  PetscCall((*base->storevalues)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ's own function changes the values without a new state; without one the compressed form would be taken for fresh. */
static PetscErrorCode MatRetrieveValues_AIJMacko(Mat A)
{
  const MackoBase *base = MackoOf(A)->kind->does;

  PetscFunctionBegin;
  PetscCall((*base->retrievevalues)(A));
  PetscCall(MackoChangedOnHost(A));
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ's own function reads the values on the host and would crash on an array in GPU memory. All ranks refuse such an array if
   one rank has it, so that none waits for the others. */
static PetscErrorCode MatSetValuesCOO_AIJMacko(Mat A, const PetscScalar v[], InsertMode mode)
{
  PetscFunctionBegin;
  if (MackoDeviceVectors()) {
    PetscMemType where;
    PetscBool    any;
    /* A rank without entries may have no array, which counts as one of the host. */
    PetscCall(PetscGetMemType(v, &where));
    PetscCall(MackoOnAny(A, PetscMemTypeDevice(where), &any));
    PetscCheck(!any, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
               "MatSetValuesCOO: the values are in GPU memory, and a matrix of type %s takes them from host memory: copy them "
               "there first, as with cudaMemcpy",
               ((PetscObject)A)->type_name);
  }
  PetscCall((*MackoOf(A)->kind->does->setvaluescoo)(A, v, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An AIJ that PETSc has factored in its place keeps our operations and our name, but holds what a factor of plain AIJ held, without
   our struct (MatHeaderMerge). It is sequential, is asked for solves and views only, and AIJ's functions serve it. */
static const MackoBase *Below(Mat A)
{
  const Mat_Macko *m = MackoOf(A);
  return m ? m->kind->does : MackoSeqHost.does;
}

/* What the type below shows comes first, then, for viewers that ask for information, what is stored. */
static PetscErrorCode MatView_AIJMacko(Mat A, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall((*Below(A)->ops.view)(A, viewer));
  PetscCall(MackoView(A, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The parameter has this name because PETSc's macros for options expect it. A matrix that is its own factor has no products, which
   our options are about. */
static PetscErrorCode MatSetFromOptions_AIJMacko(Mat A, MackoOptionItems PetscOptionsObject)
{
  const MackoBase *base = Below(A);

  PetscFunctionBegin;
  if (base->ops.setfromoptions) PetscCall((*base->ops.setfromoptions)(A, PetscOptionsObject));
  if (!MackoOf(A)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscOptionsHeadBegin(PetscOptionsObject, "aijmacko options");
  PetscCall(MackoReadOptions(A, PetscOptionsObject));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy is of A's own type at first, and the caller converts it in place; MatCopy takes entries into a matrix that is of the
   other type already. */
PetscErrorCode MackoBeginConversion(Mat A, MatReuse reuse, Mat *B)
{
  PetscFunctionBegin;
  /* With MAT_INPLACE_MATRIX *B is A itself. */
  if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, B));
  else if (reuse == MAT_REUSE_MATRIX) PetscCall(MatCopy(A, *B, SAME_NONZERO_PATTERN));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The end of an assembly is what makes PETSc leave the hash. */
PetscErrorCode MackoEndHashing(Mat A)
{
  PetscFunctionBegin;
  if (MackoHashActive(A)) {
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The option has no prefix and holds for all matrices: those that PETSc makes of ours, with prefixes of their own, must stand on
   the same type. */
PetscErrorCode MackoReadBase(Mat A, PetscBool *cusparse)
{
  char      text[32];
  PetscBool aij;

  PetscFunctionBegin;
  PetscCall(PetscStrncpy(text, MACKO_ON_CUSPARSE ? "aijcusparse" : "aij", sizeof text));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_macko_base", text, sizeof text, NULL));
  PetscCall(PetscStrcmp(text, "aij", &aij));
  PetscCall(PetscStrcmp(text, "aijcusparse", cusparse));
  PetscCheck(aij || *cusparse, PetscObjectComm((PetscObject)A), PETSC_ERR_USER_INPUT,
             "-mat_macko_base: \"%s\" is none of aij and aijcusparse", text);
  PetscCheck(!*cusparse || MACKO_ON_CUSPARSE, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "-mat_macko_base aijcusparse: needs a PETSc from 3.26 on with CUDA, and a build of macko with CUDA");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The backend has to be read before this is decided, since -mat_macko_backend cpu keeps A on AIJ. */
PetscErrorCode MackoWantsDeviceBase(Mat A, PetscBool *device)
{
  Mat_Macko *m;

  PetscFunctionBegin;
  PetscCall(MackoReadBase(A, device));
  if (!*device || !MackoDeviceVectors()) {
    *device = PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MackoGet(A, &m));
  PetscCall(MackoReadBackend(A, NULL));
  MackoMarkBound(A, PETSC_FALSE); /* every AIJ is born bound to the CPU */
  PetscCall(MackoOnAll(A, MackoDeviceAllowed(A, NULL), device)); /* all ranks or none use it */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Composes the functions that PETSc finds by name and that are the same for all our kinds. A that stands on AIJCUSPARSE keeps that
   type's functions for lists of entries, which take values in GPU memory, too. */
static PetscErrorCode Compose(Mat A, const MackoKind *kind)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatStoreValues_C", MatStoreValues_AIJMacko));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatRetrieveValues_C", MatRetrieveValues_AIJMacko));
  if (!kind->device) PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetValuesCOO_C", MatSetValuesCOO_AIJMacko));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One look tells whether all are still ours, as they go together. */
PetscErrorCode MackoKeepComposed(Mat A)
{
  const Mat_Macko *m = MackoOf(A);
  PetscErrorCode (*retrieve)(Mat) = NULL;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatRetrieveValues_C", &retrieve));
  if (retrieve == MatRetrieveValues_AIJMacko) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Compose(A, m->kind));
  PetscCall(MackoComposeSeq(A, PETSC_TRUE));
  PetscCall(MackoCusparseSetOperations(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoTakeOver(Mat A, const MackoKind *kind)
{
  Mat_Macko *m;

  PetscFunctionBegin;
  PetscCall(MackoGet(A, &m));
  m->kind                = kind;
  A->ops->view           = MatView_AIJMacko;
  A->ops->setfromoptions = MatSetFromOptions_AIJMacko;
  PetscCall(Compose(A, kind));
  MackoMarkBound(A, PETSC_FALSE); /* every AIJ is born bound to the CPU */
  PetscCall(MackoReadBackend(A, NULL));
  PetscCall(MackoChooseVectors(A));
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, kind->name));
  PetscFunctionReturn(PETSC_SUCCESS);
}
