#!/bin/bash
# What is said of a matrix while a program runs: views with predicted and measured times, the log, misspelt options, verdicts of
# macko-solve and its JSON.
# shellcheck disable=SC2086,SC1091
[ -x test/petsc/plain ] && [ -x solvers/macko-solve ] || { echo "SKIP: not built (no PETSc)"; exit 77; }
seconds=100 # of a run
. "${srcdir:-.}/test/petsc/run_plugin.sh"
T=$src/examples/tridiagonal.mtx
number='[0-9.e+-]+'
range="$number(/$number)?" # over the ranks

# ---- views: predicted and measured, encoding and new values, break-even ----
run 1 test/petsc/plain $ours -n 60 -final_view ::ascii_info
steps=$(awk '/^solve 1/ { print $3 }' "$dir/out")
check "a product" has "a product: predicted $number us, csr $number us; measured $number us, mean of $number products\$"
counted=$(sed -n 's/.*mean of \([0-9]*\) products.*/\1/p' "$dir/out")
check "as many products ($counted) as both solves have steps, or more" test "$counted" -gt "$steps"
check "break-even" has '^ *encoding pays after [0-9]+ products, against csr$'
check "encoding and new values" has 'encoded 1 times in .* s, values refreshed 1 times in .* s'
run 1 test/petsc/plain $ours -mat_macko_format csr -final_view ::ascii_info
check "csr has no layout" has 'format csr, values raw as f64$'
check "csr is not compared with itself" has 'stored as csr itself'
check "nor said to save bytes" lacks 'in bytes only'
run 1 test/petsc/plain $ours -mat_macko_format csr -mat_macko_values f32 -final_view ::ascii_info
check "csr of narrower values pays in bytes" has 'encoding pays in bytes only'
run 1 test/petsc/plain $ours -mat_macko_format macko -mat_macko_layout slice -mat_macko_values raw -n 64 -final_view ::ascii_info
check "where the values of stencils are" has '[1-9][0-9]* of them stencils \(their values are in their blocks\)'
[ -e /dev/nvidiactl ] || check "no GPU" has 'products on the CPU: no GPU here$'
for type in aijmacko macko; do
  run 2 solvers/macko-solve 5-point:6 -mat_type $type -mat_macko_halo mpi -mat_macko_keep_csr no -mat_macko_backend cpu -mat_view ::ascii_info
  check "options of GPUs are named where products run on the CPU" times 1 '-mat_macko_halo changes nothing without products on the GPU'
  check "all of them" times 1 '-mat_macko_keep_csr changes nothing without'
  for ranks in 1 2; do
    run $ranks solvers/macko-solve 5-point:6 -mat_type $type -mat_macko_halo peer -mat_macko_backend cpu
    status=$?
    check "peer without a GPU, $type on $ranks ranks: status $status" test $status = 1
    check "peer without a GPU: sentence" times 1 '-mat_macko_halo peer: vectors are on the CPU: '
  done
done
run 2 solvers/macko-solve 5-point:6 -mat_macko_keep_csr yes -mat_macko_backend cpu
check "what is kept on a GPU is refused without one" times 1 '-mat_macko_keep_csr yes: vectors are on the CPU: '
if [ ! -e /dev/nvidiactl ]; then
  run 2 solvers/macko-solve 5-point:6 -mat_macko_ranks_per_node 1
  check "nodes for GPUs are refused without any" times 1 '-mat_macko_ranks_per_node 1: vectors are on the CPU: no GPU here$'
fi
# A view tells what is stored, or would be, and leaves it at that.
later="-dll_append $plugin -mat_type aijmacko -mat_macko_after 1000 -ksp_max_it 2"
for ranks in 1 3; do
  run $ranks test/petsc/plain $later -final_view ::ascii_info -ksp_view -log_view
  check "not encoded on $ranks ranks" has 'not encoded yet: [1-9][0-9]* products by (seq|mpi)aij with these values; encoding comes after 1000 '
  check "nor said to be" lacks 'encoded [0-9]+ times'
  check "what would be chosen" has '^ *encoding would choose$'
  check "of each block" has "^ *(diagonal block: )?format [a-z]+"
  check "what a product would take" has "a product: predicted $number us, csr $number us\$"
  check "a view encodes nothing on $ranks ranks" lacks '^MatMackoEncode'
done
run 1 test/petsc/plain $ours -mat_macko_after 7 -n 10 -final_view ::ascii_info
check "values that have changed" has 'values have changed since this was encoded: [1-7] products by seqaij with these values; encoding comes after 7 '
check "are not taken by a view" has 'encoded 1 times in .* s, values refreshed 0 times in 0 s'
run 1 test/petsc/plain $ours -mat_macko_after 3 -n 10 -final_view ::ascii_info
check "products of the type below" has '^ *6 products by seqaij instead \(-mat_macko_after\)$'
run 3 test/petsc/plain $ours -final_view ::ascii_info
check "ranks with a format" has 'diagonal block: format [a-z]+.* \([0-9] of 3 ranks\)$'
total() { sed -n "s,^ *$1 block:   bytes \([0-9]*\) (a rank .*,\1,p" "${2-$dir/out}"; } # BLOCK [FILE]
own=$(total diagonal) off=$(total off-diagonal)
run 3 solvers/macko-solve "$T" -ksp_gmres_restart 50 -json - -ksp_view ascii:"$dir/view"
cp "$dir/out" "$dir/json"
cp "$dir/view" "$dir/out"
check "bytes of all ranks together" test "$(($(total diagonal) + $(total off-diagonal)))" = "$(sed -n 's/.*"type": "mpiaijmacko", "lossy": [a-z]*, "bytes": \([0-9]*\).*/\1/p' "$dir/json")"
check "there are bytes" test "${own:-0}" -gt 0 -a "${off:-0}" -gt 0

# ---- type macko has what aijmacko has ----
for ranks in 1 3; do
  run $ranks solvers/macko-solve 7-point:6 -mat_type macko -mat_macko_piece 50 -ksp_view ascii:"$dir/view" -json "$dir/json"
  cp "$dir/view" "$dir/out"
  each=$([ $ranks = 1 ] || echo ' \([0-9] of 3 ranks\)')
  check "macko: format, with ranks" has "^ *(diagonal block: )?format [a-z]+.*, values [a-z0-9]+ as f64$each\$"
  check "macko: products" has "a product: predicted $range us, csr $range us; measured $range us, mean of [1-9][0-9]* products\$"
  check "macko: encoding" has 'encoded 1 times in .* s, values refreshed 0 times in 0 s'
  check "macko: break-even" has 'encoding pays after [0-9]+ products, against csr|not faster than with csr|stored as csr itself'
  check "macko: pieces" has ' pieces [1-9][0-9]*;'
  cp "$dir/json" "$dir/out"
  check "macko: formats in JSON" has "\"formats\": \"[a-z]+( and [a-z]+)? on [1-3] rank"
done
check "macko: formats of all ranks" test "$(grep -o '"formats": "[^"]*"' "$dir/json" | grep -oE 'on [0-9]+' | awk '{ n += $2 } END { print n }')" = 3
run 3 solvers/macko-solve 7-point:6 -mat_type macko -mat_macko_format csr -ksp_view
check "macko: csr has no layout" has 'format csr, values raw as f64 \(3 of 3 ranks\)$'
run 1 solvers/macko-solve 7-point:6 -mat_type macko -mat_macko_format csr -ksp_view
check "macko: csr is not compared with itself" has 'stored as csr itself'
run 2 solvers/macko-solve "$src/examples/tridiagonal.mtx" -mat_type macko -ksp_gmres_restart 50 -json - -ksp_view ascii:"$dir/view"
check "macko: bytes of all ranks" has "\"bytes\": $(($(total diagonal "$dir/view") + $(total off-diagonal "$dir/view"))),"

# ---- CSR takes the same whatever pieces the rows are in ----
for ranks in 1 3; do
  run $ranks solvers/macko-solve 7-point:6 -json "$dir/aijmacko.json"
  run $ranks solvers/macko-solve 7-point:6 -mat_type macko -mat_macko_piece 50 -json "$dir/macko.json"
  check "bytes of CSR on $ranks ranks" test "$(grep -o '"csr_bytes": [1-9][0-9]*' "$dir/macko.json")" = "$(grep -o '"csr_bytes": [1-9][0-9]*' "$dir/aijmacko.json")"
done

# ---- the log: encoding is in no product ----
# Encoding in a product would make each product longer than each encoding, whatever else the machine does.
outside() {
  awk '/^MatMult / { product = $4 } /^MatMackoEncode / { encode = $4 } END { exit !(product > 0 && encode > 0 && product < encode) }' \
    "$dir/out"
}
for _ in 1 2 3 4 5; do
  run 1 test/petsc/plain $ours -n 100 -mat_macko_format dtans -ksp_max_it 1 -pc_type none -log_view
  outside && break
done
check "encoding is outside of MatMult" outside

# ---- misspelt options ----
run 3 test/petsc/plain $ours -mat_macko_formatt macko -mat_macko_lay0ut slice
check "a misspelt option" times 1 'the option -mat_macko_formatt is unknown and changes nothing; the nearest is -mat_macko_format$'
check "another" times 1 'the nearest is -mat_macko_layout$'
run 1 solvers/macko-solve "$T" -ksp_gmres_restart 50 -mat_macko_backendd cpu
check "once in macko-solve" times 1 backendd
run 1 solvers/macko-solve "$T" -ksp_gmres_restart 50 -mat_type aij -mat_macko_format csr
check "an option that nothing used is told as before" has 'nothing used the option -mat_macko_format$'
for option in $(grep -ohE '"-mat_macko_[a-z_]+"' "$src"/petsc/*.c "$src"/petsc/compressed/*.c | tr -d '"' | sort -u) -mat_macko_format -mat_macko_prefer; do
  run 1 test/petsc/plain -dll_append "$plugin" -mat_type aij "$option" auto
  check "$option is known" lacks 'is unknown'
done

# ---- macko-solve ----
run 1 solvers/macko-solve "$T" -ksp_view_mat binary:"$dir/petsc.bin"
solvers/macko-convert "$T" "$dir/t.macko" >/dev/null
for matrix in "$T" 7-point:4 "$dir/petsc.bin" "$dir/t.macko"; do
  for type in aij aijmacko macko; do
    for ranks in 1 2; do
      run $ranks solvers/macko-solve "$matrix" -ksp_type cg -mat_type $type -mat_view ::ascii_info
      check "-mat_view shows $matrix as it is solved with" times 1 "^  type: (seq|mpi)$type\$"
      check "and nothing else" times 1 '^  type: '
      check "so that it is used" lacks 'nothing used'
    done
  done
done
run 1 solvers/macko-solve "$T" -ksp_gmres_restart 50
check "the summary has both times" has "^products  [1-9][0-9]* measured, $number us in the mean; predicted $number us, $number us with csr; "
run 1 solvers/macko-solve "$T" -ksp_gmres_restart 50 -mat_macko_format csr -json "$dir/csr.json"
cp "$dir/csr.json" "$dir/out"
check "JSON: no break-even of csr with itself" has '"break_even_products": null'
check "JSON: csr has no layout" has '"layout": null, "variant": null'
check "JSON: times are numbers" has "\"product_seconds\": $number, \"predicted_seconds\": $number, \"csr_predicted_seconds\": $number, "

# Encoding pays by predictions at the pace at which products were measured.
awk 'BEGIN { n = 20000; print "%%MatrixMarket matrix coordinate real symmetric"; print n, n, 2 * n - 1
  for (i = 1; i <= n; i++) { print i, i, 4; if (i > 1) print i, i - 1, -1 } }' >"$dir/line.mtx"
run 1 solvers/macko-solve "$dir/line.mtx" -ksp_type cg -mat_macko_format macko -json "$dir/line.json"
pays() {
  member() { grep -o "\"$1\": [^,}]*" "$dir/line.json" | sed 's/.*: //'; }
  awk -v count="$(member break_even_products)" -v encode="$(member encode_seconds)" -v own="$(member predicted_seconds)" \
    -v csr="$(member csr_predicted_seconds)" -v product="$(member product_seconds)" -v encodes="$(member encodes)" \
    'BEGIN { wanted = encode / encodes / ((csr - own) * product / own); exit !(count >= wanted && count - 1 <= wanted) }'
}
check "encoding pays at the pace of the products" pays

# One row hides the others behind its preconditioned residual: the method thinks that it converged.
awk 'BEGIN { n = 60; print "%%MatrixMarket matrix coordinate real symmetric"; print n, n, 2 * n - 2
  for (i = 1; i < n; i++) { print i, i, 2; if (i > 1) print i, i - 1, -1 } print n, n, 1e-10 }' | sed '2s/ [0-9]*$/ 118/' >"$dir/steep.mtx"
awk 'BEGIN { print "%%MatrixMarket matrix array real general"; print 60, 1; for (i = 1; i <= 60; i++) print 1 }' >"$dir/steep-b.mtx"
misled() { # OPTIONS...
  run 1 solvers/macko-solve "$dir/steep.mtx" -rhs "$dir/steep-b.mtx" -ksp_gmres_restart 60 "$@"
  status=$?
}
misled -ksp_type cg
check "misled: status $status" test $status = 2
check "misled: advice for cg" has '^WARNING .*-ksp_norm_type unpreconditioned'
check "misled: not converged" has '^result    NOT CONVERGED'
misled -ksp_type gmres
check "misled, gmres: status $status" test $status = 2
check "misled: advice for gmres" has '^WARNING .*-ksp_pc_side right'
misled -ksp_type cg -ksp_norm_type unpreconditioned
check "with the advice it converges" test $status = 0
finish
