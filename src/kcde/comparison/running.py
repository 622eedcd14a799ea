"""Running the methods within a budget of time, quick ones first.

Two rounds over the methods in the order of their cost. In the first each does three splits. Where
these would take longer than what is left, as far as costs are declared, it is tried for its share,
what is left over the number of methods that wait, and the measured time decides; a method is
skipped untried only where a split would take many times that share. One that takes more than twice
what was expected, and more than its share, is stopped; the density that ignores x may take half of
what is left, and in the end the rest, as all are compared with it. In the second round all that
have scores do further splits, as many as there is time for with all of them, so that every method
has the same splits. Costs are those declared until a method is measured, times what this machine
took of them, once several methods show it.
"""

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

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

_HOPELESS = 4.0
"""Times its share of what is left: a method whose split is declared to take more is not tried."""

_BASELINE_SHARE = 0.5
"""Of what is left, for the density that ignores x."""

_MEASURED = 3
"""Methods from which the machine is known: their median leaves out one that is far off."""

_STEEP = 0.5
"""Exponent of the growth with the rows from which fewer rows are said that would fit."""

REMEDY = "a larger --budget, or fewer --rows"
"""How a method that was too slow can be compared."""

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
    """The time that is left of a budget in seconds, and what each process takes of it."""

    def __init__(self, budget: float, plan: Plan, jobs: int):
        self._end, self._plan = time.monotonic() + budget * (1.0 - _RESERVE), plan
        self.jobs = jobs

    def rounds(self, splits: Sequence[int]) -> int:
        """Return how many of some splits one process scores, of those that score at once."""
        return math.ceil(len(splits) / self.jobs)

    @property
    def left(self) -> float:
        """Seconds, not below 0."""
        return max(0.0, self._end - time.monotonic())

    @cached_property
    def start(self) -> float:
        """Seconds of a process before its first fit: more than declared on a busy machine."""
        before = self.left
        _score(self._plan, BASELINE, [], before)
        return max(costs.start_seconds(), before - self.left)


def run(plan: Plan, methods: Sequence[str], budget: float, say: Say, jobs: int = 1) -> Run:
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
    jobs
        Processes that score splits of a method at once.
    """
    clock = Clock(budget, plan, jobs)
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
    if BASELINE in done.skipped and not _first_round(
        plan, BASELINE, first, clock, clock.left, done
    ):
        del done.skipped[BASELINE]
        say(f"{BASELINE}: {len(first)} splits after all ({in_words(clock.left)} left)")
    done.splits = first if done.compared else []
    _second_round(plan, done, clock, say)
    return done


def _first_round(plan, method, first, clock, share, done) -> str:
    """Score the first splits; return why the method is skipped, "" if it is not."""
    if not (missing := _missing(plan, method, first)):
        return _refused(plan, method)
    if method == BASELINE:
        share = max(share, _BASELINE_SHARE * clock.left - clock.start)
    limit = share + clock.start
    if _needed(plan, method, missing, clock, done) > clock.left and not _done(plan, method):
        if _expected(plan, method, done) > _HOPELESS * share:
            return _too_slow(plan, method, missing, clock, done)
        most = min(clock.left, limit)
        trouble = _score(plan, method, missing, most, clock.jobs)
        if not _done(plan, method):
            return trouble or _stopped(plan, method, first, most)
        missing = _missing(plan, method, first)
    needed = _needed(plan, method, missing, clock, done)
    if missing and needed > clock.left:
        return _too_slow(plan, method, missing, clock, done)
    most = min(clock.left, limit if method == BASELINE else max(_MOST * needed, limit))
    trouble = _score(plan, method, missing, most, clock.jobs) if missing else ""
    if reason := _refused(plan, method):
        return reason
    if _missing(plan, method, first):
        return trouble or _stopped(plan, method, first, most)
    return ""


def _second_round(plan: Plan, done: Run, clock: Clock, say: Say) -> None:
    """Score as many further splits as there is time for with all methods."""
    rest = list(range(len(done.splits), len(plan.splits)))
    paces = {name: _seconds(plan, name) for name in done.compared}
    each = sum(paces.values()) * _SAFETY
    while rest:
        rounds = {name: clock.rounds(_missing(plan, name, rest)) for name in paces}
        needed = sum(paces[name] * rounds[name] for name in paces) * _SAFETY
        if needed == 0 or needed + clock.start * len(paces) <= clock.left:
            break
        rest = rest[:-1]
    for method in done.compared:
        missing = _missing(plan, method, rest)
        if not missing:
            continue
        trouble = _score(plan, method, missing, clock.left, clock.jobs)
        lost = f"; {trouble}" if trouble else ""
        say(f"{method}: {len(rest)} further splits ({in_words(clock.left)} left){lost}")
    common = [i for i in rest if not any(_missing(plan, name, [i]) for name in done.compared)]
    done.splits = [*done.splits, *common]
    if len(done.splits) < len(plan.splits) and done.compared:
        say(
            f"{len(done.splits)} of {len(plan.splits)} splits within the budget; one more of all "
            f"methods takes about {in_words(each + clock.start * len(paces))}, with the start of "
            "their processes"
        )


def _missing(plan: Plan, method: str, numbers: Sequence[int]) -> list[int]:
    return [i for i in numbers if not scoring.is_done(plan.folder, method, i)]


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
    machine = float(np.median(ratios)) if len(ratios) >= _MEASURED else 1.0
    return costs.cost(method).at(rows) * machine


def _needed(plan, method, missing: Sequence[int], clock: Clock, done: Run) -> float:
    """Return the seconds that some splits of a method are expected to take."""
    return _expected(plan, method, done) * clock.rounds(missing) + clock.start


def _too_slow(plan, method, missing: Sequence[int], clock: Clock, done: Run) -> str:
    cost, rows = costs.cost(method), plan.train_rows
    needed = _needed(plan, method, missing, clock, done)
    splits = "1 split" if len(missing) == 1 else f"{len(missing)} splits"
    take = "takes" if len(missing) == 1 else "take"
    said = f"{splits} of {rows} training rows {take} about {in_words(needed)}, "
    room = clock.left - clock.start
    if room < clock.start:
        return f"{said}and the budget is spent: {REMEDY}"
    enough = ""
    if cost.exponent >= _STEEP:
        enough = f", enough for about {_rounded(cost.rows_within(room, rows, needed))} rows"
    return f"{said}{in_words(clock.left)} are left{enough}: {REMEDY}"


def _stopped(plan: Plan, method: str, first: Sequence[int], seconds: float) -> str:
    scored = len(first) - len(_missing(plan, method, first))
    kept = ", which are kept" if scored else ""
    return (
        f"stopped after {in_words(seconds)} with {scored} of {len(first)} splits of "
        f"{plan.train_rows} training rows{kept}: {REMEDY}"
    )


def _rounded(count: int) -> int:
    """Return a number with two digits that are not 0."""
    digits = max(0, len(str(count)) - 2)
    return count // 10**digits * 10**digits


def _score(plan: Plan, method: str, numbers: Sequence[int], seconds: float, jobs: int = 1) -> str:
    """Score splits in processes of their own; return what went wrong with one, "" if nothing."""
    end = time.monotonic() + seconds
    command = [sys.executable, "-m", "kcde.comparison.worker", str(plan.folder), method]
    log = plan.folder / "splits" / f"{method}.log"
    log.parent.mkdir(exist_ok=True)
    with log.open("w", encoding="utf-8") as said:
        shares = [numbers[k::jobs] for k in range(max(1, min(jobs, len(numbers))))]
        processes = [
            subprocess.Popen(
                [*command, *map(str, share)], stdout=said, stderr=said, env=_environment()
            )
            for share in shares
        ]
        try:
            for process in processes:
                process.wait(timeout=max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            return ""
        finally:
            for process in processes:
                process.kill()
                process.wait()
    codes = [process.returncode for process in processes]
    if min(codes) < 0:
        return f"its process was ended by signal {-min(codes)}, as for want of memory"
    if max(codes):
        last = log.read_text(encoding="utf-8").strip().splitlines()
        return f"it stopped: {last[-1] if last else f'exit code {max(codes)}'}"
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
