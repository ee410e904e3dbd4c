"""Pairs on the command line: which files hold them, and which column names the items they are of."""

from __future__ import annotations

import sys
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from podium._pair_gate import PairArrays
from podium._validation import Array, PodiumError
from podium.cli.files import beside_pairs, load_table, opened
from podium.cli.options import Source
from podium.cli.output import show, show_json
from podium.cli.ranking_files import check_input, check_rankings, feature_ranking, scores_of_rows
from podium.cli.standard_input import called, read_from
from podium.evaluation import Evaluation, evaluate
from podium.rankers import Estimator, Ranker
from podium.readers import RankingTable, read_item_pairs
from podium.report import describe


class PairOptions(NamedTuple):
    """What --pairs and --eval-pairs say."""

    pairs: Path | None = None
    eval_pairs: Path | None = None

    @property
    def given(self) -> bool:
        """Whether there are pairs at all."""
        return self.pairs is not None or self.eval_pairs is not None


def load_items(source: Source, options: PairOptions) -> tuple[RankingTable, Array | None]:
    """Read a data file whose rows pairs name, with the id of each row where --item says so.

    Beside pairs, labels and queries are read where the file has them; it need not.
    """
    if not options.given:
        return load_table(*source), None
    with opened(source) as file:
        known = beside_pairs(file)
        table = load_table(*known)
    if source.item is None and known.file_format != "letor":
        print(
            f"Without --item, pairs are read as row numbers of {known.file}, counted from 0; --item COLUMN reads ids.",
            file=sys.stderr,
        )
    return table, None if source.item is None else _named_rows(table, known.file)


def pairs_of_rows(path: Path, items: Array | None) -> dict[str, Any]:
    """Return the pairs of a file, and the ids of the rows that they name, as `describe` and its like take them."""
    return {"pairs": _read_pairs(path, items), "items": items}


def pairs_for_fit(model: Estimator, options: PairOptions, items: Array | None) -> dict[str, Any]:
    """Return what the options give to `fit`."""
    if not options.given:
        return {}
    if not isinstance(model, Ranker):
        raise PodiumError(f"{type(model).__name__} does not take --pairs: it learns grades, not preferences.")
    given: dict[str, Any] = {} if items is None else {"items": items}
    if options.pairs is not None:
        given["pairs"] = _read_pairs(options.pairs, items)
    if options.eval_pairs is not None:
        given["eval_names"] = [Path(called(options.eval_pairs)).name]
        given["eval_pairs"] = [_read_pairs(options.eval_pairs, items)]
    return given


def describe_pairs(source: Source, path: Path, as_json: bool) -> None:
    """Say what a data file and a file of pairs of its rows hold."""
    table, items = load_items(source, PairOptions(path))
    show(describe(table.X, table.y, qid=table.qid, **pairs_of_rows(path, items)), as_json)


def refuse_beside_pairs(options: dict[str, bool]) -> None:
    """Refuse options of `podium evaluate` that mean nothing for pairs; `options` says of each whether it is given."""
    given = [name for name, is_given in options.items() if is_given]
    if given:
        raise PodiumError(
            f"{', '.join(given)} must not be given beside --pairs, by which each ranking is measured alone, pair by "
            "pair and without grades or queries; leave out the one or the other."
        )


def evaluate_pairs(
    source: Source, path: Path, rankings: list[Path], feature: int | None, rules: dict[str, Any], as_json: bool
) -> None:
    """Measure models and files of scores, or a feature, against a file of pairs; `rules` are options of `evaluate`."""
    check_rankings(rankings, feature)
    check_input(source.file, rankings)
    table, items = load_items(source, PairOptions(path))
    rules = {**rules, **pairs_of_rows(path, items)}
    scores = {**feature_ranking(table, feature), **scores_of_rows(table, source.file, rankings)}
    _show_all({name: evaluate(scores=one, **rules) for name, one in scores.items()}, as_json)


def _show_all(found: dict[str, Evaluation], as_json: bool) -> None:
    """Print how rankings agree with pairs: one by itself, several by their names."""
    if len(found) == 1:
        show(next(iter(found.values())), as_json)
    elif as_json:
        show_json({"rankings": {name: one.to_dict() for name, one in found.items()}})
    else:
        for name, one in found.items():
            print(name)
            show(one, as_json)


def _read_pairs(path: Path, items: Array | None) -> PairArrays:
    """Read pairs of ids of rows, or of their numbers where rows have no ids."""
    return read_from(path, partial(read_item_pairs, ids=items is not None))


def _named_rows(table: RankingTable, path: PathLike[str]) -> Array:
    """Return the id of each row."""
    unnamed = [0] if table.docid is None else [row for row, one in enumerate(table.docid.tolist()) if one is None]
    if unnamed or table.docid is None:
        raise PodiumError(f"{path} must name an item in every row for --item; row {unnamed[0] + 1} has none.")
    return np.asarray(table.docid)
