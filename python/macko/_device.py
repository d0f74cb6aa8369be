"""Matrices on a GPU, and products with arrays that are there: whatever has __cuda_array_interface__ (CuPy, Numba, PyTorch, ...)."""
import ctypes
import os
import weakref

from ._library import CError, Error, call_of, candidates, lib, real_of

_types = {"<f8": (0, 8), "<f4": (1, 4), "<f2": (2, 2)}
_int, _int64, _double, _pointer = ctypes.c_int, ctypes.c_int64, ctypes.c_double, ctypes.c_void_p
_signatures = {
    "macko_device_count": (_int, [_pointer]),
    "macko_device_upload": (_int, [_pointer, _pointer, _pointer, _pointer]),
    "macko_device_add_transpose": (_int, [_pointer, _pointer, _pointer, _pointer]),
    "macko_device_multiply": (_int, [_pointer, _int, _int, _int64, _double, _pointer, _int64, _double, _pointer, _int64, _pointer, _pointer]),
    "macko_device_bytes": (_int64, [_pointer]),
    "macko_device_destroy": (None, [_pointer]),
}
_found = []


def library():
    """libmacko_cuda, where a GPU can be used. Raises Error where not, with the reason."""
    if _found:
        return _found[0]
    reasons = []
    for name in candidates("macko_cuda", "MACKO_CUDA_LIBRARY", os.path.dirname(lib._name)):
        try:
            cuda = ctypes.CDLL(name)
        except OSError as error:
            reasons.append(str(error))
            continue
        for function, (result, arguments) in _signatures.items():
            getattr(cuda, function).restype, getattr(cuda, function).argtypes = result, arguments
        why = CError()
        if not cuda.macko_device_count(ctypes.byref(why)):
            raise Error("DEVICE", "no GPU can be used: " + why.text.decode("utf-8", "replace"))
        _found.append(cuda)
        return cuda
    raise Error("DEVICE", "libmacko_cuda is not found (" + "; ".join(reasons) + "): build with CUDA, or name the file in MACKO_CUDA_LIBRARY")


class _Array:
    """What __cuda_array_interface__ says: a vector without gaps, or columns one after another."""

    def __init__(self, name, array, written):
        said = getattr(array, "__cuda_array_interface__", None)
        if said is None:
            raise TypeError(f"{name} is in no GPU's memory: {type(array).__name__} has no __cuda_array_interface__")
        if said["typestr"] not in _types:
            raise TypeError(f"{name} has elements of type {said['typestr']}, not one of {', '.join(_types)}")
        if said.get("mask") is not None:
            raise TypeError(f"{name} is masked")
        self.type, size = _types[said["typestr"]]
        self.shape, self.address = tuple(said["shape"]), said["data"][0]
        if written and said["data"][1]:
            raise ValueError(f"{name} may only be read")
        if len(self.shape) not in (1, 2):
            raise ValueError(f"{name} has the shape {self.shape}, neither a vector nor several as columns")
        strides = said.get("strides")
        if strides is None:  # rows one after another
            strides = tuple(size * (self.shape[1] if len(self.shape) == 2 and axis == 0 else 1) for axis in range(len(self.shape)))
        if self.shape[0] > 1 and strides[0] != size:
            raise ValueError(f"{name} has {strides[0]} bytes from one element of a column to the next, not {size}: order='F' is needed")
        several = len(self.shape) == 2 and self.shape[1] > 1
        self.apart = strides[1] // size if several else self.shape[0]
        if several and (strides[1] % size or self.apart < self.shape[0]):
            raise ValueError(f"{name} has columns {strides[1]} bytes apart, which overlap or lie between elements")
        self.stream = said.get("stream")


def _destroy(cuda, address):
    cuda.macko_device_destroy(ctypes.byref(ctypes.c_void_p(address)))


class DeviceMatrix:
    """A compressed matrix in the memory of the current GPU, from Matrix.to_device()."""

    def __init__(self, matrix):
        if not isinstance(getattr(matrix, "_handle", None), ctypes.c_void_p):
            raise TypeError("a macko.DeviceMatrix is made of what is encoded: to_device() of a macko.Matrix makes one")
        self._cuda, self._matrix, handle = library(), matrix, ctypes.c_void_p()
        call_of(self._cuda, "macko_device_upload", matrix._handle, None, ctypes.byref(handle))
        self._handle, self._transposed, self.shape = handle, False, matrix.shape
        weakref.finalize(self, _destroy, self._cuda, handle.value)

    def __reduce__(self):
        raise TypeError("a macko.DeviceMatrix can be neither copied nor pickled: ask its Matrix for another with to_device()")

    @property
    def bytes(self):
        """In GPU memory."""
        return self._cuda.macko_device_bytes(self._handle)

    def multiply(self, x, out, transpose=False, alpha=1.0, beta=0.0, stream=None):
        """out = alpha A x + beta out, or with A' for A: arrays of the GPU of float64, float32 or float16, of a vector or of several as
        columns that lie one after another. Work is queued on stream, as a number, else on the one that out or x name, else on the
        default one; nothing is waited for."""
        alpha, beta = real_of("alpha", alpha), real_of("beta", beta)
        x, y = _Array("x", x, False), _Array("out", out, True)
        rows, columns = self.shape[::-1] if transpose else self.shape
        if x.shape[0] != columns or y.shape != (rows,) + x.shape[1:]:
            raise ValueError(f"x has the shape {x.shape} and out {y.shape}: {columns} and {rows} rows and as many columns are needed")
        if x.type != y.type:
            raise TypeError("x and out have elements of different types")
        stream = next((s for s in (stream, y.stream, x.stream) if s is not None), None)
        if transpose and not self._transposed:
            call_of(self._cuda, "macko_device_add_transpose", self._handle, self._matrix._handle, stream)
            self._transposed = True
        k = x.shape[1] if len(x.shape) == 2 else 1
        call_of(self._cuda, "macko_device_multiply", self._handle, int(transpose), x.type, k, alpha, x.address, x.apart, beta, y.address,
                y.apart, stream)
        return out
