"""Slow twins of what other programs do with a tree, written as their rules read, and a small file of theirs."""

import numpy as np

ZERO = float(np.float32(1e-35))


def lightgbm_goes_left(x, threshold, decision_type):
    """LightGBM's decision on a number: missing types 0 none, 1 zero, 2 NaN in bits 2 and 3, default left in bit 1."""
    missing, default_left = decision_type >> 2 & 3, bool(decision_type & 2)
    if abs(x) <= ZERO or (np.isnan(x) and missing != 2):
        x = 0.0
    if (missing == 1 and x == 0) or (missing == 2 and np.isnan(x)):
        return default_left
    return bool(x <= threshold)


def ranklib_trees(trees, row):
    """RankLib's sum of weighted trees in float32; a tree is ``(feature, threshold, left, right)`` or a number."""
    score = np.float32(0)
    for weight, node in trees:
        while isinstance(node, tuple):
            x = np.float32(row[node[0] - 1])
            node = node[2] if (0 if np.isnan(x) else x) <= np.float32(node[1]) else node[3]
        score = np.float32(float(score) + float(np.float32(node)) * float(np.float32(weight)))
    return float(score)


HEADER = """version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=1
objective=lambdarank
feature_names=a b
"""
TREE = """num_leaves=2
num_cat=0
split_feature=0
split_gain=1
threshold=0.5
decision_type=10
left_child=-1
right_child=-2
leaf_value=1 2
leaf_count=3 4
is_linear=0
shrinkage=1
"""


def lightgbm_text(*changed, trees=1):
    """A model of LightGBM with one split a tree, with some lines in place of others."""
    lines = {line.partition("=")[0]: line for line in changed}
    header, body = (
        "\n".join(lines.get(line.partition("=")[0], line) for line in text.splitlines()) for text in (HEADER, TREE)
    )
    sizes = lines.get("tree_sizes", "tree_sizes=" + " 9" * trees)
    paragraphs = "".join(f"Tree={i}\n{body}\n\n\n" for i in range(trees))
    return f"tree\n{header}\n{sizes}\n\n{paragraphs}end of trees\n\nparameters:\n"
