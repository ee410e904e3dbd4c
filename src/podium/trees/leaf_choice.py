"""Which leaf of a growing tree is divided next, which never will be, and where histograms are kept meanwhile.

Best first, the leaf of the largest gain is divided, the first of equals. With r divisions left until the tree has all
its leaves, only the r largest gains count. The other leaves are left as they are: their histograms are of no use any
more, and children whose gains are smaller still need no search to the end. So a tree of 255 leaves keeps the histograms
of at most 128, in places that are used again and again: 35 MB instead of 71 with 136 features, which a cache may hold.
"""

from __future__ import annotations

import numpy as np

from podium._compiled import linked_part
from podium.trees.growth_state import GrowingTree
from podium.trees.split import Record, Records


@linked_part
def best_leaf(growth: Record, best: Records) -> int:
    """Return the leaf of the largest gain, the first of equals; -1 where none may be divided."""
    chosen, largest = -1, 0.0
    for place in range(growth.n_leaves if growth.n_leaves < growth.max_leaves else 0):
        if best[place].gain > largest:
            chosen, largest = place, best[place].gain
    return chosen


@linked_part
def forget_splits(chosen: int, growth: Record, best_out: Records) -> None:
    """Forget the best splits of leaves that will never be divided, for want of room; they need no histograms.

    Of r divisions that are left, each takes the largest gain, the first of equals: so only the r largest count.
    """
    left, known = growth.max_leaves - growth.n_leaves, 0
    for place in range(growth.n_leaves):
        known += best_out[place].gain > 0.0
    while known > left:
        last = 0
        for place in range(growth.n_leaves):
            gain = best_out[place].gain
            if gain > 0.0 and (best_out[last].gain <= 0.0 or gain <= best_out[last].gain):
                last = place
        best_out[last].gain = -1.0
        known -= 1
    growth.least_gain = -1.0
    if known == left and left > 1:
        least = np.inf
        for place in range(growth.n_leaves):
            if place != chosen and best_out[place].gain > 0.0:
                least = min(least, best_out[place].gain)
        growth.least_gain = least * (1.0 - 1e-12)  # a child of the same gain may come before it


@linked_part
def spare_leaf(growth: Record, tree: GrowingTree) -> int:
    """Return the last leaf that has histograms and will never be divided; -1 where there is none."""
    for place in range(growth.n_leaves - 1, -1, -1):
        if tree.best[place].gain <= 0.0 and tree.leaves[place].histogram >= 0:
            return place
    return -1


@linked_part
def place_for_histograms(growth: Record, tree: GrowingTree) -> int:
    """Return a place that no leaf to be divided has: of the last such leaf, for it may still be cached, or a new one.

    Where several parts grow a tree, divisions may be undone, so that all leaves keep theirs.
    """
    spare = spare_leaf(growth, tree) if growth.together == 0 else -1
    if spare < 0:
        growth.n_used += 1
        return int(growth.n_used - 1)
    place = tree.leaves[spare].histogram
    tree.leaves[spare].histogram = -1
    return int(place)


@linked_part
def may_divide(growth: Record, depth: int) -> bool:
    """Say whether the children of a leaf of such a depth may be divided."""
    return bool(growth.n_leaves + 1 < growth.max_leaves and depth + 1 < growth.max_depth)
