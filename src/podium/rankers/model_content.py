"""What a model file keeps of a ranker beside what it learned: its parameters and the summary of its training."""

from __future__ import annotations

from os import PathLike
from reprlib import repr as short
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from podium._validation import Array, FormatError, PodiumError
from podium.model_file import Unfitted, check_whole

if TYPE_CHECKING:
    from podium.rankers.estimator import Estimator

Kind = TypeVar("Kind", bound="Estimator")

COUNTS = ("rows", "queries", "features", "grades", "pairs")
"""What `training_summary_` says of the training data."""
ATTRIBUTES = {"seed": "seed_", "best_round": "best_iteration_", "stop_reason": "stop_reason_", "evals": "evals_result_"}
"""What else the summary in a file holds, and the attributes that it comes from."""


def known_rankers() -> dict[str, type[Estimator]]:
    """Return the rankers of the library by name; they are imported late, for they all import this module."""
    from podium.rankers import RANKERS

    return RANKERS


def fitted_ranker(content: Any, path: str | PathLike[str]) -> Estimator:
    """Return the fitted ranker that `Ranker.content` described: that of a file, or one inside another."""
    name = content.get("ranker") if isinstance(content, dict) else None
    return _ranker_named(name, path).from_content(content, path)


def inner_ranker(content: Any, path: str | PathLike[str], n_features: int, name: str) -> Estimator:
    """Return the fitted ranker inside another, which must take so many features; `name` says what it is there."""
    ranker = fitted_ranker(content, path)
    if ranker.n_features_in_ != n_features:
        raise FormatError(path, f"the {name} must have {n_features} features; it has {ranker.n_features_in_}")
    return ranker


def content_of(ranker: Any) -> dict[str, Any]:
    """Return what a file keeps of a fitted ranker inside another; refuse what is not of the library."""
    refuse_strangers(ranker)
    content: dict[str, Any] = ranker.content()
    return content


def refuse_strangers(ranker: Any) -> None:
    """Refuse what `load` would not know."""
    if known_rankers().get(type(ranker).__name__) is not type(ranker):
        raise PodiumError(f"A model file holds rankers of Podium only; {type(ranker).__name__} is not one of them.")


def kept_parameters(ranker: Estimator) -> dict[str, Any]:
    """Return the parameters of a ranker as a file can hold them; refuse those that it cannot."""
    refuse_strangers(ranker)
    given = ranker.get_params(deep=False)
    if isinstance(given.get("random_state"), np.random.RandomState) and hasattr(ranker, "seed_"):
        given["random_state"] = ranker.seed_
    return {name: _kept_value(name, value) for name, value in given.items()}


def _kept_value(name: str, value: Any) -> Any:
    """Return a parameter, or a part of one, with rankers as `Unfitted` and paths as texts."""
    if type(value) in known_rankers().values():
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


def make_ranker(kind: type[Kind], parameters: Any, path: str | PathLike[str]) -> Kind:
    """Return a ranker with the parameters of a file, each of which must be one that `fit` would take."""
    if not isinstance(parameters, dict) or not parameters.keys() <= set(kind._get_param_names()):
        raise FormatError(path, f"the parameters are not those of {kind.__name__}")
    given = {name: _given_value(value, path) for name, value in parameters.items()}
    try:
        ranker = kind(**kind._current_parameters(given))
        ranker._check_parameters()
    except (PodiumError, TypeError) as error:  # the latter from missing ones
        raise FormatError(path, f"a parameter cannot be used. {str(error).rstrip('.')}") from None
    return ranker


def _given_value(value: Any, path: str | PathLike[str]) -> Any:
    """Return a parameter, or a part of one, with rankers in the place of `Unfitted`."""
    if isinstance(value, Unfitted):
        return make_ranker(_ranker_named(value.ranker, path), value.parameters, path)
    if isinstance(value, list | tuple):
        given = [_given_value(one, path) for one in value]
        return given if isinstance(value, list) else tuple(given)
    if isinstance(value, dict):
        return {key: _given_value(one, path) for key, one in value.items()}
    return value


def _ranker_named(name: Any, path: str | PathLike[str]) -> type[Estimator]:
    """Return a ranker of the library."""
    kind = known_rankers().get(name) if isinstance(name, str) else None
    if kind is None:
        raise FormatError(path, f"the ranker {short(name)} is not known")
    return kind


def summary_of(features: Any, labels: Array | None, n_queries: int = 0, n_pairs: int = 0) -> dict[str, int]:
    """Return what there was to learn from: rows, queries, features, different labels, explicit pairs."""
    grades = 0 if labels is None else len(np.unique(labels))
    return dict(zip(COUNTS, (features.shape[0], n_queries, features.shape[1], grades, n_pairs), strict=True))


def training_content(ranker: Estimator) -> dict[str, Any]:
    """Return the summary of the training: the data, the seed, the best round, why it ended, and what was measured."""
    found = {name: getattr(ranker, attribute) for name, attribute in ATTRIBUTES.items() if hasattr(ranker, attribute)}
    return {**getattr(ranker, "training_summary_", {}), **found}


def take_training(ranker: Any, training: Any, path: str | PathLike[str]) -> None:
    """Give a ranker the summary that `training_content` returned, each value checked; protocol 1 has none."""
    if not isinstance(training, dict):
        raise FormatError(path, "the summary of the training is not one")
    if training.keys() & set(COUNTS):
        ranker.training_summary_ = {name: check_whole(training.get(name), path, name) for name in COUNTS}
    if "seed" in training:
        ranker.seed_ = check_whole(training["seed"], path, "seed")
    if "best_round" in training and training["best_round"] != getattr(ranker, "best_iteration_", None):
        raise FormatError(path, "best_round is not the best_iteration of what was learned")
    if "stop_reason" in training:
        ranker.stop_reason_ = _check_text(training["stop_reason"], path)
    if "evals" in training:
        ranker.evals_result_ = _check_evals(training["evals"], path)


def _check_text(value: Any, path: str | PathLike[str]) -> str:
    """Return the reason why the training ended."""
    if not isinstance(value, str):
        raise FormatError(path, f"stop_reason must be a text; got {short(value)}")
    return value


def _check_evals(evals: Any, path: str | PathLike[str]) -> dict[str, dict[str, list[float]]]:
    """Return the values that were measured: by set, by measure, one a round."""
    sets = evals.values() if isinstance(evals, dict) else [None]
    series = [one for measures in sets for one in (measures.values() if isinstance(measures, dict) else [None])]
    if not all(isinstance(one, list) and all(type(value) in (int, float) for value in one) for one in series):
        raise FormatError(path, "evals must hold a list of numbers for each measure of each set")
    return dict(evals)
