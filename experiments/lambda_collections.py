"""Collections of lambda_forms.py, each as five folds of training, validation and test data.

    python experiments/lambda_collections.py PATH/data [--sets mq2008 …]    # queries and rows of each

PATH/data holds the folders `mq2008`, `lightgbm-example`, `movielens-100k` and `trec-robust03`; MQ2008 alone has
validation parts of its own.
"""

import argparse
from pathlib import Path

import numpy as np
from lambdamart import read_fold
from leaderboard_tasks import example_part, movielens_columns

from podium import read_qrels, read_run


def mq2008(folder):
    """Training, validation and test data of the five official folds."""
    return [read_fold(folder / "mq2008", number) for number in range(1, 6)]


def lightgbm_example(folder):
    """LightGBM's own example, train and test in one; an absent feature is 0."""
    train, test = (example_part(folder / "lightgbm-example", name) for name in ("train", "test"))
    queries = np.r_[train.qid, test.qid + train.qid.max() + 1]
    return folds_of(np.concatenate([train.X, test.X]), np.r_[train.y, test.y], queries)


def movielens(folder):
    """Every second user ranks the movies they have rated; means of ratings are the others', or they tell the label."""
    X, ratings, users, others = movielens_columns(folder, np.nan, 0)
    return folds_of(X[~others], ratings[~others] - 1.0, users[~others])


def robust03(folder):
    """Merge 17 runs: scores between 0 and 1 and reciprocal ranks, missing where a run did not retrieve; judged rows."""
    qrels = read_qrels(folder / "trec-robust03" / "qrels.txt.gz")
    place = {key: row for row, key in enumerate(zip(qrels.qid.tolist(), qrels.docid.tolist(), strict=True))}
    paths = sorted((folder / "trec-robust03" / "runs").glob("*.run.gz"))
    X = np.full((len(place), 2 * len(paths)), np.nan)
    for column, path in enumerate(paths):
        run = read_run(path)
        for query in np.unique(run.qid):
            own = run.qid == query
            scores = run.score[own]
            ranks = np.argsort(np.argsort(-scores, kind="stable"))
            unit = (scores - scores.min()) / max(np.ptp(scores), 1e-9)
            for document, *values in zip(run.docid[own].tolist(), unit, 1 / (1 + ranks), strict=True):
                row = place.get((query, document))
                if row is not None:
                    X[row, 2 * column : 2 * column + 2] = values
    kept = ~np.isnan(X).all(axis=1)
    return folds_of(X[kept], np.maximum(qrels.relevance[kept], 0).astype(float), qrels.qid[kept])


def folds_of(X, y, qid):
    """Five folds of queries in random order: training and test data, no validation data."""
    ids, qid = np.unique(qid, return_inverse=True)
    numbers = np.random.default_rng(0).permutation(len(ids))[qid]
    order = np.argsort(qid, kind="stable")
    X, y, qid, numbers = X[order], y[order], qid[order], numbers[order]
    for fold in range(5):
        test = numbers % 5 == fold
        yield [(X[~test], y[~test], qid[~test]), None, (X[test], y[test], qid[test])]


COLLECTIONS = {"mq2008": mq2008, "lightgbm-example": lightgbm_example, "movielens": movielens, "robust03": robust03}


def main():
    """Print what the collections hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", nargs="+", choices=COLLECTIONS, default=list(COLLECTIONS))
    given = parser.parse_args()
    for name in given.sets:
        train, _, (_, _, qid) = next(iter(COLLECTIONS[name](given.folder)))
        print(f"{name}: fold 1 trains on {len(train[1])} rows and tests on {len(np.unique(qid))} queries")


if __name__ == "__main__":
    main()
