"""Leaves learned anew on other data: what stays, what changes, weights and constraints."""

import numpy as np
import pytest

from podium import PodiumError, make_search
from podium.measures import measure_queries
from podium.rankers.lambdamart import MART, LambdaMART


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (240, 5)).astype(float)
    X[rng.random(X.shape) < 0.15] = np.nan
    y = np.digitize(np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1], nan=3) + rng.integers(0, 3, 240), [5, 8, 10])
    return X, y.astype(float), np.repeat(np.arange(20), 12)


def ndcg(model, X, y, qid):
    offsets = np.concatenate([[0], np.cumsum(np.unique(qid, return_counts=True)[1])])
    return measure_queries("ndcg@10", y, model.predict(X), offsets).mean


def test_refit_on_the_same_data_changes_nothing_and_on_other_data_something(table):
    X, y, qid = table
    model = LambdaMART(4, min_child_samples=3).fit(X, y, qid=qid)
    before = model.predict(X)
    np.testing.assert_allclose(model.refit(X, y, qid=qid, decay=0.0).predict(X), before, rtol=1e-9)
    model.refit(X, 3 - y, qid=qid, decay=0.0)
    assert np.corrcoef(model.predict(X), before)[0, 1] < 0
    with pytest.raises(PodiumError, match="decay must be from 0 to 1"):
        model.refit(X, y, decay=2)


def test_refit_leaves_alone_what_no_new_row_reaches(table):
    X, y, qid = table
    model = MART(4, min_child_samples=3, reg_lambda=5.0).fit(X, y, qid=qid)
    before = [tree.value for tree in model.trees_]
    few = X[:, 0] < 2
    leaf = [tree.with_values(np.arange(float(tree.n_leaves))).predict(X[few]).astype(int) for tree in model.trees_]
    model.refit(X[few], 3 - y[few], qid=qid[few], decay=0.3)
    for old, tree, reached in zip(before, model.trees_, leaf, strict=True):
        alone = ~np.isin(np.arange(tree.n_leaves), reached)
        assert alone.any()
        np.testing.assert_array_equal(tree.value[alone], old[alone])
        assert (tree.value[~alone] != old[~alone]).all()


@pytest.mark.parametrize("reg_lambda", [0.0, 2.0])
@pytest.mark.parametrize("decay", [0.0, 0.6])
@pytest.mark.parametrize("part", ["all", "some"])
def test_a_constrained_model_stays_monotone_after_refit(part, decay, reg_lambda):
    data, rng = make_search(n_queries=30, random_state=0), np.random.default_rng(3)
    n_features = data.X.shape[1]
    limits = {"monotone_constraints": [1, -1] + [0] * (n_features - 2), "reg_lambda": reg_lambda}
    model = MART(8, min_child_samples=5, **limits).fit(data.X, data.y)
    before = model.predict(data.X)
    rows = slice(None) if part == "all" else np.nan_to_num(data.X[:, 0]) < np.nanmedian(data.X[:, 0])
    against = data.y.max() - data.y + rng.normal(size=len(data.y))
    model.refit(data.X[rows], against[rows], decay=decay)
    assert not np.allclose(model.predict(data.X), before)
    for base in data.X[:20]:
        for feature, sign in ((0, 1), (1, -1)):
            grid = np.tile(base, (200, 1))
            grid[:, feature] = np.linspace(np.nanmin(data.X[:, feature]), np.nanmax(data.X[:, feature]), 200)
            assert np.all(sign * np.diff(model.predict(grid)) >= -1e-12)  # sums of trees are rounded


def test_refit_of_a_constrained_model_on_the_same_data_changes_nothing():
    data = make_search(n_queries=30, random_state=0)
    limits = {"monotone_constraints": [1, -1] + [0] * (data.X.shape[1] - 2), "reg_lambda": 1.0, "quantized": False}
    model = MART(8, min_child_samples=5, **limits).fit(data.X, data.y)
    before = model.predict(data.X)
    np.testing.assert_allclose(model.refit(data.X, data.y, decay=0.0).predict(data.X), before, rtol=1e-6)


def test_refit_counts_a_row_of_weight_two_twice(table):
    X, y, qid = table
    weight = 1.0 + (np.arange(240) % 3 == 0)
    twice = np.repeat(np.arange(240), weight.astype(int))
    models = [MART(4, min_child_samples=3).fit(X, y, qid=qid) for _ in range(2)]
    models[0].refit(X, 3 - y, qid=qid, sample_weight=weight)
    models[1].refit(X[twice], 3 - y[twice], qid=qid[twice])
    np.testing.assert_allclose(models[0].predict(X), models[1].predict(X), rtol=1e-9)
