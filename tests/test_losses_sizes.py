"""λ on both sides of every size that chooses a way, and what losses do with weights, seeds and rounds."""

from dataclasses import replace
from threading import Barrier, current_thread, main_thread

import numpy as np
import pytest

from podium._compiled import JIT_DISABLED
from podium.data import salted
from podium.data.feedback import Graded, Pairs
from podium.losses import (
    DELTAS,
    NORMALIZATIONS,
    CrossEntropy,
    LambdaLoss,
    PairLoss,
    SumOfLosses,
    UserLoss,
    pointwise_loss,
)
from podium.losses.lambdas import ROWS_AT_ONCE
from podium.losses.row_pairs import FEW_ROWS, LANES
from podium.losses.score_order import SHORT, sort_again
from reference import losses as twin

pytestmark = pytest.mark.plain

SIZES = (2 * FEW_ROWS, FEW_ROWS + 2, LANES + 4, FEW_ROWS, FEW_ROWS + 1, LANES, 3, FEW_ROWS + 9, LANES + 1, 1, 2, LANES)
"""Longer queries before shorter ones, as each finds in the scratch what the one before has left there."""


def feedback_of(sizes, seed=0, weighted=True):
    rng = np.random.default_rng(seed)
    offsets, n = np.concatenate([[0], np.cumsum(sizes)]), sum(sizes)
    labels = rng.choice([0.0, 1.0, 2.0, 4.0], n, p=[0.5, 0.2, 0.2, 0.1])
    rows = rng.choice([0.5, 1.0, 2.0], n) if weighted else np.ones(n)
    return Graded(labels, offsets, rows, rng.choice([0.5, 1.0, 3.0], len(sizes)) if weighted else np.ones(len(sizes)))


def assert_equals_the_twin(found, feedback, scores, truncation, sigma, normalize):
    """Equal query by query, up to the rational tanh in single precision."""
    for query, (a, b) in enumerate(zip(feedback.offsets[:-1], feedback.offsets[1:], strict=True)):
        k = b - a if truncation is None else truncation
        if np.ptp(feedback.labels[a:b]):
            given = feedback.labels[a:b], scores[a:b], k, sigma, feedback.row_weight[a:b], normalize
            expected = feedback.query_weight[query] * twin.ndcg_lambdas(*given)
        else:
            expected = np.zeros((2, b - a))
        unit = 1e-12 + np.abs(expected[0]).max()  # σ times it bounds curvatures
        np.testing.assert_allclose(found[0][a:b], expected[0], atol=3e-5 * unit)
        np.testing.assert_allclose(found[1][a:b], expected[1], atol=3e-5 * sigma * unit)


@pytest.mark.parametrize("spread", [0.3, 12.0])
@pytest.mark.parametrize(
    "truncation", [1, ROWS_AT_ONCE - 1, ROWS_AT_ONCE, ROWS_AT_ONCE + 1, 2 * ROWS_AT_ONCE + 3, None]
)
@pytest.mark.parametrize("normalize", ["none", "both"])
def test_lambdas_equal_the_twin_for_sizes_on_both_sides_of_every_bound(normalize, truncation, spread):
    """Spread wide, most pairs are settled: the rational tanh is not asked beyond its range."""
    feedback, sigma = feedback_of(SIZES), 1.3
    scores = np.round(spread * np.random.default_rng(1).normal(size=len(feedback.labels)), 1)
    loss = LambdaLoss(feedback, "ndcg", truncation, sigma, normalize=normalize)
    assert_equals_the_twin(loss.derivatives(scores), feedback, scores, truncation, sigma, normalize)


@pytest.mark.parametrize("n_sorted", [3, SHORT + 1])
def test_lambdas_of_queries_too_long_to_be_sorted_again_equal_the_twin(n_sorted):
    sizes = (SHORT + 1, FEW_ROWS + 1, SHORT)
    feedback, rng = feedback_of(sizes, 1), np.random.default_rng(2)
    loss = LambdaLoss(feedback, "ndcg", 3)
    loss._n_sorted = n_sorted
    for scores in (rng.normal(size=sum(sizes)), np.round(rng.normal(size=sum(sizes)), 1)):
        assert_equals_the_twin(loss.derivatives(scores), feedback, scores, 3, 1.0, "none")


@pytest.mark.parametrize("at", [0, FEW_ROWS])
def test_a_single_row_with_a_weight_counts_in_a_long_query(at):
    feedback = feedback_of([FEW_ROWS + 5], 3, weighted=False)
    scores = -np.arange(FEW_ROWS + 5.0)
    feedback.row_weight[at] = 5.0
    found = LambdaLoss(feedback, "ndcg", None).derivatives(scores)
    assert_equals_the_twin(found, feedback, scores, None, 1.0, "none")


@pytest.mark.parametrize("delta", DELTAS)
def test_each_query_has_the_lambdas_it_has_alone_for_any_number_of_threads(delta):
    """More queries than runs of one thread, so that threads take several runs each."""
    sizes = [3, FEW_ROWS + 3, 5, 9] * 14
    feedback, scores = feedback_of(sizes, 4), np.random.default_rng(5).normal(size=14 * (20 + FEW_ROWS))
    top = {"max_grade": 4.0} if delta == "err" else {}
    losses = [LambdaLoss(feedback, delta, 5, n_threads=n, **top) for n in (1, 3)]
    assert len(losses[0]._runs) > 8
    one, three = (np.array(loss.derivatives(scores)) for loss in losses)
    np.testing.assert_array_equal(one, three)
    for query in range(0, len(sizes), 5):
        own = slice(feedback.offsets[query], feedback.offsets[query + 1])
        alone = Graded(
            feedback.labels[own], np.array([0, sizes[query]]), feedback.row_weight[own],
            feedback.query_weight[query : query + 1],
        )  # fmt: skip
        np.testing.assert_array_equal(one[:, own], LambdaLoss(alone, delta, 5, **top).derivatives(scores[own]))


@pytest.mark.skipif(not JIT_DISABLED, reason="compiled kernels do not fail")
@pytest.mark.parametrize("main_fails", [True, False])
def test_a_thread_that_fails_ends_the_lambdas_of_all_threads_with_its_error(main_fails):
    feedback, begun = feedback_of([3] * 40), Barrier(2)
    loss = LambdaLoss(feedback, n_threads=2)
    fill_rows, seen = loss.form.fill_rows, set()

    def fail_or_fill(*given):
        if current_thread() not in seen:
            seen.add(current_thread())
            begun.wait(60)
        if (current_thread() is main_thread()) == main_fails:
            raise MemoryError("no room")
        fill_rows(*given)

    loss.form = replace(loss.form, fill_rows=fail_or_fill)
    with pytest.raises(MemoryError, match="no room"):
        loss.derivatives(np.zeros(120))


@pytest.mark.parametrize("n", [6, FEW_ROWS + 2])
@pytest.mark.parametrize("delta", DELTAS)
def test_relevant_rows_of_the_query_before_change_no_lambda(delta, n):
    """Of a query with two relevant rows at the top, then one with a single one, with none, with one near the end."""
    labels, relevant = np.zeros((4, n)), ([0, 1], [0], [], [n - 3])
    for query, places in enumerate(relevant):
        labels[query, places] = 1.0
    scores = np.tile(-0.1 * np.arange(n), (4, 1))
    feedback = Graded(labels.ravel(), n * np.arange(5), np.ones(4 * n), np.ones(4))
    found = np.array(LambdaLoss(feedback, delta, None).derivatives(scores.ravel())).reshape(2, 4, n)
    for query in range(4):
        pairs = twin.pair_weights(labels[query], scores[query], delta, None, np.ones(n), 1.0)
        expected = np.array(twin.lambdas(pairs, scores[query], 1.0))
        np.testing.assert_allclose(found[:, query], expected, atol=2e-5 * (1e-12 + np.abs(expected).max()))


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("truncation", [4, None])
def test_the_scores_before_change_no_bit_of_lambdas_of_long_queries_with_ties(truncation, delta):
    feedback, rng = feedback_of((50, 40)), np.random.default_rng(6)
    loss = LambdaLoss(feedback, delta, truncation)
    for step in (0.05, 5.0, 0.0, 5.0):  # rows move little, or so far that they are sorted anew
        scores = np.round(step * rng.normal(size=90), 1)
        expected = LambdaLoss(feedback, delta, truncation).derivatives(scores)
        np.testing.assert_array_equal(loss.derivatives(scores), expected)


@pytest.mark.skipif(not JIT_DISABLED, reason="part of a kernel")
@pytest.mark.parametrize("n_sorted", [1, 7, 19, 20, 30])
def test_rows_are_sorted_as_far_as_wanted_and_others_follow_by_number(n_sorted):
    rng, order = np.random.default_rng(n_sorted), np.arange(-3, 22)
    sorted_out, scratch = np.empty(20), np.empty(20, bool)
    for n_values in (3, 50, 1, 7):
        values = rng.integers(0, n_values, 25) / 8
        assert sort_again(n_sorted, 3, 20, values, order, sorted_out, scratch)
        own = values[3:23]
        by_value = np.argsort(-own, kind="stable")
        expected = np.append(by_value[:n_sorted], np.sort(by_value[n_sorted:]))
        np.testing.assert_array_equal(order[3:23], expected)
        np.testing.assert_array_equal(sorted_out, own[expected])
        np.testing.assert_array_equal(order[[0, 1, 2, 23, 24]], [-3, -2, -1, 20, 21])


@pytest.mark.parametrize("delta", DELTAS)
def test_a_constant_added_to_all_scores_changes_no_bit_of_lambdas(delta):
    feedback = feedback_of((20, FEW_ROWS + 4), 14)
    scores = np.random.default_rng(15).integers(-40, 40, FEW_ROWS + 24) / 16  # exact beside the constant
    for normalize in ("none", "both"):
        loss = LambdaLoss(feedback, delta, 5, normalize=normalize)
        here = np.array(loss.derivatives(scores))
        np.testing.assert_array_equal(loss.derivatives(scores + 2.0**30), here)


def test_the_highest_grade_may_be_given():
    labels, scores = np.array([0.0, 1.0, 2.0, 1.0]), np.array([0.3, -0.1, 0.2, 0.0])
    feedback = Graded(labels, np.array([0, 4]), np.ones(4), np.ones(1))
    found = np.array(LambdaLoss(feedback, "err", None, max_grade=5.0).derivatives(scores))
    expected = np.array(twin.lambdas(twin.pair_weights(labels, scores, "err", None, np.ones(4), 5.0), scores, 1.0))
    np.testing.assert_allclose(found, expected, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_a_query_weight_is_a_factor_of_lambdas(delta, normalize):
    feedback, scores = feedback_of((20, FEW_ROWS + 4)), np.random.default_rng(8).normal(size=24 + FEW_ROWS)
    heavy = Graded(feedback.labels, feedback.offsets, feedback.row_weight, np.array([4.0, 0.25]))
    light = Graded(feedback.labels, feedback.offsets, feedback.row_weight, np.ones(2))
    found, plain = (np.array(LambdaLoss(one, delta, normalize=normalize).derivatives(scores)) for one in (heavy, light))
    np.testing.assert_array_equal(found, plain * np.repeat([4.0, 0.25], [20, FEW_ROWS + 4]))


@pytest.mark.parametrize("name", ["squared", "logistic", "balanced"])
def test_a_query_weight_is_a_row_weight_of_each_of_its_rows_in_losses_of_single_rows(name):
    feedback, scores = feedback_of((4, 6, 5), 9), np.random.default_rng(9).normal(size=15)
    rows = feedback.row_weight * np.repeat(feedback.query_weight, [4, 6, 5])
    one = pointwise_loss(name, feedback, 0.7)
    two = pointwise_loss(name, Graded(feedback.labels, feedback.offsets, rows, np.ones(3)), 0.7)
    assert len(set(feedback.query_weight)) > 1
    assert one.start() == two.start()
    np.testing.assert_array_equal(one.derivatives(scores), two.derivatives(scores))


@pytest.mark.parametrize("name", ["logistic", "balanced"])
def test_logistic_losses_bear_any_score_and_labels_of_one_kind(name):
    feedback = feedback_of((8,), 10)
    gradient, curvature = pointwise_loss(name, feedback, 2.0).derivatives(np.linspace(-1e6, 1e6, 8))
    assert np.isfinite(gradient).all()
    assert (curvature >= 0).all()
    tiny = Graded(np.array([1.0, 0.0, 0.0]), np.array([0, 3]), np.array([1e-320, 1.0, 1.0]), np.ones(1))
    assert np.isfinite(pointwise_loss(name, tiny).derivatives(np.zeros(3))).all()
    alike = Graded(np.zeros(3), np.array([0, 3]), np.array([1.0, 2.0, 3.0]), np.ones(1))
    assert pointwise_loss(name, alike).start() == 0.0
    assert "labels above 0" in pointwise_loss(name, alike).flat_reason()


@pytest.mark.parametrize("number", [0, 3])
@pytest.mark.parametrize("seed", [0, 5])
def test_cross_entropy_equals_the_twin_with_weights_and_the_gamma_of_its_round(seed, number):
    sizes = [4, 7, 1, 5]
    feedback, scores = feedback_of(sizes, 11), 3 * np.random.default_rng(12).normal(size=17)
    feedback.labels[[0, 4, 12]], feedback.labels[[1, 5, 13]] = 0.0, 1.0  # counted from 0, and not all alike
    keys = np.random.default_rng(13).integers(0, 2**64, 17, np.uint64)
    gamma = (salted(keys, seed, number) >> np.uint64(11)) / 2.0**53
    given = (number,) if number else ()  # the first round unless it is said
    found = np.array(CrossEntropy(feedback, seed, keys).derivatives(scores, *given))
    assert 0.2 < gamma.mean() < 0.8
    for query, (a, b) in enumerate(zip(feedback.offsets[:-1], feedback.offsets[1:], strict=True)):
        if b - a > 1:
            expected = twin.cross_entropy(feedback.labels[a:b], scores[a:b], feedback.row_weight[a:b], gamma[a:b])
            np.testing.assert_allclose(
                found[:, a:b], feedback.query_weight[query] * np.array(expected), rtol=1e-12, atol=1e-14
            )
        else:
            assert not found[:, a:b].any()


def test_a_query_whose_rows_weigh_nothing_has_no_cross_entropy_and_leaves_that_of_others():
    sizes, scores = (4, 6), np.random.default_rng(17).normal(size=10)
    feedback = feedback_of(sizes, 18)
    feedback.labels[:2], feedback.labels[4:6] = [0.0, 1.0], [0.0, 2.0]
    before = np.array(CrossEntropy(feedback).derivatives(scores))
    light = replace(feedback, row_weight=np.where(np.arange(10) < 4, 0.0, feedback.row_weight))
    found = np.array(CrossEntropy(light).derivatives(scores))
    assert not found[:, :4].any()
    np.testing.assert_array_equal(found[:, 4:], before[:, 4:])
    assert before.all()


def test_cross_entropy_bears_any_score():
    feedback = feedback_of((6,), 13)
    for scores in (np.full(6, 5000.0), np.full(6, -5000.0)):
        zero = CrossEntropy(feedback).derivatives(np.zeros(6), 2)
        np.testing.assert_array_equal(CrossEntropy(feedback).derivatives(scores, 2), zero)


def test_losses_of_pairs_and_of_users_begin_at_zero():
    feedback = feedback_of((5,), 16)
    pairs = Pairs(np.array([0]), np.array([1]), np.ones(1))
    losses = [LambdaLoss(feedback), PairLoss(pairs, 5), CrossEntropy(feedback), UserLoss(lambda s, f: (s, s), feedback)]
    assert [loss.start() for loss in losses] == [0.0] * 4


class Constant:
    """A loss that tells what it was asked."""

    def __init__(self, start, curvature):
        self._start, self._curvature, self.asked = start, curvature, []

    def start(self):
        return self._start

    def derivatives(self, scores, number=0):
        self.asked.append(number)
        return scores + 1.0, np.full(len(scores), self._curvature)


def test_a_sum_of_losses_adds_up_starts_and_curvatures_and_tells_its_parts_the_round():
    parts = [Constant(0.5, 2.0), Constant(-2.0, 3.0)]
    loss = SumOfLosses(parts)
    assert loss.start() == -1.5
    gradient, curvature = loss.derivatives(np.array([1.0, 4.0]), 7)
    np.testing.assert_array_equal(gradient, [4.0, 10.0])
    np.testing.assert_array_equal(curvature, [5.0, 5.0])
    assert [part.asked for part in parts] == [[7], [7]]


def test_a_users_loss_cannot_change_the_scores_and_may_be_flat():
    def spoil(scores, feedback):
        scores[:] = 9.0
        return np.zeros(3), np.zeros(3)

    scores = np.arange(3.0)
    feedback = Graded(np.arange(3.0), np.array([0, 3]), np.ones(3), np.ones(1))
    gradient, curvature = UserLoss(spoil, feedback).derivatives(scores)
    np.testing.assert_array_equal(scores, [0, 1, 2])
    assert not gradient.any()
    assert not curvature.any()
