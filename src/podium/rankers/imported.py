"""Rankers that other programs have trained: LightGBM, XGBoost, RankLib."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from podium._compiled import ROW, SCORE, thread_count
from podium._sparse import dense_rows, take_rows
from podium._validation import Array, Features, FormatError, MatrixLike, PodiumError
from podium.data import RankingData
from podium.export.ensemble import Linear, TreeSum
from podium.importing import ForeignColumns, Imported, Reading, read_foreign
from podium.model_file import MOST_FEATURES, Column, Content, Scalar, Schema
from podium.rankers.boosted_trees import gain_shares
from podium.rankers.estimator import Estimator
from podium.rankers.ranker import Ranker
from podium.trees import Forest, RegressionTree, trees_from_columns, trees_to_columns

READING = Schema(
    Column("zero_as_missing", ROW, (0, "last_feature")), Scalar("absent_as_zero", bool), Scalar("float32", bool)
)
"""What a file keeps of how the other program reads features."""
LARGEST_FLOAT32 = float(np.finfo(np.float32).max)
"""Values beyond ± this count as it where a program reads features as float32, so that scores are finite."""


def import_model(
    path: str | PathLike[str],
    format: str = "auto",
    *,
    feature_names: Iterable[str] | None = None,
    n_features: int | None = None,
) -> ImportedTrees | ImportedLinear:
    """Return a model that another program has trained as a fitted ranker.

    It scores as that program does, and can be evaluated, compared, blended, saved, exported, and given to
    `LambdaMART` or `MART` as ``init_model``.

    Parameters
    ----------
    path : str or path-like
        The file.
    format : {"auto", "lightgbm", "xgboost", "xgboost-json", "ranklib"}
        LightGBM's text; XGBoost's model file, JSON or UBJSON; XGBoost's dump in JSON; RankLib's file of MART,
        LambdaMART, Random Forests, RankBoost, AdaRank, Coordinate Ascent or Linear Regression. By default told
        by how the file begins.
    feature_names : iterable of str, optional
        Names of all columns in their order, instead of those in the file. A dump of XGBoost with names of its
        own needs them.
    n_features : int, optional
        Number of columns. RankLib's files and dumps say only which features they use; without this, the last
        one used is taken for the last column.

    Returns
    -------
    ImportedTrees or ImportedLinear
    """
    imported = read_foreign(path, format, _check_columns(feature_names, n_features))
    ranker = ImportedLinear if isinstance(imported.model, Linear) else ImportedTrees
    return ranker._of(imported)


def _check_columns(feature_names: Iterable[str] | None, n_features: object) -> ForeignColumns:
    """Return what the caller says of the columns."""
    names = None if feature_names is None else tuple(feature_names)
    if names is not None and (isinstance(feature_names, str) or not all(isinstance(name, str) for name in names)):
        got = repr(feature_names if isinstance(feature_names, str) else list(names))
        raise PodiumError(f"feature_names must be a list of strings, one for each column; got {got}.")
    if names is not None and len(set(names)) < len(names):
        twice = next(name for number, name in enumerate(names) if name in names[:number])
        raise PodiumError(f"feature_names must be different from each other; {twice!r} is there twice.")
    number: Any = n_features if names is None else len(names)
    if number is not None and (isinstance(number, bool) or not isinstance(number, Integral) or number < 1):
        raise PodiumError(f"n_features must be a positive integer; got {number!r}.")
    if number is not None and int(number) > MOST_FEATURES:
        raise PodiumError(f"n_features must be at most {MOST_FEATURES}, the most that a model can have; got {number}.")
    if n_features not in (None, number):
        raise PodiumError(f"n_features must be the number of feature_names, {number}; got {n_features!r}.")
    return ForeignColumns(names, None if number is None else int(number))


class ImportedRanker(Ranker):
    """What rankers of other programs share: they cannot be trained, and know where they come from.

    Parameters
    ----------
    eval_metric : str or list of str
        The first one is what `score` returns.
    n_jobs : int, optional
        Threads of `predict`.
    """

    _parameter_constraints: dict[str, list[object]] = {  # noqa: RUF012
        "eval_metric": [str, list, tuple],
        "n_jobs": [Integral, None],
    }

    def __init__(self, *, eval_metric: str | list[str] = "ndcg@10", n_jobs: int | None = None) -> None:
        self.eval_metric = eval_metric
        self.n_jobs = n_jobs

    @classmethod
    def _of(cls, imported: Imported) -> Self:
        """Return the fitted ranker of what a file of another program gave."""
        ranker = cls()
        ranker.n_features_in_ = imported.model.n_features
        ranker.sparse_input_ = False
        if imported.model.feature_names is not None:
            ranker.feature_names_in_ = np.array(imported.model.feature_names, object)
        ranker._keep(imported)
        return ranker

    def _keep(self, imported: Imported) -> None:
        """Set what scoring needs."""
        self.source_, self._reading = imported.source, imported.reading

    def _learn(self, data: RankingData, evals: list[RankingData], init_model: Estimator | None) -> NoReturn:
        self._check_trainable()

    def _check_trainable(self) -> NoReturn:
        raise PodiumError(
            f"{type(self).__name__} cannot be trained, it is read by import_model; to learn on from its scores, "
            "give it to LambdaMART().fit as init_model."
        )

    def _score(self, features: Features) -> Array:
        return np.concatenate([self._score_part(part).astype(SCORE) for part in self._reading.parts(features)])

    def _rows_as_read(self, features: Features, rows: Array) -> Array:
        return np.concatenate([dense_rows(part) for part in self._reading.parts(take_rows(features, rows))])

    def _score_part(self, features: Features) -> Array:
        """Score rows as the other program reads them."""
        raise TypeError(f"{type(self).__name__} must say how it scores.")

    def _learned(self) -> Content:
        return {**super()._learned(), "source": self.source_, "reading": READING.write(self._reading)}

    def _origin(self, content: Content, path: str | PathLike[str]) -> tuple[Reading, dict[str, str]]:
        """Return reading and source as a file of ours holds them."""
        source, reading = content.get("source"), content.get("reading")
        if not isinstance(source, dict) or not all(isinstance(text, str) for item in source.items() for text in item):
            raise FormatError(path, "the source of the imported model must be strings by name")
        found = READING.read(reading, path, self._sizes())
        if np.any(np.diff(found["zero_as_missing"]) <= 0):
            raise FormatError(path, "zero_as_missing must be different columns in their order")
        return Reading(**found | {"zero_as_missing": tuple(found["zero_as_missing"].tolist())}), source


class ImportedTrees(ImportedRanker):
    """A sum of trees that another program has trained; made by `podium.import_model`, not by `fit`.

    Parameters
    ----------
    eval_metric : str or list of str
        The first one is what `score` returns.
    n_jobs : int, optional
        Threads of `predict`.

    Attributes
    ----------
    trees_ : list of RegressionTree
        All trees of the file. Thresholds say ``x <= threshold`` of a float64 x what the other program says of it,
        so those of programs that round x to float32 are not the numbers in the file but the ends of that rounding.
    best_iteration_ : int
        Trees that `predict` uses: up to the best round, where the file names one.
    base_score_ : float
        Score before the first tree.
    feature_importances_ : ndarray
        Share of each feature in the gains of all splits; zeros where the file has no gains.
    source_ : dict
        Format and version of the file, and the objective or ranker it names.
    n_features_in_, feature_names_in_
        As scikit-learn has them.
    """

    _kept: ClassVar[Schema] = Schema(
        Scalar("best_iteration", int, (0, "n_trees"), attribute="best_iteration_"),
        Scalar("base_score", float, attribute="base_score_"),
    )

    def _keep(self, imported: Imported) -> None:
        super()._keep(imported)
        model = imported.model
        if not isinstance(model, TreeSum):
            raise TypeError("ImportedTrees are made of a sum of trees.")
        self.trees_, self.base_score_ = list(model.trees), model.base
        self.best_iteration_ = len(model.trees) if imported.n_used is None else imported.n_used
        self._forest = Forest.of(self._used)

    @property
    def _used(self) -> list[RegressionTree]:
        """The trees that score."""
        return self.trees_[: self.best_iteration_]

    @property
    def feature_importances_(self) -> Array:
        """Share of each feature in the gains of all splits."""
        return gain_shares(self._used, self.n_features_in_)

    @property
    def _start(self) -> np.floating:
        """What the scores begin with, of the kind in which they are added up."""
        return np.float32(self.base_score_) if self._reading.float32 else SCORE(self.base_score_)

    def _score_part(self, features: Features) -> Array:
        return self._forest.score(features, thread_count(self.n_jobs), self._start)

    def staged_predict(self, X: MatrixLike) -> Iterator[Array]:
        """Yield the scores of each row after each tree."""
        parts = list(self._reading.parts(self._check_rows(X)))
        scores = [np.full(part.shape[0], self._start) for part in parts]
        for tree in self.trees_:
            for score, part in zip(scores, parts, strict=True):
                score[:] = score + tree.predict(part)
            yield np.concatenate(scores).astype(SCORE)

    def _explained(self) -> TreeSum:
        return self._sum

    @property
    def _sum(self) -> TreeSum:
        """The trees that score, and what the scores begin with."""
        return TreeSum(tuple(self._used), self.base_score_, self.n_features_in_, self._names(), type(self).__name__)

    def _exported(self) -> TreeSum:
        zeros = self._reading.zero_as_missing
        if zeros:
            raise PodiumError(
                f"This model takes 0 for a missing value in feature {zeros[0]} ({len(zeros)} such feature(s)), "
                "which no format says; export it from the program that trained it."
            )
        return self._sum

    def _learned(self) -> Content:
        return {**super()._learned(), "trees": trees_to_columns(self.trees_)}

    def _restore(self, content: Content, path: str | PathLike[str]) -> None:
        trees = trees_from_columns(content.get("trees"), path, self.n_features_in_)
        found = self._kept.read(content, path, {"n_trees": len(trees)})
        model = TreeSum(tuple(trees), found["base_score"], self.n_features_in_, None, type(self).__name__)
        self._keep(Imported(model, *self._origin(content, path), found["best_iteration"]))


class ImportedLinear(ImportedRanker):
    """A weighted sum of features that another program has trained; made by `podium.import_model`, not by `fit`.

    Parameters
    ----------
    eval_metric : str or list of str
        The first one is what `score` returns.
    n_jobs : int, optional
        Not used: a weighted sum is one product of matrices.

    Attributes
    ----------
    coef_ : ndarray
        Weight of each feature.
    intercept_ : float
        Score of a row of zeros; a missing value counts as 0.
    source_ : dict
        Format of the file, and the ranker it names.
    n_features_in_, feature_names_in_
        As scikit-learn has them.
    """

    _kept: ClassVar[Schema] = Schema(
        Column("coef", size="n_features", attribute="coef_"), Scalar("intercept", float, attribute="intercept_")
    )

    def _keep(self, imported: Imported) -> None:
        super()._keep(imported)
        model = imported.model
        if not isinstance(model, Linear):
            raise TypeError("ImportedLinear is made of a weighted sum.")
        self._model, self.coef_, self.intercept_ = model, model.weights, model.intercept

    def _score_part(self, features: Any) -> Array:
        if self._reading.float32:
            features = np.clip(features, -LARGEST_FLOAT32, LARGEST_FLOAT32).astype(np.float32)
        return self._model.score(features.astype(SCORE))

    def _exported(self) -> Linear:
        return replace(self._model, feature_names=self._names(), name=type(self).__name__)

    def _restore(self, content: Content, path: str | PathLike[str]) -> None:
        found = self._kept.read(content, path, self._sizes())
        weights = found["coef"]
        model = Linear(weights, np.zeros(len(weights)), found["intercept"], None, type(self).__name__)
        self._keep(Imported(model, *self._origin(content, path)))
