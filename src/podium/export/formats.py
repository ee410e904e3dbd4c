"""The formats of other programs by name: what writes each, how its readers score, and what it can hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from podium._validation import Array
from podium.export import lightgbm_text, onnx_model, python_code, ranklib_text, scorecard, solr, sql, xgboost_json
from podium.export.ensemble import Linear, NetScore, TreeSum
from podium.export.graded_record import Graded
from podium.export.tree_text import Rules


@dataclass(frozen=True)
class Format:
    """A file format of other programs.

    Attributes
    ----------
    write : callable
        ``write(record, **options)`` is the content of the file.
    score : callable
        ``score(record, X, missing)`` scores rows as a reader of the file does; without `missing` where that is empty.
    sums : str
        How its sums may differ from ours.
    rules : callable or None
        ``rules(record, missing)`` is how a reader walks through trees, where that is not as we do.
    takes : tuple of type
        Records that can be written.
    missing : tuple of str
        What readers may do with missing values, the usual first; empty where the file says it.
    options : tuple of str
        Further options.
    check : callable or None
        ``check(record)`` refuses what else the format cannot hold.
    categories : bool
        Whether splits on categories can be written.
    """

    write: Callable[..., str | bytes]
    score: Callable[..., Array]
    sums: str = "it adds up in another order"
    rules: Callable[..., Rules] | None = None
    takes: tuple[type, ...] = (TreeSum,)
    missing: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    check: Callable[..., None] | None = None
    categories: bool = False


FLOAT32 = "it adds up in float32"
BOTH = (TreeSum, Linear)
NETS = (*BOTH, NetScore)
GRADES = (*BOTH, Graded)
FORMATS: dict[str, Format] = {
    "ranklib": Format(
        ranklib_text.write, ranklib_text.score, FLOAT32, ranklib_text.rules, missing=ranklib_text.MISSING
    ),
    "xgboost-json": Format(
        xgboost_json.write, xgboost_json.score, FLOAT32, xgboost_json.rules, missing=xgboost_json.MISSING
    ),
    "lightgbm": Format(lightgbm_text.write, lightgbm_text.score, rules=lightgbm_text.rules, categories=True),
    "solr": Format(solr.write, solr.score, FLOAT32, solr.rules, NETS, solr.MISSING, ("name", "store")),
    "onnx": Format(onnx_model.write, onnx_model.score, FLOAT32, onnx_model.rules, (*NETS, Graded)),
    "sql": Format(sql.write, sql.score, takes=GRADES, check=sql.check, categories=True),
    "python": Format(python_code.write, python_code.score, takes=GRADES, categories=True),
    "scorecard": Format(scorecard.write, scorecard.score, options=("layout",), check=scorecard.check),
}
"""Every format by its name."""
