import itertools
from functools import cached_property
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone

from kcde.estimators import CME, JDL, JPDL, KernelLogisticRegression
from kcde.estimators._low_rank import basis as jdl_basis
from kcde.estimators._low_rank.basis import Basis
from kcde.experiments import _low_rank, _shared_bases
from kcde.experiments._low_rank import Trials
from kcde.experiments._shared_bases import Bases, group_by_basis

GRID = SimpleNamespace(
    bandwidth_factors=(0.5, 2.0),
    regularizations=(1e-4, 1e-2, 1.0),
    validation_rows=None,
    most_trace=1.0,
)


@pytest.fixture
def rows(rng):
    X = rng.standard_normal((60, 2))
    return X, X[:, :1] + 0.5 * rng.standard_normal((60, 1))


def square(Y):
    return Y**2


def positive(Y):
    return (Y > 0).astype(float)


def middle(rows):
    """The median distance over √2; of an even number the middle two are averaged as squares."""
    return np.sqrt(np.median(pdist(rows) ** 2) / 2)


def by_hand(cls, X, Y, f, loss, **options):
    """Fit every combination anew; return (loss, options) of the best."""
    found = []
    for a, b, value in itertools.product(
        GRID.bandwidth_factors, GRID.bandwidth_factors, (1e-4, 1e-2, 1)
    ):
        chosen = {
            "bandwidth_x": a * middle(X[:48]),
            "bandwidth_y": b * middle(Y[:48]),
            "regularization": value,
        }
        model = cls(**chosen, **options).fit(X[:48], Y[:48])
        found.append((loss(model.conditional_expectation(f, X[48:])), chosen))
    return min(found, key=lambda each: each[0])


@pytest.mark.parametrize("cls", [JDL, CME])
def test_the_best_of_a_grid_is_that_of_separate_fits(cls, rows):
    X, Y = rows

    def loss(values):
        return np.mean((values[:, 0] - Y[48:, 0] ** 2) ** 2)

    models = {constrained: cls(constrained=constrained) for constrained in (False, True)}
    trials = _low_rank.select(models, X, Y, square, loss, GRID)
    for constrained in models:
        best = trials[constrained].best()
        expected, options = by_hand(cls, X, Y, square, loss, constrained=constrained)
        assert best.loss == pytest.approx(expected, rel=1e-8)
        assert best.options == pytest.approx(options)
        assert (best.tried, best.failures) == (12, ())


def test_a_basis_of_each_bandwidth_is_made_once(rows, monkeypatch):
    made = []
    for side in "xy":
        name = f"make_basis_{side}"
        plain = getattr(JDL, name)

        def counted(self, points, side=side, plain=plain):
            made.append((side, getattr(self, f"bandwidth_{side}")))
            return plain(self, points)

        monkeypatch.setattr(JDL, name, counted)
    models = {constrained: JDL(constrained=constrained) for constrained in (False, True)}
    _low_rank.select(models, *rows, square, lambda values: values.mean(), GRID)
    assert sorted(made) == sorted(set(made))
    assert len(made) == 4


@pytest.mark.parametrize("cls", [JDL, CME])
def test_large_factors_of_y_are_not_held_while_parameters_are_chosen(cls, rows, monkeypatch):
    models = {tolerance: cls(tolerance=tolerance) for tolerance in (1e-2, 1e-4)}

    def losses():
        trials = _low_rank.select(models, *rows, square, lambda values: values.mean(), GRID)
        return {key: trials[key]._found for key in models}

    held = losses()
    monkeypatch.setattr(_shared_bases, "MOST_HELD", 0)
    streamed = losses()
    for key in models:
        assert [options for options, _ in streamed[key]] == [options for options, _ in held[key]]
        expected = [loss for _, loss in held[key]]
        assert [loss for _, loss in streamed[key]] == pytest.approx(expected, rel=1e-8)
    model = cls(1.0, 0.8)
    for hold in (True, False):
        bases = Bases(*rows, hold_y=hold)
        factors = [basis.factor.L for basis, _ in (bases.x(model), bases.y(model))]
        assert [factor is None for factor in factors] == [False, not hold]


def collect(models, rows, **options):
    """Return the trials of a selection, and the bases that it made."""
    collected = {}
    trials = _low_rank.select(
        models, *rows, square, lambda values: values.mean(), GRID, collected=collected, **options
    )
    return trials, collected


@pytest.mark.parametrize("cls", [JDL, CME])
def test_of_collected_bases_those_of_the_best_keep_their_factors(cls, rows):
    trials, collected = collect({0: cls()}, rows)
    train = [side[:48] for side in rows]
    everything = Bases(*train, made=collected)
    best = trials[0].shape(cls())
    (other,) = {each["bandwidth_x"] for each, _ in trials[0]._found} - {best.bandwidth_x}
    other = clone(best).set_params(bandwidth_x=other)
    assert everything.x(best)[0].factor.L is not None
    assert everything.x(other)[0].factor.L is None
    _, collected = collect({0: cls()}, rows, streamed=False)
    made = dict(collected)
    bases = Bases(*train, made=collected)
    for ask in (Bases.x, Bases.y, Bases.summary):
        # Made by the selection, not anew.
        assert any(ask(bases, best)[0] is each for each, _ in made.values())
    assert best.fit(*train).coef_.tolist() == bases.fit(best).model.coef_.tolist()
    assert bases.x(other)[0].factor.L is not None


def test_what_is_dropped_is_dropped_from_what_was_collected(rows):
    models = {"small": JDL(), "large": JDL(bandwidth_x=3.0)}
    trials, collected = collect({"small": JDL()}, rows, streamed=False)
    bases = Bases(*(side[:48] for side in rows), made=collected)
    models["small"] = trials["small"].shape(models["small"])
    models["large"] = trials["small"].shape(models["large"]).set_params(bandwidth_x=3.0)
    keys = [set(collected) for name in bases.in_order(models)]
    assert keys[1] < keys[0]


def test_a_looser_tolerance_has_the_seconds_of_the_tightest_factor(rows):
    models = {"tight": JDL(tolerance=1e-6), "loose": CME(tolerance=1e-1)}
    trials, collected = collect(models, rows, streamed=False)
    bases = Bases(*(side[:48] for side in rows), 1e-6, made=collected)
    loose = trials["loose"].shape(models["loose"])
    tight = clone(loose).set_params(tolerance=1e-6)
    assert bases.fit(loose).factorise == bases.x(tight)[1] + bases.y(tight)[1]


def test_a_classifier_is_chosen_as_by_separate_fits(rows):
    X, Y = rows
    labels = (Y[:, 0] > 0).astype(int)

    def loss(probability):
        probability = probability.reshape(-1)
        return -np.mean(np.log(np.where(labels[48:] == 1, probability, 1 - probability)))

    best = _low_rank.select({0: KernelLogisticRegression()}, X, Y, positive, loss, GRID)[0].best()
    found = {
        (a, value): loss(
            KernelLogisticRegression(a * middle(X[:48]), value)
            .fit(X[:48], labels[:48])
            .predict_proba(X[48:])[:, 1]
        )
        for a in GRID.bandwidth_factors
        for value in GRID.regularizations
    }
    factor, value = min(found, key=found.get)
    assert best.loss == pytest.approx(found[factor, value], rel=1e-6)
    assert best.options["bandwidth_x"] == pytest.approx(factor * middle(X[:48]))
    assert (best.options["regularization"], best.tried) == (value, 6)


def test_one_regularization_that_fails_leaves_the_others(rows, monkeypatch):
    X, Y = rows
    labels = (Y[:, 0] > 0).astype(int)
    plain = KernelLogisticRegression.fit_path

    def failing(self, X, y, regularizations, basis=None):
        if min(regularizations) < 1e-3:
            raise FloatingPointError("stopped early: status iteration limit, residual 0.1")
        return plain(self, X, y, regularizations, basis)

    monkeypatch.setattr(KernelLogisticRegression, "fit_path", failing)

    def loss(probability):
        return np.mean((probability[:, 0] - labels[48:]) ** 2)

    best = _low_rank.select({0: KernelLogisticRegression()}, X, Y, positive, loss, GRID)[0].best()
    assert best.options["regularization"] > 1e-3
    assert best.tried == 6
    (failure,) = best.failures
    assert failure.startswith("FloatingPointError: stopped early: status iteration limit, residual")


def test_a_solver_that_stops_early_takes_no_other_fit_with_it(rows, monkeypatch):
    def failing(self, *given):
        raise FloatingPointError("stopped early: status iteration limit, residual 0.1")

    plain = JDL._fit_summary
    monkeypatch.setattr(
        JDL,
        "_fit_summary",
        lambda self, *given: (failing if self.constrained else plain)(self, *given),
    )
    models = {constrained: JDL(constrained=constrained) for constrained in (False, True)}
    trials = _low_rank.select(models, *rows, square, lambda values: values.mean(), GRID)
    assert trials[False].best().failures == ()
    with pytest.raises(FloatingPointError, match=r"no parameters .* status iteration limit, resid"):
        trials[True].best()


def test_a_bandwidth_whose_factor_leaves_too_much_is_not_tried(rows):
    X, Y = rows
    model, loss = JDL(max_rank=6), lambda values: values.mean()
    train = _low_rank.training_rows(len(X))
    each = _low_rank.bandwidths(model, "x", X[:train], GRID.bandwidth_factors)
    tried = [options["bandwidth_x"] for options in each]
    left = {}
    for sigma in tried:
        basis = JDL(bandwidth_x=sigma, max_rank=6).make_basis_x(X[:train])
        left[sigma] = basis.factor.trace_error / basis.factor.trace
    limit = 0.5 * (min(left.values()) + max(left.values()))
    grid = SimpleNamespace(**vars(GRID) | {"most_trace": limit})
    trials = _low_rank.select({0: model}, X, Y, square, loss, grid)[0]
    kept = {options["bandwidth_x"] for options, _ in trials._found}
    assert kept == {sigma for sigma, share in left.items() if share <= limit}
    assert 0 < len(kept) < len(tried)
    assert any("of the trace" in failure for failure in trials.best().failures)


def test_rows_that_coincide_are_a_failure_of_every_model(rows):
    X, Y = rows
    trials = _low_rank.select({0: JDL()}, np.ones_like(X), Y, square, np.mean, GRID)
    with pytest.raises(FloatingPointError, match=r"ValueError: all 48 points of x coincide"):
        trials[0].best()
    models = {0: KernelLogisticRegression()}
    alone = _low_rank.select(models, np.ones_like(X), Y, positive, np.mean, GRID)
    with pytest.raises(FloatingPointError, match=r"all 48 points of x coincide"):
        alone[0].best()


def test_what_has_no_finite_loss_is_not_chosen():
    trials = Trials()
    trials.add({"a": 1}, np.nan)
    trials.add({"a": 2}, 0.5)
    trials.add({"a": 3}, 0.5)
    trials.add({"a": 4}, np.inf)
    best = trials.best()
    assert (best.options, best.loss, best.tried) == ({"a": 2}, 0.5, 4)
    assert best.failures == ("the loss is nan", "the loss is inf")


def test_a_fit_of_shared_bases_is_a_plain_fit(rows):
    X, Y = rows
    model = JDL(1.0, 0.8, 1e-3, constrained=True)
    bases = Bases(X, Y)
    first = bases.fit(JDL(1.0, 0.8, 1e-2))
    again = bases.fit(model)
    assert again.factorise == first.factorise > 0
    assert again.model.basis_x_.factor is first.model.basis_x_.factor
    np.testing.assert_array_equal(again.model.coef_, model.fit(X, Y).coef_)
    other = bases.fit(JDL(1.5, 0.8, 1e-3)).model
    assert other.basis_x_.factor is not first.model.basis_x_.factor


def test_what_constraints_need_of_a_basis_is_the_cost_of_each_fit(rows, monkeypatch):
    looked = []
    plain = Basis.extrema.func
    counted = cached_property(lambda self: looked.append(self) or plain(self))
    counted.__set_name__(Basis, "extrema")
    monkeypatch.setattr(Basis, "extrema", counted)
    bases = Bases(*rows)
    for _ in range(2):
        bases.fit(JDL(1.0, 0.8, 1e-2, constrained=True))
    assert len(looked) == 4
    bases.fit(JDL(1.0, 0.8, 1e-2))
    assert len(looked) == 4


def test_bases_that_no_later_fit_has_are_dropped(rows):
    bases = Bases(*rows)
    models = {"a": JDL(1.0, 0.8), "b": CME(2.0, 0.8), "c": CME(1.0, 0.7)}
    models["d"] = KernelLogisticRegression(2.0)
    seen, made = [], []
    for name in bases.in_order(models):
        fitted = models[name]
        made.append(bases.x(fitted)[0])
        if name != "d":
            bases.summary(fitted)
        seen.append(name)
    assert sorted(seen) == sorted(models)
    # Fits with the same basis of x follow each other, and it is made once.
    assert len({id(basis) for basis in made}) == 2
    assert [id(made[0]) == id(made[1]), id(made[2]) == id(made[3])] == [True, True]
    again, _ = bases.x(models["a"])
    assert again is not made[seen.index("a")]


@pytest.mark.parametrize("cls", [JDL, CME])
def test_a_looser_tolerance_is_fitted_with_the_first_columns_of_the_tightest(
    cls, rows, monkeypatch
):
    asked = []
    plain = jdl_basis.pivoted_cholesky

    def counted(kernel, points, tolerance, **options):
        asked.append(tolerance)
        return plain(kernel, points, tolerance, **options)

    looser = cls(1.0, 0.8, 1e-4, tolerance=1e-1, constrained=True)
    expected = clone(looser).fit(*rows)
    monkeypatch.setattr(jdl_basis, "pivoted_cholesky", counted)
    bases = Bases(*rows, tightest=1e-3)
    found, tight = bases.fit(looser), bases.fit(cls(1.0, 0.8, 1e-4, tolerance=1e-3))
    assert asked == [1e-3, 1e-3]
    model = found.model
    assert (model.rank_x_, model.rank_y_) == (expected.rank_x_, expected.rank_y_)
    assert model.rank_x_ < tight.model.rank_x_
    assert found.factorise == tight.factorise
    assert found.summarise == tight.summarise
    np.testing.assert_allclose(model.objective_, expected.objective_, rtol=1e-9)
    np.testing.assert_allclose(model.weights(rows[0]), expected.weights(rows[0]), atol=1e-9)
    for ours, theirs in ((model.basis_x_, expected.basis_x_), (model.basis_y_, expected.basis_y_)):
        np.testing.assert_allclose(ours.second_moments, theirs.second_moments, atol=1e-14)
        assert ours.factor.trace_error == theirs.factor.trace_error


def test_tolerances_choose_together_what_each_chooses_alone(rows):
    models = {value: JDL(tolerance=value, constrained=True) for value in (1e-1, 1e-3, 1e-2)}

    def loss(values):
        return np.mean((values[:, 0] - rows[1][48:, 0] ** 2) ** 2)

    together = _low_rank.select(models, *rows, square, loss, GRID)
    for value, model in models.items():
        (alone,) = _low_rank.select({value: model}, *rows, square, loss, GRID).values()
        assert together[value].best().options == alone.best().options
        assert together[value].best().loss == pytest.approx(alone.best().loss, rel=1e-9)


def test_estimators_are_apart_by_their_bases():
    models = {"JDL": JDL(), "JPDL": JPDL(), "CME": CME(constrained=True)}
    models |= {"looser": JDL(tolerance=1e-2), "KLR": KernelLogisticRegression(regularization=1.0)}
    parts = [list(part) for part in group_by_basis(models)]
    assert parts == [["JDL", "CME", "looser", "KLR"], ["JPDL"]]


def test_costs_say_seconds_ranks_and_memory(rows):
    found = Bases(*rows).fit(JDL(1.0, 0.8, 1e-3))
    costs = {name: tuple(said) for name, *said in _low_rank.costs(found, 0.25)}
    assert costs["seconds_evaluate"] == (0.25, "s")
    for name in ("factorise", "summarise", "solve"):
        assert costs[f"seconds_{name}"] == (getattr(found, name), "s")
    assert costs["rank_x"] == (float(found.model.rank_x_), "functions")
    assert costs["peak_memory"][0] > 1
    assert 0 < costs["trace_error_x"][0] <= 1e-3
    assert costs["solver_residual"] == (0.0, "", "closed form")
    assert _low_rank.cell("solver_residual", *costs["solver_residual"])["detail"] == "closed form"
    capped = KernelLogisticRegression(1.0, 1.0, max_rank=5)
    classifier = Bases(*rows).fit_classifier(capped, rows[1] > 0)
    costs = {name: value for name, value, *_ in _low_rank.costs(classifier, 0.1)}
    assert not {"rank_y", "trace_error_y"} & set(costs)
    K = np.exp(-0.5 * squareform(pdist(rows[0])) ** 2)
    P = classifier.model.basis_.factor.pivots
    left = np.trace(K - K[:, P] @ np.linalg.solve(K[np.ix_(P, P)], K[P]))
    assert costs["trace_error_x"] == pytest.approx(left / len(K))


def test_what_a_model_promises_is_looked_at(rows):
    X, Y = rows
    free, tight = (JDL(0.3, 0.3, 1e-8, constrained=c).fit(X, Y) for c in (False, True))
    ((name, share, _),) = _low_rank.structure(free, X[::-1], Y)
    grid = 1 + free.basis_y_.features(Y) @ free.coef_ @ free.basis_x_.features(X[::-1]).T
    assert name == "density_violation_rate"
    assert share == np.mean(np.diag(grid) < 0) > 0
    assert _low_rank.structure(tight, X[::-1], Y)[0][1] == 0
    # Where rows of y are few and their bandwidth wide, a column of weights has one sign.
    assert _low_rank.structure(CME(1.0, 0.3, 1e-3).fit(X, Y), X, Y) == [
        ("tightening_infeasible", 1, "")
    ]
    wide = CME(4.0, 40.0, 1e-3, tolerance=0.5).fit(X, Y)
    assert _low_rank.structure(wide, X, Y) == [("tightening_infeasible", 0, "")]
    assert _low_rank.structure(CME(constrained=True).fit(X, Y), X, Y) == []


def test_too_few_rows_are_an_error():
    with pytest.raises(ValueError, match="5 rows"):
        _low_rank.training_rows(4)
