"""Daily excess returns of portfolios, and what is predicted from them (jdl, section 5.2).

x is the excess returns of the first d portfolios on a day, y the sum of those on the next trading
day, everything in percent as in the files. Excess returns are returns less the risk-free return of
the day, which stands in a file of its own. "First" is in the order of the file's columns.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.data.loaders import Dataset, Split, load
from kcde.seeding import rng_of

YEARS = (1927, 2022)  # first and last, as in the paper
MISSING = (-99.99, -999.0)  # codes of missing returns in these files


@dataclass(frozen=True)
class ExcessReturns:
    """Excess returns of consecutive trading days.

    `dates` (t,) are YYYYMMDD, ascending; `returns` (t, p) in percent, NaN where one is missing;
    `sha256` has the checksums of the files of returns and of risk-free returns.
    """

    dates: np.ndarray
    returns: np.ndarray
    sha256: tuple[str, str]

    def pairs(self, dim: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the inputs of each day and the output of the next.

        A pair of days of which either misses a return is left out, so that x is always that of the
        trading day before y. x is (m, d), for the first d portfolios, and y (m, 1), the sum of
        their excess returns a day later.
        """
        if not 1 <= dim <= self.returns.shape[1]:
            raise ValueError(f"there are {self.returns.shape[1]} portfolios; got d = {dim}")
        chosen = self.returns[:, :dim]
        known = ~np.isnan(self.returns).any(axis=1)
        both = known[:-1] & known[1:]
        return chosen[:-1][both], chosen[1:][both].sum(axis=1, keepdims=True)


def excess_returns(
    portfolios: str, risk_free: str, data_dir: str | Path, catalogue: Path | None = None
) -> ExcessReturns:
    """Read the portfolios of `YEARS` and subtract the risk-free return of each day.

    Parameters
    ----------
    portfolios
        A data set of the catalogue whose x is the date and whose y are returns.
    risk_free
        A data set whose x is the date and whose y is the risk-free return.
    data_dir, catalogue
        Where the raw data are, and a catalogue other than the project's own.

    Raises
    ------
    ValueError
        If x is no date, dates are not ascending, a day has no risk-free return, or no day lies in
        the years.
    """
    data, free = (load(name, data_dir, catalogue) for name in (portfolios, risk_free))
    returns, rates = map(_by_day, (data, free))
    first, last = YEARS
    returns = returns[(returns.index // 10_000 >= first) & (returns.index // 10_000 <= last)]
    if returns.empty:
        raise ValueError(f"data set {data.name} has no day in {first} to {last}")
    if len(without := returns.index.difference(rates.index)):
        lacking = f"{len(without)} days of {data.name} (first: {without[0]})"
        raise ValueError(f"data set {free.name} has no risk-free return of {lacking}")
    excess = np.ascontiguousarray(returns.sub(rates.loc[returns.index, 0], axis=0))
    return ExcessReturns(returns.index.to_numpy(), excess, (data.sha256, free.sha256))


def subsample(pairs: tuple, n: int, number: int, test_rows: int) -> Split:
    """Return the number-th subsample of the pairs x (m, d) and y (m, 1) of days.

    Days are drawn without replacement: n to train and validate, and others to test.

    The days depend on (n, number) alone, not on the number of portfolios.
    """
    X, Y = pairs
    if n + test_rows > len(Y):
        raise ValueError(f"{len(Y)} pairs of days; {n} to train and {test_rows} to test are more")
    order = rng_of("portfolio-subsample", n, number).permutation(len(Y))[: n + test_rows]
    train, test = order[:n], order[n:]
    return Split(X[train], Y[train], X[test], Y[test])


def _by_day(data: Dataset) -> pd.DataFrame:
    """Return y with the dates as index, NaN where the file has a code for a missing value."""
    if data.X.shape[1] != 1 or np.any(np.diff(data.X[:, 0]) <= 0):
        raise ValueError(f"{data.name} must have the date as its only x, in ascending order")
    values = pd.DataFrame(data.Y, data.X[:, 0].astype(np.int64))
    return values.mask(values.isin(MISSING))
