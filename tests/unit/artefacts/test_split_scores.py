"""The scores of all splits as one tracked table: the same bytes each time, judged again alike."""

import gzip
import json
from hashlib import sha256

import artefact_scores as made
import numpy as np
import pandas as pd
import pytest
from kcde.publish import publish

from kcde import scores, split_scores
from kcde.artefacts.core import drawing, registry
from kcde.artefacts.judging import readings
from kcde.artefacts.tables import building

CELLS = {
    ("geyser", "KCEF"): made.around(1.2, 4),
    ("geyser", "LSCDE"): [0.7123456789, None, 0.65, 0.7],
    ("caution", "LSCDE"): made.around(1.19, 4),
    ("mcycle", "GP-ML"): made.around(1.0, 4),
}


def filled(folder):
    """Score files with seeds, seconds and what stands beside them."""
    paths = []
    for (dataset, method), values in CELLS.items():
        rows = made.rows_of(dataset, method, values)
        for row in rows:
            row |= {"seed": 7, "seconds": 1.23456, "backend": "numpy", "dtype": "float64"}
        info = {"job": {"dataset": dataset}, "data_sha256": f"of {dataset}"}
        paths.append(folder / "r_benchmark" / dataset / f"{method}.csv")
        scores.write(paths[-1], rows, info)
    return paths


@pytest.fixture
def files(tmp_path):
    return filled(tmp_path / "laptop")


def test_the_same_scores_give_the_same_bytes_whatever_their_order(files, tmp_path):
    split_scores.write(files, tmp_path / "a", "laptop")
    split_scores.write(files[::-1], tmp_path / "b", "laptop")
    for name in split_scores.FILES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    packed = (tmp_path / "a" / split_scores.TABLE).read_bytes()
    assert packed[4:8] == bytes(4)  # no time in the head of the gzip file
    lines = gzip.decompress(packed).decode().splitlines()
    assert lines[1:] == sorted(lines[1:])


def test_what_is_read_is_what_was_written_to_six_digits(files, tmp_path):
    table, _ = split_scores.write(files, tmp_path / "figures", "laptop")
    back = split_scores.read(table)
    key = ["dataset", "method", "split"]
    wanted = scores.read(files).sort_values(key, ignore_index=True)
    back = back.sort_values(key, ignore_index=True)
    assert list(back.columns) == scores.COLUMNS
    for name in ("value", "split", "seed"):
        np.testing.assert_allclose(back[name], wanted[name], rtol=1e-5)
    for name in ("dataset", "method", "variant", "status", "setting"):
        assert back[name].tolist() == wanted[name].tolist()
    assert set(back["seconds"]) == {1.2}


def test_what_is_known_of_the_run_stands_beside(files, tmp_path):
    table, about = split_scores.write(files, tmp_path / "figures", "laptop")
    known = json.loads(about.read_text())
    assert known == split_scores.about(tmp_path / "figures")
    assert (known["scale"], known["files"], known["rows"]) == ("laptop", 4, 16)
    assert known["sha256"] == sha256(table.read_bytes()).hexdigest()
    assert known["data"]["geyser"] == ["of geyser"]
    assert known["versions"]["numpy"] == [np.__version__]
    said = known["experiments"]["r_benchmark"]
    assert (said["methods"], said["splits"], said["failed"], said["seconds"]) == (3, 4, 1, 19.0)


def test_a_table_is_judged_again_from_the_tracked_scores(files, tmp_path, monkeypatch):
    monkeypatch.setattr(drawing, "_draw", lambda *_: [])  # pictures take seconds
    artefact = registry.ARTEFACTS["kcef/table1"]
    wanted = [path for path in files if path.stem != "GP-ML"]
    drawing.make(artefact, wanted, tmp_path / "run")
    table, _ = split_scores.write(files, tmp_path / "figures", "laptop")
    drawing.make(artefact, [table], tmp_path / "again")
    assert readings.scale_of(artefact, [table]) == "laptop"
    key = ["dataset", "method"]
    first, again = (
        building.read(tmp_path / name / "kcef/table1.csv").sort_values(key, ignore_index=True)
        for name in ("run", "again")
    )
    columns = ["dataset", "method", "n", "failed", "verdict"]
    pd.testing.assert_frame_equal(again[columns], first[columns])
    np.testing.assert_allclose(again["mean"], first["mean"], rtol=1e-5)
    assert len(first) == 3


def test_what_needs_arrays_or_has_no_scores_is_refused(files, tmp_path):
    table, _ = split_scores.write(files, tmp_path / "figures", "laptop")
    with pytest.raises(ValueError, match="no scores that cdo/fig4 shows"):
        drawing.make(registry.ARTEFACTS["cdo/fig4"], [table], tmp_path)


def test_a_table_too_large_to_track_is_refused(files, tmp_path, monkeypatch):
    monkeypatch.setattr(split_scores, "LARGEST", 100)
    with pytest.raises(
        ValueError, match=r"more than 100; most rows are of r_benchmark \(16 rows\)"
    ):
        split_scores.write(files, tmp_path / "figures", "laptop")
    assert not (tmp_path / "figures").exists()
    with pytest.raises(ValueError, match="no score files"):
        split_scores.write([], tmp_path / "figures", "laptop")


def test_the_table_stays_as_it_is_where_data_could_not_be_had(files, tmp_path):
    into = tmp_path / "figures"
    before = [path.read_bytes() for path in split_scores.write(files, into, "laptop")]
    lost = made.not_run(tmp_path / "laptop/r_benchmark", "topo", "KCEF")
    assert split_scores.write([*files, lost], into, "laptop") == []
    assert [(into / name).read_bytes() for name in split_scores.FILES] == before
    optional = made.not_run(tmp_path / "laptop/traffic", "pems-sf", "CDO")
    assert split_scores.write([*files, optional], into, "laptop") != []


def test_publishing_a_scale_copies_its_scores(files, tmp_path):
    results, tracked = tmp_path / "results/paper", tmp_path / "tracked"
    written = split_scores.write(files, results / "figures", "paper")
    (results / "artefacts/kcef").mkdir(parents=True)
    record = {"paper": "kcef", "artefact": "table1", "status": "regenerated", "files": []}
    (results / "artefacts/kcef/table1.json").write_text(json.dumps(record))
    scales, *copies = publish(results, tracked)
    assert scales.name == "scales.csv"
    assert copies == [tracked / path.name for path in written]
    assert [path.read_bytes() for path in copies] == [path.read_bytes() for path in written]
    assert publish(results, tracked, ["kcef"]) == []
    # Those of one paper do not replace those of all.
    about = tracked / split_scores.ABOUT
    known = json.loads(about.read_text())
    about.write_text(json.dumps(known | {"experiments": {**known["experiments"], "donut": {}}}))
    assert publish(results, tracked) == []


@pytest.mark.parametrize(
    ("scale", "artefact", "papers", "message"),
    [
        ("smoke", "table1", None, "results/smoke cannot be published: give .* results/laptop or"),
        ("paper-old", "table1", None, "paper-old cannot be published"),
        ("paper", "gone", None, "has kcef/gone, which no longer exist"),
        ("paper", "table1", ["cdo"], "nothing in .* is regenerated"),
    ],
)
def test_what_cannot_be_published_changes_nothing(tmp_path, scale, artefact, papers, message):
    results = tmp_path / "results" / scale
    (results / "artefacts/kcef").mkdir(parents=True)
    for name in ("table1", artefact):
        record = {"paper": "kcef", "artefact": name, "status": "regenerated", "files": []}
        (results / f"artefacts/kcef/{name}.json").write_text(json.dumps(record))
    with pytest.raises(ValueError, match=message):
        publish(results, tmp_path / "tracked", papers)
    assert not (tmp_path / "tracked").exists()
