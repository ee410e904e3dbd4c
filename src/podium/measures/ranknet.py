"""RankNet's cost as a measure: the logistic loss of the pairs of each query (Burges 2010, "LM", section 2).

It looks at the values of the scores, not at their order alone. A sum of log(1 + exp(-x)) over pairs does not factor
as the exponential loss does, so it takes O(pairs) of time; memory is O(n).
"""

from __future__ import annotations

import numpy as np

from podium._compiled import compiled_argument_part
from podium._validation import Array, PodiumError
from podium.measures.conventions import Rules
from podium.measures.measure import Definition, Rows
from podium.measures.pairwise import comparable_pairs
from podium.measures.ties import Ranking

LARGEST_ARGUMENT = 1e150
"""Size of sigma times a score above which the sum of many costs might overflow."""

LARGEST_PRODUCT = 1e300
"""Product at which its logarithm is taken: each factor is at most 2."""


def labels_and_scores(ranking: Ranking, rules: Rules) -> Rows:
    """Labels, and σ times the scores, both in rank order."""
    scores, largest = ranking.scores, LARGEST_ARGUMENT / rules.sigma
    if np.abs(scores).max(initial=0.0) > largest:
        raise PodiumError(f"ranknet needs scores of size {largest:g} or less with sigma={rules.sigma:g}; rescale them.")
    scores = scores * rules.sigma
    return Rows(ranking.labels, scores, ranking.order)


@compiled_argument_part
def ranknet(
    labels: Array, scores: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array
) -> float:
    """Mean of log(1 + exp(-σ (s_i − s_j))) over the pairs with y_i > y_j (LM 2); NaN without pairs.

    Slow line: ``mean(log1p(exp(-(s_i - s_j))))``. Scores descend, so x = s_i − s_j ≥ 0 for i before j: a pair in
    order costs log(1 + exp(-x)), one out of order x + log(1 + exp(-x)); nothing overflows. The logarithms of a row
    are one of a product Π(1 + e) = 1 + p: p ← p + e (1 + p) adds what is positive, so that no small e is lost.
    """
    total, pairs = 0.0, 0.0
    for i in range(len(labels)):
        label, score, gaps, p = labels[i], scores[i], 0.0, 0.0
        for j in range(i + 1, len(labels)):
            if labels[j] != label:
                x = score - scores[j]
                p += np.exp(-x) * (1.0 + p)
                gaps += x if labels[j] > label else 0.0
                pairs += 1.0
                if p > LARGEST_PRODUCT:
                    gaps, p = gaps + np.log1p(p), 0.0
        total += gaps + np.log1p(p)
    return total / pairs if pairs > 0.0 else np.nan


@compiled_argument_part
def pairs_of_labels(
    labels: Array, scores: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array
) -> float:
    """Pairs of unequal labels: the weight of a query in the pooled cost."""
    return float(comparable_pairs(np.sort(labels)))


MEASURES = (
    Definition(
        "ranknet",
        "RankNet's cost: mean log(1 + exp(-sigma (s_i - s_j))) of the pairs of unequal labels, all queries pooled",
        ranknet,
        labels_and_scores,
        higher_is_better=False,
        weight=pairs_of_labels,
        ties="expected",  # whatever the order of tied rows, their cost is the same
        uses=frozenset({"sigma"}),
        by_order=False,
    ),
)
