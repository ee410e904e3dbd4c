"""BaggingOR: draws, the median of the votes, what does not change an answer, files, bad input."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression

from podium import AdaBoostOR, BaggingOR, FormatError, ORStump, PodiumError, PRank, load
from podium.model_file import read_model, write_model
from podium.rankers.bagging import draw_rows, drawn_data
from podium.rankers.ordinal_ranker import OrdinalData
from reference import ordinal as twin
from tables import graded_table


@pytest.fixture(scope="module")
def table():
    return graded_table()


@pytest.mark.plain
def test_the_vote_is_the_median_of_the_rankers_grades(table):
    X, y = table
    for base in (None, PRank(epochs=3)):
        model = BaggingOR(base, n_estimators=6).fit(X, y)
        ranks = np.array([ranker.predict(X) + 1 for ranker in model.estimators_])
        expected = [twin.combined_rank(own.tolist(), [1.0] * 6, 4) - 1 for own in ranks.T]
        np.testing.assert_array_equal(model.predict(X), expected)
        np.testing.assert_allclose(model.predict_rank(X), ranks.mean(axis=0))
        *_, last = model.staged_predict(X)
        np.testing.assert_array_equal(last, expected)


@pytest.mark.plain
def test_each_ranker_learns_from_its_own_draw_of_as_many_rows(table):
    X, y = table
    model = BaggingOR(n_estimators=4, random_state=3).fit(X, y)
    data, generator = OrdinalData.from_arrays(X, y), np.random.default_rng(3)
    for ranker in model.estimators_:
        drawn = draw_rows(data, generator)
        assert len(drawn) == 150
        alone = ORStump().fit(X[data.rows[drawn]], y[data.rows[drawn]])
        np.testing.assert_array_equal(ranker.predict(X), alone.predict(X))
    assert len({tuple(ranker.thresholds_) for ranker in model.estimators_}) > 1


def test_the_same_seed_gives_the_same_vote_and_another_one_another(table):
    X, y = table
    one, two, other = (BaggingOR(PRank(epochs=3), 3, random_state=seed).fit(X, y).predict_rank(X) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, two)
    assert np.any(one != other)
    drawn = BaggingOR(n_estimators=3, random_state=None).fit(X, y)
    again = BaggingOR(n_estimators=3, random_state=drawn.seed_).fit(X, y)
    np.testing.assert_array_equal(drawn.predict_rank(X), again.predict_rank(X))


def test_row_order_changes_no_bit_with_weights_and_costs_of_rows(table):
    X, y = table
    rng = np.random.default_rng(2)
    weight = rng.random(150)
    costs = np.abs(np.subtract.outer(y, np.arange(4))) * rng.random((150, 1))
    order = rng.permutation(150)
    one = BaggingOR(n_estimators=5).fit(X, y, sample_cost=costs, sample_weight=weight)
    two = BaggingOR(n_estimators=5).fit(X[order], y[order], sample_cost=costs[order], sample_weight=weight[order])
    np.testing.assert_array_equal(one.predict_rank(X), two.predict_rank(X))


@pytest.mark.plain
def test_rows_are_drawn_in_proportion_to_their_weights():
    X, y = np.arange(4.0)[:, None], [0, 0, 1, 1]
    data, generator = OrdinalData.from_arrays(X, y, sample_weight=[1, 2, 3, 0]), np.random.default_rng(0)
    assert len(data.grades) == 3
    draws = np.concatenate([data.rows[draw_rows(data, generator)] for _ in range(4000)])
    shares = np.bincount(draws, minlength=4) / len(draws)
    both = [  # of all draws of three rows, those with two grades
        (a, b, c) for a in range(3) for b in range(3) for c in range(3) if {a, b, c} != {2} and 2 in (a, b, c)
    ]
    chance = np.array([np.prod([[1, 2, 3][i] for i in draw]) for draw in both], float)
    expected = [np.sum(chance * [draw.count(i) for draw in both]) / (3 * chance.sum()) for i in range(3)]
    np.testing.assert_allclose(shares, [*expected, 0.0], atol=0.02)


@pytest.mark.plain
@pytest.mark.parametrize("factor", [2.0**-1000, 2.0**400])
def test_a_common_factor_of_all_weights_changes_no_draw(factor, table):
    data = OrdinalData.from_arrays(*table, sample_weight=np.random.default_rng(0).random(150) + 0.1)
    one, two = (draw_rows(own, np.random.default_rng(1)) for own in (data, replace(data, weight=factor * data.weight)))
    np.testing.assert_array_equal(one, two)


@pytest.mark.plain
def test_drawn_rows_keep_their_costs_and_the_mean_weight():
    X, y = np.arange(4.0)[:, None], np.array([0, 1, 2, 1])
    data = OrdinalData.from_arrays(X, y, sample_weight=[1.0, 2.0, 3.0, 2.0])
    chosen = drawn_data(data, np.array([0, 0, 2, 3]))
    np.testing.assert_allclose(chosen.costs, 2.0 * np.abs(np.subtract.outer(chosen.grades, np.arange(3))))
    assert chosen.weight.tolist() == [2.0] * 4


class Stranger(BaseEstimator):
    """An ordinal ranker of a user's own: the cheapest grade of all."""

    def fit(self, X, y, sample_cost=None):
        self.grades_ = np.unique(y)
        self.best_ = self.grades_[np.argmin(sample_cost.sum(axis=0))]
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.best_)


@pytest.mark.plain
def test_rankers_of_other_making_vote_too(table, tmp_path):
    X, y = table
    model = BaggingOR(Stranger(), n_estimators=5).fit(X, y)
    assert np.all(model.predict(X) == np.median([ranker.best_ for ranker in model.estimators_]))
    with pytest.raises(PodiumError, match="A model file holds rankers of Podium only; Stranger is not one"):
        model.save(tmp_path / "model")


def test_bagging_steadies_what_it_learns(table):
    """Over draws of the training rows, grades of new rows vary less under the vote than under one ranker."""
    X, y = table
    rng = np.random.default_rng(0)
    varied = {}
    for name, ranker in (("one", AdaBoostOR(n_estimators=3)), ("vote", BaggingOR(AdaBoostOR(n_estimators=3), 15))):
        rows = [rng.permutation(150)[:75] for _ in range(12)]
        found = np.array([clone(ranker).fit(X[own], y[own]).predict(X) for own in rows])
        varied[name] = found.var(axis=0).mean()
    assert varied["vote"] < 0.8 * varied["one"]


@pytest.mark.plain
def test_sparse_rows_and_single_grades_in_draws_are_learned():
    X, y = sp.csr_array(np.array([[1.0], [2.0], [0.0]])), [0, 0, 1]
    model = BaggingOR(n_estimators=9).fit(X, y)
    assert model.predict(X).tolist() == [0, 0, 1]


@pytest.mark.plain
def test_bad_input_is_refused(table):
    X, y = table
    with pytest.raises(PodiumError, match=r"must take sample_cost in fit.*LogisticRegression does not"):
        BaggingOR(LogisticRegression()).fit(X, y)
    with pytest.raises(PodiumError, match="Give cost to BaggingOR, not to its estimator"):
        BaggingOR(ORStump(cost="squared")).fit(X, y)
    with pytest.raises(PodiumError, match="n_estimators"):
        BaggingOR(n_estimators=0).fit(X, y)
    with pytest.raises(PodiumError, match=r"had one grade alone, 100 times: .* give sample_weight that differs less"):
        BaggingOR().fit(X, y, sample_weight=np.where(np.arange(150) == 0, 1e300, 1e-300))


@pytest.mark.plain
def test_broken_files_are_refused(table, tmp_path):
    X, y = table
    path = tmp_path / "model"
    BaggingOR(n_estimators=3).fit(X, y).save(path)
    content = read_model(path)
    fewer = ORStump().fit(X, np.minimum(y, 2)).content()
    for learned, message in (
        ({"stumps": None}, "no ranker is there to vote"),
        ({"stumps": None, "rankers": []}, "no ranker is there to vote"),
        ({"stumps": None, "rankers": [fewer]}, "must have the classes of the vote"),
        (
            {"stumps": {**content["learned"]["stumps"], "missing": np.ones(1, int)}},
            "missing must have 3 entries; got 1",
        ),
    ):
        write_model(path, {**content, "learned": {**content["learned"], **learned}})
        with pytest.raises(FormatError, match=message):
            load(path)
