"""The site: `KCDE_ENV=docs envs/run sphinx-build -W docs docs/_build`."""

import sys
from pathlib import Path

import kcde

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "kcde"
author = "The kcde authors"
version = release = kcde.__version__

extensions = [
    "evidence",
    "mathml",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
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
            parts = line.split("`")
            parts[::2] = [part.replace("\\|", "|").replace("|", "\\|") for part in parts[::2]]
            lines[k] = "`".join(parts)


def setup(app):
    """Connect what is of this site alone."""
    # Before numpydoc, whose own substitutions stay.
    app.connect("autodoc-process-docstring", _escape_bars, priority=100)
