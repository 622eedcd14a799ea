"""dde figure 1: samples and learned functions on ring, grid and two moons, and claim D4."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from kcde.data import made_up
from kcde.data.names import PLANAR
from kcde.evidence import tolerances
from kcde.evidence.cells import splits
from kcde.evidence.deciding import Missing, decider
from kcde.evidence.verdicts import SIGNIFICANCE, too_many_failed
from kcde.metrics.names import MMD
from kcde.pages import scatter, scatter_panel, style
from kcde.pages.scatter import DATA
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact, Decision
from kcde.papers.dde import _planar
from kcde.seeding import rng_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


CHI_SQUARED = "modes_chi_squared"
SHARE = "mode_share"
"""Metric of the share of samples nearest to a mode; its name follows after a colon."""

COVERAGE, FRESH = "coverage", "coverage_of_a_fresh_draw"
"""Metrics of the shares that are near, of the samples and of as many fresh draws of the data; what
is near follows after a colon."""

_SUPPORT, _TRAINING = "samples near the support", "training points near a sample"
_NEAR = 3.0  # standard deviations of the noise

_LEAST = 0.5  # of its weight, or of the fresh draw's share, and seeds that tell it
_FEWEST = 3

_SURFACE = "surface"  # kind of the rows of f: its value at (x, y) stands in `y_high`
_SHOWN = 1000  # samples in a panel; all training points are shown
_STRIDE = 2  # every second of the 100 × 100 points of f is enough for a panel of two inches

_HEIGHT = 3.9  # inches
_LETTERS = "abcdefghijklmnop"
_MARGIN = 0.1  # around the data, as a fraction of their range: the frame of the surface


def measure(scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the scores with shares of the modes, their chi-squared statistic and the coverage.

    A sampler cannot know the weights w of the modes better than its n training points do, so that
    the counts of m samples have the covariance m(1 + m/n)(diag w - w wᵀ), not that of m draws:
    Pearson's statistic is divided by 1 + m/n. It is chi-squared with one degree of freedom less
    than there are modes where the sampler has the proportions of its training points.

    Modes may all be reached in proportion far from the data, or at single points. So there is the
    share of the samples within three standard deviations of the support, and of the training points
    with a sample that near.

    Added are rows of the metrics `modes_chi_squared`, `mode_share:<mode>`, `COVERAGE` and `FRESH`,
    from `samples_all`, shape (seeds, m, 2), in the `.npz` beside each file.
    """
    added = [row for path in files for row in _measured(scores, path)]
    return pd.concat([scores, pd.DataFrame(added)], ignore_index=True) if added else scores


def _measured(scores: pd.DataFrame, path: Path) -> Iterator[dict]:
    """Yield the added rows of one file: those of each seed that has samples."""
    dataset = path.parent.name
    here = scores[(scores["dataset"] == dataset) & (scores["method"] == path.stem)]
    if dataset not in PLANAR or not len(here):
        return
    modes = made_up.planar_modes(dataset)
    with np.load(path.with_suffix(".npz")) as arrays:
        samples = arrays["samples_all"]
    first = here.iloc[0]
    common = first[["experiment", "dataset", "setting", "method", "variant", "n_train"]].to_dict()
    for split, points in enumerate(samples):
        if not np.isfinite(points).all():
            continue
        counts = np.bincount(modes.nearest(points), minlength=len(modes.weights))
        m = len(points)
        pearson = np.sum((counts - m * modes.weights) ** 2 / (m * modes.weights))
        values = {CHI_SQUARED: pearson / (1.0 + m / first["n_train"])}
        values |= {f"{SHARE}:{k}": c / m for k, c in zip(modes.labels, counts, strict=True)}
        values |= _coverage(dataset, split, points)
        for metric, value in values.items():
            row = {"split": split, "metric": metric, "value": value, "unit": "", "status": "ok"}
            yield {**common, **row}


def _coverage(dataset: str, split: int, samples: np.ndarray) -> dict[str, float]:
    """Return the shares that are near, of the samples and of a fresh draw, by metric."""
    from scipy.spatial import KDTree

    train, _ = made_up.planar_of_seed(dataset, split)
    fresh = made_up.planar_draw(dataset, len(samples), rng_of("coverage", dataset, split))
    found = {}
    for metric, points in ((COVERAGE, samples), (FRESH, fresh)):
        found[f"{metric}:{_SUPPORT}"] = np.mean(made_up.planar_deviations(dataset, points) <= _NEAR)
        distance, _ = KDTree(points).query(train)
        found[f"{metric}:{_TRAINING}"] = np.mean(distance <= _NEAR * made_up.planar_noise(dataset))
    return {metric: float(share) for metric, share in found.items()}


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return points and f of the first seed that did not fail, and the modes' shares over all.

    A panel is a data set, or a variation of DDE on one. Rows without `stat` are points of the
    method `data` or of the sampler, or of the kind `surface`; those with the stat `mode_share` say
    in `y` which share of the samples is nearest to the mode named in `series`, as mean and range
    over `n` seeds, and in `x` its weight. Arrays are read from the `.npz` beside each file.
    """
    order = {name: k for k, name in enumerate(_planar.DATASETS)}
    rows = []
    for path in sorted(files, key=lambda path: order.get(path.parent.name, len(order))):
        dataset, method = path.parent.name, path.stem
        here = scores[(scores["dataset"] == dataset) & (scores["method"] == method)]
        variant = here["variant"].iloc[0]
        with np.load(path.with_suffix(".npz")) as arrays:
            if "train" in arrays:  # a seed succeeded
                rows += _point_rows(_planar.panel(dataset, method), method, variant, arrays)
        rows += _share_rows(here, dataset, method, variant)
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _point_rows(name: str, method: str, variant: str, arrays) -> list[dict]:
    rows = scatter.points(name, DATA, "", arrays["train"], len(arrays["train"]))
    rows += scatter.points(name, method, variant, arrays["samples"], _SHOWN)
    return rows + _surface_rows(name, method, variant, arrays)


def _surface_rows(name: str, method: str, variant: str, arrays) -> list[dict]:
    kept = slice(None, None, _STRIDE)
    across, up = arrays["surface_x"][kept], arrays["surface_y"][kept]
    values = arrays["surface_f"][kept, kept]
    same = scatter.row(name, method, variant) | {"kind": _SURFACE}
    return [
        {**same, "x": x, "y": y, "y_high": values[k, j]}
        for k, y in enumerate(up)
        for j, x in enumerate(across)
    ]


def _share_rows(scores: pd.DataFrame, dataset: str, method: str, variant: str) -> list[dict]:
    rows = []
    modes = made_up.planar_modes(dataset)
    for label, weight in zip(modes.labels, modes.weights, strict=True):
        share = splits(scores, dataset, method, variant, f"{SHARE}:{label}").dropna()
        if len(share):
            stated = {"x": weight, "y": share.mean(), "y_low": share.min(), "y_high": share.max()}
            stated |= {"series": label, "stat": SHARE, "n": len(share)}
            rows.append(scatter.row(_planar.panel(dataset, method), method, variant, **stated))
    return rows


def remarks(frame: pd.DataFrame) -> list[str]:
    """Say which share of the samples each mode receives."""
    shares = frame[frame["stat"] == SHARE]
    if not len(shares):
        return []
    said = []
    for name, rows in shares.groupby("panel", sort=False):
        each = (f"{row.series} {row.y:.3f} ({row.x:.3f})" for row in rows.itertuples())
        said.append(f"{name} {', '.join(each)}")
    return [
        f"Share of the samples nearest to each mode, mean over {shares['n'].max():.0f} seeds, and "
        f"its weight: {'; '.join(said)}."
    ]


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw a column for each data set or variation: samples above the learned f."""
    panels = list(dict.fromkeys(frame["panel"]))
    rows = frame[frame["stat"].isna()]
    width = style.PAGE if len(panels) > 1 else style.COLUMN
    options = {"sharex": "col", "sharey": "col", "squeeze": False}
    with style.figure(width, _HEIGHT, len(panels), 2, **options) as (made, axes):
        for k, (panel, (above, below)) in enumerate(zip(panels, axes.T, strict=True)):
            here = rows[rows["panel"] == panel]
            _draw_samples(above, here[here["kind"] == "scatter"], _LETTERS[k])
            _draw_surface(made, below, here[here["kind"] == _SURFACE], _LETTERS[len(panels) + k])
        for one in axes[:, 0]:
            one.set_ylabel("$y_2$")
        scatter_panel.legend(made, _planar.METHOD, "training points")
        return style.save(made, stem)


def _draw_samples(axes: "Axes", points: pd.DataFrame, letter: str) -> None:
    of_data = points["method"] == DATA
    data, samples = points[of_data], points[~of_data]
    method = samples["method"].iloc[0]
    outside = scatter_panel.draw(axes, data, samples, method, _MARGIN)
    scatter_panel.count_outside(axes, outside, method)
    style.panel_title(axes, letter, points["panel"].iloc[0])
    axes.set_aspect("equal")


def _draw_surface(made, axes: "Axes", surface: pd.DataFrame, letter: str) -> None:
    table = surface.pivot(index="y", columns="x", values="y_high")
    shown = axes.pcolormesh(
        table.columns, table.index, table.to_numpy(), cmap="cividis", shading="gouraud"
    )
    shown.set_rasterized(True)
    bar = made.colorbar(shown, ax=axes, location="bottom", pad=0.02, aspect=20)
    bar.set_label("learned $f(y)$ (nats)", fontsize=7)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=6)
    style.panel_title(axes, letter, "learned $f$")
    axes.set_aspect("equal")
    axes.set_xlabel("$y_1$")


def decide(scores: pd.DataFrame) -> Decision:
    """Decide claim D4: every mode receives samples in proportion, on ring, grid and two moons.

    The chi-squared statistics of the seeds, which are independent, are added up; each of the three
    sums must not be rejected at 5%. The modes of the ring are its radii. The claim is undecided
    where a data set has no samples. Amended: see `at_least_half`.
    """
    return replace(_in_proportion(scores), amended=at_least_half(scores))


def _in_proportion(scores: pd.DataFrame) -> Decision:
    from scipy import stats

    held, parts = [], []
    for dataset in _planar.DATASETS:
        found = splits(scores, dataset, _planar.METHOD, metric=CHI_SQUARED)
        values = found.dropna().to_numpy(float)
        if not len(values):
            return Decision("undecided", f"no samples of {_planar.METHOD} on {dataset}")
        modes = made_up.planar_modes(dataset)
        freedom = len(values) * (len(modes.weights) - 1)
        p_value = float(stats.chi2.sf(values.sum(), freedom))
        held.append(p_value >= SIGNIFICANCE)
        shares = [_by_seed(scores, dataset, f"{SHARE}:{label}") for label in modes.labels]
        said = ", ".join(
            f"{label} {share.mean():.3f} ({share.min():.3f} to {share.max():.3f}) of {weight:.3f}"
            for label, share, weight in zip(modes.labels, shares, modes.weights, strict=True)
        )
        parts.append(f"{dataset}: {said}, p = {p_value:.2g}, {len(values)} seeds")
    reason = (
        "share of the samples nearest to each mode, mean over the seeds, range and weight, and "
        f"chi-squared test over the seeds: {'; '.join(parts)}"
    )
    return Decision("holds" if all(held) else "fails", reason)


@decider
def at_least_half(scores: pd.DataFrame) -> Decision:
    """Decide claim D4 as amended: every mode receives half its weight, and the data are covered.

    On ring, grid and two moons, each mode has two one-sided limits of 95% for the mean share of
    samples that it receives, mean ± t(0.95, n - 1) s/√n over n seeds; and so have the two shares
    that are near (`COVERAGE`). The claim holds if every lower limit is at least half the weight of
    its mode, or half the share of a fresh draw of the data; it fails if an upper limit is below
    that, and is undecided otherwise. It is undecided, too, with fewer than three seeds of a data
    set, or where more than 5% of its seeds have no samples because the training failed.
    """
    limits = {dataset: _limits(scores, dataset) for dataset in _planar.DATASETS}
    reason = (
        "share of the samples nearest to each mode, share of the samples within "
        f"{_NEAR:g} standard deviations of the support and of the training points with a sample "
        "that near, mean over the seeds, and lower and upper one-sided 95% limits, wanted at least "
        "half the weight, and half the share of a fresh draw: "
        + "; ".join(
            f"{dataset}, {each[0].n} seeds: {', '.join(map(str, each))}"
            for dataset, each in limits.items()
        )
    )
    every = [limit for each in limits.values() for limit in each]
    if all(limit.low >= limit.wanted for limit in every):
        return Decision("holds", reason)
    fails = any(limit.high < limit.wanted for limit in every)
    return Decision("fails" if fails else "undecided", reason)


class _Share(NamedTuple):
    """A mean share over n seeds, its limits, and what the amended claim wants of it."""

    label: str
    mean: float
    low: float
    high: float
    wanted: float
    n: int

    def __str__(self) -> str:
        numbers = f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"
        return f"{self.label} {numbers} against {self.wanted:.3f}"


def _limits(scores: pd.DataFrame, dataset: str) -> list[_Share]:
    """Return the share of each mode of a data set, and those that are near.

    Raises
    ------
    Missing
        With fewer than three seeds, or more than 5% that have no samples.
    """
    from scipy import stats

    modes, found = made_up.planar_modes(dataset), []
    # A seed that failed has a row of the primary metric alone.
    tried = len(splits(scores, dataset, _planar.METHOD, metric=MMD))
    metrics = {
        label: (f"{SHARE}:{label}", float(weight))
        for label, weight in zip(modes.labels, modes.weights, strict=True)
    }
    for label in (_SUPPORT, _TRAINING):
        of_data = _by_seed(scores, dataset, f"{FRESH}:{label}").mean()
        metrics[label] = (f"{COVERAGE}:{label}", float(of_data))
    for label, (metric, whole) in metrics.items():
        share = _by_seed(scores, dataset, metric).to_numpy(float)
        n = len(share)
        if n < _FEWEST:
            raise Missing(f"{n} seeds of {dataset} with samples; wanted {_FEWEST}")
        if too_many_failed(tried - n, tried):
            raise Missing(f"{tried - n} of {tried} seeds of {dataset} have no samples")
        half = stats.t.ppf(1.0 - SIGNIFICANCE, n - 1) * share.std(ddof=1) / np.sqrt(n)
        mean = float(share.mean())
        found.append(_Share(label, mean, mean - half, mean + half, _LEAST * whole, n))
    return found


def _by_seed(scores: pd.DataFrame, dataset: str, metric: str) -> pd.Series:
    return splits(scores, dataset, _planar.METHOD, metric=metric).dropna()


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={"planar": {"datasets": ["ring", "grid", "two-moons"], "methods": ["DDE", "DDE-narrow"]}},
    tolerance=tolerances.VERDICTS,
    build=build,
    draw=draw,
    deciders={"D4": decide},
    measure=measure,
    trial="seed",
    remarks=remarks,
)
