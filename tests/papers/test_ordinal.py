"""Claims of the AdaBoost.OR paper (Lin and Li 2009): Lemma 2, Theorems 4 to 6, K = 2, Tables 1 and 2."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import AdaBoostClassifier

from podium import AdaBoostOR, ORStump
from podium.ordinal.costs import cost_steps, costs_of_steps
from podium.ordinal.votes import Votes
from reference import ordinal as twin


def small_task(seed, n_grades=3):
    """A few rows whose costs are distinct powers, so that no two stumps cost the same."""
    rng = np.random.default_rng(seed)
    X, grades = rng.integers(0, 5, (9, 2)).astype(float), rng.integers(0, n_grades, 9)
    grades[:n_grades] = np.arange(n_grades)
    return X, grades, costs_of_steps(rng.random((9, n_grades - 1)), grades)


@pytest.mark.plain
@pytest.mark.parametrize("seed", range(6))
def test_lemma_2_rounds_are_those_of_adaboost_on_the_binary_examples(seed):
    X, grades, costs = small_task(seed)

    def learn(current):
        feature, direction, thresholds = twin.best_stump(X.tolist(), current)
        return [twin.stump_rank(x, direction, thresholds) for x in X[:, feature]]

    expected = twin.adaboost((grades + 1).tolist(), costs.tolist(), learn, 8)
    model = AdaBoostOR(n_estimators=8).fit(X, grades, sample_cost=costs)
    assert len(model.rounds_) >= len(expected) > 0
    for done, (epsilon, v, ranks) in zip(model.rounds_, expected, strict=False):
        assert done.epsilon == pytest.approx(epsilon, rel=1e-9)
        assert done.weight == pytest.approx(v, rel=1e-9)
        assert (done.ranker.predict(X) + 1).tolist() == ranks


@pytest.mark.plain
def test_lemma_2_holds_for_bases_that_learn_from_cost_vectors():
    X, grades, costs = small_task(7)

    class PlainStump(ORStump):
        """Not the class that has a fast way, so that costs go the general way."""

    fast = AdaBoostOR(n_estimators=12).fit(X, grades, sample_cost=costs)
    slow = AdaBoostOR(PlainStump(), n_estimators=12).fit(X, grades, sample_cost=costs)
    np.testing.assert_allclose([r.epsilon for r in slow.rounds_], [r.epsilon for r in fast.rounds_], rtol=1e-9)
    np.testing.assert_array_equal(slow.predict(X), fast.predict(X))
    np.testing.assert_allclose(slow.predict_rank(X), fast.predict_rank(X), rtol=1e-9)


@given(
    st.integers(1, 7).flatmap(
        lambda n: st.tuples(
            st.lists(st.integers(1, 5), min_size=n, max_size=n),
            st.lists(st.integers(0, 8), min_size=n, max_size=n).filter(any),
        )
    )
)
@pytest.mark.plain
def test_theorem_4_the_weighted_median_is_the_vote_of_equation_6(ensemble):
    ranks, weights = ensemble
    votes = Votes(1, 5)
    for rank, weight in zip(ranks, weights, strict=True):
        votes.add(np.array([rank - 1]), float(weight))
    assert votes.medians()[0] + 1 == twin.combined_rank(ranks, weights, 5)


@pytest.mark.parametrize("seed", range(5))
def test_theorem_5_no_stump_has_an_error_above_one_half(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.random((60, 2)), rng.integers(0, 5, 60)
    model = AdaBoostOR(n_estimators=300).fit(X, y)
    assert len(model.rounds_) == 300 or "more than one half" not in model.stop_reason_
    assert max(done.epsilon for done in model.rounds_) <= 0.5


@pytest.mark.parametrize("cost", ["absolute", "squared", "zero-one", "steps"])
def test_theorem_6_bounds_the_training_cost_in_every_round(cost):
    rng = np.random.default_rng(3)
    X, y = rng.random((150, 3)), rng.integers(0, 4, 150)
    given_cost = {"cost": cost} if cost != "steps" else {}
    costs = {} if cost != "steps" else {"sample_cost": costs_of_steps(rng.exponential(size=(150, 3)), y)}
    model = AdaBoostOR(n_estimators=80, **given_cost).fit(X, y, **costs)
    epsilon = np.array([done.epsilon for done in model.rounds_])
    np.testing.assert_allclose(model.bounds_, np.cumprod(np.sqrt(1 - 4 * (0.5 - epsilon) ** 2)), rtol=1e-9)
    assert np.all(model.train_costs_ <= model.bounds_ + 1e-12)
    assert np.all(model.bounds_ <= np.exp(-2 * np.cumsum((0.5 - epsilon) ** 2)) + 1e-12)
    row_costs = costs.get("sample_cost")
    if row_costs is None:
        distance = np.abs(np.subtract.outer(y, np.arange(4)))
        row_costs = {"absolute": distance, "squared": distance**2, "zero-one": distance > 0}[cost].astype(float)
    total = cost_steps(row_costs).sum()
    for found, predicted in zip(model.train_costs_, model.staged_predict(X), strict=True):
        assert found == pytest.approx(row_costs[np.arange(150), predicted].sum() / total, rel=1e-9, abs=1e-12)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_two_grades_are_discrete_adaboost_on_stumps():
    rng = np.random.default_rng(5)
    X = rng.random((200, 3))
    y = (X.sum(axis=1) + rng.normal(scale=0.4, size=200) > 1.5).astype(int)
    model = AdaBoostOR(n_estimators=30).fit(X, y)
    peer = AdaBoostClassifier(ORStump(), n_estimators=30, random_state=0).fit(X, y)
    np.testing.assert_allclose([done.epsilon for done in model.rounds_], peer.estimator_errors_, rtol=1e-6)
    np.testing.assert_allclose([2 * done.weight for done in model.rounds_], peer.estimator_weights_, rtol=1e-6)
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))


TABLES = {  # training rows; single and boosted stumps: training cost (Table 1), test cost (Table 2), absolute; how near
    "machinecpu": (150, [1.12, 0.12, 1.29, 0.84], [0.03, 0.03, 0.07, 0.08]),
    "boston": (300, [1.05, 0.00, 1.17, 0.89], [0.02, 0.005, 0.025, 0.02]),
}
"""A mean over five splits is within its standard error, which for 59 test rows is 0.07; the paper has twenty others."""


@pytest.mark.parametrize("name", TABLES)
def test_tables_1_and_2_come_out_on_five_splits(name, shared_data):
    n_train, expected, near = TABLES[name]
    with gzip.open(shared_data(f"ordinal/{name}.csv.gz"), "rt") as file:
        content = np.loadtxt(file, delimiter=",", skiprows=1)
    X, target = content[:, :-1], content[:, -1]
    y = np.empty(len(X), int)
    y[np.argsort(target, kind="stable")] = 1 + np.arange(len(X)) * 10 // len(X)
    found = []
    for split in range(5):
        rows = np.random.default_rng(split).permutation(len(X))
        train, test = rows[:n_train], rows[n_train:]
        models = (ORStump().fit(X[train], y[train]), AdaBoostOR().fit(X[train], y[train]))
        found.append([-m.score(X[part], y[part]) for part in (train, test) for m in models])
    assert np.all(np.abs(np.mean(found, axis=0) - expected) <= near)
