/* Matrices of grids, made from a name. */
#ifndef STENCIL_H
#define STENCIL_H

#include "common/load_matrix.h"

/* Sets *known and makes p->A where name is KIND:N with KIND one of 5-point and 9-point (a grid of N x N), 7-point and 27-point (of
   N x N x N), and no file has this name: Dirichlet boundary, constant coefficients, as macko-bench has them. With `compressed` it is
   of type macko from the start, of which no rank ever has more than a piece as CSR, else of type aij. Collective. Errors:
   PETSC_ERR_ARG_OUTOFRANGE where N^2 or N^3 does not fit PetscInt. */
PetscErrorCode StencilLoad(MPI_Comm comm, const char *name, PetscBool compressed, Problem *p, PetscBool *known);

#endif
