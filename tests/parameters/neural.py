"""Parameters of RankNet and LambdaRank, against the formulas pair by pair, of single updates."""

import numpy as np
import pytest

from parameters import changing, fitted, made, table
from parameters.shared import check_score
from podium import LambdaRank, PodiumError, RankNet, evaluate
from reference import losses as plain_losses
from reference import neural as plain

NETS = (RankNet, LambdaRank)
ONE_STEP = {
    "n_estimators": 1, "hidden": (), "optimizer": "sgd", "learning_rate": 1.0, "batch_size": 10**6, "scale": "standard",
    "dropout": 0.0,
}  # fmt: skip
"""One update of a linear score by plain descent: the weights move by the gradient."""


def scaled(data):
    """The inputs of a net with scale="standard"."""
    X = data[0]
    return (X - X.mean(axis=0)) / X.std(axis=0)


def start_of(estimator, data, **changed):
    """The weights before the first update: those after it with next to no rate."""
    return fitted(estimator, data, **{**ONE_STEP, **changed, "learning_rate": 1e-30}).weights_


def gradient_of(estimator, data, **changed):
    """What one update of plain descent moves the weights by."""
    return start_of(estimator, data, **changed) - fitted(estimator, data, **{**ONE_STEP, **changed}).weights_


def expected_gradient(data, start, lambdas):
    """Σ λ_i x_i over the queries, per query (LM 2.1)."""
    X, qid = scaled(data), data[2]
    return X.T @ lambdas(X @ start) / len(np.unique(qid))


def pair_lambdas(data, sigma=1.0, tie_weight=0.0, equal=False):
    """λ of RankNet as a function of scores."""
    _, y, qid = data

    def lambdas(scores):
        found = np.zeros(len(y))
        for q in np.unique(qid):
            pairs = list(plain.pairs_of(y, np.where(qid == q, q, -1 - np.arange(len(y))), tie_weight))
            counted = sum(target != 0.5 for _, _, target, _ in pairs)
            found += plain.lambdas(pairs, scores, sigma) / (max(1, counted) if equal else 1)
        return found

    return lambdas


def swap_lambdas(data, delta="ndcg", truncation=None, normalize="none", sigma=1.0):
    """λ of LambdaRank as a function of scores."""
    _, y, qid = data

    def lambdas(scores):
        found = np.zeros(len(y))
        for q in np.unique(qid):
            own = qid == q
            weights = plain_losses.pair_weights(y[own], scores[own], delta, truncation, np.ones(own.sum()), y.max())
            found[own] = plain_losses.normalized_lambdas(weights, scores[own], sigma, normalize)[0]
        return found

    return lambdas


def lambdas_of(estimator):
    return pair_lambdas if estimator is RankNet else swap_lambdas


def check_gradient(estimator, lambdas, data=None, **changed):
    data = table() if data is None else data
    found = gradient_of(estimator, data, **changed)
    expected = expected_gradient(data, start_of(estimator, data, **changed), lambdas)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())


@changing("sigma", *NETS)
def the_sigmoid_of_pairs_is_so_steep(estimator):
    for sigma in (0.3, 2.0):
        check_gradient(estimator, lambdas_of(estimator)(table(), sigma=sigma), sigma=sigma)


@changing("tie_weight", RankNet)
def rows_of_one_label_pull_each_other_so_much(estimator):
    for weight in (0.0, 0.7):
        check_gradient(estimator, pair_lambdas(table(), tie_weight=weight), tie_weight=weight)


@changing("pair_weight", RankNet)
def pairs_or_queries_weigh_alike(estimator):
    check_gradient(estimator, pair_lambdas(table()), pair_weight="pairs")
    check_gradient(estimator, pair_lambdas(table(), equal=True), pair_weight="queries")


@changing("delta", LambdaRank)
def pairs_weigh_what_the_measure_changes_by(estimator):
    for delta in ("ndcg", "map", "mrr", "err"):
        check_gradient(estimator, swap_lambdas(table(), delta), delta=delta)
    with pytest.raises(PodiumError, match="delta"):
        fitted(estimator, delta="none")


@changing("truncation", LambdaRank)
def pairs_have_a_row_among_the_first_places(estimator):
    for truncation in (1, 3, None):
        check_gradient(estimator, swap_lambdas(table(), truncation=truncation), truncation=truncation)


@changing("normalize", LambdaRank)
def gradients_are_normalised_by_pairs_and_queries(estimator):
    for normalize in ("none", "pairs", "query", "both"):
        check_gradient(estimator, swap_lambdas(table(), normalize=normalize), normalize=normalize)


@changing("gain", LambdaRank)
def labels_gain_what_is_given(estimator, monkeypatch):
    def linear_ndcg(ranked, k, top):
        def dcg(gains):
            return sum(gain / np.log2(place + 2) for place, gain in enumerate(gains[:k]))

        return dcg(ranked) / dcg(sorted(ranked, reverse=True)) if max(ranked) > 0 else 0.0

    monkeypatch.setitem(plain_losses.MEASURES, "linear", linear_ndcg)
    for gain in ("linear", {0: 0.0, 1: 1.0, 2: 2.0, 3: 3.0}, lambda labels: labels):
        check_gradient(estimator, swap_lambdas(table(), "linear"), gain=gain)


@changing("contradictions", *NETS)
def pairs_both_ways_all_count_or_are_netted(estimator):
    X, pairs = table()[0], (np.array([0, 1, 1, 2]), np.array([1, 0, 0, 3]))
    listed = {
        "keep": [(i, j, 1.0, 1.0) for i, j in zip(*pairs, strict=True)],
        "net": [(1, 0, 1.0, 1.0), (2, 3, 1.0, 1.0)],
    }
    for name, own in listed.items():
        given = {**ONE_STEP, "contradictions": name}
        start, after = (
            made(estimator, **{**given, "learning_rate": rate}).fit(X, pairs=pairs).weights_ for rate in (1e-30, 1.0)
        )
        rows = scaled((X,))
        np.testing.assert_allclose(start - after, rows.T @ plain.lambdas(own, rows @ start, 1.0), atol=1e-5)


@changing("hidden", *NETS)
def layers_have_so_many_units(estimator):
    for hidden in ((), (3,), (5, 2), [4]):
        model = fitted(estimator, hidden=hidden)
        assert model.rounds_[0].net.shape.hidden == tuple(hidden)
        assert [len(bias) for _, bias in model.rounds_[0].net.layers] == [*hidden, 1]


@changing("optimizer", *NETS)
def the_first_step_of_adam_is_the_sign_of_that_of_descent(estimator):
    start, down = start_of(estimator, table()), gradient_of(estimator, table())
    adam = start - fitted(estimator, **{**ONE_STEP, "optimizer": "adam", "learning_rate": 0.01}).weights_
    np.testing.assert_allclose(adam, 0.01 * np.sign(down), rtol=1e-3)


@changing("learning_rate", *NETS)
def the_first_step_is_so_long(estimator):
    whole = gradient_of(estimator, table())
    part = start_of(estimator, table()) - fitted(estimator, **{**ONE_STEP, "learning_rate": 0.25}).weights_
    np.testing.assert_allclose(part, 0.25 * whole, rtol=1e-4, atol=1e-6)


@changing("learning_rate_decay", *NETS)
def later_steps_are_shorter(estimator):
    def second_step(decay):
        model = fitted(estimator, **{**ONE_STEP, "n_estimators": 2, "learning_rate_decay": decay})
        return model.rounds_[1].net.weights - model.rounds_[0].net.weights

    np.testing.assert_allclose(second_step(0.25), 0.25 * second_step(1.0), rtol=1e-3, atol=1e-5)


@changing("weight_decay", *NETS)
def weights_shrink_by_its_share_of_the_rate(estimator):
    start = start_of(estimator, table())
    free, shrunk = (fitted(estimator, **{**ONE_STEP, "weight_decay": decay}).weights_ for decay in (0.0, 0.25))
    np.testing.assert_allclose(free - shrunk, 0.25 * start, atol=1e-5)


@changing("dropout", *NETS)
def units_are_left_out_in_training_alone(estimator):
    free, thin = (fitted(estimator, dropout=rate, hidden=(8,)) for rate in (0.0, 0.5))
    assert np.abs(free.weights_ - thin.weights_).max() > 1e-4
    np.testing.assert_array_equal(thin.predict(table()[0]), thin.predict(table()[0]))
    linear = [fitted(estimator, dropout=rate, hidden=()).weights_ for rate in (0.0, 0.5)]
    np.testing.assert_array_equal(*linear)  # features are never left out


@changing("batch_size", *NETS)
def each_update_takes_so_many_queries(estimator):
    _, y, qid = table()
    learned = sum(len(np.unique(y[qid == q])) > 1 for q in np.unique(qid))
    for size in (1, 5, 100):
        assert fitted(estimator, batch_size=size, n_estimators=2).rounds_[-1].n_steps == 2 * -(-learned // size)


@changing("scale", *NETS)
def numbers_are_brought_to_one_scale(estimator):
    X, y, qid = table()
    curved = np.exp(8 * X)

    def scores(rows, scale):
        return fitted(estimator, (rows, y, qid), **{**ONE_STEP, "scale": scale}).predict(rows)

    for scale, same in (("gauss", True), ("log1p", False), ("standard", False)):
        assert (np.abs(scores(X, scale) - scores(curved, scale)).max() < 1e-4) == same
    np.testing.assert_allclose(scores(curved, "log1p"), scores(np.log1p(curved), "standard"), atol=1e-4)


@changing("categorical_features", *NETS)
def categories_have_tables_of_their_own(estimator):
    X, y, qid = table()
    towns = np.column_stack([np.floor(4 * X[:, 0]), X[:, 1]])
    numbers, codes = (
        fitted(estimator, (towns, y, qid), categorical_features=chosen).rounds_[0].net.shape for chosen in (None, [0])
    )
    assert (numbers.n_numbers, numbers.tables) == (2, ())
    assert (codes.n_numbers, codes.tables) == (1, ((5, 4),))


@changing("embedding_size", *NETS)
def a_category_is_so_many_numbers(estimator):
    X, y, qid = table()
    towns = np.floor(4 * X)
    model = fitted(estimator, (towns, y, qid), categorical_features=[0, 2], embedding_size=3)
    assert [width for _, width in model.rounds_[0].net.shape.tables] == [3, 3]


@changing("random_state", *NETS)
def the_seed_draws_weights_batches_and_units(estimator):
    one, same, other = (fitted(estimator, random_state=seed).weights_ for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert np.abs(one - other).max() > 0.01
    assert np.isfinite(fitted(estimator, random_state=None).weights_).all()


@changing("eval_metric", *NETS)
def each_measure_has_a_history_and_the_first_decides(estimator):
    X, y, qid = table()
    noise, new = np.random.default_rng(2).permutation(y), table(seed=1)[0]
    for measures, sign in ((["map", "pair_loss"], 1), (["pair_loss", "map"], -1)):
        model = made(estimator, n_estimators=10, eval_metric=measures, early_stopping_rounds=4)
        model.fit(X, y, qid=qid, eval_set=[(new, noise)], eval_qid=[qid])
        history = model.evals_result_["validation_0"]
        assert list(history) == measures
        assert model.best_iteration_ == 1 + np.argmax(sign * np.array(history[measures[0]]))
        check_score(model, measures[0], sign)
    expected = evaluate(noise, model.predict(new), qid=qid, measures="map", n_resamples=0)["map"]
    assert history["map"][model.best_iteration_ - 1] == pytest.approx(expected)


@changing("n_jobs", *NETS)
def so_many_threads_give_the_same_bits(estimator, monkeypatch):
    from parameters.shared import spied_threads

    monkeypatch.setattr("podium._compiled.CELLS_WORTH_THREADS", 0)
    used, (X, _, _) = spied_threads(monkeypatch), table()
    one = fitted(estimator)
    expected = one.predict(X)
    assert used == set()
    three = fitted(estimator, n_jobs=3)
    assert used == {3}
    used.clear()
    np.testing.assert_array_equal(three.predict(X), expected)
    assert used == {3}
    np.testing.assert_array_equal(three.weights_, one.weights_)
