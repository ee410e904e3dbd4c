"""ONNX: a graph of one TreeEnsembleRegressor, or of the few nodes of a linear model or a net.

The graph takes a float32 matrix "X" of shape (rows, features), missing values as NaN, and gives "scores" of shape
(rows, 1); of an ordinal ranker "grades" of shape (rows,), the labels themselves. A tree goes left where
x <= threshold (BRANCH_LEQ); ONNX Runtime adds up leaves in float32, tree after tree, on one thread; on more it may add
up parts of them in another order.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from podium._validation import Array, PodiumError
from podium._version import __version__
from podium.export import onnx_net
from podium.export.ensemble import Exported, Linear, NetScore, TreeSum
from podium.export.graded_record import Graded, Writable
from podium.export.tree_text import Rules, feature_names, nearest_float32
from podium.trees import RegressionTree

if TYPE_CHECKING:
    from onnx import NodeProto, TensorProto

RULES = Rules(nearest_float32, np.float32, np.float32)
OPSETS = {"": 17, "ai.onnx.ml": 3}


def write(record: Writable) -> bytes:
    """Return the model."""
    try:
        from onnx import TensorProto, helper
    except ImportError:
        raise PodiumError('The format onnx needs the package onnx: pip install "podium[onnx]".') from None
    X = helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, record.n_features])
    if isinstance(record, Graded):
        nodes, constants = _grades(record)
        output = helper.make_tensor_value_info("grades", constants[0].data_type, [None])
    else:
        nodes, constants = _scores(record)
        output = helper.make_tensor_value_info("scores", TensorProto.FLOAT, [None, 1])
    graph = helper.make_graph(nodes, record.name, [X], [output], constants)
    imports = [helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
    made_by = {"producer_name": "podium", "producer_version": __version__}
    model = helper.make_model(graph, opset_imports=imports, ir_version=8, **made_by)
    names = feature_names(record.steps[0] if isinstance(record, Graded) else record)
    helper.set_model_props(model, {"feature_names": json.dumps(names)})
    found: bytes = model.SerializeToString()
    return found


def score(record: Writable, X: Array) -> Array:
    """Score rows, or grade them, as ONNX Runtime does."""
    if isinstance(record, Graded):
        return record.grades(X, score)
    if isinstance(record, TreeSum):
        return RULES.score(record, X)
    if isinstance(record, NetScore):
        return onnx_net.score(record, X)
    rows = RULES.features(X)
    filled = np.where(np.isnan(rows), record.missing.astype(np.float32), rows)
    scores: Array = filled @ record.weights.astype(np.float32) + np.float32(record.intercept)
    return scores


def rules(record: TreeSum) -> Rules:
    """Return how ONNX Runtime scores a model of trees."""
    return RULES


def _grades(record: Graded) -> tuple[list[NodeProto], list[TensorProto]]:
    """Return the nodes of ``labels[sum(scores >= thresholds)]``, and its constants, the labels first."""
    from onnx import TensorProto, helper, numpy_helper

    parts = [_scores(step, f"_{k}") for k, step in enumerate(record.steps)]
    names = [f"scores_{k}" for k in range(len(parts))]
    nodes = [
        *(node for own, _ in parts for node in own),
        helper.make_node("Concat", names, ["sums"], axis=1),
        helper.make_node("GreaterOrEqual", ["sums", "thresholds"], ["above"]),
        helper.make_node("Cast", ["above"], ["steps"], to=TensorProto.INT64),
        helper.make_node("ReduceSum", ["steps", "second"], ["numbers"], keepdims=0),
        helper.make_node("Gather", ["labels", "numbers"], ["grades"]),
    ]
    labels = np.array(record.classes)
    kept = labels.astype(object if labels.dtype.kind == "U" else np.float64 if labels.dtype.kind == "f" else np.int64)
    constants = {"thresholds": record.thresholds.astype(np.float32)[None], "second": np.array([1])}
    return nodes, [
        numpy_helper.from_array(kept, "labels"),
        *(numpy_helper.from_array(values, name) for name, values in constants.items()),
        *(one for _, own in parts for one in own),
    ]


def _scores(record: Exported, suffix: str = "") -> tuple[list[NodeProto], list[TensorProto]]:
    """Return the nodes and constants of a score, all their names with a suffix; nets have none, and stand alone."""
    if isinstance(record, NetScore):
        return onnx_net.nodes_of(record)
    return _linear(record, suffix) if isinstance(record, Linear) else ([_trees(record, suffix)], [])


def _trees(record: TreeSum, suffix: str) -> NodeProto:
    """Return the node of all trees."""
    from onnx import helper

    parts = [_tree_columns(number, tree) for number, tree in enumerate(record.trees)]
    columns = {name: np.concatenate([part[name] for part in parts]).tolist() for name in parts[0]}
    columns["nodes_modes"] = ["BRANCH_LEQ" if split else "LEAF" for split in columns.pop("is_split")]
    return helper.make_node(
        "TreeEnsembleRegressor", ["X"], [f"scores{suffix}"], domain="ai.onnx.ml", n_targets=1, aggregate_function="SUM",
        post_transform="NONE", base_values=[float(np.float32(record.base))], **columns,
    )  # fmt: skip


def _tree_columns(number: int, tree: RegressionTree) -> dict[str, Array]:
    """Return the attributes of one tree: its splits, then its leaves."""
    n_splits, n_leaves = len(tree.feature), tree.n_leaves
    leaves = np.zeros(n_leaves, np.int64)

    def padded(values: Array) -> Array:
        """A column of splits, with zeros for the leaves."""
        return np.concatenate([values, leaves])

    def children(side: Array) -> Array:
        """Numbers of nodes."""
        return padded(np.where(side >= 0, side, n_splits + ~side).astype(np.int64))

    return {
        "nodes_treeids": np.full(n_splits + n_leaves, number), "nodes_nodeids": np.arange(n_splits + n_leaves),
        "nodes_featureids": padded(tree.feature.astype(np.int64)),
        "nodes_values": padded(nearest_float32(tree.threshold)),
        "nodes_truenodeids": children(tree.left), "nodes_falsenodeids": children(tree.right),
        "nodes_missing_value_tracks_true": padded(tree.missing_left.astype(np.int64)),
        "is_split": padded(np.ones(n_splits, np.int64)),
        "target_treeids": np.full(n_leaves, number), "target_nodeids": n_splits + np.arange(n_leaves),
        "target_ids": leaves, "target_weights": tree.value.astype(np.float32),
    }  # fmt: skip


def _linear(record: Linear, suffix: str) -> tuple[list[NodeProto], list[TensorProto]]:
    """Return the nodes of ``scores = where(isnan(X), missing, X) @ weights + intercept``, and its constants."""
    from onnx import helper, numpy_helper

    nodes = [
        helper.make_node("IsNaN", ["X"], [f"absent{suffix}"]),
        helper.make_node("Where", [f"absent{suffix}", f"missing{suffix}", "X"], [f"filled{suffix}"]),
        helper.make_node("MatMul", [f"filled{suffix}", f"weights{suffix}"], [f"weighted{suffix}"]),
        helper.make_node("Add", [f"weighted{suffix}", f"intercept{suffix}"], [f"scores{suffix}"]),
    ]
    constants = {
        "missing": record.missing.astype(np.float32),
        "weights": record.weights.astype(np.float32)[:, None],
        "intercept": np.array([record.intercept], np.float32),
    }
    return nodes, [numpy_helper.from_array(values, f"{name}{suffix}") for name, values in constants.items()]
