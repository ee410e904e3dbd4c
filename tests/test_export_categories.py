"""Splits by sets of categories, exported, and read by LightGBM, treelite, SQLite and Python themselves."""

import sqlite3

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import podium
from peers import peer
from podium import LambdaMART, PodiumError
from podium._compiled import JIT_DISABLED
from podium.export import FORMATS, TreeSum, certify, export_model
from podium.trees.regression_tree import RegressionTree
from profiles import examples
from test_export_rules import by_set, trees_of
from test_exports import random_tree

pytestmark = pytest.mark.plain
SITES = ("", "O'Neil; DROP TABLE x; --", 'a "b" \\', "inf", "naïve 名前", "{x}\n", "zoo")
SIZES = (*range(-3, 60), 61.5)
CATEGORIES = {0: SITES, 2: SIZES}
NAMES = ("site", "price", "size")
SQL_TYPES = ("TEXT", "DOUBLE PRECISION", "DOUBLE PRECISION")


def with_sets(rng, tree):
    """The tree with random sets where it splits columns of categories."""
    by_set = np.isin(tree.feature, list(CATEGORIES))
    set_of = np.where(by_set, np.cumsum(by_set) - 1, -1).astype(np.int32)
    sets = np.zeros((by_set.sum(), 8), np.uint32)
    for own, feature in enumerate(tree.feature[by_set]):
        for code in np.flatnonzero(rng.random(len(CATEGORIES[feature])) < rng.choice([0.0, 0.3, 0.7, 1.0])):
            sets[own, code // 32] |= np.uint32(1 << int(code % 32))
    columns = (tree.feature, np.where(by_set, np.nan, tree.threshold), tree.missing_left, tree.left, tree.right)
    return RegressionTree(*columns, tree.value, tree.gain, tree.count, tree.cut, set_of, sets)


def random_model(seed, categories=CATEGORIES, n_trees=5):
    """A model whose sums are exact, and rows: codes of categories, a fifth missing."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-9, 10, (60, 3)) / 10
    for column, values in CATEGORIES.items():
        X[:, column] = rng.integers(0, len(values), len(X))
    X[rng.random(X.shape) < 0.2] = np.nan
    trees = tuple(with_sets(rng, random_tree(rng, X, int(rng.integers(2, 9)), exact=True)) for _ in range(n_trees))
    return TreeSum(trees, 0.25, 3, NAMES, "LambdaMART", categories), X


def raw(X):
    """Rows of the values that the codes stand for, every second missing category one that was not seen."""
    rows = []
    for i, row in enumerate(X.tolist()):
        values = [None if x != x else CATEGORIES[j][int(x)] if j in CATEGORIES else x for j, x in enumerate(row)]
        unseen = {0: "not seen", 2: 1e6} if i % 2 else {}
        rows.append([unseen.get(j) if x is None else x for j, x in enumerate(values)])
    return rows


def module_of(path):
    names = {}
    exec(compile(path.read_text(encoding="utf-8"), path.name, "exec"), names)
    return names


def scores_in_sqlite(path, rows, kinds=SQL_TYPES):
    database = sqlite3.connect(":memory:")
    columns = (f'"{name}" {kind}' for name, kind in zip(NAMES, kinds, strict=True))
    database.execute(f"CREATE TABLE rows ({', '.join(columns)})")
    database.executemany("INSERT INTO rows VALUES (?, ?, ?)", rows)
    found = database.execute(f"SELECT {path.read_text(encoding='utf-8')} FROM rows ORDER BY rowid").fetchall()
    database.close()
    return [score for (score,) in found]


@examples(12)
@given(seed=st.integers(0, 2**32 - 1))
def test_python_and_sqlite_score_the_values_themselves(tmp_path_factory, seed):
    record, X = random_model(seed)
    folder = tmp_path_factory.mktemp("exports")
    for name in ("python", "sql"):
        export_model(record, folder / name, name)
    expected = record.score(X).tolist()
    assert scores_in_sqlite(folder / "sql", raw(X)) == expected
    module = module_of(folder / "python")
    assert [module["score"](row) for row in raw(X)] == expected
    assert [module["score"](dict(zip(NAMES, row, strict=True))) for row in raw(X)] == expected


@examples(12)
@given(seed=st.integers(0, 2**32 - 1))
def test_lightgbm_scores_codes_missing_and_unseen_ones(tmp_path_factory, seed):
    lightgbm = peer("lightgbm")
    record, X = random_model(seed)
    path = tmp_path_factory.mktemp("exports") / "model"
    export_model(record, path, "lightgbm")
    booster = lightgbm.Booster(model_file=str(path))
    np.testing.assert_array_equal(booster.predict(X), record.score(X))
    unseen = X.copy()
    for column, values in CATEGORIES.items():
        unseen[np.isnan(X[:, column]), column] = np.resize([len(values), 200, 300, -1], np.isnan(X[:, column]).sum())
    np.testing.assert_array_equal(booster.predict(unseen), record.score(X))
    np.testing.assert_array_equal(podium.import_model(path).predict(unseen), record.score(X))


def test_lightgbm_makes_codes_of_a_frames_categories_itself(tmp_path):
    lightgbm, pandas = peer("lightgbm"), peer("pandas")
    record, X = random_model(3)
    export_model(record, tmp_path / "model", "lightgbm")
    rows = raw(X)
    frame = pandas.DataFrame({"price": [row[1] for row in rows]}, dtype=float)
    for column, name in ((0, "site"), (2, "size")):
        frame.insert(column, name, pandas.Categorical([row[column] for row in rows]))
    found = lightgbm.Booster(model_file=str(tmp_path / "model")).predict(frame)
    np.testing.assert_array_equal(found, record.score(X))


@pytest.mark.parametrize("empty", [False, True])
def test_treelite_reads_sets(tmp_path, empty):
    treelite = peer("treelite")
    record, X = random_model(4)
    if empty:
        record, X = trees_of(by_set([])), np.array([[0.0], [254.0], [np.nan]])
    export_model(record, tmp_path / "model", "lightgbm")
    model = treelite.frontend.load_lightgbm_model(str(tmp_path / "model"))
    np.testing.assert_array_equal(treelite.gtil.predict(model, X, pred_margin=True).ravel(), record.score(X))


@pytest.mark.parametrize("name", ["lightgbm", "sql", "python"])
def test_certificates_of_sets_find_no_change(name):
    record, X = random_model(5)
    report = certify(record, X, record.score(X), np.zeros(len(X), int), name)
    assert (report.changed_scores, report.changed_pairs, report.largest_difference) == (0, 0, 0.0)


@pytest.mark.parametrize("name", sorted(set(FORMATS) - {"lightgbm", "sql", "python"}))
def test_other_formats_refuse_sets_by_the_name_of_a_column(tmp_path, name):
    record, X = random_model(6)
    reason = f"The format {name} has no splits on sets .* splits '(site|size)' so; .* are lightgbm, sql, python."
    with pytest.raises(PodiumError, match=reason):
        export_model(record, tmp_path / "m.csv", name)
    with pytest.raises(PodiumError, match=reason):
        certify(record, X, record.score(X), np.zeros(len(X), int), name)
    assert not (tmp_path / "m.csv").exists()


def test_codes_are_the_values_of_columns_without_others(tmp_path):
    record, X = random_model(7, categories={})
    for name in ("python", "sql"):
        export_model(record, tmp_path / name, name)
    expected = record.score(X).tolist()
    assert [module_of(tmp_path / "python")["score"](row) for row in X.tolist()] == expected
    rows = [[None if x != x else x for x in row] for row in X.tolist()]
    assert scores_in_sqlite(tmp_path / "sql", rows, ["DOUBLE PRECISION"] * 3) == expected


@pytest.mark.parametrize(
    ("values", "reason"),
    [((1, "a"), "the categories of 'site' are strings, numbers or truth values mixed"), (("a\0b",), "null character")],
    ids=["mixed", "null"],
)
def test_categories_that_sql_cannot_compare(tmp_path, values, reason):
    sets = np.array([[1] + [0] * 7], np.uint32)
    whole, number = np.array([-1], np.int32), np.zeros(1)
    tree = RegressionTree(
        whole + 1, number * np.nan, number > 0, whole, whole - 1, np.arange(2.0), number, np.zeros(2, int), whole,
        whole + 1, sets,
    )  # fmt: skip
    record = TreeSum((tree,), 0.0, 1, ("site",), "MART", {0: values})
    with pytest.raises(PodiumError, match=reason):
        export_model(record, tmp_path / "m", "sql")
    export_model(record, tmp_path / "m", "python")
    assert module_of(tmp_path / "m")["score"]([values[0]]) == 0.0


@pytest.mark.skipif(JIT_DISABLED, reason="a fit of trees is slow without compilation")
def test_a_fitted_ranker_scores_raw_values_everywhere(tmp_path):
    pandas = peer("pandas")
    rng = np.random.default_rng(0)
    site = rng.choice(["news", "forum", "shop's", "inf"], 240)
    frame = pandas.DataFrame({"price": rng.normal(size=240), "new": rng.random(240) < 0.5})
    frame["site"] = pandas.Categorical(np.where(rng.random(240) < 0.1, None, site))
    y = ((site == "shop's") + (site == "inf") * frame["new"] + (frame["price"] > 0.5)).astype(int)
    model = LambdaMART(10, max_leaves=6, min_child_samples=5, categorical_features=["new", "site"])
    model.fit(frame, y, qid=np.repeat(np.arange(20), 12))
    assert {1, 2} <= {int(f) for tree in model.trees_ for f in tree.feature[tree.set_of >= 0]}
    rows = [[None if x != x else x for x in row] for row in frame.astype(object).to_numpy().tolist()]
    model.export(tmp_path / "m.py", "python")
    np.testing.assert_allclose([module_of(tmp_path / "m.py")["score"](row) for row in rows], model.predict(frame))
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE rows (price DOUBLE PRECISION, new BOOLEAN, site TEXT)")
    database.executemany("INSERT INTO rows VALUES (?, ?, ?)", rows)
    model.export(tmp_path / "m.sql", "sql")
    found = database.execute(f"SELECT {(tmp_path / 'm.sql').read_text()} FROM rows ORDER BY rowid").fetchall()
    database.close()
    np.testing.assert_allclose(np.ravel(found), model.predict(frame))
    assert podium.export_report(model, frame, "lightgbm").changed_scores == 0
