"""Collections of lambda_forms.py, each as five folds of training, validation and test data.

    python experiments/lambda_collections.py PATH/data [--sets mq2008 …]    # queries and rows of each

PATH/data holds the folders `mq2008`, `lightgbm-example`, `movielens-100k` and `trec-robust03`; MQ2008 alone has
validation parts of its own.
"""

import argparse
import gzip
from pathlib import Path

import numpy as np
from lambdamart import read_fold

from podium import read_qrels, read_run


def mq2008(folder):
    """Training, validation and test data of the five official folds."""
    return [read_fold(folder / "mq2008", number) for number in range(1, 6)]


def lightgbm_example(folder):
    """LightGBM's own example, train and test in one; an absent feature is 0."""
    X, y, sizes = np.zeros((3773, 301)), [], []
    for part in ("train", "test"):
        with gzip.open(folder / "lightgbm-example" / f"rank.{part}.gz", "rt") as lines:
            for line in lines:
                label, *pairs = line.split()
                for name, value in (pair.split(":") for pair in pairs):
                    X[len(y), int(name)] = float(value)
                y.append(float(label))
        sizes += np.loadtxt(folder / "lightgbm-example" / f"rank.{part}.query", int).tolist()
    return folds_of(X, np.array(y), np.repeat(np.arange(len(sizes)), sizes))


def movielens(folder):
    """Every second user ranks the movies they have rated; means of ratings are the others', or they tell the label."""
    users, items, ratings = np.loadtxt(folder / "movielens-100k" / "u.data.gz", int)[:, :3].T
    rows = [line.split("|") for line in (folder / "movielens-100k" / "u.item").read_text("latin-1").splitlines()]
    genres = np.array([row[5:] for row in rows], float)
    years = np.array([float(row[2][-4:] or "nan") for row in rows])
    people = [line.split("|") for line in (folder / "movielens-100k" / "u.user").read_text().splitlines()]
    ages = np.array([float(row[1]) for row in people])[users - 1]
    women, others = np.array([row[2] == "F" for row in people])[users - 1], users % 2 == 0
    columns = [genres[items - 1], years[items - 1], ages, women]
    for kind in (others, others & women, others & ~women, others & (ages < 25), others & (ages >= 40)):
        counts = np.bincount(items[kind], minlength=1683)[items]
        sums = np.bincount(items[kind], ratings[kind], 1683)[items]
        columns += [counts, np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)]
    return folds_of(np.column_stack(columns)[~others], ratings[~others] - 1.0, users[~others])


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
