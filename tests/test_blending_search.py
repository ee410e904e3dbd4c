"""The search for weights of several rankers, step by step."""

from itertools import permutations

import numpy as np
import pytest

from podium import blend, evaluate
from podium.blending import combination, line

pytestmark = pytest.mark.plain


def table(seed, n_rankers):
    """Scores of rankers that know a little of four queries of six rows, labels and query ids."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, 24).astype(float)
    return [y + 2 * rng.normal(size=24) for _ in range(n_rankers)], y, np.repeat(np.arange(4), 6)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_best_point_of_a_curve_is_an_end_or_the_middle_of_the_widest_best_gap(sign):
    def best(values, ends, edges=(0.0, 0.1, 0.2, 0.6, 0.6 + 1e-13, 1.0)):
        ends = sign * ends[0], sign * ends[1]
        return combination._best_point(line.Curve(np.array(edges), sign * np.array(values), ends), sign)

    assert best([0.9, 0.5, 0.9, 0.2, 0.3], (0.1, 0.2)) == (0.9, pytest.approx(0.4))
    assert best([0.9, 0.5, 0.3, 0.2, 0.3], (0.1, 0.2)) == (0.9, pytest.approx(0.05))
    assert best([0.9, 0.5, 0.3, 1.0, 0.3], (0.1, 0.2)) == (0.9, pytest.approx(0.05))  # the best gap is too narrow
    assert best([0.9, 0.5, 0.9, 0.2, 0.3], (0.1, 0.9)) == (0.9, 1.0)
    assert best([0.9, 0.5, 0.9, 0.2, 0.3], (0.9, 0.1)) == (0.9, 0.0)
    assert best([0.9, 0.5, 0.9, 0.2, 0.3], (0.95, 1.0)) == (1.0, 1.0)


@pytest.mark.parametrize("measure", ["ndcg", "pair_loss"])
@pytest.mark.parametrize("n_rankers", [2, 3, 4])
def test_the_search_starts_from_the_best_ranker_and_of_more_than_two_from_more(measure, n_rankers, monkeypatch):
    scores, y, qid = table(5, n_rankers)
    starts = []

    def climb(search, weights):
        starts.append(weights)
        return weights, float(len(starts) == n_rankers)  # some later start is the best

    monkeypatch.setattr(combination._Search, "climb", climb)
    found = blend(scores, y, qid=qid, measure=measure, n_restarts=3)
    singles = [evaluate(y, one, qid=qid, measures=measure, n_resamples=0)[measure] for one in scores]
    best = np.argmin(singles) if measure == "pair_loss" else np.argmax(singles)
    assert starts[0].tolist() == np.eye(n_rankers)[best].tolist()
    assert len(starts) == (1 if n_rankers == 2 else 5)
    assert found.weights.tolist() == starts[min(n_rankers, len(starts)) - 1].tolist()


@pytest.mark.parametrize("positive", [True, False])
def test_random_starts_are_equal_weights_and_draws_of_the_seed(positive):
    scores, y, qid = table(6, 3)
    objective, rows = combination._gate(scores, y, qid, None, "ndcg", None, {})
    search = combination._Search(objective, rows, positive)
    equal, *drawn = search.random_starts(20, 1)
    np.testing.assert_allclose(equal, search.scales / search.scales.sum())
    assert (np.concatenate(drawn) < 0).any() != positive
    np.testing.assert_allclose(np.abs(drawn).sum(axis=1), 1)
    assert np.unique(drawn, axis=0).shape == (20, 3)
    assert [one.tolist() for one in drawn] == [one.tolist() for one in search.random_starts(20, 1)[1:]]
    assert [one.tolist() for one in drawn] != [one.tolist() for one in search.random_starts(20, 2)[1:]]


def test_weights_are_tried_again_after_any_other_changed():
    class Search(combination._Search):
        """A weight may become 1 once the next one has; the last may at once."""

        def __init__(self):
            self.seen = []

        def good(self, weights):
            return float(weights.sum())

        def step(self, weights, number):
            self.seen.append(number)
            free = number == 2 or weights[number + 1] == 1
            return np.where((np.arange(3) == number) & free, 1.0, weights)

    search = Search()
    weights, good = search.climb(np.zeros(3))
    assert weights.tolist() == [1.0, 1.0, 1.0]
    assert good == 3.0
    assert search.seen == [0, 1, 2, 0, 1, 2, 0, 1, 2]  # and two more once nothing was better


@pytest.mark.parametrize("measure", ["ndcg", "pair_loss"])
@pytest.mark.parametrize("signs", [(1, -1), (-1, 1), (-1, -1)])
def test_rankers_upside_down_are_blended_as_well_where_weights_may_be_negative(signs, measure):
    (one, two), y, qid = table(8, 2)
    here = blend([one, two], y, qid=qid, measure=measure, positive=False)
    there = blend([signs[0] * one, signs[1] * two], y, qid=qid, measure=measure, positive=False)
    assert there.value == pytest.approx(here.value, abs=1e-9)


def test_one_step_from_either_of_two_rankers_upside_down_finds_the_best_of_all():
    (one, two), y, qid = table(8, 2)
    best = blend([one, two], y, qid=qid, measure="ndcg", positive=False).value
    objective, rows = combination._gate([-one, -two], y, qid, None, "ndcg", None, {})
    search = combination._Search(objective, rows, positive=False)
    for weights, number in (([1.0, 0.0], 1), ([0.0, 1.0], 0)):
        assert search.good(search.step(np.array(weights), number)) == pytest.approx(best, abs=1e-9)


def test_changes_of_several_queries_at_one_point_add_up_alike_in_any_order():
    sums = set()
    for changes in permutations([0.1, 0.2, 0.3, 0.7, -0.4]):
        found = [line.Changes(0.0, np.array([0.25]), np.array([change])) for change in changes]
        edges, values = line._mean_of(found, np.zeros(5), np.ones(5))
        assert edges.tolist() == [0.0, 0.25, 1.0]
        sums.add(values[1])
    assert len(sums) == 1
