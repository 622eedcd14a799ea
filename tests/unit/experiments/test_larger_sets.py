"""The larger sets: scores by hand under their own splits, and what a fit left out would need."""

from dataclasses import replace

import numpy as np
import pytest

from kcde import scores
from kcde.data.larger import forward
from kcde.data.loaders import load
from kcde.estimators import LSCDE, Standardised
from kcde.experiments import larger_sets
from kcde.experiments.jobs.larger_sets import Job
from kcde.experiments.r_benchmark import split_seed
from kcde.experiments.runner import run
from kcde.metrics.names import NEEDED_SECONDS, NLL

QUICK = {"bandwidth_x": 0.5, "bandwidth_y": 0.3, "regularization": 0.1}


@pytest.fixture
def launch(smoke, tmp_path, monkeypatch):
    """Run a job on smoke data that have splits in time; return the frame, the arrays, the data."""
    folder, catalogue = smoke
    data = load("smoke-linear", folder, catalogue=catalogue)
    data = replace(data, rows=forward(len(data.Y)))
    monkeypatch.setattr(larger_sets, "open_larger", lambda *_: data)

    def run_job(options=QUICK, **more):
        job = Job("smoke-linear", "LSCDE", options=options, splits=3, **more)
        run(job, tmp_path / "out.csv", folder, catalogue=catalogue)
        return scores.read([tmp_path / "out.csv"]), np.load(tmp_path / "out.npz"), data

    return run_job


def test_scores_are_those_of_fits_to_the_data_s_own_splits(launch):
    frame, arrays, data = launch()
    for split in range(3):
        train, test = data.rows(split)
        model = Standardised(LSCDE(**QUICK)).fit(data.X[train], data.Y[train])
        own = frame[frame["split"] == split].set_index("metric")
        expected = -model.score(data.X[test], data.Y[test]) - model.log_scale_
        assert own.loc[NLL, "value"] == pytest.approx(expected, rel=1e-8)
        crps = model.crps(data.X[test], data.Y[test]).mean() / data.Y[train].std()
        assert own.loc["crps", "value"] == pytest.approx(crps, rel=1e-8)
        assert (own["n_train"] == len(train)).all()
        found = arrays["test_rows"][split]
        np.testing.assert_array_equal(found[found >= 0], test)
    assert set(frame["experiment"]) == {"larger_sets"}


def test_folds_keep_the_groups_of_a_set_together(launch, monkeypatch):
    *_, data = launch()
    groups = np.arange(len(data.Y)) % 7
    grouped = replace(data, groups=groups)
    monkeypatch.setattr(larger_sets, "open_larger", lambda *_: grouped)
    frame, *_ = launch(options={})
    train, test = data.rows(1)
    model = Standardised(LSCDE(random_state=split_seed("smoke-linear", 1)))
    model.fit(data.X[train], data.Y[train], groups=groups[train])
    own = frame[(frame["split"] == 1) & (frame["metric"] == NLL)]
    expected = -model.score(data.X[test], data.Y[test]) - model.log_scale_
    assert own["value"].item() == pytest.approx(expected, rel=1e-8)


def test_a_set_with_more_rows_than_a_method_takes_is_left_out(launch):
    frame, _, data = launch(most_rows=10)
    assert set(frame["metric"]) == {NEEDED_SECONDS}
    sizes = [len(data.rows(split)[0]) for split in range(3)]
    expected = [60.0 * (n / 10) ** 3 for n in sizes]
    np.testing.assert_allclose(frame.sort_values("split")["value"], expected)
    assert (frame["status"] == "ok").all()
    assert set(frame["detail"]) == {"not fitted: a fit takes 60 s from about 10 rows on"}


def test_one_with_as_many_is_fitted(launch):
    _, _, data = launch()
    largest = max(len(data.rows(split)[0]) for split in range(3))
    assert NLL in set(launch(most_rows=largest)[0]["metric"])
    assert NLL not in set(launch(most_rows=largest - 1)[0]["metric"])
