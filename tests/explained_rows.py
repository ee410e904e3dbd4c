"""Rows with missing values, and trees on them: what tests of explanations and of effects look at."""

import numpy as np

from podium import LambdaMART


def random_rows(seed, n_rows, n_features, missing=0.2, dtype=np.float64):
    """Return features, some of them missing, and grades that follow the first four."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).round(1)
    X[rng.random(X.shape) < missing] = np.nan
    filled = np.nan_to_num(X)
    y = np.digitize(filled[:, 0] + filled[:, 1] * filled[:, 2] - filled[:, 3] ** 2, [-1.0, 0.0, 1.0])
    return X.astype(dtype), y


def fit_trees(X, y, n_estimators, max_leaves, **given):
    """Return LambdaMART on rows of one query."""
    return LambdaMART(n_estimators, max_leaves=max_leaves, min_child_samples=3, **given).fit(X, y, group=[len(y)])
