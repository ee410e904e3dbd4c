"""The settings of a training run: from --set and a TOML file, and as a model file keeps them."""

from __future__ import annotations

import shlex
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, NotRequired, TypedDict

from podium._validation import FormatError, near_matches
from podium.cli.options import Source, number_or_word, setting
from podium.cli.ranker_table import DEFAULT_RANKER, ranker_name
from podium.model_file import Column, Content, Scalar, Schema, Value, read_model
from podium.rankers import RANKERS, Estimator
from podium.rankers.other_spellings import check_parameter_names
from podium.tuning.settings_file import settings_text

RUN = Schema(
    Scalar("command", str),
    Scalar("data", str),
    Column("eval", str),
    Scalar("pairs", str, optional=True),
)
"""What a model file keeps of the run that made it, beside the ranker and its parameters."""
WORDS = {"None": None, "null": None}
"""What TOML has no word for."""


class Run(TypedDict):
    """What a model file keeps of the run that made it."""

    command: str
    data: str
    eval: list[str]
    pairs: NotRequired[str]


class Config(NamedTuple):
    """What a TOML file says of a run: the name of the ranker, if it does, and parameters."""

    ranker: str | None = None
    parameters: Mapping[str, object] = {}


def read_config(path: Path | None) -> Config:
    """Read ``ranker = "LambdaMART"`` and a table ``[parameters]`` from a TOML file."""
    if path is None:
        return Config()
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FormatError(path, f"this is not TOML ({error})") from None
    for key in content:
        if key not in Config._fields:
            raise FormatError(
                path, f"a run has ranker and [parameters]; got {key!r}{near_matches(key, Config._fields)}"
            )
    config = Config(**content)
    if not isinstance(config.ranker, str | None) or not isinstance(config.parameters, dict):
        raise FormatError(path, "ranker must be a name in quotes and [parameters] a table")
    return config._replace(parameters={key: _from_toml(value) for key, value in config.parameters.items()})


def make_ranker(
    name: str | None, settings: Sequence[str], config: Config | None = None, **defaults: object
) -> Estimator:
    """Return a ranker with parameters given as name=value, which go before those of a file."""
    given = config or Config()
    chosen = ranker_name(name or given.ranker or DEFAULT_RANKER, tuple(RANKERS))
    known = list(RANKERS[chosen]().get_params(deep=False))
    parameters = _with_labels({**given.parameters, **dict(map(setting, settings))})
    check_parameter_names(chosen, parameters, known)
    quiet = {key: value for key, value in defaults.items() if key in known}
    return RANKERS[chosen](**{**quiet, **parameters})


def number_columns(model: Estimator, names: Sequence[str] | None) -> None:
    """Let the keys of `thresholds` that are no names of columns be their numbers, from 0 as the parameter has them."""
    given = getattr(model, "thresholds", None)
    if isinstance(given, Mapping):
        known = names or ()
        model.set_params(
            thresholds={int(key) if key.isdecimal() and key not in known else key: one for key, one in given.items()}
        )


def run_content(source: Source, eval_files: Sequence[Path], pairs: Path | None) -> Content:
    """Return what a model file keeps of this run."""
    command = shlex.join(["podium", *sys.argv[1:]])
    content: Content = {"command": command, "data": str(source.file), "eval": [str(one) for one in eval_files]}
    return content if pairs is None else {**content, "pairs": str(pairs)}


def read_run(path: Path) -> Run | None:
    """Return what a model file keeps of the run that made it, checked; None where it was saved from Python."""
    content = read_model(path).get("run")
    if content is None:
        return None
    found = RUN.read(content, path, {})
    run: Run = {"command": found["command"], "data": found["data"], "eval": list(found["eval"])}
    if "pairs" in found:
        run["pairs"] = found["pairs"]
    return run


def to_toml(ranker: str, parameters: dict[str, Value], command: str | None) -> str:
    """Return a run as `read_config` reads it."""
    kept = {name: value for name, value in parameters.items() if name != "verbose"}  # which changes no model
    return settings_text(ranker, kept, () if command is None else (command,))


def _from_toml(value: object) -> object:
    """Return a value with None for its word."""
    if isinstance(value, list):
        return [_from_toml(one) for one in value]
    if isinstance(value, dict):
        return {key: _from_toml(one) for key, one in value.items()}
    return WORDS.get(value, value) if isinstance(value, str) else value


def _with_labels(parameters: Mapping[str, object]) -> Mapping[str, object]:
    """Return parameters with labels as the keys of `gain`: JSON and TOML have strings there."""
    gain = parameters.get("gain")
    if not isinstance(gain, dict):
        return parameters
    return {**parameters, "gain": {number_or_word(label): value for label, value in gain.items()}}
