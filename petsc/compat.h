/* What differs between the PETSc releases from 3.18 on, in one place. */
#ifndef MACKO_COMPAT_H
#define MACKO_COMPAT_H

#include <petsc/private/matimpl.h>

#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#define MackoHashActive(A) PETSC_FALSE
#else
#define MackoHashActive(A) ((A)->hash_active)
#endif

#if PETSC_VERSION_LT(3, 23, 0)
typedef PetscOptionItems *MackoOptionItems;
#else
typedef PetscOptionItems MackoOptionItems;
#endif

#endif
