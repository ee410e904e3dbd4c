"""Features as inputs of a net: numbers on one scale, indicators of what is missing, codes of categories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from podium._compiled import ROW, SCORE
from podium._sparse import dense_rows
from podium._types import Features
from podium._validation import Array
from podium.ordinal.scaling import Scaling

MOST_KNOTS = 255
"""Knots of a feature that is put on the scale of the normal distribution."""
NUMBER_SCALES = ("gauss", "log1p", "standard")
"""How numbers are brought to one scale."""


@dataclass(frozen=True, eq=False)
class Knots:
    """Lines from values of each feature to quantiles of the normal distribution ("rank-Gauss").

    Attributes
    ----------
    values, quantiles : ndarray
        Of all features, one after the other; the values of a feature ascend. Beyond them its line is level.
    offsets : ndarray of int64
        Feature j has the knots ``offsets[j]`` up to, not including, ``offsets[j + 1]``; none if it is all missing.
    """

    values: Array
    quantiles: Array
    offsets: Array

    @classmethod
    def of(cls, columns: Array, weight: Array) -> Knots:
        """Learn from rows with such weights."""
        parts = [_knots_of(column, weight) for column in columns.T]
        sizes = [len(values) for values, _ in parts]
        values, quantiles = (np.concatenate([np.empty(0), *(part[side] for part in parts)]) for side in (0, 1))
        return cls(values, quantiles, np.concatenate([[0], np.cumsum(sizes)]).astype(ROW))

    def apply(self, columns: Array) -> Array:
        """Return the quantile of each value, NaN where it is missing."""
        out = np.full(columns.shape, np.nan)
        for j, column in enumerate(columns.T):
            own = slice(self.offsets[j], self.offsets[j + 1])
            known = ~np.isnan(column)
            if own.start < own.stop:
                out[known, j] = np.interp(column[known], self.values[own], self.quantiles[own])
        return out


def _knots_of(column: Array, weight: Array) -> tuple[Array, Array]:
    """Return different values of a column, and the normal quantile of the middle of each one's share of the weight."""
    counted = ~np.isnan(column) & (weight > 0)
    values, places = np.unique(column[counted], return_inverse=True)
    if len(values) == 0:
        return values, values
    mass = np.bincount(places.ravel(), weight[counted], len(values))
    middle = (np.cumsum(mass) - 0.5 * mass) / mass.sum()
    if len(values) > MOST_KNOTS:
        chosen = np.unique(np.searchsorted(middle, np.linspace(middle[0], middle[-1], MOST_KNOTS)))
        values, middle = values[chosen], middle[chosen]
    return values, ndtri(middle)


def _signed_log(columns: Array) -> Array:
    """Return log(1 + x), that of the size with the sign of x where x is negative."""
    logs: Array = np.sign(columns) * np.log1p(np.abs(columns))
    return logs


@dataclass(frozen=True, eq=False)
class NetInputs:
    """What a net reads of features.

    Attributes
    ----------
    scale : {"gauss", "log1p", "standard"}
        Numbers are first put through `knots`, or their logarithm is taken, or neither; then they get mean 0 and
        standard deviation 1. What is missing counts as the mean.
    scaling : Scaling
        Of the numeric columns.
    knots : Knots
        Of the numeric columns; empty unless "gauss".
    flagged : ndarray of bool
        Numeric columns with missing values in training: each has a further input that is 1 where it misses.
    n_categories : ndarray of int64
        Categories of each column, -1 where it is numeric.
    """

    scale: str
    scaling: Scaling
    knots: Knots
    flagged: Array
    n_categories: Array

    @classmethod
    def of(
        cls, features: Features, rows: Array, weight: Array, scale: str, n_categories: Array, name: str
    ) -> NetInputs:
        """Learn from training rows, in their canonical order, with such weights; `name` is the ranker's."""
        columns = _numeric(features, n_categories)[rows]
        Scaling.of(columns, weight, name)  # refuses what is too large, before any transformation hides it
        n_used = len(columns) if scale == "gauss" else 0
        knots = Knots.of(columns[:n_used], weight[:n_used])
        flagged: Array = np.any(np.isnan(columns[weight > 0]), axis=0)
        moved = _moves(knots)[scale](columns)
        return cls(scale, Scaling.of(moved, weight, name), knots, flagged, n_categories)

    @property
    def n_numbers(self) -> int:
        """Inputs that are numbers."""
        return len(self.flagged) + int(self.flagged.sum())

    @property
    def owners(self) -> Array:
        """The feature that each number comes from."""
        numeric = np.flatnonzero(self.n_categories < 0)
        return np.concatenate([numeric, numeric[self.flagged]])

    @property
    def categorical(self) -> Array:
        """Columns of categories, ascending."""
        return np.flatnonzero(self.n_categories >= 0)

    def numbers(self, features: Features) -> Array:
        """Return the numbers that a net reads of rows: float64[n, n_numbers]."""
        columns = _numeric(features, self.n_categories)
        scaled = self.scaling.apply(_moves(self.knots)[self.scale](columns))
        return np.ascontiguousarray(np.concatenate([scaled, np.isnan(columns[:, self.flagged])], axis=1), SCORE)

    def codes(self, features: Features) -> Array:
        """Return the category of each row in each column of categories: int64[n, n_columns], the last for missing."""
        columns, most = dense_rows(features)[:, self.categorical], self.n_categories[self.categorical]
        return np.where(np.isnan(columns), most, np.nan_to_num(columns)).astype(ROW)


def _numeric(features: Features, n_categories: Array) -> Array:
    """Return the numeric columns as a dense matrix."""
    columns: Array = dense_rows(features)[:, n_categories < 0].astype(SCORE)
    return columns


def _moves(knots: Knots) -> dict[str, Callable[[Array], Array]]:
    """Return what is done to numbers before they get mean 0 and deviation 1, for each scale."""
    return {"gauss": knots.apply, "log1p": _signed_log, "standard": lambda columns: columns}
