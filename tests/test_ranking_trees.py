"""Trees of the ROC curve: potentials, splits, whole trees against literal definitions; pruning, forests."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_classification

from podium import (
    CRank,
    NoPairsError,
    PodiumError,
    RankOver,
    TreeRank,
    TreeRankForest,
    TreeRankTournament,
    evaluate,
    roc_curve,
)
from podium.binning import as_blocks, bin_features
from podium.data import RankingData
from podium.ranking_trees import Cell, Growth, LeafRank, RankedRows
from podium.ranking_trees.bagged_trees import duels_of
from podium.ranking_trees.pruning import best_splits, folds, held_out_gains, penalties_of, prune
from profiles import examples
from reference import ranking_trees as twin

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # hashes wrap around on purpose
    pytest.mark.filterwarnings("ignore:Nothing was learned"),
]
STUMPS = {"leafrank_depth": 1, "max_leaves": None, "min_child_weight": 0.0, "pruning_folds": 0}
SINGLE = [TreeRank, RankOver, CRank]
QUICK = [
    TreeRank(max_leaves=6, min_child_weight=2.0, pruning_folds=3),
    TreeRankForest(4, leafrank_depth=3),
    TreeRankTournament(2, leafrank_depth=2),
    RankOver(max_leaves=5),
    CRank(max_leaves=6, min_child_weight=2.0),
]
each_ranker = pytest.mark.parametrize("ranker", QUICK, ids=lambda one: type(one).__name__)


@st.composite
def tasks(draw, grades=3, weighted=True):
    """Few rows of few values, some missing, in up to two queries with weights."""
    n_rows, n_features = draw(st.integers(3, 10)), draw(st.integers(1, 2))
    value = st.sampled_from([None, 0.0, 1.0, 2.0, 3.0])
    X = draw(st.lists(st.lists(value, min_size=n_features, max_size=n_features), min_size=n_rows, max_size=n_rows))
    y = draw(st.lists(st.integers(0, grades), min_size=n_rows, max_size=n_rows).filter(lambda y: len(set(y)) > 1))
    qid = draw(st.lists(st.integers(0, 1), min_size=n_rows, max_size=n_rows))
    counts = st.integers(1, 3) if weighted else st.just(1)
    weight = draw(st.lists(counts, min_size=n_rows, max_size=n_rows))
    return X, [float(label) for label in y], qid, [float(w) for w in weight], {0: 1.0, 1: float(draw(counts))}


def arrays(task):
    """What `fit` takes."""
    X, y, qid, weight, query_weight = task
    known = {query: query_weight[query] for query in set(qid)}
    features = np.array([[np.nan if x is None else x for x in row] for row in X])
    return features, {"y": y, "qid": qid, "sample_weight": weight, "query_weight": known}


def ranked(task, measure="pairs"):
    """The sorted rows, and the caller's number of each."""
    X, given = arrays(task)
    data = RankingData.from_arrays(X, **given)
    query = np.repeat(np.arange(len(data.queries)), data.queries.sizes)
    order = data.queries.rows[np.lexsort((data.labels, query))]
    return RankedRows.of(data, data.labels, 255).measured_by(measure), order


def has_pairs(task):
    return bool(twin.pairs_of(*task[1:]))


@examples(150, plain=60)
@given(tasks(), st.sampled_from(["pairs", "iauc", "triples"]), st.integers(0, 2**10))
def test_potentials_are_sums_over_the_pairs_of_a_cell(task, measure, chosen):
    rows, order = ranked(task, measure)
    cell = np.flatnonzero([chosen >> i & 1 for i in range(len(order))])
    pairs = twin.pairs_of(*task[1:], measure)
    expected = twin.potentials(pairs, set(order[cell].tolist()), len(order))
    np.testing.assert_allclose(rows.potentials(cell), np.array(expected)[order[cell]], atol=1e-9)
    total = sum(w for i, j, w in pairs if {i, j} <= set(order[cell].tolist()))
    assert rows.total(cell) == pytest.approx(total, abs=1e-9)


@examples(80, plain=40)
@given(tasks(), st.sampled_from(["pairs", "iauc", "triples"]), st.integers(0, 2**10))
def test_potentials_against_the_rows_of_a_cell_are_sums_over_pairs_with_them(task, measure, chosen):
    rows, order = ranked(task, measure)
    inside = np.array([chosen >> i & 1 for i in range(len(order))]) * rows.weight
    cell, expected = set(order[inside > 0].tolist()), np.zeros(len(order))
    for i, j, w in twin.pairs_of(*task[1:], measure):
        expected[i] += w * (j in cell)
        expected[j] -= w * (i in cell)
    np.testing.assert_allclose(rows.potentials(np.arange(len(order)), inside), expected[order], atol=1e-9)


@examples(80, plain=40)
@given(tasks(), st.integers(1, 2**10))
def test_median_potentials_weigh_the_two_sides_of_each_querys_median(task, chosen):
    rows, order = ranked(task)
    cell = np.flatnonzero([chosen >> i & 1 for i in range(len(order))])
    expected = twin.median_gains(*task[1:], order[cell].tolist())
    np.testing.assert_allclose(rows.median_potentials(cell), [expected[i] for i in order[cell]], atol=1e-9)


def cells_of(model, X):
    """Sets of rows of equal scores, from the top."""
    scores = model.predict(X)
    return [set(np.flatnonzero(scores == score).tolist()) for score in sorted(set(scores.tolist()), reverse=True)]


@examples(120, plain=50)
@given(tasks().filter(has_pairs), st.sampled_from([0.0, 2.0]), st.integers(1, 4))
def test_treerank_by_stumps_is_its_literal_definition(task, least, depth):
    X, given = arrays(task)
    model = TreeRank(**{**STUMPS, "min_child_weight": least, "max_depth": depth}).fit(X, **given)
    assert cells_of(model, X) == twin.ranking_tree(*task, depth=depth, least=least)


@examples(120, plain=50)
@given(tasks(grades=6).filter(has_pairs), st.sampled_from(["iauc", "triples", "kendall"]))
def test_crank_by_stumps_is_its_literal_definition(task, measure):
    X, given = arrays(task)
    name = "pairs" if measure == "kendall" or not any(w for *_, w in twin.pairs_of(*task[1:], measure)) else measure
    model = CRank(**STUMPS, measure=measure).fit(X, **given)
    assert cells_of(model, X) == twin.ranking_tree(*task, measure=name, median=True)


@examples(60, plain=30)
@given(tasks().filter(has_pairs), st.integers(1, 3), st.sampled_from([TreeRank, RankOver]))
def test_gains_add_up_to_the_concordance_of_the_training_rows(task, depth, ranker):
    X, given = arrays(task)
    model = ranker(**{**STUMPS, "leafrank_depth": depth, "min_gain": 0.0}).fit(X, **given)
    tree = model.trees_[0]
    expected = twin.concordance(twin.pairs_of(*task[1:]), model.predict(X).tolist())
    if depth == 1:
        assert (1 + tree.gain.sum()) / 2 == pytest.approx(expected)
    assert np.all(tree.gain > 0)
    assert expected >= 0.5 - 1e-12


@pytest.mark.parametrize("ranker", SINGLE)
@pytest.mark.parametrize("depth", [1, 3])
def test_the_roc_curve_is_the_line_through_the_cells(ranker, depth):
    X, y = make_classification(150, 5, random_state=3)
    weight = np.random.default_rng(0).integers(1, 4, 150)
    model = ranker(max_leaves=8, leafrank_depth=depth, pruning_folds=0).fit(X, y, sample_weight=weight)
    curve = roc_curve(y, model.predict(X), sample_weight=weight)
    x, up = model.trees_[0].curve(0.0, 1.0)
    np.testing.assert_allclose(curve.false_positive, x, atol=1e-12)
    np.testing.assert_allclose(curve.true_positive, up, atol=1e-12)
    assert model.trees_[0].n_cells == len(x) - 1 > 3
    assert np.all(np.diff(model.trees_[0].value) < 0)


def test_a_tree_of_two_levels_finds_what_no_stump_does():
    X = np.array([[a, b] for a in (0.0, 1.0) for b in (0.0, 1.0)] * 10 + [[0.0, 0.0]])
    y = np.array([a != b for a, b in X])
    one, two = (TreeRank(max_leaves=2, leafrank_depth=d, pruning_folds=0).fit(X, y) for d in (1, 2))
    assert evaluate(y, one.predict(X), measures="auc", n_resamples=0)["auc"] < 0.6
    assert evaluate(y, two.predict(X), measures="auc", n_resamples=0)["auc"] == 1.0
    assert two.trees_[0].n_cells == 2
    assert two.trees_[0].n_splits == 3


def test_upper_levels_part_rows_where_no_single_split_gains():
    bins = as_blocks(bin_features(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])))
    rows, potentials = np.arange(4), np.array([2.5, 2.5, 3.0, -2.0])  # both sides of either stump gain
    one, two = (
        LeafRank(bins, depth, 0.0, lambda: np.arange(2)).search(rows, potentials, np.ones(4)) for depth in (1, 2)
    )
    assert one is None
    assert two.holds(bins.codes, rows).tolist() == [True, True, True, False]


def test_rankover_learns_its_sets_from_all_rows():
    X = np.arange(12.0)[:, None]
    y = np.array([0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 0, 1])
    over = RankOver(leafrank_depth=1, min_child_weight=0.0, min_gain=0.0).fit(X, y)
    rows, _ = ranked(([[x] for x in range(12)], y.tolist(), [0] * 12, [1.0] * 12, {0: 1.0}))
    first = LeafRank(rows.bins, 1, 0.0, lambda: np.arange(1)).search(
        np.arange(12), rows.potentials(np.arange(12)), rows.mass
    )
    assert over.trees_[0].threshold[0] == first.threshold[0]
    assert over.trees_[0].feature.size >= 2
    tight = RankOver(leafrank_depth=1, min_child_weight=0.0, min_gain=0.3).fit(X, y)
    assert tight.trees_[0].n_cells == 2


def test_missing_values_go_where_they_gain_more():
    X = np.array([[1.0], [2.0], [3.0], [np.nan], [np.nan]])
    for labels, top in (([0, 0, 0, 1, 1], True), ([1, 1, 1, 0, 0], False)):
        model = TreeRank(**STUMPS).fit(X, labels)
        scores = model.predict([[2.0], [np.nan], [99.0]])
        assert (scores[1] > scores[0]) == top
        assert scores[0] == scores[2]


def cell(gain, upper=None, lower=None):
    return Cell(np.arange(2), 0, None, gain, upper or Cell(np.arange(1), 1), lower or Cell(np.arange(1), 1))


def test_pruning_keeps_the_subtree_of_the_largest_gain_less_penalties():
    weak_above_strong = cell(0.01, cell(0.2))
    root = cell(0.4, weak_above_strong, cell(0.05))
    assert [one.gain for one in best_splits(root, 0.1)[1]] == [0.4, 0.01, 0.2]
    assert best_splits(root, 0.1)[0] == pytest.approx(0.31)
    assert [one.gain for one in best_splits(root, 0.11)[1]] == [0.4]
    assert penalties_of(root) == pytest.approx([0.0, 0.05, 0.105, 0.4])
    prune(root, 0.11)
    assert [one.gain for one in root.splits()] == [0.4]
    prune(root, 0.5)
    assert list(root.splits()) == []


def test_the_cell_of_the_largest_gain_is_split_first():
    X, y, qid = graded()
    for seed in range(3):
        y = np.random.default_rng(seed).permutation(y)
        free, some = (
            TreeRank(**{**STUMPS, **more}).fit(X, y, qid=qid) for more in ({"max_depth": 2}, {"max_leaves": 3})
        )
        assert some.trees_[0].gain[1] == pytest.approx(free.trees_[0].gain[1:].max())


def test_gains_on_the_training_rows_are_those_of_the_growth():
    X, y, qid = graded()
    data = RankingData.from_arrays(X, y, qid=qid)
    rows = RankedRows.of(data, data.labels, 255)
    every = np.arange(len(y))
    root = Growth(LeafRank(rows.bins, 1, 1.0, lambda: np.arange(3)), 8, 20, 0.0).grow(rows, every)
    expected = rows.total(every) * sum(one.gain for one in root.splits())
    assert held_out_gains(root, rows, every, np.zeros(1)) == pytest.approx([expected])


def test_folds_part_rows_once_and_keep_equal_keys_together():
    keys = np.array([7, 3, 3, 9, 7, 1, 2, 5], np.uint64)
    rows = np.arange(10, 18)
    parts = list(folds(keys, rows, 3))
    assert sorted(np.concatenate([left_out for _, left_out in parts]).tolist()) == rows.tolist()
    for learned, left_out in parts:
        assert sorted([*learned, *left_out]) == rows.tolist()
        assert not set(keys[learned - 10]) & set(keys[left_out - 10])


def test_keys_of_folds_are_those_of_queries_or_of_rows():
    X, y, qid = graded()
    for given_queries, expected in ((qid, 3), (np.zeros(len(y)), len(np.unique(X, axis=0)))):
        data = RankingData.from_arrays(X, y, qid=given_queries)
        rows = RankedRows.of(data, data.labels, 255)
        assert len(np.unique(rows.key)) == expected
        if expected == 3:
            assert all(len(set(rows.key[rows.query == query].tolist())) == 1 for query in range(3))


def test_pruning_undoes_splits_of_noise_and_keeps_those_of_a_signal():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=200) > 0).astype(float)
    free, pruned = (TreeRank(30, leafrank_depth=1, pruning_folds=n).fit(X, y) for n in (0, 5))
    assert 2 <= pruned.trees_[0].n_cells < free.trees_[0].n_cells
    new = rng.normal(size=(500, 3))
    assert roc_curve((new[:, 0] > 0) * 1, pruned.predict(new)).area > 0.9


@pytest.mark.parametrize("ranker", [TreeRank, CRank])
def test_auto_takes_the_depth_that_gains_most_on_rows_left_out(ranker):
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(240, 4))
    corners, step = np.sign(X[:, 0] * X[:, 1]), np.sign(X[:, 0] + rng.normal(size=240))  # of two levels, and of one
    for y, expected in ((corners, (2, 3)), (step, (1,))):
        auto = ranker(8, leafrank_depth="auto", pruning_folds=4).fit(X, y)
        kept = {depth: ranker(8, leafrank_depth=depth, pruning_folds=4).fit(X, y).export_text() for depth in (1, 2, 3)}
        assert auto.export_text() in [kept[depth] for depth in expected]
    alone = ranker(8, leafrank_depth="auto", pruning_folds=0).fit(X, corners)
    assert alone.export_text() == ranker(8, leafrank_depth=3, pruning_folds=0).fit(X, corners).export_text()


def test_trees_of_a_forest_differ_and_the_consensus_is_their_mean_or_median():
    X, y = make_classification(80, 6, random_state=0)
    mean = TreeRankForest(5, leafrank_depth=2).fit(X, y)
    median = TreeRankForest(5, leafrank_depth=2, consensus="median").fit(X, y)
    values = mean._joined.values(X)
    assert len({tuple(column) for column in values.T}) == 5
    np.testing.assert_array_equal(mean.predict(X), values.mean(axis=1))
    np.testing.assert_array_equal(median.predict(X), np.median(values, axis=1))
    np.testing.assert_array_equal(median._joined.values(X), values)


def test_scores_of_forests_are_shares_of_all_rows_below():
    X, y = make_classification(60, 4, random_state=1)
    model = TreeRankForest(3, leafrank_depth=2, max_leaves=5).fit(X, y)
    for tree, own in zip(model.trees_, model._joined.values(X).T, strict=True):
        below = [(own < score).mean() + (own == score).mean() / 2 for score in own]
        np.testing.assert_allclose(own, below)
        assert tree.weight.sum() == pytest.approx(60)


def test_duels_are_all_pairs_of_grades_or_neighbours():
    assert duels_of(np.array([2.0, 0.0, 1.0, 2.0]), False) == [(0, 1), (0, 2), (1, 2)]
    assert duels_of(np.array([2.0, 0.0, 5.0, 2.0]), True) == [(0, 2), (2, 5)]


def test_a_tournament_has_a_forest_for_each_duel_that_learns_from_its_grades_alone():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 90)
    X = y[:, None] + rng.normal(0, 0.7, (90, 3))
    alone = {"bootstrap": False, "max_features": None, "leafrank_depth": 1, "max_leaves": 4}
    whole = TreeRankTournament(1, **alone).fit(X, y)
    assert len(whole.trees_) == 3
    duel = TreeRankForest(1, **alone).fit(X[y != 1], y[y != 1])
    np.testing.assert_array_equal(whole.trees_[1].gain, duel.trees_[0].gain)
    np.testing.assert_array_equal(whole.trees_[1].feature, duel.trees_[0].feature)
    assert len(TreeRankTournament(2, duels="adjacent", **alone).fit(X, y).trees_) == 4
    assert evaluate(y, whole.predict(X), measures="vus", n_resamples=0)["vus"] > 0.5


def test_duels_that_no_query_holds_are_left_out():
    X = np.arange(6.0)[:, None]
    model = TreeRankTournament(1, bootstrap=False).fit(X, [0, 1, 0, 1, 2, 1], qid=[0, 0, 0, 1, 1, 1])
    assert len(model.trees_) == 2  # 0 and 2 never meet


@each_ranker
def test_order_of_rows_and_queries_changes_no_bit(ranker):
    X, y, qid = graded()
    shuffled = np.random.default_rng(5).permutation(len(y))
    one = clone(ranker).fit(X, y, qid=qid).predict(X)
    two = clone(ranker).fit(X[shuffled], y[shuffled], qid=9 - qid[shuffled]).predict(X)
    np.testing.assert_array_equal(one, two)


def graded(seed=4, n_rows=60):
    """Rows of three grades in three queries, some values missing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows).astype(float)
    X = np.round(y[:, None] + rng.normal(0, 1.0, (n_rows, 3)), 1)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y, np.arange(n_rows) % 3


@pytest.mark.parametrize("ranker", QUICK[1:3], ids=lambda one: type(one).__name__)
def test_seeds_draw_other_trees_and_threads_the_same(ranker):
    X, y, qid = graded()
    first = clone(ranker).fit(X, y, qid=qid).predict(X)
    np.testing.assert_array_equal(clone(ranker).set_params(n_jobs=3).fit(X, y, qid=qid).predict(X), first)
    assert np.any(clone(ranker).set_params(random_state=1).fit(X, y, qid=qid).predict(X) != first)


@each_ranker
@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"pairs": ([0], [1])}, PodiumError, "learns from the order of labels, so pairs must be None"),
        ({"y": [0, 1, 2], "pairs": ([0], [1])}, PodiumError, "so pairs must be None"),
        ({"y": [1, 1, 1]}, NoPairsError, "nothing to rank"),
        ({"y": [0, 1, 2], "eval_set": [([[1.0]], [1])]}, PodiumError, "does not learn in rounds"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(ranker, given, error, message):
    with pytest.raises(error, match=message):
        clone(ranker).fit(**{"X": [[1.0], [2.0], [3.0]], **given})


def test_too_many_duels_are_refused():
    X = np.arange(50.0)[:, None]
    with pytest.raises(PodiumError, match="at most 1000 duels of two grades; y makes 1225: use CRank"):
        TreeRankTournament().fit(X, np.arange(50))


@pytest.mark.filterwarnings("default:Nothing was learned")
def test_a_fit_without_any_split_says_so():
    with pytest.warns(UserWarning, match="Nothing was learned, so that all predictions are equal: no split") as caught:
        model = TreeRank().fit([[1.0], [1.0]], [0, 1])
    assert caught[0].filename == __file__
    assert model.predict([[1.0], [5.0]]).tolist() == [0.5, 0.5]
    assert model.feature_importances_.tolist() == [0.0]


def test_importances_are_shares_of_gains():
    X, y, qid = graded()
    model = TreeRank(4, pruning_folds=0).fit(X, y, qid=qid)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert np.all(model.feature_importances_ >= 0)
