"""What rankers of rows within queries share: the gate at `fit`, predictions, quality."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from podium._magnitudes import scaled_weight
from podium._types import Features, MatrixLike, PairsLike, QueryWeight
from podium._validation import Array, PodiumError, check_labels, check_queries, check_weight
from podium.boosting import EvaluationSet, ScoredRound, evaluation_sets, named_sets
from podium.data import Categories, RankingData, group_rows, warn_of_one_query
from podium.measures import Measure, measure_queries, parse_measure, weighted_mean
from podium.model_file.training_summary import summary_of
from podium.rankers.estimator import Estimator, check_columns, names_of
from podium.rankers.evaluation_data import EvaluationArguments, check_evals
from podium.rankers.lazy_fit import fit_lazily, is_lazy, predict_lazily
from podium.rankers.query_marks import QueryMarks


class Ranker(Estimator):
    """Base of all rankers of rows within queries.

    A ranker implements ``_learn(data, evals, init_model)``, which learns from checked data and sets nothing before it
    has succeeded, and what every `Estimator` implements.
    """

    # Mangled by Python, found by scikit-learn whatever the class is called: `qid` is routed without being asked for.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"qid": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"qid": True}
    _query_marks: QueryMarks | None = None

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
        items: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: QueryWeight | None = None,
        eval_set: Sequence[tuple[MatrixLike, ArrayLike | None]] | None = None,
        eval_qid: Sequence[ArrayLike | None] | None = None,
        eval_group: Sequence[ArrayLike | None] | None = None,
        eval_pairs: Sequence[PairsLike | None] | None = None,
        eval_items: Sequence[ArrayLike | None] | None = None,
        init_model: Estimator | None = None,
        eval_names: Sequence[str] | None = None,
    ) -> Self:
        """Learn to rank.

        Parameters
        ----------
        X : array, frame, table or sparse matrix of shape (n_rows, n_features)
            Features. NaN, or an absent entry of a sparse matrix, means that the feature abstains. For a Dask array or
            dataframe, which y, qid and weights must then be too, see `podium.distributed.fit`.
        y : array-like, optional
            Label of each row: any real numbers, higher should stand higher within its query.
        qid : array-like, optional
            Query of each row, of any type and in any order; all rows are one query without it, with a warning for
            more than 1,000 rows of graded labels where queries matter: ``group=[len(y)]`` says that it is meant.
        group : array-like, optional
            Instead of `qid`: sizes of the queries, whose rows stand together.
        pairs : tuple, list or frame, optional
            What should stand above what: a tuple (better, worse) or (better, worse, weight) of row numbers of X, a list
            with such a tuple for each pair, or a frame with these columns. Added to what the labels say.
        items : array-like, optional
            Id of each row of X; pairs then name rows by them.
        sample_weight : array-like, optional
            Weight of each row; 2 means the row given twice, but where rows are drawn at random, have places in a list
            (measures, `truncation`, softmax) or are counted (`min_child_samples`).
        query_weight : mapping or array-like, optional
            Weight of each query, by id; or a value per row, the same within a query.
        eval_set : list of (X, y), optional
            Further data to measure each round on; the last one decides on early stopping.
        eval_qid, eval_group : list, optional
            Queries of each evaluation set; they must be given where those of the training rows are.
        eval_pairs : list, optional
            Pairs of the rows of each evaluation set, whose labels may then be None; without `eval_set`, pairs of the
            training rows, held out of `pairs`. Measures of pairs are taken of them.
        eval_items : list, optional
            Ids of the rows of each evaluation set, by which its pairs name them.
        init_model : fitted ranker of the same class, optional
            Go on from its rounds; `n_estimators` counts the rounds in all.
        eval_names : list of str, optional
            What the evaluation sets are called in `evals_result_` and in messages; by default validation_0 and so on.

        Returns
        -------
        self
        """
        if is_lazy(X):
            return fit_lazily(
                self, X, y,
                {"qid": qid, "sample_weight": sample_weight, "query_weight": query_weight, "eval_set": eval_set,
                 "eval_qid": eval_qid, "init_model": init_model, "pairs": pairs},
                {"group": group, "items": items, "eval_group": eval_group, "eval_pairs": eval_pairs,
                 "eval_items": eval_items, "eval_names": eval_names},
            )  # fmt: skip
        self._check_parameters()
        data = RankingData.from_arrays(
            X, y, qid=qid, group=group, pairs=self._given_pairs(pairs), sample_weight=sample_weight,
            query_weight=query_weight, categories=self._find_categories(X, init_model),
            items=None if pairs is None and eval_pairs is not None else items,
        )  # fmt: skip
        if self._by_query and not data.queries_given:
            warn_of_one_query(data.labels, "", "group=[{}]")
        given = EvaluationArguments(eval_set, eval_qid, eval_group, eval_pairs, eval_items)
        evals = check_evals(given, data, items, self._by_query)
        if init_model is not None and hasattr(init_model, "n_features_in_"):
            check_columns(data, init_model.n_features_in_, names_of(init_model), "init_model must have")
        self._learn(data, named_sets(evals, eval_names), init_model)
        self._describe(data)
        labels = data.labels if data.queries_given else None
        self._query_marks = None if labels is None else QueryMarks.of(data.queries, labels)
        return self

    def _describe(self, data: RankingData) -> None:
        """Keep what the checked training data says of rows, queries, labels and columns."""
        n_pairs = 0 if data.pairs is None else len(data.pairs.better)
        self.training_summary_ = summary_of(data.features, data.labels, len(data.queries), n_pairs)
        self._describe_columns(data)

    def predict(self, X: MatrixLike) -> Array:
        """Return the score of each row: higher stands higher.

        Scores compare rows of the same query; `qid` is not needed for them. Those of a Dask collection are one too.
        """
        return predict_lazily(self, X) if is_lazy(X) else self._score(self._check_rows(X))

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


def labels_alone(data: RankingData, name: str) -> Array:
    """Return the labels for a ranker, called `name` in errors, that learns from their numbers and from nothing else."""
    if data.labels is None:
        raise PodiumError(f"{name} requires y to be passed, but the target y is None: pairs are not enough.")
    if data.pairs is not None:
        raise PodiumError(f"{name} learns from the numbers in y alone, so pairs must be None.")
    if not data.weights.any():
        raise PodiumError(f"{name} needs a row of positive weight in a query of positive weight; none is.")
    return data.labels
