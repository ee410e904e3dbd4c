"""What the doctor finds in features: constant, missing, doubled and leaking ones."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp

from doctor_data import N_FEATURES, clean, found
from podium import doctor
from podium.data import column_facts, hash_columns, hashes
from podium.diagnosis import feature_checks, leak_check
from podium.diagnosis.checked_rows import CheckedRows

pytestmark = pytest.mark.plain

facts_module = sys.modules[column_facts.__module__]


def test_constant_empty_and_query_constant_features():
    X, y, qid = clean()
    finding = found("constant-features", np.c_[X, np.ones(len(y))], y, qid)
    assert finding.features == ("6",)
    assert finding.sentence.startswith("1 feature (6) has one value")
    finding = found("constant-features", np.c_[X, np.ones((len(y), 2))], y, qid)
    assert finding.sentence.startswith("2 features (6, 7) have one value")
    assert found("empty-features", np.c_[np.full(len(y), np.nan), X], y, qid).features == ("1",)
    by_query = np.where(qid == 4, np.nan, qid)
    codes = doctor(np.c_[X, by_query, -qid], y, qid=qid)
    assert codes["query-constant-features"].features == ("6", "7")
    assert set(codes.codes) == {"query-constant-features", "missing-values"}
    almost = by_query.copy()
    almost[-1] = 0.5
    assert "query-constant-features" not in doctor(np.c_[X, almost], y, qid=qid).codes


def test_features_constant_within_queries_of_sparse_rows():
    X, y, qid = clean()
    assert doctor(sp.csr_array(np.c_[X, qid + 1.0]), y, qid=qid)["query-constant-features"].features == ("6",)


def test_missing_and_infinite_values():
    X, y, qid = clean()
    X[:12, 1], X[: len(y) // 2, 2] = np.nan, np.nan
    finding = found("missing-values", X, y, qid)
    assert finding.features == ("2", "3")
    assert f"{(12 + len(y) // 2) / X.size:.1%} of the values are missing" in finding.sentence
    assert "1 of them (3) in at least half" in finding.sentence
    X, y, qid = clean()
    X[5, 3] = -np.inf
    assert found("infinite-values", X, y, qid).features == ("4",)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_duplicate_features(make):
    X, y, qid = clean()
    X[X < -2] = np.nan
    twice = np.c_[X[:, 3], X, X[:, 3], X[:, 0]]
    finding = doctor(make(twice), y, qid=qid)["duplicate-features"]
    assert finding.features == ("1", "5", "7", "2", "8")
    assert "3 features are the same as another in every row (1 = 5 = 7; 2 = 8)" in finding.sentence
    twice[0, 0] += 1e-9
    assert doctor(make(twice), y, qid=qid)["duplicate-features"].features == ("2", "8", "5", "7")


def test_features_of_equal_hashes_are_compared(monkeypatch):
    X, y, qid = clean()
    monkeypatch.setattr(feature_checks, "hash_columns", lambda features: np.zeros(features.shape[1], np.uint64))
    assert doctor(X, y, qid=qid).findings == ()
    assert found("duplicate-features", np.c_[X, X[:, 0]], y, qid).features == ("1", "6")


def test_columns_hash_alike_in_any_layout_and_only_if_equal(monkeypatch):
    X, _, _ = clean()
    X[2, 1] = np.nan
    dense = hash_columns(X)
    monkeypatch.setattr(hashes, "CELLS_PER_HASH_BLOCK", 10 * N_FEATURES)
    assert (hash_columns(X) == dense).all()
    filled = sp.csc_array(np.where(np.isnan(X), 7.0, X))
    filled.data[filled.data == 7.0] = np.nan
    assert (hash_columns(filled) == dense).all()
    assert (hash_columns(np.asfortranarray(X)) == dense).all()
    assert len(set(dense.tolist())) == N_FEATURES
    assert hash_columns(X[::-1])[0] != dense[0]


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("screened", [40, 100_000])
def test_leaking_features_of_either_direction(monkeypatch, sign, screened):
    monkeypatch.setattr(leak_check, "SCREENED_ROWS", screened)
    X, y, qid = clean()
    leak = sign * (y + np.random.default_rng(0).uniform(0, 0.5, len(y)))
    assert found("leaking-features", np.c_[X, leak], y, qid).features == ("6",)
    leak[::4] = leak.mean()
    assert doctor(np.c_[X, leak], y, qid=qid).findings == ()


def test_a_feature_leaks_by_being_missing():
    X, y, qid = clean()
    y = (y > 0) * 1.0
    for missing_where in (0.0, 1.0):
        X[:, 2] = np.where(y == missing_where, np.nan, np.random.default_rng(0).normal(size=len(y)))
        assert doctor(X, y, qid=qid)["leaking-features"].features == ("3",)


def test_a_feature_leaks_that_is_missing_for_the_best_rows():
    X, y, qid = clean()
    leak = np.where(y == 2, np.nan, y)
    assert doctor(np.c_[X, leak], y, qid=qid)["leaking-features"].features == ("6",)


def test_a_leak_among_the_first_rows_alone_is_none(monkeypatch):
    monkeypatch.setattr(leak_check, "SCREENED_ROWS", 2)
    X, y, qid = clean()
    rows = CheckedRows.of(X, y, qid, None)
    assert max(leak_check._shares(rows, np.arange(N_FEATURES), np.array([0, 2]), 1)) == 1.0
    assert doctor(X, y, qid=qid).findings == ()


def test_few_rows_leak_nothing():
    X, y, qid = clean()
    few = qid < 5
    assert doctor(np.c_[X, y][few], y[few], qid=qid[few]).findings == ()
    assert "leaking-features" in doctor(np.c_[X, y][qid < 6], y[qid < 6], qid=qid[qid < 6]).codes


def test_a_feature_of_one_value_that_is_sometimes_missing_is_not_constant():
    facts = column_facts(np.array([[1.0, 1.0, np.nan], [1.0, np.nan, np.nan]]))
    assert facts.constant.tolist() == [True, False, True]
    assert facts.empty.tolist() == [False, False, True]


def test_column_facts_of_dense_and_sparse_rows_agree(monkeypatch):
    monkeypatch.setattr(facts_module, "CELLS_PER_BLOCK", 10 * N_FEATURES)
    X, _, _ = clean()
    X[:3, 1], X[4, 2], X[:, 3] = np.nan, np.inf, np.nan
    filled = sp.csc_array(np.where(np.isnan(X), 7.0, X))
    filled.data[filled.data == 7.0] = np.nan
    for one, other in zip(column_facts(X), column_facts(filled), strict=True):
        np.testing.assert_array_equal(one, other)
    assert column_facts(X).missing.tolist() == [0, 3, 0, len(X), 0]
    assert column_facts(X).infinite.tolist() == [0, 0, 1, 0, 0]
    assert column_facts(X).lowest[0] == X[:, 0].min()
