#!/bin/sh
# find_package(macko): the project in examples/link builds with CMake against an installation, wherever that was moved; what is not
# there, or another version, is refused in a sentence.
command -v cmake >/dev/null || { echo "SKIP: no cmake (Debian package: cmake)"; exit 77; }
src=$(cd "${srcdir:-.}" && pwd)
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; cat "$dir/log"; exit 1; }
MAKEFLAGS='' ${MAKE:-make} prefix=/somewhere/macko libdir=/somewhere/macko/lib includedir=/somewhere/macko/include DESTDIR="$dir/stage" \
  lib_LTLIBRARIES=libmacko.la install-libLTLIBRARIES install-mackoincludeHEADERS install-cmakeDATA >"$dir/log" 2>&1 || fail "make install"
mv "$dir/stage/somewhere/macko" "$dir/moved here" || fail "nothing was installed"
mkdir "$dir/project" && cp "$src/examples/link/CMakeLists.txt" "$src/examples/link/use.c" "$dir/project" && chmod -R u+w "$dir/project" || exit 1
configure() { # FOLDER
  cmake -S "$dir/project" -B "$dir/$1" -DCMAKE_PREFIX_PATH="$dir/moved here" >"$dir/log" 2>&1
}
configure build || fail "find_package"
cmake --build "$dir/build" >"$dir/log" 2>&1 || fail "the project does not build"
[ "$("$dir/build/use" 2>"$dir/log")" = "12 3" ] || fail "wrong answer"
# With the static library alone the libraries that it needs are linked, too: those for files are where a program loads one.
if [ -e "$dir/moved here/lib/libmacko.a" ]; then
  mkdir "$dir/shared" && mv "$dir/moved here"/lib/libmacko.so* "$dir/shared" && cp "$dir/project/use.c" "$dir/use.c" || fail "no shared library"
  printf '%s\n' '#include <macko.h>' 'int main(void) {' '  macko_matrix *m = 0;' '  macko_error err;' \
    '  return macko_load("absent.macko", &m, 0, &err) != MACKO_IO;' '}' >"$dir/project/use.c"
  configure static || fail "find_package of the static library"
  cmake --build "$dir/static" >"$dir/log" 2>&1 || fail "the project does not link with the static library"
  "$dir/static/use" || fail "wrong answer of the static library"
  mv "$dir/shared"/* "$dir/moved here/lib" && cp "$dir/use.c" "$dir/project/use.c" || fail "the shared library does not come back"
else echo "not tried: the static library, which was not built"
fi
sed -i 's/find_package(macko .*/find_package(macko 7.2 REQUIRED)/' "$dir/project/CMakeLists.txt"
configure version && fail "another version serves"
grep -q '7\.2' "$dir/log" || fail "the version is not named"
sed -i 's/find_package(macko .*/find_package(macko REQUIRED COMPONENTS turbo)/' "$dir/project/CMakeLists.txt"
configure component && fail "a component that is not there"
grep -q 'macko was installed without turbo' "$dir/log" || fail "the component is not named"
sed -i 's/find_package(macko .*/find_package(macko REQUIRED)/' "$dir/project/CMakeLists.txt"
rm "$dir/moved here"/lib/libmacko.*
configure nothing && fail "a library that is gone"
grep -q 'libmacko is not in' "$dir/log" || fail "the library that is gone is not named"
exit 0
