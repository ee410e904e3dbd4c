"""What other programs can grade: sums of trees or of features, each compared with a threshold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from podium._validation import Array
from podium.export.ensemble import Additive, Linear, NetScore, TreeSum, split_tree
from podium.ordinal import OrdinalStump
from podium.trees import RegressionTree


@dataclass(frozen=True, eq=False)
class Graded:
    """A model that gives a row the label ``classes[#{k: steps[k].score(x) >= thresholds[k]}]``.

    Attributes
    ----------
    steps : tuple of TreeSum or Linear
        One sum for each threshold; or a single one, which all of them are compared with.
    thresholds : ndarray of float64, shape (K - 1,)
    classes : tuple
        The labels of the K grades, lowest first: numbers or strings.
    name : str
        The ranker's.
    """

    steps: tuple[Additive, ...]
    thresholds: Array
    classes: tuple[object, ...]
    name: str

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.steps[0].n_features

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the features, if they have any."""
        return self.steps[0].feature_names

    def grades(self, X: Array, score: Callable[[Additive, Array], Array]) -> Array:
        """Return the grade 0 … K-1 of each row, as a program does that scores a sum by `score`."""
        totals = [score(step, X) for step in self.steps]
        shared = totals * len(self.thresholds) if len(totals) == 1 else totals
        above = [total >= limit.astype(total.dtype) for total, limit in zip(shared, self.thresholds, strict=True)]
        return np.asarray(np.sum(above, axis=0, dtype=np.float64))

    def renamed(self, names: tuple[str, ...]) -> Graded:
        """Return the record with other names of the features."""
        return replace(self, steps=tuple(replace(step, feature_names=names) for step in self.steps))


Writable = Additive | NetScore | Graded
"""What formats write: scores, or grades."""


def graded_votes(
    stumps: Sequence[OrdinalStump], votes: Array, classes: Array, feature_names: tuple[str, ...] | None,
    n_features: int, name: str,
) -> Graded:  # fmt: skip
    """Return the weighted median of the grades of stumps (OR Theorem 4).

    The grade is above k where the stumps that say at most k have at most half of all votes; their votes are counted
    below 0, so that this is a sum that reaches a threshold.
    """
    steps = tuple(
        TreeSum(
            tuple(_step_tree(stump, k, float(vote)) for stump, vote in zip(stumps, votes, strict=True)),
            0.0, n_features, feature_names, name,
        )
        for k in range(len(classes) - 1)
    )  # fmt: skip
    half = 0.5 * sum(votes.tolist())
    return Graded(steps, np.full(len(steps), -half), tuple(classes.tolist()), name)


def negated(record: Additive) -> Additive:
    """Return a model whose scores are those of `record` times -1."""
    if isinstance(record, Linear):
        return replace(record, weights=-record.weights, intercept=-record.intercept)
    return replace(record, trees=tuple(replace(tree, value=-tree.value) for tree in record.trees), base=-record.base)


def _step_tree(stump: OrdinalStump, k: int, vote: float) -> RegressionTree:
    """Return a tree of one split: -vote where the stump says a grade of at most k, else 0.

    Above k are the rows with ``direction * x >= thresholds[k]``; a tree asks for ``x <= threshold``.
    """
    limit, missing_above = float(stump.thresholds[k]), stump.missing > k
    if np.isinf(limit):  # all rows that have the feature are on one side, infinite values too
        present = 0.0 if limit < 0 else -vote
        return split_tree(stump.feature, np.inf, missing_above == (limit < 0), present, -vote - present)
    if stump.direction > 0:
        return split_tree(stump.feature, float(np.nextafter(limit, -np.inf)), not missing_above, -vote, 0.0)
    return split_tree(stump.feature, -limit, missing_above, 0.0, -vote)
