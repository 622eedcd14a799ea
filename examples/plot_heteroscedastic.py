"""
Noise that depends on x
=======================

The mean of y follows a sine, and the noise around it is five times as wide at the right as at the
left. A Gaussian process has one width of noise for all x. A conditional density learns the width
with the rest.
"""

# %%
# The data
# --------
# Four hundred pairs to train, a thousand to test.

import matplotlib.pyplot as plt
import numpy as np

from kcde import GaussianProcess, LikelihoodKCEF


def mean_and_width(x):
    return np.sin(x), 0.1 + 0.4 / (1.0 + np.exp(-2.0 * x))


def draw(n, rng):
    x = rng.uniform(-3.0, 3.0, n)
    mean, width = mean_and_width(x)
    return x[:, None], (mean + width * rng.standard_normal(n))[:, None]


rng = np.random.default_rng(0)
X, Y = draw(400, rng)
X_test, Y_test = draw(1000, rng)

# %%
# Two densities
# -------------
# Both choose everything on the training rows: the Gaussian process by marginal likelihood,
# ``LikelihoodKCEF`` by the likelihood of held-out rows.

models = {
    "Gaussian process": GaussianProcess().fit(X, Y),
    "LikelihoodKCEF": LikelihoodKCEF().fit(X, Y),
}

# %%
# Their 90% intervals
# -------------------
# Dashed: the true interval. The Gaussian process is too wide at the left and too narrow at the
# right, although it holds about nine of ten points overall.

grid = np.linspace(-3.0, 3.0, 121)
mean, width = mean_and_width(grid)
fig, axes = plt.subplots(1, 2, figsize=(8.0, 3.6), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    lower, upper = model.interval(grid[:, None], 0.9).T
    ax.fill_between(grid, lower, upper, color="#56B4E9", alpha=0.4, linewidth=0)
    ax.plot(X, Y, ".", color="0.35", markersize=3)
    for sign in (-1.0, 1.0):
        ax.plot(grid, mean + sign * 1.645 * width, "--", color="black", linewidth=1)
    ax.set(title=name, xlabel="x")
axes[0].set_ylabel("y")
axes[0].annotate("90% interval", (-1.7, -0.2), color="#0072B2", ha="center")
axes[0].annotate("true 90% interval", (0.5, 1.6), ha="right")
plt.show()

# %%
# How good they are
# -----------------
# The mean log density of the test rows, in nats, says which density expected them more. Coverage
# on either half of x shows what the overall coverage hides.

left = X_test[:, 0] < 0.0
for name, model in models.items():
    lower, upper = model.interval(X_test, 0.9).T
    inside = (lower <= Y_test[:, 0]) & (Y_test[:, 0] <= upper)
    print(
        f"{name:16}  log density {model.score(X_test, Y_test):6.3f}  "
        f"coverage {inside.mean():.0%}: {inside[left].mean():.0%} left, "
        f"{inside[~left].mean():.0%} right"
    )
