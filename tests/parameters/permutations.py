"""Parameters of the models of permutations."""

import warnings

import numpy as np
import pytest

from parameters import changing, table
from podium import LinearPlackettLuce, Mallows, PlackettLuce, PodiumError

CYCLE = [[1, 2, 3, 4], [2, 3, 1], [3, 1], [4, 1], [2, 4]]


def fit(estimator, **changed):
    """A fit of rows in queries, or of rankings of items."""
    if estimator is LinearPlackettLuce:
        X, y, qid = table()
        return estimator(**changed).fit(X, y, qid=qid)
    return estimator(**changed).fit(CYCLE)


def weights_of(model):
    return model.coef_ if isinstance(model, LinearPlackettLuce) else model.strengths_


@changing("alpha", PlackettLuce, LinearPlackettLuce)
def a_penalty_shrinks_all_weights(estimator):
    sizes = [np.linalg.norm(weights_of(fit(estimator, alpha=alpha))) for alpha in (0.01, 1.0, 100.0)]
    assert sizes[0] > sizes[1] > 2 * sizes[2]


@changing("tol", PlackettLuce, LinearPlackettLuce)
def a_wide_tolerance_stops_early(estimator):
    rough, fine = fit(estimator, tol=0.5, alpha=0.01), fit(estimator, tol=1e-9, alpha=0.01)
    assert rough.n_iter_ < fine.n_iter_
    np.testing.assert_allclose(weights_of(rough), weights_of(fine), atol=0.5)


@changing("max_iter", PlackettLuce, LinearPlackettLuce)
def more_steps_are_not_taken(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert fit(estimator, max_iter=2, alpha=0.01).n_iter_ == 2
    assert fit(estimator, alpha=0.01).n_iter_ > 2


@changing("unranked", PlackettLuce)
def items_that_are_not_named_are_absent_or_below(estimator):
    absent, below = fit(estimator), fit(estimator, unranked="below")
    assert np.abs(absent.strengths_ - below.strengths_).max() > 0.05
    shares = np.exp(below.strengths_) / np.exp(below.strengths_).sum()
    assert absent.probability([1]) == pytest.approx(1.0)  # the one item that there was to choose
    assert below.probability([1]) == pytest.approx(shares[0])


@changing("standard_errors", PlackettLuce)
def they_are_computed_or_left_out(estimator):
    assert len(fit(estimator).standard_errors_) == 4
    assert not hasattr(fit(estimator, standard_errors=False), "standard_errors_")


@changing("search", Mallows)
def groups_are_ordered_exactly_or_by_moves(estimator):
    circle = [[*range(turn, 22), *range(turn)] for turn in range(22)]
    auto, local = estimator().fit(circle), estimator(search="local").fit(circle)
    assert not auto.exact_
    assert not local.exact_
    with pytest.raises(PodiumError, match="at most 20 items"):
        estimator(search="exact").fit(circle)
    small = [[*range(turn, 5), *range(turn)] for turn in range(5)]
    assert estimator().fit(small).exact_
    assert estimator(search="exact").fit(small).exact_
    assert not estimator(search="local").fit(small).exact_  # its bound is looser
