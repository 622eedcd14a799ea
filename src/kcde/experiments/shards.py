"""One experiment as several jobs: each computes some repetitions, and one writes the scores.

A repetition depends on its number alone, so that the scores are the same for any number of jobs,
but for the seconds, which are measured.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import joblib

from kcde.files import atomic


@dataclass(frozen=True)
class Shard:
    """Every `count`-th repetition from the `index`-th on, counted from 1."""

    index: int
    count: int

    def __post_init__(self):
        if not 1 <= self.index <= self.count:
            raise ValueError(
                f"a shard is i/k with 1 ≤ i ≤ k, as 2/4; got {self.index}/{self.count}"
            )

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Return what `2/4` says.

        Raises
        ------
        ValueError
            If the text is not of that form, or the first number is not within the second.
        """
        index, _, count = text.partition("/")
        if not (index.isdecimal() and count.isdecimal()):
            raise ValueError(f"a shard is i/k with 1 ≤ i ≤ k, as 2/4; got {text!r}")
        return cls(int(index), int(count))

    def of(self, units: Sequence[int]) -> list[int]:
        """Return the units of this shard, in their order."""
        return list(units[self.index - 1 :: self.count])


@dataclass(frozen=True)
class Cut:
    """How a job is cut: it computes everything, one shard, or nothing but what the shards left.

    Attributes
    ----------
    shard
        Whose outcomes this job keeps, instead of writing scores; None: this job writes scores.
    parts
        Files of all shards; none: this job computes for itself.
    """

    shard: Shard | None = None
    parts: tuple[Path, ...] = ()


WHOLE = Cut()


def outcomes(
    identity: Mapping,
    units: Sequence[int],
    work: Callable[[Sequence[int]], Sequence],
    out: Path,
    cut: Cut = WHOLE,
) -> list | None:
    """Return the outcome of every unit, or None where a shard has kept its own.

    Parameters
    ----------
    identity
        What the job is, without how it is cut: parts of another job are refused.
    units
        Numbers of repetitions.
    work
        Maps some of the units to an outcome each, in their order.
    out
        Where a shard's outcomes are kept.
    cut
        What of it is computed here.

    Raises
    ------
    ValueError
        If a shard's file is named as scores are, a part belongs to another job, or the parts
        together are not the units, each once.
    """
    if cut.shard is not None and out.suffix == ".csv":
        raise ValueError(f"a shard keeps no scores: name its file {out.with_suffix('.joblib')}")
    if cut.shard is not None:
        own = cut.shard.of(units)
        with atomic(out) as temporary:
            found = work(own) if own else []
            kept = {"identity": dict(identity), "outcomes": dict(zip(own, found, strict=True))}
            joblib.dump(kept, temporary)
        return None
    if not cut.parts:
        return list(work(units))
    found = {}
    for path in cut.parts:
        kept = joblib.load(path)
        if kept["identity"] != dict(identity):
            raise ValueError(f"{path} is a part of another job: delete it and run its shard again")
        if twice := sorted(found.keys() & kept["outcomes"].keys()):
            raise ValueError(f"{path} repeats the repetitions {twice}: give each part once")
        found |= kept["outcomes"]
    if missing := sorted(set(units) - found.keys()):
        raise ValueError(f"no part has the repetitions {missing}: give the parts of all shards")
    return [found[unit] for unit in units]
