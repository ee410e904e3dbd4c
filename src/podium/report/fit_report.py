"""What a fit came to, in a table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from os import PathLike

import numpy as np
from rich.table import Table

from podium._types import Json
from podium.evaluation.results import table_of
from podium.explain import names_or_numbers
from podium.rankers import Estimator
from podium.rankers.estimator import names_of
from podium.report.data_report import MAX_LISTED

INTERRUPTED = "it was interrupted"
"""The `stop_reason_` of a fit that Ctrl-C ended."""
AFTER_IT = "rounds after it"


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
    early_stopping : str or None
        What early stopping watched, and what came of it; None where it was not asked for.
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
    early_stopping: str | None
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
            rows.append(["rounds", f"{self.rounds:,} in the file; predictions use the first {self.best_round:,}"])
            rows += [["early stopping", self.early_stopping]] if self.early_stopping else []
            if not stopped_early(self.early_stopping):  # which says why already
                rows.append(["ended because", str(self.stopped)])
        rows += [[name, f"{value:.4f}"] for name, value in self.measured.items()]
        if self.features:
            shares = ", ".join(f"{shown_name(name)} {share:.0%}" for name, share in self.features.items())
            rows.append(["most important features", shares])
        return table_of(self.ranker, None, rows)


def training_report(model: Estimator, file: str | PathLike[str]) -> TrainingReport:
    """Report on a fitted ranker that was saved to a file."""
    importances = getattr(model, "feature_importances_", np.zeros(model.n_features_in_))
    names = names_or_numbers(names_of(model), model.n_features_in_)
    top = [j for j in np.argsort(-importances, kind="stable")[:MAX_LISTED] if importances[j] > 0]
    return TrainingReport(
        ranker=type(model).__name__,
        file=str(file),
        rounds=len(model.rounds_) if hasattr(model, "rounds_") else None,
        best_round=getattr(model, "best_iteration_", None),
        early_stopping=watched(model),
        stopped=getattr(model, "stop_reason_", None),
        measured=evaluated(model),
        features={str(names[j]): float(importances[j]) for j in top},
    )


def evaluated(model: Estimator) -> dict[str, float]:
    """Return each measure on each evaluation set, after the rounds that predictions use."""
    best = getattr(model, "best_iteration_", 0)
    history: dict[str, dict[str, list[float]]] = getattr(model, "evals_result_", {}) if best else {}
    return {
        f"{place} {name}": values[best - 1] for place, measures in history.items() for name, values in measures.items()
    }


def watched(model: Estimator) -> str | None:
    """Say what early stopping watched and what came of it; None where it was not asked for."""
    patience, history = getattr(model, "early_stopping_rounds", None), getattr(model, "evals_result_", {})
    if patience is None or not history:
        return None
    place, measures = list(history.items())[-1]
    name, values = next(iter(measures.items()))
    best, n_rounds = int(getattr(model, "best_iteration_", 0)), len(values)
    found = f"watched {name} of {place}: best after round {best:,}"
    if n_rounds - best >= patience:
        return f"{found}, not better in the {patience:,} {AFTER_IT}"
    return f"{found} of {n_rounds:,}; it did not have to stop"


def stopped_early(early_stopping: str | None) -> bool:
    """Say whether it was early stopping that ended the fit."""
    return early_stopping is not None and early_stopping.endswith(AFTER_IT)


def shown_name(name: str) -> str:
    """Return the name of a feature for a text: a number of a file with a word before it."""
    return f"feature {name}" if name.isdecimal() else name
