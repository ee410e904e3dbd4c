"""Selection of features by their importance in boosted stumps (Pan et al. 2009; Friedman 2001, section 8)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from podium._types import MatrixLike, QueryWeight
from podium._validation import Array
from podium.data import RankingData
from podium.rankers import MART, LambdaMART
from podium.selection.halves import fit_ranker
from podium.selection.selector import RankingSelector, largest_first, number_to_select

LOSSES = {"squared": MART, "lambda": LambdaMART}
"""The boosted trees of each loss."""


class BoostedStumpSelector(RankingSelector):
    """Chooses the features that boosted stumps gain most by.

    Boosts trees of two leaves. The squared influence of feature j is the mean over the stumps of the gain of those that
    split j (Friedman 2001, Eqs. 44 and 45, where the gain is the fall of the squared error; with ``loss="lambda"`` that
    of the second-order model of the loss). Importance is its square root, in percent of the largest. Pan, Converse,
    Ahn, Salvetti and Donato (2009), "Feature selection for ranking using boosted trees", select by it; their paper was
    not at hand, so that stumps and the fixed number of features are what was built.

    Missing values go to the side of each split that gains more, and sparse matrices are taken as the trees take them.

    Parameters
    ----------
    n_features_to_select : int, optional
        At most so many; by default half of the features. A feature that no stump splits is never chosen.
    n_estimators : int
        Stumps.
    learning_rate : float
        Factor on each of them.
    loss : {"squared", "lambda"}
        Squared error of the labels (`MART`), or NDCG's λ (`LambdaMART`).
    min_child_samples : int
        Rows of a leaf, at least.
    n_jobs : int, optional
        Threads; the choice does not depend on their number.

    Attributes
    ----------
    support_ : ndarray of bool
        Whether each feature was chosen.
    importances_ : ndarray of float
        Importance of each feature, 100 for the largest; 0 where no stump splits it.
    order_ : ndarray of int
        The chosen features, the most important first.
    n_features_in_, feature_names_in_
        As scikit-learn has them.

    Examples
    --------
    >>> from podium import BoostedStumpSelector, make_search
    >>> train = make_search(n_queries=30, random_state=0)
    >>> selector = BoostedStumpSelector(4, n_estimators=20).fit(train.X, train.y, qid=train.qid)
    >>> selector.transform(train.X).shape[1]
    4
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        "n_features_to_select": [Interval(Integral, 1, None, closed="left"), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, 100, closed="right")],
        "loss": [StrOptions(set(LOSSES))],
        "min_child_samples": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_features_to_select: int | None = None,
        *,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        loss: str = "squared",
        min_child_samples: int = 20,
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.loss = loss
        self.min_child_samples = min_child_samples
        self.n_jobs = n_jobs

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: QueryWeight | None = None,
    ) -> Self:
        """Boost stumps and choose features.

        Parameters
        ----------
        X : array, frame, table or sparse matrix of shape (n_rows, n_features)
            Features. NaN, or an absent entry of a sparse matrix, is missing.
        y : array-like
            Label of each row: higher should stand higher within its query.
        qid, group : array-like, optional
            Queries, as every ranker takes them.
        sample_weight, query_weight : optional
            Weights of rows and of queries, as every ranker takes them.

        Returns
        -------
        self
        """
        self._fit(X, y, qid, group, sample_weight, query_weight)
        return self

    def _choose(self, data: RankingData, labels: Array) -> Array:
        n_selected = number_to_select(self.n_features_to_select, data.features.shape[1])
        trees = LOSSES[self.loss](
            self.n_estimators, max_leaves=2, learning_rate=self.learning_rate, n_jobs=self.n_jobs,
            min_child_samples=self.min_child_samples,
        )  # fmt: skip
        shares = fit_ranker(trees, data, labels, np.arange(len(labels))).feature_importances_
        importances = 100.0 * np.sqrt(shares / max(float(shares.max()), np.finfo(float).tiny))
        order = largest_first(importances, n_selected)
        chosen: Array = order[importances[order] > 0]
        self.importances_, self.order_ = importances, chosen
        return chosen
