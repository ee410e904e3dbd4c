"""Draws the rooms of the library from its sources, into the marked part of docs/architecture.md.

python docs/architecture.py            writes the drawing
python docs/architecture.py --check    fails if the document is stale
"""

from __future__ import annotations

import ast
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE, DOCUMENT = ROOT / "src" / "podium", ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- drawn by docs/architecture.py -->\n", "<!-- end of the drawing -->\n"
SHARED = "_"
"""First letter of the modules that all rooms share."""


def rooms() -> list[str]:
    """Return packages and modules of the first level, from what imports nothing to what imports all."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    layers = config["tool"]["importlinter"]["contracts"][0]["layers"]
    return [layer.strip("()") for layer in reversed(layers) if not layer.startswith("__")]


def files_of(room: str) -> list[Path]:
    """Return the sources of a room."""
    module = PACKAGE / f"{room}.py"
    return [module] if module.exists() else sorted((PACKAGE / room).glob("*.py"))


def summary_of(path: Path) -> str:
    """Return the first line of a module's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").splitlines()[0].rstrip(".")


def imports_of(room: str) -> set[str]:
    """Return the rooms that a room imports from."""
    found = set()
    for path in files_of(room):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("podium."):
                found.add(node.module.split(".")[1])
    return found - {room}


def drawing() -> str:
    """Return the drawing: rooms in layers with what they import, then the modules of each."""
    order = rooms()
    shown = [room for room in order if not room.startswith(SHARED)]
    width = max(map(len, shown))
    lines = ["```", *(f"{room:{width}} <- {_sources(room, shown)}".rstrip(" <-") for room in shown), "```", ""]
    for room in shown:
        package = PACKAGE / room / "__init__.py"
        lines += [f"### {room}", "", f"{summary_of(package if package.exists() else files_of(room)[0])}.", ""]
        modules = [path for path in files_of(room) if path.stem != "__init__" and package.exists()]
        lines += [f"- `{path.stem}`: {summary_of(path)}" for path in modules]
        lines += [""] if modules else []
    lines += ["### What all rooms share", ""]
    lines += [f"- `{room}`: {summary_of(files_of(room)[0])}" for room in order if room.startswith(SHARED)]
    return "\n".join([*lines, ""])


def _sources(room: str, shown: list[str]) -> str:
    """Return the rooms that a room imports from, in the order of the data's way."""
    imported = imports_of(room)
    return ", ".join(one for one in shown if one in imported)


def main() -> int:
    """Write the drawing, or say that it is stale."""
    text = DOCUMENT.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    drawn = f"{before}{BEGIN}\n{drawing()}\n{END}{after}"
    if "--check" in sys.argv[1:]:
        if drawn != text:
            print("docs/architecture.md is stale: run `python docs/architecture.py`.")
        return int(drawn != text)
    DOCUMENT.write_text(drawn, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
