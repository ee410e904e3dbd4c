"""Both sides of every constant that chooses a path of the pair distribution, against sums over all pairs."""

import numpy as np
import pytest

from podium.data.feedback import FeedbackSum, Graded, Pairs
from podium.ordinal.step_weights import StepWeights
from podium.pairs.distribution import Distribution
from podium.pairs.explicit_part import PairsPart
from podium.pairs.factors import LevelOrder, _exponentials
from podium.stumps.level_tree import LevelTree

pytestmark = pytest.mark.plain


def make_feedback(kind, seed=0, n_rows=18):
    """Return feedback of two queries, or of pairs, and its pairs as arrays (low, high, weight)."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, n_rows) * 1.5
    offsets = np.array([0, n_rows // 3, n_rows])
    query, row_weight, query_weight = (
        np.repeat([0, 1], np.diff(offsets)),
        rng.random(n_rows) + 0.2,
        np.array([1.0, 3.0]),
    )
    low, high = np.nonzero((labels[:, None] < labels) & (query[:, None] == query))
    weight = query_weight[query[low]] * row_weight[low] * row_weight[high]
    if kind == "differences":
        weight = weight * (labels[high] - labels[low])
    if kind == "pairs":
        return Pairs(high, low, weight), (low, high, weight)
    graded = Graded(labels, offsets, row_weight, query_weight, kind == "differences")
    if kind == "sum":
        apart = Pairs(np.array([0, 5]), np.array([n_rows - 1, 2]), np.array([2.0, 0.7]))
        sides = ((low, apart.worse), (high, apart.better), (weight, apart.weight))
        return FeedbackSum((graded, apart)), tuple(np.concatenate(side) for side in sides)
    return graded, (low, high, weight)


def log_sum(logs):
    return logs.max() + np.log(np.exp(logs - logs.max()).sum())


@pytest.mark.parametrize("span", [1.0, 590.0, 610.0, 900.0, 1300.0, 1590.0, 1610.0, 6000.0])
@pytest.mark.parametrize("kind", ["graded", "differences", "pairs", "sum"])
def test_every_sum_over_pairs_is_right_for_scores_of_any_span(kind, span):
    feedback, (low, high, weight) = make_feedback(kind)
    n_rows = 18
    rng = np.random.default_rng(1)
    scores = rng.random(n_rows)
    scores = span * (scores - scores.min()) / np.ptp(scores) - span / 3
    # Against the labels in the second query, so that the heaviest pairs are far from weight 1.
    scores[6:] = np.where(np.arange(12) % 3 == 0, scores[6:], np.sort(scores[6:])[::-1])
    distribution = Distribution(feedback, n_rows)
    first = log_sum(np.log(weight))
    Z = distribution.update(scores)
    logs = np.log(weight) + scores[low] - scores[high]
    assert distribution.log_total == pytest.approx(log_sum(logs), rel=1e-13, abs=1e-12)
    assert np.log(Z) == pytest.approx(min(log_sum(logs) - first, 709.0), rel=1e-12, abs=1e-12)
    D = np.exp(logs - log_sum(logs))
    better, worse = np.bincount(high, D, n_rows), np.bincount(low, D, n_rows)
    np.testing.assert_allclose(distribution.masses(), [better, worse], atol=1e-12)
    np.testing.assert_allclose(distribution.potentials(), better - worse, atol=1e-12)
    h = rng.integers(0, 2, n_rows).astype(float)
    minus, plus = D[h[low] < h[high]].sum(), D[h[low] > h[high]].sum()
    np.testing.assert_allclose(distribution.ranking_weights(h), [minus, 1 - minus - plus, plus], atol=1e-12)
    h = rng.normal(size=n_rows)
    for alpha in (0.0, 0.5, -span / 4):
        moved = logs + alpha * (h[low] - h[high])
        value, slope, curvature = distribution.moments(h, alpha)
        assert value == pytest.approx(log_sum(moved) - log_sum(logs), rel=1e-12, abs=1e-11)
        share, difference = np.exp(moved - log_sum(moved)), h[low] - h[high]
        assert slope == pytest.approx((share * difference).sum(), rel=1e-10, abs=1e-11)
        assert curvature == pytest.approx((share * difference**2).sum(), rel=1e-10, abs=1e-11)


@pytest.mark.parametrize("kind", ["graded", "differences"])
def test_a_large_common_part_of_a_ranking_changes_no_moment(kind):
    feedback, _ = make_feedback(kind)
    distribution = Distribution(feedback, 18)
    h = np.random.default_rng(2).integers(0, 2**10, 18) / 2.0**10
    one, two = (distribution.moments(h + common, 0.5) for common in (0.0, 2.0**40))
    np.testing.assert_allclose(two, one, rtol=1e-10)


def test_exponentials_are_right_to_the_last_digits():
    x = np.concatenate([np.linspace(-700.0, 700.0, 701), np.random.default_rng(0).uniform(-1, 1, 300)])
    found, expected = np.empty_like(x), np.exp(x)
    _exponentials(x, found, found.view(np.int64))
    assert np.max(np.abs(found - expected) / np.spacing(expected)) <= 3


@pytest.mark.parametrize("kind", ["pairs", "sum"])
@pytest.mark.parametrize("span", [1.0, 2000.0])
def test_chunks_of_pairs_change_nothing_but_rounding(kind, span, monkeypatch):
    feedback, _ = make_feedback(kind, n_rows=40)
    step = span * np.random.default_rng(5).random(40)
    answers = []
    for chunk in (10**6, 200, 50, 9, 1):
        monkeypatch.setattr("podium.pairs.explicit_part.PAIRS_PER_CHUNK", chunk)
        distribution = Distribution(feedback, 40)
        answers.append([distribution.update(step), *np.concatenate(distribution.masses())])
        np.testing.assert_allclose(answers[-1], answers[0], rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize(("chunk", "most"), [(10**6, 1), (100, 2), (20, 12), (1, 16)])
def test_pairs_are_cut_into_at_most_sixteen_runs_of_a_size_that_threads_do_not_change(chunk, most, monkeypatch):
    monkeypatch.setattr("podium.pairs.explicit_part.PAIRS_PER_CHUNK", chunk)
    rng = np.random.default_rng(0)
    pairs = Pairs(rng.integers(0, 60, 259), rng.integers(60, 80, 259), rng.random(259))
    runs = PairsPart(pairs, 80).order.chunks()
    assert runs == PairsPart(pairs, 80, n_threads=3).order.chunks()
    assert len(runs) == most
    n_better = len(np.unique(pairs.better))
    assert [row for first, last in runs for row in range(first, last)] == list(range(n_better))


@pytest.mark.parametrize("n_grades", range(2, 9))
def test_step_weights_of_any_number_of_grades_are_sums_over_questions(n_grades):
    rng = np.random.default_rng(n_grades)
    weights, grades = rng.random((11, n_grades - 1)), rng.integers(0, n_grades, 11)
    steps, D = StepWeights(weights, grades), weights / weights.sum()
    questions = np.arange(n_grades - 1)
    for factor in (3.0, 1e40, 1e-3, 1e60, 1e70, 1e30):
        predicted = rng.integers(0, n_grades, 11)
        wrong = (grades[:, None] <= questions) != (predicted[:, None] <= questions)
        assert steps.error(predicted) == pytest.approx(D[wrong].sum(), rel=1e-9, abs=1e-15)
        steps.update(predicted, factor)
        D = np.where(wrong, factor * D, D)
        D = D / D.sum()
        np.testing.assert_allclose(steps.shares(), D, rtol=1e-9)
        signed = (D * np.where(questions < grades[:, None], -1, 1)).sum(axis=0)
        np.testing.assert_allclose(steps.sums[: n_grades - 1] / steps.total, signed, rtol=1e-9, atol=1e-12)
        assert not steps.sums[n_grades - 1 :].any()


def test_step_weights_outlast_many_large_factors():
    grades, weights = np.array([0, 1, 4, 2]), np.ones((4, 4))
    steps = StepWeights(weights, grades)
    for _ in range(40):
        steps.update(np.array([4, 1, 0, 2]), 1e30)
    assert 0 < steps.total < np.inf
    np.testing.assert_allclose(steps.shares()[[0, 2]], 1 / 8)
    np.testing.assert_allclose(steps.sums[:4] / steps.total, 0.0, atol=1e-12)


def tree_of(sizes):
    """Return the tree of one query of which each level has so many rows."""
    labels = np.repeat(np.arange(len(sizes)), sizes).astype(float)
    n_rows = len(labels)
    order = LevelOrder.of(Graded(labels, np.array([0, n_rows]), np.ones(n_rows), np.ones(1)))
    return LevelTree.of(order), labels


@pytest.mark.parametrize("sizes", [[1, 1], [3, 1], [1, 5], [2, 3, 4], [52, 32, 13, 2, 1], [1] * 33, [5, 1, 1, 9, 1, 2]])
def test_every_pair_is_split_by_exactly_one_node(sizes):
    tree, labels = tree_of(sizes)
    split = np.zeros((len(labels), len(labels)), int)
    for first, middle, last in zip(tree.first, tree.split, tree.last, strict=True):
        split[first:middle, middle:last] += 1
    np.testing.assert_array_equal(split, labels[:, None] < labels)


@pytest.mark.parametrize(
    ("sizes", "cells"), [([52, 32, 13, 2, 1], 167), ([48, 40, 12], 152), ([12, 40, 48], 152), ([1] * 64, 384)]
)
def test_nodes_are_split_nearest_to_their_middle(sizes, cells):
    assert tree_of(sizes)[0].sizes.sum() == cells


def test_two_hundred_times_as_many_rows_of_labels_take_two_hundred_times_as_many_entries():
    """No pair list: the entries of factored feedback are its rows, and of the tree rows times logarithm of levels."""
    for n_rows in (16, 3200):
        labels = np.random.default_rng(0).permutation(n_rows).astype(float)
        part = Distribution(Graded(labels, np.array([0, n_rows]), np.ones(n_rows), np.ones(1)), n_rows).parts[0]
        assert len(part.factors.position) == n_rows
        assert LevelTree.of(part.order).sizes.sum() <= n_rows * np.ceil(np.log2(n_rows))


def test_values_order_a_sum_of_feedbacks_only_if_they_order_every_part():
    graded = Graded(np.array([0.0, 1.0, 0.0, 1.0]), np.array([0, 2, 4]), np.ones(4), np.ones(2))
    both = Distribution(FeedbackSum((graded, Pairs(np.array([2]), np.array([1]), np.ones(1)))), 4)
    for values, expected in (([0, 1, 2, 3], True), ([1, 2, 0, 3], False), ([1, 0, 2, 3], False), ([0, 1, 1, 2], False)):
        assert both.ordered_by(np.array(values, float)) == expected


@pytest.mark.parametrize("explicit", [False, True])
def test_an_order_holds_only_if_every_row_of_a_level_is_above_every_lower_row(explicit):
    labels, offsets = np.array([0.0, 0.0, 1.0, 1.0, 2.0, 0.0, 1.0]), np.array([0, 5, 7])
    better, worse = np.nonzero((labels[:, None] > labels) & np.equal.outer(*[np.repeat([0, 1], [5, 2])] * 2))
    graded = Graded(labels, offsets, np.ones(7), np.ones(2))
    distribution = Distribution(Pairs(better, worse, np.ones(len(better))) if explicit else graded, 7)
    ordered = np.array([5.0, 4.0, 6.0, 7.0, 8.0, 1.0, 2.0])
    assert distribution.ordered_by(ordered)
    for i in range(7):
        for j in range(7):
            swapped = ordered.copy()
            swapped[[i, j]] = ordered[[j, i]]
            assert distribution.ordered_by(swapped) == bool(np.all(swapped[better] > swapped[worse])), (i, j)


def test_wide_scores_whose_heaviest_pair_is_tied_have_the_right_weights():
    distribution = Distribution(Pairs(np.array([0, 1]), np.array([1, 2]), np.array([1.0, 3.0])), 3)
    distribution.update(np.array([0.0, 0.0, -2000.0]))
    assert distribution.log_loss == pytest.approx(np.log(0.25))
    np.testing.assert_allclose(distribution.ranking_weights(np.array([1.0, 0.0, 1.0])), [1.0, 0.0, 0.0])
    np.testing.assert_allclose(distribution.moments(np.array([0.5, 0.0, 9.0]), 1.0), [-0.5, -0.5, 0.25])
