"""The vocabulary of model content: what a declared field writes, reads and refuses, on its bounds and one past them."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from podium import FormatError
from podium.model_file import FINITE, MOST_FEATURES, NOT_NEGATIVE, POSITIVE, REAL, Column, Scalar, Schema

pytestmark = pytest.mark.plain
TINY, HUGE = 5e-324, sys.float_info.max


def read(field, value, **sizes):
    return Schema(field).read({field.name: value}, "file", sizes)[field.name]


def refused(field, value, **sizes):
    with pytest.raises(FormatError) as caught:
        read(field, value, **sizes)
    return str(caught.value)


# Scalars


@pytest.mark.parametrize(
    ("value", "fine"),
    [(2, True), (3, True), (5, True), (1, False), (6, False), (2.0, False), (True, False), ("2", False), ([2], False)],
    ids=str,
)
def test_whole_numbers_from_2_to_5(value, fine):
    field = Scalar("name", int, (2, "most"))
    if fine:
        assert read(field, value, most=5) == value
    else:
        assert "file: name must be an integer, from 2 to 5; got" in refused(field, value, most=5)


def test_a_count_has_63_bits():
    assert read(Scalar("name", int), 2**63 - 1) == 2**63 - 1
    assert "name must be an integer, at least 0; got" in refused(Scalar("name", int), 2**63)
    assert "at least 0; got -1" in refused(Scalar("name", int), -1)
    assert np.iinfo(np.int32).max == MOST_FEATURES


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 10**400, -(10**400), "1", True, [1.0], np.ones(1)], ids=str)
def test_what_is_no_finite_number_is_refused(value):
    assert "name must be a finite number; got" in refused(Scalar("name", float), value)


def test_finite_numbers_are_read_as_floats():
    for value in (HUGE, -HUGE, 0, 3):
        found = read(Scalar("name", float), value)
        assert (found, type(found)) == (value, float)


@pytest.mark.parametrize("value", [0, 1, "true", 1.0])
def test_truth_values_are_true_or_false(value):
    assert read(Scalar("name", bool), False) is False
    assert "name must be true or false; got" in refused(Scalar("name", bool), value)


def test_texts_are_texts():
    assert read(Scalar("name", str), "a") == "a"
    assert "name must be a string; got 3" in refused(Scalar("name", str), 3)


def test_choices_are_all_there_is():
    field = Scalar("name", int, (-1, 1), choices=(1, -1))
    assert [read(field, value) for value in (1, -1)] == [1, -1]
    for value in (0, 2, True):
        assert f"name must be 1 or -1; got {value}" in refused(field, value)


# Columns


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, np.uint64])
def test_columns_of_whole_numbers_from_2_to_5(dtype):
    field = Column("name", np.int16, (2, "most"))
    found = read(field, np.array([2, 5, 3], dtype), most=5)
    assert (found.tolist(), found.dtype) == ([2, 5, 3], np.int16)
    for bad in ([2, 6], [1, 5]):
        assert "file: name must be a list of integers from 2 to 5" in refused(field, np.array(bad, dtype), most=5)


def test_a_column_of_whole_numbers_holds_no_floats():
    assert "name must be a list of integers" in refused(Column("name", np.int64, (0, 9)), np.array([1.0]))


def test_truth_values_may_be_written_as_0_and_1():
    for values in (np.array([True, False]), np.array([1, 0])):
        found = read(Column("name", np.bool_), values)
        assert (found.tolist(), found.dtype) == ([True, False], np.bool_)
    for bad in (2, -1):
        assert "name must be a list of integers from 0 to 1" in refused(Column("name", np.bool_), np.array([0, bad]))


@pytest.mark.parametrize(
    ("bounds", "inside", "outside", "words"),
    [
        (REAL, [-np.inf, np.inf], [np.nan], "numbers"),
        (FINITE, [-HUGE, HUGE], [np.nan, np.inf, -np.inf], "finite numbers"),
        (NOT_NEGATIVE, [0.0, HUGE], [-TINY, np.inf, np.nan], "finite numbers of at least 0"),
        (POSITIVE, [TINY, HUGE], [0.0, -1.0, np.inf, np.nan], "positive finite numbers"),
        ((0.0, 0.5), [0.0, 0.5], [-TINY, np.nextafter(0.5, 1), np.nan], "numbers from 0 to 0.5"),
    ],
)
def test_real_numbers_lie_within_their_bounds(bounds, inside, outside, words):
    field = Column("name", bounds=bounds)
    assert read(field, np.array(inside)).tolist() == inside
    for bad in outside:
        assert f"file: name must be a list of {words}." in refused(field, np.array([inside[0], bad])) + "."


def test_a_column_without_bounds_may_hold_nan():
    assert np.isnan(read(Column("name", bounds=None), np.array([np.nan]))).all()


@pytest.mark.parametrize(
    "value", [3, "abc", [1.0, 2.0], {"a": 1}, np.ones((2, 1)), np.ones((1, 2)), np.ones(())], ids=str
)
def test_a_column_is_an_array_of_one_dimension(value):
    for field in (Column("name"), Column("name", np.int64, (0, 9)), Column("name", bounds=None)):
        assert "name must be a list of" in refused(field, value)


@pytest.mark.parametrize("bounds", [REAL, FINITE, NOT_NEGATIVE, POSITIVE])
def test_numbers_of_another_precision_are_compared_without_a_warning(bounds):
    found = read(Column("name", bounds=bounds), np.array([0.5, 3e38], np.float32))
    assert found.tolist() == [0.5, float(np.float32(3e38))]
    assert found.dtype == np.float64


def test_whole_numbers_are_real_ones():
    found = read(Column("name"), np.array([1, 2], np.uint8))
    assert (found.tolist(), found.dtype) == ([1.0, 2.0], np.float64)
    assert "name must be a list of finite numbers" in refused(Column("name"), np.array([True]))


def test_choices_of_a_column():
    field = Column("name", np.int64, choices=(1, -1))
    assert read(field, np.array([1, -1, 1])).tolist() == [1, -1, 1]
    assert "name must be a list of 1 or -1" in refused(field, np.array([1, 0]))


def test_a_column_of_texts_is_a_list():
    field = Column("name", str, size="n")
    assert read(field, ["a", "b"], n=2).tolist() == ["a", "b"]
    assert field.write(np.array(["a", "b"], object)) == ["a", "b"]
    for bad in ("ab", ["a", 1], {"a": 1}, np.ones(2)):
        assert "name must be a list of strings" in refused(field, bad, n=2)
    assert "name must have 2 entries; got 1" in refused(field, ["a"], n=2)


@pytest.mark.parametrize("length", [0, 2, 4])
def test_a_column_has_the_size_that_was_given(length):
    assert len(read(Column("name", size="n"), np.ones(3), n=3)) == 3
    assert f"name must have 3 entries; got {length}" in refused(Column("name", size="n"), np.ones(length), n=3)


@pytest.mark.parametrize("n_entries", [{}, {"n": 2}])
def test_a_table_is_written_row_after_row(n_entries):
    field, table = Column("name", size="n", width="w"), np.arange(6.0).reshape(2, 3)
    assert field.write(table).tolist() == [0, 1, 2, 3, 4, 5]
    np.testing.assert_array_equal(read(field, field.write(table), w=3, **n_entries), table)
    for length in (5, 7):
        assert "name must have 6 entries" in refused(field, np.ones(length), w=3, n=2)
    assert "name must have 3 entries; got 5" in refused(field, np.ones(5), w=3)


def test_numbers_that_ascend_may_be_equal_and_each_row_begins_anew():
    line, table = Column("name", bounds=REAL, ascending=True), Column("name", width=2, ascending=True)
    assert read(line, np.array([-np.inf, 1.0, 1.0, np.inf])).tolist() == [-np.inf, 1.0, 1.0, np.inf]
    assert read(table, np.array([3.0, 4.0, 1.0, 2.0])).tolist() == [[3, 4], [1, 2]]
    assert "name must be numbers that ascend" in refused(line, np.array([1.0, 0.5]))
    assert "name must be numbers that ascend" in refused(table, np.array([3.0, 4.0, 2.0, 1.0]))


def test_what_is_read_is_an_array_of_its_own():
    given = np.ones(2)
    read(Column("name"), given)[0] = 5
    assert given.tolist() == [1, 1]


# Schemas

POINTS = Schema(
    Column("x", np.int32, (0, "last"), "n"),
    Column("y", size="n"),
    Column("tags", str, size="n", attribute="tags_", optional=True),
    holds="points",
)


def test_records_come_back_as_columns():
    records = [SimpleNamespace(x=1, y=0.5, tags_="a"), SimpleNamespace(x=2, y=1.5, tags_="b")]
    found = POINTS.read(POINTS.write_rows(records), "file", {"last": 2})
    assert {name: column.tolist() for name, column in found.items()} == {
        "x": [1, 2],
        "y": [0.5, 1.5],
        "tags": ["a", "b"],
    }
    assert found["x"].dtype == np.int32
    assert [len(column) for column in POINTS.write_rows([]).values()] == [0, 0, 0]


def test_parts_of_any_length_stand_one_after_the_other():
    schema = Schema(Column("x", np.int32, (0, 9)), Column("y"))
    parts = [SimpleNamespace(x=np.arange(n), y=np.ones((n, 1))) for n in (2, 0, 1)]
    content = schema.write_joined(parts)
    assert {name: column.tolist() for name, column in content.items()} == {"x": [0, 1, 0], "y": [1, 1, 1]}
    assert {name: column.dtype for name, column in schema.write_joined([]).items()} == {"x": np.int32, "y": np.float64}


def test_columns_that_share_a_size_have_one_length():
    content = {"x": np.array([0, 1]), "y": np.ones(3)}
    with pytest.raises(FormatError, match="y must have 2 entries; got 3"):
        POINTS.read(content, "file", {"last": 2})


def test_a_number_that_was_read_is_the_size_of_what_follows():
    schema = Schema(Scalar("n", int), Column("x", size="n"))
    assert len(schema.read({"n": 2, "x": np.ones(2)}, "file", {})["x"]) == 2
    with pytest.raises(FormatError, match="x must have 1 entries; got 2"):
        schema.read({"n": 1, "x": np.ones(2)}, "file", {"n": 2})


@pytest.mark.parametrize("content", [None, [], 3, {}, {"x": None}], ids=str)
def test_what_is_missing_is_named(content):
    with pytest.raises(FormatError, match="file: the points of the model are incomplete: x is missing"):
        POINTS.read(content, "file", {"last": 2})
    with pytest.raises(FormatError, match="file: x is missing"):
        Schema(*POINTS.fields).read(content, "file", {"last": 2})


def test_optional_fields_are_written_where_an_object_has_them():
    schema = Schema(Scalar("a", int), Scalar("b", float, attribute="b_", optional=True))
    owner, other = SimpleNamespace(a=np.int64(3)), SimpleNamespace(a=3, b_=np.float32(0.5))
    assert (schema.write(owner), schema.write(other)) == ({"a": 3}, {"a": 3, "b": 0.5})
    with pytest.raises(AttributeError):
        schema.write(SimpleNamespace(b_=1.0))


def test_fields_go_back_to_the_attributes_they_came_from():
    schema = Schema(Scalar("a", int)).extended(Scalar("b", float, attribute="b_", optional=True))
    owner, other = SimpleNamespace(), SimpleNamespace()
    schema.restore(owner, {"a": 3, "b": 0.5}, "file", {})
    schema.restore(other, {"a": 3}, "file", {})
    assert (vars(owner), vars(other)) == ({"a": 3, "b_": 0.5}, {"a": 3})


def test_the_sizes_that_are_given_stay_as_they_were():
    sizes = {"last": 2}
    POINTS.read({"x": np.array([0]), "y": np.ones(1)}, "file", sizes)
    assert sizes == {"last": 2}
