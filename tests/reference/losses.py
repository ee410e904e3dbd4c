"""Losses of scores written as the papers write them, pair by pair (LM is Burges 2010)."""

import math

import numpy as np

from podium.measures.swaps import swap_deltas


def canonical_places(scores):
    """Rows from the highest score down, ties in row order."""
    return sorted(range(len(scores)), key=lambda i: (-scores[i], i))


def pair_weights(labels, scores, delta, truncation, weight):
    """|ΔZ| w_i w_j of the pairs of one query, {(better, worse): size}, at the places that the scores give."""
    order = canonical_places(scores)
    ranked = [labels[i] for i in order]
    changes = np.ones((len(labels),) * 2) if delta == "none" else swap_deltas(delta, ranked, truncation)
    pairs = {}
    for a, i in enumerate(order):
        for b, j in enumerate(order):
            counted = truncation is None or min(a, b) < truncation
            if labels[i] > labels[j] and counted:
                pairs[i, j] = abs(changes[a, b]) * weight[i] * weight[j]
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
