"""Parameters of RSRank."""

import numpy as np

from parameters import changing, fitted, table
from parameters.shared import spied_threads
from podium import RSRank
from podium.data import RankingData
from podium.data.feedback import feedback_of
from podium.linear import HuberPairs


@changing("n_jobs", RSRank)
def so_many_threads_give_the_same_bits(estimator, monkeypatch):
    used, X = spied_threads(monkeypatch), table()[0]
    expected = fitted(estimator).predict(X)
    assert used == set()
    np.testing.assert_array_equal(fitted(estimator, n_jobs=3).predict(X), expected)
    assert used == {3}


def first_gradients(**given):
    """Slopes of the loss along the scaled features, where all scores are 0."""
    X, y, qid = table()
    data = RankingData.from_arrays(X, y, qid=qid)
    (graded,) = feedback_of(data).parts
    scaled = ((X - X.mean(axis=0)) / X.std(axis=0))[data.queries.rows]
    return HuberPairs(graded, **given).derivatives(np.zeros(len(y)))[0] @ scaled


def check_first_round(**given):
    """The first round is a truncated step along the feature of the largest promise."""
    X = table()[0]
    model = fitted(RSRank, n_estimators=1, alpha=0.0, **given)
    (line,) = [done.ranking for done in model.rounds_]
    given.pop("learning_rate", None)
    slopes = first_gradients(**given)
    assert np.sign(line.slope) == -np.sign(slopes[line.feature])
    # Along a feature the bound falls by slope²/(2 curvature), and the step is slope/curvature.
    step = line.slope * X[:, line.feature].std()
    return float(-step / slopes[line.feature]), line


@changing("alpha", RSRank)
def a_larger_alpha_leaves_features_out(estimator):
    used = [np.count_nonzero(fitted(estimator, n_estimators=100, alpha=alpha).coef_) for alpha in (0.0, 0.1, 0.3)]
    assert used[0] == 4 > used[1] >= used[2] > 0


@changing("importance", RSRank)
def pairs_weigh_by_ndcg_by_gains_or_alike(estimator):
    slopes = {one: first_gradients(importance=one) for one in ("ndcg", "gain", "none")}
    assert len({tuple(one.tolist()) for one in slopes.values()}) == 3
    for one in slopes:
        check_first_round(importance=one)


@changing("delta", RSRank)
def a_wider_corner_has_less_curvature(estimator):
    narrow, wide = (check_first_round(delta=delta)[0] for delta in (0.5, 2.0))
    np.testing.assert_allclose(wide, 4 * narrow)


@changing("gain", RSRank)
def labels_gain_by_powers_of_two_or_as_they_are(estimator):
    X = table()[0]
    powers = fitted(estimator, gain={label: 2.0**label - 1 for label in (0.0, 1.0, 2.0, 3.0)}).predict(X)
    np.testing.assert_allclose(powers, fitted(estimator).predict(X))
    linear = fitted(estimator, gain="linear").predict(X)
    np.testing.assert_allclose(linear, fitted(estimator, gain=lambda labels: labels).predict(X))
    assert np.abs(linear - powers).max() > 1e-3


@changing("learning_rate", RSRank)
def the_first_step_is_multiplied_by_it(estimator):
    whole, part = (check_first_round(learning_rate=rate) for rate in (1.0, 0.25))
    assert whole[1].feature == part[1].feature
    np.testing.assert_allclose(part[0], 0.25 * whole[0])
