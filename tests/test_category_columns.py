"""Codes of categories against a plain dictionary: every holder, missing and unseen values, the cap, other orders."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from peers import peer
from podium._validation import PodiumError, check_features
from podium.binning import as_blocks, bin_features
from podium.data.categories import Categories, read_column, read_features

pandas = peer("pandas")
polars = peer("polars")
pyarrow = peer("pyarrow")

pytestmark = pytest.mark.plain
FIT = ["b", None, "d", "a", "b", "d", None, "a", "b"]
NEW = [None, "c", "a", "", "d", "b", "zz", "bb"]
PLACE = {"a": 0.0, "b": 1.0, "d": 2.0}


def as_objects(texts, reverse=False):
    cells = np.empty((len(texts), 2), object)
    cells[:, 0], cells[:, 1] = np.arange(len(texts)), texts
    return cells


def as_pandas(texts, reverse=False):
    known = sorted({text for text in texts if text is not None} | {"unused"}, reverse=reverse)
    return pandas.DataFrame({"x": np.arange(len(texts)), "town": pandas.Categorical(texts, categories=known)})


def as_pandas_of_arrow(texts, reverse=False):
    kind = pandas.ArrowDtype(pyarrow.dictionary(pyarrow.int32(), pyarrow.string()))
    return pandas.DataFrame({"x": np.arange(len(texts)), "town": pandas.Series(texts, dtype=kind)})


def as_polars(texts, reverse=False):
    polars.Series(["zz", "d", "c"] if reverse else ["a"]).cast(polars.Categorical)  # numbers of a cache go on from here
    return polars.DataFrame(
        {"x": np.arange(len(texts)), "town": polars.Series(texts, dtype=polars.String).cast(polars.Categorical)}
    )


def as_enum(texts, reverse=False):
    known = sorted({text for text in texts if text is not None} | {"unused"}, reverse=reverse)
    return polars.DataFrame({"x": np.arange(len(texts)), "town": polars.Series(texts, dtype=polars.Enum(known))})


def as_arrow(texts, reverse=False):
    parts = texts[:3], texts[3:]
    town = pyarrow.chunked_array([pyarrow.array(part, pyarrow.string()).dictionary_encode() for part in parts])
    return pyarrow.table([np.arange(len(texts)), town], names=["x", "town"])


HOLDERS = [as_objects, as_pandas, as_pandas_of_arrow, as_polars, as_enum, as_arrow]


@pytest.mark.parametrize("fitted", HOLDERS)
@pytest.mark.parametrize("given", HOLDERS)
@pytest.mark.parametrize("reverse", [False, True])
def test_codes_are_places_among_the_categories_that_occur(fitted, given, reverse):
    categories = Categories.learn(fitted(FIT, reverse), [1])
    assert categories.values == {1: ("a", "b", "d")}
    assert categories.n_categories(3).tolist() == [-1, 3, -1]
    for texts in (FIT, NEW):
        matrix, _ = read_features(given(texts, reverse), categories)
        np.testing.assert_array_equal(matrix[:, 0], np.arange(len(texts)))
        np.testing.assert_array_equal(matrix[:, 1], [PLACE.get(text, np.nan) for text in texts])


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "sparse"])
def test_numbers_are_categories_by_value(kind):
    fit, new = [3.0, 7.0, -2.0, 3.0], [7.0, 4.0, -2.0, 3.0]

    def held(numbers):
        dense = np.column_stack([numbers, np.arange(1.0, 5.0)])
        return sp.csc_array(dense) if kind == "sparse" else dense.astype(kind)

    categories = Categories.learn(held(fit), [0])
    assert categories.values == {0: (-2.0, 3.0, 7.0)}
    X = held(new)
    before = X.copy()
    matrix, _ = read_features(X, categories)
    found = matrix.toarray() if kind == "sparse" else matrix
    np.testing.assert_array_equal(found[:, 0], [2, np.nan, 0, 1])
    np.testing.assert_array_equal(found[:, 1], np.arange(1.0, 5.0))
    assert (before != X).sum() == 0  # the caller's numbers stay


def test_a_stored_nan_and_an_absent_entry_are_missing():
    X = sp.csc_array((np.array([5.0, np.nan, 6.0]), (np.array([0, 1, 3]), np.zeros(3, int))), shape=(4, 1))
    categories = Categories.learn(X, [0])
    assert categories.values == {0: (5.0, 6.0)}
    codes = as_blocks(bin_features(check_features(categories.encode(X))[0], n_categories=np.array([2]))).codes[0, :, 0]
    assert codes.tolist() == [1, 0, 0, 2]


def test_columns_in_another_order_are_read_by_name():
    categories = Categories.learn(as_pandas(FIT), "from_dtype")
    swapped = as_pandas(NEW)[["town", "x"]]
    matrix, names = read_features(swapped, categories)
    assert names == ("town", "x")
    np.testing.assert_array_equal(matrix[:, 0], [PLACE.get(text, np.nan) for text in NEW])
    np.testing.assert_array_equal(matrix[:, 1], np.arange(len(NEW)))


def test_texts_in_a_matrix_of_texts_are_not_cut():
    X = np.array([["a", "1"], ["b", "2"], ["c", "3"]] * 5)
    X[:, 0] = [chr(97 + i) for i in range(15)]  # codes of two digits in a column of one letter
    matrix, _ = read_features(X, Categories.learn(X, [0]))
    np.testing.assert_array_equal(matrix[:, 0], np.arange(15))


@pytest.mark.parametrize("n_categories", [254, 255, 256, 295])
def test_up_to_255_categories_are_kept_without_a_word(n_categories, recwarn):
    """Category i stands in i + 1 rows, so that the rarest ones are the first."""
    values = np.repeat(np.arange(n_categories), np.arange(1, n_categories + 1)).astype(float)[:, None]
    kept = Categories.learn(values, [0]).values[0]
    lost = max(0, n_categories - 255)
    assert kept == tuple(range(lost, n_categories))
    rows = math.comb(lost + 1, 2)
    expected = (
        f"Column 0 of X has {n_categories} categories; the 255 most frequent are kept, and the others are missing "
        f"({rows} of {len(values)} rows)."
    )
    assert [str(one.message) for one in recwarn] == [expected] * (lost > 0)
    codes = bin_features(np.arange(len(kept))[:, None] * 1.0, n_categories=np.array([len(kept)])).codes[0, :, 0]
    assert codes.tolist() == list(range(1, len(kept) + 1))
    found = Categories({0: kept}).encode(values)[:, 0]
    assert np.isnan(found).sum() == rows
    assert np.nanmax(found) == len(kept) - 1


def test_of_equally_frequent_categories_the_lowest_are_kept():
    with pytest.warns(UserWarning, match="has 300 categories"):
        assert Categories.learn(np.arange(300.0)[::-1][:, None], [0]).values[0] == tuple(range(255))


def test_values_listed_twice_count_together():
    """An arrow dictionary may hold one value at two places: "b" occurs in four rows and "a" in three."""
    indices = [0] * 3 + [1] * 2 + [2] * 2 + list(range(3, 257)) * 3
    words = ["a", "b", "b", *(f"w{i:03d}" for i in range(254))]
    column = pyarrow.DictionaryArray.from_arrays(pyarrow.array(indices), pyarrow.array(words))
    with pytest.warns(UserWarning, match=r"has 256 categories; .* \(3 of 769 rows\)"):
        kept = Categories.learn(pyarrow.table([column], names=["c"]), [0]).values[0]
    assert kept == ("a", "b", *(f"w{i:03d}" for i in range(253)))


class InAnyOrder:
    """A polars column whose different values come in another order, which polars leaves open."""

    def __init__(self, column):
        self.column, self.dtype, self.to_physical = column, column.dtype, column.to_physical

    def unique(self):
        return self.column.unique().reverse()


def test_the_order_of_different_values_in_polars_changes_no_code():
    column = as_polars(FIT)["town"]
    for given in (column, InAnyOrder(column)):
        values, places = read_column(given)
        assert [None if place < 0 else values[place] for place in places] == FIT


def test_numbers_come_before_texts():
    cells = np.array([["b"], [2], ["a"], [True], [0.5], ["10"]], object)
    assert Categories.learn(cells, [0]).values == {0: (0.5, True, 2, "10", "a", "b")}


@pytest.mark.parametrize("value", [np.inf, -np.inf, b"x", (1, 2)])
def test_values_of_other_kinds_are_no_categories(value):
    cells = np.empty((2, 1), object)
    cells[0, 0], cells[1, 0] = value, 1
    with pytest.raises(PodiumError, match="Column 0 of X has the category"):
        Categories.learn(cells, [0])


def test_a_frame_of_fewer_columns_is_left_to_the_gate():
    categories = Categories.learn(np.array([[1.0, 2.0], [2.0, 3.0]]), [1])
    matrix, _ = read_features(np.array([[5.0], [6.0]]), categories)
    assert matrix.tolist() == [[5.0], [6.0]]
