/* What differs between the PETSc releases from 3.18 on, in one place. */
#ifndef MACKO_COMPAT_H
#define MACKO_COMPAT_H

#include <petsc/private/matimpl.h>

/* 3.18 has no name for success, and matrices that collect entries in a hash came with 3.19. */
#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#define MackoHashActive(A) PETSC_FALSE
/* Dense matrices on the GPU came later with these functions: their arrays are taken to the host here. */
#define MatDenseGetArrayAndMemType(A, a, where)      (*(where) = PETSC_MEMTYPE_HOST, MatDenseGetArray(A, a))
#define MatDenseGetArrayReadAndMemType(A, a, where)  (*(where) = PETSC_MEMTYPE_HOST, MatDenseGetArrayRead(A, a))
#define MatDenseGetArrayWriteAndMemType(A, a, where) (*(where) = PETSC_MEMTYPE_HOST, MatDenseGetArrayWrite(A, a))
#define MatDenseRestoreArrayAndMemType(A, a)         MatDenseRestoreArray(A, a)
#define MatDenseRestoreArrayReadAndMemType(A, a)     MatDenseRestoreArrayRead(A, a)
#define MatDenseRestoreArrayWriteAndMemType(A, a)    MatDenseRestoreArrayWrite(A, a)
#else
#define MackoHashActive(A) ((A)->hash_active)
#endif

/* The sum of the absolute values of a row became an operation of matrices in 3.20; nothing asks for it before. */
#if PETSC_VERSION_LT(3, 20, 0)
#define MackoSetRowSumAbs(A, function) ((void)(A), (void)(function)) /* nothing asks for it */
#else
#define MackoSetRowSumAbs(A, function) ((A)->ops->getrowsumabs = (function))
#endif

/* Since 3.21 a graph for coarsening is told which unknowns of a node to go by. */
#if PETSC_VERSION_LT(3, 21, 0)
#define MackoGraphUnknowns
#else
#define MackoGraphUnknowns PETSC_UNUSED PetscInt count, PETSC_UNUSED PetscInt unknowns[],
#endif

/* MatSetFromOptions hands its items on as a pointer before 3.23; since then their type is a pointer itself. */
#if PETSC_VERSION_LT(3, 23, 0)
typedef PetscOptionItems *MackoOptionItems;
#else
typedef PetscOptionItems MackoOptionItems;
#endif

/* A container's destroy function gets the pointer itself before 3.23, and since then the address of that pointer. */
#if PETSC_VERSION_LT(3, 23, 0)
#define MackoContainerSetDestroy PetscContainerSetUserDestroy
#define MackoDestroyed(argument) (argument)
#else
#define MackoContainerSetDestroy PetscContainerSetCtxDestroy
#define MackoDestroyed(argument) (*(void **)(argument))
#endif

/* AIJCUSPARSE is PETSc's own type for NVIDIA GPUs. Ours stands on it from the version on whose functions ours wraps; with an
   older PETSc ours stands on AIJ. */
#if defined(PETSC_HAVE_CUDA) && defined(MACKO_WITH_CUDA) && PETSC_VERSION_GE(3, 26, 0)
#define MACKO_ON_CUSPARSE 1
#else
#define MACKO_ON_CUSPARSE 0
#endif

/* A matrix that is bound to the CPU stays off GPUs. A PETSc without devices has no place to remember it, and no GPU to keep
   off. */
#if defined(PETSC_HAVE_DEVICE)
#define MackoBoundToCPU(A)       ((A)->boundtocpu)
#define MackoMarkBound(A, bound) ((A)->boundtocpu = (bound))
#else
#define MackoBoundToCPU(A)       PETSC_FALSE
#define MackoMarkBound(A, bound) ((void)(A), (void)(bound))
#endif

#endif
