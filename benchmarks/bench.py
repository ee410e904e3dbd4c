"""Every contest with peers: training, scoring, reading, measures, memory and cold starts, and the page of all ratios.

    python benchmarks/bench.py                       # all suites, about half an hour on two cores
    python benchmarks/bench.py scoring reading       # some of them
    python benchmarks/bench.py training --only "50,000 rows"
    python benchmarks/bench.py --draw                # the page and the charts anew, from what was kept
    python benchmarks/bench.py --check               # fail if the page differs from what was kept

Contestants run by turns and the best turn of each counts; what counts is the ratio. Results are kept in
benchmarks/results/NAME.json with the machine and all versions, charts beside them, and docs/benchmarks.md shows both. A
peer that is not installed is left out of `reading`, `measuring` and `cold_start`; other suites need LightGBM, XGBoost,
CatBoost and treelite (`pip install ".[dev]"`).
"""

import argparse
import sys
from itertools import groupby
from pathlib import Path

from contests import cold_start, measuring, memory, page, reading, scoring, training
from contests.turns import CHOSEN, CLOCKS, OURS, RESULTS, keep, ratios
from rich.console import Console
from rich.table import Table

SUITES = {
    "training": training,
    "scoring": scoring,
    "reading": reading,
    "measuring": measuring,
    "memory": memory,
    "cold_start": cold_start,
}


def run(name, folder, small, only):
    """Run one suite, keep and show what it found."""
    suite, found = SUITES[name], []
    entries = suite.entries(small, only) if suite is training else suite.entries(small)
    for _, own in groupby(entries, key=lambda one: (one["case"], one["size"])):
        found += own
        keep(name, found, folder)  # a run that is ended keeps the cases that it has finished
    if not found:
        sys.exit(f"No case of {name} has {only!r} in its name.")
    values = {(one["case"], one["size"]): one["value"] for one in found if one["contestant"] == OURS}
    table = Table("case", "size", f"podium, {suite.UNIT}", "podium / peer", title=suite.TITLE, title_justify="left")
    for (case, size), shares in ratios(found).items():
        told = ", ".join(f"{peer} {share:.2f}" for peer, share in shares.items())
        table.add_row(case, f"{size:,}", f"{values[case, size]:.4g}", told)
    Console().print(table)


def draw(folder):
    """Draw the charts and the page."""
    results = page.kept(SUITES, folder)
    for name, (title, unit, found) in results.items():
        page.chart(title, unit, found["records"]).save(Path(folder) / f"{name}.svg")
    page.glance(results).save(Path(folder) / "glance.svg")
    if Path(folder) == RESULTS:
        page.PAGE.write_text(page.redrawn(page.PAGE.read_text(), results))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", choices=[*SUITES, []], metavar="suite", help=", ".join(SUITES))
    parser.add_argument("--only", default="", help="of `training`: cases with this in their name")
    parser.add_argument("--small", action="store_true", help="tiny sizes, to see that all of it runs")
    parser.add_argument("--folder", default=RESULTS, help="where results are kept")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu: processor time, where others work too")
    parser.add_argument("--draw", action="store_true")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    CHOSEN["clock"] = given.clock
    if given.check:
        before = page.PAGE.read_text()
        same = page.redrawn(before, page.kept(SUITES)) == before
        sys.exit(0 if same else f"{page.PAGE.name} differs from the results: run python benchmarks/bench.py --draw.")
    for name in [] if given.draw else given.suites or SUITES:
        run(name, given.folder, given.small, given.only)
    draw(given.folder)


if __name__ == "__main__":
    main()
