"""Tests of podium.binning: codes and thresholds agree with the values they stand for."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from podium._validation import PodiumError
from podium.binning import BlockBins, ColumnBins, bin_features, cuts
from profiles import examples

NAN = np.nan
VALUES = st.sampled_from([NAN, -np.inf, -2.5, -0.0, 0.0, 1e-3, 1.0, 7.0, 1e30, np.inf])


def as_sparse(X):
    """The sparse matrix that stores just the entries of X that are not NaN, zeros too."""
    ranked = ~np.isnan(X)
    rows, columns = np.nonzero(ranked)
    return sp.csc_array((X[ranked], (rows, columns)), shape=X.shape)


def all_stumps(bins):
    for feature in range(bins.cuts.n_features):
        for cut in range(bins.cuts.first[feature], bins.cuts.n_bins[feature] + 1):
            for abstain in (0, 1):
                yield feature, cut, abstain


def stump_values(X, feature, threshold, abstain):
    x = X[:, feature]
    return np.where(np.isnan(x), abstain, x > threshold)


@pytest.mark.plain
@examples(60)
@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=VALUES),
    st.sampled_from([2, 3, 255, None]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_code_above_cut_is_value_above_threshold(X, max_bins, sparse, seed):
    rows = np.random.default_rng(seed).permutation(len(X))
    bins = bin_features(as_sparse(X) if sparse else X, rows, max_bins=max_bins)
    assert isinstance(bins, ColumnBins if sparse or max_bins is None else BlockBins)
    for feature, cut, abstain in all_stumps(bins):
        expected = stump_values(X[rows], feature, bins.cuts.threshold(feature, cut), abstain)
        np.testing.assert_array_equal(bins.indicator(feature, cut, abstain), expected)


@pytest.mark.plain
@examples(30)
@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=VALUES))
def test_few_distinct_values_have_a_bin_each_in_every_form(X):
    forms = [bin_features(X), bin_features(X, max_bins=None), bin_features(as_sparse(X))]
    for feature in range(X.shape[1]):
        x = X[:, feature] + 0.0
        distinct = np.unique(x[~np.isnan(x)])
        for bins in forms:
            own = bins.cuts.thresholds[bins.cuts.offsets[feature] : bins.cuts.offsets[feature + 1]]
            expected = [-np.inf, *distinct[:-1], np.inf] if len(distinct) else [-np.inf]
            np.testing.assert_array_equal(own, expected)
            assert bins.cuts.has_missing[feature] == np.isnan(x).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_memory_order_of_the_matrix_changes_nothing(dtype):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 19)).astype(dtype)
    X[rng.random(X.shape) < 0.1] = NAN
    rows = rng.permutation(3000)
    given_forms = [X, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]]
    forms = [bin_features(form, rows) for form in given_forms] + [bin_features(X[rows])]
    for bins in forms[1:]:
        np.testing.assert_array_equal(bins.codes, forms[0].codes)
        np.testing.assert_array_equal(bins.cuts.thresholds, forms[0].cuts.thresholds)


@pytest.mark.parametrize("max_bins", [255, None])
def test_thread_count_changes_nothing(max_bins):
    X = np.random.default_rng(0).standard_normal((2000, 40))
    one, three = (bin_features(X, max_bins=max_bins, n_threads=n) for n in (1, 3))
    np.testing.assert_array_equal(one.codes, three.codes)
    np.testing.assert_array_equal(one.cuts.thresholds, three.cuts.thresholds)


def test_float32_data_have_thresholds_that_float32_holds():
    X = np.random.default_rng(0).standard_normal((5000, 2)).astype(np.float32)
    thresholds = bin_features(X).cuts.thresholds
    np.testing.assert_array_equal(thresholds.astype(np.float32), thresholds)


def test_bins_hold_about_equal_weight():
    rng = np.random.default_rng(0)
    x, weight = rng.standard_normal(40_000), rng.random(40_000)
    bins = bin_features(x[:, None], weight=weight, max_bins=100)
    shares = np.bincount(bins.codes[0, :, 0], weight, minlength=101)[1:] / weight.sum()
    assert len(shares) == 100
    assert np.abs(shares - 0.01).max() < 0.0005


def test_heavy_value_has_a_bin_of_its_own_and_the_others_share_the_rest():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(50_000)
    x[rng.random(50_000) < 0.7] = 0.0
    bins = bin_features(x[:, None], max_bins=51)
    counts = np.bincount(bins.codes[0, :, 0])[1:]
    assert counts.max() == (x == 0).sum()
    others = np.sort(counts)[:-1]
    assert len(others) == 50
    assert others[1:].max() < 1.1 * others[1:].min()  # what is left before the heavy value may be small


@examples(40)
@given(st.lists(st.tuples(st.integers(0, 60), st.sampled_from([0.0, 0.1, 1.0, 50.0])), min_size=1), st.integers(2, 9))
def test_never_more_bins_than_asked_for(entries, max_bins):
    values, weight = (np.array(column, float) for column in zip(*entries, strict=True))
    uppers = cuts.bin_uppers(values, weight, max_bins)
    assert len(uppers) <= max_bins
    assert uppers[-1] == values.max()
    assert np.all(np.diff(uppers) > 0)


def test_weight_two_gives_the_bins_of_the_row_twice():
    x = np.random.default_rng(0).standard_normal((3000, 1))
    weighted = bin_features(x, weight=np.where(np.arange(3000) < 1000, 2.0, 1.0), max_bins=50)
    doubled = bin_features(np.concatenate([x, x[:1000]]), max_bins=50)
    np.testing.assert_array_equal(weighted.cuts.thresholds, doubled.cuts.thresholds)


@pytest.mark.plain
def test_few_values_are_all_found_among_more_rows_than_the_sample(monkeypatch):
    monkeypatch.setattr(cuts, "MAX_ROWS_SORTED", 1000)
    monkeypatch.setattr(cuts, "SAMPLE_ROWS", 100)
    x = np.zeros((2000, 1))
    x[1, 0], x[7, 0] = 1.0, 2.0  # not in the sample of every 20th row
    assert bin_features(x).cuts.n_bins[0] == 3


def test_quantiles_of_a_sample_are_near_those_of_all_rows(monkeypatch):
    x = np.random.default_rng(0).standard_normal((20_000, 1))
    exact = bin_features(x, max_bins=20).cuts.thresholds[1:-1]
    monkeypatch.setattr(cuts, "MAX_ROWS_SORTED", 10_000)
    monkeypatch.setattr(cuts, "SAMPLE_ROWS", 4_000)
    sampled = bin_features(x, max_bins=20)
    assert sampled.cuts.n_bins[0] == 20
    assert np.abs(sampled.cuts.thresholds[1:-1] - exact).max() < 0.1


@pytest.mark.plain
def test_cut_is_the_inverse_of_threshold():
    X = np.array([[-np.inf, 1.0], [0.0, 2.0], [3.0, NAN]])
    cuts_of = bin_features(X).cuts
    for feature in range(2):
        for cut in range(cuts_of.first[feature], cuts_of.n_bins[feature] + 1):
            assert cuts_of.cut(feature, cuts_of.threshold(feature, cut)) == cut


@pytest.mark.plain
@pytest.mark.parametrize("max_bins", [0, 1, 256, 2.5, "many"])
def test_max_bins_out_of_range_is_refused(max_bins):
    with pytest.raises(PodiumError, match="max_bins must be an integer from 2 to 255, or None"):
        bin_features(np.zeros((2, 1)), max_bins=max_bins)
