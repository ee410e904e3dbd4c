"""LightGBM's text files: a header, a paragraph of arrays for each tree, and what is not needed to score.

LightGBM compares in float64, x ≤ threshold to the left. What 0 and NaN do is said for each split: missing type 0
(none) takes NaN for 0; 1 (zero) sends both NaN and 0 the default way; 2 (NaN) sends NaN that way. Values within
1e-35 of 0 are read as 0. A split on categories sends the codes in its set left, and all else right, NaN included.
"""

from __future__ import annotations

from os import PathLike

import numpy as np

from podium._validation import Array, FormatError
from podium.export.ensemble import TreeSum
from podium.importing.foreign_model import ZERO, ForeignColumns, Imported, Reading, given_names
from podium.importing.foreign_trees import Splits, code_set, make_tree, to_numbers, to_whole_number, to_whole_numbers
from podium.model_file import MOST_FEATURES
from podium.trees import RegressionTree

VERSIONS = ("v2", "v3", "v4")
"""Layouts that this module reads; they differ in what is not needed to score."""
CATEGORICAL, DEFAULT_LEFT = 1, 2
"""Bits of a split's decision type; the two above them are its missing type."""
ZERO_TYPE, NAN_TYPE = 1, 2
"""Missing types other than none."""

Paragraph = dict[str, tuple[int, str]]
"""Line number and text of each name."""


def read_lightgbm(data: bytes, path: str | PathLike[str], columns: ForeignColumns) -> Imported:
    """Return the model of ``Booster.save_model`` or ``model_to_string``."""
    paragraphs, ended = _paragraphs(data, path)
    header, bodies = paragraphs[0], paragraphs[1:]
    if not ended:
        raise FormatError(path, "the file ends before 'end of trees': it is not whole")
    n_features, names = columns.exactly(*_check_header(header, len(bodies), path), path)
    read = [_read_tree(body, number, n_features, path) for number, body in enumerate(bodies)]
    zeros = _zeros_as_missing(read, path)
    share = 1 / max(len(read), 1) if "average_output" in header else 1.0
    trees = tuple(tree if share == 1 else tree.scaled(share) for tree, _, _ in read)
    source = {"format": "lightgbm", "version": header["version"][1], "objective": header.get("objective", (0, ""))[1]}
    return Imported(
        TreeSum(trees, 0.0, n_features, names, "LightGBM"), Reading(zeros, absent_as_zero=True), source,
    )  # fmt: skip


def _paragraphs(data: bytes, path: str | PathLike[str]) -> tuple[list[Paragraph], bool]:
    """Return the header and one paragraph a tree, and whether the trees' end is marked."""
    try:
        lines = data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    except UnicodeDecodeError:
        raise FormatError(path, "a LightGBM model is a text in UTF-8") from None
    if not lines or lines[0].strip() != "tree":
        raise FormatError(path, "a LightGBM model begins with the line 'tree'", 1, lines[0] if lines else "")
    found: list[Paragraph] = [{}]
    for number, line in enumerate(lines[1:], 2):
        name, _, text = line.partition("=")
        if line == "end of trees":
            return found, True
        if name == "Tree":
            found.append({})
        if name in found[-1]:
            raise FormatError(path, f"{name} stands twice in one paragraph", number, line)
        if line:
            found[-1][name] = (number, text)
    return found, False


def _check_header(header: Paragraph, n_trees: int, path: str | PathLike[str]) -> tuple[int, tuple[str, ...] | None]:
    """Return number and names of the features of a model with one score a row."""
    for name in ("version", "num_class", "num_tree_per_iteration", "max_feature_idx", "feature_names"):
        if name not in header:
            raise FormatError(path, f"the header has no {name}")
    line, version = header["version"]
    if version not in VERSIONS:
        raise FormatError(path, f"the version must be one of {', '.join(VERSIONS)}", line, version)
    for name in ("num_class", "num_tree_per_iteration"):
        if header[name][1] != "1":
            raise FormatError(path, "a model of several classes has no single score to rank by", *header[name])
    if "tree_sizes" in header and len(header["tree_sizes"][1].split()) != n_trees:
        raise FormatError(path, f"tree_sizes must have one entry for each of {n_trees} trees", header["tree_sizes"][0])
    n_features = 1 + to_whole_number(header["max_feature_idx"][1], 0, MOST_FEATURES - 1, path, "max_feature_idx")
    line, text = header["feature_names"]
    names = tuple(text.split(" "))
    if len(names) != n_features:
        raise FormatError(path, f"feature_names must be {n_features} names; got {len(names)}", line)
    return n_features, given_names(names)


def _read_tree(
    body: Paragraph, number: int, n_features: int, path: str | PathLike[str]
) -> tuple[RegressionTree, Splits, Array]:
    """Return a tree, and its splits and their missing types as they stand in the file."""
    place = f"tree {number}, line {body['Tree'][0]}"
    texts = {name: text for name, (_, text) in body.items()}
    n_leaves = to_whole_number(texts.get("num_leaves"), 1, MOST_FEATURES, path, f"{place}: num_leaves")
    if texts.get("is_linear", "0") != "0":
        raise FormatError(path, f"{place}: linear models in the leaves cannot be read, only constant ones")

    def numbers(name: str, n_values: int) -> Array:
        """One array of the tree."""
        return to_numbers(texts.get(name, "").split(), n_values, path, f"{place}: {name}")

    def whole(name: str, n_values: int, least: int, most: int) -> Array:
        """One array of integers."""
        return to_whole_numbers(texts.get(name, "").split(), n_values, least, most, path, f"{place}: {name}")

    n_splits = n_leaves - 1
    kinds = whole("decision_type", n_splits, 0, 15)
    by_set = kinds & CATEGORICAL != 0
    threshold = np.where(by_set, np.nan, numbers("threshold", n_splits))
    left, right = (whole(f"{side}_child", n_splits, -n_leaves, n_splits - 1) for side in ("left", "right"))
    splits = Splits(
        whole("split_feature", n_splits, 0, n_features - 1), _without_small(threshold), _missing_left(kinds, threshold),
        left.tolist(), right.tolist(), numbers("split_gain", n_splits) if texts.get("split_gain") else None,
        _sets(texts, by_set, path, place),
    )  # fmt: skip
    count = whole("leaf_count", n_leaves, 0, 2**53) if texts.get("leaf_count") else None
    return make_tree(splits, numbers("leaf_value", n_leaves), count, path, place), splits, _missing_types(kinds)


def _sets(texts: dict[str, str], by_set: Array, path: str | PathLike[str], place: str) -> dict[int, Array]:
    """Return the set of each split on categories: the bits of some words, whose number is its threshold."""
    if not by_set.any():
        return {}
    places = [texts["threshold"].split()[split] for split in np.flatnonzero(by_set)]
    ends, words = (texts.get(name, "").split() for name in ("cat_boundaries", "cat_threshold"))
    bits = to_whole_numbers(words, len(words), 0, 2**32 - 1, path, f"{place}: cat_threshold")
    bounds = to_whole_numbers(ends, len(ends), 0, len(bits), path, f"{place}: cat_boundaries")
    own = to_whole_numbers(places, len(places), 0, len(bounds) - 2, path, f"{place}: numbers of sets")
    found = {}
    for split, number in zip(np.flatnonzero(by_set).tolist(), own.tolist(), strict=True):
        chosen = bits[bounds[number] : bounds[number + 1]].astype("<u4").view(np.uint8)
        found[split] = code_set(np.flatnonzero(np.unpackbits(chosen, bitorder="little")), path, place)
    return found


def _missing_types(kinds: Array) -> Array:
    """Return the missing type in each decision type."""
    return (kinds >> 2) & 3


def _missing_left(kinds: Array, threshold: Array) -> Array:
    """Say of each split where NaN goes: the default way, or that of 0 where nothing is missing; right from sets."""
    to_left = np.where(_missing_types(kinds) == 0, threshold >= 0, kinds & DEFAULT_LEFT != 0)
    return np.where(kinds & CATEGORICAL != 0, False, to_left)


def _without_small(threshold: Array) -> Array:
    """Return thresholds that send all values read as 0 the way of 0."""
    positive = np.where((threshold >= 0) & (threshold < ZERO), ZERO, threshold)
    return np.where((threshold < 0) & (threshold >= -ZERO), np.nextafter(-ZERO, -np.inf), positive)


def _zeros_as_missing(read: list[tuple[RegressionTree, Splits, Array]], path: str | PathLike[str]) -> tuple[int, ...]:
    """Return the columns whose zeros must be read as NaN: those that a split of type zero sends off their side.

    The other splits of such a column must send 0 and NaN the same way, and none may ask for category 0. In one
    training it is so, as the missing type is the feature's; a model trained further with other settings may mix them.
    """
    if not read:
        return ()
    feature = np.concatenate([splits.feature for _, splits, _ in read])
    apart = np.concatenate([(splits.threshold >= 0) != splits.missing_left for _, splits, _ in read])
    kinds = np.concatenate([types for _, _, types in read])
    columns = np.unique(feature[apart & (kinds == ZERO_TYPE)])
    by_set = np.concatenate([np.isnan(splits.threshold) for _, splits, _ in read])
    mixed = np.isin(feature, columns) & ((apart & (kinds == NAN_TYPE)) | by_set)
    if mixed.any():
        raise FormatError(
            path, f"feature {feature[mixed][0]} is split with 0 as a missing value and with 0 as a number, both"
        )
    return tuple(columns.tolist())
