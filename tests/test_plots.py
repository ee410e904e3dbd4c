"""Charts: what they hold, and what they refuse."""

import sys

import numpy as np
import pytest

from podium import PodiumError
from podium.plots import plot_losses

pytest.importorskip("altair")

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
    assert content["encoding"]["y"]["scale"]["type"] == "linear"


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
