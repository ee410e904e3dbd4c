"""ROC curves, the integrated ROC curve of continuous labels, and the ROC surface of three grades.

"CR" is Werner's review of ranking problems, sections 3.1 and 3.3. All rows are pooled, unless queries are asked for.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from podium._compiled import ROW, SCORE, compiled
from podium._magnitudes import check_integer
from podium._validation import Array, NoPairsError, PodiumError, check_choice, check_weight
from podium.evaluation.queries import grouped
from podium.measures import measure_queries, parse_measure
from podium.ranking_trees import pair_weights

DEFINITIONS = {"mean": "iauc", "triples": "triples"}
"""Weights of pairs of the two numbers that are called IAUC."""


@dataclass(frozen=True, eq=False)
class RocCurve:
    """A piecewise linear curve from (0, 0) to (1, 1).

    Attributes
    ----------
    false_positive, true_positive : ndarray
        Shares of the lower and of the higher rows that stand above each threshold.
    threshold : ndarray
        Rows with such a score, or a higher one, stand above; inf for the first corner. Empty for the integrated curve,
        which has no thresholds.
    area : float
    """

    false_positive: Array
    true_positive: Array
    threshold: Array
    area: float


@dataclass(frozen=True, eq=False)
class RocSurface:
    """The ROC surface of three grades.

    Attributes
    ----------
    lowest : ndarray of shape (n,)
        Share of the lowest grade at or below the lower threshold, from 1 down to 0.
    highest : ndarray of shape (n,)
        Share of the highest grade above the upper threshold, from 0 up to 1.
    middle : ndarray of shape (n, n)
        Share of the middle grade between: entry (i, j) for thresholds i and j; 0 where the lower is above the upper.
    volume : float
        Under the exact surface, the measure "vus".
    """

    lowest: Array
    highest: Array
    middle: Array
    volume: float


def roc_curve(
    y: ArrayLike, scores: ArrayLike, *, above: float | None = None, sample_weight: ArrayLike | None = None
) -> RocCurve:
    """Return the ROC curve of scores, all rows pooled; equal scores make one straight piece.

    Parameters
    ----------
    y : array-like
        Labels.
    scores : array-like
        Higher stands higher.
    above : float, optional
        Labels above it are positive. By default there must be two grades, of which the higher is positive.
    sample_weight : array-like, optional

    Examples
    --------
    >>> curve = roc_curve([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.9])
    >>> curve.true_positive.tolist(), curve.false_positive.tolist(), curve.area
    ([0.0, 0.5, 1.0, 1.0], [0.0, 0.0, 0.5, 1.0], 0.875)
    """
    labels, given = _pooled(y, scores)
    weight = check_weight(sample_weight, len(labels), "sample_weight")
    return _curve(_positive(labels, above), given, weight)


def roc_curves(
    y: ArrayLike,
    scores: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    group: ArrayLike | None = None,
    above: float | None = None,
    sample_weight: ArrayLike | None = None,
) -> dict[Hashable, RocCurve]:
    """Return the ROC curve of each query that has rows of both kinds with positive weight, by the query's id.

    Parameters are those of `roc_curve`, with the queries as `evaluate` takes them.

    Examples
    --------
    >>> curves = roc_curves([0, 1, 0, 1], [1.0, 2.0, 4.0, 3.0], qid=["a", "a", "b", "b"])
    >>> {query: curve.area for query, curve in curves.items()}
    {'a': 1.0, 'b': 0.0}
    """
    labels, queries, [given] = grouped(y, qid, group, scores=scores)
    weight = check_weight(sample_weight, len(labels), "sample_weight")[queries.rows]
    positive = _positive(labels, above)
    curves = {}
    for query, start, stop in zip(queries.ids.tolist(), queries.offsets[:-1], queries.offsets[1:], strict=True):
        own, counts = positive[start:stop], weight[start:stop] > 0
        if np.any(own & counts) and np.any(~own & counts):
            curves[query] = _curve(own, given[start:stop], weight[start:stop])
    return curves


def integrated_roc_curve(y: ArrayLike, scores: ArrayLike, *, n_points: int = 101) -> RocCurve:
    """Return the integrated ROC curve of continuous labels (CR 3.3): the mean over the observed y of ROC_y.

    ROC_y is the curve of the labels above y against those below, rows at y left out; y runs over the rows that have
    labels on both sides. The area is that of the exact curve, ``integrated_auc(y, scores)``. Takes O(n) for each
    different label.

    Parameters
    ----------
    y, scores : array-like
    n_points : int
        Evenly spaced false positive rates to give the curve at.

    Examples
    --------
    >>> integrated_roc_curve([0.1, 0.5, 0.7, 2.0], [1, 2, 3, 4], n_points=3).true_positive.tolist()
    [1.0, 1.0, 1.0]
    """
    labels, given = _pooled(y, scores)
    rates = np.linspace(0.0, 1.0, check_integer(n_points, "n_points", 2))
    levels, counts = np.unique(labels, return_counts=True)
    _refuse_few(levels, 3, "The integrated ROC curve")
    mean = np.zeros(len(rates))
    for level, count in zip(levels[1:-1], counts[1:-1], strict=True):
        other = labels != level
        curve = _curve(labels[other] > level, given[other], np.ones(int(other.sum())))
        # A little to the right, so that where the curve rises steeply the upper end is taken, whatever the rounding.
        mean += count * np.interp(rates + 1e-12, curve.false_positive, curve.true_positive)
    return RocCurve(rates, mean / counts[1:-1].sum(), np.empty(0), integrated_auc(y, scores))


def integrated_auc(y: ArrayLike, scores: ArrayLike, *, definition: str = "mean") -> float:
    """Return an integrated AUC of continuous labels; there are two, which are different numbers.

    Parameters
    ----------
    y, scores : array-like
    definition : {"mean", "triples"}
        "mean" is the mean of AUC_y over the observed y, ∫ AUC_y dF(y), the area under the integrated ROC curve and the
        measure "iauc". "triples" is the chance that s(X) < s(X'') given Y < Y' < Y'': y in the middle, which part
        more pairs, count more. Equal scores count half in both. Takes O(n log n).

    Examples
    --------
    >>> y, scores = [1.0, 2.0, 3.0, 4.0], [3.0, 1.0, 2.0, 4.0]
    >>> integrated_auc(y, scores), round(integrated_auc(y, scores, definition="triples"), 4)
    (0.75, 0.75)
    """
    check_choice(definition, tuple(DEFINITIONS), "definition")
    labels, given = _pooled(y, scores)
    order = np.argsort(labels, kind="stable")
    ranks = np.unique(given[order], return_inverse=True)[1].astype(ROW)
    _refuse_few(np.unique(labels), 3, "An integrated AUC")
    one_query, ones = np.zeros(len(labels), ROW), np.ones(len(labels))
    weights = pair_weights(DEFINITIONS[definition], one_query, labels[order], ones)
    return float(_concordance(labels[order], ranks, *weights))


def roc_surface(y: ArrayLike, scores: ArrayLike, *, n_points: int = 51) -> RocSurface:
    """Return the ROC surface of three grades (CR 3.1).

    Parameters
    ----------
    y : array-like
        Labels of three different values.
    scores : array-like
    n_points : int
        Thresholds, evenly spaced among the different scores, all of them if there are fewer.

    Examples
    --------
    >>> surface = roc_surface([0, 1, 2], [0.1, 0.2, 0.3])
    >>> surface.volume, surface.middle.max().item()
    (1.0, 1.0)
    """
    labels, given = _pooled(y, scores)
    grades = np.unique(labels)
    if len(grades) != 3:
        raise PodiumError(f"The ROC surface needs labels of three grades; y has {len(grades)}.")
    cuts = np.append(-np.inf, np.unique(given))[::-1]
    most = check_integer(n_points, "n_points", 2)
    cuts = cuts[np.unique(np.linspace(0, len(cuts) - 1, min(most, len(cuts))).astype(ROW))]
    upto = [np.searchsorted(np.sort(given[labels == g]), cuts, side="right") / np.sum(labels == g) for g in grades]
    middle = np.maximum(upto[1][None, :] - upto[1][:, None], 0.0)
    volume = measure_queries(parse_measure("vus"), labels, given, np.array([0, len(labels)])).values[0]
    return RocSurface(upto[0], 1.0 - upto[2], middle, float(volume))


def _pooled(y: ArrayLike, scores: ArrayLike) -> tuple[Array, Array]:
    """Check labels and scores of rows that are one query."""
    labels, _, [given] = grouped(y, np.zeros(np.size(y)), None, scores=scores)
    return labels, given


def _positive(labels: Array, above: float | None) -> Array:
    """Say which rows are positive."""
    grades = np.unique(labels)
    if above is None and len(grades) > 2:
        raise PodiumError(
            f"A ROC curve needs two grades, y has {len(grades)}: say by `above` which labels are positive."
        )
    positive: Array = labels > (grades[0] if above is None else above)
    if positive.all() or not positive.any():
        raise NoPairsError("A ROC curve needs rows of both kinds; all rows of y are of one.")
    return positive


def _curve(positive: Array, scores: Array, weight: Array) -> RocCurve:
    """Return the curve of rows of both kinds."""
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.diff(scores[order]) != 0, True)
    shares = [
        np.append(0.0, np.cumsum(np.where(kind[order], weight[order], 0.0))[last]) for kind in (~positive, positive)
    ]
    if min(shares[0][-1], shares[1][-1]) <= 0:
        raise NoPairsError("A ROC curve needs rows of both kinds with positive weight.")
    x, y = shares[0] / shares[0][-1], shares[1] / shares[1][-1]
    return RocCurve(x, y, np.append(np.inf, scores[order][last]), float(np.trapezoid(y, x)))


def _refuse_few(levels: Array, least: int, what: str) -> None:
    """Refuse labels of too few different values."""
    if len(levels) < least:
        raise PodiumError(f"{what} needs at least {least} different labels; y has {len(levels)}.")


@compiled
def _concordance(labels: Array, ranks: Array, above: Array, below: Array) -> float:
    """Return the share of the pairs' weight that ranks order as labels, ties half; rows are sorted by label.

    Slow line: the sum of ``(above[i] - below[j]) * ((ranks[i] > ranks[j]) + (ranks[i] == ranks[j]) / 2)`` over all
    pairs of a higher label i and a lower one j, divided by that of ``above[i] - below[j]``. Sums over the ranks so far
    are kept in a Fenwick tree.
    """
    size = ranks.max() + 2
    sums = np.zeros((size, 2), SCORE)
    right = total = all_rows = all_below = 0.0
    first = 0
    while first < len(labels):
        last = first
        while last < len(labels) and labels[last] == labels[first]:
            for at in (ranks[last], ranks[last] + 1):
                while at > 0:
                    right += 0.5 * (above[last] * sums[at, 0] - sums[at, 1])
                    at -= at & -at
            total += above[last] * all_rows - all_below
            last += 1
        for i in range(first, last):
            at = ranks[i] + 1
            while at < size:
                sums[at, 0] += 1.0
                sums[at, 1] += below[i]
                at += at & -at
            all_rows += 1.0
            all_below += below[i]
        first = last
    return right / total
