"""The gate: what it takes, and the sentence for each thing it does not."""

import numpy as np
import pytest
import scipy.sparse as sp

from peers import peer
from podium._memory import enough_memory
from podium._pair_gate import check_pairs
from podium._validation import (
    FormatError,
    NoPairsError,
    PodiumError,
    SizeError,
    check_choice,
    check_features,
    check_labels,
    check_queries,
    check_query_weight,
    check_scores,
    check_weight,
)
from podium.data.categories import Categories
from podium.ordinal.costs import cost_matrix
from podium.ordinal.grades import check_grades

pytestmark = pytest.mark.plain

VALUES = np.array([[1.0, np.nan], [2.5, -3.0], [0.0, 7.0]])


def frames():
    pandas, polars, pyarrow = (peer(name) for name in ("pandas", "polars", "pyarrow"))
    columns = {"a": VALUES[:, 0], "b": [None, -3.0, 7.0]}
    return [pandas.DataFrame(columns), polars.DataFrame(columns), pyarrow.table(columns)]


@pytest.mark.parametrize("kind", [0, 1, 2], ids=["pandas", "polars", "pyarrow"])
def test_tables_give_values_names_and_nan_for_null(kind):
    matrix, names = check_features(frames()[kind])
    np.testing.assert_array_equal(matrix, VALUES)
    assert names == ("a", "b")


def test_pandas_nullable_integers_give_nan_for_missing():
    pandas = peer("pandas")
    frame = pandas.DataFrame({"a": pandas.array([1, None, 3], dtype="Int64")})
    np.testing.assert_array_equal(check_features(frame)[0], [[1.0], [np.nan], [3.0]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_float_matrices_are_not_copied(dtype, order):
    given = np.asarray(VALUES, dtype, order=order)
    matrix, names = check_features(given)
    assert matrix is given
    assert names is None


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, object])
def test_other_numbers_become_float64(dtype):
    matrix, _ = check_features(np.array([[1, 0], [0, 1]], dtype))
    assert matrix.dtype == np.float64
    np.testing.assert_array_equal(matrix, np.eye(2))


def test_masked_entries_become_nan():
    masked = np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    np.testing.assert_array_equal(check_features(masked)[0], [[1, np.nan], [3, 4]])


def test_masks_of_rows_in_a_list_and_of_texts_become_nan():
    rows = [np.ma.array([1.0, 2.0], mask=[0, 1]), np.ma.array([3.0, 4.0])]
    np.testing.assert_array_equal(check_features(rows)[0], [[1, np.nan], [3, 4]])
    texts = np.ma.array([["a"], ["b"], ["a"]], mask=[[0], [1], [0]])
    codes = Categories.learn(texts, [0]).encode(texts)
    np.testing.assert_array_equal(check_features(codes)[0], [[0], [np.nan], [0]])


MASKED = np.ma.array([1, 1], mask=[0, 1])


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("y", lambda: check_labels(MASKED, 2)),
        ("y", lambda: check_labels([1.0, np.ma.masked], 2)),
        ("scores", lambda: check_scores(MASKED, 2)),
        ("sample_weight", lambda: check_weight(MASKED, 2, "sample_weight")),
        ("qid", lambda: check_queries(MASKED, None, 2)),
        ("group", lambda: check_queries(None, MASKED, 2)),
        ("query_weight", lambda: check_query_weight(MASKED, np.zeros(2, int), np.zeros(1, int), False)),
        ("The better rows of pairs", lambda: check_pairs((MASKED, [0, 0]), 2)),
        ("The weight of pairs", lambda: check_pairs(([0, 1], [1, 0], MASKED), 2)),
        ("y", lambda: check_grades(MASKED, 2)),
        ("cost", lambda: cost_matrix(np.ma.array(np.eye(2), mask=np.eye(2)), np.arange(2))),
    ],
)
def test_masked_values_outside_the_features_are_refused_by_name(name, check):
    with pytest.raises(PodiumError, match=rf"^{name} must have no masked values; entry \d is masked"):
        check()


def test_masked_arrays_without_a_masked_value_are_arrays():
    np.testing.assert_array_equal(check_labels(np.ma.array([1, 2]), 2), [1, 2])


HUGE = 10**400


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: check_features([[1, 2], [1]]), "X must be an array; got a list whose entries have different lengths"),
        (lambda: check_labels([[1], [1, 2]], 2), "y must be an array; got a list whose entries"),
        (lambda: check_scores([[1], [1, 2]], 2), "scores must be an array; got a list whose entries"),
        (lambda: check_queries([[1], [1, 2]], None, 2), "qid must be an array; got a list whose entries"),
        (lambda: check_pairs(([[1], [1, 2]], [0]), 2), "The better rows of pairs must be an array; got a list"),
        (lambda: check_features([[HUGE]]), "X must lie within ±1.8e308; got an integer of 1329 bits"),
        (lambda: check_labels([1, -HUGE], 2), "y must lie within ±1.8e308; got an integer of 1329 bits"),
        (lambda: check_weight([0.5, HUGE], 2, "w"), "w must lie within ±1.8e308; got an integer of 1329 bits"),
        (lambda: check_queries([], None, 2), "qid must have one id per row: 2 expected, 0 given"),
        (lambda: check_queries([{}, {}], None, 2), "qid must hold numbers, strings or other fixed ids; row 0 has {}"),
        (lambda: check_queries([1, {2}], None, 2), "qid must hold numbers, strings or other fixed ids; row 1 has .2."),
        (lambda: check_queries(None, [2**62] * 4 + [2], 2), "must sum to the number of rows: 2 expected, 1844674407"),
        (lambda: cost_matrix([[0, HUGE], [1, 0]], np.arange(2)), "cost must be a matrix of numbers"),
    ],
)
def test_values_that_numpy_cannot_hold_get_a_sentence(check, message):
    with pytest.raises(PodiumError, match=message):
        check()


def damaged(matrix, **parts):
    """Return a copy with some entries of its arrays changed."""
    copy = matrix.copy()
    for name, (place, value) in parts.items():
        getattr(copy, name)[place] = value
    return copy


ROWS = sp.csr_array(np.array([[0, 1.0], [2, 0], [3, 4]]))


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.csr_matrix, sp.bsr_array])
@pytest.mark.parametrize(
    "parts",
    [
        {"indptr": (1, 10**6)},
        {"indptr": (1, -5)},
        {"indptr": (-1, 10**6)},
        {"indptr": (0, 1)},
        {"indices": (1, 10**6)},
        {"indices": (1, -7)},
    ],
)
def test_damaged_sparse_matrices_are_refused(kind, parts):
    with pytest.raises(PodiumError, match=r"X is not a whole sparse matrix \(.*\); build it anew"):
        check_features(damaged(kind(ROWS), **parts))


def test_damaged_sparse_matrices_of_other_formats_are_refused():
    triplets, lists, fractions = sp.coo_array(ROWS), sp.lil_array(ROWS), ROWS.copy()
    triplets.row[0] = 10**6
    lists.rows[0] = [0, 1]
    fractions.indices = np.array([1, 0, 0.5, 1])
    for matrix in (triplets, lists, fractions):
        with pytest.raises(PodiumError, match="X is not a whole sparse matrix"):
            check_features(matrix)
    lists.rows[0] = [10**6]
    with pytest.raises(PodiumError, match="X is not a whole sparse matrix"):
        check_features(lists)


def test_a_sparse_matrix_that_says_it_is_sorted_is_not_believed():
    given = sp.csc_array((np.array([4.0, 1.0]), np.array([2, 0]), np.array([0, 2])), shape=(3, 1))
    given.has_sorted_indices = given.has_canonical_format = True
    matrix, _ = check_features(given)
    assert (matrix.indices.tolist(), matrix.data.tolist()) == ([0, 2], [1.0, 4.0])
    assert given.indices.tolist() == [2, 0]


def test_sparse_matrices_too_wide_for_the_memory_are_refused(monkeypatch):
    monkeypatch.setattr("podium._memory.machine_memory", lambda: 10**9)
    with pytest.raises(SizeError, match=r"A sparse X of 2000000000 columns takes at least 119\.2 GiB, more memory"):
        check_features(sp.csr_array((2, 2 * 10**9)))


def test_memory_that_runs_out_before_the_machines_is_named_too():
    message = r"X takes at least 0\.0 GiB, more memory than there is; consider less\."
    with pytest.raises(SizeError, match=message), enough_memory(8, "X", "consider less"):
        raise MemoryError
    assert issubclass(SizeError, MemoryError)


def test_sparse_matrices_come_by_columns_with_repeats_summed():
    given = sp.coo_array(([1.0, 2.0, 4.0], ([0, 0, 2], [1, 1, 0])), shape=(3, 2))
    matrix, _ = check_features(given)
    assert matrix.format == "csc"
    np.testing.assert_array_equal(matrix.toarray(), [[0, 3], [0, 0], [4, 0]])
    assert given.nnz == 3


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([1.0, 2.0], "X must be a matrix of rows and features; got an array of 1 dimension"),
        (np.empty((0, 2)), "Found array with 0 sample"),
        (np.empty((2, 0)), "Found array with 0 feature"),
        (np.array([["a", "b"]]), "X must hold numbers; got 'a'"),
        (np.array([[1j]]), "X must hold real numbers. Complex data not supported"),
    ],
)
def test_features_that_cannot_be_used(X, message):
    with pytest.raises(PodiumError, match=message):
        check_features(X)


def test_sparse_features_that_cannot_be_used():
    with pytest.raises(PodiumError, match="Complex data not supported"):
        check_features(sp.csr_array(np.array([[1j]])))
    with pytest.raises(PodiumError, match="X must be a matrix"):
        check_features(sp.coo_array(np.array([1.0, 2.0])))


def test_repeated_and_lazy_columns_are_named():
    pandas, polars = peer("pandas"), peer("polars")
    with pytest.raises(PodiumError, match="X has more than one column 'a'"):
        check_features(pandas.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(PodiumError, match=r"lazy frame; call its collect\(\) first"):
        check_features(polars.LazyFrame({"a": [1]}))


def test_text_column_is_named():
    pandas = peer("pandas")
    frame = pandas.DataFrame({"fine": [1.0], "city": ["Rome"]})
    with pytest.raises(PodiumError, match="Column 'city' of X must hold numbers"):
        check_features(frame)


def test_labels_may_be_any_finite_reals():
    np.testing.assert_array_equal(check_labels([-1e9, 0, 99.5], 3), [-1e9, 0, 99.5])
    np.testing.assert_array_equal(check_labels(np.ones((3, 1), int), 3), [1, 1, 1])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 2], "y must have one value per row: 3 expected, 2 given"),
        ([1, np.nan, np.inf], r"y must be finite; got nan in row 1 \(2 such value\(s\)\)"),
        ([[1, 2], [3, 4], [5, 6]], r"y must be one-dimensional; got shape \(3, 2\)"),
        (["x", "y", "z"], "y must hold numbers"),
        (np.array(["2020-01-01"] * 3, "M8[D]"), "y must hold numbers; got times"),
    ],
)
def test_labels_that_cannot_be_used(y, message):
    with pytest.raises(PodiumError, match=message):
        check_labels(y, 3)


def test_scores_may_be_infinite_but_not_nan():
    np.testing.assert_array_equal(check_scores([np.inf, -np.inf], 2), [np.inf, -np.inf])
    with pytest.raises(PodiumError, match="scores must not be NaN; row 1 is"):
        check_scores([0, np.nan], 2)


@pytest.mark.parametrize(
    "qid",
    [
        [7, 3, 7],
        ["b", "a", "b"],
        np.array(["2024-02-02", "2024-01-01", "2024-02-02"], "datetime64[D]"),
        [2.5, -1.0, 2.5],
        np.array([True, False, True]),
    ],
)
def test_query_ids_of_any_sortable_kind(qid):
    codes, ids = check_queries(qid, None, 3)
    np.testing.assert_array_equal(codes, [1, 0, 1])
    np.testing.assert_array_equal(ids[codes], np.asarray(qid))


def test_query_ids_that_cannot_be_sorted_are_numbered_by_appearance():
    codes, ids = check_queries(["a", 1, "a", "1", frozenset({2}), frozenset({2, 3}), frozenset({2})], None, 7)
    np.testing.assert_array_equal(codes, [0, 1, 0, 2, 3, 4, 3])
    assert ids.tolist() == ["a", 1, "1", frozenset({2}), frozenset({2, 3})]


def test_whole_numbers_beyond_every_integer_type_stay_apart():
    given = [2**63 + 1, 2**63 + 2, -1]
    codes, ids = check_queries(given, None, 3)
    assert ids[codes].tolist() == given


def test_arrow_columns_of_texts_and_nulls():
    pyarrow = peer("pyarrow")
    codes, _ = check_queries(pyarrow.array(["b", "a", "b"]), None, 3)
    np.testing.assert_array_equal(codes, [1, 0, 1])
    with pytest.raises(PodiumError, match="qid must not be missing; row 1 has None"):
        check_queries(pyarrow.array(["b", None]), None, 2)
    np.testing.assert_array_equal(check_labels(pyarrow.array([1, 2]), 2), [1, 2])


def test_group_sizes_are_query_ids_by_position():
    codes, ids = check_queries(None, [2, 1], 3)
    np.testing.assert_array_equal(codes, [0, 0, 1])
    np.testing.assert_array_equal(ids, [0, 1])


@pytest.mark.parametrize(
    ("qid", "group", "message"),
    [
        ([1, 1, 2], [2, 1], "Give qid .* or group .*, not both"),
        ([1, 2], None, r"qid looks like query sizes \(2 values that sum to the 3 rows\); pass it as group"),
        ([5, 5], None, "qid must have one id per row: 3 expected, 2 given"),
        ([1.0, np.nan, 2.0], None, "qid must not be missing; row 1 has"),
        (np.array(["2020-01-01", "NaT", "2020-01-01"], "M8[D]"), None, "qid must not be missing; row 1 has"),
        (np.array(["a", None, "b"], object), None, "qid must not be missing; row 1 has None"),
        (None, [1, 1], "group sizes must sum to the number of rows: 3 expected, 2 given"),
        (None, [7, 7, 8], r"group looks like ids, one per row \(3 values, sum 22\); pass it as qid"),
        (None, [4, -1], "group must hold positive sizes; got -1"),
        (None, [1.5, 1.5], "group must be a list of integers"),
    ],
)
def test_queries_that_cannot_be_used(qid, group, message):
    with pytest.raises(PodiumError, match=message):
        check_queries(qid, group, 3)


def test_query_weight_as_mapping_per_row_or_per_group():
    codes, ids = check_queries(["b", "a", "b"], None, 3)
    np.testing.assert_array_equal(check_query_weight({"a": 2, "b": 3}, codes, ids, False), [2, 3])
    np.testing.assert_array_equal(check_query_weight([3, 2, 3], codes, ids, False), [2, 3])
    np.testing.assert_array_equal(check_query_weight([3, 2], codes, ids, True), [3, 2])
    np.testing.assert_array_equal(check_query_weight(None, codes, ids, False), [1, 1])


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ({"a": 1}, "query_weight has no weight for query 'b'"),
        ([3, 2, 4], "query_weight must be the same for all rows of a query; row 2 of query .*b.* differs"),
        ([0, 0, 0], "query_weight must have a positive value; all 3 are zero"),
        ([1, -1, 1], "query_weight must be finite and not negative; got -1.0 in row 1"),
    ],
)
def test_query_weights_that_cannot_be_used(weight, message):
    codes, ids = check_queries(["b", "a", "b"], None, 3)
    with pytest.raises(PodiumError, match=message):
        check_query_weight(weight, codes, ids, False)


def test_weights_default_to_ones():
    np.testing.assert_array_equal(check_weight(None, 2, "sample_weight"), [1, 1])


def test_pairs_with_and_without_weight():
    better, worse, weight = check_pairs(([0, 0], [1, 1]), 2)
    assert (better.tolist(), worse.tolist(), weight.tolist()) == ([0, 0], [1, 1], [1.0, 1.0])
    assert check_pairs(([0], [1], [0.5]), 2).weight.tolist() == [0.5]


@pytest.mark.parametrize(
    ("pairs", "error", "message"),
    [
        (np.zeros((4, 2)), PodiumError, "pairs must be a tuple"),
        (([0], [1], [1], [1]), PodiumError, "pairs must be a tuple"),
        ([(0, 1), (1, 0, 2)], PodiumError, "all of one length; got tuples of 2 and 3"),
        ([(0,)], PodiumError, "got tuples of 1"),
        ([[0, 1]], PodiumError, "a list of tuples, one a pair; got a list"),
        (([0, 1], [1]), PodiumError, "as many better as worse rows; got 2 and 1"),
        (([], []), NoPairsError, "pairs is empty"),
        (([0, 2], [1, 0]), PodiumError, r"pairs must name rows 0 to 1 of X; better\[1\] is row 2"),
        (([0], [-1]), PodiumError, r"pairs must name rows 0 to 1 of X; worse\[0\] is row -1"),
        (([0, 1], [1, 1]), PodiumError, "A row cannot stand above itself: pair 1 names row 1 twice"),
        (([0.5], [1]), PodiumError, "pairs must hold row numbers; better has dtype float64"),
        (([0], [1], [0.0]), PodiumError, "weight of a pair must be positive and finite; pair 0 has 0.0"),
        (([0], [1], [-2.0]), PodiumError, "to prefer the other row, swap the two"),
        (([0], [1], [1.0, 2.0]), PodiumError, "pairs must have one weight each: 1 expected, 2 given"),
    ],
)
def test_pairs_that_cannot_be_used(pairs, error, message):
    with pytest.raises(error, match=message):
        check_pairs(pairs, 2)


def test_choices_offer_the_nearest():
    assert check_choice("r", ["r", "z"], "criterion") == "r"
    with pytest.raises(PodiumError, match=r"ties must be one of expected, stable; got 'expectd' \(did you mean"):
        check_choice("expectd", ["expected", "stable"], "ties")


def test_format_errors_name_file_line_and_text():
    import pickle

    error = FormatError("a.txt", "the label must be a number", 3, "x" * 100)
    assert str(error) == f"a.txt, line 3: the label must be a number: '{'x' * 77}...'."
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert isinstance(error, ValueError)
