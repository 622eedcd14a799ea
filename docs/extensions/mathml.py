"""Formulas as MathML, which browsers draw by themselves: no script, no fonts, no network."""

import html

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict:
    """Make `mathml` a renderer of formulas."""
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(self, node: nodes.math) -> None:
    self.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _display(self, node: nodes.math_block) -> None:
    number = f' id="{html.escape(node["ids"][0])}"' if node["ids"] else ""
    self.body.append(f'<div class="math"{number}>{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode
