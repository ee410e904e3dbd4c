"""The rules that tools differ in, and the named sets of them: what reproduces whose numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from numbers import Real
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np

from podium._validation import PodiumError
from podium.measures.ties import Array, tie_rule

Gain: TypeAlias = str | Mapping[float, float] | Callable[[Array], Any]
Empty: TypeAlias = Literal["skip", 0, 1]

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
        Gain of a label in DCG and NDCG: 2^y − 1, max(y, 0), or given.
    relevant : float, optional
        Labels from here on are relevant; None: labels above 0.
    max_grade : float, optional
        Highest possible label in ERR; None: the highest label of the data.
    average_precision : int
        What AP@k divides by: min(relevant, k) or all relevant rows.
    precision : int
        What P@k divides by: k, or min(k, rows).
    short : int
        NDCG@k of a query with fewer than k rows: as it is, or zero.
    empty_of : mapping
        `empty` of single measures, by base name, where it is another.
    not_reproduced : tuple of str
        Measures, by base name, that the tool computes by other rules than these can say.
    """

    ties: str = "expected"
    empty: Empty = "skip"
    gain: Gain = "exp2"
    relevant: float | None = None
    max_grade: float | None = None
    average_precision: int = DIVIDE_BY_REACHABLE
    precision: int = DIVIDE_BY_K
    short: int = SHORT_AS_IS
    empty_of: Mapping[str, Empty] = field(default_factory=lambda: MappingProxyType({}))
    not_reproduced: tuple[str, ...] = ()

    def with_options(self, **options: Any) -> Rules:
        """Copy in which the options that are not None replace the convention's."""
        given = {name: value for name, value in options.items() if value is not None}
        if "empty" in given:
            given["empty_of"] = MappingProxyType({})
        rules = replace(self, **given)
        tie_rule(rules.ties)
        _check_empty(rules.empty)
        _check_gain(rules.gain)
        _check_number("relevant", rules.relevant)
        _check_number("max_grade", rules.max_grade)
        return rules


def _check_empty(empty: Any) -> None:
    """Refuse anything but "skip", 0 and 1."""
    if isinstance(empty, str) and empty == "skip":
        return
    if isinstance(empty, bool) or not isinstance(empty, Real) or empty not in (0, 1):
        raise PodiumError(f'empty must be "skip", 0 or 1; got {empty!r}.')


def _check_gain(gain: Any) -> None:
    """Refuse what is neither a known name nor a mapping nor a function."""
    if not (gain in ("exp2", "linear") if isinstance(gain, str) else isinstance(gain, Mapping) or callable(gain)):
        raise PodiumError(f'gain must be "exp2", "linear", a mapping from labels to gains or a function; got {gain!r}.')


def _check_number(name: str, value: Any) -> None:
    """Refuse what is neither None nor a finite number."""
    if value is not None and not (isinstance(value, int | float | np.number) and np.isfinite(value)):
        raise PodiumError(f"{name} must be a finite number; got {value!r}.")


CONVENTIONS: Mapping[str, Rules] = MappingProxyType(
    {
        "podium": Rules(),
        # trec_eval breaks ties by document name, descending: give the rows in that order.
        "trec": Rules("stable", 0, "linear", relevant=1.0, average_precision=DIVIDE_BY_RELEVANT),
        "sklearn": Rules("expected", 0, "linear"),
        "lightgbm": Rules("stable", 1, "exp2", relevant=np.nextafter(0.5, 1.0)),
        "xgboost": Rules("stable", 1, "exp2", precision=DIVIDE_BY_ROWS, empty_of=MappingProxyType({"p": 0})),
        "catboost": Rules(
            "pessimistic",
            0,
            "linear",
            relevant=np.nextafter(0.5, 1.0),
            precision=DIVIDE_BY_ROWS,
            empty_of=MappingProxyType({"ndcg": 1, "recall": 1}),
            not_reproduced=("err",),  # its ERR takes the labels themselves as stop probabilities
        ),
        "ranklib": Rules("stable", 0, "exp2", average_precision=DIVIDE_BY_RELEVANT, precision=DIVIDE_BY_ROWS),
        "letor": Rules("stable", 0, "exp2", average_precision=DIVIDE_BY_RELEVANT, short=SHORT_IS_ZERO),
    }
)
"""Rules that reproduce the numbers of each tool on rows in the tool's order."""


def convention_rules(name: str) -> Rules:
    """Rules of a convention, or the sentence that names the near ones."""
    rules = CONVENTIONS.get(name) if isinstance(name, str) else None
    if rules is None:
        near = get_close_matches(str(name).lower(), CONVENTIONS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise PodiumError(f"convention must be one of {', '.join(CONVENTIONS)}; got {name!r}.{hint}")
    return rules
