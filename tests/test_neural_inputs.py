"""What enters a net: batches of whole queries, and numbers and categories on one scale."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from neural_samples import graded
from podium import PodiumError
from podium.data import FeedbackSum, Pairs
from podium.neural import NetInputs, QueryBatches
from profiles import examples


@pytest.mark.plain
class TestBatches:
    @given(st.integers(0, 10**6))
    @examples(30, plain=5)
    def test_an_epoch_takes_each_query_with_pairs_once(self, seed):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(1, 5, 12)
        feedback = graded(rng.integers(0, 2, sizes.sum()), sizes)
        batches = QueryBatches(feedback, feedback.offsets, 3, seed)
        drawn = [list(batches.of_epoch(number)) for number in (1, 1, 2)]
        for epoch in drawn:
            queries = np.concatenate([np.empty(0, int), *(batch.queries for batch in epoch)])
            assert sorted(queries) == np.flatnonzero(feedback.pairs_per_query).tolist()
            assert all(len(batch.queries) <= 3 for batch in epoch)
            for batch in epoch:
                spans = [np.arange(feedback.offsets[q], feedback.offsets[q + 1]) for q in batch.queries]
                assert batch.rows.tolist() == np.concatenate(spans).tolist()
        assert [b.queries.tolist() for b in drawn[0]] == [b.queries.tolist() for b in drawn[1]]

    def test_queries_joined_by_pairs_stay_together(self):
        feedback = FeedbackSum((graded([0, 1] * 6, [2] * 6), Pairs(np.array([0, 5]), np.array([9, 7]), np.ones(2))))
        batches = QueryBatches(feedback, feedback.parts[0].offsets, 1, 0)
        found = sorted(batch.queries.tolist() for batch in batches.of_epoch(1))
        assert found == [[0, 4], [1], [2, 3], [5]]

    def test_the_order_of_batches_changes_from_epoch_to_epoch(self):
        feedback = graded([0, 1] * 20, [2] * 20)
        batches = QueryBatches(feedback, feedback.offsets, 5, 0)
        one, other = ([batch.queries.tolist() for batch in batches.of_epoch(number)] for number in (1, 2))
        assert one != other


@pytest.mark.plain
class TestInputs:
    def inputs(self, X, scale, weight=None, categories=None):
        X = np.asarray(X, float)
        known = np.full(X.shape[1], -1) if categories is None else np.array(categories)
        weight = np.ones(len(X)) if weight is None else np.asarray(weight, float)
        return NetInputs.of(X, np.arange(len(X)), weight, scale, known, "RankNet")

    @pytest.mark.parametrize("scale", ["gauss", "log1p", "standard"])
    def test_numbers_have_mean_0_and_deviation_1(self, scale):
        X = np.exp(np.random.default_rng(0).normal(size=(300, 3)) * [1, 3, 5])
        numbers = self.inputs(X, scale).numbers(X)
        np.testing.assert_allclose(numbers.mean(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(numbers.std(axis=0), 1, rtol=1e-9)

    def test_gauss_depends_on_ranks_alone_and_is_normal(self):
        X = np.random.default_rng(0).normal(size=(200, 1))
        one, other = self.inputs(X, "gauss").numbers(X), self.inputs(np.exp(5 * X), "gauss").numbers(np.exp(5 * X))
        np.testing.assert_allclose(one, other, atol=1e-9)
        ranks = np.argsort(np.argsort(X[:, 0]))
        expected = norm.ppf((ranks + 0.5) / 200)
        np.testing.assert_allclose(one[:, 0], expected / expected.std(), atol=1e-9)

    def test_gauss_of_many_values_keeps_their_order(self):
        X = np.random.default_rng(1).gamma(0.3, size=(5000, 1))
        inputs = self.inputs(X, "gauss")
        assert inputs.knots.offsets.tolist()[-1] <= 255
        order = np.argsort(X[:, 0])
        assert np.all(np.diff(inputs.numbers(X)[order, 0]) >= 0)
        far = inputs.numbers(np.array([[-1e300], [1e300]]))
        assert far.tolist() == [[inputs.numbers(X).min()], [inputs.numbers(X).max()]]

    def test_a_weight_is_the_row_as_often(self):
        X = np.random.default_rng(2).normal(size=(40, 2)).round(1)
        times = np.arange(40) % 3
        for scale in ("gauss", "log1p", "standard"):
            one, other = self.inputs(X, scale, times), self.inputs(np.repeat(X, times, axis=0), scale)
            np.testing.assert_allclose(one.numbers(X), other.numbers(X), atol=1e-9)

    def test_log1p_keeps_the_sign(self):
        X = np.array([[-3.0], [0.0], [3.0]])
        assert self.inputs(X, "log1p").numbers(X)[:, 0].tolist() == pytest.approx([-np.sqrt(1.5), 0, np.sqrt(1.5)])

    def test_what_is_missing_is_the_mean_and_has_an_input_where_training_rows_miss_it(self):
        X = np.array([[1.0, 2.0], [np.nan, 3.0], [5.0, 4.0]])
        inputs = self.inputs(X, "standard")
        assert inputs.flagged.tolist() == [True, False]
        assert inputs.owners.tolist() == [0, 1, 0]
        numbers = inputs.numbers(np.array([[np.nan, np.nan], [1.0, 2.0]]))
        assert numbers[0].tolist() == [0.0, 0.0, 1.0]
        assert numbers[1].tolist() == pytest.approx([-1.0, -np.sqrt(1.5), 0.0])

    def test_constant_and_empty_features_are_no_harm(self):
        X = np.c_[np.full(6, 7.0), np.full(6, np.nan), np.arange(6.0)]
        for scale in ("gauss", "log1p", "standard"):
            numbers = self.inputs(X, scale).numbers(X)
            assert np.isfinite(numbers).all()
            assert numbers[:, :2].tolist() == [[0.0, 0.0]] * 6

    def test_categories_are_codes_and_the_last_is_missing(self):
        X = np.array([[0.0, 1.5], [2.0, 2.5], [np.nan, 3.5]])
        inputs = self.inputs(X, "standard", categories=[3, -1])
        assert inputs.codes(X).tolist() == [[0], [2], [3]]
        assert inputs.n_numbers == 1

    def test_huge_values_are_refused(self):
        with pytest.raises(PodiumError, match="X must lie within"):
            self.inputs([[1e200], [1.0]], "log1p")
