#!/usr/bin/env python3
"""Writes the golden files of this folder: what an independent model of CSR-dtANS makes of small matrices, variant "paper".

usage: python3 make.py MODEL.py      (run in this folder)

MODEL.py is a reference implementation in Python of arXiv 2603.01915 with Table, encode_row, interleave and to_symbols; it is not
part of this project. test/lib/dtans_golden.c builds the same matrices and compares every section of the C encoder with these files.
A file: the matrix in numbers (see draw and matrix), then one line a section: name, number of elements, elements in hexadecimal."""
import importlib.util
import struct
import sys
from collections import Counter

# name: rows, largest row, largest gap, kind of values (0 ones, 1 few, 2 any bits), type, seed
CASES = [("ones-f64", 40, 9, 3, 0, "f64", 1), ("ones-f32", 40, 9, 3, 0, "f32", 2), ("few-f64", 70, 12, 4, 1, "f64", 3),
         ("few-f32", 70, 12, 4, 1, "f32", 4), ("any-f64", 33, 8, 6, 2, "f64", 5), ("any-f32", 33, 8, 6, 2, "f32", 6),
         ("one-row", 1, 100, 5, 1, "f64", 7), ("one-each", 64, 1, 50, 1, "f64", 8), ("short", 100, 3, 9, 1, "f64", 9),
         ("fours", 65, 4, 2, 0, "f64", 10), ("eights", 31, 8, 2, 1, "f32", 11), ("wide-f64", 50, 10, 1000, 1, "f64", 12),
         ("wide-f32", 50, 10, 1000, 2, "f32", 13), ("dense", 32, 64, 1, 1, "f64", 14), ("dense-ones", 48, 40, 1, 0, "f32", 15),
         ("far", 20, 10, 100000000, 1, "f64", 16), ("far-any", 20, 10, 100000000, 2, "f64", 17), ("long", 3, 300, 7, 1, "f32", 18),
         ("tall", 200, 2, 3, 0, "f64", 19), ("slices", 130, 6, 4, 1, "f64", 20),
         ("escaped-values", 90, 120, 3, 2, "f32", 21), ("escaped-gaps", 90, 120, 2000000, 1, "f32", 22)]


class Draw:
    def __init__(self, seed):
        self.state = seed

    def __call__(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return self.state >> 33


class Symbol(int):
    """A number whose text sorts as it does itself: symbols that occur equally often keep numeric order."""
    def __str__(self):
        return "%020d" % int(self)


def matrix(rows, largest, gap, kind, type_, seed):
    draw, out = Draw(seed), []
    for i in range(rows):
        length, col, cols, values = 0 if i % 7 == 3 else draw() % (largest + 1), -1, [], []
        for _ in range(length):
            col += 1 + draw() % gap
            number = 1.0 if kind == 0 else float(draw() % 5) - 1
            bits = struct.unpack("<Q" if type_ == "f64" else "<I", struct.pack("<d" if type_ == "f64" else "<f", number))[0]
            if kind == 2:
                bits = draw() << 33 ^ draw() << 2 if type_ == "f64" else draw() << 1
            cols.append(col)
            values.append(bits % 2**64)
        out.append((cols, values))
    return out


def sections(model, rows, words):
    domains = [[[Symbol(s) for s in row] for row in domain] for domain in model.to_symbols(rows, "abs")]
    tables = [model.Table(Counter(s for row in domain for s in row), 32 * n) for domain, n in zip(domains, (1, words))]
    stream, slices = [], [0]
    for first in range(0, len(rows), model.WARP):
        lanes = [model.encode_row([d[i] for d in domains], tables, (1, words), False)
                 for i in range(first, min(first + model.WARP, len(rows)))]
        stream += model.interleave(lanes)
        slices.append(len(stream))
    yield "stream", stream
    yield "slices", slices
    for name, table in zip(("gap", "value"), tables):
        order = sorted(table.slots, key=lambda s: table.slots[s][0])
        yield name + "_symbols", [0 if s is model.ESC else int(s) for s in order]
        yield name + "_slots", [table.slots[s][0] for s in order] + [sum(len(s) for s in table.slots.values())]


def main():
    spec = importlib.util.spec_from_file_location("model", sys.argv[1])
    model = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(model)
    for name, *case in CASES:
        rows = matrix(*case)
        with open(name + ".txt", "w") as out:
            print(*case, file=out)
            for section, elements in sections(model, rows, 2 if case[4] == "f64" else 1):
                print(section, len(elements), *("%x" % e for e in elements), file=out)


main()
