"""Joint densities: their factors, sums and networks; samples of them and in the plane."""

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import ks_2samp, norm

from kcde import scores
from kcde.data import made_up
from kcde.estimators import KCEF, KEF, LSCDE, NADE
from kcde.estimators._networks.dde import resolve_parameters
from kcde.experiments import factors, planar
from kcde.experiments.factors import Factors, open_problem
from kcde.experiments.joint import Exact, Joint, JointNetwork, metrics
from kcde.experiments.planar import Planar
from kcde.experiments.runner import run
from kcde.experiments.samples import Samples
from kcde.experiments.similarity import Similarity
from kcde.joint import JointDensity, ancestral_hmc, check_conditionals
from kcde.metrics import NLL, median_bandwidth, mmd2_unbiased, relative_similarity_test
from kcde.panels import box_quadrature
from kcde.seeding import rng_of

QUICK = {"bandwidth_x": 1.0, "bandwidth_y": 1.0, "regularization": 0.1}
FACTORS = {"dataset": "smoke-joint", "method": "LSCDE-F", "estimator": "LSCDE", "options": QUICK}
FACTORS |= {"runs": 2}
SMALL = {"dataset": "smoke-joint", "seeds": 2, "samples": 60, "graph": "full", "options": QUICK}
KCEF_F = SMALL | {"method": "KCEF-F", "estimator": "KCEF"}
INVERSE = KCEF_F | {"method": "KCEF-F-inverse"}
LSCDE_F = SMALL | {"method": "LSCDE-F", "estimator": "LSCDE"}
OPTIONS = {"base": "uniform", "bandwidth_scale": 0.1, "hidden_units": 8, "latent": 4}
OPTIONS |= {"validation": 0, "batch_size": 20}
JOB = {"dataset": "grid", "method": "DDE", "iterations": 100, "options": OPTIONS}


@pytest.fixture
def fit(launch):
    return lambda *nodes, **changes: launch(Factors, nodes=nodes, **FACTORS | changes)


@pytest.fixture
def summed(launch):
    return lambda *jobs: launch(Joint, "smoke-joint", "LSCDE-F", files=tuple(j.out for j in jobs))


def test_joint_scores_are_those_of_a_joint_density(fit, summed, smoke):
    dag = [[], [0], [0]]
    frame, *_ = summed(fit(3, graph=dag), fit(1, 2, graph=dag))
    problem = open_problem("smoke-joint", *smoke)
    split = problem.split(0)
    assert abs(split.train.mean(axis=0)).max() < 1e-12
    np.testing.assert_allclose(split.train.std(axis=0), 1.0)
    model = JointDensity(Factors(**FACTORS).unfitted(problem.seed(0)), dag).fit(None, split.train)
    assert frame["value"][0] == pytest.approx(-model.score(None, split.test), rel=1e-9)


def test_every_dimension_that_has_its_parents_has_its_score(fit, summed, monkeypatch):
    axes = {"dataset": "grid-2000", "runs": 1}
    monkeypatch.setattr(factors, "MOST_GRID_COLUMNS", 3)
    done = fit(**axes)
    frame, *_ = summed(done)
    assert frame["setting"].tolist() == [f'{{"dim":{d}}}' for d in (1, 2, 3)]
    np.testing.assert_allclose(frame["value"], np.cumsum(done.frame["value"]), rtol=1e-9)
    frame, *_ = summed(fit(1, 2, 3, graph=[[1], [], [1]], **axes))
    assert frame["dim"].tolist() == [2, 3]


def test_a_factor_that_fails_fails_its_run_with_the_reason(fit, summed, monkeypatch):
    plain, fits = LSCDE._fit, []

    def fail_once(self, X, Y):
        fits.append(X.shape[1])
        if fits == [0, 1]:
            raise np.linalg.LinAlgError("no luck")
        plain(self, X, Y)

    monkeypatch.setattr(LSCDE, "_fit", fail_once)
    done = fit(1, 2, 3)
    assert done.frame["status"].tolist() == ["ok", "failed", *["ok"] * 4]
    frame, *_ = summed(done)
    assert frame["status"].tolist() == ["failed", "ok"]
    assert frame["detail"][0] == "node 2: LinAlgError: no luck"


def test_factors_that_do_not_belong_together_are_refused(fit, summed):
    first = fit(1, 2)
    for others in ([], [fit(2, 3)], [fit(3, runs=1)]):
        with pytest.raises(ValueError, match="not all factors"):
            summed(first, *others)


def test_exact_scores_are_the_bounds_of_the_grid_data(launch):
    frame, *_ = launch(Exact, "grid-400", "exact", runs=2)
    wide = frame.pivot(index="split", columns="metric", values="value")
    gain = wide["independence"] - wide["entropy"]
    np.testing.assert_allclose(gain, -made_up.grid_entropy(3).sum(), rtol=1e-8)
    assert np.all(np.abs(wide[NLL] - wide["entropy"]) < 0.1)
    # In standardised units independent uniforms have the density Π s_i on their box.
    split = open_problem("grid-400", "").split(1)
    assert wide["independence"][1] == pytest.approx(-np.log(split.std).sum(), rel=1e-8)
    volume = np.ptp(split.train, axis=0).prod()
    assert wide["independence"][1] == pytest.approx(np.log(volume), abs=0.05)


def test_metrics_of_orders_by_hand():
    by_order = np.log([[0.5, 0.5], [0.2, 0.8], [0.4, 0.1]])
    found = metrics(by_order)
    assert found[NLL] == pytest.approx(-np.log(0.2 * 0.8 * 0.4 * 0.1) / 4)
    assert found[f"{NLL}_fixed_order"] == pytest.approx(np.log(2))
    assert found[f"{NLL}_ensemble"] == pytest.approx(-(np.log(0.3) + np.log(0.45)) / 2)


@pytest.mark.nightly
def test_each_run_and_dimension_is_a_network_scored_in_all_orders(launch, monkeypatch):
    monkeypatch.setattr(factors, "MOST_GRID_COLUMNS", 3)
    options = {"hidden_units": 4, "components": 2, "epochs": 2}
    job = {"dataset": "grid-2000", "method": "NADE", "runs": 2, "dims": (2, 3)}
    frame, *_ = launch(JointNetwork, **job, options=options)
    for dim, split in itertools.product((2, 3), (0, 1)):
        rows = frame[frame["split"].eq(split) & frame["dim"].eq(dim)].set_index("metric")["value"]
        problem = open_problem("grid-2000", "")
        parts = problem.split(split)
        model = NADE(**options, random_state=problem.seed(split))
        train, test = parts.train[:, :dim], parts.test[:, :dim]
        found = model.fit(train[:, :0], train).log_density(test[:, :0], test)
        # Networks trained together differ by rounding.
        assert rows[f"{NLL}_fixed_order"] == pytest.approx(-found.mean(), abs=0.05)


def test_hamiltonian_and_inverse_sampling_have_one_distribution(rng):
    """Of a bent, heteroscedastic pair and a third coordinate that follows."""
    x = rng.standard_normal(80)
    y = np.cos(x) + (0.2 + 0.2 * np.abs(x)) * rng.standard_normal(80)
    curve = np.column_stack([x, y, 0.5 * y + 0.7 * rng.standard_normal(80)])
    model = JointDensity(KCEF(1.0, 0.7, 0.01)).fit(None, curve)
    # From 100 draws R-hat is 1.14 to 1.39, as rounding has it; from 400 at most 1.08.
    checks = check_conditionals(model, curve[:3], 400)
    chains = ancestral_hmc(model, 800, rng, checks)
    exact = model.sample(None, 800, rng)[0]
    for direction in [*np.eye(3), [1, 1, 0], [0, 1, -1]]:
        # Draws of the first column are correlated within a chain, which only widens the error.
        assert ks_2samp(chains.samples @ direction, exact @ direction).pvalue > 1e-3
    assert 0.5 < chains.diagnostics["acceptance_rate"] <= 1.0
    assert chains.diagnostics["r_hat"] < 1.2
    assert chains.diagnostics["divergences"] == 0
    bad = checks[0]._replace(r_hat=9.0, effective_sample_size=1.5)
    worst = ancestral_hmc(model, 200, rng, [checks[1], bad]).diagnostics
    assert (worst["r_hat"], worst["effective_sample_size"]) == (9.0, 1.5)


def test_jobs_that_sample_one_model_in_two_ways_fit_it_once(smoke, launch, tmp_path, monkeypatch):
    fits, plain = [], KCEF._fit

    def counting(self, X, Y):
        fits.append(self)
        plain(self, X, Y)

    monkeypatch.setattr(KCEF, "_fit", counting)
    places = {"data_dir": smoke[0], "catalogue": smoke[1]}
    outs = [tmp_path / "1.csv", tmp_path / "2.csv"]
    run([Samples(**KCEF_F | places), Samples(**INVERSE | places)], outs)
    assert len(fits) == 3  # a factor a column
    alone = launch(Samples, **INVERSE)
    with np.load(tmp_path / "2.npz") as stored:
        np.testing.assert_array_equal(stored["samples"], alone.arrays["samples"])
    # Every method has the same reference, a shuffle of all rows for each seed.
    reference = launch(Samples, **LSCDE_F).arrays["reference"]
    np.testing.assert_array_equal(reference, alone.arrays["reference"])
    split = open_problem("smoke-joint", *smoke).split(0)
    everything = {tuple(row) for row in np.concatenate([split.train, split.test])}
    assert all({tuple(row) for row in one} == everything for one in reference)
    assert not np.array_equal(*reference)


def test_models_of_the_shown_pair_see_its_columns_and_the_rows_of_all(launch, smoke):
    every = launch(Samples, **INVERSE)
    named = INVERSE | {"method": "KCEF-F-pair-inverse", "columns": "shown-pair"}
    shown = launch(Samples, **named)
    reference = every.arrays["reference"][..., 1:]
    np.testing.assert_allclose(shown.arrays["reference"], reference, rtol=1e-12)
    split = open_problem("smoke-joint", *smoke).split(0)
    model = JointDensity(KCEF(**QUICK)).fit(None, split.train[:, 1:])
    rng = rng_of("samples", "smoke-joint", "KCEF-F-pair-inverse", 0)
    np.testing.assert_allclose(shown.arrays["samples"][0], model.sample(None, 60, rng)[0])
    told = (shown.info["columns"], shown.info["shown_pair"], shown.info["places"])
    assert told == (["damp", "wind"], [1, 2], [2, 3])


def test_hyperparameters_come_from_the_factors(launch, monkeypatch):
    few = {"options": {"n_centres": 10}}
    factors = launch(Factors, **FACTORS | few | {"runs": 1})
    job = LSCDE_F | few | {"seeds": 1}
    tuned = launch(Samples, **job)
    monkeypatch.setattr(LSCDE, "_select", None)  # nothing is tuned again
    taken = launch(Samples, **job, files=(factors.out,))
    np.testing.assert_array_equal(tuned.arrays["samples"], taken.arrays["samples"])


def test_variants_differ_in_what_is_compared_and_state_the_worse_mixing(launch, rng, tmp_path):
    a, b, exact, data = (rng.standard_normal((2, 100, 3)) for _ in range(4))
    test, pair = rng.standard_normal((40, 3)), [0, 2]
    drawn = {"ours": (a, 1.1, 0.0), "rival": (b, 1.05, 0.03), "exact": (exact, 1.02, 0.0)}
    for method, (samples, r_hat, rate) in drawn.items():
        stated = {"conditional_std_error": 0.1, "r_hat": r_hat, "divergence_rate": rate}
        rows = [
            {"experiment": "samples", "dataset": "toy", "method": method, "split": seed}
            | {"setting": "{}", "metric": metric, "value": value, "status": "ok"}
            for seed in range(2)
            for metric, value in stated.items()
        ]
        arrays = {"samples": samples, "reference": data, "reference_test": test}
        scores.write(tmp_path / f"{method}.csv", rows, {"shown_pair": [1, 3]}, arrays)
    files = tuple(tmp_path / f"{name}.csv" for name in ("ours", "rival", "exact", "rival"))
    frame = launch(Similarity, "toy", "KEF", files=files).frame
    assert set(frame["method"]) == {"H0: KEF closer than KCEF"}
    found = frame.set_index(["variant", "metric", "split"])["value"]
    cases = {
        "as-published": (data[1], b[1], a[1]),
        "test-rows": (test, b[1], a[1]),
        "slice": (data[1][:, pair], b[1][:, pair], a[1][:, pair]),
        "exact-draws": (data[1], b[1], exact[1]),
    }
    for variant, (reference, rival, ours) in cases.items():
        width = median_bandwidth(reference, rival, ours)
        expected = relative_similarity_test(reference, rival, ours, width).p_value
        assert found[variant, "p_value", 1] == pytest.approx(expected, rel=1e-8)
        assert found[variant, "r_hat", 0] == (1.05 if variant == "exact-draws" else 1.1)
        assert found[variant, "divergence_rate", 0] == 0.03


def test_discrepancy_is_the_unbiased_one_with_the_bandwidth_of_f(launch):
    few = {"seeds": 1, "samples": 60, "options": {"bandwidth_y": 0.7, "regularization": 1e-3}}
    frame, arrays, _, _ = launch(Planar, dataset="grid", method="KEF", **few)
    found, train = frame.set_index("metric")["value"], arrays["train"]
    squared = pdist(train, "sqeuclidean")
    gamma = 0.5 / np.median(squared[squared > 0]) / 0.1  # as the authors' code has it
    for name, reference in (("mmd", "test"), ("mmd_train", "train")):
        expected = mmd2_unbiased(arrays["samples"], arrays[reference], np.sqrt(0.5 / gamma))
        assert found[name] == pytest.approx(1e3 * expected, rel=1e-7)
    f = resolve_parameters(Planar(**JOB).unfitted(0), np.empty((len(train), 0)), train)
    assert f.bandwidth_y[0] == pytest.approx(np.sqrt(0.5 / gamma))


@pytest.mark.nightly
def test_likelihoods_without_points_beyond_stand_beside():
    model = planar.fit(Planar(**JOB).unfitted(0), made_up.planar_of_seed("grid", 0)[0])
    test = np.vstack([model.train, [[9.0, 9.0]]])
    found = {cell["metric"]: cell for cell in planar.likelihood_cells("grid", model, test)}
    assert found[planar.NLL]["status"] == "failed"
    assert found["points_without_density"]["value"] == 1
    expected = -model.log_density(model.train).mean()
    assert found[f"{planar.NLL}_inside"]["value"] == pytest.approx(expected)


def test_density_in_the_units_of_the_points_has_mass_one():
    model = planar.fit(KEF(0.7, 1e-3, n_basis=40), made_up.planar_of_seed("grid", 0)[0])
    lower, upper = model.mean - 10 * model.std, model.mean + 10 * model.std
    edge = (upper - lower) / 300
    ticks = lower + edge * (np.arange(300)[:, None] + 0.5)
    nodes = np.stack(np.meshgrid(*ticks.T), axis=-1).reshape(-1, 2)
    mass = np.exp(model.log_density(nodes)).sum() * np.prod(edge)
    error = 5 * model.log_z[1]
    assert 0 < error < 0.5
    assert mass == pytest.approx(1, abs=error)


def test_quadrature_on_a_box_against_the_normal_distribution():
    lower, upper = np.array([-1.0, 0.2]), np.array([2.0, 4.0])

    def log_f(Y):
        return 3.0 + norm.logpdf(Y[:, 0]) + norm.logpdf(Y[:, 1], scale=0.05)

    found, error = box_quadrature(log_f, lower, upper)
    each = [norm.cdf(2) - norm.cdf(-1), norm.cdf(4, scale=0.05) - norm.cdf(0.2, scale=0.05)]
    assert found == pytest.approx(3 + np.log(each).sum(), abs=1e-6)
    assert error <= 1e-6
