#!/bin/sh
# make installcheck: the project in examples/link builds and runs against the installed library, its Fortran program against the
# installed module.
src=$(cd "${srcdir:-.}" && pwd)
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cp "$src"/examples/link/* "$dir" && chmod -R u+w "$dir" && cd "$dir" || exit 1
{ autoreconf -fi && PKG_CONFIG_PATH=$pkgconfigdir:$PKG_CONFIG_PATH ./configure && make; } >log 2>&1 || { cat log; exit 1; }
[ "$(LD_LIBRARY_PATH=$libdir:$LD_LIBRARY_PATH ./use)" = "12 3" ] || { echo "wrong answer"; exit 1; }
if command -v cmake >/dev/null; then
  { cmake -S . -B by-cmake -DCMAKE_PREFIX_PATH="${libdir%/*}" && cmake --build by-cmake; } >log 2>&1 || { cat log; exit 1; }
  [ "$(by-cmake/use)" = "12 3" ] || { echo "wrong answer of what CMake built"; exit 1; }
fi
if [ -e "$pkgconfigdir/macko-fortran.pc" ]; then
  # shellcheck disable=SC2046,SC2086
  $FC $FC_STRICT -Werror use.f90 -o use_fortran \
    $(PKG_CONFIG_PATH=$pkgconfigdir:$PKG_CONFIG_PATH pkg-config --cflags --libs macko-fortran) || exit 1
  [ "$(LD_LIBRARY_PATH=$libdir:$LD_LIBRARY_PATH ./use_fortran)" = "12 3" ] || { echo "wrong answer from Fortran"; exit 1; }
fi
if [ -x "$bindir/macko-solve" ] && [ -z "$PKG_CONFIG_SYSROOT_DIR" ]; then # which would stand before PETSc's folders too
  export PKG_CONFIG_PATH="$pkgconfigdir:$PKG_CONFIG_PATH" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  # shellcheck disable=SC2046
  mpicc "$src/examples/gmres.c" $(pkg-config --cflags --libs macko-petsc) -o gmres 2>log || { cat log; exit 1; }
  [ ! -s log ] || { cat log; echo "compiling with pkg-config macko-petsc warns"; exit 1; }
  LD_LIBRARY_PATH=$libdir:$LD_LIBRARY_PATH ./gmres "$src/examples/tridiagonal.mtx" -ksp_gmres_restart 50 >log 2>&1 || { cat log; exit 1; }
  [ -e "$(pkg-config --variable=plugin macko-petsc)" ] || { echo "pkg-config names no plugin that is there"; exit 1; }
fi
if [ -x "$bindir/macko-solve" ]; then
  LD_LIBRARY_PATH=$libdir:$LD_LIBRARY_PATH "$bindir/macko-solve" "$src/examples/tridiagonal.mtx" -ksp_gmres_restart 50 >log 2>&1 || { cat log; exit 1; }
fi
