"""Pages that are one HTML file and need nothing else: no network, no other file.

A page is a Jinja template whose values are escaped. It includes `base.css`, the look that all
pages share, and has its pictures as data URIs.
"""

import base64
import re
from collections.abc import Mapping
from pathlib import Path

from markupsafe import Markup, escape

_HERE = Path(__file__).parent


def render(template: Path, content: Mapping[str, object], **options) -> str:
    """Return a page; the options are those of a Jinja environment."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader([template.parent, _HERE])
    options = {"autoescape": True, "undefined": StrictUndefined, **options}
    environment = Environment(loader=loader, **options)
    environment.filters["code"] = _code
    return environment.get_template(template.name).render(content)


def _code(text: str) -> Markup:
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def uri(content: bytes, media_type: str) -> str:
    """Return a file as a data URI."""
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"
