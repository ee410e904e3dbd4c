"""Measures of graded relevance: DCG, NDCG and ERR, as in Burges 2010 (LM), section 3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from podium._compiled import SCORE, compiled, compiled_argument_part, compiled_part, inlined_part
from podium._validation import Array, PodiumError
from podium.measures.conventions import SHORT_IS_ZERO, Rules
from podium.measures.measure import Definition, Rows, values_alone
from podium.measures.ties import Ranking

LARGEST_EXPONENT = 1000.0
"""2^y of labels above this is near the end of double precision; NDCG and ERR then scale by 2^-max."""


def custom_gains(labels: Array, gain: Any) -> Array:
    """Gains by a mapping or a function, checked: one finite number, not negative, for every label."""
    if isinstance(gain, Mapping):
        levels, codes = np.unique(labels, return_inverse=True)
        missing = [level for level in levels.tolist() if level not in gain]
        if missing:
            raise PodiumError(f"gain must hold every label of the data; label {missing[0]:g} is missing.")
        gains = _gain_numbers([gain[level] for level in levels.tolist()])[codes]
    else:
        gains = np.array(gain(labels.copy()), SCORE)
    if gains.shape != labels.shape:
        raise PodiumError(f"gain must return one number for each label; got shape {gains.shape} for {labels.shape}.")
    if not (np.isfinite(gains).all() and (gains >= 0).all()):
        row = int(np.flatnonzero(~(np.isfinite(gains) & (gains >= 0)))[0])
        raise PodiumError(
            "gain must give finite numbers that are not negative, for every label of the data; "
            f"got {gains[row]:g} for label {labels[row]:g}."
        )
    return gains


def _gain_numbers(gains: list[float]) -> Array:
    """Gains of a mapping as numbers."""
    try:
        return np.array(gains, SCORE)
    except (TypeError, ValueError):
        raise PodiumError(f"gain must map labels to numbers; got {gains!r}.") from None


def origins(ranking: Ranking, rules: Rules) -> Array | None:
    """Origin of each row's query, min(0, lowest label of the query), from which gains count; None: 0 for all.

    A query looks at its own labels alone, so that its value is the same in any set of queries.
    """
    lowest = float(ranking.labels.min(initial=0.0))
    if lowest >= 0.0 or rules.negative == "zero":
        return None
    if rules.negative == "refuse":
        raise PodiumError(
            f"Gains under this convention need labels of at least 0; the lowest is {lowest:g}: use "
            'convention="podium", where the lowest label of a query gains 0, or add a number to all labels.'
        )
    return ranking.spread(np.minimum(np.minimum.reduceat(ranking.labels, ranking.offsets[:-1]), 0.0))


def above(labels: Array, origin: Array | None) -> Array:
    """Labels counted from the origin; infinite where they are further apart than numbers reach."""
    if origin is None:
        return labels
    with np.errstate(over="ignore"):
        rises: Array = labels - origin
    return rises


def gains_and_best(ranking: Ranking, rules: Rules) -> Rows:
    """Gains in rank order and in the best order (custom gains stand in the ranking already)."""
    origin = origins(ranking, rules)
    labels, best = above(ranking.labels, origin), above(ranking.best, origin)
    if rules.gain == "exp2":
        return Rows(exp2_gains(labels), exp2_gains(best), ranking.best_places)
    return Rows(np.maximum(labels, 0.0), np.maximum(best, 0.0), ranking.best_places)


def scaled_gains_and_best(ranking: Ranking, rules: Rules) -> Rows:
    """Gains as above but, where they are large, over the highest of the query, which NDCG cancels.

    Gains below 2^-1074 of the highest are then 0, and those below 2^-53 of it lost in any sum with it.
    """
    origin = origins(ranking, rules)
    zero: float | Array = 0.0 if origin is None else origin
    labels, best, places = ranking.labels, ranking.best, ranking.best_places
    if rules.gain == "exp2" and above(labels, origin).max(initial=0.0) > LARGEST_EXPONENT:
        top = np.maximum(ranking.spread(best[ranking.offsets[:-1]]), zero)
        return Rows(shifted_gains(labels, top, zero), shifted_gains(best, top, zero), places)
    rows = gains_and_best(ranking, rules)
    if rows.best.max(initial=0.0) <= 2.0**LARGEST_EXPONENT:
        return rows
    size = np.maximum(np.maximum(ranking.spread(best[ranking.offsets[:-1]]), -zero), 1.0)
    shift = zero / size
    return Rows(np.maximum(labels / size - shift, 0.0), np.maximum(best / size - shift, 0.0), places)


def stop_probabilities(ranking: Ranking, rules: Rules) -> Rows:
    """R = (2^(y − o) − 1)/2^(max − o) (LM 3), o the origin; zero for labels up to it."""
    origin = origins(ranking, rules)
    zero: float | Array = 0.0 if origin is None else origin
    highest = highest_grade(ranking.labels, rules)
    top = highest if rules.max_grade is None else float(rules.max_grade)
    if highest > top:
        raise PodiumError(f"max_grade must be at least the highest label, {highest:g}; got {top:g}.")
    with np.errstate(over="ignore"):
        reach = np.float64(top) - zero
    if np.max(reach, initial=0.0) > LARGEST_EXPONENT:
        values = shifted_gains(ranking.labels, top, zero)
    else:
        values = exp2_gains(above(ranking.labels, origin)) * np.exp2(-reach)
    return values_alone(ranking, values)


def highest_grade(labels: Array, rules: Rules) -> float:
    """Highest label of all queries; 0 at least, where labels below 0 gain nothing."""
    lowest = labels.min(initial=0.0) if rules.negative == "origin" else 0.0
    return float(labels.max(initial=lowest))


def exp2_gains(labels: Array) -> Array:
    """2^y − 1, and zero for labels up to 0; slow line: ``np.maximum(np.exp2(labels) - 1, 0)``."""
    gains = np.empty_like(labels)
    fill_exp2_gains(labels, gains)
    return gains


def shifted_gains(labels: Array, top: float | Array, origin: float | Array) -> Array:
    """(2^(y − o) − 1)/2^(top − o) without forming 2^(y − o)."""
    with np.errstate(over="ignore"):
        return np.where(labels > origin, np.exp2(labels - top) - np.exp2(origin - top), 0.0)


@compiled
def fill_exp2_gains(labels: Array, gains_out: Array) -> None:
    """Gains with a shift for whole labels, which is exact and takes 4 ns; others take 13."""
    for i in range(len(labels)):
        label = labels[i]
        if label <= 0.0:
            gains_out[i] = 0.0
        elif label < 63.0 and int(label) == label:
            gains_out[i] = float((np.int64(1) << np.int64(label)) - np.int64(1))
        elif label < 1024.0:
            gains_out[i] = np.expm1(label * np.log(2.0))
        else:
            gains_out[i] = np.inf


@compiled_argument_part
def dcg(gains: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array) -> float:
    """Σ gain·discount to place k; a block's mean gain stands at each of its places. NaN without gains."""
    if best[0] <= 0.0:
        return np.nan
    return float(discounted(gains, ends, min(k, depth), table))


@inlined_part
def discounted(gains: Array, ends: Array, limit: int, discounts: Array) -> float:
    """Σ over blocks of (mean gain) × (sum of the block's discounts up to place `limit`)."""
    total, start = 0.0, 0
    for block in range(len(ends)):
        if start >= limit:
            break
        end = ends[block]
        gain, weight = 0.0, 0.0
        for i in range(start, end):
            gain += gains[i]
        for i in range(start, min(end, limit)):
            weight += discounts[i]
        total += gain / (end - start) * weight
        start = end
    return total


@compiled_argument_part
def ndcg(gains: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array) -> float:
    """DCG@k over that of the best order (LM 3); at most 1 also after rounding."""
    if best[0] <= 0.0:
        return np.nan
    if rule == SHORT_IS_ZERO and len(gains) < k:
        return 0.0
    ideal = 0.0
    for i in range(min(k, len(best))):
        ideal += best[i] * table[i]
    return min(1.0, float(discounted(gains, ends, min(k, depth), table)) / ideal)


@compiled_argument_part
def err(stops: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array) -> float:
    """Σ_r R_r/r · Π_{i<r} (1 − R_i) (LM 3), in expectation over tied orders; NaN if every R is 0."""
    if stops.max() <= 0.0:
        return np.nan
    limit = min(k, depth)
    total, reach, start = 0.0, 1.0, 0
    for block in range(len(ends)):
        if start >= limit or reach <= 0.0:
            break
        end = ends[block]
        if end - start == 1:
            total += reach * stops[start] / end
            reach *= 1.0 - stops[start]
        else:
            tied = stops[start:end]
            total += reach * tied_err(tied, start, limit)
            for i in range(len(tied)):
                reach *= 1.0 - tied[i]
        start = end
    return total


LEAST_CHANCE = 1e-20
"""Chance of reading on, below which the rest of a block is left out: ERR is of order 1/rank."""


@compiled_part
def tied_err(stops: Array, start: int, limit: int) -> float:
    """Mean over the orders of one block of Σ_l R_l/(start + l) Π_{i<l} T_i, with T = 1 − R.

    The mean product over the l-subsets is m_l = e_l(T)/C(Q, l), and place l + 1 of the block stops the user
    with chance m_l − m_{l+1}. Adding a row of T to n − 1 others, m_l ← ((n − l) m_l + l T m_{l−1})/n: a
    convex combination, so no error grows. Rows with R = 0 alone have m_l = 1: the recursion starts from them.
    By Maclaurin's inequality m_l ≤ m_1^l, which bounds how many l can matter.
    """
    places = min(len(stops), limit - start)
    mean = 1.0 - stops.mean()
    if mean <= 0.0:
        places = 1
    elif mean < 1.0:
        places = min(places, int(np.log(LEAST_CHANCE) / np.log(mean)) + 2)
    means = np.ones(places + 1)
    n = 0
    for i in range(len(stops)):
        n += stops[i] <= 0.0
    for i in range(len(stops)):
        if stops[i] > 0.0:
            n += 1
            add_row(means, n, 1.0 - stops[i])
    total = 0.0
    for place in range(places):
        total += (means[place] - means[place + 1]) / (start + place + 1)
    return total


@compiled
def add_row(means: Array, n: int, factor: float) -> None:
    """One step of the recursion for m_l, from n − 1 rows to n."""
    for size in range(min(n, len(means) - 1), 0, -1):
        means[size] = ((n - size) * means[size] + size * factor * means[size - 1]) / n


def _short(rules: Rules) -> int:
    return rules.short


def _needs_gain(rules: Rules) -> str:
    if not isinstance(rules.gain, str):
        return "a label with a gain above 0; check gain="
    if rules.negative == "origin":
        return "a label above 0, or two different labels"
    return "a label above 0, and labels below 0 gain nothing under this convention"


def _needs_grade(rules: Rules) -> str:
    return _needs_gain(replace(rules, gain="exp2"))


_GAIN = frozenset({"gain", "depths"})

MEASURES = (
    Definition("dcg", "discounted cumulative gain", dcg, gains_and_best, "may", uses=_GAIN, needs=_needs_gain),
    Definition(
        "ndcg",
        "DCG over the best possible DCG",
        ndcg,
        scaled_gains_and_best,
        "may",
        uses=_GAIN,
        rule=_short,
        needs=_needs_gain,
    ),
    Definition(
        "err",
        "expected reciprocal rank of a user who stops with chance (2^y - 1)/2^max",
        err,
        stop_probabilities,
        "may",
        uses=frozenset({"max_grade", "depths"}),
        needs=_needs_grade,
    ),
)
