"""libmacko by ctypes: the structs and functions of macko.h that the package calls."""
import ctypes
import ctypes.util
import numbers
import operator
import os
import subprocess

status_names = ("OK", "INVALID_ARGUMENT", "INVALID_MATRIX", "OUT_OF_MEMORY", "UNSUPPORTED", "LIMIT", "CORRUPT", "IO", "PARSE", "DEVICE")
type_names = ("f64", "f32", "f16", "bf16", "i8", "i32", "i64", "u8", "u16", "u32")


class Error(Exception):
    """What the library refused: its sentence, and the name of the status (one of status_names) as .status."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class CError(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("text", ctypes.c_char * 512), ("place", ctypes.c_int), ("row", ctypes.c_int64),
                ("col", ctypes.c_int64)]


class CSR(ctypes.Structure):
    _fields_ = [("nrows", ctypes.c_int64), ("ncols", ctypes.c_int64), ("row_ptr_type", ctypes.c_int), ("col_type", ctypes.c_int),
                ("value_type", ctypes.c_int), ("row_ptr", ctypes.c_void_p), ("cols", ctypes.c_void_p), ("values", ctypes.c_void_p),
                ("index_base", ctypes.c_int)]


class Info(ctypes.Structure):
    _fields_ = [("format", ctypes.c_int), ("value_type", ctypes.c_int), ("stored_type", ctypes.c_int), ("values", ctypes.c_int),
                ("layout", ctypes.c_int), ("variant", ctypes.c_int), ("gap_bits", ctypes.c_int), ("lossy", ctypes.c_int),
                ("nrows", ctypes.c_int64), ("ncols", ctypes.c_int64), ("nnz", ctypes.c_int64), ("bytes", ctypes.c_int64),
                ("csr_bytes", ctypes.c_int64), ("nsections", ctypes.c_int64), ("seconds", ctypes.c_double),
                ("csr_seconds", ctypes.c_double), ("reason", ctypes.c_char_p)]


# macko_options is a struct of ints, which only the library's own functions look into: more of them than it has.
Options = ctypes.c_int * 64


def candidates(library, variable, beside=None):
    """Names of the files that libLIBRARY may be: the one that the environment's VARIABLE names, else where the loader, the folder
    BESIDE and pkg-config find it."""
    if os.environ.get(variable):
        return [os.environ[variable]]
    names = [f"lib{library}.so.0", ctypes.util.find_library(library)]
    if beside:
        names.append(os.path.join(beside, f"lib{library}.so"))
    try:
        package = library.replace("_", "-")
        found = subprocess.run(["pkg-config", "--variable=libdir", package], capture_output=True, text=True, check=True).stdout.strip()
        names.append(os.path.join(found, f"lib{library}.so"))
    except (OSError, subprocess.CalledProcessError):
        pass
    return [name for name in names if name]


def _open():
    reasons = []
    for name in candidates("macko", "MACKO_LIBRARY"):
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            reasons.append(str(error))
    raise ImportError("libmacko is not found (" + "; ".join(reasons) + "): install it, or name the file in MACKO_LIBRARY")


lib = _open()
_pointer, _int, _int64, _double = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_double
_signatures = {
    "macko_options_init": (None, [_pointer]),
    "macko_options_set": (_int, [_pointer, ctypes.c_char_p, ctypes.c_char_p, _pointer]),
    "macko_encode": (_int, [_pointer, _pointer, _pointer, _pointer]),
    "macko_predict": (_int, [_pointer, _pointer, _pointer, _pointer]),
    "macko_refresh": (_int, [_pointer, _pointer, _pointer]),
    "macko_decode": (_int, [_pointer, _pointer, _pointer, _pointer, _pointer]),
    "macko_multiply": (_int, [_pointer, _int, _int, _int64, _double, _pointer, _int64, _double, _pointer, _int64, _pointer]),
    "macko_copy": (_int, [_pointer, _pointer, _pointer]),
    "macko_get_info": (None, [_pointer, _pointer]),
    "macko_destroy": (None, [_pointer]),
    "macko_read": (_int, [ctypes.c_char_p, _pointer, _pointer, _pointer, _pointer]),
    "macko_free_csr": (None, [_pointer]),
}
for _name, (_result, _arguments) in _signatures.items():
    getattr(lib, _name).restype, getattr(lib, _name).argtypes = _result, _arguments
for _name in ("format", "layout", "values", "variant", "type"):
    getattr(lib, f"macko_{_name}_name").restype = ctypes.c_char_p


def text_of(what, text):
    """The bytes that C reads up to the first NUL, which therefore must have none; what they are goes into the sentence."""
    if b"\0" in text:
        raise ValueError(f"{what} has a NUL byte: {text!r}")
    return text


def number_of(what, number, bits):
    """The same number, which has to fit into a C integer of so many bits: ctypes would leave the upper ones out."""
    number = operator.index(number)
    if number >> (bits - 1) not in (0, -1):
        raise ValueError(f"{what} of {number} is beyond {bits} bits")
    return number


def real_of(what, number):
    """The same number, which has to be a real one: ctypes would name the place of an argument and not its value."""
    plain = number.item() if hasattr(number, "item") else number  # of an array's elements, and of arrays of one
    if not isinstance(plain, numbers.Real):
        raise TypeError(f"{what} is {number!r}, not a real number")
    try:
        return float(plain)
    except OverflowError:
        raise OverflowError(f"{what} is {number!r}, which is beyond the range of doubles") from None


def call(name, *arguments):
    """A function whose last argument is an error; raises Error where it fails."""
    call_of(lib, name, *arguments)


def call_of(library, name, *arguments):
    """The same of another library."""
    error = CError()
    status = getattr(library, name)(*arguments, ctypes.byref(error))
    if status:
        raise Error(status_names[status] if status < len(status_names) else str(status), error.text.decode("utf-8", "replace"))


def name_of(what, number):
    """Of a format, layout, values, variant or type; None for the automatic one, which a format has that has none."""
    text = getattr(lib, f"macko_{what}_name")(number)
    text = text.decode() if text else None
    return None if text == "auto" else text
