"""Points of the plane: discrepancies and likelihoods by hand, of trained and of score matching."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import norm

from kcde.estimators import KEF
from kcde.estimators._networks.dde import resolve_parameters
from kcde.experiments import planar
from kcde.experiments.planar import Planar
from kcde.metrics import mmd2_unbiased
from kcde.panels import box_quadrature

OPTIONS = {"base": "uniform", "bandwidth_scale": 0.1, "hidden_units": 8, "latent": 4}
OPTIONS |= {"validation": 0, "batch_size": 20}
JOB = {"dataset": "grid", "method": "DDE", "seeds": 2, "samples": 400, "iterations": 100}
JOB |= {"options": OPTIONS}


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
    model = planar.fit(Planar(**JOB).unfitted(0), planar.points("grid", 0).train)
    test = np.vstack([model.train, [[9.0, 9.0]]])
    found = {cell["metric"]: cell for cell in planar.likelihood_cells("grid", model, test)}
    assert found[planar.NLL]["status"] == "failed"
    assert found["points_without_density"]["value"] == 1
    expected = -model.log_density(model.train).mean()
    assert found[f"{planar.NLL}_inside"]["value"] == pytest.approx(expected)


def test_density_in_the_units_of_the_points_has_mass_one():
    model = planar.fit(KEF(0.7, 1e-3, n_basis=40), planar.points("grid", 0).train)
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
