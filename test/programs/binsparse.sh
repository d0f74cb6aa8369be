#!/bin/bash
# macko-convert and macko-info on Binsparse files in HDF5: what h5py wrote is read, what is written h5py reads, and what is damaged or of
# another kind is a sentence.
convert=$PWD/solvers/macko-convert
info=$PWD/solvers/macko-info
config=$PWD/config.h
source=$(cd "${srcdir:-.}" && pwd)
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
fail() { echo "FAIL: $*"; exit 1; }
# HDF5 1.10 loses memory of its own where it refuses a damaged file.
echo "leak:libhdf5" >"$dir/leaks"
export LSAN_OPTIONS=suppressions=$dir/leaks:print_suppressions=0
run() { "$convert" "$@" >text 2>&1 || fail "macko-convert $*: $(cat text)"; }
refused() { # WORDS ARGUMENT...
  local words=$1 got
  shift
  "$convert" "$@" >text 2>&1
  got=$?
  [ $got = 1 ] || fail "macko-convert $*: exit status $got: $(cat text)"
  grep -qF -- "$words" text || fail "macko-convert $*: '$(cat text)', not '$words'"
  [ "$(wc -l <text)" = 1 ] || fail "macko-convert $*: more than a sentence: $(cat text)"
}
run "$source/test/golden/container/matrix.mtx" a.mtx
if ! grep -q '^#define HAVE_HDF5' "$config"; then
  printf '\211HDF\r\n\032\n' >empty.bsp.h5
  refused 'empty.bsp.h5: is an HDF5 file, and this macko was not built with HDF5' empty.bsp.h5 b.mtx
  refused 'not built with HDF5' a.mtx a.bsp.h5
  [ ! -e a.bsp.h5 ] || fail "something was written without HDF5"
  echo "SKIP: a build without HDF5 reads and writes no Binsparse files"
  exit 77
fi

# There and back, through files, pipes and standard input, and the same bytes each time.
run a.mtx a.bsp.h5
run a.mtx again.bsp.h5
cmp a.bsp.h5 again.bsp.h5 || fail "another file for the same matrix"
run a.bsp.h5 b.mtx
cmp a.mtx b.mtx || fail "there and back"
"$convert" a.mtx - --to bsp >c.h5 || fail "to standard output"
cmp c.h5 a.bsp.h5 || fail "standard output is another file"
run - b.mtx <c.h5
cmp a.mtx b.mtx || fail "from standard input"
run "$source/examples/tridiagonal.mtx" t.bsp.h5
run t.bsp.h5 t.macko
[ "$("$info" --dry-run a.bsp.h5 | head -1)" = "a.bsp.h5: Binsparse HDF5, CSR general" ] || fail "macko-info --dry-run: $("$info" --dry-run a.bsp.h5)"
"$info" a.bsp.h5 | grep -q '45 x 50, 209 nonzeros' || fail "macko-info: $("$info" a.bsp.h5)"
for size in 0 7 8 100 2048 4096 5000; do
  head -c $size a.bsp.h5 >cut.bsp.h5
  refused "cut.bsp.h5" cut.bsp.h5 b.mtx
done
echo old >old.bsp.h5
(ulimit -f 1; trap '' XFSZ; refused 'old.bsp.h5: cannot be written: File too large' a.mtx old.bsp.h5) || exit 1
[ "$(cat old.bsp.h5)" = old ] || fail "a failure took the old file"

for python in python3 /usr/bin/python3 ''; do $python -c 'import h5py, numpy' 2>/dev/null && break; done
[ -n "$python" ] || { echo "SKIP: no h5py: Binsparse files are compared with ours only"; exit 77; }
$python - <<'PY' || fail "h5py reads or writes something else"
import json
import h5py
import numpy

lines = [line.split() for line in open("a.mtx") if not line.startswith("%")]
rows, cols, nnz = map(int, lines[0])
i = numpy.array([int(l[0]) - 1 for l in lines[1:]])
j = numpy.array([int(l[1]) - 1 for l in lines[1:]])
v = numpy.array([float(l[2]) for l in lines[1:]])
with h5py.File("a.bsp.h5") as f:
    head = json.loads(f.attrs["binsparse"])["binsparse"]
    assert head["format"] == "CSR" and head["shape"] == [rows, cols] and head["number_of_stored_values"] == nnz
    assert all(f[name].dtype == head["data_types"][name] for name in ("values", "indices_1", "pointers_to_1"))
    assert (numpy.repeat(numpy.arange(rows), numpy.diff(f["pointers_to_1"])) == i).all()
    assert (f["indices_1"][:] == j).all() and (f["values"][:] == v).all()

def write(name, arrays, fixed=False, text=None, **head):
    with h5py.File(name + ".bsp.h5", "w") as f:
        for key, data in arrays.items():
            f.create_dataset(key, data=data)
        head = {"version": "0.1", "shape": [rows, cols], "number_of_stored_values": nnz,
                "data_types": {key: str(numpy.asarray(data).dtype) for key, data in arrays.items()}, **head}
        head = {key: value for key, value in head.items() if value is not None}
        text = text or json.dumps({"binsparse": head, "author": "somebody"})
        f.attrs["binsparse"] = numpy.bytes_(text) if fixed else text

def pointers(index, lines):
    return numpy.concatenate([[0], numpy.cumsum(numpy.bincount(index, minlength=lines))])

csr = {"pointers_to_1": pointers(i, rows), "indices_1": j, "values": v}
write("csr", csr, format="CSR")
write("fixed", csr, fixed=True, format="CSR", number_of_stored_values=None, version=None)
write("small", {"pointers_to_1": csr["pointers_to_1"].astype("u1"), "indices_1": j.astype(">i2"), "values": v.astype(">f8")}, format="CSR")
order = numpy.lexsort((i, j))
write("csc", {"pointers_to_1": pointers(j, cols), "indices_1": i[order], "values": v[order]}, format="CSC")
write("cooc", {"indices_0": j[order], "indices_1": i[order], "values": v[order]}, format="COOC")
write("coor", {"indices_0": i, "indices_1": j, "values": v}, format="COOR")
mixed = numpy.random.default_rng(1).permutation(nnz)
write("coo", {"indices_0": i[mixed], "indices_1": j[mixed], "values": v[mixed]}, format="COO")
with h5py.File("chunks.bsp.h5", "w") as f:
    for key, data in csr.items():
        f.create_dataset(key, data=data, chunks=(16,), compression="gzip", shuffle=True)
    f.attrs["binsparse"] = json.dumps({"binsparse": {"version": "0.1", "format": "CSR", "shape": [rows, cols], "data_types": {"values": "float64"}}})

# Values of other types.
types = {"values": "iso[float64]"}
write("iso", {**csr, "values": [2.5]}, format="CSR", data_types=types)
write("bint8", {**csr, "values": numpy.full(nnz, 3, "u1")}, format="CSR", data_types={"values": "bint8"})
write("int16", {**csr, "values": numpy.full(nnz, -3, "i2")}, format="CSR")
write("float32", {**csr, "values": v.astype("f4")}, format="CSR")
write("float16", {**csr, "values": numpy.full(nnz, 1.5, "f2")}, format="CSR")
write("empty", {"pointers_to_1": [0] * 4, "indices_1": numpy.zeros(0, int), "values": numpy.zeros(0)}, format="CSR", shape=[3, 5],
      number_of_stored_values=0)

# One triangle: rows 0 to 2 and their entries are 5, 6 5, . 7 5.
triangle = {"indices_0": [0, 1, 1, 2, 2], "indices_1": [0, 0, 1, 1, 2], "values": [5., 6., 5., 7., 5.]}
square = {"format": "COO", "shape": [3, 3], "number_of_stored_values": 5}
write("lower", triangle, structure="symmetric_lower", **square)
write("upper", {**triangle, "indices_0": triangle["indices_1"], "indices_1": triangle["indices_0"]}, structure="symmetric_upper", **square)
beside = {**triangle, "values": [0., 6., 0., 7., 0.]}  # a skew-symmetric matrix has nothing on its diagonal
write("skew", beside, structure="skew_symmetric_lower", **square)

# What is refused.
write("skew_diagonal", {**beside, "values": [0., 6., -2.5, 7., 0.]}, structure="skew_symmetric_lower", **square)
write("skew_diagonal32", {**beside, "values": numpy.array([0, 6, 0, 7, 3], "f4")}, structure="skew_symmetric_lower", **square)
write("wrong_triangle", triangle, structure="symmetric_upper", **square)
write("hermitian", triangle, structure="hermitian_lower", **square)
write("oblong", csr, format="CSR", structure="symmetric_lower")
write("dcsr", csr, format="DCSR")
write("levels", csr, format={"level": "dense", "rank": 1})
write("no_format", csr)
write("version", csr, format="CSR", version="2.0")
write("version10", csr, format="CSR", version="10")
write("version1", csr, format="CSR", version="1")
write("version_number", csr, format="CSR", version=0.1)
write("version_long", csr, format="CSR", version="1" * 200)
write("no_fill", csr, format="CSR", fill=False)
write("fill", csr, format="CSR", fill=True)
write("fill5", csr, format="CSR", fill=5.0)
write("fill_text", csr, format="CSR", fill="yes")
write("stored_below", csr, format="CSR", number_of_stored_values=-7)
write("stored_text", csr, format="CSR", number_of_stored_values="209")
write("real_shape", csr, format="CSR", shape=[float(rows), float(cols)])
for kind in "int8", "uint64", "bint8", "iso[int32]":
    write("declared_" + kind, {**csr, "values": v[:1] if "iso" in kind else v}, format="CSR", data_types={"values": kind})
write("vector", csr, format="CSR", shape=[rows])
write("negative", csr, format="CSR", shape=[rows, -1])
write("no_types", csr, format="CSR", data_types=None)
write("no_json", csr, text="CSR, 45 x 50")
write("other_json", csr, text="[1]")
write("count", csr, format="CSR", number_of_stored_values=nnz + 1)
write("complex", {**csr, "values": numpy.ones(2 * nnz)}, format="CSR", data_types={"values": "complex[float64]"})
write("short", {**csr, "values": v[1:]}, format="CSR")
write("short_rows", {**csr, "pointers_to_1": csr["pointers_to_1"][1:]}, format="CSR")
write("beyond", {**csr, "indices_1": j + 40}, format="CSR")
write("huge", {**csr, "indices_1": j.astype("u8") + 2**63}, format="CSR")
write("below", {**csr, "indices_1": j - 40}, format="CSR")
falling = csr["pointers_to_1"].copy()
falling[3], falling[4] = 9, 2
write("falling", {**csr, "pointers_to_1": falling}, format="CSR")
write("real_indices", {**csr, "indices_1": j + .5}, format="CSR")
write("matrix_values", {**csr, "values": v.reshape(11, 19)}, format="CSR")
write("inexact", {**csr, "values": numpy.full(nnz, 2**53 + 1)}, format="CSR")
write("text_values", {**csr, "values": numpy.full(nnz, b"x")}, format="CSR", data_types={"values": "float64"})
without = {key: data for key, data in csr.items() if key != "indices_1"}
write("no_indices", without, format="CSR")
with h5py.File("nothing.bsp.h5", "w") as f:
    f["x"] = v
with h5py.File("number.bsp.h5", "w") as f:
    f.attrs["binsparse"] = 3
PY
for name in csr fixed small csc cooc coor coo chunks version1 no_fill; do
  run $name.bsp.h5 b.mtx
  cmp a.mtx b.mtx || fail "$name is another matrix"
done
count() { # FILE VALUE NUMBER
  run "$1.bsp.h5" b.mtx
  [ "$(grep -c " $2\$" b.mtx)" = "$3" ] || fail "$1: $(head -5 b.mtx)"
}
count iso 2.5 209
count bint8 1 209
count int16 -3 209
count float16 1.5 209
run float32.bsp.h5 f.macko --format csr
run f.macko f.bsp.h5
$python -c 'import h5py; a, b = h5py.File("float32.bsp.h5"), h5py.File("f.bsp.h5"); assert b["values"].dtype == "f4" and (a["values"][:] == b["values"][:]).all()' ||
  fail "float32"
run empty.bsp.h5 b.mtx
grep -q '^3 5 0$' b.mtx || fail "empty: $(cat b.mtx)"
for name in lower upper skew; do
  sign= on=5; [ $name != skew ] || sign=- on=0
  run $name.bsp.h5 b.mtx
  [ "$(grep -v % b.mtx | tail -n +2 | sort | tr '\n' ',')" = "1 1 $on,1 2 ${sign}6,2 1 6,2 2 $on,2 3 ${sign}7,3 2 7,3 3 $on," ] || fail "$name: $(cat b.mtx)"
done
"$info" --dry-run lower.bsp.h5 | grep -q 'entries stored, of one triangle' || fail "one triangle"

refused 'entry 1, in row 1 and column 0, is not in the triangle' wrong_triangle.bsp.h5 b.mtx
refused 'entry 2, -2.5 in row 1, is on the diagonal of a skew-symmetric matrix' skew_diagonal.bsp.h5 b.mtx
refused 'entry 4, 3 in row 2, is on the diagonal of a skew-symmetric matrix' skew_diagonal32.bsp.h5 b.mtx
refused 'structure "hermitian_lower" is none of' hermitian.bsp.h5 b.mtx
refused 'structure symmetric_lower of a matrix of 45 x 50' oblong.bsp.h5 b.mtx
refused 'format DCSR is not read' dcsr.bsp.h5 b.mtx
refused 'level by level' levels.bsp.h5 b.mtx
refused 'names no "format"' no_format.bsp.h5 b.mtx
refused 'version 2.0 of Binsparse is not read; 0 and 1 are' version.bsp.h5 b.mtx
refused 'version 10 of Binsparse is not read' version10.bsp.h5 b.mtx
refused 'version 1111111111' version_long.bsp.h5 b.mtx
refused '"version" is 0.1, which is no text' version_number.bsp.h5 b.mtx
refused '"fill" is 5.0, neither true nor false' fill5.bsp.h5 b.mtx
refused '"fill" is "yes", neither true nor false' fill_text.bsp.h5 b.mtx
refused '"number_of_stored_values" is -7, which is no number of entries' stored_below.bsp.h5 b.mtx
refused '"number_of_stored_values" is "209", which is no number of entries' stored_text.bsp.h5 b.mtx
refused '"shape" is [45.0, 50.0], which is no size' real_shape.bsp.h5 b.mtx
for kind in int8 uint64 bint8 "iso[int32]"; do
  number=${kind#iso[} number=${number%]}
  refused "type of \"values\" is $number, and floating-point" "declared_$kind.bsp.h5" b.mtx
done
refused '"fill"' fill.bsp.h5 b.mtx
refused '"shape" has 1 numbers' vector.bsp.h5 b.mtx
refused '"shape" is [45, -1], which is no size' negative.bsp.h5 b.mtx
refused 'names no type of "values"' no_types.bsp.h5 b.mtx
refused 'is no JSON: line 1' no_json.bsp.h5 b.mtx
refused 'has no object "binsparse"' other_json.bsp.h5 b.mtx
refused 'says 210 stored values, "indices_1" has 209' count.bsp.h5 b.mtx
refused 'of type complex[float64] are not read' complex.bsp.h5 b.mtx
refused '"values" has 208 elements, not 209' short.bsp.h5 b.mtx
refused '"pointers_to_1" has 45 elements, not 46' short_rows.bsp.h5 b.mtx
refused 'outside 0..49' beyond.bsp.h5 b.mtx
refused 'outside 0..49' huge.bsp.h5 b.mtx
refused 'is -' below.bsp.h5 b.mtx
refused '"pointers_to_1" is 9, less than the one before' falling.bsp.h5 b.mtx
refused 'has no integers' real_indices.bsp.h5 b.mtx
refused '"values" has not one dimension' matrix_values.bsp.h5 b.mtx
refused 'no exact double' inexact.bsp.h5 b.mtx
refused 'of type float64 are not read' text_values.bsp.h5 b.mtx
refused 'the array "indices_1" cannot be read' no_indices.bsp.h5 b.mtx
refused 'without the attribute "binsparse"' nothing.bsp.h5 b.mtx
refused 'is no text' number.bsp.h5 b.mtx

# Bytes of the file's own structures turned over: a matrix or a sentence.
size=$(wc -c <a.bsp.h5)
for ((at = 8; at < size; at += 29)); do
  cp a.bsp.h5 flipped.bsp.h5
  byte=$(od -An -tu1 -j $at -N 1 a.bsp.h5)
  printf "\\$(printf %03o $((byte ^ 255)))" | dd of=flipped.bsp.h5 bs=1 seek=$at conv=notrunc 2>/dev/null
  "$convert" flipped.bsp.h5 b.mtx >text 2>&1
  [ $? -le 1 ] && [ "$(wc -l <text)" -le 1 ] || fail "byte $at turned over: $(cat text)"
done
exit 0
