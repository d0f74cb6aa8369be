# MACKO_WITH_CUDA: finds nvcc and the CUDA libraries. No GPU and no driver are needed to build.
# Sets have_cuda, cuda_note, NVCC, NVCCFLAGS, CUDA_CFLAGS, CUDA_LIBS.

AC_DEFUN([MACKO_WITH_CUDA], [
AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda=DIR], [CUDA toolkit; "no" builds without, "auto" only where nvcc is found (default: auto)])],
  [], [with_cuda=auto])
AC_ARG_VAR([NVCC], [CUDA compiler])
AC_ARG_VAR([NVCCFLAGS], [CUDA compiler flags])
AC_ARG_VAR([CUDA_ARCHS], [GPU architectures to compile for (default: "80 90"); the last one is kept as PTX for newer GPUs])
cuda_path=$PATH:/usr/local/cuda/bin:/opt/cuda/bin
AS_CASE([$with_cuda], [no|yes|auto], [], [cuda_path=$with_cuda/bin])
have_cuda=no
AS_IF([test x$with_cuda = xno], [cuda_note="no: as asked for"], [
  AC_PATH_PROG([NVCC], [nvcc], [], [$cuda_path])
  AS_IF([test x$NVCC = x], [cuda_note="no: nvcc is not there (--with-cuda=DIR)"], [
    cuda_dir=`dirname \`dirname "$NVCC"\``
    for cuda_lib in "$cuda_dir/lib64" "$cuda_dir/targets/x86_64-linux/lib" "$cuda_dir/lib"; do
      test -e "$cuda_lib/libcudart.so" && break
    done
    CUDA_CFLAGS="-isystem $cuda_dir/include"
    CUDA_LIBS="-L$cuda_lib -R$cuda_lib -lcudart"
    macko_save_CPPFLAGS=$CPPFLAGS macko_save_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS $CUDA_CFLAGS"
    LIBS="-L$cuda_lib -lcusparse -lcudart $LIBS"
    AC_MSG_CHECKING([for CUDA 12 or newer with cuSPARSE in $cuda_dir])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
#include <cuda_runtime_api.h>
#include <cusparse.h>
#if CUDART_VERSION < 12000
#error too old
#endif
]], [[cusparseHandle_t h; return cusparseCreate(&h) != 0 || cudaDeviceSynchronize() != 0;]])],
      [have_cuda=yes cuda_note=`"$NVCC" --version | sed -n 's/.*release \([[0-9.]]*\).*/\1/p'`],
      [cuda_note="no: CUDA 12 or newer with cuSPARSE is not in $cuda_dir"])
    AC_MSG_RESULT([$have_cuda])
    CPPFLAGS=$macko_save_CPPFLAGS LIBS=$macko_save_LIBS])])
AS_IF([test x$have_cuda = xno], [
  AS_CASE([$with_cuda], [no|auto], [], [AC_MSG_ERROR([--with-cuda=$with_cuda: $cuda_note])])], [
  : ${CUDA_ARCHS="80 90"} ${NVCCFLAGS="-O3"}
  for arch in $CUDA_ARCHS; do
    cuda_codes="$cuda_codes -gencode=arch=compute_$arch,code=sm_$arch"
    cuda_newest=$arch
  done
  cuda_codes="$cuda_codes -gencode=arch=compute_$cuda_newest,code=compute_$cuda_newest"
  cuda_note="$cuda_note, for sm_`echo $CUDA_ARCHS | sed 's/ /, sm_/g'` and newer"])
AC_SUBST([cuda_codes]) AC_SUBST([CUDA_CFLAGS]) AC_SUBST([CUDA_LIBS])
AM_CONDITIONAL([HAVE_CUDA], [test x$have_cuda = xyes])
# Kernels take long to compile: not twice where shared libraries are built.
AS_IF([test x$enable_shared = xyes], [cuda_once=-shared], [cuda_once=-static])
AC_SUBST([cuda_once])
])
