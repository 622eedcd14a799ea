"""Sizes of blocks of rows."""

from array_api_compat import is_cupy_array

_BLOCK, _CACHED, _ON_DEVICE = 1 << 18, 1 << 16, 1 << 24


def row_blocks(n: int, row_size: int, *, cached: bool = False, like=None) -> list[slice]:
    """Return slices that split n rows so that a temporary of `row_size` numbers a row stays small.

    That is 2 MB, unless a single row is larger; on a device 128 MB, because smaller operations cost
    less than their launch.

    Parameters
    ----------
    n
        Number of rows.
    row_size
        Numbers a row, at least 0.
    cached
        Half a megabyte instead, for loops that do little with each number: a core's own cache holds
        a few of them, and memory freed is there for the next, where the C library would hand larger
        pieces back to the system and wait for them to be zeroed again. Nothing on a device.
    like
        An array of those that the loop computes with; it says whether they are on a device.
    """
    size = max(1, block_size(cached=cached, like=like) // max(1, row_size))
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def block_size(*, cached: bool = False, like=None) -> int:
    """Return how many numbers a block of `row_blocks` has, unless a single row is larger."""
    return _ON_DEVICE if is_cupy_array(like) else _CACHED if cached else _BLOCK
