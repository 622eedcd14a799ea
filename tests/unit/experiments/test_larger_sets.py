"""The larger sets: scores by hand under their own splits, and what a fit left out would need."""

from dataclasses import replace

import numpy as np
import pytest

from kcde import scores
from kcde.data.larger import forward
from kcde.data.loaders import load
from kcde.estimators import LSCDE, Standardised
from kcde.experiments import r_benchmark
from kcde.experiments.r_benchmark import LargerSets
from kcde.experiments.runner import run
from kcde.metrics.names import NEEDED_SECONDS, NLL
from kcde.seeding import split_seed

QUICK = {"bandwidth_x": 0.5, "bandwidth_y": 0.3, "regularization": 0.1}


@pytest.fixture
def launch(smoke, tmp_path, monkeypatch):
    """Run a job on smoke data that have splits in time; return the frame, the arrays, the data."""
    data = load("smoke-linear", smoke[0], catalogue=smoke[1])
    data = replace(data, rows=forward(len(data.Y)))

    def run_job(options=QUICK, groups=None, **more):
        opened = replace(data, groups=groups)
        monkeypatch.setattr(r_benchmark, "open_larger", lambda *_: opened)
        run(LargerSets("smoke-linear", "LSCDE", options=options, splits=3, **more), out)
        return scores.read([out]), np.load(out.with_suffix(".npz")), data

    out = tmp_path / "out.csv"
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


def test_folds_keep_the_groups_of_a_set_together(launch):
    *_, data = launch()
    groups = np.arange(len(data.Y)) % 7
    frame, *_ = launch(options={}, groups=groups)
    train, test = data.rows(1)
    model = Standardised(LSCDE(random_state=split_seed("smoke-linear", 1)))
    model.fit(data.X[train], data.Y[train], groups=groups[train])
    own = frame[(frame["split"] == 1) & (frame["metric"] == NLL)]
    expected = -model.score(data.X[test], data.Y[test]) - model.log_scale_
    assert own["value"].item() == pytest.approx(expected, rel=1e-8)


def test_a_set_with_more_rows_than_a_method_takes_is_left_out(launch, monkeypatch):
    def below(most):
        monkeypatch.setitem(r_benchmark._MOST_ROWS, "LSCDE", most)
        return launch()

    frame, _, data = below(10)
    assert set(frame["metric"]) == {NEEDED_SECONDS}
    sizes = [len(data.rows(split)[0]) for split in range(3)]
    np.testing.assert_allclose(frame["value"], [60.0 * (n / 10) ** 3 for n in sizes])
    assert set(frame["status"]) == {"ok"}
    assert NLL in set(below(max(sizes))[0]["metric"])
    assert NLL not in set(below(max(sizes) - 1)[0]["metric"])
