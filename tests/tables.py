"""Small tables with missing values that several test modules learn from."""

import numpy as np


def small_table():
    """Return features, labels and queries of sixty rows."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (60, 4)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.rint(np.nan_to_num(X[:, 0]) / 2) + (rng.random(60) < 0.3), np.repeat(np.arange(5), 12)


def graded_table():
    """Return features and grades of 150 rows."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 8, (150, 4)).astype(float)
    y = np.digitize(X[:, 0] + X[:, 1] + rng.normal(size=150), [4, 7, 10])
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y
