"""Sparse matrices stored in a fraction of CSR's bytes and multiplied straight from the compressed form.

    import macko
    a = macko.encode(scipy_sparse_matrix)           # or encode((row_ptr, cols, values), shape=(m, n))
    y = a @ x                                       # x: a vector, or several as the columns of an array
    macko.encode(s, format="dtans", prefer="memory").info["bytes"]
    scipy.sparse.linalg.gmres(a.linear_operator(), b)
    a.to_device().multiply(x, out=y)                # x and y in GPU memory: whatever has __cuda_array_interface__

Options are those of macko_options_set (format, layout, gap_bits, values, variant, prefer, overflow, target), by name. What the library refuses
is raised as macko.Error with its sentence. The library is libmacko, which `make install` puts into place: it is looked for where the
environment variable MACKO_LIBRARY says, then where the loader and pkg-config find it."""
from ._device import DeviceMatrix
from ._library import Error, status_names
from ._matrix import Matrix, encode, predict, read

__all__ = ["DeviceMatrix", "Error", "Matrix", "encode", "predict", "read", "status_names"]
