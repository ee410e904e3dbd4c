"""Measures of relevant against not: AP, RR, P, recall, PROT, coverage, rank of the first relevant row.

RB is Freund, Iyer, Schapire and Singer 2003. In a block of Q tied rows, q of them relevant, after R rows with
r relevant ones, the k-th relevant row stands at place i with the chance of RB Eq. 22,
C(i−R−1, k−r−1) C(Q−i+R, q−k+r) / C(Q, q). The kernels run through the places of a block with the ratio of one
chance to the next, so that no binomial is formed.
"""

from __future__ import annotations

import numpy as np

from podium._compiled import SCORE, compiled_argument, compiled_part
from podium.measures.conventions import DIVIDE_BY_REACHABLE, DIVIDE_BY_ROWS, Rules
from podium.measures.record import Definition, Rows, values_alone
from podium.measures.ties import Array, Ranking


def relevance(ranking: Ranking, rules: Rules) -> Rows:
    """1 for relevant rows and 0 for others, in rank order."""
    labels = ranking.labels
    flags = (labels > 0.0 if rules.relevant is None else labels >= rules.relevant).astype(SCORE)
    return values_alone(ranking, flags)


def top_grade(ranking: Ranking, rules: Rules) -> Rows:
    """1 for rows with the query's highest label, RB's good movies; none where all labels are one."""
    best, starts = ranking.best, ranking.offsets[:-1]
    highest = best[starts]
    highest[best[ranking.offsets[1:] - 1] == highest] = np.inf
    flags = (ranking.labels == ranking.spread(highest)).astype(SCORE)
    return values_alone(ranking, flags)


@compiled_argument
def average_precision(
    flags: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array
) -> float:
    """Mean over the relevant rows of (relevant rows up to it)/(its place), to place k (RB 6.2.4).

    At place l of a block a row is relevant with chance q/Q, and then r + 1 + (l − 1)(q − 1)/(Q − 1) relevant
    rows are expected up to it: summed over the places, RB's E[AP].
    """
    relevant = float(flags.sum())
    if relevant == 0.0:
        return np.nan
    limit = min(k, depth, len(flags))
    total, seen, start = 0.0, 0.0, 0
    for block in range(len(ends)):
        if start >= limit:
            break
        end = ends[block]
        good = float(flags[start:end].sum())
        if good > 0.0:
            slope = (good - 1.0) / max(end - start - 1, 1)
            precisions = 0.0
            for i in range(start, min(end, limit)):
                precisions += (seen + 1.0 + (i - start) * slope) / (i + 1)
            total += precisions * good / (end - start)
        seen += good
        start = end
    return total / (min(relevant, float(k)) if rule == DIVIDE_BY_REACHABLE else relevant)


@compiled_part
def first_relevant(flags: Array, ends: Array) -> tuple[int, int, int]:
    """Start and end of the first block with relevant rows, and their number there (0: none at all)."""
    start = 0
    for block in range(len(ends)):
        end = ends[block]
        good = int(flags[start:end].sum())
        if good > 0:
            return start, end, good
        start = end
    return start, start, 0


@compiled_part
def next_chance(chance: float, i: int, end: int, good: int) -> float:
    """Chance that the first relevant row stands at place i + 2 of the list, from that at place i + 1."""
    return chance * (end - i - good) / max(end - i - 1, 1)


@compiled_argument
def reciprocal_rank(
    flags: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array
) -> float:
    """1/(place of the first relevant row), 0 after place k; with flags of the top grade RB's PROT."""
    start, end, good = first_relevant(flags, ends)
    if good == 0:
        return np.nan
    total, chance = 0.0, good / (end - start)
    for i in range(start, min(end, k, depth)):
        total += chance / (i + 1)
        chance = next_chance(chance, i, end, good)
    return total


@compiled_argument
def top(flags: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array) -> float:
    """Chance that a relevant row is among the first k (RB 6.1: summed over queries, the top-k count)."""
    start, end, good = first_relevant(flags, ends)
    if good == 0:
        return np.nan
    total, chance = 0.0, good / (end - start)
    for i in range(start, min(end, k, depth)):
        total += chance
        chance = next_chance(chance, i, end, good)
    return min(total, 1.0)


@compiled_argument
def average_rank(
    flags: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array
) -> float:
    """Place of the first relevant row; k + 1 if it is after place k or not retrieved (RB 6.1: k = 30)."""
    start, end, good = first_relevant(flags, ends)
    if good == 0:
        return np.nan
    limit = min(k, depth)
    total, chance, left = 0.0, good / (end - start), 1.0
    for i in range(start, min(end, limit)):
        total += chance * (i + 1)
        left -= chance
        chance = next_chance(chance, i, end, good)
    return total + max(left, 0.0) * (k + 1) if end > limit else total


@compiled_argument
def coverage(
    flags: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array
) -> float:
    """(Good rows)/(place of the last good row): precision at recall 1 (RB 6.2.4)."""
    relevant = float(flags.sum())
    start, end, good = last_relevant(flags, ends)
    if good == 0:
        return np.nan
    total, chance = 0.0, good / (end - start)
    for i in range(end - 1, start + good - 2, -1):
        total += chance * relevant / (i + 1)
        chance *= (i + 1 - start - good) / max(i - start, 1)
    return total


@compiled_part
def last_relevant(flags: Array, ends: Array) -> tuple[int, int, int]:
    """Start and end of the last block with relevant rows, and their number there (0: none at all)."""
    for block in range(len(ends) - 1, -1, -1):
        start = ends[block - 1] if block > 0 else 0
        good = int(flags[start : ends[block]].sum())
        if good > 0:
            return start, ends[block], good
    return 0, 0, 0


@compiled_argument
def precision(
    flags: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array
) -> float:
    """Expected relevant rows among the first k, over k."""
    if flags.sum() == 0.0:
        return np.nan
    divisor = min(k, len(flags)) if rule == DIVIDE_BY_ROWS else k
    return float(relevant_in_top(flags, ends, min(k, depth))) / divisor


@compiled_argument
def recall(flags: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array) -> float:
    """Expected relevant rows among the first k, over all relevant rows."""
    relevant = float(flags.sum())
    if relevant == 0.0:
        return np.nan
    return float(relevant_in_top(flags, ends, min(k, depth))) / relevant


@compiled_part
def relevant_in_top(flags: Array, ends: Array, limit: int) -> float:
    """Relevant rows in the first `limit` places, a block that reaches past them by its share."""
    total, start = 0.0, 0
    for block in range(len(ends)):
        if start >= limit:
            break
        end = ends[block]
        total += float(flags[start:end].sum()) * (min(end, limit) - start) / (end - start)
        start = end
    return total


@compiled_argument
def auc(flags: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array) -> float:
    """Share of (relevant, other) pairs in the right order, a tie for half; NaN where one kind is missing."""
    relevant = float(flags.sum())
    others = len(flags) - relevant
    if relevant == 0.0 or others == 0.0:
        return np.nan
    total, seen, start = 0.0, 0.0, 0
    for block in range(len(ends)):
        end = ends[block]
        good = float(flags[start:end].sum())
        total += (end - start - good) * (seen + 0.5 * good)
        seen += good
        start = end
    return total / (relevant * others)


def _ap_rule(rules: Rules) -> int:
    return rules.average_precision


def _p_rule(rules: Rules) -> int:
    return rules.precision


_FLAGS = frozenset({"relevant", "depths"})

MEASURES = (
    Definition(
        "map",
        "average precision",
        average_precision,
        relevance,
        "may",
        uses=_FLAGS,
        rule=_ap_rule,
    ),
    Definition("mrr", "reciprocal rank of the first relevant row", reciprocal_rank, relevance, "may", uses=_FLAGS),
    Definition("p", "precision of the first k", precision, relevance, "must", uses=_FLAGS, rule=_p_rule),
    Definition("recall", "share of the relevant rows in the first k", recall, relevance, "must", uses=_FLAGS),
    Definition(
        "auc",
        "share of (relevant, other) pairs in the right order",
        auc,
        relevance,
        uses=frozenset({"relevant"}),
    ),
    Definition("prot", "reciprocal rank of the first row with the highest label", reciprocal_rank, top_grade),
    Definition("coverage", "precision where the last row with the highest label is found", coverage, top_grade),
    Definition(
        "avg_rank",
        "rank of the first relevant row, at most k + 1",
        average_rank,
        relevance,
        "may",
        higher_is_better=False,
        uses=_FLAGS,
    ),
    Definition("top", "whether a relevant row is in the first k", top, relevance, "must", uses=_FLAGS),
)
