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

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kcde import scores
from kcde.arrays import asarray, to_numpy
from kcde.data import made_up
from kcde.estimators import Standardised, estimator_class
from kcde.experiments import methods
from kcde.experiments.base import SMOKE, ArrayExperiment, Outcome, attempt, clock, parameter, sized
from kcde.joint import Draws, sampler_kind, sampler_of
from kcde.kernels import median_trick
from kcde.methods import METHODS
from kcde.metrics import MMD, NLL, mmd2_unbiased
from kcde.panels import box_quadrature
from kcde.seeding import rng_of, row_seed

# Scale of the median trick, for the kernel of the discrepancy.
BANDWIDTH_SCALE = 0.1

# Method to the leapfrog steps of a transition of its chains; others have 10, a choice of ours. The
# code that dde cites for KEF prints 100 steps of 0.1, "as in the paper".
LEAPFROG_STEPS = {"KEF-100-steps": 100}

# Name of an array to that of a history of an estimator.
HISTORY = {"history_iteration": "iteration", "history_mmd2": "mmd2_biased"}

NODES = 100
SNAPSHOT_SAMPLES = 1000

# Iterations of figure 2 and of figure 3; those that are reached are kept, and the last.
_RING_SNAPSHOTS = (0, 500, 2500, 5000, 10_000, 20_000)
_SNAPSHOTS = (0, 500, 1000, 2000)
_THOUSANDTHS = "1e-3"
_MARGIN = 0.1  # of a frame on each side, as a share of the range of the training points


@dataclass(frozen=True)
class Planar(ArrayExperiment):
    """Fit a density to points of the plane and draw from it (dde, table 1).

    The `.npz` holds `samples_all` (seeds, n, 2) and of estimators with a history
    `history_iteration` (checks,) and `history_mmd2` (seeds, checks), NaN from where a training
    ended, and where a seed failed; and `train`, `test`, `samples` and what `pictures` shows of the
    first seed that did not.
    """

    name = "planar"
    datasets = ("two-moons", "ring", "grid")
    methods = ("DDE", "DDE-narrow", "KEF", "KEF-100-steps")
    only = {"DDE-narrow": ("ring",)}
    smoke = ("ring",)
    repeated = ("seeds",)
    options_key = "joint"

    seeds: int = sized(2, 2, 10, "How often points are drawn and fitted.", at_least=1)
    iterations: int = parameter(20_000, "Of estimators that are trained by them.", at_least=1)
    # By default as many as there are test points.
    samples: int | None = sized(40, None, None, "Samples of each seed.", at_least=2)

    @classmethod
    def sizes_of(cls, scale: str, dataset: str, method: str) -> dict:
        """Return fewer iterations of DDE at the scale smoke."""
        few = scale == SMOKE and METHODS[method].estimator == "DDE"
        return {"iterations": 200} if few else {}

    def seed_of(self, seed: int) -> int:
        """Return a seed of (data set, seed) alone."""
        return row_seed(self.name, self.dataset, seed)

    def unfitted(self, seed: int):
        """Return the unfitted estimator of one seed."""
        wanted, last = _RING_SNAPSHOTS if self.dataset == "ring" else _SNAPSHOTS, self.iterations
        reached = (*(number for number in wanted if number < last), last)
        trained = {"iterations": last, "snapshots": reached}
        known = estimator_class(self.estimator)._get_param_names()
        options = dict(self.options) | {name: trained[name] for name in trained if name in known}
        return methods.build(self.method, self.estimator, options, self.seed_of(seed))

    @cached_property
    def shown(self) -> list[int]:
        """The seed that the figures show, the first that this process fits; empty before."""
        return []

    def outcome(self, unit: int) -> Outcome:
        """Fit, draw and score under a seed."""
        backend = methods.backend_of(self.unfitted(0), self.backend)
        train, test = made_up.planar_of_seed(self.dataset, unit)
        model, fitting = attempt(fit, self.unfitted(unit), train, backend)
        sizes = {"n_train": len(train), "n_test": len(test), "dim": 2}
        row = self.row(unit, backend=backend, seed=self.seed_of(unit), **sizes)
        history = getattr(getattr(model, "estimator", None), "history_", None) or {}
        arrays = {name: np.asarray(history[HISTORY[name]]) for name in HISTORY if history}
        found, seconds = attempt(self._measured, model, test, unit)
        if isinstance(found, Exception):
            return Outcome([row | scores.failed(MMD, found, _THOUSANDTHS)], [{}], arrays)
        row["seconds"] = fitting + seconds
        arrays["samples"], cells = found
        chosen = methods.chosen(model.estimator)
        inside = test[np.isfinite(model.log_density(test))]
        cells += methods.optimum_cells(model.estimator, np.empty((len(inside), 0)), inside)
        if not self.shown:
            rng = rng_of("planar-snapshots", self.dataset, self.method)
            arrays |= {"train": train, "test": test, **pictures(model, rng)}
            self.shown.append(unit)
        return Outcome([row | cell for cell in cells], [chosen], arrays)

    def arrays(self, outcomes: list[Outcome]) -> dict[str, np.ndarray]:
        """Return the samples of all seeds, float32, NaN where one failed; and what figures show."""
        found = [each.arrays for each in outcomes]
        blank = np.full((self.samples or made_up.planar_sizes(self.dataset)[1], 2), np.nan)
        samples = np.stack([each.get("samples", blank) for each in found])
        arrays = {"samples_all": samples.astype(np.float32)}
        told = [{name: each[name] for name in HISTORY if name in each} for each in found]
        if iterations := [each["history_iteration"] for each in told if each]:
            arrays |= super().arrays([Outcome([], arrays=each) for each in told])
            arrays["history_iteration"] = max(iterations, key=len)
        shown = next((each for each in found if "surface_x" in each), {})
        return arrays | {name: shown[name] for name in shown if name not in HISTORY}

    def _measured(self, model: "PlanarModel", test: np.ndarray, seed: int) -> tuple:
        """Return the samples, and score cells of the model; timed when everything is warm."""
        count = self.samples or len(test)
        if not self.shown:
            model.draw(count, rng_of("planar-warm-up"), self.method)
        rng = rng_of("planar-samples", self.dataset, self.method, seed)
        tested = asarray(test, model.backend)
        started = clock(tested)
        draws = model.draw(count, rng, self.method)
        elapsed = clock(tested) - started
        # Draws of a learned sampler are independent and so effective each.
        size = draws.diagnostics.get("effective_sample_size", count)
        units = {"sampling_time": "s", "effective_samples_per_second": "samples/s"}
        units |= {name: "samples" * name.startswith("effective") for name in draws.diagnostics}
        bandwidth = median_trick(model.train, BANDWIDTH_SCALE)
        there = asarray(draws.samples, model.backend)
        cells = []
        for name, data in ((MMD, tested), (f"{MMD}_train", asarray(model.train, model.backend))):
            squared = mmd2_unbiased(there, data, bandwidth)
            cells.append(scores.cell(name, 1e3 * squared, _THOUSANDTHS))
        cells += scores.cells(units, (elapsed, size / elapsed, *draws.diagnostics.values()))
        cells += likelihood_cells(self.dataset, model, test)
        return draws.samples, cells


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
    """Fit an estimator to standardised points (n, 2); doubly dual embedding to them as they are."""
    if isinstance(estimator, estimator_class("DDE")):
        return PlanarModel(estimator.fit(None, train), np.zeros(2), np.ones(2), train)
    fitted = Standardised(estimator).fit(None, asarray(train, backend))
    return PlanarModel(fitted.estimator_, fitted.mean_y_, fitted.std_y_, train, backend)


def pictures(model: PlanarModel, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return the surfaces of a model and, if it kept snapshots, samples at each of them.

    `surface_x`, `surface_y` (100,) over the training points and a tenth of their range on each
    side. Of an estimator that has a natural parameter of its own `surface_f` (100, 100), index of y
    first; with snapshots `snapshot_iterations` (k,) and `snapshots` (k, 1000, 2).
    """
    lower, upper = model.train.min(axis=0), model.train.max(axis=0)
    margin = _MARGIN * (upper - lower)
    x, y = np.linspace(lower - margin, upper + margin, NODES, axis=1)
    nodes = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    found = {"surface_x": x, "surface_y": y}
    if hasattr(model.estimator, "natural_parameter"):
        f = model.estimator.natural_parameter(None, model.scaled(nodes))
        found["surface_f"] = to_numpy(f).reshape(NODES, NODES)
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
    inside, error = np.isfinite(found), model.log_z[1]

    def both(rows, ending: str = "") -> list[dict]:
        ours = scores.cell(f"{NLL}{ending}", -found[rows].mean(), "nats", error)
        return [ours, scores.cell(f"{NLL}_exact{ending}", -exact[rows].mean(), "nats")]

    beyond = scores.cell("points_without_density", np.sum(~inside), "points")
    return [*both(slice(None)), beyond, *([] if inside.all() else both(inside, "_inside"))]
