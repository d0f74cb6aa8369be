#!/bin/sh
# The folders are layers: lib knows neither CUDA, MPI nor PETSc; cuda knows lib; fortran knows lib; nothing knows petsc but what
# stands on it (solvers, examples, tests).
cd "${srcdir:-.}" || exit 1
bad=0
forbid() { # FOLDER PATTERN
  [ -d "$1" ] || return 0
  if grep -nE "^[[:space:]]*#[[:space:]]*include.*($2)" "$1"/*.[ch] "$1"/*.cu "$1"/*.cuh 2>/dev/null; then
    echo "$1 must not include $2"
    bad=1
  fi
}
forbid lib 'cuda|mpi\.h|petsc|slepc|cusparse'
forbid cuda 'mpi\.h|petsc|slepc'
forbid fortran 'mpi\.h|petsc|slepc'
forbid petsc 'solvers|examples'
# A check that finds nothing to look at would pass for the wrong reason.
[ "$(ls lib/*.c | wc -l)" -gt 5 ] || { echo "lib/ has no sources"; bad=1; }
exit $bad
