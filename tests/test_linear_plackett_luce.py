"""LinearPlackettLuce against its definition, a general solver, and the model of items that it generalises."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from podium import LinearPlackettLuce, NoPairsError, PlackettLuce, PodiumError
from podium.data.ranking_data import RankingData
from podium.permutations import LinearLikelihood, row_choices
from profiles import examples
from reference import permutations as twin

pytestmark = pytest.mark.plain


@st.composite
def tasks(draw):
    n_rows = draw(st.integers(2, 8))
    per_row = {"min_size": n_rows, "max_size": n_rows}
    number = st.sampled_from([-1.5, 0.0, 0.5, 1.0, 2.0])
    task = {"X": np.array(draw(st.lists(st.lists(number, min_size=2, max_size=2), **per_row)))}
    task["y"] = draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, 2.5]), **per_row))
    task["qid"] = draw(st.lists(st.integers(0, 2), **per_row))
    task["sample_weight"] = draw(st.lists(st.sampled_from([0.0, 1.0, 2.5]), **per_row).filter(any))
    task["query_weight"] = {query: draw(st.sampled_from([1.0, 3.0])) for query in set(task["qid"])}
    row = st.integers(0, n_rows - 1)
    pairs = draw(st.lists(st.tuples(row, row, st.sampled_from([1.0, 2.0])).filter(lambda p: p[0] != p[1]), max_size=3))
    if pairs:
        task["pairs"] = tuple(map(list, zip(*pairs, strict=True)))
    return task


def definition(task, scores):
    """The log-likelihood of rows in queries and of pairs."""
    total = 0.0
    for query, weight in task["query_weight"].items():
        rows = [i for i, q in enumerate(task["qid"]) if q == query and task["sample_weight"][i] > 0]
        labels = sorted({task["y"][i] for i in rows}, reverse=True)
        made = [
            [
                (i, task["sample_weight"][i], weight * task["sample_weight"][i] * (label > labels[-1]))
                for i in rows
                if task["y"][i] == label
            ]
            for label in labels
        ]
        total += twin.choice_log_likelihood(scores, made)
    for better, worse, weight in zip(*task.get("pairs", ((), (), ())), strict=True):
        total += twin.choice_log_likelihood(scores, [[(better, 1.0, weight)], [(worse, 1.0, 0.0)]])
    return total


@examples(80, plain=40)
@given(tasks(), st.tuples(st.floats(-2, 2), st.floats(-2, 2)))
def test_likelihood_and_derivatives_are_those_of_the_definition(task, weights):
    data, weights = RankingData.from_arrays(**task), np.array(weights)
    rows = task["X"][data.queries.rows]
    likelihood = LinearLikelihood(row_choices(data), rows)
    point = likelihood.at(weights)
    assert point.value == pytest.approx(definition(task, task["X"] @ weights), abs=1e-9)
    step, one = 1e-5, np.eye(2)
    slopes = [(likelihood.at(weights + step * e).value - likelihood.at(weights - step * e).value) / 2e-5 for e in one]
    np.testing.assert_allclose(point.gradient, slopes, atol=1e-5)
    for e in one:
        change = likelihood.at(weights + step * e).gradient - likelihood.at(weights - step * e).gradient
        np.testing.assert_allclose(point.product(e), -change / 2e-5, atol=1e-5)


def search_rows(n_queries=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(2.0, 3.0, (8 * n_queries, 3))
    y = np.digitize(X @ [0.4, -0.2, 0.0] + rng.normal(size=len(X)), [-1.0, 0.0, 1.0])
    return X, y.astype(float), np.repeat(np.arange(n_queries), 8)


@pytest.mark.parametrize("alpha", [0.1, 5.0])
def test_weights_are_those_of_a_general_solver(alpha):
    X, y, qid = search_rows()
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    task = {"y": y.tolist(), "qid": qid.tolist(), "sample_weight": weight.tolist()}
    task["query_weight"] = {query: 1.0 + query % 2 for query in range(12)}
    model = LinearPlackettLuce(alpha).fit(X, y, qid=qid, sample_weight=weight, query_weight=task["query_weight"])
    rows = np.average(X, axis=0, weights=weight * (1 + qid % 2))
    spread = np.sqrt(np.average((X - rows) ** 2, axis=0, weights=weight * (1 + qid % 2)))
    scaled = (X - rows) / spread

    def loss(w):
        return alpha / 2 * w @ w - definition(task, scaled @ w)

    found = minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-6})
    np.testing.assert_allclose(model.coef_ * spread, found.x, atol=1e-5)
    np.testing.assert_allclose(model.means_, rows)
    assert model.log_likelihood_ == pytest.approx(alpha / 2 * found.x @ found.x - found.fun, abs=1e-6)


def test_one_feature_an_item_is_the_model_of_items():
    rng = np.random.default_rng(3)
    made = [rng.permutation(4)[: rng.integers(2, 5)].tolist() for _ in range(30)]
    items = [item for ranking in made for item in ranking]
    y = [-place for ranking in made for place in range(len(ranking))]
    qid = np.repeat(np.arange(30), list(map(len, made)))
    X = np.eye(4)[items]
    linear = LinearPlackettLuce(1e-7, tol=1e-10).fit(X, y, qid=qid)
    strengths = linear.coef_ - linear.coef_.mean()
    np.testing.assert_allclose(strengths, PlackettLuce().fit(made).strengths_, atol=1e-5)


def test_pairs_of_rows_are_comparisons():
    X = np.eye(3)
    better, worse = [0, 0, 1, 2, 1], [1, 1, 0, 1, 2]
    linear = LinearPlackettLuce(1e-7, tol=1e-10).fit(X, pairs=(better, worse))
    expected = PlackettLuce().fit(pairs=(better, worse)).strengths_
    np.testing.assert_allclose(linear.coef_ - linear.coef_.mean(), expected, atol=1e-5)


def test_missing_values_count_as_the_mean():
    X, y, qid = search_rows()
    X[::7, 1] = np.nan
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    model = LinearPlackettLuce().fit(X, y, qid=qid)
    np.testing.assert_allclose(model.predict(X), model.predict(filled), atol=1e-12)
    np.testing.assert_allclose(model.predict(X), (filled - model.means_) @ model.coef_, atol=1e-12)


def test_exported_weights_score_as_the_ranker_does(tmp_path):
    X, y, qid = search_rows()
    X[::7, 1] = np.nan
    model = LinearPlackettLuce().fit(X, y, qid=qid)
    model.export(tmp_path / "scorer.py", "python")
    space = {}
    exec((tmp_path / "scorer.py").read_text(encoding="utf-8"), space)
    rows = [[None if np.isnan(x) else x for x in row] for row in X.tolist()]
    np.testing.assert_allclose([space["score"](row) for row in rows], model.predict(X), rtol=1e-9, atol=1e-12)


def test_what_cannot_be_learned_from_is_said():
    X, y, qid = search_rows()
    with pytest.raises(NoPairsError, match="nothing to rank"):
        LinearPlackettLuce().fit(X, np.zeros(len(y)), qid=qid)
    with pytest.raises(PodiumError, match="alpha"):
        LinearPlackettLuce(0.0).fit(X, y, qid=qid)
    with pytest.raises(PodiumError, match="does not learn in rounds"):
        LinearPlackettLuce().fit(X, y, qid=qid, eval_set=[(X, y)], eval_qid=[qid])
    with pytest.raises(PodiumError, match="X must lie within"):
        LinearPlackettLuce().fit(X * 1e150, y, qid=qid)
    with pytest.warns(ConvergenceWarning, match="stopped after 1 steps") as caught:
        LinearPlackettLuce(max_iter=1).fit(X, y, qid=qid)
    assert caught[0].filename == __file__


def test_separable_rows_have_finite_weights():
    X = np.arange(6.0)[:, None]
    model = LinearPlackettLuce(1e-3).fit(X, X[:, 0])
    assert model.rank(X).tolist() == [6, 5, 4, 3, 2, 1]
    assert np.isfinite(model.coef_).all()


def test_pairs_are_learned_from_where_all_labels_weigh_nothing():
    X, y, _ = search_rows()
    pairs, qid = (np.arange(6), np.arange(6) + 6), np.arange(len(y)) % 2
    weighed = LinearPlackettLuce().fit(X, y, qid=qid, pairs=pairs, sample_weight=1.0 - qid, query_weight={0: 0, 1: 1})
    alone = LinearPlackettLuce().fit(X, pairs=pairs)
    np.testing.assert_allclose(weighed.coef_, alone.coef_, rtol=1e-9)
    far = X.copy()
    far[0] = 1e150
    with pytest.raises(PodiumError, match="X must lie within"):
        LinearPlackettLuce().fit(far, y, sample_weight=np.arange(len(y)) > 0, pairs=pairs)
