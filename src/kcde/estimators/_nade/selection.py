"""Selection of the size of NADE by cross-validation, for many problems at once."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from kcde.estimators._nade import training
from kcde.seeding import rng_of, seed_of
from kcde.selection import best_index, complement, grouped_kfold, kfold

_FEW_UNITS, _FEW_COMPONENTS = 10, 2
_GROUPS_AT_ONCE = 2  # of small networks with one y: alone, an update is mostly its start
_HELD_OUT_STEP, _ROWS_FACTOR = 128, 4  # few different shapes, as each compiles
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

    The network is in float64, without padding. The score is the mean held-out log density of a row,
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
    problems: Sequence[Problem],
    units: Sequence[int],
    components: Sequence[int],
    folds: int,
    recipe: training.Recipe,
) -> list[FitResult | Exception]:
    """Choose units, components and epochs by cross-validation, and train on all rows.

    The score of a configuration is its held-out log likelihood, summed over the folds, at the
    epoch where that sum is largest; that number of epochs is then trained on all rows.

    The problems have one number of rows and one d_y; d_x may differ. Returns of each what was
    fitted, or the error that it failed with.
    """
    n = problems[0].Y.shape[1]
    held_out = [_folds(problem, folds) for problem in problems]
    shape = (len(problems), len(units), len(components))
    scores, epochs = np.empty(shape), np.empty(shape, dtype=int)
    several = problems[0].Y.shape[0] > 1
    for members, mixtures in _programs(several, units, components):
        size = max(units[i] for i in members), max(components[j] for j in mixtures)
        cells = [(p, i, j) for i in members for j in mixtures for p in range(len(problems))]
        tasks = [
            _Task(problems[p], units[i], components[j], fold, complement(rows, n), rows)
            for p, i, j in cells
            for fold, rows in enumerate(held_out[p])
        ]
        few = size[0] <= _FEW_UNITS and not several
        at_once = folds * min(len(cells), _GROUPS_AT_ONCE if few else 1)
        trained = _train(tasks, folds, recipe, size, at_once)
        for cell, score, best in zip(cells, trained.score, trained.epochs, strict=True):
            scores[cell], epochs[cell] = score / n, best
    return _refit(problems, units, components, scores, epochs, recipe)


def fit_given(
    problems: Sequence[Problem],
    units: int,
    components: int,
    recipe: training.Recipe,
    epochs: Sequence[int],
) -> list[FitResult | Exception]:
    """Train networks of one shape, and keep each at its largest held-out likelihood.

    A tenth of the rows, or groups, is held out. All epochs are run, as in the code of Uria et al.:
    the gain from the decreasing learning rate comes at the end. Several numbers of epochs are each
    trained in full, from the same network and with the same rows held out.

    Numbers of epochs to choose from are in place of the recipe's.
    """
    n = problems[0].Y.shape[1]
    tasks = []
    for problem in problems:
        labels = np.arange(n) if problem.labels is None else problem.labels
        count = int(labels.max()) + 1
        order = rng_of("selection", problem.random_state).permutation(count)
        held_out = np.flatnonzero(np.isin(labels, order[: max(1, count // _HELD_OUT_SHARE)]))
        rows = complement(held_out, n)
        tasks.append(_Task(problem, units, components, "given", rows, held_out))
    recipes = [replace(recipe, epochs=each, patience=each) for each in epochs]
    trained = [_train(tasks, 1, each, (units, components), len(tasks)) for each in recipes]
    score = np.stack([each.score for each in trained], axis=-1)
    found = []
    for i, task in enumerate(tasks):
        own = np.asarray(score[i] / len(task.held_out), dtype=float)
        fitted = [_fitted(task, each, i, own[None, None]) for each in trained]
        # Of those that ended well, with the best score.
        sound = [k for k, each in enumerate(fitted) if isinstance(each, FitResult)]
        found.append(fitted[max(sound, key=own.__getitem__, default=0)])
    return found


def _folds(problem: Problem, folds: int) -> list[np.ndarray]:
    """Return the rows that each fold holds out."""
    rng = rng_of("selection", problem.random_state)
    if problem.labels is None:
        return kfold(problem.Y.shape[1], folds, rng)
    return grouped_kfold(problem.labels, folds, rng)


def fit_all_updates(
    problems: Sequence[Problem], units: int, components: int, recipe: training.Recipe
) -> list[FitResult | Exception]:
    """Train networks of one shape on all rows for all epochs, and keep each as it then is.

    Parameters are those of `fit_given`; nothing is chosen, so that there is no score: it is NaN.
    """
    rows = np.arange(problems[0].Y.shape[1])
    # The held-out rows are not used: any will do.
    sizes = units, components
    tasks = [_Task(p, *sizes, "all", rows, rows[:1], recipe.epochs) for p in problems]
    trained = _train(tasks, 1, recipe, sizes, len(tasks))
    return [_fitted(task, trained, i, [[np.nan]]) for i, task in enumerate(tasks)]


def _refit(problems, units, components, scores, epochs, recipe) -> list[FitResult | Exception]:
    """Train the best configuration of each problem on all its rows."""
    fitted: dict[int, FitResult | Exception] = {}
    tasks: dict[int, _Task] = {}
    for p, problem in enumerate(problems):
        try:
            i, j = best_index(scores[p])
        except ValueError as error:
            fitted[p] = error
            continue
        rows = np.arange(problem.Y.shape[1])
        # If the number of epochs is given, the held-out rows are not used: any will do.
        size = units[i], components[j]
        tasks[p] = _Task(problem, *size, "all", rows, rows[:1], int(epochs[p, i, j]))
    several = problems[0].Y.shape[0] > 1
    for members, mixtures in _programs(several, units, components):
        sizes = {(units[i], components[j]) for i in members for j in mixtures}
        chosen = [p for p, task in tasks.items() if (task.units, task.components) in sizes]
        if chosen:
            size = max(units[i] for i in members), max(components[j] for j in mixtures)
            trained = _train([tasks[p] for p in chosen], 1, recipe, size, len(chosen))
            for index, p in enumerate(chosen):
                fitted[p] = _fitted(tasks[p], trained, index, scores[p])
    return [fitted[p] for p in range(len(problems))]


def _fitted(task: _Task, trained, index: int, score) -> FitResult | Exception:
    epochs = task.stop or int(trained.epochs[index])
    inputs = training.width(task.problem.X, task.problem.Y)
    network = training.unstack(trained.networks, index)
    network = network.unpadded(inputs, task.units, task.components)
    if epochs == 0 or not network.is_finite():
        return FloatingPointError(
            "the training of NADE diverged; bring x and y to unit scale or lower learning_rate"
        )
    return FitResult(network, task.units, task.components, epochs, np.asarray(score, dtype=float))


def _programs(
    several: bool, units: Sequence[int], components: Sequence[int]
) -> list[tuple[list[int], list[int]]]:
    """Return positions of units and of components that share a program, padded to one size.

    With one y all components do. With several y the outputs are most of the work, and padding two
    components to ten more than doubles it.
    """
    most = _FEW_COMPONENTS if several else max(components)
    return list(product(_sizes(units, _FEW_UNITS), _sizes(components, most)))


def _sizes(counts: Sequence[int], few: int) -> list[list[int]]:
    """Return positions of counts: those of at most `few` together, each other alone."""
    small = [i for i, count in enumerate(counts) if count <= few]
    large = [[i] for i, count in enumerate(counts) if count > few]
    return [small, *large] if small else large


def _train(
    tasks: Sequence[_Task], pool: int, recipe: training.Recipe, size: tuple[int, int], at_once: int
) -> training.TrainingResult:
    """Train all tasks in one program, padded to a size (units, components) and to one d_x.

    With another number of networks at once rounding errors differ, which training amplifies.
    """
    inputs = max(training.width(task.problem.X, task.problem.Y) for task in tasks)
    d_x = max(task.problem.X.shape[0] for task in tasks)
    networks = []
    for task in tasks:
        problem, own = task.problem, (task.units, task.components)
        rng = rng_of("network", problem.random_state, *own, task.fold)
        columns = training.width(problem.X, problem.Y)
        network = training.initial_network(columns, *own, problem.Y[:, task.rows], rng)
        networks.append(training.padded(network, inputs, *size))
    rows = [_rows(task.problem, task.rows, d_x) for task in tasks]
    held_out = [_held_out(task, d_x) for task in tasks]
    seeds = [seed_of("batches", task.problem.random_state, task.fold) % 2**32 for task in tasks]
    most, most_held_out = (max(part.weight.shape[0] for part in each) for each in (rows, held_out))
    if most > recipe.batch_size:
        # Batches are drawn, so that padding costs little, and fits to a few rows more or less
        # share a program.
        most = _ROWS_FACTOR ** math.ceil(math.log(most, _ROWS_FACTOR))
        most_held_out = -(-most_held_out // _HELD_OUT_STEP) * _HELD_OUT_STEP
    return training.train(
        training.stack(networks),
        np.array(seeds, dtype=np.uint32),
        training.stack([part.padded(most) for part in rows]),
        training.stack([part.padded(most_held_out) for part in held_out]),
        np.array([task.stop for task in tasks], dtype=np.int32),
        pool,
        recipe,
        at_once,
    )


def _rows(problem: Problem, rows: np.ndarray, d_x: int) -> training.Rows:
    X, Y = problem.X[:, rows], problem.Y[:, rows]
    X = np.pad(X, [(0, d_x - X.shape[0]), (0, 0)]).astype(np.float32)
    Y = Y.astype(np.float32)
    return training.Rows(X, Y, np.zeros_like(Y), np.ones(len(rows), dtype=np.float32))


def _held_out(task: _Task, d_x: int) -> training.Rows:
    """Return the rows held out, each with some sets of observed dimensions, drawn once."""
    d_y = task.problem.Y.shape[0]
    if d_y == 1:
        return _rows(task.problem, task.held_out, d_x)
    rows = _rows(task.problem, np.tile(task.held_out, _HELD_OUT_SETS), d_x)
    rng = rng_of("held-out", task.problem.random_state, task.fold)
    rank = np.argsort(rng.random(rows.Y.shape), axis=0)
    observed = rank < rng.integers(0, d_y, rows.Y.shape[1])
    weight = rows.weight / np.float32(_HELD_OUT_SETS)
    return training.Rows(rows.X, rows.Y, observed.astype(np.float32), weight)
