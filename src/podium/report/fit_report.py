"""What a fit came to, in a table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from os import PathLike

import numpy as np
from rich.table import Table

from podium._types import Json
from podium.evaluation.results import table_of
from podium.rankers import Estimator
from podium.report.data_report import MAX_LISTED


@dataclass(frozen=True)
class TrainingReport:
    """What a fit came to.

    Attributes
    ----------
    ranker : str
    file : str
        Where the model was saved.
    rounds, best_round : int or None
        Rounds learned, and rounds that predictions use; None for rankers without rounds.
    stopped : str or None
        Why the fit ended.
    measured : dict of str to float
        Each measure on each evaluation set, after the rounds that predictions use.
    features : dict of str to float
        The most important features with their shares.
    """

    ranker: str
    file: str
    rounds: int | None
    best_round: int | None
    stopped: str | None
    measured: dict[str, float]
    features: dict[str, float]

    def to_dict(self) -> dict[str, Json]:
        """Return the report as plain values, ready for JSON."""
        return asdict(self)

    def table(self) -> Table:
        """Return the report as a rich table."""
        rows = [["saved to", self.file]]
        if self.rounds is not None:
            rows += [
                ["rounds", f"{self.rounds:,}, used {self.best_round:,}"],
                ["ended because", str(self.stopped)],
            ]
        rows += [[name, f"{value:.4f}"] for name, value in self.measured.items()]
        if self.features:
            shares = ", ".join(f"{name} {share:.0%}" for name, share in self.features.items())
            rows.append(["most important features", shares])
        return table_of(self.ranker, None, rows)


def training_report(model: Estimator, file: str | PathLike[str]) -> TrainingReport:
    """Report on a fitted ranker that was saved to a file."""
    importances = getattr(model, "feature_importances_", np.zeros(model.n_features_in_))
    names = getattr(model, "feature_names_in_", [str(j + 1) for j in range(model.n_features_in_)])
    top = [j for j in np.argsort(-importances, kind="stable")[:MAX_LISTED] if importances[j] > 0]
    best = getattr(model, "best_iteration_", None)
    history = getattr(model, "evals_result_", {})
    return TrainingReport(
        ranker=type(model).__name__,
        file=str(file),
        rounds=len(model.rounds_) if hasattr(model, "rounds_") else None,
        best_round=best,
        stopped=getattr(model, "stop_reason_", None),
        measured={
            f"{place} {name}": values[best - 1]
            for place, measures in history.items()
            for name, values in measures.items()
            if best
        },
        features={str(names[j]): float(importances[j]) for j in top},
    )
