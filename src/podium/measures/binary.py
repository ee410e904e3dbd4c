"""Measures of relevant against not: AP, RR, P, recall, PROT, coverage, rank of the first relevant row.

RB is Freund, Iyer, Schapire and Singer 2003. In a block of Q tied rows, q of them relevant, after R rows with
r relevant ones, the k-th relevant row stands at place i with the chance of RB Eq. 22,
C(i−R−1, k−r−1) C(Q−i+R, q−k+r) / C(Q, q). The kernels run through the places of a block with the ratio of one
chance to the next, so that no binomial is formed.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from podium._compiled import SCORE, compiled_argument_part, compiled_part, inlined_part
from podium._validation import Array
from podium.measures.conventions import DIVIDE_BY_REACHABLE, DIVIDE_BY_ROWS, Relevant, Rules
from podium.measures.measure import Definition, Kernel, Rows, values_alone
from podium.measures.ties import Ranking


def relevance(ranking: Ranking, rules: Rules) -> Rows:
    """1 for relevant rows and 0 for others, in rank order."""
    return values_alone(ranking, flags_of(ranking, rules.relevant))


def good_rows(ranking: Ranking, rules: Rules) -> Rows:
    """1 for the rows that PROT and coverage look for, RB's good movies."""
    return values_alone(ranking, flags_of(ranking, rules.good))


def flags_of(ranking: Ranking, relevant: Relevant) -> Array:
    """Flags by a threshold, of labels above 0, or of each query's highest label (none where all labels are one)."""
    labels, starts = ranking.labels, ranking.offsets[:-1]
    if isinstance(relevant, str):
        highest, lowest = np.maximum.reduceat(labels, starts), np.minimum.reduceat(labels, starts)
        is_relevant: Array = labels == ranking.spread(np.where(highest > lowest, highest, np.inf))
    else:
        is_relevant = labels > 0.0 if relevant is None else labels >= relevant
    return is_relevant.astype(SCORE)


@inlined_part
def count(flags: Array, start: int, stop: int) -> float:
    """Rows from `start` to `stop` that have the flag; slow line: ``flags[start:stop].sum()``."""
    total = 0.0
    for i in range(start, stop):
        total += flags[i]
    return total


@compiled_argument_part
def average_precision(
    flags: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array
) -> float:
    """Mean over the relevant rows of (relevant rows up to it)/(its place), to place k (RB 6.2.4).

    At place l of a block a row is relevant with chance q/Q, and then r + 1 + (l − 1)(q − 1)/(Q − 1) relevant
    rows are expected up to it: summed over the places, RB's E[AP].
    """
    relevant = float(count(flags, 0, len(flags)))
    if relevant == 0.0:
        return np.nan
    limit = min(k, depth, len(flags))
    total, seen, start = 0.0, 0.0, 0
    for block in range(len(ends)):
        if start >= limit:
            break
        end = ends[block]
        good = float(count(flags, start, end))
        if good > 0.0:
            slope = (good - 1.0) / max(end - start - 1, 1)
            precisions = 0.0
            for i in range(start, min(end, limit)):
                precisions += (seen + 1.0 + (i - start) * slope) / (i + 1)
            total += precisions * good / (end - start)
        seen += good
        start = end
    return total / (min(relevant, float(k)) if rule == DIVIDE_BY_REACHABLE else relevant)


@inlined_part
def first_relevant(flags: Array, ends: Array) -> tuple[int, int, int]:
    """Start and end of the first block with relevant rows, and their number there (0: none at all)."""
    start = 0
    for block in range(len(ends)):
        end = ends[block]
        good = int(count(flags, start, end))
        if good > 0:
            return start, end, good
        start = end
    return start, start, 0


@inlined_part
def next_chance(chance: float, i: int, end: int, good: int) -> float:
    """Chance that the first relevant row stands at place i + 2 of the list, from that at place i + 1."""
    return chance * (end - i - good) / max(end - i - 1, 1)


@compiled_argument_part
def reciprocal_rank(
    flags: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array
) -> float:
    """1/(place of the first relevant row), 0 after place k; with flags of the good rows RB's PROT."""
    start, end, good = first_relevant(flags, ends)
    if good == 0:
        return np.nan
    total, chance = 0.0, good / (end - start)
    for i in range(start, min(end, k, depth)):
        total += chance / (i + 1)
        chance = next_chance(chance, i, end, good)
    return total


@compiled_argument_part
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


@compiled_argument_part
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


@compiled_argument_part
def coverage(
    flags: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array
) -> float:
    """(Good rows)/(place of the last good row): precision at recall 1 (RB 6.2.4)."""
    relevant = float(count(flags, 0, len(flags)))
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
        good = int(count(flags, start, ends[block]))
        if good > 0:
            return start, ends[block], good
    return 0, 0, 0


@compiled_argument_part
def precision(
    flags: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array
) -> float:
    """Expected relevant rows among the first k, over k."""
    if count(flags, 0, len(flags)) == 0.0:
        return np.nan
    divisor = min(k, len(flags)) if rule == DIVIDE_BY_ROWS else k
    return float(relevant_in_top(flags, ends, min(k, depth))) / divisor


@compiled_argument_part
def recall(flags: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array) -> float:
    """Expected relevant rows among the first k, over all relevant rows."""
    relevant = float(count(flags, 0, len(flags)))
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
        total += float(count(flags, start, end)) * (min(end, limit) - start) / (end - start)
        start = end
    return total


@compiled_argument_part
def auc(flags: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array) -> float:
    """Share of (relevant, other) pairs in the right order, a tie for half; NaN where one kind is missing."""
    relevant = float(count(flags, 0, len(flags)))
    others = len(flags) - relevant
    if relevant == 0.0 or others == 0.0:
        return np.nan
    total, seen, start = 0.0, 0.0, 0
    for block in range(len(ends)):
        end = ends[block]
        good = float(count(flags, start, end))
        total += (end - start - good) * (seen + 0.5 * good)
        seen += good
        start = end
    return total / (relevant * others)


def _ap_rule(rules: Rules) -> int:
    return rules.average_precision


def _p_rule(rules: Rules) -> int:
    return rules.precision


def _threshold(relevant: Relevant) -> str:
    """Which rows are relevant, and how to change it."""
    if isinstance(relevant, str):
        return "(the highest label of a query with two different ones)"
    which = "above 0" if relevant is None else f"of at least {relevant:g}"
    return f'(a label {which}); give relevant=, the least label that is relevant, or relevant="top"'


def _needs_relevant(rules: Rules) -> str:
    return f"a relevant row {_threshold(rules.relevant)}"


def _needs_good(rules: Rules) -> str:
    return f"a relevant row {_threshold(rules.good)}"


def _needs_both(rules: Rules) -> str:
    return f"a row that is not relevant beside a relevant one {_threshold(rules.relevant)}"


def _flagged(name: str, about: str, kernel: Kernel, takes_k: Literal["may", "must"], **more: Any) -> Definition:
    """Measure of relevant rows."""
    return Definition(
        name, about, kernel, relevance, takes_k, uses=frozenset({"relevant", "depths"}), needs=_needs_relevant, **more
    )


def _of_good_rows(name: str, about: str, kernel: Kernel) -> Definition:
    """Measure of the rows with the highest label, or those that `relevant` names."""
    return Definition(name, about, kernel, good_rows, uses=frozenset({"relevant"}), needs=_needs_good)


MEASURES = (
    _flagged("map", "average precision", average_precision, "may", rule=_ap_rule),
    _flagged("mrr", "reciprocal rank of the first relevant row", reciprocal_rank, "may"),
    _flagged("p", "precision of the first k", precision, "must", rule=_p_rule),
    _flagged("recall", "share of the relevant rows in the first k", recall, "must"),
    Definition(
        "auc",
        "share of (relevant, other) pairs in the right order",
        auc,
        relevance,
        uses=frozenset({"relevant"}),
        needs=_needs_both,
    ),
    _of_good_rows("prot", "reciprocal rank of the first row with the highest label", reciprocal_rank),
    _of_good_rows("coverage", "precision where the last row with the highest label is found", coverage),
    _flagged("avg_rank", "rank of the first relevant row, at most k + 1", average_rank, "may", higher_is_better=False),
    _flagged("top", "whether a relevant row is in the first k", top, "must"),
)
