"""Cut points on the scores of rankers: exact, cross-validated, with queries, prefit."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge

from podium import MART, AdaBoostOR, LambdaMART, OrdinalThresholds, PodiumError, RankBoost, load
from reference.ordinal import best_stump, stump_cost


class FirstColumn(BaseEstimator):
    """A ranker whose scores are a feature."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, 0]

    def __sklearn_is_fitted__(self):
        return True


def sample(seed=0, n_rows=120):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    return X, np.digitize(X[:, 0] + 0.3 * rng.normal(size=n_rows), [-0.8, 0.0, 0.8])


@pytest.mark.plain
@pytest.mark.parametrize("cost", ["absolute", "squared", "zero-one"])
@pytest.mark.parametrize("folds", [2, None, "prefit"])
def test_cut_points_are_the_cheapest(cost, folds):
    """Scores that do not depend on the fit are cut alike by every way."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 6, (12, 1)).astype(float)
    y = np.append(rng.integers(0, 3, 9), [0, 1, 2])
    model = OrdinalThresholds(FirstColumn(), folds=folds, cost=cost).fit(X, y)
    power = {"absolute": 1, "squared": 2, "zero-one": 0}[cost]
    costs = np.where(y[:, None] == np.arange(3), 0.0, np.abs(y[:, None] - np.arange(3.0)) ** power).tolist()
    lowest = stump_cost(X.tolist(), costs, *best_stump(X.tolist(), costs))
    assert -model.score(X, y) * 12 == pytest.approx(lowest)


@pytest.mark.plain
def test_grades_that_fall_with_the_scores_turn_them_round():
    X, y = sample()
    model = OrdinalThresholds(FirstColumn(), folds=None).fit(-X, y)
    assert model.direction_ == -1
    assert np.corrcoef(model.predict_rank(-X), y)[0, 1] > 0.8
    assert -model.score(-X, y) < 0.3


@pytest.mark.parametrize(
    "estimator",
    [
        RankBoost(n_estimators=20),
        MART(n_estimators=20, min_child_samples=5),
        LambdaMART(n_estimators=20, min_child_samples=5, truncation=None),
        Ridge(),
        None,
    ],
)
def test_rankers_become_graders(estimator):
    X, y = sample(2)
    assert -OrdinalThresholds(estimator).fit(X, y).score(*sample(3)) < 0.45


def test_scores_of_rows_not_seen_give_other_cut_points_than_those_learned_by_heart():
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(150, 5)), rng.normal(size=150)
    y = np.digitize(X[:, 0] + 2 * noise, [-1.0, 1.0])
    heart = MART(n_estimators=200, min_child_samples=1, max_leaves=31)
    X_new, noise_new = rng.normal(size=(2000, 5)), rng.normal(size=2000)
    y_new = np.digitize(X_new[:, 0] + 2 * noise_new, [-1.0, 1.0])
    held_out, learned = (-OrdinalThresholds(heart, folds=folds).fit(X, y).score(X_new, y_new) for folds in (5, None))
    assert held_out < learned


@pytest.mark.plain
def test_folds_hold_whole_queries_and_the_estimator_learns_from_them():
    X, y = sample(4)
    qid = np.repeat(np.arange(12), 10)
    seen = []

    class Spy(FirstColumn):
        def fit(self, X, y, qid=None):
            seen.append((len(X), set(qid.tolist())))
            return self

    OrdinalThresholds(Spy(), folds=3).fit(X, y, qid=qid)
    assert seen[0] == (120, set(range(12)))
    assert [size for size, _ in seen[1:]] == [80, 80, 80]
    assert [len(queries) for _, queries in seen[1:]] == [8, 8, 8]


def test_row_and_query_order_change_no_bit():
    X, y = sample(5)
    qid = np.repeat(np.arange(12), 10)
    order = np.random.default_rng(0).permutation(120)
    model = OrdinalThresholds(RankBoost(n_estimators=8), folds=3)
    one = model.fit(X, y, qid=qid).predict_rank(X)
    cuts = model.thresholds_
    names = np.random.default_rng(1).permutation(12)
    np.testing.assert_array_equal(model.fit(X[order], y[order], qid=names[qid][order]).predict_rank(X), one)
    np.testing.assert_array_equal(model.thresholds_, cuts)


@pytest.mark.plain
def test_a_prefit_ranker_is_taken_as_it_is():
    X, y = sample(6)
    ranker = RankBoost(n_estimators=10).fit(X, y)
    model = OrdinalThresholds(ranker, folds="prefit").fit(*sample(7))
    assert model.estimator_ is ranker
    np.testing.assert_array_equal(model.predict_rank(X), ranker.predict(X))


def test_weights_go_to_the_estimator_and_to_the_costs():
    X, y = sample(8, 60)
    weight = np.where(np.arange(60) < 30, 1.0, 0.0)
    model = OrdinalThresholds(MART(n_estimators=5, min_child_samples=5), folds=None)
    one = model.fit(X, y, sample_weight=weight).predict_rank(X)
    np.testing.assert_array_equal(model.fit(X[:30], y[:30]).predict_rank(X), one)


@pytest.mark.plain
def test_saved_with_its_ranker(tmp_path):
    X, y = sample(9)
    model = OrdinalThresholds(RankBoost(n_estimators=5), folds=3).fit(X, y)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.estimator.n_estimators == 5
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.predict_rank(X), model.predict_rank(X))


def test_a_ranker_of_others_is_in_no_model_file(tmp_path):
    with pytest.raises(PodiumError, match="holds rankers of Podium only; Ridge is not one of them"):
        OrdinalThresholds(Ridge()).fit(*sample()).save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_it_can_be_boosted():
    X, y = sample(10)
    base = OrdinalThresholds(RankBoost(n_estimators=1), folds=None)
    assert AdaBoostOR(base, n_estimators=3).fit(X, y).train_costs_[-1] < 0.3


@pytest.mark.plain
def test_too_few_rows_for_the_folds_are_refused():
    X, y = sample(11, 8)
    with pytest.raises(PodiumError, match="folds=9 needs as many different rows; got 8"):
        OrdinalThresholds(RankBoost(), folds=9).fit(X, y)
    with pytest.raises(PodiumError, match="folds=5 needs as many queries; got 2"):
        OrdinalThresholds(RankBoost()).fit(X, y, qid=[0, 0, 0, 0, 1, 1, 1, 1])
