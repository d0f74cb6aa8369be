#!/bin/sh
# test/petsc_operations on 1, 2 and 3 ranks, under PETSc's memory checker, within a time limit.
[ -x test/petsc_operations ] || { echo "SKIP: not built (no PETSc or no Check)"; exit 77; }
for ranks in 1 2 3; do
  timeout 300 ${MPIEXEC:-mpiexec} -n $ranks test/petsc_operations -malloc_debug -malloc_dump >petsc_operations.out 2>&1 || { cat petsc_operations.out; exit 1; }
  cat petsc_operations.out
  # -malloc_dump names what was not freed
  ! grep -q ' bytes .* at ' petsc_operations.out || exit 1
done
rm -f petsc_operations.out petsc_operations.bin petsc_operations.bin.info
