#!/bin/bash
# No test goes missing in silence: each one is run or shown as skipped with the reason, whatever configure left out, and without
# Check `make check` fails and names the package.
src=$(cd "${srcdir:-.}" && pwd)
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; cat "$dir/text" 2>/dev/null; exit 1; }
tests() { printf 'include Makefile\nnames: ; @printf "%%s\\n" $(TESTS)\n' | MAKEFLAGS='' make -f - names; }

tests >"$dir/names" || exit 1
for source in $(grep -lE '^(int main\(|program )' "$src"/test/*/*.c "$src"/test/*/*.f90); do
  name=$(basename "${source%.*}")
  case $name in plain|stop|fuzz_*) continue ;; esac # run by plugin.sh and stop.sh; the fuzzers have other names
  grep -qxE "(.*/)?$name[0-9]?(\.mpi)?(-left-out\.skip)?" "$dir/names" || fail "$name is neither run nor skipped"
done

printf '#!/bin/sh\ncase " $* " in *" check "*) exit 1 ;; esac\nexec pkg-config "$@"\n' >"$dir/pkg-config"
chmod +x "$dir/pkg-config"
cd "$dir" || exit 1
# Where the sources were configured themselves, as ./quickstart does, no other folder can be configured from them: from links it can.
if [ -e "$src/config.status" ]; then
  mkdir links && for entry in "$src"/*; do cp -rs "$entry" links || exit 1; done
  rm links/config.status links/Makefile
  src=$dir/links
fi
"$src/configure" PKG_CONFIG="$dir/pkg-config" --with-petsc=no --with-cuda=no --with-fortran=no >text 2>&1 || fail "configure"
export MAKEFLAGS='' MACKO_TEST_RESULTS=$dir/results
make check-library >text 2>&1 && fail "make check does without Check"
grep -q "needs the library Check (Debian package: check)" text || fail "the package is not named"
make -n check 2>/dev/null | grep -q "needs the library Check" || fail "make check does not ask for Check"
printf 'include Makefile\nlogs: $(left_out:.skip=.log)\n' | make -f - logs >text 2>&1 || fail "skipped tests fail"
for skipped in "test/cuda/encode .*: CUDA: no: as asked for" "test/petsc/type.mpi .*: PETSc: no: as asked for" \
    "test/petsc/memory .*: PETSc: no: as asked for" "test/petsc/eigen.mpi .*: SLEPc: no: needs PETSc" \
    "test/fortran/macko .*: Fortran: no: as asked for" "test/fortran/macko_cuda .*CUDA: no: as asked for"; do
  grep -q "^SKIP: $skipped" text || fail "no line for $skipped"
done
[ "$(grep -c '^SKIP' results)" = "$(wc -l <results)" ] && [ "$(wc -l <results)" -ge 17 ] || fail "$(cat results)"
