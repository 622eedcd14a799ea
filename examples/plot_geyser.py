"""
Old Faithful: how long will it last?
====================================

The geyser's eruptions are short or long. After a short wait the eruption is long, after the longest
waits it is short, and in between it may be either. What to tell visitors who have waited is a
distribution, not a number.
"""

# %%
# The data
# --------
# 299 eruptions in the order in which they happened. The first two hundred train and the others
# test, so that nothing is learnt from the future.

import matplotlib.pyplot as plt
import numpy as np

from kcde import LikelihoodKCEF, LinearGaussian
from kcde.data import fetch, loaders

with fetch.bundled_files("geyser") as raw:
    geyser = loaders.load("geyser", raw)
past, future = slice(0, 200), slice(200, None)
X, Y = geyser.X[past], geyser.Y[past]
X_test, Y_test = geyser.X[future], geyser.Y[future]
print(geyser.x_columns, geyser.y_columns, X.shape, X_test.shape)

# %%
# The density
# -----------
# Width of the kernels and strength of the penalty are chosen on the two hundred rows.

model = LikelihoodKCEF().fit(X, Y)
print("width in x, minutes:", np.round(model.bandwidth_x_, 1))
print("width in y, minutes:", np.round(model.bandwidth_y_, 2))

# %%
# A map of it
# -----------
# Dark is likely. The line is the mean, which after 80 minutes lies where eruptions are rare.

waits, minutes = np.linspace(42.0, 110.0, 137)[:, None], np.linspace(0.5, 6.0, 221)
density = np.exp(model.log_density_at(minutes[:, None])(waits))
fig, ax = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
mesh = ax.pcolormesh(
    waits[:, 0], minutes, density.T, cmap="Blues", vmin=0.0, vmax=1.5, shading="nearest"
)
ax.plot(X, Y, ".", color="black", markersize=3)
mean = model.mean(waits)[:, 0]
ax.plot(waits, mean, color="#D55E00")
ax.annotate("mean", (104.0, mean[124] + 0.15), color="#D55E00", ha="center")
ax.set(xlabel="wait before the eruption / min", ylabel="length of the eruption / min")
fig.colorbar(mesh, ax=ax, label="density / (1/min)", extend="max")
plt.show()

# %%
# A question and its answer
# -------------------------
# Will the eruption last longer than three minutes? Any expectation is an integral of the density:
# here of the indicator of {y > 3}.

asked = np.array([[50.0], [70.0], [80.0], [90.0]])
long = 1.0 - model.cdf(asked, np.full((len(asked), 1), 3.0))
for wait, chance in zip(asked[:, 0], long, strict=True):
    print(f"after {wait:.0f} minutes: {chance:.0%}")

# %%
# Is it calibrated?
# -----------------
# If a density is right, F(y|x) is uniform over the eruptions that were not trained on. A linear
# regression with normal errors stands beside it: its distribution has one hump, where eruptions
# have two.

plain = LinearGaussian().fit(X, Y)
fig, axes = plt.subplots(1, 2, figsize=(8.0, 3.2), sharey=True, layout="constrained")
bins = np.linspace(0.0, 1.0, 11)
for ax, (name, each) in zip(
    axes, {"LinearGaussian": plain, "LikelihoodKCEF": model}.items(), strict=True
):
    ax.hist(each.cdf(X_test, Y_test), bins, density=True, color="#56B4E9", edgecolor="white")
    ax.axhline(1.0, color="black", linestyle="--", linewidth=1)
    score = each.score(X_test, Y_test)
    ax.set(title=f"{name}: {score:.2f} nats", xlabel="F(y|x) of the test eruptions", xlim=(0, 1))
axes[0].set_ylabel("density of F")
plt.show()
