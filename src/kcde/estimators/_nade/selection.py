"""Selection of the size of NADE by cross-validation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kcde.estimators._nade import training
from kcde.seeding import rng_of, seed_of
from kcde.selection import best_index, complement, grouped_kfold, kfold

_DIVERGED = "the training of NADE diverged; bring x and y to unit scale or lower learning_rate"
_HELD_OUT_SHARE = 10
_HELD_OUT_SETS = 4


@dataclass(frozen=True)
class Problem:
    """Data to fit, as columns, with the seed of its random numbers.

    X (d_x, n), Y (d_y, n), what seeds the folds, the initial weights and the batches, and labels:
    the group of each row, whole numbers from 0, (n,). Rows of one are held out together; None: each
    by itself.
    """

    X: np.ndarray
    Y: np.ndarray
    random_state: object
    labels: np.ndarray | None = None


@dataclass(frozen=True)
class FitResult:
    """A trained network and how it was chosen.

    The network is in float64. The score is the mean held-out log density of a row,
    nats, for each (units, components), and for each number of epochs where these were given.
    """

    network: training.Network
    units: int
    components: int
    epochs: int
    score: np.ndarray


@dataclass(frozen=True)
class _Task:
    """One network to train: on some rows of a problem, with others held out."""

    problem: Problem
    units: int
    components: int
    fold: object
    rows: np.ndarray
    held_out: np.ndarray
    stop: int = 0


def fit_chosen(
    problem: Problem,
    units: Sequence[int],
    components: Sequence[int],
    folds: int,
    recipe: training.Recipe,
) -> FitResult:
    """Choose units, components and epochs by cross-validation, and train on all rows.

    The score of a configuration is its mean held-out log density over all folds, at the
    epoch where it is largest; that number of epochs is then trained on all rows.
    """
    n = problem.Y.shape[1]
    rng = rng_of("selection", problem.random_state)
    labels = problem.labels
    if labels is None:
        held_out = kfold(n, folds, rng)
    else:
        held_out = grouped_kfold(labels, min(folds, int(labels.max()) + 1), rng)
    scores = np.empty((len(units), len(components)))
    epochs = np.empty(scores.shape, dtype=int)
    for i, j in np.ndindex(scores.shape):
        own = problem, units[i], components[j]
        tasks = [_Task(*own, k, complement(rows, n), rows) for k, rows in enumerate(held_out)]
        trained = _train(tasks, recipe)
        scores[i, j], epochs[i, j] = trained.score, trained.epochs
    i, j = best_index(scores)
    return _on_all_rows(problem, units[i], components[j], int(epochs[i, j]), recipe, scores)


def fit_given(
    problem: Problem, units: int, components: int, recipe: training.Recipe, epochs: Sequence[int]
) -> FitResult:
    """Train a network of one shape, and keep it at its largest held-out likelihood.

    A tenth of the rows, or groups, is held out. All epochs are run, as in the code of Uria et al.:
    the gain from the decreasing learning rate comes at the end. Several numbers of epochs are each
    trained in full, from the same network and with the same rows held out.

    Numbers of epochs to choose from are in place of the recipe's.
    """
    n = problem.Y.shape[1]
    labels = np.arange(n) if problem.labels is None else problem.labels
    count = int(labels.max()) + 1
    order = rng_of("selection", problem.random_state).permutation(count)
    held_out = np.flatnonzero(np.isin(labels, order[: max(1, count // _HELD_OUT_SHARE)]))
    task = _Task(problem, units, components, "given", complement(held_out, n), held_out)
    recipes = [replace(recipe, epochs=each, patience=each) for each in epochs]
    trained = [_train([task], each) for each in recipes]
    score = np.array([each.score for each in trained])
    networks = [_network(task, each) for each in trained]
    # Of those that ended well, with the best score.
    sound = [k for k, each in enumerate(trained) if each.epochs and networks[k].is_finite()]
    if not sound:
        raise FloatingPointError(_DIVERGED)
    best = max(sound, key=score.__getitem__)
    return FitResult(networks[best], units, components, trained[best].epochs, score[None, None])


def fit_all_updates(
    problem: Problem, units: int, components: int, recipe: training.Recipe
) -> FitResult:
    """Train a network of one shape on all rows for all epochs, and keep it as it then is.

    Nothing is chosen, so that there is no score: it is NaN.
    """
    score = np.array([[np.nan]])
    return _on_all_rows(problem, units, components, recipe.epochs, recipe, score)


def _on_all_rows(problem, units, components, epochs, recipe, score) -> FitResult:
    """Train a network on all rows for a number of epochs."""
    rows = np.arange(problem.Y.shape[1])
    # The held-out rows are not used: any will do.
    task = _Task(problem, units, components, "all", rows, rows[:1], epochs)
    network = _network(task, _train([task], recipe))
    if not network.is_finite():
        raise FloatingPointError(_DIVERGED)
    return FitResult(network, units, components, epochs, score)


def _network(task: _Task, trained: training.TrainingResult) -> training.Network:
    return training.network_of(trained.parameters[0], _shape(task), len(task.problem.Y))


def _train(tasks: Sequence[_Task], recipe: training.Recipe) -> training.TrainingResult:
    """Train the networks of one group; they stop at the same epoch."""
    most = max(len(task.rows) for task in tasks)
    each = [_training_task(task) for task in tasks]
    size = recipe.batch_size if most > recipe.batch_size else 0
    return training.train(each, tasks[0].stop, size, recipe)


def _training_task(task: _Task) -> training.Task:
    problem, own = task.problem, (task.units, task.components)
    rng, Y = rng_of("network", problem.random_state, *own, task.fold), problem.Y[:, task.rows]
    parameters = training.initial_parameters(training.width(problem.X, Y), *own, Y, rng)
    seed = seed_of("batches", problem.random_state, task.fold) % 2**32
    rows = _rows(problem, task.rows)
    return training.Task(parameters, _shape(task), seed, rows, _held_out(task))


def _shape(task: _Task) -> training.Shape:
    X, Y = task.problem.X, task.problem.Y
    return training.shape_of(training.width(X, Y), task.units, 3 * len(Y) * task.components)


def _rows(problem: Problem, rows: np.ndarray) -> training.Rows:
    X, Y = (np.ascontiguousarray(part[:, rows], np.float32) for part in (problem.X, problem.Y))
    return training.Rows(X, Y, np.zeros_like(Y))


def _held_out(task: _Task) -> training.Rows:
    """Return the rows held out, each with some sets of observed dimensions, drawn once."""
    d_y = task.problem.Y.shape[0]
    if d_y == 1:
        return _rows(task.problem, task.held_out)
    rows = _rows(task.problem, np.tile(task.held_out, _HELD_OUT_SETS))
    rng = rng_of("held-out", task.problem.random_state, task.fold)
    rank = np.argsort(rng.random(rows.Y.shape), axis=0)
    observed = rank < rng.integers(0, d_y, rows.Y.shape[1])
    return rows._replace(observed=observed.astype(np.float32))
