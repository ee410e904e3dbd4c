"""Exports at the edges of the formats' rules: float32, thresholds, sets of one code, many rows, sizes, reports."""

import json
import sqlite3

import numpy as np
import pytest

from peers import peer
from podium import PodiumError, import_model
from podium.export import FORMATS, Linear, TreeSum, certify, export_model, sql
from podium.export.certificate import compare_scores
from podium.export.ensemble import leaf_tree, split_tree
from podium.export.sql import MAX_LEVELS, pairwise_sum
from podium.export.tree_text import LARGEST
from podium.trees.regression_tree import RegressionTree
from reference import exports as read
from test_export_files import Page
from test_exports import random_trees

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # scoring by masks wraps around on purpose
]
OF_FLOAT32 = ("xgboost-json", "solr", "onnx", "ranklib")
OF_LINES = [("solr", {"missing": "absent"}), ("onnx", {})]
ZERO, MOST = 1.0000000180025095e-35, float(np.finfo(float).max)


def trees_of(*trees, base=0.0, n_features=1, categories=None):
    return TreeSum(tuple(trees), base, n_features, None, "MART", categories or {})


def exported(record, folder, name, **options):
    if name == "onnx":
        peer("onnx")
    export_model(record, folder / "model.csv", name, **options)
    return folder / "model.csv"


# The range of float32


@pytest.mark.parametrize("name", OF_FLOAT32)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_float32_is_exported_and_more_is_refused(name, sign, tmp_path):
    most = sign * float(LARGEST)
    over = float(np.nextafter(most, 2 * most))
    fine = trees_of(split_tree(0, 0.5, True, 1.0, most))
    exported(fine, tmp_path, name)
    for record in (
        trees_of(split_tree(0, 0.5, True, 1.0, over)),
        trees_of(split_tree(0, 0.5, True, over, 1.0)),
        trees_of(split_tree(0, 0.5, True, 1.0, 2.0), base=over),
    ):
        with pytest.raises(PodiumError, match=f"The format {name} adds up in float32"):
            exported(record, tmp_path, name)


@pytest.mark.parametrize(("name", "options"), OF_LINES)
def test_every_number_of_a_linear_model_must_be_in_the_range_of_float32(name, options, tmp_path):
    fine = Linear(np.array([LARGEST, 1.0], float), np.zeros(2), -float(LARGEST), None, "PreferenceRegression")
    exported(fine, tmp_path, name, **options)
    for change in (
        Linear(np.array([1.0, -1e39]), np.zeros(2), 0.0, None, "PreferenceRegression"),
        Linear(np.ones(2), np.array([0.0, 1e39]), 0.0, None, "PreferenceRegression"),
        Linear(np.ones(2), np.zeros(2), 1e39, None, "PreferenceRegression"),
    ):
        with pytest.raises(PodiumError, match=r"adds up in float32, .* this PreferenceRegression has to add"):
            exported(change, tmp_path, name, **options)


def test_solr_gets_a_threshold_that_its_slack_lifts_to_ours_or_as_little_above_as_can_be():
    from podium.export.solr import written

    rng = np.random.default_rng(0)
    usual, powers = rng.normal(size=2000) * 10.0 ** rng.integers(-8, 9, 2000), 2.0 ** np.arange(-24, 9)
    wanted = np.float32(np.concatenate([usual, powers, -powers, [0.0, 1e-6, -1e-6]]))
    found, slack = written(wanted.astype(float)), np.float32(1e-6)
    assert (found + slack >= wanted).all()
    lower = np.nextafter(found, np.float32(-np.inf)) + slack
    assert ((lower < wanted) | (found + slack == wanted)).all()


def test_a_linear_model_is_refused_by_solr_for_features_that_count(tmp_path):
    weights, missing = np.array([0.0, 2.0]), np.array([5.0, 0.0])
    exported(Linear(weights, missing, 0.0, None, "PreferenceRegression"), tmp_path, "solr")
    for how in ({}, {"missing": "zero"}):
        with pytest.raises(PodiumError, match="takes a missing 'f1' for 3"):
            exported(Linear(weights, np.array([5.0, 3.0]), 0.0, None, "PreferenceRegression"), tmp_path, "solr", **how)


@pytest.mark.parametrize("name", ["lightgbm", "python"])
@pytest.mark.parametrize("seed", range(3))
def test_the_constant_is_added_last_as_our_scores_add_it(name, seed):
    record, X = random_trees(seed, exact=False, n_trees=9)
    ours = sum(tree.predict(X) for tree in record.trees) + record.base
    np.testing.assert_array_equal(FORMATS[name].score(record, X), ours)
    np.testing.assert_array_equal(record.score(X), ours)


# LightGBM's text


def lines_of(path):
    """Return the lines of the first tree, and of the header, by name."""
    head, _, trees = path.read_text().partition("Tree=0\n")
    first = trees.partition("\n\n")[0]
    return tuple(dict(line.split("=", 1) for line in text.splitlines() if "=" in line) for text in (head, first))


def five_leaves():
    """Return a tree of counts and gains that are all different."""
    whole = lambda *values: np.array(values, np.int32)  # noqa: E731
    return RegressionTree(
        whole(1, 0, 1, 1), np.array([0.0, -np.inf, np.inf, 2.5]), np.array([True, False, True, False]),
        whole(1, -1, 3, -3), whole(2, -2, -5, -4), np.arange(5.0), np.array([4.0, 3.0, 2.0, 1.0]),
        np.array([1, 10, 100, 1000, 10000]), whole(-1, -1, -1, -1),
    )  # fmt: skip


def test_the_fields_of_lightgbm_that_scores_do_not_show(tmp_path):
    header, tree = lines_of(exported(trees_of(five_leaves(), n_features=3), tmp_path, "lightgbm"))
    assert header["max_feature_idx"] == "2"
    assert header["feature_infos"] == f"[{-MOST!r}:{-MOST!r}] [{ZERO!r}:{MOST!r}] none"
    assert tree["threshold"].split() == [repr(ZERO), repr(-MOST), repr(MOST), "2.5"]
    assert tree["internal_count"] == "11111 11 11100 1100"
    assert tree["split_gain"] == "4.0 3.0 2.0 1.0"
    assert tree["leaf_count"] == "1 10 100 1000 10000"
    assert [int(kind) for kind in tree["decision_type"].split()] == [10, 8, 10, 8]


def test_the_sizes_of_lightgbms_trees_cut_the_file_into_them(tmp_path):
    path = exported(random_trees(0)[0], tmp_path, "lightgbm", feature_names=["é", "b", "c"])
    data = path.read_bytes()
    sizes = [int(size) for size in lines_of(path)[0]["tree_sizes"].split()]
    place = data.index(b"Tree=0\n")
    for number, size in enumerate(sizes):
        assert data[place:].startswith(b"Tree=%d\n" % number)
        place += size
    assert data[place:].startswith(b"end of trees\n")


def test_gains_and_counts_come_back_from_lightgbms_text(tmp_path):
    model = import_model(exported(trees_of(five_leaves(), n_features=3), tmp_path, "lightgbm"))
    assert model.trees_[0].gain.tolist() == [4.0, 3.0, 2.0, 1.0]
    assert model.trees_[0].count.tolist() == [1, 10, 100, 1000, 10000]


def by_set(codes, missing_left=False):
    """Return a tree of one split whose set of codes goes left."""
    words = np.zeros((1, 8), np.uint32)
    for code in codes:
        words[0, code // 32] |= np.uint32(1 << code % 32)
    one = np.zeros(1)
    return RegressionTree(
        np.zeros(1, np.int32), one * np.nan, np.array([missing_left]), np.array([-1], np.int32),
        np.array([-2], np.int32), np.array([1.0, 2.0]), one, np.zeros(2, int), np.full(1, -1, np.int32),
        np.zeros(1, np.int32), words,
    )  # fmt: skip


CODES = [0, 1, 31, 32, 33, 63, 64, 127, 128, 223, 224, 253, 254]


@pytest.mark.parametrize("codes", [[], *([code] for code in CODES), range(255), range(1, 254)], ids=str)
@pytest.mark.parametrize("missing_left", [False, True])
def test_sets_of_codes_are_the_same_in_every_format_that_has_them(codes, missing_left, tmp_path):
    record = trees_of(by_set(codes, missing_left))
    X = np.array([*range(255), np.nan])[:, None]
    expected = np.where([*(code in codes for code in range(255)), missing_left], 1.0, 2.0)
    np.testing.assert_array_equal(record.score(X), expected)
    np.testing.assert_array_equal(import_model(exported(record, tmp_path, "lightgbm")).predict(X), expected)
    names = {}
    exec(exported(record, tmp_path, "python").read_text(), names)
    assert [names["score"](row) for row in X.tolist()] == expected.tolist()
    for name in ("lightgbm", "python", "sql"):
        assert certify(record, X, record.score(X), np.zeros(len(X), int), name).changed_scores == 0
    assert sqlite_scores(sql.write(record), X) == expected.tolist()


def sqlite_scores(text, X):
    database = sqlite3.connect(":memory:")
    database.execute('CREATE TABLE rows ("f0" DOUBLE PRECISION)')
    database.executemany("INSERT INTO rows VALUES (?)", [[None if x != x else x] for x in X[:, 0].tolist()])
    found = database.execute(f"SELECT {text} FROM rows ORDER BY rowid").fetchall()
    database.close()
    return [score for (score,) in found]


def test_categories_stand_in_the_order_of_their_columns_in_lightgbms_text(tmp_path):
    record = trees_of(by_set([0]), n_features=2, categories={1: ("b", "c"), 0: ("a", "z")})
    text = exported(record, tmp_path, "lightgbm").read_text()
    assert text.endswith('pandas_categorical:[["a", "z"], ["b", "c"]]\n')


# SQL


def chain(depth):
    """Return a tree of so many levels, the deepest on the left."""
    left, right = np.append(np.arange(1, depth), -1), -np.arange(2, depth + 2)[::-1]
    whole = np.zeros(depth, np.int32)
    return RegressionTree(
        whole, np.arange(depth, 0, -1.0), whole > 0, left.astype(np.int32), right.astype(np.int32),
        np.arange(depth + 1.0), np.zeros(depth), np.zeros(depth + 1, int), whole,
    )  # fmt: skip


def test_the_deepest_tree_is_written_to_sql(monkeypatch, tmp_path):
    assert MAX_LEVELS < 1000
    monkeypatch.setattr("podium.export.sql.MAX_LEVELS", 5)
    record, X = trees_of(chain(5)), np.arange(8.0)[:, None]
    assert sqlite_scores(sql.write(record), X) == record.score(X).tolist()
    exported(record, tmp_path, "sql")
    with pytest.raises(PodiumError, match="A tree of 6 levels is too deep"):
        exported(trees_of(chain(6)), tmp_path, "sql")


@pytest.mark.parametrize("count", range(1, 12))
def test_sums_of_neighbours_leave_out_no_term(count):
    assert pairwise_sum([2**i for i in range(count)], lambda one, two: one + two) == 2**count - 1


NEAR_THE_MIDDLE = [7717.193804, -0.09168549535, 0.00931758734953, 0.136736884876084, 0.01958693958880133]
"""Of two float64, which SQLite before 3.43 reads as the other one."""


@pytest.mark.parametrize("seed", range(3))
def test_sqlite_reads_every_number_as_it_is(seed):
    rng = np.random.default_rng(seed)
    numbers = np.concatenate(
        [rng.normal(size=20) * 10.0 ** rng.integers(-30, 30, 20), rng.integers(1, 2**53, 10) / 1e16, NEAR_THE_MIDDLE]
    )
    for x in numbers.tolist():
        constant = trees_of(leaf_tree(x), by_set([0]))
        assert sqlite_scores(sql.write(constant), np.zeros((1, 1))) == [x + 1.0]
        record = trees_of(split_tree(0, x, True, 1.0, 2.0))
        near = np.array([[np.nextafter(x, -np.inf)], [x], [np.nextafter(x, np.inf)]])
        assert sqlite_scores(sql.write(record), near) == [1.0, 1.0, 2.0]


@pytest.mark.parametrize("values", [(1, True), ("a", True), ("a", 1), (1.5, "a"), (True, 0.5)], ids=str)
def test_categories_of_two_kinds_are_refused_by_sql(values, tmp_path):
    with pytest.raises(PodiumError, match="strings, numbers or truth values mixed"):
        exported(trees_of(by_set([0]), categories={0: values}), tmp_path, "sql")


def test_truth_values_are_written_as_sql_has_them(tmp_path):
    text = exported(trees_of(by_set([1]), categories={0: (False, True)}), tmp_path, "sql").read_text()
    assert '"f0" IN (TRUE)' in text


# ONNX


def test_onnx_names_the_features(tmp_path):
    onnx = peer("onnx")
    model = onnx.load(exported(trees_of(five_leaves(), n_features=2), tmp_path, "onnx", feature_names=["one", "zwei"]))
    properties = {one.key: one.value for one in model.metadata_props}
    assert json.loads(properties["feature_names"]) == ["one", "zwei"]


# Scorecards


def test_a_scorecard_is_known_by_its_ending_in_any_case(tmp_path):
    export_model(trees_of(split_tree(0, 0.5, True, 0.0, 1.0)), tmp_path / "M.CSV", "scorecard")
    assert (tmp_path / "M.CSV").read_text().startswith("feature,kind,above,up_to,points\n")


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@sum", "\tx", "\rx", "'x"])
def test_names_that_a_spreadsheet_would_run_are_texts(name, tmp_path):
    path = exported(trees_of(split_tree(0, 0.5, True, 0.0, 1.0)), tmp_path, "scorecard", feature_names=[name])
    assert f"'{name}" in path.read_bytes().decode()


def test_a_scorecard_has_no_range_that_holds_nothing(tmp_path):
    record = trees_of(split_tree(0, np.inf, True, 0.5, 1.0), split_tree(0, -np.inf, True, 0.0, 2.0))
    lines = exported(record, tmp_path, "scorecard").read_text().splitlines()
    assert lines[1:] == ["f0,range,,,2.5", "f0,missing,,,0.5"]


def test_a_scorecard_page_has_the_widest_feature_first_and_enough_digits(tmp_path):
    record = trees_of(split_tree(0, 1.0, True, 0.0, 1e-5), split_tree(1, 1.0, True, 0.0, -5e-5), n_features=2)
    export_model(record, tmp_path / "m.html", "scorecard", feature_names=["weak", "strong"])
    text = (tmp_path / "m.html").read_text()
    assert text.index("strong") < text.index("weak")
    assert "-0.00005" in " ".join(Page(text).texts)
    assert '<rect x="0.00%" width="50.00%"' in text
    assert '<rect x="50.00%" width="10.00%"' in text


def test_the_tree_that_a_scorecard_cannot_hold_is_named(tmp_path):
    record = trees_of(split_tree(0, 0.5, True, 0.0, 1.0), chain(2))
    with pytest.raises(PodiumError, match="tree 2 of this MART has 3 leaves"):
        exported(record, tmp_path, "scorecard")


# Python


def test_the_exported_function_takes_rows_of_the_right_length_alone(tmp_path):
    names = {}
    exec(exported(trees_of(split_tree(0, 0.5, False, 0.0, 1.0), n_features=2), tmp_path, "python").read_text(), names)
    assert names["score"]([float("nan"), 0.0]) == names["score"]([None, 0.0]) == 1.0
    for row in ([1.0], [1.0, 2.0, 3.0]):
        with pytest.raises(ValueError, match=f"a row has 2 values; got {len(row)}"):
            names["score"](row)


# Reports


@pytest.mark.parametrize("name", ["xgboost-json", "sql", "ranklib"])
def test_a_certificate_of_many_rows_is_that_of_each_row(name, monkeypatch):
    record, X = random_trees(3, exact=False)
    options = {"missing": "absent"} if name == "ranklib" else {}
    query = np.arange(len(X)) % 3
    whole = certify(record, X, record.score(X), query, name, **options)
    for rows in (1, 7, len(X) - 1, len(X)):
        monkeypatch.setattr("podium.export.ROWS_AT_ONCE", rows)
        assert certify(record, X, record.score(X), query, name, **options) == whole


@pytest.mark.parametrize("missing", ["child", "zero", "right", "absent"])
def test_a_certificate_is_for_the_reader_that_was_named(missing):
    record = trees_of(split_tree(0, -0.5, True, 0.0, 1.0))
    X = np.array([[np.nan], [1.0]])
    report = certify(record, X, record.score(X), np.zeros(2, int), "xgboost-json", missing=missing)
    assert report.changed_scores == (0 if missing in ("child", "absent") else 1)


def test_a_float32_just_above_a_threshold_goes_right_in_a_dump_as_it_does_here():
    record = trees_of(split_tree(0, 0.5, True, 0.0, 1.0))
    X = np.array([[0.5], [np.nextafter(np.float32(0.5), np.float32(1))]], float)
    assert FORMATS["xgboost-json"].score(record, X).tolist() == record.score(X).tolist() == [0.0, 1.0]


def test_one_missing_value_that_goes_left_is_too_many_for_a_reader_that_sends_all_right(tmp_path):
    assert five_leaves().missing_left.tolist() == [True, False, True, False]
    with pytest.raises(PodiumError, match="but tree 1 sends one left"):
        exported(trees_of(five_leaves(), n_features=2), tmp_path, "xgboost-json", missing="right")


@pytest.mark.parametrize(
    ("ours", "theirs", "changed"),
    [
        ([0.0, 0.0], [0.0, 0.0], 0),
        ([0.0, 0.0], [0.0, 1e-30], 1),
        ([-1.0, -2.0], [-1.0, -2.0], 0),
        ([-1.0, -2.0], [-1.0 - 1.9e-6, -2.0], 0),
        ([-1.0, -2.0], [-1.0 - 2.1e-6, -2.0], 1),
        ([1.0, 2.0], [np.nan, 2.0], 1),
        ([1.0, 2.0], [np.inf, 2.0], 1),
    ],
)
def test_a_score_is_changed_if_it_moves_by_a_millionth_of_the_largest(ours, theirs, changed):
    assert compare_scores("x", np.array(ours), np.array(theirs), np.zeros(2, int)).changed_scores == changed


def test_rounding_to_float32_is_no_changed_score():
    ours = np.random.default_rng(0).normal(size=200)
    assert compare_scores("x", ours, ours.astype(np.float32), np.arange(200)).changed_scores == 0


def test_the_counts_of_a_report_in_words():
    ours, theirs = np.array([1.0, 2.0, 3.0, 3.0, 5.0, 6.0]), np.array([2.0, 1.0, 3.0, 4.0, 5.0, 5.0])
    report = compare_scores("x", ours, theirs, np.array([0, 0, 1, 1, 2, 2]), lambda row: f"row {row}")
    assert (report.reversed_pairs, report.newly_parted_pairs, report.newly_tied_pairs) == (1, 1, 1)
    assert (report.changed_pairs, report.changed_queries, report.n_pairs, report.same_order) == (3, 3, 3, False)
    assert "3 of 3 pairs change their order (1 reversed, 1 tied, 1 no longer tied), in 3 of 3 queries." in str(report)
    assert (report.example.row, report.example.why) == (0, "row 0")
    assert report.to_dict()["changed_pairs"] == 3


def test_the_pair_of_a_report_lay_farthest_apart_though_others_part():
    report = compare_scores("x", np.array([1.0, 1.0, 5.0, 2.0]), np.array([1.0, 2.0, 2.0, 3.0]), np.zeros(4, int))
    assert report.newly_parted_pairs == 1
    assert report.pair == (1, 2)


def test_a_report_explains_an_order_that_changes_though_no_score_does():
    report = compare_scores(
        "x", np.array([1.0, 1.0]), np.array([1.0, 1.0 + 1e-9]), np.zeros(2, int), lambda row: "sums"
    )
    assert (report.changed_scores, report.newly_parted_pairs, report.pair) == (0, 1, (0, 1))
    assert report.example.why == "sums"


def test_step_functions_of_stumps_are_in_the_order_of_features(tmp_path):
    record = trees_of(*(split_tree(f, 0.5, f == 1, -1.0, 2.0**f) for f in (2, 0, 1, 2)), base=0.25, n_features=3)
    text = exported(record, tmp_path, "scorecard").read_text()
    names = [line.split(",")[0] for line in text.splitlines()[1:] if line.split(",")[0]]
    assert names == ["f0"] * 3 + ["f1"] * 3 + ["f2"] * 3
    X = np.array([[0.5, 0.5, 0.6], [0.6, np.nan, np.nan], [np.nan, 0.6, 0.5]])
    np.testing.assert_allclose(read.scorecard(text, X, ("f0", "f1", "f2")), record.score(X), rtol=1e-15)
