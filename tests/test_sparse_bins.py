"""Bins of many sparse features at once are those of each feature alone, and no Python runs for each of them."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp

from podium import LambdaMART
from podium._compiled import JIT_DISABLED
from podium._errors import SizeError
from podium.binning import SparseReader, bin_features, cuts, shared_sparse_bins
from podium.binning.cuts import Cuts, bin_uppers
from podium.binning.thresholds import uppers_of_given

N_ROWS = 90


def features(n_features, dtype=np.float64, seed=0):
    """Return features of no, few and many entries, with repeats, infinities, stored NaN and both zeros."""
    rng = np.random.default_rng(seed)
    columns = []
    for feature in range(n_features):
        rows = rng.permutation(N_ROWS)[: rng.choice([0, 1, 2, 3, 20, N_ROWS])]
        values = rng.choice([np.round(rng.normal(size=len(rows)), feature % 3), rng.normal(size=len(rows))])
        special = rng.random(len(rows)) < 0.1
        values[special] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], special.sum())
        columns.append((rows, values))
    starts = np.cumsum([0, *(len(rows) for rows, _ in columns)])
    stored = np.concatenate([values for _, values in columns]).astype(dtype)
    return sp.csc_array((stored, np.concatenate([rows for rows, _ in columns]), starts), (N_ROWS, n_features))


def alone(X, feature, order, weight, max_bins, n_categories=-1, thresholds=None):
    """Return places, codes and thresholds of one feature, by searching its own values."""
    stored = slice(*X.indptr[feature : feature + 2])
    places, values = np.argsort(order)[X.indices[stored]], X.data[stored]
    places, values = places[~np.isnan(values)], values[~np.isnan(values)]
    by_place = np.argsort(places)
    places, values = places[by_place], values[by_place]
    if thresholds is not None:
        uppers = uppers_of_given(values, thresholds)
    elif n_categories >= 0:
        uppers = np.arange(n_categories, dtype=values.dtype)
    else:
        uppers = bin_uppers(values, weight[places], max_bins)
    codes = 1 + np.searchsorted(uppers[:-1], values)
    ends = [-np.inf, *uppers[:-1].tolist(), np.inf][: len(uppers) + 1]
    return places, codes, ends, -np.inf in values, len(values) < N_ROWS


def assert_bins_of_each_alone(bins, X, order, weight, max_bins, known=None, given=None):
    for feature in range(X.shape[1]):
        extra = (-1 if known is None else known[feature], None if given is None else given[feature])
        places, codes, ends, lowest, missing = alone(X, feature, order, weight, max_bins, *extra)
        own = slice(*bins.starts[feature : feature + 2])
        assert (np.diff(bins.codes[own].astype(int)) >= 0).all()
        found = dict(zip(bins.rows[own].tolist(), bins.codes[own].tolist(), strict=True))
        assert found == dict(zip(places.tolist(), codes.tolist(), strict=True))
        own = slice(*bins.cuts.offsets[feature : feature + 2])
        assert [str(end) for end in bins.cuts.thresholds[own].tolist()] == [str(float(end)) for end in ends]
        assert (bins.cuts.first[feature], bins.cuts.has_missing[feature]) == (lowest, missing)


@pytest.mark.plain
@pytest.mark.parametrize("n_entries", [1, 60, 2**14])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_bins", [3, 20, None])
def test_features_together_have_the_bins_of_each_alone(monkeypatch, n_entries, weighted, max_bins):
    monkeypatch.setattr(shared_sparse_bins, "MOST_ENTRIES_ALONE", n_entries)
    rng, keys = np.random.default_rng(1), np.arange(N_ROWS, dtype=np.uint64)
    for seed, dtype in enumerate([np.float32, np.float64]):
        X, order = features(25, dtype, seed), rng.permutation(N_ROWS)
        weight = rng.integers(1, 5, N_ROWS) / 4 if weighted else np.ones(N_ROWS)
        bins = bin_features(X, order, weight, max_bins)
        assert_bins_of_each_alone(bins, X, order, weight, max_bins)
        if max_bins is not None:
            bins = bin_features(X, order, weight, max_bins, keys=keys)
            assert_bins_of_each_alone(bins, X, order, weight, max_bins)


def test_sparse_features_have_their_own_thresholds_and_categories_in_every_batch(monkeypatch):
    monkeypatch.setattr(shared_sparse_bins, "MOST_ENTRIES_ALONE", 60)
    X, every, ones = features(25), np.arange(N_ROWS), np.ones(N_ROWS)
    X.data = np.clip(np.nan_to_num(np.abs(np.round(X.data)), posinf=1.0), 0, 4)
    known = np.where(np.arange(25) % 3 == 1, 5 + np.arange(25) % 4, -1)
    given = [np.linspace(-1, 5, 3 + j % 5) if j % 3 == 2 else None for j in range(25)]
    bins = bin_features(X, max_bins=3, n_categories=known, thresholds=given)
    assert_bins_of_each_alone(bins, X, every, ones, 3, known, given)


def test_sums_of_weights_do_not_depend_on_the_order_of_stored_entries():
    rng, n_features = np.random.default_rng(3), 40
    values, weight = rng.integers(0, 12, (N_ROWS, n_features)).astype(float), rng.random(N_ROWS)
    found = []
    for _ in range(4):
        order = rng.permutation(N_ROWS)
        stored = sp.csc_array((values[order].T.ravel(), np.tile(np.arange(N_ROWS), n_features), N_ROWS * np.arange(41)))
        found.append(bin_features(stored, np.argsort(order), weight, 4).cuts.thresholds)
    for one in found[1:]:
        np.testing.assert_array_equal(one, found[0])


@pytest.mark.skipif(JIT_DISABLED, reason="kernels call one another in Python")
@pytest.mark.parametrize("given", [{}, {"max_bins": None}, {"keys": np.arange(N_ROWS, dtype=np.uint64)}])
def test_no_python_runs_for_each_sparse_feature(monkeypatch, given):
    monkeypatch.setattr(cuts, "MAX_ROWS_SORTED", 50)
    monkeypatch.setattr(cuts, "SAMPLE_ROWS", 30)
    few, weight = features(30), 1.0 + np.arange(N_ROWS)

    def n_calls(X):
        called = []
        bin_features(X, None, weight, **given)  # compiles
        sys.setprofile(lambda frame, event, argument: called.append(event))
        try:
            bin_features(X, None, weight, **given)
        finally:
            sys.setprofile(None)
        return len(called)

    assert n_calls(sp.csc_array(sp.hstack([few] * 20))) == n_calls(few)


def test_a_feature_without_values_has_one_threshold_below_all():
    found = Cuts.of(np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1]), np.zeros(3, bool), np.ones(3, bool))
    assert found.thresholds.tolist() == [-np.inf, 1.0, np.inf, -np.inf, -np.inf, np.inf]
    assert found.n_bins.tolist() == [2, 0, 1]


def test_entries_of_a_feature_are_its_stored_ones_but_nan_and_a_column_has_them_in_the_order_of_rows():
    X, order = features(25), np.random.default_rng(4).permutation(N_ROWS)
    reader, place = SparseReader.of(X, order), np.argsort(order)
    for feature in range(25):
        stored = slice(*X.indptr[feature : feature + 2])
        rows, values = place[X.indices[stored]], X.data[stored]
        kept = ~np.isnan(values)
        np.testing.assert_array_equal(reader.entries(feature), [rows[kept], values[kept]])
        by_row = np.argsort(rows[kept])
        np.testing.assert_array_equal(reader.column(feature), [rows[kept][by_row], values[kept][by_row]])


@pytest.mark.parametrize("form", [np.asarray, sp.csc_array])
def test_the_lowest_value_of_all_is_above_no_threshold_and_full_features_have_none_missing(form):
    X = np.array([[-np.inf, np.inf], [1.0, 2.0], [3.0, 3.0]])
    cuts_of_all = bin_features(form(X), max_bins=None).cuts
    assert cuts_of_all.first.tolist() == [1, 0]
    assert not cuts_of_all.has_missing.any()


@pytest.mark.parametrize(("n_bytes", "what"), [(10**4, "A sparse X of 1000"), (10**7, "A tree of 1000")])
def test_trees_refuse_more_sparse_features_than_there_is_memory_for(monkeypatch, n_bytes, what):
    X = sp.random(N_ROWS, 1000, 0.01, "csr", random_state=0)
    monkeypatch.setattr("podium._memory.machine_memory", lambda: n_bytes)
    monkeypatch.setattr("podium._sparse.COLUMN_BYTES", 1)
    with pytest.raises(SizeError, match=f"{what} .* takes at least 0.. GiB, more memory .* RankBoost"):
        LambdaMART(2, min_child_samples=1).fit(X, np.arange(N_ROWS) % 3, group=[N_ROWS])
