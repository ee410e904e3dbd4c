"""What exports refuse and why, names, files that stay whole, certificates and scorecards."""

import csv
import html.parser
import io
import json

import numpy as np
import pytest

import podium
from peers import peer
from podium import MART, LambdaMART, NearestNeighbor, PodiumError, PreferenceRegression, RankBoost, VectorSimilarity
from podium._compiled import JIT_DISABLED
from podium.export import FORMATS, TreeSum, export_model
from podium.export.ensemble import leaf_tree, split_tree
from podium.export.sql import MAX_LEVELS
from podium.trees.regression_tree import RegressionTree
from reference import exports as read

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # scoring by masks wraps around on purpose
]
needs_fit = pytest.mark.skipif(JIT_DISABLED, reason="a fit of trees is slow without compilation")


@pytest.fixture(scope="module")
def data():
    made = podium.make_search(n_queries=15, docs_per_query=8, random_state=0)
    X = made.X.astype(float).copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    return X, made.y, made.qid


@pytest.fixture(scope="module")
def rankers(data):
    """A fitted ranker of every kind that can be exported, and of those that cannot."""
    X, y, qid = data
    few = {"n_estimators": 4, "n_jobs": 1}
    models = {
        "RankBoost": RankBoost(**few),
        "RankBoostPlus": podium.RankBoostPlus(**few),
        "PreferenceRegression": PreferenceRegression(),
        "NearestNeighbor": NearestNeighbor(),
        "VectorSimilarity": VectorSimilarity(),
        "RankSVM": podium.RankSVM(),
        "RSRank": podium.RSRank(8),
        "RankRLS": podium.RankRLS(),
    }
    if not JIT_DISABLED:
        models["LambdaMART"] = LambdaMART(max_leaves=4, min_child_samples=2, **few)
        models["MART"] = MART(max_leaves=4, min_child_samples=2, **few)
    return {name: model.fit(X, y, qid=qid) for name, model in models.items()}


def stumps(*thresholds, missing_left=True, names=None):
    trees = tuple(split_tree(0, t, missing_left, 0.0, 1.0) for t in thresholds)
    return TreeSum(trees, 0.0, 2, names, "RankBoost")


def test_every_ranker_exports_to_python_and_scores_the_same(rankers, data, tmp_path):
    X = data[0]
    for name, model in rankers.items():
        model.export(tmp_path / "model.py", "python")
        names = {}
        exec(compile((tmp_path / "model.py").read_text(), name, "exec"), names)
        np.testing.assert_allclose(
            [names["score"](row) for row in X.tolist()], model.predict(X), rtol=1e-12, atol=1e-12
        )
        assert podium.export_report(model, X, "python", qid=data[2]).changed_scores == 0


def test_only_the_best_rounds_are_exported(data, tmp_path):
    X, y, qid = data
    model = RankBoost(n_estimators=6).fit(X, y, qid=qid)
    model.best_iteration_ = 2
    model.export(tmp_path / "m.txt", "ranklib", missing="absent")
    assert len((tmp_path / "m.txt").read_text().splitlines()[3].split(" ")) == 2


def test_names_of_the_fit_are_those_of_the_file(tmp_path):
    pandas = peer("pandas")
    X = pandas.DataFrame({"click rate": [0.1, 0.2, 0.3], "age": [3.0, 1.0, 2.0]})
    model = PreferenceRegression().fit(X, [1, 2, 3])
    model.export(tmp_path / "m.sql", "sql")
    assert '"click rate"' in (tmp_path / "m.sql").read_text()
    model.export(tmp_path / "m.sql", "sql", feature_names=["rate", "years"])
    assert '"years"' in (tmp_path / "m.sql").read_text()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("lightgmb", {}, r"format must be one of ranklib, .*scorecard; got 'lightgmb' \(did you mean lightgbm\?\)"),
        ("sql", {"missing": "zero"}, "The format sql takes no options beside feature_names; got missing='zero'."),
        ("solr", {"nam": "m"}, "The format solr takes the options missing, name, store beside"),
        ("solr", {"name": 3}, "name, for the format solr, must be a string; got 3."),
        ("ranklib", {"missing": "child"}, "missing, for the format ranklib, must be one of zero, absent; got 'child'"),
        ("sql", {"feature_names": ["a"]}, "feature_names must be a list of 2 names; got 1."),
        ("sql", {"feature_names": ["a", 1]}, r"feature_names must be a list of 2 names; got \['a', 1\]."),
        ("sql", {"feature_names": "ab"}, "feature_names must be a list of 2 names; got 'ab'."),
        ("sql", {"feature_names": ["a", "a"]}, "feature_names must differ from each other; 'a' comes twice."),
        ("lightgbm", {"feature_names": ["a", "b c"]}, "A LightGBM file cannot carry the feature name 'b c'"),
        ("lightgbm", {"feature_names": ["a", '{"']}, "A LightGBM file cannot carry the feature name"),
        ("sql", {"feature_names": ["a", "b\0"]}, "SQL cannot carry the column name"),
        ("sql", {"feature_names": ["\ud800", "a"]}, "A name or a category holds '.ud800', which is no character."),
        ("scorecard", {"layout": "pdf"}, "layout must be one of csv, html; got 'pdf'"),
        ("scorecard", {}, "The ending of a scorecard must be one of csv, html; got 'txt'"),
        ("xgboost-json", {"missing": "right"}, "The reader sends missing values right, but tree 1 sends one left"),
    ],
)
def test_bad_requests_are_refused_before_a_file_is_touched(tmp_path, name, options, message):
    path = tmp_path / "m.txt"
    path.write_text("old")
    with pytest.raises(PodiumError, match=message):
        export_model(stumps(0.5), path, name, **options)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["ranklib", "solr", "xgboost-json"])
@pytest.mark.parametrize(("threshold", "missing_left", "same"), [
    (0.5, True, True), (0.5, False, False), (-0.5, False, True), (-0.5, True, False), (0.0, True, True),
])  # fmt: skip
def test_readers_that_take_missing_for_zero_get_only_models_that_do(tmp_path, name, threshold, missing_left, same):
    record = stumps(threshold, missing_left=missing_left, names=("price", "age"))
    options = {"missing": "zero"}
    if same:
        export_model(record, tmp_path / "m", name, **options)
    else:
        with pytest.raises(
            PodiumError, match=r"reads a missing value as 0, but tree 1 sends a missing 'price' .*absent"
        ):
            export_model(record, tmp_path / "m", name, **options)
        export_model(record, tmp_path / "m", name, missing="absent")
    assert (tmp_path / "m").exists()


def test_kinds_of_models_that_a_format_cannot_hold(rankers, tmp_path):
    linear = rankers["PreferenceRegression"]
    for name in ("ranklib", "xgboost-json", "lightgbm", "scorecard"):
        with pytest.raises(
            PodiumError, match="scores by a weighted sum of features; formats for it are solr, onnx, sql"
        ):
            linear.export(tmp_path / "m.csv", name)
    with pytest.raises(PodiumError, match="LinearModel reads a missing value as 0, but PreferenceRegression takes a"):
        linear.export(tmp_path / "m", "solr")
    linear.export(tmp_path / "m", "solr", missing="absent")
    assert json.loads((tmp_path / "m").read_text())["class"].endswith("LinearModel")


@needs_fit
def test_trees_have_no_scorecard(rankers, data, tmp_path):
    with pytest.raises(PodiumError, match="A scorecard holds models of stumps, but tree 1 of this MART has 4 leaves"):
        rankers["MART"].export(tmp_path / "m.csv", "scorecard")
    with pytest.raises(PodiumError, match="A scorecard holds models of stumps"):
        podium.export_report(rankers["MART"], data[0], "scorecard")
    assert not (tmp_path / "m.csv").exists()


@needs_fit
def test_trees_on_another_rankers_scores_are_refused(data, tmp_path):
    X, y, qid = data
    first = PreferenceRegression().fit(X, y, qid=qid)
    model = LambdaMART(n_estimators=2, min_child_samples=2).fit(X, y, qid=qid, init_model=first)
    with pytest.raises(PodiumError, match="goes on from another ranker's scores cannot be exported; export both apart"):
        model.export(tmp_path / "m", "lightgbm")


def test_weak_rankings_that_are_no_stumps_are_refused(data, tmp_path):
    X, y, qid = data
    model = RankBoost(n_estimators=2, weak="feature").fit(X, y, qid=qid)
    with pytest.raises(
        PodiumError, match="Only stumps can be exported; the weak ranking of round 1 is a ScaledFeature"
    ):
        model.export(tmp_path / "m", "sql")


def test_rankers_without_a_record_say_so(tmp_path):
    class Own(podium.rankers.Ranker):
        _parameter_constraints = {}  # noqa: RUF012

        def _learn(self, data, evals, init_model):
            self.done_ = True

        def _score(self, features):
            return np.zeros(len(features))

    model = Own().fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(PodiumError, match="Own is neither a sum of trees nor of features"):
        model.export(tmp_path / "m", "sql")


def test_a_model_must_be_fitted_and_have_trees(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        RankBoost().export(tmp_path / "m", "sql")
    with pytest.raises(PodiumError, match="has no trees, so there is nothing to export"):
        export_model(TreeSum((), 0.5, 2, None, "MART"), tmp_path / "m", "sql")


def test_trees_too_deep_for_sql_are_refused(tmp_path):
    n = MAX_LEVELS + 1
    left, right = np.append(np.arange(1, n), -1).astype(np.int32), -np.arange(2, n + 2, dtype=np.int32)[::-1].copy()
    whole = np.zeros(n, np.int32)
    chain = RegressionTree(
        whole,
        np.arange(n, 0, -1.0),
        whole > 0,
        left,
        right,
        np.arange(n + 1.0),
        np.zeros(n),
        np.zeros(n + 1, int),
        whole,
    )
    with pytest.raises(PodiumError, match=f"A tree of {n} levels is too deep"):
        export_model(TreeSum((chain,), 0.0, 1, None, "MART"), tmp_path / "m", "sql")


@pytest.mark.parametrize(("place", "message"), [("no/m.sql", "The folder of .* does not exist"), (".", "is a folder")])
def test_paths_that_cannot_be_written(tmp_path, place, message):
    with pytest.raises(PodiumError, match=message):
        export_model(stumps(0.5), tmp_path / place, "sql")


def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "m.sql"
    path.write_text("old")
    monkeypatch.setattr("os.fsync", lambda number: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        export_model(stumps(0.5), path, "sql")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_onnx_without_its_package_says_how_to_get_it(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(PodiumError, match=r'needs the package onnx: pip install "podium\[onnx\]"'):
        export_model(stumps(0.5), tmp_path / "m.onnx", "onnx")


ODD_NAMES = ('say "hi"', "O'Neil; DROP TABLE x; --", "<b>&amp;</b>", "naïve ∑ 名前", "a\nb", "{x}", "\\n", "=1+1")


@pytest.mark.parametrize("name", ["xgboost-json", "solr", "python", "sql", "scorecard"])
def test_odd_names_come_through(tmp_path, name):
    import sqlite3

    trees = tuple(split_tree(i, 0.5, True, 0.0, 2.0**i) for i in range(len(ODD_NAMES)))
    record = TreeSum(trees, 0.0, len(ODD_NAMES), ODD_NAMES, "RankBoost")
    path = tmp_path / "m.csv"
    export_model(record, path, name)
    text = path.read_text(encoding="utf-8")
    X = np.random.default_rng(0).random((5, len(ODD_NAMES)))
    if name == "sql":
        database, quoted = sqlite3.connect(":memory:"), ['"' + one.replace('"', '""') + '"' for one in ODD_NAMES]
        database.execute(f"CREATE TABLE t ({', '.join(quoted)})")
        database.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(quoted))})", X.tolist())
        found = [score for (score,) in database.execute(f"SELECT {text} FROM t ORDER BY rowid")]
        database.close()
    elif name == "python":
        names = {}
        exec(text, names)
        assert names["FEATURES"] == ODD_NAMES
        found = [names["score"](row) for row in X.tolist()]
    elif name == "scorecard":
        lines = list(csv.DictReader(io.StringIO(text, newline="")))
        found = tuple(dict.fromkeys(line["feature"] for line in lines))
        assert found == (*ODD_NAMES[:-1], "'=1+1")  # a spreadsheet would run the name
        return
    else:
        reader = {"xgboost-json": lambda t, x: read.xgboost_dump(t, x, ODD_NAMES), "solr": read.solr}[name]
        found = reader(text, X)
    np.testing.assert_array_equal(found, record.score(X))


def test_rows_for_the_python_function_must_fit(tmp_path):
    export_model(stumps(0.5), tmp_path / "m.py", "python")
    names = {}
    exec((tmp_path / "m.py").read_text(), names)
    assert names["score"]({"f0": 0.6}) == 1.0
    with pytest.raises(ValueError, match="a row has 2 values; got 3"):
        names["score"]([1, 2, 3])


def test_solr_has_the_names_that_a_query_calls(tmp_path):
    export_model(stumps(0.5), tmp_path / "m", "solr", name="mine", store="shop")
    model = json.loads((tmp_path / "m").read_text())
    assert (model["name"], model["store"]) == ("mine", "shop")
    assert model["params"]["trees"][0]["root"]["missing"] == "left"


class Page(html.parser.HTMLParser):
    """The texts of a page's cells and headings; fails on tags that do not close."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "h1", "h2"):
            self.texts.append(data.strip())


def test_a_scorecard_page_shows_every_range_with_its_points(tmp_path):
    trees = (
        split_tree(0, 0.25, True, 0.0, 1.5),
        split_tree(0, 0.75, False, 0.0, -0.5),
        split_tree(1, -np.inf, True, 0.0, 0.25),
    )
    record = TreeSum(trees, 0.0, 2, ("a<b", "c"), "RankBoost")
    export_model(record, tmp_path / "m.html", "scorecard")
    page = Page((tmp_path / "m.html").read_text())
    assert page.open == []
    assert page.texts[:2] == ["Scorecard of RankBoost", "a<b"]
    cells = [text for text in page.texts if text and text != "a<b"][1:]
    assert cells[:8] == [
        "up to 0.25", "+0.000", "above 0.25, up to 0.75", "+1.500", "above 0.75", "+1.000", "missing", "-0.500",
    ]  # fmt: skip
    assert cells[8:] == ["c", "any value", "+0.250", "missing", "+0.000"]


def test_a_scorecard_of_stumps_with_two_values_has_a_constant(tmp_path):
    record = TreeSum((split_tree(0, 0.5, True, -1.0, 1.0), leaf_tree(3.0)), 0.25, 1, ("x",), "MART")
    export_model(record, tmp_path / "m.csv", "scorecard")
    X = np.array([[0.5], [0.6], [np.nan]])
    assert read.scorecard((tmp_path / "m.csv").read_text(), X, ("x",)) == record.score(X).tolist() == [2.25, 4.25, 2.25]


def test_every_format_is_named_in_the_docstring_of_export():
    for name in FORMATS:
        assert f'"{name}"' in podium.rankers.Ranker.export.__doc__
