"""The λ of nets and their way through the net, against formulas written pair by pair (LM 2); LM is Burges 2010."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neural_samples import graded
from peers import peer
from podium.data import Pairs, both_ways
from podium.losses import LambdaLoss
from podium.neural import (
    GradedCost,
    ListedCost,
    Net,
    NetShape,
    NetTraining,
    PairCost,
    QueryBatches,
    TiedCost,
    Training,
)
from podium.neural.query_batches import Batch
from profiles import examples
from reference import neural as plain

SINGLE = {"rtol": 2e-5, "atol": 2e-5}
"""λ is computed in single precision."""


def whole(feedback):
    """All queries as one batch."""
    return QueryBatches(feedback, feedback.parts[0].offsets, 10**6, 0).batch_of(np.arange(len(feedback.offsets) - 1))


@pytest.mark.plain
class TestCost:
    def test_equal_scores_cost_log_2(self):
        for target in (0.0, 0.3, 0.5, 1.0):
            assert plain.pair_cost(0.0, target) == pytest.approx(math.log(2))

    def test_far_apart_the_cost_is_linear_or_nothing(self):
        assert plain.pair_cost(-800.0, sigma=2.0) == pytest.approx(1600.0)
        assert plain.pair_cost(800.0, sigma=2.0) == pytest.approx(0.0, abs=1e-300)
        assert plain.pair_cost(3.0, 0.0) == pytest.approx(plain.pair_cost(-3.0, 1.0))

    @pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0])
    def test_the_gradient_of_one_pair_is_that_of_its_cost(self, sigma):
        one = graded([1, 0], [2])
        for gap in (-4.0, -0.5, 0.0, 0.7, 2.0):
            scores, step = np.array([gap, 0.0]), 1e-6
            found = GradedCost(LambdaLoss(one, "none", None, sigma)).loss.gradient_of(np.array([0]), scores)
            slope = (plain.pair_cost(gap + step, sigma=sigma) - plain.pair_cost(gap - step, sigma=sigma)) / (2 * step)
            np.testing.assert_allclose(found, [slope, -slope], rtol=1e-4, atol=2e-5)


@pytest.mark.plain
@given(st.integers(0, 10**6))
@examples(40, plain=4)
def test_summed_lambdas_are_those_of_the_pairs(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, 3)
    y, queries = rng.integers(0, 3, sizes.sum()), np.repeat(np.arange(3), sizes)
    scores, sigma, ties = rng.normal(size=len(y)), 0.5 + 2 * rng.random(), 0.7
    feedback = graded(y, sizes)
    parts = [GradedCost(LambdaLoss(feedback, "none", None, sigma)), TiedCost(feedback, ties, sigma)]
    found = PairCost(parts, len(y), feedback.query_weight).gradient(whole(feedback), scores)
    expected = plain.lambdas(plain.pairs_of(y, queries, ties), scores, sigma) / 3
    np.testing.assert_allclose(found, expected, **SINGLE)
    assert abs(found.sum()) < 1e-4


@pytest.mark.plain
@given(st.integers(0, 10**6))
@examples(40, plain=4)
def test_a_measured_probability_is_two_pairs(seed):
    rng = np.random.default_rng(seed)
    better, worse = np.array([0, 1, 3, 2]), np.array([1, 2, 0, 3])
    weight, chance = rng.random(4) + 0.1, rng.choice([0.0, 0.25, 0.5, 1.0], 4)
    scores = rng.normal(size=4)
    pairs = Pairs(*both_ways((better, worse, weight, chance)))
    assert pairs.weight.sum() == pytest.approx(weight.sum())
    batch = Batch(np.array([0]), np.arange(4))
    found = PairCost([ListedCost(pairs, np.array([0, 4]), 1.5)], 4, np.ones(1)).gradient(batch, scores)
    expected = plain.lambdas(zip(better, worse, chance, weight, strict=True), scores, 1.5)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.plain
class TestWayThroughTheNet:
    def training(self, hidden, feedback, rows, batch_size=10**6, dropout=0.0, **how):
        cost = PairCost([GradedCost(LambdaLoss(feedback, "none", None, 1.0))], len(rows), feedback.query_weight)
        batches = QueryBatches(feedback, feedback.offsets, batch_size, 0)
        given = Training(**{"optimizer": "sgd", "learning_rate": 1.0, "learning_rate_decay": 1.0, "weight_decay": 0.0,
                            "dropout": dropout, "seed": 3, **how})  # fmt: skip
        shape = NetShape(rows.shape[1], (), hidden)
        return NetTraining(rows, np.empty((len(rows), 0), np.int64), cost, batches, shape, given)

    @pytest.mark.parametrize("hidden", [(), (4,), (5, 3)])
    def test_one_way_for_all_pairs_gives_the_gradient_of_pair_by_pair(self, hidden):
        torch, rng = peer("torch"), np.random.default_rng(0)
        sizes, rows = [6, 5], rng.normal(size=(11, 3))
        y, queries = rng.integers(0, 3, 11), np.repeat([0, 1], sizes)
        training = self.training(hidden, graded(y, sizes), rows)
        before = Net(training.shape, training.weights.numpy().copy())
        after = training.step(1).net.weights
        parts = plain.pair_by_pair_gradients(torch, before.layers, rows, plain.pairs_of(y, queries), 1.0)
        expected = np.concatenate([part.ravel() for part in parts]) / 2  # of two queries
        np.testing.assert_allclose(before.weights - after, expected, rtol=2e-3, atol=3e-6)

    def test_each_batch_has_a_gradient_of_its_own(self):
        peer("torch")
        rng = np.random.default_rng(4)
        training = self.training((4,), graded(rng.integers(0, 3, 11), [6, 5]), rng.normal(size=(11, 3)), batch_size=1)
        gradients, batches = [], list(training.batches.of_epoch(1))
        training._move = lambda gradient, number: gradients.append(gradient.numpy().copy())
        training.step(1)
        training.batches = SimpleNamespace(of_epoch=lambda number: batches[1:])
        training.step(1)
        assert len(gradients) == 3
        np.testing.assert_array_equal(gradients[2], gradients[1])

    def test_the_net_scores_as_its_formula(self):
        rng = np.random.default_rng(1)
        shape = NetShape(4, ((3, 2),), (5, 3))
        net = Net(shape, rng.normal(size=shape.n_weights).astype(np.float32))
        numbers, codes = rng.normal(size=(7, 4)), rng.integers(0, 3, (7, 1))
        rows = np.concatenate([numbers, net.tables[0][codes[:, 0]]], axis=1)
        np.testing.assert_allclose(net.score(numbers, codes), plain.net_scores(net.layers, rows), rtol=1e-12)
        np.testing.assert_array_equal(net.score(numbers[:2], codes[:2]), net.score(numbers, codes)[:2])

    def test_first_weights_lie_within_one_over_the_root_of_the_inputs(self):
        shape = NetShape(4, ((50, 9),), (100, 400))
        table, *layers = shape.split(shape.start(5))
        assert np.linalg.norm(table, axis=1).mean() == pytest.approx(1.0, abs=0.1)
        for part, inputs in zip(layers, (13, 13, 100, 100, 400), strict=True):
            bound = 1 / np.sqrt(inputs)
            assert 0.9 * bound < np.abs(part).max() <= bound
            assert part.std() == pytest.approx(bound / np.sqrt(3), rel=0.2)
        assert not np.array_equal(shape.start(5), shape.start(6))

    def test_adam_is_that_of_its_paper(self):
        rng = np.random.default_rng(2)
        rows, y = rng.normal(size=(8, 3)), rng.integers(0, 3, 8)
        mine = self.training((4,), graded(y, [8]), rows, optimizer="adam", learning_rate=0.01, weight_decay=0.1)
        plain_descent = self.training((4,), graded(y, [8]), rows)
        weights, mean, square = mine.weights.numpy().copy(), 0.0, 0.0
        for number in (1, 2, 3):
            plain_descent.weights = mine.torch.from_numpy(weights.astype(np.float32))
            gradient = weights - plain_descent.step(number).net.weights  # at rate 1
            weights, mean, square = plain.adam(weights, gradient, mean, square, number, 0.01, 0.1)
            found = mine.step(number).net.weights
        np.testing.assert_allclose(found, weights, rtol=1e-3, atol=2e-5)

    def test_units_left_out_are_made_up_for(self):
        rows = np.ones((400, 1))
        training = self.training((200,), graded(np.arange(400) % 2, [400]), rows, dropout=0.4)
        from podium.neural.net_training import _TorchNet

        net = _TorchNet(training.torch, training.shape, training.weights, (0.4, training._dropout(1)[1]))
        none = _TorchNet(training.torch, training.shape, training.weights, (0.0, None))
        scores = net.scores(training.numbers, training.codes).detach().numpy()
        whole = none.scores(training.numbers, training.codes).detach().numpy()
        assert scores.std() > 0.0
        assert scores.mean() == pytest.approx(whole[0], abs=4 * float(scores.std()) / 20)
