"""What rankers made of boosted regression trees share: everything but the loss (Burges 2010, "LM", 6 and 7)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial
from os import PathLike
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from podium._compiled import ROW, thread_count
from podium._exchange import ALONE, Exchange
from podium._validation import Array, Features, MatrixLike, PodiumError, QueryWeight, Seed, check_seed
from podium.binning import BinRows, BlockBins, bin_blocks, check_monotone
from podium.data import Categories, RankingData, warn_of_one_query
from podium.export import TreeSum
from podium.losses import Loss
from podium.model_file import Content, Scalar, Schema
from podium.rankers.boosted import Boosted, Boosting, Criterion, RoundEvaluator
from podium.rankers.categorical_ranker import CategoricalRanker, find_categories
from podium.rankers.score_start import InitModel, Start, check_start
from podium.trees import (
    CategoryLists,
    CategorySplits,
    Forest,
    Limits,
    RegressionTree,
    Sampler,
    TreeBoosting,
    TreeGrower,
    TreeRefit,
    TreeRound,
    newton_values,
    staged_scores,
    trees_from_columns,
    trees_to_columns,
)


class TreeRanker(CategoricalRanker, Boosted[TreeRound]):
    """What `LambdaMART` and `MART` share: everything but the loss."""

    _kept: ClassVar[Schema] = Schema(CategoryLists(), Scalar("base_score", float, attribute="base_score_"))

    learning_rate: float
    max_leaves: int
    max_depth: int | None
    min_child_samples: int
    min_child_weight: float
    reg_lambda: float
    min_split_gain: float
    split_by: str
    subsample: float
    colsample_bytree: float
    max_bins: int
    quantized: bool
    monotone_constraints: ArrayLike | None
    cat_smooth: float
    random_state: Seed
    n_jobs: int | None

    @abstractmethod
    def _make_loss(self, data: RankingData, threads: int, seed: int, exchange: Exchange = ALONE) -> Loss:
        """Return the loss of the training rows, of which other parts may have some."""

    def _learn(self, data: RankingData, evals: list[RankingData], init_model: InitModel) -> None:
        self._check_boosting(evals, init_model)
        threads, seed = thread_count(self.n_jobs), check_seed(self.random_state)
        loss = self._make_loss(data, threads, seed)
        start = self._start_after(init_model, loss)
        boosting = self._make_boosting(data, loss, start, threads, seed)
        sets, measures = self._evaluation_sets(evals, threads, start.scores)
        self._boost_trees(boosting, sets, measures, init_model, data, start, data.features.shape[0], loss.flat_reason)
        self.seed_ = seed

    def _boost_trees(
        self,
        boosting: Boosting[TreeRound],
        sets: Sequence[RoundEvaluator[TreeRound]],
        measures: Sequence[Criterion],
        init_model: InitModel,
        data: RankingData,
        start: Start,
        n_rows: int,
        flat_reason: Callable[[], str | None],
    ) -> None:
        """Go through the rounds, wherever the rows are, and keep the trees and what scores begin with."""
        why = partial(self._why_nothing_was_learned, n_rows, flat_reason)
        self._boost(boosting, sets, measures, self._rounds_before(init_model), data, why, start.content)
        self.base_model_, self.base_score_ = start

    def _make_boosting(
        self, data: RankingData, loss: Loss, start: Start, threads: int, seed: int, exchange: Exchange = ALONE
    ) -> TreeBoosting:
        """Return the rounds on the training rows, of which other parts may have some."""
        n_features, scores = data.features.shape[1], start.scores(data.features)
        return TreeBoosting(
            data, loss, self._make_grower(data, n_features, threads, exchange),
            Sampler(data.queries, n_features, self.subsample, self.colsample_bytree, seed, exchange),
            scores[data.queries.rows], self.learning_rate,
        )  # fmt: skip

    def _find_categories(self, X: MatrixLike, init_model: InitModel) -> Categories:
        return find_categories(X, self.categorical_features, init_model, categories_before(init_model))

    def _check_init_model(self, init_model: object) -> None:
        check_start(init_model)

    def _rounds_before(self, init_model: InitModel) -> list[TreeRound]:
        """Return the trees to go on from, none after a ranker of another kind, whose scores are the start."""
        return super()._rounds_before(init_model if isinstance(init_model, TreeRanker) else None)

    def _start_after(self, init_model: InitModel, loss: Loss) -> Start:
        """Return the start of trees to go on from, of another ranker's scores, or a constant without either."""
        if isinstance(init_model, TreeRanker):
            return init_model._start
        return Start(copy(init_model), loss.start() if init_model is None else 0.0)  # it may be fitted anew later

    def _make_grower(
        self,
        data: RankingData,
        n_features: int,
        threads: int,
        exchange: Exchange = ALONE,
        bins: BlockBins | None = None,
    ) -> TreeGrower:
        """Return the grower of trees on the training rows, whose bins may be known already."""
        limits = Limits(self.min_child_samples, self.min_child_weight, self.reg_lambda, self.min_split_gain)
        monotone = _check_monotone(self.monotone_constraints, n_features, data.categories)
        known = np.full(n_features, -1) if data.categories is None else data.categories.n_categories(n_features)
        keys = data.queries.place_keys()
        if bins is None:
            part = BinRows(data.queries.rows, data.weights, self.max_bins, threads, known, keys, exchange)
            bins = bin_blocks(data.features, part)
        splits = CategorySplits(known, self.cat_smooth, threads) if known.max() >= 0 else None
        return TreeGrower(
            bins, limits, self.max_leaves, self.max_depth, monotone, not self.quantized, threads, splits,
            keys, data.weights if self.split_by == "squares" else None, exchange,
        )  # fmt: skip

    @property
    def _start(self) -> Start:
        """What the scores begin with."""
        return Start(self.base_model_, self.base_score_)

    def _keep(self, rounds: list[TreeRound], best_round: int) -> None:
        self.rounds_ = rounds
        self.best_iteration_ = best_round
        self._forest = Forest.of(self.trees_[:best_round])

    @property
    def feature_importances_(self) -> Array:
        """Share of each feature in the gains of the trees that `predict` uses."""
        check_is_fitted(self)
        return gain_shares(self.trees_[: self.best_iteration_], self.n_features_in_)

    @property
    def trees_(self) -> list[RegressionTree]:
        """The trees of all rounds, their values times the learning rate."""
        return [round_.ranking for round_ in self.rounds_]

    def _score(self, features: Features) -> Array:
        return self._start.scores(features) + self._forest.score(features, thread_count(self.n_jobs))

    def _scores_of_sums(self, tree_sums: Array) -> Array | None:
        return None if self.base_model_ is not None else self.base_score_ + tree_sums

    def staged_predict(self, X: MatrixLike) -> Iterator[Array]:
        """Yield the scores of each row after each round; sums in another order than those of `predict`, to rounding."""
        features = self._check_rows(X)
        yield from staged_scores(self.trees_, features, self._start.scores(features))

    def refit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: QueryWeight | None = None,
        decay: float = 0.9,
    ) -> Self:
        """Give the leaves new values from new data, the splits as they are.

        New values keep to `monotone_constraints`, as in a fit: the sides of a constrained split get bounds that meet
        midway of their own new values, but never beyond the value of a leaf that is kept.

        Parameters
        ----------
        X, y, qid, group, sample_weight, query_weight
            As for `fit`.
        decay : float
            Share of the old value in the new one, from 0 to 1. Leaves that no new row reaches, or only rows without
            gradient and curvature (of queries without pairs), keep theirs.

        Returns
        -------
        self
        """
        features = self._check_rows(X)
        if not 0 <= decay <= 1:
            raise PodiumError(f"decay must be from 0 to 1; got {decay!r}.")
        data = RankingData.from_arrays(
            features, y, qid=qid, group=group, sample_weight=sample_weight, query_weight=query_weight
        )
        monotone = _check_monotone(self.monotone_constraints, self.n_features_in_, self._categories)
        if self._by_query and not data.queries_given:
            warn_of_one_query(data.labels, "", "group=[{}]")
        loss = self._make_loss(data, thread_count(self.n_jobs), 0)
        trees, scores = self.trees_[: self.best_iteration_], self._start.scores(features)[data.queries.rows]
        newton = partial(newton_values, reg_lambda=self.reg_lambda, monotone=monotone, factor=self.learning_rate)
        self._keep(TreeRefit(data, loss, trees, scores, newton, decay).run(), len(trees))
        return self

    def _why_nothing_was_learned(self, n_rows: int, flat_reason: Callable[[], str | None], reason: str) -> str:
        """Say why the first round found no split."""
        least, flat = self.min_child_samples, flat_reason()
        if flat is not None:
            return f"these labels teach nothing, since {flat}"
        if n_rows < 2 * least:
            return (
                f"{n_rows} rows cannot be split into two of min_child_samples={least}; consider a smaller "
                "min_child_samples"
            )
        return "no split of any feature lowers the loss"

    def _exported(self) -> TreeSum:
        if self.base_model_ is not None:
            raise PodiumError(
                "A model that goes on from another ranker's scores cannot be exported; export both apart."
            )
        trees = tuple(self.trees_[: self.best_iteration_])
        names, categories = self._names(), {} if self._categories is None else self._categories.values
        return TreeSum(trees, float(self.base_score_), self.n_features_in_, names, type(self).__name__, categories)

    def _rounds_to_content(self, rounds: Sequence[TreeRound]) -> Content:
        return {"trees": trees_to_columns([round_.ranking for round_ in rounds])}

    def _rounds_from_content(self, content: Content, path: str | PathLike[str]) -> list[TreeRound]:
        known = {} if self._categories is None else self._categories.values
        return [TreeRound(tree) for tree in trees_from_columns(content.get("trees"), path, self.n_features_in_, known)]

    def _learned(self) -> Content:
        return {**super()._learned(), **self._start.content()}

    def _restore(self, content: Content, path: str | PathLike[str]) -> None:
        super()._restore(content, path)
        self.base_model_ = Start.from_content(content, path, self.n_features_in_, self.base_score_).model


def categories_before(init_model: InitModel) -> Categories | None:
    """Return the categories of trees to go on from."""
    if not isinstance(init_model, TreeRanker):
        return None
    check_is_fitted(init_model)
    return init_model._categories


def _check_monotone(constraints: ArrayLike | None, n_features: int, categories: Categories | None) -> Array | None:
    """Return one of 1, -1 and 0 for each feature, or None; categories have no order to keep."""
    given = check_monotone(constraints, n_features)
    unordered = [] if categories is None or given is None else [one for one in categories.values if given[one] != 0]
    if given is not None and unordered:
        raise PodiumError(
            f"monotone_constraints must be 0 for categorical features; got {given[unordered[0]]} for feature "
            f"{unordered[0]}."
        )
    return given


def gain_shares(trees: list[RegressionTree], n_features: int) -> Array:
    """Return each feature's share of the gains."""
    features, sums = (
        np.concatenate([np.empty(0), *(getattr(tree, name) for tree in trees)]) for name in ("feature", "gain")
    )
    gains: Array = np.bincount(features.astype(ROW), sums, n_features)
    return gains / gains.sum() if gains.sum() > 0 else gains
