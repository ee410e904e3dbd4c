"""What the reports count and show."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from podium import PodiumError, RankBoost, export_report
from podium.model_file.training_summary import count_missing
from podium.report import MAX_LISTED, describe, evaluated, training_report, watched

pytestmark = pytest.mark.plain


def lines_of(report):
    """The rows of a printed report: its name and what stands beside it."""
    names = ["rows per query", "rows", "queries with nothing to learn", "queries", "features", "missing feature values"]
    names += ["constant features", "features that no row has", "labels", "pairs with different labels"]
    found = {}
    for line in str(report).splitlines()[1:]:
        name = max((name for name in names if line.strip().startswith(name)), key=len)
        found[name] = line.strip().removeprefix(name).strip()
    return found


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csc_array])
def test_a_data_set_is_counted(make):
    X = np.array([[1.0, np.nan, 7.0, 0.0, np.nan], [1.0, 2.0, np.nan, 0.0, np.nan], [1.0, 0.0, 7.0, 0.0, np.nan]] * 2)
    y, qid = [2.0, 0.0, 0.0, 0.0, 0.0, 1.0], [0, 0, 0, 0, 1, 1]
    report = describe(make(X), y, qid=qid)
    assert report.to_dict() == describe(make(X), y, group=[4, 2]).to_dict()
    assert report.labels == {2.0: 1, 1.0: 1, 0.0: 4}
    assert list(report.labels) == [2.0, 1.0, 0.0]
    assert report.label_range == (0.0, 0.0, 2.0)
    assert report.query_sizes == (2, 3, 4)
    share = (10 if make is np.asarray else 18) / 30  # a sparse matrix has zeros where nothing is stored: missing
    assert report.missing_share == pytest.approx(share)
    assert report.n_features == 5
    constant, absent = (["f0", "f3", "f4"], 0) if make is np.asarray else (["f0", "f4"], 1)
    assert (report.constant_features, report.absent_features) == (constant, absent)
    assert ("features that no row has" in str(report)) == (absent > 0)
    shown = lines_of(report)
    assert shown["rows"] == "6"
    assert shown["queries"] == "2"
    assert shown["rows per query"] == "2 to 4, median 3"
    assert shown["labels"] == "2: 1, 1: 1, 0: 4"
    assert shown["pairs with different labels"] == "4 (57% of those in queries)"
    assert shown["missing feature values"] == f"{share:.1%}"
    assert report.to_dict()["query_sizes"] == (2, 3, 4)


def test_sparse_columns_without_entries_take_no_memory():
    rows, columns = np.array([0, 1, 1]), np.array([2_000_000_000, 7, 2_000_000_000])
    X = sp.coo_array((np.array([1.0, 2.0, 1.0]), (rows, columns)), shape=(2, 2**31 - 1))
    report = describe(X, [1.0, 0.0])
    assert (report.n_features, report.absent_features) == (2**31 - 1, 2**31 - 3)
    assert report.constant_features == ["f2000000000"]
    assert report.missing_share == pytest.approx(1 - 3 / 2 / (2**31 - 1), rel=1e-15)
    for width in (1, 3, 2**31 - 1):
        empty = describe(sp.csr_array((2, width)), [1.0, 0.0])
        assert (empty.n_features, empty.absent_features, empty.constant_features) == (width, width, [])
        assert empty.missing_share == 1.0
    with pytest.raises(PodiumError, match="0 feature"):
        describe(sp.csr_array((2, 0)), [1.0, 0.0])
    with pytest.raises(PodiumError, match="X must be a matrix of rows and features; got 1 dimension"):
        describe(sp.coo_array(np.ones(3)), [1.0, 0.0, 1.0])


@pytest.mark.parametrize("make", [list, np.array])
def test_names_of_features_are_one_for_each(make):
    X, y = np.array([[0.0, 1.0, 2.0], [0.0, 1.0, 3.0]]), [1.0, 0.0]
    for rows, constant in ((X, ["a", "b"]), (sp.csc_array(X), ["b"])):
        assert describe(rows, y, feature_names=make(["a", "b", "c"])).constant_features == constant
        for names in ([], ["a", "b"], ["a", "b", "c", "d"]):
            with pytest.raises(PodiumError, match=f"name each of the 3 features; got {len(names)} names"):
                describe(rows, y, feature_names=make(names))


@pytest.mark.parametrize("n_labels", [MAX_LISTED - 1, MAX_LISTED, MAX_LISTED + 1, 99, 100, 101])
def test_labels_are_listed_up_to_a_hundred_and_shown_while_they_are_few(n_labels):
    y = np.arange(float(n_labels))
    report = describe(y[:, None], y)
    assert report.labels == (dict.fromkeys(y[::-1], 1) if n_labels <= 100 else {})
    shown = lines_of(report)["labels"]
    if n_labels <= MAX_LISTED:
        assert shown.split(", ")[-1] == "0: 1"
    else:
        assert shown == f"{n_labels} different, 0 to {n_labels - 1}, median {(n_labels - 1) / 2:g}"


@pytest.mark.parametrize("n_constant", [0, MAX_LISTED - 1, MAX_LISTED, MAX_LISTED + 1])
def test_constant_features_are_named_while_they_are_few(n_constant):
    X = np.c_[np.ones((3, n_constant)), np.arange(3.0)]
    names = ", ".join(f"f{j}" for j in range(min(n_constant, MAX_LISTED)))
    rest = ", …" if n_constant > MAX_LISTED else ""
    shown = lines_of(describe(X, [0, 1, 2]))["constant features"]
    assert shown == (f"{n_constant} ({names}{rest})" if n_constant else "none")


def test_a_fit_is_reported_by_the_round_that_predictions_use():
    model = SimpleNamespace(
        n_features_in_=MAX_LISTED + 3,
        feature_importances_=np.r_[0.0, np.arange(MAX_LISTED + 2) / 100],
        best_iteration_=2,
        rounds_=[None] * 4,
        stop_reason_="no better",
        evals_result_={"validation_0": {"map": [0.1, 0.5, 0.3, 0.2]}},
    )
    report = training_report(model, "m.podium")
    assert report.measured == {"validation_0 map": 0.5}
    assert (report.rounds, report.best_round, report.stopped) == (4, 2, "no better")
    assert list(report.features) == [f"f{j}" for j in range(MAX_LISTED + 2, 2, -1)]
    assert report.features[f"f{MAX_LISTED + 2}"] == (MAX_LISTED + 1) / 100
    model.feature_importances_ = np.r_[0.25, np.zeros(MAX_LISTED + 1), 0.75]
    model.feature_names_in_ = [f"own {j}" for j in range(MAX_LISTED + 3)]
    assert training_report(model, "m").features == {f"own {MAX_LISTED + 2}": 0.75, "own 0": 0.25}


def test_an_export_is_compared_within_queries():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)).round(1)
    qid = np.repeat(np.arange(8), 5)
    model = RankBoost(n_estimators=3).fit(X, X[:, 0], qid=qid)
    assert export_report(model, X, "lightgbm", qid=qid).n_queries == 8
    assert export_report(model, X, "lightgbm").n_queries == 1


@pytest.mark.parametrize(
    ("values", "best", "said"),
    [
        ([0.1, 0.5, 0.3, 0.2], 2, "best after round 2, not better in the 2 rounds after it"),
        ([0.1, 0.5, 0.3], 2, "best after round 2 of 3; it did not have to stop"),
    ],
)
def test_early_stopping_is_reported_by_the_last_set_and_the_first_measure(values, best, said):
    history = {"one": {"map": [9.0] * len(values)}, "two": {"mrr": values, "map": values}}
    model = SimpleNamespace(early_stopping_rounds=2, evals_result_=history, best_iteration_=best)
    assert watched(model) == f"watched mrr of two: {said}"
    assert evaluated(model) == {"one map": 9.0, "two mrr": 0.5, "two map": 0.5}
    model.early_stopping_rounds = None
    assert watched(model) is None


def test_missing_values_are_counted_in_dense_and_sparse_data():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (40, 3)).astype(float)
    X[rng.random(X.shape) < 0.3] = np.nan
    assert count_missing(X) == np.isnan(X).sum() > 0
    assert count_missing(sp.csc_array(np.where(np.isnan(X), 0, X))) == (np.nan_to_num(X) == 0).sum()
    kept = sp.csc_array(X)
    assert count_missing(kept) == X.size - kept.nnz + np.isnan(X).sum()
