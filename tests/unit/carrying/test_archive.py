"""Results are packed when they are whole, and unpacked all or none."""

import hashlib
import io
import json
import os
import shutil
import tarfile
import time
from pathlib import Path

import pytest

from kcde import cli
from kcde.artefacts.judging import checkout
from kcde.carrying import archive, records

SCORES = "results/smoke/r_benchmark/geyser/LSCDE.csv"
ARRAYS = "results/smoke/r_benchmark/geyser/LSCDE.npz"
BEGUN = "results/smoke/r_benchmark/geyser/NADE"
FIGURE = "results/laptop/artefacts/kcef/fig3"
TRACKED = "results/laptop/scores"
DRAWN = "results/smoke/artefacts/kcef/fig3"
LOG = "results/logs/smoke/r_benchmark/geyser/LSCDE.log"
DATA = "results/data/geyser.json"
HOUR = 3_600_000_000_000


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def remember(project, output, kind="metadata", **more):
    """Write what Snakemake would about an output of a job."""
    place = project / records.place(output)
    write(Path(f"{place}".replace("metadata", kind)), json.dumps({"rule": "r", **more}))


@pytest.fixture
def packed(tmp_path):
    """A project whose run was stopped, and the archive of it."""
    project = tmp_path / "one"
    write(project / "Snakefile", "")
    write(
        project / DATA, json.dumps({"dataset": "geyser", "status": "available", "path": "data/g"})
    )
    write(project / SCORES, "scores")
    write(project / ARRAYS, "arrays")
    write(project / LOG, "said")
    write(project / DRAWN, "")
    (project / DRAWN).unlink()
    write(project / f"{DRAWN}.json", json.dumps({"files": ["results/smoke/figures/kcef/fig3.png"]}))
    write(project / f"{FIGURE}.json", json.dumps({"files": ["figures/kcef/fig3.png"]}))
    write(project / f"{FIGURE}.attempt", "1")
    write(project / f"{TRACKED}.json", json.dumps({"files": ["figures/scores.csv.gz"]}))
    write(project / f"{TRACKED}.attempt", "1")
    for suffix in ("csv", "json"):
        write(project / f"{BEGUN}.{suffix}", "of an earlier attempt")
    write(project / LOG.replace("LSCDE", "NADE"), "half a li")
    write(project / SCORES.replace("LSCDE", ".LSCDE-abcd1234"), "half a table")
    remember(project, SCORES, log=[LOG])
    remember(project, f"{BEGUN}.csv", "incomplete")
    for age, name in enumerate((ARRAYS, SCORES, DATA), 1):
        os.utime(project / name, ns=(time.time_ns() - age * HOUR,) * 2)
    file = tmp_path / "run.tar.gz"
    manifest, left = archive.pack(file, project)
    return project, file, manifest, left


@pytest.fixture
def other(tmp_path):
    """Another checkout, without results."""
    write(tmp_path / "other/Snakefile", "")
    return tmp_path / "other"


def contents(project):
    folders = (project / "results", project / ".snakemake")
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return {f"{path.relative_to(project)}": path.read_bytes() for path in files}


def altered(source, target, change):
    """Copy an archive; `change(name, data)` returns what a member becomes, (TarInfo, data)."""
    with tarfile.open(source) as old, tarfile.open(target, "w:gz") as new:
        for member in old:
            for info, data in change(member.name, old.extractfile(member).read()):
                info.size = len(data)
                new.addfile(info, io.BytesIO(data))
    return target


def test_only_what_is_finished_is_packed(packed):
    _, file, manifest, left = packed
    names = [each["path"] for each in manifest["files"]]
    assert names == sorted([DATA, LOG, f"{DRAWN}.json", SCORES, ARRAYS])
    with tarfile.open(file) as tar:
        assert tar.getnames() == [*names, "manifest.json"]
    assert sorted(left.unfinished) == [
        LOG.replace("LSCDE", "NADE"),
        f"{BEGUN}.csv",
        f"{BEGUN}.json",
    ]
    elsewhere = [f"{name}.{suffix}" for name in (FIGURE, TRACKED) for suffix in ("attempt", "json")]
    assert left.drawn_elsewhere == elsewhere
    assert manifest["scales"] == ["smoke"]
    assert manifest["commit"] == checkout.commit()
    (scores,) = (each for each in manifest["files"] if each["path"] == SCORES)
    assert scores["sha256"] == hashlib.sha256(b"scores").hexdigest()
    assert scores["record"] == {"rule": "r", "log": [LOG]}


def test_what_is_unpacked_is_what_was_packed(packed, other):
    project, file, manifest, _ = packed
    done = archive.unpack(file, other)
    before, after = contents(project), contents(other)
    record = f"{records.place(SCORES)}"
    assert after.keys() == {record, *(each["path"] for each in manifest["files"])}
    assert {name: before[name] for name in after if name != record} == {
        name: data for name, data in after.items() if name != record
    }
    assert json.loads(after[record]) == json.loads(before[record])
    for each in manifest["files"]:
        assert (other / each["path"]).stat().st_mtime_ns == each["time"]
    assert (len(done.new), done.replaced, done.missing_data) == (5, [], ["geyser"])
    write(other / "data/g", "raw")
    again = archive.unpack(file, other)
    assert (again.new, again.replaced, again.missing_data) == ([], [], [])


def test_a_clock_that_is_ahead_dates_nothing_in_the_future(packed, other):
    project, file, _, _ = packed
    os.utime(project / SCORES, ns=(time.time_ns() + 5 * HOUR,) * 2)
    archive.pack(file, project)
    archive.unpack(file, other)
    times = {name: (other / name).stat().st_mtime_ns for name in (DATA, ARRAYS, SCORES)}
    assert times[SCORES] <= time.time_ns()
    assert times[DATA] < times[ARRAYS] < times[SCORES]
    assert times[SCORES] - times[ARRAYS] >= 5 * HOUR


def test_files_that_differ_stay_unless_they_are_to_be_replaced(packed, other):
    _, file, _, _ = packed
    write(other / SCORES, "other scores")
    before = contents(other)
    with pytest.raises(ValueError, match=r"LSCDE.csv; nothing was changed. --overwrite"):
        archive.unpack(file, other)
    assert contents(other) == before
    began = time.time_ns()
    done = archive.unpack(file, other, overwrite=True)
    assert done.replaced == [SCORES]
    assert (other / SCORES).read_text() == "scores"
    times = [(other / name).stat().st_mtime for name in (DATA, SCORES, ARRAYS)]
    # What was computed here from the replaced file is older than it, and the order is kept.
    assert times == sorted(set(times))
    assert times[0] > began / 1e9 - 1


def named(name, kind=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


EVIL = {
    "absolute": named("/tmp/kcde-evil"),
    "above": named("results/../evil"),
    "elsewhere": named("src/kcde/evil.py"),
    "of Snakemake": named(".snakemake/metadata/evil"),
    "hidden": named("results/.evil"),
    "not normal": named("results//evil"),
    "backslash": named("results\\evil"),
    "symbolic link": named("results/evil", tarfile.SYMTYPE, "/etc"),
    "hard link": named("results/evil", tarfile.LNKTYPE, "/etc/passwd"),
    "device": named("results/evil", tarfile.CHRTYPE),
    "folder": named("results/evil", tarfile.DIRTYPE),
    "the folder itself": named("results"),
}


@pytest.mark.parametrize("evil", EVIL)
def test_paths_that_leave_results_are_refused(packed, other, tmp_path, evil):
    _, file, _, _ = packed

    def change(name, data):
        extra = [(EVIL[evil], b"")] if name == DATA else []
        return [(tarfile.TarInfo(name), data), *extra]

    worse = altered(file, tmp_path / "evil.tar.gz", change)
    with pytest.raises(ValueError, match="no plain file below results"):
        archive.unpack(worse, other)
    assert contents(other) == {}


def test_a_link_here_leads_nothing_out(packed, other, tmp_path):
    _, file, _, _ = packed
    (tmp_path / "outside").mkdir()
    (other / "results/smoke").mkdir(parents=True)
    (other / "results/smoke/r_benchmark").symlink_to(tmp_path / "outside")
    with pytest.raises(ValueError, match="is a link, or lies behind one"):
        archive.unpack(file, other)
    assert not list((tmp_path / "outside").iterdir())


def test_results_may_lie_on_another_disk(packed, other, tmp_path):
    _, file, _, _ = packed
    (tmp_path / "disk").mkdir()
    (other / "results").symlink_to(tmp_path / "disk")
    archive.unpack(file, other)
    assert (tmp_path / "disk/smoke/r_benchmark/geyser/LSCDE.csv").read_text() == "scores"


def without(name, data):
    return [] if name == SCORES else [(tarfile.TarInfo(name), data)]


def changed(name, data):
    return [(tarfile.TarInfo(name), b"sc0res" if name == SCORES else data)]


def twice(name, data):
    return [(tarfile.TarInfo(name), data)] * (2 if name == SCORES else 1)


def unlisted(name, data):
    more = [(tarfile.TarInfo("results/more"), b"")] if name == SCORES else []
    return [(tarfile.TarInfo(name), data), *more]


def newer(name, data):
    text = data.replace(b'"format": 1', b'"format": 2') if name == "manifest.json" else data
    return [(tarfile.TarInfo(name), text)]


def cut(name, data):
    return [] if name == "manifest.json" else [(tarfile.TarInfo(name), data)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (changed, "is damaged: .*LSCDE.csv not as the digests"),
        (without, "is damaged: .*LSCDE.csv not as the digests"),
        (unlisted, "is damaged: results/more not as the digests"),
        (twice, "not as pack writes it: .*LSCDE.csv"),
        (newer, "not of format 1"),
        (cut, "manifest.json is missing"),
    ],
)
def test_an_archive_that_is_not_as_its_digests_say_is_refused(
    packed, other, tmp_path, change, words
):
    worse = altered(packed[1], tmp_path / "worse.tar.gz", change)
    with pytest.raises(ValueError, match=words):
        archive.unpack(worse, other)
    assert contents(other) == {}
    assert not list((other / "results").iterdir())


@pytest.mark.parametrize("size", [0, 10, 300])
def test_half_an_archive_is_refused(packed, other, tmp_path, size):
    half = tmp_path / "half.tar.gz"
    half.write_bytes(packed[1].read_bytes()[:size])
    with pytest.raises(ValueError, match="no archive of pack"):
        archive.unpack(half, other)
    assert contents(other) == {}


def test_a_failure_in_the_middle_puts_everything_back(packed, other, monkeypatch):
    _, file, _, _ = packed
    write(other / SCORES, "other scores")
    os.utime(other / SCORES, ns=(HOUR, HOUR))
    before, replace = contents(other), Path.replace

    def fail(self, target):
        if self.name == "LSCDE.npz":
            raise OSError(28, "No space left on device")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        archive.unpack(file, other, overwrite=True)
    assert contents(other) == before
    assert (other / SCORES).stat().st_mtime_ns == HOUR


def test_what_a_killed_unpacking_left_is_swept(packed, other):
    write(other / "results/.unpacking-abc/results/smoke/half", "half")
    archive.unpack(packed[1], other)
    assert not [path for path in (other / "results").iterdir() if path.name.startswith(".")]


def test_a_run_must_be_stopped(packed, other):
    project, file, _, _ = packed
    for folder in (project, other):
        write(folder / ".snakemake/locks/0.output.lock", "")
    with pytest.raises(ValueError, match="snakemake --unlock"):
        archive.pack(file, project)
    with pytest.raises(ValueError, match="snakemake --unlock"):
        archive.unpack(file, other)


def test_a_file_that_changes_meanwhile_is_refused(packed, tmp_path, monkeypatch):
    project = packed[0]
    put = archive._put

    def disturb(tar, name, *more):
        put(tar, name, *more)
        if name == SCORES:
            (project / SCORES).write_text("new scores")

    monkeypatch.setattr(archive, "_put", disturb)
    with pytest.raises(ValueError, match=r"LSCDE.csv changed while it was packed"):
        archive.pack(tmp_path / "again.tar.gz", project)
    assert not (tmp_path / "again.tar.gz").exists()


def test_nothing_is_packed_where_nothing_is(packed, other, tmp_path):
    project = packed[0]
    with pytest.raises(ValueError, match="nothing to pack"):
        archive.pack(tmp_path / "none.tar.gz", other)
    with pytest.raises(ValueError, match="write the archive elsewhere"):
        archive.pack(project / "results/run.tar.gz", project)
    shutil.rmtree(tmp_path / "other")
    (tmp_path / "other").mkdir()
    with pytest.raises(ValueError, match="has no Snakefile"):
        archive.unpack(packed[1], other)
    with pytest.raises(ValueError, match=r"there is no file .*never.tar.gz"):
        archive.unpack(tmp_path / "never.tar.gz", project)


def test_records_are_where_snakemake_has_them(tmp_path):
    """Also those whose names are cut because they are too long for a file."""
    from snakemake.persistence.file import FilePersistence

    persistence = FilePersistence(path=tmp_path / ".snakemake")
    names = ["results/a.csv", "results/" + "long/" * 60 + "b.csv", "results/" + "x" * 182]
    for name in names:
        persistence._io_write(persistence._metadata_path, {"rule": name}, name)
        assert records.place(name) == Path(
            persistence._record_path(persistence._metadata_path, name)
        ).relative_to(tmp_path)
    assert records.finished(tmp_path) == {name: {"rule": name} for name in names}
    persistence._mark_incomplete(names[1], None)
    assert records.unfinished(tmp_path) == {names[1]}
    records.require_stopped(tmp_path)
    persistence._write_locks("output", ["a"])
    with pytest.raises(ValueError, match="is locked"):
        records.require_stopped(tmp_path)


def test_the_commands_say_what_they_did(packed, other, tmp_path, capsys, monkeypatch):
    project = packed[0]
    file = f"{tmp_path / 'cli.tar.gz'}"

    def call(*words):
        with pytest.raises(SystemExit) as finished:
            cli.main(["results", *words])
        return finished.value.code, capsys.readouterr()

    code, said = call("pack", file, "--project", f"{project}")
    assert code == 0
    assert f"results of smoke, commit {checkout.commit()}" in said.out
    assert "left out 3 files of jobs that are not finished" in said.out
    monkeypatch.setattr(checkout, "commit", lambda: "0123456789")
    code, said = call("unpack", file, "--project", f"{other}")
    assert code == 0
    assert "5 new, 0 replaced, 0 were here" in said.out
    assert "this checkout is of 0123456789" in said.err
    assert "fetch all" in said.err
    write(other / SCORES, "other scores")
    code, said = call("unpack", file, "--project", f"{other}")
    assert code == 2
    assert len(said.err.splitlines()) == 1
    assert "--overwrite" in said.err


def test_a_large_archive_shows_its_progress(packed, other, monkeypatch, capsys):
    monkeypatch.setattr(archive, "_LARGE", 1)
    archive.unpack(packed[1], other)
    assert "unpacking" in capsys.readouterr().err
