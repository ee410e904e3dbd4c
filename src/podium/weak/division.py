"""Growth of a tree inside one kernel: partition of the rows, histograms, search of the best splits, leaf values.

Each division costs the histogram of the smaller child; the larger child's is the difference to their parent's.

One thread leads: it decides which leaf comes next, and lays out the work of a division as items, such as "sums and
splits of these sixteen features". Helpers take items while there are some, and look out for more. The leader takes
items too, so that no helper has to come. A thread that Python calls begins 100 to 200 µs later, as long as a small leaf
takes; one that looks out begins at once: so helpers are called once a tree.

Kernels take tuples of arrays:

- data: codes and words of the features, packed planes, gradient, curvature, used halves, ranges of halves and features;
- terms: of `search_splits`, from the layout to the limits;
- room: rows, spare rows, gathered planes, histograms;
- desk: counters, task, table, bounds, sizes, found: what threads tell one another;
- tree: leaves, their bounds, best splits, tables of sets and values; splits made and the ways to them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from podium._compiled import ROW, atomic_add, atomic_load, atomic_store, compiled, give_way, prefetch
from podium._validation import Array
from podium.binning import BLOCK
from podium.weak.histogram import BINS, fill_histograms, subtract_histograms
from podium.weak.split import fill_child_bounds, search_splits

START, STOP, SLOT, DEPTH, PARENT, ON_LEFT, LEAF_FIELDS = range(7)
"""Columns of the leaves: their rows, place of their histograms, depth, the split above and whether they are on its
left."""
LEFT, DONE, OVER, COUNTERS = 0, 8, 16, 24
"""Counters: items not taken yet, items done, whether the leader has left; each in a cache line of its own."""
KIND, N_ITEMS, NUMBER, FIRST, LAST, FEATURE, SMALLER, LARGER, CHILDREN, LEAST, SHARED, TASK_FIELDS = range(12)
"""The task: kind and number of items, which task it is, rows, feature to part by, places of histograms, number of
children, rows that a child must have to be searched, and rows from which threads share what is done row by row."""
PARTITION, GATHER, SEARCH, VALUES = range(4)
"""Kinds of items."""
LOOKS = 256
"""Looks for an item after which a helper gives way to others who want its processor: on a busy machine it would use up
its time by looking, and be stopped in the middle of an item."""
GROWN, STOPPED, FULL = range(3)
"""How a leader ends: no leaf is left to divide, as many divisions as allowed are done, more room is needed."""


@compiled
def lead(
    data: Any, terms: Any, room: Any, desk: Any, tree: Any, n_leaves: int, limits: Array, n_steps: int, n_helpers: int
) -> tuple[int, int, int]:
    """Divide the leaf of the largest gain, the first of equals, again and again; return how it ended.

    Parameters
    ----------
    data, terms, room, desk, tree : tuples of arrays
    n_leaves : int
        Leaves of the tree so far; 0 begins it, which counts as a step.
    limits : int64[3]
        Most leaves, most depth, least rows of a leaf that is searched.
    n_steps : int
        Divisions to make at most.
    n_helpers : int

    Returns
    -------
    end : int
        `GROWN`, `STOPPED` or `FULL`.
    n_leaves : int
    place : int
        The last leaf that was divided.
    """
    place, best = 0, np.empty(2)
    for _ in range(n_steps):
        if n_leaves == 0:
            _begin(data, terms, room, desk, tree, limits[2], best, n_helpers)
            n_leaves = 1
            continue
        chosen = _next_leaf(tree[2][:n_leaves]) if n_leaves < limits[0] else -1
        if chosen < 0:
            desk[1][KIND] = VALUES
            _share_out(n_leaves, data, terms, room, desk, tree, best, n_helpers)
            return GROWN, n_leaves, place
        searched = n_leaves + 1 < limits[0] and tree[0][chosen, DEPTH] + 1 < limits[1]
        if searched and n_leaves == len(room[3]):
            return FULL, n_leaves, place
        place = chosen
        _divide(data, terms, room, desk, tree, place, n_leaves, searched, limits[2], best, n_helpers)
        n_leaves += 1
    return STOPPED, n_leaves, place


@compiled
def help_leader(data: Any, terms: Any, room: Any, desk: Any, tree: Any) -> None:
    """Take items until the leader has left."""
    counters, task, best, number = desk[0], desk[1], np.empty(2), np.int64(-1)
    looks = 0
    while atomic_load(counters, OVER) == 0:
        looks += 1
        if looks % LOOKS == 0:
            give_way()
        if atomic_load(counters, LEFT) > 0:
            left = atomic_add(counters, LEFT, -1)
            if left > 0:  # the task stays as it is until this item is done
                if task[NUMBER] != number:
                    number = task[NUMBER]
                    best[0] = best[1] = -1.0
                _do_item(task[N_ITEMS] - left, data, terms, room, desk, tree, best)
                atomic_add(counters, DONE, 1)


@compiled
def _share_out(
    n_items: int, data: Any, terms: Any, room: Any, desk: Any, tree: Any, best: Array, n_helpers: int
) -> None:
    """Do all items of the task, with the helpers that are there."""
    counters, task = desk[0], desk[1]
    best[0] = best[1] = -1.0
    if n_helpers == 0 or n_items == 1:
        for item in range(n_items):
            _do_item(item, data, terms, room, desk, tree, best)
        return
    task[N_ITEMS] = n_items
    task[NUMBER] += 1
    atomic_store(counters, DONE, 0)
    atomic_store(counters, LEFT, n_items)
    left = atomic_add(counters, LEFT, -1)
    while left > 0:
        _do_item(n_items - left, data, terms, room, desk, tree, best)
        atomic_add(counters, DONE, 1)
        left = atomic_add(counters, LEFT, -1)
    while atomic_load(counters, DONE) < n_items:
        give_way()


@compiled
def _do_item(item: int, data: Any, terms: Any, room: Any, desk: Any, tree: Any, best: Array) -> None:
    """Do one item of the task."""
    task = desk[1]
    if task[KIND] == PARTITION:
        first, last = _chunk(task, desk[4], item)
        block, column = task[FEATURE] // BLOCK, task[FEATURE] % BLOCK
        desk[4][item] = _partition_rows(data[0][block], column, desk[2], room[0][first:last], room[1][first:last])
    elif task[KIND] == GATHER:
        first, last = _chunk(task, desk[4], item)
        for plane in range(len(data[2])):
            _gather(data[2][plane], room[0][first:last], room[2][plane, first:last])
    elif task[KIND] == SEARCH:
        _search_range(item, data, terms, room, desk, best)
    else:
        tree[4][item] = _leaf_value(item, data, terms, room, tree)


@compiled
def _begin(data: Any, terms: Any, room: Any, desk: Any, tree: Any, least: int, best: Array, n_helpers: int) -> None:
    """Make the first leaf and find its best split."""
    leaves, bounds, splits = tree[0], tree[1], tree[2]
    n_rows = len(room[0])
    leaves[0, START], leaves[0, STOP], leaves[0, SLOT], leaves[0, DEPTH] = 0, n_rows, 0, 0
    leaves[0, PARENT], leaves[0, ON_LEFT] = -1, 0
    bounds[0, 0], bounds[0, 1] = -np.inf, np.inf
    splits[0, 0] = -1.0
    if n_rows >= least:
        task = desk[1]
        task[SMALLER], task[CHILDREN], task[LEAST] = 0, 1, least
        _search(0, n_rows, data, terms, room, desk, tree, best, n_helpers)
        _take_best(desk[5], len(data[6]), 0, splits[0])


@compiled
def _divide(
    data: Any,
    terms: Any,
    room: Any,
    desk: Any,
    tree: Any,
    place: int,
    n_leaves: int,
    searched: bool,
    least: int,
    best: Array,
    n_helpers: int,
) -> None:
    """Divide a leaf: its left child takes its place, its right one that after all others; find their best splits."""
    leaves, bounds, splits = tree[0], tree[1], tree[2]
    number, right = n_leaves - 1, n_leaves
    _copy(splits[place], tree[5][number])
    tree[6][number, 0], tree[6][number, 1] = leaves[place, PARENT], leaves[place, ON_LEFT]
    start, stop = leaves[place, START], leaves[place, STOP]
    middle = start + _part_rows(start, stop, data, terms, room, desk, tree, place, best, n_helpers)
    leaves[place, PARENT], leaves[place, ON_LEFT] = number, 1
    leaves[place, DEPTH] += 1
    _copy(leaves[place], leaves[right])
    leaves[right, ON_LEFT] = 0
    leaves[place, STOP] = leaves[right, START] = middle
    monotone = terms[4]
    direction = np.int64(monotone[np.int64(splits[place, 1])]) if len(monotone) > 0 else 0
    _copy(bounds[place], bounds[right])
    fill_child_bounds(splits[place], direction, terms[5][2], bounds[place], bounds[right])
    splits[place, 0] = splits[right, 0] = -1.0
    smaller, larger = (place, right) if middle - start < stop - middle else (right, place)
    if searched and leaves[larger, STOP] - leaves[larger, START] >= least:
        leaves[smaller, SLOT] = n_leaves  # the larger child keeps the place of its parent's histograms
        task, both = desk[1], desk[3]
        task[SMALLER], task[LARGER], task[CHILDREN], task[LEAST] = n_leaves, leaves[larger, SLOT], 2, least
        _copy(bounds[smaller], both[0])
        _copy(bounds[larger], both[1])
        _search(leaves[smaller, START], leaves[smaller, STOP], data, terms, room, desk, tree, best, n_helpers)
        _take_best(desk[5], len(data[6]), 0, splits[smaller])
        _take_best(desk[5], len(data[6]), 1, splits[larger])


@compiled
def _next_leaf(splits: Array) -> int:
    """Return the leaf of the largest gain above 0, the first of equals; -1 if there is none."""
    chosen, largest = -1, 0.0
    for place in range(len(splits)):
        if splits[place, 0] > largest:
            chosen, largest = place, splits[place, 0]
    return chosen


@compiled
def _copy(source: Array, out: Array) -> None:
    """Do ``out[:] = source``, without the text of an error about shapes, which would take 2 s to compile."""
    for i in range(len(source)):
        out[i] = source[i]


@compiled
def _chunk(task: Array, sizes: Array, item: int) -> tuple[int, int]:
    """Return the rows of one of as many equal parts of the task's rows as there are sizes."""
    n_rows = task[LAST] - task[FIRST]
    return task[FIRST] + n_rows * item // len(sizes), task[FIRST] + n_rows * (item + 1) // len(sizes)


@compiled
def _part_rows(
    start: int,
    stop: int,
    data: Any,
    terms: Any,
    room: Any,
    desk: Any,
    tree: Any,
    place: int,
    best: Array,
    n_helpers: int,
) -> int:
    """Order a leaf's rows, those that go left first; return how many these are."""
    rows, spare, task, sizes = room[0], room[1], desk[1], desk[4]
    feature = np.int64(tree[2][place, 1])
    _fill_table(tree[2][place], tree[3][min(place, len(tree[3]) - 1)], desk[2])
    task[KIND], task[FIRST], task[LAST], task[FEATURE] = PARTITION, start, stop, feature
    if n_helpers > 0 and stop - start >= task[SHARED]:
        _share_out(len(sizes), data, terms, room, desk, tree, best, n_helpers)
        return int(_join_chunks(task, sizes, rows, spare))
    codes = data[0][feature // BLOCK]
    n_left = _partition_rows(codes, feature % BLOCK, desk[2], rows[start:stop], spare[start:stop])
    for i in range(stop - start - n_left):
        rows[start + n_left + i] = spare[start + i]
    return int(n_left)


@compiled
def _fill_table(split: Array, by_set: Array, table_out: Array) -> None:
    """Write for each code whether its rows go left."""
    for code in range(BINS):
        table_out[code] = by_set[code] if split[2] < 0.0 else code <= split[2]
    table_out[0] = split[3] > 0.0


@compiled
def _partition_rows(codes: Array, column: int, table: Array, rows: Array, spare_out: Array) -> int:
    """Leave the rows that go left at the start of `rows`, the others in `spare_out`; return how many go left.

    Slow line: ``left = table[codes[rows, column]]``; each row is written to both places, without a branch.
    """
    flat, ahead = codes.reshape(-1), len(rows) - 1
    n_left, n_right = ROW(0), ROW(0)
    for i in range(len(rows)):
        prefetch(flat, np.int64(rows[min(i + 24, ahead)]) * BLOCK)
        row = rows[i]
        left = table[codes[row, column]]
        rows[n_left] = row
        spare_out[n_right] = row
        n_left += left
        n_right += not left
    return int(n_left)


@compiled
def _join_chunks(task: Array, sizes: Array, rows: Array, spare: Array) -> int:
    """Join the left rows, then the right rows, of parts that were partitioned apart; return the number of the left."""
    place = task[FIRST]
    for item in range(len(sizes)):
        first, _ = _chunk(task, sizes, item)
        for i in range(sizes[item]):
            rows[place + i] = rows[first + i]
        place += sizes[item]
    n_left = place - task[FIRST]
    for item in range(len(sizes)):
        first, last = _chunk(task, sizes, item)
        n_right = last - first - sizes[item]
        for i in range(n_right):
            rows[place + i] = spare[first + i]
        place += n_right
    return int(n_left)


@compiled
def _gather(plane: Array, rows: Array, values_out: Array) -> None:
    """Do ``values_out[:] = plane[rows]``."""
    for i in range(len(rows)):
        values_out[i] = plane[rows[i]]


@compiled
def _search(
    first: int, last: int, data: Any, terms: Any, room: Any, desk: Any, tree: Any, best: Array, n_helpers: int
) -> None:
    """Find the best splits of one leaf, or of two whose histograms add up to their parent's."""
    task, sizes = desk[1], desk[4]
    task[KIND], task[FIRST], task[LAST] = GATHER, first, last
    if n_helpers > 0 and last - first >= task[SHARED]:
        _share_out(len(sizes), data, terms, room, desk, tree, best, n_helpers)
    else:
        for plane in range(len(data[2])):
            _gather(data[2][plane], room[0][first:last], room[2][plane, first:last])
    task[KIND] = SEARCH
    _share_out(len(data[6]), data, terms, room, desk, tree, best, n_helpers)


@compiled
def _search_range(item: int, data: Any, terms: Any, room: Any, desk: Any, best: Array) -> None:
    """Do some halves of blocks: histograms of the smaller child, of the larger, and both searches.

    Only splits better than the best that this thread has found in lower features are written.
    """
    words, used, ranges, features, task, found = data[1], data[5], data[6], data[7], desk[1], desk[5][item]
    layout, units, n_bins, first_cut, monotone, limits = terms
    first, last, n_children = task[FIRST], task[LAST], task[CHILDREN]
    start, stop = ranges[item, 0], ranges[item, 1]
    smaller, larger = room[3][task[SMALLER]], room[3][task[LARGER]]
    for plane in range(len(data[2])):
        values = room[2][plane, first:last]
        fill_histograms(words, used, room[0][first:last], values, start, stop, smaller[plane])
        if n_children == 2:
            subtract_histograms(smaller[plane], used, start, stop, larger[plane])
    own = features[ranges[item, 2] : ranges[item, 3]]
    for child in range(n_children):
        found[child, 0], found[child, 1] = best[child], -1.0
        if child == 1 or last - first >= task[LEAST]:
            histogram = smaller if child == 0 else larger
            search_splits(
                histogram, layout, units, own, n_bins, first_cut, monotone, limits, desk[3][child], found[child]
            )  # fmt: skip
            best[child] = found[child, 0]


@compiled
def _take_best(found: Array, n_items: int, child: int, split_out: Array) -> None:
    """Write the split of the largest gain, of equals that of the first features."""
    for item in range(n_items):
        if found[item, child, 1] >= 0.0 and found[item, child, 0] > split_out[0]:
            _copy(found[item, child], split_out)


@compiled
def _leaf_value(leaf: int, data: Any, terms: Any, room: Any, tree: Any) -> float:
    """Return Newton's value ``-gradient[own].sum() / (curvature[own].sum() + λ)``, within the leaf's bounds."""
    gradient, curvature, ridge, g, h = data[3], data[4], terms[5][2], 0.0, 0.0
    for row in room[0][tree[0][leaf, START] : tree[0][leaf, STOP]]:
        g += gradient[row]
        h += curvature[row]
    value = -g / (h + ridge) if h + ridge > 0.0 else 0.0
    return float(min(max(value, tree[1][leaf, 0]), tree[1][leaf, 1]))
