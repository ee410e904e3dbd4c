"""Writes sample files of the current protocol, which every later version must load.

    python tests/model_samples.py tests/data/models/protocol-1

A sample that is there is never written again, only new ones are added: `test_model_files` loads them all.
"""

import json
import sys
from pathlib import Path

import numpy as np

from podium import (
    MART,
    SVOR,
    AdaBoostOR,
    BaggingOR,
    CRank,
    ExtendedBinary,
    GradientFreeBoost,
    InfinitePush,
    L1Boost,
    L2Boost,
    LambdaMART,
    LambdaRank,
    LinearPlackettLuce,
    NearestNeighbor,
    ORBoost,
    OrdinalThresholds,
    ORStump,
    PairBoost,
    PlugInRanker,
    PNormPush,
    PRank,
    PreferenceRegression,
    RankBoost,
    RankBoostPlus,
    RankNet,
    RankOver,
    RankRLS,
    RankSVM,
    RSRank,
    TreeRank,
    TreeRankForest,
    TreeRankTournament,
    VectorSimilarity,
    import_model,
)
from podium.model_file import PROTOCOL

N_ROWS, N_FEATURES, NAMES = 80, 4, ["price", "clicks", "age [days]", "größe"]
LINEAR = "## Coordinate Ascent\n## Restart = 5\n1:0.5 2:0.0 3:-0.25 4:1.5\n"
GRADES = np.array(["poor", "fair", "good", "best"], object)
"""Labels of an ordered kind, which are not in the order of the alphabet."""


def make_table():
    """Return features, of which a third of the second is missing for a reason, labels and queries."""
    rng = np.random.default_rng(5)
    X = rng.integers(0, 9, (N_ROWS, N_FEATURES)) / 4
    y = np.rint(X[:, 0] + (X[:, 1] > 1) + rng.random(N_ROWS))
    X[y < 2, 1] = np.where(rng.random(int((y < 2).sum())) < 0.6, np.nan, X[y < 2, 1])
    X[rng.random(N_ROWS) < 0.1, 3] = np.nan
    return X, y, np.repeat(np.arange(8), 10)


def fitted_models(checkpoint):
    """Return a fitted ranker of each kind by the name of its sample; one leaves a checkpoint."""
    import pandas

    X, y, qid = make_table()
    frame = pandas.DataFrame(X, columns=NAMES)
    small = {"max_leaves": 4, "min_child_samples": 3}
    measured = {"eval_set": [(X[::-1], y)], "eval_qid": [qid]}
    rankers = {
        "rankboost": RankBoost(8, criterion="z", monotone_constraints=[1, 0, 0, 0]),
        "rankboost_plus": RankBoostPlus(6, eval_metric=["pair_loss", "ndcg@5"]),
        "mart": MART(4, loss="logistic", **small),
        "gradient_free": GradientFreeBoost(7, singular_every=3),
        "nearest_neighbor": NearestNeighbor(),
        "nearest_neighbors": NearestNeighbor(n_neighbors=3),
        "preference_regression": PreferenceRegression(),
        "vector_similarity": VectorSimilarity(),
        "pnorm_push": PNormPush(6, p=3.0),
        "pnorm_push_features": PNormPush(4, weak="feature", query_scale="sum"),
        "infinite_push": InfinitePush(alpha=0.01),
        "linear_plackett_luce": LinearPlackettLuce(),
        "treerank": TreeRank(6, min_child_weight=2.0, pruning_folds=3),
        "treerank_forest": TreeRankForest(3, leafrank_depth=2, consensus="median"),
        "treerank_tournament": TreeRankTournament(1, max_leaves=4, duels="adjacent"),
        "rankover": RankOver(5, leafrank_depth=2),
        "crank": CRank(6, min_child_weight=2.0, measure="triples"),
        "plug_in": PlugInRanker(),
        "rank_rls": RankRLS(0.5, pair_weight="queries"),
        "rank_rls_kernel": RankRLS(kernel="laplacian", gamma=0.5),
        "rank_svm": RankSVM(30.0, penalty="l1"),
        "rank_svm_kernel": RankSVM(kernel="rbf"),
        "rs_rank": RSRank(12, alpha=0.01),
        "pairboost": PairBoost(6, surrogate="hinge"),
        "pairboost_trees": PairBoost(4, surrogate="ramp", c=0.25, base="tree", **small),
        "ranknet": RankNet(3, hidden=(4, 3), tie_weight=0.1),
        "lambdarank_linear": LambdaRank(2, hidden=(), optimizer="sgd", learning_rate=0.1, scale="standard"),
        "l2boost": L2Boost(6),
        "l1boost": L1Boost(6, base="stump", min_child_samples=3),
        "checkpoint": RankBoost(5, checkpoint=checkpoint),
    }
    models = {name: ranker.fit(X, y, qid=qid) for name, ranker in rankers.items()}
    models["named_features"] = RankBoost(4).fit(frame, y, qid=qid)
    models["lambdamart"] = LambdaMART(9, early_stopping_rounds=3, **small).fit(X, y, qid=qid, **measured)
    models["rankboost_features"] = RankBoost(4, weak="feature").fit(X, y, qid=qid)
    gain = {grade: 2.0**grade for grade in np.unique(y).tolist()}
    own = LambdaMART(2, gain=gain, eval_metric=("ndcg@5", "map"), random_state=None, subsample=0.5, **small)
    models["adapted"] = own.fit(frame, y, qid=qid, init_model=models["named_features"])
    models["large_trees"] = LambdaMART(2, max_leaves=40, min_child_samples=1).fit(X, y, qid=qid)
    models["categories"] = LambdaMART(4, categorical_features=[0, 3], **small).fit(X, y, qid=qid)
    towns = frame.assign(price=pandas.Categorical(np.array(["Ulm", "Köln", "Jena"])[np.minimum(y, 2).astype(int)]))
    models["ranknet_categories"] = RankNet(2, hidden=(3,), scale="log1p").fit(towns, y, qid=qid)
    models["named_categories"] = MART(3, **small).fit(towns, y, qid=qid)
    return models | ordinal_models(X, np.minimum(y, 3).astype(int), small) | imported_models(X, y, checkpoint.parent)


def ordinal_models(X, grades, small):
    """Return a fitted ordinal ranker of each kind by the name of its sample."""
    import pandas

    texts = pandas.Categorical(GRADES[grades], GRADES, ordered=True)
    stopped = AdaBoostOR(n_estimators=5, early_stopping_rounds=2)
    return {
        "adaboost_or": stopped.fit(X, grades, eval_set=[(X[::-1], grades)]),
        "adaboost_or_perceptrons": AdaBoostOR(PRank(epochs=20), n_estimators=3).fit(X, grades),
        "bagging_or": BaggingOR(n_estimators=5).fit(X, texts),
        "bagging_or_perceptrons": BaggingOR(PRank(epochs=20), n_estimators=3, random_state=None).fit(X, grades),
        "orstump": ORStump(cost="squared").fit(X, texts),
        "orboost": ORBoost(6).fit(X, grades * 1.5, eval_set=[(X[::-1], grades * 1.5)]),
        "prank": PRank(epochs=20, random_state=None).fit(X, texts),
        "svor": SVOR(1.0, cost=np.abs(np.subtract.outer(range(4), range(4))) ** 1.5).fit(X, grades),
        "svor_linear": SVOR(0.1, kernel="linear").fit(X, GRADES[grades].astype(str)),
        "extended_binary": ExtendedBinary(AdaBoostOR(n_estimators=4)).fit(X, texts),
        "ordinal_thresholds": OrdinalThresholds(MART(3, **small), folds=2).fit(X, grades),
    }


def imported_models(X, y, folder):
    """Return imported rankers by the names of their samples."""
    import lightgbm

    path = folder / "foreign"
    parameters = {"objective": "regression", "num_leaves": 4, "min_data_in_leaf": 3, "verbose": -1, "num_threads": 1}
    lightgbm.train({**parameters, "zero_as_missing": True}, lightgbm.Dataset(X, y), 4).save_model(path)
    models = {"imported_trees": import_model(path)}
    path.write_text(LINEAR, encoding="utf-8")
    models["imported_linear"] = import_model(path)
    path.unlink()
    return models


def scores_of(model, rows):
    """Return the numbers that a model ranks by."""
    return getattr(model, "predict_rank", model.predict)(rows)


def main(folder):
    """Write a file for each sample, and the scores that each must give."""
    if folder.name != f"protocol-{PROTOCOL}":
        raise SystemExit(f"This version writes protocol {PROTOCOL}; {folder} is for another.")
    folder.mkdir(parents=True, exist_ok=True)
    X = make_table()[0][::7]
    expected = {"rows": [[None if np.isnan(x) else x for x in row] for row in X.tolist()], "scores": {}, "grades": {}}
    if (folder / "expected.json").exists():
        expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    for name, model in fitted_models(folder / "fit.checkpoint").items():
        if name not in expected["scores"]:
            model.save(folder / f"{name}.podium")
            expected["scores"][name] = scores_of(model, X).tolist()
            if hasattr(model, "predict_rank"):
                expected["grades"][name] = model.predict(X).tolist()
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
