"""Literal definitions of trees of the ROC curve: pairs one by one, every split tried. Slow; imports nothing of ours."""

from __future__ import annotations

import math
from statistics import mean


def pair_weight(labels, high, low, weights, measure):
    """The weight of a pair of labels, high > low, in one query of such labels and weights."""
    if measure == "pairs":
        return 1.0
    between = {y for y in labels if low < y < high}
    if measure == "triples":
        return sum(w for y, w in zip(labels, weights, strict=True) if y in between)
    total = 0.0
    for y in between:
        at, above, below = (
            sum(w for other, w in zip(labels, weights, strict=True) if test(other, y))
            for test in (lambda a, b: a == b, lambda a, b: a > b, lambda a, b: a < b)
        )
        total += at / (above * below)
    return total


def pairs_of(y, qid, weight, query_weight, measure="pairs"):
    """All pairs (higher row, lower row, weight) of different labels within a query."""
    found = []
    for i in range(len(y)):
        own = [j for j in range(len(y)) if qid[j] == qid[i]]
        labels, weights = [y[j] for j in own], [weight[j] for j in own]
        for j in own:
            if y[i] > y[j]:
                worth = pair_weight(labels, y[i], y[j], weights, measure)
                found.append((i, j, query_weight[qid[i]] * weight[i] * weight[j] * worth))
    return found


def potentials(pairs, cell, n_rows):
    """What each row gains above the others of a cell."""
    found = [0.0] * n_rows
    for i, j, w in pairs:
        if i in cell and j in cell:
            found[i] += w
            found[j] -= w
    return found


def concordance(pairs, scores):
    """Share of the pairs in the right order, ties half."""
    right = sum(w * ((scores[i] > scores[j]) + 0.5 * (scores[i] == scores[j])) for i, j, w in pairs)
    return right / sum(w for _, _, w in pairs)


def stumps(column, rows):
    """All ways to send rows left by one feature, None for missing, as sets: cuts ascending, missing right first."""
    known = sorted({column[i] for i in rows if column[i] is not None})
    missing = {i for i in rows if column[i] is None}
    for cut in known:
        left = {i for i in rows if column[i] is not None and column[i] <= cut}
        yield left
        if missing:
            yield left | missing


def best_stump(X, rows, gains, mass, least):
    """The part of the rows, of all that stumps make, with the largest sum of gains; the first of equals, or None."""
    best, found = 0.0, None
    size = sum(abs(gains[i]) for i in rows)
    for feature in range(len(X[0])):
        for left in stumps([row[feature] for row in X], rows):
            right = rows - left
            if not left or not right or min(sum(mass[i] for i in side) for side in (left, right)) < least:
                continue
            gain = max(sum(gains[i] for i in left), sum(gains[i] for i in right))
            if gain > best + 1e-10 * size:
                best, found = gain, left if sum(gains[i] for i in left) > 0 else right
    return found


def median_gains(y, qid, weight, query_weight, cell):
    """Gains of two classes, the labels of each query above their lower median in the cell and the others."""
    found = {}
    for query in {qid[i] for i in cell}:
        own = sorted((i for i in cell if qid[i] == query), key=lambda i: y[i])
        half, total = 0.0, sum(weight[i] for i in own)
        for i in own:
            half += weight[i]
            if 2 * half >= total:
                median = y[i]
                break
        upper = [i for i in own if y[i] > median] or [i for i in own if y[i] >= median]
        lower = [i for i in own if i not in upper]
        for i in upper:
            found[i] = query_weight[query] * weight[i] * sum(weight[j] for j in lower)
        for i in lower:
            found[i] = -query_weight[query] * weight[i] * sum(weight[j] for j in upper)
    return found


def ranking_tree(X, y, qid, weight, query_weight, *, depth=20, least=0.0, measure="pairs", median=False):
    """Cells from the top, as sets of rows: each cell is parted by its best stump if that gains by the measure."""
    pairs = pairs_of(y, qid, weight, query_weight, measure)
    total = sum(w for _, _, w in pairs)
    mass = [w * query_weight[q] for w, q in zip(weight, qid, strict=True)]

    def cells(cell, left):
        gains = potentials(pairs, cell, len(y))
        wanted = median_gains(y, qid, weight, query_weight, cell) if median else gains
        upper = best_stump(X, cell, wanted, mass, least) if left else None
        if upper is None or sum(gains[i] for i in upper) <= 1e-12 * total:
            return [cell]
        return cells(upper, left - 1) + cells(cell - upper, left - 1)

    return cells({i for i in range(len(y)) if mass[i] > 0}, depth)


def auc_above_and_below(y, scores, level):
    """AUC of the labels above a level against those below, ties half."""
    above = [s for label, s in zip(y, scores, strict=True) if label > level]
    below = [s for label, s in zip(y, scores, strict=True) if label < level]
    return mean((a > b) + 0.5 * (a == b) for a in above for b in below)


def integrated_auc(y, scores):
    """Mean over the rows that have labels on both sides."""
    return mean(auc_above_and_below(y, scores, level) for level in y if min(y) < level < max(y))


def triples_auc(y, scores):
    """Chance that the highest of three different labels scores above the lowest, ties half."""
    n = range(len(y))
    return mean(
        (scores[i] > scores[k]) + 0.5 * (scores[i] == scores[k]) for i in n for j in n for k in n if y[i] > y[j] > y[k]
    )


def roc_point(y, scores, threshold):
    """Shares of the negative and of the positive rows that score at least a threshold."""
    return tuple(mean(s >= threshold for label, s in zip(y, scores, strict=True) if label == kind) for kind in (0, 1))


def roc_value(y, scores, level, rate):
    """ROC curve of labels above a level against those below at a false positive rate, the upper end of a rise."""
    kept = [(int(label > level), s) for label, s in zip(y, scores, strict=True) if label != level]
    labels, values = zip(*kept, strict=True)
    points = [(0.0, 0.0)] + [roc_point(labels, values, t) for t in sorted(set(values), reverse=True)]
    best = max((p for p in points if p[0] <= rate + 1e-12), key=lambda p: p)
    after = min((p for p in points if p[0] > rate + 1e-12), default=None)
    if after is None or math.isclose(best[0], rate):
        return best[1]
    return best[1] + (after[1] - best[1]) * (rate - best[0]) / (after[0] - best[0])
