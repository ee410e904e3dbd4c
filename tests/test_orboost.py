"""ORBoost: against its plain form, the loss, order of thresholds, K = 2, evaluation sets, files."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium import FormatError, ORBoost, PodiumError, load
from podium.model_file import read_model, write_model
from podium.ordinal.margins import Margins, ordered_thresholds
from reference.ordinal_peers import best_thresholds, margin_loss, orboost


def sample(seed=0, n_rows=40, n_grades=4):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 8, (n_rows, 3)).astype(float)
    y = np.clip(np.round(X[:, 0] / 2 + rng.normal(0, 0.8, n_rows)), 0, n_grades - 1).astype(int)
    y[:n_grades] = np.arange(n_grades)
    return X, y


def weights_of(y, variant, n_thresholds):
    distance = np.arange(n_thresholds) - y[:, None]
    near = (distance == 0) | (distance == -1)
    return np.where(near | (variant == "all-margins"), 1.0, 0.0)


each_variant = pytest.mark.parametrize("variant", ["all-margins", "left-right"])


@pytest.mark.plain
@each_variant
@pytest.mark.parametrize("seed", range(3))
def test_rounds_equal_the_plain_form(variant, seed):
    X, y = sample(seed)
    model = ORBoost(8, variant=variant, max_bins=None).fit(X, y)
    story = orboost(X.tolist(), y.tolist(), weights_of(y, variant, 3).tolist(), 8)
    before = margin_loss(
        weights_of(y, variant, 3).tolist(), y.tolist(), [0.0] * 40,
        best_thresholds(weights_of(y, variant, 3).tolist(), y.tolist(), [0.0] * 40),
    )  # fmt: skip
    scores = np.zeros(40)
    for done, (loss, expected, thresholds) in zip(model.rounds_, story, strict=True):
        scores += done.alpha * done.ranking.predict(X)
        assert pytest.approx(loss / before) == done.Z
        margins = scores[:, None] - done.thresholds
        np.testing.assert_allclose(margins, np.array(expected)[:, None] - thresholds, rtol=1e-6, atol=1e-9)
        before = loss


@each_variant
@pytest.mark.parametrize("learning_rate", [1.0, 0.3])
def test_the_loss_never_rises_and_thresholds_ascend(variant, learning_rate):
    X, y = sample(5, 80, 5)
    model = ORBoost(100, variant=variant, learning_rate=learning_rate).fit(X, y)
    assert all(done.Z <= 1 + 1e-12 for done in model.rounds_)
    assert all(np.all(np.diff(done.thresholds) >= 0) for done in model.rounds_)


@pytest.mark.plain
def test_the_loss_bounds_the_cost_under_all_margins():
    X, y = sample(6, 80, 5)
    model = ORBoost(60).fit(X, y)
    margins = Margins(np.ones((80, 4)), y)
    losses = margins.loss * np.cumprod([done.Z for done in model.rounds_])
    for loss, predicted in zip(losses, model.staged_predict(X), strict=True):
        assert np.abs(predicted - y).sum() <= loss + 1e-9


@pytest.mark.plain
def test_all_margins_need_no_pooling_to_ascend():
    """Each threshold's own optimum is in order."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        y, scores = rng.integers(0, 5, 30), rng.normal(0, 2, 30)
        below = [np.sum(np.exp(scores[y <= k])) for k in range(4)]
        above = [np.sum(np.exp(-scores[y > k])) for k in range(4)]
        alone = 0.5 * np.log(np.array(below) / above)
        np.testing.assert_allclose(ordered_thresholds(np.log(below), np.log(above)), alone)


@pytest.mark.plain
@given(st.integers(0, 10**6), st.sampled_from(["all-margins", "left-right"]))
def test_thresholds_are_the_best_ascending_ones(seed, variant):
    rng = np.random.default_rng(seed)
    y = np.append(rng.integers(0, 4, 8), np.arange(4))
    weights = weights_of(y, variant, 3) * rng.integers(1, 4, (12, 1))
    margins = Margins(weights, y)
    margins.add(rng.normal(0, 1.5, 12))
    expected = best_thresholds(weights.tolist(), y.tolist(), margins.scores.tolist())
    loss = margin_loss(weights.tolist(), y.tolist(), margins.scores.tolist(), margins.thresholds.tolist())
    assert margins.loss == pytest.approx(loss)
    np.testing.assert_allclose(margins.thresholds, expected, atol=1e-9)
    assert abs(margins.potentials().sum()) < 1e-9


@pytest.mark.plain
def test_a_shift_of_all_scores_moves_the_thresholds_alone():
    """Even where the scores are too far from 0 for their exponentials."""
    rng = np.random.default_rng(3)
    y, scores = np.append(rng.integers(0, 4, 8), np.arange(4)), rng.normal(0, 1.5, 12)
    margins = Margins(np.ones((12, 3)), y)
    margins.add(scores)
    loss, thresholds, potentials = margins.loss, margins.thresholds, margins.potentials()
    for _ in range(4):
        assert margins.add(np.full(12, 400.0)) == pytest.approx(1.0)
    assert margins.loss == pytest.approx(loss)
    np.testing.assert_allclose(margins.thresholds - 1600, thresholds, atol=1e-9)
    np.testing.assert_allclose(margins.potentials(), potentials, atol=1e-9)


@pytest.mark.plain
@given(st.integers(0, 10**6), st.sampled_from(["all-margins", "left-right"]))
def test_pulls_for_and_against_a_stump_are_shares_of_the_loss(seed, variant):
    rng = np.random.default_rng(seed)
    y = np.append(rng.integers(0, 4, 8), np.arange(4))
    weights = weights_of(y, variant, 3)
    margins = Margins(weights, y)
    margins.add(rng.normal(0, 1.5, 12))
    values = rng.integers(0, 2, 12).astype(float)
    with_it = sum(
        s * np.exp(-abs_margin)
        for n, k in np.ndindex(12, 3)
        for s, abs_margin in [(weights[n, k], (1 if k < y[n] else -1) * (margins.scores[n] - margins.thresholds[k]))]
        if (k < y[n]) == (values[n] == 1)
    )
    right, wrong = margins.sides(values)
    assert right == pytest.approx(with_it / margins.loss)
    assert right + wrong == pytest.approx(1.0)
    edge = np.sum(margins.potentials() * (2 * values - 1))
    assert right - wrong == pytest.approx(edge)


@pytest.mark.plain
def test_margins_are_flawless_where_every_row_that_asks_is_on_its_side():
    y = np.array([0, 1, 2, 2])
    margins = Margins(np.ones((4, 2)), y)
    margins.thresholds = np.array([1.0, 2.0])
    for scores, flawless in (([0, 1, 2, 3], True), ([0.5, 1.5, 2.5, 2], True), ([1, 1, 2, 3], False)):
        margins.scores = np.array(scores, float)
        assert margins.flawless() is flawless
    margins.scores, margins.weights[3] = np.array([0.0, 1, 2, 0]), 0.0
    assert margins.flawless()


@pytest.mark.plain
@pytest.mark.parametrize("n_grades", [2, 3, 5])
def test_threads_of_orboost_change_no_bit(n_grades, monkeypatch):
    monkeypatch.setattr("podium._compiled.CELLS_WORTH_THREADS", 0)
    monkeypatch.setattr("podium.stumps.additive_model.ROWS_PER_TASK", 7)
    X, y = sample(13, 40, n_grades)
    X = np.hstack([X, np.random.default_rng(0).integers(0, 5, (40, 9))])
    for max_bins in (None, 4):
        one, three = (ORBoost(8, max_bins=max_bins, n_jobs=n).fit(X, y) for n in (1, 3))
        assert [(d.feature, d.threshold, d.alpha) for d in one.rounds_] == [
            (d.feature, d.threshold, d.alpha) for d in three.rounds_
        ]
        np.testing.assert_array_equal(one.predict_rank(X), three.predict_rank(X))


@pytest.mark.plain
def test_a_grade_without_rows_has_no_room_between_its_thresholds():
    y = np.array([0, 0, 2, 2, 3])
    for variant in ("all-margins", "left-right"):
        margins = Margins(weights_of(y, variant, 4), y)
        assert margins.thresholds[0] == margins.thresholds[1]
        assert margins.thresholds[3] == np.inf
        assert np.isfinite(margins.loss)


@pytest.mark.plain
def test_two_grades_are_adaboost_on_stumps():
    """ε, α and predictions of discrete AdaBoost (Freund and Schapire 1997) with its threshold at the lowest loss."""
    X, y = sample(7, 60, 2)
    model = ORBoost(1, max_bins=None).fit(X, y)
    z = np.where(y == 1, 1, -1)
    weight = np.where(y == 1, 1 / np.sum(y == 1), 1 / np.sum(y == 0))  # what the first threshold makes of equal ones
    weight /= weight.sum()
    first = model.rounds_[0]
    h = 2 * first.ranking.predict(X) - 1
    epsilon = np.sum(weight[h != z])
    assert first.alpha == pytest.approx(np.log((1 - epsilon) / epsilon))


@pytest.mark.plain
@each_variant
def test_costs_of_rows_weigh_margins(variant):
    X, y = sample(8, 60, 4)
    twice = np.append(np.arange(60), [3, 7])
    weight = np.ones(60)
    weight[[3, 7]] = 2
    one = ORBoost(20, variant=variant).fit(X[twice], y[twice])
    two = ORBoost(20, variant=variant).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(one.predict_rank(X), two.predict_rank(X), rtol=1e-9)


@pytest.mark.plain
def test_left_right_margins_are_all_margins_of_zero_one_costs():
    X, y = sample(9, 60, 4)
    one = ORBoost(20, variant="left-right").fit(X, y)
    two = ORBoost(20, cost="zero-one").fit(X, y)
    np.testing.assert_array_equal(one.predict_rank(X), two.predict_rank(X))


@pytest.mark.plain
def test_missing_values_are_learned():
    X, y = sample(10, 80, 3)
    X[y == 2, 0] = np.nan
    X[:, 1:] = 0
    predicted = ORBoost(20).fit(X, y).predict(X)
    assert np.all(predicted[y == 2] == 2)


@pytest.mark.plain
def test_early_stopping_keeps_the_best_round():
    X, y = sample(11, 60, 4)
    X_valid, y_valid = sample(12, 60, 4)
    model = ORBoost(500, early_stopping_rounds=10).fit(X, y, eval_set=[(X_valid, y_valid)])
    costs = model.evals_result_["validation_0"]["cost"]
    assert len(model.rounds_) == len(costs) < 500
    assert model.best_iteration_ == 1 + np.argmin(costs)
    assert -model.score(X_valid, y_valid) == pytest.approx(min(costs))
    staged = list(model.staged_predict(X_valid))
    np.testing.assert_array_equal(staged[model.best_iteration_ - 1], model.predict(X_valid))


@pytest.mark.plain
def test_bad_input_is_refused():
    X, y = sample()
    with pytest.raises(PodiumError, match="early_stopping_rounds needs an eval_set"):
        ORBoost(early_stopping_rounds=3).fit(X, y)
    with pytest.warns(UserWarning, match="Nothing was learned.*: all 3 features are constant"):
        model = ORBoost().fit(np.ones((40, 3)), y)
    costs = [np.abs(y - grade).sum() for grade in range(4)]
    assert set(model.predict(np.ones((2, 3)))) == {np.argmin(costs)}
    with pytest.raises(PodiumError, match="With sample_cost give eval_cost too"):
        ORBoost().fit(X, y, sample_cost=np.abs(y[:, None] - np.arange(4)), eval_set=[(X, y)])


@pytest.mark.plain
def test_broken_files_are_refused(tmp_path):
    X, y = sample()
    path = tmp_path / "model"
    ORBoost(3).fit(X, y).save(path)
    content = read_model(path)
    learned = content["learned"]
    scaled = {**learned["rounds"], "low": np.zeros(3), "high": np.ones(3)}
    del scaled["threshold"]
    for name, value, message in (
        ("thresholds", np.ones(2), "thresholds must have 9 entries; got 2"),
        ("thresholds", np.full(9, np.nan), "thresholds must be a list of numbers"),
        ("thresholds", -learned["thresholds"], "thresholds must be numbers that ascend"),
        ("best_iteration", 4, "best_iteration must be an integer, from 0 to 3; got 4"),
        ("rounds", None, "the rounds of the model are incomplete"),
        ("rounds", scaled, "the rounds of ORBoost must be stumps"),
        ("start_thresholds", None, "start_thresholds is missing"),
        ("start_thresholds", np.ones(2), "start_thresholds must have 3 entries; got 2"),
        ("start_thresholds", np.array([0.0, 2.0, 1.0]), "start_thresholds must be numbers that ascend"),
    ):
        write_model(path, {**content, "learned": {**learned, name: value}})
        with pytest.raises(FormatError, match=message):
            load(path)
