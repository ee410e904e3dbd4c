"""How large numbers may be, so that products, squares and sums of them are finite: one rule for all rankers.

Scores, labels and features that rankers compute with lie within ±`LARGEST`. Weights matter by their ratios, so that
large ones are scaled down together, and small ones up, by a power of two, which changes no digit of them.
"""

from __future__ import annotations

from numbers import Integral
from typing import NamedTuple

import numpy as np

from podium._errors import PodiumError
from podium._types import Array

LARGEST = 1e100
"""Numbers that are computed with: products of three, and sums of squares of any number of rows, are finite."""
WEIGHT_BITS = 60
"""Weights of rows and queries stay below 2 to this power: far above any regularisation, and with `LARGEST` numbers
(2⁶⁰ · 2⁶⁰ · 1e100)² is 2e272. Where the largest is below 2 to minus this power, it is scaled to between 1/2 and 1."""


WEIGHT_RANGE = 120
"""Weights lie within 2 to this power of the largest: a smaller one is raised to that, which is nothing beside it. So
sums of products of them keep their digits, and no weight of a pair leaves the range of exponentials."""


def check_integer(value: object, name: str, least: int) -> int:
    """Return an integer of at least `least`; truth values are none."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise PodiumError(f"{name} must be an integer of at least {least}; got {value!r}.")
    return int(value)


def check_within(values: Array, name: str, why: str) -> None:
    """Refuse numbers beyond ±`LARGEST`, infinite ones and NaN too.

    Parameters
    ----------
    values : ndarray
    name : str
        What they are, for the message.
    why : str
        Who asks for it, such as "MART with loss='squared', which computes with them".
    """
    bad = np.flatnonzero(~(np.abs(values) <= LARGEST))
    if len(bad):
        raise PodiumError(f"{name} must lie within ±{LARGEST:g} for {why}; got {values[bad[0]]:g}.")


def scaled_weight(weight: Array) -> Array:
    """Return weights of rows within range, in their ratios; see `WEIGHT_BITS`."""
    return _scaled(weight, _excess_bits(weight, WEIGHT_BITS))


class Weights(NamedTuple):
    """Weights of rows, queries and explicit pairs."""

    rows: Array
    queries: Array
    pairs: Array


def scaled_weights(rows: Array, queries: Array, pairs: Array, labelled: bool = True) -> Weights:
    """Return weights within range, in their ratios.

    A pair that labels make weighs query weight times row weight times row weight. Explicit pairs must go down or up by
    as much as these do, and where they are then too large, queries go down further with them. Without labels pairs are
    scaled by themselves.
    """
    by_rows, by_queries = _excess_bits(rows, WEIGHT_BITS), _excess_bits(queries, WEIGHT_BITS)
    if not labelled:
        by_pairs = _excess_bits(pairs, 3 * WEIGHT_BITS)
        return Weights(_scaled(rows, by_rows), _scaled(queries, by_queries), _scaled(pairs, by_pairs))
    by_labels = 2 * by_rows + by_queries
    further = max(0, _exponent(pairs) - by_labels - 3 * WEIGHT_BITS) if pairs.any() else 0
    return Weights(_scaled(rows, by_rows), _scaled(queries, by_queries + further), _scaled(pairs, by_labels + further))


def _excess_bits(weight: Array, bits: int) -> int:
    """Return by how many bits the largest weight is above 2 to the power `bits`, below 1 if it is very small, or 0."""
    exponent = _exponent(weight)
    return exponent if exponent < -WEIGHT_BITS else max(0, exponent - bits)


def _exponent(weight: Array) -> int:
    """Return the least power of two above the largest weight."""
    return int(np.frexp(weight.max(initial=0.0))[1])


def _scaled(weight: Array, bits: int) -> Array:
    """Return weights over 2 to the power `bits`, the positive ones within `WEIGHT_RANGE` of the largest."""
    scaled: Array = np.ldexp(weight, -bits) if bits else weight
    least = max(np.ldexp(scaled.max(initial=0.0), -WEIGHT_RANGE), np.nextafter(0.0, 1.0))
    low = (weight > 0) & (scaled < least)
    return np.where(low, least, scaled) if low.any() else scaled
