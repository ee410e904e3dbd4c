"""What commands print: tables for people, JSON for programs."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Protocol

from rich.console import Console, RenderableType

from podium._types import Json
from podium._validation import PodiumError
from podium.evaluation import Evaluation
from podium.model_file import try_writing

STANDARD_OUTPUT = Path("/dev/stdout")
"""What - means where a file is written."""
WIDTH_OF_PIPES = 200
"""Characters of a line, at most, where output goes to no terminal."""


def check_output(output: Path, *read: PathLike[str] | None) -> None:
    """Refuse, before any work, an output that cannot be written, or that is one of the files that are read."""
    try_writing(output)
    for path in read:
        if path is not None and output.exists() and Path(path).exists() and output.samefile(path):
            raise PodiumError(f"{output} is a file that this command reads; name another one.")


class Shown(Protocol):
    """A result that can be printed."""

    def to_dict(self) -> dict[str, Json]:
        """Return it as plain values."""

    def table(self) -> RenderableType:
        """Return it as rich draws it."""


def show(result: Shown, as_json: bool, per_query: bool = False, to_stderr: bool = False) -> None:
    """Print a result as a table or as JSON; `to_stderr` where standard output holds the file that was made."""
    content = result.to_dict()
    if per_query and isinstance(result, Evaluation):
        content["per_query"] = {name: result.per_query(name) for name in result}
    if as_json:
        show_json(content, to_stderr)
        return
    console = console_for(to_stderr)
    console.print(result.table())
    if per_query and isinstance(result, Evaluation):
        console.print(result.query_table())


def console_for(to_stderr: bool = False) -> Console:
    """Return where tables are printed; what no terminal shows is as wide as it needs to be, for programs read it."""
    console = Console(stderr=to_stderr)
    piped = not console.is_terminal and "COLUMNS" not in os.environ
    return Console(stderr=to_stderr, width=WIDTH_OF_PIPES) if piped else console


def show_json(content: Mapping[str, object], to_stderr: bool = False) -> None:
    """Print plain values as JSON."""
    print(json.dumps(_without_nan(content), indent=2, default=str), file=sys.stderr if to_stderr else sys.stdout)


def show_lines(content: Mapping[str, object], as_json: bool) -> None:
    """Print values by name, one a line or as JSON."""
    print(json.dumps(content, indent=2) if as_json else "\n".join(f"{key}: {text}" for key, text in content.items()))


def _without_nan(content: object) -> object:
    """Return nested content with None for NaN, which JSON cannot say."""
    if isinstance(content, Mapping):
        return {str(key): _without_nan(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_without_nan(value) for value in content]
    return None if isinstance(content, float) and math.isnan(content) else content
