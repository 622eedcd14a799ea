import logging

import numpy as np
import pytest
from scipy.optimize import nnls

from kcde.arrays import to_numpy
from kcde.estimators import CDO, Standardised
from kcde.estimators._cdo.inputs import Groups, InputFactor
from kcde.kernels import GaussianKernel, LaplaceKernel, PeriodicKernel
from naive import cdo_weights, gaussian_density, kernel

GIVEN = {
    "bandwidth_x": 0.8,
    "bandwidth_y": 0.3,
    "regularization": 1e-3,
    "output_regularization": 0.05,
    "reference": 40,
}
signed = pytest.mark.parametrize("weights", ["clipped", "signed", "projected"])
AXIS = np.linspace(-12.0, 12.0, 4001)[:, None]


def laplace(a, b):
    return np.exp(-np.abs(a - b).sum() / 0.8)


def gaussian(a, b):
    return kernel(a, b, np.full(len(a), 0.8))


def repeated(rng, groups=8):
    """Inputs with one to four outputs each, in no order."""
    X = rng.standard_normal((groups, 2))[
        rng.permutation(np.repeat(np.arange(groups), [1, 2, 3, 4] * 2))
    ]
    return X, np.sin(X[:, :1]) + 0.4 * rng.standard_normal((len(X), 1))


@pytest.mark.parametrize(("kernel_x", "k"), [("gaussian", gaussian), ("laplace", laplace)])
@pytest.mark.parametrize("scaling", ["corrected", "published"])
@pytest.mark.parametrize("many", [False, True])
def test_weights_equal_a_naive_loop_over_all_rows(pairs, rng, kernel_x, k, scaling, many):
    """Also where rows of x repeat, with unequal counts."""
    X, Y = repeated(rng) if many else pairs
    given = GIVEN | {"output_regularization": 0.05 if scaling == "corrected" else 1.5}
    model = CDO(**given, kernel_x=kernel_x, scaling=scaling, weights="signed").fit(X, Y)
    assert model.n_distinct_ == (8 if many else 30)
    shift = 0.05 * 40 if scaling == "corrected" else 1.5
    new = np.vstack([X[:2], X[:1] + 0.3])
    expected = [cdo_weights(x, X, Y, model.reference_, k, [0.3], 1e-3, shift) for x in new]
    expected = np.array([beta / beta.sum() for beta in expected])
    np.testing.assert_allclose(model.weights_at(new), expected, rtol=1e-7, atol=1e-9)
    density = [
        sum(w * gaussian_density(y, z, [0.3]) for w, z in zip(row, model.reference_, strict=True))
        for row, y in zip(expected, Y[:3], strict=True)
    ]
    found = model.log_density(new, Y[:3])
    np.testing.assert_allclose(found, np.log(density), rtol=1e-6, atol=1e-8)
    clipped = np.maximum(expected, 0.0)
    clipped /= clipped.sum(axis=1, keepdims=True)
    model = CDO(**given, kernel_x=kernel_x, scaling=scaling).fit(X, Y)
    np.testing.assert_allclose(model.weights_at(new), clipped, rtol=1e-7, atol=1e-9)


def test_few_reference_points_are_solved_for_once(pairs):
    """With three points and thirty inputs in place of a solution for each new x."""
    X, Y = pairs
    model = CDO(**GIVEN | {"reference": 3, "bandwidth_y": 0.8}).fit(X, Y)
    new = X[:5] + 0.3
    found = model.weights_at(new)
    beta = [cdo_weights(x, X, Y, model.reference_, gaussian, [0.8], 1e-3, 0.15) for x in new]
    clipped = np.maximum(beta, 0.0)
    expected = clipped / clipped.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    model._inputs.solve = None  # nothing is left to solve
    np.testing.assert_array_equal(model.weights_at(new), found)


def test_two_dimensions_equal_a_naive_loop(rng):
    X = rng.standard_normal((20, 1))
    Y = np.hstack([X, X**2]) + 0.3 * rng.standard_normal((20, 2))
    given = GIVEN | {"bandwidth_y": [0.5, 0.9], "reference": (5, 6)}
    model = CDO(**given, weights="signed").fit(X, Y)
    beta = cdo_weights(X[0], X, Y, model.reference_, gaussian, [0.5, 0.9], 1e-3, 0.05 * 30)
    np.testing.assert_allclose(model.weights_at(X[:1])[0], beta / beta.sum(), rtol=1e-7, atol=1e-9)
    weights = model.weights_at(X[:4])
    centred = model.reference_ - (weights @ model.reference_)[:, None, :]
    variance = np.einsum("nm,nmd->nd", weights, centred**2) + np.array([0.5, 0.9]) ** 2
    np.testing.assert_allclose(model.mean(X[:4]), weights @ model.reference_, rtol=1e-8)
    np.testing.assert_allclose(model.variance(X[:4]), variance, rtol=1e-7)


@signed
def test_moments_and_expectations_are_those_of_the_density(pairs, weights):
    X, Y = pairs
    model = CDO(**GIVEN, weights=weights).fit(X, Y)
    density = model.density_at(AXIS)(X[:5])
    assert (density.min() < 0.0) == (weights == "signed")
    first, second = (np.trapezoid(density * AXIS[:, 0] ** p, AXIS[:, 0], axis=1) for p in (1, 2))
    np.testing.assert_allclose(np.trapezoid(density, AXIS[:, 0], axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(model.mean(X[:5])[:, 0], first, rtol=1e-8)
    np.testing.assert_allclose(model.variance(X[:5])[:, 0], second - first**2, rtol=1e-7)
    found = model.conditional_expectation(lambda y: np.hstack([y**0, y, y**2]), X[:5])
    expected = np.column_stack([np.ones(5), first, second])
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_signed_density_has_no_logarithm_where_it_is_not_positive(pairs):
    X, Y = pairs
    model = CDO(**GIVEN, weights="signed").fit(X, Y)
    rows = np.repeat(X[:1], len(AXIS), axis=0)
    density = model.density_at(AXIS)(X[:1])[0]
    log_density = model.log_density(rows, AXIS)
    np.testing.assert_array_equal(np.isneginf(log_density), density <= 0.0)
    assert 0.0 < model.nonpositive_share(rows, AXIS) == np.mean(density <= 0.0) < 1.0
    np.testing.assert_allclose(model.log_density_at(AXIS)(X[:1])[0], log_density, rtol=1e-6)
    proper = CDO(**GIVEN).fit(X, Y)
    assert proper.nonpositive_share(X, Y) == 0.0


def test_projection_is_the_nearest_mixture(pairs):
    """The metric by quadrature, the minimum by scipy."""
    X, Y = pairs
    given = GIVEN | {"reference": 25}
    beta = CDO(**given, weights="signed").fit(X, Y).weights_at(X[:4])
    model = CDO(**given, weights="projected").fit(X, Y)
    bumps = np.array([[gaussian_density(y, z, [0.3]) for z in model.reference_] for y in AXIS[::4]])
    bumps *= np.sqrt(AXIS[4, 0] - AXIS[0, 0])
    for row, found in zip(beta, model.weights_at(X[:4]), strict=True):
        gamma, distance = nnls(bumps, bumps @ row)
        assert (row < 0.0).any()
        np.testing.assert_allclose(bumps @ found, bumps @ gamma / gamma.sum(), atol=1e-5)
        clipped = np.maximum(row, 0.0)
        assert distance < 0.9 * np.linalg.norm(bumps @ (clipped - row))


def test_weights_that_are_positive_need_no_projection(pairs):
    given = GIVEN | {"regularization": 30.0, "output_regularization": 1e3}
    plain = CDO(**given, weights="signed").fit(*pairs).weights_at(pairs[0])
    assert plain.min() > 0.0
    found = CDO(**given, weights="projected").fit(*pairs).weights_at(pairs[0])
    np.testing.assert_allclose(found, plain, rtol=1e-10)


@pytest.mark.parametrize("d_y", [1, 2])
def test_samples_follow_the_positive_part(pairs, rng, d_y):
    X, Y = pairs
    given = GIVEN
    if d_y == 2:
        Y = np.hstack([Y, X[:, :1] * Y])
        given = GIVEN | {"reference": 12, "bandwidth_y": 0.5}
    model = CDO(**given, weights="signed").fit(X, Y)
    draws = model.sample(X[:2], 4000, rng)
    assert draws.shape == (2, 4000, d_y)
    axis = np.linspace(-9.0, 9.0, 181)
    points = np.stack(np.meshgrid(*[axis] * d_y, indexing="ij"), axis=-1).reshape(-1, d_y)
    mass = np.maximum(model.density_at(points)(X[:2]), 0.0)
    mass /= mass.sum(axis=1, keepdims=True)
    mean = mass @ points
    error = np.sqrt((mass @ points**2 - mean**2) / 4000)
    assert (np.abs(draws.mean(axis=1) - mean) < 5 * error).all()


def test_weights_that_cancel_are_no_source_of_samples(pairs, rng, monkeypatch):
    X, Y = pairs
    given = GIVEN | {"reference": 12, "bandwidth_y": 0.5}
    model = CDO(**given, weights="signed").fit(X, np.hstack([Y, Y**2]))
    huge = np.tile([[1e7, 1e-7 - 1e7]], (1, 72))
    monkeypatch.setattr(model, "_signed_weights", lambda X: huge)
    monkeypatch.setattr("kcde.estimators._shared.mixture._MOST_PROPOSALS", 1000)
    monkeypatch.setattr(model, "_centres", np.zeros_like(model.reference_))
    with pytest.raises(FloatingPointError, match="the weights cancel each other; raise"):
        model.sample(X[:1], 500, rng)


def test_grouped_outputs_are_repeated_rows(rng):
    X, Y = repeated(rng)
    distinct, group = np.unique(X, axis=0, return_inverse=True)
    model = CDO(**GIVEN, weights="signed").fit(X, Y)
    groups = [Y[group.reshape(-1) == i] for i in range(8)]
    grouped = CDO(**GIVEN, weights="signed").fit_groups(distinct, groups)
    np.testing.assert_allclose(grouped.mean(X), model.mean(X), rtol=1e-10)
    with pytest.raises(ValueError, match="X has 8 rows and there are 7 groups"):
        grouped.fit_groups(distinct, groups[1:])
    with pytest.raises(ValueError, match=r"groups\[2\] has shape \(2, 2\) and groups\[0\] has"):
        grouped.fit_groups(distinct, [*groups[:2], np.ones((2, 2)), *groups[3:]])
    with pytest.raises(ValueError, match=r"groups\[1\] must have shape \(n,\) or \(n, d\)"):
        grouped.fit_groups(distinct, [groups[0], np.ones((2, 1, 1)), *groups[2:]])
    flat = CDO(**GIVEN, weights="signed").fit_groups(distinct, [group[:, 0] for group in groups])
    np.testing.assert_array_equal(flat.mean(X), grouped.mean(X))
    with pytest.raises(ValueError, match=r"groups\[3\] is empty"):
        grouped.fit_groups(distinct, [*groups[:3], np.empty((0, 1)), *groups[4:]])


def test_streams_equal_whole_matrices(rng, monkeypatch):
    X, Y = repeated(rng)
    model = CDO(**GIVEN).fit(X, Y)
    monkeypatch.setattr("kcde.arrays._BLOCK", 50)
    monkeypatch.setattr("kcde.estimators._cdo.inputs._ROWS_AT_ONCE", 1)
    monkeypatch.setattr("kcde.estimators.cdo._AT_ONCE", 80)
    blocks = CDO(**GIVEN).fit(X, Y)
    np.testing.assert_allclose(blocks.weights_at(X), model.weights_at(X), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(blocks.log_density(X, Y), model.log_density(X, Y), rtol=1e-9)


def test_far_from_all_inputs_the_weights_remain(pairs):
    """Every k(x, x_i) underflows there; in one dimension the nearest input decides."""
    X, Y = pairs
    near = X[np.argmax(X[:, 0]), 0]
    model = CDO(**GIVEN).fit(X[:, :1], Y)
    weights = model.weights_at(np.array([[near + 60.0]]))
    assert np.isfinite(weights).all()
    assert weights.sum() == pytest.approx(1.0)


def test_periods_join_the_ends_of_the_week(rng):
    day = rng.integers(0, 7, (60, 1)) * 1.0
    X = np.hstack([day, rng.uniform(0, 24, (60, 1))])
    Y = np.cos(2 * np.pi * day / 7) + 0.1 * rng.standard_normal((60, 1))
    given = GIVEN | {"bandwidth_x": [1.0, 5.0]}
    model = CDO(**given, periods=(7.0, None), weights="signed").fit(X, Y)
    later = X + np.array([7.0, 0.0])
    np.testing.assert_allclose(model.mean(later), model.mean(X), rtol=1e-8)
    K = PeriodicKernel(1.0, 7.0)(day, day) * GaussianKernel(5.0)(X[:, 1:], X[:, 1:])

    def k(a, b):
        i, j = (np.flatnonzero((row == X).all(axis=1))[0] for row in (a, b))
        return K[i, j]

    beta = cdo_weights(X[0], X, Y, model.reference_, k, [0.3], 1e-3, 0.05 * 40)
    np.testing.assert_allclose(model.weights_at(X[:1])[0], beta / beta.sum(), rtol=1e-6, atol=1e-9)
    found = CDO(**given | {"bandwidth_x": None}, periods=(7.0, None)).fit(X, Y)
    # The days' differences are 1, 2 or 3 the shorter way round.
    ratio = found.bandwidth_x_[0] * np.sqrt(2.0) / np.array([0.25, 0.5, 1.0, 2.0, 4.0])
    assert np.isclose(ratio, 2.0).any()


@pytest.mark.parametrize("selection", ["squared-error", "likelihood"])
@pytest.mark.parametrize("scaling", ["corrected", "published"])
def test_selection_equals_refitting_every_fold(rng, selection, scaling):
    X, Y = repeated(rng)
    options = {"reference": 40, "reference_box": (-4.0, 4.0), "scaling": scaling}
    model = CDO(**options, selection=selection).fit(X, Y)
    results = model.cv_results_
    for index in ((1, 3, 4, 5), (3, 5, 2, 3)):
        total = 0.0
        names = ("bandwidth_x", "bandwidth_y", "regularization", "output_regularization")
        given = {name: results[name][i] for name, i in zip(names, index, strict=True)}
        weights = "signed" if selection == "squared-error" else "clipped"
        for held_out in folds_of(model, len(X)):
            rows = np.setdiff1d(np.arange(len(X)), held_out)
            refit = CDO(**given, **options, weights=weights).fit(X[rows], Y[rows])
            if selection == "likelihood":
                total += refit.log_density(X[held_out], Y[held_out]).sum()
                continue
            square = np.trapezoid(refit.density_at(AXIS)(X[held_out]) ** 2, AXIS[:, 0], axis=1)
            at_data = np.diagonal(refit.density_at(Y[held_out])(X[held_out]))
            total -= (0.5 * square - at_data).sum()
        assert results["score"][index] == pytest.approx(total / len(X), rel=1e-5)
    best = np.unravel_index(np.nanargmax(results["score"]), results["score"].shape)
    assert model.bandwidth_x_[0] == results["bandwidth_x"][best[0]]
    assert model.output_regularization_ == results["output_regularization"][best[3]]


def folds_of(model, n):
    from kcde.seeding import rng_of
    from kcde.selection import kfold

    return kfold(n, model.folds, rng_of("selection", model.random_state))


def test_selection_takes_a_part_of_many_rows_and_fits_all(pairs):
    X, Y = pairs
    model = CDO(tuning_rows=15, reference=40).fit(X, Y)
    assert model.n_distinct_ == 30
    assert model.cv_results_["score"].shape == (8, 8, 8, 8)
    chosen = CDO(0.8, None, None, 0.05, reference=40).fit(X, Y)
    assert chosen.cv_results_["score"].shape == (1, 8, 8, 1)
    assert chosen.output_regularization_ == 0.05


def test_selection_for_signed_weights_keeps_their_sums_positive(pairs):
    X, Y = pairs
    loose = CDO(reference=40).fit(X, Y).cv_results_["score"]
    strict = CDO(reference=40, weights="signed").fit(X, Y).cv_results_["score"]
    assert np.isfinite(loose).all()
    refused = np.isinf(strict)
    assert 0.0 < refused.mean() < 1.0
    np.testing.assert_array_equal(strict[~refused], loose[~refused])


def test_in_units_a_thousand_times_smaller_it_is_the_same_estimate(pairs):
    X, Y = pairs
    plain = CDO(reference=40).fit(X, Y)
    scaled = CDO(reference=40).fit(1e3 * X, 1e3 * Y)
    moved = scaled.log_density(1e3 * X, 1e3 * Y) + np.log(1e3)
    np.testing.assert_allclose(moved, plain.log_density(X, Y), rtol=1e-6)


def test_selection_beats_a_careless_choice(rng):
    X = rng.uniform(-2.0, 2.0, (300, 1))
    Y = np.sin(2.0 * X) + 0.3 * rng.standard_normal((300, 1))
    model = CDO().fit(X[:200], Y[:200])
    truth = np.mean(
        [np.log(gaussian_density(y, m, [0.3])) for y, m in zip(Y, np.sin(2 * X), strict=True)]
    )
    assert truth - 0.15 < model.score(X[200:], Y[200:]) < truth + 0.15
    error = model.mean(X[200:]) - np.sin(2.0 * X[200:])
    assert np.sqrt(np.mean(error**2)) < 0.12


def test_without_inputs_it_is_a_density_of_y(rng):
    Y = rng.standard_normal((50, 1))
    for model in (CDO(**GIVEN), CDO()):
        assert model.fit(None, Y).n_distinct_ == 1
        density = np.exp(model.log_density_at(AXIS)(np.empty((1, 0))))
        assert np.trapezoid(density[0], AXIS[:, 0]) == pytest.approx(1.0)


@signed
def test_other_namespaces_give_the_same_numbers(pairs, rng, other_xp, weights):
    X, Y = repeated(rng)
    model = CDO(**GIVEN, kernel_x="laplace", weights=weights).fit(X, Y)
    expected = [model.weights_at(X), model.mean(X), model.variance(X), model.density_at(Y)(X)]
    X, Y = other_xp.asarray(X), other_xp.asarray(Y)
    model.fit(X, Y)
    found = [model.weights_at(X), model.mean(X), model.variance(X), model.density_at(Y)(X)]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(to_numpy(one), other, rtol=1e-6, atol=1e-9)


def test_standardised_moments_are_in_original_units(pairs):
    X, Y = pairs
    model = Standardised(CDO(**GIVEN, weights="signed")).fit(X, 100.0 * Y + 50.0)
    inner = model.estimator_
    assert model.mean(X[:3]) == pytest.approx(
        inner.mean(model.transform_x(X[:3])) * model.std_y_ + model.mean_y_
    )
    y = np.linspace(-700.0, 800.0, 6001)[:, None]
    density = model.density_at(y)(X[:3])
    first, second = (np.trapezoid(density * y[:, 0] ** p, y[:, 0], axis=1) for p in (1, 2))
    np.testing.assert_allclose(model.mean(X[:3])[:, 0], first, rtol=1e-7)
    np.testing.assert_allclose(model.variance(X[:3])[:, 0], second - first**2, rtol=1e-6)
    assert model.nonpositive_share(X, 100.0 * Y + 50.0) == inner.nonpositive_share(
        model.transform_x(X), model.transform_y(100.0 * Y + 50.0)
    )


def test_sums_that_are_not_positive_are_refused_with_the_remedy(pairs, monkeypatch, caplog):
    X, Y = pairs
    model = CDO(**GIVEN | {"regularization": 1e-9}, weights="signed").fit(X, Y)
    far = X + np.linspace(-6.0, 6.0, 30)[:, None]
    sums = model._raw_weights(far).sum(axis=1)
    count = int((sums <= 0.0).sum())
    assert 0 < count < 30
    for call in (model.mean, model.weights_at, model.density_at(Y)):
        with pytest.raises(FloatingPointError, match=rf"at {count} of 30 x no sum.*raise regul"):
            call(far)
    with caplog.at_level(logging.WARNING):
        model.set_params(scaling="published", output_regularization=0.05 * 40).fit(X, Y)
        assert not caplog.text
        found = model.weights_at(far)
    assert f"at {count} of 30 x the sum of weights is negative" in caplog.text
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.mean(far), found @ model.reference_, rtol=1e-6)
    np.testing.assert_array_equal(model.has_negative_normaliser(far), sums <= 0.0)
    clipped = CDO(**GIVEN).fit(X, Y)
    with pytest.raises(
        ValueError, match="has_negative_normaliser is for weights='signed'; they are 'clipped'"
    ):
        clipped.has_negative_normaliser(far)
    monkeypatch.setattr(clipped, "_raw_weights", lambda X: -np.ones((len(X), 40)))
    with pytest.raises(FloatingPointError, match="at 30 of 30 x no sum of weights is positive"):
        clipped.log_density(X, Y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bandwidth_x": 0.0}, "bandwidth_x must be positive"),
        ({"bandwidth_y": [1.0, 1.0]}, r"bandwidth_y must be .* shape \(1,\)"),
        ({"regularization": -1.0}, "regularization must be a positive number"),
        ({"output_regularization": np.inf}, "output_regularization must be a positive number"),
        ({"kernel_x": "cauchy"}, "kernel_x must be one of gaussian, laplace; got 'cauchy'"),
        ({"weights": "squared"}, "weights must be one of clipped, signed, projected"),
        ({"scaling": "none"}, "scaling must be one of corrected, published"),
        ({"selection": "luck"}, "selection must be one of squared-error, likelihood"),
        ({"periods": (7.0,)}, "periods must have one entry per column of x, 2"),
        ({"periods": (None, -24.0)}, r"periods\[1\] must be positive"),
        ({"reference": 1}, "reference must be a whole number of points per dimension"),
        ({"reference_box": (2.0, -2.0)}, "reference_box is empty"),
        ({"tuning_rows": 0}, "tuning_rows must be"),
    ],
)
def test_bad_hyperparameters_are_named(pairs, options, message):
    with pytest.raises(ValueError, match=message):
        CDO(**options).fit(*pairs)


def test_laplace_scale_is_a_median_distance(pairs):
    model = CDO(None, 0.3, 1e-3, 0.05, kernel_x="laplace", reference=40).fit(*pairs)
    X = pairs[0]
    distances = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))[np.triu_indices(30, 1)]
    ratio = model.bandwidth_x_[0] / (np.median(distances) / np.sqrt(2.0))
    assert np.isclose(ratio, [0.25, 0.5, 1.0, 2.0, 4.0], rtol=0.02).any()
    assert isinstance(model._inputs._kernel, LaplaceKernel)


def test_what_few_steps_solve_is_what_the_factor_solves():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 2))
    groups = Groups(np.vstack([X, X[:300]]), rng.normal(size=(1500, 1)))
    B = rng.normal(size=(1200, 3))
    inputs = InputFactor(GaussianKernel(0.05), groups, 1e6)
    quick = inputs.solve(B)
    assert inputs._known is None
    assert inputs.jitter == 0.0
    many = np.hstack([B] * 4)
    np.testing.assert_allclose(quick, inputs.solve(many)[:, :3], rtol=1e-12, atol=1e-17)
    assert inputs._known is not None
    np.testing.assert_allclose(inputs.solve(B), quick, rtol=1e-12, atol=1e-17)
