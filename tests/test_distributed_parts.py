"""Whole fits by parts as a cluster's workers have them: any partitioning of the queries gives the local model."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from parts import in_chunks, run_parts
from podium import MART, AdaBoostOR, LambdaMART, PodiumError, RankBoost, RankingData, make_search
from podium._exact import rounded
from podium._exchange import ALONE
from podium._pair_gate import PairArrays
from podium._validation import check_seed
from podium.distributed import fit, held_evaluation, part_table
from podium.distributed.part_table import Block, number_equal, ranking_data, read_blocks
from podium.trees.regression_tree import Forest

N_ROUNDS = 4


def search(seed=0, n_queries=40):
    """Return rows with weights that are no powers of two, three equal queries among them and one of half the rows."""
    given = make_search(n_queries=n_queries, random_state=seed)
    X, y, qid = np.asarray(given.X)[:, :12], np.asarray(given.y), np.asarray(given.qid).copy()
    rng = np.random.default_rng(seed)
    ids = np.unique(qid)
    qid[np.isin(qid, ids[: n_queries // 2])] = ids[0]
    twin = qid == ids[-1]
    X, y = np.concatenate([X, X[twin], X[twin]]), np.concatenate([y, y[twin], y[twin]])
    weight = rng.random(len(qid)) * 3
    weight = np.concatenate([weight, weight[twin], weight[twin]])
    qid = np.concatenate([qid, np.full(twin.sum(), 10_001), np.full(twin.sum(), 10_002)])
    query_weight = 0.1 + np.abs(np.sin(qid * 1.0))
    query_weight[np.isin(qid, [ids[-1], 10_001])] = 0.7
    query_weight[qid == 10_002] = 0.3
    order = rng.permutation(len(qid))
    return X[order], y[order], qid[order], weight[order], query_weight[order]


def train(ranker, block, exchange):
    """Return the base score and the trees that a part finds together with the others."""
    table = read_blocks([block])
    data, seed = ranking_data(table, exchange), check_seed(ranker.random_state)
    loss = ranker._make_loss(data, 1, seed, exchange)
    start = ranker._start_after(None, loss)
    boosting = ranker._make_boosting(data, loss, start, 1, seed, exchange)
    return start.score, [boosting.step(number + 1).ranking for number in range(N_ROUNDS)]


def partitions(qid):
    """Yield the queries of each part: 2 to 7 parts at random, one query each, equal queries apart."""
    ids, rng = np.unique(qid), np.random.default_rng(1)
    for n_parts in (2, 7):
        owner = rng.integers(0, n_parts, len(ids))
        owner[:n_parts] = np.arange(n_parts)
        yield [ids[owner == part] for part in range(n_parts)]
    yield [ids[ids == 10_001], ids[ids == 10_002], ids[ids < 10_000]]


RANKERS = [
    LambdaMART(N_ROUNDS),
    LambdaMART(N_ROUNDS, delta="map", form="paper", subsample=0.6, colsample_bytree=0.5, reg_lambda=0.3),
    LambdaMART(N_ROUNDS, delta="none", quantized=False, max_bins=9),
    MART(N_ROUNDS, learning_rate=0.3, random_state=5),
    MART(N_ROUNDS, loss="balanced", split_by="squares", monotone_constraints=[1, -1] + [0] * 10),
    MART(N_ROUNDS, loss="cross_entropy", max_depth=3),
    MART(N_ROUNDS, loss="logistic"),
    *(LambdaMART(N_ROUNDS, delta=delta) for delta in ("mrr", "err", "auc", "localized")),
]


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: getattr(ranker, "delta", None) or ranker.loss)
def test_any_partitioning_of_the_queries_gives_the_local_model(ranker):
    X, y, qid, weight, query_weight = search()
    if getattr(ranker, "loss", "") == "logistic":
        y = np.minimum(y, 1.0)
    fitted = ranker.fit(X, y, qid=qid, sample_weight=weight, query_weight=query_weight)
    expected = fitted.predict(X)
    for parts in partitions(qid):
        own = [np.flatnonzero(np.isin(qid, ids)) for ids in parts]
        blocks = [Block(i, X[rows], y[rows], qid[rows], weight[rows], query_weight[rows]) for i, rows in enumerate(own)]
        for start, trees in run_parts(lambda block, exchange: train(ranker, block, exchange), blocks):
            assert start == fitted.base_score_
            np.testing.assert_array_equal(start + Forest.of(trees).score(X), expected)


def test_tiny_weights_are_scaled_by_the_largest_of_all_parts():
    X, y, qid, weight, query_weight = search()
    local = RankingData.from_arrays(X, y, qid=qid, sample_weight=weight, query_weight=query_weight)
    scales = [2.0 ** -np.frexp(one.max())[1] for one in (weight, query_weight)]
    own = [np.flatnonzero(np.isin(qid, ids)) for ids in next(partitions(qid))]
    tiny, queries = weight * 2.0**-600, query_weight * 2.0**-500
    blocks = [Block(i, X[rows], y[rows], qid[rows], tiny[rows], queries[rows]) for i, rows in enumerate(own)]
    for rows, data in zip(
        own, run_parts(lambda block, given: ranking_data(read_blocks([block]), given), blocks), strict=True
    ):
        np.testing.assert_array_equal(data.row_weight, weight[rows][data.queries.rows] * scales[0])
        assert set(data.query_weight) <= set(local.query_weight * scales[1])


def test_tiny_weights_of_pairs_alone_are_scaled_by_the_largest_of_all_parts():
    X, _, qid, *_ = search()
    own = [np.flatnonzero(qid == query) for query in np.unique(qid)[1:3]]
    pairs = [PairArrays(rows[:1], rows[1:2], np.array([0.75 / (i + 1) * 2.0**-600])) for i, rows in enumerate(own)]
    blocks = [Block(i, X[rows], None, qid[rows], None, None, rows, pairs[i]) for i, rows in enumerate(own)]
    found = run_parts(lambda block, given: ranking_data(read_blocks([block]), given), blocks)
    assert [data.pairs.weight.tolist() for data in found] == [[0.75], [0.375]]


WHOLE_RANKERS = [
    *(LambdaMART(2), MART(2), RankBoost(3, criterion="r"), RankBoost(3, criterion="z")),
    AdaBoostOR(n_estimators=3, random_state=0),
]


def whole_fit(ranker, train, columns, **given):
    """Fit by some function; AdaBoost.OR takes no queries."""
    X, y, qid, weight, _ = columns
    queries = {} if isinstance(ranker, AdaBoostOR) else {"qid": qid}
    return train(clone(ranker), X, y, sample_weight=weight, **queries, **given)


@pytest.fixture(scope="module")
def local_scores():
    rows = search()
    return [whole_fit(ranker, type(ranker).fit, rows).predict(rows[0]) for ranker in WHOLE_RANKERS]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("n_parts", range(1, 8))
def test_one_to_seven_chunks_some_of_them_empty_give_the_local_model(client, local_scores, n_parts):
    rows, rng = search(), np.random.default_rng(n_parts)
    cuts = np.sort(rng.integers(0, len(rows[1]), n_parts - 1))
    cuts[: len(cuts) // 2] = cuts[:1]  # empty ones, the first among them where there are six
    cuts[:1] *= n_parts < 6
    sizes = tuple(np.diff(cuts, prepend=0, append=len(rows[1])).tolist())
    assert (0 in sizes) == (n_parts > 4)
    chunks = in_chunks(sizes, *rows)
    for ranker, expected in zip(WHOLE_RANKERS, local_scores, strict=True):
        found = whole_fit(ranker, fit, chunks, client=client)
        np.testing.assert_array_equal(found.predict(rows[0]), expected)


def test_sparse_parts_give_the_local_model_which_is_that_of_missing_values():
    X, y, qid, weight, query_weight = search()
    X[np.random.default_rng(2).random(X.shape) < 0.6] = np.nan
    stored = ~np.isnan(X)
    sparse = sp.csr_array((X[stored], np.nonzero(stored)), X.shape)
    given = {"qid": qid, "sample_weight": weight, "query_weight": query_weight}
    expected = LambdaMART(N_ROUNDS).fit(X, y, **given).predict(X)
    np.testing.assert_array_equal(LambdaMART(N_ROUNDS).fit(sparse, y, **given).predict(sparse), expected)
    parts = list(partitions(qid))[1]
    own = [np.flatnonzero(np.isin(qid, ids)) for ids in parts]
    blocks = [
        Block(i, sparse[rows], y[rows], qid[rows], weight[rows], query_weight[rows]) for i, rows in enumerate(own)
    ]
    for start, trees in run_parts(lambda block, exchange: train(LambdaMART(), block, exchange), blocks):
        np.testing.assert_array_equal(start + Forest.of(trees).score(X), expected)


def test_numbers_of_equal_queries_do_not_depend_on_the_parts_or_the_ranges(monkeypatch):
    rng = np.random.default_rng(0)
    contents = rng.integers(0, 2**64, 30, np.uint64)[rng.integers(0, 30, 200)]
    weight = rng.random(200)
    expected = number_equal(contents, weight, ALONE)
    for key in np.unique(contents):
        own = np.flatnonzero(contents == key)
        np.testing.assert_array_equal(expected[own[np.argsort(weight[own])]], np.arange(len(own)))
    monkeypatch.setattr(part_table, "QUERIES_PER_MESSAGE", 30)
    owner = rng.integers(0, 4, 200)
    parts = [np.flatnonzero(owner == part) for part in range(4)]
    found = run_parts(lambda rows, exchange: number_equal(contents[rows], weight[rows], exchange), parts)
    for rows, numbers in zip(parts, found, strict=True):
        np.testing.assert_array_equal(numbers, expected[rows])


def test_weights_far_apart_are_scaled_by_the_largest_of_all_parts():
    X, y, qid, weight, _ = search()
    weight[qid == 10_001] *= 2.0**70
    weight[qid == 10_002] *= 2.0**-120
    whole = RankingData.from_arrays(X, y, qid=qid, sample_weight=weight)
    parts = [np.flatnonzero(qid == 10_001), np.flatnonzero(qid != 10_001)]
    blocks = [Block(0, X[rows], y[rows], qid[rows], weight[rows], None) for rows in parts]
    found = run_parts(lambda block, exchange: ranking_data(read_blocks([block]), exchange), blocks)
    for rows, data in zip(parts, found, strict=True):
        own = np.empty(len(qid))
        own[whole.queries.rows] = whole.row_weight
        np.testing.assert_array_equal(data.queries.to_caller(data.row_weight), own[rows])
        keys = np.empty(len(qid), np.uint64)
        keys[whole.queries.rows] = whole.queries.place_keys()
        np.testing.assert_array_equal(data.queries.to_caller(data.queries.place_keys()), keys[rows])


def block(number=0, n=4, **given):
    base = {"X": np.zeros((n, 2)), "y": np.arange(n), "qid": np.arange(n) // 2, "sample_weight": None}
    return Block(number, **(base | {"query_weight": None} | given))


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([block(), block(3, y=[0, 1, np.nan, 1])], "Part 3: y must be finite; got nan in row 2"),
        ([block(), block(1, X=np.zeros((4, 3)))], "part 0 has 2 columns, part 1 has 3 columns"),
        ([block(), block(1, X=np.zeros((4, 2), np.float32))], "part 0 has float64, part 1 has float32"),
        ([block(), block(1, X=sp.csr_array((4, 2)))], "part 0 has float64, part 1 has sparse float64"),
        ([block(2, sample_weight=[1, 2, -1, 0])], "Part 2: sample_weight must be finite and not negative; got -1"),
        ([block(2, sample_weight=[1, 2])], "Part 2: sample_weight must"),
        (
            [block(2, qid=None, y=["a", "b", "a", "b"])],
            "Part 2: y must hold numbers, as the type of its collection says; got <U1",
        ),
        ([block(2, qid=None, y=pd.Series(pd.Categorical([1, 2, 1, 2])))], "Part 2: y must .* got CategoricalDtype"),
        ([block(2, query_weight={0: 1.0})], "Part 2: query_weight has no weight for query 1"),
    ],
)
def test_bad_blocks_are_refused_by_their_number(blocks, message):
    with pytest.raises(PodiumError, match=message):
        read_blocks(blocks)


def test_blocks_without_rows_count_as_nothing_and_a_part_may_weigh_nothing():
    empty = Block(1, np.zeros((0, 2)), np.zeros(0), np.zeros(0), None, None)
    assert read_blocks([empty]) is None
    table = read_blocks([block(0, sample_weight=np.zeros(4)), empty])
    assert len(table.labels) == 4
    assert list(table.ids_of_blocks) == [0]
    with pytest.raises(PodiumError, match="sample_weight must have a positive value"):
        ranking_data(table, ALONE)
    with pytest.raises(PodiumError, match="query_weight must be the same for all rows of a query"):
        ranking_data(read_blocks([block(query_weight=[1.0, 2.0, 1.0, 1.0])]), ALONE)


def test_queries_without_a_value_have_no_part_in_means():
    values, weights = np.array([0.5, np.nan, 0.25]), np.array([1.0, 2.0, 3.0])
    digits = held_evaluation._weighted_digits(values, weights)
    assert rounded(np.array(digits)) == [1.25, 4.0]
