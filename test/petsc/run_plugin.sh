# shellcheck shell=bash disable=SC2034,SC2086,SC2154
# Read by the scripts that run programs with the plugin and look at what they print. Each of them ends with: finish
plugin=$PWD/.libs/libpetscmacko.so
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
src=${srcdir:-.} bad=0 checks=0
ours="-dll_append $plugin -mat_type aijmacko -mat_macko_after 0" # encoded by the first product

run() { # RANKS PROGRAM ARGUMENTS...: what it prints goes to $dir/out; a deadlock ends in status 124
  local n=$1
  shift
  timeout "$seconds" ${MPIEXEC:-mpiexec} -n "$n" "$@" >"$dir/out" 2>&1 </dev/null
}
check() { # NAME TEST...
  local name=$1
  shift
  checks=$((checks + 1))
  "$@" && return
  echo "FAIL: $name"
  tail -40 "$dir/out"
  bad=1
}
has() { grep -qE -- "$1" "$dir/out"; }
lacks() { ! has "$1"; }
times() { [ "$(grep -cE -- "$2" "$dir/out")" = "$1" ]; }
finish() {
  echo "$checks checks"
  exit $bad
}
