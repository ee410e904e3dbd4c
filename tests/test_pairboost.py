"""Pairwise surrogates against CR's formulas pair by pair, and PairBoost, L2Boost and L1Boost against plain twins."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from podium import L1Boost, L2Boost, NoPairsError, PairBoost, PodiumError, evaluate, load
from podium.data import Graded
from podium.linear import CenteredColumns
from podium.losses import Absolute, PairSurrogate, product_pairs
from profiles import examples
from reference import pair_surrogates as plain

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # hashes wrap around on purpose
]
KINDS = [(surrogate, pairs) for surrogate in ("exp", "hinge", "ramp") for pairs in ("signs", "products")]
each_kind = pytest.mark.parametrize(("surrogate", "pairs"), KINDS)
NUMBERS = st.sampled_from([0.0, 0.25, 0.5, 1.0, -1.0, 2.5, 0.3, -0.7])


def one_query(labels, weights=None):
    n = len(labels)
    return Graded(np.array(labels, float), np.array([0, n]), np.ones(n) if weights is None else weights, np.ones(1))


@st.composite
def rows(draw):
    """Labels, scores and integer weights of one query, with ties, not all labels alike."""
    n = draw(st.integers(2, 9))
    lists = [draw(st.lists(NUMBERS, min_size=n, max_size=n)) for _ in range(2)]
    weights = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(lambda w: sum(w) > 1))
    return *map(np.array, lists), np.array(weights)


def repeated_gradient(labels, scores, weights, *form):
    """CR's U of the rows, each as often as it weighs, times (n - 1)/n; rows of weight 0 are not looked at."""
    often = np.repeat(np.arange(len(labels)), weights)
    n = len(often)
    found = np.array(plain.cr_gradient(labels[often], scores[often], *form)) * (n - 1) / n
    return dict(zip(often.tolist(), found.tolist(), strict=True))


@each_kind
@examples(80, plain=25)
@given(rows(), st.sampled_from([0.5, 0.75, 1.0]), st.booleans(), st.sampled_from([1, 200]))
def test_gradients_are_those_of_cr_pair_by_pair(surrogate, pairs, given_rows, c, closed, short):
    labels, scores, weights = given_rows
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(product_pairs, "MAX_ROWS_BY_PAIRS", short)
        patch.setattr(product_pairs, "ROWS_PER_STRIP", 0.6)
        loss = PairSurrogate(one_query(labels, weights.astype(float)), surrogate, c=c, closed=closed, pairs=pairs)
    found = loss.negative_gradient(scores)
    for row, value in repeated_gradient(labels, scores, weights, surrogate, pairs, c, closed).items():
        assert found[row] == pytest.approx(value, rel=1e-9, abs=1e-11)
    expected = plain.mean_loss(labels, scores, weights.tolist(), surrogate, pairs, c)
    assert loss.value(scores) == pytest.approx(expected, rel=1e-9, abs=1e-11)


@each_kind
def test_long_queries_have_the_sums_of_all_pairs(surrogate, pairs):
    rng = np.random.default_rng(0)
    y, f, w = rng.normal(size=320), rng.normal(size=320), rng.integers(0, 3, 320).astype(float)
    y[::7], f[::5] = np.round(y[::7]), np.round(f[::5])
    loss = PairSurrogate(one_query(y, w), surrogate, c=0.4, pairs=pairs)
    a = np.subtract.outer(y, y) if pairs == "products" else np.sign(np.subtract.outer(y, y))
    z = a * np.subtract.outer(f, f)
    slope = {"exp": np.exp(-z), "hinge": z < 1, "ramp": ((z > 0) & (z < 0.4)) / 0.4}[surrogate]
    np.testing.assert_allclose(loss.negative_gradient(f), (w * a * slope).sum(axis=1) / w.sum(), rtol=1e-9, atol=1e-12)
    if pairs == "products":
        assert len(loss.sums.strips) > 5


@pytest.mark.parametrize(("surrogate", "pairs"), [("exp", "signs"), ("exp", "products"), ("hinge", "signs")])
def test_minus_the_gradient_of_the_mean_loss_is_two_over_n_times_cr(surrogate, pairs):
    rng = np.random.default_rng(1)
    labels, scores, step = rng.normal(size=12), 0.3 * rng.normal(size=12), 1e-6
    loss = PairSurrogate(one_query(labels), surrogate, pairs=pairs)
    u = np.array(plain.cr_gradient(labels, scores, surrogate, pairs, 0.5, False))
    for i in range(12):
        moved = [scores + sign * step * (np.arange(12) == i) for sign in (1, -1)]
        change = (loss.value(moved[0]) - loss.value(moved[1])) / (2 * step)
        assert -change * 12 / 11 == pytest.approx(2 / 12 * u[i], rel=1e-5, abs=1e-8)


def test_queries_are_summed_apart_and_weigh_in_the_mean():
    rng = np.random.default_rng(2)
    y, f = rng.normal(size=11), rng.normal(size=11)
    both = PairSurrogate(Graded(y, np.array([0, 4, 11]), np.ones(11), np.array([3.0, 1.0])), "hinge")
    parts = [PairSurrogate(one_query(y[own]), "hinge") for own in (slice(4), slice(4, 11))]
    expected = [parts[0].negative_gradient(f[:4]), parts[1].negative_gradient(f[4:])]
    np.testing.assert_allclose(both.negative_gradient(f), np.concatenate(expected), rtol=1e-12)
    mean = (3 * 4 * parts[0].value(f[:4]) + 7 * parts[1].value(f[4:])) / (3 * 4 + 7)
    assert both.value(f) == pytest.approx(mean)
    gradient, weight = both.derivatives(f, 1)
    np.testing.assert_array_equal(weight, [3.0] * 4 + [1.0] * 7)
    np.testing.assert_allclose(gradient, -weight * both.negative_gradient(f))
    first = both.derivatives(f, 0)[0] / -weight
    np.testing.assert_allclose(first, y - np.repeat([y[:4].mean(), y[4:].mean()], [4, 7]))


def test_tied_scores_move_in_the_closed_interval_alone():
    labels = np.array([0.0, 1.0, 2.0])
    still, moved = (PairSurrogate(one_query(labels), "ramp", closed=closed) for closed in (False, True))
    assert not still.negative_gradient(np.zeros(3)).any()
    np.testing.assert_allclose(moved.negative_gradient(np.zeros(3)), [-4 / 3, 0.0, 4 / 3])


def test_the_median_of_weighted_labels_starts_the_absolute_loss():
    assert Absolute(np.array([5.0, 1.0, 3.0]), np.array([1.0, 1.0, 1.0])).start() == 3
    assert Absolute(np.array([5.0, 1.0, 3.0, 2.0]), np.ones(4)).start() == 2.5
    assert Absolute(np.array([5.0, 1.0]), np.array([3.0, 1.0])).start() == 5


def made(n=24, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, p)), 2)
    return X, X @ np.linspace(1.5, -0.5, p) + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("select", ["squares", "updated", "simple"])
@each_kind
def test_rounds_are_those_of_algorithm_2(surrogate, pairs, select):
    X, y = made(16)
    y = y / 2
    model = PairBoost(6, surrogate=surrogate, pairs=pairs, select=select, learning_rate=0.4).fit(X, y)
    scores, taken = plain.boost(X.T.tolist(), y.tolist(), 6, 0.4, surrogate, pairs, 0.5, False, select)
    assert [done.ranking.feature for done in model.rounds_] == taken
    np.testing.assert_allclose(model.predict(X), scores, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(X @ model.coef_ + model.intercept_, scores, rtol=1e-8, atol=1e-10)


def test_expit_squeezes_responses_of_products_and_of_the_first_round():
    X, y = made()
    squeezed = 1 / (1 + np.exp(-y))
    for pairs in ("signs", "products"):
        one = PairBoost(4, pairs=pairs, response="expit").fit(X, y)
        np.testing.assert_allclose(one.predict(X), PairBoost(4, pairs=pairs).fit(X, squeezed).predict(X), rtol=1e-9)


def test_l2boost_goes_to_least_squares_and_l1boost_to_least_absolute_deviations():
    X, y = made(30, 3)
    design = np.column_stack([np.ones(30), X])
    expected = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose(L2Boost(400, learning_rate=0.5).fit(X, y).predict(X), expected, atol=1e-6)
    far = y.copy()
    far[0] += 1e4
    robust = L1Boost(400, learning_rate=0.05).fit(X, far)
    assert evaluate(y, robust.predict(X), measures="hard_loss", n_resamples=0)["hard_loss"] < 0.1
    assert robust.base_score_ == np.median(far)


def test_l2boost_by_stumps_is_mart_on_two_leaves():
    from podium import MART

    X, y = made(60)
    ours = L2Boost(5, base="stump").fit(X, y)
    theirs = MART(5, max_leaves=2, min_child_samples=5, quantized=False, min_child_weight=0.0).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)
    with pytest.raises(AttributeError, match=r'base="linear" alone'):
        _ = ours.coef_


@pytest.mark.parametrize("base", ["linear", "stump", "tree"])
def test_staged_scores_files_and_importances(base, tmp_path):
    X, y = made(60)
    model = PairBoost(5, base=base, max_leaves=4).fit(X, y)
    assert len(model.rounds_) == 5
    *_, last = model.staged_predict(X)
    np.testing.assert_allclose(last, model.predict(X), rtol=1e-12, atol=1e-15)
    model.save(tmp_path / "m")
    loaded = load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.rounds_[2].gain == model.rounds_[2].gain
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.feature_importances_.argmax() == 0
    gone_on = PairBoost(5, base=base, max_leaves=4).fit(
        X, y, init_model=PairBoost(2, base=base, max_leaves=4).fit(X, y)
    )
    np.testing.assert_array_equal(gone_on.predict(X), model.predict(X))


def test_missing_values_count_as_means_and_sparse_as_missing():
    X, y = made(40)
    X[::3, 1] = np.nan
    means = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    model = PairBoost(8).fit(X, y)
    np.testing.assert_allclose(model.predict(X), PairBoost(8).fit(means, y).predict(means), rtol=1e-9)
    row, column = np.nonzero(~np.isnan(X))
    stored = sp.csr_array((X[row, column], (row, column)), shape=X.shape)
    np.testing.assert_allclose(PairBoost(8).fit(stored, y).predict(stored), model.predict(X), rtol=1e-9)
    assert model.centers_[1] == pytest.approx(np.nanmean(X[:, 1]))


def test_constant_columns_have_no_slope():
    columns = CenteredColumns.of(np.array([[0.1, 1.0], [0.1, 2.0], [0.1, np.nan]]), np.arange(3), np.ones(3))
    np.testing.assert_array_equal(columns.norms, [1.0, 0.5**0.5])
    nearly = np.nextafter(0.1, 1)
    given = np.array([[0.1, 1.0, 0.1], [0.1, 2.0, nearly], [0.1, np.nan, 0.1]])
    columns = CenteredColumns.of(given, np.arange(3), np.ones(3))
    np.testing.assert_array_equal(columns.norms, [1.0, 0.5**0.5, 1.0])
    np.testing.assert_array_equal(columns.table[1], [-0.5, 0.5, 0.0])


def test_an_exponential_of_products_diverges_and_says_so():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(50, 4)), 3 * rng.normal(size=50)  # what is not related is ordered wrongly
    model = PairBoost(50, pairs="products", learning_rate=0.2).fit(X, y)
    assert 0 < len(model.rounds_) < 50
    assert "the exponential loss diverges, to" in model.stop_reason_
    assert f"in round {len(model.rounds_) + 1}, which is left out" in model.stop_reason_
    assert plain.mean_loss(y, model.predict(X), [1.0] * 50, "exp", "products", 0.5) < 1e10


def test_a_ramp_without_pairs_in_its_interval_stops():
    X, y = made(12, 1)
    model = PairBoost(5, surrogate="ramp", c=1e-9).fit(X, y)
    assert len(model.rounds_) == 1
    assert model.stop_reason_ == "every gradient is 0: no pair lies in ]0, 1e-09[, where alone the ramp has a slope"


def test_a_hinge_with_all_pairs_beyond_its_margin_stops():
    y = np.arange(5.0)
    model = PairBoost(50, surrogate="hinge", learning_rate=1.0).fit(10 * y[:, None], 10 * y)
    assert model.stop_reason_ == "every gradient of the hinge loss is 0: all pairs are ordered by a margin"


def test_one_feature_in_every_round_is_said():
    X, y = made(40)
    X = np.column_stack([y, X[:, 1]])
    with pytest.warns(UserWarning, match="Every one of 20 rounds took feature 0"):
        model = PairBoost(20).fit(X, y)
    assert model.stop_reason_ == "all rounds are done; every round took feature 0"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PairBoost(19).fit(X, y)


@pytest.mark.parametrize("ranker", [PairBoost(2), L2Boost(2), L1Boost(2)], ids=lambda one: type(one).__name__)
def test_bad_input_gets_a_sentence(ranker):
    X, y = made()
    name = type(ranker).__name__
    with pytest.raises(PodiumError, match=f"{name} learns from the numbers in y alone, so pairs must be None"):
        ranker.fit(X, y, pairs=([0], [1]))
    with pytest.raises(PodiumError, match=f"{name} requires y to be passed"):
        ranker.fit(X, pairs=([0], [1]))
    with pytest.raises(PodiumError, match="feature 1 does not: use NaN for what is missing"):
        ranker.fit(np.where(np.arange(4) == 1, np.inf, X), y)
    with pytest.raises(PodiumError, match="y must lie within"):
        ranker.fit(X, 1e200 * y)
    other = type(ranker)(2, base="stump").fit(X, y)
    with pytest.raises(PodiumError, match="init_model must have base='linear', as this one has; got 'stump'"):
        ranker.fit(X, y, init_model=other)
    with pytest.warns(UserWarning, match="Nothing was learned.*: no feature follows the gradients"):
        ranker.fit(np.ones((24, 2)), y)


def test_one_label_is_nothing_to_rank():
    with pytest.raises(NoPairsError, match="all rows have the same label"):
        PairBoost().fit(made()[0], np.ones(24))


def test_rankboost_on_real_labels_is_the_sign_based_exponential_case():
    from podium import RankBoost
    from podium.data import RankingData, feedback_of
    from podium.pairs import Distribution

    X, y = made(20)
    data = RankingData.from_arrays(X, y)
    scores = np.random.default_rng(0).normal(size=20)
    distribution = Distribution(feedback_of(data), 20)
    distribution.update(scores)
    loss = PairSurrogate(Graded(data.labels, data.queries.offsets, data.row_weight, data.query_weight), "exp")
    u = loss.negative_gradient(scores)
    potentials = distribution.potentials()
    np.testing.assert_allclose(potentials / np.abs(potentials).sum(), u / np.abs(u).sum(), rtol=1e-9)
    assert -RankBoost(20).fit(X, y).score(X, y) < 0.2


def test_linear_models_are_exported_and_trees_too(tmp_path):
    X, y = made(40)
    for base, path in (("linear", "m.sql"), ("tree", "m.json")):
        PairBoost(3, base=base).fit(X, y).export(tmp_path / path, "sql" if base == "linear" else "xgboost-json")
        assert (tmp_path / path).stat().st_size > 0
