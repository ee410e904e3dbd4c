"""The margin bound and the two generalization bounds of AdaBoost.OR (Lin and Li 2009, section 4.3)."""

import math
from itertools import product

import numpy as np
import pytest

from podium import AdaBoostOR, PodiumError, PRank
from podium.ordinal.bounds import margin_gap, rounds_gap, stump_dimension
from podium.ordinal.costs import cost_steps, costs_of_steps


def noisy(n_rows, seed=0, n_grades=3):
    """Grades that the first feature gives, a fifth of them anew at random."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, 2))
    y = np.minimum((n_grades * X[:, 0]).astype(int), n_grades - 1)
    return X, np.where(rng.random(n_rows) < 0.2, rng.integers(0, n_grades, n_rows), y)


def plain_margins(model, X, y, n_rounds):
    """z Σ v g / Σ v from the base rankers, one row, threshold and round after the other."""
    rounds = model.rounds_[:n_rounds]
    grades = [done.ranker.predict(X).tolist() for done in rounds]
    total = sum(done.weight for done in rounds)
    margins = np.empty((len(y), len(model.classes_) - 1))
    for n, k in product(range(margins.shape[0]), range(margins.shape[1])):
        vote = sum(done.weight * (1 if own[n] > k else -1) for done, own in zip(rounds, grades, strict=True))
        margins[n, k] = (1 if y[n] > k else -1) * vote / total
    return margins


@pytest.mark.plain
def test_margins_are_the_vote_for_the_right_answer():
    X, y = noisy(60)
    model = AdaBoostOR(n_estimators=12).fit(X, y)
    margins = model.margins(X, y)
    np.testing.assert_allclose(margins, plain_margins(model, X, y, 12), atol=1e-12)
    clear = np.abs(margins).min(axis=1) > 1e-9
    np.testing.assert_array_equal((model.predict(X) == y)[clear], (margins > 0).all(axis=1)[clear])


@pytest.mark.plain
@pytest.mark.parametrize("cost", ["absolute", "zero-one", "steps"])
def test_margin_bounds_hold_in_every_round_and_equal_the_formula(cost):
    X, y = noisy(80, 1, 4)
    costs = costs_of_steps(np.random.default_rng(2).exponential(size=(80, 3)), y)
    given = {"sample_cost": costs} if cost == "steps" else {}
    model = AdaBoostOR(n_estimators=25, cost="absolute" if cost == "steps" else cost).fit(X, y, **given)
    distance = np.abs(np.subtract.outer(y, np.arange(4))).astype(float)
    weights = cost_steps({"absolute": distance, "zero-one": np.sign(distance), "steps": costs}[cost])
    epsilon = [done.epsilon for done in model.rounds_]
    for theta in (0.0, 0.1, 0.5):
        bounds = model.margin_bounds(theta)
        factors = [2 * math.sqrt(e ** (1 - theta) * (1 - e) ** (1 + theta)) for e in epsilon]
        np.testing.assert_allclose(bounds, np.cumprod(factors), rtol=1e-9)
        for t in (1, 5, len(epsilon)):
            share = weights[plain_margins(model, X, y, t) <= theta].sum() / weights.sum()
            assert share <= bounds[t - 1] + 1e-12
    np.testing.assert_allclose(model.margin_bounds(), model.bounds_, rtol=1e-9)


@pytest.mark.plain
def test_margin_bounds_hold_after_a_ranker_without_error():
    X, y = np.arange(9.0)[:, None], np.repeat([0, 1, 2], 3)
    model = AdaBoostOR(n_estimators=5).fit(X, y)
    assert model.margin_bounds(0.25).tolist() == [pytest.approx(math.exp(-0.75))]
    assert np.mean(model.margins(X, y) <= 0.25) == 0


@pytest.mark.plain
def test_the_bound_by_rounds_equals_a_hand_computation():
    X, y = noisy(900)
    model = AdaBoostOR(n_estimators=2).fit(X, y)
    d = 2 * (3 + 1) * (2 + 1) * math.log2(math.e * 3)  # dimension 3, two rounds
    gap = 2 * math.sqrt((d * (math.log(1800 / d) + 1) + math.log(18 / 0.1)) / 900) + math.sqrt(math.log(20) / 1800)
    cost = np.abs(model.predict(X) - y).mean()
    bounds = model.generalization_bounds(X, y, delta=0.1, dimension=3)
    assert bounds[-1] == pytest.approx(cost + 2 * gap, rel=1e-12)  # absolute costs of three grades: c[1] + c[3] = 2
    assert len(bounds) == 2
    first = np.abs(next(model.staged_predict(X)) - y).mean()
    gap = rounds_gap(900, 1, 3, 0.05) + math.sqrt(math.log(20) / 1800)
    assert bounds[0] == pytest.approx(first + 2 * gap, rel=1e-12)


@pytest.mark.plain
def test_the_bound_by_margins_equals_a_hand_computation():
    X, y = noisy(900)
    model = AdaBoostOR(n_estimators=3, cost="zero-one").fit(X, y)
    steps = np.stack([y <= 1, y >= 1], axis=1)
    near = np.sum(steps & (plain_margins(model, X, y, 3) <= 0.5)) / 900
    gap = 4 * math.sqrt(6 * math.log(math.e * 300) / 900) + 2 * math.sqrt(math.log(40) / 1800)
    bound = model.generalization_bounds(X, y, theta=0.5, dimension=3)[-1]
    assert bound == pytest.approx(near + 2 * gap, rel=1e-12)


@pytest.mark.parametrize("theta", [None, 0.4])
def test_generalization_bounds_hold_on_new_rows(theta):
    X, y = noisy(4000, 3)
    X_new, y_new = noisy(4000, 4)
    model = AdaBoostOR(n_estimators=4).fit(X, y)
    bounds = model.generalization_bounds(X, y, theta=theta)
    costs = [np.abs(grades - y_new).mean() for grades in model.staged_predict(X_new)]
    assert np.all(costs <= bounds)
    assert bounds[0] < 2  # c[1] + c[3]: they say something


@pytest.mark.plain
def test_weights_are_factors_of_costs_in_generalization_bounds():
    X, y = noisy(500)
    weight = np.random.default_rng(5).integers(1, 3, 500).astype(float)
    model = AdaBoostOR(n_estimators=2).fit(X, y, sample_weight=weight)
    costs = np.abs(np.subtract.outer(y, np.arange(3))) * weight[:, None]
    one = model.generalization_bounds(X, y, theta=0.3, sample_weight=weight)
    np.testing.assert_allclose(one, model.generalization_bounds(X, y, theta=0.3, sample_cost=costs), rtol=1e-12)


@pytest.mark.plain
def test_bounds_equal_their_formulas_and_are_infinite_where_rows_are_too_few():
    for d, rounds, n, delta in product((2, 5), (1, 4), (1, 4, 5, 6, 40, 60, 75, 90, 150, 10**4), (0.01, 0.3)):
        complexity = 2 * (d + 1) * (rounds + 1) * math.log2(math.e * (rounds + 1))
        expected = math.inf
        if n >= complexity / 2:
            root = complexity * (math.log(2 * n / complexity) + 1) + math.log(9 / delta)
            expected = 2 * math.sqrt(root / n)
        assert rounds_gap(n, rounds, d, delta) == pytest.approx(expected)
        for theta in (0.1, 1.0):
            expected = math.inf
            if n >= d:
                hoeffding = math.sqrt(math.log(1 / delta) / (2 * n))
                expected = 2 / theta * math.sqrt(2 * d * math.log(math.e * n / d) / n) + hoeffding
            assert margin_gap(n, theta, d, delta) == pytest.approx(expected)


@pytest.mark.plain
def test_a_margin_at_the_limit_counts_as_wrong():
    X, y = noisy(40)
    model = AdaBoostOR(n_estimators=1).fit(X, y)
    assert set(np.unique(model.margins(X, y))) == {-1.0, 1.0}
    every = np.abs(np.diff(np.abs(np.subtract.outer(y, np.arange(3))), axis=1)).sum() / 40
    gap = margin_gap(40, 1.0, 3, 0.025) + math.sqrt(math.log(40) / 80)
    assert model.generalization_bounds(X, y, theta=1.0, dimension=3)[0] == pytest.approx(every + 2 * gap)


@pytest.mark.plain
def test_bounds_scale_with_the_dearest_ends_of_a_cost_vector():
    X, y = noisy(500)
    matrix = np.array([[0.0, 1, 6], [2, 0, 1], [3, 1, 0]])
    model = AdaBoostOR(n_estimators=2, cost=matrix).fit(X, y)
    own = AdaBoostOR(n_estimators=2).fit(X, y, sample_cost=matrix[y])
    for theta in (None, 0.5):
        found = model.generalization_bounds(X, y, theta=theta, dimension=2)
        mean = own.generalization_bounds(X, y, theta=theta, dimension=2, sample_cost=matrix[y])
        np.testing.assert_allclose(found, mean, rtol=1e-12)
    gap = rounds_gap(500, 2, 2, 0.025) + math.sqrt(math.log(40) / 1000)
    cost = matrix[y, model.predict(X)].mean()
    assert model.generalization_bounds(X, y, dimension=2)[-1] == pytest.approx(cost + 6 * gap)


def labelings(xs, n_grades):
    """All ways in which stumps on one feature without gaps answer "above k?" at the points (x, k)."""
    cuts = sorted({x for x, _ in xs})
    cuts = [cuts[0] - 1, *[x + 0.5 for x in cuts]]
    found = set()
    for direction in (1, -1):
        for thresholds in product(cuts, repeat=n_grades - 1):
            ordered = sorted(direction * cut for cut in thresholds)
            found.add(tuple(direction * x >= ordered[k] for x, k in xs))
    return found


@pytest.mark.plain
def test_no_more_examples_than_the_dimension_are_shattered():
    points = [(x, k) for x in range(3) for k in range(2)]
    n_features, n_grades = 1, 3
    dimension = stump_dimension(n_features, n_grades)
    shattered = max(
        size
        for size in range(1, 7)
        if any(len(labelings(points[i : i + size], n_grades)) == 2**size for i in range(len(points) - size + 1))
    )
    assert shattered <= dimension


@pytest.mark.plain
@pytest.mark.parametrize("n_grades", [2, 3, 4, 5, 10])
def test_the_dimension_is_the_largest_number_of_examples_with_enough_labelings(n_grades):
    """In integers, so that the few cases where labelings are just enough count."""
    steps = n_grades - 1
    for n_features in (*range(1, 40), 512):
        m = 1
        while 2 ** (m + 1) * steps**steps <= 2 * n_features * n_grades * (m + 1 + steps) ** steps:
            m += 1
        assert stump_dimension(n_features, n_grades) == m


@pytest.mark.plain
def test_bad_input_to_bounds_is_refused():
    X, y = noisy(60)
    model = AdaBoostOR(n_estimators=2).fit(X, y)
    for given, message in (
        ({"delta": 0.0}, "delta must be a probability, above 0 and below 1; got 0.0"),
        ({"delta": 1.0}, "delta must be a probability, above 0 and below 1; got 1.0"),
        ({"theta": 1.01}, "theta must be a margin, above 0 and up to 1; got 1.01"),
        ({"theta": 0.0}, "theta must be a margin, above 0 and up to 1; got 0.0"),
        ({"dimension": 1}, "dimension must be at least 2; got 1"),
    ):
        with pytest.raises(PodiumError, match=message):
            model.generalization_bounds(X, y, **given)
    for theta in (2, -0.1):
        with pytest.raises(PodiumError, match=f"theta must be a margin, from 0 to 1; got {theta}"):
            model.margin_bounds(theta)
    with pytest.raises(PodiumError, match="X has 1 features"):
        model.generalization_bounds(X[:, :1], y)
    other = AdaBoostOR(PRank(epochs=5), n_estimators=2).fit(X, y)
    with pytest.raises(PodiumError, match=r"Give dimension: .* is known for ORStump alone"):
        other.generalization_bounds(X, y)
    assert len(other.generalization_bounds(X, y, dimension=3)) == len(other.rounds_)
