"""XGBoost's dumps: ``Booster.dump_model(path, dump_format="json")``, nested splits with the names of features.

A dump has no base score, so its scores are a constant away from the model's own: the order is the same.
"""

from __future__ import annotations

import re
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from podium._compiled import SCORE
from podium._validation import FormatError
from podium.export.ensemble import TreeSum
from podium.importing.document import Part, read_json
from podium.importing.record import MOST_FEATURES, Columns, Imported, Reading
from podium.importing.trees import Splits, below_as_float32, check_numeric, make_tree, to_numbers
from podium.weak.regression_tree import RegressionTree


def read_xgboost_dump(data: bytes, path: str | PathLike[str], columns: Columns) -> Imported:
    """Return the model of a dump in JSON: a list of trees, or of the texts that ``get_dump`` returns."""
    document = read_json(data, path)
    if not isinstance(document, list):
        raise FormatError(path, "a dump must be a list of trees")
    numbers = {name: number for number, name in enumerate(columns.names or ())}
    trees = []
    for i, content in enumerate(document):
        nested = read_json(content, path) if isinstance(content, str) else content
        trees.append(_read_tree(Part(nested, f"[{i}]", path), numbers))
    used = max((int(tree.feature.max()) + 1 for tree in trees if len(tree.feature)), default=0)
    n_features, names = columns.at_least(used, path)
    total = TreeSum(tuple(trees), 0.0, n_features, names, "XGBoost")
    return Imported(total, Reading(float32=True), {"format": "xgboost-json"})


class _Found(NamedTuple):
    """The splits and leaves of a tree so far, as lists."""

    feature: list[int]
    condition: list[Any]
    missing_left: list[bool]
    left: list[int]
    right: list[int]
    gain: list[Any]
    value: list[Any]


def _read_tree(root: Part, numbers: dict[str, int]) -> RegressionTree:
    """Return a tree from nested nodes."""
    found = _Found([], [], [], [], [], [], [])
    to_visit = [(root, found.left, -1)]
    while to_visit:
        node, side, parent = to_visit.pop()
        leaf = "leaf" in node.content
        if parent >= 0:
            side[parent] = ~len(found.value) if leaf else len(found.feature)
        if leaf:
            found.value.append(node.get("leaf"))
        else:
            own = len(found.feature)
            yes, no = _add_split(node, numbers, found)
            to_visit += [(no, found.right, own), (yes, found.left, own)]
    place = root.place
    value, condition, gain = (
        to_numbers(one, len(one), root.path, f"the {what} of {place}")
        for one, what in ((found.value, "leaves"), (found.condition, "conditions"), (found.gain, "gains"))
    )
    with np.errstate(over="ignore"):
        single = condition.astype(np.float32)
    if not np.isfinite(single).all():
        raise FormatError(root.path, f"the conditions of {place} must be finite")
    splits = Splits(
        np.array(found.feature, np.int64), below_as_float32(single), np.array(found.missing_left, np.bool_),
        found.left, found.right, gain,
    )  # fmt: skip
    return make_tree(splits, value.astype(np.float32).astype(SCORE), None, root.path, place)


def _add_split(node: Part, numbers: dict[str, int], found: _Found) -> tuple[Part, Part]:
    """Add a split, and return its children: where the condition holds, and where it does not."""
    condition = node.get("split_condition")
    check_numeric(np.array([isinstance(condition, list)]), node.path, node.place)
    children = node.parts("children")
    ids = [child.get("nodeid") for child in children]
    ways = [node.get(name) for name in ("yes", "no", "missing")]
    if len(ids) != 2 or ids[0] == ids[1] or sorted(ways[:2], key=str) != sorted(ids, key=str) or ways[2] not in ids:
        raise FormatError(node.path, f"{node.place}: yes, no and missing must name the two children")
    found.feature.append(_feature_number(node, numbers))
    found.condition.append(condition)
    found.missing_left.append(ways[2] == ways[0])
    found.gain.append(node.get("gain", 0.0))
    found.left.append(-1)
    found.right.append(-1)
    yes = ids.index(ways[0])
    return children[yes], children[1 - yes]


def _feature_number(node: Part, numbers: dict[str, int]) -> int:
    """Return the column of a feature by the names given, or by XGBoost's own names f0, f1, …."""
    name = str(node.get("split"))
    made_up = re.fullmatch(r"f([0-9]{1,9})", name)
    if name not in numbers and made_up is None:
        advice = "it is not one of them" if numbers else "give them in the order of the columns"
        raise FormatError(node.path, f"{node.place}: {name[:40]!r} must be one of feature_names; {advice}")
    return numbers[name] if name in numbers else min(int(made_up.group(1)), MOST_FEATURES - 1)  # type: ignore[union-attr]
