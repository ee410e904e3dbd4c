"""The vocabulary of model content: declared fields, from which writing, reading and checking follow.

A bound or a size may be a name: that of a number which is given at reading, such as ``n_features``, or which a field
before it has fixed. So one declaration serves models of every size::

    ROUNDS = Schema(Column("feature", np.int64, (0, "last_feature"), "n_rounds"), Column("alpha", size="n_rounds"))
    content = ROUNDS.write_rows(rounds)
    columns = ROUNDS.read(content, path, {"last_feature": n_features - 1})
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from reprlib import repr as short
from typing import Any, Protocol

import numpy as np

from podium._validation import Array, FormatError
from podium.model_file.values import Value

MOST_FEATURES = 2**31 - 1
"""Features of a model: they are numbered by int32."""

Path = str | PathLike[str]
Bound = float | str
Bounds = tuple[Bound, Bound]
"""Lowest and highest value, both allowed."""

COUNT: Bounds = (0, 2**63 - 1)
REAL: Bounds = (-math.inf, math.inf)
FINITE: Bounds = (-sys.float_info.max, sys.float_info.max)
NOT_NEGATIVE: Bounds = (0.0, sys.float_info.max)
POSITIVE: Bounds = (math.ulp(0.0), sys.float_info.max)
WORDS = {
    REAL: "number",
    FINITE: "finite number",
    NOT_NEGATIVE: "finite number of at least 0",
    POSITIVE: "positive finite number",
}
"""How messages name bounds."""
KINDS = {int: (int,), float: (int, float), bool: (bool,), str: (str,)}
"""Types that a scalar may have in a file; true is not a number."""


class Field(Protocol):
    """A value of a model file under a name; `attribute` is where the object that is written has it."""

    @property
    def name(self) -> str:
        """Key in the file."""

    @property
    def attribute(self) -> str:
        """Name in the object; that in the file where empty."""

    @property
    def optional(self) -> bool:
        """Whether the file may lack it."""

    def write(self, value: Any) -> Value:
        """Return the value as `write_model` takes it."""

    def read(self, value: Any, path: Path, sizes: dict[str, int]) -> Any:
        """Return the value of a file, checked; add to `sizes` what it fixes."""


@dataclass(frozen=True)
class Scalar:
    """One number, truth value or string.

    Attributes
    ----------
    name : str
    kind : {int, float, bool, str}
    bounds : tuple, optional
        By default those of a count for an int, and every finite number for a float.
    choices : tuple
        The only values there may be.
    attribute, optional
        As `Field` has them.
    """

    name: str
    kind: type[int] | type[float] | type[bool] | type[str]
    bounds: Bounds | None = None
    choices: tuple[float, ...] = ()
    attribute: str = ""
    optional: bool = False

    def write(self, value: Any) -> Value:
        """Return the value as its kind."""
        return self.kind(value)

    def read(self, value: Any, path: Path, sizes: dict[str, int]) -> Any:
        """Return the value of a file; a count is the size or bound of later fields."""
        default = COUNT if self.kind is int else FINITE
        low, high = _limits(default if self.bounds is None else self.bounds, sizes)
        known = type(value) in KINDS[self.kind] and (not self.choices or value in self.choices)
        if not known or (self.kind in (int, float) and not low <= value <= high):
            raise FormatError(path, f"{self.name} must be {self._wording(low, high)}; got {short(value)}")
        if self.kind is int:
            sizes[self.name] = value
        return self.kind(value)

    def _wording(self, low: float, high: float) -> str:
        """Say what the value must be."""
        if self.choices:
            return " or ".join(map(str, self.choices))
        if self.kind is int:
            return "an integer, " + (f"at least {low}" if high == COUNT[1] else f"from {low} to {high}")
        return {bool: "true or false", str: "a string", float: f"a {_number_within((low, high))}"}[self.kind]


@dataclass(frozen=True)
class Column:
    """An array of numbers, or a list of strings.

    Attributes
    ----------
    name : str
    dtype : type
        Of numpy, or str.
    bounds : tuple or None
        Of every number, by default the finite ones; None also lets NaN in. A truth value is 0 or 1 in any case.
    size : str
        Name of the number of entries; the first column with a name that was not given fixes it.
    width : int or str, optional
        Numbers of an entry, for a table: the file holds them row after row.
    choices : tuple
        The only values there may be.
    ascending : bool
        Whether the numbers, or those of each row of a table, must not fall.
    attribute, optional
        As `Field` has them.
    """

    name: str
    dtype: type = np.float64
    bounds: Bounds | None = FINITE
    size: str = ""
    width: int | str | None = None
    choices: tuple[float, ...] = ()
    ascending: bool = False
    attribute: str = ""
    optional: bool = False

    def write(self, value: Any) -> Value:
        """Return values of any shape as one column."""
        return [str(one) for one in value] if self.dtype is str else np.asarray(value, self.dtype).ravel()

    def read(self, value: Value, path: Path, sizes: dict[str, int]) -> Array:
        """Return the column, or table, of a file."""
        column = self._of_its_kind(value, path, sizes)
        width = 1 if self.width is None else int(_resolve(self.width, sizes))
        n_entries = sizes.setdefault(self.size, len(column) // width) if self.size else len(column) // width
        if len(column) != n_entries * width:
            raise FormatError(path, f"{self.name} must have {n_entries * width} entries; got {len(column)}")
        shaped = column if self.width is None else column.reshape(n_entries, width)
        if self.ascending and not np.all(shaped[..., 1:] >= shaped[..., :-1]):
            raise FormatError(path, f"{self.name} must be numbers that ascend")
        return shaped

    def _of_its_kind(self, value: Any, path: Path, sizes: Mapping[str, int]) -> Array:
        """Return the values as their type, each of them within its bounds."""
        if self.dtype is str:
            if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
                raise FormatError(path, f"{self.name} must be a list of strings")
            return np.array(value, object)
        limits = None if self.bounds is None else _limits((0, 1) if self.dtype is np.bool_ else self.bounds, sizes)
        whole = np.dtype(self.dtype).kind in "biu"
        known = isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in ("biu" if whole else "iuf")
        # Numbers of float32 beside bounds of float64 would overflow.
        if not known or not self._within(value if whole else value.astype(np.float64), limits):
            raise FormatError(path, f"{self.name} must be a list of {self._wording(whole, limits)}")
        numbers: Array = value.astype(self.dtype)
        return numbers

    def _within(self, values: Array, limits: tuple[float, float] | None) -> bool:
        """Say whether every value is one that there may be; NaN is within no limits."""
        if self.choices:
            return bool(np.isin(values, self.choices).all())
        return limits is None or bool(np.all((values >= limits[0]) & (values <= limits[1])))

    def _wording(self, whole: bool, limits: tuple[float, float] | None) -> str:
        """Say what the values must be."""
        if self.choices:
            return " or ".join(map(str, self.choices))
        if limits is None:
            return "numbers"
        if whole:
            return f"integers from {limits[0]} to {limits[1]}"
        return _number_within(limits).replace("number", "numbers")


class Schema:
    """Fields that a file keeps together.

    Parameters
    ----------
    *fields : Field
        In the order in which they are read.
    holds : str
        What they describe, for messages, such as "rounds".
    """

    def __init__(self, *fields: Field, holds: str = "") -> None:
        self.fields, self.holds = fields, holds

    def extended(self, *fields: Field) -> Schema:
        """Return a schema of these fields and further ones."""
        return Schema(*self.fields, *fields, holds=self.holds)

    def write(self, owner: object) -> dict[str, Value]:
        """Return what a file keeps of an object; optional fields that it lacks are left out."""
        given = [field for field in self.fields if not field.optional or hasattr(owner, _attribute(field))]
        return {field.name: field.write(getattr(owner, _attribute(field))) for field in given}

    def write_rows(self, records: Sequence[object]) -> dict[str, Value]:
        """Return columns with an entry, or a row of numbers, for each record."""
        return {
            field.name: field.write([getattr(record, _attribute(field)) for record in records]) for field in self.fields
        }

    def write_joined(self, parts: Sequence[object]) -> dict[str, Value]:
        """Return columns in which the arrays of all parts stand one after the other."""
        arrays = {field: [getattr(part, _attribute(field)).ravel() for part in parts] for field in self.fields}
        return {field.name: field.write(np.concatenate([np.empty(0, bool), *own])) for field, own in arrays.items()}

    def read(self, content: Value, path: Path, sizes: Mapping[str, int]) -> dict[str, Any]:
        """Return the fields of a file by name, each checked; optional ones that it lacks are left out.

        Parameters
        ----------
        content : dict
            What `write` returned, maybe among other things.
        path : path
            For messages.
        sizes : mapping of str to int
            Bounds and sizes that the fields name.
        """
        known, found = dict(sizes), {}
        for field in self.fields:
            value = content.get(field.name) if isinstance(content, dict) else None
            if value is not None:
                found[field.name] = field.read(value, path, known)
            elif not field.optional:
                raise FormatError(path, self._lacks(field.name))
        return found

    def restore(self, owner: object, content: Value, path: Path, sizes: Mapping[str, int]) -> None:
        """Give an object what a file keeps of it."""
        found = self.read(content, path, sizes)
        for field in self.fields:
            if field.name in found:
                setattr(owner, _attribute(field), found[field.name])

    def _lacks(self, name: str) -> str:
        """Say that a field is missing."""
        start = f"the {self.holds} of the model are incomplete: " if self.holds else ""
        return f"{start}{name} is missing"


def _number_within(limits: tuple[float, float]) -> str:
    """Name the real numbers within limits."""
    return WORDS.get(limits, f"number from {limits[0]:g} to {limits[1]:g}")


def _attribute(field: Field) -> str:
    """Return the name that a field has in the object."""
    return field.attribute or field.name


def _limits(bounds: Bounds, sizes: Mapping[str, int]) -> tuple[float, float]:
    """Return bounds with numbers in the place of names."""
    return _resolve(bounds[0], sizes), _resolve(bounds[1], sizes)


def _resolve(bound: Bound, sizes: Mapping[str, int]) -> float:
    """Return a bound or size, looked up where it is a name."""
    return sizes[bound] if isinstance(bound, str) else bound
