#!/bin/bash
# PETSc's own test programs, compiled unchanged, with aij and with aijmacko in its place: what they print must be the same.
#
#   ../test/petsc/suite.sh FOLDER [PROGRAM...] >results.tsv     in a build folder, after make
#
# FOLDER: PETSc's source folder, or the share/petsc/examples of an installed one, of the version that was configured. PROGRAM: as
# mat/tests/ex1; all of src/mat/tests, src/ksp/ksp/tests and src/ksp/ksp/tutorials if there is none. MACKO_SUITE_RANKS (8): tests
# of more ranks are left out; MACKO_SUITE_CASES (all): so many combinations of a test's loops; MACKO_SUITE_SECONDS (120): time
# limit of a run; MACKO_SUITE_JOBS (1): so many tests at once; MACKO_SUITE_OPTIONS: PETSc options for every run; MACKO_SUITE_KEEP: a
# folder for the compiled programs, where those that are there are taken; CPATH, LIBS: headers and libraries of other packages that
# programs use themselves. MACKO_SUITE_GPU=yes: on a machine with a GPU, tests that are about GPUs run, too, and those that name
# aijcusparse once with that and once with aijmacko; so do the programs of mat/tutorials, snes and ts/tutorials. What came out is
# in doc/petsc-suite.md.
here=$(cd "$(dirname "$0")" && pwd)
plugin=$PWD/.libs/libpetscmacko.so
[ -e "$plugin" ] || { echo "$0: no .libs/libpetscmacko.so here: run it in a build folder with PETSc" >&2; exit 77; }
[ -d "$1/src/mat/tests" ] || { echo "usage: $0 FOLDER [PROGRAM...], FOLDER with PETSc's src and config" >&2; exit 2; }
of_makefile() { sed -n "s/^$1 = *//p" Makefile; }
PETSC_CFLAGS=$(of_makefile PETSC_CFLAGS)
PETSC_LIBS="$(of_makefile PETSC_LIBS) ${LIBS:-}"
export PETSC_CFLAGS PETSC_LIBS LC_ALL=C OMP_NUM_THREADS=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
exec python3 -B "$here/suite.py" "$plugin" "$@"
