"""Files, exports and text of trees of the ROC curve."""

import numpy as np
import pytest
from sklearn.base import clone

from podium import (
    CRank,
    FormatError,
    PodiumError,
    RankOver,
    TreeRank,
    TreeRankForest,
    TreeRankTournament,
    load,
)
from podium.model_file import read_model, write_model

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # hashes wrap around on purpose
    pytest.mark.filterwarnings("ignore:Nothing was learned"),
]
STUMPS = {"leafrank_depth": 1, "max_leaves": None, "min_child_weight": 0.0, "pruning_folds": 0}
QUICK = [
    TreeRank(max_leaves=6, min_child_weight=2.0, pruning_folds=3),
    TreeRankForest(4, leafrank_depth=3),
    TreeRankTournament(2, leafrank_depth=2),
    RankOver(max_leaves=5),
    CRank(max_leaves=6, min_child_weight=2.0),
]
each_ranker = pytest.mark.parametrize("ranker", QUICK, ids=lambda one: type(one).__name__)


def graded(seed=4, n_rows=60):
    """Rows of three grades in three queries, some values missing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows).astype(float)
    X = np.round(y[:, None] + rng.normal(0, 1.0, (n_rows, 3)), 1)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y, np.arange(n_rows) % 3


@each_ranker
def test_files_hold_every_tree_and_broken_ones_are_refused(ranker, tmp_path):
    X, y, qid = graded()
    model = clone(ranker).fit(X, y, qid=qid)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.export_text() == model.export_text()
    content = read_model(tmp_path / "model")
    trees = content["learned"]["trees"]
    for name, value, message in (
        ("left", np.zeros_like(trees["left"]), "must lead to later splits or to cells"),
        ("right", np.full_like(trees["right"], -1000), "must lead to later splits or to cells"),
        ("left", trees["left"] + 1000, "must lead to later splits or to cells"),
        ("feature", trees["feature"] + 3, "feature must be a list of integers from 0 to 2"),
        ("value", trees["value"] + 1, "value must be a list of"),
        ("weight", trees["weight"][1:], "weight must have"),
        ("n_cells", np.empty(0, np.int64), "n_cells must have"),
    ):
        broken = {**content["learned"], "trees": {**trees, name: value}}
        write_model(tmp_path / "broken", {**content, "learned": broken})
        with pytest.raises(FormatError, match=message):
            load(tmp_path / "broken")


@each_ranker
def test_exported_trees_score_as_the_ranker_does(ranker, tmp_path):
    X, y, qid = graded()
    model = clone(ranker).fit(X, y, qid=qid)
    model.export(tmp_path / "scorer.py", "python")
    space = {}
    exec((tmp_path / "scorer.py").read_text(encoding="utf-8"), space)
    rows = [[None if np.isnan(x) else x for x in row] for row in X.tolist()]
    np.testing.assert_allclose([space["score"](row) for row in rows], model.predict(X), rtol=1e-9)


def test_what_no_format_can_hold_is_refused(tmp_path, monkeypatch):
    X, y, qid = graded()
    with pytest.raises(PodiumError, match='consensus="median" is no sum of trees'):
        TreeRankForest(3, consensus="median").fit(X, y, qid=qid).export(tmp_path / "m", "python")
    monkeypatch.setattr("podium.ranking_trees.cells.MAX_COPIED_LEAVES", 3)
    with pytest.raises(PodiumError, match="too many to export: fit it with leafrank_depth=1"):
        TreeRank(8, pruning_folds=0).fit(X, y, qid=qid).export(tmp_path / "m", "python")


def test_text_has_a_line_for_each_split_and_cell():
    model = TreeRank(**STUMPS).fit([[1.0], [2.0], [np.nan], [4.0]], [0, 0, 0, 1])
    assert model.export_text(np.array(["price"])).splitlines() == [
        "   0  price <= 2 or missing: cell 1, else cell 0  (gain 1.0000)",
        "cell   0  score 0.8750  weight 1  mean label 1",
        "cell   1  score 0.3750  weight 3  mean label 0",
    ]
    with pytest.raises(PodiumError, match="name each of the 1 features; got 2 names"):
        model.export_text(["a", "b"])
    forest = TreeRankForest(2).fit([[1.0], [2.0], [4.0]], [0, 0, 1])
    assert forest.export_text().count("tree ") == 2
    assert "f0" in forest.export_text()
