"""Numbers, names of methods, tables and pages, as readers see them."""

import base64
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from markupsafe import Markup, escape

from kcde.methods import shown
from kcde.names import EXACT_DRAWS

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
    return (f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}").replace("-", "−")


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
    """Return a markdown table whose first `left` columns are left-aligned, the others right."""
    rule = [":---" if k < left else "---:" for k in range(len(header))]
    # A bar in a cell, as in |x|, would end the cell.
    cells = [[str(cell).replace("|", r"\|") for cell in line] for line in [header, rule, *rows]]
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)


def plain(value: float, form: str) -> str:
    """Return a value in a format, `–` for NaN."""
    return "–" if math.isnan(value) else format(value, form)


def count_of(numbers: Iterable[int], noun: str) -> str:
    """Return a count with its noun, `5 runs` or `3 to 5 runs`."""
    known = sorted(set(numbers))
    amount = f"{known[0]}" if len(known) == 1 else f"{known[0]} to {known[-1]}"
    return f"{amount} {noun}{'' if known == [1] else 's'}"


_VARIANTS = {"test-rows": "test rows only", "slice": "shown pair only", EXACT_DRAWS: "better draws"}
"""Variants that a table names, because the name of the method does not show them."""


def display(method: str) -> str:
    """Return the name of a method, or of a hypothesis on methods, that readers see."""
    # Scores name one of the two models of a pair.
    one = "-pair closer than KCEF"
    return shown(method.removeprefix("H0: ").replace(one, f"{one}-pair"))


def column_title(method: str, variant: str) -> str:
    """Return the title of a table's column: the method, and the variant where it needs saying."""
    said = _VARIANTS.get(variant)
    return f"{display(method)} ({said})" if said else display(method)


def round_to_half_decade(value: float) -> float:
    """Return the nearest of …, 0.1, 0.3, 1, 3, 10, … to a number, on a logarithmic scale."""
    if not (math.isfinite(value) and value > 0):
        return math.nan
    step = round(2 * math.log10(value))
    return float(f"{3 if step % 2 else 1}e{step // 2}")


def render(template: Path, content: Mapping[str, object], **options) -> str:
    """Return a page; the options are those of a Jinja environment."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader([template.parent, Path(__file__).parent])
    options = {"autoescape": True, "undefined": StrictUndefined, **options}
    environment = Environment(loader=loader, **options)
    environment.filters["code"] = _code
    return environment.get_template(template.name).render(content)


def _code(text: str) -> Markup:
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def uri(content: bytes, media_type: str) -> str:
    """Return a file as a data URI."""
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"
