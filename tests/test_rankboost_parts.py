"""RankBoost by parts as a cluster's workers have them: any partitioning of the queries gives the local model."""

import numpy as np
import pytest
import scipy.sparse as sp

from parts import run_parts
from podium import PodiumError, RankBoost, RankingData, make_search
from podium._exchange import ALONE, Exchange
from podium._pair_gate import PairArrays
from podium.boosting import Stop
from podium.data import feedback_of
from podium.distributed.part_pairs import pairs_of_blocks, renumbered
from podium.distributed.part_table import Block, ranking_data, read_blocks
from podium.pairs import Distribution
from podium.pairs.explicit_part import PairOrder
from podium.stumps.crossing import CrossingWeights

N_ROUNDS = 6


@pytest.fixture(scope="module")
def rows():
    """Return rows with weights that are no powers of two, three equal queries, one of half the rows, and pairs."""
    given = make_search(n_queries=24, random_state=0)
    X, y, qid = np.asarray(given.X)[:, :9], np.asarray(given.y), np.asarray(given.qid).copy()
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < 0.05] = np.nan
    ids = np.unique(qid)
    qid[np.isin(qid, ids[:12])] = ids[0]
    twin = qid == ids[-1]
    X, y = np.concatenate([X, X[twin], X[twin]]), np.concatenate([y, y[twin], y[twin]])
    weight = rng.random(len(qid)) * 3
    weight = np.concatenate([weight, weight[twin], weight[twin]])
    qid = np.concatenate([qid, np.full(twin.sum(), 10_001), np.full(twin.sum(), 10_002)])
    query_weight = 0.1 + np.abs(np.sin(qid * 1.0))
    query_weight[np.isin(qid, [ids[-1], 10_001])] = 0.7
    order = rng.permutation(len(qid))
    columns = X[order], y[order], qid[order], weight[order], query_weight[order]
    return *columns, pairs_within(columns[2], rng, 900)


def pairs_within(qid, rng, number):
    """Return random pairs of rows of one query, some twice and some both ways."""
    better, worse = rng.integers(0, len(qid), (2, 40 * number))
    kept = np.flatnonzero((qid[better] == qid[worse]) & (better != worse))[:number]
    return PairArrays(better[kept], worse[kept], 0.1 + rng.random(len(kept)))


def partitions(qid):
    """Return the queries of each part: one, 2 and 7 parts at random, equal queries apart and the giant one alone."""
    ids, rng = np.unique(qid), np.random.default_rng(1)
    found = [[ids]]
    for n_parts in (2, 7):
        owner = rng.integers(0, n_parts, len(ids))
        owner[:n_parts] = np.arange(n_parts)
        found.append([ids[owner == part] for part in range(n_parts)])
    return [*found, [ids[ids == 10_001], ids[ids == 10_002], ids[:1], ids[(ids > ids[0]) & (ids < 10_000)]]]


def blocks_of(parts, X, y, qid, weight, query_weight, pairs=None):
    """Return a block of each part; its rows know their numbers among all where there are pairs."""
    found = []
    for number, ids in enumerate(parts):
        own = np.flatnonzero(np.isin(qid, ids))
        block = Block(number, X[own], None if y is None else y[own], qid[own], weight[own], query_weight[own])
        if pairs is not None:
            chosen = np.isin(pairs.better, own)
            block = block._replace(row=own, pairs=PairArrays(*(column[chosen] for column in pairs)))
        found.append(block)
    return found


def train(ranker, block, exchange):
    """Return the rounds that a part finds together with the others."""
    boosting = ranker._make_boosting(ranking_data(read_blocks([block]), exchange), 1, exchange)
    rounds = []
    for number in range(ranker.n_estimators):
        found = boosting.step(number + 1)
        if isinstance(found, Stop):
            break
        rounds.append(found)
    return rounds


GRADED = {
    "r": {},
    "z": {"criterion": "z"},
    "r, alpha z": {"alpha": "z", "undefined": "stop"},
    "z, alpha r": {"criterion": "z", "alpha": "r", "pair_weight": "queries"},
    "numeric": {"alpha": "numeric", "pair_weight": "differences"},
    "z, differences": {"criterion": "z", "pair_weight": "differences", "abstain": 1},
    "cumulative": {"criterion": "z", "cumulative": True, "learning_rate": 0.7},
}


@pytest.mark.parametrize("options", GRADED.values(), ids=GRADED.keys())
def test_any_partitioning_of_the_queries_gives_the_local_rounds(rows, options):
    X, y, qid, weight, query_weight, _ = rows
    ranker = RankBoost(N_ROUNDS, max_bins=40, **options)
    expected = ranker.fit(X, y, qid=qid, sample_weight=weight, query_weight=query_weight).rounds_
    assert len(expected) == N_ROUNDS
    for parts in partitions(qid):
        for found in run_parts(lambda block, own: train(ranker, block, own), blocks_of(parts, *rows[:5])):
            assert found == expected


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("options", [{}, {"criterion": "z"}, {"alpha": "numeric", "contradictions": "net"}])
def test_pairs_within_queries_give_the_local_rounds(rows, options, labelled, monkeypatch):
    X, y, qid, weight, query_weight, pairs = rows
    if options.get("contradictions"):
        labelled = False
    monkeypatch.setattr("podium.pairs.explicit_part.PAIRS_PER_CHUNK", 100)  # the giant query has several layers
    given = {"sample_weight": weight, "query_weight": query_weight} if labelled else {}
    ranker = RankBoost(N_ROUNDS, max_bins=40, **options)
    expected = ranker.fit(X, y if labelled else None, qid=qid, pairs=tuple(pairs), **given).rounds_
    assert len(expected) == N_ROUNDS
    unit = np.ones(len(qid))
    for parts in partitions(qid)[1:]:
        columns = (X, y, qid, weight, query_weight) if labelled else (X, None, qid, unit, unit)
        for found in run_parts(lambda block, own: train(ranker, block, own), blocks_of(parts, *columns, pairs)):
            assert found == expected


def test_a_part_without_pairs_goes_along_with_the_others(rows):
    X, _, qid, *_, pairs = rows
    ids, unit = np.unique(qid), np.ones(len(qid))
    own = np.isin(qid[pairs.better], ids[:1])
    few = PairArrays(*(column[own] for column in pairs))
    ranker = RankBoost(2, max_bins=10)
    expected = ranker.fit(X, qid=qid, pairs=tuple(few)).rounds_
    blocks = blocks_of([ids[:1], ids[1:]], X, None, qid, unit, unit, few)
    assert run_parts(lambda block, own: train(ranker, block, own), blocks) == [expected, expected]


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("options", [{"max_bins": 12}, {"criterion": "z", "pair_weight": "differences"}])
def test_sparse_parts_give_the_rounds_of_the_local_fit_on_the_sparse_matrix(rows, options, paired, monkeypatch):
    X, y, qid, weight, query_weight, pairs = rows
    monkeypatch.setattr("podium.binning.cuts.MAX_ROWS_SORTED", 300)
    monkeypatch.setattr("podium.binning.cuts.SAMPLE_ROWS", 200)
    stored = ~np.isnan(X) & (np.random.default_rng(3).random(X.shape) < 0.4)
    stored[:, 8] = False  # a feature that no row has
    sparse = sp.csr_array((X[stored], np.nonzero(stored)), X.shape)
    ranker, given = RankBoost(N_ROUNDS, **options), {"sample_weight": weight, "query_weight": query_weight}
    expected = ranker.fit(sparse, y, qid=qid, pairs=tuple(pairs) if paired else None, **given).rounds_
    assert len(expected) == N_ROUNDS
    dense = ranker.fit(np.where(stored, X, np.nan), y, qid=qid, pairs=tuple(pairs) if paired else None, **given).rounds_
    assert [(one.feature, one.threshold) for one in dense] == [(one.feature, one.threshold) for one in expected]
    columns = sparse, y, qid, weight, query_weight, pairs if paired else None
    for parts in partitions(qid):
        for found in run_parts(lambda block, own: train(ranker, block, own), blocks_of(parts, *columns)):
            assert found == expected


def naive_totals(exchange, columns):
    return exchange.gather(np.array([np.sum(column) for column in columns])).sum(axis=0).tolist()


@pytest.mark.parametrize("options", [{"alpha": "numeric"}, {"alpha": "z"}])
def test_with_naive_sums_over_queries_the_rounds_would_differ(rows, options, monkeypatch):
    ranker, blocks = RankBoost(30, **options), blocks_of(partitions(rows[2])[2], *rows[:5])
    expected = run_parts(lambda block, own: train(ranker, block, own), blocks)[0]
    monkeypatch.setattr(Exchange, "totals", naive_totals)
    found = run_parts(lambda block, own: train(ranker, block, own), blocks)[0]
    assert found != expected
    assert [one.feature for one in found] == [one.feature for one in expected]
    np.testing.assert_allclose([one.alpha for one in found], [one.alpha for one in expected], rtol=1e-9)


def test_with_naive_walks_the_weights_of_stumps_would_differ(rows):
    X, y, qid, weight, query_weight, _ = rows
    data = RankingData.from_arrays(X, y, qid=qid, sample_weight=weight, query_weight=query_weight)
    ranker = RankBoost(1, criterion="z")
    boosting = ranker._make_boosting(data, 1)
    minus, plus = CrossingWeights(boosting.learner.bins)(boosting.distribution)
    exact = boosting.distribution.ranking_weights(boosting.learner.bins.indicator(0, 3, 0))
    place = boosting.learner.bins.cuts.offsets[0] + 3
    np.testing.assert_allclose([minus[0, place], plus[0, place]], [exact.minus, exact.plus], atol=1e-15)
    assert minus[0, place] * 2.0**62 % 1 == plus[0, place] * 2.0**62 % 1 == 0


def test_scores_far_apart_in_one_part_move_all_parts(rows):
    X, y, qid, weight, query_weight, pairs = rows
    steps = 400.0 * np.random.default_rng(2).random(len(qid)) * (qid < 5_000)

    def moved(block, exchange):
        data = ranking_data(read_blocks([block]), exchange)
        distribution = Distribution(feedback_of(data, exchange=exchange), len(data.labels), 1, exchange)
        own = (steps if block.row is None else steps[block.row])[data.queries.rows]
        normalisers = [distribution.update(3 * own), distribution.update(own)]
        potentials = np.empty(len(own))
        potentials[data.queries.rows] = distribution.potentials()
        return normalisers, distribution.moments(own / 400, 0.3), potentials

    columns = X, y, qid, weight, query_weight
    whole = moved(blocks_of([np.unique(qid)], *columns, pairs)[0], ALONE)
    for parts in partitions(qid)[1:]:
        blocks = blocks_of(parts, *columns, pairs)
        for block, found in zip(blocks, run_parts(moved, blocks), strict=True):
            assert found[:2] == whole[:2]
            np.testing.assert_array_equal(found[2], whole[2][block.row])


def test_runs_of_pairs_end_where_no_pair_joins_two_rows(monkeypatch):
    monkeypatch.setattr("podium.pairs.explicit_part.PAIRS_PER_CHUNK", 4)
    better = np.array([0, 0, 1, 2, 5, 5, 6, 9, 9, 9, 9, 10, 10, 10, 10, 11, 12])
    worse = np.array([2, 1, 2, 1, 4, 6, 4, 10, 11, 12, 13, 9, 11, 12, 13, 12, 14])
    order = PairOrder.of(pairs=PairArrays(better, worse, np.ones(17)), n_rows=16)
    runs = order.runs(16)
    assert [(order.better[first:last].tolist(), layer) for first, last, layer in runs] == [
        ([0, 1, 2, 5, 6], 0),
        ([9, 10], 0),
        ([11, 12], 1),
    ]
    assert PairOrder.of(PairArrays(better[:0], worse[:0], np.ones(0)), 16).runs(16) == []


def test_a_single_pair_joins_the_rows_that_it_crosses(monkeypatch):
    monkeypatch.setattr("podium.pairs.explicit_part.PAIRS_PER_CHUNK", 1)
    pairs = PairArrays(np.array([0, 1, 4]), np.array([2, 3, 5]), np.ones(3))
    order = PairOrder.of(pairs=pairs, n_rows=6)
    first_layer = [order.better[first:last].tolist() for first, last, layer in order.runs(6) if layer == 0]
    assert [4] in first_layer
    assert [0] not in first_layer or [1] not in first_layer, "two threads would add to row 2"


def test_pairs_go_with_their_better_rows_and_must_lie_within_queries():
    pairs = PairArrays(np.array([3, 0, 2]), np.array([2, 1, 3]), np.array([1.0, 2.0, 3.0]))
    first, second, third = pairs_of_blocks(pairs, np.array([0, 2, 2, 4]))
    assert first.better.tolist() == [0]
    assert second.better.tolist() == []
    assert third.weight.tolist() == [3.0, 1.0]
    assert renumbered(third, np.array([3, 2]), np.array([7, 7])).better.tolist() == [1, 0]
    for row, qid in (([2, 3], [7, 8]), ([3, 5], [7, 7])):
        with pytest.raises(PodiumError, match=r"row (2 above row 3|3 above row 2) joins two"):
            renumbered(third, np.array(row), np.array(qid))
