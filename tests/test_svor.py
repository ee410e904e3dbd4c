"""Support vectors for grades: against the whole quadratic programme and SVC, kernels, the search for C."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from podium import SVOR
from podium.ordinal.costs import cost_steps
from podium.ordinal.scaling import Scaling
from podium.ordinal.support_vectors import KERNELS, ExtendedMachine, bias_step, diagonal_of, fill_kernel
from podium.rankers.svor import C_GRID
from reference.ordinal_peers import extended_machine, kernel_value

each_kernel = pytest.mark.parametrize("kernel", sorted(KERNELS))


def sample(seed, n_rows=12, n_grades=4, noise=0.5):
    rng = np.random.default_rng(seed)
    raw = rng.normal(size=(n_rows, 2))
    raw = (raw - raw.mean(axis=0)) / raw.std(axis=0)
    order = np.argsort(raw[:, 0] + raw[:, 1] ** 2 + rng.normal(0, noise, n_rows))
    grades = np.empty(n_rows, np.int64)
    grades[order] = np.arange(n_rows) * n_grades // n_rows
    costs = np.abs(grades[:, None] - np.arange(n_grades)) * rng.uniform(0.5, 2, n_rows)[:, None]
    return raw, grades, cost_steps(costs)


@pytest.mark.plain
@each_kernel
@pytest.mark.parametrize("C", [0.1, 2.0])
def test_the_solution_is_that_of_the_whole_quadratic_programme(kernel, C):
    rows, grades, weights = sample(1)
    machine = ExtendedMachine(rows, grades, weights, kernel, 0.7, 1e6, seed=0)
    assert machine.solve(C, 1e-7, 20_000)
    objective, values = extended_machine(rows.tolist(), grades.tolist(), weights.tolist(), kernel, 0.7, C)
    norm = machine.sums @ machine.values + machine.offsets @ machine.offsets
    assert 0.5 * norm - machine.alpha.sum() == pytest.approx(objective, rel=1e-5)
    np.testing.assert_allclose(machine.values[:, None] + machine.offsets + machine.bias, values, atol=2e-3)


@each_kernel
def test_two_grades_are_a_support_vector_machine(kernel):
    rows, grades, _ = sample(2, 80, 2)
    matrix = np.array([[kernel_value(x, other, kernel, 0.5) for other in rows] for x in rows])
    peer = SVC(C=0.7, kernel="precomputed", tol=1e-6).fit(matrix, grades)
    machine = ExtendedMachine(rows, grades, np.ones((80, 1)), kernel, 0.5, 1e6, seed=0)
    assert machine.solve(0.7, 1e-7, 20_000)
    # The unit vector of the one threshold adds 1 to every kernel value, which no solution with Σ α z = 0 can see.
    values = machine.values + machine.offsets + machine.bias
    np.testing.assert_allclose(values, peer.decision_function(matrix), atol=5e-3)


@pytest.mark.plain
def test_the_state_is_what_follows_from_the_variables():
    rows, grades, weights = sample(3, 30)
    machine = ExtendedMachine(rows, grades, weights, "perceptron", 1.0, 1e6, seed=1)
    for C in (0.01, 0.1, 0.05):
        machine.solve(C, 1e-3, 2000)
        signs = np.where(np.arange(3) < grades[:, None], 1, -1)
        matrix = -np.linalg.norm(rows[:, None] - rows, axis=2)
        np.testing.assert_allclose(machine.sums, (machine.alpha * signs).sum(axis=1), atol=1e-9)
        np.testing.assert_allclose(machine.offsets, (machine.alpha * signs).sum(axis=0), atol=1e-9)
        np.testing.assert_allclose(machine.values, matrix @ machine.sums, atol=1e-5)
        assert np.all((machine.alpha >= 0) & (machine.alpha <= C * weights * (1 + 1e-12)))
        assert 0 <= machine.gap <= 1e-3


def test_a_warm_start_ends_where_a_cold_one_does():
    rows, grades, weights = sample(4, 40)
    warm, cold = (ExtendedMachine(rows, grades, weights, "rbf", 0.5, 1e6, seed=0) for _ in range(2))
    for C in (0.01, 0.1, 1.0):
        warm.solve(C, 1e-6, 20_000)
    cold.solve(1.0, 1e-6, 20_000)
    np.testing.assert_allclose(warm.values + warm.bias, cold.values + cold.bias, atol=1e-2)


@pytest.mark.plain
@pytest.mark.parametrize("cache_bytes", [0, 1000, 1e9])
def test_the_size_of_the_cache_changes_no_bit(cache_bytes):
    rows, grades, weights = sample(5, 30)
    machine, whole = (ExtendedMachine(rows, grades, weights, "rbf", 1.0, size, seed=0) for size in (cache_bytes, 1e9))
    for one in (machine, whole):
        one.solve(1.0, 1e-3, 1000)
    assert len(machine.matrix) == min(30, int(cache_bytes / 120))
    np.testing.assert_array_equal(machine.alpha, whole.alpha)


@pytest.mark.plain
@each_kernel
def test_kernels_equal_their_formulas(kernel):
    rows = np.random.default_rng(0).normal(size=(6, 3))
    found = np.empty((2, 6))
    fill_kernel(np.ascontiguousarray(rows.T), rows[:2], KERNELS[kernel], 0.3, found)
    expected = [[kernel_value(x, other, kernel, 0.3) for other in rows] for x in rows[:2]]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(diagonal_of(rows, kernel), [kernel_value(x, x, kernel, 0.3) for x in rows], atol=1e-12)


@pytest.mark.plain
@each_kernel
def test_the_gap_is_that_between_the_primal_and_the_dual(kernel):
    rows, grades, weights = sample(10, 15)
    machine = ExtendedMachine(rows, grades, weights, kernel, 0.5, 1e6, seed=0)
    for C, sweeps in ((0.3, 1), (0.3, 4), (2.0, 3)):
        machine.solve(C, 1e-9, sweeps)
        matrix = np.array([[kernel_value(x, other, kernel, 0.5) for other in rows] for x in rows])
        signs = np.where(np.arange(3) < grades[:, None], 1, -1)
        signed = machine.alpha * signs
        norm = signed.sum(axis=1) @ matrix @ signed.sum(axis=1) + np.sum(signed.sum(axis=0) ** 2)
        values = (matrix @ signed.sum(axis=1))[:, None] + signed.sum(axis=0) + machine.bias
        primal = 0.5 * norm + np.sum(C * weights * np.maximum(0, 1 - signs * values))
        dual = machine.alpha.sum() - 0.5 * norm
        missed = abs(signed.sum()) / (0.1 * C * weights.sum())
        expected = max((primal - dual + machine.bias * signed.sum()) / primal, missed)
        assert machine.gap == pytest.approx(expected, rel=1e-3, abs=1e-5)


@pytest.mark.plain
def test_a_copied_machine_stays_as_it_was():
    rows, grades, weights = sample(11, 15)
    machine = ExtendedMachine(rows, grades, weights, "rbf", 0.5, 1e6, seed=0)
    machine.solve(0.1, 1e-9, 2)
    names = ("alpha", "sums", "offsets", "values", "bias", "C", "gap", "n_sweeps")
    before = {name: np.copy(getattr(machine, name)) for name in names}
    other = machine.copy()
    machine.solve(5.0, 1e-9, 5)
    for name in names:
        np.testing.assert_array_equal(getattr(other, name), before[name])
        assert np.any(getattr(machine, name) != before[name])


@pytest.mark.plain
@pytest.mark.parametrize("n_features", [1, 2, 7])
def test_the_step_of_the_bias_makes_the_perceptron_kernel_positive_definite(n_features):
    rows = np.random.default_rng(0).normal(size=(60, n_features))
    matrix = bias_step(rows, "perceptron") - np.linalg.norm(rows[:, None] - rows, axis=2)
    assert np.linalg.eigvalsh(matrix).min() > -1e-9


def test_the_smallest_price_is_the_first_that_reaches_the_error():
    rows, grades, _ = sample(6, 120, 5)
    uneven = (grades > 1) | (np.arange(120) % 4 == 0)  # with as much above as below, any price splits the rows in half
    rows, grades = rows[uneven], grades[uneven]
    model = SVOR("smallest").fit(rows, grades)
    assert model.training_error_ <= 0.3
    assert np.log2(model.C_) % 2 == 0
    cheaper = SVOR(model.C_ / 4).fit(rows, grades)
    assert cheaper.training_error_ > 0.3
    assert SVOR("smallest", target_error=0.05).fit(rows, grades).C_ > model.C_


@pytest.mark.plain
def test_an_error_that_cannot_be_reached_gives_the_lowest():
    rows, grades = np.array([[0.0], [0.0], [1.0], [1.0]]), [0, 1, 0, 2]
    model = SVOR("smallest", target_error=0.0, kernel="rbf", max_iter=50).fit(rows, grades)
    assert model.training_error_ == pytest.approx(3 / 8)


@pytest.mark.plain
def test_the_machine_of_the_lowest_error_is_kept_as_it_was():
    """After one sweep a large price leaves a bias that one more sweep at a small price could not take back."""
    rows, grades, _ = sample(9, 60, 4)
    model = SVOR("smallest", target_error=0.0, max_iter=1).fit(rows, grades)
    first = SVOR("smallest", target_error=model.training_error_, max_iter=1).fit(rows, grades)
    assert model.C_ == first.C_ == C_GRID[8]
    assert model.training_error_ == first.training_error_ < 0.1
    np.testing.assert_array_equal(model.dual_coef_, first.dual_coef_)
    np.testing.assert_array_equal(model.thresholds_, first.thresholds_)


@pytest.mark.plain
def test_a_minimum_that_misses_the_constraint_has_a_gap():
    rows, grades, weights = sample(9, 60, 4)
    machine = ExtendedMachine(rows, grades, weights, "perceptron", 1.0, 1e6, seed=0)
    machine.bias = 1e6  # all variables of one sign at their limit, which is the minimum for this bias
    assert not machine.solve(0.1, 1e-3, 1)
    assert machine.gap >= abs(machine.sums.sum()) / (0.1 * 0.1 * weights.sum()) > 1


@pytest.mark.plain
def test_a_machine_that_pays_nothing_has_no_gap():
    """Where all costs point one way, the first bias answers all of them with margin 1: both objectives are 0."""
    rows, grades, _ = sample(9, 60, 4)
    weights = np.where(np.arange(3) < grades[:, None], 1.0, 0.0)
    machine = ExtendedMachine(rows, grades, weights, "perceptron", 1.0, 1e6, seed=0)
    assert machine.solve(1.0, 1e-3, 1)
    assert (machine.gap, machine.bias, machine.alpha.any()) == (0.0, 1.0, False)


@pytest.mark.plain
def test_the_smallest_price_depends_on_no_common_factor_of_the_costs():
    rows, grades, _ = sample(7, 60, 4)
    costs = np.abs(grades[:, None] - np.arange(4.0))
    one, two = (SVOR("smallest").fit(rows, grades, sample_cost=factor * costs) for factor in (1.0, 0.25))
    assert two.C_ == 4 * one.C_
    np.testing.assert_array_equal(one.predict(rows), two.predict(rows))


@pytest.mark.plain
@each_kernel
def test_the_training_error_is_that_of_the_predicted_grades(kernel):
    rows, grades, _ = sample(8, 60, 4)
    model = SVOR(1.0, kernel=kernel).fit(rows, grades)
    paid = np.abs(model.predict(rows) - grades).sum()
    assert model.training_error_ == pytest.approx(paid / (3 * 60))
    assert np.all(np.diff(model.thresholds_) >= 0)


@pytest.mark.plain
def test_a_run_that_does_not_converge_warns_where_the_price_is_given():
    rows, grades, _ = sample(9, 60, 4)
    with pytest.warns(
        ConvergenceWarning, match="stopped after 1 sweeps at a duality gap of .*; raise max_iter"
    ) as caught:
        SVOR(100.0, max_iter=1).fit(rows, grades)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SVOR("smallest", target_error=0.0, max_iter=1).fit(rows, grades)
    assert model.gap_ > model.tol


@pytest.mark.plain
def test_features_are_scaled_to_mean_0_and_deviation_1_and_what_is_missing_to_0():
    features = np.array([[1.0, 5.0, np.nan], [3.0, 5.0, np.nan], [np.nan, 5.0, np.nan]])
    scaling = Scaling.of(features, np.ones(features.shape[0]), "SVOR")
    expected = [[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    np.testing.assert_array_equal(scaling.apply(features), expected)
    assert np.all(np.isfinite(scaling.apply(np.array([[np.inf, -np.inf, 1e300]]))))


@pytest.mark.plain
def test_the_first_bias_is_that_of_the_heavier_side():
    rows, grades, _ = sample(12, 12, 3)
    for above, below, bias in ((2.0, 1.0, 1.0), (1.0, 2.0, -1.0)):
        own = np.where(np.arange(2) < grades[:, None], above, below)
        assert ExtendedMachine(rows, grades, own, "rbf", 0.5, 1e6, seed=0).bias == bias


@pytest.mark.plain
def test_a_larger_price_starts_from_the_scaled_solution_of_the_smaller():
    rows, grades, weights = sample(12, 12)
    machine = ExtendedMachine(rows, grades, weights, "rbf", 0.5, 1e6, seed=0)
    machine.solve(0.01, 1e-3, 50)
    before = {name: getattr(machine, name).copy() for name in ("alpha", "sums", "offsets", "values")}
    assert np.any(before["alpha"] == 0.01 * weights)
    machine.solve(0.04, 1e-3, 0)
    for name, values in before.items():
        np.testing.assert_allclose(getattr(machine, name), 4 * values, rtol=1e-12)


@pytest.mark.plain
def test_half_of_the_step_of_the_multiplier_is_taken_between_sweeps():
    rows, grades, weights = sample(13, 12)
    whole, parts = (ExtendedMachine(rows, grades, weights, "rbf", 0.5, 1e6, seed=0) for _ in range(2))
    whole.solve(1.0, 0.0, 2)
    first = parts.bias
    parts.solve(1.0, 0.0, 1)
    parts.bias = first + 0.5 * (parts.bias - first)
    parts.solve(1.0, 0.0, 1)
    np.testing.assert_array_equal(parts.alpha, whole.alpha)
    assert parts.bias == whole.bias
