"""What a file of another program gives: a model, and how that program reads a row where Podium reads it otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from podium._sparse import is_sparse
from podium._types import Features
from podium._validation import FormatError
from podium.export.ensemble import Linear, TreeSum

ZERO = float(np.float32(1e-35))
"""LightGBM takes values from -ZERO to ZERO for 0."""
DENSE_ROWS = 4096
"""Rows of a sparse matrix made dense at a time."""


@dataclass(frozen=True)
class Reading:
    """How the other program reads rows and adds up, where that is not how Podium does.

    Attributes
    ----------
    zero_as_missing : tuple of int
        Columns in which 0 is a missing value.
    absent_as_zero : bool
        Whether an absent entry of a sparse matrix is 0; else it is a missing value.
    float32 : bool
        Whether scores are rounded to float32 after each tree, or features before they are weighted.
    """

    zero_as_missing: tuple[int, ...] = ()
    absent_as_zero: bool = False
    float32: bool = False

    def parts(self, features: Features) -> Iterator[Features]:
        """Yield the rows of a checked matrix as that program reads them, all at once or run by run."""
        if not (is_sparse(features) and self.absent_as_zero):
            yield self._with_missing(features)
            return
        by_rows = sp.csr_array(features)
        for start in range(0, features.shape[0], DENSE_ROWS):
            yield self._with_missing(by_rows[start : start + DENSE_ROWS].toarray())

    def _with_missing(self, features: Features) -> Features:
        """Return a matrix with NaN for the zeros that are missing values."""
        if not self.zero_as_missing:
            return features
        columns, changed = list(self.zero_as_missing), features.copy()
        changed[:, columns] = np.where(np.abs(changed[:, columns]) <= ZERO, np.nan, changed[:, columns])
        return changed


class Imported(NamedTuple):
    """A model of another program.

    Attributes
    ----------
    model : TreeSum or Linear
        With all trees of the file.
    reading : Reading
    source : dict
        What the file says of itself: ``format``, ``version``, ``objective`` or ``ranker``.
    n_used : int or None
        Trees that score, the first ones, where the file names a best round; None for all.
    """

    model: TreeSum | Linear
    reading: Reading
    source: dict[str, str]
    n_used: int | None = None


class ForeignColumns(NamedTuple):
    """What the caller says of the columns: their names, their number, both or nothing."""

    names: tuple[str, ...] | None
    number: int | None

    def exactly(
        self, n_features: int, names: tuple[str, ...] | None, path: str | PathLike[str]
    ) -> tuple[int, tuple[str, ...] | None]:
        """Return number and names of the columns where the file says how many there are."""
        if self.number not in (None, n_features):
            raise FormatError(path, f"the model has {n_features} features; {self.number} were given")
        return n_features, self.names or names

    def at_least(self, n_features: int, path: str | PathLike[str]) -> tuple[int, tuple[str, ...] | None]:
        """Return number and names of the columns where the file says only which ones it uses."""
        if self.number is not None and self.number < n_features:
            raise FormatError(path, f"the model uses feature {n_features}; {self.number} features were given")
        return self.number or max(n_features, 1), self.names


def given_names(names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return names of features, None where they only number the columns, as programs do that were given none."""
    made_up = all(name in (f"Column_{i}", f"f{i}") for i, name in enumerate(names))
    return None if made_up else names
