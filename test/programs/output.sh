#!/bin/bash
# What the programs write, and where it cannot be written: nothing is lost without a word, nothing is replaced that is no file.
src=${srcdir:-.}
solve=solvers/macko-solve eigs=solvers/macko-eigs bench=solvers/macko-bench
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; cat "$dir/err" 2>/dev/null; exit 1; }
T=$src/examples/tridiagonal.mtx
refused() { # STATUS SENTENCE PROGRAM ARGUMENTS...: this status, the sentence in one line that begins with the program's name
  local want=$1 sentence=$2 got=0
  shift 2
  "$@" >"${stdout:-$dir/out}" 2>"$dir/err" || got=$?
  [ "$got" = "$want" ] || fail "exit status $got, not $want: $*"
  [ "$(grep -c "^${1##*/}: .*$sentence" "$dir/err")" = 1 ] || fail "no sentence with '$sentence': $*"
  grep -q 'PETSC ERROR' "$dir/err" && fail "PETSc's own report beside the sentence: $*"
  return 0
}
full() { # PROGRAM ARGUMENTS...: standard output is a full disk
  [ -c /dev/full ] || { echo "skipped: no /dev/full for ${1##*/}"; return 0; }
  stdout=/dev/full refused 1 "standard output: \(No space left\|cannot be written\)" "$@"
}

full $bench --device cpu --repeat 1 --encodings csr 27-point:4
full $bench --help
if [ -c /dev/full ]; then
  for option in --tsv --json; do
    refused 1 "/dev/full: \(No space left\|cannot be written\)" $bench --device cpu --repeat 1 --encodings csr $option /dev/full \
      27-point:4
  done
fi
# A place that cannot be written to, or a wrong word, is refused before hours of measuring.
refused 2 "nowhere/x.json: No such file" $bench --device cpu --json "$dir/nowhere/x.json" 27-point:4
[ -s "$dir/out" ] && fail "measured before the place of the JSON was looked at"
echo old >"$dir/old.json"
refused 2 "--repeat wants a positive number, not 3x" $bench --device cpu --repeat 3x --json "$dir/old.json" 27-point:4
refused 2 '"nonsense" is unknown' $bench --device cpu --encodings csr,nonsense 27-point:4
refused 2 '"nonsense" is unknown' $bench --device cpu --encodings csr.nonsense 27-point:4
refused 1 "absent.mtx: no such file, and no generated matrix" $bench --device cpu --json "$dir/old.json" "$dir/absent.mtx"

[ -x $solve ] || { echo "macko-solve is not built (no PETSc)"; exit 0; }
full $solve "$T" -ksp_gmres_restart 50
full $solve -help
refused 1 "-json: the name of a file is missing" $solve "$T" -json
refused 1 "-rhs: the name of a file is missing" $solve "$T" -rhs
refused 1 "nowhere/x.json: No such file" $solve "$T" -json "$dir/nowhere/x.json"
[ -s "$dir/out" ] && fail "solved before the place of the JSON was looked at"
refused 1 "nowhere/x.mtx: No such file" $solve "$T" -solution "$dir/nowhere/x.mtx"
[ -s "$dir/out" ] && fail "solved before the place of the solution was looked at"
refused 1 "-solution: standard output holds the summary" $solve "$T" -solution -
refused 1 "$dir: Is a directory" $solve "$T" -json "$dir"

# JSON into a pipe, through a link, to standard output.
mkfifo "$dir/pipe"
cat "$dir/pipe" >"$dir/piped" &
$solve "$T" -ksp_gmres_restart 50 -json "$dir/pipe" >"$dir/out" 2>"$dir/err" || fail "JSON into a pipe"
[ -p "$dir/pipe" ] || fail "the pipe was replaced by a file"
wait
grep -q '"converged": true' "$dir/piped" || fail "nothing came through the pipe"
echo old >"$dir/behind" && ln -s behind "$dir/link.json"
$solve "$T" -ksp_gmres_restart 50 -json "$dir/link.json" >"$dir/out" 2>"$dir/err" || fail "JSON through a link"
[ -L "$dir/link.json" ] && grep -q '"converged": true' "$dir/behind" || fail "the link was replaced, not the file behind it"
for n in 1 3; do
  ${MPIEXEC:-mpiexec} -n $n $solve "$T" -ksp_gmres_restart 50 -json - >"$dir/out" 2>"$dir/err" || fail "JSON to standard output"
  [ "$(head -c 1 "$dir/out")" = "{" ] && [ "$(tail -n 1 "$dir/out")" = "}" ] || fail "not JSON alone on standard output"
done
$solve "$T" -ksp_gmres_restart 50 -json /dev/stdout >"$dir/out" 2>"$dir/err" || fail "JSON to /dev/stdout"
[ "$(head -c 6 "$dir/out")" = matrix ] && [ "$(tail -n 1 "$dir/out")" = "}" ] || fail "summary and JSON one after the other"
[ -z "$(ls "$dir"/*.part 2>/dev/null)" ] || fail "a temporary file is left"

[ -x $eigs ] || { echo "macko-eigs is not built (no SLEPc)"; exit 0; }
full $eigs "$T"
refused 1 "nowhere/v.mtx: No such file" $eigs "$T" -vectors "$dir/nowhere/v.mtx"
refused 1 "nowhere/v.bin: No such file" $eigs "$T" -vectors "$dir/nowhere/v.bin"
[ -s "$dir/out" ] && fail "worked before the place of the vectors was looked at"
refused 1 "-b: the name of a file is missing" $eigs "$T" -b
$eigs "$T" -json - >"$dir/out" 2>"$dir/err" || fail "JSON to standard output"
[ "$(head -c 1 "$dir/out")" = "{" ] || fail "not JSON alone on standard output"
# A reader that has enough ends the program as it ends any other: without a word.
$eigs "$T" -eps_nev 40 -mat_view -log_view 2>"$dir/err" | true
[ -s "$dir/err" ] && fail "a closed pipe is reported"
exit 0
