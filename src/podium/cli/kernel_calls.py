"""Small fits, readings and evaluations that together call every kernel, for `podium compile`."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypedDict, TypeVar

import numpy as np
import scipy.sparse as sp

from podium import blending, evaluation, rankers, readers
from podium._exact import SHORT, exact_sum
from podium._types import Array, Learner, MatrixLike
from podium.binning import MIN_ROWS_BY_BITS, bin_features
from podium.data import MIN_CELLS_COMPILED, FeedbackSum, Graded, Pairs, hash_features, make_search
from podium.measures import DEFINITIONS
from podium.neural import Net, NetShape
from podium.pairs import Distribution, PairOrder
from podium.plus import TieWeights, pack_bits, tie_tables
from podium.report import export_report
from podium.trees import SHARED_CELLS

Model = TypeVar("Model", bound=Learner)


class TreeSize(TypedDict):
    """Parameters of small trees."""

    max_leaves: int
    min_child_samples: int


class WeakOptions(TypedDict, total=False):
    """Parameters of RankBoost's weak rankings."""

    criterion: str
    weak: str
    alpha: str


SMALL: TreeSize = {"max_leaves": 4, "min_child_samples": 3}
N_QUERIES, N_DOCS = 6, 8


def _table(dtype: type = np.float64) -> tuple[Array, Array, Array]:
    """Features, some of them missing, grades and queries."""
    table = make_search(n_queries=N_QUERIES, docs_per_query=N_DOCS, random_state=0)
    X: Array = np.array(table.X, dtype)
    X[::5, 1] = np.nan
    return X, np.array(table.y), np.array(table.qid)


def _fit_all(models: Sequence[Model], X: MatrixLike, y: Array, **given: object) -> Sequence[Model]:
    """Fit and score."""
    for model in models:
        model.fit(X, y, **given).predict(X)
    return models


def boost_trees() -> None:
    """LambdaMART as it comes, dense and sparse, in both precisions."""
    for dtype in (np.float64, np.float32):
        X, y, qid = _table(dtype)
        model = rankers.LambdaMART(3, **SMALL).fit(X, y, qid=qid, eval_set=[(X, y)], eval_qid=[qid])
        model.predict(X)
        rankers.LambdaMART(4, max_bins=8, **SMALL).fit(np.asfortranarray(X), y, qid=qid, init_model=model)
    _fit_all([rankers.LambdaMART(2, **SMALL)], sp.csr_array(np.nan_to_num(X)), y, qid=qid)


def boost_other_trees() -> None:
    """Other losses and trees: drawn rows, categories, bounds, unquantized gradients, explicit pairs, threads."""
    X, y, qid = _table()
    models = [
        rankers.LambdaMART(2, delta=delta, **SMALL) for delta in ("map", "mrr", "err", "auc", "localized", "none")
    ]
    models += [rankers.LambdaMART(2, form="paper", **SMALL), rankers.LambdaMART(2, quantized=False, **SMALL)]
    models += [rankers.LambdaMART(2, monotone_constraints=[1] * X.shape[1], subsample=0.5, **SMALL)]
    models += [rankers.MART(2, loss=loss, **SMALL) for loss in ("squared", "logistic")]
    _fit_all(models, X, y, qid=qid)
    models[0].refit(X, y, qid=qid)
    rankers.LambdaMART(2, delta="none", **SMALL).fit(X, y, qid=qid, pairs=(np.arange(10), np.arange(10, 20)))
    categories = np.c_[np.tile(y, 6) * 3.0 + np.arange(6 * len(X)) % 3, np.zeros(6 * len(X))]
    model = rankers.MART(3, categorical_features=[0], subsample=0.7, **SMALL)
    model.fit(categories, np.tile(y, 6), qid=np.tile(qid, 6)).predict(categories)
    _share_a_tree(X, y, qid)
    bin_features(np.arange(MIN_ROWS_BY_BITS, dtype=np.float32)[:, None])
    for dtype in (np.float64, np.float32):
        hash_features(np.zeros((MIN_CELLS_COMPILED, 1), dtype))


def _share_a_tree(X: Array, y: Array, qid: Array) -> None:
    """Grow a tree on the smallest table that two threads share."""
    wide = np.tile(X, (1, SHARED_CELLS // X.size + 1))
    rankers.LambdaMART(1, n_jobs=2, **SMALL).fit(wide, y, qid=qid)


def boost_responses() -> None:
    """PairBoost by signs and products, in short and in long queries."""
    X, y, qid = _table()
    models = [
        rankers.PairBoost(2, surrogate=surrogate, pairs=pairs)
        for surrogate in ("exp", "hinge")
        for pairs in ("signs", "products")
    ]
    _fit_all(models, X, y, qid=qid)
    _fit_all(models, np.tile(X, (9, 1)), np.tile(y, 9), group=[9 * len(X)])
    _fit_all([rankers.L2Boost(2, base="stump", min_child_samples=3)], X, y, qid=qid)


def boost_stumps() -> None:
    """RankBoost by r and z, dense and sparse, in both precisions; sums over many queries."""
    exact_sum(np.ones(SHORT + 1))
    for dtype in (np.float64, np.float32):
        X, y, qid = _table(dtype)
        _fit_all([rankers.RankBoost(3)], X, y, qid=qid, eval_set=[(X, y)], eval_qid=[qid])
        _fit_all([rankers.RankBoost(3, max_bins=8, criterion="z")], np.asfortranarray(X), y, qid=qid)
        _fit_all([rankers.RankBoost(3, max_bins=None)], X, y, qid=qid)
    models = [rankers.RankBoost(3, criterion=criterion) for criterion in ("r", "z")]
    models.append(rankers.RankBoost(3, max_bins=None))
    _fit_all(models, sp.csr_array(np.nan_to_num(X)), y, qid=qid)


def boost_other_stumps() -> None:
    """Other weights and weak rankings of RankBoost, explicit pairs, scores that lie far apart; RankBoost+."""
    X, y, qid = _table()
    pairs = np.arange(10), np.arange(10, 20), np.linspace(1.0, 2.0, 10)
    weak: list[WeakOptions] = [{}, {"criterion": "z"}, {"weak": "feature"}, {"alpha": "numeric"}]
    for features in (X, sp.csr_array(np.nan_to_num(X))):
        _fit_all([rankers.RankBoost(3, **options) for options in weak], features, y, qid=qid, pairs=pairs)
        _fit_all([rankers.RankBoost(2, criterion="z", pair_weight="differences")], features, y, qid=qid)
    models = [rankers.RankBoost(3, alpha="z"), rankers.RankBoost(3, cumulative=True)]
    _fit_all([*models, rankers.RankBoost(2, weak="feature")], np.asfortranarray(X), y, qid=qid)
    _fit_all([rankers.RankBoost(2, criterion="z")], np.tile(X, (9, 1)), np.tile(y, 9), group=[9 * len(X)])
    _move_far(pairs)
    _move_ties(pairs)
    models = [rankers.RankBoostPlus(30, search=search) for search in ("efficient", "optimal")]
    _fit_all([*models, rankers.PreferenceRegression(), rankers.NearestNeighbor()], X, y, qid=qid)
    _fit_all([rankers.RankBoostPlus(3)], X, y, qid=qid, pairs=pairs)
    _fit_all([rankers.PNormPush(3), rankers.PNormPush(3, weak="feature")], X, y, qid=qid)


def _move_far(pairs: tuple[Array, Array, Array]) -> None:
    """Move the weights of pairs so far that their factors leave floating point."""
    graded = Graded(np.arange(20.0) % 3, np.array([0, 20]), np.ones(20), np.ones(1))
    distribution = Distribution(FeedbackSum((graded, Pairs(*pairs))), 20)
    ranking = np.arange(20.0) % 7
    distribution.update(1e3 * ranking)
    distribution.potentials()
    distribution.moments(ranking, 0.5)
    for part in distribution.parts:
        part.log_wrong(ranking)


def _move_ties(pairs: tuple[Array, Array, Array]) -> None:
    """Move the ties of more rankers at once than a byte has bits, as steps along dependent rankers do."""
    weights = TieWeights(PairOrder.of(Pairs(*pairs), 20), 20)
    patterns = pack_bits(np.arange(9 * 20).reshape(9, 20) % 2)
    logs = np.linspace(0.1, 0.9, 9)
    weights.move(np.arange(20) % 2 == 0, 0.5, patterns, np.exp(tie_tables(logs)), 1.0)
    weights.moments(np.arange(20) % 2 / 1.0, 0.5, patterns, tie_tables(np.stack([logs, logs, logs], axis=1)))


def grow_ranking_trees() -> None:
    """Trees of the ROC curve, and the curves themselves."""
    X, y, qid = _table()
    models: list[Learner] = [rankers.TreeRank(6, min_child_weight=1), rankers.CRank(6, min_child_weight=1)]
    _fit_all([*models, rankers.TreeRankForest(2), rankers.RankOver(4, min_child_weight=1)], X, y, qid=qid)
    evaluation.integrated_auc(np.arange(20.0), np.arange(20.0) % 7)


def boost_features() -> None:
    """Least squares on features, chosen by a measure now and then."""
    for dtype in (np.float64, np.float32):
        X, y, qid = _table(dtype)
        _fit_all([rankers.GradientFreeBoost(2, singular_every=2)], X, y, qid=qid)


def rank_grades() -> None:
    """Ordinal rankers."""
    X, y, _ = _table()
    models: list[rankers.OrdinalRanker] = [
        rankers.AdaBoostOR(n_estimators=3),
        rankers.BaggingOR(n_estimators=3),
        rankers.ORStump(),
    ]
    models += [rankers.ORBoost(3, variant=variant) for variant in ("all-margins", "left-right")]
    models += [rankers.AdaBoostOR(rankers.PRank(epochs=3), n_estimators=2), rankers.PRank(epochs=3)]
    models += [rankers.SVOR(), rankers.SVOR(kernel="linear")]
    for model in _fit_all(models, np.nan_to_num(X), np.minimum(y, 2).astype(int)):
        model.predict_rank(np.nan_to_num(X))


def keep_margins() -> None:
    """Rankers by margins and least squares on pairs."""
    X, y, qid = _table()
    _fit_all([rankers.RankSVM(), rankers.RankSVM(100.0, penalty="l1"), rankers.RSRank(2)], X, y, qid=qid)


def score_by_nets() -> None:
    """The layers of nets, which torch trains, with λ of explicit pairs and of grades as trees have them."""
    shape = NetShape(4, (), (3,))
    Net(shape, shape.start(0)).score(np.zeros((5, 4)), np.empty((5, 0), np.int64))


def measure_rankings() -> None:
    """Every measure, of grades and of other labels, in short and in long queries."""
    rng = np.random.default_rng(0)
    names = [f"{name}@5" if one.takes_k == "must" else name for name, one in DEFINITIONS.items()]
    for size in (20, 450):
        labels = rng.integers(0, 4, 2 * size).astype(float)
        for y in (labels, labels / 8.0):
            scores = rng.integers(0, 10, 2 * size).astype(float)
            evaluation.evaluate(y, scores, group=[size, size], measures=names)


def examine_models() -> None:
    """Blends, curves of weights, tests of optimality, the report of an export, explanations."""
    X, y, qid = _table()
    X = np.nan_to_num(X)
    linear, boosted = rankers.PreferenceRegression().fit(X, y, qid=qid), rankers.RankBoost(3).fit(X, y, qid=qid)
    for name in ("ndcg@5", "map", "mrr", "err"):
        blending.blend(list(X.T[:2]), y, qid=qid, measure=name, n_restarts=0)
        evaluation.weight_curves(linear, X, y, qid=qid, measure=name, which=[0], n_moves=1)
        evaluation.local_optimality(linear, X, y, qid=qid, measure=name, n_directions=2)
    export_report(boosted, X, "lightgbm", qid=qid)
    trees = rankers.LambdaMART(2, **SMALL).fit(X, y, qid=qid)
    trees.explain(X, 0, 1)
    line = np.arange(160.0)[:, None]
    rankers.MART(1, max_leaves=80, min_child_samples=1).fit(line, line[:, 0]).explain(line, 0, 159)
    trees.explain_query(X[:3])
    trees.effects(X[:3])
    X[:, 0] = np.arange(len(X)) % 3
    one = X[:, :1]
    rankers.LambdaMART(2, **SMALL, categorical_features=[0]).fit(one, one[:, 0] == 1, qid=qid).effects(one)


def read_files() -> None:
    """Every format that is read by kernels."""
    lines = "2 qid:1 1:0.5 2:3.14159265358979323846e-4 # docid = a\n0 qid:1 1:-7\n1 qid:2 1:0.9 2:1\n0 qid:2 2:1\n"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_text(lines, "utf-8")
        for sparse in (False, True):
            readers.read_letor(path, sparse=sparse)
        path.write_text("1 0 a 1\n1 0 b 0\n", "utf-8")
        readers.read_qrels(path)
        path.write_text("1 Q0 b 1 2.0 t\n1 Q0 a 2 1.0 t\n", "utf-8")
        readers.read_run(path)
        path.write_text("0 1 0.5\n2 1 1\n", "utf-8")
        readers.read_pairs(path)


def rank_items() -> None:
    """Models of permutations: choices without and with ties, consensus by exact and by local search."""
    X, y, qid = _table()
    _fit_all([rankers.LinearPlackettLuce()], X, y, qid=qid)
    rankers.PlackettLuce(1.0).fit([[0, 1, 2], [1, 2, 0]], pairs=([0], [1]))
    rankers.PlackettLuce(1.0).fit([[0, [1, 2]], [1, 2, 0]])
    for search in ("exact", "local"):
        rankers.Mallows(search).fit([[0, 1, 2], [1, 2, 0], [2, 0, 1]])


JOBS: dict[str, Callable[[], None]] = {
    "trees": boost_trees,
    "other trees": boost_other_trees,
    "stumps": boost_stumps,
    "other stumps": boost_other_stumps,
    "responses": boost_responses,
    "measures": measure_rankings,
    "features": boost_features,
    "grades": rank_grades,
    "permutations": rank_items,
    "ranking trees": grow_ranking_trees,
    "margins": keep_margins,
    "nets": score_by_nets,
    "models": examine_models,
    "files": read_files,
}
"""What to run, the longest first; each is one task of a process."""


def run_job(name: str) -> str:
    """Run one of the jobs, silently; return its name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        JOBS[name]()
    return name
