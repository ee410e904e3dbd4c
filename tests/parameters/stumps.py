"""Parameters of RankBoost and RankBoostPlus, against the formulas of the papers, and of the baselines."""

import math

import numpy as np
import pytest

from parameters import changing, fitted, table
from podium import NearestNeighbor, PNormPush, PodiumError, RankBoost, RankBoostPlus
from podium.binning import bin_features
from podium.pairs.weak_ranking import WeakResult
from rankboost_data import columns_of
from reference import rankboost as plain
from reference import rankboost_plus as plus

BOTH = (RankBoost, RankBoostPlus)


def gaps(seed=0):
    """Three queries of ten rows, three features of five values each, some of them missing."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (30, 3)).astype(float)
    y = np.digitize(X[:, 0] - X[:, 1] + rng.normal(size=30), [-1.0, 1.0]).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X, y, np.repeat(np.arange(3), 10)


def distribution(data, **options):
    _, y, qid = data
    return plain.initial_distribution(plain.graded_triples(y.tolist(), qid.tolist(), **options))


def every_stump(X, q_defs=(0, 1)):
    return {key: np.array(h) for key, h in plus.all_stumps(columns_of(X), q_defs).items()}


def edge(D, h):
    """r = Σ D (h(x₁) - h(x₀))."""
    return sum(weight * (h[better] - h[worse]) for (worse, better), weight in D.items())


def values_of(done, X):
    return done.ranking.predict(X)


@changing("criterion", RankBoost)
def r_takes_the_largest_edge_and_z_the_smallest_normaliser(estimator):
    data = gaps(seed=24)
    X, D = data[0], distribution(data)
    stumps = every_stump(X)
    edges = {key: abs(edge(D, h)) for key, h in stumps.items()}
    normalisers = {}
    for key, h in stumps.items():
        less, none, more = plain.weights(D, h)
        normalisers[key] = none + 2 * math.sqrt(less * more)
    found = {name: fitted(estimator, data, criterion=name, n_estimators=1).rounds_[0] for name in ("r", "z")}
    assert abs(found["r"].r) == pytest.approx(max(edges.values()))
    assert pytest.approx(min(normalisers.values())) == found["z"].Z
    less, none, more = plain.weights(D, values_of(found["r"], X))
    assert none + 2 * math.sqrt(less * more) > min(normalisers.values()) + 1e-3
    assert abs(found["z"].r) < max(edges.values()) - 1e-3


@changing("alpha", RankBoost)
def each_rule_has_its_own_alpha(estimator):
    data = gaps()
    D = distribution(data)
    rounds = {rule: fitted(estimator, data, alpha=rule, n_estimators=1).rounds_[0] for rule in ("r", "z", "numeric")}
    h = values_of(rounds["r"], data[0])
    r, (less, _, more) = edge(D, h), plain.weights(D, h)
    assert rounds["r"].alpha == pytest.approx(0.5 * math.log((1 + r) / (1 - r)))
    assert rounds["z"].alpha == pytest.approx(0.5 * math.log(less / more))
    assert rounds["numeric"].alpha == pytest.approx(rounds["z"].alpha)  # the minimum of Z, for values 0 and 1
    assert abs(rounds["r"].alpha) < 0.9 * abs(rounds["z"].alpha)
    assert fitted(estimator, data, n_estimators=1).rounds_[0].alpha == rounds["r"].alpha
    steep = fitted(estimator, data, weak="feature", n_estimators=1, alpha="numeric").rounds_[0]
    Z = [plain.updated(D, steep.alpha * factor, values_of(steep, data[0]))[0] for factor in (0.99, 1.0, 1.01)]
    assert Z[1] < min(Z[0], Z[2])


@changing("undefined", RankBoost)
def a_stump_without_a_wrong_pair_gets_a_large_alpha_or_ends_the_fit(estimator):
    X = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 1.0]])
    data = X, np.array([0.0, 1.0, 1.0, 2.0]), np.zeros(4)
    smooth = fitted(estimator, data, alpha="z", criterion="z")
    assert smooth.rounds_[0].alpha > 10
    with pytest.warns(UserWarning, match="alpha is undefined"):
        assert not fitted(estimator, data, alpha="z", criterion="z", undefined="stop").rounds_


@changing("cumulative", RankBoost)
def no_stump_has_a_negative_weight_in_all(estimator):
    data = gaps()
    free, held = (fitted(estimator, data, cumulative=flag, n_estimators=12).rounds_ for flag in (False, True))
    assert min(totals(free)) < 0
    assert min(totals(held)) >= 0 < max(totals(held))


def totals(rounds):
    """The weight of each stump in all, after each round."""
    sums, found = {}, []
    for done in rounds:
        key = done.feature, done.threshold, done.abstain
        sums[key] = sums.get(key, 0.0) + done.alpha
        found.append(sums[key])
    return found


@changing("abstain", *BOTH)
def a_missing_value_counts_as_that(estimator):
    data = gaps()
    learned = {done.abstain for done in fitted(estimator, data, n_estimators=8).rounds_}
    assert learned == {0, 1}
    lacking = np.full((1, 3), np.nan)
    for value in (0, 1):
        model = fitted(estimator, data, abstain=value, n_estimators=8)
        assert {done.abstain for done in model.rounds_} == {value}
        total = sum(done.alpha for done in model.rounds_)
        assert model.predict(lacking) == pytest.approx(value * total)
        edges = [abs(edge(distribution(data), h)) for h in every_stump(data[0], (value,)).values()]
        assert abs(model.rounds_[0].r) == pytest.approx(max(edges))


class Given:
    """A weak learner that has one ranking alone, of values that are not 0 and 1."""

    def __init__(self, data):
        self.values = data.features[data.queries.rows, 0]

    def search(self, potentials, distribution):
        return WeakResult(self, self.values, float(potentials @ self.values))

    def predict(self, features):
        return features[:, 0]


@changing("weak", RankBoost)
def weak_rankings_are_stumps_or_features_or_your_own(estimator):
    data = table()
    kinds = {}
    for weak in ("stump", "feature", Given):
        model = fitted(estimator, data, weak=weak)
        kinds[weak] = {type(done.ranking).__name__ for done in model.rounds_}
    assert kinds == {"stump": {"Stump"}, "feature": {"ScaledFeature"}, Given: {"Given"}}


@changing("learning_rate", RankBoost, PNormPush)
def the_first_weight_is_multiplied_by_it(estimator):
    whole, part = (fitted(estimator, learning_rate=rate).rounds_ for rate in (1.0, 0.25))
    assert part[0].alpha == 0.25 * whole[0].alpha
    assert (part[0].feature, part[0].threshold, part[0].r) == (whole[0].feature, whole[0].threshold, whole[0].r)
    assert part[0].Z > whole[0].Z
    assert part[1].r != whole[1].r


@changing("max_bins", *BOTH, PNormPush)
def a_feature_has_so_many_thresholds(estimator):
    def thresholds(**changed):
        rounds = fitted(estimator, n_estimators=16, **changed).rounds_
        return {feature: {d.threshold for d in rounds if d.feature == feature} for feature in range(4)}

    few, free = thresholds(max_bins=3), thresholds()
    assert max(map(len, few.values())) <= 3 < max(map(len, free.values()))
    X, qid = np.random.default_rng(0).permutation(288)[:, None].astype(float), np.arange(288) // 8  # more than bins
    codes = bin_features(np.sort(X, axis=0), max_bins=255).codes[0, :, 0]
    lost = int(np.flatnonzero(np.diff(codes) == 0)[0])  # no cut between this value and the next
    data = X, (X[:, 0] > lost).astype(float), qid
    first = {most: fitted(estimator, data, max_bins=most, n_estimators=1).rounds_[0] for most in (255, None)}
    assert abs(first[None].r) == pytest.approx(1)
    assert lost <= first[None].threshold < lost + 1
    assert abs(first[255].r) < 1 - 1e-6


@changing("monotone_constraints", RankBoost, PNormPush)
def weights_have_the_sign_they_may(estimator):
    data = gaps()
    free = fitted(estimator, data, n_estimators=10).rounds_
    assert {(d.feature, np.sign(d.alpha)) for d in free} >= {(0, 1), (1, -1)}
    for signs in ([-1, 0, 0], [0, 1, 0], [-1, 1, 1]):
        rounds = fitted(estimator, data, n_estimators=10, monotone_constraints=signs).rounds_
        assert all(signs[d.feature] * d.alpha >= 0 for d in rounds)
        assert any(signs[d.feature] * d.alpha < 0 for d in free)
    rounds = fitted(estimator, data, n_estimators=4, monotone_constraints=[1, -1, 0]).rounds_
    assert {(d.feature, np.sign(d.alpha)) for d in rounds} >= {(0, 1), (1, -1)}


@changing("thresholds", RankBoost)
def stumps_cut_at_the_given_candidates(estimator):
    data = gaps()
    for given in ([1.5, 2.5], {0: [1.5], 1: [2.5], 2: [0.5]}, [[1.5], [2.5], None]):
        rounds = fitted(estimator, data, n_estimators=10, thresholds=given).rounds_
        allowed = given if isinstance(given, dict) else dict(enumerate(given if given[-1] is None else [given] * 3))
        cut = [d for d in rounds if allowed[d.feature] is not None and np.isfinite(d.threshold)]
        assert {d.threshold for d in cut if d.feature == 0} <= set(allowed[0])
        assert all(d.threshold in allowed[d.feature] for d in cut)
        assert cut
    free = {d.threshold for d in fitted(estimator, data, n_estimators=10).rounds_}
    assert not free <= {1.5, 2.5, -np.inf}


@changing("pair_weight", *BOTH)
def pairs_weigh_alike_or_by_query_or_by_difference(estimator):
    X, y, qid = gaps()
    qid = np.repeat(np.arange(3), (4, 8, 18))
    data = X, y * y, qid
    counts = {q: len(plain.graded_triples(data[1][qid == q].tolist(), [0] * int(np.sum(qid == q)))) for q in range(3)}
    kinds = {
        "pairs": distribution(data),
        "queries": distribution(data, query_weight={q: 1.0 / counts[q] for q in range(3)}),
        "differences": distribution(data, by_difference=True),
    }
    seen = set()
    for name, D in kinds.items():
        first = fitted(estimator, data, pair_weight=name, n_estimators=1).rounds_[0]
        assert abs(first.r) == pytest.approx(max(abs(edge(D, h)) for h in every_stump(X).values()))
        assert first.r == pytest.approx(edge(D, values_of(first, X)))
        seen.add(round(first.r, 9))
    assert len(seen) == 3


@changing("contradictions", *BOTH)
def pairs_both_ways_all_count_or_are_netted(estimator):
    X = gaps()[0]
    rng = np.random.default_rng(1)
    better, worse = rng.integers(0, 12, (2, 90))
    better, worse = better[better != worse], worse[better != worse]
    triples = [(low, high, 1.0) for high, low in zip(better.tolist(), worse.tolist(), strict=True)]
    seen = []
    for name, listed in (("keep", triples), ("net", plain.netted(triples))):
        D = plain.initial_distribution(listed)
        first = estimator(1, contradictions=name).fit(X, pairs=(better, worse)).rounds_[0]
        assert first.r == pytest.approx(edge(D, values_of(first, X)))
        assert abs(first.r) == pytest.approx(max(abs(edge(D, h)) for h in every_stump(X).values()))
        seen.append(first.r)
    assert seen[0] != pytest.approx(seen[1])


@changing("search", RankBoostPlus)
def optimal_takes_steps_along_dependent_stumps(estimator):
    data = gaps(seed=3)
    X = data[0]
    pairs = list(distribution(data))
    dependent = {}
    for search in ("efficient", "optimal"):
        members, count = [], 0
        model = fitted(estimator, data, search=search, n_estimators=60)
        for done in model.rounds_:
            h = values_of(done, X)
            known = any(np.array_equal(h, other) for other in members)
            if not known and plus.combination(h, members, pairs) is not None:
                count += 1
            elif not known:
                members.append(h)
        dependent[search] = count
    assert dependent["efficient"] == 0 < dependent["optimal"]


@changing("max_pairs", RankBoostPlus)
def more_pairs_are_refused(estimator):
    data = gaps()
    n_pairs = len(distribution(data))
    for most in (n_pairs, None):
        assert len(fitted(estimator, data, max_pairs=most).rounds_) == 4
    with pytest.raises(PodiumError, match=f"{n_pairs}"):
        fitted(estimator, data, max_pairs=n_pairs - 1)


@changing("n_neighbors", NearestNeighbor)
def so_many_features_are_averaged(estimator):
    data = gaps()
    X = data[0]
    one, two = (fitted(estimator, data, n_neighbors=k) for k in (1, 2))
    assert (len(one.features_), len(two.features_)) == (1, 2)
    assert one.features_[0] == two.features_[0] == one.feature_
    assert two.losses_[0] <= two.losses_[1]
    columns = [np.where(np.isnan(X[:, f]), q, X[:, f]) for f, q in zip(two.features_, two.defaults_, strict=True)]
    np.testing.assert_allclose(one.predict(X), columns[0])
    np.testing.assert_allclose(two.predict(X), np.mean(columns, axis=0))
