"""Splits of a table: nothing leaks from the test rows, and what misleads is said."""

from datetime import date

import numpy as np
import pandas as pd
import pytest

from kcde.comparison import running
from kcde.table_model import TableModel
from kcde.tabular import check


def test_random_splits_are_of_all_rows_repeat_and_keep_groups_together():
    labels = np.arange(100) // 2
    made, again = (running.random_splits(labels, 4, seed=1) for _ in range(2))
    for split, other in zip(made, again, strict=True):
        assert sorted([*split.train, *split.test]) == list(range(100))
        assert len(split.test) == 20
        assert not set(labels[split.train]) & set(labels[split.test])
        np.testing.assert_array_equal(split.test, other.test)
    assert len({tuple(split.test) for split in made}) == 4
    with pytest.raises(ValueError, match="groups"):
        running.random_splits(np.repeat(np.arange(3), 5), 3, 0, "groups")


def test_the_future_is_never_trained_on():
    times = np.random.default_rng(0).integers(0, 25, 100).astype(float)
    for split in running.forward_splits(times, 5):
        np.testing.assert_array_equal(split.train, np.flatnonzero(times < times[split.test].min()))
    sizes = [len(split.train) for split in running.forward_splits(times, 5)]
    assert sizes == sorted(sizes, reverse=True)
    with pytest.raises(ValueError, match="times"):
        running.forward_splits(np.arange(100.0) % 2, 5)


def said(frame):
    return " ".join(running.misleading(check(frame, "y")))


def noise():
    return pd.DataFrame(np.random.default_rng(0).normal(size=(200, 2)), columns=["x", "y"])


def test_what_random_splits_would_mislead_about_is_said():
    assert said(noise().assign(humid=np.arange(200) // 4 / 10.0)) == ""
    assert "--time-column 'day'" in said(noise().assign(day=pd.date_range("2024", periods=200)))
    assert "--groups 'customer_id'" in said(noise().assign(customer_id=np.arange(200) // 4))
    person = np.arange(200) // 4
    shifts = np.random.default_rng(1).normal(size=50)[person]
    alike = noise().assign(y=lambda f: f["y"] + 2.0 * shifts)
    assert "--groups 'who'" in said(alike.assign(who=person).sample(frac=1.0, random_state=0))
    weak = noise().assign(y=lambda f: f["y"] + 0.5 * np.repeat(shifts[::8], 8))
    odd = alike.assign(who=np.where(person == 7, None, person.astype(str)), lists=[[1]] * 200)
    odd["mixed"] = [date(2024, 1, 1), 3, 5, None] * 50
    assert "--groups 'who'" in running.misleading(check(odd, "y", ["x"]))[0]
    assert "--groups 'who'" in said(weak.assign(who=person // 2.0))
    # y grows with the age: its values are no labels.
    grows = noise().assign(age=person, y=lambda f: f["y"] + 0.1 * person)
    for each in (grows, grows.astype(float).sample(frac=1.0, random_state=0)):
        assert "--groups" not in said(each)
    assert "Neighbouring rows are alike" in said(noise().assign(y=np.cumsum(noise()["y"])))
    assert said(noise().sort_values("y")) == ""
    assert "100% of the rows have the x" in said(noise().assign(x=np.arange(200) // 2))


def test_a_split_that_trains_on_one_value_of_y_is_refused(tmp_path):
    frame = noise().assign(y=lambda f: np.where(f.index < 150, 0.0, f["y"]), when=np.arange(200))
    with pytest.raises(ValueError, match="'y' is constant"):
        running.make(check(frame, "y", time_column="when"), tmp_path, count=5, time_column="when")


def test_intervals_of_later_rows_calibrate_on_the_latest():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=400), "when": rng.permutation(400)})
    # The spread grows threefold in the last quarter.
    frame["y"] = np.where(frame["when"] < 300, 1.0, 3.0) * rng.normal(size=400)
    later = pd.DataFrame({"x": rng.normal(size=500), "y": 3.0 * rng.normal(size=500)})

    def held(**options):
        model = TableModel("LinearGaussian", "y", ["x"], conformal=0.25, **options).fit(frame)
        low, high = model.interval(later[["x"]], 0.9).T
        return np.mean((low <= later["y"]) & (later["y"] <= high))

    assert held(time_column="when") > 0.85 > 0.75 > held()
