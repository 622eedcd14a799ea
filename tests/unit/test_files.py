"""Files that are written whole or not at all, tables of scores, and what differs between two."""

import errno
import gzip
import json
import runpy
from pathlib import Path

import numpy as np
import pytest

from kcde import scores
from kcde.files import atomic, read_object, staged

same = runpy.run_path(f"{Path(__file__).parents[2]}/tools/same.py")["main"]


def test_a_file_appears_whole_with_its_folders(tmp_path):
    path = tmp_path / "a" / "b.csv"
    with atomic(path) as temporary:
        temporary.write_text("new")
        assert temporary.suffix == ".csv"
        assert not path.exists()
    assert path.read_text() == "new"
    assert [p.name for p in path.parent.iterdir()] == ["b.csv"]


@pytest.mark.parametrize("content", [None, "", '{"a": 1', "[1]", "\xff"])
def test_a_damaged_object_is_none(tmp_path, content):
    path = tmp_path / "a.json"
    if content is not None:
        path.write_bytes(content.encode("latin-1"))
    assert read_object(path) is None
    path.write_text('{"a": 1}')
    assert read_object(path) == {"a": 1}


def test_staged_files_stay_as_they_were_where_one_fails(tmp_path):
    for name in "abc":
        (tmp_path / name).write_text("old")

    def fail():
        with staged(tmp_path) as stage:
            for name in "ab":
                (stage / name).write_text("new")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        fail()
    found = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert found == dict.fromkeys("abc", "old")


def test_unknown_columns_ok_without_a_number_and_no_checksum_are_refused(tmp_path):
    with pytest.raises(ValueError, match="colour"):
        scores.write(tmp_path / "a.csv", [{"status": "ok", "colour": 1}], {})
    with pytest.raises(ValueError, match="status ok"):
        scores.read([written(tmp_path, np.inf)])
    (tmp_path / "LSCDE.json").unlink()
    with pytest.raises(ValueError, match=r"LSCDE\.csv"):
        scores.read([tmp_path / "LSCDE.csv"])


@pytest.mark.parametrize(
    ("end", "damage", "word"),
    [
        ("csv", lambda text: "".join(text.splitlines(keepends=True)[:2]), "incomplete"),
        ("csv", lambda text: text.splitlines(keepends=True)[0], "incomplete"),
        ("csv", lambda text: text[:-1], "incomplete"),
        ("csv", lambda text: text.replace("ok", "fine"), "status fine"),
        ("csv", lambda text: text.replace("1.5", "1.4"), "changed"),
        ("csv", lambda text: "", "no score table|not a score table"),
        ("csv", lambda text: "x,y\n1,2\n", "not a score table"),
        *(("json", lambda _, new=new: new, r"LSCDE\.csv") for new in ("", "{}", '{"rows": 3}')),
    ],
)
def test_damaged_scores_are_refused(tmp_path, end, damage, word):
    path = written(tmp_path)
    assert len(scores.read([path])) == 3
    changed = path.with_suffix(f".{end}")
    changed.write_text(damage(changed.read_text()))
    with pytest.raises(ValueError, match=word):
        scores.read([path])


def written(folder, value=0.5):
    path = folder / "LSCDE.csv"
    rows = [{"split": k, "value": value + k, "status": "ok"} for k in range(3)]
    scores.write(path, rows, {}, {"pit": np.arange(4.0)})
    return path


def test_arrays_are_those_that_were_written(tmp_path):
    path = written(tmp_path)
    np.testing.assert_array_equal(scores.arrays_beside(path)["pit"], np.arange(4.0))
    for content in (b"", path.with_suffix(".npz").read_bytes()[:-40]):
        path.with_suffix(".npz").write_bytes(content)
        with pytest.raises(ValueError, match="cannot be read"):
            scores.arrays_beside(path)
    np.savez(path.with_suffix(".npz"), pit=np.arange(4.0) + 1e-9)
    with pytest.raises(ValueError, match="not what its job"):
        scores.arrays_beside(path)


def test_information_is_that_which_was_written(tmp_path):
    path = written(tmp_path)
    beside, said = path.with_suffix(".json"), scores.information(path)
    assert said["rows"] == 3
    for content in ("", "[]", "{}", json.dumps(said), beside.read_text().replace("3", "4")):
        beside.write_text(content)
        with pytest.raises(ValueError, match="not what its job has written"):
            scores.information(path)


@pytest.mark.parametrize("damage", [lambda content: content[:-20], lambda _: b"no gzip"])
def test_damaged_split_scores_are_named_with_the_remedy(tmp_path, damage):
    path = tmp_path / "scores.csv.gz"
    path.write_bytes(damage(gzip.compress(bytes(range(256)) * 40, mtime=0)))
    with pytest.raises(ValueError, match=r"scores\.csv\.gz.*run its job again"):
        scores.read([path])


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, dict):
        np.savez(path, **content)
    else:
        path.write_text(content)


@pytest.mark.parametrize(
    ("name", "old", "new", "differs"),
    [
        ("a.csv", "x,seconds\n1.0,2\nnan,3\n", "seconds,x\n9,1\n8,\n", False),
        ("a.csv", "x\n1\n", "x\n1.0000000001\n", True),
        ("a.csv", "metric,x\nfit_seconds,1\nsmae,2\n", "metric,x\nfit_seconds,5\nsmae,2\n", False),
        ("a.json", json.dumps({"a": [1], "code": "b"}), '{"code": "c",\n "a": [1.0]}', False),
        ("a.json", '{"a": {"b": 1}}', '{"a": {"b": 2}}', True),
        ("a.md", "n = 3,  in 2.5 s", "n = 3,\nin 7 minutes", False),
        ("a.md", "| n | time |\n| - | - |\n| 1 | 2 |", "| n | time |\n| - | - |\n| 1 | 3 |", False),
        ("a.html", "<p>1 b</p>", "<div>1 <b>b</b></div>", False),
        ("a.npz", {"x": np.array([1.0, np.nan])}, {"x": np.array([1.0, np.nan])}, False),
        ("a.npz", {"x": np.ones(2)}, {"x": np.ones(2) + 1e-15}, True),
    ],
)  # fmt: skip
def test_two_files(tmp_path, name, old, new, differs):
    write(tmp_path / "old" / name, old)
    write(tmp_path / "new" / name, new)
    assert same([f"{tmp_path}/old", f"{tmp_path}/new"]) == differs
