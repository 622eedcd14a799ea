"""MATLAB files of level 5, as `save -v6` and `-v7` write them: their matrices of real numbers.

SciPy's reader is compiled and trusts the sizes in a file: where they lie it reads past its buffers
and ends the process. This one compares every size with the bytes that are there. Layout and codes
are those of "MAT-File Format" (The MathWorks, R2018a), chapter 1.
"""

import struct
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from kcde.data import limits

_HEADER = 128
_BYTE_ORDER = {b"\x00\x01IM": "<", b"\x01\x00MI": ">"}
_MATRIX, _COMPRESSED = 14, 15
_COMPLEX = 0x800

_STORED = {
    1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8",
}  # fmt: skip
"""Types in which numbers are stored, the smallest that holds a matrix (table 1-1)."""

_CLASSES = {
    6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8",
}  # fmt: skip
"""Types that the matrices have in MATLAB (table 1-3), of those that hold numbers."""


def read(path: str | Path) -> dict[str, np.ndarray]:
    """Read the matrices of a file; text, cells, structures, sparse and complex ones are left out.

    Parameters
    ----------
    path
        A MAT file of level 5.

    Returns
    -------
    dict
        Name to a matrix, of two dimensions and of the type that it has in MATLAB.

    Raises
    ------
    ValueError
        If it is no such file, or what it says of its sizes is not true.
    """
    content = Path(path).read_bytes()
    order = _BYTE_ORDER.get(content[_HEADER - 4 : _HEADER])
    if order is None:
        raise ValueError(
            f"{path} is no MATLAB file of level 5: save it with `save -v7` (`-v7.3` and `-v4` are "
            "other formats)"
        )
    found, left = {}, limits.UNPACKED
    for kind, data in _elements(memoryview(content)[_HEADER:], order):
        if kind == _COMPRESSED:
            unpacked = zlib.decompressobj().decompress(data, left + 1)
            if (left := left - len(unpacked)) < 0:
                raise limits.too_large(limits.UNPACKED)
            kind, data = next(_elements(memoryview(unpacked), order), (0, data))
        if kind != _MATRIX:
            raise ValueError(f"{path} is damaged: an element of type {kind}, where a matrix stands")
        found |= _matrix(data, order)
    return found


def _elements(data: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """Yield type and content of each element; up to 4 bytes stand within the tag (figure 1-2)."""
    place = 0
    while place < len(data):
        if len(data) - place < 8:
            raise ValueError(f"it is damaged: {len(data) - place} bytes, where a tag of 8 stands")
        kind, size = struct.unpack_from(f"{order}II", data, place)
        start, small = place + 8, kind >> 16
        if small:
            kind, size, start = kind & 0xFFFF, small, place + 4
        end = start + size
        if end > len(data) or (small and size > 4):
            raise ValueError(f"it is damaged: an element of {size} bytes, where there are fewer")
        yield kind, data[start:end]
        # After compressed elements alone the next follows at once.
        place = place + 8 if small else end + (-size % 8 if kind != _COMPRESSED else 0)


def _matrix(data: memoryview, order: str) -> dict[str, np.ndarray]:
    """Return a matrix under its name; nothing where it does not hold real numbers."""
    parts = list(islice(_elements(data, order), 4))
    if len(parts) < 4 or len(parts[0][1]) != 8:
        # A matrix without elements ends after its name.
        return {}
    (_, flags), (_, sizes), (_, name), (stored, numbers) = parts
    (code,) = struct.unpack_from(f"{order}I", flags)
    if code & 0xFF not in _CLASSES or code & _COMPLEX or len(sizes) != 8:
        return {}
    shape = struct.unpack(f"{order}ii", sizes)
    if stored not in _STORED:
        raise ValueError(f"it is damaged: a matrix of numbers of type {stored}")
    kind = np.dtype(order + _STORED[stored])
    if min(shape) < 0 or shape[0] * shape[1] * kind.itemsize != len(numbers):
        raise ValueError(
            f"it is damaged: {len(numbers)} bytes for a matrix of {shape[0]} rows and {shape[1]} "
            f"columns of {kind.itemsize} bytes"
        )
    values = np.frombuffer(numbers, kind).reshape(shape, order="F")
    return {bytes(name).decode("ascii"): values.astype(_CLASSES[code & 0xFF])}
