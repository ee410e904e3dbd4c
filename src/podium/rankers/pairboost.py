"""Boosting for continuous labels: pairwise surrogates, and the yardsticks L2Boost and L1Boost.

"CR" is Werner, "A review on ranking problems in statistical learning".
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from numbers import Real
from os import PathLike
from typing import ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from podium._validation import Array
from podium.data import Graded, RankingData, feedback_of
from podium.linear import SELECTIONS
from podium.losses import PAIRS, RESPONSES, SURROGATES, Absolute, Loss, PairSurrogate, Squared
from podium.rankers.estimator import Estimator
from podium.rankers.gradient_rankers import FunctionalGradientRanker

ROUNDS_OF_ONE = 20
"""Rounds that must all have taken one feature before it is said."""


class PairBoost(FunctionalGradientRanker):
    """Boosting on a surrogate of the hard ranking loss, for labels of any real numbers (CR 4.3 to 4.5).

    With z = a_ij (f_i - f_j) for rows of a query, where a_ij is y_i - y_j or its sign, the loss is the mean over rows
    of ``1/N Σ_j φ(z)``; each round fits a base model to U_i = 1/N Σ_j a_ij (-φ'(z)), N the rows of the query. Scores
    start at 0 and the first round fits the response itself, as CR writes (r(0) = Y), less its mean in the query. CR
    divides by n - 1 where N stands; minus the gradient of the mean loss is 2/N times U, see `losses/pair_surrogates`.

    Failures that CR reports are told from each other in `stop_reason_`: a loss that diverges (the round is left out),
    gradients that are all 0, and one feature taken in every round (with a warning).

    Parameters
    ----------
    n_estimators : int
        Rounds.
    surrogate : {"exp", "hinge", "ramp"}
        φ(z): exp(-z) (ExpBoost), max(0, 1 - z) (HingeBoost), or 1 up to z = 0, falling to 0 at z = `c`, which is not
        convex (CR 4.5).
    c : float
        Where the ramp ends.
    interval : {"open", "closed"}
        Whether the ramp has a slope in ]0, c[, as CR writes, or in [0, c]: in the open one tied scores never move.
    pairs : {"signs", "products"}
        a_ij: the sign of y_i - y_j, at O(n log n) a round; or the difference, as CR writes, at O(n²) a round for "exp"
        and about O(n^1.5 log n) for the others.
    response : {"raw", "expit"}
        Labels as they are, or 1/(1 + exp(-y)): the range of products is then at most 1. With signs only the first round
        sees it.
    select : {"squares", "updated", "simple"}
        With ``base="linear"``, the feature of a round: "squares" the one whose line fits the gradients best, as in
        L2Boost; "updated" the one whose line, added to the model, makes the loss least; "simple" the one whose line
        alone does, as Algorithm 2 of CR is printed. The two latter compute the loss once for each feature.
    {shared}

    Examples
    --------
    >>> import numpy as np
    >>> from podium import PairBoost
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> model = PairBoost(n_estimators=30).fit(X, np.exp(X[:, 1] - X[:, 2]))
    >>> model.score(X, np.exp(X[:, 1] - X[:, 2])) > -0.1
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        **FunctionalGradientRanker._parameter_constraints,
        "surrogate": [StrOptions(set(SURROGATES))],
        "c": [Interval(Real, 0, None, closed="neither")],
        "interval": [StrOptions({"open", "closed"})],
        "pairs": [StrOptions(set(PAIRS))],
        "response": [StrOptions(set(RESPONSES))],
        "select": [StrOptions(set(SELECTIONS))],
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        surrogate: str = "exp",
        c: float = 0.5,
        interval: str = "open",
        pairs: str = "signs",
        response: str = "raw",
        select: str = "squares",
        base: str = "linear",
        learning_rate: float = 0.1,
        max_leaves: int = 8,
        min_child_samples: int = 5,
        max_bins: int = 255,
        early_stopping_rounds: int | None = None,
        eval_metric: str | Sequence[str] = "hard_loss",
        checkpoint: str | PathLike[str] | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.surrogate = surrogate
        self.c = c
        self.interval = interval
        self.pairs = pairs
        self.response = response
        self.select = select
        self.base = base
        self.learning_rate = learning_rate
        self.max_leaves = max_leaves
        self.min_child_samples = min_child_samples
        self.max_bins = max_bins
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _make_loss(self, data: RankingData, labels: Array, threads: int) -> Loss:
        feedback_of(data)  # which says why there may be nothing to rank
        graded = Graded(labels, data.queries.offsets, data.row_weight, data.query_weight)
        return PairSurrogate(
            graded, self.surrogate, c=self.c, closed=self.interval == "closed", pairs=self.pairs,
            response=self.response, n_threads=threads,
        )  # fmt: skip

    def _selection(self, loss: Loss) -> tuple[str, Callable[[Array], float]]:
        return (self.select, loss.value) if isinstance(loss, PairSurrogate) else super()._selection(loss)

    def _learn(self, data: RankingData, evals: list[RankingData], init_model: Estimator | None) -> None:
        super()._learn(data, evals, init_model)
        taken = {line.feature for line in self._lines()}
        if len(self.rounds_) >= ROUNDS_OF_ONE and len(taken) == 1 and data.features.shape[1] > 1:
            self.stop_reason_ += f"; every round took feature {min(taken)}"
            warnings.warn(
                f"Every one of {len(self.rounds_)} rounds took feature {min(taken)}, so that the ranking is that of "
                'one feature; consider pairs="signs" or select="squares".',
                stacklevel=3,
            )


class _Pointwise(FunctionalGradientRanker):
    """A yardstick that looks at one row at a time."""

    _by_query = False

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        base: str = "linear",
        learning_rate: float = 0.1,
        max_leaves: int = 8,
        min_child_samples: int = 5,
        max_bins: int = 255,
        early_stopping_rounds: int | None = None,
        eval_metric: str | Sequence[str] = "hard_loss",
        checkpoint: str | PathLike[str] | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.base = base
        self.learning_rate = learning_rate
        self.max_leaves = max_leaves
        self.min_child_samples = min_child_samples
        self.max_bins = max_bins
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.verbose = verbose


class L2Boost(_Pointwise):
    """Boosting on the squared error of the labels, by default with lines in one feature (CR 4.1).

    The scores start at the weighted mean of the labels; each round fits the residuals y - f. Queries are not told
    apart. It takes O(n F) a round for n rows and F features.

    Parameters
    ----------
    n_estimators : int
        Rounds.
    {shared}

    Examples
    --------
    >>> from podium import L2Boost
    >>> L2Boost(200).fit([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0]], [2.0, 4.0, 6.0]).coef_.round(3).tolist()
    [2.0, 0.0]
    """

    def _make_loss(self, data: RankingData, labels: Array, threads: int) -> Loss:
        return Squared(labels, data.weights, 1.0)


class L1Boost(_Pointwise):
    """Boosting on the absolute error of the labels, by default with lines in one feature (CR 4.3 names it).

    The scores start at the weighted median of the labels; each round fits the signs of the residuals by least squares.
    A round moves scores by at most about the learning rate, so that labels of a large scale take many rounds. Queries
    are not told apart. It takes O(n F) a round for n rows and F features.

    Parameters
    ----------
    n_estimators : int
        Rounds.
    {shared}
    """

    def _make_loss(self, data: RankingData, labels: Array, threads: int) -> Loss:
        return Absolute(labels, data.weights)
