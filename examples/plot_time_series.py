"""
A time series: the next hour's traffic
======================================

Cars an hour on a motorway, predicted an hour ahead with quantiles. A series becomes pairs by taking
the past as x. The future tests: rows are never shuffled.
"""

# %%
# The data
# --------
# Westbound traffic on Interstate 94, Minneapolis (the UCI copy of the Minnesota Department of
# Transportation's counts). x is the last count, the change before it, the time of day on a circle
# and whether the hour is one of a weekend. 1500 random hours of 2017 train, all of 2018 tests.

import matplotlib.dates as mdates
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from kcde import Conformal, KernelCDE
from kcde.data import catalogue, fetch

NAME = "metro-traffic-substitute"
with fetch.bundled_files(NAME) as raw:
    table = pd.read_csv(raw / catalogue.read()[NAME].file, parse_dates=["date_time"])
# An hour is repeated where two kinds of weather are noted; hours that were not counted stay empty.
volume = table.drop_duplicates("date_time").set_index("date_time")["traffic_volume"].asfreq("h")
angle = 2.0 * np.pi * volume.index.hour / 24.0
rows = pd.DataFrame(
    {
        "last": volume.shift(1),
        "change": volume.shift(1) - volume.shift(2),
        "sine": np.sin(angle),
        "cosine": np.cos(angle),
        "weekend": (volume.index.day_of_week >= 5).astype(float),
        "volume": volume,
    },
    index=volume.index,
).dropna()
training = rows.loc["2017"].sample(1500, random_state=0).sort_index()
testing = rows.loc["2018"]


def pairs(rows):
    return rows.drop(columns="volume").to_numpy(), rows["volume"].to_numpy()


X, Y = pairs(training)
X_test, Y_test = pairs(testing)

# %%
# The density, calibrated
# -----------------------
# ``KernelCDE`` gives each column a kernel of a width of its own, as wide as the likelihood of rows
# left out wants it. ``Conformal`` keeps a quarter of the training rows apart and moves the ends of
# the intervals by what it sees there.

model = Conformal(KernelCDE(tuning_rows=500)).fit(X, Y)

# %%
# Three days
# ----------
# Intervals of 50% and 90%, and the counts. Nights are predicted closely, the rush hours less so.

days = testing.loc["2018-05-04":"2018-05-06"]
hours = days.index
inputs, counted = pairs(days)
fig, ax = plt.subplots(figsize=(8.0, 3.6), layout="constrained")
for level, colour in ((0.9, "#C6E2F5"), (0.5, "#56B4E9")):
    lower, upper = model.interval(inputs, level).T
    ax.fill_between(hours, lower, upper, color=colour, linewidth=0, label=f"{level:.0%} interval")
ax.plot(hours, counted, ".", color="black", markersize=4, label="counted")
ax.set(ylabel="cars an hour", xlim=(hours[0], hours[-1]), ylim=(0.0, None))
ax.xaxis.set_major_formatter(mdates.ConciseDateFormatter(ax.xaxis.get_major_locator()))
ax.legend(frameon=False, ncols=3, loc="lower right", bbox_to_anchor=(1.0, 1.0))
plt.show()

# %%
# A year later
# ------------
# Coverage is promised for rows that are exchangeable with those that calibrated. The next year's
# are not quite: this is what is left of the promise, by the time of day.

lower, upper = model.interval(X_test, 0.9).T
inside = pd.Series((lower <= Y_test) & (Y_test <= upper), index=testing.index)
print(f"overall: {inside.mean():.1%} of {len(inside)} hours within the 90% interval")
by_hour = inside.groupby(inside.index.hour).mean()
fig, ax = plt.subplots(figsize=(7.0, 3.0), layout="constrained")
ax.plot(by_hour.index, 100.0 * by_hour, "o-", color="#0072B2", markersize=4)
ax.axhline(90.0, color="black", linestyle="--", linewidth=1)
ax.annotate("promised", (23.2, 90.3), ha="right")
ax.set(xlabel="hour of the day", ylabel="hours within the interval / %", xlim=(-0.5, 23.5))
plt.show()
