"""Parts of all pages: numbers, tables, details, and how methods chose their parameters."""

import math
from collections.abc import Iterable, Sequence

from kcde.papers.artefact import Artefact

_SMALLEST = 1e-6
"""A p-value below this is given as a bound: the normal approximation is not accurate enough."""


def number(value: float) -> str:
    """Return a value in nats with two decimals, or fewer for a large one; `–` for NaN."""
    if math.isnan(value):
        return "–"
    if abs(value) < 100:
        return f"{value:.2f}".replace("-", "−")
    return (f"{value:.0f}" if abs(value) < 1e5 else f"{value:.1e}").replace("-", "−")


def significant(value: float) -> str:
    """Return a value with three significant digits, `–` for NaN."""
    if math.isnan(value):
        return "–"
    text = f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
    return text.replace("-", "−")


def probability(value: float) -> str:
    """Return a p-value with two decimals, or with two digits if it is small; `–` for NaN."""
    if math.isnan(value):
        return "–"
    if value < _SMALLEST:
        return f"< {probability(_SMALLEST)}"
    if value < 0.001:
        return f"{value:.0e}".replace("e-0", "e−")
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def magnitude(n: float) -> str:
    """Return a number of points with one digit, e.g. `1e7`."""
    digit, _, exponent = f"{n:.0e}".partition("e")
    return f"{digit}e{int(exponent)}"


def pipe_table(header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Return a markdown table whose first `left` columns are left-aligned, the others right.

    Parameters
    ----------
    header
        Column titles.
    rows
        With as many cells each.
    left
        Number of text columns at the left.

    Returns
    -------
    str
        With one line per row.
    """
    rule = [":---" if k < left else "---:" for k in range(len(header))]
    lines = [header, rule, *rows]
    # A bar in a cell, as in |x|, would end the cell.
    cells = [[str(cell).replace("|", r"\|") for cell in line] for line in lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)


def count_of(numbers: Iterable[int], noun: str) -> str:
    """Return a count with its noun, `5 runs` or `3 to 5 runs`."""
    known = sorted(set(numbers))
    amount = f"{known[0]}" if len(known) == 1 else f"{known[0]} to {known[-1]}"
    return f"{amount} {noun}{'' if known == [1] else 's'}"


def details(artefact: Artefact, remarks: Iterable[str]) -> list[str]:
    """Return the folded paragraphs of a page: details, remarks, and what is reduced."""
    said = " ".join(filter(None, [artefact.text.details, *remarks]))
    parts = list(filter(None, [said, artefact.text.reduced]))
    return ["<details>\n<summary>Details</summary>", *parts, "</details>"] if parts else []
