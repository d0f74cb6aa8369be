#!/usr/bin/env python3
"""Writes the matrices of this folder as Matrix Market files (run in this folder). What format macko makes of them, the other files
here, is written by the suite itself from the top of a build folder:

    test/lib/macko_golden --write SOURCES/test/golden/macko

doc/formats/macko.md describes both the format and the text form. The suite decodes the files as they are: a matrix that was encoded
once must stay readable."""


class Draw:
    def __init__(self, seed):
        self.state = seed

    def __call__(self, limit):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % limit


def write(name, rows, cols, entries):
    with open(name + ".mtx", "w") as out:
        print("%%MatrixMarket matrix coordinate real general", file=out)
        print(rows, cols, len(entries), file=out)
        for i, j, v in entries:
            print(i + 1, j + 1, v, file=out)


def walk(rows, cols, length, gap, value, first=lambda i: 0):
    """Rows of length(i) entries, from column first(i) on in steps of gap(i, k)."""
    entries = []
    for i in range(rows):
        j = first(i)
        for k in range(length(i)):
            if k:
                j += gap(i, k)
            if j >= cols:
                break
            entries.append((i, j, value(i, j)))
    return entries


draw = Draw(1)
few = [1, -2, 0.5, 3]
gaps = [1, 2, 3, 4, 5, 15, 16, 17, 255, 256, 257, 65535, 65536, 65537]
# Gaps on both sides of every width; empty rows; first columns near the diagonal.
write("gaps", 40, 300000, walk(40, 300000, lambda i: (i * 3) % 7, lambda i, k: gaps[draw(len(gaps))], lambda i, j: few[draw(4)],
                               lambda i: i + draw(9)))
# Slices of every gap width, the last one not full: alike, within 16, within 256, within 65536, beyond.
spread = [1, 16, 256, 65536, 200000]
write("slices", 140, 500000, walk(140, 500000, lambda i: 3 + i % 2 if i >= 32 else 3,
                                  lambda i, k: 2 if i < 32 else 1 + draw(spread[i // 32]), lambda i, j: few[draw(4)],
                                  lambda i: i if i < 32 else i // 32 * 50000 + draw(200)))
# Rows of very different lengths among each other: sorted by length. One entry is an explicit zero.
write("lengths", 64, 300, walk(64, 300, lambda i: (0, 12, 1, 6)[i % 4], lambda i, k: 1 + draw(20),
                               lambda i, j: 0 if i == 9 else few[draw(4)], lambda i: 0 if i < 32 else 260))
# More than 256 values, none of which a shorter type holds.
write("values", 20, 40, walk(20, 40, lambda i: 15, lambda i, k: 1 + draw(3), lambda i, j: repr((1 + draw(2**30)) / 3)))
# Values for every narrow type: integers beyond i8 and exact f16; f32 only; bf16 only (range).
write("integers", 12, 30, walk(12, 30, lambda i: 4, lambda i, k: 1 + draw(9), lambda i, j: draw(200) - 100, lambda i: i + 3))
write("halves", 12, 30, walk(12, 30, lambda i: 4, lambda i, k: 1 + draw(9), lambda i, j: (draw(2000) - 1000) / 4))
write("singles", 12, 30, walk(12, 30, lambda i: 4, lambda i, k: 1 + draw(9), lambda i, j: (draw(2**20) - 2**19) / 2**16))
write("ranges", 12, 30, walk(12, 30, lambda i: 4, lambda i, k: 1 + draw(9), lambda i, j: "%de%d" % (0, 0) if draw(9) == 0
                             else repr((1 + draw(100) / 128) * 2.0**(draw(200) - 100))))
# A difference operator on a grid of 7 x 20: stencils, but for the slice of row 40.
write("stencil", 140, 140, [(i, j, 5 if i == j == 40 else 4 if i == j else -1) for i in range(140) for j in range(140)
                            if j == i or abs(i - j) == 7 or abs(i - j) == 1 and i // 7 == j // 7])
# Slices that share one list and one block.
write("band", 100, 110, walk(100, 110, lambda i: 3, lambda i, k: 1 + 2 * k, lambda i, j: few[j % 4], lambda i: i))
# Columns up to the last there may be; one row of 300 entries among short ones.
write("wide", 40, 2**31 - 1, walk(40, 2**31 - 1, lambda i: 300 if i == 5 else 1 + i % 2, lambda i, k: 1 if i == 5 else 2**31 - 2 - i,
                                  lambda i, j: few[draw(4)], lambda i: 2**31 - 2 if i == 7 else i))
# First columns before the diagonal; no entries; no rows.
write("before", 300, 300, walk(300, 300, lambda i: 2, lambda i, k: 1 + draw(3), lambda i, j: few[draw(4)],
                               lambda i: max(0, i - 1 - draw(3))))
write("none", 40, 30, [])
write("nothing", 0, 30, [])
# Zeros of both signs, infinities and nan: paper's padding needs a pattern of its own.
write("special", 6, 3000, [(i, 1 + 900 * k, v) for i in range(6) for k, v in
                           enumerate([["-0", "inf", "1"], ["0", "-inf"], ["nan", "-0"], [], [repr(2.0**-133)], ["1", "0"]][i])])
# A grid of 9 x 9 points, of which rows at the boundary lack neighbours and one row has its diagonal alone: masked slices.
write("grid", 81, 81, [(i, j, (draw(60) + 1) / 4) for i in range(81) for j in (i - 9, i - 1, i, i + 1, i + 9)
                       if 0 <= j < 81 and abs(i % 9 - j % 9) <= 1 and (i != 40 or i == j)])
