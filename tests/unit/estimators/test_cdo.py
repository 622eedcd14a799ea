import logging
from functools import partial

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.stats import norm
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from kcde.estimators import CDO, cdo
from kcde.kernels import GaussianKernel
from kcde.seeding import rng_of
from kcde.selection import complement, kfold
from naive import cdo_weights

NAMES = ("bandwidth_x", "bandwidth_y", "regularization", "output_regularization")
GIVEN = dict(zip(NAMES, (0.8, 0.3, 1e-3, 0.05), strict=True)) | {"reference": 40}
AXIS = np.linspace(-12.0, 12.0, 4001)[:, None]
laplace = partial(laplacian_kernel, gamma=1.0 / 0.8)
gaussian = partial(rbf_kernel, gamma=0.5 / 0.8**2)


def repeated(rng):
    """Eight inputs with one to four outputs each, in no order."""
    places = rng.permutation(np.repeat(np.arange(8), [1, 2, 3, 4] * 2))
    X = rng.standard_normal((8, 2))[places]
    return X, np.sin(X[:, :1]) + 0.4 * rng.standard_normal((len(X), 1))


@pytest.mark.parametrize(
    ("kernel_x", "k", "scaling", "many"),
    [
        ("gaussian", gaussian, "corrected", False),
        ("laplace", laplace, "published", False),
        ("gaussian", gaussian, "published", True),
    ],
)
def test_weights_equal_a_naive_loop_over_all_rows(pairs, rng, kernel_x, k, scaling, many):
    """Also where rows of x repeat, with unequal counts."""
    X, Y = repeated(rng) if many else pairs
    shift = 0.05 * 40 if scaling == "corrected" else 1.5
    given = GIVEN | {"output_regularization": 0.05 if scaling == "corrected" else 1.5}
    model = CDO(**given, kernel_x=kernel_x, scaling=scaling, weights="signed").fit(X, Y)
    assert model.n_distinct_ == (8 if many else 30)
    new = np.vstack([X[:2], X[:1] + 0.3])
    expected = [cdo_weights(x, X, Y, model.reference_, k, [0.3], 1e-3, shift) for x in new]
    expected = np.array([beta / beta.sum() for beta in expected])
    np.testing.assert_allclose(model.weights_at(new), expected, rtol=1e-7, atol=1e-9)
    density = (expected * norm.pdf(Y[:3], model.reference_.T, 0.3)).sum(axis=1)
    found = model.log_density(new, Y[:3])
    np.testing.assert_allclose(found, np.log(density), rtol=1e-6, atol=1e-8)
    model = CDO(**given, kernel_x=kernel_x, scaling=scaling).fit(X, Y)
    clipped = np.maximum(expected, 0.0)
    clipped /= clipped.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.weights_at(new), clipped, rtol=1e-7, atol=1e-9)


def test_few_reference_points_are_solved_for_once(pairs):
    """In place of a solution for each new x. Far from all x_i every k(x, x_i) underflows."""
    X, Y = pairs
    model = CDO(**GIVEN | {"reference": 3, "bandwidth_y": 0.8}).fit(X, Y)
    new = X[:5] + 0.3
    beta = [cdo_weights(x, X, Y, model.reference_, gaussian, [0.8], 1e-3, 0.15) for x in new]
    clipped = np.maximum(beta, 0.0)
    expected = clipped / clipped.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.weights_at(new), expected, rtol=1e-7, atol=1e-9)
    assert model._solved_outputs is not None
    weights = CDO(**GIVEN).fit(X[:, :1], Y).weights_at(np.array([[X[:, 0].max() + 60.0]]))
    assert weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("counts", [(5, 6), (2, 3, 2)])
def test_more_dimensions_equal_a_naive_loop(rng, counts):
    X, d = rng.standard_normal((20, 1)), len(counts)
    Y = np.hstack([X, X**2, -X])[:, :d] + 0.3 * rng.standard_normal((20, d))
    widths = np.array([0.5, 0.9, 0.7])[:d]
    given = GIVEN | {"bandwidth_y": widths, "reference": counts}
    model = CDO(**given, weights="signed").fit(X, Y)
    m = len(model.reference_)
    beta = cdo_weights(X[0], X, Y, model.reference_, gaussian, widths, 1e-3, 0.05 * m)
    np.testing.assert_allclose(model.weights_at(X[:1])[0], beta / beta.sum(), rtol=1e-7, atol=1e-9)
    weights = model.weights_at(X[:4])
    centred = model.reference_ - (weights @ model.reference_)[:, None, :]
    variance = np.einsum("nm,nmd->nd", weights, centred**2) + widths**2
    np.testing.assert_allclose(model.mean(X[:4]), weights @ model.reference_, rtol=1e-8)
    np.testing.assert_allclose(model.variance(X[:4]), variance, rtol=1e-7)


def test_projection_is_the_nearest_mixture(pairs):
    """The metric by quadrature, the minimum by scipy."""
    X, Y = pairs
    given = GIVEN | {"reference": 25}
    beta = CDO(**given, weights="signed").fit(X, Y).weights_at(X[:4])
    model = CDO(**given, weights="projected").fit(X, Y)
    bumps = norm.pdf(AXIS[::4], model.reference_.T, 0.3) * np.sqrt(AXIS[4, 0] - AXIS[0, 0])
    for row, found in zip(beta, model.weights_at(X[:4]), strict=True):
        gamma, distance = nnls(bumps, bumps @ row)
        assert (row < 0.0).any()
        np.testing.assert_allclose(bumps @ found, bumps @ gamma / gamma.sum(), atol=1e-5)
        assert distance < 0.9 * np.linalg.norm(bumps @ (np.maximum(row, 0.0) - row))


def test_streams_equal_whole_matrices(rng, monkeypatch):
    X, Y = repeated(rng)
    model = CDO(**GIVEN).fit(X, Y)
    monkeypatch.setattr("kcde.arrays._BLOCK", 50)
    monkeypatch.setattr("kcde.estimators.cdo._ROWS_AT_ONCE", 1)
    monkeypatch.setattr("kcde.estimators.cdo._AT_ONCE", 80)
    blocks = CDO(**GIVEN).fit(X, Y)
    np.testing.assert_allclose(blocks.weights_at(X), model.weights_at(X), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(blocks.log_density(X, Y), model.log_density(X, Y), rtol=1e-9)


@pytest.mark.parametrize(
    ("selection", "scaling"), [("squared-error", "corrected"), ("likelihood", "published")]
)
def test_selection_equals_refitting_every_fold(rng, selection, scaling):
    X, Y = repeated(rng)
    options = {"reference": 40, "reference_box": (-4.0, 4.0), "scaling": scaling}
    model = CDO(**options, selection=selection).fit(X, Y)
    results = model.cv_results_
    index, total = (3, 5, 2, 3), 0.0
    given = {name: results[name][i] for name, i in zip(NAMES, index, strict=True)}
    weights = "signed" if selection == "squared-error" else "clipped"
    for held_out in kfold(len(X), model.folds, rng_of("selection", model.random_state)):
        rows = complement(held_out, len(X))
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


def test_selection_takes_a_part_of_many_rows_and_keeps_what_is_given(pairs):
    X, Y = pairs
    distances = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))[np.triu_indices(30, 1)]
    model = CDO(None, None, None, 0.05, reference=40).fit(X, Y)
    assert model.cv_results_["score"].shape == (8, 8, 8, 1)
    assert model.output_regularization_ == 0.05
    middle = np.median(distances) / np.sqrt(2.0)
    assert model.cv_results_["bandwidth_x"][5] == pytest.approx(middle, rel=0.02)
    few = CDO(0.8, None, None, 0.05, tuning_rows=15, reference=40).fit(X, Y)
    assert few.n_distinct_ == 30
    assert not np.array_equal(few.cv_results_["score"], model.cv_results_["score"][5:6])


def test_selection_for_signed_weights_keeps_their_sums_positive(pairs):
    loose = CDO(reference=40).fit(*pairs).cv_results_["score"]
    strict = CDO(reference=40, weights="signed").fit(*pairs).cv_results_["score"]
    refused = np.isinf(strict)
    assert 0.0 < refused.mean() < 1.0
    np.testing.assert_array_equal(strict[~refused], loose[~refused])


def test_sums_that_are_not_positive_are_refused_or_reversed(pairs, caplog):
    X, Y = pairs
    model = CDO(**GIVEN | {"regularization": 1e-9}, weights="signed").fit(X, Y)
    far = X + np.linspace(-6.0, 6.0, 30)[:, None]
    sums = model._raw_weights(far).sum(axis=1)
    assert 0 < (sums <= 0.0).sum() < 30
    for call in (model.mean, model.weights_at, model.density_at(Y)):
        with pytest.raises(FloatingPointError, match="no sum of weights is positive"):
            call(far)
    with caplog.at_level(logging.WARNING):
        model.set_params(scaling="published", output_regularization=0.05 * 40).fit(X, Y)
        found = model.weights_at(far)
    assert "the sum of weights is negative" in caplog.text
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.mean(far), found @ model.reference_, rtol=1e-6)
    np.testing.assert_array_equal(model.has_negative_normaliser(far), sums <= 0.0)


def test_what_few_steps_solve_is_what_the_factor_solves():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 2))
    groups = cdo.Groups(np.vstack([X, X[:300]]), rng.normal(size=(1500, 1)))
    B = rng.normal(size=(1200, 3))
    inputs = cdo.InputFactor(GaussianKernel(0.05), groups, 1e6)
    quick = inputs.solve(B)
    assert inputs._matrix is not None
    np.testing.assert_allclose(quick, inputs.solve(np.hstack([B] * 4))[:, :3], 1e-12, atol=1e-17)
    assert inputs._matrix is None


@pytest.mark.parametrize(("points", "sigma", "low"), [(700, 0.1, True), (600, 2 / 599, False)])
def test_many_points_have_a_low_rank_or_none(rng, points, sigma, low):
    reference = cdo.Reference([np.linspace(-1.0, 1.0, points)], np)
    sigma, c = np.array([sigma]), 3.0
    assert cdo.spectrum_of(reference, sigma, 1e-13).complete != low
    # Beyond the grid as well, where l(Z, y) is not a smooth combination of columns of L.
    V = np.vstack([reference.rows(np.array([[0.2], [-0.99], [1.3]]), sigma), rng.random(points)])
    gram = norm.pdf(reference.points, reference.points.T, sigma)
    inverse = np.linalg.inv(gram + c * np.eye(points))
    expected = V @ inverse @ inverse
    size = np.linalg.norm(expected, axis=1, keepdims=True)
    found = cdo.spectrum_of(reference, sigma, 1e-13 * c).squared_inverse(V, c)
    np.testing.assert_allclose(found / size, expected / size, atol=1e-10)


def test_the_box_is_the_range_of_y_and_a_tenth(caplog):
    Y = np.array([[0.0, 5.0], [10.0, 25.0], [5.0, 15.0]])
    reference = cdo.make_reference(Y, (3, 5), None)
    assert reference.size == 15
    np.testing.assert_allclose(reference.points.min(axis=0), [-1.0, 3.0])
    np.testing.assert_allclose(reference.points.max(axis=0), [11.0, 27.0])
    assert [cdo.make_reference(Y[:, :d], None, None).size for d in (1, 2)] == [200, 900]
    assert not caplog.text
    cdo.make_reference(np.linspace(0.0, 10.0, 21)[:, None], 10, (-1.0, 2.0))
    assert "76.2% of the training y lie outside" in caplog.text
