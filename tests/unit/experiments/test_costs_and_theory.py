"""Costs of fits, a known density to a million rows, and kcef's theory: failure and rates."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import integrate, stats

from kcde.data import made_up
from kcde.estimators import KCEF, LikelihoodKCEF, Standardised
from kcde.experiments import _measured_fit, consistency, failure_case
from kcde.experiments.estimation_cost import EstimationCost
from kcde.experiments.large_n import LargeN
from kcde.seeding import rng_of

GIVEN = {"bandwidth_x": 1.5, "bandwidth_y": 0.8, "regularization": 1e-3, "rank_x": 20}
PAIRS = failure_case.pairs()
DISJOINT, OVERLAPPING = PAIRS["disjoint-supports"], PAIRS["overlapping-supports"]


def test_memory_that_is_taken_is_seen():
    code = "import numpy as np; from kcde.experiments._measured_fit import peak_memory as peak;"
    code += "before = peak(); held = np.ones(10_000_000); print(peak() - before)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert float(said) == pytest.approx(8e7, rel=0.1)


def test_a_fit_that_fails_says_why():
    job = {"estimator": "KCEF", "options": {"regularization": -1.0}, "n": 50, "d": 1}
    with pytest.raises(_measured_fit.FitError, match="regularization"):
        _measured_fit.in_own_process(job)


def test_iterations_are_extrapolated_without_what_is_done_once(monkeypatch):
    """Where time passes only in fits: what is done once, compiling the first, and iterations."""
    now, fits = [0.0], []

    def fit(iterations):
        now[0] += 3.0 + (0.0 if fits else 20.0) + 0.25 * iterations
        fits.append(iterations)

    monkeypatch.setattr(_measured_fit.time, "process_time", lambda: now[0])
    found = _measured_fit._iterated(fit, 100, 5000)
    assert fits == [100, 100, 200]
    assert found["fit_seconds"] == pytest.approx(3.0 + 20.0 + 5000 * 0.25)
    assert found["seconds_per_iteration"] == pytest.approx(0.25)
    assert found["compile_seconds"] == pytest.approx(20.0)


def test_every_fit_is_given_its_hyper_parameters_and_what_fails_is_a_row(launch, monkeypatch):
    jobs = []

    def cost(job):
        jobs.append(job)
        if job["d"] == 20 and "n_basis" in job["options"]:
            raise _measured_fit.FitError("its process was killed by signal 9")
        found = {"peak_memory": 300.0, "fit_seconds": 20.0}
        trained = {"seconds_per_iteration": 0.004, "compile_seconds": 5.0}
        return found | (trained if "wanted" in job else {})

    monkeypatch.setattr(_measured_fit, "in_own_process", cost)
    frame, *_ = launch(EstimationCost, iterations=30)
    assert len(jobs) == 8 * 5 - 1  # the exact family is not run at n = 10000
    assert (frame.groupby(["method", "n_train", "dim", "metric"]).size() == 1).all()
    counts = frame["metric"].value_counts()
    assert counts["peak_memory"] == counts["fit_seconds"] == 40
    # Of a system of n·d rows, MiB; a selection would be what is measured.
    system = frame[frame["metric"] == "system_memory"]
    size = 8.0 * (system["n_train"] * system["dim"]) ** 2 / 2**20
    np.testing.assert_allclose(system["value"], size)
    assert all(job["options"]["bandwidth_y"] == job["d"] ** 0.5 for job in jobs)
    failed = frame[frame["status"] == "failed"]
    assert failed["value"].isna().all()
    assert set(failed.loc[failed["n_train"] == 10_000, "method"]) == {"KEF"}
    assert set(failed.loc[failed["dim"] == 20, "detail"]) == {"its process was killed by signal 9"}


def test_the_gap_is_that_of_a_fit_by_hand(launch):
    job = ("bimodal-2-60", "LikelihoodKCEF")
    frame, *_ = launch(LargeN, *job, options=GIVEN, test_rows=40)
    X, Y = made_up.bimodal_held_out_pairs(2, 40)
    seed = int(frame["seed"].iloc[0])
    model = Standardised(LikelihoodKCEF(**GIVEN, random_state=seed))
    found = model.fit(*made_up.bimodal_training_pairs(60, 2)).log_density(X, Y)
    difference = made_up.bimodal_log_density(X, Y) - found
    gap = frame[frame["metric"] == "log_density_gap"].iloc[0]
    assert gap["value"] == pytest.approx(difference.mean())
    assert gap["stderr"] == pytest.approx(difference.std(ddof=1) / np.sqrt(40))
    (loss,) = frame[frame["metric"] == "negative_log_likelihood"]["value"]
    assert loss == pytest.approx(-found.mean())


@pytest.mark.parametrize("component", [*DISJOINT, *OVERLAPPING])
def test_components_are_densities_with_the_right_score(component):
    low, high = component.support
    assert integrate.quad(component.density, low, high)[0] == pytest.approx(1.0, abs=1e-9)
    middle, radius = (low + high) / 2, (high - low) / 2
    y = middle + radius * np.linspace(-0.7, 0.7, 9)
    step = 1e-6
    numeric = np.log(component.density(y + step)) - np.log(component.density(y - step))
    np.testing.assert_allclose(component.score(y), numeric / (2 * step), atol=1e-6)


@pytest.mark.parametrize("weight", failure_case.WEIGHTS)
def test_j_vanishes_while_kl_does_not(weight):
    assert failure_case.expected_score(*DISJOINT, weight) < 1e-20
    exact = -0.5 * (np.log(weight) + np.log(1 - weight))
    assert failure_case.divergence(*DISJOINT, weight) == pytest.approx(exact, abs=1e-10)


@pytest.fixture(scope="module")
def smooth():
    return consistency.target(1.0)


@pytest.fixture(scope="module")
def fitted(smooth):
    x, y = smooth.sample(50, rng_of("test", "well-specified"))
    sizes = {"bandwidth_x": 1.0, "bandwidth_y": 2.0, "base_std": 2.0}
    return KCEF(regularization=0.05, **sizes).fit(x[:, None], y[:, None]), x, y


def value(coefficients, x, y):
    """T(x, y) at pairs."""
    in_x = consistency.features(x, consistency.BANDWIDTH_X, coefficients.shape[0])
    in_y = consistency.features(y, consistency.BANDWIDTH_Y, coefficients.shape[1])
    return np.sum((in_x @ coefficients) * in_y, axis=1)


def test_t_0_is_c_applied_to_the_source(smooth):
    """T_0 = r' E_{p_0}[∂S(x, y) k_X(x, ·) ∂k(y, ·)], by adaptive quadrature over all of p_0."""
    p, q = np.ogrid[: consistency.TERMS[0], : consistency.TERMS[1]]
    source = (-1.0) ** (p * q) / ((1 + p) * (1 + q))
    x, wx = np.polynomial.legendre.leggauss(40)
    in_x = consistency.features(x, 1.0, len(p))

    def unnormalised(y):
        shape = consistency.features(np.array([y]), 2.0, source.shape[1])[0]
        return stats.norm.pdf(y, scale=2.0) * np.exp(in_x @ smooth.coefficients @ shape)

    z, _ = integrate.quad_vec(unnormalised, -20, 20, epsabs=1e-11)

    def at(x0, y0):
        def integrand(y):
            slope = in_x @ source @ consistency.features(np.array([y]), 2.0, 60, 1)[0]
            bend = -(y - y0) / 4 * np.exp(-((y - y0) ** 2) / 8)
            return (wx / 2 * np.exp(-((x - x0) ** 2) / 2) * slope * bend) @ (unnormalised(y) / z)

        return integrate.quad(integrand, -20, 20, epsabs=1e-11, limit=200)[0]

    points = [(-0.8, -2.0), (-0.3, 1.0), (0.4, 0.5), (0.9, 3.0)]
    wanted = np.array([at(*point) for point in points])
    got = value(smooth.coefficients, *np.array(points).T)
    np.testing.assert_allclose(got / got[0], wanted / wanted[0], rtol=1e-5)
    assert got[0] * wanted[0] > 0
    assert np.linalg.norm(smooth.coefficients) == pytest.approx(consistency.NORM, abs=1e-6)


def test_no_noise_is_the_population_solution(smooth):
    """T_λ = (C + λ)⁻¹CT_0, solved directly."""
    C = smooth.grid.covariance(smooth.coefficients)
    t0 = smooth.coefficients.ravel()
    solved = np.linalg.solve(C + 0.01 * np.eye(len(C)), C @ t0)
    assert smooth.regularization_error(0.01) == pytest.approx(np.linalg.norm(solved - t0), rel=1e-8)


def test_samples_follow_the_conditional_density(smooth):
    x, y = smooth.sample(1500, rng_of("test", "samples"))
    assert stats.kstest(x, stats.uniform(-1, 2).cdf).pvalue > 1e-3
    fine = np.linspace(-16, 16, 1601)
    in_y = consistency.features(fine, 2.0, consistency.TERMS[1])
    in_x = consistency.features(x, 1.0, consistency.TERMS[0])
    density = np.exp(in_x @ smooth.coefficients @ in_y.T - fine**2 / 8)
    below = integrate.cumulative_simpson(density, x=fine, initial=0.0)
    uniform = [np.interp(y[i], fine, row / row[-1]) for i, row in enumerate(below)]
    assert stats.kstest(uniform, "uniform").pvalue > 1e-3


def test_the_estimate_is_the_same_function_in_the_basis(fitted):
    model, x, y = fitted
    coefficients = consistency.estimate_coefficients(x, y, model.coef_[:, 0], 0.05)
    at_x, at_y = np.linspace(-1, 1, 9), np.linspace(-6, 6, 9)
    log_base = stats.norm.logpdf(at_y, scale=2.0)
    wanted = model.log_unnormalized(at_x[:, None], at_y[:, None]) - log_base
    np.testing.assert_allclose(value(coefficients, at_x, at_y), wanted, atol=1e-8)


def test_the_divergence_is_the_expected_log_ratio(smooth, fitted):
    model, x, y = fitted
    norm, kl = consistency.errors(smooth, x, y, 0.05)
    coefficients = consistency.estimate_coefficients(x, y, model.coef_[:, 0], 0.05)
    assert norm == pytest.approx(np.linalg.norm(coefficients - smooth.coefficients))
    many_x, many_y = smooth.sample(4000, rng_of("test", "divergence"))
    in_x = consistency.features(many_x, 1.0, consistency.TERMS[0])
    fine = np.linspace(-16, 16, 2001)
    in_y = consistency.features(fine, 2.0, consistency.TERMS[1])
    log_f = in_x @ smooth.coefficients @ in_y.T + stats.norm.logpdf(fine, scale=2.0)
    log_z = np.log(integrate.simpson(np.exp(log_f), x=fine))
    log_p = value(smooth.coefficients, many_x, many_y) + stats.norm.logpdf(many_y, scale=2) - log_z
    ratio = log_p - model.log_density(many_x[:, None], many_y[:, None])
    assert kl == pytest.approx(ratio.mean(), abs=4 * ratio.std() / np.sqrt(len(ratio)))
    own = smooth.log_density
    assert smooth.grid.divergence(own, own) == 0
    assert kl > 0


@pytest.mark.nightly
@pytest.mark.parametrize("gamma", [0.5, 1.0])
def test_the_exponent_is_the_one_declared(gamma):
    """‖T_λ - T_0‖ falls like λ^γ; S is barely in the space, so hardly faster."""
    target = consistency.target(gamma)
    error = [target.regularization_error(target.operator_norm * each) for each in (1e-5, 1e-3)]
    assert gamma - 0.05 < np.log(error[1] / error[0]) / np.log(100) < gamma + 0.12
