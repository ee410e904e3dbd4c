"""Regression trees by brute force: every feature, every threshold between values, either side for missing ones."""

import numpy as np


def goes_left(column, threshold, missing_left):
    """Rows of a column that a split sends left."""
    return np.where(np.isnan(column), missing_left, ~(column > threshold))


def gain(gradient, curvature, left, reg_lambda=0.0):
    """Fall of the loss by a split: G²/(H + λ) of both sides less that of the node."""

    def part(rows):
        return gradient[rows].sum() ** 2 / (curvature[rows].sum() + reg_lambda)

    return part(left) + part(~left) - part(np.ones(len(left), bool))


def best_gain(X, gradient, curvature, min_child_samples=1, min_child_weight=0.0, reg_lambda=0.0):
    """The largest gain over all splits, 0 where none is allowed."""
    best = 0.0
    for column in X.T:
        for threshold in [-np.inf, *np.unique(column[~np.isnan(column)])]:
            for missing_left in (True, False):
                left = goes_left(column, threshold, missing_left)
                if min(left.sum(), (~left).sum()) < max(min_child_samples, 1):
                    continue
                weights = curvature[left].sum(), curvature[~left].sum()
                if min(weights) <= 0 or min(weights) < min_child_weight:
                    continue
                best = max(best, gain(gradient, curvature, left, reg_lambda))
    return best


def leaf(tree, row):
    """Leaf of one row, step by step."""
    at = 0 if len(tree.feature) else -1
    while at >= 0:
        x = row[tree.feature[at]]
        left = tree.missing_left[at] if np.isnan(x) else not x > tree.threshold[at]
        at = tree.left[at] if left else tree.right[at]
    return ~at


def histogram(codes, rows, values):
    """Sums of values by code, feature by feature: (n_features, 256)."""
    out = np.zeros((codes.shape[1], 256), np.int64)
    for row in rows:
        for feature, code in enumerate(codes[row]):
            out[feature, code] += values[row]
    return out


def node_rows(tree, X):
    """Rows that reach each split."""
    reached = {0: np.ones(len(X), bool)}
    for i in range(len(tree.feature)):
        left = goes_left(X[:, tree.feature[i]], tree.threshold[i], tree.missing_left[i])
        for child, side in ((tree.left[i], left), (tree.right[i], ~left)):
            reached[int(child)] = reached[i] & side
    return reached


def depth(left, right, at=0):
    """Splits on the longest way down from a split."""
    return 1 + max((depth(left, right, child) for child in (left[at], right[at]) if child >= 0), default=0)


def leaves_below(left, right, at=0):
    """Leaves below a split, from left to right."""
    below = [[~child] if child < 0 else leaves_below(left, right, child) for child in (left[at], right[at])]
    return [leaf for side in below for leaf in side]


def is_tree(left, right):
    """Whether children make one tree, splits numbered downwards and leaves from left to right."""
    splits = [child for child in (*left, *right) if child >= 0]
    if sorted(splits) != list(range(1, len(left))) or any(
        0 <= child <= at for children in (left, right) for at, child in enumerate(children)
    ):
        return False
    return leaves_below(left, right) == list(range(len(left) + 1))
