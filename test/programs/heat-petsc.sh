#!/bin/sh
# The Fortran program that knows nothing of compressed matrices takes the same iterations with them, to the same checked result,
# and encodes once however often its values change, where it is told to encode at once.
[ -x examples/heat_petsc ] || { echo "SKIP: no PETSc with a Fortran interface"; exit 77; }
macko="-dll_append $PWD/.libs/libpetscmacko.so -mat_type aijmacko -mat_macko_after 0"
# Fortran's and C's output meet in one line now and then.
iterations() { echo "$1" | grep -o '[0-9]* steps, [0-9]* iterations'; }
for ranks in 1 3; do
  plain=$(${MPIEXEC:-mpiexec} -n $ranks examples/heat_petsc -mat_type aij) || exit 1
  compressed=$(${MPIEXEC:-mpiexec} -n $ranks examples/heat_petsc $macko -ksp_view_mat ::ascii_info) || exit 1
  echo "$compressed"
  [ -n "$(iterations "$plain")" ] && [ "$(iterations "$plain")" = "$(iterations "$compressed")" ] || { echo "$plain"; exit 1; }
  echo "$compressed" | grep -q "encoded 1 times .* refreshed 19 times" || { echo "not refreshed"; exit 1; }
done
