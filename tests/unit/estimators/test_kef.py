"""The unconditional kernel exponential family, exact and Nyström."""

import numpy as np
import pytest

from kcde.estimators import KCEF, KEF
from kcde.estimators.kef import NystromSystem, held_out_scores
from kcde.selection import complement, kfold
from naive import partial


@pytest.fixture
def plane(rng):
    return rng.standard_normal((25, 2)) @ np.array([[1.0, 0.5], [0.0, 0.8]])


def test_nystrom_minimises_the_penalised_score_over_its_span(plane):
    """β against a generic minimiser of J + λ/2 ‖f‖² + λ₂/2 ‖β‖², entries by the naive loop."""
    sigma, lam, basis = np.array([1.1, 0.9]), 0.02, plane[:6]
    pairs = [(b, i) for b in range(6) for i in range(2)]
    rows = [(a, j) for a in range(len(plane)) for j in range(2)]
    # ∂_j f(Y_a) and Σ_j ∂_j² f(Y_a) as linear maps of β; each derivative in y changes the sign.
    first = np.array(
        [[-partial(basis[b], plane[a], sigma, i, j) for b, i in pairs] for a, j in rows]
    )
    second = np.array(
        [[partial(basis[b], plane[a], sigma, i, j, j) for b, i in pairs] for a, j in rows]
    )
    r = np.array([-plane[a, j] / 4 for a, j in rows])
    gram = np.array(
        [[-partial(basis[b], basis[c], sigma, i, j) for c, j in pairs] for b, i in pairs]
    )
    n = len(plane)
    quadratic = first.T @ first / n + lam * gram + 1e-5 * np.eye(12)
    expected = np.linalg.solve(quadratic, -(second.sum(axis=0) + first.T @ r) / n)
    system = NystromSystem(basis, sigma, 2.0)
    beta, jitter = system.solve(system.moments(plane), lam)
    np.testing.assert_allclose(beta.ravel(), expected, rtol=1e-7)
    assert jitter == 0.0


def test_held_out_scores_equal_refitting_every_fold(plane, rng):
    folds, basis_rows = kfold(len(plane), 5, rng), np.arange(0, 25, 3)
    found = held_out_scores(plane, folds, basis_rows, [0.8, 1.3], np.array([1e-2, 0.1]), 2.0)
    for i, sigma in enumerate((0.8, 1.3)):
        for j, lam in enumerate((1e-2, 0.1)):
            total = 0.0
            for fold in folds:
                rest = np.setdiff1d(basis_rows, fold)
                system = NystromSystem(plane[rest], np.full(2, sigma), 2.0)
                moments = system.moments(plane[complement(fold, len(plane))])
                model = KEF(sigma, lam).fit(None, plane)
                model._T = system.parameter(system.solve(moments, lam)[0])
                total += model.score_matching_loss(None, plane[fold]) * len(fold)
            assert found[i, j] == pytest.approx(total / len(plane), rel=1e-8)


@pytest.mark.nightly
@pytest.mark.parametrize("n_basis", [None, 12])
def test_hmc_has_the_moments_of_importance_sampling(plane, rng, n_basis):
    model = KEF(1.5, 0.1, n_basis=n_basis).fit(None, plane)
    sample = model.sample_hmc(None, 20_000, rng, chains=100)
    nothing = plane[:1, :0]
    expected = model.conditional_expectation(lambda Y: np.hstack([Y, Y**2]), nothing)[0]
    found = np.hstack([sample.draws[0], sample.draws[0] ** 2]).mean(axis=0)
    np.testing.assert_allclose(found, expected, atol=0.12)
    assert sample.r_hat < 1.05


def test_the_exact_system_is_kcef_with_a_constant_kernel(plane):
    kef, kcef = KEF(1.0, 0.1).fit(None, plane), KCEF(1.0, 1.0, 0.1).fit(plane[:, :0], plane)
    np.testing.assert_array_equal(kef.coef_, kcef.coef_)


@pytest.mark.parametrize("n_basis", [None, 5])
def test_nothing_is_tried_where_all_is_given(plane, n_basis):
    model = KEF(1.2, 0.05, n_basis=n_basis).fit(None, plane)
    assert model.cv_results_ == {}
    assert KEF(1.2, n_basis=n_basis).fit(None, plane).cv_results_


def test_copies_of_rows_choose_peaks_unless_they_are_in_one_fold(rng):
    """A held-out copy sits at the top of a peak, where the second derivative rewards narrowness."""
    distinct = rng.standard_normal((40, 4))
    rows = np.concatenate([distinct, distinct[:20]])
    apart, together, without = (
        KEF(group_copies=grouped).fit(None, given)
        for grouped, given in ((False, rows), (True, rows), (True, distinct))
    )
    assert apart.bandwidth_y_[0] < 0.3
    assert apart.cv_results_["score"].min() < 50 * together.cv_results_["score"].min()
    assert together.bandwidth_y_[0] > 0.8
    assert together.bandwidth_y_[0] == pytest.approx(without.bandwidth_y_[0], rel=1.0)


@pytest.mark.parametrize("n_basis", [0, 26, 2.5, "few"])
def test_impossible_basis_is_refused(plane, n_basis):
    with pytest.raises(ValueError, match="n_basis"):
        KEF(1.0, 0.1, n_basis=n_basis).fit(None, plane)
