#!/bin/bash
# macko-eigs on real matrices, symmetric, nonsymmetric, rectangular and singular ones: the values of plain aij.
eigs=solvers/macko-eigs
[ -x $eigs ] || { echo "SKIP: macko-eigs is not built (no SLEPc)"; exit 77; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; cat "$dir/text" 2>/dev/null; exit 1; }
expect() { # STATUS ARGUMENTS...: runs, and compares the exit status
  local want=$1 got=0
  shift
  "$@" >"$dir/text" 2>&1 || got=$?
  [ "$got" = "$want" ] || fail "exit status $got, not $want: $*"
}
values() { # FILE: "real imaginary" or "value" a line
  sed -n -e 's/.*"real": \([^,]*\), "imaginary": \([^,]*\),.*/\1 \2/p' -e 's/.*{"value": \([^,]*\),.*/\1/p' "$1"
}
norm() { # FILE: the norm that the backward errors are relative to, ||A|| + |k|, of the first value whose error is not 0
  sed -n 's/.*"residual": \([^,]*\), .*"backward": \([^}]*\)}.*/\1 \2/p' "$1" | awk '$2 > 0 { print $1 / $2; found = 1; exit } END { if (!found) print 0 }'
}
real=${MACKO_MATRICES:-${srcdir:-.}/../shared/matrices}
compared=0
for m in 494_bus bcsstk13 jagmesh7 bcspwr10 west0479 arc130 rajat19 mbeacxc sherman5 ash219 lp_share1b n3c4-b4 Franz6; do
  [ -e "$real/$m.mtx.gz" ] || continue
  for n in 1 3; do
    for type in aij aijmacko; do
      expect 0 ${MPIEXEC:-mpiexec} -n $n $eigs "$real/$m.mtx.gz" -mat_type $type -eps_nev 4 -svd_nsv 4 -json "$dir/$type.json"
    done
    # Rounding moves an eigenvalue of a matrix far from normal (arc130) by more than its own last digits: by those of ||A||,
    # times a condition number that 1e-12 leaves 4000 for.
    paste -d' ' <(values "$dir/aij.json") <(values "$dir/aijmacko.json") | awk -v norm="$(norm "$dir/aij.json")" '
      NR > 4 { exit }
      { re = NF == 4 ? $1 - $3 : $1 - $2; im = NF == 4 ? $2 - $4 : 0; size = NF == 4 ? sqrt($1 * $1 + $2 * $2) : $1
        if (sqrt(re * re + im * im) > 2e-8 * size + 1e-12 * norm) { print; exit bad = 1 } }
      END { exit bad || NR < 3 }' || fail "$m on $n ranks: other values than aij"
    compared=$((compared + 1))
  done
done
[ $compared -gt 0 ] || { echo "SKIP: no matrices in $real (MACKO_MATRICES)"; exit 77; }
echo "$compared runs compared with aij"
