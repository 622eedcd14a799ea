"""What every estimator does with y of one dimension, data frames, and input that it cannot use."""

import inspect
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from contracted import QUICK, densities, everything
from contracted import make as made
from kcde.arrays import to_numpy
from kcde.estimators import Standardised, estimator_class, estimator_names
from kcde.joint import JointDensity

CONTINUOUS = [n for n in estimator_names() if estimator_class(n).tags.target == "continuous"]
# Besides scikit-learn's own, these fit, or need no fit.
BEFORE_FITTING = {"fit", "fit_factor", "fit_path", "fit_rows", "make_basis_x", "make_basis_y"}
BEFORE_FITTING |= {"summarise", "get_metadata_routing", "get_params", "set_params"}

ONE_Y = {"LikelihoodKCEF", "QuantileForest", "ResidualKDE"}
make = partial(made, fewer=True)
COMPOSED = {f"Standardised({name})": Standardised(make(name)) for name in ("LSCDE", "JDL")}
EVERYTHING = everything(COMPOSED | {"JointDensity": JointDensity(make("LSCDE"))})
SCALES = [(1e99, 1.0), (1.0, 1e99), (1e30, 1e30), (1e-100, 1.0), (1.0, 1e-100), (1e-300, 1e-300)]


def bandwidths(name):
    """Names of the parameters that are a standard deviation for each column."""
    known = inspect.signature(estimator_class(name)).parameters
    return [each for each in ("bandwidth_x", "bandwidth_y", "smoothing") if each in known]


def x_for(estimator, X):
    return X[:, :0] if estimator.tags.unconditional else X


def answer(estimator, X, Y):
    if estimator.tags.density:
        return to_numpy(estimator.log_density(X, Y))
    ask = estimator.predict_proba if estimator.tags.target == "binary" else estimator.mean
    return to_numpy(ask(X))


@pytest.mark.parametrize("name", CONTINUOUS)
def test_y_of_one_dimension_series_and_data_frames_are_the_same(name, pairs):
    X, Y = pairs
    X = x_for(estimator_class(name), X)
    expected = answer(make(name).fit(X, Y), X, Y)
    kinds = (Y[:, 0], pd.Series(Y[:, 0], index=range(30, 0, -1)), pd.DataFrame({"y": Y[:, 0]}))
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    for kind in kinds:
        model = make(name).fit(frame, kind)
        np.testing.assert_array_equal(answer(model, frame, kind), expected)
    if hasattr(model, "log_density_at"):
        shared = model.log_density_at(Y[:3])(X[:2])
        for kind in kinds:
            np.testing.assert_array_equal(model.log_density_at(kind[:3])(frame[:2]), shared)
        assert model.score(frame, kinds[1]) == pytest.approx(expected.mean())
        assert model.mean(frame).shape == (30, 1)
        assert model.quantile(frame[:2], []).shape == (2, 0)
    for f in (lambda y: y[:, 0], lambda y: 1.0, lambda y: y[:3]):
        with pytest.raises(ValueError, match=r"f must map \(k, 1\) to \(k, q\); got "):
            model.conditional_expectation(f, frame[:2])


@pytest.mark.parametrize("estimator", EVERYTHING)
def test_nothing_answers_before_it_is_fitted(estimator, pairs, rng):
    X, Y = pairs
    given = {"X": x_for(estimator, X), "Y": Y, "p": 0.5, "level": 0.9, "random_state": 0}
    given |= {"f": np.abs, "indicator": np.isnan, "orders": 1, "iteration": 1, "n": 3, "rng": rng}
    given |= {"n_samples": 2, "draw": max, "projection": None, "features": X}
    if isinstance(estimator, JointDensity):
        given["X"] = None
    tried = 0
    for name, method in inspect.getmembers(type(estimator), inspect.isfunction):
        if name[0] == "_" or name in BEFORE_FITTING or name.endswith("_request"):
            continue
        parameters = list(inspect.signature(method).parameters.values())[1:]
        wanted = [p.name for p in parameters if p.default is p.empty]
        wanted = [n for n in wanted if n not in ("sample_weight", "how")]
        with pytest.raises(NotFittedError, match="fit"):
            getattr(estimator, name)(*[given["Y" if n == "y" else n] for n in wanted])
        tried += 1
    assert tried > 2


@pytest.mark.parametrize("estimator", EVERYTHING)
def test_a_model_is_its_own_whatever_becomes_of_the_arrays(estimator, pairs):
    X, Y = x_for(estimator, pairs[0]), pairs[1][:, 0]
    Y = (Y > 0.0) * 1.0 if estimator.tags.target == "binary" else Y
    given = X.copy(), Y.copy()
    model = clone(estimator).fit(*given)
    expected = answer(model, X, Y)
    for array in given:
        array *= -3.0
    np.testing.assert_array_equal(answer(model, X, Y), expected)


@pytest.mark.parametrize("estimator", EVERYTHING)
def test_constant_y_is_refused(estimator, pairs):
    X, Y = pairs
    x = x_for(estimator, X)
    if estimator.tags.target == "binary":
        with pytest.raises(ValueError, match="classes"):
            estimator.fit(x, 0 * Y[:, 0])
        return
    for column, constant in enumerate((0 * Y, np.hstack([Y, 0 * Y + 3.3]))):
        with pytest.raises(ValueError, match=rf"constant .*\[{column}\]"):
            estimator.fit(x, constant)


def finite_or_refused(call, words):
    try:
        assert np.isfinite(to_numpy(call())).all()
    except (ValueError, np.linalg.LinAlgError, FloatingPointError) as error:
        assert re.search(words, str(error))  # noqa: PT017


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("scales", SCALES, ids=str)
@pytest.mark.parametrize("name", densities())
def test_extreme_scales_as_they_are_give_finite_densities_or_an_error(name, scales, pairs):
    X, Y = (part * scale for part, scale in zip(pairs, scales, strict=True))
    x, model = x_for(estimator_class(name), X), make(name).set_params(standardize=False)
    why = "scale|too wide|power of ten|points of [XY] coincide"
    finite_or_refused(lambda: model.fit(x, Y).log_density(x, Y), why)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", densities())
def test_points_far_away_give_finite_densities_or_an_error(name, pairs):
    X, Y = pairs
    x = x_for(estimator_class(name), X)
    model = make(name).fit(x, Y)
    for far in ((0 * x + 1e100, Y), (x, 0 * Y - 1e100), (0 * x - 1e30, 0 * Y + 1e30)):
        finite_or_refused(lambda far=far: model.log_density(*far), "has values beyond")


@pytest.mark.parametrize("name", [name for name in CONTINUOUS if bandwidths(name)])
def test_a_bandwidth_may_be_an_array_while_others_are_chosen(name, pairs):
    X, Y = pairs
    X = x_for(estimator_class(name), X)
    Y = Y if name in ONE_Y else np.hstack([Y, X[:, :1] + Y**2 if X.shape[1] else Y**2])
    columns = {"bandwidth_x": X.shape[1], "bandwidth_y": Y.shape[1], "smoothing": Y.shape[1]}
    found = []
    for whole in (False, True):
        given = {each: np.full(columns[each], 0.8) if whole else 0.8 for each in bandwidths(name)}
        # Where it need not be given, it is left to be chosen.
        left = dict.fromkeys({"regularization"} & QUICK.get(name, {}).keys())
        found.append(answer(make(name).set_params(**left, **given).fit(X, Y), X, Y))
    np.testing.assert_array_equal(*found)


def test_values_behind_a_mask_are_missing(pairs):
    X, Y = pairs
    expected = answer(make("LinearGaussian").fit(X, Y), X, Y)
    hidden = np.ma.masked_array(X, mask=np.zeros(X.shape, dtype=bool))
    model = make("LinearGaussian").fit(hidden, np.ma.masked_array(Y))
    np.testing.assert_array_equal(answer(model, hidden, Y), expected)
    hidden[0, 0] = np.ma.masked
    for refused in (make("LinearGaussian").fit, model.log_density):
        with pytest.raises(ValueError, match="X has NaN"):
            refused(hidden, Y)


@pytest.mark.parametrize("estimator", EVERYTHING)
def test_names_of_columns_are_kept_and_others_refused(estimator, pairs):
    X, Y = pairs
    if estimator.tags.unconditional:
        pytest.skip("has no x")
    target = Y[:, 0] > 0 if estimator.tags.target == "binary" else Y[:, 0]
    frame = pd.DataFrame(X, columns=["warmth", "damp"])
    model = clone(estimator).fit(frame, target)
    assert list(model.feature_names_in_) == ["warmth", "damp"]
    if hasattr(model, "given_y"):
        other = clone(estimator).fit(frame, frame[["damp"]]).given_y()
        assert [*other.feature_names_in_, *other.mean(frame[["damp"]])] == ["damp", *frame]
    ask = model.predict_proba if estimator.tags.target == "binary" else model.mean
    np.testing.assert_array_equal(ask(frame[:4]), ask(X[:4]))
    for other in (frame[["damp", "warmth"]], frame.rename(columns={"damp": "wind"})):
        with pytest.raises(ValueError, match="fit"):
            ask(other)
    for wrong in (frame.assign(sky="grey"), frame["damp"], X[:, 0], X + 0j, X * 1e101):
        with pytest.raises(ValueError, match=r"^X "):
            clone(estimator).fit(wrong, target)
    assert not hasattr(model.fit(X, target), "feature_names_in_")
