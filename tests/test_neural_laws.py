"""Nets that rank: λ, their way through the net, batches, inputs, against formulas written pair by pair (LM 2)."""

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from peers import peer
from podium import LambdaMART, LambdaRank, PodiumError, RankNet, make_search
from podium.data import FeedbackSum, Graded, Pairs, both_ways
from podium.losses import LambdaLoss
from podium.neural import (
    GradedCost,
    ListedCost,
    Net,
    NetInputs,
    NetShape,
    NetTraining,
    PairCost,
    QueryBatches,
    TiedCost,
    Training,
)
from podium.neural.query_batches import Batch
from podium.neural.torch_thread import ONE_THREAD
from profiles import examples
from reference import neural as plain

SINGLE = {"rtol": 2e-5, "atol": 2e-5}
"""λ is computed in single precision."""


def graded(y, sizes, row_weight=None, query_weight=None):
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    rows = np.ones(len(y)) if row_weight is None else np.asarray(row_weight, float)
    queries = np.ones(len(sizes)) if query_weight is None else np.asarray(query_weight, float)
    return Graded(np.asarray(y, float), offsets, rows, queries)


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


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (([0], [1], None, [1.5]), "probability of a pair must be from 0 to 1; pair 0 has 1.5"),
        (([0, 1], [1, 2], None, [0.5, math.nan]), "pair 1 has nan"),
        (([0], [1], [1.0, 2.0], [0.5]), r"as many better .* got \(1,\), \(1,\), \(2,\), \(1,\)"),
        (([0], [1], None, ["often"]), "probability of pairs must be numbers"),
        (([0], [1], [0.0], [0.5]), "weight"),
        (([0], [9], None, [0.5]), "9"),
    ],
)
def test_bad_probabilities_are_refused(pairs, message):
    with pytest.raises(PodiumError, match=message):
        RankNet(1).fit(np.eye(3), pairs=pairs)


def test_a_net_of_judged_pairs_learns_the_probability():
    """One feature, one pair asked of four judges: the score difference is the logit of 3/4."""
    model = RankNet(200, hidden=(), learning_rate=0.1, learning_rate_decay=0.97, scale="standard")
    model.fit([[0.0], [1.0]], pairs=([1], [0], None, [0.75]))
    low, high = model.predict([[0.0], [1.0]])
    assert high - low == pytest.approx(math.log(3), rel=1e-3)


def test_ties_pull_scores_of_one_label_together():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y, qid = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(float), np.repeat(np.arange(8), 10)

    def spread(tie_weight):
        model = RankNet(60, hidden=(), tie_weight=tie_weight, pair_weight="pairs", learning_rate=0.05, scale="standard")
        scores = model.fit(X, y, qid=qid).predict(X)
        return np.mean([scores[(y == label) & (qid == q)].std() for label in (0, 1) for q in range(8)])

    assert spread(2.0) < 0.5 * spread(0.0)


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

    def test_the_net_scores_as_its_formula(self):
        rng = np.random.default_rng(1)
        shape = NetShape(4, ((3, 2),), (5, 3))
        net = Net(shape, rng.normal(size=shape.n_weights).astype(np.float32))
        numbers, codes = rng.normal(size=(7, 4)), rng.integers(0, 3, (7, 1))
        rows = np.concatenate([numbers, net.tables[0][codes[:, 0]]], axis=1)
        np.testing.assert_allclose(net.score(numbers, codes), plain.net_scores(net.layers, rows), rtol=1e-12)
        np.testing.assert_array_equal(net.score(numbers[:2], codes[:2]), net.score(numbers, codes)[:2])

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


@pytest.mark.plain
class TestBatches:
    @given(st.integers(0, 10**6))
    @examples(30, plain=5)
    def test_an_epoch_takes_each_query_with_pairs_once(self, seed):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(1, 5, 12)
        feedback = graded(rng.integers(0, 2, sizes.sum()), sizes)
        batches = QueryBatches(feedback, feedback.offsets, 3, seed)
        drawn = [list(batches.of_epoch(number)) for number in (1, 1, 2)]
        for epoch in drawn:
            queries = np.concatenate([np.empty(0, int), *(batch.queries for batch in epoch)])
            assert sorted(queries) == np.flatnonzero(feedback.pairs_per_query).tolist()
            assert all(len(batch.queries) <= 3 for batch in epoch)
            for batch in epoch:
                spans = [np.arange(feedback.offsets[q], feedback.offsets[q + 1]) for q in batch.queries]
                assert batch.rows.tolist() == np.concatenate(spans).tolist()
        assert [b.queries.tolist() for b in drawn[0]] == [b.queries.tolist() for b in drawn[1]]

    def test_queries_joined_by_pairs_stay_together(self):
        feedback = FeedbackSum((graded([0, 1] * 6, [2] * 6), Pairs(np.array([0, 5]), np.array([9, 7]), np.ones(2))))
        batches = QueryBatches(feedback, feedback.parts[0].offsets, 1, 0)
        found = sorted(batch.queries.tolist() for batch in batches.of_epoch(1))
        assert found == [[0, 4], [1], [2, 3], [5]]

    def test_the_order_of_batches_changes_from_epoch_to_epoch(self):
        feedback = graded([0, 1] * 20, [2] * 20)
        batches = QueryBatches(feedback, feedback.offsets, 5, 0)
        one, other = ([batch.queries.tolist() for batch in batches.of_epoch(number)] for number in (1, 2))
        assert one != other


@pytest.mark.plain
class TestInputs:
    def inputs(self, X, scale, weight=None, categories=None):
        X = np.asarray(X, float)
        known = np.full(X.shape[1], -1) if categories is None else np.array(categories)
        weight = np.ones(len(X)) if weight is None else np.asarray(weight, float)
        return NetInputs.of(X, np.arange(len(X)), weight, scale, known, "RankNet")

    @pytest.mark.parametrize("scale", ["gauss", "log1p", "standard"])
    def test_numbers_have_mean_0_and_deviation_1(self, scale):
        X = np.exp(np.random.default_rng(0).normal(size=(300, 3)) * [1, 3, 5])
        numbers = self.inputs(X, scale).numbers(X)
        np.testing.assert_allclose(numbers.mean(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(numbers.std(axis=0), 1, rtol=1e-9)

    def test_gauss_depends_on_ranks_alone_and_is_normal(self):
        X = np.random.default_rng(0).normal(size=(200, 1))
        one, other = self.inputs(X, "gauss").numbers(X), self.inputs(np.exp(5 * X), "gauss").numbers(np.exp(5 * X))
        np.testing.assert_allclose(one, other, atol=1e-9)
        ranks = np.argsort(np.argsort(X[:, 0]))
        expected = norm.ppf((ranks + 0.5) / 200)
        np.testing.assert_allclose(one[:, 0], expected / expected.std(), atol=1e-9)

    def test_gauss_of_many_values_keeps_their_order(self):
        X = np.random.default_rng(1).gamma(0.3, size=(5000, 1))
        inputs = self.inputs(X, "gauss")
        assert inputs.knots.offsets.tolist()[-1] <= 255
        order = np.argsort(X[:, 0])
        assert np.all(np.diff(inputs.numbers(X)[order, 0]) >= 0)
        far = inputs.numbers(np.array([[-1e300], [1e300]]))
        assert far.tolist() == [[inputs.numbers(X).min()], [inputs.numbers(X).max()]]

    def test_a_weight_is_the_row_as_often(self):
        X = np.random.default_rng(2).normal(size=(40, 2)).round(1)
        times = np.arange(40) % 3
        for scale in ("gauss", "log1p", "standard"):
            one, other = self.inputs(X, scale, times), self.inputs(np.repeat(X, times, axis=0), scale)
            np.testing.assert_allclose(one.numbers(X), other.numbers(X), atol=1e-9)

    def test_log1p_keeps_the_sign(self):
        X = np.array([[-3.0], [0.0], [3.0]])
        assert self.inputs(X, "log1p").numbers(X)[:, 0].tolist() == pytest.approx([-np.sqrt(1.5), 0, np.sqrt(1.5)])

    def test_what_is_missing_is_the_mean_and_has_an_input_where_training_rows_miss_it(self):
        X = np.array([[1.0, 2.0], [np.nan, 3.0], [5.0, 4.0]])
        inputs = self.inputs(X, "standard")
        assert inputs.flagged.tolist() == [True, False]
        assert inputs.owners.tolist() == [0, 1, 0]
        numbers = inputs.numbers(np.array([[np.nan, np.nan], [1.0, 2.0]]))
        assert numbers[0].tolist() == [0.0, 0.0, 1.0]
        assert numbers[1].tolist() == pytest.approx([-1.0, -np.sqrt(1.5), 0.0])

    def test_constant_and_empty_features_are_no_harm(self):
        X = np.c_[np.full(6, 7.0), np.full(6, np.nan), np.arange(6.0)]
        for scale in ("gauss", "log1p", "standard"):
            numbers = self.inputs(X, scale).numbers(X)
            assert np.isfinite(numbers).all()
            assert numbers[:, :2].tolist() == [[0.0, 0.0]] * 6

    def test_categories_are_codes_and_the_last_is_missing(self):
        X = np.array([[0.0, 1.5], [2.0, 2.5], [np.nan, 3.5]])
        inputs = self.inputs(X, "standard", categories=[3, -1])
        assert inputs.codes(X).tolist() == [[0], [2], [3]]
        assert inputs.n_numbers == 1

    def test_huge_values_are_refused(self):
        with pytest.raises(PodiumError, match="X must lie within"):
            self.inputs([[1e200], [1.0]], "log1p")


class TestEstimators:
    def test_lambdarank_has_the_lambdas_of_lambdamart(self):
        d = make_search(6, 10, 4, random_state=0)
        net = LambdaRank(1, hidden=()).fit(d.X, d.y, qid=d.qid)
        from podium.data import RankingData, feedback_of

        data = RankingData.from_arrays(d.X, d.y, qid=d.qid)
        cost = net._cost_parts(feedback_of(data), data.queries.offsets, 1)[0]
        trees = LambdaMART(1, form="paper")._make_loss(data, 1, 0)
        scores = np.random.default_rng(0).normal(size=len(d.y))
        expected = trees.derivatives(scores)[0]
        gradient, batches = np.zeros(len(d.y)), QueryBatches(feedback_of(data), data.queries.offsets, 2, 0)
        batch = batches.batch_of(np.array([4, 1]))
        cost.add_gradient(batch, scores, gradient)
        np.testing.assert_array_equal(gradient[batch.rows], expected[batch.rows])
        assert np.delete(gradient, batch.rows).any() == 0

    def test_weights_of_rows_and_queries_are_rows_and_queries_as_often(self):
        d = make_search(6, 8, 3, random_state=3)
        rng = np.random.default_rng(0)
        often = dict(enumerate([3, 1, 2, 1, 1, 2]))
        times = rng.integers(1, 4, len(d.y))
        copies = [(q, copy) for q, n in often.items() for copy in range(n)]
        rows = [np.repeat(np.flatnonzero(d.qid == q), times[d.qid == q]) for q, _ in copies]
        ids = np.repeat(np.arange(len(copies)), [len(own) for own in rows])
        every = np.concatenate(rows)
        ranker = {"hidden": (4,), "optimizer": "sgd", "learning_rate": 0.01, "batch_size": 99, "dropout": 0.0}
        weighted = RankNet(5, **ranker).fit(d.X, d.y, qid=d.qid, sample_weight=times, query_weight=often)
        repeated = RankNet(5, **ranker).fit(d.X[every], d.y[every], qid=ids)
        np.testing.assert_allclose(weighted.predict(d.X), repeated.predict(d.X), rtol=1e-3, atol=1e-4)

    def test_a_seed_gives_the_same_net_and_another_seed_another(self):
        d = make_search(10, 8, 3, random_state=3)
        one, same, other = (RankNet(3, dropout=0.3, random_state=s).fit(d.X, d.y, qid=d.qid) for s in (0, 0, 1))
        np.testing.assert_array_equal(one.predict(d.X), same.predict(d.X))
        assert np.abs(one.predict(d.X) - other.predict(d.X)).max() > 1e-3

    def test_categories_are_learned(self):
        pandas = peer("pandas")
        rng = np.random.default_rng(0)
        town = rng.integers(0, 4, 200)
        frame = pandas.DataFrame({"town": pandas.Categorical(np.array(list("abcd"))[town]), "noise": rng.random(200)})
        y, qid = np.array([0, 3, 1, 2])[town], np.repeat(np.arange(20), 10)
        model = RankNet(30, hidden=(8,), learning_rate=0.02).fit(frame, y, qid=qid)
        assert model.score(frame, y, qid=qid) > 0.97
        assert model.categories_["town"].tolist() == list("abcd")
        new = frame.assign(town=pandas.Categorical(["z"] * 200))
        assert np.isfinite(model.predict(new)).all()

    def test_divergence_ends_the_fit_with_advice_and_keeps_the_best_epoch(self):
        d = make_search(10, 8, 3, random_state=3)
        wild = RankNet(200, hidden=(8, 8), optimizer="sgd", learning_rate=3e4, scale="standard")
        with pytest.warns(UserWarning, match="The fit ended early: .* lower learning_rate .*Predictions use epoch"):
            model = wild.fit(d.X, d.y, qid=d.qid, eval_set=[(d.X, d.y)], eval_qid=[d.qid])
        values = model.evals_result_["validation_0"]["ndcg@10"]
        assert model.best_iteration_ == 1 + np.argmax(values)
        assert len(model.rounds_) == len(values) < 200
        assert np.isfinite(model.predict(d.X)).all()

    def test_labels_that_weigh_no_pair_are_told(self):
        with pytest.warns(UserWarning, match="Nothing was learned.* no query has both relevant rows"):
            LambdaRank(2, delta="map").fit(np.eye(4), [1, 2, 3, 4], group=[4])

    def test_the_number_of_threads_of_torch_is_restored(self):
        torch = peer("torch")
        before = torch.get_num_threads()
        torch.set_num_threads(2)
        try:
            d = make_search(6, 8, 3, random_state=3)
            RankNet(2).fit(d.X, d.y, qid=d.qid)
            assert torch.get_num_threads() == 2
            with ONE_THREAD.held(torch), ONE_THREAD.held(torch):
                assert torch.get_num_threads() == 1
            assert torch.get_num_threads() == 2
        finally:
            torch.set_num_threads(before)

    def test_nets_that_differ_are_no_start(self):
        d = make_search(6, 8, 3, random_state=3)
        first = RankNet(1, hidden=(3,)).fit(d.X, d.y, qid=d.qid)
        for name, other in (("hidden", {"hidden": (4,)}), ("optimizer", {"hidden": (3,), "optimizer": "sgd"})):
            with pytest.raises(PodiumError, match=f"init_model must have {name}="):
                RankNet(2, **other).fit(d.X, d.y, qid=d.qid, init_model=first)

    @pytest.mark.parametrize("hidden", [32, (0,), (2.5,), (True,), ("8",), (10**9,)])
    def test_hidden_must_be_layer_sizes(self, hidden):
        with pytest.raises(PodiumError, match="hidden"):
            RankNet(hidden=hidden).fit(np.eye(3), [0, 1, 2])


WITHOUT = """
import sys


class NoTorch:
    asked = []

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            self.asked.append(name)
            raise ImportError(name)


sys.meta_path.insert(0, NoTorch())
import numpy as np, podium
model = podium.load(sys.argv[1])
X = np.arange(12.0).reshape(4, 3)
print(model.predict(X).tolist())
podium.RankBoost(2).fit(X, [0, 1, 2, 3])
print(NoTorch.asked)
try:
    podium.RankNet(1).fit(X, [0, 1, 2, 3])
except podium.PodiumError as error:
    print(error)
"""


def test_torch_is_asked_for_by_training_alone_and_without_it_the_rest_works(tmp_path):
    X = np.arange(12.0).reshape(4, 3)
    model = RankNet(2, hidden=(3,)).fit(X, [0, 1, 2, 3])
    model.save(tmp_path / "net")
    done = subprocess.run([sys.executable, "-c", WITHOUT, tmp_path / "net"], capture_output=True, text=True, check=True)
    scores, asked, message = done.stdout.splitlines()
    assert asked == "[]"
    assert scores == str(model.predict(X).tolist())
    assert message == 'Nets are trained with torch, which is not installed: pip install "podium[neural]".'
