/* What differs between the PETSc releases from 3.18 on, in one place. */
#ifndef MACKO_COMPAT_H
#define MACKO_COMPAT_H

#include <petsc/private/matimpl.h>

#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#define MackoHashActive(A) PETSC_FALSE
/* Dense matrices on the GPU came later: their arrays are taken to the host. */
#define MatDenseGetArrayReadAndMemType(A, a, where)  (*(where) = PETSC_MEMTYPE_HOST, MatDenseGetArrayRead(A, a))
#define MatDenseGetArrayWriteAndMemType(A, a, where) (*(where) = PETSC_MEMTYPE_HOST, MatDenseGetArrayWrite(A, a))
#define MatDenseRestoreArrayReadAndMemType(A, a)     MatDenseRestoreArrayRead(A, a)
#define MatDenseRestoreArrayWriteAndMemType(A, a)    MatDenseRestoreArrayWrite(A, a)
#else
#define MackoHashActive(A) ((A)->hash_active)
#endif

#if PETSC_VERSION_LT(3, 20, 0)
#define MackoSetRowSumAbs(A, function) ((void)(A), (void)(function)) /* nothing asks for it */
#else
#define MackoSetRowSumAbs(A, function) ((A)->ops->getrowsumabs = (function))
#endif

#if PETSC_VERSION_LT(3, 23, 0)
typedef PetscOptionItems *MackoOptionItems;
#else
typedef PetscOptionItems MackoOptionItems;
#endif

#if PETSC_VERSION_LT(3, 23, 0)
#define MackoContainerSetDestroy PetscContainerSetUserDestroy
#define MackoDestroyed(argument) (argument)
#else
#define MackoContainerSetDestroy PetscContainerSetCtxDestroy
#define MackoDestroyed(argument) (*(void **)(argument))
#endif

/* PETSc's own type for NVIDIA GPUs, which ours stands on where it is as this version has it. */
#if defined(PETSC_HAVE_CUDA) && defined(MACKO_WITH_CUDA) && PETSC_VERSION_GE(3, 26, 0)
#define MACKO_ON_CUSPARSE 1
#else
#define MACKO_ON_CUSPARSE 0
#endif

/* A PETSc without devices has no place to remember it. */
#if defined(PETSC_HAVE_DEVICE)
#define MackoBoundToCPU(A)       ((A)->boundtocpu)
#define MackoMarkBound(A, bound) ((A)->boundtocpu = (bound))
#else
#define MackoBoundToCPU(A)       PETSC_FALSE
#define MackoMarkBound(A, bound) ((void)(A), (void)(bound))
#endif

#endif
