"""Parameters of RankSVM, RankRLS and PlugInRanker."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from parameters import changing, fitted, table
from parameters.shared import check_score
from podium import PlugInRanker, RankRLS, RankSVM

BOTH = (RankSVM, RankRLS)


def size(model):
    """Length of the weights of scaled features."""
    X, _, _ = table()
    weights = model.coefs_ if hasattr(model, "coefs_") else model.coef_ * X.std(axis=0)
    return float(np.linalg.norm(weights))


@changing("C", RankSVM, PlugInRanker)
def a_weaker_penalty_lets_weights_grow(estimator):
    assert size(fitted(estimator, C=0.1)) < size(fitted(estimator, C=10.0))


@changing("alpha", RankRLS)
def a_larger_alpha_shrinks_weights(estimator):
    assert size(fitted(estimator, alpha=1.0)) < size(fitted(estimator, alpha=0.01))


@changing("penalty", RankSVM)
def l1_leaves_features_out_that_l2_weighs(estimator):
    used = {name: np.count_nonzero(fitted(estimator, penalty=name, C=3.0).coef_) for name in ("l2", "l1", "mcp", "log")}
    assert used["l2"] == 4 > used["l1"] >= max(used["mcp"], used["log"]) > 0


@changing("theta", RankSVM)
def a_concave_penalty_of_large_theta_is_l1(estimator):
    l1 = fitted(estimator, penalty="l1", C=10.0).coef_
    for name in ("mcp", "log"):
        far, near = (fitted(estimator, penalty=name, C=10.0, theta=theta).coef_ for theta in (1e6, 0.3))
        np.testing.assert_allclose(far, l1, atol=1e-4)
        assert np.abs(near).max() > 1.05 * np.abs(l1).max()


@changing("kernel", *BOTH)
def a_kernel_bends_the_score(estimator):
    X, _, _ = table()
    straight = fitted(estimator)
    assert np.ptp(straight.predict(X) - X @ straight.coef_) < 1e-9
    for kernel in ("rbf", "laplacian"):
        scores = fitted(estimator, kernel=kernel).predict(X)
        rest = scores - np.c_[X, np.ones(len(X))] @ np.linalg.lstsq(np.c_[X, np.ones(len(X))], scores, rcond=None)[0]
        assert rest.std() > 0.05 * scores.std()


@changing("gamma", *BOTH)
def a_narrow_kernel_knows_its_rows_alone(estimator):
    X, _, _ = table()
    narrow, wide = (fitted(estimator, kernel="rbf", gamma=gamma) for gamma in (1e3, 1e-3))
    assert np.abs(narrow.predict(X + 0.5)).max() < 1e-6 * np.abs(narrow.predict(X)).max()
    assert np.abs(wide.predict(X + 0.5)).max() > 0.1 * np.abs(wide.predict(X)).max()
    default, quarter = (fitted(estimator, kernel="rbf", gamma=gamma) for gamma in (None, 0.25))
    np.testing.assert_array_equal(default.predict(X), quarter.predict(X))


@changing("scale", *BOTH, PlugInRanker)
def without_it_the_unit_of_a_feature_matters(estimator):
    X, y, qid = table()
    other = X * [1.0, 100.0, 0.01, 1.0]
    for scale in (True, False):
        one, two = (fitted(estimator, (rows, y, qid), scale=scale).predict(rows) for rows in (X, other))
        assert np.allclose(one, two, atol=1e-4) == scale


@changing("pair_weight", *BOTH)
def queries_weigh_as_much_however_long_they_are(estimator):
    X, y, qid = table()
    longer = np.r_[np.arange(96), np.tile(np.arange(8), 5)]
    one = fitted(estimator, pair_weight="queries", scale=False)
    two = fitted(estimator, (X[longer], y[longer], qid[longer]), pair_weight="queries", scale=False)
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-5)
    by_pairs = fitted(estimator, (X[longer], y[longer], qid[longer]), scale=False)
    assert np.abs(by_pairs.coef_ - one.coef_).max() > 1e-3


@changing("tol", RankSVM)
def the_fit_goes_on_until_it_is_met(estimator):
    rough, fine = (fitted(estimator, tol=tol, C=30.0) for tol in (0.1, 1e-9))
    assert fine.n_iter_ > rough.n_iter_
    assert fine.violation_ <= 1e-9 < rough.violation_ <= 0.1


@changing("tol", PlugInRanker)
def a_rough_fit_ends_elsewhere(estimator):
    X, _, _ = table()
    rough, fine, finer = (fitted(estimator, tol=tol).predict(X) for tol in (10.0, 1e-8, 1e-10))
    np.testing.assert_allclose(fine, finer, atol=1e-5)
    assert np.abs(rough - fine).max() > 1e-3


@changing("max_iter", RankSVM, PlugInRanker)
def the_fit_ends_after_so_many_steps_and_warns(estimator):
    with pytest.warns(ConvergenceWarning):
        fitted(estimator, max_iter=1, C=30.0)


@changing("warm_start", RankSVM)
def a_second_fit_begins_where_the_first_ended(estimator):
    X, y, qid = table()
    steps = [fitted(estimator, warm_start=warm).fit(X, y, qid=qid).n_iter_ for warm in (True, False)]
    assert steps[0] == 0 < steps[1]


@changing("eval_metric", *BOTH, PlugInRanker)
def score_is_the_first_measure(estimator):
    check_score(fitted(estimator, eval_metric=["ndcg@10", "map"]), "ndcg@10", +1)
    check_score(fitted(estimator), "pair_loss", -1)
