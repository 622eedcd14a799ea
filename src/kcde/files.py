"""Writing a file whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary path that becomes `path` when the block succeeds.

    An interrupted or failing block leaves whatever stood at `path` before, and no half-written
    file. Missing parent folders are created. The temporary name keeps the suffix, because
    writers such as `numpy.savez` and matplotlib choose the format by it.

    Parameters
    ----------
    path
        Where the finished file is to stand.

    Yields
    ------
    pathlib.Path
        A file in the same folder, so that the renaming is atomic.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes files private; results are to be as readable as any other new file.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def locked(folder: str | os.PathLike) -> Iterator[None]:
    """Hold the lock of a folder: other processes that ask for it wait.

    It is the folder itself that is locked, so no file is left behind. A missing folder is created.
    Where the system has no such locks (Windows) nobody waits.

    Parameters
    ----------
    folder
        What is to be changed by one process at a time.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
