"""Files of other programs at the edges of their rules: bounds, links, missing values, sets, orders of nodes, parts."""

import struct

import numpy as np
import pytest
import scipy.sparse as sp

from podium import FormatError
from podium.importing.foreign_trees import Splits, code_set, make_tree, to_whole_number, to_whole_numbers
from podium.importing.ubjson import read_ubjson
from reference.foreign import ZERO, lightgbm_text, ranklib_trees
from reference.foreign_files import LAMBDAMART
from test_export_categories import random_model

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # scoring by masks wraps around on purpose
]


# LightGBM


@pytest.mark.parametrize("version", ["v2", "v3", "v4"])
def test_versions_of_lightgbms_text(version, read):
    model = read(lightgbm_text(f"version={version}"))
    assert model.source_ == {"format": "lightgbm", "version": version, "objective": "lambdarank"}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ("num_class=2", "several classes"),
        ("num_tree_per_iteration=2", "several classes"),
        ("tree_sizes=9", "one entry for each of 2 trees"),
        ("tree_sizes=9 9 9", "one entry for each of 2 trees"),
        ("decision_type=16", "decision_type must be integers from 0 to 15"),
        ("split_feature=2", "split_feature must be integers from 0 to 1"),
        ("split_feature=0.5", "split_feature must be integers from 0 to 1"),
        ("left_child=-3", "left_child must be integers from -2 to 0"),
        ("right_child=1", "right_child must be integers from -2 to 0"),
        ("leaf_count=3 -1", "leaf_count must be integers from 0"),
        ("is_linear=1", "linear models"),
        ("num_leaves=0", "num_leaves must be an integer from 1"),
    ],
)
def test_numbers_past_the_bounds_of_lightgbms_text(changed, reason, read):
    read(lightgbm_text(trees=2))
    with pytest.raises(FormatError, match=reason):
        read(lightgbm_text(changed, trees=2))


def test_the_end_of_something_else_is_not_that_of_the_trees(read):
    with pytest.raises(FormatError, match="not whole"):
        read(lightgbm_text().replace("end of trees", "end of parameters"))


def test_a_model_of_lightgbm_that_is_a_mean(read):
    text = lightgbm_text(trees=4).replace("\ntree_sizes", "\naverage_output\ntree_sizes")
    assert read(text).predict([[0.5, 0.0], [0.6, 0.0]]).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(("kind", "columns"), [(4, (0,)), (6, ()), (2, ()), (0, ()), (8, ()), (10, ())])
def test_zeros_are_missing_only_where_a_split_sends_them_off_their_side(kind, columns, read, tmp_path):
    model = read(lightgbm_text(f"decision_type={kind}"))
    assert model._reading.zero_as_missing == columns
    rows = np.array([[0.0, 0.0], [ZERO, 0.0], [-ZERO, 0.0], [1e-34, 0.0]])
    before = rows.copy()
    assert model.predict(rows).tolist() == ([2, 2, 2, 1] if columns else [1, 1, 1, 1])
    np.testing.assert_array_equal(rows, before)
    if not columns:
        model.export(tmp_path / "again", "lightgbm")


@pytest.mark.parametrize(("threshold", "left"), [(0.0, True), (-1e-300, False), (0.5, True), (-0.5, False)])
def test_nan_is_zero_where_lightgbm_has_no_missing_values(threshold, left, read):
    for kind in (0, 2):
        found = read(lightgbm_text(f"decision_type={kind}", f"threshold={threshold!r}")).predict([[np.nan, 0.0]])
        assert found.tolist() == [1.0 if left else 2.0]


SET = ("num_cat=1", "threshold=0", "decision_type=9")


def with_sets(text, boundaries, words):
    return text.replace("left_child", f"cat_boundaries={boundaries}\ncat_threshold={words}\nleft_child")


@pytest.mark.parametrize("kind", [1, 3, 9, 11])
def test_what_is_missing_goes_right_from_sets_of_lightgbm(kind, read):
    model = read(with_sets(lightgbm_text(*SET[:2], f"decision_type={kind}"), "0 1", "5"))
    assert model.predict([[0.0, 0], [1.0, 0], [2.0, 0], [np.nan, 0], [-1.0, 0]]).tolist() == [1, 2, 1, 2, 2]


def test_a_set_of_lightgbm_ends_where_the_next_begins(read):
    text = with_sets(lightgbm_text("num_cat=2", "threshold=0", "decision_type=9"), "0 1 3", "2 4 1")
    assert read(text).predict([[1.0, 0], [2.0, 0], [34.0, 0], [32.0, 0], [64.0, 0]]).tolist() == [1, 2, 2, 2, 2]
    second = read(text.replace("threshold=0", "threshold=1", 1))
    assert second.predict([[1.0, 0], [2.0, 0], [34.0, 0], [32.0, 0], [64.0, 0]]).tolist() == [2, 1, 2, 1, 2]
    with pytest.raises(FormatError, match="numbers of sets must be integers from 0 to 1"):
        read(text.replace("threshold=0", "threshold=2", 1))


def test_a_set_of_a_column_whose_zeros_are_missing_is_refused(read):
    two = lightgbm_text("decision_type=4", trees=2)
    head, tail = two.rsplit("Tree=1", 1)
    tail = with_sets(
        tail.replace("decision_type=4", "decision_type=9").replace("threshold=0.5", "threshold=0"), "0 1", "1"
    )
    with pytest.raises(FormatError, match="feature 0 is split with 0 as a missing value and with 0 as a number"):
        read(f"{head}Tree=1{tail}")


# Columns


def test_names_of_the_caller_replace_those_of_the_file(read):
    assert read(lightgbm_text(), feature_names=["x", "y"]).feature_names_in_.tolist() == ["x", "y"]
    assert read(lightgbm_text("feature_names=fa Column_9")).feature_names_in_.tolist() == ["fa", "Column_9"]
    assert read("## RankBoost\n3:0.5:1", n_features=3).n_features_in_ == 3
    assert not hasattr(read("## RankBoost\n3:0.5:1", n_features=4), "feature_names_in_")


@pytest.mark.parametrize("rows", [1, 3, 7, 8])
def test_sparse_rows_are_read_part_by_part(rows, read, monkeypatch):
    monkeypatch.setattr("podium.importing.foreign_model.DENSE_ROWS", rows)
    X = np.random.default_rng(0).integers(-1, 3, (7, 2)) * 1.0
    for text in (
        lightgbm_text("decision_type=4"),
        lightgbm_text("decision_type=8", "threshold=-0.5"),
        "## AdaRank\n1:1 2:3",
    ):
        model = read(text)
        np.testing.assert_array_equal(model.predict(sp.csr_array(X)), model.predict(X))


# RankLib


@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.0, -0.1, 1e-9, 16777217.0])
def test_stumps_of_ranklib_compare_float32_with_a_double(threshold, read):
    model = read(f"## RankBoost\n2:{threshold!r}:3.0")
    beside = [np.nextafter(np.float32(threshold), np.float32(side)).astype(float) for side in (-np.inf, np.inf)]
    near = [threshold, *beside, *(np.nextafter(threshold, side) for side in (-np.inf, np.inf)), 0.0]
    expected = [3.0 if float(np.float32(x)) > threshold else 0.0 for x in near]
    assert model.predict([[9.0, x] for x in near]).tolist() == expected
    assert model.predict([[9.0, np.nan]]).tolist() == [3.0 if threshold < 0 else 0.0]


def test_missing_values_count_as_zero_at_a_threshold_of_zero_in_ranklibs_trees(read):
    text, trees = LAMBDAMART.replace("> 0.3 <", "> 0.0 <"), [(0.1, (2, 0.0, -1.5, (4, -2.0, 0.7, 2.0))), (0.1, 3.0)]
    rows = np.array([[0, np.nan, 0, 0], [0, 0.0, 0, np.nan], [0, 1e-9, 0, np.nan], [0, 1e-9, 0, -2.0]])
    assert read(text).predict(rows).tolist() == [ranklib_trees(trees, row) for row in rows]


def test_weighted_sums_of_ranklib_round_features_to_float32(read):
    model = read("## Coordinate Ascent\n1:1.0")
    assert model.predict([[0.1], [1e300], [-1e300], [np.nan]]).tolist() == [
        float(np.float32(0.1)), float(np.finfo(np.float32).max), -float(np.finfo(np.float32).max), 0.0,
    ]  # fmt: skip


def test_random_forests_of_ranklib_are_divided_by_their_bags(read):
    ensemble = LAMBDAMART.partition("\n\n")[2]
    forest, one = (read(f"## Random Forests\n\n{ensemble * bags}") for bags in (3, 1))
    rows = np.random.default_rng(0).normal(size=(9, 4))
    assert len(forest.trees_) == 3 * len(one.trees_)
    np.testing.assert_allclose(forest.predict(rows), one.predict(rows), rtol=1e-6)
    np.testing.assert_allclose(one.predict(rows), read(LAMBDAMART).predict(rows), rtol=1e-6)


def test_the_most_weights_of_ranklib(read, monkeypatch):
    monkeypatch.setattr("podium.importing.ranklib_model.MOST_WEIGHTS", 5)
    assert read("## AdaRank\n5:1").n_features_in_ == 5
    with pytest.raises(FormatError, match="may have 5 features; got 6"):
        read("## AdaRank\n6:1")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("## AdaRank\n0:1", "must be an integer from 1"),
        ("## Linear Regression\n-1:1", "must be an integer from 0"),
        ("## AdaRank\n1:1 # a # b", "must be"),
        ("## AdaRank\n1:1:1", "must be 1 numbers; got 2"),
        ("## RankBoost\n2147483648:1:1", "integer from 1 to 2147483647"),
        ('## MART\n<ensemble><tree weight="1"></tree></ensemble>', "a <tree> has one <split>"),
        (LAMBDAMART.replace("<feature>2", "<feature>2147483648"), "from 1 to 2147483647"),
    ],
)
def test_numbers_past_the_bounds_of_ranklibs_files(text, reason, read):
    with pytest.raises(FormatError, match=reason):
        read(text)


def test_the_last_feature_that_there_can_be(read):
    assert read(LAMBDAMART.replace("<feature>2", "<feature>2147483647")).n_features_in_ == 2**31 - 1
    assert read("## RankBoost\n2147483647:1:1").n_features_in_ == 2**31 - 1


# UBJSON


@pytest.mark.parametrize(
    ("letter", "code", "values"),
    [
        ("i", "b", [-128, 127]), ("U", "B", [0, 255]), ("I", "h", [-32768, 258]), ("l", "i", [-(2**31), 2**31 - 1]),
        ("L", "q", [-(2**63), 2**63 - 1]), ("d", "f", [-0.5, 2.0**-20]), ("D", "d", [-0.1, 1e300]),
    ],
)  # fmt: skip
def test_every_kind_of_number_in_ubjson(letter, code, values):
    one = b"".join(letter.encode() + struct.pack(f">{code}", value) for value in values)
    kind = f"[${letter}#U".encode() + bytes([len(values)]) + struct.pack(f">{len(values)}{code}", *values)
    for data in (b"[" + one + b"]", b"[#U" + bytes([len(values)]) + one, kind):
        assert list(read_ubjson(data, "file")) == values


def test_levels_and_rest_of_ubjson():
    assert read_ubjson(b"[" * 64 + b"]" * 64, "file") is not None
    with pytest.raises(FormatError, match="nested too deeply"):
        read_ubjson(b"[" * 66 + b"]" * 66, "file")
    with pytest.raises(FormatError, match="bytes are left after the document"):
        read_ubjson(b"[]Z", "file")


# Trees in any order


@pytest.mark.parametrize("seed", range(6))
def test_splits_and_leaves_in_any_order_are_the_same_tree(seed):
    tree = max(random_model(seed)[0].trees, key=lambda one: len(one.feature))
    rng, n_splits = np.random.default_rng(seed), len(tree.feature)
    new_split = np.append(0, 1 + rng.permutation(n_splits - 1))
    new_leaf = rng.permutation(tree.n_leaves)
    old_split, old_leaf = np.argsort(new_split), np.argsort(new_leaf)

    def renamed(side):
        return np.where(side >= 0, new_split[np.maximum(side, 0)], ~new_leaf[np.maximum(~side, 0)])[old_split].tolist()

    sets = {int(new_split[split]): tree.sets[tree.set_of[split]] for split in np.flatnonzero(tree.set_of >= 0)}
    gain, count = np.arange(1.0, n_splits + 1), np.arange(1, tree.n_leaves + 1)
    splits = Splits(
        tree.feature[old_split], tree.threshold[old_split], tree.missing_left[old_split], renamed(tree.left),
        renamed(tree.right), gain[old_split], sets,
    )  # fmt: skip
    found = make_tree(splits, tree.value[old_leaf], count[old_leaf], "file", "here")
    for name in ("feature", "threshold", "missing_left", "left", "right", "value", "set_of", "sets"):
        np.testing.assert_array_equal(getattr(found, name), getattr(tree, name))
    assert (found.gain.tolist(), found.count.tolist()) == (gain.tolist(), count.tolist())


def two_splits(**changes):
    """Return splits of a tree of three leaves, some changed."""
    plain = {
        "feature": np.array([0, 0]), "threshold": np.array([1.0, 2.0]), "missing_left": np.array([True, True]),
        "left": [-1, -2], "right": [1, -3],
    }  # fmt: skip
    return Splits(**(plain | changes))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"right": [1, -4]}, "a child that is not there"),
        ({"right": [2, -3]}, "a child that is not there"),
        ({"right": [1, -2]}, "do not form a tree"),
        ({"right": [1, 1]}, "do not form a tree"),
        ({"threshold": np.array([1.0, np.nan])}, "every split needs a threshold"),
    ],
)
def test_splits_that_are_no_tree(changes, reason):
    make_tree(two_splits(), np.ones(3), None, "file", "here")
    with pytest.raises(FormatError, match=reason):
        make_tree(two_splits(**changes), np.ones(3), None, "file", "here")


def test_bounds_of_whole_numbers_and_codes():
    assert to_whole_numbers([2, "5"], 2, 2, 5, "file", "here").tolist() == [2, 5]
    assert [to_whole_number(number, 2, 5, "file", "here") for number in (2, "5")] == [2, 5]
    for bad in (1, 6, 2.5):
        with pytest.raises(FormatError, match="here must be integers from 2 to 5"):
            to_whole_numbers([bad], 1, 2, 5, "file", "here")
    for bad in (1, 6, "2.5", None):
        with pytest.raises(FormatError, match="here must be an integer from 2 to 5"):
            to_whole_number(bad, 2, 5, "file", "here")
    assert code_set(np.array([0, 254]), "file", "here").tolist() == [1, 0, 0, 0, 0, 0, 0, 2**30]
    with pytest.raises(FormatError, match="names category 255, but at most 255, from 0 to 254"):
        code_set(np.array([255]), "file", "here")
