"""Draw what each estimator predicts from one made-up table, for its page of the site.

    python tools/pictures.py [NAME ...]

y has one hump for x < 0, and two that part for x > 0. Every class has its defaults; networks train
for as long as these say, a minute in all. Written to docs/_static/estimators/.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

import kcde
from kcde import estimators

FOLDER = Path(__file__).parents[1] / "docs/_static/estimators"
GIVEN = {
    "Conformal": {"estimator": kcde.LinearGaussian()},
    "Defensive": {"estimator": kcde.KCEF()},
    "Quantiles": {"estimator": kcde.JDL()},
    "Stacked": {"estimators": [kcde.QuantileForest(), kcde.LSCDE(), kcde.LinearGaussian()]},
    "Standardised": {"estimator": kcde.LSCDE()},
}
LINES = {"color": "#d55e00", "linewidth": 1.5}


def table(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Return X of shape (n, 1) and y of shape (n,)."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-2.0, 2.0, n)
    side = rng.choice([-1.0, 1.0], n)
    return x[:, None], side * np.maximum(x, 0.0) + 0.3 * rng.normal(size=n)


def draw(name: str) -> None:
    """Fit a class and draw its density, or the lines that it predicts."""
    X, y = table()
    model, at = getattr(kcde, name)(**GIVEN.get(name, {})), np.linspace(-2.2, 2.2, 111)[:, None]
    unconditional, binary = model.tags.unconditional, model.tags.target == "binary"
    y = 1.0 * (y > 0.5) if binary else y
    model.fit(None if unconditional else X, y)
    figure, axes = plt.subplots(figsize=(3.4, 2.1), layout="constrained")
    axes.plot(X[:, 0], y, ".", color="0.35", markersize=2.0)
    if binary:
        axes.plot(at, model.predict_proba(at)[:, 1], **LINES)
    elif name in ("Quantiles", "Conformal"):
        ask = model.interval(at, 0.9) if name == "Conformal" else model.quantile(at, [0.05, 0.95])
        axes.plot(at, ask, **LINES)
    elif model.tags.density:
        z = np.linspace(-3.2, 3.2, 161)
        x = np.zeros((1, 0)) if unconditional else at
        density = np.exp(np.asarray(model.log_density_at(z[:, None])(x)))
        density = np.broadcast_to(density, (len(at), len(z)))
        axes.pcolormesh(at[:, 0], z, density.T, cmap="Blues", vmax=1.4, rasterized=True)
    else:
        axes.plot(at, model.predict(at), **LINES)
    axes.set(xlabel="x", ylabel="y", xlim=(-2.2, 2.2))
    figure.savefig(FOLDER / f"{name}.png", dpi=150)
    plt.close(figure)
    path = FOLDER / f"{name}.png"
    Image.open(path).convert("RGB").quantize(64).save(path, optimize=True)


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    wrappers = ("Conformal", "Quantiles", "Stacked", "Standardised")
    for each in sys.argv[1:] or [*estimators.estimator_names(), *wrappers]:
        draw(each)
        print(each, flush=True)
