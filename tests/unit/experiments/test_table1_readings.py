"""KCEF under readings of the grid of table 1: each is a fit with its grid and folds."""

import numpy as np
import pytest

from kcde import scores
from kcde.data.loaders import load
from kcde.estimators import KCEF, Standardised
from kcde.experiments import table1_readings
from kcde.experiments.r_benchmark import RBenchmark, half_split
from kcde.experiments.runner import run
from kcde.experiments.table1_readings import DRAWN, READINGS, Reading, Table1Readings
from kcde.metrics.names import NLL, NLL_QUADRATURE
from kcde.seeding import split_seed

OTHER = Reading((0.5, 5.0), (1e-4, 1.0), 10)


@pytest.fixture
def launch(smoke, tmp_path, monkeypatch):
    """Run a job on smoke data with two readings of the 32; return the frame."""
    folder, catalogue = smoke
    monkeypatch.setattr(table1_readings, "READINGS", (OTHER, DRAWN))

    def run_job(cls=Table1Readings, method="KCEF", splits=1, **axes):
        out, files = tmp_path / f"{cls.name}.csv", {"data_dir": folder, "catalogue": catalogue}
        run(cls("smoke-mixed", method, splits=splits, **files, **axes), out)
        return scores.read([out])

    return run_job


def of(frame, reading, metric=NLL):
    under = frame["setting"] == scores.setting(**reading._asdict())
    return frame[under & (frame["metric"] == metric)].reset_index(drop=True)


def test_readings_are_distinct_and_have_the_paper_s_number_of_candidates():
    assert len({f"{reading}" for reading in READINGS}) == 32
    assert DRAWN in READINGS
    for reading in READINGS:
        sigma, path, folds = reading.grid()
        ends = (*reading.sigma, *reading.regularization)
        assert (sigma[0], sigma[-1], path[0], path[-1]) == pytest.approx(ends)
        assert (len(sigma), len(path), folds) == (20, 20, reading.folds)


def test_the_drawn_reading_is_that_of_the_benchmark(launch):
    found = launch(splits=2)
    expected = launch(RBenchmark, splits=2)
    assert set(found["experiment"]) == {"table1_readings"}
    for metric in (NLL, NLL_QUADRATURE):
        own = of(found, DRAWN, metric)
        other = expected[expected["metric"] == metric].reset_index(drop=True)
        for name in ("value", "stderr"):
            np.testing.assert_allclose(own[name], other[name], rtol=1e-6)
        assert own[["split", "n_train", "seed"]].equals(other[["split", "n_train", "seed"]])


def test_another_reading_is_a_fit_with_its_grid_and_folds(launch, smoke, monkeypatch):
    found = launch()
    grid = OTHER.grid()
    monkeypatch.setitem(KCEF._grids, "score", grid[:2])
    data = load("smoke-mixed", smoke[0], catalogue=smoke[1])
    train, test = half_split("smoke-mixed", 0, len(data.Y))
    model = KCEF(folds=grid.folds, random_state=split_seed("smoke-mixed", 0))
    fitted = Standardised(model).fit(data.X[train], data.Y[train])
    expected = -fitted.score(data.X[test], data.Y[test]) - fitted.log_scale_
    assert of(found, OTHER, NLL_QUADRATURE)["value"].item() == pytest.approx(expected, rel=1e-8)


def test_a_pair_is_fitted_once_and_a_failed_fit_fails_its_readings(launch, monkeypatch):
    wide = Reading((0.1, 10.0), (1e-6, 1.0), 5)
    monkeypatch.setattr(table1_readings, "READINGS", (DRAWN, wide, DRAWN))
    fitted, fit = [], Table1Readings.fit

    def counted(self, split, **more):
        fitted.append(more)
        if len(fitted) == 1:
            raise np.linalg.LinAlgError("no luck")
        return fit(self, split, **more)

    monkeypatch.setattr(Table1Readings, "fit", counted)
    frame = launch()
    assert len(fitted) == 2
    assert of(frame, DRAWN)["status"].tolist() == ["failed"] * 2
    assert set(of(frame, DRAWN)["detail"]) == {"LinAlgError: no luck"}
    assert of(frame, wide)["status"].tolist() == ["ok"]
