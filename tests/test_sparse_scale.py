"""Linear rankers of sparse data: the answers of dense ones, in memory by what is stored."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from podium import LinearPlackettLuce, PlugInRanker, PodiumError, RankRLS, RankSVM
from podium.ordinal.scaling import Scaling, centered_scores

LINEAR = [RankSVM(C=5), RankSVM(C=20, penalty="l1"), RankSVM(C=20, penalty="mcp"), LinearPlackettLuce()]
each_linear = pytest.mark.parametrize("ranker", LINEAR, ids=str)


def sparse_and_dense(seed, n_rows=60, n_features=6):
    """The same values stored and with NaN for what is missing; a stored NaN, an empty column and a constant one."""
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((n_rows, n_features)) < 0.5, rng.normal(2, 3, (n_rows, n_features)), np.nan)
    dense[:, 3], dense[: n_rows // 2, 4], dense[n_rows // 2 :, 4] = np.nan, 7.0, np.nan
    rows, columns = np.nonzero(~np.isnan(dense))
    stored = sp.csc_array(
        (np.append(dense[rows, columns], np.nan), (np.append(rows, 0), np.append(columns, 3))), dense.shape
    )
    return stored, dense


@pytest.mark.plain
@pytest.mark.parametrize("seed", range(8))
def test_the_scale_of_stored_values_is_that_of_dense_ones(seed):
    stored, dense = sparse_and_dense(seed)
    weight = np.random.default_rng(seed).random(len(dense)) + 0.1
    one, two = Scaling.of(stored, weight, "RankSVM"), Scaling.of(dense, weight, "RankSVM")
    np.testing.assert_array_equal(one.means, two.means)
    np.testing.assert_array_equal(one.deviations, two.deviations)
    assert one.deviations[4] == 1, "a constant feature"
    scaled = one.apply_as_given(stored)
    assert sp.issparse(scaled)
    np.testing.assert_array_equal(scaled.toarray(), two.apply(dense))


@pytest.mark.plain
def test_sparse_features_beyond_the_range_are_refused_below_0_too():
    stored = sp.csc_array(np.array([[1.0, -1e100], [2.0, 1.0]]))
    with pytest.raises(PodiumError, match="feature 1 does not"):
        Scaling.of(stored, np.ones(2), "RankSVM")


@pytest.mark.plain
def test_scores_of_stored_rows_are_those_of_dense_ones_bit_for_bit():
    stored, dense = sparse_and_dense(0)
    rng = np.random.default_rng(1)
    coef, means = rng.normal(size=6), rng.normal(size=6)
    expected = centered_scores(dense, coef, means)
    np.testing.assert_array_equal(centered_scores(stored, coef, means), expected)
    np.testing.assert_array_equal(centered_scores(stored[:1], coef, means), expected[:1])


@each_linear
def test_linear_rankers_learn_from_stored_values_what_they_learn_from_dense_ones(ranker):
    stored, dense = sparse_and_dense(2, 120)
    y, qid = np.random.default_rng(3).integers(0, 3, 120), np.arange(120) // 12
    one, two = clone(ranker).fit(stored, y, qid=qid), clone(ranker).fit(dense, y, qid=qid)
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(one.means_, two.means_)
    np.testing.assert_array_equal(one.predict(stored), one.predict(dense))


@each_linear
def test_linear_rankers_make_no_dense_copy_of_sparse_data(ranker, monkeypatch):
    monkeypatch.setattr("podium.ordinal.scaling.dense_rows", lambda features: pytest.fail("a dense copy"))
    stored, _ = sparse_and_dense(4)
    ranker = clone(ranker).fit(stored, np.arange(60) % 3, qid=np.arange(60) // 6)
    assert np.isfinite(ranker.predict(stored)).all()


def test_plug_in_ranking_of_stored_values_is_that_of_dense_ones_by_both_solvers(monkeypatch):
    stored, dense = sparse_and_dense(5, 200)
    y = np.random.default_rng(6).integers(0, 3, 200)
    expected = PlugInRanker().fit(dense, y)
    found = [PlugInRanker().fit(stored, y)]
    monkeypatch.setattr("podium.rankers.plug_in.FACTORED_FEATURES", 5)
    monkeypatch.setattr("podium.ordinal.scaling.dense_rows", lambda features: pytest.fail("a dense copy"))
    found.append(PlugInRanker().fit(stored, y))
    for model in found:
        np.testing.assert_allclose(model.coefs_, expected.coefs_, atol=1e-6)
        np.testing.assert_allclose(model.predict(stored[:9]), model.predict(stored)[:9], rtol=0)


def test_a_dense_copy_that_no_memory_holds_is_refused_with_a_way_out(monkeypatch):
    monkeypatch.setattr("podium._memory.machine_memory", lambda: 2**20)
    rows = np.arange(4096)
    stored = sp.csc_array((np.ones(4096), (rows, rows)), (4096, 4096))
    said = r"A dense copy of a sparse X of 4,096 rows and 4,096 features takes .* such as RankBoost or RankSVM with"
    with pytest.raises(PodiumError, match=said):
        RankRLS().fit(stored, rows % 2, qid=rows // 4)
