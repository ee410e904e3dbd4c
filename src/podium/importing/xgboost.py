"""XGBoost's model files, JSON or UBJSON: ``Booster.save_model("model.json")`` and ``("model.ubj")``.

XGBoost rounds x to float32 and goes left where x < condition; a missing value goes the default way. It adds the
leaves to the base score in float32, one tree after the other. A split on categories sends the codes that it lists right
and the other ones left, those that it has not seen too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from os import PathLike

import numpy as np

from podium._compiled import ROW, SCORE
from podium._validation import Array, FormatError
from podium.export.ensemble import TreeSum
from podium.importing.document import Part, read_json
from podium.importing.foreign_model import ForeignColumns, Imported, Reading, given_names
from podium.importing.foreign_trees import Splits, below_as_float32, code_set, make_tree, to_numbers
from podium.importing.ubjson import read_ubjson
from podium.model_file import MOST_FEATURES
from podium.trees import RegressionTree


def _logit(share: float) -> float:
    """Return the score of a probability."""
    return math.log(share / (1 - share)) if 0 < share < 1 else math.nan


def _log(mean: float) -> float:
    """Return the score of a positive mean."""
    return math.log(mean) if mean > 0 else math.nan


MARGINS: dict[str, Callable[[float], float]] = {
    "binary:logistic": _logit,
    "reg:logistic": _logit,
    "count:poisson": _log,
    "reg:gamma": _log,
    "reg:tweedie": _log,
    "survival:aft": _log,
    "survival:cox": _log,
}
"""The score of the base value that a file gives, by objective; of the others it is that value itself."""
BOOSTERS = ("gbtree", "dart")
"""Boosters that are sums of trees."""


def read_xgboost(data: bytes, path: str | PathLike[str], columns: ForeignColumns) -> Imported:
    """Return the model of ``Booster.save_model``."""
    is_text = data[1:2] in (b'"', b" ", b"\n", b"\r", b"\t", b"}")
    document = Part(read_json(data, path) if is_text else read_ubjson(data, path), "", path)
    learner = document.part("learner")
    n_features, names = columns.exactly(*_check_learner(learner), path)
    booster = learner.part("gradient_booster")
    kind = booster.get("name")
    if kind not in BOOSTERS:
        raise FormatError(path, f"the booster must be one of {', '.join(BOOSTERS)}; got {str(kind)[:40]!r}")
    model = (booster.part("gbtree") if kind == "dart" else booster).part("model")
    trees = [_read_tree(part, n_features) for part in model.parts("trees")]
    if any(model.whole_numbers("tree_info", len(trees), 0, MOST_FEATURES)):
        raise FormatError(path, "a model of several classes has no single score to rank by")
    if kind == "dart":
        trees = _weighted(trees, booster)
    source = {
        "format": "xgboost", "version": ".".join(map(str, document.whole_numbers("version", 3, 0, MOST_FEATURES))),
        "objective": _objective(learner),
    }  # fmt: skip
    total = TreeSum(tuple(trees), _base_score(learner), n_features, names, "XGBoost")
    return Imported(total, Reading(float32=True), source, _n_used(learner, model, len(trees)))


def _check_learner(learner: Part) -> tuple[int, tuple[str, ...] | None]:
    """Return number and names of the features of a model with one score a row."""
    numbers = learner.part("learner_model_param")
    if numbers.whole("num_class", 0, MOST_FEATURES, 0) > 1 or numbers.whole("num_target", 0, MOST_FEATURES, 1) > 1:
        raise FormatError(learner.path, "a model of several classes or targets has no single score to rank by")
    n_features = numbers.whole("num_feature", 1, MOST_FEATURES)
    given = learner.content.get("feature_names") or []
    names = tuple(given) if isinstance(given, list) else (None,)
    if names and (len(names) != n_features or not all(isinstance(name, str) for name in names)):
        raise FormatError(learner.path, f"learner.feature_names must be {n_features} names")
    return n_features, given_names(names)


def _objective(learner: Part) -> str:
    """Return the name of the objective."""
    return str(learner.part("objective").get("name"))[:80]


def _base_score(learner: Part) -> float:
    """Return what the scores begin with, as float32; files before version 3.1 give a number without brackets."""
    text = str(learner.part("learner_model_param").get("base_score")).strip("[]")
    value = to_numbers([text], 1, learner.path, "learner.learner_model_param.base_score")[0]
    score = np.float32(MARGINS.get(_objective(learner), float)(float(np.clip(value, -1e38, 1e38))))
    if not np.isfinite(score):
        raise FormatError(learner.path, f"base_score {text[:40]} is not one of the objective {_objective(learner)}")
    return float(score)


def _n_used(learner: Part, model: Part, n_trees: int) -> int | None:
    """Return the trees up to the best round, where early stopping has named one."""
    attributes = learner.content.get("attributes")
    if not isinstance(attributes, dict) or "best_iteration" not in attributes:
        return None
    best = Part(attributes, "learner.attributes", learner.path).whole("best_iteration", 0, MOST_FEATURES)
    in_round = model.part("gbtree_model_param").whole("num_parallel_tree", 0, MOST_FEATURES, 1)
    return min((best + 1) * max(in_round, 1), n_trees)


def _read_tree(part: Part, n_features: int) -> RegressionTree:
    """Return a tree from arrays over its nodes, splits and leaves mixed."""
    size = part.part("tree_param").whole("num_nodes", 1, MOST_FEATURES)
    if part.part("tree_param").whole("size_leaf_vector", 0, MOST_FEATURES, 0) > 1:
        raise FormatError(part.path, f"{part.place}: leaves of several values have no single score to rank by")
    left, right = (part.whole_numbers(f"{side}_children", size, -1, size - 1) for side in ("left", "right"))
    inner = left >= 0
    if (right[inner] < 0).any():
        raise FormatError(part.path, f"{part.place}: a split must have two children")
    number = np.where(inner, np.cumsum(inner) - 1, ~(np.cumsum(~inner) - 1)).astype(ROW)
    conditions = _as_float32(part, "split_conditions", size)
    gain = part.numbers("loss_changes", size)[inner] if "loss_changes" in part.content else None
    sets = {int(number[node]): words for node, words in _sets(part, size, inner).items()}
    threshold = below_as_float32(conditions[inner])
    threshold[list(sets)] = np.nan
    splits = Splits(
        _features(part, size, inner, n_features), threshold,
        part.whole_numbers("default_left", size, 0, 1)[inner] > 0,
        number[left[inner]].tolist(), number[right[inner]].tolist(), gain, sets,
    )  # fmt: skip
    cover = part.numbers("sum_hessian", size)[~inner] if "sum_hessian" in part.content else None
    return make_tree(splits, conditions[~inner].astype(SCORE), None, part.path, part.place, cover)


def _sets(part: Part, size: int, inner: Array) -> dict[int, Array]:
    """Return the codes that go left of each node that splits on categories: all but those in its run of one long list.

    A file says where each run begins and how long it is, and which node it belongs to.
    """
    if "split_type" not in part.content:
        return {}
    by_set = np.flatnonzero(inner & (part.whole_numbers("split_type", size, 0, 1) > 0))
    if len(by_set) == 0:
        return {}
    n_runs, n_codes = (len(part.sequence(name)) for name in ("categories_nodes", "categories"))
    codes = part.whole_numbers("categories", n_codes, 0, MOST_FEATURES)
    nodes = part.whole_numbers("categories_nodes", n_runs, 0, size - 1)
    starts, sizes = (part.whole_numbers(f"categories_{name}", n_runs, 0, n_codes) for name in ("segments", "sizes"))
    if not np.array_equal(np.sort(nodes), by_set) or (starts + sizes > n_codes).any():
        raise FormatError(part.path, f"{part.place}: every split on categories needs a list of them")
    runs = zip(nodes.tolist(), starts.tolist(), (starts + sizes).tolist(), strict=True)
    return {node: ~code_set(codes[start:end], part.path, part.place) for node, start, end in runs}


def _features(part: Part, size: int, inner: Array, n_features: int) -> Array:
    """Return the column of each split; leaves and deleted nodes name any."""
    feature = part.whole_numbers("split_indices", size, 0, 2**32)[inner]
    if (feature >= n_features).any():
        raise FormatError(part.path, f"{part.place}: a split names a feature outside 0 to {n_features - 1}")
    return feature


def _as_float32(part: Part, name: str, n_values: int) -> Array:
    """Return an array of numbers that are finite in float32."""
    with np.errstate(over="ignore"):
        numbers = part.numbers(name, n_values).astype(np.float32)
    if not np.isfinite(numbers).all():
        raise FormatError(part.path, f"{part.at(name)} must be finite")
    return numbers


def _weighted(trees: list[RegressionTree], booster: Part) -> list[RegressionTree]:
    """Return the trees of DART times their weights, multiplied in float32."""
    weights = _as_float32(booster, "weight_drop", len(trees))
    return [
        tree.with_values((tree.value.astype(np.float32) * weight).astype(SCORE))
        for tree, weight in zip(trees, weights, strict=True)
    ]
