"""Values of a model as JSON and arrays: what JSON lacks is written as an object of one key that starts with "$"."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from reprlib import repr as short
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from podium._types import Json
from podium._validation import Array, FormatError, PodiumError

MAX_LEVELS = 64
"""Most levels of a document; a ranker inside a ranker takes a few."""
PART = re.compile(r"[A-Za-z0-9_]+")
"""Keys that can be part of a member's name."""
LONGEST_NAME = 100
"""Letters of a member's name that says where its array stands."""
FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


Value: TypeAlias = "str | float | np.generic | Array | Unfitted | Sequence[Value] | Mapping[Any, Value] | None"
"""What a model file holds: plain values, numpy's numbers and arrays, unfitted rankers, and lists and dicts of these."""
Content: TypeAlias = Mapping[str, Value]
"""Values by name: what a file holds of a ranker, of rounds, of anything with fields."""


class Unfitted(NamedTuple):
    """A ranker that is a parameter of another: its name and its own parameters."""

    ranker: str
    parameters: Content


def encode(content: Content) -> tuple[Json, dict[str, Array]]:
    """Return content for JSON, with names in the place of arrays, and the arrays by these names."""
    encoder = _Encoder()
    return encoder.value(content, ()), encoder.arrays


class _Encoder:
    """Writes values, and keeps the arrays that it meets."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        self.makers: dict[type, Callable[[Any, tuple[str, ...]], Json]] = {
            float: lambda value, _: value if math.isfinite(value) else {"$float": str(value)},
            np.ndarray: self.array,
            Unfitted: self.unfitted,
            list: self.items,
            tuple: lambda value, place: {"$tuple": self.items(value, place)},
            dict: self.mapping,
        }

    def value(self, value: Any, place: tuple[str, ...]) -> Json:
        """Return a value for JSON; `place` says where in the content it stands."""
        if isinstance(value, np.generic):
            value = value.item()
        plain = value is None or isinstance(value, str | bool | int)
        make = next((make for kind, make in self.makers.items() if isinstance(value, kind)), None)
        if not (plain or make) or len(place) > MAX_LEVELS:
            raise PodiumError(f"A model file cannot hold {'/'.join(place)}={short(value)}.")
        return make(value, place) if make else value

    def items(self, values: Iterable[Value], place: tuple[str, ...]) -> list[Json]:
        """Return the values of a list."""
        return [self.value(value, (*place, str(number))) for number, value in enumerate(values)]

    def mapping(self, given: dict[Any, Value], place: tuple[str, ...]) -> dict[str, Json]:
        """Return an object, or a list of keys and values where JSON, or our own marks, cannot have the keys."""
        if all(isinstance(key, str) and not key.startswith("$") for key in given):
            return {key: self.value(value, (*place, key)) for key, value in given.items()}
        return {"$map": [self.items(item, (*place, str(number))) for number, item in enumerate(given.items())]}

    def unfitted(self, one: Unfitted, place: tuple[str, ...]) -> dict[str, Json]:
        """Return the name of a ranker and its parameters, one level further down, where the decoder counts them."""
        return {"$ranker": one.ranker, "parameters": self.value(one.parameters, (*place, "parameters"))}

    def array(self, array: Array, place: tuple[str, ...]) -> dict[str, Json]:
        """Keep an array under a name that says where it stands."""
        name = "/".join(place)
        if len(name) > LONGEST_NAME or not all(PART.fullmatch(part) for part in place):
            name = f"array-{len(self.arrays)}"
        name += ".npy"
        self.arrays[name] = array
        return {"$array": name}


def decode(document: dict[str, Json], arrays: dict[str, Array], path: str | PathLike[str]) -> Content:
    """Return the content that `encode` wrote; every array must be named once."""
    decoder = _Decoder(dict(arrays), path)
    content: Content = decoder.value(document, 0)
    if decoder.arrays:
        raise FormatError(path, f"nothing names its array {min(decoder.arrays)}")
    return content


class _Decoder:
    """Reads values, and takes each array once: a second user of it could take the memory a second time."""

    def __init__(self, arrays: dict[str, Array], path: str | PathLike[str]) -> None:
        self.arrays, self.path = arrays, path
        self.makers: dict[frozenset[str], Callable[[dict[str, Json], int], Value]] = {
            frozenset({"$float"}): self.float,
            frozenset({"$array"}): self.array,
            frozenset({"$ranker", "parameters"}): self.unfitted,
            frozenset({"$tuple"}): lambda given, level: tuple(self.items(given["$tuple"], level)),
            frozenset({"$map"}): self.mapping,
        }

    def value(self, given: Json, level: int) -> Any:
        """Return a value of the document."""
        if level > MAX_LEVELS:
            raise self.error(f"its values are nested more than {MAX_LEVELS} levels deep")
        if isinstance(given, list):
            return self.items(given, level)
        if not isinstance(given, dict):
            return given
        if not any(key.startswith("$") for key in given):
            return {key: self.value(value, level + 1) for key, value in given.items()}
        make = self.makers.get(frozenset(given))
        if make is None:
            raise self.error(f"its mark {short(next(key for key in given if key.startswith('$')))} is not known")
        return make(given, level)

    def items(self, given: Json, level: int) -> list[Any]:
        """Return the values of a list."""
        if not isinstance(given, list):
            raise self.error(f"its list {short(given)} is none")
        return [self.value(value, level + 1) for value in given]

    def float(self, given: dict[str, Json], level: int) -> float:
        """Return a number that JSON has no word for."""
        word = given["$float"]
        if not isinstance(word, str) or word not in FLOATS:
            raise self.error(f"its number {short(word)} is none")
        return FLOATS[word]

    def array(self, given: dict[str, Json], level: int) -> Array:
        """Return an array, which nothing else may name."""
        name = given["$array"]
        if not isinstance(name, str) or name not in self.arrays:
            raise self.error(f"its array {short(name)} is missing, or named twice")
        return self.arrays.pop(name)

    def mapping(self, given: dict[str, Json], level: int) -> dict[Any, Value]:
        """Return a dict with keys of any plain kind."""
        items = self.items(given["$map"], level)
        if not all(isinstance(item, list) and len(item) == 2 for item in items):
            raise self.error("its mapping must be a list of keys with their values")
        if not all(isinstance(key, str | int | float | None) for key, _ in items):
            raise self.error("its mapping has keys that are neither strings nor numbers")
        return dict(items)

    def unfitted(self, given: dict[str, Json], level: int) -> Unfitted:
        """Return the name and parameters of a ranker that is a parameter."""
        name, parameters = given["$ranker"], self.value(given["parameters"], level + 1)
        if not isinstance(name, str) or not isinstance(parameters, dict):
            raise self.error(f"its ranker {short(name)} has no name or no parameters")
        return Unfitted(name, parameters)

    def error(self, problem: str) -> FormatError:
        """Return the error to raise."""
        return FormatError(self.path, problem)
