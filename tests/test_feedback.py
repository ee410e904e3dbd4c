"""Counts of pairs against brute force, weights, sums, and the reasons for having nothing to learn."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium._validation import NoPairsError, PodiumError
from podium.data.feedback import FeedbackSum, Graded, Pairs, feedback_of, summarize
from podium.data.ranking_data import RankingData
from reference import rankboost as twin

pytestmark = pytest.mark.plain

QUERIES = st.lists(
    st.lists(st.tuples(st.sampled_from([0.0, 1.0, 2.0, 2.5, -7.0]), st.integers(0, 3)), min_size=1, max_size=6),
    min_size=1,
    max_size=4,
)


def graded(queries, query_weight=None):
    labels, weights = (np.array([row[i] for query in queries for row in query], float) for i in (0, 1))
    offsets = np.cumsum([0, *map(len, queries)])
    return Graded(labels, offsets, weights, np.ones(len(queries)) if query_weight is None else query_weight)


def weight_per_query(feedback):
    """Total weight of the pairs of each query."""
    return feedback.query_weight * feedback._pair_sums(feedback.row_weight)


def brute(query, use_weights):
    pairs = [(a, b) for i, a in enumerate(query) for b in query[:i] if a[0] != b[0]]
    return sum(a[1] * b[1] if use_weights else bool(a[1] and b[1]) for a, b in pairs)


@given(QUERIES)
def test_pair_counts_and_weights_equal_brute_force(queries):
    feedback = graded(queries)
    assert feedback.pairs_per_query.tolist() == [brute(query, False) for query in queries]
    np.testing.assert_allclose(weight_per_query(feedback), [brute(query, True) for query in queries], atol=1e-9)
    assert feedback.n_pairs == sum(brute(query, False) for query in queries)


@given(QUERIES)
def test_weights_by_difference_equal_brute_force(queries):
    feedback = replace(graded(queries), by_difference=True)
    brute = [sum(a[1] * b[1] * abs(a[0] - b[0]) for i, a in enumerate(query) for b in query[:i]) for query in queries]
    np.testing.assert_allclose(weight_per_query(feedback), brute, atol=1e-9)
    equal = weight_per_query(feedback.with_equal_queries())
    np.testing.assert_allclose(equal, [float(weight > 0) for weight in brute])


PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(1, 3)), min_size=1, max_size=12)


@given(PAIRS.map(lambda pairs: [pair for pair in pairs if pair[0] != pair[1]]).filter(bool), st.randoms())
def test_netted_pairs_equal_the_reference_in_any_order(triples, random):
    def net(given):
        worse, better, weight = (np.array(side) for side in zip(*given, strict=True))
        pairs = Pairs(better, worse, weight.astype(float)).netted()
        return list(zip(pairs.worse.tolist(), pairs.better.tolist(), pairs.weight.tolist(), strict=True))

    assert sorted(net(triples)) == sorted(twin.netted(triples))
    shuffled = list(triples)
    random.shuffle(shuffled)
    assert net(shuffled) == net(triples)


def test_weights_that_differ_by_rounding_cancel_out():
    pairs = Pairs(np.array([0, 0, 1]), np.array([1, 1, 0]), np.array([0.1, 0.2, 0.3]))
    assert pairs.netted().n_pairs == 0


def test_pairs_that_all_cancel_are_nothing_to_rank():
    data = RankingData.from_arrays(np.arange(2.0)[:, None], pairs=([0, 1], [1, 0]))
    with pytest.raises(NoPairsError, match=r'contradict each other, .* consider contradictions="keep"'):
        feedback_of(data, contradictions="net")
    assert feedback_of(data).n_pairs == 2


def test_pairs_are_netted_beside_labels_but_not_with_them():
    X, y = np.arange(4.0)[:, None], [0, 1, 2, 0]
    agreeing = RankingData.from_arrays(X, y, qid=[0, 0, 0, 1], pairs=([2, 0, 3], [0, 3, 0], [1.0, 3.0, 1.0]))
    graded_part, pairs = feedback_of(agreeing, contradictions="net").parts
    assert graded_part.n_pairs == 3
    assert sorted(pairs.weight.tolist()) == [1.0, 2.0]
    between_equals = RankingData.from_arrays(X, [0, 1, 1, 2], pairs=([1], [2]))
    assert feedback_of(between_equals, contradictions="net").n_pairs == 5 + 1
    opposed = RankingData.from_arrays(X, [0, 1, 2, 5], qid=[0, 0, 0, 1], pairs=([0, 0], [2, 3]))
    with pytest.raises(PodiumError, match=r"1 pair\(s\) contradict labels, as that of row 0 above row 2 does: leave"):
        feedback_of(opposed, contradictions="net")


@pytest.mark.parametrize(
    ("weights", "n_pairs"),
    [({"sample_weight": [0, 1, 1, 1]}, 2), ({"sample_weight": [1, 1, 0, 1]}, 2), ({"query_weight": {0: 0, 1: 1}}, 1)],
)
def test_labels_of_rows_or_queries_without_weight_contradict_no_pair(weights, n_pairs):
    data = RankingData.from_arrays(np.arange(4.0)[:, None], [0, 1, 2, 0], qid=[0, 0, 0, 1], pairs=([0], [2]), **weights)
    assert feedback_of(data, contradictions="net").n_pairs == n_pairs


@given(QUERIES)
def test_equal_queries_weigh_one_each_where_they_have_pairs(queries):
    equal = weight_per_query(graded(queries).with_equal_queries())
    np.testing.assert_allclose(equal, [float(brute(query, True) > 0) for query in queries])


@given(QUERIES)
def test_equal_queries_weigh_their_query_weight_and_no_weight_leaves_no_pairs(queries):
    query_weight = np.array([0.0, 2.5, 1.0, 0.25])[: len(queries)]
    feedback = graded(queries, query_weight)
    counts, weights = ([brute(query, weighed) for query in queries] for weighed in (False, True))
    assert feedback.pairs_per_query.tolist() == [n * (w > 0) for n, w in zip(counts, query_weight, strict=True)]
    np.testing.assert_allclose(weight_per_query(feedback), query_weight * weights, atol=1e-9)
    equal = weight_per_query(feedback.with_equal_queries())
    np.testing.assert_allclose(equal, np.where(np.array(weights) > 0, query_weight, 0.0))


def test_the_pairs_of_labels_weigh_what_pair_weight_says():
    data = RankingData.from_arrays(np.arange(5.0)[:, None], [0, 1, 4, 0, 3], qid=[0, 0, 0, 1, 1])
    weights = {"pairs": [3.0, 1.0], "queries": [1.0, 1.0], "differences": [8.0, 3.0]}
    for name, expected in weights.items():
        np.testing.assert_allclose(weight_per_query(feedback_of(data, name)), expected, rtol=1e-14)


def test_equal_queries_have_their_weight_whatever_the_size_of_row_weights():
    for size in (1e-200, 1.0, 1e200):
        feedback = Graded(np.array([0.0, 1.0, 2.0]), np.array([0, 3]), size * np.array([1.0, 2.0, 3.0]), np.ones(1))
        np.testing.assert_allclose(weight_per_query(feedback.with_equal_queries()), [1.0], rtol=1e-14)


def test_row_of_weight_two_counts_as_the_row_twice():
    twice = graded([[(0.0, 1), (1.0, 1), (1.0, 1), (2.0, 1)]])
    weighted = graded([[(0.0, 1), (1.0, 2), (2.0, 1)]])
    assert weight_per_query(twice) == weight_per_query(weighted)


def test_labels_and_pairs_add_up():
    X = np.arange(4.0)[:, None]
    data = RankingData.from_arrays(X, [0, 1, 0, 0], pairs=([0, 0, 3], [3, 3, 0]))
    feedback = feedback_of(data)
    assert isinstance(feedback, FeedbackSum)
    assert [type(part) for part in feedback] == [Graded, Pairs]
    assert feedback.n_pairs == 3 + 3
    assert (feedback.parts[0] + feedback).n_pairs == 3 + 6


def test_constant_labels_with_pairs_leave_the_pairs():
    data = RankingData.from_arrays(np.arange(3.0)[:, None], [1, 1, 1], pairs=([0], [1]))
    assert isinstance(feedback_of(data), Pairs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give labels y, pairs, or both"),
        ({"y": [1, 1, 1]}, "all rows have the same label"),
        ({"y": [1, 1, 2], "qid": [0, 0, 1]}, "in each of the 2 queries all rows have the same label"),
        ({"y": [1, 2, 3], "qid": [0, 1, 2]}, "each of the 3 queries has one row; qid must be the same"),
        ({"y": [1, 2, 2], "sample_weight": [0, 1, 1]}, "different labels has weight zero"),
    ],
)
def test_nothing_to_rank_says_why(arguments, message):
    data = RankingData.from_arrays(np.arange(3.0)[:, None], **arguments)
    with pytest.raises(NoPairsError, match=message):
        feedback_of(data)


def test_unknown_pair_weight_is_refused():
    data = RankingData.from_arrays(np.arange(2.0)[:, None], [0, 1])
    with pytest.raises(PodiumError, match="pair_weight must be one of pairs, queries, differences; got 'rows'"):
        feedback_of(data, "rows")


def test_summary_counts_what_there_is_to_learn():
    y = [0, 1, 2, 3, 3, 5]
    data = RankingData.from_arrays(np.zeros((6, 1)), y, qid=[0, 0, 0, 1, 1, 2], pairs=([0], [5]))
    summary = summarize(data)
    assert (summary.n_rows, summary.n_queries, summary.n_labels) == (6, 3, 5)
    assert (summary.candidate_pairs, summary.label_pairs, summary.explicit_pairs) == (4, 3, 1)
    assert summary.silent_queries == 2
