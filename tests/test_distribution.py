"""Tests of podium.pairs.distribution: D, π and Z, factored and explicit, against plain sums over pairs."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium._validation import NoPairsError, PodiumError
from podium.data.feedback import FeedbackSum, Graded, Pairs
from podium.pairs.distribution import Distribution
from podium.pairs.explicit_part import PAIRS_PER_CHUNK
from profiles import examples
from reference import rankboost as twin


def graded(labels, sizes, row_weight=None, query_weight=None):
    n = len(labels)
    return Graded(
        np.asarray(labels, float),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.ones(n) if row_weight is None else np.asarray(row_weight, float),
        np.ones(len(sizes)) if query_weight is None else np.asarray(query_weight, float),
    )


def as_triples(feedback):
    """Every pair of the feedback as (worse, better, weight)."""
    if isinstance(feedback, FeedbackSum):
        return [triple for part in feedback.parts for triple in as_triples(part)]
    if isinstance(feedback, Pairs):
        return list(zip(feedback.worse.tolist(), feedback.better.tolist(), feedback.weight.tolist(), strict=True))
    query = np.repeat(np.arange(len(feedback.offsets) - 1), np.diff(feedback.offsets)).tolist()
    arrays = (feedback.labels.tolist(), query, feedback.row_weight.tolist(), feedback.query_weight.tolist())
    return twin.graded_triples(*arrays, feedback.by_difference)


def as_pairs(feedback):
    """The same feedback with every pair written down."""
    worse, better, weight = zip(*as_triples(feedback), strict=True)
    return Pairs(np.array(better, np.int64), np.array(worse, np.int64), np.array(weight, float))


@st.composite
def feedbacks(draw):
    """A graded, an explicit or a summed feedback of few rows with at least one pair, and the number of rows."""
    sizes = draw(st.lists(st.integers(1, 8), min_size=1, max_size=4))
    n = sum(sizes)
    amounts = st.integers(-3000, 3000).map(lambda amount: amount / 1000)
    label = draw(st.sampled_from([st.integers(0, 1), st.integers(0, 4), amounts]))
    labels = draw(st.lists(label, min_size=n, max_size=n))
    weight = st.sampled_from([0.0, 0.5, 1.0, 3.0])
    labels_part = graded(
        labels,
        sizes,
        draw(st.lists(weight, min_size=n, max_size=n)),
        draw(st.lists(weight, min_size=len(sizes), max_size=len(sizes))),
    )
    row = st.integers(0, n)
    pairs = draw(st.lists(st.tuples(row, row, weight).filter(lambda p: p[0] != p[1]), max_size=6))
    pairs.append((0, n, 1.0))
    better, worse, weights = (np.array(column) for column in zip(*pairs, strict=True))
    pairs_part = Pairs(better.astype(np.int64), worse.astype(np.int64), weights.astype(float))
    # One row more than the labels cover, in a query of its own, so that pairs have a row at all.
    offsets = np.append(labels_part.offsets, n + 1)
    labels_part = Graded(
        np.append(labels_part.labels, 0.0),
        offsets,
        np.append(labels_part.row_weight, 1.0),
        np.append(labels_part.query_weight, 1.0),
        draw(st.booleans()),
    )
    choices = [pairs_part, FeedbackSum((labels_part, pairs_part))]
    return draw(st.sampled_from(choices + [labels_part] * bool(labels_part.n_pairs))), n + 1


def steps(n_rows, size, seed):
    return np.random.default_rng(seed).uniform(-size, size, n_rows)


@pytest.mark.plain
@examples(60)
@given(feedbacks(), st.integers(0, 2**32 - 1))
def test_agrees_with_sums_over_all_pairs_for_several_rounds(case, seed):
    feedback, n_rows = case
    distribution = Distribution(feedback, n_rows)
    D = twin.initial_distribution(as_triples(feedback))
    for number in range(3):
        h = steps(n_rows, 1.0, [seed, number])
        Z, D = twin.updated(D, 0.8, h)
        assert distribution.update(0.8 * h) == pytest.approx(Z, rel=1e-10)
        np.testing.assert_allclose(distribution.potentials(), twin.potentials(D, n_rows), atol=1e-12)


@pytest.mark.plain
@examples(60)
@given(feedbacks(), st.sampled_from([1.0, 1e2, 1e3, 1e4, 1e6]), st.integers(0, 2**32 - 1))
def test_factored_form_agrees_with_explicit_pairs_for_scores_of_any_size(case, size, seed):
    feedback, n_rows = case
    factored, explicit = Distribution(feedback, n_rows), Distribution(as_pairs(feedback), n_rows)
    for number in range(2):
        step = steps(n_rows, size, [seed, number])
        factored.update(step)
        explicit.update(step)
        assert factored.log_total == pytest.approx(explicit.log_total, rel=1e-12, abs=1e-9)
        np.testing.assert_allclose(factored.potentials(), explicit.potentials(), atol=1e-9)
        h = (steps(n_rows, 1.0, [seed, 9]) > 0).astype(float)
        np.testing.assert_allclose(factored.ranking_weights(h), explicit.ranking_weights(h), atol=1e-9)


@pytest.mark.plain
@examples(40)
@given(feedbacks(), st.sampled_from([1.0, 1e3, 1e6]), st.integers(0, 2**32 - 1))
def test_potentials_sum_to_zero_and_masses_to_one(case, size, seed):
    feedback, n_rows = case
    distribution = Distribution(feedback, n_rows)
    distribution.update(steps(n_rows, size, seed))
    better, worse = distribution.masses()
    assert distribution.potentials().sum() == pytest.approx(0.0, abs=1e-13)
    assert better.sum() == pytest.approx(1.0, rel=1e-9)
    assert worse.sum() == pytest.approx(1.0, rel=1e-9)
    np.testing.assert_allclose(better - worse, distribution.potentials(), atol=1e-14)


@pytest.mark.plain
@examples(40)
@given(feedbacks(), st.integers(0, 2**32 - 1))
def test_ranking_loss_equals_the_sum_over_all_pairs(case, seed):
    feedback, n_rows = case
    distribution = Distribution(feedback, n_rows)
    scores = np.random.default_rng(seed).integers(0, 5, n_rows).astype(float)
    expected = twin.ranking_loss(as_triples(feedback), scores)
    assert distribution.ranking_loss(scores) == pytest.approx(expected, rel=1e-12)
    distribution.update(scores)
    assert distribution.ranking_loss(scores) == pytest.approx(expected, rel=1e-12)


@pytest.mark.plain
@pytest.mark.parametrize(
    "labels",
    [
        [-1.5e308, 0.0, 1.5e308],
        [0.0, 5e-324, 1e-323],
        [1e15, 1e15 + 0.125, 1e15 + 4],
        [1e-300, 1.0, 1e300],
        [-3e-310, 0.0, 1.0],
    ],
)
def test_differences_of_labels_of_any_size_agree_with_exact_ones(labels):
    feedback = graded(labels, [3])
    weighed = Distribution(Graded(feedback.labels, feedback.offsets, np.ones(3), np.ones(1), True), 3)
    pairs = itertools.combinations(range(3), 2)
    weight = [float((Fraction(labels[j]) - Fraction(labels[i])) / Fraction(labels[2])) for i, j in pairs]
    explicit = Distribution(Pairs(np.array([1, 2, 2]), np.array([0, 0, 1]), np.array(weight)), 3)
    for step in ([0.3, -0.2, 0.1], [400.0, 0.0, -500.0], [5000.0, 0.0, -3000.0]):
        assert weighed.update(np.array(step)) == pytest.approx(explicit.update(np.array(step)), rel=1e-12)
        np.testing.assert_allclose(weighed.potentials(), explicit.potentials(), rtol=1e-9, atol=1e-14)


@pytest.mark.plain
@examples(40)
@given(feedbacks(), st.floats(-2, 2), st.integers(0, 2**32 - 1))
def test_weights_and_moments_of_a_ranking_agree_with_sums_over_all_pairs(case, alpha, seed):
    feedback, n_rows = case
    distribution = Distribution(feedback, n_rows)
    step = steps(n_rows, 1.0, seed)
    distribution.update(step)
    _, D = twin.updated(twin.initial_distribution(as_triples(feedback)), 1.0, step)
    h = (steps(n_rows, 1.0, [seed, 1]) > 0).astype(float)
    np.testing.assert_allclose(distribution.ranking_weights(h), twin.weights(D, h), atol=1e-12)
    h = steps(n_rows, 1.0, [seed, 2])
    powers = [
        sum(w * (h[a] - h[b]) ** p * math.exp(alpha * (h[a] - h[b])) for (a, b), w in D.items()) for p in range(3)
    ]
    log_value, slope, curvature = distribution.moments(h, alpha)
    assert math.exp(log_value) == pytest.approx(powers[0], rel=1e-10)
    assert slope == pytest.approx(powers[1] / powers[0], rel=1e-9, abs=1e-12)
    assert curvature == pytest.approx(powers[2] / powers[0], rel=1e-9, abs=1e-12)


@pytest.mark.plain
def test_no_pair_is_lost_where_right_and_wrong_differ_by_thousands():
    # Levels 0, 1, 2 at scores 0, 1000, 2000: both neighbouring pairs weigh exp(-1000), the outer one exp(-2000).
    distribution = Distribution(graded([0, 1, 2], [3]), 3)
    distribution.update(np.array([0.0, 1000.0, 2000.0]))
    np.testing.assert_allclose(distribution.potentials(), [-0.5, 0.0, 0.5], atol=1e-12)
    assert distribution.log_loss == pytest.approx(math.log(2 / 3) - 1000, rel=1e-14)


@pytest.mark.plain
def test_queries_of_very_different_weight_share_one_normaliser():
    distribution = Distribution(graded([0, 1, 0, 1], [2, 2]), 4)
    distribution.update(np.array([0.0, 5000.0, 0.0, 5002.0]))
    share = 1 / (1 + math.exp(-2))
    np.testing.assert_allclose(distribution.potentials(), [-share, share, share - 1, 1 - share], rtol=1e-9)


@pytest.mark.plain
def test_z_is_given_as_a_finite_number_when_the_loss_rises_beyond_all_floats():
    distribution = Distribution(graded([0, 1], [2]), 2)
    assert np.isfinite(distribution.update(np.array([1e6, 0.0])))
    np.testing.assert_allclose(distribution.potentials(), [-1.0, 1.0])
    assert distribution.log_loss == pytest.approx(1e6)


@pytest.mark.plain
def test_row_of_weight_two_equals_the_row_twice():
    step = np.array([0.3, -0.2, 0.9, 0.1])
    weighted = Distribution(graded([0, 1, 2, 1], [4], [1, 2, 1, 3]), 4)
    doubled = Distribution(graded([0, 1, 1, 2, 1, 1, 1], [7]), 7)
    rows = [0, 1, 1, 2, 3, 3, 3]
    assert weighted.update(step) == pytest.approx(doubled.update(step[rows]), rel=1e-14)
    summed = np.bincount(rows, doubled.potentials())
    np.testing.assert_allclose(weighted.potentials(), summed, atol=1e-15)


@pytest.mark.plain
def test_pair_of_weight_two_equals_the_pair_twice():
    step = np.array([0.3, -0.2, 0.9])
    weighted = Distribution(Pairs(np.array([0, 1]), np.array([1, 2]), np.array([2.0, 1.0])), 3)
    doubled = Distribution(Pairs(np.array([0, 1, 0]), np.array([1, 2, 1]), np.ones(3)), 3)
    assert weighted.update(step) == pytest.approx(doubled.update(step), rel=1e-14)
    np.testing.assert_allclose(weighted.potentials(), doubled.potentials(), atol=1e-15)


@pytest.mark.parametrize("size", [0.1, 1e4])
def test_thread_count_changes_no_bit_of_graded_feedback(size):
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 40, 50)
    n = int(sizes.sum())
    feedback = graded(rng.integers(0, 5, n), sizes, rng.random(n), rng.random(50))
    answers = []
    for n_threads in (1, 3):
        distribution = Distribution(feedback, n, n_threads)
        Z = distribution.update(steps(n, size, 1))
        h = (steps(n, 1.0, 2) > 0).astype(float)
        answers.append((Z, distribution.potentials().tobytes(), distribution.ranking_weights(h)))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("size", [0.1, 1e4])
def test_thread_count_changes_no_bit_of_explicit_pairs(size, monkeypatch):
    monkeypatch.setattr("podium.pairs.explicit_part.PAIRS_PER_CHUNK", 500)
    rng = np.random.default_rng(3)
    feedback = Pairs(rng.integers(0, 50, 3000), rng.integers(50, 99, 3000), rng.random(3000))
    answers = []
    for n_threads in (1, 3):
        distribution = Distribution(feedback, 99, n_threads)
        Z = distribution.update(steps(99, size, 1))
        answers.append((Z, distribution.potentials().tobytes()))
    assert answers[0] == answers[1]
    assert PAIRS_PER_CHUNK > 500


@pytest.mark.parametrize("size", [0.1, 1e4])
def test_chunks_of_pairs_add_up(size, monkeypatch):
    rng = np.random.default_rng(3)
    feedback = Pairs(rng.integers(0, 50, 3000), rng.integers(50, 99, 3000), rng.random(3000))
    whole = Distribution(feedback, 99)
    monkeypatch.setattr("podium.pairs.explicit_part.PAIRS_PER_CHUNK", 500)
    chunked = Distribution(feedback, 99)
    assert chunked.update(steps(99, size, 1)) == pytest.approx(whole.update(steps(99, size, 1)), rel=1e-12)
    np.testing.assert_allclose(chunked.potentials(), whole.potentials(), atol=1e-14)


@pytest.mark.plain
@pytest.mark.parametrize("feedback", [graded([0, 1, 1], [3]), Pairs(np.array([1]), np.array([0]), np.ones(1))])
def test_weights_of_rankings_with_other_values_than_0_and_1_are_refused(feedback):
    with pytest.raises(PodiumError, match="of values 0 and 1; got values such as -2 and 3:"):
        Distribution(feedback, 3).ranking_weights(np.array([0.0, 3.0, -2.0]))


@pytest.mark.plain
def test_the_weight_of_ties_is_not_negative_where_the_others_are_rounded_above_1():
    labels = np.array([1, 1, 1, 0, 0, 0, 0])
    found = []
    for seed in range(40):
        distribution = Distribution(graded(labels, [7]), 7)
        distribution.update(steps(7, 1.0, seed))
        found.append(distribution.ranking_weights(labels.astype(float)))
    assert max(minus + plus for minus, _, plus in found) > 1
    assert min(tied for _, tied, _ in found) == 0


SILENT = [graded([1, 1], [2]), graded([0, 1], [2], [0, 1]), Pairs(np.array([0]), np.array([1]), np.zeros(1))]


@pytest.mark.plain
@pytest.mark.parametrize("feedback", SILENT)
def test_feedback_without_a_pair_of_positive_weight_is_nothing_to_rank_and_adds_nothing(feedback):
    with pytest.raises(NoPairsError, match="no pair of the feedback has a positive weight"):
        Distribution(feedback, 2)
    pairs = Pairs(np.array([1]), np.array([0]), np.ones(1))
    both, alone = Distribution(feedback + pairs, 2), Distribution(pairs, 2)
    assert len(both.parts) == 1
    step = np.array([0.3, -0.2])
    assert both.update(step) == alone.update(step)


@pytest.mark.plain
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_pairs_of_weight_zero_leave_the_others_as_they_are(scale):
    some = Distribution(Pairs(np.array([0, 1, 2, 3]), np.array([1, 2, 3, 0]), np.array([0.0, 2.0, 0.0, 1.0])), 4)
    alone = Distribution(Pairs(np.array([1, 3]), np.array([2, 0]), np.array([2.0, 1.0])), 4)
    step = scale * np.array([0.3, -0.2, 0.9, 0.1])
    assert (some.n_pairs, some.update(step)) == (2, alone.update(step))
    np.testing.assert_array_equal(some.masses(), alone.masses())


@pytest.mark.plain
def test_a_large_common_part_of_labels_costs_no_digit_of_a_loss_by_differences():
    rng = np.random.default_rng(0)
    labels, weight, scores = rng.integers(0, 9, 20) * 1.0, rng.random(20) + 0.1, rng.random(20)
    losses = [
        Distribution(Graded(labels + common, np.array([0, 20]), weight, np.ones(1), True), 20).ranking_loss(scores)
        for common in (0.0, 2.0**40)
    ]
    assert losses[1] == pytest.approx(losses[0], rel=1e-13)


def test_continuous_labels_of_many_rows_need_no_pair_list():
    n = 20_000
    rng = np.random.default_rng(0)
    labels = rng.permutation(n) / n
    distribution = Distribution(graded(labels, [n]), n)
    # At equal scores a row of rank k (from 0) beats k rows and loses to n - 1 - k: π = (2k - n + 1) / (n (n-1)/2).
    expected = (2 * np.round(labels * n) - n + 1) / (n * (n - 1) / 2)
    np.testing.assert_allclose(distribution.potentials(), expected, rtol=1e-9, atol=1e-16)
    assert distribution.n_pairs == n * (n - 1) / 2
