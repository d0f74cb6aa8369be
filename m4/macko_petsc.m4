# MACKO_WITH_PETSC: finds PETSc (3.18 or newer, real, double) and SLEPc through pkg-config, and MPI through mpicc.
# Sets have_petsc, have_slepc, petsc_note, slepc_note, PETSC_CFLAGS/LIBS, SLEPC_CFLAGS/LIBS, MPI_CFLAGS/LIBS, petsc_path (where
# pkg-config looks), petsc_libdir.

AC_DEFUN([MACKO_PETSC_HAS], [AS_IF([test x$have_petsc = xyes],
  [AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#include <petscconf.h>
#if !($1)
#error no
#endif
]])], [$2], [$3])])])

# Programs find a library outside the system's folders without LD_LIBRARY_PATH.
AC_DEFUN([MACKO_RPATH], [AS_CASE([$2], [/usr/lib*|/lib*], [], [AS_VAR_APPEND([$1], [" -Wl,-rpath,$2"])])])

AC_DEFUN([MACKO_WITH_PETSC], [
AC_ARG_WITH([petsc], [AS_HELP_STRING([--with-petsc=DIR], [PETSC_DIR or prefix of PETSc; "no" builds without (default: what pkg-config finds)])],
  [], [with_petsc=auto])
AC_ARG_WITH([slepc], [AS_HELP_STRING([--with-slepc=DIR], [SLEPC_DIR or prefix of SLEPc; "no" builds without (default: beside PETSc)])],
  [], [with_slepc=auto])
petsc_path=$PKG_CONFIG_PATH
AS_CASE([$with_petsc], [no|yes|auto], [], [petsc_path="$with_petsc/lib/pkgconfig:$petsc_path"])
AS_CASE([$with_slepc], [no|yes|auto], [], [petsc_path="$with_slepc/lib/pkgconfig:$petsc_path"])
AC_SUBST([petsc_path])
AC_CHECK_PROG([MPICC], [mpicc], [mpicc])
AC_CHECK_PROG([MPIEXEC], [mpiexec], [mpiexec])

have_petsc=no have_slepc=no
AS_IF([test x$with_petsc = xno], [petsc_note="no: as asked for"],
  [test x$MPICC = x], [petsc_note="no: mpicc is not there, so no -mat_type aijmacko (Debian package: libopenmpi-dev)"], [
  MPI_CFLAGS=`$MPICC -showme:compile 2>/dev/null`
  MPI_LIBS=`$MPICC -showme:link 2>/dev/null`
  petsc_pc=`PKG_CONFIG_PATH=$petsc_path; export PKG_CONFIG_PATH; for pc in PETSc petsc; do $PKG_CONFIG --exists $pc && echo $pc && break; done`
  AS_IF([test x$petsc_pc = x],
    [petsc_note="no: no -mat_type aijmacko, no macko-solve (Debian package: petsc-dev)"], [
    have_petsc=yes
    petsc_query="env PKG_CONFIG_PATH=$petsc_path $PKG_CONFIG"
    PETSC_CFLAGS="`$petsc_query --cflags $petsc_pc` $MPI_CFLAGS"
    # PETSc's own headers are not ours to keep free of warnings.
    PETSC_CFLAGS=`echo " $PETSC_CFLAGS" | sed 's, -I, -isystem ,g'`
    PETSC_LIBS="`$petsc_query --libs $petsc_pc` $MPI_LIBS"
    petsc_version=`$petsc_query --modversion $petsc_pc`
    petsc_libdir=`$petsc_query --variable=libdir $petsc_pc`
    MACKO_RPATH([PETSC_LIBS], [$petsc_libdir])
    petsc_note="$petsc_version"
    macko_save_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $PETSC_CFLAGS"
    MACKO_PETSC_HAS([!defined(PETSC_USE_COMPLEX)], [],
      [have_petsc=no petsc_note="no: PETSc $petsc_version in $petsc_libdir computes with complex numbers, aijmacko with real ones"])
    MACKO_PETSC_HAS([defined(PETSC_USE_REAL_DOUBLE)], [],
      [have_petsc=no petsc_note="no: PETSc $petsc_version in $petsc_libdir is not built for double precision"])
    MACKO_PETSC_HAS([defined(PETSC_USE_64BIT_INDICES)], [petsc_note="$petsc_note, 64-bit indices"], [petsc_note="$petsc_note, 32-bit indices"])
    CPPFLAGS=$macko_save_CPPFLAGS
    AS_IF([$petsc_query --atleast-version=3.18 $petsc_pc], [],
      [have_petsc=no petsc_note="no: PETSc $petsc_version is older than 3.18"])])])
AS_IF([test x$have_petsc = xno], [
  AS_CASE([$with_petsc], [no|auto], [], [AC_MSG_ERROR([--with-petsc=$with_petsc: $petsc_note])])])

AS_IF([test x$with_slepc = xno], [slepc_note="no: as asked for"],
  [test x$have_petsc = xno], [slepc_note="no: needs PETSc"], [
  slepc_pc=`for pc in SLEPc slepc; do $petsc_query --exists $pc && echo $pc && break; done`
  AS_IF([test x$slepc_pc = x], [slepc_note="no: no eigenvalues (Debian package: slepc-dev)"], [
    slepc_version=`$petsc_query --modversion $slepc_pc`
    slepc_note=$slepc_version
    # Debian installs several; the one beside another PETSc would bring that PETSc into the same program.
    AS_IF([test "`echo $slepc_version | cut -d. -f1,2`" = "`echo $petsc_version | cut -d. -f1,2`"], [
      have_slepc=yes
      SLEPC_CFLAGS=`$petsc_query --cflags $slepc_pc`
      SLEPC_LIBS=`$petsc_query --libs $slepc_pc`
      slepc_libdir=`$petsc_query --variable=libdir $slepc_pc`
      MACKO_RPATH([SLEPC_LIBS], [$slepc_libdir])],
      [slepc_note="no: SLEPc $slepc_version does not belong to PETSc $petsc_version (--with-slepc=DIR)"])])])
AS_IF([test x$have_slepc = xno], [
  AS_CASE([$with_slepc], [no|auto], [], [AC_MSG_ERROR([--with-slepc=$with_slepc: $slepc_note])])])
AC_SUBST([PETSC_CFLAGS]) AC_SUBST([PETSC_LIBS]) AC_SUBST([SLEPC_CFLAGS]) AC_SUBST([SLEPC_LIBS])
AC_SUBST([MPI_CFLAGS]) AC_SUBST([MPI_LIBS]) AC_SUBST([petsc_libdir])
AM_CONDITIONAL([HAVE_PETSC], [test x$have_petsc = xyes])
AM_CONDITIONAL([HAVE_SLEPC], [test x$have_slepc = xyes])
])
