"""Losses of scores written as the papers write them, pair by pair (LM is Burges 2010); nothing of the library."""

import math

import numpy as np


def canonical_places(scores):
    """Rows from the highest score down, ties in row order."""
    return sorted(range(len(scores)), key=lambda i: (-scores[i], i))


def ndcg(ranked, k, top):
    """DCG over the best DCG, gain 2^y - 1 (LM 3)."""

    def dcg(labels):
        return sum((2.0**y - 1) / math.log2(place + 2) for place, y in enumerate(labels[:k]))

    best = dcg(sorted(ranked, reverse=True))
    return dcg(ranked) / best if best > 0 else 0.0


def average_precision(ranked, k, top):
    """Mean precision at the places of the relevant rows, of which at most k can be seen."""
    flags = [y > 0 for y in ranked]
    found = [sum(flags[: place + 1]) / (place + 1) for place, flag in enumerate(flags[:k]) if flag]
    return sum(found) / min(sum(flags), k) if any(flags) else 0.0


def reciprocal_rank(ranked, k, top):
    """1 over the place of the first relevant row."""
    return next((1 / (place + 1) for place, y in enumerate(ranked[:k]) if y > 0), 0.0)


def expected_reciprocal_rank(ranked, k, top):
    """Mean of 1 over the place where the user stops, with chance (2^y - 1)/2^top at each row read (LM 3)."""
    value, reach = 0.0, 1.0
    for place, y in enumerate(ranked[:k]):
        stops = (2.0**y - 1) / 2.0**top
        value, reach = value + reach * stops / (place + 1), reach * (1 - stops)
    return value


def pairs_in_order(ranked, k, top):
    """Share of the pairs of different labels that stand in order; AUC for two grades."""
    pairs = [(y, z) for place, y in enumerate(ranked) for z in ranked[place + 1 :] if y != z]
    return sum(y > z for y, z in pairs) / len(pairs) if pairs else 0.0


def localized(ranked, k, top):
    """Minus the localized loss: rows that the first k places miss, and misordered pairs among them (CR Eq. 2.5)."""
    n, k = len(ranked), min(k, len(ranked))
    best, first = sorted(ranked, reverse=True)[:k], list(ranked[:k])
    for y in best:
        if y in first:
            first.remove(y)
    wrong = sum(ranked[a] < ranked[b] for b in range(k) for a in range(b))
    return -((n - k) / n * 2 * len(first) / n + 2 * wrong / (n * max(n - 1, 1)))


MEASURES = {
    "ndcg": ndcg,
    "map": average_precision,
    "mrr": reciprocal_rank,
    "err": expected_reciprocal_rank,
    "auc": pairs_in_order,
    "localized": localized,
}


def swap_changes(delta, ranked, truncation, top):
    """|ΔZ| of each pair of places: Z measured before and after the swap; 1 without a measure."""
    n = len(ranked)
    changes, k = np.ones((n, n)), n if truncation is None else truncation
    if delta != "none":
        before = MEASURES[delta](ranked, k, top)
        for a in range(n):
            for b in range(n):
                swapped = list(ranked)
                swapped[a], swapped[b] = ranked[b], ranked[a]
                changes[a, b] = abs(MEASURES[delta](swapped, k, top) - before)
    return changes


def pair_weights(labels, scores, delta, truncation, weight, top=None):
    """|ΔZ| w_i w_j of the pairs of one query, {(better, worse): size}, at the places that the scores give.

    `top` is the highest label of all queries, by default that of this one.
    """
    order = canonical_places(scores)
    changes = swap_changes(delta, [labels[i] for i in order], truncation, max(labels) if top is None else top)
    pairs = {}
    for a, i in enumerate(order):
        for b, j in enumerate(order):
            counted = truncation is None or min(a, b) < truncation
            if labels[i] > labels[j] and counted:
                pairs[i, j] = changes[a, b] * weight[i] * weight[j]
    return pairs


def damped(pairs, scores, sigma):
    """The weights divided by 0.01 + σ |s_i - s_j|."""
    return {(i, j): size / (0.01 + sigma * abs(scores[i] - scores[j])) for (i, j), size in pairs.items()}


def pair_loss(pairs, scores, sigma):
    """C = Σ |ΔZ| log(1 + exp(-σ (s_i - s_j))) (LM 7)."""
    return sum(size * math.log1p(math.exp(-sigma * (scores[i] - scores[j]))) for (i, j), size in pairs.items())


def lambdas(pairs, scores, sigma):
    """Gradient and curvature of each row (LM 7)."""
    gradient, curvature = np.zeros(len(scores)), np.zeros(len(scores))
    for (i, j), size in pairs.items():
        rho = 1 / (1 + math.exp(sigma * (scores[i] - scores[j])))
        gradient[i] -= sigma * size * rho
        gradient[j] += sigma * size * rho
        curvature[[i, j]] += sigma**2 * size * rho * (1 - rho)
    return gradient, curvature


def normalized_lambdas(pairs, scores, sigma, normalize):
    """λ with one of the normalisations: "pairs" damps, "query" multiplies by log2(1 + S)/S, S = 2 Σ |λ|/σ."""
    if normalize in ("pairs", "both"):
        pairs = damped(pairs, scores, sigma)
    gradient, curvature = lambdas(pairs, scores, sigma)
    total = 2 * sum(size / (1 + math.exp(sigma * (scores[i] - scores[j]))) for (i, j), size in pairs.items())
    factor = math.log2(1 + total) / total if normalize in ("query", "both") and total > 0 else 1.0
    return factor * gradient, factor * curvature


def ranknet(labels, scores, sigma):
    """RankNet's gradient of one query, Σ over all pairs of -σ/(1 + exp(σ (s_i - s_j))) (LM 2, Eq. 3 and 4)."""
    gradient = np.zeros(len(scores))
    for i in range(len(scores)):
        for j in range(len(scores)):
            if labels[i] > labels[j]:
                pull = sigma / (1 + math.exp(sigma * (scores[i] - scores[j])))
                gradient[i] -= pull
                gradient[j] += pull
    return gradient


def ndcg_lambdas(labels, scores, truncation, sigma, weight, normalize="none"):
    """λ and curvature with |ΔNDCG| of a long query, all pairs at once: a swap exchanges gains and discounts."""
    order = np.lexsort((np.arange(len(scores)), -scores))
    gain, s, w = 2.0 ** labels[order] - 1, scores[order], weight[order]
    seen = np.arange(len(scores)) < truncation
    discount = seen / np.log2(np.arange(len(scores)) + 2)
    best = np.sort(gain)[::-1] @ discount
    size = np.abs(np.subtract.outer(gain, gain) * np.subtract.outer(discount, discount)) * np.outer(w, w) / best
    size *= np.less.outer(-gain, -gain) * np.logical_or.outer(seen, seen)  # the row's gain is the higher one
    apart = sigma * np.subtract.outer(s, s)
    if normalize in ("pairs", "both"):
        size /= 0.01 + np.abs(apart)
    rho = 1 / (1 + np.exp(np.minimum(apart, 700.0)))
    pull, bend, total = sigma * size * rho, sigma**2 * size * rho * (1 - rho), 2 * (size * rho).sum()
    factor = np.log2(1 + total) / total if normalize in ("query", "both") and total > 0 else 1.0
    found = np.empty((2, len(scores)))
    found[:, order] = factor * np.array([pull.sum(axis=0) - pull.sum(axis=1), bend.sum(axis=0) + bend.sum(axis=1)])
    return found


def cross_entropy(labels, scores, weight, gamma):
    """Gradient ρ - φ and curvature ρ (1 - ρ) of one query: φ of 2^y - γ, ρ of exp(s), rows weighing what they do."""
    wanted = [w * (2.0**y - g) for y, w, g in zip(labels, weight, gamma, strict=True)]
    given = [w * math.exp(s - max(scores)) for s, w in zip(scores, weight, strict=True)]
    rho, phi = np.array(given) / sum(given), np.array(wanted) / sum(wanted)
    return rho - phi, rho * (1 - rho)
