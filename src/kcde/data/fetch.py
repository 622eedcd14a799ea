"""Raw data: from a mirror, the web or a bundled copy to the data folder, with their checksums.

Data that cannot be had are a result, not a crash: `fetch` returns a record of what was
tried and what to do. A file stands at its place only when its SHA-256 is the catalogue's; a data
set without one (its original changes over time) is never downloaded, because it would be
unknown whether two runs used the same numbers.
"""

import gzip
import hashlib
import io
import json
import sys
import tarfile
import threading
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import BinaryIO
from urllib.parse import quote, urlsplit

from kcde.data import bundled as copies
from kcde.data import catalogue as tables
from kcde.data import hosts, limits, notes
from kcde.data.catalogue import Entry, Source
from kcde.files import atomic, locked

PAUSES = (0.3, 1.0)
"""Seconds before the second and the third attempt at one URL."""

TIMEOUT = (hosts.SECONDS, 30.0)
"""Seconds to wait for a connection, and for the next bytes."""

THERE = "data folder"
MIRROR = "mirror"
ORIGINAL = "original"
BUNDLED = "bundled"

SOURCES = ".sources.json"
"""The file in the data folder that notes from where each file came."""

TRANSIENT_STATUS = {408, 425, 429, 500, 502, 503, 504}

LARGEST_ARCHIVE = 2**26
"""Bytes of an archive, whose size the catalogue does not have; those of R take a few millions."""

LARGEST_FILE = 2**30
"""Bytes of a file whose size the catalogue does not have."""

SLOWEST = 10_000
"""Bytes a second that a download must bring on average, once `PATIENCE` is over."""

PATIENCE = 60.0
"""Seconds that a download may take however little it brings."""


@dataclass
class _Search:
    """The search for one data set: where to look, and what was found."""

    entry: Entry
    data_dir: Path
    mirror: str | Path | None
    bundled: Path | None
    others: list[str]
    progress: bool
    tried: list[dict[str, str]] = field(default_factory=list)
    reached: list[bool] = field(default_factory=list)

    @property
    def path(self) -> Path:
        return self.data_dir / self.entry.file

    @property
    def most(self) -> int:
        """How many bytes are written for it at most."""
        return LARGEST_FILE if self.entry.bytes is None else self.entry.bytes


def fetch(
    name: str,
    data_dir: str | Path,
    mirror: str | Path | None = None,
    catalogue: str | Path | None = None,
    progress: bool = False,
    bundled: str | Path | None = None,
) -> dict:
    """Download one data set into `data_dir`, or report why it is unavailable.

    A file that is there with the right checksum is used as it is. Otherwise the mirror is tried,
    then each URL of the catalogue, then the copy that comes with the repository.

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
    progress
        Show a progress bar for downloads, if stderr is a terminal.
    bundled
        The folder with the catalogue's `bundled` paths below it; that of the repository when None.

    Returns
    -------
    dict
        The record: `dataset`, `status` (available or unavailable), `path`, `sha256`, `bytes`,
        `source`, `origin` (data folder, mirror, original, bundled, or None), `offline` (whether
        the web was needed and none of the hosts could be reached), `tried` (a list of `url` and
        `error`), `remedy`, `catalogue`.

    Raises
    ------
    ValueError
        If the catalogue has no such data set.
    """
    entries = tables.read(catalogue)
    entry = tables.find(entries, name)
    root = copies.folder() if bundled is None else Path(bundled)
    others = [source.url for each in entries.values() for source in each.urls]
    search = _Search(entry, Path(data_dir), mirror, root, others, progress)
    origin, source = _obtain(search) if entry.sha256 else (None, None)
    return {
        "dataset": entry.name,
        "status": "unavailable" if source is None else "available",
        "path": str(search.path),
        "sha256": entry.sha256 or None,
        "bytes": entry.bytes if source is None else search.path.stat().st_size,
        "source": source,
        "origin": origin,
        "offline": bool(search.reached) and not any(search.reached),
        "tried": search.tried,
        "remedy": _remedy(search) if source is None else None,
        "catalogue": None if catalogue is None else str(catalogue),
    }


def write_record(record: Mapping, path: str | Path) -> None:
    """Write what `fetch` returned as JSON."""
    with atomic(path) as temporary:
        temporary.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def describe(record: Mapping) -> str:
    """Return a record in words: one line if available, else each URL's error and the remedy."""
    if record["status"] == "available":
        return f"{record['dataset']}: {record['path']} ({record['origin']}: {record['source']})"
    lines = [f"{record['dataset']}: unavailable"]
    lines += [f"  {attempt['url']}: {attempt['error']}" for attempt in record["tried"]]
    return "\n".join([*lines, f"  remedy: {record['remedy']}"])


def pinned(catalogue: str | Path | None = None) -> list[str]:
    """Return the names of the data sets that have a checksum, which is what `all` means."""
    return [entry.name for entry in tables.read(catalogue).values() if entry.sha256]


def check_sha256(path: Path, expected: str) -> None:
    """Raise ValueError, naming both digests, unless the file's SHA-256 is the expected one."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        raise ValueError(f"wrong checksum: expected sha256 {expected}, found {found}")


def _remedy(search: _Search) -> str:
    """Return what a user can do about an unavailable data set."""
    entry = search.entry
    if not entry.sha256:
        return f"none needed: {entry.notes}"
    remedy = (
        "set KCDE_DATA_MIRROR, or data_mirror in config.yaml, to a folder or URL with "
        f"{entry.file} below it"
    )
    if entry.bundled:
        remedy = f"{_restore(search)}; or {remedy}"
    if not entry.urls:
        return remedy
    # A direct link asks less of a person than a member of an archive.
    easiest = min(entry.urls, key=lambda source: source.member is not None)
    what = f"download {easiest.url}"
    if easiest.member is not None:
        what += f", take {easiest.member} out of it"
    return f"{remedy}; or {what} and put it at {search.path}"


def _restore(search: _Search) -> str:
    """Return how to restore the bundled copy."""
    if search.bundled is None:
        return f"{copies.NO_REPOSITORY}; {copies.REMEDY}"
    return f"restore {search.bundled / search.entry.bundled} (git checkout -- resources/data)"


def _obtain(search: _Search) -> tuple[str | None, str | None]:
    """Try every source; return the origin of the file and its source, or None twice."""
    if search.path.is_file():
        try:
            check_sha256(search.path, search.entry.sha256)
            return THERE, "already there"
        except ValueError as error:
            search.tried.append({"url": str(search.path), "error": str(error)})
    for origin, source in _places(search):
        try:
            with atomic(search.path) as temporary:
                _take(source, temporary, search, is_copy=origin == BUNDLED)
                check_sha256(temporary, search.entry.sha256)
        except (OSError, ValueError) as error:
            search.tried.append({"url": str(source), "error": _reason(error)})
            if isinstance(source, Source):
                search.reached.append(not isinstance(error, hosts.Unreachable))
        else:
            search.reached += [True] * isinstance(source, Source)
            notes.add(search.data_dir / SOURCES, {search.entry.file: origin})
            return origin, str(source)
    return None, None


def _places(search: _Search) -> Iterator[tuple[str, Path | Source]]:
    """Yield where the file may be, in the order of trying."""
    entry = search.entry
    for source in _mirrored(entry, search.mirror):
        yield MIRROR, source
    for source in entry.urls:
        yield ORIGINAL, source
    if entry.bundled and search.bundled is not None:
        yield BUNDLED, search.bundled / entry.bundled


def _take(source: Path | Source, target: Path, search: _Search, is_copy: bool) -> None:
    """Write to `target` what a place holds."""
    if is_copy:
        copies.unpack(search.entry, search.bundled, target)
    elif isinstance(source, Path):
        _copy(source, target, search)
    elif source.member is None:
        _download(source.url, target, search, search.most)
    else:
        _from_archive(source, target, search)


def _copy(source: Path, target: Path, search: _Search) -> None:
    if source.exists() and not source.is_file():
        # A pipe or a device may have no end.
        raise ValueError("not a file")
    with source.open("rb") as content, target.open("wb") as out:
        limits.copy(content, out, search.most)


def _mirrored(entry: Entry, mirror: str | Path | None) -> list[Path | Source]:
    """Return where a mirror, if there is one, holds the file."""
    if not mirror:
        return []
    if str(mirror).startswith(("https://", "http://")):
        return [Source(f"{str(mirror).rstrip('/')}/{quote(entry.file)}")]
    return [Path(mirror).expanduser() / entry.file]


def _download(url: str, target: Path, search: _Search, most: int) -> None:
    """Download no more than `most` bytes, trying again after errors that may pass.

    Raises
    ------
    kcde.data.hosts.Unreachable
        If no connection can be made to the host, now or a short while ago.
    OSError
        If the download fails otherwise.
    ValueError
        If there is more, or it comes too slowly.
    """
    import requests

    hosts.require_reachable(url, search.data_dir, search.others)
    for pause in (*PAUSES, None):
        try:
            with _bar(url) if search.progress and sys.stderr.isatty() else nullcontext() as bar:
                _transfer(url, target, most, bar or False)
            return
        except OSError as error:
            if pause is None or not _transient(error):
                # A certificate that does not fit is an answer, though not from the right host.
                lost = isinstance(error, requests.ConnectionError | requests.Timeout)
                if lost and not isinstance(error, requests.exceptions.SSLError):
                    raise hosts.connection_lost(url, _reason(error), search.data_dir) from error
                raise
        time.sleep(pause)


class _Inlet:
    """Where pooch writes what it downloads; it takes no more than `most` bytes."""

    def __init__(self, file: BinaryIO, most: int):
        self.file, self.most, self.received, self.closed = file, most, 0, False

    def write(self, chunk: bytes) -> None:
        self.received += len(chunk)
        if self.closed or self.received > self.most:
            raise limits.too_large(self.most)
        self.file.write(chunk)

    def flush(self) -> None:
        pass


def _transfer(url: str, target: Path, most: int, bar) -> None:
    """Download with pooch, in a thread that is left behind where it brings too little.

    The timeout of a connection counts from byte to byte: a server that sends one a second, be it of
    the headers, would hold this process for days.
    """
    import pooch

    failed: list[Exception] = []
    with target.open("wb") as file:
        inlet = _Inlet(file, most)

        def work() -> None:
            get = pooch.HTTPDownloader(
                bar, chunk_size=1 << 16, timeout=TIMEOUT, hooks={"response": hosts.close_detour}
            )
            try:
                get(url, inlet, None)
            except Exception as error:
                failed.append(error)

        thread = threading.Thread(target=work, daemon=True)
        start = time.monotonic()
        thread.start()
        try:
            while thread.is_alive():
                thread.join(0.1)
                seconds = time.monotonic() - start
                if inlet.received < SLOWEST * (seconds - PATIENCE) and thread.is_alive():
                    raise ValueError(
                        f"given up after {seconds:.0f} s, in which {inlet.received} bytes came"
                    )
        finally:
            inlet.closed = True
    if failed:
        raise failed[0]


def _bar(url: str):
    """Return a progress bar that names the file."""
    from tqdm import tqdm

    # pooch sets the total; before that, a bar without one has no truth value to ask for.
    return tqdm(total=1, desc=url.rsplit("/", 1)[-1], unit="B", unit_scale=True, leave=False)


def _transient(error: OSError) -> bool:
    """Return whether the same request may succeed a moment later.

    A name that is not resolved, a refused or never answered connection will not: retrying those
    would make a run without network wait for nothing.
    """
    import requests
    from urllib3.exceptions import ReadTimeoutError

    if isinstance(error, requests.HTTPError):
        return error.response.status_code in TRANSIENT_STATUS
    if isinstance(error, requests.ConnectTimeout):
        return False
    if isinstance(error, (requests.Timeout, requests.exceptions.ChunkedEncodingError)):
        return True
    return isinstance(error, requests.ConnectionError) and any(
        isinstance(cause, (ConnectionResetError, ReadTimeoutError)) for cause in _causes(error)
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what it was raised from, also where libraries hide it in arguments."""
    seen, queue = set(), [error]
    while queue:
        cause = queue.pop()
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        hidden = (getattr(cause, "reason", None), cause.__cause__, cause.__context__, *cause.args)
        queue += [item for item in hidden if isinstance(item, BaseException)]


def _reason(error: Exception) -> str:
    """Return the error in a few words on one line."""
    import requests

    if isinstance(error, requests.HTTPError):
        return f"HTTP {error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    if isinstance(error, requests.RequestException):
        for cause in _causes(error):
            if isinstance(cause, OSError) and cause.strerror:
                return hosts.describe_error(cause)
    if isinstance(error, hosts.Unreachable):
        return f"{error}"
    if isinstance(error, FileNotFoundError):
        return "no such file"
    text = " ".join(str(error).split())
    return text if isinstance(error, ValueError) else f"{type(error).__name__}: {text}"[:200]


def _from_archive(source: Source, target: Path, search: _Search) -> None:
    """Write a member's bytes to `target`, downloading the archive unless it is kept already.

    An archive that is damaged, or whose member is not the expected file, is deleted; one that was
    kept from earlier is then downloaded once more.
    """
    archives = search.data_dir / "archives"
    # Different hosts use the same file names, so the kept name carries a digest of the URL.
    digest = hashlib.sha256(source.url.encode()).hexdigest()[:8]
    archive = archives / f"{digest}-{PurePosixPath(urlsplit(source.url).path).name}"
    # Of several processes one downloads an archive, the others wait and use it.
    with locked(archives):
        kept = archive.exists()
        for fresh in (False, True) if kept else (True,):
            if fresh:
                with atomic(archive) as temporary:
                    _download(source.url, temporary, search, LARGEST_ARCHIVE)
            try:
                extract(archive, source.member, target, search.most)
                check_sha256(target, search.entry.sha256)
                return
            except ValueError:
                archive.unlink(missing_ok=True)
                if fresh:
                    raise


def extract(archive: Path, member: str, target: Path, most: int) -> None:
    """Copy one member of a tar or zip file; only its bytes, so no path in it can lead astray.

    Parameters
    ----------
    archive
        The tar or zip file.
    member
        Its name there; one that ends in `.gz` is decompressed where `target` does not.
    target
        The file to write.
    most
        How many bytes may be written.

    Raises
    ------
    ValueError
        If there is no such member, it is larger, or the archive is damaged.
    """
    unpack = member.endswith(".gz") and target.suffix != ".gz"
    with (
        limits.damaged("archive"),
        _opened(archive, member) as content,
        target.open("wb") as out,
    ):
        limits.copy(gzip.GzipFile(fileobj=content) if unpack else content, out, most)


@contextmanager
def _opened(archive: Path, member: str) -> Iterator[BinaryIO]:
    """Open a member for reading."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as zipped:
            if member not in zipped.namelist():
                raise _no_member(member)
            with zipped.open(member) as content:
                yield content
        return
    # A header may declare any size for itself, and is read at once.
    with tarfile.open(fileobj=io.BytesIO(limits.unpacked(archive)), mode="r:") as tar:
        found = next((info for info in tar if info.name == member and info.isreg()), None)
        if found is None:
            raise _no_member(member)
        yield tar.extractfile(found)


def _no_member(member: str) -> ValueError:
    return ValueError(f"the archive has no member {member}")
