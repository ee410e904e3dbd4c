"""Mean ranks of several rankers, against counting, and their laws."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium import PodiumError, blend_ranks
from profiles import examples

pytestmark = pytest.mark.plain


def counted(scores, qid):
    """Count, row by row, the other rows of the query that each ranker puts below, ties half."""
    found = []
    for i, query in enumerate(qid):
        others = [j for j, other in enumerate(qid) if other == query and j != i]
        below = sum((own[j] < own[i]) + (own[j] == own[i]) / 2 for own in scores for j in others)
        found.append(below / (len(scores) * max(len(others), 1)))
    return found


@examples(60, plain=20)
@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 6), st.integers(2, 4))
def test_mean_ranks_are_those_of_counting_in_any_row_order(seed, n_rows, n_levels, n_rankers):
    rng = np.random.default_rng(seed)
    scores, qid = rng.integers(0, n_levels, (n_rankers, n_rows)).astype(float), rng.integers(0, 4, n_rows)
    assert blend_ranks(list(scores), qid=qid) == pytest.approx(counted(scores, qid), abs=1e-15)


def test_neither_scale_nor_order_of_rankers_changes_a_bit():
    rng = np.random.default_rng(0)
    scores, qid = list(rng.normal(size=(3, 40))), rng.integers(0, 5, 40)
    whole = blend_ranks(scores, qid=qid)
    for order in permutations(range(3)):
        assert np.array_equal(blend_ranks([np.exp(9 * scores[i]) for i in order], qid=qid), whole)


def test_groups_are_queries_and_without_any_all_rows_are_one():
    scores = [[3.0, 1.0, 2.0, 5.0], [1.0, 0.0, 0.0, 7.0]]
    assert blend_ranks(scores, group=[3, 1]).tolist() == [1.0, 0.125, 0.375, 0.0]
    assert blend_ranks(scores).tolist() == [2 / 3, 1 / 12, 0.25, 1.0]


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ([[1.0, 2.0]], "two or more rankers"),
        ([[1.0, 2.0], [1.0]], r"scores\[1\]"),
        ([[1.0, 2.0], [1.0, np.nan]], r"scores\[1\]"),
    ],
)
def test_scores_of_one_ranker_of_other_rows_or_without_an_order_are_refused(scores, words):
    with pytest.raises(PodiumError, match=words):
        blend_ranks(scores)


def test_infinite_scores_stand_first_and_last_and_equal_ones_are_tied():
    scores = [[np.inf, np.inf, 0.0, -np.inf], [3.0, 2.0, 1.0, -np.inf]]
    finite = [[9.0, 9.0, 0.0, -9.0], [3.0, 2.0, 1.0, -9.0]]
    np.testing.assert_array_equal(blend_ranks(scores), blend_ranks(finite))
