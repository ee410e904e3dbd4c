"""The public evaluation: values, tables, order, conventions, and each bad input with its sentence."""

import json
from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

from podium import NoPairsError, PodiumError, compare, evaluate
from podium.evaluation import resampling
from podium.evaluation.results import plain_text

pytestmark = pytest.mark.plain

Y = np.array([2.0, 0, 1, 0, 3, 0, 0])
SCORES = np.array([0.9, 0.8, 0.1, 0.5, 0.5, 0.2, 0.5])
QID = np.array(["b", "b", "b", "a", "a", "a", "a"])


def test_means_per_query_values_and_totals():
    result = evaluate(Y, SCORES, qid=QID, measures=["mrr", "top@1", "NDCG@10"])
    per_query = result.per_query("mrr")
    assert per_query["b"] == 1.0
    assert per_query["a"] == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert result["mrr"] == pytest.approx(np.mean(list(per_query.values())))
    assert result.total("top@1") == pytest.approx(1 + 1 / 3)
    assert list(result) == ["mrr", "top@1", "ndcg@10"]
    assert result["nDCG@10"] == result["ndcg@10"]


def test_pair_loss_is_pooled_over_pairs_and_disagreement_over_queries():
    result = evaluate(Y, SCORES, qid=QID, measures=["pair_loss", "disagreement"])
    losses = result.per_query("disagreement")
    assert losses == {"a": pytest.approx(1 / 3), "b": pytest.approx(1 / 3)}
    y = np.array([1.0, 0, 1, 0, 0])
    scores = np.array([1.0, 0, 0, 1, 2])
    result = evaluate(y, scores, qid=[0, 0, 1, 1, 1], measures=["pair_loss", "disagreement"])
    assert result["pair_loss"] == pytest.approx(2 / 3)
    assert result["disagreement"] == pytest.approx(1 / 2)


def test_row_and_query_order_change_no_bit():
    rng = np.random.default_rng(0)
    y, scores, qid = rng.integers(0, 4, 200), rng.integers(0, 9, 200) / 7, np.repeat(np.arange(20), 10)
    shuffled = rng.permutation(200)
    names = rng.permutation(20)
    measures = ["ndcg@5", "map", "err", "pair_loss", "kendall"]
    one = evaluate(y, scores, qid=qid, measures=measures)
    two = evaluate(y[shuffled], scores[shuffled], qid=names[qid][shuffled], measures=measures, n_jobs=2)
    for name in measures:
        assert one[name] == two[name]
        assert one.interval(name) == two.interval(name)
        renamed = {names[query]: value for query, value in one.per_query(name).items()}
        assert renamed == two.per_query(name)


def test_group_sizes_stand_for_ids():
    grouped = evaluate(Y, SCORES, group=[3, 4], measures="map")
    assert grouped["map"] == evaluate(Y, SCORES, qid=[0] * 3 + [1] * 4, measures="map")["map"]


def test_empty_queries_are_skipped_and_counted():
    y, scores = [1, 0, 0, 0], [1, 0, 1, 0]
    result = evaluate(y, scores, qid=[0, 0, 1, 1], measures="ndcg@10")
    assert result["ndcg@10"] == 1.0
    assert result.n_empty("ndcg@10") == 1
    assert np.isnan(result.per_query("ndcg@10")[1])
    assert evaluate(y, scores, qid=[0, 0, 1, 1], measures="ndcg@10", empty=0)["ndcg@10"] == 0.5


def test_a_measure_that_no_query_has_is_warned_of_with_the_reason():
    y, scores = -np.arange(1.0, 5), [1, 0, 1, 0]
    with pytest.warns(
        UserWarning, match=r"mrr is undefined: no query has a relevant row \(a label above 0\); give rel"
    ):
        result = evaluate(y, scores, measures=["mrr", "ndcg"])
    assert np.isnan(result["mrr"])
    assert 0 < result["ndcg"] < 1
    with pytest.warns(UserWarning, match="map is undefined"):
        compare(y, scores, y, measures="map")
    assert evaluate(y, scores, measures="mrr", relevant="top")["mrr"] == 0.75
    assert evaluate(y, scores, measures="mrr", relevant=-1)["mrr"] == 0.75
    assert evaluate(y, scores, measures="mrr", empty=0)["mrr"] == 0  # asked for, so nothing to warn of


def test_ranknets_cost_takes_a_steepness():
    costs = [evaluate([1, 0], [0.5, 0.0], measures="ranknet", sigma=sigma)["ranknet"] for sigma in (1.0, 2.0)]
    assert costs == pytest.approx([np.log1p(np.exp(-0.5)), np.log1p(np.exp(-1.0))])
    comparison = compare([1, 0], [0.5, 0.0], [0.0, 0.5], measures="ranknet", sigma=2.0)["ranknet"]
    assert (comparison.difference, comparison.wins) == (pytest.approx(-1.0), 1)


def test_table_and_json_show_every_measure():
    result = evaluate(Y, SCORES, qid=QID, measures=["ndcg@10", "map"])
    text = str(result)
    assert "2 queries, convention podium" in text
    assert "95% interval" in text
    assert f"{result['map']:.4f}" in text
    content = json.loads(json.dumps(result.to_dict()))
    assert content["measures"]["map"]["mean"] == result["map"]
    assert content["queries"] == 2


def test_comparison_of_a_ranking_with_itself_and_with_a_better_one():
    rng = np.random.default_rng(0)
    y, qid = rng.integers(0, 3, 900).astype(float), np.repeat(np.arange(60), 15)
    noise = rng.standard_normal(900)
    same = compare(y, noise, noise, qid=qid, measures=["ndcg@10", "pair_loss"])
    assert same["ndcg@10"].p_value == 1.0
    assert same["ndcg@10"].draws == 60
    better = compare(y, y + noise, noise, qid=qid, measures=["ndcg@10", "pair_loss"])
    assert better["ndcg@10"].difference == pytest.approx(better["ndcg@10"].first - better["ndcg@10"].second)
    assert better["ndcg@10"].p_value < 0.001
    assert better["pair_loss"].difference < 0
    assert better["pair_loss"].wins > better["pair_loss"].losses
    assert "won/lost/same" in str(better)
    with pytest.raises(PodiumError, match="was not compared"):
        better["map"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"scores": [1, 2]}, PodiumError, "scores must have one value per row: 3 expected, 2 given"),
        ({"y": [1, np.nan, 0]}, PodiumError, "y must be finite; got nan in row 1"),
        ({"y": [], "scores": []}, PodiumError, "y is empty"),
        ({"qid": [1, 2, 3]}, NoPairsError, "each of the 3 queries has one row"),
        ({"qid": [2, 1]}, PodiumError, "qid looks like query sizes"),
        ({"group": [5, 5, 6]}, PodiumError, "group looks like ids, one per row"),
        ({"group": [2, 2]}, PodiumError, "group sizes must sum to the number of rows: 3 expected, 4 given"),
        ({"measures": "ndcg@0"}, PodiumError, "k"),
        ({"measures": "ncdg@10"}, PodiumError, "ndcg"),
        ({"measures": []}, PodiumError, "measures must name at least one"),
        ({"ties": "random"}, PodiumError, "ties must be one of expected, stable, optimistic, pessimistic"),
        ({"empty": 2}, PodiumError, 'empty must be "skip", 0 or 1; got 2'),
        ({"convention": "lightgmb"}, PodiumError, "lightgbm"),
        ({"confidence": 95}, PodiumError, "confidence must lie between 0 and 1; got 95"),
        ({"n_resamples": -1}, PodiumError, "n_resamples must be an integer"),
        ({"random_state": "x"}, PodiumError, "random_state must be an integer of at least 0; got 'x'"),
        ({"confidence": "a"}, PodiumError, "confidence must lie between 0 and 1; got 'a'"),
        ({"measures": None}, PodiumError, "measures must name at least one"),
        ({"measures": 3}, PodiumError, "measures must name at least one"),
        ({"ties": ["stable"]}, PodiumError, "ties must be one of"),
        ({"convention": ["trec"]}, PodiumError, "convention must be one of"),
        ({"measures": "ndcg@" + "1" * 30}, PodiumError, "k must be"),
        ({"measures": "err", "convention": "catboost"}, PodiumError, "catboost"),
        ({"n_jobs": 0}, PodiumError, "n_jobs must be None or an integer other than 0"),
    ],
)
def test_bad_input_gets_one_sentence(arguments, error, message):
    given = {"y": [1, 0, 2], "scores": [3, 1, 2], **arguments}
    with pytest.raises(error, match=message) as caught:
        evaluate(given.pop("y"), given.pop("scores"), **given)
    assert "\n" not in str(caught.value)


def test_numpy_numbers_are_numbers():
    result = evaluate(Y, SCORES, qid=QID, measures="map", n_resamples=np.int64(10), empty=np.int64(0))
    assert result["map"] == evaluate(Y, SCORES, qid=QID, measures="map", empty=0)["map"]


def test_unknown_option_of_compare_is_refused():
    with pytest.raises(PodiumError, match="An option of compare must be one of"):
        compare(Y, SCORES, SCORES, qid=QID, tie="stable")


def test_no_resamples_give_no_interval_and_no_p_value():
    result = compare(Y, SCORES, -SCORES, qid=QID, measures="ndcg", n_resamples=0)["ndcg"]
    assert np.isnan([result.low, result.high, result.p_value]).all()


def test_pooled_loss_with_mostly_empty_queries_has_an_interval():
    y, scores, qid = [1, 0, 0, 0, 0, 0, 0, 0], [0, 1, 1, 2, 3, 4, 5, 6], [0, 0, 1, 1, 2, 2, 3, 3]
    result = evaluate(y, scores, qid=qid, measures="pair_loss", convention="lightgbm")
    assert result["pair_loss"] == 1.0
    assert result.interval("pair_loss") == (1.0, 1.0)


def test_gain_function_that_writes_changes_no_other_measure():
    def spoil(labels):
        labels *= np.nan
        return np.ones_like(labels)

    result = evaluate(Y, SCORES, qid=QID, measures=["ndcg", "pair_loss"], gain=spoil)
    assert result["pair_loss"] == evaluate(Y, SCORES, qid=QID, measures="pair_loss")["pair_loss"]


def test_huge_linear_gains_do_not_make_a_wrong_order_perfect():
    huge = evaluate([1e308, 1.7e308, 1.6e308], [3, 2, 1], measures="ndcg", gain="linear")["ndcg"]
    small = evaluate([1.0, 1.7, 1.6], [3, 2, 1], measures="ndcg", gain="linear")["ndcg"]
    assert huge == pytest.approx(small)


def pooled(n=40, seed=0):
    """Queries of 2 to 6 rows: their numbers of pairs differ."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n), rng.integers(2, 7, n))
    return rng.integers(0, 3, len(qid)).astype(float), rng.random(len(qid)), rng.random(len(qid)), qid


@pytest.mark.parametrize("measure", ["pair_loss", "ndcg"])
def test_more_queries_than_the_limit_take_the_normal_limit(measure, monkeypatch):
    """Mean ± z √Σ w² (x - mean)² / Σ w over the queries that have a value, of a mean and of a difference."""
    y, one, two, qid = pooled()
    drawn = evaluate(y, one, qid=qid, measures=measure, confidence=0.9)
    monkeypatch.setattr(resampling, "MAX_RESAMPLED_QUERIES", 5)
    normal = evaluate(y, one, qid=qid, measures=measure, confidence=0.9)
    found = normal.result(measure)
    known = ~np.isnan(found.values)
    values, weights = found.values[known], found.weights[known]
    assert (len(set(weights)) > 3) == (measure == "pair_loss")
    half = 1.6448536269514722 * np.sqrt(((weights * (values - found.mean)) ** 2).sum()) / weights.sum()
    np.testing.assert_allclose(normal.interval(measure), [found.mean - half, found.mean + half], rtol=1e-9)
    np.testing.assert_allclose(drawn.interval(measure), normal.interval(measure), atol=half / 2)
    other = evaluate(y, two, qid=qid, measures=measure).result(measure)
    gaps = found.values[known] - other.values[known]
    paired = compare(y, one, two, qid=qid, measures=measure, confidence=0.9)[measure]
    middle = np.average(gaps, weights=weights)
    half = 1.6448536269514722 * np.sqrt(((weights * (gaps - middle)) ** 2).sum()) / weights.sum()
    np.testing.assert_allclose([paired.low, paired.high], [middle - half, middle + half], rtol=1e-9)
    z = abs((weights * gaps).sum()) / np.sqrt(((weights * gaps) ** 2).sum())
    assert paired.p_value == pytest.approx(2 * norm.sf(z), rel=1e-9)


def test_a_paired_test_of_a_pooled_loss_flips_the_pairs_of_whole_queries():
    y, one, two, qid = pooled(8, 3)
    found = compare(y, one, two, qid=qid, measures="pair_loss")["pair_loss"]
    results = [evaluate(y, scores, qid=qid, measures="pair_loss").result("pair_loss") for scores in (one, two)]
    first, second = ((r.values * r.weights)[~np.isnan(r.values)] for r in results)
    sums = np.array(list(product((-1, 1), repeat=len(first)))) @ (first - second)
    assert found.p_value == np.mean(np.abs(sums) >= abs((first - second).sum()) - 1e-9)
    assert found.difference == pytest.approx((first - second).sum() / np.nansum(results[0].weights))
    assert found.wins + found.losses + found.draws == len(first)
    assert (found.wins, found.losses) == ((first < second).sum(), (first > second).sum())


def test_options_reach_the_measures():
    y, scores = [0.0, 2.0, 1.0], [1.0, 1.0, 1.0]
    for ties, expected in (("optimistic", 1.0), ("pessimistic", 1 / 2), ("stable", 1 / 2), ("expected", 5 / 6)):
        assert evaluate(y, scores, measures="mrr", ties=ties)["mrr"] == pytest.approx(expected)
        assert compare(y, scores, y, measures="mrr", ties=ties)["mrr"].first == pytest.approx(expected)
    assert evaluate(y, [0, 1, 0], measures="err", max_grade=4)["err"] < evaluate(y, [0, 1, 0], measures="err")["err"]
    compared = compare(y, scores, y, measures="mrr", convention="lightgbm")
    assert compared.settings["convention"] == "lightgbm"
    assert compare(y, scores, y, measures="mrr").settings["convention"] == "podium"


def test_empty_queries_are_counted_whatever_they_count():
    y, scores, qid = [1, 0, 0, 0], [1, 0, 1, 0], [0, 0, 1, 1]
    for empty, total in (("skip", 1.0), (0, 1.0), (1, 2.0)):
        result = evaluate(y, scores, qid=qid, measures="mrr", empty=empty)
        assert result.n_empty("mrr") == 1
        assert result.total("mrr") == total
        assert result.to_dict()["measures"]["mrr"]["empty_queries"] == 1


def cells(text, name):
    """The cells of a table's row."""
    [line] = [line for line in text.splitlines() if line.strip().startswith(name)]
    return line.replace("…", " ").split()


def test_tables_and_json_show_what_was_found():
    y, one, two, qid = pooled(12)
    result = evaluate(y, one, qid=qid, measures=["map", "pair_loss"])
    for name in ("map", "pair_loss"):
        found = result.result(name)
        low, high = result.interval(name)
        assert low < found.mean < high
        numbers = [f"{value:.4f}" for value in (found.mean, low, high)]
        assert cells(str(result), name) == [name, *numbers, str(found.n_empty)]
        content = result.to_dict()["measures"][name]
        assert (content["mean"], content["low"], content["high"]) == (found.mean, low, high)
    by_query = plain_text(result.query_table())
    for query in (0, 7):
        values = [result.per_query(name)[query] for name in ("map", "pair_loss")]
        assert cells(by_query, f"{query} ") == [str(query), *(f"{v:.4f}" for v in values if not np.isnan(v))]
    compared = compare(y, one, two, qid=qid, measures=["map", "pair_loss"], n_resamples=200)
    for name in ("map", "pair_loss"):
        found = compared[name]
        assert found.first == result[name]
        means = [f"{found.first:.4f}", f"{found.second:.4f}", f"{found.difference:+.4f}"]
        sure = [f"{found.low:+.4f}", f"{found.high:+.4f}", f"{found.p_value:.4f}"]
        assert cells(str(compared), name) == [name, *means, *sure, f"{found.wins}/{found.losses}/{found.draws}"]


def test_measure_not_evaluated_is_named():
    result = evaluate(Y, SCORES, qid=QID, measures="map")
    with pytest.raises(PodiumError, match="'mrr' was not evaluated; measured were map"):
        result["mrr"]
