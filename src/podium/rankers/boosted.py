"""The lifecycle that every boosted ranker has: what it goes on from, what it keeps, and what it says at the end."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from os import PathLike
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from podium._types import Features
from podium._validation import Array, PodiumError
from podium.boosting import (
    Boosting,
    Checkpoint,
    Criterion,
    Monitor,
    MonitoredRound,
    RoundEvaluator,
    check_checkpoint,
    fingerprint,
    run,
)
from podium.data import column_facts, why_columns_rank_nothing
from podium.model_file import Content, Scalar, Schema
from podium.pairs import CHANCE
from podium.rankers.estimator import Estimator, Table

__all__ = ["Boosted", "Boosting", "Criterion", "RoundEvaluator", "why_no_ranking"]

AnyRound = TypeVar("AnyRound", bound=MonitoredRound)

CHANGES_NO_ROUND = ("n_estimators", "n_jobs", "verbose", "checkpoint", "eval_metric", "early_stopping_rounds")
"""Parameters that a checkpoint serves fits with any value of."""


STOPPING = """\
    early_stopping_rounds : int, optional
        Stop when the first `eval_metric` on the last evaluation set has not improved for so many rounds, and predict
        with the rounds up to its best value.
    eval_metric : str or list of str
        Measures of the evaluation sets.
"""
"""What a docstring says of early stopping by a measure."""
CHECKPOINT = """\
    checkpoint : path, optional
        File to keep the rounds in while fitting: a fit that was killed goes on from there and ends where the
        uninterrupted one would have ended, bit for bit. The file never gets shorter; where it cannot be written there
        is a warning, and the fit goes on.
"""


class TrainingData(Table, Protocol):
    """What a checkpoint belongs to."""

    def columns(self) -> Sequence[Array | None]:
        """Return what there is to learn from, as arrays that another data set differs in."""


class Boosted(Estimator, Generic[AnyRound]):
    """What every ranker that learns in rounds has beside its base.

    It expects the parameters ``n_estimators, early_stopping_rounds, checkpoint, verbose``, and of a ranker

    - ``_rounds_to_content(rounds)`` and ``_rounds_from_content(content, path)``: what a file keeps of rounds;
    - ``_keep(rounds, best_round)``: sets what predictions need.
    """

    _kept_of_rounds: ClassVar[Schema] = Schema(
        Scalar("best_iteration", int, (0, "n_rounds"), attribute="best_iteration_")
    )
    """Fields whose bounds depend on the number of rounds."""

    _make_monitor: Callable[..., Monitor[Any]] = Monitor
    """What makes the monitor of a fit; a search of parameters puts one here that gives up on fits that fall behind."""

    _shared_parameters: ClassVar[str] = ""
    """What docstrings of rankers of a kind say alike, in the place of ``{shared}``."""
    _stopping_parameters: ClassVar[str] = STOPPING
    """What docstrings say of early stopping, in the place of ``{monitoring}``, where the checkpoint follows it."""

    n_estimators: int
    early_stopping_rounds: int | None
    checkpoint: str | PathLike[str] | None
    verbose: int
    rounds_: list[AnyRound]
    best_iteration_: int

    def __init_subclass__(cls, **options: object) -> None:
        """Put the parameters that rankers share into the docstring of a new one."""
        super().__init_subclass__(**options)
        if cls.__doc__ is not None:
            shared = cls.__doc__.replace("    {shared}\n", cls._shared_parameters)
            cls.__doc__ = shared.replace("    {monitoring}\n", cls._stopping_parameters + CHECKPOINT)

    @abstractmethod
    def _rounds_to_content(self, rounds: Sequence[AnyRound]) -> Content:
        """Return what a file keeps of rounds."""

    @abstractmethod
    def _rounds_from_content(self, content: Content, path: str | PathLike[str]) -> list[AnyRound]:
        """Return the rounds of a file, each value checked."""

    @abstractmethod
    def _describe(self, data: Any) -> None:
        """Keep what the checked training data says of rows, columns and labels."""

    @abstractmethod
    def _keep(self, rounds: list[AnyRound], best_round: int) -> None:
        """Set what predictions need of the rounds, those of a fit or of a file."""

    def _learned(self) -> Content:
        return {**super()._learned(), **self._rounds_to_content(self.rounds_), **self._kept_of_rounds.write(self)}

    def _restore(self, content: Content, path: str | PathLike[str]) -> None:
        super()._restore(content, path)
        rounds = self._rounds_from_content(content, path)
        self._kept_of_rounds.restore(self, content, path, self._sizes() | {"n_rounds": len(rounds)})
        self._keep(rounds, self.best_iteration_)

    def _check_boosting(self, evals: Sequence[object], init_model: Estimator | None) -> None:
        """Refuse, before any work, what cannot be measured, written to, or gone on from."""
        if self.early_stopping_rounds is not None and not evals:
            raise PodiumError("early_stopping_rounds needs an eval_set to measure each round on.")
        if self.checkpoint is not None:
            check_checkpoint(self.checkpoint)
            if not isinstance(getattr(self, "random_state", 0), int | np.integer):
                raise PodiumError(
                    "checkpoint needs an integer as random_state: with another seed the rounds would not go on."
                )
        self._check_init_model(init_model)
        n_before = len(self._rounds_before(init_model))
        if n_before > self.n_estimators:
            raise PodiumError(
                f"init_model has {n_before} rounds already; n_estimators, the rounds in all, must be at least that: "
                f"got {self.n_estimators}."
            )

    def _check_init_model(self, init_model: object) -> None:
        """Refuse a start from another kind of model."""
        if init_model is None:
            return
        if not isinstance(init_model, type(self)):
            name = type(self).__name__
            raise PodiumError(f"init_model must be a fitted {name}; got {type(init_model).__name__}.")
        check_is_fitted(init_model)

    def _rounds_before(self, init_model: Estimator | None) -> list[AnyRound]:
        """Return the rounds to go on from: those that `predict` of the earlier model uses."""
        return list(init_model.rounds_[: init_model.best_iteration_]) if isinstance(init_model, Boosted) else []

    def _boost(
        self,
        boosting: Boosting[AnyRound],
        evals: Sequence[RoundEvaluator[AnyRound]],
        criteria: Sequence[Criterion],
        before: list[AnyRound],
        data: TrainingData,
        why_nothing: Callable[[str], str],
        start: Callable[[], Content | None] = lambda: None,
    ) -> None:
        """Go through the rounds and keep what was learned.

        Parameters
        ----------
        boosting : Boosting
        evals : sequence of RoundEvaluator
        criteria : sequence of Criterion
            What the evaluation sets are measured by; the first decides.
        before : list of rounds
            To go on from.
        data : TrainingData
            Which a checkpoint belongs to.
        why_nothing : callable
            From the reason why a fit without any round ended to what it says.
        start : callable
            Returns what, beside the rounds before, the fit starts from, as a file would keep it.
        """
        checkpoint = self._open_checkpoint(before, data, start)
        monitor: Monitor[AnyRound] = self._make_monitor(
            self.n_estimators, evals, criteria, self.early_stopping_rounds, self.verbose,
            None if checkpoint is None else checkpoint.save,
        )  # fmt: skip
        keep = checkpoint.save if checkpoint is not None else lambda rounds: None
        try:
            run(boosting, monitor, self.n_estimators, before if checkpoint is None else checkpoint.rounds or before)
        except PodiumError:
            keep(monitor.rounds)  # such as where a cluster is lost
            raise
        keep(monitor.rounds)
        if not monitor.rounds:
            why = why_nothing(monitor.reason)
            warnings.warn(f"Nothing was learned, so that all predictions are equal: {why}.", stacklevel=5)
        self._keep(monitor.rounds, monitor.best_round)
        self.evals_result_, self.stop_reason_ = monitor.history, monitor.reason

    def _open_checkpoint(
        self, before: list[AnyRound], data: TrainingData, start: Callable[[], Content | None]
    ) -> Checkpoint[AnyRound] | None:
        """Return the file that keeps the rounds, if there is to be one."""
        if self.checkpoint is None:
            return None
        given: dict[str, Any] = self.get_params(deep=False)
        given = {name: value for name, value in given.items() if name not in CHANGES_NO_ROUND}
        given |= {"before": self._rounds_to_content(before), "start": start()}
        described = copy(self)  # the rounds of a file are checked against these data, and a failed fit changes nothing
        described._describe(data)
        digest = fingerprint(given, data.columns())
        return Checkpoint(self.checkpoint, digest, self._rounds_to_content, described._rounds_from_content)


def why_no_ranking(features: Features | None, reason: str) -> str:
    """Say why the first round found no weak ranking, where the reason why it ended does not; features may be far."""
    if not reason.endswith(CHANCE):
        return reason
    known = None if features is None else why_columns_rank_nothing(column_facts(features))
    return known or "no feature orders the pairs either way"
