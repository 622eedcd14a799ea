"""One job as several processes: each computes some repetitions, and one writes the scores.

A repetition depends on its number alone, so that the scores are the same for any number of
processes, except for the measured seconds. The part of a shard is one `.npz` of arrays and JSON,
which is read without running code.
"""

import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kcde.experiments.job import Outcome
from kcde.files import atomic

_JSON_MEMBER = "json"
"""The member of a part that holds everything but arrays, as JSON."""


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
        """Return the shard that a text such as `2/4` stands for.

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
class Sharding:
    """Part of a job that a process runs: everything, one shard, or the collection of all parts.

    Attributes
    ----------
    shard
        Shard whose outcomes this job writes instead of scores; None: it writes scores.
    parts
        Files of all shards; none: this job computes for itself.
    """

    shard: Shard | None = None
    parts: tuple[Path, ...] = ()

    def check(self, out: Path) -> None:
        """Raise `ValueError` for a file with the suffix of the other kind.

        Raises
        ------
        ValueError
            If a shard's file is named as scores are, or writing scores would replace a part.
        """
        if self.shard is not None and out.suffix == ".csv":
            raise ValueError(
                f"a shard keeps no scores: name its file {out.with_suffix('.part.npz')}"
            )
        if out.with_suffix(".npz") in self.parts:
            raise ValueError(f"{out} would replace the part next to it: name it differently")


UNSHARDED = Sharding()


def write_part(
    path: Path,
    identity: Mapping,
    units: Sequence[int],
    compute: Callable[[Sequence[int]], Sequence[Sequence[Outcome]]],
) -> None:
    """Compute some repetitions and write their part.

    Parameters
    ----------
    path
        Where. A folder that cannot be written to is found before anything is computed.
    identity
        Identifies the jobs, without their sharding: parts of other jobs are refused.
    units
        Numbers of the shard's repetitions.
    compute
        Maps them to the outcomes of each, one a job.

    Raises
    ------
    TypeError
        If an outcome holds anything but host arrays and values that JSON can represent.
    """
    arrays: dict[str, np.ndarray] = {}
    told = []
    with atomic(path) as temporary:
        for unit, outcomes in zip(units, compute(units), strict=True):
            for place, outcome in enumerate(outcomes):
                for name, values in outcome.arrays.items():
                    arrays[f"{unit}/{place}/{name}"] = _on_host(name, values)
            told.append((unit, [(one.rows, one.chosen, list(one.arrays)) for one in outcomes]))
        text = _json({"identity": identity, "outcomes": told})
        arrays[_JSON_MEMBER] = np.frombuffer(text.encode(), dtype=np.uint8)
        with temporary.open("wb") as file:
            np.savez_compressed(file, **arrays)


def collect_parts(
    paths: Sequence[Path], identity: Mapping, units: Sequence[int]
) -> list[list[Outcome]]:
    """Return the outcomes of every repetition from the parts of all shards.

    Parameters
    ----------
    paths
        The parts.
    identity
        Identifies the jobs.
    units
        Numbers of all repetitions.

    Raises
    ------
    ValueError
        If a file is no part, or one of other jobs, or the parts together are not the units, each
        once.
    """
    found: dict[int, list[Outcome]] = {}
    for path in paths:
        theirs, outcomes = _read(path)
        if theirs != json.loads(_json(identity)):
            raise ValueError(f"{path} is a part of another job: delete it and run its shard again")
        if twice := sorted(found.keys() & outcomes.keys()):
            raise ValueError(f"{path} repeats the repetitions {twice}: give each part once")
        found |= outcomes
    if missing := sorted(set(units) - found.keys()):
        raise ValueError(f"no part has the repetitions {missing}: give the parts of all shards")
    return [found[unit] for unit in units]


def _read(path: Path) -> tuple[Any, dict[int, list[Outcome]]]:
    """Return the identity and the outcomes that a part holds."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            told = json.loads(stored[_JSON_MEMBER].tobytes())
            outcomes = {
                unit: [
                    Outcome(rows, chosen, {name: stored[f"{unit}/{i}/{name}"] for name in names})
                    for i, (rows, chosen, names) in enumerate(each)
                ]
                for unit, each in told["outcomes"]
            }
    except (ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{path} is no part that a shard left ({error}): delete it and run its shard again"
        ) from None
    return told["identity"], outcomes


def _on_host(name: str, values: object) -> np.ndarray:
    if not isinstance(values, np.ndarray):
        raise TypeError(f"{name} is no array of the host but a {type(values).__name__}")
    return values


def _json(value: object) -> str:
    """Return JSON, with numbers of numpy as those of Python."""

    def plain(each):
        if isinstance(each, np.generic):
            return each.item()
        raise TypeError(f"an outcome says in JSON what it can: {type(each).__name__} is no such")

    return json.dumps(value, default=plain)
