"""Search spaces: within the bounds of their rankers, in the documents, without refused trials; settings read back."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

from peers import peer
from podium import PNormPush, PodiumError, PRank, RankBoost, make_search, tune
from podium.rankers import RANKERS
from podium.tuning import SPACES, Choice, Real, Whole, space_of
from podium.tuning.held_out import ranker_of
from podium.tuning.settings_file import settings_text
from podium.tuning.tuner import _check_space

pytestmark = pytest.mark.plain


@pytest.fixture(scope="module")
def data():
    peer("optuna")
    return make_search(n_queries=25, docs_per_query=8, random_state=0)


def test_every_search_space_lies_within_the_bounds_of_its_ranker():
    for name, space in SPACES.items():
        own = RANKERS[name]().get_params(deep=False)
        for parameter, one in space.items():
            ends = one.values if isinstance(one, Choice) else (one.low, one.high)
            for value in ends:
                RANKERS[name](**{parameter: value})._check_trainable()
            unset = own[parameter] is None
            assert unset or own[parameter] in one, f"the default of {name}.{parameter} is outside its range"


def test_every_ranker_with_parameters_of_its_own_has_a_space():
    without = {"PreferenceRegression", "VectorSimilarity", "AdaBoostOR", "BaggingOR", "ORStump", "ExtendedBinary"}
    without |= {"OrdinalThresholds", "ImportedTrees", "ImportedLinear"}
    assert set(RANKERS) - set(SPACES) == without


def test_the_document_lists_every_search_space():
    text = (Path(__file__).parents[1] / "docs" / "tuning.md").read_text("utf-8")
    for name, space in SPACES.items():
        for parameter, one in space.items():
            assert any(f"`{name}`" in line and f"`{parameter}` {one}" in line for line in text.splitlines()), (
                f"docs/tuning.md must say of {name}: `{parameter}` {one}"
            )


def test_settings_are_read_back_as_they_were():
    given = {
        "whole": 3, "array": np.int64(4), "real": 0.1, "small": 1e-5, "large": 1e300, "text": 'a "b"\n\\\x7f é',
        "yes": True, "no": np.bool_(False), "list": [1, -1, 0], "names": ("a", "b"), "float": np.float32(0.5),
        "a b": 1,
    }  # fmt: skip
    read = tomllib.loads(settings_text("R", {**given, "none": None}, ("one", "two")))
    assert read["ranker"] == "R"
    assert read["parameters"] == {**given, "names": ["a", "b"], "none": "None"}
    assert type(read["parameters"]["real"]) is float
    infinite = tomllib.loads(settings_text("R", {"a": np.inf, "b": -np.inf, "c": np.nan}))["parameters"]
    assert str(infinite) == "{'a': inf, 'b': -inf, 'c': nan}"


def test_mappings_are_tables_of_settings():
    given = {"gain": {0: 0.5, 1.5: np.float64(3), "a b": [1, 2]}, "whole": 3, "c d": {}}
    read = tomllib.loads(settings_text("R", given))
    assert read["parameters"] == {"gain": {"0": 0.5, "1.5": 3.0, "a b": [1, 2]}, "whole": 3, "c d": {}}


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (PRank(epochs=3), "a=PRank(epochs=3)"),
        ([PRank()], "a=[PRank()]"),
        ({"b": PRank()}, "a['b']=PRank()"),
        ({"b": {"c": 1}}, "a['b']={'c': 1}"),
    ],
)
def test_what_a_settings_file_cannot_hold_is_refused(value, named):
    with pytest.raises(PodiumError) as refused:
        settings_text("R", {"a": value})
    assert str(refused.value) == (
        "A settings file holds numbers, strings, truth values, and lists and mappings of these; "
        f"it cannot hold {named}."
    )


class Noted:
    """A trial that returns what it is asked for."""

    def __getattr__(self, way):
        return lambda *given, **options: (way, *given, options)


def test_ranges_are_asked_for_as_they_are():
    assert Real(1.0, 2.0).suggest(Noted(), "a") == ("suggest_float", "a", 1.0, 2.0, {"log": False})
    assert Whole(1, 8, log=True).suggest(Noted(), "a") == ("suggest_int", "a", 1, 8, {"log": True})
    assert Choice(("r", "z")).suggest(Noted(), "a") == ("suggest_categorical", "a", ("r", "z"), {})


def test_ranges_know_their_values():
    assert 0.5 in Real(0.0, 1.0)
    assert 1 in Real(0.0, 1.0)
    assert 1.5 not in Real(0.0, 1.0)
    assert True not in Real(0.0, 1.0)
    assert "auto" not in Real(0.0, 1.0)
    assert 3 in Whole(1, 3)
    assert 0 not in Whole(1, 3)
    assert 1.5 not in Whole(1, 3)
    assert None not in Whole(1, 3)
    assert True not in Whole(0, 3)
    assert "r" in Choice(("r",))
    assert str(Whole(1, 3, log=True)) == "1 to 3, integers, log"


@pytest.mark.parametrize("n_features", [1, 2, 7])
def test_no_more_neighbors_are_tried_than_there_are_features(data, n_features):
    result = tune("NearestNeighbor", data.X[:, :n_features], data.y, qid=data.qid, n_trials=6)
    tried = {one.parameters["n_neighbors"] for one in result.trials}
    assert tried <= set(range(1, n_features + 1))
    assert len(tried) > 1 or n_features == 1


@pytest.mark.parametrize(
    ("ranker", "searched"),
    [
        (RankBoost(criterion="z"), {"learning_rate", "pair_weight"}),
        (RankBoost(), {"learning_rate", "pair_weight", "weak"}),
        (PNormPush(max_bins=9), {"p", "learning_rate"}),
    ],
)
def test_choices_that_other_parameters_refuse_are_not_tried(data, ranker, searched):
    model = ranker.__class__(**{**ranker.get_params(), "n_estimators": 2})
    result = tune(model, data.X, data.y, qid=data.qid, n_trials=8)
    assert {frozenset(one.parameters) for one in result.trials} == {frozenset(searched)}


def test_a_space_may_differ_from_the_rankers_own_parameters(data):
    space = {"weak": Choice(("stump",)), "max_bins": Whole(8, 100)}
    model = RankBoost(2, weak="feature")
    assert len(tune(model, data.X, data.y, qid=data.qid, space=space, n_trials=2).trials) == 2


@pytest.mark.parametrize("name", SPACES)
def test_no_trial_of_a_default_space_is_refused(name):
    model = ranker_of(name)
    space = space_of(name, 46)
    _check_space(model, space)
    assert space_of(type(model), 46) == space_of(model, 46) == space
    first = next(iter(space))
    assert space_of(name, 46, {first}) == {parameter: one for parameter, one in space.items() if parameter != first}


def test_what_has_no_default_space_is_said():
    for ranker, n_features, message in (
        (3, 3, "ranker must be a ranker of Podium, its class or its name; got 3"),
        ("RankBost", 3, "did you mean RankBoost"),
        ("AdaBoostOR", 3, "AdaBoostOR has no search space of its own"),
        ("RankBoost", 0, "n_features must be an integer of at least 1; got 0"),
    ):
        with pytest.raises(PodiumError, match=message):
            space_of(ranker, n_features)
