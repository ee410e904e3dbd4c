"""Splits by sets of categories against brute force: search, partition, leaves, scoring."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium._compiled import JIT_DISABLED
from podium.binning import as_blocks, bin_features
from podium.trees.category_split import CategorySplits, beats
from podium.trees.category_walk import tables_of
from podium.trees.grower import TreeGrower
from podium.trees.regression_tree import Forest
from podium.trees.split import Limits, Split
from profiles import examples
from reference import trees as twin

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # hashes and codes wrap around on purpose
]


def table(seed, n=80, n_categories=5, missing=0.2, numbers=1):
    """A categorical column, columns of numbers, gradients and curvatures."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n, 1 + numbers)).astype(float)
    X[:, 0] = rng.integers(0, n_categories, n)
    X[rng.random(X.shape) < missing] = np.nan
    return X, rng.normal(size=n), rng.random(n)


def grow(X, gradient, curvature, n_categories, smoothing=0.0, limits=None, rows=None, n_threads=1, **options):
    known = np.array([n_categories] + [-1] * (X.shape[1] - 1))
    bins = as_blocks(bin_features(X, n_categories=known))
    splits = CategorySplits(known, smoothing, n_threads)
    grower = TreeGrower(bins, limits or Limits(1, 0.0), n_threads=n_threads, categories=splits, **options)
    return grower.grow(gradient, curvature, rows=rows), bins


@examples(80, plain=8)
@given(
    seed=st.integers(0, 10_000),
    missing=st.sampled_from([0.0, 0.3]),
    n_categories=st.sampled_from([1, 2, 5, 40]),
    smoothing=st.sampled_from([0.0, 3.0]),
    limits=st.sampled_from([Limits(1, 0.0), Limits(9, 0.0), Limits(1, 4.0, 2.0), Limits(1, 0.0, 0.0, 0.7)]),
)
def test_the_split_found_is_the_best_of_sorted_and_single_sets(seed, missing, n_categories, smoothing, limits):
    X, gradient, curvature = table(seed, 80, n_categories, missing, numbers=0)
    grown, _ = grow(X, gradient, curvature, n_categories, smoothing, limits, max_leaves=2, exact=True)
    terms = (X[:, 0], gradient, curvature, smoothing, limits)
    expected = twin.best_set_gain(*terms, twin.sorted_and_single_sets)
    assert grown.tree.gain.sum() == pytest.approx(expected, rel=1e-6, abs=1e-9)


@examples(40, plain=4)
@given(seed=st.integers(0, 10_000), missing=st.sampled_from([0.0, 0.3]), smoothing=st.sampled_from([0.0, 5.0]))
def test_without_limits_no_set_at_all_is_better(seed, missing, smoothing):
    X, gradient, curvature = table(seed, 60, 7, missing, numbers=0)
    grown, _ = grow(X, gradient, curvature, 7, smoothing, max_leaves=2, exact=True)
    best = twin.best_set_gain(X[:, 0], gradient, curvature, smoothing, Limits(1, 0.0), twin.all_sets)
    assert grown.tree.gain.sum() == pytest.approx(best, rel=1e-6, abs=1e-9)


def test_small_categories_of_a_low_mean_are_parted_from_a_large_one_of_a_lower_sum():
    sizes, means = [2, 2, 50, 50], [-10.0, -9.0, -1.0, 1.2]  # with the sums -20, -18, -50 and 60
    X, gradient = np.repeat(np.arange(4.0), sizes)[:, None], np.repeat(means, sizes)
    tree = grow(X, gradient, np.ones(104), 4, max_leaves=2, exact=True)[0].tree
    assert tree.gain[0] == pytest.approx(38**2 / 4 + 10**2 / 100 - 28**2 / 104, rel=1e-6)
    np.testing.assert_allclose(tree.predict(np.arange(4.0)[:, None]), [9.5, 9.5, -0.1, -0.1])


def test_a_split_sends_left_what_its_gain_counts():
    X, gradient, curvature = table(3, 200, 30, numbers=0)
    tree = grow(X, gradient, curvature, 30, max_leaves=2, exact=True)[0].tree
    sums = twin.drawn_sums(X[:, 0], gradient, curvature, 0.0)
    lost = np.isnan(X[:, 0])
    apart = (gradient[lost].sum(), curvature[lost].sum(), lost.sum())
    left = twin.categories_of(tree.sets[0])
    found = twin.set_gain(sums, apart, left, tree.missing_left[0], Limits(1, 0.0))
    assert found == pytest.approx(tree.gain[0], rel=1e-6)


@examples(40, plain=5)
@given(seed=st.integers(0, 10_000), n_categories=st.sampled_from([3, 33, 255]), smoothing=st.sampled_from([0.0, 10.0]))
def test_rows_reach_the_same_leaf_by_partition_by_codes_and_by_values(seed, n_categories, smoothing):
    X, gradient, curvature = table(seed, 150, n_categories)
    rows = np.arange(0, 150, 2).astype(np.uint32)
    grown, bins = grow(X, gradient, curvature, n_categories, smoothing, Limits(3, 0.0), rows, max_leaves=9)
    tree = grown.tree
    expected = np.array([twin.leaf(tree, row) for row in X])
    np.testing.assert_array_equal(tree.leaves_of_codes(bins.codes, np.arange(150)), expected)
    for leaf in range(tree.n_leaves):
        own = grown.rows[grown.offsets[leaf] : grown.offsets[leaf + 1]]
        np.testing.assert_array_equal(own, rows[expected[rows] == leaf])
    for given_rows in (X, X.astype(np.float32), np.asfortranarray(X)):
        np.testing.assert_array_equal(Forest.of([tree]).score(given_rows), tree.value[expected])


def test_a_forest_of_both_kinds_of_trees_adds_them_up(monkeypatch):
    X, gradient, curvature = table(4, 200, 12)
    trees = [grow(X, gradient + i, curvature, 12, max_leaves=n)[0].tree for i, n in enumerate((2, 9, 60))]
    plain = np.nan_to_num(X)
    trees.append(TreeGrower(bin_features(plain), Limits(1, 0.0), 4).grow(gradient, curvature).tree)
    assert {len(tree.sets) > 0 for tree in trees} == {True, False}
    expected = [sum(tree.value[twin.leaf(tree, row)] for tree in trees) for row in X]
    np.testing.assert_allclose(Forest.of(trees).score(X), expected, rtol=1e-12)
    whole = Forest.of(trees).score(X)
    monkeypatch.setattr("podium.trees.regression_tree.ROWS_PER_TASK", 40)
    np.testing.assert_array_equal(Forest.of(trees).score(X, n_threads=2), whole)


def test_what_is_no_category_goes_the_way_of_missing_values():
    X, gradient, curvature = table(5, 200, 12, numbers=0)
    tree = grow(X, gradient, curvature, 12, max_leaves=6)[0].tree
    strange = np.array([[-1.0], [255.0], [1e300], [np.inf], [-np.inf], [np.nan]])
    assert len(np.unique(tree.predict(strange))) == 1


def test_categories_that_a_node_lacks_go_the_way_of_missing_values():
    X, gradient = np.array([[0.0], [0.0], [2.0], [np.nan], [np.nan]]), np.array([-3.0, -3.0, 5.0, 9.0, 9.0])
    tree = grow(X, gradient, np.ones(5), 4, max_leaves=3)[0].tree
    np.testing.assert_allclose(tree.predict(np.array([[0.0], [2.0], [1.0], [3.0]])), [3, -5, -9, -9])


def test_of_equal_gains_the_first_feature_wins_whatever_its_kind():
    by_set = Split(2.0, 2, -1, True, 5, 0.0, 1.0, 0.0, 1.0)
    by_cut = by_set._replace(feature=3, cut=1)
    assert beats(by_set, by_cut)
    assert not beats(by_set._replace(feature=4), by_cut)
    assert beats(by_set._replace(feature=4, gain=2.5), by_cut)
    assert not beats(by_set, by_cut._replace(gain=3.0))
    assert beats(by_set, by_cut._replace(gain=-1.0, feature=-1))


@pytest.mark.skipif(JIT_DISABLED, reason="plain kernels run on one thread")
@pytest.mark.parametrize("exact", [False, True])
def test_threads_change_no_bit_of_a_tree_with_sets(exact, monkeypatch):
    monkeypatch.setattr("podium.trees.grower.SHARED_CELLS", 1)
    monkeypatch.setattr("podium.trees.grower.SHARED_ROWS", 100)
    monkeypatch.setattr("podium.trees.grower.processors", lambda: 8)
    X, gradient, curvature = table(8, 600, 40, numbers=20)
    one, three = (grow(X, gradient, curvature, 40, 5.0, exact=exact, n_threads=n)[0].tree for n in (1, 3))
    assert len(one.sets)
    for name in ("feature", "threshold", "missing_left", "left", "right", "value", "gain", "count", "set_of", "sets"):
        np.testing.assert_array_equal(getattr(one, name), getattr(three, name))


def test_bounds_of_a_monotone_feature_hold_below_splits_by_sets():
    rng = np.random.default_rng(9)
    X = np.column_stack([rng.integers(0, 6, 400), rng.random(400)])
    gradient = -(np.sin(9 * X[:, 1]) + 2 * X[:, 1] + np.array([0, 2, -1, 3, 0, 1])[X[:, 0].astype(int)])
    known = np.array([6, -1])
    bins = bin_features(X, n_categories=known)
    grower = TreeGrower(bins, Limits(5, 0.0), 20, monotone=[0, 1], categories=CategorySplits(known, 0.0))
    tree = grower.grow(gradient, np.ones(400)).tree
    assert set(tree.feature) == {0, 1}
    np.testing.assert_array_equal(np.isnan(tree.threshold), tree.feature == 0)
    for category in range(6):
        grid = np.column_stack([np.full(101, category), np.linspace(-0.1, 1.1, 101)])
        assert np.all(np.diff(tree.predict(grid)) >= 0)


def test_tables_hold_the_bits_of_sets():
    sets = np.zeros((2, 8), np.uint32)
    sets[0, 0], sets[1, 7] = 0b101, 1 << 30
    tables = tables_of(sets, np.array([True, False]))
    np.testing.assert_array_equal(np.flatnonzero(tables[0]), [0, 1, 3])
    np.testing.assert_array_equal(np.flatnonzero(tables[1]), [255])
