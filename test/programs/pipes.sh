#!/bin/bash
# Matrices that come through pipes: the programs read them as they read files; what is neither file nor pipe is refused.
src=${srcdir:-.}
solve=solvers/macko-solve eigs=solvers/macko-eigs bench=solvers/macko-bench
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; cat "$dir/text" 2>/dev/null; exit 1; }
expect() { # STATUS ARGUMENTS...: runs within a minute, and compares the exit status
  local want=$1 got=0
  shift
  timeout 60 "$@" >"$dir/text" 2>&1 || got=$?
  [ "$got" = "$want" ] || fail "exit status $got, not $want: $*"
}
says() { # SENTENCE: one line of the last run holds it
  [ "$(grep -cF -e "$1" "$dir/text")" = 1 ] || fail "not one sentence '$1'"
}
through() { # FILE ARGUMENTS...: the arguments are run while FILE goes into the named pipe
  cat "$1" >"$dir/fifo" 2>/dev/null &
  local writer=$!
  shift
  expect 0 "$@"
  kill $writer 2>/dev/null && fail "the pipe was not read: $*"
  wait $writer 2>/dev/null
}
T=$src/examples/tridiagonal.mtx
mkfifo "$dir/fifo"
gzip -c "$T" >"$dir/t.mtx.gz"
mkdir "$dir/t" && cp "$T" "$dir/t/t.mtx" && tar -C "$dir" -czf "$dir/t.tar.gz" t || fail "no archive"

# macko-bench.
measure="$bench --device cpu --repeat 1 --encodings csr"
expect 0 $measure <(cat "$T")
grep -q ': 40 x 40, 118 nonzeros' "$dir/text" || fail "macko-bench misreads a pipe"
for file in "$T" "$dir/t.mtx.gz" "$dir/t.tar.gz"; do
  through "$file" $measure "$dir/fifo"
  grep -q ': 40 x 40, 118 nonzeros' "$dir/text" || fail "macko-bench misreads a pipe: $file"
  expect 0 $measure /dev/stdin < <(cat "$file")
  grep -q ': 40 x 40, 118 nonzeros' "$dir/text" || fail "macko-bench misreads standard input: $file"
done
expect 1 $measure <(true)
says ": the file is empty"
expect 1 $measure "$dir"
says "$dir: cannot be read: Is a directory"
expect 1 $measure /dev/null
says "/dev/null: the file is empty"
[ -x $solve ] || { echo "macko-solve is not built (no PETSc)"; exit 0; }

# What was solved, but for name and seconds.
facts() { sed -e 's/"path": "[^"]*"/"path": ""/' -e '/"seconds": /d' -e 's/, "[a-z_]*_seconds": [^,}]*//g' "$1"; }
same() { # PATH: the last run's JSON is that of the file $1, and names PATH
  facts "$dir/json" | cmp -s - "$dir/$1.facts" || fail "another answer than from the file"
  grep -qF -e "$2" "$dir/json" || fail "the JSON does not name $2"
}
options="-ksp_gmres_restart 50 -json $dir/json"
expect 0 $solve "$T" $options -ksp_view_mat binary:"$dir/t.bin" -ksp_view_rhs binary:"$dir/b.bin"
facts "$dir/json" >"$dir/text.facts"
expect 0 $solve "$dir/t.bin" $options
facts "$dir/json" >"$dir/binary.facts"
expect 0 $solve <(cat "$T") $options
same text /dev/fd/
for file in "$T" "$dir/t.mtx.gz" "$dir/t.tar.gz" "$dir/t.bin"; do
  kind=text
  [ "$file" = "$dir/t.bin" ] && kind=binary
  through "$file" $solve "$dir/fifo" $options
  same $kind "$dir/fifo"
  expect 0 $solve /dev/stdin $options < <(cat "$file")
  same $kind /dev/stdin
  through "$file" ${MPIEXEC:-mpiexec} -n 2 $solve "$dir/fifo" $options
  grep -q '"converged": true' "$dir/json" || fail "not solved on 2 ranks"
  grep -q '"rows": 40, "cols": 40, "nonzeros": 118' "$dir/json" || fail "misread on 2 ranks"
done
printf '%%%%MatrixMarket matrix array real general\n40 1\n' >"$dir/b.mtx"
for i in $(seq 40); do echo "$i"; done >>"$dir/b.mtx"
for file in "$dir/b.mtx" "$dir/b.bin"; do
  through "$file" $solve "$T" -rhs "$dir/fifo" -ksp_gmres_restart 50
  through "$file" ${MPIEXEC:-mpiexec} -n 2 $solve "$T" -rhs "$dir/fifo" -ksp_gmres_restart 50
done
# Sentences name what the user named, with the line.
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 1\n' >"$dir/wrong.mtx"
expect 1 $solve /dev/stdin < <(cat "$dir/wrong.mtx")
says "macko-solve: /dev/stdin:3: column 3 is outside 1..2"
head -c 300 "$dir/t.bin" >"$dir/cut.bin"
expect 1 $solve /dev/stdin < <(cat "$dir/cut.bin")
says "macko-solve: /dev/stdin: cut short: 300 bytes"
expect 1 $solve /dev/stdin < <(true)
says "macko-solve: /dev/stdin: the file is empty"
expect 1 $solve "$T" -rhs /dev/stdin < <(true)
says "macko-solve: /dev/stdin: the file is empty"
expect 1 $solve "$dir"
says "macko-solve: $dir: cannot be read: Is a directory"
for device in /dev/null /dev/zero; do
  [ -c $device ] || { echo "skipped: no $device"; continue; }
  expect 1 $solve $device
  says "macko-solve: $device: is a device; matrices are read from files and pipes"
  expect 1 ${MPIEXEC:-mpiexec} -n 2 $solve "$T" -rhs $device
  says "macko-solve: $device: is a device; matrices are read from files and pipes"
done
export OMPI_MCA_orte_tmpdir_base=$dir # Open MPI would make the folder
case $(${MPIEXEC:-mpiexec} --version 2>&1) in
*"(Open MPI) "[5-9]*) echo "skipped: Open MPI from 5 on does not start where TMPDIR is no folder" ;;
*)
  TMPDIR=$dir/t.bin expect 1 $solve /dev/stdin < <(cat "$T")
  says "macko-solve: /dev/stdin: cannot be copied to $dir/t.bin: Not a directory"
  ;;
esac
mkdir "$dir/tmp"
TMPDIR=$dir/tmp expect 0 $solve /dev/stdin -ksp_gmres_restart 50 < <(cat "$T")
[ -z "$(ls -d "$dir"/tmp/macko-* 2>/dev/null)" ] || fail "a copy of the pipe is left"

[ -x $eigs ] || { echo "macko-eigs is not built (no SLEPc)"; exit 0; }
for file in "$T" "$dir/t.bin"; do
  for n in 1 2; do
    run="$eigs"
    [ $n = 2 ] && run="${MPIEXEC:-mpiexec} -n 2 $eigs"
    through "$file" $run "$dir/fifo" -eps_ncv 40 -json "$dir/json"
    grep -q '"rows": 40, "cols": 40, "nonzeros": 118' "$dir/json" || fail "macko-eigs misreads a pipe: $file, $n ranks"
    through "$file" $run "$T" -b "$dir/fifo" -eps_ncv 40 -json "$dir/json"
    # A x = k A x has no other eigenvalue than 1.
    sed -n 's/.*"real": \([^,]*\), .*/\1/p' "$dir/json" | awk '($1 - 1) ^ 2 > 1e-20 { bad = 1 } END { exit bad || !NR }' ||
      fail "-b misreads a pipe: $file, $n ranks"
  done
done
expect 0 $eigs <(cat "$dir/t.bin") -b <(cat "$T") -eps_ncv 40
expect 1 $eigs "$T" -b /dev/stdin < <(true)
says "macko-eigs: /dev/stdin: the file is empty"
exit 0
