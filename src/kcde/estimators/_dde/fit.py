"""From problems of one shape to trained states: iterations, checks, snapshots, stopping."""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np

from kcde.estimators._dde.diagnostics import diagnose
from kcde.estimators._dde.held_out import HeldOut
from kcde.estimators._dde.problem import Problem, Recipe
from kcde.estimators._dde.training import State, advance

CHECK = 100
"""Iterations between two evaluations of a training."""

_LARGEST_OBJECTIVE = 1e6
_IN_A_ROW = 3  # checks above it: in many dimensions exp ν may be so large for a while at the start
_WORTH_A_NEW_PROGRAM = 3  # compiling costs seconds: only when a third or fewer are left

log = logging.getLogger(__name__)


@dataclass
class Task:
    """One problem, and when to stop.

    Attributes
    ----------
    problem, state
        On numpy, without the leading axis.
    seed
        Seed of its random numbers, 32 bits.
    target
        Iterations, at most.
    held_out
        Rows to stop by; None: the target is reached.
    """

    problem: Problem
    state: State
    seed: int
    target: int
    held_out: HeldOut | None = None


@dataclass
class TrainingResult:
    """The result of a task.

    Attributes
    ----------
    state
        Final state.
    iteration
        Iteration of that state.
    history
        Rows of (iteration, objective, biased MMD², held-out loss).
    snapshots
        Iteration to state.
    diverged
        The iteration by which something was not finite, or the objective too large in three checks
        in a row; None otherwise.
    best
        Smallest held-out loss.
    too_large
        Checks in a row, up to the last, at which the objective was too large.
    """

    state: State
    iteration: int = 0
    history: list = field(default_factory=list)
    snapshots: dict = field(default_factory=dict)
    diverged: int | None = None
    best: float = np.inf
    too_large: int = 0


def train(
    tasks: Sequence[Task], recipe: Recipe, patience: int, snapshots: Sequence[int] = ()
) -> list[TrainingResult]:
    """Train tasks of one shape side by side.

    Parameters
    ----------
    tasks
        Tasks whose problems have the same shapes.
    recipe
        How to train.
    patience
        Iterations without a better held-out likelihood after which a training ends.
    snapshots
        Iterations at which a copy of the state is kept.

    Returns
    -------
    list of TrainingResult
        Results in the order of the tasks.
    """
    outcomes = [TrainingResult(task.state) for task in tasks]
    batch = list(range(len(tasks)))
    working = _Batch.of(tasks)
    stops, done = _stops(tasks, snapshots), set()
    at, started = 0, time.perf_counter()
    while True:
        for index, state, numbers in zip(batch, *working.look(recipe), strict=True):
            if index not in done and not _should_continue(
                outcomes[index], tasks[index], state, numbers, at, patience, snapshots
            ):
                done.add(index)
        active = [index for index in batch if index not in done]
        if not active:
            return outcomes
        if len(active) * _WORTH_A_NEW_PROGRAM <= len(batch):
            working = working.only([batch.index(index) for index in active])
            batch = active
        until = next(stop for stop in stops if stop > at)
        working.advance(at, until, recipe)
        at = until
        if at % (10 * CHECK) == 0:
            left = (time.perf_counter() - started) / at * (stops[-1] - at)
            log.info(
                "iteration %d of %d, %d of %d still in training, at most %.0f s left",
                *(at, stops[-1], len(active), len(tasks), left),
            )


@dataclass
class _Batch:
    """States and problems with a leading axis, on jax."""

    states: State
    seeds: object
    problems: Problem

    @classmethod
    def of(cls, tasks: Sequence[Task]) -> "_Batch":
        def stacked(trees):
            return jax.tree.map(lambda *arrays: jnp.stack(arrays), *trees)

        seeds = jnp.array([task.seed for task in tasks], dtype=jnp.uint32)
        states = stacked([task.state for task in tasks])
        return cls(states, seeds, stacked([task.problem for task in tasks]))

    def only(self, places: list[int]) -> "_Batch":
        """Return the batch of some places."""
        chosen = np.array(places)
        parts = (self.states, self.seeds, self.problems)
        return _Batch(*jax.tree.map(lambda array: array[chosen], parts))

    def advance(self, first: int, until: int, recipe: Recipe) -> None:
        # As arrays: plain numbers would be constants of a program of their own.
        span = jnp.int32(first), jnp.int32(until - first)
        self.states = advance(self.states, self.seeds, self.problems, *span, recipe)

    def look(self, recipe: Recipe) -> tuple[list[State], list[tuple[float, float]]]:
        """Return each state on the host, and its objective and biased MMD²."""
        diagnosis = diagnose(self.states, self.seeds, self.problems, recipe)
        on_host = jax.tree.map(np.asarray, self.states)
        places = range(len(self.seeds))
        states = [jax.tree.map(lambda array, k=k: array[k], on_host) for k in places]
        numbers = zip(*(np.asarray(part, dtype=float).tolist() for part in diagnosis), strict=True)
        return states, list(numbers)


def _stops(tasks: Sequence[Task], snapshots: Sequence[int]) -> list[int]:
    """Return the iterations at which to evaluate: regularly, at snapshots and at targets."""
    targets = {task.target for task in tasks}
    last = max(targets)
    among = {number for number in snapshots if number <= last}
    return sorted({*range(0, last, CHECK), *among, *targets})


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
    finite = all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(state))
    small = abs(numbers[0]) < _LARGEST_OBJECTIVE
    outcome.too_large = 0 if small else outcome.too_large + 1
    if not finite or outcome.too_large == _IN_A_ROW:
        outcome.diverged = at
        return False
    loss = np.nan if task.held_out is None else task.held_out.loss(_weights(state))
    outcome.history.append((at, *numbers, loss))
    if at in snapshots:
        outcome.snapshots[at] = state
    if task.held_out is None or loss < outcome.best:
        outcome.best, outcome.iteration, outcome.state = loss, at, state
    waiting = task.held_out is None or at - outcome.iteration < patience
    return waiting and at < task.target


def _weights(state: State) -> np.ndarray:
    return np.asarray(state.weights, dtype=np.float64)
