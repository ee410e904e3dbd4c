"""The reduction to binary classification and back: inverses, costs, monotonicity, bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from podium import MART, AdaBoostOR, ExtendedBinary, ORBoost, ORStump, PodiumError, PRank, load
from podium.rankers.extended_binary import (
    ReversedOrdinal,
    extend,
    extended_features,
    reverse,
    share_not_monotone,
)
from reference.ordinal import answer, binary_examples, costs_of_examples


@st.composite
def examples(draw):
    """Grades and V-shaped costs, in eighths so that sums are exact."""
    n_rows, n_grades = draw(st.integers(1, 6)), draw(st.integers(2, 6))
    grades = np.array(draw(st.lists(st.integers(0, n_grades - 1), min_size=n_rows, max_size=n_rows)))
    steps = st.lists(st.integers(0, 40), min_size=n_grades - 1, max_size=n_grades - 1)
    weights = np.array(draw(st.lists(steps, min_size=n_rows, max_size=n_rows))) / 8
    return grades, np.array(costs_of_examples((grades + 1).tolist(), weights.tolist()))


@pytest.mark.plain
@given(examples())
def test_reverse_undoes_extend(example):
    grades, costs = example
    signs, weights = extend(grades, costs)
    expected = binary_examples((grades + 1).tolist(), costs.tolist())
    assert [list(zip(*row, strict=True)) for row in zip(signs.tolist(), weights.tolist(), strict=True)] == expected
    again, costs_again = reverse(signs, weights)
    np.testing.assert_array_equal(again, grades)
    np.testing.assert_array_equal(costs_again, costs)


@pytest.mark.plain
@given(examples())
def test_extend_undoes_reverse(example):
    signs, weights = extend(*example)
    for one, other in zip(extend(*reverse(signs, weights)), (signs, weights), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.plain
@given(examples(), st.integers(0, 5))
def test_the_weight_of_wrong_answers_is_the_cost(example, rank):
    """OR Lemma 1."""
    grades, costs = example
    grade = min(rank, costs.shape[1] - 1)
    signs, weights = extend(grades, costs)
    answers = np.array([answer(grade + 1, k) for k in range(1, costs.shape[1])])
    np.testing.assert_array_equal(np.sum(weights * (signs != answers), axis=1), costs[:, grade])


@pytest.mark.plain
def test_signs_that_rise_belong_to_no_grade():
    with pytest.raises(PodiumError, match=r"must not rise with k.*row 2 has \[-1, 1\]"):
        reverse(np.array([[1, 1], [1, -1], [-1, 1], [-1, 1]]), np.ones((4, 2)))


@pytest.mark.plain
@pytest.mark.parametrize("kind", [np.array, sp.csc_array])
def test_every_row_stands_beside_every_threshold(kind):
    features = kind([[5.0, 1.0], [6.0, 2.0]])
    one_hot, number = (extended_features(features, 2, encoding) for encoding in ("one-hot", "number"))
    if kind is sp.csc_array:
        one_hot, number = one_hot.toarray(), number.toarray()
    assert one_hot.tolist() == [[5, 1, 1, 0], [5, 1, 0, 1], [6, 2, 1, 0], [6, 2, 0, 1]]
    assert number.tolist() == [[5, 1, 1], [5, 1, 2], [6, 2, 1], [6, 2, 2]]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    return X, np.digitize(X[:, 0] + 0.5 * X[:, 1] + rng.normal(0, 0.3, 150), [-1.0, 0.0, 1.0])


@pytest.mark.parametrize(
    "ranker",
    [
        pytest.param(ORStump(), marks=pytest.mark.plain),
        PRank(epochs=100),
        pytest.param(AdaBoostOR(n_estimators=5), marks=pytest.mark.plain),
    ],
)
def test_there_and_back_is_the_ranker_itself(ranker, table):
    X, y = table
    model = ExtendedBinary(ReversedOrdinal(ranker, 3)).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), ranker.fit(X, y).predict(X))
    assert model.rank_monotone_


@pytest.mark.plain
def test_there_and_back_with_costs_that_are_not_absolute(table):
    X, y = table
    cost = np.array([[0.0, 1, 9, 9], [8, 0, 1, 1], [9, 9, 0, 1], [9, 9, 9, 0]])
    model = ExtendedBinary(ReversedOrdinal(ORStump(), 3), cost=cost).fit(X, y)
    expected = ORStump(cost=cost).fit(X, y).predict(X)
    np.testing.assert_array_equal(model.predict(X), expected)
    assert np.any(expected != ORStump().fit(X, y).predict(X))


@pytest.mark.plain
def test_examples_without_weights_weigh_1_each(table):
    X, y = table
    signs, weights = extend(y, np.abs(np.subtract.outer(y, np.arange(4.0))))
    extended = extended_features(X, 3, "one-hot")
    one = ReversedOrdinal(ORStump(), 3).fit(extended, signs.ravel())
    two = ReversedOrdinal(ORStump(), 3).fit(extended, signs.ravel(), np.ones(weights.size))
    np.testing.assert_array_equal(one.predict(extended), two.predict(extended))
    np.testing.assert_array_equal(one.ranker_.thresholds_, ORStump().fit(X, y).thresholds_)


class OnlyTheLast(ClassifierMixin, BaseEstimator):
    """Says yes to the last threshold, and to the others where the first feature is positive."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.array([-1, 1])
        return self

    def predict(self, X):
        return np.where((X[:, 0] > 0) | (X[:, -1] == 1), 1, -1)


class Numbers(OnlyTheLast):
    """A ranker of real numbers: the first feature, less the number of the threshold."""

    def predict(self, X):
        return X[:, 0] - X[:, -1]


@pytest.mark.plain
def test_an_answer_is_yes_where_a_ranker_gives_a_positive_number():
    X = np.array([[0.25], [0.75], [1.0], [1.5], [2.25], [3.5]])
    model = ExtendedBinary(Numbers(), encoding="number").fit(X, [0, 0, 1, 1, 2, 2])
    assert model.binary_values(X)[:3].tolist() == [[-0.75, -1.75], [-0.25, -1.25], [0.0, -1.0]]
    assert model.predict(X).tolist() == [0, 0, 0, 1, 2, 2]


@pytest.mark.plain
@pytest.mark.parametrize(
    ("estimator", "encoding"),
    [(LogisticRegression(), "one-hot"), (HistGradientBoostingClassifier(max_iter=30), "number"), (None, "number")],
)
def test_classifiers_become_rankers(estimator, encoding, table):
    X, y = table
    model = ExtendedBinary(estimator, encoding=encoding).fit(X, y)
    assert -model.score(X, y) < 0.4
    np.testing.assert_array_equal(model.predict(X), np.sum(model.binary_values(X) > 0, axis=1))
    assert np.corrcoef(model.predict_rank(X), y)[0, 1] > 0.8
    assert 1 <= model.predict_rank(X).min() <= model.predict_rank(X).max() <= 4


def test_the_default_classifier_is_the_same_each_time_where_it_holds_rows_out():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (5001, 1)).astype(float)  # from 10,000 examples on it stops early by some of them
    y = np.digitize(X[:, 0] + rng.normal(scale=4.0, size=len(X)), [3.0, 6.0])
    first, second = (ExtendedBinary().fit(X, y).estimator_ for _ in range(2))
    assert first.n_iter_ < first.max_iter
    assert first.validation_score_.tolist() == second.validation_score_.tolist()


@pytest.mark.plain
def test_a_linear_classifier_with_a_threshold_for_each_grade_is_monotone(table):
    X, y = table
    model = ExtendedBinary(LogisticRegression()).fit(X, y)
    assert model.rank_monotone_
    assert model.not_monotone_ == 0


@pytest.mark.plain
def test_a_classifier_that_is_not_monotone_is_reported(table):
    X, y = table
    model = ExtendedBinary(OnlyTheLast()).fit(X, y)
    assert model.not_monotone_ == np.mean(X[:, 0] <= 0)
    assert not model.rank_monotone_
    assert set(model.predict(X)) == {1, 3}


@pytest.mark.plain
def test_the_share_of_rows_that_are_not_monotone():
    assert share_not_monotone(np.array([[1, 1, -1], [1, -1, 1], [-1, -1, -1], [-1, 1, 1]])) == 0.5


@pytest.mark.plain
@pytest.mark.parametrize("estimator", [KNeighborsClassifier(), make_pipeline(StandardScaler(), LogisticRegression())])
def test_a_classifier_without_weights_is_refused(estimator, table):
    with pytest.raises(PodiumError, match=f"must take sample_weight in fit.*; {type(estimator).__name__} does not"):
        ExtendedBinary(estimator).fit(*table)


@pytest.mark.plain
def test_costs_that_all_point_one_way_are_refused(table):
    X, y = table
    costs = np.maximum(np.arange(4.0) - y[:, None], 0)
    with pytest.raises(PodiumError, match="All costs point to the lowest grade"):
        ExtendedBinary(LogisticRegression()).fit(X, y, sample_cost=costs)


def test_a_classifier_of_others_is_in_no_model_file(table, tmp_path):
    model = ExtendedBinary(LogisticRegression()).fit(*table)
    with pytest.raises(PodiumError, match="holds rankers of Podium only; LogisticRegression is not one of them"):
        model.save(tmp_path / "model")
    boosted = AdaBoostOR(ExtendedBinary(LogisticRegression()), n_estimators=2).fit(*table)
    with pytest.raises(PodiumError, match="holds rankers of Podium only; LogisticRegression is not one of them"):
        boosted.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("encoding", ["one-hot", "number"])
@pytest.mark.parametrize("estimator", [AdaBoostOR(n_estimators=5), ORBoost(5), MART(3, min_child_samples=3)])
def test_a_ranker_of_ours_serves_as_the_classifier_and_is_saved(estimator, encoding, table, tmp_path):
    X, y = table
    model = ExtendedBinary(estimator, encoding=encoding).fit(X, np.array(["a", "b", "c", "d"])[y])
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert (loaded.encoding, loaded.not_monotone_, loaded.rank_monotone_) == (
        encoding, model.not_monotone_, model.rank_monotone_,
    )  # fmt: skip
    assert len(np.unique(model.predict(X))) > 1
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.predict_rank(X), model.predict_rank(X))


def test_it_can_be_boosted(table):
    X, y = table
    base = ExtendedBinary(DecisionTreeClassifier(max_depth=2, random_state=0), encoding="number")
    boosted = AdaBoostOR(base, n_estimators=10).fit(X, y)
    assert boosted.train_costs_[-1] < boosted.train_costs_[0]
