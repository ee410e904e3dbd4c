"""What rankers boosted with stumps share: RankBoost and RankBoost+."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from os import PathLike

import numpy as np
from sklearn.utils.validation import check_is_fitted

from podium._compiled import thread_count
from podium._types import Features, MatrixLike
from podium._validation import Array, PodiumError
from podium.boosting import Boosting
from podium.data import RankingData
from podium.export import TreeSum, stump_tree
from podium.model_file import Content
from podium.pairs import Round
from podium.rankers.boosted import Boosted, why_no_ranking
from podium.rankers.estimator import Estimator
from podium.rankers.ranker import Ranker
from podium.stumps import AdditiveModel, Stump, rounds_from_columns, rounds_to_columns


class StumpRanker(Ranker, Boosted[Round]):
    """Base of rankers that learn a sum of weighted stumps, one a round, from pairs."""

    n_jobs: int | None

    def _boost_pairs(
        self, boosting: Boosting[Round], data: RankingData, evals: list[RankingData], init_model: Estimator | None
    ) -> None:
        """Go through the rounds, with the evaluation sets measured as `eval_metric` says."""
        sets, measures = self._evaluation_sets(evals, thread_count(self.n_jobs))
        why = partial(why_no_ranking, data.features)
        self._boost(boosting, sets, measures, self._rounds_before(init_model), data, why)

    def _keep(self, rounds: list[Round], best_round: int) -> None:
        self.rounds_ = rounds
        self.best_iteration_ = best_round
        self.model_ = additive_model(rounds)

    @property
    def feature_importances_(self) -> Array:
        """Share of each feature in Σ -ln Z_t over the rounds that `predict` uses."""
        check_is_fitted(self)
        return importances(self.rounds_[: self.best_iteration_], self.n_features_in_)

    def _score(self, features: Features) -> Array:
        return self.model_.first(self.best_iteration_).score(features, thread_count(self.n_jobs))

    def staged_predict(self, X: MatrixLike) -> Iterator[Array]:
        """Yield the scores of each row after each round; sums in another order than those of `predict`, to rounding."""
        yield from self.model_.staged_scores(self._check_rows(X))

    def _exported(self) -> TreeSum:
        trees = []
        for number, round_ in enumerate(self.rounds_[: self.best_iteration_]):
            if not isinstance(round_.ranking, Stump):
                kind = type(round_.ranking).__name__
                raise PodiumError(f"Only stumps can be exported; the weak ranking of round {number + 1} is a {kind}.")
            trees.append(stump_tree(round_.ranking, round_.alpha))
        return TreeSum(tuple(trees), 0.0, self.n_features_in_, self._names(), type(self).__name__)

    def _rounds_to_content(self, rounds: Sequence[Round]) -> Content:
        return {"rounds": rounds_to_columns(rounds)}

    def _rounds_from_content(self, content: Content, path: str | PathLike[str]) -> list[Round]:
        return rounds_from_columns(content.get("rounds"), path, self.n_features_in_)


def refuse_beside_weak(weak: object, given: Mapping[str, bool], needs: str) -> None:
    """Refuse parameters that were given, which the weak rankings of a ranker would ignore."""
    for name in (name for name, is_given in given.items() if is_given):
        raise PodiumError(f"{name} goes with {needs}; leave it out with weak={weak!r}.")


def additive_model(rounds: Sequence[Round]) -> AdditiveModel:
    """Return the sum of the weak rankings of all rounds."""
    return AdditiveModel(
        tuple(round_.ranking for round_ in rounds), np.array([round_.alpha for round_ in rounds], float)
    )


def importances(rounds: Sequence[Round], n_features: int) -> Array:
    """Return each feature's share of Σ -ln Z_t; zeros where the weak rankings have no feature."""
    falls = np.zeros(n_features)
    for round_ in rounds:
        feature = getattr(round_.ranking, "feature", None)
        if feature is not None:
            falls[feature] += max(0.0, -np.log(max(round_.Z, np.finfo(float).tiny)))
    return falls / falls.sum() if falls.sum() > 0 else falls
