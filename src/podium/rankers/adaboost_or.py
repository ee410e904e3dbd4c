"""AdaBoost.OR: boosting of any ordinal ranker that heeds costs.

"OR" is Lin and Li (2009), "Combining ordinal preferences by boosting".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from numbers import Integral
from os import PathLike
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted

from podium._compiled import threads_for
from podium._types import Learner, MatrixLike, Seed
from podium._validation import Array, PodiumError, check_seed
from podium.model_file import Column, Content, Scalar, Schema
from podium.ordinal import (
    LEAST_VOTE,
    VOTES,
    BaseLearner,
    OrdinalData,
    OrdinalRound,
    StagedMedians,
    StepWeights,
    VoteBoosting,
    constant_stump,
    cost_matrix,
    cost_steps,
    generalization_gaps,
    grades_of,
    margin_bounds,
    stump_dimension,
)
from podium.rankers.base_rankers import AnyRankers, StumpRankers, fitted_stump, grades_by
from podium.rankers.boosted_ordinal import BoostedOrdinalRanker
from podium.rankers.estimator import Estimator
from podium.rankers.ordinal_ranker import OrdinalRanker
from podium.rankers.orstump import ORStump
from podium.rankers.voting import VotingRanker, rankers_to_content


class AdaBoostOR(VotingRanker, BoostedOrdinalRanker[OrdinalRound]):
    """AdaBoost.OR (OR Algorithm 2): a weighted vote of ordinal rankers, each learned where those before it cost most.

    Each round learns a base ranker r_t with the current cost vectors, weighs it by v_t = ½ ln((1 - ε_t) / ε_t), and
    raises the costs of what it got wrong. It is AdaBoost on the binary examples "is the grade of x above k?" (OR Lemma
    2). The prediction is the weighted median of the votes (OR Theorem 4).

    The run ends early where ε_t > 1/2, without that round. A base ranker without any cost, ε_t = 0, would have an
    infinite weight: it outvotes all others (its weight is 1 more than the sum of theirs), and ends the run. Where the
    best ORStump has ε_t = 1/2, later rounds would all be the same and weigh nothing: the run ends after that round.
    Where no round weighs anything, all count alike.

    Parameters
    ----------
    estimator : ordinal ranker, optional
        The base: anything with ``fit(X, y, sample_cost=...)`` and ``predict``. By default ``ORStump()``, which is
        learned fast: features are sorted once for all rounds.
    n_estimators : int
        Rounds.
    cost : {"absolute", "squared", "zero-one"} or array-like of shape (K, K)
        What it costs to predict the grade of the column for a row with the grade of the row: V-shaped, 0 where they are
        equal. By name it is |y - k|, its square, or 1 where they differ.
    {monitoring}
    random_state : int, RandomState or None
        Seeds a base with a parameter `random_state`, anew each round.
    n_jobs : int, optional
        Threads for stumps and their votes; the model does not depend on their number.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    rounds_ : list of OrdinalRound
        One record per round: ``ranker, epsilon, weight``.
    best_iteration_ : int
        Rounds that `predict` uses: all of them, or with early stopping those up to the best cost.
    bounds_ : ndarray
        ∏ √(1 - 4 γ²) with γ = 1/2 - ε, after each round: no less than `train_costs_` (OR Theorem 6). `margin_bounds`
        and `generalization_bounds` are the others of OR section 4.3.
    train_costs_ : ndarray
        Training cost after each round, in parts of Σ c[1] + c[K].
    feature_importances_ : ndarray
        Share of each feature in the fall of that bound, by the stumps on it; zeros for other bases.
    evals_result_ : dict
        ``evals_result_["validation_0"]["cost"]``: the mean cost after each round.
    stop_reason_ : str
        Why the fit ended.
    seed_ : int
        The seed, drawn where `random_state` is not a number.
    classes_ : ndarray
        The labels of the grades, lowest first.
    costs_convex_ : bool
        Whether every cost vector is convex: what OR Theorem 1 asks of costs where a binary classifier is not monotone.
        The votes of ordinal rankers are, so the bound holds for all V-shaped costs.
    n_features_in_, feature_names_in_
        As scikit-learn has them.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).random((200, 2))
    >>> y = np.digitize(X.sum(axis=1), [0.7, 1.3])
    >>> model = AdaBoostOR(n_estimators=50).fit(X, y)
    >>> model.predict([[0.1, 0.2], [0.5, 0.5], [0.9, 0.8]]).tolist()
    [0, 1, 2]
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "cost": OrdinalRanker._cost_constraint,
        "early_stopping_rounds": [Interval(Integral, 1, None, closed="left"), None],
        "checkpoint": [str, PathLike, None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    _kept: ClassVar[Schema] = OrdinalRanker._kept.extended(
        Scalar("constant_grade", int, (0, "last_grade"), attribute="_constant_grade")
    )
    _kept_of_rounds: ClassVar[Schema] = BoostedOrdinalRanker._kept_of_rounds.extended(
        Column("train_costs", size="n_rounds", attribute="train_costs_")
    )

    rounds_: list[OrdinalRound]

    def __init__(
        self,
        estimator: Learner | None = None,
        n_estimators: int = 1000,
        *,
        cost: str | ArrayLike = "absolute",
        early_stopping_rounds: int | None = None,
        checkpoint: str | PathLike[str] | None = None,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.cost = cost
        self.early_stopping_rounds = early_stopping_rounds
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _run(self, data: OrdinalData, evals: list[OrdinalData], init_model: Estimator | None) -> None:
        seed, weights = check_seed(self.random_state), StepWeights(cost_steps(data.costs), data.grades)
        boosting = VoteBoosting(data, weights, self._make_learner(data, seed))
        self._boost_grades(boosting, staged_medians, data, evals, init_model)
        self.seed_ = seed
        largest = float(data.costs[:, 0].sum() + data.costs[:, -1].sum()) / len(data.grades)
        self._keep_costs(boosting.train_costs, largest, int(data.costs.sum(axis=0).argmin()))

    def _keep_costs(self, train_costs: Sequence[float], largest: float, constant: int) -> None:
        """Keep the mean costs of the rounds in parts of the largest, and the grade that costs least."""
        self.train_costs_ = np.array(train_costs[: len(self.rounds_)]) / largest
        self._constant_grade = constant

    def _keep(self, rounds: list[OrdinalRound], best_round: int) -> None:
        self.rounds_, self.best_iteration_ = rounds, best_round
        self.bounds_ = np.cumprod([round_.factor for round_ in rounds])

    @property
    def feature_importances_(self) -> Array:
        """Share of each feature in the fall of the bound, by the stumps on it."""
        check_is_fitted(self)
        falls = np.zeros(self.n_features_in_)
        for round_ in self.rounds_[: self.best_iteration_]:
            if isinstance(round_.ranker, ORStump):
                falls[round_.ranker.feature_] -= math.log(max(round_.factor, LEAST_VOTE))
        return falls / falls.sum() if falls.any() else falls

    def _make_learner(self, data: OrdinalData, seed: int) -> BaseLearner:
        """Return what learns the base rankers: fast for stumps."""
        if self.estimator is None or type(self.estimator) is ORStump:
            cells = data.features.shape[0] * data.features.shape[1] * len(data.classes)
            return StumpRankers(self.estimator or ORStump(), data, threads_for(self.n_jobs, cells))
        return AnyRankers(self.estimator, data, seed)

    def _voters(self) -> tuple[Sequence[Learner], Array]:
        """Return the rounds' rankers and votes; where nothing was learned, the grade that would have cost least."""
        if self.best_iteration_ > 0:
            return self._rankers_and_votes(self.best_iteration_)
        return [fitted_stump(ORStump(), constant_stump(self._constant_grade, len(self.classes_)))], np.ones(1)

    def _rankers_and_votes(self, n_rounds: int) -> tuple[Sequence[Learner], Array]:
        """Return the base rankers of the first rounds and their votes."""
        rounds = self.rounds_[:n_rounds]
        return [round_.ranker for round_ in rounds], np.array([round_.vote for round_ in rounds])

    def staged_predict(self, X: MatrixLike) -> Iterator[Array]:
        """Yield the grade of each row after each round, as the labels of the fit have it."""
        for votes in self._vote_in_turn(self._check_rows(X), *self._rankers_and_votes(len(self.rounds_))):
            yield self.classes_[votes.medians()]

    def margins(self, X: MatrixLike, y: ArrayLike) -> Array:
        """Return the margin of each row's binary examples "is the grade above k?": how clearly the vote is right.

        ``ρ_k = z_k Σ_t v_t g_t(x, k) / Σ_t v_t``, g_t(x, k) = 1 where r_t(x) > k and -1 else, z_k the right answer:
        from -1, all wrong, to 1, all right. The grade is right where all margins are above 0.

        Parameters
        ----------
        X, y
            Rows and their grades, among those of the fit.

        Returns
        -------
        ndarray of shape (n_rows, K - 1)
        """
        features = self._check_rows(X)
        return self._votes(features).margins(grades_of(y, features.shape[0], self.classes_))

    def margin_bounds(self, theta: float = 0.0) -> Array:
        """Return, after each round, a bound on the share of training examples with a margin of at most θ.

        ``∏ 2 √(ε_t^{1 - θ} (1 - ε_t)^{1 + θ})`` (Schapire et al. 1998 Theorem 5, extended as OR section 4.3 says): at
        least Σ w_nk [ρ_nk ≤ θ] / Σ w_nk over the training rows, w_nk = |c_n[k+1] - c_n[k]|. For θ = 0 it is `bounds_`
        (OR Theorem 6), save after a ranker without error, whose weight is finite here. It falls from round to round
        where ½ - ε_t is above θ: boosting widens margins.

        Parameters
        ----------
        theta : float
            θ, from 0 to 1.
        """
        check_is_fitted(self)
        epsilon, weight = np.array([(round_.epsilon, round_.weight) for round_ in self.rounds_]).T
        return margin_bounds(epsilon, weight, theta)

    def generalization_bounds(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        theta: float | None = None,
        delta: float = 0.05,
        dimension: int | None = None,
        sample_cost: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Array:
        """Return, after each round, a bound on the expected cost of new rows, of which `fit` had a sample of n.

        With probability 1 - δ over samples, and B the largest c[1] + c[K], the expected cost is at most (OR 4.3)

        - without θ, the T-dependent bound: the mean cost of the n rows plus ``B (2 √((d′ (ln(2n/d′) + 1) + ln(18/δ))
          / n) + √(ln(2/δ) / (2n)))``, ``d′ = 2 (d + 1) (T + 1) log₂(e (T + 1))`` (Freund and Schapire 1997);
        - with θ, the margin bound: the mean of Σ_k w_k [ρ_k ≤ θ] over the rows plus ``B ((2/θ) √(2 d ln(en/d) / n)
          + 2 √(ln(2/δ) / (2n)))``, whatever T is (Schapire et al. 1998; constants of Koltchinskii and Panchenko 2002).

        Both are loose, and infinite where rows are too few: they say what the cost hangs on.

        Parameters
        ----------
        X, y, sample_cost, sample_weight
            The training rows as `fit` had them. The weight of a row is taken as a factor of its costs.
        theta : float, optional
            θ, above 0 and up to 1, chosen before the rows were seen.
        delta : float
            δ.
        dimension : int, optional
            VC dimension d ≥ 2 of the base rankers as classifiers of (x, k). That of ORStumps is known: at most the
            largest m with 2^m ≤ 2 F K (m / (K - 1) + 1)^{K - 1}.
        """
        self._check_rows(X)
        d = self._dimension(dimension)
        data = OrdinalData.from_arrays(
            X, y, cost=self.cost, sample_cost=sample_cost, sample_weight=sample_weight, classes=self.classes_
        )
        gaps = generalization_gaps(len(data.grades), len(self.rounds_), d, theta, delta)
        largest = data.costs if sample_cost is not None else cost_matrix(self.cost, self.classes_) * data.weight.max()
        bounds: Array = self._staged_costs(data, theta) + np.max(largest[:, 0] + largest[:, -1]) * gaps
        return bounds

    def _staged_costs(self, data: OrdinalData, theta: float | None) -> Array:
        """Return the mean cost of rows after each round, margins of at most θ counting as wrong where it is given."""
        steps, every, costs = cost_steps(data.costs), np.arange(len(data.grades)), []
        for votes in self._vote_in_turn(data.features, *self._rankers_and_votes(len(self.rounds_))):
            if theta is None:
                costs.append(data.costs[every, votes.medians()].mean())
            else:
                costs.append(np.sum(steps, where=votes.margins(data.grades) <= theta) / len(every))
        return np.array(costs)

    def _dimension(self, given: int | None) -> int:
        """Return the VC dimension of the base: as given, or that of stumps."""
        if given is None and not all(type(round_.ranker) is ORStump for round_ in self.rounds_):
            raise PodiumError("Give dimension: the VC dimension of the base rankers is known for ORStump alone.")
        found = stump_dimension(self.n_features_in_, len(self.classes_)) if given is None else given
        if found < 2:
            raise PodiumError(f"dimension must be at least 2; got {found}.")
        return int(found)

    def _rounds_to_content(self, rounds: Sequence[OrdinalRound]) -> Content:
        return {**rankers_to_content([round_.ranker for round_ in rounds]), **VOTES.write_rows(rounds)}

    def _rounds_from_content(self, content: Content, path: str | PathLike[str]) -> list[OrdinalRound]:
        rankers = self._restore_rankers(content, path)
        votes = VOTES.read(content, path, {"n_rounds": len(rankers)})
        columns = zip(rankers, *(column.tolist() for column in votes.values()), strict=True)
        return [OrdinalRound(*column) for column in columns]


def staged_medians(data: OrdinalData) -> StagedMedians:
    """Return the votes on an evaluation set."""
    return StagedMedians(
        len(data.grades), len(data.classes), lambda ranker: grades_by(ranker, data.features, data.classes)
    )
