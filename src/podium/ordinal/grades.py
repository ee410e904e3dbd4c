"""Grades: labels of any ordered kind as integers 0 … K-1, and the labels themselves for the way back."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import DataConversionWarning

from podium._compiled import ROW
from podium._frames import to_array
from podium._validation import Array, PodiumError, is_null

NUMBER_KINDS = "iufb"
"""Numpy's letters of labels that are numbers."""
FIT_LEVEL, SCORE_LEVEL = 6, 4
"""How far above a warning of labels the caller of `fit` stands, and that of `score`."""


def check_grades(y: ArrayLike, n_rows: int) -> tuple[Array, Array]:
    """Return the grade 0 … K-1 of each row and the label of each grade, lowest first.

    Numbers and strings are sorted. An ordered categorical of pandas and an Enum of polars bring their own order, and
    all their categories are grades, those without rows included: they say how far apart the others are.
    """
    if y is None:
        raise PodiumError("The ranker requires y to be passed, but the target y is None: it learns from grades.")
    own = _own_order(y)
    labels = _label_column(y, n_rows, FIT_LEVEL)
    if own is None:
        classes, grades = _sorted_grades(labels)
    else:
        classes, grades = own, _numbers_of(labels, own)
    n_used = len(np.unique(grades))
    if n_used < 2:
        raise PodiumError(
            f"y must have at least two grades; got one class, {labels.tolist()[0]!r}, in all {n_rows} rows: "
            "there is nothing to tell apart."
        )
    return grades.astype(ROW), classes


def grades_of(y: ArrayLike, n_rows: int, classes: Array) -> Array:
    """Return the grades of further labels, which must be among those of the fit."""
    labels = _label_column(y, n_rows, SCORE_LEVEL)
    grades = _numbers_of(labels, classes)
    return grades.astype(ROW)


class OwnLabels(NamedTuple):
    """The different labels of the rows of a part.

    Attributes
    ----------
    labels : ndarray
    order : ndarray or None
        All labels that there may be, lowest first, where the type of the labels says it.
    """

    labels: Array
    order: Array | None

    @classmethod
    def of(cls, y: ArrayLike, n_rows: int) -> OwnLabels:
        """Read the labels of a part."""
        labels = _label_column(y, n_rows, FIT_LEVEL)
        return cls(_sorted_grades(labels)[0], _own_order(y))


def merged_labels(parts: Sequence[OwnLabels]) -> Array:
    """Return the label of each grade, lowest first: those that `check_grades` finds in the rows of all parts."""
    orders = [None if part.order is None else part.order.tolist() for part in parts]
    if other := [order for order in orders if order != orders[0]]:
        raise PodiumError(
            f"y must have the same categories, in one order, in all parts; one has {orders[0]}, another {other[0]}."
        )
    classes, _ = _sorted_grades(np.concatenate([part.labels for part in parts]))
    require_two_labels(classes)
    return classes if parts[0].order is None else parts[0].order


def require_two_labels(classes: Array) -> None:
    """Refuse rows of several parts that all have one label."""
    if len(classes) < 2:
        raise PodiumError(
            f"y must have at least two grades; got one class, {classes.tolist()[0]!r}, in all rows: there is nothing "
            "to tell apart."
        )


def _own_order(y: ArrayLike) -> Array | None:
    """Return the categories of an ordered categorical of pandas or an Enum of polars, None for other labels."""
    kind = getattr(y, "dtype", None)
    categories = getattr(kind, "categories", None)
    if categories is None or not (getattr(kind, "ordered", False) or type(kind).__name__ == "Enum"):
        return None
    return np.asarray(categories.to_numpy())


def _label_column(y: ArrayLike, n_rows: int, stacklevel: int) -> Array:
    """Return labels as a column without holes; a matrix of one column is taken for it, with a warning."""
    labels = to_array(y, "y")
    if labels.ndim == 2 and labels.shape[1] == 1:
        text = "A column-vector y was passed when a 1d array was expected; consider y.ravel()."
        warnings.warn(text, DataConversionWarning, stacklevel=stacklevel)
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise PodiumError(f"y must be one-dimensional; got shape {labels.shape}.")
    if len(labels) != n_rows:
        raise PodiumError(f"y must have one grade per row: {n_rows} expected, {len(labels)} given.")
    _refuse_holes(labels)
    return labels


def _refuse_holes(labels: Array) -> None:
    """Refuse labels that are missing or not finite."""
    if labels.dtype.kind == "c":
        raise PodiumError(f"y must hold grades that can be ordered. Complex data not supported: {labels.dtype}.")
    if labels.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(labels))
    elif labels.dtype.kind == "O":
        bad = np.flatnonzero([is_null(value) for value in labels.tolist()])
    else:
        bad = np.flatnonzero(labels != labels)
    if len(bad):
        raise PodiumError(
            f"y must have a grade in every row; row {bad[0]} has {labels.tolist()[bad[0]]!r}: leave such rows out."
        )


def _sorted_grades(labels: Array) -> tuple[Array, Array]:
    """Return the sorted distinct labels and the number of each row's label among them."""
    try:
        classes, grades = np.unique(labels, return_inverse=True)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in labels.tolist()})
        raise PodiumError(f"y must be of one kind that can be ordered; got {' and '.join(kinds)}.") from None
    fractions = classes.dtype.kind == "f" and bool(np.any(classes != np.floor(classes)))
    if fractions and 2 * len(classes) > len(labels):
        raise PodiumError(
            f"y must hold grades, but looks continuous: {len(classes)} different values in {len(labels)} rows; "
            "cut it into grades first."
        )
    return classes, grades


def _numbers_of(labels: Array, classes: Array) -> Array:
    """Return the number of each label among `classes`."""
    number = {label: grade for grade, label in enumerate(classes.tolist())}
    given = labels.tolist()
    unknown = next((row for row, label in enumerate(given) if label not in number), None)
    if unknown is not None:
        known = ", ".join(map(repr, classes.tolist()[:10])) + (", …" if len(classes) > 10 else "")
        raise PodiumError(f"y must hold grades of the fit ({known}); row {unknown} has {given[unknown]!r}.")
    return np.array([number[label] for label in given], ROW)
