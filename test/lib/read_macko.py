#!/usr/bin/env python3
"""Reads format macko as doc/formats/macko.md describes it, and nothing else of this project.

usage: read_macko.py MATRIX.mtx FILE.txt ...     each file, in the page's text form, must hold the matrix
       read_macko.py --page macko.md             the page's own examples must hold the page's own matrix"""
import struct
import sys

CODES = {"f64": "<d", "f32": "<f", "f16": "<e", "i8": "<b", "u8": "<B", "u16": "<H", "u32": "<I", "i32": "<i", "i64": "<q"}
SIZES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i8": 1, "u8": 1, "u16": 2, "u32": 4, "i32": 4, "i64": 8}
DIGITS = {"f32": 24, "f16": 11, "bf16": 8}  # binary digits of a number


def number(kind, bits):
    """The number that an element's bits stand for."""
    if kind == "bf16":
        kind, bits = "f32", bits << 16
    return struct.unpack(CODES[kind], bits.to_bytes(SIZES[kind], "little"))[0]


class Matrix:
    def __init__(self, lines):
        head, params = lines[0].split(), lines[1].split()
        assert head[0] == "macko" and params[0] == "parameters"
        self.layout, self.type, self.codec, self.stored = head[1], head[5], head[6], head[7]
        self.rows, self.cols, self.entries, self.b = int(head[2]), int(head[3]), int(head[4]), int(head[8])
        self.params = [int(p) for p in params[1:]]
        self.sections, self.types = {}, {}
        for name, kind, count, *elements in (line.split() for line in lines[2:]):
            assert int(count) == len(elements), name
            self.sections[name], self.types[name] = [int(e, 16) for e in elements], kind

    def __getitem__(self, name):
        """A section of integers."""
        return [number(self.types[name], bits) for bits in self.sections[name]]

    def value(self, slot):
        bits = self.sections["values"][slot]
        if self.codec in ("dict", "pairs"):
            return number(self.type, self.sections["dict"][bits])
        return number(self.stored, bits)

    def read(self):
        """(row, column, value) of every entry."""
        return {"row": self.read_rows, "slice": self.read_slices, "paper": self.read_paper}[self.layout]()

    def code(self, gaps, place):
        at = place * self.b
        if self.b == 16:
            return gaps[at // 8] | gaps[at // 8 + 1] << 8
        return gaps[at // 8] >> at % 8 & (1 << self.b) - 1

    def read_rows(self):
        mode, bias, width, longs = self.params[:4]
        row_ptr, gaps = self["row_ptr"], self["gaps"]
        base = self["base"] if width else [0] * self.rows
        long_ptr, long_gaps = (self["long_ptr"], self["long_gaps"]) if longs else ([0] * self.rows, [])
        block_base = self["block_base"] if mode == 2 else None
        for i in range(self.rows):
            reference = i if mode == 1 else block_base[i // 32] if mode == 2 else 0
            column, next_long = reference + bias + base[i], long_ptr[i]
            for p in range(row_ptr[i], row_ptr[i + 1]):
                if p > row_ptr[i]:
                    code = self.code(gaps, p)
                    if code == (1 << self.b) - 1:
                        column += long_gaps[next_long]
                        next_long += 1
                    else:
                        column += code + 1
                yield i, column, self.value(p)

    def read_slices(self):
        window, slices, blocks = self.params[0], self["slices"], self["blocks"]
        for position in range(self.rows):
            row = position // 4096 * 4096 + self["order"][position] if window else position
            lane, header = position % 32, slices[position // 32 * 4:position // 32 * 4 + 4]
            if header[2] >> 7 & 1:
                yield from self.read_stencil(row, header, lane, blocks)
                continue
            if header[2] & 7 == 6:
                yield from self.read_masked(row, header, lane, blocks)
                continue
            yield from ((row, column, self.value(slot)) for column, slot in self.read_lane(header, lane, blocks))

    def read_stencil(self, row, header, lane, blocks):
        for at in range(header[1], header[1] + 4 * (header[2] >> 8), 4):
            distance, lanes, low, high = blocks[at:at + 4]
            if lanes >> lane & 1:
                yield row, number("i32", header[3]) + lane + number("i32", distance), number(self.type, low | high << 32)

    def read_masked(self, row, header, lane, blocks):
        n = max(1, 4 // SIZES[self.stored])
        for k in range(header[2] >> 8):
            distance, lanes = blocks[header[1] + 2 * k:header[1] + 2 * k + 2]
            if lanes >> lane & 1:
                slot = header[0] * 128 // SIZES[self.stored] + (32 * (k // n) + lane) * n + k % n
                yield row, number("i32", header[3]) + lane + distance, self.value(slot)

    def read_lane(self, header, lane, blocks):
        values, at, info, base = header
        g = {0: 0, 1: 4, 2: 8, 3: 16, 4: 32, 5: None}[info & 7]
        offset_bytes, length_bytes, steps = (0, 1, 2, 4)[info >> 3 & 3], (0, 1, 2, 4)[info >> 5 & 3], info >> 8
        length = self.packed(blocks, at, length_bytes, lane) if length_bytes else steps
        at += 8 * length_bytes
        first = number("i32", base) + lane + (self.packed(blocks, at, offset_bytes, lane) if offset_bytes else 0)
        at += 8 * offset_bytes
        column, size = first, SIZES[self.stored]
        n = max(1, 4 // size)
        for k in range(length):
            slot = values * 128 // size + (32 * (k // n) + lane) * n + k % n
            if g is None:
                column += self["pair_gaps"][self.sections["values"][slot]]
            elif k and g == 0:
                column = first + blocks[at + k - 1]
            elif k:
                word = blocks[at + 32 * ((k - 1) * g // 32) + lane]
                column += 1 + (word >> (k - 1) * g % 32 & (1 << g) - 1)
            yield column, slot

    @staticmethod
    def packed(words, at, width, i):
        """Element i of an array of numbers of that many bytes, which begins at a word."""
        return words[at + i * width // 4] >> 8 * (i * width % 4) & (1 << 8 * width) - 1

    def read_paper(self):
        row_ptr, gaps, values = self["row_ptr"], self["gaps"], self.sections["values"]
        for i in range(self.rows):
            column = -1
            for slot in range(row_ptr[i], row_ptr[i + 1]):
                column += self.code(gaps, slot) + 1
                if values[slot] != self.params[0]:
                    yield i, column, self.value(slot)


def check(name, matrix, rows, cols, expected):
    """Exactly the expected entries; values within half a unit of the last place of a type that rounds."""
    found = sorted(matrix.read())
    assert (matrix.rows, matrix.cols, matrix.entries) == (rows, cols, len(expected)), name + ": sizes"
    assert [f[:2] for f in found] == [e[:2] for e in expected], name + ": pattern"
    for (i, j, mine), (_, _, value) in zip(found, expected):
        error = abs(value) * 2.0**-DIGITS[matrix.codec] if matrix.codec in DIGITS else 0
        same = struct.pack("<d", mine) == struct.pack("<d", value) or mine != mine and value != value
        assert same or abs(mine - value) <= error and mine, "%s: (%d, %d) is %r, not %r" % (name, i, j, mine, value)


def entries(lines, base):
    rows, cols = lines[0].split()[:2]
    return int(rows), int(cols), sorted((int(i) - base, int(j) - base, float(v)) for i, j, v in map(str.split, lines[1:]))


def main(first, *files):
    if first == "--page":
        with open(files[0]) as page:
            blocks = {b.split("\n", 1)[0]: b.split("\n", 1)[1].strip().split("\n") for b in page.read().split("```")[1::2]}
        for layout in ("row", "slice", "paper"):
            check(layout, Matrix(blocks[layout]), *entries(blocks["matrix"], 0))
        return
    with open(first) as mtx:
        expected = entries([line for line in mtx if not line.startswith("%")], 1)
    for name in files:
        with open(name) as text:
            check(name, Matrix(text.read().strip().split("\n")), *expected)


main(*sys.argv[1:])
