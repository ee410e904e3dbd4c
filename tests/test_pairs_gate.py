"""Explicit pairs in every form: columns, lists and frames, by row numbers and by ids; near matches of unknown ids."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from podium import LambdaMART, NoPairsError, PodiumError, RankBoost, RankBoostPlus, RankingData, RankSVM
from podium._pair_gate import MOST_COMPARED_IDS, check_pairs

ITEMS = ["ada", "bob", "cyn", "dan"]
BY_ID = (["ada", "cyn", "ada"], ["bob", "dan", "dan"], [1.0, 2.0, 0.5])
BY_ROW = ([0, 2, 0], [1, 3, 3], [1.0, 2.0, 0.5])
FORMS = {
    "columns": BY_ID,
    "arrays": tuple(map(np.array, BY_ID)),
    "list": list(zip(*BY_ID, strict=True)),
    "pandas": pd.DataFrame({"weight": BY_ID[2], "worse": BY_ID[1], "note": [1, 2, 3], "better": BY_ID[0]}),
    "pandas by position": pd.DataFrame({"winner": BY_ID[0], "loser": BY_ID[1], "times": BY_ID[2]}),
    "pandas categories": pd.DataFrame({"a": pd.Categorical(BY_ID[0]), "b": pd.Categorical(BY_ID[1]), "c": BY_ID[2]}),
    "polars": pl.DataFrame({"better": BY_ID[0], "worse": BY_ID[1], "weight": BY_ID[2]}),
    "pyarrow": pa.table({"better": BY_ID[0], "worse": BY_ID[1], "weight": BY_ID[2]}),
}


@pytest.mark.parametrize("pairs", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize(
    "items", [ITEMS, np.array(ITEMS), pd.Series(ITEMS, index=[7, 3, 1, 0])], ids=["list", "array", "series"]
)
def test_every_form_names_the_same_rows(pairs, items):
    found = check_pairs(pairs, 4, items)
    assert [column.tolist() for column in found] == [list(column) for column in BY_ROW]


def test_row_numbers_in_every_form():
    for pairs in (BY_ROW, list(zip(*BY_ROW, strict=True)), pd.DataFrame(dict(zip("abc", BY_ROW, strict=True)))):
        assert [column.tolist() for column in check_pairs(pairs, 4)] == [list(column) for column in BY_ROW]
    two = check_pairs(pd.DataFrame({"worse": [1], "better": [0]}), 4)
    assert (two.better.tolist(), two.worse.tolist(), two.weight.tolist()) == ([0], [1], [1.0])


def test_ids_of_any_kind_that_does_not_change():
    day = [pd.Timestamp(2020, 1, n) for n in (1, 2, 3)]
    for items in ([10, 20, 30], [("a", 1), ("a", 2), ("b", 1)], day, [1, "1", 2.5], [2**70, 5, -1]):
        listed = np.empty(3, object)
        listed[:] = items
        found = check_pairs([(items[2], items[0]), (items[1], items[0])], 3, listed)
        assert (found.better.tolist(), found.worse.tolist()) == ([2, 1], [0, 0])


@pytest.mark.parametrize(
    ("pairs", "items", "message"),
    [
        ((["ada"], ["bopb"]), ITEMS, r"worse\[0\] is 'bopb', which is none of the 4 in items \(did you mean bob\?\)"),
        (
            ([1], ["2"]),
            ["1", "2"],
            r"better\[0\] is 1, which is none of the 2 in items: '1' is, a str where the pair has",
        ),
        ((["ada"], ["zzzzz"]), ITEMS, "which is none of the 4 in items.$"),
        (
            (["ada"], ["bob"]),
            ["ada", "bob", "ada", "x"],
            "items must differ from each other; rows 0 and 2 both are 'ada'",
        ),
        (
            (["ada"], ["bob"]),
            ["ada", None, "bob", "x"],
            "items must hold numbers, strings or other fixed ids; row 1 has",
        ),
        ((["ada"], ["bob"]), ITEMS[:3], "items must have one id per row of X: 4 expected, 3 given"),
        ((["ada"], ["ada"]), ITEMS, "A row cannot stand above itself: pair 0 names row 0 twice"),
        ((["ada"], ["bob"]), None, "better has dtype <U3; to name rows by ids, give the id of each row as items"),
        (("ada", "bob"), ITEMS, "The better items of pairs must be a list; got 'ada'"),
        (pd.DataFrame({"better": [0], "loser": [1]}), None, "worse is not among better, loser"),
        (
            pd.DataFrame({"better": [0], "worze": [1]}),
            None,
            r"worse is not among better, worze \(did you mean worze\?\)",
        ),
        (pd.DataFrame(np.zeros((1, 4), int)), None, "must have the columns better and worse"),
        (pd.DataFrame([[0, 1]], columns=["a", "a"]), None, "pairs has more than one column 'a'"),
        (pl.LazyFrame({"a": [0], "b": [1]}), None, r"pairs is a lazy frame; call its collect\(\) first"),
        (np.array([[0, 1]]), None, "list of tuples, one a pair; got a ndarray"),
        ((1, 2, 3, 4), None, "got a tuple of 4"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_sentence(pairs, items, message):
    n_rows = len(items) if items is not None and len(items) < 4 and items != ITEMS[:3] else 4
    with pytest.raises(PodiumError, match=message):
        check_pairs(pairs, n_rows, items)


def test_no_pairs_at_all_and_many_items():
    for pairs in ([], ([], []), pd.DataFrame({"better": [], "worse": []})):
        with pytest.raises(NoPairsError, match="pairs is empty"):
            check_pairs(pairs, 4, ITEMS)
    many = [f"item{n}" for n in range(MOST_COMPARED_IDS + 1)]
    with pytest.raises(PodiumError, match=rf"which is none of the {len(many)} in items\.$"):
        check_pairs((["item-1"], ["item2"]), len(many), many)


def test_items_without_pairs_are_refused():
    with pytest.raises(PodiumError, match="items are the ids by which pairs name rows"):
        RankingData.from_arrays(np.zeros((4, 1)), [0, 1, 2, 3], items=ITEMS)


@pytest.mark.parametrize("ranker", [RankBoost(5), RankBoostPlus(5), LambdaMART(5, min_child_samples=1), RankSVM()])
def test_rankers_of_pairs_learn_the_same_from_ids(ranker):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    better, worse = np.triu_indices(40, 1)
    swap = X[better, 0] < X[worse, 0]
    pairs = np.where(swap, worse, better), np.where(swap, better, worse), rng.random(len(better)) + 0.1
    names = np.array([f"n{n:02d}" for n in rng.permutation(40)])
    frame = pl.DataFrame({"better": names[pairs[0]], "worse": names[pairs[1]], "weight": pairs[2]})
    expected = ranker.fit(X, pairs=pairs).predict(X)
    np.testing.assert_array_equal(ranker.fit(X, pairs=frame, items=names).predict(X), expected)
    order = rng.permutation(40)
    np.testing.assert_array_equal(ranker.fit(X[order], pairs=frame, items=names[order]).predict(X), expected)
