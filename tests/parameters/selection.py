"""Parameters of gradient-free boosting and of selectors of features."""

import numpy as np
import pytest

from parameters import changing, fitted, rounds_of, table
from podium import (
    MART,
    BoostedStumpSelector,
    GengSelector,
    GradientFreeBoost,
    LambdaMART,
    RankBoost,
    StabilitySelector,
    evaluate,
)


def qualities(measure, sign=1.0):
    """A measure of the ranking by each feature."""
    X, y, qid = table()
    return [evaluate(y, sign * x, qid=qid, measures=measure, n_resamples=0)[measure] for x in X.T]


def deviation(feature):
    X, _, _ = table()
    return X[:, feature] - X[:, feature].mean()


# Gradient-free boosting


@changing("loss", GradientFreeBoost)
def singular_rounds_take_the_feature_that_the_measure_wants(estimator):
    _, y, qid = table()
    steps = [z * (z @ (y - y.mean())) / (z @ z) for z in map(deviation, range(4))]
    for measure, pick in (("p@1", np.max), ("weak_loss@2", np.min)):
        values = [evaluate(y, 0.1 * step, qid=qid, measures=measure, n_resamples=0)[measure] for step in steps]
        model = fitted(estimator, loss=measure, singular_every=1, n_estimators=1)
        assert model.rounds_[0].measured == pytest.approx(pick(values)) == values[model.rounds_[0].feature]


@changing("singular_every", GradientFreeBoost)
def so_many_rounds_lie_between_singular_ones(estimator):
    for every, expected in ((None, [0, 0, 0, 0]), (1, [1, 1, 1, 1]), (2, [0, 1, 0, 1]), (3, [0, 0, 1, 0])):
        assert [round_.singular for round_ in fitted(estimator, singular_every=every).rounds_] == expected


@changing("learning_rate", GradientFreeBoost)
def a_coefficient_is_so_much_of_that_of_least_squares(estimator):
    _, y, _ = table()
    for rate in (1.0, 0.25):
        first = fitted(estimator, learning_rate=rate).rounds_[0]
        z = deviation(first.feature)
        assert first.alpha == pytest.approx(rate * (z @ y) / (z @ z))


@changing("max_features", GradientFreeBoost)
def the_fit_ends_with_so_many_features(estimator):
    free, ended = (fitted(estimator, n_estimators=60, learning_rate=0.5, max_features=wanted) for wanted in (None, 2))
    assert len({round_.feature for round_ in free.rounds_}) > 2
    assert len({round_.feature for round_ in ended.rounds_}) == 2
    assert rounds_of(ended) == rounds_of(free)[: len(ended.rounds_)]


@changing("n_jobs", GradientFreeBoost, GengSelector, BoostedStumpSelector)
def so_many_threads_give_the_same_numbers(estimator, monkeypatch):
    import podium._compiled as compiled

    beside, helped = compiled.run_beside, []
    monkeypatch.setattr(compiled, "CELLS_WORTH_THREADS", 0)
    monkeypatch.setattr(compiled, "run_beside", lambda *given: helped.append(given[3]) or beside(*given))
    given = {"singular_every": 2} if estimator is GradientFreeBoost else {}
    one = fitted(estimator, **given)
    assert helped == []
    three = fitted(estimator, n_jobs=3, **given)
    assert set(helped) == {3}
    np.testing.assert_array_equal(numbers(one), numbers(three))


def numbers(model):
    return model.coef_ if isinstance(model, GradientFreeBoost) else model.importances_


# Selectors


@changing("n_features_to_select", GengSelector, BoostedStumpSelector)
def so_many_features_are_chosen(estimator):
    chosen = [fitted(estimator, n_features_to_select=k).order_.tolist() for k in (1, 2, 3)]
    assert [len(one) for one in chosen] == [1, 2, 3]
    assert chosen[2][:2] == chosen[1]
    assert len(fitted(estimator).order_) == 2  # half


@changing("measure", GengSelector)
def importance_is_the_value_of_the_measure_and_of_a_loss_its_negative(estimator):
    np.testing.assert_allclose(fitted(estimator, measure="map", direction="higher").importances_, qualities("map"))
    loss = fitted(estimator, measure="hard_loss", direction="higher")
    np.testing.assert_allclose(loss.importances_, -np.array(qualities("hard_loss")))


@changing("direction", GengSelector)
def a_feature_may_rank_the_other_way_round(estimator):
    up, down = np.array(qualities("map")), np.array(qualities("map", -1.0))
    higher, better = (fitted(estimator, measure="map", direction=way) for way in ("higher", "better"))
    np.testing.assert_allclose(higher.importances_, up)
    np.testing.assert_array_equal(higher.directions_, 1.0)
    np.testing.assert_allclose(better.importances_, np.maximum(up, down))
    np.testing.assert_array_equal(better.directions_, np.where(up >= down, 1.0, -1.0))
    assert (better.directions_ < 0).any()


@changing("trade_off", GengSelector)
def a_gain_is_lowered_by_twice_the_similarities_times_it(estimator):
    free, bound = (fitted(estimator, n_features_to_select=2, trade_off=c, similarity="tau") for c in (0.0, 0.3))
    first, second = bound.order_
    assert free.gains_.tolist() == np.sort(free.importances_)[:-3:-1].tolist()
    assert bound.gains_[1] == pytest.approx(bound.importances_[second] - 0.6 * mean_tau(first, second))


def mean_tau(one, other):
    X, _, qid = table()
    return evaluate(X[:, one], X[:, other], qid=qid, measures="kendall", n_resamples=0)["kendall"]


@changing("similarity", GengSelector)
def features_are_alike_by_tau_its_size_or_the_share_of_equal_order(estimator):
    models = {
        kind: fitted(estimator, n_features_to_select=2, trade_off=5.0, similarity=kind)
        for kind in ("tau", "absolute", "concordant")
    }
    for kind, model in models.items():
        first, second = model.order_
        tau = mean_tau(first, second)
        alike = {"tau": tau, "absolute": abs(tau), "concordant": (1 + tau) / 2}[kind]  # without ties
        assert model.gains_[1] == pytest.approx(model.importances_[second] - 10 * alike)
    assert mean_tau(*models["tau"].order_) < 0  # the other way round is most unlike
    assert models["tau"].gains_[1] > models["absolute"].gains_[1]


STUMPS = {"n_estimators": 9, "learning_rate": 0.6, "min_child_samples": 10}


def stump_shares(trees, **parameters):
    X, y, qid = table()
    model = trees(max_leaves=2, **{**STUMPS, **parameters}).fit(X, y, qid=qid)
    return 100 * np.sqrt(model.feature_importances_ / model.feature_importances_.max())


def boosted_otherwise(estimator, **changed):
    """Importances are those of the trees of such parameters, and not of the others."""
    default, shares = fitted(estimator, **STUMPS).importances_, fitted(estimator, **{**STUMPS, **changed}).importances_
    np.testing.assert_allclose(default, stump_shares(MART))
    np.testing.assert_allclose(shares, stump_shares(MART, **changed))
    assert np.abs(shares - default).max() > 1


@changing("n_estimators", BoostedStumpSelector)
def so_many_stumps_are_boosted(estimator):
    boosted_otherwise(estimator, n_estimators=3)


@changing("learning_rate", BoostedStumpSelector)
def the_stumps_take_such_steps(estimator):
    boosted_otherwise(estimator, learning_rate=0.9)


@changing("min_child_samples", BoostedStumpSelector)
def the_sides_of_stumps_have_so_many_rows(estimator):
    boosted_otherwise(estimator, min_child_samples=40)


@changing("loss", BoostedStumpSelector)
def the_stumps_lower_squares_or_follow_ndcg(estimator):
    for loss, trees in (("squared", MART), ("lambda", LambdaMART)):
        np.testing.assert_allclose(fitted(estimator, **STUMPS, loss=loss).importances_, stump_shares(trees))
    assert np.abs(stump_shares(MART) - stump_shares(LambdaMART)).max() > 1


def stable(estimator, /, **changed):
    return fitted(estimator, **{"estimator": GradientFreeBoost(8), "n_resamples": 4, "n_selected": 2, **changed})


@changing("estimator", StabilitySelector)
def the_ranker_selects(estimator):
    """One that uses a single feature selects no other, whatever q is."""
    one = stable(estimator, estimator=RankBoost(1))
    many = stable(estimator, estimator=RankBoost(20))
    assert one.frequencies_.sum() == 1
    assert many.frequencies_.sum() == 2


@changing("n_selected", StabilitySelector)
def each_half_selects_so_many_at_most(estimator):
    ranker = GradientFreeBoost(60)
    for q in (1, 2, 3):
        model = stable(estimator, estimator=ranker, n_selected=q)
        assert model.frequencies_.sum() == pytest.approx(q)
        assert (model.n_selected_, model.pfer_) == (q, q**2 / (0.5 * 4))


@changing("threshold", StabilitySelector)
def so_large_a_share_of_the_halves_must_select_a_feature(estimator):
    low, high = (stable(estimator, threshold=share) for share in (0.51, 1.0))
    np.testing.assert_array_equal(low.frequencies_, high.frequencies_)
    for model, share in ((low, 0.51), (high, 1.0)):
        np.testing.assert_array_equal(model.support_, model.frequencies_ >= share)
        assert model.pfer_ == pytest.approx(4 / ((2 * share - 1) * 4))
    assert low.support_.sum() > high.support_.sum()


@changing("pfer", StabilitySelector)
def the_bound_gives_what_was_left_out(estimator):
    assert stable(estimator, pfer=2.0).threshold_ == pytest.approx(0.5 * (1 + 4 / 8))
    assert stable(estimator, n_selected=None, pfer=8.0).n_selected_ == 4
    assert stable(estimator, n_selected=None, pfer=2.0).n_selected_ == 2


@changing("n_resamples", StabilitySelector)
def so_many_pairs_of_halves_are_drawn(estimator):
    few, many = (stable(estimator, n_resamples=n).frequencies_ for n in (1, 5))
    np.testing.assert_allclose(few * 2, np.rint(few * 2))
    np.testing.assert_allclose(many * 10, np.rint(many * 10))
    assert np.abs(many * 2 - np.rint(many * 2)).max() > 0.1


@changing("random_state", StabilitySelector)
def halves_are_drawn_by_it(estimator):
    one, same, other = (stable(estimator, random_state=seed).frequencies_ for seed in (0, 0, 7))
    np.testing.assert_array_equal(one, same)
    assert np.any(one != other)
    assert stable(estimator, random_state=None).frequencies_.shape == (4,)
