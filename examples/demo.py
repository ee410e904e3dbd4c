"""The main job on made data, as commands: from a CSV file to a trained, measured and explained model.

Each step is announced before it runs, and each command is printed as it would be typed.
"""

import argparse
import csv
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from io import StringIO
from pathlib import Path

from podium import make_search
from podium.cli import app

MEASURES = ["-m", "ndcg@10", "-m", "map", "-m", "mrr"]


def main(arguments: list[str] | None = None) -> None:
    """Write made search results as CSV files, train LambdaMART, compare it with a feature, explain two documents."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("build/demo"), help="where the files go")
    parser.add_argument("--queries", type=int, default=300, help="queries of the training file")
    given = parser.parse_args(arguments)
    folder, start = given.folder, time.perf_counter()
    with step("Writing data", "made search results, 30 features, grades from 0 to 4"):
        folder.mkdir(parents=True, exist_ok=True)
        for seed, (name, share) in enumerate([("train", 1.0), ("valid", 0.5), ("test", 1.0), ("few", 0.05)]):
            write_csv(folder / f"{name}.csv", max(4, int(share * given.queries)), seed)
    with step("Compiling", "kernels are compiled once for this machine, by a first small fit"):
        first = ["--eval", f"{folder}/few.csv", "--set", "n_estimators=3", "--quiet"]
        run("train", f"{folder}/few.csv", "-o", f"{folder}/few.podium", "--ranker", "LambdaMART", *first, quiet=True)
    with step("Looking", "what is in the file, and what there is to learn from it"):
        run("data", f"{folder}/train.csv")
    model, single, tested, page = (
        f"{folder}/{name}" for name in ("lambdamart.podium", "feature.podium", "test.csv", "report.html")
    )
    with step("Training", "boosted trees, until NDCG@10 of other queries has not risen for 20 rounds"):
        early = ["--eval", f"{folder}/valid.csv", "--set", "early_stopping_rounds=20"]
        run("train", f"{folder}/train.csv", "-o", model, "--ranker", "LambdaMART", *early)
    with step("Measuring", "on queries that training has not seen, beside the best single feature"):
        run("train", f"{folder}/train.csv", "-o", single, "--ranker", "NearestNeighbor", "--quiet", quiet=True)
        run("evaluate", tested, model, single, *MEASURES)
    with step("Explaining", "why one document stands above another, and what would swap them"):
        run("explain", model, tested, "--query", "0", "--docs", "2", "1")
    with step("Reporting", "one page to open in a browser, or to send to somebody"):
        run("report", model, tested, "-o", page)
    print(f"\nDone in {time.perf_counter() - start:.0f} s. Open {page}, or try: podium info {model}")


@contextmanager
def step(title: str, what: str) -> Iterator[None]:
    """Print what begins, and how long it took."""
    print(f"\n== {title}: {what}", flush=True)
    start = time.perf_counter()
    yield
    print(f"({time.perf_counter() - start:.1f} s)", flush=True)


def run(*arguments: str, quiet: bool = False) -> None:
    """Print a command and run it in this process; if quiet, without what it says."""
    print(f"$ podium {shlex.join(arguments)}", flush=True)
    with redirect_stdout(StringIO()) if quiet else nullcontext():
        app(list(arguments), standalone_mode=False)


def write_csv(path: Path, n_queries: int, seed: int) -> None:
    """Write made search results: label, qid, and the features by their names."""
    table = make_search(n_queries=n_queries, random_state=seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["label", "qid", *(table.feature_names or [])])
        for x, y, qid in zip(table.X.tolist(), table.y.tolist(), table.qid, strict=True):
            writer.writerow([f"{y:g}", qid, *(f"{value:.6g}" for value in x)])
    print(f"{path}: {len(table.y):,} rows")


if __name__ == "__main__":
    main()
