"""A ranker and its parameters as TOML: ``ranker = "…"``, lines under ``[parameters]``, a table for each mapping."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from podium._errors import PodiumError

NOTHING = '"None"'
"""How None is written, which `podium train --config` reads as such."""
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def settings_text(ranker: str, parameters: Mapping[str, Any], comments: tuple[str, ...] = ()) -> str:
    """Return a settings file as text.

    Parameters
    ----------
    ranker : str
    parameters : mapping of str to value
        Numbers, strings, truth values, lists of these, mappings to these, whose keys TOML reads as strings, and None,
        for which TOML has no word and which is written as one. Others, such as a ranker inside another, are refused.
    comments : tuple of str
        Lines on top.
    """
    lines = [f"# {line}" for line in comments]
    lines += [f"ranker = {_text(ranker)}", "", "[parameters]"]
    tables = {name: value for name, value in parameters.items() if isinstance(value, Mapping)}
    lines += [_line(name, value, name) for name, value in parameters.items() if name not in tables]
    for name, table in tables.items():
        lines += ["", f"[parameters.{_key(name)}]"]
        lines += [_line(key, value, f"{name}[{key!r}]") for key, value in table.items()]
    return "\n".join(lines) + "\n"


def _line(name: object, value: object, place: str) -> str:
    """Return the line of a parameter, or of an entry of one."""
    text = _text(value)
    if text is None:
        raise PodiumError(
            "A settings file holds numbers, strings, truth values, and lists and mappings of these; "
            f"it cannot hold {place}={value!r}."
        )
    return f"{_key(name)} = {text}"


def _key(name: object) -> str:
    """Return a key, which TOML has as a string, whatever it was."""
    text = str(name)
    return text if _BARE_KEY.fullmatch(text) else json.dumps(text)


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
