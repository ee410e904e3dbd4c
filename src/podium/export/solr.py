"""Solr's learning-to-rank module: MultipleAdditiveTreesModel, LinearModel and NeuralNetworkModel.

Solr adds 1e-6 to every threshold it reads, in float32, and goes left where x <= that; features, leaves and sums are
float32. A missing value takes the side named "missing" (Solr 9.2 and later, for features whose defaultValue is NaN) or
counts as 0. A LinearModel has no intercept, which changes no order.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from podium._validation import Array, PodiumError
from podium.export import solr_net
from podium.export.ensemble import Exported, Linear, NetScore, TreeSum
from podium.export.tree_text import (
    LARGEST,
    Rules,
    check_missing_as_zero,
    feature_names,
    float_text,
    nearest_float32,
    nested,
)
from podium.trees import RegressionTree

MISSING = ("child", "zero", "absent")
SLACK = np.float32(1e-6)
PACKAGE = "org.apache.solr.ltr.model"
CLASSES = {TreeSum: "MultipleAdditiveTreesModel", Linear: "LinearModel", NetScore: "NeuralNetworkModel"}


def written(thresholds: Array) -> Array:
    """Return the least float32 that is not below the threshold once Solr has added its slack.

    Mostly it then is the threshold. The rounding of sums near 1e-6 and of some others allows only a float32 next to it.
    """
    wanted = nearest_float32(thresholds)
    found = np.clip(wanted - SLACK, -LARGEST, LARGEST)
    for _ in range(4):
        found = np.where(found + SLACK < wanted, np.nextafter(found, LARGEST), found)
    for _ in range(4):
        lower = np.nextafter(found, -LARGEST)
        found = np.where(lower + SLACK >= wanted, lower, found)
    return found


def as_read(thresholds: Array) -> Array:
    """Return the thresholds that Solr compares with."""
    return written(thresholds) + SLACK


RULES = Rules(as_read, np.float32, np.float32)


def write(record: Exported, missing: str = "child", name: str = "podium", store: str | None = None) -> str:
    """Return the model, for an upload to the model store.

    Parameters
    ----------
    record : TreeSum, Linear or NetScore
    missing : str
    name : str
        Of the model, to call it by in a query.
    store : str, optional
        Feature store; by default Solr's own.
    """
    if isinstance(record, NetScore):
        params = solr_net.params(record, missing)
    else:
        params = _linear(record, missing) if isinstance(record, Linear) else _trees(record, missing)
    head = {"class": f"{PACKAGE}.{CLASSES[type(record)]}", "name": name} | ({} if store is None else {"store": store})
    features = [{"name": one} for one in feature_names(record)]
    return f'{json.dumps({**head, "features": features})[:-1]}, "params": {params}}}\n'


def score(record: Exported, X: Array, missing: str = "child") -> Array:
    """Score rows as Solr does."""
    if isinstance(record, TreeSum):
        return rules(record, missing).score(record, X)
    if isinstance(record, NetScore):
        return solr_net.score(record, X)
    rows = replace(RULES, missing="zero").features(X)
    total = np.zeros(len(X), np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        for column, weight in zip(rows.T, record.weights.astype(np.float32), strict=True):
            total += column * weight
    return total


def rules(record: TreeSum, missing: str = "child") -> Rules:
    """Return how Solr scores a model of trees; without missing branches a missing value counts as 0."""
    return replace(RULES, missing="child" if missing == "child" else "zero")


def _linear(record: Linear, missing: str) -> str:
    """Return the weights, after a check that a missing value may count as 0."""
    counts = np.flatnonzero((record.weights != 0) & (record.missing != 0))
    if len(counts) and missing != "absent":
        name, value = feature_names(record)[counts[0]], record.missing[counts[0]]
        raise PodiumError(
            f"Solr's LinearModel reads a missing value as 0, but {record.name} takes a missing {name!r} for {value:g}; "
            'if no value is ever missing, say missing="absent".'
        )
    weights = dict(zip(feature_names(record), record.weights.tolist(), strict=True))
    return json.dumps({"weights": weights})


def _trees(record: TreeSum, missing: str) -> str:
    """Return the trees, numbers as strings, as Solr's own examples have them."""
    if missing == "zero":
        check_missing_as_zero(record, as_read, "Solr without missing branches")
    names = [json.dumps(name) for name in feature_names(record)]
    sides = missing == "child"
    roots = (_tree(tree, names, sides) for tree in record.with_base_as_tree().trees)
    trees = ",\n".join(f'{{"weight": "1", "root": {root}}}' for root in roots)
    head = '"isNullSameAsZero": false, ' if sides else ""  # Solr before 9.2 does not know the word
    return f'{{{head}"trees": [\n{trees}\n]}}'


def _tree(tree: RegressionTree, names: list[str], sides: bool) -> str:
    """Return one tree."""
    feature, default = tree.feature.tolist(), tree.missing_left.tolist()
    threshold = [float_text(t) for t in written(tree.threshold)]

    def split(i: int, left: str, right: str) -> str:
        """Return the text of a split around those of its sides."""
        side = f'"missing": "{"left" if default[i] else "right"}", ' if sides else ""
        return (
            f'{{"feature": {names[feature[i]]}, "threshold": "{threshold[i]}", {side}"left": {left}, "right": {right}}}'
        )

    return nested(tree, split, [f'{{"value": "{float_text(value)}"}}' for value in tree.value])
