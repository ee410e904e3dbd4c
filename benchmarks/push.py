"""PNormPush and RankSVM beside the official RankSVM on MQ2008: MAP and NDCG@10, means of the five folds.

    python benchmarks/push.py PATH/data [--p 4] [--rounds 300] [--folds 1 2 3 4 5]

PATH/data holds the folders `mq2008` and `letor-baselines`. What is chosen in each fold, by MAP of its validation part:
weak rankings, learning rate and rounds of PNormPush, C of RankSVM, alpha of RSRank. Values are those of LETOR's
convention, as in the official file; seconds are those of all fits of a fold, choosing included. The goal is at most
0.005 below the official values.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from margins import measured, official
from rich.console import Console
from rich.table import Table

from podium import PNormPush, RankSVM, RSRank, read_letor

VALUES = (0.1, 1.0, 10.0, 100.0, 1000.0)
ALPHAS = (0.0003, 0.001, 0.003, 0.01)
PUSHES = [("stump", 0.1), ("stump", 0.3), ("feature", 0.3), ("feature", 1.0)]


def candidates(args):
    """Rankers to choose from, by name."""
    stopped = {"early_stopping_rounds": 60, "eval_metric": "map"}
    yield (
        f"PNormPush p={args.p:g}",
        [PNormPush(args.rounds, p=args.p, weak=weak, learning_rate=rate, **stopped) for weak, rate in PUSHES],
    )
    for penalty, times in (("l2", 1), ("l1", 10)):
        yield f"RankSVM {penalty}", [RankSVM(times * value, penalty=penalty) for value in VALUES]
    yield "RSRank", [RSRank(args.rounds, alpha=alpha, **stopped) for alpha in ALPHAS]


def read_fold(folder, number):
    """Training, validation and test part."""
    return [read_letor(folder / "mq2008" / f"Fold{number}" / f"{part}.txt.gz") for part in ("train", "vali", "test")]


def fold_result(rankers, train, valid, test):
    """MAP and NDCG@10 on the test part of the ranker that is best on the validation part, and seconds."""
    start = time.perf_counter()
    for ranker in rankers:
        measure = {"eval_set": [(valid.X, valid.y)], "eval_qid": [valid.qid]} if hasattr(ranker, "n_estimators") else {}
        ranker.fit(train.X, train.y, qid=train.qid, **measure)
    best = max(rankers, key=lambda ranker: measured(valid, ranker.predict(valid.X))[0])
    return *measured(test, best.predict(test.X)), time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--p", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--folds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    args = parser.parse_args()
    table = Table("mean of the folds", "MAP", "NDCG@10", "MAP less official", "NDCG@10 less official", "s a fold")
    goal = np.array(official(args.folder / "letor-baselines" / "RankSVM-Struct.MQ2008.txt"))
    table.add_row("official RankSVM", *(f"{value:.4f}" for value in goal))
    folds = [read_fold(args.folder, number) for number in args.folds]
    for name, rankers in candidates(args):
        found = np.mean([fold_result(rankers, *fold) for fold in folds], axis=0)
        apart = [f"{value:+.4f}" for value in found[:2] - goal]
        table.add_row(name, *(f"{value:.4f}" for value in found[:2]), *apart, f"{found[2]:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
