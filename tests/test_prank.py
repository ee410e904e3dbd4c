"""The ranking perceptron: against its plain form, order of thresholds, the pocket, costs."""

import numpy as np
import pytest
from sklearn.utils import get_tags

from podium import SVOR, AdaBoostOR, ORBoost, ORStump, PRank
from podium.ordinal.perceptron import _first_places, _place, pocket_perceptron
from podium.rankers.ordinal_ranker import OrdinalData
from reference.ordinal_peers import ranking_perceptron


def sample(seed, n_rows=30, n_grades=5):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-4, 5, (n_rows, 3)).astype(float)
    grades = np.clip(np.round(rows[:, 0] / 2 + rows[:, 1] / 4 + rng.normal(0, 0.7, n_rows) + 2), 0, n_grades - 1)
    grades = grades.astype(np.int64)
    costs = np.abs(grades[:, None] - np.arange(n_grades)) * rng.integers(1, 4, n_rows)[:, None]
    return rows, grades, costs.astype(float)


def drawn_places(costs, n_draws, seed):
    limits = np.cumsum(costs.max(axis=1))
    return np.searchsorted(limits, np.random.default_rng(seed).random(n_draws) * limits[-1], side="right")


@pytest.mark.plain
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize(("seed", "n_rows"), [(0, 30), (1, 30), (2, 30), (3, 30), (4, 64), (5, 150)])
def test_the_perceptron_equals_its_plain_form(single, seed, n_rows):
    rows, grades, costs = sample(seed, n_rows)
    found = pocket_perceptron(rows, grades, costs, single, 8, seed)
    places = drawn_places(costs, 8 * len(rows), seed).tolist()
    weights, thresholds, cost = ranking_perceptron(rows.tolist(), grades.tolist(), costs.tolist(), places, single)
    assert found.weights.tolist() == weights
    assert found.thresholds.tolist() == thresholds
    assert found.cost == cost


@pytest.mark.plain
@pytest.mark.parametrize("dear", [[1.0, 1, 1], [0, 0, 1, 0, 3, 0, 0.5], [1e-9] * 40 + [1e9], [0.1] * 70])
def test_a_row_is_drawn_by_its_share_of_the_largest_costs(dear):
    limits = np.cumsum(np.array(dear))
    draws = np.r_[0, limits[:-1] / limits[-1], np.random.default_rng(0).random(200), np.nextafter(1, 0)]
    expected = np.minimum(np.searchsorted(limits, draws * limits[-1], side="right"), len(limits) - 1)
    place = getattr(_place, "py_func", _place)  # a part that Python cannot call once it is compiled
    assert [place(draw, limits, _first_places(limits)) for draw in draws] == expected.tolist()


@pytest.mark.plain
@pytest.mark.parametrize("draws", [1, 7, 239, 240, 241])
def test_draws_in_batches_are_the_draws_at_once(draws, monkeypatch):
    rows, grades, costs = sample(2)
    whole = pocket_perceptron(rows, grades, costs, False, 8, 2)
    monkeypatch.setattr("podium.ordinal.perceptron.DRAWS_AT_ONCE", draws)
    found = pocket_perceptron(rows, grades, costs, False, 8, 2)
    assert (found.weights.tolist(), found.thresholds.tolist()) == (whole.weights.tolist(), whole.thresholds.tolist())


@pytest.mark.plain
@pytest.mark.parametrize("variant", ["prank", "siprank"])
@pytest.mark.parametrize("seed", range(10))
def test_thresholds_ascend(variant, seed):
    rows, grades, _ = sample(seed, 60, 6)
    model = PRank(variant, epochs=40, random_state=seed).fit(rows, grades)
    assert np.all(np.diff(model.thresholds_) >= 0)


@pytest.mark.parametrize("variant", ["prank", "siprank"])
def test_more_epochs_never_cost_more(variant):
    rows, grades, costs = sample(3, 80)
    found = [PRank(variant, epochs=n).fit(rows, grades, sample_cost=costs).training_cost_ for n in (1, 10, 100, 400)]
    assert found == sorted(found, reverse=True)
    assert found[-1] < found[0]


@pytest.mark.plain
def test_the_training_cost_is_that_of_the_predicted_grades():
    rows, grades, costs = sample(5, 80)
    model = PRank(epochs=30).fit(rows, grades, sample_cost=costs)
    predicted = np.searchsorted(model.classes_, model.predict(rows))
    assert model.training_cost_ == costs[np.arange(80), predicted].sum()


def test_rows_that_a_line_can_grade_are_graded_without_cost():
    rows = np.random.default_rng(0).normal(size=(200, 3))
    grades = np.digitize(rows @ [1.0, -2.0, 0.5], [-2.0, 0.0, 1.5])
    assert PRank(epochs=2000).fit(rows, grades).training_cost_ == 0


@pytest.mark.plain
def test_where_features_say_nothing_the_cheapest_constant_is_kept():
    grades = np.array([0, 1, 1, 1, 2, 2])
    model = PRank(epochs=5).fit(np.ones((6, 2)), grades)
    assert model.predict([[5.0, -5.0]]).tolist() == [1]
    assert model.training_cost_ == 3


@pytest.mark.plain
def test_rankers_of_one_line_or_one_feature_ask_scikit_learn_for_no_high_score():
    """Its checks expect 0.83 of classifiers, on blobs that no line orders, unless they are tagged."""
    poor = [PRank(), ORStump()]
    assert all(get_tags(ranker).classifier_tags.poor_score for ranker in poor)
    assert not any(get_tags(ranker).classifier_tags.poor_score for ranker in (AdaBoostOR(), ORBoost(), SVOR()))


@pytest.mark.plain
def test_scores_are_those_that_the_thresholds_cut():
    rows, grades, _ = sample(1)
    model = PRank(epochs=50).fit(rows, grades)
    counted = [(score >= model.thresholds_).sum() for score in model.predict_rank(rows)]
    np.testing.assert_array_equal(model.classes_[counted], model.predict(rows))


@pytest.mark.plain
def test_a_heavier_row_is_drawn_more_often():
    """Two kinds of rows that no line can grade together: the dear kind wins."""
    rows, grades = np.array([[0.0], [0.0], [1.0]]), [0, 1, 1]
    for heavy in (0, 1):
        weight = np.where(np.arange(3) == heavy, 9.0, 1.0)
        predicted = PRank(epochs=200).fit(rows, grades, sample_weight=weight).predict([[0.0]])
        assert predicted.tolist() == [heavy]


@pytest.mark.plain
@pytest.mark.parametrize(("variant", "single"), [("prank", False), ("siprank", True)])
def test_each_variant_is_the_perceptron_of_its_name(variant, single):
    rows, grades, costs = sample(6)
    model = PRank(variant, epochs=6, random_state=3).fit(rows, grades, sample_cost=costs)
    order = OrdinalData.from_arrays(rows, grades, sample_cost=costs).rows
    scaled = ((rows - rows.mean(axis=0)) / rows.std(axis=0))[order]
    found = pocket_perceptron(scaled, grades[order], costs[order], single, 6, 3)
    np.testing.assert_allclose(model.coef_, found.weights, rtol=1e-9)
    np.testing.assert_allclose(model.thresholds_, found.thresholds)
