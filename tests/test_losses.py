"""λ and other losses against pair by pair twins and finite differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium._validation import PodiumError
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
from podium.losses.row_pairs import FEW_ROWS
from profiles import examples
from reference import losses as twin

pytestmark = pytest.mark.plain


def graded(labels, sizes=None, row_weight=None, query_weight=None):
    labels = np.array(labels, float)
    offsets = np.concatenate([[0], np.cumsum([len(labels)] if sizes is None else sizes)])
    rows = np.ones(len(labels)) if row_weight is None else np.array(row_weight, float)
    queries = np.ones(len(offsets) - 1) if query_weight is None else np.array(query_weight, float)
    return Graded(labels, offsets, rows, queries)


@pytest.mark.parametrize("delta", DELTAS)
@examples(80, plain=10)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from([0.0, 1.0, 2.0, 4.0]),
            st.sampled_from([-1.5, 0.0, 0.0, 0.3, 2.0]),
            st.sampled_from([1.0, 2.0]),
        ),
        min_size=1,
        max_size=12,
    ),
    truncation=st.sampled_from([None, 1, 3, 30]),
    sigma=st.sampled_from([0.5, 1.0, 2.0]),
    normalize=st.sampled_from(list(NORMALIZATIONS)),
)
def test_lambdas_equal_the_pair_by_pair_twin(delta, rows, truncation, sigma, normalize):
    labels, scores, weight = (np.array(column) for column in zip(*rows, strict=True))
    loss = LambdaLoss(graded(labels, row_weight=weight), delta, truncation, sigma, normalize=normalize)
    pairs = twin.pair_weights(labels, scores, delta, truncation, weight)
    assert_close(loss.derivatives(scores), twin.normalized_lambdas(pairs, scores, sigma, normalize))


@pytest.mark.parametrize("truncation", [7, None])
@pytest.mark.parametrize("delta", DELTAS)
def test_lambdas_of_short_and_long_queries_with_weights_equal_the_twin(delta, truncation):
    """Queries up to FEW_ROWS rows take their pairs from both sides, longer ones row by row."""
    rng = np.random.default_rng(7)
    sizes, query_weight, sigma = [1, FEW_ROWS - 12, FEW_ROWS, FEW_ROWS + 1, FEW_ROWS + 9], [1, 2, 0.5, 3, 1], 1.3
    labels = rng.choice([0.0, 1.0, 2.0, 4.0], sum(sizes), p=[0.6, 0.2, 0.1, 0.1])
    scores, weight = np.round(2 * rng.normal(size=len(labels)), 1), rng.choice([0.5, 1.0, 2.0], len(labels))
    feedback = graded(labels, sizes, weight, query_weight)
    owns = list(map(slice, feedback.offsets[:-1], feedback.offsets[1:]))
    pairs = [twin.pair_weights(labels[q], scores[q], delta, truncation, weight[q], labels.max()) for q in owns]
    for normalize in NORMALIZATIONS:
        found = np.array(LambdaLoss(feedback, delta, truncation, sigma, normalize=normalize).derivatives(scores))
        for own, its_pairs, times in zip(owns, pairs, query_weight, strict=True):
            expected = np.array(twin.normalized_lambdas(its_pairs, scores[own], sigma, normalize))
            assert_close(found[:, own], times * expected)


def assert_close(found, expected):
    """Equal up to the rational tanh in single precision."""
    size = 1e-12 + max(abs(one).max() for one in expected)
    np.testing.assert_allclose(found, expected, atol=2e-5 * size)


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
def test_threads_change_no_bit_of_normalized_lambdas(normalize):
    rng = np.random.default_rng(2)
    feedback, scores = graded(rng.integers(0, 3, 140), [30, 50, 20, 40]), rng.normal(size=140)
    one, three = (LambdaLoss(feedback, normalize=normalize, n_threads=n).derivatives(scores) for n in (1, 3))
    np.testing.assert_array_equal(one, three)


def test_the_factor_of_a_query_with_hardly_any_pull_is_that_of_the_limit():
    labels, scores = np.array([1.0, 0.0]), np.array([0.0, 0.0])
    plain, scaled = (
        LambdaLoss(graded(labels, row_weight=[1e-9, 1e-9]), normalize=normalize).derivatives(scores)[0]
        for normalize in ("none", "query")
    )
    np.testing.assert_allclose(scaled, plain / np.log(2), rtol=1e-6)


def test_gradient_and_curvature_are_derivatives_of_the_pair_loss_at_fixed_places():
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 4, 9).astype(float), rng.normal(size=9)
    pairs = twin.pair_weights(labels, scores, "ndcg", None, np.ones(9))
    gradient, curvature = LambdaLoss(graded(labels), "ndcg", None, 1.3).derivatives(scores)
    step = 1e-4
    for i in range(9):
        up, down = scores + step * (np.arange(9) == i), scores - step * (np.arange(9) == i)
        above, here, below = (twin.pair_loss(pairs, s, 1.3) for s in (up, scores, down))
        assert gradient[i] == pytest.approx((above - below) / (2 * step), abs=1e-6)
        assert curvature[i] == pytest.approx((above - 2 * here + below) / step**2, abs=1e-5)


@pytest.mark.parametrize("delta", DELTAS)
def test_lambdas_of_a_query_sum_to_zero_and_curvatures_are_not_negative(delta):
    rng = np.random.default_rng(1)
    feedback = graded(rng.integers(0, 5, 90), [40, 1, 49], query_weight=[1, 2, 3])
    for scores in (np.zeros(90), rng.normal(size=90), rng.normal(size=90) * 100):
        gradient, curvature = LambdaLoss(feedback, delta).derivatives(scores)
        sums = np.add.reduceat(gradient, feedback.offsets[:-1])
        np.testing.assert_allclose(sums, 0, atol=1e-6 * np.abs(gradient).sum())
        assert np.all(curvature >= 0)


@pytest.mark.parametrize("delta", DELTAS)
def test_equal_scores_still_pull(delta):
    gradient, _ = LambdaLoss(graded([0, 1, 0, 2]), delta).derivatives(np.zeros(4))
    assert gradient[3] < 0 < gradient.max()


def test_gains_may_be_given():
    labels, scores = np.array([0.0, 1.0, 2.0]), np.array([0.3, 0.1, 0.2])
    one = LambdaLoss(graded(labels), gain={0.0: 0.0, 1.0: 1.0, 2.0: 3.0}).derivatives(scores)
    two = LambdaLoss(graded(labels)).derivatives(scores)
    np.testing.assert_array_equal(one[0], two[0])
    linear = LambdaLoss(graded(labels), gain="linear").derivatives(scores)
    assert not np.array_equal(linear[0], two[0])


@pytest.mark.parametrize("gain", ["exp2", "linear"])
@pytest.mark.parametrize("delta", ["ndcg", "err", "none"])
def test_labels_below_zero_pull_as_those_counted_from_the_lowest_of_the_query(delta, gain):
    rng = np.random.default_rng(4)
    labels, scores = rng.integers(0, 4, 30).astype(float), rng.normal(size=30)
    labels[[0, 12]] = 0.0
    shift = np.repeat([-5.0, -3.0], [12, 18])
    feedback = graded(labels, [12, 18])
    lower = graded(labels + shift, [12, 18])
    if delta == "err":  # whose users are those of a query whose highest label is the highest of all
        feedback, lower, scores = graded(labels[:12]), graded(labels[:12] - 5.0), scores[:12]
    gradient, curvature = LambdaLoss(lower, delta, gain=gain).derivatives(scores)
    expected = LambdaLoss(feedback, delta, gain=gain).derivatives(scores)
    np.testing.assert_allclose(gradient, expected[0], atol=1e-12)
    np.testing.assert_allclose(curvature, expected[1], atol=1e-12)
    assert np.abs(gradient).max() > 0.01


def test_minus_the_position_pulls_however_long_the_query():
    for n in (60, 1500):
        gradient, _ = LambdaLoss(graded(-np.arange(1.0, n + 1))).derivatives(np.arange(n) / n)
        assert np.isfinite(gradient).all()
        assert gradient.argmin() == 0
        assert LambdaLoss(graded(-np.arange(1.0, n + 1)), "err").derivatives(np.zeros(n))[0][0] < 0


def test_lambdas_of_the_top_grade_equal_those_of_its_flags():
    labels, flags, scores = [4.0, 2, 4, 1, -1, -3, 0], [1.0, 0, 1, 0, 0, 0, 1], np.arange(7.0)
    top = LambdaLoss(graded(labels, [4, 3]), "map", relevant="top").derivatives(scores)
    np.testing.assert_array_equal(top, LambdaLoss(graded(flags, [4, 3]), "map").derivatives(scores))


def test_a_loss_without_pull_says_why():
    below, steady = graded([-1.0, -2.0]), {-1.0: 1.0, -2.0: 1.0}
    assert LambdaLoss(below).flat_reason() is None
    assert LambdaLoss(below, "map").flat_reason().startswith("no query has both relevant rows (labels above 0)")
    assert LambdaLoss(below, gain=steady).flat_reason() == "no query has two different gains"
    assert "labels above 0" in pointwise_loss("logistic", below).flat_reason()
    assert pointwise_loss("logistic", graded([1.0, 0.0])).flat_reason() is None


def test_cross_entropy_counts_labels_from_the_lowest_of_the_query():
    labels, scores = np.array([0.0, 3, 1, 0, 2, 2]), np.linspace(0, 1, 6)
    here, below = (CrossEntropy(graded(y, [3, 3])).derivatives(scores)[0] for y in (labels, labels - 7))
    np.testing.assert_array_equal(here, below)
    long = CrossEntropy(graded(-np.arange(1500.0))).derivatives(np.zeros(1500))[0]
    np.testing.assert_allclose(long[:3], 1 / 1500 - np.array([1 / 2, 1 / 4, 1 / 8]), atol=1e-12)


@pytest.mark.parametrize("step", [0.01, 1.0])
def test_the_scores_before_change_no_bit_of_lambdas(step):
    rng = np.random.default_rng(3)
    feedback, scores = graded(rng.integers(0, 3, 120), [70, 1, 49]), np.round(rng.normal(size=120), 1)
    loss = LambdaLoss(feedback)
    for _ in range(3):
        scores = np.round(scores + step * rng.normal(size=120), 1)  # rounded, so that some are tied
        np.testing.assert_array_equal(loss.derivatives(scores), LambdaLoss(feedback).derivatives(scores))


def test_explicit_pairs_equal_the_twin_and_sums_add_up():
    scores, pairs = np.array([0.5, -1.0, 800.0]), {(0, 1): 2.0, (1, 0): 0.5, (1, 2): 1.0}
    feedback = Pairs(*(np.array(column) for column in ([0, 1, 1], [1, 0, 2], [2.0, 0.5, 1.0])))
    loss = PairLoss(feedback, 3, 0.7)
    expected = twin.lambdas(pairs, scores, 0.7)
    np.testing.assert_allclose(loss.derivatives(scores), expected, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(SumOfLosses([loss, loss]).derivatives(scores), 2 * np.array(expected), atol=1e-300)


@pytest.mark.parametrize("name", ["squared", "logistic", "balanced"])
def test_pointwise_derivatives_equal_finite_differences(name):
    rng = np.random.default_rng(3)
    labels, weight = rng.integers(0, 2, 8).astype(float), rng.random(8) + 0.5
    sigma, scores, step = 0.8, rng.normal(size=8), 1e-4
    loss = pointwise_loss(name, graded(labels, row_weight=weight), sigma)
    totals = {k: weight[labels == k].sum() for k in (0, 1)}
    share = np.array([weight.sum() / 2 / totals[k] for k in labels]) if name == "balanced" else 1.0

    def value(s):
        if name == "squared":
            return weight * (labels - s) ** 2 / 2
        return weight * share * np.log1p(np.exp(-2 * sigma * (2 * labels - 1) * s))

    gradient, curvature = loss.derivatives(scores)
    above, here, below = value(scores + step), value(scores), value(scores - step)
    np.testing.assert_allclose(gradient, (above - below) / (2 * step), atol=1e-6)
    np.testing.assert_allclose(curvature, (above - 2 * here + below) / step**2, atol=1e-5)


@pytest.mark.parametrize("name", ["squared", "logistic", "balanced"])
def test_pointwise_losses_begin_where_the_gradient_sums_to_zero(name):
    loss = pointwise_loss(name, graded([0, 1, 1, 1, 0, 1], row_weight=[1, 2, 1, 1, 3, 1]), 0.6)
    assert loss.derivatives(np.full(6, loss.start()))[0].sum() == pytest.approx(0, abs=1e-12)


def test_cross_entropy_gradients_sum_to_zero_and_favour_high_labels():
    feedback = graded([0, 3, 0, 1, 1, 1], [3, 3])
    loss = CrossEntropy(feedback)
    gradient, curvature = loss.derivatives(np.array([0.0, 1000.0, 2.0, 0.0, 0.0, 0.0]), 4)
    np.testing.assert_allclose(np.add.reduceat(gradient, [0, 3]), 0, atol=1e-12)
    assert np.all(gradient[3:] == 0)  # one label for all: nothing to say
    assert np.all(curvature >= 0)
    assert loss.derivatives(np.zeros(6))[0].argmin() == 1


def test_what_a_users_loss_returns_is_checked():
    feedback, scores = graded([0, 1, 2]), np.zeros(3)
    g, h = UserLoss(lambda s, f: (s - f.labels, np.ones(3)), feedback).derivatives(scores)
    np.testing.assert_array_equal(g, [0, -1, -2])
    np.testing.assert_array_equal(h, 1)
    wrong = {
        "a pair": lambda s, f: s,
        "a finite gradient for each of 3 rows": lambda s, f: (s[:2], s),
        "a finite curvature": lambda s, f: (s, s + np.nan),
        "a negative curvature": lambda s, f: (s, s - 1),
    }
    for message, function in wrong.items():
        with pytest.raises(PodiumError, match=message):
            UserLoss(function, feedback).derivatives(scores)
