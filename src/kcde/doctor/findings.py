"""What an examination says: one finding a line, each with what to do where something is amiss."""

from collections.abc import Mapping
from dataclasses import dataclass, field

OK = "ok"
HINT = "hint"
"""The workflow runs, but something could be better."""
PROBLEM = "problem"
"""The workflow cannot run as it is asked to."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Parameters
    ----------
    name
        What was looked at, in a word or two.
    value
        What was found, in words.
    status
        `OK`, `HINT` or `PROBLEM`.
    remedy
        What to do about it; stands with every hint and problem.
    facts
        The same in numbers and names, for machines.

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
    """What was found, and what will be used, each a list of findings in the order of reading."""

    found: list[Finding]
    used: list[Finding]

    @property
    def problems(self) -> list[Finding]:
        """Those findings that keep the workflow from running."""
        return [each for each in [*self.found, *self.used] if each.status == PROBLEM]
