"""The canonical order where rows, pairs and queries are nearly equal; weights in range; the warning of one query."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from podium._magnitudes import WEIGHT_BITS, WEIGHT_RANGE, check_within, scaled_weight, scaled_weights
from podium._pair_gate import PairArrays
from podium._validation import PodiumError
from podium.data import hashes, ranking_data
from podium.data.ranking_data import RankingData, canonical_order, hash_features, row_keys, warn_of_one_query

pytestmark = pytest.mark.plain


def nearly_equal(seed):
    """Rows of which many differ in one thing alone: a cell, the label, the weight, their query or its weight."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (48, 2)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    query_weight = rng.integers(1, 3, 12).astype(float)
    qid = np.repeat(np.arange(12), 4)
    y, weight = rng.integers(0, 2, 48).astype(float), rng.integers(1, 3, 48).astype(float)
    for left, right in ((0, 1), (2, 3), (4, 5)):  # queries of equal contents, some of other weights
        X[qid == left], y[qid == left], weight[qid == left] = X[qid == right], y[qid == right], weight[qid == right]
    query_weight[:6] = [1, 2, 2, 1, 3, 3]
    return X, y, qid, weight, query_weight


def arrays_of(data):
    """All that is computed with."""
    features = data.features.toarray() if sp.issparse(data.features) else data.features
    pairs = () if data.pairs is None else data.pairs
    return (
        features[data.queries.rows],
        data.labels,
        data.row_weight,
        data.query_weight,
        data.weights,
        data.queries.offsets,
        data.queries.place_keys(),
        *pairs,
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("held", [np.asarray, lambda X: sp.csr_array(np.nan_to_num(X + 1))])
def test_order_of_rows_and_names_of_queries_change_no_bit(seed, held):
    X, y, qid, weight, query_weight = nearly_equal(seed)
    expected = RankingData.from_arrays(
        held(X), y, qid=qid, sample_weight=weight, query_weight=query_weight[qid].tolist()
    )
    rng = np.random.default_rng(seed + 100)
    for _ in range(4):
        shuffled, names = rng.permutation(48), rng.permutation(12)
        given = {"qid": names[qid[shuffled]], "sample_weight": weight[shuffled]}
        given["query_weight"] = query_weight[qid[shuffled]].tolist()
        found = RankingData.from_arrays(held(X)[shuffled], y[shuffled], **given)
        for left, right in zip(arrays_of(expected), arrays_of(found), strict=True):
            np.testing.assert_array_equal(left, right)
        np.testing.assert_array_equal(found.queries.to_caller(found.labels), y[shuffled])


@pytest.mark.parametrize("seed", range(6))
def test_equal_rows_are_told_apart_by_their_pairs(seed):
    rng = np.random.default_rng(seed)
    X = np.concatenate([np.arange(6.0), np.full(8, 9.0)])[:, None]  # six different rows and eight equal ones
    equal = rng.integers(6, 14, 30)
    other, wins = rng.integers(0, 3, 30), rng.random(30) < 0.5
    pairs = np.where(wins, equal, other), np.where(wins, other, equal), rng.integers(1, 3, 30).astype(float)
    expected = RankingData.from_arrays(X, pairs=pairs).pairs
    for _ in range(4):
        rows, order = rng.permutation(14), rng.permutation(30)
        place = np.argsort(rows)
        given = place[pairs[0]][order], place[pairs[1]][order], pairs[2][order]
        found = RankingData.from_arrays(X[rows], pairs=given).pairs
        for left, right in zip(expected, found, strict=True):
            np.testing.assert_array_equal(left, right)


def keys_of(labels=(0, 0), weight=(1, 1), pairs=None):
    """Keys of two equal rows and of a third one."""
    X = np.array([[1.0, 2.0], [1.0, 2.0], [5.0, 5.0]])
    listed = None if pairs is None else PairArrays(*(np.array(column) for column in pairs))
    return row_keys(X, np.array([*labels, 0.0]), np.array([*weight, 1.0]), listed)


def test_keys_hang_on_label_weight_and_pairs():
    same = keys_of()
    assert same[0] == same[1] != same[2]
    for keys in (
        keys_of(labels=(0, 1)),
        keys_of(weight=(1, 2)),
        keys_of(pairs=([0], [2], [1.0])),
        keys_of(pairs=([2], [0], [1.0])),
        keys_of(pairs=([0, 2], [2, 1], [1.0, 1.0])),
        keys_of(pairs=([0, 1], [2, 2], [1.0, 2.0])),
        keys_of(pairs=([2, 2], [0, 1], [1.0, 2.0])),
        keys_of(pairs=([0, 0, 1], [2, 2, 2], [1.0, 1.0, 1.0])),
    ):
        assert keys[0] != keys[1]
    alike = keys_of(pairs=([0, 1], [2, 2], [3.0, 3.0]))
    assert alike[0] == alike[1]


def test_repeated_pairs_come_in_the_order_of_their_weights():
    pairs = ([0, 0, 0, 2], [1, 1, 1, 1], [3.0, 1.0, 2.0, 9.0])
    found = RankingData.from_arrays(np.arange(3.0)[:, None], pairs=pairs).pairs
    assert [weight for weight in found.weight.tolist() if weight < 9] == [1.0, 2.0, 3.0]


def test_queries_stand_together_in_the_order_of_their_keys_and_rows_by_theirs():
    rng = np.random.default_rng(0)
    keys, codes = rng.integers(0, 2**63, 30).astype(np.uint64), rng.integers(0, 5, 30)
    queries, order = canonical_order(keys, codes, np.array(list("abcde")))
    assert queries.ids.tolist() == [list("abcde")[i] for i in order]
    assert queries.sizes.tolist() == np.bincount(codes, minlength=5)[order].tolist()
    for q in range(5):
        rows = queries.rows[queries.offsets[q] : queries.offsets[q + 1]]
        assert set(codes[rows].tolist()) == {int(order[q])}
        assert np.all(np.diff(keys[rows].astype(float)) > 0)


def test_keys_of_places_hang_on_their_query_alone():
    X, y, qid, weight, _ = nearly_equal(0)
    whole = RankingData.from_arrays(X, y, qid=qid, sample_weight=weight)
    keys = dict(zip(whole.queries.rows.tolist(), whole.queries.place_keys().tolist(), strict=True))
    assert len(set(keys.values())) == 48
    for query in range(6, 12):
        rows = np.flatnonzero(qid == query)
        alone = RankingData.from_arrays(X[rows], y[rows], qid=qid[rows], sample_weight=weight[rows])
        assert set(alone.queries.place_keys().tolist()) == {keys[row] for row in rows.tolist()}


@pytest.mark.parametrize("block", [1, 5, 7, 8, 100, 2**15])
def test_blocks_of_cells_change_no_hash(monkeypatch, block):
    X = np.random.default_rng(0).normal(size=(23, 7))
    X[3, 2] = np.nan
    expected = hash_features(X)
    monkeypatch.setattr(hashes, "CELLS_PER_HASH_BLOCK", block)
    np.testing.assert_array_equal(hash_features(X), expected)
    np.testing.assert_array_equal(hash_features(np.asfortranarray(X)), expected)
    rows, columns = np.nonzero(~np.isnan(X))
    stored = sp.csc_array((X[rows, columns], (rows, columns)), shape=X.shape)
    np.testing.assert_array_equal(hash_features(stored), expected)


def test_zeros_of_both_signs_and_all_nans_hash_alike():
    odd_nan = np.array([0x7FF8000000000123], np.uint64).view(float)[0]
    keys = hash_features(np.array([[0.0, np.nan], [-0.0, odd_nan], [0.0, 0.0]]))
    assert keys[0] == keys[1] != keys[2]
    labels = np.array([0.0, -0.0, 1.0])
    keys = row_keys(np.ones((3, 1)), labels, np.ones(3), None)
    assert keys[0] == keys[1] != keys[2]


def test_a_row_weighs_its_own_weight_times_that_of_its_query():
    X, y, qid, weight, query_weight = nearly_equal(1)
    data = RankingData.from_arrays(X, y, qid=qid, sample_weight=weight, query_weight=query_weight[qid])
    np.testing.assert_array_equal(data.queries.to_caller(data.weights), weight * query_weight[qid])
    np.testing.assert_array_equal(data.query_weight, query_weight[data.queries.ids])


def test_queries_are_given_by_ids_or_sizes():
    X, y = np.arange(4.0)[:, None], np.arange(4.0)
    assert RankingData.from_arrays(X, y, qid=[1, 1, 1, 1]).queries_given
    assert RankingData.from_arrays(X, y, group=[4]).queries_given
    assert not RankingData.from_arrays(X, y).queries_given


def test_large_weights_are_in_range_with_and_without_pairs():
    X, y = np.arange(4.0)[:, None], np.arange(4.0)
    given = {"sample_weight": [1e300, 2e300, 1e300, 0.0], "group": [2, 2], "query_weight": [1e200, 3e200]}
    for pairs in (None, ([0], [1], [1e308])):
        data = RankingData.from_arrays(X, y, pairs=pairs, **given)
        assert data.row_weight.max() < 2.0**WEIGHT_BITS
        assert data.query_weight.max() < 2.0**WEIGHT_BITS
        np.testing.assert_array_equal(np.unique(data.row_weight / data.row_weight.max()), [0.0, 0.5, 1.0])
        np.testing.assert_allclose(data.query_weight.max(), 3 * data.query_weight.min())


def exponents(weights):
    return [float(np.log2(part.max())) for part in weights]


@pytest.mark.parametrize("rows", [0, 59, 60, 61, 100])
@pytest.mark.parametrize("queries", [0, 59, 60, 90])
@pytest.mark.parametrize("pairs", [0, 179, 180, 181, 260, 400])
def test_weights_go_down_together_by_as_much_as_the_largest_ask_for(rows, queries, pairs):
    """2^b lies below 2^WEIGHT_BITS if b < WEIGHT_BITS; labels weigh a pair by query · row · row."""
    found = exponents(scaled_weights(*(np.array([2.0**bits]) for bits in (rows, queries, pairs))))
    down_rows, down_queries = max(0, rows + 1 - WEIGHT_BITS), max(0, queries + 1 - WEIGHT_BITS)
    further = max(0, pairs + 1 - 3 * WEIGHT_BITS - 2 * down_rows - down_queries)
    expected = [rows - down_rows, queries - down_queries - further, pairs - 2 * down_rows - down_queries - further]
    assert found == expected
    assert found[0] < WEIGHT_BITS
    assert found[1] < WEIGHT_BITS
    assert found[2] < 3 * WEIGHT_BITS
    assert found[2] - 2 * found[0] - found[1] == pairs - 2 * rows - queries


def test_small_weights_stay_within_the_range_of_the_largest_and_zeros_zero():
    weight = 2.0 ** np.array([59.0, 30.0, 59.0 - WEIGHT_RANGE, 58.0 - WEIGHT_RANGE, -1000.0])
    found = scaled_weight(np.append(weight, 0.0))
    expected = [*weight[:3], *[2.0 ** (59 - WEIGHT_RANGE)] * 2, 0.0]
    assert found.tolist() == expected
    assert scaled_weight(np.array([1.0, 1e-36])).tolist() == [1.0, 1e-36]
    assert scaled_weight(np.append(weight[:3], 0.0)).tolist() == [*weight[:3], 0.0]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1.0000001e100, -2e100])
def test_numbers_to_compute_with_lie_within_the_largest(value):
    check_within(np.array([1e100, -1e100, 0.0]), "y", "a test")
    with pytest.raises(PodiumError, match=r"y must lie within ±1e\+100 for a test; got"):
        check_within(np.array([0.0, value]), "y", "a test")


@pytest.mark.parametrize(
    ("n_rows", "n_labels", "warned"), [(10, 3, False), (11, 3, True), (12, 6, False), (12, 5, True)]
)
def test_more_than_many_rows_with_fewer_labels_than_half_are_warned_of(monkeypatch, n_rows, n_labels, warned):
    monkeypatch.setattr(ranking_data, "MAX_ROWS_UNWARNED", 10)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_one_query(np.arange(n_rows) % n_labels, "of eval_set[0] ", "group=[{}]")
        warn_of_one_query(None, "", "")
    expected = (
        f"All {n_rows} rows of eval_set[0] are one query, because neither qid nor group was given; give them, or say "
        f"group=[{n_rows}] if one query is meant."
    )
    assert [str(one.message) for one in caught] == [expected] * warned


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_kernel_hashes_the_rows_of_large_matrices_alike(dtype, monkeypatch):
    X = np.random.default_rng(0).choice([np.nan, -np.nan, 0.0, -0.0, 1.0, -2.5, np.inf], (40, 5)).astype(dtype)
    expected = hash_features(X)
    monkeypatch.setattr(hashes, "MIN_CELLS_COMPILED", 1)
    monkeypatch.setattr(hashes, "_cell_keys", None)
    np.testing.assert_array_equal(hash_features(X), expected)


def test_a_large_matrix_of_columns_is_hashed_as_one_of_rows(monkeypatch):
    X = np.random.default_rng(0).normal(size=(40, 5))
    monkeypatch.setattr(hashes, "MIN_CELLS_COMPILED", 1)
    np.testing.assert_array_equal(hash_features(np.asfortranarray(X)), hash_features(X))


@pytest.mark.parametrize(("n_keys", "n_places"), [(2**63, 10), (30, 10), (30, 2**16), (2**63, 2**17), (30, 2**33)])
def test_rows_are_sorted_by_place_and_key_and_equal_ones_stay_in_their_order(n_keys, n_places):
    rng = np.random.default_rng(0)
    keys, places = rng.integers(0, n_keys, 400).astype(np.uint64), rng.integers(0, n_places, 60)[np.arange(400) % 60]
    found = ranking_data._sorted_rows(keys, places, n_places)
    np.testing.assert_array_equal(found, np.lexsort((keys, places)))
