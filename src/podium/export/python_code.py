"""A Python module with one function, `score` or `grade`, that needs no other package; None and NaN are missing."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from podium._validation import Array
from podium._version import __version__
from podium.export import step_functions
from podium.export.ensemble import Additive, Linear, TreeSum
from podium.export.graded_record import Graded
from podium.export.tree_text import OURS, feature_names, other_way

HEAD = '''"""{what} a {name}, written by Podium {version}."""
{imports}
FEATURES = {features}

'''

READ = '''
    row: values in the order of FEATURES, or a dict of them by name; None, NaN and absent names are missing.
    """
    if hasattr(row, "keys"):
        row = [row.get(name) for name in FEATURES]
    if len(row) != len(FEATURES):
        raise ValueError(f"a row has {len(FEATURES)} values; got {len(row)}")
    values = [None if x is None or x != x else x for x in row]
'''

SCORE = f'''
def score(row):
    """Return the score of one row: higher stands higher.
{READ}    return _sum(values)

'''

GRADE = f'''
def grade(row):
    """Return the grade of one row, one of GRADES.
{READ}    return GRADES[sum(total(values) >= limit for total, limit in STEPS_UP)]


# from the lowest to the highest
GRADES = '''

STEPS_UP = """

# a row is one grade higher for each of these sums that reaches its limit
STEPS_UP = {cells}
"""

LINEAR = """
# weight, and the value that a missing one counts as
WEIGHTS = {cells}


def _sum(row):
    total = {constant}
    for x, (weight, missing) in zip(row, WEIGHTS):
        total += weight * (missing if x is None else x)
    return total
"""

STEPS = """
# feature, thresholds, value above each number of them, value where the feature is missing; 1e999 is infinity
STEPS = {cells}


def _sum(row):
    total = {constant}
    for feature, thresholds, values, missing in STEPS:
        x = row[feature]
        total += missing if x is None else values[bisect_left(thresholds, x)]
    return total
"""

TREES = """
# splits: feature, threshold, whether missing values go left, left and right child; a child of -1 - i is leaf i
# leaves: values
TREES = {cells}


def _sum(row):
    total = 0.0
    for splits, values in TREES:
        node = 0 if splits else -1
        while node >= 0:
            feature, threshold, missing_left, left, right = splits[node]
            x = row[feature]
            node = left if (missing_left if x is None else x <= threshold) else right
        total += values[-1 - node]
    return total + {constant}
"""


SETS = """
# splits: feature, threshold or number of a set, whether missing values go left, left and right child; a child of -1 - i
# is leaf i; the values of a set go the other way than missing ones and values of no category
# leaves: values
TREES = {cells}
SETS = {sets}


def _sum(row):
    total = 0.0
    for splits, values in TREES:
        node = 0 if splits else -1
        while node >= 0:
            feature, limit, missing_left, left, right = splits[node]
            x = row[feature]
            if isinstance(limit, int):
                goes_left = (x in SETS[limit]) != missing_left
            else:
                goes_left = missing_left if x is None else x <= limit
            node = left if goes_left else right
        total += values[-1 - node]
    return total + {constant}
"""


def write(record: Additive | Graded) -> str:
    """Return the module."""
    parts = record.steps if isinstance(record, Graded) else (record,)
    by_steps = any(isinstance(part, TreeSum) and step_functions.is_stumps(part) for part in parts)
    head = HEAD.format(
        what="Grades by" if isinstance(record, Graded) else "Scores of", name=record.name, version=__version__,
        features=_tuple(map(repr, feature_names(parts[0]))),
        imports="\nfrom bisect import bisect_left\n" if by_steps else "",
    )  # fmt: skip
    if not isinstance(record, Graded):
        return head + SCORE + _body(record)
    bodies = "\n".join(_body(part, f"_{k + 1}") for k, part in enumerate(parts))
    limits = enumerate(record.thresholds.tolist())
    sums = (f"(_sum_{min(k, len(parts) - 1) + 1}, {_literal(limit)})" for k, limit in limits)
    classes = _tuple(map(repr, record.classes))
    return f"{head}{GRADE}{classes}\n\n{bodies}{STEPS_UP.format(cells=_tuple(sums))}"


def _body(record: Additive, suffix: str = "") -> str:
    """Return the numbers of a sum and the function that adds it up, all names with a suffix."""
    if isinstance(record, Linear):
        pairs = zip(record.weights.tolist(), record.missing.tolist(), strict=True)
        given = {"cells": _tuple(_literal(pair) for pair in pairs), "constant": _literal(record.intercept)}
        return _suffixed(LINEAR, suffix).format(**given)
    if step_functions.is_stumps(record):
        rows = [(s.feature, s.thresholds.tolist(), s.values.tolist(), s.missing) for s in step_functions.steps(record)]
        given = {"cells": _tuple(map(_literal, rows)), "constant": _literal(step_functions.constant(record))}
        return _suffixed(STEPS, suffix).format(**given)
    return _trees(record, suffix)


def _suffixed(template: str, suffix: str) -> str:
    """Return a template with a suffix on each name that it defines."""
    return re.sub(r"\b(WEIGHTS|STEPS|TREES|SETS|_sum)\b", rf"\1{suffix}", template)


def score(record: Additive | Graded, X: Array) -> Array:
    """Score rows, or grade them, as the module does."""
    if isinstance(record, Graded):
        return record.grades(X, score)
    if isinstance(record, TreeSum):
        return step_functions.score(record, X) if step_functions.is_stumps(record) else OURS.score(record, X)
    rows = X.astype(np.float64)
    total = np.full(len(rows), record.intercept)
    for column, weight, missing in zip(rows.T, record.weights, record.missing, strict=True):
        total += weight * np.where(np.isnan(column), missing, column)
    return total


def _trees(record: TreeSum, suffix: str = "") -> str:
    """Return the trees and how they are added up; equal sets are written once."""
    sets: dict[tuple[object, ...], int] = {}
    cells, constant = _tuple(map(_literal, _tree_rows(record, sets))), _literal(record.base)
    if not sets:
        return _suffixed(TREES, suffix).format(cells=cells, constant=constant)
    written = (f"{{{', '.join(map(repr, values))}}}" if values else "set()" for values in sets)
    return _suffixed(SETS, suffix).format(cells=cells, constant=constant, sets=_tuple(written))


def _tree_rows(record: TreeSum, sets: dict[tuple[object, ...], int]) -> Iterable[tuple[object, ...]]:
    """Yield the splits and leaves of each tree; `sets` gets a number for each set of values."""
    for tree in record.trees:
        limit: list[object] = tree.threshold.tolist()
        for split in np.flatnonzero(tree.set_of >= 0).tolist():
            values = record.category_values(int(tree.feature[split]))
            chosen = tuple(values[code] for code in other_way(tree, split, len(values)))
            limit[split] = sets.setdefault(chosen, len(sets))
        columns = (tree.feature, tree.missing_left, tree.left, tree.right)
        feature, *rest = (column.tolist() for column in columns)
        yield list(zip(feature, limit, *rest, strict=True)), tree.value.tolist()


def _literal(value: object) -> str:
    """Return a value as Python writes it, infinity as a number too large for a float."""
    return repr(value).replace("inf", "1e999")


def _tuple(items: Iterable[str]) -> str:
    """Return a tuple with a line for each item."""
    return "(\n" + "".join(f"    {item},\n" for item in items) + ")"
