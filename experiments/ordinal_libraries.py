"""Other libraries in leaderboard_ordinal.py: regressors, classifiers, an ordinal ranker; and what is searched for each.

    python experiments/ordinal_libraries.py    # the spaces

Regressors learn the ranks as numbers, by squared or absolute errors; their scores are rounded, or cut by
`OrdinalThresholds` (3 folds), as the trial says. Classifiers answer with the median of their probabilities, which costs
least. All run on one thread.
"""

import inspect

import numpy as np
from leaderboard_peers import COLUMNS, RATE, ROWS, SHRINKAGE, Contender, print_spaces
from threadpoolctl import threadpool_limits

from podium import OrdinalThresholds
from podium.tuning import Choice, Real, Whole

ROUNDS, LEAVES, LEAST_ROWS = Whole(30, 300, log=True), Whole(4, 32, log=True), Whole(2, 50, log=True)


def regressor(make, space, start):
    """Return a regressor of another library, its scores rounded or cut."""

    def fit(given, train, _):
        cut = given["cut"]
        model = make(**{name: value for name, value in given.items() if name != "cut"})
        with threadpool_limits(1):
            if cut:
                return OrdinalThresholds(model, folds=3).fit(train.X, train.y).predict
            model.fit(train.X, train.y)
        low, high = train.y.min(), train.y.max()
        return lambda X: np.clip(np.rint(np.asarray(model.predict(X), float)), low, high)

    return Contender({**space, "cut": Choice((False, True))}, {**start, "cut": False}, fit)


def classifier(make, space, start):
    """Return a classifier of another library that answers with the median."""

    def fit(given, train, _):
        with threadpool_limits(1):
            model = make(**given).fit(train.X, train.y)
        return lambda X: model.classes_[(model.predict_proba(X).cumsum(axis=1) >= 0.5 - 1e-12).argmax(axis=1)]

    return Contender(space, start, fit)


def ranker(make, space, start):
    """Return an ordinal ranker of another library, on standardised features."""
    return Contender(space, start, lambda given, train, _: scaled(make(**given)).fit(train.X, train.y).predict)


def scaled(model):
    """Return a model of standardised features."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), model)


def lightgbm(**given):
    """LightGBM's regressor."""
    import lightgbm

    return lightgbm.LGBMRegressor(subsample_freq=1, n_jobs=1, random_state=0, verbose=-1, **given)


def xgboost(**given):
    """XGBoost's regressor."""
    import xgboost

    return xgboost.XGBRegressor(
        n_jobs=1, random_state=0, tree_method="hist", grow_policy="lossguide", max_depth=0, **given
    )


def catboost(**given):
    """CatBoost's regressor."""
    import catboost

    return catboost.CatBoostRegressor(
        bootstrap_type="Bernoulli", random_seed=0, thread_count=1, verbose=False, allow_writing_files=False, **given
    )


def from_scikit_learn(module, name, **fixed):
    """Return what makes an estimator of scikit-learn."""

    def make(**given):
        import importlib

        found = getattr(importlib.import_module(f"sklearn.{module}"), name)
        seed = {"random_state": 0} if "random_state" in inspect.signature(found).parameters else {}
        return found(**seed, **fixed, **given)

    return make


def logistic(alpha):
    """The LogisticAT of mord."""
    import mord

    return mord.LogisticAT(alpha=alpha)


HISTOGRAM = {
    "max_iter": ROUNDS, "learning_rate": RATE, "max_leaf_nodes": LEAVES, "min_samples_leaf": LEAST_ROWS,
    "l2_regularization": SHRINKAGE, "max_features": COLUMNS,
}  # fmt: skip
HISTOGRAM_START = {
    "max_iter": 100, "learning_rate": 0.1, "max_leaf_nodes": 31, "min_samples_leaf": 20, "l2_regularization": 0.0,
    "max_features": 1.0,
}  # fmt: skip
FOREST = {"min_samples_leaf": Whole(1, 20, log=True), "max_features": Real(0.1, 1.0)}
OTHERS = {
    "LightGBM": regressor(
        lightgbm,
        {"n_estimators": ROUNDS, "learning_rate": RATE, "num_leaves": LEAVES, "min_child_samples": LEAST_ROWS,
         "subsample": ROWS, "colsample_bytree": COLUMNS, "reg_lambda": SHRINKAGE,
         "objective": Choice(("regression", "regression_l1"))},
        {"n_estimators": 100, "learning_rate": 0.1, "num_leaves": 31, "min_child_samples": 20, "subsample": 1.0,
         "colsample_bytree": 1.0, "reg_lambda": 0.0, "objective": "regression"},
    ),
    "XGBoost": regressor(
        xgboost,
        {"n_estimators": ROUNDS, "learning_rate": RATE, "max_leaves": LEAVES, "min_child_weight": Real(1, 50, log=True),
         "subsample": ROWS, "colsample_bytree": COLUMNS, "reg_lambda": SHRINKAGE,
         "objective": Choice(("reg:squarederror", "reg:absoluteerror"))},
        {"n_estimators": 100, "learning_rate": 0.3, "max_leaves": 32, "min_child_weight": 1.0, "subsample": 1.0,
         "colsample_bytree": 1.0, "reg_lambda": 1.0, "objective": "reg:squarederror"},
    ),
    "CatBoost": regressor(
        catboost,
        {"iterations": ROUNDS, "learning_rate": RATE, "depth": Whole(2, 6), "subsample": ROWS, "rsm": COLUMNS,
         "l2_leaf_reg": SHRINKAGE, "loss_function": Choice(("RMSE", "MAE"))},
        {"iterations": 100, "learning_rate": 0.1, "depth": 6, "subsample": 0.8, "rsm": 1.0, "l2_leaf_reg": 3.0,
         "loss_function": "RMSE"},
    ),
    "scikit-learn HistGB": regressor(
        from_scikit_learn("ensemble", "HistGradientBoostingRegressor", early_stopping=False),
        {**HISTOGRAM, "loss": Choice(("squared_error", "absolute_error"))},
        {**HISTOGRAM_START, "loss": "squared_error"},
    ),
    "scikit-learn HistGB, classes": classifier(
        from_scikit_learn("ensemble", "HistGradientBoostingClassifier", early_stopping=False),
        {**HISTOGRAM, "max_iter": Whole(10, 60, log=True)}, {**HISTOGRAM_START, "max_iter": 30},
    ),
    "scikit-learn forest": regressor(
        from_scikit_learn("ensemble", "RandomForestRegressor", n_estimators=50, n_jobs=1), FOREST,
        {"min_samples_leaf": 1, "max_features": 1.0},
    ),
    "scikit-learn forest, classes": classifier(
        from_scikit_learn("ensemble", "RandomForestClassifier", n_estimators=50, n_jobs=1), FOREST,
        {"min_samples_leaf": 1, "max_features": 0.3},
    ),
    "scikit-learn SVR": regressor(
        lambda **given: scaled(from_scikit_learn("svm", "SVR")(**given)),
        {"C": Real(0.1, 100.0, log=True), "gamma": Real(0.001, 1.0, log=True), "epsilon": Real(0.01, 1.0, log=True)},
        {"C": 1.0, "gamma": 0.1, "epsilon": 0.1},
    ),
    "scikit-learn Ridge": regressor(
        lambda alpha: scaled(from_scikit_learn("linear_model", "Ridge")(alpha=alpha)),
        {"alpha": Real(1e-3, 1e5, log=True)}, {"alpha": 1.0},
    ),
    "mord LogisticAT": ranker(logistic, {"alpha": Real(1e-3, 1e3, log=True)}, {"alpha": 1.0}),
}  # fmt: skip


if __name__ == "__main__":
    print_spaces(OTHERS)
