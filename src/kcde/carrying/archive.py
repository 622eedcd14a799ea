"""The archive of a stopped run: the files of its finished jobs, each with its SHA-256.

A gzipped tar file whose members are files below `results/`, and last `manifest.json`:

    format     1
    commit     of the code, as `kcde.artefacts.judging.checkout.commit` says it
    scales     the scales of which there are results
    files      of each file: path, size, sha256, time (of its last change, in ns), record

`record` is what Snakemake remembers of the job that wrote the file, None where it wrote none.
"""

import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple

from kcde.artefacts.judging import checkout
from kcde.carrying import records
from kcde.files import atomic, locked, read_object

RESULTS = "results"
MANIFEST = "manifest.json"
FORMAT = 1

_CHUNK = 1 << 20
_BESIDE_SCALES = ("data", "logs", "benchmarks")
_RECORDS = (("artefacts",), ("scores.json",), ("scores.attempt",))
"""Where records of drawn files lie in the folder of a scale."""

_STAGE = ".unpacking-"
_LARGE = 50_000_000
"""Bytes from which on a bar shows the progress."""


class Left(NamedTuple):
    """What is not packed, by why."""

    unfinished: list[str]
    """Of jobs that were begun and not finished, and logs of such jobs."""
    drawn_elsewhere: list[str]
    """Records of artefacts whose drawn files lie outside `results/`: they are drawn again."""


def pack(archive: str | Path, project: str | Path = ".") -> tuple[dict, Left]:
    """Write the results of a stopped run to an archive.

    Parameters
    ----------
    archive
        The file to write; it appears when it is whole.
    project
        Where Snakemake is started; its `results/` are packed.

    Returns
    -------
    dict
        The manifest.
    Left
        What is not packed.

    Raises
    ------
    ValueError
        If Snakemake runs there, nothing is finished, the archive would lie in `results/`, or a
        file changes while it is packed.
    """
    archive, project = Path(archive), Path(project)
    records.require_stopped(project)
    results = project / RESULTS
    if archive.resolve().is_relative_to(results.resolve()):
        raise ValueError(f"{archive} lies in {RESULTS}/ itself: write the archive elsewhere")
    remembered = records.finished(project)
    names, left = _finished(project, remembered)
    if not names:
        raise ValueError(f"no job of {results.resolve()} is finished: there is nothing to pack")
    manifest = {"format": FORMAT, "commit": checkout.commit(), "scales": _scales(names)}
    manifest["files"] = []
    total = sum((project / name).stat().st_size for name in names)
    with (
        atomic(archive) as temporary,
        tarfile.open(temporary, "w:gz", compresslevel=6) as tar,
        _progress("packing", total) as advance,
    ):
        for name in names:
            entry = _add(tar, project / name, name, advance)
            manifest["files"].append(entry | {"record": remembered.get(name)})
        text = json.dumps(manifest, indent=1).encode()
        _put(tar, MANIFEST, io.BytesIO(text), len(text))
    return manifest, left


def _finished(project: Path, remembered: Mapping) -> tuple[list[str], Left]:
    """Return the files to pack, as paths from the project, and those to leave."""
    marked = records.unfinished(project)
    # Files of one job differ in their suffix; Snakemake may be ended between the marks of two.
    begun = {PurePosixPath(name).with_suffix("") for name in marked}
    logs = {log for record in remembered.values() for log in record.get("log") or []}
    names, left = [], Left([], [])
    for path in sorted((project / RESULTS).rglob("*")):
        inside = path.relative_to(project)
        if not path.is_file() or any(part.startswith(".") for part in inside.parts):
            continue
        name = inside.as_posix()
        is_log = inside.parts[1] == "logs"
        if PurePosixPath(name).with_suffix("") in begun or (is_log and name not in logs):
            left.unfinished.append(name)
        elif inside.parts[2:3] in _RECORDS and _draws_elsewhere(path):
            left.drawn_elsewhere.append(name)
        else:
            names.append(name)
    return names, left


def _draws_elsewhere(path: Path) -> bool:
    said = read_object(path.with_suffix(".json")) or {}
    return any(PurePosixPath(name).parts[:1] != (RESULTS,) for name in said.get("files", []))


def _scales(names: list[str]) -> list[str]:
    return sorted({PurePosixPath(name).parts[1] for name in names} - {*_BESIDE_SCALES})


def _add(tar: tarfile.TarFile, path: Path, name: str, advance: Callable[[int], object]) -> dict:
    """Add a file and return its entry.

    Raises
    ------
    ValueError
        If the file changes meanwhile.
    """
    changed = f"{name} changed while it was packed: end what writes there, and pack again"
    try:
        before = path.stat()
        with path.open("rb") as file:
            digested = _Digesting(file, advance)
            _put(tar, name, digested, before.st_size)
        after = path.stat()
    except FileNotFoundError:
        raise ValueError(changed) from None
    except OSError as error:
        if "unexpected end of data" in str(error):
            raise ValueError(changed) from None
        raise
    if (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size):
        raise ValueError(changed)
    return {
        "path": name,
        "size": before.st_size,
        "sha256": digested.digester.hexdigest(),
        "time": before.st_mtime_ns,
    }


class _Digesting:
    """A file that is digested while it is read."""

    def __init__(self, file: BinaryIO, advance: Callable[[int], object]):
        self._file, self._advance = file, advance
        self.digester = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        block = self._file.read(size)
        self.digester.update(block)
        self._advance(len(block))
        return block


def _put(tar: tarfile.TarFile, name: str, file: object, size: int) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o644
    tar.addfile(member, file)


class Unpacked(NamedTuple):
    """What an archive brought."""

    manifest: dict
    new: list[str]
    """Files that were not there."""
    replaced: list[str]
    """Files that were there and differed."""
    missing_data: list[str]
    """Data sets whose raw data the results were computed from, and that are not here."""


def unpack(archive: str | Path, project: str | Path = ".", *, overwrite: bool = False) -> Unpacked:
    """Put the files of an archive into `results/`, all of them or none.

    They are unpacked beside it and compared with their digests first. Then they are moved in the
    order of their times, so that after a power failure too what is there is what an earlier stop
    of the run would have left; unpacking again completes it. Files keep their times, so that
    outputs stay newer than inputs; all are moved back alike if the clock of the other machine was
    ahead. If files that differ are replaced, all are dated now, in the same order, so that what
    was computed from those here is computed again.

    Parameters
    ----------
    archive
        Written by `pack`.
    project
        Where Snakemake is started.
    overwrite
        Whether files that are there and differ are replaced.

    Raises
    ------
    ValueError
        If the archive is damaged or not one of `pack`, names a path that leaves `results/`, or
        holds a file that differs from one that is there; or if Snakemake runs in the project.
    """
    archive, project = Path(archive), Path(project)
    if not archive.is_file():
        raise ValueError(f"there is no file {archive}")
    if not (project / "Snakefile").is_file():
        raise ValueError(f"{project.resolve()} has no Snakefile: unpack in a checkout of kcde")
    records.require_stopped(project)
    results = project / RESULTS
    with locked(results), ExitStack() as life:
        # Of processes that were killed: a living one has the lock.
        for old in results.glob(f"{_STAGE}*"):
            shutil.rmtree(old)
        stage = Path(life.enter_context(tempfile.TemporaryDirectory(dir=results, prefix=_STAGE)))
        manifest = _extract(archive, stage)
        entries = sorted(manifest["files"], key=lambda entry: (entry["time"], entry["path"]))
        new, replaced = _compared(entries, project)
        if replaced and not overwrite:
            raise ValueError(
                f"{len(replaced)} files of {archive} differ from those that are here: "
                f"{_some(replaced)}; nothing was changed. --overwrite replaces them"
            )
        _date(entries, stage, anew=bool(replaced))
        longest = records.longest_name(project)
        moves = []
        for number, entry in enumerate(entries):
            if entry["record"] is not None:
                record = stage / f"{number}.record"
                record.write_text(json.dumps(entry["record"]), encoding="utf-8")
                moves.append((record, project / records.place(entry["path"], longest)))
            moves.append((stage / entry["path"], project / entry["path"]))
        _move(moves, stage)
    return Unpacked(manifest, new, replaced, _missing_data(entries, project))


def _extract(archive: Path, stage: Path) -> dict:
    """Unpack an archive into an empty folder, compare all files with their digests.

    Raises
    ------
    ValueError
        If anything is not as `pack` writes it.
    """
    digests = {}
    try:
        with (
            archive.open("rb") as raw,
            _progress("unpacking", archive.stat().st_size) as advance,
            tarfile.open(fileobj=_Counted(raw, advance), mode="r|gz") as tar,
        ):
            for member in tar:
                if MANIFEST in digests or member.name in digests:
                    raise ValueError(f"{archive} is not as pack writes it: {member.name}")
                digests[member.name] = _take(tar, member, stage)
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise ValueError(f"{archive} is damaged or no archive of pack: {error}") from None
    manifest = read_object(stage / MANIFEST) or {}
    if not _is_readable(manifest):
        raise ValueError(
            f"{archive} is no archive of pack, or one of another version of kcde: its "
            f"{MANIFEST} is missing or not of format {FORMAT}"
        )
    stated = {entry["path"]: entry["sha256"] for entry in manifest["files"]}
    wrong = [name for name in {**stated, **digests} if stated.get(name) != digests.get(name)]
    if wrong := sorted(set(wrong) - {MANIFEST}):
        raise ValueError(
            f"{archive} is damaged: {_some(wrong)} not as the digests of its manifest say; "
            "nothing was changed. Copy the archive again"
        )
    return manifest


def _is_readable(manifest: dict) -> bool:
    """Return whether a manifest has all that is read from it."""
    kinds = {"path": str, "size": int, "sha256": str, "time": int, "record": dict | None}
    files = manifest.get("files")
    return (
        manifest.get("format") == FORMAT
        and isinstance(manifest.get("commit"), str)
        and isinstance(manifest.get("scales"), list)
        and isinstance(files, list)
        and len(files) > 0
        and all(isinstance(entry, dict) and kinds.keys() <= entry.keys() for entry in files)
        and all(isinstance(entry[key], kind) for entry in files for key, kind in kinds.items())
    )


def _take(tar: tarfile.TarFile, member: tarfile.TarInfo, stage: Path) -> str:
    """Unpack a member below the stage and return its digest.

    Raises
    ------
    ValueError
        If it is no plain file below `results/`.
    """
    name = member.name
    path = PurePosixPath(name)
    inside = path.parts[:1] == (RESULTS,) and len(path.parts) > 1 and path.as_posix() == name
    plain = not any(part.startswith(".") for part in path.parts) and "\\" not in name
    if not member.isreg() or not (name == MANIFEST or (inside and plain)):
        raise ValueError(
            f"the archive holds {name!r}, which is no plain file below {RESULTS}/; nothing was "
            "changed. kcde packs no such thing: do not trust this archive"
        )
    target, digester = stage / name, hashlib.sha256()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tar.extractfile(member) as source, target.open("xb") as file:
        while block := source.read(_CHUNK):
            digester.update(block)
            file.write(block)
    return digester.hexdigest()


class _Counted:
    """A file that says how much of it has been read."""

    def __init__(self, file: BinaryIO, advance: Callable[[int], object]):
        self._file, self._advance = file, advance

    def read(self, size: int = -1) -> bytes:
        block = self._file.read(size)
        self._advance(len(block))
        return block


def _compared(entries: list[dict], project: Path) -> tuple[list[str], list[str]]:
    """Return the paths that are not here, and those that are here with another content.

    Raises
    ------
    ValueError
        If a link here would lead a file out of `results/`, or a folder stands in the way.
    """
    new, differing = [], []
    root = (project / RESULTS).resolve()
    for entry in entries:
        target = project / entry["path"]
        if target.is_symlink() or not target.parent.resolve().is_relative_to(root):
            raise ValueError(
                f"{target} is a link, or lies behind one that leaves {RESULTS}/: remove the link"
            )
        if not target.exists():
            new.append(entry["path"])
        elif not target.is_file():
            raise ValueError(f"{target} is a folder here and a file in the archive: remove it")
        elif target.stat().st_size != entry["size"] or _digest(target) != entry["sha256"]:
            differing.append(entry["path"])
    return new, differing


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _date(entries: list[dict], stage: Path, *, anew: bool) -> None:
    """Give unpacked files their times."""
    now = time.time_ns()
    times = sorted({entry["time"] for entry in entries})
    ahead = max(0, times[-1] - now)
    dated = {each: each - ahead for each in times}
    if anew:
        # Microseconds apart: Snakemake compares times as floating-point numbers.
        dated = {each: now - 1000 * place for place, each in enumerate(reversed(times))}
    for entry in entries:
        os.utime(stage / entry["path"], ns=(dated[entry["time"]],) * 2)


def _move(moves: list[tuple[Path, Path]], stage: Path) -> None:
    """Rename files, in order; if one cannot be, put back what was there."""
    with ExitStack() as undo:
        for number, (source, target) in enumerate(moves):
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.exists():
                kept = stage / f"{number}.kept"
                try:
                    os.link(target, kept)
                except OSError:  # a file system without hard links
                    shutil.copy2(target, kept)
                undo.callback(kept.replace, target)
            else:
                undo.callback(target.unlink, missing_ok=True)
            source.replace(target)
        undo.pop_all()


def _missing_data(entries: list[dict], project: Path) -> list[str]:
    """Return the data sets whose records came with the archive, and whose files are not here."""
    missing = []
    for entry in entries:
        path = PurePosixPath(entry["path"])
        if path.parts[-2] != "data" or path.suffix != ".json":
            continue
        said = read_object(project / path) or {}
        if said.get("status") == "available" and not (project / said["path"]).exists():
            missing.append(said["dataset"])
    return sorted(missing)


def _some(names: list[str], most: int = 3) -> str:
    """Return the first names, and how many follow."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


@contextmanager
def _progress(what: str, total: int) -> Iterator[Callable[[int], object]]:
    """Yield a function that takes the bytes done; a bar shows them if there are many."""
    from tqdm import tqdm

    with tqdm(
        total=total, desc=what, unit="B", unit_scale=True, leave=False, disable=total < _LARGE
    ) as bar:
        yield bar.update
