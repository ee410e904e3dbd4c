"""Rankers of the leaderboard: what is searched for each, how one is tuned, and how several are blended.

    python experiments/leaderboard_rankers.py    # the spaces

Ours have the spaces of `podium.tuning`, or few values where they are slow here; leaderboard_peers.py has the other
libraries. All run on one thread; all that grow in rounds stop early alike.
"""

import argparse
import inspect
import json
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import optuna
from leaderboard_peers import MOST_ROUNDS, PATIENCE, PEERS, Contender, print_spaces
from leaderboard_tasks import four_parts
from paper_tables import RESULTS

import podium
from podium.tuning import SPACES, Choice

BOTH = ("ndcg@10", "map")
FIXED = {
    "RankNet": {"n_estimators": 60},  # epochs
    "LambdaRank": {"n_estimators": 60},
    "SVOR": {"kernel": "linear", "C": 1.0},
    "PRank": {"epochs": 5},
    "TreeRankForest": {"n_estimators": 10},
    "TreeRankTournament": {"n_estimators": 5},
    "AdaBoostOR": {"n_estimators": 100},
    "BaggingOR": {"n_estimators": 20},
}
"""Parameters that are not the ranker's own: for time alone."""
SOME_QUERIES = {"InfinitePush": 60, "SVOR": 120, "PRank": 120}
"""Training queries of rankers that take many seconds for all of them."""
NETS = {"learning_rate": Choice((0.001, 0.003, 0.006)), "dropout": Choice((0.3, 0.5)), "batch_size": Choice((16, 64))}
BASES = {"base": Choice(("linear", "stump", "tree")), "learning_rate": Choice((0.1, 0.3))}
NARROWED = {
    "PairBoost": {"surrogate": Choice(("exp", "hinge")), **BASES},
    "L2Boost": BASES,
    "L1Boost": BASES,
    "NearestNeighbor": {"n_neighbors": Choice((1, 3, 5, 10, 20))},
    "PRank": {"variant": Choice(("siprank", "prank"))},
    "SVOR": {"C": Choice((0.01, 0.1, 1.0))},
    "InfinitePush": {"alpha": Choice((0.00001, 0.0001))},
    "TreeRank": {"max_leaves": Choice((8, 32)), "leafrank_depth": Choice(("auto", 2, 5))},
    "CRank": {"max_leaves": Choice((8, 32)), "leafrank_depth": Choice((2, 5))},
    "RankOver": {"max_leaves": Choice((8, 32)), "leafrank_depth": Choice((1, 3, 5))},
    "TreeRankForest": {"leafrank_depth": Choice((4, 12)), "min_child_weight": Choice((1.0, 10.0))},
    "TreeRankTournament": {"leafrank_depth": Choice((4, 12)), "min_child_weight": Choice((1.0, 10.0))},
    "ORBoost": {"variant": Choice(("all-margins", "left-right")), "learning_rate": Choice((0.1, 0.3, 1.0))},
    "GradientFreeBoost": {"learning_rate": Choice((0.1, 0.3, 1.0)), "singular_every": Choice((5, 20))},
    "RSRank": {"alpha": Choice((0.0003, 0.001, 0.003, 0.01)), "importance": Choice(("gain", "ndcg", "none"))},
    "RankNet": NETS,
    "LambdaRank": NETS,
}
"""Spaces of rankers that are slow here: few values, so that most of the trials propose what was tried before."""
KEPT_TRIALS = 5
"""Trials whose scores are kept: each ranker's best."""
BLENDED = 8
"""Rankers of ours in the blend: those best on the quarters of training and validation queries that fits left out."""
OURS = (
    "LambdaMART", "MART", "RankBoost", "RankBoostPlus", "PNormPush", "RSRank", "RankSVM", "RankRLS", "PlugInRanker",
    "LinearPlackettLuce", "PairBoost", "L2Boost", "L1Boost", "GradientFreeBoost", "InfinitePush", "TreeRank",
    "TreeRankForest", "TreeRankTournament", "RankOver", "CRank", "PreferenceRegression", "NearestNeighbor",
    "VectorSimilarity", "AdaBoostOR", "BaggingOR", "ORBoost", "ORStump", "PRank", "SVOR", "ExtendedBinary",
    "OrdinalThresholds", "RankNet", "LambdaRank",
)  # fmt: skip


KINDS = {"RankBoost, features": {"weak": "feature"}, "RankBoost, stumps": {"weak": "stump"}}
"""Rankers with a parameter set: shown beside the others, among which ours are chosen."""


def own(name):
    """Return one of our rankers."""
    set_, name = KINDS.get(name, {}), name.partition(",")[0]
    space = {one: values for one, values in NARROWED.get(name, SPACES.get(name, {})).items() if one not in set_}
    known = getattr(podium, name)().get_params(deep=False)
    start = {one: known[one] for one, values in space.items() if known[one] in values}

    def fit(given, train, valid):
        limits = {"n_jobs": 1, "eval_metric": "ndcg@10"}
        if "early_stopping_rounds" in known:
            limits |= {"n_estimators": MOST_ROUNDS, "early_stopping_rounds": PATIENCE}
        limits = {one: value for one, value in limits.items() if one in known}
        model = getattr(podium, name)(**{**limits, **FIXED.get(name, {}), **set_, **given})
        train = first_queries(train, SOME_QUERIES.get(name))
        takes, more = inspect.signature(model.fit).parameters, {}
        if "qid" in takes:
            more["qid"] = train.qid
        if "early_stopping_rounds" in known:
            more["eval_set"] = [(valid.X, valid.y)]
            if "eval_qid" in takes:
                more["eval_qid"] = [valid.qid]
        model.fit(train.X, train.y, **more)
        return model.predict_rank if hasattr(model, "predict_rank") else model.predict

    return Contender(space, start, fit)


def first_queries(part, n_queries):
    """Return the rows of the first queries, of all of them if None."""
    return part if n_queries is None else part.take(np.isin(part.qid, np.unique(part.qid)[:n_queries]))


def valid_value(part, scores, relevant=None):
    """Return the mean of NDCG@10 and MAP."""
    rules = {"measures": BOTH, "relevant": relevant, "n_resamples": 0, "n_jobs": 1}
    found = podium.evaluate(part.y, scores, qid=part.qid, **rules)
    return (found["ndcg@10"] + found["map"]) / 2


def tuned(contender, fold, n_trials, seed, relevant=None):
    """Return the best trials of one ranker in one fold, and four fits with the best parameters.

    Each of these leaves out a quarter of the training and validation queries: scores, and the mean value there.
    """
    value = partial(valid_value, relevant=relevant)
    found = best_trials(contender, fold, n_trials, seed, value)
    train, valid, test = fold
    scores, values = [], []
    for rest, quarter in four_parts(train, valid):
        predict = contender.fit(found["trials"][0]["parameters"], rest, quarter)
        scores.append(predict(test.X).tolist())
        values.append(value(quarter, predict(quarter.X)))
    return {**found, "parts": scores, "quarters_value": float(np.mean(values))}


def best_trials(contender, fold, n_trials, seed, value):
    """Return the trials of the highest value of the validation part: value, parameters, scores; fits and seconds."""
    train, valid, test = fold
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    study.enqueue_trial(contender.start)
    seen = {}
    start = time.process_time()
    for _ in range(n_trials):
        trial = study.ask()
        given = {name: one.suggest(trial, name) for name, one in contender.space.items()}
        key = json.dumps(given)
        if key not in seen:
            predict = contender.fit(given, train, valid)
            scores = predict(valid.X)
            found = {"valid": scores.tolist(), "test": predict(test.X).tolist()}
            seen[key] = {"valid_value": value(valid, scores), "parameters": given, **found}
        study.tell(trial, seen[key]["valid_value"])
    best = sorted(seen.values(), key=lambda one: -one["valid_value"])[:KEPT_TRIALS]
    return {"trials": best, "fits": len(seen), "seconds": time.process_time() - start}


def mean_ranks(scores, qid):
    """Return the mean rank of each row in its query, by several models."""
    return podium.blend_ranks(scores if len(scores) > 1 else [*scores, *scores], qid=qid)


def blended(qid, cached):
    """Return the mean ranks by the rankers that are best on quarters left out, each by its trials and fits kept."""
    best = sorted(cached, key=lambda name: -cached[name]["quarters_value"])[:BLENDED]
    models = ([one["test"] for one in cached[name]["trials"]] + cached[name]["parts"] for name in best)
    return np.mean([mean_ranks(scores, qid) for scores in models], axis=0)


def run_command(doc, commands, contenders, add_own):
    """Read the command line of a leaderboard, which has options of its own, and run what it asks for."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=commands)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--rankers", nargs="+", choices=contenders, default=list(contenders))
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--folder", type=Path, default=RESULTS)
    add_own(parser)
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    commands[options.what](options)


CONTENDERS = {**{name: own(name) for name in (*OURS, *KINDS)}, **PEERS}


if __name__ == "__main__":
    print_spaces(CONTENDERS)
