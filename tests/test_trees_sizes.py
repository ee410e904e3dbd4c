"""Trees on both sides of every size that chooses a way: rows fetched together, integers, threads, leaves, tasks."""

import sys
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

from podium.binning import as_blocks, bin_features
from podium.trees.category_split import CategorySplits
from podium.trees.grower import TreeGrower
from podium.trees.histogram import ROWS_PER_FETCH, as_lines, pack_gradients
from podium.trees.regression_tree import Forest, rounded_down, staged_scores
from podium.trees.split import Limits
from reference import trees as twin
from tree_kernels import columns_and_parts, fill, take

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # hashes and codes wrap around on purpose
]

COLUMNS = ("feature", "threshold", "missing_left", "left", "right", "value", "gain", "count", "set_of", "sets")


def table(seed, n=60, n_features=3, missing=0.2, levels=6):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, levels, (n, n_features)).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    return X, rng.normal(size=n), rng.random(n)


def grower_of(X, limits=None, n_categories=None, **options):
    known = np.full(X.shape[1], -1)
    if n_categories is not None:
        known[0] = n_categories
        options["categories"] = CategorySplits(known, options.pop("smoothing", 0.0), options.get("n_threads", 1))
    return TreeGrower(as_blocks(bin_features(X, n_categories=known)), limits or Limits(1, 0.0), **options)


def grow(X, gradient, curvature, rows=None, features=None, **options):
    return grower_of(X, **options).grow(gradient, curvature, 0, rows, features)


def assert_same_tree(one, other):
    np.testing.assert_array_equal(one.rows, other.rows)
    np.testing.assert_array_equal(one.offsets, other.offsets)
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(one.tree, name), getattr(other.tree, name))


def keys_of(n):
    return np.random.default_rng(4).integers(0, 2**64, n, np.uint64)


@pytest.mark.parametrize(("n", "n_planes"), [(100, 1), (101, 2)])
def test_many_rows_have_an_integer_for_gradients_and_one_for_curvatures(n, n_planes, monkeypatch):
    monkeypatch.setattr("podium.trees.histogram.MAX_ROWS_PACKED", 100)
    rng = np.random.default_rng(0)
    gradient, curvature = rng.normal(size=n), rng.random(n)
    packed = pack_gradients(gradient, curvature, keys_of(n), 3)
    assert len(packed.planes) == n_planes
    for part in (slice(0, n), slice(0, 30), slice(40, 41)):
        g, h, count = twin.unpack(packed.planes[:, part].sum(axis=1), packed.layout)
        assert count == len(gradient[part])
        assert g == pytest.approx(gradient[part].sum(), abs=count * twin.units(packed.layout)[0])
        assert h == pytest.approx(curvature[part].sum(), abs=count * twin.units(packed.layout)[1])
    fine = [np.abs(gradient).mean(), curvature.mean()] / twin.units(packed.layout)
    assert (fine > 2.0**40).all() == (n_planes == 2)


def test_a_tree_of_two_integers_a_row_is_that_of_one(monkeypatch):
    X, gradient, curvature = table(1, missing=0.0)
    packed = grow(X, gradient, curvature, max_leaves=5)
    monkeypatch.setattr("podium.trees.histogram.MAX_ROWS_PACKED", 59)
    two = grow(X, gradient, curvature, max_leaves=5)
    np.testing.assert_array_equal(two.rows, packed.rows)
    np.testing.assert_allclose(two.tree.gain, packed.tree.gain, rtol=1e-4)
    np.testing.assert_array_equal(two.tree.value, packed.tree.value)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("spread", [0.0, -50.0])
def test_sums_are_packed_anew_where_rounding_makes_them_overflow(spread, sign, monkeypatch):
    """Without anything kept free for the rounding, it takes half of all sums beyond the highest number."""
    monkeypatch.setattr("podium.trees.histogram.ROUNDING_SLACK_UNITS", spread)
    rng = np.random.default_rng(0)
    gradient, curvature = sign * rng.random(40), rng.random(40)
    for salt in range(12):
        packed = pack_gradients(gradient, curvature, keys_of(40), salt)
        g, h, n = twin.unpack(packed.planes.sum(axis=1), packed.layout)
        np.testing.assert_allclose([g, h, n], [gradient.sum(), curvature.sum(), 40], rtol=1e-5)


def test_whole_curvatures_are_not_rounded_if_asked():
    weight = np.random.default_rng(0).integers(1, 9, 70).astype(float)
    packed = pack_gradients(np.linspace(-1, 1, 70), weight, keys_of(70), 5, whole=True)
    np.testing.assert_array_equal(twin.unpack(packed.planes, packed.layout)[1], weight)


def test_threads_change_no_bit_of_packed_values_and_lines(monkeypatch):
    X, gradient, curvature = table(2, 50, 20)
    bins = as_blocks(bin_features(X))
    one = pack_gradients(gradient, curvature, keys_of(50), 1), as_lines(bins)
    monkeypatch.setattr("podium._compiled.CELLS_WORTH_THREADS", 0)
    three = pack_gradients(gradient, curvature, keys_of(50), 1, n_threads=3), as_lines(bins, 3)
    np.testing.assert_array_equal(one[0].planes, three[0].planes)
    np.testing.assert_array_equal(one[1], three[1])


@pytest.mark.parametrize("n_rows", [ROWS_PER_FETCH, ROWS_PER_FETCH + 1, 2 * ROWS_PER_FETCH + 20])
@pytest.mark.parametrize("n_features", [3, 67])
def test_histograms_of_more_rows_than_are_fetched_together_equal_the_twin(n_features, n_rows):
    X, gradient, curvature = table(3, 40, n_features)
    bins, packed = bin_features(X), pack_gradients(gradient, curvature, keys_of(40), 0)
    rows = np.random.default_rng(5).integers(0, 40, n_rows, np.uint32)  # each of few rows many times
    n_words, none = -(-n_features // 8), np.empty(0, np.int64)
    found = np.full((n_words, 8, 256), -7)
    columns, parts = columns_and_parts(n_features, [0, 2 * n_words - 1, 2 * n_words], none)  # the last word in halves
    every, values = np.ones(n_words, bool), packed.planes[0][rows]
    fill(columns, none, as_lines(bins), every, parts, rows, values, 40, False, found, found)
    codes = np.concatenate(list(bins.codes), axis=1)[:, :n_features]
    expected = np.zeros((n_features, 256), np.int64)
    for feature in range(n_features):
        np.add.at(expected[feature], codes[rows, feature], packed.planes[0][rows])
    np.testing.assert_array_equal(found.reshape(-1, 256)[:n_features], expected)


@pytest.mark.parametrize(("first", "last"), [(0, 38), (6, 24), (18, 38), (32, 38), (5, 38), (6, 23), (7, 8), (31, 33)])
def test_only_histograms_of_used_words_in_the_range_are_filled_and_summed_up(first, last):
    X, gradient, curvature = table(4, 30, 150)
    bins, packed = bin_features(X), pack_gradients(gradient, curvature, keys_of(30), 0)
    rows, used = np.arange(0, 30, 2, dtype=np.uint32), np.random.default_rng(6).random(19) < 0.5
    used[[3, 15, 16]] = True  # of which some ranges have a half
    found, node = np.full((19, 8, 256), -7), np.full((19, 8, 256), 1000)
    features = np.repeat(used, 8)[:150].nonzero()[0][::3]
    columns, parts = columns_and_parts(150, [first, last], features)
    fill(columns, features, as_lines(bins), used, parts, rows, packed.planes[0][rows], 30, True, found, node)
    codes = np.concatenate(list(bins.codes), axis=1)
    codes = np.pad(codes, ((0, 0), (0, 152 - codes.shape[1]))) if codes.shape[1] < 152 else codes[:, :152]
    plain = twin.histogram(codes, rows, packed.planes[0]).reshape(38, 4, 256)
    numeric = np.isin(np.arange(152), features).reshape(38, 4, 1)
    expected = np.where(numeric, np.cumsum(plain, axis=-1), plain)
    in_range = np.repeat(used, 2) & (np.arange(38) >= first) & (np.arange(38) < last)
    filled = np.repeat(in_range, 4).reshape(38, 4, 1) & (np.arange(152) < 150).reshape(38, 4, 1)
    np.testing.assert_array_equal(found.reshape(38, 4, 256), np.where(filled, expected, -7))
    np.testing.assert_array_equal(node.reshape(38, 4, 256), np.where(filled, 1000 - expected, 1000))
    taken = np.full((19, 8, 256), 1000)
    take(used, parts, found, taken)
    np.testing.assert_array_equal(taken.reshape(38, 4, 256)[filled[..., 0]], (1000 - expected)[filled[..., 0]])
    np.testing.assert_array_equal(taken.reshape(38, 4, 256)[~in_range], 1000)


def test_running_sums_end_with_the_last_bin_and_a_root_is_taken_from_nothing():
    bins = bin_features(np.repeat(np.arange(4.0), 2)[:, None] * [1.0, 0.0])
    words, rows, values = as_lines(bins), np.arange(8, dtype=np.uint32), np.arange(1, 9)
    columns, parts = columns_and_parts(2, [0, 2], np.arange(2), n_bins=[4, 1])
    found, node = np.full((1, 8, 256), 9), np.full((1, 8, 256), 1)
    fill(columns, np.arange(2), words, np.ones(1, bool), parts, rows, values, 8, False, found, node)
    np.testing.assert_array_equal(found[0, 0, :7], [0, 3, 10, 21, 36, 0, 0])
    np.testing.assert_array_equal(found[0, 1, :4], [0, 36, 0, 0])
    assert not found[0, 0, 7:].any()
    assert not found[0, 1, 4:].any()
    assert found[0, 2:].min() == 9
    assert node.min() == node.max() == 1


@pytest.fixture
def shared_items(monkeypatch):
    """Let tasks have several items in the smallest trees, which one thread does when no helper comes."""
    for name in ("SHARED_CELLS", "SHARED_ROWS"):
        monkeypatch.setattr(f"podium.trees.grower.{name}", 1)
    monkeypatch.setattr("podium.trees.grower.processors", lambda: 8)
    monkeypatch.setattr("podium.trees.grower.JIT_DISABLED", False)
    monkeypatch.setattr("podium.trees.grower.run_beside", lambda function, *others: function())


@pytest.mark.usefixtures("shared_items")
@pytest.mark.parametrize(("n", "n_features", "exact"), [(90, 17, False), (50, 9, True), (30, 70, False)])
def test_tasks_of_several_items_grow_the_tree_of_single_ones(n, n_features, exact):
    X, gradient, curvature = table(8, n, n_features)
    options = {"max_leaves": 6, "exact": exact}
    one, *others = (grow(X, gradient, curvature, n_threads=n, **options) for n in (1, 2, 3))
    for other in others:
        assert_same_tree(one, other)


@pytest.mark.usefixtures("shared_items")
def test_tasks_of_several_items_find_the_first_of_equal_gains_and_the_drawn_features():
    X, gradient, curvature = table(8, 60, 1)
    alike = np.repeat(X, 40, axis=1)
    features = np.array([9, 12, 30])
    for n_threads in (1, 4):
        assert not grow(alike, gradient, curvature, n_threads=n_threads, max_leaves=4).tree.feature.any()
        found = grow(alike, gradient, curvature, features=features, n_threads=n_threads, max_leaves=4).tree
        assert set(found.feature) == {9}


@pytest.mark.usefixtures("shared_items")
def test_threads_that_help_grow_the_tree_of_one(monkeypatch):
    from podium._compiled import run_beside

    monkeypatch.setattr("podium.trees.grower.run_beside", run_beside)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    try:
        X, gradient, curvature = table(9, 60, 20)
        one, three = (grow(X, gradient, curvature, n_threads=n, max_leaves=6) for n in (1, 3))
    finally:
        sys.setswitchinterval(interval)
    assert_same_tree(one, three)


@pytest.mark.parametrize("kind", ["numbers", "set", "missing", "squares"])
@pytest.mark.parametrize("n_groups", [2, 3, 4, 5])
@pytest.mark.parametrize("size", [1, 4])
def test_leaves_may_have_just_the_fewest_rows_and_the_least_weight(size, n_groups, kind):
    """Groups of the fewest rows, far apart: each must become a leaf."""
    group = np.repeat(np.arange(n_groups), size)
    gradient = np.array([0.0, 7.0, 100.0, 140.0, 1000.0])[group]
    X = group[:, None].astype(float)
    options = {"limits": Limits(size, 0.0), "exact": True}
    if kind == "missing":
        X[group == 1] = np.nan
    if kind == "set":
        options["n_categories"] = n_groups
    if kind == "squares":
        options.update(limits=Limits(1, float(size)), weight=np.ones(len(X)))
    grown = grow(X, gradient, np.ones(len(X)), **options)
    np.testing.assert_array_equal(grown.tree.count, size)
    assert grown.tree.n_leaves == n_groups
    assert len(grown.tree.sets) == (n_groups - 1 if kind == "set" else 0)
    fewer = options | {"limits": Limits(size + 1, 0.0)}
    if kind == "squares":
        fewer["limits"] = Limits(1, size + 0.5)
    assert grow(X, gradient, np.ones(len(X)), **fewer).tree.count.min() > size


@pytest.mark.parametrize("kind", ["numbers", "set", "constrained"])
def test_the_gain_must_exceed_the_least_one(kind):
    X, gradient, curvature = table(10, 40, 1, missing=0.0)
    gradient -= X[:, 0]
    options = {"numbers": {}, "set": {"n_categories": 6}, "constrained": {"monotone": [1]}}[kind] | {"max_leaves": 2}
    gain = grow(X, gradient, curvature, **options).tree.gain[0]
    assert grow(X, gradient, curvature, limits=Limits(1, 0.0, 0.0, gain), **options).tree.n_leaves == 1
    assert grow(X, gradient, curvature, limits=Limits(1, 0.0, 0.0, gain * (1 - 1e-9)), **options).tree.n_leaves == 2


@pytest.mark.parametrize("kind", ["number", "set"])
@pytest.mark.parametrize(("left", "right"), [(3, 7), (7, 3), (5, 5)])
def test_missing_values_take_the_side_with_more_rows_where_a_node_has_none(left, right, kind):
    X = np.repeat([0.0, 1.0], [left, right])[:, None]
    gradient = np.where(X[:, 0] == 0, -1.0, 1.0)
    tree = grow(X, gradient, np.ones(10), max_leaves=2, n_categories=4 if kind == "set" else None).tree
    low, high = tree.predict(np.array([[0.0], [1.0]]))
    assert (low, high) == pytest.approx((1.0, -1.0))
    unknown = np.array([[np.nan]] if kind == "number" else [[np.nan], [2.0], [3.0]])
    expected = high if right > left else low if left > right else tree.value[0]  # alike: the left side
    np.testing.assert_array_equal(tree.predict(unknown), expected)
    codes = as_blocks(bin_features(np.array([[np.nan]]))).codes
    assert tree.value[tree.leaves_of_codes(codes, np.array([0]))] == expected


@pytest.mark.parametrize("on_left", [True, False])
def test_missing_values_may_be_a_leaf_of_their_own(on_left):
    X = np.array([[np.nan]] * 4 + [[2.0]] * 5)
    gradient = np.where(np.isnan(X[:, 0]), 1.0, -1.0) * (1 if on_left else -1)
    tree = grow(X, gradient, np.ones(9)).tree
    np.testing.assert_allclose(tree.predict(X), -gradient, rtol=1e-9)


def test_a_tree_without_a_greatest_depth_is_as_deep_as_its_leaves_allow():
    X, gradient = np.arange(14.0)[:, None], 5.0 ** np.arange(14)
    assert grow(X, gradient, np.ones(14), max_leaves=14, exact=True).tree.depth == 13
    for depth in (1, 2, 5):
        assert grow(X, gradient, np.ones(14), max_leaves=14, max_depth=depth, exact=True).tree.depth == depth


def test_the_rows_given_stay_as_they_are():
    X, gradient, curvature = table(11)
    rows = np.arange(0, 60, 2, dtype=np.uint32)
    grow(X, gradient, curvature, rows=rows, max_leaves=4)
    np.testing.assert_array_equal(rows, np.arange(0, 60, 2))


def test_a_leaf_without_curvature_has_the_value_that_reg_lambda_gives():
    X, gradient, _ = table(12)
    tree = grow(X, gradient, np.zeros(60), limits=Limits(1, 0.0, 2.0)).tree
    np.testing.assert_allclose(tree.value, [-gradient.sum() / 2])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("limits", [Limits(1, 0.0), Limits(5, 1.0, 2.0)], ids=["free", "limited"])
def test_every_split_of_a_tree_with_sets_is_the_best_of_its_node(seed, limits):
    X, gradient, curvature = table(seed, 80, 2)
    X[:, 0] = np.where(np.isnan(X[:, 0]), np.nan, np.random.default_rng(seed).integers(0, 7, 80))
    tree = grow(X, gradient, curvature, limits=limits, n_categories=7, max_leaves=7, max_depth=3, exact=True).tree
    assert tree.depth <= 3
    assert 0 < len(tree.sets) <= len(tree.feature)
    given = limits.min_child_samples, limits.min_child_weight, limits.reg_lambda
    for node, rows in twin.node_rows(tree, X).items():
        if node >= 0:
            own = X[rows], gradient[rows], curvature[rows]
            sets = twin.best_set_gain(own[0][:, 0], *own[1:], 0.0, limits, twin.sorted_and_single_sets)
            best = max(sets, twin.best_gain(own[0][:, 1:], *own[1:], *given))
            assert tree.gain[node] == pytest.approx(best, rel=1e-6)
        else:
            assert tree.count[~node] == rows.sum()


@pytest.mark.parametrize("light", [0, 1])
def test_neither_side_of_a_set_may_weigh_less_than_the_least(light):
    X = np.repeat([0.0, 1.0], 6)[:, None]
    curvature, gradient = np.where(X[:, 0] == light, 0.2, 1.0), np.repeat([-1.0, 1.0], 6)
    for least, n_leaves in ((1.0, 2), (1.5, 1)):
        assert grow(X, gradient, curvature, limits=Limits(1, least), n_categories=2).tree.n_leaves == n_leaves


@cache
def forest_of(kind):
    """Rows, whose values are not 0 where absent entries are missing, and a small and a large tree of them."""
    X, gradient, curvature = table(14, 130)
    X += kind == "sparse"
    n_categories = 6 if kind == "sets" else None
    sizes = enumerate((4, 50))
    return X, [grow(X, gradient + i, curvature, max_leaves=m, n_categories=n_categories).tree for i, m in sizes]


@pytest.mark.parametrize("kind", ["numbers", "sparse", "sets"])
@pytest.mark.parametrize("n", [1, 7, 8, 33, 65])
def test_rows_are_scored_alike_in_tasks_of_any_size(n, kind, monkeypatch):
    X, trees = forest_of(kind)
    given, forest = sp.csr_array(np.nan_to_num(X[:n])) if kind == "sparse" else X[:n], Forest.of(trees)
    expected = [0.5 + sum(tree.value[twin.leaf(tree, row)] for tree in trees) for row in X[:n]]
    for size in (4096, 7):
        monkeypatch.setattr("podium.trees.regression_tree.ROWS_PER_TASK", size)
        for n_threads in (1, 3):
            np.testing.assert_allclose(forest.score(given, n_threads, 0.5), expected, rtol=1e-12)


def test_float32_values_near_a_threshold_are_scored_as_the_same_float64_values():
    rng = np.random.default_rng(15)
    X, gradient = rng.random((80, 2)), rng.normal(size=80)
    forest = Forest.of([grow(X, gradient, np.ones(80), max_leaves=40).tree])
    near = np.unique(forest.threshold).astype(np.float32)
    rows = np.stack([near, np.nextafter(near, np.float32(2)), np.nextafter(near, np.float32(-1))]).ravel()
    rows = np.column_stack([rows, rows])
    np.testing.assert_array_equal(forest.score(rows), forest.score(rows.astype(float)))


def test_stages_are_apart_from_each_other_and_from_the_start():
    X, gradient, curvature = table(16)
    trees = [grow(X, gradient + i, curvature, max_leaves=4).tree for i in range(3)]
    start = np.arange(60.0)
    stages = list(staged_scores(trees, X, start))
    np.testing.assert_array_equal(start, np.arange(60.0))
    for i, stage in enumerate(stages):
        np.testing.assert_allclose(stage, start + sum(tree.predict(X) for tree in trees[: i + 1]))


def test_thresholds_rounded_down_part_float32_alike():
    thresholds = np.array([0.1, 1 / 3, -0.1, 1.0, np.inf, -np.inf, 1e-50])
    for t, rounded in zip(thresholds, rounded_down(thresholds), strict=True):
        near = np.float32(t)
        for x in (near, np.nextafter(near, np.float32(9)), np.nextafter(near, np.float32(-9))):
            assert (float(x) > t) == (x > rounded)
