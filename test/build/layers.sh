#!/bin/sh
# Folders are layers, and arrows point down only. lib knows neither CUDA, MPI nor PETSc; cuda knows lib; nothing knows petsc but what
# stands on it; programs know installed headers only. Within lib and cuda a format (csr, macko, dtans, ...) stands on values and core,
# containers stand on core, files on both, and no format knows another.
cd "${srcdir:-.}" || exit 1
bad=0
say() { echo "$1"; bad=1; }
forbid() { # FOLDER PATTERN: includes that a folder must not have
  if grep -rnE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[\"<]($2)" "$1"; then say "$1 must not include these"; fi
}
formats=$(sed -n 's/^MACKO_FORMAT([A-Z0-9]*, \([a-z0-9]*\),.*/\1/p' lib/formats.def)
[ "$(echo "$formats" | wc -l)" -ge 3 ] || say "lib/formats.def names too few formats to be looked at"
for folder in lib/core lib/values lib/files lib/container $(echo "$formats" | sed 's,^,lib/,') cuda/core petsc solvers; do
  [ -d $folder ] || say "$folder is not there: nothing would be looked at"
done

gpu='cuda|cub/|cublas|cusparse'
forbid lib "$gpu|mpi\.h|petsc|slepc"
forbid cuda 'mpi\.h|petsc|slepc'
forbid fortran 'mpi\.h|petsc|slepc'
forbid petsc 'core/|values/|files/|container/|solvers|examples'
# Arithmetic on 16-bit floats is all that the benchmark takes from inside the library.
forbid solvers 'core/[^h]|values/|files/|container/'

any=$(echo $formats | tr ' ' '|')
forbid lib/core "($any|values|files|container)/"
forbid lib/values "($any|files|container)/"
forbid lib/container "($any|values|files)/"
forbid lib/files "($any|values)/"
for format in $formats; do
  others=$(echo "$formats" | grep -vx "$format" | tr '\n' '|')
  for side in lib cuda; do
    [ -d "$side/$format" ] || continue
    forbid "$side/$format" "(${others}files|container)/"
  done
done

forbid cuda/core "($any|files|container)/"

# What belongs to a format is in its folder, and nowhere else; a layout is one format's, a variant may be several formats'. (Programs
# name formats to compare them with their peers.)
outside() { # SYMBOL: the folders of one format, where there is one, may name it
  found=$(grep -rlw "$1" lib cuda petsc --include='*.[ch]' --include='*.inc' --include='*.cu' --include='*.cuh' --exclude=macko.h)
  found=$(echo "$found" | sed -E "s,^(lib|cuda)/($any)/.*,\\2," | sort -u)
  case $1 in MACKO_VARIANT_*) most=9 ;; *) most=1 ;; esac
  if [ "$(echo "$found" | wc -l)" -gt $most ] || echo "$found" | grep -qvxE "|$2"; then say "$1 stands in $(echo $found)"; fi
}
for format in $formats; do outside "MACKO_FORMAT_$(echo "$format" | tr a-z A-Z)" "$format"; done
choices=$(sed -nE 's/^MACKO_CHOICE\((LAYOUT|VARIANT), ([A-Z0-9]+),.*/MACKO_\1_\2/p' lib/options.def | grep -v '_AUTO$')
[ "$(echo "$choices" | wc -l)" -ge 6 ] || say "lib/options.def names too few layouts and variants to be looked at"
for choice in $choices; do outside "$choice" "$any"; done

# test/lib/limits takes the library's kernels, which know nothing of its limits.
kernels=$(sed -n '/^lib_libkernels_la_SOURCES = /,/[^\\]$/p' lib/Makefile.inc | grep -oE '[a-z0-9_/]+\.(c|inc)')
[ "$(echo "$kernels" | wc -l)" -ge 3 ] || say "the list of kernels is lost"
if grep -nE 'INT32_MAX|macko_index_type' $kernels; then say "test/lib/limits must compile these kernels with its limits"; fi

# Two headers with one guard hide each other.
twice=$(grep -rhE '^#ifndef [A-Z0-9_]+_(H|CUH)$' lib cuda petsc solvers test | sort | uniq -d)
[ -z "$twice" ] || say "more than one header has: $twice"

# Every source file is named in doc/architecture.md, with its folder above it, and none that is gone.
named=$(sed -n '/^## Files/,$p' doc/architecture.md | awk -F'`' '/^`.*\/`:/ { folder = $2 }
  /^- `/ { sub(/`: .*/, "`"); for (i = 2; i <= NF; i += 2) print folder $i }' | sort)
[ "$(echo "$named" | wc -l)" -ge 200 ] || say "doc/architecture.md has lost its list of files"
there=$(find lib cuda petsc solvers fortran python examples test -type f -name '*.*' | grep -E '\.(c|h|cu|cuh|inc|def|f90|F90|template|py|awk|sh)$' |
  grep -vE '/Makefile\.inc$|^test/build/toy/|^test/fuzz/corpus/' | sort)
for file in $there; do echo "$named" | grep -qxF "$file" || say "doc/architecture.md does not name $file"; done
for file in $named; do [ -f "$file" ] || say "doc/architecture.md names $file, which is not there"; done
twice=$(echo "$named" | uniq -d)
[ -z "$twice" ] || say "doc/architecture.md names more than once: $twice"
exit $bad
