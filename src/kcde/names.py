"""The names of the variants of a method, and what to suggest for a name that is not known."""

import difflib
from collections.abc import Iterable

AS_PUBLISHED = "as-published"
"""The variant that answers a published number."""

OURS = "ours"
"""Every other variant."""


def nearest(name: object, known: Iterable[str]) -> str:
    """Return a question that suggests the most similar name, "" where none is similar.

    Parameters
    ----------
    name
        As given; upper and lower case count as the same.
    known
        The names there are.
    """
    lower = {str(candidate).lower(): candidate for candidate in known}
    close = difflib.get_close_matches(str(name).lower(), lower, n=1)
    return f" (did you mean `{lower[close[0]]}`?)" if close else ""
