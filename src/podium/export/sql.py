"""One SQL expression, in words that SQLite and PostgreSQL share; NULL is missing.

Features are columns, their names quoted. Comparisons and sums are those of float64. Stumps become one step function for
each feature. Terms are added two by two, because SQLite takes expressions of 1,000 levels at most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from podium._validation import Array, PodiumError
from podium.export import steps
from podium.export.ensemble import Exported, Linear, TreeSum
from podium.export.trees import Rules, feature_names, finite, nested
from podium.model import StepFunction
from podium.weak.regression_tree import RegressionTree

Term = TypeVar("Term")
RULES = Rules(finite, np.float64, np.float64)
DEEPEST = 150
"""Levels of a tree that SQLite takes: a level of CASE is up to five of its levels."""


def write(record: Exported) -> str:
    """Return the expression, on several lines."""
    names = [_quoted(name) for name in feature_names(record)]
    terms = _linear(record, names) if isinstance(record, Linear) else _trees(record, names)
    return pairwise_sum(terms, lambda one, two: f"({one}\n+ {two})") + "\n"


def score(record: Exported, X: Array) -> Array:
    """Score rows as a database does."""
    rows = X.astype(np.float64)
    if isinstance(record, Linear):
        filled = np.where(np.isnan(rows), record.missing, rows)
        terms = [np.full(len(rows), record.intercept), *(record.weights * filled).T]
    elif steps.is_stumps(record):
        found = [steps.step_values(step, rows[:, step.feature]) for step in steps.steps(record)]
        terms = [np.full(len(rows), steps.constant(record)), *found]
    else:
        terms = RULES.values(record.with_base_as_tree(), rows)
    return pairwise_sum(terms, lambda one, two: one + two)


def pairwise_sum(terms: Sequence[Term], add: Callable[[Term, Term], Term]) -> Term:
    """Add up neighbours, and the sums of neighbours, until one is left."""
    left = list(terms)
    while len(left) > 1:
        sums = [add(one, two) for one, two in zip(left[::2], left[1::2], strict=False)]
        left = sums + left[2 * len(sums) :]
    return left[0]


def _linear(record: Linear, names: list[str]) -> list[str]:
    """Return the intercept and the weighted columns."""
    cells = zip(names, record.weights.tolist(), record.missing.tolist(), strict=True)
    return [
        _number(record.intercept),
        *(f"{_number(weight)} * COALESCE({name}, {_number(missing)})" for name, weight, missing in cells),
    ]


def _trees(record: TreeSum, names: list[str]) -> list[str]:
    """Return the terms of a sum of trees."""
    if steps.is_stumps(record):
        return [_number(steps.constant(record)), *(_step(step, names) for step in steps.steps(record))]
    deepest = max(tree.depth for tree in record.trees)
    if deepest > DEEPEST:
        raise PodiumError(
            f"A tree of {deepest} levels is too deep for an SQL expression of at most {DEEPEST}; consider a max_depth."
        )
    return [_tree(tree, names) for tree in record.with_base_as_tree().trees]


def _step(step: StepFunction, names: list[str]) -> str:
    """Return a step function."""
    name = names[step.feature]
    pairs = zip(finite(step.thresholds).tolist(), step.values.tolist(), strict=False)
    parts = [f"WHEN {name} <= {_number(threshold)} THEN {_number(value)}" for threshold, value in pairs]
    default = f"WHEN {name} IS NULL THEN {_number(step.missing)}"
    return _double(f"CASE {default} {' '.join(parts)} ELSE {_number(step.values[-1])} END")


def _tree(tree: RegressionTree, names: list[str]) -> str:
    """Return a tree; a comparison with NULL is not true, so the side of missing values is the ELSE."""
    threshold = [_number(t) for t in finite(tree.threshold).tolist()]
    feature, default = tree.feature.tolist(), tree.missing_left.tolist()

    def split(i: int, left: str, right: str) -> str:
        name = names[feature[i]]
        if default[i]:
            return f"CASE WHEN {name} > {threshold[i]} THEN {right} ELSE {left} END"
        return f"CASE WHEN {name} <= {threshold[i]} THEN {left} ELSE {right} END"

    return _double(nested(tree, split, [_number(value) for value in tree.value.tolist()]))


def _double(expression: str) -> str:
    """Return an expression as a float64: PostgreSQL takes 0.1 for a decimal number of any length."""
    return f"CAST({expression} AS DOUBLE PRECISION)"


def _number(value: float) -> str:
    """Return a number: short, or with 17 digits, of which SQLite's reading is right where it is not of 16."""
    short = repr(float(value))
    return short if sum(map(str.isdigit, short.split("e")[0])) <= 15 else f"{value:.16e}"


def _quoted(name: str) -> str:
    """Return a column's name as both databases quote it."""
    if not name or "\0" in name:
        raise PodiumError(f"SQL cannot carry the column name {name!r}; give other names in feature_names.")
    return '"' + name.replace('"', '""') + '"'
