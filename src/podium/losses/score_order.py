"""The rows of a query by score, from their order in the last round: few move, and most by a place or two.

Highest scores first, of equal ones the lower row number, as `podium.measures.sorting.sort_scores` has it.
"""

from __future__ import annotations

from podium._compiled import INDEX, linked_part
from podium._types import Array, Int

FEW_MOVES, SHORT = 12, 1000
"""Places that rows of a query may move on average, and rows that it may have, before they are sorted anew."""


@linked_part
def sort_again(
    n_sorted: int, start: int, n: int, values: Array, order: Array, sorted_out: Array, is_first: Array
) -> bool:
    """Sort as many of n rows as have the highest values, the others by number; False if sorting anew is quicker.

    Parameters
    ----------
    n_sorted : int
        Places to sort; n or more for all.
    start, n : int
        The query's first row, and its rows.
    values : float64
    order : int64
        The rows of each place, counted from the query's first: in the last round, so sorted, and now.
    sorted_out : float64[n]
    is_first : bool[n]
        Scratch.
    """
    if n_sorted < n:
        _sort_first(n_sorted, start, n, values, order, sorted_out, is_first)
        return True
    if n > SHORT:
        return False
    first, moves, most = INDEX(start), INDEX(0), INDEX(FEW_MOVES * n)
    for i in range(INDEX(n)):
        moves += INDEX(i) - _insert(order[first + i], i, first, values, order, sorted_out)
        if moves > most:
            return False
    return True


@linked_part
def _sort_first(
    n_sorted: int, start: int, n: int, values: Array, order: Array, sorted_out: Array, is_first: Array
) -> None:
    """Sort the highest values, the others by number: whatever the last order was, so that a row stays in most rounds.

    A row below the sorted places costs one comparison. Sorting all rows of queries of 120 took a quarter of λ's time.

    1. Insert the rows that were first in the last round, one after the other.
    2. Insert each other row that comes before the last of them, which drops out.
    3. If any did, number the others anew.
    """
    first, last, drops = INDEX(start), INDEX(n_sorted - 1), False
    for i in range(INDEX(n_sorted)):  # 1
        _insert(order[first + i], i, first, values, order, sorted_out)
    for i in range(INDEX(n_sorted), INDEX(n)):  # 2
        row = order[first + i]
        value = values[first + INDEX(row)]
        if value > sorted_out[last] or (value == sorted_out[last] and row < order[first + last]):
            _insert(row, last, first, values, order, sorted_out)
            drops = True
    if drops:  # 3
        for i in range(INDEX(n)):
            is_first[i] = False
        for i in range(INDEX(n_sorted)):
            is_first[order[first + i]] = True
        place = first + INDEX(n_sorted)
        for i in range(INDEX(n)):
            if not is_first[i]:
                order[place] = i
                place += INDEX(1)
    for i in range(INDEX(n_sorted), INDEX(n)):
        sorted_out[i] = values[first + INDEX(order[first + i])]


@linked_part
def _insert(row: Int, place: Int, first: Int, values: Array, order: Array, sorted_out: Array) -> Int:
    """Insert a row among those before a place, over what stands there; return where it stands now."""
    value, one = values[first + INDEX(row)], INDEX(1)
    place = INDEX(place)
    while place > 0:
        above, other = sorted_out[place - one], order[first + place - one]
        if above > value or (above == value and other < row):
            break
        sorted_out[place], order[first + place] = above, other
        place -= one
    sorted_out[place], order[first + place] = value, row
    return place
