"""AdaBoost.OR on rows that lie in several parts: each part knows the grades of all rows and searches some features.

An ordinal stump may cut between any two values of a feature, so that sums by value would be as large as the columns.
Instead every part gets the whole columns of its share of the features, once. Weights are kept by every part for all
rows, in the canonical order, and are the same bits everywhere and for any partitioning, without any sum across parts.
What is exchanged in a round is the best stump of each part, and one byte a row: the grade that the chosen stump gives.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import clone

from podium._compiled import ROW, even_ranges
from podium._exchange import Exchange
from podium._magnitudes import scaled_weight
from podium._sparse import is_sparse, take_rows
from podium._types import Features, Learner, SparseMatrix
from podium._validation import Array, PodiumError
from podium.binning import feature_batches, gather_each
from podium.data import hash_features, row_keys
from podium.model_file.training_summary import count_missing
from podium.ordinal import (
    OrdinalData,
    OrdinalStump,
    OrdinalStumpLearner,
    StepWeights,
    VoteBoosting,
    cost_matrix,
    cost_steps,
    costs_are_convex,
    require_two_labels,
)
from podium.rankers.base_rankers import fitted_stump
from podium.rankers.orstump import ORStump


class SharedRows(NamedTuple):
    """What a part knows of the rows of all parts.

    Attributes
    ----------
    data : OrdinalData
        All rows of positive weight, in their canonical order, with the columns of this part's share of the features.
    first : int
        The first of these features.
    own : ndarray or sparse matrix by columns
        The part's own rows, with all features.
    order : ndarray of int64
        For each row of `data`, its place among the rows of all parts, one part after the other.
    summary : dict of str to int
        Counts of the whole, as a fit keeps them.
    digest : int
        Of all rows, in any order.
    """

    data: OrdinalData
    first: int
    own: Features
    order: Array
    summary: dict[str, int]
    digest: int


def share_rows(
    features: Features,
    names: tuple[str, ...] | None,
    labels: Array,
    weight: Array,
    cost: str | ArrayLike,
    exchange: Exchange,
    classes: Array | None = None,
) -> SharedRows:
    """Put the rows of all parts into the canonical order and share out the columns.

    1. Number the grades of all parts, unless their labels are known, and scale weights by the largest.
    2. Order the rows by their keys, as `OrdinalData` does.
    3. Gather the columns, each part its share.
    """
    classes = _classes(labels, exchange) if classes is None else classes  # 1
    scaled = scaled_weight(np.append(weight, exchange.peak(weight)))[:-1]
    kept = scaled > 0
    own = take_rows(features, np.flatnonzero(kept))
    grades, scaled = np.searchsorted(classes, labels[kept]), scaled[kept]
    matrix = cost_matrix(cost, classes)
    keys = row_keys(own, grades.astype(float), scaled, None)  # 2
    every = exchange.gather_rows(keys)
    order = np.lexsort((exchange.gather_rows(hash_features(matrix[grades])), every))
    grades, scaled = (exchange.gather_rows(column)[order] for column in (grades.astype(ROW), scaled))
    costs = np.ascontiguousarray(matrix[grades] * scaled[:, None])
    if not costs.any():
        raise PodiumError("There is nothing to learn: all costs of rows with a positive weight are zero.")
    first, last = even_ranges(features.shape[1], exchange.size)[exchange.rank]
    columns = _gather_columns(own, order, first, last, exchange)  # 3
    data = OrdinalData(columns, names, grades, costs, classes, costs_are_convex(matrix), order, scaled)
    counts = len(order), 0, features.shape[1], len(np.unique(grades)), 0, exchange.count(count_missing(own))
    summary = dict(zip(("rows", "queries", "features", "grades", "pairs", "missing"), counts, strict=True))
    return SharedRows(data, first, own, order, summary, int(every.sum()))


def _classes(labels: Array, exchange: Exchange) -> Array:
    """Return the different labels of all parts, lowest first."""
    classes: Array = np.unique(exchange.gather_rows(np.unique(labels)))
    require_two_labels(classes)
    return classes


def _gather_columns(own: Features, order: Array, first: int, last: int, exchange: Exchange) -> Features:
    """Return the columns from `first` up to `last` of all rows; every part gives all of its own."""
    if is_sparse(own):
        return _gather_entries(own, order, first, last, exchange)
    columns = np.empty((len(order), last - first), own.dtype, order="F")
    for feature in range(own.shape[1]):
        column = exchange.gather_rows(np.ascontiguousarray(own[:, feature]))
        if first <= feature < last:
            columns[:, feature - first] = column[order]
    return columns


def _gather_entries(own: SparseMatrix, order: Array, first: int, last: int, exchange: Exchange) -> SparseMatrix:
    """Do as `_gather_columns` for sparse rows: what is stored is sent, with the rows that it belongs to."""
    place, counts = np.argsort(order), exchange.gather(np.array([own.shape[0]]))[:, 0]
    start = int(counts[: exchange.rank].sum())
    rows, values, ends = [], [], [0]
    for features in feature_batches(own, exchange):
        stored = [slice(*own.indptr[feature : feature + 2]) for feature in features]
        every = gather_each([own.indices[entries].astype(ROW) + start for entries in stored], exchange)
        numbers = gather_each([own.data[entries] for entries in stored], exchange)
        for j in range(max(first, features.start) - features.start, min(last, features.stop) - features.start):
            places = place[every[j]]
            by_row = np.argsort(places)
            rows.append(places[by_row])
            values.append(numbers[j][by_row])
            ends.append(ends[-1] + len(places))
    shape = len(order), last - first
    nothing = [np.empty(0, own.dtype)], [np.empty(0, ROW)]
    found = np.concatenate(values or nothing[0]), np.concatenate(rows or nothing[1]), ends
    columns: SparseMatrix = sp.csc_array(found, shape)
    return columns


def shared_boosting(template: ORStump, shared: SharedRows, exchange: Exchange, n_threads: int) -> VoteBoosting:
    """Return the rounds of AdaBoost.OR with stumps like `template`, on rows of which other parts have some."""
    data = shared.data
    weights = StepWeights(cost_steps(data.costs), data.grades)
    return VoteBoosting(data, weights, SharedStumps(template, shared, exchange, n_threads))


class SharedStumps:
    """Learns ORStumps together with the other parts.

    Parameters
    ----------
    template : ORStump
        Whose parameters the stumps have.
    shared : SharedRows
    exchange : Exchange
    n_threads : int
    """

    repeats = True

    def __init__(self, template: ORStump, shared: SharedRows, exchange: Exchange, n_threads: int) -> None:
        self.template, self.shared, self.exchange = clone(template), shared, exchange
        self.template._describe(shared.data)
        self.template.n_features_in_ = shared.own.shape[1]
        self.template.training_summary_ = dict(shared.summary)
        n_steps, columns = len(shared.data.classes) - 1, shared.data.features
        self.learner = OrdinalStumpLearner(columns, n_steps, n_threads) if columns.shape[1] else None
        self.n_steps = n_steps

    def learn(self, weights: StepWeights) -> tuple[ORStump, Array]:
        """Return the best stump of all parts, as a fitted ranker, and the grades of all rows.

        Of equal ones it is that of the lowest feature, as in one part.
        """
        best = None if self.learner is None else self.learner.best(weights)
        bid = (np.inf, np.inf) if best is None else (best.cost, self.shared.first + best.feature)
        bids = self.exchange.gather(np.array(bid))
        winner = int(np.lexsort((bids[:, 1], bids[:, 0]))[0])
        told = np.zeros(self.n_steps + 3)
        if self.exchange.rank == winner and self.learner is not None and best is not None:
            stump = self.learner.found(weights, best).stump
            told[:3], told[3:] = (bid[1], stump.direction, stump.missing), stump.thresholds
        feature, direction, missing, *thresholds = self.exchange.gather(told)[winner].tolist()
        stump = OrdinalStump(int(feature), int(direction), np.array(thresholds), int(missing))
        return fitted_stump(self.template, stump), self._grades(stump)

    def replay(self, ranker: Learner) -> Array:
        """Return the grades that an earlier stump gives to all rows."""
        if not isinstance(ranker, ORStump):
            raise PodiumError(f"Only ORStumps can be learned by several parts; got {type(ranker).__name__}.")
        return self._grades(ranker.stump_)

    def _grades(self, stump: OrdinalStump) -> Array:
        """Return the grades of all rows, which each part gives to its own."""
        own = stump.grades(self.shared.own)
        small = own.astype(np.uint8) if self.n_steps < 256 else own
        grades: Array = self.exchange.gather_rows(small)[self.shared.order].astype(ROW)
        return grades
