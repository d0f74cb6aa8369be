#!/bin/sh
# The examples give the right answers: the tridiagonal matrix sums to 3, and GMRES solves it.
src=${srcdir:-.}
fail() { echo "FAIL: $*"; exit 1; }
text=$(examples/spmv "$src/examples/tridiagonal.mtx") || fail "spmv: $text"
echo "$text" | grep -q "^sum of all entries: 3$" || fail "spmv: $text"
examples/spmv /nonexistent.mtx 2>/dev/null && fail "spmv accepts a file that is not there"
# The tridiagonal matrix has the eigenvalues 2 - 2 cos(2 k pi / 81), k = 1 .. 40.
text=$(examples/lanczos "$src/examples/tridiagonal.mtx") || fail "lanczos: $text"
echo "$text" | awk '{ pi = atan2(0, -1); d = $4 - 2 + 2 * cos(2 * pi / 81); e = $6 - 2 + 2 * cos(80 * pi / 81)
  exit !(NF == 6 && d * d + e * e < 1e-20) }' || fail "lanczos: $text"
printf '%%%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n' >lanczos-test.mtx
text=$(examples/lanczos lanczos-test.mtx 2>&1) && fail "lanczos takes any matrix: $text"
rm -f lanczos-test.mtx
[ "$text" = "lanczos-test.mtx: not stored as a symmetric matrix" ] || fail "lanczos: $text"
# (3 * 30 - 2)^3 nonzeros.
text=$(examples/rows 30) || fail "rows: $text"
echo "$text" | grep -q "^681472 nonzeros" && echo "$text" | grep -q "^rows that differ from the stencil: 0$" || fail "rows: $text"
for n in -5 x 0 3x 99999999999; do
  text=$(examples/rows $n 2>&1) && fail "rows takes $n: $text"
  [ "$text" = "usage: rows [N], a grid of N x N x N points" ] || fail "rows $n: $text"
done
# On a GPU a layer is multiplied in ten ways, none of which is further off than e4m3 may be.
if [ -x examples/linear ]; then
  text=$(examples/linear 96 192 40 2>&1)
  status=$?
  [ $status = 77 ] || [ $status = 0 ] || fail "linear: $text"
  if [ $status = 0 ]; then
    echo "$text" | awk '$2 == "bf16" || $2 == "i8" || $2 == "e4m3" { if ($5 != "-" && $5 > 0.1) exit 1; n++ } END { exit n != 10 }' || fail "linear: $text"
  fi
fi
[ -x examples/gmres ] || { echo "gmres is not built (no PETSc)"; exit 0; }
for ranks in 1 3; do
  text=$(${MPIEXEC:-mpiexec} -n $ranks examples/gmres "$src/examples/tridiagonal.mtx" -ksp_rtol 1e-12 -pc_type jacobi -ksp_gmres_restart 50) ||
    fail "gmres on $ranks ranks: $text"
  echo "$text" | awk '{ exit !($1 > 0 && $NF < 1e-9) }' || fail "gmres on $ranks ranks: $text"
done
# 100 iterations solve a small box, for 7 and 27 points.
for points in 7 27; do
  text=$(${MPIEXEC:-mpiexec} -n 2 examples/scaling -points $points -nx 9 -ny 8 -nz 7 -its 100 -types aij,aijmacko) ||
    fail "scaling: $text"
  echo "$text" | awk -v p=$points '$1 == 2 && $2 == p && $4 > 0 && $5 >= $4 && $6 < 1e-6 { n++ } END { exit !(n == 2) }' ||
    fail "scaling: $text"
done
# Ranks with less than a plane of the box, which have neighbours on several others, on both sides.
for points in 7 27; do
  text=$(${MPIEXEC:-mpiexec} -n 3 examples/scaling -points $points -nx 9 -ny 8 -nz 2 -its 100 -types aij) ||
    fail "scaling with less than a plane: $text"
  echo "$text" | awk -v p=$points '$1 == 3 && $2 == p && $6 < 1e-6 { n++ } END { exit !(n == 1) }' ||
    fail "scaling with less than a plane: $text"
done
exit 0
