#!/bin/bash
# macko-info: its numbers are those that a few lines of Python count, its predictions what is encoded; headers, pictures, sentences.
info=$PWD/solvers/macko-info convert=$PWD/solvers/macko-convert
source=$(cd "${srcdir:-.}" && pwd)
for library in ZLIB JANSSON; do
  grep -q "^#define HAVE_$library" config.h || { echo "SKIP: a build without $library has no .macko files"; exit 77; }
done
command -v python3 >/dev/null || { echo "SKIP: no python3 to count"; exit 77; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
fail() { echo "FAIL: $*"; exit 1; }
run() { "$info" "$@" >text 2>bad || fail "macko-info $*: $(cat bad)"; }
refused() { # STATUS WORDS ARGUMENT...
  local status=$1 words=$2 got
  shift 2
  "$info" "$@" >text 2>&1
  got=$?
  [ $got = "$status" ] || fail "macko-info $*: exit status $got: $(cat text)"
  grep -qF -- "$words" text || fail "macko-info $*: '$(cat text)', not '$words'"
}
golden=$source/test/golden/container
cat >square.mtx <<'MTX'
%%MatrixMarket matrix coordinate real general
% values of one pair differ, one entry has no mirror image
5 5 8
1 1 2
2 1 -1
1 2 -1
3 3 0
4 2 5
2 4 6
5 1 7
5 5 1
MTX
cat >triangle.mtx <<'MTX'
%%MatrixMarket matrix coordinate real symmetric
3 3 4
1 1 2
2 1 -1
2 2 2
3 2 -1
MTX
cat >count.py <<'PY'
import json, sys
path, said = sys.argv[1], json.load(open(sys.argv[2]))
lines = [l.split() for l in open(path) if not l.startswith("%")]
symmetric = "symmetric" in open(path).readline()
n, m, _ = map(int, lines[0])
a = {}
for i, j, v in lines[1:]:
    a[int(i) - 1, int(j) - 1] = float(v)
    if symmetric: a[int(j) - 1, int(i) - 1] = float(v)
def middle(v): return (v[(len(v) - 1) // 2] + v[len(v) // 2]) / 2
def summary(v):
    v = sorted(v); n = len(v); m = n // 4; mean = sum(v) / n
    moment = lambda k: sum((x - mean) ** k for x in v) / n
    if n % 2 == 0: q1, q3 = middle(v[:n // 2]), middle(v[n // 2:])
    elif n % 4 == 1: q1, q3 = v[m - 1] / 4 + 3 * v[m] / 4, 3 * v[3 * m] / 4 + v[3 * m + 1] / 4
    else: q1, q3 = 3 * v[m] / 4 + v[m + 1] / 4, v[3 * m + 1] / 4 + 3 * v[3 * m + 2] / 4
    s = moment(2) ** .5
    names = ["skewness", "kurtosis", "hyperskewness", "hyperflatness"]
    return dict(min=v[0], q1=q1, median=middle(v), q3=q3, max=v[-1], mean=mean, variance=moment(2),
                **{k: moment(i + 3) / s ** (i + 3) if s else 0 for i, k in enumerate(names)})
def same(mine, theirs, what):
    assert mine.keys() == theirs.keys(), what
    for k in mine: assert abs(mine[k] - theirs[k]) <= 1e-9 * max(1, abs(mine[k])), (what, k, mine[k], theirs[k])
p = said["problem"]
assert (p["rows"], p["columns"], p["nonzeros"]) == (n, m, len(a))
same(summary([sum(k[0] == i for k in a) for i in range(n)]), p["row_distribution"], "rows")
same(summary([sum(k[1] == j for k in a) for j in range(m)]), p["col_distribution"], "columns")
assert said["lower_bandwidth"] == max(i - j for i, j in a) and said["upper_bandwidth"] == max(j - i for i, j in a)
assert said["diagonal_entries"] == sum(i == j for i, j in a) and said["stored_zeros"] == sum(v == 0 for v in a.values())
from math import log2
rows = {}
for i, j in sorted(a): rows.setdefault(i, []).append(j)
gaps = [y - x for r in rows.values() for x, y in zip(r, r[1:])]
entropy = -sum(gaps.count(g) / len(gaps) * log2(gaps.count(g) / len(gaps)) for g in set(gaps))
assert abs(said["gap_entropy"] - entropy) < 1e-12, (said["gap_entropy"], entropy)
assert [b["size"] for b in said["blocks"]] == list(range(2, 9))
for b in said["blocks"]:
    count = len({(i // b["size"], j // b["size"]) for i, j in a})
    assert b["count"] == count and abs(b["full"] - len(a) / (count * b["size"] ** 2)) < 1e-12, b
if n == m:
    assert abs(said["pattern_symmetry"] - sum((j, i) in a for i, j in a) / len(a)) < 1e-12
    assert abs(said["value_symmetry"] - sum(a.get((j, i)) == v for (i, j), v in a.items()) / len(a)) < 1e-12
else: assert said["pattern_symmetry"] is None
for one in said["predicted"]: assert one["target"] in ("cpu", "gpu") and ("refused" in one or one["bytes"] > 0 and one["seconds"] > 0), one
assert said["pace"] > 0, said["pace"]
print(*sorted({one["format"] for one in said["predicted"] if "format" in one}))
PY
for matrix in "$golden/matrix.mtx" square.mtx triangle.mtx "$source/examples/tridiagonal.mtx"; do
  run --json "$matrix"
  formats=$(python3 count.py "$matrix" text) || fail "the numbers of $matrix"
  [ "$(wc -w <<<"$formats")" -ge 4 ] || fail "only $formats are predicted"
done

# What is predicted is what is encoded.
run --json "$golden/matrix.mtx"
cp text predicted
for format in csr macko eccsr; do
  bytes=$(python3 -c 'import json, sys; print(*{p["bytes"] for p in json.load(open("predicted"))["predicted"] if p.get("format") == sys.argv[1] and p["target"] == "cpu"})' $format)
  "$convert" "$golden/matrix.mtx" a.macko --format $format >said || fail "$(cat said)"
  grep -q ": $bytes bytes, CSR" said || fail "$format: $bytes bytes predicted, but $(cat said)"
  run a.macko
  grep -q "^stored  *$format, $bytes bytes: " text || fail "$format: $(cat text)"
done
run square.mtx
for words in 'square.mtx: Matrix Market' '5 x 5, 8 nonzeros' 'pattern no (87.5 %' 'values no (62.5 %' '4 below the diagonal, 2 above; 3 entries on it' 'of rows' \
  'of columns' '^by time, CPU' '^by time, GPU' '^by memory'; do
  grep -q "$words" text || fail "no '$words' in $(cat text)"
done
run - <square.mtx
grep -q '^-: Matrix Market' text || fail "standard input"
run triangle.mtx
grep -q 'pattern yes (100 %' text || fail "a symmetric matrix: $(cat text)"

# Headers alone: nothing but them is there.
head -3 triangle.mtx | sed 's/^3 3 4/30 30 1000/' | head -2 >header.mtx
run --dry-run header.mtx
grep -q '30 x 30, 1000 entries stored, of one triangle' text && grep -q 'at most 24124 bytes' text || fail "--dry-run: $(cat text)"
run --dry-run --json header.mtx
python3 -c 'import json; h = json.load(open("text")); assert h["problem"] == {"rows": 30, "columns": 30} and h["stored_entries"] == 1000' ||
  fail "--dry-run --json: $(cat text)"
for kind in macko petsc; do
  "$convert" square.mtx h.$kind >said || fail "$(cat said)"
  run --dry-run h.$kind
  grep -q '5 x 5, 8 entries stored' text || fail "--dry-run of $kind: $(cat text)"
done
# A comment may be longer than any line should be, and is not taken for sizes.
{ head -1 triangle.mtx; printf '%%%5000s\n7 7 7\n' '8 8 8'; } >long.mtx
run --dry-run long.mtx
grep -q '7 x 7, 7 entries' text || fail "a long comment: $(cat text)"
# What macko_read passes over is passed over here: the mark that Windows' editors put first, comments behind blanks.
printf '\357\273\277%%%%MatrixMarket matrix coordinate real general\r\n  %% a comment\r\n\r\n7 7 7\r\n' >marked.mtx
run --dry-run marked.mtx
grep -q '7 x 7, 7 entries' text || fail "a byte order mark, an indented comment: $(cat text)"
# Some writers leave out one of the two percent signs.
printf '%%MatrixMarket matrix coordinate real general\n7 7 1\n1 1 1\n' >one-sign.mtx
for how in "" --dry-run; do
  run $how one-sign.mtx
  grep -q '^size *7 x 7' text || fail "a banner with one percent sign: $(cat text)"
done
# What is no header is refused, and told.
banner() { printf '%%%%MatrixMarket %s\n%s\n' "$1" "${2:-2 2 1}" >banner.mtx; }
# What a file holds counts, not its name.
cp header.mtx named.npz
run --dry-run named.npz
grep -q '30 x 30, 1000 entries stored' text || fail "a text that is named as an archive: $(cat text)"
tar cf archive.mtx header.mtx && gzip -c archive.mtx >archive.mtx.gz
for name in archive.mtx archive.mtx.gz; do refused 1 "$name: an archive has to be unpacked" --dry-run $name; done
# The banner is refused in the words of macko_read, which has the number of the line before them.
for words in "coordinate real symetric: the banner's symmetry is 'symetric', none of general, symmetric, skew-symmetric, hermitian" \
  "coordinate unsigned-integer general: the banner's field is 'unsigned-integer', none of real, double, integer, pattern, complex" \
  "dense real general: the banner's format is 'dense', none of coordinate, array" "array real: the banner ends before the symmetry" \
  "coordinate real general more words: 'more words' follows the banner's symmetry" "coordinate complex general: the values are complex" \
  "array complex hermitian: the values are complex; macko stores real matrices" \
  "array pattern general: a pattern can be neither an array nor skew-symmetric" \
  "coordinate pattern skew-symmetric: a pattern can be neither an array nor skew-symmetric"; do
  banner "matrix ${words%%:*}"
  refused 1 "banner.mtx: ${words#*: }" --dry-run banner.mtx
  refused 1 "banner.mtx:1: ${words#*: }" banner.mtx
done
banner 'matrx coordinate real general'
refused 1 "banner.mtx: the banner's object is 'matrx', none of matrix" --dry-run banner.mtx
# Any case will do, and double is another word for real.
printf '%%%%MatrixMarket MATRIX Coordinate DOUBLE Symmetric\n2 2 1\n1 1 1\n' >banner.mtx
for how in "" --dry-run; do
  run $how banner.mtx
  grep -qx 'banner.mtx: Matrix Market coordinate real symmetric' text || fail "the kind of a banner in capitals: $(head -1 text)"
done
banner 'matrix coordinate real general' '2 2 1 7'
refused 1 "banner.mtx: '2 2 1 7' is no line of sizes" --dry-run banner.mtx
banner 'matrix coordinate real symmetric' '2 3 1'
refused 1 "banner.mtx: a symmetric matrix is square, not 2 x 3" --dry-run banner.mtx
# Nothing to read has a reason.
: >nothing.mtx
mkdir folder.mtx
refused 1 "nothing.mtx: the file is empty" --dry-run nothing.mtx
refused 1 "folder.mtx: cannot be read: Is a directory" --dry-run folder.mtx
head -c 10 "$source/test/data/small.mtx.gz" >cut.mtx.gz
refused 1 "cut.mtx.gz: no header can be read: the gzip data is cut short, damaged or of nothing" --dry-run cut.mtx.gz
# Sizes whose products are beyond 64 bits are said as they stand there.
for sizes in 'array general 4000000000 4000000000' 'coordinate general 9223372036854775807 1 0' \
  'coordinate symmetric 3 3 4611686018427387905' 'coordinate general 3 99999999999999999999 4' \
  'coordinate general 3 3 900000000000000000'; do
  read -r form symmetry numbers <<<"$sizes"
  printf '%%%%MatrixMarket matrix %s real %s\n%s\n' "$form" "$symmetry" "$numbers" >huge.mtx
  refused 1 "huge.mtx: '$numbers' says more rows, columns or entries than can be counted" --dry-run huge.mtx
done
printf 'title\n 1 1 1 1\nRUA 5 5 4611686018427387905 0\n' >huge.rua
refused 1 "'RUA 5 5 4611686018427387905 0' says more" --dry-run huge.rua
refused 1 "leave out --dry-run" --dry-run "$source/test/data/small.tar.gz"
# Columns take no bytes of CSR: as many are looked at as the whole report reads.
printf '%%%%MatrixMarket matrix coordinate real general\n2 9000000000000000000 1\n1 1 1\n' >wide.mtx
for dry in "" --dry-run; do
  run $dry wide.mtx
  grep -q '2 x 9000000000000000000' text || fail "many columns, $dry: $(cat text)"
done
# Types that are not read.
for type in CUA rha rsE QUA; do
  printf 'title\n 1 1 1 1\n%s 1 1 1 0\n(1I9) (1I9) (1E20.12)\n 1\n 2\n 1\n 1.0\n' $type >type.rua
  for dry in "" --dry-run; do refused 1 "ype '$([ $dry ] && echo $type || echo ${type^^})' " $dry type.rua; done
done

printf 'title\n 1 1 1 1\nRSA 2 3 1 0\n' >type.rua
refused 1 "a matrix of type 'RSA' is square, not 2 x 3" --dry-run type.rua
printf 'title\n 1 1 1 1\nRXA 2 2 1 0\n' >type.rua
refused 1 "the header is none of" --dry-run type.rua

# A picture: what gnuplot is told, and what it draws where it is there.
mkdir bin
cat >bin/gnuplot <<'SH'
#!/bin/sh
cat >script
sed -n "s/^set output '\(.*\)'/\1/p" script | while read -r f; do echo drawn >"$f"; done
SH
chmod +x bin/gnuplot
PATH=$PWD/bin:$PATH run -o spy.svg square.mtx
[ "$(cat spy.svg)" = drawn ] || fail "no picture"
[ "$(sed -n '/^\$spy/,/^END/p' script | wc -l)" = 10 ] || fail "not 8 pixels for 8 entries: $(cat script)"
# 480 rows, dense in one corner and once elsewhere: two rows and columns a pixel.
awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general"; print 480, 480, 10; for (i = 1; i <= 3; i++) for (j = 1; j <= 3; j++) print i, j, 1; print 480, 479, 1 }' >big.mtx
PATH=$PWD/bin:$PATH run -o spy.svg big.mtx
sed -n '/^\$spy/,/^END/p' script | paste -sd, | grep -qxF '$spy << END,1 1 1,3 1 0.5,1 3 0.5,3 3 0.25,479 479 0.25,END' ||
  fail "pixels are not the share of their cells: $(sed -n '/^\$spy/,/^END/p' script)"
sed -n '/^\$lengths/,/^END/p' script | paste -sd, | grep -qxF '$lengths << END,0 476,1 1,2 0,3 3,END' || fail "row lengths: $(cat script)"
# Names are text to gnuplot, never commands.
odd="'it's \`touch ran\` ''\"\\'"
cp square.mtx "$odd.mtx"
PATH=$PWD/bin:$PATH run -o spy.svg "$odd.mtx"
grep -qxF "set multiplot layout 1,2 title ''.\"'\".'it'.\"'\".'s \`touch ran\` '.\"'\".''.\"'\".'\"\\'.\"'\".'.mtx'" script ||
  fail "the name in the title: $(grep multiplot script)"
printf '#!/bin/sh\nexit 1\n' >bin/gnuplot
echo old >spy.svg
PATH=$PWD/bin:$PATH refused 1 "not drawn: gnuplot" -o spy.svg square.mtx
[ "$(cat spy.svg)" = old ] || fail "the old picture is gone"
printf '#!/bin/sh\ncat >script\n' >bin/gnuplot
PATH=$PWD/bin:$PATH refused 1 "not drawn: gnuplot ends without an error and has drawn nothing" -o spy.svg square.mtx
[ "$(cat spy.svg)" = old ] || fail "the old picture is gone where nothing was drawn"
# Without a gnuplot this is one sentence. All programs but it are needed, as the program may be a script of libtool's.
mkdir others
for folder in ${PATH//:/ }; do ln -s "$folder"/* others 2>/dev/null; done
rm -f others/gnuplot
PATH=$PWD/others refused 1 "not drawn: gnuplot is not there" -o spy.svg square.mtx
[ "$(grep -c gnuplot text)" = 1 ] || fail "more than a sentence without gnuplot: $(cat text)"
# A signal while gnuplot draws leaves nothing but the old picture, behind a link, too.
cat >bin/gnuplot <<'SH'
#!/bin/sh
cat >script
sed -n "s/^set output '\(.*\)'/\1/p" script | while read -r f; do echo drawn >"$f"; done
while [ ! -e go ]; do sleep 0.05; done
SH
ln -s spy.svg link.svg
for picture in spy.svg link.svg; do
  rm -f go
  PATH=$PWD/bin:$PATH "$info" -o $picture square.mtx >text 2>&1 &
  until compgen -G "*.part" >/dev/null; do kill -0 $! || fail "no picture is drawn: $(cat text)"; sleep 0.05; done
  kill -s TERM $!
  wait $! && fail "SIGTERM did not end it"
  touch go
  [ "$(cat spy.svg)" = old ] && ! compgen -G "*.part" || fail "SIGTERM while $picture was drawn left $(ls)"
done
PATH=$PWD/bin:$PATH run -o link.svg square.mtx
[ -L link.svg ] && [ "$(cat spy.svg)" = drawn ] || fail "the link was replaced, not the picture behind it"
if command -v gnuplot >/dev/null; then
  run -o real.svg "$golden/matrix.mtx"
  grep -q '</svg>' real.svg || fail "no SVG: $(head -3 real.svg)"
  [ ! -s bad ] || fail "gnuplot complains: $(cat bad)"
  for picture in "$odd.svg" "|touch ran;.svg" "~$odd.svg"; do
    run -o "$picture" "$odd.mtx"
    grep -qF "'it's \`touch ran\` ''\"\\'.mtx</text>" "$picture" || fail "no picture $picture with the name as it is"
  done
  [ ! -e ran ] || fail "a command in the name of a file was run"
else echo "no gnuplot: its pictures are not drawn"
fi

# Columns far more than entries cost nothing: arrays of all of them would take 800 GB.
printf '%%%%MatrixMarket matrix coordinate real general\n5 99999999999 2\n1 99999999999 1\n1 2 1\n' >wide.mtx
run wide.mtx
grep -q '^size *5 x 99999999999, 2 nonzeros' text && grep -q '^not counted .*far more columns than entries' text || fail "wide: $(cat text)"
run --json wide.mtx
python3 -c 'import json; a = json.load(open("text")); assert a["problem"]["col_distribution"] is a["gap_entropy"] is a["empty_columns"] is None
assert a["blocks"] == [] and a["upper_bandwidth"] == 99999999998 and a["problem"]["row_distribution"]["max"] == 2' || fail "wide JSON: $(cat text)"

# A dense file of a symmetric matrix stores one triangle, of a skew-symmetric one without the diagonal.
for kind in "general 9 9" "symmetric 6 9" "skew-symmetric 3 6"; do
  set -- $kind
  { echo "%%MatrixMarket matrix array real $1"; echo 3 3; seq $2; } >dense.mtx
  run --dry-run --json dense.mtx
  python3 - $2 $3 <<'PY' || fail "dense $1: $(cat text)"
import json, sys
a = json.load(open("text"))
assert a["stored_entries"] == int(sys.argv[1]) and a["csr_bytes"] == 16 + 12 * int(sys.argv[2])
PY
done

# A file says whether values were rounded for it, and so does every report of it.
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 0.1\n2 2 0.3\n' >tenth.mtx
for values in bf16 raw; do
  "$convert" tenth.mtx tenth.macko --values $values >text || fail "no tenth.macko"
  [ $values = bf16 ] && lossy=true count=1 || { lossy=false count=0; }
  for dry in "" --dry-run; do
    run $dry tenth.macko
    [ "$(grep -c 'LOSSY values' text)" = $count ] || fail "$values $dry: $(cat text)"
    run $dry --json tenth.macko
    grep -q "\"lossy\": $lossy" text || fail "$values $dry --json: $(cat text)"
    python3 -m json.tool text >/dev/null || fail "no JSON: $values $dry"
  done
done

# What is wrong with an option is one sentence.
refused 2 "macko-info: the option --jsno is unknown; the nearest is --json; --help tells more" --jsno square.mtx
refused 2 "macko-info: --json takes no value, and was given 3" --json=3 square.mtx
refused 2 "macko-info: the option -q is unknown" -q square.mtx
refused 2 "macko-info: the option -json is unknown; the nearest is --json" -json square.mtx
refused 2 "macko-info: the option -dry-run is unknown; the nearest is --dry-run" square.mtx -dry-run
refused 2 "macko-info: -o needs a value" square.mtx -o
[ "$(wc -l <text)" = 1 ] || fail "not one sentence: $(cat text)"

refused 2 "no file is named"
refused 2 "one file is looked at" square.mtx triangle.mtx
refused 2 "should end in .svg or .png" -o spy.gif square.mtx
refused 2 "no entries that -o could draw" --dry-run -o spy.svg square.mtx
refused 1 "none.mtx: cannot be opened" none.mtx
refused 1 "none/spy.svg" -o none/spy.svg square.mtx
cp square.mtx matrix.svg && ln -s matrix.svg link.png
for picture in matrix.svg link.png; do refused 2 "$picture: is read, too, so it is not written" -o $picture matrix.svg; done
cmp -s square.mtx matrix.svg || fail "the picture replaced the matrix"
refused 1 "none.mtx: cannot be opened" --dry-run none.mtx
echo nonsense >bad.mtx
refused 1 "bad.mtx" bad.mtx
refused 1 "is none of Matrix Market, Harwell-Boeing, PETSc binary, Binsparse or .macko" --dry-run bad.mtx
ls | grep part && fail "something is left over"
exit 0
