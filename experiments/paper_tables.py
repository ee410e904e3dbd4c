"""Tables of the papers in docs/papers.md, drawn from the results that the experiments keep.

    python experiments/paper_tables.py            # draw them anew
    python experiments/paper_tables.py --check    # fail if a table of the page differs from its results

An experiment keeps its figures in results/NAME.json (`keep`), and its `tables` makes Markdown of them, which stands in
the page between ``<!-- table: NAME -->`` and ``<!-- end -->``. No figure of the page is typed.
"""

import argparse
import importlib
import json
import re
import sys
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[1] / "docs" / "papers.md"
EXPERIMENTS = (
    "rankboost_plus", "metasearch_runs", "movie_ratings", "two_grades", "ordinal", "ordinal_theorems", "lambda_family",
    "ranking_losses", "continuous", "ranking_problems", "leaderboard",
)  # fmt: skip
MARKED = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def keep(name, results, folder=RESULTS):
    """Write the parts of an experiment's results that were run; other parts stay."""
    path = Path(folder) / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(kept | results, indent=1) + "\n")


def markdown(header, rows):
    """Return a table of strings as Markdown."""
    lines = ["| " + " | ".join(row) + " |" for row in [header, *rows]]
    return "\n".join([lines[0], "|" + "---|" * len(header), *lines[1:]])


def drawn_tables():
    """Return the Markdown of each table by its name."""
    found = {}
    for name in EXPERIMENTS:
        results = json.loads((RESULTS / f"{name}.json").read_text())
        found |= importlib.import_module(name).tables(results)
    return found


def main():
    """Draw the page's tables, or check them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    before, tables = PAGE.read_text(), drawn_tables()
    missing = set(tables) ^ {name for _, name, _ in MARKED.findall(before)}
    if missing:
        sys.exit(f"Tables must be both in {PAGE.name} and in an experiment: {', '.join(sorted(missing))}.")
    after = MARKED.sub(lambda found: f"{found[1]}\n{tables[found[2]]}\n\n{found[3]}", before)
    if parser.parse_args().check:
        sys.exit(
            f"{PAGE.name} differs from the results: run python experiments/paper_tables.py." if after != before else 0
        )
    PAGE.write_text(after)


if __name__ == "__main__":
    main()
