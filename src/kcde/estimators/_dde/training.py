"""Training f, ν and g of one problem, looked at every hundred iterations."""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kcde.estimators._dde import updates
from kcde.estimators._dde.functions import HeldOut
from kcde.estimators._dde.updates import Problem, Recipe, State
from kcde.estimators._shared.networks import Shape, fold_in, parts

CHECK = 100
"""Iterations between two evaluations of a training."""

_DRAWS = 1000
_LARGEST_OBJECTIVE = 1e6
_IN_A_ROW = 3  # checks above it: in many dimensions exp ν may be so large for a while at the start

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Perceptron:
    """g or ν: rectified units in all layers but the last, and a linear map of some inputs before.

    g maps x and standard normal ξ to y (dde, section 4), ν maps y and x to an estimate of
    log q(y|x)/p_0(y) (equation 17); the shapes are those of the authors' code.
    """

    flat: np.ndarray
    shape: Shape

    def __call__(self, *inputs):
        """Return the outputs (d_out, n) at inputs (d, n)."""
        parameters = parts(self.flat, self.shape)
        embedding, shift, mixed, first, biases, weights, last, bias = parameters
        embedded, plain = np.split(np.concatenate(inputs), [self.shape.embedded])
        values = mixed @ (embedding @ embedded + shift[:, None]) + first @ plain
        values = np.maximum(values + biases[0][:, None], 0.0)
        for weight, shift in zip(weights, biases[1:], strict=True):
            values = np.maximum(weight @ values + shift[:, None], 0.0)
        return last @ values + bias[:, None]


def initial_parameters(shape: Shape, embedded_first: bool, rng: np.random.Generator) -> np.ndarray:
    """Return the parameters of a perceptron before training, float32.

    Weights uniform within √(6/(fan_in + fan_out)) (Glorot and Bengio), and biases 0. In the first
    layer, as the authors' code has it, the embedded inputs come before the plain ones, or after.
    """
    embedded, width, plain, hidden, layers, outputs = shape
    size = width * (embedded + 1) + hidden * (width + plain + 1)
    size += (layers - 2) * hidden * (hidden + 1) + outputs * (hidden + 1)
    flat = np.zeros(size, np.float32)
    embedding, _, mixed, first, _, weights, last, _ = parts(flat, shape)

    def drawn(fan_out: int, fan_in: int) -> np.ndarray:
        limit = np.sqrt(6.0 / (fan_in + fan_out))
        return rng.uniform(-limit, limit, (fan_out, fan_in))

    if embedded:
        embedding[:] = drawn(width, embedded)
    both = drawn(hidden, width + plain)
    mixed[:], first[:] = (
        np.hsplit(both, [width]) if embedded_first else np.hsplit(both, [plain])[::-1]
    )
    for weight in weights:
        weight[:] = drawn(hidden, hidden)
    last[:] = drawn(outputs, hidden)
    return flat


def start(weights: np.ndarray, g: np.ndarray, nu: np.ndarray) -> State:
    """Return the state before training, of float32 arrays."""
    f, g, nu = (np.array(each, np.float32) for each in (weights, g, nu))
    zeros = np.zeros_like
    return State(f, zeros(f), zeros(f), g, zeros(g), zeros(g), nu, zeros(nu))


def diagnose(state: State, seed: int, problem: Problem, recipe: Recipe) -> tuple[float, float]:
    """Return objective and distance of g from the data.

    The objective is ℓ̃(f, ν, g) of dde, equation 18, plus 1/λ: E_D f - E_g f - η/2 ‖f‖² + (E_g ν -
    E_p0 exp ν + 1)/λ, at training x and one set of draws. The distance is the biased MMD² between
    training pairs and draws of g at training x, with the kernel of f. O(1000 (m + H²)) time, for m
    basis functions and H units.
    """
    n = problem.Y.shape[1]
    # Each x once; without x a thousand draws or fewer.
    times = 1 if len(problem.X) else max(1, _DRAWS // n)
    rows = np.tile(np.arange(min(n, _DRAWS)), times)
    count = len(rows)
    key = np.uint32(0), np.uint32(seed)
    noise = np.empty((recipe.sampler.plain, count), np.float32)
    priors = np.empty((len(problem.Y), count), np.float32)
    updates.normals(key, updates.NORMAL, noise.reshape(-1))
    updates.draw_base(fold_in(key, 1), problem, recipe, updates.NORMAL, priors)
    X, drawn = np.take(problem.X, rows, axis=1), np.take(problem.scaled, rows, axis=1)
    fakes = Perceptron(state.g, recipe.sampler)(X, noise)
    at_data, at_fakes = np.empty((2, count), np.float32)
    for Y, values in ((np.take(problem.Y, rows, axis=1), at_data), (fakes, at_fakes)):
        updates.f_values(state.f, problem, recipe.features, rows, Y, values)
    dual = Perceptron(state.nu, recipe.dual)
    with np.errstate(over="ignore", invalid="ignore"):
        divergence = np.mean(dual(fakes, X)) - np.mean(np.exp(dual(priors, X))) + 1.0
    objective = np.mean(at_data) - np.mean(at_fakes) + recipe.dual_weight * divergence
    smooth = updates.penalty_gradient(problem, recipe.features, state.f)
    data = np.ascontiguousarray(problem.scaled[:, :_DRAWS])
    drawn[len(X) :] = problem.inverse_y[:, None] * fakes
    mmd2 = updates.mean_kernel(data, data) + updates.mean_kernel(drawn, drawn)
    mmd2 -= 2.0 * updates.mean_kernel(data, drawn)
    return float(objective - 0.5 * (state.f @ smooth)), float(mmd2)


@dataclass
class Task:
    """One problem, and when to stop.

    The seed of its random numbers has 32 bits. It ends after `target` iterations, at most, or by
    held-out rows.
    """

    problem: Problem
    state: State
    seed: int
    target: int
    held_out: HeldOut | None = None


@dataclass
class TrainingResult:
    """The result of a task.

    The final state and its iteration; rows of (iteration, objective, biased MMD², held-out loss);
    states of some iterations; the iteration by which something was not finite, or the objective
    too large in three checks in a row; the smallest held-out loss; and checks in a row, up to the
    last, at which the objective was too large.
    """

    state: State
    iteration: int = 0
    history: list = field(default_factory=list)
    snapshots: dict = field(default_factory=dict)
    diverged: int | None = None
    best: float = np.inf
    too_large: int = 0


def train(
    task: Task, recipe: Recipe, patience: int, snapshots: Sequence[int] = ()
) -> TrainingResult:
    """Train a task.

    The training ends `patience` iterations after its best held-out likelihood, if it has one.
    States of the iterations `snapshots` are kept.
    """
    outcome, last = TrainingResult(task.state), task.target
    # To look at: regularly, at snapshots and at the end.
    stops = sorted({*range(0, last, CHECK), *(k for k in snapshots if k <= last), last})
    state, started = _copied(task.state), time.perf_counter()
    for at, until in zip(stops, [*stops[1:], None], strict=True):
        numbers = diagnose(state, task.seed, task.problem, recipe)
        if not _should_continue(outcome, task, _copied(state), numbers, at, patience, snapshots):
            break
        updates.advance(
            state, task.problem, recipe, updates.NORMAL, np.uint32(task.seed), at, until - at
        )
        if until % (10 * CHECK) == 0:
            left = (time.perf_counter() - started) / until * (last - until)
            log.info("iteration %d of %d, at most %.0f s left", until, last, left)
    return outcome


def _copied(state: State) -> State:
    return State(*(each.copy() for each in state))


def _should_continue(
    outcome: TrainingResult,
    task: Task,
    state: State,
    numbers: tuple[float, float],
    at: int,
    patience: int,
    snapshots: Sequence[int],
) -> bool:
    """Record the state of a training; return whether to continue it."""
    finite = all(np.isfinite(each).all() for each in state)
    small = abs(numbers[0]) < _LARGEST_OBJECTIVE
    outcome.too_large = 0 if small else outcome.too_large + 1
    if not finite or outcome.too_large == _IN_A_ROW:
        outcome.diverged = at
        return False
    loss = np.nan if task.held_out is None else task.held_out.loss(np.float64(state.f))
    outcome.history.append((at, *numbers, loss))
    if at in snapshots:
        outcome.snapshots[at] = state
    if task.held_out is None or loss < outcome.best:
        outcome.best, outcome.iteration, outcome.state = loss, at, state
    waiting = task.held_out is None or at - outcome.iteration < patience
    return waiting and at < task.target
