"""The same answers in any units of x and y: every class standardises by itself."""

import numpy as np
import pandas as pd
import pytest

from contracted import make
from kcde.estimators import CDO, Conformal, Standardised, estimator_names

FACTOR, SHIFT = 1000.0, 5e3
MODELS = {name: make(name) for name in estimator_names()}
MODELS |= {f"Conformal({name})": Conformal(make(name)) for name in ("LSCDE", "KCEF")}


def in_two_units(model, X, Y):
    other = X if model.tags.unconditional else X * [1e-3, 2e5] + 7.0
    there = type(model)(**model.get_params(deep=False)).fit(other, FACTOR * Y + SHIFT)
    return (model.fit(X, Y), X), (there, other)


@pytest.mark.parametrize("name", MODELS)
def test_units_do_not_matter(name, pairs):
    X, Y, model = pairs[0], pairs[1][:, 0], MODELS[name]
    X = X[:, :0] if model.tags.unconditional else X
    if model.tags.target == "binary":
        one, other = (model.fit(x, Y > 0).predict_proba(x) for x in (X, X * [1e-3, 2e5]))
        np.testing.assert_allclose(one, other, atol=1e-9)
        return
    (here, X), (there, other) = in_two_units(model, X, Y)
    moved = FACTOR * Y + SHIFT
    tolerance = {"rtol": 1e-7, "atol": 1e-7 * FACTOR}

    def restored(name, *arguments):
        return FACTOR * getattr(here, name)(X, *arguments) + SHIFT

    np.testing.assert_allclose(there.predict(other), restored("predict"), **tolerance)
    if not model.tags.density:
        mean, second = here.conditional_moments(X)
        second_2 = there.conditional_moments(other)[1]
        expected = FACTOR**2 * second[:, 0] + 2.0 * FACTOR * SHIFT * mean + SHIFT**2
        np.testing.assert_allclose(second_2[:, 0], expected, rtol=1e-9)
        return
    expected = here.log_density(X, Y) - np.log(FACTOR)
    np.testing.assert_allclose(there.log_density(other, moved), expected, atol=1e-7)
    at = here.log_density_at(Y[:3])(X[:2]) - np.log(FACTOR)
    np.testing.assert_allclose(there.log_density_at(moved[:3])(other[:2]), at, atol=1e-7)
    np.testing.assert_allclose(there.pdf(other, moved), np.exp(expected), rtol=1e-6)
    np.testing.assert_allclose(there.score(other, moved), expected.mean(), atol=1e-7)
    np.testing.assert_allclose(there.std(other), FACTOR * here.std(X), **tolerance)
    if hasattr(model, "moments"):
        both = there.moments(other)[1], FACTOR**2 * here.moments(X)[1]
        np.testing.assert_allclose(*both, rtol=1e-6)
    np.testing.assert_allclose(there.cdf(other, moved), here.cdf(X, Y), atol=1e-7)
    np.testing.assert_allclose(there.crps(other, moved), FACTOR * here.crps(X, Y), **tolerance)
    np.testing.assert_allclose(there.sample(other, 3, 1), restored("sample", 3, 1), **tolerance)
    for name, argument in {"quantile": [0.1, 0.9], "interval": 0.8}.items():
        found = getattr(there, name)(other, argument)
        np.testing.assert_allclose(found, restored(name, argument), **tolerance)


@pytest.mark.parametrize("name", ["KCEF", "DDE"])
def test_what_exponential_families_have_beside_it_keeps_to_the_units(name, pairs):
    X, Y = pairs
    (here, X), (there, other) = in_two_units(make(name), X, Y)
    moved = FACTOR * Y + SHIFT
    here_log, there_log = here.log_unnormalized(X, Y), there.log_unnormalized(other, moved)
    np.testing.assert_allclose(there_log, here_log - np.log(FACTOR), atol=1e-7)
    normalised = there_log - there.log_normaliser(other).log_z
    np.testing.assert_allclose(normalised, there.log_density(other, moved), atol=1e-9)
    if name == "KCEF":
        slope = there.log_unnormalized_gradient(other, moved)
        step = 1e-3 * np.ones_like(moved)
        rise = [there.log_unnormalized(other, moved + sign * step) for sign in (1, -1)]
        np.testing.assert_allclose(slope[:, 0], (rise[0] - rise[1]) / 2e-3, rtol=1e-5, atol=1e-8)
        draws = there.sample_hmc(other[:2], 4, np.random.default_rng(0)).draws
        away = draws[:, :, 0] - there.mean(other[:2])
        assert (np.abs(away) < 6.0 * there.std(other[:2])).all()


def test_the_box_of_cdo_is_in_the_units_of_the_rows(pairs, caplog):
    X, Y = pairs
    given = dict.fromkeys(("bandwidth_x", "bandwidth_y", "output_regularization"), 0.5)
    given |= {"regularization": 0.01, "weights": "signed"}
    here = CDO(**given, reference_box=(-2.0, 2.0)).fit(X, Y)
    there = CDO(**given, reference_box=(-0.2, 0.2)).fit(X * [1e3, 1.0], Y / 10.0)
    CDO(**given, reference_box=(-0.1, 0.1)).fit(X, 7.0 * Y)
    assert "reference box from [-0.1] to [0.1]" in caplog.text
    np.testing.assert_allclose(there.mean(X * [1e3, 1.0]), here.mean(X) / 10.0)
    np.testing.assert_allclose(np.ptp(there._units.restore(there.reference_)), 0.4)


@pytest.mark.parametrize("model", [make("KCEF"), Standardised(make("KCEF"))])
def test_a_constant_column_of_x_has_no_part(model, pairs):
    X, Y = pairs
    wide = np.column_stack([X[:, 0], np.full(30, 0.1), X[:, 1]])
    expected = model.fit(X, Y).log_density(X, Y)
    np.testing.assert_allclose(model.fit(wide, Y).log_density(wide, Y), expected)
    assert getattr(model, "dropped_", [1]) == [1]


@pytest.mark.parametrize("standardize", [False, True])
def test_answers_to_a_frame_have_its_index(standardize, pairs):
    X, Y = pairs
    index = pd.date_range("2026-01-01", periods=30)
    frame, y = pd.DataFrame(X, index, ["a", "b"]), pd.Series(Y[:, 0], index, name="y")
    model = make("LSCDE").set_params(standardize=standardize).fit(frame, y)
    for name in ("log_density", "pdf", "cdf", "crps"):
        found = getattr(model, name)(frame, y)
        pd.testing.assert_index_equal(found.index, index)
        np.testing.assert_array_equal(found, getattr(model, name)(X, y))
    for name in ("std", "mean", "variance"):
        pd.testing.assert_index_equal(getattr(model, name)(frame).index, index)
    quantiles = model.quantile(frame[:4], [0.1, 0.9])
    assert quantiles.columns.tolist() == [0.1, 0.9]
    pd.testing.assert_index_equal(quantiles.index, index[:4])
    assert model.interval(frame[:4], 0.8).columns.tolist() == ["lower", "upper"]
    assert isinstance(model.predict(frame), np.ndarray)
