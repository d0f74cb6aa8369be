#!/bin/bash
# macko-bench as its user sees it: tables, JSON, pictures, exit statuses.
bench=$PWD/solvers/macko-bench
command -v python3 >/dev/null || { echo "SKIP: no python3 to read JSON"; exit 77; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; cat "$dir/text" 2>/dev/null; exit 1; }
expect() { # STATUS ARGUMENTS...: runs, and compares the exit status
  local want=$1 got=0
  shift
  "$@" >"$dir/text" 2>&1 || got=$?
  [ "$got" = "$want" ] || fail "exit status $got, not $want: $*"
}
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 3\n1 2 0.1\n2 2 4\n' >"$dir/little \"one\".mtx"

# On the CPU: a table, TSV, JSON and pictures of the same results.
expect 0 $bench --device cpu --repeat 3 --encodings auto,slice.raw,auto.f32 --tsv "$dir/a.tsv" --json "$dir/a.json" \
  --plot "$dir/a" "$dir/little \"one\".mtx" "tile:$dir/little \"one\".mtx:0.01" 27-point:8 pruned:64x64:50:f32 rmat:6 tetra:6:3:rcm
[ "$(grep -c "^# " "$dir/text")" = 1 ] && [ "$(grep -c "^  form " "$dir/text")" = 1 ] || fail "headings are not printed once"
[ "$(grep -c "mkl left out" "$dir/text")" -le 1 ] || fail "the notice of MKL comes more than once"
grep -q "^27-point:8: 512 x 512, 10648 nonzeros" "$dir/text" || fail "no heading of 27-point:8"
python3 - "$dir/a.json" "$dir/a.tsv" <<'END' || fail "the JSON is not what the TSV is"
import json, math, sys
made = json.load(open(sys.argv[1]))
lines = [l.rstrip("\n").split("\t") for l in open(sys.argv[2]) if l[0] != "#"]
names, rows = lines[0], [dict(zip(lines[0], l)) for l in lines[1:]]
results = made["results"]
assert len(rows) == len(results) >= 20, len(rows)
for row, result in zip(rows, results):
    assert set(row) == set(result)
    for name, value in result.items():
        if isinstance(value, bool): assert row[name] == str(int(value)), name
        elif value is None: assert row[name] == "", name
        elif isinstance(value, str): assert row[name] == value, name
        else: assert math.isclose(float(row[name]), value), name
of = {(r["matrix"], r["form"]): r for r in results}
tiled = of["tile:little \"one\".mtx:0.01", "csr-loop"]
assert tiled["rows"] == tiled["columns"] and tiled["nonzeros"] * 2 == tiled["rows"] * 3 and tiled["bytes"] >= 10000, tiled
assert of["little \"one\".mtx", "auto.f32"]["lossy"], "0.1 does not fit into f32"
if any(r["form"] == "petsc-aij" for r in results):
    blocks = of["tetra:6:3:rcm", "petsc-baij"]
    assert blocks["bytes"] == 4 * (216 + 1) + 76 * blocks["nonzeros"] / 9, blocks
for r in results:
    best = min(p["us"] for p in results if p["matrix"] == r["matrix"] and p["peer"])
    assert math.isclose(r["x_best_peer"], best / r["us"], rel_tol=1e-4), r
    assert not r["lossy"] or r["form"] == "auto.f32", r
    assert r["difference"] < (1e-6 if r["form"] == "auto.f32" or "f32" in r["matrix"] else 1e-14), r
    assert r["moved_bytes"] > r["bytes"] > 0
    assert r["us"] > 0 and r["warm_us"] is None, r # one column on a CPU; empty: not measured
    assert bool(r["format"]) == (not r["peer"]) and bool(r["layout"]) == (r["format"] == "macko"), r
    assert (r["encode_s"] is None) == (r["form"] in ("csr-loop", "petsc-aij")), r
    assert bool(r["predicted_us"]) == bool(r["pace"]) == (not r["peer"]), r
    assert r["peer"] or r["pace"] == of[r["matrix"], "auto"]["pace"], r
    assert (r["encode_multiplies"] or 0) > 0 or r["peer"], r
END
if command -v gnuplot >/dev/null; then
  for picture in size time; do
    grep -q "<svg" "$dir/a-$picture.svg" || fail "no picture a-$picture.svg"
    [ "$(head -c 4 "$dir/a-$picture.png" | tail -c 3)" = PNG ] || fail "no picture a-$picture.png"
  done
fi

# Whole solves, where there is a PETSc that macko-bench can hand its arrays to.
if [ -x solvers/macko-solve ] && ! $bench --solve 1 --repeat 1 27-point:4 2>&1 | grep -q "32-bit indices"; then
  expect 0 $bench --solve 5 --repeat 1 27-point:8 "$dir/little \"one\".mtx"
  for type in aij aijmacko; do
    grep -Eq "^ *27-point:8  *10648  *5  *$type( +[0-9.]+){7}\$" "$dir/text" || fail "no five steps on 27-point:8 with $type"
  done
  PETSC_OPTIONS="-mat_macko_after 0" expect 0 $bench --solve 5 --repeat 1 27-point:8
  grep -Eq '^ *stores [a-z]+; encoding takes .* s and pays after (no number of|[0-9]+) steps$' "$dir/text" || fail "no words about encoding"
  expect 0 ${MPIEXEC:-mpiexec} -n 2 $bench --solve 5 --repeat 1 27-point:8
  [ "$(grep -c 'with 2 ranks' "$dir/text")" = 1 ] || fail "solves on two ranks are not told once"
  PETSC_OPTIONS="-ksp_type preonly -pc_type lu" expect 0 $bench --solve 5 --repeat 1 27-point:8
  grep -q '^ *27-point:8  *10648  *1  *aij ' "$dir/text" || fail "PETSC_OPTIONS choose no other preconditioner"
  PETSC_OPTIONS="-pc_type nosuch" expect 1 $bench --solve 5 --repeat 1 27-point:8
  grep -q "27-point:8: PETSc: .*nosuch.* (PCSetType)" "$dir/text" || fail "what PETSc said"
  expect 1 $bench --solve 5 pruned:64x64:50
  grep -q "square matrices of f64" "$dir/text" || fail "what solves take"
  expect 2 $bench --solve 0 27-point:8
  expect 2 $bench --solve 5 --tsv "$dir/solves.tsv" 27-point:8
  [ ! -e "$dir/solves.tsv" ] || fail "a refused --tsv leaves a file"
fi

# Several vectors at once, beside as many products of one.
expect 0 $bench --device cpu --repeat 2 --vectors 3 --encodings auto,csr,slice,row,eccsr,dtans,slide --json "$dir/k.json" 27-point:8 pruned:64x64:50:f32
grep -q "^27-point:8: .*; 3 vectors at once" "$dir/text" || fail "the heading lacks how many vectors"
grep -q "left out" "$dir/text" && grep "left out" "$dir/text" | grep -v "petsc\|mkl" && fail "a form has no product of several vectors"
expect 0 $bench --device cpu --repeat 1 --encodings csr --json "$dir/one.json" 27-point:8
python3 - "$dir/k.json" "$dir/one.json" <<'END' || fail "products of several vectors"
import json, math, sys
several, one = [json.load(open(f))["results"] for f in sys.argv[1:]]
forms = {r["form"] for r in several if r["matrix"] == "27-point:8"}
assert forms >= {"csr-loop", "auto", "csr", "slice", "row", "eccsr", "dtans", "slide"}, forms
assert "petsc-aij" in forms or not any(r["form"] == "petsc-aij" for r in one), forms
for r in several:
    assert r["k"] == 3 and r["singles_us"] > 0 and math.isclose(r["x_singles"], r["singles_us"] / r["us"], rel_tol=1e-4), r
    assert r["moved_bytes"] == r["bytes"] + 3 * (r["rows"] + r["columns"]) * (4 if "f32" in r["matrix"] else 8), r
    assert r["difference"] < (1e-6 if "f32" in r["matrix"] else 1e-14), r
for r in one: assert r["k"] == 1 and r["singles_us"] is None and r["x_singles"] is None, r
END
expect 2 $bench --vectors 0 27-point:4
expect 2 $bench --vectors 2 --solve 3 27-point:4

# From a file, without measuring: what a GPU left, made up.
tab=$(printf '\t')
{ echo "# A GPU; copy 4000.0 GB/s; median of 50"
  echo "matrix form peer nonzeros bytes moved_bytes flushed_us warm_us" | tr ' ' "$tab"
  for percent in 50 70 90; do
    echo "pruned:64x64:$percent cusparse-csr1 1 $((4096 - 41 * percent)) 9000 9999 $((200 - percent)) 5
pruned:64x64:$percent cublas-gemv 1 $((4096 - 41 * percent)) 8192 9999 100 5
pruned:64x64:$percent auto 0 $((4096 - 41 * percent)) 5000 9999 $((130 - percent)) 5" | tr ' ' "$tab"
  done; } >"$dir/gpu.tsv"
expect 0 $bench --from "$dir/gpu.tsv" --json "$dir/gpu.json" --plot "$dir/gpu"
grep -q '^  auto  *1\.[0-9]* over 3 matrices, least 1\.25 (pruned:64x64:50)$' "$dir/text" || fail "no geometric mean"
grep -q "A GPU; copy 4000.0 GB/s; median of 50" "$dir/text" || fail "the machine is lost"
python3 -c 'import json, sys; r = json.load(open(sys.argv[1]))["results"]; assert len(r) == 9 and r[8]["x_best_peer"] == 2.5, r' \
  "$dir/gpu.json" || fail "what was read is not what was written"
for axis in "(higher: smaller)" "(higher: faster)" "(further right: smaller)"; do grep -qF "$axis" "$dir/a.gnuplot" || fail "no axis says $axis"; done
[ "$(grep -o '\$ratios[0-9]* using 3:4 pointtype [0-9]*' "$dir/a.gnuplot" | sed 's/.* //' | sort -u | wc -l)" = 3 ] || fail "forms share a marker"
grep -q 'using 3:4:2 with labels' "$dir/a.gnuplot" || fail "matrices have no names"
grep -q '^90 2.5$' "$dir/gpu.gnuplot" || fail "the sweep lacks its point at 90 %"
if command -v gnuplot >/dev/null; then
  [ -s "$dir/gpu-sparsity.svg" ] && [ -s "$dir/gpu-sparsity.png" ] || fail "no pictures of the sweep"
fi
# How good automatic choice is, of made up times: the least of two files counts, and what auto stores is as fast as that form.
for us in 4 3; do
  { echo "# A CPU; copy 10.0 GB/s; median of 3"
    echo "matrix form format layout values peer lossy us predicted_us" | tr ' ' "$tab"
    for matrix in a b; do
      echo "$matrix petsc-aij - - - 1 0 2 
$matrix csr csr - raw 0 0 $us 3.5
$matrix auto csr - raw 0 0 5 3.5
$matrix slice macko slice raw 0 0 2.5 9" | tr ' ' "$tab" | sed "s/$tab-/$tab/g"
    done; } >"$dir/choice$us.tsv"
done
expect 0 python3 "$srcdir/solvers/bench/choice.py" "$dir/choice4.tsv" "$dir/choice3.tsv"
for line in "fitted: 1 matrices" "held out: 1 matrices" "best of our forms: 0 of 1" "1.05 times csr's: 1 of 1 (100 %); worst 1.00 (b)" \
  "petsc-aij's: 0 of 1 (0 %); worst 1.50 (a)" "what was measured: 1 of 3 (33 %)" "auto is csr/raw    1.20 x best (slice)"; do
  grep -qF "$line" "$dir/text" || fail "choice.py does not say $line"
done
expect 1 python3 "$srcdir/solvers/bench/choice.py"
expect 1 python3 "$srcdir/solvers/bench/kinds.py" "$dir"
if python3 -c 'import scipy' 2>/dev/null; then
  expect 0 python3 "$srcdir/solvers/bench/kinds.py" "$dir/kinds" 0.002 kkt spin_chain
  expect 0 $bench --device cpu --repeat 3 --encodings auto,csr "$dir/kinds/kkt"
  expect 1 python3 "$srcdir/solvers/bench/kinds.py" "$dir/kinds" 1 nothing
else echo "kinds.py is not run here: there is no SciPy"
fi

odd=$(printf '\303\244\200\\"')
cp "$dir/little \"one\".mtx" "$dir/$odd.mtx"
expect 0 $bench --device cpu --repeat 1 --encodings auto --json "$dir/odd.json" "$dir/$odd.mtx"
python3 - "$dir/odd.json" <<'END' || fail "a file name that is not UTF-8"
import json, sys
assert json.load(open(sys.argv[1], encoding="utf-8"))["results"][0]["matrix"] == '\u00e4\ufffd\\".mtx'
END
# Names are text to gnuplot, never commands: those of matrices, of forms in a file that --from reads, and of pictures.
odd="'it's \`touch ran\` ''\"\\'"
cp "$dir/little \"one\".mtx" "$dir/$odd.mtx"
sed "s/${tab}auto${tab}/$tab$(sed 's/[\\&/]/\\&/g' <<<"$odd")$tab/" "$dir/gpu.tsv" >"$dir/forms.tsv"
(
  cd "$dir" || exit 1
  expect 0 "$bench" --device cpu --repeat 1 --encodings auto --plot "$odd" "$odd.mtx"
  expect 0 "$bench" --from forms.tsv --plot "|touch ran;"
  grep -qF "title ''.\"'\".'it'.\"'\".'s \`touch ran\` '.\"'\".''.\"'\".'\"\\'.\"'\".''" "|touch ran;.gnuplot" ||
    fail "the name of a form"
  [ ! -e ran ] || fail "a command in the name of a file was run"
  if command -v gnuplot >/dev/null; then
    [ -s "$odd-time.svg" ] && [ -s "|touch ran;-size.png" ] || fail "no pictures of odd names"
  fi
) || exit 1
mkdir "$dir/empty"
PATH=$dir/empty expect 0 $bench --from "$dir/gpu.tsv" --plot "$dir/later"
grep -q "gnuplot is not there" "$dir/text" || fail "not a word of gnuplot"
[ -s "$dir/later.gnuplot" ] || fail "nothing to draw later"

# PETSc's binary files; encodings by what is preferred.
python3 - "$dir/b.bin" "$dir/wide.bin" <<'END'
import struct, sys
for path, index in zip(sys.argv[1:], "iq"):
    with open(path, "wb") as f: # 3 x 4, rows of 2, 0 and 1 entries
        f.write(struct.pack(">4" + index, 1211216, 3, 4, 3) + struct.pack(">3" + index, 2, 0, 1) + struct.pack(">3" + index, 0, 3, 2))
        f.write(struct.pack(">3d", 1.5, 2, -1))
END
for file in b wide; do
  expect 0 $bench --device cpu --repeat 1 --encodings memory,update,measured.raw,csr --json "$dir/bin.json" "$dir/$file.bin"
  python3 - "$dir/bin.json" <<'END' || fail "PETSc's binary file $file"
import json, sys
results = {r["form"]: r for r in json.load(open(sys.argv[1]))["results"]}
assert set(results) >= {"memory", "update", "measured.raw", "csr"}, results
for r in results.values(): assert (r["rows"], r["columns"], r["nonzeros"]) == (3, 4, 3) and r["difference"] < 1e-15, r
assert results["update"]["values"] == "raw" and results["memory"]["bytes"] <= min(r["bytes"] for r in results.values()), results
END
done
head -c 50 "$dir/b.bin" >"$dir/short.bin"
expect 1 $bench --device cpu "$dir/short.bin"
grep -q "short.bin: cut short" "$dir/text" || fail "a file that is cut short"
python3 - "$dir/b.bin" "$dir" <<'END'
import struct, sys
whole = open(sys.argv[1], "rb").read()
damage = ("right", 16 + 12 + 8, 4), ("left", 16 + 12, -1), ("row", 16 + 4, -1), ("head", 12, 2000000000), ("class", 0, 1211214)
for name, at, number in damage:
    open(f"{sys.argv[2]}/{name}.bin", "wb").write(whole[:at] + struct.pack(">i", number) + whole[at + 4:])
END
for words in "right.bin: the entry in row 3, column 5, counted from 1, is outside of 4 columns" \
  "left.bin: the entry in row 1, column 0, counted from 1" "row.bin: row 2, counted from 1, has -1 entries" \
  "head.bin: cut short" "class.bin: a PETSc binary vector"; do
  expect 1 $bench --device cpu --repeat 1 --encodings csr "$dir/${words%%:*}"
  grep -q "$words" "$dir/text" && [ "$(grep -c "macko-bench: " "$dir/text")" = 1 ] || fail "not said: $words"
done
# What has none of the encodings that were asked for is no success; what has one is, and others are named.
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 2 1e6\n3 3 1\n' >"$dir/large.mtx"
for encodings in csr.f16 csr.f16,row.f16; do
  expect 1 $bench --device cpu --repeat 1 --encodings $encodings "$dir/large.mtx" 27-point:4
  grep -q "large.mtx: csr.f16 left out: row 2, column 2, counted from 1: 1000000 is beyond" "$dir/text" || fail "an overflow is not named"
  [ "$(grep "^macko-bench: " "$dir/text")" = "macko-bench: $dir/large.mtx: nothing was measured of encodings $encodings" ] ||
    fail "no encoding was measured, and that is not said: $(cat "$dir/text")"
done
expect 0 $bench --device cpu --repeat 1 --encodings csr.f16,csr "$dir/large.mtx"
expect 0 $bench --device cpu --repeat 1 --encodings "" "$dir/large.mtx"
expect 2 $bench --repeet 3 27-point:4
grep -q "^macko-bench: the option --repeet is unknown; the nearest is --repeat; --help tells more$" "$dir/text" || fail "the nearest option"
expect 2 $bench --m . 27-point:4
grep -q "^macko-bench: the option --m may be --mkl or --matmul; --help tells more$" "$dir/text" || fail "an option that may be one of two"
expect 2 $bench 27-point:4 --repeat
grep -q "^macko-bench: --repeat needs a value" "$dir/text" && [ "$(wc -l <"$dir/text")" = 1 ] || fail "an option without its value"
expect 2 $bench --encodings slic.raw 27-point:4
grep -q 'encoding "slic" is unknown; the nearest is "slice"' "$dir/text" || fail "the nearest encoding"
for list in auto,,csr csr, ,csr; do
  expect 2 $bench --encodings "$list" 27-point:4
  grep -qF "encodings \"$list\": names are separated by one comma each" "$dir/text" || fail "empty names of encodings"
done
expect 2 $bench --encodings csr,csr.dict 27-point:4
grep -q 'encodings csr.dict: format csr has no values dict; formats' "$dir/text" || fail "an encoding that no matrix can have"
expect 1 $bench absent.mtx
grep -q 'absent.mtx: no such file, and no generated matrix$' "$dir/text" || fail "a file is no misspelt matrix"
expect 1 $bench tetra:8:3:mortn
grep -q 'option mortn is none of .*; the nearest is morton$' "$dir/text" || fail "the nearest order"
# A library that was asked for and cannot be loaded is no notice beside a table, but the end before anything is measured.
: >"$dir/no-library"
for path in "$dir/none" "$dir/empty" "$dir/no-library"; do
  expect 2 $bench --repeat 1 --encodings csr --mkl "$path" --tsv "$dir/mkl.tsv" rmat:5
  grep -qF "macko-bench: --mkl $path: neither libmkl_rt nor a folder that holds libmkl_rt.so" "$dir/text" || fail "what --mkl looked for"
  [ "$(wc -l <"$dir/text")" = 1 ] && [ ! -e "$dir/mkl.tsv" ] || fail "something is measured without the library of --mkl"
done
if [ -e .libs/libmacko.so ]; then
  expect 2 $bench --repeat 1 --encodings csr --mkl .libs/libmacko.so rmat:5
  grep -qF "macko-bench: --mkl .libs/libmacko.so: the library lacks mkl_sparse_d_create_csr" "$dir/text" || fail "a library that is not oneMKL"
  # A name without a folder is a file of this one, as every path is, and none that the loader finds elsewhere.
  (cd .libs && expect 2 $bench --repeat 1 --encodings csr --mkl libmacko.so rmat:5) || exit 1
  grep -qF "macko-bench: --mkl libmacko.so: the library lacks" "$dir/text" || fail "a library in the folder at hand"
fi
$bench --device cpu --repeat 1 --encodings csr --tsv "$dir/whole.tsv" rmat:5 >"$dir/text" 2>&1
head -c 150 "$dir/whole.tsv" >"$dir/part.tsv"
expect 2 $bench --from "$dir/part.tsv"
grep -q "part.tsv: line 2: cut short" "$dir/text" || fail "a table that is cut short"
expect 1 $bench 7-pint:4
grep -q 'the nearest is 7-point' "$dir/text" || fail "the nearest matrix"
expect 1 $bench --device cpu --repeat 1 --encodings csr --tsv "$dir/late.tsv" absent.mtx 27-point:4 rmat:5
[ "$(grep -c "^# " "$dir/text")" = 1 ] && [ "$(grep -c "^matrix" "$dir/late.tsv")" = 1 ] || fail "headings twice, after a matrix that is not there"

# --tsv - is standard output, as --json - is; neither makes a file of that name.
(
  cd "$dir" || exit 1
  expect 0 "$bench" --device cpu --repeat 1 --encodings csr --tsv - 27-point:4 rmat:5
  sed -n "/^matrix${tab}form$tab/,\$p" text >rows.tsv
  cut -f 1 rows.tsv | sort -u | paste -sd, | grep -qx "27-point:4,matrix,rmat:5" ||
    fail "no table of tab-separated values on standard output"
  grep -c '^  csr ' rows.tsv | grep -qx 0 || fail "the tables are mixed"
  "$bench" --from gpu.tsv --tsv /dev/stdout --json - >both 2>text || fail "--from to standard output"
  for begins in "x peer" "matrix${tab}form$tab" '{"machine"'; do
    grep -q "^$begins" both || fail "standard output lacks $begins"
  done
  [ ! -e - ] || fail "a file named -"
) || exit 1

# What is wrong is said.
for words in "pattern:64x64: pattern needs a number" "5-point:20abc: '20abc' is no size" "5-point:20x30: '20x30' is no size" \
  "erdos:20x3x4: '20x3x4' is no size" "pattern:64x64:f32: pattern needs a number" \
  "pattern:64x64:4611686018427387905: the N of pattern is too large" "pruned:64x64:101: pruned drops at most 100 percent" \
  "banded:64x1152921504606846976: rows of banded have less than 2^31 - 1 entries" \
  "5-point:10:f32:f64: f64 says again what an option before it has said" "tetra:5:morton:rcm: rcm says again" \
  "5-point:10:2:3: 3 says again" "27-point:4:3:arrow:upper: upper says again" "5-point:10:2:drop5:drop6: drop6 says again" \
  "rmat:99999999999: the size of rmat is at most 25" "pruned:64x99999999999999999999:50: too big for 32-bit indices"; do
  expect 1 $bench --device cpu --repeat 1 --encodings csr "${words%%: *}"
  grep -qF "macko-bench: $words" "$dir/text" || fail "not said: $words"
done
printf '%%%%MatrixMarket matrix coordinate real general\n0 0 0\n' >"$dir/none.mtx"
expect 1 $bench --device cpu --repeat 1 --encodings csr "tile:$dir/none.mtx:1"
grep -qF "macko-bench: tile:$dir/none.mtx:1: $dir/none.mtx has no rows that could be copied" "$dir/text" || fail "copies of nothing"
expect 2 $bench --from "$dir/absent.tsv"
grep -q "absent.tsv" "$dir/text" || fail "which file"
expect 2 $bench --from "$dir"
grep -qxF "macko-bench: $dir: Is a directory" "$dir/text" || fail "a folder for a table"
: >"$dir/no.tsv"
expect 2 $bench --from "$dir/no.tsv"
grep -qxF "macko-bench: $dir/no.tsv: the file is empty" "$dir/text" || fail "an empty table"
expect 2 $bench --from "$dir/gpu.tsv" 27-point:4
for option in "--vectors 3" --cpu-time "--mkl ." "--encodings csr" "--solve 2" "--repeat 3" "--device cpu"; do
  expect 2 $bench --from "$dir/gpu.tsv" $option
  grep -q -e "--from measures nothing, so ${option%% *} has no place" "$dir/text" || fail "$option beside --from is not refused"
done
for option in "--vectors 3" --cpu-time "--mkl ." "--encodings csr" "--json $dir/m.json" "--plot $dir/m" "--tsv $dir/m.tsv"; do
  expect 2 $bench --solve 2 $option 27-point:4
  grep -q -e "--solve prints a table .* not with ${option%% *}" "$dir/text" || fail "$option beside --solve is not refused"
done
for option in --cpu-time "--mkl ."; do
  expect 2 $bench --device gpu $option 27-point:4
  grep -q -e "${option%% *} is for products on a CPU" "$dir/text" || fail "$option on a GPU is not refused"
done
expect 2 $bench --repeat 0 27-point:4
expect 2 $bench --device fpga 27-point:4
expect 1 $bench --device cpu --repeat 1 tile:27-point:4:MB
grep -q "tile needs a matrix" "$dir/text" || fail "what tile needs"
expect 1 $bench --device cpu --repeat 1 --encodings "" --plot "$dir/none" 27-point:4
grep -q "no matrix was multiplied both" "$dir/text" || fail "nothing to draw is not said"
expect 2 $bench --matmul 64x64x64 27-point:4
grep -q -e "--matmul stands with" "$dir/text" || fail "what stands beside --matmul is not said"
for option in "--vectors 3" --cpu-time "--mkl ." "--encodings csr" "--solve 2" "--json $dir/m.json" "--plot $dir/m" \
  "--from $dir/gpu.tsv"; do
  expect 2 $bench --matmul 64x64x64 $option
  grep -q -e "--matmul stands with .* only, not with ${option%% *}" "$dir/text" || fail "$option beside --matmul is not refused"
done
expect 2 $bench --matmul 64x64x64 --device cpu
grep -q -e "--device gpu only, not with cpu" "$dir/text" || fail "--matmul on a CPU is not refused"
expect 2 $bench --sparselt . --device cpu 27-point:4
# A table of --matmul is drawn alone: a panel a type, a curve a pattern, the first row of each.
{
  printf 'm\tk\tn\tkept\ttype\tus\tx_dense\tx_native\ttflops\terror\tby\n'
  for shape in '64\t64\t64' '128\t64\t32'; do
    for type in bf16 i8; do
      printf "$shape\tdense\t$type\t10\t1\tnan\t1\tnan\tcuBLASLt\n"
      printf "$shape\t2:4\t$type\t5\t2.25\t1\t1\t0\tsparse\n$shape\t4:6\t$type\t9\t1.125\tnan\t1\t0\tdense\n$shape\t4:6\t$type\t20\t0.5\t1\t1\t0\tsparse\n"
    done
  done
} >"$dir/products.tsv"
expect 0 $bench --from "$dir/products.tsv" --plot "$dir/p"
[ "$(grep -c '^0 2.25$' "$dir/p-matmul.gnuplot")" = 2 ] && [ "$(grep -c '^1 1.125$' "$dir/p-matmul.gnuplot")" = 2 ] &&
  ! grep -q '0.5$' "$dir/p-matmul.gnuplot" || fail "points of --matmul's picture"
! command -v gnuplot >/dev/null || [ -s "$dir/p-matmul.svg" ] || fail "no picture of --matmul"
expect 2 $bench --from "$dir/products.tsv"
grep -q "a table of --matmul, stands with --plot" "$dir/text" || fail "what a table of --matmul is for"
expect 2 $bench --from "$dir/products.tsv" --plot "$dir/p" --json "$dir/p.json"
echo "64 64 2:4" >>"$dir/products.tsv"
expect 2 $bench --from "$dir/products.tsv" --plot "$dir/p"
grep -q "products.tsv, line 18: no row that --matmul writes" "$dir/text" || fail "a line that is no row"
expect 2 $bench --sparselt . --device cpu 27-point:4
expect 0 $bench --help
for word in tile: tetra: arrow pruned-shapes --plot --from --solve --matmul --sparselt --vectors; do grep -q -e "$word" "$dir/text" || fail "--help lacks $word"; done
exit 0
