"""What ordinal rankers that learn in rounds share: AdaBoost.OR and ORBoost."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Self, TypeVar

from numpy.typing import ArrayLike

from podium._types import MatrixLike
from podium._validation import PodiumError
from podium.boosting import Boosting, EvaluationSet, MonitoredRound, Staged, named_sets
from podium.ordinal import MeanCost, OrdinalData, mean_cost
from podium.rankers.boosted import Boosted
from podium.rankers.estimator import Estimator, check_columns
from podium.rankers.evaluation_data import eval_sets, one_per_eval_set
from podium.rankers.lazy_fit import fit_lazily, is_lazy
from podium.rankers.ordinal_ranker import OrdinalRanker

AnyRound = TypeVar("AnyRound", bound=MonitoredRound)

STOPPING_BY_COST = """\
    early_stopping_rounds : int, optional
        Stop when the mean cost of the last evaluation set has not fallen for so many rounds, and predict with the
        rounds up to its lowest value.
"""
"""What a docstring says of early stopping by the cost."""


class BoostedOrdinalRanker(OrdinalRanker, Boosted[AnyRound]):
    """Base of ordinal rankers that learn in rounds; they implement ``_run(data, evals, init_model)``."""

    _stopping_parameters: ClassVar[str] = STOPPING_BY_COST

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        sample_cost: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        eval_set: Sequence[tuple[MatrixLike, ArrayLike]] | None = None,
        eval_cost: Sequence[ArrayLike | None] | None = None,
        init_model: Estimator | None = None,
        eval_names: Sequence[str] | None = None,
    ) -> Self:
        """Learn to grade.

        Parameters
        ----------
        X : array, frame, table or sparse matrix of shape (n_rows, n_features)
            Features. NaN, or an absent entry of a sparse matrix, is missing. For a Dask array or dataframe, which y and
            weights must then be too, see `podium.distributed.fit`.
        y : array-like
            Grade of each row, of any ordered kind: numbers, strings (sorted), an ordered categorical (its own order).
        sample_cost : array-like of shape (n_rows, K), optional
            Instead of `cost`: what each grade costs for each row, grades in the order of ``classes_``.
        sample_weight : array-like, optional
            Weight of each row; 2 means the row given twice, but where the ranker that is boosted draws or counts rows.
        eval_set : list of (X, y), optional
            Further data whose mean cost is measured each round; the last one decides on early stopping.
        eval_cost : list of array-like, optional
            Costs of each evaluation set, beside `eval_set`; needed with `sample_cost`.
        init_model : fitted ranker of the same class, optional
            Go on from the rounds that its `predict` uses; `n_estimators` counts the rounds in all.
        eval_names : list of str, optional
            What the evaluation sets are called in `evals_result_` and in messages; by default validation_0 and so on.

        Returns
        -------
        self
        """
        if is_lazy(X):
            return fit_lazily(
                self, X, y, {"sample_weight": sample_weight, "eval_set": eval_set, "init_model": init_model},
                {"sample_cost": sample_cost, "eval_cost": eval_cost, "eval_names": eval_names},
            )  # fmt: skip
        self._check_parameters()
        data = self._gate(X, y, sample_cost, sample_weight)
        evals = check_eval_sets(data, eval_set, eval_cost, self.cost, sample_cost is not None)
        self._check_boosting(evals, init_model)
        self._run(data, named_sets(evals, eval_names), init_model)
        self._describe(data)
        return self

    def _learn_grades(self, data: OrdinalData) -> None:
        self._check_boosting([], None)
        self._run(data, [], None)

    @abstractmethod
    def _run(self, data: OrdinalData, evals: list[OrdinalData], init_model: Estimator | None) -> None:
        """Run the rounds on checked data and keep what was learned."""

    def _boost_grades(
        self,
        boosting: Boosting[AnyRound],
        staged: Callable[[OrdinalData], Staged[AnyRound]],
        data: OrdinalData,
        evals: list[OrdinalData],
        init_model: Estimator | None,
        why_nothing: Callable[[str], str] = lambda reason: reason,
    ) -> None:
        """Go through the rounds, with the evaluation sets measured by their mean cost; `staged` follows grades."""
        sets = [EvaluationSet(number, staged(one), mean_cost(one), one.name) for number, one in enumerate(evals)]
        self._boost(boosting, sets, [MeanCost()], self._rounds_before(init_model), data, why_nothing)


def check_eval_sets(
    data: OrdinalData, eval_set: object, eval_cost: object, cost: str | ArrayLike, own_costs: bool
) -> list[OrdinalData]:
    """Return the evaluation sets, checked, with the columns and grades of the training data.

    Parameters
    ----------
    data : OrdinalData
        The training data.
    eval_set, eval_cost : list or None
        As `fit` has them.
    cost
        The ranker's parameter.
    own_costs : bool
        Whether the training data came with `sample_cost`.
    """
    sets = eval_sets(eval_set)
    if eval_cost is None and own_costs and sets:
        raise PodiumError("With sample_cost give eval_cost too: a list with the costs of each eval_set.")
    given = one_per_eval_set(eval_cost, len(sets), "eval_cost")
    return [
        _check_eval_set(data, X, y, cost, costs, number)
        for number, ((X, y), costs) in enumerate(zip(sets, given, strict=True))
    ]


def _check_eval_set(
    data: OrdinalData, X: MatrixLike, y: ArrayLike, cost: str | ArrayLike, costs: ArrayLike | None, number: int
) -> OrdinalData:
    """Return one checked evaluation set."""
    found = OrdinalData.from_arrays(X, y, cost=cost, sample_cost=costs, classes=data.classes)
    names = None if found.feature_names is None else list(found.feature_names)
    check_columns(data, found.features.shape[1], names, f"eval_set[{number}] must have")
    return found
