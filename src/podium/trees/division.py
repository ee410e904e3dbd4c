"""Growth of a tree inside one kernel: partition of the rows, histograms, search of the best splits, leaf values.

Each division costs the histogram of the smaller child; the larger child's is the difference to their parent's.

One thread leads: it decides what comes next, and lays it out as a task of some items, such as "sums and splits of these
sixty-four features". Helpers take items while there are some, and look out for more. The leader takes items too, so
that no helper has to come. A thread that Python calls begins 100 to 200 µs later, as long as a small leaf takes; one
that looks out begins at once: so helpers are called once a tree (with categories once a division, and on large data
once a second, so that Ctrl-C is heard).

Items allocate nothing: scratch is allocated before the first one. Should a helper fail even so, its item is never done;
whoever calls it then sets OVER, and all leave.

Kernels take tuples of arrays:

- data: codes of the features, in blocks and in lines, packed planes, gradient, curvature, used words, ranges of words
  and features;
- terms: of `search_splits`, from the layout to the limits;
- room: rows, spare rows, gathered planes, histograms;
- desk: counters, task, table, bounds, sizes, found: what threads tell one another;
- tree: leaves, their bounds, best splits, tables of sets and values; splits made and the ways to them.

Calls are few levels deep on purpose: what a kernel calls is compiled again with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from podium._compiled import ROW, atomic_add, atomic_load, atomic_store, compiled, compiled_part, give_way, prefetch
from podium._validation import Array
from podium.binning import BLOCK
from podium.trees.histogram import BINS, FETCHED, fill_histograms, subtract_histograms
from podium.trees.split import fill_child_bounds, search_splits

START, STOP, SLOT, DEPTH, PARENT, ON_LEFT, LEAF_FIELDS = range(7)
"""Columns of the leaves: their rows, place of their histograms, depth, the split above and whether they are on its
left."""
REMAINING, DONE, OVER, COUNTERS = 0, 8, 16, 24
"""Counters: items not taken yet, items done, whether the leader has left or a helper has failed; each in a cache line
of its own."""
NOTHING, PARTITION, GATHER, SEARCH, VALUES = range(5)
"""Kinds of tasks."""
KIND, N_ITEMS, NUMBER, FIRST, LAST, FEATURE, MIDDLE, SMALLER, LARGER, N_LEAVES, PLACE, STEPS, END = range(13)
"""The task: its kind, number of items, and which task it is; its rows; the feature to part by, and where the right
rows begin; the leaves searched, the larger one -1 for the root. Then the tree: its leaves, the leaf that was divided
last, how many steps are left, and how the growth has ended."""
MAX_LEAVES, MAX_DEPTH, LEAST, SHARED, TASK_FIELDS = range(13, 18)
"""What the tree may become: leaves, depth, rows that a leaf must have to be searched; and the rows from which threads
share what is done row by row."""
GROWN, STOPPED, FULL = range(3)
"""How a growth ends: no leaf is left to divide, as many steps as allowed are done, more room is needed."""
LOOKS = 256
"""Looks for an item after which a helper gives way to others who want its processor: on a busy machine it would use up
its time by looking, and be stopped in the middle of an item."""


@compiled
def lead(data: Any, terms: Any, room: Any, desk: Any, tree: Any, n_helpers: int) -> None:
    """Divide the leaf of the largest gain, the first of equals, again and again, until the task says how it ended."""
    counters, task, best = desk[0], desk[1], np.empty(2)
    fetched, sums = np.empty(FETCHED, np.uint64), np.empty((2, BINS), np.uint64)
    n_items = _next_task(data, terms, room, desk, tree)
    while n_items > 0:
        best[0] = best[1] = -1.0
        shared = n_helpers > 0 and n_items > 1
        remaining = n_items
        if shared:
            task[NUMBER] += 1
            atomic_store(counters, DONE, 0)
            atomic_store(counters, REMAINING, n_items)
            remaining = atomic_add(counters, REMAINING, -1)
        while remaining > 0:
            _do_item(n_items - remaining, data, terms, room, desk, tree, best, fetched, sums)
            if shared:
                atomic_add(counters, DONE, 1)
            remaining = atomic_add(counters, REMAINING, -1) if shared else remaining - 1
        while shared and atomic_load(counters, DONE) < n_items:
            if atomic_load(counters, OVER) != 0:
                return
            give_way()
        n_items = _next_task(data, terms, room, desk, tree)


@compiled
def help_leader(data: Any, terms: Any, room: Any, desk: Any, tree: Any) -> None:
    """Take items until the leader has left."""
    counters, task, best, number, looks = desk[0], desk[1], np.empty(2), np.int64(-1), 0
    fetched, sums = np.empty(FETCHED, np.uint64), np.empty((2, BINS), np.uint64)
    while atomic_load(counters, OVER) == 0:
        looks += 1
        if looks % LOOKS == 0:
            give_way()
        if atomic_load(counters, REMAINING) > 0:
            remaining = atomic_add(counters, REMAINING, -1)
            if remaining > 0:  # the task stays as it is until this item is done
                if task[NUMBER] != number:
                    number = task[NUMBER]
                    best[0] = best[1] = -1.0
                _do_item(task[N_ITEMS] - remaining, data, terms, room, desk, tree, best, fetched, sums)
                atomic_add(counters, DONE, 1)


@compiled_part
def _do_item(
    item: int, data: Any, terms: Any, room: Any, desk: Any, tree: Any, best: Array, fetched: Array, sums: Array
) -> None:
    """Do one item of the task.

    In a search only splits better than the best that this thread has found in lower features are written.
    """
    codes, words, planes, gradient, curvature, used, ranges, features = data
    layout, units, n_bins, first_cut, monotone, limits = terms
    rows, spare, values, histograms = room
    _, task, table, both, sizes, found = desk
    leaves, bounds, leaf_values = tree[0], tree[1], tree[4]
    first, last = _chunk(task, item) if task[KIND] != SEARCH else (task[FIRST], task[LAST])
    if task[KIND] == PARTITION:
        block, column = task[FEATURE] // BLOCK, task[FEATURE] % BLOCK
        sizes[item] = _partition_rows(codes[block], column, table, rows[first:last], spare[first:last])
    elif task[KIND] == GATHER:
        for plane in range(len(planes)):
            for i in range(first, last):
                values[plane, i] = planes[plane, rows[i]]
    elif task[KIND] == VALUES:
        own = rows[leaves[item, START] : leaves[item, STOP]]
        leaf_values[item] = _leaf_value(own, gradient, curvature, limits[4], bounds[item])
    else:
        start, stop = ranges[item, 0], ranges[item, 1]
        n_children = 1 if task[LARGER] < 0 else 2
        smaller, larger = histograms[leaves[task[SMALLER], SLOT]], histograms[leaves[max(task[LARGER], 0), SLOT]]
        for plane in range(len(planes)):
            own_values = values[plane, first:last]
            fill_histograms(
                words, used, rows[first:last], own_values, start, stop, len(gradient), fetched, smaller[plane]
            )
            if n_children == 2:
                subtract_histograms(smaller[plane], used, start, stop, larger[plane])
        for child in range(n_children):
            found[item, child, 0], found[item, child, 1] = best[child], -1.0
            if child == 1 or last - first >= task[LEAST]:
                search_splits(
                    smaller if child == 0 else larger, layout, units, features[ranges[item, 2] : ranges[item, 3]],
                    n_bins, first_cut, monotone, limits, both[child], sums, found[item, child],
                )  # fmt: skip
                best[child] = found[item, child, 0]


@compiled_part
def _next_task(data: Any, terms: Any, room: Any, desk: Any, tree: Any) -> int:
    """Finish the task that was done, lay out the next one, and return the number of its items; 0 at the end.

    Tasks follow one another: partition of a leaf's rows, gathering of the smaller child's gradients, search of both
    children, the next leaf; at the end the leaves' values.
    """
    leaves, bounds, splits, tables, _, made, ways = tree
    _, task, table, both, sizes, found = desk
    n_items, n_chunks, n_ranges = 0, len(sizes), len(data[6])
    if task[KIND] == NOTHING and task[N_LEAVES] == 0:
        n_items = _begin(len(room[0]), n_chunks, task, leaves, bounds, splits, both)
    elif task[KIND] == PARTITION:
        _join_chunks(sizes, room[0], room[1], task)
        n_items = _settle(terms[4], terms[5][2], n_chunks, task, leaves, bounds, splits, made, ways, both)
    elif task[KIND] == GATHER:
        task[KIND], n_items = SEARCH, n_ranges
    elif task[KIND] == SEARCH:
        _take_best(found, n_ranges, 0, splits[task[SMALLER]])
        if task[LARGER] >= 0:
            _take_best(found, n_ranges, 1, splits[task[LARGER]])
    if n_items == 0 and task[KIND] != VALUES:
        n_items = _next_leaf(leaves, splits, tables, len(room[3]), n_chunks, task, table)
    elif n_items == 0:
        task[END] = GROWN
    task[N_ITEMS] = n_items
    return n_items


@compiled_part
def _begin(n_rows: int, n_chunks: int, task: Array, leaves: Array, bounds: Array, splits: Array, both: Array) -> int:
    """Make the first leaf, and lay out the search of its best split, if it may have one."""
    leaves[0, START], leaves[0, STOP], leaves[0, SLOT], leaves[0, DEPTH] = 0, n_rows, 0, 0
    leaves[0, PARENT], leaves[0, ON_LEFT] = -1, 0
    bounds[0, 0], bounds[0, 1], splits[0, 0] = -np.inf, np.inf, -1.0
    task[N_LEAVES] = 1
    task[STEPS] -= 1
    return _lay_out_search(0, -1, n_chunks, leaves, bounds, task, both) if n_rows >= task[LEAST] else 0


@compiled_part
def _lay_out_search(
    smaller: int, larger: int, n_chunks: int, leaves: Array, bounds: Array, task: Array, both: Array
) -> int:
    """Lay out the gathering of the smaller leaf's gradients, which the search of both follows."""
    task[KIND], task[SMALLER], task[LARGER] = GATHER, smaller, larger
    task[FIRST], task[LAST] = leaves[smaller, START], leaves[smaller, STOP]
    for side in range(2):
        both[0, side], both[1, side] = bounds[smaller, side], bounds[max(larger, 0), side]
    return n_chunks if task[LAST] - task[FIRST] >= task[SHARED] else 1


@compiled_part
def _next_leaf(
    leaves: Array, splits: Array, tables: Array, n_slots: int, n_chunks: int, task: Array, table: Array
) -> int:
    """Lay out the partition of the leaf of the largest gain; if none is left, the values; 0 if it must end here."""
    chosen, largest = -1, 0.0
    for place in range(task[N_LEAVES] if task[N_LEAVES] < task[MAX_LEAVES] else 0):
        if splits[place, 0] > largest:
            chosen, largest = place, splits[place, 0]
    full = chosen >= 0 and task[N_LEAVES] >= n_slots and _searched(task, leaves[chosen, DEPTH])
    if full or task[STEPS] == 0:
        task[KIND], task[END] = NOTHING, FULL if full else STOPPED
        return 0
    if chosen < 0:
        task[KIND] = VALUES
        return int(task[N_LEAVES])
    task[STEPS] -= 1
    task[KIND], task[PLACE], task[FEATURE] = PARTITION, chosen, np.int64(splits[chosen, 1])
    task[FIRST], task[LAST] = leaves[chosen, START], leaves[chosen, STOP]
    for code in range(BINS):
        by_set = tables[min(chosen, len(tables) - 1), code]
        table[code] = by_set if splits[chosen, 2] < 0.0 else code <= splits[chosen, 2]
    table[0] = splits[chosen, 3] > 0.0
    return n_chunks if task[LAST] - task[FIRST] >= task[SHARED] else 1


@compiled_part
def _searched(task: Array, depth: int) -> bool:
    """Say whether the children of a leaf of such a depth may be divided."""
    return bool(task[N_LEAVES] + 1 < task[MAX_LEAVES] and depth + 1 < task[MAX_DEPTH])


@compiled_part
def _settle(
    monotone: Array,
    reg_lambda: float,
    n_chunks: int,
    task: Array,
    leaves: Array,
    bounds: Array,
    splits: Array,
    made: Array,
    ways: Array,
    both: Array,
) -> int:
    """Put the children of a parted leaf into the tree and lay out their search, if they may be divided.

    The left child takes the leaf's place, the right one that after all others.
    """
    left, right, middle = task[PLACE], task[N_LEAVES], task[MIDDLE]
    number, searched = right - 1, _searched(task, leaves[left, DEPTH])
    _copy(splits[left], made[number])
    ways[number, 0], ways[number, 1] = leaves[left, PARENT], leaves[left, ON_LEFT]
    leaves[left, PARENT], leaves[left, ON_LEFT] = number, 1
    leaves[left, DEPTH] += 1
    for field in range(LEAF_FIELDS):
        leaves[right, field] = leaves[left, field]
    leaves[right, ON_LEFT] = 0
    leaves[left, STOP] = leaves[right, START] = middle
    _copy(bounds[left], bounds[right])
    direction = np.int64(monotone[task[FEATURE]]) if len(monotone) > 0 else 0
    fill_child_bounds(splits[left], direction, reg_lambda, bounds[left], bounds[right])
    splits[left, 0] = splits[right, 0] = -1.0
    task[N_LEAVES] += 1
    left_is_smaller = middle - task[FIRST] < task[LAST] - middle
    smaller, larger = (left, right) if left_is_smaller else (right, left)
    if not searched or leaves[larger, STOP] - leaves[larger, START] < task[LEAST]:
        return 0
    leaves[smaller, SLOT] = right  # the larger child keeps the place of its parent's histograms
    return int(_lay_out_search(smaller, larger, n_chunks, leaves, bounds, task, both))


@compiled_part
def _copy(source: Array, out: Array) -> None:
    """Do ``out[:] = source``, without the text of an error about shapes, which would take 2 s to compile."""
    for i in range(len(source)):
        out[i] = source[i]


@compiled_part
def _chunk(task: Array, item: int) -> tuple[int, int]:
    """Return the rows of one of the equal parts of the task's rows."""
    n_rows, n_items = task[LAST] - task[FIRST], task[N_ITEMS]
    return task[FIRST] + n_rows * item // n_items, task[FIRST] + n_rows * (item + 1) // n_items


@compiled_part
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


@compiled_part
def _join_chunks(sizes: Array, rows: Array, spare: Array, task: Array) -> None:
    """Join the left rows, then the right rows, of parts that were partitioned apart."""
    place = task[FIRST]
    for item in range(task[N_ITEMS]):
        first, _ = _chunk(task, item)
        if first > place:
            for i in range(sizes[item]):
                rows[place + i] = rows[first + i]
        place += sizes[item]
    task[MIDDLE] = place
    for item in range(task[N_ITEMS]):
        first, last = _chunk(task, item)
        for i in range(last - first - sizes[item]):
            rows[place + i] = spare[first + i]
        place += last - first - sizes[item]


@compiled_part
def _take_best(found: Array, n_items: int, child: int, split_out: Array) -> None:
    """Write the split of the largest gain, of equals that of the first features."""
    for item in range(n_items):
        if found[item, child, 1] >= 0.0 and found[item, child, 0] > split_out[0]:
            _copy(found[item, child], split_out)


@compiled_part
def _leaf_value(rows: Array, gradient: Array, curvature: Array, ridge: float, bounds: Array) -> float:
    """Return Newton's value ``-gradient[rows].sum() / (curvature[rows].sum() + λ)``, within bounds."""
    g, h = 0.0, 0.0
    for row in rows:
        g += gradient[row]
        h += curvature[row]
    value = -g / (h + ridge) if h + ridge > 0.0 else 0.0
    return float(min(max(value, bounds[0]), bounds[1]))
