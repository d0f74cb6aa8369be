#!/bin/bash
# PETSc's own tutorials, compiled against PETSc alone and unchanged, must give aij's iteration counts with -mat_type aijmacko.
# MACKO_PETSC_EXAMPLES names the folder of src/ksp/ksp/tutorials; default: the one PETSc installs beside itself, then that of
# Debian's libpetsc3.18-dev-examples.
plugin=$PWD/.libs/libpetscmacko.so
[ -e "$plugin" ] || { echo "SKIP: the plugin is not built (no PETSc)"; exit 77; }
from=$MACKO_PETSC_EXAMPLES
for share in "$petsc_libdir/.." /usr/share/petsc/*; do
  folder=$share/share/petsc/examples/src/ksp/ksp/tutorials
  [ -z "$from" ] && [ -e "$folder/ex2.c" ] && from=$folder
done
[ -e "$from/ex2.c" ] || { echo "SKIP: no PETSc tutorials (Debian package libpetsc3.18-dev-examples, or MACKO_PETSC_EXAMPLES)"; exit 77; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
bad=0 compared=0

for e in 2 5 10 23 45 50; do
  # shellcheck disable=SC2086
  mpicc $PETSC_CFLAGS "$from/ex$e.c" -o "$dir/ex$e" $PETSC_LIBS -lm >"$dir/cc.log" 2>&1 || { cat "$dir/cc.log"; echo "FAIL: ex$e does not compile"; exit 1; }
done
solvers/macko-solve "${srcdir:-.}/examples/tridiagonal.mtx" -ksp_view_mat binary:"$dir/m.bin" >/dev/null || exit 1

iterations() { # RANKS TYPE_OPTION TYPE PROGRAM ARGUMENTS...
  local n=$1 option=$2 type=$3
  shift 3
  timeout 120 ${MPIEXEC:-mpiexec} -n "$n" "$@" "$option" "$type" -dll_append "$plugin" -ksp_converged_reason -ksp_view 2>&1 </dev/null |
    tee "$dir/out.$type" | grep -oE 'Linear solve (converged|did not converge).*'
}
compare() { # TYPE_OPTION PROGRAM ARGUMENTS...
  local option=$1 n plain ours
  shift
  for n in 1 3; do
    plain=$(iterations $n "$option" aij "$@")
    ours=$(iterations $n "$option" aijmacko "$@")
    compared=$((compared + 1))
    if [ -z "$plain" ] || [ "$plain" != "$ours" ] || ! grep -qE 'type: (seq|mpi)aijmacko' "$dir/out.aijmacko"; then
      echo "FAIL on $n ranks: ${*##*/}"
      echo "aij:      $plain"
      echo "aijmacko: $ours"
      [ -n "$ours" ] || tail -5 "$dir/out.aijmacko"
      bad=1
    fi
  done
}

for pc in jacobi bjacobi asm gamg; do
  compare -mat_type "$dir/ex2" -m 40 -n 37 -pc_type $pc
  compare -mat_type "$dir/ex5" -m 20 -pc_type $pc
  compare -mat_type "$dir/ex10" -f0 "$dir/m.bin" -rhs one -pc_type $pc -ksp_gmres_restart 60
  compare -mat_type "$dir/ex23" -n 60 -pc_type $pc
  compare -dm_mat_type "$dir/ex45" -da_grid_x 13 -da_grid_y 13 -da_grid_z 13 -pc_type $pc
  compare -dm_mat_type "$dir/ex50" -da_grid_x 33 -da_grid_y 33 -pc_type $pc
done
compare -dm_mat_type "$dir/ex45" -da_grid_x 13 -da_grid_y 13 -da_grid_z 13 -pc_type mg -pc_mg_levels 2
compare -dm_mat_type "$dir/ex50" -da_grid_x 17 -da_grid_y 17 -pc_type mg -pc_mg_levels 3
echo "$compared solves compared"
exit $bad
