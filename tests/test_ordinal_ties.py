"""Grades where numbers meet exactly: scores at thresholds, votes split in half, values at cuts, infinite ones."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from podium import SVOR, AdaBoostOR, ORBoost, OrdinalThresholds, ORStump, PRank, RankBoost
from podium.ordinal.margin_boosting import StagedGrades
from podium.ordinal.mean_cost import mean_cost
from podium.ordinal.ordinal_data import OrdinalData
from podium.ordinal.ordinal_stump import OrdinalStump
from podium.ordinal.support_vectors import ExtendedMachine
from podium.ordinal.votes import Votes, vote_of_stumps

pytestmark = pytest.mark.plain


def sample(n_rows=24, n_grades=4):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 7, (n_rows, 2)).astype(float)
    return X, np.clip(np.round(X[:, 0] / 2 + rng.normal(0, 0.4, n_rows)), 0, n_grades - 1).astype(int)


@pytest.mark.parametrize(
    ("ranker", "side"),
    [
        (ORBoost(5), "right"),
        (PRank(epochs=5), "right"),
        (OrdinalThresholds(RankBoost(n_estimators=5), folds=None), "right"),
        (SVOR(kernel="linear"), "left"),
    ],
    ids=lambda given: str(given).partition("(")[0],
)
def test_a_score_at_a_threshold_has_the_grade_that_the_formula_says(ranker, side):
    """Ranks are 1 + #{k: score ≥ θ_k}; of a machine, whose value is score - θ_k, 1 + #{k: value > 0}."""
    X, y = sample()
    ranker.fit(X, y)
    scores = np.unique(ranker.predict_rank(X))
    thresholds = scores[[0, len(scores) // 2, -1]]
    if isinstance(ranker, ORBoost):
        ranker.rounds_[-1] = replace(ranker.rounds_[-1], thresholds=thresholds)
    else:
        ranker.thresholds_ = thresholds
    for score, grade in zip(ranker.predict_rank(X), ranker.predict(X), strict=True):
        reached = [score >= theta if side == "right" else score > theta for theta in thresholds]
        assert grade == sum(reached)


def test_stages_and_evaluation_sets_of_orboost_grade_scores_at_thresholds_like_predict():
    X, y = sample()
    model = ORBoost(1).fit(X, y)
    high = model.rounds_[0].alpha
    done = replace(model.rounds_[0], thresholds=np.sort([0.0, high, high]))
    model.rounds_ = [done]
    expected = model.predict(X)
    np.testing.assert_array_equal(next(model.staged_predict(X)), expected)
    data = OrdinalData.from_arrays(X, y)
    grades = StagedGrades(data.features).add(done)
    assert mean_cost(data)(grades)["cost"] == np.abs(expected - y).mean()


def test_a_value_of_nothing_is_not_positive_for_a_machine():
    machine = ExtendedMachine(np.array([[1.0], [-1.0]]), np.array([0, 1]), np.ones((2, 2)), "linear", 1.0, 1e6, 0)
    machine.bias, machine.values[:] = 0.0, [0.0, 1.0]
    assert machine.grade().tolist() == [0, 2]


def stumps_at_values(rng, n_stumps, n_features, n_grades):
    """Stumps whose thresholds are values of the features themselves, infinite ones included."""
    places = np.array([-np.inf, -1.0, 0.0, 1.0, 2.0, np.inf])
    return [
        OrdinalStump(
            int(rng.integers(n_features)),
            int(rng.choice([-1, 1])),
            np.sort(rng.choice(places, n_grades - 1)),
            int(rng.integers(n_grades)),
        )
        for _ in range(n_stumps)
    ]


@pytest.mark.parametrize("rows_per_task", [1, 3, 20, 21, 1024])
@pytest.mark.parametrize("n_grades", [2, 5])
def test_votes_of_stumps_equal_those_in_turn_at_thresholds_and_beyond_all_values(rows_per_task, n_grades, monkeypatch):
    monkeypatch.setattr("podium.ordinal.votes.ROWS_PER_TASK", rows_per_task)
    rng = np.random.default_rng(n_grades)
    X = rng.choice([-np.inf, -1.0, 1.0, 2.0, np.inf, np.nan], (21, 4))
    stumps, weights = stumps_at_values(rng, 30, 4, n_grades), rng.random(30)
    slow = Votes(21, n_grades)
    for stump, weight in zip(stumps, weights, strict=True):
        slow.add(stump.grades(X), weight)
    stored = np.where(np.isnan(X), 0.0, X)
    for features, n_threads in ((X, 1), (X, 3), (sp.csc_array(stored), 1), (sp.csc_array(stored), 2)):
        fast = vote_of_stumps(stumps, weights, features, n_grades, n_threads)
        np.testing.assert_array_equal(fast.sums, slow.sums)
        assert fast.total == slow.total


def test_a_stump_grades_by_the_thresholds_that_a_value_reaches():
    rng = np.random.default_rng(1)
    X = rng.choice([-np.inf, -1.0, 0.0, 1.0, 2.0, np.inf, np.nan], (40, 2))
    for stump in stumps_at_values(rng, 40, 2, 5):
        for x, grade in zip(X[:, stump.feature], stump.grades(X), strict=True):
            reached = [stump.direction * x >= t or t == -np.inf for t in stump.thresholds if t < np.inf]
            assert grade == (stump.missing if np.isnan(x) else sum(reached))


def test_a_vote_split_in_half_has_the_higher_grade():
    """OR Eq. 6: at least half of the weight above k."""
    votes = Votes(2, 3)
    votes.add(np.array([0, 0]), 1.0)
    votes.add(np.array([2, 1]), 1.0)
    assert votes.medians().tolist() == [2, 1]


def test_of_equal_stumps_the_first_feature_and_the_rising_direction_are_taken():
    y = np.array([0, 1, 1, 0])
    X = np.column_stack([np.zeros(4), [0.0, 1, 1, 0], [0.0, 1, 1, 0], [1.0, 0, 0, 1]])
    stump = ORStump().fit(X, y)
    assert (stump.feature_, stump.direction_) == (1, 1)
    even = ORStump().fit(np.array([[0.0], [1.0]] * 2), [0, 0, 1, 1])  # both directions, and both constants, cost 2
    assert (even.direction_, even.thresholds_.tolist()) == (1, [-np.inf])


def test_rows_that_lack_a_feature_have_the_lowest_of_equally_cheap_grades():
    X = np.array([[np.nan], [np.nan], [0.0], [1.0], [2.0]])
    stump = ORStump().fit(X, [0, 2, 0, 1, 2])
    assert stump.missing_ == 0


def test_a_ranker_of_weight_0_decides_where_no_other_votes():
    class Lowest(ORStump):
        """Says the lowest grade always."""

        def _grade(self, features):
            return np.zeros(features.shape[0], int)

    X, y = np.arange(4.0)[:, None], [0, 1, 0, 1]
    model = AdaBoostOR(Lowest(), n_estimators=1).fit(X, y)
    assert model.rounds_[0].weight == 0
    assert model.predict(X).tolist() == [0] * 4
