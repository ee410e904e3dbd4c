"""Losses of the top of the list as what rankers stop early by, are tuned by and follow."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, GroupKFold

from podium import LambdaMART, PNormPush, RankBoost, RankBoostPlus, evaluate, make_search

MEASURES = ("localized_loss@3", "weak_loss@3", "localized_loss_norm@3")
SMALL = {"max_leaves": 4, "min_child_samples": 5}
BOOSTED = [
    RankBoost(12),
    RankBoostPlus(12),
    PNormPush(12),
    LambdaMART(12, **SMALL),
    LambdaMART(12, delta="localized", truncation=3, **SMALL),
]


def problem(kind, seed):
    """Labels of two grades, of several, or continuous."""
    table = make_search(n_queries=15, docs_per_query=9, n_features=5, random_state=seed)
    amounts = np.nan_to_num(table.X[:, 0]) + np.random.default_rng(seed).normal(size=len(table.y))
    labels = {"bipartite": np.minimum(table.y, 1.0), "d-partite": table.y, "continuous": amounts}
    return table._replace(y=labels[kind])


@pytest.mark.parametrize("kind", ["bipartite", "d-partite", "continuous"])
@pytest.mark.parametrize("ranker", BOOSTED, ids=lambda one: f"{type(one).__name__} {getattr(one, 'delta', '')}".strip())
def test_early_stopping_keeps_the_rounds_of_the_least_loss_of_the_top(ranker, kind):
    train, valid = problem(kind, 0), problem(kind, 1)
    model = ranker.set_params(eval_metric=list(MEASURES), early_stopping_rounds=3)
    model.fit(train.X, train.y, qid=train.qid, eval_set=[(valid.X, valid.y)], eval_qid=[valid.qid])
    for name in MEASURES:
        history = model.evals_result_["validation_0"][name]
        for value, scores in zip(history, model.staged_predict(valid.X), strict=True):
            assert value == pytest.approx(evaluate(valid.y, scores, qid=valid.qid, measures=name, n_resamples=0)[name])
    losses = model.evals_result_["validation_0"]["localized_loss@3"]
    assert model.best_iteration_ == 1 + int(np.argmin(losses))
    found = evaluate(valid.y, model.predict(valid.X), qid=valid.qid, measures=MEASURES[0], n_resamples=0)[MEASURES[0]]
    assert found == pytest.approx(min(losses))
    assert model.score(valid.X, valid.y, qid=valid.qid) == pytest.approx(-found)


def test_a_grid_is_searched_by_the_localized_loss():
    data = problem("bipartite", 2)
    with config_context(enable_metadata_routing=True):
        ranker = PNormPush(eval_metric="localized_loss@3").set_fit_request(qid=True).set_score_request(qid=True)
        search = GridSearchCV(ranker, {"n_estimators": [1, 20]}, cv=GroupKFold(3))
        search.fit(data.X, data.y, qid=data.qid, groups=data.qid)
    tested = search.cv_results_["mean_test_score"]
    assert (tested < 0).all()
    assert search.best_params_["n_estimators"] == (1, 20)[int(np.argmax(tested))]
    assert tested[0] != tested[1]


@pytest.mark.parametrize("delta", ["auc", "localized"])
@pytest.mark.parametrize("kind", ["bipartite", "d-partite", "continuous"])
def test_lambdas_of_order_learn_what_they_follow(delta, kind):
    train = problem(kind, 3)
    model = LambdaMART(20, delta=delta, truncation=3 if delta == "localized" else "auto", **SMALL)
    model.fit(train.X, train.y, qid=train.qid)
    name = "localized_loss@3" if delta == "localized" else "disagreement"
    staged = [
        evaluate(train.y, scores, qid=train.qid, measures=name, n_resamples=0)[name]
        for scores in model.staged_predict(train.X)
    ]
    none = evaluate(train.y, np.zeros(len(train.y)), qid=train.qid, measures=name, n_resamples=0)[name]
    assert staged[-1] < 0.6 * none
    assert staged[-1] < staged[0]


@pytest.mark.plain
@pytest.mark.filterwarnings("ignore:overflow encountered in scalar")  # hashes wrap around on purpose
def test_lambdas_of_auc_take_all_pairs_unless_told():
    table = make_search(n_queries=2, docs_per_query=60, n_features=4, random_state=5)
    scores = {
        truncation: LambdaMART(2, delta="auc", truncation=truncation, **SMALL)
        .fit(table.X, table.y, qid=table.qid)
        .predict(table.X)
        for truncation in ("auto", None, 30)
    }
    np.testing.assert_array_equal(scores["auto"], scores[None])
    assert not np.array_equal(scores["auto"], scores[30])
