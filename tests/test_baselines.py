"""The paper's three baselines against plain twins, and the laws of weights, order and missing values."""

import doctest

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from podium import load
from podium._validation import FormatError, NoPairsError, PodiumError
from podium.data.feedback import feedback_of
from podium.data.ranking_data import RankingData
from podium.model_file import read_model, write_model
from podium.pairs.feature_loss import RankingLoss, first_lowest, lowest_first
from podium.rankers import baselines
from podium.rankers.baselines import NearestNeighbor, PreferenceRegression, VectorSimilarity
from profiles import examples
from reference import baselines as twin

pytestmark = pytest.mark.plain

RANKERS = [PreferenceRegression, NearestNeighbor, VectorSimilarity]
FROM_LABELS = [PreferenceRegression, VectorSimilarity]
each_ranker = pytest.mark.parametrize("ranker", RANKERS)
each_from_labels = pytest.mark.parametrize("ranker", FROM_LABELS)

VALUES = st.sampled_from([np.nan, np.nan, 0.0, 1.0, 2.0, 2.5, -3.0])


@st.composite
def tasks(draw):
    """Features with gaps and a feedback: labels in weighted queries, explicit pairs, or both."""
    n_rows, n_features = draw(st.integers(2, 9)), draw(st.integers(1, 4))
    per_row = {"min_size": n_rows, "max_size": n_rows}
    X = np.array(draw(st.lists(st.lists(VALUES, min_size=n_features, max_size=n_features), **per_row)))
    given = {}
    if draw(st.booleans()):
        given["y"] = draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, 7.5]), **per_row))
        given["qid"] = draw(st.lists(st.integers(0, 2), **per_row))
        given["sample_weight"] = draw(st.lists(st.integers(0, 3), **per_row).filter(any))
        given["query_weight"] = {query: draw(st.integers(1, 3)) for query in set(given["qid"])}
    if "y" not in given or draw(st.booleans()):
        rows = st.integers(0, n_rows - 1)
        pair = st.tuples(rows, rows, st.integers(1, 3)).filter(lambda p: p[0] != p[1])
        given["pairs"] = tuple(map(list, zip(*draw(st.lists(pair, min_size=1, max_size=8)), strict=True)))
    return X, given


def twin_feedback(n_rows, given):
    pairs = list(zip(*given.get("pairs", ((), (), ())), strict=True))
    weights = given.get("sample_weight", [1] * n_rows)
    return twin.feedback(n_rows, given.get("y"), given.get("qid"), weights, given.get("query_weight"), pairs)


def as_features(X):
    return [[None if np.isnan(value) else value for value in column] for column in X.T]


def movies(seed=0, n_rows=60, n_features=7):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 5, n_rows) / 2
    X = np.round(y[:, None] + rng.normal(0, 1.5, (n_rows, n_features)), 1)
    X[rng.random(X.shape) < 0.4] = np.nan
    return X, y, np.repeat(np.arange(6), n_rows // 6)


def without_nan(X):
    """The sparse matrix that stores what is not NaN, zeros too."""
    rows, columns = np.nonzero(~np.isnan(X))
    return sp.csr_array((X[rows, columns], (rows, columns)), shape=X.shape)


@examples(300, plain=60)
@given(tasks(), st.integers(0, 3))
def test_nearest_neighbors_are_the_best_of_all_features_and_defaults(task, more):
    X, given = task
    count = 1 + more % X.shape[1]
    pairs = twin_feedback(len(X), given)
    if not pairs:
        with pytest.raises(NoPairsError):
            NearestNeighbor(count).fit(X, **given)
        return
    model = NearestNeighbor(count).fit(X, **given)
    weights = given.get("sample_weight", [1] * len(X))
    found = twin.nearest_neighbors(pairs, as_features(X), weights, count)
    features, defaults, losses = zip(*found, strict=True)
    assert model.features_.tolist() == list(features)
    np.testing.assert_allclose(model.defaults_, defaults, rtol=1e-12)
    np.testing.assert_allclose(model.losses_, losses, rtol=0, atol=1e-12)
    assert (model.feature_, model.default_, model.loss_) == (features[0], model.defaults_[0], model.losses_[0])
    expected = [twin.neighbor_score(found, row) for row in as_features(X.T)]
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-12, atol=1e-12)
    if count == 1:
        assert twin.ranking_loss(pairs, model.predict(X).tolist()) == pytest.approx(losses[0], abs=1e-12)


@examples(150, plain=40)
@given(tasks())
def test_every_feature_has_the_loss_and_default_of_its_twin(task):
    X, given = task
    pairs = twin_feedback(len(X), given)
    if not pairs:
        return
    data = RankingData.from_arrays(X, **given)
    loss, scale = RankingLoss(feedback_of(data), len(X)), twin.rating_scale(as_features(X))
    for feature, column in enumerate(as_features(X)):
        values = X[data.queries.rows, feature]
        rows = np.flatnonzero(~np.isnan(values))
        found = loss.best_default(rows, values[rows], data.row_weight[rows], np.array(scale))
        assert found == pytest.approx(twin.best_default(pairs, column, given.get("sample_weight"), scale), abs=1e-12)


def test_nearest_neighbor_that_ranks_all_pairs_takes_its_average_over_all_rows():
    X = [[1.0], [2.0], [9.0], [np.nan]]
    model = NearestNeighbor().fit(X, pairs=([1], [0]))
    assert (model.feature_, model.default_, model.loss_) == (0, 4.0, 0.0)
    assert model.predict([[np.nan], [7.0]]).tolist() == [4.0, 7.0]


@pytest.mark.plain
def test_of_losses_that_are_equal_but_for_rounding_the_first_is_the_lowest():
    losses = np.array([0.5, 0.1 + 0.2, 0.3, 0.3 + 1e-9])
    assert losses[1] > losses[2]
    assert first_lowest(losses) == 1
    assert lowest_first(losses, 4).tolist() == [1, 2, 3, 0]


def test_nearest_neighbor_takes_the_lowest_feature_and_default_of_equally_good_ones():
    X = [[np.nan, 5.0, 5.0], [1.0, np.nan, np.nan], [2.0, 6.0, 6.0], [3.0, 7.0, 7.0]]
    model = NearestNeighbor().fit(X, pairs=([1, 3, 2, 3, 2], [0, 0, 0, 1, 1]))
    # As a default below all is not at hand, feature 0 ties one pair; features 1 and 2 tie one as well.
    assert (model.feature_, model.default_, model.loss_) == (0, 1.0, pytest.approx(0.1))


def test_of_losses_that_rounding_alone_parts_the_first_feature_is_the_nearest():
    weights = [0.1, 0.2, 0.3, 0.4]
    X = np.tile([[0.0], [1.0]], (4, 2))
    X[:4, 0] = [1.0, 0.0, 1.0, 0.0]  # orders the pairs of 0.1 and 0.2 wrongly
    X[4:6, 1] = [1.0, 0.0]  # and this one that of 0.3
    model = NearestNeighbor(2).fit(X, pairs=([1, 3, 5, 7], [0, 2, 4, 6], weights))
    np.testing.assert_allclose(model.losses_, [0.3, 0.3], rtol=1e-14)
    assert model.losses_[0] > model.losses_[1]
    assert model.features_.tolist() == [0, 1]


def test_defaults_may_be_values_that_only_other_features_have():
    X = [[np.nan, 0.0], [1.0, 2.0], [2.0, 1.5], [3.0, 0.5]]
    model = NearestNeighbor().fit(X, [0, 1, 2, 3])  # nothing that feature 0 has itself is below all it has
    assert (model.feature_, model.default_, model.loss_) == (0, 0.0, 0.0)
    between = [[1.0, 0.0], [np.nan, 1.5], [2.0, 2.0], [3.0, 1.0]]
    model = NearestNeighbor().fit(between, [0, 1, 2, 3])
    assert (model.feature_, model.default_, model.loss_) == (0, 1.5, 0.0)
    above = [[1.0, 4.0], [2.0, 5.0], [3.0, 0.0], [np.nan, 4.0]]
    model = NearestNeighbor().fit(above, [0, 1, 2, 3])
    assert (model.feature_, model.default_, model.loss_) == (0, 4.0, 0.0)


def test_more_neighbors_than_features_are_refused():
    with pytest.raises(PodiumError, match="n_neighbors must be at most the number of features, 2; got 3"):
        NearestNeighbor(3).fit([[1.0, 2.0], [2.0, 1.0]], [0, 1])
    with pytest.raises(PodiumError, match="n_neighbors"):
        NearestNeighbor(0).fit([[1.0], [2.0]], [0, 1])


def test_several_neighbors_are_saved_loaded_and_exported(tmp_path):
    X, y, qid = movies()
    model = NearestNeighbor(3).fit(X, y, qid=qid)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    for name in ("features_", "defaults_", "losses_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
    model.export(tmp_path / "scorer.py", "python")
    space = {}
    exec((tmp_path / "scorer.py").read_text(encoding="utf-8"), space)
    rows = [[None if np.isnan(x) else x for x in row] for row in X.tolist()]
    np.testing.assert_allclose([space["score"](row) for row in rows], model.predict(X), rtol=1e-12)
    content = read_model(tmp_path / "model")
    for name, value, message in (
        ("features", np.array([0, 1]), "features must have 3 entries; got 2"),
        ("features", np.array([0, 1, 2, 3]), "features must have 3 entries; got 4"),
        ("features", np.array([0, 1, 7]), "features must be a list of integers from 0 to 6"),
        ("defaults", np.array([0.0]), "defaults must have 3 entries; got 1"),
    ):
        write_model(tmp_path / "broken", {**content, "learned": {**content["learned"], name: value}})
        with pytest.raises(FormatError, match=message):
            load(tmp_path / "broken")


@each_from_labels
def test_exported_weights_score_as_the_ranker_does(ranker, tmp_path):
    X, y, qid = movies()
    model = ranker().fit(X, y, qid=qid)
    model.export(tmp_path / "scorer.py", "python")
    space = {}
    exec((tmp_path / "scorer.py").read_text(encoding="utf-8"), space)
    rows = [[None if np.isnan(x) else x for x in row] for row in X.tolist()]
    np.testing.assert_allclose([space["score"](row) for row in rows], model.predict(X), rtol=1e-9)


def test_a_file_names_a_feature_that_there_is(tmp_path):
    X, y, qid = movies()
    NearestNeighbor().fit(X, y, qid=qid).save(tmp_path / "model")
    content = read_model(tmp_path / "model")
    for feature in (-1, 7):
        write_model(tmp_path / "broken", {**content, "learned": {**content["learned"], "feature_": feature}})
        with pytest.raises(FormatError, match="feature_ must be an integer, from 0 to 6; got"):
            load(tmp_path / "broken")


def test_a_default_is_finite_though_the_scale_is_not():
    model = NearestNeighbor().fit([[1.0, np.inf], [2.0, 0.0], [np.nan, 0.5]], [0, 1, 2])
    assert (model.feature_, model.default_, model.loss_) == (0, baselines.LARGEST, 0.0)


def test_weights_of_any_size_give_the_same_neighbor():
    X, y, qid = movies()
    one = NearestNeighbor().fit(X, y, qid=qid, pairs=([0], [1]))
    for factor in (1e-120, 1e120):
        weights = np.full(len(y), factor)
        other = NearestNeighbor().fit(X, y, qid=qid, sample_weight=weights, pairs=([0], [1], [factor**2]))
        assert (other.feature_, other.default_) == (one.feature_, one.default_)
        assert other.loss_ == pytest.approx(one.loss_)


@pytest.mark.parametrize("weighted", [False, True])
def test_regression_solves_the_normal_equations_with_the_shortest_weights(weighted):
    X, y, _ = movies()
    X = np.column_stack([X, X[:, 0], np.full(len(X), np.nan)])
    weight = np.random.default_rng(1).integers(1, 4, len(y)) if weighted else np.ones(len(y))
    model = PreferenceRegression().fit(X, y, sample_weight=weight)
    averages = [twin.average(column, weight) for column in as_features(X)]
    C = np.where(np.isnan(X), averages, X)
    np.testing.assert_allclose(model.averages_, averages)
    np.testing.assert_allclose(C.T @ (weight * (C @ model.coef_ - y)), 0, atol=1e-9)
    assert model.coef_[0] == pytest.approx(model.coef_[7])  # shortest: equal columns share alike
    assert model.coef_[8] == 0
    np.testing.assert_allclose(model.predict(X), C @ model.coef_)


def test_regression_with_more_features_than_rows_is_exact_and_shortest():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(4, 9)), np.array([1.0, 0.0, 2.0, 5.0])
    model = PreferenceRegression().fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-12)
    np.testing.assert_allclose(model.coef_, np.linalg.pinv(X) @ y)


@examples(100, plain=30)
@given(tasks().filter(lambda task: "y" in task[1]))
def test_vector_similarity_equals_its_formula(task):
    X, given = task
    scores = VectorSimilarity().fit(X, given["y"]).predict(X)
    features = as_features(X)
    expected = [twin.vector_similarity(features, given["y"], row) for row in as_features(X.T)]
    np.testing.assert_allclose(scores, expected, atol=1e-9)


@each_from_labels
def test_rows_in_a_query_of_weight_zero_count_in_the_averages_alone(ranker):
    X, y, _ = movies()
    rated = np.arange(len(y)) < 30
    some = ranker().fit(X, np.where(rated, y, 99.0), qid=rated, query_weight={True: 1, False: 0})
    np.testing.assert_allclose(some.averages_, np.nanmean(X, axis=0))
    if ranker is VectorSimilarity:
        product = np.nansum(X * np.where(rated, y, 0.0)[:, None], axis=0)
        cosines = product / (np.linalg.norm(y[rated]) * np.sqrt(np.nansum(X**2, axis=0)))
        expected = cosines / np.abs(cosines).sum()
    else:
        expected = np.linalg.lstsq(np.where(np.isnan(X), some.averages_, X)[rated], y[rated])[0]
    np.testing.assert_allclose(some.coef_, expected)


@each_ranker
def test_weight_of_two_equals_the_row_twice(ranker):
    X, y, qid = movies()
    times = np.random.default_rng(3).integers(1, 4, len(y))
    weighted = ranker().fit(X, y, qid=qid, sample_weight=times)
    repeated = ranker().fit(np.repeat(X, times, 0), np.repeat(y, times), qid=np.repeat(qid, times))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)


@each_ranker
def test_row_and_query_order_change_no_bit(ranker):
    X, y, qid = movies()
    weight = np.random.default_rng(4).random(len(y))
    shuffled = np.random.default_rng(5).permutation(len(y))
    one = ranker().fit(X, y, qid=qid, sample_weight=weight)
    renamed = np.array([5, 3, 1, 0, 2, 4])[qid]
    two = ranker().fit(X[shuffled], y[shuffled], qid=renamed[shuffled], sample_weight=weight[shuffled])
    np.testing.assert_array_equal(one.predict(X)[shuffled], two.predict(X[shuffled]))


@each_ranker
def test_sparse_equals_dense_with_nan(ranker):
    X, y, qid = movies()
    X[X < 0] = 0.0
    dense, sparse = ranker().fit(X, y, qid=qid), ranker().fit(without_nan(X), y, qid=qid)
    np.testing.assert_allclose(sparse.predict(X), dense.predict(X), rtol=1e-9)
    np.testing.assert_array_equal(dense.predict(without_nan(X)), dense.predict(X))


@each_ranker
def test_float32_and_column_order_change_nothing(ranker):
    X, y, qid = movies()
    X = np.round(X)
    one, two = ranker().fit(X, y, qid=qid), ranker().fit(np.asfortranarray(X, np.float32), y, qid=qid)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


@each_ranker
def test_scores_are_finite_whatever_is_scored(ranker):
    X, y, qid = movies()
    X[:, 2] = np.nan
    model = ranker().fit(X, y, qid=qid)
    odd = np.array([[np.nan], [np.inf], [-np.inf], [1e308], [0.0]]) * np.ones(X.shape[1])
    assert np.isfinite(model.predict(odd)).all()
    assert model.predict(odd)[0] == model.default_


@each_ranker
def test_nothing_ranked_in_training_gives_equal_scores(ranker):
    model = ranker().fit(np.full((4, 2), np.nan), [0.0, 1.0, 2.0, 3.0])
    scores = model.predict([[1.0, 2.0], [np.nan, np.nan]])
    expected = {PreferenceRegression: [0.0, 0.0], NearestNeighbor: [1.0, 0.0], VectorSimilarity: [1.5, 1.5]}
    assert scores.tolist() == expected[ranker]


def test_nearest_neighbor_takes_infinite_values_as_an_order():
    model = NearestNeighbor().fit([[-np.inf], [np.nan], [0.0], [np.inf]], [0, 1, 1, 2])
    assert (model.default_, model.loss_) == (0.0, 0.0)
    assert np.diff(model.predict([[-np.inf], [np.nan], [np.inf]])).min() > 0


@each_from_labels
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pairs": ([0], [1])}, "requires y to be passed, but the target y is None: pairs are not enough"),
        ({"y": [0, 1, 2], "pairs": ([0], [1])}, "learns from the numbers in y alone, so pairs must be None"),
        ({}, "requires y to be passed"),
        ({"y": [0, 1, 2], "X": [[1.0], [np.inf], [2.0]]}, "feature 0 does not: use NaN for what is missing"),
        (
            {"y": [0, 1, 2], "qid": [0, 0, 1], "sample_weight": [0, 0, 1], "query_weight": {0: 1, 1: 0}},
            "needs a row of positive weight in a query of positive weight",
        ),
    ],
)
def test_what_cannot_be_learned_from_is_refused(ranker, given, message):
    with pytest.raises(PodiumError, match=message):
        ranker().fit(**{"X": [[1.0], [2.0], [3.0]], **given})


@each_ranker
def test_what_only_rounds_can_use_is_refused(ranker):
    X, y, qid = movies()
    message = "does not learn in rounds, so eval_set and init_model must be None"
    with pytest.raises(PodiumError, match=message):
        ranker().fit(X, y, qid=qid, eval_set=[(X, y)], eval_qid=[qid])
    with pytest.raises(PodiumError, match=message):
        ranker().fit(X, y, qid=qid, init_model=ranker())


def test_examples_in_the_docstrings_hold():
    assert doctest.testmod(baselines).failed == 0
