"""Parameters of PairBoost, L2Boost and L1Boost, against the formulas of CR, pair by pair."""

import numpy as np
import pytest

from parameters import changing, fitted, made, rounds_of, table
from parameters.shared import spied_threads
from podium import L1Boost, L2Boost, PairBoost
from reference import pair_surrogates as plain

BOTH = (L2Boost, L1Boost)
ALL = (PairBoost, *BOTH)


def rows():
    """16 rows of one query, three features, labels of many values."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(16, 3))
    return X, X @ [0.6, -0.4, 0.2] + 0.2 * rng.normal(size=16)


def check_rounds(given, surrogate="exp", pairs="signs", c=0.5, closed=False, select="squares", rate=0.5, labels=None):
    """Six rounds of the estimator are those of Algorithm 2."""
    X, y = rows()
    model = PairBoost(6, learning_rate=rate, **given).fit(X, y)
    target = y if labels is None else labels
    scores, taken = plain.boost(X.T.tolist(), target.tolist(), 6, rate, surrogate, pairs, c, closed, select)
    assert [done.ranking.feature for done in model.rounds_] == taken
    np.testing.assert_allclose(model.predict(X), scores, rtol=1e-7, atol=1e-9)


@changing("surrogate", PairBoost)
def pairs_lose_by_this_function(estimator):
    for surrogate in ("exp", "hinge", "ramp"):
        check_rounds({"surrogate": surrogate}, surrogate)


@changing("c", PairBoost)
def the_ramp_ends_there(estimator):
    for c in (0.1, 0.9):
        check_rounds({"surrogate": "ramp", "c": c}, "ramp", c=c)


@changing("interval", PairBoost)
def ends_of_the_ramp_pull_or_not(estimator):
    X = np.array([0.0, 0.0, 0.0, 1.0])[:, None]  # tied rows of different labels stay tied, and move together or not
    y = np.array([0.0, 0.2, 0.4, 0.1])
    still, moved = (estimator(2, surrogate="ramp", interval=one).fit(X, y) for one in ("open", "closed"))
    assert rounds_of(still)[0] == rounds_of(moved)[0]
    for model, closed in ((still, False), (moved, True)):
        scores, _ = plain.boost(X.T.tolist(), y.tolist(), 2, 0.1, "ramp", "signs", 0.5, closed, "squares")
        np.testing.assert_allclose(model.predict(X), scores, atol=1e-12)
    assert len(moved.rounds_) == 2


@changing("pairs", PairBoost)
def differences_of_labels_count_or_their_signs(estimator):
    for pairs in ("signs", "products"):
        check_rounds({"pairs": pairs}, pairs=pairs)


@changing("response", PairBoost)
def labels_are_squeezed_or_not(estimator):
    y = rows()[1]
    check_rounds({"pairs": "products", "response": "raw"}, pairs="products")
    check_rounds({"pairs": "products", "response": "expit"}, pairs="products", labels=1 / (1 + np.exp(-y)))


@changing("select", PairBoost)
def the_feature_of_a_round_is_chosen_by(estimator):
    for select in ("squares", "updated", "simple"):
        check_rounds({"select": select, "surrogate": "hinge"}, "hinge", select=select)


@changing("base", *ALL)
def lines_stumps_or_trees_are_added(estimator):
    X = table()[0]
    kinds = {base: fitted(estimator, base=base, max_leaves=5) for base in ("linear", "stump", "tree")}
    np.testing.assert_allclose(kinds["linear"].predict(X), X @ kinds["linear"].coef_ + kinds["linear"].intercept_)
    assert {done.ranking.n_leaves for done in kinds["stump"].rounds_} == {2}
    assert {done.ranking.n_leaves for done in kinds["tree"].rounds_} == {5}


@changing("learning_rate", *ALL)
def the_first_round_is_multiplied_by_it(estimator):
    X = table()[0]
    whole, part = (fitted(estimator, learning_rate=rate, n_estimators=1) for rate in (1.0, 0.25))
    moved = [model.predict(X) - model.base_score_ for model in (whole, part)]
    np.testing.assert_allclose(moved[1], 0.25 * moved[0])


@changing("max_leaves", *ALL)
def trees_have_so_many_leaves(estimator):
    for most in (2, 3, 6):
        model = fitted(estimator, base="tree", max_leaves=most, min_child_samples=1)
        assert {done.ranking.n_leaves for done in model.rounds_} == {most}


@changing("min_child_samples", *ALL)
def leaves_have_at_least_so_many_rows(estimator):
    for least in (1, 30):
        model = fitted(estimator, base="stump", min_child_samples=least)
        assert min(done.ranking.count.min() for done in model.rounds_) >= least
    free, held = (fitted(estimator, base="tree", max_leaves=40, min_child_samples=one) for one in (1, 30))
    assert held.rounds_[0].ranking.n_leaves < free.rounds_[0].ranking.n_leaves


@changing("max_bins", *ALL)
def features_are_cut_at_so_few_places(estimator):
    few, many = (fitted(estimator, base="tree", max_bins=bins, min_child_samples=1) for bins in (2, 255))

    def cuts(model):
        return {cut for done in model.rounds_ for cut in done.ranking.threshold.tolist()}

    assert len(cuts(few)) <= 4 < len(cuts(many))


@changing("n_jobs", *ALL)
def so_many_threads_give_the_same_bits(estimator, monkeypatch):
    monkeypatch.setattr("podium._compiled.CELLS_WORTH_THREADS", 0)
    used, X = spied_threads(monkeypatch), table()[0]
    for base in ("linear", "tree"):
        expected = fitted(estimator, base=base).predict(X)
        assert used == set()
        three = made(estimator, base=base, n_jobs=3).fit(*table()[:2], qid=table()[2])
        np.testing.assert_array_equal(three.predict(X), expected)
        assert used == (set() if base == "linear" and estimator is not PairBoost else {3})
        used.clear()
    with pytest.raises(ValueError, match="n_jobs must be"):
        fitted(estimator, n_jobs=0)
