"""A ranker and its parameters as TOML: ``ranker = "…"`` and plain lines under ``[parameters]``."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from podium._validation import PodiumError

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def settings_text(ranker: str, parameters: Mapping[str, Any], comments: tuple[str, ...] = ()) -> str:
    """Return a settings file as text.

    Parameters
    ----------
    ranker : str
    parameters : mapping of str to value
        Numbers, strings, truth values, and lists of these; None, which TOML lacks, is left out.
    comments : tuple of str
        Lines on top.
    """
    lines = [f"# {line}" for line in comments]
    lines += [f"ranker = {_text(ranker)}", "", "[parameters]"]
    lines += [f"{_key(name)} = {_text(value)}" for name, value in parameters.items() if value is not None]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    """Return a name as a key."""
    return name if _BARE_KEY.fullmatch(name) else json.dumps(name)


def _text(value: Any) -> str:
    """Return a value as TOML writes it."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        return _decimal(float(value))
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple | np.ndarray):
        return f"[{', '.join(_text(one) for one in value)}]"
    raise PodiumError(f"A settings file holds numbers, strings, truth values and lists of these; got {value!r}.")


def _decimal(value: float) -> str:
    """Return a float that is read as one, to the last bit."""
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return repr(value)
