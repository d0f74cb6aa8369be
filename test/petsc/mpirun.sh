#!/bin/sh
# Runs an MPI test under 1, 2 and 3 ranks, each within a time limit: a deadlock is a failure, not a wait. PETSc lists at the end
# what of its memory was not freed.
# An MPI that knows nothing of GPUs is enough.
export PETSC_OPTIONS="-malloc_dump -use_gpu_aware_mpi 0 $PETSC_OPTIONS" OMP_NUM_THREADS=1
export OMPI_MCA_hwloc_base_binding_policy=none # else two ranks of every suite share the first two cores
export OMPI_MCA_mpi_yield_when_idle=1 # waiting ranks must not take the cores from working ones
log=`mktemp`
trap 'rm -f "$log"' EXIT
for ranks in ${MACKO_TEST_RANKS-1 2 3}; do
  echo "== $ranks ranks"
  timeout ${MACKO_TEST_SECONDS-240} ${MPIEXEC-mpiexec} -n $ranks "$@" >"$log" 2>&1
  status=$?
  cat "$log"
  test $status != 77 || exit 77
  test $status = 0 || { echo "FAIL: status $status with $ranks ranks (124: time limit)"; exit 1; }
  ! grep -E 'Total space allocated|^\[[ 0-9]*\] *[0-9]+ bytes ' "$log" >/dev/null ||
    { echo "FAIL: memory was not freed with $ranks ranks"; exit 1; }
done
