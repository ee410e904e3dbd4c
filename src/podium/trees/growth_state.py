"""What threads know of a tree that grows: records and groups of arrays, by name, for the kernels of `division`.

Records are fields of structured arrays, which kernels read and write in place; groups are NamedTuples of arrays and
records. Python allocates all of them once a tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from podium._compiled import ROW, SCORE
from podium._validation import Array
from podium.trees.split import Record, Records

NOTHING, PARTITION, JOIN, GATHER, FILL, SUMMED, SEARCH, ORDERED, VALUES = range(9)
"""Kinds of tasks; SUMMED says that what was filled has been exchanged with other parts, ORDERED that the leaves are
those of the tree."""
GROWN, STOPPED, FULL, FILLED, SEARCHED = range(5)
"""How a growth ends, at last or for now: no leaf is left to divide, as many steps as allowed are done, more histograms
are needed; and, where parts grow a tree together, histograms are to be summed up, or the best splits to be chosen."""
WORK = np.dtype({"names": ["remaining", "done", "over"], "formats": [ROW] * 3, "offsets": [0, 64, 128]})
"""Counters: items not taken yet, items done, whether the leader has left or a helper has failed; each in a cache line
of its own."""
TASK = np.dtype(
    [(name, ROW) for name in ("kind", "number", "n_items", "start", "stop", "feature", "middle", "smaller", "larger")]
)
"""The task: its kind, which one it is, its items; its rows; the feature to part by, and where the right rows begin; the
leaves that are searched, the larger one -1 for the root, both -1 where none is."""
GROWTH = np.dtype(
    [(name, ROW) for name in ("n_leaves", "divided", "steps_left", "end", "n_histograms", "n_used")]
    + [(name, ROW) for name in ("max_leaves", "max_depth", "min_rows", "min_shared_rows")]
    + [(name, ROW) for name in ("n_rows", "together", "n_batch", "n_begun")]
    + [("least_gain", SCORE)]
)
"""The tree so far: its leaves, the leaf that was divided last, how many steps are left, how the growth has ended,
leaves that there are histograms for, and how many of their places have been used. Then its limits: leaves, depth, rows
that a leaf must have to be searched, rows from which threads share what is done row by row; rows of the root in all
parts, and whether there are several parts; if so, the leaves of the batch that is divided before parts exchange
anything, and how many of them are begun. At last what the gain of a leaf must exceed, or it will never be divided."""
DIVISION = np.dtype([(name, ROW) for name in ("leaf", "smaller", "larger")])
"""A leaf of a batch, and its children if they are to be searched, else -1; the root has itself, and no larger one."""
LEAF = np.dtype(
    [(name, ROW) for name in ("start", "stop", "first", "count", "histogram", "depth", "parent", "on_left")]
    + [(name, SCORE) for name in ("lowest", "highest")]
)
"""A leaf: its rows here; its first row and its rows in all parts; place of its histograms, depth, the split above and
whether it is on its left; bounds of its value, or of the values of what is below. The place is -1 where it has none."""
RANGE = np.dtype([(name, ROW) for name in ("half_start", "half_stop", "feature_start", "feature_stop")])
"""What one item of a search is: a range of halves of words, and of the numeric features in them."""


class TreeData(NamedTuple):
    """What a tree is grown from; nothing here is written.

    Attributes
    ----------
    codes : uint8[n_blocks, n_rows, 16]
        Codes of the features.
    words : uint64
        The same in lines, see `as_lines`.
    planes : int64[1 or 2, n_rows]
        See `Packed`.
    gradient, curvature : float64[n_rows]
    used : bool[n_words]
        Words of which a feature is used.
    ranges, searched : RANGE[n_ranges]
        Items of a search: what is filled, and what of it is searched here, all of it where there is one part.
    features : int64
        Numeric features to use, ascending.
    """

    codes: Array
    words: Array
    planes: Array
    gradient: Array
    curvature: Array
    used: Array
    ranges: Records
    searched: Records
    features: Array


class Buffers(NamedTuple):
    """Large arrays that threads write disjoint parts of.

    Attributes
    ----------
    rows : uint32
        Rows of the leaves, one leaf after the other.
    spare_rows : uint32
        Rows that are parted, until they are joined.
    values : int64[1 or 2, n_rows]
        Packed gradients of the leaf that is searched, in the order of `rows`.
    histograms : int64[n_histograms, 1 or 2, n_words, 8, 256]
    """

    rows: Array
    spare_rows: Array
    values: Array
    histograms: Array


class Shared(NamedTuple):
    """What threads tell one another.

    Attributes
    ----------
    work : WORK
    task : TASK
    growth : GROWTH
    goes_left : bool[256]
        Which codes of the feature to part by go left.
    n_left : int64[n_chunks]
        Rows of each chunk that go left.
    found : SPLIT[n_ranges or max_leaves, 2]
        Best splits of each range that is searched, or of each leaf of a batch, of the smaller and the larger child.
    batch : DIVISION[max_leaves]
        Leaves that several parts divide before they exchange anything.
    """

    work: Record
    task: Record
    growth: Record
    goes_left: Array
    n_left: Array
    found: Records
    batch: Records


class GrowingTree(NamedTuple):
    """The tree; only the leader writes to it, but for the sums of leaves.

    Attributes
    ----------
    leaves : LEAF[max_leaves]
    best : SPLIT[max_leaves]
        Best split of each leaf; its gain is -1 where there is none.
    tables : bool[max_leaves or 1, 256]
        Which codes go left where the best split is by a set.
    splits : SPLIT[max_leaves]
        Splits that were made.
    divided : LEAF[max_leaves]
        Leaves that they have divided, as they were.
    digits : int64[max_leaves, 2, DIGITS]
        Exact sums of the gradients and of the curvatures of each leaf; overwritten where one part grows alone.
    sums : float64[max_leaves, 2]
        The same, rounded, where one part grows alone.
    """

    leaves: Records
    best: Records
    tables: Array
    splits: Records
    divided: Records
    digits: Array
    sums: Array


class Scratch(NamedTuple):
    """Buffers of one thread.

    Attributes
    ----------
    gains : float64[2]
        Largest gains of the two children so far.
    fetched : uint64[FETCHED]
        Codes that were fetched.
    cells : int64[CELLS_PER_LINE]
        Sums by code of the features of a line.
    terms : float64[TERMS_PER_CARRY]
        Terms of a sum.
    """

    gains: Array
    fetched: Array
    cells: Array
    terms: Array
