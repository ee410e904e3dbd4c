"""Boosted rankers of each kind, and small fits of them."""

import numpy as np
import pytest
from sklearn.base import clone

from podium import (
    MART,
    AdaBoostOR,
    GradientFreeBoost,
    LambdaMART,
    LambdaRank,
    ORBoost,
    PNormPush,
    PRank,
    RankBoost,
    RankBoostPlus,
    RankNet,
    make_search,
)
from podium.boosting import fingerprint

TREES = {"max_leaves": 4, "min_child_samples": 3, "learning_rate": 0.5}
BOOSTED = {
    "RankBoost": RankBoost(12, eval_metric="ndcg@5"),
    "RankBoostPlus": RankBoostPlus(12, eval_metric="ndcg@5"),
    "PNormPush": PNormPush(12, p=1.5, eval_metric="ndcg@5"),
    "LambdaMART": LambdaMART(12, eval_metric="ndcg@5", **TREES),
    "MART": MART(12, eval_metric="ndcg@5", **TREES),
    "GradientFreeBoost": GradientFreeBoost(12, eval_metric="ndcg@5"),
    "RankNet": RankNet(12, hidden=(5,), batch_size=4, learning_rate=0.02, dropout=0.2, eval_metric="ndcg@5"),
    "LambdaRank": LambdaRank(12, hidden=(), optimizer="sgd", learning_rate=0.5, eval_metric="ndcg@5"),
    "AdaBoostOR": AdaBoostOR(n_estimators=12),
    "AdaBoostOR of perceptrons": AdaBoostOR(PRank(epochs=20), n_estimators=12),
    "ORBoost": ORBoost(12),
}
ORDINAL = ("AdaBoostOR", "AdaBoostOR of perceptrons", "ORBoost")

every = pytest.mark.parametrize("name", BOOSTED)


def three_grades(seed):
    table = make_search(n_queries=12, docs_per_query=8, n_features=5, random_state=seed)
    return table._replace(y=np.minimum(table.y, 2.0))


def fit(name, train, noise, **parameters):
    """Fit a ranker with `noise` as its evaluation set."""
    model, sets = clone(BOOSTED[name]).set_params(**parameters), {"eval_set": [(noise.X, noise.y)]}
    if name in ORDINAL:
        return model.fit(train.X, train.y, **sets)
    return model.fit(train.X, train.y, qid=train.qid, **sets, eval_qid=[noise.qid])


def history_of(model):
    [values] = model.evals_result_["validation_0"].values()
    return values


def best_place(name, values):
    """Return the number of rounds with the best value: a cost is best where it is lowest."""
    return 1 + int(np.argmin(values) if name in ORDINAL else np.argmax(values))


def fit_alone(name, data, init_model=None, **parameters):
    """Fit a ranker without an evaluation set."""
    model, queries = clone(BOOSTED[name]).set_params(**parameters), {} if name in ORDINAL else {"qid": data.qid}
    return model.fit(data.X, data.y, **queries, init_model=init_model)


def story(model, n_rounds=None):
    """Return a digest of the rounds, all that a file keeps of them."""
    return fingerprint(model._rounds_to_content(model.rounds_[:n_rounds]), [])
