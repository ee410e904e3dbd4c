"""Curves of a measure over single weights, and the test whether λ is a gradient (LM 4.2 and 4.3)."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from podium import PodiumError, PreferenceRegression, evaluate, lambda_symmetry, weight_curves
from podium.data.feedback import Pairs
from podium.losses import PairLoss

pytestmark = pytest.mark.plain

MEASURES = ["ndcg@3", "map", "pair_loss"]


def data(seed=0, n_queries=6, size=6, n_features=3):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n_queries * size, n_features)), 1)  # some rows are tied
    y = np.digitize(X @ np.arange(1.0, n_features + 1) + 2 * rng.normal(size=len(X)), [0, 2]).astype(float)
    return X, y, np.repeat(np.arange(n_queries), size)


def linear(weights):
    return SimpleNamespace(coef_=np.asarray(weights, float))


def moved(weights, number, move):
    return np.asarray(weights, float) + move * (np.arange(len(weights)) == number)


def brute_edges(X, qid, weights, number, reach):
    """All moves of the weight at which two rows of a query have equal scores."""
    edges = {0.0, -reach, reach}
    for i in range(len(X)):
        for j in range(i):
            if qid[i] == qid[j] and X[i, number] != X[j, number]:
                move = -((X[i] - X[j]) @ weights) / (X[i, number] - X[j, number])
                edges |= {move} if abs(move) < reach else set()
    return np.array(sorted(edges))


@pytest.mark.parametrize("measure", MEASURES)
def test_the_curve_of_a_linear_ranker_equals_measuring_between_all_crossings(measure):
    X, y, qid = data()
    weights = np.array([0.9, 1.7, -1.3])
    curves = weight_curves(linear(weights), X, y, qid=qid, measure=measure, radius=0.2, n_moves=1)
    reach = 0.2 * np.linalg.norm(weights)
    assert curves.moves.tolist() == [-reach, 0.0, reach]
    for number, steps in enumerate(curves.steps):
        edges = brute_edges(X, qid, weights, number, reach)
        assert len(edges) > 5
        middles = (edges[1:] + edges[:-1])[np.diff(edges) > 1e-9] / 2
        between = steps.values[np.searchsorted(steps.edges, middles) - 1]
        for move, value in zip(middles, between, strict=True):
            scores = X @ moved(weights, number, move)
            expected = evaluate(y, scores, qid=qid, measures=measure, n_resamples=0)[measure]
            assert value == pytest.approx(expected, abs=1e-12)
        nearest = np.abs(steps.edges[:, None] - edges).min(axis=1)
        assert nearest.max() < 1e-12  # nothing changes but where rows cross


@pytest.mark.parametrize("measure", MEASURES)
def test_the_middle_of_each_curve_is_the_value_of_the_ranker(measure):
    X, y, qid = data()
    ranker = PreferenceRegression().fit(X, y, qid=qid)
    curves = weight_curves(ranker, X, y, qid=qid, measure=measure, n_moves=3)
    value = evaluate(y, ranker.predict(X), qid=qid, measures=measure)[measure]
    assert curves.value == pytest.approx(value, abs=1e-12)
    assert curves.values[:, 3].tolist() == [curves.value] * 3
    assert curves.weights.tolist() == ranker.coef_.tolist()
    assert curves.slopes[:, 3].tolist() == [0.0] * 3
    np.testing.assert_allclose(curves.slopes[:, 4], (curves.values[:, 4] - curves.value) / curves.moves[4])


def test_a_function_of_the_weights_has_the_values_of_the_linear_ranker_and_no_steps():
    X, y, qid = data()
    by_ranker = weight_curves(linear([1.03, -2.11, 2.97]), X, y, qid=qid, which=[2, 0], n_moves=4)
    by_function = weight_curves(lambda w: X @ w, None, y, qid=qid, weights=[1.03, -2.11, 2.97], which=[2, 0], n_moves=4)
    np.testing.assert_allclose(by_ranker.values, by_function.values, atol=1e-12)
    assert by_function.steps is None
    assert by_ranker.which.tolist() == [2, 0]
    assert by_ranker.weights.tolist() == [2.97, 1.03]
    assert str(by_ranker).startswith(f"ndcg@10 {by_ranker.value:.4f}, one weight moved at a time")


@pytest.mark.parametrize("measure", ["ndcg@3", "pair_loss", "ranknet"])
def test_the_best_move_is_the_best_seen_and_none_where_nothing_is_better(measure):
    X, y, qid = data()
    curves = weight_curves(linear([1.0, 0.2, -1.0]), X, y, qid=qid, measure=measure, n_moves=5)
    sign = -1 if measure != "ndcg@3" else 1
    assert (curves.steps is None) == (measure == "ranknet")  # whose value changes between crossings too
    seen = curves.values if curves.steps is None else [steps.values for steps in curves.steps]
    best = np.array([(sign * np.asarray(values)).max() for values in seen])
    np.testing.assert_allclose(sign * curves.best_values, np.maximum(best, sign * curves.value), atol=1e-12)
    assert curves.rises.tolist() == (sign * (curves.best_values - curves.value) > 0).tolist()
    for number, move in enumerate(curves.best_moves):
        scores = X @ moved([1.0, 0.2, -1.0], number, move)
        found = evaluate(y, scores, qid=qid, measures=measure, n_resamples=0)[measure]
        assert found == pytest.approx(curves.best_values[number], abs=1e-12)
    perfect = weight_curves(linear([1.0]), y[:, None], y, qid=qid, measure="pair_loss")
    assert perfect.is_optimum
    assert perfect.best_moves.tolist() == [0.0]


@pytest.mark.parametrize("cells", [1, 40, 100, 10**6])
def test_how_many_moves_are_measured_at_a_time_changes_nothing(cells, monkeypatch):
    X, y, qid = data()
    whole = weight_curves(linear([1.0, 0.2, -1.0]), X, y, qid=qid, n_moves=3)
    monkeypatch.setattr(sys.modules["podium.evaluation.weight_curves"], "SCORES_AT_ONCE", cells)
    seen = []
    parts = weight_curves(lambda w: [seen.append(w), X @ w][1], None, y, qid=qid, weights=[1.0, 0.2, -1.0], n_moves=3)
    np.testing.assert_allclose(parts.values, whole.values, atol=1e-12)
    moves = np.array(seen[1:]).reshape(3, 7, 3) - [1.0, 0.2, -1.0]
    for number in range(3):
        np.testing.assert_allclose(moves[number], whole.moves[:, None] * (np.arange(3) == number), atol=1e-12)


def test_of_moves_equally_good_the_shortest_is_taken():
    """Two rows tied at the weight itself; any move above 0 ranks them well, any below badly, or the other way round."""
    for sign in (1.0, -1.0):
        X = sign * np.array([[1.0, 0.0], [0.0, 0.0]])
        found = weight_curves(lambda w, X=X: X @ w, None, [1, 0], weights=[0.0, 1.0], radius=0.5, n_moves=5)
        assert found.best_moves.tolist() == [pytest.approx(sign * 0.1), 0.0]
        assert found.best_values.tolist() == [1.0, found.value]
    both = weight_curves(lambda w: [abs(w[0]), 0.05], None, [1, 0], weights=[0.0], radius=1.0, n_moves=10)
    assert abs(both.best_moves[0]) == pytest.approx(0.1)


def test_a_curve_has_a_zero_without_sign_and_its_halves_on_their_sides():
    X, y, qid = data()
    curves = weight_curves(linear([1.0, 0.2, -1.0]), X, y, qid=qid, n_moves=1)
    for steps in curves.steps:
        middle = np.flatnonzero(steps.edges == 0)
        assert len(middle) == 1
        assert not np.signbit(steps.edges[middle[0]])
        assert (np.diff(steps.edges) > 0).all()
        assert len(steps.values) == len(steps.edges) - 1


@pytest.mark.parametrize("measure", ["ndcg@3", "pair_loss"])
def test_the_table_shows_what_gets_better_as_positive(measure):
    X, y, qid = data()
    curves = weight_curves(linear([1.0, 0.2, -1.0]), X, y, qid=qid, measure=measure, radius=0.5)
    sign = -1 if measure == "pair_loss" else 1
    assert curves.rises.any()
    lines = [line.split() for line in str(curves).splitlines()[-3:]]
    for number, line in enumerate(lines):
        changes = sign * (np.r_[curves.values[number, [0, -1]], curves.best_values[number]] - curves.value)
        low, high, best = (f"{change:+.5f}" for change in changes)
        weight, move = f"{curves.weights[number]:.4g}", f"{curves.best_moves[number]:+.4g}"
        assert line == [str(number), weight, low, high, move, best]
        assert changes[2] >= 0


def test_wrong_arguments_of_weight_curves_are_refused():
    X, y, qid = data()
    cases = [
        ({"which": [3]}, r"which must list numbers from 0 to 2, one for each weight; got \[3\]"),
        ({"which": [-1]}, "which must list numbers from 0 to 2"),
        ({"which": [0.5]}, "which must list numbers of weights"),
        ({"which": []}, "which must list numbers of weights, at least one"),
        ({"radius": 0}, "radius must be a number above 0; got 0"),
        ({"n_moves": 0}, "n_moves must be an integer of at least 1; got 0"),
        ({"tie": "stable"}, "An option of the measure must be one of"),
        ({"measure": "map", "y": y - 9}, r"map is not defined here: no query has a relevant row \(a label above 0\)"),
    ]
    for changed, message in cases:
        with pytest.raises(PodiumError, match=message):
            weight_curves(**{"model": linear([1, 2, 3]), "X": X, "y": y, "qid": qid, **changed})


SCORES = np.array([0.4, 0.1, -0.3, 1.0, 0.7, -0.9])
LABELS = np.array([0.0, 2.0, 1.0, 0.0, 1.0, 2.0])


def test_ranknets_lambda_is_a_gradient():
    """LM 4.3: ∂λ_i/∂s_j = ∂λ_j/∂s_i, and nothing jumps."""
    test = lambda_symmetry("none", SCORES, LABELS, truncation=None, normalize="none")
    assert test.is_gradient
    i, j = 1, 0  # a pair with y_i > y_j: ∂λ_i/∂s_j = -σ² ρ (1 - ρ)
    rho = 1 / (1 + np.exp(SCORES[i] - SCORES[j]))
    assert test.jacobian[i, j] == pytest.approx(-rho * (1 - rho), rel=1e-3)


@pytest.mark.parametrize("delta", ["ndcg", "map", "mrr", "err"])
def test_lambda_of_a_measure_is_a_gradient_only_until_rows_change_places(delta):
    """LM 4.3: for a particular sorting it is the RankNet cost times |ΔZ|; in general it depends on the sort."""
    test = lambda_symmetry(delta, SCORES, LABELS, truncation=None, normalize="none")
    assert test.is_symmetric
    assert not test.is_gradient
    a, b = test.jump_rows
    places = np.argsort(np.argsort(-SCORES))
    assert places[b] - places[a] == 1
    crossed = lambda_symmetry(delta, SCORES, LABELS, step=0.31, truncation=None, normalize="none")
    assert not crossed.is_symmetric


def test_rows_and_queries_are_the_callers():
    qid = np.array([1, 0, 1, 0, 1, 0])
    test = lambda_symmetry("ndcg", SCORES, LABELS, qid=qid, normalize="none")
    assert np.all(test.jacobian[np.ix_(qid == 0, qid == 1)] == 0)
    assert qid[test.jump_rows[0]] == qid[test.jump_rows[1]]
    order = np.array([3, 0, 5, 1, 4, 2])
    other = lambda_symmetry("ndcg", SCORES[order], LABELS[order], qid=qid[order], normalize="none")
    np.testing.assert_allclose(other.jacobian, test.jacobian[np.ix_(order, order)], atol=1e-5)


def test_the_jacobian_has_a_row_for_each_lambda_and_a_column_for_each_score():
    """λ = A s has the jacobian A, whatever the step; λ of s² has the diagonal 2 s."""
    A = np.array([[1.0, 2.0, 0.0], [-1.0, 0.5, 3.0], [0.25, 0.0, -2.0]])
    scores = np.array([0.3, 1.0, -0.5])
    test = lambda_symmetry(lambda s: A @ s, scores)
    np.testing.assert_allclose(test.jacobian, A, atol=1e-9)
    np.testing.assert_allclose(test.lambdas, A @ scores)
    assert test.asymmetry == pytest.approx(3.0)  # A[0, 1] - A[1, 0], and A[1, 2] - A[2, 1]
    assert test.rows == (0, 1)
    np.testing.assert_allclose(lambda_symmetry(lambda s: s**2, scores).jacobian, np.diag(2 * scores), atol=1e-9)


@pytest.mark.parametrize(
    ("scores", "step"),
    [([0.0, 0.1, 1.0], 0.025), ([0.0, 5.0, 100.0], 0.05), ([1.0, 1.0, 1.1], 0.025), ([2.0, 2.0, 2.0], 0.05)],
)
def test_the_step_is_a_quarter_of_the_least_distance_of_different_scores_and_not_long(scores, step):
    test = lambda_symmetry(lambda s: s, scores)
    assert test.step == pytest.approx(step)
    assert np.isfinite(test.jacobian).all()
    apart = lambda_symmetry(lambda s: s, scores, qid=["a", "b", "a"])  # rows of different queries may be near
    assert apart.step == pytest.approx(min(0.05, (scores[2] - scores[0]) / 4 or 0.05))


def jumping(*along):
    """λ that jumps where rows 0 and 1 change places, and half as much along (1, 0, 0) where rows 1 and 2 do."""

    def function(s):
        own = (s[0] > s[1]) * np.array(along) if any(along) else np.zeros(3)
        return own + 0.25 * (s[1] > s[2]) * np.array([any(along), 0, 0]) + np.array([3.0, 0.0, 0.0])

    return function


def test_only_the_part_of_a_jump_off_the_line_of_two_rows_counts():
    scores = [0.5, 0.1, -0.3]
    off_line = lambda_symmetry(jumping(0.5, 0.5, 0.0), scores)
    assert (off_line.jump, off_line.jump_rows) == (pytest.approx(0.5), (0, 1))  # the upper one first
    third = lambda_symmetry(jumping(0.0, 0.0, -0.5), scores)
    assert (third.jump, third.jump_rows) == (pytest.approx(0.5), (0, 1))
    on_line = lambda_symmetry(jumping(0.5, -0.5, 0.0), scores)
    assert (on_line.jump, on_line.jump_rows) == (pytest.approx(0.25), (1, 2))
    assert lambda_symmetry(jumping(0.0, 0.0, 0.0), scores).is_gradient
    for test in (off_line, third, on_line):
        assert test.is_symmetric
        assert not test.is_gradient
    assert lambda_symmetry(jumping(0.5, 0.5, 0.0), scores, tolerance=0.2).is_gradient  # λ is 3.75


def test_a_users_function_or_loss_is_tested():
    no_cost = lambda_symmetry(lambda s: np.array([1.0, s[0]]), [0.0, 1.0])  # LM's example: ∂F/∂x = 1, ∂F/∂y = x
    assert no_cost.asymmetry == pytest.approx(1.0)
    assert no_cost.rows == (0, 1)
    assert not no_cost.is_gradient
    assert lambda_symmetry(lambda s: s * s.sum() + s @ s / 2, [0.3, 1.0, -0.5]).is_gradient
    pairs = Pairs(np.array([0, 1]), np.array([1, 2]), np.array([1.0, 3.0]))
    assert lambda_symmetry(PairLoss(pairs, 3), [0.3, 1.0, -0.5]).is_gradient


def test_wrong_arguments_of_lambda_symmetry_are_refused():
    cases = [
        ({"lambdas": "dcg"}, "lambdas must be one of ndcg, map, mrr, err, .*; got 'dcg'"),
        ({"lambdas": 3, "y": None}, "lambdas must be one of .* or a loss with derivatives; got int"),
        ({"y": None}, "y must be given: the λ of 'ndcg' are those of labels"),
        ({"lambdas": lambda s: s}, "y and options belong to the name of a measure"),
        ({"lambdas": lambda s: s[:2], "y": None}, "lambdas must have one value per row: 6 expected, 2 given"),
        ({"tolerance": 0}, "tolerance must be a number above 0; got 0"),
        ({"step": -1}, "step must be a number above 0; got -1"),
        ({"depth": 3}, "An option of the λ must be one of"),
    ]
    for changed, message in cases:
        with pytest.raises(PodiumError, match=message):
            lambda_symmetry(**{"lambdas": "ndcg", "scores": SCORES, "y": LABELS, **changed})
