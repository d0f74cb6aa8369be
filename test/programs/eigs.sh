#!/bin/bash
# macko-eigs as its user sees it: values known in closed form, vectors, JSON, exit statuses.
src=${srcdir:-.}
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
field() { sed -n "s/.*\"$2\": \"\{0,1\}\([^,\"}]*\).*/\1/p" "$1" | head -1; }
on_ranks() { # STATUS ARGUMENTS...: runs on 1 and 3 ranks, JSON in 1.json and 3.json
  local n status=$1
  shift
  for n in 1 3; do expect "$status" ${MPIEXEC:-mpiexec} -n $n $eigs "$@" -json "$dir/$n.json"; done
}
known() { # FORMULA of k and n: compares the first values of both runs to it within 2e-8 of the largest
  local n
  for n in 1 3; do
    values "$dir/$n.json" | awk -v n=50 "BEGIN { pi = atan2(0, -1) } { k = NR; x = $1; d = \$1 - x; m = x * x > m ? x * x : m
      if (d * d > 4e-16 * m || \$2 * \$2 > 4e-16 * m) { print k, \$1, \$2, x; exit bad = 1 } } NR == 3 { exit } END { exit bad || NR < 3 }" ||
      fail "values on $n ranks are not $1"
    [ "$(awk '/"relative"/ { match($0, /"backward": [^}]*/); if (substr($0, RSTART + 12, RLENGTH - 12) + 0 > 1e-7) b = 1 } END { print b + 0 }' \
      "$dir/$n.json")" = 0 ] || fail "residuals by plain CSR"
  done
}
band() { # ROWS COLS BELOW DIAGONAL ABOVE: a tridiagonal matrix
  awk -v r="$1" -v c="$2" -v l="$3" -v d="$4" -v u="$5" 'BEGIN {
    for (pass = 0; pass < 2; pass++) {
      if (pass) printf "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", r, c, count
      for (i = 1; i <= r; i++) for (j = i - 1; j <= i + 1; j++) {
        v = j < i ? l : j > i ? u : d
        if (j < 1 || j > c || v == 0) continue
        count++
        if (pass) print i, j, v
      } } }'
}

band 50 50 -1 2 -1 >"$dir/laplace.mtx"
on_ranks 0 "$dir/laplace.mtx" -eps_nev 3
known "2 - 2 * cos((n + 1 - k) * pi / (n + 1))"
[ "$(field "$dir/3.json" problem)" = "symmetric eigenvalues" ] || fail "symmetry not seen"
grep -q "Lanczos with thick restart" "$dir/text" || fail "no Lanczos for a symmetric matrix"
on_ranks 0 "$dir/laplace.mtx" -eps_nev 3 -eps_smallest_real -eps_ncv 40
known "2 - 2 * cos(k * pi / (n + 1))"
on_ranks 0 "$dir/laplace.mtx" -eps_nev 3 -eps_target -0.001
known "2 - 2 * cos(k * pi / (n + 1))"
grep -q "nearest the target -0.001" "$dir/text" && grep -q "transformation sinvert" "$dir/text" || fail "the target is not told"
on_ranks 0 "$dir/laplace.mtx" -eps_nev 3 -eps_type lanczos
known "2 - 2 * cos((n + 1 - k) * pi / (n + 1))"

# Compressed alone: the same values; a factorization is refused with what to do instead.
on_ranks 0 "$dir/laplace.mtx" -eps_nev 3 -eps_type lanczos -mat_type macko
known "2 - 2 * cos((n + 1 - k) * pi / (n + 1))"
grep -q mpimacko "$dir/3.json" || fail "not of type macko"
expect 1 $eigs "$dir/laplace.mtx" -eps_nev 1 -eps_target 0.1 -mat_type macko
grep -q "convert to aij" "$dir/text" || fail "no advice for a factorization"

# With zeros on the diagonal of A - target I a factorization has to pivot.
on_ranks 0 "$dir/laplace.mtx" -eps_nev 2 -eps_target 2
grep -q "nearest the target 2$" "$dir/text" || fail "the target in words"
for n in 1 3; do
  values "$dir/$n.json" | awk '{ s = 2 * sin(atan2(0, -1) / 102); d = ($1 - 2) ^ 2 - s ^ 2 } NR <= 2 && d * d > 1e-18 { exit bad = 1 }
    END { exit bad || NR < 2 }' || fail "values nearest 2 on $n ranks"
done
# Singular at the target: refused, or found all the same, or told that the residuals contradict the method.
band 4 4 -1 2 -1 | sed -e 's/^1 1 2$/1 1 1/' -e 's/^4 4 2$/4 4 1/' >"$dir/path.mtx"
for n in 1 3; do
  ${MPIEXEC:-mpiexec} -n $n $eigs "$dir/path.mtx" -eps_target 0 -eps_nev 2 >"$dir/text" 2>&1
  case $? in
  0) awk '/^residuals/ { row = NR } row && NR == row + 2 { found = ($1 - 2 + sqrt(2)) ^ 2 < 1e-12 } END { exit !found }' "$dir/text" ;;
  1) grep -qi "pivot" "$dir/text" ;;
  2) grep -q "^result *NOT CONVERGED.*residuals by plain CSR are above" "$dir/text" ;;
  esac || fail "a singular matrix at its target on $n ranks"
done

band 50 50 -1.1 3 -0.9 >"$dir/wind.mtx" # similar to a symmetric matrix
on_ranks 0 "$dir/wind.mtx" -eps_nev 3 -eps_ncv 50
known "3 - 2 * sqrt(0.99) * cos((n + 1 - k) * pi / (n + 1))"
[ "$(field "$dir/3.json" problem)" = "nonsymmetric eigenvalues" ] || fail "taken for symmetric"
band 50 50 -1 0 1 >"$dir/turn.mtx" # imaginary eigenvalues 2 i cos, in pairs
expect 0 $eigs "$dir/turn.mtx" -eps_nev 2 -eps_ncv 50 -json "$dir/1.json" -vectors "$dir/v.mtx"
values "$dir/1.json" | awk 'NR <= 2 { x = 2 * cos(atan2(0, -1) / 51); if ($1 * $1 > 1e-16 || ($2 * $2 - x * x)^2 > 1e-15) exit bad = 1 }
  END { exit bad || NR < 2 }' || fail "imaginary eigenvalues"

band 50 50 1 4 1 >"$dir/mass.mtx"
on_ranks 0 "$dir/laplace.mtx" -b "$dir/mass.mtx" -eps_nev 3
known "(1 - cos((n + 1 - k) * pi / (n + 1))) / (2 + cos((n + 1 - k) * pi / (n + 1)))"
[ "$(field "$dir/3.json" problem)" = "generalized symmetric eigenvalues" ] || fail "not generalized"

band 51 50 -1 1 0 >"$dir/difference.mtx"
on_ranks 0 "$dir/difference.mtx" -svd_nsv 3 -vectors "$dir/v.mtx" -left_vectors "$dir/u.mtx"
known "2 * sin((n + 1 - k) * pi / (2 * (n + 1)))"
[ "$(sed -n 2p "$dir/v.mtx" | cut -d' ' -f1)/$(sed -n 2p "$dir/u.mtx" | cut -d' ' -f1)" = 50/51 ] || fail "sizes of the vectors"
on_ranks 0 "$dir/laplace.mtx" -singular -svd_nsv 3
known "2 - 2 * cos((n + 1 - k) * pi / (n + 1))"
on_ranks 0 "$dir/laplace.mtx" -singular -svd_nsv 3 -mat_type macko
known "2 - 2 * cos((n + 1 - k) * pi / (n + 1))"

expect 0 $eigs "$dir/laplace.mtx" -singular no
grep -q "^problem *symmetric eigenvalues" "$dir/text" || fail "-singular no asks for singular values"

# More than there is, and nothing but zeros.
expect 1 $eigs "$dir/laplace.mtx" -eps_nev 51
grep -q "eps_nev 51: a matrix of order 50 has no more than 50 eigenvalues" "$dir/text" || fail "51 eigenvalues of order 50"
expect 1 $eigs "$dir/difference.mtx" -svd_nsv 51
grep -q "svd_nsv 51: a matrix of 51 x 50 has no more than 50 singular values" "$dir/text" || fail "51 singular values of 50 columns"
printf '%%%%MatrixMarket matrix coordinate real general\n5 5 1\n1 1 0\n' >"$dir/zero.mtx"
for type in aijmacko macko; do
  expect 1 $eigs "$dir/zero.mtx" -singular -mat_type $type
  grep -q "zero.mtx: no entry differs from 0" "$dir/text" || fail "singular values of zeros"
done

# Vectors: sines, whatever their sign and length.
expect 0 ${MPIEXEC:-mpiexec} -n 3 $eigs "$dir/laplace.mtx" -eps_ncv 40 -vectors "$dir/v.mtx"
awk 'NR > 2 && NR <= 52 { x[NR - 2] = $1 } END { pi = atan2(0, -1)
  for (i = 1; i <= 50; i++) { s = sin(50 * i * pi / 51); dot += s * x[i]; ss += s * s; xx += x[i] * x[i] }
  exit !(ss * xx > 0 && 1 - dot * dot / (ss * xx) < 1e-13) }' "$dir/v.mtx" || fail "the eigenvector is no sine"
expect 0 $eigs "$dir/laplace.mtx" -vectors "$dir/v.bin"
od -An -tx1 -N8 "$dir/v.bin" | tr -d ' ' | grep -q 00127b4e || fail "no PETSc binary vector"
if command -v python3 >/dev/null; then
  python3 -m json.tool "$dir/3.json" >/dev/null || fail "the JSON does not parse"
fi

# Fewer rows than ranks, or as many; symmetric in its entries, whatever zeros are stored, or not. The values are 3 rows' 1, 2, 3.
for rows in 1 2 3; do
  { echo '%%MatrixMarket matrix coordinate real general'; echo $rows $rows $((rows + rows / 2 + rows / 3))
    for i in $(seq $rows); do echo $i $i $i; done
    [ $rows -lt 2 ] || echo 2 1 0
    [ $rows -lt 3 ] || echo 1 3 0; } >"$dir/symmetric.mtx"
  sed -e 's/^2 1 0/2 1 7/' "$dir/symmetric.mtx" >"$dir/triangle.mtx"
  for n in 1 2 3 4; do
    for m in symmetric triangle; do
      expect 0 ${MPIEXEC:-mpiexec} -n $n $eigs "$dir/$m.mtx" -json "$dir/few.json"
      [ "$(values "$dir/few.json" | awk -v r=$rows 'NR == 1 { print ($1 - r) ^ 2 + $2 ^ 2 < 1e-20 }')" = 1 ] ||
        fail "$m, $rows rows on $n ranks: another value"
      problem="symmetric eigenvalues"
      [ $m = triangle ] && [ $rows -gt 1 ] && problem="nonsymmetric eigenvalues"
      [ "$(field "$dir/few.json" problem)" = "$problem" ] || fail "$m, $rows rows on $n ranks: not $problem"
    done
  done
done

# Failures. What is no number is told with its place; a value beyond double is none that was found.
for n in 1 3; do
  for value in nan -inf; do
    printf '%%%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 %s\n' $value >"$dir/one.mtx"
    printf '%%%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 2\n3 2 %s\n3 3 1\n' $value >"$dir/three.mtx"
    word=infinite
    [ $value = nan ] && word=NaN
    expect 1 ${MPIEXEC:-mpiexec} -n $n $eigs "$dir/one.mtx"
    grep -q "^macko-eigs: .*one.mtx: the entry in row 1, column 1, counted from 1, is $word" "$dir/text" || fail "one $value on $n ranks"
    for option in -eps_nev -svd_nsv; do
      expect 1 ${MPIEXEC:-mpiexec} -n $n $eigs "$dir/three.mtx" $([ $option = -svd_nsv ] && echo -singular) $option 1
      grep -q "^macko-eigs: .*three.mtx: the entry in row 3, column 2, counted from 1, is $word" "$dir/text" || fail "a $value on $n ranks"
    done
    expect 1 ${MPIEXEC:-mpiexec} -n $n $eigs "$dir/symmetric.mtx" -b "$dir/three.mtx"
    grep -q "^macko-eigs: .*three.mtx: the entry in row 3, column 2, counted from 1, is $word" "$dir/text" || fail "-b with $value on $n ranks"
  done
done
# A target that is an eigenvalue, and an interval an end of which cannot be factored without pivoting.
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n1 2 1\n2 1 1\n' >"$dir/singular.mtx"
for n in 1 2; do
  ${MPIEXEC:-mpiexec} -n $n $eigs "$dir/singular.mtx" -eps_target 0 >"$dir/text" 2>&1 && fail "an answer from a singular matrix"
  # A PETSc without MUMPS does not end there.
  ! grep -q MUMPS "$dir/text" ||
    grep -q "^macko-eigs: .*: the matrix less the target is singular, .*: take another -eps_target near it$" "$dir/text" ||
    fail "advice on a target"
  expect 0 ${MPIEXEC:-mpiexec} -n $n $eigs "$dir/singular.mtx" -eps_target 0.01
done
# A second matrix that is singular, which is factored where there is no target, and one that is zero.
printf '%%%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 1\n2 2 0\n3 3 2\n' >"$dir/gap.mtx"
printf '%%%%MatrixMarket matrix coordinate real symmetric\n3 3 0\n' >"$dir/empty.mtx"
for n in 1 2; do
  mpi="${MPIEXEC:-mpiexec} -n $n"
  $mpi $eigs "$dir/singular.mtx" -b "$dir/gap.mtx" >"$dir/text" 2>&1 && fail "an answer with a singular B"
  ! grep -q MUMPS "$dir/text" ||
    grep -q "^macko-eigs: .*: B, which is factored without a target, is singular: take an -eps_target that is no" "$dir/text" ||
    fail "advice on a singular B"
  expect 0 $mpi $eigs "$dir/singular.mtx" -b "$dir/gap.mtx" -eps_target 0.3
  for type in aijmacko macko; do
    expect 1 $mpi $eigs "$dir/singular.mtx" -b "$dir/empty.mtx" -mat_type $type
    grep -q "^macko-eigs: .*empty.mtx: no entry differs from 0, so that A x = l B x has no finite eigenvalue" "$dir/text" ||
      fail "a B that is zero"
  done
done
printf '%%%%MatrixMarket matrix coordinate real symmetric\n4 4 7\n1 1 4\n2 2 4\n3 3 4\n4 4 4\n2 1 -1\n3 2 -1\n4 3 -1\n' >"$dir/four.mtx"
expect 1 $eigs "$dir/four.mtx" -eps_interval 2,5
grep -q "^macko-eigs: Zero pivot.*: the matrix less an end of -eps_interval is singular, .*: move that end a little$" "$dir/text" ||
  fail "advice on an interval"
expect 0 $eigs "$dir/four.mtx" -eps_interval 2,5.01
expect 1 $eigs "$dir/four.mtx" -eps_nev 1 -eps_type nonsense
grep -q "^macko-eigs: .*nonsense$" "$dir/text" || fail "an error without advice"
if grep -q '^#define HAVE_JANSSON' config.h; then
  printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 0.1\n2 2 0.3\n' >"$dir/tenth.mtx"
  expect 0 solvers/macko-convert "$dir/tenth.mtx" "$dir/tenth.macko" --values bf16
  expect 0 $eigs "$dir/tenth.macko" -json "$dir/lossy.json"
  grep -q "^storage .*LOSSY values" "$dir/text" && [ "$(field "$dir/lossy.json" lossy)" = true ] || fail "a file's loss is not named"
  expect 0 $eigs "$dir/tenth.mtx" -b "$dir/tenth.macko" -json "$dir/lossy.json"
  grep -A1 "^second " "$dir/text" | grep -q "LOSSY values" && grep -q '"second": .*"lossy": true' "$dir/lossy.json" ||
    fail "the loss of the second file is not named"
fi
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 1e308\n1 2 1e308\n2 1 1e308\n2 2 1e308\n' >"$dir/big.mtx"
expect 2 $eigs "$dir/big.mtx"
grep -q "^result *NOT CONVERGED" "$dir/text" || fail "a value beyond double"
expect 2 $eigs "$dir/laplace.mtx" -eps_nev 6 -eps_max_it 1 -eps_ncv 8
grep -q "NOT CONVERGED.*the limit of iterations was reached" "$dir/text" || fail "the reason in words"
expect 1 $eigs "$dir/absent.mtx"
grep -q "absent.mtx" "$dir/text" || fail "sentence on an absent file"
expect 1 $eigs "$dir/laplace.mtx" -b "$dir/difference.mtx"
grep -q "both matrices of A x = k B x must be square and of one size" "$dir/text" || fail "sentence on sizes"
expect 1 ${MPIEXEC:-mpiexec} -n 3 $eigs "$dir/laplace.mtx" -json /nonexistent/x.json
expect 1 $eigs "$dir/laplace.mtx" -vectors /nonexistent/v.mtx
expect 1 $eigs "$dir/laplace.mtx" -left_vectors "$dir/u.mtx"
grep -q "^result" "$dir/text" && fail "an option that cannot be is refused after the work"
expect 1 $eigs "$dir/laplace.mtx" -vectors
grep -q "^macko-eigs: -vectors: the name of a file is missing" "$dir/text" || fail "sentence on a missing name"
expect 1 $eigs
expect 0 $eigs -help
grep -q "usage: macko-eigs MATRIX" "$dir/text" || fail "-help"
exit 0
