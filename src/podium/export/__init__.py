"""Models as files of other programs, and what would change there.

A ranker gives a `TreeSum` or a `Linear`; each format writes it as a file and scores rows as the readers of the file do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from podium._validation import Array, PodiumError, check_choice
from podium.export import lightgbm_text, onnx_model, python_code, ranklib, scorecard, solr, sql, xgboost_json
from podium.export.certificate import Change, ExportReport, compare_scores
from podium.export.ensemble import Exported, Linear, TreeSum, has_categories
from podium.model_file import check_writable, write_bytes

__all__ = ["FORMATS", "Change", "ExportReport", "Exported", "Format", "Linear", "TreeSum", "certify", "export_model"]

PLAIN = "It compares and adds up float64 numbers as Podium does, perhaps in another order."
FLOAT32 = "It holds features, thresholds and leaves, and adds them up, as float32"


@dataclass(frozen=True)
class Format:
    """A file format of other programs.

    Attributes
    ----------
    write : callable
        ``write(record, **options)`` is the content of the file.
    score : callable
        ``score(record, X, missing)`` scores rows as a reader of the file does; without `missing` where that is empty.
    reason : str
        Why scores may change.
    takes : tuple of type
        Records that can be written.
    missing : tuple of str
        What readers may do with missing values, the usual first; empty where the file says it.
    options : tuple of str
        Further options.
    categories : bool
        Whether splits on categories can be written.
    """

    write: Callable[..., str | bytes]
    score: Callable[..., Array]
    reason: str
    takes: tuple[type, ...] = (TreeSum,)
    missing: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    categories: bool = False


BOTH = (TreeSum, Linear)
FORMATS: dict[str, Format] = {
    "ranklib": Format(
        ranklib.write, ranklib.score, f"{FLOAT32} (stumps as float64), and reads a missing value as 0.",
        missing=ranklib.MISSING,
    ),
    "xgboost-json": Format(xgboost_json.write, xgboost_json.score, f"{FLOAT32}.", missing=xgboost_json.MISSING),
    "lightgbm": Format(lightgbm_text.write, lightgbm_text.score, PLAIN),
    "solr": Format(
        solr.write, solr.score, f"{FLOAT32}, thresholds after adding 1e-6; linear models there lack an intercept and "
        "read a missing value as 0.", BOTH, solr.MISSING, ("name", "store"),
    ),
    "onnx": Format(onnx_model.write, onnx_model.score, f"{FLOAT32}.", BOTH),
    "sql": Format(sql.write, sql.score, PLAIN, BOTH),
    "python": Format(python_code.write, python_code.score, PLAIN, BOTH),
    "scorecard": Format(scorecard.write, scorecard.score, PLAIN, options=("layout",)),
}  # fmt: skip
"""Every format by its name."""


def export_model(
    record: Exported,
    path: str | PathLike[str],
    format: str,
    feature_names: Sequence[str] | None = None,
    **options: Any,
) -> None:
    """Write a model in a format of other programs; the file is written whole or not at all.

    Parameters
    ----------
    record : TreeSum or Linear
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
        options["layout"] = check_choice(Path(path).suffix[1:].lower(), scorecard.LAYOUTS, "The ending of a scorecard")
    content = kind.write(_renamed(record, feature_names), **options)
    write_bytes(path, content if isinstance(content, bytes) else content.encode("utf-8"))


def certify(record: Exported, X: Array, ours: Array, query: Array, format: str, **options: Any) -> ExportReport:
    """Compare our scores with those that a reader of a format gives.

    Parameters
    ----------
    record : TreeSum or Linear
    X : ndarray
        Features, missing values NaN.
    ours : ndarray of float64
        Our scores of the rows.
    query : ndarray of int64
        Query number of each row.
    format : str
    **options
        As for `export_model`; ``missing`` says what the reader does with missing values.
    """
    kind = _check_format(record, format, options)
    given = {"missing": options.get("missing", kind.missing[0])} if kind.missing else {}
    return compare_scores(format, ours, kind.score(record, X, **given), query, kind.reason)


def _check_format(record: Exported, format: str, options: dict[str, Any]) -> Format:
    """Return the format, after a check that it can hold the model and takes the options."""
    kind = FORMATS[check_choice(format, FORMATS, "format")]
    known = (*(("missing",) if kind.missing else ()), *kind.options)
    for name in options:
        if name not in known:
            takes = f"takes the options {', '.join(known)}" if known else "takes no options"
            raise PodiumError(f"The format {format} {takes} beside feature_names; got {name}={options[name]!r}.")
    if "missing" in options:
        check_choice(options["missing"], kind.missing, f"missing, for the format {format},")
    if not isinstance(record, kind.takes):
        raise PodiumError(
            f"The format {format} holds trees, but {record.name} scores by a weighted sum of features; formats for it "
            f"are {', '.join(name for name, one in FORMATS.items() if Linear in one.takes)}."
        )
    if isinstance(record, TreeSum):
        _check_trees(record, format, kind)
    return kind


def _check_trees(record: TreeSum, format: str, kind: Format) -> None:
    """Refuse a model without trees, and categories where a format has none."""
    if not record.trees:
        raise PodiumError(f"This {record.name} has no trees, so there is nothing to export: all its scores are equal.")
    if has_categories(record.trees) and not kind.categories:
        able = ", ".join(name for name, one in FORMATS.items() if one.categories)
        raise PodiumError(f"The format {format} has no splits on sets of categories; formats with them: {able}.")


def _renamed(record: Exported, feature_names: Sequence[str] | None) -> Exported:
    """Return the record with the names that its file shall have."""
    if feature_names is None:
        return record
    names = list(feature_names)
    if isinstance(feature_names, str) or len(names) != record.n_features or not all(isinstance(n, str) for n in names):
        raise PodiumError(f"feature_names must be a list of {record.n_features} names; got {feature_names!r}.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise PodiumError(f"feature_names must differ from each other; {twice!r} comes twice.")
    return replace(record, feature_names=tuple(names))
