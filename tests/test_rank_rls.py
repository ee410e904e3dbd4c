"""RankRLS against the system of all pairs and against refits without a query; PlugInRanker against its parts."""

import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from podium import MART, NoPairsError, PlugInRanker, PodiumError, RankRLS, load
from podium._compiled import JIT_DISABLED
from podium.rankers import plug_in, rank_rls
from profiles import examples
from reference import margins as twin

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # hashes wrap around on purpose
]


@st.composite
def tasks(draw):
    """Rows of weighted queries, labels of any size, features of which some are missing."""
    n = draw(st.integers(3, 9))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = rng.normal(size=(n, 3)) * [1.0, 5.0, 0.2]
    X[rng.random(X.shape) < 0.1] = np.nan
    qid = rng.integers(0, 3, n)
    y = np.round(rng.normal(size=n) * 3, draw(st.integers(0, 2)))
    weights = {
        "sample_weight": np.maximum(rng.integers(0, 3, n), np.arange(n) == 0) / 2,
        "query_weight": {q: 1.0 + q for q in set(qid.tolist())},
    }
    return X, y, qid, weights


def search(n=48, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1.0, 10.0, 0.1, 1.0]
    return X, np.round(X[:, 0] - X[:, 1] / 10 + rng.normal(size=n), 1), np.arange(n) % 6


def has_pairs(y, qid, weights):
    return any(pair[2] > 0 for pair in twin.label_pairs(y, qid, **weights))


@examples(120, plain=60)
@given(tasks(), st.sampled_from([1e-3, 0.1, 5.0]))
def test_weights_solve_the_system_of_all_pairs(task, alpha):
    X, y, qid, weights = task
    if not has_pairs(y, qid, weights):
        with pytest.raises(NoPairsError):
            RankRLS(alpha).fit(X, y, qid=qid, **weights)
        return
    model = RankRLS(alpha).fit(X, y, qid=qid, **weights)
    u, v = weights["sample_weight"], weights["query_weight"]
    rows, means, _ = twin.scaled(X, u * np.array([v[q] for q in qid.tolist()]))
    np.testing.assert_allclose(model.means_, means, atol=1e-12)
    K = rows @ rows.T
    a, _ = twin.pair_least_squares(K, y, qid.tolist(), u, v, alpha)
    np.testing.assert_allclose(model.predict(X), K @ a, atol=1e-6 * (1 + np.abs(K @ a).max()))


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_kernel_weights_solve_the_system_of_all_pairs(kernel):
    X, y, qid = search(30)
    model = RankRLS(0.05, kernel=kernel, gamma=0.2).fit(X, y, qid=qid)
    rows, _, _ = twin.scaled(X, np.ones(30))
    power = 2 if kernel == "rbf" else 1
    K = np.array([[np.exp(-0.2 * np.sum(np.abs(a - b) ** power)) for a in rows] for b in rows])
    a, _ = twin.pair_least_squares(K, y, qid, np.ones(30), dict.fromkeys(range(6), 1.0), 0.05)
    np.testing.assert_allclose(model.predict(X), K @ a, atol=1e-8)


def test_the_scaling_of_the_penalty_against_the_review():
    """CR's λ beside 1/(n(n - 1)) Σ_{i<j} is alpha n / (2 (n - 1))."""
    X, y, _ = search(20)
    n, alpha = 20, 0.3
    rows, _, deviations = twin.scaled(X, np.ones(n))
    w, step = RankRLS(alpha).fit(X, y).coef_ * deviations, 1e-5

    def objective(w):
        errors = y - rows @ w
        squares = sum((errors[i] - errors[j]) ** 2 for i in range(n) for j in range(i + 1, n))
        return squares / (n * (n - 1)) + alpha * n / (2 * (n - 1)) * w @ w

    for direction in step * np.eye(4):
        assert abs(objective(w + direction) - objective(w - direction)) < 1e-13


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("pair_weight", ["pairs", "queries"])
def test_scores_of_a_held_out_query_are_those_of_a_fit_without_it(kernel, pair_weight):
    X, y, qid = search()
    u, v = np.random.default_rng(2).integers(1, 4, len(y)) / 2, {q: 1.0 + q % 2 for q in range(6)}
    model = RankRLS(0.2, kernel=kernel, scale=False, pair_weight=pair_weight)
    found = model.held_out_scores(X, y, qid=qid, sample_weight=u, query_weight=v)
    assert not hasattr(model, "means_")
    mass = np.array([v[q] * (u[qid == q].sum() ** 2 if pair_weight == "pairs" else 1.0) for q in range(6)])
    for q in range(6):
        own, others = qid == q, qid != q
        alpha = 0.2 * mass.sum() / np.delete(mass, q).sum()  # the penalty beside the sum stays as it is
        refit = RankRLS(alpha, kernel=kernel, scale=False, pair_weight=pair_weight)
        refit.fit(X[others], y[others], qid=qid[others], sample_weight=u[others], query_weight=v_of(v, q))
        expected = refit.predict(X[own])
        np.testing.assert_allclose(spread(found[own]), spread(expected), atol=1e-8)


@pytest.mark.parametrize("pair_weight", ["pairs", "queries"])
def test_weights_matter_by_their_ratios(pair_weight):
    X, y, qid = search()
    weight = np.random.default_rng(3).random(len(y))
    one, two = (
        RankRLS(pair_weight=pair_weight).fit(X, y, qid=qid, sample_weight=factor * weight) for factor in (1.0, 1e-3)
    )
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-9)
    assert np.abs(one.coef_).max() > 0.1


def v_of(v, without):
    return {q: weight for q, weight in v.items() if q != without}


def spread(scores):
    """Scores without what is the same for a query."""
    return scores - scores.mean()


def test_rows_of_amounts_are_ranked_and_saved(tmp_path):
    X, y, qid = search(60)
    for model in (RankRLS(), RankRLS(kernel="laplacian"), RankRLS(pair_weight="queries")):
        assert -model.fit(X, y, qid=qid).score(X, y, qid=qid) < 0.3
        model.save(tmp_path / "model")
        np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))


@pytest.mark.parametrize("kind", [RankRLS, PlugInRanker])
def test_what_is_not_labels_is_refused_with_the_way_out(kind):
    X, y, qid = search(12)
    with pytest.raises(PodiumError, match=f"{kind.__name__} .* pairs must be None: use RankSVM"):
        kind().fit(X, y, qid=qid, pairs=([0], [1]))
    with pytest.raises(PodiumError, match=f"{kind.__name__} requires y to be passed"):
        kind().fit(X, pairs=([0], [1]))
    with pytest.raises(NoPairsError, match="same label"):
        kind().fit(X, 0 * y)
    with pytest.raises(PodiumError, match="learn in rounds"):
        kind().fit(X, y, qid=qid, eval_set=[(X, y)], eval_qid=[qid])


# Plug-in ranking


def test_two_grades_are_ranked_by_the_log_odds_of_logistic_regression():
    X, y, qid = search(60)
    weight = np.random.default_rng(1).integers(1, 4, 60)
    model = PlugInRanker(0.7).fit(X, y > 0, qid=qid, sample_weight=weight)
    rows, _, _ = twin.scaled(X, weight)
    peer = LogisticRegression(C=0.7 / weight.sum(), tol=1e-10, max_iter=1000).fit(rows, y > 0, sample_weight=weight)
    np.testing.assert_allclose(model.predict(X), peer.decision_function(rows), atol=1e-4)
    assert model.coefs_.shape == (1, 4)


def test_more_grades_are_ranked_by_the_expected_label():
    X, y, qid = search(80)
    y = np.array([0.0, 1.0, 5.0])[np.digitize(y, [-1.0, 0.5])]
    model = PlugInRanker().fit(X, y, qid=qid)
    rows, _, _ = twin.scaled(X, np.ones(80))
    expected = 0.0
    for label, gap in ((0.0, 1.0), (1.0, 4.0)):
        peer = LogisticRegression(C=100 / 80, tol=1e-10, max_iter=1000).fit(rows, y > label)
        expected = expected + gap * peer.predict_proba(rows)[:, 1]
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-4)
    assert model.gaps_.tolist() == [1.0, 4.0]


def test_a_plug_in_ranker_of_two_grades_is_exported_and_of_more_refused(tmp_path):
    X, y, qid = search(40)
    two = PlugInRanker().fit(X, y > 0, qid=qid)
    two.export(tmp_path / "two", "python")
    scope = {}
    exec((tmp_path / "two").read_text(), scope)
    assert (tmp_path / "two").stat().st_size > 0
    np.testing.assert_allclose(two._exported().score(X), two.predict(X), atol=1e-12)
    three = PlugInRanker().fit(X, np.digitize(y, [-1, 1]), qid=qid)
    with pytest.raises(PodiumError, match="PlugInRanker of 3 labels is no sum of features"):
        three.export(tmp_path / "three", "python")
    with pytest.raises(PodiumError, match="at most 50 labels; got 60: use RankRLS"):
        PlugInRanker().fit(np.arange(60)[:, None], np.arange(60))


def test_rows_without_weight_add_no_label():
    X, y = np.arange(6.0)[:, None], np.array([0, 1, 0, 1, 1, 9])
    weight = np.array([1, 1, 1, 1, 1, 0])
    model = PlugInRanker().fit(X, y, sample_weight=weight)
    assert model.gaps_.tolist() == [1.0]


@pytest.mark.skipif(JIT_DISABLED, reason="60 trees of 4,000 rows are for compiled kernels")
def test_mart_with_the_logistic_loss_is_plug_in_ranking_by_trees():
    """LogitBoost: its score is half the log odds (CR 3.1's loss, log(1 + exp(-2 y s)))."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (4000, 2)).astype(float)
    probability = np.array([[0.2, 0.5], [0.6, 0.9]])[X[:, 0].astype(int), X[:, 1].astype(int)]
    y = rng.random(4000) < probability
    scores = MART(60, loss="logistic", max_leaves=4, learning_rate=0.3).fit(X, y).predict(X)
    found = 1 / (1 + np.exp(-2 * scores))
    for cell in ((0, 0), (0, 1), (1, 0), (1, 1)):
        rows = np.all(cell == X, axis=1)
        np.testing.assert_allclose(found[rows], y[rows].mean(), atol=2e-3)


@pytest.mark.parametrize("module", [plug_in, rank_rls])
def test_examples_of_the_docstrings(module):
    assert doctest.testmod(module).failed == 0
