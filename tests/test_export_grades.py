"""Ordinal rankers in other programs: the grades of Python, SQLite and ONNX Runtime are ours, labels and all."""

import importlib.util
import sqlite3

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peers import peer
from podium import (
    MART,
    SVOR,
    AdaBoostOR,
    BaggingOR,
    ExtendedBinary,
    LambdaMART,
    ORBoost,
    OrdinalThresholds,
    ORStump,
    PodiumError,
    PRank,
    RankRLS,
    export_report,
    load,
)
from podium.export import FORMATS, Graded, graded_votes
from podium.ordinal import OrdinalStump
from profiles import examples

RANKERS = {
    "ORStump": ORStump(),
    "AdaBoostOR": AdaBoostOR(n_estimators=12),
    "BaggingOR": BaggingOR(n_estimators=4),
    "ORBoost": ORBoost(n_estimators=10),
    "PRank": PRank(epochs=20),
    "SVOR": SVOR(kernel="linear"),
    "trees": OrdinalThresholds(MART(n_estimators=3, min_child_samples=5), folds=None),
    "weights": OrdinalThresholds(RankRLS(), folds=None),
}
LABELS = {"words": np.array(["bad", "fair", "good", "it's best"]), "numbers": np.arange(4), "halves": np.arange(4) / 2}


@pytest.fixture(scope="module")
def rows():
    """Rows of float32 numbers, some missing, and the place of the grade of each."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4)).astype(np.float32).astype(float)
    hidden = X @ [1, 0.5, -0.7, 0.2] + 0.3 * rng.normal(size=90)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.digitize(hidden, [-1, 0, 1])


def python_grades(path, X):
    """Grades by the exported module."""
    spec = importlib.util.spec_from_file_location("exported", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    named = [dict(zip(module.FEATURES, row, strict=True)) for row in X.tolist()]
    assert [module.grade(row) for row in named] == [module.grade(row) for row in X.tolist()]
    return [module.grade(row) for row in X.tolist()]


def sqlite_grades(path, X):
    """Grades by the exported expression."""
    database = sqlite3.connect(":memory:")
    columns = ", ".join(f"f{j}" for j in range(X.shape[1]))
    database.execute(f"CREATE TABLE t ({columns})")
    filled = [[None if value != value else value for value in row] for row in X.tolist()]
    database.executemany(f"INSERT INTO t VALUES ({', '.join('?' * X.shape[1])})", filled)
    found = [row[0] for row in database.execute(f"SELECT {path.read_text()} FROM t ORDER BY rowid")]
    database.close()
    return found


def onnx_grades(path, X):
    """Grades by ONNX Runtime."""
    session = peer("onnxruntime").InferenceSession(path)
    return session.run(["grades"], {"X": X.astype(np.float32)})[0].tolist()


READERS = {"python": python_grades, "sql": sqlite_grades, "onnx": onnx_grades}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("name", RANKERS)
def test_other_programs_give_our_grades(rows, tmp_path, name, labels):
    X, places = rows
    model = RANKERS[name].fit(X, LABELS[labels][places])
    expected = model.predict(X).tolist()
    assert len(set(expected)) >= 3
    for format, read in READERS.items():
        path = tmp_path / f"model.{format[:2]}"
        model.export(path, format)
        assert read(path, X) == expected
        report = export_report(model, X, format)
        assert (report.changed_scores, report.n_rows) == (0, 90)


def test_a_saved_ranker_is_exported_alike_with_names_of_its_own(rows, tmp_path):
    X, places = rows
    model = AdaBoostOR(n_estimators=3).fit(X, places)
    model.save(tmp_path / "m")
    for number, ranker in enumerate((model, load(tmp_path / "m"))):
        ranker.export(tmp_path / f"{number}.sql", "sql", feature_names=list("abcd"))
    text = (tmp_path / "0.sql").read_text()
    assert text == (tmp_path / "1.sql").read_text()
    assert '"f0"' not in text


def test_scores_that_fall_with_the_grades_are_turned(rows, tmp_path):
    X, places = rows
    inner = RankRLS().fit(X, -places, group=[len(X)])
    model = OrdinalThresholds(inner, folds="prefit").fit(X, places)
    assert model.direction_ == -1
    model.export(tmp_path / "m.py", "python")
    assert python_grades(tmp_path / "m.py", X) == model.predict(X).tolist()


@pytest.mark.parametrize("format", [name for name in FORMATS if name not in READERS])
def test_formats_of_scores_refuse_grades(rows, tmp_path, format):
    X, places = rows
    model = ORStump().fit(X, places)
    with pytest.raises(PodiumError, match="but ORStump predicts grades; formats for it are onnx, sql, python"):
        model.export(tmp_path / "m.csv", format)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (SVOR(), "SVOR with kernel='perceptron' is no sum of features.*; kernel=\"linear\" is one"),
        (AdaBoostOR(PRank(epochs=5), n_estimators=2), "Votes of ORStump can be exported; .* has votes of PRank"),
        (ExtendedBinary(LambdaMART(2)), "ExtendedBinary is no sum of trees nor of features that is cut into grades"),
    ],
)
def test_what_is_no_cut_sum_is_refused(rows, tmp_path, model, said):
    X, places = rows
    with pytest.raises(PodiumError, match=said):
        model.fit(X, places).export(tmp_path / "m.py", "python")
    with pytest.raises(PodiumError, match="cannot be explained feature by feature"):
        model.explain(X, 0, 1)


LIMITS = st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 1.0, np.inf])
STUMPS = st.builds(
    lambda feature, direction, limits, missing: OrdinalStump(feature, direction, np.sort(limits), missing),
    st.integers(0, 1), st.sampled_from([-1, 1]), st.lists(LIMITS, min_size=3, max_size=3), st.integers(0, 3),
)  # fmt: skip


@pytest.mark.plain
@examples(60)
@given(st.lists(st.tuples(STUMPS, st.integers(0, 4)), min_size=1, max_size=5))
def test_votes_of_any_stumps_are_the_weighted_median(voters):
    """With integer votes, which add up exactly, ties included; infinite values and missing ones too."""
    values = [-np.inf, -2.0, -1.0, -0.5, 0.0, 0.5, 0.75, 1.0, np.inf, np.nan]
    X = np.array([[one, other] for one in values for other in values])
    stumps, votes = [stump for stump, _ in voters], np.array([vote for _, vote in voters], float)
    record = graded_votes(stumps, votes, np.arange(4), None, 2, "own")
    sums = np.zeros((len(X), 4))
    for stump, vote in zip(stumps, votes, strict=True):
        sums[np.arange(len(X)), stump.grades(X)] += vote
    expected = np.sum(np.cumsum(sums, axis=1)[:, :3] <= 0.5 * votes.sum(), axis=1)
    assert isinstance(record, Graded)
    assert record.grades(X, lambda step, rows: step.score(rows)).tolist() == expected.tolist()
