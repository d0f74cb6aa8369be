"""The package macko: what goes in comes out, products are SciPy's, refusals are the library's sentences."""
import copy
import gc
import pathlib
import pickle
import re
import sys
import threading

import numpy
import scipy.sparse
import scipy.sparse.linalg

import macko
from macko import _library

header, matrix_file = open(sys.argv[1], encoding="utf-8").read(), sys.argv[2]


def fields(struct):  # of macko.h, in their order
    body = re.sub(r"/\*.*?\*/", "", re.search(r"typedef struct \{([^{}]*)\} " + struct + ";", header).group(1), flags=re.S)
    return [name for names in re.findall(r"[\w ]*?[\w*] +([^;()]*);", body) for name in re.findall(r"\*?(\w+)(?:\[\d+\])?(?:,|$)", names)]


for struct, ours in (("macko_info", _library.Info), ("macko_csr", _library.CSR), ("macko_error", _library.CError)):
    assert fields(struct) == [name for name, _ in ours._fields_], (struct, fields(struct))


def refused(status, sentence, function, *arguments, **options):
    try:
        function(*arguments, **options)
    except macko.Error as error:
        assert error.status == status and sentence in str(error), (error.status, str(error))
    else:
        raise AssertionError(f"not refused: {sentence}")


def refuses(words, function, *arguments):  # what is not for this type, with a sentence
    try:
        function(*arguments)
    except TypeError as error:
        assert words in str(error), str(error)
    else:
        raise AssertionError(f"not refused: {words}")


generator = numpy.random.default_rng(1)
for dtype in (numpy.float64, numpy.float32, numpy.float16):
    for format in ("auto", "csr", "macko", "dtans", "eccsr"):
        s = scipy.sparse.random(83, 61, 0.1, format="csr", random_state=1)
        s.data = generator.standard_normal(s.nnz).astype(dtype)
        a = macko.encode((s.indptr, s.indices, s.data), s.shape, format=format)
        assert a.shape == s.shape and a.nnz == s.nnz and a.dtype == dtype
        assert format in ("auto", a.info["format"])
        for back, given in zip(a.arrays(), (s.indptr, s.indices, s.data)):
            assert (back == given).all()
        exact = s.astype(numpy.float64)
        for shape in ((61,), (61, 1), (61, 5)):
            x = generator.standard_normal(shape)
            y = generator.standard_normal((83,) + shape[1:])
            assert numpy.allclose(a @ x, exact @ x, rtol=1e-12, atol=1e-12)
            assert numpy.allclose(a.multiply(y, transpose=True), exact.T @ y, rtol=1e-12, atol=1e-12)
            assert numpy.allclose(a.multiply(x, alpha=2, beta=-3, y=y), 2 * (exact @ x) - 3 * y, rtol=1e-12, atol=1e-12)
            assert (a @ numpy.ascontiguousarray(x)[::1] == a @ numpy.asfortranarray(x)).all()
        narrow = a @ numpy.ones(61, "f4")
        assert narrow.dtype == (numpy.float64 if dtype == numpy.float64 else numpy.float32)
        new = s.copy()
        new.data = (2 * s.data).astype(dtype)
        a.refresh((new.indptr, new.indices, new.data))
        assert (a.arrays()[2] == new.data).all()

# A solver of SciPy, by the compressed form and by its own.
n = 400
s = scipy.sparse.diags([-1, 2.5, -1.2], [-1, 0, 1], (n, n)).tocsr()
a = macko.encode(s, layout="slice")
ours, status = scipy.sparse.linalg.gmres(a.linear_operator(), numpy.ones(n), restart=n)
theirs, _ = scipy.sparse.linalg.gmres(s, numpy.ones(n), restart=n)
assert status == 0 and numpy.allclose(ours, theirs, atol=1e-6)
assert abs(scipy.sparse.linalg.svds(a.linear_operator(), 1, return_singular_vectors=False)[0] -
           scipy.sparse.linalg.svds(s, 1, return_singular_vectors=False)[0]) < 1e-8
assert (a.tocsr() != s).nnz == 0
assert numpy.allclose(numpy.ones(n) @ a, s.T @ numpy.ones(n)) and numpy.allclose(numpy.ones((3, n)) @ a, numpy.ones((3, n)) @ s)

# What it would be, and what it is.
predicted, info = macko.predict(s, prefer="memory"), macko.encode(s, prefer="memory").info
assert predicted.pop("reason") and info.pop("reason")
assert predicted == info and info["bytes"] < info["csr_bytes"], (predicted, info)
assert macko.encode(s, format="csr").info["layout"] is None

# Files, indices from 1, other integers, an empty matrix.
arrays, shape = macko.read(matrix_file)
assert abs(macko.encode(arrays, shape) @ numpy.ones(shape[1])).sum() > 0
one = macko.encode((s.indptr + 1, s.indices + 1, s.data), s.shape, index_base=1)
assert (one.arrays()[1] == s.indices).all()
assert (macko.encode((s.indptr.astype("u2"), s.indices.astype("i2"), s.data.astype("i4")), s.shape) @ numpy.ones(n)).size == n
wide = numpy.array([1, -0.5, numpy.inf, numpy.nan], "longdouble")
back = macko.encode(([0, 4], [0, 1, 2, 3], wide), (1, 4), format="csr").arrays()[2]
assert back.dtype == numpy.float64 and numpy.array_equal(back, wide.astype("f8"), equal_nan=True), back
assert macko.encode(([0, 2], [0, 1], numpy.array([2**63, 2**64 - 2**11], "u8")), (1, 2)).arrays()[2][0] == 2.0**63
assert macko.encode(s, s.shape).shape == s.shape
if numpy.finfo("longdouble").nmant > 52:  # elsewhere it is a double
    for inexact in (1 + numpy.finfo("longdouble").eps, numpy.finfo("longdouble").max):
        refuses("that have no exact double", macko.encode, ([0, 1], [0], numpy.array([inexact], "longdouble")), (1, 1))
assert macko.encode(scipy.sparse.csr_matrix((3, 0))).multiply(numpy.empty(0)).tolist() == [0, 0, 0]

refused("INVALID_ARGUMENT", 'the nearest is "slice"', macko.encode, s, layout="slcie")
refused("UNSUPPORTED", "format csr has no layout slice", macko.encode, s, format="csr", layout="slice")
refused("INVALID_MATRIX", "column 5", macko.encode, ([0, 1], [5], [1.0]), (1, 2))
refused("IO", "absent.mtx", macko.read, "absent.mtx")
for wrong, kind in ((lambda: a @ numpy.ones(n + 1), ValueError), (lambda: a @ (1j * numpy.ones(n)), TypeError),
                    (lambda: macko.encode(1j * s), TypeError), (lambda: macko.encode(([0], [], [])), ValueError),
                    (lambda: macko.encode(([0, 9], [0], [1.0]), (1, 1)), ValueError), (lambda: a.multiply(numpy.ones(n), beta=1), ValueError),
                    (lambda: macko.encode(s, (n, n + 1)), ValueError), (lambda: macko.predict(s, (n,)), ValueError),
                    (lambda: a @ numpy.array(["7"] * n), TypeError),
                    (lambda: a.multiply(numpy.ones(n), alpha=10**400), OverflowError),
                    # It rounds up to 2^63, which may come back as what it was.
                    (lambda: macko.encode(([0, 1], [0], numpy.array([2**63 - 1])), (1, 1)), TypeError),
                    # What C would take for a smaller number, or not look at.
                    (lambda: macko.encode(([0, 1], [0], [1.0]), (1, 2**64 + 2)), ValueError),
                    (lambda: macko.encode(([0, 1], [0], [1.0]), (1, 2), index_base=2**32), ValueError),
                    (lambda: macko.encode(([0, 1], [0], [1.0]), (1, 2, 3)), ValueError),
                    (lambda: macko.encode(([0, 1], [0], [1.0]), (1, 2.5)), TypeError),
                    # What has more than is looked at.
                    (lambda: macko.encode(([0, 1], [0], [[1.0], [2.0]]), (1, 2)), ValueError),
                    (lambda: macko.encode(([0, 1], [[0], [1]], [1.0]), (1, 2)), ValueError),
                    (lambda: a.multiply(3), ValueError), (lambda: a @ numpy.ones((n, 2, 2)), ValueError),
                    # What C would read up to the first NUL only: the file is there, the option is one.
                    (lambda: macko.read(matrix_file + "\0.mtx"), ValueError), (lambda: macko.read(matrix_file.encode() + b"\0"), ValueError),
                    (lambda: macko.read(pathlib.Path(matrix_file + "\0")), ValueError), (lambda: macko.encode(s, format="csr\0x"), ValueError),
                    (lambda: macko.predict(s, **{"format\0x": "csr"}), ValueError)):
    try:
        wrong()
    except kind:
        continue
    raise AssertionError("not refused")

# A copy is a matrix of its own: it outlives the first, and refreshing one leaves the other.
first = macko.encode(s)
for duplicate in (copy.copy, copy.deepcopy, lambda matrix: copy.deepcopy([matrix])[0]):
    made = duplicate(first)
    assert made._handle.value != first._handle.value, "a copy shares the handle"
    made.refresh(2 * s)
    assert (made @ numpy.ones(n) == 2 * (first @ numpy.ones(n))).all() and (first.arrays()[2] == s.data).all()
del first
gc.collect()
assert (made.arrays()[2] == 2 * s.data).all()
refuses("a macko.Matrix cannot be pickled", pickle.dumps, made)
assert (a.multiply(numpy.ones(n), alpha=numpy.array(2.0)) == a.multiply(numpy.ones(n), alpha=numpy.float32(2))).all()
assert macko.encode(([0], [], []), (0, 3)).shape == (0, 3)
for wrong in (s.toarray(), [[1, 2], [3, 4]], None, matrix_file, ([0, 1], [0]), ([0, 1], [0], [1.0], 0)):
    refuses("a matrix of scipy.sparse or (row_ptr, cols, values) is needed, not ", macko.encode, wrong, (1, 2))
    refuses("a matrix of scipy.sparse or (row_ptr, cols, values) is needed, not ", macko.predict, wrong)
refuses("shape is 5, not (rows, columns)", macko.encode, ([0, 1], [0], [1.0]), 5)
refuses("values of type object", macko.encode, ([0, 1], [0], numpy.array([None])), (1, 2))
refuses("x is a csr_matrix, and products are with arrays", a.multiply, s)
refuses("x is a Matrix, and products are with arrays", lambda: a @ a)
refuses("alpha is '2', not a real number", lambda: a.multiply(numpy.ones(n), alpha="2"))
refuses("beta is 2j, not a real number", lambda: a.multiply(numpy.ones(n), beta=2j, y=numpy.ones(n)))
try:
    macko.encode(([0, 1], [0], [1.0]), (1, 2), index_base=-1)
except ValueError as error:
    assert str(error) == "index_base is -1 and must be 0 or 1", str(error)
for arguments in ((s,), (), (made,)):
    refuses("macko.encode(matrix) makes one", macko.Matrix, *arguments)
refuses("to_device() of a macko.Matrix makes one", macko.DeviceMatrix, s)

# Arrays of a GPU: here objects that say so of host memory, multiplied by a library that takes such for the GPU's.
class There:
    def __init__(self, array, **more):
        self.array = array
        self.__cuda_array_interface__ = {"shape": array.shape, "typestr": array.dtype.str, "data": (array.ctypes.data, False),
                                         "strides": array.strides, "version": 3, "stream": None, **more}


class Host:
    streams = []
    def macko_device_upload(self, matrix, stream, handle, error):
        handle._obj.value = matrix.value
        return 0
    def macko_device_add_transpose(self, device, matrix, stream, error): return 0
    def macko_device_multiply(self, device, op, kind, k, alpha, x, ldx, beta, y, ldy, stream, error):
        self.streams.append(stream)
        return macko._library.lib.macko_multiply(device, op, kind, k, alpha, x, ldx, beta, y, ldy, error)
    def macko_device_bytes(self, device): return 7
    def macko_device_destroy(self, handle): pass


try:
    macko._device.library()
except macko.Error as error:
    assert error.status == "DEVICE" and ("no GPU can be used: " in str(error) or "libmacko_cuda is not found" in str(error)), str(error)
    refused("DEVICE", "", a.to_device)
macko._device._found.insert(0, Host())
on = a.to_device()
assert on.bytes == 7 and on.shape == a.shape
for function in (copy.copy, copy.deepcopy, pickle.dumps):
    refuses("can be neither copied nor pickled", function, on)
x, y = numpy.linspace(1, 2, n), numpy.ones(n)
assert on.multiply(There(x), out := There(y), alpha=2, beta=3) is out and numpy.allclose(y, 2 * (s @ x) + 3)
several, result = numpy.asfortranarray(numpy.random.default_rng(1).random((n, 3))), numpy.zeros((n + 5, 3), order="F")
on.multiply(There(several, stream=2), There(result[:n]), transpose=True)
assert numpy.allclose(result[:n], s.T @ several) and not result[n:].any() and Host.streams == [None, 2]
on.multiply(There(x), There(y, strides=None), stream=9)
assert numpy.allclose(y, s @ x) and Host.streams[-1] == 9
for x_, y_, kind, words in ((x, There(y), TypeError, "ndarray has no __cuda_array_interface__"),
                            (There(x), There(y, data=(1, True)), ValueError, "out may only be read"),
                            (There(x.astype("i8")), There(y), TypeError, "elements of type <i8"),
                            (There(x[:7]), There(y), ValueError, "400 and 400 rows"),
                            (There(x[::2]), There(y), ValueError, "16 bytes from one element"),
                            (There(x.astype("f4")), There(y), TypeError, "different types"),
                            (There(several), There(numpy.zeros((n, 3))), ValueError, "order='F'"),
                            (There(x.reshape(1, 1, n)), There(y), ValueError, "neither a vector"),
                            (There(x, mask=There(x)), There(y), TypeError, "x is masked")):
    try:
        on.multiply(x_, y_)
    except kind as error:
        assert words in str(error), str(error)
        continue
    raise AssertionError(words)
macko._device._found.clear()

# Threads share a matrix, and many matrices come and go.
results = [None] * 4
threads = [threading.Thread(target=lambda i=i: results.__setitem__(i, a @ numpy.ones(n))) for i in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert all((result == results[0]).all() for result in results)
for _ in range(1000):
    macko.encode(s)
print("all well")
