/* Standing on AIJCUSPARSE: products of sparse matrices, which that type does on the GPU for matrices of its own name. */
#include "aijcusparse.h"

#if MACKO_ON_CUSPARSE

/* Products call others for their parts. What those make is for the outermost alone, and stays as that type made it. */
static int depth = 0;

PetscErrorCode MackoTakeResult(Mat A)
{
  PetscBool seq, mpi;

  PetscFunctionBegin;
  if (depth) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJCUSPARSE, &seq));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATMPIAIJCUSPARSE, &mpi));
  if (seq) PetscCall(MackoTakeSeq(A, PETSC_TRUE));
  if (mpi) PetscCall(MackoTakeMPI(A, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operands of a product and its result, under that type's name. */
typedef struct {
  MackoAlias of[4];
} Aliases;

static PetscErrorCode Answer(Mat C, Aliases *aliases)
{
  Mat of[4] = {C->product->A, C->product->B, C->product->C, C};

  PetscFunctionBegin;
  for (int i = 0; i < 4; i++) {
    PetscCall(MackoAnswer(of[i], &aliases->of[i]));
    if (of[i] && MackoOf(of[i])) MackoOf(of[i])->csr_used = PETSC_TRUE;
  }
  depth++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Answered(Aliases *aliases)
{
  PetscFunctionBegin;
  depth--;
  for (int i = 3; i >= 0; i--) PetscCall(MackoAnswered(&aliases->of[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IsDevice(Mat A, PetscBool *device)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, device, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  *device = (PetscBool)(*device && !A->boundtocpu);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Among others AIJ does the product, and reads arrays on the host without a look at where the values are. */
static PetscErrorCode BringToHost(Mat C, PetscBool *host)
{
  Mat       of[3] = {C->product->A, C->product->B, C->product->type == MATPRODUCT_ABC ? C->product->C : NULL};
  PetscBool device;

  PetscFunctionBegin;
  *host = PETSC_FALSE;
  for (int i = 0; i < 3 && of[i]; i++) {
    PetscCall(IsDevice(of[i], &device));
    *host = (PetscBool)(*host || !device);
  }
  for (int i = 0; i < 3 && of[i] && *host; i++)
    if (MackoOf(of[i])) PetscCall(MackoValuesToHost(of[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a product set up for its numeric part; in the place of its data, which that part finds there while it runs. */
typedef struct {
  void              *data;
  PetscCtxDestroyFn *destroy;
  PetscErrorCode (*numeric)(Mat);
} Inner;

static PetscErrorCode DestroyInner(PetscCtxRt data)
{
  Inner *inner = *(Inner **)data;

  PetscFunctionBegin;
  if (inner->destroy) PetscCall((*inner->destroy)(&inner->data));
  PetscCall(PetscFree(inner));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Numeric(Mat C);

static void Wrap(Mat C, Inner *inner)
{
  inner->data            = C->product->data;
  inner->destroy         = C->product->destroy;
  inner->numeric         = C->ops->productnumeric;
  C->product->data       = inner;
  C->product->destroy    = DestroyInner;
  C->ops->productnumeric = Numeric;
}

static PetscErrorCode Numeric(Mat C)
{
  Inner         *inner;
  Aliases        aliases;
  PetscErrorCode error;
  PetscBool      host;

  PetscFunctionBegin;
  PetscCheck(C->product && C->product->destroy == DestroyInner, PetscObjectComm((PetscObject)C), PETSC_ERR_PLIB,
             "a product of matrices was not set up");
  inner                  = (Inner *)C->product->data;
  C->product->data       = inner->data;
  C->product->destroy    = inner->destroy;
  C->ops->productnumeric = inner->numeric;
  PetscCall(MackoCusparseRetrieve(C));
  PetscCall(Answer(C, &aliases));
  error = BringToHost(C, &host);
  if (!error) error = (*inner->numeric)(C);
  PetscCall(Answered(&aliases));
  Wrap(C, inner);
  PetscCall(error);
  if (host && MackoOf(C)) PetscCall(MackoChangedOnHost(C));
  PetscCall(MackoTakeResult(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Asked again, because there is nowhere to keep it: the product's data must be empty until now. */
static PetscErrorCode Find(Mat C, PetscErrorCode (**f)(Mat))
{
  Mat              of[3] = {C->product->A, C->product->B, C->product->type == MATPRODUCT_ABC ? C->product->C : C->product->B};
  const Mat_Macko *m     = MackoOf(of[0]);
  PetscBool        all   = PETSC_TRUE;

  PetscFunctionBegin;
  for (int i = 0; i < 3; i++) all = (PetscBool)(all && of[i]->ops->productsetfromoptions == MackoCusparseProductOf);
  if (all) *f = m->kind->does->ops.productsetfromoptions;
  else PetscCall(MackoFindProduct(C, f));
  PetscCheck(*f, PetscObjectComm((PetscObject)C), PETSC_ERR_PLIB, "a product of matrices is no longer possible");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Symbolic(Mat C)
{
  Inner         *inner;
  Aliases        aliases;
  PetscErrorCode error, (*f)(Mat);
  PetscBool      host;

  PetscFunctionBegin;
  PetscCall(Find(C, &f));
  PetscCall(PetscNew(&inner));
  PetscCall(Answer(C, &aliases));
  error = BringToHost(C, &host);
  if (!error) error = (*f)(C);
  if (!error) error = (*C->ops->productsymbolic)(C);
  PetscCall(Answered(&aliases));
  C->ops->productsymbolic = Symbolic;
  Wrap(C, inner);
  PetscCall(error);
  PetscCall(MackoTakeResult(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoCusparseProduct(Mat C, PetscErrorCode (*f)(Mat))
{
  Aliases        aliases;
  PetscErrorCode error;

  PetscFunctionBegin;
  PetscCall(Answer(C, &aliases));
  error = (*f)(C);
  PetscCall(Answered(&aliases));
  PetscCall(error);
  if (C->ops->productsymbolic) C->ops->productsymbolic = Symbolic;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoCusparseProductOf(Mat C)
{
  PetscFunctionBegin;
  PetscCall(MackoCusparseProduct(C, MackoOf(C->product->A)->kind->does->ops.productsetfromoptions));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
