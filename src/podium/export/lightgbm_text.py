"""LightGBM's model text: read by LightGBM itself, treelite and lleaves.

LightGBM goes left where x <= threshold, in float64, and adds up leaves in float64, tree after tree: as we do. A missing
value takes the default side of a split whose missing type is NaN.

A split by a set sends the codes in its list left, and all others right, with missing values and what is no category.
Where ours sends those left, the file has the two sides changed over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

import numpy as np

from podium._validation import Array, PodiumError
from podium.export.ensemble import TreeSum
from podium.export.tree_text import Rules, feature_names, finite, float_text, other_way
from podium.trees import RegressionTree

BY_SET, DEFAULT_LEFT, MISSING_NAN = 1, 2, 2 << 2
"""Bits of a decision type: a set of codes goes left; missing values go left; missing values are NaN."""
NOT_CARRIED = re.compile(r'[\s",:\[\]{}]')
"""LightGBM parts names by spaces, and refuses the signs of JSON."""


ZERO = 1.0000000180025095e-35
"""LightGBM takes a feature up to this size for 0, and writes it for a threshold of 0; lleaves refuses that one."""
END = "end of trees\n\nfeature_importances:\n\nparameters:\n\nend of parameters\n\npandas_categorical:"


def written(thresholds: Array) -> Array:
    """Return thresholds as they stand in the file."""
    return np.where(thresholds == 0, ZERO, finite(thresholds))


RULES = Rules(written, np.float64, np.float64)


def write(record: TreeSum) -> str:
    """Return the model text."""
    names = feature_names(record)
    for name in (name for name in names if NOT_CARRIED.search(name) or not name):
        raise PodiumError(
            f"A LightGBM file cannot carry the feature name {name!r}: it must not be empty, nor hold blanks or any of "
            '",:[]{}; give other names in feature_names.'
        )
    trees = [_tree(record, i, tree) for i, tree in enumerate(record.with_base_as_tree().trees)]
    head = [
        "tree", "version=v4", "num_class=1", "num_tree_per_iteration=1", "label_index=0",
        f"max_feature_idx={record.n_features - 1}", "objective=lambdarank", f"feature_names={' '.join(names)}",
        f"feature_infos={' '.join(_ranges(record))}",
        f"tree_sizes={_joined(len(tree.encode()) for tree in trees)}", "", "",
    ]  # fmt: skip
    return "\n".join(head) + "".join(trees) + f"{END}{_pandas_categorical(record)}\n"


def score(record: TreeSum, X: Array) -> Array:
    """Score rows as LightGBM does."""
    return RULES.score(record, np.where(np.abs(X) <= ZERO, 0.0, X))


def rules(record: TreeSum) -> Rules:
    """Return how LightGBM scores a model."""
    return RULES


def _tree(record: TreeSum, number: int, tree: RegressionTree) -> str:
    """Return one tree; what only LightGBM's training asks for is 0."""
    zeros = _joined([0] * len(tree.feature))
    by_set, turned = tree.set_of >= 0, (tree.set_of >= 0) & tree.missing_left
    kinds = MISSING_NAN + np.where(by_set, BY_SET, DEFAULT_LEFT * tree.missing_left)
    left, right = np.where(turned, tree.right, tree.left), np.where(turned, tree.left, tree.right)
    limits = [float_text(t) for t in written(tree.threshold)]
    for split in np.flatnonzero(by_set):
        limits[split] = str(tree.set_of[split])
    lines = {
        "Tree": str(number), "num_leaves": str(tree.n_leaves), "num_cat": str(len(tree.sets)),
        "split_feature": _joined(tree.feature.tolist()), "split_gain": _joined(map(float_text, tree.gain)),
        "threshold": _joined(limits), "decision_type": _joined(kinds.tolist()),
        "left_child": _joined(left.tolist()), "right_child": _joined(right.tolist()), **_sets(record, tree),
        "leaf_value": _joined(map(float_text, tree.value)), "leaf_weight": _joined(tree.count.tolist()),
        "leaf_count": _joined(tree.count.tolist()), "internal_value": zeros, "internal_weight": zeros,
        "internal_count": _joined(_counts(tree)), "is_linear": "0", "shrinkage": "1",
    }  # fmt: skip
    return "\n".join(f"{name}={value}" for name, value in lines.items()) + "\n\n\n"


def _counts(tree: RegressionTree) -> list[int]:
    """Return the training rows below each split."""
    counts, leaves = [0] * len(tree.feature), tree.count.tolist()
    for i in range(len(counts) - 1, -1, -1):
        children = (int(tree.left[i]), int(tree.right[i]))
        counts[i] = sum(counts[child] if child >= 0 else leaves[~child] for child in children)
    return counts


def _ranges(record: TreeSum) -> list[str]:
    """Return the least and greatest threshold or the codes of each feature, none for a feature without splits."""
    low, high = np.full(record.n_features, np.inf), np.full(record.n_features, -np.inf)
    for tree in record.trees:
        by_number = tree.set_of < 0
        np.minimum.at(low, tree.feature[by_number], written(tree.threshold[by_number]))
        np.maximum.at(high, tree.feature[by_number], written(tree.threshold[by_number]))
    ranges = [f"[{a!r}:{b!r}]" if a <= b else "none" for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    columns = {int(feature) for tree in record.trees for feature in tree.feature[tree.set_of >= 0]}
    for column in columns:
        ranges[column] = ":".join(map(str, range(len(record.category_values(column)))))
    return ranges


def _sets(record: TreeSum, tree: RegressionTree) -> dict[str, str]:
    """Return the lines of the sets: 32 codes a word, and where the words of each set begin and end."""
    if len(tree.sets) == 0:
        return {}
    words: list[int] = []
    ends = [0]
    for split in np.flatnonzero(tree.set_of >= 0).tolist():
        codes = other_way(tree, split, len(record.category_values(int(tree.feature[split]))))
        bits = sum(1 << code for code in codes)
        words += [bits >> start & 0xFFFFFFFF for start in range(0, max(bits.bit_length(), 1), 32)]
        ends.append(len(words))
    return {"cat_boundaries": _joined(ends), "cat_threshold": _joined(words)}


def _pandas_categorical(record: TreeSum) -> str:
    """Return the categories of the columns, by which LightGBM makes codes of a frame's columns of categories."""
    return json.dumps([list(record.categories[column]) for column in sorted(record.categories)] or None)


def _joined(values: Iterable[object]) -> str:
    """Return values with blanks between them."""
    return " ".join(map(str, values))
