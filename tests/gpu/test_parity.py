"""What computes where its data are says there what it says on numpy, and how closely."""

import numpy as np
import pytest

from contracted import QUICK, make
from kcde import panels, scores
from kcde.arrays import array_namespace, to_numpy
from kcde.estimators import KernelLogisticRegression, Standardised, estimator_class, estimator_names
from kcde.experiments.r_benchmark import RBenchmark
from kcde.experiments.runner import run
from kcde.kernels import GaussianKernel
from kcde.linalg import pivoted_cholesky
from kcde.sampling import hmc

TOLERANCE = 1e-9  # of a number, and of the largest where numbers are sums of signed terms
ROOTS = ("cdf", "crps", "quantile")  # sums and roots, to 1e-7
# Of those that choose quickly enough for a test: options beside the defaults.
CHOOSING = {name: {"folds": 2} for name in ("CDO", "SmoothedCME", "SmoothedJDL")}
CHOOSING |= {name: {} for name in ("EpsilonKDE", "GaussianProcess", "KCEF", "KEF", "LSCDE")}
CHOOSING |= {"KernelCDE": {}, "LinearGaussian": {}}
CHOOSING["LikelihoodKCEF"] = {"folds": 2, "regularization": 0.01, "bandwidth_y": 0.9}
METHODS = ("CDO", "EpsilonKDE", "GaussianProcess", "KCEF", "LSCDE", "SmoothedCME", "SmoothedJDL")
# Further settings of an estimator: what to change, and how many columns y has.
TWO, SIGNED = {"columns": 2}, ({"weights": "signed"}, {"weights": "projected"})
DENSITIES = {
    "KCEF": [TWO],
    "KEF": [TWO, {"n_basis": 12}],
    "LSCDE": [{"density_floor": 1e-3}, {"weights": "constrained"}, *SIGNED],
    "CDO": [{"kernel_x": "laplace"}, TWO | {"reference": 6}, *SIGNED],
    "GaussianProcess": [TWO | {"noise_std": (0.3, 0.5)}],
}
ONE_AND_TWO = ("EpsilonKDE", "LinearGaussian", "MarginalKDE", "ResidualKDE", "KernelCDE")
DENSITIES |= {name: [TWO] for name in ONE_AND_TWO}
DENSITIES |= {n: [] for n in ("Defensive", "LikelihoodKCEF", "SmoothedJDL", "SmoothedCME")}
EXPECTATIONS = {
    "JDL": [{"constrained": True}, {"store": False}],
    "CME": [{"constrained": True}, TWO],
    "JPDL": [{"constrained": True}],
}
CASES = [
    pytest.param(name, setting, id=f"{name} {setting or ''}".strip())
    for name, settings in (DENSITIES | EXPECTATIONS).items()
    for setting in ({}, *settings)
]
# The first steps of the burn-in are ten times the given one, whose orbits are chaotic: after two of
# them a difference of 1e-16 has become one of 1e-7. So a model's chains are compared without.
SHORT = {"chains": 4, "burn_in": 0, "thin": 2}


def assert_same(found, expected, tolerance=TOLERANCE, what=""):
    found, expected = to_numpy(found), to_numpy(expected)
    scale = float(np.max(np.abs(expected[np.isfinite(expected)]), initial=0.0))
    np.testing.assert_allclose(found, expected, tolerance, tolerance * scale, err_msg=what)


def powers(y):
    return array_namespace(y).concat([y**0, y, y**2], axis=1)


def density_numbers(model, X, Y) -> dict:
    xp, few = array_namespace(Y), X[:6, :]
    numbers = {
        "log_density": model.log_density(X, Y),
        "shared points": model.log_density_at(Y[:4, :])(few),
        "density": model.density_at(Y[:4, :])(few),
        "expectation": model.conditional_expectation(powers, few),
        "score": xp.asarray(model.score(X, Y)),
    }
    if model.n_outputs_ == 1 or not hasattr(model, "sample_hmc"):
        # Long chains tell rounding apart; short ones are compared on their own.
        numbers["draws"] = model.sample(few, 5, np.random.default_rng(3))
    # A floor is multiplied by numbers of numpy, which the strict namespace refuses.
    floored = hasattr(model, "weight_") or type(model).__name__ == "Defensive"
    if model.n_outputs_ == 1 and not floored and getattr(model, "weights", "") != "signed":
        numbers |= {name: getattr(model, name)(X, Y) for name in ROOTS[:2]}
        numbers["quantile"] = model.quantile(few, [0.1, 0.7])
    pairs = ("log_unnormalized", "log_unnormalized_gradient", "score_matching_loss")
    own = {name: (few,) for name in ("mean", "variance", "weights_at")}
    for name, at in (own | dict.fromkeys(pairs, (X, Y))).items():
        if hasattr(model, name):
            numbers[name] = xp.asarray(getattr(model, name)(*at))
    return numbers


def expectation_numbers(model, X, Y) -> dict:
    few = X[:6, :]
    return {
        "expectation": model.conditional_expectation(powers, few),
        "mean": model.mean(few),
        "second moments": model.conditional_moments(few)[1],
        "probability": model.conditional_probability(lambda y: y[:, 0] <= 0.1, few),
        "weights": model.weights(few),
        "draws": model.sample(few, 5, np.random.default_rng(3)),
    }


@pytest.fixture
def problem(rng, pairs):
    """Return x with rows that repeat and y of so many columns."""
    X, Y = (np.concatenate([part, part[:10]]) for part in pairs)
    Y[30:] += 0.2
    wide = np.hstack([Y, X[:, 1:] ** 2 + 0.3 * rng.standard_normal((40, 1))])
    return lambda columns: (X, wide[:, :columns])


def both(numbers_of, make, X, Y, xp):
    expected = numbers_of(make().fit(X, Y), X, Y)
    X, Y = xp.asarray(X), xp.asarray(Y)
    found = numbers_of(make().fit(X, Y), X, Y)
    away = [name for name, array in found.items() if array_namespace(array) != array_namespace(X)]
    assert not away, f"{away} left the device"
    for name, values in expected.items():
        assert_same(found[name], values, 1e-7 if name in ROOTS else TOLERANCE, what=name)


def test_every_estimator_of_the_array_api_takes_part():
    claimed = {name for name in estimator_names() if estimator_class(name).tags.array_api}
    assert claimed == {*DENSITIES, *EXPECTATIONS, "KernelLogisticRegression"}


@pytest.mark.parametrize(("name", "setting"), CASES)
def test_what_is_learnt_and_said(name, setting, problem, other_xp):
    given = QUICK.get(name, {}) if name in DENSITIES else {"regularization": 0.01}
    given = given | {k: v for k, v in setting.items() if k != "columns"}
    X, Y = problem(setting.get("columns", 1))
    if estimator_class(name).tags.unconditional:
        X = X[:, :0]
    numbers_of = density_numbers if name in DENSITIES else expectation_numbers
    both(numbers_of, lambda: estimator_class(name)(**given), X, Y, other_xp)


@pytest.mark.nightly
@pytest.mark.parametrize("name", CHOOSING)
def test_what_is_chosen(name, pairs, other_xp):
    X, Y = pairs
    X = X[:, :0] if estimator_class(name).tags.unconditional else X
    there = other_xp.asarray(X), other_xp.asarray(Y)
    expected, found = (
        estimator_class(name)(**CHOOSING[name]).fit(*each).log_density(*each)
        for each in ((X, Y), there)
    )
    np.testing.assert_allclose(to_numpy(found), to_numpy(expected), rtol=1e-5)


def test_standardised(problem, other_xp):
    (X, Y), inner = problem(1), make("LSCDE")
    both(density_numbers, lambda: Standardised(inner), 3.0 * X + 1.0, 5.0 * Y - 2.0, other_xp)


def test_logistic_regression(problem, other_xp):
    X, Y = problem(1)
    there, models = other_xp.asarray(X), [KernelLogisticRegression(None, 0.1) for _ in range(2)]
    models[0].fit(X, Y > 0.0)
    models[1].fit(there, other_xp.asarray(Y) > 0.0)
    assert_same(models[1].coef_, models[0].coef_)
    assert_same(models[1].decision_function(there), models[0].decision_function(X))
    assert_same(models[1].predict_proba(there), models[0].predict_proba(X))


def stream():
    return np.random.default_rng(3)


@pytest.mark.nightly
@pytest.mark.parametrize("store", [True, False, "auto"])
@pytest.mark.parametrize("pivots", ["greedy", "rpcholesky"])
def test_factors(other_xp, rng, pivots, store):
    # Beyond so many rows a device has fewer candidates.
    X = rng.standard_normal((9000 if pivots == "greedy" else 600, 2))
    kernel, options = GaussianKernel(0.6), {"pivots": pivots, "store": store}
    expected, found = (
        pivoted_cholesky(kernel, points, 1e-3, **options, rng=stream())
        for points in (X, other_xp.asarray(X))
    )
    assert 10 < len(expected.pivots) < 300
    np.testing.assert_array_equal(found.pivots, expected.pivots)
    # Where the errors are small they are what a sum of n entries of rounding leaves.
    assert_same(found.trace_errors, expected.trace_errors)
    assert_same(found.factor_rows(other_xp.asarray(X[:50])), expected.factor_rows(X[:50]))
    if expected.L is not None:
        assert_same(found.L, expected.L)


@pytest.fixture(params=[("KCEF", 1), ("KCEF", 2), ("KEF", 1)])
def fitted(request, problem, other_xp):
    """Return a model, its x and the same in another namespace; y of one and of two columns."""
    name, columns = request.param
    X, Y = problem(columns)
    X = X if name == "KCEF" else X[:, :0]
    there = other_xp.asarray(X), other_xp.asarray(Y)
    expected, found = (make(name).fit(*each) for each in ((X, Y), there))
    return expected, X, found, there[0]


def test_short_chains_are_the_same(fitted):
    expected, X, found, moved_X = fitted
    streams = stream(), stream()
    one = expected.sample_hmc(X[:6], 24, streams[0], **SHORT)
    other = found.sample_hmc(moved_X[:6, :], 24, streams[1], **SHORT)
    for name in ("draws", "acceptance", "divergences"):
        assert_same(getattr(other, name), getattr(one, name))
    assert streams[0].random() == streams[1].random()


@pytest.mark.parametrize("how", [{"burn_in": 40, "windows": True}, {"burn_in": 5}])
def test_chains_stay_where_they_start(other_xp, how):
    def gaussian(Y):
        return -0.5 * array_namespace(Y).sum(Y * Y, axis=1), -Y

    start = np.random.default_rng(0).standard_normal((6, 2))
    there = other_xp.asarray(start)
    how = how | {"iterations": 20, "thin": 5, "leapfrog_steps": 2}
    expected, found = (hmc(gaussian, each, stream(), **how) for each in (start, there))
    for name in ("draws", "acceptance"):
        assert array_namespace(getattr(found, name)) == array_namespace(there)
        assert_same(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("at_once", [panels.AT_ONCE, 3000])
def test_normalisers(fitted, at_once, monkeypatch):
    expected, X, found, moved_X = fitted
    monkeypatch.setattr(panels, "AT_ONCE", at_once)
    settings = {"method": "importance", "n_samples": 500}
    one = expected.log_normaliser(X, rng=stream(), **settings)
    other = found.log_normaliser(moved_X, rng=stream(), **settings)
    for name in ("log_z", "stderr", "effective_sample_size", "mean_stderr"):
        assert_same(getattr(other, name), getattr(one, name))
    if expected.n_outputs_ == 1:
        other = found.log_normaliser(moved_X)
        assert_same(other.log_z, expected.log_normaliser(X).log_z)
        assert array_namespace(other.stderr) == array_namespace(moved_X)


@pytest.mark.gpu
@pytest.mark.parametrize("method", METHODS)
def test_a_set_of_the_r_packages(method, smoke, tmp_path):
    """All but times is compared. Where there is no GPU, see test_golden_scores.py."""
    given = {"options": QUICK[method], "splits": 2, "importance_samples": 500}
    given |= {"data_dir": smoke[0], "catalogue": smoke[1]}
    frames = []
    for backend in ("numpy", "cupy"):
        out = tmp_path / f"{backend}.csv"
        run(RBenchmark("smoke-linear", method, backend=backend, **given), out)
        frames.append(scores.read([out]).query("metric != 'seconds'"))
        assert set(frames[-1]["status"]) == {"ok"}, frames[-1]["detail"].unique()
    expected, found = frames
    assert set(found["backend"]) == {"cupy"}
    assert expected["metric"].tolist() == found["metric"].tolist()
    one, other = (each[["value", "stderr"]] for each in frames)
    np.testing.assert_allclose(other, one, rtol=1e-6, atol=1e-6)
