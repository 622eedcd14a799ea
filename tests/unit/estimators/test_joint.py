import array_api_strict
import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from kcde.estimators import KCEF, LSCDE, ResidualKDE, Standardised
from kcde.estimators.base import ConditionalDensity
from kcde.joint import JointDensity, parents, topological_order

REVERSED = [[1, 2, 3], [2, 3], [3], []]


class LinearGaussian(ConditionalDensity):
    """Least squares with Gaussian noise: its products have closed forms."""

    def __init__(self, random_state=0):
        self.random_state = random_state

    def _fit(self, X, Y):
        design = np.column_stack([np.ones(len(X)), X])
        self.weights_ = np.linalg.lstsq(design, Y, rcond=None)[0][:, 0]
        self.std_ = float(np.std(Y[:, 0] - design @ self.weights_))

    def _mean(self, X):
        return self.weights_[0] + X @ self.weights_[1:]

    def log_density(self, X, Y):
        z = (Y[:, 0] - self._mean(X)) / self.std_
        return -0.5 * z**2 - np.log(self.std_ * np.sqrt(2 * np.pi))

    def log_density_at(self, Y):
        return lambda X: np.stack([self.log_density(X, np.tile(y, (len(X), 1))) for y in Y], 1)

    def sample(self, X, n_samples, rng):
        noise = self.std_ * rng.standard_normal((len(X), n_samples))
        return (self._mean(X)[:, None] + noise)[:, :, None]


@pytest.fixture
def rows(rng):
    """Correlated Gaussian rows in four dimensions."""
    mixing = rng.standard_normal((4, 4))
    return rng.standard_normal((150, 4)) @ mixing + np.array([1.0, -2.0, 0.5, 3.0])


def gaussian(Y, at):
    """Log density of the Gaussian with the mean and covariance (divisor n) of Y."""
    return multivariate_normal(Y.mean(axis=0), np.cov(Y.T, bias=True)).logpdf(at)


@pytest.mark.parametrize("graph", ["full", REVERSED, [[], [0], [1, 0], [2, 0, 1]]])
def test_a_full_graph_in_any_order_is_the_joint_gaussian(rows, rng, graph):
    model = JointDensity(LinearGaussian(), graph).fit(None, rows)
    at = 2.0 * rng.standard_normal((20, 4))
    np.testing.assert_allclose(model.log_density(None, at), gaussian(rows, at), rtol=1e-9)
    assert model.score(None, at) == pytest.approx(gaussian(rows, at).mean(), rel=1e-9)


def test_a_markov_graph_is_the_chain_of_pairs(rows, rng):
    model = JointDensity(LinearGaussian(), "markov").fit(None, rows)
    at = rng.standard_normal((20, 4))
    expected = gaussian(rows[:, :1], at[:, :1])
    for i in range(3):
        pair, first = gaussian(rows[:, i : i + 2], at[:, i : i + 2]), slice(i, i + 1)
        expected = expected + pair - gaussian(rows[:, first], at[:, first])
    np.testing.assert_allclose(model.log_density(None, at), expected, rtol=1e-9)


def test_without_edges_the_factors_are_the_marginals(rows):
    model = JointDensity(LinearGaussian(), [[], [], [], []]).fit(None, rows)
    marginals = [gaussian(rows[:, [i]], rows[:, [i]]) for i in range(4)]
    np.testing.assert_allclose(model.factor_log_density(rows), np.transpose(marginals), rtol=1e-9)


@pytest.mark.parametrize("graph", ["full", REVERSED])
def test_ancestral_samples_have_the_moments_of_the_density(rows, rng, graph):
    n = 40_000
    model = JointDensity(LinearGaussian(), graph).fit(None, rows)
    drawn = model.sample(None, n, rng)
    assert drawn.shape == (1, n, 4)
    covariance = np.cov(rows.T, bias=True)
    variances = np.diag(covariance)
    error = np.sqrt((covariance**2 + np.outer(variances, variances)) / n)
    assert np.all(np.abs(np.cov(drawn[0].T) - covariance) < 4.5 * error)
    offset = drawn[0].mean(axis=0) - rows.mean(axis=0)
    assert np.all(np.abs(offset) < 4.5 * np.sqrt(variances / n))


def test_same_seed_same_samples_for_each_row_without_columns(rows):
    model = JointDensity(LinearGaussian()).fit(None, rows)
    first = model.sample(np.empty((3, 0)), 5, np.random.default_rng(1))
    assert first.shape == (3, 5, 4)
    again = model.sample(None, 15, np.random.default_rng(1))
    np.testing.assert_array_equal(first.reshape(15, 4), again[0])


@pytest.mark.nightly
@pytest.mark.parametrize("graph", ["full", [[1], []]])
def test_a_product_of_kernel_conditionals_integrates_to_one(pairs, graph):
    X, Y = pairs
    rows = np.column_stack([X[:, 0], Y])
    grid = np.linspace(-11.0, 11.0, 281)
    at = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)
    model = JointDensity(KCEF(1.0, 0.8, 0.01), graph).fit(None, rows)
    mass = np.exp(model.log_density(None, at)).sum() * (grid[1] - grid[0]) ** 2
    assert mass == pytest.approx(1.0, abs=1e-4)


def test_far_from_the_data_factors_stay_finite_and_normalised(rows):
    model = JointDensity(KCEF(1.0, 1.0, 0.01), "full").fit(None, rows)
    far = rows[:3] + 1e3
    assert np.isfinite(model.log_density(None, far)).all()
    nodes = np.linspace(-16.0, 16.0, 4001)[:, None]
    density = np.exp(model.factors_[3].log_density_at(nodes)(far[:, :3]))
    np.testing.assert_allclose(np.trapezoid(density, nodes[:, 0], axis=1), 1.0, atol=1e-6)


def test_other_namespaces_agree_with_numpy(rows):
    estimator = KCEF(1.0, 1.0, 0.1)
    expected = JointDensity(estimator, "markov").fit(None, rows).log_density(None, rows)
    strict = array_api_strict.asarray(rows)
    model = JointDensity(estimator, "markov").fit(None, strict)
    np.testing.assert_allclose(np.asarray(model.log_density(None, strict)), expected, rtol=1e-9)
    drawn = model.sample(None, 3, np.random.default_rng(0))
    assert drawn.shape == (1, 3, 4)


def test_each_factor_has_a_random_state_of_its_own(rows):
    model = JointDensity(LSCDE(1.0, 1.0, 0.1, random_state=7)).fit(None, rows)
    states = [factor.random_state for factor in model.factors_]
    assert len({*states, 7}) == 5
    again = clone(model).fit(None, rows)
    assert [factor.random_state for factor in again.factors_] == states
    np.testing.assert_array_equal(again.log_density(None, rows), model.log_density(None, rows))


def test_an_estimator_inside_another_has_a_random_state_of_its_own():
    single, nested = (JointDensity(each) for each in (LSCDE(), Standardised(LSCDE())))
    for column in range(3):
        state = single.factor_estimator(column).random_state
        assert nested.factor_estimator(column).estimator.random_state == state
    assert nested.estimator.estimator.random_state == 0


def test_a_list_gives_each_column_its_estimator(rows):
    estimators = [LSCDE(s, s, 0.1) for s in (0.5, 1.0, 2.0, 4.0)]
    model = JointDensity(estimators).fit(None, rows)
    assert [factor.bandwidth_y for factor in model.factors_] == [0.5, 1.0, 2.0, 4.0]
    assert model.tags.unconditional
    assert not hasattr(estimators[0], "weights_")


def test_a_factor_alone_is_that_of_the_whole_fit(rows):
    model = JointDensity(LSCDE(1.0, 1.0, 0.1), "full")
    alone = model.fit_factor(2, rows).log_density(rows[:, :2], rows[:, 2:3])
    np.testing.assert_array_equal(alone, model.fit(None, rows).factor_log_density(rows)[:, 2])


def test_named_graphs():
    assert parents("full", 3) == [(), (0,), (0, 1)]
    assert parents("markov", 4) == [(), (0,), (1,), (2,)]
    assert parents([[2, 1, 2], [], []], 3) == [(1, 2), (), ()]
    assert parents("full", 0) == []


def test_parents_come_before_children():
    order = topological_order(parents(REVERSED, 4))
    assert order == [3, 2, 1, 0]
    assert topological_order(parents("full", 6)) == list(range(6))


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ("chain", "one of full, markov.*'chain'"),
        ([[], [0]], "2 lists of parents for 3 columns"),
        ([[], [0], [3]], "column 2 has the parent 3"),
        ([[], [-1], [0]], "column 1 has the parent -1"),
        ([[], [1], [0]], "column 1 has the parent 1"),
        ([[], ["0"], [0]], "column 1 has the parent '0'"),
        ([[], [0.0], [0]], "column 1 has the parent 0.0"),
        ([[1], [2], [0]], r"cycle (\d) -> \d -> \d -> \1; take"),
    ],
)
def test_a_wrong_graph_is_refused_by_column(rows, graph, message):
    with pytest.raises(ValueError, match=message):
        JointDensity(LinearGaussian(), graph).fit(None, rows[:, :3])


def test_more_parents_than_rows_are_refused(rows):
    model = JointDensity(LinearGaussian(), "full")
    with pytest.raises(ValueError, match="column 3 has 3 parents, more than the 2 rows"):
        model.fit(None, rows[:2])
    assert JointDensity(LSCDE(1.0, 1.0, 0.1), "markov").fit(None, rows[:2]).factors_


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        (np.zeros((150, 1)), None, r"no x: X must be None or have shape \(150, 0\)"),
        (None, np.zeros((1, 5, 4)), r"Y must have shape \(n,\) or \(n, d\); got shape \(1, 5, 4"),
        (None, np.zeros((5, 4)), r"Y is constant in column\(s\) \[0, 1, 2, 3\]"),
        (None, np.full((5, 4), np.nan), "Y, shape .* NaN"),
    ],
)
def test_bad_input_is_refused(rows, X, Y, message):
    with pytest.raises(ValueError, match=message):
        JointDensity(LinearGaussian()).fit(X, rows if Y is None else Y)


def test_wrong_width_and_missing_fit_are_refused(rows):
    model = JointDensity(LinearGaussian())
    with pytest.raises(NotFittedError):
        model.log_density(None, rows)
    with pytest.raises(NotFittedError):
        model.sample(None, 2, np.random.default_rng(0))
    model.fit(None, rows)
    with pytest.raises(ValueError, match="Y must have 4 columns"):
        model.log_density(None, rows[:, :3])
    with pytest.raises(ValueError, match="Y has no rows"):
        model.log_density(None, rows[:0])
    with pytest.raises(ValueError, match="X has no rows"):
        model.sample(rows[:0, :0], 2, np.random.default_rng(0))


def test_a_frame_with_columns_in_another_order_is_refused(rows):
    frame = pd.DataFrame(rows[:, :2], columns=["a", "b"])
    for model in (
        JointDensity(LSCDE(1.0, 1.0, 0.1)),
        ResidualKDE(),
        Standardised(LSCDE(1.0, 1.0, 0.1)),
    ):
        X = None if isinstance(model, JointDensity) else rows[:, 2:]
        fitted = model.fit(X, frame)
        assert np.isfinite(fitted.log_density(X, frame)).all()
        np.testing.assert_array_equal(
            fitted.log_density(X, frame.to_numpy()), fitted.log_density(X, frame)
        )
        with pytest.raises(ValueError, match=r"Y has columns \['b', 'a'\], and had \['a', 'b'\]"):
            fitted.log_density(X, frame[["b", "a"]])


def test_a_refused_fit_leaves_the_model_before_it_as_it_was(rows):
    frame = pd.DataFrame(rows[:, :2], columns=["a", "b"])
    model = JointDensity(LSCDE(1.0, 1.0, 0.1)).fit(None, frame)
    expected = model.log_density(None, frame)
    with pytest.raises(ValueError, match="Y is constant"):
        model.fit(None, pd.DataFrame({"c": rows[:, 0], "d": 0.0}))
    np.testing.assert_array_equal(model.log_density(None, frame), expected)


def test_a_single_column_of_y_may_have_any_name(rows):
    fitted = LSCDE(1.0, 1.0, 0.1).fit(rows[:, 1:], pd.DataFrame({"price": rows[:, 0]}))
    other = pd.DataFrame({"other": rows[:5, 0]})
    np.testing.assert_array_equal(
        fitted.log_density(rows[:5, 1:], other), fitted.log_density(rows[:5, 1:], rows[:5, :1])
    )
