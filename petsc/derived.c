/* When -mat_seqaij_type seqaijmacko leaves a new AIJ as PETSc makes it. */
#include "matmacko.h"

typedef PetscErrorCode (*Create)(Mat);

/* How many reasons there are now for that. */
static int reasons = 0;

PetscBool MackoStaysPlain(void)
{
  return (PetscBool)(reasons > 0);
}

void MackoStayPlain(PetscBool plain)
{
  reasons += plain ? 1 : -1;
}

/* ---- types that PETSc derives from a sequential AIJ ---- */

/* A matrix of such a type begins as an AIJ; were that ours, the other type's functions would lie over ours, under its name. It was
   asked for by name, so it is to stay itself. PETSc tells a function that creates a matrix nothing of the type's name, so that each
   type has one of its own here. */
#define TYPES(DO) DO(CRL) DO(CUSPARSE) DO(HIPSPARSE) DO(KOKKOS) DO(MKL) DO(PERM) DO(SELL) DO(VIENNACL)
#define WRAP(TYPE) \
  static Create create##TYPE; \
  static PetscErrorCode Create##TYPE(Mat A) \
  { \
    PetscFunctionBegin; \
    MACKO_STAYING_PLAIN((*create##TYPE)(A)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
TYPES(WRAP)

/* ---- parallel ones: their blocks begin as AIJ when they are preallocated ---- */

typedef PetscErrorCode (*Preallocate)(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[]);
static const char preallocation[] = "MatMPIAIJSetPreallocation_C";

/* AIJCUSPARSE is not among these: its blocks go through conversions that know ours. */
#define PARALLEL_TYPES(DO) DO(CRL) DO(MKL) DO(PERM) DO(SELL)
#define WRAP_PARALLEL(TYPE) \
  static Create      create_parallel##TYPE; \
  static Preallocate preallocate##TYPE; \
  static PetscErrorCode Preallocate##TYPE(Mat A, PetscInt d_nz, const PetscInt d_nnz[], PetscInt o_nz, const PetscInt o_nnz[]) \
  { \
    PetscFunctionBegin; \
    MACKO_STAYING_PLAIN((*preallocate##TYPE)(A, d_nz, d_nnz, o_nz, o_nnz)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  static PetscErrorCode CreateParallel##TYPE(Mat A) \
  { \
    PetscFunctionBegin; \
    PetscCall((*create_parallel##TYPE)(A)); \
    PetscCall(PetscObjectQueryFunction((PetscObject)A, preallocation, &preallocate##TYPE)); \
    PetscCall(PetscObjectComposeFunction((PetscObject)A, preallocation, Preallocate##TYPE)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
PARALLEL_TYPES(WRAP_PARALLEL)

/* ---- plain parallel ones, whose parts may be ours ---- */

static Create         create_parallel;
static PetscErrorCode CreateParallel(Mat A)
{
  PetscFunctionBegin;
  PetscCall((*create_parallel)(A));
  MackoWatchParts(A);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- registration ---- */

/* Puts wrapper, which calls *create, into the place of the function that PETSc has for a type, if there is one. */
static PetscErrorCode Replace(MatType type, Create wrapper, Create *create)
{
  Create now = NULL;

  PetscFunctionBegin;
  PetscCall(PetscFunctionListFind(MatList, type, &now));
  if (!now || now == wrapper) PetscFunctionReturn(PETSC_SUCCESS);
  *create = now;
  PetscCall(MatRegister(type, wrapper));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoWrapDerived(void)
{
  PetscFunctionBegin;
#define REPLACE(TYPE) PetscCall(Replace(MATSEQAIJ##TYPE, Create##TYPE, &create##TYPE));
  TYPES(REPLACE)
#define REPLACE_PARALLEL(TYPE) PetscCall(Replace(MATMPIAIJ##TYPE, CreateParallel##TYPE, &create_parallel##TYPE));
  PARALLEL_TYPES(REPLACE_PARALLEL)
  PetscCall(Replace(MATMPIAIJ, CreateParallel, &create_parallel));
  PetscFunctionReturn(PETSC_SUCCESS);
}
