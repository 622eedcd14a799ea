import json

import numpy as np
import pytest

from kcde import published, scores
from kcde.data.loaders import load
from kcde.estimators import KCEF, Standardised
from kcde.experiments import r_benchmark, table1_readings
from kcde.experiments.jobs.table1_readings import DRAWN, READINGS, Job, Reading
from kcde.experiments.runner import run
from kcde.metrics.names import NLL
from kcde.seeding import split_seed

OTHER = Reading((0.5, 5.0), (1e-4, 1.0), 10)


@pytest.fixture
def launch(smoke, tmp_path):
    """Run a job on smoke data; return the score frame and what was chosen."""
    folder, catalogue = smoke

    def run_job(job, name="out"):
        out = tmp_path / f"{name}.csv"
        run(job, out, folder, catalogue=catalogue)
        return scores.read([out]), json.loads(out.with_suffix(".json").read_text())["chosen"]

    return run_job


@pytest.fixture
def two(monkeypatch):
    """Leave two readings of the 32."""
    monkeypatch.setattr(table1_readings, "READINGS", (OTHER, DRAWN))


def of(frame, reading, metric=NLL):
    under = frame["setting"] == table1_readings.setting(reading)
    return frame[under & (frame["metric"] == metric)].reset_index(drop=True)


def test_readings_are_those_declared():
    declared = published.readings().set_index("id").loc["K-grid"]
    sigmas = ", ".join(dict.fromkeys(each.sigma_range for each in READINGS))
    paths = ", ".join(dict.fromkeys(each.regularization_range for each in READINGS))
    said = f"sigma in {sigmas}; lambda in {paths}; 5 or 10 folds: {len(set(READINGS))} readings"
    assert declared["readings"].startswith(said)
    assert f"{DRAWN}" == declared["drawn"]
    assert DRAWN in READINGS
    for reading in READINGS:
        sigma, path, folds = table1_readings.grid(reading)
        assert (sigma[0], sigma[-1], path[0], path[-1]) == pytest.approx(
            (*reading.sigma, *reading.regularization)
        )
        assert (len(sigma), len(path), folds) == (20, 20, reading.folds)


def test_the_drawn_reading_is_that_of_the_benchmark(launch, two):
    found, chosen = launch(Job("smoke-mixed", "KCEF", splits=2), "readings")
    expected, by_itself = launch(r_benchmark.Job("smoke-mixed", "KCEF", splits=2), "benchmark")
    for metric in table1_readings.METRICS:
        own = of(found, DRAWN, metric)
        other = expected[expected["metric"] == metric].reset_index(drop=True)
        for name in ("value", "stderr"):
            np.testing.assert_allclose(own[name], other[name], rtol=1e-6)
        assert own[["split", "n_train", "seed"]].equals(other[["split", "n_train", "seed"]])
    drawn = [each for each in chosen if each["reading"] == f"{DRAWN}"]
    for each, other in zip(drawn, by_itself, strict=True):
        assert [each["bandwidth"]] * 2 == pytest.approx(other["bandwidth_x"])
        assert each["regularization"] == pytest.approx(other["regularization"])


def test_another_reading_is_a_fit_with_its_grid_and_folds(launch, two, smoke, monkeypatch):
    folder, catalogue = smoke
    found, _ = launch(Job("smoke-mixed", "KCEF", splits=1))
    grid = table1_readings.grid(OTHER)
    monkeypatch.setitem(KCEF._grids, "score", grid[:2])
    data = load("smoke-mixed", folder, catalogue=catalogue)
    train, test = r_benchmark.half_split("smoke-mixed", 0, len(data.Y))
    model = KCEF(folds=grid.folds, random_state=split_seed("smoke-mixed", 0))
    fitted = Standardised(model).fit(data.X[train], data.Y[train])
    expected = -fitted.score(data.X[test], data.Y[test]) - fitted.log_scale_
    value = of(found, OTHER, f"{NLL}_quadrature")["value"].item()
    assert value == pytest.approx(expected, rel=1e-8)


def test_a_pair_is_fitted_once_and_a_failed_fit_is_a_failed_split_of_its_readings(
    launch, monkeypatch
):
    wide = Reading((0.1, 10.0), (1e-6, 1.0), 5)
    monkeypatch.setattr(table1_readings, "READINGS", (DRAWN, wide, DRAWN))
    fitted = []
    fit = r_benchmark.fit

    def counted(job, data, split):
        fitted.append(job.options)
        if len(fitted) == 1:
            raise np.linalg.LinAlgError("no luck")
        return fit(job, data, split)

    monkeypatch.setattr(r_benchmark, "fit", counted)
    frame, _ = launch(Job("smoke-mixed", "KCEF", splits=1))
    assert len(fitted) == 2
    assert of(frame, DRAWN)["status"].tolist() == ["failed"] * 2
    assert set(of(frame, DRAWN)["detail"]) == {"LinAlgError: no luck"}
    assert of(frame, wide)["status"].tolist() == ["ok"]


def test_without_a_finite_score_every_reading_has_failed(launch, two, monkeypatch):
    nothing = np.full((2, 70, 70), np.nan)
    monkeypatch.setattr(
        "kcde.estimators._kcef.selection._score_tables",
        lambda X, Y, partitions, pairs, path, std: nothing[:, : len(pairs), : len(path)],
    )
    frame, chosen = launch(Job("smoke-mixed", "KCEF", splits=1))
    assert frame["status"].tolist() == ["failed"] * 2
    assert frame["detail"].str.contains("no candidate has a finite").all()
    assert [set(each) for each in chosen] == [{"reading", "split"}] * 2


def test_unavailable_data_give_a_row_for_each_reading(smoke, tmp_path):
    folder, catalogue = smoke
    record = tmp_path / "record.json"
    record.write_text(json.dumps({"status": "unavailable", "remedy": "connect"}))
    out = tmp_path / "out.csv"
    run(Job("smoke-mixed", "KCEF", splits=2), out, folder, catalogue=catalogue, record=record)
    frame = scores.read([out])
    assert len(frame) == 2 * len(READINGS)
    assert set(frame["status"]) == {"not-run"}
    assert frame["setting"].nunique() == len(READINGS)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("LSCDE", {}),
        ("KCEF", {"selection": "likelihood"}),
        ("KCEF", {"bandwidth_x": 1.0, "bandwidth_y": 1.0}),
    ],
)
def test_what_chooses_no_pair_by_score_is_refused(launch, method, options):
    with pytest.raises(ValueError, match="searches no grid of σ and λ"):
        launch(Job("smoke-mixed", method, options=options))
