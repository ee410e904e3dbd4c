"""RankSVM: sums over pairs against the pairs written out, optima against a general solver, conditions and gaps."""

import doctest
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from podium import NoPairsError, PodiumError, RankSVM, SizeError, evaluate, load, read_letor
from podium._compiled import JIT_DISABLED
from podium.data.feedback import feedback_of
from podium.data.ranking_data import RankingData
from podium.linear import kernel_features, newton
from podium.linear.margin_sums import PairMargins, levels_of
from podium.rankers import rank_svm
from profiles import examples
from reference import margins as twin

pytestmark = pytest.mark.plain

SCORES = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5, 3.0])
PENALTIES = ("l2", "l1", "mcp", "log")


@st.composite
def feedbacks(draw, most=9):
    """Labels in weighted queries, explicit pairs across them, or both; scores with ties and margins of exactly 1."""
    n = draw(st.integers(2, most))
    per_row = {"min_size": n, "max_size": n}
    given = {}
    if draw(st.booleans()):
        given["y"] = draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, 7.5]), **per_row))
        given["qid"] = draw(st.lists(st.integers(0, 2), **per_row))
        given["sample_weight"] = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), **per_row).filter(any))
        given["query_weight"] = {query: draw(st.sampled_from([0.5, 1.0, 2.0])) for query in set(given["qid"])}
    if "y" not in given or draw(st.booleans()):
        rows = st.integers(0, n - 1)
        pair = st.tuples(rows, rows, st.sampled_from([0.5, 1.0, 3.0])).filter(lambda p: p[0] != p[1])
        given["pairs"] = tuple(map(list, zip(*draw(st.lists(pair, min_size=1, max_size=8)), strict=True)))
    return given, np.array(draw(st.lists(SCORES, **per_row)))


def twin_pairs(given):
    """The same feedback as a list of pairs."""
    pairs = list(zip(*given.get("pairs", ((), (), ())), strict=True))
    if "y" in given:
        labels = given["y"], given["qid"], given.get("sample_weight"), given.get("query_weight")
        pairs += [pair for pair in twin.label_pairs(*labels) if pair[2] > 0]
    return pairs


def search(n=60, seed=0, n_features=5):
    """Rows of six queries with three grades, features of different scales, two of them noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features)) * [1.0, 10.0, 0.1, 1.0, 3.0][:n_features]
    y = np.digitize(X[:, 0] - X[:, 1] / 10 + rng.normal(size=n), [-0.5, 1.0]).astype(float)
    return X, y, np.arange(n) % 6


@examples(200, plain=60)
@given(feedbacks())
def test_sums_over_active_pairs_are_those_of_the_pairs_written_out(task):
    given, scores = task
    pairs = twin_pairs(given)
    if not pairs:
        return
    data = RankingData.from_arrays(np.arange(len(scores))[:, None], **given)
    rows = data.queries.rows
    state = PairMargins(feedback_of(data), len(scores)).at(scores[rows])
    loss, slack, gradient, hessian = twin.margins(pairs, scores)
    np.testing.assert_allclose([state.loss, state.slack], [loss, slack], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(data.queries.to_caller(state.gradient), gradient, rtol=1e-12, atol=1e-13)
    columns = np.random.default_rng(0).normal(size=(len(scores), 3))
    found = state.curvature(columns[rows])
    np.testing.assert_allclose(data.queries.to_caller(found), hessian @ columns, rtol=1e-11, atol=1e-12)


@examples(60, plain=15)
@given(feedbacks())
def test_the_gradient_is_that_of_the_loss_by_differences(task):
    given, scores = task
    if not twin_pairs(given):
        return
    data = RankingData.from_arrays(np.arange(len(scores))[:, None], **given)
    margins, scores = PairMargins(feedback_of(data), len(scores)), scores[data.queries.rows] / 1.7
    steps = 1e-6 * np.eye(len(scores))
    by_difference = [(margins.at(scores + h).loss - margins.at(scores - h).loss) / 2e-6 for h in steps]
    np.testing.assert_allclose(margins.at(scores).gradient, by_difference, atol=1e-7)


def test_far_scores_lose_no_digits():
    data = RankingData.from_arrays(np.arange(4)[:, None], [0, 1, 0, 1], qid=[0, 0, 1, 1])
    margins = PairMargins(feedback_of(data), 4)
    scores = np.array([0.0, 0.25, 0.5, 0.5])
    far = scores + np.repeat([1e9, -1e9], 2)  # 1e9 + 0.25 is exact
    assert margins.at(far).loss == pytest.approx(margins.at(scores).loss, rel=1e-12)


def test_levels_count_the_labels_of_each_query():
    levels, n_levels = levels_of(np.array([5.0, 1.0, 5.0, 7.0, 7.0, 0.5]), np.array([0, 3, 5, 6]))
    assert levels.tolist() == [1, 0, 1, 0, 0, 0]
    assert n_levels.tolist() == [2, 1, 1]


@pytest.mark.parametrize("C", [0.5, 50.0])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_optimum_is_one_by_its_conditions_and_by_its_objective(penalty, C):
    X, y, qid = search()
    weight, theta = np.random.default_rng(3).integers(0, 4, len(y)), 0.4
    model = RankSVM(C, penalty=penalty, theta=theta, tol=1e-9).fit(X, y, qid=qid, sample_weight=weight)
    rows, means, deviations = twin.scaled(X, weight)
    pairs = [pair for pair in twin.label_pairs(y, qid, weight) if pair[2] > 0]
    w = model.coef_ * deviations
    np.testing.assert_allclose(model.means_, means)
    assert model.objective_ == pytest.approx(twin.objective(penalty, w, rows, pairs, C, theta), rel=1e-10)
    pull = twin.pull(w, rows, pairs, C)
    first = np.abs(twin.pull(0 * w, rows, pairs, C)).max()
    if penalty == "l2":
        np.testing.assert_allclose(w, -pull, atol=1e-7 * first)
    else:
        slope = twin.slope(penalty, w, theta)
        np.testing.assert_allclose(pull[w != 0], -(slope * np.sign(w))[w != 0], atol=1e-7 * first)
        assert np.all(np.abs(pull[w == 0]) <= slope[w == 0] + 1e-7 * first)
    assert model.violation_ <= 1e-7  # below the root of rounding no step lowers the objective


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_no_general_solver_finds_a_lower_objective(penalty):
    X, y, qid = search(seed=1)
    rows, _, _ = twin.scaled(X, np.ones(len(y)))
    pairs = twin.label_pairs(y, qid)
    model = RankSVM(3.0, penalty=penalty, tol=1e-9).fit(X, y, qid=qid)

    def objective(parts):  # w = first half - second half, both not negative: smooth for l1 too
        w = parts[:5] - parts[5:]
        value = twin.objective("l2", w, rows, pairs, 3.0) if penalty == "l2" else parts.sum()
        return value if penalty == "l2" else value + 3.0 * twin.margins(pairs, rows @ w)[0]

    best = minimize(objective, np.full(10, 0.1), bounds=[(0, None)] * 10, method="L-BFGS-B", options={"ftol": 1e-14})
    assert model.objective_ <= best.fun + 1e-9
    assert best.fun == pytest.approx(model.objective_, rel=1e-5)
    assert model.gap_ < 1e-9


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_the_gap_bounds_how_far_an_unfinished_fit_is_from_the_optimum(penalty):
    X, y, qid = search(seed=2)
    best = RankSVM(20.0, penalty=penalty, tol=1e-10).fit(X, y, qid=qid).objective_
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        early = RankSVM(20.0, penalty=penalty, max_iter=1).fit(X, y, qid=qid)
    assert early.n_iter_ == 1
    assert 0 < early.objective_ - best <= early.gap_ * early.objective_ < early.objective_


def test_concave_penalties_fit_better_with_as_few_features():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 12))
    y = (X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=200) > 0).astype(float)
    models = {name: RankSVM(3.0, penalty=name, theta=0.3).fit(X, y) for name in PENALTIES}
    used = {name: np.flatnonzero(model.coef_).tolist() for name, model in models.items()}
    assert used == {"l2": list(range(12)), "l1": [0, 1], "mcp": [0, 1], "log": [0, 1]}
    margins = PairMargins(feedback_of(RankingData.from_arrays(X, y)), 200)
    order = RankingData.from_arrays(X, y).queries.rows
    losses = {name: margins.at(model.predict(X)[order]).loss for name, model in models.items()}
    assert max(losses["mcp"], losses["log"]) < losses["l1"]


def test_majorisation_never_ends_above_its_start():
    X, y, qid = search(seed=4)
    rows, _, deviations = twin.scaled(X, np.ones(len(y)))
    pairs = twin.label_pairs(y, qid)
    start = RankSVM(10.0, penalty="l1").fit(X, y, qid=qid).coef_ * deviations
    for penalty in ("mcp", "log"):
        model = RankSVM(10.0, penalty=penalty, theta=0.2).fit(X, y, qid=qid)
        assert model.objective_ <= twin.objective(penalty, start, rows, pairs, 10.0, 0.2)
        assert model.gap_ == 1.0


def test_two_grades_are_the_support_vector_machine_for_auc():
    X, y, _ = search(200, seed=6)
    y = (y > 0).astype(float)
    model = RankSVM(5.0, eval_metric="auc").fit(X, y)
    by_feature = [evaluate(y, sign * X[:, k], measures="auc")["auc"] for k in range(5) for sign in (-1, 1)]
    assert model.score(X, y) > max(by_feature)


def test_labels_as_pairs_give_the_same_weights():
    X, y, qid = search(30)
    pairs = tuple(map(list, zip(*twin.label_pairs(y, qid), strict=True)))
    by_labels = RankSVM(5.0, tol=1e-10).fit(X, y, qid=qid)
    np.testing.assert_allclose(RankSVM(5.0, tol=1e-10).fit(X, pairs=pairs).coef_, by_labels.coef_, rtol=1e-7)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_a_kernel_score_is_optimal_among_its_functions(kernel):
    X, y, qid = search(36)
    model = RankSVM(4.0, kernel=kernel, gamma=0.3, tol=1e-10).fit(X, y, qid=qid)
    rows, _, _ = twin.scaled(X, np.ones(len(y)))
    power = 2 if kernel == "rbf" else 1
    K = np.array([[np.exp(-0.3 * np.sum(np.abs(a - b) ** power)) for a in rows] for b in rows])
    pairs, scores = twin.label_pairs(y, qid), model.predict(X)
    loss, _, gradient, _ = twin.margins(pairs, scores)
    a = -4.0 * gradient  # the gradient of ½ a·K a + C L(K a) is K (a + C ∂L)
    np.testing.assert_allclose(K @ a, scores, atol=1e-7)
    assert model.objective_ == pytest.approx(0.5 * a @ K @ a + 4.0 * loss, rel=1e-8)
    assert model.gap_ < 1e-8


@pytest.mark.parametrize("kernel", kernel_features.KERNELS)
def test_products_of_kernel_features_are_the_kernel(kernel):
    X, _, _ = search(40)
    rows, _, _ = twin.scaled(X, np.ones(40))
    rows[1] = rows[0]
    mapped = kernel_features.KernelFeatures.of(rows, kernel, 0.3, "RankSVM")
    values = kernel_features.kernel_values(rows, rows, kernel, 0.3)
    assert mapped.features.shape == (40, 39)
    np.testing.assert_allclose(mapped.features @ mapped.features.T, values, atol=1e-10)
    coef = np.arange(39.0)
    np.testing.assert_allclose(values @ mapped.row_weights(coef), mapped.features @ coef, atol=1e-8)


def test_kernels_of_too_many_rows_are_refused_with_the_memory_and_the_linear_form(monkeypatch):
    monkeypatch.setattr(kernel_features, "MAX_KERNEL_ROWS", 50)
    X, y, qid = search(60)
    with pytest.raises(SizeError, match=r'at most 50 rows; got 60: .* need 0\.0 GiB; use kernel="linear"'):
        RankSVM(kernel="rbf").fit(X, y, qid=qid)


def test_a_warm_start_ends_at_the_same_weights_in_fewer_steps():
    X, y, qid = search(200)
    model = RankSVM(10.0, warm_start=True).fit(X, y, qid=qid)
    cold = RankSVM(11.0).fit(X, y, qid=qid)
    warm = model.set_params(C=11.0).fit(X, y, qid=qid)
    assert warm.n_iter_ < cold.n_iter_
    np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-5 * np.abs(cold.coef_).max())


@pytest.mark.parametrize("scale", [1e-20, 1e-40])
def test_a_start_worse_than_none_is_dropped(scale):
    X, y, qid = search(60)
    cold = RankSVM().fit(X, y, qid=qid)
    warm = RankSVM(warm_start=True).fit(scale * X, y, qid=qid).fit(X, y, qid=qid)
    assert warm.objective_ == cold.objective_
    np.testing.assert_array_equal(warm.coef_, cold.coef_)


def test_missing_values_count_as_the_mean():
    X, y, qid = search(60)
    X[::7, 0] = np.nan
    model = RankSVM().fit(X, y, qid=qid)
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    np.testing.assert_allclose(model.predict(X), model.predict(filled), atol=1e-12)
    np.testing.assert_allclose(model.predict(X), (filled - model.means_) @ model.coef_, atol=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_constant_features_and_repeated_rows_are_no_obstacle(kernel):
    X, y, qid = search(24)
    X[:, 2] = 7.0
    X[1] = X[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RankSVM(kernel=kernel).fit(X, y, qid=qid)
    assert np.isfinite(model.predict(X)).all()
    assert RankSVM(penalty="l1", C=1e3).fit(X, y, qid=qid).coef_[2] == 0


def test_features_that_say_nothing_give_no_weights():
    model = RankSVM(penalty="l1").fit(np.ones((4, 2)), [0, 1, 0, 1])
    assert model.coef_.tolist() == [0, 0]
    assert (model.violation_, model.gap_, model.objective_) == (0.0, 0.0, 1.0)


def test_a_kernel_ranker_is_saved_and_refuses_another_kernel_until_fitted_again(tmp_path):
    X, y, qid = search(24)
    model = RankSVM(kernel="rbf").fit(X, y, qid=qid)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))
    with pytest.raises(PodiumError, match="is no sum of features"):
        model.export(tmp_path / "other", "ranklib")
    with pytest.raises(PodiumError, match="kernel must be 'rbf', as it was when RankSVM was fitted"):
        model.set_params(kernel="linear").save(tmp_path / "model")
    assert not hasattr(model.fit(X, y, qid=qid), "dual_coef_")
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))


def test_bad_input_is_refused_with_a_sentence():
    X, y, qid = search(24)
    with pytest.raises(PodiumError, match=r'penalty must be "l2" with kernel=\'rbf\'.* got \'l1\''):
        RankSVM(penalty="l1", kernel="rbf").fit(X, y, qid=qid)
    with pytest.raises(NoPairsError, match="all rows have the same label"):
        RankSVM().fit(X, 0 * y)
    with pytest.raises(PodiumError, match=r"X must lie within ±1e\+100"):
        RankSVM().fit(X * 1e200, y, qid=qid)
    X[0, 3] = 1e40
    with pytest.raises(PodiumError, match=r"X must lie within 1e\+30 of its mean, .* feature 3 does not"):
        RankSVM(scale=False).fit(X, y, qid=qid)


def test_coordinate_descent_solves_its_quadratic_model():
    rng = np.random.default_rng(0)
    half = rng.normal(size=(6, 6))
    hessian, pull, slopes, coef = half @ half.T + np.eye(6), rng.normal(size=6), rng.random(6), rng.normal(size=6)
    coef[:2] = 0.0
    moved = coef.copy()
    newton.descend_coordinates(hessian, pull, slopes, coef, moved)
    slope = pull + hessian @ (moved - coef)
    assert newton.subgradient_violation(slope, slopes, moved).max() < 1e-8


@pytest.mark.skipif(JIT_DISABLED, reason="10,000 rows are for compiled kernels")
def test_ranksvm_reaches_the_official_one_on_a_fold_of_mq2008(shared_data):
    folder = shared_data("mq2008/Fold1")
    train, test = (read_letor(folder / f"{name}.txt.gz") for name in ("train", "test"))
    model = RankSVM(10.0).fit(train.X, train.y, qid=train.qid)
    found = evaluate(
        test.y, model.predict(test.X), qid=test.qid, measures=["map", "ndcg@10"], convention="letor", n_resamples=0
    )
    assert found["map"] > 0.4502 - 0.005
    assert found["ndcg@10"] > 0.2117 - 0.005


def test_examples_of_the_docstrings():
    assert doctest.testmod(rank_svm).failed == 0
