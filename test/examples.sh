#!/bin/sh
# The examples give the right answers: the tridiagonal matrix sums to 3, and GMRES solves it.
src=${srcdir:-.}
fail() { echo "FAIL: $*"; exit 1; }
text=$(examples/spmv "$src/examples/tridiagonal.mtx") || fail "spmv: $text"
echo "$text" | grep -q "^sum of all entries: 3$" || fail "spmv: $text"
examples/spmv /nonexistent.mtx 2>/dev/null && fail "spmv accepts a file that is not there"
[ -x examples/gmres ] || { echo "gmres is not built (no PETSc)"; exit 0; }
for ranks in 1 3; do
  text=$(${MPIEXEC:-mpiexec} -n $ranks examples/gmres "$src/examples/tridiagonal.mtx" -ksp_rtol 1e-12 -pc_type jacobi -ksp_gmres_restart 50) ||
    fail "gmres on $ranks ranks: $text"
  echo "$text" | awk '{ exit !($1 > 0 && $NF < 1e-9) }' || fail "gmres on $ranks ranks: $text"
done
exit 0
