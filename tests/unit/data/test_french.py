import numpy as np
import pytest

from kcde.data import french, loaders
from kcde.data.french import excess_returns, subsample
from kcde.data.smoke import write_smoke_data


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    table = write_smoke_data(folder)
    return folder, table


def read(made_up, **more):
    folder, table = made_up
    return excess_returns("smoke-portfolios", "smoke-risk-free", folder, table, **more)


def with_files(monkeypatch, **tables):
    """Have `load` return made-up data sets: name to (dates, values)."""

    def load(name, data_dir, catalogue):
        dates, values = tables[name]
        X, Y = np.asarray(dates, float)[:, None], np.asarray(values, float)
        return loaders.Dataset(name, X, Y, ("date",), ("r",) * Y.shape[1], f"sha-{name}")

    monkeypatch.setattr(french, "load", load)


DAYS = [19261231, 19270103, 19270104, 19270105, 20221230, 20230103]
RETURNS = [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10], [11, 12]]
RATES = [[0.5], [0.1], [0.2], [0.3], [0.4], [0.5]]


def test_excess_over_the_rate_of_the_day_within_the_years(monkeypatch):
    more_days = [19260101, *DAYS]
    with_files(monkeypatch, p=(DAYS, RETURNS), f=(more_days, [[9.0], *RATES]))
    found = excess_returns("p", "f", "nowhere")
    assert found.dates.tolist() == DAYS[1:5]
    np.testing.assert_allclose(found.returns[:, 0], [2.9, 4.8, 6.7, 8.6])
    np.testing.assert_allclose(found.returns[:, 1], [3.9, 5.8, 7.7, 9.6])
    assert (found.missing, found.sha256) == (0, ("sha-p", "sha-f"))
    x, y = found.pairs(1)
    np.testing.assert_allclose(x[:, 0], [2.9, 4.8, 6.7])
    np.testing.assert_allclose(y[:, 0], [4.8, 6.7, 8.6])
    x, y = found.pairs(2)
    np.testing.assert_allclose(x[1], [4.8, 5.8])
    np.testing.assert_allclose(y[:, 0], [10.6, 14.4, 18.2])


@pytest.mark.parametrize("code", french.MISSING)
def test_a_day_with_a_missing_return_is_neither_x_nor_y(monkeypatch, code):
    returns = [[1, 2], [3, 4], [5, code], [7, 8], [9, 10], [11, 12]]
    with_files(monkeypatch, p=(DAYS, returns), f=(DAYS, RATES))
    found = excess_returns("p", "f", "nowhere", years=(1926, 2023))
    assert found.missing == 1
    x, y = found.pairs(1)
    # Day 2 misses the second return: all days keep the same pairs, whatever the dimension.
    np.testing.assert_allclose(x[:, 0], [0.5, 6.7, 8.6])
    np.testing.assert_allclose(y[:, 0], [2.9, 8.6, 10.5])
    with_files(monkeypatch, p=(DAYS, RETURNS), f=(DAYS, [*RATES[:3], [code], *RATES[4:]]))
    assert excess_returns("p", "f", "nowhere").missing == 1


def test_what_does_not_fit_together_is_refused(monkeypatch):
    with_files(monkeypatch, p=(DAYS, RETURNS), f=(DAYS[:3], RATES[:3]))
    with pytest.raises(ValueError, match=r"f has no .* 2 days of p \(first: 19270105\)"):
        excess_returns("p", "f", "nowhere")
    with_files(monkeypatch, p=(DAYS, RETURNS), f=(DAYS, RATES))
    with pytest.raises(ValueError, match="p has no day in 1800 to 1801"):
        excess_returns("p", "f", "nowhere", years=(1800, 1801))
    with pytest.raises(ValueError, match="there are 2 portfolios; got d = 3"):
        excess_returns("p", "f", "nowhere").pairs(3)
    with_files(monkeypatch, p=(DAYS[::-1], RETURNS), f=(DAYS, RATES))
    with pytest.raises(ValueError, match="p must have the date as its only x"):
        excess_returns("p", "f", "nowhere")


def test_subsamples_are_disjoint_and_the_same_days_for_every_dimension():
    t = np.arange(300.0)
    one = subsample((t[:, None], -t[:, None]), 100, 4, 50)
    more = subsample((np.stack([t, t], axis=1), -t[:, None]), 100, 4, 50)
    days = np.concatenate([one.X, one.X_test])[:, 0]
    assert len(set(days)) == 150
    np.testing.assert_array_equal(one.X[:, 0], more.X[:, 1])
    np.testing.assert_array_equal(one.Y, -one.X)
    np.testing.assert_array_equal(one.Y_test, -one.X_test)
    other = subsample((t[:, None], -t[:, None]), 100, 5, 50)
    assert not np.array_equal(one.X, other.X)
    with pytest.raises(ValueError, match="300 pairs of days; 260 to train and 50 to test"):
        subsample((t[:, None], t[:, None]), 260, 0, 50)


def test_made_up_files_go_through_the_same_readers(made_up):
    found = read(made_up)
    assert found.returns.shape == (400, 3)
    assert found.missing == 1
    raw = loaders.load("smoke-portfolios", *made_up)
    free = loaders.load("smoke-risk-free", *made_up)
    assert free.x_columns == ("date",)
    np.testing.assert_array_equal(raw.X, free.X)
    np.testing.assert_allclose(found.returns[0], raw.Y[0] - free.Y[0, 0])
    # Around the missing one two pairs of the 399 are lost.
    assert len(found.pairs(3)[0]) == 397


@pytest.mark.data
def test_the_published_days(raw_data):
    found = excess_returns("fama-french", "fama-french-factors-daily", raw_data)
    assert found.returns.shape == (25249, 25)
    assert found.missing == 0
    # Black Monday: every portfolio lost; the risk-free rate of the day was 0.027.
    (black,) = np.flatnonzero(found.dates == 19871019)
    assert (found.returns[black] < -8).all()
    x, y = found.pairs(25)
    assert y[black - 1, 0] == pytest.approx(found.returns[black].sum())
    np.testing.assert_array_equal(x[black], found.returns[black])
