"""Options that several commands share, and how JSON options are read."""

import json
from pathlib import Path
from typing import Annotated

import typer

DataDir = Annotated[Path, typer.Option(help="Folder of the raw data.")]
Catalogue = Annotated[
    Path | None, typer.Option(help="Another catalogue (CSV) than the built-in one.")
]


def graph(text: str) -> str | list[list[int]]:
    """Return what --graph says: the name of a graph, or the parents of each column from 0.

    Raises
    ------
    ValueError
        If the text is neither a name nor a JSON list of lists.
    """
    if text.isalpha():
        return text
    try:
        parsed = json.loads(text)
    except json.JSONDecodeError:
        parsed = None
    if not isinstance(parsed, list) or not all(isinstance(each, list) for each in parsed):
        raise ValueError(
            "--graph must be full, markov, or a JSON list with the parents of each column, counted "
            f"from 0, such as [[],[0],[0,1]]; got {text}"
        )
    return parsed


def whole_numbers(text: str, option: str) -> tuple[int, ...]:
    """Return what an option such as `1-4` or `2,3,5` says.

    Raises
    ------
    ValueError
        If the text is neither a range nor a list, or the range is empty.
    """
    parts = [part.strip() for part in text.split(",")]
    numbers = []
    for part in parts:
        ends = part.split("-")
        if len(ends) > 2 or not all(end.isdecimal() for end in ends):
            raise ValueError(f"{option} must be a range or a list, as 1-4 or 2,3,5; got {text}")
        numbers += range(int(ends[0]), int(ends[-1]) + 1)
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"{option} must name each number once, and at least one; got {text}")
    return tuple(numbers)


def numbers(text: str, option: str) -> tuple[float, ...]:
    """Return what an option such as `0.5,1e-3` says.

    Raises
    ------
    ValueError
        If the text is not a list of numbers, each once.
    """
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or len(set(found)) < len(found):
        raise ValueError(f"{option} must list numbers, each once, as 0.5,1e-3; got {text}")
    return found


def sharding(shard: str | None, parts: list[Path] | None):
    """Return how --shard and --part shard a job, a `kcde.experiments.shards.Sharding`.

    Raises
    ------
    ValueError
        If the shard is not i/k, or both are given.
    """
    from kcde.experiments.shards import Shard, Sharding

    if shard and parts:
        raise ValueError("--shard computes and --part collects: give one of the two")
    return Sharding(Shard.parse(shard) if shard else None, tuple(parts or ()))


def constructor_arguments(text: str) -> dict:
    """Return what --options says.

    Raises
    ------
    ValueError
        If the text is not a JSON object.
    """
    try:
        parsed = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"--options is not JSON ({error}): {text}") from None
    if not isinstance(parsed, dict):
        raise ValueError(f'--options must be a JSON object such as {{"folds": 5}}; got {text}')
    return parsed
