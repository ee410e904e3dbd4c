"""Parameters, weights and costs of ordinal rankers: each of them is heeded, from fit to score."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from podium import SVOR, AdaBoostOR, BaggingOR, ExtendedBinary, ORBoost, OrdinalThresholds, ORStump, PodiumError, PRank

pytestmark = pytest.mark.plain

ASYMMETRIC = np.array([[0.0, 1, 5, 5], [1, 0, 4, 9], [2, 1, 0, 0.5], [7, 3, 3, 0]])
"""V-shaped, and not the costs of its transpose."""


def sample(seed=0, n_rows=60, n_grades=4):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n_rows, 3)), 2)
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] + rng.normal(0, 0.6, n_rows), np.linspace(-1, 1, n_grades - 1))
    y[:n_grades] = np.arange(n_grades)
    return X, y


ROUNDS = [AdaBoostOR(n_estimators=12), ORBoost(12)]
each_booster = pytest.mark.parametrize("booster", ROUNDS, ids=lambda r: type(r).__name__)
EVERY = [
    *ROUNDS,
    ORBoost(12, variant="left-right"),
    ORStump(),
    PRank(epochs=5),
    SVOR(0.1, kernel="linear"),
    BaggingOR(n_estimators=4),
]
each_ranker = pytest.mark.parametrize("ranker", EVERY, ids=lambda r: " ".join(str(r).split()))


@each_ranker
def test_a_cost_matrix_is_read_by_rows_of_the_true_grade(ranker):
    X, y = sample()
    one = clone(ranker).set_params(cost=ASYMMETRIC).fit(X, y)
    two = clone(ranker).fit(X, y, sample_cost=ASYMMETRIC[y])
    np.testing.assert_array_equal(one.predict_rank(X), two.predict_rank(X))
    paid = ASYMMETRIC[y, one.predict(X)]
    assert one.score(X, y) == pytest.approx(-paid.mean())
    assert two.score(X, y, sample_cost=ASYMMETRIC[y]) == pytest.approx(-paid.mean())
    weight = np.arange(60.0)
    assert one.score(X, y, sample_weight=weight) == pytest.approx(-np.average(paid, weights=weight))


@pytest.mark.parametrize("cost", ["absolute", "squared", "zero-one"])
@each_ranker
def test_a_cost_by_name_is_that_function_of_the_distance(ranker, cost):
    X, y = sample(1)
    distance = np.abs(np.subtract.outer(y, np.arange(4))).astype(float)
    costs = {"absolute": distance, "squared": distance**2, "zero-one": (distance > 0).astype(float)}[cost]
    one, two = clone(ranker).set_params(cost=cost).fit(X, y), clone(ranker).fit(X, y, sample_cost=costs)
    np.testing.assert_array_equal(one.predict_rank(X), two.predict_rank(X))
    assert one.score(X, y) == pytest.approx(-costs[np.arange(60), one.predict(X)].mean())


@pytest.mark.parametrize("cost", ["squared", "zero-one", ASYMMETRIC], ids=["squared", "zero-one", "own"])
@each_booster
def test_evaluation_sets_are_measured_by_the_cost_of_the_fit(booster, cost):
    X, y = sample(2)
    X_new, y_new = sample(3)
    costs = ASYMMETRIC
    if isinstance(cost, str):
        distance = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
        costs = distance**2 if cost == "squared" else distance > 0
    model = clone(booster).set_params(cost=cost).fit(X, y, eval_set=[(X, y), (X_new, y_new)])
    for number, (rows, grades) in enumerate(((X, y), (X_new, y_new))):
        expected = [costs[grades, predicted].mean() for predicted in model.staged_predict(rows)]
        np.testing.assert_allclose(model.evals_result_[f"validation_{number}"]["cost"], expected)


@each_booster
def test_evaluation_sets_are_measured_by_their_own_costs(booster):
    X, y = sample(2)
    X_new, y_new = sample(3)
    own = ASYMMETRIC[y_new] * np.random.default_rng(0).random((60, 1))
    model = clone(booster).fit(X, y, sample_cost=ASYMMETRIC[y], eval_set=[(X_new, y_new)], eval_cost=[own])
    expected = [own[np.arange(60), predicted].mean() for predicted in model.staged_predict(X_new)]
    np.testing.assert_allclose(model.evals_result_["validation_0"]["cost"], expected)
    with pytest.raises(PodiumError, match="With sample_cost give eval_cost too"):
        clone(booster).fit(X, y, sample_cost=ASYMMETRIC[y], eval_set=[(X_new, y_new)])


@each_booster
def test_early_stopping_uses_the_best_round_of_the_last_set_alone(booster):
    X, y = sample(4)
    X_new, y_new = sample(5)
    model = clone(booster).set_params(n_estimators=60, early_stopping_rounds=4)
    model.fit(X, y, eval_set=[(X, y), (X_new, y_new)])
    best, costs = model.best_iteration_, model.evals_result_["validation_1"]["cost"]
    assert best == 1 + np.argmin(costs)
    assert len(model.rounds_) == len(costs) == best + 4
    shorter = clone(booster).set_params(n_estimators=best).fit(X, y)
    np.testing.assert_array_equal(model.predict(X_new), shorter.predict(X_new))
    np.testing.assert_array_equal(model.predict_rank(X_new), shorter.predict_rank(X_new))
    np.testing.assert_array_equal(model.feature_importances_, shorter.feature_importances_)
    longer = clone(booster).set_params(n_estimators=best + 4).fit(X, y)
    assert np.any(longer.feature_importances_ != shorter.feature_importances_)


@each_booster
def test_stages_are_the_predictions_of_fewer_rounds_in_labels_of_the_fit(booster):
    X, y = sample(6)
    labels = np.array(["bad", "fair", "good", "great"])[y]
    staged = list(clone(booster).fit(X, labels).staged_predict(X))
    for n_rounds in (1, 5, 12):
        expected = clone(booster).set_params(n_estimators=n_rounds).fit(X, labels).predict(X)
        np.testing.assert_array_equal(staged[n_rounds - 1], expected)


def test_the_learning_rate_is_a_factor_of_every_alpha():
    X, y = sample(7)
    whole = ORBoost(1).fit(X, y).rounds_[0]
    for rate in (0.5, 0.1):
        part = ORBoost(3, learning_rate=rate).fit(X, y).rounds_
        assert part[0].alpha == pytest.approx(rate * whole.alpha, rel=1e-12)
        assert part[0].r == whole.r
        assert whole.Z < part[0].Z < 1


def test_max_bins_is_the_number_of_thresholds_and_has_a_default_above_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 1))
    y = np.digitize(np.sin(4 * X[:, 0]), [-0.5, 0.5])
    rounds = {n: ORBoost(20, max_bins=n).fit(X, y).rounds_ for n in (2, 5, 255, None)}
    cuts = {n: len({done.threshold for done in found}) for n, found in rounds.items()}
    assert cuts[2] <= 2 < cuts[5] <= 5 < cuts[None]
    assert [(d.threshold, d.alpha) for d in rounds[255]] == [(d.threshold, d.alpha) for d in rounds[None]]
    assert ORBoost().max_bins == 255


def test_quantiles_and_margins_of_orboost_heed_weights():
    X, y = sample(8)
    times = np.where(X[:, 0] > 0.3, 6, 1)
    for variant in ("all-margins", "left-right"):
        model = ORBoost(10, variant=variant, max_bins=4)
        one = clone(model).fit(X, y, sample_weight=times)
        two = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
        assert [done.threshold for done in one.rounds_] == [done.threshold for done in two.rounds_]
        np.testing.assert_allclose(one.predict_rank(X), two.predict_rank(X), rtol=1e-9)


def test_rounds_of_orboost_go_on_after_all_grades_are_right_and_widen_margins():
    X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    model = ORBoost(25).fit(X, [0, 1, 1, 2])
    costs = [np.abs(predicted - [0, 1, 1, 2]).sum() for predicted in model.staged_predict(X)]
    assert 0 in costs[:20]
    assert len(model.rounds_) == 25
    assert np.all(np.array([done.Z for done in model.rounds_]) < 1)


def test_rounds_of_orboost_end_once_the_loss_is_next_to_nothing(monkeypatch):
    X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    whole = ORBoost(25).fit(X, [0, 1, 1, 2])
    monkeypatch.setattr("podium.ordinal.margin_boosting.LEAST_LOSS", 1e-3)
    model = ORBoost(25).fit(X, [0, 1, 1, 2])
    assert model.stop_reason_ == "the loss has fallen to nothing"
    assert [done.alpha for done in model.rounds_] == [done.alpha for done in whole.rounds_[: len(model.rounds_)]]
    assert len(model.rounds_) < 25


@pytest.mark.parametrize("factor", [1e-300, 1e90])
def test_a_common_factor_of_all_costs_changes_no_round(factor):
    X, y = sample(9)
    costs = np.abs(np.subtract.outer(y, np.arange(4.0)))
    for ranker in ROUNDS:
        one, two = (clone(ranker).fit(X, y, sample_cost=costs * scale) for scale in (1.0, factor))
        np.testing.assert_allclose(one.predict_rank(X), two.predict_rank(X), rtol=1e-9)


def test_training_costs_are_parts_of_what_the_two_ends_cost():
    X, y = sample(10)
    model = AdaBoostOR(n_estimators=6, cost=ASYMMETRIC).fit(X, y)
    largest = np.sum(ASYMMETRIC[y, 0] + ASYMMETRIC[y, -1])
    expected = [ASYMMETRIC[y, predicted].sum() / largest for predicted in model.staged_predict(X)]
    np.testing.assert_allclose(model.train_costs_, expected)


class Flips(ORStump):
    """A base that answers a given number of rows wrongly, round after round."""

    wrong = ()
    rounds = 0

    def _learn_grades(self, data):
        super()._learn_grades(data)
        self._flipped = type(self).wrong[type(self).rounds]
        type(self).rounds += 1

    def _grade(self, features):
        right = (features[:, 0] >= 100).astype(int)
        return np.where(features[:, 0] % 100 < self._flipped, 1 - right, right)


def flips(*wrong):
    """Return such a class; of 200 rows, half of each grade, `wrong` are wrong in each grade."""
    return type("FlipsOnce", (Flips,), {"wrong": wrong})()


def test_a_base_just_above_one_half_ends_the_run_and_one_at_one_half_does_not():
    X, y = np.arange(200.0)[:, None], np.repeat([0, 1], 100)
    model = AdaBoostOR(flips(50, 20), n_estimators=2).fit(X, y)
    assert [done.epsilon for done in model.rounds_] == pytest.approx([0.5, 0.2])
    with pytest.warns(UserWarning, match=r"has epsilon 0\.5050, more than one half"):
        AdaBoostOR(flips(50.25), n_estimators=2).fit(X + 0.25 * y[:, None], y)
    ended = AdaBoostOR(flips(20, 99), n_estimators=5).fit(X, y)
    assert len(ended.rounds_) == 1
    assert "more than one half" in ended.stop_reason_


def test_an_epsilon_above_one_half_by_no_more_than_rounding_counts_as_one_half(monkeypatch):
    monkeypatch.setattr("podium.ordinal.vote_boosting.ROUNDING", 0.25)
    X, y = np.arange(200.0)[:, None], np.repeat([0, 1], 100)
    model = AdaBoostOR(flips(75), n_estimators=1).fit(X, y)
    assert [(done.epsilon, done.weight) for done in model.rounds_] == [(0.75, 0.0)]
    with pytest.warns(UserWarning, match=r"has epsilon 0\.7600, more than one half"):
        AdaBoostOR(flips(76), n_estimators=1).fit(X, y)


def test_bagged_random_rankers_have_seeds_of_their_own():
    X, y = sample(11)
    model = BaggingOR(PRank(epochs=1), n_estimators=5).fit(X, y)
    assert len({ranker.random_state for ranker in model.estimators_}) == 5


class Spy(BaseEstimator):
    """Notes what it is given, and says the lowest grade."""

    seen = ()

    def fit(self, X, y, sample_cost=None):
        type(self).seen += ((X, y, sample_cost),)
        self.lowest_ = np.unique(y)[0]
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.lowest_)


def test_rankers_of_other_making_have_the_cost_of_each_row_as_often_as_it_was_drawn():
    X, y = sample(12)
    weight = np.random.default_rng(0).uniform(0.5, 4.0, 60)
    Spy.seen = ()
    BaggingOR(Spy(), n_estimators=3).fit(X, y, sample_weight=weight)
    assert len(Spy.seen) == 3
    for _, labels, costs in Spy.seen:
        times = costs.sum(axis=1) / np.abs(np.subtract.outer(labels, np.arange(4))).sum(axis=1)
        np.testing.assert_allclose(times, np.round(times), atol=1e-9)
        assert times.sum() == pytest.approx(60)


def test_epochs_variant_and_seed_of_prank_are_heeded():
    X, y = sample(13)
    costs = [PRank(epochs=n).fit(X, y).training_cost_ for n in (1, 30)]
    assert costs[1] < costs[0]
    models = [PRank(v, epochs=3, random_state=s).fit(X, y) for v, s in (("siprank", 0), ("siprank", 1), ("prank", 0))]
    assert len({tuple(model.coef_) for model in models}) == 3
    assert (PRank().variant, PRank().epochs) == ("siprank", 2000)


class WeightSpy(BaseEstimator):
    """A binary classifier that notes what it is given."""

    seen = ()

    def fit(self, X, y, sample_weight=None):
        type(self).seen = (X, y, sample_weight)
        self.classes_ = np.array([-1, 1])
        return self

    def predict(self, X):
        return np.where(X[:, 0] > 0, 1, -1)


def test_a_binary_classifier_has_the_cost_steps_as_weights_and_the_thresholds_as_unit_vectors():
    X, y = sample(20)
    ExtendedBinary(WeightSpy(), cost=ASYMMETRIC).fit(X, y)
    rows, signs, weights = WeightSpy.seen
    assert rows.shape == (180, 6)
    grades = {tuple(row): grade for row, grade in zip(X.tolist(), y.tolist(), strict=True)}
    for row, sign, weight in zip(rows, signs, weights, strict=True):
        grade, k = grades[tuple(row[:3].tolist())], int(np.argmax(row[3:]))
        assert sorted(row[3:]) == [0, 0, 1]
        assert sign == (1 if k < grade else -1)
        assert weight == abs(ASYMMETRIC[grade, k + 1] - ASYMMETRIC[grade, k])


class FoldSpy(BaseEstimator):
    """A ranker by the first feature that notes what it learns from."""

    seen = ()

    def fit(self, X, y, group=None):
        type(self).seen += ((X, y, group),)
        return self

    def predict(self, X):
        return X[:, 0]


def test_folds_of_rows_are_dealt_out_by_grade_and_learned_without_themselves():
    X = np.arange(48.0)[:, None]
    y = np.repeat([0, 1, 2, 3], [24, 12, 8, 4])
    FoldSpy.seen = ()
    OrdinalThresholds(FoldSpy(), folds=4).fit(X, y)
    first, *folds = FoldSpy.seen
    assert len(first[0]) == 48
    for rows, ranks, group in folds:
        assert np.bincount(ranks).tolist() == [0, 18, 9, 6, 3]
        assert group == [36] == [len(rows)]
    left_out = np.concatenate([np.setdiff1d(X[:, 0], rows[:, 0]) for rows, _, _ in folds])
    assert sorted(left_out) == X[:, 0].tolist()


def test_equal_rows_stand_in_one_fold_and_as_many_rows_as_folds_are_enough():
    X, y = np.arange(8.0)[:, None], [0, 0, 0, 0, 1, 1, 1, 1]
    FoldSpy.seen = ()
    OrdinalThresholds(FoldSpy(), folds=8).fit(X, y)
    assert [len(rows) for rows, _, _ in FoldSpy.seen] == [8] + [7] * 8
    FoldSpy.seen = ()
    OrdinalThresholds(FoldSpy(), folds=8).fit(np.repeat(X, 3, axis=0), np.repeat(y, 3))
    assert [len(rows) for rows, _, _ in FoldSpy.seen] == [24] + [21] * 8
    assert [len(np.unique(rows)) for rows, _, _ in FoldSpy.seen] == [8] + [7] * 8


@pytest.mark.parametrize(
    ("ranker", "name"),
    [
        (AdaBoostOR(early_stopping_rounds=0), "early_stopping_rounds"),
        (AdaBoostOR(n_estimators=0), "n_estimators"),
        (ORBoost(early_stopping_rounds=0), "early_stopping_rounds"),
        (ORBoost(0), "n_estimators"),
        (ORBoost(learning_rate=0.0), "learning_rate"),
        (ORBoost(learning_rate=1.01), "learning_rate"),
        (ORBoost(max_bins=1), "max_bins"),
        (ORBoost(max_bins=256), "max_bins"),
        (ORBoost(variant="left"), "variant"),
        (PRank("perceptron"), "variant"),
        (PRank(epochs=0), "epochs"),
        (SVOR(0.0), "C"),
        (SVOR("largest"), "C"),
        (SVOR(kernel="poly"), "kernel"),
        (SVOR(gamma=0.0), "gamma"),
        (SVOR(target_error=1.01), "target_error"),
        (SVOR(tol=0.0), "tol"),
        (SVOR(max_iter=0), "max_iter"),
        (SVOR(cache_size=-1), "cache_size"),
        (OrdinalThresholds(folds=1), "folds"),
        (ExtendedBinary(encoding="one"), "encoding"),
    ],
    ids=lambda given: " ".join(str(given).split()),
)
def test_parameters_out_of_bounds_are_refused_by_name(ranker, name):
    with pytest.raises(PodiumError, match=f"'{name}'|{name} must"):
        ranker.fit(*sample(21, 20))


@pytest.mark.parametrize(
    ("ranker", "expected"),
    [
        (AdaBoostOR(), {"n_estimators": 1000, "cost": "absolute", "early_stopping_rounds": None, "random_state": 0}),
        (BaggingOR(), {"n_estimators": 100, "cost": "absolute", "random_state": 0}),
        (ORBoost(), {"n_estimators": 1000, "variant": "all-margins", "learning_rate": 1.0, "max_bins": 255}),
        (PRank(), {"variant": "siprank", "epochs": 2000, "random_state": 0}),
        (
            SVOR(),
            {"C": 1.0, "kernel": "perceptron", "gamma": None, "target_error": 0.3, "tol": 1e-3, "random_state": 0},
        ),
        (SVOR(), {"max_iter": 2000, "cache_size": 500}),
        (OrdinalThresholds(), {"folds": 5}),
        (ExtendedBinary(), {"encoding": "one-hot"}),
    ],
    ids=lambda given: type(given).__name__,
)
def test_defaults_are_those_of_the_docs(ranker, expected):
    assert {name: ranker.get_params()[name] for name in expected} == expected


@each_ranker
def test_costs_and_weights_are_given_by_name_alone_and_rows_and_grades_by_name_too(ranker):
    X, y = sample(22)
    with pytest.raises(TypeError, match="positional argument"):
        clone(ranker).fit(X, y, ASYMMETRIC[y])
    one, two = clone(ranker).fit(X, y), clone(ranker).fit(y=y, X=X)
    np.testing.assert_array_equal(one.predict_rank(X), two.predict_rank(X))
