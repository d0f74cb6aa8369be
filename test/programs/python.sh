#!/bin/sh
# A Python program that loads the plugin takes the same iterations compressed as plain, on one rank and three.
# shellcheck disable=SC2086
plugin=$PWD/.libs/libpetscmacko.so
[ -e "$plugin" ] || { echo "SKIP: the plugin is not built (no PETSc)"; exit 77; }
for python in python3 /usr/bin/python3 ''; do
  [ -n "$python" ] || { echo "SKIP: no petsc4py that works (Debian package python3-petsc4py)"; exit 77; }
  $python -c 'from petsc4py import PETSc' 2>/dev/null && break
done
run() { # TYPE RANKS
  ${MPIEXEC:-mpiexec} -n "$2" $python "$srcdir/examples/poisson.py" "$plugin" -mat_type "$1" 2>&1
}
# The petsc4py of a machine goes with one PETSc, which need not be the one that this plugin was built for.
ours=$(printf '#include <petscsys.h>\nversion PETSC_VERSION_MAJOR PETSC_VERSION_MINOR\n#ifdef PETSC_USE_64BIT_INDICES\nversion 8\n#else\nversion 4\n#endif\n' |
  ${MPICC:-mpicc} -E -P $PETSC_CFLAGS - | sed -n '/^version/,$p' | tr -d 'a-z\n' | tr -s ' ')
theirs=$($python -c 'from petsc4py import PETSc; print(*PETSc.Sys.getVersion()[:2], PETSc.IntType().itemsize)')
[ "$ours" = " $theirs" ] || {
  echo "SKIP: petsc4py is for another PETSc (major, minor, bytes of an integer: $theirs) than the plugin ($ours )"
  exit 77
}
# Without a PETSc that has begun.
said=$($python -c 'import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1]).PetscDLLibraryRegister_petscmacko() != 0)' "$plugin" 2>&1) &&
  { echo "FAIL: registered with a PETSc that no program has: $said"; exit 1; }
case $said in
*"keeps its PETSc to itself"*RTLD_GLOBAL*) ;;
*) echo "FAIL: not a word of what to do: $said"; exit 1 ;;
esac
for ranks in 1 3; do
  plain=$(run aij $ranks) && ours=$(run aijmacko $ranks) || { echo "FAIL: $plain $ours"; exit 1; }
  echo "$plain; $ours"
  case $ours in
  *"aijmacko: ${plain#*: }") ;;
  *) echo "FAIL on $ranks ranks"; exit 1 ;;
  esac
done
