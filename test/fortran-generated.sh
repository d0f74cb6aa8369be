#!/bin/sh
# fortran/macko.f90 must be what fortran/generate.py makes of the header today.
python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null || { echo "SKIP: no python3 of 3.8 or later to generate it again"; exit 77; }
# shellcheck disable=SC2154
PYTHONDONTWRITEBYTECODE=1 python3 "$srcdir/fortran/generate.py" "$srcdir/lib" "$srcdir/fortran" | diff "$srcdir/fortran/macko.f90" - && exit 0
echo "run: fortran/generate.py lib fortran > fortran/macko.f90"
exit 1
