"""XGBoost's JSON dump: read by Elasticsearch and OpenSearch LTR as model/xgboost+json, and by Vespa's xgboost().

A row goes to the first child where x < split_condition, so that ours is written as the next float32 above; features,
conditions, leaves and their sum are float32. What a missing value does depends on the reader: it takes the child named
"missing", or counts as 0, or goes to the second child ("no"), as a comparison with NaN does.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from podium._validation import Array, PodiumError
from podium.export.ensemble import TreeSum
from podium.export.tree_text import (
    LARGEST,
    Rules,
    check_missing_as_zero,
    feature_names,
    float_text,
    nearest_float32,
    nested,
)
from podium.trees import RegressionTree

MISSING = ("child", "zero", "right", "absent")


def condition(thresholds: Array) -> Array:
    """Return the float32 c for which x < c says the same of a float32 x as x <= threshold."""
    return np.nextafter(nearest_float32(thresholds), LARGEST)


RULES = Rules(condition, np.float32, np.float32, strict=True)


def write(record: TreeSum, missing: str = "child") -> str:
    """Return the dump, an array of trees."""
    if missing == "zero":
        check_missing_as_zero(record, nearest_float32, "The reader")
    elif missing == "right":
        _check_missing_right(record)
    names = [json.dumps(name) for name in feature_names(record)]
    return "[\n" + ",\n".join(_tree(tree, names) for tree in record.with_base_as_tree().trees) + "\n]\n"


def score(record: TreeSum, X: Array, missing: str = "child") -> Array:
    """Score rows as a reader of the dump does."""
    return rules(record, missing).score(record, X)


def rules(record: TreeSum, missing: str = "child") -> Rules:
    """Return how a reader of the dump scores a model; of one whose missing values are absent, by the children named."""
    return replace(RULES, missing="child" if missing == "absent" else missing)


def _check_missing_right(record: TreeSum) -> None:
    """Refuse a model that sends missing values left."""
    for number, tree in enumerate(record.trees):
        if tree.missing_left.any():
            raise PodiumError(
                f"The reader sends missing values right, but tree {number + 1} sends one left; if no value is ever "
                'missing, say missing="absent".'
            )


def _tree(tree: RegressionTree, names: list[str]) -> str:
    """Return one tree; splits have the numbers 0, 1 and so on, and leaves the next ones."""
    n_splits = len(tree.feature)
    ids = [[child if child >= 0 else n_splits + ~child for child in side.tolist()] for side in (tree.left, tree.right)]
    depth = [0] * n_splits
    for i, children in enumerate(zip(tree.left.tolist(), tree.right.tolist(), strict=True)):
        for child in (child for child in children if child >= 0):
            depth[child] = depth[i] + 1
    feature, default = tree.feature.tolist(), tree.missing_left.tolist()
    threshold = [float_text(c) for c in condition(tree.threshold)]

    def split(i: int, left: str, right: str) -> str:
        """Return the text of a split around those of its sides."""
        yes, no = ids[0][i], ids[1][i]
        return (
            f'{{"nodeid": {i}, "depth": {depth[i]}, "split": {names[feature[i]]}, "split_condition": {threshold[i]}, '
            f'"yes": {yes}, "no": {no}, "missing": {yes if default[i] else no}, "children": [{left}, {right}]}}'
        )

    leaves = [f'{{"nodeid": {n_splits + i}, "leaf": {float_text(value)}}}' for i, value in enumerate(tree.value)]
    return nested(tree, split, leaves)
