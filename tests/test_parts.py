"""Bins, trees and draws by several parts: those of one part, bit for bit, for any partitioning."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from parts import run_parts
from podium._exact import DIGITS, rounded
from podium._exchange import ALONE
from podium._sparse import take_rows
from podium.binning import BinRows, bin_blocks, bin_features, cuts, shared_bins, shared_sparse_bins
from podium.data import Queries
from podium.trees import grower, shared_growth
from podium.trees.grower import TreeGrower
from podium.trees.split import Limits
from podium.trees.tree_boosting import Sampler

FIELDS = ("feature", "threshold", "missing_left", "left", "right", "value", "gain", "count")


def table(seed, n=400, n_features=20):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 3], X[:, 4], X[0, 5] = np.nan, rng.integers(0, 3, n), -np.inf
    return X, rng.normal(size=n) / 3, rng.random(n), rng.random(n), rng.integers(0, 2**64, n, np.uint64)


def partition(n, n_parts, seed):
    """Return the rows of parts of random sizes, the first of one row alone."""
    owner = np.random.default_rng(seed).integers(1 if n_parts > 1 else 0, n_parts, n)
    owner[n // 2] = 0
    return [np.flatnonzero(owner == part) for part in range(n_parts)]


def grow(n_trees=2, seed=1, weight=False, **options):
    X, gradient, curvature, weights, keys = table(seed)

    def own(rows, exchange):
        bins = bin_features(X[rows], None, weights[rows], 30, 1, None, None, keys[rows], exchange)
        grower = TreeGrower(
            bins, Limits(5, 0.0, 0.5), 12, keys=keys[rows], weight=weights[rows] if weight else None,
            exchange=exchange, **options,
        )  # fmt: skip
        return [grower.grow(gradient[rows], curvature[rows], salt).tree for salt in range(n_trees)]

    return own


def assert_same(one, other):
    for first, second in zip(one, other, strict=True):
        for name in FIELDS:
            np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)


@pytest.mark.parametrize("n_parts", [1, 2, 3, 7])
@pytest.mark.parametrize("exact", [False, True])
def test_parts_grow_the_trees_of_one_part(n_parts, exact):
    own = grow(exact=exact)
    expected = own(np.arange(400), ALONE)
    assert expected[0].n_leaves == 12
    for found in run_parts(own, partition(400, n_parts, n_parts)):
        assert_same(found, expected)


@pytest.mark.parametrize("share", [1e-9, 0.8, np.inf])
def test_divisions_before_they_are_due_change_no_tree_and_save_exchanges(monkeypatch, share):
    monkeypatch.setattr(shared_growth, "LIKELY_SHARE", share)
    own, exchanges = grow(n_trees=3, seed=4), []

    def counted(rows, exchange):
        sums, scatter_sum = [], exchange.scatter_sum
        exchange.scatter_sum = lambda wanted: (sums.append(len(wanted[0])), scatter_sum(wanted))[1]
        trees = own(rows, exchange)
        exchanges.append(sums)
        return trees

    expected = own(np.arange(400), ALONE)
    for found in run_parts(counted, partition(400, 2, 3)):
        assert_same(found, expected)
    n_due = sum(tree.n_leaves - 1 for tree in expected)  # the last division has no search, the root has one
    assert sum(exchanges[0]) == n_due if share == np.inf else n_due < sum(exchanges[0]) <= 1.6 * n_due
    assert len(exchanges[0]) == n_due if share == np.inf else len(exchanges[0]) <= n_due - 4


@pytest.mark.parametrize("options", [{"monotone": [1] * 10 + [-1] * 10}, {"max_depth": 3}])
@pytest.mark.parametrize("weight", [False, True])
def test_limits_hold_for_all_parts_together(options, weight):
    own = grow(seed=2, weight=weight, **options)
    expected = own(np.arange(400), ALONE)
    for found in run_parts(own, partition(400, 3, 5)):
        assert_same(found, expected)


def test_children_too_small_to_be_searched_leave_the_histograms_of_others_alone(monkeypatch):
    monkeypatch.setattr(shared_growth, "LIKELY_SHARE", 1e-9)  # many leaves are divided at once
    own = grow(n_trees=3, seed=1)
    expected = own(np.arange(400), ALONE)
    for found in run_parts(own, partition(400, 2, 5)):
        assert_same(found, expected)


def test_more_parts_than_words_of_features_grow_the_same_tree():
    X, gradient, curvature, _, keys = table(3, n_features=6)

    def own(rows, exchange):
        bins = bin_features(X[rows], None, np.ones(len(rows)), 255, 1, None, None, keys[rows], exchange)
        grower = TreeGrower(bins, Limits(5, 0.0), 8, keys=keys[rows], exchange=exchange)
        chosen = rows[rows % 3 > 0]
        drawn = np.searchsorted(rows, chosen).astype(np.uint32)
        return [grower.grow(gradient[rows], curvature[rows], 1, drawn, np.array([1, 4, 5])).tree]

    expected = own(np.arange(400), ALONE)
    for found in run_parts(own, partition(400, 4, 6)):
        assert_same(found, expected)


def test_with_naive_sums_of_leaves_the_trees_would_differ(monkeypatch):
    def naive(digits, exchange):
        own = np.array(rounded(digits.reshape(-1, DIGITS))).reshape(-1, 2)
        return exchange.gather(own).sum(axis=0)

    own = grow(n_trees=8)
    expected = own(np.arange(400), ALONE)
    monkeypatch.setattr(grower, "leaf_sums", naive)
    found = run_parts(own, partition(400, 3, 4))[0]
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one.feature, other.feature)
        np.testing.assert_allclose(one.value, other.value, rtol=1e-12)
    assert any((one.value != other.value).any() for one, other in zip(expected, found, strict=True))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("most_merged", [40, 4096])
def test_bins_of_many_rows_are_the_same_for_any_partitioning(monkeypatch, weighted, most_merged):
    monkeypatch.setattr(cuts, "MAX_ROWS_SORTED", 200)
    monkeypatch.setattr(cuts, "SAMPLE_ROWS", 100)
    monkeypatch.setattr(shared_bins, "MOST_MERGED", most_merged)
    X, _, _, weights, keys = table(7)
    X[:, 6] = np.where(np.arange(400) % 50 == 0, np.arange(400), 0.0)  # few values in the sample, more in all rows
    X[:, 7] = np.where(np.arange(400) % 4 == 0, np.arange(400) // 8, 0.0)
    weights = weights if weighted else np.ones(400)

    def own(rows, exchange):
        return bin_features(X[rows], None, weights[rows], 10, 1, None, None, keys[rows], exchange)

    expected = own(np.arange(400), ALONE)
    for parts in (partition(400, 4, 8), partition(400, 2, 9)):
        for rows, found in zip(parts, run_parts(own, parts), strict=True):
            np.testing.assert_array_equal(found.codes, expected.codes[:, rows])
            for name in ("thresholds", "offsets", "first", "has_missing"):
                np.testing.assert_array_equal(getattr(found.cuts, name), getattr(expected.cuts, name))
    order = np.random.default_rng(0).permutation(400)
    np.testing.assert_array_equal(own(order, ALONE).codes, expected.codes[:, order])
    assert expected.cuts.n_bins[6] == len(np.unique(X[:, 6])) == 8
    assert 6 <= expected.cuts.n_bins[0] <= 10


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("most_merged", "n_features", "n_entries"), [(4096, 4096, 2**20), (40, 3, 350), (4096, 8, 1), (20, 9, 999)]
)
def test_sparse_features_have_the_bins_of_dense_ones_for_any_partitioning(
    monkeypatch, weighted, most_merged, n_features, n_entries
):
    monkeypatch.setattr(cuts, "MAX_ROWS_SORTED", 200)
    monkeypatch.setattr(cuts, "SAMPLE_ROWS", 100)
    monkeypatch.setattr(shared_bins, "MOST_MERGED", most_merged)
    monkeypatch.setattr(shared_sparse_bins, "MOST_FEATURES", n_features)
    monkeypatch.setattr(shared_sparse_bins, "MOST_ENTRIES", n_entries)
    X, _, _, weights, keys = table(7)
    X[:, 6] = np.where(np.arange(400) % 50 == 0, np.arange(400), np.nan)
    X[:, 7] = np.where(np.arange(400) % 4 == 0, np.arange(400) // 8, 0.0)  # more values than are merged, or fewer
    X[:, 4] = np.where(np.arange(400) % 13 == 0, np.arange(400), np.nan)  # 31 values, in no part more than 20
    X[:3, 1], X[:, 2], X[5, 3] = [-np.inf, 0.0, np.inf], np.nan, -0.0
    weights = weights if weighted else np.ones(400)
    known = np.full(X.shape[1], -1)

    def own(features, rows, exchange):
        order = np.arange(len(rows))[::-1]
        given = BinRows(order, weights[rows][order], 10, 1, known, keys[rows][order], exchange)
        return bin_blocks(take_rows(features, rows), given)

    dense, keep = own(X, np.arange(400), ALONE), ~np.isnan(X)
    sparse = sp.csc_array((X[keep], np.nonzero(keep)), X.shape)
    parts = partition(400, 3, 8)
    for rows, found in zip(parts, run_parts(lambda rows, exchange: own(sparse, rows, exchange), parts), strict=True):
        np.testing.assert_array_equal(found.codes, dense.codes[:, ::-1][:, rows][:, ::-1])
        for name in ("thresholds", "offsets", "first", "has_missing"):
            np.testing.assert_array_equal(getattr(found.cuts, name), getattr(dense.cuts, name))


def test_messages_of_sparse_bins_do_not_grow_with_the_features():
    keys, rng = np.arange(90, dtype=np.uint64), np.random.default_rng(0)
    X = sp.csc_array(np.where(rng.random((90, 600)) < 0.1, rng.integers(1, 5, (90, 600)), 0.0))

    def n_messages(n_features):
        def own(rows, exchange):
            messages, gather = [], exchange.gather
            exchange.gather = lambda array: (messages.append(array.shape), gather(array))[1]
            bin_features(X[rows][:, :n_features], None, keys[rows] + 1.5, 10, 1, None, None, keys[rows], exchange)
            return len(messages)

        return run_parts(own, partition(90, 3, 8))

    assert n_messages(30) == n_messages(600)


@pytest.mark.parametrize(("sizes", "runs"), [([], []), ([3, 2, 5, 9, 1], [(0, 2), (2, 3), (3, 4), (4, 5)])])
def test_runs_have_at_most_so_much_or_one_that_has_more(sizes, runs):
    assert list(shared_sparse_bins._runs_within(np.array(sizes, np.int64), 5)) == runs


@pytest.mark.parametrize("share", [0.01, 0.3, 0.99, 1.0])
def test_parts_draw_the_queries_of_one_part(share):
    keys = np.random.default_rng(3).integers(0, 2**64, 60, np.uint64)

    def own(rows, exchange):
        queries = Queries(rows, np.arange(2 * len(rows)), np.arange(0, 2 * len(rows) + 1, 2), keys[rows])
        sampler = Sampler(queries, 5, share, 1.0, 4, exchange)
        drawn = [sampler.rows(number) for number in range(3)]
        return [rows if one is None else rows[one[::2] // 2] for one in drawn]

    expected = own(np.arange(60), ALONE)
    assert [len(one) for one in expected] == [max(1, round(60 * share))] * 3
    found = run_parts(own, partition(60, 4, 2))
    for number in range(3):
        together = np.sort(np.concatenate([one[number] for one in found]))
        np.testing.assert_array_equal(together, expected[number])


def test_of_leaves_with_equal_gains_the_first_is_due():
    kind = [("parent", np.int64), ("on_left", np.int64), ("gain", np.float64)]
    splits = np.array([(-1, 0, 9.0)], kind)
    leaves = np.array([(0, 1, 0.0), (0, 0, 0.0)], kind)
    tree = SimpleNamespace(splits=splits, leaves=leaves, best={"gain": np.array([5.0, 5.0])})
    assert shared_growth.BestFirst(8).advance(tree, 2) == 0
