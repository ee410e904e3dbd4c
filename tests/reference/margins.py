"""Pairs written out: the squared hinge, its penalties, and least squares on differences, as their definitions say."""

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
