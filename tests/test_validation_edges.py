"""Bounds of the gate: ids of mixed kinds, weights per query, near names, dtypes of frames and of sparse matrices."""

import numpy as np
import pytest
import scipy.sparse as sp

from peers import peer
from podium._frames import category_kind
from podium._pair_gate import check_pairs
from podium._validation import (
    PodiumError,
    check_choice,
    check_features,
    check_labels,
    check_queries,
    check_query_weight,
    check_scores,
    check_seed,
    check_weight,
)

pytestmark = pytest.mark.plain
NAN = np.nan


def test_weights_per_query_are_taken_where_group_gave_the_sizes_only():
    codes, ids = check_queries([7, 7, 8], None, 3)
    with pytest.raises(PodiumError, match="query_weight must have one value per row: 3 expected, 2 given"):
        check_query_weight([3, 2], codes, ids, False)
    np.testing.assert_array_equal(check_query_weight([3, 3, 2], codes, ids, True), [3, 2])


def test_a_row_that_differs_from_the_first_of_its_query_is_named():
    codes, ids = check_queries(["a", "b", "a", "a"], None, 4)
    with pytest.raises(PodiumError, match=r"row 3 of query .*a.* differs from the first"):
        check_query_weight([1, 5, 1, 2], codes, ids, False)


@pytest.mark.parametrize(
    ("group", "n_rows", "message"),
    [
        ([2], 1, "group sizes must sum to the number of rows: 1 expected, 2 given"),
        ([5, 5], 2, r"group looks like ids, one per row \(2 values, sum 10\)"),
        ([0, 3], 3, "group must hold positive sizes; got 0"),
        ([], 3, "group must be a list of integers, the query sizes; got dtype float64"),
        (np.array([], int), 3, "group sizes must sum to the number of rows: 3 expected, 0 given"),
    ],
)
def test_sizes_that_are_none(group, n_rows, message):
    with pytest.raises(PodiumError, match=message):
        check_queries(None, group, n_rows)


def test_sizes_of_one_row_each_are_sizes():
    codes, _ = check_queries(None, [1, 1, 1], 3)
    np.testing.assert_array_equal(codes, [0, 1, 2])


@pytest.mark.parametrize("ids", [[1, "1", 1], (1, "1", 1), [1, 1.5, 1], [True, "True", True]])
def test_ids_of_two_kinds_stay_apart(ids):
    codes, unique = check_queries(ids, None, 3)
    assert codes.tolist() == [0, 1, 0]
    assert [(type(one), one) for one in unique.tolist()] == [(type(one), one) for one in ids[:2]]


def test_missing_ids_among_others_are_refused():
    pandas = peer("pandas")
    for missing in (None, NAN, pandas.NaT, pandas.NA, np.datetime64("NaT")):
        ids = np.array(["a", 1, missing], object)
        with pytest.raises(PodiumError, match="qid must not be missing; row 2 has"):
            check_queries(ids, None, 3)


def test_texts_and_numbers_as_objects_are_sorted_like_arrays_of_them():
    for ids in (["b", "a", "c", "a"], [10, 9, 2**70, 9]):
        codes, unique = check_queries(np.array(ids, object), None, 4)
        assert unique.tolist() == sorted(set(ids))
        assert unique[codes].tolist() == ids


def test_a_frame_is_float32_only_if_all_of_it_is():
    pandas, polars = peer("pandas"), peer("polars")
    for kind in (pandas.DataFrame, polars.DataFrame):
        single, double = np.array([0.5, 1.0], np.float32), np.array([0.1, 0.2])
        mixed, _ = check_features(kind({"a": single, "b": double}))
        assert mixed.dtype == np.float64
        np.testing.assert_array_equal(mixed[:, 1], double)
        assert check_features(kind({"a": single, "b": single}))[0].dtype == np.float32


def test_seeds_are_themselves_and_generators_draw_one():
    assert [check_seed(seed) for seed in (-3, 0, np.int64(7))] == [-3, 0, 7]
    one, two = (check_seed(np.random.RandomState(5)) for _ in range(2))
    assert one == two != check_seed(np.random.RandomState(6))


def test_pairs_with_none_for_weights_weigh_one():
    assert check_pairs(([0, 1], [1, 0], None), 2).weight.tolist() == [1.0, 1.0]
    assert check_pairs(([0, 1], [1, 0], [5e-324, 1e308]), 2).weight.tolist() == [5e-324, 1e308]
    for weight in (np.inf, NAN, 0.0, -1.0):
        with pytest.raises(PodiumError, match="pair 1 has"):
            check_pairs(([0, 1], [1, 0], [1.0, weight]), 2)


def test_pairs_name_the_first_and_the_last_row():
    assert check_pairs(([0], [4]), 5).worse.tolist() == [4]
    for row in (5, -1):
        with pytest.raises(PodiumError, match=rf"pairs must name rows 0 to 4 of X; worse\[1\] is row {row}"):
            check_pairs(([0, 0], [1, row]), 5)


def test_up_to_three_near_names_are_offered():
    with pytest.raises(PodiumError, match=r"\(did you mean ndcg3 or ndcg2 or ndcg1\?\)|ndcg1 or ndcg2 or ndcg3"):
        check_choice("ndcg", ["ndcg1", "ndcg2", "ndcg3", "map"], "measure")
    with pytest.raises(PodiumError, match=r"got 'q'\.$"):
        check_choice("q", ["ndcg", "map"], "measure")


def test_lists_of_masked_arrays_without_a_masked_value_are_arrays():
    given = [np.ma.array(1.0), np.ma.array(2.0)]
    np.testing.assert_array_equal(check_labels(given, 2), [1, 2])
    np.testing.assert_array_equal(check_features([np.ma.array([1.0, 2.0])])[0], [[1, 2]])


def test_weights_scores_and_labels_at_their_bounds():
    np.testing.assert_array_equal(check_weight([0, 1e308], 2, "w"), [0, 1e308])
    np.testing.assert_array_equal(check_scores([-np.inf, 1], 2), [-np.inf, 1])
    for weight in ([NAN, 1], [np.inf, 1], [-5e-324, 1]):
        with pytest.raises(PodiumError, match=r"w must be finite and not negative; got .* in row 0"):
            check_weight(weight, 2, "w")
    with pytest.raises(PodiumError, match="w must have a positive value; all 2 are zero"):
        check_weight([0, 0], 2, "w")


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.bool_])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.coo_array, sp.lil_array, sp.dok_array, sp.dia_array])
def test_sparse_matrices_of_all_formats_keep_their_numbers(kind, dtype):
    dense = np.array([[0, 1, 0], [1, 0, 1]], dtype)
    matrix, names = check_features(kind(dense))
    assert matrix.dtype == (np.float32 if dtype == np.float32 else np.float64)
    assert names is None
    np.testing.assert_array_equal(matrix.toarray(), dense)
    assert matrix.has_canonical_format


def test_repeats_of_a_matrix_by_columns_are_summed_in_a_copy():
    given = sp.csc_array((np.array([4.0, 1.0, 2.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(3, 1))
    matrix, _ = check_features(given)
    assert (matrix.indices.tolist(), matrix.data.tolist()) == ([0, 2], [1.0, 6.0])
    assert (given.indices.tolist(), given.data.tolist()) == ([2, 0, 2], [4.0, 1.0, 2.0])


def test_lists_of_different_lengths_are_no_sparse_matrix():
    for rows, data in (
        ([[0, 1], []], [[1.0], []]),
        ([[0], []], [[1.0, 2.0], []]),
        ([[0, 1], [0]], [[1.0], [2.0, 3.0]]),
    ):
        lists = sp.lil_array((2, 3))
        lists.rows[:], lists.data[:] = rows, data
        with pytest.raises(PodiumError, match="X is not a whole sparse matrix"):
            check_features(lists)


def test_columns_of_categories_are_known_by_their_types():
    pandas, polars, pyarrow = (peer(name) for name in ("pandas", "polars", "pyarrow"))
    texts = ["a", "b", None]
    encoded = pyarrow.array(texts).dictionary_encode()
    held = pandas.Series(texts, dtype=pandas.ArrowDtype(pyarrow.dictionary(pyarrow.int32(), pyarrow.string())))
    assert [category_kind(column) for column in (encoded, held, pyarrow.chunked_array([encoded]))] == [
        "DictionaryType"
    ] * 3
    assert category_kind(pandas.Series(pandas.Categorical(texts))) == "CategoricalDtype"
    assert category_kind(polars.Series(texts).cast(polars.Categorical)) == "Categorical"
    assert category_kind(polars.Series(texts, dtype=polars.Enum(["a", "b"]))) == "Enum"
    assert [category_kind(column) for column in (np.ones(2), pyarrow.array([1]), pandas.Series([1]))] == [None] * 3
