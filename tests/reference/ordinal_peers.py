"""Plain perceptrons, machines and thresholded ensembles for grades, written from the formulas; grades count from 0."""

import itertools
import math

import numpy as np
from scipy.optimize import minimize


def grade_of(score, thresholds):
    """#{k: score ≥ θ_k}."""
    return sum(score >= theta for theta in thresholds)


def dot(a, b):
    return sum(one * other for one, other in zip(a, b, strict=True))


def ranking_perceptron(rows, grades, costs, places, single):
    """Crammer and Singer (2005) over the drawn places, with Gallant's pocket: (weights, thresholds, cost)."""
    n_grades = len(costs[0])

    def total(weights, thresholds):
        return sum(c[grade_of(dot(weights, x), thresholds)] for x, c in zip(rows, costs, strict=True))

    constants = [([0.0] * len(rows[0]), [-math.inf] * k + [math.inf] * (n_grades - 1 - k)) for k in range(n_grades)]
    pocket = min(constants, key=lambda model: total(*model))
    weights, thresholds = [0.0] * len(rows[0]), [0.0] * (n_grades - 1)
    run = longest = 0
    for n in places:
        score = dot(weights, rows[n])
        grade = grade_of(score, thresholds)
        if grade == grades[n]:
            run += 1
            if run > longest and total(weights, thresholds) < total(*pocket):
                longest, pocket = run, (list(weights), list(thresholds))
            continue
        run = 0
        wrong = [k for k in range(n_grades - 1) if (k < grades[n]) != (score >= thresholds[k])]
        if single:
            wrong = [min(wrong, key=lambda k: abs(k - grade + (grades[n] < grade)))]
        for k in wrong:
            sign = 1 if k < grades[n] else -1
            thresholds[k] -= sign
            weights = [w + sign * x for w, x in zip(weights, rows[n], strict=True)]
    return (*pocket, total(*pocket))


def kernel_value(x, other, kernel, gamma):
    distance = sum((a - b) ** 2 for a, b in zip(x, other, strict=True))
    return {"linear": dot(x, other), "rbf": math.exp(-gamma * distance), "perceptron": -math.sqrt(distance)}[kernel]


def extended_machine(rows, grades, weights, kernel, gamma, C):
    """The dual of Li and Lin (2007) on the whole kernel of N (K - 1) examples: (objective, values of all examples)."""
    examples = [(n, k) for n in range(len(rows)) for k in range(len(weights[0]))]
    z = np.array([1.0 if k < grades[n] else -1.0 for n, k in examples])
    upper = np.array([C * weights[n][k] for n, k in examples])
    matrix = np.array(
        [[kernel_value(rows[n], rows[m], kernel, gamma) + (k == j) for m, j in examples] for n, k in examples]
    )
    signed = z[:, None] * z * matrix
    found = minimize(
        lambda a: 0.5 * a @ signed @ a - a.sum(),
        np.zeros(len(z)),
        jac=lambda a: signed @ a - 1,
        bounds=[(0, u) for u in upper],
        constraints={"type": "eq", "fun": lambda a: a @ z, "jac": lambda a: z},
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    inside = (found.x > 1e-4 * upper) & (found.x < (1 - 1e-4) * upper)
    values = matrix @ (found.x * z)
    bias = np.mean((z - values)[inside])
    return found.fun, (values + bias).reshape(len(rows), -1)


def margin_loss(weights, grades, scores, thresholds):
    """Σ_n Σ_k s_nk exp(-margin) of Lin and Li (2006)."""
    return sum(
        s * math.exp(theta - score if k < grade else score - theta)
        for own, grade, score in zip(weights, grades, scores, strict=True)
        for k, (s, theta) in enumerate(zip(own, thresholds, strict=True))
        if s > 0
    )


def best_thresholds(weights, grades, scores):
    """The ascending thresholds of the lowest loss: for every way to pool neighbours, the best of each pool."""
    n = len(weights[0])
    best = None
    for cuts in itertools.product((False, True), repeat=n - 1):
        thresholds = []
        start = 0
        for stop in [k + 1 for k, cut in enumerate(cuts) if cut] + [n]:
            below = above = 0.0
            for own, grade, score in zip(weights, grades, scores, strict=True):
                below += sum(own[k] for k in range(start, stop) if k >= grade) * math.exp(score)
                above += sum(own[k] for k in range(start, stop) if k < grade) * math.exp(-score)
            thresholds += [0.5 * math.log(below / above)] * (stop - start)
            start = stop
        if thresholds == sorted(thresholds):
            loss = margin_loss(weights, grades, scores, thresholds)
            best = min(best, (loss, thresholds)) if best else (loss, thresholds)
    return best[1]


def orboost(X, grades, weights, n_rounds):
    """ORBoost with stumps of values -1 and 1 at every value: (loss, scores, thresholds) after each round."""
    scores, story = [0.0] * len(X), []
    thresholds = best_thresholds(weights, grades, scores)
    for _ in range(n_rounds):
        up, down = [], []
        for own, grade, score in zip(weights, grades, scores, strict=True):
            up.append(sum(own[k] * math.exp(thresholds[k] - score) for k in range(grade)))
            down.append(sum(own[k] * math.exp(score - thresholds[k]) for k in range(grade, len(own))))
        stumps = [
            [1 if row[feature] > value else -1 for row in X]
            for feature in range(len(X[0]))
            for value in sorted({row[feature] for row in X})[:-1]
        ]
        edges = [abs(sum(h * (u - d) for h, u, d in zip(stump, up, down, strict=True))) for stump in stumps]
        stump = stumps[max(range(len(stumps)), key=lambda i: (round(edges[i], 9), -i))]
        right = sum(u if h > 0 else d for h, u, d in zip(stump, up, down, strict=True))
        wrong = sum(d if h > 0 else u for h, u, d in zip(stump, up, down, strict=True))
        alpha = 0.5 * math.log(right / wrong)
        scores = [score + alpha * h for score, h in zip(scores, stump, strict=True)]
        thresholds = best_thresholds(weights, grades, scores)
        story.append((margin_loss(weights, grades, scores, thresholds), scores, thresholds))
    return story
