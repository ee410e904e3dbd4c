"""Tables of docs/papers.md and of other pages, drawn from the results that the experiments keep.

    python experiments/paper_tables.py            # draw them anew
    python experiments/paper_tables.py --check    # fail if a table of a page differs from its results

An experiment keeps its figures in results/NAME.json (`keep`), and its `tables` makes Markdown of them, which stands in
one page between ``<!-- table: NAME -->`` and ``<!-- end -->``. No figure of these tables is typed.
"""

import argparse
import importlib
import json
import re
import sys
from pathlib import Path

RESULTS, ROOT = Path(__file__).parent / "results", Path(__file__).parents[1]
PAGES = (
    ROOT / "README.md",
    *(ROOT / "docs" / f"{name}.md" for name in ("papers", "ordinal", "top-of-list", "lambdamart", "neural")),
)
EXPERIMENTS = (
    "rankboost_plus", "rankboost_plus_figures", "rankboost_variants", "metasearch_runs", "movie_ratings", "two_grades",
    "ordinal", "ordinal_theorems", "ordinal_peers", "ordinal_readings", "lambda_family", "ranking_losses", "continuous",
    "ranking_problems", "leaderboard", "leaderboard_ordinal", "leaderboard_seeds", "top_of_list", "lambda_forms",
    "lambdamart", "neural",
)  # fmt: skip


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


def redraw(kind, tables, pages, check, command):
    """Write tables into the pages between the marks of their kind; or end with a sentence where a page differs."""
    marked = re.compile(rf"(<!-- {kind}: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
    before = {page: page.read_text() for page in pages}
    placed = [name for text in before.values() for _, name, _ in marked.findall(text)]
    odd = set(tables) ^ set(placed) | {name for name in placed if placed.count(name) > 1}
    if odd:
        sys.exit(f"Each {kind} must have results and be once in a page: {', '.join(sorted(odd))}.")
    for page, text in before.items():
        after = marked.sub(lambda found: f"{found[1]}\n{tables[found[2]]}\n\n{found[3]}", text)
        if after != text:
            if check:
                sys.exit(f"{page.name} differs from the results: run python {command}.")
            page.write_text(after)


def main():
    """Draw the tables of all pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    redraw("table", drawn_tables(), PAGES, parser.parse_args().check, "experiments/paper_tables.py")


if __name__ == "__main__":
    main()
