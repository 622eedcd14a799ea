"""Limits on what comes from outside: how much is unpacked and written, and what its readers raise.

A checksum is known to be right only once the whole file is there. Until then a server can send
without end, and an archive can unpack to a thousand times its size.
"""

import bz2
import errno
import gzip
import lzma
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

UNPACKED = 2**28
"""Bytes that a compressed file or archive may hold where they are read into memory at once."""

_CHUNK = 2**16
_XZ = b"\xfd7zXZ\0"


def copy(content: BinaryIO, target: BinaryIO, most: int) -> None:
    """Copy a stream to another, up to a limit.

    Parameters
    ----------
    content, target
        Open for reading and for writing.
    most
        In bytes.

    Raises
    ------
    ValueError
        If there is more, of which nothing is written.
    """
    left = most
    while chunk := content.read(min(_CHUNK, left + 1)):
        if len(chunk) > left:
            raise too_large(most)
        target.write(chunk)
        left -= len(chunk)


def read(content: BinaryIO, most: int | None = None) -> bytes:
    """Return what a stream holds.

    Parameters
    ----------
    content
        Open for reading.
    most
        In bytes; `UNPACKED` when None.

    Raises
    ------
    ValueError
        If there is more.
    """
    most = UNPACKED if most is None else most
    found = content.read(most + 1)
    if len(found) > most:
        raise too_large(most)
    return found


def unpacked(path: str | Path) -> bytes:
    """Return the content of a file, decompressed where it is of gzip, bzip2 or xz.

    Raises
    ------
    ValueError
        If it decompresses to more than `UNPACKED` bytes. What the decompressors raise comes
        through.
    """
    with Path(path).open("rb") as file:
        start = file.read(len(_XZ))
        file.seek(0)
        for mark, opened in ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (_XZ, lzma.open)):
            if start.startswith(mark):
                with opened(file, "rb") as content:
                    return read(content)
        return file.read()


def too_large(most: int) -> ValueError:
    """Return the error for what is larger than a limit in bytes."""
    return ValueError(f"it holds more than the {most} bytes that are expected at most")


@contextmanager
def damaged(what: str) -> Iterator[None]:
    """Raise one kind of error from a block that reads what may be damaged.

    The libraries that read data raise whatever a damaged file leads them to, from `AssertionError`
    to `zlib.error`.

    Parameters
    ----------
    what
        What is read, e.g. `archive`.

    Raises
    ------
    ValueError
        In the place of all errors but those of the operating system (a full disk), in one line.
    """
    try:
        yield
    except ValueError:
        raise
    except Exception as error:
        # An offset that no file can have is an invalid argument to the operating system.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        words = " ".join(f"{error}".split())[:300]
        told = f"{type(error).__name__}: {words}".removesuffix(": ")
        raise ValueError(f"damaged {what} ({told})") from error


@contextmanager
def named(path: str | Path, what: str, remedy: str) -> Iterator[None]:
    """Name the file in every error of a block that reads it.

    Parameters
    ----------
    path
        The file that is read.
    what
        What it should be, e.g. `zip archive`.
    remedy
        What to do where it is damaged.

    Raises
    ------
    ValueError
        As `damaged` does.
    """
    try:
        with damaged(f"or cut short, or no {what}"):
            yield
    except ValueError as error:
        words = " ".join(f"{error}".split())
        if f"{path}" not in words:
            words = f"{path}: {words}"
        raise ValueError(f"{words}; {remedy}" if error.__cause__ else words) from error
