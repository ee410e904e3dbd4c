"""Histogram trees against brute force: packing, histograms, splits, partition, leaves, scoring."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from podium._compiled import JIT_DISABLED
from podium.binning import as_blocks, bin_features
from podium.trees.grower import TreeGrower
from podium.trees.histogram import as_lines, pack_gradients
from podium.trees.regression_tree import Forest, RegressionTree
from podium.trees.split import Limits
from profiles import examples
from reference import trees as twin
from tree_kernels import columns_and_parts, fill, take

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # hashes and codes wrap around on purpose
]


def table(seed, n=60, n_features=3, missing=0.2, levels=6):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, levels, (n, n_features)).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    return X, rng.normal(size=n), rng.random(n)


def grow(X, gradient, curvature, salt=0, rows=None, features=None, limits=None, **options):
    grower = TreeGrower(as_blocks(bin_features(X)), limits or Limits(1, 0.0), **options)
    return grower.grow(gradient, curvature, salt, rows, features)


def keys_of(n):
    return np.random.default_rng(4).integers(0, 2**64, n, np.uint64)


@pytest.mark.parametrize("exact", [False, True])
def test_packed_sums_are_near_the_sums(exact):
    rng = np.random.default_rng(0)
    gradient, curvature = rng.normal(size=500) * 1e6, rng.random(500) * 1e-6
    packed = pack_gradients(gradient, curvature, keys_of(500), 3, exact)
    g, h, n = twin.unpack(packed.planes[:, :200].sum(axis=1), packed.layout)
    assert n == 200
    tolerance = 200 * twin.units(packed.layout)
    assert g == pytest.approx(gradient[:200].sum(), abs=tolerance[0])
    assert h == pytest.approx(curvature[:200].sum(), abs=tolerance[1])
    assert twin.units(packed.layout)[0] < np.abs(gradient).mean() * (1e-9 if exact else 1e-3)


def test_rounding_is_right_on_average_and_no_sum_overflows():
    gradient, curvature = np.full(40, 0.3), np.full(40, 0.7)
    found = np.array(
        [
            twin.unpack(packed.planes.sum(axis=1), packed.layout)[:2]
            for packed in (pack_gradients(gradient, curvature, keys_of(40), salt) for salt in range(5))
        ]
    )
    np.testing.assert_allclose(found, np.tile([12.0, 28.0], (5, 1)), rtol=1e-5)
    heavy = np.where(np.arange(40) == 7, 1e300, -1e-300)
    packed = pack_gradients(heavy, curvature, keys_of(40), 1)
    assert twin.unpack(packed.planes.sum(axis=1), packed.layout)[0] == pytest.approx(1e300, rel=1e-3)


GRADIENTS = {
    "constant": lambda rng, n: (np.full(n, 0.3), np.full(n, 0.25)),
    "two values": lambda rng, n: (np.where(rng.random(n) < 0.1, 0.9, -0.1), np.full(n, 0.09)),
    "continuous": lambda rng, n: (rng.normal(size=n) * np.exp(rng.normal(size=n)), np.exp(2 * rng.normal(size=n))),
}


@pytest.mark.skipif(JIT_DISABLED, reason="millions of rows")
@pytest.mark.parametrize("kind", GRADIENTS)
@pytest.mark.parametrize("n", [1_000, 100_000, 1_000_000, 2_000_000, 3_000_000])
def test_rounded_sums_are_unbiased_and_off_by_few_units(n, kind):
    gradient, curvature = GRADIENTS[kind](np.random.default_rng(n), n)
    parts = [slice(0, n), slice(0, n // 3), slice(n // 2, n // 2 + 500)]
    errors, keys = np.empty((2, len(parts), 2)), np.arange(n, dtype=np.uint64)
    for salt in range(2):
        packed = pack_gradients(gradient, curvature, keys, salt)
        for i, part in enumerate(parts):
            found, size = twin.unpack(packed.planes[:, part].sum(axis=1), packed.layout), len(gradient[part])
            assert found[2] == size
            units_off = (np.array(found[:2]) - [gradient[part].sum(), curvature[part].sum()]) / twin.units(
                packed.layout
            )
            errors[salt, i] = units_off / (np.sqrt(size) / 2)
    assert np.abs(errors).max() < 5  # standard deviations
    assert np.abs(errors.mean()) < 5 / np.sqrt(errors.size / 2)  # half of the parts overlap
    assert np.abs(gradient).mean() > 2 * twin.units(packed.layout)[0]
    assert curvature.mean() > 0.25 * twin.units(packed.layout)[1]


def test_equal_rows_are_rounded_apart_and_anew_in_each_round():
    gradient, curvature = np.full(1000, 0.5), np.full(1000, 0.5)
    gradient[0], curvature[0] = 2.0**28, 2.0**25  # what the others are is half a unit then
    rounds = [pack_gradients(gradient, curvature, keys_of(1000), salt) for salt in range(2)]
    first, second = (np.array(twin.unpack(packed.planes, packed.layout)[:2])[:, 1:] > 0 for packed in rounds)
    for ups in (first, second):
        assert np.abs(ups.sum(axis=1) - 500).max() < 80  # five standard deviations
    assert np.abs((first == second).sum(axis=1) - 500).max() < 80
    assert abs((first[0] == first[1]).sum() - 500) < 80  # gradient and curvature apart from each other


def test_rounding_depends_on_the_key_and_the_round_alone():
    rng = np.random.default_rng(1)
    gradient, curvature = rng.integers(-99, 99, 50) / 8, rng.integers(0, 99, 50) / 8  # sums are exact in any order
    keys, order = keys_of(50), rng.permutation(50)
    one, two = (
        pack_gradients(gradient, curvature, keys, 9),
        pack_gradients(gradient[order], curvature[order], keys[order], 9),
    )
    np.testing.assert_array_equal(one.planes[:, order], two.planes)
    assert not np.array_equal(one.planes, pack_gradients(gradient, curvature, keys, 8).planes)
    assert not np.array_equal(one.planes, pack_gradients(gradient, curvature, keys[order], 9).planes)


@pytest.mark.parametrize("n_features", [3, 8, 19, 64, 150])
def test_histograms_equal_the_twin_and_differences_are_the_other_child(n_features):
    rng = np.random.default_rng(2)
    X, gradient, curvature = table(2, 40, n_features)
    bins, packed = bin_features(X), pack_gradients(gradient, curvature, keys_of(40), 0)
    words, used, none = as_lines(bins), np.ones(-(-n_features // 8), bool), np.empty(0, np.int64)
    ends = sorted({0, min(13, 2 * len(used)), 2 * len(used)})
    codes = np.concatenate(list(bins.codes), axis=1)[:, :n_features]
    columns, parts = columns_and_parts(n_features, ends, none)
    groups = [np.sort(part).astype(np.uint32) for part in np.split(rng.permutation(40), [15])]
    found = [np.full((len(used), 8, 256), -7) for _ in range(3)]
    for rows, out in zip((*groups, np.arange(40, dtype=np.uint32)), found, strict=True):
        fill(columns, none, words, used, parts, rows, packed.planes[0][rows], 40, False, out, out)
        expected = twin.histogram(codes, rows, packed.planes[0])
        np.testing.assert_array_equal(out.reshape(-1, 256)[:n_features], expected)
    take(used, parts, found[0], found[2])
    larger, other = (one.reshape(-1, 256)[:n_features] for one in (found[2], found[1]))
    np.testing.assert_array_equal(larger, other)


@examples(60, plain=8)
@given(
    seed=st.integers(0, 10_000),
    missing=st.sampled_from([0.0, 0.3]),
    least=st.sampled_from([1, 5, 20]),
    weight=st.sampled_from([0.0, 3.0]),
    ridge=st.sampled_from([0.0, 2.0]),
)
def test_every_exact_split_is_the_best_of_its_node(seed, missing, least, weight, ridge):
    X, gradient, curvature = table(seed, missing=missing)
    limits = Limits(least, weight, ridge)
    tree = grow(X, gradient, curvature, limits=limits, max_leaves=6, exact=True).tree
    reached = twin.node_rows(tree, X)
    for node, rows in reached.items():
        best = twin.best_gain(X[rows], gradient[rows], curvature[rows], least, weight, ridge)
        if node >= 0 and len(tree.gain):
            assert tree.gain[node] == pytest.approx(best, rel=1e-6, abs=1e-9)
    if tree.n_leaves == 1:
        assert twin.best_gain(X, gradient, curvature, least, weight, ridge) == pytest.approx(0, abs=1e-9)


@examples(40, plain=8)
@given(seed=st.integers(0, 10_000), least=st.sampled_from([1, 9]), weighted=st.booleans())
def test_splits_by_squares_are_the_best_and_leaf_values_newtons(seed, least, weighted):
    X, gradient, curvature = table(seed)
    weight = np.random.default_rng(seed).integers(1, 4, 60).astype(float) if weighted else np.ones(60)
    limits = Limits(least, 5.0, 3.0)
    tree = grow(X, gradient, curvature, limits=limits, max_leaves=6, exact=True, weight=weight).tree
    reached = twin.node_rows(tree, X)
    for node, rows in reached.items():
        if node >= 0 and len(tree.gain):
            best = twin.best_gain(X[rows], gradient[rows], weight[rows], least, 5.0, gain=twin.fall_of_squares)
            assert tree.gain[node] == pytest.approx(best, rel=1e-6, abs=1e-9)
        elif len(tree.gain):
            assert tree.value[~node] == pytest.approx(-gradient[rows].sum() / (curvature[rows].sum() + 3.0))


def test_the_leaf_with_the_largest_gain_is_split_next():
    X, gradient, curvature = table(5)
    tree = grow(X, gradient, curvature, max_leaves=5, exact=True).tree
    reached = twin.node_rows(tree, X)
    open_nodes = {0}
    for number in range(len(tree.feature)):
        best = {
            node: twin.best_gain(X[rows], gradient[rows], curvature[rows])
            for node, rows in reached.items()
            if node in open_nodes
        }
        assert tree.gain[number] == pytest.approx(max(best.values()), rel=1e-6)
        open_nodes = (open_nodes - {number}) | {int(tree.left[number]), int(tree.right[number])}


@examples(40, plain=5)
@given(seed=st.integers(0, 10_000), depth=st.sampled_from([None, 1, 3]))
def test_leaves_hold_newtons_value_of_the_rows_that_reach_them(seed, depth):
    X, gradient, curvature = table(seed)
    grown = grow(X, gradient, curvature, max_leaves=7, max_depth=depth, limits=Limits(3, 0.0, 0.5))
    tree = grown.tree
    leaves = np.array([twin.leaf(tree, row) for row in X])
    assert tree.depth <= (depth or 6)
    for leaf in range(tree.n_leaves):
        own = leaves == leaf
        np.testing.assert_array_equal(np.flatnonzero(own), grown.rows[grown.offsets[leaf] : grown.offsets[leaf + 1]])
        assert own.sum() == tree.count[leaf] >= 3
        assert tree.value[leaf] == pytest.approx(-gradient[own].sum() / (curvature[own].sum() + 0.5), rel=1e-12)


def test_rows_and_features_may_be_chosen():
    X, gradient, curvature = table(7, n_features=20)
    rows, features = np.arange(0, 60, 2).astype(np.uint32), np.array([3, 17])
    options = {"max_leaves": 4, "exact": True, "limits": Limits(5, 0.0)}
    grown = grow(X, gradient, curvature, rows=rows, features=features, **options)
    alone = grow(X[rows][:, features], gradient[rows], curvature[rows], **options).tree
    assert set(grown.tree.feature) <= {3, 17}
    np.testing.assert_array_equal(features[alone.feature], grown.tree.feature)
    np.testing.assert_array_equal(alone.value, grown.tree.value)
    others = np.arange(1, 60, 2)
    found = grown.tree.leaves_of_codes(as_blocks(bin_features(X)).codes, others)
    np.testing.assert_array_equal(found, [twin.leaf(grown.tree, X[i]) for i in others])


@pytest.mark.parametrize("max_depth", [3, 4, 5])
def test_room_is_made_where_the_last_leaves_need_none(max_depth, monkeypatch):
    X, gradient, curvature = table(14, 90, 3, levels=50)
    monkeypatch.setattr("podium.trees.grower.FIRST_HISTOGRAMS", 8)
    one = grow(X, gradient, curvature, max_leaves=255, max_depth=max_depth).tree
    assert (one.n_leaves > 8) == (max_depth > 3)
    monkeypatch.setattr("podium.trees.grower.FIRST_HISTOGRAMS", 255)
    np.testing.assert_array_equal(
        one.value, grow(X, gradient, curvature, max_leaves=255, max_depth=max_depth).tree.value
    )


def test_room_is_made_for_more_leaves(monkeypatch):
    X, gradient, curvature = table(13, 200)
    one = grow(X, gradient, curvature, max_leaves=40).tree
    monkeypatch.setattr("podium.trees.grower.FIRST_HISTOGRAMS", 2)
    two = grow(X, gradient, curvature, max_leaves=40).tree
    assert one.n_leaves == 40
    np.testing.assert_array_equal(one.value, two.value)


def test_half_of_the_leaves_need_histograms_at_once(monkeypatch):
    X, gradient, curvature = table(13, 400, 3, levels=60)
    monkeypatch.setattr("podium.trees.grower.FIRST_HISTOGRAMS", 1)
    grower = TreeGrower(as_blocks(bin_features(X)), Limits(1, 0.0), max_leaves=60)
    for salt in range(3):
        assert grower.grow(gradient, curvature, salt).tree.n_leaves == 60
        assert len(grower._histograms) == 32


def test_min_split_gain_and_constant_data_stop_growth():
    X, gradient, curvature = table(11)
    assert grow(X, gradient, curvature, limits=Limits(1, 0.0, 0.0, 1e9)).tree.n_leaves == 1
    assert grow(np.ones_like(X), gradient, curvature).tree.n_leaves == 1
    assert grow(np.full_like(X, np.nan), gradient, curvature).tree.n_leaves == 1
    assert grow(X, np.zeros(60), curvature).tree.n_leaves == 1


def test_minus_infinity_is_a_value_like_others():
    X, gradient = np.array([[-np.inf], [-np.inf], [1.0], [np.nan]]), np.array([-3.0, -3.0, 5.0, 9.0])
    tree = grow(X, gradient, np.ones(4), max_leaves=3).tree
    np.testing.assert_allclose(tree.predict(X), [3, 3, -5, -9])


@pytest.mark.parametrize("kind", [np.float64, np.float32, sp.csr_array, sp.csc_array, np.asfortranarray])
def test_forest_adds_up_the_trees_of_every_storage(kind, monkeypatch):
    X, gradient, curvature = table(12, 150)
    X = (X + 1).astype(np.float32).astype(float)
    trees = [grow(X, gradient + i, curvature, max_leaves=n).tree for i, n in enumerate((2, 9, 80))]
    trees.append(
        RegressionTree(
            *(np.empty(0, np.int32) for _ in range(5)),
            np.array([0.25]),
            np.empty(0),
            np.array([1]),
            np.empty(0, np.int32),
        )
    )
    expected = [sum(tree.value[twin.leaf(tree, row)] for tree in trees) for row in X]
    given = (
        kind(np.nan_to_num(X))
        if kind in (sp.csr_array, sp.csc_array)
        else X.astype(kind)
        if isinstance(kind, type)
        else kind(X)
    )
    np.testing.assert_allclose(Forest.of(trees).score(given), expected, rtol=1e-12)
    whole = Forest.of(trees).score(given)
    monkeypatch.setattr("podium.trees.regression_tree.ROWS_PER_TASK", 40)
    np.testing.assert_array_equal(Forest.of(trees).score(given, n_threads=2), whole)
