#!/bin/bash
# macko-solve as its user sees it: file types, right-hand sides, JSON, exit statuses, one and three ranks.
src=${srcdir:-.}
solve=solvers/macko-solve
[ -x $solve ] || { echo "SKIP: macko-solve is not built (no PETSc)"; exit 77; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; cat "$dir/text" 2>/dev/null; exit 1; }
json() { sed -n "s/.*\"$2\": \"\{0,1\}\([^,\"}]*\).*/\1/p" "$1" | head -1; }
expect() { # STATUS ARGUMENTS...: runs, and compares the exit status
  local want=$1 got=0
  shift
  "$@" >"$dir/text" 2>&1 || got=$?
  [ "$got" = "$want" ] || fail "exit status $got, not $want: $*"
}
small() { # FILE VALUE: is the number below 1e-4?
  awk -v v="$2" 'BEGIN { exit !(v != "" && v + 0 < 1e-4) }' || fail "$1 is '$2'"
}
T=$src/examples/tridiagonal.mtx

# One rank and three, compressed and plain: the same iterations, a small true residual.
for type in aijmacko aij macko; do
  for ranks in 1 3; do
    expect 0 ${MPIEXEC:-mpiexec} -n $ranks $solve "$T" -mat_type $type -ksp_rtol 1e-8 -ksp_gmres_restart 50 -json "$dir/$type.$ranks.json"
    small residual "$(json "$dir/$type.$ranks.json" residual)"
    small error "$(json "$dir/$type.$ranks.json" error)"
  done
done
for ranks in 1 3; do
  [ "$(json "$dir/aij.$ranks.json" iterations)" = "$(json "$dir/aijmacko.$ranks.json" iterations)" ] || fail "iterations differ on $ranks ranks"
done
for ranks in 1 3; do
  [ "$(json "$dir/aij.$ranks.json" iterations)" = "$(json "$dir/macko.$ranks.json" iterations)" ] || fail "iterations of type macko differ"
done
expect 0 $solve "$T" -mat_macko_format macko -ksp_gmres_restart 50 -json "$dir/asked.json"
[ "$(json "$dir/asked.json" format)" = macko ] || fail "format is $(json "$dir/asked.json" format)"
if command -v python3 >/dev/null; then
  python3 -m json.tool "$dir/aijmacko.3.json" >/dev/null || fail "the JSON does not parse"
fi

# Packed, Harwell-Boeing, archive.
gzip -c "$T" >"$dir/t.mtx.gz"
expect 0 $solve "$dir/t.mtx.gz" -ksp_gmres_restart 50
mkdir "$dir/tri" && cp "$T" "$dir/tri/tri.mtx" && tar -C "$dir" -czf "$dir/tri.tar.gz" tri
expect 0 $solve "$dir/tri.tar.gz" -ksp_gmres_restart 50
printf '%-72s%-8s\n%14d%14d%14d%14d%14d\n%-14s%14d%14d%14d%14d\n%-16s%-16s%-20s%-20s\n' "two by two" KEY 3 1 1 1 0 RUA 2 2 3 0 \
  "(16I5)" "(16I5)" "(5E16.8)" "" >"$dir/two.rua"
printf '%5d%5d%5d\n%5d%5d%5d\n%16.8E%16.8E%16.8E\n' 1 3 4 1 2 2 2 -1 4 >>"$dir/two.rua"
expect 0 $solve "$dir/two.rua" -json "$dir/two.json"
[ "$(json "$dir/two.json" nonzeros)" = 3 ] || fail "nonzeros of the Harwell-Boeing file"
expect 0 $solve "$T" -ksp_view_mat binary:"$dir/t.bin" -ksp_gmres_restart 50 -ksp_view_rhs binary:"$dir/b.bin"
expect 0 ${MPIEXEC:-mpiexec} -n 3 $solve "$dir/t.bin" -rhs "$dir/b.bin" -ksp_gmres_restart 50 -json "$dir/bin.json"
[ "$(json "$dir/bin.json" nonzeros)" = "$(json "$dir/aij.1.json" nonzeros)" ] || fail "nonzeros of the binary file"

# Compressed alone: read from PETSc's file in pieces, and made from rows; the same iterations as with aij.
for matrix in "$dir/t.bin" 27-point:9 5-point:20 7-point:9:random; do
  for ranks in 1 3; do
    for type in aij macko; do
      expect 0 ${MPIEXEC:-mpiexec} -n $ranks $solve $matrix -mat_type $type -mat_macko_piece 500 -ksp_type cg -ksp_rtol 1e-8 -json "$dir/$type.json"
      small residual "$(json "$dir/$type.json" residual)"
    done
    for key in nonzeros iterations; do
      [ "$(json "$dir/aij.json" $key)" = "$(json "$dir/macko.json" $key)" ] || fail "$key of $matrix on $ranks ranks"
    done
    grep -q "mpimacko\|seqmacko" "$dir/macko.json" || fail "$matrix is not of type macko"
  done
done
expect 1 $solve "$T" -mat_type macko -pc_type ilu
grep -q "convert to aij" "$dir/text" || fail "no advice for ilu"
expect 1 $solve 27-point:0 -mat_type macko
expect 1 $solve 7-point:9:rand -mat_type macko
# Where PETSc's indices have 64 bits, a grid of 27000000000 rows is none too many, and takes all memory.
size=3000
printf '#include <petscsys.h>\n#ifdef PETSC_USE_64BIT_INDICES\nwide\n#endif\n' |
  ${MPICC:-mpicc} -E $PETSC_CFLAGS - | grep -q '^wide' && size=3000000
expect 1 $solve 27-point:$size -mat_type macko
grep -q "27000000000[0-9]* rows" "$dir/text" || fail "too large a grid"

# The solution, in files that read back.
for ranks in 1 3; do
  expect 0 ${MPIEXEC:-mpiexec} -n $ranks $solve "$T" -ksp_rtol 1e-10 -ksp_gmres_restart 50 -solution "$dir/x.mtx"
  [ "$(head -2 "$dir/x.mtx" | tr '\n' ' ')" = "%%MatrixMarket matrix array real general 40 1 " ] || fail "head of the solution"
  awk 'NR > 2 { n++; if ($1 < 1 - 1e-6 || $1 > 1 + 1e-6) exit bad = 1 } END { exit bad || n != 40 }' "$dir/x.mtx" ||
    fail "the solution on $ranks ranks is not ones"
  expect 0 ${MPIEXEC:-mpiexec} -n $ranks $solve "$T" -ksp_gmres_restart 50 -rhs "$dir/x.mtx" -solution "$dir/y.bin"
  expect 0 $solve "$T" -ksp_gmres_restart 50 -rhs "$dir/y.bin"
done
expect 2 $solve "$T" -ksp_max_it 2 -solution "$dir/early.mtx"
[ "$(wc -l <"$dir/early.mtx")" = 42 ] || fail "no solution from a method that stopped early"

# Right-hand sides.
{ echo '%%MatrixMarket matrix array real general'; echo '2 1'; echo 1; echo 4; } >"$dir/b.mtx"
expect 0 ${MPIEXEC:-mpiexec} -n 2 $solve "$dir/two.rua" -rhs "$dir/b.mtx" -json "$dir/rhs.json"
small residual "$(json "$dir/rhs.json" residual)"
expect 1 $solve "$T" -rhs "$dir/b.mtx"
grep -q "a right-hand side of 40 x 1 is needed, the file holds 2 x 1" "$dir/text" || fail "sentence on a wrong right-hand side"

# Not square: least squares.
printf '%%%%MatrixMarket matrix coordinate real general\n3 2 3\n1 1 1\n2 2 2\n3 1 1\n' >"$dir/tall.mtx"
expect 0 $solve "$dir/tall.mtx" -json "$dir/tall.json"
[ "$(json "$dir/tall.json" ksp)" = lsqr ] || fail "no least squares for a matrix that is not square"

# Lossy only when asked for, and named.
expect 0 $solve "$T" -mat_macko_values f16 -ksp_gmres_restart 50
grep -q "LOSSY values" "$dir/text" && fail "a loss is named where no value changes"
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 0.1\n2 2 0.3\n' >"$dir/tenth.mtx"
expect 0 $solve "$dir/tenth.mtx" -mat_macko_values bf16 -json "$dir/lossy.json" -ksp_rtol 1e-2
grep -q "LOSSY values" "$dir/text" && [ "$(json "$dir/lossy.json" lossy)" = true ] || fail "a loss is not named"
if grep -q '^#define HAVE_JANSSON' config.h; then
  expect 0 solvers/macko-convert "$dir/tenth.mtx" "$dir/tenth.macko" --values bf16
  expect 0 solvers/macko-convert "$dir/tenth.macko" "$dir/again.macko" --format csr
  for ranks in 1 2; do
    for type in aijmacko aij macko; do
      [ $type = aij ] && file=again || file=tenth
      expect 0 ${MPIEXEC:-mpiexec} -n $ranks $solve "$dir/$file.macko" -mat_type $type -json "$dir/lossy.json"
      grep -q "^storage .*LOSSY values" "$dir/text" && [ "$(json "$dir/lossy.json" lossy)" = true ] ||
        fail "the loss of a file as $type on $ranks ranks is not named"
    done
  done
fi
expect 0 $solve "$dir/two.rua" -mat_macko_layout paper
grep -q "format macko" "$dir/text" && grep -q "layout paper" "$dir/text" || fail "the layout is not told"

# Failures: one sentence and status 1; not converged: status 2 and the reason in words.
expect 1 $solve "$dir/absent.mtx"
grep -q "absent.mtx: .*No such file" "$dir/text" || fail "sentence on an absent file"
for grid in 27-point:0 5-point:10:randm 6-point:4; do
  expect 1 $solve $grid
  grep -q "$grid: no file has this name, and grids are 5-point:N" "$dir/text" || fail "sentence on grid $grid"
done
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n5 2 1\n' >"$dir/bad.mtx"
expect 1 ${MPIEXEC:-mpiexec} -n 3 $solve "$dir/bad.mtx"
[ "$(grep -c "bad.mtx:4: row 5 is outside 1..2" "$dir/text")" = 1 ] || fail "sentence on a bad file"
expect 2 $solve "$T" -ksp_max_it 2
grep -q "NOT CONVERGED after 2 iterations: the limit of iterations" "$dir/text" || fail "the reason in words"
expect 1 $solve "$T" -mat_macko_layout slcie
grep -q 'mat_macko_layout: layout "slcie" is unknown; the nearest is "slice"' "$dir/text" || fail "sentence on an unknown choice"
expect 1 $solve "$T" -json /nonexistent/x.json
expect 1 $solve
expect 0 $solve -help
grep -q "usage: macko-solve MATRIX" "$dir/text" || fail "-help"
# Every option of the matrix type, and every choice of it, is in -help (on the manual page: test/build/documents.sh).
expect 0 $solve -help
options() { sed -n 's/^MACKO_[A-Z_]*OPTION(\([a-z_]*\),.*/\1/p' "$src/lib/options.def" | grep -v '^target$'; }
choices() { # OPTION
  local list
  list=$(sed -n "s/^MACKO_[A-Z_]*OPTION($1, \([A-Z_]*\),.*/\1/p" "$src/lib/options.def")
  [ "$1" != format ] || sed -n 's/^MACKO_FORMAT([A-Z0-9]*, \([a-z0-9]*\),.*/\1/p' "$src/lib/formats.def"
  sed -n "s/^MACKO_[CN][A-Z]*($list, [A-Z0-9]*, \([a-z0-9]*\),.*/\1/p" "$src/lib/options.def"
}
[ "$(options | wc -l)" -ge 6 ] || fail "the options are not found in options.def"
for option in $(options); do
  [ "$(choices "$option" | wc -l)" -ge 2 ] || fail "the choices of $option are not found in options.def"
  grep -qE -e "-mat_macko_$option  .*:( [a-z0-9]+)+$" "$dir/text" || fail "-help lacks $option"
  [ "$(sed -n "s/.*-mat_macko_$option  .*: //p" "$dir/text" | tr ' ' '\n')" = "$(choices "$option")" ] ||
    fail "-help has other choices of $option"
done
for option in $(grep -oh '"-mat_macko_[a-z_]*"' "$src/petsc/options.c" | tr -d '"'); do
  grep -q -e "$option" "$dir/text" || fail "-help lacks $option"
  grep -q -e "$option" "$src/doc/macko-solve.1" || fail "the manual page lacks $option"
done

# Every choice is what the summary shows; format csr has it or refuses it.
for option in $(options); do
  for choice in $(choices "$option"); do
    expect 0 $solve "$T" -ksp_gmres_restart 50 -mat_macko_$option "$choice" -json "$dir/choice.json"
    case $option,$choice in
      prefer,*|overflow,*|*,auto) ;;
      *) [ "$(json "$dir/choice.json" "$option")" = "$choice" ] || fail "$option $choice gave $(json "$dir/choice.json" "$option")" ;;
    esac
    got=0
    [ $option != format ] || continue
    $solve "$T" -ksp_gmres_restart 50 -mat_macko_format csr -mat_macko_$option "$choice" -json "$dir/choice.json" >"$dir/text" 2>&1 || got=$?
    case $got in
      0) [ "$(json "$dir/choice.json" format)" = csr ] || fail "format csr with $option $choice gave another format" ;;
      1) grep -qE "mat_macko_.*: format csr has no $option $choice; formats? [a-z, ]*(has|have)" "$dir/text" || fail "csr, $option $choice" ;;
      *) fail "format csr with $option $choice ended with $got" ;;
    esac
  done
done
exit 0
