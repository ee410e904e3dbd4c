"""A weak ranking without an error ends the fit after it, in every boosted ranker."""

import numpy as np
import pytest

from podium import AdaBoostOR, ORBoost, PNormPush, RankBoost, RankBoostPlus
from podium.data.feedback import Graded, Pairs
from podium.pairs.distribution import Distribution
from podium.pairs.pair_boosting import FLAWLESS
from podium.pairs.weak_ranking import WeakResult

pytestmark = pytest.mark.plain


class OneFeature:
    """A weak learner of a user's own: always the last feature, whatever its values."""

    def __init__(self, data):
        self.values = self.predict(data.features)[data.queries.rows]

    def predict(self, X):
        return X[:, -1]

    def search(self, potentials, distribution):
        return WeakResult(self, self.values, float(np.sum(self.values * potentials)))


RANKERS = [
    RankBoost(30),
    RankBoost(30, criterion="z"),
    RankBoost(30, alpha="numeric"),
    RankBoost(30, alpha="z", undefined="stop"),
    RankBoost(30, alpha="numeric", undefined="stop"),
    RankBoost(30, learning_rate=0.1, max_bins=None),
    RankBoost(30, weak="feature"),
    RankBoost(30, weak="feature", alpha="numeric"),
    RankBoost(30, weak=OneFeature),
    RankBoost(30, weak=OneFeature, alpha="numeric"),
    RankBoostPlus(30),
    RankBoostPlus(30, search="optimal"),
]
PUSHES = [PNormPush(30), PNormPush(30, p=1.5, weak="feature")]
"""Which take no pairs."""
each_ranker = pytest.mark.parametrize("ranker", RANKERS, ids=lambda r: str(r).replace("\n", ""))


def with_a_perfect_feature(sign=1):
    """Two grades, and as the last of three features one that parts them."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([0, 1], [14, 6]))
    return np.column_stack([rng.integers(0, 3, (20, 2)).astype(float), sign * y]), y


@each_ranker
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("explicit", [False, True])
def test_a_perfect_feature_ends_the_fit_after_its_round(ranker, sign, explicit):
    X, y = with_a_perfect_feature(sign)
    better, worse = np.nonzero(y[:, None] > y)
    model = ranker.fit(X, pairs=(better, worse)) if explicit else ranker.fit(X, y)
    assert (len(model.rounds_), model.best_iteration_, model.stop_reason_) == (1, 1, FLAWLESS)
    scores = model.predict(X)
    assert np.isfinite(scores).all()
    assert scores[better].min() > scores[worse].max()


def test_a_cumulative_weight_that_may_only_grow_ends_with_a_perfect_feature():
    X, y = with_a_perfect_feature()
    model = RankBoost(30, cumulative=True).fit(X, y)
    assert (len(model.rounds_), model.stop_reason_) == (1, FLAWLESS)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("push", PUSHES, ids=lambda push: push.weak)
def test_a_perfect_feature_ends_a_push_after_its_round(push, sign):
    X, y = with_a_perfect_feature(sign)
    model = push.fit(X, y)
    assert (len(model.rounds_), model.stop_reason_) == (1, FLAWLESS)
    assert model.predict(X)[y == 1].min() > model.predict(X)[y == 0].max()


@pytest.mark.parametrize("ranker", [RankBoost, RankBoostPlus, PNormPush])
def test_going_on_after_a_perfect_feature_adds_no_round(ranker, tmp_path):
    X, y = with_a_perfect_feature()
    first = ranker(30).fit(X, y)
    longer = ranker(60).fit(X, y, init_model=first)
    assert (len(longer.rounds_), longer.stop_reason_) == (1, FLAWLESS)
    for _ in range(2):
        kept = ranker(30, checkpoint=tmp_path / "checkpoint").fit(X, y)
        assert (len(kept.rounds_), kept.stop_reason_) == (1, FLAWLESS)


def test_a_stump_that_ties_some_pairs_does_not_end_the_fit():
    X, y = np.array([[0.0], [1.0], [2.0]]), [0, 1, 2]
    model = RankBoost(6, alpha="z").fit(X, y)
    assert (len(model.rounds_), model.stop_reason_) == (6, "all rounds are done")


class Column:
    """The weak ranking that a column is."""

    def __init__(self, number):
        self.number = number

    def predict(self, X):
        return X[:, self.number]


class Late:
    """A weak learner that takes the first feature in its first round, then the second."""

    def __init__(self, data):
        self.rows = data.features[data.queries.rows]

    def search(self, potentials, distribution):
        ranking = Column(int(distribution.scores.any()))
        values = ranking.predict(self.rows)
        return WeakResult(ranking, values, float(np.sum(values * potentials)))


FLAWED = np.array([[0.0, 0.0], [1.0, 0.001], [0.5, 0.002], [1.0, 1.0]])
"""The first feature misorders rows 1 and 2; the second orders all, these two by a hair."""


def test_a_perfect_ranking_that_is_outvoted_does_not_end_the_fit():
    pairs = ([1, 2, 3, 2, 3, 3], [0, 0, 0, 1, 1, 2])
    outvoted = RankBoost(4, weak=Late).fit(FLAWED, pairs=pairs)
    assert (len(outvoted.rounds_), outvoted.stop_reason_) == (4, "all rounds are done")
    assert np.diff(outvoted.predict(FLAWED)).min() < 0
    heavy = RankBoost(500, weak=Late, alpha="numeric").fit(FLAWED, pairs=pairs)
    *before, last = heavy.staged_predict(FLAWED)
    assert heavy.stop_reason_ == FLAWLESS
    assert all(np.diff(scores).min() <= 0 for scores in before)
    assert np.diff(last).min() > 0


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("ranker", [AdaBoostOR(n_estimators=30), ORBoost(30), ORBoost(30, variant="left-right")])
def test_a_stump_without_an_error_ends_the_fit_of_ordinal_rankers(ranker, sign):
    X, y = with_a_perfect_feature(sign)
    model = ranker.fit(X, y)
    assert len(model.rounds_) == 1
    assert model.stop_reason_ in ("the last base ranker makes no error", "the last stump makes no error")
    np.testing.assert_array_equal(model.predict(X), y)


def test_small_steps_of_orboost_go_on_until_all_grades_are_right():
    y = np.repeat([0, 1], [200, 2])
    model = ORBoost(500, learning_rate=0.01).fit(y[:, None].astype(float), y)
    *before, last = model.staged_predict(y[:, None])
    assert 1 < len(model.rounds_) < 500
    assert model.stop_reason_ == "the last stump makes no error"
    assert not any(np.array_equal(grades, y) for grades in before)
    np.testing.assert_array_equal(last, y)


def test_no_stump_of_orboost_is_without_an_error_for_three_grades():
    y = np.repeat([0, 1, 2], 4)
    model = ORBoost(5).fit(y[:, None].astype(float), y)
    assert (len(model.rounds_), model.stop_reason_) == (5, "all rounds are done")


@pytest.mark.parametrize("seed", range(5))
def test_ordered_by_is_true_where_no_pair_is_tied_or_misordered(seed):
    rng = np.random.default_rng(seed)
    labels, offsets = rng.integers(0, 3, 12).astype(float), np.array([0, 5, 12])
    weight = rng.integers(0, 2, 12).astype(float)
    graded = Distribution(Graded(labels, offsets, weight, np.ones(2)), 12)
    query = np.repeat([0, 1], [5, 7])
    better, worse = np.nonzero((labels[:, None] > labels) & (query[:, None] == query) & (np.outer(weight, weight) > 0))
    listed = Distribution(Pairs(better, worse, np.ones(len(better))), 12)
    for values in [*rng.integers(0, 4, (20, 12)).astype(float), labels, -labels, np.where(weight > 0, labels, 9.0)]:
        expected = bool(np.all(values[better] > values[worse]))
        assert graded.ordered_by(values) == listed.ordered_by(values) == expected
