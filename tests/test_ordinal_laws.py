"""Ordinal rankers × laws: order, storage, files, labels, scikit-learn's own checks, bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from podium import (
    MART,
    SVOR,
    AdaBoostOR,
    BaggingOR,
    ExtendedBinary,
    ORBoost,
    OrdinalThresholds,
    PodiumError,
    PRank,
    load,
)

RANKERS = [
    PRank(epochs=60),
    PRank("prank", epochs=60),
    SVOR(1.0),
    SVOR("smallest", kernel="rbf", target_error=0.1),
    SVOR(0.1, kernel="linear"),
    ORBoost(15),
    ORBoost(15, variant="left-right", max_bins=None),
    OrdinalThresholds(MART(n_estimators=5, max_leaves=4, min_child_samples=5)),
    AdaBoostOR(PRank(epochs=20), n_estimators=3),
    AdaBoostOR(SVOR("smallest"), n_estimators=2),
    BaggingOR(n_estimators=15),
    BaggingOR(PRank(epochs=20), n_estimators=3),
    BaggingOR(OrdinalThresholds(MART(n_estimators=3, max_leaves=4, min_child_samples=5), folds=2), n_estimators=2),
]
each_ranker = pytest.mark.parametrize("ranker", RANKERS, ids=lambda r: " ".join(str(r).split()))

DRAWN = "rows are drawn at random, and a repeated row draws other ones"


def checks_that_cannot_apply(estimator):
    """Reason for each check of scikit-learn that contradicts what a ranker does."""
    kinds = ("dense", "sparse") if isinstance(estimator, PRank | BaggingOR) else ()
    return {f"check_sample_weight_equivalence_on_{kind}_data": DRAWN for kind in kinds}


@parametrize_with_checks(
    [
        PRank(epochs=200),
        SVOR(),
        ORBoost(5),
        OrdinalThresholds(MART(n_estimators=3, min_child_samples=1), folds=2),
        ExtendedBinary(DecisionTreeClassifier(random_state=0), encoding="number"),
        BaggingOR(ORBoost(5), n_estimators=5),
    ],
    expected_failed_checks=checks_that_cannot_apply,
)
def test_classifier_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (120, 4)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0], nan=2.5) + np.nan_to_num(X[:, 1], nan=2.5) + rng.normal(0, 1, 120)
    return X, np.digitize(y, [3.0, 5.0, 7.0])


@each_ranker
def test_row_order_changes_no_bit(ranker, table):
    X, y = table
    order = np.random.default_rng(1).permutation(120)
    one = clone(ranker).fit(X, y)
    two = clone(ranker).fit(X[order], y[order])
    np.testing.assert_array_equal(one.predict_rank(X), two.predict_rank(X))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


@each_ranker
def test_tiny_weights_give_the_model_of_their_ratios(ranker, table):
    weight = np.arange(1, 121) % 7 / 8
    one, two = (clone(ranker).fit(*table, sample_weight=weight * tiny) for tiny in (1.0, 2.0**-600))
    np.testing.assert_array_equal(two.predict(table[0]), one.predict(table[0]))


@each_ranker
def test_storage_of_features_changes_nothing(ranker, table):
    X, y = table
    X = X + 1
    expected = clone(ranker).fit(X, y).predict(X)
    for given in (np.asfortranarray(X), X.astype(np.float32), sp.csr_array(np.nan_to_num(X))):
        np.testing.assert_array_equal(clone(ranker).fit(given, y).predict(given), expected)


@each_ranker
def test_saving_and_loading_change_nothing(ranker, table, tmp_path):
    X, y = table
    fitted = clone(ranker).fit(X, np.array(["a", "b", "c", "d"])[y])
    fitted.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert type(loaded) is type(fitted)
    assert str(loaded.get_params()) == str(fitted.get_params())
    missing = int(np.isnan(X).sum())
    counts = {"rows": 120, "queries": 0, "features": 4, "grades": 4, "pairs": 0, "missing": missing}
    assert loaded.training_summary_ == counts
    for name in ("seed_", "stop_reason_", "evals_result_", "best_iteration_"):
        assert getattr(loaded, name, None) == getattr(fitted, name, None)
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(loaded.predict_rank(X), fitted.predict_rank(X))


LAWFUL = [
    *RANKERS[2:7],
    ORBoost(15, max_bins=4),
    ORBoost(15, variant="left-right", max_bins=4),
    OrdinalThresholds(MART(n_estimators=5, max_leaves=4, min_child_samples=1)),
    OrdinalThresholds(MART(n_estimators=5, max_leaves=4, min_child_samples=1, max_bins=4), folds=2),
    ExtendedBinary(DecisionTreeClassifier(random_state=0, max_depth=3), encoding="number"),
    AdaBoostOR(n_estimators=5),
    AdaBoostOR(SVOR("smallest", target_error=0.2), n_estimators=1),
]
"""All but those that draw rows at random, of which a row of twice the weight is not the row twice."""


@pytest.mark.parametrize("ranker", LAWFUL, ids=lambda r: " ".join(str(r).split()))
def test_a_weight_of_rows_equals_the_rows_as_often(ranker):
    rng = np.random.default_rng(4)
    X = np.round(rng.normal(size=(60, 3)), 2)
    y = np.digitize(X[:, 0] + X[:, 1] + rng.normal(0, 0.5, 60), [-1.0, 0.0, 1.0])
    times = np.where(X[:, 0] > 0.4, 5, rng.integers(1, 3, 60))
    exact = clone(ranker).set_params(tol=1e-9) if isinstance(ranker, SVOR) else clone(ranker)
    weighted = clone(exact).fit(X, y, sample_weight=times)
    repeated = clone(exact).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    rtol = 1e-4 if "SVOR" in str(ranker) else 1e-9  # kernel values are float32, and sweeps end near the optimum
    np.testing.assert_allclose(weighted.predict_rank(X), repeated.predict_rank(X), rtol=rtol, atol=rtol)
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


@each_ranker
def test_labels_of_any_ordered_kind_come_back_as_given(ranker, table):
    X, y = table
    expected = clone(ranker).fit(X, y).predict(X)
    for labels in (np.array([-2.5, 0.0, 1.0, 70.0]), np.array(["bad", "fair", "good", "great"])):
        np.testing.assert_array_equal(clone(ranker).fit(X, labels[y]).predict(X), labels[expected])


@each_ranker
def test_ranker_finds_the_signal(ranker, table):
    X, y = table
    constant = np.abs(np.median(y) - y).mean()
    assert -clone(ranker).fit(X, y).score(X, y) < 0.8 * constant


@each_ranker
def test_a_failed_fit_leaves_the_fitted_ranker_as_it_was(ranker, table):
    X, y = table
    fitted = clone(ranker).fit(X, y)
    before = fitted.predict(X)
    with pytest.raises(PodiumError, match="at least two grades"):
        fitted.fit(X[:, :2], np.zeros(120))
    np.testing.assert_array_equal(fitted.predict(X), before)


@each_ranker
def test_costs_that_are_no_costs_are_refused(ranker, table):
    X, y = table
    row = int(np.argmax(y == 0))
    costs = np.abs(y[:, None] - np.arange(4.0))
    for wrong, message in (([0, 1, 3, 2], "V-shaped"), ([0, 1, -1, 2], "not negative")):
        costs[row] = wrong
        with pytest.raises(PodiumError, match=f"{message}.*; row {row} "):
            clone(ranker).fit(X, y, sample_cost=costs)


@pytest.mark.parametrize("ranker", [PRank(epochs=5), SVOR()])
def test_values_too_large_to_compute_with_are_refused(ranker, table):
    X, y = table
    with pytest.raises(PodiumError, match=r"within ±1e\+100.*feature 2 does not"):
        clone(ranker).fit(np.where(np.arange(4) == 2, 1e200, X), y)
