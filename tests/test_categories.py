"""Categorical columns: of every kind of frame and array, at fit and at predict, in files, and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold

from peers import peer
from podium import (
    MART,
    FormatError,
    LambdaMART,
    LinearPlackettLuce,
    NearestNeighbor,
    PNormPush,
    PodiumError,
    PreferenceRegression,
    RankBoost,
    RankBoostPlus,
    RankSVM,
    RSRank,
    VectorSimilarity,
    load,
)
from podium.data.categories import MAX_CATEGORIES, Categories, categorical_columns

pandas = peer("pandas")
polars = peer("polars")
pyarrow = peer("pyarrow")

SMALL = {"n_estimators": 6, "min_child_samples": 3, "max_leaves": 7, "cat_smooth": 5.0}
RANKERS = [
    LambdaMART(**SMALL),
    LambdaMART(**SMALL, subsample=0.6, colsample_bytree=0.6, quantized=False),
    MART(**SMALL),
]
each_ranker = pytest.mark.parametrize("ranker", RANKERS, ids=["lambdamart", "sampled", "mart"])
TOWNS = np.array(["bonn", "ghent", "köln", "aalst", "zug", "ulm", "bern"])


@pytest.fixture(scope="module")
def made():
    """Numbers of towns (NaN where missing), two numbers, labels and queries."""
    rng = np.random.default_rng(0)
    town = rng.integers(0, 7, 240).astype(float)
    numbers = rng.random((240, 2))
    y = np.digitize(np.array([2, 0, 1, 2, 0, 3, 1])[town.astype(int)] + 2 * numbers[:, 0], [1, 2, 3, 4]).astype(float)
    town[rng.random(240) < 0.1] = np.nan
    return town, numbers, y, np.repeat(np.arange(20), 12)


def texts(town):
    return [None if np.isnan(t) else TOWNS[int(t)] for t in town]


def pandas_frame(town, numbers, order=TOWNS):
    cells = pandas.Categorical(texts(town), categories=list(order))
    return pandas.DataFrame({"x": numbers[:, 0], "town": cells, "z": numbers[:, 1]})


def polars_frame(town, numbers, kind=None):
    cells = polars.Series(texts(town), dtype=polars.String).cast(kind or polars.Categorical)
    return polars.DataFrame({"x": numbers[:, 0], "town": cells, "z": numbers[:, 1]})


def arrow_table(town, numbers):
    parts = [pyarrow.array(part, pyarrow.string()).dictionary_encode() for part in (texts(town[:9]), texts(town[9:]))]
    return pyarrow.table([numbers[:, 0], pyarrow.chunked_array(parts), numbers[:, 1]], names=["x", "town", "z"])


def object_matrix(town, numbers):
    cells = np.empty((len(town), 3), object)
    cells[:, 0], cells[:, 1], cells[:, 2] = numbers[:, 0], texts(town), numbers[:, 1]
    return cells


def sorted_numbers(town, numbers):
    """The towns as numbers in the order of their names."""
    place = np.append(np.argsort(np.argsort(TOWNS)), 0)
    codes = np.where(np.isnan(town), np.nan, place[np.nan_to_num(town, nan=7).astype(int)] * 2.5 - 3)
    return np.column_stack([numbers[:, 0], codes, numbers[:, 1]])


HOLDERS = {
    "pandas, other order": (lambda *data: pandas_frame(*data, TOWNS[::-1]), "from_dtype"),
    "pandas, unused categories": (lambda *data: pandas_frame(*data, ["a", *TOWNS, "zz"]), "from_dtype"),
    "pandas texts": (lambda *data: pandas_frame(*data).astype({"town": object}), ["town"]),
    "pandas of arrow": (
        lambda *data: pandas_frame(*data).astype(
            {"town": pandas.ArrowDtype(pyarrow.dictionary(pyarrow.int32(), pyarrow.string()))}
        ),
        "from_dtype",
    ),
    "polars Categorical": (polars_frame, "from_dtype"),
    "polars Enum": (lambda *data: polars_frame(*data, polars.Enum(TOWNS[::-1])), "from_dtype"),
    "polars texts": (lambda *data: polars_frame(*data, polars.String), [False, True, False]),
    "pyarrow": (arrow_table, "from_dtype"),
    "objects": (object_matrix, [1]),
    "float64": (sorted_numbers, [1]),
    "float32 by columns": (lambda *data: np.asfortranarray(sorted_numbers(*data).astype(np.float32)), np.array([1])),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_what_holds_the_categories_changes_no_score(name, made):
    town, numbers, y, qid = made
    numbers = numbers.astype(np.float32).astype(float)
    expected = LambdaMART(**SMALL).fit(pandas_frame(town, numbers), y, qid=qid)
    make, chosen = HOLDERS[name]
    model = LambdaMART(**SMALL, categorical_features=chosen).fit(make(town, numbers), y, qid=qid)
    assert any(len(tree.sets) for tree in model.trees_)
    np.testing.assert_array_equal(model.predict(make(town, numbers)), expected.predict(pandas_frame(town, numbers)))


def test_sparse_entries_are_categories_and_absent_ones_missing(made):
    town, numbers, y, qid = made
    dense = np.column_stack([town + 1, numbers])
    stored = sp.csr_array(np.nan_to_num(dense))
    ranker = MART(**SMALL, categorical_features=[0])
    one, two = clone(ranker).fit(dense, y, qid=qid), clone(ranker).fit(stored, y, qid=qid)
    assert any(len(tree.sets) for tree in two.trees_)
    np.testing.assert_allclose(two.predict(stored), one.predict(dense))
    dense[:5, 0], other = 99.0, stored.tolil()
    other[:5, 0] = 99.0
    np.testing.assert_allclose(two.predict(other.tocsc()), one.predict(dense))


@each_ranker
def test_row_order_query_order_and_threads_change_no_bit(ranker, made, monkeypatch):
    monkeypatch.setattr("podium._compiled.CELLS_WORTH_THREADS", 0)  # small work is shared too
    town, numbers, y, qid = made
    rng = np.random.default_rng(1)
    shuffled, names = rng.permutation(240), rng.permutation(20)
    X = pandas_frame(town, numbers)
    one = clone(ranker).fit(X, y, qid=qid)
    assert any(len(tree.sets) for tree in one.trees_)
    two = clone(ranker).set_params(n_jobs=3).fit(X.iloc[shuffled], y[shuffled], qid=names[qid][shuffled])
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


@each_ranker
def test_values_not_seen_at_the_fit_are_missing(ranker, made):
    town, numbers, y, qid = made
    model = clone(ranker).fit(pandas_frame(town, numbers), y, qid=qid)
    lost = pandas_frame(np.full(240, np.nan), numbers)
    for column in (["paris"] * 240, polars.Series(["rome", "oslo"] * 120).cast(polars.Categorical).to_pandas()):
        X = lost.assign(town=pandas.Categorical(column))
        np.testing.assert_array_equal(model.predict(X), model.predict(lost))
    np.testing.assert_array_equal(model.predict(lost.assign(town=7)), model.predict(lost))


def test_the_table_of_the_fit_serves_everything_after_it(made):
    town, numbers, y, qid = made
    X, other = pandas_frame(town, numbers), pandas_frame(town, numbers, TOWNS[::-1])
    model = LambdaMART(**SMALL).fit(X, y, qid=qid, eval_set=[(other, y)], eval_qid=[qid])
    assert model.evals_result_["validation_0"]["ndcg@10"][-1] == model.score(X, y, qid=qid)
    np.testing.assert_array_equal(list(model.staged_predict(other)), list(model.staged_predict(X)))
    few = town < 3
    longer = (
        clone(model)
        .set_params(n_estimators=9)
        .fit(pandas_frame(town[few], numbers[few], TOWNS[::-1]), y[few], qid=qid[few], init_model=model)
    )
    assert longer.categories_["town"].tolist() == sorted(TOWNS)
    np.testing.assert_allclose(list(longer.staged_predict(X))[5], model.predict(X))
    before = model.predict(X)
    np.testing.assert_allclose(model.refit(other, y, qid=qid, decay=0.0).predict(X), before, rtol=1e-9)


def test_categories_are_those_that_occur_numbers_before_texts():
    X = pandas.DataFrame(
        {"mixed": pandas.Categorical(["b", 2, "a", 10, None, 2.5, "b"], categories=["a", 10, 2, 2.5, "b", "c"])}
    )
    assert Categories.learn(X, "from_dtype").values == {0: (2, 2.5, 10, "a", "b")}
    np.testing.assert_array_equal(Categories.learn(X, [0]).encode(X)["mixed"], [4.0, 0.0, 3.0, 2.0, np.nan, 1.0, 4.0])
    truth = np.array([[True], [False], [True]])
    assert Categories.learn(truth, [0]).values == {0: (False, True)}


def test_of_too_many_categories_the_most_frequent_are_kept():
    values = np.concatenate([np.arange(300), np.arange(40, 300), np.full(5, 3)]).astype(float)[:, None]
    with pytest.warns(UserWarning, match=r"Column 0 of X has 300 categories; the 255 .* \(51 of 565 rows\)"):
        kept = Categories.learn(values, [0]).values[0]
    assert len(kept) == MAX_CATEGORIES
    assert kept == (3.0, *range(40, 294))


def test_a_fit_with_many_categories_points_to_the_callers_line(made):
    _, numbers, y, qid = made
    X = np.column_stack([np.arange(480) % 290, np.tile(numbers, (2, 1))])
    with pytest.warns(UserWarning, match="290 categories") as caught:
        model = LambdaMART(**SMALL, categorical_features=[0]).fit(X, np.tile(y, 2), qid=np.tile(qid, 2))
    assert caught[0].filename == __file__
    assert len(model.categories_[0]) == MAX_CATEGORIES


@each_ranker
def test_a_file_keeps_sets_and_categories(ranker, made, tmp_path):
    town, numbers, y, qid = made
    X = pandas_frame(town, numbers)
    fitted = clone(ranker).fit(X, y, qid=qid)
    fitted.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    other = polars_frame(town, numbers)
    np.testing.assert_array_equal(loaded.predict(other), fitted.predict(X))
    np.testing.assert_array_equal(loaded.categories_["town"], fitted.categories_["town"])


def test_a_file_keeps_categories_of_every_kind(tmp_path):
    rng = np.random.default_rng(2)
    values = [True, -2, 0.1, 2**60, "1", "", "ü\n", "nan"]
    X = np.array([[values[i], rng.random()] for i in rng.integers(0, 8, 200)], object)
    model = MART(2, min_child_samples=1, categorical_features=[0]).fit(X, rng.integers(0, 2, 200))
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded._categories.values == model._categories.values == {0: (-2, 0.1, True, 2**60, "", "1", "nan", "ü\n")}
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_broken_content_is_refused(made):
    town, numbers, y, qid = made
    model = LambdaMART(2, min_child_samples=3, max_leaves=3).fit(pandas_frame(town, numbers), y, qid=qid)
    content = model.content()
    trees = content["learned"]["trees"]
    words, set_of = trees["sets"], trees["set_of"]
    wrong_trees = {
        "sets must be a list of integers from 0 to 4294967295": [
            {"sets": ["x"]}, {"sets": 3}, {"sets": list(words)}, {"sets": words + 0.5},
            {"sets": words.astype(np.int64) - 2**40},
        ],
        "sets must have .* entries": [{"sets": words[:-1]}],
        "set_of must have .* entries": [{"set_of": set_of[:-1]}],
        "in the order of its splits": [{"set_of": np.where(set_of >= 0, 1, set_of)}],
        "sets must split the categorical features": [
            {"set_of": np.full_like(set_of, -1), "sets": words[:0]}, {"feature": np.zeros_like(trees["feature"])},
        ],
    }  # fmt: skip
    for message, changes in wrong_trees.items():
        for change in changes:
            learned = {**content["learned"], "trees": {**trees, **change}}
            with pytest.raises(FormatError, match=message):
                LambdaMART.from_content({**content, "learned": learned}, "file")
    wrong = [
        3, [3], [[1]], [[1, "ab"]], [[3, ["a"]]], [[True, ["a"]]], [[1, ["b", "a"]]], [[1, ["a", "a"]]], [[1, [None]]],
        [[1, [["a"]]]], [[1, list(range(256))]], [[1, []], [0, []]],
    ]  # fmt: skip
    for categories in wrong:
        with pytest.raises(FormatError, match="the categor"):
            LambdaMART.from_content({**content, "learned": {**content["learned"], "categories": categories}}, "file")
    with pytest.raises(FormatError, match="sets must split the categorical features"):
        LambdaMART.from_content({**content, "learned": {**content["learned"], "categories": []}}, "file")


def test_a_file_of_numbers_alone_has_no_sets(made):
    _, numbers, y, qid = made
    content = LambdaMART(2).fit(numbers, y, qid=qid).content()
    assert not {"sets", "set_of"} & content["learned"]["trees"].keys()
    assert LambdaMART.from_content(content, "file").categories_ == {}


def test_a_grid_search_takes_frames_with_categories(made):
    town, numbers, y, qid = made
    X = pandas_frame(town, numbers)
    with config_context(enable_metadata_routing=True):
        ranker = LambdaMART(**SMALL).set_fit_request(qid=True).set_score_request(qid=True)
        search = GridSearchCV(ranker, {"cat_smooth": [0.0, 5.0]}, cv=GroupKFold(3), error_score="raise")
        search.fit(X, y, qid=qid, groups=qid)
        without = GridSearchCV(ranker, {"categorical_features": [[]]}, cv=GroupKFold(3), error_score="raise")
        without.fit(sorted_numbers(town, numbers), y, qid=qid, groups=qid)
    assert search.best_score_ > without.best_score_


@pytest.mark.parametrize(
    "ranker",
    [
        RankBoost(),
        RankBoostPlus(),
        PNormPush(),
        NearestNeighbor(),
        PreferenceRegression(),
        VectorSimilarity(),
        LinearPlackettLuce(),
        RankSVM(),
        RSRank(),
    ],
)
def test_rankers_of_numbers_refuse_categories_in_one_sentence(ranker, made):
    town, numbers, y, qid = made
    counted = pandas.DataFrame({"town": pandas.Categorical(town), "x": numbers[:, 0]})
    for X in (pandas_frame(town, numbers), polars_frame(town, numbers), arrow_table(town, numbers), counted):
        with pytest.raises(PodiumError, match="Column 'town' of X holds categories: make numbers of them, or use"):
            clone(ranker).fit(X, y, qid=qid)


def test_bad_input_is_refused_in_one_sentence(made):
    town, numbers, y, qid = made
    frame, matrix = pandas_frame(town, numbers), np.column_stack([town, numbers])
    times = frame.assign(town=pandas.Categorical(pandas.date_range("2020", periods=240)))
    listed = pandas.DataFrame({"x": [[1], [2]] * 120})
    cases = [
        ({"categorical_features": None}, frame, "Column 'town' of X holds categories"),
        ({"categorical_features": ["city"]}, frame, "names the column 'city', which X does not have"),
        ({"categorical_features": ["town"]}, matrix, "names the column 'town', which X does not have"),
        ({"categorical_features": [3]}, matrix, "numbers from 0 to 2 of columns of X; got 3"),
        ({"categorical_features": [-1]}, matrix, "numbers from 0 to 2 of columns of X; got -1"),
        ({"categorical_features": [0.0]}, matrix, "numbers from 0 to 2 of columns of X; got 0.0"),
        ({"categorical_features": [True]}, matrix, "for each of 3 columns; got 1"),
        ({"categorical_features": "auto"}, matrix, "'categorical_features' parameter"),
        ({"cat_smooth": -1.0}, matrix, "'cat_smooth' parameter"),
        ({}, times, "Column 'town' of X has the category Timestamp"),
        (
            {"categorical_features": [0]},
            np.where(np.isnan(matrix), np.inf, matrix),
            "Column 0 of X has the category inf",
        ),
        ({"categorical_features": [0]}, listed, "cannot be a category: unhashable"),
        ({"categorical_features": [0]}, matrix[:, 0], "X must be a matrix"),
        ({"monotone_constraints": [0, 1, 0]}, frame, "must be 0 for categorical features; got 1 for feature 1"),
        ({"categorical_features": ["x"]}, frame.set_axis(["x", "x", "z"], axis=1), "more than one column 'x'"),
    ]
    for parameters, X, message in cases:
        with pytest.raises(PodiumError, match=message):
            LambdaMART(2, **parameters).fit(X, y, qid=qid)


def test_a_model_to_go_on_from_must_know_the_categories(made):
    town, numbers, y, qid = made
    X, matrix = pandas_frame(town, numbers), sorted_numbers(town, numbers)
    plain = LambdaMART(2).fit(matrix, y, qid=qid)
    with pytest.raises(PodiumError, match=r"the categorical columns of X: \[1\] expected, \[\] given"):
        LambdaMART(3).fit(X, y, qid=qid, init_model=plain)
    boosted = RankBoost(2).fit(matrix, y, qid=qid)
    with pytest.raises(PodiumError, match=r"init_model must be made of trees .* got RankBoost"):
        LambdaMART(3, categorical_features=[1]).fit(matrix, y, qid=qid, init_model=boosted)


def test_columns_in_another_order_are_refused_as_such(made):
    town, numbers, y, qid = made
    X = pandas_frame(town, numbers)
    model = LambdaMART(2).fit(X, y, qid=qid)
    with pytest.raises(PodiumError, match="they stand in another order"):
        model.predict(X[["town", "x", "z"]])
    with pytest.raises(PodiumError, match="'town' is missing"):
        model.predict(X[["x", "z"]])
    with pytest.raises(PodiumError, match="X has 1 features"):
        model.predict(numbers[:, :1])


def test_columns_are_chosen_by_number_name_or_mask():
    X = pandas.DataFrame({"a": [1.0], "b": ["u"], "c": pandas.Categorical(["v"])})
    assert categorical_columns(X, "from_dtype") == [2]
    assert categorical_columns(X, ("c", 1, np.int64(1))) == [1, 2]
    assert categorical_columns(X, np.array([True, False, True])) == [0, 2]
    assert (
        categorical_columns(X, None)
        == categorical_columns(X, [])
        == categorical_columns(X.to_numpy(), "from_dtype")
        == []
    )
