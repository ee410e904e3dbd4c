"""Sums over pairs by the product of label and score differences, as CR writes its surrogates (4.2 to 4.5).

z_ij = (y_i - y_j)(f_i - f_j). The exponential takes O(n²). A hinge asks, of each row i, for the rows j with z_ij < m:
f_j on one side of the hyperbola f_i - m/(y_i - y_j). Labels never change, so rows are cut into about √n strips of
neighbouring labels once; in a strip, sorted by score each time, the hyperbola lies between its values at the two ends,
rows beyond both ends are summed at once, and only those between them are looked at: about O(n^1.5 log n) in all, where
CR 5 expects O(n²) from any such loss.
"""

from __future__ import annotations

import numpy as np

from podium._compiled import ROW, SCORE, compiled, compiled_part
from podium._validation import Array
from podium.data import Graded
from podium.losses.sign_pairs import PairSums
from podium.measures.sorting import by_query_threads

ROWS_PER_STRIP = 2.0
"""Rows of a strip over √n: measured at 1,000 to 100,000 rows, 1 to 4 are alike."""
MAX_ROWS_BY_PAIRS = 200
"""Rows of a query up to which all pairs are quicker: it is one strip."""
SLACK = 1e-12
"""Relative width around the ends of a hyperbola in which each pair is looked at, so that rounding decides nothing."""


class ProductPairs:
    """Pairs of graded feedback, each with the difference of its labels.

    Parameters
    ----------
    feedback : Graded
        Its labels are the responses that products are made of.
    n_threads : int
        Threads share out whole queries.
    """

    def __init__(self, feedback: Graded, n_threads: int = 1) -> None:
        self.offsets, self.n_threads = feedback.offsets, n_threads
        query = np.repeat(np.arange(len(feedback.offsets) - 1), np.diff(feedback.offsets))
        self.row = np.lexsort((feedback.labels, query)).astype(ROW)
        self.labels, self.weight = feedback.labels[self.row], feedback.row_weight[self.row]
        self.strips, self.first_strip = _strips(feedback.offsets)
        self.strip = np.repeat(np.arange(len(self.strips) - 1), np.diff(self.strips))
        spans = self.labels[feedback.offsets[1:] - 1] - self.labels[feedback.offsets[:-1]]
        self.reach = np.repeat(spans * np.bincount(query, feedback.row_weight), np.diff(feedback.offsets))

    def exponential(self, scores: Array) -> PairSums:
        """Sum φ(z) = exp(-z), in O(n²)."""
        sums = self._empty_sums()
        arrays = self.offsets, self.labels, scores[self.row], self.weight
        by_query_threads(_exponential_products, self.offsets, self.n_threads, *arrays, *sums)
        return self._in_rows(sums, self.row)

    def hinges(self, scores: Array, *margins: tuple[float, bool]) -> list[PairSums]:
        """Sum φ(z) = max(0, m - z) for each (m, closed): z = m pulls where the margin is closed."""
        order = np.lexsort((scores[self.row], self.strip))
        row = self.row[order]
        points = np.stack([self.labels[order], scores[row]])
        from_first = points - np.repeat(points[:, self.offsets[:-1]], np.diff(self.offsets), axis=1)
        table = np.concatenate([points, from_first, self.weight[None, order]])
        low, high = self.labels[self.strips[:-1]], self.labels[self.strips[1:] - 1]
        shared = self.offsets, self.first_strip, self.strips, low, high, table, _sums_before(table, self.strips)
        found = [self._empty_sums() for _ in margins]
        for margin, sums in zip(margins, found, strict=True):
            by_query_threads(_hinge_products, self.offsets, self.n_threads, *shared, *margin, *sums)
        return [self._in_rows(sums, row) for sums in found]

    def _empty_sums(self) -> PairSums:
        """Return room for the sums."""
        return PairSums(np.zeros(len(self.row), SCORE), np.zeros(len(self.offsets) - 1, SCORE))

    def _in_rows(self, sums: PairSums, row: Array) -> PairSums:
        """Return the sums with those of places put to their rows."""
        pull = np.empty_like(sums.pull)
        pull[row] = sums.pull
        return PairSums(pull, sums.value)


def _strips(offsets: Array) -> tuple[Array, Array]:
    """Cut the rows of each query, sorted by label, into strips; return where strips, and those of queries, begin."""
    starts, first = [np.zeros(1, ROW)], [0]
    for start, n in zip(offsets[:-1].tolist(), np.diff(offsets).tolist(), strict=True):
        n_strips = 1 if n <= MAX_ROWS_BY_PAIRS else max(1, round(n**0.5 / ROWS_PER_STRIP))
        starts.append(start + np.linspace(0, n, n_strips + 1).astype(ROW)[1:])
        first.append(first[-1] + n_strips)
    return np.concatenate(starts), np.array(first, ROW)


def _sums_before(table: Array, strips: Array) -> Array:
    """Return, at each place of a strip and at its end, the sums of w, w y, w f, w y f over the places before it.

    Labels and scores count from a row of the query, so that what they have in common does not cancel.
    """
    y, f, w = table[2:]
    n_strips = len(strips) - 1
    sums = np.zeros((len(y) + n_strips, 4), SCORE)
    terms = np.stack([w, w * y, w * f, w * y * f], axis=1)
    _running_sums(terms, strips, sums)
    return sums


@compiled
def _running_sums(terms: Array, strips: Array, sums_out: Array) -> None:
    """Do ``sums_out[k + s + 1] = terms[strips[s] : k + 1].sum(axis=0)``, zero at the beginning of each strip s."""
    for s in range(len(strips) - 1):
        for k in range(strips[s], strips[s + 1]):
            for column in range(4):
                sums_out[k + s + 1, column] = sums_out[k + s, column] + terms[k, column]


@compiled
def _exponential_products(
    offsets: Array,
    labels: Array,
    scores: Array,
    weight: Array,
    pull_out: Array,
    value_out: Array,
    first: int,
    last: int,
) -> None:
    """Do ``pull[i] = Σ_j w[j] (y[i] - y[j]) exp(-(y[i] - y[j]) (f[i] - f[j]))`` pair by pair."""
    for q in range(first, last):
        total = 0.0
        for i in range(offsets[q], offsets[q + 1]):
            for j in range(offsets[q], i):
                difference = labels[i] - labels[j]
                if difference != 0.0:
                    share = np.exp(-difference * (scores[i] - scores[j]))
                    pull_out[i] += weight[j] * difference * share
                    pull_out[j] -= weight[i] * difference * share
                    total += weight[i] * weight[j] * share
        value_out[q] = total


@compiled
def _hinge_products(
    offsets: Array,
    first_strip: Array,
    strips: Array,
    low: Array,
    high: Array,
    table: Array,
    sums_before: Array,
    margin: float,
    closed: bool,
    pull_out: Array,
    value_out: Array,
    first: int,
    last: int,
) -> None:
    """Do ``pull[i] = Σ_j w[j] (y[i] - y[j]) [(y[i] - y[j]) (f[i] - f[j]) < margin]`` strip by strip of labels.

    In a strip below y[i] the rows with f above the hyperbola count, in one above it those with f below it.
    """
    labels, scores, weight = table[0], table[1], table[4]
    for q in range(first, last):
        total = 0.0
        for i in range(offsets[q], offsets[q + 1]):
            y, f, pull, value = labels[i], scores[i], 0.0, 0.0
            for s in range(first_strip[q], first_strip[q + 1]):
                look, until, take, done = _parts_of_strip(
                    scores, strips[s], strips[s + 1], y, f, low[s], high[s], margin, closed
                )
                if take < done:
                    w = sums_before[done + s, 0] - sums_before[take + s, 0]
                    wy = sums_before[done + s, 1] - sums_before[take + s, 1]
                    wf = sums_before[done + s, 2] - sums_before[take + s, 2]
                    wyf = sums_before[done + s, 3] - sums_before[take + s, 3]
                    x, g = table[2, i], table[3, i]
                    pull += x * w - wy
                    value += (margin - x * g) * w + x * wf + g * wy - wyf
                for j in range(look, until):
                    difference = y - labels[j]
                    z = difference * (f - scores[j])
                    if difference != 0.0 and (z < margin or (closed and z == margin)):
                        pull += weight[j] * difference
                        value += weight[j] * (margin - z)
            pull_out[i] = pull
            total += 0.5 * weight[i] * value
        value_out[q] = total


@compiled_part
def _parts_of_strip(
    scores: Array,
    start: int,
    stop: int,
    y: float,
    f: float,
    low: float,
    high: float,
    margin: float,
    closed: bool,
) -> tuple[int, int, int, int]:
    """Return which places of a strip to look at, (first, past the last), and which to take whole, for one row.

    `inner` and `outer` are the distances of the hyperbola from f at the far and the near end of the strip's labels.
    """
    if high < y:
        inner, outer = margin / (y - low), margin / (y - high)
        slack = SLACK * (abs(f) + outer) if margin > 0.0 else 0.0
        look = _search(scores, start, stop, f - outer - slack, not closed)
        until = _search(scores, look, stop, f - inner + slack, not closed)
        return look, until, until, stop
    if low > y:
        inner, outer = margin / (high - y), margin / (low - y)
        slack = SLACK * (abs(f) + outer) if margin > 0.0 else 0.0
        look = _search(scores, start, stop, f + inner - slack, closed)
        until = _search(scores, look, stop, f + outer + slack, closed)
        return look, until, start, look
    return start, (start if low == high else stop), stop, stop


@compiled_part
def _search(ordered: Array, start: int, stop: int, bound: float, after_equal: bool) -> int:
    """Return the first place from `start` on with a value above `bound`, or at it unless `after_equal`."""
    while start < stop:
        middle = (start + stop) // 2
        if ordered[middle] < bound or (after_equal and ordered[middle] == bound):
            start = middle + 1
        else:
            stop = middle
    return start
