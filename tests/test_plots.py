"""Charts: what they hold, and what they refuse."""

import sys

import numpy as np
import pytest

from peers import peer
from podium import AdaBoostOR, ORStump, PodiumError
from podium.evaluation import FeatureDrop, PermutationImportance
from podium.explain import EffectCurve, Effects
from podium.plots import plot_decision_regions, plot_effects, plot_losses, plot_permutation_importance, regions

peer("altair")
pytestmark = pytest.mark.plain

LOSSES = {"RB+": {"E1": [0.9, 0.8], "E2": [0.95, 0.9]}, "RB-D": {"E2": np.array([1.0, np.inf, 0.0])}}


def test_chart_holds_every_finite_value_by_round():
    content = plot_losses(LOSSES).to_dict()
    rows = [(row["ranker"], row["loss"], row["round"], row["value"]) for row in content["data"]["values"]]
    assert rows == [
        ("RB+", "E1", 1, 0.9),
        ("RB+", "E1", 2, 0.8),
        ("RB+", "E2", 1, 0.95),
        ("RB+", "E2", 2, 0.9),
        ("RB-D", "E2", 1, 1.0),
        ("RB-D", "E2", 3, 0.0),
    ]
    assert content["encoding"]["y"]["scale"] == {"type": "linear", "zero": False}
    assert content["encoding"]["color"]["sort"] == ["RB+", "RB-D"]


def test_logarithmic_chart_leaves_out_zero():
    content = plot_losses(LOSSES, scale="log").to_dict()
    assert len(content["data"]["values"]) == 5
    assert content["encoding"]["y"]["scale"]["type"] == "log"


def test_chart_can_be_saved(tmp_path):
    plot_losses(LOSSES).save(tmp_path / "losses.json")
    assert '"RB-D"' in (tmp_path / "losses.json").read_text(encoding="utf-8")


def test_bad_input_is_refused():
    with pytest.raises(PodiumError, match='scale must be "linear" or "log"; got \'square\''):
        plot_losses(LOSSES, scale="square")
    with pytest.raises(PodiumError, match="nothing to draw"):
        plot_losses({"RB+": {"E2": [np.nan]}})


def test_missing_altair_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ImportError, match="podium\\[plots\\]"):
        plot_losses(LOSSES)


GRID = 8
"""Cells a side here: Altair takes a second for the 3,600 of a chart."""


@pytest.fixture(autouse=True)
def few_cells(monkeypatch):
    monkeypatch.setattr(regions, "CELLS_PER_SIDE", GRID)


@pytest.fixture(scope="module")
def grades():
    X = np.random.default_rng(0).random((40, 2))
    return X, np.digitize(X.sum(axis=1), [0.7, 1.3])


def test_regions_hold_the_staged_predictions_and_the_rows(grades):
    X, y = grades
    model = AdaBoostOR(n_estimators=6).fit(X, y)
    charts = plot_decision_regions(model, X, y, stages=(5, 1, 99)).to_dict()
    assert [chart["layer"][0]["title"] for chart in charts["concat"]] == ["T = 1", "T = 5"]
    data = [[charts["datasets"][layer["data"]["name"]] if "name" in layer["data"] else layer["data"]["values"]
             for layer in chart["layer"]] for chart in charts["concat"]]  # fmt: skip
    cells, rows = data[1]
    assert len(cells) == GRID**2
    centers = np.array([[(cell["x"] + cell["x2"]) / 2, (cell["y"] + cell["y2"]) / 2] for cell in cells])
    fifth = list(model.staged_predict(centers))[4]
    assert [cell["grade"] for cell in cells] == [str(grade) for grade in fifth]
    assert [row["grade"] for row in rows] == [str(grade) for grade in y]
    assert centers.min(axis=0) == pytest.approx((X - 0.02 * np.ptp(X, axis=0)).min(axis=0), abs=0.6 / GRID)
    assert sum((cell["x2"] - cell["x"]) * (cell["y2"] - cell["y"]) for cell in cells) == pytest.approx(
        np.prod(1.04 * np.ptp(X, axis=0))
    )
    assert [[row["x"], row["y"]] for row in rows] == X.tolist()


class Sums:
    """A ranker without rounds that knows the grade of a sum."""

    n_features_in_, classes_ = 2, np.array([0, 1])

    def predict(self, X):
        return (X.sum(axis=1) > 3).astype(int)


def regions_of(chart):
    """The cells of the first chart."""
    content = chart.to_dict()
    layer = content["concat"][0]["layer"][0]
    return content["datasets"][layer["data"]["name"]] if "name" in layer["data"] else layer["data"]["values"]


def test_cells_cover_the_rows_with_a_margin_also_of_a_constant_feature():
    X = np.array([[0.0, 5.0], [10.0, 5.0], [4.0, 5.0]])
    cells = regions_of(plot_decision_regions(Sums(), X, [0, 1, 1]))
    ends = [[fold(cell[name] for cell in cells) for fold, name in ((min, low), (max, high))]
            for low, high in (("x", "x2"), ("y", "y2"))]  # fmt: skip
    assert ends == [pytest.approx([-0.2, 10.2]), pytest.approx([4.5, 5.5])]
    assert {round(cell["x2"] - cell["x"], 9) for cell in cells} == {round(10.4 / GRID, 9)}
    assert {round(cell["y2"] - cell["y"], 9) for cell in cells} == {round(1 / GRID, 9)}


def test_axes_have_the_names_of_the_features_and_charts_stand_in_columns(grades):
    pandas = peer("pandas")
    X, y = grades
    frame = pandas.DataFrame(X, columns=["width", "height"])
    model = AdaBoostOR(n_estimators=3).fit(frame, y)
    content = plot_decision_regions(model, frame, y, stages=(1, 2, 3), columns=3).to_dict()
    encoding = content["concat"][0]["layer"][0]["encoding"]
    assert (encoding["x"]["title"], encoding["y"]["title"]) == ("width", "height")
    assert content["columns"] == 3
    assert plot_decision_regions(model, frame, y, stages=(1,)).to_dict()["columns"] == 2


def test_a_ranker_without_rounds_has_one_chart(grades):
    charts = plot_decision_regions(ORStump().fit(*grades), *grades).to_dict()
    assert [chart["layer"][0]["title"] for chart in charts["concat"]] == ["ORStump"]


def test_regions_that_cannot_be_drawn_are_refused(grades):
    X, y = grades
    model = AdaBoostOR(n_estimators=2).fit(X, y)
    with pytest.raises(PodiumError, match="for two features, dense and finite; X has 3 and the model 2"):
        plot_decision_regions(model, np.ones((5, 3)), y[:5])
    with pytest.raises(PodiumError, match="stages must be numbers of rounds"):
        plot_decision_regions(model, X, y, stages=(0, 1))
    with pytest.raises(PodiumError, match="fewer rounds than any of the stages; the first is 10"):
        plot_decision_regions(model, X, y, stages=(10,))


def effect(kind, points, effects):
    return EffectCurve(0, kind, kind, np.array(points), np.array(effects, float), -0.5, 1.0)


def test_effects_are_drawn_by_their_kind():
    steps, flat = effect("steps", [1.0, 3.0], [0, 1, 2]), effect("steps", [], [0.25])
    line, categories = effect("line", [0.0, 4.0], [-1, 1]), effect("categories", ["a", "b"], [0, 1])
    charts = plot_effects(Effects((steps, flat, line, categories)), columns=2).to_dict()
    drawn = [chart["layer"][0] for chart in charts["concat"]]
    rows = [[(row["at"], row["effect"]) for row in layer_rows(charts, layer)] for layer in drawn]
    assert rows[0] == [(0.9, 0.0), (1.0, 1.0), (3.0, 2.0), (3.1, 2.0)]
    assert rows[1] == [(0.0, 0.25), (1.0, 0.25)]
    assert rows[2] == [(0.0, -1.0), (4.0, 1.0)]
    assert rows[3] == [("a", 0.0), ("b", 1.0)]
    assert [layer["mark"]["type"] for layer in drawn] == ["line", "line", "line", "bar"]
    assert drawn[0]["mark"]["interpolate"] == "step-after"
    assert layer_rows(charts, charts["concat"][0]["layer"][1]) == [{"effect": -0.5}]
    assert (charts["columns"], len(plot_effects(Effects((steps, flat)), most=1).to_dict()["concat"])) == (2, 1)
    with pytest.raises(PodiumError, match="There is nothing to draw: scores depend on no feature"):
        plot_effects(Effects(()))


def layer_rows(chart, layer):
    """The rows of a layer, which charts name where they stand elsewhere."""
    return layer["data"]["values"] if "values" in layer["data"] else chart["datasets"][layer["data"]["name"]]


def test_importance_is_drawn_with_its_interval():
    drops = (FeatureDrop("a", 0.5, 0.25, 0.75), FeatureDrop("b", 0.125, 0.0, 0.25))
    importance = PermutationImportance("ndcg@10", 0.8, drops, {})
    content = plot_permutation_importance(importance, most=1, title="why").to_dict()
    assert content["data"]["values"] == [{"name": "a", "drop": 0.5, "low": 0.25, "high": 0.75}]
    assert [layer["mark"]["type"] for layer in content["layer"]] == ["rule", "point"]
    assert content["layer"][0]["encoding"]["x2"]["field"] == "high"
