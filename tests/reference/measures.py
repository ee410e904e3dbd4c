"""Plain twins of the measures, written from their formulas; tie rules by going through all orders.

`labels` of a twin are those of one query in rank order. NaN marks an empty query.
"""

import math
from itertools import combinations, groupby, pairwise, permutations, product

NAN = math.nan


def origin(labels):
    """What gains of a query count from: its lowest label, where that is below 0."""
    return min(0.0, *labels)


def gain(rise):
    return 2.0**rise - 1 if rise > 0 else 0.0


def dcg_sum(labels, k, lowest):
    return sum(gain(y - lowest) / math.log2(i + 2) for i, y in enumerate(labels[:k]))


def dcg(labels, k=None):
    return dcg_sum(labels, k, origin(labels)) if max(labels) > origin(labels) else NAN


def ndcg(labels, k=None):
    ideal = dcg_sum(sorted(labels, reverse=True), k, origin(labels))
    return dcg_sum(labels, k, origin(labels)) / ideal if ideal > 0 else NAN


def ndcg_of_gains(gains, k=None):
    """NDCG of gains in rank order."""
    found, ideal = (
        sum(g / math.log2(i + 2) for i, g in enumerate(order[:k])) for order in (gains, sorted(gains, reverse=True))
    )
    return found / ideal if ideal > 0 else NAN


def err(labels, k=None, max_grade=3.0):
    lowest = origin(labels)
    if max(labels) <= lowest:
        return NAN
    total, reach = 0.0, 1.0
    for i, y in enumerate(labels[:k]):
        stop = gain(y - lowest) / 2.0 ** (max_grade - lowest)
        total += reach * stop / (i + 1)
        reach *= 1 - stop
    return total


def ranknet(labels, scores, sigma=1.0):
    """LM 2: mean of log(1 + exp(-σ (s_i - s_j))) over the pairs with y_i > y_j."""
    rows = range(len(labels))
    gaps = [scores[i] - scores[j] for i in rows for j in rows if labels[i] > labels[j]]
    return sum(math.log1p(math.exp(-sigma * gap)) for gap in gaps) / len(gaps) if gaps else NAN


def places(labels):
    """Places, from 1, of the relevant rows."""
    return [i + 1 for i, y in enumerate(labels) if y > 0]


def average_precision(labels, k=None):
    found = places(labels)
    cut = k or len(labels)
    if not found:
        return NAN
    return sum((j + 1) / i for j, i in enumerate(found) if i <= cut) / min(len(found), cut)


def reciprocal_rank(labels, k=None):
    found = places(labels)
    return NAN if not found else (1 / found[0] if found[0] <= (k or len(labels)) else 0.0)


def precision(labels, k):
    return len(places(labels[:k])) / k if places(labels) else NAN


def recall(labels, k):
    return len(places(labels[:k])) / len(places(labels)) if places(labels) else NAN


def average_rank(labels, k=None):
    return min(places(labels)[0], (k or len(labels)) + 1) if places(labels) else NAN


def top(labels, k):
    return float(places(labels)[0] <= k) if places(labels) else NAN


def good_places(labels):
    """Places of the rows with the highest label; none when all labels are one."""
    return [i + 1 for i, y in enumerate(labels) if y == max(labels)] if len(set(labels)) > 1 else []


def prot(labels, k=None):
    return 1 / good_places(labels)[0] if good_places(labels) else NAN


def coverage(labels, k=None):
    return len(good_places(labels)) / good_places(labels)[-1] if good_places(labels) else NAN


def auc_of(higher, lower):
    """Share of (higher, lower) places with the higher class first."""
    return sum(i < j for i, j in product(higher, lower)) / (len(higher) * len(lower))


def auc(labels, k=None):
    found = places(labels)
    others = [i + 1 for i, y in enumerate(labels) if y <= 0]
    return auc_of(found, others) if found and others else NAN


def comparable(labels):
    return sum(x != y for x, y in combinations(labels, 2))


def misordered(labels):
    return sum(x < y for x, y in combinations(labels, 2))


def disagreement(labels, k=None):
    return misordered(labels) / comparable(labels) if comparable(labels) else NAN


def hard_loss(labels, k=None):
    return misordered(labels) / math.comb(len(labels), 2) if comparable(labels) else NAN


def kendall(labels, k=None):
    if not comparable(labels):
        return NAN
    return sum((x > y) - (x < y) for x, y in combinations(labels, 2)) / math.comb(len(labels), 2)


def misses(labels, k):
    """Rows of a true top k that the first k places miss, the true top chosen as well as it can be."""
    rows = range(len(labels))
    best = sorted(labels, reverse=True)[:k]
    tops = [set(c) for c in combinations(rows, k) if sorted((labels[i] for i in c), reverse=True) == best]
    return min(len(true - set(rows[:k])) for true in tops)


def weak_loss(labels, k):
    cut = min(k, len(labels))
    return 2 * misses(labels, cut) / len(labels) if comparable(labels) else NAN


def weak_loss_norm(labels, k):
    cut = min(k, len(labels))
    return misses(labels, cut) / cut if comparable(labels) else NAN


def localized_loss(labels, k):
    n, cut = len(labels), min(k, len(labels))
    return (n - cut) / n * weak_loss(labels, k) + 2 * misordered(labels[:cut]) / (n * max(n - 1, 1))


def localized_loss_norm(labels, k):
    n, cut = len(labels), min(k, len(labels))
    most = cut * (cut - 1) / (n * max(n - 1, 1)) + (n - cut) / n * 2 * cut / n
    return localized_loss(labels, k) / most if comparable(labels) else NAN


def integrated_auc(labels, k=None):
    values = []
    for y in labels:
        higher = [i for i, x in enumerate(labels) if x > y]
        lower = [i for i, x in enumerate(labels) if x < y]
        if higher and lower:
            values.append(auc_of(higher, lower))
    return sum(values) / len(values) if values else NAN


def vus(labels, k=None):
    classes = [[i for i, y in enumerate(labels) if y == level] for level in sorted(set(labels))]
    if len(classes) < 2:
        return NAN
    draws = list(product(*classes))
    return sum(all(i > j for i, j in pairwise(d)) for d in draws) / len(draws)


PLAIN = {
    "dcg": dcg,
    "ndcg": ndcg,
    "err": err,
    "map": average_precision,
    "mrr": reciprocal_rank,
    "p": precision,
    "recall": recall,
    "auc": auc,
    "prot": prot,
    "coverage": coverage,
    "avg_rank": average_rank,
    "top": top,
    "pair_loss": disagreement,
    "disagreement": disagreement,
    "kendall": kendall,
    "hard_loss": hard_loss,
    "iauc": integrated_auc,
    "vus": vus,
    "weak_loss": weak_loss,
    "weak_loss_norm": weak_loss_norm,
    "localized_loss": localized_loss,
    "localized_loss_norm": localized_loss_norm,
}


def blocks(labels, scores):
    """Labels of each block of equal scores, highest score first, rows in the given order."""
    rows = sorted(range(len(labels)), key=lambda i: -scores[i])
    return [[labels[i] for i in block] for _, block in groupby(rows, key=lambda i: scores[i])]


def orders(labels, scores):
    """Every list of labels that the scores allow, as often as there are orders of the rows."""
    for choice in product(*[permutations(block) for block in blocks(labels, scores)]):
        yield [y for block in choice for y in block]


def ordered(labels, scores, ties):
    """The one list of labels that a rule other than "expected" makes."""
    arrange = {
        "stable": list,
        "optimistic": lambda block: sorted(block, reverse=True),
        "pessimistic": sorted,
    }[ties]
    return [y for block in blocks(labels, scores) for y in arrange(block)]


def first_good_chance(i, k, block, before, good_before):
    """RB Eq. 22: chance that the k-th good row of the list, in this block, stands at place i of the list."""
    size, good = len(block), sum(block)
    j, place = k - good_before, i - before
    return math.comb(place - 1, j - 1) * math.comb(size - place, good - j) / math.comb(size, good)


def average_precision_by_eq_22(flags, scores):
    """RB 6.2.4: E[AP] = 1/K Σ_k k Σ_i Pr[rank(t_k) = i]/i."""
    total, before, good_before = 0.0, 0, 0
    for block in blocks(flags, scores):
        for k in range(good_before + 1, good_before + sum(block) + 1):
            for i in range(before + 1, before + len(block) + 1):
                total += k / i * first_good_chance(i, k, block, before, good_before)
        before, good_before = before + len(block), good_before + sum(block)
    return total / good_before
