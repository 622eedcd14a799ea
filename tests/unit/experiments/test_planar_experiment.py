import json

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from scipy.stats import norm

from kcde import scores
from kcde.data import made_up
from kcde.estimators import KEF
from kcde.experiments import planar
from kcde.experiments.planar import Planar
from kcde.experiments.runner import run
from kcde.panels import box_quadrature

pytestmark = pytest.mark.nightly

KEF_OPTIONS = {"n_basis": 40, "bandwidth_y": 0.7, "regularization": 1e-3}
DDE_OPTIONS = {
    "base": "uniform",
    "bandwidth_scale": 0.1,
    "hidden_units": 8,
    "latent": 4,
    "validation": 0,
    "batch_size": 20,
}
DDE_JOB = {"method": "DDE", "options": DDE_OPTIONS, "iterations": 100}
KEF_JOB = {"method": "KEF", "options": KEF_OPTIONS}


def launch(folder, **given):
    """Scores, arrays and info of a job on the grid with 2 seeds."""
    out = folder / "out.csv"
    run(Planar(**{"dataset": "grid", "seeds": 2, "samples": 400} | given), out)
    with np.load(out.with_suffix(".npz")) as stored:
        arrays = dict(stored)
    return scores.read([out]), arrays, json.loads(out.with_suffix(".json").read_text())


@pytest.fixture(scope="module")
def by_dde(tmp_path_factory):
    return launch(tmp_path_factory.mktemp("dde"), **DDE_JOB)


@pytest.fixture(scope="module")
def dde(by_dde):
    """The first model of that job, fitted again; both, so that nothing is compiled again."""
    estimators = [Planar("grid", **DDE_JOB).unfitted(seed) for seed in range(2)]
    trains = [planar.points("grid", seed).train for seed in range(2)]
    return planar.fit_many(estimators, trains)[0]


@pytest.fixture(scope="module")
def by_kef(tmp_path_factory):
    return launch(tmp_path_factory.mktemp("kef"), **KEF_JOB)


def value(frame, metric, seed=0):
    return frame[(frame["metric"] == metric) & (frame["split"] == seed)]["value"].item()


def mass(log_density, lower, upper, cells=300):
    """The midpoint rule."""
    edge = (upper - lower) / cells
    ticks = lower + edge * (np.arange(cells)[:, None] + 0.5)
    nodes = np.stack(np.meshgrid(*ticks.T), axis=-1).reshape(-1, 2)
    return np.exp(log_density(nodes)).sum() * np.prod(edge)


def test_points_depend_on_data_set_and_seed_alone():
    first, again, other = (planar.points("grid", seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.train, again.train)
    assert (len(first.train), len(first.test)) == made_up.planar_sizes("grid")
    assert not np.isin(first.train, other.train).any()
    assert not np.isin(first.train, first.test).any()


@pytest.mark.parametrize("reference", ["test", "train"])
def test_discrepancy_is_the_unbiased_one_with_the_bandwidth_of_f(by_dde, reference):
    frame, arrays, info = by_dde
    squared = pdist(arrays["train"], "sqeuclidean")
    gamma = 0.5 / np.median(squared[squared > 0]) / 0.1  # as the authors' code has it
    samples, points = arrays["samples"], arrays[reference]
    within = [
        (np.exp(-gamma * cdist(a, a, "sqeuclidean")).sum() - len(a)) / (len(a) * (len(a) - 1))
        for a in (samples, points)
    ]
    expected = sum(within) - 2 * np.exp(-gamma * cdist(samples, points, "sqeuclidean")).mean()
    found = value(frame, {"test": "mmd", "train": "mmd_train"}[reference])
    assert found == pytest.approx(1e3 * expected, rel=1e-7)
    assert planar.points("grid", 0).bandwidth == pytest.approx(np.sqrt(0.5 / gamma))
    assert info["chosen"][0]["bandwidth_y"][0] == pytest.approx(np.sqrt(0.5 / gamma))


def test_what_is_measured_of_doubly_dual_embedding(by_dde):
    frame, arrays, _ = by_dde
    first = frame[(frame["split"] == 0) & (frame["status"] == "ok")].set_index("metric")["value"]
    assert first["iterations"] == 100
    assert first["mmd2_biased_first"] == pytest.approx(arrays["history_mmd2"][0, 0])
    assert first["mmd2_biased_last"] == pytest.approx(arrays["history_mmd2"][0, -1])
    assert first["objective"] == pytest.approx(arrays["history_objective"][0, -1])
    assert 1 <= first["sampler_effective_sample_size"] <= 1000
    speed = first["effective_samples_per_second"] * first["sampling_time"]
    assert speed == pytest.approx(400, rel=1e-6)
    assert arrays["history_mmd2"].shape == (2, len(arrays["history_iteration"]))
    # Nothing is penalised in the training; the optimum has η = 1/n.
    assert first["trained_penalised_loss"] > first["optimum_penalised_loss"]
    assert first["trained_negative_log_likelihood_trained"] == pytest.approx(
        first.get("negative_log_likelihood_inside", first["negative_log_likelihood"]), abs=1e-5
    )


def test_points_beyond_a_uniform_base_have_no_density(by_dde):
    frame, arrays, _ = by_dde
    lower, upper = arrays["train"].min(axis=0), arrays["train"].max(axis=0)
    outside = ~np.all((arrays["test"] >= lower) & (arrays["test"] <= upper), axis=1)
    assert value(frame, "points_without_density") == outside.sum()
    exact = made_up.planar_log_density("grid", arrays["test"])
    assert value(frame, "negative_log_likelihood_exact") == pytest.approx(-exact.mean())
    own = frame[frame["split"].eq(0) & frame["metric"].eq(planar.NLL)]
    assert (own["status"] == "failed").all() == outside.any()


def test_likelihoods_without_points_beyond_stand_beside(dde):
    test = np.vstack([dde.train, [[9.0, 9.0]]])
    found = {cell["metric"]: cell for cell in planar.likelihood_cells("grid", dde, test)}
    assert found[planar.NLL]["status"] == "failed"
    assert found["points_without_density"]["value"] == 1
    expected = -dde.log_density(dde.train).mean()
    assert found[f"{planar.NLL}_inside"]["value"] == pytest.approx(expected)
    exact = -made_up.planar_log_density("grid", dde.train).mean()
    assert found[f"{planar.NLL}_exact_inside"]["value"] == pytest.approx(exact)
    box = dde.train.min(axis=0), dde.train.max(axis=0)
    assert mass(dde.log_density, *box) == pytest.approx(1, abs=2e-4)


def test_density_in_the_units_of_the_points_has_mass_one(by_kef):
    _, arrays, _ = by_kef
    model = planar.fit(KEF(0.7, 1e-3, n_basis=40), arrays["train"])
    lower, upper = model.mean - 10 * model.std, model.mean + 10 * model.std
    error = 5 * model.log_z[1]
    assert 0 < error < 0.5
    assert mass(model.log_density, lower, upper, 400) == pytest.approx(1, abs=error)
    # Along the second axis alone: chains rarely cross between the two modes on the first.
    drawn = model.draw(2000, np.random.default_rng(0), "KEF").samples[:, 1]
    assert drawn.mean() == pytest.approx(arrays["train"][:, 1].mean(), abs=0.03)
    assert drawn.std() == pytest.approx(arrays["train"][:, 1].std(), rel=0.4)


def test_quadrature_on_a_box_against_the_normal_distribution():
    lower, upper = np.array([-1.0, 0.2]), np.array([2.0, 4.0])

    def log_f(Y):
        return 3.0 + norm.logpdf(Y[:, 0]) + norm.logpdf(Y[:, 1], scale=0.05)

    found, error = box_quadrature(log_f, lower, upper)
    each = [norm.cdf(2) - norm.cdf(-1), norm.cdf(4, scale=0.05) - norm.cdf(0.2, scale=0.05)]
    assert found == pytest.approx(3 + np.log(each).sum(), abs=1e-6)
    assert error <= 1e-6


def test_long_trajectories_are_the_chains_of_kef_with_more_leapfrog_steps():
    train = planar.points("grid", 0).train
    model = planar.fit(KEF(0.7, 1e-3, n_basis=40), train)
    calls = []
    target = model.estimator._hmc_target

    def counted(X, rows):
        at = target(X, rows)
        return lambda states: calls.append(1) or at(states)

    model.estimator._hmc_target = counted
    model.draw(20, np.random.default_rng(0), "KEF")
    ten = len(calls)
    draws = model.draw(20, np.random.default_rng(0), "KEF-100-steps")
    # Besides a first evaluation of each start.
    assert len(calls) - ten - 1 == 10 * (ten - 1)
    assert draws.samples.shape == (20, 2)


def test_a_seed_that_fails_is_a_row_and_leaves_the_others_alone(monkeypatch, tmp_path):
    plain = planar.fit_many

    def failing(*arguments):
        return [FloatingPointError("diverged at iteration 7"), *plain(*arguments)[1:]]

    monkeypatch.setattr(planar, "fit_many", failing)
    frame, arrays, info = launch(tmp_path, **DDE_JOB)
    (bad,) = frame[frame["split"] == 0].to_dict("records")
    assert (bad["metric"], bad["status"]) == ("mmd", "failed")
    assert bad["detail"] == "FloatingPointError: diverged at iteration 7"
    assert np.isfinite(value(frame, "mmd", 1))
    assert np.isnan(arrays["samples_all"][0]).all()
    assert np.isnan(arrays["history_mmd2"][0]).all()
    assert np.isfinite(arrays["history_mmd2"][1]).all()
    assert info["chosen"][0] == {}
    np.testing.assert_array_equal(arrays["train"], planar.points("grid", 1).train)
