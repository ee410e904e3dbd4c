"""What is searched for each ranker: parameters with ranges that hold on collections of a hundred to a million rows.

Rounds of boosted rankers are not searched: early stopping finds them in each trial.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from numbers import Real as RealNumber
from typing import Protocol, TypeAlias

from podium._validation import PodiumError

Value: TypeAlias = str | bool | int | float


class Suggests(Protocol):
    """What ranges need of a trial of Optuna."""

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float:
        """Return a number of an interval."""

    def suggest_int(self, name: str, low: int, high: int, *, log: bool = False) -> int:
        """Return an integer of a range."""

    def suggest_categorical(self, name: str, choices: tuple[Value, ...]) -> Value:
        """Return one of some values."""


@dataclass(frozen=True)
class Real:
    """Numbers from `low` to `high`, drawn evenly, or evenly in their logarithms if `log`."""

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        _check_range(self.low, self.high, self.log)

    def suggest(self, trial: Suggests, name: str) -> Value:
        """Return a value for a trial."""
        return trial.suggest_float(name, self.low, self.high, log=self.log)

    def __contains__(self, value: object) -> bool:
        return type(value) is not bool and isinstance(value, RealNumber) and self.low <= float(value) <= self.high

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}{', log' if self.log else ''}"


@dataclass(frozen=True)
class Whole:
    """Integers from `low` to `high`, drawn evenly, or evenly in their logarithms if `log`."""

    low: int
    high: int
    log: bool = False

    def __post_init__(self) -> None:
        _check_range(self.low, self.high, self.log)

    def suggest(self, trial: Suggests, name: str) -> Value:
        """Return a value for a trial."""
        return trial.suggest_int(name, self.low, self.high, log=self.log)

    def __contains__(self, value: object) -> bool:
        return type(value) is not bool and isinstance(value, Integral) and self.low <= int(value) <= self.high

    def __str__(self) -> str:
        return f"{self.low} to {self.high}, integers{', log' if self.log else ''}"


@dataclass(frozen=True)
class Choice:
    """One of some values."""

    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.values, tuple) or not self.values:
            raise PodiumError(f"A Choice needs a tuple of values, at least one; got {self.values!r}.")

    def suggest(self, trial: Suggests, name: str) -> Value:
        """Return a value for a trial."""
        return trial.suggest_categorical(name, self.values)

    def __contains__(self, value: object) -> bool:
        return value in self.values

    def __str__(self) -> str:
        return " or ".join(str(value) for value in self.values)


Range: TypeAlias = Real | Whole | Choice
Space: TypeAlias = Mapping[str, Range]
"""What may be tried, by the name of the parameter."""


def for_features(space: Space, n_features: int) -> Space:
    """Return a space in which no more features are asked for than there are."""
    own = space.get("n_neighbors")
    if not isinstance(own, Whole) or own.high <= n_features:
        return space
    fewer = Whole(own.low, n_features, own.log) if own.low < n_features else Choice((n_features,))
    return {**space, "n_neighbors": fewer}


def _check_range(low: float, high: float, log: bool) -> None:
    """Refuse a range without numbers."""
    if not low < high or (log and low <= 0):
        need = "0 < low < high" if log else "low < high"
        raise PodiumError(f"A range needs {need}; got {low!r} to {high!r}.")


_RATE = Real(0.02, 0.3, log=True)
_TREES: Space = {
    "learning_rate": _RATE,
    "max_leaves": Whole(4, 128, log=True),
    "min_child_samples": Whole(5, 200, log=True),
    "subsample": Real(0.4, 1.0),
    "colsample_bytree": Real(0.3, 1.0),
    "reg_lambda": Real(0.0, 20.0),
}
_STUMP_RATE = Real(0.1, 1.0, log=True)
_PAIR_WEIGHT = Choice(("pairs", "queries"))
_WEAK = Choice(("stump", "feature"))
_RESPONSES: Space = {
    "base": Choice(("linear", "stump", "tree")),
    "learning_rate": _RATE,
    "max_leaves": Whole(2, 32, log=True),
    "min_child_samples": Whole(2, 50, log=True),
}
_RANKING_TREE: Space = {
    "max_leaves": Whole(8, 128, log=True),
    "leafrank_depth": Whole(1, 8),
    "min_child_weight": Real(1.0, 100.0, log=True),
}
_REGION_DEPTH = Choice(("auto", 1, 2, 3, 5, 8))
_NET: Space = {
    "learning_rate": Real(3e-4, 0.03, log=True),
    "dropout": Real(0.0, 0.7),
    "batch_size": Whole(4, 64, log=True),
    "scale": Choice(("gauss", "log1p", "standard")),
}
_FOREST: Space = {
    "leafrank_depth": Whole(2, 16),
    "min_child_weight": Real(1.0, 50.0, log=True),
    "max_samples": Real(0.3, 1.0),
    "consensus": Choice(("mean", "median")),
}

SPACES: Mapping[str, Space] = {
    "LambdaMART": _TREES,
    "MART": _TREES,
    "RankBoost": {"learning_rate": _STUMP_RATE, "pair_weight": _PAIR_WEIGHT, "weak": _WEAK},
    "RankBoostPlus": {"max_bins": Whole(8, 255, log=True), "pair_weight": _PAIR_WEIGHT},
    "PNormPush": {"p": Real(1.0, 16.0, log=True), "learning_rate": _STUMP_RATE, "weak": _WEAK},
    "InfinitePush": {"alpha": Real(1e-5, 0.1, log=True)},
    "PairBoost": {"surrogate": Choice(("exp", "hinge")), **_RESPONSES},
    "L2Boost": _RESPONSES,
    "L1Boost": _RESPONSES,
    "GradientFreeBoost": {"learning_rate": Real(0.02, 1.0, log=True), "singular_every": Whole(2, 20, log=True)},
    "NearestNeighbor": {"n_neighbors": Whole(1, 50, log=True)},
    "LinearPlackettLuce": {"alpha": Real(1e-3, 1e3, log=True)},
    "RankSVM": {"C": Real(1e-4, 1e3, log=True), "pair_weight": _PAIR_WEIGHT},
    "RankRLS": {"alpha": Real(1e-4, 1e3, log=True), "pair_weight": _PAIR_WEIGHT},
    "PlugInRanker": {"C": Real(1e-3, 1e4, log=True)},
    "RSRank": {
        "alpha": Real(1e-4, 1.0, log=True),
        "importance": Choice(("gain", "ndcg", "none")),
        "delta": Real(0.1, 10.0, log=True),
    },
    "RankNet": _NET,
    "LambdaRank": _NET,
    "TreeRank": {**_RANKING_TREE, "leafrank_depth": _REGION_DEPTH},
    "RankOver": {**_RANKING_TREE, "leafrank_depth": _REGION_DEPTH},
    "CRank": _RANKING_TREE,
    "TreeRankForest": _FOREST,
    "TreeRankTournament": _FOREST,
    "ORBoost": {"variant": Choice(("all-margins", "left-right")), "learning_rate": _STUMP_RATE},
    "SVOR": {"C": Real(1e-2, 1e2, log=True), "kernel": Choice(("perceptron", "linear"))},
    "PRank": {"variant": Choice(("siprank", "prank")), "epochs": Whole(50, 5000, log=True)},
}
"""What `tune` searches, by the ranker's name."""
