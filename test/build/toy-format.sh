#!/bin/bash
# A format of coordinates (test/build/toy/) is added to a copy of the sources by exactly what doc/adding-a-format.md lists;
# then suites, fuzzers, macko-bench, the PETSc type, the Fortran module and the documents must have it. gcov counts what was asked
# of the format. No part of make check, as it builds the library anew: .ci/run runs it.
src=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; exit 1; }
for tool in autoreconf gcc gcov python3 pkg-config; do command -v $tool >/dev/null || { echo "SKIP: needs $tool"; exit 77; }; done
export MAKEFLAGS='' srcdir=.
jobs=$(nproc)

# ---- the places ----
mkdir "$dir/new" && cd "$src" || exit 1
{ git ls-files -z --cached --others --exclude-standard 2>/dev/null || find . -type f -print0; } | while IFS= read -r -d '' file; do
  [ ! -e "$file" ] || printf '%s\0' "$file"
done | xargs -0 cp --parents -t "$dir/new" || fail "the sources cannot be copied"
cp -r "$dir/new" "$dir/old" && cd "$dir/new" || exit 1
mkdir lib/coo && cp "$src/test/build/toy/coo_format.c" lib/coo/
sed -i '/^MACKO_FORMAT(DTANS/a MACKO_FORMAT(COO, coo, "row, column and value of each entry")' lib/formats.def
sed -i 's,lib/csr/csr_format.c,lib/coo/coo_format.c &,' lib/Makefile.inc
python3 -B fortran/generate.py . macko >"$dir/macko.f90" && cp "$dir/macko.f90" fortran/macko.f90
sed -i '/^| `csr` |/a | `coo` | row, column and value of each entry | tests |' README.md
sed -i '/mat_macko_format "/s/csr/coo|csr/' doc/macko-solve.1
sed -i '/^Encodings to measure/s/csr/coo, csr/' doc/macko-bench.1
sed -i 's,^`lib/csr/`:.*,`lib/coo/`: format coo\n\n- `coo_format.c`: coordinates\n\n&,' doc/architecture.md

changed=$(cd "$dir" && diff -rq old new | sed -E 's,^Files old/(.*) and new/.*,\1,; s,^Only in new/?([^:]*): ,\1/,' | sed 's,coo,NAME,' | sort)
listed=$(sed -n '/^| place/,/^$/s/^| `\([^`]*\)`.*/\1/p' doc/adding-a-format.md | sort)
[ "$changed" = "$listed" ] ||
  fail "changed are $(echo $changed); doc/adding-a-format.md lists $(echo $listed)"
echo "$(echo "$listed" | wc -l) places, as doc/adding-a-format.md lists them"
for check in test/build/layers.sh test/build/documents.sh test/fortran/generated.sh; do
  $check >"$dir/text" 2>&1 || { cat "$dir/text"; fail "$check"; }
done
grep -qi MACKO_FORMAT_COO fortran/macko.f90 || fail "the Fortran module has no MACKO_FORMAT_COO"

# ---- the build; gcov looks at the new folder only ----
cc=gcc
command -v ccache >/dev/null && cc="ccache gcc"
mkdir "$dir/build" && cd "$dir/build" || exit 1
run() { "$@" >"$dir/text" 2>&1 || { tail -n 40 "$dir/text"; fail "$*"; }; }
(cd ../new && run autoreconf -fi) || exit 1
run ../new/configure CC="$cc" CFLAGS="-O1 -g1 --coverage -fprofile-filter-files=.*/coo/.*" CPPFLAGS=-DCONFORMANCE_STRIDE=5 --with-cuda=no --with-fortran=no --with-slepc=no --without-openmp # others have OpenMP
run make -j"$jobs" libmacko.la solvers/macko-bench

# Runs suites and tells how often the table's functions were called in them.
suites() { # NAME...
  find . -name '*.gcda' -delete
  run make -j"$jobs" check VERBOSE=1 TESTS="$*" check_PROGRAMS="$*" check_LTLIBRARIES= check_LIBRARIES=
  sed -n 's/^\(PASS\|SKIP\): /\1: /p' "$dir/text"
  [ "$(grep -c '^PASS: ' "$dir/text")" = $# ] || fail "not all of $* have passed"
  called "$1" "${must[@]}"
}
called() { # WHERE FUNCTION...: each at least as often as there are patterns
  local where=$1 f count
  shift
  find . -name '*coo_format.gcda' -print0 | xargs -0 -r gcov -b -t 2>/dev/null >"$dir/gcov"
  for f in "$@"; do
    count=$(awk -v f="$f" '$1 == "function" && $2 == f { sum += $4 } END { print sum + 0 }' "$dir/gcov")
    [ "$count" -ge 18 ] || fail "$where has called $f of the new format $count times"
    printf '%s %s ' "$count" "$f"
  done
  echo "in $where"
}
must=(plan encode decode validate multiply refresh)
suites test/lib/conformance{1,2,3,4}
must=(plan encode)
for suite in errors options rows threads parts allocation sizes values index_base; do others+=" test/lib/$suite"; done
suites $others
must=(validate multiply decode)
suites test/lib/fuzz_sections
must=(plan encode validate multiply refresh)
suites test/lib/fuzz_encode

# ---- programs ----
./solvers/macko-bench --help | grep -qw coo || fail "macko-bench --help does not name it"
run ./solvers/macko-bench --device cpu --repeat 3 --encodings csr,coo --tsv table 5-point:60
awk -F'\t' 'NR > 1 { for (i = 1; i <= NF; i++) if ($i == "coo") found = 1 } END { exit !found }' table || { cat table; fail "no line for coo"; }
echo "macko-bench has measured it"
if [ -x solvers/macko-solve ] || make solvers/macko-solve libpetscmacko.la >"$dir/text" 2>&1; then
  run ./solvers/macko-solve ../new/examples/tridiagonal.mtx -mat_macko_format coo -json solve.json
  grep -q '"format": "coo"' solve.json || { cat solve.json; fail "PETSc's type has stored another format"; }
  ./solvers/macko-solve -help 2>&1 | grep -E 'mat_macko_format .*: .*\bcoo\b' >/dev/null || fail "-help does not name it"
  echo "macko-solve has solved with it"
else
  grep -q "No rule to make target" "$dir/text" || { tail -n 20 "$dir/text"; fail "macko-solve does not compile"; }
  echo "SKIP: no PETSc: its type has not been tried"
fi
