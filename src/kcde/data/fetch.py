"""Raw data: into the data folder, from a mirror, the web or the copy in the repository.

A file stands at its place only when its SHA-256 is the catalogue's. A data set without one (its
original changes over time) is never downloaded, because it would be unknown whether two runs used
the same numbers. A server or an archive never makes more be written than the catalogue states.
"""

import bz2
import gzip
import hashlib
import io
import lzma
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote, urlsplit

from kcde.data import catalogue as tables
from kcde.data.catalogue import Entry, Source
from kcde.files import atomic

TIMEOUT = (3.0, 30.0)  # seconds to wait for a connection, and for the next bytes
# Seconds that any download may take, and bytes a second that it must bring from then on.
PATIENCE, SLOWEST = 60.0, 10_000
# Bytes of a file, and of an archive, whose size the catalogue does not have.
LARGEST_FILE, LARGEST_ARCHIVE = 2**30, 2**26
UNPACKED = 2**28  # bytes that a compressed file may hold where it is read at once

_CHUNK = 2**16
_unreachable: set[str] = set()  # hosts without a connection, not asked again by this process


class UnavailableError(OSError):
    """No source has a data set; the message says which were tried, and what to do."""


@dataclass(frozen=True)
class Fetched:
    """A file with the right checksum: where it lies, and where it came from.

    `origin` is one of data folder, mirror, original and bundled, `source` the address or path, and
    `failed` has a line for every source that was tried before.
    """

    name: str
    path: Path
    sha256: str
    origin: str = "data folder"
    source: str = ""
    failed: tuple[str, ...] = ()

    def __str__(self) -> str:
        origin = f"{self.origin} {self.source}".strip()
        return f"{self.name}: {self.path}, from {origin}, sha256 {self.sha256}"


def fetch(
    name: str, data_dir: str | Path, mirror: str | Path | None = None, catalogue: Path | None = None
) -> Fetched:
    """Put the file of one data set into `data_dir`, unless it is there already.

    The mirror is tried first, then each URL of the catalogue, then the copy in the repository.

    Parameters
    ----------
    name
        Name or alias in the catalogue.
    data_dir
        The raw data folder; archives are kept in its `archives/`, so that data sets of one
        package download it once.
    mirror
        A folder, or the URL of one, with the catalogue's `file` paths below it.
    catalogue
        A catalogue CSV; the built-in one when None.

    Raises
    ------
    ValueError
        If the catalogue has no such data set.
    UnavailableError
        If no source has the file; nothing is left of the attempts.
    """
    entry = tables.find(tables.read(catalogue), name)
    if not entry.sha256:
        raise UnavailableError(f"data set {entry.name} is never downloaded: {entry.notes}")
    path, failed = Path(data_dir) / entry.file, []
    if path.is_file():
        if sha256_of(path) == entry.sha256:
            return Fetched(entry.name, path, entry.sha256)
        failed.append(f"{path} (wrong checksum)")
    for origin, place in _places(entry, mirror):
        try:
            _take(place, entry, Path(data_dir))
        except Exception as error:  # what a server or an archive sends may lead to any
            told = " ".join(f"{type(error).__name__}: {error}".split())
            failed.append(f"{place} ({told[:200]})")
        else:
            return Fetched(entry.name, path, entry.sha256, origin, str(place), tuple(failed))
    raise UnavailableError(
        f"data set {entry.name} is unavailable; tried: {'; '.join(failed) or 'nothing'}; remedy: "
        f"name a folder or URL that has {entry.file} in --mirror or KCDE_DATA_MIRROR, or put the "
        f"file at {path}{' (git checkout -- resources/data has it)' * bool(entry.bundled)}"
    )


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_sha256(path: Path, expected: str) -> None:
    """Raise ValueError, naming both digests, unless the file's SHA-256 is the expected one."""
    if (found := sha256_of(path)) != expected:
        raise ValueError(f"wrong checksum: expected sha256 {expected}, found {found}")


def bundled_folder() -> Path | None:
    """Return `resources/data` of the repository that this package lies in, or None without one."""
    source = Path(__file__).resolve().parents[2]
    found = source.parent / "resources" / "data"
    return found if source.name == "src" and found.is_dir() else None


@contextmanager
def bundled_files(*names: str) -> Iterator[Path]:
    """Give a folder with the bundled raw files of data sets, for as long as the context lasts.

    Parameters
    ----------
    *names
        Of the catalogue, or aliases.

    Yields
    ------
    pathlib.Path
        A `data_dir` for `kcde.data.loaders.load`; no network is asked.

    Raises
    ------
    FileNotFoundError
        If the package is installed without its repository, or a data set has no bundled copy.
    ValueError
        If there is no such data set.

    Examples
    --------
    >>> from kcde.data import fetch, loaders
    >>> with fetch.bundled_files("geyser") as raw:
    ...     geyser = loaders.load("geyser", raw)
    >>> geyser.x_columns, geyser.y_columns, geyser.X.shape
    (('waiting',), ('duration',), (299, 1))
    """
    root, known = bundled_folder(), tables.read()
    if root is None:
        raise FileNotFoundError("kcde has bundled copies only where it runs from its repository")
    with tempfile.TemporaryDirectory() as folder:
        for entry in [tables.find(known, name) for name in names]:
            if not entry.bundled:
                raise FileNotFoundError(f"no bundled copy: run kcde fetch {entry.name}")
            _take(root / entry.bundled, entry, Path(folder))
        yield Path(folder)


def unpacked(path: str | Path) -> bytes:
    """Return the content of a file, decompressed where it is of gzip, bzip2 or xz."""
    openers = {b"\x1f\x8b": gzip.open, b"BZ": bz2.open, b"\xfd7": lzma.open}
    with Path(path).open("rb") as file:
        opener = openers.get(file.read(2), open)
    with opener(path, "rb") as content:
        found = content.read(UNPACKED + 1)
    if len(found) > UNPACKED:
        raise ValueError(f"it unpacks to more than {UNPACKED} bytes")
    return found


def _places(entry: Entry, mirror: str | Path | None) -> Iterator[tuple[str, Path | Source]]:
    """Yield where the file may be, in the order of trying."""
    if mirror and str(mirror).startswith(("https://", "http://")):
        yield "mirror", Source(f"{str(mirror).rstrip('/')}/{quote(entry.file)}")
    elif mirror:
        yield "mirror", Path(mirror).expanduser() / entry.file
    for source in entry.urls:
        yield "original", source
    if entry.bundled and (root := bundled_folder()) is not None:
        yield "bundled", root / entry.bundled


def _take(place: Path | Source, entry: Entry, data_dir: Path) -> None:
    """Put the file that a place holds into the data folder, if its checksum is right."""
    path = data_dir / entry.file
    most = LARGEST_FILE if entry.bytes is None else entry.bytes
    if isinstance(place, Path):
        opener = lzma.open if place.suffix == ".xz" != path.suffix else open
        with opener(place, "rb") as content, atomic(path) as temporary:
            _copy(content, temporary, most)
            check_sha256(temporary, entry.sha256)
    elif place.member is None:
        _download(place.url, path, most, entry.sha256)
    else:
        # Different hosts use the same file names, so the kept name carries a digest of the URL.
        digest = hashlib.sha256(place.url.encode()).hexdigest()[:8]
        archive = data_dir / "archives" / f"{digest}-{Path(urlsplit(place.url).path).name}"
        _download(place.url, archive, LARGEST_ARCHIVE)
        try:
            with atomic(path) as temporary:
                extract(archive, place.member, temporary, most)
                check_sha256(temporary, entry.sha256)
        except Exception:
            archive.unlink(missing_ok=True)
            raise


def extract(archive: Path, member: str, target: Path, most: int) -> None:
    """Write one member of a tar or zip file, at most `most` bytes, to `target`.

    One that ends in `.gz` is decompressed where `target` does not. Only its bytes are taken, so no
    path in the archive can lead astray.
    """
    if zipfile.is_zipfile(archive):
        container = zipfile.ZipFile(archive)
        opened = container.open(member)
    else:
        # The headers of a tar file may declare any size for themselves, and are read at once.
        container = tarfile.open(fileobj=io.BytesIO(unpacked(archive)), mode="r:")  # noqa: SIM115
        opened = container.extractfile(member)
    with container, opened as content:
        if member.endswith(".gz") and target.suffix != ".gz":
            content = gzip.GzipFile(fileobj=content)
        _copy(content, target, most)


def _copy(content: BinaryIO, target: Path, most: int) -> None:
    with target.open("wb") as out:
        left = most
        while chunk := content.read(min(_CHUNK, left + 1)):
            if (left := left - len(chunk)) < 0:
                raise ValueError(f"it holds more than {most} bytes")
            out.write(chunk)


def _download(url: str, path: Path, most: int, sha256: str | None = None) -> None:
    """Download a file of at most `most` bytes, unless it is there with its checksum, if any."""
    import pooch
    import requests
    from tqdm import tqdm

    def download(url: str, output_file: str, _: object) -> None:
        host, started, received = urlsplit(url).netloc, time.monotonic(), 0
        if host in _unreachable:
            raise ConnectionError("no connection a moment ago")
        try:
            # As it is stored: a compressed answer has another length.
            headers = {"Accept-Encoding": "identity"}
            response = requests.get(url, headers=headers, stream=True, timeout=TIMEOUT)
        except requests.ConnectionError as error:
            _unreachable.add(host)
            raise ConnectionError("no connection") from error
        bar = tqdm(desc=path.name, unit="B", unit_scale=True, leave=False, disable=None)
        with response, bar, open(output_file, "wb") as out:
            response.raise_for_status()
            # One byte a second would do for the time-out, so that the whole has a pace, too.
            while chunk := response.raw.read1(_CHUNK):
                received += len(chunk)
                if received > most:
                    raise ValueError(f"it sends more than {most} bytes")
                if received < SLOWEST * (time.monotonic() - started - PATIENCE):
                    raise TimeoutError(f"given up, too slow after {received} bytes")
                out.write(chunk)
                bar.update(len(chunk))

    pooch.get_logger().setLevel("WARNING")
    pooch.retrieve(url, sha256 and f"sha256:{sha256}", path.name, path.parent, downloader=download)
    path.chmod(0o644)  # pooch leaves it to its owner alone
