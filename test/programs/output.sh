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

# What is written: under a name that nothing has, in place of the file behind a link, of a link to nothing itself.
places() { # NAME PROGRAM ARGUMENTS... OPTION: the option's file is NAME
  local name=$1 new
  shift
  mkdir "$dir/p" && (
    cd "$dir/p" && umask 027 && echo victim >victim && echo part >"$name.part" && echo old >target && chmod 604 target &&
      ln -s target "link.$name" && ln -s nothing "dangling.$name" && ln -s victim "link.$name.part" && mkdir at &&
      ln -s ../victim "at/$name.part"
  ) || fail "no folder to write to"
  for new in "$name" "at/$name" "link.$name" "dangling.$name"; do
    (umask 027; "$@" "$dir/p/$new" >"$dir/out" 2>"$dir/err") || fail "cannot write $new: $*"
  done
  [ "$(cat "$dir/p/$name.part") $(cat "$dir/p/victim")" = "part victim" ] || fail "another file was written: $*"
  [ -L "$dir/p/link.$name" ] && [ "$(stat -c %a "$dir/p/target")" = 604 ] || fail "the link or the permissions behind it: $*"
  ! echo old | cmp -s - "$dir/p/target" || fail "nothing new behind the link: $*"
  [ ! -e "$dir/p/nothing" ] && [ ! -L "$dir/p/dangling.$name" ] || fail "the link to nothing: $*"
  for new in "$name" "at/$name" "dangling.$name"; do
    [ "$(stat -c %a "$dir/p/$new")" = 640 ] && [ -s "$dir/p/$new" ] || fail "no file, or not by the umask: $new: $*"
  done
  rm "$dir/p/link.$name.part" "$dir/p/at/$name.part" "$dir/p/$name.part"
  [ "$(ls "$dir/p" "$dir/p/at" | wc -l)" = 10 ] || fail "more files than were asked for: $(ls "$dir/p" "$dir/p/at"): $*"
  rm -r "$dir/p"
}

# What is read is not written over, whatever its name.
cp "$T" "$dir/in.mtx" && ln -s in.mtx "$dir/in.link.mtx"
awk 'BEGIN { print "%%MatrixMarket matrix array real general\n40 1"; for (i = 1; i <= 40; i++) print 1 }' >"$dir/rhs.mtx" && cp "$dir/rhs.mtx" "$dir/rhs.before"
for option in -solution -json; do
  [ ! -x $solve ] || refused 1 "$option would overwrite .*, which is read" $solve "$dir/in.mtx" -rhs "$dir/rhs.mtx" $option "$dir/in.link.mtx"
  [ ! -x $solve ] || refused 1 "$option would overwrite .*, which is read" $solve "$dir/in.mtx" -rhs "$dir/rhs.mtx" $option "$dir/rhs.mtx"
done
for option in -vectors -json; do
  [ ! -x $eigs ] || refused 1 "$option would overwrite .*, which is read" $eigs "$dir/in.mtx" $option "$dir/in.mtx"
done
cmp -s "$T" "$dir/in.mtx" && cmp -s "$dir/rhs.mtx" "$dir/rhs.before" || fail "a file that is read was written over"

for out in "$dir/in.mtx" "$dir/in.link.mtx"; do
  refused 2 "in.*mtx: is read, too, so it is not written" solvers/macko-convert "$dir/in.mtx" "$out"
  cmp -s "$T" "$dir/in.mtx" || fail "macko-convert wrote over what it reads"
done
full $bench --device cpu --repeat 1 --encodings csr 27-point:4
full $bench --help
for program in solvers/macko-convert solvers/macko-info; do
  full $program --version
  full $program --help
done
if [ -c /dev/full ]; then
  for option in --tsv --json; do
    refused 1 "/dev/full: \(No space left\|cannot be written\)" $bench --device cpu --repeat 1 --encodings csr $option /dev/full \
      27-point:4
  done
fi
# Who reads no further, as head does, ends it without a word of PETSc's.
$bench --device cpu --repeat 1 --encodings csr 27-point:4 27-point:5 2>"$dir/err" | head -n 4 >"$dir/out"
! grep -q 'PETSC ERROR' "$dir/err" || fail "a pipe that is closed passes for a crash of macko-bench"
# A place that cannot be written to, or a wrong word, is refused before hours of measuring.
refused 2 "nowhere/x.json: No such file" $bench --device cpu --json "$dir/nowhere/x.json" 27-point:4
[ -s "$dir/out" ] && fail "measured before the place of the JSON was looked at"
refused 2 "nowhere/x.gnuplot: No such file" $bench --device cpu --repeat 1 --encodings csr --plot "$dir/nowhere/x" 27-point:4
[ -s "$dir/out" ] && fail "measured before the place of the pictures was looked at"
echo old >"$dir/old.json"
refused 2 "--repeat wants a positive number, not 3x" $bench --device cpu --repeat 3x --json "$dir/old.json" 27-point:4
refused 2 '"nonsense" is unknown' $bench --device cpu --encodings csr,nonsense 27-point:4
refused 2 '"nonsense" is unknown' $bench --device cpu --encodings csr.nonsense 27-point:4
refused 1 "absent.mtx: no such file, and no generated matrix" $bench --device cpu --json "$dir/old.json" "$dir/absent.mtx"
# No output is an input, whatever leads to it, or another output.
cp "$T" "$dir/in.mtx" && cp "$T" "$dir/in" && sed 's/^%%/%/' "$T" >"$dir/one-sign" && ln -s in "$dir/leads" && echo plain >"$dir/table" && mkdir "$dir/sub" || fail "no inputs"
$bench --device cpu --repeat 1 --encodings csr --tsv "$dir/rows.tsv" 27-point:4 >"$dir/out" 2>"$dir/err" || fail "no table to read"
kept() { cmp -s "$T" "$dir/in.mtx" && cmp -s "$T" "$dir/in" && grep -q ^matrix "$dir/rows.tsv" || fail "an input is gone: $*"; }
for option in --tsv --json; do
  refused 2 "is read, too, so it is not written" $bench --device cpu --repeat 1 "$dir/in.mtx" 27-point:4 $option "$dir/sub/../in.mtx"
  kept "$option"
  refused 2 "is read, too, so it is not written" $bench --device cpu --repeat 1 "$dir/in" $option "$dir/leads"
  kept "$option through a link"
  refused 2 "is a matrix, so it is not written over; is the value of $option missing" $bench --device cpu --repeat 1 $option "$dir/in"
  kept "$option without a value"
  refused 2 "is a matrix, so it is not written over" $bench --device cpu --repeat 1 $option "$dir/one-sign"
  refused 2 "is read, too, so it is not written" $bench --from "$dir/rows.tsv" $option "$dir/rows.tsv"
  kept "$option of --from"
done
refused 2 "name one file" $bench --device cpu --repeat 1 27-point:4 --tsv "$dir/both" --json "$dir/sub/../both"
[ ! -e "$dir/both" ] || fail "refused, and written"
$bench --device cpu --repeat 1 --encodings csr 27-point:4 --tsv /dev/null --json /dev/null >"$dir/out" 2>"$dir/err" || fail "nothing twice"

# JSON of a file whose name may hold anything.
odd=$(printf 'a\344\001\t\177\n"\\\\ \300\257 \340\200\257 \360\200\200\257 \355\240\200 \364\220\200\200 \377 \303\244\342\202\254\360\235\204\236 \342\202.mtx')
cp "$T" "$dir/$odd"
named() { # JSON: parses, and names the file, a U+FFFD for each byte that is not UTF-8
  command -v python3 >/dev/null || { echo "skipped: no python3 to read $1"; return 0; }
  python3 -m json.tool "$1" >"$dir/out" 2>"$dir/err" || fail "$1 is no JSON"
  python3 - "$1" "$dir/$odd" <<'END' 2>"$dir/err" || fail "$1 does not name the file"
import codecs, json, os, sys
codecs.register_error("each", lambda e: ("\ufffd" * (e.end - e.start), e.end))
made = json.load(open(sys.argv[1], encoding="utf-8"))
path = os.fsencode(sys.argv[2]).decode("utf-8", "each")
found = [made[m]["path"] for m in ("matrix", "second") if m in made] or [os.path.dirname(path) + "/" + r["matrix"] for r in made["results"]]
assert found and all(f == path for f in found), (found, path)
END
}
$bench --device cpu --repeat 1 --encodings csr --json "$dir/odd.json" "$dir/$odd" >"$dir/out" 2>"$dir/err" || fail "an odd name"
named "$dir/odd.json"
places a.json $bench --device cpu --repeat 1 --encodings csr 27-point:4 --json
# A failure leaves the old file and no other; the limit stands for a full disk.
mkdir "$dir/f" && echo old >"$dir/f/old.json"
$bench --device cpu --repeat 1 --encodings csr --tsv "$dir/a.tsv" 27-point:4 >"$dir/out" 2>"$dir/err" || fail "no table"
{ (trap '' XFSZ; ulimit -f 0; exec $bench --from "$dir/a.tsv" --json "$dir/f/old.json") 2>&1 || echo "status $?"; } | cat >"$dir/err"
grep -q "^status 1" "$dir/err" || fail "a full disk is no error"
grep -q "old.json: File too large" "$dir/err" || fail "a full disk is not told"
[ "$(cat "$dir/f/old.json") $(ls "$dir/f")" = "old old.json" ] || fail "a failure changed the old file, or left another"

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

# Outputs that are one file, there or not: nothing is solved for them.
for mpi in "" "${MPIEXEC:-mpiexec} -n 2"; do
  for name in new.mtx table; do
    $mpi $solve "$T" -json "$dir/$name" -solution "$dir/sub/../$name" >"$dir/out" 2>"$dir/err" && fail "one file for two outputs"
    grep -q "^macko-solve: -json and -solution name one file" "$dir/err" || fail "no sentence on one file for two outputs"
    [ ! -s "$dir/out" ] && [ ! -e "$dir/new.mtx" ] && [ "$(cat "$dir/table")" = plain ] || fail "solved for outputs that are one file"
  done
done
if [ -x $eigs ]; then
  refused 1 "-vectors and -left_vectors name one file" $eigs "$T" -vectors "$dir/v.mtx" -left_vectors "$dir/v.mtx"
  refused 1 "-json and -vectors name one file" $eigs "$T" -vectors "$dir/v.mtx" -json "$dir/sub/../v.mtx"
fi

refused 1 "-json and -solution both go to standard output" $solve "$T" -json - -solution /dev/stdout
[ ! -s "$dir/out" ] || fail "two outputs in one stream"
refused 1 "-json and -solution both go to standard output" $solve "$T" -json /dev/stdout -solution "$dir/out"
$solve "$T" -ksp_gmres_restart 50 -json - -solution /dev/null >/dev/null 2>"$dir/err" || fail "nothing twice"
[ ! -x $eigs ] || refused 1 "-json and -vectors both go to standard output" $eigs "$T" -json - -vectors /dev/stdout

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
$solve "$dir/$odd" -ksp_gmres_restart 50 -json "$dir/odd.json" >"$dir/out" 2>"$dir/err" || fail "an odd name"
named "$dir/odd.json"
places a.json $solve "$T" -ksp_gmres_restart 50 -json
places x.mtx $solve "$T" -ksp_gmres_restart 50 -solution
places x.bin $solve "$T" -ksp_gmres_restart 50 -solution

# A signal while it solves, or while it writes, leaves nothing and keeps what was there.
interrupt() { # SIGNAL WHEN ARGUMENTS...: 0 if the signal itself, no handler of PETSc's, ended the program, which it gets when WHEN holds
  local signal=$1 when=$2 got=0
  shift 2
  # A shell that is no terminal's has its background programs ignore SIGINT.
  env --default-signal=HUP,INT,TERM "$@" >"$dir/out" 2>"$dir/err" &
  local program=$!
  while kill -0 $program 2>/dev/null && ! eval "$when"; do :; done
  kill -s "$signal" $program 2>/dev/null
  wait $program || got=$?
  [ $got = 0 ] && return 1
  [ $got = $((128 + $(kill -l "$signal"))) ] && [ ! -s "$dir/err" ] || fail "SIG$signal did not end the program: exit status $got"
}
awk 'BEGIN { n = 600000; printf "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", n, n, n
  for (i = 1; i <= n; i++) print i, i, 1 + i % 7 }' >"$dir/diagonal.mtx"
mkdir "$dir/s"
for signal in INT TERM HUP; do
  for name in x.mtx x.bin; do
    echo old >"$dir/s/$name"
    interrupt $signal "sleep 2" $solve "$T" -ksp_type richardson -ksp_rtol 0 -ksp_atol 0 -ksp_max_it 2000000000 -json "$dir/s/a.json" \
      -solution "$dir/s/$name" || fail "a solve was not ended by SIG$signal"
    [ "$(ls "$dir/s") $(cat "$dir/s/$name")" = "$name old" ] || fail "SIG$signal in a solve left $(ls "$dir/s")"
    # The program may be done before the signal comes: then again.
    for try in 1 2 3 4 5 6; do
      [ $try = 6 ] && fail "SIG$signal never came while $name was written"
      echo old >"$dir/s/$name"
      interrupt $signal 'compgen -G "$dir/s/*.part" >/dev/null' $solve "$dir/diagonal.mtx" -solution "$dir/s/$name" && break
    done
    [ "$(ls "$dir/s") $(cat "$dir/s/$name")" = "$name old" ] || fail "SIG$signal while writing left $(ls "$dir/s")"
    rm "$dir/s/$name"
  done
done

[ -x $eigs ] || { echo "macko-eigs is not built (no SLEPc)"; exit 0; }
full $eigs "$T"
refused 1 "nowhere/v.mtx: No such file" $eigs "$T" -vectors "$dir/nowhere/v.mtx"
refused 1 "nowhere/v.bin: No such file" $eigs "$T" -vectors "$dir/nowhere/v.bin"
[ -s "$dir/out" ] && fail "worked before the place of the vectors was looked at"
refused 1 "-b: the name of a file is missing" $eigs "$T" -b
$eigs "$dir/$odd" -b "$dir/$odd" -eps_ncv 40 -json "$dir/odd.json" >"$dir/out" 2>"$dir/err" || fail "an odd name"
named "$dir/odd.json"
places v.mtx $eigs "$T" -vectors
places v.bin $eigs "$T" -vectors
places a.json $eigs "$T" -json
$eigs "$T" -json - >"$dir/out" 2>"$dir/err" || fail "JSON to standard output"
[ "$(head -c 1 "$dir/out")" = "{" ] || fail "not JSON alone on standard output"
# A reader that has enough ends the program as it ends any other: without a word.
$eigs "$T" -eps_nev 40 -mat_view -log_view 2>"$dir/err" | true
[ -s "$dir/err" ] && fail "a closed pipe is reported"
exit 0
