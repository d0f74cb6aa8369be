/* Other types that PETSc derives from a sequential AIJ. Creating one creates an AIJ first, which -mat_seqaij_type seqaijmacko would
   make ours; that type's functions would then lie over ours, under its name. It was asked for by name, so it is to stay itself. */
#include "matmacko.h"

typedef PetscErrorCode (*Create)(Mat);

/* How many matrices of such types are being created. */
static int creating = 0;

PetscBool MackoCreatesDerived(void)
{
  return (PetscBool)(creating > 0);
}

/* A failure leaves the count as it was. */
static PetscErrorCode Count(Create create, Mat A)
{
  PetscErrorCode error;

  PetscFunctionBegin;
  creating++;
  error = (*create)(A);
  creating--;
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc tells a function that creates a matrix nothing of the type's name, so that each type has one of its own here. */
#define TYPES(DO) DO(CRL) DO(CUSPARSE) DO(HIPSPARSE) DO(KOKKOS) DO(MKL) DO(PERM) DO(SELL) DO(VIENNACL)
#define WRAP(TYPE) \
  static Create create##TYPE; \
  static PetscErrorCode Create##TYPE(Mat A) \
  { \
    return Count(create##TYPE, A); \
  }
TYPES(WRAP)

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
  PetscFunctionReturn(PETSC_SUCCESS);
}
