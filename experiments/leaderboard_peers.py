"""Other libraries of the leaderboard: spaces of our trees under their own names, and their objectives for ranking.

python experiments/leaderboard_peers.py    # versions
"""

from importlib.metadata import version
from typing import NamedTuple

import numpy as np

from podium import evaluate
from podium.tuning import Choice, Real, Whole

MOST_ROUNDS, PATIENCE = 300, 30
RATE, ROWS, COLUMNS = Real(0.02, 0.3, log=True), Real(0.4, 1.0), Real(0.3, 1.0)
LEAVES, LEAST_ROWS, SHRINKAGE = Whole(4, 128, log=True), Whole(5, 200, log=True), Real(0.0, 20.0)
FEW_LEAVES = Whole(4, 32, log=True)
"""Of libraries that take seconds for more."""


class Contender(NamedTuple):
    """A ranker: the space that is searched, its defaults therein, and `fit(parameters, train, valid)` → `predict`."""

    space: dict
    start: dict
    fit: object


def print_spaces(contenders):
    """Print what is searched for each ranker."""
    for name, contender in contenders.items():
        print(f"{name}: " + "; ".join(f"{one} {values}" for one, values in contender.space.items()))


def sizes(part):
    """Return the rows of each query, in their order."""
    return np.diff(np.flatnonzero(np.r_[True, part.qid[1:] != part.qid[:-1], True]))


def fit_lightgbm(given, train, valid):
    """LightGBM's lambdarank or rank_xendcg."""
    import lightgbm

    params = {
        "metric": "ndcg", "eval_at": [10], "bagging_freq": 1, "seed": 0, "num_threads": 1, "verbose": -1,
        "deterministic": True, "force_row_wise": True, **given,
    }  # fmt: skip
    sets = [lightgbm.Dataset(part.X, part.y, group=sizes(part), params=params) for part in (train, valid)]
    stop = [lightgbm.early_stopping(PATIENCE, verbose=False)]
    return lightgbm.train(params, sets[0], MOST_ROUNDS, valid_sets=sets[1:], callbacks=stop).predict


def fit_xgboost(given, train, valid):
    """XGBoost's rank:ndcg, rank:map on grades cut in two, or rank:pairwise."""
    import xgboost

    params = {"eval_metric": "ndcg@10", "nthread": 1, "seed": 0, "tree_method": "hist", "grow_policy": "lossguide"}
    sets = [xgboost.DMatrix(part.X, part.y, qid=np.repeat(np.arange(len(s)), s)) for part, s in both(train, valid)]
    model = xgboost.train(
        {**params, "max_depth": 0, **given}, sets[0], MOST_ROUNDS, evals=[(sets[1], "valid")],
        early_stopping_rounds=PATIENCE, verbose_eval=False,
    )  # fmt: skip
    last = model.best_iteration + 1
    return lambda X: model.predict(xgboost.DMatrix(X), iteration_range=(0, last)).astype(float)


def fit_catboost(given, train, valid):
    """CatBoost's YetiRank."""
    import catboost

    params = {
        "loss_function": "YetiRank", "eval_metric": "NDCG:top=10;type=Exp", "iterations": MOST_ROUNDS,
        "bootstrap_type": "Bernoulli", "random_seed": 0, "thread_count": 1, "verbose": False,
        "allow_writing_files": False, "early_stopping_rounds": PATIENCE, **given,
    }  # fmt: skip
    pools = [catboost.Pool(part.X, part.y, group_id=np.repeat(np.arange(len(s)), s)) for part, s in both(train, valid)]
    return catboost.CatBoost(params).fit(pools[0], eval_set=pools[1]).predict


def both(*parts):
    """Yield parts with the sizes of their queries."""
    return ((part, sizes(part)) for part in parts)


def fit_histogram_boosting(given, train, valid):
    """scikit-learn's HistGradientBoostingRegressor on the labels, at its round of the best NDCG@10."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    model = HistGradientBoostingRegressor(max_iter=MOST_ROUNDS, early_stopping=False, random_state=0, **given)
    with threadpool_limits(1):
        model.fit(train.X, train.y)
    rules = {"qid": valid.qid, "measures": "ndcg@10", "n_resamples": 0, "n_jobs": 1}
    values = [evaluate(valid.y, scores, **rules)["ndcg@10"] for scores in model.staged_predict(valid.X)]
    best = int(np.argmax(values))
    return lambda X: next(scores for i, scores in enumerate(model.staged_predict(X)) if i == best)


def fit_forest(given, train, _):
    """scikit-learn's RandomForestRegressor on the labels."""
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(50, n_jobs=1, random_state=0, **given).fit(train.X, train.y).predict


def fit_ridge(given, train, _):
    """scikit-learn's Ridge on the labels."""
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), Ridge(**given)).fit(train.X, train.y).predict


TREES = {"learning_rate": RATE, "num_leaves": LEAVES, "min_data_in_leaf": LEAST_ROWS, "bagging_fraction": ROWS}
PEERS = {
    "LightGBM": Contender(
        {**TREES, "feature_fraction": COLUMNS, "lambda_l2": SHRINKAGE,
         "objective": Choice(("lambdarank", "rank_xendcg"))},
        {"learning_rate": 0.1, "num_leaves": 31, "min_data_in_leaf": 20, "bagging_fraction": 1.0,
         "feature_fraction": 1.0, "lambda_l2": 0.0, "objective": "lambdarank"},
        fit_lightgbm,
    ),
    "XGBoost": Contender(
        {"eta": RATE, "max_leaves": FEW_LEAVES, "min_child_weight": Real(0.01, 20.0, log=True), "subsample": ROWS,
         "colsample_bytree": COLUMNS, "lambda": SHRINKAGE, "objective": Choice(("rank:ndcg", "rank:pairwise"))},
        {"eta": 0.3, "max_leaves": 32, "min_child_weight": 1.0, "subsample": 1.0, "colsample_bytree": 1.0,
         "lambda": 1.0, "objective": "rank:ndcg"},
        fit_xgboost,
    ),
    "CatBoost YetiRank": Contender(
        {"learning_rate": RATE, "depth": Whole(2, 7), "subsample": ROWS, "rsm": COLUMNS, "l2_leaf_reg": SHRINKAGE},
        {"learning_rate": 0.1, "depth": 6, "subsample": 0.8, "rsm": 1.0, "l2_leaf_reg": 3.0},
        fit_catboost,
    ),
    "scikit-learn HistGB": Contender(
        {"learning_rate": RATE, "max_leaf_nodes": FEW_LEAVES, "min_samples_leaf": LEAST_ROWS, "max_features": COLUMNS,
         "l2_regularization": SHRINKAGE},
        {"learning_rate": 0.1, "max_leaf_nodes": 31, "min_samples_leaf": 20, "max_features": 1.0,
         "l2_regularization": 0.0},
        fit_histogram_boosting,
    ),
    "scikit-learn forest": Contender(
        {"min_samples_leaf": Whole(2, 50, log=True), "max_features": Real(0.05, 0.3), "max_samples": Real(0.3, 0.8)},
        {"min_samples_leaf": 5, "max_features": 0.15, "max_samples": 0.6},
        fit_forest,
    ),
    "scikit-learn Ridge": Contender({"alpha": Real(1e-3, 1e5, log=True)}, {"alpha": 1.0}, fit_ridge),
}  # fmt: skip


def main():
    """Print the versions."""
    for name in ("lightgbm", "xgboost", "catboost", "scikit-learn", "optuna"):
        print(name, version(name))


if __name__ == "__main__":
    main()
