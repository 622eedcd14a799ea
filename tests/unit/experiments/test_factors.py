import numpy as np
import pytest

from kcde import scores
from kcde.data import made_up
from kcde.estimators import KCEF, LSCDE
from kcde.experiments import _problems
from kcde.experiments._problems import open_problem
from kcde.experiments.factors import Factors
from kcde.experiments.joint import Exact, Joint
from kcde.experiments.runner import run
from kcde.joint import JointDensity
from kcde.metrics.names import NLL

QUICK = {"bandwidth_x": 1.0, "bandwidth_y": 1.0, "regularization": 0.1}


@pytest.fixture
def launch(smoke, tmp_path):
    """Run a factor job; return the path of its scores."""
    data = dict(zip(("data_dir", "catalogue"), smoke, strict=True))

    def run_job(nodes, name=None, **axes):
        out = tmp_path / f"{name or '-'.join(map(str, nodes))}.csv"
        axes = {"dataset": "smoke-joint", "method": "LSCDE-F", "estimator": "LSCDE"} | axes
        run(Factors(nodes=tuple(nodes), **data, **{"options": QUICK, "runs": 2, **axes}), out)
        return out

    return run_job


@pytest.fixture
def summed(tmp_path):
    """Sum factors; return the scores and the arrays."""

    def run_job(*files):
        out = tmp_path / "joint.csv"
        run(Joint("smoke-joint", "LSCDE-F", files=files), out)
        return scores.read([out]), dict(np.load(out.with_suffix(".npz")))

    return run_job


def test_a_score_is_that_of_a_standardised_fit_by_hand(launch, smoke):
    out = launch([3, 2], method="KCEF-F", estimator="KCEF")
    frame = scores.read([out])
    split = open_problem("smoke-joint", *smoke).split(1)
    assert abs(split.train.mean(axis=0)).max() < 1e-12
    np.testing.assert_allclose(split.train.std(axis=0), 1.0)
    model = KCEF(**QUICK).fit(split.train[:, :2], split.train[:, 2:])
    expected = model.log_density(split.test[:, :2], split.test[:, 2:])
    label = '{"graph":"full","node":3,"parents":[1,2]}'
    row = frame[(frame["setting"] == label) & (frame["split"] == 1)].iloc[0]
    assert row["value"] == pytest.approx(-expected.mean(), rel=1e-8)
    assert (row["n_train"], row["n_test"], row["dim"]) == (135, 15, 3)
    arrays = np.load(out.with_suffix(".npz"))
    np.testing.assert_allclose(arrays["log_density"][1, 0], expected, rtol=1e-9)
    assert arrays["nodes"].tolist() == [3, 2]


def test_joint_scores_are_those_of_a_joint_density(launch, summed, smoke):
    dag = [[], [0], [0]]
    frame, _ = summed(launch([1, 2, 3], graph=dag))
    problem = open_problem("smoke-joint", *smoke)
    split = problem.split(0)
    job = Factors("smoke-joint", "LSCDE-F", "LSCDE", options=QUICK)
    model = JointDensity(job.unfitted(problem.seed(0)), dag).fit(None, split.train)
    assert frame["value"][0] == pytest.approx(-model.score(None, split.test), rel=1e-9)


def test_every_dimension_that_has_its_parents_has_its_score(launch, summed, monkeypatch):
    axes = {"dataset": "grid-2000", "runs": 1}
    monkeypatch.setattr(_problems, "MOST_GRID_COLUMNS", 4)
    frame, arrays = summed(launch([], **axes))
    assert frame["setting"].tolist() == [f'{{"dim":{d}}}' for d in (1, 2, 3, 4)]
    terms = arrays["factor_log_density"][0].mean(axis=1)
    np.testing.assert_allclose(frame["value"], -np.cumsum(terms), rtol=1e-9)
    monkeypatch.setattr(_problems, "MOST_GRID_COLUMNS", 3)
    frame, _ = summed(launch([1, 2, 3], graph=[[1], [], [1]], **axes))
    assert frame["dim"].tolist() == [2, 3]


def test_a_factor_that_fails_fails_its_run_with_the_reason(launch, summed, monkeypatch):
    plain, fits = LSCDE._fit, []

    def fail_once(self, X, Y):
        fits.append(X.shape[1])
        if fits == [0, 1]:
            raise np.linalg.LinAlgError("no luck")
        plain(self, X, Y)

    monkeypatch.setattr(LSCDE, "_fit", fail_once)
    out = launch([1, 2, 3])
    frame = scores.read([out])
    assert frame["status"].tolist() == ["ok", "failed", *["ok"] * 4]
    assert frame["detail"][1] == "LinAlgError: no luck"
    frame, arrays = summed(out)
    assert frame["status"].tolist() == ["failed", "ok"]
    assert frame["detail"][0] == "node 2: LinAlgError: no luck"
    assert np.isnan(frame["value"][0])
    assert np.isnan(arrays["log_density"][0]).all()


def test_factors_that_do_not_belong_together_are_refused(launch, summed):
    first = launch([1, 2])
    for others in ([], [launch([2, 3])], [launch([3], runs=1, name="r")]):
        with pytest.raises(ValueError, match="are not all factors of one joint density"):
            summed(first, *others)


def test_exact_scores_are_the_bounds_of_the_grid_data(launch, summed, tmp_path):
    run(Exact("grid-400", "exact", runs=2), tmp_path / "exact.csv")
    frame = scores.read([tmp_path / "exact.csv"])
    assert set(frame["experiment"] + frame["variant"]) == {"jointexact"}
    wide = frame.pivot(index="split", columns="metric", values="value")
    gain = wide["independence"] - wide["entropy"]
    np.testing.assert_allclose(gain, -made_up.grid_entropy(3).sum(), rtol=1e-8)
    terms = np.load(tmp_path / "exact.npz")["factor_log_density"]
    error = terms.sum(axis=1).std(axis=1) / np.sqrt(terms.shape[2])
    assert np.all(np.abs(wide[NLL] - wide["entropy"]) < 4 * error)
    # In standardised units independent uniforms have the density Π s_i on their box.
    split = open_problem("grid-400", "").split(1)
    assert wide["independence"][1] == pytest.approx(-np.log(split.std).sum(), rel=1e-8)
    volume = np.ptp(split.train, axis=0).prod()
    assert wide["independence"][1] == pytest.approx(np.log(volume), abs=0.05)
    _, ours = summed(launch([], dataset="grid-400", runs=1))
    assert (terms[0].sum(axis=0) - ours["log_density"][0]).mean() > 0
