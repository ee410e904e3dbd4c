"""Measures of rankings as scikit-learn's search and cross-validation take them: scorers that ask for queries."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metadata_routing import MetadataRequest

from podium._magnitudes import scaled_weight
from podium._types import Learner, MatrixLike
from podium._validation import Array, PodiumError, check_labels, check_queries, check_scores, check_weight
from podium.data import Queries, group_rows
from podium.measures import Measure, measure_queries, parse_measure, weighted_mean
from podium.rankers.query_marks import QueryMarks


class RankingScorer:
    """The mean of a measure over queries, as a scorer: higher is better, so that losses are negated.

    Parameters
    ----------
    measure : str
        Such as "ndcg@10".
    options : dict
        Of `evaluate`: ties, empty, gain, relevant, max_grade, sigma, convention.

    Notes
    -----
    A query of which the estimator has learned from other rows was cut in two by a fold; that is warned of.
    """

    def __init__(self, measure: str | Measure, options: dict[str, object]) -> None:
        self.measure, self.options = parse_measure(measure), options

    def __call__(
        self,
        estimator: Learner,
        X: MatrixLike,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the mean of the measure of the estimator's predictions.

        Parameters
        ----------
        estimator : fitted ranker
            Whose ``predict`` gives scores; of this library or not.
        X, y
            Rows and their labels.
        qid : array-like
            Query of each row.
        sample_weight : array-like, optional
            A query counts as much as the mean weight of its rows.
        """
        if qid is None:
            raise PodiumError(
                f"The scorer of {self.measure} needs qid, the query of each row: switch on routing by "
                "sklearn.set_config(enable_metadata_routing=True) and give qid to fit, or params={'qid': qid} to "
                "cross_validate."
            )
        scores = estimator.predict(X)
        labels, given = check_labels(y, len(scores)), check_scores(scores, len(scores), "predictions")
        queries = group_rows(*check_queries(qid, None, len(scores)))
        _warn_of_cut_queries(estimator, queries, labels[queries.rows])
        found = measure_queries(
            self.measure, labels[queries.rows], given[queries.rows], queries.offsets, **self.options
        )
        mean = weighted_mean(found.values, found.weights * _query_weight(sample_weight, queries))
        return mean if self.measure.higher_is_better else -mean

    def get_metadata_routing(self) -> MetadataRequest:
        """Say that it takes `qid` without being asked to, and no weights unless it is."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="qid", alias=True)
        return request

    def __repr__(self) -> str:
        return f"ranking_scorer({str(self.measure)!r})"


def ranking_scorer(measure: str, **options: object) -> RankingScorer:
    """Return a scorer for ``GridSearchCV(scoring=...)`` and ``cross_validate(scoring=...)``.

    Parameters
    ----------
    measure : str
        Such as "ndcg@10"; losses are negated.
    **options
        Of `evaluate`: ties, empty, gain, relevant, max_grade, sigma, convention.

    Returns
    -------
    RankingScorer

    Examples
    --------
    >>> ranking_scorer("NDCG@10")
    ranking_scorer('ndcg@10')
    """
    return RankingScorer(measure, options)


def _query_weight(sample_weight: ArrayLike | None, queries: Queries) -> Array:
    """Return the mean weight of the rows of each query."""
    n_rows = len(queries.rows)
    weight = scaled_weight(check_weight(sample_weight, n_rows, "sample_weight"))[queries.rows]
    means: Array = np.add.reduceat(weight, queries.offsets[:-1]) / queries.sizes
    return means


def _warn_of_cut_queries(estimator: object, queries: Queries, labels: Array) -> None:
    """Warn where a query to be scored has other rows than the one of that id in the training data."""
    while hasattr(estimator, "steps"):
        estimator = estimator.steps[-1][1]
    learned = getattr(estimator, "_query_marks", None)
    if learned is None:
        return
    cut = learned.cut(QueryMarks.of(queries, labels))
    if cut:
        warnings.warn(
            f"{len(cut)} of {len(queries)} queries to be scored, such as {cut[0]!r}, have other rows in the training "
            "data: the folds cut queries in two; use cv=podium.model_selection.QueryKFold().",
            stacklevel=3,
        )
