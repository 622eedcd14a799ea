"""
The tail of a portfolio
=======================

How likely is a bad day tomorrow? The expected return is almost the same every day, but the spread
is not: after a month of large moves, of either sign, the next move is large as well.
"""

# %%
# The data
# --------
# Daily returns of five portfolios of small American firms (Kenneth R. French's data library, free
# for research), less the risk-free return, in percent, and y their mean on the next trading day. x
# has two columns: today's mean, and the root mean square of the last twenty days. The years from
# 1927 to 1999 train, those from 2000 on test.

import matplotlib.pyplot as plt
import numpy as np

from kcde import JDL
from kcde.data import fetch, french

NAMES = "fama-french-25-daily", "fama-french-factors-daily"
DAYS = 20
with fetch.bundled_files(*NAMES) as raw:
    data = french.excess_returns(*NAMES, raw)
returns = data.returns[:, :5].mean(axis=1)
recent = np.lib.stride_tricks.sliding_window_view(returns[:-1] ** 2, DAYS)
X = np.column_stack([returns[DAYS - 1 : -1], np.log(np.sqrt(recent.mean(axis=1)))])
Y, dates = returns[DAYS:, None], data.dates[DAYS:]
known = np.isfinite(X).all(axis=1) & np.isfinite(Y[:, 0])
X, Y, dates = X[known], Y[known], dates[known]
train = dates < 20000000
print(f"{train.sum()} days train, {(~train).sum()} test")

# %%
# The distribution of tomorrow
# ----------------------------
# ``JDL`` gives expectations given x from many rows at once. Its kernels keep their default widths,
# the median distance of the training rows over √2, but for y, whose tail is finer than that: one
# standard deviation.
# ``clipped`` keeps probabilities between 0 and 1.

model = JDL(bandwidth_y=1.0, regularization=1e-5, tolerance=1e-2, constrained="clipped").fit(
    X[train], Y[train]
)

thresholds = (-1.0, -2.0, -3.0)
probability = {
    each: model.conditional_probability(lambda y, at=each: y[:, 0] < at, X[~train])
    for each in thresholds
}

# %%
# Predicted and seen
# ------------------
# Test days in ten groups by the predicted probability: how often the loss came true. Bars are two
# standard errors. On the diagonal, the probabilities are right.

colours = dict(zip(thresholds, ("#56B4E9", "#0072B2", "#D55E00"), strict=True))
fig, ax = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
for threshold, predicted in probability.items():
    groups = np.array_split(np.argsort(predicted), 10)
    said = [predicted[group].mean() for group in groups]
    seen = np.array([(Y[~train][group, 0] < threshold).mean() for group in groups])
    error = 2.0 * np.sqrt(seen * (1.0 - seen) / len(groups[0]))
    ax.errorbar(
        said,
        seen,
        error,
        fmt="o",
        markersize=4,
        color=colours[threshold],
        label=f"below {threshold:.0f}%",
    )
ax.plot([0, 0.4], [0, 0.4], "--", color="black", linewidth=1)
ax.set(xlabel="predicted probability", ylabel="share of test days")
ax.legend(frameon=False, title="tomorrow's return")
plt.show()

# %%
# The crisis of 2008
# ------------------
# The probability of a loss of more than 3% on the next day, and the days on which it came.

shown = (dates[~train] > 20070000) & (dates[~train] < 20100000)
days = np.array([f"{d // 10000}-{d // 100 % 100:02}-{d % 100:02}" for d in dates[~train][shown]])
days = days.astype("datetime64[D]")
fig, ax = plt.subplots(figsize=(8.0, 3.2), layout="constrained")
chance = 100.0 * probability[-3.0][shown]
ax.fill_between(days, chance, color="#D55E00", alpha=0.35, linewidth=0)
ax.plot(days, chance, color="#D55E00", linewidth=1)
lost = Y[~train][shown, 0] < -3.0
ax.plot(
    days[lost],
    np.full(lost.sum(), -1.0),
    "|",
    color="black",
    markersize=8,
    label="days with such a loss",
)
ax.legend(frameon=False, loc="upper left")
ax.set(ylabel="probability / %", xlim=(days[0], days[-1]))
plt.show()

# %%
# Is it better than always saying the same?
# -----------------------------------------
# The Brier score is the mean squared error of a probability. Beside it that of the share of the
# training days, whatever x.

for threshold, predicted in probability.items():
    came = Y[~train][:, 0] < threshold
    constant = (Y[train][:, 0] < threshold).mean()
    brier = np.mean((predicted - came) ** 2)
    print(
        f"below {threshold:.0f}%: Brier score {brier:.4f}, "
        f"without x {np.mean((constant - came) ** 2):.4f}"
    )
