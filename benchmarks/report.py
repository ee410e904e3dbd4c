"""How long a page on a model takes and how large it is: MQ2008, if it is there, and 10,000 made queries.

python benchmarks/report.py [--queries 10000] [--rounds 300] [--mq2008 FOLDER]

FOLDER holds train.txt.gz, vali.txt.gz and test.txt.gz: by default mq2008/Fold1 in the folder that PODIUM_DATA names.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from kept_tables import add_folder, keep, with_machine

import podium
from podium import LambdaMART, RankBoost, make_search, read_letor

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
MQ2008 = Path(os.environ.get("PODIUM_DATA") or BESIDE) / "mq2008" / "Fold1"


def timed(name: str, model, X, y, qid, docid=None) -> list[float]:
    """Print seconds, megabytes and queries of one page, after a first one has compiled what there is to compile.

    Returns rows, seconds and megabytes.
    """
    few = np.isin(qid, np.unique(qid)[:20])
    podium.report(model, X[few], y[few], qid=qid[few]).html()
    with tempfile.TemporaryDirectory() as folder:
        file, start, cpu = Path(folder) / "report.html", time.perf_counter(), time.process_time()
        page = podium.report(model, X, y, qid=qid, docid=docid)
        page.save(file)
        seconds, cpu, size = time.perf_counter() - start, time.process_time() - cpu, file.stat().st_size / 1e6
    held = "trees" if page.content["queries"]["model"] is not None else "contributions"
    figures = f"{len(y):9,d} rows  {seconds:6.2f} s  {cpu:6.2f} s cpu  {size:5.2f} MB"
    print(f"{name:40s} {figures}  {page.n_shown:,} queries shown, by {held}")
    return [len(y), seconds, size]


def tables(kept):
    """Return the table of the page."""
    found = kept["pages"]["figures"].items()
    rows = [[name, f"{rows:,}", f"{seconds:.1f}", f"{size:.1f}"] for name, (rows, seconds, size) in found]
    return {"report": with_machine(kept["pages"], ["", "rows", "seconds", "megabytes"], rows)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--mq2008", type=Path, default=MQ2008)
    add_folder(parser)
    given = parser.parse_args()
    queries, found = given.queries, {}
    if given.mq2008.exists():
        parts = [read_letor(given.mq2008 / f"{name}.txt.gz") for name in ("train", "vali", "test")]
        train = parts[0]
        everything = [np.concatenate([getattr(part, name) for part in parts]) for name in ("X", "y", "qid")]
        for model in (RankBoost(n_estimators=given.rounds), LambdaMART(n_estimators=given.rounds)):
            model.fit(train.X, train.y, qid=train.qid)
            own = type(model).__name__
            name = f"MQ2008, test part, {own}"
            found[name] = timed(name, model, parts[2].X, parts[2].y, parts[2].qid, parts[2].docid)
            name = f"MQ2008, all parts, {own}"
            found[name] = timed(name, model, *everything)
    train, made = make_search(n_queries=300, random_state=0), make_search(n_queries=queries, random_state=1)
    for model in (RankBoost(n_estimators=given.rounds), LambdaMART(n_estimators=given.rounds)):
        model.fit(train.X, train.y, qid=train.qid)
        name = f"{queries:,} made queries, {type(model).__name__}"
        found[name] = timed(name, model, made.X, made.y, made.qid)
    keep("report", {"pages": found}, given)


if __name__ == "__main__":
    main()
