"""What a block of tied rows earns at each of its places: measures as sums over places that neighbours can swap in.

With u the units of the places (`place_units`), NDCG, AP, RR and ERR have one form,

    Z = scale Σ over blocks Σ over places l of the block (c rate_l + extra_l) u,      c ← keep c + add,

c = 1 at the top, where *rate* and *extra* are the means over the orders of the block's rows. c is 1 for NDCG, one more
than the relevant rows above for AP (Freund et al. 2003, 6.2.4), and the chance that the user reads so far for ERR and
RR (Burges 2010, section 3). So when two neighbouring blocks change places, nothing above or below them changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from podium._compiled import SCORE, compiled
from podium._validation import Array
from podium.measures.conventions import DIVIDE_BY_REACHABLE, SHORT_AS_IS, Rules
from podium.measures.graded import add_row
from podium.measures.measure import Measure


class Profiles(NamedTuple):
    """Profiles of the blocks of a list of rows.

    Attributes
    ----------
    rate, extra : float64[rows]
        What each place of a block earns, times c and beside it.
    keep, add : float64[blocks]
        How the block changes c.
    """

    rate: Array
    extra: Array
    keep: Array
    add: Array


def fill_profiles(measure: Measure, values: Array, starts: Array) -> Profiles:
    """Profiles of blocks of rows that stay tied.

    Parameters
    ----------
    measure : Measure
        One for which `has_profiles`.
    values : float64[rows]
        What the measure sees of each row: gain, relevance or stop probability.
    starts : int64[blocks + 1]
        First row of each block.
    """
    n_blocks = len(starts) - 1
    made = Profiles(np.empty_like(values), np.zeros_like(values), np.ones(n_blocks, SCORE), np.zeros(n_blocks, SCORE))
    FILLS[measure.definition.name](values, starts, *made)
    return made


def has_profiles(measure: Measure, rules: Rules) -> bool:
    """Whether the measure under these rules is a sum of the form above."""
    usual = rules.average_precision == DIVIDE_BY_REACHABLE and rules.short == SHORT_AS_IS and rules.discount_shift == 1
    return measure.definition.name in FILLS and rules.ties == "expected" and usual


@compiled
def gain_profiles(
    values: Array, starts: Array, rate_out: Array, extra_out: Array, keep_out: Array, add_out: Array
) -> None:
    """Every place of a block earns its mean gain."""
    for block in range(len(keep_out)):
        rows = slice(starts[block], starts[block + 1])
        rate_out[rows] = values[rows].mean()


@compiled
def precision_profiles(
    values: Array, starts: Array, rate_out: Array, extra_out: Array, keep_out: Array, add_out: Array
) -> None:
    """A place is relevant with chance q/Q, and then sees 1 + l (q − 1)/(Q − 1) relevant rows of the block so far."""
    for block in range(len(keep_out)):
        start, stop = starts[block], starts[block + 1]
        good = values[start:stop].sum()
        chance, slope = good / (stop - start), (good - 1.0) / max(stop - start - 1, 1)
        for i in range(start, stop):
            rate_out[i] = chance
            extra_out[i] = chance * slope * (i - start)
        add_out[block] = good


@compiled
def stop_profiles(
    values: Array, starts: Array, rate_out: Array, extra_out: Array, keep_out: Array, add_out: Array
) -> None:
    """The user stops at place l with chance m_l − m_{l+1}; m_l: see `podium.measures.graded.tied_err`."""
    for block in range(len(keep_out)):
        start, stop = starts[block], starts[block + 1]
        means = np.ones(stop - start + 1)
        n = 0
        for i in range(start, stop):
            n += values[i] <= 0.0
        for i in range(start, stop):
            if values[i] > 0.0:
                n += 1
                add_row(means, n, 1.0 - values[i])
        for i in range(start, stop):
            rate_out[i] = means[i - start] - means[i - start + 1]
        keep_out[block] = means[stop - start]


FILLS: Mapping[str, Callable[..., None]] = {
    "ndcg": gain_profiles,
    "map": precision_profiles,
    "mrr": stop_profiles,
    "err": stop_profiles,
}
"""The measures of `podium.measures.swaps` as sums over places."""
