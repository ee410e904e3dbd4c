"""Meta-search: combine the ranked lists of several search systems into a better one.

    python examples/metasearch.py             # made systems: nothing to download
    python examples/metasearch.py FOLDER      # TREC files: FOLDER/qrels.txt.gz and FOLDER/runs/*.run.gz

Freund, Iyer, Schapire and Singer (2003), "An efficient boosting algorithm for combining preferences" ("RB"),
sections 2.1 and 6.1. A row is a document that some system retrieved for a query, and a system is a feature:
minus the document's place in its list, missing where the list does not hold it. Scores of different systems
mean different things, so only places are used. What is missing stands below all that was retrieved
(``abstain=0``), and a system may only speak for documents, not against them (``cumulative=True``, RB's
WeakLearn.3.cum). Every place is a threshold (``max_bins=None``), as it is the first few that matter. The
combination is compared with the best single system, chosen on the training queries.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import GroupKFold

from podium import Comparison, RankBoost, compare, evaluate, read_qrels, read_run
from podium.readers import Run

FOLDS = 4
"""As in RB 6.1.1: three quarters of the queries to train, one quarter to test."""
MEASURES = ["map", "ndcg@10", "p@10", "top@1", "disagreement"]


class Task(NamedTuple):
    """Rows to rank: `X` has a column per system, minus the place of the row's document or NaN."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray
    systems: list[str]


class Outcome(NamedTuple):
    """The comparison on test queries, and the single system that each fold chose."""

    comparison: Comparison
    chosen: list[str]


def make_systems(n_queries: int = 80, n_docs: int = 400, n_systems: int = 8, seed: int = 0) -> Task:
    """Make systems that see relevance through noise, each to a depth of its own.

    Half of the noise is the document's, which misleads all systems alike; and each system is good at some
    queries and poor at others.
    """
    rng = np.random.default_rng(seed)
    relevant = (rng.random((n_queries, n_docs)) < 0.05).astype(float)
    misleading = rng.standard_normal(relevant.shape)
    columns = []
    for depth in np.geomspace(10, n_docs / 2, n_systems).astype(int):
        sight = rng.uniform(0.5, 3.0, (n_queries, 1))
        looks = sight * relevant + misleading + rng.standard_normal(relevant.shape)
        places = np.argsort(np.argsort(-looks))
        columns.append(np.where(places < depth, -1.0 - places, np.nan).ravel())
    X = np.stack(columns, axis=1)
    retrieved = ~np.isnan(X).all(axis=1)
    qid = np.repeat(np.arange(n_queries), n_docs)
    names = [f"system {i}" for i in range(n_systems)]
    return Task(X[retrieved], relevant.ravel()[retrieved], qid[retrieved], names)


def read_systems(folder: Path) -> Task:
    """Read TREC runs and judgements.

    A document without a judgement counts as not relevant, as trec_eval has it; a relevant one that no system
    retrieved is not a row, as no combination could find it.
    """
    qrels = read_qrels(folder / "qrels.txt.gz")
    runs = [read_run(path) for path in sorted((folder / "runs").glob("*.run.gz"))]
    if not runs:
        raise SystemExit(f"There must be files *.run.gz in {folder / 'runs'}; there are none.")
    queries, query = _numbered(qrels.qid, *(run.qid for run in runs))
    documents, document = _numbered(qrels.docid, *(run.docid for run in runs))
    keys = [q * len(documents) + d for q, d in zip(query, document, strict=True)]
    rows = np.unique(np.concatenate(keys[1:]))
    rows = rows[np.isin(rows // len(documents), query[0])]
    X = np.stack([_column(rows, key, _places(run)) for key, run in zip(keys[1:], runs, strict=True)], axis=1)
    y = np.nan_to_num(_column(rows, keys[0], np.maximum(qrels.relevance, 0)))
    return Task(X, y, queries[rows // len(documents)], [run.tag for run in runs])


def _numbered(*columns: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the distinct names of all columns, and each column as numbers of them."""
    names, numbers = np.unique(np.concatenate(columns), return_inverse=True)
    return names, np.split(numbers, np.cumsum([len(column) for column in columns])[:-1])


def _places(run: Run) -> np.ndarray:
    """Return minus the place of each entry in its query's list: -1 for the highest score."""
    order = np.lexsort((run.docid, -run.score, run.qid))
    starts = np.flatnonzero(np.append(True, run.qid[order][1:] != run.qid[order][:-1]))
    places = np.empty(len(order))
    places[order] = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    return -1.0 - places


def _column(rows: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the value of each row, NaN where its key is not there."""
    column = np.full(len(rows), np.nan)
    known = np.isin(keys, rows)
    column[np.searchsorted(rows, keys[known])] = values[known]
    return column


def cross_validate(task: Task, rounds: int) -> Outcome:
    """Score every query by what was learned on the other folds, and compare with the best single system."""
    combined, single = np.empty(len(task.y)), np.empty(len(task.y))
    alone = np.nan_to_num(task.X, nan=np.nanmin(task.X) - 1.0)
    chosen = []
    for train, test in folds(task.qid):
        model = RankBoost(rounds, cumulative=True, abstain=0, max_bins=None, pair_weight="queries")
        model.fit(task.X[train], task.y[train], qid=task.qid[train])
        combined[test] = model.predict(task.X[test])
        best = best_system(alone[train], task.y[train], task.qid[train])
        single[test] = alone[test, best]
        chosen.append(task.systems[best])
    return Outcome(compare(task.y, combined, single, qid=task.qid, measures=MEASURES), chosen)


def folds(qid: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield rows to train and to test on; a query is never in both."""
    yield from GroupKFold(FOLDS, shuffle=True, random_state=0).split(qid, groups=qid)


def best_system(alone: np.ndarray, y: np.ndarray, qid: np.ndarray) -> int:
    """Return the system with the highest mean average precision."""
    quality = [
        evaluate(y, scores, qid=qid, measures="map", n_resamples=0)["map"] for scores in np.ascontiguousarray(alone.T)
    ]
    return int(np.argmax(quality))


def main(argv: Sequence[str] | None = None) -> Outcome:
    """Combine the systems and print how much better that is."""
    parser = argparse.ArgumentParser(description="Combine ranked lists by RankBoost.")
    parser.add_argument("folder", nargs="?", type=Path, help="TREC files; without it, made systems")
    parser.add_argument("--rounds", type=int, default=200, help="rounds of RankBoost (default 200)")
    parser.add_argument("--queries", type=int, default=80, help="queries of the made systems (default 80)")
    given = parser.parse_args(argv)
    task = make_systems(given.queries) if given.folder is None else read_systems(given.folder)

    print(
        f"{len(task.systems)} systems, {len(np.unique(task.qid))} queries, {len(task.y):,} documents, "
        f"{int((task.y > 0).sum()):,} of them relevant; {FOLDS} folds by query, {given.rounds} rounds."
    )
    outcome = cross_validate(task, given.rounds)
    print(f"Best single system on the training queries: {', '.join(dict.fromkeys(outcome.chosen))}.")
    print("\nRankBoost (first) against it (second), on the queries left out:\n")
    print(outcome.comparison)
    return outcome


if __name__ == "__main__":
    main()
