"""Exported files, read by their own programs or by interpreters of their rules, give our scores and so our orders."""

import math
import sqlite3

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peers import peer
from podium.export import FORMATS, Linear, TreeSum, certify, export_model
from podium.export.ensemble import leaf_tree, split_tree
from podium.trees.regression_tree import RegressionTree
from profiles import examples
from reference import exports as read

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # scoring by masks wraps around on purpose
]
N_FEATURES = 3
NAMES = ("price", "age", "click rate")
COLUMNS = ("price", "age", "clicks")


def random_tree(rng, X, n_leaves, exact):
    """A tree of random shape whose thresholds are values of the data, or infinite."""
    left, right = [], []
    n_made = 0

    def grow(size):
        nonlocal n_made
        if size == 1:
            n_made += 1
            return -n_made
        at = len(left)
        left.append(0)
        right.append(0)
        first = int(rng.integers(1, size))
        left[at], right[at] = grow(first), grow(size - first)
        return at

    grow(n_leaves)
    n_splits = n_leaves - 1
    feature = rng.integers(0, N_FEATURES, n_splits).astype(np.int32)
    threshold = np.array([rng.choice([*known(X[:, f]), -np.inf, np.inf]) for f in feature], float)
    value = rng.integers(-64, 65, n_leaves) / 64 if exact else rng.normal(size=n_leaves)
    sides = [np.array(side, np.int32) for side in (left, right)]
    missing_left, gain = rng.random(n_splits) < 0.5, rng.random(n_splits)
    cut, count = np.full(n_splits, -1, np.int32), np.ones(n_leaves, np.int64)
    return RegressionTree(feature, threshold, missing_left, *sides, value, gain, count, cut)


def known(column):
    return column[~np.isnan(column)]


def random_rows(rng, n_rows=30):
    """Values that float32 cannot hold, none nearer to another than float32 can tell; a fifth missing."""
    X = rng.integers(-9, 10, (n_rows, N_FEATURES)) / 10
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


def random_trees(seed, exact=True, n_trees=4, most_leaves=9):
    """A model of trees; with exact leaves, sums are exact in float32 too, in any order, so that ties must stay ties."""
    rng = np.random.default_rng(seed)
    X = random_rows(rng)
    trees = tuple(random_tree(rng, X, int(rng.integers(1, most_leaves)), exact) for _ in range(n_trees))
    return TreeSum(trees, 0.25 if exact else 0.1, N_FEATURES, NAMES, "LambdaMART"), X


def random_stumps(seed, exact=True, n_trees=9):
    rng = np.random.default_rng(seed)
    X = random_rows(rng)
    features = rng.integers(0, N_FEATURES, n_trees).tolist()
    alphas = (rng.integers(-64, 65, n_trees) / 64 if exact else rng.normal(size=n_trees)).tolist()
    trees = tuple(
        split_tree(f, float(rng.choice([*known(X[:, f]), -np.inf, np.inf])), bool(rng.random() < 0.5), 0.0, alpha)
        for f, alpha in zip(features, alphas, strict=True)
    )
    return TreeSum(trees, 0.0, N_FEATURES, NAMES, "RankBoost"), X


def random_linear(seed):
    rng = np.random.default_rng(seed)
    weights, missing = rng.normal(size=(2, N_FEATURES))
    return Linear(weights, missing, float(rng.normal()), NAMES, "PreferenceRegression"), random_rows(rng)


MODELS = {"trees": random_trees, "stumps": random_stumps}


def read_lightgbm(path, X):
    lightgbm = peer("lightgbm")
    return lightgbm.Booster(model_file=str(path)).predict(X, raw_score=True)


def read_onnx(path, X):
    runtime = peer("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1  # with more, parts of the sum are added up in another order
    session = runtime.InferenceSession(path.read_bytes(), options)
    with np.errstate(over="ignore"):
        return session.run(None, {"X": X.astype(np.float32)})[0][:, 0]


def read_python(path, X):
    names = {}
    exec(compile(path.read_text(encoding="utf-8"), path.name, "exec"), names)
    by_name = [names["score"](dict(zip(names["FEATURES"], row, strict=True))) for row in X.tolist()]
    scores = [names["score"]([None if x != x else x for x in row]) for row in X.tolist()]
    assert by_name == scores
    return scores


def read_sql(path, X, names=NAMES):
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    database = sqlite3.connect(":memory:")
    database.execute(f"CREATE TABLE rows (number INTEGER, {', '.join(f'{name} DOUBLE PRECISION' for name in quoted)})")
    rows = [(i, *(None if x != x else x for x in row)) for i, row in enumerate(X.tolist())]
    database.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * (len(names) + 1))})", rows)
    found = database.execute(f"SELECT {path.read_text(encoding='utf-8')} FROM rows ORDER BY number").fetchall()
    database.close()
    return [score for (score,) in found]


def by_text(reader, *arguments):
    return lambda path, X: reader(path.read_text(encoding="utf-8"), X, *arguments)


READERS = {
    "ranklib": by_text(read.ranklib),
    "xgboost-json": by_text(read.xgboost_dump, NAMES),
    "lightgbm": read_lightgbm,
    "solr": by_text(read.solr),
    "onnx": read_onnx,
    "sql": read_sql,
    "python": read_python,
    "scorecard": by_text(read.scorecard, NAMES),
}


def write(record, folder, name, **options):
    """Write a model in a format that keeps its missing values, or as if there were none."""
    if name == "onnx":
        peer("onnx")
    path = folder / ("model.csv" if name == "scorecard" else "model")
    if name == "lightgbm":
        options["feature_names"] = COLUMNS
    if name == "ranklib":
        options["missing"] = "absent"
    export_model(record, path, name, **options)
    return path


def there(record, X, name, **options):
    """Scores by the simulator of the certificate."""
    kind = FORMATS[name]
    given = {"missing": options.get("missing", kind.missing[0])} if kind.missing else {}
    return kind.score(record, X, **given)


def cases():
    return [(m, f) for m in MODELS for f in FORMATS if (m, f) != ("trees", "scorecard")]


def test_every_format_has_a_reader_here():
    assert set(READERS) == set(FORMATS)


@pytest.mark.parametrize(("model", "name"), cases())
@examples(12)
@given(seed=st.integers(0, 2**32 - 1))
def test_readers_give_our_scores_of_missing_values_and_values_on_thresholds(tmp_path_factory, model, name, seed):
    record, X = MODELS[model](seed)
    if name == "ranklib":  # it has no missing values
        X = np.nan_to_num(X, nan=0.5)
    path = write(record, tmp_path_factory.mktemp("exports"), name)
    np.testing.assert_array_equal(READERS[name](path, X), record.score(X))


@pytest.mark.parametrize(("model", "name"), cases())
@examples(8)
@given(seed=st.integers(0, 2**32 - 1))
def test_certificates_score_as_the_readers_do(tmp_path_factory, model, name, seed):
    record, X = MODELS[model](seed, exact=False)
    rng = np.random.default_rng(seed)
    odd = rng.choice(
        [np.inf, -np.inf, 1e39, -1e39, 1e-40, 0.0, -0.0, np.nan, 0.30000000000000004, 1 / 3], (10, N_FEATURES)
    )
    rows = np.vstack([X, X + 1e-9, odd])
    path = write(record, tmp_path_factory.mktemp("exports"), name)
    found = np.array(READERS[name](path, rows))
    if name == "scorecard":  # the reader there adds up exactly
        np.testing.assert_allclose(found, there(record, rows, name), rtol=0, atol=1e-14)
    else:
        np.testing.assert_array_equal(found, there(record, rows, name))


@pytest.mark.parametrize("name", ["solr", "onnx", "sql", "python"])
@pytest.mark.parametrize("seed", range(5))
def test_readers_score_linear_models_as_the_certificate_does(tmp_path, name, seed):
    record, X = random_linear(seed)
    options = {"missing": "absent"} if name == "solr" else {}
    found = np.array(READERS[name](write(record, tmp_path, name, **options), X))
    tolerance = {"onnx": 1e-6}.get(name, 0)  # a product of matrices may add up in any order
    np.testing.assert_allclose(found, there(record, X, name, **options), rtol=0, atol=tolerance)
    if name != "solr":  # which has no intercept, and for which missing values are 0
        np.testing.assert_allclose(found, record.score(X), rtol=0, atol=1e-6 if name == "onnx" else 1e-14)


def test_linear_models_in_solr_keep_the_order_of_rows_without_missing_values(tmp_path):
    record, X = random_linear(0)
    X = np.nan_to_num(X, nan=0.5)
    found = np.array(read.solr(write(record, tmp_path, "solr", missing="absent").read_text(), X))
    assert certify(record, X, record.score(X), np.zeros(len(X), int), "solr", missing="absent").same_order
    np.testing.assert_allclose(found + record.intercept, record.score(X), rtol=1e-6)


def test_treelite_reads_the_lightgbm_text(tmp_path):
    treelite = peer("treelite")
    record, X = random_trees(1, exact=False, n_trees=20)
    model = treelite.frontend.load_lightgbm_model(str(write(record, tmp_path, "lightgbm")))
    found = treelite.gtil.predict(model, X, pred_margin=True).ravel()
    np.testing.assert_array_equal(found, there(record, X, "lightgbm"))


def test_many_trees_and_rows_in_onnx(tmp_path):
    record, X = random_trees(2, exact=False, n_trees=150)
    rows = np.tile(X, (20, 1))
    np.testing.assert_array_equal(read_onnx(write(record, tmp_path, "onnx"), rows), there(record, rows, "onnx"))


def test_many_deep_trees_in_one_sql_expression(tmp_path):
    record, X = random_trees(3, n_trees=1100, most_leaves=40)
    np.testing.assert_array_equal(read_sql(write(record, tmp_path, "sql"), X[:20]), record.score(X[:20]))


@pytest.mark.parametrize("missing", ["child", "zero", "right"])
def test_a_dump_is_scored_by_what_its_reader_does_with_missing_values(tmp_path, missing):
    record, X = random_trees(4, exact=False)
    path = write(record, tmp_path, "xgboost-json", missing="absent")
    found = read.xgboost_dump(path.read_text(), X, NAMES, missing)
    np.testing.assert_array_equal(found, there(record, X, "xgboost-json", missing=missing))


def test_solr_without_missing_branches_reads_zero(tmp_path):
    record, X = random_trees(5, exact=False)
    path = write(record, tmp_path, "solr", missing="absent")
    assert "isNullSameAsZero" not in path.read_text()
    np.testing.assert_array_equal(read.solr(path.read_text(), X), there(record, X, "solr", missing="absent"))


def test_our_reader_of_dumps_reads_those_of_xgboost(tmp_path):
    xgboost = peer("xgboost")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, N_FEATURES))
    X[rng.random(X.shape) < 0.2] = np.nan
    data = xgboost.DMatrix(X, np.nan_to_num(X[:, 0]) > 0.1, feature_names=list(COLUMNS))
    model = xgboost.train({"objective": "rank:pairwise", "base_score": 0.0}, data, 5)
    model.dump_model(tmp_path / "dump.json", dump_format="json")
    found = read.xgboost_dump((tmp_path / "dump.json").read_text(), X, COLUMNS)
    np.testing.assert_allclose(found, model.predict(data, output_margin=True), rtol=1e-5, atol=1e-6)


def test_a_dump_has_the_fields_of_xgboost(tmp_path):
    import json

    record, _ = random_trees(6)
    path = write(record, tmp_path, "xgboost-json")
    fields = {"nodeid", "depth", "split", "split_condition", "yes", "no", "missing", "children"}

    def check(node, depth):
        if "leaf" in node:
            assert node.keys() == {"nodeid", "leaf"}
            return
        assert node.keys() == fields
        assert node["depth"] == depth
        assert [child["nodeid"] for child in node["children"]] == [node["yes"], node["no"]]
        for child in node["children"]:
            check(child, depth + 1)

    for tree in json.loads(path.read_text()):
        assert tree["nodeid"] == 0
        check(tree, 0)


def test_thresholds_in_solr_are_the_wanted_ones_after_its_slack_or_just_above():
    from podium.export.solr import as_read
    from podium.export.tree_text import nearest_float32

    rng = np.random.default_rng(0)
    usual = np.concatenate([rng.normal(size=10000) * 10.0 ** rng.integers(-2, 9, 10000), [0.0, 1e-6, 0.1, 3e38]])
    wanted = nearest_float32(usual)
    assert ((as_read(usual) == wanted) | (as_read(usual) == np.nextafter(wanted, np.float32(np.inf)))).all()
    assert (as_read(usual) == wanted).mean() > 0.999
    tiny = rng.normal(size=1000) * 10.0 ** rng.integers(-12, -4, 1000)
    assert (as_read(tiny) >= nearest_float32(tiny)).all()
    np.testing.assert_allclose(as_read(tiny), tiny, rtol=1e-6, atol=2e-13)


@pytest.mark.parametrize("name", ["lightgbm", "python", "sql"])
def test_exact_formats_give_our_very_scores_of_real_leaves(tmp_path, name):
    record, X = random_trees(7, exact=False)
    np.testing.assert_allclose(READERS[name](write(record, tmp_path, name), X), record.score(X), rtol=0, atol=1e-14)


def test_ranklib_writes_rankboost_for_stumps_and_trees_else(tmp_path):
    stumps, _ = random_stumps(0)
    text = write(stumps, tmp_path, "ranklib").read_text()
    assert text.splitlines()[0] == "## RankBoost"
    assert len(text.splitlines()[3].split(" ")) == len(stumps.trees)
    with_base = TreeSum(stumps.trees, 1.0, N_FEATURES, NAMES, "MART")
    assert write(with_base, tmp_path, "ranklib").read_text().startswith("## LambdaMART\n")


def test_a_tree_of_one_leaf_is_a_constant_everywhere(tmp_path):
    record = TreeSum((leaf_tree(0.5), split_tree(1, 0.3, True, -1.0, 1.0)), 0.0, N_FEATURES, NAMES, "MART")
    X = np.array([[0.0, 0.3, 0.0], [0.0, 0.4, 0.0], [0.0, math.nan, 0.0]])
    for name in FORMATS:
        rows = X[:2] if name == "ranklib" else X
        expected = [-0.5, 1.5, -0.5][: len(rows)]
        assert list(READERS[name](write(record, tmp_path, name), rows)) == expected, name


@pytest.mark.parametrize(("model", "name"), [(m, f) for m in MODELS for f in ("lightgbm", "xgboost-json", "ranklib")])
@pytest.mark.parametrize("seed", range(4))
def test_imports_of_exported_files_score_as_the_certificate_does(tmp_path, model, name, seed):
    from podium import import_model

    record, X = MODELS[model](seed, exact=False)
    names = COLUMNS if name == "lightgbm" else NAMES
    options = {"feature_names": names} if name == "xgboost-json" else {"n_features": N_FEATURES}
    found = import_model(write(record, tmp_path, name), **options).predict(X)
    np.testing.assert_array_equal(found, there(record, X, name))
