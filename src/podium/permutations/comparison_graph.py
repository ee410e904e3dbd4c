"""Whether comparisons have strengths that fit them best: the graph of what stood above what must be connected.

Ford (1957): finite strengths of maximum likelihood exist where, in every split of the items into two groups, some item
of each group once stood above one of the other. In the graph with an arrow from above to below: where it is strongly
connected. Tied items stand above each other.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from podium._validation import Array, PodiumError
from podium.permutations.rankings import Rankings

MOST_NAMED = 5
"""Items that a message lists."""
WAY_OUT = "there is no finite maximum; give alpha > 0, which holds strengths near each other"


def check_connected(rankings: Rankings) -> None:
    """Refuse rankings that no finite strengths fit best."""
    graph = _graph(rankings)
    n_apart, group = connected_components(graph, directed=True, connection="weak")
    if n_apart > 1:
        some = rankings.items[group == group[0]]
        raise PodiumError(
            f"Items fall into {n_apart} groups that were never compared ({_names(some)} in one): {WAY_OUT}."
        )
    n_strong, group = connected_components(graph, directed=True, connection="strong")
    if n_strong > 1:
        best = rankings.items[group == _unbeaten(graph, group, n_strong)]
        raise PodiumError(f"No other item ever stood above {_names(best)}, or tied with it: {WAY_OUT}.")


def check_ties(rankings: Rankings, orders: Array) -> None:
    """Refuse ties of sizes that were chosen whenever they could be: their δ has no finite maximum.

    The graph has an arrow from a size that was chosen to every size that could have been. Unordered blocks add none:
    a size was also chosen where it has its arrows.
    """
    left = rankings.blocks[rankings.starts[1:]][rankings.ranking_of_block] - rankings.blocks[:-1]
    reach = np.array([np.max(left[rankings.block_sizes == one], initial=0) for one in orders])
    graph = sp.csr_array(orders[None, :] <= reach[:, None])
    n_strong, group = connected_components(graph, directed=True, connection="strong")
    if n_strong > 1:
        always = orders[group == _unbeaten(graph, group, n_strong)]
        sizes = " or ".join(map(str, always.tolist()))
        raise PodiumError(f"Every choice that could be a tie of {sizes} items was one: {WAY_OUT}.")


def _graph(rankings: Rankings) -> sp.csr_array:
    """Return arrows from items to those right below; other arrows are paths of these."""
    first = rankings.blocks[:-1]
    leader = np.repeat(first, rankings.block_sizes)
    every = np.arange(len(rankings.entries))
    tied = ~np.repeat(rankings.unordered, rankings.block_sizes)
    has_above = np.ones(len(first), bool)
    has_above[rankings.starts[:-1]] = False
    above = np.repeat(np.where(has_above, np.roll(first, 1), -1), rankings.block_sizes)
    lower = above >= 0
    tails = np.concatenate([above[lower], leader[tied], every[tied]])
    heads = np.concatenate([every[lower], every[tied], leader[tied]])
    size = len(rankings.items)
    return sp.csr_array((np.ones(len(tails)), (rankings.entries[tails], rankings.entries[heads])), shape=(size, size))


def _unbeaten(graph: sp.csr_array, group: Array, n_groups: int) -> int:
    """Return a group that no arrow leads into."""
    arrows = graph.tocoo()
    into = group[arrows.col][group[arrows.row] != group[arrows.col]]
    return int(np.flatnonzero(np.bincount(into, minlength=n_groups) == 0)[0])


def _names(items: Array) -> str:
    """Return ids for a message."""
    shown = ", ".join(map(repr, items[:MOST_NAMED].tolist()))
    return shown if len(items) <= MOST_NAMED else f"{shown} and {len(items) - MOST_NAMED} more"
