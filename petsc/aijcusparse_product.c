/* Standing on AIJCUSPARSE: products of sparse matrices, which that type does on the GPU for matrices of its own name. */
#include "aijcusparse.h"

#if MACKO_ON_CUSPARSE

/* Products call others for their parts. What those make is for the outermost product alone and stays as that type made it, so
   that this counts how deep a call is. */
static int depth = 0;

/* Matrices of other types, as AIJ's own results, stay what they are. */
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

/* These are the names of a product's operands and of its result, for one call of that type. */
typedef struct {
  MackoAlias of[4];
} Aliases;

/* The operands' arrays are marked as used, because a product of sparse matrices is often repeated with new values. */
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

/* The names come back in the opposite order, since one matrix may be several operands. */
static PetscErrorCode Answered(Aliases *aliases)
{
  PetscFunctionBegin;
  depth--;
  for (int i = 3; i >= 0; i--) PetscCall(MackoAnswered(&aliases->of[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Says whether A, under the name it answers to, stands on that type and is not bound to the CPU. */
static PetscErrorCode IsDevice(Mat A, PetscBool *device)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, device, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  *device = (PetscBool)(*device && !A->boundtocpu);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Says whether an option asks for AIJ's product, on the CPU. PETSc has one for each function that multiplies, and one for
   MatProduct; products that it has none for are not listed. */
static PetscErrorCode OptionWantsHost(Mat C, PetscBool *host)
{
  static const char *const of[MATPRODUCT_ABC + 1] = {
    [MATPRODUCT_AB] = "-matmatmult_backend_cpu",  [MATPRODUCT_AtB] = "-mattransposematmult_backend_cpu",
    [MATPRODUCT_PtAP] = "-matptap_backend_cpu",   [MATPRODUCT_RARt] = "-matrart_backend_cpu",
    [MATPRODUCT_ABC] = "-matmatmatmult_backend_cpu",
  };
  const char *name = of[C->product->type];

  PetscFunctionBegin;
  *host = PETSC_FALSE;
  if (name && !C->product->api_user) name = "-mat_product_algorithm_backend_cpu";
  if (name) PetscCall(PetscOptionsGetBool(((PetscObject)C)->options, ((PetscObject)C)->prefix, name, host, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Says whether some operand is not that type's, or bound to the CPU: AIJ then does the product. */
static PetscErrorCode OperandOnHost(Mat C, PetscBool *host)
{
  Mat       of[3] = {C->product->A, C->product->B, C->product->type == MATPRODUCT_ABC ? C->product->C : NULL};
  PetscBool device;

  PetscFunctionBegin;
  *host = PETSC_FALSE;
  for (int i = 0; i < 3 && of[i]; i++) {
    PetscCall(IsDevice(of[i], &device));
    *host = (PetscBool)(*host || !device);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ reads arrays on the host without a look at where the values are: so they are brought there. */
static PetscErrorCode BringToHost(Mat C)
{
  Mat of[3] = {C->product->A, C->product->B, C->product->type == MATPRODUCT_ABC ? C->product->C : NULL};

  PetscFunctionBegin;
  for (int i = 0; i < 3 && of[i]; i++)
    if (MackoOf(of[i])) PetscCall(MackoValuesToHost(of[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product sets this up for its numeric part. It lies in the place of the product's data, which that part finds there while it
   runs. */
typedef struct {
  void              *data;
  PetscCtxDestroyFn *destroy;
  PetscErrorCode (*numeric)(Mat);
  PetscBool by_aij; /* AIJ was asked to do the product when it was set up */
} Inner;

/* PETSc calls this when the product goes; it destroys the inner data as the product itself would have. */
static PetscErrorCode DestroyInner(PetscCtxRt data)
{
  Inner *inner = *(Inner **)data;

  PetscFunctionBegin;
  if (inner->destroy) PetscCall((*inner->destroy)(&inner->data));
  PetscCall(PetscFree(inner));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Numeric(Mat C);

/* Says whether AIJ does the product, and then brings the operands' values to the host. Called under that type's names. */
static PetscErrorCode PrepareHost(Mat C, const Inner *inner, PetscBool *host)
{
  PetscFunctionBegin;
  PetscCall(OperandOnHost(C, host));
  *host = (PetscBool)(*host || inner->by_aij);
  if (*host) PetscCall(BringToHost(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Exchanges what C's product calls, and the data of that, for what inner holds. */
static void Exchange(Mat C, Inner *inner)
{
  const Inner kept = *inner;

  inner->data            = C->product->data;
  inner->destroy         = C->product->destroy;
  inner->numeric         = C->ops->productnumeric;
  C->product->data       = kept.data;
  C->product->destroy    = kept.destroy;
  C->ops->productnumeric = kept.numeric;
}

/* Puts inner into the product's data, and our numeric part into the place of the one that was set up. */
static void Wrap(Mat C, Inner *inner)
{
  inner->data    = inner;
  inner->destroy = DestroyInner;
  inner->numeric = Numeric;
  Exchange(C, inner);
}

/* The product's own data and functions are put back for the call, and afterwards what was there before, whether or not it failed,
   so that the product can be repeated. What was there need not be ours: a product with a matrix that stands for a transpose keeps
   our data in its own. */
static PetscErrorCode CallInner(Mat C, Inner *inner)
{
  PetscErrorCode error;

  PetscFunctionBegin;
  Exchange(C, inner);
  error = (*C->ops->productnumeric)(C);
  Exchange(C, inner);
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* If AIJ did the product, the result's values on the host are the newer ones. */
static PetscErrorCode Numeric(Mat C)
{
  Inner         *inner = C->product ? (Inner *)C->product->data : NULL;
  Aliases        aliases;
  PetscErrorCode error;
  PetscBool      host;

  PetscFunctionBegin;
  PetscCheck(inner, PetscObjectComm((PetscObject)C), PETSC_ERR_PLIB, "a product of matrices was not set up");
  PetscCall(MackoCusparseRetrieve(C));
  PetscCall(Answer(C, &aliases));
  error = PrepareHost(C, inner, &host);
  if (!error) error = CallInner(C, inner);
  PetscCall(Answered(&aliases));
  PetscCall(error);
  if (host && MackoOf(C)) PetscCall(MackoChangedOnHost(C));
  PetscCall(MackoTakeResult(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Returns the kind that stands on AIJ where that one stands on AIJCUSPARSE. */
static const MackoKind *HostOf(const MackoKind *kind)
{
  return kind == &MackoSeqDevice ? &MackoSeqHost : &MackoMPIHost;
}

/* Sets *f to the function that PETSc, or MackoFindProduct, would call for C, and says whether AIJ is asked to do the product. *f is
   AIJ's own where a diagonal is asked for, of which cuSPARSE makes no entries that the product has not. It is looked for again,
   because there is nowhere to keep what MackoCusparseProduct was given: the product's data must be empty until the symbolic
   part. */
static PetscErrorCode Find(Mat C, PetscErrorCode (**f)(Mat), PetscBool *by_aij)
{
  Mat              of[3] = {C->product->A, C->product->B, C->product->type == MATPRODUCT_ABC ? C->product->C : C->product->B};
  const Mat_Macko *m     = MackoOf(of[0]);
  PetscBool        all   = PETSC_TRUE;

  PetscFunctionBegin;
  for (int i = 0; i < 3; i++) all = (PetscBool)(all && of[i]->ops->productsetfromoptions == MackoCusparseProductOf);
  /* Where all operands have our operation, PETSc has called MackoCusparseProductOf; otherwise a function that was found by
     names. */
  PetscCall(OptionWantsHost(C, by_aij));
  if (all && C->force_diagonals) *by_aij = PETSC_TRUE, *f = HostOf(m->kind)->does->ops.productsetfromoptions;
  else if (all) *f = m->kind->does->ops.productsetfromoptions;
  else PetscCall(MackoFindProduct(C, f));
  PetscCheck(*f, PetscObjectComm((PetscObject)C), PETSC_ERR_PLIB, "a product of matrices is no longer possible");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Writes zeros into the values of a sequential result that is not computed yet. AIJCUSPARSE leaves what malloc has given there, and
   copies it to the GPU where the symbolic part of another product reads the result, as that of PtAP does. A kernel of
   cusparseSpGEMM_compute (CUDA 13.0) waits for sums of other blocks to be something else than all ones, in bits: where memory had
   such a NaN it waits for ever. Where the values are is the same afterwards. */
static PetscErrorCode ClearValues(Mat C)
{
  PetscOffloadMask where = C->offloadmask;
  PetscBool        seq;
  PetscScalar     *values;
  MatInfo          info;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)C, MATSEQAIJCUSPARSE, &seq));
  if (!seq || where != PETSC_OFFLOAD_UNALLOCATED) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetInfo(C, MAT_LOCAL, &info));
  PetscCall(MatSeqAIJGetArrayWrite(C, &values));
  if (values) PetscCall(PetscArrayzero(values, (PetscCount)info.nz_used));
  PetscCall(MatSeqAIJRestoreArrayWrite(C, &values));
  C->offloadmask = where;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Has f choose the symbolic part and calls it. f takes one of AIJ's only where there is none yet. */
static PetscErrorCode ChooseSymbolic(Mat C, PetscErrorCode (*f)(Mat))
{
  PetscFunctionBegin;
  C->ops->productsymbolic = NULL;
  PetscCall((*f)(C));
  PetscCheck(C->ops->productsymbolic, PetscObjectComm((PetscObject)C), PETSC_ERR_SUP,
             "a product of matrices is no longer possible");
  PetscCall((*C->ops->productsymbolic)(C));
  PetscCall(ClearValues(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Comes in the place of the symbolic part. The function for C is called once more under that type's name, since it chooses the
   symbolic part by the names, then that part itself. The result, unless it is part of another product, becomes ours. */
static PetscErrorCode Symbolic(Mat C)
{
  Inner         *inner;
  Aliases        aliases;
  PetscErrorCode error, (*f)(Mat);
  PetscBool      host, by_aij;

  PetscFunctionBegin;
  PetscCall(Find(C, &f, &by_aij));
  PetscCall(PetscNew(&inner));
  inner->by_aij = by_aij;
  PetscCall(Answer(C, &aliases));
  error = PrepareHost(C, inner, &host);
  if (!error) error = ChooseSymbolic(C, f);
  PetscCall(Answered(&aliases));
  C->ops->productsymbolic = Symbolic;
  Wrap(C, inner);
  PetscCall(error);
  PetscCall(MackoTakeResult(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* If f chose a symbolic part, ours takes its place; without one, f has refused. */
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

/* All operands are ours and stand on that type, whose own operation is asked. */
PetscErrorCode MackoCusparseProductOf(Mat C)
{
  PetscFunctionBegin;
  PetscCall(MackoCusparseProduct(C, MackoOf(C->product->A)->kind->does->ops.productsetfromoptions));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
