"""Growth of a tree inside one kernel: partition of the rows, histograms, search of the best splits, sums of leaves.

Each division costs the histogram of the smaller child; the larger child's is the difference to their parent's.

One thread leads, others help. The leader lays out a task of some items, such as "sums and splits of these sixty-four
features"; whoever is free takes the next item::

    leader                                           helpers
    1. _next_task: finish the task that was done,
       lay out the next; at the end of the tree leave
    2. publish: done = 0, remaining = n_items   ──►  2. poll until remaining > 0; leave if over
    3. take an item (remaining -= 1), do it,         3. take an item, do it, done += 1,
       done += 1, until none remains                    until none remains
    4. wait until done = n_items                ◄──
    5. go to 1; when it has left, the caller
       sets over                                ──►

A thread that Python calls begins 100 to 200 µs later, as long as a small leaf takes; one that polls begins at once: so
helpers are called once a tree (with categories once a division, and on large data once a second, so that Ctrl-C is
heard). The leader takes items too, so that no helper has to come; a task of one item is not published.

Tasks of a division, in this order (`_next_task`): PARTITION the rows of the leaf of the largest gain, by chunks; JOIN
these, with the gradients of the smaller child's rows; SEARCH the best splits of both children, by ranges of features.
The root has GATHER, its gradients by chunks, and SEARCH. When no leaf is left to divide: VALUES, by leaves.

Where several parts grow a tree together, each on its rows, they divide a batch of leaves (see `shared_growth`) before
they exchange anything: of each leaf PARTITION, JOIN and FILL the histograms of the smaller child, after which all
leave to add them up; then SEARCH, by leaves of the batch, the features that are this part's to search, after which all
leave to choose the best. Every part then has the same tree, and counts of rows are those of all parts.

Items allocate nothing: scratch is allocated before the first one. Should a thread fail even so, its item is never done;
whoever calls it then sets over, and all leave. When the leader leaves, all items are done: helpers may be there still,
or come late, but write nothing any more, and nobody waits for them. So each call has counters of its own.

To add a limit on leaves see `may_divide`, on splits `split._allowed_cuts`, on values `split.fill_child_bounds`.

Calls are few levels deep on purpose: what a kernel calls is compiled again with it.
"""

from __future__ import annotations

import numpy as np

from podium._compiled import (
    atomic_add,
    atomic_load,
    atomic_store,
    compiled,
    give_way,
    linked_part,
)
from podium._exact import TERMS_PER_CARRY, sum_rows
from podium._types import Array, Int
from podium.trees.growth_state import (
    FILL,
    FILLED,
    FULL,
    GATHER,
    GROWN,
    JOIN,
    NOTHING,
    ORDERED,
    PARTITION,
    SEARCH,
    SEARCHED,
    STOPPED,
    SUMMED,
    VALUES,
    Buffers,
    GrowingTree,
    Scratch,
    Shared,
    TreeData,
)
from podium.trees.histogram import BINS, CELLS_PER_LINE, FETCHED
from podium.trees.leaf_choice import best_leaf, forget_splits, may_divide, place_for_histograms, spare_leaf
from podium.trees.row_partition import chunk, gather_values, join_chunk, partition_rows
from podium.trees.running_sums import fill_running_sums, take_from_node
from podium.trees.split import Record, Records, SplitContext, fill_child_bounds, search_splits

POLLS_PER_YIELD = 256
"""Polls after which a thread that waits yields: on a busy machine it would use up its time by polling, and be stopped
amid an item."""


def lead(
    data: TreeData, context: SplitContext, buffers: Buffers, shared: Shared, tree: GrowingTree, n_helpers: int
) -> bool:
    """Divide the leaf of the largest gain, the first of equals, until `growth.end` says why not; False on a failure."""
    return _grow_together(True, n_helpers, data, context, buffers, shared, tree)


def help_leader(data: TreeData, context: SplitContext, buffers: Buffers, shared: Shared, tree: GrowingTree) -> None:
    """Take items until the leader has left."""
    _grow_together(False, 1, data, context, buffers, shared, tree)


@compiled
def _grow_together(
    leads: bool,
    n_helpers: int,
    data: TreeData,
    context: SplitContext,
    buffers: Buffers,
    shared: Shared,
    tree: GrowingTree,
) -> bool:
    """Lead or help, as drawn above: one kernel, since both do items, which is what takes long to compile."""
    work, task, number = shared.work, shared.task, np.int64(-1)
    n_items: Int = np.int64(1)
    scratch = Scratch(
        np.empty(2), np.empty(FETCHED, np.uint64), np.empty(CELLS_PER_LINE, np.int64), np.empty(TERMS_PER_CARRY)
    )
    while n_items > 0:
        if leads:
            n_items = _next_task(len(buffers.rows), len(data.ranges), context, shared, tree)  # 1
            published: bool | np.bool_ = n_helpers > 0 and n_items > 1
            if published:  # 2
                atomic_store(work, "done", 0)
                atomic_store(work, "remaining", n_items)
        else:
            published = _items_appear(work)  # 2
            n_items = np.int64(published)
        remaining = atomic_add(work, "remaining", -1) if published else n_items
        while remaining > 0:  # 3; the task stays as it is until this item is done
            if task.number != number:
                number = task.number
                scratch.gains[0] = scratch.gains[1] = shared.growth.least_gain
            _do_item(task.n_items - remaining, data, context, buffers, shared, tree, scratch)
            if published:
                atomic_add(work, "done", 1)
            remaining = atomic_add(work, "remaining", -1) if published else remaining - 1
        if leads and published and not _all_are_done(work, n_items):  # 4
            return False
    return True


@linked_part
def _items_appear(work: Record) -> bool:
    """Wait until there are items; False when there will be none."""
    polls = 0
    while atomic_load(work, "over") == 0:
        if atomic_load(work, "remaining") > 0:
            return True
        polls += 1
        if polls % POLLS_PER_YIELD == 0:
            give_way()
    return False


@linked_part
def _all_are_done(work: Record, n_items: Int) -> bool:
    """Wait until all items are done; False if one will never be."""
    polls = 0
    while atomic_load(work, "done") < n_items:
        if atomic_load(work, "over") != 0:
            return False
        polls += 1
        if polls % POLLS_PER_YIELD == 0:
            give_way()
    return True


@linked_part
def _do_item(
    item: int,
    data: TreeData,
    context: SplitContext,
    buffers: Buffers,
    shared: Shared,
    tree: GrowingTree,
    scratch: Scratch,
) -> None:
    """Do one item of the task.

    PARTITION: part the rows of a chunk.
    JOIN: bring them to their leaves, and their packed gradients if they are in the one that is searched.
    GATHER: write the packed gradients of a chunk of rows one after the other.
    VALUES: sum up the gradients and curvatures of a leaf.
    FILL and SEARCH: see `_fill_and_search`.
    """
    task, rows, leaves = shared.task, buffers.rows, tree.leaves
    start, stop = chunk(task, item)
    if task.kind == PARTITION:
        shared.n_left[item] = partition_rows(
            data.codes, task.feature, shared.goes_left, start, stop, rows, buffers.spare_rows
        )
    elif task.kind == JOIN:
        join_chunk(shared.n_left, task, item, buffers.spare_rows, data.planes, leaves, rows, buffers.values)
    elif task.kind == GATHER:
        gather_values(data.planes, rows, start, stop, buffers.values)
    elif task.kind == VALUES:
        own = rows[leaves[item].start : leaves[item].stop]
        alone, digits = shared.growth.together == 0, tree.digits[item]
        tree.sums[item, 0] = sum_rows(data.gradient, own, alone, scratch.terms, digits[0])
        tree.sums[item, 1] = sum_rows(data.curvature, own, alone, scratch.terms, digits[1])
    else:
        _fill_and_search(item, data, context, buffers, shared, leaves, scratch)


@linked_part
def _fill_and_search(
    item: int,
    data: TreeData,
    context: SplitContext,
    buffers: Buffers,
    shared: Shared,
    leaves: Records,
    scratch: Scratch,
) -> None:
    """Do one range of features: one part alone does all with SEARCH; of several, each does 1 with FILL, the rest later.

    With SEARCH, an item is then one leaf of the batch.

    1. Fill the histograms of the smaller child, as running sums.
    2. Take these from the larger child's, which are still those of their parent.
    3. Search both for splits better than the best that this thread has found in lower features, and good enough for the
       leaf to be divided one day.
    """
    task, alone = shared.task, shared.growth.together == 0
    rows, searches = buffers.rows[task.start : task.stop], task.kind == SEARCH
    of_batch, at_smaller, at_larger = searches and not alone, task.smaller, task.larger
    part = data.searched[0] if of_batch else data.ranges[item]
    if of_batch:
        at_smaller, at_larger = shared.batch[item].smaller, shared.batch[item].larger
        scratch.gains[0] = scratch.gains[1] = -1.0
    n_children = 0 if at_smaller < 0 else 1 if at_larger < 0 else 2
    smaller = buffers.histograms[leaves[max(at_smaller, 0)].histogram]
    larger = buffers.histograms[leaves[max(at_larger, 0)].histogram]
    for plane in range(len(data.planes)):
        if of_batch and n_children == 2:
            take_from_node(data.used, part, smaller[plane], larger[plane])  # 2
        elif not of_batch:
            fill_running_sums(  # 1, 2
                context.columns, data.features, data.words, data.used, part, rows,
                buffers.values[plane, task.start : task.stop], len(data.gradient), alone and n_children == 2,
                scratch.fetched, scratch.cells, smaller[plane], larger[plane],
            )  # fmt: skip
    for child in range(n_children if searches else 0):  # 3
        leaf, split = leaves[at_smaller if child == 0 else at_larger], shared.found[item, child]
        split.gain, split.feature = scratch.gains[child], -1
        if leaf.count >= shared.growth.min_rows:
            search_splits(
                smaller if child == 0 else larger, data.features, part.feature_start, part.feature_stop,
                context, leaf.lowest, leaf.highest, split,
            )  # fmt: skip
            scratch.gains[child] = split.gain


@linked_part
def _next_task(n_rows: int, n_ranges: int, context: SplitContext, shared: Shared, tree: GrowingTree) -> int:
    """Finish the task that was done, lay out the next one, and return the number of its items; 0 at the end.

    1. Nothing was done and there is no leaf: make the root and gather its gradients.
    2. After a partition: put the children into the tree, and join the chunks.
    3. With the gradients at hand: the search, if the leaf may be divided; of several parts, the filling, and the search
       when they have summed up.
    4. After a search: keep the best split of each child, unless several parts are to choose it.
    5. If none of these has laid out a task: the next leaf; at the end the leaves' sums, after which all is grown.
    """
    task, growth, n_chunks = shared.task, shared.growth, len(shared.n_left)
    n_items, together = 0, growth.together != 0
    leaves_now = together and task.kind == SEARCH
    if task.kind == NOTHING and growth.n_leaves == 0:
        n_items = _plant_root(n_rows, n_chunks, task, growth, tree.leaves, tree.best)  # 1
        _note_children(shared)
    elif task.kind == PARTITION:
        _divide_leaf(shared.n_left, context, task, growth, tree)  # 2
        _note_children(shared)
        task.kind, n_items = JOIN, task.n_items
    elif (task.kind == JOIN or task.kind == GATHER) and task.smaller >= 0:  # 3
        task.start, task.stop = tree.leaves[task.smaller].start, tree.leaves[task.smaller].stop
        task.kind, n_items = (FILL, n_ranges) if together else (SEARCH, len(shared.found))
    elif task.kind == SUMMED:
        task.kind, n_items = SEARCH, growth.n_batch
    elif leaves_now:
        task.kind, growth.end = NOTHING, SEARCHED
    elif task.kind == SEARCH:
        _take_best(shared.found, np.int64(0), task.smaller, tree.best)  # 4
        if task.larger >= 0:
            _take_best(shared.found, np.int64(1), task.larger, tree.best)
    if n_items == 0 and task.kind != VALUES and not leaves_now:
        n_items = _next_leaf(n_chunks, task, growth, tree, shared.batch, shared.goes_left)  # 5
    elif n_items == 0 and not leaves_now:
        growth.end = GROWN
    task.n_items = n_items
    task.number += 1
    return int(n_items)


@linked_part
def _note_children(shared: Shared) -> None:
    """Write which leaves of the batch's last division are to be searched; where one part grows alone, nothing."""
    if shared.growth.together != 0:
        own = shared.batch[shared.growth.n_begun - 1]
        own.smaller, own.larger = shared.task.smaller, shared.task.larger


@linked_part
def _plant_root(n_rows: int, n_chunks: int, task: Record, growth: Record, leaves: Records, best: Records) -> int:
    """Make the first leaf, and lay out the gathering of its gradients, if it may be divided."""
    root = leaves[0]
    root.start, root.stop, root.histogram, root.depth, root.parent, root.on_left = 0, n_rows, 0, 0, -1, 0
    root.first, root.count = 0, growth.n_rows
    root.lowest, root.highest, best[0].gain = -np.inf, np.inf, -1.0
    growth.n_leaves, growth.n_used, growth.least_gain = 1, 1, -1.0
    growth.steps_left -= 1
    task.smaller = task.larger = -1
    if growth.n_rows < growth.min_rows:
        return 0
    task.kind, task.smaller, task.start, task.stop = GATHER, 0, 0, n_rows
    return n_chunks if n_rows >= growth.min_shared_rows else 1


@linked_part
def _next_leaf(
    n_chunks: int, task: Record, growth: Record, tree: GrowingTree, batch: Records, goes_left_out: Array
) -> int:
    """Lay out the partition of the leaf of the largest gain; if none is left, the values; 0 if it must end here."""
    together = growth.together != 0
    chosen = _next_of_batch(task, growth, batch) if together else best_leaf(growth, tree.best)
    leaf, split = tree.leaves[max(chosen, 0)], tree.best[max(chosen, 0)]
    if not together:
        if chosen >= 0:
            forget_splits(chosen, growth, tree.best)
        room = growth.n_used < growth.n_histograms or spare_leaf(growth, tree) >= 0
        full = chosen >= 0 and not room and may_divide(growth, leaf.depth)
        if full or growth.steps_left == 0:
            task.kind, growth.end = NOTHING, FULL if full else STOPPED
            return 0
    if chosen < 0:
        task.kind = SUMMED if together and growth.end == FILLED else VALUES
        return int(growth.n_leaves) if task.kind == VALUES else 0
    growth.steps_left -= 1
    growth.divided = chosen
    task.kind, task.feature, task.start, task.stop = PARTITION, split.feature, leaf.start, leaf.stop
    for code in range(BINS):
        by_set = tree.tables[min(chosen, len(tree.tables) - 1), code]
        goes_left_out[code] = by_set if split.cut < 0 else code <= split.cut
    goes_left_out[0] = split.missing_left
    return n_chunks if task.stop - task.start >= growth.min_shared_rows else 1


@linked_part
def _next_of_batch(task: Record, growth: Record, batch: Records) -> int:
    """Return the next leaf of the batch; -1 at its end, when histograms are to be summed up, or the tree is done."""
    growth.end = STOPPED if task.kind == ORDERED else FILLED
    if task.kind == ORDERED or growth.n_begun == growth.n_batch:
        return -1
    growth.n_begun += 1
    return int(batch[growth.n_begun - 1].leaf)


@linked_part
def _divide_leaf(n_left: Array, context: SplitContext, task: Record, growth: Record, tree: GrowingTree) -> None:
    """Put the children of a parted leaf into the tree, and say which are to be searched, if they may be divided.

    1. The split is made: it hangs where the leaf hung.
    2. The left child takes the leaf's place, the right one that after all others.
    3. Both have the leaf's bounds, parted where the feature is constrained.
    4. The larger child keeps the place of its parent's histograms; the smaller one gets another. If they are not
       searched, the left one has it, for others to take.
    """
    leaves, best, splits = tree.leaves, tree.best, tree.splits
    place, number = growth.divided, growth.n_leaves - 1
    tree.divided[number] = leaves[place]
    left, right, made = leaves[place], leaves[growth.n_leaves], splits[number]
    may_search, histogram = may_divide(growth, left.depth), left.histogram
    splits[number] = best[place]  # 1
    made.parent, made.on_left = left.parent, left.on_left != 0
    left.parent, left.on_left = number, 1  # 2
    left.depth += 1
    leaves[growth.n_leaves] = left
    right.on_left, right.histogram = 0, -1
    task.middle = task.start
    for item in range(task.n_items):
        task.middle += n_left[item]
    left.stop = right.start = task.middle
    left.count = np.int64(made.left_count)
    right.first, right.count = left.first + left.count, right.count - left.count
    fill_child_bounds(made, context.columns[task.feature].direction, context.limits.reg_lambda, left, right)  # 3
    smaller, larger = growth.n_leaves, place
    if left.count < right.count:
        smaller, larger = larger, smaller
    task.smaller = task.larger = -1
    if may_search and leaves[larger].count >= growth.min_rows:
        task.smaller, task.larger = smaller, larger
        leaves[smaller].histogram, leaves[larger].histogram = place_for_histograms(growth, tree), histogram  # 4
    best[place].gain = best[growth.n_leaves].gain = -1.0
    growth.n_leaves += 1


@linked_part
def _take_best(found: Records, child: Int, place: int, best_out: Records) -> None:
    """Write the split of the largest gain, of equals that of the first features."""
    for item in range(len(found)):
        split = found[item, child]
        if split.feature >= 0 and split.gain > best_out[place].gain:
            best_out[place] = split
