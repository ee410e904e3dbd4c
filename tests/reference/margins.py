"""Pairs written out: the squared hinge, its penalties, and least squares on differences, as their definitions say."""

from itertools import chain, permutations, product

import numpy as np


def label_pairs(y, qid, sample_weight=None, query_weight=None):
    """(better, worse, weight) of each two rows of a query with different labels."""
    u = [1.0] * len(y) if sample_weight is None else sample_weight
    v = dict.fromkeys(qid, 1.0) if query_weight is None else query_weight
    rows = range(len(y))
    return [(i, j, v[qid[i]] * u[i] * u[j]) for i in rows for j in rows if qid[i] == qid[j] and y[i] > y[j]]


def margins(pairs, scores):
    """Mean squared hinge, mean hinge, gradient, and generalised Hessian, by the scores."""
    n, total = len(scores), sum(weight for _, _, weight in pairs)
    loss, slack, gradient, hessian = 0.0, 0.0, np.zeros(n), np.zeros((n, n))
    for i, j, weight in pairs:
        m = 1.0 - (scores[i] - scores[j])
        if m > 0:
            loss, slack = loss + weight * m * m, slack + weight * m
            gradient[i] -= 2 * weight * m
            gradient[j] += 2 * weight * m
            hessian[i, i] += 2 * weight
            hessian[j, j] += 2 * weight
            hessian[i, j] -= 2 * weight
            hessian[j, i] -= 2 * weight
    return loss / total, slack / total, gradient / total, hessian / total


def penalty(name, w, theta):
    """The penalty of weights."""
    size = np.abs(w)
    if name == "l2":
        return 0.5 * float(np.sum(w * w))
    if name == "l1":
        return float(size.sum())
    if name == "mcp":
        return float(sum(one - one * one / (2 * theta) if one <= theta else theta / 2 for one in size))
    return float(sum(theta * np.log(1 + one / theta) for one in size))


def slope(name, w, theta):
    """The derivative of the penalty by |w|."""
    size = np.abs(w)
    if name == "l1":
        return np.ones_like(size)
    if name == "mcp":
        return np.array([1 - one / theta if one <= theta else 0.0 for one in size])
    return np.array([1 / (1 + one / theta) for one in size])


def objective(name, w, X, pairs, C, theta=1.0):
    """What RankSVM minimises."""
    return penalty(name, w, theta) + C * margins(pairs, X @ w)[0]


def pull(w, X, pairs, C):
    """The gradient of the loss term by the weights."""
    return C * (X.T @ margins(pairs, X @ w)[2])


def scaled(X, weight):
    """Columns of mean 0 and standard deviation 1 by weight, means for what is missing, and both."""
    columns, means, deviations = [], [], []
    for column in np.asarray(X, float).T:
        known = ~np.isnan(column)
        share = np.where(known, weight, 0.0)
        mean = float(np.sum(share * np.where(known, column, 0.0)) / share.sum()) if share.sum() else 0.0
        filled = np.where(known, column, mean)
        deviation = float(np.sqrt(np.sum(share * (filled - mean) ** 2) / share.sum())) if share.sum() else 0.0
        deviation = deviation if deviation > 1e-12 * np.abs(filled).max() else 1.0
        columns.append((filled - mean) / deviation)
        means.append(mean)
        deviations.append(deviation)
    return np.array(columns).T, np.array(means), np.array(deviations)


def pair_least_squares(K, y, qid, u, v, alpha):
    """Weights a of scores K a that minimise the mean over ordered pairs plus alpha a·K a, from all pairs."""
    n = len(y)
    total, rows, targets = 0.0, [], []
    for i in range(n):
        for j in range(n):
            if qid[i] == qid[j]:
                weight = v[qid[i]] * u[i] * u[j]
                total += weight
                rows.append(np.sqrt(weight) * (K[i] - K[j]))
                targets.append(np.sqrt(weight) * (y[i] - y[j]))
    D, t = np.array(rows), np.array(targets)
    return np.linalg.lstsq(D.T @ D / total + alpha * K, D.T @ t / total, rcond=None)[0], total


def huber(z, delta):
    """Huber's loss of a pair whose scores differ by z, and its slope."""
    if z >= 1:
        return 0.0, 0.0
    if z > 1 - delta:
        return (1 - z) ** 2 / (2 * delta), -(1 - z) / delta
    return 1 - z - delta / 2, -1.0


def huber_pairs(pairs, scores, delta):
    """Mean of Huber's loss over weighted pairs, and its gradient by the scores."""
    total, loss, gradient = sum(weight for _, _, weight in pairs), 0.0, np.zeros(len(scores))
    for i, j, weight in pairs:
        height, steepness = huber(scores[i] - scores[j], delta)
        loss += weight * height
        gradient[i] += weight * steepness
        gradient[j] -= weight * steepness
    return loss / total, gradient / total


def dcg(labels):
    """Discounted cumulative gain of labels in an order."""
    return sum((2**label - 1) / np.log2(2 + place) for place, label in enumerate(labels))


def best_orders(labels):
    """All orders of rows by falling label."""
    blocks = [[row for row, one in enumerate(labels) if one == label] for label in sorted(set(labels), reverse=True)]
    return [list(chain(*parts)) for parts in product(*map(permutations, blocks))]


def fall_of_ndcg(labels, i, j):
    """By how much NDCG falls where rows i and j change places in the best order, the mean over all best orders."""
    falls = []
    for order in best_orders(labels):
        swapped = [{i: j, j: i}.get(row, row) for row in order]
        falls.append(1 - dcg([labels[row] for row in swapped]) / dcg([labels[row] for row in order]))
    return float(np.mean(falls))


def difference_of_gains(labels, i, j):
    """The difference of gains over the best DCG."""
    return (2 ** labels[i] - 2 ** labels[j]) / dcg(sorted(labels, reverse=True))
