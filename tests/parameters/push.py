"""Parameters of PNormPush and InfinitePush, against the definitions."""

import numpy as np
import pytest

from parameters import changing, fitted, table
from parameters.shared import check_score
from parameters.stumps import gaps
from podium import InfinitePush, PNormPush, PodiumError
from reference import push as twin


def loss(model, data, p, equal_queries=True):
    """The loss of a model on its training data."""
    X, y, qid = data
    ones = dict.fromkeys(qid.tolist(), 1.0)
    return twin.push_loss(y, qid, model.predict(X), p, np.ones(len(y)), ones, equal_queries)


def fall(model, data, p, equal_queries=True):
    """The factor by which the loss fell from equal scores."""
    _, y, qid = data
    none = twin.push_loss(y, qid, np.zeros(len(y)), p, np.ones(len(y)), dict.fromkeys(qid.tolist(), 1.0), equal_queries)
    return loss(model, data, p, equal_queries) / none


@changing("p", PNormPush)
def the_loss_has_this_power(estimator):
    data = table()
    for p in (1.0, 2.5, 6.0):
        model = fitted(estimator, data, p=p)
        assert np.prod([done.Z for done in model.rounds_]) == pytest.approx(fall(model, data, p))
        assert np.prod([done.Z for done in model.rounds_]) != pytest.approx(fall(model, data, p + 1))


@changing("query_scale", PNormPush)
def queries_begin_alike_or_count_as_they_are(estimator):
    X, y, qid = table()
    y = np.where(qid < 3, np.minimum(y, 1.0), y)  # so that queries differ in their pairs
    for scale, equal in (("loss", True), ("sum", False)):
        model = fitted(estimator, (X, y, qid), query_scale=scale)
        Z = np.prod([done.Z for done in model.rounds_])
        assert pytest.approx(fall(model, (X, y, qid), 4.0, equal)) == Z
        assert pytest.approx(fall(model, (X, y, qid), 4.0, not equal)) != Z


@changing("weak", PNormPush)
def weak_rankings_are_stumps_or_features(estimator):
    kinds = {weak: {type(done.ranking).__name__ for done in fitted(estimator, weak=weak).rounds_} for weak in WEAK}
    assert kinds == WEAK


WEAK = {"stump": {"Stump"}, "feature": {"ScaledFeature"}}


@changing("abstain", PNormPush)
def a_missing_value_counts_as_zero_or_one(estimator):
    data, lacking = gaps(), np.full((1, 3), np.nan)
    assert {done.abstain for done in fitted(estimator, data, n_estimators=12).rounds_} == {0, 1}
    for weak in WEAK:
        for value in (0, 1):
            model = fitted(estimator, data, abstain=value, weak=weak)
            assert {done.abstain for done in model.rounds_} == {value}
            assert model.predict(lacking) == pytest.approx(value * sum(done.alpha for done in model.rounds_))


def two_grades():
    X, y, qid = table()
    return X, np.minimum(y, 1.0), qid


@changing("alpha", InfinitePush)
def coefficients_are_penalised_by_their_sizes(estimator):
    data = X, y, qid = two_grades()
    centred = X - X.mean(axis=0)
    spans, ones = np.abs(centred).max(axis=0), dict.fromkeys(qid.tolist(), 1.0)
    sizes = []
    for alpha in (0.003, 0.03):
        model = fitted(estimator, data, alpha=alpha)
        least = twin.infinite_minimum(centred / spans, y, qid, alpha, np.ones(len(y)), ones)
        assert model.objective_ == pytest.approx(least, abs=1e-8)
        sizes.append(np.abs(model.coef_ * spans).sum())
    assert sizes[0] > sizes[1] + 0.01


@changing("max_pairs", InfinitePush)
def more_pairs_are_refused_by_the_programme(estimator):
    data = _, y, qid = two_grades()
    n_pairs = sum(map(len, twin.offenders(y, qid).values()))
    for most in (n_pairs, None):
        assert fitted(estimator, data, max_pairs=most).coef_.any()
    with pytest.raises(PodiumError, match=f"There are {n_pairs} pairs"):
        fitted(estimator, data, max_pairs=n_pairs - 1)


@changing("eval_metric", InfinitePush)
def score_is_the_first_of_the_measures(estimator):
    data = two_grades()
    model = fitted(estimator, data)
    check_score(model, "ndcg@10", +1)
    check_score(model.set_params(eval_metric=["localized_loss@3", "map"]), "localized_loss@3", -1)
