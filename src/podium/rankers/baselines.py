"""The rankers that RankBoost was first compared with: regression, nearest neighbor and vector similarity.

"RB" is Freund, Iyer, Schapire and Singer (2003), "An efficient boosting algorithm for combining
preferences"; its section 6.2.3 describes all three, and 6.2.6 proposes to average several neighbors. There a row
is a movie, a feature the ratings of one viewer, and the feedback comes from one more viewer, the target. NaN in a
dense X, or an absent entry of a sparse one, is a movie that the viewer did not rate.

In `predict` a value beyond ±1e100, infinity included, counts as ±1e100, so that scores are finite.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from os import PathLike
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from podium._compiled import ROW, SCORE
from podium._magnitudes import LARGEST, check_within
from podium._sparse import is_sparse
from podium._types import Features
from podium._validation import Array, PodiumError
from podium.binning import DenseReader, Matrix, SparseReader
from podium.data import RankingData, feedback_of
from podium.export import Linear
from podium.model_file import Column, Content, Scalar, Schema
from podium.pairs import RankingLoss, average, lowest_first, spread
from podium.rankers.at_once import AtOnceRanker
from podium.rankers.ranker import labels_alone

NEIGHBORS = Schema(
    Column("features", ROW, (0, "last_feature"), "n_neighbors", attribute="features_"),
    Column("defaults", size="n_neighbors", attribute="defaults_"),
    Column("losses", size="n_neighbors", attribute="losses_"),
)
"""What a file keeps of several neighbors, nearest first."""


class _Baseline(AtOnceRanker):
    """A ranker without rounds, by default without parameters."""

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {}

    def __init__(self) -> None:
        pass  # no parameters, said here: the signature of `Estimator.__new__` would take any


class LinearPreference(_Baseline):
    """Scores a row by ``default_ + Σ_i coef_[i] (f_i(x) - averages_[i])`` over the features that rank it."""

    _kept: ClassVar[Schema] = Schema(
        Column("averages_", size="n_features"), Column("coef_", size="n_features"), Scalar("default_", float)
    )
    _by_query = False

    averages_: Array
    coef_: Array
    default_: float

    def _learn_at_once(self, data: RankingData) -> None:
        name = type(self).__name__
        labels, target_weight = labels_alone(data, name), data.weights
        check_within(labels, "y", f"{name}, which computes with its values")
        averages = np.zeros(data.features.shape[1], SCORE)
        for feature, rows, values in _columns(data.features, data.queries.rows):
            if np.abs(values).max(initial=0.0) >= LARGEST:
                raise PodiumError(
                    f"X must lie within ±{LARGEST:g} for {name}, which computes with its values; feature "
                    f"{feature} does not: use NaN for what is missing."
                )
            averages[feature] = average(values, self._average_weight(data)[rows])
        self._learn_labels(data, labels, target_weight, averages)
        self.averages_ = averages

    def _average_weight(self, data: RankingData) -> Array:
        """Return what each row weighs in the averages: rows that were not rated count in them too."""
        return data.row_weight

    def _learn_labels(self, data: RankingData, labels: Array, target_weight: Array, averages: Array) -> None:
        """Learn from the label of each row and its weight, that of its query included."""
        raise TypeError(f"{type(self).__name__} must say how it learns.")

    def _score(self, features: Features) -> Array:
        scores = np.full(features.shape[0], self.default_, SCORE)
        for feature, rows, values in _columns(features, np.arange(features.shape[0], dtype=ROW)):
            scores[rows] += self.coef_[feature] * (values - self.averages_[feature])
        return scores

    def _exported(self) -> Linear:
        intercept = self.default_ - float(self.coef_ @ self.averages_)
        return Linear(self.coef_, self.averages_, intercept, self._names(), type(self).__name__)


class PreferenceRegression(LinearPreference):
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

    def _learn_labels(self, data: RankingData, labels: Array, target_weight: Array, averages: Array) -> None:
        target = np.flatnonzero(target_weight)
        filled = filled_rows(data, target, averages)
        root = np.sqrt(target_weight[target])
        coef = np.linalg.lstsq(filled * root[:, None], labels[target] * root, rcond=None)[0]
        check_within(coef, "The weights of features", "finite scores; give features of a larger scale")
        self.coef_, self.default_ = coef, float(coef @ averages)


class VectorSimilarity(LinearPreference):
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

    def _learn_labels(self, data: RankingData, labels: Array, target_weight: Array, averages: Array) -> None:
        cosines = np.zeros_like(averages)
        weighted = labels * target_weight
        target_norm = np.sqrt(np.sum(weighted * labels))
        for feature, rows, values in _columns(data.features, data.queries.rows):
            norms = target_norm * np.sqrt(np.sum(data.row_weight[rows] * values * values))
            cosines[feature] = np.sum(weighted[rows] * values) / norms if norms > 0 else 0.0
        total = np.abs(cosines).sum()
        self.coef_ = cosines / total if total > 0 else cosines
        self.default_ = average(labels, target_weight)


class NearestNeighbor(_Baseline):
    """The features whose orders are most like the feedback, averaged (NN, RB 6.2.3 and 6.2.6).

    Takes the features f, each with the default score q for rows that it does not rank, of the smallest ranking loss
    ``Σ D(x₀, x₁) ([f(x₁) < f(x₀)] + ½ [f(x₁) = f(x₀)])`` (RB Eq. 21), where D is the distribution over pairs that
    RankBoost starts from. q may be any value of the rating scale, that is, any that some feature has in X. Where q
    makes no difference, above all where the feature ranks every row that is in a pair, q is the feature's average over
    all rows of X that it ranks, weighted by their sample weights. The score is the mean of f(x), or q, over the
    neighbors: of several it depends on the sizes of their values, not on their orders alone (RB 6.2.6).

    Between losses equal to within 1e-12, the feature with the lowest number and its lowest default are taken.
    The time for each feature is O(n log(n F)), no matter how many pairs labels make, and O(m) for m explicit
    pairs.

    Parameters
    ----------
    n_neighbors : int
        Features to average, k in RB 6.2.6; 1 is the nearest alone, as in RB's experiments.

    Attributes
    ----------
    feature_ : int
        Number of the nearest feature.
    default_ : float
        Its q; 0 where the feature ranks no row.
    loss_ : float
        Its ranking loss, with its default, on the training feedback.
    features_, defaults_, losses_ : ndarray of shape (n_neighbors,)
        The same of every neighbor, nearest first.

    Examples
    --------
    >>> X = [[3.0, 1.0], [2.0, float("nan")], [1.0, 3.0]]
    >>> model = NearestNeighbor().fit(X, [0, 1, 1])
    >>> model.feature_, model.default_, model.loss_
    (1, 2.0, 0.0)
    >>> NearestNeighbor(n_neighbors=2).fit(X, [0, 1, 1]).predict([[4.0, float("nan")]]).tolist()
    [3.0]
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    }
    _kept: ClassVar[Schema] = Schema(
        Scalar("feature_", int, (0, "last_feature")), Scalar("default_", float), Scalar("loss_", float)
    )
    _fixed_by_fit: ClassVar[tuple[str, ...]] = ("n_neighbors",)

    def __init__(self, n_neighbors: int = 1) -> None:
        self.n_neighbors = n_neighbors

    def _learn_at_once(self, data: RankingData) -> None:
        n_features = data.features.shape[1]
        if self.n_neighbors > n_features:
            raise PodiumError(
                f"n_neighbors must be at most the number of features, {n_features}; got {self.n_neighbors}."
            )
        loss, scale = RankingLoss(feedback_of(data), len(data.queries.rows)), rating_scale(data.features)
        losses, defaults = np.array(
            [
                loss.best_default(rows, values, data.row_weight[rows], scale)
                for _, rows, values in _columns(data.features, data.queries.rows)
            ]
        ).T
        nearest = lowest_first(losses, self.n_neighbors)
        self._keep(nearest, defaults[nearest], losses[nearest])

    def _keep(self, features: Array, defaults: Array, losses: Array) -> None:
        """Set what a fit, or a file, gives."""
        self.features_, self.defaults_, self.losses_ = features, defaults, losses
        self.feature_, self.default_, self.loss_ = int(features[0]), float(defaults[0]), float(losses[0])

    def _learned(self) -> Content:
        return {**super()._learned(), **(NEIGHBORS.write(self) if len(self.features_) > 1 else {})}

    def _restore(self, content: Content, path: str | PathLike[str]) -> None:
        super()._restore(content, path)
        if self.n_neighbors == 1:
            return self._keep(np.array([self.feature_], ROW), np.array([self.default_]), np.array([self.loss_]))
        columns = NEIGHBORS.read(content, path, self._sizes() | {"n_neighbors": self.n_neighbors})
        return self._keep(*columns.values())

    def _score(self, features: Features) -> Array:
        every, scores = np.arange(features.shape[0], dtype=ROW), np.zeros(features.shape[0], SCORE)
        for feature, default in zip(self.features_.tolist(), self.defaults_.tolist(), strict=True):
            _, rows, values = next(_columns(features, every, feature))
            scores += spread(rows, values, len(every), default) / len(self.features_)
        return scores

    def _exported(self) -> Linear:
        weights, missing = np.zeros(self.n_features_in_), np.zeros(self.n_features_in_)
        weights[self.features_], missing[self.features_] = 1.0 / len(self.features_), self.defaults_
        return Linear(weights, missing, 0.0, self._names(), type(self).__name__)


def filled_rows(data: RankingData, target: Array, averages: Array) -> Array:
    """Return the features of some grouped rows, what is missing filled up with averages."""
    filled = np.empty((len(target), len(averages)), SCORE, order="F")
    for feature, rows, values in _columns(data.features, data.queries.rows):
        filled[:, feature] = spread(rows, values, len(data.queries.rows), averages[feature])[target]
    return filled


def rating_scale(features: Features) -> Array:
    """Return the different values of a matrix, ascending; none where nothing is missing, for no default is needed."""
    stored = features.data if is_sparse(features) else features
    known = ~np.isnan(stored)
    if np.count_nonzero(known) == features.shape[0] * features.shape[1]:
        return np.empty(0, SCORE)
    scale: Array = np.unique(np.clip(stored[known].astype(SCORE), -LARGEST, LARGEST))
    return scale


def _columns(features: Features, order: Array, first: int = 0) -> Iterator[tuple[int, Array, Array]]:
    """Yield, from feature `first` on, its number, the places in `order` of its ranked rows, its values."""
    reader = SparseReader.of(features, order) if is_sparse(features) else DenseReader(Matrix.of(features), order)
    for feature in range(first, features.shape[1]):
        rows, values = reader.column(feature)
        yield feature, rows, np.clip(values.astype(SCORE), -LARGEST, LARGEST)
