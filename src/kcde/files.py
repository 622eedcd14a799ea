"""Writing a file whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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
    with _beside(path) as temporary:
        yield temporary
        _put(temporary, Path(path))


@contextmanager
def staged(folder: str | os.PathLike) -> Iterator[Path]:
    """Yield an empty folder elsewhere, whose files all go into `folder` when the block succeeds.

    They change together: where one cannot be written (a full disk), or the block fails or is
    interrupted, every file in `folder` stays as it was. Files keep their place below the folder.

    Parameters
    ----------
    folder
        Where the finished files are to stand.

    Yields
    ------
    pathlib.Path
        An empty folder for temporary files of the system.
    """
    with tempfile.TemporaryDirectory(prefix="kcde-") as name, ExitStack() as copies:
        stage = Path(name)
        yield stage
        finished = [path for path in sorted(stage.rglob("*")) if path.is_file()]
        ready = []
        for source in finished:
            target = Path(folder) / source.relative_to(stage)
            temporary = copies.enter_context(_beside(target))
            shutil.copyfile(source, temporary)
            ready.append((temporary, target))
        for temporary, target in ready:
            _put(temporary, target)


@contextmanager
def _beside(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary file in the folder of `path`, made if need be, and remove it after all."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _put(temporary: Path, path: Path) -> None:
    """Rename a temporary file; mkstemp made it private, and it is to be readable as any other."""
    umask = os.umask(0)
    os.umask(umask)
    temporary.chmod(0o666 & ~umask)
    temporary.replace(path)


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
