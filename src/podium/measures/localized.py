"""Losses of the top K: weak and localized ranking loss, with their standardised forms.

CR is Werner's review of ranking problems, 2.2. The true top K are the K rows with the highest labels; where
labels tie at the K-th place, any of the tied rows may fill it. With K at or above the number n of rows, K
is taken as n: nothing can be missed, the weak loss is 0 and the localized loss is the hard loss.
"""

from __future__ import annotations

import numpy as np

from podium._compiled import compiled, compiled_argument_part, compiled_part
from podium._validation import Array
from podium.measures.measure import Definition, Kernel
from podium.measures.pairwise import comparable_pairs, descending_places, inversions, tied_pairs


@compiled_argument_part
def weak_loss(
    values: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array
) -> float:
    """2/n × expected misses (CR 2.2, Remark 2.1); NaN where all labels are one."""
    if best[0] == best[-1]:
        return np.nan
    return 2.0 * float(misses(values, best, ends, min(k, len(values)))) / len(values)


@compiled_argument_part
def weak_loss_norm(
    values: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array
) -> float:
    """1/K × expected misses (CR Eq. 2.4)."""
    if best[0] == best[-1]:
        return np.nan
    k = min(k, len(values))
    return float(misses(values, best, ends, k)) / k


@compiled_argument_part
def localized_loss(
    values: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array
) -> float:
    """(n − K)/n × weak loss + 2/(n(n − 1)) × misordered pairs of the predicted top K (CR Eq. 2.5)."""
    if best[0] == best[-1]:
        return np.nan
    n = float(len(values))
    k = min(k, len(values))
    weak = 2.0 * float(misses(values, best, ends, k)) / n
    return (n - k) / n * weak + 2.0 * float(misordered_in_top(values, ends, k)) / (n * (n - 1.0))


@compiled_argument_part
def localized_loss_norm(
    values: Array, best: Array, places: Array, ends: Array, k: int, depth: int, rule: int, table: Array
) -> float:
    """Localized loss over the most it can be, m_K = K(K − 1)/(n(n − 1)) + (n − K)/n · 2K/n (CR 2.2)."""
    if best[0] == best[-1]:
        return np.nan
    n = float(len(values))
    k = min(k, len(values))
    most = k * (k - 1.0) / (n * (n - 1.0)) + (n - k) / n * 2.0 * k / n
    return float(localized_loss(values, best, places, ends, k, depth, rule, table)) / most


@compiled_part
def blocks_within(ends: Array, k: int) -> int:
    """Number of blocks that lie in the first k places whole."""
    block = 0
    while block < len(ends) and ends[block] <= k:
        block += 1
    return block


@compiled
def misses(values: Array, best: Array, ends: Array, k: int) -> float:
    """Expected rows of the true top k that are not in the predicted one.

    WeakResult are the rows above the k-th label, and rows at it as far as there are places for them. Of a block
    that straddles place k, a random choice of its rows is in the top: the number of those at the k-th label
    is hypergeometric.
    """
    cut, above = best[k - 1], 0
    while best[above] > cut:
        above += 1
    whole = blocks_within(ends, k)
    start = ends[whole - 1] if whole > 0 else 0
    found, at_cut = float((values[:start] > cut).sum()), int((values[:start] == cut).sum())
    if start == k:
        return k - found - min(at_cut, k - above)
    block = values[start : ends[whole]]
    found += float((block > cut).sum()) * (k - start) / len(block)
    marked = int((block == cut).sum())
    return k - found - float(mean_capped(marked, len(block), k - start, at_cut, k - above))


@compiled_part
def mean_capped(marked: int, size: int, chosen: int, seen: int, places: int) -> float:
    """E[min(seen + T, places)], T the marked rows among `chosen` of `size`, of which `marked` are marked.

    The chances run outwards from the most likely T, from a weight of 1, so that none that matters underflows.
    """
    least, most = max(0, chosen - (size - marked)), min(chosen, marked)
    mode = min(max((chosen + 1) * (marked + 1) // (size + 2), least), most)
    total, weights = float(min(seen + mode, places)), 1.0
    weight = 1.0
    for t in range(mode, most):
        weight *= (marked - t) / (t + 1.0) * ((chosen - t) / (size - marked - chosen + t + 1.0))
        total, weights = total + weight * min(seen + t + 1, places), weights + weight
    weight = 1.0
    for t in range(mode, least, -1):
        weight *= t / (marked - t + 1.0) * ((size - marked - chosen + t) / (chosen - t + 1.0))
        total, weights = total + weight * min(seen + t - 1, places), weights + weight
    return total / weights


@compiled_part
def misordered_in_top(values: Array, ends: Array, k: int) -> float:
    """Expected misordered pairs with both rows in the first k places.

    A row of the block that straddles place k is in the top with chance k'/Q, two of them with chance
    k'(k' − 1)/(Q(Q − 1)), where k' of its Q rows fit.
    """
    whole = blocks_within(ends, k)
    start = ends[whole - 1] if whole > 0 else 0
    inside = float(prefix_inversions(values[:start])) + 0.5 * float(tied_pairs(values[:start], ends[:whole]))
    if start == k:
        return inside
    size, fitting = float(ends[whole] - start), float(k - start)
    across = float(prefix_inversions(values[: ends[whole]]) - prefix_inversions(values[:start]))
    tied = float(comparable_pairs(values[start : ends[whole]]))
    both = fitting * (fitting - 1.0) / (size * (size - 1.0))
    return inside + across * fitting / size + 0.5 * tied * both


@compiled_part
def prefix_inversions(values: Array) -> float:
    """Inversions of the first places of a query, whose own best order must be made."""
    return float(inversions(values, descending_places(values)))


def _top_loss(name: str, about: str, kernel: Kernel) -> Definition:
    return Definition(name, about, kernel, takes_k="must", higher_is_better=False)


MEASURES = (
    _top_loss("weak_loss", "rows in the wrong part when the list is cut after K, over n", weak_loss),
    _top_loss("weak_loss_norm", "share of the true top K that the predicted top K misses", weak_loss_norm),
    _top_loss("localized_loss", "weak loss plus misordered pairs inside the predicted top K", localized_loss),
    _top_loss("localized_loss_norm", "localized loss over the most it can be", localized_loss_norm),
)
