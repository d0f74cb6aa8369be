#!/usr/bin/env python3
"""Writes the malformed matrix files beside this script, and EXPECTED.tsv: file, status, line (0: none), words of the sentence."""
import gzip, io, os, tarfile, zipfile

here = os.path.dirname(os.path.abspath(__file__))
rows = []
B = "%%MatrixMarket matrix coordinate real general\n"

def case(name, content, status, line, words):
    if isinstance(content, str): content = content.encode("latin-1")
    with open(os.path.join(here, name), "wb") as f: f.write(content)
    rows.append((name, status, str(line), words))

def pack(content): # without a time, so that the bytes are the same every time
    return gzip.compress(content.encode(), mtime=0)

def archive(*members, kind=tarfile.REGTYPE, target=""):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size, info.type, info.linkname = len(content), kind, target
            tar.addfile(info, io.BytesIO(content.encode()))
    return gzip.compress(out.getvalue(), mtime=0)

# the banner and the first line
case("empty.mtx", "", "PARSE", 0, "empty")
case("only-newline.mtx", "\n", "PARSE", 1, "neither a Matrix Market file")
case("no-banner.mtx", "2 2 1\n1 1 1\n", "PARSE", 1, "'2 2 1'")
case("html.mtx", "<!DOCTYPE html>\n<html>404</html>\n", "PARSE", 1, "'<!DOCTYPE html>'")
case("object-vector.mtx", "%%MatrixMarket vector coordinate real general\n1 1\n", "PARSE", 1, "'vector'")
case("format-dense.mtx", "%%MatrixMarket matrix dense real general\n1 1\n1\n", "PARSE", 1, "'dense'")
case("field-quaternion.mtx", "%%MatrixMarket matrix coordinate quaternion general\n1 1 0\n", "PARSE", 1, "'quaternion'")
case("symmetry-diagonal.mtx", "%%MatrixMarket matrix coordinate real diagonal\n1 1 0\n", "PARSE", 1, "'diagonal'")
case("banner-cut.mtx", "%%MatrixMarket matrix coordinate\n1 1 0\n", "PARSE", 1, "ends before the field")
case("banner-too-long.mtx", "%%MatrixMarket matrix coordinate real general upper\n1 1 0\n", "PARSE", 1, "'upper'")
case("complex.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 2\n", "UNSUPPORTED", 1, "complex")
case("hermitian.mtx", "%%MatrixMarket matrix coordinate complex hermitian\n1 1 1\n1 1 1 0\n", "UNSUPPORTED", 1, "complex")
case("array-pattern.mtx", "%%MatrixMarket matrix array pattern general\n1 1\n", "PARSE", 1, "pattern")
case("skew-pattern.mtx", "%%MatrixMarket matrix coordinate pattern skew-symmetric\n2 2 1\n2 1\n", "PARSE", 1, "pattern")

# the size line
case("no-sizes.mtx", B + "% nothing follows\n", "PARSE", 2, "ends before the size line")
case("sizes-words.mtx", B + "two 2 1\n1 1 1\n", "PARSE", 2, "'two'")
case("sizes-two-numbers.mtx", B + "2 2\n1 1 1\n", "PARSE", 2, "ends before the number of entries")
case("sizes-four-numbers.mtx", B + "2 2 1 7\n1 1 1\n", "PARSE", 2, "'7' follows the sizes")
case("sizes-negative.mtx", B + "-2 2 1\n1 1 1\n", "PARSE", 2, "-2 rows")
case("sizes-fraction.mtx", B + "2.5 2 1\n1 1 1\n", "PARSE", 2, "'2.5'")
case("sizes-negative-entries.mtx", B + "2 2 -1\n", "PARSE", 2, "-1 entries")
case("sizes-beyond-64-bits.mtx", B + "99999999999999999999 2 1\n1 1 1\n", "PARSE", 2, "99999999999999999999 rows")
case("sizes-int64-max.mtx", B + "9223372036854775807 2 1\n1 1 1\n", "PARSE", 2, "beyond 64 bits")
case("rows-huge.mtx", B + "1000000000000 3 1\n1 1 1\n", "LIMIT", 0, "1000000000000 rows")
case("rows-int32.mtx", B + "2147483648 3 1\n1 1 1\n", "LIMIT", 0, "2147483648 rows")
case("entries-huge.mtx", B + "3 3 1000000000000000000\n1 1 1\n", "PARSE", 3, "1 of 1000000000000000000")
case("all-huge.mtx", B + "1000000000000 1000000000000 1000000000000\n1 1 1\n2 2 2\n", "PARSE", 4, "2 of 1000000000000")
case("symmetric-not-square.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 1 1\n", "PARSE", 2, "2 x 3")

# entries
case("row-zero.mtx", B + "2 2 1\n0 1 1\n", "PARSE", 3, "row 0 is outside 1..2")
case("column-zero.mtx", B + "2 2 1\n1 0 1\n", "PARSE", 3, "column 0 is outside 1..2")
case("row-beyond.mtx", B + "2 2 2\n1 1 1\n3 1 1\n", "PARSE", 4, "row 3 is outside 1..2")
case("column-beyond.mtx", B + "2 2 1\n1 3 1\n", "PARSE", 3, "column 3 is outside 1..2")
case("row-negative.mtx", B + "2 2 1\n-1 1 1\n", "PARSE", 3, "row -1 is outside")
case("row-beyond-int32.mtx", B + "2 2 1\n4294967297 1 1\n", "PARSE", 3, "row 4294967297 is outside")
case("row-beyond-64-bits.mtx", B + "2 2 1\n18446744073709551617 1 1\n", "PARSE", 3, "row 18446744073709551617 is outside")
case("row-word.mtx", B + "2 2 1\none 1 1\n", "PARSE", 3, "'one' is not a row index")
case("row-fraction.mtx", B + "2 2 1\n1.0 1 1\n", "PARSE", 3, "'1.0' is not a row index")
case("no-column.mtx", B + "2 2 1\n1\n", "PARSE", 3, "ends before the column index")
case("no-value.mtx", B + "2 2 1\n1 1\n", "PARSE", 3, "ends before the value")
case("value-word.mtx", B + "2 2 1\n1 1 abc\n", "PARSE", 3, "'abc' is not a real value")
case("value-two-points.mtx", B + "2 2 1\n1 1 1.2.3\n", "PARSE", 3, "'1.2.3'")
case("value-no-exponent.mtx", B + "2 2 1\n1 1 1e\n", "PARSE", 3, "'1e'")
case("value-hexadecimal.mtx", B + "2 2 1\n1 1 0x1p3\n", "PARSE", 3, "'0x1p3'")
case("value-comma.mtx", B + "2 2 1\n1 1 1,5\n", "PARSE", 3, "'1,5'")
case("value-beyond-double.mtx", B + "2 2 1\n1 1 1e999\n", "PARSE", 3, "1e999 is beyond the range")
case("value-glued.mtx", B + "2 2 1\n1 2-3\n", "PARSE", 3, "'2-3'")
case("value-after.mtx", B + "2 2 1\n1 1 1 2\n", "PARSE", 3, "'2' follows the entry")
case("pattern-with-value.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1 5\n", "PARSE", 3, "'5' follows")
case("integer-fraction.mtx", "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1.5\n", "PARSE", 3, "'1.5' is not an integer")
case("integer-inexact.mtx", "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 9007199254740993\n", "UNSUPPORTED", 3,
     "9007199254740993")
case("integer-beyond-64-bits.mtx", "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 -9223372036854775809\n",
     "UNSUPPORTED", 3, "-9223372036854775809")
case("too-few.mtx", B + "2 2 3\n1 1 1\n2 2 1\n", "PARSE", 4, "2 of 3")
case("too-many.mtx", B + "2 2 1\n1 1 1\n2 2 1\n", "PARSE", 4, "'2 2 1' is one entry more")
case("cut-in-entry.mtx", B + "2 2 2\n1 1 1\n2 ", "PARSE", 4, "ends before the column index")
case("crlf-bad-value.mtx", (B + "2 2 1\n1 1 x\n").replace("\n", "\r\n"), "PARSE", 3, "'x' is not")
case("zero-byte.mtx", B + "2 2 1\n1 \0 1\n", "PARSE", 3, "zero byte")
case("control-characters.mtx", B + "2 2 1\n1 1 \x1b[2J\n", "PARSE", 3, "'?[2J'")
case("both-triangles.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n2 1 1\n1 2 1\n", "PARSE", 4, "other triangle")
case("skew-diagonal.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 3\n", "PARSE", 3, "diagonal")
case("array-short.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n", "PARSE", 5, "3 of 4")
case("array-long.mtx", "%%MatrixMarket matrix array real general\n1 2\n1\n2\n3\n", "PARSE", 5, "'3' is one value more")
case("array-row-on-a-line.mtx", "%%MatrixMarket matrix array real general\n2 2\n1 2\n3 4\n", "PARSE", 3, "'2' follows")
case("array-beyond-64-bits.mtx", "%%MatrixMarket matrix array real general\n9000000000000 9000000000000\n1\n", "LIMIT", 2, "64 bits")
case("array-huge.mtx", "%%MatrixMarket matrix array real general\n1000000000 1000000000\n1\n", "PARSE", 3, "1 of 1000000000000000000")
case("line-endless.mtx.gz", pack(B + "2 2 1\n" + "1" * 300000), "PARSE", 3, "more than 262144 bytes")

# binary and packed files
case("binary.mtx", bytes(range(128, 256)) * 8, "PARSE", 1, "neither a Matrix Market file")
case("petsc-binary.mtx", bytes.fromhex("0012 7b50 0000 0002 0000 0002".replace(" ", "")) * 4, "PARSE", 1, "zero byte")
good = B + "2 2 2\n" + "1 1 1.5\n2 2 2.5\n"
long = B + "999 999 999\n" + "".join(f"{i} {1 + i * 31 % 999} {i / 7}\n" for i in range(1, 1000))
whole = pack(long)
case("gzip-only-magic.mtx.gz", b"\x1f\x8b", "PARSE", 0, "ends too early")
case("gzip-cut.mtx.gz", whole[: len(whole) // 2], "PARSE", "any", "ends too early")
case("gzip-cut-checksum.mtx.gz", pack(good)[:-5], "PARSE", "any", "ends too early")
case("gzip-wrong-checksum.mtx.gz", pack(good)[:-8] + b"\0\0\0\0" + pack(good)[-4:], "PARSE", "any", "incorrect data check")
case("gzip-flipped.mtx.gz", whole[:2000] + bytes(64) + whole[2064:], "PARSE", "any", "damaged gzip")
case("gzip-garbage.mtx.gz", pack(good) + bytes(3) + b"garbage", "PARSE", "any", "neither another one nor zeros")
case("gzip-wrong-method.mtx.gz", b"\x1f\x8b\x07" + whole[3:], "PARSE", 0, "unknown compression method")
case("gzip-not.mtx.gz", "this is not gzip\n", "PARSE", 1, "'this is not gzip'")
case("gzip-bad-entry.mtx.gz", pack(B + "2 2 1\n5 1 1\n"), "PARSE", 3, "row 5 is outside")
case("gzip-of-nothing.mtx.gz", pack(""), "PARSE", 0, "empty")
tar = archive(("a/a.mtx", long))
case("tar-cut.tar.gz", gzip.compress(gzip.decompress(tar)[:1500], mtime=0), "PARSE", "any", "damaged tar")
case("tar-gzip-cut.tar.gz", tar[: len(tar) // 2], "PARSE", "any", "ends too early")
case("tar-no-matrix.tar.gz", archive(("a/README", "x\n"), ("a/a_b.mtx", good)), "PARSE", 0, "first member is 'a/README'")
case("tar-bad-matrix.tar.gz", archive(("a/README", "x\n"), ("a/a.mtx", B + "2 2 1\n3 1 1\n")), "PARSE", 3, "a/a.mtx:3: row 3")
case("tar-not.tar.gz", pack("not a tar archive\n" * 100), "PARSE", 0, "damaged tar")
case("tar-damaged-header.tar.gz", gzip.compress(bytes(64) + gzip.decompress(tar)[64:], mtime=0), "PARSE", 0, "damaged tar")
case("tar-empty.tar.gz", gzip.compress(b"", mtime=0), "PARSE", 0, "damaged tar")

# Harwell-Boeing: a 3 x 3 matrix with 4 entries
def boeing(counts=(3, 1, 1, 1, 0), kind="RUA", sizes=(3, 3, 4, 0), formats=("(16I5)", "(16I5)", "(4E20.12)"),
           pointers="    1    3    4    5\n", indices="    1    2    2    3\n",
           values="".join("%20.12E" % v for v in (1, 2, 3, 4)) + "\n", tail=""):
    return ("%-72s%-8s\n" % ("A small matrix", "SMALL") + "".join("%14d" % c for c in counts) + "\n"
            + "%-14s" % kind + "".join("%14s" % s for s in sizes) + "\n"
            + "%-16s%-16s%-20s\n" % formats + pointers + indices + values + tail)

case("boeing-title-only.rua", "A title\n", "PARSE", 1, "ends before the line of line counts")
case("boeing-counts.rua", boeing().replace("             3", "         three", 1), "PARSE", 2, "line counts")
case("boeing-type.rua", boeing(kind="XUA"), "PARSE", 3, "'XUA'")
case("boeing-complex.cua.hb", boeing(kind="CUA"), "UNSUPPORTED", 3, "complex")
case("boeing-elemental.hb", boeing(kind="RSE"), "UNSUPPORTED", 3, "element matrices")
case("boeing-values-elsewhere.rb", boeing(kind="QUA"), "UNSUPPORTED", 3, "another file")
case("boeing-sizes.rua", boeing(sizes=(3, "x", 4, 0)), "PARSE", 3, "'x' is not a number of columns")
case("boeing-negative.rua", boeing(sizes=(3, -3, 4, 0)), "PARSE", 3, "negative")
case("boeing-not-square.rsa", boeing(kind="RSA", sizes=(3, 4, 4, 0)), "PARSE", 3, "3 x 4")
case("boeing-format.rua", boeing(formats=("(16Q5)", "(16I5)", "(4E20.12)")), "PARSE", 4, "'(16Q5)")
case("boeing-format-open.rua", boeing(formats=("(16I5", "", "")), "PARSE", 4, "no Fortran format for column pointers")
case("boeing-format-real-index.rua", boeing(formats=("(16I5)", "(4E20.12)", "(4E20.12)")), "PARSE", 4, "row indices")
case("boeing-format-none.rua", boeing(formats=("(16I5)", "(16I5)", "")), "PARSE", 4, "values")
case("boeing-format-endless.rua", boeing(formats=("(99999999I99999)", "(16I5)", "(4E20.12)")), "PARSE", 4, "(99999999I99999)")
case("boeing-first-pointer.rua", boeing(pointers="    0    3    4    5\n"), "PARSE", 5, "column pointer 0 is outside 1..1")
case("boeing-pointer-falls.rua", boeing(pointers="    1    4    3    5\n"), "PARSE", 5, "column pointer 3 is outside 4..5")
case("boeing-pointer-beyond.rua", boeing(pointers="    1    3    4    6\n"), "PARSE", 5, "column pointer 6 is outside")
case("boeing-last-pointer.rua", boeing(pointers="    1    3    4    4\n"), "PARSE", 5, "the last column pointer is 4, not 5")
case("boeing-pointer-word.rua", boeing(pointers="    1    x    4    5\n"), "PARSE", 5, "'x' is not a column pointer")
case("boeing-pointer-blank.rua", boeing(pointers="    1    3          5\n"), "PARSE", 5, "columns 11 to 15 are blank")
case("boeing-index-zero.rua", boeing(indices="    0    2    2    3\n"), "PARSE", 6, "row index 0 is outside 1..3")
case("boeing-index-beyond.rua", boeing(indices="    1    2    2    4\n"), "PARSE", 6, "row index 4 is outside 1..3")
case("boeing-index-short.rua", boeing(indices="    1    2    2\n"), "PARSE", 6, "columns 16 to 20 are blank")
case("boeing-value-word.rua", boeing(values="   abc\n"), "PARSE", 7, "'abc' is not a real value")
case("boeing-value-glued.rua", boeing(values=" 1.0 2.0\n"), "PARSE", 7, "'1.0 2.0' is not a value")
case("boeing-values-missing.rua", boeing(values=""), "PARSE", 6, "ends before the next value")
case("boeing-more.rua", boeing(tail="9\n"), "PARSE", 8, "'9' follows the matrix")
case("boeing-huge-columns.rua", boeing(sizes=(3, 1000000000000, 4, 0)), "PARSE", 5, "columns 21 to 25 are blank")
case("boeing-huge-rows.rua", boeing(sizes=(1000000000000, 3, 4, 0)), "LIMIT", 0, "1000000000000 rows")
case("boeing-upper-and-lower.rsa", boeing(kind="RSA", indices="    1    2    1    3\n"), "PARSE", 6, "other triangle")
case("boeing-skew-diagonal.rza", boeing(kind="RZA"), "PARSE", 7, "diagonal")
case("boeing-integer-inexact.rb", boeing(kind="IUA", formats=("(16I5)", "(16I5)", "(4I20)"),
     values="%20d%20d%20d%20d\n" % (1, 2, 3, 9007199254740993)), "UNSUPPORTED", 7, "9007199254740993")

# what writers other than programs make: editors, spreadsheets, other languages, other packers
case("value-400-digits.mtx", B + "1 1 1\n1 1 " + "9" * 400 + "\n", "PARSE", 3, "is beyond the range of double")
case("value-exponent-beyond-64-bits.mtx", B + "1 1 1\n1 1 1e99999999999999999999\n", "PARSE", 3, "is beyond the range of double")
case("value-infinit.mtx", B + "1 1 1\n1 1 infinit\n", "PARSE", 3, "'infinit' is not a real value")
case("value-nan-payload.mtx", B + "1 1 1\n1 1 nan(0x7)\n", "PARSE", 3, "'nan(0x7)' is not a real value")
case("value-windows-infinity.mtx", B + "1 1 1\n1 1 1.#INF\n", "PARSE", 3, "'1.#INF' is not a real value")
case("value-underscore.mtx", B + "1 1 1\n1 1 1_000\n", "PARSE", 3, "'1_000' is not a real value")
case("integer-nan.mtx", "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 nan\n", "PARSE", 3,
     "'nan' is not an integer")
case("integer-exponent.mtx", "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1e3\n", "PARSE", 3,
     "'1e3' is not an integer")
case("row-hexadecimal.mtx", B + "2 2 1\n0x1 1 1\n", "PARSE", 3, "'0x1' is not a row index")
case("row-two-signs.mtx", B + "2 2 1\n+-1 1 1\n", "PARSE", 3, "'+-1' is not a row index")
case("no-size-line.mtx", B + "1 1 1.5\n2 2 2.5\n", "PARSE", 2, "'1.5' is not a number of entries")
case("no-size-line-integer.mtx", B + "1 1 1\n", "PARSE", 2, "0 of 1 entries")
case("no-rows.mtx", B + "0 5 1\n1 1 1\n", "PARSE", 3, "row 1 is outside 1..0")
case("comment-behind-sizes.mtx", B + "2 2 1 % sizes\n1 1 1\n", "PARSE", 2, "'% sizes' follows the sizes")
case("comment-endless.mtx.gz", pack(B + "%" + "x" * (1 << 20)), "PARSE", 2, "more than 262144 bytes")
case("array-symmetric-whole.mtx", "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n2\n3\n", "PARSE", 6,
     "one value more than the 3")
case("carriage-returns-only.mtx", (B + "2 2 1\n1 1 1\n").replace("\n", "\r"), "PARSE", 1, "follows the banner's symmetry")
case("no-break-space.mtx", B + "2 2 1\n1\xa01 1\n", "PARSE", 3, "'1?1' is not a row index")
case("blank-line-first.mtx", "\n" + B + "1 1 0\n", "PARSE", 1, "starts neither")
case("utf-16.mtx", ("\ufeff" + B + "1 1 0\n").encode("utf-16-le"), "UNSUPPORTED", 0, "UTF-16")
case("gzip-twice.mtx.gz", gzip.compress(pack(good), mtime=0), "UNSUPPORTED", 0, "packed by gzip more than once")
case("matlab.mat", b"MATLAB 5.0 MAT-file, Platform: GLNXA64".ljust(128, b"\0"), "UNSUPPORTED", 0, "a MATLAB file")
zipped = io.BytesIO()
with zipfile.ZipFile(zipped, "w") as z: z.writestr(zipfile.ZipInfo("a.mtx"), good)
case("zip.mtx", zipped.getvalue(), "UNSUPPORTED", 0, "a zip archive (macko-convert converts .npz of SciPy)")
case("tar-folders-only.tar.gz", archive(("a", ""), kind=tarfile.DIRTYPE), "PARSE", 0, "first member is 'a/'")
case("tar-folder-named-so.tar.gz", archive(("a/a.mtx", ""), kind=tarfile.DIRTYPE), "PARSE", 0, "no NAME/NAME.mtx")
case("tar-link.tar.gz", archive(("a/a.mtx", ""), kind=tarfile.SYMTYPE, target="/etc/passwd"), "PARSE", "any",
     "a link or a folder")
case("tar-hard-link.tar.gz", archive(("a/a.mtx", ""), kind=tarfile.LNKTYPE, target="a/b"), "PARSE", "any", "a link or a folder")
case("boeing-lines-short.rua", boeing(formats=("(16I5)", "(16I5)", "(2E20.12)"),
     values="%20.12E%20.12E\n%20.12E\n%20.12E\n" % (1, 2, 3, 4)), "PARSE", 8, "columns 21 to 40 are blank")
case("boeing-value-stars.rua", boeing(values="*" * 20 + "%20.12E%20.12E%20.12E\n" % (2, 3, 4)), "PARSE", 7, "is not a real value")
case("boeing-pointers-tabs.rua", boeing(pointers="\t1\t3\t4\t5\n"), "PARSE", 5, "is not a column pointer")
case("boeing-width-zero.rua", boeing(formats=("(16I0)", "(16I5)", "(4E20.12)")), "PARSE", 4,
     "no Fortran format for column pointers")
case("boeing-side-missing.rua", boeing(counts=(4, 1, 1, 1, 1), tail="%20.12E%20.12E%20.12E\n" % (1, 2, 3)), "PARSE", 6,
     "the last column pointer is 3")

with open(os.path.join(here, "EXPECTED.tsv"), "w") as f:
    for row in rows: f.write("\t".join(row) + "\n")
print(len(rows), "files")
