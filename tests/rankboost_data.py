"""Small data for tests of RankBoost, and what is compared of a fit."""

import numpy as np


def small_data(seed, continuous):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (42, 4)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    y = rng.random(42) if continuous else rng.integers(0, 3, 42).astype(float)
    return X, y, np.repeat([0, 1, 2], 14), rng.integers(1, 4, 42).astype(float)


def story(model):
    return [(r.feature, r.threshold, r.abstain, r.alpha, r.Z, r.r) for r in model.rounds_]


def columns_of(X):
    return [[None if np.isnan(x) else x for x in column] for column in X.T]
