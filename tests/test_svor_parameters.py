"""Parameters of SVOR and the scale of features: each of them is heeded, against the formulas."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from podium import SVOR, PodiumError, PRank
from podium.ordinal.scaling import Scaling
from podium.ordinal.support_vectors import ExtendedMachine
from podium.rankers.ordinal_ranker import OrdinalData
from podium.rankers.svor import C_GRID, normalized_cost
from reference.ordinal_peers import kernel_value

pytestmark = pytest.mark.plain

ASYMMETRIC = np.array([[0.0, 1, 5, 5], [1, 0, 4, 9], [2, 1, 0, 0.5], [7, 3, 3, 0]])
"""V-shaped, and not the costs of its transpose."""


def sample(seed=0, n_rows=60, n_grades=4):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n_rows, 3)), 2)
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] + rng.normal(0, 0.6, n_rows), np.linspace(-1, 1, n_grades - 1))
    y[:n_grades] = np.arange(n_grades)
    return X, y


def test_the_scale_of_features_heeds_weights_and_leaves_out_what_is_missing():
    rng = np.random.default_rng(1)
    X, weight = rng.normal(2, 3, (30, 2)), rng.integers(1, 5, 30)
    X[rng.random(X.shape) < 0.2] = np.nan
    many = np.repeat(X, weight, axis=0)
    y = np.arange(30) % 3
    for ranker in (PRank(epochs=1), SVOR(0.1, kernel="linear")):
        model = ranker.fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(model.means_, np.nanmean(many, axis=0))
        np.testing.assert_allclose(model.deviations_, np.nanstd(many, axis=0))


@pytest.mark.parametrize("unit", [1.0, 1e-200, 1e200])
def test_the_scale_of_a_feature_is_that_of_the_rows_that_have_it_however_light_or_heavy_they_are(unit):
    features = np.array([[np.nan, np.nan], [1.0, np.nan], [4.0, np.nan]])
    scaling = Scaling.of(features, np.array([1.0, 0.5, 0.25]) * unit, "SVOR")
    np.testing.assert_allclose(scaling.means, [2.0, 0.0])
    np.testing.assert_allclose(scaling.deviations, [np.sqrt(2.0), 1.0])


@pytest.mark.parametrize("ranker", [PRank(epochs=3), SVOR(0.1, kernel="linear")], ids=lambda r: type(r).__name__)
def test_absent_entries_of_sparse_rows_are_missing_like_nan(ranker):
    X, y = sample(25, 30)
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    stored = sp.csc_array(np.nan_to_num(X))
    one, two = clone(ranker).fit(X, y), clone(ranker).fit(stored, y)
    np.testing.assert_array_equal(one.means_, two.means_)
    np.testing.assert_array_equal(one.deviations_, two.deviations_)
    np.testing.assert_array_equal(one.predict_rank(X), two.predict_rank(stored))


def test_a_feature_that_varies_by_rounding_alone_is_constant():
    features = np.array([[0.1 + 0.2, 1.0], [0.3, 2.0], [0.3, 3.0]])
    scaling = Scaling.of(features, np.ones(3), "SVOR")
    assert scaling.deviations[0] == 1
    assert np.abs(scaling.apply(features)[:, 0]).max() < 1e-15


@pytest.mark.parametrize("ranker", [PRank(epochs=1), SVOR()], ids=lambda r: type(r).__name__)
def test_vast_features_are_refused_by_rankers_that_compute_with_them_and_cut_when_scored(ranker):
    X, y = sample(14)
    ranker.fit(X, y)
    assert np.all(np.isfinite(ranker.predict_rank([[np.inf, -np.inf, 1e300]])))
    for value in (np.inf, 1e100, -1e100):
        X[3, 1] = value
        with pytest.raises(PodiumError, match=r"within ±1e\+100.*feature 1 does not"):
            clone(ranker).fit(X, y)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "perceptron"])
@pytest.mark.parametrize("rows_at_once", [1, 7, 19, 20, 512])
def test_scores_of_svor_are_sums_of_kernel_values(kernel, rows_at_once, monkeypatch):
    monkeypatch.setattr("podium.rankers.svor.ROWS_AT_ONCE", rows_at_once)
    X, y = sample(15, 20, 3)
    model = SVOR(0.5, kernel=kernel, gamma=0.3).fit(X, y)
    rows = ((X - model.means_) / model.deviations_).tolist()
    expected = [
        sum(
            weight * kernel_value(row, vector, kernel, 0.3)
            for weight, vector in zip(model.dual_coef_, model.support_vectors_.tolist(), strict=True)
        )
        for row in rows
    ]
    np.testing.assert_allclose(model.predict_rank(X), expected, rtol=1e-9)


def test_gamma_kernel_and_seed_of_svor_are_heeded():
    X, y = sample(16, 40)
    default, third, one = (SVOR(1.0, kernel="rbf", gamma=gamma).fit(X, y) for gamma in (None, 1 / 3, 1.0))
    np.testing.assert_array_equal(default.predict_rank(X), third.predict_rank(X))
    assert np.abs(default.predict_rank(X) - one.predict_rank(X)).max() > 0.01
    first, second = (SVOR(1.0, tol=0.1, random_state=seed).fit(X, y).dual_coef_ for seed in (0, 1))
    assert not np.array_equal(first, second)
    assert SVOR().kernel == "perceptron"


def test_tol_max_iter_and_cache_size_of_svor_are_heeded(monkeypatch):
    machines = []

    class Kept(ExtendedMachine):
        def __init__(self, *given):
            super().__init__(*given)
            machines.append(self)

    monkeypatch.setattr("podium.rankers.svor.ExtendedMachine", Kept)
    X, y = sample(17, 40)
    loose, tight = (SVOR(0.1, tol=tol).fit(X, y) for tol in (1e-1, 1e-5))
    assert tight.gap_ <= 1e-5 < loose.gap_ <= 1e-1
    assert loose.n_iter_ < tight.n_iter_
    SVOR("smallest", target_error=0.0, max_iter=2, cache_size=0).fit(X, y)
    SVOR(0.1, cache_size=10 * 4 * 40 / 1e6, tol=0.1).fit(X, y)
    assert machines[-2].n_sweeps <= 2 * len(C_GRID)
    assert [len(machine.matrix) for machine in machines] == [40, 40, 0, 10]


def test_the_price_is_the_first_of_the_grid_that_reaches_the_error_or_the_first_of_the_lowest():
    X, y = sample(24, 16)
    data = OrdinalData.from_arrays(X, y)
    rows = Scaling.of(data.features, data.weight, "SVOR").apply(data.features)
    machine = ExtendedMachine(rows, data.grades, np.ones((16, 3)), "perceptron", 1.0, 1e9, 0)
    errors = []
    for power in range(-20, 21, 2):
        machine.solve(2.0**power, 1e-3, 3)
        errors.append(normalized_cost(machine.grade(), data.costs))
    met = sorted(set(errors))
    assert len(met) > 3
    assert errors.count(met[0]) > 1
    for target_error in (*met[1:-1], met[0], np.nextafter(met[0], 0)):
        reached = [power for power, error in enumerate(errors) if error <= target_error]
        expected = reached[0] if reached else int(np.argmin(errors))
        model = SVOR("smallest", target_error=target_error, max_iter=3).fit(X, y)
        assert 2.0 ** (2 * expected - 20) == model.C_
        assert model.training_error_ == errors[expected]


def test_the_grid_of_prices_has_every_fourth_power_of_two_from_both_ends():
    assert tuple(4.0**power for power in range(-10, 11)) == C_GRID
    assert SVOR().target_error == 0.3


def test_the_training_error_of_svor_is_in_parts_of_what_the_two_ends_cost():
    X, y = sample(19, 30)
    model = SVOR(0.05, cost=ASYMMETRIC).fit(X, y)
    paid = ASYMMETRIC[y, model.predict(X)].sum()
    assert paid > 0
    assert model.training_error_ == pytest.approx(paid / np.sum(ASYMMETRIC[y, 0] + ASYMMETRIC[y, -1]))


def test_the_grid_of_prices_hangs_on_no_weights_of_rows():
    X, y = sample(22, 20)
    for weight in (None, np.random.default_rng(0).uniform(0.1, 5.0, 20)):
        model = SVOR("smallest", target_error=1.0).fit(X, y, sample_weight=weight)
        assert pytest.approx(C_GRID[0]) == model.C_
