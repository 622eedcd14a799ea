"""A synthetic terrain as a MATLAB file of version 5, in the layout that MATLAB writes."""

import struct
import zlib

import numpy as np

from kcde.seeding import rng_of

COLUMNS, ROWS = 20, 17
"""Points of the grid along each coordinate."""

_STEP = 8
_MATRIX, _COMPRESSED = 14, 15
_INT8, _UINT32, _INT32 = 1, 6, 5
_STORED = {"uint8": 2, "uint16": 4, "float64": 9}
_DOUBLE_CLASS = 6


def content() -> bytes:
    """Return a file with the variables of `MtSH.mat` in its order and types; always the same bytes.

    A peak with a rim and some bumps, in metres, over a grid whose coordinates are multiples of 8,
    as uint16 with the first coordinate fastest, and the gradient.
    """
    first, second = np.meshgrid(np.arange(1, COLUMNS + 1), np.arange(1, ROWS + 1))
    points = _STEP * np.column_stack([first.ravel(), second.ravel()]).astype(np.uint16)
    heights = _heights(points.astype(np.float64)).reshape(ROWS, COLUMNS)
    along_second, along_first = np.gradient(heights, float(_STEP))
    variables = {
        "mth_grads": np.column_stack([along_first.ravel(), along_second.ravel()]),
        "mth_points": points,
        "mth_verts": heights.reshape(-1, 1),
        "nx": np.array([[COLUMNS]], np.uint8),
        "ny": np.array([[ROWS]], np.uint8),
    }
    header = b"MATLAB 5.0 MAT-file, Platform: made up, as its name says".ljust(124)
    version = struct.pack("<HH", 0x0100, 0x4D49)
    return b"".join([header, version, *(_variable(*each) for each in variables.items())])


def _heights(points: np.ndarray) -> np.ndarray:
    rng = rng_of("smoke-data", "smoke-terrain")
    size = np.array([COLUMNS, ROWS]) * _STEP
    radius = np.linalg.norm((points - 0.5 * size) / size, axis=1)
    heights = 800.0 + 1500.0 * np.exp(-0.5 * ((radius - 0.12) / 0.15) ** 2)
    for _ in range(6):
        centre, width = rng.uniform(0.0, 1.0, 2) * size, rng.uniform(10.0, 25.0)
        squared = np.sum((points - centre) ** 2, axis=1)
        heights += rng.uniform(30.0, 120.0) * np.exp(-0.5 * squared / width**2)
    return heights


def _variable(name: str, values: np.ndarray) -> bytes:
    """Return a compressed matrix of doubles, its numbers stored in the type that they have."""
    parts = (
        _element(_UINT32, struct.pack("<II", _DOUBLE_CLASS, 0)),
        _element(_INT32, struct.pack("<ii", *values.shape)),
        _element(_INT8, name.encode("ascii")),
        _element(_STORED[values.dtype.name], values.tobytes(order="F")),
    )
    packed = zlib.compress(_element(_MATRIX, b"".join(parts)))
    return struct.pack("<II", _COMPRESSED, len(packed)) + packed


def _element(kind: int, data: bytes) -> bytes:
    """Return tag and data, filled up to 8 bytes; up to 4 bytes of data stand within the tag."""
    if len(data) <= 4:
        return struct.pack("<HH", kind, len(data)) + data.ljust(4, b"\0")
    return struct.pack("<II", kind, len(data)) + data + b"\0" * (-len(data) % 8)
