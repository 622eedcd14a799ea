"""Synthetic hours of traffic in the format of the real table, for the smoke tour."""

from typing import TYPE_CHECKING

import numpy as np

from kcde.seeding import rng_of

if TYPE_CHECKING:
    import pandas as pd

DAYS = 84
HOURS_APART = 3
HOLIDAYS = ("2019-01-09", "2019-01-10", "2019-02-18", "2019-03-01")
"""The file names a holiday at midnight alone."""

LABELS = ("Clear", "Rain", "Mist")
MISSING, REPEATED = 0.1, 0.1
"""Shares of the hours that did not report, and of those that did with two weather labels."""


def hours() -> "pd.DataFrame":
    """Return volumes of every third hour, as a table with a row a weather label."""
    import pandas as pd

    rng = rng_of("smoke-data", "smoke-traffic")
    time = pd.date_range("2019-01-01", periods=DAYS * 24 // HOURS_APART, freq=f"{HOURS_APART}h")
    day = np.sin(np.pi * time.hour.to_numpy() / 24) ** 2
    level = (400 + 4000 * day) * np.where(time.day_of_week < 5, 1.0, 0.6)
    volume = level * np.exp(0.15 * rng.standard_normal(len(time)))
    rows = np.flatnonzero(rng.random(len(time)) > MISSING)
    again = rng.choice(rows, round(REPEATED * len(rows)), replace=False)
    holiday = np.where(time.isin(pd.DatetimeIndex(HOLIDAYS)), "Made-up Day", "None")
    twice = np.sort(np.concatenate([rows, again]))
    return pd.DataFrame(
        {
            "holiday": holiday[twice],
            "weather_main": rng.choice(LABELS, len(twice)),
            "date_time": time.strftime("%Y-%m-%d %H:%M:%S")[twice],
            "traffic_volume": volume[twice].round().astype(int),
        }
    )
