"""The command that says which rankers there are, and what parameters each has: rankers."""

from __future__ import annotations

import inspect
import json
import re
from typing import NamedTuple

from podium.cli.ranker_table import DEFAULT_RANKER, SEARCHED_RANKER, TABLE, ranker_name

ENTRY = re.compile(r"^(\w+(?:, \w+)*)(?: : (.+))?$")
"""How parameters begin in a docstring: names, and unless another ranker says it, a colon and their type."""
AS_IN = re.compile(r"As in (\w+)\.")


class Parameter(NamedTuple):
    """A parameter of a ranker: its name, default, type and the first sentence that the docstring says of it."""

    name: str
    default: object
    kind: str
    line: str


def list_rankers(name: str | None, as_json: bool) -> None:
    """Print the table of rankers, or the parameters of one."""
    if name is not None:
        _show_ranker(name, as_json)
    elif as_json:
        print(json.dumps({name: entry._asdict() for name, entry in TABLE.items()}, indent=2))
    else:
        rows = [[name, entry.optimises, entry.line] for name, entry in TABLE.items()]
        title = f"{len(TABLE)} rankers; --ranker is {DEFAULT_RANKER} by default, {SEARCHED_RANKER} in cv and tune"
        _print_table(title, "name optimises what", rows)
        print("podium rankers NAME lists the parameters of one.")


def _show_ranker(text: str, as_json: bool) -> None:
    """Print the parameters of one ranker."""
    name = ranker_name(text)
    found = parameters_of(name)
    if as_json:
        listed = [{**one._asdict(), "default": _plain_default(one.default)} for one in found]
        print(json.dumps({"ranker": name, **TABLE[name]._asdict(), "parameters": listed}, indent=2))
        return
    rows = [[one.name, str(one.default), _line_with_choices(one)] for one in found]
    _print_table(f"{name}: {TABLE[name].line}; optimises {TABLE[name].optimises}", "parameter default what", rows)
    print(f"podium train data.txt -o model.podium --ranker {name} --set {found[0].name}=…")


def parameters_of(name: str) -> list[Parameter]:
    """Return the parameters of a ranker in the order of its signature, with what its docstring says of each."""
    from podium.rankers import RANKERS

    defaults = RANKERS[name]().get_params(deep=False)
    order = [one for one in inspect.signature(RANKERS[name].__init__).parameters if one in defaults]
    return [Parameter(one, defaults[one], *_said_of(one, name)) for one in order]


def _said_of(parameter: str, ranker: str) -> tuple[str, str]:
    """Return type and first sentence of a parameter, by the ranker whose docstring has them."""
    from podium.rankers import RANKERS

    kind, line = documented(inspect.getdoc(RANKERS[ranker]) or "").get(parameter, ("", ""))
    other = AS_IN.fullmatch(line)
    return _said_of(parameter, other[1]) if other else (kind, line)


def documented(doc: str) -> dict[str, tuple[str, str]]:
    """Return type and first sentence of each parameter of a numpydoc docstring."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", doc, re.M | re.S)
    found: dict[str, tuple[str, str]] = {}
    names: list[str] = []
    for line in (section[1] if section else "").splitlines():
        entry = ENTRY.match(line)
        if entry:
            names = entry[1].split(", ")
            found |= dict.fromkeys(names, (entry[2] or "", ""))
        elif names and line.strip():
            found |= {name: (found[name][0], f"{found[name][1]} {line.strip()}".strip()) for name in names}
    return {name: (kind, _first_sentence(text)) for name, (kind, text) in found.items()}


def _first_sentence(text: str) -> str:
    """Return a text up to its first full stop, or semicolon or colon where it goes on long after that."""
    return re.split(r"(?<=[^.]\.)\s+(?=[A-Z\"`])", text, maxsplit=1)[0].replace("`", "")


def _line_with_choices(parameter: Parameter) -> str:
    """Return what is said of a parameter, with the values it may be where there are some."""
    choices = re.match(r"\{.*?\}", parameter.kind)
    return parameter.line if choices is None else f"{choices[0]} {parameter.line}"


def _plain_default(value: object) -> object:
    """Return a default as JSON can say it."""
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _print_table(title: str, header: str, rows: list[list[str]]) -> None:
    """Print a table with every column to the left."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for i, name in enumerate(header.split()):
        table.add_column(name, no_wrap=i == 0, overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console(markup=False, highlight=False).print(table)
