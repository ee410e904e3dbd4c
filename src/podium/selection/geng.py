"""Selection of features that are good and unlike each other.

Geng, Liu, Qin and Li (2007), "Feature selection for ranking", propose it. Their paper was not at hand; the definition
that was built is the one that the docstring of `GengSelector` states.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from podium._compiled import run_threads, thread_count
from podium._types import MatrixLike, QueryWeight
from podium._validation import Array
from podium.data import RankingData
from podium.measures import parse_measure
from podium.selection.selector import RankingSelector, number_to_select
from podium.selection.similarity import SIMILARITIES, FeatureRankings


class GengSelector(RankingSelector):
    """Chooses features of high importance and low similarity to each other, one after the other.

    Importance w_i is the quality of the ranking by feature i alone, by a measure; similarity e_ij says how alike
    features i and j rank within queries. Sought is the set S of k features of the largest
    ``Σ_{i in S} w_i - c Σ_{i in S} Σ_{j in S, j ≠ i} e_ij``. As in Geng et al. (2007) it is built greedily: take the
    feature of the largest w, lower the w_j of every other by 2 c e_ij, and so on; of equal ones the lowest number.

    A missing value counts as the feature's average. Time is O(F n log n) for importances and O(k F n log n) for
    similarities.

    Parameters
    ----------
    n_features_to_select : int, optional
        k; by default half of the features.
    measure : str
        Of importance, such as "ndcg@10" or "map"; a loss counts negated.
    trade_off : float
        c, how much similarity counts against importance.
    direction : {"better", "higher"}
        Whether a feature may rank with its lowest value on top where that is better, as in the paper; or its highest
        value always stands on top. Similarities are those of the values as given.
    similarity : {"tau", "absolute", "concordant"}
        Kendall's τ within queries, ties counting 0; the absolute value of its mean over queries, which goes with
        ``direction="better"``, where a feature turned round says the same; or the share of pairs of rows that both
        features put in the same order.
    n_jobs : int, optional
        Threads; the choice does not depend on their number.

    Attributes
    ----------
    support_ : ndarray of bool
        Whether each feature was chosen.
    order_ : ndarray of int
        The chosen features in the order in which they were taken.
    gains_ : ndarray of float
        What each of them added to the objective: its w, lowered by those before it.
    importances_ : ndarray of float
        w of each feature.
    directions_ : ndarray of float
        1 where the feature's highest value stands on top, -1 where its lowest does.
    n_features_in_, feature_names_in_
        As scikit-learn has them.

    Examples
    --------
    >>> from podium import GengSelector, make_search
    >>> train = make_search(n_queries=30, random_state=0)
    >>> selector = GengSelector(4, trade_off=0.1).fit(train.X, train.y, qid=train.qid)
    >>> selector.transform(train.X).shape[1]
    4
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        "n_features_to_select": [Interval(Integral, 1, None, closed="left"), None],
        "measure": [str],
        "trade_off": [Interval(Real, 0, None, closed="left")],
        "direction": [StrOptions({"better", "higher"})],
        "similarity": [StrOptions(set(SIMILARITIES))],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_features_to_select: int | None = None,
        *,
        measure: str = "pair_loss",
        trade_off: float = 0.1,
        direction: str = "better",
        similarity: str = "absolute",
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.measure = measure
        self.trade_off = trade_off
        self.direction = direction
        self.similarity = similarity
        self.n_jobs = n_jobs

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        query_weight: QueryWeight | None = None,
    ) -> Self:
        """Choose features.

        Parameters
        ----------
        X : array, frame, table or sparse matrix of shape (n_rows, n_features)
            Features. NaN, or an absent entry of a sparse matrix, is missing.
        y : array-like
            Label of each row: higher should stand higher within its query.
        qid, group : array-like, optional
            Queries, as every ranker takes them.
        query_weight : mapping or array-like, optional
            Weight of each query, by id; or a value per row, the same within a query.

        Returns
        -------
        self
        """
        self._fit(X, y, qid, group, None, query_weight)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        parse_measure(self.measure)

    def _choose(self, data: RankingData, labels: Array) -> Array:
        n_selected = number_to_select(self.n_features_to_select, data.features.shape[1])
        rankings = FeatureRankings(data)
        importances, directions = self._importances(rankings, labels)
        order, gains = self._greedy(rankings, importances, n_selected)
        self.importances_, self.directions_ = importances, directions
        self.order_, self.gains_ = order, gains
        return order

    def _importances(self, rankings: FeatureRankings, labels: Array) -> tuple[Array, Array]:
        """Return w of each feature and the sign by which it ranks."""
        measure, signs = parse_measure(self.measure), (1.0, -1.0) if self.direction == "better" else (1.0,)
        calls = [(feature, measure, labels, sign) for feature in range(len(rankings.columns)) for sign in signs]
        found = run_threads(rankings.quality, calls, thread_count(self.n_jobs))
        qualities = np.array(found).reshape(-1, len(signs))
        best = np.argmax(qualities, axis=1)
        return qualities[np.arange(len(best)), best], np.array(signs)[best]

    def _greedy(self, rankings: FeatureRankings, importances: Array, n_selected: int) -> tuple[Array, Array]:
        """Return the features in the order in which they are taken, and what each adds to the objective."""
        weights, order, gains = importances.copy(), [], []
        left = np.ones(len(weights), bool)
        for _ in range(n_selected):
            best = int(np.argmax(np.where(left, weights, -np.inf)))
            left[best] = False
            order.append(best)
            gains.append(weights[best])
            others = np.flatnonzero(left) if len(order) < n_selected else np.empty(0, int)
            calls = [(best, other, self.similarity) for other in others.tolist()]
            alike = np.array(run_threads(rankings.similarity, calls, thread_count(self.n_jobs)))
            weights[others] -= 2.0 * self.trade_off * alike
        return np.array(order), np.array(gains)
