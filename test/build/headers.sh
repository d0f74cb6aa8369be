#!/bin/sh
# Programs in C89 and C++98 can include the headers, without a warning; macko.h needs no more than stdint.h of later standards,
# petscmacko.h no more than PETSc's own headers, which stand aside here and are then tried in every standard that they allow.
src=${srcdir:-.}
${CXX:-c++} --version >/dev/null 2>&1 || { echo "SKIP: no C++ compiler"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
status=0

# compile STANDARD FLAG...: the program $work/use.c in that standard
compile() {
  standard=$1; shift
  case $standard in
  c++*) ${CXX:-c++} -x c++ -std="$standard" -pedantic -Wall -Wextra -Werror -Wno-long-long "$@" -fsyntax-only "$work/use.c" ;;
  *) ${CC:-cc} -std="$standard" -pedantic -Wall -Wextra -Werror -Wno-long-long "$@" -fsyntax-only "$work/use.c" ;;
  esac
}

for header in lib/macko.h cuda/macko_cuda.h; do
  printf '#include "%s"\nint main(void) { macko_status s = MACKO_OK; return (int)s; }\n' "${header##*/}" >"$work/use.c"
  for standard in c89 c++98; do compile $standard -I"$src/lib" -I"$src/cuda" || status=1; done
done

mkdir "$work/aside" || exit 1
cat >"$work/aside/petscmat.h" <<'END'
#ifdef __cplusplus
#define PETSC_EXTERN extern "C"
#else
#define PETSC_EXTERN extern
#endif
typedef int PetscErrorCode;
typedef enum { PETSC_FALSE, PETSC_TRUE } PetscBool;
typedef int PetscInt;
typedef double PetscScalar;
typedef int MPI_Comm;
typedef long PetscInt64;
typedef double PetscLogDouble;
typedef struct p_Mat *Mat;
END
petsc=$(echo "$PETSC_CFLAGS" | sed 's/-I/-isystem /g')
tried=0
for standard in c89 c99 c11 c17 c++98 c++11 c++14 c++17; do
  printf '#include <petscmat.h>\nint main(void) { return 0; }\n' >"$work/use.c"
  allowed=0
  [ -n "$petsc" ] && compile $standard $petsc >/dev/null 2>&1 && allowed=1
  printf '#include "petscmacko.h"\nint main(void) { MatMackoInfo i; i.encoded = PETSC_FALSE; return (int)i.encoded; }\n' >"$work/use.c"
  compile $standard -isystem "$work/aside" -I"$src/petsc" || status=1
  [ $allowed = 0 ] || { tried=$((tried + 1)); compile $standard $petsc -I"$src/petsc" || status=1; }
done
[ -z "$petsc" ] || [ $tried -gt 0 ] || { echo "petscmacko.h: PETSc's own headers compile in no standard"; status=1; }
exit $status
