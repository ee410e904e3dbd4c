"""The rules that tools differ in, and the named sets of them: what reproduces whose numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from podium._validation import Array, PodiumError, check_choice
from podium.measures.ties import tie_rule

Gain: TypeAlias = str | Mapping[float, float] | Callable[[Array], ArrayLike]
Empty: TypeAlias = Literal["skip", 0, 1]
Relevant: TypeAlias = float | Literal["top"] | None

DIVIDE_BY_REACHABLE, DIVIDE_BY_RELEVANT = 0, 1
DIVIDE_BY_K, DIVIDE_BY_ROWS = 0, 1
SHORT_AS_IS, SHORT_IS_ZERO = 0, 1


@dataclass(frozen=True)
class Rules:
    """How a measure treats what tools treat differently.

    Attributes
    ----------
    ties : str
        "expected", "stable", "optimistic" or "pessimistic".
    empty : {"skip", 0, 1}
        Value of a query in which the measure has nothing to go by; "skip" leaves it out of the mean.
    gain : "exp2", "linear", mapping or callable
        Gain of a label in DCG and NDCG: 2^(y − o) − 1, y − o with the query's origin o (see `negative`), or given.
    relevant : float, "top" or None
        Labels from here on are relevant; "top": the highest label of each query, if it has another one too;
        None: labels above 0.
    good : float or "top"
        The same for PROT and coverage, which no convention changes: "top" unless `relevant` was given.
    max_grade : float, optional
        Highest possible label in ERR; None: the highest label of the data.
    sigma : float
        Steepness σ of RankNet's cost.
    negative : {"origin", "zero", "refuse"}
        What labels below 0 mean to DCG, NDCG and ERR: the origin o of a query is its lowest label, where that is
        below 0; or they gain nothing; or they are refused. Labels of 0 and more have the origin 0 in any case.
    average_precision : int
        What AP@k divides by: min(relevant, k) or all relevant rows.
    precision : int
        What P@k divides by: k, or min(k, rows).
    short : int
        NDCG@k of a query with fewer than k rows: as it is, or zero.
    discount_shift : int
        DCG discounts place i by log2(i + shift), and by no less than 1: 1, or 0, where places 1 and 2 count alike.
    empty_of : mapping
        `empty` of single measures, by base name, where it is another.
    not_reproduced : tuple of str
        Measures, by base name, that the tool computes by other rules than these can say.
    """

    ties: str = "expected"
    empty: Empty = "skip"
    gain: Gain = "exp2"
    relevant: Relevant = None
    good: Relevant = "top"
    max_grade: float | None = None
    sigma: float = 1.0
    negative: Literal["origin", "zero", "refuse"] = "origin"
    average_precision: int = DIVIDE_BY_REACHABLE
    precision: int = DIVIDE_BY_K
    short: int = SHORT_AS_IS
    discount_shift: int = 1
    empty_of: Mapping[str, Empty] = field(default_factory=lambda: MappingProxyType({}))
    not_reproduced: tuple[str, ...] = ()

    def with_options(self, **options: Any) -> Rules:
        """Copy in which the options that are not None replace the convention's."""
        given = {name: value for name, value in options.items() if value is not None}
        if "empty" in given:
            given["empty_of"] = MappingProxyType({})
        if "relevant" in given:
            given["good"] = given["relevant"]
        rules = replace(self, **given)
        tie_rule(rules.ties)
        _check_empty(rules.empty)
        _check_gain(rules.gain)
        if not (isinstance(rules.relevant, str) and rules.relevant == "top"):
            _check_number("relevant", rules.relevant, 'a finite number or "top"')
        _check_number("max_grade", rules.max_grade)
        _check_number("sigma", rules.sigma, "a finite number above 0", above=0.0)
        return rules


def _check_empty(empty: object) -> None:
    """Refuse anything but "skip", 0 and 1."""
    if isinstance(empty, str) and empty == "skip":
        return
    if isinstance(empty, bool) or not isinstance(empty, Real) or empty not in (0, 1):
        raise PodiumError(f'empty must be "skip", 0 or 1; got {empty!r}.')


def _check_gain(gain: object) -> None:
    """Refuse what is neither a known name nor a mapping nor a function."""
    if not (gain in ("exp2", "linear") if isinstance(gain, str) else isinstance(gain, Mapping) or callable(gain)):
        raise PodiumError(f'gain must be "exp2", "linear", a mapping from labels to gains or a function; got {gain!r}.')


def _check_number(name: str, value: object, what: str = "a finite number", above: float = -np.inf) -> None:
    """Refuse what is neither None nor a finite number above a bound."""
    if value is None or (isinstance(value, int | float | np.number) and np.isfinite(value) and value > above):
        return
    raise PodiumError(f"{name} must be {what}; got {value!r}.")


CONVENTIONS: Mapping[str, Rules] = MappingProxyType(
    {
        "podium": Rules(),
        # trec_eval breaks ties by document name, descending: give the rows in that order.
        "trec": Rules("stable", 0, "linear", relevant=1.0, average_precision=DIVIDE_BY_RELEVANT, negative="zero"),
        # Of labels below 0, LightGBM, XGBoost, RankLib and scikit-learn's NDCG refuse the data; CatBoost and
        # scikit-learn's DCG let them cost, so that their NDCG may leave [0, 1]: refused here too.
        "sklearn": Rules("expected", 0, "linear", negative="refuse"),
        "lightgbm": Rules("stable", 1, "exp2", relevant=np.nextafter(0.5, 1.0), negative="refuse"),
        "xgboost": Rules(
            "stable",
            1,
            "exp2",
            precision=DIVIDE_BY_ROWS,
            negative="refuse",
            empty_of=MappingProxyType({"p": 0}),
        ),
        "catboost": Rules(
            "pessimistic",
            0,
            "linear",
            relevant=np.nextafter(0.5, 1.0),
            precision=DIVIDE_BY_ROWS,
            negative="refuse",
            empty_of=MappingProxyType({"ndcg": 1, "recall": 1}),
            not_reproduced=("err",),  # its ERR takes the labels themselves as stop probabilities
        ),
        "ranklib": Rules(
            "stable",
            0,
            "exp2",
            average_precision=DIVIDE_BY_RELEVANT,
            precision=DIVIDE_BY_ROWS,
            negative="refuse",
        ),
        "letor": Rules(
            "stable",
            0,
            "exp2",
            average_precision=DIVIDE_BY_RELEVANT,
            short=SHORT_IS_ZERO,
            discount_shift=0,
            negative="refuse",
        ),
    }
)
"""Rules that reproduce the numbers of each tool on rows in the tool's order."""


def convention_rules(name: str) -> Rules:
    """Rules of a convention, or the sentence that names the near ones."""
    return CONVENTIONS[check_choice(name, CONVENTIONS, "convention")]
