"""RankLib's model files: a name after ``##``, comments, then stumps, weights of features, or trees in XML.

RankLib reads features as float32 and missing ones as 0, and numbers them from 1.
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike

import numpy as np

from podium._validation import Array, FormatError
from podium.export.ensemble import Linear, TreeSum, split_tree
from podium.importing.foreign_model import ForeignColumns, Imported, Reading
from podium.importing.foreign_trees import at_most_as_float32, to_numbers, to_whole_number
from podium.importing.ranklib_xml import read_bags
from podium.model_file import MOST_FEATURES
from podium.trees import RegressionTree

MOST_WEIGHTS = 2**20
"""Features of a weighted sum, which has an entry for each."""

Lines = list[str]


def read_ranklib(data: bytes, path: str | PathLike[str], columns: ForeignColumns) -> Imported:
    """Return the model of ``java -jar RankLib.jar -save``."""
    try:
        lines = data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    except UnicodeDecodeError:
        raise FormatError(path, "a RankLib model is a text in UTF-8") from None
    name = lines[0].lstrip("#").strip()
    if not lines[0].startswith("##") or name not in RANKERS:
        known = ", ".join(RANKERS)
        raise FormatError(path, f"the first line must be ## and one of {known}", 1, lines[0])
    return RANKERS[name](lines, path, columns)._replace(source={"format": "ranklib", "ranker": name})


def _read_stumps(lines: Lines, path: str | PathLike[str], columns: ForeignColumns) -> Imported:
    """Return RankBoost: ``feature:threshold:α``, which scores α where x > threshold."""
    features, numbers = _read_entries(lines, path, 2)
    thresholds = at_most_as_float32(numbers[:, 0])
    trees = tuple(
        split_tree(feature - 1, threshold, missing_left, 0.0, alpha)
        for feature, threshold, missing_left, alpha in zip(
            features, thresholds.tolist(), (numbers[:, 0] >= 0).tolist(), numbers[:, 1].tolist(), strict=True
        )
    )
    return Imported(_tree_sum(trees, columns, path), Reading(), {})


def _read_regression(lines: Lines, path: str | PathLike[str], columns: ForeignColumns) -> Imported:
    """Return a weighted sum of features with a constant, the weight of feature 0."""
    return _read_weights(lines, path, columns, 0)


def _read_weights(lines: Lines, path: str | PathLike[str], columns: ForeignColumns, least: int = 1) -> Imported:
    """Return a weighted sum of features: ``feature:weight``, the weights of one feature added up."""
    features, numbers = _read_entries(lines, path, 1, least)
    n_features, names = columns.at_least(max(features, default=0), path)
    if n_features > MOST_WEIGHTS:
        raise FormatError(path, f"a weighted sum may have {MOST_WEIGHTS} features; got {n_features}")
    weights = np.bincount(np.array(features, int), numbers[:, 0], minlength=n_features + 1)
    model = Linear(weights[1:], np.zeros(n_features), float(weights[0]), names, "RankLib")
    return Imported(model, Reading(absent_as_zero=True, float32=True), {})


def _read_trees(lines: Lines, path: str | PathLike[str], columns: ForeignColumns) -> Imported:
    """Return MART or LambdaMART: one bag of trees, added up in float32."""
    bags = read_bags(lines, path)
    if len(bags) != 1:
        raise FormatError(path, f"there must be one <ensemble>; got {len(bags)}")
    return Imported(_tree_sum(tuple(bags[0]), columns, path), Reading(float32=True), {})


def _read_forest(lines: Lines, path: str | PathLike[str], columns: ForeignColumns) -> Imported:
    """Return Random Forests: the mean of bags, each rounded to float32."""
    bags = read_bags(lines, path)
    if not bags:
        raise FormatError(path, "there must be an <ensemble>")
    trees = [tree.with_values(tree.value.astype(np.float32) / float(len(bags))) for bag in bags for tree in bag]
    return Imported(_tree_sum(tuple(trees), columns, path), Reading(), {})


RANKERS: dict[str, Callable[[Lines, str | PathLike[str], ForeignColumns], Imported]] = {
    "RankBoost": _read_stumps,
    "MART": _read_trees,
    "LambdaMART": _read_trees,
    "Random Forests": _read_forest,
    "AdaRank": _read_weights,
    "Coordinate Ascent": _read_weights,
    "Linear Regression": _read_regression,
}
"""Reader of each ranker by the name in the first line."""


def _tree_sum(trees: tuple[RegressionTree, ...], columns: ForeignColumns, path: str | PathLike[str]) -> TreeSum:
    """Return the sum of trees over the columns given, or up to the last one used."""
    used = max((int(tree.feature.max()) + 1 for tree in trees if len(tree.feature)), default=0)
    return TreeSum(trees, 0.0, *columns.at_least(used, path), "RankLib")


def _read_entries(lines: Lines, path: str | PathLike[str], n_numbers: int, least: int = 1) -> tuple[list[int], Array]:
    """Return features and numbers of the one line of ``feature:number`` entries; what follows a # is a comment."""
    found = [(i, line) for i, line in enumerate(lines, 1) if line.strip() and not line.strip().startswith("##")]
    if len(found) != 1:
        raise FormatError(path, f"there must be one line of entries below the comments; got {len(found)}")
    line, text = found[0]
    features, rows = [], []
    for entry in text.rpartition("#")[0 if "#" in text else 2].split():
        feature, *numbers = entry.split(":")
        place = f"line {line}, {entry[:40]!r}"
        features.append(to_whole_number(feature, least, MOST_FEATURES, path, place))
        rows.append(to_numbers(numbers, n_numbers, path, place))
    numbers_found = np.array(rows).reshape(len(rows), n_numbers)
    if not np.isfinite(numbers_found).all():
        raise FormatError(path, "every entry must be of finite numbers", line)
    return features, numbers_found
