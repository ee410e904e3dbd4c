"""Names, options, empty queries and bad input of the measures."""

import math

import numpy as np
import pytest

from podium._validation import NoPairsError, PodiumError
from podium.measures import (
    DEFINITIONS,
    measure_many,
    measure_queries,
    pair_losses,
    parse_measure,
    ranked,
)

pytestmark = pytest.mark.plain

LABELS = np.array([2.0, 0.0, 1.0, 0.0, 0.0, 1.0])
SCORES = np.array([0.5, 0.9, 0.1, 0.3, 0.2, 0.7])
OFFSETS = np.array([0, 3, 5, 6])  # the second query has nothing relevant, the third one row


def value(name, labels, scores, **options):
    labels, scores = np.asarray(labels, float), np.asarray(scores, float)
    return float(measure_queries(name, labels, scores, np.array([0, len(labels)]), **options).values[0])


@pytest.mark.parametrize("base", DEFINITIONS)
def test_names_round_trip(base):
    for name in (base, f"{base}@10"):
        if (DEFINITIONS[base].takes_k, "@" in name) not in (("no", True), ("must", False)):
            assert str(parse_measure(name)) == name
            assert parse_measure(str(parse_measure(name))) == parse_measure(name)


def test_names_are_read_in_any_case_and_by_their_aliases():
    assert str(parse_measure(" nDCG@10 ")) == "ndcg@10"
    assert str(parse_measure("AP")) == "map"
    assert str(parse_measure("rr@5")) == "mrr@5"
    assert parse_measure(parse_measure("err")).k is None


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("ndgc@10", r"measure 'ndgc@10' is unknown \(did you mean ndcg"),
        ("kendal", r"did you mean kendall"),
        ("weakloss", r"did you mean weak_loss"),  # three of the six that are near
        ("xyzzy", r"measure 'xyzzy' is unknown; known are dcg, ndcg"),
        ("ndcg_cut_10", r"measure 'ndcg_cut_10' is called ndcg@10 here"),
        ("P_5", r"measure 'P_5' is called p@5 here"),
        ("recip_rank", r"measure 'recip_rank' is called mrr here"),
        ("bpref", r"measure 'bpref' is one of runs and judgements alone: evaluate_run has it"),
        ("ndcg@10,map", r"measure must be one name, such as 'ndcg@10'; got 'ndcg@10,map'"),
        ("ndcg@0", r"k must be an integer from 1 to 999999999; got 'ndcg@0'"),
        ("ndcg@99999999999999999999", r"k must be an integer from 1 to 999999999; got 'ndcg@9{20}'"),
        ("ndcg@-1", r"k must be an integer from 1 to 999999999"),
        ("ndcg@1.5", r"k must be an integer from 1 to 999999999"),
        ("ndcg@", r"k must be an integer from 1 to 999999999"),
        ("auc@5", r"measure auc takes no k; got 'auc@5'"),
        ("p", r"measure p needs a k, as in p@10; got 'p'"),
        (10, r"measure must be a name such as 'ndcg@10'; got 10"),
    ],
)
def test_bad_names_are_refused_in_a_sentence(name, sentence):
    with pytest.raises(PodiumError, match=sentence):
        parse_measure(name)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"ties": "random"}, "ties must be one of expected, stable, optimistic, pessimistic; got 'random'"),
        ({"empty": "zero"}, "empty must be \"skip\", 0 or 1; got 'zero'"),
        ({"empty": 0.5}, 'empty must be "skip", 0 or 1; got 0.5'),
        ({"empty": True}, 'empty must be "skip", 0 or 1; got True'),
        ({"gain": "log"}, "gain must be .* got 'log'"),
        ({"gain": {0.0: 0.0, 1.0: 1.0}}, "gain must hold every label of the data; label 2 is missing"),
        ({"gain": lambda y: -y}, "gain must give finite numbers that are not negative"),
        ({"gain": lambda y: 1.0}, r"gain must return one number for each label; got shape \(\)"),
        ({"max_grade": 4.0}, r"max_grade is used by none of the measures asked for \(ndcg\)"),
        ({"relevant": 1.0}, r"relevant is used by none"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"relevant": "yes"}, "relevant must be a finite number or \"top\"; got 'yes'"),
        ({"sigma": 0.0}, "sigma must be a finite number above 0; got 0.0"),
        ({"sigma": 2.0}, r"sigma is used by none of the measures asked for \(ndcg\)"),
        ({"max_grade": float("nan")}, "max_grade must be a finite number; got nan"),
    ],
)
def test_bad_options_are_refused_in_a_sentence(options, sentence):
    with pytest.raises(PodiumError, match=sentence):
        measure_queries("ndcg", LABELS, SCORES, OFFSETS, **options)


def test_max_grade_below_the_highest_label_is_refused():
    with pytest.raises(PodiumError, match="max_grade must be at least the highest label, 2; got 1"):
        measure_queries("err", LABELS, SCORES, OFFSETS, max_grade=1.0)


@pytest.mark.parametrize("name", ["ndcg", "dcg@3", "map", "mrr", "err", "p@3", "recall@3", "auc", "kendall"])
def test_empty_queries_are_skipped_or_take_the_value_asked_for(name):
    skipped = measure_queries(name, LABELS, SCORES, OFFSETS)
    assert skipped.empty[1]
    assert math.isnan(skipped.values[1])
    assert math.isclose(skipped.mean, skipped.values[~skipped.empty].mean())
    for empty in (0, 1):
        filled = measure_queries(name, LABELS, SCORES, OFFSETS, empty=empty)
        assert filled.values[1] == empty
        np.testing.assert_array_equal(filled.empty, skipped.empty)


@pytest.mark.parametrize("name", ["prot", "coverage", "kendall", "hard_loss", "weak_loss@2", "iauc", "vus"])
def test_queries_with_one_label_are_empty_for_measures_of_order(name):
    result = measure_queries(name, LABELS, SCORES, OFFSETS)
    assert result.empty[1:].all()


def test_mean_of_no_values_is_nan():
    assert math.isnan(measure_queries("ndcg", np.zeros(3), np.zeros(3), np.array([0, 3])).mean)


def test_pair_loss_pools_pairs_and_disagreement_means_queries():
    labels = np.array([1.0, 0.0, 2.0, 1.0, 0.0, 0.0])
    scores = np.array([0.0, 1.0, 3.0, 2.0, 1.0, 0.0])
    pooled = measure_queries("pair_loss", labels, scores, np.array([0, 2, 6]))
    assert pooled.weights.tolist() == [1.0, 5.0]
    assert math.isclose(pooled.mean, 1 / 6)
    assert measure_queries("disagreement", labels, scores, np.array([0, 2, 6])).mean == 0.5


def test_pair_loss_is_r1_under_pessimistic_ties():
    loss = [value(n, [1, 0], [0, 0], ties="pessimistic") for n in ("pair_loss", "pair_loss_1", "pair_loss_2")]
    assert loss == [1.0, 1.0, 0.5]


def test_pair_losses_of_explicit_pairs():
    better, worse = np.array([0, 1, 2]), np.array([1, 2, 0])
    losses = pair_losses(better, worse, np.array([1.0, 2.0, 5.0]), np.array([3.0, 1.0, 1.0]))
    assert losses == (7 / 8, 6 / 8)
    assert pair_losses(better, worse, None, np.array([3.0, 1.0, 1.0])) == (2 / 3, 0.5)
    with pytest.raises(NoPairsError, match="pairs must hold at least one pair"):
        pair_losses(better[:0], worse[:0], None, np.zeros(3))


def test_relevant_sets_the_threshold():
    assert value("p@2", [1, 2, 0], [3, 2, 1]) == 1.0
    assert value("p@2", [1, 2, 0], [3, 2, 1], relevant=2.0) == 0.5


@pytest.mark.parametrize(
    "name", ["map", "map@2", "mrr", "p@2", "recall@2", "auc", "avg_rank", "top@1", "prot", "coverage"]
)
def test_the_top_grade_as_relevant_equals_flags_of_each_querys_highest_label(name):
    labels = np.array([4.0, 2.0, 4.0, 1.0, -1.0, -3.0, 0.0, 5.0, 5.0])
    scores = np.array([1.0, 3.0, 3.0, 2.0, 0.5, 0.5, 0.2, 1.0, 2.0])
    offsets = np.array([0, 4, 7, 9])  # in the last query all labels are one
    flags = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    top = measure_queries(name, labels, scores, offsets, relevant="top").values
    np.testing.assert_array_equal(top, measure_queries(name, flags, scores, offsets).values)
    assert np.isnan(top).tolist() == [False, False, True]


def test_prot_and_coverage_take_the_top_grade_unless_relevant_is_given():
    labels, scores = [4, 2, 0, 4], [1, 4, 3, 2]
    for convention in ("podium", "trec"):
        assert value("prot", labels, scores, convention=convention) == 1 / 3
        assert value("coverage", labels, scores, convention=convention) == 2 / 4
    assert value("prot", labels, scores, relevant=2.0) == 1.0
    assert value("coverage", labels, scores, relevant=2.0) == 3 / 4


@pytest.mark.parametrize("gain", ["exp2", "linear"])
@pytest.mark.parametrize("name", ["ndcg", "dcg@2", "ndcg@2", "err"])
def test_labels_below_zero_count_from_the_lowest_of_their_query(name, gain):
    more = {} if name == "err" else {"gain": gain}
    labels, scores = np.array([-1.0, -4.0, -2.0, -2.0]), np.array([0.3, 0.2, 0.9, 0.2])
    shifted = value(name, labels + 4.0, scores, **more)
    assert math.isclose(value(name, labels, scores, **more), shifted, rel_tol=1e-14)
    mixed = np.array([1.0, -2.0, 0.0, 0.0])
    assert math.isclose(value(name, mixed, scores, **more), value(name, mixed + 2.0, scores, **more), rel_tol=1e-14)


@pytest.mark.parametrize("name", ["ndcg", "dcg"])
def test_a_query_does_not_look_at_the_labels_of_others(name):
    labels = np.array([2.0, 0.0, 1.0, -3.0, -1.0, -2.0, 0.5, -0.5])
    scores = np.array([0.1, 0.5, 0.3, 0.4, 0.2, 0.9, 0.0, 1.0])
    together = measure_queries(name, labels, scores, np.array([0, 3, 6, 8])).values
    alone = [value(name, labels[a:b], scores[a:b]) for a, b in ((0, 3), (3, 6), (6, 8))]
    assert together.tolist() == alone


@pytest.mark.parametrize("gain", ["exp2", "linear"])
@pytest.mark.parametrize("n", [40, 1001, 3000])
def test_ndcg_of_minus_the_position_is_defined_at_any_length(n, gain):
    labels = -np.arange(1.0, n + 1)
    assert value("ndcg", labels, labels, gain=gain) == 1.0
    swapped = labels.copy()
    swapped[:2] = labels[1], labels[0]
    lower = value("ndcg", swapped, labels, gain=gain)
    rises = np.arange(n - 1.0, -1, -1)  # of the rows from the first down
    gains = np.exp2(rises - n) - np.exp2(-float(n)) if gain == "exp2" else rises
    discounts = 1 / np.log2(np.arange(2.0, n + 2))
    lost = (gains[0] - gains[1]) * (discounts[0] - discounts[1]) / (gains @ discounts)
    assert math.isclose(1.0 - lower, lost, rel_tol=1e-9)


def test_err_of_minus_the_position_is_defined_at_any_length():
    for n in (40, 1001, 3000):
        labels = -np.arange(1.0, n + 1)
        stops = np.exp2(-np.arange(0.0, n)) - np.exp2(1.0 - n)
        reach = np.r_[1.0, np.cumprod(1 - stops)[:-1]]
        assert math.isclose(value("err", labels, labels), (stops * reach / np.arange(1.0, n + 1)).sum(), rel_tol=1e-12)


@pytest.mark.parametrize("gain", ["exp2", "linear"])
def test_labels_that_lie_further_apart_than_numbers_reach_have_an_ndcg(gain):
    labels = [1.5e308, -1.5e308, 0.0]
    small = {"exp2": [1.0, 0.0, 0.0], "linear": [2.0, 0.0, 1.0]}[gain]
    for scores in ([3, 2, 1], [1, 2, 3]):
        assert math.isclose(value("ndcg", labels, scores, gain=gain), value("ndcg", small, scores, gain="linear"))


@pytest.mark.parametrize("convention", ["sklearn", "lightgbm", "xgboost", "catboost", "ranklib", "letor"])
def test_conventions_of_tools_that_take_no_labels_below_zero_refuse_them(convention):
    with pytest.raises(PodiumError, match='need labels of at least 0; the lowest is -2: use convention="podium"'):
        value("ndcg", [-2.0, 1.0], [1.0, 0.0], convention=convention)
    assert value("ndcg", [-2.0, 1.0], [0.0, 1.0], convention=convention, gain={-2: 0, 1: 1}) == 1.0


def test_labels_below_zero_gain_nothing_under_the_convention_of_trec():
    assert value("ndcg", [-2.0, 1.0, 0.0], [3.0, 2.0, 1.0], convention="trec") == 1 / math.log2(3)
    assert value("ndcg", [-2.0, -1.0], [1.0, 0.0], convention="trec") == 0.0


def test_what_every_query_lacks_is_said():
    def lacking(name, labels, **options):
        return measure_queries(
            name, np.array(labels), np.zeros(len(labels)), np.array([0, len(labels)]), **options
        ).lacking

    assert lacking("map", [-1.0, -2.0]).startswith("a relevant row (a label above 0); give relevant=")
    assert lacking("map", [1.0, 2.0], relevant=3.0).startswith("a relevant row (a label of at least 3); give relevant=")
    assert (
        lacking("p@1", [1.0, 1.0], relevant="top")
        == "a relevant row (the highest label of a query with two different ones)"
    )
    assert lacking("auc", [1.0, 2.0]).startswith("a row that is not relevant beside a relevant one (a label above 0)")
    assert lacking("ndcg", [-1.0, -1.0]) == "a label above 0, or two different labels"
    assert lacking("err", [0.0, 0.0], convention="trec").startswith("a label above 0, and labels below 0 gain nothing")
    assert lacking("ndcg", [1.0, 2.0], gain=lambda y: 0 * y) == "a label with a gain above 0; check gain="
    assert lacking("iauc", [1.0, 2.0]) == "three different labels"
    assert lacking("ranknet", [1.0, 1.0]) == lacking("kendall", [1.0, 1.0]) == "two different labels"
    assert lacking("map", [0.0, 1.0]) == ""


def test_ranknet_does_not_overflow_and_pools_pairs():
    assert value("ranknet", [0.0, 1.0], [1000.0, -1000.0]) == 2000.0
    assert value("ranknet", [1.0, 0.0], [1000.0, -1000.0]) == 0.0
    assert math.isclose(value("ranknet", [1.0, 0.0], [40.0, 0.0]), math.exp(-40.0), rel_tol=1e-14)
    found = measure_queries("ranknet", np.array([1.0, 0, 2, 1, 0]), np.zeros(5), np.array([0, 2, 5]))
    assert found.weights.tolist() == [1.0, 3.0]
    assert math.isclose(found.mean, math.log(2), rel_tol=1e-15)
    many = np.r_[1.0, np.zeros(1500)]  # a product of 1,500 factors of 2 would overflow
    assert math.isclose(value("ranknet", many, np.zeros(1501)), math.log(2), rel_tol=1e-13)
    assert value("ranknet", [0.0, 1.0], [1e90, 0.0]) == 1e90
    with pytest.raises(PodiumError, match=r"ranknet needs scores of size 1e\+149 or less with sigma=10; rescale"):
        value("ranknet", [0.0, 1.0], [1e150, 0.0], sigma=10.0)


def test_gains_are_exponential_linear_mapped_or_computed():
    labels, scores = [0.0, 2.0], [1.0, 0.0]
    discount = 1 / math.log2(3)
    assert math.isclose(value("dcg", labels, scores), 3 * discount)
    assert math.isclose(value("dcg", labels, scores, gain="linear"), 2 * discount)
    assert math.isclose(value("dcg", labels, scores, gain={0: 0, 2: 7}), 7 * discount)
    assert math.isclose(value("dcg", labels, scores, gain=lambda y: y**3), 8 * discount)


def test_ideal_ndcg_follows_a_gain_that_does_not_rise_with_the_label():
    assert value("ndcg", [1.0, 2.0], [1.0, 0.0], gain={1.0: 5.0, 2.0: 3.0}) == 1.0


def test_ndcg_and_err_hold_for_labels_that_overflow_a_power():
    small, large = [0.0, 3.0, 2.0, 3.0], [0.0, 2000.0, 1999.0, 2000.0]
    scores = [4.0, 3.0, 2.0, 1.0]
    as_weights = value("ndcg", small, scores, gain={0.0: 0.0, 2.0: 0.5, 3.0: 1.0})
    assert math.isclose(value("ndcg", large, scores), as_weights)
    assert math.isclose(value("err", large, scores), 0.5 * 1.0)


def test_dcg_that_overflows_is_refused_with_advice():
    with pytest.raises(PodiumError, match='dcg overflows with these labels; consider gain="linear"'):
        value("dcg", [2000.0, 0.0], [1.0, 0.0])
    with pytest.raises(PodiumError, match="dcg overflows with these labels; consider smaller ones"):
        value("dcg", [1.7e308, -1.7e308], [1.0, 0.0], gain="linear")


def test_vus_refuses_continuous_labels():
    with pytest.raises(PodiumError, match="vus takes at most 100 distinct labels in a query; got 101"):
        value("vus", np.arange(101.0), np.arange(101.0))
    assert value("vus", np.arange(100.0), np.arange(100.0)) == 1.0


def test_average_rank_and_top_counts_limit_the_rank_as_the_paper_does():
    labels, scores = [0, 0, 0, 1], [4, 3, 2, 1]
    assert value("avg_rank", labels, scores) == 4.0
    assert value("avg_rank@2", labels, scores) == 3.0
    assert value("top@3", labels, scores) == 0.0
    assert value("top@4", labels, scores) == 1.0
    assert value("avg_rank", labels, [0, 0, 0, 0]) == 2.5
    assert value("avg_rank@30", [0, 1, 0], [3, 1, 2], depths=np.array([2])) == 31.0


def test_err_of_tied_rows_that_stop_every_user_is_one():
    assert value("err", [60.0, 60.0, 60.0], [0.0, 0.0, 0.0]) == 1.0


def test_kendall_b_of_equal_scores_is_zero():
    assert value("kendall_b", [0.0, 1.0, 2.0], [1.0, 1.0, 1.0]) == 0.0


def test_measures_show_their_names():
    assert repr(parse_measure("nDCG@5")) == "Measure('ndcg@5')"


def test_zero_scores_of_both_signs_tie():
    assert value("mrr", [0, 1], [-0.0, 0.0]) == value("mrr", [0, 1], [0.0, -0.0]) == 0.75
    many = np.where(np.arange(600) % 2, 0.0, -0.0)
    assert ranked(np.zeros(600), many, np.array([0, 600])).n_blocks.tolist() == [1]


def test_inputs_are_left_as_they_were():
    labels, scores = LABELS.copy(), SCORES.copy()
    names = [name for name, d in DEFINITIONS.items() if d.takes_k != "must"]
    measure_many(names, labels, scores, OFFSETS, empty=0)
    np.testing.assert_array_equal(labels, LABELS)
    np.testing.assert_array_equal(scores, SCORES)
