#!/bin/bash
# build-petsc where it cannot work: a folder that cannot be written, or none, is refused in one sentence before anything is done.
src=$(cd "${srcdir:-.}" && pwd)
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; cat "$dir/text"; exit 1; }
# These stand-ins end what is not refused: nothing is downloaded.
mkdir "$dir/bin" "$dir/empty"
for tool in mpicc mpicxx make; do printf '#!/bin/sh\nexit 1\n' >"$dir/bin/$tool"; done
printf '#!/bin/sh\nexit 1\n' >"$dir/bin/python3"
chmod +x "$dir/bin"/*
: >"$dir/file"
refused() { # SENTENCE ARGUMENTS...
  local sentence=$1
  shift
  (cd "$dir/empty" && PATH=$dir/bin:$PATH "$src/petsc/build-petsc" "$@") >"$dir/text" 2>&1 && fail "$*: not refused"
  grep -qF -e "build-petsc: $sentence" "$dir/text" || fail "$*: no '$sentence'"
  [ "$(wc -l <"$dir/text")" = 1 ] || fail "$*: more than a sentence"
  [ "$(ls -A "$dir" | paste -s -d' ')" = "bin empty file text" ] && [ -z "$(ls -A "$dir/empty")" ] || fail "$*: left behind"
}
refused "--prefix=/proc/x: this folder cannot be made and written: No such file" --prefix=/proc/x
refused "--prefix=/proc/self/x/y: this folder cannot be made and written: " --prefix=/proc/self/x/y
refused "--prefix=$dir/file/x: this folder cannot be made and written: Not a directory" --prefix="$dir/file/x"
refused "--prefix=$dir/file: this folder cannot be made and written: File exists" --prefix="$dir/file"
refused "--work=/proc/x: this folder cannot be made and written: " --prefix="$dir/a/b" --work=/proc/x
refused "--prefix= names no folder" --prefix=
refused "--work= names no folder" --work=
# What can be written is not what is refused then.
refused "python3 lacks venv" --prefix="$dir/a/b" --work=work
refused "python3 lacks venv" --prefix="$dir/empty"
[ "$(id -u)" = 0 ] && { echo "root may write everywhere: a closed folder is not tried"; exit 0; }
mkdir "$dir/empty/closed" && chmod a-w "$dir/empty/closed"
(PATH=$dir/bin:$PATH "$src/petsc/build-petsc" --prefix="$dir/empty/closed") >"$dir/text" 2>&1 && fail "closed: not refused"
grep -q "closed: this folder cannot be made and written: Permission denied" "$dir/text" || fail "closed: no sentence"
