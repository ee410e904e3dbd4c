"""Readers of exported files, each by the rules of its format and one row at a time, independent of the writers.

Numbers are taken as the program in question takes them: Java's float is a float32, its double a Python float.
"""

import csv
import json
import math
import xml.etree.ElementTree as ElementTree

import numpy as np


def float32(text):
    with np.errstate(over="ignore"):
        return np.float32(float(text))


def rows_as_float32(X):
    with np.errstate(over="ignore"):
        return [[np.float32(x) for x in row] for row in np.asarray(X, float)]


def ranklib(text, X):
    """Scores of RankLib: comment lines aside, one line of stumps, or an <ensemble>."""
    kind = text.splitlines()[0]
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    rows = [[np.float32(0) if np.isnan(x) else x for x in row] for row in rows_as_float32(X)]
    if kind == "## RankBoost":
        (content,) = lines
        stumps = [part.split(":") for part in content.split(" ") if part]
        return [
            sum(
                float(weight)
                for feature, threshold, weight in stumps
                if float(row[int(feature) - 1]) > float(threshold)
            )
            for row in rows
        ]
    assert kind == "## LambdaMART"
    trees = ElementTree.fromstring("".join(line.strip() for line in lines))
    assert trees.tag == "ensemble"
    return [_ranklib_ensemble(trees, row) for row in rows]


def _ranklib_ensemble(trees, row):
    total = np.float32(0)
    for tree in trees:
        (node,) = tree
        while node[0].tag == "feature":
            x, threshold = row[int(node[0].text.strip()) - 1], float32(node[1].text.strip())
            node = node[2] if x <= threshold else node[3]
        total = np.float32(total + float32(node[0].text.strip()) * float32(tree.get("weight")))
    return total


def xgboost_dump(text, X, names, missing="child"):
    """Scores of a reader of XGBoost's dump: x < split_condition goes to "yes"; `missing` is what NaN does."""
    place = {name: i for i, name in enumerate(names)}
    totals = []
    for row in rows_as_float32(X):
        total = np.float32(0)
        for tree in json.loads(text):
            node = tree
            while "leaf" not in node:
                x = row[place[node["split"]]]
                x = np.float32(0) if np.isnan(x) and missing == "zero" else x
                if np.isnan(x):
                    goes = node["missing"] if missing == "child" else node["no"]
                else:
                    goes = node["yes"] if x < float32(node["split_condition"]) else node["no"]
                node = next(child for child in node["children"] if child["nodeid"] == goes)
            total = np.float32(total + float32(node["leaf"]))
        totals.append(total)
    return totals


def solr(text, X):
    """Scores of Solr: 1e-6 is added to a threshold as it is read; NaN is 0 unless isNullSameAsZero is false."""
    model = json.loads(text)
    place = {feature["name"]: i for i, feature in enumerate(model["features"])}
    kind = model["class"].rpartition(".")[2]
    params = model["params"]
    null_is_zero = params.get("isNullSameAsZero", True)
    totals = []
    for row in rows_as_float32(X):
        x = [np.float32(0) if np.isnan(one) and null_is_zero else one for one in row]
        total = np.float32(0)
        if kind == "LinearModel":
            for name, weight in params["weights"].items():
                total = np.float32(total + x[place[name]] * np.float32(weight))
        else:
            assert kind == "MultipleAdditiveTreesModel"
            for tree in params["trees"]:
                total = np.float32(total + float32(tree["weight"]) * _solr_node(tree["root"], x, place))
        totals.append(total)
    return totals


def _solr_node(node, row, place):
    while "feature" in node:
        x, threshold = row[place[node["feature"]]], np.float32(float32(node["threshold"]) + np.float32(1e-6))
        if np.isnan(x):
            node = node[node["missing"]]
        else:
            node = node["left"] if x <= threshold else node["right"]
    return float32(node["value"])


def scorecard(text, X, names):
    """Sums of points: of each feature the one line that holds its value."""
    lines = list(csv.DictReader(text.splitlines()))
    totals = []
    for row in np.asarray(X, float):
        values = dict(zip(names, row, strict=True))
        points = [float(line["points"]) for line in lines if _holds(line, values)]
        totals.append(math.fsum(points))
    return totals


def _holds(line, values):
    if line["kind"] == "constant":
        return True
    x = values[line["feature"]]
    if math.isnan(x) or line["kind"] == "missing":
        return math.isnan(x) and line["kind"] == "missing"
    return (not line["above"] or x > float(line["above"])) and (not line["up_to"] or x <= float(line["up_to"]))
