#!/bin/bash
# suite.sh runs, and takes for equal what is: programs that view their matrices print lines of ours that aij has not.
# MACKO_PETSC_EXAMPLES_ROOT names PETSc's share/petsc/examples; default: the one PETSc installs beside itself, then that of Debian's
# libpetsc3.18-dev-examples.
[ -e .libs/libpetscmacko.so ] || { echo "SKIP: the plugin is not built (no PETSc)"; exit 77; }
from=$MACKO_PETSC_EXAMPLES_ROOT
for share in "$petsc_libdir/.." /usr/share/petsc/*; do
  [ -z "$from" ] && [ -d "$share/share/petsc/examples/src/mat/tests" ] && from=$share/share/petsc/examples
done
[ -e "$from/config/testparse.py" ] ||
  { echo "SKIP: no PETSc test programs (Debian package libpetsc3.18-dev-examples, or MACKO_PETSC_EXAMPLES_ROOT)"; exit 77; }
programs="ksp/ksp/tutorials/ex1 ksp/ksp/tutorials/ex29"
# shellcheck disable=SC2086
out=$(MACKO_SUITE_RANKS=1 MACKO_SUITE_CASES=1 "${srcdir:-.}/test/petsc/suite.sh" "$from" $programs 2>&1 </dev/null)
status=$?
echo "$out"
[ $status = 0 ] || { echo "FAIL: suite.sh: status $status"; exit 1; }
grep -q '^same  *without any' <<<"$out" && grep -q '^same  *with products of aijmacko' <<<"$out" ||
  { echo "FAIL: suite.sh compared nothing"; exit 1; }
