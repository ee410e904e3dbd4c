"""Arrays as .npy: numbers of few kinds, in C order, little-endian.

numpy's own reader evaluates the header as a Python literal and takes the memory that it declares; this one knows the
one form that numpy writes and compares it with the bytes that are there.
"""

from __future__ import annotations

import math
import re
from io import BytesIO
from os import PathLike

import numpy as np

from podium._validation import Array, FormatError, PodiumError

KINDS = {
    np.dtype(kind).str: np.dtype(kind)
    for kind in ("|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f4", "<f8")
}
"""What an array may hold."""
MAGIC = b"\x93NUMPY\x01\x00"
HEADER = re.compile(
    rb"\{'descr': '([|<][biuf][1248])', 'fortran_order': False, "
    rb"'shape': \(((?:[0-9]{1,10}(?:,|(?:, [0-9]{1,10}){1,3}))?)\), \} *\n"
)
"""Kind and shape, of four dimensions at most, as numpy writes them."""
MAX_NUMBERS = 2**40
"""Most numbers of an array, a size of 0 counting as 1."""


def to_npy(array: Array) -> bytes:
    """Return an array as the bytes of a .npy file."""
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if little.dtype.str not in KINDS or little.ndim > 4:
        raise PodiumError(
            f"A model file holds arrays of numbers, of four dimensions at most; got {array.ndim} of {array.dtype}."
        )
    buffer = BytesIO()
    np.lib.format.write_array(buffer, np.asarray(little, order="C"), version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def from_npy(data: bytes, name: str, path: str | PathLike[str]) -> Array:
    """Return the array that `to_npy` wrote; an array of its own, which may be written to."""
    start = len(MAGIC) + 2
    begin = start + int.from_bytes(data[len(MAGIC) : start], "little")
    header = HEADER.fullmatch(data[start:begin])
    kind = KINDS.get(header[1].decode()) if header else None
    if not data.startswith(MAGIC) or header is None or kind is None:
        raise FormatError(path, f"{name} is not an array of numbers as numpy writes it, little-endian and in C order")
    shape = tuple(int(size) for size in header[2].split(b",") if size)
    if math.prod(shape) * kind.itemsize != len(data) - begin or math.prod(max(size, 1) for size in shape) > MAX_NUMBERS:
        raise FormatError(path, f"{name} has {len(data) - begin} bytes of numbers, which is not its shape {shape}")
    array: Array = np.ndarray(shape, kind, data, begin).astype(kind.newbyteorder("="))
    if kind == np.bool_ and array.view(np.uint8).max(initial=0) > 1:
        raise FormatError(path, f"{name} holds bytes that are neither true nor false")
    return array
