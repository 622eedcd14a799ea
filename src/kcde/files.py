"""Files that are written completely or not at all."""

import glob
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path


@contextmanager
def atomic(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary path that becomes `path` when the block succeeds.

    If the block fails or is interrupted, `path` is unchanged and no partial file is left. A process
    that is killed leaves its temporary file, `.name-` and eight more characters: `finished` ignores
    it, and the next writer of `path` removes it. Missing parent folders are created. The temporary
    name keeps the suffix, because writers such as `numpy.savez` and matplotlib choose the format by
    it.

    Parameters
    ----------
    path
        Of the finished file.

    Yields
    ------
    pathlib.Path
        A file in the same folder, so that the renaming is atomic.
    """
    with _beside(path) as temporary:
        yield temporary
        _put(temporary, Path(path))


def finished(folder: str | os.PathLike, pattern: str) -> list[Path]:
    """Return the files below a folder that match, in order, without temporary ones.

    Parameters
    ----------
    folder
        Where to look; a missing folder has no files.
    pattern
        As of `pathlib.Path.glob`.
    """
    return sorted(path for path in Path(folder).glob(pattern) if not path.name.startswith("."))


def read_object(path: str | os.PathLike) -> dict | None:
    """Return the object in a JSON file; None if the file is missing or damaged.

    Parameters
    ----------
    path
        A file that can be made again.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


@contextmanager
def staged(folder: str | os.PathLike) -> Iterator[Path]:
    """Yield an empty folder elsewhere, whose files move to `folder` when the block succeeds.

    They change together: if one cannot be written (a full disk), or the block fails or is
    interrupted, every file in `folder` is unchanged. Files keep their path below the folder.

    Parameters
    ----------
    folder
        Of the finished files.

    Yields
    ------
    pathlib.Path
        An empty folder among the system's temporary files.
    """
    with tempfile.TemporaryDirectory(prefix="kcde-") as name, ExitStack() as copies:
        stage = Path(name)
        yield stage
        ready = []
        for source in sorted(path for path in stage.rglob("*") if path.is_file()):
            target = Path(folder) / source.relative_to(stage)
            temporary = copies.enter_context(_beside(target))
            shutil.copyfile(source, temporary)
            ready.append((temporary, target))
        for temporary, target in ready:
            _put(temporary, target)


@contextmanager
def _beside(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary file in the folder of `path`, and remove it if it is left."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path)
    with ExitStack() as life:
        temporary = _temporary(path, life)
        try:
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)


def _temporary(path: Path, life: ExitStack) -> Path:
    """Make a temporary file, locked until `life` ends, which shows that its process is alive."""
    while True:
        handle, name = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix
        )
        is_locked = _lock(handle, wait=True)
        # Another process may have removed it as left by a killed one before it was locked.
        if is_locked and os.path.exists(name):
            life.callback(os.close, handle)
            return Path(name)
        os.close(handle)
        if not is_locked:
            return Path(name)


def _sweep(path: Path) -> None:
    """Remove the temporary files of `path` that killed processes have left."""
    for left in path.parent.glob(f".{glob.escape(path.stem)}-????????{glob.escape(path.suffix)}"):
        with suppress(OSError):
            handle = os.open(left, os.O_RDWR)
            try:
                if _lock(handle, wait=False):
                    left.unlink()
            finally:
                os.close(handle)


def _lock(handle: int, *, wait: bool) -> bool:
    """Lock an open file; False if another process holds the lock, or without locks."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _put(temporary: Path, path: Path) -> None:
    """Rename a temporary file, with the usual permissions: mkstemp made it private."""
    umask = os.umask(0)
    os.umask(umask)
    temporary.chmod(0o666 & ~umask)
    temporary.replace(path)
