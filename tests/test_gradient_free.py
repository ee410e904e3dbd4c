"""Gradient-free boosting against its literal definition; weights, missing values, stopping, files and exports."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from podium import GradientFreeBoost, PodiumError, evaluate, load
from podium.linear import ENOUGH_FEATURES, EXHAUSTED, CenteredColumns, CenteredFeature
from podium.linear.singular_steps import best_place
from podium.model_file import read_model, write_model
from profiles import examples
from reference import gradient_free as twin

pytestmark = pytest.mark.plain


def made(seed, n_rows=24, n_features=4, missing=0.2):
    """Rows of three queries, some values missing, weights of rows and queries."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) * [1, 10, 0.1, 3][:n_features] + 2
    y = X[:, 0] + 0.1 * X[:, 1] + rng.normal(size=n_rows)
    X[rng.random(X.shape) < missing] = np.nan
    weights = {"sample_weight": rng.integers(1, 4, n_rows), "query_weight": {0: 1.0, 1: 3.0, 2: 2.0}}
    return X, y, {"qid": np.arange(n_rows) % 3, **weights}


def as_columns(X):
    return [[None if np.isnan(value) else value for value in column] for column in X.T.tolist()]


def numbers(round_):
    return round_.feature, round_.alpha, round_.fall, round_.singular, round_.measured


@given(st.integers(0, 10**6), st.sampled_from([None, 1, 2, 3]), st.sampled_from([0.1, 0.5, 1.0]))
@examples(40, plain=15)
def test_rounds_are_those_of_the_definition(seed, singular_every, rate):
    X, y, given = made(seed)
    model = GradientFreeBoost(7, singular_every=singular_every, learning_rate=rate).fit(X, y, **given)
    rows = (given["qid"].tolist(), given["sample_weight"].tolist(), given["query_weight"])
    rounds, scores = twin.boost(as_columns(X), y.tolist(), *rows, 7, rate, singular_every)
    assert [(one.feature, one.singular) for one in model.rounds_] == [(one[0], one[3]) for one in rounds]
    np.testing.assert_allclose([numbers(one) for one in model.rounds_], rounds, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.predict(X), scores, rtol=1e-9)


@pytest.mark.parametrize("loss", ["ndcg@3", "map", "pair_loss", "localized_loss@2"])
def test_a_singular_round_takes_the_feature_after_which_the_measure_is_best(loss):
    X, y, given = made(5, missing=0.0)
    y, qid = np.digitize(y, [1.0, 2.5, 4.0]).astype(float), given["qid"]
    model = GradientFreeBoost(1, loss=loss, singular_every=1).fit(X, y, qid=qid)
    higher = loss in ("ndcg@3", "map")
    values = []
    for feature in range(4):
        z = X[:, feature] - X[:, feature].mean()
        scores = 0.1 * (z @ (y - y.mean())) / (z @ z) * z
        values.append(evaluate(y, scores, qid=qid, measures=loss, n_resamples=0)[loss])
    best = max(values) if higher else min(values)
    assert values[model.rounds_[0].feature] == pytest.approx(best)
    assert model.rounds_[0].measured == pytest.approx(best)


def test_every_so_many_th_round_is_singular_also_after_an_earlier_model():
    X, y, given = made(1)
    whole = GradientFreeBoost(9, singular_every=4).fit(X, y, **given)
    assert [one.singular for one in whole.rounds_] == [False, False, False, True] * 2 + [False]
    half = GradientFreeBoost(6, singular_every=4).fit(X, y, **given)
    on = GradientFreeBoost(9, singular_every=4).fit(X, y, **given, init_model=half)
    np.testing.assert_array_equal([numbers(one) for one in on.rounds_], [numbers(one) for one in whole.rounds_])
    assert on.base_score_ == whole.base_score_


def test_a_fit_on_other_data_goes_on_from_the_scores_of_the_model_before():
    X, y, given = made(11)
    first = GradientFreeBoost(4).fit(X, y, **given)
    on = GradientFreeBoost(7).fit(X, y + 50.0, **given, init_model=first)
    assert on.base_score_ == first.base_score_
    np.testing.assert_allclose(list(on.staged_predict(X))[3], first.predict(X), rtol=1e-12)


def test_many_rounds_without_singular_ones_are_least_squares():
    X, y, _ = made(2, missing=0.0)
    model = GradientFreeBoost(3000, singular_every=None, learning_rate=1.0).fit(X, y)
    coef = np.linalg.lstsq(np.c_[X, np.ones(len(X))], y, rcond=None)[0]
    np.testing.assert_allclose(model.coef_, coef[:-1], rtol=1e-6)
    assert model.stop_reason_ == EXHAUSTED
    assert len(model.rounds_) < 3000


def test_falls_add_up_to_the_fall_of_the_squared_loss():
    X, y, given = made(3)
    model = GradientFreeBoost(30, singular_every=2).fit(X, y, **given)
    weights = given["sample_weight"] * np.array([given["query_weight"][q] for q in given["qid"]])
    before, after = (np.average((y - scores) ** 2, weights=weights) for scores in (model.base_score_, model.predict(X)))
    assert sum(one.fall for one in model.rounds_) == pytest.approx(before - after)
    expected = np.bincount([one.feature for one in model.rounds_], [one.fall for one in model.rounds_], 4)
    np.testing.assert_allclose(model.feature_importances_, expected / expected.sum())


@pytest.mark.parametrize(
    ("losses", "gains", "expected"),
    [
        ([0.3, 0.2, 0.2], [9.0, 1.0, 2.0], 2),
        ([0.2, 0.2, 0.2], [1.0, 1.0, 1.0], 0),
        ([0.2 + 1e-14, 0.2, 0.3], [2.0, 1.0, 3.0], 0),
        ([-0.9, -0.8, -0.7], [1.0, 2.0, 3.0], 0),
        ([1e9 + 1e-5, 1e9, 2e9], [2.0, 1.0, 3.0], 0),
    ],
)
def test_the_largest_gain_of_the_lowest_losses_is_best(losses, gains, expected):
    assert best_place(np.array(losses), np.array(gains)) == expected


def test_weights_of_rows_are_rows_as_often_in_regular_rounds():
    X, y, given = made(4)
    times = given["sample_weight"]
    weighted = GradientFreeBoost(9, singular_every=None).fit(X, y, sample_weight=times)
    repeated = GradientFreeBoost(9, singular_every=None).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)


def test_a_missing_value_counts_as_the_average_and_an_absent_one_too():
    X, y, given = made(6)
    weights = given["sample_weight"] * np.array([given["query_weight"][q] for q in given["qid"]])
    known = ~np.isnan(X)
    averages = [np.average(X[known[:, f], f], weights=weights[known[:, f]]) for f in range(4)]
    filled = np.where(known, X, averages)
    model = GradientFreeBoost(12).fit(X, y, **given)
    np.testing.assert_allclose(GradientFreeBoost(12).fit(filled, y, **given).predict(X), model.predict(X), rtol=1e-9)
    np.testing.assert_allclose(model.predict(filled), model.predict(X), rtol=1e-9)
    stored = sp.csr_array((X[known], np.nonzero(known)), X.shape)
    np.testing.assert_allclose(GradientFreeBoost(12).fit(stored, y, **given).predict(stored), model.predict(X))


def test_staged_predictions_end_with_the_prediction():
    X, y, given = made(7)
    model = GradientFreeBoost(6).fit(X, y, **given)
    stages = list(model.staged_predict(X))
    assert len(stages) == 6
    np.testing.assert_allclose(stages[-1], model.predict(X), rtol=1e-12)
    np.testing.assert_allclose(stages[0], GradientFreeBoost(1).fit(X, y, **given).predict(X), rtol=1e-12)


def test_after_early_stopping_the_best_rounds_alone_are_used():
    (X, y, given), (new, labels, _) = made(7), made(8)
    model = GradientFreeBoost(60, early_stopping_rounds=3)
    model.fit(X, y, **given, eval_set=[(new, labels)], eval_qid=[np.arange(len(labels)) % 3])
    assert model.best_iteration_ == len(model.rounds_) - 3
    stages = list(model.staged_predict(X))
    np.testing.assert_allclose(model.predict(X), stages[model.best_iteration_ - 1], rtol=1e-12)
    assert not np.allclose(model.predict(X), stages[-1], rtol=1e-9)


def test_an_export_scores_as_the_model_also_where_averages_differ_between_rounds(tmp_path):
    X, y, given = made(8)
    first = GradientFreeBoost(4).fit(X[:12], y[:12], qid=given["qid"][:12])
    for model in (first, GradientFreeBoost(9).fit(X, y, **given, init_model=first)):
        record = model._exported()
        np.testing.assert_allclose(record.score(X), model.predict(X), rtol=1e-9)
        np.testing.assert_allclose(record.weights, model.coef_)
    assert len({one.average for one in model.rounds_}) > len({one.feature for one in model.rounds_})
    model.export(tmp_path / "model.py", "python")


def test_a_file_gives_the_same_model_and_is_checked(tmp_path):
    X, y, given = made(9)
    model, path = GradientFreeBoost(6, singular_every=2).fit(X, y, **given), tmp_path / "model"
    model.save(path)
    loaded = load(path)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal([numbers(one) for one in loaded.rounds_], [numbers(one) for one in model.rounds_])
    for name, column, message in (
        ("feature", np.full(6, 4), "feature must be a list of integers from 0 to 3"),
        ("alpha", np.full(6, np.nan), "alpha must be a list of finite numbers"),
        ("average", np.zeros(5), "average must have 6 entries; got 5"),
        ("fall", -np.ones(6), "fall must be a list of finite numbers of at least 0"),
    ):
        content = read_model(path)
        content["learned"]["rounds"][name] = column
        write_model(tmp_path / "bad", content)
        with pytest.raises(PodiumError, match=message):
            load(tmp_path / "bad")


def test_the_fit_ends_at_the_number_of_features_wanted():
    X, y, given = made(10)
    model = GradientFreeBoost(200, max_features=2).fit(X, y, **given)
    used = [one.feature for one in model.rounds_]
    assert len(set(used)) == 2
    assert len(set(used[:-1])) == 1
    assert model.stop_reason_ == ENOUGH_FEATURES
    on = GradientFreeBoost(250, max_features=2).fit(X, y, **given, init_model=model)
    assert len(on.rounds_) == len(model.rounds_)


@pytest.mark.parametrize("X", [np.ones((6, 2)), np.full((6, 2), np.nan), 0.1 * np.ones((6, 2))])
def test_features_that_say_nothing_are_told_of(X):
    with pytest.warns(UserWarning, match=f"Nothing was learned, so that all predictions are equal: {EXHAUSTED}"):
        model = GradientFreeBoost().fit(X, [0.1, 0.2, 0.7, 0.9, 3.1, 4.7], sample_weight=[1, 2, 3, 1, 2, 3])
    assert len(set(model.predict(X))) == 1


def test_a_constant_feature_has_no_deviations_whatever_the_rounding_of_its_average():
    rng = np.random.default_rng(0)
    X, weights = np.tile(rng.normal(size=20), (9, 1)), rng.random(9)
    averages = (X * weights[:, None]).sum(axis=0) / weights.sum()
    assert np.any(averages != X[0])  # rounded
    columns = CenteredColumns.of(X, np.arange(9), weights)
    np.testing.assert_array_equal(columns.table, 0.0)
    np.testing.assert_array_equal(columns.norms, 1.0)


def test_equal_labels_teach_nothing():
    with pytest.warns(UserWarning, match="Nothing was learned"):
        model = GradientFreeBoost().fit([[1.0], [2.0], [4.0]], [0.1, 0.1, 0.1])
    np.testing.assert_allclose(model.predict([[5.0]]), 0.1)


@pytest.mark.parametrize(
    ("given", "parameters", "message"),
    [
        ({"pairs": ([0], [1])}, {}, "GradientFreeBoost learns from the numbers in y alone, so pairs must be None"),
        ({"y": None, "pairs": ([0], [1])}, {}, "requires y to be passed, but the target y is None"),
        ({"X": [[1e200], [1.0], [2.0], [3.0]]}, {}, "within ±1e.100 for least squares on its values; feature 0"),
        ({"y": [0.0, 1e200, 1.0, 2.0]}, {}, "y must lie within"),
        (
            {"qid": [0, 0, 1, 1], "sample_weight": [1, 1, 0, 0], "query_weight": {0: 0, 1: 1}},
            {},
            "needs a row of positive weight in a query of positive weight",
        ),
        ({"qid": [0, 1, 2, 3]}, {}, "loss='hard_loss' is undefined: no query of positive weight has two different"),
        ({"qid": [0, 0, 1, 2], "query_weight": {0: 0, 1: 1, 2: 1}}, {}, "of positive weight has a value; consider"),
        ({"y": [0.0, 1.0, 2.0, 3000.0]}, {"loss": "dcg"}, "dcg overflows with these labels"),
        ({}, {"loss": "ndgc"}, "measure 'ndgc' is unknown"),
        ({}, {"learning_rate": 1.5}, "learning_rate"),
        ({"X": [[1e-99], [2e-99], [3e-99], [4e-99]], "y": [1e9, 2e9, 3e9, 4e9]}, {}, "give features of a larger scale"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(given, parameters, message):
    given = {"X": [[1.0], [2.0], [3.0], [5.0]], "y": [0.0, 1.0, 1.0, 2.0], **given}
    with pytest.raises(PodiumError, match=message):
        GradientFreeBoost(**parameters).fit(**given)


def test_without_singular_rounds_no_measure_must_be_defined():
    model = GradientFreeBoost(singular_every=None).fit([[1.0], [2.0], [3.0]], [0.0, 1.0, 2.0], qid=[0, 1, 2])
    assert np.all(np.diff(model.predict([[1.0], [2.0], [3.0]])) > 0)


def test_infinite_values_are_scored_as_large_ones():
    ranking = CenteredFeature(1, 2.0)
    X = np.array([[0.0, np.inf], [0.0, -np.inf], [0.0, np.nan], [0.0, 5.0]])
    np.testing.assert_array_equal(ranking.predict(X), [1e100, -1e100, 0.0, 3.0])
