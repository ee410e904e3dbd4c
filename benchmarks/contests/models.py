"""Boosted trees of every peer: trained on the same data, or holding the same trees, so that all score one forest."""

import json
import tempfile
from argparse import Namespace
from pathlib import Path

import numpy as np

from podium import MART, LambdaMART

QUANTIZED = {"use_quantized_grad": True, "num_grad_quant_bins": 16}


def made_data(rows, docs=120, n_features=136, seed=0):
    """Search-like data: heavy tails, many zeros, grades 0 to 4; the rule is the same for every seed."""
    rule, rng = np.random.default_rng(7), np.random.default_rng(seed)
    sizes = rng.integers(max(docs // 2, 2), docs * 3 // 2 + 1, 2 * rows // docs + 8)
    sizes = sizes[: np.searchsorted(np.cumsum(sizes), rows) + 1]
    qid = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.standard_normal((len(qid), n_features)).astype(np.float32)
    X[:, ::3] = np.floor(np.exp(1.5 * X[:, ::3]))
    X[:, 1::6] *= rng.random(X[:, 1::6].shape) < 0.3
    weight = (rule.standard_normal(n_features) * (rule.random(n_features) < 0.3)).astype(np.float32)
    score = np.tanh(X) @ weight + 1.5 * np.tanh(X[:, 0]) * np.tanh(X[:, 3])
    score = score + 2 * rng.standard_normal(len(qid)) + rng.standard_normal(len(sizes))[qid]
    return X, np.digitize(score, np.quantile(score, [0.52, 0.84, 0.97, 0.99])).astype(float), qid, sizes


def settings(trees=100, leaves=31, threads=1):
    """Return what all trainers are given."""
    return Namespace(trees=trees, leaves=leaves, threads=threads)


def podium_model(args, X, y, qid, sizes):
    return LambdaMART(args.trees, max_leaves=args.leaves, n_jobs=args.threads).fit(X, y, qid=qid)


def podium_squares(args, X, y, qid, sizes):
    return MART(args.trees, max_leaves=args.leaves, n_jobs=args.threads).fit(X, y, qid=qid)


def lightgbm_model(args, X, y, qid, sizes, **extra):
    import lightgbm

    params = {
        "objective": "lambdarank", "num_leaves": args.leaves, "learning_rate": 0.1, "min_data_in_leaf": 20,
        "max_bin": 255, "num_threads": args.threads, "verbose": -1, **extra,
    }  # fmt: skip
    return lightgbm.train(params, lightgbm.Dataset(X, y, group=sizes, params=params), args.trees)


def quantized_model(args, X, y, qid, sizes):
    return lightgbm_model(args, X, y, qid, sizes, **QUANTIZED)


def xgboost_model(args, X, y, qid, sizes):
    import xgboost

    params = {
        "objective": "rank:ndcg", "tree_method": "hist", "grow_policy": "lossguide", "max_leaves": args.leaves,
        "max_depth": 0, "eta": 0.1, "max_bin": 255, "nthread": args.threads,
    }  # fmt: skip
    return xgboost.train(params, xgboost.DMatrix(X, y, qid=qid), args.trees)


def catboost_model(args, X, y, qid, sizes):
    import catboost

    params = {
        "loss_function": "LambdaMart:metric=NDCG", "grow_policy": "Lossguide", "max_leaves": args.leaves,
        "iterations": args.trees, "learning_rate": 0.1, "border_count": 254, "min_data_in_leaf": 20,
        "thread_count": args.threads, "verbose": False, "allow_writing_files": False,
    }  # fmt: skip
    return catboost.CatBoost(params).fit(catboost.Pool(X, y, group_id=qid))


def scikit_squares(args, X, y, qid, sizes):
    """Squared error on the grades: scikit-learn has no ranking loss."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    with threadpool_limits(args.threads):
        return HistGradientBoostingRegressor(
            max_iter=args.trees, max_leaf_nodes=args.leaves, early_stopping=False, min_samples_leaf=20
        ).fit(X, y)


TRAINERS = {
    "podium": podium_model,
    "lightgbm": lightgbm_model,
    "lightgbm, quantized": quantized_model,
    "xgboost": xgboost_model,
    "catboost": catboost_model,
}
SQUARES = {"podium": podium_squares, "scikit-learn": scikit_squares}


def scores(name, model, X):
    """Return the scores of a model of any contestant."""
    return np.asarray(model.inplace_predict(X) if name == "xgboost" else model.predict(X), float)


def same_forest(model, threads=1):
    """Return for each peer a function that scores rows with the trees of a fitted LambdaMART."""
    import lightgbm
    import treelite

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.txt")
        model.export(path, "lightgbm")
        booster = lightgbm.Booster(model_file=path)
        compiled = treelite.frontend.load_lightgbm_model(path)
    other = as_xgboost(model.trees_, model.n_features_in_, threads)
    return {
        "podium": model.predict,
        "lightgbm": lambda X: booster.predict(X, num_threads=threads),
        "xgboost": other.inplace_predict,
        "treelite": lambda X: treelite.gtil.predict(compiled, X, nthread=1 if threads == 1 else -1).ravel(),
    }


def as_xgboost(trees, n_features, threads):
    """Return XGBoost's model of the same trees: it goes left where x < t, so t is the next float32 above ours."""
    import xgboost

    data = xgboost.DMatrix(np.zeros((2, n_features)), np.arange(2))
    one = xgboost.train({"base_score": 0.0, "max_depth": 1}, data, 1)
    written = json.loads(one.save_raw("json"))
    forest = written["learner"]["gradient_booster"]["model"]
    pattern = forest["trees"][0]
    forest["trees"] = [_xgboost_tree(pattern, number, tree) for number, tree in enumerate(trees)]
    forest["tree_info"], forest["iteration_indptr"] = [0] * len(trees), list(range(len(trees) + 1))
    forest["gbtree_model_param"]["num_trees"] = str(len(trees))
    booster = xgboost.Booster({"nthread": threads})
    booster.load_model(bytearray(json.dumps(written).encode()))
    return booster


def _xgboost_tree(pattern, number, tree):
    """Return a tree in XGBoost's columns; its predictor takes for granted that a right child follows the left one."""
    n_splits = len(tree.feature)
    n_nodes = 2 * n_splits + 1
    left, parent, feature = np.full(n_nodes, -1), np.full(n_nodes, 2**31 - 1), np.zeros(n_nodes, int)
    condition, default_left = np.zeros(n_nodes, np.float32), np.zeros(n_nodes, int)
    place = np.zeros(n_splits, int)
    below = np.nextafter(tree.threshold.astype(np.float32), np.float32(np.inf))
    below = np.where(tree.threshold == 0, np.float32(1e-37), below)  # the float after 0 is read as 0
    for split in range(n_splits):
        at, first = place[split], 1 + 2 * split
        left[at], feature[at], condition[at], default_left[at] = (
            first, tree.feature[split], below[split], tree.missing_left[split],
        )  # fmt: skip
        for side, child in enumerate((tree.left[split], tree.right[split])):
            parent[first + side] = at
            if child >= 0:
                place[child] = first + side
            else:
                condition[first + side] = tree.value[~child]
    columns = {
        "left_children": left, "right_children": np.where(left >= 0, left + 1, -1), "parents": parent,
        "split_indices": feature, "split_conditions": condition, "default_left": default_left,
        "base_weights": np.where(left < 0, condition, 0), "split_type": np.zeros(n_nodes, int),
        "sum_hessian": np.ones(n_nodes), "loss_changes": np.zeros(n_nodes),
    }  # fmt: skip
    written = {name: column.tolist() for name, column in columns.items()}
    return pattern | written | {"id": number, "tree_param": pattern["tree_param"] | {"num_nodes": str(n_nodes)}}
