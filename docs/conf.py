"""The site: `KCDE_ENV=docs envs/run sphinx-build -W docs docs/_build`."""

import re
import sys
from pathlib import Path

from sphinx.util import inspect

import kcde

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "kcde"
author = "The kcde authors"
version = release = kcde.__version__

extensions = [
    "evidence",
    "figures",
    "mathml",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "which",
]
# Parts of pages, which others include.
exclude_patterns = ["_build", "evidence", "extensions", "**/*.codeobj.json"]
nitpicky = False
default_role = "py:obj"
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "kcde"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
templates_path = ["_templates"]

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_inherit_docstrings = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "examples",
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "reference/generated/backreferences",
    "doc_module": ("kcde",),
    "min_reported_time": 1e6,  # seconds differ from one build to the next
    "write_computation_times": False,
    "remove_config_comments": True,
    "show_signature": False,
    "show_memory": False,
    "image_scrapers": ("matplotlib",),
    "abort_on_example_error": True,
}


def _escape_bars(app, what, name, obj, options, lines):
    """Keep |x| in docstrings: docutils takes it for a substitution."""
    literal = False
    for k, line in enumerate(lines):
        literal = line.lstrip().startswith(">>>") or (literal and bool(line.strip()))
        if not literal:
            lines[k] = _without_bars(line)


def _without_bars(line):
    parts = line.split("`")
    parts[::2] = [part.replace("\\|", "|").replace("|", "\\|") for part in parts[::2]]
    return "`".join(parts)


def _in_short():
    """Return the name of each estimator, and the other cells of its row in the reference."""
    text = (Path(__file__).parent / "reference/index.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    plain = [[re.sub(r"\[(.*?)\]\(.*?\)", r"\1", cell) for cell in row] for row in rows]
    return {name: row[1:] for row in plain for name in re.findall(r"`(\w+)`", row[0])}


def _estimator(app, what, name, obj, options, lines):
    """Say what an estimator is for, with a picture, and last how it chooses what is left open."""
    if what != "class" or not hasattr(obj, "fit"):
        return
    said = []
    if use := _in_short().get(obj.__name__):
        titles = "Take it for", "Cost of a fit to n rows", "Where it fails"
        for title, cell in zip(titles, use, strict=False):
            said += ["", f"**{title}**: {cell}."] if cell else []
        said += [
            "",
            f".. image:: /_static/estimators/{obj.__name__}.png",
            "   :alt: Fitted to 300 made-up rows: one hump for x < 0, two for x > 0",
            "",
        ]
    # After the first paragraph, which says what it predicts.
    after = lines.index("", next(k for k, line in enumerate(lines) if line))
    lines[after:after] = [_without_bars(line) for line in said]
    if rule := getattr(obj, "selection_rule", ""):
        lines += ["", _without_bars(f"**Selection**: {rule}."), ""]


def _constructor(app, what, name, obj, options, signature, returns):
    """Show the arguments of `__init__` where `__new__`, which takes any, hides them."""
    if what != "class" or signature != "(*args, **kwargs)":
        return None
    return inspect.stringify_signature(inspect.signature(obj.__init__, bound_method=True)), None


def setup(app):
    """Connect what is of this site alone."""
    app.connect("autodoc-process-signature", _constructor)
    # Before numpydoc, whose own substitutions stay, and after it.
    app.connect("autodoc-process-docstring", _escape_bars, priority=100)
    app.connect("autodoc-process-docstring", _estimator, priority=900)
