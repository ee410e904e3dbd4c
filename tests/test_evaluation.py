"""The public evaluation: values, tables, order, conventions, and each bad input with its sentence."""

import json

import numpy as np
import pytest

from podium import NoPairsError, PodiumError, compare, evaluate

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
        ({"n_resamples": -1}, PodiumError, "n_resamples must be a whole number"),
        ({"random_state": "x"}, PodiumError, "random_state must be a whole number of at least 0; got 'x'"),
        ({"confidence": "a"}, PodiumError, "confidence must lie between 0 and 1; got 'a'"),
        ({"measures": None}, PodiumError, "measures must name at least one"),
        ({"measures": 3}, PodiumError, "measures must name at least one"),
        ({"ties": ["stable"]}, PodiumError, "ties must be one of"),
        ({"convention": ["trec"]}, PodiumError, "convention must be one of"),
        ({"measures": "ndcg@" + "1" * 30}, PodiumError, "k must be"),
        ({"measures": "err", "convention": "catboost"}, PodiumError, "catboost"),
        ({"n_jobs": 0}, PodiumError, "n_jobs must be None or a whole number other than 0"),
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


def test_many_queries_take_the_normal_limit():
    rng = np.random.default_rng(0)
    n = 30_000
    y, scores, qid = rng.integers(0, 2, 2 * n), rng.random(2 * n), np.repeat(np.arange(n), 2)
    few = qid < 19_000
    many = evaluate(y, scores, qid=qid, measures="pair_loss")
    some = evaluate(y[few], scores[few], qid=qid[few], measures="pair_loss")
    widths = [np.diff(result.interval("pair_loss"))[0] for result in (many, some)]
    assert widths[0] / widths[1] == pytest.approx(np.sqrt(19 / 30), rel=0.1)


def test_measure_not_evaluated_is_named():
    result = evaluate(Y, SCORES, qid=QID, measures="map")
    with pytest.raises(PodiumError, match="'mrr' was not evaluated; measured were map"):
        result["mrr"]
