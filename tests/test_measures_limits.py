"""Measures on both sides of every limit: k, retrieved rows, constants that choose a path, threads, large labels."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from podium._validation import PodiumError
from podium.measures import DEFINITIONS, measure_many, measure_queries, parse_measure, ranked, ranknet, sorting, ties
from podium.measures import pairwise as pairs
from podium.measures.conventions import Rules
from podium.measures.measure import discounts, measure_ranking
from reference import measures as twin

pytestmark = pytest.mark.plain

RULES = ("expected", "stable", "optimistic", "pessimistic")
TAKE_K = [base for base, definition in DEFINITIONS.items() if definition.takes_k != "no"]


def value(name, labels, scores, **options):
    labels, scores = np.asarray(labels, float), np.asarray(scores, float)
    return float(measure_queries(name, labels, scores, np.array([0, len(labels)]), **options).values[0])


def by_twin(base, k, labels, scores, rule="expected"):
    """Mean over the orders that a rule allows."""
    orders = twin.orders(labels, scores) if rule == "expected" else [twin.ordered(labels, scores, rule)]
    found = [twin.PLAIN[base](order, k) for order in orders]
    return math.fsum(found) / len(found)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("k", [1, 2, 4, 5, 6, 50])
def test_cut_offs_below_at_and_above_the_rows_equal_the_twin(k, rule):
    """Five rows; a block of ties ends at, straddles or lies beyond place k."""
    labels = [0.0, 1.0, 3.0, 0.0, 1.0]
    more = {"max_grade": 3.0}
    for scores in ([2.0, 2.0, 1.0, 1.0, 1.0], [3.0, 2.0, 2.0, 1.0, 0.0], [0.0] * 5):
        names = [f"{base}@{k}" for base in TAKE_K]
        found = measure_many(names, np.array(labels), np.array(scores), np.array([0, 5]), ties=rule, **more)
        for base, name in zip(TAKE_K, names, strict=True):
            expected = by_twin(base, k, labels, scores, rule)
            np.testing.assert_allclose(found[name].values[0], expected, atol=1e-12, err_msg=f"{name} {scores}")


def retrieved(base, labels, k, depth):
    """A measure of rows in rank order of which only the first `depth` were retrieved."""
    k = k or len(labels)
    cut, found, lowest = min(k, depth), twin.places(labels), twin.origin(labels)
    seen = [place for place in found if place <= cut]
    if base in ("dcg", "ndcg"):
        ideal = twin.dcg_sum(sorted(labels, reverse=True), k, lowest) if base == "ndcg" else 1.0
        return twin.dcg_sum(labels, cut, lowest) / ideal
    return {
        "err": twin.err(labels, cut),
        "map": sum((j + 1) / i for j, i in enumerate(seen)) / min(len(found), k),
        "mrr": 1 / seen[0] if seen else 0.0,
        "p": len(seen) / k,
        "recall": len(seen) / len(found),
        "avg_rank": seen[0] if seen else k + 1,
        "top": float(bool(seen)),
    }[base]


@pytest.mark.parametrize("n", range(2, 13))
def test_a_cut_where_the_block_of_the_first_relevant_row_ends_changes_no_bit_of_its_rank(n):
    """Of a row above and n tied rows below it: a remainder of the chances, by rounding, is not taken for a rank."""
    scores = [1.0] + [0.0] * n
    for relevant in range(1, n):
        labels = [0.0] + [1.0] * relevant + [0.0] * (n - relevant)
        orders = [math.comb(n - place, relevant - 1) for place in range(1, n + 1)]
        expected = Fraction(sum(place * count for place, count in enumerate(orders, 2)), math.comb(n, relevant))
        found = value(f"avg_rank@{n + 1}", labels, scores)
        assert math.isclose(found, float(expected), rel_tol=1e-14)
        assert found == value(f"avg_rank@{n + 9}", labels, scores)


OF_RUNS = [base for base, definition in DEFINITIONS.items() if "depths" in definition.uses]


@pytest.mark.parametrize("base", OF_RUNS)
@pytest.mark.parametrize("k", [None, 1, 3, 9])
def test_rows_that_were_not_retrieved_earn_nothing_and_count_among_the_relevant(base, k):
    if k is None and DEFINITIONS[base].takes_k == "must":
        return
    queries = [[0.0, 1.0, 0.0, 3.0, 2.0], [0.0, 0.0, 0.0, 2.0], [2.0, 1.0, 1.0], [0.0, 3.0]]
    depths = [(1, 1, 1, 1), (2, 3, 2, 1), (4, 4, 3, 2)]
    labels, offsets = np.concatenate(queries), np.r_[0, np.cumsum([len(query) for query in queries])]
    name, more = base if k is None else f"{base}@{k}", {"max_grade": 3.0} if base == "err" else {}
    for depth in depths:
        scores = -np.arange(float(len(labels)))
        found = measure_queries(name, labels, scores, offsets, depths=np.array(depth), **more).values
        expected = [retrieved(base, query, k, d) for query, d in zip(queries, depth, strict=True)]
        np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("limit", [1, 3, 4, 100])
@pytest.mark.parametrize(
    "labels", [[0.0, 2.0, 1.0, 0.0, 3.0], [0.5, -1.0, 2.0, 0.5, 64.0], [63.0, 64.0, 0.0, 63.0, 1.0]]
)
def test_lengths_at_which_another_sort_is_taken_change_nothing(limit, labels, monkeypatch):
    """Compiled kernels have their limits built in; there this repeats the twin's values."""
    for module in (ties, sorting):
        monkeypatch.setattr(module, "COUNTING_LIMIT", limit)
    monkeypatch.setattr(pairs, "QUADRATIC_LIMIT", limit)
    bases = [base for base in twin.PLAIN if DEFINITIONS[base].takes_k == "no"]
    for scores in ([0.5, 0.5, -0.0, 0.0, 0.5], [3.0, 64.0, 63.0, 0.0, 63.0], [-2.5, 1e-300, -1e300, 7.25, 7.25]):
        for rule in RULES:
            found = measure_many(bases, np.array(labels), np.array(scores), np.array([0, 5]), ties=rule)
            for base in bases:
                expected = by_twin(base, None, labels, scores, rule)
                np.testing.assert_allclose(found[base].values[0], expected, atol=1e-12, err_msg=f"{base} {rule}")


@pytest.mark.parametrize("highest", [1, 62, 63, 64, 65])
@pytest.mark.parametrize("n", [20, 300])
def test_whole_scores_and_labels_around_the_last_grade_are_sorted(n, highest):
    rng = np.random.default_rng(highest)
    labels, scores = rng.integers(0, highest + 1, n).astype(float), rng.integers(0, highest + 1, n).astype(float)
    labels[:2], scores[:2] = [highest, 0], [0, highest]
    found = ranked(labels, scores, np.array([0, n]), "stable")
    np.testing.assert_array_equal(found.order, np.argsort(-scores, kind="stable"))
    best, places = np.full(n, -7.0), np.full(n, -7)
    assert sorting.best_grades(labels, np.array([0, n]), best, places, 0, 1) == (highest < sorting.MAX_GRADES)
    ranking = ranked(labels, -np.arange(n), np.array([0, n]))
    np.testing.assert_array_equal(ranking.best, -np.sort(-labels))
    if highest >= sorting.MAX_GRADES:
        np.testing.assert_array_equal(ranking.best_places, np.argsort(-labels, kind="stable"))
    else:
        np.testing.assert_array_equal(best, ranking.best)
        assert places[0] == ranking.best_places[0] == sorting.BY_GRADES


def test_one_query_without_grades_has_all_queries_sorted():
    ranking = ranked(np.array([1.0, 2.0, 0.5, 1.0]), np.array([2.0, 1.0, 2.0, 1.0]), np.array([0, 2, 4]))
    assert ranking.best.tolist() == [2.0, 1.0, 1.0, 0.5]
    assert ranking.best_places.tolist() == [1, 0, 1, 0]


def test_labels_of_which_some_are_no_grades_are_sorted_by_any_number_of_threads():
    labels, offsets = np.tile([1.0, 0.0, 2.0], 20), np.arange(0, 61, 3)
    labels[-3:] = 0.5, -1.0, 7.25
    for n_threads in (1, 2):
        ranking = ranked(labels, np.zeros(60), offsets, n_threads=n_threads)
        assert not ranking.has_grades
        assert ranking.best.tolist() == [2.0, 1.0, 0.0] * 19 + [7.25, 0.5, -1.0]


def test_one_long_query_among_short_ones_is_not_sorted_by_counting(monkeypatch):
    def refuse(*arguments):
        raise AssertionError("a long query takes quadratic time")

    monkeypatch.setattr(sorting, "sort_short_queries", refuse)
    n = sorting.COUNTING_LIMIT + 1
    values = np.random.default_rng(0).random(n + 2)
    order, in_order = sorting.sort_queries(values, np.array([0, 2, n + 2]))
    np.testing.assert_array_equal(in_order[2:], np.sort(values[2:])[::-1])
    np.testing.assert_array_equal(values[2:][order[2:]], in_order[2:])


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("sizes", [[256, 3, 1], [257, 2, 600], [5, 300]])
@pytest.mark.parametrize("n_scores", [1, 2, 9])
@pytest.mark.parametrize("n_labels", [1, 3, 1000])
def test_blocks_of_any_length_are_arranged_by_the_rule(rule, sizes, n_scores, n_labels):
    rng = np.random.default_rng(n_labels)
    offsets = np.cumsum([0, *sizes])
    n = offsets[-1]
    labels, scores = rng.integers(0, n_labels, n) / 4.0, rng.integers(0, n_scores, n) - 1.0
    found = ranked(labels, scores, offsets, rule)
    second = {"stable": 0.0, "pessimistic": 1.0}.get(rule, -1.0) * labels
    for number, (start, stop) in enumerate(pairwise(offsets)):
        expected = start + np.lexsort((second[start:stop], -scores[start:stop]))
        np.testing.assert_array_equal(found.order[start:stop], expected)
        np.testing.assert_array_equal(found.labels[start:stop], labels[expected])
        ends = np.flatnonzero(np.diff(scores[expected], append=np.nan)) + 1
        ends = ends if rule == "expected" else np.arange(1, stop - start + 1)
        assert found.n_blocks[number] == len(ends)
        np.testing.assert_array_equal(found.ends[start : start + len(ends)], ends)


@pytest.mark.parametrize("n", [2, 3, 31, 32, 33, 64, 65])
def test_inversions_of_a_permutation_are_its_misordered_pairs(n):
    places = np.random.default_rng(n).permutation(n)
    assert pairs.permutation_inversions(places) == sum(x > y for i, x in enumerate(places) for y in places[i:])
    assert pairs.permutation_inversions(np.arange(n)[::-1].copy()) == n * (n - 1) / 2


@pytest.mark.parametrize("n", [1, 2, 1023, 1024, 1025, 1026, 2047, 2048, 2049, 5000])
def test_there_is_a_discount_for_every_place(n):
    table = discounts(n)
    assert len(table) >= n
    np.testing.assert_allclose(table[[0, n - 1]], [1.0, 1 / np.log2(n + 1)], rtol=1e-15)


def test_rows_beyond_the_first_table_of_discounts_are_discounted():
    n = 1100
    labels = np.where(np.arange(n) == n - 1, 1.0, 0.0)
    assert math.isclose(value("dcg", labels, -np.arange(float(n))), 1 / math.log2(n + 1))


@pytest.mark.parametrize("n_jobs", [2, 3, 5])
@pytest.mark.parametrize("n_queries", [1, 7, 50])
def test_threads_measure_every_query(n_queries, n_jobs):
    rng = np.random.default_rng(n_queries)
    offsets = np.r_[0, np.cumsum(rng.integers(1, 6, n_queries))]
    labels, scores = rng.integers(0, 3, offsets[-1]).astype(float), rng.integers(0, 3, offsets[-1]).astype(float)
    names = ["dcg", "kendall", "avg_rank@2", "pair_loss"]
    one, many = (measure_many(names, labels, scores, offsets, n_jobs=jobs) for jobs in (1, n_jobs))
    for name in names:
        np.testing.assert_array_equal(one[name].values, many[name].values)
        np.testing.assert_array_equal(one[name].weights, many[name].weights)
        alone = [value(name, labels[a:b], scores[a:b]) for a, b in pairwise(offsets)]
        np.testing.assert_array_equal(many[name].values, alone)


@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
@pytest.mark.parametrize("sizes", [[3], [1, 1], [5, 1, 1, 1, 9, 1], [2] * 40, [100, *[1] * 30]])
def test_runs_of_queries_hold_each_query_once(sizes, n_threads):
    seen = []
    offsets = np.r_[0, np.cumsum(sizes)]
    ties.by_query_threads(lambda first, last: seen.append((first, last)), offsets, n_threads)
    assert sorted(query for run in seen for query in range(*run)) == list(range(len(sizes)))
    assert len(seen) <= (1 if n_threads == 1 else 4 * n_threads)


def test_a_ranking_as_given_is_measured_as_scores_that_fall():
    labels, offsets = np.array([0.0, 2.0, 1.0, 1.0, 0.0, 0.0, 3.0]), np.array([0, 3, 5, 7])
    names = [name if DEFINITIONS[name].takes_k != "must" else f"{name}@2" for name in DEFINITIONS if name != "ranknet"]
    expected = measure_many(names, labels, -np.arange(7.0), offsets)
    for name in names:
        found = measure_ranking(parse_measure(name), ties.as_given(labels, offsets), Rules())
        np.testing.assert_array_equal(found.values, expected[name].values, err_msg=name)
    with pytest.raises(PodiumError, match="This ranking has places and no scores"):
        measure_ranking(parse_measure("ranknet"), ties.as_given(labels, offsets), Rules())


@pytest.mark.parametrize("label", [1.0, 0.25, 61.0, 62.0, 62.5, 63.0, 63.5, 64.0, 300.0])
def test_the_gain_of_a_label_is_a_power_of_two_less_one(label):
    exact = math.expm1(label * math.log(2)) if label % 1 else float(2 ** int(label) - 1)
    assert math.isclose(value("dcg", [label, 0.0], [1.0, 0.0]), exact, rel_tol=1e-12)


@pytest.mark.parametrize("gain", ["exp2", "linear"])
@pytest.mark.parametrize("huge", [[], [2000.0, 0.0, 1999.0], [900.0, -900.0, 899.0]])
def test_no_query_changes_the_ndcg_of_another(huge, gain):
    queries = [[3.0, 1.0, 2.0], [-1.0, 1.0, 0.0], [-3.0, -1.0, -2.5], [0.0, 0.5, 0.0], huge][: 5 if huge else 4]
    labels, offsets = np.concatenate(queries), np.r_[0, np.cumsum([len(query) for query in queries])]
    scores = np.tile([0.3, 0.2, 0.9], len(queries))
    found = measure_queries("ndcg", labels, scores, offsets, gain=gain).values
    alone = [value("ndcg", query, [0.3, 0.2, 0.9], gain=gain) for query in queries]
    np.testing.assert_allclose(found, alone, rtol=1e-14)
    assert len(set(np.round(alone[:4], 6))) > 1


def test_linear_gains_of_huge_labels_below_zero_do_not_overflow():
    found = value("ndcg", [1.0, -1.7e308, 1.0, -0.9e308], [1, 2, 3, 4], gain="linear")
    assert math.isclose(found, value("ndcg", [1.7, 0.0, 1.7, 0.8], [1, 2, 3, 4], gain="linear"), rel_tol=1e-12)


@pytest.mark.parametrize("above", [0, 2])
@pytest.mark.parametrize("grades", [[0, 1, 3], [3, 3, 3], [2, 3, 3]])
def test_expected_err_of_a_long_tied_block_is_that_of_symmetric_polynomials(above, grades):
    """Mean over the orders of Π T over the first l rows of the block: e_l(T)/C(n, l)."""
    block, before = grades * 20, [1.0] * above
    factors = [1 - Fraction(2**grade - 1, 8) for grade in block]
    sums = [Fraction(1)] + [Fraction(0)] * len(block)
    for n, factor in enumerate(factors, 1):
        for size in range(n, 0, -1):
            sums[size] += factor * sums[size - 1]
    means = [one / math.comb(len(block), size) for size, one in enumerate(sums)]
    reach, total = Fraction(1), Fraction(0)
    for place in range(above):
        total, reach = total + reach * Fraction(1, 8) / (place + 1), reach * Fraction(7, 8)
    total += reach * sum((m - next_m) / (above + i + 1) for i, (m, next_m) in enumerate(pairwise(means)))
    found = value("err", before + block, list(range(above, 0, -1)) + [0] * len(block), max_grade=3.0)
    assert math.isclose(found, float(total), rel_tol=1e-13)


@pytest.mark.parametrize("grades", [0.0, 0.5])
@pytest.mark.parametrize("n", [9, 70])
def test_integrated_auc_is_the_mean_of_its_aucs(n, grades):
    """Of whole labels, which are counted, and of others, which are sorted."""
    rng = np.random.default_rng(n)
    labels = rng.integers(0, 6, n) + grades
    labels[:3] = np.arange(3) + grades
    scores = rng.integers(0, n // 2, n).astype(float)
    aucs, weights = [], []
    for y in np.unique(labels)[1:-1]:
        keep = labels != y
        higher, lower = scores[labels > y], scores[labels < y]
        gaps = np.subtract.outer(higher, lower)
        aucs.append(((gaps > 0) + (gaps == 0) / 2).mean())
        weights.append(int((~keep).sum()))
    assert math.isclose(value("iauc", labels, scores), float(np.average(aucs, weights=weights)), rel_tol=1e-12)


def test_vus_counts_the_labels_of_each_query_alone():
    labels = np.r_[200.0, 100.0, np.arange(100.0, -1, -1)]  # one query ends with the label the next begins with
    with pytest.raises(PodiumError, match="got 101"):
        measure_queries("vus", labels, -np.arange(103.0), np.array([0, 2, 103]))
    found = measure_queries("vus", labels[:-1], -np.arange(102.0), np.array([0, 2, 102]))
    assert found.values.tolist() == [1.0, 1.0]


def test_ranknets_cost_weighs_queries_by_pairs_in_any_order_of_labels_and_refuses_huge_scores_of_either_sign():
    labels, scores = np.array([0.0, 1.0, 0.0, 2.0, 1.0, 0.0, 1.0]), np.arange(7.0)
    offsets = np.array([0, 5, 7])
    one, other = (measure_queries(name, labels, scores, offsets).weights for name in ("ranknet", "pair_loss"))
    assert one.tolist() == other.tolist() == [8.0, 1.0]
    for sign in (1.0, -1.0):
        with pytest.raises(PodiumError, match="ranknet needs scores of size 1e"):
            value("ranknet", [0.0, 1.0], [sign * 1e151, 0.0])


@pytest.mark.parametrize("full", [1.5, 10.0, 1e300])
def test_how_often_a_logarithm_is_taken_does_not_change_ranknets_cost(full, monkeypatch):
    monkeypatch.setattr(ranknet, "LARGEST_PRODUCT", full)
    labels, scores = [0.0, 2.0, 1.0, 1.0, 0.0, 2.0], [1.0, 2.0, 2.0, 0.0, 3.0, -1.0]
    assert math.isclose(value("ranknet", labels, scores), twin.ranknet(labels, scores), rel_tol=1e-12)


@pytest.mark.parametrize("names", [["ndcg", "map", "dcg@2", "pair_loss", "kendall"], ["kendall", "map", "ndcg"]])
def test_measures_together_with_a_gain_equal_each_alone(names):
    labels, scores = np.array([0.0, 2.0, 1.0, 1.0, 0.0]), np.array([1.0, 2.0, 2.0, 0.0, 3.0])
    gain, offsets = {0.0: 4.0, 1.0: 0.0, 2.0: 1.0}, np.array([0, 3, 5])
    together = measure_many(names, labels, scores, offsets, gain=gain)
    for name in names:
        more = {"gain": gain} if "dcg" in name else {}
        alone = measure_queries(name, labels, scores, offsets, **more)
        np.testing.assert_array_equal(together[name].values, alone.values, err_msg=name)


def test_a_measure_has_nothing_lacking_once_one_query_has_a_value():
    found = measure_queries("map", np.array([0.0, 0.0, 1.0, 0.0]), np.zeros(4), np.array([0, 2, 4]))
    assert found.lacking == ""
    assert found.empty.tolist() == [True, False]


def test_k_has_up_to_nine_digits():
    assert parse_measure("ndcg@999999999").k == 999_999_999
    assert value("ndcg@999999999", [1.0, 0.0], [0.0, 1.0]) == 1 / math.log2(3)
    with pytest.raises(PodiumError, match="k must be an integer"):
        parse_measure("ndcg@1000000000")


@pytest.mark.parametrize("base", DEFINITIONS)
def test_the_perfect_ranking_is_better_than_the_reversed_one_in_the_direction_of_the_measure(base):
    name = f"{base}@2" if DEFINITIONS[base].takes_k == "must" else base
    labels = [0.0, 3.0, 1.0, 0.0, 2.0]
    perfect, reverse = value(name, labels, labels), value(name, labels, [-label for label in labels])
    assert (perfect > reverse) == parse_measure(name).higher_is_better
    assert perfect != reverse
