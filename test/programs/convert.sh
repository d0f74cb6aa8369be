#!/bin/bash
# macko-convert: every kind of file into every other and back gives the same matrix; what cannot be done is a sentence, and an old
# file stays.
convert=$PWD/solvers/macko-convert
info=$PWD/solvers/macko-info
source=$(cd "${srcdir:-.}" && pwd)
for library in ZLIB JANSSON; do
  grep -q "^#define HAVE_$library" config.h || { echo "SKIP: a build without $library has no .macko files"; exit 77; }
done
dir=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir" || exit 1
fail() { echo "FAIL: $*"; exit 1; }
run() { "$convert" "$@" >text 2>&1 || fail "macko-convert $*: $(cat text)"; }
refused() { # STATUS WORDS ARGUMENT...
  local status=$1 words=$2 got
  shift 2
  "$convert" "$@" >text 2>&1
  got=$?
  [ $got = "$status" ] || fail "macko-convert $*: exit status $got: $(cat text)"
  grep -qF -- "$words" text || fail "macko-convert $*: '$(cat text)', not '$words'"
  [ "$(wc -l <text)" = 1 ] || fail "macko-convert $*: more than a sentence: $(cat text)"
}
golden=$source/test/golden/container
run "$golden/matrix.mtx" a.mtx
grep -v % "$golden/matrix.mtx" | sort >want
grep -v % a.mtx | sort | cmp - want || fail "Matrix Market to Matrix Market"
[ "$("$convert" --help | wc -l)" -ge 15 ] || fail "no help"

run a.mtx a.macko --format macko --layout slice
grep -q 'layout slice' text || fail "it does not say what it stored: $(cat text)"
# A value that is too large is named by its place in the file, and with the option that allows it.
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 0.1\n2 3 1e6\n' >large.mtx
refused 1 "row 2, column 3, counted from 1: 1000000 is beyond the range of f16 and becomes infinite only with option overflow set to \
allow" \
  large.mtx large.macko --values f16
run large.mtx large.macko --values f16 --overflow allow
# The same of a block that has too much for variant strict.
awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general\n3 50 32"; for (j = 17; j < 49; j++) print 2, j, j }' >full.mtx
refused 1 "row 2, column 17, counted from 1: 16 entries in the block" full.mtx full.macko --format slide --variant strict
# Rounding is named where it changes a value.
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 0.1\n2 2 0.3\n' >tenth.mtx
run tenth.mtx tenth.macko --values bf16
grep -q '; LOSSY values;' text || fail "a loss is not named: $(cat text)"
# Encoded anew it is none the better: files, and files made of them, say so.
info=${convert%convert}info
run tenth.macko again.macko --format csr
grep -q '; LOSSY values;' text || fail "a loss is forgotten: $(cat text)"
run again.macko once-more.macko --values dict
grep -q '; LOSSY values;' text || fail "a loss is forgotten in the second file: $(cat text)"
run again.macko copy.macko
grep -q '; LOSSY values;' text || fail "a loss is forgotten in a copy: $(cat text)"
for file in tenth again once-more copy; do
  for how in "" --dry-run; do
    "$info" $file.macko $how | grep -q ', LOSSY values' || fail "macko-info $how forgets the loss of $file.macko"
    "$info" $file.macko $how --json | grep -q '"lossy": true' || fail "macko-info $how --json forgets the loss of $file.macko"
  done
done
run tenth.mtx tenth.macko
grep -q LOSSY text && fail "a loss is named where there is none: $(cat text)"
if grep -q '^#define HAVE_LIBARCHIVE' "$OLDPWD/config.h"; then kinds="a.npz"; else kinds=; echo "no .npz: no libarchive"; fi
grep -q '^#define HAVE_HDF5' "$OLDPWD/config.h" && hdf5=1 || { hdf5=; echo "no .bsp.h5: no HDF5"; }
for from in a.mtx a.macko a.petsc $kinds ${hdf5:+a.bsp.h5}; do
  [ -e $from ] || run a.mtx $from
  for to in b.mtx b.macko b.petsc b.mtx.gz ${kinds:+b.npz} ${hdf5:+b.bsp.h5}; do
    rm -f $to c.mtx
    run $from $to
    run $to c.mtx
    cmp c.mtx a.mtx || fail "$from to $to"
  done
done

# Encodings by name are what is stored, and stay from .macko to .macko.
run a.mtx d.macko --format=dtans --variant joint
run d.macko e.macko
cmp d.macko e.macko || fail ".macko to .macko changed"
run d.macko e.macko --format csr
grep -q 'format csr' text || fail "not encoded again"
run - e.macko <d.macko
cmp d.macko e.macko || fail "through standard input"
mkfifo pipe
cat a.petsc >pipe & run pipe c.mtx
cmp c.mtx a.mtx || fail "through a pipe"
TMPDIR=$PWD/none refused 1 "standard input: cannot be copied to $PWD/none: No such file or directory" - old.macko <d.macko
mkdir copies
TMPDIR=$PWD/copies run - e.macko <d.macko
cmp d.macko e.macko || fail "through TMPDIR"
rmdir copies || fail "the copy stayed in TMPDIR"
run "$golden/eccsr.macko" c.mtx
cmp c.mtx a.mtx || fail "the golden file"
run a.mtx a.odd --to mtx
cmp a.odd a.mtx || fail "--to"

# Other readers and writers of these files.
for python in python3 /usr/bin/python3 ''; do $python -c 'import numpy' 2>/dev/null && break; done
if [ -n "$python" ] && [ -n "$kinds" ]; then
  $python - <<'PY' || fail "NumPy reads or writes something else"
import numpy
a = numpy.load("a.npz")
lines = [line.split() for line in open("a.mtx") if not line.startswith("%")]
rows, cols, nnz = map(int, lines[0])
assert list(a["shape"]) == [rows, cols] and a["format"].item() == b"csr" and len(a["data"]) == nnz
i = numpy.repeat(numpy.arange(rows), numpy.diff(a["indptr"]))
assert [[str(x + 1), str(y + 1), float(v)] for x, y, v in zip(i, a["indices"], a["data"])] == [[x, y, float(v)] for x, y, v in lines[1:]]
for name, data in ("f4", a["data"].astype("f4")), ("f2", numpy.ones(nnz, "f2")), ("i1", numpy.full(nnz, -3, "i1")), ("b1", numpy.ones(nnz, bool)):
    numpy.savez_compressed(name, indices=a["indices"], indptr=a["indptr"], format=numpy.array(b"csr"), shape=numpy.array(a["shape"]), data=data)
numpy.savez("text", indices=a["indices"], indptr=a["indptr"], format=numpy.array("csr"), shape=a["shape"], data=a["data"])
numpy.savez("inexact", indices=a["indices"], indptr=a["indptr"], format=numpy.array(b"csr"), shape=a["shape"], data=numpy.full(nnz, 2**53 + 1))
numpy.savez("exact", indices=a["indices"], indptr=a["indptr"], format=numpy.array(b"csr"), shape=a["shape"], data=numpy.resize([2**54, -2**63], nnz))
numpy.savez("csc", indices=a["indices"], indptr=a["indptr"], format=numpy.array(b"csc"), shape=a["shape"], data=a["data"])
numpy.savez("coo", row=i, col=a["indices"], format=numpy.array(b"coo"), shape=a["shape"], data=a["data"])
numpy.savez("dia", offsets=[0, 1], format=numpy.array("dia"), shape=a["shape"], data=numpy.ones((2, 3)))
numpy.savez("complex", indices=a["indices"], indptr=a["indptr"], format=numpy.array(b"csr"), shape=a["shape"], data=a["data"] + 1j)
numpy.savez("beyond", indices=a["indices"] + 1000, indptr=a["indptr"], format=numpy.array(b"csr"), shape=a["shape"], data=a["data"])
numpy.savez("short", indices=a["indices"][1:], indptr=a["indptr"], format=numpy.array(b"csr"), shape=a["shape"], data=a["data"])
numpy.savez("other", x=a["data"])
PY
  run text.npz c.mtx
  cmp c.mtx a.mtx || fail "format as text"
  for type in f4 f2; do
    run $type.npz c.macko --format csr
    run c.macko back.npz
    $python -c "import numpy; a, b = numpy.load('$type.npz'), numpy.load('back.npz'); assert all((a[k] == b[k]).all() for k in a.files) and b['data'].dtype == '$type'" ||
      fail "type $type"
  done
  run i1.npz c.mtx
  [ "$(grep -c ' -3$' c.mtx)" = 209 ] || fail "integers"
  run b1.npz c.mtx
  [ "$(grep -c ' 1$' c.mtx)" = 209 ] || fail "booleans"
  refused 1 "a matrix of SciPy's format 'csc', not csr; save A.tocsr()" csc.npz c.mtx
  refused 1 "a matrix of SciPy's format 'coo', not csr; save A.tocsr()" coo.npz c.mtx
  refused 1 "a matrix of SciPy's format 'dia', not csr; save A.tocsr()" dia.npz c.mtx
  refused 1 "NumPy's type <c16" complex.npz c.mtx
  refused 1 "element 0 of data is an integer that is no exact double" inexact.npz c.mtx
  "$convert" exact.npz c.mtx >text || fail "2^54 and -2^63: $(cat text)"
  grep -q ' 18014398509481984$' c.mtx && grep -q ' -9.223372036854776e+18$' c.mtx || fail "2^54, -2^63: $(sed -n 3,4p c.mtx)"
  refused 1 "column 10" beyond.npz c.mtx
  refused 1 "indices has 208 elements, not 209" short.npz c.mtx
  refused 1 "no array format.npy" other.npz c.mtx
  cp text.npz flipped.npz
  printf '\377\377' | dd of=flipped.npz bs=1 seek=18 conv=notrunc 2>/dev/null
  refused 1 "flipped.npz: " flipped.npz c.mtx
else
  echo "no NumPy: .npz is compared with itself only"
fi
if [ -x "$OLDPWD/solvers/macko-solve" ]; then
  run "$source/examples/tridiagonal.mtx" t.petsc
  run "$source/examples/tridiagonal.mtx" t.macko
  for file in t.petsc t.macko; do
    "$OLDPWD/solvers/macko-solve" $file -json - >text 2>&1 || fail "macko-solve $file: $(cat text)"
  done
fi

# What cannot be done.
echo old >old.macko
refused 2 "OUT should end in" a.mtx a.xyz
refused 2 "two files are needed" a.mtx
refused 2 "--layout is for .macko files" a.mtx c.mtx --layout row
refused 2 'layout "rwo" is unknown; the nearest is "row"' a.mtx old.macko --layout rwo
refused 2 "format csr has no layout row" a.mtx old.macko --format csr --layout row
refused 2 "target gpu and prefer measured cannot go together" a.mtx old.macko --target gpu --prefer measured
for option in "--frmat" "--frmat csr" "--frmat=csr"; do
  refused 2 "the option ${option%%[ =]*} is unknown; the nearest is --format; --help tells more" a.mtx old.macko $option
done
refused 2 "the option -format is unknown; the nearest is --format" a.mtx old.macko -format csr
refused 2 "the option -q is unknown" --format=csr -qx a.mtx old.macko
refused 2 "the option --va may be --values or --variant" a.mtx old.macko --va raw
refused 2 "--format needs a value" a.mtx old.macko --format
refused 2 "--help takes no value, and was given 3" --help=3
refused 2 "the option --versoin is unknown; the nearest is --version" --versoin
# An option may be cut short, and what begins with a dash is a file behind two of them.
run --form csr a.mtx --to=macko -- -c.macko
grep -q "^-c.macko: .*format csr" text || fail "an option cut short: $(cat text)"
for kind in mtx macko; do refused 2 "$kind is not written to standard output" a.mtx - --to $kind; done
[ ! -e - ] || fail "a file named - is there"
refused 1 "none.mtx: cannot be opened" none.mtx old.macko
# Behind what gzip has packed only more of it and zeros may stand.
{ gzip -c a.mtx; head -c 100000 /dev/zero; } >padded.mtx.gz
run padded.mtx.gz padded.mtx
cmp padded.mtx a.mtx || fail "zeros behind gzip data"
{ gzip -c a.mtx; head -c 100000 /dev/zero; echo more; } >garbage.mtx.gz
refused 1 "what follows its last member is neither another one nor zeros" garbage.mtx.gz old.macko
refused 1 "a PETSc binary vector, no matrix" <(printf '\0\x12\x7b\x4e\0\0\0\1') old.macko
printf '\0\x12\x7b\x50\0\0\0\3\0\0\0\3\0\1\0\0' >short.petsc
refused 1 "short.petsc: cut short" short.petsc old.macko
# A matrix of one entry, and what stands behind it: nothing, whole objects, other bytes, or the second half of a complex value.
one='\0\x12\x7b\x50\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\0\x3f\xf0\0\0\0\0\0\0'
for more in '' "$one" "$one$one" '\0\x12\x7b\x4e\0\0\0\0' '\0\x12\x7b\x52\0\0\0\1\0\0\0\0' '\0\x12\x7b\x53more'; do
  printf "$one$more" >one.petsc
  run one.petsc one.mtx
  grep -q '^1 1 1$' one.mtx || fail "a PETSc binary matrix with '$more' behind it: $(cat one.mtx)"
  "$info" --dry-run one.petsc >text 2>&1 || fail "macko-info --dry-run with '$more' behind it: $(cat text)"
done
for more in abcde "${one}a" '\0\x12\x7b\x4e\0\0\0\1' '\0\x12\x7b\x4e\xff\xff\xff\xff' '\0\x12\x7b\x10more!'; do
  printf "$one$more" >one.petsc
  refused 1 "on are no whole object of PETSc's" one.petsc old.macko
  "$info" --dry-run one.petsc >text 2>&1 && fail "macko-info --dry-run with '$more' behind it: $(cat text)"
done
for more in '' "$one"; do
  printf "$one\0\0\0\0\0\0\0\0$more" >complex.petsc
  refused 1 "complex.petsc: it looks complex: there are 16 bytes for each of 1 values" complex.petsc old.macko
  refused 1 "it looks complex" <(cat complex.petsc) old.macko
  for dry in "" --dry-run; do
    "$info" $dry complex.petsc >text 2>&1 && fail "macko-info $dry of a complex file: $(cat text)"
    grep -q "it looks complex" text || fail "macko-info $dry of a complex file: $(cat text)"
  done
done
head -c 5000 a.macko >cut.macko
refused 1 "cut.macko: has 5000 bytes, where its header says" cut.macko old.macko
(ulimit -f 1; trap '' XFSZ; for out in old.macko old.mtx old.petsc; do
  echo old >$out
  refused 1 "$out: cannot be written: File too large" a.mtx $out
done) || exit 1
for out in old.macko old.mtx old.petsc; do [ "$(cat $out)" = old ] || fail "$out is not the old one"; done
ls | grep -q part && fail "something is left over: $(ls)"

# A signal while a file is written leaves nothing and keeps what was there. The program may be done before the signal comes, or have
# put the whole file in its place and not ended yet: then again.
awk 'BEGIN { n = 600000; printf "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", n, n, n
  for (i = 1; i <= n; i++) print i, i, i / 7 }' >diagonal.mtx
run diagonal.mtx diagonal.petsc
for kind in mtx macko petsc; do run diagonal.petsc whole.$kind; done
interrupt() { # SIGNAL OUT: whether the signal, which comes while a new file is there, ended the program
  # A shell that is no terminal's has its background programs ignore SIGINT.
  env --default-signal=HUP,INT,TERM "$convert" diagonal.petsc "$2" >text 2>&1 &
  local program=$! got=0
  while kill -0 $program 2>/dev/null && ! compgen -G "*.part" >/dev/null; do :; done
  kill -s "$1" $program 2>/dev/null
  wait $program || got=$?
  [ $got -gt 128 ]
}
ln -s old.mtx link.mtx
for signal in INT TERM HUP; do
  for out in old.mtx old.macko old.petsc link.mtx new.mtx; do
    for try in $(seq 20); do
      rm -f new.mtx
      [ $out = new.mtx ] || echo old >$out
      interrupt $signal $out && ! cmp -s $out whole.${out##*.} && break
      [ $try = 20 ] && fail "SIG$signal never came while $out was written"
    done
    ls | grep -q part && fail "SIG$signal while $out was written left $(ls)"
    [ $out = new.mtx ] || [ "$(cat $out)" = old ] || fail "SIG$signal changed $out"
  done
done
[ ! -e new.mtx ] && [ -L link.mtx ] || fail "a file that was not written whole is there, or a link is none"
run diagonal.petsc old.mtx
ls | grep -q part && fail "something is left over: $(ls)"
exit 0
