"""The p-norm push and the infinite push pair by pair, as the papers write them; nothing of the library."""

import math

import numpy as np
from scipy.optimize import linprog


def offenders(labels, qid):
    """Each row that has better ones in its query, with those: {i: [j, ...]}."""
    rows = range(len(labels))
    found = {i: [j for j in rows if qid[j] == qid[i] and labels[j] > labels[i]] for i in rows}
    return {i: better for i, better in found.items() if better}


def query_losses(labels, qid, scores, p, weight):
    """Σ_i w_i (Σ_{j: y_j > y_i} w_j exp(s_i - s_j))^p of each query (Rudin 2009), its own weight left out."""
    losses = {}
    for i, better in offenders(labels, qid).items():
        inner = sum(weight[j] * math.exp(scores[i] - scores[j]) for j in better)
        losses[qid[i]] = losses.get(qid[i], 0.0) + weight[i] * inner**p
    return losses


def push_loss(labels, qid, scores, p, weight, query_weight, equal_queries=False):
    """The sum over queries, each divided by its loss at equal scores if they begin alike."""
    losses = query_losses(labels, qid, scores, p, weight)
    first = query_losses(labels, qid, np.zeros(len(labels)), p, weight)
    return sum(query_weight[q] * loss / (first[q] if equal_queries else 1.0) for q, loss in losses.items())


def push_shares(labels, qid, scores, p, weight, query_weight, equal_queries=False):
    """D(i, j) ∝ v w_i inner_i^(p-1) w_j exp(s_i - s_j), {(worse, better): share}."""
    first, shares = query_losses(labels, qid, np.zeros(len(labels)), p, weight), {}
    for i, better in offenders(labels, qid).items():
        terms = {j: weight[j] * math.exp(scores[i] - scores[j]) for j in better}
        outer = query_weight[qid[i]] * weight[i] * sum(terms.values()) ** (p - 1)
        for j, term in terms.items():
            shares[i, j] = outer * term / (first[qid[i]] if equal_queries else 1.0)
    total = sum(shares.values())
    return {pair: share / total for pair, share in shares.items()}


def infinite_objective(labels, qid, scores, coef, alpha, weight, query_weight):
    """Mean over queries of what the worst offender pays, and the penalty (Agarwal 2011, Rakotomamonjy 2012)."""
    worst = {}
    for i, better in offenders(labels, qid).items():
        paid = sum(weight[j] * max(0.0, 1 - (scores[j] - scores[i])) for j in better) / sum(weight[j] for j in better)
        worst[qid[i]] = max(worst.get(qid[i], 0.0), paid)
    total = sum(query_weight[q] for q in worst)
    return sum(query_weight[q] * paid for q, paid in worst.items()) / total + alpha * np.abs(coef).sum()


def infinite_minimum(X, labels, qid, alpha, weight, query_weight):
    """The least objective, by a dense programme in β, a hinge for each pair and a bound for each query."""
    pairs = [(i, j) for i, better in offenders(labels, qid).items() for j in better]
    queries = sorted({qid[i] for i, _ in pairs})
    total, n = sum(query_weight[q] for q in queries), X.shape[1]
    cost = np.r_[np.full(2 * n, alpha), np.zeros(len(pairs)), [query_weight[q] / total for q in queries]]
    rows, bounds = [], []
    for number, (i, j) in enumerate(pairs):
        row = np.zeros(len(cost))
        row[:n], row[n : 2 * n], row[2 * n + number] = X[i] - X[j], X[j] - X[i], -1.0
        rows.append(row)
        bounds.append(-1.0)
    for i, better in offenders(labels, qid).items():
        row = np.zeros(len(cost))
        for j in better:
            row[2 * n + pairs.index((i, j))] = weight[j] / sum(weight[k] for k in better)
        row[2 * n + len(pairs) + queries.index(qid[i])] = -1.0
        rows.append(row)
        bounds.append(0.0)
    return linprog(cost, A_ub=np.array(rows), b_ub=bounds).fun
