#!/bin/bash
# macko-solve on what goes wrong: arguments, options nobody knows, damaged PETSc files, answers that only look converged.
src=${srcdir:-.}
solve=solvers/macko-solve
[ -x $solve ] || { echo "SKIP: macko-solve is not built (no PETSc)"; exit 77; }
command -v python3 >/dev/null || { echo "SKIP: no python3 to make binary files and read JSON"; exit 77; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; cat "$dir/text" 2>/dev/null; exit 1; }
refused() { # STATUS SENTENCE ARGUMENTS...: this status and one line of standard error that holds the sentence
  local want=$1 sentence=$2 got=0
  shift 2
  "$@" >"$dir/out" 2>"$dir/text" || got=$?
  [ "$got" = "$want" ] || fail "exit status $got, not $want: $*"
  [ "$(grep -c '^macko-solve: ' "$dir/text")" = 1 ] || fail "not one sentence: $*"
  grep -qF -e "$sentence" "$dir/text" || fail "the sentence is not '$sentence'"
}
T=$src/examples/tridiagonal.mtx
mpi="${MPIEXEC:-mpiexec} -n 3"

# Arguments.
refused 1 "no matrix" $solve
refused 1 "no matrix" $solve -ksp_type cg
refused 1 "2 matrices (the first is 'a'): one at a time; -rhs FILE names a right-hand side" $solve a b
refused 0 "nothing used the option -ksp_rtoll" $solve "$T" -ksp_rtoll 1e-9 -ksp_gmres_restart 50
printf -- '-ksp_rtoll 1e-9\n# a comment\n-ksp_gmres_restart 50\n' >"$dir/options"
refused 0 "nothing used the option -ksp_rtoll" $solve "$T" -options_file "$dir/options"
refused 1 "options file $dir/none" $solve "$T" -options_file "$dir/none"
refused 1 -options_file $solve "$T" -options_file
echo "nonsense here" >"$dir/no-options"
refused 1 nonsense $solve "$T" -options_file "$dir/no-options"
[ "$(wc -l <"$dir/text")" = 1 ] || fail "more than a sentence on a file of options"
for option in format values halo backend after; do refused 1 "-mat_macko_$option needs a value" $solve "$T" -mat_macko_$option; done
# A file of options may be gone when the solve ends. It goes once the matrix is asked for, when options have been read; nothing can
# be solved before the matrix is there.
mkfifo "$dir/late.mtx" || fail "no named pipes"
echo "-ksp_type cg" >"$dir/gone"
{ rm "$dir/gone" && cat "$T"; } >"$dir/late.mtx" &
timeout 60 $solve "$dir/late.mtx" -options_file "$dir/gone" >"$dir/text" 2>&1 || fail "a file of options that is gone at the end"
[ ! -e "$dir/gone" ] && grep -q "^solver *cg" "$dir/text" || fail "the file of options was not read, or is not gone"
PETSC_OPTIONS="-ksp_rtoll 1e-9" $solve "$T" -ksp_gmres_restart 50 2>&1 | grep -q "nothing used" && fail "an option of the environment is named"
refused 0 "nothing used the option -halo" $solve "$T" -halo peer -ksp_gmres_restart 50
refused 0 "nothing used the option -solutoin; the nearest is -solution" $solve "$T" -solutoin "$dir/x.mtx" -ksp_gmres_restart 50
refused 1 "the option --json is unknown: options have one dash here, as in -json; macko-solve -help tells more" $solve "$T" --json "$dir/a.json"
refused 1 "the option --ksp_type is unknown: options have one dash here, as in -ksp_type" $solve --ksp_type=cg "$T"
refused 1 "Unable to find requested KSP type nonsense" $solve "$T" -ksp_type nonsense
refused 1 "Unknown Mat type given: nonsense" $mpi $solve "$T" -mat_type nonsense
refused 2 "has not converged" $solve "$T" -ksp_max_it 2 -ksp_error_if_not_converged
$solve -ksp_gmres_restart 50 "$T" >"$dir/text" 2>&1 || fail "the matrix after an option"
$solve -version 2>&1 | grep -q '^macko-solve [0-9]' || fail "-version"
for arguments in --help "$T --help"; do
  $solve $arguments 2>&1 | grep -q '^usage: macko-solve MATRIX' || fail "$arguments"
done
$solve "$T" --version 2>&1 | grep -q '^macko-solve [0-9]' || fail "MATRIX --version"

# Other storage than aijmacko solves too.
for type in baij sbaij dense; do
  $mpi $solve "$T" -mat_type $type -ksp_gmres_restart 50 >"$dir/text" 2>&1 || fail "-mat_type $type on 3 ranks"
  $solve "$T" -mat_type $type -ksp_gmres_restart 50 >"$dir/text" 2>&1 || fail "-mat_type $type"
done

# The place of a value that is refused is that in the matrix, whatever piece or block of a rank it is in.
printf '%%%%MatrixMarket matrix coordinate real general\n4 4 4\n1 1 1\n2 2 1\n3 3 1e6\n4 4 1\n' >"$dir/large.mtx"
refused 1 "row 3, column 3, counted from 1: 1000000 is beyond the range of f16" $solve "$dir/large.mtx" -mat_type macko -mat_macko_piece 1 \
  -mat_macko_values f16
awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general\n9 9 11"; for (i = 1; i <= 9; i++) print i, i, 1; print 8, 6, 1; print 8, 2, 1e6 }' \
  >"$dir/below.mtx"
for type in aijmacko macko; do
  refused 1 "rank 1: row 3, column 3, counted from 1: 1000000 is beyond" ${MPIEXEC:-mpiexec} -n 2 $solve "$dir/large.mtx" -mat_type $type -mat_macko_values f16
  refused 1 "rank 2: row 8, column 2, counted from 1: 1000000 is beyond" $mpi $solve "$dir/below.mtx" -mat_type $type -mat_macko_values f16
  refused 1 " becomes infinite only with option overflow set to allow" $solve "$dir/large.mtx" -mat_type $type -mat_macko_values f16
done

# Sizes that cannot be solved.
printf '%%%%MatrixMarket matrix coordinate real general\n3 2 3\n1 1 1\n2 2 2\n3 1 1\n' >"$dir/tall.mtx"
refused 1 "3 x 2 is not square, which -ksp_type gmres cannot solve" $solve "$dir/tall.mtx" -ksp_type gmres
printf '%%%%MatrixMarket matrix coordinate real general\n0 0 0\n' >"$dir/empty.mtx"
refused 1 "0 x 0: there is nothing to solve" $solve "$dir/empty.mtx"
# More ranks than rows.
$mpi $solve "$dir/tall.mtx" >"$dir/text" 2>&1 || fail "three rows on three ranks"
printf '%%%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 4\n' >"$dir/one.mtx"
$mpi $solve "$dir/one.mtx" >"$dir/text" 2>&1 || fail "one row on three ranks"

# A singular matrix with a right-hand side in its range is solved; one outside it is not, and says so.
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 1\n1 2 1\n2 1 1\n2 2 1\n' >"$dir/singular.mtx"
$solve "$dir/singular.mtx" >"$dir/text" 2>&1 || fail "a singular matrix, consistent"
printf '%%%%MatrixMarket matrix array real general\n2 1\n1\n-1\n' >"$dir/outside.mtx"
$solve "$dir/singular.mtx" -rhs "$dir/outside.mtx" >"$dir/text" 2>&1
[ $? = 2 ] || grep -q '^WARNING' "$dir/text" || fail "a singular matrix, inconsistent, passes for solved"

# PETSc's files: damaged in the head, cut short, dense, vectors of the wrong length, integers of another PETSc's width.
width=$(printf '#include <petscsys.h>\n#ifdef PETSC_USE_64BIT_INDICES\nwidth 8\n#else\nwidth 4\n#endif\n' |
  ${MPICC:-mpicc} -E $PETSC_CFLAGS - | sed -n 's/^width //p')
$solve "$T" -ksp_view_mat binary:"$dir/t.bin" -ksp_view_rhs binary:"$dir/b.bin" -ksp_gmres_restart 50 >"$dir/text" 2>&1 ||
  fail "cannot write PETSc's files"
python3 - "$dir" "$width" <<'P' || fail "python3"
import sys
folder, width = sys.argv[1], int(sys.argv[2])
whole = open(folder + '/t.bin', 'rb').read()
put = lambda data, at, value: data[:at * width] + value.to_bytes(width, 'big', signed=True) + data[(at + 1) * width:]
open(folder + '/cut.bin', 'wb').write(whole[:-9])
open(folder + '/head.bin', 'wb').write(whole[:3 * width])
open(folder + '/huge.bin', 'wb').write(put(whole, 3, 2**31 - 2))
open(folder + '/negative.bin', 'wb').write(put(whole, 1, -5))
open(folder + '/dense.bin', 'wb').write(put(whole, 3, -1))
b = open(folder + '/b.bin', 'rb').read()
open(folder + '/b.cut.bin', 'wb').write(b[:-9])
open(folder + '/b.long.bin', 'wb').write(put(b, 1, 41))
rows = int.from_bytes(whole[width:2 * width], 'big')
cols = 4 + rows  # the first row of the matrix has two entries, the others three, the last two
open(folder + '/far.bin', 'wb').write(put(whole, cols + 3, 2000000))
open(folder + '/left.bin', 'wb').write(put(whole, cols + 3, -5))
open(folder + '/below.bin', 'wb').write(put(put(whole, 4, 6), 5, -1))
open(folder + '/more.bin', 'wb').write(put(whole, 4 + rows - 1, 3))
open(folder + '/fewer.bin', 'wb').write(put(whole, 4 + rows - 1, 1))
rewidth = lambda ints: b''.join(int.from_bytes(ints[i:i + width], 'big').to_bytes(12 - width, 'big') for i in range(0, len(ints), width))
open(folder + '/other.bin', 'wb').write(rewidth(whole[:4 * width]) + whole[4 * width:])
open(folder + '/b.other.bin', 'wb').write(rewidth(b[:2 * width]) + b[2 * width:])
# Complex values: each with an imaginary part behind it. Then what stands behind an object, and a vector as a matrix of one column.
complex = lambda data, at: data[:at] + b''.join(data[i:i + 8] + bytes(8) for i in range(at, len(data), 8))
values = cols * width + 118 * width
files = {'complex': complex(whole, values), 'b.complex': complex(b, 2 * width), 'complex.two': complex(whole, values) + complex(b, 2 * width),
         'both': whole + b, 'garbage': whole + b'abcde', 'both.garbage': whole + b + bytes(3), 'both.cut': whole + b[:-1],
         'b.two': b + b, 'b.garbage': b + b'abcde', 'b.complex.two': 2 * complex(b, 2 * width)}
ints = lambda *numbers: b''.join(n.to_bytes(width, 'big') for n in numbers)
files['b.matrix'] = ints(1211216, 40, 1, 40, *[1] * 40, *[0] * 40) + b[2 * width:]
for name, data in files.items():
    open(folder + '/' + name + '.bin', 'wb').write(data)
P
refused 1 "cut short" $solve "$dir/cut.bin"
refused 1 "cut short" $mpi $solve "$dir/huge.bin"
refused 1 "-5 x 40" $solve "$dir/negative.bin"
refused 1 "a dense matrix" $solve "$dir/dense.bin"
for type in aijmacko aij macko baij; do
  for on in "" "$mpi"; do
    refused 1 "far.bin: the entry in row 2, column 2000001" $on $solve "$dir/far.bin" -mat_type $type
    refused 1 "left.bin: the entry in row 2, column -4" $on $solve "$dir/left.bin" -mat_type $type
    refused 1 "below.bin: row 2, counted from 1, has -1 entries, of 118 in all" $on $solve "$dir/below.bin" -mat_type $type
    refused 1 "more.bin: row 40, counted from 1, has 3 entries, of 118 in all" $on $solve "$dir/more.bin" -mat_type $type
    refused 1 "fewer.bin: its rows have 117 entries, not 118" $on $solve "$dir/fewer.bin" -mat_type $type
  done
done
refused 1 "far.bin: the entry in row 2, column 2000001, counted from 1, is outside of 40 columns" $solve "$dir/far.bin"
refused 1 ": the entry in row 2, column -4, counted from 1" $solve <(cat "$dir/left.bin")
refused 1 "cut short" $solve "$T" -rhs "$dir/b.cut.bin"
refused 1 "a right-hand side of 40 x 1 is needed, the file holds 41 x 1" $mpi $solve "$T" -rhs "$dir/b.long.bin"
for on in "" "$mpi"; do
  refused 1 "b.bin: a PETSc binary vector, no matrix" $on $solve "$dir/b.bin"
  refused 1 "/complex.bin: it looks complex: there are 16 bytes for each of 118 values" $on $solve "$dir/complex.bin"
  refused 1 "complex.two.bin: it looks complex" $on $solve "$dir/complex.two.bin"
  refused 1 "garbage.bin: the 5 bytes from byte " $on $solve "$dir/garbage.bin"
  refused 1 "b.complex.bin: it looks complex: there are 16 bytes for each of 40 values" $on $solve "$T" -rhs "$dir/b.complex.bin"
  refused 1 "b.two.bin: another object begins at byte $((2 * width + 320))" $on $solve "$T" -rhs "$dir/b.two.bin"
  refused 1 "b.garbage.bin: the 5 bytes from byte $((2 * width + 320)) on" $on $solve "$T" -rhs "$dir/b.garbage.bin"
  $on $solve "$dir/both.bin" -ksp_gmres_restart 50 >"$dir/text" 2>&1 || fail "a vector behind the matrix: $on"
  # The vector is the same, so the solutions are.
  for b in b b.matrix; do
    $on $solve "$T" -rhs "$dir/$b.bin" -ksp_gmres_restart 50 -solution "$dir/$b.x.mtx" >"$dir/text" 2>&1 || fail "-rhs $b.bin: $on"
  done
  cmp "$dir/b.x.mtx" "$dir/b.matrix.x.mtx" || fail "a right-hand side of one column is another vector: $on"
done
refused 1 "both.garbage.bin: the 3 bytes from byte " $solve "$dir/both.garbage.bin"
refused 1 "both.cut.bin: the $((2 * width + 319)) bytes from byte " $solve "$dir/both.cut.bin"
refused 1 "b.complex.two.bin: it looks complex" $solve "$T" -rhs "$dir/b.complex.two.bin"
refused 1 ": it looks complex: there are 16 bytes" $solve <(cat "$dir/complex.bin")
refused 1 "the file holds 40 x 40" $solve "$T" -rhs "$dir/t.bin"
refused 1 "written by a PETSc with $((96 - 8 * width))-bit indices, and this one has $((8 * width))-bit" $mpi $solve "$dir/other.bin"
refused 1 "b.other.bin: written by a PETSc" $solve "$T" -rhs "$dir/b.other.bin"

# What looks converged and is not: the residual of the preconditioned system falls to zero, the true one stays.
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n1 2 1\n2 2 1e-12\n' >"$dir/skewed.mtx"
printf '%%%%MatrixMarket matrix array real general\n2 1\n1\n1\n' >"$dir/b.mtx"
$solve "$dir/skewed.mtx" -rhs "$dir/b.mtx" -ksp_norm_type preconditioned -ksp_type richardson -pc_type mat -ksp_max_it 1 \
  -json "$dir/one.json" >"$dir/text" 2>&1
grep -q '^WARNING   the method thinks it converged, but the true residual did not' "$dir/text" || fail "a misleading convergence is not named"
grep -q '"misled": true' "$dir/one.json" || fail "a misleading convergence is not named in the JSON"
# In least squares either residual may be the one that goes to zero: neither has, here, after one step with a preconditioner that is
# not one of the normal equations. Of a system without solution the residual is large and the answer right, also where A'b is small.
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 6\n1 1 1e-9\n1 2 1\n2 1 1\n2 2 4\n3 3 4\n3 2 1\n' >"$dir/uneven.mtx"
printf '%%%%MatrixMarket matrix array real general\n3 1\n1\n-2\n3\n' >"$dir/b3.mtx"
for on in "" "$mpi"; do
  for type in aijmacko macko; do
    $on $solve "$dir/uneven.mtx" -rhs "$dir/b3.mtx" -ksp_type lsqr -pc_type jacobi -ksp_rtol 1e-4 -mat_type $type \
      -json "$dir/squares.json" >"$dir/text" 2>&1
    status=$?
    # Another version of PETSc goes on to the solution.
    [ $status = 0 ] && grep -o '"residual": [0-9.e+-]*' "$dir/squares.json" | awk '{ small = $2 < 1e-4 } END { exit !small }' && continue
    [ $status = 2 ] || fail "lsqr after one step passes for converged"
    grep -q '^WARNING   the method thinks it converged, but the true residual did not; .*-pc_type none$' "$dir/text" ||
      fail "the warning for lsqr"
    grep -q '"converged": false, .*"misled": true' "$dir/squares.json" || fail "the JSON of lsqr after one step"
  done
done
for method in lsqr cgls; do
  $solve "$dir/uneven.mtx" -rhs "$dir/b3.mtx" -ksp_type $method >"$dir/text" 2>&1 || fail "$method"
  for b in '1\n2\n3' '1\n0\n-1.00000001'; do
    printf "%%%%MatrixMarket matrix array real general\n3 1\n$b\n" >"$dir/b.tall.mtx"
    $solve "$dir/tall.mtx" -rhs "$dir/b.tall.mtx" -ksp_type $method >"$dir/text" 2>&1 || fail "$method without solution, $b"
  done
done
# A norm that is none for this matrix, and how it is helped; without a preconditioner no other norm would tell more.
printf '%%%%MatrixMarket matrix coordinate real skew-symmetric\n4 4 3\n2 1 4\n3 2 5\n4 3 3\n' >"$dir/turn.mtx"
$solve "$dir/turn.mtx" -ksp_type pipegcr -pc_type none >"$dir/text" 2>&1
[ $? = 2 ] && grep -q '^WARNING .* did not; its natural norm .*: -ksp_type gmres -ksp_pc_side right' "$dir/text" || fail "advice for pipegcr"
$solve "$dir/turn.mtx" -ksp_type gmres -ksp_pc_side right -pc_type none >"$dir/text" 2>&1 || fail "gmres instead of pipegcr"
# Where no test of the residual ends a method, the residual decides all the same.
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 4\n1 2 -1\n2 1 -1\n2 2 4\n' >"$dir/easy.mtx"
awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general\n40 40 40"; for (i = 1; i <= 40; i++) print i, i % 40 + 1, 1 }' >"$dir/shift.mtx"
awk 'BEGIN { print "%%MatrixMarket matrix array real general\n40 1"; for (i = 1; i <= 40; i++) print sin(i * i) }' >"$dir/b40.mtx"
# Where A'b is 0 so is the solution, and PETSc's LSQR divides by it.
printf '%%%%MatrixMarket matrix coordinate real general\n3 2 2\n1 1 1\n2 2 1\n' >"$dir/flat.mtx"
printf '%%%%MatrixMarket matrix array real general\n3 1\n0\n0\n2\n' >"$dir/upright.mtx"
printf '%%%%MatrixMarket matrix array real general\n2 1\n0\n0\n' >"$dir/zeros.mtx"
for on in "" "$mpi"; do
  for type in aijmacko macko aij; do
    for arguments in "-ksp_type lsqr" "-ksp_type lsqr -ksp_max_it 0" "-ksp_type cgls"; do
      $on $solve "$dir/flat.mtx" -rhs "$dir/upright.mtx" -mat_type $type $arguments -solution "$dir/x.mtx" >"$dir/text" 2>&1 ||
        fail "A'b = 0 with $arguments, $type: $on"
      cmp "$dir/x.mtx" "$dir/zeros.mtx" || fail "x is not 0 where A'b is, with $arguments, $type: $on"
      grep -q '^result *converged after 0 iterations: .* (CONVERGED_ATOL)' "$dir/text" || fail "the reason where A'b = 0"
    done
  done
done
untested() { # ARGUMENTS...: not converged, and the warning says why
  $solve "$@" -json "$dir/its.json" >"$dir/text" 2>&1
  [ $? = 2 ] || fail "converged without a test: $*"
  grep -q '^WARNING   no test of the residual ended the method, and the residual is 0\.[0-9]*, above -ksp_rtol 1e-05' "$dir/text" ||
    fail "the warning: $*"
  grep -q '"converged": false, "reason": "CONVERGED_ITS".*"misled": false' "$dir/its.json" || fail "the JSON: $*"
}
untested "$dir/shift.mtx" -rhs "$dir/b40.mtx" -ksp_type gcr -ksp_gcr_restart 5 -pc_type none -ksp_max_it 50
printf '%%%%MatrixMarket matrix array real general\n2 1\n1\n4\n' >"$dir/uneven.b.mtx"
untested "$dir/easy.mtx" -ksp_type richardson -ksp_norm_type none -ksp_max_it 3 -rhs "$dir/uneven.b.mtx"
untested "$dir/easy.mtx" -ksp_type preonly -rhs "$dir/uneven.b.mtx"
$solve "$dir/easy.mtx" -ksp_type preonly -pc_type lu >"$dir/text" 2>&1 || fail "preonly with a factorization"
$solve "$dir/easy.mtx" -ksp_type richardson -ksp_norm_type none -ksp_max_it 50 >"$dir/text" 2>&1 ||
  fail "enough iterations without a test"
# A NaN is no JSON number.
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 nan\n2 2 1\n' >"$dir/nan.mtx"
$solve "$dir/nan.mtx" -json "$dir/nan.json" >"$dir/text" 2>&1
[ $? = 2 ] || fail "NaN in the matrix: exit status"
for on in "" "$mpi"; do
  for arguments in "-mat_type aijmacko" "-mat_type macko" "-ksp_type preonly"; do
    $on $solve "$dir/nan.mtx" $arguments >"$dir/text" 2>&1
    [ $? = 2 ] && grep -q "^result .*NaN.*; the entry in row 1, column 1, counted from 1, is NaN$" "$dir/text" ||
      fail "no place of the NaN: $on $arguments"
  done
done
# So is one in the right-hand side: in its file, and of A times ones, where a sum is infinite though no entry is.
printf '%%%%MatrixMarket matrix array real general\n4 1\n1\n2\n3\n-inf\n' >"$dir/b.inf4.mtx"
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n2 1 1e308\n2 2 1e308\n' >"$dir/sum.mtx"
printf '%%%%MatrixMarket matrix coordinate real general\n4 4 4\n1 1 1\n2 2 1\n3 3 1\n4 4 1\n' >"$dir/eye4.mtx"
for on in "" "$mpi"; do
  for arguments in "$dir/eye4.mtx -rhs $dir/b.inf4.mtx" "$dir/eye4.mtx -rhs $dir/b.inf4.mtx -mat_type macko" "$dir/sum.mtx"; do
    $on $solve $arguments >"$dir/text" 2>&1
    [ $? = 2 ] && grep -q "^result .*NaN.*; row [24] of the right-hand side, counted from 1, is infinite$" "$dir/text" ||
      fail "no place in the right-hand side: $on $arguments"
  done
done
# A method that looks at no residual has not converged either; nor has any for a right-hand side that is no number.
for value in nan inf; do
  printf '%%%%MatrixMarket matrix array real general\n2 1\n1\n%s\n' $value >"$dir/b.$value.mtx"
  printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 2\n' >"$dir/fine.mtx"
  for type in preonly gmres; do
    for arguments in "$dir/nan.mtx" "$dir/fine.mtx -rhs $dir/b.$value.mtx"; do
      $solve $arguments -ksp_type $type >"$dir/text" 2>&1
      [ $? = 2 ] && grep -q "^result *NOT CONVERGED.*a NaN or Inf appeared" "$dir/text" || fail "$type takes $value for converged"
    done
  done
done
for file in one nan; do
  python3 -c 'import json, sys; json.load(open(sys.argv[1]), parse_constant=lambda c: sys.exit("no JSON: " + c))' \
    "$dir/$file.json" || fail "$file.json"
done
[ -z "$(ls "$dir"/*.part 2>/dev/null)" ] || fail "a temporary file is left"
exit 0
