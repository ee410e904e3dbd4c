"""Tables of single benchmarks, drawn from what they keep; bench.py draws the page of the contests with peers.

    python benchmarks/kept_tables.py            # draw them anew
    python benchmarks/kept_tables.py --check    # fail if a table of a page differs from its results

A benchmark keeps the figures of each of its parts, with the machine that they were taken on and the numbers it was
called with, in results/NAME.json (`keep`), and its `tables` makes Markdown of them, which stands in one page between
``<!-- benchmark: NAME -->`` and ``<!-- end -->``. No figure of these tables is typed. The short table of the contests,
in the first page, is drawn here too.
"""

import argparse
import importlib
import json
import sys
from pathlib import Path

from bench import SUITES
from contests.page import kept, short
from contests.turns import RESULTS, machine

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "experiments"))
from paper_tables import markdown, redraw  # noqa: E402

PAGES = (*sorted((ROOT / "docs").glob("*.md")), ROOT / "benchmarks" / "README.md", ROOT / "README.md")
BENCHMARKS = (
    "pair_gradients", "dask_model", "dask_training", "fusion", "margins", "neural", "report", "selection", "start",
    "quantized", "lambdamart", "explain", "treerank",
)  # fmt: skip


def add_folder(parser):
    """Add the option of where results are kept."""
    parser.add_argument("--folder", type=Path, default=RESULTS, help="where results are kept: give another for a trial")


def keep(name, parts, given):
    """Write the parts of a benchmark that were run, with the machine and the numbers of the call; other parts stay."""
    path = given.folder / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = json.loads(path.read_text()) if path.exists() else {}
    settings = {option: value for option, value in vars(given).items() if isinstance(value, int | float)}
    taken = {part: {"machine": machine(), "settings": settings, "figures": figures} for part, figures in parts.items()}
    path.write_text(json.dumps(kept | taken, indent=1) + "\n")


def with_machine(part, header, rows):
    """Return a table with the line on what its figures were taken on."""
    on = part["machine"]
    return f"{markdown(header, rows)}\n\n{on['cores']} cores of {on['processor']}, load average {on['load']}."


def main():
    """Draw the tables of all pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    tables = {"contests": short(kept(SUITES))}
    for name in BENCHMARKS:
        tables |= importlib.import_module(name).tables(json.loads((RESULTS / f"{name}.json").read_text()))
    redraw("benchmark", tables, PAGES, parser.parse_args().check, "benchmarks/kept_tables.py")


if __name__ == "__main__":
    main()
