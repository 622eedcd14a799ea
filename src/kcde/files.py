"""Files that are written completely or not at all, and read whole or refused by name."""

import io
import json
import math
import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

_PACKED, _SMALL = 100, 2**24
"""Times its size, and bytes beyond, that an archive may unpack to."""


@contextmanager
def atomic(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary path that becomes `path` when the block succeeds.

    If the block fails or is interrupted, `path` is unchanged and no partial file is left; a process
    that is killed leaves its temporary file, `.name-` and eight more characters. Missing parent
    folders are created. The temporary name keeps the suffix, because writers such as `numpy.savez`
    and matplotlib choose the format by it.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # With the usual permissions: mkstemp made it private.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read_object(path: str | os.PathLike) -> dict | None:
    """Return the object in a JSON file; None if the file is missing or damaged."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


@contextmanager
def refused(path: str | os.PathLike, said: str, remedy: str = "") -> Iterator[None]:
    """Raise whatever a file leads to as a `ValueError` of one line with its name and the remedy."""
    try:
        yield
    except FileNotFoundError:
        raise
    except Exception as error:  # whatever a file that anyone may have made leads to
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{path} {said}: {reason}{remedy and '; ' + remedy}") from None


def read_arrays(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """Return the arrays of an `.npz`, of no more bytes than there are."""
    with zipfile.ZipFile(path) as file:
        require_small(file, os.path.getsize(path))
        return {name.removesuffix(".npy"): array_in(file, name) for name in file.namelist()}


def require_small(file: zipfile.ZipFile, size: int) -> None:
    """Refuse an archive that would unpack to far more than it is, or that has a name twice."""
    entries = file.infolist()
    if len({each.filename for each in entries}) < len(entries):
        raise ValueError("it has a part twice")
    require_ratio(sum(each.file_size for each in entries), size)


def require_ratio(unpacked: int, size: int) -> None:
    """Refuse what unpacks to far more than it is."""
    if unpacked > _PACKED * size + _SMALL:
        raise ValueError(f"it would unpack to more than {_PACKED} times its size")


def part_of(file: zipfile.ZipFile, name: str) -> bytes:
    """Return a part of an archive: as many bytes as it says to have, whatever it unpacks to."""
    with file.open(name) as part:
        return part.read(file.getinfo(name).file_size)


def array_in(file: zipfile.ZipFile, name: str) -> np.ndarray:
    """Return an array of an archive, which is as long as its header says."""
    content = part_of(file, name)
    buffer = io.BytesIO(content)
    np.lib.format.read_magic(buffer)
    shape, _, dtype = np.lib.format.read_array_header_1_0(buffer)
    # Before anything is allocated: what a header says is not what there is.
    if math.prod(shape) * dtype.itemsize != len(content) - buffer.tell():
        raise ValueError(f"array {name} is not as long as its header says")
    buffer.seek(0)
    return np.lib.format.read_array(buffer, allow_pickle=False)


@contextmanager
def staged(folder: str | os.PathLike) -> Iterator[Path]:
    """Yield an empty folder within `folder`, whose files move up when the block succeeds.

    They change together: if one cannot be written (a full disk), or the block fails or is
    interrupted, every file in `folder` is unchanged. Files keep their path below the folder.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".kcde-") as name:
        yield Path(name)
        for source in sorted(path for path in Path(name).rglob("*") if path.is_file()):
            target = Path(folder) / source.relative_to(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            source.replace(target)
