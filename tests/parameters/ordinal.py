"""Parameters of the ordinal rankers."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from parameters import changing, fitted, made, rounds_of, stump_of, table
from podium import (
    MART,
    SVOR,
    AdaBoostOR,
    BaggingOR,
    ExtendedBinary,
    ORBoost,
    OrdinalThresholds,
    ORStump,
    PRank,
)
from podium.rankers.ordinal_ranker import OrdinalData
from podium.rankers.svor import C_GRID
from reference.ordinal_peers import kernel_value, ranking_perceptron

LOPSIDED = np.array([[0.0, 1, 2, 9], [5, 0, 1, 2], [9, 4, 0, 3], [9, 9, 9, 0]])
"""Costs of four grades, V-shaped; too low a grade costs more."""
COSTS = {
    "absolute": np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0))),
    "squared": np.subtract.outer(np.arange(4.0), np.arange(4.0)) ** 2,
    "zero-one": 1 - np.eye(4),
}


def few():
    """Fewer rows, for kernels."""
    return tuple(part[:36] for part in table())


@changing("cost", AdaBoostOR, BaggingOR, ORBoost, ORStump, PRank, SVOR, OrdinalThresholds, ExtendedBinary)
def costs_by_name_and_by_matrix_are_those_of_the_rows(estimator):
    """A cost says what `sample_cost` says row by row, and is what `score` measures."""
    X, y, _ = few() if estimator is SVOR else table()
    more = {ExtendedBinary: {"estimator": LogisticRegression()}, OrdinalThresholds: {"folds": None}, SVOR: {"tol": 0.1}}
    changed = more.get(estimator, {})
    by_name = {}
    for cost in (*COSTS, "lopsided"):
        matrix = COSTS.get(cost, LOPSIDED)
        given = LOPSIDED if cost == "lopsided" else cost
        model = made(estimator, **changed, cost=given).fit(X, y)
        same = made(estimator, **changed).fit(X, y, sample_cost=matrix[y.astype(int)])
        np.testing.assert_array_equal(model._score(X), same._score(X))
        grades = model.predict(X)
        np.testing.assert_array_equal(grades, same.predict(X))
        assert model.score(X, y) == pytest.approx(-np.mean(matrix[y.astype(int), grades.astype(int)]))
        by_name[cost] = grades
    default = made(estimator, **changed).fit(X, y)
    np.testing.assert_array_equal(default.predict(X), by_name["absolute"])
    assert np.any(by_name["lopsided"] != by_name["absolute"])


@changing("estimator", AdaBoostOR, BaggingOR)
def the_base_is_cloned_for_each_vote(estimator):
    base = PRank(epochs=2, variant="prank")
    model = fitted(estimator, estimator=base)
    bases = model.estimators_ if estimator is BaggingOR else [done.ranker for done in model.rounds_]
    assert {(type(one), one.epochs, one.variant) for one in bases} == {(PRank, 2, "prank")}
    assert not hasattr(base, "coef_")
    plain = fitted(estimator)
    default = plain.estimators_ if estimator is BaggingOR else [done.ranker for done in plain.rounds_]
    assert {type(one) for one in default} == {ORStump}
    assert rounds_of(plain) == rounds_of(fitted(estimator, estimator=ORStump()))


@changing("random_state", AdaBoostOR)
def the_seeds_of_the_bases_are_drawn_from_it(estimator):
    def seeds(seed):
        model = fitted(estimator, estimator=PRank(epochs=2), random_state=seed)
        return [done.ranker.random_state for done in model.rounds_]

    assert seeds(3) == seeds(3)
    assert len(set(seeds(3)) | set(seeds(4))) == 8


@changing("random_state", BaggingOR)
def a_seed_draws_the_same_rows_each_time(estimator):
    fits = [fitted(estimator, random_state=seed, n_estimators=6) for seed in (3, 3, 4)]
    assert rounds_of(fits[0]) == rounds_of(fits[1]) != rounds_of(fits[2])
    assert len({str(one) for one in rounds_of(fits[0])}) > 1
    assert [model.seed_ for model in fits] == [3, 3, 4]


@changing("learning_rate", ORBoost)
def the_first_weight_is_multiplied_by_it(estimator):
    whole, part = (fitted(estimator, learning_rate=rate).rounds_ for rate in (1.0, 0.25))
    assert part[0].alpha == 0.25 * whole[0].alpha
    assert (part[0].feature, part[0].threshold) == (whole[0].feature, whole[0].threshold)
    assert part[0].Z > whole[0].Z


@changing("variant", ORBoost)
def left_right_has_the_margins_next_to_the_grade_alone(estimator):
    left_right = fitted(estimator, variant="left-right", n_estimators=6)
    same = fitted(estimator, cost="zero-one", n_estimators=6)  # whose costs rise next to the grade alone
    assert rounds_of(left_right) == rounds_of(same) != rounds_of(fitted(estimator, n_estimators=6))
    np.testing.assert_array_equal(left_right.thresholds_, same.thresholds_)


@changing("max_bins", ORBoost)
def a_feature_has_so_many_thresholds(estimator):
    few, free = (fitted(estimator, n_estimators=16, max_bins=most).rounds_ for most in (3, None))
    assert max(len({d.threshold for d in few if d.feature == f}) for f in range(4)) <= 3
    assert max(len({d.threshold for d in free if d.feature == f}) for f in range(4)) > 3


@changing("estimator", ExtendedBinary)
def the_classifier_is_a_clone(estimator):
    base = LogisticRegression(C=0.125)
    model = fitted(estimator, estimator=base)
    assert (type(model.estimator_), model.estimator_.C) == (LogisticRegression, 0.125)
    assert not hasattr(base, "coef_")
    assert type(fitted(estimator).estimator_).__name__ == "HistGradientBoostingClassifier"


@changing("encoding", ExtendedBinary)
def k_stands_as_a_unit_vector_or_a_number(estimator):
    base = LogisticRegression()
    one_hot, number = (fitted(estimator, estimator=base, encoding=name) for name in ("one-hot", "number"))
    assert one_hot.estimator_.n_features_in_ == 4 + 3
    assert number.estimator_.n_features_in_ == 4 + 1
    X = table()[0]
    for k in range(3):
        codes = np.column_stack([X, np.tile(np.eye(3)[k], (96, 1))]), np.column_stack([X, np.full(96, k + 1.0)])
        for model, rows in zip((one_hot, number), codes, strict=True):
            np.testing.assert_array_equal(model.binary_values(X)[:, k], model.estimator_.predict(rows))


class Counted(MART):
    """Trees that count their fits and the rows of each."""

    rows = []  # noqa: RUF012

    def fit(self, X, y, **given):
        self.rows.append(len(X))
        return super().fit(X, y, **given)


@changing("estimator", OrdinalThresholds)
def the_scores_are_those_of_a_clone(estimator, monkeypatch):
    X, y, _ = table()
    base = MART(3, max_leaves=3, min_child_samples=4)
    model = fitted(estimator, estimator=base)
    alone = clone(base).fit(X, y + 1)
    np.testing.assert_array_equal(model.estimator_.predict(X), alone.predict(X))
    assert not hasattr(base, "rounds_")
    monkeypatch.setattr("podium.rankers.ordinal_thresholds.MART", lambda: MART(7, max_leaves=2))
    assert len(fitted(estimator, estimator=None, folds=None).estimator_.trees_) == 7


@changing("folds", OrdinalThresholds)
def cuts_come_from_folds_or_all_rows_or_another_fit(estimator):
    X, y, _ = table()
    base = Counted(2, max_leaves=3, min_child_samples=4)
    thresholds = {}
    for folds, fits in ((4, [96, 72, 72, 72, 72]), (None, [96]), ("prefit", [])):
        given = clone(base).fit(X, y + 1) if folds == "prefit" else base
        Counted.rows.clear()
        model = fitted(estimator, estimator=given, folds=folds)
        assert Counted.rows[:1] + sorted(Counted.rows[1:]) == pytest.approx(fits, abs=2)
        thresholds[folds] = model.thresholds_.tolist()
        if folds == "prefit":
            assert model.estimator_ is given
    assert thresholds[None] == thresholds["prefit"] != thresholds[4]
    stump = ORStump().fit(model.estimator_.predict(X)[:, None], y)
    assert stump_of(stump)[2] == thresholds[None]


def check_perceptron(model, single, epochs, seed, costs=COSTS["absolute"]):
    """The ranking perceptron in plain form on the draws of a seed has the same weights."""
    X, y, _ = table()
    order = OrdinalData.from_arrays(X, y).rows
    rows, grades = ((X - X.mean(axis=0)) / X.std(axis=0))[order], y[order].astype(int)
    own = costs[grades]
    limits = np.cumsum(own.max(axis=1))
    places = np.searchsorted(limits, np.random.default_rng(seed).random(96 * epochs) * limits[-1], side="right")
    weights, thresholds, cost = ranking_perceptron(rows.tolist(), grades.tolist(), own.tolist(), places, single)
    np.testing.assert_allclose(model.coef_, weights)
    np.testing.assert_allclose(model.thresholds_, thresholds)
    assert model.training_cost_ == pytest.approx(cost)


@changing("variant", PRank)
def one_threshold_moves_or_all_that_are_wrong(estimator):
    check_perceptron(fitted(estimator, variant="siprank"), True, 3, 0)
    check_perceptron(fitted(estimator, variant="prank"), False, 3, 0)


@changing("epochs", PRank)
def each_epoch_draws_as_many_rows_as_there_are(estimator):
    for epochs in (1, 5):
        check_perceptron(fitted(estimator, epochs=epochs), True, epochs, 0)


@changing("random_state", PRank)
def the_rows_are_drawn_by_the_seed(estimator):
    for seed in (3, 4):
        model = fitted(estimator, random_state=seed)
        check_perceptron(model, True, 3, seed)
        assert model.seed_ == seed


def check_machine(model, kernel, gamma):
    """Scores are the kernel's values with the support vectors, and each weight is within its price."""
    X, _y, _ = few()
    rows = (X - X.mean(axis=0)) / X.std(axis=0)
    values = [[kernel_value(row, other, kernel, gamma) for other in model.support_vectors_] for row in rows[:12]]
    np.testing.assert_allclose(model._score(X[:12]), np.array(values) @ model.dual_coef_, rtol=1e-5, atol=1e-7)


@changing("kernel", SVOR)
def scores_are_sums_of_the_kernel(estimator):
    for kernel in ("perceptron", "rbf", "linear"):
        model = fitted(estimator, few(), kernel=kernel)
        check_machine(model, kernel, 0.25)
        assert model.score(few()[0], few()[1]) > -0.7


@changing("gamma", SVOR)
def the_radial_kernel_is_so_narrow(estimator):
    for gamma, meant in ((None, 0.25), (2.0, 2.0)):
        check_machine(fitted(estimator, few(), kernel="rbf", gamma=gamma), "rbf", meant)


@changing("C", SVOR)
def errors_cost_so_much(estimator):
    least, twice = (fitted(estimator, few(), C=C, tol=1e-8) for C in (1e-7, 2e-7))
    X = few()[0]
    np.testing.assert_allclose(twice._score(X), 2 * least._score(X), rtol=1e-3)  # all weights at their limits
    prices = [fitted(estimator, few(), C=C) for C in (0.01, 0.1, 10.0)]
    assert [model.C_ for model in prices] == [0.01, 0.1, 10.0]
    errors = [model.training_error_ for model in prices]
    assert errors[0] > errors[1] > errors[2]
    smallest = fitted(estimator, few(), C="smallest")
    assert smallest.C_ in C_GRID
    assert smallest.training_error_ <= 0.3


@changing("target_error", SVOR)
def the_smallest_price_reaches_that_error(estimator):
    last = 0.0
    for target in (0.3, 0.1):
        model = fitted(estimator, few(), C="smallest", target_error=target)
        below = C_GRID[C_GRID.index(model.C_) - 1]
        assert model.training_error_ <= target < fitted(estimator, few(), C=below).training_error_
        assert last < model.C_
        last = model.C_


@changing("tol", SVOR)
def sweeps_go_on_until_the_gap_is_as_small(estimator):
    loose, tight = (fitted(estimator, few(), tol=tol) for tol in (0.1, 1e-5))
    assert tight.gap_ <= 1e-5 < loose.gap_ <= 0.1
    assert loose.n_iter_ < tight.n_iter_
    assert fitted(estimator, few(), C="smallest", tol=1e-5).gap_ <= 1e-5


@changing("max_iter", SVOR)
def no_more_sweeps_are_made(estimator):
    with pytest.warns(ConvergenceWarning, match="SVOR stopped after 2 sweeps"):
        model = fitted(estimator, few(), max_iter=2, tol=1e-12)
    assert model.n_iter_ == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fitted(estimator, few()).n_iter_ > 2


@changing("cache_size", SVOR)
def so_many_rows_of_the_kernel_are_kept(estimator, monkeypatch):
    from podium.rankers import svor

    kept = []

    class Noted(svor.ExtendedMachine):
        def __init__(self, *given):
            super().__init__(*given)
            kept.append(self.matrix.shape)

    monkeypatch.setattr(svor, "ExtendedMachine", Noted)
    scores = [fitted(estimator, few(), cache_size=size).predict(few()[0]) for size in (500, 0, 0.004)]
    assert kept == [(36, 36), (0, 36), (27, 36)]  # 4 bytes a value
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[2])


@changing("random_state", SVOR)
def rows_are_swept_in_an_order_of_the_seed(estimator):
    fits = [fitted(estimator, few(), random_state=seed) for seed in (3, 3, 4)]
    np.testing.assert_array_equal(fits[0]._score(few()[0]), fits[1]._score(few()[0]))
    assert fits[0].gap_ == fits[1].gap_ != fits[2].gap_
    np.testing.assert_allclose(fits[0]._score(few()[0]), fits[2]._score(few()[0]), atol=0.3)
