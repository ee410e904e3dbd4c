"""Growth of one tree by several parts, each on its rows: batches of leaves, and which of their divisions are kept.

Best first, each division must be known before the next is chosen, so that a tree of 31 leaves takes 30 exchanges. Here
parts divide several leaves before they exchange anything: the one that is due, and those that will likely be due, since
their gains are near those that the tree before has used. Afterwards the divisions are gone through best first. What is
left over is undone, which costs nothing: the rows of a leaf stay side by side when it is divided. The tree is the same,
in about a third of the exchanges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from podium._exchange import Exchange
from podium._validation import Array
from podium.trees.category_split import WORDS_PER_SET, beats, table_of
from podium.trees.growth_state import NOTHING, ORDERED, SUMMED, GrowingTree, Shared
from podium.trees.split import SPLIT, Records, Split

OFFER = np.dtype([("split", SPLIT), ("left_set", np.uint32, (WORDS_PER_SET,))])
"""What a part has found for a leaf: a split, and its set where it goes by one."""
LIKELY_SHARE = 1.0
"""Share of the smallest gain that the tree before has used, from which a leaf is divided before it is due.

Trees of 31 leaves on search data took 8.0 batches and 34.4 histograms with 0.8, 8.3 and 30.4 with 1.
"""


def nodes_at_most(max_leaves: int) -> int:
    """Return how many leaves there may be before divisions are undone."""
    return max_leaves + max_leaves // 2


class SharedGrowth:
    """One tree that several parts grow.

    Parameters
    ----------
    exchange : Exchange
    shared : Shared
    tree : GrowingTree
        Its arrays have room for `nodes_at_most` leaves.
    shares : sequence of (first word, past the last)
        Features that each part searches, in words.
    least_gain : float
        Smallest gain that the tree before has used; inf without one.
    lead : callable
        Does what `shared` says, and returns the histograms of all leaves.
    search_sets : callable, optional
        Returns the best split by a set of categories of some nodes, of the features that are searched here.
    """

    def __init__(
        self,
        exchange: Exchange,
        shared: Shared,
        tree: GrowingTree,
        shares: Sequence[tuple[int, int]],
        least_gain: float,
        lead: Callable[[], Array],
        search_sets: Callable[[list[tuple[Array, float, float]]], list[Split | None]] | None = None,
    ) -> None:
        self.exchange, self.shared, self.tree, self.shares, self.lead = exchange, shared, tree, shares, lead
        self.max_leaves, self.likely = int(shared.growth.max_leaves), LIKELY_SHARE * least_gain
        self.order, self.search_sets = BestFirst(self.max_leaves), search_sets
        self.sets: dict[int, Array] = {}  # of leaves whose best split is by a set
        self.split_sets: dict[int, Array] = {}  # of splits

    def run(self) -> list[Array]:
        """Grow the tree; return the sets of its splits by sets, in the order of the splits.

        1. Search the root.
        2. Go through the divisions best first, as far as they are known; divide the leaf that is due, with others.
        3. Undo divisions that were not due; sum up the leaves.
        """
        self._divide([0], n_leaves=0)  # 1
        while (due := self.order.advance(self.tree, int(self.shared.growth.n_leaves))) >= 0:  # 2
            self._divide(self._batch(due), int(self.shared.growth.n_leaves))
        self.shared.growth.n_leaves = self.order.write_to(self.tree, int(self.shared.growth.n_leaves))  # 3
        self.shared.task.kind = ORDERED
        self.lead()
        return [self.split_sets[split] for split in self.order.due if split in self.split_sets]

    def _batch(self, due: int) -> list[int]:
        """Return the leaf that is due and those that will likely be, of the largest gains: no more than may be used."""
        growth, missing = self.shared.growth, self.max_leaves - len(self.order.nodes)
        gains = self.tree.best.gain[: growth.n_leaves].copy()
        gains[due] = np.inf
        room = nodes_at_most(self.max_leaves) - int(growth.n_leaves) - missing
        first = np.argsort(-gains, kind="stable")[: min(missing, room + 1)]
        return [int(place) for place in first if gains[place] >= max(self.likely, np.finfo(float).tiny)]

    def _divide(self, batch: list[int], n_leaves: int) -> None:
        """Divide some leaves, and search their children; the children of the tree's last division are not searched."""
        growth, task = self.shared.growth, self.shared.task
        last = n_leaves > 0 and len(self.order.nodes) + 1 == self.max_leaves
        growth.max_leaves = n_leaves + 1 if last else len(self.tree.leaves) + 1
        self.shared.batch.leaf[: len(batch)] = batch
        made = {n_leaves - 1 + i: self.sets.pop(place) for i, place in enumerate(batch) if place in self.sets}
        self.split_sets |= made
        growth.n_batch, growth.n_begun, task.kind = len(batch), int(n_leaves == 0), NOTHING
        growth.n_histograms = min(1 << (n_leaves + len(batch)).bit_length(), len(self.tree.leaves))
        histograms = self.lead()
        filled = self.shared.batch.smaller[: len(batch)]
        if filled.max(initial=-1) >= 0:
            self._sum(histograms, self.tree.leaves.histogram[filled[filled >= 0]])
            task.kind = SUMMED
            self._choose(self._offers(self.lead(), len(batch)))

    def _sum(self, histograms: Array, places: Array) -> None:
        """Add up, over all parts, the histograms of some leaves of the features that are searched here."""
        wanted = [histograms[places, :, start:stop] for start, stop in self.shares]
        start, stop = self.shares[self.exchange.rank]
        histograms[places, :, start:stop] = self.exchange.scatter_sum(wanted)

    def _searched(self, n_batch: int) -> Iterator[tuple[int, int, int]]:
        """Yield the leaves whose splits were searched: number in the batch, 0 or 1 for the smaller or larger, place."""
        for number, division in enumerate(self.shared.batch[:n_batch]):
            for child, place in enumerate((division.smaller, division.larger) if division.smaller >= 0 else ()):
                if place >= 0:
                    yield number, child, int(place)

    def _offers(self, histograms: Array, n_batch: int) -> Array:
        """Return the best splits of the features that are searched here, by a threshold or by a set."""
        offers = np.zeros((n_batch, 2), OFFER)
        best: Records = offers["split"].view(np.recarray)
        best[:] = self.shared.found[:n_batch]
        if self.search_sets is None:
            return offers
        leaves, least = self.tree.leaves, self.shared.growth.min_rows
        wanted = [one for one in self._searched(n_batch) if leaves["count"][one[2]] >= least]
        own = [leaves[place] for _, _, place in wanted]
        nodes = [(histograms[leaf.histogram], float(leaf.lowest), float(leaf.highest)) for leaf in own]
        for (number, child, _), split in zip(wanted, self.search_sets(nodes), strict=True):
            if split is not None and beats(split, best[number, child]):
                best[number, child] = (*split[:-1], -1, False)
                offers["left_set"][number, child] = split.left_set
        return offers

    def _choose(self, offers: Array) -> None:
        """Keep the best of the splits that all parts have found, of equals that of the first features."""
        found = self.exchange.gather(offers.view(np.uint8)).view(OFFER)
        splits = found["split"]
        gains = np.where(splits["feature"] >= 0, splits["gain"], -1.0)
        first = gains.argmax(axis=0)
        for number, child, place in self._searched(len(offers)):
            rank = first[number, child]
            if gains[rank, number, child] > 0.0:
                best = self.tree.best[place] = splits[rank, number, child]
                if best["cut"] < 0:
                    self.sets[place] = found["left_set"][rank, number, child]
                    self.tree.tables[place] = table_of(self.sets[place], bool(best["missing_left"]))


class BestFirst:
    """The order in which divisions are due: the leaf of the largest gain first, of equals that of the lowest place.

    A node is named by where it hangs, which stays when it is divided: ``2 * split + side``, the left side 0; -1 is the
    root.

    Attributes
    ----------
    nodes : list of int
        The leaves of the tree so far, in their places: a left child takes that of its parent, a right one a new one.
    due : list of int
        Splits of the tree, in this order.
    """

    def __init__(self, max_leaves: int) -> None:
        self.max_leaves = max_leaves
        self.nodes = [-1]
        self.due: list[int] = []

    def advance(self, tree: GrowingTree, n_leaves: int) -> int:
        """Take the divisions that are due; return the leaf to divide next, -1 where the tree is done."""
        standing, gain_of_split, gain_of_leaf = _standing(tree, n_leaves), tree.splits["gain"], tree.best["gain"]

        def gain(node: int) -> float:
            """Return the gain of a node's split, made or best."""
            at = standing[node]
            return float(gain_of_split[at] if at >= 0 else gain_of_leaf[~at])

        gains = [gain(node) for node in self.nodes]
        while len(gains) < self.max_leaves and (largest := max(gains)) > 0.0:
            place = gains.index(largest)
            split = standing[self.nodes[place]]
            if split < 0:
                return ~split
            self.due.append(split)
            self.nodes[place] = 2 * split
            self.nodes.append(2 * split + 1)
            gains[place] = gain(2 * split)
            gains.append(gain(2 * split + 1))
        return -1

    def write_to(self, tree: GrowingTree, n_nodes: int) -> int:
        """Leave of `n_nodes` leaves and their splits only the tree's, in their order; return how many leaves it has."""
        n_leaves, standing = len(self.nodes), _standing(tree, n_nodes)
        at = np.array([standing[node] for node in self.nodes])
        leaves = np.where(at >= 0, tree.divided[np.maximum(at, 0)], tree.leaves[np.maximum(~at, 0)])
        number = np.full(len(tree.splits) + 1, -1)
        number[self.due] = np.arange(n_leaves - 1)
        leaves["parent"] = number[np.array(self.nodes) // 2]
        splits = tree.splits[self.due]
        splits["parent"] = number[splits["parent"]]
        tree.leaves[:n_leaves], tree.splits[: n_leaves - 1] = leaves, splits
        return n_leaves


def _standing(tree: GrowingTree, n_leaves: int) -> list[int]:
    """Return the split, or ``~place`` of the leaf, that each node is; that of the root is the last."""
    standing = np.zeros(2 * n_leaves + 1, np.int64)
    for records, numbers in (
        (tree.splits[: n_leaves - 1], np.arange(n_leaves - 1)),
        (tree.leaves[:n_leaves], ~np.arange(n_leaves)),
    ):
        node = 2 * records["parent"] + 1 - records["on_left"]
        standing[np.where(records["parent"] < 0, -1, node)] = numbers
    found: list[int] = standing.tolist()
    return found
