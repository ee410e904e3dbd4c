"""Models as files of other programs, and what would change there.

A ranker gives a `TreeSum`, a `Linear` or a `NetScore`, an ordinal one a `Graded` made of sums; each format writes it as
a file and scores rows as the readers of the file do.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from podium._validation import Array, PodiumError, check_choice
from podium.export.certificate import Change, ExportReport, compare_scores
from podium.export.ensemble import Additive, Exported, Linear, NetScore, TreeSum, stump_tree
from podium.export.formats import FLOAT32, FORMATS, Format
from podium.export.graded_record import Graded, Writable, graded_votes, negated
from podium.export.scorecard import LAYOUTS
from podium.export.tree_text import LARGEST, check_missing_as_zero, nearest_float32, why_elsewhere
from podium.export.tree_text import feature_names as names_of
from podium.model_file import check_writable, write_bytes

__all__ = [
    "FORMATS",
    "Additive",
    "Change",
    "ExportReport",
    "Exported",
    "Format",
    "Graded",
    "Linear",
    "NetScore",
    "TreeSum",
    "Writable",
    "certify",
    "check_options",
    "export_model",
    "graded_votes",
    "negated",
    "options_for_complete_rows",
    "stump_tree",
]


ROWS_AT_ONCE = 8192
"""Rows scored together as a target does, which takes memory for a number of each row and tree."""


MEANS = {
    TreeSum: "scores by trees",
    Linear: "scores by a weighted sum of features",
    NetScore: "scores by a net",
    Graded: "predicts grades",
}
"""What a model does, for messages."""


def export_model(
    record: Writable,
    path: str | PathLike[str],
    format: str,
    feature_names: Sequence[str] | None = None,
    **options: Any,
) -> None:
    """Write a model in a format of other programs; the file is written whole or not at all.

    Parameters
    ----------
    record : TreeSum, Linear or Graded
    path : str or path-like
    format : str
        A key of `FORMATS`.
    feature_names : sequence of str, optional
        Names in the file, instead of those of the model.
    **options
        Of the format: ``missing``, and what its `options` name.
    """
    kind = _check_format(record, format, options)
    check_writable(path)
    if format == "scorecard" and "layout" not in options:
        options["layout"] = check_choice(Path(path).suffix[1:].lower(), LAYOUTS, "The ending of a scorecard")
    write_bytes(path, _content(_renamed(record, feature_names), kind, options))


def options_for_complete_rows(record: Writable, format: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options for a model of rows without missing values, which readers may then take for 0.

    A format whose readers do so by default would refuse a model that sends a missing value elsewhere than 0. Where none
    was there in training, the split sent it anywhere: the file is written as for complete rows, with a warning.
    """
    kind = check_options(format, options)
    if "missing" in options or kind.missing[:1] != ("zero",) or not isinstance(record, TreeSum):
        return options
    try:
        check_missing_as_zero(record, nearest_float32, format)
    except PodiumError:
        warnings.warn(
            f'No value was missing in training, so missing="absent" was taken for the format {format}: its readers '
            "would take a missing value for 0; score complete rows there.",
            stacklevel=3,
        )
        return {**options, "missing": "absent"}
    return options


def certify(
    record: Writable,
    X: Array,
    ours: Array,
    query: Array,
    format: str,
    feature_names: Sequence[str] | None = None,
    **options: Any,
) -> ExportReport:
    """Compare our scores with those that a reader of a format gives; refuse a model that no file can hold.

    A file that is refused for what its reader does with missing values alone is compared, so that one can see what.

    Parameters
    ----------
    record : TreeSum, Linear or Graded
    X : ndarray
        Features, missing values NaN.
    ours : ndarray of float64
        Our scores of the rows, or their grades 0 … K-1.
    query : ndarray of int64
        Query number of each row.
    format : str
    feature_names : sequence of str, optional
        As for `export_model`.
    **options
        As for `export_model`; ``missing`` says what the reader does with missing values.
    """
    kind = _check_format(record, format, options)
    record = _renamed(record, feature_names)
    _content(record, kind, {**options, "missing": "absent"} if kind.missing else options)
    given = {"missing": options.get("missing", kind.missing[0])} if kind.missing else {}

    def why(row: int) -> str:
        """Say why the score of a row is another."""
        if kind.rules is None or not isinstance(record, TreeSum):
            return kind.sums
        return why_elsewhere(record, X[row], kind.rules(record, **given)) or kind.sums

    parts = [X[start : start + ROWS_AT_ONCE] for start in range(0, len(X), ROWS_AT_ONCE)]
    theirs = np.concatenate([kind.score(record, part, **given) for part in parts])
    return compare_scores(format, ours, theirs, query, why)


def check_options(format: str, options: Mapping[str, Any]) -> Format:
    """Return the format of that name, after a check of its options."""
    kind = FORMATS[check_choice(format, FORMATS, "format")]
    known = (*(("missing",) if kind.missing else ()), *kind.options)
    for name, value in options.items():
        if name not in known:
            takes = f"takes the options {', '.join(known)}" if known else "takes no options"
            raise PodiumError(f"The format {format} {takes} beside feature_names; got {name}={value!r}.")
        if name != "missing" and not isinstance(value, str):
            raise PodiumError(f"{name}, for the format {format}, must be a string; got {value!r}.")
    if "missing" in options:
        check_choice(options["missing"], kind.missing, f"missing, for the format {format},")
    return kind


def _content(record: Writable, kind: Format, options: Mapping[str, object]) -> bytes:
    """Return the file of a model."""
    content = kind.write(record, **options)
    try:
        return content if isinstance(content, bytes) else content.encode("utf-8")
    except UnicodeEncodeError as error:
        raise PodiumError(f"A name or a category holds {error.object[error.start]!r}, which is no character.") from None


def _check_format(record: Writable, format: str, options: dict[str, Any]) -> Format:
    """Return the format, after a check that it can hold the model and takes the options."""
    kind = check_options(format, options)
    if not isinstance(record, kind.takes):
        raise PodiumError(
            f"The format {format} holds {_held(record, kind)}, but {record.name} {MEANS[type(record)]}; formats for it "
            f"are {', '.join(name for name, one in FORMATS.items() if type(record) in one.takes)}."
        )
    for part in record.steps if isinstance(record, Graded) else (record,):
        _check_scores(part, format, kind)
    return kind


def _held(record: Writable, kind: Format) -> str:
    """Say what a format holds, as far as it has to do with a record."""
    if isinstance(record, Graded) and Linear in kind.takes:
        return "scores"
    return "trees and weighted sums" if isinstance(record, NetScore) and Linear in kind.takes else "trees"


def _check_scores(record: Exported, format: str, kind: Format) -> None:
    """Refuse a sum that a format cannot hold."""
    if isinstance(record, NetScore):
        _check_net(record, format)
    elif isinstance(record, TreeSum):
        _check_trees(record, format, kind)
    if kind.rules is not None and (not isinstance(record, TreeSum) or kind.rules(record).value is np.float32):
        _check_float32(record, format)
    if kind.check is not None:
        kind.check(record)


def _check_trees(record: TreeSum, format: str, kind: Format) -> None:
    """Refuse a model without trees, and categories where a format has none."""
    if not record.trees:
        raise PodiumError(f"This {record.name} has no trees, so there is nothing to export: all its scores are equal.")
    by_set = next((int(tree.feature[tree.set_of >= 0][0]) for tree in record.trees if len(tree.sets)), None)
    if by_set is not None and not kind.categories:
        able = ", ".join(name for name, one in FORMATS.items() if one.categories)
        raise PodiumError(
            f"The format {format} has no splits on sets of categories, but this {record.name} splits "
            f"{names_of(record)[by_set]!r} so; formats that have them are {able}."
        )


def _check_net(record: NetScore, format: str) -> None:
    """Refuse a net of categories: formats take numbers alone."""
    if len(record.inputs.categorical):
        name = names_of(record)[int(record.inputs.categorical[0])]
        raise PodiumError(
            f"The format {format} takes numbers, but this {record.name} reads the categories of {name!r}; give it "
            "columns of numbers, 1 for a category and 0 for the others, to export it."
        )


def _check_float32(record: Exported, format: str) -> None:
    """Refuse numbers above the range of float32 where a format adds up in float32."""
    if isinstance(record, Linear):
        numbers = np.concatenate([record.weights, record.missing, [record.intercept]])
    elif isinstance(record, NetScore):
        numbers = np.concatenate([record.inputs.scaling.means, 1.0 / record.inputs.scaling.deviations, [0.0]])
    else:
        numbers = np.concatenate([[record.base], *(tree.value for tree in record.trees)])
    largest = numbers[np.argmax(np.abs(numbers))]
    if abs(largest) > LARGEST:
        able = ", ".join(name for name, one in FORMATS.items() if one.sums != FLOAT32 and isinstance(record, one.takes))
        raise PodiumError(
            f"The format {format} adds up in float32, up to {LARGEST:.3g}, but this {record.name} has to add "
            f"{largest:.3g}; formats of float64 are {able}."
        )


def _renamed(record: Writable, feature_names: Sequence[str] | None) -> Writable:
    """Return the record with the names that its file shall have."""
    if feature_names is None:
        return record
    names = list(feature_names)
    if isinstance(feature_names, str) or not all(isinstance(name, str) for name in names):
        got = repr(feature_names if isinstance(feature_names, str) else names)
        raise PodiumError(f"feature_names must be a list of {record.n_features} names; got {got}.")
    if len(names) != record.n_features:
        raise PodiumError(f"feature_names must be a list of {record.n_features} names; got {len(names)}.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise PodiumError(f"feature_names must differ from each other; {twice!r} comes twice.")
    return record.renamed(tuple(names)) if isinstance(record, Graded) else replace(record, feature_names=tuple(names))
