"""RankNet and LambdaRank as rankers: what they learn, what they refuse, and that training alone asks for torch."""

import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest

from peers import peer
from podium import LambdaMART, LambdaRank, PodiumError, RankNet, make_search
from podium.neural import QueryBatches
from podium.neural.torch_thread import ONE_THREAD


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


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_rates_up_to_the_largest_are_taken_and_larger_ones_refused(optimizer):
    rows = np.eye(3), [0.0, 1.0, 2.0]
    largest = {"learning_rate": 1e9, "weight_decay": 1e29}
    assert np.all(np.isfinite(RankNet(1, optimizer=optimizer, **largest).fit(*rows).predict(rows[0])))
    for name, value in largest.items():
        with pytest.raises(PodiumError, match=f"The '{name}' parameter of RankNet must be a float in the range"):
            RankNet(2, **{name: 1.1 * value}).fit(*rows)


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

    def test_a_net_that_goes_on_keeps_the_categories_it_has(self):
        pandas = peer("pandas")
        towns = [pandas.DataFrame({"town": pandas.Categorical(list(names) * 5)}) for names in ("abcd", "bcdb")]
        y, group = [0, 3, 1, 2] * 5, [4] * 5
        first = RankNet(1, hidden=(3,)).fit(towns[0], y, group=group)
        more = RankNet(2, hidden=(3,)).fit(towns[1], y, group=group, init_model=first)
        assert more.categories_["town"].tolist() == list("abcd")

    def test_divergence_ends_the_fit_with_advice_and_keeps_the_best_epoch(self):
        d = make_search(10, 8, 3, random_state=3)
        wild = RankNet(200, hidden=(8, 8), optimizer="sgd", learning_rate=3e4, scale="standard")
        with pytest.warns(UserWarning, match="The fit ended early: .* lower learning_rate .*Predictions use epoch"):
            model = wild.fit(d.X, d.y, qid=d.qid, eval_set=[(d.X, d.y)], eval_qid=[d.qid])
        values = model.evals_result_["validation_0"]["ndcg@10"]
        assert model.best_iteration_ == 1 + np.argmax(values)
        assert len(model.rounds_) == len(values) < 200
        assert np.isfinite(model.predict(d.X)).all()

    def test_a_last_epoch_whose_weights_are_no_numbers_is_left_out(self):
        d = make_search(10, 8, 3, random_state=3)
        wild = RankNet(2, hidden=(), learning_rate=1.0, weight_decay=1e20, batch_size=1000)  # scores are finite still
        with pytest.warns(UserWarning, match="left the range of numbers in epoch 2, which is left out"):
            model = wild.fit(d.X, d.y, qid=d.qid)
        assert len(model.rounds_) == 1
        assert np.isfinite(model.predict(d.X)).all()

    def test_an_only_epoch_whose_scores_are_no_numbers_is_left_out(self):
        d = make_search(10, 8, 3, random_state=3)
        with pytest.warns(UserWarning, match="left the range of numbers in epoch 1, which is left out"):
            model = RankNet(1, learning_rate=1e9, weight_decay=1e29, batch_size=3).fit(d.X, d.y, qid=d.qid)
        assert np.isfinite(model.predict(d.X)).all()

    def test_labels_that_weigh_no_pair_are_told(self):
        with pytest.warns(UserWarning, match="Nothing was learned.* no query has both relevant rows"):
            LambdaRank(2, delta="map").fit(np.eye(4), [1, 2, 3, 4], group=[4])

    def test_constant_inputs_are_told(self):
        with pytest.warns(UserWarning, match="all 2 inputs are constant"):
            model = RankNet(2).fit(np.full((4, 2), 7.0), [0, 1, 2, 3])
        assert model.predict(np.eye(2)).tolist() == [0.0, 0.0]

    def test_the_number_of_threads_of_torch_is_restored(self):
        torch = peer("torch")
        before = torch.get_num_threads()
        torch.set_num_threads(2)
        try:
            d = make_search(6, 8, 3, random_state=3)
            RankNet(2).fit(d.X, d.y, qid=d.qid)
            assert torch.get_num_threads() == 2
            with ONE_THREAD.held(torch):
                with ONE_THREAD.held(torch):
                    assert torch.get_num_threads() == 1
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
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, tmp_path / "net"],
        capture_output=True, text=True, check=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},  # nothing to compile or load
    )  # fmt: skip
    scores, asked, message = done.stdout.splitlines()
    assert asked == "[]"
    np.testing.assert_allclose(json.loads(scores), model.predict(X), rtol=1e-12)
    assert message == 'Nets are trained with torch, which is not installed: pip install "podium[neural]".'


def test_a_net_that_goes_on_reads_its_inputs_as_it_has_learned_them():
    peer("torch")
    table = make_search(n_queries=5, random_state=0)
    X, first = np.asarray(table.X), RankNet(2, hidden=(4,))
    first.fit(X, table.y, qid=table.qid)
    found = RankNet(3, hidden=(4,), learning_rate=1e-12).fit(7 * X + 3, table.y, qid=table.qid, init_model=first)
    assert len(found.rounds_) == 3
    np.testing.assert_allclose(found.predict(X), first.predict(X), rtol=1e-4)
