"""Bins of features whose rows may lie in several parts: the same for any order of rows and any partitioning.

Weights are rounded to multiples of a unit, so that their sums are exact in any order. Up to `MAX_ROWS_SORTED` rows,
bins come from all of them. Beyond, they come from the `SAMPLE_ROWS` rows with the smallest keys; a feature of few
values in this sample has those of all rows, unless they are more than `MOST_MERGED`: then the sample's will do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from podium._compiled import CODE, run_threads
from podium._exact import fixed_scale
from podium._exchange import Exchange
from podium._validation import Array
from podium.binning import cuts
from podium.binning.blocks import BLOCK, BlockBins, Matrix, encode_block
from podium.binning.cuts import Cuts, distinct_runs

MOST_MERGED = 4096
"""Distinct values of a feature that are gathered from all parts."""
SHARE_ROOM = 2.0**10
"""By how much the sum of all rounded weights is below 2⁶²: a float holds it exactly."""


class BinRows(NamedTuple):
    """The rows of this part, and how all parts bin theirs.

    Attributes
    ----------
    rows, weight, max_bins, n_threads, n_categories, keys, exchange
        As for `bin_features`.
    """

    rows: Array
    weight: Array
    max_bins: int
    n_threads: int
    n_categories: Array
    keys: Array
    exchange: Exchange


def bin_together(X: Array, part: BinRows) -> BlockBins:
    """Bin a dense matrix of float32 or float64; row i of the codes is ``X[rows[i]]``."""
    exchange, matrix, sample = part.exchange, Matrix.of(X), BinSample.draw(part.weight, part.keys, part.exchange)
    codes = np.zeros((-(-matrix.n_features // BLOCK), len(part.rows), BLOCK), CODE)
    calls = [(matrix, part, sample, b, codes[b]) for b in range(len(codes))]
    results = run_threads(_bin_block, calls, part.n_threads if exchange.size == 1 else 1)  # parts must speak in turn
    uppers = [upper for block in results for upper in block[0]]
    lowest, missing = exchange.largest(np.concatenate([block[1] for block in results], axis=1))
    return BlockBins(codes, Cuts.join(uppers, lowest, missing))


@dataclass(frozen=True, eq=False)
class BinSample:
    """The rows that bins come from.

    Attributes
    ----------
    rows : ndarray of int64 or None
        Those of this part; None for all.
    shares, own_shares : ndarray of float64 or None
        Rounded weights of the sampled rows of all parts, and of all rows of this part; None where all are alike.
    """

    rows: Array | None
    shares: Array | None
    own_shares: Array | None

    @classmethod
    def draw(cls, weight: Array, keys: Array, exchange: Exchange) -> BinSample:
        """Draw the rows that bins come from, by their keys, and round the weights."""
        n_rows = exchange.count(len(keys))
        rows = None
        if n_rows > cuts.MAX_ROWS_SORTED:
            rows = np.flatnonzero(keys <= np.uint64(exchange.smallest(keys, cuts.SAMPLE_ROWS)))
        own = rounded_shares(weight, n_rows, exchange)
        if own is None:
            return cls(rows, None, None)
        return cls(rows, exchange.gather_rows(own if rows is None else own[rows]), own)


def rounded_shares(weight: Array, n_rows: int, exchange: Exchange) -> Array | None:
    """Return weights as multiples of a unit, whose sums over `n_rows` rows are exact; None where all are alike."""
    most, least = exchange.largest(np.array([weight.max(initial=0.0), -weight.min(initial=np.inf)])).tolist()
    if most == -least:
        return None
    shares: Array = np.floor(weight * (fixed_scale(most, n_rows) / SHARE_ROOM))
    return shares


def _bin_block(
    matrix: Matrix, part: BinRows, sample: BinSample, block: int, codes_out: Array
) -> tuple[list[Array], Array]:
    """Cut the features of one block and write their codes, as `blocks` has it."""
    first, last, exchange = block * BLOCK, min((block + 1) * BLOCK, matrix.n_features), part.exchange
    values = matrix.columns(part.rows, first, last)
    chosen = exchange.gather_rows(values.T if sample.rows is None else values[:, sample.rows].T)
    uppers = [
        sampled_uppers(
            np.ascontiguousarray(chosen[:, j]),
            sample,
            part.max_bins,
            partial(_merged_runs, values[j], sample.own_shares, exchange),
        )
        if known < 0
        else np.arange(known, dtype=values.dtype)
        for j, known in enumerate(part.n_categories[first:last].tolist())
    ]
    return uppers, encode_block(values, uppers, codes_out)


def sampled_uppers(
    chosen: Array, sample: BinSample, max_bins: int, all_runs: Callable[[], tuple[Array, Array] | None]
) -> Array:
    """Return the uppermost values of the bins of one feature, from the chosen rows of all parts or all rows.

    Parameters
    ----------
    chosen : ndarray
        Values of the sampled rows of all parts.
    sample : BinSample
    max_bins : int
    all_runs : callable
        Returns the distinct values of all rows and what each weighs, None where they are more than `MOST_MERGED`.
    """
    uppers, exact = cuts.sorted_uppers(chosen, sample.shares, max_bins)
    runs = all_runs() if sample.rows is not None and exact else None
    return uppers if runs is None else cuts.uppers_of_runs(*runs, max_bins)[0]


def _merged_runs(own: Array, own_shares: Array | None, exchange: Exchange) -> tuple[Array, Array] | None:
    """Return the distinct values of all parts, `own` being those of this one, and what each weighs."""
    values, shares = distinct_runs(own, own_shares)
    if int(exchange.largest(np.array([len(values)]))[0]) > MOST_MERGED:
        return None
    values, shares = distinct_runs(exchange.gather_rows(values), exchange.gather_rows(shares))
    return None if len(values) > MOST_MERGED else (values, shares)
