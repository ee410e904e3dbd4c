"""Collections of the leaderboard: folds of training, validation and test part.

    python experiments/leaderboard_tasks.py PATH/data    # queries and rows of each

`mq2008` has LETOR's own folds. `lightgbm` is LightGBM's example: its test file is the test part, each fifth of its
training queries the validation part of one fold. `movielens`: users with an odd number rank the movies that they have
rated, 40 of them at most, by what users with an even number thought of them, genres and year; four and five stars are
relevant. Five folds by user, the next fold validates.
"""

import argparse
import gzip
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from podium import read_letor

MOST_RATINGS = 40
"""Of a user, drawn at random: so that each ranker has its trials within minutes."""


class Part(NamedTuple):
    """Rows with labels and queries, rows of a query together."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray

    def take(self, rows):
        """Return the rows of a mask."""
        return Part(self.X[rows], self.y[rows], self.qid[rows])


def four_parts(train, valid):
    """Yield all but one of four parts of the queries of both, and that one, for each of the four."""
    both = Part(*(np.concatenate(columns) for columns in zip(train, valid, strict=True)))
    ids, query = np.unique(both.qid, return_inverse=True)
    place = (np.random.default_rng(0).permutation(len(ids)) % 4)[query]
    for number in range(4):
        yield both.take(place != number), both.take(place == number)


def mq2008(folder, folds):
    """Yield number and parts of the official folds."""
    for fold in folds:
        paths = [folder / "mq2008" / f"Fold{fold}" / f"{name}.txt.gz" for name in ("train", "vali", "test")]
        yield fold, [Part(one.X, one.y, one.qid) for one in map(read_letor, paths)]


def lightgbm(folder, folds):
    """Yield folds of the example's training queries, with the test file as the test part of each."""
    train, test = (example_part(folder / "lightgbm-example", name) for name in ("train", "test"))
    place = np.random.default_rng(0).permutation(train.qid.max() + 1)[train.qid]
    for fold in folds:
        held_out = place % 5 == fold - 1
        yield fold, [train.take(~held_out), train.take(held_out), test]


def example_part(folder, name):
    """Return the rows of one file: label and feature:value, missing ones 0; queries by their sizes."""
    with gzip.open(folder / f"rank.{name}.gz", "rt") as file:
        rows = [line.split() for line in file]
    X = np.zeros((len(rows), 301))
    for i, row in enumerate(rows):
        for entry in row[1:]:
            feature, value = entry.split(":")
            X[i, int(feature)] = float(value)
    sizes = np.loadtxt(folder / f"rank.{name}.query", int)
    return Part(X, np.array([float(row[0]) for row in rows]), np.repeat(np.arange(len(sizes)), sizes))


def movielens_columns(folder, unknown_year, n_supposed):
    """Return columns, rating and user of each rating, and whether the user has an even number.

    Columns are genres and year of the movie, age and sex of the user, and what users with an even number think of the
    movie: how many rated it, and their mean with `n_supposed` ratings of 3.5 added, of all and of four kinds of them.
    """
    folder = folder / "movielens-100k"
    users, items, ratings = np.loadtxt(folder / "u.data.gz", int)[:, :3].T
    rows = [line.split("|") for line in (folder / "u.item").read_text("latin-1").splitlines()]
    people = [line.split("|") for line in (folder / "u.user").read_text().splitlines()]
    genres = np.array([row[5:] for row in rows], float)
    years = np.array([float(row[2][-4:] or unknown_year) for row in rows])
    ages = np.array([float(row[1]) for row in people])[users - 1]
    women, others = np.array([row[2] == "F" for row in people])[users - 1], users % 2 == 0
    columns = [genres[items - 1], years[items - 1], ages, women]
    for kind in (others, others & women, others & ~women, others & (ages < 25), others & (ages >= 40)):
        counts = np.bincount(items[kind], minlength=1683)[items]
        sums = np.bincount(items[kind], ratings[kind], 1683)[items]
        means = (sums + 3.5 * n_supposed) / np.maximum(counts + n_supposed, 1)
        columns += [counts, np.where(counts + n_supposed > 0, means, np.nan)]
    return np.column_stack(columns), ratings, users, others


def movielens(folder, folds):
    """Yield folds of the users with an odd number; nothing is missing, for not every ranker takes that."""
    X, ratings, users, others = movielens_columns(folder, 1995, 1)
    rows = np.random.default_rng(0).permutation(np.flatnonzero(~others))
    order = rows[np.argsort(users[rows], kind="stable")]
    order = order[np.arange(len(order)) - np.searchsorted(users[order], users[order]) < MOST_RATINGS]
    whole = Part(X[order], ratings[order] - 1.0, users[order])
    ids, query = np.unique(whole.qid, return_inverse=True)
    place = (np.random.default_rng(0).permutation(len(ids)) % 5)[query]
    for fold in folds:
        test, valid = place == fold - 1, place == fold % 5
        yield fold, [whole.take(~test & ~valid), whole.take(valid), whole.take(test)]


OFFICIAL = ("RankBoost", "RankSVM-Struct", "AdaRank-NDCG")
TASKS = {"mq2008": mq2008, "lightgbm": lightgbm, "movielens": movielens}
RULES = {"mq2008": {"convention": "letor"}, "lightgbm": {}, "movielens": {"relevant": 3.0}}
"""How test parts are evaluated."""


def official(folder):
    """Return the test values of the official files."""
    return {name: official_values(folder, name) for name in OFFICIAL}


def official_values(folder, name):
    """Return the values of an official file on the test parts, means of the folds."""
    text = (folder / "letor-baselines" / f"{name}.MQ2008.txt").read_text().split("validation set")[0]
    gains, precisions = (list(map(float, line.split()[1:])) for line in re.findall(r"(?:average|Avg)\s.*", text))
    return {**{f"ndcg@{k}": gains[k - 1] for k in range(1, 11)}, "map": precisions[-1]}


def main():
    """Print what the collections hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    for name, task in TASKS.items():
        for _, parts in task(parser.parse_args().data, [1]):
            sizes = [f"{len(np.unique(part.qid))} queries, {len(part.y)} rows" for part in parts]
            print(f"{name}: fold 1 trains on {sizes[0]}; validates on {sizes[1]}; tests on {sizes[2]}")


if __name__ == "__main__":
    main()
