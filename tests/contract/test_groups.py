"""Choices by folds that keep the rows of a group together."""

import numpy as np
import pandas as pd
import pytest

import kcde
from kcde.estimators import LSCDE, LikelihoodKCEF, Standardised, estimator_class, estimator_names
from kcde.selection import grouped_kfold

GROUPED = [name for name in estimator_names() if estimator_class(name).tags.grouped]
PEOPLE, VISITS = 12, 5
# Every size of NADE would train for minutes; trained for so few epochs, it fits no person.
FEWER = {
    "NADE": {"hidden_units": 2, "epochs": 4},
    "LikelihoodKCEF": {"folds": 3, "regularization": 1e-3, "bandwidth_y": 0.5},
}
MODELS = {name: estimator_class(name)(**FEWER.get(name, {})) for name in GROUPED}
MODELS["Standardised"] = Standardised(LSCDE())
WITHOUT = ["GaussianProcess", "ConditionalMAF", "LinearGaussian", "QuantileForest"]


def visits():
    """y is of the person, not of x: only the noise of x tells the visits of one person apart."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(PEOPLE), VISITS)
    X = rng.standard_normal((PEOPLE, 2))[person] + 0.05 * rng.standard_normal((len(person), 2))
    Y = rng.standard_normal((PEOPLE, 1))[person] + 0.05 * rng.standard_normal((len(person), 1))
    return X, Y, person


@pytest.mark.parametrize("rows", [np.arange(60), np.arange(0, 60, 3)])
def test_a_fold_holds_out_whole_groups(rows):
    model, (*_, person) = LikelihoodKCEF(), visits()
    model._labels = person
    folds = model._kfold(rows, 5, np.random.default_rng(1))
    assert len(folds) == 5
    assert sorted(np.concatenate(folds)) == list(range(len(rows)))
    held = [len(set(person[rows[fold]])) for fold in folds]
    assert sum(held) == PEOPLE
    assert max(held) - min(held) <= 1
    few = person[rows] < 3
    assert len(model._kfold(rows[few], 5, np.random.default_rng(1))) == 3
    with pytest.raises(ValueError, match="groups"):
        grouped_kfold(person % 4, 5, np.random.default_rng(1))


def test_of_many_rows_a_quarter_is_held_out_once_and_of_whole_groups():
    model, rows = LikelihoodKCEF(), np.arange(5287)
    (held,) = model._folds(5287, rows, np.random.default_rng(1))
    assert len(held) == 1321
    model._labels = rows // 100
    (held,) = model._folds(5287, rows, np.random.default_rng(1))
    people = np.unique(model._labels[held])
    assert len(people) == 14
    assert len(held) == np.isin(model._labels, people).sum()


def test_who_chooses_by_no_folds_refuses_groups():
    X, Y, person = visits()
    for model in (estimator_class(name)() for name in WITHOUT):
        for each in (model, Standardised(model)):
            with pytest.raises(ValueError, match="folds"):
                each.fit(X, Y, groups=person)


def test_calibration_rows_are_of_people_who_were_not_fitted():
    X, Y, person = visits()
    seen = []

    class Seen(LSCDE):
        def fit(self, X, Y, groups=None):
            seen.append((X, groups))
            return super().fit(X, Y, groups)

    model = kcde.Conformal(Seen(), share=0.25).fit(X, Y, groups=person)
    ((fitted, groups),) = seen
    inside = {p for p in range(PEOPLE) if (X[person == p][:, None] == fitted).all(axis=2).any()}
    # A quarter of 60 rows: three people.
    assert len(model.scores_) == 15
    assert len(inside) == 9
    assert len(fitted) == len(groups) == 45
    two = np.arange(60) >= 1
    with pytest.raises(ValueError, match="share"):
        kcde.Conformal(LSCDE(), share=0.9).fit(X, Y, groups=two)


@pytest.mark.parametrize("name", MODELS)
def test_groups_of_one_row_are_no_groups_and_larger_ones_are_not(name):
    X, Y, person = visits()
    model = MODELS[name]
    X = X[:, :0] if model.tags.unconditional else X
    named = pd.Series(person).map("person {:02d}".format)
    plain, single, grouped = (
        model.fit(X, Y, groups=groups).log_density(X, Y)
        for groups in (None, np.arange(len(Y)), named)
    )
    np.testing.assert_array_equal(single, plain)
    assert not np.array_equal(grouped, plain)


@pytest.mark.parametrize(
    "groups", [np.arange(10), np.zeros((60, 1)), [None] + ["a"] * 59, np.zeros(60)]
)
def test_groups_that_cannot_be_used_are_refused(groups):
    X, Y, person = visits()
    with pytest.raises(ValueError, match=r"one in 30 rows.* 3 where Stacked"):
        kcde.Stacked([LSCDE(), LSCDE(0.5)]).fit(X, Y, groups=person % 2)
    with pytest.raises(ValueError, match="at least 5 of them; got 4: give more"):
        kcde.Quantiles(kcde.JDL(regularization=None)).fit(X, Y, groups=person % 4)
    model = LSCDE()
    with pytest.raises(ValueError, match="groups"):
        model.fit(X, Y, groups=groups)
    assert "_labels" not in vars(model)
