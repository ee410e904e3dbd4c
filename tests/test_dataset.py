"""The canonical order: any order of rows and queries gives the same computation, and the way back is kept."""

import numpy as np
import pytest
import scipy.sparse as sp

from podium.data.ranking_data import RankingData, group_rows, hash_features

pytestmark = pytest.mark.plain


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (60, 4)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, rng.integers(0, 3, 60).astype(float), np.repeat(np.arange(12), 5), rng.random(60)


def as_given(data):
    return data.features[data.queries.rows], data.labels, data.row_weight, data.query_weight


def test_row_and_query_order_change_nothing(table):
    X, y, qid, weight = table
    rng = np.random.default_rng(1)
    shuffled = rng.permutation(len(y))
    renamed = rng.permutation(12)[qid]
    query_weight = 1.0 + qid % 3
    one = RankingData.from_arrays(X, y, qid=qid, sample_weight=weight, query_weight=query_weight)
    two = RankingData.from_arrays(
        X[shuffled],
        y[shuffled],
        qid=renamed[shuffled],
        sample_weight=weight[shuffled],
        query_weight=query_weight[shuffled],
    )
    for left, right in zip(as_given(one), as_given(two), strict=True):
        np.testing.assert_array_equal(left, right)
    np.testing.assert_array_equal(one.queries.offsets, two.queries.offsets)


def test_row_order_changes_no_pairs(table):
    X, *_ = table
    rng = np.random.default_rng(2)
    better, worse = rng.permutation(60)[:30], rng.permutation(60)[30:]
    keep = better != worse
    pairs = (better[keep], worse[keep], rng.random(keep.sum()) + 0.1)
    shuffled = rng.permutation(60)
    place = np.argsort(shuffled)
    one = RankingData.from_arrays(X, pairs=pairs)
    two = RankingData.from_arrays(X[shuffled], pairs=(place[pairs[0]], place[pairs[1]], pairs[2]))
    for left, right in zip(one.pairs, two.pairs, strict=True):
        np.testing.assert_array_equal(left, right)


def test_values_return_to_the_callers_order(table):
    X, y, qid, _ = table
    data = RankingData.from_arrays(X, y, qid=qid)
    np.testing.assert_array_equal(data.queries.to_caller(data.labels), y)
    np.testing.assert_array_equal(np.repeat(data.queries.ids, data.queries.sizes), qid[data.queries.rows])


def test_group_rows_keeps_the_callers_order_within_a_query():
    queries = group_rows(np.array([1, 0, 1, 0, 1]), np.array(["a", "b"]))
    assert queries.rows.tolist() == [1, 3, 0, 2, 4]
    assert queries.offsets.tolist() == [0, 2, 5]
    assert len(queries) == 2


def test_place_keys_differ_between_equal_rows_and_equal_queries_and_not_by_the_callers_order(table):
    X, y, qid, _ = table
    X, y, qid = np.tile(X, (3, 1)), np.tile(y, 3), np.concatenate([qid, qid + 12, qid + 24])  # each query three times
    X[qid == 5], y[qid == 5] = 1.0, 1.0  # equal rows
    query_weight = 1.0 + (qid % 12 == 7) * (qid // 12)
    rng = np.random.default_rng(3)
    shuffled, renamed = rng.permutation(len(y)), rng.permutation(36)[qid]
    one = RankingData.from_arrays(X, y, qid=qid, query_weight=query_weight)
    two = RankingData.from_arrays(X[shuffled], y[shuffled], qid=renamed[shuffled], query_weight=query_weight[shuffled])
    keys = one.queries.place_keys()
    assert len(np.unique(keys)) == len(y)
    np.testing.assert_array_equal(keys, two.queries.place_keys())
    np.testing.assert_array_equal(one.query_weight, two.query_weight)
    part = RankingData.from_arrays(X[qid < 9], y[qid < 9], qid=qid[qid < 9])
    assert np.isin(part.queries.place_keys(), keys).all()


def test_equal_numbers_hash_alike_in_any_storage(table):
    X = table[0]
    expected = hash_features(X)
    np.testing.assert_array_equal(hash_features(np.asfortranarray(X)), expected)
    np.testing.assert_array_equal(hash_features(X.astype(np.float32)), expected)
    np.testing.assert_array_equal(hash_features(np.where(X == 0, -0.0, X)), expected)


def test_different_rows_hash_differently():
    values = np.arange(20_000, dtype=float)
    columns = np.column_stack([values, values[::-1]])
    assert len(np.unique(hash_features(columns))) == 20_000
    swapped = hash_features(columns[:, ::-1])
    assert not np.intersect1d(hash_features(columns)[:10_000], swapped[:10_000]).size


def test_sparse_rows_hash_by_their_stored_entries():
    dense = np.array([[0, 2.0], [2.0, 0], [0, 2.0], [0, 0]])
    keys = hash_features(sp.csc_array(dense))
    assert keys[0] == keys[2]
    assert len(set(keys.tolist())) == 3


def test_sparse_rows_hash_like_dense_ones_with_nan(table):
    X = table[0] + 1
    np.testing.assert_array_equal(hash_features(sp.csc_array(np.nan_to_num(X))), hash_features(X))


def test_data_is_frozen(table):
    data = RankingData.from_arrays(table[0], table[1])
    with pytest.raises(AttributeError):
        data.labels = None
