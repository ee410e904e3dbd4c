"""Fits and predictions on Dask: what is given, checked before any work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from podium._types import PairsLike
from podium._validation import Array, PodiumError, check_seed
from podium.distributed.dask_blocks import INSTALL, Source, evaluation_sources
from podium.distributed.held_boosting import DaskRanker
from podium.distributed.held_grades import AdaBoostOR, ORStump
from podium.distributed.team import Team
from podium.distributed.team_learning import learn
from podium.distributed.vote_learning import learn_votes
from podium.rankers.boosted_trees import TreeRanker
from podium.rankers.estimator import Estimator
from podium.rankers.rankboost import RankBoost
from podium.rankers.score_start import InitModel

AnyRanker = TypeVar("AnyRanker", bound=DaskRanker)
NEEDED_COLUMNS = ("y", "qid")
"""What rankers of queries learn from; those of grades from the first alone, and pairs may stand for labels."""


def fit(
    ranker: AnyRanker,
    X: object,
    y: object = None,
    *,
    qid: object = None,
    pairs: PairsLike | None = None,
    sample_weight: object = None,
    query_weight: object = None,
    eval_set: Sequence[tuple[object, object]] | None = None,
    eval_qid: Sequence[object] | None = None,
    init_model: InitModel = None,
    regroup: bool = True,
    client: Any = None,
) -> AnyRanker:
    """Train boosted trees, or stumps by RankBoost, on the workers of a Dask cluster.

    The model is, bit for bit, the one that ``ranker.fit`` gives on the same rows in memory, whatever the partitioning
    and the number of workers, and whether or not workers are lost on the way.

    Parameters
    ----------
    ranker : LambdaMART, MART, RankBoost or AdaBoostOR
    X : Dask array or dataframe, path or list of paths of Parquet files
        Features; NaN means that a feature is missing.
    y, qid : Dask array or series, or str
        Label and query of each row; a string names a column of X, which is then no feature. AdaBoostOR takes labels
        of any kind that its own fit takes, and no queries.
    pairs : tuple, list or frame, optional
        For RankBoost: what should stand above what, in memory, as its own fit takes them; rows are numbered through
        all parts of X, in their order. Both rows of a pair must be of one query. Labels may then be left out.
    sample_weight : Dask array or series, or str, optional
        Weight of each row.
    query_weight : Dask array or series, str, or mapping, optional
        Weight of each row's query, or a mapping from ids.
    eval_set : list of (X, y), optional
        Further data to measure each round on, given as X and y are; the last one decides on early stopping.
    eval_qid : list, optional
        Queries of each evaluation set.
    init_model : fitted ranker, optional
        As for the ranker's own fit.
    regroup : bool
        Whether queries that lie in several parts are put together by a shuffle; they are refused otherwise.
    client : distributed.Client, optional
        The cluster; by default the one in use.

    Returns
    -------
    ranker
        The one given, fitted.
    """
    _check_ranker(ranker, pairs)
    if isinstance(ranker, AdaBoostOR) and not (qid is None and query_weight is None and eval_qid is None):
        raise PodiumError("AdaBoostOR grades rows, which are of no query: leave qid, query_weight and eval_qid out.")
    ranker._check_parameters()
    if not isinstance(query_weight, Mapping | str | None) and not hasattr(query_weight, "to_delayed"):
        raise PodiumError("query_weight must be a Dask collection, the name of a column, or a mapping from ids.")
    if y is None and not (sample_weight is None and query_weight is None):
        raise PodiumError("sample_weight and query_weight weigh labels; with pairs alone give weights to the pairs.")
    needed = NEEDED_COLUMNS if not isinstance(ranker, AdaBoostOR) else NEEDED_COLUMNS[:1]
    source = Source.of(X, y, qid, sample_weight, query_weight, needed=needed if pairs is None else NEEDED_COLUMNS[1:])
    evals = evaluation_sources(eval_set, eval_qid, needed)
    ranker._check_boosting(evals, init_model)
    client = _client(client)
    own = clone(ranker).set_params(checkpoint=None, verbose=0)
    if not isinstance(own, RankBoost):
        own.set_params(random_state=check_seed(own.random_state))
    measures = ["cost"] if isinstance(ranker, AdaBoostOR) else [one.name for one in ranker._evaluation_sets([], 1)[1]]
    measured = list(dict.fromkeys(measures if evals else []))
    team = Team(client, source, evals, own, init_model, regroup, measured, pairs)
    try:
        begun = team.begin()
        if isinstance(ranker, AdaBoostOR):
            learn_votes(ranker, team, begun, init_model)
        else:
            learn(ranker, team, begun, init_model)
    finally:
        team.close()
    if not isinstance(ranker, RankBoost):
        ranker.seed_ = own.random_state
    return ranker


def _check_ranker(ranker: object, pairs: PairsLike | None) -> None:
    """Refuse rankers, and parameters of theirs, that need all rows in one place."""
    if not isinstance(ranker, DaskRanker):
        raise PodiumError(
            f"Only LambdaMART, MART, RankBoost and AdaBoostOR can be trained on Dask; got {type(ranker).__name__}."
        )
    if pairs is not None and not isinstance(ranker, RankBoost):
        raise PodiumError(f"pairs can be fitted on Dask by RankBoost alone; got {type(ranker).__name__}.")
    if isinstance(ranker, TreeRanker):
        return
    if isinstance(ranker, AdaBoostOR):
        if not (ranker.estimator is None or type(ranker.estimator) is ORStump):
            raise PodiumError(f"estimator must be an ORStump in a fit on Dask; got {type(ranker.estimator).__name__}.")
        return
    needed = {"weak": ranker.weak == "stump", "max_bins": ranker.max_bins is not None}
    needed["thresholds"] = ranker.thresholds is None
    for name in (name for name, fits in needed.items() if not fits):
        raise PodiumError(f"{name} must be left at its default in a fit on Dask; got {getattr(ranker, name)!r}.")


def predict(ranker: Estimator, X: Any) -> Any:
    """Return the scores of the rows of a Dask array or dataframe, lazily: a Dask array or series."""
    check_is_fitted(ranker)
    if hasattr(X, "map_partitions"):
        return X.map_partitions(_score_frame, ranker, meta=("score", np.float64))
    if not hasattr(X, "map_blocks"):
        raise PodiumError(f"X must be a Dask array or dataframe; got {type(X).__name__}.")
    whole = X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X
    return whole.map_blocks(_score_rows, ranker, drop_axis=1, dtype=np.float64, meta=np.empty(0))


def _score_frame(frame: Any, ranker: Any) -> Any:
    """Score one part of a dataframe."""
    from pandas import Series

    return Series(_score_rows(frame, ranker), frame.index, np.float64, "score")


def _score_rows(rows: Any, ranker: Any) -> Array:
    """Score one block; an empty one has no scores."""
    return np.asarray(ranker.predict(rows)) if rows.shape[0] else np.empty(0)


def _client(client: Any) -> Any:
    """Return the cluster to train on."""
    try:
        from distributed import get_client
    except ImportError as error:
        raise PodiumError(INSTALL) from error
    if client is not None:
        return client
    try:
        return get_client()
    except ValueError:
        raise PodiumError(
            "client must be given where none is in use; start one, such as Client(LocalCluster(n_workers=2))."
        ) from None
