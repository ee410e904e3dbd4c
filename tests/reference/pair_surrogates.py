"""CR's pairwise surrogates as they are written (4.2 to 4.5), pair by pair, with weights as repeated rows."""

import math


def products(labels, i, j):
    return labels[i] - labels[j]


def signs(labels, i, j):
    return int(labels[i] > labels[j]) - int(labels[i] < labels[j])


FACTORS = {"signs": signs, "products": products}


def slope(surrogate, z, c, closed):
    """-φ'(z)."""
    if surrogate == "exp":
        return math.exp(-z)
    if surrogate == "hinge":
        return 1.0 if z < 1 else 0.0
    inside = 0 <= z <= c if closed else 0 < z < c
    return 1.0 / c if inside else 0.0


def height(surrogate, z, c):
    """φ(z)."""
    if surrogate == "exp":
        return math.exp(-z)
    if surrogate == "hinge":
        return max(0.0, 1 - z)
    return 1.0 if z < 0 else 0.0 if z > c else 1 - z / c


def cr_gradient(labels, scores, surrogate, pairs, c, closed):
    """U_i = 1/(n - 1) Σ_{j ≠ i} a_ij (-φ'(z_ij)) of rows that all weigh 1, one query (CR 4.3, 4.5)."""
    n, factor = len(labels), FACTORS[pairs]
    found = []
    for i in range(n):
        total = 0.0
        for j in range(n):
            a = factor(labels, i, j)
            total += a * slope(surrogate, a * (scores[i] - scores[j]), c, closed) if j != i else 0.0
        found.append(total / (n - 1))
    return found


def mean_loss(labels, scores, weights, surrogate, pairs, c):
    """1/N Σ_i w_i 1/N Σ_j w_j φ(z_ij) over pairs of different labels of one query."""
    total, factor, rows = 0.0, FACTORS[pairs], range(len(labels))
    for i in rows:
        for j in rows:
            if labels[i] != labels[j]:
                z = factor(labels, i, j) * (scores[i] - scores[j])
                total += weights[i] * weights[j] * height(surrogate, z, c)
    return total / sum(weights) ** 2


def simple_regression(x, response):
    """Intercept, slope and lowered squared error of least squares on one feature."""
    mean_x, mean_u = sum(x) / len(x), sum(response) / len(x)
    covariance = sum((a - mean_x) * (u - mean_u) for a, u in zip(x, response, strict=True))
    squares = sum((a - mean_x) ** 2 for a in x)
    slope_ = covariance / squares if squares > 0 else 0.0
    return mean_u - slope_ * mean_x, slope_, slope_ * covariance


def boost(columns, labels, rounds, rate, surrogate, pairs, c, closed, select):
    """Algorithm 2 of CR on one query, U with n in the place of n - 1: the scores after all rounds, features taken."""
    n = len(labels)
    scores, taken = [0.0] * n, []
    response = [label - sum(labels) / n for label in labels]
    for _ in range(rounds):
        fits = [simple_regression(x, response) for x in columns]

        def after(k, fits=fits, scores=scores):
            start, factor = ([0.0] * n, 1.0) if select == "simple" else (scores, rate)
            return [s + factor * (fits[k][0] + fits[k][1] * x) for s, x in zip(start, columns[k], strict=True)]

        if select == "squares":
            best = max(range(len(columns)), key=lambda k, fits=fits: fits[k][2])
        else:
            ones = [1.0] * n
            best = min(range(len(columns)), key=lambda k: mean_loss(labels, after(k), ones, surrogate, pairs, c))
        taken.append(best)
        intercept, slope_, _ = fits[best]
        scores = [s + rate * (intercept + slope_ * x) for s, x in zip(scores, columns[best], strict=True)]
        response = [u * (n - 1) / n for u in cr_gradient(labels, scores, surrogate, pairs, c, closed)]
    return scores, taken
