"""Plain twins of what compares rankings: measures of judged runs by their formulas, Holm's correction, groups."""

from __future__ import annotations


def r_precision(labels, judged, depth):
    """Relevant documents among the first R, over R."""
    n_relevant = sum(label > 0 for label in labels)
    return sum(label > 0 for label in labels[:depth][:n_relevant]) / n_relevant


def binary_preference(labels, judged, depth):
    """Sum over the retrieved relevant documents, one by one, as trec_eval's m_bpref.c describes it."""
    n_relevant = sum(label > 0 for label in labels)
    n_others = sum(known and label == 0 for label, known in zip(labels, judged, strict=True))
    total, above = 0.0, 0
    for label, known in zip(labels[:depth], judged[:depth], strict=True):
        if label > 0:
            total += 1.0 if above == 0 else 1.0 - min(above, n_relevant) / min(n_others, n_relevant)
        elif known and label == 0:
            above += 1
    return total / n_relevant


def inferred_average_precision(labels, judged, depth, epsilon=1e-5):
    """Expected precision at each retrieved relevant document."""
    total, relevant, others, pool = 0.0, 0, 0, 0
    for place, (label, known) in enumerate(zip(labels[:depth], judged[:depth], strict=True)):
        if label > 0:
            if place == 0:
                total += 1.0
            else:
                seen = relevant + others
                share = (relevant + epsilon) / (seen + 2 * epsilon)
                total += 1 / (place + 1) + place / (place + 1) * (seen + pool) / place * share
            relevant += 1
        elif known and label == 0:
            others += 1
        elif known:
            pool += 1
    return total / sum(label > 0 for label in labels)


def holm_rejections(p_values, alpha):
    """Whether each hypothesis falls in Holm's step-down procedure: the lowest p first, until one stands."""
    rejected = [False] * len(p_values)
    left = len(p_values)
    for place in sorted(range(len(p_values)), key=lambda place: p_values[place]):
        if p_values[place] * left >= alpha:
            break
        rejected[place], left = True, left - 1
    return rejected


def alike_groups(n_rankings, differ):
    """All runs of two and more of which no two differ, without those inside others."""
    runs = [
        (a, b)
        for a in range(n_rankings)
        for b in range(a + 1, n_rankings)
        if not any(differ(i, j) for i in range(a, b + 1) for j in range(i + 1, b + 1))
    ]
    return [(a, b) for a, b in runs if not any(c <= a and b <= d and (c, d) != (a, b) for c, d in runs)]
