"""
Terrain from scattered heights
==============================

Heights of Mount St Helens at a few hundred random places, and a density of the height everywhere
else: a map, and beside it how far to trust each place of the map.
"""

# %%
# The data
# --------
# A grid of 120 × 117 heights in metres, of which 600 random ones train and the others test.
# Coordinates are as in the file.

import matplotlib.pyplot as plt
import numpy as np

from kcde import GaussianProcess
from kcde.data import fetch, loaders

NAME = "rough-terrain-mt-st-helens"
with fetch.bundled_files(NAME) as raw:
    terrain = loaders.load(NAME, raw)
order = np.random.default_rng(0).permutation(len(terrain.X))
train, test = order[:600], order[600:]
X, Y = terrain.X[train], terrain.Y[train]

# %%
# The density
# -----------
# A Gaussian process with a kernel whose functions have a kink here and there, as mountains do.
# Lengths, height and noise have the largest marginal likelihood of the 600 rows.

model = GaussianProcess(kernel="matern").fit(X, Y)
print("lengths:", np.round(model.bandwidth_x_[0], 0), "noise / m:", np.round(model.noise_std_, 1))

# %%
# Heights, mean and interval
# --------------------------
# The interval is narrow around the training places (white dots) and wide between them and at the
# rim.

mean = model.mean(terrain.X)[:, 0]
lower, upper = model.interval(terrain.X, 0.9).T
columns = [np.unique(terrain.X[:, k]) for k in (0, 1)]


def on_grid(values):
    rows, places = (np.searchsorted(columns[k], terrain.X[:, k]) for k in (1, 0))
    grid = np.full((len(columns[1]), len(columns[0])), np.nan)
    grid[rows, places] = values
    return grid


fig, axes = plt.subplots(1, 3, figsize=(10.0, 3.6), sharey=True, layout="constrained")
heights = {"cmap": "cividis", "vmin": terrain.Y.min(), "vmax": terrain.Y.max()}
axes[0].pcolormesh(*columns, on_grid(terrain.Y[:, 0]), **heights)
mesh = axes[1].pcolormesh(*columns, on_grid(mean), **heights)
width = axes[2].pcolormesh(*columns, on_grid(upper - lower), cmap="magma")
axes[2].plot(*X.T, ".", color="white", markersize=1.5)
for ax, title in zip(
    axes, ("measured", "predicted mean", "width of the 90% interval"), strict=True
):
    ax.set(title=title, xlabel="first coordinate", aspect="equal")
axes[0].set_ylabel("second coordinate")
fig.colorbar(mesh, ax=axes[:2], label="height / m", shrink=0.8)
fig.colorbar(width, ax=axes[2], label="width / m", shrink=0.8)
plt.show()

# %%
# Does the interval hold what it promises?
# ----------------------------------------

truth = terrain.Y[test, 0]
inside = (lower[test] <= truth) & (truth <= upper[test])
print(f"mean absolute error: {np.abs(mean[test] - truth).mean():.1f} m")
print(f"share of test heights within the 90% interval: {inside.mean():.0%}")
