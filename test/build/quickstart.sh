#!/bin/bash
# quickstart where it cannot work, with stand-ins for the system's tools: it says why in one sentence, and changes nothing.
src=$(cd "${srcdir:-.}" && pwd)
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; cat "$dir/text"; exit 1; }
tool() { printf '#!/bin/sh\n%s\n' "$2" >"$dir/bin/$1" && chmod +x "$dir/bin/$1"; }
mkdir "$dir/bin" "$dir/plain" "$dir/with space"
cp "$src/quickstart" "$dir/plain" && cp "$src/quickstart" "$dir/with space" || exit 1
tool apt-get "echo \"\$@\" >>'$dir/apt'; exit 100"
tool dpkg-query 'echo not-installed'
tool id 'echo 1000'
run() { # FOLDER STATUS SENTENCE ARGUMENTS...
  local folder=$1 want=$2 sentence=$3 got=0
  shift 3
  (cd "$dir/$folder" && PATH="$dir/bin:$PATH" bash ./quickstart "$@") >"$dir/text" 2>&1 || got=$?
  [ "$got" = "$want" ] || fail "exit status $got, not $want"
  grep -qF -e "$sentence" "$dir/text" || fail "no '$sentence'"
}
run plain 0 "usage: ./quickstart" --help
run plain 1 "takes no arguments" nonsense
run "with space" 1 "cannot build in a folder whose name holds spaces"
[ -e "$dir/apt" ] && fail "something was installed before"
tool sudo 'echo "sudo: a password is required" >&2; exit 1'
run plain 1 "autoconf"
tool sudo 'exec "$@"'
run plain 1 "apt-get could not install autoconf" # whose update failed too: the lists that are there may do
grep -q '^install .*petsc-dev' "$dir/apt" || fail "not tried with the lists that are there"
[ "$(ls "$dir/plain")" = "$(printf 'apt.log\nquickstart')" ] || fail "left behind: $(ls "$dir/plain")"
tool dpkg-query 'echo installed'
echo 'echo "    PETSc                        no: PETSc 3.15.5 is older than 3.18"; : >Makefile' >"$dir/configure"
tool autoreconf "cp '$dir/configure' .; chmod +x configure"
tool make ':'
run plain 1 "PETSc 3.15.5 is older than 3.18"
grep -q "petsc/build-petsc" "$dir/text" || fail "no way out is named"
exit 0
