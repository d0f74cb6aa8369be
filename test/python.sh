#!/bin/sh
# A Python program that loads the plugin takes the same iterations compressed as plain, on one rank and three.
plugin=$PWD/.libs/libpetscmacko.so
[ -e "$plugin" ] || { echo "SKIP: the plugin is not built (no PETSc)"; exit 77; }
for python in python3 /usr/bin/python3 ''; do
  [ -n "$python" ] || { echo "SKIP: no petsc4py (Debian package python3-petsc4py)"; exit 77; }
  $python -c 'import petsc4py' 2>/dev/null && break
done
run() { # TYPE RANKS
  ${MPIEXEC:-mpiexec} -n "$2" $python "$srcdir/examples/poisson.py" "$plugin" -mat_type "$1" 2>&1
}
# The petsc4py of a machine goes with one PETSc, which need not be the one that this plugin was built for.
text=$(run aij 1) || case $text in
*"libpetscmacko was built for"*) echo "SKIP: $text" | head -3; exit 77 ;;
esac
for ranks in 1 3; do
  plain=$(run aij $ranks) && ours=$(run aijmacko $ranks) || { echo "FAIL: $plain $ours"; exit 1; }
  echo "$plain; $ours"
  case $ours in
  *"aijmacko: ${plain#*: }") ;;
  *) echo "FAIL on $ranks ranks"; exit 1 ;;
  esac
done
