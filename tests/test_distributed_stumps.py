"""RankBoost and AdaBoost.OR on Dask: the local model, bit for bit, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from parts import in_chunks
from podium import AdaBoostOR, LambdaMART, ORBoost, PodiumError, PRank, RankBoost, make_search
from podium.distributed import fit

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:distributed"),
]


@pytest.fixture(scope="module")
def rows():
    given = make_search(n_queries=25, random_state=3)
    X, y, qid = np.asarray(given.X)[:, :8], np.asarray(given.y), np.asarray(given.qid)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order], qid[order], np.random.default_rng(1).random(len(y)) + 0.1


def pairs_within(qid):
    rng = np.random.default_rng(2)
    better, worse = rng.integers(0, len(qid), (2, 20_000))
    kept = np.flatnonzero((qid[better] == qid[worse]) & (better != worse))[:300]
    return better[kept], worse[kept], 0.1 + rng.random(len(kept))


def assert_same(found, expected):
    assert found.rounds_ == expected.rounds_
    assert found.training_summary_ == expected.training_summary_
    assert found.evals_result_ == expected.evals_result_
    assert found.best_iteration_ == expected.best_iteration_
    assert found.stop_reason_ == expected.stop_reason_


def test_a_fit_with_early_stopping_and_a_checkpoint_of_other_parts_is_the_local_fit(client, rows, tmp_path):
    X, y, qid, weight = rows
    options = {"criterion": "z", "early_stopping_rounds": 2, "eval_metric": ["ndcg@5", "pair_loss"]}
    local = RankBoost(30, **options).fit(X, y, qid=qid, sample_weight=weight, eval_set=[(X, y)], eval_qid=[qid])
    assert 3 < local.best_iteration_ < 30
    path = tmp_path / "kept.podium"
    for size, n_rounds in ((10_000, 3), (150, 30)):
        chunks = in_chunks(size, X, y, qid, weight)
        found = fit(
            RankBoost(n_rounds, checkpoint=path, **options), *chunks[:2], qid=chunks[2], sample_weight=chunks[3],
            eval_set=[tuple(chunks[:2])], eval_qid=[chunks[2]], client=client,
        )  # fmt: skip
        assert len(found.rounds_) >= 3
    assert_same(found, local)
    np.testing.assert_array_equal(found.predict(X), local.predict(X))


@pytest.mark.parametrize("labelled", [False, True])
def test_pairs_within_queries_are_regrouped_with_their_rows(client, rows, labelled):
    X, y, qid, _ = rows
    pairs, given = pairs_within(qid), y if labelled else None
    first = RankBoost(2, alpha="numeric").fit(X, given, qid=qid, pairs=pairs)
    local = RankBoost(5, alpha="numeric").fit(
        X, given, qid=qid, pairs=pairs, init_model=first, eval_set=[(X, y)], eval_qid=[qid]
    )
    chunks = in_chunks(170, X, y, qid)
    found = fit(
        RankBoost(5, alpha="numeric"), chunks[0], chunks[1] if labelled else None, qid=chunks[2], pairs=pairs,
        init_model=first, eval_set=[tuple(chunks[:2])], eval_qid=[chunks[2]], client=client,
    )  # fmt: skip
    assert_same(found, local)


def test_votes_of_stumps_are_those_of_the_local_fit(client, rows, tmp_path):
    X, y, _, weight = rows
    grades, path = y.astype(int), tmp_path / "kept.podium"
    options = {"early_stopping_rounds": 3, "random_state": 2}
    others = make_search(n_queries=8, random_state=4)
    evals = np.asarray(others.X)[:, :8], np.minimum(np.asarray(others.y), y.max()).astype(int)
    local = AdaBoostOR(n_estimators=12, **options).fit(X, grades, sample_weight=weight, eval_set=[evals])
    for size, n_rounds in ((10_000, 3), (130, 12)):
        chunks, eval_chunks = in_chunks(size, X, grades, weight), in_chunks(60, *evals)
        found = fit(
            AdaBoostOR(n_estimators=n_rounds, checkpoint=path, **options), *chunks[:2], sample_weight=chunks[2],
            eval_set=[tuple(eval_chunks)], client=client,
        )  # fmt: skip
    assert found.classes_.dtype == local.classes_.dtype
    np.testing.assert_array_equal(found.predict(X), local.predict(X))
    np.testing.assert_array_equal(found.train_costs_, local.train_costs_)
    for name in ("training_summary_", "evals_result_", "best_iteration_", "stop_reason_", "seed_", "costs_convex_"):
        assert getattr(found, name) == getattr(local, name), name
    kept = [
        {name: value for name, value in one.content()["learned"].items() if name != "rankers"} for one in (found, local)
    ]
    np.testing.assert_equal(*kept)


def assert_same_votes(found, local, X):
    np.testing.assert_array_equal(found.predict(X), local.predict(X))
    np.testing.assert_array_equal(found.train_costs_, local.train_costs_)
    assert found.classes_.dtype == local.classes_.dtype
    assert found.classes_.tolist() == local.classes_.tolist()
    assert found.evals_result_ == local.evals_result_
    assert found.training_summary_ == local.training_summary_


def test_grades_that_are_texts_or_ordered_categories_are_those_of_the_local_fit(client, rows):
    import dask.dataframe as dd

    X, y, _, weight = rows
    texts, ranker = np.array(["very good", "bad", "good", "fair", "fine"])[y.astype(int)], AdaBoostOR(n_estimators=4)
    local = clone(ranker).fit(X, texts, sample_weight=weight, eval_set=[(X, texts)])
    features, labels, weights = in_chunks(170, X, texts, weight)
    found = fit(clone(ranker), features, labels, sample_weight=weights, eval_set=[(features, labels)], client=client)
    assert_same_votes(found, local, X)
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
    order = ["worst", *np.unique(texts).tolist()[::-1]]  # without rows, but a grade
    graded = frame.assign(grade=pd.Categorical(texts, order, ordered=True))
    found = fit(clone(ranker), dd.from_pandas(graded, npartitions=5), "grade", client=client)
    assert_same_votes(found, clone(ranker).fit(frame, graded.grade), frame)


@pytest.mark.parametrize(
    ("train", "valid", "message"),
    [
        ("ab", "abc", r"eval_set\[0\]: Part \d: y must hold grades of the fit \('a', 'b'\); row 2 has 'c'"),
        ("aa", "ab", "y must have at least two grades; got one class, 'a', in all rows"),
        (["a", None], "ab", r"Part \d: y must have a grade in every row; row 1 has None"),
        (["a", 1], "ab", r"Part \d: y must be of one kind that can be ordered; got int and str"),
    ],
)
def test_grades_that_are_no_numbers_are_refused_by_part_and_row(client, train, valid, message):
    kinds = [(list(one), object if isinstance(one, list) else str) for one in (train, valid)]
    X, y, valid_y = in_chunks(6, np.arange(12.0)[:, None], *(np.resize(np.array(*one), 12) for one in kinds))
    with pytest.raises(PodiumError, match=message):
        fit(AdaBoostOR(n_estimators=1), X, y, eval_set=[(X, valid_y)], client=client)


@pytest.mark.parametrize(
    "ranker", [LambdaMART(1), RankBoost(1), AdaBoostOR(n_estimators=1)], ids=lambda r: type(r).__name__
)
def test_parts_that_all_are_empty_are_refused(client, ranker):
    import dask.dataframe as dd

    frame = pd.DataFrame({"x": np.arange(12.0), "query": np.repeat([1, 2], 6), "grade": list("abcabc") * 2})
    if not isinstance(ranker, AdaBoostOR):
        frame["grade"] = np.arange(12) % 3
    rows = dd.from_pandas(frame, npartitions=3)
    rows = rows[rows.x > 100.0]
    qid = None if isinstance(ranker, AdaBoostOR) else "query"
    with pytest.raises(PodiumError, match=r"^X must have at least one row; every part is empty\.$"):
        fit(ranker, rows, "grade", qid=qid, client=client)


@pytest.mark.parametrize(
    ("ranker", "given", "message"),
    [
        (RankBoost(1, max_bins=None), {}, "max_bins must be left at its default in a fit on Dask; got None"),
        (RankBoost(1, weak="feature"), {}, "weak must be left at its default"),
        (RankBoost(1, thresholds=[0.5]), {}, r"thresholds must be left at its default in a fit on Dask; got \[0.5\]"),
        (AdaBoostOR(PRank()), {"qid": None}, "estimator must be an ORStump in a fit on Dask; got PRank"),
        (AdaBoostOR(), {}, "leave qid, query_weight and eval_qid out"),
        (ORBoost(), {}, "Only LambdaMART, MART, RankBoost and AdaBoostOR can be trained on Dask; got ORBoost"),
        (LambdaMART(1), {"pairs": ([0], [1])}, "pairs can be fitted on Dask by RankBoost alone; got LambdaMART"),
        (RankBoost(1), {"pairs": "across"}, r"Pairs must lie within queries to be fitted on Dask; row \d+ above row"),
        (RankBoost(1), {"pairs": ([0], [1]), "y": None, "sample_weight": "qid"}, "weigh labels"),
    ],
)
def test_what_needs_all_rows_in_one_place_is_refused(client, rows, ranker, given, message):
    X, y, qid, _ = rows
    chunks = dict(zip(("X", "y", "qid"), in_chunks(300, X, y, qid), strict=True))
    if given.get("pairs") == "across":
        given = {"pairs": ([0], [int(np.flatnonzero(qid != qid[0])[0])])}
    if given.get("sample_weight"):
        given = given | {"sample_weight": chunks["y"]}
    with pytest.raises(PodiumError, match=message):
        fit(ranker, **(chunks | given), client=client)
