"""Similarity of features, greedy choice and error control as their definitions say, pair by pair and set by set."""

from itertools import combinations, pairwise


def sign(x):
    return (x > 0) - (x < 0)


def similarity(one, other, qid, query_weight, kind):
    """Mean over the queries of two rows or more of τ, or of the share of pairs in the same order."""
    total, weights = 0.0, 0.0
    for query in dict.fromkeys(qid):
        pairs = list(combinations([i for i, own in enumerate(qid) if own == query], 2))
        ways = [sign(one[i] - one[j]) * sign(other[i] - other[j]) for i, j in pairs]
        if pairs:
            value = sum(way > 0 for way in ways) if kind == "concordant" else sum(ways)
            total, weights = total + query_weight[query] * value / len(pairs), weights + query_weight[query]
    mean = total / weights if weights else 0.0
    return abs(mean) if kind == "absolute" else mean


def objective(chosen, importances, similarities, trade_off):
    """Σ w_i - c Σ_i Σ_{j ≠ i} e_ij over a set."""
    penalty = sum(similarities[i][j] for i in chosen for j in chosen if i != j)
    return sum(importances[i] for i in chosen) - trade_off * penalty


def greedy(importances, similarities, trade_off, n_selected):
    """Add, one after the other, the feature after which the objective of the set is highest."""
    chosen, values = [], [0.0]
    for _ in range(n_selected):
        left = [i for i in range(len(importances)) if i not in chosen]
        after = {i: objective([*chosen, i], importances, similarities, trade_off) for i in left}
        best = max(left, key=lambda i: after[i])
        chosen.append(best)
        values.append(after[best])
    return chosen, [after - before for before, after in pairwise(values)]
