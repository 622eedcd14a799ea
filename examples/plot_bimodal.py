"""
Two answers to one question
===========================

Some questions have several answers: which way round the obstacle, which of two joints' angles
reaches a point. The mean of the answers is then no answer at all. The toy is Bishop's inverse
problem: y determines x almost, but x does not determine y.
"""

# %%
# The data
# --------
# x = y + 0.3 sin(2πy) + noise. For x between 0.3 and 0.7 three separate values of y are possible.
# y is uniform on [0, 1], so that p(y|x) is proportional to the density of the noise.

import matplotlib.pyplot as plt
import numpy as np

from kcde import NADE, GaussianProcess, LikelihoodKCEF

NOISE = 0.05


def centre(y):
    return y + 0.3 * np.sin(2.0 * np.pi * y)


def draw(n, rng):
    y = rng.uniform(0.0, 1.0, n)
    return (centre(y) + NOISE * rng.standard_normal(n))[:, None], y[:, None]


def true_density(x, y):
    inside = np.linspace(0.0, 1.0, 2001)
    mass = np.exp(-0.5 * ((x - centre(inside)) / NOISE) ** 2).mean()
    likely = np.exp(-0.5 * ((x - centre(y)) / NOISE) ** 2)
    return np.where((y >= 0.0) & (y <= 1.0), likely / mass, 0.0)


rng = np.random.default_rng(0)
X, Y = draw(600, rng)
X_test, Y_test = draw(1000, rng)

# %%
# Three densities
# ---------------
# The Gaussian process answers with one hump. ``LikelihoodKCEF`` is a smooth function of x and y in
# the exponent. NADE is a mixture of Gaussians made by a small neural network: its sizes are given
# here, to save its search.

models = {
    "Gaussian process": GaussianProcess().fit(X, Y),
    "LikelihoodKCEF": LikelihoodKCEF().fit(X, Y),
    "NADE": NADE(hidden_units=100, components=5).fit(X, Y),
}

# %%
# The densities at x = 0.5
# ------------------------
# Grey: the truth. The mean of y is 0.5 under all of them, one answer of three.

y = np.linspace(-0.2, 1.2, 281)
colours = {"Gaussian process": "#E69F00", "LikelihoodKCEF": "#0072B2", "NADE": "#CC79A7"}
fig, ax = plt.subplots(figsize=(7.0, 3.8), layout="constrained")
ax.fill_between(y, true_density(0.5, y), color="0.85", label="truth")
for name, model in models.items():
    density = np.exp(model.log_density_at(y[:, None])(np.array([[0.5]])))[0]
    ax.plot(y, density, color=colours[name], label=name)
ax.set(xlabel="y", ylabel="density of y at x = 0.5", xlim=(-0.2, 1.2), ylim=(0.0, None))
ax.legend(frameon=False, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
plt.show()

# %%
# Everywhere
# ----------
# Two of the densities over all x, as a map: dark is likely. Dots are training points.

x = np.linspace(0.0, 1.0, 101)[:, None]
shown = ("Gaussian process", "LikelihoodKCEF")
fig, axes = plt.subplots(1, 2, figsize=(8.0, 3.6), sharey=True, layout="constrained")
for ax, name in zip(axes, shown, strict=True):
    density = np.exp(models[name].log_density_at(y[:, None])(x))
    mesh = ax.pcolormesh(x[:, 0], y, density.T, cmap="Blues", vmin=0.0, vmax=6.0, shading="nearest")
    ax.plot(X, Y, ".", color="black", markersize=2)
    ax.set(title=name, xlabel="x", xlim=(0.0, 1.0))
axes[0].set_ylabel("y")
fig.colorbar(mesh, ax=axes, label="density of y given x", extend="max")
plt.show()

# %%
# How good they are
# -----------------
# Mean log density of the test rows in nats; the truth is the highest that any can have.

pairs = zip(X_test[:, 0], Y_test[:, 0], strict=True)
truth = np.mean([np.log(true_density(*pair)) for pair in pairs])
print(f"{'truth':16}  {truth:6.3f}")
for name, model in models.items():
    print(f"{name:16}  {model.score(X_test, Y_test):6.3f}")
