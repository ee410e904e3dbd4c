"""Plain RankBoost+, written from the formulas of Connamacher, Pancha, Liu and Ray (2019) ("RB+").

D is a dictionary {(worse, better): weight}, a ranking a list with 0 or 1 for each row; all rankings are tried.
"""

import math

import numpy as np

from reference.rankboost import initial_distribution, stump, thresholds


def difference(f, pair):
    """f(better) - f(worse)."""
    return f[pair[1]] - f[pair[0]]


def epsilons(D, f):
    """ε⁺, ε⁰ and ε⁻, RB+ Eq. (8)."""
    return tuple(sum(w for pair, w in D.items() if difference(f, pair) == sign) for sign in (1, 0, -1))


def omega(f, eta, pair):
    """ω₂*, RB+ Eq. (23)."""
    d = difference(f, pair)
    return math.cosh(eta) if d == 0 else math.exp(-eta * d)


def loss_1(D1, scores):
    """Ê1, RB+ Eq. (5)."""
    return sum(w * math.exp(-difference(scores, pair)) for pair, w in D1.items())


def loss_2(D1, rankings, etas):
    """F₂, RB+ Eq. (22)."""
    return sum(
        w * math.prod(omega(f, eta, pair) for f, eta in zip(rankings, etas, strict=True)) for pair, w in D1.items()
    )


def slope(D, f, eta):
    """δ, RB+ Eq. (33)."""
    plus, zero, minus = epsilons(D, f)
    return minus - plus + zero * math.sinh(eta) / math.cosh(eta)


def alpha_of(D, f, eta):
    """α, RB+ Eq. (34)."""
    plus, zero, minus = epsilons(D, f)
    above = plus + zero * math.exp(-eta) / (2 * math.cosh(eta))
    below = minus + zero * math.exp(eta) / (2 * math.cosh(eta))
    return 0.5 * math.log(above / below)


def updated(D, factor):
    """Z and D_{t+1} from the factor of each pair, RB+ Eq. (26)."""
    new = {pair: w * factor(pair) for pair, w in D.items()}
    Z = sum(new.values())
    return Z, {pair: w / Z for pair, w in new.items()}


def vector(f, pairs):
    """A ranking as a vector over pairs, RB+ section 4."""
    return np.array([difference(f, pair) for pair in pairs], float)


def distinct(stumps, pairs):
    """Stumps that order some pair, each once, sign apart: {key: ranking} in the order given."""
    seen, kept = set(), {}
    for key, f in stumps.items():
        v = tuple(vector(f, pairs))
        if any(v) and v not in seen and tuple(-x for x in v) not in seen:
            seen.add(v)
            kept[key] = f
    return kept


def all_stumps(features, q_defs=(0, 1)):
    """Every stump by (feature, threshold, q_def)."""
    return {
        (i, theta, q): stump(feature, theta, q)
        for i, feature in enumerate(features)
        for theta in thresholds(feature)
        for q in (q_defs if any(x is None for x in feature) else q_defs[:1])
    }


def combination(f, members, pairs):
    """β with f = Σ β_s f_s on every pair, or None: least squares over pairs, RB+ section 4."""
    if not members:
        return None
    S = np.column_stack([vector(g, pairs) for g in members])
    beta, *_ = np.linalg.lstsq(S, vector(f, pairs), rcond=None)
    return beta if np.abs(S @ beta - vector(f, pairs)).max() < 1e-8 else None


def line_minimum(D, members, etas, beta):
    """The α that makes F₂(η + α β) least, by bisection of its derivative."""

    def derivative(alpha):
        total = 0.0
        for pair, w in D.items():
            product, log_slope = 1.0, 0.0
            for f, eta, b in zip(members, etas, beta, strict=True):
                d, new = difference(f, pair), eta + alpha * b
                product *= omega(f, new, pair) / omega(f, eta, pair)
                log_slope += b * (math.tanh(new) if d == 0 else -d)
            total += w * product * log_slope
        return total

    low, high = -13.0, 13.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if derivative(middle) < 0 else (low, middle)
    return 0.5 * (low + high)


def steepest(D, candidates, keys, members, etas, pairs, search):
    """The direction of the largest slope, RB+ Eq. (32): (key, ranking, β, or None for an independent one)."""
    directions = [(key, f, np.eye(len(members))[i]) for i, (key, f) in enumerate(zip(keys, members, strict=True))]
    for key, f in candidates.items():
        beta = combination(f, members, pairs)
        if key not in keys and (beta is None or search == "optimal"):
            directions.append((key, f, beta))
    best, choice = 1e-8, None
    gradient = [slope(D, g, eta) for g, eta in zip(members, etas, strict=True)]
    for key, f, beta in directions:
        along = slope(D, f, 0.0) if beta is None else np.dot(gradient, beta) / np.linalg.norm(beta)
        if abs(along) > best + 1e-12:
            best, choice = abs(along), (key, f, beta)
    return choice


def rank_boost_plus(triples, features, n_rounds, search="efficient", q_defs=(0, 1)):
    """RB+ Algorithm 2, or section 4's search in all directions: a list of (feature, threshold, q_def, α, Z, r).

    Where Algorithm 2 would complete its set at random, the next best independent stump is taken.
    """
    D = initial_distribution(triples)
    pairs = list(D)
    candidates = distinct(all_stumps(features, q_defs), pairs)
    keys, members, etas, rounds = [], [], [], []
    for _ in range(n_rounds):
        choice = steepest(D, candidates, keys, members, etas, pairs, search)
        if choice is None:
            break
        key, f, beta = choice
        plus, _, minus = epsilons(D, f)
        if beta is None:
            keys, members, etas, beta = [*keys, key], [*members, f], [*etas, 0.0], np.eye(len(members) + 1)[-1]
        if np.count_nonzero(beta) == 1 and key in keys:
            alpha = alpha_of(D, f, etas[keys.index(key)])
        else:
            alpha = line_minimum(D, members, etas, beta)
        new = [eta + alpha * b for eta, b in zip(etas, beta, strict=True)]

        def factor(pair, members=members, etas=etas, new=new):
            return math.prod(
                omega(g, after, pair) / omega(g, before, pair)
                for g, before, after in zip(members, etas, new, strict=True)
            )

        Z, D = updated(D, factor)
        etas = new
        rounds.append((*key, alpha, Z, plus - minus))
    return rounds
