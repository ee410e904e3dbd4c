"""W₋ and W₊ of all stumps on both sides of every constant that chooses a path, tasks for threads, sums of stumps."""

import numpy as np
import pytest
import scipy.sparse as sp

from podium.binning import bin_features
from podium.data.feedback import FeedbackSum, Graded, Pairs
from podium.pairs.alpha import RULES
from podium.pairs.distribution import Distribution
from podium.stumps.additive_model import AdditiveModel
from podium.stumps.crossing import CrossingWeights
from podium.stumps.cut_sums import SCALE, sums_above
from podium.stumps.scaled_feature import FeatureLearner, ScaledFeature
from podium.stumps.stump import Cumulative, Stump, StumpLearner

pytestmark = pytest.mark.plain
forms = pytest.mark.parametrize("form", ["dense", "columns", "sparse"])


def as_sparse(X):
    ranked = ~np.isnan(X)
    return sp.csc_array((X[ranked], np.nonzero(ranked)), shape=X.shape)


def bins_of(X, form):
    return bin_features(as_sparse(X) if form == "sparse" else X, max_bins=None if form == "columns" else 255)


def make_features(rng, n_rows, n_features, n_values=4, missing=0.3):
    X = rng.integers(0, n_values, (n_rows, n_features)).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    return X


def graded_of(rng, sizes, n_grades, by_difference=False):
    n_rows = sum(sizes)
    labels = rng.integers(0, n_grades, n_rows).astype(float)
    labels[np.cumsum(sizes) - 1], labels[np.cumsum(sizes) - 2] = 0.0, 1.0
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return Graded(labels, offsets, rng.random(n_rows) + 0.5, rng.random(len(sizes)) + 0.5, by_difference)


def pairs_of(rng, n_rows, n_pairs=40):
    better = rng.integers(0, n_rows, n_pairs)
    return Pairs(better, (better + rng.integers(1, n_rows, n_pairs)) % n_rows, rng.random(n_pairs))


def assert_weights_right(X, feedback, form, span=1.0, every=1):
    """Compare W₋ and W₊ of each stump with those of its values alone, for some of the cuts and the last ones."""
    bins, distribution = bins_of(X, form), Distribution(feedback, len(X))
    distribution.update(np.random.default_rng(1).uniform(-span, span, len(X)))
    minus, plus = CrossingWeights(bins)(distribution)
    for feature in range(X.shape[1]):
        n_cuts = int(bins.cuts.n_bins[feature]) + 1
        for cut in {*range(0, n_cuts, every), n_cuts - 1, max(n_cuts - 2, 0)}:
            for abstain in (0, 1):
                weights = distribution.ranking_weights(bins.indicator(feature, cut, abstain))
                place = bins.cuts.offsets[feature] + cut
                assert minus[abstain, place] == pytest.approx(weights.minus, abs=1e-12), (feature, cut, abstain)
                assert plus[abstain, place] == pytest.approx(weights.plus, abs=1e-12), (feature, cut, abstain)


@forms
@pytest.mark.parametrize("by_difference", [False, True])
def test_nodes_around_the_sizes_that_choose_a_way_have_the_right_weights(form, by_difference):
    rng = np.random.default_rng(0)
    sizes = [2, 24, 25, 255, 256, 257, 300]
    X = make_features(rng, sum(sizes), 1, n_values=2)
    assert_weights_right(X, graded_of(rng, sizes, 2, by_difference), form)


@forms
@pytest.mark.parametrize("by_difference", [False, True])
@pytest.mark.parametrize("small", [4, 256])
def test_score_windows_of_wide_queries_have_the_right_weights(form, by_difference, small, monkeypatch):
    monkeypatch.setattr("podium.stumps.block_walk.MAX_STORED_ROWS", small)
    rng = np.random.default_rng(0)
    X = make_features(rng, 13, 2)
    for span in (250.0, 2000.0):
        assert_weights_right(X, graded_of(rng, [5, 8], 3, by_difference), form, span)


@pytest.mark.parametrize("small", [0, 6, 7, 20])
@pytest.mark.parametrize("n_features", [1, 4, 5, 8, 9, 17])
def test_any_number_of_features_is_walked_or_summed_by_code(small, n_features, monkeypatch):
    monkeypatch.setattr("podium.stumps.block_walk.MAX_STORED_ROWS", small)
    rng = np.random.default_rng(n_features)
    X = make_features(rng, 13, n_features, n_values=3)
    for by_difference in (False, True):
        assert_weights_right(X, graded_of(rng, [6, 7], 4, by_difference), "dense")


@forms
def test_the_last_of_255_bins_has_the_right_weights(form):
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.permutation(150), rng.permutation(150) + 150.0])[:, None]
    assert_weights_right(X, graded_of(rng, [150, 150], 2), form, every=60)


@forms
@pytest.mark.parametrize("n_features", [3, 9, 17])
def test_parts_of_one_kind_each_have_their_own_pairs(form, n_features):
    rng = np.random.default_rng(4)
    X = make_features(rng, 14, n_features, n_values=3)
    parts = (graded_of(rng, [14], 3), graded_of(rng, [5, 9], 2), pairs_of(rng, 14), pairs_of(rng, 14))
    assert_weights_right(X, FeedbackSum(parts), form)


@forms
def test_sparse_columns_that_rank_two_rows_of_a_query_have_the_right_weights(form):
    rng = np.random.default_rng(5)
    X = make_features(rng, 24, 6, missing=0.7)
    X[:, 5] = np.nan
    assert_weights_right(X, graded_of(rng, [4] * 6, 3), form)
    assert_weights_right(X, pairs_of(rng, 24), form)


@forms
@pytest.mark.parametrize("n_features", [1, 7, 8, 9, 33])
def test_sums_above_every_cut_are_those_of_the_rows(form, n_features):
    rng = np.random.default_rng(n_features)
    X, quantity = make_features(rng, 20, n_features), rng.random(20) / 20
    bins = bins_of(X, form)
    above, missing, total = sums_above(bins, quantity)
    assert total / SCALE == pytest.approx(quantity.sum(), rel=1e-14)
    for feature in range(n_features):
        assert missing[feature] / SCALE == pytest.approx(quantity[np.isnan(X[:, feature])].sum(), rel=1e-13, abs=1e-15)
        for cut in range(bins.cuts.n_bins[feature] + 1):
            expected = quantity[bins.indicator(feature, cut, 0) == 1].sum()
            found = above[bins.cuts.offsets[feature] + cut] / SCALE
            assert found == pytest.approx(expected, rel=1e-13, abs=1e-15)


@pytest.fixture
def tasks(monkeypatch):
    """Return a dict that gets, for each kernel handed to threads, its fewest tasks and threads."""
    from podium._compiled import run_threads

    seen = {}

    def run(function, calls, n_threads):
        calls = list(calls)
        if calls:
            before = seen.get(function.__name__, (len(calls), n_threads))
            seen[function.__name__] = min(before[0], len(calls)), min(before[1], n_threads)
        return run_threads(function, calls, n_threads)

    for module in ("pairs.graded_part", "pairs.factors", "pairs.explicit_part", "plus.tied_pairs"):
        monkeypatch.setattr(f"podium.{module}.run_threads", run)
    for module in ("cut_sums", "block_walk", "column_walk", "crossing"):
        monkeypatch.setattr(f"podium.stumps.{module}.run_threads", run)
    return seen


KERNELS = {
    ("dense", "r"): {"_sum_half_block"},
    ("sparse", "r"): {"_walk_columns"},
    ("dense", "z"): {"_sum_half_block", "_sort_nodes", "_walk_nodes", "_sum_nodes", "_add_block_pairs"},
    ("sparse", "z"): {"_walk_columns", "_entries_by_query", "_add_column_pairs"},
}


@pytest.mark.parametrize(("form", "criterion"), KERNELS)
def test_every_kernel_has_several_tasks_and_threads_that_change_no_bit(form, criterion, tasks, monkeypatch):
    monkeypatch.setattr("podium.stumps.block_walk.MAX_STORED_ROWS", 8)
    monkeypatch.setattr("podium.pairs.explicit_part.PAIRS_PER_CHUNK", 9)
    rng = np.random.default_rng(0)
    X = make_features(rng, 40, 37)
    feedback = FeedbackSum((graded_of(rng, [4, 12, 7, 9, 8], 3), pairs_of(rng, 40)))
    answers = []
    for n_threads in (1, 3):
        tasks.clear()
        distribution = Distribution(feedback, 40, n_threads)
        learner = StumpLearner(bins_of(X, form), criterion=criterion, n_threads=n_threads)
        for _ in range(2):
            found = learner.search(distribution.potentials(), distribution)
            Z = distribution.update(RULES["numeric"](found, distribution) * found.values)
            answers.append((n_threads, found.ranking, found.r, Z, distribution.potentials().tobytes()))
    assert [one[1:] for one in answers[:2]] == [one[1:] for one in answers[2:]]
    assert (
        set(tasks)
        == {"_whole_query_factors", "_sweep_masses", "_sweep_moments", "_pair_masses"} | KERNELS[form, criterion]
    )
    assert all(n_tasks > 1 and n_threads == 3 for n_tasks, n_threads in tasks.values()), tasks


# Choosing a stump


def test_a_constraint_holds_for_stumps_used_before_too():
    X, feedback = np.array([[0.0], [1.0]]), Pairs(np.array([1, 0]), np.array([0, 1]), np.array([2.0, 1.0]))
    distribution, stump = Distribution(feedback, 2), Stump(0, 0.0, 0)
    distribution.update(5.0 * stump.predict(X))
    for constraints in (None, [-1], [1]):
        cumulative = Cumulative(RULES["r"])
        cumulative.add(stump, 15.0)
        learner = StumpLearner(bins_of(X, "dense"), cumulative=cumulative, monotone_constraints=constraints)
        found = learner.search(distribution.potentials(), distribution)
        assert found is None if constraints == [1] else (found.ranking == stump and found.r < 0)


@pytest.mark.parametrize("criterion", ["r", "z"])
def test_a_stump_is_taken_back_no_further_than_its_cumulative_weight(criterion):
    X, feedback = np.array([[0.0], [1.0]]), Pairs(np.array([1, 0]), np.array([0, 1]), np.array([1.0, 2.0]))
    distribution, stump = Distribution(feedback, 2), Stump(0, 0.0, 0)
    best = np.arctanh(1 / 3)
    for weight, taken in ((0.9 * best, False), (1.1 * best, True)):
        cumulative = Cumulative(RULES["r"])
        cumulative.add(stump, weight)
        learner = StumpLearner(bins_of(X, "dense"), criterion=criterion, cumulative=cumulative)
        found = learner.search(distribution.potentials(), distribution)
        assert (found is not None) == taken


@forms
def test_a_stump_used_with_the_other_default_has_that_ones_gain(form):
    # With q_def = 1 the stump orders one pair rightly and five wrongly, with q_def = 0 it ties the five.
    X = np.array([[0.0], [1.0], [np.nan]])
    distribution = Distribution(Pairs(np.array([1, 0]), np.array([0, 2]), np.array([1.0, 5.0])), 3)
    cumulative = Cumulative(RULES["r"])
    cumulative.add(Stump(0, 0.0, 1), 15.0)
    learner = StumpLearner(bins_of(X, form), abstain=1, cumulative=cumulative)
    found = learner.search(distribution.potentials(), distribution)
    assert found.ranking == Stump(0, 0.0, 1)
    assert found.r == pytest.approx(-4 / 6)


@forms
@pytest.mark.parametrize("abstain", [0, 1])
def test_a_cumulative_stump_is_judged_by_its_own_default(form, abstain):
    # Whatever stump was used far too much is the one to take back, with the gain of its own q_def.
    rng = np.random.default_rng(7)
    X, feedback = make_features(rng, 30, 2), graded_of(rng, [30], 3)
    stump = Stump(0, 1.0, abstain)
    distribution = Distribution(feedback, 30)
    distribution.update(3.0 * stump.predict(X))
    cumulative = Cumulative(RULES["r"])
    cumulative.add(stump, 3.0)
    learner = StumpLearner(bins_of(X, form), criterion="z", cumulative=cumulative)
    found = learner.search(distribution.potentials(), distribution)
    assert found.ranking == stump
    assert found.r == pytest.approx(np.sum(stump.predict(X) * distribution.potentials()), abs=1e-12)
    assert found.r < 0


@pytest.mark.parametrize("criterion", ["r", "z"])
def test_the_better_of_two_nearly_equal_stumps_is_taken(criterion):
    # 1,000 pairs speak for the first feature and one more for the second; weights tell them apart by a thousandth.
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    for more, expected in ((1.000_001, 1), (0.999_999, 0)):
        feedback = Pairs(np.array([1, 2]), np.array([0, 0]), np.array([1.0, more]))
        found = StumpLearner(bins_of(X, "dense"), criterion=criterion).search(
            Distribution(feedback, 3).potentials(), Distribution(feedback, 3)
        )
        assert found.ranking.feature == expected


@forms
def test_of_equal_stumps_the_lowest_threshold_is_taken_whatever_its_default(form):
    # Rows 0, 1, 2 have values 0, 1, 2 and row 3 none: x > 0 with q_def = 1 and x > 1 with q_def = 0 are equally good.
    X = np.array([[0.0], [1.0], [2.0], [np.nan]])
    better, worse = np.array([2, 1, 3, 2, 2, 1, 3]), np.array([0, 0, 0, 1, 3, 3, 1])
    distribution = Distribution(Pairs(better, worse, np.ones(7)), 4)
    found = StumpLearner(bins_of(X, form), criterion="z").search(distribution.potentials(), distribution)
    assert found.ranking == Stump(0, 0.0, 1)
    alone = StumpLearner(bins_of(X, form), criterion="z", abstain=0).search(distribution.potentials(), distribution)
    assert alone.ranking == Stump(0, 1.0, 0)


@pytest.mark.parametrize("criterion", ["r", "z"])
@forms
def test_stumps_that_part_ranked_from_missing_rows_are_tried(form, criterion):
    # All ranked rows have one value, or are above it, so that only q_def against 1 or 0 tells rows apart.
    X = np.array([[2.0], [2.0], [np.nan], [np.nan]])
    for better, worse, sign in (([0, 1], [2, 3], 1), ([2, 3], [0, 1], -1)):
        feedback = Pairs(np.array(better), np.array(worse), np.ones(2))
        for abstain in ("learn", 0, 1):
            distribution = Distribution(feedback, 4)
            learner = StumpLearner(bins_of(X, form), criterion=criterion, abstain=abstain)
            found = learner.search(distribution.potentials(), distribution)
            assert found is not None
            assert abs(found.r) == pytest.approx(1.0)
            assert np.sign(found.r) == sign * (1 if found.ranking.abstain == 0 else -1)


def test_weak_stumps_that_are_better_than_chance_by_little_are_found():
    X = np.array([[0.0], [1.0]])
    for share in (1e-3, 1e-8):
        feedback = Pairs(np.array([1, 0]), np.array([0, 1]), np.array([1 + share, 1 - share]))
        distribution = Distribution(feedback, 2)
        found = StumpLearner(bins_of(X, "dense")).search(distribution.potentials(), distribution)
        assert found.r == pytest.approx(share, rel=1e-6)


# Scaled features


def test_fixed_defaults_of_scaled_features_are_kept():
    rng = np.random.default_rng(0)
    X, feedback = make_features(rng, 30, 4), graded_of(rng, [30], 3)
    distribution = Distribution(feedback, 30)
    potentials = distribution.potentials()
    for matrix in (X, np.asfortranarray(X), as_sparse(X)):
        found = {q: FeatureLearner(matrix, np.arange(30), abstain=q).search(potentials, distribution) for q in (0, 1)}
        best = FeatureLearner(matrix, np.arange(30)).search(potentials, distribution)
        assert [one.ranking.abstain for one in found.values()] == [0, 1]
        assert abs(best.r) == pytest.approx(max(abs(one.r) for one in found.values()), rel=1e-12)
        for q, one in found.items():
            scaled = [np.where(np.isnan(x), q, x / 3) for x in X.T]
            assert abs(one.r) == pytest.approx(max(abs(np.sum(h * potentials)) for h in scaled), rel=1e-9)


def test_scaled_features_of_the_whole_range_of_floats_stay_within_0_and_1():
    ranking = ScaledFeature(0, -1.7e308, 1.7e308, 0)
    np.testing.assert_allclose(ranking.predict(np.array([[-1.7e308], [0.0], [1.7e308]])), [0.0, 0.5, 1.0])


def test_no_scaled_feature_is_found_where_the_best_is_no_better_than_chance():
    X = np.array([[0.0], [1.0], [0.0], [1.0]])
    feedback = Pairs(np.array([0, 1, 2, 3]), np.array([1, 0, 3, 2]), np.array([0.1, 0.1, 0.7, 0.7]))
    distribution = Distribution(feedback, 4)
    assert FeatureLearner(X, np.arange(4)).search(distribution.potentials(), distribution) is None


# The sum of the weak rankings


@pytest.mark.parametrize("rows_per_task", [1, 7, 8192])
def test_scores_are_the_sum_of_the_weak_rankings_in_tasks_of_any_size(rows_per_task, monkeypatch):
    monkeypatch.setattr("podium.stumps.additive_model.ROWS_PER_TASK", rows_per_task)
    rng = np.random.default_rng(0)
    X = make_features(rng, 40, 3, n_values=9)
    X[3, 0], X[4, 0] = np.inf, -np.inf
    stumps = [
        Stump(int(f), float(t), int(q)) for f, t, q in zip(*rng.integers(0, [[3], [9], [2]], (3, 30)), strict=True)
    ]
    others = [ScaledFeature(1, 0.0, 8.0, 1), ScaledFeature(2, 1.0, 5.0, 0)] * 2
    rankings, alphas = (*stumps, Stump(0, -np.inf, 0), *others), rng.normal(size=35)
    model = AdditiveModel(rankings, alphas)
    values = np.cumsum([alpha * ranking.predict(X) for ranking, alpha in zip(rankings, alphas, strict=True)], axis=0)
    for features in (X, np.asfortranarray(X), as_sparse(X)):
        np.testing.assert_allclose(model.score(features, 3), values[-1], atol=1e-12)
        np.testing.assert_allclose(list(model.staged_scores(features)), values, atol=1e-12)
        for n_rounds in (20, 1, 20, 34, 35, 99):
            expected = values[min(n_rounds, 35) - 1]
            np.testing.assert_allclose(model.first(n_rounds).score(features), expected, atol=1e-12)
