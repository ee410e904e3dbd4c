"""Certificates of exports: scores, pairs and splits that change in a format, and sums beyond float32."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import podium
from peers import peer
from podium import PodiumError, RankBoost
from podium._compiled import JIT_DISABLED
from podium.export import TreeSum, certify, export_model
from podium.export.certificate import compare_scores
from podium.export.ensemble import split_tree

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # scoring by masks wraps around on purpose
]


@pytest.fixture(scope="module")
def data():
    made = podium.make_search(n_queries=15, docs_per_query=8, random_state=0)
    X = made.X.astype(float).copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    return X, made.y, made.qid


def stumps(*thresholds, missing_left=True, names=None):
    trees = tuple(split_tree(0, t, missing_left, 0.0, 1.0) for t in thresholds)
    return TreeSum(trees, 0.0, 2, names, "RankBoost")


def test_a_report_finds_nothing_where_nothing_changes(data):
    X, y, qid = data
    report = podium.export_report(RankBoost(n_estimators=4).fit(X, y, qid=qid), X, "lightgbm", qid=qid)
    assert report.same_order
    assert (report.changed_scores, report.changed_pairs, report.example, report.pair) == (0, 0, None, None)
    assert (report.n_rows, report.n_queries) == (len(X), 15)
    assert str(report).startswith(f"lightgbm: 0 of {len(X)} scores change")
    assert json.loads(json.dumps(report.to_dict()))["same_order"] is True


def test_a_report_names_the_split_at_which_a_missing_value_goes_elsewhere():
    record = stumps(0.5, -0.5, missing_left=True, names=("price", "age"))
    X = np.array([[np.nan, 0.0], [0.0, 0.0], [1.0, 0.0]])
    report = certify(record, X, record.score(X), np.zeros(3, int), "ranklib")
    assert (report.changed_scores, report.changed_pairs, report.newly_tied_pairs) == (1, 1, 1)
    assert report.pair == (0, 1)
    assert (report.example.row, report.example.ours, report.example.theirs) == (0, 0.0, 1.0)
    assert report.example.why == (
        "in tree 2 price = nan goes left at -0.5 here and right there, where a missing value counts as 0"
    )
    assert "Row 0 scores 0 here and 1 there: in tree 2 price = nan" in str(report)


def test_a_report_names_the_split_at_which_float32_goes_elsewhere():
    record = stumps(0.1)
    X = np.array([[0.1, 0.0], [0.1 + 1e-12, 0.0]])
    report = certify(record, X, record.score(X), np.zeros(2, int), "onnx")
    assert (report.changed_scores, report.newly_tied_pairs, report.changed_queries) == (1, 1, 1)
    assert report.example.row == 1
    assert report.example.why == (
        "in tree 1 f0 = 0.10000000000100001 goes right at 0.1 here and left there, "
        "where 0.10000000149011612 is compared with 0.10000000149011612"
    )


def test_a_report_has_the_names_of_the_file(data):
    X, y, qid = data
    model = RankBoost(n_estimators=4).fit(X, y, qid=qid)
    names = [f"name{j}" for j in range(X.shape[1])]
    moved = np.nextafter(np.array([one.threshold for one in model.rounds_])[:, None], np.inf) + np.zeros(X.shape[1])
    named, numbered = (
        podium.export_report(model, moved, "xgboost-json", feature_names=one).example.why for one in (names, None)
    )
    assert " f" in numbered
    assert named == numbered.replace(" f", " name", 1)


@pytest.mark.parametrize(
    ("name", "names", "reason"),
    [
        ("lightgbm", ["a b", "c"], "A LightGBM file cannot carry the feature name 'a b'"),
        ("sql", ["", "c"], "SQL cannot carry the column name ''"),
        ("sql", ["\ud800", "c"], "which is no character"),
        ("ranklib", ["a", "a"], "feature_names must differ from each other"),
    ],
)
def test_what_export_refuses_is_not_reported(tmp_path, name, names, reason):
    record = stumps(0.5)
    X = np.array([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(PodiumError, match=reason):
        export_model(record, tmp_path / "m", name, feature_names=names)
    with pytest.raises(PodiumError, match=reason):
        certify(record, X, record.score(X), np.zeros(2, int), name, feature_names=names)
    if name != "ranklib":
        with pytest.raises(PodiumError, match=reason):
            certify(stumps(0.5, names=tuple(names)), X, record.score(X), np.zeros(2, int), name)


def test_a_report_says_where_only_sums_differ():
    values = [1.0, 1e-9, 0.5]
    record = TreeSum(
        tuple(split_tree(0, 0.1 * i, True, 0.0, v) for i, v in enumerate(values)), 0.0, 1, None, "RankBoost"
    )
    X = np.array([[0.05], [0.15], [0.25]])
    report = certify(record, X, record.score(X), np.zeros(3, int), "onnx")
    assert (report.changed_scores, report.newly_tied_pairs, report.pair) == (0, 1, (0, 1))
    assert report.example.why == "it adds up in float32"


@pytest.mark.parametrize("seed", range(5))
def test_pairs_are_counted_as_all_pairs_of_a_query_one_by_one(seed):
    rng = np.random.default_rng(seed)
    ours, theirs = rng.integers(0, 5, 60).astype(float), rng.integers(0, 5, 60).astype(np.float32)
    query = rng.permutation(np.repeat([3, 1, 7, 9, 8], [1, 20, 25, 9, 5]))
    expected = {"reversed": 0, "tied": 0, "parted": 0}
    changed, farthest = set(), -1.0
    for i in range(60):
        for j in range(i):
            here, there = np.sign(ours[i] - ours[j]), np.sign(theirs[i] - theirs[j])
            if query[i] == query[j] and here != there:
                expected["tied" if there == 0 else "parted" if here == 0 else "reversed"] += 1
                changed.add(query[i])
                farthest = max(farthest, abs(ours[i] - ours[j]))
    report = compare_scores("x", ours, theirs, query)
    assert (report.reversed_pairs, report.newly_tied_pairs, report.newly_parted_pairs) == tuple(expected.values())
    assert (report.n_pairs, report.n_queries, report.changed_queries) == (190 + 300 + 36 + 10, 5, len(changed))
    one, two = report.pair
    assert query[one] == query[two]
    assert abs(ours[one] - ours[two]) == farthest
    assert np.sign(ours[one] - ours[two]) != np.sign(theirs[one] - theirs[two])


def test_a_certificate_takes_tiny_values_for_zero_as_lightgbm_does(tmp_path):
    lightgbm = peer("lightgbm")
    record = TreeSum((split_tree(0, 1e-36, True, 1.0, 2.0), split_tree(0, -1e-36, True, 10.0, 20.0)), 0.0, 1, None, "x")
    X = np.array([[2e-36], [-2e-36], [1e-35], [1.1e-35], [-1.1e-35], [0.0], [np.nan]])
    export_model(record, tmp_path / "model", "lightgbm")
    found = lightgbm.Booster(model_file=str(tmp_path / "model")).predict(X)
    report = certify(record, X, record.score(X), np.zeros(len(X), int), "lightgbm")
    assert report.changed_scores == (found != record.score(X)).sum() == 3
    assert report.largest_difference == np.abs(found - record.score(X)).max()


@pytest.mark.parametrize("name", ["xgboost-json", "solr", "onnx", "ranklib"])
def test_leaves_beyond_float32_are_refused_where_sums_are_float32(tmp_path, name):
    tree = split_tree(0, 0.5, True, 1e39, 2e39)
    record = TreeSum((tree, tree), 0.0, 2, None, "MART")
    X = np.array([[0.0, 1.0], [1.0, 1.0]])
    reason = f"The format {name} adds up in float32, up to 3.4e.38, but this MART has to add 2e.39; .*lightgbm, sql"
    with pytest.raises(PodiumError, match=reason):
        export_model(record, tmp_path / "m", name)
    with pytest.raises(PodiumError, match=reason):
        certify(record, X, record.score(X), np.zeros(2, int), name)
    assert list(tmp_path.iterdir()) == []
    export_model(TreeSum((split_tree(0, 0.5, True, 0.0, 1e39),), 0.0, 2, None, "RankBoost"), tmp_path / "m", "ranklib")
    assert "1e+39" in (tmp_path / "m").read_text()  # whose weights of stumps are float64


@pytest.mark.parametrize("name", ["xgboost-json", "solr", "onnx"])
def test_sums_beyond_float32_are_counted_as_the_ties_they_become(name):
    trees = tuple(split_tree(0, t, True, 2e38, 3e38) for t in (0.5, 1.5))
    record = TreeSum(trees, 0.0, 1, None, "MART")
    X = np.array([[0.0], [1.0], [2.0]])
    report = certify(record, X, record.score(X), np.zeros(3, int), name)
    assert (report.newly_tied_pairs, report.changed_scores, report.largest_difference) == (3, 3, np.inf)


def test_leaves_in_ranklib_are_the_float32_that_it_reads(tmp_path):
    middle = 1 + 2.0**-24 + 2.0**-60  # its decimals end above the middle of two float32, the float64 on it
    record = TreeSum((split_tree(0, 0.5, True, 0.1, middle),), 0.0, 1, None, "MART")
    export_model(record, tmp_path / "m", "ranklib")
    leaves = [line.split()[1] for line in (tmp_path / "m").read_text().splitlines() if line.startswith("<output>")]
    assert leaves == [repr(float(np.float32(value))) for value in (0.1, middle)]


def test_a_tie_that_parts_is_a_changed_pair():
    report = compare_scores("x", np.array([1.0, 2.0, 1.0]), np.array([1.0, 2.0, 1.5]), np.zeros(3, int))
    assert (report.newly_parted_pairs, report.changed_pairs, report.pair) == (1, 1, (0, 2))


def test_a_query_of_a_hundred_thousand_rows_is_counted():
    ours = np.arange(2000.0 if JIT_DISABLED else 100_000.0)
    report = compare_scores("x", ours, -ours, np.zeros(len(ours), int))
    assert report.reversed_pairs == report.n_pairs == len(ours) * (len(ours) - 1) // 2
    assert report.pair == (0, len(ours) - 1)


def test_a_shift_of_all_scores_changes_no_order():
    ours = np.arange(5.0)
    report = compare_scores("x", ours, ours + 100, np.zeros(5, int))
    assert (report.changed_scores, report.largest_difference, report.same_order) == (5, 100.0, True)


def test_a_report_takes_sparse_rows_as_missing(data):
    X, y, qid = data
    sparse = sp.csr_matrix(np.nan_to_num(X))
    model = RankBoost(n_estimators=3).fit(sparse, y, qid=qid)
    assert podium.export_report(model, sparse, "xgboost-json", qid=qid).same_order
    assert podium.export_report(model, sparse, "xgboost-json").n_queries == 1
