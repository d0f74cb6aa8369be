#!/usr/bin/env python3
"""Writes the golden files of this folder: what a model of format slide, written from doc/formats/slide.md alone, makes of small matrices.

usage: python3 make.py      (run in this folder)

test/lib/slide.c builds the same matrices and compares every section of the C encoder with these files. A file: the matrix in numbers
(see matrix), then one line a section: name, number of elements, elements in hexadecimal."""
import struct

# name: rows, columns, columns of a block that is pruned by two (0: none), percent of entries, type, seed
CASES = {"pruned-4-f64": (5, 40, 4, 0, "f64", 1), "pruned-8-f16": (9, 160, 8, 0, "f16", 2), "pruned-6-f32": (7, 130, 6, 0, "f32", 3),
         "pruned-16-f16": (3, 200, 16, 0, "f16", 4), "random-f64": (40, 90, 0, 20, "f64", 5), "dense-f32": (6, 50, 0, 90, "f32", 6),
         "full-f64": (3, 33, 0, 100, "f64", 7), "sparse-f16": (60, 300, 0, 1, "f16", 8), "nothing": (4, 9, 0, 0, "f64", 9)}
CODES = {"f64": ("<d", "<Q", 8), "f32": ("<f", "<I", 4), "f16": ("<e", "<H", 2)}


class Draw:
    def __init__(self, seed):
        self.state = seed

    def __call__(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return self.state >> 33


def matrix(rows, cols, width, percent, seed):
    draw = Draw(seed)
    result = []
    for _ in range(rows):
        row = []
        for first in range(0, cols, width or cols):
            drop = (draw() % width, draw() % width) if width else ()
            for j in range(first, min(first + (width or cols), cols)):
                if j - first not in drop if width else draw() % 100 < percent:
                    row.append((j, 1 + draw() % 50))
        result.append(row)
    return result


def blocks(row, n):
    result = {}
    for col, value in row:
        result.setdefault(col // (2 * n), []).append((col, value))
    return result


def pack(entries, block, n):
    """Windows of a block: for each the entries in it, at most two, from the left; and what is left over."""
    left, windows = list(entries), []
    for w in range(n - 1):
        first = block * 2 * n + 2 * w
        taken = [e for e in left if first <= e[0] < first + 4][:2]
        left = [e for e in left if e not in taken]
        windows.append([(col - first, value) for col, value in taken])
    return windows, left


def nibble(window):
    if not window:
        return 3
    return window[0][0] | window[-1][0] << 2


def size_of(rows, cols, n, value_bytes):
    c = collect(rows, cols, n)
    per = 8 // value_bytes
    total = 4 * (len(rows) + 1) + 4 * len(c["codes"]) + 4 * len(c["patterns"])
    total += 0 if c["every"] else 2 * len(c["cells"])
    total += 4 * (len(rows) + 1) + 4 * len(c["rest"]) if c["rest"] else 0
    return total + value_bytes * (-(-len(c["cells"]) // (32 * per)) * 32 * per * (2 * n - 2) + len(c["rest"]))


def collect(rows, cols, n):
    cells, starts, rest, rest_ptr = [], [0], [], [0]
    for row in rows:
        for block, entries in sorted(blocks(row, n).items()):
            windows, left = pack(entries, block, n)
            cells.append((block, windows))
            rest += left
        starts.append(len(cells))
        rest_ptr.append(len(rest))
    words = [sum(nibble(w) << 4 * i for i, w in enumerate(windows)) for _, windows in cells]
    as_bits = {}  # patterns in the order of the number that their entries make
    for word, (_, windows) in zip(words, cells):
        as_bits[sum(1 << p + 2 * i for i, w in enumerate(windows) for p, _ in w)] = word
    patterns = [as_bits[k] for k in sorted(as_bits)]
    bits = max(1, (len(patterns) - 1).bit_length())
    if len(patterns) > 256 or len(cells) * bits + 32 * len(patterns) >= len(cells) * 4 * (n - 1):
        patterns, bits = [], 4 * (n - 1)
    stream = sum((patterns.index(w) if patterns else w) << i * bits for i, w in enumerate(words))
    count = -(-len(words) * bits // 32) + 1 if words else 0
    codes = [stream >> 32 * i & 0xffffffff for i in range(count)]
    every = bool(cells) and len(cells) == len(rows) * -(-cols // (2 * n))
    return {"cells": cells, "starts": starts, "rest": rest, "rest_ptr": rest_ptr, "patterns": patterns, "codes": codes, "every": every}


def choose(rows, cols, value_bytes):
    for n in range(2, 9):
        if not collect(rows, cols, n)["rest"]:
            return n
    return min(range(2, 9), key=lambda n: size_of(rows, cols, n, value_bytes))


def sections(rows, cols, kind):
    as_value, as_bits, value_bytes = CODES[kind]
    n = choose(rows, cols, value_bytes)
    c = collect(rows, cols, n)
    per = 8 // value_bytes
    tile = 32 * per
    slots = [0] * (-(-len(c["cells"]) // tile) * tile * (2 * n - 2))
    for i, (_, windows) in enumerate(c["cells"]):
        for w, window in enumerate(windows):
            for s, (_, value) in enumerate(window):
                lane, own = i % tile % 32, i % tile // 32
                slots[((((i // tile) * (n - 1) + w) * 32 + lane) * per + own) * 2 + s] = value
    slots += [value for _, value in c["rest"]]
    yield "starts", c["starts"]
    if not c["every"]:
        yield "blocks", [block for block, _ in c["cells"]]
    yield "positions", c["codes"]
    if c["patterns"]:
        yield "patterns", c["patterns"]
    if c["rest"]:
        yield "rest_ptr", c["rest_ptr"]
        yield "rest_cols", [col for col, _ in c["rest"]]
    yield "values", [struct.unpack(as_bits, struct.pack(as_value, v))[0] for v in slots]


for name, (rows, cols, width, percent, kind, seed) in CASES.items():
    with open(name + ".txt", "w") as file:
        print(rows, cols, width, percent, kind, seed, file=file)
        for section, elements in sections(matrix(rows, cols, width, percent, seed), cols, kind):
            print(section, len(elements), *("%x" % e for e in elements), file=file)
