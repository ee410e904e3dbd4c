"""RankBoost+'s distribution after any steps, good or not, against sums over all pairs; chunks, floors, threads."""

import math

import numpy as np
import pytest

from podium import PodiumError, RankBoostPlus
from podium.data.feedback import FeedbackSum, Graded, Pairs
from podium.pairs.explicit_part import PairOrder
from podium.plus.independence import IndependentSet, PairGraph
from podium.plus.materialized_pairs import _memory, materialize_pairs
from podium.plus.plus_distribution import PlusDistribution
from podium.plus.tied_pairs import TieWeights, pack_bits, tie_tables
from podium.rankers.rankboost_plus import exponential_losses
from reference import rankboost as plain
from reference import rankboost_plus as reference

pytestmark = pytest.mark.plain


def make_pairs(seed, n_rows=14, n_pairs=50):
    rng = np.random.default_rng(seed)
    better = rng.integers(0, n_rows, n_pairs)
    return Pairs(better, (better + rng.integers(1, n_rows, n_pairs)) % n_rows, rng.random(n_pairs) + 0.1)


def sides_of(order):
    """Return the better and the worse row of each pair in the order of `order`."""
    return np.repeat(order.better, np.diff(order.start)), order.worse.astype(int)


@pytest.mark.parametrize("chunk", [10**6, 12, 1])
@pytest.mark.parametrize("n_rankings", [1, 8, 9, 17])
def test_moved_weights_are_products_of_factors_in_chunks_of_any_size(chunk, n_rankings, monkeypatch):
    monkeypatch.setattr("podium.pairs.explicit_part.PAIRS_PER_CHUNK", chunk)
    rng = np.random.default_rng(n_rankings)
    order = PairOrder.of(make_pairs(0), 14)
    weights, (better, worse) = TieWeights(order, 14), sides_of(order)
    D = order.weight / order.weight.sum()
    np.testing.assert_allclose(weights.shares, D, rtol=1e-12)
    for alpha in (0.7, -3.0, 8.0):
        rankings, log_factors = rng.integers(0, 2, (n_rankings, 14)), rng.normal(size=n_rankings)
        h = rng.integers(0, 2, 14).astype(bool)
        ties = (rankings[:, better] == rankings[:, worse]) * log_factors[:, None]
        new = D * np.exp(alpha * (1.0 * h[worse] - h[better]) + ties.sum(axis=0))
        Z, change = weights.move(h, alpha, pack_bits(rankings), np.exp(tie_tables(log_factors)), 0.9)
        assert pytest.approx(new.sum(), rel=1e-10) == Z
        assert change >= 0.5 * np.abs(new / new.sum() - D).sum() - 1e-12
        D = new / new.sum()
        np.testing.assert_allclose(weights.shares / weights.total, D, rtol=1e-9)
        potentials = np.bincount(better, D, 14) - np.bincount(worse, D, 14)
        np.testing.assert_allclose(weights.potentials(), potentials, atol=1e-12)
        tied = [D[f[better] == f[worse]].sum() for f in rankings]
        np.testing.assert_allclose(weights.tied(pack_bits(rankings)).ravel()[:n_rankings], tied, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("chunk", "most"), [(10**6, 1), (30, 1), (25, 2), (20, 2), (1, 16)])
def test_tied_pairs_are_cut_into_at_most_sixteen_runs(chunk, most, monkeypatch):
    monkeypatch.setattr("podium.pairs.explicit_part.PAIRS_PER_CHUNK", chunk)
    order = PairOrder.of(make_pairs(0, n_rows=40), 40)
    runs = TieWeights(order, 40)._chunks
    assert len(runs) == most
    assert runs == TieWeights(order, 40, n_threads=3)._chunks
    assert [row for first, last in runs for row in range(first, last)] == list(range(len(order.better)))


def test_chunks_of_ties_are_tasks_of_threads(monkeypatch):
    from podium._compiled import run_threads

    tasks = {}

    def run(function, calls, n_threads):
        tasks[function.__name__] = len(calls), n_threads
        return run_threads(function, calls, n_threads)

    monkeypatch.setattr("podium.pairs.explicit_part.PAIRS_PER_CHUNK", 9)
    monkeypatch.setattr("podium.plus.tied_pairs.run_threads", run)
    order = PairOrder.of(make_pairs(0), 14)
    rankings, answers = np.random.default_rng(0).integers(0, 2, (9, 14)), []
    for n_threads in (1, 3):
        weights = TieWeights(order, 14, n_threads)
        weights.move(rankings[0] > 0, 0.4, pack_bits(rankings[:1]), np.exp(tie_tables(np.ones(1))), 0.9)
        answers.append(
            (weights.shares.tobytes(), weights.potentials().tobytes(), weights.tied(pack_bits(rankings)).tobytes())
        )
    assert answers[0] == answers[1]
    assert tasks == {"_move": (5, 3), "_tied_shares": (2, 3)}


def test_ties_change_by_no_more_than_the_bound_on_the_change_of_weights():
    # A step along another ranking moves weight from pairs that the member ties to pairs that it does not.
    pairs = Pairs(np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([3.0, 2.0, 5.0]))
    state, D1 = PlusDistribution(PairOrder.of(pairs, 4), 4), {(1, 0): 0.3, (2, 1): 0.2, (3, 2): 0.5}
    members = [[1, 0, 0, 0], [1, 1, 0, 0]]
    for first, second in ((0.1, 0.4), (-0.3, 0.2), (0.5, -0.9), (0.0, 1.5)):
        etas = np.array([first, second]) + (state.eta if len(state.eta) == 2 else 0.0)
        state.update(first * np.array(members[0]) if first else 1e-9 * np.array(members[0], float))
        state.member_edges(state.potentials())
        before = state._tied[0]
        state.update(second * np.array(members[1], float))
        loss = reference.loss_2(D1, members, state.eta)
        D = {p: w * math.prod(map(reference.omega, members, state.eta, [p] * 2)) / loss for p, w in D1.items()}
        assert abs(reference.epsilons(D, members[0])[1] - before) <= state._drift[0] + 1e-12
        np.testing.assert_allclose(state.eta, etas, atol=1e-8)


def test_the_bound_on_the_change_of_weights_holds_where_their_sum_is_not_what_was_expected():
    # Of pairs that weigh 0.1 and 0.9 the first is raised by e: D moves by 0.132, its unnormalised shares by 0.086.
    order = PairOrder.of(Pairs(np.array([0, 2]), np.array([1, 3]), np.array([1.0, 9.0])), 4)
    none = np.zeros((0, 4), np.uint8), np.ones((0, 256))
    Z, change = TieWeights(order, 4).move(np.arange(4) == 1, 1.0, *none, 1.0)
    assert pytest.approx(0.9 + 0.1 * math.e) == Z
    assert 0.9 - 0.9 / Z <= change <= Z - 1 + 1e-12


def test_moments_of_ties_are_sums_over_pairs():
    rng = np.random.default_rng(0)
    order = PairOrder.of(make_pairs(0), 14)
    weights, (better, worse) = TieWeights(order, 14), sides_of(order)
    rankings, of_tie, h = rng.integers(0, 2, (9, 14)), rng.normal(size=(9, 3)), rng.random(14)
    g, slope, curvature = of_tie.T @ (rankings[:, better] == rankings[:, worse])
    slope, g = slope + h[worse] - h[better], g + 0.7 * (h[worse] - h[better])
    share = order.weight / order.weight.sum() * np.exp(g)
    expected = [share.sum(), (share * slope).sum(), (share * (slope**2 + curvature)).sum()]
    np.testing.assert_allclose(weights.moments(h, 0.7, pack_bits(rankings), tie_tables(of_tie)), expected, rtol=1e-10)


def test_light_pairs_are_right_down_to_the_floor_and_never_lost():
    order = PairOrder.of(Pairs(np.array([0, 1]), np.array([1, 0]), np.ones(2)), 2)
    weights, none = TieWeights(order, 2), (np.zeros((0, 2), np.uint8), np.ones((0, 256)))
    for total in (100.0, 200.0):
        weights.move(np.array([True, False]), 50.0, *none, float(np.cosh(50.0)))
        assert weights.shares[0] / weights.shares[1] == pytest.approx(math.exp(-total), rel=1e-9)
    for _ in range(10):
        weights.move(np.array([True, False]), 100.0, *none, float(np.cosh(100.0)))
    assert weights.shares[0] > 0
    for _ in range(8):
        weights.move(np.array([True, False]), -100.0, *none, float(np.cosh(100.0)))
    assert weights.shares[0] > weights.shares[1]


@pytest.mark.parametrize("seed", range(4))
def test_loss_edges_and_best_member_are_right_after_any_steps(seed):
    # Rankings, their reverses and sums of them, with steps that are not the best ones.
    rng, n = np.random.default_rng(seed), 14
    given = make_pairs(seed, n)
    order = PairOrder.of(given, n)
    state = PlusDistribution(order, n)
    base = rng.integers(0, 2, (11, n)).astype(float)
    base[5], base[8] = 1 - base[0], np.maximum(base[1] * (1 - base[2]), base[2] * (1 - base[1]))
    triples = list(zip(given.worse.tolist(), given.better.tolist(), given.weight.tolist(), strict=True))
    D1 = plain.initial_distribution(triples)
    members, etas, pairs, scores = [], np.zeros(0), list(D1), np.zeros(n)
    for number in [*range(11), 5, 0, 8, 3, 10, 5, 1]:
        h, alpha = base[number].tolist(), float(rng.normal())
        beta = reference.combination(h, members, pairs)
        if beta is None:
            members, etas, beta = [*members, h], np.append(etas, 0.0), np.eye(len(members) + 1)[-1]
        etas = etas + alpha * beta
        before = state.log_loss
        Z = state.update(alpha * base[number])
        loss = reference.loss_2(D1, members, etas)
        assert state.log_loss == pytest.approx(math.log(loss), rel=1e-9, abs=1e-10)
        assert pytest.approx(state.log_loss - before, rel=1e-9, abs=1e-12) == math.log(Z)
        np.testing.assert_allclose(state.eta, etas, atol=1e-8)
        scores = scores + alpha * base[number]
        np.testing.assert_array_equal(state.scores, scores)
        product = {
            pair: w * math.prod(reference.omega(f, eta, pair) for f, eta in zip(members, etas, strict=True)) / loss
            for pair, w in D1.items()
        }
        potentials = state.potentials()
        np.testing.assert_allclose(potentials, plain.potentials(product, n), atol=1e-10)
        tied = np.array([reference.epsilons(product, f)[1] for f in members])
        assert np.all(np.abs(tied - state._tied) <= state._drift + 1e-9), "what is not known is bounded"
        slopes = np.array([-reference.slope(product, f, eta) for f, eta in zip(members, etas, strict=True)])
        member, size = state.best_member(potentials, 0.0)
        assert size == pytest.approx(np.abs(slopes).max(), abs=1e-10)
        assert abs(slopes[member]) == pytest.approx(size, abs=1e-10)
        r = float(np.sum(np.array(members[0]) * potentials))
        assert state.edge(np.array(members[0]), r) == pytest.approx(slopes[0], abs=1e-10)
        assert state.best_member(potentials, size + 0.1) == (-1, 0.0)
    np.testing.assert_allclose(state.member_edges(state.potentials()), slopes, atol=1e-10)


@pytest.mark.parametrize("alpha", [299.0, 301.0, 650.0, 720.0, 2500.0, -2500.0])
def test_steps_of_any_length_have_the_right_loss(alpha):
    # Pairs (0 above 1), (1 above 2), (2 above 0): a step along row 0 orders one, reverses one and ties one.
    state = PlusDistribution(PairOrder.of(Pairs(np.array([0, 1, 2]), np.array([1, 2, 0]), np.ones(3)), 3), 3)
    state.update(np.array([alpha, 0.0, 0.0]))
    size = abs(alpha)
    expected = size + math.log((1 + math.exp(-2 * size) + 0.5 + 0.5 * math.exp(-2 * size)) / 3)
    assert state.log_loss == pytest.approx(expected, rel=1e-12)
    assert state.eta[0] == pytest.approx(alpha, rel=1e-12)


def add_member(members, values):
    """Add a ranking to an independent set if it is independent of it, and say whether it was."""
    coefficients, left = members.split(values)
    if left.any():
        members.extend(coefficients, left)
    return bool(left.any())


def combination(members, values):
    """β with ranking = Σ β_s ranking_s on every pair."""
    coefficients, left = members.split(values)
    assert not left.any()
    return members.solve(coefficients)


@pytest.mark.parametrize("n_rankings", range(1, 20))
def test_combinations_of_any_number_of_members_are_found(n_rankings):
    # A path of rows: the ranking of the rows up to k is a step, and every ranking of one row the sum of two of them.
    n = n_rankings + 1
    order = PairOrder.of(Pairs(np.arange(n_rankings), np.arange(1, n), np.ones(n_rankings)), n)
    members = IndependentSet(PairGraph.of(order, n))
    assert members.graph.rank == n_rankings
    steps = np.tril(np.ones((n, n)))[:-1]
    assert all(add_member(members, step) for step in np.random.default_rng(0).permutation(steps))
    chosen = np.random.default_rng(0).permutation(steps)
    for values in np.random.default_rng(1).integers(0, 2, (6, n)).astype(float):
        beta = combination(members, values)
        np.testing.assert_allclose(beta @ np.diff(chosen), np.diff(values), atol=1e-9)
    assert not add_member(members, np.eye(n)[0])


def test_coefficients_of_one_half_are_kept():
    # On the pairs of a triangle's corners, 2 (e0 + e1 + e2) = (e0 + e1) + (e1 + e2) + (e0 + e2).
    order = PairOrder.of(Pairs(np.array([0, 1, 2]), np.array([3, 3, 3]), np.ones(3)), 4)
    members = IndependentSet(PairGraph.of(order, 4))
    for values in ([1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 1, 0]):
        assert add_member(members, np.array(values, float))
    np.testing.assert_allclose(combination(members, np.array([1.0, 1.0, 1.0, 0.0])), [0.5, 0.5, 0.5], atol=1e-12)


def test_the_basis_of_rankings_that_nearly_depend_on_each_other_is_orthogonal():
    # Row k is 1 at k, k + 1, k + 3, ...: the inverse has Fibonacci's numbers, so the last is 1e-5 off the others' span.
    n = 24
    rows = np.array([[j == k or (j > k and (j - k) % 2) for j in range(n)] + [False] for k in range(n)], float)
    order = PairOrder.of(Pairs(np.arange(n), np.full(n, n), np.ones(n)), n + 1)
    members = IndependentSet(PairGraph.of(order, n + 1))
    assert all(add_member(members, row) for row in rows)
    assert members.triangle[-1, -1] < 1e-4
    np.testing.assert_allclose(members.basis @ members.basis.T, np.eye(n), atol=1e-13)


def test_components_do_not_depend_on_the_order_of_pairs():
    rng = np.random.default_rng(0)
    edges = np.array([(0, 5), (5, 9), (9, 1), (2, 3), (3, 8), (4, 7), (7, 6), (6, 4)])
    for _ in range(20):
        shuffled = rng.permuted(rng.permutation(edges), axis=1)
        graph = PairGraph.of(PairOrder.of(Pairs(shuffled[:, 0], shuffled[:, 1], np.ones(8)), 11), 11)
        assert graph.rows.tolist() == list(range(10))
        assert graph.component.tolist() == [0, 0, 1, 1, 2, 0, 2, 2, 1, 0]
        assert graph.sizes.tolist() == [4, 3, 3]


# Listed pairs


def test_labels_and_pairs_listed_together_keep_their_weights():
    labels, sizes = np.array([0.0, 1, 1, 2, 2, 0, 1, 3]), np.array([0, 3, 5, 8])
    weight = np.array([1.0, 2, 1, 1, 1, 3, 1, 5])
    graded = Graded(labels, sizes, weight, np.array([7.0, 1.0, 1e-3]))
    pairs = Pairs(np.array([0, 4]), np.array([7, 1]), np.array([0.25, 9.0]))
    order = materialize_pairs(FeedbackSum((graded, pairs)), 8)
    better, worse = sides_of(order)
    found = {(int(w), int(b)): x for w, b, x in zip(worse, better, order.weight / order.weight.sum(), strict=True)}
    triples = plain.graded_triples(labels, np.repeat([0, 1, 2], np.diff(sizes)), weight, [7.0, 1.0, 1e-3])
    assert found == pytest.approx(plain.initial_distribution([*triples, (7, 0, 0.25), (1, 4, 9.0)]))


def test_exactly_max_pairs_pairs_are_listed_and_one_more_is_refused():
    X, y = np.arange(5.0)[:, None], np.arange(5.0)
    model = RankBoostPlus(2, max_pairs=10).fit(X, y)
    with pytest.raises(PodiumError, match=r"There are 10 pairs, .* more than the 9 that max_pairs allows"):
        RankBoostPlus(2, max_pairs=9).fit(X, y)
    with pytest.raises(PodiumError, match=r"There are 10 pairs, .* more than the 9 that max_pairs allows"):
        exponential_losses(model, X, y, group=[5], max_pairs=9)
    assert exponential_losses(model, X, y, group=[5], max_pairs=10)["E1"].shape == (2,)


@pytest.mark.parametrize(("n_rows", "memory"), [(2_000, r"72\.0 MB"), (10_000, r"1\.8 GB")])
def test_the_memory_of_refused_pairs_is_told_in_its_unit(n_rows, memory):
    labels = np.arange(n_rows, dtype=float)
    graded = Graded(labels, np.array([0, n_rows]), np.ones(n_rows), np.ones(1))
    with pytest.raises(PodiumError, match=f"need about {memory}"):
        materialize_pairs(graded, n_rows, 5)


@pytest.mark.parametrize(
    ("n_bytes", "told"),
    [(1, "0.1 MB"), (10**9 - 1, "1000.0 MB"), (10**9, "1.0 GB"), (100_049_999_976, "100.0 GB")],
)
def test_a_gigabyte_is_a_thousand_million_bytes(n_bytes, told):
    assert _memory(n_bytes) == told
