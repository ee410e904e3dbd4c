"""Several rankings at once: the table, all pairs with corrected tests, average ranks, critical differences."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peers import peer
from podium import PodiumError, compare, evaluate, leaderboard, plots
from podium.evaluation import MeasureResult
from podium.evaluation import contest as contest_module
from podium.evaluation.average_ranks import alike_groups, critical_difference, friedman, query_ranks
from podium.evaluation.paired_tests import holm, wilcoxon_p_value
from podium.evaluation.rank_diagram import AXIS_CELLS, text_diagram
from profiles import examples
from reference import comparing as twin

pytestmark = pytest.mark.plain


@pytest.fixture
def data():
    """Labels of 40 queries and rankings of different noise."""
    rng = np.random.default_rng(0)
    y, qid = rng.integers(0, 3, 400).astype(float), np.repeat(np.arange(40), 10)
    noisy = {name: y + rng.normal(0, noise, 400) for name, noise in (("far", 9), ("near", 1), ("middle", 2))}
    return y, noisy, qid


def test_the_best_by_the_first_measure_stands_on_top(data):
    y, rankings, qid = data
    board = leaderboard(y, rankings, qid=qid, measures=["ndcg@5", "pair_loss"])
    assert list(board) == ["near", "middle", "far"]
    assert list(leaderboard(y, rankings, qid=qid, measures="pair_loss")) == ["near", "middle", "far"]
    for name, scores in rankings.items():
        alone = evaluate(y, scores, qid=qid, measures=["ndcg@5", "pair_loss"])
        assert board[name].to_dict() == alone.to_dict()
    assert [line.split()[0] for line in str(board).splitlines()[-3:]] == list(board)
    assert board.to_dict()["rankings"]["far"]["ndcg@5"]["mean"] == board["far"]["ndcg@5"]


def test_equal_rankings_stand_by_name_and_what_has_no_value_last():
    board = leaderboard([1, 0, 0], {"b": [3, 2, 1], "a": [3, 2, 1], "c": [1, 2, 3]}, group=[3], measures="mrr")
    assert list(board) == ["a", "b", "c"]
    with pytest.warns(UserWarning, match="undefined"):
        board = leaderboard([0, 0, 0], {"b": [3, 2, 1], "a": [3, 2, 1]}, group=[3], measures="mrr")
    assert list(board) == ["a", "b"]
    with pytest.raises(PodiumError, match="mrr has no value on any query"):
        board.contest()


def test_empty_queries_are_counted_in_the_table():
    rankings = {"a": [3, 2, 1, 0], "b": [1, 2, 3, 4]}
    table = str(leaderboard([1, 0, 0, 0], rankings, qid=[1, 1, 2, 2], measures="mrr"))
    assert "empty queries" in table
    assert "empty queries" not in str(leaderboard([1, 0, 0, 1], rankings, qid=[1, 1, 2, 2], measures="mrr"))


def test_rows_and_queries_in_any_order_give_the_same_contest(data):
    y, rankings, qid = data
    order = np.random.default_rng(1).permutation(len(y))
    moved = {name: rankings[name][order] for name in reversed(rankings)}
    one = leaderboard(y, rankings, qid=qid, measures="ndcg@5")
    two = leaderboard(y[order], moved, qid=qid[order], measures="ndcg@5")
    assert one.to_dict() == two.to_dict()
    assert one.contest().to_dict() == two.contest().to_dict()


def test_each_pair_is_compared_as_two_rankings_are(data):
    y, rankings, qid = data
    board = leaderboard(y, rankings, qid=qid, measures=["ndcg@5", "pair_loss"])
    for measure in ("ndcg@5", "pair_loss"):
        contest = board.contest(measure)
        for pair in contest.pairs:
            expected = compare(y, rankings[pair.first], rankings[pair.second], qid=qid, measures=measure)[measure]
            assert pair.paired == expected
        assert [pair.p_holm for pair in contest.pairs] == holm([pair.paired.p_value for pair in contest.pairs])
        assert [pair.wilcoxon_holm for pair in contest.pairs] == holm([pair.wilcoxon for pair in contest.pairs])
    against = board.against("far")
    assert (
        against.results["near"]["ndcg@5"]
        == compare(y, rankings["near"], rankings["far"], qid=qid, measures="ndcg@5")["ndcg@5"]
    )
    expected = holm([one["ndcg@5"].p_value for one in against.results.values()])
    assert [one["ndcg@5"] for one in against.corrected.values()] == expected
    assert against.to_dict()["rankings"]["near"]["ndcg@5"]["p_holm"] == against.corrected["near"]["ndcg@5"]
    assert list(against.results) == ["near", "middle"]
    assert "against far" in str(against)


def test_the_lowest_loss_wins(data):
    y, rankings, qid = data
    contest = leaderboard(y, rankings, qid=qid, measures="disagreement").contest()
    assert contest.names == ("near", "middle", "far")
    assert contest.average_ranks[0] < 1.5
    pair = contest.pairs[0].paired
    assert pair.difference < 0
    assert pair.wins > pair.losses


def test_a_contest_stands_by_average_rank_whatever_the_means():
    """a wins often by a little, b once by much."""
    values = {"b": [0.4, 0.4, 0.4, 1.0, np.nan], "a": [0.5, 0.5, 0.5, 0.0, 1.0]}
    results = {
        name: MeasureResult(np.array(one), np.ones(5), float(np.nanmean(one)), 0.0, 1.0, 0)
        for name, one in values.items()
    }
    settings = {"confidence": 0.95, "n_resamples": 100, "random_state": 0}
    contest = contest_module.contest_of("mrr", results, True, settings)
    assert contest.names == ("a", "b")
    assert (contest.average_ranks.tolist(), contest.n_queries) == ([1.25, 1.75], 4)
    assert contest.pairs[0].paired.difference == pytest.approx(0.375 - 0.55)


def test_contests_agree_with_scipy(data):
    from scipy import stats

    y, rankings, qid = data
    board = leaderboard(y, rankings, qid=qid, measures="ndcg@3")
    values = {name: board[name].result("ndcg@3").values for name in board}
    contest = board.contest()
    known = ~np.isnan(np.array(list(values.values()))).any(axis=0)
    expected = stats.friedmanchisquare(*(one[known] for one in values.values()))
    assert (contest.friedman, contest.friedman_p) == pytest.approx((expected.statistic, expected.pvalue))
    assert contest.n_queries == known.sum()
    ranks = stats.rankdata(-np.column_stack([values[name][known] for name in contest.names]), axis=1)
    assert contest.average_ranks == pytest.approx(ranks.mean(axis=0))
    for pair in contest.pairs:
        expected = stats.wilcoxon(values[pair.first][known], values[pair.second][known]).pvalue
        assert pair.wilcoxon == pytest.approx(expected)


@examples(60)
@given(st.integers(2, 5).flatmap(lambda k: st.lists(st.lists(st.integers(0, 3), min_size=k, max_size=k), min_size=1)))
def test_ranks_share_places_as_scipy_has_them(gains):
    from scipy import stats

    gains = np.array(gains, float)
    ranks = query_ranks(gains)
    assert ranks.tolist() == stats.rankdata(-gains, axis=1).tolist()
    statistic, p_value = friedman(ranks)
    if (gains == gains[:, :1]).all():
        assert (statistic, p_value) == (0.0, 1.0)
    elif gains.shape[1] > 2:
        expected = stats.friedmanchisquare(*gains.T)
        assert (statistic, p_value) == pytest.approx((expected.statistic, expected.pvalue))


# Demšar (2006), Table 5 (a): critical values of the two-tailed Nemenyi test.
DEMSAR = {
    0.05: [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164],
    0.10: [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920],
}


@pytest.mark.parametrize("alpha", DEMSAR)
def test_critical_differences_are_those_of_the_table(alpha):
    for k, value in enumerate(DEMSAR[alpha], 2):
        expected = value * math.sqrt(k * (k + 1) / (6 * 14))
        assert critical_difference(k, 14, alpha) == pytest.approx(expected, rel=4e-4)


@examples(100)
@given(st.lists(st.sampled_from([0.0, 0.001, 0.01, 0.02, 0.04, 0.3, 1.0]), min_size=1, max_size=8))
def test_holms_corrected_values_reject_what_his_procedure_does(p_values):
    corrected = holm(p_values)
    for alpha in (0.015, 0.05, 0.5):
        assert [one < alpha for one in corrected] == twin.holm_rejections(p_values, alpha)
    assert all(before <= after <= 1 for before, after in zip(p_values, corrected, strict=True))


def test_holm_leaves_what_was_not_tested():
    corrected = holm([0.01, math.nan, 0.04])
    assert corrected[0] == 0.02
    assert math.isnan(corrected[1])
    assert corrected[2] == 0.04


def test_wilcoxon_of_equal_values_shows_nothing():
    assert wilcoxon_p_value(np.ones(5), np.ones(5)) == 1.0


@pytest.mark.parametrize("n", [1, 2, 3, 8, 60])
def test_wilcoxon_of_few_or_tied_differences_is_silent(n):
    first = np.arange(n) % 3 + 1.0
    assert 0 < wilcoxon_p_value(first, np.zeros(n)) <= 1


@examples(100)
@given(st.integers(2, 6).flatmap(lambda n: st.lists(st.booleans(), min_size=n * n, max_size=n * n)))
def test_groups_are_the_longest_runs_of_which_no_two_differ(flags):
    n = math.isqrt(len(flags))

    def differ(a, b):
        return flags[a * n + b]

    assert alike_groups(n, differ) == twin.alike_groups(n, differ)


def test_groups_of_a_contest_by_either_test(data):
    y, rankings, qid = data
    contest = leaderboard(y, rankings, qid=qid, measures="ndcg@5").contest()
    gaps = np.diff(contest.average_ranks)
    expected = [(a, b) for a, b in ((0, 1), (1, 2)) if gaps[a] < contest.critical_difference]
    assert contest.groups() == [contest.names[a : b + 1] for a, b in expected]
    assert [pair.wilcoxon_holm < 0.05 for pair in contest.pairs] == [True] * 3
    assert contest.groups("wilcoxon") == []
    assert contest.to_dict()["groups"]["wilcoxon"] == []
    with pytest.raises(PodiumError, match="by must be one of nemenyi, wilcoxon; got 'holm'"):
        contest.groups("holm")
    assert "the rankings differ" in str(contest)


def test_one_critical_difference_apart_differs(data, monkeypatch):
    y, rankings, qid = data
    board = leaderboard(y, rankings, qid=qid, measures="ndcg@5")
    ranks = board.contest().average_ranks
    monkeypatch.setattr(contest_module, "critical_difference", lambda *_: float(ranks[1] - ranks[0]))
    assert ("near", "middle") not in board.contest().groups()


def test_the_text_diagram_draws_ranks_and_groups():
    lines = text_diagram("ranks", ["a", "bcd", "e"], [1.0, 2.0, 3.0], [(0, 1)], 1.0).splitlines()
    middle = (AXIS_CELLS - 1) // 2
    assert lines[0] == "ranks"
    assert (lines[1].index("2"), lines[1].index("3")) == (middle, AXIS_CELLS - 1)
    assert lines[2] == "├" + "─" * (middle - 1) + "┼" + "─" * (middle - 1) + "┤"
    assert lines[3].startswith("├" + "─" * (middle - 1) + "┤ ")
    assert lines[3].endswith("critical difference 1.000")
    assert [line.index("●") for line in lines[4:7]] == [0, middle, AXIS_CELLS - 1]
    assert lines[5].endswith("bcd  2.000")
    assert lines[7].split("  ")[0] == "━" * (middle + 1)
    assert lines[7].endswith("no difference shown: a, bcd")


def test_many_rankings_leave_numbers_of_the_axis_apart():
    numbers = text_diagram("", [str(i) for i in range(40)], np.linspace(1, 40, 40).tolist(), []).splitlines()[1]
    assert numbers.split() == [*map(str, range(1, 38, 4)), "40"]


def test_the_chart_draws_ranks_bars_and_the_critical_difference(data):
    peer("altair")
    y, rankings, qid = data
    contest = leaderboard(y, {**rankings, "again": rankings["near"]}, qid=qid, measures="ndcg@5").contest()
    assert contest.groups() == [("again", "near", "middle")]
    layers = plots.critical_difference(contest).to_dict()["layer"]
    bars = layers[1]["data"]["values"]
    assert len(bars) == len(contest.groups())
    for bar, (first, last) in zip(bars, contest.runs(), strict=True):
        ends = contest.average_ranks[first] - 0.02, contest.average_ranks[last] + 0.02
        assert (bar["x"], bar["x2"]) == pytest.approx(ends)
    names = [row["text"] for layer in layers[2:4] for row in layer["data"]["values"]]
    assert [name in " ".join(names) for name in contest.names] == [True] * 4
    assert any("critical difference" in name for name in names)
    ruler = [row for row in layers[0]["data"]["values"] if row["y"] == row["y2"] and row["y"] < -1]
    assert ruler[0]["x2"] - ruler[0]["x"] == pytest.approx(contest.critical_difference)
    other = plots.critical_difference(contest, by="wilcoxon", title="T").to_dict()
    assert other["title"] == "T"
    assert not any("critical" in row["text"] for row in other["layer"][3]["data"]["values"])


def test_frames_of_both_libraries_hold_the_numbers(data):
    pandas, polars = peer("pandas"), peer("polars")
    y, rankings, qid = data
    board = leaderboard(y, rankings, qid=qid, measures=["ndcg@5", "map"])
    comparison = compare(y, rankings["near"], rankings["far"], qid=qid, measures=["ndcg@5", "map"])
    for result, n_rows in ((board, 6), (board["near"], 40), (comparison, 2), (board.contest(), 3)):
        frame, other = result.to_pandas(), result.to_polars()
        assert isinstance(frame, pandas.DataFrame)
        assert isinstance(other, polars.DataFrame)
        assert list(frame.columns) == other.columns
        assert len(frame) == len(other) == n_rows
    near = board.to_pandas().query("ranking == 'near' and measure == 'map'")
    assert near["mean"].item() == board["near"]["map"]
    assert board["near"].to_polars()["ndcg@5"].to_list() == board["near"].result("ndcg@5").values.tolist()
    assert comparison.to_pandas()["p_value"].tolist() == [comparison[name].p_value for name in ("ndcg@5", "map")]


def test_without_resamples_there_are_no_intervals_and_no_randomisation_tests(data):
    y, rankings, qid = data
    board = leaderboard(y, rankings, qid=qid, measures="map", n_resamples=0)
    assert "…" not in str(board)
    contest = board.contest()
    assert math.isnan(contest.pairs[0].paired.p_value)
    assert contest.pairs[0].wilcoxon < 0.05


def test_bad_rankings_are_refused_in_a_sentence(data):
    y, rankings, qid = data
    for bad in ({}, [1, 2], {1: y}):
        with pytest.raises(PodiumError, match="rankings must map names to scores"):
            leaderboard(y, bad, qid=qid)
    with pytest.raises(PodiumError, match=r"a.txt must have one value per row: 400 expected, 3 given"):
        leaderboard(y, {"a.txt": [1, 2, 3]}, qid=qid)
    with pytest.raises(PodiumError, match="An option of leaderboard must be one of"):
        leaderboard(y, rankings, qid=qid, tie="stable")
    board = leaderboard(y, {"only": y}, qid=qid)
    with pytest.raises(PodiumError, match="A contest needs at least two rankings; got 1"):
        board.contest()
    with pytest.raises(PodiumError, match="A ranking must be one of only; got 'other'"):
        board["other"]
