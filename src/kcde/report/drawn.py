"""Tables and figures: the picture, the caption, and beside them what the paper says."""

import re
import struct
from typing import NamedTuple

from markupsafe import Markup

from kcde import webpage
from kcde.pages.methods import display
from kcde.papers import published
from kcde.papers.registry import ARTEFACTS
from kcde.report import findings, markdown, papers
from kcde.report.content import Tracked

_PUBLISHED = re.compile(r"(fig|table)\d+")
_SIZE = slice(16, 24)  # of the first chunk of a PNG: width and height
_SHOWN = 0.62  # of a picture's size: letters are then as large as those of the page


class Picture(NamedTuple):
    """A picture as a data URI, with its text alternative and its size on a screen in pixels."""

    uri: str
    alternative: str
    width: int
    height: int


def lead(tracked: Tracked, paper: str) -> Picture | None:
    """Return the one picture that stands for a paper, None where it has none or is not drawn."""
    known = papers.papers().get(paper)
    key = known and f"{paper}/{known.picture}"
    return _picture(tracked, key) if key and _is_drawn(tracked, key) else None


def artefacts(tracked: Tracked, paper: str) -> list[dict]:
    """Return the tables and figures of a paper that are drawn, those that it prints first."""
    keys = [key for key, each in ARTEFACTS.items() if each.paper == paper]
    there = [key for key in keys if _is_drawn(tracked, key)]
    return [_artefact(tracked, key) for key in sorted(there, key=lambda key: not _is_printed(key))]


def absent(tracked: Tracked) -> list[str]:
    """Return the tables and figures that are not drawn."""
    keys = [key for key, each in ARTEFACTS.items() if each.paper in tracked.papers]
    return [key for key in keys if not _is_drawn(tracked, key)]


def _is_drawn(tracked: Tracked, key: str) -> bool:
    return all(tracked.path(key, suffix).exists() for suffix in ("md", "png"))


def _is_printed(key: str) -> bool:
    """Return whether a paper itself has the table or figure."""
    return _PUBLISHED.fullmatch(key.partition("/")[2]) is not None


def _artefact(tracked: Tracked, key: str) -> dict:
    paper, name = key.split("/")
    page = markdown.parse(tracked.path(key, "md").read_text(encoding="utf-8"))
    card = tracked.card
    own = card[(card["kind"] != "claim") & (card["paper"] == paper) & (card["artefact"] == name)]
    return {
        "key": key,
        "anchor": key.replace("/", "-"),
        **page._asdict(),
        "picture": _picture(tracked, key),
        "printed": _is_printed(key),
        "claims": findings.of_artefact(tracked, paper, name, ARTEFACTS[key].deciders),
        "counted": own["verdict"].value_counts(sort=False).to_dict(),
        "read_off": _read_off(paper, name),
        "file": f"{key}.csv",
    }


def _read_off(paper: str, name: str) -> list[list[str]]:
    """Return what was read off the published picture, as cells."""
    return [
        [row.panel, display(row.method), f"{row.value:g} ± {row.reading_error:g}"]
        for row in published.read_off(paper, name).itertuples()
    ]


def _picture(tracked: Tracked, key: str) -> Picture:
    content = tracked.path(key, "png").read_bytes()
    width, height = (round(_SHOWN * side) for side in struct.unpack(">II", content[_SIZE]))
    title = ARTEFACTS[key].text.title
    words = f"Picture of {key}: {title}. Its caption says what is shown; its numbers follow."
    return Picture(webpage.uri(content, "image/png"), words, width, height)


def bars(heights: list[float], words: str) -> Markup:
    """Return a small histogram as SVG, with a line where it would be flat.

    Parameters
    ----------
    heights
        Of the bars, 1 where it is flat; drawn up to 3.
    words
        Its text alternative.
    """
    step, high = 120 / len(heights), 40 / 3
    drawn = "".join(
        f'<rect x="{k * step:.2f}" y="{40 - min(y, 3) * high:.2f}" width="{step * 0.9:.2f}" '
        f'height="{min(y, 3) * high:.2f}"/>'
        for k, y in enumerate(heights)
    )
    flat = f'<line x1="0" x2="120" y1="{40 - high:.2f}" y2="{40 - high:.2f}"/>'
    head = Markup('<svg class="bars" viewBox="0 0 120 40" role="img" aria-label="{}">')
    return head.format(words) + Markup(drawn + flat + "</svg>")
