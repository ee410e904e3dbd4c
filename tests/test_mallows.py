"""Mallows against the enumeration of all orders: normaliser, likelihood, consensus, dispersion, draws."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from podium import FormatError, Mallows, PodiumError, load
from podium.model_file import read_model, write_model
from podium.permutations.consensus import find_consensus, majority_groups, order_cost
from podium.permutations.mallows_law import best_dispersion, log_normalisers, mean_passed
from podium.rankers import mallows
from profiles import examples
from reference import permutations as twin

pytestmark = pytest.mark.plain

SIX = "abcdef"


def orders_near(consensus, number, seed=0, swaps=4):
    """Orders some swaps of neighbours away from another."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(number):
        order = list(consensus)
        for place in rng.integers(0, len(order) - 1, swaps):
            order[place : place + 2] = order[place : place + 2][::-1]
        made.append(order)
    return made


@pytest.mark.parametrize("phi", [0.0, 0.3, 0.999999, 1.0])
def test_normaliser_and_mean_distance_are_sums_over_all_orders_of_six(phi):
    chances = twin.mallows_probabilities(SIX, phi)
    whole = sum(phi ** twin.kendall_distance(list(order), list(SIX)) for order in chances)
    assert log_normalisers(phi, 6).sum() == pytest.approx(math.log(whole), abs=1e-12)
    mean = sum(chance * twin.kendall_distance(list(order), list(SIX)) for order, chance in chances.items())
    assert mean_passed(phi, 6).sum() == pytest.approx(mean, abs=1e-9)


def test_probabilities_are_those_of_all_orders_of_six():
    model = Mallows().fit(orders_near(SIX, 12))
    chances = twin.mallows_probabilities(model.rank(), model.dispersion_)
    for order in list(chances)[::37]:
        assert model.probability(list(order)) == pytest.approx(chances[order])
        assert model.distance(list(order)) == twin.kendall_distance(list(order), model.rank())
    for first in (["c"], ["f", "a"], ["b", "c", "a", "e", "d"]):
        together = sum(chance for order, chance in chances.items() if list(order[: len(first)]) == first)
        assert model.probability(first) == pytest.approx(together)


def test_consensus_and_dispersion_are_the_best_of_all():
    made = orders_near(SIX, 9, swaps=9)
    weights = [1.0, 2.0, 1.0, 0.5, 1.0, 1.0, 3.0, 1.0, 1.0]
    model = Mallows().fit(made, weights=weights)
    least, best = twin.best_orders(SIX, made, weights)
    assert tuple(model.rank()) in best
    assert model.distance_ == pytest.approx(least / sum(weights))
    assert model.distance_bound_ == pytest.approx(model.distance_)
    assert model.exact_

    def loss(phi):
        chances = twin.mallows_probabilities(model.rank(), phi)
        return -sum(w * math.log(chances[tuple(one)]) for one, w in zip(made, weights, strict=True))

    found = minimize_scalar(loss, bounds=(1e-6, 1.0), method="bounded", options={"xatol": 1e-9})
    assert model.dispersion_ == pytest.approx(found.x, abs=1e-5)
    assert model.log_likelihood_ == pytest.approx(-found.fun, abs=1e-8)


def test_the_first_places_alone_give_the_dispersion_of_their_own_likelihood():
    made = [["a", "b"], ["b"], ["a", "c", "b", "d", "e"], ["e", "a"], ["b", "a", "d"]]
    model = Mallows().fit(made, items=list("abcde"))
    least, best = twin.best_orders("abcde", made, [1] * 5)
    assert tuple(model.rank()) in best
    assert 5 * model.distance_ == pytest.approx(least)

    def loss(phi):
        chances = twin.mallows_probabilities(model.rank(), phi)
        sums = [sum(p for order, p in chances.items() if list(order[: len(one)]) == one) for one in made]
        return -sum(map(math.log, sums))

    found = minimize_scalar(loss, bounds=(1e-6, 1.0), method="bounded", options={"xatol": 1e-9})
    assert model.dispersion_ == pytest.approx(found.x, abs=1e-5)
    assert model.log_likelihood_ == pytest.approx(-found.fun, abs=1e-8)
    assert 5 * model.score(made) == pytest.approx(model.log_likelihood_)


@st.composite
def preference_tables(draw, most=6):
    n = draw(st.integers(2, most))
    cells = draw(st.lists(st.integers(0, 4), min_size=n * n, max_size=n * n))
    above = np.array(cells, float).reshape(n, n)
    np.fill_diagonal(above, 0.0)
    return above


@examples(80, plain=25)
@given(preference_tables())
def test_exact_search_finds_the_best_order(above):
    found = find_consensus(above, 12)
    orders = [np.array(one) for one in itertools.permutations(range(len(above)))]
    costs = [order_cost(above, one) for one in orders]
    assert found.cost == pytest.approx(min(costs))
    assert found.bound == pytest.approx(found.cost)
    local = find_consensus(above, 1)
    assert local.bound <= min(costs) + 1e-9 <= local.cost + 2e-9
    assert sorted(local.order.tolist()) == list(range(len(above)))
    assert local.cost == pytest.approx(order_cost(above, local.order))


@examples(80, plain=25)
@given(preference_tables())
def test_local_search_ends_where_no_move_of_one_item_helps(above):
    order = find_consensus(above, 1).order.tolist()
    cost = order_cost(above, np.array(order))
    group_of = {item: number for number, group in enumerate(majority_groups(above)) for item in group.tolist()}
    for item in order:
        rest = [one for one in order if one != item]
        for place in range(len(order)):
            moved = [*rest[:place], item, *rest[place:]]
            if [group_of[one] for one in moved] == [group_of[one] for one in order]:
                assert order_cost(above, np.array(moved)) >= cost - 1e-9


def test_of_equally_good_orders_the_first_by_ids_is_taken():
    assert Mallows().fit([["c", "b", "a"], ["a", "b", "c"]]).rank() == ["a", "b", "c"]
    cycle = [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    assert Mallows().fit(cycle).rank() == [1, 2, 3]


def test_majorities_part_items_into_groups_that_are_ordered_exactly():
    big = [f"{n:02}" for n in range(40)]
    made = orders_near(big, 7, swaps=30)
    for search in ("auto", "exact"):
        model = Mallows(search).fit(made)
        assert model.exact_
    assert Mallows("local").fit(made).distance_ >= model.distance_
    assert Mallows("local").fit(made).distance_bound_ <= model.distance_


def test_a_large_group_has_a_bound_and_is_refused_as_exact():
    made = [[*range(turn, 22), *range(turn)] for turn in range(22)]  # majorities go round in a circle
    model = Mallows().fit(made)
    assert not model.exact_
    assert 0 < model.distance_bound_ < model.distance_
    assert model.distance_ <= min(np.mean([twin.kendall_distance(one, two) for two in made]) for one in made)
    with pytest.raises(PodiumError, match="search='exact' must have groups of at most 20 items"):
        Mallows("exact").fit(made)


def test_dispersion_goes_from_all_alike_to_all_orders():
    assert Mallows().fit([["a", "b", "c"]] * 3).dispersion_ == 0.0
    alike = Mallows().fit([["a", "b", "c"]])
    assert (alike.probability(["a", "b", "c"]), alike.probability(["b", "a", "c"])) == (1.0, 0.0)
    assert alike.log_likelihood_ == 0.0
    assert alike.sample(3, 0).tolist() == [["a", "b", "c"]] * 3
    every = [list(one) for one in itertools.permutations("abc")]
    assert Mallows().fit(every).dispersion_ == pytest.approx(1.0)
    assert best_dispersion(99.0, np.array([1.0, 1.0, 1.0])) == 1.0


def test_draws_follow_the_law():
    model = Mallows().fit(orders_near("abcd", 10, swaps=3))
    drawn = model.sample(4000, random_state=1)
    chances = twin.mallows_probabilities(model.rank(), model.dispersion_)
    counts = dict.fromkeys(chances, 0)
    for one in drawn.tolist():
        counts[tuple(one)] += 1
    off = sum((counts[one] - 4000 * p) ** 2 / (4000 * p) for one, p in chances.items())
    assert off < 52  # chi-squared of 23 degrees of freedom: 49.7 is passed once in a thousand draws
    np.testing.assert_array_equal(model.sample(5, 3), model.sample(5, 3))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Mallows().fit([["a", ("b", "c")]]),
            "Mallows must have rankings without ties; PlackettLuce takes them",
        ),
        (lambda: Mallows().fit([["a", "b", "a"]]), "Ranking 0 names item 'a' more than once"),
        (lambda: Mallows().fit([["a"]]), "at least two items; got 1"),
        (lambda: Mallows().fit([["a", "b"]]).sample(0), "size must be an integer of at least 1; got 0"),
        (lambda: Mallows().fit([["a", "b"]]).distance(["c"]), "Item 'c' is not known"),
        (lambda: Mallows("best").fit([["a", "b"]]), "search"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call, message):
    with pytest.raises(PodiumError, match=message):
        call()


def test_saving_and_loading_change_nothing(tmp_path):
    for made in (orders_near(SIX, 5), [[3, 1, 2], [1, 2], [2, 3, 1]]):
        model = Mallows("local").fit(made)
        model.save(tmp_path / "one")
        loaded = load(tmp_path / "one")
        assert (type(loaded), loaded.get_params(), loaded.rank()) == (Mallows, model.get_params(), model.rank())
        for name in ("dispersion_", "distance_", "distance_bound_", "exact_", "log_likelihood_"):
            assert getattr(loaded, name) == getattr(model, name)
        assert loaded.probability(made[0]) == model.probability(made[0])
        loaded.save(tmp_path / "two")
        assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("order_", np.array([0, 1, 3]), "order_ must be a list of integers from 0 to 2"),
        ("order_", np.array([0, 1, 1]), "order_ must name every item once"),
        ("order_", np.array([0, 1]), "order_ must have 3 entries; got 2"),
        ("dispersion_", 1.5, "dispersion_ must be"),
        ("distance_", -1.0, "distance_ must be"),
    ],
)
def test_files_that_hold_something_else_are_refused(name, value, message, tmp_path):
    Mallows().fit([[3, 1, 2]]).save(tmp_path / "model")
    content = read_model(tmp_path / "model")
    write_model(tmp_path / "broken", {**content, "learned": {**content["learned"], name: value}})
    with pytest.raises(FormatError, match=message):
        load(tmp_path / "broken")


def test_groups_beyond_the_limits_are_searched_locally(monkeypatch):
    rng = np.random.default_rng(2)
    made = [rng.permutation(8).tolist() for _ in range(5)]
    exact = Mallows().fit(made)
    monkeypatch.setattr(mallows, "MAX_ITEMS_BY_DEFAULT", 2)
    assert Mallows().fit(made).distance_ >= exact.distance_
