"""An artefact is made without data that it may lack, and says which."""

import csv
import json

import pandas as pd
import pytest

from kcde import cli, scores
from kcde.artefacts.core import drawing
from kcde.artefacts.core.declaration import FIGURE_COLUMNS, Artefact
from kcde.data.smoke import write_smoke_data

ROW = {"experiment": "e", "dim": 1, "setting": "{}", "method": "M", "variant": "ours", "split": 0}
LACKING = {"status": "not-run", "detail": "the data set is unavailable; fetch it"}


def build(artefact, frame, files):
    run = frame[frame["status"] == "ok"]
    rows = [{"panel": name, "y": y} for name, y in zip(run["dataset"], run["value"], strict=True)]
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def draw(artefact, frame, stem):
    path = stem.with_suffix(".png")
    path.write_bytes(b"drawn")
    return [path]


FIGURE = Artefact(
    "kcde.artefacts.cdo.fig5",
    kind="figure",
    title="t",
    shows={"e": {}},
    caption="c",
    build=build,
    draw=draw,
)


@pytest.fixture
def files(tmp_path):
    """Scores of `near`, and that PEMS-SF could not be had."""
    return [
        written(tmp_path, "near", {"status": "ok", "value": 1.5}),
        written(tmp_path, "pems-sf", LACKING),
    ]


def written(folder, name, rest):
    path = folder / "e" / name / "M.csv"
    scores.write(path, [ROW | {"dataset": name, "metric": "error"} | rest], {})
    return path


def test_it_is_drawn_from_the_rest_and_its_record_names_what_lacks(files, tmp_path):
    record = drawing.make(FIGURE, files, tmp_path / "figures")
    assert (record["status"], record["missing"]) == ("regenerated", ["pems-sf"])
    assert record["reason"] == ""
    drawn = pd.read_csv(tmp_path / "figures/cdo/fig5.csv")
    assert drawn["panel"].tolist() == ["near"]
    assert drawing.make(FIGURE, files[:1], tmp_path / "figures")["missing"] == []


def test_what_is_not_optional_stops_it(files, tmp_path):
    both = [*files, written(tmp_path, "geyser", LACKING)]
    record = drawing.make(FIGURE, both, tmp_path / "figures")
    assert (record["status"], record["missing"]) == ("not regenerated", ["geyser"])
    assert not (tmp_path / "figures").exists()


def test_fetch_notes_what_a_run_may_do_without(tmp_path, monkeypatch):
    monkeypatch.setenv("KCDE_DATA_MIRROR", str(tmp_path / "none"))
    path = tmp_path / "r.json"
    table = write_smoke_data(tmp_path / "smoke")
    text = table.read_text()
    for mark, expected in (("", False), ("yes", True)):
        rows = list(csv.DictReader(text.splitlines()))
        for row in rows:
            row["optional"] = mark
        with table.open("w", newline="") as handle:
            writer = csv.DictWriter(handle, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        command = ["fetch", "smoke-traffic", "--catalogue", str(table), "--record", str(path)]
        with pytest.raises(SystemExit) as done:
            cli.main([*command, "--data-dir", str(tmp_path / "data")])
        assert not done.value.code
        said = json.loads(path.read_text())
        assert (said["status"], said["optional"]) == ("unavailable", expected)
