"""Plain values, as JSON and YAML have them, as the fields of a dataclass declare them."""

import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def check(name: str, value: Any, limits: Mapping[str, Any]) -> None:
    """Raise `ValueError` if a value, or one in a tuple, is beyond its limits; None is within.

    These are `at_least`, `at_most` and `choices`.
    """
    if value is None:
        return
    for each in value if isinstance(value, tuple) else (value,):
        if "at_least" in limits and not each >= limits["at_least"]:
            raise ValueError(f"{name} must be at least {limits['at_least']}; got {each}")
        if "at_most" in limits and not each <= limits["at_most"]:
            raise ValueError(f"{name} must be at most {limits['at_most']}; got {each}")
        if each not in limits.get("choices", (each,)):
            raise ValueError(f"{name} must be one of {', '.join(limits['choices'])}; got {each!r}")


def of_kind(name: str, kind: Any, value: Any) -> Any:
    """Return a plain value as of a type: a list as a tuple, a text as a path; or `ValueError`."""
    if typing.get_origin(kind) is tuple and isinstance(value, list):
        return tuple(of_kind(name, typing.get_args(kind)[0], one) for one in value)
    kinds = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    plain = tuple(typing.get_origin(each) or each for each in kinds)
    if isinstance(value, plain) and (type(value) is not bool or bool in plain):
        return value
    for made, other in ((float, int), (Path, str)):
        if made in plain and type(value) is other:
            return made(value)
    names = " or ".join(each.__name__ for each in plain)
    raise ValueError(f"{name} must be of the kind {names}; got {value!r}")
