"""Fits and predictions from Parquet files larger than memory, with the lifecycle of every fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

from podium._compiled import thread_count
from podium._validation import Array, PodiumError, check_seed
from podium.boosting import measured_sets
from podium.measures import parse_measure
from podium.out_of_core.coded_rows import CodedRows, StagedCodes, StreamedBoosting, start_scores
from podium.out_of_core.parquet_rows import ParquetRows, Paths
from podium.out_of_core.streamed_data import ReadRows, read_rows
from podium.rankers.boosted_trees import TreeRanker
from podium.rankers.estimator import Estimator
from podium.rankers.query_marks import QueryMarks
from podium.rankers.score_start import InitModel
from podium.trees import Sampler

AnyRanker = TypeVar("AnyRanker", bound=TreeRanker)


def fit(
    ranker: AnyRanker,
    X: Paths,
    y: str,
    *,
    qid: str,
    sample_weight: str | None = None,
    query_weight: str | Mapping[object, float] | None = None,
    eval_set: Sequence[tuple[Paths, str]] | None = None,
    eval_qid: Sequence[str] | None = None,
    init_model: InitModel = None,
    folder: str | None = None,
) -> AnyRanker:
    """Train a ranker of boosted trees from Parquet files that need not fit into memory.

    The model is, bit for bit, the one that ``ranker.fit`` gives on the same rows in memory. Features are read three
    times, batch by batch; what is kept of them is one byte a value, twice, in temporary files that are mapped into
    memory. Memory holds 150 to 240 bytes a row.

    Parameters
    ----------
    ranker : LambdaMART or MART
    X : path, or list of paths
        Parquet files, or a folder of them. All columns that are not named below are features.
    y, qid : str
        Columns of labels and queries. The fit is fastest if the rows of a query stand together.
    sample_weight : str, optional
        Column of the weights of rows.
    query_weight : str or mapping, optional
        Column of the weights of queries, the same for all rows of a query, or a mapping from ids.
    eval_set : list of (X, y), optional
        Further files to measure each round on; the last ones decide on early stopping.
    eval_qid : list of str, optional
        Columns of the queries of each evaluation set.
    init_model : fitted ranker, optional
        As for the ranker's own fit.
    folder : str, optional
        Where temporary files are written; by default where the system has them.

    Returns
    -------
    ranker
        The one given, fitted.
    """
    if not isinstance(ranker, TreeRanker):
        raise PodiumError(f"Only LambdaMART and MART can be trained out of core; got {type(ranker).__name__}.")
    ranker._check_parameters()
    if ranker.categorical_features not in ("from_dtype", None):
        raise PodiumError("categorical_features cannot be named in a fit out of core, which takes numbers alone.")
    beside = {"y": y, "qid": qid, "sample_weight": sample_weight, "query_weight": query_weight}
    given = query_weight if isinstance(query_weight, Mapping) else None
    rows = ParquetRows.of(X, {use: name for use, name in beside.items() if isinstance(name, str)})
    evals = _evaluation_rows(rows, eval_set, eval_qid)
    ranker._check_boosting(evals, init_model)
    _learn(ranker, read_rows(rows, given), [read_rows(one) for one in evals], init_model, folder)
    return ranker


def predict(ranker: Estimator, X: Paths, *, leave_out: Sequence[str] = ()) -> Array:
    """Return the scores of all rows of Parquet files, read batch by batch.

    Parameters
    ----------
    ranker : fitted ranker
    X : path, or list of paths
    leave_out : sequence of str
        Columns that are no features, such as labels and queries.
    """
    ranker._check_fitted()
    rows = ParquetRows.of(X, {f"leave_out[{number}]": name for number, name in enumerate(leave_out)})
    _check_names(rows, getattr(ranker, "feature_names_in_", rows.names), "X must have the columns of the fit")
    return rows.scores(ranker._score)


def _evaluation_rows(
    rows: ParquetRows, eval_set: Sequence[tuple[Paths, str]] | None, eval_qid: Sequence[str] | None
) -> list[ParquetRows]:
    """Look at the files of evaluation sets, which must have the columns of the training files; weights are not read."""
    sets, ids = list(eval_set or ()), list(eval_qid or ())
    if len(ids) != len(sets):
        raise PodiumError(f"eval_qid must have one entry per eval_set: {len(sets)} expected, {len(ids)} given.")
    weights = {rows.beside[use] for use in ("sample_weight", "query_weight") if use in rows.beside}
    found = [ParquetRows.of(X, {"y": y, "qid": qid}, weights) for (X, y), qid in zip(sets, ids, strict=True)]
    for number, one in enumerate(found):
        _check_names(one, rows.names, f"eval_set[{number}] must have the features of X")
    return found


def _check_names(rows: ParquetRows, names: Sequence[str], sentence: str) -> None:
    """Refuse files whose features are not those expected."""
    if list(rows.names) != list(names):
        differ = sorted(set(rows.names) ^ set(names)) or ["their order"]
        raise PodiumError(
            f"{sentence}, in their order: {len(names)} expected, {len(rows.names)} given; {differ[0]} differs."
        )


def _learn(
    ranker: TreeRanker, read: ReadRows, evals: Sequence[ReadRows], init_model: InitModel, folder: str | None
) -> None:
    """Bin what was read, go through the rounds, and keep what was learned."""
    data, threads, seed = read.data, thread_count(ranker.n_jobs), check_seed(ranker.random_state)
    loss = ranker._make_loss(data, threads, seed)
    start = ranker._start_after(init_model, loss)
    coded, *others = CodedRows.of(read, evals, ranker.max_bins, folder)
    n_features = read.rows.n_features
    boosting = StreamedBoosting(
        coded, data, loss, ranker._make_grower(data, n_features, threads, bins=coded.bins),
        Sampler(data.queries, n_features, ranker.subsample, ranker.colsample_bytree, seed),
        start_scores(start, coded), ranker.learning_rate,
    )  # fmt: skip
    measures = [parse_measure(name) for name in ranker._monitor_measures()]
    staged = iter([StagedCodes(one, start) for one in others])
    sets = measured_sets([one.data for one in evals], measures, threads, lambda _: next(staged))
    ranker._boost_trees(boosting, sets, measures, init_model, data, start, read.rows.n_rows, loss.flat_reason)
    ranker.seed_ = seed
    ranker._describe(data)
    ranker.training_summary_ |= {"rows": read.rows.n_rows, "missing": read.n_missing}
    ranker._query_marks = QueryMarks.of(data.queries, np.asarray(data.labels))
