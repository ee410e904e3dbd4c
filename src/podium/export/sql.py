"""One SQL expression, in words that SQLite and PostgreSQL share; NULL is missing.

Features are columns, their names quoted. Comparisons and sums are those of float64. Stumps become one step function for
each feature. Terms are added two by two, because SQLite takes expressions of 1,000 levels at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Context, Decimal
from typing import TypeVar

import numpy as np

from podium._validation import Array, PodiumError
from podium.data.categories import Category
from podium.export import step_functions
from podium.export.ensemble import Additive, Linear, TreeSum
from podium.export.graded_record import Graded
from podium.export.tree_text import Rules, feature_names, finite, other_way
from podium.stumps import StepFunction
from podium.trees import RegressionTree, left_sides

Term = TypeVar("Term")
RULES = Rules(finite, np.float64, np.float64)
MAX_LEVELS = 900
"""Levels of a tree: SQLite takes 1,000 levels of an expression, and a sum of trees needs some."""
DECIMAL_CONTEXT = Context(prec=40)
NEAR_MIDDLE = Decimal("0.49")
"""Of the distance between two float64: SQLite's error in reading a number, in 64 bits of precision, is below 1/100."""


def write(record: Additive | Graded) -> str:
    """Return the expression, on several lines: of the score, or of the grade in its label."""
    if not isinstance(record, Graded):
        return _score_of(record)
    sums = [_score_of(step).strip() for step in record.steps]
    limits = zip(
        sums * (len(record.thresholds) if len(sums) == 1 else 1), finite(record.thresholds).tolist(), strict=True
    )
    above = [f"CASE WHEN {total}\n>= {_number(limit)} THEN 1 ELSE 0 END" for total, limit in limits]
    labels = " ".join(f"WHEN {grade} THEN {_label(label)}" for grade, label in enumerate(record.classes))
    return f"CASE {pairwise_sum(above, _added)}\n{labels} END\n"


def _score_of(record: Additive) -> str:
    """Return the expression of a score."""
    names = [_quoted(name) for name in feature_names(record)]
    terms = _linear(record, names) if isinstance(record, Linear) else _trees(record, names)
    return pairwise_sum(terms, _added) + "\n"


def check(record: Additive) -> None:
    """Refuse trees that are too deep, and columns of strings and other categories, for a column has one type."""
    deepest = max((tree.depth for tree in record.trees), default=0) if isinstance(record, TreeSum) else 0
    if deepest > MAX_LEVELS:
        raise PodiumError(
            f"A tree of {deepest} levels is too deep for an SQL expression of at most {MAX_LEVELS}; consider a "
            "max_depth."
        )
    for column, values in record.categories.items() if isinstance(record, TreeSum) else ():
        kinds = {bool if isinstance(value, bool) else str if isinstance(value, str) else float for value in values}
        if len(kinds) > 1:
            raise PodiumError(
                f"A column of a database has one type, but the categories of {feature_names(record)[column]!r} are "
                "strings, numbers or truth values mixed; make strings of all before the fit."
            )


def score(record: Additive | Graded, X: Array) -> Array:
    """Score rows, or grade them, as a database does."""
    if isinstance(record, Graded):
        return record.grades(X, score)
    rows = X.astype(np.float64)
    if isinstance(record, Linear):
        filled = np.where(np.isnan(rows), record.missing, rows)
        terms = [np.full(len(rows), record.intercept), *(record.weights * filled).T]
    elif step_functions.is_stumps(record):
        limited = [replace(step, thresholds=finite(step.thresholds)) for step in step_functions.steps(record)]
        found = [step_functions.step_values(step, rows[:, step.feature]) for step in limited]
        terms = _with_constant(record, np.full(len(rows), step_functions.constant(record)), found)
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
    if step_functions.is_stumps(record):
        found = [_step(step, names) for step in step_functions.steps(record)]
        return _with_constant(record, _number(step_functions.constant(record)), found)
    return [_tree(record, tree, names) for tree in record.with_base_as_tree().trees]


def _with_constant(record: TreeSum, constant: Term, found: list[Term]) -> list[Term]:
    """Return the terms of step functions, and the constant if it is not 0 or stands alone."""
    return [constant, *found] if step_functions.constant(record) or not found else found


def _step(step: StepFunction, names: list[str]) -> str:
    """Return a step function."""
    name = names[step.feature]
    pairs = zip(finite(step.thresholds).tolist(), step.values.tolist(), strict=False)
    parts = [f"WHEN {name} <= {_number(threshold)} THEN {_number(value)}" for threshold, value in pairs]
    default = f"WHEN {name} IS NULL THEN {_number(step.missing)}"
    return _double(f"CASE {default} {' '.join(parts)} ELSE {_number(step.values[-1])} END")


def _tree(record: TreeSum, tree: RegressionTree, names: list[str]) -> str:
    """Return a tree as one flat CASE, for databases limit how deep expressions nest.

    The leaf of a row is the first, from the left, none of whose splits sends the row right of it (Lucchese et al. 2015,
    QuickScorer): a leaf asks for the splits that have it on their left, and the last leaf for nothing.
    """
    asked: list[list[str]] = [[] for _ in tree.value]
    sides = zip(*(ends.tolist() for ends in left_sides(tree.left, tree.right)), strict=True)
    for goes_left, (first, end) in zip(_conditions(record, tree, names), sides, strict=True):
        for leaf in range(first, end):
            asked[leaf].append(goes_left)
    *values, last = (_number(value) for value in tree.value.tolist())
    if not values:
        return _double(last)
    parts = (f"WHEN {' AND '.join(conditions)} THEN {value}" for conditions, value in zip(asked, values, strict=False))
    return _double(f"CASE {' '.join(parts)} ELSE {last} END")


def _conditions(record: TreeSum, tree: RegressionTree, names: list[str]) -> list[str]:
    """Return of each split when a row goes left."""
    conditions = []
    columns = (tree.feature, finite(tree.threshold), tree.missing_left, tree.set_of)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for split, (feature, limit, missing_left, by_set) in enumerate(rows):
        if by_set >= 0:
            goes_left = _membership(names[feature], tree, split, record.category_values(feature))
        else:
            goes_left = f"{names[feature]} <= {_number(limit)}"
        conditions.append(f"({goes_left} OR {names[feature]} IS NULL)" if missing_left else goes_left)
    return conditions


def _membership(name: str, tree: RegressionTree, split: int, values: tuple[Category, ...]) -> str:
    """Return when a value that is not NULL goes left at a split by a set."""
    chosen = [_category(values[code]) for code in other_way(tree, split, len(values))]
    missing_left = bool(tree.missing_left[split])
    if not chosen:  # a list must not be empty
        return "1 = 1" if missing_left else "1 = 0"
    return f"{name} {'NOT IN' if missing_left else 'IN'} ({', '.join(chosen)})"


def _category(value: Category) -> str:
    """Return a category as both databases write it."""
    if isinstance(value, str):
        if "\0" in value:
            raise PodiumError(f"SQL cannot carry the category {value!r}: a text there has no null character.")
        return "'" + value.replace("'", "''") + "'"
    return str(value).upper() if isinstance(value, bool | int) else _number(value)


def _added(one: str, two: str) -> str:
    """Return the expression of a sum of two."""
    return f"({one}\n+ {two})"


def _label(value: object) -> str:
    """Return the label of a grade."""
    return _category(value if isinstance(value, str | bool | int | float) else str(value))


def _double(expression: str) -> str:
    """Return an expression as a float64: PostgreSQL takes 0.1 for a decimal number of any length."""
    return f"CAST({expression} AS DOUBLE PRECISION)"


def _number(value: float) -> str:
    """Return a number: short, or with 17 digits if the short one lies near the middle of two float64.

    SQLite before 3.43 takes some of those for the other one, such as 7717.193804.
    """
    value = float(value)
    short = repr(value)
    away = DECIMAL_CONTEXT.subtract(Decimal(short), Decimal(value))
    return short if abs(away) <= NEAR_MIDDLE * Decimal(math.ulp(value)) else f"{value:.16e}"


def _quoted(name: str) -> str:
    """Return a column's name as both databases quote it."""
    if not name or "\0" in name:
        raise PodiumError(f"SQL cannot carry the column name {name!r}; give other names in feature_names.")
    return '"' + name.replace('"', '""') + '"'
