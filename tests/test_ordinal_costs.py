"""Labels and costs that every ordinal ranker takes, and those that are refused."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import DataConversionWarning

from peers import peer
from podium import AdaBoostOR, ORStump, PodiumError
from podium.ordinal.costs import cost_matrix, costs_are_convex
from podium.ordinal.grades import OwnLabels, _own_order, check_grades, merged_labels
from podium.rankers.ordinal_ranker import OrdinalData
from tables import graded_table


@pytest.fixture(scope="module")
def table():
    return graded_table()


@pytest.mark.plain
@pytest.mark.parametrize(
    "labels",
    [[1, 2, 3], [10.0, 10.5, 11.0], ["a", "b", "c"], [-5, 0, 99], np.array(["x", "y", "z"], object)],
    ids=str,
)
def test_labels_of_any_ordered_kind_come_back_as_given(labels):
    X = np.arange(12.0)[:, None]
    y = np.array(labels)[np.repeat([0, 1, 2], 4)]
    for ranker in (ORStump(), AdaBoostOR(n_estimators=3)):
        found = ranker.fit(X, y).predict(X)
        np.testing.assert_array_equal(found, y)
        assert found.dtype == y.dtype
        assert ranker.score(X, y) == 0


@pytest.mark.plain
def test_two_labels_that_are_truth_values():
    X = np.arange(6.0)[:, None]
    y = np.arange(6) > 2
    np.testing.assert_array_equal(ORStump().fit(X, y).predict(X), y)


@pytest.mark.plain
def test_ordered_categories_have_their_own_order_and_all_count():
    pandas = peer("pandas")
    polars = peer("polars")
    names = ["low", "mid", "high", "top"]
    values = ["low", "mid", "mid", "top"]
    for y in (
        pandas.Series(pandas.Categorical(values, categories=names, ordered=True)),
        pandas.Categorical(values, categories=names, ordered=True),
        polars.Series(values, dtype=polars.Enum(names)),
    ):
        grades, classes = check_grades(y, 4)
        assert (grades.tolist(), classes.tolist()) == ([0, 1, 1, 3], names)
    unordered = pandas.Series(pandas.Categorical(values, categories=names))
    assert check_grades(unordered, 4)[1].tolist() == ["low", "mid", "top"]
    model = AdaBoostOR(n_estimators=3).fit(np.arange(4.0)[:, None], y)
    assert model.predict([[0.0], [3.0]]).tolist() == ["low", "top"]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        ([2, 2, 2], "at least two grades; got one class, 2, in all 3 rows"),
        ([1.0, np.nan, 2.0], "must have a grade in every row; row 1 has nan"),
        (np.array(["a", None, "b"], object), "row 1 has None"),
        (np.array(["a", 1, "b"], object), "one kind that can be ordered; got int and str"),
        ([0.1, 0.2, 0.35], "looks continuous: 3 different values in 3 rows"),
        ([1, 2], "one grade per row: 3 expected, 2 given"),
        ([[1, 2], [2, 1], [1, 1]], "one-dimensional"),
        ([1j, 2j, 1j], "Complex data not supported"),
        ([1.0, np.inf, 2.0], "must have a grade in every row; row 1 has inf"),
        ([1.0, np.inf, np.nan], "must have a grade in every row; row 1 has inf"),
    ],
)
@pytest.mark.plain
def test_labels_that_are_no_grades_are_refused(y, message):
    with pytest.raises(PodiumError, match=message):
        ORStump().fit([[1.0], [2.0], [3.0]], y)


@pytest.mark.plain
def test_a_matrix_of_one_column_is_taken_for_labels_with_a_warning_at_the_callers_line():
    X, y = np.arange(4.0)[:, None], np.array([[1], [1], [2], [3]])
    with pytest.warns(DataConversionWarning, match=r"column-vector y .* consider y\.ravel\(\)") as fitted:
        model = ORStump().fit(X, y)
    assert model.predict(X).tolist() == [1, 1, 2, 3]
    with pytest.warns(DataConversionWarning, match="column-vector y") as scored:
        assert model.score(X, y) == 0
    assert fitted[0].filename == scored[0].filename == __file__
    with pytest.raises(PodiumError, match=r"one-dimensional; got shape \(1, 4\)"):
        ORStump().fit(X, y.T)


@pytest.mark.plain
def test_nullable_labels_of_pandas_are_checked():
    pandas = peer("pandas")
    X = [[1.0], [2.0], [3.0]]
    assert ORStump().fit(X, pandas.Series([3, 4, 5], dtype="Int64")).predict(X).tolist() == [3, 4, 5]
    for holes in (pandas.Series([3, None, 2], dtype="Int64"), pandas.Series(["a", None, "b"], dtype="string")):
        with pytest.raises(PodiumError, match=r"row 1 has (nan|<NA>)"):
            ORStump().fit(X, holes)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([[0, 1, 2]], "shape \\(3, 3\\) expected, \\(1, 3\\) given"),
        ([[0, 1, 2], [1, 0, -1], [2, 1, 0]], "finite and not negative; row 1 \\(of grade 'b'\\) has -1.0 for .* 'c'"),
        ([[0, 1, 2], [1, 0, np.inf], [2, 1, 0]], "finite and not negative; row 1"),
        ([[0, 1, 2], [1, 3, 4], [2, 1, 0]], "0 at the row's own grade; row 1 \\(of grade 'b'\\) has 3.0"),
        ([[0, 1, 2], [1, 0.5, 1], [2, 1, 0]], "0 at the row's own grade; row 1 \\(of grade 'b'\\) has 0.5"),
        ([[0, 2, 1], [1, 0, 1], [2, 1, 0]], "V-shaped.* row 0 \\(of grade 'a'\\) has 2.0 for .* 'b' and less, 1.0"),
        ([[0, 1, 2], [1, 0, 1], [1, 2, 0]], "row 2 \\(of grade 'c'\\) has 2.0 for the grade 'b' and less, 1.0"),
        (np.zeros((3, 3)), "There is nothing to learn: all costs"),
        ("abc", "must be a matrix of numbers; got str"),
    ],
)
@pytest.mark.plain
def test_costs_that_cannot_be_used_are_refused(costs, message):
    X, y = [[1.0], [2.0], [3.0]], ["a", "b", "c"]
    with pytest.raises(PodiumError, match=message):
        ORStump().fit(X, y, sample_cost=costs)


@pytest.mark.plain
def test_a_cost_matrix_that_cannot_be_used_is_refused():
    X, y = [[1.0], [2.0], [3.0]], ["a", "b", "c"]
    with pytest.raises(PodiumError, match=r"cost must be V-shaped.* the row of grade 'a' has 2.0 for the grade 'b'"):
        ORStump(cost=[[0, 2, 1], [1, 0, 1], [2, 1, 0]]).fit(X, y)
    with pytest.raises(PodiumError, match=r"cost must be 0 at the row's own grade; the row of grade 'b' has 1.0"):
        ORStump(cost=[[0, 1, 2], [1, 1, 2], [2, 1, 0]]).fit(X, y)


@pytest.mark.plain
def test_costs_by_name_and_their_convexity():
    classes = np.arange(4)
    assert cost_matrix("absolute", classes)[1].tolist() == [1, 0, 1, 2]
    assert cost_matrix("squared", classes)[1].tolist() == [1, 0, 1, 4]
    assert cost_matrix("zero-one", classes)[1].tolist() == [1, 0, 1, 1]
    assert [costs_are_convex(cost_matrix(name, classes)) for name in ("absolute", "squared", "zero-one")] == [1, 1, 0]
    for factor in (0.1, 1e-15, 1e15):
        assert costs_are_convex(factor * cost_matrix("absolute", classes))
        assert not costs_are_convex(factor * cost_matrix("zero-one", classes))
    assert costs_are_convex(np.array([[0.0, 1, 3], [2, 0, 1], [2, 1, 0]]))
    assert not costs_are_convex(np.array([[0.0, 3, 4], [1, 0, 1], [5, 2, 0]]))
    with pytest.raises(PodiumError, match="cost must be one of absolute, squared, zero-one; got 'square'"):
        ORStump(cost="square").fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(PodiumError, match="a row and a column for each of the 2 grades; got shape \\(3, 3\\)"):
        ORStump(cost=np.eye(3)).fit([[1.0], [2.0]], [0, 1])


@pytest.mark.plain
def test_row_costs_say_the_same_as_a_matrix_and_as_weights(table):
    X, y = table
    weight = np.random.default_rng(4).integers(0, 4, 150).astype(float)
    matrix = cost_matrix("squared", np.arange(4))
    one = AdaBoostOR(n_estimators=10, cost=matrix).fit(X, y, sample_weight=weight)
    two = AdaBoostOR(n_estimators=10).fit(
        X[weight > 0], y[weight > 0], sample_cost=(matrix[y] * weight[:, None])[weight > 0]
    )
    three = AdaBoostOR(n_estimators=10, cost="squared").fit(
        np.repeat(X, weight.astype(int), axis=0), np.repeat(y, weight.astype(int))
    )
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    np.testing.assert_allclose([r.epsilon for r in one.rounds_], [r.epsilon for r in three.rounds_], rtol=1e-9)
    np.testing.assert_array_equal(one.predict(X), three.predict(X))
    assert one.score(X, y, sample_weight=weight) == pytest.approx(
        -np.average(matrix[y, one.predict(X)], weights=weight)
    )
    assert one.score(X, y, sample_cost=3 * matrix[y]) == pytest.approx(3 * one.score(X, y))


@pytest.mark.plain
def test_costs_stand_in_one_place_only(table):
    X, y = table
    costs = cost_matrix("absolute", np.arange(4))[y]
    with pytest.raises(PodiumError, match="sample_cost goes instead of cost"):
        ORStump(cost="squared").fit(X, y, sample_cost=costs)
    with pytest.raises(PodiumError, match="Give cost to AdaBoostOR, not to its estimator"):
        AdaBoostOR(ORStump(cost="squared")).fit(X, y)
    with pytest.raises(PodiumError, match="With sample_cost give eval_cost too"):
        AdaBoostOR().fit(X, y, sample_cost=costs, eval_set=[(X, y)])


@pytest.mark.plain
def test_convexity_is_that_of_the_costs_of_the_rows():
    X, y = [[1.0], [2.0], [3.0]], [0, 1, 2]
    for costs, convex in (([0, 1, 2], True), ([0, 3, 4], False)):
        model = ORStump().fit(X, y, sample_cost=[costs, [1, 0, 1], [2, 1, 0]])
        assert model.costs_convex_ is convex


@pytest.mark.plain
def test_grades_with_fractions_are_taken_where_each_stands_for_two_rows():
    model = ORStump().fit(np.arange(4.0)[:, None], [0.5, 0.5, 1.5, 1.5])
    assert model.classes_.tolist() == [0.5, 1.5]
    with pytest.raises(PodiumError, match="looks continuous: 3 different values in 5 rows"):
        ORStump().fit(np.arange(5.0)[:, None], [0.5, 0.5, 1.5, 1.5, 2.5])
    assert ORStump().fit(np.arange(3.0)[:, None], [1.0, 2.0, 7.0]).classes_.tolist() == [1.0, 2.0, 7.0]


@pytest.mark.plain
def test_one_grade_in_use_among_several_categories_is_refused():
    pandas = peer("pandas")
    y = pandas.Categorical(["mid"] * 3, categories=["low", "mid", "top"], ordered=True)
    with pytest.raises(PodiumError, match="at least two grades; got one class, 'mid', in all 3 rows"):
        ORStump().fit(np.arange(3.0)[:, None], y)


@pytest.mark.plain
def test_names_of_columns_are_those_of_the_last_fit():
    pandas = peer("pandas")
    X, y = np.arange(4.0)[:, None], [0, 0, 1, 1]
    model = ORStump().fit(pandas.DataFrame(X, columns=["age"]), y)
    assert model.feature_names_in_.tolist() == ["age"]
    assert not hasattr(model.fit(X, y), "feature_names_in_")


@pytest.mark.plain
def test_rows_of_zero_weight_are_as_if_they_were_not_there():
    X, y = np.arange(8.0)[:, None], np.array([0, 0, 1, 1, 2, 2, 0, 1])
    weight = np.array([1.0, 0, 2, 1, 0, 1, 3, 0])
    data = OrdinalData.from_arrays(X, y, sample_weight=weight)
    assert sorted(data.rows) == [0, 2, 3, 5, 6]
    assert np.all(data.weight > 0)
    one = ORStump().fit(X, y, sample_weight=weight)
    assert one.training_summary_["rows"] == 5


@pytest.mark.plain
def test_the_rank_of_a_single_ranker_counts_from_1():
    X, y = np.arange(6.0)[:, None], np.repeat(["bad", "fair", "good"], 2)
    assert ORStump().fit(X, y).predict_rank(X).tolist() == [1, 1, 2, 2, 3, 3]


@pytest.mark.plain
def test_row_order_changes_no_bit_where_rows_differ_in_costs_alone():
    X, y = np.repeat(np.arange(6.0), 4)[:, None], np.repeat([0, 1, 2], 8)
    rng = np.random.default_rng(0)
    costs = np.abs(np.subtract.outer(y, np.arange(3))) * rng.random((24, 1))
    order = rng.permutation(24)
    one = OrdinalData.from_arrays(X, y, sample_cost=costs)
    two = OrdinalData.from_arrays(X[order], y[order], sample_cost=costs[order])
    np.testing.assert_array_equal(one.costs, two.costs)


@pytest.mark.plain
@pytest.mark.parametrize(
    ("name", "said", "own"),
    [
        ("Enum", {}, 1),
        ("Enum", {"ordered": False}, 1),
        ("Other", {"ordered": True}, 1),
        ("Other", {"ordered": False}, 0),
        ("Categorical", {}, 0),
    ],
)
def test_kinds_of_labels_with_an_order_of_their_own(name, said, own):
    """As pandas (ordered) and polars (Enum, and Categorical without) say it."""
    categories = SimpleNamespace(to_numpy=lambda: ["low", "high"])
    kind = type(name, (), {"categories": categories, **said})()
    found = _own_order(SimpleNamespace(dtype=kind))
    assert (found is not None) == own
    if own:
        assert found.tolist() == ["low", "high"]


@pytest.mark.plain
def test_the_largest_cost_is_taken_and_the_first_above_it_named():
    X, y = [[1.0], [2.0], [3.0]], ["a", "b", "c"]
    costs = np.array([[0.0, 5e99, 1e100], [5e99, 0, 5e99], [1e100, 5e99, 0]])
    assert ORStump().fit(X, y, sample_cost=costs).predict(X).tolist() == y
    costs[0, 2] = costs[2, 0] = 2e100
    with pytest.raises(PodiumError, match=r"must be at most 1e\+100; row 0 \(of grade 'a'\) has 2e\+100 for .* 'c'"):
        ORStump().fit(X, y, sample_cost=costs)


def test_labels_of_parts_are_merged_to_those_of_all_rows():
    texts = np.array(["fair", "good", "bad", "excellent", "good", "fair"])
    parts = [OwnLabels.of(own, len(own)) for own in (texts[:2], texts[2:4], texts[4:])]
    merged, expected = merged_labels(parts), check_grades(texts, 6)[1]
    np.testing.assert_array_equal(merged, expected)
    assert merged.dtype == expected.dtype
    with pytest.raises(PodiumError, match="y must have at least two grades; got one class, 'good', in all rows"):
        merged_labels([OwnLabels(np.array(["good"]), None)] * 2)


def test_ordered_categories_must_be_alike_in_all_parts():
    pandas = peer("pandas")
    one, other = (pandas.Series(pandas.Categorical(["b", "a"], list(order), ordered=True)) for order in ("cba", "abc"))
    own = OwnLabels.of(one, 2)
    assert merged_labels([own, own]).tolist() == ["c", "b", "a"]
    for different in (OwnLabels.of(other, 2), OwnLabels.of(["a", "b"], 2)):
        with pytest.raises(PodiumError, match=r"same categories, in one order, .*; one has \['c', 'b', 'a'\]"):
            merged_labels([own, different])
