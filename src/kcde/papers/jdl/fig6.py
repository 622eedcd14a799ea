"""jdl figure 6: seconds of a fit and of conditional expectations; claims J9 and J16."""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from kcde.evidence import tolerances
from kcde.evidence.deciding import Missing, all_of, decider
from kcde.evidence.verdicts import UNDECIDED
from kcde.metrics.names import MATCHED
from kcde.papers.artefact import Artefact, Decision
from kcde.papers.jdl import _moments
from kcde.papers.jdl._curve_plots import PlotSpec, drawer
from kcde.papers.jdl._curves import (
    SCHEDULED,
    SOLVED,
    TIMINGS,
    WHOLE,
    by_repetition,
    frame,
    panels,
    placed_by,
    tidy,
    timed,
    timing_rows,
)
from kcde.papers.jdl._moments import (
    DIMENSIONS,
    SIZES,
    UNREDUCED,
    named,
    verdict,
)
from kcde.papers.jdl._paired import each_or_missing

_METHODS = ("JDL", "JPDL", "CME")
_SIMILAR = (0.5, 2.0)
_FASTER = 10.0
_AT_DIMENSION, _PUBLISHED = 3, 10_000_000
_SLOWER = 1.5
_DRAWN = f"{MATCHED}{WHOLE}"

draw = drawer(PlotSpec("wall-clock seconds", methods={UNREDUCED: "unreduced program"}))


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of the seconds at matched bandwidths, with the factors and without.

    Besides them those of the semidefinite program of JPDL as the paper states it.
    """
    solved = placed_by(panels, timed(scores))
    solved = solved[solved["series"] == SCHEDULED]
    # Without constraints there is no program.
    shown = solved[(solved["method"] != UNREDUCED) | solved["constrained"]]
    return frame(timing_rows(shown))


class Crossing(NamedTuple):
    """From which n on JPDL is faster than JDL and CME, all with constraints, at d = 3.

    Attributes
    ----------
    held
        Whether it is slower at the smallest n and faster from some n on; None where it is slower
        up to the largest n, but that is not yet the largest of the paper.
    always
        Whether it is faster at every n.
    words
        With the numbers.
    """

    held: bool | None
    always: bool
    words: str


@decider
def similar_and_faster(scores: pd.DataFrame) -> Decision:
    """Decide claim J9: JDL and CME cost the same without constraints, JPDL a tenth or less.

    And with constraints at d = 3 JPDL wins at large n only: by the semidefinite program as the
    paper states it where that was run, else by ours. At d = 3 it is not run, because its Gram
    matrix is 210 x 210 with 22155 entries in the cone. Medians over repetitions of the seconds of
    the solution and of 5000 expectations, at every n and d, factors left out; as amended, with the
    factors and at matched bandwidths. It fails where one of the three is not so; it is undecided,
    too, where JPDL does not win at these n, or wins at all n, but only with our reduced program.
    """
    tidied = tidy(timed(scores))
    amended, _ = each_or_missing(lambda metric: _ordered(tidied, metric), [_DRAWN])
    return replace(_ordered(tidied, SOLVED), amended=next(iter(amended), None))


def _ordered(tidied: pd.DataFrame, metric: str) -> Decision:
    """Decide J9 by the seconds of a metric of `timed`."""
    similar, faster, listed = [], [], []
    for d in DIMENSIONS:
        jdl, jpdl, cme = (_medians(tidied, metric, name, d, False) for name in _METHODS)
        similar += list((jdl / cme).dropna())
        faster += list(pd.concat([jdl / jpdl, cme / jpdl]).dropna())
        listed.append(f"d = {d}: {_ratios(jdl, jpdl, cme)}")
    crossings = [_crossing(tidied, name, metric) for name in ("JPDL", UNREDUCED)]
    wins = _of_the_paper(*crossings)
    parts = {
        "JDL and CME cost the same": verdict(
            all(_SIMILAR[0] <= ratio <= _SIMILAR[1] for ratio in similar)
        ),
        "JPDL is ten times faster": verdict(all(ratio >= _FASTER for ratio in faster)),
        "constrained JPDL wins at large n only": UNDECIDED if wins is None else verdict(wins),
    }
    listed += [crossing.words for crossing in crossings]
    listed.append(_unreduced(tidied, metric))
    reason = f"ratios of median seconds ({_named(metric)}), by n, unconstrained, "
    reason += "; ".join(part for part in listed if part)
    return Decision(all_of(parts.values()), reason, parts)


@decider
def constraints_cost_little(scores: pd.DataFrame) -> Decision:
    """Decide claim J16: with constraints, JDL and CME take less than 1.5 times as long in all.

    Ratio of the medians over repetitions of the seconds of factors, solution and 5000 expectations
    together, at every n and d; as amended, at matched bandwidths.
    """
    tidied = tidy(timed(scores))
    amended, _ = each_or_missing(lambda metric: _little(tidied, metric), [_DRAWN])
    return replace(_little(tidied, WHOLE), amended=next(iter(amended), None))


def _little(tidied: pd.DataFrame, metric: str) -> Decision:
    """Decide J16 by the seconds of a metric of `timed`."""
    parts, listed = {}, []
    for method in ("JDL", "CME"):
        for d in DIMENSIONS:
            held, free = (_medians(tidied, metric, method, d, limits) for limits in (True, False))
            ratio = held / free
            parts[f"{method} at d = {d}"] = verdict(bool((ratio.dropna() < _SLOWER).all()))
            listed.append(f"{method} at d = {d} {_curve(ratio)}")
    reason = f"seconds ({_named(metric)}), "
    reason += "constrained over unconstrained, medians by n: "
    return Decision(all_of(parts.values()), reason + "; ".join(listed), parts)


def by_timing(scores: pd.DataFrame) -> dict[str, dict[str, Decision]]:
    """Decide J9 and J16 under each reading of what is timed."""
    tidied = tidy(timed(scores))
    tests = {"J9": decider(_ordered), "J16": decider(_little)}
    return {
        claim: {name: test(tidied, metric) for name, metric in TIMINGS.items()}
        for claim, test in tests.items()
    }


def _named(metric: str) -> str:
    return next(name for name, each in TIMINGS.items() if each == metric)


def _medians(
    tidied: pd.DataFrame, metric: str, method: str, d: int, constrained: bool
) -> pd.Series:
    """Return median seconds by n."""
    table = by_repetition(tidied, metric, method, d, constrained)
    medians = table.median().dropna()
    if not set(SIZES) <= set(medians.index):
        wanted = " and ".join(f"{n:g}" for n in SIZES)
        raise Missing(f"no seconds of {named(method, d, constrained)}, n = {wanted}")
    return medians


def _ratios(jdl: pd.Series, jpdl: pd.Series, cme: pd.Series) -> str:
    ratios = {"JDL/CME": jdl / cme, "JDL/JPDL": jdl / jpdl, "CME/JPDL": cme / jpdl}
    return "; ".join(f"{name} {_curve(ratio.dropna())}" for name, ratio in ratios.items())


def _crossing(tidied: pd.DataFrame, method: str, metric: str) -> Crossing:
    """Compare JPDL with the faster of JDL and CME, with constraints."""
    place = f"constrained {method} at d = {_AT_DIMENSION}"
    ours = by_repetition(tidied, metric, method, _AT_DIMENSION, True).median().dropna()
    if not len(ours):
        return Crossing(None, False, f"{place} was not run or failed")
    rivals = [_medians(tidied, metric, name, _AT_DIMENSION, True) for name in ("JDL", "CME")]
    best = pd.concat(rivals, axis=1).dropna().min(axis=1)
    ratio = (ours / best).dropna()
    wins = (ratio < 1.0).to_list()
    words = f"{place} takes {_curve(ratio)} times as long as the faster of JDL and CME"
    if not any(wins):
        reached = len(wins) and ratio.index[-1] >= _PUBLISHED
        return Crossing(False if reached else None, False, f"{words}: no crossing at these n")
    start = len(wins) - wins[::-1].index(False) if False in wins else 0
    if start == len(wins):
        return Crossing(False, False, f"{words}: it does not stay faster")
    return Crossing(not wins[0], start == 0, f"{words}: faster from n = {ratio.index[start]:g} on")


def _of_the_paper(ours: Crossing, unreduced: Crossing) -> bool | None:
    """Return whether JPDL wins at large n only, by a program that is as slow as the paper's.

    Our program is faster: where it wins at every n, this says nothing about the paper's.
    """
    if unreduced.held is not None:
        return unreduced.held
    return None if ours.always else ours.held


def _unreduced(tidied: pd.DataFrame, metric: str) -> str:
    """State the seconds of the semidefinite program of the paper relative to ours."""
    parts = []
    for d in DIMENSIONS:
        full, ours = (
            by_repetition(tidied, metric, name, d, True).median().dropna()
            for name in (UNREDUCED, "JPDL")
        )
        ratio = (full / ours).dropna()
        if len(ratio):
            parts.append(f"d = {d} {_curve(ratio)}")
    if not parts:
        return ""
    return f"unreduced program over ours, constrained, {'; '.join(parts)}"


def _curve(values: pd.Series) -> str:
    """Return values by n, to at most two digits, since seconds do not repeat."""
    return ", ".join(f"{value:.2g}" if value < 99.5 else f"{value:.0f}" for value in values)


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={"moments": {"methods": ["JDL", "JPDL", "JPDL-unreduced", "CME"]}},
    build=build,
    draw=draw,
    deciders={
        "J9": similar_and_faster,
        "J16": constraints_cost_little,
    },
    readers={"J-time": by_timing},
    trial="matrix",
    remarks=_moments.remarks,
    tolerance=tolerances.VERDICTS,  # its curves are of seconds
)
