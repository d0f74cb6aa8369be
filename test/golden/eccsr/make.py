#!/usr/bin/env python3
"""Writes the matrices of this folder as Matrix Market files (run in this folder). What format eccsr makes of them, the other files
here, is written by the suite itself from the top of a build folder:

    test/lib/eccsr_golden --write SOURCES/test/golden/eccsr

doc/formats/eccsr.md describes the format, doc/formats/macko.md the text form. The suite decodes the files as they are: a matrix
that was encoded once must stay readable."""


class Draw:
    def __init__(self, seed):
        self.state = seed

    def __call__(self, limit):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % limit


draw = Draw(1)
few = [1, -2, 0.5, 3]


def write(name, rows, cols, entries):
    with open(name + ".mtx", "w") as out:
        print("%%MatrixMarket matrix coordinate real general", file=out)
        print(rows, cols, len(entries), file=out)
        for i, j, v in entries:
            print(i + 1, j + 1, v, file=out)


def mesh(nodes, unknowns, reach, coupled=lambda r, c: True):
    """Nodes with some neighbours each, so many unknowns a node, coupled or not."""
    entries = []
    for i in range(nodes):
        others, j = [i], i
        for _ in range(i % 4):
            j += 1 + draw(reach)
            others.append(j)
        for r in range(unknowns):
            for o in others:
                if o < nodes:
                    entries += [(i * unknowns + r, o * unknowns + c, few[draw(4)]) for c in range(unknowns) if coupled(r, c)]
    return nodes * unknowns, nodes * unknowns, entries


write("one", *mesh(45, 1, 6))
write("two", *mesh(40, 2, 6))
write("three", *mesh(40, 3, 30))
write("five", *mesh(14, 5, 4))
write("eight", *mesh(9, 8, 3))
write("holes", *mesh(30, 3, 8, lambda r, c: (r + c) % 3 != 0))
# Gaps of every width, and rows without entries.
write("far", 70, 300000, [(i, (j * j * (i + 1) * 37) % 300000, few[draw(4)])
                          for i in range(0, 70, 2) for j in range(1, 1 + i % 9)])
write("long", 3, 700, [(i, j, few[draw(4)]) for i in (0, 2) for j in range(i, 700, 1 + i)])
write("none", 5, 4, [])
write("nothing", 0, 0, [])
# Values that a sum must not change: -0.0, an explicit zero, the smallest and the largest.
write("special", 2, 4, [(0, 0, "-0.0"), (0, 1, 0), (0, 3, 2.0**-14), (1, 0, 1), (1, 1, 65504), (1, 3, -1)])


def levels(columns):
    """Six rows: every second column is that of four of them, or of two, and of the rest each has some."""
    entries = []
    for i in range(6):
        for j in range(columns):
            shared = j % 2 and (i < 4 or j % 4 == 1)
            if shared or (j % 2 == 0 and (i * 31 + j * 17) % 23 == 0):
                entries.append((i, j, few[draw(4)]))
    return 6, columns, entries


write("levels", *levels(560))
