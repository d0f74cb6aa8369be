#!/bin/bash
# SLEPc's own tutorials, compiled against SLEPc alone and unchanged, must find the same values with the matrix type swapped as with
# aij. MACKO_SLEPC_EXAMPLES names the folder src of them; default: the one that SLEPc installs beside PETSc, then that of Debian's
# libslepc3.18-dev-examples.
plugin=$PWD/.libs/libpetscmacko.so
[ -e "$plugin" ] || { echo "SKIP: the plugin is not built (no PETSc)"; exit 77; }
[ -n "$SLEPC_LIBS" ] || { echo "SKIP: no SLEPc"; exit 77; }
from=$MACKO_SLEPC_EXAMPLES
for share in "$petsc_libdir/.." /usr/share/slepc/*; do
  folder=$share/share/slepc/examples/src
  [ -z "$from" ] && [ -e "$folder/eps/tutorials/ex2.c" ] && from=$folder
done
[ -e "$from/eps/tutorials/ex2.c" ] || { echo "SKIP: no SLEPc tutorials (Debian package libslepc3.18-dev-examples, or MACKO_SLEPC_EXAMPLES)"; exit 77; }
data=${from%/examples/src}/datafiles/matrices
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
bad=0 compared=0 built=" "

build() { # eps/ex2
  case $built in *" $1 "*) return ;; esac
  # shellcheck disable=SC2086
  mpicc $SLEPC_CFLAGS $PETSC_CFLAGS "$from/${1%/*}/tutorials/${1#*/}.c" -o "$dir/${1#*/}" $SLEPC_LIBS $PETSC_LIBS -lm \
    >"$dir/cc.log" 2>&1 || { cat "$dir/cc.log"; echo "FAIL: $1 does not compile"; exit 1; }
  built="$built$1 "
}
values() { # RANKS KIND PROGRAM ARGUMENTS...: "real imaginary" of all values, with all digits
  local n=$1 kind=$2
  shift 2
  timeout 120 ${MPIEXEC:-mpiexec} -n "$n" "$@" "-${kind}_view_values" "ascii:$dir/values:ascii_matlab" -mat_view ::ascii_info \
    >"$dir/out" 2>&1 </dev/null || { tail -5 "$dir/out"; return 1; }
  sed -e 's/^Lambda.*//' -e 's/^Sigma.*//' -e 's/[];]//g' -e 's/i$//' -e 's/\([0-9]\)\([+-][0-9.]*e[+-][0-9]*\)$/\1 \2/' "$dir/values" | grep '[0-9]'
  rm -f "$dir/values"
}
compare() { # eps/ex2 TYPE_OPTION ARGUMENTS...
  local kind=${1%/*} program=$dir/${1#*/} option=$2 n
  build "$1"
  shift 2
  for n in 1 3; do
    compared=$((compared + 1))
    rm -f "$dir/plain" "$dir/ours"
    values $n "$kind" "$program" "$@" "$option" aij >"$dir/plain" &&
      values $n "$kind" "$program" "$@" "$option" aijmacko -dll_append "$plugin" >"$dir/ours" &&
      grep -qE 'type: (seq|mpi)aijmacko' "$dir/out" &&
      paste "$dir/plain" "$dir/ours" | awk '
        NF == 2 { plain = $1; ours = $2; imaginary = 0 }
        NF == 4 { plain = $1; ours = $3; imaginary = $2 - $4 }
        NF != 2 && NF != 4 { exit bad = 1 }
        function size(x) { return x < 0 ? -x : x }
        # Both are within the tolerance 1e-8 of SLEPc of the exact value; where it is 0, of the largest.
        { scale = size(plain) > scale ? size(plain) : scale
          if (size(plain - ours) > 2e-8 * scale || size(imaginary) > 2e-8 * scale) exit bad = 1 }
        END { exit bad || NR == 0 }' && continue
    echo "FAIL on $n ranks: ${program##*/} $* $option"
    tail -5 "$dir/out"
    paste "$dir/plain" "$dir/ours" 2>/dev/null
    bad=1
  done
}

compare eps/ex1 -mat_type -n 100 -eps_nev 3
compare eps/ex2 -mat_type -n 20 -m 17 -eps_nev 4
compare eps/ex2 -mat_type -n 20 -m 17 -eps_nev 4 -eps_smallest_real -eps_type lobpcg -st_pc_type jacobi
compare eps/ex2 -mat_type -n 20 -m 17 -eps_nev 3 -eps_target 3.1 -st_type sinvert -st_pc_type redundant
compare eps/ex5 -mat_type -m 15 -eps_nev 4
compare eps/ex11 -mat_type -n 12 -m 10 -eps_nev 2
compare eps/ex13 -mat_type -n 12 -eps_nev 4 -eps_type krylovschur -st_pc_type redundant
compare eps/ex18 -mat_type -m 15 -eps_nev 3
compare eps/ex19 -dm_mat_type -da_grid_x 8 -da_grid_y 9 -da_grid_z 7 -eps_nev 4 -eps_ncv 24
compare eps/ex24 -mat_type -n 12 -eps_nev 2 -target 3
compare eps/ex41 -mat_type -m 12 -eps_nev 2 -eps_largest_real
compare svd/ex15 -mat_type -n 60 -svd_nsv 3 -svd_type trlanczos
compare svd/ex8 -mat_type -n 40
# Matrices from files. SLEPc's own have 4-byte integers, which a PETSc with 64-bit indices does not read.
matrix=$dir/m.bin second=$dir/diagonal.bin
solvers/macko-solve "${srcdir:-.}/examples/tridiagonal.mtx" -ksp_view_mat binary:"$matrix" >/dev/null || exit 1
awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general\n40 40 40"; for (i = 1; i <= 40; i++) print i, i, 1 + i / 7 }' >"$dir/diagonal.mtx"
solvers/macko-solve "$dir/diagonal.mtx" -ksp_view_mat binary:"$second" >/dev/null || exit 1
compare eps/ex4 -mat_type -file "$matrix" -eps_nev 4
compare eps/ex7 -mat_type -f1 "$matrix" -f2 "$second" -eps_nev 2 -st_pc_type redundant
compare svd/ex14 -mat_type -file "$matrix" -svd_nsv 4
if [ "$(od -An -tx1 -N4 "$matrix")" = "$(od -An -tx1 -N4 "$data/rdb200.petsc")" ]; then
  compare eps/ex4 -mat_type -file "$data/rdb200.petsc" -eps_nev 4
  compare eps/ex7 -mat_type -f1 "$data/bfw62a.petsc" -f2 "$data/bfw62b.petsc" -eps_nev 4 -st_pc_type redundant
  compare svd/ex14 -mat_type -file "$data/rdb200.petsc" -svd_nsv 4
fi
echo "$compared runs compared"
exit $bad
