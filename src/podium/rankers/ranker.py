"""What rankers of rows within queries share: the gate at `fit`, predictions, quality."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from podium._magnitudes import scaled_weight
from podium._types import Features, MatrixLike, PairsLike, QueryWeight
from podium._validation import Array, PodiumError, check_labels, check_queries, check_weight
from podium.boosting import EvaluationSet, ScoredRound, evaluation_sets
from podium.data import Categories, RankingData, group_rows, warn_of_one_query
from podium.measures import Measure, measure_queries, parse_measure, weighted_mean
from podium.model_file.training_summary import summary_of
from podium.rankers.estimator import Estimator, check_columns, names_of


class Ranker(Estimator):
    """Base of all rankers of rows within queries.

    A ranker implements ``_learn(data, evals, init_model)``, which learns from checked data and sets nothing before it
    has succeeded, and what every `Estimator` implements.
    """

    _by_query: bool = True
    """Whether it matters to learning which rows are of one query."""

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        pairs: PairsLike | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: QueryWeight | None = None,
        eval_set: Sequence[tuple[MatrixLike, ArrayLike]] | None = None,
        eval_qid: Sequence[ArrayLike | None] | None = None,
        eval_group: Sequence[ArrayLike | None] | None = None,
        init_model: Estimator | None = None,
    ) -> Self:
        """Learn to rank.

        Parameters
        ----------
        X : array, frame, table or sparse matrix of shape (n_rows, n_features)
            Features. NaN, or an absent entry of a sparse matrix, means that the feature abstains.
        y : array-like, optional
            Label of each row: any real numbers, higher should stand higher within its query.
        qid : array-like, optional
            Query of each row, of any type and in any order; all rows are one query without it, with a warning for
            more than 1,000 rows of graded labels where queries matter: ``group=[len(y)]`` says that it is meant.
        group : array-like, optional
            Instead of `qid`: sizes of the queries, whose rows stand together.
        pairs : tuple, optional
            (better, worse) or (better, worse, weight): row numbers of X. Added to what the labels say.
        sample_weight : array-like, optional
            Weight of each row; 2 means the row given twice.
        query_weight : mapping or array-like, optional
            Weight of each query, by id; or a value per row, the same within a query.
        eval_set : list of (X, y), optional
            Further data to measure each round on; the last one decides on early stopping.
        eval_qid, eval_group : list, optional
            Queries of each evaluation set; they must be given where those of the training rows are.
        init_model : fitted ranker of the same class, optional
            Go on from its rounds; `n_estimators` counts the rounds in all.

        Returns
        -------
        self
        """
        self._check_parameters()
        data = RankingData.from_arrays(
            X, y, qid=qid, group=group, pairs=self._given_pairs(pairs), sample_weight=sample_weight,
            query_weight=query_weight, categories=self._find_categories(X, init_model),
        )  # fmt: skip
        if self._by_query and not data.queries_given:
            warn_of_one_query(data.labels, "", "group=[{}]")
        evals = _check_evals(eval_set, eval_qid, eval_group, data)
        for number, one in enumerate(evals):
            _check_eval_queries(data, one, number, self._by_query)
        if init_model is not None and hasattr(init_model, "n_features_in_"):
            check_columns(data, init_model.n_features_in_, names_of(init_model), "init_model must have")
        self._learn(data, evals, init_model)
        self._describe(data)
        return self

    def _describe(self, data: RankingData) -> None:
        """Keep what the checked training data says of rows, queries, labels and columns."""
        n_pairs = 0 if data.pairs is None else len(data.pairs.better)
        self.training_summary_ = summary_of(data.features, data.labels, len(data.queries), n_pairs)
        self._describe_columns(data)

    def predict(self, X: MatrixLike) -> Array:
        """Return the score of each row: higher stands higher.

        Scores compare rows of the same query; `qid` is not needed for them.
        """
        return self._score(self._check_rows(X))

    def score(
        self, X: MatrixLike, y: ArrayLike, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the mean of the first `eval_metric` over queries, losses negated: higher is better.

        With `sample_weight`, a query counts as much as the mean weight of its rows. Without `qid` all rows are one
        query, with a warning for more than 1,000 rows of graded labels.
        """
        measure = parse_measure(self._monitor_measures()[0])
        scores = self.predict(X)
        labels = check_labels(y, len(scores))
        if qid is None:
            warn_of_one_query(labels, "", "qid=np.zeros({})")
        queries = group_rows(*check_queries(qid, None, len(scores)))
        found = measure_queries(measure, labels[queries.rows], scores[queries.rows], queries.offsets)
        if found.lacking:
            warnings.warn(f"{measure} is undefined: no query has {found.lacking}.", stacklevel=2)
        weight = scaled_weight(check_weight(sample_weight, len(scores), "sample_weight"))[queries.rows]
        per_query = np.add.reduceat(weight, queries.offsets[:-1]) / queries.sizes
        mean = weighted_mean(found.values, found.weights * per_query)
        return mean if measure.higher_is_better else -mean

    @abstractmethod
    def _learn(self, data: RankingData, evals: list[RankingData], init_model: Estimator | None) -> None:
        """Learn from checked data."""

    def _find_categories(self, X: MatrixLike, init_model: Estimator | None) -> Categories | None:
        """Return the categories of the columns that are categorical; None in a ranker of numbers alone."""
        return None

    def _given_pairs(self, pairs: PairsLike | None) -> PairsLike | None:
        """Return explicit pairs as every ranker takes them; a ranker may know further forms."""
        return pairs

    def _evaluation_sets(
        self, evals: list[RankingData], n_threads: int, start: Callable[[Features], Array | float] = lambda _: 0.0
    ) -> tuple[list[EvaluationSet[ScoredRound]], list[Measure]]:
        """Return the evaluation sets, and the measures of `eval_metric`; `start` gives scores before the rounds."""
        measures = [parse_measure(name) for name in self._monitor_measures()]
        return evaluation_sets(evals, measures, n_threads, start), measures

    def _monitor_measures(self) -> list[str]:
        """Return the names in `eval_metric`, the first of which decides."""
        metric = getattr(self, "eval_metric", "pair_loss")
        return [metric] if isinstance(metric, str) else list(metric)

    def _check_parameters(self) -> None:
        """Check parameters against their declared constraints and the names of measures."""
        super()._check_parameters()
        if not self._monitor_measures():
            raise PodiumError("eval_metric must name at least one measure, such as 'ndcg@10'.")
        for name in self._monitor_measures():
            parse_measure(name)


def _check_evals(eval_set: object, eval_qid: object, eval_group: object, train: RankingData) -> list[RankingData]:
    """Check the evaluation sets and their columns."""
    sets = eval_sets(eval_set)
    ids, groups = (
        one_per_eval_set(eval_qid, len(sets), "eval_qid"),
        one_per_eval_set(eval_group, len(sets), "eval_group"),
    )
    evals = []
    for number, ((X, y), qid, group) in enumerate(zip(sets, ids, groups, strict=True)):
        try:
            data = RankingData.from_arrays(X, y, qid=qid, group=group, categories=train.categories)
        except PodiumError as error:
            raise type(error)(f"eval_set[{number}]: {error}") from None
        names = None if data.feature_names is None else list(data.feature_names)
        check_columns(train, data.features.shape[1], names, f"eval_set[{number}] must have")
        evals.append(data)
    return evals


def _check_eval_queries(train: RankingData, data: RankingData, number: int, by_query: bool) -> None:
    """Refuse an evaluation set without queries beside training rows with some, and the other way round."""
    if train.queries_given and not data.queries_given:
        raise PodiumError(
            f"eval_set[{number}] must have queries, as the training rows have: give eval_qid or eval_group "
            f"(eval_group=[..., [{len(data.queries.rows)}], ...] if its rows are one query)."
        )
    if not by_query:
        return
    if data.queries_given and not train.queries_given and train.labels is not None:
        raise PodiumError(
            f"The training rows must have queries, as eval_set[{number}] has: give qid or group "
            f"(group=[{len(train.labels)}] if they are one query)."
        )
    if not data.queries_given:
        warn_of_one_query(data.labels, f"of eval_set[{number}] ", "eval_group=[..., [{}], ...]", 4)


def eval_sets(eval_set: object) -> list[tuple[MatrixLike, ArrayLike]]:
    """Return the evaluation sets as a list of (X, y)."""
    sets: list[Any] = [] if eval_set is None else list(eval_set) if isinstance(eval_set, Iterable) else [eval_set]
    if isinstance(eval_set, tuple) or not all(isinstance(one, tuple | list) and len(one) == 2 for one in sets):
        raise PodiumError("eval_set must be a list of (X, y), such as [(X_valid, y_valid)].")
    return [(X, y) for X, y in sets]


def one_per_eval_set(beside: object, n_sets: int, name: str) -> list[ArrayLike | None]:
    """Return one entry per evaluation set."""
    if beside is None:
        return [None] * n_sets
    if not isinstance(beside, Sequence | np.ndarray) or isinstance(beside, str):
        raise PodiumError(f"{name} must be a list with an entry per eval_set; got {type(beside).__name__}.")
    if len(beside) != n_sets:
        raise PodiumError(f"{name} must have one entry per eval_set: {n_sets} expected, {len(beside)} given.")
    return list(beside)
