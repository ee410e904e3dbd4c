"""A Python module with one function, `score`, that needs no other package; None and NaN are missing."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from podium._validation import Array
from podium._version import __version__
from podium.export import step_functions
from podium.export.ensemble import Additive, Linear, TreeSum
from podium.export.tree_text import OURS, feature_names, other_way

HEAD = '''"""Scores of a {name}, written by Podium {version}."""
{imports}
FEATURES = {features}


def score(row):
    """Return the score of one row: higher stands higher.

    row: values in the order of FEATURES, or a dict of them by name; None, NaN and absent names are missing.
    """
    if hasattr(row, "keys"):
        row = [row.get(name) for name in FEATURES]
    if len(row) != len(FEATURES):
        raise ValueError(f"a row has {{len(FEATURES)}} values; got {{len(row)}}")
    return _sum([None if x is None or x != x else x for x in row])

'''

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


def write(record: Additive) -> str:
    """Return the module."""
    by_steps = isinstance(record, TreeSum) and step_functions.is_stumps(record)
    imports = "\nfrom bisect import bisect_left\n" if by_steps else ""
    names = _tuple(map(repr, feature_names(record)))
    head = HEAD.format(name=record.name, version=__version__, imports=imports, features=names)
    if isinstance(record, Linear):
        pairs = zip(record.weights.tolist(), record.missing.tolist(), strict=True)
        body = LINEAR.format(cells=_tuple(_literal(pair) for pair in pairs), constant=_literal(record.intercept))
    elif step_functions.is_stumps(record):
        rows = [(s.feature, s.thresholds.tolist(), s.values.tolist(), s.missing) for s in step_functions.steps(record)]
        body = STEPS.format(cells=_tuple(map(_literal, rows)), constant=_literal(step_functions.constant(record)))
    else:
        body = _trees(record)
    return head + body


def score(record: Additive, X: Array) -> Array:
    """Score rows as the module does."""
    if isinstance(record, TreeSum):
        return step_functions.score(record, X) if step_functions.is_stumps(record) else OURS.score(record, X)
    rows = X.astype(np.float64)
    total = np.full(len(rows), record.intercept)
    for column, weight, missing in zip(rows.T, record.weights, record.missing, strict=True):
        total += weight * np.where(np.isnan(column), missing, column)
    return total


def _trees(record: TreeSum) -> str:
    """Return the trees and how they are added up; equal sets are written once."""
    sets: dict[tuple[object, ...], int] = {}
    cells, constant = _tuple(map(_literal, _tree_rows(record, sets))), _literal(record.base)
    if not sets:
        return TREES.format(cells=cells, constant=constant)
    written = (f"{{{', '.join(map(repr, values))}}}" if values else "set()" for values in sets)
    return SETS.format(cells=cells, constant=constant, sets=_tuple(written))


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
