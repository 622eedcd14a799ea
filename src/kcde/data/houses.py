"""A made-up table of houses to try `kcde compare` on, of the shape of the California housing data.

Those (Pace and Barry, Statistics and Probability Letters 1997) have 20640 districts, eight columns
and a price that is cut off above. No number here is of them.
"""

from typing import TYPE_CHECKING

import numpy as np

from kcde.seeding import rng_of

if TYPE_CHECKING:
    import pandas as pd

ROWS = 20_640

HIGHEST_PRICE = 5.0
"""What is dearer has this price, 100,000 dollars."""

_TOWNS = np.array([[34.0, -118.2], [37.7, -122.3], [32.8, -117.1], [36.8, -119.8], [38.6, -121.5]])
_SHARES = (0.4, 0.25, 0.12, 0.13, 0.1)
_SPREAD = 0.5  # degrees


def made_up(rows: int = ROWS) -> "pd.DataFrame":
    """Return the table: a price given eight columns, a row a district.

    Given the others the log of the price, before it is cut off, is normal: its mean rises with
    income and falls with the distance from the two largest of five towns, its standard deviation
    falls from 0.45 where incomes are low to 0.2.

    Parameters
    ----------
    rows
        Number of rows; the first of them are the same for every number.

    Returns
    -------
    pandas.DataFrame
        Columns `income` (10,000 dollars), `age` (years, whole), `rooms`, `bedrooms` and `people`
        (of a household), `population` (whole), `latitude`, `longitude`, and `price` (100,000
        dollars).
    """
    import pandas as pd

    def stream(name):
        return rng_of("houses", name)

    town = stream("town").choice(len(_TOWNS), size=rows, p=_SHARES)
    place = _TOWNS[town] + _SPREAD * stream("place").standard_normal((rows, 2))
    income = np.exp(1.25 + 0.45 * stream("income").standard_normal(rows))
    size = 4.2 + 0.3 * income + 0.6 * stream("rooms").standard_normal(rows)
    found = {
        "income": income,
        "age": np.minimum(np.floor(1.0 + stream("age").gamma(5.0, 6.0, rows)), 52.0),
        "rooms": np.maximum(size, 1.0),
        "bedrooms": 1.0 + 0.1 * stream("bedrooms").standard_normal(rows) ** 2,
        "population": np.ceil(np.exp(7.0 + 0.7 * stream("population").standard_normal(rows))),
        "people": np.exp(1.05 + 0.2 * stream("people").standard_normal(rows)),
        "latitude": place[:, 0],
        "longitude": place[:, 1],
    }
    digits = {"latitude": 2, "longitude": 2}
    found = {name: np.round(values, digits.get(name, 4)) for name, values in found.items()}
    mean, std = log_price(pd.DataFrame(found))
    price = np.exp(mean + std * stream("price").standard_normal(rows))
    found["price"] = np.round(np.minimum(price, HIGHEST_PRICE), 3)
    return pd.DataFrame(found)


def log_price(frame: "pd.DataFrame") -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of the log of the price before it is cut off, (n,) each.

    Parameters
    ----------
    frame
        With the columns `income`, `age`, `people`, `latitude` and `longitude` of `made_up`.
    """
    income = frame["income"].to_numpy()
    at = frame[["latitude", "longitude"]].to_numpy()
    near = sum(np.exp(-0.5 * np.sum((at - town) ** 2, axis=1)) for town in _TOWNS[:2])
    mean = -0.35 + 0.65 * np.log(income) + 0.5 * near + 0.003 * frame["age"].to_numpy()
    mean = mean - 0.3 * np.log(frame["people"].to_numpy() / 3.0)
    return mean, 0.2 + 0.25 * np.exp(-0.4 * income)
