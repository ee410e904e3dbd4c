"""What explicit pairs hold: how many, of how many rows, how often they repeat, contradict and hang together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from podium.data.ranking_data import RankingData


@dataclass(frozen=True)
class PairSummary:
    """Counts of explicit pairs, to read before a fit.

    Attributes
    ----------
    n_pairs : int
        Repeats included.
    different_pairs : int
        Without repeats.
    contradicted_pairs : int
        Different pairs whose opposite is given too.
    named_rows : int
        Rows that pairs name.
    components : int
        Groups of named rows that pairs tie together: between two groups nothing is said.
    across_queries : int
        Pairs of rows of two queries.
    """

    n_pairs: int
    different_pairs: int
    contradicted_pairs: int
    named_rows: int
    components: int
    across_queries: int


def summarize_pairs(data: RankingData) -> PairSummary | None:
    """Count the explicit pairs of ranking data, in O(m log m); None where there are none."""
    if data.pairs is None:
        return None
    from scipy.sparse.csgraph import connected_components

    better, worse, n_rows = data.pairs.better, data.pairs.worse, len(data.queries.rows)
    forward = np.unique(better * n_rows + worse)
    backward = np.unique(worse * n_rows + better)
    named = np.unique(np.concatenate([better, worse]))
    graph = sp.coo_array((np.ones(len(better)), (better, worse)), shape=(n_rows, n_rows))
    query = np.repeat(np.arange(len(data.queries)), data.queries.sizes)
    return PairSummary(
        n_pairs=len(better),
        different_pairs=len(forward),
        contradicted_pairs=len(np.intersect1d(forward, backward, assume_unique=True)),
        named_rows=len(named),
        components=int(connected_components(graph, directed=False)[0]) - (n_rows - len(named)),
        across_queries=int((query[better] != query[worse]).sum()),
    )
