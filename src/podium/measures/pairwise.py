"""Measures of pairs: ranking losses R̂1 and R̂2, disagreement, Kendall's τ, hard loss, integrated AUC, VUS.

RB is Freund et al. 2003 (6.2.4 disagreement, Eq. 21), RB+ is Connamacher et al. 2019 (Eqs. 3 and 4: R̂1 and
R̂2), CR is Werner's review of ranking problems (2.2 and 2.3 hard loss, 3.1 VUS, 3.3 IAUC).
All take O(n log n).

Rows of one block of equal scores stand with the highest label first, so a misordered pair, a lower label
before a higher one, never lies within a block: blocks add half of their pairs of unequal labels.
"""

from __future__ import annotations

import numpy as np

from podium._compiled import ROW, SCORE, compiled, compiled_argument_part, compiled_part, inlined_part
from podium._validation import Array, NoPairsError, PodiumError
from podium.measures.conventions import Rules
from podium.measures.measure import Definition, Kernel
from podium.measures.sorting import BY_GRADES, MAX_GRADES, sort_descending
from podium.measures.ties import Ranking

QUADRATIC_LIMIT = 400
"""Longest list whose inversions are counted pair by pair: 17 ns a row here, 21 by the passes over bits."""

MOST_CLASSES = 100
"""Most distinct labels for VUS, which a random ranking of K classes reaches with chance 1/K!."""


def pair_losses(better: Array, worse: Array, weight: Array | None, scores: Array) -> tuple[float, float]:
    """R̂1 and R̂2 (RB+ Eqs. 3 and 4) of explicit weighted pairs of row numbers.

    Parameters
    ----------
    better, worse : int64[m]
        Rows that should stand above, and below.
    weight : float64[m], optional
        Weight of each pair; None: all alike.
    scores : float64[n]
        Score of each row.
    """
    if len(better) == 0:
        raise NoPairsError("pairs must hold at least one pair to measure; got none.")
    gap = np.asarray(scores, SCORE)[better] - np.asarray(scores, SCORE)[worse]
    weights = np.ones(len(gap)) if weight is None else np.asarray(weight, SCORE)
    total, wrong, tied = weights.sum(), weights[gap < 0].sum(), weights[gap == 0].sum()
    return float((wrong + tied) / total), float((wrong + tied / 2) / total)


@compiled_argument_part
def disagreement(
    values: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array
) -> float:
    """Misordered share of the pairs of unequal labels, a tie for half (RB 6.2.4); NaN without pairs."""
    pairs = comparable_pairs(best)
    return float(misordered(values, places, ends)) / pairs if pairs > 0.0 else np.nan


@compiled_argument_part
def graded_disagreement(
    values: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array
) -> float:
    """The same of grades: a third of the compiling."""
    pairs = comparable_pairs(best)
    return (grade_inversions(values) + 0.5 * tied_pairs(values, ends)) / pairs if pairs > 0.0 else np.nan


@compiled_argument_part
def pair_count(
    values: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array
) -> float:
    """Pairs of unequal labels: the weight of a query in the pooled loss."""
    return float(comparable_pairs(best))


@compiled_argument_part
def kendall(
    values: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array
) -> float:
    """τ = 1/(n(n − 1)) Σ sign((y_i − y_j)(s_i − s_j)) (CR 2.3); pairs tied in either count 0."""
    n, pairs = len(values), comparable_pairs(best)
    if pairs == 0.0:
        return np.nan
    return float((pairs - 2.0 * misordered(values, places, ends)) * 2.0 / (n * (n - 1.0)))


@compiled_argument_part
def kendall_b(
    values: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array
) -> float:
    """τ_b: the same sum over √(pairs unequal in label × pairs unequal in score); 0 where all scores tie."""
    pairs, separated = comparable_pairs(best), len(values) * (len(values) - 1.0) / 2.0
    start = 0
    for block in range(len(ends)):
        size = ends[block] - start
        separated -= size * (size - 1.0) / 2.0
        start = ends[block]
    if pairs == 0.0:
        return np.nan
    if separated == 0.0:
        return 0.0
    return float((pairs - 2.0 * misordered(values, places, ends)) / np.sqrt(pairs * separated))


@compiled_argument_part
def hard_loss(
    values: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array
) -> float:
    """Share of all n(n − 1)/2 pairs that are misordered (CR Eq. 2.3), a score tie for half."""
    n = len(values)
    if comparable_pairs(best) == 0.0:
        return np.nan
    return float(misordered(values, places, ends) * 2.0 / (n * (n - 1.0)))


@inlined_part
def misordered(values: Array, places: Array, ends: Array) -> float:
    """Expected misordered pairs; slow line: ``sum(y_i < y_j for i before j)``, half inside blocks."""
    return float(inversions(values, places) + 0.5 * tied_pairs(values, ends))


@inlined_part
def comparable_pairs(values: Array) -> float:
    """Pairs of unequal values of a sorted list."""
    n, pairs, run = len(values), 0.0, 0
    for i in range(1, n):
        run = i if values[i] != values[i - 1] else run
        pairs += run
    return pairs


@inlined_part
def tied_pairs(values: Array, ends: Array) -> float:
    """Pairs of unequal labels inside the blocks."""
    pairs, start = 0.0, 0
    for block in range(len(ends)):
        run = 0
        for i in range(start + 1, ends[block]):
            run = i - start if values[i] != values[i - 1] else run
            pairs += run
        start = ends[block]
    return pairs


@compiled_part
def inversions(values: Array, places: Array) -> float:
    """Pairs with the lower value first; slow line: ``sum(x < y for x, y in combinations(values, 2))``.

    `places` is the stable order of the values from the highest down, or starts with `BY_GRADES`.
    """
    if len(values) > 0 and places[0] == BY_GRADES:
        return float(grade_inversions(values))
    if len(values) > QUADRATIC_LIMIT:
        return float(permutation_inversions(places))
    count = 0
    for i in range(len(values)):
        value, after = values[i], values[i + 1 :]
        for j in range(len(after)):
            count += after[j] > value
    return float(count)


@inlined_part
def grade_inversions(grades: Array) -> int:
    """Inversions of integers below 64: ``lower[g]`` counts the rows so far with a grade below g."""
    lower, n_grades, count = np.empty(MAX_GRADES, ROW), 0, 0
    for i in range(len(grades)):
        n_grades = int(grades[i]) + 1 if grades[i] >= n_grades else n_grades
    for grade in range(n_grades):
        lower[grade] = 0
    for i in range(len(grades)):
        grade = int(grades[i])
        count += lower[grade]
        for above in range(grade + 1, n_grades):
            lower[above] += 1
    return count


@compiled_part
def descending_places(values: Array) -> Array:
    """Stable argsort, highest first."""
    places = np.empty(len(values), ROW)
    sort_descending(values, places, np.empty(len(values)))
    return places


@compiled
def permutation_inversions(permutation: Array) -> float:
    """Inversions of 0 … n − 1, from the highest bit down: each 1 that stands before a 0 of its group.

    A group shares its higher bits, so its places are known: the numbers g·2^(b+1) to (g + 1)·2^(b+1) − 1
    themselves. Each pass splits all groups, in order; the 4-byte copies and the lack of a branch make a
    pass cost 2 ns a number, where one level of a merge sort costs 8.
    """
    n = len(permutation)
    numbers, split = np.empty(n, np.int32), np.empty(n, np.int32)
    for i in range(n):
        numbers[i] = permutation[i]
    total, half = 0, 1
    while 2 * half < n:
        half *= 2
    while half > 0:
        for group in range(0, n, 2 * half):
            total += split_group(numbers[group : group + 2 * half], half, split[group : group + 2 * half])
        numbers, split = split, numbers
        half //= 2
    return float(total)


@inlined_part
def split_group(numbers: Array, half: int, split_out: Array) -> int:
    """Move numbers with the bit `half` behind the others, in order; count the pairs that swap."""
    low, high, swapped = 0, min(half, len(numbers)), 0
    first_high = high
    for i in range(len(numbers)):
        number = numbers[i]
        one = (number & half) != 0
        split_out[high if one else low] = number
        high += one
        low += not one
        swapped += 0 if one else high - first_high
    return swapped


@compiled_argument_part
def integrated_auc(
    values: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array
) -> float:
    """Mean over the observed y of the AUC of {Y > y} against {Y < y}, where both exist (CR 3.3).

    A misordered pair is an error for every y strictly between its labels, of weight
    w(y) = (rows at y)/(rows above y × rows below y): a difference of two running sums of w. NaN with fewer
    than three levels.
    """
    n = len(values)
    below, upto = np.empty(n), np.empty(n)
    rows_between = between_weights(best, below, upto)
    if rows_between == 0:
        return np.nan
    codes, order = np.empty(n, ROW), descending_places(values) if places[0] == BY_GRADES else places
    for code in range(n):
        codes[order[code]] = code
    loss = weighted_inversions(codes, below, upto) + 0.5 * tied_weights(values, codes, ends, below, upto)
    return max(0.0, 1.0 - float(loss) / float(rows_between))


@compiled_part
def between_weights(best: Array, below_out: Array, upto_out: Array) -> int:
    """Running sums of w at each place of the best order: labels below its own, and up to it."""
    n, end, running, rows_between = len(best), len(best), 0.0, 0
    while end > 0:
        start = end - 1
        while start > 0 and best[start - 1] == best[end - 1]:
            start -= 1
        below_out[start:end] = running
        if start > 0 and end < n:
            running += (end - start) / (float(start) * (n - end))
            rows_between += end - start
        upto_out[start:end] = running
        end = start
    return rows_between


@compiled_part
def weighted_inversions(codes: Array, below: Array, upto: Array) -> float:
    """Σ of below[c'] − upto[c] over codes c > c' with c first, as in `permutation_inversions`."""
    n, total, half = len(codes), 0.0, 1
    numbers, split = codes.copy(), np.empty(len(codes), ROW)
    while 2 * half < n:
        half *= 2
    while half > 0:
        for group in range(0, n, 2 * half):
            low, high, count, lower = group, group + half, 0, 0.0
            for i in range(group, min(group + 2 * half, n)):
                code = numbers[i]
                if code & half:
                    split[high] = code
                    high, count, lower = high + 1, count + 1, lower + upto[code]
                else:
                    split[low] = code
                    low, total = low + 1, total + count * below[code] - lower
        numbers, split = split, numbers
        half //= 2
    return total


@compiled_part
def tied_weights(values: Array, codes: Array, ends: Array, below: Array, upto: Array) -> float:
    """Σ of the weights of the pairs of unequal labels inside the blocks."""
    total, start = 0.0, 0
    for block in range(len(ends)):
        higher, n_higher, level, n_level = 0.0, 0, 0.0, 0
        for i in range(start, ends[block]):
            if i > start and values[i] != values[i - 1]:
                higher, n_higher, level, n_level = higher + level, n_higher + n_level, 0.0, 0
            total += higher - n_higher * upto[codes[i]]
            level, n_level = level + below[codes[i]], n_level + 1
        start = ends[block]
    return total


@compiled_argument_part
def vus(values: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array) -> float:
    """Chance that one row drawn from each class comes in the order of the classes (CR 3.1).

    ``chains[c]`` is the chance for the lowest c classes among the rows seen, from the last place up. m
    neighbouring classes inside one block of ties are in order with chance 1/m!.
    """
    levels, shares = class_shares(best)
    n_classes = len(levels)
    if n_classes < 2:
        return np.nan
    chains, tied = np.zeros(n_classes + 1), np.zeros(n_classes)
    chains[0] = 1.0
    for block in range(len(ends) - 1, -1, -1):
        start = ends[block - 1] if block > 0 else 0
        rows = values[start : ends[block]]
        classes = np.searchsorted(levels, rows)
        for i in range(len(rows)):
            tied[classes[i]] += shares[classes[i]]
        extend_chains(chains, tied, classes)
        tied[classes] = 0.0
    return min(1.0, float(chains[n_classes]))


@compiled_part
def class_shares(best: Array) -> tuple[Array, Array]:
    """Distinct labels, lowest first, and 1/(rows of each)."""
    levels = np.unique(best)
    counts = np.zeros(len(levels))
    classes = np.searchsorted(levels, best)
    for i in range(len(best)):
        counts[classes[i]] += 1.0
    return levels, 1.0 / counts


@compiled_part
def extend_chains(chains: Array, tied: Array, classes: Array) -> None:
    """Add one block to the chains; `classes` descend, so shorter chains are still those before it."""
    for i in range(len(classes)):
        if i == 0 or classes[i] != classes[i - 1]:
            top, chance = classes[i] + 1, 1.0
            for m in range(1, top + 1):
                chance *= tied[top - m] / m
                if chance == 0.0:
                    break
                chains[top] += chains[top - m] * chance


def _refuse_many_classes(ranking: Ranking, rules: Rules) -> None:
    """VUS of continuous labels is 0 for all purposes; IAUC is the measure for them."""
    new = np.r_[True, ranking.best[1:] != ranking.best[:-1]]
    new[ranking.offsets[:-1]] = True
    most = int(np.add.reduceat(new, ranking.offsets[:-1], dtype=ROW).max())
    if most > MOST_CLASSES:
        raise PodiumError(f"vus takes at most {MOST_CLASSES} distinct labels in a query; got {most}, so consider iauc.")


def _loss(name: str, about: str, kernel: Kernel, ties: str | None = None, pooled: bool = True) -> Definition:
    weight, graded = pair_count if pooled else None, graded_disagreement if kernel is disagreement else None
    return Definition(name, about, kernel, graded_kernel=graded, higher_is_better=False, weight=weight, ties=ties)


MEASURES = (
    _loss(
        "pair_loss",
        "misordered share of the pairs of unequal labels, all queries pooled",
        disagreement,
    ),
    _loss("pair_loss_1", "the same, a score tie counting as an error (R1)", disagreement, "pessimistic"),
    _loss("pair_loss_2", "the same, a score tie counting half (R2)", disagreement, "expected"),
    _loss("disagreement", "share of misordered pairs, every query alike", disagreement, pooled=False),
    Definition("kendall", "Kendall's tau over all n(n - 1)/2 pairs, ties counting 0", kendall),
    Definition("kendall_b", "Kendall's tau-b, corrected for ties", kendall_b, ties="expected"),
    _loss("hard_loss", "share of all n(n - 1)/2 pairs that are misordered", hard_loss, pooled=False),
    Definition(
        "iauc",
        "mean AUC of the labels above y against those below, over y",
        integrated_auc,
        needs=lambda rules: "three different labels",
    ),
    Definition(
        "vus",
        "chance that one row of each grade comes in the order of the grades",
        vus,
        check=_refuse_many_classes,
    ),
)
