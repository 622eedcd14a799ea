"""Options that several commands share, and how JSON options are read."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

DataDir = Annotated[Path, typer.Option(help="Folder of the raw data.")]
Catalogue = Annotated[
    Path | None, typer.Option(help="Another catalogue (CSV) than the built-in one.")
]


def graph(text: str) -> str | list[list[int]]:
    """Return the value of --graph: the name of a graph, or the parents of each column from 0.

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
    """Return the whole numbers of an option such as `1-4` or `2,3,5`.

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
    """Return the numbers of an option such as `0.5,1e-3`.

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
    """Return the `kcde.experiments.shards.Sharding` of --shard and --part.

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
    """Return the constructor arguments of --options.

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


def require_kinds(options: dict[str, Any], defaults: dict[str, Any]) -> None:
    """Raise `ValueError` if an option of --options is not of the kind of what it replaces.

    Parameters
    ----------
    options
        As `constructor_arguments` returns them.
    defaults
        What a constructor has for each. Where that is None, numbers are given.
    """
    for name, value in options.items():
        default = defaults.get(name)
        if value is None or name not in defaults or isinstance(default, str):
            continue
        if isinstance(default, bool):
            right, kind = isinstance(value, bool), "true or false"
        elif isinstance(default, int) and not isinstance(value, list):
            right, kind = isinstance(value, int) and not isinstance(value, bool), "a whole number"
        else:
            right, kind = _is_numeric(value), "a number"
        if not right:
            raise ValueError(f"--options: {name} must be {kind}; got {json.dumps(value)}")


def _is_numeric(value: Any) -> bool:
    """Return whether a value is a number, or a list of such, nested or not."""
    if isinstance(value, list):
        return all(map(_is_numeric, value))
    return isinstance(value, int | float) and not isinstance(value, bool)
