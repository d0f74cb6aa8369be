"""Matrices: from SciPy or arrays, and products with NumPy's arrays."""
import ctypes
import os
import weakref

import numpy

from ._library import CSR, Info, Options, call, lib, name_of, number_of, real_of, text_of, type_names

_types = {numpy.dtype("f8"): 0, numpy.dtype("f4"): 1, numpy.dtype("f2"): 2, numpy.dtype("i4"): 5, numpy.dtype("i8"): 6}
_dtypes = {number: dtype for dtype, number in _types.items()}


class _View:
    """A csr that the library reads, and the arrays that it points into."""

    def __init__(self, matrix, shape, index_base):
        if hasattr(matrix, "tocsr"):
            if index_base:
                raise ValueError("index_base is for arrays: SciPy's matrices count from 0")
            if shape is not None and tuple(self._sizes(shape)) != tuple(matrix.shape):
                raise ValueError(f"shape is {shape!r}, and that of the matrix {matrix.shape}")
            shape, matrix = matrix.shape, matrix.tocsr()
            matrix = (matrix.indptr, matrix.indices, matrix.data)
        elif not isinstance(matrix, (tuple, list)) or len(matrix) != 3:
            raise TypeError(f"a matrix of scipy.sparse or (row_ptr, cols, values) is needed, not {type(matrix).__name__}"
                            + (f" of {len(matrix)}" if hasattr(matrix, "__len__") else ""))
        elif shape is None:
            raise ValueError("shape=(rows, columns) is needed where a matrix comes as three arrays")
        rows, columns = self._sizes(shape)
        if number_of("index_base", index_base, 32) not in (0, 1):
            raise ValueError(f"index_base is {index_base} and must be 0 or 1")
        self.row_ptr, self.cols, values = self._indices(matrix[0]), self._indices(matrix[1]), self._line("values", matrix[2])
        if values.dtype.kind not in "biufc":
            raise TypeError(f"values of type {values.dtype}")
        if numpy.iscomplexobj(values):
            raise TypeError(f"values of type {values.dtype}: macko has real matrices only")
        if values.dtype not in (numpy.float64, numpy.float32, numpy.float16):
            values = self._exact(values)
        self.values = numpy.ascontiguousarray(values)
        if self.row_ptr.size != rows + 1:
            raise ValueError(f"{self.row_ptr.size} row pointers for {rows} rows")
        entries = int(self.row_ptr[-1]) - index_base
        if self.cols.size < entries or self.values.size < entries:
            raise ValueError(f"{self.cols.size} columns and {self.values.size} values for {entries} entries")
        self.c = CSR(rows, columns, _types[self.row_ptr.dtype], _types[self.cols.dtype], _types[self.values.dtype],
                     self.row_ptr.ctypes.data, self.cols.ctypes.data, self.values.ctypes.data, index_base)

    @staticmethod
    def _exact(values):
        """As doubles. A whole number that rounds up beyond its type does not come back: what converting it gives is not defined."""
        with numpy.errstate(over="ignore", invalid="ignore"):  # what becomes infinite is not exact
            exact = values.astype(numpy.float64)
            if values.dtype.kind in "iu":
                within = exact < 2.0 ** (numpy.iinfo(values.dtype).bits - (values.dtype.kind == "i"))
                same = within & (numpy.where(within, exact, 0).astype(values.dtype) == values)
            else:
                same = (exact.astype(values.dtype) == values) | numpy.isnan(exact)
        if not same.all():
            raise TypeError(f"values of type {values.dtype} that have no exact double")
        return exact

    @staticmethod
    def _sizes(shape):
        if not hasattr(shape, "__len__"):
            raise TypeError(f"shape is {shape!r}, not (rows, columns)")
        if len(shape) != 2:
            raise ValueError(f"shape is {shape!r}, not (rows, columns)")
        return (number_of("a size", size, 64) for size in shape)

    @staticmethod
    def _line(what, array):
        array = numpy.asarray(array)
        if array.ndim != 1:
            raise ValueError(f"{what} have the shape {array.shape}: one dimension is needed")
        return array

    @staticmethod
    def _indices(array):
        array = _View._line("indices", array)
        if array.dtype.kind not in "iu" and array.size:  # an empty list is one of floats
            raise TypeError(f"indices of type {array.dtype}")
        return numpy.ascontiguousarray(array, dtype=array.dtype if array.dtype in (numpy.int32, numpy.int64) else numpy.int64)


def _options(chosen):
    options = Options()
    lib.macko_options_init(options)
    for name, value in chosen.items():
        call("macko_options_set", options, text_of("an option", name.encode()), text_of(f"option {name}", str(value).encode()))
    return options


def _info(c):
    return {"format": name_of("format", c.format), "layout": name_of("layout", c.layout), "variant": name_of("variant", c.variant),
            "values": name_of("values", c.values), "value_type": type_names[c.value_type], "stored_type": type_names[c.stored_type],
            "gap_bits": c.gap_bits, "lossy": bool(c.lossy), "rows": c.nrows, "columns": c.ncols, "nonzeros": c.nnz, "bytes": c.bytes,
            "csr_bytes": c.csr_bytes, "seconds": c.seconds or None, "csr_seconds": c.csr_seconds or None,
            "reason": c.reason.decode() if c.reason else None}


def encode(matrix, shape=None, index_base=0, **options):
    """The compressed form of a matrix of scipy.sparse, or of (row_ptr, cols, values) with a shape, whose indices count from 0 or 1
    (index_base). Values are float64, float32 or float16; other real ones become float64, if that has them exactly. Nothing of it
    is kept."""
    view, handle = _View(matrix, shape, index_base), ctypes.c_void_p()
    call("macko_encode", ctypes.byref(view.c), _options(options), ctypes.byref(handle))
    return Matrix(handle)


def predict(matrix, shape=None, index_base=0, **options):
    """What encode would make, without making it; reason says how far bytes may be off where they are estimated."""
    view, info = _View(matrix, shape, index_base), Info()
    call("macko_predict", ctypes.byref(view.c), _options(options), ctypes.byref(info))
    return _info(info)


def read(path):
    """(row_ptr, cols, values) and shape of a Matrix Market, Harwell-Boeing or Rutherford-Boeing file, packed or not."""
    c = CSR()
    call("macko_read", text_of("a path", os.fsencode(path)), None, ctypes.byref(c), None)
    try:
        row_ptr = _copy(c.row_ptr, c.row_ptr_type, c.nrows + 1)
        arrays = row_ptr, _copy(c.cols, c.col_type, int(row_ptr[-1])), _copy(c.values, c.value_type, int(row_ptr[-1]))
        return arrays, (c.nrows, c.ncols)
    finally:
        lib.macko_free_csr(ctypes.byref(c))


def _copy(address, number, count):
    array = numpy.empty(count, _dtypes[number])
    if count:
        ctypes.memmove(array.ctypes.data, address, array.nbytes)
    return array


def _release(address):
    lib.macko_destroy(ctypes.byref(ctypes.c_void_p(address)))


class Matrix:
    """A compressed matrix. Any number of threads may multiply with it at once, but not while refresh runs."""

    __array_ufunc__ = None  # so that an array @ this asks __rmatmul__

    def __init__(self, handle=None):
        if not isinstance(handle, ctypes.c_void_p):
            raise TypeError("a macko.Matrix is made of what the library has encoded: macko.encode(matrix) makes one")
        self._handle = handle
        weakref.finalize(self, _release, handle.value)
        info = self.info
        self.shape, self.nnz = (info["rows"], info["columns"]), info["nonzeros"]
        self.dtype = numpy.dtype({"f64": "f8", "f32": "f4", "f16": "f2"}[info["value_type"]])

    def __repr__(self):
        info = self.info
        return f"<macko.Matrix {self.shape[0]} x {self.shape[1]}, {self.nnz} nonzeros, format {info['format']}, {info['bytes']} bytes>"

    def __copy__(self):
        """An independent matrix. The module copy would have two objects free one matrix."""
        handle = ctypes.c_void_p()
        call("macko_copy", self._handle, ctypes.byref(handle))
        return Matrix(handle)

    def __deepcopy__(self, memo):
        return self.__copy__()

    def __reduce__(self):
        raise TypeError("a macko.Matrix cannot be pickled: pickle what arrays() or tocsr() gives, and encode that again")

    @property
    def info(self):
        """What is stored and why: format, bytes, csr_bytes, seconds (predicted of a product), reason, ..."""
        c = Info()
        lib.macko_get_info(self._handle, ctypes.byref(c))
        return _info(c)

    def multiply(self, x, transpose=False, alpha=1.0, beta=0.0, y=None):
        """alpha A x + beta y, or with A' for A, as a new array: of a vector, or of the columns of a two-dimensional array. Sums
        are in float32 where matrix, x and y have no more than that, else in float64."""
        rows, columns = self.shape[::-1] if transpose else self.shape
        alpha, beta = real_of("alpha", alpha), real_of("beta", beta)
        if hasattr(x, "tocsr"):
            raise TypeError(f"x is a {type(x).__name__}, and products are with arrays; for others tocsr() gives SciPy's")
        arrays = [numpy.asarray(x)] + ([] if y is None else [numpy.asarray(y)])
        for array in arrays:
            if numpy.iscomplexobj(array):
                raise TypeError("vectors must be real")
            if array.dtype.kind not in "biufO":  # NumPy would take text for the numbers that it spells
                raise TypeError(f"a vector of type {array.dtype}, not of numbers")
        dtype = numpy.result_type(numpy.float32, self.dtype, *arrays)
        dtype = numpy.dtype("f4") if dtype == numpy.float32 else numpy.dtype("f8")
        x = numpy.asfortranarray(arrays[0], dtype)
        if arrays[0].ndim not in (1, 2) or x.shape[0] != columns:
            raise ValueError(f"x has the shape {arrays[0].shape}: a vector of {columns} or a matrix of as many rows is needed")
        out = numpy.zeros((rows,) + x.shape[1:], dtype, order="F")
        if y is not None:
            if arrays[1].shape != out.shape:
                raise ValueError(f"y has the shape {arrays[1].shape}, not {out.shape}")
            out[...] = arrays[1]
        elif beta:
            raise ValueError("beta without y")
        k = x.shape[1] if x.ndim == 2 else 1
        call("macko_multiply", self._handle, int(transpose), _types[dtype], k, alpha, x.ctypes.data, columns, beta, out.ctypes.data, rows)
        return out

    def __matmul__(self, x):
        return self.multiply(x)

    def __rmatmul__(self, x):
        return self.multiply(numpy.asarray(x).T, transpose=True).T

    def refresh(self, matrix, index_base=0):
        """Takes the values of a matrix of the same pattern, as encode takes it."""
        view = _View(matrix, self.shape, index_base)
        call("macko_refresh", self._handle, ctypes.byref(view.c))

    def arrays(self):
        """(row_ptr, cols, values), the matrix bit for bit unless lossy values were asked for."""
        row_ptr, cols = numpy.empty(self.shape[0] + 1, "i8"), numpy.empty(self.nnz, "i8")
        values = numpy.empty(self.nnz, self.dtype)
        call("macko_decode", self._handle, row_ptr.ctypes.data, cols.ctypes.data, values.ctypes.data)
        return row_ptr, cols, values

    def tocsr(self):
        """The same as scipy.sparse.csr_matrix."""
        from scipy.sparse import csr_matrix

        row_ptr, cols, values = self.arrays()
        return csr_matrix((values, cols, row_ptr), self.shape)

    def to_device(self):
        """The same in GPU memory, for products with arrays that have __cuda_array_interface__ (DeviceMatrix). Raises Error where no
        GPU can be used."""
        from ._device import DeviceMatrix

        return DeviceMatrix(self)

    def linear_operator(self):
        """For scipy.sparse.linalg: products of vectors and of several, with the matrix and its transpose."""
        from scipy.sparse.linalg import LinearOperator

        def transposed(x):
            return self.multiply(x, transpose=True)

        return LinearOperator(self.shape, matvec=self.multiply, rmatvec=transposed, matmat=self.multiply, rmatmat=transposed,
                              dtype=numpy.promote_types(self.dtype, numpy.float32))
