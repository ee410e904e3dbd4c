"""A page from its content: one HTML file with styles, scripts and numbers inside, which fetches nothing.

Whatever comes from users stands in a block of JSON in which no character can end the block, and the page's script puts
it on the page as text, never as markup. A content security policy lets only that script and those styles run.
"""

from __future__ import annotations

import html
import json
import math
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from string import Template

from podium._types import Json
from podium.plots.script_json import ScriptEncoder

SCRIPTS = ("elements.js", "charts.js", "walker.js", "sections.js", "explorer.js", "start.js")
"""In the order in which they stand on the page."""


def page_of(content: Mapping[str, Json]) -> str:
    """Return the page of a content."""
    styles, script = _asset("page.css"), "\n".join(map(_asset, SCRIPTS))
    return Template(_asset("page.html")).substitute(
        title=html.escape(str(content["title"])).encode("ascii", "xmlcharrefreplace").decode(),
        policy=_policy(styles, script),
        styles=styles,
        script=script,
        content=as_json(content),
    )


def as_json(content: Json) -> str:
    """Return content as JSON that can stand in a script block; numbers that are not finite become null."""
    return json.dumps(_finite(content), separators=(",", ":"), allow_nan=False, cls=ScriptEncoder)


def _policy(styles: str, script: str) -> str:
    """Return a content security policy that allows these styles and this script, and nothing else."""
    allowed = f"style-src '{_digest(styles)}'; script-src '{_digest(script)}'"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def _digest(text: str) -> str:
    """Return the SHA-256 of a block's text, as policies name it; the template has a line break around each block."""
    return f"sha256-{b64encode(sha256(f'{chr(10)}{text}{chr(10)}'.encode()).digest()).decode()}"


def _asset(name: str) -> str:
    """Return a part of the page."""
    return (files("podium.report") / "assets" / name).read_text("utf-8").strip()


def _finite(content: Json) -> Json:
    """Return nested content with None for what JSON has no number for."""
    if isinstance(content, Mapping):
        return {str(key): _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
