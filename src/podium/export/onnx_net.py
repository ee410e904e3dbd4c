"""Nets as nodes of ONNX: missing values, the scale of each feature, layers; and how ONNX Runtime scores them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from podium._validation import Array
from podium.export.ensemble import NetScore

if TYPE_CHECKING:
    from onnx import NodeProto, TensorProto

SINGLE = np.float32
BEYOND = np.float32(np.finfo(np.float32).max)
"""In the place of knots that a feature lacks: no value is above it."""


class KnotTables:
    """The lines between knots, feature by feature, in float32 and of one length.

    Attributes
    ----------
    knots, quantiles, slopes : float32[n_features, n_knots]
        A value x with i + 1 knots up to it is at ``quantiles[i] + (x - knots[i]) * slopes[i]``.
    low, high : float32[n_features]
        First and last knot, to which values are cut.
    """

    def __init__(self, record: NetScore) -> None:
        own, sizes = record.inputs.knots, np.diff(record.inputs.knots.offsets)
        shape = len(sizes), max(1, int(sizes.max(initial=0)))
        self.knots, self.quantiles = np.full(shape, BEYOND), np.zeros(shape, SINGLE)
        self.slopes, self.low, self.high = (
            np.zeros(shape, SINGLE),
            np.zeros(shape[0], SINGLE),
            np.zeros(shape[0], SINGLE),
        )
        for j, n in enumerate(sizes.tolist()):
            part = slice(own.offsets[j], own.offsets[j] + n)
            self.knots[j, :n], self.quantiles[j, :n] = own.values[part], own.quantiles[part]
            if n:
                self.low[j], self.high[j] = self.knots[j, 0], self.knots[j, n - 1]
            rise, run = np.diff(self.quantiles[j, :n]), np.diff(self.knots[j, :n])
            self.slopes[j, : max(0, n - 1)] = np.divide(rise, run, out=np.zeros_like(rise), where=run > 0)

    def apply(self, columns: Array) -> Array:
        """Do in float32 what the nodes do."""
        cut = np.minimum(np.maximum(columns, self.low), self.high)
        place = np.maximum((cut[:, :, None] >= self.knots).sum(axis=2) - 1, 0)
        feature = np.arange(len(self.low))
        found: Array = self.quantiles[feature, place] + (cut - self.knots[feature, place]) * self.slopes[feature, place]
        return found


def score(record: NetScore, X: Array) -> Array:
    """Score rows as ONNX Runtime does, in float32."""
    rows, inputs = X.astype(SINGLE), record.inputs
    absent = np.isnan(rows)
    if inputs.scale == "gauss":
        moved = KnotTables(record).apply(rows)
    elif inputs.scale == "log1p":
        moved = np.sign(rows) * np.log(np.abs(rows) + SINGLE(1.0))
    else:
        moved = rows
    scaled = (moved - inputs.scaling.means.astype(SINGLE)) / inputs.scaling.deviations.astype(SINGLE)
    rows = np.concatenate([np.where(absent, SINGLE(0.0), scaled), absent[:, inputs.flagged].astype(SINGLE)], axis=1)
    layers = record.net.layers
    for number, (weight, bias) in enumerate(layers):
        rows = rows @ weight.astype(SINGLE) + bias.astype(SINGLE)
        rows = np.maximum(rows, SINGLE(0.0)) if number < len(layers) - 1 else rows
    scores: Array = rows[:, 0]
    return scores


def nodes_of(record: NetScore) -> tuple[list[NodeProto], list[TensorProto]]:
    """Return the nodes from "X" to "scores", and their constants."""
    graph = _Graph()
    inputs = record.inputs
    graph.add("IsNaN", ["X"], "absent")
    moved = {"gauss": _gauss, "log1p": _log1p, "standard": lambda *_: "X"}[inputs.scale](graph, record)
    graph.add("Sub", [moved, graph.constant("means", inputs.scaling.means)], "centred")
    graph.add("Div", ["centred", graph.constant("deviations", inputs.scaling.deviations)], "scaled")
    graph.add("Where", ["absent", graph.constant("nothing", np.zeros(1)), "scaled"], "numbers")
    rows = "numbers"
    if inputs.flagged.any():
        graph.add(
            "Gather", ["absent", graph.constant("flagged", np.flatnonzero(inputs.flagged), np.int64)], "missed", axis=1
        )
        graph.add("Cast", ["missed"], "flags", to=graph.FLOAT)
        graph.add("Concat", ["numbers", "flags"], "inputs", axis=1)
        rows = "inputs"
    for number, (weight, bias) in enumerate(record.net.layers[:-1]):
        names = graph.constant(f"weight_{number}", weight), graph.constant(f"bias_{number}", bias)
        graph.add("Gemm", [rows, *names], f"sums_{number}")
        rows = graph.add("Relu", [f"sums_{number}"], f"units_{number}")
    graph.add("MatMul", [rows, graph.constant("weight", record.net.layers[-1][0])], "scores")
    return graph.nodes, graph.constants


class _Graph:
    """Nodes and constants as they are added."""

    FLOAT = 1
    """The number of float32 in ONNX."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def add(self, kind: str, inputs: list[str], output: str, **attributes: int) -> str:
        """Add a node and return the name of its output."""
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def constant(self, name: str, values: Array, dtype: type = SINGLE) -> str:
        """Add a constant and return its name."""
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values, dtype), name))
        return name


def _log1p(graph: _Graph, record: NetScore) -> str:
    """Add sign(x) log(1 + |x|)."""
    graph.add("Abs", ["X"], "sizes")
    graph.add("Add", ["sizes", graph.constant("one", np.ones(1))], "one_more")
    graph.add("Log", ["one_more"], "logs")
    graph.add("Sign", ["X"], "signs")
    return graph.add("Mul", ["signs", "logs"], "moved")


def _gauss(graph: _Graph, record: NetScore) -> str:
    """Add the lines between knots: the knots up to a value are counted, and their number looks up the line."""
    tables = KnotTables(record)
    n_features, n_knots = tables.knots.shape
    starts = graph.constant("starts", n_knots * np.arange(n_features) - 1, np.int64)
    graph.add("Max", ["X", graph.constant("low", tables.low)], "not_below")
    graph.add("Min", ["not_below", graph.constant("high", tables.high)], "cut")
    graph.add("Unsqueeze", ["cut", graph.constant("last_axis", np.array([2]), np.int64)], "each")
    graph.add("GreaterOrEqual", ["each", graph.constant("knots", tables.knots)], "passed")
    graph.add("Cast", ["passed"], "ones", to=7)  # int64
    graph.add("ReduceSum", ["ones", "last_axis"], "counts", keepdims=0)
    graph.add("Max", ["counts", graph.constant("least", np.ones(1), np.int64)], "at_least_one")
    graph.add("Add", ["at_least_one", starts], "places")
    for name in ("knots", "quantiles", "slopes"):
        flat = graph.constant(f"{name}_by_place", getattr(tables, name).ravel())
        graph.add("Gather", [flat, "places"], f"own_{name}")
    graph.add("Sub", ["cut", "own_knots"], "beyond")
    graph.add("Mul", ["beyond", "own_slopes"], "rise")
    return graph.add("Add", ["own_quantiles", "rise"], "moved")
