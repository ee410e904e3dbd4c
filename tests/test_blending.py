"""Blending against its plain twin, and its laws."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium import Blend, PodiumError, blend, blend_curve, evaluate
from podium.blending import line
from podium.blending.line import crossings
from podium.measures import measure_queries, parse_measure
from podium.measures.conventions import DIVIDE_BY_RELEVANT, SHORT_IS_ZERO, Rules
from podium.measures.profiles import has_profiles
from profiles import examples
from reference import blending as plain
from reference import measures as twin

EXAMPLES = examples(40, plain=3)
MEASURES = ["ndcg@3", "ndcg", "map", "map@2", "mrr", "mrr@2", "err", "err@3", "pair_loss", "p@2", "auc"]


def twin_of(name, y):
    """The plain twin of a measure by its name, and what `plain.curve` has to know of it."""
    base, _, k = name.partition("@")
    more = {"max_grade": max(y)} if base == "err" else {}
    return partial(twin.PLAIN[base], k=int(k) if k else None, **more), (
        {"weight": twin.comparable} if base == "pair_loss" else {}
    )


def table(seed, n_queries=4, size=6, n_rankers=2):
    """Labels, query ids and scores of rankers that know a little."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n_queries * size).astype(float)
    scores = [y + 2 * rng.normal(size=len(y)) for _ in range(n_rankers)]
    return scores, y, np.repeat(np.arange(n_queries), size)


def tied(seed, n_queries, size, n_levels, n_rankers=2):
    """Scores of few levels: rows alike in one ranker, in all, and many crossing in one point."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n_queries * size).astype(float)
    scores = [rng.integers(0, n_levels, len(y)).astype(float) for _ in range(n_rankers)]
    return scores, y, np.repeat(np.arange(n_queries), size)


def mean_of(measure, y, scores, qid, **options):
    offsets = np.r_[0, np.flatnonzero(np.diff(qid)) + 1, len(qid)]
    return measure_queries(measure, y, scores, offsets, **options).mean


def at(curve, alphas):
    """Value of a curve at α inside its gaps."""
    return curve.values[np.searchsorted(curve.edges, alphas) - 1]


@pytest.mark.plain
@EXAMPLES
@given(
    seed=st.integers(0, 10_000),
    levels=st.integers(2, 9),
    unit=st.sampled_from([1.0, 0.1]),  # multiples of 0.1 cross in one point only but for rounding
    measure=st.sampled_from(MEASURES),
)
def test_curve_equals_measuring_every_order(seed, levels, unit, measure):
    (one, two), y, qid = tied(seed, 3, 6, levels)
    one, two = unit * one, unit * two
    if measure == "auc":
        y = (y > 1).astype(float)
    y[0], y[1] = 1.0, 0.0  # one query has something to measure
    function, rules = twin_of(measure, y)
    middles, means = plain.curve(one, two, y, np.array([0, 6, 12, 18]), function, **rules)
    curve = blend_curve(one, two, y, qid=qid, measure=measure)
    np.testing.assert_allclose(at(curve, middles), means, rtol=0, atol=1e-12)
    assert curve.ends == (mean_of(measure, y, two, qid), mean_of(measure, y, one, qid))
    assert (np.diff(curve.edges) >= 0).all()
    assert (curve.edges[0], curve.edges[-1]) == (0, 1)


def gains(mapping, k=None):
    """NDCG by a gain for each label."""
    return lambda labels: twin.ndcg_of_gains([mapping[label] for label in labels], k)


def flagged(measure, threshold):
    """A measure of relevant rows by another threshold."""
    return lambda labels: measure([float(label >= threshold) for label in labels])


def precision_over_all(labels, k=3):
    """AP@k over all relevant rows."""
    found = twin.places(labels)
    return sum((j + 1) / i for j, i in enumerate(found) if i <= k) / len(found) if found else twin.NAN


LINEAR = {float(label): float(label) for label in range(4)}


@pytest.mark.plain
@pytest.mark.parametrize(
    ("measure", "options", "function", "rules"),
    [
        ("ndcg@4", {"gain": "linear"}, gains(LINEAR, 4), {}),
        ("ndcg", {"gain": {0: 0, 1: 5, 2: 1, 3: 2}}, gains({0: 0, 1: 5, 2: 1, 3: 2}), {}),
        ("ndcg@4", {"ties": "pessimistic"}, partial(twin.ndcg, k=4), {"ties": "pessimistic"}),
        ("ndcg@4", {"convention": "sklearn"}, gains(LINEAR, 4), {"empty": 0.0}),
        ("ndcg@9", {"convention": "letor", "ties": "expected"}, lambda labels: 0.0, {}),
        ("map", {"relevant": 2}, flagged(twin.average_precision, 2), {}),
        ("map@3", {"convention": "ranklib", "ties": "expected"}, precision_over_all, {"empty": 0.0}),
        ("mrr", {"relevant": 3, "empty": 0}, flagged(twin.reciprocal_rank, 3), {"empty": 0.0}),
        ("mrr", {"relevant": 3}, flagged(twin.reciprocal_rank, 3), {}),
        ("err@4", {"max_grade": 5}, partial(twin.err, k=4, max_grade=5.0), {}),
        ("err", {"ties": "optimistic"}, twin.err, {"ties": "optimistic"}),
        ("p@2", {"empty": 1, "relevant": 3}, flagged(partial(twin.precision, k=2), 3), {"empty": 1.0}),
    ],
)
def test_curve_follows_the_options_of_the_measure(measure, options, function, rules):
    (one, two), y, qid = tied(5, 4, 7, 5)
    y[:7] = np.minimum(y[:7], 2)  # the highest grade is not in every query
    assert y.max() == 3
    middles, means = plain.curve(one, two, y, np.arange(0, 29, 7), function, **rules)
    curve = blend_curve(one, two, y, qid=qid, measure=measure, **options)
    np.testing.assert_allclose(at(curve, middles), means, rtol=0, atol=1e-12)


@pytest.mark.plain
def test_rows_of_two_queries_with_the_same_scores_stay_apart():
    one, two = np.array([3.0, 0.0, 1.0, 1.0, 0.0, 2.0]), np.array([2.0, 3.0, 1.0, 1.0, 1.0, 0.0])
    y, qid, offsets = np.array([0.0, 1.0, 2.0, 1.0, 2.0, 0.0]), np.array([0, 0, 0, 1, 1, 1]), np.array([0, 3, 6])
    function, rules = twin_of("ndcg", y)
    middles, means = plain.curve(one, two, y, offsets, function, **rules)
    curve = blend_curve(one, two, y, qid=qid, measure="ndcg")
    np.testing.assert_allclose(at(curve, middles), means, rtol=0, atol=1e-12)


@pytest.mark.plain
def test_a_sum_over_places_is_taken_only_where_the_rules_are_those_of_the_sum():
    for name in ("ndcg@3", "map@2", "mrr", "err"):
        assert has_profiles(parse_measure(name), Rules())
        for other in ({"ties": "stable"}, {"short": SHORT_IS_ZERO}, {"average_precision": DIVIDE_BY_RELEVANT}):
            assert not has_profiles(parse_measure(name), Rules(**other))
    assert not has_profiles(parse_measure("auc"), Rules())


@pytest.mark.plain
@pytest.mark.parametrize("cells", [1, 20, 10**6])
def test_how_many_gaps_are_measured_at_a_time_changes_nothing(cells, monkeypatch):
    (one, two), y, qid = tied(8, 2, 6, 7)
    function, rules = twin_of("pair_loss", y)
    middles, means = plain.curve(one, two, y, np.array([0, 6, 12]), function, **rules)
    monkeypatch.setattr(line, "SCORES_AT_ONCE", cells)
    curve = blend_curve(one, two, y, qid=qid, measure="pair_loss")
    np.testing.assert_allclose(at(curve, middles), means, rtol=0, atol=1e-12)


@pytest.mark.plain
@pytest.mark.parametrize("measure", ["ndcg", "pair_loss"])
@pytest.mark.parametrize(
    ("data", "at_least"),
    [(tied(4, 3, 8, 6), 9), (table(3, 1, 18), 17)],  # a list of changes starts with room for 16
)
def test_edges_are_the_crossings_that_change_the_mean_each_once(measure, data, at_least):
    (one, two), y, qid = data
    curve = blend_curve(one, two, y, qid=qid, measure=measure)
    every = np.concatenate([plain.crossings(one[qid == q], two[qid == q]) for q in np.unique(qid)])
    inside = curve.edges[1:-1]
    assert len(inside) >= at_least
    assert np.abs(inside[:, None] - every).min(axis=1).max() < 1e-12
    assert np.diff(curve.edges).min() > 1e-12
    assert (curve.edges[0], curve.edges[-1]) == (0.0, 1.0)


@pytest.mark.plain
@pytest.mark.parametrize("measure", ["ndcg", "map", "err", "pair_loss"])
def test_the_order_of_queries_and_rows_changes_no_bit_of_a_curve(measure):
    (one, two), y, qid = tied(9, 14, 6, 3)
    curve = blend_curve(one, two, y, qid=qid, measure=measure)
    for seed in range(6):
        rows = np.random.default_rng(seed).permutation(len(y))
        names = np.random.default_rng(seed).permutation(14)[qid]
        other = blend_curve(one[rows], two[rows], y[rows], qid=names[rows], measure=measure)
        assert curve.edges.tolist() == other.edges.tolist()
        assert curve.values.tolist() == other.values.tolist()


@pytest.mark.plain
def test_orders_change_at_crossings_alone():
    (one, two), _, _ = table(1, 1, 7)
    np.testing.assert_allclose(crossings(one, two), plain.crossings(one, two), rtol=1e-14)
    edges = np.concatenate([[0], crossings(one, two), [1]])
    orders = [np.argsort(a * one + (1 - a) * two).tolist() for a in (edges[1:] + edges[:-1]) / 2]
    assert all(before != after for before, after in pairwise(orders))


@pytest.mark.plain
@pytest.mark.parametrize("n", [8, 25])
def test_a_long_query_of_few_levels_equals_measuring_every_order(n):
    rng = np.random.default_rng(n)
    cells = rng.permutation(81)[:n]  # no two rows are alike in both rankers: one order in each gap
    one, two, y = (cells // 9).astype(float), (cells % 9).astype(float), rng.integers(0, 4, n).astype(float)
    function, rules = twin_of("err", y)
    middles, means = plain.curve(one, two, y, np.array([0, n]), function, **rules)
    np.testing.assert_allclose(at(blend_curve(one, two, y, measure="err"), middles), means, rtol=0, atol=1e-12)


@pytest.mark.plain
@EXAMPLES
@given(seed=st.integers(0, 10_000), measure=st.sampled_from(["ndcg@3", "map", "pair_loss"]), positive=st.booleans())
def test_no_two_weights_of_a_fine_grid_are_better(seed, measure, positive):
    scores, y, qid = table(seed)
    found = blend(scores, y, qid=qid, measure=measure, positive=positive)
    sign = -1 if measure == "pair_loss" else 1
    assert mean_of(measure, y, found.combine(scores), qid) == found.value
    angles = np.linspace(0, np.pi / 2 if positive else 2 * np.pi, 60)
    grid = [mean_of(measure, y, np.cos(a) * scores[0] + np.sin(a) * scores[1], qid) for a in angles]
    assert sign * found.value >= max(sign * value for value in grid) - 1e-9
    assert not positive or (found.weights >= 0).all()


@pytest.mark.plain
@EXAMPLES
@given(
    seed=st.integers(0, 10_000),
    levels=st.integers(2, 5),
    n_rankers=st.integers(2, 4),
    measure=st.sampled_from(["ndcg@3", "map", "mrr", "pair_loss"]),
    positive=st.booleans(),
)
def test_never_worse_than_the_best_ranker_also_with_ties(seed, levels, n_rankers, measure, positive):
    scores, y, qid = tied(seed, 3, 5, levels, n_rankers)
    y[0], y[1] = 1.0, 0.0
    found = blend(scores, y, qid=qid, measure=measure, positive=positive)
    singles = [mean_of(measure, y, one, qid) for one in scores]
    assert found.single_values.tolist() == singles
    assert found.value <= min(singles) if measure == "pair_loss" else found.value >= max(singles)
    assert mean_of(measure, y, found.combine(scores), qid) == found.value
    assert np.abs(found.weights).sum() == pytest.approx(1)


@pytest.mark.plain
def test_no_single_weight_of_several_can_be_bettered():
    scores, y, qid = table(7, 6, 6, 4)
    found = blend(scores, y, qid=qid, measure="ndcg")
    assert found.value > found.single_values.max() + 0.01
    for ranker in range(4):
        for change in np.linspace(-1, 1, 81):
            weights = found.weights.copy()
            weights[ranker] = max(weights[ranker] + change, 0.0)
            assert mean_of("ndcg", y, np.array(scores).T @ weights, qid) <= found.value + 1e-9


@pytest.mark.plain
def test_one_end_can_be_the_best_of_all():
    """The first ranker ties all rows; either way to break its ties by the second loses."""
    y, ranker = np.array([0.0, 1.0, 0.0]), np.array([2.0, 1.0, 0.0])
    found = blend([np.zeros(3), ranker], y, measure="ndcg", positive=False)
    assert found.weights.tolist() == [1.0, 0.0]
    assert found.value > blend_curve(np.zeros(3), ranker, y, measure="ndcg").values.max()


@pytest.mark.plain
def test_the_middle_of_the_widest_of_equally_good_ranges_is_taken():
    one, two = np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.9])
    found = blend([one, two, -one], [2.0, 2.0, 0.0], measure="ndcg@2")
    curve = blend_curve(one, two, [2.0, 2.0, 0.0], measure="ndcg@2")
    best = np.flatnonzero(curve.values >= curve.values.max() - 1e-9)
    assert found.value == 1.0
    assert len(best) == 1
    assert found.weights[0] == pytest.approx(curve.edges[best[0] : best[0] + 2].mean())


@pytest.mark.plain
def test_scales_of_the_rankers_do_not_matter():
    scores, y, qid = table(4, n_rankers=3)
    here = blend(scores, y, qid=qid)
    there = blend([scores[0] * 2.0**40, scores[1], scores[2] * 2.0**-40], y, qid=qid)
    assert there.value == here.value
    np.testing.assert_allclose(
        there.weights * [2.0**40, 1, 2.0**-40] / there.weights[1], here.weights / here.weights[1]
    )


@pytest.mark.plain
@pytest.mark.parametrize("size", [1e-320, 1e307])
def test_scores_near_the_ends_of_double_precision_are_blended(size):
    """Two rankers that each know one of the two good rows."""
    one, two = size * np.array([2.0, 0.0, 1.0, 0.0]), np.array([0.0, 2.0, 1.0, 0.0])
    assert blend([one, two], [1.0, 1.0, 0.0, 0.0], measure="ndcg").value < 1
    assert blend([one, two], [1.0, 1.0, 1.0, 0.0], measure="ndcg").value == 1


@pytest.mark.plain
@pytest.mark.parametrize("measure", ["ndcg@10", "pair_loss"])
def test_rows_queries_and_threads_change_nothing(measure):
    scores, y, qid = tied(2, 5, 6, 30, 3)
    shuffled = np.random.default_rng(0).permutation(len(y))
    here = blend(scores, y, qid=qid, measure=measure)
    there = blend([one[shuffled] for one in scores], y[shuffled], qid=9 - qid[shuffled], measure=measure, n_jobs=2)
    assert here.weights.tolist() == there.weights.tolist()
    assert here.value == there.value


@pytest.mark.plain
def test_random_starts_follow_the_seed_and_cannot_harm():
    scores, y, qid = table(11, 3, 5, 3)
    few, many = (blend(scores, y, qid=qid, n_restarts=n, random_state=3) for n in (0, 4))
    again = blend(scores, y, qid=qid, n_restarts=4, random_state=3)
    assert many.value >= few.value
    assert many.weights.tolist() == again.weights.tolist()


@pytest.mark.plain
def test_wrong_input_is_refused():
    scores, y, qid = table(0)
    cases = [
        ({"scores": [scores[0]]}, "two or more rankers; got 1"),
        ({"scores": [scores[0], scores[1][:-1]]}, r"scores\[1\] must have one value per row"),
        ({"scores": [scores[0], scores[1] * np.inf]}, r"scores\[1\] must be finite to be added up"),
        ({"measure": "ndgc"}, "did you mean ndcg"),
        ({"n_restarts": -1}, "n_restarts must be an integer"),
        ({"random_state": 0.5}, "random_state must be an integer"),
        ({"tie": "stable"}, "An option of the measure must be one of"),
        ({"y": np.zeros(len(y))}, "ndcg@10 is not defined here: no query has a label above 0, or two different labels"),
    ]
    for changed, message in cases:
        with pytest.raises(PodiumError, match=message):
            blend(**{"scores": scores, "y": y, "qid": qid, **changed})
    with pytest.raises(PodiumError, match="ndcg@10 is not defined here"):
        blend_curve(*scores, np.zeros(len(y)), qid=qid)
    with pytest.raises(PodiumError, match="3 rankers, as they were blended; got 2"):
        Blend(np.ones(3) / 3, 1.0, np.ones(3), "ndcg").combine(scores)


@pytest.mark.plain
@pytest.mark.parametrize("measure", ["ndcg@3", "err"])
def test_labels_below_zero_are_measured_along_the_line_as_everywhere(measure):
    rng = np.random.default_rng(6)
    y, qid = -rng.integers(1, 5, 24).astype(float), np.repeat(np.arange(4), 6)
    one, two = rng.normal(size=(2, 24))
    curve = blend_curve(one, two, y, qid=qid, measure=measure)
    for alpha, value in zip((curve.edges[1:] + curve.edges[:-1]) / 2, curve.values, strict=True):
        mixed = alpha * one + (1 - alpha) * two
        assert value == pytest.approx(evaluate(y, mixed, qid=qid, measures=measure, n_resamples=0)[measure], abs=1e-12)


@pytest.mark.plain
def test_a_measure_that_looks_at_the_scores_is_refused():
    with pytest.raises(PodiumError, match="ranknet looks at the scores, not at their order"):
        blend_curve([1.0, 0.0], [0.0, 1.0], [1, 0], measure="ranknet")


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (3, "scores must be a list with a vector for each of two or more rankers; got 0"),
        ([[[1], [1, 2]], [1, 2]], r"scores\[0\] must be an array; got a list whose entries have different lengths"),
        (np.ma.array([[1, 2], [2, 1]], mask=[[0, 0], [1, 0]]), r"scores\[1\] must have no masked values; entry 0"),
    ],
)
def test_scores_that_are_no_vectors_get_a_sentence(scores, message):
    with pytest.raises(PodiumError, match=message):
        blend(scores, [0, 1])
