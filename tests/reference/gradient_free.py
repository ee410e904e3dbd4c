"""Gradient-free boosting as its docstring defines it, on lists, feature by feature and pair by pair."""

import math


def mean(values, weights):
    return sum(v * w for v, w in zip(values, weights, strict=True)) / sum(weights)


def deviations(column, weights):
    """Values less their weighted mean over the rows that have one; None (missing) deviates by nothing."""
    known = [(x, w) for x, w in zip(column, weights, strict=True) if x is not None]
    centre = mean(*zip(*known, strict=True)) if sum(w for _, w in known) > 0 else 0.0
    return [0.0 if x is None else x - centre for x in column]


def hard_loss(labels, scores):
    """Misordered share of all pairs of one query, a tie of scores for half; None where labels are all equal."""
    n, wrong = len(labels), 0.0
    if len(set(labels)) < 2:
        return None
    for i in range(n):
        for j in range(i):
            way = (labels[i] - labels[j]) * (scores[i] - scores[j])
            wrong += 1.0 if way < 0 else 0.5 if scores[i] == scores[j] and labels[i] != labels[j] else 0.0
    return wrong / (n * (n - 1) / 2)


def mean_hard_loss(labels, scores, qid, row_weight, query_weight):
    """Mean over queries, each weighted by its own weight times the mean weight of its rows."""
    total, weights = 0.0, 0.0
    for query in dict.fromkeys(qid):
        rows = [i for i, one in enumerate(qid) if one == query]
        loss = hard_loss([labels[i] for i in rows], [scores[i] for i in rows])
        weight = query_weight[query] * sum(row_weight[i] for i in rows) / len(rows)
        if loss is not None:
            total, weights = total + weight * loss, weights + weight
    return total / weights


def boost(columns, labels, qid, row_weight, query_weight, n_rounds, rate, singular_every):
    """Return (feature, alpha, fall, singular, measured) of each round and the scores after the last."""
    weights = [w * query_weight[q] for w, q in zip(row_weight, qid, strict=True)]
    centered = [deviations(column, weights) for column in columns]
    scores, rounds = [mean(labels, weights)] * len(labels), []
    for number in range(1, n_rounds + 1):
        residuals = [y - s for y, s in zip(labels, scores, strict=True)]
        options = []
        for feature, z in enumerate(centered):
            norm = sum(w * x * x for w, x in zip(weights, z, strict=True))
            if norm > 0:
                beta = sum(w * x * r for w, x, r in zip(weights, z, residuals, strict=True)) / norm
                after = [s + rate * beta * x for s, x in zip(scores, z, strict=True)]
                squares = sum(
                    w * (r - beta * x) ** 2 for w, r, x in zip(weights, residuals, z, strict=True)
                )  # of the whole fit, by which features are compared
                options.append((feature, beta, after, squares))
        singular = singular_every is not None and number % singular_every == 0
        losses = [mean_hard_loss(labels, o[2], qid, row_weight, query_weight) if singular else 0.0 for o in options]
        near = [o for o, loss in zip(options, losses, strict=True) if loss <= min(losses) + 1e-12]
        feature, beta, after, _ = min(near, key=lambda o: o[3])
        error = [mean([(y - s) ** 2 for y, s in zip(labels, f, strict=True)], weights) for f in (scores, after)]
        measured = mean_hard_loss(labels, after, qid, row_weight, query_weight) if singular else math.nan
        rounds.append((feature, rate * beta, error[0] - error[1], singular, measured))
        scores = after
    return rounds, scores
