"""Plain RankBoost, written from the formulas of Freund, Iyer, Schapire and Singer (2003) ("RB").

D is a dictionary {(worse, better): weight}, a feature a list with one value per row, None where it abstains.
"""

import math

INFINITY = math.inf


def initial_distribution(triples):
    """D₁ of (worse, better, weight) triples: repeated pairs add up, all weights sum to 1."""
    total = sum(weight for _, _, weight in triples)
    D = {}
    for worse, better, weight in triples:
        if weight > 0:
            D[worse, better] = D.get((worse, better), 0.0) + weight / total
    return D


def graded_triples(labels, query, row_weight=None, query_weight=None, by_difference=False):
    """Every pair of rows of one query whose labels differ, with its weight, times |y_i - y_j| if asked for."""
    n = len(labels)
    row_weight = [1.0] * n if row_weight is None else row_weight
    query_weight = dict.fromkeys(query, 1.0) if query_weight is None else query_weight

    def weight(low, high):
        difference = labels[high] - labels[low] if by_difference else 1.0
        return query_weight[query[low]] * row_weight[low] * row_weight[high] * difference

    return [
        (low, high, weight(low, high))
        for low in range(n)
        for high in range(n)
        if query[low] == query[high] and labels[low] < labels[high]
    ]


def netted(triples):
    """Of two rows one pair at most: Φ(x₀, x₁) - Φ(x₁, x₀) where that is positive (RB section 2)."""
    total = {}
    for worse, better, weight in triples:
        total[worse, better] = total.get((worse, better), 0.0) + weight
    net = {(x0, x1): weight - total.get((x1, x0), 0.0) for (x0, x1), weight in total.items()}
    return [(x0, x1, weight) for (x0, x1), weight in net.items() if weight > 0]


def ranking_loss(triples, scores):
    """Σ D [H(x₁) ≤ H(x₀)], RB Eq. (1)."""
    wrong = sum(weight for x0, x1, weight in triples if scores[x1] <= scores[x0])
    return wrong / sum(weight for _, _, weight in triples)


def potentials(D, n_rows):
    """π(x) = Σ_x' D(x', x) - D(x, x'), RB Eq. (10)."""
    pi = [0.0] * n_rows
    for (worse, better), weight in D.items():
        pi[better] += weight
        pi[worse] -= weight
    return pi


def updated(D, alpha, h):
    """Return Z and D_{t+1}, RB Figure 1."""
    new = {(x0, x1): weight * math.exp(alpha * (h[x0] - h[x1])) for (x0, x1), weight in D.items()}
    Z = sum(new.values())
    return Z, {pair: weight / Z for pair, weight in new.items()}


def weights(D, h):
    """W₋, W₀, W₊ of a {0, 1}-valued ranking, RB section 3.2."""
    W = {-1: 0.0, 0: 0.0, 1: 0.0}
    for (x0, x1), weight in D.items():
        W[round(h[x0] - h[x1])] += weight
    return W[-1], W[0], W[1]


def stump(feature, threshold, q_def):
    """RB Eq. (9)."""
    return [q_def if x is None else int(x > threshold) for x in feature]


def thresholds(feature):
    """The thresholds worth trying, lowest first: -inf, every value but the greatest, inf."""
    values = sorted({x for x in feature if x is not None})
    return [-INFINITY, *values[:-1], INFINITY] if values else [-INFINITY]


def r_of(D, h):
    """RB Eq. (5)."""
    return sum(weight * (h[x1] - h[x0]) for (x0, x1), weight in D.items())


def z_of(D, h):
    """The least Z of a {0, 1}-valued ranking, RB Eq. (3)."""
    minus, zero, plus = weights(D, h)
    return zero + 2 * math.sqrt(minus * plus)


def best_stump(
    D, features, criterion="r", q_defs=(0, 1), allowed=lambda index, threshold, q_def, r: True, candidates=None
):
    """Try every stump: (feature, threshold, q_def) of the first, lowest feature and threshold, of the best.

    `candidates` holds the thresholds of each feature, ascending, where they are given (RB Figure 3).
    """
    best, choice = 1e-12, None
    for index, feature in enumerate(features):
        q_here = q_defs if any(x is None for x in feature) else q_defs[:1]
        for threshold in thresholds(feature) if candidates is None else [-INFINITY, *candidates[index], INFINITY]:
            for q_def in q_here:
                h = stump(feature, threshold, q_def)
                r = r_of(D, h)
                gain = abs(r) if criterion == "r" else 1 - z_of(D, h)
                if gain > best * (1 + 1e-9) + 1e-12 and allowed(index, threshold, q_def, r):
                    best, choice = gain, (index, threshold, q_def)
    return choice


def weak_learn(D, features, n_rows):
    """WeakLearn of RB Figure 3, step by step: r*, feature, threshold and q_def."""
    pi = potentials(D, n_rows)
    best = (0.0, None, None, None)
    for i, feature in enumerate(features):
        ranked = [x for x in range(n_rows) if feature[x] is not None]
        L = 0.0  # 1.
        R = sum(pi[x] for x in ranked)  # 2.
        above = INFINITY  # 3.
        for theta in [*sorted({feature[x] for x in ranked}, reverse=True), -INFINITY]:  # 4.
            L += sum(pi[x] for x in ranked if above >= feature[x] > theta)  # 5.
            q = 0 if abs(L) > abs(L - R) else 1  # 6. - 8.
            if abs(L - q * R) > abs(best[0]):  # 9.
                best = (L - q * R, i, theta, q)  # 10. - 13.
            above = theta
    return best


def alpha_z(D, h):
    """RB Eq. (2)."""
    minus, _, plus = weights(D, h)
    return 0.5 * math.log(minus / plus)


def alpha_r(D, h):
    """RB Eq. (6)."""
    r = r_of(D, h)
    return 0.5 * math.log((1 + r) / (1 - r))


def alpha_numeric(D, h):
    """The zero of Z'(α) by bisection, RB's first method."""

    def slope(alpha):
        return sum(w * (h[x0] - h[x1]) * math.exp(alpha * (h[x0] - h[x1])) for (x0, x1), w in D.items())

    low, high = -50.0, 50.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return 0.5 * (low + high)


ALPHAS = {"z": alpha_z, "r": alpha_r, "numeric": alpha_numeric}


def rank_boost(triples, features, n_rounds, criterion="r", alpha="r", q_defs=(0, 1), candidates=None):
    """RB Figure 1 with stumps: a list of (feature, threshold, q_def, alpha, Z, r)."""
    D, rounds = initial_distribution(triples), []
    for _ in range(n_rounds):
        choice = best_stump(D, features, criterion, q_defs, candidates=candidates)
        if choice is None:
            break
        h = stump(features[choice[0]], *choice[1:])
        weight, r = ALPHAS[alpha](D, h), r_of(D, h)
        Z, D = updated(D, weight, h)
        rounds.append((*choice, weight, Z, r))
    return rounds
