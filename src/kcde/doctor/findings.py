"""The findings of an examination, each with a remedy if there is a problem."""

from collections.abc import Mapping
from dataclasses import dataclass, field

OK = "ok"
HINT = "hint"
"""The workflow runs, but something could be better."""
PROBLEM = "problem"
"""The workflow cannot run with these settings."""


@dataclass(frozen=True)
class Finding:
    """One thing that was examined.

    Parameters
    ----------
    name
        What was examined, in a word or two.
    value
        What was found, in words.
    status
        `OK`, `HINT` or `PROBLEM`.
    remedy
        What to do about it; every hint and problem has one.
    facts
        The same as numbers and names, for programs.

    Raises
    ------
    ValueError
        If a hint or a problem has no remedy.
    """

    name: str
    value: str
    status: str = OK
    remedy: str = ""
    facts: Mapping = field(default_factory=dict)

    def __post_init__(self):
        if self.status != OK and not self.remedy:
            raise ValueError(f"{self.name}: a {self.status} needs a remedy")


@dataclass(frozen=True)
class Report:
    """What was found and what will be used, as lists of findings in the order of output."""

    found: list[Finding]
    used: list[Finding]

    @property
    def problems(self) -> list[Finding]:
        """The findings that keep the workflow from running."""
        return [each for each in [*self.found, *self.used] if each.status == PROBLEM]
