"""What every estimator of the library shares: columns, scores, positions, and the files it is saved and exported to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from os import PathLike
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from podium._sparse import is_sparse
from podium._types import Features, MatrixLike
from podium._validation import Array, PodiumError, check_queries
from podium.data import Categories, group_rows, read_features
from podium.export import Exported, Writable, export_model, options_for_complete_rows
from podium.model_file import MOST_FEATURES, Column, Content, Scalar, Schema, write_model
from podium.model_file.saved_rankers import kept_parameters, make_ranker
from podium.model_file.training_summary import take_training, training_content
from podium.rankers.checked_parameters import CheckedParameters
from podium.rankers.explained import Explained
from podium.rankers.other_spellings import OURS, check_parameter_names

COLUMNS = Schema(
    Scalar("n_features", int, (1, MOST_FEATURES), attribute="n_features_in_"),
    Scalar("sparse_input", bool, attribute="sparse_input_"),
    Column("feature_names", str, size="n_features", attribute="feature_names_in_", optional=True),
)
"""What a file keeps of the columns of the training data."""


class Table(Protocol):
    """Checked training data, of rankers or of ordinal rankers."""

    @property
    def features(self) -> Features:
        """Matrix, dense or sparse by columns."""

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns, if they have any."""


class Estimator(Explained, CheckedParameters, ABC):
    """What has columns, scores rows, is saved and exported.

    An estimator implements ``_score(features)``, which scores a checked matrix; it declares its parameters in
    ``_parameter_constraints``, what a file must keep of what it learned in the fields of ``_kept``, and in
    ``_fixed_by_fit`` the parameters without which what it learned cannot be read, so that they must stay as they were.

    Attributes
    ----------
    training_summary_ : dict
        What it learned from: "rows", "queries", "features", "grades" (different labels), explicit "pairs", and
        "missing" values of features (models that an earlier version saved lack the last).
    """

    _kept: ClassVar[Schema] = Schema()
    _fixed_by_fit: ClassVar[tuple[str, ...]] = ()
    _fixed: dict[str, object]
    _categories: Categories | None = None
    training_summary_: dict[str, int]

    def __new__(cls, *_: Any, **given: Any) -> Self:
        """Answer the spellings of other libraries with ours; what else is not known, Python refuses by itself."""
        theirs = [name for name in given if name in OURS]
        if theirs:
            check_parameter_names(cls.__name__, theirs, cls._get_param_names())
        made: Self = super().__new__(cls)
        return made

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; those of a ranker inside it as ``estimator__name``."""
        check_parameter_names(type(self).__name__, params, self._get_param_names())
        super().set_params(**params)
        return self

    @abstractmethod
    def _score(self, features: Features) -> Array:
        """Score a checked matrix."""

    def rank(self, X: MatrixLike, qid: ArrayLike | None = None) -> Array:
        """Return the position of each row within its query, 1 for the top, in the caller's row order.

        Rows with equal scores share the best of their positions.
        """
        scores = self._score(self._check_rows(X))
        queries = group_rows(*check_queries(qid, None, len(scores)))
        return queries.to_caller(_positions(scores[queries.rows], queries.offsets))

    def _check_trainable(self) -> None:
        """Refuse, before any work is spent on it, a ranker that cannot be trained, or not be saved once it is."""
        self._check_parameters()
        kept_parameters(self)

    def _names(self) -> tuple[str, ...] | None:
        """Return the names of the columns of the fit, if they had any."""
        names = names_of(self)
        return None if names is None else tuple(names)

    def _keep_fixed(self) -> None:
        """Keep the parameters that must stay as they are from now on."""
        self._fixed = {name: getattr(self, name) for name in self._fixed_by_fit}

    def _check_fixed(self) -> None:
        """Refuse a fitted ranker whose parameters no longer are those of what it learned."""
        for name, fitted in getattr(self, "_fixed", {}).items():
            if (given := getattr(self, name)) != fitted:
                raise PodiumError(
                    f"{name} must be {fitted!r}, as it was when {type(self).__name__} was fitted; got {given!r}: "
                    "fit it again, or set it back."
                )

    def _check_fitted(self) -> None:
        """Refuse a ranker that is not fitted, or not with the parameters that it has now."""
        check_is_fitted(self)
        self._check_fixed()

    def _describe_columns(self, data: Table) -> None:
        """Keep what the checked training data says of columns."""
        self._keep_fixed()
        self.sparse_input_ = is_sparse(data.features)
        self.n_features_in_ = data.features.shape[1]
        if data.feature_names is not None:
            self.feature_names_in_ = np.array(data.feature_names, object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _check_rows(self, X: MatrixLike) -> Features:
        """Return a matrix to be scored, with the columns that the fit had."""
        if not hasattr(self, "n_features_in_"):  # scikit-learn's check takes as long as a hundred trees of one row
            check_is_fitted(self)
        self._check_fixed()
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

    def content(self) -> Content:
        """Return what a model file keeps of the fitted ranker, for `from_content`."""
        self._check_fitted()
        self._check_parameters()
        learned = self._learned()
        return {
            "ranker": type(self).__name__,
            "parameters": kept_parameters(self),
            **COLUMNS.write(self),
            "training": training_content(self),
            "learned": learned,
        }

    @classmethod
    def from_content(cls, content: Content, path: str | PathLike[str]) -> Self:
        """Return the fitted ranker that a model file holds."""
        ranker = make_ranker(cls, content.get("parameters"), path)
        COLUMNS.restore(ranker, content, path, {})
        ranker._keep_fixed()
        learned = content.get("learned")
        ranker._restore(learned if isinstance(learned, dict) else {}, path)
        take_training(ranker, content.get("training"), path)
        return ranker

    def _sizes(self) -> dict[str, int]:
        """Return the bounds and sizes that fields of its file name."""
        return {"n_features": self.n_features_in_, "last_feature": self.n_features_in_ - 1}

    def _learned(self) -> Content:
        """Return what was learned, as `write_model` takes it: by default the fields of `_kept`."""
        return self._kept.write(self)

    def _restore(self, content: Content, path: str | PathLike[str]) -> None:
        """Take back what `_learned` returned, each value checked."""
        self._kept.restore(self, content, path, self._sizes())

    def export(
        self, path: str | PathLike[str], format: str, *, feature_names: Sequence[str] | None = None, **options: Any
    ) -> None:
        """Write the fitted ranker to a file that other programs score with; an old file stays whole if this fails.

        What the format cannot express is refused; ordinal rankers, which predict grades, can be written as onnx, sql
        and python. `podium.export_report` says what would change there.

        Parameters
        ----------
        path : str or path-like
        format : {"ranklib", "xgboost-json", "lightgbm", "solr", "onnx", "sql", "python", "scorecard"}
        feature_names : sequence of str, optional
            Names of the features in the file; by default those of the fit, or f0, f1 and so on.
        **options
            ``missing`` (ranklib, xgboost-json, solr) is what the reader does with missing values: "child" (goes where
            the model sends it), "zero" (counts as 0), "right" (goes right), or "absent" (there never are any); a model
            that differs is refused. Where no value was missing in training, "absent" is taken, with a warning, for a
            model that the default would refuse. ``name`` and ``store`` (solr) name the model and its feature store.
            ``layout`` (scorecard) is "csv" or "html", by default the file's ending.
        """
        self._check_fitted()
        record = self._export_record()
        if getattr(self, "training_summary_", {}).get("missing") == 0:
            options = options_for_complete_rows(record, format, options)
        export_model(record, path, format, feature_names, **options)

    def _export_record(self) -> Writable:
        """Return the fitted ranker as formats write it, or refuse it with the reason."""
        return self._exported()

    def _export_values(self, features: Features) -> Array:
        """Return what an exported file would say of rows, as numbers: scores, or grades 0 … K-1."""
        return self._score(features)

    def _exported(self) -> Exported:
        """Return the fitted ranker as a sum of trees or of features, or refuse it with the reason."""
        raise PodiumError(f"{type(self).__name__} is neither a sum of trees nor of features, so no format can hold it.")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def names_of(ranker: object) -> list[str] | None:
    """Return the feature names that a fitted ranker has, if any."""
    names = getattr(ranker, "feature_names_in_", None)
    return None if names is None else list(names)


def check_columns(data: Table, n_features: int, names: list[str] | None, start: str) -> None:
    """Refuse data whose columns are other ones in number or name."""
    if data.features.shape[1] != n_features:
        raise PodiumError(f"{start} the columns of X: {data.features.shape[1]} expected, {n_features} given.")
    if data.feature_names is not None and names is not None and list(data.feature_names) != names:
        raise PodiumError(
            f"{start} the columns of X, in their order. {_name_difference(list(data.feature_names), names)}"
        )


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
