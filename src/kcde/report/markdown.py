"""The tracked pages, which are Markdown, as parts of an HTML page."""

import re
from functools import cache
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

_FOLD = re.compile(r"</?details>|<summary>.*</summary>")
_PICTURE = re.compile(r"!\[[^]]*\]\([^)]*\)")
_SCALE = re.compile(r"\*At the scale .*\*")
_LARGEST = 5  # headings of a page stand below that of its artefact, an h4


class Page(NamedTuple):
    """A tracked page: its title, and as HTML its scale with the caption and all that follows."""

    title: str
    caption: Markup
    rest: Markup


def parse(text: str) -> Page:
    """Return the parts of a tracked page.

    Parameters
    ----------
    text
        Markdown as `kcde draw` writes it: a heading `key: title`, the scale, a picture, the
        caption, tables, and folded details. Pictures are left out, what is folded is not folded.
    """
    blocks = [each for each in text.strip().split("\n\n") if not _PICTURE.fullmatch(each.strip())]
    heading, *paragraphs = blocks
    title = heading.removeprefix("# ").partition(": ")[2].strip()
    kept = [
        "\n".join(line for line in each.split("\n") if not _FOLD.fullmatch(line.strip()))
        for each in paragraphs
    ]
    kept = [each for each in kept if each.strip()]
    top = 2 if kept and _SCALE.fullmatch(kept[0]) else 1
    return Page(title, html("\n\n".join(kept[:top])), html("\n\n".join(kept[top:])))


def html(text: str) -> Markup:
    """Return Markdown as HTML, in which nothing of the text is HTML or leads to other files."""
    tokens = _parser().parse(text)
    for token in tokens:
        if token.tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            token.tag = f"h{min(6, _LARGEST - 2 + int(token.tag[1]))}"
        if token.children:
            token.children = _without_relative_links(token.children)
    made = _parser().renderer.render(tokens, _parser().options, {})
    region = '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>'
    return Markup(made.replace("<table>", region).replace("</table>", "</table></div>"))


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


def _without_relative_links(tokens: list[Token]) -> list[Token]:
    """Return the tokens without links to files that do not come along; their words stay."""
    kept, open_links = [], []
    for token in tokens:
        if token.type == "link_open":
            open_links.append(str(token.attrGet("href")).startswith("https://"))
        drop = token.type in ("link_open", "link_close") and not open_links[-1]
        if token.type == "link_close":
            open_links.pop()
        if not drop:
            kept.append(token)
    return kept
