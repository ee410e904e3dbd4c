"""What ensembles of ordinal rankers share: the vote, the base that they learn, and the file that holds it.

"OR" is Lin and Li (2009), "Combining ordinal preferences by boosting".
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from os import PathLike

from sklearn.utils.validation import has_fit_parameter

from podium._compiled import thread_count
from podium._types import Features, Learner
from podium._validation import Array, FormatError, PodiumError
from podium.export import Graded, graded_votes
from podium.model_file import Content, Value
from podium.model_file.saved_rankers import content_of, inner_ranker
from podium.ordinal import OrdinalStump, Votes, vote_of_stumps
from podium.ordinal.ordinal_columns import STUMPS, stumps_from_columns
from podium.rankers.base_rankers import fitted_stump, grades_by
from podium.rankers.ordinal_ranker import OrdinalRanker
from podium.rankers.orstump import ORStump


class VotingRanker(OrdinalRanker):
    """Base of ensembles {(r_t, v_t)}: grades are the weighted medians of the votes, scores their weighted means.

    OR Theorem 4 and Eq. 7, which hold for every way to learn the rankers (OR section 4.1). An ensemble implements
    ``_voters()`` and has the parameters ``estimator, n_jobs``.
    """

    estimator: Learner | None
    n_jobs: int | None

    @abstractmethod
    def _voters(self) -> tuple[Sequence[Learner], Array]:
        """Return the fitted rankers that `predict` asks, and the weight of each."""

    def _grade(self, features: Features) -> Array:
        return self._votes(features).medians()

    def _score(self, features: Features) -> Array:
        return self._votes(features).means()

    def _votes(self, features: Features) -> Votes:
        """Return the votes of all rankers that count."""
        rankers, weights = self._voters()
        stumps = stumps_of(rankers)
        if stumps is not None:
            return vote_of_stumps(stumps, weights, features, len(self.classes_), thread_count(self.n_jobs))
        *_, votes = self._vote_in_turn(features, rankers, weights)
        return votes

    def _vote_in_turn(self, features: Features, rankers: Sequence[Learner], weights: Array) -> Iterator[Votes]:
        """Yield the votes after each ranker: the same object, which grows."""
        votes = Votes(features.shape[0], len(self.classes_))
        for ranker, weight in zip(rankers, weights.tolist(), strict=True):
            votes.add(grades_by(ranker, features, self.classes_), weight)
            yield votes

    def _export_record(self) -> Graded:
        rankers, votes = self._voters()
        stumps = stumps_of(rankers)
        if stumps is None:
            other = next(type(ranker).__name__ for ranker in rankers if type(ranker) is not ORStump)
            raise PodiumError(f"Votes of ORStump can be exported; this {type(self).__name__} has votes of {other}.")
        return graded_votes(stumps, votes, self.classes_, self._names(), self.n_features_in_, type(self).__name__)

    def _check_parameters(self) -> None:
        """Check parameters, and refuse a base that does not heed costs."""
        super()._check_parameters()
        name = type(self).__name__
        if self.estimator is not None and not has_fit_parameter(self.estimator, "sample_cost"):
            raise PodiumError(
                f"estimator must take sample_cost in fit, a cost vector for each row, since {name} changes the "
                f"costs; {type(self.estimator).__name__} does not: consider ORStump(), or ExtendedBinary around a "
                "binary classifier that takes sample_weight."
            )
        own = getattr(self.estimator, "cost", "absolute")
        if not (isinstance(own, str) and own == "absolute"):
            raise PodiumError(f"Give cost to {name}, not to its estimator, whose costs come from it; got {own!r}.")

    def _restore_rankers(self, content: Content, path: str | PathLike[str]) -> Sequence[OrdinalRanker]:
        """Return the rankers that `rankers_to_content` wrote, each of which must give the grades of the vote."""
        kept = content.get("stumps")
        if not isinstance(kept, dict):
            others = content.get("rankers")
            return [self._restore_ranker(one, path) for one in others] if isinstance(others, list) else []
        stumps = stumps_from_columns(kept, path, self._sizes())
        like = copy(self.estimator) if type(self.estimator) is ORStump else ORStump()
        for name in ("classes_", "costs_convex_", "sparse_input_", "n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(like, name, getattr(self, name))
        return [fitted_stump(like, stump) for stump in stumps]

    def _restore_ranker(self, content: Value, path: str | PathLike[str]) -> OrdinalRanker:
        """Return one ranker of a file."""
        ranker = inner_ranker(content, path, self.n_features_in_, "ranker of a round")
        if not isinstance(ranker, OrdinalRanker) or ranker.classes_.tolist() != self.classes_.tolist():
            raise FormatError(path, "the ranker of a round must have the classes of the vote")
        return ranker


def stumps_of(rankers: Sequence[Learner]) -> list[OrdinalStump] | None:
    """Return the stumps of rankers that are all ORStumps; None if one is not."""
    stumps = [ranker.stump_ for ranker in rankers if type(ranker) is ORStump]
    return stumps if len(stumps) == len(rankers) else None


def rankers_to_content(rankers: Sequence[Learner]) -> Content:
    """Return what a file keeps of the rankers of a vote: stumps as columns, others each by itself."""
    stumps = stumps_of(rankers)
    if stumps is not None:
        return {"stumps": STUMPS.write_rows(stumps)}
    return {"rankers": [content_of(ranker) for ranker in rankers]}
