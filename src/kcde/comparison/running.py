"""Scores of the methods on the splits of a plan, within a budget of time, on ever more rows.

`costs.csv` has for each method the processor `seconds` of one split with 1000 training rows and a
quarter as many test rows, fit and scores, and the `exponent` of its growth with the number of rows,
both rounded. In the first step each method does two splits of 500 training rows, and may take its
share of the time that is left, or twice what it is declared to need where that is left. Each
further step has four times as many rows, until all; it is done by the methods for which there is
time, if the first so far is one of them. Others are left at the size that they reached. At last all
methods of the last step do further splits, as many as there is time for with all of them, so that
every method has the same splits. These then weight a mixture of the methods without a failed split;
it is scored on each split with the weights that the rows held out by the others give, forward in
time by those before it.

Splits are scored in processes of their own, which can be stopped when the time is up. What is done
is kept in the folder of the plan, and a stopped comparison goes on from it.

A table is split into training and test rows at random, by groups, or forward in time.
"""

import hashlib
import json
import math
import re
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, wait
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import special

import kcde
from kcde import estimators, methods, model_file, tabular
from kcde.arrays import to_numpy
from kcde.estimators import Standardised, estimator_names
from kcde.estimators.stacked import stacking_weights
from kcde.experiments.base import FAILURES
from kcde.files import atomic, read_arrays, read_object
from kcde.methods import BASELINE, CONTENDERS, STACKED
from kcde.metrics import COVERAGES
from kcde.scores import digest_of_arrays
from kcde.seeding import rng_of, seed_of
from kcde.selection import subsample
from kcde.table_model import inside, unfitted, usable

RANDOM, GROUPS, FORWARD = "random", "groups", "forward"
"""Kinds of splits."""

SPLITS = 10
TRAIN_ROWS, TEST_ROWS = 50_000, 5000
"""Most rows of a split, at random where there are more: more test rows make no score more certain
than the fits are, and more training rows leave no time to compare."""

TEST_SHARE = 0.2
"""Of the rows, or of the groups, of a random split."""

FEWEST_GROUPS = 5

_NOTICEABLE = 0.2  # the least autocorrelation, or intraclass correlation, that is said
_LABELS = re.compile(
    r"(?i:(^|[ _.-])(id|customer|patient|subject|user|person|household|group|site|station)$)"
    r"|[a-z]I[dD]$"
)
"""What names of columns that label groups look like."""


@dataclass(frozen=True)
class Split:
    """Row numbers of one split, sorted."""

    train: np.ndarray
    test: np.ndarray


def random_splits(groups: np.ndarray, count: int, seed: int, stream: str = "split") -> list[Split]:
    """Return random splits with a fifth of the groups to test on, by the number of each row's."""
    total, found = groups.max() + 1, []
    if total < FEWEST_GROUPS:
        raise ValueError(f"{total} groups are too few to hold some out: {FEWEST_GROUPS} are needed")
    for i in range(count):
        order = rng_of("own", stream, seed, i).permutation(total)
        tested = np.isin(groups, order[: max(1, round(TEST_SHARE * total))])
        found.append(Split(np.flatnonzero(~tested), np.flatnonzero(tested)))
    return found


def forward_splits(times: np.ndarray, count: int) -> list[Split]:
    """Return splits that train on what lies before the rows they test on.

    The rows in order of time are cut into `count` + 2 blocks of about the same size; each but the
    first two is tested on, after training on all rows that are strictly earlier than each of it.
    The latest block comes first: where time is short, it is the nearest to what is asked for, and
    it has the most training rows, so that the first splits cost the most.
    """
    order = np.argsort(times, kind="stable")
    found = []
    for test in np.array_split(order, count + 2)[:1:-1]:
        train = np.flatnonzero(times < times[test].min()) if len(test) else test
        if min(len(train), len(test)) < 2:
            said = f"{len(np.unique(times))} different times of {len(times)} rows are too few"
            asked = f"{count} splits that train on earlier rows alone"
            raise ValueError(f"{said} for {asked}: fewer --splits")
        found.append(Split(train, np.sort(test)))
    return found


def limited(split: Split, train: int | None, test: int | None, seed: int) -> Split:
    """Return a split of at most so many rows, None for all; of more, random ones of them."""
    rng = rng_of("own", "rows", seed, len(split.train))
    parts = (split.train, train), (split.test, test)
    return Split(*(rows[subsample(len(rows), most, rng)] for rows, most in parts))


@dataclass(frozen=True)
class Plan:
    """What is compared: the rows and their splits, and the folder that keeps the scores.

    Attributes
    ----------
    folder
        It belongs to one plan: scores of a stopped comparison count when the same is asked again.
    kind
        Of its splits: `random`, `groups` or `forward`.
    splits
        The splits, of row numbers of `X`.
    X, y
        All rows, encoded, shapes (n, d) and (n,).
    groups
        The group of each row, whole numbers, shape (n,), where splits keep groups together:
        methods that choose by folds keep them together there as well.
    column
        That of the groups, or of the time.
    lower
        Methods see log(y - lower), unless it is None.
    """

    folder: Path
    kind: str
    splits: tuple[Split, ...]
    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray | None = None
    column: str | None = None
    lower: float | None = None

    def overlap(self, numbers: Sequence[int]) -> float:
        """Return test over training rows of some splits, for `kcde.metrics.paired_t_test`."""
        shares = [len(self.splits[i].test) / len(self.splits[i].train) for i in numbers]
        return float(np.mean(shares)) if numbers else 0.0


def make(
    checked: tabular.Checked,
    folder: Path,
    *,
    count: int = SPLITS,
    groups: str | None = None,
    time_column: str | None = None,
    rows: int | None = TRAIN_ROWS,
    seed: int = 0,
    lower: float | None = None,
) -> Plan:
    """Return the plan of a comparison with `rows` training rows at most, known to its folder.

    Raises
    ------
    ValueError
        If there are too few groups or times, `count` is below 2, y is constant in a split's
        training rows, or the folder has another plan.
    """
    if count < 2:
        raise ValueError(f"at least 2 splits are needed to say how certain a score is; got {count}")
    labels, y = None, checked.columns.target(checked.frame)
    if groups is not None:
        labels = pd.factorize(checked.frame[groups], sort=True)[0]
        kind, whole = GROUPS, random_splits(labels, count, seed, "groups")
    elif time_column is not None:
        kind, whole = FORWARD, forward_splits(tabular.times(checked.frame, time_column), count)
    else:
        kind, whole = RANDOM, random_splits(np.arange(len(y)), count, seed)
    for i, each in enumerate(whole):
        if np.ptp(y[each.train]) == 0:
            said = f"{checked.columns.y!r} is constant in the training rows of split {i + 1}"
            raise ValueError(f"{said}: take fewer --splits, or other groups")
    found = tuple(limited(each, rows, TEST_ROWS, seed + i) for i, each in enumerate(whole))
    X = checked.columns.encode(checked.frame).to_numpy()
    plan = Plan(folder, kind, found, X, y, labels, groups or time_column, lower)
    _require_same(plan, checked)
    return plan


def _require_same(plan: Plan, checked: tabular.Checked) -> None:
    """Refuse the folder of another plan; make the folder known as that of this one."""
    numbered = enumerate(plan.splits)
    rows = {f"{part}_{i}": rows for i, split in numbered for part, rows in vars(split).items()}
    parts = [*rows.values(), *([] if plan.groups is None else [plan.groups])]
    content = {
        "data_sha256": checked.digest,
        "splits_sha256": hashlib.sha256(b"|".join(part.tobytes() for part in parts)).hexdigest(),
        "kind": plan.kind,
        "column": plan.column,
        "kcde": kcde.__version__,
    } | ({} if plan.lower is None else {"lower": plan.lower})
    path = plan.folder / "plan.json"
    if not path.exists():
        with atomic(plan.folder / "rows.npz") as temporary:
            index = checked.frame.index
            # Labels as text, since objects would be pickled.
            text = index.dtype.kind == "O"
            index = index.map(str).to_numpy(dtype=str) if text else index.to_numpy()
            np.savez(temporary, **{part: index[taken] for part, taken in rows.items()})
        with atomic(path) as temporary:
            temporary.write_text(json.dumps(content), encoding="utf-8")
    elif read_object(path) != content:
        said = f"{plan.folder} has a comparison of other data, columns or splits"
        raise ValueError(f"{said}: name another folder with --out, or remove it")


def misleading(checked: tabular.Checked) -> list[str]:
    """Say where random splits would show more than the methods can do on new rows.

    Dates; labels of things that rows belong to; the x of another in a tenth of the rows; and
    neighbouring rows whose y are alike, by an autocorrelation of at least 0.2 that is four standard
    errors, 1/√n each, from 0, in a file that is not sorted by y and has no such labels.
    """
    said, frame, columns = [], checked.frame, checked.columns
    dates = [name for name in columns.ignored if tabular.classify(frame[name]).kind is tabular.DATE]
    if dates:
        why = "random splits train on the future of the rows they test on"
        remedy = f"--time-column {dates[0]!r} if new rows will be later ones"
        said.append(f"Column {dates[0]!r} has dates, and {why}: {remedy}.")
    labels = [name for name in frame.columns if name not in dates and _labels(checked, name)]
    copied = frame.duplicated([column.name for column in columns.x], keep=False).mean()
    if labels:
        why = "random splits put rows that belong together on both sides"
        remedy = f"--groups {labels[0]!r} if new rows will be of new ones"
        said.append(f"Rows share values of {labels[0]!r}; {why}: {remedy}.")
    elif copied >= 0.1:
        remedy = "if they belong together, name the column that says which do with --groups"
        said.append(f"{copied:.0%} of the rows have the x of another row: {remedy}.")
    y = pd.Series(columns.target(frame))
    alike = 0.0 if y.is_monotonic_increasing or y.is_monotonic_decreasing else y.autocorr()
    if not dates and not labels and alike >= max(_NOTICEABLE, 4.0 / np.sqrt(len(y))):
        why = "if the file is in the order of time, random splits flatter every method"
        remedy = "name the column of time with --time-column"
        near = f"Neighbouring rows are alike (autocorrelation {alike:.2f} of {columns.y!r})"
        said.append(f"{near}: {why}; {remedy}.")
    return said


def _labels(checked: tabular.Checked, name: str) -> bool:
    """Return whether equal values of a column look like rows of one thing.

    They do by a name such as `id`; or where there are at least ten values, few rows of each, whose
    y are alike (intraclass correlation, by chance in one of a thousand tables) though y does not
    change smoothly with the values, as it does with an age: squared differences of the means of
    neighbouring values are 0.7 of those of any two. Where the rows of each value stand together,
    half the correlation does, and the limit of what is smooth lies midway between what the noise of
    the means alone makes and two random means.
    """
    column, y = checked.frame[name], checked.columns.target(checked.frame)
    if column.dtype.kind == "O":
        column = column.map(str, na_action="ignore")  # what it has need not have an order
    codes, values = pd.factorize(column, sort=True)
    y, codes = y[codes >= 0], codes[codes >= 0]
    n, count = len(codes), len(values)
    if name == checked.columns.y or not 2 < count <= n / 2:
        return False
    named = _LABELS.search(name) is not None
    # Whole numbers beside missing values are floats.
    if named or count < 10 or (column.dtype.kind == "f" and (column % 1 > 0).any()):
        return named
    sizes = np.bincount(codes)
    means = np.bincount(codes, y) / sizes
    between = (sizes * (means - y.mean()) ** 2).sum() / (count - 1)
    within = ((y - means[codes]) ** 2).sum() / (n - count)
    correlation = (between - within) / (between + (n / count - 1) * within)
    in_runs = np.count_nonzero(np.diff(codes)) == count - 1
    limit = means.var() + within * (1.0 / sizes).mean() if in_runs else 1.4 * means.var()
    smooth = column.dtype.kind in "iufb" and (np.diff(means) ** 2).mean() < limit
    chance = special.fdtrc(count - 1, n - count, between / within) if within > 0.0 else 0.0
    return bool(correlation >= _NOTICEABLE / (1 + in_runs) and chance < 1e-3 and not smooth)


FIRST_ROWS, GROWTH, FIRST_SPLITS = 500, 4, 2
"""Training rows and splits of the first step, and how many times the rows of one the next has."""

LOG_DENSITY, CRPS = "log_density", "crps"
"""What methods are ranked by: the held-out log density in nats, higher is better, or, where y has
ties, the continuous ranked probability score in the units of y, lower is better."""

OK, FAILED = "ok", "failed"
"""What can become of a split."""

REMEDY = "a larger --budget"
"""How a method that was too slow can be compared."""

_SAFETY = 1.2
_ROWS = 1000
_UNKNOWN = (100.0, 2.0)  # of a method without declared cost


class Scored(NamedTuple):
    """What a split gave: values and words, ready for JSON, and one value for each test row."""

    said: dict
    arrays: dict[str, np.ndarray]


def score(method: str, plan: Plan, rows: int, number: int, options: dict | None = None) -> Scored:
    """Fit to so many rows of one split and score it; what fails is a result with its reason."""
    start = time.perf_counter()
    seed, split = seed_of("own", "split", number) % 2**32, plan.splits[number]
    parts = options["estimators"] if method == STACKED else []
    fitted = {"estimators": [_fitted(plan, name, rows, number) for name in parts]} if parts else {}
    model = unfitted(method, seed, (options or {}) | fitted, lower=plan.lower)
    split = limited(split, rows, max(2 * rows, _ROWS), number)
    X = plan.X[:, :0] if model.tags.unconditional or method == BASELINE else plan.X
    try:
        values, arrays = _scores(model, X, plan, split)
        said = {"status": OK, "detail": ""} | values
        if method not in (STACKED, BASELINE):  # the one without x is fitted in no time
            model_file.write(_model_of(plan, method, rows, number), model, {})
    except (*FAILURES, RuntimeError, MemoryError) as error:
        detail = " ".join(f"{type(error).__name__}: {error}".split())
        said, arrays = {"status": FAILED, "detail": detail}, {}
    about = {"n_train": len(split.train), "n_test": len(split.test), "options": options}
    done = (read(plan, name, rows, number) for name in parts)
    about["seconds"] = time.perf_counter() - start + sum(x.said["seconds"] for x in done if x)
    return Scored(said | about, arrays)


def _fitted(plan: Plan, method: str, rows: int, number: int):
    """Return what a mixture has of a method: as it was fitted to the split, or else its name."""
    from sklearn.frozen import FrozenEstimator

    with suppress(Exception):  # whatever a file that is missing or damaged leads to
        model, *_ = model_file.read(_model_of(plan, method, rows, number))
        return FrozenEstimator(inside(model, Standardised).estimator_)
    return method


def _scores(model, X, plan: Plan, split) -> tuple[dict, dict]:
    groups = plan.groups[split.train] if plan.groups is not None and model.tags.grouped else None
    model.fit(X[split.train], plan.y[split.train], groups)
    X, y = X[split.test], plan.y[split.test]
    log_density = to_numpy(model.log_density(X, y))
    if not np.isfinite(log_density).all():
        wrong = int((~np.isfinite(log_density)).sum())
        raise ValueError(f"the log density of {wrong} of {len(y)} test rows is not finite")
    arrays = {"test": split.test, "log_density": log_density}
    arrays |= {"pit": to_numpy(model.cdf(X, y)), "crps": to_numpy(model.crps(X, y))}
    from_middle = np.abs(arrays["pit"] - 0.5)
    worst = np.sort(log_density)[: max(1, len(log_density) // 20)]
    # Each quantile may be a search.
    some = np.unique(np.linspace(0, len(y) - 1, 200).astype(int))
    low, middle, high = to_numpy(model.quantile(X[some], [0.05, 0.5, 0.95])).T
    values = {
        "log_density": log_density.mean(),
        "crps": arrays["crps"].mean(),
        "worst_loss": -worst.mean(),
        "width_90": np.median(high - low),
        "error": np.median(np.abs(y[some] - middle)),
        **{metric: np.mean(from_middle <= level / 2) for metric, level in COVERAGES.items()},
    }
    return {key: float(value) for key, value in values.items()}, arrays


def path_of(plan: Plan, method: str, rows: int, number: int) -> Path:
    """Return the file of a split."""
    return plan.folder / "splits" / method / str(rows) / f"{number}.npz"


def _model_of(plan: Plan, method: str, rows: int, number: int) -> Path:
    """Return the file of the model of a split, which stays until the comparison ends."""
    return path_of(plan, method, rows, number).with_suffix(".kcde")


def write(plan: Plan, method: str, rows: int, number: int, scored: Scored) -> None:
    """Keep the result of a split."""
    with atomic(path_of(plan, method, rows, number)) as temporary:
        whole = {"said": np.array(json.dumps(scored.said)), **scored.arrays}
        np.savez(temporary, sha256=digest_of_arrays(whole), **whole)


def read(plan: Plan, method: str, rows: int, number: int) -> Scored | None:
    """Return what a split gave, None where it is not done or its file is damaged."""
    with suppress(Exception):  # whatever a file that is missing or damaged leads to
        arrays = read_arrays(path_of(plan, method, rows, number))
        if str(arrays.pop("sha256")) == digest_of_arrays(arrays):
            return Scored(json.loads(str(arrays.pop("said"))), arrays)
    return None


@cache
def _declared() -> dict[str, tuple[float, float]]:
    table = pd.read_csv(Path(__file__).with_name("costs.csv"))
    return {row.method: (row.seconds, row.exponent) for row in table.itertuples()}


def cost(method: str, rows: int) -> float:
    """Return the declared seconds of one split with so many training rows."""
    seconds, exponent = _declared().get(method, _UNKNOWN)
    return seconds * (rows / _ROWS) ** exponent


def all_methods() -> list[str]:
    """Return the contenders, then the others of `costs.csv` and further classes, quick ones first.

    A class of estimators of which no method has a declared cost is compared with its defaults.
    """
    covered = {methods.find(name).estimator for name in _declared()}
    new = [name for name in estimator_names() if name not in covered and not usable(name)]
    new = [name for name in new if not getattr(estimators, name).tags.unconditional]
    rest = {*_declared(), *new} - {BASELINE, *CONTENDERS}
    return [BASELINE, *CONTENDERS, *sorted(rest, key=lambda name: (cost(name, _ROWS), name))]


@dataclass
class Run:
    """What a comparison has done.

    Attributes
    ----------
    rows
        Training rows of the last step.
    skipped
        Method to the reason why it has no scores.
    splits
        Numbers of the splits that all methods of the last step have.
    scores
        Method to what it gave on each of these.
    behind
        Method to the training rows that it reached, fewer than `rows`, and to its scores there.
    stack
        Options of the mixture that all splits weight, None without one.
    """

    rows: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    splits: list[int] = field(default_factory=list)
    scores: dict[str, list[Scored]] = field(default_factory=dict)
    behind: dict[str, tuple[int, list[Scored]]] = field(default_factory=dict)
    stack: dict | None = None


class Workers:
    """Processes that score splits, and the time that is left of a budget in seconds."""

    def __init__(self, plan: Plan, budget: float, jobs: int):
        # A tenth is left for the fit to all rows and the page.
        self._end = time.monotonic() + 0.9 * budget
        self._plan, self._pool, self.jobs = plan, None, jobs

    @property
    def left(self) -> float:
        """Seconds, not below 0."""
        return max(0.0, self._end - time.monotonic())

    def score(self, method, rows: int, numbers: Sequence[int], seconds: float, options=None) -> str:
        """Score splits in some seconds; return what went wrong with a process, "" if nothing.

        `options` has those of each number.
        """
        # Of joblib's own packages: scripts need no guard of their main part, and processes can
        # be ended while they work.
        from joblib.externals.loky import ProcessPoolExecutor

        late, errors = set(), []
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self.jobs)
            # To import takes seconds.
            done, late = wait([self._pool.submit(work) for _ in range(self.jobs)], self.left)
            errors = [error for future in done if (error := future.exception())]
        if not (late or errors):
            asked = [(method, self._plan, rows, i, (options or {}).get(i)) for i in numbers]
            futures = [self._pool.submit(work, *each) for each in asked]
            done, late = wait(futures, timeout=min(seconds, self.left), return_when=FIRST_EXCEPTION)
            errors = [error for future in done if (error := future.exception())]
        if late or errors:
            self.stop()
        # What ends a process is an error of many lines.
        return f"its process stopped: {str(errors[0]).splitlines()[0]}" if errors else ""

    def stop(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(kill_workers=True)
            self._pool = None


def work(method=None, plan: Plan | None = None, rows: int = 0, number: int = 0, options=None):
    """Score a split and keep the result, in a process of its own."""
    warnings.simplefilter("ignore")
    if plan is not None:
        write(plan, method, rows, number, score(method, plan, rows, number, options))


def run(
    plan: Plan,
    names: Sequence[str],
    budget: float,
    say: Callable[[str], None],
    jobs: int = 1,
    rank_by: str = LOG_DENSITY,
) -> Run:
    """Score methods on the splits of a plan, and go on where an earlier run stopped.

    `budget` is in seconds, `jobs` the number of processes, and `say` is told what is done.
    """
    # A worker whose memory has grown is replaced, which is no matter.
    warnings.filterwarnings("ignore", "A worker stopped", UserWarning)
    stack, names = STACKED in names, [name for name in names if name != STACKED]
    steps, workers, found = sizes(plan), Workers(plan, budget, jobs), Run()
    found.splits, reached = list(range(min(FIRST_SPLITS, len(plan.splits)))), {}
    if not any(_missing(plan, name, steps[-1], found.splits) for name in names):
        steps = steps[-1:]  # as `score_shard` leaves it
    found.rows = steps[0]
    try:
        for place, method in enumerate(names):
            share = workers.left / (len(names) - place)
            if reason := _first_step(plan, method, found, workers, share):
                found.skipped[method] = reason
            else:
                reached[method] = found.rows
            said = f"skipped, {reason}" if reason else _pace(plan, method, found.rows)
            counted = f"{place + 1} of {len(names)} methods"
            say(f"{method}: {said} ({counted}, {in_words(workers.left)} left)")
        for rows in steps[1:]:
            if not _grown(plan, reached, rows, found, workers, say, rank_by):
                break
            found.rows = rows
        for name, rows in reached.items():
            if rows < found.rows:
                found.behind[name] = rows, [read(plan, name, rows, i) for i in found.splits]
        compared = [name for name in reached if name not in found.behind]
        found.splits = _further(plan, compared, found, workers, say, stack=stack)
        for name in compared:
            found.scores[name] = [read(plan, name, found.rows, i) for i in found.splits]
        if stack:
            _stack(plan, found, workers, say)
    finally:
        workers.stop()
        for path in plan.folder.glob("splits/*/*/*.kcde"):
            path.unlink()
    return found


def score_shard(
    plan: Plan,
    names: Sequence[str],
    shard: tuple[int, int],
    budget: float,
    say: Callable[[str], None],
    jobs: int = 1,
) -> None:
    """Score one of some equal parts of all splits of all methods, on all rows, for a later `run`.

    The models of its splits stay in the folder for the mixture of the `run`.
    """
    (part, parts), rows, workers = shard, sizes(plan)[-1], Workers(plan, budget, jobs)
    whole = [(name, i) for name in names if name != STACKED for i in range(len(plan.splits))]
    mine = whole[part - 1 :: parts]
    try:
        for method in dict.fromkeys(name for name, _ in mine):
            numbers = [i for name, i in mine if name == method]
            if missing := _missing(plan, method, rows, numbers):
                workers.score(method, rows, missing, workers.left)
            left = len(_missing(plan, method, rows, numbers))
            late = f", {left} stopped: {REMEDY}" if left else ""
            say(f"{method}: splits {numbers}{late} ({in_words(workers.left)} left)")
    finally:
        workers.stop()


def sizes(plan: Plan) -> list[int]:
    """Return the training rows of each step; the last are all."""
    found, rows, most = [], FIRST_ROWS, max(len(split.train) for split in plan.splits)
    while 2 * rows <= most:
        found.append(rows)
        rows *= GROWTH
    return [*found, most]


def _first_step(plan, method: str, found: Run, workers: Workers, share: float) -> str:
    """Score the first splits; return why the method is skipped, "" if it is not."""
    if missing := _missing(plan, method, found.rows, found.splits):
        needed = cost(method, found.rows) * math.ceil(len(missing) / workers.jobs)
        limit = min(workers.left, max(share, 2.0 * needed))
        trouble = workers.score(method, found.rows, missing, limit)
    done = _done(plan, method, found.rows)
    if done and all(scored.said["status"] == FAILED for scored in done):
        return f"failed on every split: {done[0].said['detail']}"
    if missing := _missing(plan, method, found.rows, found.splits):
        scored = f"{len(found.splits) - len(missing)} of {len(found.splits)} splits"
        size = f"of {found.rows} training rows"
        return trouble or f"stopped after {in_words(limit)} with {scored} {size}: {REMEDY}"
    return ""


def _grown(plan, reached, rows: int, found: Run, workers: Workers, say, rank_by: str) -> bool:
    """Score the methods for which there is time on more rows; return whether the first is done.

    Time is for the density that ignores x and the first method so far, then for the others, the
    most useful first: a step without the first would advise another for its speed.
    """
    here = [name for name in reached if reached[name] == found.rows]
    if (first := _first(plan, here, found, rank_by)) is None:
        return False
    ahead = [name for name in (BASELINE, first) if name in here]
    granted, left = {}, workers.left
    for name in dict.fromkeys([*ahead, *here]):
        exponent = _declared().get(name, _UNKNOWN)[1]
        rounds = math.ceil(len(_missing(plan, name, rows, found.splits)) / workers.jobs)
        seconds = _seconds(plan, name, found.rows) * (rows / found.rows) ** exponent
        if _SAFETY * rounds * seconds <= left:
            granted[name] = _SAFETY * rounds * seconds
            left -= granted[name]
    if not granted.keys() >= set(ahead):
        say(f"{found.rows} training rows: {rows} take {first} longer than is left")
        return False
    for place, name in enumerate(granted):
        later = sum(list(granted.values())[place + 1 :])
        if missing := _missing(plan, name, rows, found.splits):
            workers.score(name, rows, missing, max(granted[name], workers.left - later))
        if not _missing(plan, name, rows, found.splits):
            say(f"{name}: {_pace(plan, name, rows)} ({in_words(workers.left)} left)")
            reached[name] = rows
        elif name in ahead:
            reached |= dict.fromkeys(list(granted)[:place], found.rows)
            return False
    return True


def _first(plan, names: Sequence[str], found: Run, rank_by: str) -> str | None:
    """Return the best of the methods that failed on no split so far, None without any."""
    values = {}
    for name in names:
        said = [scored.said for scored in _done(plan, name, found.rows)]
        if all(each["status"] == OK for each in said):
            mean = np.mean([each[rank_by] for each in said])
            values[name] = mean if rank_by == LOG_DENSITY else -mean
    return max(values, key=values.get, default=None)


def _further(plan, compared, found: Run, workers: Workers, say, *, stack: bool) -> list[int]:
    """Score as many further splits as there is time for with all methods; return all splits.

    To `stack` them takes half the time of all splits once more.
    """

    def needed(numbers: Sequence[int]) -> float:
        missing = (len(_missing(plan, name, found.rows, numbers)) for name in compared)
        rounds = (math.ceil(count / workers.jobs) for count in missing)
        seconds = (_seconds(plan, name, found.rows) for name in compared)
        again = stack * 0.5 * math.ceil((len(found.splits) + len(numbers)) / workers.jobs)
        return _SAFETY * sum(each * (k + again) for each, k in zip(seconds, rounds, strict=True))

    if not compared:
        return found.splits
    rest = list(range(len(found.splits), len(plan.splits)))
    while rest and needed(rest) > workers.left:
        rest = rest[:-1]
    for method in compared:
        if missing := _missing(plan, method, found.rows, rest):
            trouble = workers.score(method, found.rows, missing, workers.left)
            also = f"; {trouble}" if trouble else ""
            say(f"{method}: {len(rest)} further splits ({in_words(workers.left)} left){also}")
    lost = {i for name in compared for i in _missing(plan, name, found.rows, rest)}
    splits = [*found.splits, *(i for i in rest if i not in lost)]
    if len(splits) < len(plan.splits):
        say(f"{len(splits)} of {len(plan.splits)} splits within the budget")
    return splits


def _stack(plan, found: Run, workers: Workers, say) -> None:
    """Score the mixture of the methods that failed on no split, if there is time for it."""
    done = found.scores
    sound = [name for name in done if all(each.said["status"] == OK for each in done[name])]
    if len(sound) < 2:
        return
    held = [
        np.stack([done[name][place].arrays["log_density"] for name in sound], axis=1)
        for place in range(len(found.splits))
    ]

    def weighted(tables: Sequence[np.ndarray]) -> dict:
        # A row of which nothing follows: where there is no other, weights are equal.
        tables = [*tables, np.zeros((1, len(sound)))]
        weights = stacking_weights(np.concatenate(tables)).round(3).tolist()
        kept = [(name, w) for name, w in zip(sound, weights, strict=True) if w]
        return {"estimators": [name for name, _ in kept], "weights": [w for _, w in kept]}

    # Of splits forward in time, the latest come first.
    past = plan.kind == FORWARD
    options = {
        i: weighted(([] if past else held[:k]) + held[k + 1 :]) for k, i in enumerate(found.splits)
    }
    scored = {i: read(plan, STACKED, found.rows, i) for i in found.splits}
    if missing := [i for i, x in scored.items() if x is None or x.said["options"] != options[i]]:
        trouble = workers.score(STACKED, found.rows, missing, workers.left, options)
        scored = {i: read(plan, STACKED, found.rows, i) for i in found.splits}
    if any(x is None or x.said["options"] != options[i] for i, x in scored.items()):
        found.skipped[STACKED] = trouble or "no time was left for it (--budget)"
        return
    found.stack, found.scores[STACKED] = weighted(held), list(scored.values())
    say(f"{STACKED}: {_pace(plan, STACKED, found.rows)} ({in_words(workers.left)} left)")


def _missing(plan: Plan, method: str, rows: int, numbers: Sequence[int]) -> list[int]:
    return [i for i in numbers if read(plan, method, rows, i) is None]


def _done(plan: Plan, method: str, rows: int) -> list[Scored]:
    found = (read(plan, method, rows, i) for i in range(len(plan.splits)))
    return [scored for scored in found if scored is not None]


def _seconds(plan: Plan, method: str, rows: int) -> float:
    """Return the measured seconds of a split; the first may have compiled what others use."""
    return float(np.min([scored.said["seconds"] for scored in _done(plan, method, rows)]))


def _pace(plan: Plan, method: str, rows: int) -> str:
    done = _done(plan, method, rows)
    failed = sum(scored.said["status"] == FAILED for scored in done)
    said = f"{len(done)} splits of {rows} rows, {in_words(_seconds(plan, method, rows))} each"
    return said + (f", {failed} failed" if failed else "")


def in_words(seconds: float) -> str:
    """Return a time as `0.4s`, `35s` or `130m`."""
    return f"{seconds:.2g}s" if seconds < 99.5 else f"{seconds / 60:.0f}m"
