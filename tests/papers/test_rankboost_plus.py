"""Worked cases of the RankBoost+ paper (Connamacher et al. 2019): Proposition 1, Corollary 1, Lemmas 1 to 3."""

import gzip
from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import minimize

from podium import RankBoost
from podium.data.feedback import Pairs
from podium.measures import pair_losses
from podium.pairs.distribution import Distribution
from podium.plus.materialized_pairs import materialize_pairs
from podium.plus.plus_distribution import PlusDistribution
from podium.rankers.rankboost_plus import RankBoostPlus, exponential_losses, slope_bound

# Proposition 1: the subsets of {a, b, c}; a subset stands below every proper superset: 19 pairs.
SUBSETS = [frozenset(s) for k in range(4) for s in combinations("abc", k)]
PAIRS = np.array([(j, i) for i, j in product(range(8), repeat=2) if SUBSETS[i] < SUBSETS[j]]).T
H1 = np.array([float(s == frozenset("ab")) for s in SUBSETS])
H2 = np.array([float(s in (frozenset(), frozenset("ac"), frozenset("abc"))) for s in SUBSETS])


def feedback():
    return Pairs(PAIRS[0], PAIRS[1], np.ones(PAIRS.shape[1]))


def loss_1(step):
    """Ê1 of scores α h."""
    return Distribution(feedback(), 8).update(step)


def loss_2(step):
    """Ê2 of α h."""
    return PlusDistribution(materialize_pairs(feedback(), 8), 8).update(step)


def first_alpha(ranker, h):
    return ranker.fit(h[:, None], pairs=tuple(PAIRS)).rounds_[0].alpha


@pytest.mark.plain
def test_counts_of_proposition_1():
    assert PAIRS.shape[1] == 19
    for h, counts in ((H1, (3, 15, 1)), (H2, (7, 7, 5))):
        difference = h[PAIRS[0]] - h[PAIRS[1]]
        assert tuple((difference == sign).sum() for sign in (1, 0, -1)) == counts


@pytest.mark.plain
def test_ranking_losses_of_proposition_1():
    for h, loss in ((H1, 16 / 19), (H2, 12 / 19)):
        assert pair_losses(PAIRS[0], PAIRS[1], np.ones(19), h)[0] == pytest.approx(loss)


@pytest.mark.plain
@pytest.mark.parametrize(
    ("ranker", "losses"),
    [
        (None, (0.990627, 1.21929)),
        (RankBoost(1, alpha="z"), (0.971795, 0.991166)),
        (RankBoost(1, alpha="r"), (0.990034, 0.992386)),
    ],
    ids=["weight 1", "RB-D", "RB-C"],
)
def test_exponential_losses_of_proposition_1(ranker, losses):
    for h, loss in zip((H1, H2), losses, strict=True):
        alpha = 1.0 if ranker is None else first_alpha(ranker, h)
        assert loss_1(alpha * h) == pytest.approx(loss, rel=5e-6)


@pytest.mark.plain
def test_corollary_1_gives_the_loss_of_a_ranking_of_its_first_weight():
    # Eq. (42): Ê2(α h) = 2 √(R̂2 (1 - R̂2)); both rankings have R̂2 = 17/38, so both losses are equal here.
    for h in (H1, H2):
        loss = pair_losses(PAIRS[0], PAIRS[1], np.ones(19), h)[1]
        assert loss == pytest.approx(17 / 38)
        alpha = first_alpha(RankBoostPlus(1), h)
        assert alpha == pytest.approx(0.5 * np.log((1 - loss) / loss))
        assert loss_2(alpha * h) == pytest.approx(2 * np.sqrt(loss * (1 - loss)), rel=1e-12)


@pytest.mark.plain
def test_loss_2_orders_all_rankings_of_the_subsets_as_the_ranking_loss():
    # Proposition 3 (weight 1) and Corollary 1 (first weights) over all rankings but the constant ones.
    rows = []
    for h in (np.array(bits, float) for bits in list(product((0, 1), repeat=8))[1:-1]):
        loss = pair_losses(PAIRS[0], PAIRS[1], np.ones(19), h)[1]
        edge = 1 - 2 * loss
        rows.append((loss, loss_2(h), loss_2(np.arctanh(edge) * h) if 0 < edge < 1 else np.nan))
    loss, plain, weighted = np.array(sorted(rows)).T
    steps = np.diff(loss) > 1e-9
    assert np.all(np.diff(plain)[steps] > 0)
    below = steps & (loss[1:] < 0.5 - 1e-9)
    assert np.all(np.diff(weighted)[below] > 0)


def lemma_1(n):
    """a₁ … a_{n+1} above b₁ … b_{n+1}; h₁ is 1 on all a but the last and on the last b, h₂ on the last a."""
    a, b = np.arange(n + 1), n + 1 + np.arange(n + 1)
    h1, h2 = np.zeros(2 * n + 2), np.zeros(2 * n + 2)
    h1[a[:-1]] = h1[b[-1]] = h2[a[-1]] = 1.0
    return np.column_stack([h1, h2]), tuple(side.ravel() for side in np.meshgrid(a, b))


@pytest.mark.parametrize("n", [4, 20])
def test_lemma_1_stops_where_the_weight_is_not_defined(n):
    X, pairs = lemma_1(n)
    model = RankBoost(9, alpha="z", undefined="stop").fit(X, pairs=pairs)
    assert [(r.feature, r.alpha, r.Z) for r in model.rounds_] == [
        (0, pytest.approx(np.log(n)), pytest.approx(4 * n / (n + 1) ** 2))
    ]
    assert "no reverse ranking" in model.stop_reason_


@pytest.mark.plain
def test_lemma_1_infinite_weight_breaks_theorem_1_on_ten_elements():
    # An infinite weight on h₂ leaves R̂1(h₂) = n / (n + 1) (Eq. 48), above U (Eq. 47).
    n = 4
    X, pairs = lemma_1(n)
    loss = pair_losses(*pairs, np.ones(len(pairs[0])), X[:, 1])[0]
    edges = [((n**2 - 1) / (n + 1) ** 2), 0.5]
    assert loss == pytest.approx(n / (n + 1))
    assert loss > slope_bound(edges)[-1]


def test_lemma_1_smoothed_weight_keeps_theorem_1():
    X, pairs = lemma_1(4)
    model = RankBoost(2, alpha="z", undefined="smooth").fit(X, pairs=pairs)
    loss = pair_losses(*pairs, np.ones(len(pairs[0])), model.predict(X))[0]
    assert [r.feature for r in model.rounds_] == [0, 1]
    assert loss <= np.prod([r.Z for r in model.rounds_]) <= slope_bound([r.r for r in model.rounds_])[-1]


def lemma_2(n):
    """a₁ … a_5n above b₁ … b_5n; h₁ is 1 on the first 4n a, h₂ on the other a and on the first 4n b."""
    a, b = np.arange(5 * n), 5 * n + np.arange(5 * n)
    h1, h2 = np.zeros(10 * n), np.zeros(10 * n)
    h1[a[: 4 * n]] = h2[a[4 * n :]] = h2[b[: 4 * n]] = 1.0
    return np.column_stack([h1, h2]), tuple(side.ravel() for side in np.meshgrid(a, b))


@pytest.mark.plain
def test_lemma_2_a_constant_for_infinity_breaks_equation_12():
    # Both weights ∞̂: the ensemble ties four fifths of the pairs, though Z₁ Z₂ = 1/5 · 4/5 and U = exp(-17/50).
    X, pairs = lemma_2(2)
    difference = 40.0 * X.sum(axis=1)[pairs[0]] - 40.0 * X.sum(axis=1)[pairs[1]]
    loss, bound = np.exp(-difference).mean(), slope_bound([4 / 5, 1 / 5])[-1]
    assert loss == pytest.approx(4 / 5)
    assert bound == pytest.approx(0.712, abs=5e-4)
    assert loss > bound > 4 / 25


def test_lemma_2_smoothed_weights_keep_equation_12():
    X, pairs = lemma_2(2)
    model = RankBoost(2, alpha="z", undefined="smooth").fit(X, pairs=pairs)
    assert model.rounds_[0].feature == 0
    assert abs(model.rounds_[0].Z - 1 / 5) < 1e-5
    losses = exponential_losses(model, X, pairs=pairs)["E1"]
    np.testing.assert_allclose(losses, np.cumprod([r.Z for r in model.rounds_]), rtol=1e-9)


def test_lemma_2_leaves_nothing_undefined_in_rank_boost_plus():
    X, pairs = lemma_2(2)
    model = RankBoostPlus(50).fit(X, pairs=pairs)
    loss = pair_losses(*pairs, np.ones(len(pairs[0])), model.predict(X))[1]
    assert loss <= model.certificate()["bound"][-1] <= model.certificate()["edge_bound"][-1]


# Lemma 3: 1 > 2 > … > 6; h₁ puts {1, 2, 3, 6} above {4, 5}, h₂ puts {2} above the others.
RANKS = np.array([[1, 0], [1, 1], [1, 0], [0, 0], [0, 0], [1, 0]], float)
ORDERED = tuple(np.array([(i, j) for i in range(6) for j in range(6) if i < j]).T)


@pytest.mark.parametrize("constraints", [[1, 1], None])
def test_first_two_rounds_of_lemma_3(constraints):
    model = RankBoost(2, alpha="z", monotone_constraints=constraints).fit(RANKS, pairs=ORDERED)
    assert [r.feature for r in model.rounds_] == [0, 1]
    assert [r.alpha for r in model.rounds_] == [pytest.approx(0.54931, abs=5e-6), pytest.approx(0.57445, abs=5e-6)]
    assert model.certificate()["bound"][-1] == pytest.approx(0.888387, abs=5e-7)


def test_lemma_3_ends_above_the_minimum_with_positive_weights_alone():
    model = RankBoost(100, alpha="z", monotone_constraints=[1, 1]).fit(RANKS, pairs=ORDERED)
    assert len(model.rounds_) == 2
    assert model.certificate()["bound"][-1] == pytest.approx(0.888387, abs=5e-7)


def test_lemma_3_reaches_the_minimum_with_both_signs():
    model = RankBoost(300, alpha="z").fit(RANKS, pairs=ORDERED)
    weights = [sum(r.alpha for r in model.rounds_ if r.feature == f) for f in (0, 1)]
    # The paper cuts its digits off: .88703…, .46894…, .58953….
    assert np.floor(model.certificate()["bound"][-1] * 1e5) == 88703
    assert np.floor(np.array(weights) * 1e5).tolist() == [46894, 58953]


def test_rank_boost_plus_reaches_the_minimum_of_its_own_loss_on_lemma_3():
    def loss(eta):
        state = PlusDistribution(materialize_pairs(Pairs(*ORDERED, np.ones(15)), 6), 6)
        return np.prod([state.update(e * h) for e, h in zip(eta, RANKS.T, strict=True)])

    model = RankBoostPlus(200).fit(RANKS, pairs=ORDERED)
    found = minimize(loss, [0.1, 0.1], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-15})
    assert model.certificate()["bound"][-1] == pytest.approx(found.fun, rel=1e-12)


def movie_tasks(folder, every):
    """Tasks of section 5: a user's movies, and the ratings of the users who rated half of them or more."""
    with gzip.open(folder / "u.data.gz", "rt") as file:
        user, movie, rating = np.array([line.split()[:3] for line in file], int).T
    table = np.full((user.max(), movie.max()), np.nan)
    table[user - 1, movie - 1] = rating
    for target in np.flatnonzero((~np.isnan(table)).sum(axis=1) >= 100)[::every]:
        rated = np.flatnonzero(~np.isnan(table[target]))
        others = np.delete(table[:, rated], target, axis=0)
        others = others[np.isnan(others).mean(axis=1) <= 0.5]
        if len(others):
            yield others.T, table[target, rated]


def test_rank_boost_plus_overfits_least_on_movies(shared_data):
    # Section 5.1: RB+ has the lowest R̂2 on held-out movies, RB-D the highest; here after 100 rounds, one fold a task.
    rankers = [
        RankBoostPlus(100, abstain=0),
        RankBoost(100, alpha="r", abstain=0),
        RankBoost(100, alpha="z", abstain=0),
    ]
    losses = []
    for X, y in movie_tasks(shared_data("movielens-100k"), every=12):
        held = np.random.default_rng(0).permutation(len(y)) % 5 == 0
        train, test = (np.nonzero((y[:, None] > y) & (own[:, None] & own)) for own in (~held, held))
        fitted = (ranker.fit(X, pairs=train) for ranker in rankers)
        losses.append([pair_losses(*test, np.ones(len(test[0])), model.predict(X))[1] for model in fitted])
    plus, continuous, discrete = np.mean(losses, axis=0)
    assert plus < continuous - 0.01 < discrete - 0.02
