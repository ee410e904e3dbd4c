"""AdaBoost.OR by parts as a cluster's workers have them: any partitioning of the rows gives the local model."""

import numpy as np
import pytest
import scipy.sparse as sp

from parts import run_parts
from podium import AdaBoostOR, ORStump, PodiumError
from podium._exchange import ALONE
from podium.binning import shared_sparse_bins
from podium.rankers.shared_stumps import share_rows, shared_boosting

N_ROUNDS = 8


@pytest.fixture(scope="module")
def rows():
    """Return rows with weights that are no powers of two, some equal and some of weight 0, and missing values."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 7)).round(1)
    y = np.digitize(np.nan_to_num(X[:, 0]) + X[:, 3] + 0.5 * rng.normal(size=300), [-1.0, 0.0, 1.2]).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    weight = rng.random(300) * 3
    weight[rng.random(300) < 0.05] = 0.0
    return np.concatenate([X, X[:20]]), np.concatenate([y, y[:20]]), np.concatenate([weight, weight[:20]])


def partitions(n):
    """Return the rows of each part: one part, 2 and 7 at random, more parts than features, one row alone."""
    rng = np.random.default_rng(1)
    found = [[np.arange(n)]]
    for n_parts in (2, 7, 9):
        owner = rng.integers(0, n_parts, n)
        owner[:n_parts] = np.arange(n_parts)
        found.append([np.flatnonzero(owner == part) for part in range(n_parts)])
    return [*found, [np.array([5]), np.delete(np.arange(n), 5)]]


def story(rounds):
    return [(one.epsilon, one.weight, *one.ranker.stump_.__dict__.values()) for one in rounds]


def assert_same(found, expected):
    for one, other in zip(story(found), story(expected), strict=True):
        for first, second in zip(one, other, strict=True):
            np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("cost", ["absolute", "squared"])
def test_any_partitioning_of_the_rows_gives_the_local_rounds(rows, cost):
    X, y, weight = rows
    local = AdaBoostOR(n_estimators=N_ROUNDS, cost=cost).fit(X, y, sample_weight=weight)
    assert len(local.rounds_) == N_ROUNDS
    assert len({one.ranker.feature_ for one in local.rounds_}) > 1

    def own(part, exchange):
        shared = share_rows(X[part], None, y[part], weight[part], cost, exchange)
        boosting = shared_boosting(ORStump(), shared, exchange, 1)
        rounds = [boosting.step(number + 1) for number in range(4)]
        resumed = shared_boosting(ORStump(), shared, exchange, 1)
        for round_ in rounds:
            resumed.replay(round_)
        rounds += [resumed.step(number + 1) for number in range(4, N_ROUNDS)]
        return rounds, shared.summary, resumed.train_costs

    for parts in partitions(len(y)):
        for found, summary, costs in run_parts(own, parts):
            assert_same(found, local.rounds_)
            assert summary == local.training_summary_ == found[0].ranker.training_summary_
            share = np.array(costs) / local.train_costs_
            np.testing.assert_allclose(share, share[0], rtol=1e-14)


@pytest.mark.parametrize("features_a_message", [2, 4096])
def test_sparse_rows_in_parts_give_the_local_rounds(rows, monkeypatch, features_a_message):
    monkeypatch.setattr(shared_sparse_bins, "MOST_FEATURES", features_a_message)
    X, y, weight = rows
    stored = ~np.isnan(X) & (np.random.default_rng(4).random(X.shape) < 0.6)
    stored[:, 5] = False  # a feature that no row has
    sparse = sp.csr_array((X[stored], np.nonzero(stored)), X.shape)
    local = AdaBoostOR(n_estimators=4).fit(sparse, y, sample_weight=weight)

    def own(part, exchange):
        shared = share_rows(sp.csc_array(sparse[part]), None, y[part], weight[part], "absolute", exchange)
        boosting = shared_boosting(ORStump(), shared, exchange, 1)
        return [boosting.step(number + 1) for number in range(4)], shared.summary

    for parts in partitions(len(y)):
        for found, summary in run_parts(own, parts):
            assert_same(found, local.rounds_)
            assert summary == local.training_summary_


@pytest.mark.parametrize(
    ("cost", "message"), [("absolute", "at least two grades"), (np.zeros((4, 4)), "nothing to learn")]
)
def test_rows_of_one_grade_or_without_costs_are_refused(rows, cost, message):
    X, y, weight = rows
    labels = np.ones(len(y)) if isinstance(cost, str) else y
    with pytest.raises(PodiumError, match=message):
        share_rows(X, None, labels, weight, cost, ALONE)


def test_other_bases_are_not_replayed(rows):
    X, y, weight = rows

    def own(part, exchange):
        shared = share_rows(X[part], None, y[part], weight[part], "absolute", exchange)
        return shared_boosting(ORStump(), shared, exchange, 1).learner.replay(AdaBoostOR())

    with pytest.raises(PodiumError, match="Only ORStumps can be learned by several parts; got AdaBoostOR"):
        run_parts(own, partitions(320)[0])
