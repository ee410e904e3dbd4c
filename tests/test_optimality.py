"""The test of local optimality: its bound, its laws, and the rankers it takes."""

import sys
from math import comb
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from peers import peer
from podium import PodiumError, PreferenceRegression, RankNet, blend, evaluate, local_optimality
from podium.evaluation.optimality import directions_needed, rise_bound
from podium.evaluation.weight_space import _Linear


def data(seed=0, n_queries=12, size=8, n_features=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * size, n_features))
    y = np.digitize(X @ np.arange(1.0, n_features + 1) + 2 * rng.normal(size=len(X)), [0, 2]).astype(float)
    return X, y, np.repeat(np.arange(n_queries), size)


def linear(weights):
    return SimpleNamespace(coef_=np.asarray(weights, float))


class Tensor:
    """As much of a torch tensor of float32 as is used."""

    def __init__(self, values, requires_grad=False):
        self.values, self.requires_grad = np.array(values, np.float32), requires_grad

    data = property(lambda self: self)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype)

    def detach(self):
        return self

    cpu = detach

    def clone(self):
        return Tensor(self.values)

    def new_tensor(self, values):
        assert not isinstance(values, Tensor)
        return Tensor(values)

    def copy_(self, other):
        assert other.values.shape == self.values.shape
        self.values[...] = other.values


class Module:
    """A hidden layer as a torch module has it."""

    def __init__(self, n_features, seed=0, fails=False):
        rng = np.random.default_rng(seed)
        self.hidden = Tensor(rng.normal(size=(n_features, 4)), True)
        self.top = Tensor(rng.normal(size=4), True)
        self.frozen, self.training, self.fails = Tensor([1.0]), True, fails

    def parameters(self):
        return iter([self.hidden, self.top, self.frozen])

    def train(self, mode=True):
        self.training = mode

    def eval(self):
        self.train(False)

    def __call__(self, inputs):
        assert not self.training
        if self.fails:
            raise RuntimeError("no")
        return Tensor(network_scores(self.hidden.values, self.top.values, inputs.values)[:, None])


def network_scores(hidden, top, X):
    return np.tanh(X.astype(np.float32) @ hidden) @ top


@pytest.mark.plain
def test_how_many_directions_are_needed():
    """LM 4.2, Equation 9."""
    assert directions_needed(0.01, 0.99) == 459
    assert (1 - 0.01) ** 459 <= 0.01 < (1 - 0.01) ** 458


@pytest.mark.plain
@pytest.mark.parametrize("rises", [0, 1, 7, 59, 60])
def test_at_the_bound_so_few_rises_have_the_chance_left_over(rises):
    p = rise_bound(rises, 60, 0.95)
    chance = sum(comb(60, i) * p**i * (1 - p) ** (60 - i) for i in range(rises + 1))
    assert chance == pytest.approx(0.05 if rises < 60 else 1.0)
    assert rise_bound(0, 459, 0.99) == pytest.approx(1 - 0.01 ** (1 / 459))


@pytest.mark.plain
@pytest.mark.parametrize("measure", ["ndcg@5", "pair_loss"])
def test_no_direction_betters_the_best_weights_of_all(measure):
    """Two features, whose best weights `blend` knows exactly."""
    X, y, qid = data(n_features=2)
    best = blend(list(X.T), y, qid=qid, measure=measure, positive=False)
    result = local_optimality(linear(best.weights), X, y, qid=qid, measure=measure, n_directions=60)
    assert result.value == best.value
    assert result.is_optimum
    assert result.rises.tolist() == [0, 0, 0, 0]
    assert result.falls[-1] > 0
    np.testing.assert_allclose(result.bounds, 1 - 0.01 ** (1 / 60))


@pytest.mark.plain
@pytest.mark.parametrize("measure", ["ndcg@5", "pair_loss"])
def test_away_from_the_best_weights_a_better_direction_is_found(measure):
    X, y, qid = data()
    result = local_optimality(linear([1.0, 0.0, -1.0]), X, y, qid=qid, measure=measure, n_directions=60)
    assert not result.is_optimum
    assert result.rises[-1] > 10
    assert result.rises[-1] / 60 < result.bounds[-1] <= 1
    value = evaluate(y, X @ result.best_weights, qid=qid, measures=measure)[measure]
    assert value == pytest.approx(result.best_value, abs=1e-12)
    assert (value < result.value) if measure == "pair_loss" else (value > result.value)
    offsets, curve = result.curve
    assert curve[len(curve) // 2] == result.value
    assert offsets[[0, -1]].tolist() == [-0.3, 0.3]


@pytest.mark.plain
def test_moves_have_the_length_asked_for_and_every_direction_its_radii():
    X, y, qid = data()
    seen = []

    def scores(weights):
        seen.append(weights)
        return X @ weights

    start = np.array([3.0, 0.0, 4.0])
    result = local_optimality(scores, None, y, qid=qid, weights=start, n_directions=5, radii=[0.1, 0.2])
    moves = np.array(seen[1:11]) - start
    np.testing.assert_allclose(np.linalg.norm(moves, axis=1), [0.5, 1.0] * 5)
    np.testing.assert_allclose(moves[1::2], 2 * moves[::2])
    assert seen[0].tolist() == start.tolist()
    assert result.values.shape == (5, 2)
    for weights, value in zip(seen[1:11], result.values.ravel(), strict=True):
        assert value == evaluate(y, X @ weights, qid=qid, measures="ndcg@10")["ndcg@10"]


@pytest.mark.plain
def test_random_directions_have_no_preference():
    X, y, qid = data()
    seen = []
    local_optimality(lambda w: [seen.append(w), X @ w][1], None, y, qid=qid, weights=np.zeros(3), radii=[1.0])
    moves = np.array(seen[1:460])
    np.testing.assert_allclose(np.linalg.norm(moves, axis=1), 1)
    np.testing.assert_allclose(moves.T @ moves / 459, np.eye(3) / 3, atol=0.05)
    np.testing.assert_allclose(moves.mean(axis=0), 0, atol=0.1)


@pytest.mark.plain
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_a_linear_ranker_equals_its_function(make):
    X, y, qid = data()
    ranker = PreferenceRegression().fit(X, y, qid=qid)
    by_ranker = local_optimality(ranker, make(X), y, qid=qid, n_directions=20)
    by_function = local_optimality(lambda w: X @ w, None, y, qid=qid, weights=ranker.coef_, n_directions=20)
    np.testing.assert_allclose(by_ranker.values, by_function.values, atol=1e-12)
    assert by_ranker.value == evaluate(y, ranker.predict(X), qid=qid, measures="ndcg@10")["ndcg@10"]


@pytest.mark.plain
def test_absent_entries_of_a_sparse_matrix_are_refused_as_missing_values_are():
    X, y, qid = data()
    rows = np.where(X > 0, X, np.nan)
    stored = sp.csr_array(np.where(X > 0, X, 0.0))
    for given in (rows, stored):
        with pytest.raises(PodiumError, match="X must be finite here"):
            local_optimality(PreferenceRegression().fit(X, y, qid=qid), given, y, qid=qid)


def test_a_net_is_tested_at_its_own_weights():
    X, y, qid = data()
    net = RankNet(3, hidden=(4,)).fit(X, y, qid=qid)
    found = local_optimality(net, X, y, qid=qid, n_directions=5)
    assert found.value == evaluate(y, net.predict(X), qid=qid, measures="ndcg@10")["ndcg@10"]
    flat = local_optimality(net.weight_function(X), None, y, qid=qid, weights=0 * net.weights_, n_directions=5)
    assert found.value != flat.value


@pytest.mark.plain
def test_a_module_equals_its_function_and_is_left_as_it_was():
    X, y, qid = data()
    module = Module(3)
    before = module.hidden.values.copy(), module.top.values.copy()
    by_module = local_optimality(module, X, y, qid=qid, n_directions=20)

    def scores(weights):
        return network_scores(weights[:12].reshape(3, 4).astype(np.float32), weights[12:].astype(np.float32), X)

    start = np.concatenate([before[0].ravel(), before[1]])
    by_function = local_optimality(scores, None, y, qid=qid, weights=start, n_directions=20)
    np.testing.assert_array_equal(by_module.values, by_function.values)
    assert len(by_module.best_weights) == 16
    assert module.training
    assert module.frozen.values.tolist() == [1.0]
    for parameter, values in zip((module.hidden, module.top), before, strict=True):
        np.testing.assert_array_equal(parameter.values, values)


@pytest.mark.plain
def test_a_module_that_fails_is_left_as_it_was():
    X, y, qid = data()
    module = Module(3, fails=True)
    before = module.hidden.values.copy()
    with pytest.raises(RuntimeError, match="no"):
        local_optimality(module, X, y, qid=qid)
    assert module.training
    np.testing.assert_array_equal(module.hidden.values, before)


def test_a_torch_module_equals_the_linear_ranker():
    torch = peer("torch")
    X, y, qid = data()
    module = torch.nn.Linear(3, 1, bias=False, dtype=torch.float64)
    before = module.weight.detach().clone()
    by_module = local_optimality(module, X, y, qid=qid, n_directions=20)
    by_ranker = local_optimality(linear(before.numpy()), X, y, qid=qid, n_directions=20)
    np.testing.assert_allclose(by_module.values, by_ranker.values, atol=1e-12)
    assert torch.equal(module.weight, before)


@pytest.mark.plain
def test_rows_and_threads_change_nothing():
    X, y, qid = data()
    rows = np.random.default_rng(1).permutation(len(y))
    here = local_optimality(linear([1, 1, 0]), X, y, qid=qid, n_directions=15)
    there = local_optimality(linear([1, 1, 0]), X[rows], y[rows], qid=qid[rows], n_directions=15, n_jobs=2)
    np.testing.assert_array_equal(here.values, there.values)
    other = local_optimality(linear([1, 1, 0]), X, y, qid=qid, n_directions=15, random_state=1)
    assert (here.values != other.values).any()


@pytest.mark.plain
@pytest.mark.parametrize("cells", [1, 100, 700, 10**6])
@pytest.mark.parametrize("measure", ["ndcg@10", "pair_loss"])
def test_how_many_directions_are_measured_at_a_time_changes_nothing(cells, measure, monkeypatch):
    X, y, qid = data(n_queries=4)
    y[qid == 1] = 0.0  # queries of different numbers of pairs
    whole = local_optimality(linear([1, 1, 0]), X, y, qid=qid, measure=measure, n_directions=11, radii=[0.1, 0.4])
    most = []

    def scores(ranker, weights, inner=_Linear.scores):
        most.append(len(weights))
        return inner(ranker, weights)

    monkeypatch.setattr(sys.modules["podium.evaluation.optimality"], "SCORES_AT_ONCE", cells)
    monkeypatch.setattr(_Linear, "scores", scores)
    parts = local_optimality(linear([1, 1, 0]), X, y, qid=qid, measure=measure, n_directions=11, radii=[0.1, 0.4])
    np.testing.assert_array_equal(parts.values, whole.values)
    assert max(most[1:-1]) == max(2, min(cells // 32, 22) // 2 * 2)  # two radii of 32 rows; then comes the curve


@pytest.mark.plain
def test_many_weights_bound_the_directions_at_a_time_too(monkeypatch):
    X, y, qid = data(n_queries=1, size=4, n_features=50)
    most = []
    monkeypatch.setattr(sys.modules["podium.evaluation.optimality"], "SCORES_AT_ONCE", 100)
    inner = _Linear.scores
    monkeypatch.setattr(_Linear, "scores", lambda self, weights: [most.append(len(weights)), inner(self, weights)][1])
    local_optimality(linear(np.ones(50)), X, y, qid=qid, n_directions=6, radii=[0.1])
    assert most[1:-1] == [2, 2, 2]


@pytest.mark.plain
@pytest.mark.parametrize("n_threads", [1, 2, 3, 7])
@pytest.mark.parametrize("n_models", [1, 2, 3, 8])
def test_threads_score_all_weights(n_models, n_threads):
    rng = np.random.default_rng(n_models)
    X, weights = rng.normal(size=(5, 3)), rng.normal(size=(n_models, 3))
    ranker = _Linear(linear([1.0, 2.0, 3.0]), X, n_threads)
    np.testing.assert_allclose(ranker.scores(weights), weights @ X.T, rtol=1e-12)


@pytest.mark.plain
@pytest.mark.parametrize("training", [True, False])
def test_a_module_keeps_its_mode(training):
    X, y, qid = data()
    module = Module(3)
    module.train(training)
    local_optimality(module, X, y, qid=qid, n_directions=2)
    assert module.training == training


@pytest.mark.plain
def test_the_table_counts_the_directions():
    X, y, qid = data()
    result = local_optimality(linear([1, 2, 3]), X, y, qid=qid, n_directions=30, radii=[0.001, 0.5])
    lines = [line.split() for line in str(result).splitlines()]
    assert str(result).startswith(f"ndcg@10 {result.value:.4f}, 30 random directions")
    for line, radius, fall, rise in zip(lines[-2:], ("0.001", "0.5"), result.falls, result.rises, strict=True):
        assert line[:4] == [radius, str(fall), str(30 - fall - rise), str(rise)]
    for line, bound, changes in zip(lines[-2:], result.bounds, result.changes.T, strict=True):
        assert line[4:] == [f"{bound:.4f}", f"{changes.mean():+.5f}", f"{changes.max():+.5f}"]


@pytest.mark.plain
def test_wrong_input_is_refused():
    X, y, qid = data()
    missing = np.where(np.arange(3) == 1, np.nan, X)
    cases = [
        ({"X": None}, "A function of the weights needs weights and X=None"),
        ({"weights": [1, 2, 3]}, "any other ranker needs X alone"),
        ({"model": lambda w: w}, "A function of the weights needs weights and X=None"),
        ({"model": object()}, "model must be a fitted linear ranker"),
        ({"X": X[:, :2]}, "X must have 3 features, one for each of coef_; got 2"),
        ({"X": X[:5]}, "X must have one row per label: 96 expected, 5 given"),
        ({"X": missing}, "X must be finite here"),
        ({"n_directions": 0}, "n_directions must be an integer of at least 1"),
        ({"radii": [0.1, -0.1]}, "radii must be positive numbers"),
        ({"radii": []}, "radii must be positive numbers"),
        ({"confidence": 1.0}, "confidence must lie between 0 and 1"),
        ({"random_state": -1}, "random_state must be an integer"),
        ({"tie": "stable"}, "An option of the measure must be one of"),
        ({"y": np.zeros(len(y))}, "ndcg@10 is not defined here"),
    ]
    for changed, message in cases:
        with pytest.raises(PodiumError, match=message):
            local_optimality(**{"model": linear([1, 2, 3]), "X": X, "y": y, "qid": qid, **changed})
    with pytest.raises(PodiumError, match="scores must have one value per row"):
        local_optimality(lambda w: w, None, y, qid=qid, weights=[1.0, 2.0])
