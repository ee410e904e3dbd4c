"""What each parameter of each estimator must do to a fit: the table that tests/test_parameters.py runs."""

import numpy as np

from podium import (
    MART,
    SVOR,
    AdaBoostOR,
    BaggingOR,
    BoostedStumpSelector,
    ExtendedBinary,
    GradientFreeBoost,
    L1Boost,
    L2Boost,
    LambdaMART,
    LambdaRank,
    ORBoost,
    OrdinalThresholds,
    ORStump,
    PairBoost,
    PNormPush,
    PRank,
    RankBoost,
    RankBoostPlus,
    RankNet,
    RSRank,
)

EFFECTS = {}
"""The check of each (estimator, parameter); it takes the estimator's class, and fixtures of pytest by name."""

ORDINAL = (AdaBoostOR, BaggingOR, ExtendedBinary, ORBoost, ORStump, OrdinalThresholds, PRank, SVOR)
QUICK = {
    LambdaMART: {"n_estimators": 4, "max_leaves": 4, "min_child_samples": 5},
    MART: {"n_estimators": 4, "max_leaves": 4, "min_child_samples": 5},
    PNormPush: {"n_estimators": 4},
    GradientFreeBoost: {"n_estimators": 4},
    PairBoost: {"n_estimators": 4},
    L1Boost: {"n_estimators": 4},
    L2Boost: {"n_estimators": 4},
    RSRank: {"n_estimators": 4},
    RankBoost: {"n_estimators": 4},
    RankBoostPlus: {"n_estimators": 4},
    RankNet: {"n_estimators": 4, "hidden": (6,), "batch_size": 4, "learning_rate": 0.03},
    LambdaRank: {"n_estimators": 4, "hidden": (6,), "batch_size": 4, "learning_rate": 0.03},
    AdaBoostOR: {"n_estimators": 4},
    BaggingOR: {"n_estimators": 4},
    BoostedStumpSelector: {"n_estimators": 9, "learning_rate": 0.6},
    ORBoost: {"n_estimators": 4},
    OrdinalThresholds: {"estimator": MART(2, max_leaves=3, min_child_samples=5)},
    PRank: {"epochs": 3},
}
"""Parameters of a small fit."""


def changing(parameter, *estimators):
    """Enter a check as what changing a parameter of some estimators must do."""

    def enter(check):
        for estimator in estimators:
            if (estimator, parameter) in EFFECTS:
                raise KeyError(f"{estimator.__name__}.{parameter} has an effect already")
            EFFECTS[estimator, parameter] = check
        return check

    return enter


def table(seed=0):
    """96 rows of 12 queries, four features of many values, grades from 0 to 3 with some noise."""
    rng = np.random.default_rng(seed)
    X = rng.random((96, 4))
    target = 3 * X[:, 0] + 2 * np.abs(X[:, 1] - 0.5) - X[:, 2] + 0.3 * rng.normal(size=96)
    return X, np.digitize(target, [0.6, 1.5, 2.3]).astype(float), np.repeat(np.arange(12), 8)


def fitted(estimator, data=None, /, **changed):
    """A quick fit with some parameters changed; ordinal rankers know no queries."""
    X, y, qid = table() if data is None else data
    queries = {} if issubclass(estimator, ORDINAL) else {"qid": qid}
    return made(estimator, **changed).fit(X, y, **queries)


def made(estimator, /, **changed):
    """The estimator of a quick fit."""
    return estimator(**{**QUICK.get(estimator, {}), **changed})


def rounds_of(model):
    """All numbers of each round, for comparing bits."""
    if hasattr(model, "trees_"):
        return [(t.feature.tolist(), t.threshold.tolist(), t.value.tolist()) for t in model.trees_]
    if hasattr(model, "estimators_"):
        return [stump_of(one) for one in model.estimators_]
    if hasattr(model.rounds_[0], "moments"):
        return [(done.net.weights.tolist(), done.moments.tolist(), done.n_steps) for done in model.rounds_]
    if hasattr(model.rounds_[0], "gain"):
        models = [done.ranking for done in model.rounds_]
        return [np.hstack([one.feature, getattr(one, "slope", one.gain)]).tolist() for one in models]
    if hasattr(model.rounds_[0], "ranker"):
        return [(*stump_of(done.ranker), done.weight) for done in model.rounds_]
    if hasattr(model.rounds_[0], "singular"):
        return [(done.feature, done.average, done.alpha, done.singular) for done in model.rounds_]
    return [(done.feature, done.threshold, done.abstain, done.alpha) for done in model.rounds_]


def stump_of(stump):
    """Feature, direction and thresholds of an ORStump."""
    return stump.feature_, stump.direction_, stump.thresholds_.tolist()
