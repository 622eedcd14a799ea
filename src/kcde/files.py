"""Files that are written completely or not at all."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


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
