#!/bin/bash
# The plugin in a program that has never heard of it: loading, options, help, views, log, messages, and how a failure ends.
# shellcheck disable=SC2086,SC1091
[ -x test/petsc/plain ] || { echo "SKIP: not built (no PETSc)"; exit 77; }
seconds=60 # of a run
. "${srcdir:-.}/test/petsc/run_plugin.sh"
formats() { sed -n 's/^MACKO_FORMAT([A-Z0-9]*, \([a-z0-9]*\),.*/\1/p' "$src/lib/formats.def"; }
options() { sed -n 's/^MACKO_[A-Z_]*OPTION(\([a-z_]*\),.*/\1/p' "$src/lib/options.def" | grep -v '^target$'; }
choices() { # OPTION
  local list
  list=$(sed -n "s/^MACKO_[A-Z_]*OPTION($1, \([A-Z_]*\),.*/\1/p" "$src/lib/options.def")
  [ "$1" != format ] || formats
  sed -n "s/^MACKO_[CN][A-Z]*($list, [A-Z0-9]*, \([a-z0-9]*\),.*/\1/p" "$src/lib/options.def"
}

# ---- loading ----
for n in 1 3; do
  run $n test/petsc/plain -mat_type aij -pc_type jacobi
  plain=$(grep steps "$dir/out")
  check "plain AIJ on $n ranks" test -n "$plain"
  run $n test/petsc/plain $ours -pc_type jacobi -ksp_view -malloc_dump
  check "iteration counts on $n ranks" test "$plain" = "$(grep steps "$dir/out")"
  check "the matrix is ours on $n ranks" has 'type: (seq|mpi)aijmacko'
  check "memory is freed on $n ranks" lacks ' bytes .* at '
done
run 1 test/petsc/plain $ours -dll_append $plugin
check "loaded twice" has 'solve 1'
PETSC_OPTIONS=$ours run 1 test/petsc/plain -ksp_view
check "through PETSC_OPTIONS" has 'type: seqaijmacko'
printf -- '-dll_append %s\n-mat_type aijmacko\n' "$plugin" >"$dir/.petscrc"
HOME=$dir run 1 test/petsc/plain -ksp_view
check "through .petscrc" has 'type: seqaijmacko'
(unset LD_LIBRARY_PATH; cd / && timeout 60 "$OLDPWD/test/petsc/plain" $ours -ksp_view >"$dir/out" 2>&1)
check "from another folder" has 'type: seqaijmacko'

# ---- help: every option with every choice of the lists ----
run 1 test/petsc/plain $ours -help
for option in $(options); do
  for name in $(choices "$option"); do check "-help offers $option $name" has "-mat_macko_$option.*; $name \("; done
  check "there are choices of $option" test "$(choices "$option" | wc -l)" -ge 2
done
check "there are options" test "$(options | wc -l)" -ge 6
run 1 test/petsc/plain $ours -mat_macko_backend cpu -help
check "-help shows a choice that was made before" has 'mat_macko_backend:? <now cpu : formerly cpu>'
check "-help shows after how many products" has 'mat_macko_after:? <now 0 : formerly 0>'

# ---- every format, layout and value type by option; a combination that cannot be is refused with a sentence ----
for format in $(formats); do
  run 3 test/petsc/plain $ours -mat_macko_format $format -final_view ::ascii_info
  check "format $format" has "diagonal block: *format $format"
done
for layout in $(choices layout); do
  run 1 test/petsc/plain $ours -mat_macko_format macko -mat_macko_layout $layout -final_view ::ascii_info
  if [ $layout = auto ]; then check "layout auto" has 'format macko, layout'; else check "layout $layout" has "format macko, layout $layout"; fi
done
for values in raw narrow dict pairs f32 f16 bf16; do
  run 1 test/petsc/plain $ours -mat_macko_format macko -mat_macko_values $values -final_view ::ascii_info
  check "values $values" has "values $values"
done
run 3 test/petsc/plain $ours -mat_macko_format csr -mat_macko_values dict
check "csr with a dictionary is refused" has 'mat_macko_[.]*: format csr has no values dict; formats macko, .*have'
check "csr with a dictionary is refused once" times 1 'PETSC ERROR: .*csr has no'

# ---- views ----
run 1 test/petsc/plain $ours -final_view ::ascii_info
check "view: format and parameters" has 'format [a-z]+, layout [a-z]+.*, values [a-z0-9]+ as [a-z0-9]+'
check "view: reason" has 'because: .+'
check "view: bytes and ratio" has 'bytes [0-9]+, a nonzero [0-9.]+, CSR/this [0-9.]+'
check "view: counts" has 'encoded 1 times in .* s, values refreshed 1 times in .* s'
run 3 test/petsc/plain $ours -final_view ::ascii_info
check "view: blocks" times 3 '(^| )diagonal block:  '
check "view: off-diagonal blocks" times 3 'off-diagonal block:  '
check "view: smallest and largest over ranks" has 'bytes [0-9]+ .a rank [0-9]+/[0-9]+.'
check "view: counts under MPI" has 'encoded 1 times'
run 1 test/petsc/plain -n 30 $ours -mat_macko_values f32 -mat_macko_format macko -final_view ::ascii_info
check "exact as f32 is not lossy" lacks LOSSY

# ---- log ----
flops() { awk '/^MatMult +/ {print $6}' "$dir/out"; }
run 1 test/petsc/plain -mat_type aij -log_view
plain=$(flops)
run 1 test/petsc/plain $ours -log_view
check "log: encode once" has '^MatMackoEncode +1 '
check "log: refresh once" has '^MatMackoRefresh +1 '
check "log: multiply" has '^MatMackoMult +[0-9]+ '
check "log: operations as of AIJ ($plain)" test -n "$plain" -a "$plain" = "$(flops)"

# ---- messages ----
for n in 1 3; do
  run $n test/petsc/plain $ours -mat_macko_format mackoo
  check "unknown format on $n ranks" has '-mat_macko_format: format "mackoo" is unknown; the nearest is "macko"'
  check "unknown format on $n ranks: once" times 1 'is unknown'
done
run 1 test/petsc/other_version -dll_append $plugin -mat_type aijmacko
check "another PETSc: status" test $? != 0
check "another PETSc: sentence" has 'libpetscmacko was built for PETSc [0-9]+\.[0-9]+ and cannot work with the running PETSc [0-9]+\.[0-9]+'
check "another PETSc: nothing is solved" lacks 'solve 0'
run 1 test/petsc/other_indices -dll_append $plugin -mat_type aijmacko
check "other indices: status" test $? != 0
check "other indices: sentence" has 'built for a PETSc with (32-bit indices .* has 64|64-bit indices .* has 32)-bit indices'
check "other indices: nothing is solved" lacks 'solve 0'

# ---- a failure on the last of 3 ranks ends all of them, in time, with one message ----
if [ -x test/petsc/failure.mpi ]; then
  for what in multiply values pattern convert; do
    PETSC_OPTIONS="-mat_macko_after 0" run 3 test/petsc/failure.mpi -end $what
    status=$?
    check "no memory, $what: ends the program (status $status)" test $status != 0 -a $status != 124
    check "no memory, $what: one message" times 1 'rank 2: no memory for 4711 bytes'
    PETSC_OPTIONS="-mat_macko_after 0" run 3 test/petsc/failure.mpi -end $what refused
    status=$?
    check "refused, $what: ends the program (status $status)" test $status != 0 -a $status != 124
    check "refused, $what: one message" times 1 'rank 2: 4711 columns are too many'
  done
fi
if [ -x test/petsc/memory ]; then
  for operation in $(test/petsc/memory -list); do
    case $operation in *in-place) n=0 ;; *) n=25 ;; esac
    run 3 test/petsc/memory "$operation" $n
    status=$?
    check "no memory in $operation: ends the program (status $status)" test $status != 0 -a $status != 124
    check "no memory in $operation: one message" times 1 'no memory for 4711 bytes'
  done
fi
finish
