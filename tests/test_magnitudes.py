"""Finite input, however large or small, gives finite scores and measures, or one sentence."""

import json
import math

import numpy as np
import pytest
from sklearn.base import clone

from podium import (
    MART,
    AdaBoostOR,
    GradientFreeBoost,
    L1Boost,
    L2Boost,
    LambdaMART,
    LinearPlackettLuce,
    NearestNeighbor,
    ORBoost,
    OrdinalThresholds,
    ORStump,
    PairBoost,
    PlackettLuce,
    PlugInRanker,
    PNormPush,
    PodiumError,
    PRank,
    PreferenceRegression,
    RankBoost,
    RankBoostPlus,
    RankRLS,
    RankSVM,
    RSRank,
    VectorSimilarity,
    compare,
    evaluate,
    import_model,
)
from podium._magnitudes import LARGEST, WEIGHT_BITS, WEIGHT_RANGE, scaled_weight, scaled_weights
from podium.measures import available
from reference.foreign_files import WEIGHTS

SIZES = np.array([0, 1, -1, 3, 1.7e308, -1.7e308, 1e300, 1e155, -1e155, 1e100, 1e30, 1e-308, 5e-324, -5e-324])
TREES = {"min_child_samples": 1, "min_child_weight": 0}
RANKERS = {
    "RankBoost": RankBoost(3),
    "large steps": RankBoost(3, criterion="z", learning_rate=100, pair_weight="queries"),
    "cumulative": RankBoost(3, cumulative=True),
    "features": RankBoost(3, weak="feature", alpha="numeric", learning_rate=100),
    "RankBoostPlus": RankBoostPlus(3),
    "PNormPush": PNormPush(3),
    "large powers": PNormPush(3, p=1000, learning_rate=100, query_scale="sum"),
    "LambdaMART": LambdaMART(3, learning_rate=100, sigma=1e9, **TREES),
    "linear gain": LambdaMART(3, gain="linear", reg_lambda=1e308, sigma=1e-9, quantized=False, **TREES),
    "MART": MART(3, learning_rate=100, **TREES),
    "logistic": MART(3, loss="logistic", sigma=1e-9, **TREES),
    "balanced": MART(3, loss="balanced", **TREES),
    "cross_entropy": MART(3, loss="cross_entropy", **TREES),
    "singular rounds": GradientFreeBoost(3, singular_every=2, learning_rate=1.0),
    "PairBoost": PairBoost(3, learning_rate=100),
    "hinges": PairBoost(3, surrogate="hinge", pairs="products", learning_rate=100),
    "ramps": PairBoost(3, surrogate="ramp", base="tree", min_child_samples=1),
    "L2Boost": L2Boost(3, learning_rate=100),
    "L1Boost": L1Boost(3),
    "NearestNeighbor": NearestNeighbor(),
    "PreferenceRegression": PreferenceRegression(),
    "VectorSimilarity": VectorSimilarity(),
    "LinearPlackettLuce": LinearPlackettLuce(),
    "RankSVM": RankSVM(),
    "RankSVM l1": RankSVM(1e3, penalty="l1", scale=False),
    "RankSVM rbf": RankSVM(kernel="rbf"),
    "RSRank": RSRank(3, alpha=0.0),
    "RankRLS": RankRLS(),
    "PlugInRanker": PlugInRanker(),
}
GRADERS = {
    "ORStump": ORStump(),
    "AdaBoostOR": AdaBoostOR(n_estimators=5),
    "ORBoost": ORBoost(n_estimators=60),
    "PRank": PRank(epochs=3),
    "OrdinalThresholds": OrdinalThresholds(MART(3, **TREES)),
}


def draw(rng, *shape):
    """Grades, extreme numbers, a mix of both, or numbers of one extreme scale."""
    grades, extremes = rng.integers(0, 4, shape).astype(float), rng.choice(SIZES, shape)
    scaled = rng.normal(size=shape) * 10.0 ** rng.choice([-300, 0, 100, 300])
    return [grades, extremes, np.where(rng.random(shape) < 0.7, grades, extremes), scaled][rng.integers(4)]


def draw_fit(rng, n):
    """What a fit may be given beside X and y."""
    given = {"qid": rng.integers(0, 3, n)}
    if rng.random() < 0.6:
        given["sample_weight"] = np.abs(draw(rng, n))
    if rng.random() < 0.4:
        given["query_weight"] = dict(enumerate(np.abs(draw(rng, 3)).tolist()))
    if rng.random() < 0.3:
        given["pairs"] = ([0, 1], [2, 3], np.maximum(np.abs(draw(rng, 2)), 5e-324))
    return given


@pytest.mark.filterwarnings("ignore:Nothing was learned", "ignore:LinearPlackettLuce stopped")
@pytest.mark.parametrize("name", RANKERS)
def test_rankers_give_finite_scores_or_a_sentence(name):
    learned = 0
    for seed in range(30):
        rng = np.random.default_rng([seed, *name.encode()])
        n = int(rng.integers(4, 12))
        X, y, given = draw(rng, n, 2), draw(rng, n), draw_fit(rng, n)
        model = clone(RANKERS[name])
        try:
            model.fit(X, y, **given)
            good = model.score(X, y, qid=given["qid"], sample_weight=1.0 + np.abs(draw(rng, n)))
        except PodiumError:
            continue
        learned += 1
        assert np.isfinite(model.predict(X)).all()
        assert np.isfinite(model.predict(draw(rng, n, 2))).all()
        assert not np.isinf(good)
    assert learned > 2


@pytest.mark.filterwarnings("ignore:Nothing was learned")
@pytest.mark.parametrize("name", GRADERS)
def test_ordinal_rankers_give_finite_scores_or_a_sentence(name):
    learned = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, *name.encode()])
        X, y, weight = draw(rng, 8, 2), rng.integers(0, 3, 8), np.abs(draw(rng, 8))
        model = clone(GRADERS[name])
        try:
            model.fit(X, y, sample_weight=weight)
        except PodiumError:
            continue
        learned += 1
        assert np.isfinite(model.predict_rank(draw(rng, 8, 2))).all()
        assert np.isfinite(model.score(X, y, sample_weight=1.0 + np.abs(draw(rng, 8))))
    assert learned > 2


@pytest.mark.filterwarnings("ignore:.* is undefined")
@pytest.mark.parametrize("name", available())
def test_measures_are_finite_or_a_sentence(name):
    measure = name.replace("[@k]", "@3").replace("@k", "@3")
    for seed in range(8):
        rng = np.random.default_rng(seed)
        y, scores, others, qid = draw(rng, 9), draw(rng, 9), draw(rng, 9), rng.integers(0, 3, 9)
        try:
            found = evaluate(y, scores, qid=qid, measures=measure, n_resamples=5).result(measure)
            paired = compare(y, scores, others, qid=qid, measures=measure, n_resamples=5)[measure]
        except PodiumError:
            continue
        assert np.isnan(found.values).sum() == found.n_empty
        assert not np.isinf([found.mean, found.low, found.high, paired.difference, paired.low, paired.high]).any()


X = np.random.default_rng(0).normal(size=(12, 2))
Y, QID = np.arange(12) % 4.0, np.arange(12) // 6


@pytest.mark.parametrize("ranker", [LambdaMART(3, **TREES), MART(3, **TREES), RankBoost(3), PreferenceRegression()])
def test_scale_of_large_weights_changes_nothing(ranker):
    weight = 1.0 + np.arange(12) % 3
    one = clone(ranker).fit(X, Y, qid=QID, sample_weight=weight * 2.0**60, query_weight={0: 2.0**60, 1: 2.0**59})
    two = clone(ranker).fit(X, Y, qid=QID, sample_weight=weight * 2.0**1000, query_weight={0: 2.0**1000, 1: 2.0**999})
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    assert one.score(X, Y, qid=QID, sample_weight=weight * 2.0**1020) == one.score(X, Y, qid=QID, sample_weight=weight)


TAKE_PAIRS = [
    RankBoost(3),
    RankBoostPlus(3),
    LambdaMART(3, **TREES),
    LinearPlackettLuce(),
    RankSVM(),
    NearestNeighbor(),
]


@pytest.mark.parametrize("ranker", TAKE_PAIRS, ids=lambda ranker: type(ranker).__name__)
def test_scale_of_tiny_weights_of_pairs_changes_nothing(ranker):
    better, worse, weight = [0, 3, 7, 9], [1, 2, 4, 11], np.array([1.0, 3.0, 2.0, 3.5]) / 4

    def scores(of_pairs, **given):
        return clone(ranker).fit(X, qid=QID, pairs=(better, worse, weight * of_pairs), **given).predict(X)

    np.testing.assert_array_equal(scores(2.0**-900), scores(1.0))
    given = {"y": Y, "sample_weight": 0.5 + np.arange(12) % 2 / 4}
    tiny = given | {"sample_weight": given["sample_weight"] * 2.0**-300}
    np.testing.assert_array_equal(scores(2.0**-600, **tiny), scores(1.0, **given))


def test_weights_that_are_neither_large_nor_tiny_stay_as_they_are():
    for largest in (2.0**WEIGHT_BITS * 0.99, 3.0, 2.0**-WEIGHT_BITS * 0.51):
        weight = largest * np.array([0.0, 1e-15, 1.0])
        assert scaled_weight(weight) is weight
        assert scaled_weights(weight, weight, weight).pairs is weight
        assert scaled_weights(weight, weight, weight, labelled=False).pairs is weight


@pytest.mark.parametrize("bits", [WEIGHT_BITS + 1, 300, 1070])
def test_tiny_weights_go_up_to_between_a_half_and_one(bits):
    tiny = np.ldexp([0.75, 0.5, 0.0], -bits)
    assert scaled_weight(tiny).tolist() == [0.75, 0.5, 0.0]
    ones, nothing = np.ones(2), np.zeros(0)
    assert scaled_weights(ones, ones, tiny, labelled=False).pairs.tolist() == [0.75, 0.5, 0.0]
    assert scaled_weights(tiny, ones, nothing).queries is ones


def test_explicit_pairs_go_up_by_as_much_as_pairs_of_labels():
    rows, queries, pairs = scaled_weights(np.full(2, 2.0**-300), np.full(2, 2.0**-100), np.array([2.0**-650]))
    assert pairs[0] / (rows[0] ** 2 * queries[0]) == 2.0**50
    rows, queries, pairs = scaled_weights(np.full(2, 2.0**-300), np.ones(2), np.array([1.0]))
    assert pairs[0] < 2.0 ** (3 * WEIGHT_BITS)
    assert pairs[0] / (rows[0] ** 2 * queries[0]) == 2.0**600


def test_large_weights_keep_their_ratios_up_to_the_range():
    rows, queries, pairs = scaled_weights(np.array([1e200, 3e200]), np.array([1e100, 1.0]), np.array([1e300, 1e290]))
    assert rows[1] == 3 * rows[0]
    assert max(rows.max(), queries.max()) <= 2.0**WEIGHT_BITS
    assert pairs.max() <= 2.0 ** (3 * WEIGHT_BITS)
    assert pairs[0] == pytest.approx(1e10 * pairs[1])
    assert queries[1] == queries[0] * 2.0**-WEIGHT_RANGE
    assert scaled_weight(np.array([0.0, 5e-324, 1.7e308])).tolist()[0] == 0.0


def test_explicit_pairs_go_down_by_as_much_as_pairs_of_labels():
    rows, queries, pairs = scaled_weights(np.full(2, 2.0**300), np.full(2, 2.0**100), np.array([2.0**650]))
    assert pairs[0] / (rows[0] ** 2 * queries[0]) == 2.0**-50


@pytest.mark.parametrize("ranker", [MART(**TREES), PreferenceRegression(), VectorSimilarity()])
def test_labels_to_compute_with_are_bounded(ranker):
    message = r"y must lie within ±1e\+100 for .*, which computes with its values; got .e\+101"
    with pytest.raises(PodiumError, match=message):
        ranker.fit(X, Y * 1e101, qid=QID)
    assert not hasattr(ranker, "averages_")


@pytest.mark.parametrize(("name", "value"), [("learning_rate", 1e308), ("sigma", 1e308), ("sigma", 1e-308)])
def test_parameters_of_trees_are_bounded(name, value):
    with pytest.raises(PodiumError, match=f"The '{name}' parameter of MART must be a float in the range"):
        MART(**{name: value}).fit(X, Y, qid=QID)


def test_a_fit_that_diverges_ends_with_a_sentence_and_keeps_what_was_there():
    model = MART(2, learning_rate=100, **TREES).fit(X, Y, qid=QID)
    before = model.predict(X)
    with pytest.raises(PodiumError, match=r"The scores grow beyond 1e\+100 in round \d+, .* a smaller learning_rate"):
        model.set_params(n_estimators=200).fit(X, Y, qid=QID)
    np.testing.assert_array_equal(model.predict(X), before)


def test_own_losses_and_weak_learners_are_bounded():
    def steep(scores, feedback):
        return np.full(len(scores), 1e200), np.ones(len(scores))

    with pytest.raises(PodiumError, match=r"The gradient of the loss must lie within ±1e\+100 for trees; got 1e\+200"):
        MART(loss=steep, **TREES).fit(X, Y, qid=QID)

    class Steep:
        def search(self, potentials, distribution):
            from podium.pairs.weak_ranking import WeakResult

            return WeakResult(None, 1e200 * potentials, 1.0)

    with pytest.raises(PodiumError, match=r"The values of a weak ranking must lie within ±1e\+100 for finite scores"):
        RankBoost(weak=Steep()).fit(X, Y, qid=QID)


def test_cross_entropy_of_labels_beyond_powers_of_two():
    small = MART(3, loss="cross_entropy", **TREES).fit(X, Y, qid=QID)
    large = MART(3, loss="cross_entropy", **TREES).fit(X, Y + 5000, qid=QID)
    moved = MART(3, loss="cross_entropy", **TREES).fit(X, Y + 900, qid=QID)
    assert np.isfinite(large.predict(X)).all()
    np.testing.assert_allclose(large.predict(X), moved.predict(X), rtol=1e-9)
    assert not np.allclose(large.predict(X), small.predict(X))


def test_rows_told_apart_for_many_rounds_keep_their_thresholds():
    rows, grades = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0, 0, 0, 1]
    model = ORBoost(n_estimators=2000).fit(rows, grades)
    assert np.isfinite(model.thresholds_).all()
    assert model.predict(rows).tolist() == grades
    assert model.stop_reason_ == "the loss has fallen to nothing"


def test_costs_are_bounded():
    costs = np.array([[0, 1e200], [1, 0]])
    with pytest.raises(PodiumError, match=r"cost must be at most 1e\+100; .* has 1e\+200"):
        ORStump(cost=costs).fit(X, Y > 1)


def test_features_of_the_smallest_numbers_are_scaled_to_finite_values():
    tiny = np.array([[0.0], [5e-324], [0.0], [5e-324]])
    model = RankBoost(2, weak="feature").fit(np.hstack([tiny, [[1], [0], [2], [1]]]), [0, 1, 0, 1])
    assert np.isfinite(model.predict(np.hstack([tiny, tiny]))).all()


def test_an_imported_weighted_sum_scores_large_values_finitely(tmp_path):
    (tmp_path / "model").write_text(WEIGHTS)
    model = import_model(tmp_path / "model")
    assert np.isfinite(model.predict([[1e300, np.inf, -np.inf]])).all()
    assert json.dumps(model.coef_.tolist()) == "[0.5, 0.0, -0.25]"


def test_the_bound_leaves_room_for_squares():
    assert np.isfinite((2.0 ** (2 * WEIGHT_BITS) * LARGEST) ** 2 * 1e30)


@pytest.mark.plain
@pytest.mark.parametrize("times", [1e-15, 1e8, 1e15, 1e100])
def test_standard_errors_of_strengths_keep_their_digits_whatever_the_weights(times):
    rankings = [["a", "b", "c", "d"], ["b", "a"], ["d", "c", "a"], ["c", "b"], ["d", "b"], ["b", "d", "a", "c"]]
    one = PlackettLuce().fit(rankings)
    many = PlackettLuce().fit(rankings, weights=np.full(len(rankings), times))
    np.testing.assert_allclose(many.standard_errors_ * math.sqrt(times), one.standard_errors_, rtol=1e-7)
    penalised = PlackettLuce(1e-9).fit(rankings, weights=np.full(len(rankings), max(times, 1.0)))
    np.testing.assert_allclose(penalised.standard_errors_, math.sqrt(1e9 / 4), rtol=1e-7)
