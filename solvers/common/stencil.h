/* Matrices of grids, made from a name. */
#ifndef STENCIL_H
#define STENCIL_H

#include "common/load_matrix.h"

/* Makes p->A and sets *known where name is KIND:N and no file has this name. KIND is 5-point or 9-point for a grid of N x N,
   7-point or 27-point for one of N x N x N: Dirichlet boundary, constant coefficients, as macko-bench has them; or KIND:N:random,
   the same with random values beside the diagonal, symmetric. With `compressed`
   the matrix is of type macko from the start, of which no rank ever has more than a piece as CSR; else of type aij. Collective.
   Errors: PETSC_ERR_ARG_OUTOFRANGE where N^2 or N^3 does not fit PetscInt, PETSC_ERR_ARG_WRONG for another name that begins as that
   of a grid, POINTS-point:, and is no file. */
PetscErrorCode StencilLoad(MPI_Comm comm, const char *name, PetscBool compressed, Problem *p, PetscBool *known);

#endif
