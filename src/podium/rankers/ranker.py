"""What every ranker shares: the gate at `fit`, scores, positions, quality, and the file it is saved to."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.validation import check_is_fitted

from podium._compiled import thread_count
from podium._magnitudes import scaled_weight
from podium._validation import (
    Array,
    FormatError,
    PodiumError,
    check_labels,
    check_queries,
    check_weight,
)
from podium.data.categories import Categories, read_features
from podium.data.ranking_data import RankingData, group_rows, warn_of_one_query
from podium.export import Exported, export_model
from podium.measures import measure_queries, parse_measure, weighted_mean
from podium.model_file import MOST_FEATURES, check_whole, to_floats, write_model
from podium.rankers.model_content import kept_parameters, make_ranker, summary_of, take_training, training_content


class Ranker(BaseEstimator):
    """Base of all rankers.

    A ranker implements ``_learn(data, evals, init_model)``, which learns from checked data, and
    ``_score(features)``, which scores a checked matrix; it declares its parameters in
    ``_parameter_constraints``, and what a file must keep of it, numbers and arrays of numbers, in ``_kept``.

    Attributes
    ----------
    training_summary_ : dict
        What it learned from: "rows", "queries", "features", "grades" (different labels) and explicit "pairs".
    """

    _kept: ClassVar[tuple[str, ...]] = ()
    _by_query: bool = True
    """Whether it matters to learning which rows are of one query."""
    _categories: Categories | None = None

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        pairs: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        eval_set: Sequence[tuple[Any, Any]] | None = None,
        eval_qid: Sequence[Any] | None = None,
        eval_group: Sequence[Any] | None = None,
        init_model: Any = None,
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
            X, y, qid=qid, group=group, pairs=pairs, sample_weight=sample_weight, query_weight=query_weight,
            categories=self._find_categories(X, init_model),
        )  # fmt: skip
        if self._by_query and not data.queries_given:
            warn_of_one_query(data.labels, "", "group=[{}]")
        evals = _check_evals(eval_set, eval_qid, eval_group, data)
        for number, one in enumerate(evals):
            _check_eval_queries(data, one, number, self._by_query)
        if hasattr(init_model, "n_features_in_"):
            check_columns(data, init_model.n_features_in_, _names_of(init_model), "init_model must have")
        self._learn(data, evals, init_model)
        n_pairs = 0 if data.pairs is None else len(data.pairs.better)
        self.training_summary_ = summary_of(data.features, data.labels, len(data.queries), n_pairs)
        self.sparse_input_ = sp.issparse(data.features)
        self.n_features_in_ = data.features.shape[1]
        if data.feature_names is not None:
            self.feature_names_in_ = np.array(data.feature_names, object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def predict(self, X: Any) -> Array:
        """Return the score of each row: higher stands higher.

        Scores compare rows of the same query; `qid` is not needed for them.
        """
        return self._score(self._check_rows(X))

    def rank(self, X: Any, qid: Any = None) -> Array:
        """Return the position of each row within its query, 1 for the top, in the caller's row order.

        Rows with equal scores share the best of their positions.
        """
        scores = self._score(self._check_rows(X))
        queries = group_rows(*check_queries(qid, None, len(scores)))
        return queries.to_caller(_positions(scores[queries.rows], queries.offsets))

    def score(self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None) -> float:
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

    def _learn(self, data: RankingData, evals: list[RankingData], init_model: Any) -> None:
        """Learn from checked data."""
        raise TypeError(f"{type(self).__name__} must say how it learns.")

    def _find_categories(self, X: Any, init_model: Any) -> Categories | None:
        """Return the categories of the columns that are categorical; None in a ranker of numbers alone."""
        return None

    def _score(self, features: Any) -> Array:
        """Score a checked matrix."""
        raise TypeError(f"{type(self).__name__} must say how it scores.")

    def _monitor_measures(self) -> list[str]:
        """Return the names in `eval_metric`, the first of which decides."""
        metric = getattr(self, "eval_metric", "pair_loss")
        return [metric] if isinstance(metric, str) else list(metric)

    def _check_parameters(self) -> None:
        """Check parameters against their declared constraints and the names of measures."""
        try:
            self._validate_params()
        except InvalidParameterError as error:
            raise PodiumError(str(error)) from None
        if not self._monitor_measures():
            raise PodiumError("eval_metric must name at least one measure, such as 'ndcg@10'.")
        for name in self._monitor_measures():
            parse_measure(name)
        thread_count(getattr(self, "n_jobs", None))

    def _check_trainable(self) -> None:
        """Refuse, before any work is spent on it, a ranker that cannot be trained, or not be saved once it is."""
        self._check_parameters()
        kept_parameters(self)

    @classmethod
    def _current_parameters(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters of a file as this version writes them."""
        return parameters

    def _check_stopping(self, evals: list[RankingData]) -> None:
        """Refuse early stopping without data to measure."""
        if getattr(self, "early_stopping_rounds", None) is not None and not evals:
            raise PodiumError("early_stopping_rounds needs an eval_set to measure each round on.")

    def _check_rows(self, X: Any) -> Any:
        """Return a matrix to be scored, with the columns that the fit had."""
        check_is_fitted(self)
        features, names = read_features(X, self._categories)
        known = getattr(self, "feature_names_in_", None)
        if known is not None and names is not None and list(names) != known.tolist():
            raise PodiumError(_name_difference(known.tolist(), list(names)))
        if features.shape[1] != self.n_features_in_:
            raise PodiumError(
                f"X has {features.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return features

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted ranker to a file, for `podium.load`; an old file stays whole if this fails."""
        write_model(path, self.content())

    def content(self) -> dict[str, Any]:
        """Return what a model file keeps of the fitted ranker, for `from_content`."""
        check_is_fitted(self)
        learned = self._learned()
        return {
            "ranker": type(self).__name__,
            "parameters": kept_parameters(self),
            "n_features": self.n_features_in_,
            "feature_names": _names_of(self),
            "sparse_input": self.sparse_input_,
            "training": training_content(self),
            "learned": learned,
        }

    @classmethod
    def from_content(cls, content: dict[str, Any], path: str | PathLike[str]) -> Self:
        """Return the fitted ranker that a model file holds."""
        ranker = make_ranker(cls, content.get("parameters"), path)
        n_features = check_whole(content.get("n_features"), path, "n_features", 1, MOST_FEATURES)
        ranker.n_features_in_ = n_features
        if not isinstance(content.get("sparse_input"), bool):
            raise FormatError(path, "sparse_input must be true or false")
        ranker.sparse_input_ = content["sparse_input"]
        names = content.get("feature_names")
        if names is not None:
            if not isinstance(names, list) or len(names) != n_features or not all(isinstance(n, str) for n in names):
                raise FormatError(path, f"feature_names must be a list of {n_features} names")
            ranker.feature_names_in_ = np.array(names, object)
        learned = content.get("learned")
        ranker._restore(learned if isinstance(learned, dict) else {}, path)
        take_training(ranker, content.get("training", {}), path)
        return ranker

    def _learned(self) -> dict[str, Any]:
        """Return what was learned, as `write_model` takes it: by default the numbers and arrays named in `_kept`."""
        return {name: getattr(self, name) for name in self._kept}

    def _restore(self, content: dict[str, Any], path: str | PathLike[str]) -> None:
        """Take back what `_learned` returned; arrays keep kind and shape, and protocol 1 wrote them as lists."""
        for name in self._kept:
            value = content.get(name)
            if isinstance(value, list):
                value = to_floats(value, path, name)
            elif not isinstance(value, int | float | np.ndarray):
                raise FormatError(path, f"{name} is missing")
            setattr(self, name, value)

    def export(
        self, path: str | PathLike[str], format: str, *, feature_names: Sequence[str] | None = None, **options: Any
    ) -> None:
        """Write the fitted ranker to a file that other programs score with; an old file stays whole if this fails.

        What the format cannot express is refused. `podium.export_report` says what would change there.

        Parameters
        ----------
        path : str or path-like
        format : {"ranklib", "xgboost-json", "lightgbm", "solr", "onnx", "sql", "python", "scorecard"}
        feature_names : sequence of str, optional
            Names of the features in the file; by default those of the fit, or f0, f1 and so on.
        **options
            ``missing`` (ranklib, xgboost-json, solr) is what the reader does with missing values: "child" (goes where
            the model sends it), "zero" (counts as 0), "right" (goes right), or "absent" (there never are any); a model
            that differs is refused. ``name`` and ``store`` (solr) name the model and its feature store. ``layout``
            (scorecard) is "csv" or "html", by default the file's ending.
        """
        check_is_fitted(self)
        export_model(self._exported(), path, format, feature_names, **options)

    def _exported(self) -> Exported:
        """Return the fitted ranker as a sum of trees or of features, or refuse it with the reason."""
        raise PodiumError(f"{type(self).__name__} is neither a sum of trees nor of features, so no format can hold it.")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def name_tuple(ranker: Any) -> tuple[str, ...] | None:
    """Return the feature names that a fitted ranker has, for a record that is exported."""
    names = _names_of(ranker)
    return None if names is None else tuple(names)


def _names_of(ranker: Any) -> list[str] | None:
    """Return the feature names that a fitted ranker has, if any."""
    names = getattr(ranker, "feature_names_in_", None)
    return None if names is None else names.tolist()


def check_columns(data: Any, n_features: int, names: list[str] | None, start: str) -> None:
    """Refuse data whose columns are other ones in number or name."""
    if data.features.shape[1] != n_features:
        raise PodiumError(f"{start} the columns of X: {data.features.shape[1]} expected, {n_features} given.")
    if data.feature_names is not None and names is not None and list(data.feature_names) != names:
        raise PodiumError(
            f"{start} the columns of X, in their order. {_name_difference(list(data.feature_names), names)}"
        )


def check_rounds_before(n_before: int, n_rounds: int) -> None:
    """Refuse to go on from a model with more rounds than there are to be in all."""
    if n_before > n_rounds:
        raise PodiumError(
            f"init_model has {n_before} rounds already; n_estimators, the rounds in all, must be at least that: "
            f"got {n_rounds}."
        )


def _check_evals(eval_set: Any, eval_qid: Any, eval_group: Any, train: RankingData) -> list[RankingData]:
    """Check the evaluation sets and their columns."""
    sets = eval_sets(eval_set)
    ids, groups = one_each(eval_qid, len(sets), "eval_qid"), one_each(eval_group, len(sets), "eval_group")
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


def eval_sets(eval_set: Any) -> list[tuple[Any, Any]]:
    """Return the evaluation sets as a list of (X, y)."""
    sets = [] if eval_set is None else list(eval_set) if isinstance(eval_set, Iterable) else [eval_set]
    if isinstance(eval_set, tuple) or not all(isinstance(one, tuple | list) and len(one) == 2 for one in sets):
        raise PodiumError("eval_set must be a list of (X, y), such as [(X_valid, y_valid)].")
    return [(X, y) for X, y in sets]


def one_each(beside: Any, n_sets: int, name: str) -> list[Any]:
    """Return one entry per evaluation set."""
    if beside is None:
        return [None] * n_sets
    if not isinstance(beside, Sequence | np.ndarray) or isinstance(beside, str):
        raise PodiumError(f"{name} must be a list with an entry per eval_set; got {type(beside).__name__}.")
    if len(beside) != n_sets:
        raise PodiumError(f"{name} must have one entry per eval_set: {n_sets} expected, {len(beside)} given.")
    return list(beside)


def _name_difference(known: list[str], given: list[str]) -> str:
    """Say how the given column names differ from those of the fit."""
    lacking = [name for name in known if name not in given]
    extra = [name for name in given if name not in known]
    start = "The feature names should match those that were passed during fit"
    if lacking:
        return f"{start}: {lacking[0]!r} is missing ({len(lacking)} such name(s))."
    if extra:
        return f"{start}: {extra[0]!r} is not known ({len(extra)} such name(s))."
    return f"{start}: they stand in another order."


def _positions(scores: Array, offsets: Array) -> Array:
    """Return 1 + the number of rows of the query with a higher score."""
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((-scores, query))
    starts = np.ones(len(scores), bool)
    starts[1:] = (query[order][1:] != query[order][:-1]) | (scores[order][1:] != scores[order][:-1])
    first = np.maximum.accumulate(np.where(starts, np.arange(len(scores)), 0))
    positions = np.empty(len(scores), np.int64)
    positions[order] = 1 + first - offsets[:-1][query[order]]
    return positions
