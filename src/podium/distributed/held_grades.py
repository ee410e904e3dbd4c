"""AdaBoost.OR on a worker: its rounds together with the other workers, and the grades of evaluation rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from podium._exact import digits_of_columns
from podium._exchange import Exchange
from podium._types import Features
from podium._validation import Array, PodiumError
from podium.distributed.part_table import PartTable
from podium.ordinal import OrdinalRound, StagedMedians, VoteBoosting, cost_matrix, grades_of
from podium.rankers.adaboost_or import AdaBoostOR
from podium.rankers.base_rankers import grades_by
from podium.rankers.orstump import ORStump
from podium.rankers.shared_stumps import share_rows, shared_boosting

__all__ = ["AdaBoostOR", "GradeFacts", "GradeStart", "ORStump", "OrdinalRound", "StagedGrades", "grades_ready"]


class GradeFacts(NamedTuple):
    """What a fit keeps of the grades of all rows.

    Attributes
    ----------
    summary : dict of str to int
        Counts of rows, features, grades and missing values.
    convex : bool
        Whether every cost vector is.
    largest : float
        Σ c[1] + c[K], over the number of rows.
    constant : int
        The grade that costs least.
    """

    summary: dict[str, int]
    convex: bool
    largest: float
    constant: int


class GradedReady(NamedTuple):
    """The rounds of AdaBoost.OR, the labels of the grades, a digest of the rows, and what a fit keeps of them."""

    boosting: VoteBoosting
    classes: Array
    digest: int
    facts: GradeFacts


def grades_ready(ranker: AdaBoostOR, table: PartTable, threads: int, exchange: Exchange) -> GradedReady:
    """Share out the columns among the workers and make ready for the first round."""
    if table.labels is None:
        raise PodiumError("AdaBoostOR learns from labels.")
    own = table.features, table.names, _own_kind(table, exchange)
    classes = None if table.n_grades is None else np.arange(table.n_grades)
    shared = share_rows(*own, table.weight, ranker.cost, exchange, classes)
    data = shared.data
    base = ORStump() if ranker.estimator is None else ranker.estimator
    if not isinstance(base, ORStump):
        raise PodiumError(f"Only ORStumps can be learned by several parts; got {type(base).__name__}.")
    largest = float(data.costs[:, 0].sum() + data.costs[:, -1].sum()) / len(data.grades)
    facts = GradeFacts(shared.summary, data.convex, largest, int(data.costs.sum(axis=0).argmin()))
    return GradedReady(shared_boosting(base, shared, exchange, threads), data.classes, shared.digest, facts)


def _own_kind(table: PartTable, exchange: Exchange) -> Array:
    """Return labels as integers where those of all parts are."""
    labels = np.zeros(0) if table.labels is None else table.labels
    return labels.astype(np.int64) if exchange.agree(table.whole_labels) else labels


class GradeStart(NamedTuple):
    """What the votes on evaluation rows need: the labels of the grades, and what each costs."""

    classes: Array
    cost: str | ArrayLike


class StagedGrades:
    """Votes on the rows of an evaluation set, and what they cost.

    Parameters
    ----------
    features : ndarray or sparse matrix by columns
    labels : ndarray
    start : GradeStart
    """

    def __init__(self, features: Features, labels: Array, start: GradeStart) -> None:
        grades = grades_of(labels, len(labels), start.classes)
        self.costs = cost_matrix(start.cost, start.classes)[grades]
        self.medians = StagedMedians(
            len(labels), len(start.classes), lambda ranker: grades_by(ranker, features, start.classes)
        )
        self.found = np.zeros(len(labels), np.int64)

    def add(self, round_: OrdinalRound) -> None:
        """Let a round vote."""
        self.found = self.medians.add(round_)

    def digits(self) -> Array:
        """Return the digits of the sum of the costs and of the number of rows: int64[1, 2, DIGITS], as of a measure."""
        own = self.costs[np.arange(len(self.found)), self.found]
        return digits_of_columns([own, np.ones(len(own))])[None]
