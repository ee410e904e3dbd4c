"""A measure as a record, and the one loop over queries that all of them share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numba import types

from podium._compiled import ROW, SCORE, as_argument, compiled_for
from podium._magnitudes import LARGEST
from podium._validation import Array, PodiumError
from podium.measures.conventions import Rules
from podium.measures.sorting import by_query_threads
from podium.measures.ties import Ranking

Kernel: TypeAlias = Callable[..., Any]


class Rows(NamedTuple):
    """What a kernel sees of the rows: values in rank order, in the best order, and the places of that."""

    values: Array
    best: Array
    best_places: Array


RowValues: TypeAlias = Callable[[Ranking, Rules], Rows]


def labels_and_best(ranking: Ranking, rules: Rules) -> Rows:
    """Labels as they are."""
    return Rows(ranking.labels, ranking.best, ranking.best_places)


def values_alone(ranking: Ranking, values: Array) -> Rows:
    """Rows of a kernel that looks at no best order, which then is not made."""
    return Rows(values, values, ranking.order)


def two_labels(rules: Rules) -> str:
    """What measures of order need."""
    return "two different labels"


def no_rule(rules: Rules) -> int:
    """Most measures have one form only."""
    return 0


@dataclass(frozen=True)
class Definition:
    """What a measure is, without its k.

    Attributes
    ----------
    name : str
        Base name, as in "ndcg".
    about : str
        One line for the table of names.
    kernel : compiled function
        ``float64(values, best, places, ends, k, depth, rule, table)`` of one query, see `_measure_queries`;
        NaN where the query is empty.
    row_values : function
        The `Rows` that the kernel sees, from a `Ranking` and `Rules`.
    takes_k : {"no", "may", "must"}
        Whether the name carries "@k".
    higher_is_better : bool
        Direction.
    weight : compiled function, optional
        Kernel of the weight a query has in the mean; None: every query alike.
    ties : str, optional
        The tie rule, where the measure has its own.
    uses : frozenset of str
        Options among "gain", "relevant", "max_grade", "sigma" and "depths" that change it.
    rule : function
        The code, from the `Rules`, of the form that the kernel takes.
    check : function, optional
        Called with the `Ranking` and the `Rules`; raises when the measure cannot be taken.
    needs : function
        What a query must have for the measure to be defined, in words, from the `Rules`.
    by_order : bool
        Whether only the order of the scores matters, ties included; False where their values do.
    graded_kernel : compiled function, optional
        Does the same where all labels are grades, in less code.
    """

    name: str
    about: str
    kernel: Kernel
    row_values: RowValues = labels_and_best
    takes_k: Literal["no", "may", "must"] = "no"
    higher_is_better: bool = True
    weight: Kernel | None = None
    ties: str | None = None
    uses: frozenset[str] = frozenset()
    rule: Callable[[Rules], int] = no_rule
    check: Callable[[Ranking, Rules], None] | None = None
    needs: Callable[[Rules], str] = two_labels
    by_order: bool = True
    graded_kernel: Kernel | None = None


@dataclass(frozen=True)
class Measure:
    """A measure with its k; ``parse_measure(str(measure)) == measure``."""

    definition: Definition
    k: int | None = None

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """Name as it is parsed, such as "ndcg@10"."""
        return self.definition.name if self.k is None else f"{self.definition.name}@{self.k}"

    @property
    def higher_is_better(self) -> bool:
        """Whether a better ranking has the higher value."""
        return self.definition.higher_is_better

    def __repr__(self) -> str:
        return f"Measure({self.name!r})"


@dataclass(frozen=True)
class QueryValues:
    """A measure's value for each query.

    Attributes
    ----------
    values : float64[Q]
        Values; NaN for an empty query that is skipped.
    weights : float64[Q]
        Weight of each query in the mean.
    empty : bool[Q]
        Queries in which the measure has nothing to go by.
    lacking : str
        What every query lacks, where all of them are empty; else nothing.
    """

    values: Array
    weights: Array
    empty: Array
    lacking: str = ""

    @property
    def mean(self) -> float:
        """Weighted mean over the queries that have a value; NaN when none has."""
        return weighted_mean(self.values, self.weights)


def weighted_mean(values: Array, weights: Array) -> float:
    """Mean of the values that are not NaN, by exact summation, so that no order of queries changes it."""
    known = ~np.isnan(values)
    total = math.fsum(weights[known])
    return math.fsum(values[known] * weights[known]) / total if total > 0 else math.nan


def measure_ranking(measure: Measure, ranking: Ranking, rules: Rules, depths: Array | None = None) -> QueryValues:
    """Value of the measure for each query of a ranking made under the measure's tie rule.

    Parameters
    ----------
    measure : Measure
        What to compute.
    ranking : Ranking
        Rows in rank order.
    rules : Rules
        Resolved options.
    depths : int64[Q], optional
        Rows of each query that were retrieved: those after them count among the relevant but earn nothing.
    """
    definition = measure.definition
    if definition.name in rules.not_reproduced:
        raise PodiumError(
            f"{measure} is not reproduced under this convention (catboost has rules of its own for it); use another."
        )
    if definition.check is not None:
        definition.check(ranking, rules)
    kernel = definition.graded_kernel if ranking.has_grades else None
    values = _by_query(kernel or definition.kernel, measure, ranking, rules, depths)
    weights = np.ones_like(values)
    if definition.weight is not None:
        weights = _by_query(definition.weight, measure, ranking, rules, None)
    empty = np.isnan(values)
    if (np.abs(values) > LARGEST).any():
        advice = 'consider gain="linear"' if rules.gain == "exp2" else "consider smaller ones"
        raise PodiumError(f"{measure} overflows with these labels; {advice}.")
    fill = rules.empty_of.get(definition.name, rules.empty)
    if fill != "skip":
        values[empty] = fill
    return QueryValues(values, weights, empty, definition.needs(rules) if empty.all() else "")


def _by_query(kernel: Kernel, measure: Measure, ranking: Ranking, rules: Rules, depths: Array | None) -> Array:
    """Run one kernel over all queries."""
    out = np.empty(len(ranking.offsets) - 1, SCORE)
    rows = measure.definition.row_values(ranking, rules)
    depths = ranking.sizes if depths is None else np.ascontiguousarray(depths, ROW)
    rule = measure.definition.rule(rules)
    table = discounts(int(ranking.sizes.max(initial=1)), rules.discount_shift)
    inputs = (*rows, ranking.offsets, ranking.ends, ranking.n_blocks, depths)
    by_address = as_argument(kernel, _kernel_type())
    by_query_threads(
        _query_loop(), ranking.offsets, ranking.n_threads, by_address, *inputs, measure.k or 0, rule, table, out
    )
    return out


def discounts(n: int, shift: int = 1) -> Array:
    """1/log2(i + shift) for the places i = 1, 2, …, at least n of them; none above 1."""
    return _discounts(max(1024, 1 << (n - 1).bit_length()), shift)


@lru_cache(maxsize=4)
def _discounts(n: int, shift: int) -> Array:
    """Keep the tables: a million logarithms take as long as a million rows' DCG."""
    table: Array = 1.0 / np.log2(np.maximum(np.arange(1.0, n + 1.0) + shift, 2.0))
    table.setflags(write=False)
    return table


TABLE = types.Array(types.float64, 1, "C", readonly=True)
"""Type of the table of discounts."""


@lru_cache(maxsize=1)
def _query_loop() -> Any:
    """Compile the loop when first asked for, never at import.

    The explicit signature with a first-class function type is what lets one compiled loop take any kernel and
    lets numba find both in its cache; a closure over the kernel would be compiled in every new process.
    """
    floats, rows, whole = types.float64[::1], types.int64[::1], types.int64
    inputs = (floats, floats, rows, rows, rows, rows, rows, whole, whole, TABLE, floats, whole, whole)
    return compiled_for(types.void(_kernel_type(), *inputs), _measure_queries)


@lru_cache(maxsize=1)
def _kernel_type() -> types.FunctionType:
    """Type of the kernel of a measure."""
    floats, rows, whole = types.float64[::1], types.int64[::1], types.int64
    return types.FunctionType(types.float64(floats, floats, rows, rows, whole, whole, whole, TABLE))


def _measure_queries(
    kernel: Kernel,
    values: Array,
    best: Array,
    places: Array,
    offsets: Array,
    ends: Array,
    n_blocks: Array,
    depths: Array,
    k: int,
    rule: int,
    table: Array,
    out: Array,
    first: int,
    last: int,
) -> None:
    """Fill ``out[q]`` with the kernel's value of query q; k = 0 stands for the query's length.

    A kernel takes the query's `Rows`, its block ends, k, the number of rows retrieved, the code of the form
    it should take, and the table of discounts.
    """
    for query in range(first, last):
        start, stop = offsets[query], offsets[query + 1]
        blocks = ends[start : start + n_blocks[query]]
        rows = slice(start, stop)
        out[query] = kernel(
            values[rows],
            best[rows],
            places[rows],
            blocks,
            k if k > 0 else stop - start,
            depths[query],
            rule,
            table,
        )
