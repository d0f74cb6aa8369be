#!/bin/bash
# macko-bench on a GPU: every peer and every way to say what it measured.
bench=$PWD/solvers/macko-bench
command -v python3 >/dev/null || { echo "SKIP: no python3 to read JSON"; exit 77; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; cat "$dir/text"; exit 1; }
status=0
$bench --device gpu --repeat 5 --encodings auto --json "$dir/g.json" 27-point:20 tetra:12:3 pruned:256x256:50 >"$dir/text" 2>&1 || status=$?
[ $status = 77 ] && { echo "SKIP: $(tail -n 1 "$dir/text")"; exit 77; }
[ $status = 0 ] || fail "exit status $status on a GPU"
python3 - "$dir/g.json" "$dir/text" <<'END' || fail "results of a GPU"
import json, sys
forms = {(r["matrix"], r["form"]) for r in json.load(open(sys.argv[1]))["results"] if r["us"] > 0 and r["warm_us"] > 0}
for form in "csr1 csr1-plain csr2 csr2-plain csr1-f32 coo sell".split(): assert ("27-point:20", "cusparse-" + form) in forms, form
for form in ("cusparse-op1", "cusparse-op2"):
  assert ("27-point:20", form) in forms or form + " left out: in cuSPARSE 12.8 and later" in open(sys.argv[2]).read(), form
assert ("tetra:12:3", "cusparse-bsr") in forms, "bsr"
for form in "cublas-gemm cublas-gemv cusparse-csr1 auto".split(): assert ("pruned:256x256:50", form) in forms, form
END
# Several vectors at once, beside as many products of one.
$bench --device gpu --repeat 3 --vectors 5 --encodings auto,csr,slice,eccsr --json "$dir/k.json" tetra:12:3 27-point:12:f32 \
  pruned:256x256:50 >"$dir/text" 2>&1 || fail "--vectors"
python3 - "$dir/k.json" <<'END' || fail "results of several vectors"
import json, sys
results = json.load(open(sys.argv[1]))["results"]
assert results and all(r["k"] == 5 and r["singles_us"] > 0 for r in results)
forms = {(r["matrix"], r["form"]) for r in results}
for form in "cusparse-csr1 cusparse-csr2 cusparse-coo cusparse-bsr auto csr slice eccsr".split():
  assert ("tetra:12:3", form) in forms, form
# Several vectors of f16: cuSPARSE's CSR and COO are further off than rounding explains, and left out.
for form in "cusparse-bsr cublas-gemm auto csr".split(): assert ("pruned:256x256:50", form) in forms, form
END
# Products with many columns, whichever way multiplies: every type at every pattern, beside the dense one.
$bench --matmul 96x128x40 --repeat 3 --tsv "$dir/m.tsv" >"$dir/text" 2>&1 || fail "--matmul"
for type in bf16 i8 e4m3 f16; do
  for kept in dense 2:4 4:6 6:8; do
    cut -f 1-5 "$dir/m.tsv" | grep -q "^96	128	40	$kept	$type$" || fail "--matmul lacks $kept of $type"
  done
done
$bench --matmul 96x128 >"$dir/text" 2>&1
[ $? = 2 ] || fail "--matmul takes what is no shape"
exit 0
