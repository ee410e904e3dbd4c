"""Rankings that commands measure: files of scores, and models that score the data, told apart by what is in them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from podium._validation import Array, PodiumError
from podium.cli.files import as_called, feature_scores, load_ranker, load_table, named_columns, opened, read_scores
from podium.cli.options import Source
from podium.cli.standard_input import STANDARD_INPUT, called
from podium.readers import RankingTable

MODEL_START = b"PK\x03\x04"
"""First bytes of a zip, which every model file is."""


def check_rankings(rankings: list[Path], feature: int | None) -> None:
    """Refuse files beside --feature, and neither of the two."""
    if rankings and feature is not None:
        raise PodiumError("Give models and files of scores or --feature, not both.")
    if not rankings and feature is None:
        raise PodiumError("Give a model or a file of scores, or --feature N to rank by one feature.")


def check_input(data: PathLike[str], rankings: list[Path]) -> None:
    """Refuse to read both data and scores from standard input."""
    if str(data) == STANDARD_INPUT and data in rankings:
        raise PodiumError("Standard input holds the data or the scores, not both; name a file for one of them.")


def read_rankings(source: Source, paths: list[Path]) -> tuple[RankingTable, dict[str, Array]]:
    """Return the data and the scores of its rows by each ranking, by the names of the files."""
    check_input(source.file, paths)
    with opened(source) as file:
        return _table_and_scores(file, paths)


def _table_and_scores(source: Source, paths: list[Path]) -> tuple[RankingTable, dict[str, Array]]:
    """Read the data, each way that a model was trained on it, and score its rows."""
    names = names_of(paths)
    models = {path: load_ranker(path) for path in paths if _is_model(path)}
    tables: dict[tuple[int | None, bool | str], RankingTable] = {}

    def table_like(n_features: int | None, sparse: bool | str) -> RankingTable:
        """Read the data as a model was trained on it; once for all models alike."""
        if (n_features, sparse) not in tables:
            tables[n_features, sparse] = load_table(*source, n_features=n_features, sparse=sparse)  # type: ignore[arg-type]
        return tables[n_features, sparse]

    scores = {}
    for name, path in zip(names, paths, strict=True):
        if path not in models:
            scores[name] = read_scores(path)
            continue
        model = models[path]
        with _called(path):
            scores[name] = _scores_of(model, table_like(model.n_features_in_, model.sparse_input_))
    table = next(iter(tables.values()), None) or table_like(None, "auto")
    _check_lengths(scores, table, source.file)
    return table, scores


def feature_ranking(table: RankingTable, feature: int | None) -> dict[str, Array]:
    """Return the scores of --feature by what it is called; nothing where it is not given."""
    return {} if feature is None else {f"feature {feature}": feature_scores(table, feature)}


def scores_of_rows(table: RankingTable, file: PathLike[str], paths: list[Path]) -> dict[str, Array]:
    """Return the scores of the rows of a table, read from `file`, by each ranking."""
    scores = {}
    for name, path in zip(names_of(paths), paths, strict=True):
        if not _is_model(path):
            scores[name] = read_scores(path)
            continue
        model = load_ranker(path)
        with _called(path):
            scores[name] = _scores_of(model, table)
    _check_lengths(scores, table, file)
    return scores


def _scores_of(model: object, table: RankingTable) -> Array:
    """Return the scores of all rows by a model."""
    from podium.tuning.held_out import ranking_scores  # here: files of scores need no rankers

    return ranking_scores(model, named_columns(table))  # type: ignore[arg-type]


@contextmanager
def _called(path: Path) -> Iterator[None]:
    """Let errors name the file of the model that they are about."""
    try:
        yield
    except PodiumError as error:
        raise PodiumError(f"{path}: {error}") from None


def _check_lengths(scores: dict[str, Array], table: RankingTable, file: PathLike[str]) -> None:
    """Refuse scores of other rows than those of the file."""
    n_rows = table.X.shape[0]
    for name, one in scores.items():
        if len(one) != n_rows:
            raise PodiumError(f"{name} must have a score a row of {called(file)}: {n_rows} expected, {len(one)} given.")


def with_last(paths: list[Path], last: Path | None) -> list[Path]:
    """Return files with the one that the others stand against, if any, at the end; it may be among them."""
    return paths if last is None else [*(path for path in paths if path != last), last]


def names_of(paths: list[Path]) -> list[str]:
    """Return what the rankings are called: by their files, with folders where files of one name are in several."""
    twice = next((path for place, path in enumerate(paths) if path in paths[:place]), None)
    if twice is not None:
        raise PodiumError(f"{called(twice)} is given twice; name each file once.")
    short = [path.name for path in as_called(paths)]
    return short if len(set(short)) == len(short) else [str(path) for path in paths]


def _is_model(path: Path) -> bool:
    """Say whether a file is a model, by its first bytes; standard input holds scores."""
    if str(path) == STANDARD_INPUT:
        return False
    with open(path, "rb") as file:
        return file.read(len(MODEL_START)) == MODEL_START
