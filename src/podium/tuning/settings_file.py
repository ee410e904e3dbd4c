"""A ranker and its parameters as TOML: ``ranker = "…"`` and plain lines under ``[parameters]``."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

NOTHING = '"None"'
"""How None is written, which `podium train --config` reads as such."""
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def settings_text(ranker: str, parameters: Mapping[str, Any], comments: tuple[str, ...] = ()) -> str:
    """Return a settings file as text.

    Parameters
    ----------
    ranker : str
    parameters : mapping of str to value
        Numbers, strings, truth values, lists of these, and None, for which TOML has no word and which is written as
        one; others are left out, as comments.
    comments : tuple of str
        Lines on top.
    """
    lines = [f"# {line}" for line in comments]
    lines += [f"ranker = {_text(ranker)}", "", "[parameters]"]
    lines += [_line(name, _text(value)) for name, value in parameters.items()]
    return "\n".join(lines) + "\n"


def _line(name: str, text: str | None) -> str:
    """Return the line of a parameter."""
    key = name if _BARE_KEY.fullmatch(name) else json.dumps(name)
    return f"# {key}: not a plain value" if text is None else f"{key} = {text}"


def _text(value: Any) -> str | None:
    """Return a value as TOML writes it; None for what is no plain value."""
    if value is None:
        return NOTHING
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        return _decimal(float(value))
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple | np.ndarray):
        parts = [_text(one) for one in value]
        return None if None in parts else f"[{', '.join(map(str, parts))}]"
    return None


def _decimal(value: float) -> str:
    """Return a float that is read as one, to the last bit."""
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return repr(value)
