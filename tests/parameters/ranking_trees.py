"""Parameters of trees of the ROC curve: growth, pruning, what is drawn for each tree, the consensus."""

import numpy as np
import pytest

from parameters import changing, fitted, table
from parameters.shared import spied_threads
from podium import CRank, RankOver, TreeRank, TreeRankForest, TreeRankTournament

SINGLE = (TreeRank, RankOver, CRank)
MANY = (TreeRankForest, TreeRankTournament)
FREE = {"max_leaves": None, "leafrank_depth": 1, "min_child_weight": 1.0, "min_gain": 0.0}
"""Trees of stumps that nothing holds back."""


def trees_of(estimator, data=None, /, **changed):
    """The trees of a small fit; forests take all rows and features."""
    alone = {"n_estimators": 1, "bootstrap": False, "max_features": None} if estimator in MANY else {"pruning_folds": 0}
    X, y, qid = table() if data is None else data
    labels = y + X[:, 0] if estimator is CRank else y
    return fitted(estimator, (X, labels, qid), **{**FREE, **alone, **changed}).trees_


def described(trees):
    """All numbers of trees, for comparing bits."""
    return [(tree.feature.tolist(), tree.threshold.tolist(), tree.value.tolist()) for tree in trees]


@changing("max_leaves", *SINGLE, *MANY)
def trees_have_at_most_so_many_cells(estimator):
    free = trees_of(estimator)
    assert max(tree.n_cells for tree in free) > 5
    for most in (2, 4):
        sizes = [tree.n_cells for tree in trees_of(estimator, max_leaves=most)]
        assert sizes == [min(most, tree.n_cells) for tree in free]


@changing("max_depth", *SINGLE, *MANY)
def cells_lie_below_at_most_so_many_splits(estimator):
    for depth in (1, 2):
        sizes = [tree.n_cells for tree in trees_of(estimator, max_depth=depth)]
        assert 2**depth - 1 <= max(sizes) <= 2**depth
    assert max(tree.n_cells for tree in trees_of(estimator)) > 4


@changing("leafrank_depth", *SINGLE, *MANY)
def one_cell_is_parted_by_a_tree_of_so_many_levels(estimator):
    one, three = (trees_of(estimator, leafrank_depth=depth, max_leaves=2) for depth in (1, 3))
    assert {tree.n_splits for tree in one} == {1}
    assert 1 < max(tree.n_splits for tree in three) <= 7
    assert sum(tree.gain[0] for tree in three) > sum(tree.gain[0] for tree in one)


@changing("min_child_weight", *SINGLE, *MANY)
def cells_hold_at_least_so_much_weight(estimator):
    X, y, qid = table()
    least = min(tree.weight.min() for tree in trees_of(estimator))
    assert least < 8
    data = (X, np.minimum(y, 1), qid)  # in a duel of two grades all rows learn
    if estimator is not RankOver:  # whose splits part all rows, not those of the cell
        assert min(tree.weight.min() for tree in trees_of(estimator, data, min_child_weight=8.0)) >= 8
    assert max(tree.n_cells for tree in trees_of(estimator, data, min_child_weight=40.0)) <= 2 + (estimator is RankOver)


@changing("min_gain", *SINGLE, *MANY)
def splits_gain_more_than_this(estimator):
    assert min(tree.gain.min() for tree in trees_of(estimator)) < 0.03
    some = trees_of(estimator, min_gain=0.03)
    assert min(tree.gain.min() for tree in some if tree.n_splits) > 0.03
    with pytest.warns(UserWarning, match="Nothing was learned"):
        assert {tree.n_cells for tree in trees_of(estimator, min_gain=1.0)} == {1}


@changing("max_bins", *SINGLE, *MANY)
def features_are_cut_into_so_many_bins(estimator):
    def most_cuts(bins):
        trees = trees_of(estimator, max_bins=bins)
        cuts = {(f, t) for tree in trees for f, t in zip(tree.feature.tolist(), tree.threshold.tolist(), strict=True)}
        return max(sum(f == feature for f, _ in cuts) for feature in range(4))

    assert most_cuts(3) <= 2
    assert most_cuts(255) > 2


@changing("pruning_folds", *SINGLE)
def pruned_trees_have_fewer_cells(estimator):
    X, y, qid = table()
    y = np.random.default_rng(2).permutation(y) + y
    free, one, three, six = (
        trees_of(estimator, (X, y, qid), leafrank_depth=2, pruning_folds=folds)[0].n_cells for folds in (0, 1, 3, 6)
    )
    assert 1 < three < free
    assert 1 < six < free
    assert one == free


@changing("measure", CRank)
def gains_are_those_of_the_measure(estimator):
    roots = {name: trees_of(estimator, measure=name)[0].gain[0] for name in ("iauc", "triples", "kendall")}
    assert len(set(roots.values())) == 3
    X, y, qid = table()
    pairs = trees_of(TreeRank, (X, y + X[:, 0], qid))
    assert described(trees_of(estimator, split="measure", measure="kendall")) == described(pairs)


@changing("split", CRank)
def splits_are_sought_for_the_median_or_for_the_measure(estimator):
    median, measure = (trees_of(estimator, max_leaves=2, split=split)[0] for split in ("median", "measure"))
    assert measure.gain[0] >= median.gain[0]
    assert described(trees_of(estimator, split="median")) != described(trees_of(estimator, split="measure"))


@changing("n_estimators", *MANY)
def there_are_so_many_trees_of_which_the_first_stay(estimator):
    two, three = (fitted(estimator, n_estimators=n, leafrank_depth=2) for n in (2, 3))
    duels = 6 if estimator is TreeRankTournament else 1
    assert (len(two.trees_), len(three.trees_)) == (2 * duels, 3 * duels)
    assert described(three.trees_)[:2] == described(two.trees_)[:2]


@changing("max_features", *MANY)
def searches_look_at_so_many_features(estimator):
    every, one = (fitted(estimator, n_estimators=1, bootstrap=False, max_features=n, **FREE) for n in (None, 1))
    assert described(every.trees_) != described(one.trees_)
    half, two, root = (
        fitted(estimator, n_estimators=1, bootstrap=False, max_features=n, **FREE) for n in (0.5, 2, "sqrt")
    )
    assert described(half.trees_) == described(two.trees_) == described(root.trees_)
    assert described(trees_of(estimator, max_features=4)) == described(every.trees_)


@changing("bootstrap", *MANY)
def trees_learn_from_drawn_rows_or_from_all(estimator):
    drawn, every = (
        fitted(estimator, n_estimators=2, max_features=None, bootstrap=draws, max_leaves=4, leafrank_depth=1).trees_
        for draws in (True, False)
    )
    assert described(every)[0] == described(every)[1]
    assert described(drawn)[0] != described(drawn)[1]


@changing("max_samples", *MANY)
def so_many_rows_are_drawn(estimator):
    data = (np.arange(96.0)[:, None], np.arange(96) % 2, np.zeros(96))  # every drawn row has a cell of its own
    few, many = (
        fitted(estimator, data, n_estimators=1, max_samples=share, **FREE).trees_[0].n_cells for share in (0.1, 1.0)
    )
    assert few <= 10 < many <= 96


@changing("consensus", *MANY)
def scores_are_the_mean_or_the_median_of_the_trees(estimator):
    X, _, _ = table()
    for consensus, fold in (("mean", np.mean), ("median", np.median)):
        model = fitted(estimator, n_estimators=3, consensus=consensus, leafrank_depth=2)
        np.testing.assert_array_equal(model.predict(X), fold(model._joined.values(X), axis=1))


@changing("duels", TreeRankTournament)
def grades_meet_all_others_or_their_neighbours(estimator):
    assert [len(trees_of(estimator, duels=which)) for which in ("all", "adjacent")] == [6, 3]


@changing("random_state", *MANY)
def another_seed_draws_other_trees(estimator):
    one, same, other = (fitted(estimator, n_estimators=2, random_state=seed).trees_ for seed in (0, 0, 1))
    assert described(one) == described(same) != described(other)


@changing("n_jobs", *MANY)
def so_many_threads_grow_the_same_trees(estimator, monkeypatch):
    X, _, _ = table()
    one = fitted(estimator, n_estimators=3, leafrank_depth=2)
    expected, used = one.predict(X), spied_threads(monkeypatch)
    three = fitted(estimator, n_estimators=3, leafrank_depth=2, n_jobs=3)
    assert used == {3}
    used.clear()
    np.testing.assert_array_equal(three.predict(X), expected)
    assert used == {3}
