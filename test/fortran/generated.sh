#!/bin/sh
# The Fortran modules must be what fortran/generate.py makes of the headers today.
python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || { echo "SKIP: no python3 of 3.9 or later to generate them again"; exit 77; }
src=${srcdir:-.}
python3 -B "$src/fortran/page.py" "$src" | diff "$src/doc/fortran.md" - || { echo "run: fortran/page.py . > doc/fortran.md"; exit 1; }
grep -q '@' "$src/doc/fortran.md" && { echo "doc/fortran.md has a mark of the templates"; exit 1; }
for module in macko macko_cuda; do
  python3 -B "$src/fortran/generate.py" "$src" $module | diff "$src/fortran/$module.f90" - && continue
  echo "run: fortran/generate.py . $module > fortran/$module.f90"
  exit 1
done
exit 0
