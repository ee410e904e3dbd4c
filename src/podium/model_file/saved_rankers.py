"""Rankers in model files: the table of those that a file may name, their parameters, and rankers inside others."""

from __future__ import annotations

from os import PathLike
from reprlib import repr as short
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from podium._validation import FormatError, PodiumError
from podium.model_file.values import Content, Unfitted, Value


class SavedRanker(Protocol):
    """What a ranker of the library has for files."""

    n_features_in_: int

    def content(self) -> Content:
        """Return what a model file keeps of the fitted ranker."""

    @classmethod
    def from_content(cls, content: Content, path: str | PathLike[str]) -> Self:
        """Return the fitted ranker that a model file holds."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the names of its parameters."""

    def get_params(self, deep: bool = True) -> dict[str, Value]:
        """Return its parameters."""

    def _check_parameters(self) -> None:
        """Refuse parameters that `fit` would refuse."""


Kind = TypeVar("Kind", bound=SavedRanker)

RANKERS: dict[str, Any] = {}
"""The rankers that a file may name: every class that `podium.rankers` lists there."""


def fitted_ranker(content: Value, path: str | PathLike[str]) -> Any:
    """Return the fitted ranker that `content` described: that of a file, or one inside another."""
    name = content.get("ranker") if isinstance(content, dict) else None
    if isinstance(content, dict) and name is None and "checkpoint" in content:
        raise FormatError(path, "it is a checkpoint, from which a fit with checkpoint=... goes on, and no model")
    return _ranker_named(name, path).from_content(content, path)


def inner_ranker(content: Value, path: str | PathLike[str], n_features: int, name: str) -> Any:
    """Return the fitted ranker inside another, which must take so many features; `name` says what it is there."""
    ranker = fitted_ranker(content, path)
    if ranker.n_features_in_ != n_features:
        raise FormatError(path, f"the {name} must have {n_features} features; it has {ranker.n_features_in_}")
    return ranker


def content_of(ranker: Any) -> Content:
    """Return what a file keeps of a fitted ranker inside another; refuse what is not of the library."""
    require_builtin_ranker(ranker)
    content: Content = ranker.content()
    return content


def require_builtin_ranker(ranker: object) -> None:
    """Refuse what `load` would not know."""
    if RANKERS.get(type(ranker).__name__) is not type(ranker):
        raise PodiumError(f"A model file holds rankers of Podium only; {type(ranker).__name__} is not one of them.")


def kept_parameters(ranker: SavedRanker) -> Content:
    """Return the parameters of a ranker as a file can hold them; refuse those that it cannot."""
    require_builtin_ranker(ranker)
    given = ranker.get_params(deep=False)
    if isinstance(given.get("random_state"), np.random.RandomState) and hasattr(ranker, "seed_"):
        given["random_state"] = ranker.seed_
    return {name: _kept_value(name, value) for name, value in given.items()}


def _kept_value(name: str, value: Any) -> Value:
    """Return a parameter, or a part of one, with rankers as `Unfitted` and paths as strings."""
    if type(value) in RANKERS.values():
        return Unfitted(type(value).__name__, kept_parameters(value))
    if isinstance(value, PathLike):
        return str(value)
    if isinstance(value, list | tuple):
        kept = [_kept_value(name, one) for one in value]
        return kept if isinstance(value, list) else tuple(kept)
    if isinstance(value, dict):
        return {key: _kept_value(name, one) for key, one in value.items()}
    if value is None or isinstance(value, str | bool | int | float | np.generic | np.ndarray):
        return value
    raise PodiumError(
        f"A model file holds values and no code: {name}={value!r} cannot be kept. Scores do not depend on it any more, "
        f"so that set_params({name}=...) with another value lets the model be saved."
    )


def make_ranker(kind: type[Kind], parameters: Value, path: str | PathLike[str]) -> Kind:
    """Return a ranker with the parameters of a file, each of which must be one that `fit` would take."""
    if not isinstance(parameters, dict) or not parameters.keys() <= set(kind._get_param_names()):
        raise FormatError(path, f"the parameters are not those of {kind.__name__}")
    given = {name: _given_value(value, path) for name, value in parameters.items()}
    try:
        ranker = kind(**given)
        ranker._check_parameters()
    except (PodiumError, TypeError, OverflowError) as error:  # the latter two from missing ones, and scikit-learn
        raise FormatError(path, f"a parameter cannot be used. {str(error).rstrip('.')}") from None
    return ranker


def _given_value(value: Value, path: str | PathLike[str]) -> Any:
    """Return a parameter, or a part of one, with rankers in the place of `Unfitted`."""
    if isinstance(value, Unfitted):
        return make_ranker(_ranker_named(value.ranker, path), value.parameters, path)
    if isinstance(value, list | tuple):
        given = [_given_value(one, path) for one in value]
        return given if isinstance(value, list) else tuple(given)
    if isinstance(value, dict):
        return {key: _given_value(one, path) for key, one in value.items()}
    return value


def _ranker_named(name: Value, path: str | PathLike[str]) -> Any:
    """Return a ranker of the library."""
    kind = RANKERS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise FormatError(path, f"the ranker {short(name)} is not known")
    return kind
