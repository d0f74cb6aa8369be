#!/bin/bash
# The good path of quickstart in a clean copy of this repository, and again where the real matrix cannot be had: what it prints is
# README's listing but for iterations, residuals and seconds; then an installation with another prefix. No part of make
# check, as it installs packages and builds everything.
cd "$(dirname "$0")/.." || exit 1
src=$PWD
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; cat "$dir/text"; exit 1; }
# Of a row of the table its name and bytes, of why it is stored so, which is folded, words. What is predicted to be fastest goes by
# the caches of the machine, and is left out.
listing() {
  awk '/^macko-solve quickstart-data/, /^(Next:|```)/' "$1" |
    awk '/^aijmacko stores/ { skip = 1 } /^by memory/ { skip = 0 } !skip && !/^aijmacko +[0-9]/' |
    sed -E 's/^(aij|aijmacko[a-z ]*) +[0-9]+ +[0-9.e-]+ +([0-9]+) .*/\1 \2/; /^(Next:|```)/d' | xargs -n 1
}
brick() { sed -n '/brick.mtx/,$p'; }
mkdir "$dir/copy" "$dir/bin"
git ls-files -z | xargs -0 cp --parents -t "$dir/copy" || exit 1
cd "$dir/copy" || exit 1
echo "in a clean copy"
./quickstart >"$dir/text" 2>&1 || fail "quickstart fails"
grep "scilab-doc cannot be had" "$dir/text" >"$dir/missing" && { echo "SKIP: $(cat "$dir/missing")"; exit 77; }
[ "$(grep -c '^aijmacko stores' "$dir/text")" = 2 ] || fail "nothing says what is stored"
diff <(listing "$src/README.md") <(listing "$dir/text") || fail "README lists something else"
make check-TESTS TESTS=test/build/left-out.sh >"$dir/text" 2>&1 || fail "what configures macko elsewhere fails where quickstart was run"

echo "again, without the real matrix"
printf '#!/bin/sh\necho "E: unable to locate package $2"; exit 100\n' >"$dir/bin/apt-get"
chmod +x "$dir/bin/apt-get"
rm quickstart-data/bcsstk24.rsa
PATH=$dir/bin:$PATH ./quickstart >"$dir/text" 2>&1 || fail "quickstart fails without the real matrix"
grep -q "scilab-doc cannot be had here (E: unable to locate package scilab-doc)" "$dir/text" || fail "no word of the real matrix"
diff <(listing "$src/README.md" | brick) <(listing "$dir/text" | brick) || fail "README lists another brick"

echo "installed into a folder in reach of whoever has no root"
prefix=$dir/home/macko
{ ./configure --prefix="$prefix" --with-cuda=no && make -j2 && make install; } >"$dir/text" 2>&1 ||
  fail "make install with another prefix after quickstart"
export PATH=$prefix/bin:$PATH LD_LIBRARY_PATH=$prefix/lib PKG_CONFIG_PATH=$prefix/lib/pkgconfig
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
cd "$prefix/share/doc/macko/examples" || exit 1
# shellcheck disable=SC2046
cc spmv.c $(pkg-config --cflags --libs macko) -o "$dir/spmv" >"$dir/text" 2>&1 || fail "spmv.c does not compile"
"$dir/spmv" tridiagonal.mtx >"$dir/text" 2>&1 || fail "spmv does not run"
mpicc gmres.c $(pkg-config --cflags --libs macko-petsc) -o "$dir/gmres" >"$dir/text" 2>&1 || fail "gmres.c does not compile"
"$dir/gmres" tridiagonal.mtx >"$dir/text" 2>&1 || fail "gmres does not run"
macko-solve 7-point:10 -ksp_type cg >"$dir/text" 2>&1 || fail "macko-solve does not run"
