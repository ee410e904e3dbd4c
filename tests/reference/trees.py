"""Regression trees by brute force: every feature, every threshold between values, either side for missing ones."""

from itertools import combinations

import numpy as np


def goes_left(column, threshold, missing_left):
    """Rows of a column that a split sends left."""
    return np.where(np.isnan(column), missing_left, ~(column > threshold))


def gain(gradient, curvature, left, reg_lambda=0.0):
    """Fall of the loss by a split: G²/(H + λ) of both sides less that of the node."""

    def part(rows):
        return gradient[rows].sum() ** 2 / (curvature[rows].sum() + reg_lambda)

    return part(left) + part(~left) - part(np.ones(len(left), bool))


def fall_of_squares(gradient, weight, left, reg_lambda=0.0):
    """Fall of the squared error of a mean for each side (LM Eq. 11), for targets gradient/weight of such weights."""

    def error(rows):
        target, own = gradient[rows] / weight[rows], weight[rows]
        return np.sum(own * (target - np.average(target, weights=own)) ** 2)

    return error(np.ones(len(left), bool)) - error(left) - error(~left)


def best_gain(X, gradient, curvature, min_child_samples=1, min_child_weight=0.0, reg_lambda=0.0, gain=gain):
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


def bounded_value(gradient, curvature, reg_lambda, bounds):
    """Newton's value -G/(H + λ) within bounds."""
    return min(max(-gradient.sum() / (curvature.sum() + reg_lambda), bounds[0]), bounds[1])


def bounded_gain(gradient, curvature, left, reg_lambda, direction, bounds):
    """Twice the fall of G v + (H + λ) v²/2 at the values of both sides within bounds; none the wrong way round."""
    parts = [(gradient[rows], curvature[rows]) for rows in (left, ~left)]
    values = [bounded_value(g, h, reg_lambda, bounds) for g, h in parts]
    if direction * (values[1] - values[0]) < 0:
        return -np.inf
    falls = [-(2 * g.sum() * v + (h.sum() + reg_lambda) * v * v) for (g, h), v in zip(parts, values, strict=True)]
    return sum(falls) - gradient.sum() ** 2 / (curvature.sum() + reg_lambda)


def best_bounded_gain(X, gradient, curvature, reg_lambda, monotone, bounds):
    """The largest gain over all splits of a node whose values keep to bounds and directions, 0 where none is.

    Missing values against all others are tried on the left alone.
    """
    best = 0.0
    for column, direction in zip(X.T, monotone, strict=True):
        values = np.unique(column[~np.isnan(column)])
        for threshold in [-np.inf, *values]:
            for missing_left in (True, False):
                left = goes_left(column, threshold, missing_left)
                if (missing_left or threshold < values[-1]) and min(curvature[left].sum(), curvature[~left].sum()) > 0:
                    best = max(best, bounded_gain(gradient, curvature, left, reg_lambda, direction, bounds))
    return best


def node_bounds(tree, reached, gradient, curvature, reg_lambda, monotone):
    """Bounds of each split and leaf: the sides of a constrained split meet midway of their values."""
    bounds = {0: (-np.inf, np.inf)}
    for i, feature in enumerate(tree.feature):
        sides = [int(tree.left[i]), int(tree.right[i])]
        low, high = bounds[i]
        a, b = (
            bounded_value(gradient[reached[side]], curvature[reached[side]], reg_lambda, (low, high)) for side in sides
        )
        middle, direction = (a + b) / 2, monotone[feature]
        below, above = ((low, middle), (middle, high)) if direction else ((low, high), (low, high))
        bounds[sides[0]], bounds[sides[1]] = (below, above) if direction >= 0 else (above, below)
    return bounds


def leaf(tree, row):
    """Leaf of one row, step by step."""
    at = 0 if len(tree.feature) else -1
    while at >= 0:
        x = row[tree.feature[at]]
        if np.isnan(x):
            left = tree.missing_left[at]
        elif tree.set_of[at] >= 0:
            left = int(x) in categories_of(tree.sets[tree.set_of[at]])
        else:
            left = not x > tree.threshold[at]
        at = tree.left[at] if left else tree.right[at]
    return ~at


def categories_of(words):
    """Categories in a set of eight words."""
    return {c for c in range(256) if int(words[c // 32]) >> (c % 32) & 1}


def drawn_sums(codes, gradient, curvature, smoothing):
    """Gradients, curvatures and rows of each category: means drawn to the node's as by so many average rows."""
    known = ~np.isnan(codes)
    sums = {}
    if not known.any():
        return sums
    mean = gradient[known].sum() / curvature[known].sum()
    more = smoothing * curvature[known].mean()
    for c in np.unique(codes[known]):
        own = codes == c
        g, h = gradient[own].sum(), curvature[own].sum()
        sums[int(c)] = (h * (mean + (g / h - mean) * h / (h + more)), h, own.sum())
    return sums


def set_gain(sums, apart, left, missing_left, limits):
    """Gain of a set of categories against the rest, -1 where a limit forbids it."""
    sides = [[s for c, s in sums.items() if (c in left) == on_left] for on_left in (True, False)]
    sides[0 if missing_left else 1].append(apart)
    (g, h, n), (g2, h2, n2) = (np.sum(side, axis=0) if side else np.zeros(3) for side in sides)
    if min(n, n2) < max(limits.min_child_samples, 1) or min(h, h2) < max(limits.min_child_weight, 1e-300):
        return -1.0
    ridge = limits.reg_lambda
    return g**2 / (h + ridge) + g2**2 / (h2 + ridge) - (g + g2) ** 2 / (h + h2 + ridge)


def best_set_gain(codes, gradient, curvature, smoothing, limits, sets):
    """The largest gain over sets of categories, either side for missing values; `sets` makes them of the sums."""
    sums = drawn_sums(codes, gradient, curvature, smoothing)
    lost = np.isnan(codes)
    apart = (gradient[lost].sum(), curvature[lost].sum(), lost.sum())
    gains = [set_gain(sums, apart, set(left), side, limits) for left in sets(sums) for side in (True, False)]
    return max([0.0, *(g for g in gains if g > limits.min_split_gain)])


def sorted_and_single_sets(sums):
    """Each category alone, and the first categories by mean gradient, none and all of them included."""
    order = sorted(sums, key=lambda c: (sums[c][0] / sums[c][1], c))
    return [order[:i] for i in range(len(order) + 1)] + [[c] for c in order]


def all_sets(sums):
    """Every set of categories."""
    return [chosen for size in range(len(sums) + 1) for chosen in combinations(sums, size)]


def histogram(codes, rows, values):
    """Sums of values by code, feature by feature: (n_features, 256)."""
    out = np.zeros((codes.shape[1], 256), np.int64)
    for row in rows:
        for feature, code in enumerate(codes[row]):
            out[feature, code] += values[row]
    return out


def node_rows(tree, X):
    """Rows that reach each split, and each leaf ``~leaf``."""
    reached = {0 if len(tree.feature) else -1: np.ones(len(X), bool)}
    for i in range(len(tree.feature)):
        column = X[:, tree.feature[i]]
        left = goes_left(column, tree.threshold[i], tree.missing_left[i])
        if tree.set_of[i] >= 0:
            own = categories_of(tree.sets[tree.set_of[i]])
            left = np.array([bool(tree.missing_left[i]) if np.isnan(x) else int(x) in own for x in column])
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


def unpack(sums, layout):
    """Return gradient, curvature and count of packed sums of shape (planes, ...)."""
    gradient = (sums[0] >> layout.gradient_shift) * layout.gradient_unit
    curvature = ((sums[-1] >> layout.curvature_shift) & layout.curvature_mask) * layout.curvature_unit
    return gradient, curvature, sums[-1] & layout.count_mask


def units(layout):
    """Return the units of gradients and of curvatures."""
    return np.array([layout.gradient_unit, layout.curvature_unit])
