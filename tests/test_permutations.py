"""Models of permutations against their definitions: sums over all subsets, orders and rankings with ties."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from peers import peer
from podium import Mallows, NoPairsError, PlackettLuce, PodiumError, SizeError
from podium.permutations import rankings
from podium.permutations.choices import Choices
from podium.permutations.tied_choices import TiedChoices
from podium.rankers import plackett_luce
from profiles import examples
from reference import permutations as twin

pytestmark = pytest.mark.plain

NUMBERS = st.floats(-3, 3).map(lambda x: round(x, 3))


def offsets(sizes):
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@st.composite
def blocks_of_entries(draw, n_items=5):
    """Some rankings of items in blocks, with the times and the weight of each entry."""
    rankings = []
    for _ in range(draw(st.integers(1, 3))):
        order = draw(st.permutations(range(n_items)))[: draw(st.integers(1, n_items))]
        cuts = sorted(draw(st.sets(st.integers(1, max(1, len(order) - 1)))))
        parts = [order[a:b] for a, b in itertools.pairwise([0, *cuts, len(order)]) if a < b]
        entry = st.tuples(st.sampled_from([1.0, 2.0, 0.5]), st.sampled_from([0.0, 1.0, 3.0]))
        rankings.append([[(item, *draw(entry)) for item in part] for part in parts])
    return rankings


def as_choices(rankings, n_items=5):
    blocks = [block for ranking in rankings for block in ranking]
    item, size, chosen = zip(*(entry for block in blocks for entry in block), strict=True)
    starts = offsets([len(ranking) for ranking in rankings])
    return Choices(n_items, np.array(item), offsets(list(map(len, blocks))), starts, np.array(size), np.array(chosen))


def differences(function, point, step=1e-5):
    """The gradient of a function, or the derivative of a vector, by central differences."""
    columns = [(function(point + step * one) - function(point - step * one)) / (2 * step) for one in np.eye(len(point))]
    return np.stack(columns, axis=-1)


@examples(60, plain=25)
@given(blocks_of_entries(), st.lists(NUMBERS, min_size=5, max_size=5))
def test_choices_have_the_likelihood_and_derivatives_of_their_definition(made, scores):
    scores = np.array(scores)
    point = as_choices(made).at(scores)

    def total(x):
        return sum(twin.choice_log_likelihood(x, ranking) for ranking in made)

    assert point.value == pytest.approx(total(scores), abs=1e-9)
    np.testing.assert_allclose(point.gradient, differences(total, scores), atol=1e-6)
    expected = -differences(lambda x: as_choices(made).at(x).gradient, scores)
    np.testing.assert_allclose(point.information(), expected, atol=1e-6)
    direction = np.array([1.0, -2.0, 0.5, 0.0, 3.0])
    np.testing.assert_allclose(point.product(direction), point.information() @ direction, atol=1e-9)


def test_choices_are_finite_where_exponentials_are_not():
    made = [[[(0, 1.0, 1.0)], [(1, 1.0, 1.0)], [(2, 1.0, 1.0)]]]
    for scores in ([2000.0, 0.0, -2000.0], [-2000.0, 0.0, 2000.0]):
        point = as_choices(made, 3).at(np.array(scores))
        assert point.value == pytest.approx(min(0.0, 3 * scores[0]) if scores[0] > 0 else -6000.0)
        assert np.isfinite(point.gradient).all()
        assert np.isfinite(point.information()).all()


@st.composite
def tied_rankings(draw, n_items=5):
    """Rankings of some of the items with ties of up to three."""
    made = []
    for _ in range(draw(st.integers(1, 3))):
        order = draw(st.permutations(range(n_items)))[: draw(st.integers(1, n_items))]
        blocks, place = [], 0
        while place < len(order):
            size = draw(st.sampled_from([1, 1, 2, 3]))
            blocks.append(tuple(order[place : place + size]))
            place += size
        made.append(blocks)
    return made


def as_tied(made, weights, unordered=False):
    blocks = [block for ranking in made for block in ranking]
    chosen = np.repeat(weights, list(map(len, made)))
    starts = offsets(list(map(len, made)))
    if unordered:
        chosen[starts[1:] - 1] = 0.0
    entries = np.array([item for block in blocks for item in block])
    return TiedChoices(5, entries, offsets(list(map(len, blocks))), starts, chosen, np.array([1, 2, 3]))


@examples(40, plain=15)
@given(tied_rankings(), st.lists(NUMBERS, min_size=7, max_size=7), st.booleans())
def test_tied_choices_have_the_likelihood_and_derivatives_of_their_definition(made, parameters, unordered):
    parameters, weights = np.array(parameters), np.array([1.0, 2.5, 0.5])[: len(made)]

    def total(x):
        deltas = {1: 1.0, 2: math.exp(x[5]), 3: math.exp(x[6])}
        ends = [len(ranking) - 1 if unordered else None for ranking in made]
        logs = [twin.tied_log_probability(x, deltas, one, end) for one, end in zip(made, ends, strict=True)]
        return weights @ logs

    likelihood = as_tied(made, weights, unordered)
    point = likelihood.at(parameters)
    assert point.value == pytest.approx(total(parameters), abs=1e-9)
    np.testing.assert_allclose(point.gradient, differences(total, parameters), atol=1e-6)
    expected = -differences(lambda x: likelihood.at(x).gradient, parameters)
    np.testing.assert_allclose(point.information(), expected, atol=1e-6)
    np.testing.assert_allclose(point.product(parameters), expected @ parameters, atol=1e-5)


def test_without_ties_both_likelihoods_are_one():
    made = [[(0,), (3,), (1,)], [(4,), (2,)]]
    tied = as_tied(made, np.ones(2))
    tied = TiedChoices(5, tied.entries, tied.blocks, tied.starts, tied.chosen, np.array([1]))
    plain = as_choices([[[(item, 1.0, 1.0)] for (item,) in ranking] for ranking in made])
    scores = np.array([0.3, -1.0, 2.0, 0.1, 0.7])
    assert tied.at(scores).value == pytest.approx(plain.at(scores).value)
    np.testing.assert_allclose(tied.at(scores).gradient, plain.at(scores).gradient, atol=1e-12)
    np.testing.assert_allclose(tied.at(scores).information(), plain.at(scores).information(), atol=1e-12)


TIED = [["a", ("b", "c"), "d"], ["b", "a"], ["d", "c", "a"], ["c", ["a", "d"]], ["d", "b"], [{"a", "b"}, "c"]]
UNTIED = [["a", "b", "c", "d"], ["b", "a"], ["d", "c", "a"], ["c", "b"], ["d", "b"], ["b", "d", "a", "c"]]


def direct_fit(made, alpha, sizes=()):
    """Strengths and log δ by a general solver on the definition."""
    items = "abcd"

    def loss(x):
        scores = dict(zip(items, x, strict=False))
        deltas = {1: 1.0, **{size: math.exp(x[4 + place]) for place, size in enumerate(sizes)}}
        blocks = [[tuple(b) if isinstance(b, list | tuple | set) else (b,) for b in one] for one in made]
        return alpha / 2 * x @ x - sum(twin.tied_log_probability(scores, deltas, one) for one in blocks)

    found = minimize(loss, np.zeros(4 + len(sizes)), method="BFGS", options={"gtol": 1e-7})
    return found.x[:4] - found.x[:4].mean(), np.exp(found.x[4:]), -loss(found.x)


@pytest.mark.parametrize("alpha", [0.0, 0.7])
def test_strengths_are_those_of_a_general_solver(alpha):
    model = PlackettLuce(alpha).fit(UNTIED)
    strengths, _, penalised = direct_fit(UNTIED, alpha)
    np.testing.assert_allclose(model.strengths_, strengths, atol=1e-5)
    assert model.strengths_.mean() == pytest.approx(0, abs=1e-12)
    assert model.log_likelihood_ - alpha / 2 * np.sum(model.strengths_**2) == pytest.approx(penalised, abs=1e-8)
    assert model.rank() == sorted("abcd", key=lambda one: -strengths["abcd".index(one)])
    assert model.rank(["b", "c"]) == [one for one in model.rank() if one in "bc"]


@pytest.mark.parametrize("alpha", [0.0, 0.7])
def test_strengths_and_ties_are_those_of_a_general_solver(alpha):
    model = PlackettLuce(alpha).fit(TIED)
    strengths, deltas, _ = direct_fit(TIED, alpha, [2])
    np.testing.assert_allclose(model.strengths_, strengths, atol=1e-5)
    assert model.tie_sizes_.tolist() == [2]
    np.testing.assert_allclose(model.tie_strengths_, deltas, atol=1e-5)


def test_probabilities_of_all_rankings_with_ties_sum_to_one():
    model = PlackettLuce().fit(TIED)
    chances = {str(one): model.probability(one) for one in twin.weak_orders(list("abcd"))}
    assert sum(chances.values()) == pytest.approx(1.0)
    scores = dict(zip("abcd", model.strengths_, strict=True))
    deltas = {1: 1.0, 2: model.tie_strengths_[0]}
    expected = math.exp(twin.tied_log_probability(scores, deltas, [("d",), ("a", "c"), ("b",)]))
    assert model.probability(["d", ("c", "a"), "b"]) == pytest.approx(expected)
    assert model.log_probability([("a", "b", "c"), "d"]) == -np.inf
    two = model.pair_probability(["a", "b"], ["b", "a"])
    np.testing.assert_allclose(two, [model.probability(["a", "b"]), model.probability(["b", "a"])])
    assert two.sum() + model.probability([("a", "b")]) == pytest.approx(1.0)


def test_items_that_a_ranking_does_not_name_are_absent_or_below():
    made = [["a", "b"], ["b", "c"], ["c", "a"], ["a"], ["d", "b", "a"], ["c", "d"]]
    below = PlackettLuce(unranked="below").fit(made)
    chances = {one: below.probability(list(one)) for one in itertools.permutations("abcd", 2)}
    assert sum(chances.values()) == pytest.approx(1.0)
    shares = np.exp(below.strengths_) / np.exp(below.strengths_).sum()
    assert below.probability(["a"]) == pytest.approx(shares[0])
    with pytest.raises(PodiumError, match="No other item ever stood above"):
        PlackettLuce().fit(made[:2] + made[5:])
    absent = PlackettLuce().fit([*made, ["b", "d"]])
    assert absent.probability(["a"]) == pytest.approx(1.0)
    assert absent.probability(["a", "b"]) + absent.probability(["b", "a"]) == pytest.approx(1.0)


def test_top_choices_are_those_of_the_definition():
    made, weights = [["a", "b"], ["b", "c"], ["c"], ["d", "a", "c"]], [1, 2, 1, 3]

    def loss(x):
        scores = dict(zip("abcd", x, strict=True))
        total = 0.2 * x @ x
        for ranking, weight in zip(made, weights, strict=True):
            rest = tuple(one for one in "abcd" if one not in ranking)
            blocks = [*((one,) for one in ranking), *([rest] if rest else [])]
            total -= weight * twin.tied_log_probability(scores, {1: 1.0}, blocks, len(ranking))
        return total

    model = PlackettLuce(0.4, unranked="below").fit(made, weights=weights)
    np.testing.assert_allclose(model.strengths_, minimize(loss, np.zeros(4), options={"gtol": 1e-7}).x, atol=1e-5)


def test_standard_errors_are_those_of_the_inverse_information():
    model = PlackettLuce().fit(pairs=([1, 1, 1, 2], [2, 2, 2, 1]))
    p = 0.75  # variance of the difference: 1 / (4 p (1 - p)); each strength is half of it from the mean
    np.testing.assert_allclose(model.standard_errors_, 0.5 / math.sqrt(4 * p * (1 - p)))
    tied = PlackettLuce().fit(TIED)
    data = rankings.read_rankings(TIED, None, None, None)
    point = plackett_luce._choices(data, tied.tie_sizes_).at(np.append(tied.strengths_, np.log(tied.tie_strengths_)))
    np.testing.assert_allclose(
        tied.standard_errors_, np.sqrt(np.diag(np.linalg.pinv(point.information()))[:4]), rtol=1e-6
    )
    penalised = PlackettLuce(0.5).fit(UNTIED)
    data = rankings.read_rankings(UNTIED, None, None, None)
    information = plackett_luce._choices(data, penalised.tie_sizes_).at(penalised.strengths_).information()
    expected = np.sqrt(np.diag(np.linalg.inv(information + 0.5 * np.eye(4))))
    np.testing.assert_allclose(penalised.standard_errors_, expected, rtol=1e-6)


def made_comparisons(n_items, n_pairs, seed=0):
    rng = np.random.default_rng(seed)
    strengths = rng.normal(size=n_items)
    one, other = rng.integers(0, n_items, (2, n_pairs))
    one, other = one[one != other], other[one != other]
    first = rng.random(len(one)) < 1 / (1 + np.exp(strengths[other] - strengths[one]))
    return np.where(first, one, other), np.where(first, other, one)


def test_strengths_equal_those_of_choix():
    choix = peer("choix")
    better, worse = made_comparisons(20, 600)
    model = PlackettLuce().fit(pairs=(better, worse))
    expected = choix.ilsr_pairwise(20, list(zip(better, worse, strict=True)), tol=1e-12)
    np.testing.assert_allclose(model.strengths_, expected - expected.mean(), atol=1e-6)
    full = [np.random.default_rng(seed).permutation(6).tolist() for seed in range(30)]
    expected = choix.ilsr_rankings(6, full, tol=1e-12)
    np.testing.assert_allclose(PlackettLuce().fit(full).strengths_, expected - expected.mean(), atol=1e-6)


def test_counts_pairs_and_rankings_of_two_say_the_same():
    better, worse, count = ["x", "y", "x", "z"], ["y", "x", "z", "x"], [3, 1, 2, 2]
    by_count = PlackettLuce().fit(pairs=(better, worse, count))
    repeated = PlackettLuce().fit(pairs=(np.repeat(better, count), np.repeat(worse, count)))
    listed = PlackettLuce().fit(list(zip(better, worse, strict=True)), weights=count)
    both = PlackettLuce().fit([["x", "y"]] * 3, pairs=(better[1:], worse[1:], count[1:]))
    for other in (repeated, listed, both):
        np.testing.assert_allclose(other.strengths_, by_count.strengths_, atol=1e-12)
        np.testing.assert_allclose(other.standard_errors_, by_count.standard_errors_, atol=1e-12)


def test_a_weight_of_zero_leaves_a_ranking_out():
    one = PlackettLuce().fit([*UNTIED, ["d", "a"]], weights=[1] * 6 + [0])
    np.testing.assert_array_equal(one.strengths_, PlackettLuce().fit(UNTIED).strengths_)
    two = PlackettLuce().fit(pairs=([1, 2, 1], [2, 1, 2], [1.0, 1.0, 0.0]))
    np.testing.assert_allclose(two.strengths_, 0.0, atol=1e-12)


@pytest.mark.parametrize("model", [PlackettLuce(), PlackettLuce(0.3, unranked="below"), Mallows()])
def test_order_of_rankings_and_of_ties_changes_no_bit(model):
    weights = np.array([0.1, 0.2, 0.3, 0.7, 1.1, 0.9])
    order = np.random.default_rng(0).permutation(6)
    one = clone(model).fit(UNTIED, weights=weights)
    two = clone(model).fit([UNTIED[i] for i in order], weights=weights[order])
    for name in ("strengths_", "dispersion_", "log_likelihood_"):
        np.testing.assert_array_equal(getattr(one, name, 0), getattr(two, name, 0))
    if isinstance(model, PlackettLuce):
        swapped = [["a", ("c", "b"), "d"], *TIED[1:]]
        np.testing.assert_array_equal(clone(model).fit(TIED).strengths_, clone(model).fit(swapped).strengths_)


def test_order_of_equal_pairs_changes_no_bit():
    better, worse, weight = np.array([1, 1, 1, 2]), np.array([2, 2, 2, 1]), np.array([0.1, 0.2, 0.3, 0.4])
    one = PlackettLuce().fit(pairs=(better, worse, weight)).strengths_
    for order in itertools.permutations(range(4)):
        turned = PlackettLuce().fit(pairs=(better[list(order)], worse[list(order)], weight[list(order)])).strengths_
        np.testing.assert_array_equal(turned, one)


# Bad input


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rankings": [["a", "b", "a"]]}, "Ranking 0 names item 'a' more than once"),
        ({"rankings": [["a", "b"], ["a", ("b", "a")]]}, "Ranking 1 names item 'a' more than once"),
        ({"rankings": [["a", "b"], "ab"]}, "Ranking 1 must be a list of item ids, best first; got str"),
        ({"rankings": [["a", 1]]}, "Ranking 0 must hold item ids of one kind"),
        ({"rankings": [["a", "b"], [1, 2]]}, "rankings must hold item ids of one kind"),
        ({"rankings": [["a", 1.5]]}, "must hold item ids, integers or strings; got 1.5"),
        ({"rankings": [[True, False]]}, "must hold item ids, integers or strings; got True"),
        ({"rankings": [["a", []]]}, "Ranking 0 must name items; it, or a block of ties in it, is empty"),
        ({"rankings": [["a"]]}, "needs at least two items; got 1"),
        ({"rankings": [["a"], ["b"]]}, "No ranking compares two items"),
        ({"rankings": []}, "at least two items; got 0"),
        ({}, "Give rankings, or pairs"),
        ({"rankings": [["a", "b"]], "items": ["a", "c"]}, "Item 'b' is not known"),
        ({"rankings": [["a", "b"]], "items": [1, 2]}, "Items must be integers, as all others are; got 'a'"),
        ({"pairs": [["a", "b"]]}, "pairs must be a tuple"),
        ({"pairs": (["a"], ["a"])}, "An item cannot stand above itself: pair 0 names 'a' twice"),
        ({"pairs": (["a", "b"], ["b"])}, "as many better as worse items; got 2 and 1"),
        ({"pairs": (["a"], ["b"], [-1.0])}, "The weight of pairs must be finite and not negative"),
        ({"pairs": ([1], [2]), "rankings": [["a", "b"]]}, "Item ids must be of one kind"),
        ({"pairs": ([1], [2]), "weights": [1.0]}, "weights weigh rankings"),
        ({"rankings": [["a", "b"]], "weights": [1.0, 2.0]}, "weights must have one value per row"),
        ({"rankings": [["a", "b"]], "weights": [1e101]}, r"Weights must lie within .*; got 1e\+101"),
        ({"pairs": ([1, 2], [2, 1], [1, 1e101])}, r"Weights must lie within .*; got 1e\+101"),
        (
            {"pairs": ([1], [2])},
            "No other item ever stood above 1, or tied with it: there is no finite maximum; give alpha",
        ),
        ({"pairs": ([1, 2, 3, 4], [2, 1, 4, 3])}, "Items fall into 2 groups that were never compared"),
        ({"rankings": [["a", "b"], ["b", "a"]], "items": "abc"}, "items must be a list of item ids"),
        ({"rankings": [["a", "b"], ["b", "a"]], "items": ["a", "b", "c"]}, "2 groups that were never compared"),
        ({"rankings": [[("a", "b")], [("b", "c")]]}, "Every choice that could be a tie of 2 items was one"),
    ],
)
def test_bad_rankings_are_refused_in_a_sentence(given, message):
    with pytest.raises(PodiumError, match=message):
        PlackettLuce().fit(**given)


def test_alpha_is_the_way_out_of_separable_data():
    model = PlackettLuce(1.0).fit(pairs=([1, 1, 2], [2, 3, 3]), items=[1, 2, 3, 4])
    assert model.rank() == [1, 2, 4, 3]
    assert model.strengths_[3] == pytest.approx(0, abs=1e-12)
    assert PlackettLuce(1.0).fit([[("a", "b")], [("b", "c")]]).tie_strengths_[0] > 1


def test_a_group_that_nobody_beat_is_named():
    cycle = [[1, 2], [2, 3], [3, 1], [4, 5], [5, 4], [2, 4]]
    with pytest.raises(PodiumError, match="No other item ever stood above 1, 2, 3, or tied with it"):
        PlackettLuce().fit(cycle)
    many = [[i, (i + 1) % 7] for i in range(7)] + [[0, 7]]
    with pytest.raises(PodiumError, match="above 0, 1, 2, 3, 4 and 2 more, or tied"):
        PlackettLuce().fit(many)
    assert len(PlackettLuce().fit([*cycle, [{1, 4}]]).items_) == 5  # a tie connects


def test_items_below_in_an_order_that_is_not_known_are_neither_tied_nor_chosen():
    with pytest.raises(PodiumError, match="No other item ever stood above 'a', 'b', or tied"):
        PlackettLuce(unranked="below").fit([["a"], ["b"]], items=["a", "b", "c"])
    with pytest.raises(PodiumError, match="Every choice that could be a tie of 2 items was one"):
        PlackettLuce(unranked="below").fit([[("a", "b")], [("c", "d")], [("e", "a")]])
    with pytest.raises(PodiumError, match="Every choice that could be a tie of 2 or 3 items was one"):
        PlackettLuce(unranked="below").fit([[("a", "b")], [("c", "d", "e")], [("a", "c")], [("b", "e", "d")]])


def test_unknown_items_are_refused_after_the_fit():
    model = PlackettLuce().fit(UNTIED)
    for ask in (lambda: model.probability(["a", "e"]), lambda: model.rank(["e"])):
        with pytest.raises(PodiumError, match="Item 'e' is not known"):
            ask()
    with pytest.raises(PodiumError, match="Items must be strings, as all others are; got 1"):
        model.pair_probability([1], [2])
    with pytest.raises(PodiumError, match="alpha"):
        PlackettLuce(-1.0).fit(UNTIED)
    with pytest.raises(NoPairsError):
        PlackettLuce(1.0).fit([["a"], ["b"]])


def test_too_few_steps_are_said():
    with pytest.warns(ConvergenceWarning, match="PlackettLuce stopped after 1 steps"):
        PlackettLuce(max_iter=1).fit(UNTIED)


def test_score_is_the_mean_log_probability():
    model = PlackettLuce().fit(UNTIED)
    assert 6 * model.score(UNTIED) == pytest.approx(model.log_likelihood_)
    assert model.score(UNTIED[:2], weights=[1, 0]) == pytest.approx(model.log_probability(UNTIED[0]))


def test_tables_that_no_machine_holds_are_refused_with_their_size(monkeypatch):
    monkeypatch.setattr("podium._memory.machine_memory", lambda: 100)
    with pytest.raises(
        SizeError, match=r"An information matrix of 4 items takes at least .* leave standard errors out"
    ):
        PlackettLuce().fit(UNTIED)
    assert PlackettLuce(standard_errors=False).fit(UNTIED).n_iter_ > 0
    with pytest.raises(SizeError, match="A table of the preferences among 4 items takes at least"):
        Mallows().fit(UNTIED)
