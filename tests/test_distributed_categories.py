"""Categories on Dask: the local model, bit for bit, from categories counted part by part."""

import dataclasses
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from parts import run_parts
from podium import MART, LambdaMART, PodiumError, RankBoost, make_search
from podium._validation import check_seed
from podium.data import CategoryCounts
from podium.distributed import fit, predict
from podium.distributed.held_boosting import round_bytes
from podium.distributed.part_categories import coded_block, count_block, shared_categories
from podium.distributed.part_table import Block, ranking_data, read_blocks
from podium.trees import TreeRound

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:distributed"),
]
NAMES = ["f0", "f1", "f2", "town", "f3", "shop"]


def search(seed, n_queries, towns):
    """Return rows with two columns of categories, one of 400 numbers, and weights that are no powers of two."""
    given = make_search(n_queries=n_queries, random_state=seed)
    X, y, qid = np.asarray(given.X)[:, :4], np.asarray(given.y), np.asarray(given.qid)
    rng = np.random.default_rng(seed)
    town = np.clip((X[:, 0] * 2 + 2 + rng.normal(size=len(y))).astype(int), 0, len(towns) - 1)
    town = np.where(rng.random(len(y)) < 0.05, None, np.array(towns, object)[town])
    shop = 2 * rng.integers(0, 200, len(y)) + (rng.random(len(y)) < 0.1 + 0.2 * y)
    frame = pd.DataFrame(X, columns=["f0", "f1", "f2", "f3"]).assign(town=town, shop=shop)[NAMES]
    order = rng.permutation(len(y))
    return frame.iloc[order].reset_index(drop=True), y[order], qid[order], rng.random(len(y)) * 3


ROWS = search(0, 40, ["b", "a", "zürich", "d", "e"])
OTHERS = search(5, 12, ["a", "never seen", "b"])


def with_types(frame):
    """Return a frame with columns of categories, which are those of its own rows."""
    return frame.assign(town=frame["town"].astype("category"), shop=frame["shop"].astype("category"))


def test_counts_of_parts_add_up_and_equal_numbers_are_spelled_alike():
    parts = [CategoryCounts({True: 1, "a": 2}, 5), CategoryCounts({1.0: 2, 2: 1}, 3), CategoryCounts({1: 4, "a": 1}, 5)]
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        merged = CategoryCounts.merged([parts[i] for i in order])
        assert merged.rows == {1.0: 7, 2: 1, "a": 3}
        assert merged.n_rows == 13
        assert sorted(type(value).__name__ for value in merged.rows) == ["float", "int", "str"]
    mixed = np.array([[1], [True], [1.0]], object)
    for rows in ([0, 1, 2], [2, 1, 0]):
        assert repr(CategoryCounts.of(mixed[rows, 0], "X").rows) == "{1.0: 3}"


def train(ranker, block, exchange):
    data, seed = ranking_data(read_blocks([block]), exchange), check_seed(ranker.random_state)
    loss = ranker._make_loss(data, 1, seed, exchange)
    boosting = ranker._make_boosting(data, loss, ranker._start_after(None, loss), 1, seed, exchange)
    return [boosting.step(number + 1).ranking for number in range(ranker.n_estimators)]


def counts_of(blocks, names, columns):
    return [count_block(one, columns, names) for one in blocks]


def as_sparse(frame):
    """Return the numbers of a frame as a sparse matrix, every third entry absent; the last column holds categories."""
    X = frame.drop(columns="town").to_numpy(float)
    stored = (np.add.outer(np.arange(len(X)), np.arange(5)) % 3 > 0) | (np.arange(5) == 4)
    return sp.csr_array((X[stored], np.nonzero(stored)), X.shape)


FORMS = {"frame": with_types, "sparse": as_sparse, "float32": lambda frame: frame[["shop", "f0", "f1"]].to_numpy("f4")}


@pytest.mark.filterwarnings("ignore:Column .* of X has .* categories")
@pytest.mark.parametrize(("form", "columns"), [("frame", "from_dtype"), ("sparse", [4]), ("float32", [0])])
def test_any_partitioning_gives_the_local_trees(form, columns):
    frame, y, qid, weight = ROWS
    ranker = LambdaMART(3, categorical_features=columns, cat_smooth=2.0, min_child_samples=5)
    whole = FORMS[form](frame)
    local = ranker.fit(whole, y, qid=qid, sample_weight=weight)
    assert sum(len(tree.sets) for tree in local.trees_) > 2
    expected = [round_bytes(TreeRound(tree)) for tree in local.trees_]
    ids, layout = np.unique(qid), np.empty((0, whole.shape[1])) if form == "sparse" else whole[:0]
    for n_parts in (1, 2, 7):
        owner = np.random.default_rng(n_parts).integers(0, n_parts, len(ids))
        own = [np.flatnonzero(np.isin(qid, ids[owner == part])) for part in range(n_parts)]
        given = [whole[rows] if form == "sparse" else FORMS[form](frame.iloc[rows]) for rows in own]
        blocks = [
            Block(i, X, y[at], qid[at], weight[at], None) for i, (X, at) in enumerate(zip(given, own, strict=True))
        ]
        counts = partial(counts_of, blocks, tuple(NAMES) if form == "frame" else None)
        found = shared_categories(ranker, layout, None, counts)
        np.testing.assert_equal(found.arrays(range(6)), local._categories.arrays(range(6)))
        coded = [coded_block(one, found) for one in blocks]
        for trees in run_parts(lambda block, exchange: train(ranker, block, exchange), coded):
            assert [round_bytes(TreeRound(tree)) for tree in trees] == expected


@pytest.mark.filterwarnings("ignore:Column .* of X has .* categories")
def test_trees_that_differ_in_a_set_alone_are_different_rounds():
    frame, y, qid, _ = ROWS
    tree = LambdaMART(1, categorical_features=[0]).fit(FORMS["float32"](frame), y, qid=qid).trees_[0]
    assert tree.sets.any()
    other = dataclasses.replace(tree, sets=~tree.sets)
    assert round_bytes(TreeRound(other)) != round_bytes(TreeRound(tree))


@pytest.fixture(scope="module")
def local():
    frame, y, qid, weight = ROWS
    other, labels, queries, _ = OTHERS
    given = {"eval_set": [(with_types(other), labels)], "eval_qid": [queries]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return LambdaMART(5).fit(with_types(frame), y, qid=qid, sample_weight=weight, **given)


def lazily(rows, owner, meta=None):
    """Return rows as a Dask dataframe, the categories of each part those of its rows; part 2 is empty."""
    import dask.dataframe as dd
    from dask import delayed

    frame, y, qid, weight = rows
    whole = frame.assign(label=y, query=qid, weight=weight)
    parts = [delayed(with_types)(whole.iloc[np.flatnonzero(owner == part)]) for part in range(owner.max() + 1)]
    parts.insert(2, delayed(whole.iloc[:0].copy)())
    return dd.from_delayed(parts, meta=with_types(whole.iloc[:5]) if meta is None else meta, verify_meta=False)


NAMED = {"y": "label", "qid": "query"}


def test_a_fit_with_types_that_differ_between_parts_is_the_local_fit(client, local, tmp_path):
    frame, y, *_ = ROWS
    lazy, other = lazily(ROWS, np.random.default_rng(1).integers(0, 4, len(y))), lazily(OTHERS, OTHERS[2] % 3)
    given = {"sample_weight": "weight", "eval_set": [(other.drop(columns="weight"), "label")], "eval_qid": ["query"]}
    with pytest.warns(UserWarning, match=r"Column 'shop' of X has 376 categories; the 255 most .* of \d+ rows"):
        found = fit(LambdaMART(5), lazy, **NAMED, **given, client=client)
    np.testing.assert_equal(found.content()["learned"], local.content()["learned"])
    assert found.evals_result_ == local.evals_result_
    assert found.training_summary_ == local.training_summary_
    scores = predict(found, lazy.drop(columns=["label", "query", "weight"])).compute()
    np.testing.assert_array_equal(np.sort(scores), np.sort(local.predict(with_types(frame))))
    found.save(tmp_path / "m.podium")
    assert found.categories_["town"].tolist() == ["a", "b", "d", "e", "zürich"]


@pytest.mark.filterwarnings("ignore:Column .* of X has .* categories")
def test_a_fit_goes_on_from_trees_with_categories_by_files_and_a_checkpoint(client, local, tmp_path):
    frame, y, qid, weight = ROWS
    whole = with_types(frame).assign(label=y, query=qid, weight=weight)
    for part in range(3):
        own = whole.iloc[part::3]
        own.assign(town=own["town"].cat.remove_unused_categories()).to_parquet(tmp_path / f"{part}.parquet")
    files = sorted(map(str, tmp_path.glob("*.parquet")))
    first = LambdaMART(2).fit(with_types(frame), y, qid=qid, sample_weight=weight)
    given = {**NAMED, "sample_weight": "weight", "client": client}
    kept = {"checkpoint": tmp_path / "kept.podium"}
    for ranker, before in ((LambdaMART(4, **kept), first), (LambdaMART(5), first), (LambdaMART(5), None)):
        found = fit(ranker, files, init_model=before, **given)
        np.testing.assert_array_equal(
            found.predict(with_types(frame)), list(local.staged_predict(with_types(frame)))[ranker.n_estimators - 1]
        )
    numbers = frame.assign(town=0.0)
    for ranker, message in (
        (LambdaMART(1), r"init_model must have the categorical columns of X: \[3, 5\] expected, \[\] given"),
        (RankBoost(1), "init_model must be made of trees where X has categorical columns; got RankBoost"),
    ):
        before = ranker.fit(numbers, y, qid=qid)
        with pytest.raises(PodiumError, match=message):
            fit(LambdaMART(5), files, init_model=before, **given)


@pytest.mark.parametrize(
    ("ranker", "change", "message"),
    [
        (RankBoost(1), {}, "Part 0: column 'town' of X holds categories: LambdaMART and MART take them"),
        (MART(1, categorical_features=None), {}, "Part 0: column 'town' of X holds categories"),
        (MART(1), {"hidden": "shop"}, "Part 0: column 'shop' of X holds categories: .* categorical_features name the"),
        (MART(1, categorical_features=["city"]), {}, "names the column 'city', which X does not have"),
        (MART(1), {"lacking": "f1"}, r"All parts must have the same columns; part 1 has 5 columns \(f0, f2, "),
        (MART(1), {"lacking": "query"}, "Part 1: qid names the column 'query', which this"),
        (MART(1), {"odd": True}, r"Part 1: Column 'town' of X has the category \(1, 2\); categories must be strings"),
    ],
)
def test_what_is_no_category_everywhere_is_refused(client, ranker, change, message):
    import dask.dataframe as dd
    from dask import delayed

    frame, y, qid, _ = (one[:200] for one in ROWS)
    whole = with_types(frame).assign(label=y, query=qid)
    last = whole.iloc[100:].drop(columns=change.get("lacking", []))
    if "odd" in change:
        last["town"] = pd.Categorical([(1, 2)] * len(last))
    meta = whole.astype({change.get("hidden", "f0"): float}).iloc[:0]
    lazy = dd.from_delayed(
        [delayed(lambda one=one: one)() for one in (whole.iloc[:100], last)], meta=meta, verify_meta=False
    )
    with pytest.raises(PodiumError, match=message):
        fit(ranker, lazy, **NAMED, client=client)
