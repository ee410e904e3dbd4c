"""Bins of rows that do not fit into memory: codes in a file that is mapped, found and written batch by batch."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from tempfile import TemporaryFile, gettempdir
from typing import TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from podium._compiled import CODE
from podium._validation import Array, PodiumError
from podium.binning import BLOCK, MOST_MERGED, BinSample, BlockBins, Cuts, distinct_runs, encode_block, sampled_uppers

Batches: TypeAlias = Callable[[], Iterable[tuple[slice, Array]]]
"""Goes through all rows once: the place of some rows, and their features."""


@dataclass(frozen=True, eq=False)
class MappedBins(BlockBins):
    """Codes in a mapped file.

    Attributes
    ----------
    folder : str or None
        Where such files are; the system's folder for temporary files by default.
    """

    folder: str | None = None

    def allocate(self, n_words: int) -> Array:
        """Return zeros in another mapped file."""
        return mapped_zeros((n_words,), np.uint64, self.folder)


def mapped_zeros(shape: Sequence[int], dtype: DTypeLike, folder: str | None) -> Array:
    """Return zeros in a file that has no name, so that it goes with the process; its space is taken at once.

    Without that, a full disk would end the process when a page is written.
    """
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    try:
        with TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, max(n_bytes, 1))
            mapped = mmap.mmap(file.fileno(), max(n_bytes, 1))
    except OSError as error:
        raise PodiumError(
            f"A file of {n_bytes / 1e9:.3g} GB is needed in {folder or gettempdir()}, but: {error.strerror}; name "
            "another folder."
        ) from error
    return np.frombuffer(mapped, dtype, int(np.prod(shape))).reshape(shape)


class FeatureRuns:
    """The distinct values of each feature that has few, and what each weighs, gathered batch by batch."""

    def __init__(self, n_features: int) -> None:
        none = np.empty(0, np.float32)  # which does not make float32 values float64 where they meet
        self._runs: list[tuple[Array, Array] | None] = [(none, none)] * n_features

    def add(self, features: Array, shares: Array | None) -> None:
        """Take in some rows; `shares` are their rounded weights, None where all are alike."""
        for feature, runs in enumerate(self._runs):
            if runs is not None:
                more = distinct_runs(features[:, feature], shares)
                found = distinct_runs(*(np.concatenate(both) for both in zip(runs, more, strict=True)))
                self._runs[feature] = None if len(found[0]) > MOST_MERGED else found

    def of(self, feature: int) -> tuple[Array, Array] | None:
        """Return the distinct values of a feature, ascending, and what they weigh; None where they are too many."""
        return self._runs[feature]


def stream_uppers(
    batches: Batches, n_rows: int, sample: BinSample, runs: FeatureRuns, max_bins: int, folder: str | None
) -> list[Array]:
    """Return the uppermost values of the bins of each feature, in one pass.

    Parameters
    ----------
    batches : callable
    n_rows : int
        Rows of all batches.
    sample : BinSample
        Of all rows, in the order of the batches.
    runs : FeatureRuns
        Of all rows.
    max_bins : int
    folder : str or None
        Where sampled values are kept meanwhile.
    """
    n_sampled, filled = n_rows if sample.rows is None else len(sample.rows), 0
    chosen = np.empty((0, 0))
    for place, features in batches():
        if not chosen.size:
            chosen = mapped_zeros((features.shape[1], n_sampled), features.dtype, folder)
        taken = _taken(features, place, sample.rows)
        chosen[:, filled : filled + len(taken)] = taken.T
        filled += len(taken)
    return [
        sampled_uppers(column, sample, max_bins, partial(runs.of, feature)) for feature, column in enumerate(chosen)
    ]


def _taken(features: Array, place: slice, sampled: Array | None) -> Array:
    """Return the sampled ones of some rows."""
    if sampled is None:
        return features
    first, last = np.searchsorted(sampled, (place.start, place.stop))
    taken: Array = features[sampled[first:last] - place.start]
    return taken


def stream_codes(
    batches: Batches, order: Array, uppers: list[Array], folder: str | None, cuts: Cuts | None = None
) -> MappedBins:
    """Write the codes of all rows into a mapped file, in one pass.

    Parameters
    ----------
    batches : callable
    order : ndarray of int64
        Row i of the codes is row ``order[i]`` of the batches.
    uppers : list of ndarray
        Uppermost values of the bins of each feature.
    folder : str or None
    cuts : Cuts, optional
        Of the rows that the bins come from, if these are others.
    """
    place = np.empty(len(order), np.uint32)
    place[order] = np.arange(len(order), dtype=np.uint32)
    starts = range(0, len(uppers), BLOCK)
    codes = mapped_zeros((len(starts), len(order), BLOCK), CODE, folder)
    flags = np.zeros((2, len(uppers)), np.bool_)
    for rows, features in batches():
        for block, start in enumerate(starts):
            own = slice(start, start + BLOCK)
            encoded = np.zeros((len(features), BLOCK), CODE)
            flags[:, own] |= encode_block(np.ascontiguousarray(features[:, own].T), uppers[own], encoded)
            codes[block, place[rows]] = encoded
    return MappedBins(codes, Cuts.join(uppers, *flags) if cuts is None else cuts, folder)
