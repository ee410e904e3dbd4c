"""Plain twins of the baseline rankers, from sections 6.2.3 and 6.2.6 and Eq. 21 of the RankBoost paper.

A feature is a list with one value per row, None where it abstains.
"""

import math

TIE = 1e-12


def feedback(n_rows, labels=None, query=None, row_weight=None, query_weight=None, pairs=()):
    """Every pair of the feedback as (worse, better, weight)."""
    found = [(worse, better, weight) for better, worse, weight in pairs]
    for low in range(n_rows if labels is not None else 0):
        for high in range(n_rows):
            if query[low] == query[high] and labels[low] < labels[high]:
                weight = query_weight[query[low]] * row_weight[low] * row_weight[high]
                found.append((low, high, weight))
    return [pair for pair in found if pair[2] > 0]


def ranking_loss(pairs, scores):
    """Eq. 21: a misordered pair counts its share of all weight, a tie half of it."""
    lost = sum(w * ((scores[high] < scores[low]) + (scores[high] == scores[low]) / 2) for low, high, w in pairs)
    return lost / sum(w for _, _, w in pairs)


def filled(feature, default):
    return [default if value is None else value for value in feature]


def average(values, weights=None):
    weights = [1.0] * len(values) if weights is None else weights
    kept = [(value, weight) for value, weight in zip(values, weights, strict=True) if value is not None]
    total = sum(weight for _, weight in kept)
    return sum(value * weight for value, weight in kept) / total if total > 0 else 0.0


def rating_scale(features):
    """Every value that some feature has."""
    return sorted({value for feature in features for value in feature if value is not None})


def best_default(pairs, feature, weights, scale):
    """Smallest loss over all defaults of the rating scale, and the lowest of those that have it."""
    candidates = scale
    crossed = any((feature[low] is None) != (feature[high] is None) for low, high, _ in pairs)
    if not crossed:
        candidates = [average(feature, weights)]
    losses = [ranking_loss(pairs, filled(feature, default)) for default in candidates]
    best = next(i for i, loss in enumerate(losses) if loss <= min(losses) + TIE)
    return losses[best], candidates[best]


def nearest_neighbors(pairs, features, weights, count=1):
    """Number, default and loss of the best features, best first, the first of equally good ones."""
    scale = rating_scale(features)
    left = {i: best_default(pairs, feature, weights, scale) for i, feature in enumerate(features)}
    found = []
    for _ in range(count):
        lowest = min(loss for loss, _ in left.values())
        best = next(i for i, (loss, _) in left.items() if loss <= lowest + TIE)
        loss, default = left.pop(best)
        found.append((best, default, loss))
    return found


def neighbor_score(found, row):
    """Mean of what the neighbors say of a row, each its default where it says nothing."""
    return sum(default if row[i] is None else row[i] for i, default, _ in found) / len(found)


def vector_similarity(features, labels, row):
    """Score of a row by the formulas of VSIM."""
    similar = []
    for feature in features:
        product = sum(y * v for y, v in zip(labels, feature, strict=True) if v is not None)
        norms = math.hypot(*labels) * math.hypot(*(v for v in feature if v is not None))
        similar.append(product / norms if norms > 0 else 0.0)
    total = sum(map(abs, similar))
    terms = [
        w * (value - average(feature))
        for w, feature, value in zip(similar, features, row, strict=True)
        if value is not None
    ]
    return average(labels) + (sum(terms) / total if total > 0 else 0.0)
