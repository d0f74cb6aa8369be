#!/bin/bash
# Every command of README.md and of doc/petsc.md works: those that use macko run here one after another, against a copy installed
# into a temporary folder; those that build it are checked for the scripts and options they name (.ci/run runs them).
src=$(cd "${srcdir:-.}" && pwd)
[ -x solvers/macko-solve ] || { echo "SKIP: README's commands need macko-solve, which is not built (no PETSc)"; exit 77; }
for tool in curl python3 pkg-config; do
  command -v $tool >/dev/null || { echo "SKIP: README's commands need $tool"; exit 77; }
done
dir=$(mktemp -d) || exit 1
readme=$dir/readme # what is read here
cat "$src/README.md" "$src/doc/petsc.md" >"$readme" || exit 1
server=
trap '[ -z "$server" ] || kill $server; rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; exit 1; }

# The installed copy, found through PATH, the loader and pkg-config as the real one would be.
MAKEFLAGS='' make install DESTDIR="$dir/root" >"$dir/install.log" 2>&1 || { cat "$dir/install.log"; fail "make install"; }
prefix=$(sed -n 's/^prefix = //p' Makefile)
root=$dir/root$prefix
mkdir "$dir/bin" "$dir/work"
plain_pkg_config=$(command -v pkg-config)
printf '#!/bin/sh\nexec %s --define-prefix "$@"\n' "$(command -v pkg-config)" >"$dir/bin/pkg-config"
chmod +x "$dir/bin/pkg-config"
export PATH=$dir/bin:$root/bin:$PATH LD_LIBRARY_PATH=$root/lib:$LD_LIBRARY_PATH PKG_CONFIG_PATH=$root/lib/pkgconfig

# What its reader has: a PETSc program that knows nothing of macko, a matrix, and a collection to fetch from.
cat >"$dir/program.c" <<'C'
#include <petscksp.h>

int main(int argc, char **argv)
{
  Mat A; Vec x, b; KSP ksp; PetscInt first, last, n = 50; KSPConvergedReason reason;
  if (PetscInitialize(&argc, &argv, NULL, NULL)) return 1;
  MatCreate(PETSC_COMM_WORLD, &A); MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n); MatSetFromOptions(A); MatSetUp(A);
  MatGetOwnershipRange(A, &first, &last);
  for (PetscInt i = first; i < last; i++)
    for (PetscInt j = i - (i > 0); j <= i + 1 && j < n; j++) MatSetValue(A, i, j, i == j ? 3 : -1, INSERT_VALUES);
  MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY); MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY);
  MatCreateVecs(A, &x, &b); VecSet(b, 1);
  KSPCreate(PETSC_COMM_WORLD, &ksp); KSPSetOperators(ksp, A, A); KSPSetFromOptions(ksp); KSPSolve(ksp, b, x);
  KSPGetConvergedReason(ksp, &reason);
  MatType type; MatGetType(A, &type); PetscPrintf(PETSC_COMM_WORLD, "type %s\n", type);
  KSPDestroy(&ksp); VecDestroy(&x); VecDestroy(&b); MatDestroy(&A);
  PetscFinalize();
  return reason < 0;
}
C
# shellcheck disable=SC2086
${MPICC:-mpicc} -w $PETSC_CFLAGS "$dir/program.c" -o "$dir/work/program" $PETSC_LIBS -lm ||
  fail "the PETSc program does not compile"
cp "$src"/examples/{spmv,lanczos,gmres}.c "$dir/work" && cp "$src/examples/tridiagonal.mtx" "$dir/work/matrix.mtx" || exit 1
cp "$src"/examples/heat*.f90 "$dir/work" || exit 1
mkdir -p "$dir/site/MM/HB" "$dir/bcsstk24"
cp "$src/examples/tridiagonal.mtx" "$dir/bcsstk24/bcsstk24.mtx"
tar -C "$dir" -czf "$dir/site/MM/HB/bcsstk24.tar.gz" bcsstk24
python3 -u -m http.server --bind 127.0.0.1 --directory "$dir/site" 0 >"$dir/log" 2>&1 &
server=$!
for _ in $(seq 30); do
  port=$(sed -n 's/.*port \([0-9]*\).*/\1/p' "$dir/log" | head -1)
  [ -z "$port" ] || break
  sleep 0.2
done
[ -n "$port" ] || fail "the server did not start"
export MACKO_GET_URL=http://127.0.0.1:$port

build_command() { # LINE: are its script and its options there?
  # shellcheck disable=SC2086
  set -- $1
  case $1 in
    ./*|petsc/*) [ -x "$src/$1" ] || fail "README runs $1, which is not there" ;;
  esac
  [ "$1" != ./configure ] || for option in "${@:2}"; do
    "$src/configure" --help | grep -q -e "^ *${option%%=*}[= ]" || fail "README gives configure $option, which it does not know"
  done
}

# Every -mat_macko_NAME CHOICE of a text must show in what -ksp_view_mat ::ascii_info printed.
kept() { # TEXT
  local name choice
  while read -r name choice; do
    case $name:$choice in
      prefer:*|overflow:*|backend:*|base:*|halo:*|keep_csr:*|*:auto) ;;
      gap_bits:*) grep -q ", $choice bits a gap" "$dir/text" || fail "$1: $name $choice is not stored" ;;
      *) grep -qE "(^|[ ,])$name $choice([ ,]|\$)" "$dir/text" || { cat "$dir/text"; fail "$1: $name $choice is not stored"; } ;;
    esac
  done < <(grep -oE -- '-mat_macko_[a-z_]+ [a-z0-9]+' <<<"$1" | sed 's/-mat_macko_//')
}

possible() { # LINE: is what it needs built here?
  case $1 in
    macko-eigs*) [ -x solvers/macko-eigs ] ;;
    gfortran*|./heat) [ -e libmacko_fortran.la ] ;;
  esac
}

ran=0 built=0
while IFS= read -r line; do
  case $line in
    ./quickstart*|autoreconf*|./configure*|make|make\ *) build_command "$line"; built=$((built + 1)) ;;
    macko-eigs*)
      [ -x solvers/macko-eigs ] || { echo "not run, no SLEPc: $line"; continue; }
      (cd "$dir/work" && bash -c "$line") >"$dir/text" 2>&1 </dev/null || { cat "$dir/text"; fail "$line"; }
      ran=$((ran + 1)) ;;
    *)
      possible "$line" || { echo "skipped, not built here: $line"; continue; }
      (cd "$dir/work" && bash -c "${line//\/usr\/local/$root}") >"$dir/text" 2>&1 </dev/null || { cat "$dir/text"; fail "$line"; }
      case $line in
        *./program*)
          grep -qE 'type (seq|mpi)aijmacko' "$dir/text" || { cat "$dir/text"; fail "$line: not of type aijmacko"; }
          (cd "$dir/work" && bash -c "${line//\/usr\/local/$root} -ksp_view_mat ::ascii_info") >"$dir/text" 2>&1 </dev/null
          grep -qE ' format [a-z]*(, layout [a-z]*)?.*, values ' "$dir/text" || { cat "$dir/text"; fail "$line: nothing tells what is stored"; }
          kept "$line" ;;
      esac
      ran=$((ran + 1)) ;;
  esac
done < <(awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$readme")

# What its text says of an option is so, but for what needs a GPU.
said=0
while read -r words; do
  (cd "$dir/work" && ./program -dll_append "$root/lib/libpetscmacko.so" -mat_type aijmacko $words -ksp_view_mat ::ascii_info) \
    >"$dir/text" 2>&1 </dev/null || { cat "$dir/text"; fail "$words"; }
  kept "$words"
  said=$((said + 1))
done < <(grep -oE -- '`-mat_macko_[a-z_]+ [a-z0-9]+`' "$readme" | tr -d '`' | grep -v '_halo\|keep_csr yes\|backend cuda' | sort -u)
[ "$said" -ge 3 ] || fail "README.md has lost its options"

# The bytes of its listing are so, of the matrix that is made there; what is predicted to be fastest differs between machines.
awk -v n=20 -f "$src/examples/brick.awk" >"$dir/work/brick.mtx" || fail "no brick"
listed=0
while read -r name options; do
  want=$(awk -v name="$name" '/brick.mtx/ { inside = 1 } inside && index($0, name) == 1 { print $(NF - 2); exit }' \
    <(sed "s/^aijmacko by memory/by-memory/" "$readme"))
  # shellcheck disable=SC2086
  (cd "$dir/work" && macko-solve brick.mtx -ksp_type cg -ksp_max_it 1 $options -json brick.json) >"$dir/text" 2>&1
  got=$(sed -n 's/.*"bytes": \([0-9]*\).*/\1/p' "$dir/work/brick.json" | head -1)
  [ -n "$want" ] && [ "$got" = "$want" ] || { cat "$dir/text"; fail "README lists $want bytes for $options, not $got"; }
  listed=$((listed + 1))
done <<'LIST'
aij -mat_type aij
by-memory -mat_type aijmacko -mat_macko_prefer memory
LIST
[ $listed = 2 ] || fail "the bytes of README's listing were not looked at"

# Every example is installed, says how to compile it, and is compiled so.
compiled=0
cp "$root"/share/doc/macko/examples/* "$dir/work" || fail "no examples are installed"
for file in "$src"/examples/*.c "$src"/examples/*.f90 "$src"/examples/*.F90; do
  name=${file##*/}
  [ -e "$root/share/doc/macko/examples/$name" ] || fail "$name is not installed"
  command=$(sed -n 's/^\( \*\|!\) compile: \([^*]*[^ *]\).*/\2/p' "$file" | head -1)
  [ -n "$command" ] || fail "$name does not say how to compile it"
  case $name in
    heat.f90|threads.f90) [ -e libmacko_fortran.la ] || continue ;;
    heat_petsc.F90) [ -x examples/heat_petsc ] || continue; command=${command/pkg-config/$plain_pkg_config} ;;
    linear.c) [ -e libmacko_cuda.la ] || continue ;;
    heat_model.f90) command -v gfortran >/dev/null || continue ;;
  esac
  (cd "$dir/work" && bash -c "$command") >"$dir/text" 2>&1 || { cat "$dir/text"; fail "$name: $command"; }
  compiled=$((compiled + 1))
done
[ "$compiled" -ge 5 ] || fail "only $compiled examples were compiled"
for page in formats/macko.md formats/dtans.md fortran.md petsc-suite.md petsc.md; do
  [ -s "$root/share/doc/macko/$page" ] || fail "$page is not installed"
done
echo "$compiled examples compiled as they say"

echo "$ran commands of README.md and doc/petsc.md run, $built that build it checked"
[ "$ran" -ge 10 ] && [ "$built" -ge 4 ] || fail "README.md has lost its commands"
