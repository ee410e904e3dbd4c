"""XGBoost's dumps: ``Booster.dump_model(path, dump_format="json")``, nested splits with the names of features.

A dump has no base score, so its scores are a constant away from the model's own, in the same order. It does not say
either that a model is of several classes, or that trees have weights (DART); import the model file of those.
"""

from __future__ import annotations

import re
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from podium._compiled import ROW, SCORE
from podium._validation import FormatError
from podium.export.ensemble import TreeSum
from podium.importing.document import read_json
from podium.importing.foreign_model import ForeignColumns, Imported, Reading
from podium.importing.foreign_trees import Splits, below_as_float32, code_set, make_tree, to_numbers, to_whole_numbers
from podium.model_file import MOST_FEATURES
from podium.trees import RegressionTree


def read_xgboost_dump(data: bytes, path: str | PathLike[str], columns: ForeignColumns) -> Imported:
    """Return the model of a dump in JSON: a list of trees, or of the texts that ``get_dump`` returns."""
    document = read_json(data, path)
    if not isinstance(document, list):
        raise FormatError(path, "a dump must be a list of trees")
    numbers = {name: number for number, name in enumerate(columns.names or ())}
    trees = []
    for i, content in enumerate(document):
        nested = read_json(content, path) if isinstance(content, str) else content
        trees.append(_read_tree(nested, f"tree {i}", path, numbers))
    used = max((int(tree.feature.max()) + 1 for tree in trees if len(tree.feature)), default=0)
    n_features, names = columns.at_least(used, path)
    total = TreeSum(tuple(trees), 0.0, n_features, names, "XGBoost")
    return Imported(total, Reading(float32=True), {"format": "xgboost-json"})


class _Found(NamedTuple):
    """The splits and leaves of a tree so far, as lists."""

    feature: list[int]
    condition: list[object]
    missing_left: list[bool]
    left: list[int]
    right: list[int]
    gain: list[object]
    value: list[object]
    sets: dict[int, list[object]]


def _read_tree(root: object, place: str, path: str | PathLike[str], numbers: dict[str, int]) -> RegressionTree:
    """Return a tree from nested nodes."""
    found = _Found([], [], [], [], [], [], [], {})
    to_visit = [(root, found.left, -1)]
    while to_visit:
        node, side, parent = to_visit.pop()
        if not isinstance(node, dict):
            raise FormatError(path, f"{place}: a node must be a table of names and values")
        leaf = "leaf" in node
        if parent >= 0:
            side[parent] = ~len(found.value) if leaf else len(found.feature)
        if leaf:
            found.value.append(node["leaf"])
            continue
        own = len(found.feature)
        try:
            yes, no = _add_split(node, found, numbers)
        except _Broken as error:
            raise FormatError(path, f"{place}: {error}") from None
        to_visit += [(no, found.right, own), (yes, found.left, own)]
    return _finished(found, place, path)


class _Broken(Exception):
    """A node cannot be read; the message says why."""


def _add_split(node: dict[str, Any], found: _Found, numbers: dict[str, int]) -> tuple[object, object]:
    """Add a split, and return its children: where the condition holds, and where it does not."""
    try:
        condition, ways, children = (
            node["split_condition"],
            (node["yes"], node["no"], node["missing"]),
            node["children"],
        )
        ids = (children[0]["nodeid"], children[1]["nodeid"])
        name = node["split"]
    except (KeyError, IndexError, TypeError):
        raise _Broken("a split needs split, split_condition, yes, no, missing and two children with a nodeid") from None
    if ids[0] == ids[1] or ways[:2] not in (ids, ids[::-1]) or ways[2] not in ids or len(children) != 2:
        raise _Broken("yes, no and missing must name the two children")
    found.feature.append(_feature_number(str(name), numbers))
    if isinstance(condition, list):
        found.sets[len(found.condition)] = condition
    found.condition.append(0.0 if isinstance(condition, list) else condition)
    found.missing_left.append(ways[2] == ways[0])
    found.gain.append(node.get("gain", 0.0))
    found.left.append(-1)
    found.right.append(-1)
    yes = ids.index(ways[0])
    return children[yes], children[1 - yes]


def _feature_number(name: str, numbers: dict[str, int]) -> int:
    """Return the column of a feature by the names given, or by XGBoost's own names f0, f1, …."""
    if name in numbers:
        return numbers[name]
    made_up = re.fullmatch(r"f([0-9]{1,9})", name)
    if made_up is None:
        advice = "it is not one of them" if numbers else "give them in the order of the columns"
        raise _Broken(f"{name[:40]!r} must be one of feature_names; {advice}")
    return int(made_up.group(1))


def _finished(found: _Found, place: str, path: str | PathLike[str]) -> RegressionTree:
    """Return the tree of what was found."""
    value, condition, gain = (
        to_numbers(one, len(one), path, f"the {what} of {place}")
        for one, what in ((found.value, "leaves"), (found.condition, "conditions"), (found.gain, "gains"))
    )
    with np.errstate(over="ignore"):
        single, leaves = condition.astype(np.float32), value.astype(np.float32)
    if not np.isfinite(single).all():
        raise FormatError(path, f"the conditions of {place} must be finite")
    sets = {}
    for split, codes in found.sets.items():
        named = to_whole_numbers(codes, len(codes), 0, MOST_FEATURES, path, f"the categories of {place}")
        sets[split] = code_set(named, path, place)
    threshold = below_as_float32(single)
    threshold[list(sets)] = np.nan
    splits = Splits(
        np.array(found.feature, ROW), threshold, np.array(found.missing_left, np.bool_),
        found.left, found.right, gain, sets,
    )  # fmt: skip
    return make_tree(splits, leaves.astype(SCORE), None, path, place)
