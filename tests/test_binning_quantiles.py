"""Weighted quantiles, samples of many rows, codes at every threshold, thresholds and categories of each feature."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st

from podium._validation import PodiumError
from podium.binning import as_blocks, bin_features, candidate_thresholds, cuts
from profiles import examples
from reference import binning as twin

pytestmark = pytest.mark.plain
NAN = np.nan

entries = st.lists(
    st.tuples(st.integers(0, 40).map(float), st.sampled_from([0.0, 0.25, 1.0, 3.0, 50.0])), min_size=1, max_size=60
).filter(lambda rows: any(weight for _, weight in rows))


def own_thresholds(bins, feature=0):
    return bins.cuts.thresholds[bins.cuts.offsets[feature] : bins.cuts.offsets[feature + 1]]


def as_thresholds(uppers):
    return [-np.inf, *uppers[:-1], np.inf]


def as_sparse(X):
    """The sparse matrix that stores what is not NaN, zeros too."""
    row, column = np.nonzero(~np.isnan(X))
    return sp.csc_array((X[row, column], (row, column)), shape=X.shape)


def test_uppers_of_many_small_columns_are_those_of_the_rule():
    """Few values and few bins: heavy values first, last and beside values of no weight."""
    rng = np.random.default_rng(0)
    for _ in range(400):
        values = rng.integers(0, 6, rng.integers(4, 12)).astype(float)
        weights, max_bins = rng.choice([0.0, 0.5, 1.0, 8.0], len(values)), int(rng.integers(2, 5))
        weights[0] += 1.0
        expected = twin.uppers(values.tolist(), weights.tolist(), max_bins)
        assert cuts.bin_uppers(values, weights, max_bins).tolist() == expected


@examples(100)
@given(entries, st.integers(2, 9), st.booleans())
def test_uppers_are_those_of_the_rule(rows, max_bins, weighted):
    values, weights = (list(column) for column in zip(*rows, strict=True))
    weights = weights if weighted else [1.0] * len(values)
    found = cuts.bin_uppers(np.array(values), np.array(weights) if weighted else None, max_bins)
    assert found.tolist() == twin.uppers(values, weights, max_bins)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("form", ["dense", "by columns", "sparse"])
def test_weights_belong_to_the_rows_in_the_order_asked_for(form, seed):
    rng = np.random.default_rng(seed)
    values, max_bins = rng.integers(0, 25, 60).astype(float), 3 + seed
    weights, ranked = rng.choice([0.0, 0.5, 1.0, 2.0, 9.0], 60), rng.random(60) < 0.8
    order = rng.permutation(60)  # row i of the result is row order[i] of X
    X = np.empty((60, 2))
    X[order] = np.where(ranked, values, NAN)[:, None]
    bins = bin_features(
        {"by columns": np.asfortranarray, "sparse": as_sparse}.get(form, np.asarray)(X), order, weights, max_bins
    )
    expected = twin.uppers(values[ranked].tolist(), weights[ranked].tolist(), max_bins)
    assert own_thresholds(bins).tolist() == own_thresholds(bins, 1).tolist() == as_thresholds(expected)
    assert expected != twin.uppers(values[ranked].tolist(), [1.0] * int(ranked.sum()), max_bins)


@pytest.mark.parametrize("n_rows", [49, 50, 51, 130])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_values", [7, 60])
def test_beyond_many_rows_bins_are_those_of_evenly_spaced_rows(monkeypatch, n_rows, weighted, n_values):
    monkeypatch.setattr(cuts, "MAX_ROWS_SORTED", 50)
    monkeypatch.setattr(cuts, "SAMPLE_ROWS", 40)
    rng = np.random.default_rng(n_rows)
    values = rng.integers(0, n_values, n_rows).astype(float)
    weights = rng.choice([0.5, 1.0, 2.0, 8.0], n_rows) if weighted else np.ones(n_rows)
    bins = bin_features(values[:, None], weight=weights, max_bins=8)
    expected = twin.sampled_uppers(values.tolist(), weights.tolist(), 8, 50, 40)
    assert own_thresholds(bins).tolist() == as_thresholds(expected)
    every_value = bin_features(values[:, None], weight=weights, max_bins=None)
    assert own_thresholds(every_value).tolist() == as_thresholds(np.unique(values).tolist())


def test_the_order_of_stored_rows_changes_no_bit_of_weighted_bins():
    """Sums of these weights differ in the last bit with their order, and a bin ends just where they decide."""
    values = np.array([4.0, 0.0, 0.0, 1.0, 0.0, 4.0, 4.0, 2.0, 0.0, 0.0, 1.0, 2.0])
    weights = np.array([0.3, 0.2, 0.2, 0.1, 0.3, 0.3, 0.1, 0.1, 0.2, 0.2, 0.7, 0.3])
    expected = own_thresholds(bin_features(as_sparse(values[:, None]), None, weights, 2))
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(len(values))
        X = np.empty((len(values), 1))
        X[order, 0] = values
        found = own_thresholds(bin_features(as_sparse(X), order, weights, 2))
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n_bins", [1, 2, 3, 31, 63, 64, 65, 127, 128, 129, 191, 192, 193, 254, 255])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_codes_are_right_at_and_beside_every_threshold(n_bins, dtype):
    step = np.array(1 / 3, dtype)
    known = np.arange(n_bins).astype(dtype) * step  # no float32 holds these float64 numbers
    x = np.concatenate([known, known[:1] - step, known[-1:] + step, [NAN]]).astype(dtype)
    uppers = [*known.tolist()[:-1], np.inf]
    bins = bin_features(x[:, None], thresholds=[np.array(uppers[:-1])])
    expected = np.where(np.isnan(x), 0, 1 + np.searchsorted(np.array(uppers, dtype), x))
    np.testing.assert_array_equal(bins.codes[0, :, 0], expected)
    few = bin_features(known[:, None], max_bins=255)
    np.testing.assert_array_equal(few.codes[0, :, 0], np.arange(1, n_bins + 1))
    as_columns = bin_features(x[:, None], max_bins=None, thresholds=[np.array(uppers[:-1])])
    np.testing.assert_array_equal(as_blocks(as_columns).codes[0, :, 0], expected)


def wide(seed=0, n_features=35):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, (40, n_features)).astype(float)
    X[rng.random(X.shape) < 0.2] = NAN
    X[:, 3] = NAN
    return X


@pytest.mark.parametrize("max_bins", [4, 255])
def test_sparse_columns_as_blocks_are_the_blocks_of_the_dense_matrix(max_bins):
    X = wide()
    expected, found = bin_features(X, max_bins=max_bins), as_blocks(bin_features(as_sparse(X), max_bins=max_bins))
    np.testing.assert_array_equal(found.codes, expected.codes)
    np.testing.assert_array_equal(found.cuts.thresholds, expected.cuts.thresholds)
    np.testing.assert_array_equal(found.cuts.has_missing, expected.cuts.has_missing)
    assert as_blocks(expected) is expected


def test_a_stored_nan_is_missing_like_an_absent_entry():
    X = wide()
    stored = sp.csc_array((X.T.ravel(), np.tile(np.arange(40), 35), 40 * np.arange(36)), shape=X.shape)
    assert stored.nnz == X.size
    for max_bins in (4, None):
        one, two = (bin_features(form, max_bins=max_bins) for form in (as_sparse(X), stored))
        np.testing.assert_array_equal(one.rows, two.rows)
        np.testing.assert_array_equal(one.codes, two.codes)
        np.testing.assert_array_equal(one.cuts.thresholds, two.cuts.thresholds)


@pytest.mark.parametrize("form", ["dense", "by columns", "every value", "sparse"])
def test_each_feature_has_its_own_thresholds_and_categories(form):
    X, n_features = wide(), 35
    n_categories = np.where(np.arange(n_features) % 5 == 1, 9 + np.arange(n_features) % 3, -1)
    given_ones = [np.array([j % 7, j % 7 + 1.5]) if j % 5 == 2 else None for j in range(n_features)]
    held = {"by columns": np.asfortranarray, "sparse": as_sparse}.get(form, np.asarray)(X)
    bins = bin_features(
        held, max_bins=None if form == "every value" else 4, n_categories=n_categories, thresholds=given_ones
    )
    codes = as_blocks(bins).codes
    for j in range(n_features):
        x = X[:, j]
        if n_categories[j] >= 0:
            expected = np.where(np.isnan(x), 0, 1 + np.nan_to_num(x))
            np.testing.assert_array_equal(codes[j // 16, :, j % 16], expected)
            assert bins.cuts.n_bins[j] == n_categories[j]
        elif given_ones[j] is not None:
            inner = own_thresholds(bins, j)[1:-1].tolist()
            ranked = x[~np.isnan(x)]
            assert inner == [t for t in given_ones[j].tolist() if ranked.min() <= t < ranked.max()]


NUMBERS = st.sampled_from([-2.0, -0.0, 0.0, 0.1, 0.5, 1.0, 1e10, 1e30])


@examples(50)
@given(
    st.lists(st.one_of(NUMBERS, st.sampled_from([NAN, np.inf, -np.inf])), min_size=1, max_size=9),
    st.lists(NUMBERS, max_size=6),
    st.sampled_from([np.float64, np.float32]),
    st.sampled_from([255, None]),
)
@example([0.0, 0.1], [0.1], np.float32, 255)  # 0.1 as float32 is above 0.1
def test_given_thresholds_part_the_rows_as_they_say(values, thresholds, dtype, max_bins):
    x = np.array(values, dtype)
    found = candidate_thresholds([thresholds, [0.0]], 2, None, dtype)
    bins = bin_features(np.column_stack([x, x]), max_bins=max_bins, thresholds=found)
    ranked = x[~np.isnan(x)].astype(float)
    wanted = {tuple((ranked > t).tolist()) for t in thresholds}
    wanted = {parts for parts in wanted if any(parts) and not all(parts)}
    parts = [
        tuple(bins.indicator(0, cut, 0)[~np.isnan(x)].astype(bool).tolist()) for cut in range(1, bins.cuts.n_bins[0])
    ]
    assert len(parts) == len(set(parts))
    assert set(parts) == wanted


def test_a_threshold_of_minus_zero_is_zero():
    found = candidate_thresholds([-0.0, 0.0], 1, None, np.float64)[0]
    assert str(found.tolist()) == "[0.0]"


def test_thresholds_of_columns_by_name_and_number():
    found = candidate_thresholds({"b": [2, 1, 1], 2: [5]}, 3, ("a", "b", "c"), np.float64)
    assert [None if one is None else one.tolist() for one in found] == [None, [1.0, 2.0], [5.0]]
    for key in (3, -1, True, 1.0):
        with pytest.raises(PodiumError, match=r"names or numbers from 0 to 2 of columns of X as keys; got"):
            candidate_thresholds({key: [1]}, 3, None, np.float64)
    for values in ([np.inf], [NAN], [[1.0]]):
        with pytest.raises(PodiumError, match=r"thresholds\[1\] must be a list of finite numbers; got"):
            candidate_thresholds({1: values}, 3, None, np.float64)


def test_254_thresholds_are_the_most_of_a_byte():
    x = np.arange(256.0)[:, None]
    assert bin_features(x, thresholds=[np.arange(254.0)]).cuts.n_bins[0] == 255
    with pytest.raises(PodiumError, match=r"At most 254 thresholds .* feature 0 has 255: set max_bins=None"):
        bin_features(x, thresholds=[np.arange(255.0)])
    assert bin_features(x, max_bins=None, thresholds=[np.arange(255.0)]).cuts.n_bins[0] == 256


def test_the_cut_of_any_threshold_parts_the_rows_as_it_does():
    X = np.array([[-1.0], [0.0], [3.0], [NAN]])
    bins = bin_features(X)
    for threshold in (-np.inf, -2.0, -1.0, -0.5, 0.0, 2.9):
        parts = bins.indicator(0, bins.cuts.cut(0, threshold), 0)
        np.testing.assert_array_equal(parts[:3] > 0, X[:3, 0] > threshold)
