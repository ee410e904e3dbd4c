"""RSRank: Huber's loss and importances against pairs written out, its minimum against a general solver, sparsity."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from podium import NoPairsError, PairBoost, PodiumError, RSRank, load
from podium.data import RankingData
from podium.data.feedback import feedback_of
from podium.linear import IMPORTANCES, CenteredColumns, HuberPairs
from podium.linear.truncated_steps import AT_ITS_LEAST, TruncatedSteps, shrunk
from profiles import examples
from reference import margins as twin

pytestmark = pytest.mark.plain
SCORES = st.sampled_from([-3.0, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5])
PLAIN = {"ndcg": twin.fall_of_ndcg, "gain": twin.difference_of_gains, "none": lambda labels, i, j: 1.0}
each_importance = pytest.mark.parametrize("importance", IMPORTANCES)


@st.composite
def tables(draw):
    """Labels, queries, weights and scores of a few rows, with ties and differences of exactly 1."""
    n = draw(st.integers(2, 7))
    per_row = {"min_size": n, "max_size": n}
    y = draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, 0.5]), **per_row))
    qid = draw(st.lists(st.integers(0, 1), **per_row))
    weight = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), **per_row))
    of_query = {query: draw(st.sampled_from([0.5, 1.0, 2.0])) for query in set(qid)}
    return y, qid, weight, of_query, np.array(draw(st.lists(SCORES, **per_row)))


def written_out(y, qid, weight, of_query, importance):
    """Pairs with their importance as a factor of their weights."""
    found = []
    for i, j, own in twin.label_pairs(y, qid, weight, of_query):
        rows = [row for row in range(len(y)) if qid[row] == qid[i]]
        importance_ = PLAIN[importance]([y[row] for row in rows], rows.index(i), rows.index(j))
        found.append((i, j, own * importance_))
    return [pair for pair in found if pair[2] > 0]


def loss_of(y, qid, weight=None, of_query=None, **given):
    """The loss, and the rows in its order."""
    data = RankingData.from_arrays(np.arange(len(y))[:, None], y, qid=qid, sample_weight=weight, query_weight=of_query)
    (graded,) = feedback_of(data).parts
    return HuberPairs(graded, **given), data.queries


@each_importance
@examples(60, plain=20)
@given(tables(), st.sampled_from([0.25, 1.0, 2.0]), st.sampled_from([1, 2]))
def test_loss_and_gradient_are_those_of_the_pairs_written_out(importance, task, delta, n_threads):
    y, qid, weight, of_query, scores = task
    pairs = written_out(y, qid, weight, of_query, importance)
    if not pairs:
        return
    loss, queries = loss_of(y, qid, weight, of_query, importance=importance, delta=delta, n_threads=n_threads)
    value, gradient = twin.huber_pairs(pairs, scores, delta)
    assert loss.value(scores[queries.rows]) == pytest.approx(value, rel=1e-10, abs=1e-12)
    found = queries.to_caller(loss.derivatives(scores[queries.rows])[0])
    np.testing.assert_allclose(found, gradient, rtol=1e-10, atol=1e-12)


@each_importance
def test_curvatures_are_sums_over_all_pairs(importance):
    rng = np.random.default_rng(0)
    y, qid, weight = rng.integers(0, 3, 18).astype(float), np.repeat([0, 1, 2], 6), rng.integers(0, 3, 18).astype(float)
    X = rng.normal(size=(18, 20))
    loss, queries = loss_of(y, qid, weight, importance=importance, delta=0.5)
    columns = CenteredColumns.of(X, queries.rows, weight[queries.rows])
    pairs = written_out(y, qid, weight, dict.fromkeys([0, 1, 2], 1.0), importance)
    total = 0.5 * sum(own for _, _, own in pairs)
    expected = [sum(own * (x[i] - x[j]) ** 2 for i, j, own in pairs) / total for x in X.T]
    np.testing.assert_allclose(loss.curvatures(columns), expected / columns.norms**2, rtol=1e-9)


def test_twice_two_is_the_modified_huber_loss_and_a_narrow_corner_the_hinge():
    y, qid, scores = [1.0, 0.0], [0, 0], np.linspace(-3, 2, 21)
    modified = [-4 * z if z < -1 else max(0.0, 1 - z) ** 2 for z in scores]
    hinge = [max(0.0, 1 - z) for z in scores]
    for delta, factor, expected, off in ((2.0, 4.0, modified, 1e-12), (0.001, 1.0, hinge, 0.0005)):
        loss, queries = loss_of(y, qid, delta=delta)
        found = [factor * loss.value(np.array([z, 0.0])[queries.rows]) for z in scores]
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=off)


def test_far_scores_lose_no_digits():
    loss, queries = loss_of([0, 1, 0, 1], [0, 0, 1, 1])
    offsets = np.repeat([1e9, -1e9], 2)
    far = np.array([0.1, 0.3, 0.7, 0.6]) + offsets
    near = far - offsets  # exactly, as the digits that are lost are lost in both
    assert loss.value(far[queries.rows]) == pytest.approx(loss.value(near[queries.rows]), rel=1e-12)


def made(n=60, seed=0):
    """Rows of queries of six with three grades, features of different scales, most of them noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)) * [1.0, 10.0, 0.1, 1.0, 3.0, 1.0] + 5
    y = np.digitize(X[:, 0] - X[:, 1] / 10 + rng.normal(size=n) - 4.5, [-0.5, 1.0]).astype(float)
    return X, y, np.arange(n) % (n // 6)


def objective(beta, X, pairs, alpha, delta):
    return twin.huber_pairs(pairs, (X - X.mean(axis=0)) / X.std(axis=0) @ beta, delta)[0] + alpha * np.abs(beta).sum()


@pytest.mark.parametrize(("importance", "learning_rate"), [("gain", 1.0), ("ndcg", 1.0), ("none", 0.5)])
def test_the_rounds_go_down_to_the_minimum(importance, learning_rate):
    X, y, qid = made(36)
    alpha, delta = 0.02, 1.0
    model = RSRank(20_000, alpha=alpha, importance=importance, delta=delta, learning_rate=learning_rate)
    model.fit(X, y, qid=qid)
    assert model.stop_reason_ == AT_ITS_LEAST
    pairs = written_out(y.tolist(), qid.tolist(), None, None, importance)

    def split(both):
        return objective(both[:6] - both[6:], X, pairs, 0.0, delta) + alpha * both.sum()

    best = minimize(split, np.zeros(12), bounds=[(0, None)] * 12, options={"ftol": 1e-13, "gtol": 1e-9}).fun
    values = [objective(beta, X, pairs, alpha, delta) for beta in staged_coefs(model, X)]
    assert values[-1] == pytest.approx(best, abs=1e-7)
    assert values[-1] <= best + 1e-7
    assert np.all(np.diff(values) < 1e-12)
    falls = -np.diff(values)
    assert np.all(falls >= np.array([done.gain for done in model.rounds_[1:]]) - 1e-12)  # at least as they promise


def staged_coefs(model, X):
    """Coefficients of features over their standard deviation, after each round."""
    beta = np.zeros(X.shape[1])
    for done in model.rounds_:
        beta[done.ranking.feature] += done.ranking.slope * X[:, done.ranking.feature].std()
        yield beta.copy()


def test_steps_shrink_to_zero_and_not_beyond():
    assert shrunk(np.array([3.0, -3.0, 0.5, -0.5]), np.array([1.0, 1.0, 1.0, 0.2])).tolist() == [2.0, -2.0, 0.0, -0.3]


def test_what_is_cut_off_is_zero_exactly():
    X, y, qid = made(42, seed=3)
    model = RSRank(2000, alpha=0.02).fit(X, y, qid=qid)
    back = RSRank(4000, alpha=0.1).fit(X, y, qid=qid, init_model=model)  # a larger penalty takes features out again
    out = (model.coef_ != 0) & (back.coef_ == 0)
    assert out.any()
    fresh = RSRank(4000, alpha=0.1).fit(X, y, qid=qid)
    np.testing.assert_allclose(back.coef_, fresh.coef_, atol=1e-6)


def test_a_coefficient_that_is_cut_off_adds_up_to_zero_whatever_the_rounding():
    columns = SimpleNamespace(
        norms=np.array([0.3]), averages=np.zeros(1), products=np.zeros_like, deviations=lambda _: np.zeros(1)
    )
    steps = TruncatedSteps(columns, curvatures=np.ones(1), learning_rate=1.0, alpha=10.0, total=1.0)
    for coefficient in np.random.default_rng(0).random(20):
        steps.coef[0] = coefficient
        steps.take(steps.fit(np.zeros(1), np.ones(1), np.zeros(1)).ranking)
        assert steps.coef[0] == 0


def test_a_larger_penalty_is_sparser_and_the_largest_learns_nothing():
    X, y, qid = made()
    used = [np.count_nonzero(RSRank(200, alpha=alpha).fit(X, y, qid=qid).coef_) for alpha in (0.0, 0.05, 0.2)]
    assert used[0] == 6 > used[1] > used[2] > 0
    with pytest.warns(UserWarning, match=f"Nothing was learned.*: {AT_ITS_LEAST}"):
        model = RSRank(alpha=10.0).fit(X, y, qid=qid)
    assert not model.coef_.any()


def test_pairs_that_are_ordered_by_a_margin_have_no_slope():
    X = np.arange(4.0)[:, None]
    model = RSRank(5000, alpha=0.0, delta=1.0).fit(X, [0, 1, 2, 3])
    assert model.stop_reason_ in (
        "every gradient is 0: all pairs that count are ordered by a margin of 1",
        AT_ITS_LEAST,
    )
    assert model.coef_[0] == pytest.approx(1, abs=1e-6)


def test_a_pair_that_is_far_out_of_order_pulls_no_harder_than_others():
    loss, queries = loss_of([0, 1, 2], [0, 0, 0], importance="none")
    for far in (10.0, 1e6):
        gradient = loss.derivatives(np.array([far, 0.0, -far])[queries.rows])[0]
        np.testing.assert_allclose(queries.to_caller(gradient), [2 / 3, 0.0, -2 / 3], rtol=1e-9, atol=1e-9)


def test_rounds_go_on_and_files_and_sparse_rows_score_alike(tmp_path):
    X, y, qid = made()
    X[::3, 1] = np.nan
    model = RSRank(12).fit(X, y, qid=qid)
    gone_on = RSRank(12).fit(X, y, qid=qid, init_model=RSRank(5).fit(X, y, qid=qid))
    np.testing.assert_array_equal(gone_on.predict(X), model.predict(X))
    *_, last = model.staged_predict(X)
    np.testing.assert_allclose(last, model.predict(X), atol=1e-12)
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(X), model.predict(X))
    row, column = np.nonzero(~np.isnan(X))
    stored = sp.csr_array((X[row, column], (row, column)), shape=X.shape)
    np.testing.assert_allclose(RSRank(12).fit(stored, y, qid=qid).predict(stored), model.predict(X), rtol=1e-9)
    model.export(tmp_path / "m.sql", "sql")
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_bad_input_gets_a_sentence():
    X, y, qid = made()
    with pytest.raises(PodiumError, match="RSRank learns from the numbers in y alone, so pairs must be None"):
        RSRank().fit(X, y, pairs=([0], [1]))
    with pytest.raises(PodiumError, match="'alpha' parameter"):
        RSRank(alpha=-1).fit(X, y, qid=qid)
    with pytest.raises(NoPairsError):
        RSRank().fit(X, np.ones(60))
    with pytest.raises(PodiumError, match="gain must hold every label"):
        RSRank(gain={0.0: 0.0}).fit(X, y, qid=qid)
    with pytest.raises(PodiumError, match="gain must not fall where labels rise"):
        RSRank(gain=lambda labels: 2.0 - labels).fit(X, y, qid=qid)
    other = PairBoost(2).fit(X, y, qid=qid)
    with pytest.raises(PodiumError, match="init_model must be a fitted RSRank; got PairBoost"):
        RSRank().fit(X, y, qid=qid, init_model=other)
    with pytest.warns(UserWarning, match="Nothing was learned"):
        RSRank().fit(np.ones((60, 2)), y, qid=qid)


def test_gains_that_are_lost_beside_a_row_without_weight_teach_nothing():
    X, y = np.arange(3.0)[:, None], [0.0, 1.0, 5000.0]  # 2^1 is 0 beside 2^5000
    with pytest.warns(UserWarning, match="Nothing was learned"):
        model = RSRank().fit(X, y, sample_weight=[1, 1, 0])
    assert np.isfinite(model.predict(X)).all()
