"""Every parameter of every estimator does what it says: the table of effects in tests/parameters."""

import inspect
from importlib import import_module

import pytest

import podium
from parameters import EFFECTS

for part in (
    "shared",
    "trees",
    "lambdas",
    "stumps",
    "push",
    "ordinal",
    "permutations",
    "ranking_trees",
    "margins",
    "selection",
    "continuous",
    "sparse_pairs",
    "neural",
):
    import_module(f"parameters.{part}")

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar")  # hashes wrap around on purpose
GROWN = (podium.LambdaMART, podium.MART, podium.PairBoost, podium.L1Boost, podium.L2Boost)
"""Rankers of trees, which have their kernels in common."""
ESTIMATORS = [one for one in (getattr(podium, name) for name in podium.__all__) if hasattr(one, "get_params")]


def effects():
    """Each effect; one that several rankers of trees share is looked at without compilation for the first alone."""
    seen = set()
    for (estimator, parameter), check in EFFECTS.items():
        again = estimator in GROWN and check in seen
        seen.update([check] if estimator in GROWN else [])
        name = f"{estimator.__name__}-{parameter}-{check.__name__}"
        yield pytest.param(estimator, parameter, id=name, marks=() if again else pytest.mark.plain)


@pytest.mark.plain
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: one.__name__)
def test_every_parameter_has_an_effect_in_the_table(estimator):
    known = {name for one, name in EFFECTS if one is estimator}
    assert known - {"refit(decay)"} == set(estimator().get_params(deep=False))


@pytest.mark.parametrize(("estimator", "parameter"), list(effects()))
def test_parameter(estimator, parameter, request):
    check = EFFECTS[estimator, parameter]
    fixtures = list(inspect.signature(check).parameters)[1:]
    check(estimator, **{name: request.getfixturevalue(name) for name in fixtures})
