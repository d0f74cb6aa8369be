"""GMRES from Python on a compressed matrix, through petsc4py (Debian package python3-petsc4py).

usage: poisson.py /path/to/libpetscmacko.so [PETSc options]       also under mpiexec"""
import sys

import petsc4py

if len(sys.argv) < 2:
    sys.exit(__doc__)
petsc4py.init(["poisson.py", "-dll_append", sys.argv[1], "-mat_type", "aijmacko"] + sys.argv[2:])
from petsc4py import PETSc  # noqa: E402: options come first

n = 60
A = PETSc.Mat().create()
A.setSizes([n * n, n * n])
A.setFromOptions()  # the type comes from the options; -mat_type aij computes with plain CSR
A.setUp()
for row in range(*A.getOwnershipRange()):
    x, y = row % n, row // n
    A.setValue(row, row, 4)
    for near, inside in ((row - 1, x > 0), (row + 1, x < n - 1), (row - n, y > 0), (row + n, y < n - 1)):
        if inside:
            A.setValue(row, near, -1)
A.assemble()

x, b = A.createVecs()
x.set(1)
A.mult(x, b)
x.set(0)
solver = PETSc.KSP().create()
solver.setOperators(A)
solver.setType("gmres")
solver.setTolerances(rtol=1e-10)
solver.setFromOptions()
solver.solve(b, x)
x.shift(-1)
PETSc.Sys.Print(f"{A.getType()}: {solver.getIterationNumber()} iterations, largest error {x.norm(PETSc.NormType.INFINITY):.2g}")
sys.exit(solver.getConvergedReason() < 0 or x.norm(PETSc.NormType.INFINITY) > 1e-6)
