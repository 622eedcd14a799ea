"""Densities of points of the plane and samples from them: dde, table 1 and figures 1 to 3.

Each seed draws its own training and test points, the same for every method. A method is fitted to
the training points and draws as many samples as there are test points. As the authors' code has it
(the text says: to the training points) the maximum mean discrepancy is that of the samples to the
test points, unbiased, in thousandths; the kernel is the one that doubly dual embedding has by
default on these data.

Score matching needs unit scale, for its base density N(0, 2²) and its grid of bandwidths: its
estimators see standardised points, and what they give is mapped back. Doubly dual embedding learns
its base density and bandwidth from the data and takes them as they are, as the authors' code does.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from kcde import scores
from kcde.arrays import asarray, resolve_backend, to_numpy
from kcde.data import made_up
from kcde.estimators import Standardised, estimator_class
from kcde.experiments import _dde_optimum, methods, runner
from kcde.experiments._samplers import Draws, sampler_kind, sampler_of
from kcde.experiments.base import SMOKE, ArrayExperiment, Outcome, Work, parameter, sized, stacked
from kcde.kernels import median_trick
from kcde.methods import METHODS
from kcde.metrics import mmd2_unbiased
from kcde.metrics.names import MMD, NLL
from kcde.normalisers import logsumexp
from kcde.panels import panel_nodes
from kcde.seeding import rng_of, seed_of

BANDWIDTH_SCALE = 0.1
"""Scale of the median trick, for the kernel of the discrepancy."""

LEAPFROG_STEPS = {"KEF-100-steps": 100}
"""Method to the leapfrog steps of a transition of its chains; others have 10, a choice of ours. The
code that dde cites for KEF prints 100 steps of 0.1, "as in the paper"."""

HISTORY = {
    "history_iteration": "iteration",
    "history_objective": "objective",
    "history_mmd2": "mmd2_biased",
}
"""Name of an array to that of a history of an estimator."""

NODES = 100
SNAPSHOT_SAMPLES = 1000

_RING_SNAPSHOTS = (0, 500, 2500, 5000, 10_000, 20_000)
_SNAPSHOTS = (0, 500, 1000, 2000)
_THOUSANDTHS = "1e-3"
_MARGIN = 0.1  # of a frame on each side, as a share of the range of the training points
_FEWEST_PANELS, _MOST_PANELS = 4, 64
_TOLERANCE = 1e-6


class Points(NamedTuple):
    """Points of one seed, shapes (n, 2), and the bandwidth of the discrepancy, in their units."""

    train: np.ndarray
    test: np.ndarray
    bandwidth: float


def points(dataset: str, seed: int) -> Points:
    """Return the data of a seed, the same for every method."""
    train, test = made_up.planar_of_seed(dataset, seed)
    return Points(train, test, median_trick(train, BANDWIDTH_SCALE))


def snapshots(dataset: str, iterations: int) -> tuple[int, ...]:
    """Return the iterations of figure 2 (ring) or 3 that are reached, and the last."""
    wanted = _RING_SNAPSHOTS if dataset == "ring" else _SNAPSHOTS
    return (*(number for number in wanted if number < iterations), iterations)


@dataclass(frozen=True)
class Planar(ArrayExperiment):
    """Fit a density to points of the plane and draw from it (dde, table 1).

    The `.npz` holds `samples_all` (seeds, n, 2) and of estimators with a history
    `history_iteration` (checks,), `history_objective` and `history_mmd2` (seeds, checks), NaN from
    where a training ended, and where a seed failed; and `train`, `test`, `samples` and what
    `pictures` shows of the first seed that did not.
    """

    name: ClassVar[str] = "planar"
    datasets: ClassVar = ("two-moons", "ring", "grid")
    methods: ClassVar = ("DDE", "DDE-narrow", "KEF", "KEF-100-steps")
    only: ClassVar = {"DDE-narrow": ("ring",)}
    smoke: ClassVar = ("ring",)
    repeated: ClassVar = ("seeds",)
    options_key: ClassVar[str] = "joint"

    seeds: int = sized(2, 2, 10, "How often points are drawn and fitted.", at_least=1)
    iterations: int = parameter(
        20_000, "Iterations of estimators that are trained by iterations.", at_least=1
    )
    samples: int | None = sized(
        200, None, None, "Samples of each seed; by default as many as test points.", at_least=2
    )

    @classmethod
    def sizes_of(cls, scale: str, dataset: str, method: str) -> dict[str, Any]:
        """Return fewer iterations of DDE at the scale smoke."""
        few = scale == SMOKE and METHODS[method].estimator == "DDE"
        return {"iterations": 200} if few else {}

    def unfitted(self, seed: int):
        """Return the unfitted estimator of one seed."""
        reached = snapshots(self.dataset, self.iterations)
        trained = {"iterations": self.iterations, "snapshots": reached}
        known = estimator_class(self.estimator)._get_param_names()
        options = dict(self.options) | {name: trained[name] for name in trained if name in known}
        more = {"random_state": _seed(self.dataset, seed), "tuning_rows": None}
        return methods.build(self.method, self.estimator, options, **more)

    def begin(self, units: Sequence[int]) -> Work:
        """Return a function that fits, draws and scores under a seed."""
        backend = methods.backend_of(self.unfitted(0), self.backend)
        fitted = runner.fits(
            self.estimator,
            units,
            lambda seed: fit(self.unfitted(seed), points(self.dataset, seed).train, backend),
            lambda seeds: fit_many(
                [self.unfitted(seed) for seed in seeds],
                [points(self.dataset, seed).train for seed in seeds],
            ),
        )
        warm = False

        def work(seed: int) -> Outcome:
            nonlocal warm
            model, fitting = fitted(seed)
            here = points(self.dataset, seed)
            sizes = {"n_train": len(here.train), "n_test": len(here.test), "dim": 2}
            row = self.row(seed, backend=backend, seed=_seed(self.dataset, seed), **sizes)
            history = getattr(getattr(model, "estimator", None), "history_", None) or {}
            arrays = {name: np.asarray(history[HISTORY[name]]) for name in HISTORY if history}
            found, seconds = runner.attempt(self._measured, model, here, seed, warm)
            if isinstance(found, Exception):
                return Outcome([row | scores.failed(MMD, found, _THOUSANDTHS)], [{}], arrays)
            row["seconds"] = fitting + seconds
            arrays["samples"], cells = found
            chosen = methods.chosen(model.estimator)
            inside = here.test[np.isfinite(model.log_density(here.test))]
            cells += _dde_optimum.cells(model.estimator, np.empty((len(inside), 0)), inside)
            if not warm:
                rng = rng_of("planar-snapshots", self.dataset, self.method)
                arrays |= {"train": here.train, "test": here.test, **pictures(model, rng)}
                warm = True
            return Outcome([row | cell for cell in cells], [chosen], arrays)

        return work

    def arrays(self, outcomes: Sequence[Outcome]) -> dict[str, np.ndarray]:
        """Return the samples of all seeds, float32, NaN where one failed; and what figures show."""
        found = [each.arrays for each in outcomes]
        blank = np.full((self.samples or made_up.planar_sizes(self.dataset)[1], 2), np.nan)
        samples = np.stack([each.get("samples", blank) for each in found])
        arrays = {"samples_all": samples.astype(np.float32)}
        told = [{name: each[name] for name in HISTORY if name in each} for each in found]
        if iterations := [each["history_iteration"] for each in told if each]:
            arrays |= stacked([Outcome([], arrays=each) for each in told])
            arrays["history_iteration"] = max(iterations, key=len)
        shown = next((each for each in found if "surface_x" in each), {})
        return arrays | {name: shown[name] for name in shown if name not in HISTORY}

    def _measured(self, model: "PlanarModel", here: Points, seed: int, warm: bool) -> tuple:
        """Return the samples, and score cells of the model; timed when everything is warm."""
        count = self.samples or len(here.test)
        if not warm:
            model.draw(count, rng_of("planar-warm-up"), self.method)
        rng = rng_of("planar-samples", self.dataset, self.method, seed)
        # Processor time, which other jobs of the machine affect little, has no work of a device.
        on_host = resolve_backend(self.backend) == "numpy"
        clock = time.process_time if on_host else time.perf_counter
        started = clock()
        draws = model.draw(count, rng, self.method)
        elapsed = clock() - started
        # Draws of a learned sampler are independent and so effective each.
        size = draws.diagnostics.get("effective_sample_size", count)
        measured = {"sampling_time": (elapsed, "s")}
        measured["effective_samples_per_second"] = (size / elapsed, "samples/s")
        for name, value in draws.diagnostics.items():
            measured[name] = (value, "samples" * name.startswith("effective"))
        there = asarray(draws.samples, model.backend)
        distances = {
            name: 1e3 * mmd2_unbiased(there, asarray(each, model.backend), here.bandwidth)
            for name, each in ((MMD, here.test), (f"{MMD}_train", here.train))
        }
        return draws.samples, [
            *(scores.cell(name, each, _THOUSANDTHS) for name, each in distances.items()),
            *(scores.cell(name, *each) for name, each in measured.items()),
            *likelihood_cells(self.dataset, model, here.test),
            *_training_cells(model.estimator),
        ]


@dataclass(frozen=True)
class PlanarModel:
    """A fitted estimator without x, and the units that it was given.

    It was fitted to (y - mean)/std of training points (n, 2), on the backend; all other arrays are
    on the host.
    """

    estimator: Any
    mean: np.ndarray
    std: np.ndarray
    train: np.ndarray
    backend: str = "numpy"

    def draw(self, n: int, rng: np.random.Generator, method: str) -> Draws:
        """Draw points by Hamiltonian Monte Carlo, or directly where an estimator has no other way.

        The name of the method in the scores may ask for a sampler (`sampler_kind`), and for longer
        trajectories (`LEAPFROG_STEPS`).
        """
        kind = sampler_kind(self.estimator, method)
        more = {"leapfrog_steps": LEAPFROG_STEPS[method]} if method in LEAPFROG_STEPS else {}
        draws = sampler_of(self.estimator, kind, self.scaled(self.train), n, **more)(n, rng)
        return draws._replace(samples=self.mean + self.std * draws.samples)

    def log_density(self, Y: np.ndarray) -> np.ndarray:
        """Return the log density, nats, shape (n,), of points (n, 2)."""
        return self._log_unnormalised(Y) - self.log_z[0]

    @cached_property
    def log_z(self) -> tuple[float, float]:
        """Log of the normaliser and its error, nats.

        It is by quadrature on the box of a uniform base, else as estimated, with a standard error.
        """
        if getattr(self.estimator, "base", None) == "uniform":
            box = self.train.min(axis=0), self.train.max(axis=0)
            return box_quadrature(self._log_unnormalised, *box)
        no_x = asarray(np.empty((1, 0)), self.backend)
        found = self.estimator.log_normaliser(no_x, method="importance")
        # That of the scaled points: the Jacobian is in the density already.
        return float(found.log_z[0]), found.mean_stderr

    def _log_unnormalised(self, Y: np.ndarray) -> np.ndarray:
        found = to_numpy(self.estimator.log_unnormalized(None, self.scaled(Y)))
        return found - float(np.sum(np.log(self.std)))

    def scaled(self, Y: np.ndarray):
        """Return points in the units of the estimator, on its backend."""
        return asarray((Y - self.mean) / self.std, self.backend)


def fit(estimator, train: np.ndarray, backend: str = "numpy") -> PlanarModel:
    """Fit an estimator to standardised points (n, 2)."""
    fitted = Standardised(estimator).fit(None, asarray(train, backend))
    return PlanarModel(fitted.estimator_, fitted.mean_y_, fitted.std_y_, train, backend)


def fit_many(estimators: Sequence, trains: Sequence[np.ndarray]) -> list:
    """Fit estimators of a class in one program, to points as they are; an error in place of one."""
    without_x = [None] * len(trains)
    outcomes = type(estimators[0]).fit_many(estimators, without_x, trains, return_errors=True)
    return [
        each if isinstance(each, Exception) else PlanarModel(each, np.zeros(2), np.ones(2), train)
        for each, train in zip(outcomes, trains, strict=True)
    ]


def box_quadrature(log_f, lower: np.ndarray, upper: np.ndarray) -> tuple[float, float]:
    """Return the log of an integral over a rectangle, and its error in nats.

    The product Gauss-Legendre rule is refined until it converges; the error is the last change
    under doubling of the panels of each side.
    """
    value, change, panels = -np.inf, np.inf, _FEWEST_PANELS
    while not change <= _TOLERANCE and panels <= _MOST_PANELS:
        x, x_weight = panel_nodes(lower[0], upper[0], panels)
        y, y_weight = panel_nodes(lower[1], upper[1], panels)
        rows = [log_f(np.column_stack([np.full_like(y, each), y])) for each in x]
        log_rows = np.array([logsumexp(row + np.log(y_weight), axis=0) for row in rows])
        before, value = value, float(logsumexp(log_rows + np.log(x_weight), axis=0))
        change, panels = abs(value - before), 2 * panels
    return value, change


def pictures(model: PlanarModel, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return the surfaces of a model and, if it kept snapshots, samples at each of them.

    `surface_x`, `surface_y` (100,) over the training points and a tenth of their range on each
    side; `surface_log_density` (100, 100), nats, index of y first. Of an estimator that has a
    natural parameter of its own `surface_f`, likewise; with snapshots `snapshot_iterations` (k,)
    and `snapshots` (k, 1000, 2).
    """
    lower, upper = model.train.min(axis=0), model.train.max(axis=0)
    margin = _MARGIN * (upper - lower)
    x, y = np.linspace(lower - margin, upper + margin, NODES, axis=1)
    nodes = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    shape = (NODES, NODES)
    found = {"surface_x": x, "surface_y": y}
    found["surface_log_density"] = model.log_density(nodes).reshape(shape)
    if hasattr(model.estimator, "natural_parameter"):
        f = model.estimator.natural_parameter(None, model.scaled(nodes))
        found["surface_f"] = to_numpy(f).reshape(shape)
    if iterations := getattr(model.estimator, "snapshots_", ()):
        sampled = model.estimator.sample_snapshot
        drawn = [to_numpy(sampled(each, None, SNAPSHOT_SAMPLES, rng))[0] for each in iterations]
        found["snapshot_iterations"] = np.array(iterations)
        found["snapshots"] = model.mean + model.std * np.stack(drawn)
    return found


def likelihood_cells(dataset: str, model: PlanarModel, test: np.ndarray) -> list[dict]:
    """Return score cells of test points, by the model and by the density they are drawn from.

    Under a uniform base, test points beyond the training points have zero density: the likelihood
    of the others and the number of those points are reported as well.
    """
    found, exact = model.log_density(test), made_up.planar_log_density(dataset, test)
    inside = np.isfinite(found)
    error = model.log_z[1]
    cells = [
        scores.cell(NLL, -found.mean(), "nats", error),
        scores.cell(f"{NLL}_exact", -exact.mean(), "nats"),
        scores.cell("points_without_density", float(np.sum(~inside)), "points"),
    ]
    if not inside.all():
        cells.append(scores.cell(f"{NLL}_inside", -found[inside].mean(), "nats", error))
        cells.append(scores.cell(f"{NLL}_exact_inside", -exact[inside].mean(), "nats"))
    return cells


def _training_cells(estimator) -> list[dict]:
    """Return score cells of how the training of an estimator with a history went."""
    history = getattr(estimator, "history_", None)
    if history is None:
        return []
    proposed = estimator.log_normaliser(np.empty((1, 0)), method="sampler")
    size = float(np.min(proposed.effective_sample_size))
    return [
        scores.cell("iterations", float(estimator.iterations_), "iterations"),
        scores.cell("objective", float(history["objective"][-1]), "nats"),
        scores.cell("mmd2_biased_first", float(history["mmd2_biased"][0])),
        scores.cell("mmd2_biased_last", float(history["mmd2_biased"][-1])),
        scores.cell("sampler_effective_sample_size", size, "samples"),
    ]


def _seed(dataset: str, seed: int) -> int:
    """Return a seed of (data set, seed) alone, small enough to survive any CSV reader."""
    return seed_of(Planar.name, dataset, seed) % 2**32
