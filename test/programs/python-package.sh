#!/bin/sh
# The Python package against the library that was built here, from the tree and, where pip is, as pip installs it.
src=$(cd "${srcdir:-.}" && pwd)
library=$PWD/.libs/libmacko.so
[ -e "$library" ] || { echo "SKIP: no shared library was built"; exit 77; }
for python in python3 /usr/bin/python3 ''; do
  [ -n "$python" ] || { echo "SKIP: no python3 with numpy and scipy (Debian packages python3-numpy python3-scipy)"; exit 77; }
  $python -c 'import numpy, scipy.sparse.linalg' 2>/dev/null && break
done
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
export MACKO_LIBRARY="$library" PYTHONDONTWRITEBYTECODE=1
check() { # FOLDER OF THE PACKAGE
  PYTHONPATH=$1 $python "$src/test/programs/python-package.py" "$src/lib/macko.h" "$src/examples/tridiagonal.mtx" || { echo "FAIL: $1"; exit 1; }
}
check "$src/python"
text=$(MACKO_LIBRARY=/nonexistent.so PYTHONPATH=$src/python $python -c 'import macko' 2>&1) && { echo "FAIL: a library that is not there"; exit 1; }
case $text in *"libmacko is not found"*"MACKO_LIBRARY"*) ;; *) echo "FAIL: $text"; exit 1 ;; esac
version() { sed -n "$1" "$2"; }
[ "$(version 's/^version = "\(.*\)"/\1/p' "$src/python/pyproject.toml")" = "$(version 's/^#define MACKO_VERSION_STRING "\(.*\)"/\1/p' "$src/lib/macko.h")" ] ||
  { echo "FAIL: the package has another version than the library"; exit 1; }
if $python -c 'import setuptools, pip; assert int(setuptools.__version__.split(".")[0]) >= 61' 2>/dev/null; then
  cp -r "$src/python" "$dir/python" && chmod -R u+w "$dir/python" || exit 1
  $python -m pip install --quiet --no-deps --no-build-isolation --no-index --target "$dir/installed" "$dir/python" >"$dir/log" 2>&1 ||
    { cat "$dir/log"; echo "FAIL: pip"; exit 1; }
  check "$dir/installed"
else echo "not tried: pip (needs pip and setuptools 61)"
fi
