/* Whether what a solver gave is an answer. */
#ifndef CHECK_H
#define CHECK_H

#include "solve/report.h"

/* Fills what of *r is computed after the solve: the true residual of x, for least squares also that of the normal equations, and
   the error against ones; and says whether the method converged by them, whatever it thinks. A NaN becomes the reason. p->A
   becomes type aij, but where it was compressed from the start. Collective. */
PetscErrorCode CheckWithPlainCSR(Problem *p, Vec b, Vec x, Report *r);

#endif
