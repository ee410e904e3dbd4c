"""The rankers that RankBoost was first compared with: regression, nearest neighbor and vector similarity.

"RB" is Freund, Iyer, Schapire and Singer (2003), "An efficient boosting algorithm for combining
preferences"; its section 6.2.3 describes all three. There a row is a movie, a feature the ratings of one
viewer, and the feedback comes from one more viewer, the target. NaN in a dense X, or an absent entry of a
sparse one, is a movie that the viewer did not rate.

In `predict` a value beyond ±1e100, infinity included, counts as ±1e100, so that scores are finite.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from podium._compiled import ROW, SCORE, compiled
from podium._validation import Array, NoPairsError, PodiumError
from podium.binning.blocks import Matrix
from podium.binning.columns import DenseReader, SparseReader
from podium.dataset import RankingData
from podium.distribution.graded import LevelOrder
from podium.feedback import Feedback, Graded, Pairs, feedback_of
from podium.rankers.base import Ranker

LARGEST = 1e100
"""Values are cut to ±LARGEST: squares of them, summed over any number of rows, are still finite."""
TIE = 1e-12
"""Ranking losses nearer than this count as equal: the same pairs summed in another order differ by less."""


class _Baseline(Ranker):
    """A ranker without parameters and without rounds."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    def _learn(self, data: RankingData, evals: list[RankingData], init_model: Any = None) -> None:
        if evals or init_model is not None:
            raise PodiumError(
                f"{type(self).__name__} does not learn in rounds, so eval_set and init_model must be None."
            )
        self._learn_at_once(data)

    def _learn_at_once(self, data: RankingData) -> None:
        """Learn from checked data."""
        raise TypeError(f"{type(self).__name__} must say how it learns.")


class _LinearPreference(_Baseline):
    """Scores a row by ``default_ + Σ_i coef_[i] (f_i(x) - averages_[i])`` over the features that rank it."""

    _kept: ClassVar[tuple[str, ...]] = ("averages_", "coef_", "default_")

    averages_: Array
    coef_: Array
    default_: float

    def _learn_at_once(self, data: RankingData) -> None:
        name = type(self).__name__
        if data.labels is None:
            raise PodiumError(f"{name} requires y to be passed, but the target y is None: pairs are not enough.")
        if data.pairs is not None:
            raise PodiumError(f"{name} learns from the numbers in y alone, so pairs must be None.")
        target_weight = data.row_weight * np.repeat(data.query_weight, data.queries.sizes)
        if not target_weight.any():
            raise PodiumError(f"{name} needs a row of positive weight in a query of positive weight; none is.")
        averages = np.zeros(data.features.shape[1], SCORE)
        for feature, rows, values in _columns(data.features, data.queries.rows):
            if np.abs(values).max(initial=0.0) >= LARGEST:
                raise PodiumError(
                    f"X must lie within ±{LARGEST:g} for {name}, which computes with its values; feature "
                    f"{feature} does not: use NaN for what is missing."
                )
            averages[feature] = _average(values, data.row_weight[rows])
        self.averages_ = averages
        self._learn_labels(data, data.labels, target_weight)

    def _learn_labels(self, data: RankingData, labels: Array, target_weight: Array) -> None:
        """Learn from the label of each row and its weight, that of its query included."""
        raise TypeError(f"{type(self).__name__} must say how it learns.")

    def _score(self, features: Any) -> Array:
        scores = np.full(features.shape[0], self.default_, SCORE)
        for feature, rows, values in _columns(features, np.arange(features.shape[0], dtype=ROW)):
            scores[rows] += self.coef_[feature] * (values - self.averages_[feature])
        return scores


class PreferenceRegression(_LinearPreference):
    """Least squares on the ratings of others, with each one's average where they gave none (RB 6.2.3).

    Finds the shortest w among those that minimise ``Σ_x s(x) (Σ_i w_i C_i(x) - y(x))²``, where C_i(x) is the
    value of feature i, or its average over all rows of X that it ranks, and s(x) the weight of the row. The
    score is ``Σ_i w_i C_i(x)``. As in the paper there is no intercept; a column of ones in X makes one.

    Queries are not told apart. Least squares weigh a row by its sample weight times its query's weight,
    averages by its sample weight alone: rows that the target did not rate belong in a query of weight zero,
    where they still count in the averages. Takes O(n F min(n, F)) time and O(n F) memory for n rows that
    the target rated and F features.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_,)
        w; 0 for a feature that ranks no row.
    averages_ : ndarray of shape (n_features_in_,)
        What missing values count as; 0 for a feature that ranks no row.
    default_ : float
        Score of a row that no feature ranks, ``coef_ @ averages_``.

    Examples
    --------
    >>> X = [[1.0, 2.0], [2.0, float("nan")], [3.0, 4.0]]
    >>> PreferenceRegression().fit(X, [3.0, 5.0, 7.0]).predict([[4.0, 1.0]]).round(6).tolist()
    [5.0]
    """

    def _learn_labels(self, data: RankingData, labels: Array, target_weight: Array) -> None:
        target = np.flatnonzero(target_weight)
        filled = np.empty((len(target), len(self.averages_)), SCORE, order="F")
        for feature, rows, values in _columns(data.features, data.queries.rows):
            filled[:, feature] = _spread(rows, values, len(labels), self.averages_[feature])[target]
        root = np.sqrt(target_weight[target])
        self.coef_ = np.linalg.lstsq(filled * root[:, None], labels[target] * root, rcond=None)[0]
        self.default_ = float(self.coef_ @ self.averages_)


class VectorSimilarity(_LinearPreference):
    """Ratings of others, weighted by how similar theirs are to the target's (VSIM, RB 6.2.3).

    With C_i the values of feature i and C_k the labels, both 0 where there is none, the feature's weight is
    ``w_i = C_k·C_i / (‖C_k‖ ‖C_i‖)``, and the score ``mean(C_k) + Σ_i w_i (C_i(x) - mean(C_i)) / Σ_i |w_i|``
    with means over ranked rows. A feature that does not rank x contributes nothing. The weight of or with a
    zero vector is 0; where all weights are 0, all scores are ``mean(C_k)``.

    Queries are not told apart. Sums over labels weigh a row by its sample weight times its query's weight,
    norms and means of features by its sample weight alone: rows that the target did not rate belong in a
    query of weight zero. Takes time in proportion to the entries of X.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_,)
        ``w_i / Σ_i |w_i|``.
    averages_ : ndarray of shape (n_features_in_,)
        ``mean(C_i)``; 0 for a feature that ranks no row.
    default_ : float
        ``mean(C_k)``, the score of a row that no feature ranks.

    Examples
    --------
    >>> X = [[1.0, 5.0], [2.0, float("nan")], [3.0, 1.0]]
    >>> VectorSimilarity().fit(X, [1.0, 2.0, 3.0]).rank([[1.0, 5.0], [3.0, 1.0]]).tolist()
    [2, 1]
    """

    def _learn_labels(self, data: RankingData, labels: Array, target_weight: Array) -> None:
        cosines = np.zeros_like(self.averages_)
        weighted = labels * target_weight
        target_norm = np.sqrt(np.sum(weighted * labels))
        for feature, rows, values in _columns(data.features, data.queries.rows):
            norms = target_norm * np.sqrt(np.sum(data.row_weight[rows] * values * values))
            cosines[feature] = np.sum(weighted[rows] * values) / norms if norms > 0 else 0.0
        total = np.abs(cosines).sum()
        self.coef_ = cosines / total if total > 0 else cosines
        self.default_ = _average(labels, target_weight)


class NearestNeighbor(_Baseline):
    """The one feature whose order is most like the feedback (NN, RB 6.2.3).

    Takes the feature f, and the default score q for rows that it does not rank, of the smallest ranking loss
    ``Σ D(x₀, x₁) ([f(x₁) < f(x₀)] + ½ [f(x₁) = f(x₀)])`` (RB Eq. 21), where D is the distribution over pairs
    that RankBoost starts from. Candidates for q are the feature's own values. Where q makes no difference,
    above all where the feature ranks every row that is in a pair, q is the feature's average over all rows
    of X that it ranks, weighted by their sample weights. The score is f(x), or q.

    Between losses equal to within 1e-12, the feature with the lowest number and its lowest default are taken.
    The time for each feature is O(n log n), no matter how many pairs labels make, and O(m) for m explicit
    pairs.

    Attributes
    ----------
    feature_ : int
        Number of the feature.
    default_ : float
        q; 0 where the feature ranks no row.
    loss_ : float
        Ranking loss of the feature, with its default, on the training feedback.

    Examples
    --------
    >>> X = [[3.0, 1.0], [2.0, float("nan")], [1.0, 3.0]]
    >>> model = NearestNeighbor().fit(X, [0, 1, 1])
    >>> model.feature_, model.default_, model.loss_
    (1, 3.0, 0.0)
    """

    _kept: ClassVar[tuple[str, ...]] = ("feature_", "default_", "loss_")

    def _learn_at_once(self, data: RankingData) -> None:
        loss = RankingLoss(feedback_of(data), len(data.queries.rows))
        found = [
            loss.best_default(rows, values, data.row_weight[rows])
            for _, rows, values in _columns(data.features, data.queries.rows)
        ]
        self.feature_ = _first_lowest(np.array([lowest for lowest, _ in found]))
        self.loss_, self.default_ = found[self.feature_]

    def _score(self, features: Any) -> Array:
        every = np.arange(features.shape[0], dtype=ROW)
        _, rows, values = next(_columns(features, every, self.feature_))
        return _spread(rows, values, len(every), self.default_)


class RankingLoss:
    """The ranking loss of features that abstain, for all defaults at once (RB Eq. 21).

    What pairs of two ranked rows, and of two missing rows, lose does not depend on the default q. The rest is
    a sum over the ranked rows x: the weight A(x) of pairs with a missing row that belongs below x where
    f(x) < q, the weight B(x) of pairs with one that belongs above x where f(x) > q, half of both where
    f(x) = q.

    Parameters
    ----------
    feedback : Graded, Pairs or FeedbackSum
    n_rows : int
    """

    def __init__(self, feedback: Feedback, n_rows: int) -> None:
        self.n_rows = n_rows
        parts = [
            _LabelPairs(part, n_rows) if isinstance(part, Graded) else _ListedPairs(part) for part in feedback.parts
        ]
        heaviest = max(part.log_heaviest for part in parts)
        self._parts = [(part, part.weights(heaviest)) for part in parts]
        # A feature that ranks nothing ties every pair, so it loses half of what there is.
        self._total = 2 * self._fixed(np.empty(0, ROW), np.empty(0))[0]
        if not self._total > 0:
            raise NoPairsError("There is nothing to rank: no pair of the feedback has a positive weight.")

    def best_default(self, rows: Array, values: Array, weight: Array) -> tuple[float, float]:
        """Return the smallest loss of a feature over all defaults, and the lowest default that has it.

        Parameters
        ----------
        rows, values : ndarray
            The rows that the feature ranks, and its values there.
        weight : ndarray of float64
            Weight of these rows in the average, which is the default where it makes no difference.
        """
        ascending = np.argsort(values, kind="stable")
        rows, values, weight = rows[ascending].astype(ROW), values[ascending], weight[ascending]
        fixed, below, above = self._fixed(rows, values)
        if not (below.any() or above.any()):
            return fixed / self._total, _average(values, weight)
        first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
        below, above = (np.add.reduceat(mass[rows], first) for mass in (below, above))
        lost = np.cumsum(below) - below / 2 + np.cumsum(above[::-1])[::-1] - above / 2
        losses = (fixed + lost) / self._total
        best = _first_lowest(losses)
        return float(losses[best]), float(values[first[best]])

    def _fixed(self, rows: Array, values: Array) -> tuple[float, Array, Array]:
        """Return the loss that no default changes, and A and B of all rows; `values` ascend."""
        field = _spread(rows, values, self.n_rows, np.nan)
        below, above = np.zeros(self.n_rows, SCORE), np.zeros(self.n_rows, SCORE)
        losses = [part.add(weights, rows, field, below, above) for part, weights in self._parts]
        return float(sum(losses)), below, above


class _LabelPairs:
    """The pairs that labels make, none of them written down."""

    def __init__(self, graded: Graded, n_rows: int) -> None:
        self.order = order = LevelOrder.of(graded)
        self.query = np.repeat(order.queries, np.diff(order.start))
        self.place = np.full(n_rows, -1, ROW)
        self.place[order.row] = order.positions
        self.log_heaviest = float(order.log_weight.max())
        new_level = np.append(True, (self.query[1:] != self.query[:-1]) | (np.diff(order.level) != 0))
        edges = np.append(np.flatnonzero(new_level), len(order.row))
        level = np.cumsum(new_level) - 1
        self.level_start, self.level_end = edges[level], edges[level + 1]

    def weights(self, log_unit: float) -> Array:
        """Return factors of positions: the pair of i and j weighs ``factor[i] * order.weight[j]``."""
        factors: Array = self.order.weight * np.exp(self.order.log_weight - log_unit)[self.query]
        return factors

    def add(self, factor: Array, rows: Array, field: Array, below_out: Array, above_out: Array) -> float:
        """Add A and B, and return the loss of pairs of two ranked, and of two missing, rows."""
        order = self.order
        missing = np.isnan(field[order.row])
        passed = np.append(0.0, np.cumsum(np.where(missing, order.weight, 0.0)))
        below = factor * (passed[self.level_start] - passed[order.start[self.query]])
        above = factor * (passed[order.start[self.query + 1]] - passed[self.level_end])
        below_out[order.row] += np.where(missing, 0.0, below)
        above_out[order.row] += np.where(missing, 0.0, above)
        tree = np.zeros(len(order.row), SCORE)
        places = (rows, field, self.place, self.query)
        ranked = _ranked_loss(order.start, order.level, order.weight, factor, *places, tree)
        return float(ranked + below[missing].sum() / 2)


class _ListedPairs:
    """Explicit pairs."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs
        self.log_heaviest = float(np.log(pairs.weight.max()))

    def weights(self, log_unit: float) -> Array:
        """Return the weight of each pair."""
        weights: Array = np.exp(np.log(self.pairs.weight) - log_unit)
        return weights

    def add(self, weight: Array, rows: Array, field: Array, below_out: Array, above_out: Array) -> float:
        """Add A and B, and return the loss of pairs of two ranked, and of two missing, rows."""
        better, worse = self.pairs.better, self.pairs.worse
        high, low = field[better], field[worse]
        no_high, no_low = np.isnan(high), np.isnan(low)
        below_out += np.bincount(better, weight * (no_low & ~no_high), len(field))
        above_out += np.bincount(worse, weight * (no_high & ~no_low), len(field))
        tied = (high == low) | (no_high & no_low)
        return float(np.sum(weight * (high < low)) + np.sum(weight * tied) / 2)


def _columns(features: Any, order: Array, first: int = 0) -> Iterator[tuple[int, Array, Array]]:
    """Yield, from feature `first` on, its number, the places in `order` of its ranked rows, its values."""
    sparse = hasattr(features, "indptr")
    reader = SparseReader.of(features, order) if sparse else DenseReader(Matrix.of(features), order)
    for feature in range(first, features.shape[1]):
        rows, values = reader.column(feature)
        yield feature, rows, np.clip(values.astype(SCORE), -LARGEST, LARGEST)


def _average(values: Array, weight: Array) -> float:
    """Return the weighted mean, 0 where there is no weight."""
    total = weight.sum()
    return float(np.sum(values * weight) / total) if total > 0 else 0.0


def _spread(rows: Array, values: Array, n_rows: int, default: float) -> Array:
    """Return one number for each of `n_rows`: its value, or else the default."""
    field = np.full(n_rows, default, SCORE)
    field[rows] = values
    return field


def _first_lowest(losses: Array) -> int:
    """Return the place of the first loss that is as low as any."""
    return int(np.argmax(losses <= losses.min() + TIE))


@compiled
def _ranked_loss(
    start: Array,
    level: Array,
    weight: Array,
    factor: Array,
    rows: Array,
    field: Array,
    place: Array,
    query: Array,
    tree: Array,
) -> float:
    """Return the loss of pairs of two ranked rows; `rows` ascend in value, `tree` holds zeros.

    Slow line: ``sum(factor[i] * weight[j] * ((v[j] < v[i]) + (v[j] == v[i]) / 2))`` over i and j of a query
    with ``level[i] < level[j]``. Each query has a Fenwick tree of the weights met so far, its highest level
    first; a block of equal values reads it before (stage 0) and after (2) entering its own weights (1).
    """
    loss, begin = 0.0, 0
    while begin < len(rows):
        end = begin
        while end < len(rows) and field[rows[end]] == field[rows[begin]]:
            end += 1
        for stage in range(3):
            for row in rows[begin:end]:
                i = place[row]
                if i < 0:
                    continue
                first, highest = start[query[i]], level[start[query[i] + 1] - 1]
                node = highest - level[i]
                if stage == 1:
                    node += 1
                    while node <= highest + 1:
                        tree[first + node - 1] += weight[i]
                        node += node & -node
                else:
                    while node > 0:
                        loss += 0.5 * factor[i] * tree[first + node - 1]
                        node -= node & -node
        begin = end
    return loss
