"""The tracked tables and figures as pages of the site, and links to them.

The pages are written into `docs/figures/` before the sources are read; what else there is below
`figures/` is copied beside them. A path in code type, as `figures/kcef/table1.md`, is a link.
"""

import re
import shutil
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from evidence import save

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "figures"
_FILE = re.compile(r"\[([^]]+)\]\(([\w-]+\.(?:csv|html))\)")
_PICTURE = re.compile(r"\]\(([\w-]+\.png)\)")


def setup(app: Sphinx) -> dict:
    """Write the pages when a build begins, and the other files when it ends."""
    app.connect("config-inited", lambda app, config: write(Path(app.srcdir)), priority=100)
    app.connect("doctree-resolved", link)
    app.connect("build-finished", lambda app, error: error or copy(Path(app.outdir)))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write(docs: Path) -> None:
    """Write the pages below the folder of the site."""
    for page in FIGURES.rglob("*.md"):
        place = page.relative_to(ROOT)
        picture = "../" * len(place.parts) + place.parent.as_posix()
        text = _PICTURE.sub(rf"]({picture}/\1)", page.read_text(encoding="utf-8"))
        text = _FILE.sub(r'<a href="\2">\1</a>', text)
        save(docs / place, text.replace("](../docs/", "](../"))


def link(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Make links of the paths of tables and figures."""
    for node in [*doctree.findall(nodes.literal)]:
        path = ROOT / node.astext()
        known = path.is_relative_to(FIGURES) and path.is_file()
        if known and not isinstance(node.parent, nodes.reference):
            uri = "../" * docname.count("/") + re.sub(r"\.md$", ".html", node.astext())
            made = nodes.reference("", "", internal=True, refuri=uri)
            node.replace_self(made)
            made += node


def copy(out: Path) -> None:
    """Copy what is no page; the scorecard leads to the pages."""
    skipped = shutil.ignore_patterns("*.md", "*.pdf")
    shutil.copytree(FIGURES, out / "figures", ignore=skipped, dirs_exist_ok=True)
    card = out / "figures" / "scorecard.html"
    text = card.read_text(encoding="utf-8")
    card.write_text(re.sub(r'(href="[\w/-]+)\.md"', r'\1.html"', text), encoding="utf-8")
