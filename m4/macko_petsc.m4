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

# A folder that was named and does not hold the library is an error: pkg-config would go on to the system's own.
AC_DEFUN([MACKO_PREFIX], [AS_CASE([$with_$1], [no|yes|auto], [], [
  AS_IF([test -e "$with_$1/lib/pkgconfig/$2.pc" || test -e "$with_$1/lib/pkgconfig/$1.pc"], [],
    [AC_MSG_ERROR([--with-$1=$with_$1: neither $2.pc nor $1.pc is in $with_$1/lib/pkgconfig])])
  petsc_path="$with_$1/lib/pkgconfig:$petsc_path"])])

AC_DEFUN([MACKO_WITH_PETSC], [
AC_ARG_WITH([petsc], [AS_HELP_STRING([--with-petsc=DIR], [PETSC_DIR or prefix of PETSc; "no" builds without (default: what pkg-config finds)])],
  [], [with_petsc=auto])
AC_ARG_WITH([slepc], [AS_HELP_STRING([--with-slepc=DIR], [SLEPC_DIR or prefix of SLEPc; "no" builds without (default: beside PETSc)])],
  [], [with_slepc=auto])
petsc_path=$PKG_CONFIG_PATH
MACKO_PREFIX([petsc], [PETSc])
MACKO_PREFIX([slepc], [SLEPc])
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
    # For our users, without what Debian's PETSc was compiled with (-D_FORTIFY_SOURCE warns where nothing is optimized).
    petsc_includes="`$petsc_query --cflags-only-I $petsc_pc` $MPI_CFLAGS"
    # PETSc's own headers are not ours to keep free of warnings.
    PETSC_CFLAGS=`echo " $PETSC_CFLAGS" | sed 's, -I, -isystem ,g'`
    PETSC_LIBS="`$petsc_query --libs $petsc_pc` $MPI_LIBS"
    petsc_version=`$petsc_query --modversion $petsc_pc`
    petsc_libdir=`$petsc_query --variable=libdir $petsc_pc`
    MACKO_RPATH([PETSC_LIBS], [$petsc_libdir])
    petsc_note="$petsc_version in $petsc_libdir"
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
  AS_CASE([$with_petsc], [no|auto], [], [AC_MSG_ERROR([--with-petsc=$with_petsc: ${petsc_note@%:@no: }])])])

AS_IF([test x$with_slepc = xno], [slepc_note="no: as asked for"],
  [test x$have_petsc = xno], [slepc_note="no: needs PETSc"], [
  slepc_pc=`for pc in SLEPc slepc; do $petsc_query --exists $pc && echo $pc && break; done`
  AS_IF([test x$slepc_pc = x], [slepc_note="no: no eigenvalues (Debian package: slepc-dev)"], [
    slepc_version=`$petsc_query --modversion $slepc_pc`
    slepc_note="$slepc_version"
    SLEPC_CFLAGS=`$petsc_query --cflags $slepc_pc`
    SLEPC_LIBS=`$petsc_query --libs $slepc_pc`
    slepc_libdir=`$petsc_query --variable=libdir $slepc_pc`
    MACKO_RPATH([SLEPC_LIBS], [$slepc_libdir])
    # Debian installs several; one built for another PETSc would bring that PETSc into the same program.
    macko_save_CPPFLAGS=$CPPFLAGS macko_save_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS $SLEPC_CFLAGS $PETSC_CFLAGS"
    LIBS="$SLEPC_LIBS $PETSC_LIBS $LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <slepceps.h>]], [[EPS eps; return EPSCreate(PETSC_COMM_WORLD, &eps) != 0;]])],
      [AS_IF([test `ldd conftest$EXEEXT 2>/dev/null | grep -c libpetsc` -le 1], [have_slepc=yes])])
    CPPFLAGS=$macko_save_CPPFLAGS LIBS=$macko_save_LIBS
    AS_IF([test x$have_slepc = xno],
      [slepc_note="no: SLEPc $slepc_version in $slepc_libdir does not belong to the PETSc in $petsc_libdir (--with-slepc=DIR)"])])])
AS_IF([test x$have_slepc = xno], [
  AS_CASE([$with_slepc], [no|auto], [], [AC_MSG_ERROR([--with-slepc=$with_slepc: $slepc_note])])])
AC_SUBST([PETSC_CFLAGS]) AC_SUBST([PETSC_LIBS]) AC_SUBST([SLEPC_CFLAGS]) AC_SUBST([SLEPC_LIBS])
AC_SUBST([MPI_CFLAGS]) AC_SUBST([MPI_LIBS]) AC_SUBST([petsc_libdir]) AC_SUBST([petsc_includes])
AM_CONDITIONAL([HAVE_PETSC], [test x$have_petsc = xyes])
AM_CONDITIONAL([HAVE_SLEPC], [test x$have_slepc = xyes])
])
