"""Running the methods within a budget of time, quick ones first.

Two rounds over the methods in the order of their cost. In the first each does three splits, unless
these would take longer than what is left: then it is skipped, with the number of rows that it could
do in that time. One that takes more than twice what was expected, and more than its share of what
is left for all that wait, is stopped; the density that ignores x is not, as all are compared with
it. In the second all that are left do further splits, as many as there is time for with all of
them, so that every method has the same splits. Costs are those declared until a method is measured,
times what this machine took of them so far.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from kcde.comparison import costs, scoring
from kcde.comparison.plan import Plan
from kcde.methods import BASELINE

FIRST_ROUND = 3
"""Splits of the first round."""

_RESERVE = 0.1  # of the budget, for the fit to all rows and the page
_SAFETY = 1.2
_MOST = 2.0
"""Times the expected seconds, or else its share of what is left, may a method take of the first
round: one that is slower than was declared leaves time for the others."""

Say = Callable[[str], None]


@dataclass
class Run:
    """What a comparison has done.

    Attributes
    ----------
    methods
        Those that were asked for, quick ones first.
    skipped
        Method to the reason why it has no scores.
    splits
        Numbers of the splits that all others have.
    """

    methods: list[str]
    skipped: dict[str, str] = field(default_factory=dict)
    splits: list[int] = field(default_factory=list)

    @property
    def compared(self) -> list[str]:
        """The methods with scores."""
        return [name for name in self.methods if name not in self.skipped]


class Clock:
    """The time that is left of a budget in seconds."""

    def __init__(self, budget: float):
        self._end = time.monotonic() + budget * (1.0 - _RESERVE)

    @property
    def left(self) -> float:
        """Seconds, not below 0."""
        return max(0.0, self._end - time.monotonic())


def run(plan: Plan, methods: Sequence[str], budget: float, say: Say) -> Run:
    """Score the methods on the splits of a plan, and go on where an earlier run stopped.

    Parameters
    ----------
    plan
        What is compared.
    methods
        Keys of `kcde.methods.METHODS`.
    budget
        Seconds.
    say
        Is told what is done and how long the rest will take.
    """
    clock = Clock(budget)
    done = Run(costs.by_cost(list(methods), plan.train_rows))
    first = list(range(min(FIRST_ROUND, len(plan.splits))))
    for place, method in enumerate(done.methods, 1):
        share = clock.left / (len(done.methods) - place + 1)
        if reason := _first_round(plan, method, first, clock, share, done):
            done.skipped[method] = reason
            say(f"{method}: skipped, {reason}")
        else:
            say(
                f"{method}: {len(first)} of {len(plan.splits)} splits, {_pace(plan, method)} "
                f"({place} of {len(done.methods)} methods, {in_words(clock.left)} left)"
            )
    done.splits = first if done.compared else []
    _second_round(plan, done, clock, say)
    return done


def collected(plan: Plan, methods: Sequence[str]) -> Run:
    """Return what there is of methods that other processes have scored on every split of a plan.

    Parameters
    ----------
    plan
        What is compared.
    methods
        Keys of `kcde.methods.METHODS`.

    Raises
    ------
    ValueError
        If a split of a method has no result.
    """
    done = Run(costs.by_cost(list(methods), plan.train_rows))
    every = list(range(len(plan.splits)))
    for method in done.methods:
        if missing := _missing(plan, method, every):
            folder = scoring.paths(plan.folder, method, 0)[0].parent
            raise ValueError(
                f"{method} has no result of the splits {', '.join(map(str, missing))} (from 0): "
                f"delete {folder} and score it again"
            )
        if reason := _refused(plan, method):
            done.skipped[method] = reason
    done.splits = every if done.compared else []
    return done


def _first_round(plan, method, first, clock, share, done) -> str:
    """Score the first splits; return why the method is skipped, "" if it is not."""
    if not (missing := _missing(plan, method, first)):
        return _refused(plan, method)
    one = _expected(plan, method, done)
    needed = one * len(missing) + costs.start_seconds()
    if needed > clock.left:
        return _too_slow(plan, method, len(missing), clock.left, needed)
    most = clock.left if method == BASELINE else min(clock.left, max(_MOST * needed, share))
    trouble = _score(plan, method, missing, most)
    if reason := _refused(plan, method):
        return reason
    if missing := _missing(plan, method, first):
        if trouble:
            return trouble
        done_splits, rows = len(first) - len(missing), plan.train_rows
        kept = ", which are kept" if done_splits else ""
        return (
            f"stopped after {in_words(most)} with {done_splits} of {len(first)} splits of {rows} "
            f"training rows{kept}: a larger --budget"
        )
    return ""


def _second_round(plan: Plan, done: Run, clock: Clock, say: Say) -> None:
    """Score as many further splits as there is time for with all methods."""
    rest = list(range(len(done.splits), len(plan.splits)))
    paces = {name: _seconds(plan, name) for name in done.compared}
    each = sum(paces.values()) * _SAFETY
    started = costs.start_seconds() * len(paces)
    while rest:
        needed = sum(paces[name] * len(_missing(plan, name, rest)) for name in paces) * _SAFETY
        if needed == 0 or needed + started <= clock.left:
            break
        rest = rest[:-1]
    for method in done.compared:
        missing = _missing(plan, method, rest)
        if not missing:
            continue
        trouble = _score(plan, method, missing, clock.left)
        lost = f"; {trouble}" if trouble else ""
        say(f"{method}: {len(rest)} further splits ({in_words(clock.left)} left){lost}")
    common = [i for i in rest if not any(_missing(plan, name, [i]) for name in done.compared)]
    done.splits = [*done.splits, *common]
    if len(done.splits) < len(plan.splits) and done.compared:
        say(
            f"{len(done.splits)} of {len(plan.splits)} splits within the budget; one more of all "
            f"methods takes about {in_words(each)}"
        )


def _missing(plan: Plan, method: str, numbers: Sequence[int]) -> list[int]:
    return [i for i in numbers if scoring.read(plan.folder, method, i) is None]


def _done(plan: Plan, method: str) -> list[dict]:
    found = (scoring.read(plan.folder, method, i) for i in range(len(plan.splits)))
    return [said for said in found if said is not None]


def _refused(plan: Plan, method: str) -> str:
    """Return what a method said that cannot take so many rows, or that failed on every split."""
    done = _done(plan, method)
    for said in done:
        if said["status"] == scoring.TOO_LARGE:
            return said["detail"]
    if done and all(said["status"] == scoring.FAILED for said in done):
        return f"failed on every split: {done[0]['detail']}"
    return ""


def _seconds(plan: Plan, method: str) -> float:
    """Return the measured seconds of a split; the first may have compiled what others use."""
    return float(np.median([said["seconds"] for said in _done(plan, method)]))


def _expected(plan: Plan, method: str, done: Run) -> float:
    """Return the seconds of a split of a method: as measured, or as declared on this machine."""
    if _done(plan, method):
        return _seconds(plan, method)
    rows = plan.train_rows
    ratios = [
        _seconds(plan, name) / costs.cost(name).at(rows)
        for name in done.methods
        if name not in done.skipped and _done(plan, name) and costs.cost(name).at(rows) > 1.0
    ]
    return costs.cost(method).at(rows) * (float(np.median(ratios)) if ratios else 1.0)


def _too_slow(plan: Plan, method: str, splits: int, left: float, needed: float) -> str:
    cost, rows = costs.cost(method), plan.train_rows
    said = f"{splits} splits of {rows} training rows take about {in_words(needed)}, "
    if left < 2.0 * costs.start_seconds():
        return f"{said}and the budget is spent: a larger --budget"
    possible = cost.rows_within(left - costs.start_seconds(), rows, needed)
    return f"{said}{in_words(left)} are left, enough for about {_rounded(possible)} rows"


def _rounded(count: int) -> int:
    """Return a number with two digits that are not 0."""
    digits = max(0, len(str(count)) - 2)
    return count // 10**digits * 10**digits


def _score(plan: Plan, method: str, numbers: Sequence[int], seconds: float) -> str:
    """Score splits in a process of its own; return what went wrong with it, "" if nothing."""
    command = [sys.executable, "-m", "kcde.comparison.worker", str(plan.folder), method]
    log = plan.folder / "splits" / f"{method}.log"
    log.parent.mkdir(exist_ok=True)
    with log.open("w", encoding="utf-8") as said:
        process = subprocess.Popen(
            [*command, *map(str, numbers)], stdout=said, stderr=said, env=_environment()
        )
        try:
            process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return ""
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    if process.returncode < 0:
        return f"its process was ended by signal {-process.returncode}, as for want of memory"
    if process.returncode:
        last = log.read_text(encoding="utf-8").strip().splitlines()
        return f"it stopped: {last[-1] if last else f'exit code {process.returncode}'}"
    return ""


def _environment() -> dict[str, str]:
    """Return the environment of a worker, which imports the same package."""
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    known = os.environ.get("PYTHONPATH")
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [package, known]))}


def _pace(plan: Plan, method: str) -> str:
    failed = sum(said["status"] == scoring.FAILED for said in _done(plan, method))
    more = f", {failed} failed" if failed else ""
    return f"{in_words(_seconds(plan, method))} each{more}"


def in_words(seconds: float) -> str:
    """Return a time as `0.4s`, `35s`, `2m 10s` or `1h 5m`."""
    if seconds < 1:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}m {rest}s" if rest else f"{minutes}m"
    return f"{minutes // 60}h {minutes % 60}m"
