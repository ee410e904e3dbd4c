"""RankLib: text of RankBoost for stumps, XML for trees; read by Elasticsearch and OpenSearch LTR as model/ranklib.

RankLib numbers features from 1 and holds them as float32; a missing value reads as 0. A tree goes left where
x <= threshold, its thresholds, leaves and sum in float32. A stump of RankBoost counts where x > threshold, which, like
its weights and their sum, is a float64.
"""

from __future__ import annotations

import numpy as np

from podium._validation import Array
from podium.export.ensemble import TreeSum
from podium.export.tree_text import Rules, check_missing_as_zero, float_text, nearest_float32, nested
from podium.trees import RegressionTree

MISSING = ("zero", "absent")
TREES = Rules(nearest_float32, np.float32, np.float32, missing="zero")
STUMPS = Rules(nearest_float32, np.float32, np.float64, missing="zero")


def write(record: TreeSum, missing: str = "zero") -> str:
    """Return the file: RankBoost where all trees are stumps with a value on one side only, else LambdaMART."""
    if missing == "zero":
        check_missing_as_zero(record, nearest_float32, "RankLib")
    return _rankboost(record) if is_rankboost(record) else _ensemble(record.with_base_as_tree())


def score(record: TreeSum, X: Array, missing: str = "zero") -> Array:
    """Score rows as RankLib does."""
    return rules(record, missing).score(record, X)


def rules(record: TreeSum, missing: str = "zero") -> Rules:
    """Return how RankLib scores a model."""
    return STUMPS if is_rankboost(record) else TREES


def is_rankboost(record: TreeSum) -> bool:
    """Say whether a model is a sum of weights, each where a feature is above a threshold."""
    return record.base == 0 and all(len(tree.feature) == 1 and tree.value[0] == 0 for tree in record.trees)


def _rankboost(record: TreeSum) -> str:
    """Return the text of RankLib's RankBoost."""
    stumps = (
        f"{tree.feature[0] + 1}:{float_text(nearest_float32(tree.threshold)[0])}:{float_text(tree.value[1])}"
        for tree in record.trees
    )
    header = ["## RankBoost", f"## Iteration = {len(record.trees)}", "## No. of threshold candidates = 10"]
    return "\n".join([*header, " ".join(stumps)]) + "\n"


def _ensemble(record: TreeSum) -> str:
    """Return the text of RankLib's LambdaMART."""
    most = max(tree.n_leaves for tree in record.trees)
    header = ["## LambdaMART", f"## No. of trees = {len(record.trees)}", f"## No. of leaves = {most}"]
    header += ["## No. of threshold candidates = 256", "## Learning rate = 1.0", "## Stop early = 100", ""]
    trees = [
        f'<tree id="{number + 1}" weight="1.0">\n<split>\n{_tree(tree)}\n</split>\n</tree>'
        for number, tree in enumerate(record.trees)
    ]
    return "\n".join([*header, "<ensemble>", *trees, "</ensemble>"]) + "\n"


def _tree(tree: RegressionTree) -> str:
    """Return one tree, a tag a line: RankLib joins the lines and takes the children of a tag by their position."""
    feature = (tree.feature + 1).tolist()
    threshold = [float_text(t) for t in nearest_float32(tree.threshold)]

    def split(i: int, left: str, right: str) -> str:
        """Return the text of a split around those of its sides."""
        return (
            f"<feature> {feature[i]} </feature>\n<threshold> {threshold[i]} </threshold>\n"
            f'<split pos="left">\n{left}\n</split>\n<split pos="right">\n{right}\n</split>'
        )

    return nested(tree, split, [f"<output> {float_text(value)} </output>" for value in tree.value.astype(np.float32)])
