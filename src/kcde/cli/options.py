"""Options that several commands share, and how JSON options are read."""

import gc
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from typer import Option

DataDir = Annotated[Path, Option(help="Folder of the raw data.")]
Catalogue = Annotated[Path | None, Option(help="Another catalogue (CSV) than the built-in one.")]
Backend = Annotated[str, Option(help="auto, numpy or cupy.")]


@contextmanager
def importing() -> Iterator[None]:
    """Collect no garbage meanwhile: imports leave none, and to look for it costs a seventh."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # nor look through what was imported, later
        gc.enable()


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


def json_object(text: str, option: str, example: str) -> dict:
    """Return the object of an option in JSON, or raise `ValueError`."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{option} is not JSON ({error}): {text}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{option} must be a JSON object such as {example}; got {text}")
    return found
