"""ROC curves, integrated ones and the ROC surface against their definitions; their charts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from peers import peer
from podium import (
    CRank,
    NoPairsError,
    PodiumError,
    TreeRank,
    TreeRankForest,
    evaluate,
    integrated_auc,
    integrated_roc_curve,
    plots,
    roc_curve,
    roc_curves,
    roc_surface,
)
from profiles import examples
from reference import ranking_trees as twin

pytestmark = pytest.mark.plain


def rows(labels, least=1):
    """Labels of so many different values at least, each with a score of few values."""
    row = st.tuples(labels, st.integers(0, 4).map(float))
    return st.lists(row, min_size=2, max_size=9).filter(lambda rows: len({y for y, _ in rows}) >= least)


@examples(100, plain=60)
@given(rows(st.integers(0, 1), least=2))
def test_corners_are_the_shares_above_each_score(given_rows):
    y, scores = zip(*given_rows, strict=True)
    curve = roc_curve(y, scores)
    expected = [twin.roc_point(y, scores, threshold) for threshold in curve.threshold.tolist()]
    np.testing.assert_allclose(np.c_[curve.false_positive, curve.true_positive], expected)
    assert curve.threshold.tolist() == [np.inf, *sorted(set(scores), reverse=True)]
    assert curve.area == pytest.approx(roc_auc_score(y, scores))


def test_weights_are_rows_as_often():
    y, scores, times = [0, 1, 1, 0, 1], [0.1, 0.4, 0.3, 0.3, 0.2], [2, 1, 3, 1, 2]
    one, two = roc_curve(y, scores, sample_weight=times), roc_curve(np.repeat(y, times), np.repeat(scores, times))
    np.testing.assert_allclose(one.true_positive, two.true_positive)
    np.testing.assert_allclose(one.false_positive, two.false_positive)


def test_labels_above_a_value_are_positive():
    y, scores = [0, 1, 2, 3], [1.0, 3.0, 2.0, 4.0]
    assert roc_curve(y, scores, above=1).area == 0.75
    assert roc_curve(y, scores, above=0).area == 1.0


def test_each_query_with_both_kinds_has_a_curve():
    y, scores, qid = [0, 1, 1, 1, 0, 1], [1, 2, 3, 4, 6, 5], list("aabbcc")
    curves = roc_curves(y, scores, qid=qid)
    assert {query: curve.area for query, curve in curves.items()} == {"a": 1.0, "c": 0.0}
    assert list(roc_curves(y, scores, group=[2, 2, 2])) == [0, 2]


def test_curves_of_queries_are_those_of_their_rows_alone():
    rng = np.random.default_rng(0)
    y, scores, weight = rng.integers(0, 4, 60), rng.integers(0, 6, 60).astype(float), rng.integers(1, 4, 60)
    qid = rng.permutation(np.repeat(["a", "b", "c"], 20))
    for above in (0, 2):
        curves = roc_curves(y, scores, qid=qid, above=above, sample_weight=weight)
        assert list(curves) == ["a", "b", "c"]
        for query, found in curves.items():
            own = qid == query
            alone = roc_curve(y[own], scores[own], above=above, sample_weight=weight[own])
            np.testing.assert_array_equal(found.true_positive, alone.true_positive)
            np.testing.assert_array_equal(found.false_positive, alone.false_positive)
            assert found.area == alone.area


def test_queries_without_weight_on_either_kind_have_no_curve():
    y, scores, qid = [0, 1, 0, 1, 0, 1], [1, 2, 3, 4, 6, 5], list("aabbcc")
    assert list(roc_curves(y, scores, qid=qid, sample_weight=[1, 1, 0, 2, 2, 0])) == ["a"]
    with pytest.raises(PodiumError, match="sample_weight must be finite and not negative; got -1"):
        roc_curves(y, scores, qid=qid, sample_weight=[1, 1, 1, 1, 1, -1])


@examples(100, plain=50)
@given(rows(st.integers(0, 5).map(float), least=3), st.integers(2, 7))
def test_the_integrated_curve_is_the_mean_of_the_curves_of_all_labels(given_rows, n_points):
    y, scores = zip(*given_rows, strict=True)
    curve = integrated_roc_curve(y, scores, n_points=n_points)
    inner = [level for level in y if min(y) < level < max(y)]
    expected = [np.mean([twin.roc_value(y, scores, one, rate) for one in inner]) for rate in curve.false_positive]
    np.testing.assert_allclose(curve.true_positive, expected, atol=1e-9)
    assert curve.false_positive.tolist() == np.linspace(0, 1, n_points).tolist()
    assert curve.area == pytest.approx(twin.integrated_auc(y, scores))


@examples(100, plain=50)
@given(rows(st.integers(0, 5).map(float), least=3))
def test_the_two_integrated_aucs_are_their_definitions(given_rows):
    y, scores = zip(*given_rows, strict=True)
    assert integrated_auc(y, scores) == pytest.approx(twin.integrated_auc(y, scores))
    assert integrated_auc(y, scores) == pytest.approx(evaluate(y, scores, measures="iauc", n_resamples=0)["iauc"])
    assert integrated_auc(y, scores, definition="triples") == pytest.approx(twin.triples_auc(y, scores))


def test_the_two_integrated_aucs_are_different_numbers():
    y, scores = [1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 1.0, 5.0, 3.0, 4.0]
    assert integrated_auc(y, scores) == pytest.approx((1 + 1 + 2 / 3) / 3)
    assert integrated_auc(y, scores, definition="triples") == pytest.approx(9 / 10)


@examples(60, plain=30)
@given(rows(st.integers(0, 2), least=3))
def test_the_surface_holds_the_shares_between_two_thresholds(given_rows):
    y, scores = (np.array(column) for column in zip(*given_rows, strict=True))
    surface = roc_surface(y, scores)
    cuts = [*sorted(set(scores.tolist()), reverse=True), -np.inf]
    assert len(surface.lowest) == len(cuts)
    for i, low in enumerate(cuts):
        assert surface.lowest[i] == pytest.approx(np.mean(scores[y == 0] <= low))
        assert surface.highest[i] == pytest.approx(np.mean(scores[y == 2] > low))
        for j, high in enumerate(cuts):
            inside = (scores[y == 1] > low) & (scores[y == 1] <= high)
            assert surface.middle[i, j] == pytest.approx(np.mean(inside))
    assert surface.volume == pytest.approx(evaluate(y, scores, measures="vus", n_resamples=0)["vus"])


def test_few_points_of_a_surface_keep_its_ends():
    surface = roc_surface(np.arange(60) % 3, np.arange(60.0), n_points=5)
    assert surface.middle.shape == (5, 5)
    assert (surface.lowest[0], surface.lowest[-1]) == (1.0, 0.0)
    assert (surface.highest[0], surface.highest[-1]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: roc_curve([0, 1, 2], [1, 2, 3]), PodiumError, "needs two grades, y has 3: say by `above`"),
        (lambda: roc_curve([0, 1], [1, 2], above=5), NoPairsError, "rows of both kinds"),
        (lambda: roc_curve([0, 1], [1, 2], sample_weight=[0, 1]), NoPairsError, "with positive weight"),
        (lambda: roc_curve([], []), PodiumError, "y is empty"),
        (lambda: roc_surface([0, 1], [1, 2]), PodiumError, "three grades; y has 2"),
        (lambda: integrated_auc([0, 1], [1, 2]), PodiumError, "at least 3 different labels; y has 2"),
        (lambda: integrated_auc([0, 1, 2], [1, 2, 3], definition="x"), PodiumError, "definition must be one of mean"),
        (lambda: integrated_roc_curve([0, 1, 2], [1, 2, 3], n_points=1), PodiumError, "n_points must be an integer"),
        (lambda: integrated_roc_curve([0, 1], [1, 2]), PodiumError, "at least 3 different labels"),
    ],
)
def test_what_has_no_curve_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def values_of(chart):
    return chart.to_dict()["data"]["values"]


def test_charts_hold_the_corners():
    peer("altair")
    curve = roc_curve([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.9])
    drawn = values_of(plots.plot_roc({"one": curve, "two": curve}, title="Two"))
    assert [(row["curve"], row["x"], row["y"]) for row in drawn[4:6]] == [("two", 0.0, 0.0), ("two", 0.0, 0.5)]
    assert [row["number"] for row in drawn] == [0, 1, 2, 3] * 2
    with pytest.raises(PodiumError, match="nothing to draw: no curve"):
        plots.plot_roc({})
    surface = roc_surface([0, 1, 2, 1], [0.1, 0.2, 0.3, 0.4])
    content = plots.plot_roc_surface(surface).to_dict()
    assert content["title"] == f"ROC surface, volume {surface.volume:.3f}"
    assert [row["middle"] for row in content["data"]["values"]] == surface.middle.ravel().tolist()


def test_charts_of_cells_have_a_line_for_each_tree():
    peer("altair")
    X, y = np.arange(20.0)[:, None], np.arange(20) // 10
    y[[3, 15]] = 1 - y[[3, 15]]
    model = TreeRank(pruning_folds=0, min_child_weight=1).fit(X, y)
    curve = roc_curve(y, model.predict(X))
    drawn = values_of(plots.plot_cells(model))
    np.testing.assert_allclose([row["x"] for row in drawn], curve.false_positive)
    np.testing.assert_allclose([row["y"] for row in drawn], curve.true_positive)
    forest = TreeRankForest(3).fit(X, y)
    assert {row["curve"] for row in values_of(plots.plot_cells(forest))} == {"tree 0", "tree 1", "tree 2"}
    drawn = values_of(plots.plot_cells(CRank(min_child_weight=2, pruning_folds=0).fit(X, X[:, 0] + y)))
    assert (drawn[-1]["x"], drawn[-1]["y"]) == (pytest.approx(1.0), pytest.approx(1.0))
