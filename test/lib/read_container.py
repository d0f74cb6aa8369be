#!/usr/bin/env python3
"""Reads .macko files as doc/formats/container.md describes them, and nothing else of this project, with NumPy.

usage: read_container.py MATRIX.mtx FILE.macko ...    every file is whole and says what MATRIX.mtx says of sizes; those of format csr
                                                      multiply a vector as it does, and damage to them is seen"""
import json
import sys
import zlib

import numpy

HEADER = numpy.dtype([("magic", "S8"), ("byte_order", "<u4"), ("version", "<u4"), ("head_bytes", "<u8"), ("data", "<u8"),
                      ("file_bytes", "<u8"), ("head_crc32", "<u4"), ("zeros", "<u4", 4), ("crc32", "<u4")])


def elements(name, data):
    """A section's bytes as an array; NumPy has no bfloat16, which is the upper half of a float32."""
    if name == "bfloat16":
        return (numpy.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4")
    return numpy.frombuffer(data, numpy.dtype(name).newbyteorder("<"))


def read(file):
    """The head of a file and its sections by name."""
    header = numpy.frombuffer(file, HEADER, 1)[0]
    data = int(header["data"])
    assert header["magic"] == b"\x89MACKO\r\n" and header["byte_order"] == 0x01020304 and header["version"] == 1
    assert zlib.crc32(file[:60]) == header["crc32"] and not header["zeros"].any() and len(file) == header["file_bytes"]
    assert data == -(-(64 + int(header["head_bytes"])) // 4096) * 4096 and zlib.crc32(file[64:data]) == header["head_crc32"]
    head = json.loads(file[64:64 + int(header["head_bytes"])])
    sections, end = {}, data
    for s in head["sections"]:
        begin = data + s["offset"]
        assert begin == -(-end // 4096) * 4096 and not any(file[end:begin])
        end = begin + s["bytes"]
        assert zlib.crc32(file[begin:end]) == s["crc32"], s["name"]
        sections[s["name"]] = elements(s["data_type"], file[begin:end])
    assert end == len(file)
    return head, sections


def multiply(head, sections, x):
    """y = A x of format csr."""
    rows = numpy.repeat(numpy.arange(head["shape"][0]), numpy.diff(sections["row_ptr"]))
    y = numpy.zeros(head["shape"][0])
    numpy.add.at(y, rows, sections["values"] * x[sections["cols"]])
    return y


def refuses(file):
    try:
        read(file)
    except (AssertionError, ValueError):
        return True
    return False


def main(mtx, *names):
    with open(mtx) as text:
        lines = [line.split() for line in text if not line.startswith("%")]
    nrows, ncols, entries = map(int, lines[0])
    i, j, v = (numpy.array(column, float) for column in zip(*lines[1:]))
    x = numpy.cos(numpy.arange(ncols))
    expected = numpy.zeros(nrows)
    numpy.add.at(expected, i.astype(int) - 1, v * x[j.astype(int) - 1])
    multiplied = 0
    for name in names:
        with open(name, "rb") as f:
            file = f.read()
        head, sections = read(file)
        assert head["shape"] == [nrows, ncols] and head["number_of_stored_values"] == entries == len(lines) - 1, name
        if head["format"] == "csr":
            assert numpy.abs(multiply(head, sections, x) - expected).max() < 1e-13, name
            multiplied += 1
            assert all(refuses(file[:at] + bytes([file[at] ^ 16]) + file[at + 1:]) for at in range(0, len(file), 7)), name
    print(len(names), "files read,", multiplied, "multiplied")
    assert multiplied


main(*sys.argv[1:])
